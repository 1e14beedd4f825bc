"""DeLong's test, the function `auc_covariance`, and limits from one-sided intervals (MOVER).

The limits of a difference by MOVER (Zou and Donner 2008) combine the limits of both areas, here
with quantiles of the t distribution. Near an area of 1 they are asymmetric, as those of the areas.
With few rows or areas near 1, the test rejects a true null hypothesis less often than DeLong's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rocframe.areas.area import RateRange, partial_placements
from rocframe.areas.pairs import (
    ZERO_VARIANCE,
    VarianceParts,
    centered_cluster_sums,
    class_sizes,
    class_variances,
    doubled_placements,
    obuchowski_variance,
    placement_covariance,
    placement_variance,
)
from rocframe.comparisons.hypothesis import Quantity, difference_columns, welch_variance
from rocframe.comparisons.pairing import (
    PairingOptions,
    build_model_table,
    model_batches,
    plan_comparison,
    read_instances,
    segment_sums,
)
from rocframe.inference import Estimate, class_notes, newcombe, normal_p_value
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import MAX_INT64, exact_product, exact_quotient, run_parallel
from rocframe.kernel.groups import group_starts
from rocframe.options import MAX_INTEGER, NOT_GIVEN, public
from rocframe.schemas.statistics import covariance_columns
from rocframe.schemas.table_type import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.area import Range
    from rocframe.areas.pairs import Clusters
    from rocframe.comparisons.hypothesis import Hypothesis, PairedComparison, UnpairedEstimates
    from rocframe.comparisons.pairing import ModelBatch, PairingColumns, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.scan import Scan

MATRIX_VALUES = 4_000_000  # maximum number of placement values in one matrix product
MIN_MATRIX_SIZE = 16  # with this many models, matrix products are faster than products of pairs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedAreas:
    """Areas of the models of a batch, and the placement values for their variances.

    For each model, `area` has the area of each group, `placements` the value of each row, and
    `total` the sum over the positives (None if it is not exact). `segment` has the first row of
    each class, `units` the clusters or rows of each class. Placement values divided by `scales` are
    proportions.
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
        """Return the variance of the area of `a`, or of its difference from `b`; NaN if unknown."""
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
        """Return the covariance matrix of the areas of each group; NaN for few rows or clusters."""
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
    """Return the sums of `count * left[a] * right[b] >= 0` of each segment; exact for integers."""
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
    """Return the columns of the z test, or t test, of each pair of models on the same rows."""
    batch, hypothesis = comparison.batch, comparison.hypothesis
    areas = paired_areas(batch, hypothesis.quantity.rate_range)

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        a, b = (batch.models.index(model) for model in pair)
        variance = areas.variance(a, b)
        df = areas.df(variance) if reference == "t" else None
        values = areas.area[a], areas.area[b]
        own = (areas.variance(a).total, areas.variance(b).total) if hypothesis.with_ratio else None
        columns = difference_columns(hypothesis, values, variance.total, df, own)
        rows = areas.n_pos, areas.n_neg
        return comparison.record(
            pair, columns, rows=rows, units=areas.units, variance=variance.total, few=True
        )

    return run_parallel(compare_pair, comparison.pairs)


