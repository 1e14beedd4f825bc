"""The function `volume`: volume under the ROC surface of three classes (Mossman 1999)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from rocframe.areas.pairs import ZERO_VARIANCE
from rocframe.classes.class_table import compute_class_table
from rocframe.classes.inputs import read_scores
from rocframe.errors import LabelError, OptionValueError, ScoreError
from rocframe.inference import Confidence, first_notes, logit, normal_quantile, wald
from rocframe.inputs.roles import Roles
from rocframe.kernel import arrays as exact
from rocframe.kernel.groups import run_starts
from rocframe.options import NOT_GIVEN, public
from rocframe.schemas.statistics import VOLUME
from rocframe.text import format_list, join_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rocframe.classes.class_table import MulticlassGroups, MulticlassRows
    from rocframe.classes.inputs import Classes, ClassScores, ScoreColumns
    from rocframe.frames import FrameT
    from rocframe.inference import Note
    from rocframe.inputs.roles import By, Column, Count, Missing


VolumeMethod = Literal["logit", "wald"]
LIMITS = {"logit": logit, "wald": wald}  # the limits of each method


@public
def volume(
    predictions: FrameT,
    /,
    label: Column,
    scores: ClassScores,
    *,
    by: By = None,
    classes: Classes = None,
    ci: VolumeMethod | None = "logit",
    level: float = 0.95,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Measure the volume under the ROC surface of three classes in each group.

    The volume is the probability that three rows, one drawn at random from each class, are assigned
    to their classes without error: 1/6 for random assignment, at most 1.

    With one score for all classes, `rule` is `"order"`: a triple is correct if its scores are in
    the order of `classes`. It counts 1/2 if two of its scores are tied and the third is in the
    correct order with both, and 1/6 if all three are tied.

    With a score for each class, `rule` is `"sum"`: of the six assignments of the rows to the
    classes, the one with the largest sum of the scores of the assigned classes is chosen. A triple
    counts 1/k if the correct assignment is one of k with the largest sum. For logarithms of
    probabilities, this is the most likely assignment, for any class frequencies.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean, numbers, String, Categorical or Enum.
    scores : mapping, sequence of str, selector or str
        One score that increases from the first to the third class; or a score of each class: a
        mapping from classes to columns, columns named like their classes, or one column of lists.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    classes : sequence, default None
        The three classes, from low to high scores, or in the order of the lists.
    ci : str or None, default "logit"
        `"logit"`: normal limits on the logit scale. `"wald"`: normal limits, clipped to [0, 1].
        None: no interval.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or a triple with a missing score counts 0.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, volume, lower, upper, se, rule, n_first, n_second, n_third, n_missing, ci_level,
        ci_method, note`; one row per group, sorted by group.

        - `volume` (Float64, in [0, 1]) is null if a class has no rows.
        - `lower`, `upper` and `se` (Float64) are null if a class has a single row, or if the
          estimated variance is 0, such as for a volume of 1.
        - `rule` (String) is `order` or `sum`.
        - `n_first, n_second, n_third` (Int64) count the rows of the classes in the order of
          `classes` or `scores`, and `n_missing` (Int64) the rows with a missing value. With
          `missing="worst"`, rows without a score count in both.
        - `note` (String) is null, or the first of these values that applies: `no_rows,
          absent_class, single_row, zero_variance`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if there are not three classes. If each
        class has a score, also for infinite scores and for groups with too many distinct rows.

    See Also
    --------
    multiclass_auc : Averages of AUCs over any number of classes.

    Notes
    -----
    Triples are counted exactly, in integers. With one score for all classes, the rows are sorted
    once, which is fast for millions of rows. With a score for each class, all pairs of distinct
    rows are compared, which is feasible for some thousand rows per class.

    The variance is s₁²/n₁ + s₂²/n₂ + s₃²/n₃ (DeLong's variance for three samples). sᵢ² is the
    sample variance, over the nᵢ rows of class i, of the share of correct triples with a row.

    References
    ----------
    D. Mossman (1999), "Three-way ROCs", Medical Decision Making 19(1), 78-89.
    doi:10.1177/0272989X9901900110

    S. Dreiseitl, L. Ohno-Machado, M. Binder (2000), "Comparing three-class diagnostic tests by
    three-way ROC analysis", Medical Decision Making 20(3), 323-331. doi:10.1177/0272989X0002000309

    C. T. Nakas, C. T. Yiannoutsos (2004), "Ordered multiple-class ROC analysis with continuous
    measurements", Statistics in Medicine 23(22), 3437-3449. doi:10.1002/sim.1917

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> stages = pl.DataFrame(
    ...     {"stage": ["low", "low", "mid", "mid", "high"], "score": [1.0, 2.0, 2.0, 3.0, 4.0]}
    ... )
    >>> volumes = rf.volume(stages, "stage", "score", classes=["low", "mid", "high"])
    >>> volumes.select("volume", "rule", "n_first", "n_second", "n_third", "note")
    shape: (1, 6)
    ┌────────┬───────┬─────────┬──────────┬─────────┬────────────┐
    │ volume ┆ rule  ┆ n_first ┆ n_second ┆ n_third ┆ note       │
    │ ---    ┆ ---   ┆ ---     ┆ ---      ┆ ---     ┆ ---        │
    │ f64    ┆ str   ┆ i64     ┆ i64      ┆ i64     ┆ str        │
    ╞════════╪═══════╪═════════╪══════════╪═════════╪════════════╡
    │ 0.875  ┆ order ┆ 2       ┆ 2        ┆ 1       ┆ single_row │
    └────────┴───────┴─────────┴──────────┴─────────┴────────────┘
    """
    confidence = Confidence.parse(ci, level, methods=get_args(VolumeMethod))
    roles = Roles(label=label, score=scores, by=by, count=count, missing=missing)
    return compute_class_table(
        predictions,
        roles,
        classes,
        lambda grouped: _volume_columns(grouped, confidence),
        columns=lambda _: VOLUME.columns(),
        anchor="rule",
        unknown_label=_unknown_label_error,
        read_columns=_read_three_scores,
    )


