"""Resamples of rows that several models scored: all models have the same draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.kernel.scan import BLOCK_ROWS, GroupRows, ReplicateCounts, RowSampler, draw_classes
from rocframe.resampling import batched_replicates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.pairing import ModelBatch
    from rocframe.kernel.scan import RandomDraws, Scan


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
