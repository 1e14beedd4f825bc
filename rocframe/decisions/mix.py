"""The functions `mix` and `draw_decisions`: random choices between two classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.curves.at import parse_point
from rocframe.curves.locate import confusion_counts, interpolated_values, round_values, segment_root
from rocframe.curves.table import PointTable, plan_curves
from rocframe.decisions.hull import common_hulls
from rocframe.errors import ColumnTypeError, RepeatedNameError
from rocframe.frames import (
    as_input_frame,
    build_table,
    check_keys,
    column,
    join_keys,
    lazy_plan,
    private_names,
    take_rows,
)
from rocframe.inputs.roles import check_column_type, resolve_column
from rocframe.kernel.arrays import grouped_bisect
from rocframe.kernel.groups import group_starts
from rocframe.kinds import PREVALENCE, parse_metric, prevalence_column
from rocframe.options import check_group_columns, parse_integer, public
from rocframe.rates import NAMES, Settings, as_fpr_or_tpr
from rocframe.schemas import table_of
from rocframe.schemas.curves import MIX, MIXTURE, mixture_columns
from rocframe.schemas.table_type import POINT_NAMES, THRESHOLD, score_floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.curves.at import PointValues
    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column
    from rocframe.schemas.table_type import Schema


@public
def mix(
    curves: FrameT,
    /,
    *,
    across: str | None = None,
    fpr: PointValues = None,
    tpr: PointValues = None,
    specificity: PointValues = None,
    sensitivity: PointValues = None,
    alert_rate: PointValues = None,
    by: By = None,
) -> FrameT:
    """Return two thresholds; a random choice of one of them gives a given expected rate.

    Pass exactly one of the rates, as a number or as a list. The expected FPR and TPR are a point on
    the convex hull of the curve, or of several curves with `across=`: no other choice of thresholds
    with the given rate, random or not, has a lower FPR or a higher TPR.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    across : str, default None
        Group column, such as `"model"`: curves that differ only in it have one common hull.
    fpr : float or sequence of float, default None
        Return the point with this false positive rate.
    tpr : float or sequence of float, default None
        Return the point with this true positive rate.
    specificity : float or sequence of float, default None
        Return the point with this specificity, 1 - FPR.
    sensitivity : float or sequence of float, default None
        Another name of `tpr`.
    alert_rate : float or sequence of float, default None
        Return the point with this proportion of positive predictions, at the prevalence of the
        table.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and value: `*by, fpr, tpr` (Float64), `at` (String, the name of the
        argument), `at_value, tp, fp, fn, tn` (Float64); a column `prevalence` of the curves; with
        `across="model"`, `model_above, model_below`; then `threshold_above, threshold_below, mix`
        (Float64) and `note` (String).

        To obtain the point, predict `score >= threshold_below` (of `model_below`) for a random
        proportion `mix` of the rows, from 0 to 1, and `score >= threshold_above` (of `model_above`)
        for the others. Rates and counts are expected values; those of a common hull are for the
        mean class sizes of its curves. If a vertex of the hull has the rate, `mix` is 0 and both
        thresholds are its threshold.

        All columns except `*by, at, at_value, note` are null if the curve lacks a class, or if no
        point of the hull has the rate. `note` is null or `no_rows`, `no_positives`, `no_negatives`,
        `one_positive`, `one_negative` or `no_solution`.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks rows, if none or several of the rates
        are given, or if an option is invalid.

    See Also
    --------
    draw_decisions : Draw the decisions of single cases.
    at : Points of each curve itself, with `interpolate=True` also between rows.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27, section 10. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.9, 0.8, 0.7, 0.4, 0.4, 0.1]
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0, 1, 0], "score": scores})
    >>> point = rf.curve(predictions, "label", "score").roc.mix(fpr=0.5)
    >>> point.select("at", "mix", "threshold_above", "threshold_below").row(0, named=True)
    {'at': 'fpr', 'mix': 0.75, 'threshold_above': 0.9, 'threshold_below': 0.4}
    """
    arguments = {"fpr": fpr, "tpr": tpr, "specificity": specificity, "sensitivity": sensitivity}
    axis, values = parse_point({**arguments, "alert_rate": alert_rate}, function="mix")

    def columns(schema: pl.Schema) -> Schema:
        models = None
        if isinstance(across, str) and across in schema:
            models = across, schema[across]
        return mixture_columns(models, prevalence_column(schema))

    return plan_curves(
        curves,
        by,
        columns,
        lambda curves, columns: mixtures(curves, across, axis, values, columns),
        anchor="at_value",
        compared=None if across is None else ("across", across),
        position=None,
    )


def mixtures(
    curves: Curves, across: str | None, axis: str, values: Sequence[float], columns: Schema
) -> pl.DataFrame:
    """Return the mixture of two vertices of each hull at each value; null if there is none."""
    hulls = common_hulls(curves, across)
    n_groups = hulls.keys.height
    with np.errstate(divide="ignore", invalid="ignore"):
        pos, neg = (total / hulls.n_curves for total in (hulls.n_pos, hulls.n_neg))
        # The counts of each curve are scaled to the mean class sizes; rates do not change.
        tp, fp = (
            curves.columns[name][hulls.row] * (mean[hulls.group] / total[hulls.curve])
            for name, total, mean in (("tp", curves.pos, pos), ("fp", curves.neg, neg))
        )
    no_threshold = np.full(len(tp), np.nan)
    vertices = confusion_counts(no_threshold, tp, fp, pos[hulls.group], neg[hulls.group])
    rate, found = as_fpr_or_tpr(axis, values)
    metric = parse_metric("at", rate, Settings()).at_prevalence(curves.prevalence)
    rates, searched = metric.evaluate(vertices), np.asarray(found, np.float64)
    is_exact = across is None and curves.columns["tp"].dtype.kind == "i"
    if not (is_exact and metric.count_ratio):
        rates, searched = (round_values(each, metric.bounds) for each in (rates, searched))
    above, below, exists = _neighbors(hulls.group, rates, n_groups, searched, rate)
    group = np.repeat(np.arange(n_groups), len(values))
    value = np.tile(np.asarray(found, np.float64), n_groups)
    exists &= ((hulls.n_pos > 0) & (hulls.n_neg > 0))[group]
    above, below = np.where(exists, above, 0), np.where(exists, below, 0)
    upper, lower = (
        {name: part[rows] for name, part in vertices.items()} for rows in (above, below)
    )
    share = np.where(exists, segment_root(metric, value, upper, lower), np.nan)
    tp, fp = (interpolated_values(upper[name], lower[name], share) for name in ("tp", "fp"))
    note = pl.Series(hulls.note[group].tolist(), dtype=pl.String)
    result: dict[str, Any] = {
        **confusion_counts(share, tp, fp, pos[group], neg[group]),
        "at": axis,
        "at_value": np.tile(np.asarray(values, np.float64), n_groups),
        "fpr": fp / neg[group],
        "tpr": tp / pos[group],
        "mix": share,
        # A group without another note has a hull without this point.
        "note": note.set(note.is_null() & pl.Series(~exists), "no_solution"),
    }
    if curves.prevalence is not None:
        result[PREVALENCE] = np.where(exists, curves.prevalence, np.nan)
    for side, rows in (("above", above), ("below", below)):
        threshold = curves.columns.at(THRESHOLD, hulls.row[rows])
        result[f"threshold_{side}"] = np.where(exists, threshold, np.nan)
        if across is not None:
            position = pl.Series(hulls.curve[rows]).set(pl.Series(~exists), None)
            model = take_rows(curves.keys, position).get_column(across)
            result[f"{across}_{side}"] = model
    return build_table(hulls.keys, result, columns, rows=group)


def _neighbors(
    group: NDArray[np.int64],
    rates: NDArray[np.float64],
    n_groups: int,
    values: NDArray[np.float64],
    axis: str,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the vertices above and below each value of each group, and whether they exist.

    `rates` are the rising values of `axis` at the vertices. The best vertex with exactly the value
    is returned as both.
    """
    starts = group_starts(group, n_groups)
    first, last = np.broadcast_arrays(
        starts[:-1, None], starts[1:, None] - 1, np.empty((1, len(values)))
    )[:2]
    value = np.broadcast_to(values, first.shape)
    if NAMES[axis].occurrence == "first":
        next_row = grouped_bisect(lambda row: rates[row] < value, first, last)
        at_vertex = next_row
    else:
        next_row = grouped_bisect(lambda row: rates[row] <= value, first, last)
        at_vertex = next_row - 1
    between = (next_row > first) & (next_row <= last)
    inside = np.clip(at_vertex, first, last)
    is_vertex = rates[inside] == value
    above = np.where(is_vertex, inside, np.maximum(next_row - 1, first))
    below = np.where(is_vertex, inside, np.minimum(next_row, last))
    return above.ravel(), below.ravel(), (is_vertex | between).ravel()


