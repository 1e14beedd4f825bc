"""The options of a report, and the areas and curves that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
import polars as pl

from rocframe.areas.auc import auc
from rocframe.averages.options import parse_over
from rocframe.comparisons.pairing import Unmatched
from rocframe.curves.curve import curve
from rocframe.decisions.operating_point import RuleOptions
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import column, find_keys, key_starts, number_keys, select_keys, take_rows
from rocframe.inputs.cases import is_positive
from rocframe.inputs.roles import (
    SCORE_WIDTH,
    By,
    Column,
    Count,
    Missing,
    Scores,
    check_positive,
    column_expression,
    parse_scores,
)
from rocframe.kernel.arrays import split_groups
from rocframe.kernel.groups import RowGroups, concatenated_ranges
from rocframe.kinds import kind_named
from rocframe.options import NOT_GIVEN, KindName, NotGiven, check_choice, parse_names
from rocframe.reports.text_columns import group_columns
from rocframe.schemas.table_type import MODEL, THRESHOLD
from rocframe.text import format_list, join_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocframe.inference import AUCIntervalMethod
    from rocframe.kernel.arrays import Array, IntArray

CLASS = "class"  # the group column of one_vs_rest
DEFAULT_KINDS: tuple[KindName, ...] = ("roc", "precision_recall")
FOLD = "fold"  # if this is a group column, curves are averaged over it by default
PART_ROWS = 1 << 20  # rows whose curves are computed together, if there are more rows
USUAL_KEYS = (MODEL, FOLD, CLASS)  # columns of these names are usually group columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportOptions:
    """The options of `report`; several scores are a mapping after `with_models`.

    Without a `label`, they are only the roles of the columns. `text_keys` are group columns of the
    predictions that are Categorical, which takes less memory, and String in all tables.
    """

    label: Column | None
    score: Scores
    by: By = None
    over: str | Sequence[str] | NotGiven | None = NOT_GIVEN
    id: Column | Sequence[Column] | None = None
    kind: KindName | Sequence[KindName] = DEFAULT_KINDS
    ci: AUCIntervalMethod | None = "logit_delong"
    level: float = 0.95
    unmatched: Unmatched = "raise"
    costs: Mapping[str, float] | None = None
    prevalence: float | None = None
    subject_to: Mapping[str, Sequence[float | None]] | None = None
    seed: int | None = None
    positive: object = None
    weight: Column | None = None
    count: Count = NOT_GIVEN
    missing: Missing = "raise"
    text_keys: tuple[str, ...] = ()
    keys: tuple[str, ...] = field(init=False)
    kinds: tuple[KindName, ...] = field(init=False)
    averaged: str | None = field(init=False)

    def __post_init__(self) -> None:
        keys, kinds = parse_names(self.by), parse_names(self.kind)
        if not kinds:
            raise OptionValueError.compose(
                "kind", self.kind, "expected at least one kind", 'Use, for example, kind="roc".'
            )
        over = (FOLD if FOLD in keys else None) if self.over is NOT_GIVEN else self.over
        averaged, *others = (None,) if over is None else parse_over(over)
        if others:
            problem = "a report can average over only one group column"
            hint = f"Use, for example, over={averaged!r}."
            raise OptionValueError.compose("over", over, problem, hint)
        if averaged is not None and averaged not in keys:
            raise MissingColumnError(
                f"over={averaged!r}: the column is not in by=.\n"
                f"Group columns: {format_list(keys) or 'none'}.\nInclude {averaged!r} in by=."
            )
        check_choice("unmatched", self.unmatched, get_args(Unmatched))
        if self.recommends:
            RuleOptions.parse(
                **self.decision_rule, benefits=None, minimize=None, prior=None, beta=1.0
            )
        elif self.prevalence is not None:
            problem = "a prevalence has no effect without costs"
            hint = 'Pass costs={"fp": 1, "fn": 5} as well, or do not set a prevalence.'
            raise OptionValueError.compose("prevalence", self.prevalence, problem, hint)
        names = dict.fromkeys(cast("KindName", kind_named(name).name) for name in kinds)
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "kinds", tuple(names))
        object.__setattr__(self, "averaged", averaged)

    def with_models(self, plan: pl.LazyFrame) -> ReportOptions:
        """Return the options with several scores as a mapping from model names to columns."""
        roles = (self.label, self.weight, self.count)
        used = {*self.keys, *(role for role in roles if isinstance(role, str))}
        scores, models = parse_scores(plan, plan.collect_schema(), self.score, used)
        if models is None:
            return self
        return replace(self, score=dict(zip(models, scores, strict=True)))

    @property
    def roles(self) -> dict[str, Any]:
        """The arguments of this report that all functions of predictions have, by name."""
        names = ("label", "score", "positive", "weight", "count", "missing")
        return {name: getattr(self, name) for name in names}

    @property
    def scores(self) -> dict[str, Column]:
        """The score column of each model; the name of a single score is that of its column."""
        if isinstance(self.score, Mapping):
            return dict(self.score)
        score = cast("Column", self.score)
        return {_column_name(score): score}

    @property
    def counted(self) -> Column | None:
        """The column of counts, or None."""
        return None if self.count is NOT_GIVEN else self.count

    @property
    def columns(self) -> list[Column]:
        """The columns of predictions that the options use, without the group columns."""
        optional = [self.label, *self.scores.values(), self.weight, self.counted]
        return [*(column for column in optional if column is not None), *self.id_columns]

    @property
    def id_columns(self) -> list[Column]:
        """The columns that identify the rows of several models."""
        return _as_list(self.id)

    @property
    def recommends(self) -> bool:
        """Whether the report recommends thresholds."""
        return self.costs is not None or self.subject_to is not None

    @property
    def decision_rule(self) -> dict[str, Any]:
        """The arguments of `operating_point`; without costs, the rule is the highest recall."""
        return {
            "rule": "recall" if self.costs is None else "expected_cost",
            "costs": self.costs,
            "prevalence": self.prevalence,
            "subject_to": self.subject_to,
        }

    @property
    def averages_classes(self) -> bool:
        """Whether curves are averaged over classes, whose rows are not independent."""
        return self.averaged == CLASS

    @property
    def needs_all_rows(self) -> bool:
        """Whether a table of the page needs rows of several groups at the same time."""
        return self.averaged is not None or self.id is not None or len(self.scores) > 1

    @property
    def n_steps(self) -> int:
        """The number of announced steps, too large by one without calibration charts."""
        is_compared = self.id is not None or len(self.scores) > 1
        optional = [self.averaged is not None, is_compared, self.recommends]
        return 6 + sum(optional) + len(self.kinds)

    @property
    def id_names(self) -> str | None:
        """The names of the columns of `id`, separated by commas; None without `id`."""
        return ", ".join(_column_name(one) for one in _as_list(self.id)) or None

    def keys_without(self, *names: str | None) -> list[str] | None:
        """Return the group columns except `names`; None if none is left."""
        return [key for key in self.keys if key not in names] or None

    def unused_keys(self, available: Iterable[str]) -> list[str]:
        """Return the columns that are usually keys, such as `fold`, and that no option uses."""
        used = {*self.keys, *([MODEL] if isinstance(self.score, Mapping) else [])}
        for role in self.columns:
            used |= {role} if isinstance(role, str) else set(role.meta.root_names())
        names = set(available)
        return [name for name in USUAL_KEYS if name in names and name not in used]

    def select_columns(self, plan: pl.LazyFrame) -> pl.LazyFrame:
        """Return the predictions with the columns of the options; all if one is an expression."""
        if not all(isinstance(role, str) for role in self.columns):
            return plan
        available = plan.collect_schema()
        required = dict.fromkeys([*self.keys, *cast("list[str]", self.columns)])
        # Functions of predictions also read these columns, if they exist. `auc` raises an error if
        # the table has a column "count" and `count` is not set.
        optional = dict.fromkeys([SCORE_WIDTH, *(["count"] if self.count is NOT_GIVEN else [])])
        if not set(required) <= set(available):
            return plan.head(0)  # `auc` raises the error for a missing column
        return plan.select(column(name) for name in required | optional if name in available)

    def has_many_rows(self, predictions: pl.DataFrame) -> bool:
        """Whether curves are computed in parts; expressions can depend on the rows of all parts."""
        has_names = all(isinstance(role, str) for role in self.columns)
        return has_names and predictions.height * len(self.scores) > PART_ROWS

    def restore_text(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a table in which the group columns `text_keys` are strings."""
        return table.with_columns(column(name).cast(pl.String) for name in self.text_keys)

    def provenance(self, rows: pl.DataFrame) -> dict[str, Any]:
        """Return names of columns, the positive class, `missing` and the number of rows."""
        positive = self.positive
        if positive is None and self.label is not None:
            label = column_expression("label", self.label)
            boolean = rows.lazy().select(label).collect_schema().dtypes() == [pl.Boolean]
            positive = True if boolean else 1
        if not isinstance(positive, bool | int | float | str | None):
            positive = str(positive)
        count = self.counted
        n_rows = rows.height
        if count is not None:
            counts = column_expression("count", count).cast(pl.Int64)
            n_rows = rows.select(counts.sum()).item()
        return {
            "label": None if self.label is None else _column_name(self.label),
            "score": list(self.scores),
            "positive": positive,
            "weight": None if self.weight is None else _column_name(self.weight),
            "count": None if count is None else _column_name(count),
            "missing": self.missing,
            "rows": n_rows,
        }


