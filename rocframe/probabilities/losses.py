"""Mean losses of scores that are probabilities, and the function `murphy_curve`.

References: Brümmer and du Preez (2006), doi:10.1016/j.csl.2005.08.001 (Cllr); Dimitriadis, Gneiting
and Jordan (2021), doi:10.1073/pnas.2016191118 (CORP); Murphy (1973),
doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2, and Stephenson, Coelho and Jolliffe (2008),
doi:10.1175/2007WAF2006116.1 (parts of the Brier score); Ehm et al. (2016), doi:10.1111/rssb.12154.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.areas.pairs import group_sums
from rocframe.curves.convex_hull import hull_vertices
from rocframe.curves.table import check_ends, plan_curves, score_outside_unit
from rocframe.decisions.decision_curve import class_totals
from rocframe.errors import ScoreError
from rocframe.frames import build_table
from rocframe.inference import class_notes
from rocframe.kernel.arrays import grouped_bisect
from rocframe.kernel.groups import group_starts, groups_of_rows, is_run_start, run_starts
from rocframe.options import check_group_columns, grid_values, parse_fraction, parse_grid, public
from rocframe.probabilities.bins import block_steps, concatenate, isotonic_bins
from rocframe.schemas.curves import murphy_columns
from rocframe.schemas.table_type import SIDE, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.kernel.scan import Block, Scannable
    from rocframe.probabilities.bins import Bins, ScoreSteps
    from rocframe.schemas.table_type import Schema

# Probabilities are clipped to [EPSILON, 1 - EPSILON] before their logarithm is computed.
EPSILON = 2.0**-52  # machine epsilon of Float64


def log_odds(probability: FloatArray) -> FloatArray:
    """Return log(p / (1 - p)); p is clipped to [2⁻⁵², 1 - 2⁻⁵²], so the result is at most 36.05."""
    of_positive, of_negative = log_losses(probability)
    return of_negative - of_positive


def log_losses(probability: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return -log(p) and -log(1 - p), the losses of a positive and of a negative, at most 36.05."""
    clipped = np.clip(probability, EPSILON, 1 - EPSILON)
    return -np.log(clipped), -np.log1p(-clipped)


class MeanLosses(NamedTuple):
    """Mean losses: (probability - outcome)², -ln(probability of the outcome), and Cllr."""

    brier: FloatArray
    log_loss: FloatArray
    cllr: FloatArray


