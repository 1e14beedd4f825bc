"""Rows that several models scored: means and their variances, and resamples with equal draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.pairs import ZERO_VARIANCE
from rocframe.comparisons.pairing import segment_sums
from rocframe.kernel.scan import BLOCK_ROWS, GroupRows, ReplicateCounts, RowSampler, draw_classes
from rocframe.resampling import batched_replicates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.pairs import Clusters
    from rocframe.comparisons.pairing import ModelBatch
    from rocframe.kernel.scan import RandomDraws, Scan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedRows:
    """The rows of a batch, for weighted means of each group and the variances of these means.

    `n_units` and `class_units` count the rows or clusters of groups, and of their classes.
    """

    starts: NDArray[np.int64]
    group: NDArray[np.int64]
    count: NDArray[np.float64]
    weight: NDArray[np.float64]
    clusters: Clusters | None
    class_rows: tuple[NDArray[np.int64], NDArray[np.int64]]
    n_units: NDArray[np.int64]
    class_units: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def from_batch(cls, batch: ModelBatch) -> PairedRows:
        """Return the rows of a batch."""
        count, weight, clusters = batch.count, batch.weight, batch.clusters
        n_pos, n_neg = class_rows = tuple(batch.class_sums(count))
        n_units = n_pos + n_neg
        if clusters is not None:
            n_pos, n_neg, n_units = clusters.sizes
        return cls(
            starts=batch.starts[:-1],
            group=batch.group,
            count=count.astype(np.float64),
            weight=np.ones(len(count)) if weight is None else weight,
            clusters=clusters,
            class_rows=class_rows,
            n_units=n_units,
            class_units=(n_pos, n_neg),
        )

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted mean of the values of each group; NaN for groups without rows."""
        row_weight = self.count * self.weight
        total = segment_sums(row_weight, np.ones(len(values)), self.starts)
        with np.errstate(invalid="ignore"):
            means: NDArray[np.float64] = segment_sums(row_weight, values, self.starts) / total
        return means

    def variance_of_mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of each mean; NaN for groups with fewer than two rows or clusters.

        It is n/(n - 1) Σ(weight · (value - mean) / total weight)² over the n rows, or over
        clusters, whose terms are added up first.
        """
        total = segment_sums(self.count * self.weight, np.ones(len(values)), self.starts)
        deviation = self.weight * (values - self.mean(values)[self.group]) / total[self.group]
        if self.clusters is None:
            squares = segment_sums(self.count * deviation, deviation, self.starts)
        else:
            terms, clusters = self.count * deviation, self.clusters
            sums = np.zeros(len(clusters.group))
            for rows, cluster in zip(clusters.rows, clusters.cluster, strict=True):
                sums += np.bincount(cluster, terms[rows], len(sums))
            squares = np.bincount(clusters.group, sums**2, len(self.starts))
        n = self.n_units
        with np.errstate(divide="ignore", invalid="ignore"):
            variance: NDArray[np.float64] = n / (n - 1) * squares
        variance[n < 2] = np.nan
        variance[n * variance < ZERO_VARIANCE] = 0
        return variance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedSample:
    """The rows of one group, the first `n_pos` positive, and their order by each model."""

    populations: list[GroupRows]
    n_pos: int
    count: NDArray[np.int64]
    cluster: NDArray[np.int64] | None

    @property
    def classes(self) -> tuple[slice, slice]:
        """The positions of the rows of each class."""
        return slice(self.n_pos), slice(self.n_pos, None)

    @property
    def n_rows(self) -> tuple[int, int]:
        """Number of rows of each class."""
        pos, neg = (int(self.count[rows].sum()) for rows in self.classes)
        return pos, neg

    @property
    def units(self) -> tuple[int, int]:
        """Number of rows, or clusters, of each class."""
        if self.cluster is None:
            return self.n_rows
        pos, neg = (len(np.unique(self.cluster[rows])) for rows in self.classes)
        return pos, neg

    @property
    def observed(self) -> list[ReplicateCounts]:
        """The data of each model as the only resample."""
        return self.replicates(self.count[None, :])

    def replicates(self, times: NDArray[np.int64]) -> list[ReplicateCounts]:
        """Return the resamples of each model; `times` counts each row (columns) in each (rows)."""
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
        arrays_only: bool = False,
    ) -> tuple[NDArray[Any], int]:
        """Return a row of values for each resample, and how many resamples were drawn again.

        If `stratified`, classes have their sizes in the data, unless rows are in clusters.
        """
        sides = [RowSampler.from_counts(self.count[rows]) for rows in self.classes]
        clusters = [] if self.cluster is None else [self.cluster[rows] for rows in self.classes]

        def resample(stream: np.random.Generator, size: int) -> tuple[NDArray[Any], int]:
            parts, redrawn = draw_classes(stream, size, sides, clusters, stratified=stratified)
            return statistic(self.replicates(np.concatenate(parts, axis=1))), redrawn

        return batched_replicates(
            resample,
            n_boot=draws.n_draws,
            batch_size=max(1, BLOCK_ROWS // len(self.count)),
            seed=draws.seed,
            key=key,
            arrays_only=arrays_only,
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