def _column_name(column: Column) -> str:
    if isinstance(column, str):
        return column
    name = column.meta.output_name(raise_if_undetermined=False)
    return str(column) if name is None else name


def _as_list(columns: Any) -> list[Any]:
    """Return no, one or several columns as a list."""
    if columns is None:
        return []
    is_one = isinstance(columns, str | pl.Expr) or not hasattr(columns, "__iter__")
    return [columns] if is_one else list(columns)


def pooling_sentence(unused: Sequence[str]) -> str:
    """Return the sentence that the columns `unused`, such as `fold`, are not group columns."""
    one = len(unused) == 1
    subject = f"The {'column' if one else 'columns'} {join_names(unused)}"
    predicate = "is not a group column" if one else "are not group columns"
    pronoun = "it" if one else "them"
    return f"{subject} {predicate}, so rows with different values of {pronoun} are pooled."


def areas_and_curves(
    predictions: pl.DataFrame,
    options: ReportOptions,
    on_step: Callable[[str], None] = lambda _: None,
) -> tuple[pl.DataFrame, GroupedCurves]:
    """Return the AUC and the curves of each group; `on_step` gets the name of each step."""
    areas = report_areas(predictions, options, on_step)
    return areas, report_curves(predictions, options, on_step)


def report_areas(
    predictions: pl.DataFrame, options: ReportOptions, on_step: Callable[[str], None]
) -> pl.DataFrame:
    """Return the AUC of each group."""
    on_step("Computing the AUC")
    areas = auc(
        predictions,
        **options.roles,
        by=options.keys or None,
        ci=options.ci,
        level=options.level,
        seed=options.seed,
    )
    return options.restore_text(areas)


