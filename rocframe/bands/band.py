"""The function `band`: confidence bands of curves, from formulas and from resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log, sqrt
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rocframe.bands.smooth import BandCurves, Binormal, binormal_tpr, fit_curves, line_limits
from rocframe.curves.curve import trace_curves
from rocframe.curves.locate import interpolated_values, segment_fraction
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import (
    absent_classes,
    class_notes,
    first_notes,
    parse_level,
    parse_n_boot,
    wilson,
)
from rocframe.inputs.cases import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import concatenated_ranges, group_starts
from rocframe.kernel.scan import RandomDraws, ReplicateStatistic, Scan, Seed, resample_groups
from rocframe.options import (
    NOT_GIVEN,
    check_choice,
    check_supported,
    grid_values,
    parse_grid,
    public,
)
from rocframe.resampling import replicate_limits
from rocframe.schemas.curves import BAND
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.scan import ReplicateScan

BandGrid: TypeAlias = int | Sequence[float] | pl.Series | Literal["curve"]
BandMethodName: TypeAlias = Literal[
    "kolmogorov_smirnov",
    "fixed_width",
    "envelope",
    "working_hotelling",
    "bootstrap",
    "binomial",
    "threshold",
]


@public
def band(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    method: BandMethodName = "kolmogorov_smirnov",
    level: float = 0.95,
    grid: BandGrid = 101,
    n_boot: int = 2000,
    seed: int | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute a confidence band of the ROC curve of each group: limits of TPR at a grid of FPR.

    A `simultaneous` band contains the complete true curve with confidence `level`. A `pointwise`
    band is valid at one false positive rate, or at one threshold, not for the complete curve.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    method : str, default "kolmogorov_smirnov"
        Simultaneous bands:

        - `"kolmogorov_smirnov"`: the curve shifted up and left, and down and right, by quantiles of
          Kolmogorov's distance; valid for all scores and sample sizes.
        - `"fixed_width"`: such copies, shifted so that the proportion `level` of the resampled
          curves lies between them.
        - `"envelope"`: as `"fixed_width"`, with larger shifts where the resampled curves vary more.
        - `"working_hotelling"`: limits of a binormal curve that is fitted by maximum likelihood.

        Pointwise bands:

        - `"bootstrap"`: quantiles of the resampled curves at each FPR.
        - `"binomial"`: Wilson's limits of TPR, as if the threshold of each FPR were known.
        - `"threshold"`: Wilson's limits of TPR and of FPR at each threshold, each at `level`.
    level : float, default 0.95
        Confidence level of the band, between 0 and 1.
    grid : int, sequence of float or str, default 101
        False positive rates of the result: a number of evenly spaced rates from 0 to 1, a list of
        rates, or `"curve"` for those of the rows of each ROC curve. With `method="threshold"`, the
        point of each rate is at the lowest threshold whose FPR is at most the rate.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
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
    DataFrame or LazyFrame
        One row per group and point, sorted by group and rising `fpr`: `*by`, (`model`,) `fpr, tpr,
        fpr_lower, fpr_upper, lower, upper, ci_level, scope, band, note`. Rates are Float64 in
        [0, 1]; `scope` (`pointwise` or `simultaneous`), `band` (the method) and `note` are String.

        `tpr` is interpolated linearly, and the upper end if the curve is vertical there; for
        `"working_hotelling"`, it is that of the fitted curve. `lower` and `upper` are the limits of
        TPR. `fpr_lower` and `fpr_upper` are null for all methods but `"threshold"`.

        If a group lacks a class, `tpr` and the limits are null, in one row for `grid="curve"` or
        `method="threshold"`. Resampled bands have no limits if a class has one row, or if all
        resamples are equal. `note` is null, or the first of `no_rows, no_positives, no_negatives,
        one_positive, one_negative, zero_variance, no_solution`, the last if the binormal likelihood
        has no maximum.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    auc : The area under each curve and its confidence interval.

    References
    ----------
    - G. Campbell (1994), Statistics in Medicine 13(5-7), 499-508. doi:10.1002/sim.4780130513
    - G. Ma, W. J. Hall (1993), Medical Decision Making 13(3), 191-197.
      doi:10.1177/0272989X9301300304
    - S. A. Macskassy et al. (2005), ICML, 537-544. doi:10.1145/1102351.1102419

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> limits = rf.band(predictions, "label", "score", method="binomial", grid=[0, 0.5, 1])
    >>> limits.select("fpr", "tpr", "lower", "upper", "scope")
    shape: (3, 5)
    ┌─────┬──────┬──────────┬──────────┬───────────┐
    │ fpr ┆ tpr  ┆ lower    ┆ upper    ┆ scope     │
    │ --- ┆ ---  ┆ ---      ┆ ---      ┆ ---       │
    │ f64 ┆ f64  ┆ f64      ┆ f64      ┆ str       │
    ╞═════╪══════╪══════════╪══════════╪═══════════╡
    │ 0.0 ┆ 0.5  ┆ 0.094531 ┆ 0.905469 ┆ pointwise │
    │ 0.5 ┆ 0.75 ┆ 0.197867 ┆ 0.973323 ┆ pointwise │
    │ 1.0 ┆ 1.0  ┆ 0.34238  ┆ 1.0      ┆ pointwise │
    └─────┴──────┴──────────┴──────────┴───────────┘
    """
    compute = partial(
        _band_table,
        method=_parse_band_method(method, weight),
        level=parse_level(level),
        grid=parse_band_grid(grid),
        n_boot=parse_n_boot("n_boot", n_boot),
        seed=Seed.parse(seed),
    )
    roles = Roles(label, score, by, positive, weight, count, missing)
    table = plan_table(predictions, roles, compute, columns=BAND.columns(), anchor="band")
    return as_input_frame(predictions, table)


