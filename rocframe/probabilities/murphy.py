"""The function `murphy_curve`: the mean elementary score of probabilities at each threshold.

References
----------
W. Ehm, T. Gneiting, A. Jordan, F. Krüger (2016), "Of quantiles and expectiles: consistent scoring
functions, Choquet representations and forecast rankings", Journal of the Royal Statistical Society
B 78(3), 505-562. doi:10.1111/rssb.12154
T. Dimitriadis, T. Gneiting, A. I. Jordan (2021), "Stable reliability diagrams for probabilistic
classifiers", Proceedings of the National Academy of Sciences 118(8). doi:10.1073/pnas.2016191118
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from rocframe.curves.convex_hull import hull_vertices
from rocframe.curves.table import check_ends, curve_layout, read_curves, score_outside_unit
from rocframe.decisions.decision_curve import class_totals
from rocframe.errors import ScoreError
from rocframe.frames import as_input_frame, build_table, lazy_plan, through_node
from rocframe.inference import class_notes
from rocframe.kernel.arrays import grouped_bisect
from rocframe.kernel.groups import group_starts, groups_of_rows, is_run_start
from rocframe.options import grid_values, parse_fraction, parse_grid, public
from rocframe.schemas.curves import murphy_columns
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray


@public
def murphy_curve(
    curves: FrameT,
    /,
    *,
    grid: int | Sequence[float] | str = 101,
    prevalence: float | None = None,
    by: By = None,
) -> FrameT:
    """Return the Murphy curve of each group: the expected cost at each probability threshold.

    Scores must be probabilities. At the probability threshold θ, rows with `score >= θ` are
    predicted positive. A false positive costs 2·θ and a false negative 2·(1 - θ), so that θ is the
    best threshold for these costs if the scores are calibrated. The mean cost per row is the mean
    elementary score at θ. Its integral over θ is the Brier score.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    grid : int, sequence of float or "vertices", default 101
        Number of evenly spaced thresholds from 0 to 1, or a list of thresholds in [0, 1].
        `"vertices"`: 0, 1, the scores, the event rates after isotonic recalibration, and the
        prevalence. Between these thresholds, all columns are straight lines.
    prevalence : float, default None
        Prevalence, between 0 and 1, of the population for which the costs are computed. The default
        is the prevalence that was passed to `curve`, or the prevalence of each curve if none was
        passed.
    by : str or sequence of str, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and threshold, in rising order: `*by, probability_threshold,
        elementary_score, miscalibration, discrimination, uncertainty, note`. With
        `grid="vertices"`, the column `side` is left of `note`.

        With the prevalence π, `elementary_score` is 2·θ·(1 - π)·FPR + 2·(1 - θ)·π·(1 - TPR), and
        equals `miscalibration` - `discrimination` + `uncertainty`; lower values are better.
        `uncertainty` is the elementary score 2·min(θ·(1 - π), (1 - θ)·π) of the constant score π.
        `discrimination` is `uncertainty`, and `miscalibration` is `elementary_score`, minus the
        elementary score of the scores after isotonic regression. All are Float64.

        If rows have a score equal to a threshold below 1, `elementary_score` jumps there. With
        `grid="vertices"`, the threshold then has two rows: `side` (String) is `left` for the value
        at the threshold, and `right` for the limit from above.

        Values are null if the group has no rows. If `prevalence` is given and the group lacks a
        class, all values except `uncertainty` are null. `note` (String) is null or `no_rows`,
        `no_positives`, `no_negatives`, `one_positive` or `one_negative`.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks some of its rows, such as those of its
        lowest scores, if a score is outside [0, 1], or if an option is invalid.

    See Also
    --------
    decision_curve : The net benefit at probability thresholds.
    cost_curve : The lowest expected cost of all thresholds, for scores of any range.
    calibration_summary : The Brier score and its parts, and measures of calibration.

    Notes
    -----
    All proper scoring rules are weighted means of elementary scores, so a model with a lower Murphy
    curve at all thresholds has lower values of all of them. The logarithmic loss is the integral of
    `elementary_score` / (2·θ·(1 - θ)). The integrals of the other columns are the parts of the
    Brier score in the CORP decomposition of Dimitriadis, Gneiting and Jordan (2021). With the net
    benefit NB of `decision_curve`, `elementary_score` is 2·(1 - θ)·(π - NB).

    Ehm et al. (2016) predict rows with a score of exactly θ as negative, so results differ at
    thresholds that are equal to a score, but their integrals do not. If rows are unscored
    (`missing="worst"`), `discrimination` can be below 0, because they are errors at all thresholds.

    References
    ----------
    W. Ehm, T. Gneiting, A. Jordan, F. Krüger (2016), "Of quantiles and expectiles: consistent
    scoring functions, Choquet representations and forecast rankings", Journal of the Royal
    Statistical Society B 78(3), 505-562. doi:10.1111/rssb.12154

    T. Dimitriadis, T. Gneiting, A. I. Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers", Proceedings of the National Academy of Sciences 118(8), e2016191118.
    doi:10.1073/pnas.2016191118

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 0, 1, 0, 0], "score": [0.9, 0.6, 0.4, 0.4, 0.1]}
    ... )
    >>> curves = rf.curve(predictions, "label", "score")
    >>> costs = rf.murphy_curve(curves, grid=[0.2, 0.5, 0.8])
    >>> costs.drop("note")
    shape: (3, 5)
    ┌───────────────────────┬──────────────────┬────────────────┬────────────────┬─────────────┐
    │ probability_threshold ┆ elementary_score ┆ miscalibration ┆ discrimination ┆ uncertainty │
    │ ---                   ┆ ---              ┆ ---            ┆ ---            ┆ ---         │
    │ f64                   ┆ f64              ┆ f64            ┆ f64            ┆ f64         │
    ╞═══════════════════════╪══════════════════╪════════════════╪════════════════╪═════════════╡
    │ 0.2                   ┆ 0.16             ┆ 0.0            ┆ 0.08           ┆ 0.24        │
    │ 0.5                   ┆ 0.4              ┆ 0.2            ┆ 0.2            ┆ 0.4         │
    │ 0.8                   ┆ 0.08             ┆ 0.0            ┆ 0.08           ┆ 0.16        │
    └───────────────────────┴──────────────────┴────────────────┴────────────────┴─────────────┘

    The Brier score is the integral of the curve:

    >>> costs = rf.murphy_curve(curves, grid="vertices")
    >>> width = pl.col("probability_threshold").diff()
    >>> height = pl.col("elementary_score").rolling_mean(2)
    >>> costs.select(integral=(width * height).sum())
    shape: (1, 1)
    ┌──────────┐
    │ integral │
    │ ---      │
    │ f64      │
    ╞══════════╡
    │ 0.18     │
    └──────────┘
    >>> rf.summary(predictions, "label", "score").select("brier")
    shape: (1, 1)
    ┌───────┐
    │ brier │
    │ ---   │
    │ f64   │
    ╞═══════╡
    │ 0.18  │
    └───────┘
    """
    thresholds = parse_grid(grid, keyword="vertices")
    if prevalence is not None:
        prevalence = parse_fraction("prevalence", prevalence, example=0.1)
    columns = murphy_columns(sides=isinstance(thresholds, str))

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        # The tables of all grids have the same reserved names.
        table = curve_layout(schema, by, tuple(murphy_columns(sides=True)))
        return through_node(
            plan.select(table.count_columns),
            lambda frame: murphy_table(read_curves(frame, table), thresholds, prevalence),
            schema={**table.keys, **columns},
            by=table.by,
            anchor="probability_threshold",
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


def murphy_table(
    curves: Curves, grid: int | str | list[float], prevalence: float | None
) -> pl.DataFrame:
    """Return the result of `murphy_curve`: a row for each curve and threshold."""
    problem = score_outside_unit(curves)
    if problem is not None:
        hint = "Use calibrated probabilities, or cost_curve, which accepts all scores."
        raise ScoreError.no_probability("curves", problem, hint)
    check_ends(
        curves,
        "its lowest expected cost is unknown",
        "Compute the curve without thresholds=, and do not filter its rows.",
    )
    costs = ExpectedCosts.of_curves(curves, prevalence)
    levels = IsotonicLevels.find(curves, costs)
    if isinstance(grid, str):
        points = _vertices(curves, costs, levels)
    else:
        axis = np.array(grid_values(grid))
        curve = np.repeat(np.arange(len(curves.firsts)), len(axis))
        points = _murphy_points(curves, curve, np.tile(axis, len(curves.firsts)))
    curve, threshold = points.curve, points.threshold
    score = costs.of_rows(points.row, curve, threshold)
    # Rounding errors could make the cost of the best row larger than that of another row.
    trivial = (
        costs.of_rows(rows[curve], curve, threshold) for rows in (curves.firsts, curves.lasts)
    )
    best = costs.of_rows(levels.best_rows(curve, threshold), curve, threshold)
    lowest = np.minimum.reduce([best, score, *trivial])
    uncertainty = costs.of_prevalence(curve, threshold)
    pos, neg = curves.pos, curves.neg
    return build_table(
        curves.keys,
        {
            "probability_threshold": threshold,
            "elementary_score": score,
            "miscalibration": score - lowest,
            "discrimination": uncertainty - lowest,
            "uncertainty": uncertainty,
            "side": pl.Series(points.is_right).replace_strict({False: "left", True: "right"}),
            "note": pl.Series(class_notes(pos, neg).tolist(), dtype=pl.String).gather(curve),
        },
        murphy_columns(sides=isinstance(grid, str)),
        rows=curve,
    )


class ExpectedCosts(NamedTuple):
    """The costs of errors per row of each curve.

    `tp` and `fp` are the counts in each row of the curve table. The other arrays have an item for
    each curve. `pos` is the number of positives. `pos_total` and `neg_total` are the divisors of
    the counts of positives and of negatives (see `class_totals`). `all_negative` and `all_positive`
    are the error rates if all rows are predicted negative, and if all are predicted positive.
    """

    tp: Array
    fp: Array
    pos: Array
    pos_total: Array
    neg_total: Array
    all_negative: FloatArray
    all_positive: FloatArray

    @classmethod
    def of_curves(cls, curves: Curves, prevalence: float | None) -> ExpectedCosts:
        """Return the costs at a prevalence, or by default at that of the table or of each curve."""
        pos, neg = curves.pos, curves.neg
        prevalence = curves.prevalence if prevalence is None else prevalence
        share, pos_total, neg_total = class_totals(pos, neg, prevalence)
        with np.errstate(divide="ignore", invalid="ignore"):
            # The same divisions as in `of_rows`: differences of equal costs are then exactly 0.
            all_negative, all_positive = pos / pos_total, neg / neg_total
        # The prevalence of the population is defined even if the curve lacks a class.
        all_negative = np.where(np.isnan(all_negative), share, all_negative)
        all_positive = np.where(np.isnan(all_positive), 1 - share, all_positive)
        return cls(
            tp=curves.columns["tp"],
            fp=curves.columns["fp"],
            pos=pos,
            pos_total=pos_total,
            neg_total=neg_total,
            all_negative=all_negative,
            all_positive=all_positive,
        )

    def of_rows(self, row: IntArray, curve: IntArray, threshold: FloatArray) -> FloatArray:
        """Return the mean cost of the decisions in given rows of curves; NaN if undefined."""
        fn = np.maximum(self.pos[curve] - self.tp[row], 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            missed, alarms = fn / self.pos_total[curve], self.fp[row] / self.neg_total[curve]
        cost: FloatArray = 2 * (threshold * alarms + (1 - threshold) * missed)
        return cost

    def of_prevalence(self, curve: IntArray, threshold: FloatArray) -> FloatArray:
        """Return the mean cost if all rows have the same score, the prevalence."""
        positive = 2 * threshold * self.all_positive[curve]
        cost: FloatArray = np.minimum(positive, 2 * (1 - threshold) * self.all_negative[curve])
        return cost


class IsotonicLevels(NamedTuple):
    """The levels of the isotonic regression of the labels on the score, by falling event rate.

    `rate` is the event rate of each level, `curve` its curve, and `first` the first level of each
    curve. The thresholds between levels are rows of the curve: `vertex` has the rows of the convex
    hulls of all curves, and `first_vertex` the first of them of each curve.
    """

    rate: FloatArray
    curve: IntArray
    first: IntArray
    vertex: IntArray
    first_vertex: IntArray

    @classmethod
    def find(cls, curves: Curves, costs: ExpectedCosts) -> IsotonicLevels:
        """Return the levels of all curves: the segments of the convex hulls."""
        vertex = np.flatnonzero(hull_vertices(costs.tp, costs.fp, curves.starts))
        owner = groups_of_rows(curves.starts, vertex)
        is_segment = owner[1:] == owner[:-1]
        curve = owner[1:][is_segment]
        pos, neg = (np.diff(counts[vertex])[is_segment] for counts in (costs.tp, costs.fp))
        with np.errstate(divide="ignore", invalid="ignore"):
            # At the prevalence of the data, the ratio is 1 and each rate has one rounding error. A
            # level and a score that are equal are then one vertex.
            rate = pos / (pos + neg * (costs.pos_total[curve] / costs.neg_total[curve]))
        return cls(
            rate=rate,
            curve=curve,
            first=group_starts(curve, len(curves.firsts)),
            vertex=vertex,
            first_vertex=group_starts(owner, len(curves.firsts)),
        )

    def best_rows(self, curve: IntArray, threshold: FloatArray) -> IntArray:
        """Return the row of lowest cost: levels with at least this event rate are positive."""
        first = self.first[curve]
        end = grouped_bisect(
            lambda level: self.rate[level] >= threshold, first, self.first[curve + 1] - 1
        )
        rows: IntArray = self.vertex[self.first_vertex[curve] + end - first]
        return rows


class MurphyPoints(NamedTuple):
    """Points of Murphy curves, sorted by curve and rising threshold.

    `row` is the row of the curve table with the counts of the decisions. `is_right` is true if they
    are the decisions for thresholds slightly above `threshold`.
    """

    curve: IntArray
    threshold: FloatArray
    row: IntArray
    is_right: BoolArray


def _murphy_points(curves: Curves, curve: IntArray, threshold: FloatArray) -> MurphyPoints:
    """Return the points of `curve[i]` at `threshold[i]`, for all i."""
    scores, limit = curves.columns[THRESHOLD], curves.round_thresholds(threshold)
    first, last = curves.firsts[curve], curves.lasts[curve]
    row = grouped_bisect(lambda i: scores[i] >= limit, first, last) - 1
    return MurphyPoints(curve, threshold, row, np.zeros(len(row), bool))


def _vertices(curves: Curves, costs: ExpectedCosts, levels: IsotonicLevels) -> MurphyPoints:
    """Return all points at which a Murphy curve or one of its parts is not a straight line."""
    n_curves, has_score = len(curves.firsts), np.ones(curves.columns.height, bool)
    has_score[curves.firsts] = False
    owner = np.repeat(np.arange(n_curves), np.diff(curves.starts))[has_score]
    every = np.arange(n_curves)
    candidates = {
        "score": (owner, curves.columns[THRESHOLD][has_score] + 0.0),
        "level": (levels.curve, levels.rate),
        "prevalence": (every, costs.all_negative),
        "low": (every, np.zeros(n_curves)),
        "high": (every, np.ones(n_curves)),
    }
    curve, threshold = map(np.concatenate, zip(*candidates.values(), strict=True))
    defined = ~np.isnan(threshold)
    curve, threshold = curve[defined], threshold[defined]
    order = np.lexsort((threshold, curve))
    curve, threshold = curve[order], threshold[order]
    is_new = is_run_start(curve, threshold)
    points = _murphy_points(curves, curve[is_new], threshold[is_new])
    scores = curves.columns[THRESHOLD]
    jumps = (scores[points.row] == points.threshold) & (points.threshold < 1)
    index = np.repeat(np.arange(len(jumps)), 1 + jumps)
    is_right = ~is_run_start(index)
    return MurphyPoints(
        curve=points.curve[index],
        threshold=points.threshold[index],
        row=points.row[index] - is_right,
        is_right=is_right,
    )
