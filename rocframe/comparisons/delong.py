"""DeLong's test of models that scored the same rows, and the covariances of their areas.

References
----------
E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
correlated receiver operating characteristic curves: a nonparametric approach", Biometrics
44(3), 837-845. doi:10.2307/2531595
N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2),
567-578. doi:10.2307/2533958
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rocframe.areas.pairs import doubled_placements
from rocframe.areas.partial import partial_placements
from rocframe.areas.variance import (
    ZERO_VARIANCE,
    VarianceParts,
    centered_cluster_sums,
    class_sizes,
    class_variances,
    obuchowski_variance,
    placement_covariance,
    placement_variance,
)
from rocframe.comparisons.hypothesis import difference_columns
from rocframe.comparisons.instances import segment_sums
from rocframe.kernel.exact import MAX_INT64, exact_product, exact_quotient
from rocframe.kernel.groups import group_starts
from rocframe.kernel.threads import run_parallel
from rocframe.options import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.areas.partial import RateRange
    from rocframe.areas.variance import Clusters
    from rocframe.comparisons.hypothesis import PairedComparison
    from rocframe.comparisons.instances import ModelBatch
    from rocframe.kernel.scan import Scan

MATRIX_VALUES = 4_000_000  # maximum number of placement values in one matrix product
MIN_MATRIX_SIZE = (
    16  # with at least this many models, matrix products are faster than products of pairs
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedAreas:
    """Areas of the models of a batch, and the placement values for their variances.

    For each model, `area` has the area of each group, `placements` the placement value of each row,
    and `total` the sum of the placement values of the positives of each group. `total` is None if
    the values are not integers. A segment contains the rows of one class of a group; `segment` has
    the first row of each segment. `n_pos` and `n_neg` are numbers of rows. `units` are the numbers
    of clusters of each class or, without clusters, the numbers of rows. `scales` are the divisors
    that convert the placement values of positives and of negatives to proportions.
    """

    area: list[NDArray[np.float64]]
    placements: list[NDArray[Any]]
    total: list[NDArray[Any]] | None
    segment: NDArray[np.int64]
    n_pos: NDArray[np.int64]
    n_neg: NDArray[np.int64]
    units: tuple[NDArray[np.int64], NDArray[np.int64]]
    count: NDArray[np.int64] | None
    weight: NDArray[np.float64] | None
    clusters: Clusters | None
    scales: tuple[Any, Any]

    @property
    def n_units(self) -> NDArray[np.int64]:
        """Number of clusters of each group or, without clusters, of rows."""
        return self.n_pos + self.n_neg if self.clusters is None else self.clusters.sizes[2]

    def df(self, variance: VarianceParts) -> NDArray[np.float64]:
        """Return Satterthwaite's degrees of freedom of a variance."""
        return variance.df(self.units, self.n_units)

    def variance(self, a: int, b: int | None = None) -> VarianceParts:
        """Return the variance of the area of model `a`, or of its difference from model `b`.

        The variance of a group is NaN if a class has fewer than two rows or clusters.
        """
        values = self.placements[a] if b is None else self.placements[a] - self.placements[b]
        if self.clusters is not None:
            return obuchowski_variance(self.clusters, values, self.weight, self.scales)
        if self.total is None:
            return self._weighted_variance(values)
        total = self.total[a] if b is None else self.total[a] - self.total[b]
        # Integers are summed, because sums of integers do not depend on the order of rows.
        size = np.abs(values)
        squares = segment_sums(
            size if self.count is None else exact_product(size, self.count), size, self.segment
        )
        m, n = self.n_pos, self.n_neg
        of_pos = placement_variance(m, n, squares[0::2], total)
        of_neg = placement_variance(n, m, squares[1::2], total)
        return VarianceParts(of_pos + of_neg, of_pos, of_neg)

    def _weighted_variance(self, values: NDArray[np.float64]) -> VarianceParts:
        """Return the variance of each group for weighted rows or partial areas."""
        deviation = self._deviations(values)
        count = np.ones(len(values), np.int64) if self.count is None else self.count
        squares = segment_sums(count * deviation, deviation, self.segment)
        rows = self.n_pos, self.n_neg
        return VarianceParts.of_classes(
            rows, *class_variances(rows, (squares[0::2], squares[1::2]))
        )

    def _deviations(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return weight * deviation from the mean of the class / total weight of the class."""
        count = np.ones(len(values), np.int64) if self.count is None else self.count
        weight = np.ones(len(values)) if self.weight is None else self.weight
        length = np.diff(np.append(self.segment, len(values)))
        total = segment_sums(np.ones(len(values)), count * weight, self.segment)
        scale = np.column_stack([np.broadcast_to(each, len(self.n_pos)) for each in self.scales])
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = segment_sums(count * weight, values, self.segment) / total
            deviation: NDArray[np.float64] = weight * (values - np.repeat(mean, length))
            deviation /= np.repeat(total * scale.ravel(), length)
        return deviation

    def difference_variances(self) -> VarianceParts:
        """Return a matrix per group: the variance of the difference of each two areas."""
        size = len(self.area)
        result = np.zeros((len(VarianceParts._fields), len(self.n_pos), size, size))
        pairs = list(combinations(range(size), 2))
        variances = run_parallel(lambda pair: self.variance(*pair), pairs, arrays_only=True)
        for (a, b), variance in zip(pairs, variances, strict=True):
            result[:, :, a, b] = result[:, :, b, a] = variance
        return VarianceParts(*result)

    def covariances(self) -> NDArray[np.float64]:
        """Return the covariance matrix of the areas of each group.

        The matrix is NaN if a class has fewer than two rows or clusters.
        """
        if self.clusters is not None:
            result = self._cluster_covariances(self.clusters)
        elif self.total is None:
            deviations = [self._deviations(values) for values in self.placements]
            sums = sums_of_products(deviations, deviations, self.segment, self.count)
            rows = self.n_pos, self.n_neg
            of_pos, of_neg = class_variances(rows, (sums[0::2], sums[1::2]))
            result = of_pos + of_neg
            result[(self.n_pos < 2) | (self.n_neg < 2)] = np.nan
        else:
            return self._exact_covariances(self.total)
        # If placement values are constant, their variances and covariances are 0 except for
        # rounding errors.
        constant = np.diagonal(result, axis1=1, axis2=2) < ZERO_VARIANCE
        result[constant[:, :, None] | constant[:, None, :]] = 0
        return result

    def _exact_covariances(self, total: list[NDArray[Any]]) -> NDArray[np.float64]:
        """Return the covariances from sums of integers, which do not depend on the row order."""
        sums = sums_of_products(self.placements, self.placements, self.segment, self.count)
        totals = np.array(total).T
        m, n = (np.repeat(rows, sums[0].size) for rows in (self.n_pos, self.n_neg))
        a, b = (
            np.broadcast_to(totals[(slice(None), *axes)], sums[0::2].shape).ravel()
            for axes in ((slice(None), None), (None, slice(None)))
        )
        result = placement_covariance(m, n, sums[0::2].ravel(), a, b)
        result += placement_covariance(n, m, sums[1::2].ravel(), a, b)
        return result.reshape(sums[0::2].shape)

    def _cluster_covariances(self, clusters: Clusters) -> NDArray[np.float64]:
        """Return the covariances of Obuchowski's method."""
        starts = group_starts(clusters.group, clusters.groups)[:-1]
        pos, neg = zip(
            *(
                centered_cluster_sums(clusters, values, self.weight, self.scales)
                for values in self.placements
            ),
            strict=True,
        )
        n_pos, n_neg, n = (size[:, None, None] for size in clusters.sizes)
        both = sums_of_products(pos, neg, starts)
        with np.errstate(divide="ignore", invalid="ignore"):
            result: NDArray[np.float64] = (
                n_pos / (n_pos - 1) * sums_of_products(pos, pos, starts)
                + n_neg / (n_neg - 1) * sums_of_products(neg, neg, starts)
                + n / (n - 1) * (both + both.transpose(0, 2, 1))
            )
        result[((n_pos < 2) | (n_neg < 2)).ravel()] = np.nan
        return result


def sums_of_products(
    left: Sequence[NDArray[Any]],
    right: Sequence[NDArray[Any]],
    segment: NDArray[np.int64],
    count: NDArray[np.int64] | None = None,
) -> NDArray[Any]:
    """Return a matrix for each segment of rows: the sums of `count * left[a] * right[b]`.

    Sums of integers are exact; the products must not be negative.
    """
    size, length = len(left), len(left[0])
    integers = left[0].dtype.kind != "f"
    # The two methods round sums of floats differently. Therefore, for floats, the choice of the
    # method must not depend on the number of groups.
    use_pairs = size**2 < len(segment) if integers else size < MIN_MATRIX_SIZE
    block = MATRIX_VALUES // size
    if integers and not use_pairs:
        largest = [max(int(each.max(initial=0)) for each in side) for side in (left, right)]
        n_rows, repeated = length, 1
        if count is not None:
            n_rows, repeated = int(count.sum()), int(count.max(initial=0))
        # Float64 adds up integers below 2**53 exactly.
        block = min(block, MAX_INTEGER // max(math.prod(largest) * repeated, 1))
        if math.prod(largest) * n_rows > MAX_INT64:
            block = 0
    if use_pairs or not block:
        return _sums_of_pairs(left, right, segment, count)
    result = np.zeros((len(segment), size, size), np.int64 if integers else np.float64)
    for i, (start, end) in enumerate(zip(segment, np.append(segment, length)[1:], strict=True)):
        for first in range(start, end, block):
            rows = slice(first, min(first + block, end))
            a = np.array([values[rows] for values in left], np.float64)
            b = a if right is left else np.array([values[rows] for values in right], np.float64)
            product = a @ (b if count is None else b * count[rows]).T
            result[i] += product.astype(result.dtype)
    return result


def _sums_of_pairs(
    left: Sequence[NDArray[Any]],
    right: Sequence[NDArray[Any]],
    segment: NDArray[np.int64],
    count: NDArray[np.int64] | None,
) -> NDArray[Any]:
    """Return the sums of `count * left[a] * right[b]` in each segment, computed pair by pair."""
    pairs = [
        (a, b) for a in range(len(left)) for b in range(len(right)) if left is not right or a <= b
    ]

    def add(pair: tuple[int, int]) -> NDArray[Any]:
        values, others = left[pair[0]], right[pair[1]]
        weight = values if count is None else exact_product(values, count)
        return segment_sums(weight, others, segment)

    sums = run_parallel(add, pairs, arrays_only=True)
    result = np.zeros(
        (len(segment), len(left), len(right)), np.result_type(*{values.dtype for values in sums})
    )
    for (a, b), values in zip(pairs, sums, strict=True):
        result[:, a, b] = values
        if left is right:
            result[:, b, a] = values
    return result


def paired_areas(batch: ModelBatch, rate_range: RateRange | None) -> PairedAreas:
    """Estimate the total or partial areas of the models of a batch."""
    if rate_range is not None and batch.instances.weight is None:
        batch = batch.in_rank_order()  # sums of fractions depend on the order of rows
    segment, weight, clusters = batch.segment, batch.weight, batch.clusters
    row_weight: NDArray[Any] = batch.count if weight is None else batch.count * weight
    area, placements, totals, scan = [], [], [], None
    for scan in batch.scans():
        if rate_range is None:
            placements.append(doubled_placements(scan))
            totals.append(segment_sums(row_weight, placements[-1], segment)[0::2])
            area.append(_area_from_placements(scan, totals[-1]))
        else:
            # If a class is absent, placement values are NaN. The variance is undefined anyway, so
            # NaN is replaced by 0.
            placements.append(np.nan_to_num(partial_placements(scan, rate_range)))
            area.append(rate_range.areas(scan)[0])
    assert scan is not None
    return PairedAreas(
        area=area,
        placements=placements,
        total=totals if rate_range is None and weight is None else None,
        segment=segment,
        n_pos=scan.totals.pos_rows,
        n_neg=scan.totals.neg_rows,
        units=class_sizes(scan, clusters),
        count=None if batch.instances.count is None else batch.count,
        weight=weight,
        clusters=clusters,
        scales=(1.0, 1.0) if rate_range else (2 * scan.totals.neg, 2 * scan.totals.pos),
    )


def _area_from_placements(scan: Scan, total: NDArray[Any]) -> NDArray[np.float64]:
    """Return the area of each group from the sum of doubled placement values of positives."""
    doubled_pairs = exact_product(scan.totals.pos, scan.totals.neg, np.array([2]))
    area: NDArray[np.float64] = exact_quotient(total.astype(doubled_pairs.dtype), doubled_pairs)
    # Rounding errors of sums of weights can make an area smaller than 0 or larger than 1.
    if doubled_pairs.dtype.kind == "f":
        np.clip(area, 0, 1, out=area)
    return area


def delong_paired(
    comparison: PairedComparison, *, reference: Literal["normal", "t"] = "normal"
) -> list[dict[str, Any]]:
    """Return the columns of the test of each pair of models that scored the same rows.

    The statistic is compared with the normal distribution, or with a t distribution that has
    Satterthwaite's degrees of freedom.
    """
    batch, hypothesis = comparison.batch, comparison.hypothesis
    areas = paired_areas(batch, hypothesis.quantity.rate_range)

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        a, b = (batch.models.index(model) for model in pair)
        variance = areas.variance(a, b)
        df = areas.df(variance) if reference == "t" else None
        values = areas.area[a], areas.area[b]
        columns = difference_columns(hypothesis, values, variance.total, df)
        rows = areas.n_pos, areas.n_neg
        return comparison.record(
            pair, columns, rows=rows, units=areas.units, variance=variance.total
        )

    return run_parallel(compare_pair, comparison.pairs)
