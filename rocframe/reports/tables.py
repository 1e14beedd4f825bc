"""The tables of a report, computed and as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_args

import polars as pl

from rocframe.averages.average import average
from rocframe.averages.fold_auc import FoldIntervalMethod, fold_auc
from rocframe.comparisons.compare import compare
from rocframe.comparisons.decision_intervals import decision_intervals
from rocframe.curves.curve import curve
from rocframe.decisions.costs import ErrorCosts
from rocframe.decisions.operating_point import operating_point
from rocframe.errors import OptionValueError, RocframeError
from rocframe.frames import column, find_keys, number_keys, private_names, select_keys
from rocframe.inference import SEPARATOR
from rocframe.inputs.roles import column_expression
from rocframe.metrics.intervals import intervals
from rocframe.options import NOT_GIVEN
from rocframe.probabilities.calibration import calibration
from rocframe.rates import CONFUSION, RATES, Settings
from rocframe.reports.grouped_curves import GroupedCurves
from rocframe.reports.text_columns import (
    DECIMALS,
    NOTE_TEXTS,
    TextColumn,
    TextTable,
    count_column,
    estimate_columns,
    group_columns,
    name_columns,
    note_columns,
    note_in_words,
    number_column,
    omitted_text,
    p_value_column,
)
from rocframe.schemas.table_type import MODEL, THRESHOLD
from rocframe.text import format_list, format_name, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocframe.inference import Note
    from rocframe.inputs.roles import Column
    from rocframe.options import KindName
    from rocframe.reports.evaluation import ReportOptions

CURVE_METRICS = {"average_precision": "average precision", "ks": "KS"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTables:
    """All tables of a report; tables that it does not have are None.

    `areas`, `curves` and `metrics` (average precision, KS and prevalence, in the row order of
    `areas`) have the AUC and the curve of each group. Over the values of the averaged group column,
    `pooled` has curves of the pooled rows, and `mean_areas` and `mean_curves`, by kind, have means.
    `comparison` compares pairs of models, with pooled rows unless the averaged values are classes.
    If it leaves out rows, `common_comparison`, by which models are ranked, compares them on the
    rows that all models of a group scored, without `n_not_common` predictions, and `decisions` has
    the thresholds of these rows. `calibration` has the calibration curves of models whose scores
    are probabilities, from pooled rows. `remarks` state which tables were not computed, and why.
    """

    areas: pl.DataFrame
    curves: GroupedCurves
    metrics: pl.DataFrame
    pooled: GroupedCurves | None
    mean_areas: pl.DataFrame | None
    mean_curves: Mapping[str, pl.DataFrame]
    comparison: pl.DataFrame | None
    common_comparison: pl.DataFrame | None
    n_not_common: int
    calibration: pl.DataFrame | None
    decisions: ReportDecisions | None
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDecisions:
    """The recommended thresholds of the groups.

    `points` is the table of `operating_point`, with the best model of each group first, without
    `n_omitted` rows. `values` has, for each point, its `group` without the model, the expected cost
    or, without costs, the recall (`value`) with limits, and the simultaneous limits of the
    difference from the best model. `on_curves` is true if the points are rows of the curves.
    """

    points: pl.DataFrame
    values: pl.DataFrame
    n_omitted: int
    on_curves: bool


def report_tables(
    predictions: pl.DataFrame,
    options: ReportOptions,
    areas: pl.DataFrame,
    curves: GroupedCurves,
    on_step: Callable[[str], None] = lambda _: None,
) -> ReportTables:
    """Return all tables of a report; `on_step` gets the name of each step."""
    predictions = options.restore_text(predictions) if options.needs_all_rows else predictions
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
        by = options.keys_without(options.averaged)
        pooled = GroupedCurves.from_table(curve(predictions, **options.roles, by=by))
        mean_areas = attempt("Mean AUC", _mean_areas, predictions, options)
        for kind in options.kinds:
            mean = attempt("Mean curves", _mean_curves, curves.all_curves(), options, kind)
            mean_curves |= {} if mean is None else {kind: mean}
    if options.id is not None:
        on_step("Comparing the models")
        comparison = _comparison(predictions, options)
    elif len(options.scores) > 1:
        on_step("Comparing the models")
        comparison = attempt("Comparison", _comparison, predictions, options)
    scored = predictions
    if comparison is not None and comparison["note"].str.contains("unmatched:").any():
        scored = common = _common_rows(predictions, options)
        common_comparison = attempt("Ranking of the models", _comparison, common, options)
        n_not_common = predictions.height - common.height
    decisions = None
    if options.recommends:
        on_step("Choosing the thresholds")
        on_curves = scored is predictions and pooled is None
        all_curves = curves if pooled is None else pooled
        if scored is not predictions:
            by = options.keys_without(options.averaged)
            all_curves = GroupedCurves.from_table(curve(scored, **options.roles, by=by))
        decisions = _decisions(scored, options, all_curves, on_curves=on_curves)
    on_step("Computing the metrics")
    metrics = _curve_metrics(predictions, options, curves)
    on_step("Computing the calibration")
    pooled_curves = curves if pooled is None else pooled
    models, excluded = _models_with_probabilities(pooled_curves)
    rates = attempt("Calibration", _calibrations, predictions, options, models, pooled_curves)
    remarks += excluded
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
        decisions=decisions,
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
        return average(curves, over=over, kind=kind, ci=None)
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


MAX_DECISIONS = 100
DECISION_LIMITS = ("lower", "upper", "difference_lower", "difference_upper")
EMPTY_LIMITS = {"number": pl.UInt32, **dict.fromkeys(DECISION_LIMITS, pl.Float64)}
LEAST_ODDS = 1e-12  # at a threshold of 0, all rows would be predicted positive


def _decisions(
    predictions: pl.DataFrame, options: ReportOptions, curves: GroupedCurves, *, on_curves: bool
) -> ReportDecisions:
    """Return the recommended threshold of each curve, with limits of the cost at the threshold."""
    points = pl.concat(operating_point(part, **options.decision_rule) for part in curves.parts())
    keys = [key for key in group_columns(points, "rule") if key != MODEL]
    groups, group = number_keys(points, keys)
    pos, neg = pl.col("tp") + pl.col("fn"), pl.col("fp") + pl.col("tn")
    values = points.select(
        pl.Series("group", group),
        pl.when(pos > 0, neg > 0, pl.col(THRESHOLD).is_not_null()).then("value").alias("value"),
        (pos / (pos + neg)).alias("prevalence"),
        pl.int_range(pl.len()).alias("row"),
    )
    order = [False, options.costs is None, False]
    values = values.sort("group", "value", "row", descending=order, nulls_last=True)
    values = values.head(MAX_DECISIONS).with_row_index("number")
    top = points[values.get_column("row")]
    values = values.select("group", "value", "number", "prevalence")
    is_paired = options.id is not None or len(options.scores) > 1
    defined = values.filter(pl.col("value").is_not_null())
    parts = defined.partition_by("group" if is_paired else "number", maintain_order=True)
    number = find_keys(select_keys(predictions, keys), groups) if is_paired else None
    limits = [
        _decision_limits(
            _outcomes(top, numbers[0])
            if number is None
            else _model_alerts(
                predictions.filter(number == part["group"][0]), options, top, numbers
            ),
            len(numbers),
            options,
            options.prevalence or part["prevalence"][0],
        )
        for part in ([] if options.averages_classes else parts)
        for numbers in [part["number"].to_list()]
    ]
    empty = pl.DataFrame(schema=EMPTY_LIMITS)
    return ReportDecisions(
        points=top,
        values=values.join(
            pl.concat([empty, *limits]), on="number", how="left", maintain_order="left"
        ).select("group", "value", *DECISION_LIMITS),
        n_omitted=points.height - top.height,
        on_curves=on_curves,
    )


def _outcomes(points: pl.DataFrame, number: int) -> dict[str, Any]:
    """Return the predictions at one point as arguments of `decision_intervals`."""
    counts = pl.Series("n", [points[name][number] for name in CONFUSION])
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "alert": [1, 1, 0, 0], "number": number})
    return {
        "predictions": rows.with_columns(counts),
        "score": "alert",
        "by": "number",
        "count" if counts.dtype.is_integer() else "weight": "n",
    }


def _model_alerts(
    predictions: pl.DataFrame, options: ReportOptions, points: pl.DataFrame, numbers: list[int]
) -> dict[str, Any]:
    """Return arguments of `decision_intervals`, whose models are the rows `numbers` of `points`."""
    optional = {"label": options.label, "weight": options.weight, "count": options.counted}
    used = {name: role for name, role in optional.items() if role is not None}
    ids = {f"id {i}": role for i, role in enumerate(options.id_columns)}
    roles = [column_expression(name, role).alias(name) for name, role in (used | ids).items()]
    top = points[numbers]

    def alert(score: Column, threshold: Any) -> pl.Expr:
        value = column_expression("score", score).cast(pl.Float64)
        return pl.when(value.is_not_nan()).then((value >= threshold).cast(pl.Int8))

    arguments: dict[str, Any] = {name: name for name in used if name != "label"} | {
        "id": list(ids) or None,
        "positive": options.positive,
        "missing": options.missing,
        "baseline": numbers[0],
        "between": "number",
    }
    if isinstance(options.score, Mapping):
        models = zip(numbers, top[MODEL], top[THRESHOLD], strict=True)
        scores = {str(i): alert(options.score[model], at) for i, model, at in models}
        named = [score.alias(name) for name, score in scores.items()]
        del arguments["between"]
        return arguments | {
            "predictions": predictions.select(*roles, *named),
            "score": list(scores),
            "baseline": str(numbers[0]),
        }
    row = find_keys(select_keys(predictions, [MODEL]), select_keys(top, [MODEL]))
    (score,) = options.scores.values()
    rows = predictions.select(
        *roles,
        alert(score, pl.lit(top.get_column(THRESHOLD).gather(row))).alias("alert"),
        pl.Series("number", numbers, pl.Int64).gather(row),
    )
    return arguments | {
        "predictions": rows.filter(pl.col("number").is_not_null()),
        "score": "alert",
    }


def _decision_limits(
    arguments: dict[str, Any], n_models: int, options: ReportOptions, prevalence: float
) -> pl.DataFrame:
    """Return the limits of the cost of each model, and simultaneous ones of the differences.

    The cost is linear in the net benefit at the odds of the costs, for a known prevalence.
    """
    costs = {"fn": 1.0} if options.costs is None else options.costs
    fp, fn = map(float, ErrorCosts.parse(costs))
    if not fn:
        return pl.DataFrame(schema=EMPTY_LIMITS)
    odds = max(fp / fn, LEAST_ODDS)
    limits = partial(
        decision_intervals,
        arguments.pop("predictions"),
        "label",
        **arguments,
        grid=odds / (1 + odds),
        prevalence=prevalence,
        ci=None if "weight" in arguments else "mover",
    )
    single: pl.DataFrame = limits(level=options.level)
    level = 1 - (1 - options.level) / max(n_models - 1, 1)
    joint = single if n_models < 3 else limits(level=level)
    # Cost: the cost of correct predictions + fn * (prevalence - net benefit). Recall: net benefit
    # / prevalence.
    correct = prevalence * costs.get("tp", 0) + (1 - prevalence) * costs.get("tn", 0)
    start, slope = (correct + fn * prevalence, -fn)
    if options.costs is None:
        start, slope = 0.0, 1 / prevalence
    ends = ("upper", "lower") if slope < 0 else ("lower", "upper")
    pairs = [*zip(("lower", "upper"), ends, strict=True)]
    return single.select(
        pl.Series("number", single.to_series().cast(pl.UInt32)),
        *((start + slope * single[name]).alias(new) for new, name in pairs),
        *((slope * joint[f"difference_{name}"]).alias(f"difference_{new}") for new, name in pairs),
    )


def _calibrations(
    predictions: pl.DataFrame,
    options: ReportOptions,
    models: pl.DataFrame | None,
    curves: GroupedCurves,
) -> pl.DataFrame | None:
    """Return the calibration curves of the models in a table; None if it is empty."""
    if models is None or not models.height:
        return None
    parts, options = curves.parts_of(predictions, options)
    return pl.concat(_calibrations_of_part(part, options, models) for part in parts)


def _calibrations_of_part(
    rows: pl.DataFrame, options: ReportOptions, models: pl.DataFrame
) -> pl.DataFrame:
    score = options.score
    if isinstance(options.score, Mapping):
        private = private_names(models.get_column(MODEL), rows.columns)
        rows = rows.with_columns(
            column_expression("score", options.score[name]).alias(own)
            for name, own in private.items()
        )
        score = private
    elif MODEL in models.columns:
        rows = rows.join(models, on=MODEL, how="semi", nulls_equal=True)
    return calibration(
        rows,
        **options.roles
        | {"score": score, "missing": "raise" if options.missing == "raise" else "drop"},
        by=options.keys_without(options.averaged),
        ci=None if options.ci is None else NOT_GIVEN,
        level=options.level,
    )


def _models_with_probabilities(curves: GroupedCurves) -> tuple[pl.DataFrame | None, list[str]]:
    """Return the distinct models whose scores are all in [0, 1], and remarks on the others."""
    problem = "the scores are not all between 0 and 1."
    keys, is_outside = curves.keys, curves.outside
    if MODEL not in keys.columns:
        if not is_outside.any():
            return pl.DataFrame(height=1), []
        return None, [f"Calibration not computed: {problem}"]
    outside = keys.filter(is_outside).get_column(MODEL)
    models = keys.select(MODEL).unique(maintain_order=True)
    is_left_out = models.get_column(MODEL).is_in(outside.implode(), nulls_equal=True)
    others = format_list(models.filter(is_left_out).get_column(MODEL).to_list(), most=40)
    remarks = [f"Calibration not computed for {others}: {problem}"] if is_left_out.any() else []
    return models.filter(~is_left_out), remarks


def _curve_metrics(
    predictions: pl.DataFrame, options: ReportOptions, curves: GroupedCurves
) -> pl.DataFrame:
    """Return the metrics in CURVE_METRICS and the prevalence, in the row order of `auc`."""
    parts, options = curves.parts_of(predictions, options)
    metrics = list(CURVE_METRICS)
    # Group columns are renamed, because `intervals` does not allow names of columns of its result.
    private = private_names(options.keys, predictions.columns)
    by, results = list(private.values()) or None, []
    for part in parts:
        rows = part.with_columns(column(name).alias(own) for name, own in private.items())
        results.append(intervals(rows, **options.roles, by=by, metrics=metrics, ci=None))
    result = pl.concat(results)
    # All tables are sorted by the group columns, so their rows have the same order.
    return curves.first.select(
        *(result.filter(metric=name)["estimate"].alias(name) for name in CURVE_METRICS),
        RATES["prevalence"].expr(Settings()).alias("prevalence"),
    )


MAX_TABLE_ROWS = 500


def metrics_text(tables: ReportTables, file: str | None) -> TextTable:
    """Return AUC, interval and other metrics of each group as text; `file` has all rows."""
    areas, top = tables.areas, tables.areas.head(MAX_TABLE_ROWS)
    metrics = tables.metrics.head(MAX_TABLE_ROWS)
    columns = [
        *name_columns(top, group_columns(areas)),
        *estimate_columns("AUC", "auc", top, areas, decimals=DECIMALS),
        *(
            number_column(title, metrics[name], decimals=DECIMALS)
            for name, title in CURVE_METRICS.items()
            if metrics[name].null_count() < top.height
        ),
        number_column("prevalence", metrics["prevalence"], decimals=DECIMALS),
        *size_columns(top, areas),
    ]
    return TextTable(
        caption="AUC and other metrics of each group",
        columns=columns,
        omitted=omitted_text(areas.height - top.height, "row", file),
    )


def size_columns(top: pl.DataFrame, areas: pl.DataFrame) -> list[TextColumn]:
    """Return the row counts and notes of areas; `top` are the shown rows of `areas`."""
    return [
        count_column("positives", top["n_pos"]),
        count_column("negatives", top["n_neg"]),
        *([count_column("missing", top["n_missing"])] if areas["n_missing"].sum() else []),
        *note_columns(top, areas, note_in_words),
    ]


def mean_area_columns(top: pl.DataFrame, areas: pl.DataFrame, over: str) -> list[TextColumn]:
    """Return what explains the mean areas `top` over `over`, with notes on undefined areas."""
    notes = []
    for group in top.iter_slices(1):
        note = group["note"][0]
        # `left_out` is always the last note, so the text after it is only its count and keys.
        first, left_out, _ = (note or "").partition("left_out:")
        notes.append(first + _left_out_text(areas, group, over) if left_out else note)
    top = top.with_columns(pl.Series("note", notes, pl.String))
    return [
        number_column("sd", top["sd"], decimals=DECIMALS),
        number_column("AUC of mean curve", top["auc_of_mean"], decimals=DECIMALS),
        count_column("curves", top["n_curves"]),
        *note_columns(top, top, note_in_words),
    ]


def _left_out_text(areas: pl.DataFrame, group: pl.DataFrame, over: str) -> str:
    """Return the values of `over` without an AUC in the group of the mean area `group`."""
    on = [column(key) for key in group_columns(group, "mean_auc")]
    undefined = areas.filter(pl.col("note").is_in(UNDEFINED_AUC))
    if on:
        undefined = undefined.join(group.select(on), on=on, how="semi", nulls_equal=True)
    texts = []
    for note in UNDEFINED_AUC:
        values = format_values(undefined.filter(note=note).get_column(over))
        if values:
            names = join_first(values, MAX_LEFT_OUT)
            texts.append(f"{format_name(over)} {names} left out: {NOTE_TEXTS[note]}")
    return SEPARATOR.join(texts)


def comparison_text(comparison: pl.DataFrame) -> TextTable:
    """Return the differences between models as text."""
    top = comparison.head(MAX_TABLE_ROWS)
    models = top.select(pl.col("model_a").alias("model a"), pl.col("model_b").alias("model b"))
    columns = [
        *name_columns(top, group_columns(comparison, "model_a")),
        *name_columns(models, models.columns),
        *estimate_columns(
            "difference", "difference", top, comparison, decimals=DECIMALS, zero=True
        ),
        p_value_column("p-value", top["p_value"]),
        p_value_column("adjusted p-value", top["p_adjusted"]),
        number_column("AUC a", top["auc_a"], decimals=DECIMALS),
        number_column("AUC b", top["auc_b"], decimals=DECIMALS),
        count_column("rows", top["n_paired"]),
        *note_columns(top, comparison, note_in_words),
    ]
    return TextTable(
        caption="Differences of the AUC of each pair of models",
        columns=columns,
        omitted=omitted_text(comparison.height - top.height, "row"),
    )


# Notes of groups whose AUC is undefined.
UNDEFINED_AUC: tuple[Note, ...] = ("no_rows", "no_positives", "no_negatives")
MAX_LEFT_OUT = 5  # maximum number of values in a note