def probability_losses(scan: Scannable) -> MeanLosses:
    """Return the losses of the scores of each group; `cllr` is NaN if a class is absent.

    Probabilities of 0 and 1 are clipped to [2⁻⁵², 1 - 2⁻⁵²] in logarithms. All losses are NaN for a
    group with a score that is missing or outside [0, 1].
    """

    def losses(block: Block) -> list[FloatArray]:
        p = scan.codec.decode(block.codes)
        is_probability = (p >= 0) & (p <= 1)
        if not is_probability.all():
            p = np.where(is_probability, p, 0.5)
        of_positive, of_negative = log_losses(p)
        parts = (
            block.pos * (1 - p) ** 2 + block.neg * p**2,
            block.pos * of_positive,
            block.neg * of_negative,
            np.where(is_probability, 0.0, 1.0),
        )
        return [np.add.reduceat(part, block.starts[:-1]) for part in parts]

    totals = scan.totals
    squares, logs_of_pos, logs_of_neg, n_outside = group_sums(scan, scan.map(losses), 4)
    is_defined = (n_outside == 0) & (totals.unscored_pos + totals.unscored_neg == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(is_defined, totals.pos + totals.neg, np.nan)
        both = np.where(is_defined, logs_of_pos / totals.pos + logs_of_neg / totals.neg, np.nan)
        return MeanLosses(
            brier=squares / total,
            log_loss=(logs_of_pos + logs_of_neg) / total,
            cllr=both / (2 * np.log(2)),
        )


def positives_to_expected(scan: Scannable) -> FloatArray:
    """Return the number of positives divided by the sum of the scores; NaN if this sum is 0."""

    def expected(block: Block) -> list[FloatArray]:
        sums = (block.pos + block.neg) * scan.codec.decode(block.codes)
        return [np.add.reduceat(sums, block.starts[:-1])]

    (expected_positives,) = group_sums(scan, scan.map(expected), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = scan.totals.pos / expected_positives
    return np.where(expected_positives > 0, ratio, np.nan)


def isotonic_losses(scan: Scannable) -> MeanLosses:
    """Return the losses of each group after isotonic recalibration; all rows must have a score.

    They are the lowest of all increasing functions of the scores. For `cllr` (minimum Cllr), event
    rates are converted to a prevalence of 1/2.
    """
    from scipy.special import rel_entr

    bins = isotonic_bins(scan)
    totals, n_groups = scan.totals, len(scan.totals.pos)
    n = totals.pos + totals.neg
    pos, neg = bins.pos.astype(float), bins.neg.astype(float)

    def log_loss(pos: FloatArray, neg: FloatArray) -> FloatArray:
        # A row has the loss -log(probability of the outcome), and the probability of a positive is
        # pos / (pos + neg).
        return bins.group_sums(-rel_entr(pos, pos + neg) - rel_entr(neg, pos + neg), n_groups)

    with np.errstate(divide="ignore", invalid="ignore"):
        pos_share, neg_share = pos / totals.pos[bins.group], neg / totals.neg[bins.group]
        cllr = log_loss(pos_share, neg_share) / (2 * np.log(2))
        return MeanLosses(
            brier=bins.group_sums(pos * neg / (pos + neg), n_groups) / n,
            log_loss=log_loss(pos, neg) / n,
            cllr=np.where(n > 0, cllr, np.nan),
        )


def uncertainty(scan: Scannable) -> FloatArray:
    """Return the Brier score π·(1 - π) of each group if all scores are its prevalence π."""
    pos, neg = (np.asarray(total, np.float64) for total in (scan.totals.pos, scan.totals.neg))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance: FloatArray = pos / (pos + neg) * (neg / (pos + neg))
    return variance


def brier_skill(scan: Scannable, brier: FloatArray) -> FloatArray:
    """Return 1 - Brier score / uncertainty for each group; NaN if a class is absent."""
    reference = uncertainty(scan)
    with np.errstate(divide="ignore", invalid="ignore"):
        skill: FloatArray = 1 - brier / np.where(reference > 0, reference, np.nan)
    return skill


class CorpParts(NamedTuple):
    """The parts of the Brier score: Brier score = miscalibration - discrimination + uncertainty."""

    miscalibration: FloatArray
    discrimination: FloatArray
    uncertainty: FloatArray


def corp_decomposition(scan: Scannable, brier: FloatArray, isotonic_brier: FloatArray) -> CorpParts:
    """Return the parts of the Brier score of each group by isotonic regression (CORP)."""
    reference = uncertainty(scan)
    return CorpParts(
        miscalibration=np.maximum(brier - isotonic_brier, 0),
        discrimination=np.maximum(reference - isotonic_brier, 0),
        uncertainty=np.where(np.isnan(brier), np.nan, reference),
    )


class BinnedParts(NamedTuple):
    """Brier score = reliability - resolution + uncertainty + variance - covariance within bins."""

    reliability: FloatArray
    resolution: FloatArray
    uncertainty: FloatArray
    within_bin_variance: FloatArray
    within_bin_covariance: FloatArray


def binned_decomposition(scan: Scannable, bins: Bins) -> BinnedParts:
    """Return Murphy's (1973) parts of the Brier score, and those of Stephenson et al. (2008)."""

    def squares(block: Block) -> list[FloatArray]:
        p = scan.codec.decode(block.codes)
        parts: tuple[Any, ...] = ((block.pos + block.neg) * p**2, block.pos * p)
        return [np.add.reduceat(part, block.starts[:-1]) for part in parts]

    totals = scan.totals
    score_squares, scores_of_pos = group_sums(scan, scan.map(squares), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        n = totals.pos + totals.neg
        prevalence = totals.pos / n

        def mean(values: FloatArray) -> FloatArray:
            sums: FloatArray = bins.group_sums(values, len(n)) / n
            return sums

        score, rate = bins.score_mean, bins.event_rate
        return BinnedParts(
            reliability=mean(bins.total * (score - rate) ** 2),
            resolution=mean(bins.total * (rate - prevalence[bins.group]) ** 2),
            uncertainty=uncertainty(scan),
            within_bin_variance=np.maximum(score_squares / n - mean(bins.total * score**2), 0),
            within_bin_covariance=2 * (scores_of_pos / n - mean(bins.pos * score)),
        )


# If a group has more distinct scores, neighboring scores are merged to one point. The merged scores
# differ by at most 1/1024, and have about 1/1024 of the weight of the group or less.
MAX_SCORES = 2048
WEIGHT_SHARE_ROUNDING = 1e-9  # smaller differences of shares of the row weight are rounding errors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """The scores of all groups, by group and rising score; groups without scores are absent.

    Group `groups[i]` has the points `starts[i]` to `starts[i + 1] - 1`. `score` is a weighted mean,
    `weight` and `pos` are sums, and `share` is that of the weight at this score or below.
    """

    groups: IntArray
    starts: IntArray
    score: FloatArray
    weight: FloatArray
    pos: FloatArray
    share: FloatArray
    n_groups: int

    @property
    def owner(self) -> IntArray:
        """The position in `groups` of the group of each point."""
        return np.repeat(np.arange(len(self.groups)), np.diff(self.starts))

    def group_sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of `values` over the points of each group."""
        sums: FloatArray = np.add.reduceat(values, self.starts[:-1])
        return sums if len(self.groups) else values[:0]

    def even_grid(self, size: int) -> tuple[IntArray, FloatArray]:
        """Return evenly spaced scores of each group, or its only score, and their group."""
        low, high = self.score[self.starts[:-1]], self.score[self.starts[1:] - 1]
        sizes = np.where(low < high, size, 1)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        low, high = low[owner], high[owner]
        step = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        share = step / max(size - 1, 1)
        return owner, (low * (1 - share) + high * share).clip(low, high)

    def of_all_groups(self, values: FloatArray) -> FloatArray:
        """Return one value for every group: NaN for groups without scores, and else `values`."""
        result = np.full(self.n_groups, np.nan)
        result[self.groups] = values
        return result


def find_points(scan: Scannable) -> Points:
    """Return the distinct scores of each group; more than 2048 are merged to about 2050 points."""
    weight = scan.totals.pos + scan.totals.neg

    def block_points(block: Block) -> _Sums:
        return _reduce(_Sums.from_steps(block_steps(scan, block)), weight)

    sums = _reduce(concatenate(_Sums, scan.map(block_points)), weight)
    starts = np.append(run_starts(sums.group), len(sums.group))
    groups = sums.group[starts[:-1]]
    # The order of the scores of each group changes from falling to rising.
    order = np.repeat(starts[:-1] + starts[1:] - 1, np.diff(starts)) - np.arange(len(sums.group))
    total = np.repeat(weight[groups].astype(float), np.diff(starts))
    return Points(
        groups=groups,
        starts=starts,
        score=(sums.score_sum / sums.weight)[order].clip(0, 1),
        weight=sums.weight[order].astype(float),
        pos=sums.pos[order].astype(float),
        share=(1 - sums.above[order] / total).clip(0, 1),
        n_groups=len(weight),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sums:
    """Sums over the rows of points, by group and falling score; `above` is the weight above."""

    group: IntArray
    weight: Array
    pos: Array
    score_sum: FloatArray
    above: Array

    @classmethod
    def from_steps(cls, steps: ScoreSteps) -> _Sums:
        weight = steps.pos + steps.neg
        return cls(
            group=steps.group,
            weight=weight,
            pos=steps.pos,
            score_sum=steps.probability * weight,
            above=steps.tp + steps.fp - weight,
        )


def _reduce(sums: _Sums, weight: Array) -> _Sums:
    """Merge neighboring points of groups with too many points; `weight` is that of each group."""
    starts = np.append(run_starts(sums.group), len(sums.group))
    is_large = np.diff(starts) > MAX_SCORES
    if not is_large.any():
        return sums
    rank = -sums.above / weight[sums.group]  # as the score, this number falls with the position
    is_first = is_cell_start(sums.score_sum / sums.weight, rank, starts, MAX_SCORES)
    # The highest score of a group remains a separate point.
    is_first[(starts[:-1] + 1)[is_large]] = True
    firsts = np.flatnonzero(is_first)
    return _Sums(
        group=sums.group[firsts],
        weight=np.add.reduceat(sums.weight, firsts),
        pos=np.add.reduceat(sums.pos, firsts),
        score_sum=np.add.reduceat(sums.score_sum, firsts),
        above=sums.above[firsts],
    )


def is_cell_start(score: FloatArray, rank: FloatArray, starts: IntArray, most: int) -> BoolArray:
    """Return a mask of about `most` points of each group: the first points of cells, and the last.

    Half of the cells divide the scores evenly, the other half the ranks. Both rise or both fall.
    """
    # Both numbers change in the same direction, so their sum changes where one of them changes.
    cells, sizes = most // 2, np.diff(starts)
    is_start = is_run_start((score * cells).astype(np.int64) + (rank * cells).astype(np.int64))
    is_start |= np.repeat(sizes <= most, sizes)
    is_start[starts[:-1]] = is_start[starts[1:] - 1] = True
    return is_start


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
    best threshold if the scores are calibrated. The elementary score is the mean cost per row.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    grid : int, sequence of float or "vertices", default 101
        Number of evenly spaced thresholds from 0 to 1, or a list of thresholds in [0, 1].
        `"vertices"`: 0, 1, the scores, the event rates after isotonic recalibration, and the
        prevalence. Between these thresholds, all columns are straight lines.
    prevalence : float, default None
        Prevalence, between 0 and 1, for which the costs are computed. By default, that of
        `curve(prevalence=)`, or of each curve.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and threshold, in rising order: `*by, probability_threshold,
        elementary_score, miscalibration, discrimination, uncertainty, note`. With
        `grid="vertices"`, the column `side` is left of `note`. All costs are Float64.

        `elementary_score` = `miscalibration` - `discrimination` + `uncertainty`. `uncertainty` is
        the elementary score of the constant score π, the prevalence, and `miscalibration` the
        decrease by isotonic recalibration of the scores.

        `elementary_score` jumps at a score below 1. With `grid="vertices"`, such a threshold has
        two rows: `side` (String) is `left` for the value there, and `right` for the limit from
        above.

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
    decision_curve : The net benefit NB: `elementary_score` is 2·(1 - θ)·(π - NB).
    cost_curve : The lowest expected cost of all thresholds, for scores of any range.

    Notes
    -----
    The integrals of the columns are the Brier score and its parts. All proper scoring rules are
    weighted means of elementary scores, so a model with a lower Murphy curve at all thresholds has
    lower values of all of them. `log_loss` is the integral of `elementary_score` / (2·θ·(1 - θ)).

    Ehm et al. (2016) predict rows with a score of exactly θ as negative. With unscored rows, which
    are errors at all thresholds, `discrimination` can be below 0.

    References
    ----------
    - W. Ehm et al. (2016), Journal of the Royal Statistical Society B 78(3), 505-562.
      doi:10.1111/rssb.12154
    - T. Dimitriadis et al. (2021), Proceedings of the National Academy of Sciences 118(8).
      doi:10.1073/pnas.2016191118

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 0, 1, 0, 0], "score": [0.9, 0.6, 0.4, 0.4, 0.1]}
    ... )
    >>> curves = rf.curve(predictions, "label", "score")
    >>> rf.murphy_curve(curves, grid=[0.2, 0.5, 0.8]).drop("note")
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
    """
    thresholds = parse_grid(grid, keyword="vertices")
    if prevalence is not None:
        prevalence = parse_fraction("prevalence", prevalence, example=0.1)
    return plan_curves(
        curves,
        by,
        murphy_columns(sides=isinstance(thresholds, str)),
        partial(murphy_table, grid=thresholds, prevalence=prevalence),
        anchor="probability_threshold",
        # No grid allows the name `side` for a group column.
        check=lambda table: check_group_columns(table.by, table.keys, (SIDE,)),
    )


def murphy_table(
    curves: Curves, columns: Schema, *, grid: int | str | list[float], prevalence: float | None
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
        columns,
        rows=curve,
    )


class ExpectedCosts(NamedTuple):
    """The costs of errors per row of each curve.

    `tp` and `fp` are the counts in each row of the curve table, all others have an item per curve.
    `pos_total` and `neg_total` are the divisors of the counts (see `class_totals`). `all_negative`
    and `all_positive` are the error rates if all rows have the same prediction.
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

    `first` is the first level of each curve. The thresholds between levels are rows of the curve:
    `vertex` has the vertices of all convex hulls, and `first_vertex` the first of each curve.
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
    """Points of Murphy curves by curve and threshold; with `is_right`, just above it."""

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
