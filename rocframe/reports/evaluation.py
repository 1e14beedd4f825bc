"""The options of a report, and the areas and curves that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast, get_args

import polars as pl

from rocframe.areas.auc import auc
from rocframe.averages.options import parse_over
from rocframe.comparisons.pairing import Unmatched
from rocframe.curves.curve import curve
from rocframe.decisions.operating_point import RuleOptions
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import column
from rocframe.inputs.roles import (
    SCORE_WIDTH,
    By,
    Column,
    Count,
    Missing,
    Scores,
    column_expression,
    parse_scores,
)
from rocframe.kinds import kind_named
from rocframe.options import NOT_GIVEN, KindName, NotGiven, check_choice, parse_names
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_list, join_names

if TYPE_CHECKING:
    from rocframe.inference import AUCIntervalMethod

CLASS = "class"  # the group column of one_vs_rest
DEFAULT_KINDS: tuple[KindName, ...] = ("roc", "precision_recall")
FOLD = "fold"  # if this is a group column, curves are averaged over it by default
USUAL_KEYS = (MODEL, FOLD, CLASS)  # columns of these names are usually group columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportOptions:
    """The options of `report`; several scores are a mapping after `with_models`.

    Without a `label`, they are only the roles of the columns.
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
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the AUC and the curves of each group; `on_step` gets the name of each step."""
    areas = report_areas(predictions, options, on_step)
    return areas, report_curves(predictions, options, on_step)


def report_areas(
    predictions: pl.DataFrame, options: ReportOptions, on_step: Callable[[str], None]
) -> pl.DataFrame:
    """Return the AUC of each group."""
    on_step("Computing the AUC")
    return auc(
        predictions,
        **options.roles,
        by=options.keys or None,
        ci=options.ci,
        level=options.level,
        seed=options.seed,
    )


def report_curves(
    predictions: pl.DataFrame, options: ReportOptions, on_step: Callable[[str], None]
) -> pl.DataFrame:
    """Return the curves of each group, with the axes of the first kind first."""
    on_step("Computing the curves")
    first, *others = map(kind_named, options.kinds)
    rates = [rate for kind in others for rate in kind.rates if rate not in first.rates]
    return curve(
        predictions,
        **options.roles,
        by=options.keys or None,
        kind=options.kinds[0],
        metrics=list(dict.fromkeys(rates)),
    )
