"""Tests by influence values: derivatives of a statistic with respect to the weights of the rows.

The variance of a difference is the sum of its squared influence values (the infinitesimal
jackknife). For a threshold that is estimated as the point of a given rate, the influence values
include those of the rate (Davison and Hinkley 1997, section 2.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.pairs import ZERO_VARIANCE, VarianceParts, class_sizes
from rocframe.comparisons.delong import PairedAreas
from rocframe.comparisons.hypothesis import difference_columns
from rocframe.comparisons.paired_samples import PairedRows
from rocframe.inputs.cases import RowState
from rocframe.kernel.arrays import run_parallel
from rocframe.kernel.groups import is_run_start
from rocframe.kernel.scan import GroupRows, ReplicateCounts
from rocframe.metrics.statistics import PointSearch, count_slopes, rates_at, stack_points
from rocframe.resampling import jackknife_influences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rocframe.areas.pairs import ClassSizes
    from rocframe.comparisons.hypothesis import (
        PairedComparison,
        Quantity,
        UnpairedEstimates,
        UnpairedSample,
    )
    from rocframe.comparisons.pairing import ModelBatch
    from rocframe.kernel.scan import Scan
    from rocframe.resampling import Influences

    FloatArray = NDArray[np.float64]

# The event rate at an estimated threshold is that of the rows with neighboring ranks, on each side
# a half of n^0.8 for the smaller number n of alerts and of other rows.
WINDOW_EXPONENT = 0.8
MIN_WINDOW = 2.0


def delta_test(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the t test with the variance from influence values of each pair."""
    quantity = comparison.hypothesis.quantity
    if quantity.rate is not None and comparison.batch.instances.cluster is None:
        return _test_of_decisions(comparison)
    return (_test_of_all_rows if quantity.depends_on_prevalence else _test_of_classes)(comparison)


# The counts that contain the rows of each class (rows) with both positive decisions, only that of
# model a, only that of model b, and none; as positions in `CONFUSION`.
CELLS_OF_A = [[0, 0, 2, 2], [1, 1, 3, 3]]
CELLS_OF_B = [[0, 2, 0, 2], [1, 3, 1, 3]]