@public
def draw_decisions(
    predictions: FrameT,
    /,
    score: Column,
    points: pl.DataFrame,
    *,
    id: Column,  # noqa: A002 - name of the public option
    seed: int,
) -> FrameT:
    """Add a column with decisions: one of two thresholds is drawn at random for each case.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    score : str or Expr
        The score, higher for positives.
    points : DataFrame
        A table of `mix`, or of `at` with `interpolate=True`, with one row per group. The columns
        left of `at` are group columns of the predictions. Rows of `operating_point`, `at`, `hull`
        or `curve` have one threshold, and nothing is drawn.
    id : str or Expr
        Identifier of the case of a row, such as a customer, of any type except List, Array,
        Duration and Object. The draw depends only on the seed and on the text of this value (or its
        bytes).
    seed : int
        Seed of the random draw, an integer >= 0.

    Returns
    -------
    DataFrame or LazyFrame
        The predictions with a last column `decision` (Boolean): `score >= threshold_below` for each
        case with the probability `mix`, and otherwise `score >= threshold_above`. It is null if the
        score or the identifier is missing, and in groups without a point.

        With points of `mix(across="model")`, the predictions need a column `model`, and one row per
        case and model. A case is decided by one model; `decision` is null in the rows of the
        others.

    Raises
    ------
    RocframeError
        If a column is missing, if a group has several points, or if the predictions already have a
        column `decision`.

    See Also
    --------
    mix : The points, with their expected rates.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.9, 0.8, 0.7, 0.4, 0.4, 0.1]
    >>> predictions = pl.DataFrame({"id": range(6), "label": [1, 0, 1, 0, 1, 0], "score": scores})
    >>> point = rf.curve(predictions, "label", "score").roc.mix(fpr=0.5)
    >>> rf.draw_decisions(predictions, "score", point, id="id", seed=1)["decision"].to_list()
    [True, True, True, True, True, False]
    """
    number = parse_integer("seed", seed, low=0, example=1)
    by, across, points = _parse_mixtures(points)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        dtypes = {name: points.schema[name] for name in by}
        dtypes |= {name: points.schema[f"{name}_above"] for name in across}
        check_keys("points", dtypes, schema, dtypes)
        if DECISION in schema:
            raise RepeatedNameError.in_predictions(DECISION, schema)
        name, score_expr, score_dtype = resolve_column(plan, schema, "score", score)
        check_column_type("score", name, score_dtype)
        if score_dtype.is_float():
            score_expr = score_expr.fill_nan(None)
        id_name, id_expr, id_dtype = resolve_column(plan, schema, "id", id)
        if isinstance(id_dtype, (pl.List, pl.Array, pl.Duration, pl.Object)):
            hint = (
                "The random number of a row is computed from the text of its identifier, and this "
                "type has no fixed text. Pass a column of another type."
            )
            raise ColumnTypeError.compose("id", id_name, id_dtype, hint)
        return _with_decisions(
            plan,
            schema,
            points,
            by=by,
            across=across,
            score=score_expr,
            scores=score_floats([score_dtype]),
            case=id_expr if id_dtype == pl.Binary else id_expr.cast(pl.String),
            seed=number,
        )

    plan = lazy_plan("predictions", predictions)
    return as_input_frame(predictions, plan.pipe_with_schema(resolve))


