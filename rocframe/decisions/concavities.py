"""The functions `concavities`, `repair_scores` and `repaired_auc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from rocframe.curves.convex_hull import hull_vertices
from rocframe.curves.table import COMPLETE_CURVES, check_ends, name_key, plan_curves
from rocframe.decisions.costs import CurveRows, curve_ranges
from rocframe.decisions.transfer import plan_transfer, pooled_other_curves
from rocframe.errors import OptionValueError, RepeatedNameError, ScoreError
from rocframe.frames import (
    as_input_frame,
    build_table,
    check_keys,
    column,
    find_keys,
    join_keys,
    lazy_plan,
    number_keys,
    private_names,
    select_keys,
)
from rocframe.inference import class_notes
from rocframe.inputs.roles import check_column_type, resolve_column
from rocframe.kernel.arrays import exact_product, exact_quotient, exact_sums, grouped_bisect
from rocframe.kernel.groups import (
    cumulative_sums,
    falling_ranks,
    is_run_start,
    round_thresholds,
    run_starts,
    sort_order,
)
from rocframe.options import check_choice, check_supported, parse_integer, public
from rocframe.schemas.curves import CONCAVITIES, REPAIRED_AUC, concavity_columns
from rocframe.schemas.table_type import THRESHOLD, score_floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column
    from rocframe.schemas.table_type import Schema

Which = Literal["largest", "all"]
REPAIRED_SCORE = "repaired_score"
MIN_AREA = 1e-12  # of a concavity with weighted rows; smaller areas are rounding errors


@public
def concavities(curves: FrameT, /, *, min_rows: int = 1, by: By = None) -> FrameT:
    """Find the parts of ROC curves that are below their convex hull.

    A concavity is the part of a curve between two neighboring vertices of its convex hull. There,
    the scores rank the rows worse than at random. Most concavities are due to small numbers of
    rows: they are no evidence that scores are wrong.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    min_rows : int, default 1
        Return only concavities with at least this number of rows, or sum of weights; 1: all.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per concavity, sorted by group and falling threshold: `*by, area, threshold_above,
        threshold_below, score_max, fpr_above, tpr_above, fpr_below, tpr_below, n_pos, n_neg, auc`.
        It consists of the rows with `threshold_below <= score < threshold_above`; `score_max` is
        the highest of these scores, and `n_pos` and `n_neg` are numbers of rows (Int64) or sums of
        weights. `area` (Float64) is between hull and curve, and `auc` that of the complete curve.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks rows, or if an option is invalid.

    See Also
    --------
    repair_scores : Reverse the order of the scores in a concavity.
    repaired_auc : The effect of the repair on other data.

    References
    ----------
    - P. A. Flach, S. Wu (2005), Proceedings of the 19th IJCAI, 702-707.
    - T. Fawcett (2006), Pattern Recognition Letters 27, 861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 0, 1, 1, 0], "score": [6, 5, 4, 3, 2, 1]})
    >>> parts = rf.curve(predictions, "label", "score").roc.concavities()
    >>> parts.select("area", "threshold_above", "threshold_below", "n_pos", "n_neg", "auc")
    shape: (1, 6)
    ┌──────────┬─────────────────┬─────────────────┬───────┬───────┬──────────┐
    │ area     ┆ threshold_above ┆ threshold_below ┆ n_pos ┆ n_neg ┆ auc      │
    │ ---      ┆ ---             ┆ ---             ┆ ---   ┆ ---   ┆ ---      │
    │ f64      ┆ f64             ┆ f64             ┆ i64   ┆ i64   ┆ f64      │
    ╞══════════╪═════════════════╪═════════════════╪═══════╪═══════╪══════════╡
    │ 0.222222 ┆ 6.0             ┆ 2.0             ┆ 2     ┆ 2     ┆ 0.555556 │
    └──────────┴─────────────────┴─────────────────┴───────┴───────┴──────────┘
    """
    min_rows = parse_integer("min_rows", min_rows, example=10)

    def find(curves: Curves, columns: Schema) -> pl.DataFrame:
        check_ends(curves, "its convex hull is unknown", COMPLETE_CURVES)
        rows = CurveRows.from_curves(curves)
        parts = find_concavities(rows, min_rows)
        pairs = doubled_pairs(rows, len(curves.firsts))
        auc = exact_quotient(doubled_wins(rows, rows.threshold, len(pairs)), pairs)
        result = _vertex_columns(rows, parts) | {"area": parts.area, "auc": auc[parts.curve]}
        return build_table(curves.keys, result, columns, rows=parts.curve)

    def columns(schema: pl.Schema) -> Schema:
        scores = score_floats([schema.get(THRESHOLD, pl.Float64())])
        return concavity_columns(schema.get("tp", pl.Int64())) | {"score_max": scores}

    return plan_curves(curves, by, columns, find, anchor="area")


class Concavities(NamedTuple):
    """The curve and the area of each concavity, and the rows of its upper and lower vertex."""

    curve: NDArray[np.int64]
    above: NDArray[np.int64]
    below: NDArray[np.int64]
    area: NDArray[np.float64]


def find_concavities(rows: CurveRows, min_rows: int) -> Concavities:
    """Return the concavities with at least `min_rows` rows, in the order of `rows`."""
    starts, _ = curve_ranges(rows.curve)
    is_vertex = hull_vertices(rows.tp, rows.fp, np.append(starts, len(rows.curve)))
    vertices = np.flatnonzero(is_vertex)
    above, below = vertices[:-1], vertices[1:]
    in_curve = (rows.curve[above] == rows.curve[below]) & (below > above + 1)
    above, below = above[in_curve], below[in_curve]
    if not len(above):
        return Concavities(rows.curve[above], above, below, np.zeros(0))
    tp, fp, pos, neg = rows.unit_counts
    width, height = np.diff(fp, prepend=0), np.append(0, tp[:-1] + tp[1:])
    width[starts] = 0
    # Twice the area under the curve in each concavity. The sums between concavities are dropped.
    edges = np.column_stack([above + 1, below + 1]).ravel()
    edges = edges[:-1] if edges[-1] == len(tp) else edges
    under = exact_sums(width, height, edges)[::2]
    lost = exact_product(tp[above] + tp[below], fp[below] - fp[above]) - under
    sizes = exact_product(pos[above], neg[above], np.full(len(above), 2))
    area = exact_quotient(lost, sizes)
    n_rows = (rows.tp[below] - rows.tp[above]) + (rows.fp[below] - rows.fp[above])
    is_below = area > (MIN_AREA if rows.weighted else 0)
    chosen = is_below & ((n_rows >= min_rows) | (min_rows == 1))
    above, below = above[chosen], below[chosen]
    return Concavities(rows.curve[above], above, below, area[chosen])


def _vertex_columns(rows: CurveRows, parts: Concavities) -> dict[str, Any]:
    """Return the columns with thresholds, rates and numbers of rows of each concavity."""
    above, below = rows.take(parts.above), rows.take(parts.below)
    return {
        "threshold_above": above.threshold,
        "threshold_below": below.threshold,
        "score_max": rows.threshold[parts.above + 1],
        "fpr_above": above.fp / above.neg,
        "tpr_above": above.tp / above.pos,
        "fpr_below": below.fp / below.neg,
        "tpr_below": below.tp / below.pos,
        "n_pos": below.tp - above.tp,
        "n_neg": below.fp - above.fp,
    }


@public
def repair_scores(
    predictions: FrameT, /, score: Column, concavities: pl.DataFrame, *, which: Which = "largest"
) -> FrameT:
    """Add a column with scores whose order is reversed in concavities of the ROC curve.

    On the data in which a concavity was found, the reversal increases the AUC by twice its area. On
    other data, it decreases the AUC if the concavity is due to chance: see `repaired_auc`.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    score : str or Expr
        The score, higher for positives.
    concavities : DataFrame
        A table of `concavities`, whose columns left of `area` are also columns of the predictions.
    which : {"largest", "all"}, default "largest"
        The concavity of each group with the largest area (of equal ones, the highest scores), or
        all.

    Returns
    -------
    DataFrame or LazyFrame
        The predictions with a last column `repaired_score` (Float64). Scores with `threshold_below
        <= score < threshold_above` of a concavity become `threshold_below + score_max - score`, at
        least `threshold_below`; others do not change. A null or NaN score remains so.

    Raises
    ------
    RocframeError
        If a table, a column or an option is invalid, or if a concavity has infinite scores.

    See Also
    --------
    concavities : The concavities of curves.
    repaired_auc : The effect of the repair on other data.

    Notes
    -----
    If the scores of a concavity differ by many orders of magnitude, such as 0.7 and 1e-17, small
    scores can have the same repaired score. To prevent this, use the logarithms of such scores.
    Repaired scores are not probabilities.

    References
    ----------
    P. A. Flach, S. Wu (2005), "Repairing concavities in ROC curves", Proceedings of the 19th
    International Joint Conference on Artificial Intelligence, 702-707.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 0, 1, 1, 0], "score": [6, 5, 4, 3, 2, 1]})
    >>> parts = rf.curve(predictions, "label", "score").roc.concavities()
    >>> predictions.roc.repair_scores("score", parts)["repaired_score"].to_list()
    [6.0, 2.0, 3.0, 4.0, 5.0, 1.0]
    """
    check_choice("which", which, get_args(Which))
    by = parse_concavities("concavities", concavities)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        check_keys("concavities", concavities.schema, schema, by)
        if REPAIRED_SCORE in schema:
            raise RepeatedNameError.in_predictions(REPAIRED_SCORE, schema)
        name, score_expr, dtype = resolve_column(plan, schema, "score", score)
        check_column_type("score", name, dtype)
        names = private_names(["score", "group"], list(schema))
        keys, group = number_keys(concavities, by)
        floats = np.dtype(np.float32 if score_floats([dtype]) == pl.Float32 else np.float64)
        intervals = Intervals.from_table(
            "concavities", concavities, keys, group, which, scores=floats
        )
        rows = plan.with_columns(score_expr.cast(pl.Float64).alias(names["score"]))
        number = pl.lit(0, pl.Int64).alias(names["group"])
        if by:
            numbered = keys.with_columns(pl.int_range(pl.len()).alias(names["group"]))
            rows = join_keys(rows, schema, numbered, by)
            number = column(names["group"]).fill_null(-1)

        def repair(values: pl.Series) -> pl.Series:
            scores, groups = values.struct.unnest().get_columns()
            filled = scores.fill_null(np.nan).to_numpy()
            result = pl.Series(values.name, intervals.reverse(filled, groups.to_numpy()))
            return result.set(scores.is_null(), None)

        repaired = pl.struct(column(names["score"]), number).map_batches(
            repair, return_dtype=pl.Float64, is_elementwise=True
        )
        return rows.select(*(column(name) for name in schema), repaired.alias(REPAIRED_SCORE))

    plan = lazy_plan("predictions", predictions)
    return as_input_frame(predictions, plan.pipe_with_schema(resolve))


def parse_concavities(argument: str, table: object) -> tuple[str, ...]:
    """Return the group columns of a table of concavities; raise an error for other objects."""
    recognized = None
    if isinstance(table, pl.DataFrame):
        recognized = CONCAVITIES.recognize(table.columns)
    if not isinstance(table, pl.DataFrame) or recognized is None:
        expected, hint = "a table of concavities", "Pass the collected result of concavities."
        raise OptionValueError.unexpected_type(argument, table, expected, hint)
    return recognized[0]


class Intervals(NamedTuple):
    """Intervals of scores whose order is reversed, sorted by group and score.

    They contain the scores with `lower <= score < upper`; NaN is no limit. `highest` is the highest
    score of the concavity in the data in which it was found, and `area` its area.
    """

    group: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    highest: NDArray[np.float64]
    area: NDArray[np.float64]

    @classmethod
    def from_table(
        cls,
        argument: str,
        table: pl.DataFrame,
        keys: pl.DataFrame,
        group: NDArray[np.int64],
        which: Which,
        *,
        scores: np.dtype[Any],
    ) -> Intervals:
        """Return the intervals of a table of concavities, with limits of the dtype of `scores`."""
        names = ("threshold_below", "threshold_above", "score_max", "area", "tpr_above")
        lower, upper, highest, area, tpr_above = (
            table.get_column(name).cast(pl.Float64).to_numpy() for name in names
        )
        lower, upper, highest = (round_thresholds(x, scores) for x in (lower, upper, highest))
        upper = _upper_limits(upper, tpr_above)
        intervals = cls(group, lower, upper, highest, area)._select(which)
        intervals._check_finite(argument, keys)
        return intervals

    @classmethod
    def from_other_folds(
        cls, rows: CurveRows, parts: Concavities, keys: pl.DataFrame, which: Which
    ) -> Intervals:
        """Return the intervals of concavities of pooled curves; curve i has the key `keys[i]`."""
        lower, upper, highest = (
            rows.threshold[index] for index in (parts.below, parts.above, parts.above + 1)
        )
        upper = _upper_limits(upper, rows.tp[parts.above])
        intervals = cls(parts.curve, lower, upper, highest, parts.area)._select(which)
        intervals._check_finite("curves", keys, "the other folds of ")
        return intervals

    def _select(self, which: Which) -> Intervals:
        """Return the sorted intervals, or the largest (then the highest) one of each group."""
        order = np.lexsort((self.lower, self.group))
        if which == "largest":
            by_area = np.lexsort((-self.lower, -self.area, self.group))
            order = by_area[is_run_start(self.group[by_area])]
        group, lower, upper, highest, area = self
        return Intervals(group[order], lower[order], upper[order], highest[order], area[order])

    def _check_finite(self, argument: str, keys: pl.DataFrame, part: str = "") -> None:
        """Raise an error if an interval has infinite scores; `part` precedes its group's name."""
        infinite = self.group[np.isinf(self.lower) | np.isinf(self.highest)]
        if len(infinite):
            where = part + name_key(keys, int(infinite[0]), otherwise="the curve")
            raise ScoreError(
                f"{argument}: the order of scores of {where} cannot be reversed, because "
                "some scores are infinite.\nReplace infinite scores by numbers first."
            )

    def reverse(self, scores: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores, in reversed order within the intervals of their group; NaN stays."""
        if not len(self.group):
            return scores
        first = np.searchsorted(self.group, group)
        last = np.searchsorted(self.group, group, "right") - 1
        index = grouped_bisect(lambda i: self.lower[i] <= scores, first, last) - 1
        exists = index >= first
        index = np.where(exists, index, 0)
        lower, upper, highest = (x[index] for x in (self.lower, self.upper, self.highest))
        exists &= ~(scores >= upper)
        with np.errstate(invalid="ignore", over="ignore"):
            # Scores of other data can be above `highest`. They become the lowest score.
            reversed_scores = np.clip(highest - scores + lower, lower, highest)
        return np.where(exists, reversed_scores, scores)


def _upper_limits(threshold: NDArray[np.float64], tp: NDArray[Any]) -> NDArray[np.float64]:
    """Return the upper limit of the scores of each concavity; NaN for the first row of a curve.

    Unlike the row of the score inf, the first row has no true positives.
    """
    return np.where((threshold == np.inf) & (tp == 0), np.nan, threshold)


def doubled_pairs(rows: CurveRows, n_curves: int) -> NDArray[Any]:
    """Return twice the number of pairs of a positive and a negative of each curve, scaled."""
    pos, neg = np.zeros((2, n_curves), rows.pos.dtype)
    *_, pos[rows.curve], neg[rows.curve] = rows.unit_counts
    return exact_product(pos, neg, np.full(n_curves, 2))


def doubled_wins(rows: CurveRows, scores: NDArray[np.float64], n_curves: int) -> NDArray[Any]:
    """Return twice the number of concordant pairs of each curve; a tied pair counts 1."""
    index = np.flatnonzero(~is_run_start(rows.curve))
    pos, neg = (count[index] - count[index - 1] for count in rows.unit_counts[:2])
    curve, score = rows.curve[index], scores[index]
    if not ((score[1:] < score[:-1]) | (curve[1:] != curve[:-1])).all():
        firsts, _ = curve_ranges(curve)
        order, _ = sort_order(falling_ranks(score), np.append(firsts, len(curve)))
        curve, score, pos, neg = curve[order], score[order], pos[order], neg[order]
    wins = np.zeros(n_curves, rows.tp.dtype)
    if not len(curve):
        return wins
    ties = run_starts(curve, score)
    curve, pos, neg = curve[ties], np.add.reduceat(pos, ties), np.add.reduceat(neg, ties)
    starts, _ = curve_ranges(curve)
    tp = cumulative_sums(pos.copy(), np.append(starts, len(curve)))
    sums = exact_sums(neg, 2 * tp - pos, starts)
    wins = wins.astype(sums.dtype)
    wins[curve[starts]] = sums
    return wins


@public
def repaired_auc(
    curves: FrameT,
    /,
    *,
    over: str = "fold",
    chosen: pl.DataFrame | None = None,
    which: Which = "largest",
    min_rows: int = 1,
    by: By = None,
) -> FrameT:
    """Measure the change of the AUC if concavities that were found on other data are repaired.

    For each fold, concavities are found on the pooled rows of all other folds, and the order of the
    scores of this fold is reversed within them; with `chosen=`, within those of a given table. The
    scores of all folds must be on one scale. Repair scores only if most folds gain.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    over : str, default "fold"
        Group column of the folds: the other curves that differ from a curve only in it are pooled.
    chosen : DataFrame, default None
        A table of `concavities`, whose group columns must be group columns of `curves`.
    which : {"largest", "all"}, default "largest"
        The concavity of each group with the largest area (of equal ones, the highest scores), or
        all.
    min_rows : int, default 1
        Repair only concavities with at least this number of rows, or sum of weights; 1: all.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per curve: `*by, gain_realised, gain_chosen, optimism, auc_repaired, auc,
        n_concavities, note`. `gain_realised` (Float64) is `auc_repaired - auc`, `gain_chosen` the
        gain on the data in which the concavities were found, and `optimism` is `gain_chosen -
        gain_realised`.

        Values are null if the curve lacks a class; `gain_chosen` and `optimism` if the pooled data
        of the other folds do. `note` (String) describes the curve, or else the pooled data: null,
        `no_rows`, `no_positives`, `no_negatives`, `one_positive` or `one_negative`.

    Raises
    ------
    RocframeError
        If a table or an option is invalid, if a curve lacks rows, or if a concavity has infinite
        scores.

    See Also
    --------
    concavities : The concavities of curves.
    repair_scores : The repaired scores of predictions.

    References
    ----------
    P. A. Flach, S. Wu (2005), "Repairing concavities in ROC curves", Proceedings of the 19th
    International Joint Conference on Artificial Intelligence, 702-707.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> votes = rf.datasets.vote().filter(pl.col("model") == "naive_bayes")
    >>> repaired = rf.curve(votes, "label", "score", by="fold").roc.repaired_auc()
    >>> repaired.select(pl.col("gain_realised", "gain_chosen").mean().round(4)).row(0, named=True)
    {'gain_realised': -0.0074, 'gain_chosen': 0.0042}
    """
    keys: dict[str, pl.DataType] = {}
    min_rows = parse_integer("min_rows", min_rows, example=10)
    check_choice("which", which, get_args(Which))
    if chosen is not None:
        check_supported("min_rows", min_rows, "chosen=", default=1)
        keys = {name: chosen.schema[name] for name in parse_concavities("chosen", chosen)}

    def compute(curves: Curves, columns: Schema) -> pl.DataFrame:
        if chosen is None:
            result = _repair_over_folds(curves, over, which, min_rows)
        else:
            result = _repair_chosen(curves, chosen, tuple(keys), which)
        return build_table(curves.keys, result, columns)

    return plan_transfer(
        curves,
        compute,
        over=over,
        keys=None if chosen is None else lambda _: keys,
        columns=lambda _: REPAIRED_AUC.columns(),
        by=by,
        anchor="n_concavities",
    )


def _repair_over_folds(curves: Curves, over: str, which: Which, min_rows: int) -> dict[str, Any]:
    """Return the columns of `repaired_auc` if the other curves of a group have the concavities."""
    others, n_curves = pooled_other_curves(curves, over), len(curves.firsts)
    parts = find_concavities(others, min_rows)
    intervals = Intervals.from_other_folds(others, parts, curves.keys, which)
    result = _gain_columns(curves, intervals, np.arange(n_curves), n_curves)
    has_both = np.asarray(doubled_pairs(others, n_curves) > 0, bool)
    for name in ("gain_chosen", "optimism"):
        result[name] = np.where(has_both, result[name], np.nan)
    pos, neg = np.zeros((2, n_curves))
    pos[others.curve], neg[others.curve] = others.pos, others.neg
    of_others = class_notes(pos, neg)
    result["note"] = [
        own if own is not None or is_chosen else other
        for own, is_chosen, other in zip(result["note"], has_both, of_others, strict=True)
    ]
    return result


def _repair_chosen(
    curves: Curves, chosen: pl.DataFrame, keys: tuple[str, ...], which: Which
) -> dict[str, Any]:
    """Return the columns of `repaired_auc` if `chosen` has the concavities."""
    check_ends(curves, "its area cannot be computed", COMPLETE_CURVES)
    distinct, group = number_keys(chosen, keys)
    intervals = Intervals.from_table("chosen", chosen, distinct, group, which, scores=curves.scores)
    key_of = find_keys(select_keys(curves.keys, keys), distinct).fill_null(-1).to_numpy()
    return _gain_columns(curves, intervals, key_of, distinct.height)


def _gain_columns(
    curves: Curves, intervals: Intervals, group: NDArray[np.int64], n_groups: int
) -> dict[str, Any]:
    """Return the columns of each curve, repaired in the intervals of `group` (-1: of no group)."""
    rows, n_curves = CurveRows.from_curves(curves), len(group)
    pairs = doubled_pairs(rows, n_curves)
    repaired = intervals.reverse(rows.threshold, group[rows.curve])
    before, after = (doubled_wins(rows, scores, n_curves) for scores in (rows.threshold, repaired))
    auc, auc_repaired, gain = (
        exact_quotient(wins, pairs) for wins in (before, after, after - before)
    )
    # The last element, with the index -1, is for curves without a group.
    n_concavities = np.bincount(intervals.group, minlength=n_groups + 1)
    area = np.bincount(intervals.group, intervals.area, n_groups + 1).astype(np.float64)
    gain_chosen = 2 * area[group]
    return {
        "gain_realised": gain,
        "gain_chosen": gain_chosen,
        "optimism": gain_chosen - gain,
        "auc_repaired": auc_repaired,
        "auc": auc,
        "n_concavities": n_concavities[group],
        "note": class_notes(curves.pos, curves.neg).tolist(),
    }