def _test_of_decisions(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the test of metrics at points, from numbers of pairs of decisions."""
    batch, hypothesis = comparison.batch, comparison.hypothesis
    weight = 1.0 if batch.weight is None else batch.weight
    row_weight, squares = batch.count * weight, batch.count * weight**2
    rows = tuple(batch.class_sums(batch.count))
    sizes = np.stack(rows, axis=1).astype(float)
    if hypothesis.quantity.depends_on_prevalence:
        sizes = np.repeat(sizes.sum(axis=1, keepdims=True), 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = sizes / (sizes - 1)
    decided = comparison.decisions() if hypothesis.quantity.is_at_given_threshold else None

    def of_model(task: tuple[int, Any]) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        model, scan = task
        quantity = comparison.quantity(model)
        if decided is not None:
            counts = batch.decision_counts(decided[model], decided[model], row_weight)
            threshold = comparison.given(model)
            assert threshold is not None
            points = np.column_stack([threshold, counts[:, :, 0], counts[:, :, 3]])
            points[:, 1:] *= 1.0 if batch.weight_unit is None else batch.weight_unit[:, None]
            return *_values_and_slopes(None, quantity, points), decided[model]
        points = stack_points(quantity.search.points(scan))[:, 0]  # type: ignore[union-attr]
        is_alert = _decisions_at(batch, model, points[:, 0])
        return *_values_and_slopes(scan, quantity, points), is_alert

    scans = batch.scans() if decided is None else [None] * len(batch.models)
    results = run_parallel(of_model, zip(batch.models, scans, strict=True))
    values, slopes, decisions = (
        dict(zip(batch.models, part, strict=True)) for part in zip(*results, strict=True)
    )

    def variance_of(terms: FloatArray, counts: FloatArray) -> VarianceParts:
        with np.errstate(invalid="ignore"):  # a single row has the factor infinity
            parts = factor * (counts * terms**2).sum(axis=2)
        # A class without rows has no part, if the metric does not depend on it.
        parts[(counts.sum(axis=2) == 0) & ~np.isnan(terms).any(axis=2)] = 0
        total = parts.sum(axis=1)
        total[total < ZERO_VARIANCE] = 0
        return VarianceParts(total, parts[:, 0], parts[:, 1])

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        a, b = pair
        counts = batch.decision_counts(decisions[a], decisions[b], squares)
        of_a, of_b = slopes[a][:, CELLS_OF_A], slopes[b][:, CELLS_OF_B]
        variance = variance_of(of_a - of_b, counts)
        columns = difference_columns(
            hypothesis,
            (values[a], values[b]),
            variance.total,
            variance.df(rows, rows[0] + rows[1]),
            (variance_of(of_a, counts).total, variance_of(of_b, counts).total),
        )
        return comparison.record(
            pair, columns, rows=rows, units=rows, variance=variance.total, few=True
        )

    return run_parallel(compare_pair, comparison.pairs, arrays_only=True)


def _values_and_slopes(
    scan: Scan | None, quantity: Quantity, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return a metric at the point of each group, and the influence values of the four counts."""
    assert quantity.rate is not None
    assert quantity.search is not None
    (values,) = rates_at(points[:, None, :], [quantity.rate], quantity.search).values()
    slopes = point_slopes(scan, quantity, points)
    slopes[np.isnan(values[:, 0])] = np.nan
    unit = quantity.search.unit
    return values[:, 0], slopes if unit is None else slopes * unit[:, None]


def _decisions_at(batch: ModelBatch, model: int, threshold: FloatArray) -> NDArray[np.bool_]:
    """Return which rows are at or above the threshold of their group, by the scores of a model."""
    score, state = (
        batch.instances.score[model][batch.rows],
        batch.instances.state[model][batch.rows],
    )
    limits = np.asarray(threshold, np.float64)[batch.group]
    return np.where(state == RowState.USED, np.asarray(score, np.float64) >= limits, batch.negative)


def _test_of_classes(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the test for fixed numbers of rows of both classes."""
    batch, values, influences = _influences_of_rows(comparison)
    scan = next(batch.scans())
    totals = np.repeat(np.column_stack([scan.totals.pos, scan.totals.neg]).ravel(), _lengths(batch))
    sums = PairedAreas(
        area=values,
        placements=[influence * totals for influence in influences],
        total=None,
        segment=batch.segment,
        n_pos=scan.totals.pos_rows,
        n_neg=scan.totals.neg_rows,
        units=class_sizes(scan, batch.clusters),
        count=None if batch.instances.count is None else batch.count,
        weight=batch.weight,
        clusters=batch.clusters,
        scales=(1.0, 1.0),
    )

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        a, b = (batch.models.index(model) for model in pair)
        variance = sums.variance(a, b)
        columns = difference_columns(
            comparison.hypothesis,
            (values[a], values[b]),
            variance.total,
            sums.df(variance),
            (sums.variance(a).total, sums.variance(b).total),
        )
        rows = sums.n_pos, sums.n_neg
        return comparison.record(
            pair, columns, rows=rows, units=sums.units, variance=variance.total, few=True
        )

    return run_parallel(compare_pair, comparison.pairs)


def _test_of_all_rows(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the test for random numbers of rows of both classes."""
    batch, values, influences = _influences_of_rows(comparison)
    rows, scan = PairedRows.from_batch(batch), next(batch.scans())
    totals = (scan.totals.pos + scan.totals.neg)[batch.group]
    terms = [influence * totals for influence in influences]

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        a, b = (batch.models.index(model) for model in pair)
        change = terms[a] - terms[b]
        variance = rows.variance_of_mean(change)
        squares = batch.class_sums(rows.count * (rows.weight * change / totals) ** 2)
        df = satterthwaite_df(squares, rows.class_units, rows.n_units)
        columns = difference_columns(
            comparison.hypothesis,
            (values[a], values[b]),
            variance,
            df,
            (rows.variance_of_mean(terms[a]), rows.variance_of_mean(terms[b])),
        )
        return comparison.record(
            pair, columns, rows=rows.class_rows, units=rows.class_units, variance=variance, few=True
        )

    return run_parallel(compare_pair, comparison.pairs)


def satterthwaite_df(
    squares: NDArray[Any], units: ClassSizes, n_units: NDArray[np.int64]
) -> FloatArray:
    """Return Satterthwaite's degrees of freedom of a sum of the squares of both classes (rows)."""
    parts = VarianceParts(squares.sum(axis=0), squares[0], squares[1])
    return parts.df(units, n_units)


def _lengths(batch: ModelBatch) -> NDArray[np.int64]:
    return np.diff(np.append(batch.segment, len(batch.rows)))


def _influences_of_rows(
    comparison: PairedComparison,
) -> tuple[ModelBatch, list[FloatArray], list[FloatArray]]:
    """Return the batch and, by model, the values of groups and the influence values of rows."""
    batch = comparison.batch
    if batch.instances.weight is None:
        batch = batch.in_rank_order()  # sums of floats depend on the order of rows
    quantities = {model: comparison.quantity(model) for model in batch.models}
    return batch, *model_influences(batch, quantities)


def model_influences(
    batch: ModelBatch, quantities: Mapping[int, Quantity], *, jackknife: bool = False
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return, by model, the values of groups and the influence values of rows.

    With `jackknife`, they are the changes of the value if the row is left out.
    """

    def of_model(task: tuple[int, Scan]) -> tuple[FloatArray, FloatArray]:
        model, scan = task
        quantity = quantities[model]
        if quantity.rate is not None and not jackknife:
            return _point_influences(model, batch, scan, quantity)
        values = quantity.values(scan)
        result = np.full(len(batch.rows), np.nan)
        for group, influences in group_influences(scan, quantity, values, jackknife=jackknife):
            rows, of_rows = group.values_of_rows(scan, influences)
            result[rows] = of_rows
        return values, result

    results = run_parallel(of_model, zip(batch.models, batch.scans(), strict=True))
    return [values for values, _ in results], [influences for _, influences in results]


def group_influences(
    scan: Scan, quantity: Quantity, values: FloatArray, *, jackknife: bool = False
) -> list[tuple[GroupRows, Influences]]:
    """Return the rows and the influence values of each group whose value is defined.

    The jackknife needs two rows of each class.
    """
    defined = np.isfinite(values)
    if jackknife:
        defined &= (scan.totals.pos_rows > 1) & (scan.totals.neg_rows > 1)

    def of_group(group: int) -> tuple[GroupRows, Influences]:
        population = GroupRows.from_scan(scan, group)
        if jackknife:
            corners = quantity.has_corners
            return population, jackknife_influences(population, quantity.values, corners=corners)
        function = quantity.statistic.influence
        assert function is not None
        return population, function(ReplicateCounts.observed(population).scan(corners=False))

    return run_parallel(of_group, np.flatnonzero(defined).tolist())


def _point_influences(
    model: int, batch: ModelBatch, scan: Scan, quantity: Quantity
) -> tuple[FloatArray, FloatArray]:
    """Return a metric at the point of each group, and the influence value of each row."""
    search = quantity.search
    assert isinstance(search, PointSearch)
    points = stack_points(search.points(scan))[:, 0]
    values, slopes = _values_and_slopes(scan, quantity, points)
    threshold = points[:, 0] if search.given is None else np.ones(len(points))
    is_alert = _decisions_at(batch, model, threshold)
    cell = np.where(batch.negative, np.where(is_alert, 1, 3), np.where(is_alert, 0, 2))
    return values, slopes[batch.group, cell]


def point_slopes(scan: Scan | None, quantity: Quantity, points: FloatArray) -> FloatArray:
    """Return the influence value of a row in each of the four cells, for each group (rows)."""
    search, rate = quantity.search, quantity.rate
    assert isinstance(search, PointSearch)
    assert rate is not None
    slopes = count_slopes(rate, points, search)
    if search.rate is not None and scan is not None:
        limit = count_slopes(search.rate, points, search)
        unit = 1.0 if search.unit is None else search.unit
        alerts = (points[:, 1] + points[:, 2]) / unit - scan.totals.unscored_neg
        share = local_event_rate(scan, alerts)
        change = np.column_stack([share, 1 - share, -share, share - 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = (slopes * change).sum(axis=1) / (limit * change).sum(axis=1)
        # Without false positives, for example, the change of the FPR is unknown.
        slopes = slopes - np.where(np.isfinite(factor), factor, np.nan)[:, None] * limit
    cells = points[:, 1:]
    classes = [[0, 1, 2, 3]] if quantity.depends_on_prevalence else [[0, 2], [1, 3]]
    for own in classes:
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = (slopes * cells)[:, own].sum(axis=1) / cells[:, own].sum(axis=1)
        slopes[:, own] -= np.nan_to_num(mean)[:, None]
    return slopes


def local_event_rate(scan: Scan, alerts: FloatArray) -> FloatArray:
    """Return the share of positives among the rows with ranks near `alerts`, in each group.

    Tied rows share their ranks.
    """
    rows = scan.rows
    length = rows.ends - rows.starts[:-1]
    scored = np.repeat(rows.starts[:-1] - np.append(0, np.cumsum(length)[:-1]), length)
    scored += np.arange(len(scored))
    group = np.repeat(np.arange(len(length)), length)
    codes = rows.codes[scored]
    weight = np.ones(len(scored)) if rows.weights is None else rows.weights.row_weight[scored]
    # The mean weight is 1, so that the width of the window does not depend on the unit of weights.
    totals = scan.totals
    unit = (totals.pos + totals.neg) / np.maximum(totals.pos_rows + totals.neg_rows, 1)
    unit = np.where(unit > 0, unit, 1.0)
    weight, alerts = weight / unit[group], alerts / unit
    n, pos = (np.cumsum(part) for part in (weight, np.where(codes & 1, 0.0, weight)))
    is_last = np.append(is_run_start(codes >> 1, group)[1:], True)[: len(codes)]
    x, y = (np.append(0.0, values[is_last]) for values in (n, pos))
    before = np.append(0.0, n)[np.cumsum(length) - length]
    total = np.append(0.0, n)[np.cumsum(length)] - before
    smaller = np.maximum(np.minimum(alerts, total - alerts), 0)
    half = np.maximum(smaller**WINDOW_EXPONENT / 2, MIN_WINDOW)
    low, high = np.clip(alerts - half, 0, total), np.clip(alerts + half, 0, total)
    events = np.interp(before + high, x, y) - np.interp(before + low, x, y)
    # A half is added to both classes, so that the rate is not 0 or 1 in a small window.
    return np.asarray((events + 0.5) / (high - low + 1), np.float64)


def delta_estimates(sample: UnpairedSample) -> UnpairedEstimates:
    """Return the quantity of each group, and its variance from influence values."""
    scan, quantity = sample.scan, sample.quantity
    values = quantity.values(scan)
    squares = np.full((2, len(values)), np.nan)  # sums of squares of both classes
    if quantity.rate is not None:
        assert quantity.search is not None
        points = stack_points(quantity.search.points(scan))[:, 0]
        terms = points[:, 1:] * point_slopes(scan, quantity, points) ** 2
        squares = np.stack([terms[:, [0, 2]].sum(axis=1), terms[:, [1, 3]].sum(axis=1)])
    else:
        for group, influences in group_influences(scan, quantity, values):
            for i, side in enumerate((group.pos, group.neg)):
                squares[i, group.group] = side.rows @ influences[i][side.step] ** 2
    rows = scan.totals.pos_rows, scan.totals.neg_rows
    n = rows[0] + rows[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        if quantity.depends_on_prevalence:
            variance = n / (n - 1) * squares.sum(axis=0)
        else:
            variance = sum(
                np.where(part == 0, 0, size / (size - 1) * part)
                for size, part in zip(rows, squares, strict=True)
            )
    variance = np.asarray(variance, np.float64)
    variance[variance < ZERO_VARIANCE] = 0
    parts = VarianceParts(variance, squares[0], squares[1])
    return sample.estimates(values, variance, parts.spread(rows))


def share_estimates(sample: UnpairedSample) -> UnpairedEstimates:
    """Return a proportion at a given threshold of each group, its variance and number of rows."""
    quantity, share = sample.quantity, sample.quantity.share
    assert quantity.search is not None
    assert share is not None
    points = quantity.search.points(sample.scan)
    total = np.sum([getattr(points, name)[:, 0] for name in share.denominator], axis=0) * 1.0
    value = quantity.values(sample.scan)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = value * (1 - value) / total
    return sample.estimates(value, variance, np.zeros(len(value)), total=total)
