"""AUC from pairs, and its variance: DeLong (1988), Obuchowski (1997), Hanley and McNeil (1982)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.kernel.arrays import (
    MAX_INT64,
    exact_product,
    exact_quotient,
    exact_sums,
    scale_by_totals,
)
from rocframe.kernel.groups import ReservedCode, groups_of_rows
from rocframe.kernel.scan import ReplicateStatistic
from rocframe.resampling import Statistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.kernel.scan import Block, ReplicateScan, Scan, Scannable
    from rocframe.resampling import Influences

    ClassSizes = tuple[NDArray[np.int64], NDArray[np.int64]]  # rows or clusters of both classes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Numbers of pairs of a positive and a negative in each group: `pos` times `neg` pairs.

    In `wins`, the positive has the higher score; in `wins_or_ties`, the higher or an equal score.
    `squares` are the results of `squared_placements`, if requested.
    """

    wins: NDArray[Any]
    wins_or_ties: NDArray[Any]
    pos: NDArray[Any]
    neg: NDArray[Any]
    squares: tuple[NDArray[Any], NDArray[Any]] | None = None

    @property
    def areas(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """AUC with ties counted as 1/2, 0 and 1; NaN without positives or without negatives."""
        areas = self.shares
        if self.pos.dtype.kind == "f":  # rounded sums of weights may lie outside [0, 1]
            areas = np.clip(areas, 0, 1)
        return areas[0], areas[1], areas[2]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Shares of the pairs that are won, with ties counted as 1/2, 0 and 1, in three rows."""
        twice = exact_product(self.pos, self.neg, np.array([2]))
        wins, wins_or_ties = (n.astype(twice.dtype) for n in (self.wins, self.wins_or_ties))
        doubled = (wins + wins_or_ties, 2 * wins, 2 * wins_or_ties)
        return np.stack([exact_quotient(part, twice) for part in doubled])


def count_pairs(scan: Scannable, *, squares: bool = False) -> Pairs:
    """Return the pairs of each group; `squares` in the same scan is faster than in two scans."""
    scored_neg = scan.totals.scored_neg

    def count(block: Block) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        starts = block.starts[:-1]
        neg = block.neg
        pairs = exact_sums(neg, block.tp0, starts), exact_sums(neg, block.tp, starts)
        return [pairs, _squared_placement_sums(block, scored_neg)] if squares else [pairs]

    parts = scan.map(count)
    wins, wins_or_ties = group_sums(scan, [part[0] for part in parts], 2, pair_dtype(scan, 1))
    sums = None
    if squares:
        of_pos, of_neg = group_sums(scan, [part[1] for part in parts], 2, pair_dtype(scan, 2))
        sums = of_pos, of_neg
    return Pairs(
        wins=wins, wins_or_ties=wins_or_ties, pos=scan.totals.pos, neg=scan.totals.neg, squares=sums
    )


def squared_placements(scan: Scannable) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sums of squared doubled placement values of each group: positives, negatives."""
    scored_neg = scan.totals.scored_neg
    parts = scan.map(lambda block: _squared_placement_sums(block, scored_neg))
    of_pos, of_neg = group_sums(scan, parts, 2, pair_dtype(scan, 2))
    return of_pos, of_neg


def _squared_placement_sums(
    block: Block, scored_neg: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return, for each group of a block, the sums of squared doubled placements of each class."""
    starts = block.starts[:-1]
    of_pos, of_neg = placements_of_scores(block, scored_neg)
    return exact_sums(block.pos, of_pos, starts, power=2), exact_sums(
        block.neg, of_neg, starts, power=2
    )


def group_sums(scan: Scannable, parts: list[Any], columns: int, dtype: Any = float) -> NDArray[Any]:
    """Return sums over all blocks, with `columns` rows and one column per group."""
    total = np.zeros((columns, len(scan.totals.pos)), dtype)
    for piece, part in zip(scan.ranges, parts, strict=True):
        for column, values in zip(total, part, strict=True):
            column[piece.groups] = column[piece.groups] + values
    return total


def pair_dtype(scan: Scannable, power: int) -> Any:
    """Return the dtype of sums of (doubled placement value) ** `power`: float, Int64 or object."""
    pos, neg = scan.totals.pos, scan.totals.neg
    if pos.dtype.kind == "f":
        return np.float64
    m, n = (int(side.max()) if len(side) else 0 for side in (pos, neg))
    return np.int64 if 2**power * m * n * max(m, n) ** (power - 1) <= MAX_INT64 else object


def doubled_placements(scan: Scan) -> NDArray[Any]:
    """Return twice the placement value of each row of the frame, an integer; 0 without a score.

    It is the number of negatives with a lower score, or of positives with a higher score; a tie
    counts 1/2. The scan must have positions of rows.
    """
    scored_neg = scan.totals.scored_neg
    zeros = np.zeros(len(scored_neg), scored_neg.dtype)
    return scatter_to_rows(
        scan, lambda block: placements_of_scores(block, scored_neg), (zeros, zeros)
    )


def placements_of_scores(
    block: Block, scored_neg: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the doubled placement values of positives and of negatives at each distinct score."""
    return 2 * block.of_steps(scored_neg) - block.fp0 - block.fp, block.tp0 + block.tp


def doubled_ranks(scan: Scan) -> NDArray[Any]:
    """Return twice the midrank of each row within its group; unscored negatives are first."""
    totals, unscored = scan.totals, scan.rows.unscored
    all_rows, first = totals.pos + totals.neg, unscored.neg_weight

    def ranks(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        rank = block.tp0 + block.tp + block.fp0 + block.fp + 2 * block.of_steps(first)
        return rank, rank

    return scatter_to_rows(scan, ranks, (2 * all_rows - unscored.pos_weight, first))


def scatter_to_rows(
    scan: Scan,
    values_of: Callable[[Block], tuple[NDArray[Any], NDArray[Any]]],
    unscored: tuple[NDArray[Any], NDArray[Any]],
) -> NDArray[Any]:
    """Return a value for each row of the frame, from values for each distinct score and class.

    `values_of` returns the values of positives and of negatives at each score of a block;
    `unscored` are those of unscored rows of each group. Rows that are left out have the value 0.
    """
    rows = scan.rows
    row = rows.row
    assert row is not None
    result = np.zeros(len(row), unscored[0].dtype)

    def scatter(block: Block) -> None:
        assert block.sizes is not None
        negative = (rows.codes[block.positions] & 1).astype(bool)
        of_pos, of_neg = (np.repeat(values, block.sizes) for values in values_of(block))
        result[row[block.positions]] = np.where(negative, of_neg, of_pos)

    scan.map(scatter)
    if rows.unscored.length.any():
        tail = np.flatnonzero(rows.codes >= rows.codec.first_reserved)
        tail = tail[rows.codes[tail] >> 1 == rows.codec.reserved(ReservedCode.UNSCORED)]
        group = groups_of_rows(rows.starts, tail)
        negative = (rows.codes[tail] & 1).astype(bool)
        result[row[tail]] = np.where(negative, unscored[1][group], unscored[0][group])
    return result


def auc_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the AUC at each score and, last, of unscored rows.

    An influence value is the centered placement value, divided by the total weight of the class.
    """
    block, totals = sample.block, sample.totals
    auc, pos, neg = count_pairs(sample).areas[0][0], totals.pos[0], totals.neg[0]
    of_pos, of_neg = placements_of_scores(block, totals.scored_neg)
    v10, v01 = np.append(of_pos, 0) / (2 * neg), np.append(of_neg, 0) / (2 * pos)
    return (v10 - auc) / pos, (v01 - auc) / neg


AUC_STATISTIC = Statistic(
    replicate=ReplicateStatistic(function=lambda sample: count_pairs(sample).areas[0]),
    influence=auc_influence,
    is_roc_area=True,
)


# A variance below this limit is set to 0. The limit is the squared rounding error of placement
# values, which are at most 1.
ZERO_VARIANCE = 1e-28


class VarianceParts(NamedTuple):
    """The variance of each area, or of each difference of areas, and the parts of both classes.

    `total` is the sum of both parts and, with clusters, twice their covariance.
    """

    total: NDArray[np.float64]
    of_pos: NDArray[np.float64]
    of_neg: NDArray[np.float64]

    @classmethod
    def of_classes(
        cls, rows: ClassSizes, of_pos: NDArray[np.float64], of_neg: NDArray[np.float64]
    ) -> VarianceParts:
        """Return the parts of independent classes; NaN if a class has fewer than two `rows`."""
        total = of_pos + of_neg
        total[(rows[0] < 2) | (rows[1] < 2)] = np.nan
        total[total < ZERO_VARIANCE] = 0
        return cls(total, of_pos, of_neg)

    def spread(self, sizes: ClassSizes) -> NDArray[np.float64]:
        """Return Σ v²/(n - 1) over both classes, the denominator of Satterthwaite's formula."""
        with np.errstate(divide="ignore", invalid="ignore"):
            result: NDArray[np.float64] = self.of_pos**2 / (sizes[0] - 1) + self.of_neg**2 / (
                sizes[1] - 1
            )
        return result

    def df(self, sizes: ClassSizes, n: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return Satterthwaite's degrees of freedom for `n` rows or clusters; NaN if undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return limit_df(self.total**2 / self.spread(sizes), sizes, n)


def limit_df(
    df: NDArray[np.float64], sizes: ClassSizes, n: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return degrees of freedom, at least those of the smaller class and at most n - 1.

    If clusters have rows of both classes, Satterthwaite's formula does not have these bounds.
    """
    limited: NDArray[np.float64] = np.clip(df, np.minimum(*sizes) - 1, n - 1)
    return limited


def auc_variance_parts(
    scan: Scan,
    pairs: Pairs,
    clusters: Clusters | None = None,
    weight: NDArray[np.float64] | None = None,
) -> VarianceParts:
    """Return DeLong's variance of each AUC, or Obuchowski's if rows are in clusters."""
    if clusters is None:
        return delong_variance_parts(scan, pairs)
    scales = 2 * scan.totals.neg, 2 * scan.totals.pos
    return obuchowski_variance(clusters, doubled_placements(scan), weight, scales)


def delong_variance(scan: Scan, pairs: Pairs) -> NDArray[np.float64]:
    """Return DeLong's variance of each AUC; NaN if a class has fewer than two rows."""
    return delong_variance_parts(scan, pairs).total


def delong_variance_parts(scan: Scan, pairs: Pairs) -> VarianceParts:
    """Return DeLong's variance of each AUC, and the parts of both classes."""
    if scan.totals.pos.dtype.kind == "f":
        return _weighted_delong_variance(scan, pairs)
    of_pos, of_neg = delong_class_variances(scan, pairs)
    return VarianceParts(of_pos + of_neg, of_pos, of_neg)


def delong_class_variances(
    scan: Scannable, pairs: Pairs
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two terms of DeLong's variance of unweighted rows: of positives, of negatives."""
    of_pos, of_neg = pairs.squares or squared_placements(scan)
    m, n = pairs.pos, pairs.neg
    total = pairs.wins + pairs.wins_or_ties
    return placement_variance(m, n, of_pos, total), placement_variance(n, m, of_neg, total)


def placement_variance(
    own: NDArray[Any], other: NDArray[Any], squares: NDArray[Any], total: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the sample variance of the placement values of a class, divided by the class size.

    `own` and `other` are the sizes of this and of the other class, `total` and `squares` the sums
    of the doubled values (or of differences of two models) and of their squares.
    """
    return placement_covariance(own, other, squares, total, total)


def placement_covariance(
    own: NDArray[Any],
    other: NDArray[Any],
    products: NDArray[Any],
    total: NDArray[Any],
    other_total: NDArray[Any],
) -> NDArray[np.float64]:
    """Return the sample covariance of two placement values of a class, divided by its size."""
    # u and v are the doubled values. The result is (own·Σuv − Σu·Σv) / (own²·(own−1)·(2·other)²).
    result = np.full(len(own), np.nan)
    enough = (own > 1) & (other > 0)
    # The numerator is at most 4·own²·other², which may exceed Int64. Each group is checked
    # separately, so that the result of a group does not depend on other groups.
    small = enough & (own.astype(np.float64) * other < 1.5e9)
    values = own, other, products, total, other_total
    a, b, s, t, u = (each[small].astype(np.int64) for each in values)
    result[small] = (a * s - t * u) / (4.0 * a * a * (a - 1) * b * b)
    for i in np.flatnonzero(enough & ~small):
        a_, b_, s_, t_, u_ = (int(each[i]) for each in values)
        result[i] = (a_ * s_ - t_ * u_) / (4 * a_ * a_ * (a_ - 1) * b_ * b_)
    return result


def _weighted_delong_variance(scan: Scan, pairs: Pairs) -> VarianceParts:
    """Return DeLong's variance of weighted rows; NaN if a class has one row."""
    auc = pairs.areas[0]
    scored_neg = scan.totals.scored_neg

    def squared_deviations(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        assert block.pos_squares is not None
        assert block.neg_squares is not None
        starts, theta = block.starts[:-1], block.of_steps(auc)
        with np.errstate(divide="ignore", invalid="ignore"):  # each thread has its own error state
            of_pos, of_neg = placements_of_scores(block, scored_neg)
            v10 = of_pos / (2 * block.of_steps(pairs.neg)) - theta
            v01 = of_neg / (2 * block.of_steps(pairs.pos)) - theta
        return (
            np.add.reduceat(block.pos_squares * v10**2, starts),
            np.add.reduceat(block.neg_squares * v01**2, starts),
        )

    of_pos, of_neg = group_sums(scan, scan.map(squared_deviations, squares=True), 2)
    of_pos += scan.rows.unscored.pos_squares * auc**2
    of_neg += scan.rows.unscored.neg_squares * auc**2
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = of_pos / pairs.pos**2, of_neg / pairs.neg**2
    rows = scan.totals.pos_rows, scan.totals.neg_rows
    return VarianceParts.of_classes(rows, *class_variances(rows, squares))


def class_variances(
    rows: ClassSizes, squares: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the parts of both classes of DeLong's (co)variances of weighted rows, by group.

    `squares` are sums of squares or products of the deviations of placement values from their mean,
    times the share of the row in the weight of the class.
    """
    shape = (-1, *[1] * (squares[0].ndim - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        of_pos, of_neg = (
            (n / (n - 1)).reshape(shape) * sums for n, sums in zip(rows, squares, strict=True)
        )
    return of_pos, of_neg


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clusters:
    """The clusters of all groups; a cluster with rows in two groups is two clusters.

    `group` is the group of each cluster, and `number` its number in the frame. `rows` are the
    positions of positives and negatives in the frame, and `cluster` their clusters.
    """

    groups: int
    group: NDArray[np.int64]
    number: NDArray[np.int64]
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]
    cluster: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def from_scan(cls, scan: Scan, cluster: NDArray[Any]) -> Clusters:
        """Return the clusters; `cluster` has the cluster number of each row of the frame."""
        rows = scan.rows
        assert rows.row is not None
        groups = len(rows.unscored.length)
        group = np.repeat(np.arange(groups), np.diff(rows.starts))
        codes, row = rows.codes, rows.row
        if rows.unscored.length.any():
            unscored = codes >> 1 == rows.codec.reserved(ReservedCode.UNSCORED)
            used = np.flatnonzero((codes < rows.codec.first_reserved) | unscored)
            group, codes, row = group[used], codes[used], row[used]
        return cls.from_rows(group, cluster[row], (codes & 1).astype(bool), row, groups)

    @classmethod
    def from_rows(
        cls,
        group: NDArray[np.int64],
        cluster: NDArray[Any],
        negative: NDArray[np.bool_],
        row: NDArray[np.int64],
        groups: int,
    ) -> Clusters:
        """Return the clusters, from the group, cluster number, class and position of each row."""
        n_codes = int(cluster.max(initial=0)) + 1
        codes, number = np.unique(group * n_codes + cluster, return_inverse=True)
        return cls(
            groups=groups,
            group=codes // n_codes,
            number=codes % n_codes,
            rows=(row[~negative], row[negative]),
            cluster=(number[~negative], number[negative]),
        )

    @property
    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of clusters of each group: with positives, with negatives, and all."""
        counts = []
        for cluster in self.cluster:
            present = np.bincount(cluster, minlength=len(self.group)) > 0
            counts.append(np.bincount(self.group[present], minlength=self.groups))
        return counts[0], counts[1], np.bincount(self.group, minlength=self.groups)


def class_sizes(scan: Scan, clusters: Clusters | None) -> ClassSizes:
    """Return the numbers of positives and negatives of each group or, if given, of clusters."""
    if clusters is None:
        return scan.totals.pos_rows, scan.totals.neg_rows
    return clusters.sizes[:2]


def obuchowski_variance(
    clusters: Clusters,
    values: NDArray[Any],
    weight: NDArray[np.float64] | None = None,
    scales: tuple[Any, Any] = (1.0, 1.0),
) -> VarianceParts:
    """Return Obuchowski's variance of each group from the placement values of all rows.

    `scales` are divisors of the values of positives and of negatives, per group. The result is NaN
    if a class has fewer than two clusters.
    """
    group, groups = clusters.group, clusters.groups
    pos, neg = centered_cluster_sums(clusters, values, weight, scales)
    n_pos, n_neg, n = clusters.sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        of_pos = n_pos / (n_pos - 1) * _bin_sums(group, pos * pos, groups)
        of_neg = n_neg / (n_neg - 1) * _bin_sums(group, neg * neg, groups)
        total = of_pos + of_neg + 2 * n / (n - 1) * _bin_sums(group, pos * neg, groups)
    total[(n_pos < 2) | (n_neg < 2)] = np.nan
    total[total < ZERO_VARIANCE] = 0
    return VarianceParts(total, of_pos, of_neg)


def centered_cluster_sums(
    clusters: Clusters,
    values: NDArray[Any],
    weight: NDArray[np.float64] | None,
    scales: tuple[Any, Any],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of centered values of the positives and of the negatives of each cluster.

    A centered value is the value minus the mean of its class in the group, divided by the total
    weight of the class.
    """
    group, groups = clusters.group, clusters.groups
    class_sums = []
    for rows, cluster, scale in zip(clusters.rows, clusters.cluster, scales, strict=True):
        row_weight = np.ones(len(rows)) if weight is None else weight[rows]
        # The mean is subtracted from the sums, not from the values, because sums of integers are
        # exact and do not depend on the order of rows.
        cluster_sums = _bin_sums(cluster, row_weight * values[rows], len(group))
        weights = _bin_sums(cluster, row_weight, len(group))
        total = _bin_sums(group, cluster_sums, groups)
        total_weight = _bin_sums(group, weights, groups)
        with np.errstate(divide="ignore", invalid="ignore"):
            centered = cluster_sums - weights * (total / total_weight)[group]
            centered /= total_weight[group]
            class_sums.append(centered / np.broadcast_to(scale, groups)[group])
    return class_sums[0], class_sums[1]


class ClusterParts(NamedTuple):
    """Scaled sums of each cluster, whose products add up to Obuchowski's covariances of areas.

    The covariance of groups i and j is the sum of pos[i]·pos[j] + neg[i]·neg[j] +
    pos_of_both[i]·neg_of_both[j] + neg_of_both[i]·pos_of_both[j] over their clusters.
    """

    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    pos_of_both: NDArray[np.float64]
    neg_of_both: NDArray[np.float64]


def cluster_parts(
    clusters: Clusters, scan: Scan, weight: NDArray[np.float64] | None
) -> ClusterParts:
    """Return the parts of the areas of a scan; 0 in groups where the variance is undefined."""
    scales = 2 * scan.totals.neg, 2 * scan.totals.pos
    sums = centered_cluster_sums(clusters, doubled_placements(scan), weight, scales)
    n_pos, n_neg, n = clusters.sizes

    def scaled(values: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        defined = ((n_pos > 1) & (n_neg > 1))[clusters.group]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(defined, np.sqrt(sizes / (sizes - 1))[clusters.group] * values, 0)

    pos, neg = sums
    return ClusterParts(scaled(pos, n_pos), scaled(neg, n_neg), scaled(pos, n), scaled(neg, n))


def _bin_sums(bins: NDArray[np.int64], values: NDArray[Any], length: int) -> NDArray[np.float64]:
    """Return the sum of the values in each of `length` bins; `bins` is the bin of each value."""
    return np.bincount(bins, values, length).astype(np.float64, copy=False)


def hanley_mcneil_variance(scan: Scan, pairs: Pairs) -> NDArray[np.float64]:
    """Return Hanley and McNeil's variance of each AUC, with q1 and q2 from the data."""
    scored_neg = scan.totals.scored_neg

    def triples(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        neg, starts = block.of_steps(scored_neg), block.starts[:-1]
        return (
            _triples_times_six(block.neg, block.tp0, block.tp, starts),
            _triples_times_six(block.pos, neg - block.fp, neg - block.fp0, starts),
        )

    two_pos, two_neg = group_sums(scan, scan.map(triples), 2, object)
    pos, neg, six = pairs.pos, pairs.neg, np.array([6])
    q1 = exact_quotient(two_pos, exact_product(six, neg, pos, pos))
    q2 = exact_quotient(two_neg, exact_product(six, pos, neg, neg))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance: NDArray[np.float64] = _variance_from_triples(
            pairs.areas[0], pos.astype(float), neg.astype(float), q1, q2
        )
    return variance


def _triples_times_six(
    rows: NDArray[Any],
    correct: NDArray[Any],
    correct_or_tied: NDArray[Any],
    starts: NDArray[np.int64],
) -> NDArray[Any]:
    """Return six times the number of triples: a row, and two rows of the other class.

    Both are on the correct side of the score of the row. With A rows on the correct side and E tied
    rows, a row counts A² + A·E + E²/3 triples.
    """
    # A² + (A + E)² + (2·A + E)² is 6·(A² + A·E + E²/3).
    counts = (correct, correct_or_tied, correct + correct_or_tied)
    squares = [exact_sums(rows, count, starts, power=2) for count in counts]
    total: NDArray[Any] = np.sum([square.astype(object) for square in squares], axis=0)
    return total


def hanley_mcneil_exponential_variance(pairs: Pairs) -> NDArray[np.float64]:
    """Return Hanley and McNeil's variance of each AUC for scores with exponential distributions."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variance: NDArray[np.float64] = exponential_variance(
            pairs.areas[0], pairs.pos.astype(float), pairs.neg.astype(float)
        )
    return variance


def exponential_variance(area: Any, n_pos: Any, n_neg: Any) -> Any:
    """Return Hanley and McNeil's variance of an AUC, for scores with exponential distributions."""
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    return _variance_from_triples(area, n_pos, n_neg, q1, q2)


def _variance_from_triples(area: Any, n_pos: Any, n_neg: Any, q1: Any, q2: Any) -> Any:
    """Return Hanley and McNeil's variance of an AUC.

    `q1` is the probability that two random positives are above a random negative, and `q2` that a
    random positive is above two random negatives.
    """
    square = area**2
    numerator = area * (1 - area) + (n_pos - 1) * (q1 - square) + (n_neg - 1) * (q2 - square)
    return numerator / (n_pos * n_neg)


class Steps(NamedTuple):
    """The steps of the curves of some groups: each lowers the threshold to the next distinct score.

    `tp` and `fp` are the counts at or above the score, `tp0` and `fp0` those above it; unscored
    negatives are always included. Group i has the steps `starts[i]` to `starts[i + 1] - 1`.
    """

    tp0: NDArray[Any]
    fp0: NDArray[Any]
    tp: NDArray[Any]
    fp: NDArray[Any]
    pos: NDArray[Any]
    neg: NDArray[Any]
    starts: NDArray[np.int64]

    @classmethod
    def from_block(cls, scan: Scannable, block: Block) -> Steps:
        """Return the steps of a block."""
        totals, fp0, fp = scan.totals, block.fp0, block.fp
        if totals.unscored_neg.any():
            unscored = block.of_steps(totals.unscored_neg)
            fp0, fp = fp0 + unscored, fp + unscored
        pos, neg = totals.pos[block.groups], totals.neg[block.groups]
        return cls(block.tp0, fp0, block.tp, fp, pos, neg, block.starts)

    @classmethod
    def from_sample(cls, sample: ReplicateScan) -> Steps:
        """Return the steps of the replicates in a sample, with counts as floats."""
        return cls.from_block(sample, sample.block).as_floats()

    @classmethod
    def from_curves(cls, curves: Curves) -> Steps:
        """Return the steps of curve tables, one for each row; the first step starts at (0, 0)."""
        tp, fp = curves.columns["tp"], curves.columns["fp"]
        tp0, fp0 = (np.append(count[:1] * 0, count[:-1]) for count in (tp, fp))
        tp0[curves.firsts] = fp0[curves.firsts] = 0
        pos, neg = curves.pos, curves.neg
        return cls(tp0, fp0, tp, fp, pos, neg, curves.starts)

    def as_floats(self) -> Steps:
        """Return the steps with counts as floats."""
        tp0, fp0, tp, fp, pos, neg = (count.astype(np.float64) for count in self[:6])
        return Steps(tp0, fp0, tp, fp, pos, neg, self.starts)

    def scaled(self) -> Steps:
        """Return the steps with weighted counts scaled in each group; see `scale_by_totals`."""
        if all(count.dtype.kind != "f" for count in self[:6]):
            return self
        tp0, fp0, tp, fp, pos, neg, _ = self.as_floats()
        total = pos + neg
        tp0, fp0, tp, fp = scale_by_totals(self.of_steps(total), tp0, fp0, tp, fp)
        pos, neg = scale_by_totals(total, pos, neg)
        return Steps(tp0, fp0, tp, fp, pos, neg, self.starts)

    def of_steps(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return, for each step, the value of its group; `values` has one value per group."""
        return np.repeat(values, np.diff(self.starts))

    def rates(self, *names: str) -> list[NDArray[np.float64]]:
        """Return counts, such as `"tp0"`, divided by the size of the class; NaN if it is absent."""
        totals = {"t": self.of_steps(self.pos), "f": self.of_steps(self.neg)}
        with np.errstate(divide="ignore", invalid="ignore"):
            return [getattr(self, name) / totals[name[0]] for name in names]

    def equal_errors(self) -> EqualErrors:
        """Return the steps that cross the line FPR = 1 - TPR, at most one for each group."""
        rates = self.rates("tp0", "fp0", "tp", "fp")
        tpr0, fpr0, tpr, fpr = rates
        step = np.flatnonzero((fpr0 + tpr0 < 1) & (fpr + tpr >= 1))
        tpr0, fpr0, tpr, fpr = (rate[step] for rate in rates)
        fraction = (1 - fpr0 - tpr0) / (fpr + tpr - fpr0 - tpr0)
        return EqualErrors(step, tpr0, fpr0, tpr, fpr, fraction, fpr0 + fraction * (fpr - fpr0))


class EqualErrors(NamedTuple):
    """Steps that cross the line FPR = 1 - TPR, the `fraction` before it, and the FPR on it."""

    step: NDArray[np.int64]
    tpr0: NDArray[np.float64]
    fpr0: NDArray[np.float64]
    tpr: NDArray[np.float64]
    fpr: NDArray[np.float64]
    fraction: NDArray[np.float64]
    rate: NDArray[np.float64]
