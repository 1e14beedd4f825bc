"""Tests of the difference of two mean losses: the Brier score and the logarithmic loss.

The loss of a row is a number that depends on this row only, so t tests of means apply. The paired
t test is for models that scored the same rows. If the losses are not autocorrelated, it is the test
of Diebold and Mariano. For Welch's t test of models that scored different rows, this module
estimates the mean loss of one model and its variance.

References
----------
F. X. Diebold, R. S. Mariano (1995), "Comparing predictive accuracy", Journal of Business and
Economic Statistics 13(3), 253-263. doi:10.1080/07350015.1995.10524599
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.pairs import group_sums
from rocframe.areas.variance import ZERO_VARIANCE
from rocframe.comparisons.hypothesis import difference_columns
from rocframe.comparisons.instances import segment_sums
from rocframe.kernel.threads import run_parallel
from rocframe.probabilities.losses import log_losses, probability_losses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.areas.variance import Clusters
    from rocframe.comparisons.hypothesis import PairedComparison, Quantity
    from rocframe.comparisons.instances import ModelBatch
    from rocframe.kernel.scan import Block, Scan, Scannable


def row_losses(metric: str, probability: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the loss of each probability if the row is positive, and if it is negative."""
    p = probability.astype(np.float64)
    if metric == "brier":
        return (1 - p) ** 2, p**2
    return log_losses(p)


def t_test(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the paired t test of each pair of models that scored the same rows."""
    batch, metric = comparison.batch, comparison.hypothesis.quantity.metric
    if batch.instances.weight is None:
        batch = batch.in_rank_order()  # sums of floats depend on the order of rows
    rows, negative = PairedRows.from_batch(batch), batch.negative
    losses, means = {}, {}
    for model in batch.models:
        of_positives, of_negatives = row_losses(metric, batch.instances.score[model][batch.rows])
        losses[model] = np.where(negative, of_negatives, of_positives)
        means[model] = rows.mean(losses[model])

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        a, b = pair
        variance = rows.variance_of_mean(losses[a] - losses[b])
        df = (rows.n_units - 1).astype(np.float64)
        columns = difference_columns(comparison.hypothesis, (means[a], means[b]), variance, df)
        return comparison.record(
            pair, columns, rows=rows.class_rows, units=rows.class_units, variance=variance
        )

    return run_parallel(compare_pair, comparison.pairs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedRows:
    """The rows of a batch, for weighted means of each group and the variances of these means.

    `starts` is the first row of each group, and `group` the group of each row. `count` and `weight`
    are those of each row. `clusters` are the clusters of the rows, or None. `n_units` is the number
    of rows or, with clusters, of clusters of each group. `class_units` are these numbers for the
    positives and the negatives.
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

        The variance is n/(n - 1) times the sum of squares of weight * (value - mean) / total weight
        over the n rows. In clusters, these terms are added up before they are squared.
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


def loss_estimates(scan: Scan, quantity: Quantity) -> tuple[NDArray[np.float64], ...]:
    """Return the mean loss of a model in each group, its variance, and Welch's variance²/(n - 1).

    The variance is NaN for groups with fewer than two rows.
    """
    mean = mean_loss(scan, quantity.metric)

    def squared_deviations(block: Block) -> list[NDArray[np.float64]]:
        of_positives, of_negatives = row_losses(quantity.metric, scan.codec.decode(block.codes))
        pos = block.pos if block.pos_squares is None else block.pos_squares
        neg = block.neg if block.neg_squares is None else block.neg_squares
        center = block.of_steps(mean)
        squares = pos * (of_positives - center) ** 2 + neg * (of_negatives - center) ** 2
        return [np.add.reduceat(squares, block.starts[:-1])]

    totals = scan.totals
    with_weights = totals.pos.dtype.kind == "f"
    (squares,) = group_sums(scan, scan.map(squared_deviations, squares=with_weights), 1)
    n = totals.pos_rows + totals.neg_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = n / (n - 1) * squares / (totals.pos + totals.neg) ** 2
    variance[n < 2] = np.nan
    variance[n * variance < ZERO_VARIANCE] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return mean, variance, variance**2 / (n - 1)


def mean_loss(scan: Scannable, metric: str) -> NDArray[np.float64]:
    """Return the mean loss of each group."""
    values: NDArray[np.float64] = getattr(probability_losses(scan), metric)
    return values
