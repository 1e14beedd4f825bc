"""Compute the tables of a report from the predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

import polars as pl

from rocframe.areas.auc import auc
from rocframe.averages.average import average
from rocframe.averages.fold_auc import FoldIntervalMethod, fold_auc
from rocframe.comparisons.compare import compare
from rocframe.curves.curve import curve
from rocframe.errors import OptionValueError, RocframeError
from rocframe.frames import column, key_starts, private_names, select_keys
from rocframe.inputs.roles import column_expression
from rocframe.kinds import kind_named
from rocframe.metrics.intervals import intervals
from rocframe.options import NOT_GIVEN
from rocframe.probabilities.calibration import calibration
from rocframe.rates import RATES, Settings
from rocframe.schemas.columns import MODEL, THRESHOLD
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocframe.kinds import KindName
    from rocframe.reports.report import ReportOptions


CURVE_METRICS = {"average_precision": "average precision", "ks": "KS"}
CLASS = "class"  # the group column of one_vs_rest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTables:
    """All tables of a report.

    Attributes
    ----------
    areas
        AUC of each group.
    curves
        Curve of each group.
    metrics
        Average precision, KS and prevalence, in the row order of `areas`.
    pooled
        Curves of the pooled rows of all values of the averaged group column, or None.
    mean_areas
        Mean AUC over the averaged group column, or None.
    mean_curves
        Mean curves over the averaged group column, by kind of curve.
    comparison
        Pairwise comparison of the models, or None. The rows of all values of the averaged group
        column are pooled, unless these values are classes.
    common_comparison
        If comparisons leave out rows, the comparison on the rows that all models of a group scored,
        by which the models are ranked; otherwise None.
    n_not_common
        Number of predictions that `common_comparison` leaves out.
    calibration
        Calibration curves of the models whose scores are probabilities, or None. With an averaged
        group column, they are computed from the pooled rows of all its values.
    remarks
        Sentences that state which tables could not be computed, and why.
    """

    areas: pl.DataFrame
    curves: pl.DataFrame
    metrics: pl.DataFrame
    pooled: pl.DataFrame | None
    mean_areas: pl.DataFrame | None
    mean_curves: Mapping[str, pl.DataFrame]
    comparison: pl.DataFrame | None
    common_comparison: pl.DataFrame | None
    n_not_common: int
    calibration: pl.DataFrame | None
    remarks: tuple[str, ...]


def areas_and_curves(
    predictions: pl.DataFrame,
    options: ReportOptions,
    on_step: Callable[[str], None] = lambda _: None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the AUC and the curves of each group.

    Before each step, `on_step` is called with its name.
    """
    arguments = {**options.roles, "by": options.keys or None}
    on_step("Computing the AUC")
    areas = auc(predictions, **arguments, ci=options.ci, level=options.level, seed=options.seed)
    on_step("Computing the curves")
    first, *others = map(kind_named, options.kinds)
    rates = [rate for kind in others for rate in kind.rates if rate not in first.rates]
    metrics = list(dict.fromkeys(rates))
    return areas, curve(predictions, **arguments, kind=options.kinds[0], metrics=metrics)


