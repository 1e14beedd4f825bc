"""Bootstrap test of the difference of two models: both are evaluated on the same resamples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.pairs import count_pairs
from rocframe.comparisons.hypothesis import difference_columns
from rocframe.comparisons.mean_losses import mean_loss
from rocframe.comparisons.paired_resampling import paired_samples
from rocframe.inference.bootstrap import bootstrap_interval
from rocframe.metrics.points import PointSearch
from rocframe.metrics.statistics import average_precision
from rocframe.rates import NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.comparisons.hypothesis import PairedComparison, Quantity
    from rocframe.kernel.resample import ReplicateCounts
    from rocframe.kernel.scan import Scannable


def bootstrap_test(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the bootstrap test of each pair of models.

    The variance of the difference is that over the resamples. Each pair has separate resamples, so
    that the result of a pair does not depend on other models.
    """
    return [_compare_pair(comparison, pair) for pair in comparison.pairs]


def _compare_pair(comparison: PairedComparison, pair: tuple[int, int]) -> dict[str, Any]:
    """Return the columns of the comparison of a pair of models, with an element per group."""
    hypothesis, draws = comparison.hypothesis, comparison.draws
    quantity = hypothesis.quantity
    depends_on_prevalence = quantity.depends_on_prevalence
    batch = replace(comparison.batch, models=tuple(sorted(pair))).merge_identical_rows()
    scans = list(batch.scans())
    values = [_value(scan, quantity) for scan in scans]

    def sample_values(resamples: list[ReplicateCounts]) -> NDArray[np.float64]:
        # Corners of the ROC curve are enough for areas under it and for its rates.
        resample_scans = (
            resample.scan(corners=not depends_on_prevalence) for resample in resamples
        )
        return np.stack([_value(scan, quantity) for scan in resample_scans], axis=1)

    a, b = (batch.models.index(model) for model in pair)
    size = len(batch.groups)
    variance = np.full(size, np.nan)
    redrawn, n_pos, n_neg = np.zeros((3, size), np.int64)
    for group, sample in enumerate(paired_samples(batch, scans)):
        n_pos[group], n_neg[group] = sample.units
        if min(sample.units) < 2:  # all resamples of a single row or cluster are equal
            continue
        key = draws.keys[batch.groups[group]]
        samples, redrawn[group] = sample.resample(
            sample_values,
            draws,
            key,
            stratified=not depends_on_prevalence,
            arrays_only=quantity.fixed_rate is None,
        )
        difference = bootstrap_interval(
            samples[:, a] - samples[:, b],
            float(values[a][group] - values[b][group]),
            None,
            hypothesis.level,
            bounds=(-1.0, 1.0),
        )
        variance[group] = 0.0 if difference.constant else difference.se**2
        redrawn[group] += difference.n_undefined
    # With few positives, the variance of an average precision is itself uncertain.
    df = np.maximum(n_pos - 1.0, 1) if quantity.metric == "average_precision" else None
    return comparison.record(
        pair,
        difference_columns(hypothesis, (values[a], values[b]), variance, df),
        rows=tuple(batch.class_sums(batch.count)),
        units=(n_pos, n_neg),
        variance=variance,
        redrawn=redrawn,
    )


def _value(scan: Scannable, quantity: Quantity) -> NDArray[np.float64]:
    """Return the compared quantity, such as the AUC, of each group or resample of a scan."""
    if quantity.is_loss:
        return mean_loss(scan, quantity.metric)
    if quantity.metric == "average_precision":
        return average_precision(scan)
    if quantity.rate_range is not None:
        return quantity.rate_range.areas(scan)[0]
    if quantity.fixed_rate is None:
        return count_pairs(scan).areas[0]
    axis, rate = quantity.fixed_rate
    point = PointSearch(rate=NAMES[axis], values=[rate]).points(scan)
    counts = (point.tp, point.fn) if axis == "fpr" else (point.fp, point.tn)
    part, rest = (count[:, 0] for count in counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        values: NDArray[np.float64] = part / (part + rest)
    return np.where(point.missing[:, 0], np.nan, values)