def _band_table(
    cases: Cases,
    *,
    method: BandMethod,
    level: float,
    grid: list[float] | None,
    n_boot: int,
    seed: Seed,
) -> pl.DataFrame:
    """Return the table of the band, with a row per group and point."""
    scan = Scan.from_cases(cases)
    curves = BandCurves.from_arrays(trace_curves(scan))
    points = method.points(curves, grid)
    if method.is_resampled:
        draws = RandomDraws.of_cases(cases, scan.rows.keys, n_boot, seed)
        limits = method.limits(curves, points, level, scan, draws)
    else:
        limits = method.limits(curves, points, level)
    group_notes = first_notes(absent_classes(curves.n_pos, curves.n_neg))
    group_notes[curves.has_both_classes] = (
        None if limits.notes is None else limits.notes[curves.has_both_classes]
    )
    columns: dict[str, Any] = {
        "fpr": points.fpr,
        "tpr": limits.tpr,
        "fpr_lower": limits.fpr_lower,
        "fpr_upper": limits.fpr_upper,
        "lower": limits.lower,
        "upper": limits.upper,
        "ci_level": level,
        "scope": method.scope,
        "band": method.name,
        "note": group_notes[points.group].tolist(),
    }
    return build_table(scan.rows.keys, columns, BAND.columns(), rows=points.group)


MAX_VALUES = 1 << 24  # maximum number of TPRs of the replicates of a group in memory
# Number of positions at which the standard deviation of the replicates is computed.
ENVELOPE_POSITIONS = 257
# To compare a curve with replicates, each replicate is first divided into parts of about the length
# SEARCH_WIDTH, and then repeatedly into SEARCH_PARTS smaller parts.
SEARCH_WIDTH, SEARCH_PARTS = 0.15, 4
DISTANCE_MARGIN = 1e-9  # larger than the rounding errors of distances
SD_REPLICATES = 500  # maximum number of replicates that standard deviations are computed from
MIN_RELATIVE_SD = 0.5  # smallest standard deviation at a position, as a fraction of the largest one