@public
def auc_covariance(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - name of the public option
    by: By = None,
    fpr: Range | None = None,
    tpr: Range | None = None,
    specificity: Range | None = None,
    sensitivity: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    unmatched: Unmatched = "raise",
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Estimate the covariance matrix of the areas of all models in each group.

    DeLong's estimate uses the placement values of the rows that all models of the group scored. The
    matrix determines the variance of any sum or difference of areas.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
    between : str, default "model"
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify an instance, to match the rows of the models.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    fpr : (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`, over which TPR is integrated.
    tpr : (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`, over which 1 - FPR is integrated. With
        `fpr` as well, the area is the part of the rectangle of both ranges below the curve.
    specificity : (float, float), default None
        Range of the specificity, 1 - FPR: `(0.9, 1)` is the same as `fpr=(0, 0.1)`.
    sensitivity : (float, float), default None
        Another name of `tpr`.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that a random model has 0.5 and a perfect model has
        1.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
    cluster : str or Expr, default None
        Clusters of dependent rows, such as users.
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
        One row per group and ordered pair of its models, including each model with itself, sorted
        by group, `model_a` and `model_b`: `*by`, `covariance, correlation, auc_a, auc_b, n_pos,
        n_neg, model_a, model_b, note`. With a range, the areas are named `partial_auc_a` and
        `partial_auc_b`. `covariance` and `correlation` (Float64) are null if a class has fewer than
        two rows or clusters; the correlation also if a variance is 0. `n_pos` and `n_neg` (Int64)
        count the rows that every model scored.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance` or `unmatched:3`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the rows cannot be paired by `id`.

    See Also
    --------
    compare : Test every two models of a group.
    contrast : Test more than two areas at once.

    References
    ----------
    - E. R. DeLong et al. (1988), Biometrics 44(3), 837-845. doi:10.2307/2531595
    - N. A. Obuchowski (1997), Biometrics 53(2), 567-578. doi:10.2307/2533958

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = {"a": [0.9, 0.3, 0.3, 0.1], "b": [2, 3, 3, 0]}
    >>> predictions = pl.DataFrame({"label": [1, 1, 0, 0], **scores})
    >>> matrix = rf.auc_covariance(predictions, "label", ["a", "b"])
    >>> matrix.select("model_a", "model_b", "covariance").rows()[1:]
    [('a', 'b', 0.03125), ('b', 'a', 0.03125), ('b', 'b', 0.15625)]
    """
    roles = Roles(label, score, by, positive, weight, count, missing, cluster)
    rates = {"fpr": fpr, "tpr": tpr, "specificity": specificity, "sensitivity": sensitivity}
    quantity = Quantity.of_area(RateRange.parse(rates, standardize))
    return plan_comparison(
        predictions,
        PairingOptions(roles=roles, between=between, id=id, unmatched=unmatched, min_models=1),
        lambda frame, columns: covariance_table(frame, columns, quantity),
        schema=lambda model: covariance_columns(model, quantity.name),
        anchor="n_pos",
        independent_groups=True,
    )


def covariance_table(
    frame: pl.DataFrame, columns: PairingColumns, quantity: Quantity
) -> pl.DataFrame:
    """Return a row for each group and ordered pair of models, including a model with itself."""
    instances = read_instances(frame, columns)
    parts: list[dict[str, NDArray[Any]]] = []
    for batch in model_batches(instances, columns.options, all_models=True):
        areas = paired_areas(batch, quantity.rate_range)
        matrix = quantity.slope**2 * areas.covariances()
        variances = np.diagonal(matrix, axis1=1, axis2=2)
        note = class_notes(
            *areas.units, zero_variance=(variances == 0).any(axis=1), unmatched=batch.unmatched
        )
        values = quantity.standardized(np.array(areas.area)).T
        size = len(batch.models)
        a, b = (index.ravel() for index in np.indices((size, size)))
        parts.append(
            {
                "group": np.repeat(batch.groups, size**2),
                "model_a": np.tile(np.array(batch.models)[a], len(values)),
                "model_b": np.tile(np.array(batch.models)[b], len(values)),
                "n_pos": np.repeat(areas.n_pos, size**2),
                "n_neg": np.repeat(areas.n_neg, size**2),
                f"{quantity.name}_a": values[:, a].ravel(),
                f"{quantity.name}_b": values[:, b].ravel(),
                "covariance": matrix[:, a, b].ravel(),
                "correlation": correlations(matrix)[:, a, b].ravel(),
                "note": np.repeat(note, size**2),
            }
        )
    return build_model_table(
        parts,
        covariance_columns(instances.models.dtype, quantity.name),
        keys=instances.keys,
        models=instances.models,
        order=["model_a", "model_b"],
    )


def correlations(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations from covariance matrices; NaN if one of the variances is 0."""
    sd = np.sqrt(np.diagonal(matrix, axis1=1, axis2=2))
    with np.errstate(divide="ignore", invalid="ignore"):
        result: NDArray[np.float64] = np.clip(matrix / (sd[:, :, None] * sd[:, None, :]), -1, 1)
    return result


# The combined limits are not always a monotone function of z. The smallest z at which a limit is
# equal to the null hypothesis is found in steps, and then by bisection.
STEPS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0, 38.0)
STEP_HALVINGS = 36


def newcombe_paired(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the test of each pair of models that scored the same rows."""
    batch, hypothesis = comparison.batch, comparison.hypothesis
    areas = paired_areas(batch, None)
    own = {model: areas.variance(batch.models.index(model)).total for model in batch.models}
    sizes, pairs = (areas.n_pos, areas.n_neg), comparison.pairs

    def compare_pair(pair: tuple[int, int]) -> tuple[NDArray[np.float64], ...]:
        a, b = (batch.models.index(model) for model in pair)
        variance, (of_a, of_b) = areas.variance(a, b), (own[model] for model in pair)
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = (of_a + of_b - variance.total) / (2 * np.sqrt(of_a * of_b))
        return areas.area[a], areas.area[b], variance.total, areas.df(variance), correlation

    # The limits of all pairs are computed together, because each step of the search for them is
    # slow for few groups.
    a, b, variance, df, correlation = map(
        np.concatenate, zip(*run_parallel(compare_pair, pairs), strict=True)
    )
    repeated = np.tile(sizes[0], len(pairs)), np.tile(sizes[1], len(pairs))
    difference = AreaDifference(
        a=a,
        b=b,
        sizes_a=repeated,
        sizes_b=repeated,
        correlation=np.clip(np.nan_to_num(correlation), -1, 1),
    )
    columns = difference.columns(hypothesis, variance, df)
    return [
        comparison.record(
            pair,
            {name: values[rows] for name, values in columns.items()},
            rows=sizes,
            units=areas.units,
            variance=variance[rows],
            few=True,
        )
        for i, pair in enumerate(pairs)
        for rows in [slice(i * len(sizes[0]), (i + 1) * len(sizes[0]))]
    ]


def newcombe_unpaired(
    a: UnpairedEstimates, b: UnpairedEstimates, hypothesis: Hypothesis
) -> dict[str, NDArray[np.float64]]:
    """Return the columns of the test for the estimates of two independent samples."""
    difference = AreaDifference(
        a=a.value,
        b=b.value,
        sizes_a=(a.n_pos, a.n_neg),
        sizes_b=(b.n_pos, b.n_neg),
        correlation=np.zeros(len(a.groups)),
    )
    return difference.columns(hypothesis, *welch_variance(a, b))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AreaDifference:
    """Two areas of each group, their class sizes, and the correlation of their estimates, or 0."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    sizes_a: tuple[NDArray[np.int64], NDArray[np.int64]]
    sizes_b: tuple[NDArray[np.int64], NDArray[np.int64]]
    correlation: NDArray[np.float64]

    def columns(
        self, hypothesis: Hypothesis, variance: NDArray[np.float64], df: NDArray[np.float64]
    ) -> dict[str, NDArray[np.float64]]:
        """Return the areas, their difference with limits, and the test of the null hypothesis.

        Limits and p-values are NaN if DeLong's `variance` is. If it is 0, `df` is that of the
        smallest class.
        """
        from scipy.special import stdtrit

        columns = difference_columns(hypothesis, (self.a, self.b), variance, df)
        undefined = np.isnan(variance)
        smallest = np.minimum.reduce([*self.sizes_a, *self.sizes_b])
        df = np.where(variance > 0, df, np.maximum(smallest - 1, 1))
        lower, upper = self.limits(stdtrit(df, (1 + hypothesis.level) / 2))
        statistic = self._statistic(hypothesis.null)
        statistic[undefined] = np.nan
        return columns | {
            "lower": np.where(undefined, np.nan, lower),
            "upper": np.where(undefined, np.nan, upper),
            "statistic": statistic,
            "p_value": normal_p_value(statistic, hypothesis.alternative, df),
        }

    def limits(self, z: float | NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return the limits of the difference a - b, for a quantile `z` of the reference."""
        a = Estimate(self.a, *newcombe(self.a, *self.sizes_a, z))
        b = Estimate(self.b, *newcombe(self.b, *self.sizes_b, z))
        difference = a.minus(b, self.correlation)
        return difference.lower, difference.upper

    def _statistic(self, null: float) -> NDArray[np.float64]:
        """Return the smallest z for which a limit is `null` (or the last step), with its sign."""
        is_above = self.a - self.b > null

        def reaches(z: NDArray[np.float64]) -> NDArray[np.bool_]:
            lower, upper = self.limits(z)
            result: NDArray[np.bool_] = np.where(is_above, lower <= null, upper >= null)
            return result

        low, high = np.zeros(len(self.a)), np.full(len(self.a), STEPS[-1])
        is_reached = np.zeros(len(self.a), bool)
        for step in STEPS:
            here = ~is_reached & reaches(np.full(len(self.a), step))
            high[here] = step
            is_reached |= here
            low[~is_reached] = step
        for _ in range(STEP_HALVINGS):
            middle = (low + high) / 2
            is_beyond = reaches(middle)
            high = np.where(is_beyond, middle, high)
            low = np.where(is_beyond, low, middle)
        return np.where(is_above, high, -high)
