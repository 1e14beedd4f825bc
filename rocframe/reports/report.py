"""Evaluate a table of predictions and write an HTML page: the function `report`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import polars as pl

from rocframe.averages.options import parse_over
from rocframe.comparisons.pairing import Unmatched
from rocframe.decisions.operating_point import RuleOptions
from rocframe.errors import MissingColumnError, OptionValueError, StorageError
from rocframe.frames import column, lazy_plan
from rocframe.inputs.roles import SCORE_WIDTH, column_expression, parse_scores
from rocframe.io.files import check_target, collect_query, local_path, write_text
from rocframe.io.tables import check_nesting
from rocframe.kinds import kind_named
from rocframe.options import (
    NOT_GIVEN,
    NotGiven,
    check_choice,
    check_flag,
    check_text,
    parse_names,
    public,
)
from rocframe.reports.export import load_vl_convert
from rocframe.reports.page import report_page
from rocframe.reports.progress import Progress
from rocframe.reports.tables import CLASS, areas_and_curves, report_tables
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocframe.inference import AUCIntervalMethod
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kinds import KindName


DEFAULT_KINDS: tuple[KindName, ...] = ("roc", "precision_recall")
FOLD = "fold"  # if this is a group column, curves are averaged over it by default
USUAL_KEYS = (MODEL, FOLD, CLASS)  # columns of these names are usually group columns


@public
def report(
    predictions: pl.DataFrame | pl.LazyFrame,
    /,
    label: Column,
    score: Scores,
    *,
    path: str | os.PathLike[str],
    by: By = None,
    over: str | Sequence[str] | NotGiven | None = NOT_GIVEN,
    id: Column | Sequence[Column] | None = None,  # noqa: A002
    kind: KindName | Sequence[KindName] = ("roc", "precision_recall"),
    ci: AUCIntervalMethod | None = "logit_delong",
    level: float = 0.95,
    unmatched: Unmatched = "raise",
    costs: Mapping[str, float] | None = None,
    prevalence: float | None = None,
    subject_to: Mapping[str, Sequence[float | None]] | None = None,
    seed: int | None = None,
    title: str = "Evaluation",
    about: Mapping[str, object] | None = None,
    progress: bool = False,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> Path:
    """Write an HTML page with the AUC and the curves of each group.

    The page is one file that needs no network: key numbers, the best model, a table of the areas,
    charts, an interactive dashboard, a comparison of models if their rows can be paired, what was
    left out, and the settings. Models whose scores are all between 0 and 1 have calibration charts.
    The same predictions and `seed` give the same file, byte by byte.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
    path : str or Path
        File to write, with the suffix `.html`, in an existing folder. If writing fails, an old file
        is unchanged.
    by : str or sequence of str, default None
        Group columns; null is a group.
    over : str, sequence of one str, or None, optional
        Group column over which the curves are averaged; by default `"fold"`, if `by` contains it.
        None for no averages. The curves of all classes have the same instances: with
        `over="class"`, averages have no limits, and models are compared within each class.
    id : str or sequence of str, default None
        Columns that identify the instance of a row. With `id`, the page compares the models in the
        group column `model`. For scores in several columns, `id` is not needed.
    kind : str or sequence of str, optional
        Kind of curve, or several kinds.
    ci : str or None, default "logit_delong"
        Method of the confidence interval of the AUC, as in `auc`; None for no intervals.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, such as `{"fp": 1, "fn": 5}`; others are 0. The page
        then recommends the threshold of lowest expected cost of each group.
    prevalence : float, default None
        Prevalence, between 0 and 1, at which costs are computed; None: that of each group.
    subject_to : mapping of str to sequence, default None
        Constraints of the recommended thresholds, as in `operating_point`, such as a capacity:
        `{"alerts": (0, 100)}`. Without costs, the threshold of highest recall is recommended.
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
    title : str, default "Evaluation"
        Title of the page.
    about : mapping of str to JSON value, default None
        Names and values, such as files or a date, that are added to the list of settings.
    progress : bool, default False
        If True, show the current step on stderr.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    MissingExtraError
        If vl-convert is not installed.
    StorageError
        If the suffix is not `.html`, if the folder does not exist, or if the file cannot be
        written.
    PairingError
        If `id` does not pair the rows of the models.
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    chart_fragment : A chart as an HTML fragment for any page.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import rocframe as rf
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "vote.html"
    ...     page = rf.report(rf.datasets.vote(), "label", "score", path=file, by="model", id="id")
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    load_vl_convert("report")
    options = ReportOptions(
        label=label,
        score=score,
        by=by,
        over=over,
        id=id,
        kind=kind,
        ci=ci,
        level=level,
        unmatched=unmatched,
        costs=costs,
        prevalence=prevalence,
        subject_to=subject_to,
        seed=seed,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )
    check_text("title", title)
    check_flag("progress", progress)
    entries = _check_about(about)
    check_page_path(path)
    plan = lazy_plan("predictions", predictions)
    options = options.with_models(plan)
    with Progress(quiet=not progress, delay=0) as steps:
        steps.step("Reading the predictions")
        steps.expect(options.n_steps + 1)  # the last step writes the file
        rows = collect_query(path, options.select_columns(plan))
        areas, curves = areas_and_curves(rows, options, steps.step)
        tables = report_tables(rows, options, areas, curves, steps.step)
        unused = options.unused_keys(plan.collect_schema())
        provenance = {**options.provenance(rows), "about": entries, "unused_keys": unused}
        page = report_page(tables, options, title=title, provenance=provenance, on_step=steps.step)
        steps.step("Writing the page")
        write_text(path, page)
    return Path(path)