DECISION = "decision"


def _parse_mixtures(table: object) -> tuple[tuple[str, ...], tuple[str, ...], pl.DataFrame]:
    """Return the group columns of points, a tuple with the column of mixed models, and the points.

    In the result, a point with a single threshold is a mixture of this threshold with itself.
    """
    hint = "Pass the DataFrame of mix(), at(), operating_point() or hull()."
    if isinstance(table, pl.DataFrame) and {*POINT_NAMES, *MIX} <= {*table.columns}:
        layout, names = table_of(table.columns), table.columns
        by = layout.by if layout.type is MIXTURE else tuple(names[: names.index("at")])
        above = [
            name.removesuffix("_above") for name in names[len(by) :] if name.endswith("_above")
        ]
        mixed = (name for name in above if f"{name}_below" in names and name != THRESHOLD)
        points = PointTable(argument="points", rows=table, by=by, models=next(mixed, None))
        points.check_single(by)
        return by, () if points.models is None else (points.models,), table
    points = PointTable.parse("points", table, hint)
    points = points.of_models([points.models or ""])
    points.check_single(points.by)
    across = () if points.models is None else (points.models,)
    sides = {
        f"{name}_{side}": column(name)
        for name in (THRESHOLD, *across)
        for side in ("above", "below")
    }
    check_group_columns(points.by, points.rows.columns, [*sides, "mix"])
    return points.by, across, points.rows.with_columns(**sides, mix=pl.lit(0.0))