def pointwise_bootstrap_limits(
    curves: BandCurves, grid: GridPoints, level: float, scan: Scan, draws: RandomDraws
) -> BandLimits:
    """Return limits at each FPR: quantiles of the TPR of the replicates."""
    group_notes, varying = _varying_groups(curves)
    lower, upper = np.full((2, len(grid.fpr)), np.nan)
    edges = group_starts(grid.group, len(varying))
    sizes = np.diff(edges)
    largest = int(sizes.max(initial=0))
    block = max(1, MAX_VALUES // draws.n_draws)
    for first in range(0, largest, block):

        def tprs(group: int, sample: ReplicateScan, first: int = first) -> NDArray[np.float64]:
            start = edges[group] + first
            fpr = grid.fpr[start : min(start + block, edges[group + 1])]
            replicates, size = BandCurves.from_sample(sample), len(sample.totals.pos)
            replicate = np.repeat(np.arange(size), len(fpr))
            return replicates.tpr_at(replicate, np.tile(fpr, size)).reshape(size, -1)

        groups, width = varying & (sizes > first), min(largest, block)
        for group, values in _map_replicates(tprs, scan, draws, groups, width=width):
            limits = replicate_limits(values, level)
            start = edges[group] + first
            lower[start : start + limits.shape[1]], upper[start : start + limits.shape[1]] = limits
    tpr = curves.tpr_at(grid.group, grid.fpr)
    return BandLimits(tpr=tpr, lower=lower, upper=upper, notes=group_notes)


def fixed_width_limits(
    curves: BandCurves, grid: GridPoints, level: float, scan: Scan, draws: RandomDraws
) -> BandLimits:
    """Return shifted curves such that the proportion `level` of the replicates is between them.

    The shifts of FPR and TPR are the same multiple of 1/√n_neg and of 1/√n_pos.
    """
    group_notes, varying = _varying_groups(curves)
    rotated = _rotate_groups(curves, varying)

    scales = {
        group: DistanceScale.at_knots(curve.position[[0, -1]], np.ones(2), curve)
        for group, curve in rotated.items()
    }

    def distances(group: int, sample: ReplicateScan) -> NDArray[np.float64]:
        return rotated[group].distances(rotated[group].rotate(sample), scales[group])

    shift = np.full(len(varying), np.nan)
    for group, values in _map_replicates(distances, scan, draws, varying):
        shift[group] = _distance_quantile(values, level) / 2
    with np.errstate(divide="ignore"):
        fpr_shift, tpr_shift = shift / np.sqrt(curves.n_neg), shift / np.sqrt(curves.n_pos)
    return shifted_limits(curves, grid, fpr_shift, tpr_shift, group_notes)


def envelope_limits(
    curves: BandCurves, grid: GridPoints, level: float, scan: Scan, draws: RandomDraws
) -> BandLimits:
    """Return limits that contain the proportion `level` of the replicates and vary in width.

    The distance from the curve is proportional to the standard deviation of at most `SD_REPLICATES`
    replicates, but at least half of its maximum, because all replicates can be equal at a position
    although the true curve is uncertain.
    """
    group_notes, varying = _varying_groups(curves)
    rotated = _rotate_groups(curves, varying)
    sd_draws = replace(draws, n_draws=min(draws.n_draws, SD_REPLICATES))

    def sums_of_squares(group: int, sample: ReplicateScan) -> NDArray[np.float64]:
        curve = rotated[group]
        positions = curve.even_positions()
        deviation = curve.rotate(sample).heights_at(positions) - curve.height_at(positions)
        total: NDArray[np.float64] = np.sum(deviation * deviation, axis=0)
        return total[None, :]

    sds: dict[int, DistanceScale] = {}
    for group, sums in _map_replicates(sums_of_squares, scan, sd_draws, varying):
        sd = np.sqrt(np.sum(sums, axis=0) / sd_draws.n_draws)
        sd = np.maximum(sd, MIN_RELATIVE_SD * sd.max())
        positions = rotated[group].even_positions()
        sds[group] = DistanceScale.at_knots(positions, sd, rotated[group])

    def distances(group: int, sample: ReplicateScan) -> NDArray[np.float64]:
        return rotated[group].distances(rotated[group].rotate(sample), sds[group])

    lower, upper = np.full((2, len(grid.fpr)), np.nan)
    edges = group_starts(grid.group, len(varying))
    for group, values in _map_replicates(distances, scan, draws, varying):
        sd = sds.pop(group)
        points = slice(edges[group], edges[group + 1])
        distance = _distance_quantile(values, level) * sd.at_position
        limits = rotated[group].limits(sd.position, distance, grid.fpr[points])
        lower[points], upper[points] = limits
    return BandLimits(
        tpr=curves.tpr_at(grid.group, grid.fpr),
        lower=np.clip(lower, 0.0, 1.0),
        upper=np.clip(upper, 0.0, 1.0),
        notes=group_notes,
    )


def _varying_groups(curves: BandCurves) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
    """Return the note of each group, and a mask of the groups whose replicates differ."""
    fpr, tpr = curves.fpr, curves.tpr
    group = np.repeat(np.arange(len(curves.n_pos)), np.diff(curves.starts))
    # All replicates are equal if all scores are tied, or if the scores of the classes do not
    # overlap.
    inner = ~(((fpr == 0) & (tpr == 0)) | ((fpr == 1) & (tpr == 1)))
    corner = ((fpr == 0) & (tpr == 1)) | ((fpr == 1) & (tpr == 0))
    has_inner, has_corner = (
        np.bincount(group, weights=mask, minlength=len(curves.n_pos)) > 0
        for mask in (inner, corner)
    )
    group_notes = class_notes(curves.n_pos, curves.n_neg, zero_variance=~has_inner | has_corner)
    return group_notes, np.array([note is None for note in group_notes], bool)


def _rotate_groups(curves: BandCurves, groups: NDArray[np.bool_]) -> dict[int, RotatedCurves]:
    """Return the rotated curves of the groups in the mask, by the index of the group."""
    rotated = {}
    for group in np.flatnonzero(groups).tolist():
        points = slice(curves.starts[group], curves.starts[group + 1])
        rotated[group] = RotatedCurves.from_rates(
            curves.fpr[points],
            curves.tpr[points],
            n_pos=curves.n_pos[group],
            n_neg=curves.n_neg[group],
        )
    return rotated


def _distance_quantile(distances: NDArray[np.float64], level: float) -> float:
    """Return the smallest distance d such that at least the share `level` of distances is <= d."""
    return float(np.quantile(distances, level, method="inverted_cdf"))


def _map_replicates(
    function: Callable[[int, ReplicateScan], NDArray[np.float64]],
    scan: Scan,
    draws: RandomDraws,
    groups: NDArray[np.bool_],
    *,
    width: int = 1,
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the index of each group, and the values of `function` for all of its replicates.

    The replicates of a group are the same in every call with the same `draws`.
    """
    statistic = ReplicateStatistic(
        function=lambda sample: function(sample.population.group, sample), width=width
    )
    for result in resample_groups(scan, [statistic], draws, groups, arrays_only=True):
        yield result.population.group, result.values[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DistanceScale:
    """Positive numbers by which differences in height are divided.

    `values` are the numbers at the positions `knots`, interpolated linearly. `position` has the
    knots and all points of a curve in rising order. `slope` is the largest change per unit.
    """

    knots: NDArray[np.float64]
    values: NDArray[np.float64]
    position: NDArray[np.float64]
    at_position: NDArray[np.float64]
    slope: float

    @classmethod
    def at_knots(
        cls, knots: NDArray[np.float64], values: NDArray[np.float64], curve: RotatedCurves
    ) -> DistanceScale:
        """Return the scale with `values` at `knots`, for distances from one curve."""
        position = np.union1d(knots, curve.position)
        return cls(
            knots=knots,
            values=values,
            position=position,
            at_position=np.interp(position, knots, values),
            slope=float(np.max(np.abs(np.diff(values)) / np.diff(knots))),
        )

    def at(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers at several positions."""
        values: NDArray[np.float64] = np.interp(position, self.knots, self.values)
        return values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RotatedCurves:
    """One ROC curve, or several curves as rows of matrices, in rotated coordinates.

    With x = √n_neg·fpr and y = √n_pos·tpr, `position` is x + y and `height` is y - x, a function of
    the position, because curves do not decrease. `x_max` and `y_max` are x and y at rate 1.
    """

    x_max: float
    y_max: float
    position: NDArray[np.float64]
    height: NDArray[np.float64]

    @classmethod
    def from_rates(
        cls, fpr: NDArray[np.float64], tpr: NDArray[np.float64], *, n_pos: int, n_neg: int
    ) -> RotatedCurves:
        """Return rotated curves, to which the points (0, 0) and (1, 1) are added."""
        x_max, y_max = float(np.sqrt(n_neg)), float(np.sqrt(n_pos))
        x = np.concatenate([[0], x_max * fpr, [x_max]])
        y = np.concatenate([[0], y_max * tpr, [y_max]])
        return cls(x_max=x_max, y_max=y_max, position=x + y, height=y - x)

    def rotate(self, sample: ReplicateScan) -> RotatedCurves:
        """Return rotated replicates, one per row, with the scales of this curve."""
        totals, size = sample.totals, len(sample.totals.pos)

        def coordinates(
            counts: NDArray[Any], first: NDArray[Any], total: NDArray[Any], largest: float
        ) -> NDArray[np.float64]:
            """Return count / total * largest at (0, 0), at all points of curves, and at (1, 1)."""
            counts, factor = counts.reshape(size, -1), (largest / total)[:, None]
            values = np.empty((size, counts.shape[1] + 3))
            values[:, :2] = 0
            np.multiply(counts, factor, out=values[:, 2:-1])
            if first.any():
                values[:, 1:-1] += first[:, None] * factor
            values[:, -1] = largest
            if (values[:, -2] > largest).any():  # the largest product can be rounded up
                np.minimum(values, largest, out=values)
            return values

        fp, first = sample.block.fp, np.broadcast_to(totals.unscored_neg, size)
        x = coordinates(fp, first, totals.neg, self.x_max)
        y = coordinates(sample.block.tp, np.zeros(size), totals.pos, self.y_max)
        position = x + y
        height = np.subtract(y, x, out=y)
        return RotatedCurves(x_max=self.x_max, y_max=self.y_max, position=position, height=height)

    def even_positions(self) -> NDArray[np.float64]:
        """Return evenly spaced positions between both ends of the curve."""
        positions: NDArray[np.float64] = np.linspace(0, self.x_max + self.y_max, ENVELOPE_POSITIONS)
        return positions

    def height_at(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the heights of one curve at several positions."""
        height: NDArray[np.float64] = np.interp(position, self.position, self.height)
        return height

    def heights_at(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the heights of several curves, one per row, at positions, one per column."""
        # All curves are concatenated, with an offset added to the positions of each curve. A single
        # call of `interp` is then sufficient.
        offset = np.arange(len(self.position))[:, None] * (self.x_max + self.y_max + 1)
        height: NDArray[np.float64] = np.interp(
            (position + offset).ravel(), (self.position + offset).ravel(), self.height.ravel()
        )
        return height.reshape(len(self.position), -1)

    def distances(self, others: RotatedCurves, scale: DistanceScale) -> NDArray[np.float64]:
        """Return the largest difference in height between this curve and each of several curves.

        Differences are divided by `scale`. Between its positions, which contain all points of this
        curve, and the points of the other curve, all lines are straight, so the largest quotient is
        there. It is found by branch and bound: parts of curves that cannot contain it are left out.
        """
        curves, points = others.position.shape
        positions, heights = others.position.ravel(), others.height.ravel()
        size = max(1, int(SEARCH_WIDTH * points / (self.x_max + self.y_max)))
        # A row of `point` has the ends of successive parts of a curve, and `curve` is the curve.
        ends = np.append(np.arange(0, points - 1, size), points - 1)
        point = ends + np.arange(curves)[:, None] * points
        curve, largest = np.arange(curves), np.zeros(curves)
        while True:
            position = positions[point]
            difference, divisor = heights[point] - self.height_at(position), scale.at(position)
            np.maximum.at(largest, curve, np.max(np.abs(difference) / divisor, axis=1))
            # The height of a curve changes by at most the change of the position, so a difference
            # of two heights changes by at most twice this change.
            length = position[:, 1:] - position[:, :-1]
            most = np.abs(difference[:, 1:] + difference[:, :-1]) / 2 + length
            least = (divisor[:, 1:] + divisor[:, :-1] - scale.slope * length) / 2
            parts = (most > least * largest[curve][:, None] - DISTANCE_MARGIN) & (length > 0)
            row, part = np.nonzero(parts)
            curve, left, right = curve[row], point[row, part], point[row, part + 1]
            if size == 1:
                break
            size = -(-size // SEARCH_PARTS)
            point = left[:, None] + np.arange(SEARCH_PARTS + 1) * size
            np.minimum(point, right[:, None], out=point)

        # The remaining parts are lines. All positions of `scale` on these lines are compared.
        x, y = positions[left], heights[left]
        width, height = positions[right] - x, heights[right] - y
        first = np.searchsorted(scale.position, x, "left")
        count = np.searchsorted(scale.position, positions[right], "right") - first
        node = concatenated_ranges(first, count)
        curve, x, y, slope = (np.repeat(values, count) for values in (curve, x, y, height / width))
        position = scale.position[node]
        difference = slope * (position - x) + y - self.height_at(position)
        np.maximum.at(largest, curve, np.abs(difference) / scale.at_position[node])
        return largest

    def limits(
        self, position: NDArray[np.float64], distance: NDArray[np.float64], fpr: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and highest TPR at `fpr` of all rising curves within `distance`."""
        height = self.height_at(position)
        x, left = fpr * self.x_max + SHIFT_TOLERANCE, (1 - fpr) * self.x_max + SHIFT_TOLERANCE
        upper = _upper_limit(position, height + distance, x, self.y_max)
        # The lower limit is the upper limit of the curve rotated by 180 degrees.
        position = (self.x_max + self.y_max - position)[::-1]
        height = (self.y_max - self.x_max - height)[::-1]
        lower = _upper_limit(position, height + distance[::-1], left, self.y_max)
        return (self.y_max - lower) / self.y_max, upper / self.y_max


def _upper_limit(
    position: NDArray[np.float64], height: NDArray[np.float64], x: NDArray[np.float64], y_max: float
) -> NDArray[np.float64]:
    """Return the largest y at `x` of all rising curves that do not exceed an upper border.

    A rising curve that is not above the border point (u, v) has y ≤ v for all x ≤ u. So the largest
    y at x is the smallest v of all border points with u ≥ x.
    """
    u, v = (position - height) / 2, (position + height) / 2
    after = np.searchsorted(np.maximum.accumulate(u), x, "left")
    right = np.minimum(after, len(u) - 1)
    left = np.maximum(right - 1, 0)
    fraction = segment_fraction(x - u[left], u[right] - u[left], empty=1.0)
    crossing = interpolated_values(v[left], v[right], fraction)
    later = np.minimum.accumulate(v[::-1])[::-1]
    limit = np.where(after < len(u), np.minimum(crossing, later[right]), y_max)
    return np.clip(limit, 0.0, y_max)


def parse_band_grid(grid: object) -> list[float] | None:
    """Return the false positive rates of the grid in increasing order; None for `grid="curve"`."""
    points = parse_grid(grid, keyword="curve")
    return None if isinstance(points, str) else grid_values(points)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridPoints:
    """Points of the limits by group and FPR; `point` is the index in `BandCurves`, or -1."""

    group: NDArray[np.int64]
    fpr: NDArray[np.float64]
    point: NDArray[np.int64]


def points_at_rates(curves: BandCurves, grid: Sequence[float] | None) -> GridPoints:
    """Return a point of each curve at each FPR in `grid`; None means all FPRs of the curve."""
    if grid is None:
        is_last = np.ones(len(curves.fpr), bool)
        is_last[:-1] = ~(np.diff(curves.fpr) <= curves.tolerance)
        is_last[curves.starts[1:] - 1] = True
        return _curve_points(curves, np.flatnonzero(is_last))
    group, fpr = _repeat_grid(curves, grid)
    return GridPoints(group=group, fpr=fpr, point=np.full(len(group), -1))


def points_at_thresholds(curves: BandCurves, grid: Sequence[float] | None) -> GridPoints:
    """Return the last curve point with at most each FPR in `grid`, or all points for None."""
    if grid is None:
        return _curve_points(curves, np.arange(len(curves.fpr)))
    group, fpr = _repeat_grid(curves, grid)
    point = curves.first_beyond(group, fpr, "right") - 1
    return _curve_points(curves, np.unique(point[point >= curves.starts[group]]))


def _repeat_grid(
    curves: BandCurves, grid: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the group and the FPR of each grid point; all groups have the same grid."""
    groups = len(curves.n_pos)
    return np.repeat(np.arange(groups), len(grid)), np.tile(np.asarray(grid, np.float64), groups)


def _curve_points(curves: BandCurves, points: NDArray[np.int64]) -> GridPoints:
    """Return points of the curves, and a point with FPR NaN for each group that lacks a class."""
    groups = np.arange(len(curves.n_pos))
    group_of = np.repeat(groups, np.diff(curves.starts))
    points = points[curves.has_both_classes[group_of[points]]]
    without = np.setdiff1d(groups, group_of[points])
    group = np.append(group_of[points], without)
    order = np.argsort(group, kind="stable")
    point = np.append(points, np.full(len(without), -1))[order]
    fpr = np.where(point < 0, np.nan, curves.fpr[point]) if len(curves.fpr) else np.zeros(0)
    return GridPoints(group=group[order], fpr=fpr, point=point)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BandLimits:
    """TPR and limits at each grid point, NaN if undefined, and the reason of each group."""

    tpr: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    fpr_lower: NDArray[np.float64] | None = None
    fpr_upper: NDArray[np.float64] | None = None
    notes: NDArray[np.object_] | None = None


# Added to shifts, so that rounding errors have no effect at vertical segments.
SHIFT_TOLERANCE = 1e-9


def shifted_limits(
    curves: BandCurves,
    grid: GridPoints,
    fpr_shift: NDArray[np.float64],
    tpr_shift: NDArray[np.float64],
    notes: NDArray[np.object_] | None = None,
) -> BandLimits:
    """Return limits of TPR: the curve shifted down and right, and the curve shifted up and left."""
    group, fpr, shift = grid.group, grid.fpr, fpr_shift[grid.group]
    lower = curves.tpr_at(group, fpr - shift - SHIFT_TOLERANCE, step_end="lower") - tpr_shift[group]
    upper = curves.tpr_at(group, fpr + shift + SHIFT_TOLERANCE) + tpr_shift[group]
    return BandLimits(
        tpr=curves.tpr_at(group, fpr),
        lower=np.clip(lower, 0.0, 1.0),
        upper=np.clip(upper, 0.0, 1.0),
        notes=notes,
    )


def working_hotelling_limits(curves: BandCurves, grid: GridPoints, level: float) -> BandLimits:
    """Return the fitted curve and its Working-Hotelling limits (Ma and Hall 1993)."""
    from scipy.special import ndtr, ndtri

    fit = fit_curves(curves)
    at_points = Binormal(*(part[grid.group] for part in fit))
    x = ndtri(grid.fpr)
    radius = sqrt(-2 * log(1 - level))  # radius of the confidence ellipse of both parameters
    lower, upper = line_limits(at_points, x, radius)
    notes = first_notes({"no_solution": curves.has_both_classes & np.isnan(fit.a)})
    tpr = binormal_tpr(at_points.a, at_points.b, grid.fpr)
    return BandLimits(tpr=tpr, lower=ndtr(lower), upper=ndtr(upper), notes=notes)


def _kolmogorov_smirnov_limits(curves: BandCurves, grid: GridPoints, level: float) -> BandLimits:
    """Return the curve, shifted by Kolmogorov-Smirnov quantiles of both classes (Campbell)."""
    fpr_shift, tpr_shift = (kolmogorov_quantile(n, level) for n in (curves.n_neg, curves.n_pos))
    return shifted_limits(curves, grid, fpr_shift, tpr_shift)


def kolmogorov_quantile(n: NDArray[np.int64], level: float) -> NDArray[np.float64]:
    """Return the √level quantile of the Kolmogorov-Smirnov statistic of n scores.

    It is √level because both classes, which are independent, must be within their quantiles. The
    quantile is exact for scores of a continuous distribution, and too large for tied scores.
    """
    from scipy.stats import kstwo

    sizes, position = np.unique(n, return_inverse=True)
    positive = sizes > 0
    distance = np.full(len(sizes), np.nan)
    distance[positive] = kstwo.isf(1 - np.sqrt(level), sizes[positive])
    result: NDArray[np.float64] = distance[position]
    return result


def _binomial_limits(curves: BandCurves, grid: GridPoints, level: float) -> BandLimits:
    """Return Wilson's limits of the TPR at each FPR, as if its threshold were known."""
    tpr = curves.tpr_at(grid.group, grid.fpr)
    n_pos = curves.n_pos[grid.group]
    lower, upper = wilson(tpr * n_pos, n_pos, level)
    return BandLimits(tpr=tpr, lower=lower, upper=upper)


def _threshold_limits(curves: BandCurves, grid: GridPoints, level: float) -> BandLimits:
    """Return Wilson's limits of FPR and of TPR at each threshold."""
    nan = np.where(grid.point < 0, np.nan, 0.0)
    tpr, fpr = (nan + rate[grid.point] for rate in (curves.tpr, curves.fpr))
    n_pos, n_neg = curves.n_pos[grid.group], curves.n_neg[grid.group]
    lower, upper = wilson(tpr * n_pos, n_pos, level)
    fpr_lower, fpr_upper = wilson(fpr * n_neg, n_neg, level)
    return BandLimits(tpr=tpr, lower=lower, upper=upper, fpr_lower=fpr_lower, fpr_upper=fpr_upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class BandMethod:
    """A method of computing a band, which is valid at one point, or for the complete curve.

    `limits` has the arguments curves, grid points and level, and for resampled bands, which alone
    support weights, also scan and draws. `points` returns the points of the result.
    """

    name: BandMethodName
    scope: Literal["pointwise", "simultaneous"]
    limits: Callable[..., BandLimits]
    points: Callable[[BandCurves, Sequence[float] | None], GridPoints] = points_at_rates
    is_resampled: bool = False


BAND_METHODS: dict[str, BandMethod] = {
    method.name: method
    for method in (
        BandMethod(
            name="kolmogorov_smirnov", scope="simultaneous", limits=_kolmogorov_smirnov_limits
        ),
        BandMethod(
            name="fixed_width", scope="simultaneous", limits=fixed_width_limits, is_resampled=True
        ),
        BandMethod(
            name="envelope", scope="simultaneous", limits=envelope_limits, is_resampled=True
        ),
        BandMethod(name="working_hotelling", scope="simultaneous", limits=working_hotelling_limits),
        BandMethod(
            name="bootstrap",
            scope="pointwise",
            limits=pointwise_bootstrap_limits,
            is_resampled=True,
        ),
        BandMethod(name="binomial", scope="pointwise", limits=_binomial_limits),
        BandMethod(
            name="threshold",
            scope="pointwise",
            limits=_threshold_limits,
            points=points_at_thresholds,
        ),
    )
}


def _parse_band_method(name: str, weight: Column | None) -> BandMethod:
    """Return the method of this name; raise an error if weights are given and not supported."""
    check_choice("method", name, BAND_METHODS)
    method = BAND_METHODS[name]
    resampled = [other.name for other in BAND_METHODS.values() if other.is_resampled]
    check_supported(
        "weight",
        weight,
        f"method={name!r}",
        supported=method.is_resampled,
        hint=f"Choose one of: {format_list(resampled)}; or use count= if a row represents several "
        "predictions.",
    )
    return method