def report_tables(
    predictions: pl.DataFrame,
    options: ReportOptions,
    areas: pl.DataFrame,
    curves: pl.DataFrame,
    on_step: Callable[[str], None] = lambda _: None,
) -> ReportTables:
    """Return all tables of a report; `areas` and `curves` are computed by `areas_and_curves`.

    Before each step, `on_step` is called with its name.
    """
    remarks: list[str] = []

    def attempt(
        title: str, compute: Callable[..., pl.DataFrame | None], *args: Any
    ) -> pl.DataFrame | None:
        try:
            return compute(*args)
        except RocframeError as error:
            reason = " ".join(str(error).splitlines()[0].split())
            remarks.append(f"{title} not computed: {reason}")
            return None

    pooled = mean_areas = comparison = common_comparison = None
    n_not_common = 0
    mean_curves: dict[str, pl.DataFrame] = {}
    if options.averaged is not None:
        on_step("Averaging the curves")
        pooled = curve(predictions, **options.roles, by=options.keys_without(options.averaged))
        mean_areas = attempt("Mean AUC", _mean_areas, predictions, options)
        for kind in options.kinds:
            mean = attempt("Mean curves", _mean_curves, curves, options, kind)
            mean_curves |= {} if mean is None else {kind: mean}
    if options.id is not None:
        on_step("Comparing the models")
        comparison = _comparison(predictions, options)
    elif len(options.scores) > 1:
        on_step("Comparing the models")
        comparison = attempt("Comparison", _comparison, predictions, options)
    if comparison is not None and comparison["note"].str.contains("unmatched:").any():
        common = _common_rows(predictions, options)
        common_comparison = attempt("Ranking of the models", _comparison, common, options)
        n_not_common = predictions.height - common.height
    on_step("Computing the metrics")
    metrics = _curve_metrics(predictions, options, curves)
    on_step("Computing the calibration")
    scored = curves if pooled is None else pooled
    models = _models_with_probabilities(scored)
    rates = attempt("Calibration", _calibrations, predictions, options, scored, models)
    remarks += _calibration_remarks(scored, models)
    return ReportTables(
        areas=areas,
        curves=curves,
        metrics=metrics,
        pooled=pooled,
        mean_areas=mean_areas,
        mean_curves=mean_curves,
        comparison=comparison,
        common_comparison=common_comparison,
        n_not_common=n_not_common,
        calibration=rates,
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _mean_areas(predictions: pl.DataFrame, options: ReportOptions) -> pl.DataFrame:
    has_limits = not options.averages_classes and options.ci in get_args(FoldIntervalMethod)
    return fold_auc(
        predictions,
        **options.roles,
        over=str(options.averaged),
        by=options.keys_without(options.averaged),
        ci=cast("FoldIntervalMethod", options.ci) if has_limits else None,
        level=options.level,
    )


def _mean_curves(curves: pl.DataFrame, options: ReportOptions, kind: KindName) -> pl.DataFrame:
    over = str(options.averaged)
    if options.averages_classes:
        return average(curves, over=over, kind=kind, interval=None)
    return average(curves, over=over, kind=kind, level=options.level)


def _comparison(predictions: pl.DataFrame, options: ReportOptions) -> pl.DataFrame:
    is_long = not isinstance(options.score, Mapping)
    if is_long and MODEL not in options.keys:
        raise OptionValueError.compose(
            "id",
            options.id,
            'models are compared only if by= contains a column named "model"',
            'Rename the column of the models, for example with .rename({"classifier": "model"}), '
            "and include it in by=; or leave out id=.",
        )
    return compare(
        predictions,
        **options.roles,
        id=options.id,
        by=options.keys_without(MODEL, None if options.averages_classes else options.averaged),
        level=options.level,
        unmatched=options.unmatched,
    )


def _common_rows(predictions: pl.DataFrame, options: ReportOptions) -> pl.DataFrame:
    """Return the predictions for instances that all models of their group scored."""
    scores = [column_expression("score", score) for score in options.scores.values()]
    if options.missing != "worst":
        is_scored = (score.is_not_null() & score.cast(pl.Float64).is_not_nan() for score in scores)
        predictions = predictions.filter(*is_scored)
    if len(scores) > 1:
        return predictions
    over = None if options.averages_classes else options.averaged
    groups = [pl.lit(0), *map(column, options.keys_without(MODEL, over) or ())]
    ids = (column_expression("id", name) for name in options.id_columns)
    n_models = column(MODEL).n_unique()
    return predictions.filter(n_models.over(*groups, *ids) == n_models.over(*groups))


def _calibrations(
    predictions: pl.DataFrame,
    options: ReportOptions,
    curves: pl.DataFrame,
    models: pl.DataFrame | None,
) -> pl.DataFrame | None:
    """Return the calibration curves of `models`, the models whose scores are all in [0, 1].

    `curves` has one curve per calibration curve. Without the group column `model`, all groups are
    one model. Return None if there is no model with such scores.
    """
    score, rows = options.score, predictions
    if models is None or not models.height:
        return None
    if isinstance(options.score, Mapping):
        private = private_names(models.get_column(MODEL), predictions.columns)
        rows = rows.with_columns(
            column_expression("score", options.score[name]).alias(own)
            for name, own in private.items()
        )
        score = private
    elif MODEL in models.columns and models.height < _models(curves).height:
        rows = rows.join(models, on=MODEL, how="semi", nulls_equal=True)
    return calibration(
        rows,
        **options.roles
        | {"score": score, "missing": "raise" if options.missing == "raise" else "drop"},
        by=options.keys_without(options.averaged),
        ci=None if options.ci is None else NOT_GIVEN,
        level=options.level,
    )


def _models_with_probabilities(curves: pl.DataFrame) -> pl.DataFrame | None:
    """Return the distinct values of the group column `model` whose scores are all in [0, 1].

    Without this column, return a table with one row and no columns if all scores are in [0, 1].
    """
    keys = [MODEL] if MODEL in group_columns(curves, THRESHOLD) else []
    # The threshold of the first row of each curve is not a score.
    n_outside = pl.len().over(pl.lit(0), *map(column, group_columns(curves, THRESHOLD)))
    outside = curves.filter(~pl.col(THRESHOLD).is_between(0, 1)).filter(n_outside > 1)
    if not keys:
        return pl.DataFrame(height=1) if outside.is_empty() else None
    return _models(curves).join(
        outside, on=keys, how="anti", nulls_equal=True, maintain_order="left"
    )


def _calibration_remarks(curves: pl.DataFrame, models: pl.DataFrame | None) -> list[str]:
    """Return a list with a sentence that names the models without calibration, or an empty list.

    `models` are the models whose scores are all in [0, 1].
    """
    if models is None:
        return ["Calibration not computed: the scores are not all between 0 and 1."]
    if MODEL not in models.columns:
        return []
    others = _models(curves).join(
        models, on=MODEL, how="anti", nulls_equal=True, maintain_order="left"
    )
    if others.is_empty():
        return []
    names = format_list(others.get_column(MODEL).to_list(), most=40)
    return [f"Calibration not computed for {names}: the scores are not all between 0 and 1."]


def _models(curves: pl.DataFrame) -> pl.DataFrame:
    """Return the distinct values of the group column `model`, which is in the table."""
    return first_rows(curves).select(MODEL).unique(maintain_order=True)


def _curve_metrics(
    predictions: pl.DataFrame, options: ReportOptions, curves: pl.DataFrame
) -> pl.DataFrame:
    """Return the metrics in CURVE_METRICS and the prevalence, in the row order of `auc`."""
    # Group columns are renamed, because `intervals` does not allow names of columns of its result.
    private = private_names(options.keys, predictions.columns)
    rows = predictions.with_columns(column(name).alias(own) for name, own in private.items())
    result = intervals(
        rows,
        **options.roles,
        by=list(private.values()) or None,
        metrics=list(CURVE_METRICS),
        ci=None,
    )
    # All tables are sorted by the group columns, so their rows have the same order.
    return first_rows(curves).select(
        *(result.filter(metric=name)["estimate"].alias(name) for name in CURVE_METRICS),
        RATES["prevalence"].expr(Settings()).alias("prevalence"),
    )


def first_rows(curves: pl.DataFrame) -> pl.DataFrame:
    """Return the first row of each curve; its counts add up to those of all rows of the group."""
    keys = select_keys(curves, group_columns(curves, THRESHOLD))
    return curves[key_starts(keys, curves.height)]


def group_columns(table: pl.DataFrame, first: str = "auc") -> list[str]:
    """Return the group columns of a table: those to the left of the column `first`."""
    return table.columns[: table.columns.index(first)]