def _with_decisions(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    points: pl.DataFrame,
    *,
    by: tuple[str, ...],
    across: tuple[str, ...],
    score: pl.Expr,
    scores: pl.DataType,
    case: pl.Expr,
    seed: int,
) -> pl.LazyFrame:
    """Return the plan with decisions; thresholds are rounded to `scores`, the dtype of scores."""
    added = [*MIX, *(f"{name}_{side}" for name in across for side in ("above", "below"))]
    names = private_names([*added, "score", "case"], list(schema))
    sides = points.select(*map(column, by), *(column(name).alias(names[name]) for name in added))
    rows = plan.with_columns(score.alias(names["score"]), case.alias(names["case"]))
    if by:
        rows = join_keys(rows, schema, sides, by)
    else:
        values = sides.row(0, named=True) if sides.height else dict.fromkeys(sides.columns)
        rows = rows.with_columns(
            pl.lit(values[name], dtype).alias(name) for name, dtype in sides.schema.items()
        )
    private = {role: column(name) for role, name in names.items()}
    draw = private["case"].map_batches(
        lambda values: uniform_draws(values, seed), return_dtype=pl.Float64, is_elementwise=True
    )
    # A comparison with null is null, so missing values and groups without points give null.
    is_below = draw < private["mix"]
    chosen = {
        name: pl.when(is_below).then(private[f"{name}_below"]).otherwise(private[f"{name}_above"])
        for name in (THRESHOLD, *across)
    }
    decision = private["score"] >= chosen[THRESHOLD].cast(scores)
    known = draw.is_not_null() & private["mix"].is_not_null()
    for name in across:
        known &= column(name).eq_missing(chosen[name])
    decided = rows.with_columns(pl.when(known).then(decision).alias(DECISION))
    return decided.select(*(column(name) for name in schema), DECISION)


MULTIPLIER = 0x9E3779B97F4A7C15


def uniform_draws(texts: pl.Series, seed: int) -> pl.Series:
    """Return a number in [0, 1) for each text or bytes, which depends only on them and the seed.

    It is a polynomial hash of the bytes modulo 2**64, then mixed as by SplitMix64.
    """
    data = texts.cast(pl.Binary)
    lengths = data.bin.size().fill_null(0).to_numpy().astype(np.int64)
    values = data.drop_nulls().cast(pl.List(pl.UInt8)).explode(empty_as_null=False)
    codes = values.to_numpy().astype(np.uint64) + np.uint64(1)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    # The multiplier is odd, because a power of an even number can be 0 modulo 2**64. The exponent
    # of a byte is counted from the end of its text.
    longest = int(lengths.max(initial=0))
    powers = np.cumprod(
        np.r_[np.uint64(1), np.full(longest, MULTIPLIER, np.uint64)], dtype=np.uint64
    )
    exponent = np.repeat(ends, lengths) - np.arange(len(codes)) - 1
    sums = np.append(np.uint64(0), np.cumsum(codes * powers[exponent], dtype=np.uint64))
    hashes = sums[ends] - sums[starts]
    start = _mixed_bits(np.array([seed], np.uint64))
    bits = _mixed_bits(hashes ^ start) >> np.uint64(11)
    drawn = pl.Series(texts.name, bits.astype(np.float64) * 2.0**-53)
    return drawn.set(texts.is_null(), None)


def _mixed_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the output of the generator SplitMix64 for each state."""
    mixed = values + np.uint64(MULTIPLIER)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