def _read_three_scores(*arguments: Any) -> ScoreColumns:
    columns = read_scores(*arguments, ordered=True)
    values = columns.classes or []
    if len(values) != 3:
        problem = f"expected 3 classes, got {len(values)}"
        hint = "Use multiclass_auc for any number of classes, or auc for two."
        raise OptionValueError.compose(columns.argument, values, problem, hint)
    return columns


def _unknown_label_error(
    column: str, labels: Iterable[object], classes: Iterable[object], argument: str
) -> LabelError:
    """Return the error for labels that are not one of the three classes."""
    return LabelError(
        f"label={column!r}: these labels are not among the three classes: {format_list(labels)}.\n"
        f"Classes in {argument}=: {format_list(classes)}.\n"
        "Remove these rows with .filter(), or merge classes with .replace()."
    )


def _volume_columns(grouped: MulticlassGroups, confidence: Confidence) -> dict[str, Any]:
    """Return the columns of the result, which has one row per group."""
    rows, group, n_groups = grouped.rows, grouped.group, grouped.keys.height
    sizes = np.zeros((n_groups, 3), np.int64)
    np.add.at(sizes, (group, rows.code), rows.count)
    masks = [scored for scored in rows.scored if scored is not None]
    if masks:
        scored = np.logical_and.reduce(masks)
        rows, group = rows.take(scored), group[scored]
    is_order = len(rows.scores) == 1
    triples = (
        _ordered_triples(rows, group, n_groups)
        if is_order
        else _sum_triples(rows, group, n_groups, grouped.names)
    )
    n = [sizes[:, k] for k in range(3)]
    volume = exact.exact_quotient(triples.total, triples.unit * exact.exact_product(*n))
    variance = _volume_variance(triples, volume, n)
    reasons: dict[Note, NDArray[np.bool_]] = {
        "no_rows": sizes.max(axis=1) == 0,
        "absent_class": sizes.min(axis=1) == 0,
        "single_row": sizes.min(axis=1) == 1,
    }
    columns: dict[str, Any] = {}
    if confidence.ci is not None:
        reasons["zero_variance"] = variance == 0
        se = np.sqrt(np.where(variance > 0, variance, np.nan))
        lower, upper = LIMITS[confidence.ci](volume, se, normal_quantile(confidence.level), 1.0)
        columns = {
            "se": se,
            "lower": lower,
            "upper": upper,
            "ci_level": confidence.level,
            "ci_method": [None if missing else confidence.ci for missing in np.isnan(lower)],
        }
    return {
        **columns,
        "volume": volume,
        "rule": "order" if is_order else "sum",
        **dict(zip(("n_first", "n_second", "n_third"), n, strict=True)),
        "n_missing": grouped.n_missing,
        "note": first_notes(reasons).tolist(),
    }