def check_page_path(path: str | os.PathLike[str]) -> None:
    """Raise an error if `path` does not end with `.html`, or if no file can be written there."""
    suffix = local_path(path).suffix
    if suffix.lower() != ".html":
        raise StorageError.compose(
            os.fspath(path),
            f"expected the suffix '.html', got {suffix!r}",
            "Pass a name that ends with .html.",
        )
    check_target(path)


def _check_about(about: Mapping[str, object] | None) -> dict[str, str]:
    if about is None:
        return {}
    if not hasattr(about, "items") or not all(isinstance(name, str) for name in about):
        raise OptionValueError.compose(
            "about",
            about,
            "expected a mapping from names to values",
            'Use, for example, about={"files": "vote.parquet"}.',
        )
    entries = {}
    for name, value in about.items():
        check_nesting(f"about[{name!r}]", value)
        try:
            entries[name] = str(value)
        except (RecursionError, ValueError):
            problem = "the value cannot be converted to text"
            raise OptionValueError.compose(
                f"about[{name!r}]", value, problem, "Pass a string."
            ) from None
    return entries


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportOptions:
    """The options of `report`; several scores are a mapping after `with_models`.

    `keys` are the group columns, `kinds` the kinds of curves, and `averaged` is the group column
    over which curves are averaged, or None.
    """

    label: Column
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
        optional = [self.weight, self.counted]
        weights = [column for column in optional if column is not None]
        return [self.label, *self.scores.values(), *weights, *self.id_columns]

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
        """Whether curves are averaged over the classes of `one_vs_rest`.

        Their rows are not independent: limits for independent rows would be too narrow.
        """
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
        """Return the names in `USUAL_KEYS`, such as `fold`, of columns that no option uses.

        `available` are the columns of the predictions. The rows of these groups are pooled.
        """
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
        if positive is None:
            label = column_expression("label", self.label)
            boolean = rows.lazy().select(label).collect_schema().dtypes() == [pl.Boolean]
            positive = True if boolean else 1
        if not isinstance(positive, bool | int | float | str):
            positive = str(positive)
        count = self.counted
        n_rows = rows.height
        if count is not None:
            counts = column_expression("count", count).cast(pl.Int64)
            n_rows = rows.select(counts.sum()).item()
        return {
            "label": _column_name(self.label),
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