def report_curves(
    predictions: pl.DataFrame,
    options: ReportOptions,
    on_step: Callable[[str], None],
    on_part: Callable[[pl.DataFrame], None] = lambda _: None,
) -> GroupedCurves:
    """Return the curves of each group, with the axes of the first kind first.

    `on_part` gets the rows of all curves, in parts. If there are many rows, the parts are computed
    one after the other, and later again for the groups that are drawn: the table of all curves can
    be several times larger than the predictions. `report_areas` has checked the predictions.
    """
    on_step("Computing the curves")
    if not options.has_many_rows(predictions):
        table = _curve_table(options.restore_text(predictions), options)
        on_part(table)
        return GroupedCurves.from_table(table)
    grouped = GroupedPredictions.from_table(predictions, options)
    first, outside = [], []
    for part in grouped.parts():
        table = _curve_table(part, grouped.options)
        on_part(table)
        starts = curve_starts(table)
        first.append(first_rows(table, starts))
        outside.append(_is_outside(table, starts))
        del part, table  # before the next part is computed
    return GroupedCurves.from_predictions(grouped, pl.concat(first), pl.concat(outside))


def _curve_table(predictions: pl.DataFrame, options: ReportOptions) -> pl.DataFrame:
    first, *others = map(kind_named, options.kinds)
    rates = [rate for kind in others for rate in kind.rates if rate not in first.rates]
    return curve(
        predictions,
        **options.roles,
        by=options.keys or None,
        kind=options.kinds[0],
        metrics=list(dict.fromkeys(rates)),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupedPredictions:
    """Predictions whose rows are read by group.

    `keys` are the sorted group columns of all groups. Group i has the rows of `table` at
    `order[starts[i] : starts[i + 1]]`, in the order of the log; without group columns, `order` is
    None. In `table` and `options`, the label is Boolean if `positive` was set.
    """

    table: pl.DataFrame
    options: ReportOptions
    keys: pl.DataFrame
    starts: IntArray
    order: Array | None

    @classmethod
    def from_table(cls, predictions: pl.DataFrame, options: ReportOptions) -> GroupedPredictions:
        """Find the groups of predictions, whose roles are all names of columns."""
        keys = select_keys(predictions, options.keys)
        table = predictions.drop(options.keys).rechunk()
        if options.positive is not None:
            # A part without positives must not raise the error of a log without positives.
            label = table.get_column(cast("str", options.label))
            value = check_positive(options.positive, label.name, label.dtype)
            is_pos = is_positive(label, value, label.name).alias(label.name)
            table, options = table.with_columns(is_pos), replace(options, positive=None)
        if not options.keys:
            starts = np.array([0, table.height])
            return cls(table=table, options=options, keys=pl.DataFrame(), starts=starts, order=None)
        keys.columns = [str(i) for i in range(keys.width)]
        groups = RowGroups.from_keys(keys, table.height)
        distinct = groups.keys.rename(dict(zip(keys.columns, options.keys, strict=True)))
        return cls(
            table=table,
            options=options,
            keys=options.restore_text(distinct),
            starts=groups.starts,
            order=groups.order.astype(np.uint32 if table.height < 1 << 32 else np.int64),
        )

    def of_groups(self, numbers: Array) -> pl.DataFrame:
        """Return the rows of the groups with these numbers."""
        if self.order is None:
            return self.table if len(numbers) else self.table.clear()
        sizes = np.diff(self.starts)[numbers]
        rows = self.order[concatenated_ranges(self.starts[numbers], sizes)]
        keys = take_rows(self.keys, np.repeat(numbers, sizes))
        return keys.hstack(take_rows(self.table, rows).get_columns())

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of neighboring groups, with about `PART_ROWS` scores or of one group."""
        most = max(1, PART_ROWS // len(self.options.scores))
        for part in split_groups(self.starts, most):
            yield self.of_groups(np.arange(part.start, part.stop))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupedCurves:
    """The curves of all groups, of which some are read at a time.

    `first` has the first row of each curve, and `outside` states whether it has scores outside
    [0, 1]. `read` returns the rows of the groups with the given numbers. `predictions` is None if
    all curves are in memory.
    """

    first: pl.DataFrame
    outside: pl.Series
    read: Callable[[Array], pl.DataFrame]
    predictions: GroupedPredictions | None = None

    @classmethod
    def from_table(cls, table: pl.DataFrame) -> GroupedCurves:
        """Return the curves of a table that `curve` returned."""
        starts = curve_starts(table)
        lengths = np.diff(starts)

        def read(numbers: Array) -> pl.DataFrame:
            if len(numbers) == len(lengths):
                return table
            parts = [table.slice(starts[i], lengths[i]) for i in numbers]
            return pl.concat(parts, rechunk=True) if parts else table.clear()

        return cls(first=first_rows(table, starts), outside=_is_outside(table, starts), read=read)

    @classmethod
    def from_predictions(
        cls, predictions: GroupedPredictions, first: pl.DataFrame, outside: pl.Series
    ) -> GroupedCurves:
        """Return curves that are computed from predictions when they are read."""
        keys = select_keys(first, group_columns(first, THRESHOLD))
        n_models = len(predictions.options.scores)  # groups of the predictions have all models

        def read(numbers: Array) -> pl.DataFrame:
            rows = predictions.of_groups(np.unique(numbers // n_models))
            table = _curve_table(rows, predictions.options)
            return table if n_models == 1 else rows_of_groups(table, take_rows(keys, numbers))

        return cls(first=first, outside=outside, read=read, predictions=predictions)

    @property
    def keys(self) -> pl.DataFrame:
        """The group columns of each curve."""
        return select_keys(self.first, group_columns(self.first, THRESHOLD))

    def of_groups(self, groups: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the groups in `groups`, which may have fewer group columns."""
        return self.read(_is_in_groups(self.keys, groups).arg_true().to_numpy())

    def all_curves(self) -> pl.DataFrame:
        """Return the rows of all groups."""
        return self.read(np.arange(self.keys.height))

    def parts_of(
        self, predictions: pl.DataFrame, options: ReportOptions
    ) -> tuple[Iterable[pl.DataFrame], ReportOptions]:
        """Return the predictions of the curves as parts of complete groups, with their options."""
        if self.predictions is None:
            return [options.restore_text(predictions)], options
        return self.predictions.parts(), self.predictions.options

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of all curves, in parts."""
        if self.predictions is None:
            yield self.all_curves()
            return
        for part in self.predictions.parts():
            yield _curve_table(part, self.predictions.options)


def curve_starts(table: pl.DataFrame) -> IntArray:
    """Return the position of the first row of each curve, and the number of rows."""
    keys = select_keys(table, group_columns(table, THRESHOLD))
    return np.append(key_starts(keys, table.height).to_numpy().astype(np.int64), table.height)


def first_rows(table: pl.DataFrame, starts: IntArray) -> pl.DataFrame:
    """Return the first row of each curve; its counts add up to those of all rows of the group."""
    return take_rows(table, starts[:-1])


def _is_outside(table: pl.DataFrame, starts: IntArray) -> pl.Series:
    """Return whether each curve has scores outside [0, 1]; its first threshold is not a score."""
    threshold = table.get_column(THRESHOLD).gather
    is_outside = (threshold(np.minimum(starts[:-1] + 1, starts[1:] - 1)) > 1) | (
        threshold(starts[1:] - 1) < 0
    )
    return is_outside & pl.Series(np.diff(starts) > 1)


def rows_of_groups(table: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `groups`, which may have fewer group columns than the table."""
    return table.filter(_is_in_groups(table, groups))


def _is_in_groups(table: pl.DataFrame, groups: pl.DataFrame) -> pl.Series:
    """Return whether each row of a table belongs to one of the groups in `groups`."""
    names = group_columns(groups) if "auc" in groups.columns else groups.columns
    keys, _ = number_keys(groups, names)
    return find_keys(select_keys(table, names), keys).is_not_null()
