"""Bootstrap test of the difference of two models: both are evaluated on the same resamples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.pairs import count_pairs
from rocframe.areas.partial import partial_areas
from rocframe.comparisons.hypothesis import difference_columns
from rocframe.comparisons.mean_losses import mean_loss
from rocframe.inference.bootstrap import batched_replicates, bootstrap_interval
from rocframe.inference.notes import class_notes
from rocframe.kernel.resample import GroupRows, ReplicateCounts, RowSampler, draw_classes
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.metrics.points import PointSearch
from rocframe.metrics.statistics import average_precision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.hypothesis import PairedComparison, Quantity
    from rocframe.comparisons.instances import ModelBatch
    from rocframe.kernel.resample import RandomDraws
    from rocframe.kernel.scan import Scan, Scannable


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
    n_paired, redrawn, n_pos, n_neg = np.zeros((4, size), np.int64)
    for group, sample in enumerate(paired_samples(batch, scans)):
        n_paired[group] = sample.count.sum()
        n_pos[group], n_neg[group] = sample.units
        if min(sample.units) < 2:  # all resamples of a single row or cluster are equal
            continue
        key = draws.keys[batch.groups[group]]
        samples, redrawn[group] = sample.resample(
            sample_values, draws, key, stratified=not depends_on_prevalence
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
    return {
        "models": pair,
        "group": batch.groups,
        "n_paired": n_paired,
        **difference_columns(hypothesis, (values[a], values[b]), variance),
        "note": class_notes(
            n_pos,
            n_neg,
            zero_variance=variance == 0,
            redrawn=redrawn,
            unmatched=batch.unmatched,
        ),
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedSample:
    """The rows of one group, with the first `n_pos` rows positive.

    `populations` has the order of the rows by the scores of each model. `count` is the number of
    identical rows that each row represents. `cluster` is the number of the cluster of each row.
    """

    populations: list[GroupRows]
    n_pos: int
    count: NDArray[np.int64]
    cluster: NDArray[np.int64] | None

    @property
    def units(self) -> tuple[int, int]:
        """Number of rows, or clusters, of each class."""
        pos, neg = slice(self.n_pos), slice(self.n_pos, None)
        if self.cluster is None:
            return int(self.count[pos].sum()), int(self.count[neg].sum())
        return len(np.unique(self.cluster[pos])), len(np.unique(self.cluster[neg]))

    def replicates(self, times: NDArray[np.int64]) -> list[ReplicateCounts]:
        """Return the resamples of each model.

        `times` has one row per resample: how often each row of the group is in the resample.
        """
        return [
            ReplicateCounts(
                population=population,
                pos=times[:, population.pos.cluster],
                neg=times[:, population.neg.cluster],
            )
            for population in self.populations
        ]

    def resample(
        self,
        statistic: Callable[[list[ReplicateCounts]], NDArray[Any]],
        draws: RandomDraws,
        key: tuple[int, ...],
        *,
        stratified: bool = True,
    ) -> tuple[NDArray[Any], int]:
        """Return a row of values for each resample, and how many resamples were drawn again.

        `statistic` computes the values of several resamples from the counts of each model. If
        `stratified` is true, each class has as many rows in a resample as in the data, unless rows
        are in clusters.
        """
        classes = slice(self.n_pos), slice(self.n_pos, None)
        sides = [RowSampler.from_counts(self.count[rows]) for rows in classes]
        clusters = [] if self.cluster is None else [self.cluster[rows] for rows in classes]

        def resample(stream: np.random.Generator, size: int) -> tuple[NDArray[Any], int]:
            parts, redrawn = draw_classes(stream, size, sides, clusters, stratified=stratified)
            return statistic(self.replicates(np.concatenate(parts, axis=1))), redrawn

        return batched_replicates(
            resample,
            n_boot=draws.n_draws,
            batch_size=max(1, BLOCK_ROWS // len(self.count)),
            seed=draws.seed,
            key=key,
        )


def paired_samples(batch: ModelBatch, scans: Sequence[Scan]) -> Iterator[PairedSample]:
    """Yield the rows of each group of a batch; `scans` has the scan of each model."""
    # Each row is treated as a cluster with the same number in all scans, so that all models use the
    # same draws.
    row_numbers, count = np.arange(len(batch.rows)), batch.count
    cluster_of_instance = batch.instances.cluster
    ends = zip(batch.starts, batch.middle, batch.starts[1:], strict=False)
    for group, (start, middle, end) in enumerate(ends):
        cluster = None
        if cluster_of_instance is not None:
            rows = batch.rows[start:end]
            cluster = np.unique(cluster_of_instance[rows], return_inverse=True)[1]
        yield PairedSample(
            populations=[GroupRows.from_scan(scan, group, row_numbers) for scan in scans],
            n_pos=int(middle - start),
            count=count[start:end],
            cluster=cluster,
        )


def _value(scan: Scannable, quantity: Quantity) -> NDArray[np.float64]:
    """Return the compared quantity, such as the AUC, of each group or resample of a scan."""
    if quantity.is_loss:
        return mean_loss(scan, quantity.metric)
    if quantity.metric == "average_precision":
        return average_precision(scan)
    if quantity.rate_range is not None:
        return partial_areas(scan, quantity.rate_range)[0]
    if quantity.fixed_rate is None:
        return count_pairs(scan).areas[0]
    axis, rate = quantity.fixed_rate
    point = PointSearch(axis=axis, values=[rate], limits=[None], unit=1.0).points(scan)
    counts = (point.tp, point.fn) if axis == "fpr" else (point.fp, point.tn)
    part, rest = (count[:, 0] for count in counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        values: NDArray[np.float64] = part / (part + rest)
    return np.where(point.missing[:, 0], np.nan, values)