def _volume_variance(
    triples: Triples, volume: NDArray[np.float64], sizes: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Return the variance of each volume; NaN if a class has fewer than two rows."""
    variance = np.zeros(len(volume))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k, n in enumerate(sizes):
            group, n_rows = triples.group[k], triples.n_rows[k].astype(np.float64)
            first, second = (sizes[i].astype(np.float64) for i in range(3) if i != k)
            scale = (triples.unit * first * second)[group]
            deviation = triples.value[k].astype(np.float64) / scale - volume[group]
            squares = np.bincount(group, n_rows * deviation**2, len(volume))
            # A triple with an unscored row is not correct, so the share of correct triples with
            # this row is 0.
            n_unscored = n - np.bincount(group, n_rows, len(volume))
            variance += (squares + n_unscored * volume**2) / (n - 1) / n
    variance[np.min(sizes, axis=0) < 2] = np.nan
    variance[variance < ZERO_VARIANCE] = 0
    return variance


class Triples(NamedTuple):
    """Numbers of correct triples that contain each distinct row of each class.

    Distinct row i of class k represents `n_rows[k][i]` rows of group `group[k][i]`. Each of these
    rows is in `value[k][i] / unit` correct triples. Group g has `total[g] / unit` correct triples.
    `value` and `total` are integers, because `unit` is a multiple of the divisors of tied triples.
    """

    group: Sequence[NDArray[np.int64]]
    n_rows: Sequence[NDArray[Any]]
    value: Sequence[NDArray[Any]]
    total: NDArray[Any]
    unit: int


MAX_EXACT_TRIPLES = 2**62  # if counts can be larger, they are Python integers instead of Int64
ORDER_UNIT = 6  # multiple of 2 and 6, because tied triples count 1/2 or 1/6


def _ordered_triples(rows: MulticlassRows, group: NDArray[np.int64], n_groups: int) -> Triples:
    """Return the numbers of triples with scores in the order of their classes."""
    (score,) = rows.scores
    total = np.zeros(n_groups, object)
    if not len(score):
        none = [np.zeros(0, np.int64)] * 3
        return Triples(group=none, n_rows=none, value=none, total=total, unit=ORDER_UNIT)
    order = np.lexsort((score, group))
    group, code, score = group[order], rows.code[order], score[order]
    count = rows.count[order]
    # A step is a set of tied rows of a group.
    steps = run_starts(group, score)
    group = group[steps]
    n_rows = [np.add.reduceat(np.where(code == k, count, 0), steps) for k in range(3)]
    _, second, largest = sorted(int(values.sum()) for values in n_rows)
    if ORDER_UNIT * second * largest > MAX_EXACT_TRIPLES:
        n_rows = [values.astype(object) for values in n_rows]
    starts = run_starts(group)
    lengths = np.diff(np.append(starts, len(group)))

    def sum_before(values: NDArray[Any]) -> NDArray[Any]:
        sums = np.cumsum(values) - values
        result: NDArray[Any] = sums - np.repeat(sums[starts], lengths)
        return result

    def sum_after(values: NDArray[Any]) -> NDArray[Any]:
        sums = np.cumsum(values)
        result: NDArray[Any] = np.repeat(sums[starts + lengths - 1], lengths) - sums
        return result

    low, middle, high = n_rows
    below, above = sum_before(low), sum_after(high)
    # Six times the numbers of pairs of a middle row and a low row with a lower score, and of a
    # middle row and a high row with a higher score. A tie counts one half.
    low_pairs, high_pairs = middle * (6 * below + 3 * low), middle * (6 * above + 3 * high)
    value = [
        sum_after(high_pairs) + middle * (3 * above + high),
        6 * below * above + 3 * (low * above + below * high) + low * high,
        sum_before(low_pairs) + middle * (3 * below + low),
    ]
    total[group[starts]] = exact.exact_sums(middle, value[1], starts)
    return Triples(group=[group] * 3, n_rows=n_rows, value=value, total=total, unit=ORDER_UNIT)


SUM_UNIT = 60  # multiple of 1 to 6, because a triple with k tied assignments counts 1/k
SUM_TOLERANCE = (
    1e-12  # differences of sums below this fraction of the largest score are rounding errors
)
MAX_SUM_PAIRS = 1 << 24  # largest number of pairs of distinct rows in a group
PAIR_BLOCK = 1 << 18  # maximum number of pairs of distinct rows that are compared at once


class DistinctRows(NamedTuple):
    """The distinct rows of one class.

    `score` has a column with the score of each class, and `n_rows` is the number of identical rows.
    """

    score: NDArray[np.float64]
    n_rows: NDArray[np.int64]

    @classmethod
    def merge(cls, score: NDArray[np.float64], count: NDArray[np.int64]) -> DistinctRows:
        """Return the distinct rows; rows with the same scores are merged."""
        if not len(score):
            return cls(score, count)
        distinct, inverse = np.unique(score, axis=0, return_inverse=True)
        n_rows = np.zeros(len(distinct), np.int64)
        np.add.at(n_rows, inverse.ravel(), count)
        return cls(distinct, n_rows)


def _sum_triples(
    rows: MulticlassRows, group: NDArray[np.int64], n_groups: int, names: Sequence[str]
) -> Triples:
    """Return the numbers of triples whose correct assignment has the largest sum of scores."""
    clip = "clip(-1000, 1000)"
    if len({*names}) == 1:  # the scores are in lists
        clip = f"list.eval(pl.element().{clip}), or with arr.eval for an Array"
    for values, name in zip(rows.scores, names, strict=True):
        if not np.isfinite(values).all():
            raise ScoreError(
                f"scores={name!r}: a score is infinite, and sums of scores must be finite.\n"
                f"Bound the scores first, for example with pl.col({name!r}).{clip}."
            )
    score = np.stack([values.astype(np.float64) for values in rows.scores], axis=1)
    cell = 3 * group + rows.code
    order = np.argsort(cell, kind="stable")
    cells = np.split(order, np.searchsorted(cell[order], np.arange(1, 3 * n_groups)))
    groups, row_counts, class_values = (
        [[np.zeros(0, np.int64)] for _ in range(3)] for _ in range(3)
    )
    total = np.zeros(n_groups, object)
    for i in range(n_groups):
        classes = [
            DistinctRows.merge(score[cell], rows.count[cell]) for cell in cells[3 * i : 3 * i + 3]
        ]
        small, middle, large = sorted(len(class_rows.n_rows) for class_rows in classes)
        pairs = large * (middle + small)
        if pairs > MAX_SUM_PAIRS:
            raise OptionValueError.compose(
                "scores",
                list(names),
                "a group has "
                f"{join_names([str(len(rows.n_rows)) for rows in classes], 'and')} distinct rows "
                f"in the three classes. To count the triples, {pairs} pairs of rows must be "
                f"compared, and the limit is {MAX_SUM_PAIRS}",
                "Draw fewer rows of each class first, or round the scores to get fewer distinct "
                "rows.",
            )
        counted = _group_sum_triples(classes)
        total[i] = sum(
            a * b for a, b in zip(counted[0].tolist(), classes[0].n_rows.tolist(), strict=True)
        )
        for k, class_rows in enumerate(classes):
            groups[k].append(np.full(len(class_rows.n_rows), i))
            row_counts[k].append(class_rows.n_rows)
            class_values[k].append(counted[k])
    return Triples(
        group=[np.concatenate(parts) for parts in groups],
        n_rows=[np.concatenate(parts) for parts in row_counts],
        value=[np.concatenate(parts) for parts in class_values],
        total=total,
        unit=SUM_UNIT,
    )


def _group_sum_triples(classes: Sequence[DistinctRows]) -> list[NDArray[Any]]:
    """Return, for each class of one group, the `value` of each distinct row (see `Triples`)."""
    if not all(len(class_rows.n_rows) for class_rows in classes):
        return [np.zeros(len(class_rows.n_rows), np.int64) for class_rows in classes]
    tolerance = max(float(abs(class_rows.score).max()) for class_rows in classes) * SUM_TOLERANCE
    small, middle, large = sorted(range(3), key=lambda k: len(classes[k].n_rows))
    counts: list[NDArray[Any]] = [np.zeros(0, np.int64)] * 3
    counts[large], counts[middle] = _triples_of_two(classes, (large, middle, small), tolerance)
    _, counts[small] = _triples_of_two(classes, (large, small, middle), tolerance)
    return counts


def _triples_of_two(
    classes: Sequence[DistinctRows], order: tuple[int, int, int], tolerance: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the `value` of each distinct row of the first two classes of `order`."""
    (x, x_rows), (y, y_rows), (z, z_rows) = (
        (classes[k].score[:, order], classes[k].n_rows) for k in order
    )
    largest = int(z_rows.sum()) * int(max(x_rows.sum(), y_rows.sum()))
    if SUM_UNIT * largest > MAX_EXACT_TRIPLES:
        x_rows, y_rows = x_rows.astype(object), y_rows.astype(object)
    table = RankTable.build(z, z_rows)
    x_counts, y_counts = np.zeros(len(x), x_rows.dtype), np.zeros(len(y), y_rows.dtype)
    size = max(1, PAIR_BLOCK // len(y))
    for first in range(0, len(x), size):
        part = slice(first, first + size)
        counts = _triples_of_pairs(x[part], y, table, tolerance)
        x_counts[part] = counts @ y_rows
        y_counts += x_rows[part] @ counts
    return x_counts, y_counts


class RankTable(NamedTuple):
    """Numbers of rows z of the third class by their ranks in two orders.

    z₁, z₂ and z₃ are the scores of a row for the three classes. `table[i, j]` is the number of rows
    with a rank below i by z₃ - z₁ and below j by z₃ - z₂. `first` and `second` are these
    differences, sorted.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    table: NDArray[np.int64]

    @classmethod
    def build(cls, z: NDArray[np.float64], n_rows: NDArray[np.int64]) -> RankTable:
        """Return the table; each distinct row z represents `n_rows` rows."""
        differences = z[:, 2] - z[:, 0], z[:, 2] - z[:, 1]
        table = np.zeros((len(z) + 1, len(z) + 1), np.int64)
        i, j = (np.argsort(np.argsort(values, kind="stable")) for values in differences)
        table[i + 1, j + 1] = n_rows
        table = table.cumsum(axis=0).cumsum(axis=1)
        return cls(np.sort(differences[0]), np.sort(differences[1]), table)

    def below(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of rows with a first rank below `i` and a second rank below `j`."""
        return self.table.ravel().take(i * len(self.table) + j)


def _triples_of_pairs(
    x: NDArray[np.float64], y: NDArray[np.float64], table: RankTable, tolerance: float
) -> NDArray[np.int64]:
    """Return the number of correct triples with each pair of rows x and y, times `SUM_UNIT`.

    The third row z of a triple is a row of `table`. The sum of the correct assignment, x₁ + y₂ +
    z₃, must be at least that of the five other assignments. Two of these conditions are lower
    bounds of z₃ - z₁, two are lower bounds of z₃ - z₂, and one does not depend on z.
    """
    x12, x13 = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    y21, y23 = y[:, 0] - y[:, 1], y[:, 2] - y[:, 1]
    lead = -(x12[:, None] + y21)
    first_cuts = _cuts(
        table.first,
        BoundRanks.search(table.first, x13[:, None], tolerance),
        BoundRanks.search_sums(table.first, x12, y23, tolerance),
    )
    second_cuts = _cuts(
        table.second,
        BoundRanks.search(table.second, y23[None, :], tolerance),
        BoundRanks.search_sums(table.second, x13, y21, tolerance),
    )
    tied = (abs(lead) <= tolerance).astype(np.int64)
    counts = np.zeros(lead.shape, np.int64)
    # Between two successive cuts, the number of tied bounds is constant: 2, 1 or 0. Usually there
    # are no ranks between two cuts.
    for i, j in product(_nonempty(first_cuts), _nonempty(second_cuts)):
        cells = table.below(first_cuts[i + 1], second_cuts[j + 1])
        cells -= table.below(first_cuts[i], second_cuts[j + 1])
        cells -= table.below(first_cuts[i + 1], second_cuts[j])
        cells += table.below(first_cuts[i], second_cuts[j])
        cells *= SUM_UNIT // (5 - i - j + tied)
        counts += cells
    counts[lead < -tolerance] = 0
    return counts


def _nonempty(cuts: Sequence[NDArray[np.int64]]) -> list[int]:
    """Return the positions in `cuts` of the ranks that differ from the next rank for some pair."""
    return [i for i in range(len(cuts) - 1) if (cuts[i + 1] > cuts[i]).any()]


def _cuts(rising: NDArray[np.float64], a: BoundRanks, b: BoundRanks) -> list[NDArray[np.int64]]:
    """Return four ranks among the values `rising` for each pair of lower bounds `a` and `b`.

    Values from the first rank to below the second are tied with both bounds. Values to below the
    third rank are tied with one bound, and the other values with none. The fourth rank is the
    number of values.
    """
    first = np.maximum(a.below, b.below)
    both = np.maximum(first, np.minimum(a.at_most, b.at_most))
    either = np.maximum(a.at_most, b.at_most)
    return [first, both, either, np.full(first.shape, len(rising))]


class BoundRanks(NamedTuple):
    """For each bound, the number of values below the bound, and the number of values at most it.

    Values within the tolerance of a bound count as equal to the bound.
    """

    below: NDArray[np.int64]
    at_most: NDArray[np.int64]

    @classmethod
    def search(
        cls, rising: NDArray[np.float64], bounds: NDArray[np.float64], tolerance: float
    ) -> BoundRanks:
        """Return the rank of each of `bounds` among the values `rising`, which increase."""
        below = np.searchsorted(rising, bounds - tolerance, "left")
        return cls(below, np.searchsorted(rising, bounds + tolerance, "right"))

    @classmethod
    def search_sums(
        cls,
        rising: NDArray[np.float64],
        a: NDArray[np.float64],
        b: NDArray[np.float64],
        tolerance: float,
    ) -> BoundRanks:
        """Return the ranks of the sums of all pairs of values in `a` and `b` among `rising`."""
        # searchsorted is several times as fast if its second argument is sorted.
        order = np.argsort(b)
        back = np.argsort(order)
        ranks = cls.search(rising, a[:, None] + b[order], tolerance)
        return cls(*(rank[:, back] for rank in ranks))
