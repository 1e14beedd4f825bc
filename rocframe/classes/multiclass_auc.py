"""The function `multiclass_auc`: averages of AUCs over all classes of each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from rocframe.classes.class_table import compute_class_table
from rocframe.errors import OptionValueError
from rocframe.inference import Confidence, first_notes, note_with_keys
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import sums_at
from rocframe.kernel.groups import group_starts, run_starts
from rocframe.kernel.scan import BLOCK_ROWS, RowSampler, draw_valid, stream_keys
from rocframe.options import NOT_GIVEN, check_choice, check_distinct, public
from rocframe.resampling import IntervalColumns, acceleration, batched_replicates
from rocframe.schemas.statistics import MULTICLASS_AUC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.classes.class_table import MulticlassGroups, MulticlassRows
    from rocframe.classes.inputs import Classes, ClassLabels, ClassScores
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing

BootstrapMethod = Literal["bootstrap", "bootstrap_basic", "bootstrap_bca"]


@public
def multiclass_auc(
    predictions: FrameT,
    /,
    label: ClassLabels,
    scores: ClassScores,
    *,
    by: By = None,
    classes: Classes = None,
    average: Average | Sequence[Average] | None = None,
    ci: BootstrapMethod | None = None,
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Measure the area under the ROC curve over all classes of each group.

    All averages except `"micro"` compare two rows by their scores for class i: one row of class i
    and one row of another class. The pair counts 1 if the row of class i has the higher score, and
    1/2 if the scores tie. `"micro"` compares the score of a row for its true class with any score,
    of the same or another row, for a class that is not its true class. If rows can belong to
    several classes (multilabel), each class is compared with the rows that do not belong to it.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str, Expr or mapping
        The true class: Boolean, numbers, String, Categorical or Enum. If a row can belong to
        several classes, pass a mapping from each class to a column that is Boolean or 0/1, or a
        column of lists of classes; a null in a list is a missing label.
    scores : mapping, sequence of str, selector or str
        Score of each class, higher for this class: a mapping from classes to columns, columns named
        like their classes, or one column of lists.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    classes : sequence, default None
        Classes in the order of the lists.
    average : str or sequence of str, default None
        `"hand_till"`: Hand and Till's M, the mean AUC over ordered pairs of classes, undefined with
        several classes per row. `"macro"`: the mean AUC of each class against all others.
        `"weighted"`: that mean, weighted by class frequency. `"micro"`: of all scores of all
        classes. None: all.
    ci : str or None, default None
        `"bootstrap"`: quantiles of the resamples. `"bootstrap_basic"`: 2·`auc` - quantile.
        `"bootstrap_bca"`: quantiles corrected for bias and skewness. None: no interval.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
    cluster : str or Expr, default None
        Clusters of dependent rows, such as users.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or a pair with a missing score counts 0.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, auc, lower, upper, se, n, n_missing, ci_level, ci_method, n_classes, n_classes_used,
        average, note`; one row per group and average, sorted by group, with averages in the order
        of `average`.

        - `auc` (Float64, in [0, 1]) is null if no class has both rows in the class and rows outside
          it. `lower`, `upper` and `se` (Float64) are null without an interval, and the limits of
          `"bootstrap_bca"` also if every resample is above, or every one below, `auc`.
        - `n_classes` (Int64) counts the classes in `scores`, and `n_classes_used` (Int64) those
          over which averages are: with rows in the group and, for several classes per row, rows
          outside. `"micro"` uses all classes.
        - `n` and `n_missing` (Int64) count the rows used and those with a missing value, which
          `missing="drop"` leaves out for all classes.
        - `note` (String) is null, or the first of these values that applies: `no_rows, one_class,
          zero_variance, no_limits, redrawn, left_out`. With `left_out:1 (c)`, the class c has no
          rows, and the average is over the other classes.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the class of a label has no score.

    See Also
    --------
    one_vs_one : Return a table of pairs of classes, for example for `auc`.
    one_vs_rest : Return a table of each class against all others, for example for `auc`.

    Notes
    -----
    A resample has as many rows, or clusters, as the group, and its averages are over the classes
    that occur in it. `"bootstrap_bca"` estimates the skewness from the derivatives of an average
    with respect to the weights of rows.

    References
    ----------
    - D. J. Hand, R. J. Till (2001), Machine Learning 45, 171-186. doi:10.1023/A:1010920819831
    - F. Provost, P. Domingos (2003), Machine Learning 52, 199-215. doi:10.1023/A:1024099825458
    - B. Efron (1987), Journal of the American Statistical Association 82(397), 171-185.
      doi:10.1080/01621459.1987.10478410

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"truth": ["a", "b", "c"], "a": [7, 2, 2], "b": [2, 3, 5], "c": [1, 5, 3]}
    ... )
    >>> areas = rf.multiclass_auc(predictions, "truth", ["a", "b", "c"], average=["macro", "micro"])
    >>> areas.select("average", pl.col("auc").round(4), "n_classes_used", "n").rows()
    [('macro', 0.6667, 3, 3), ('micro', 0.7778, 3, 3)]
    """
    confidence = Confidence.parse(ci, level, n_boot, seed, get_args(BootstrapMethod))
    _parse_averages(average, is_multilabel=isinstance(label, Mapping))

    def compute(grouped: MulticlassGroups) -> dict[str, Any]:
        averages = _parse_averages(average, is_multilabel=grouped.rows.labels is not None)
        return _multiclass_auc_columns(grouped, averages, confidence)

    roles = Roles(
        label=label,  # type: ignore[arg-type]
        score=scores,
        by=by,
        weight=weight,
        count=count,
        missing=missing,
        cluster=cluster,
    )
    return compute_class_table(
        predictions,
        roles,
        classes,
        compute,
        columns=lambda _: MULTICLASS_AUC.columns(),
        anchor="average",
        check_labels=partial(_parse_averages, average),
        multilabel=True,
    )


def _parse_averages(average: Any, *, is_multilabel: bool) -> tuple[Average, ...]:
    """Return the averages; by default, all that are defined."""
    if average is None:
        return tuple(get_args(Average)[is_multilabel:])
    is_single = isinstance(average, str) or not hasattr(average, "__iter__")
    names = (average,) if is_single else tuple(average)
    for name in names:
        check_choice("average", name, get_args(Average))
    check_distinct("average", names)
    if not names:
        hint = 'Use, for example, average="hand_till".'
        raise OptionValueError.compose("average", average, "expected at least one average", hint)
    if is_multilabel and "hand_till" in names:
        problem = "pairs of classes are undefined if rows can belong to several classes"
        hint = 'Use "macro", "weighted" or "micro".'
        raise OptionValueError.compose("average", "hand_till", problem, hint)
    return names


# If groups have fewer rows on average, computing all groups at once is faster.
MIN_ROWS_PER_GROUP = 300


def _multiclass_auc_columns(
    grouped: MulticlassGroups, averages: Sequence[Average], confidence: Confidence
) -> dict[str, Any]:
    """Return the columns of the result, which has one row per group and average."""
    n_groups, n_classes = grouped.keys.height, len(grouped.names)
    order = np.argsort(grouped.group * n_classes + grouped.rows.code, kind="stable")
    rows, group = grouped.rows.take(order), grouped.group[order]
    starts = group_starts(group, n_groups)
    sizes = _sizes_of_groups(rows, group, n_groups)
    has_rows = sizes.size > 0 if rows.labels is None else sizes.used
    is_defined = sizes.used.any(axis=1)
    by_average = _group_averages(rows, group, starts, averages)
    auc = np.stack([by_average[name] for name in averages], axis=1)
    intervals = IntervalColumns(n_groups, len(averages))
    if confidence.ci is not None:
        keys = stream_keys(grouped.keys)
        for i in np.flatnonzero(is_defined).tolist():
            group_rows = _merge_identical(rows.take(slice(starts[i], starts[i + 1])))
            areas = dict(zip(averages, auc[i].tolist(), strict=True))
            _add_intervals(intervals, group_rows, areas, confidence, group=i, key=keys[i])
    has_limits = np.full((n_groups, 1), confidence.ci is not None)
    note = first_notes(
        {
            "no_rows": np.repeat(np.diff(starts) == 0, len(averages)),
            "one_class": np.repeat(~is_defined, len(averages)),
            "zero_variance": intervals.constant.ravel(),
            "no_limits": (np.isnan(intervals.lower) & has_limits).ravel(),
            "redrawn": intervals.n_redrawn.ravel(),
        }
    )
    per_group = {
        "n": grouped.n,
        "n_missing": grouped.n_missing,
        "n_classes": np.full(n_groups, n_classes),
        "n_classes_used": has_rows.sum(axis=1),
    }
    columns: dict[str, Any] = {
        "average": [*averages] * n_groups,
        "auc": auc.ravel(),
        "ci_level": None if confidence.ci is None else confidence.level,
        "ci_method": intervals.method.ravel().tolist(),
        "note": note.tolist(),
        **{name: np.repeat(values, len(averages)) for name, values in per_group.items()},
        **{name: getattr(intervals, name).ravel() for name in ("se", "lower", "upper")},
    }
    _note_absent_classes(columns, has_rows, [str(name) for name in grouped.classes.to_list()])
    return columns


def _note_absent_classes(
    columns: dict[str, Any], has_rows: NDArray[np.bool_], names: list[str]
) -> None:
    """Add the classes without rows, which averages except micro leave out, to notes that are null.

    `has_rows` states for each group and class whether the group has rows of the class.
    """
    averages = columns["average"]
    size = len(averages) // max(len(has_rows), 1)
    n_used = has_rows.sum(axis=1)
    groups = np.flatnonzero((n_used > 0) & (n_used < len(names)))
    patterns, pattern = np.unique(has_rows[groups], axis=0, return_inverse=True)
    notes = [
        note_with_keys("left_out", [names[code] for code in np.flatnonzero(~used)])
        for used in patterns
    ]
    for i, k in zip(groups.tolist(), pattern.ravel().tolist(), strict=True):
        for row in range(i * size, (i + 1) * size):
            if columns["note"][row] is None and averages[row] != "micro":
                columns["note"][row] = notes[k]


def _group_averages(
    rows: MulticlassRows,
    group: NDArray[np.int64],
    starts: NDArray[np.int64],
    averages: Sequence[Average],
) -> dict[Average, NDArray[np.float64]]:
    """Return the average AUCs of each group; NaN if the group has fewer than 2 classes."""
    n_groups = len(starts) - 1
    exact = rows.weight is None and wins_fit_int64(int(rows.count.sum()), rows)
    if exact and len(rows.code) < MIN_ROWS_PER_GROUP * n_groups:
        return grouped_averages(rows, group, n_groups, averages)
    results = {name: np.full(n_groups, np.nan) for name in averages}
    for i in np.flatnonzero(np.diff(starts)):
        group_rows = rows.take(slice(starts[i], starts[i + 1]))
        if rows.weight is None and not wins_fit_int64(int(group_rows.count.sum()), rows):
            # Sums of floats depend on the order of the rows, so the rows are sorted.
            group_rows = _merge_identical(group_rows)
        classes = class_placements(group_rows, averages)
        for name, area in replicate_averages(
            group_rows, group_rows.row_weight[None, :], averages, classes
        ).items():
            results[name][i] = area[0]
    return results


def _merge_identical(rows: MulticlassRows) -> MulticlassRows:
    """Return the distinct rows with their total counts, sorted by class and scores."""
    keys: list[NDArray[Any]] = [rows.code]
    for score, scored in zip(rows.scores, rows.scored, strict=True):
        keys.append(np.unique(score, return_inverse=True)[1].astype(np.int32))
        if scored is not None:
            keys[-1][~scored] = -1
    optional = [values for values in (rows.weight, rows.cluster) if values is not None]
    optional += [] if rows.labels is None else [*rows.labels.T]
    keys += [np.unique(values, return_inverse=True)[1].astype(np.int32) for values in optional]
    _, first, inverse = np.unique(
        np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True
    )
    return replace(rows.take(first), count=sums_at(inverse.ravel(), rows.count, len(first)))


def _add_intervals(
    intervals: IntervalColumns,
    rows: MulticlassRows,
    areas: Mapping[Average, float],
    confidence: Confidence,
    *,
    group: int,
    key: tuple[int, ...],
) -> None:
    """Write the intervals of the average AUCs of one group."""
    values, n_redrawn = _resampled_averages(rows, [*areas], confidence, key)
    # The influence values of all averages are computed together, if an acceleration is required.
    influence_of = cache(lambda: influences(rows, [*areas]))
    for j, (name, area) in enumerate(areas.items()):
        intervals.add(
            (group, j),
            values[:, j],
            area,
            confidence.ci,
            confidence.level,
            acceleration=lambda name=name: row_acceleration(rows, influence_of()[name]),  # type: ignore[misc]
            n_redrawn=n_redrawn,
        )


def _resampled_averages(
    rows: MulticlassRows, averages: Sequence[Average], confidence: Confidence, key: tuple[int, ...]
) -> tuple[NDArray[np.float64], int]:
    """Return the average AUCs of each resample, and how many resamples were drawn again."""
    sampler, units = RowSampler.from_counts(rows.count), np.arange(len(rows.code))
    if rows.cluster is not None:
        clusters, units = np.unique(rows.cluster, return_inverse=True)
        sampler = RowSampler.from_counts(np.ones(len(clusters), np.int64))
    classes = list(class_placements(rows, averages))
    masks = [rows.of_class(i) for i in range(len(rows.scores))]
    within, outside = ([units[part] for part in parts] for parts in (masks, [~m for m in masks]))

    def is_defined(times: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether some class has an area in each resample."""
        has_rows = np.stack([times[:, own].any(axis=1) for own in within])
        if rows.labels is None:
            return np.asarray(has_rows.sum(axis=0) > 1)
        has_rows &= np.stack([times[:, rest].any(axis=1) for rest in outside])
        return np.asarray(has_rows.any(axis=0))

    def draw(stream: np.random.Generator, size: int) -> tuple[NDArray[np.float64], int]:
        times, n_redrawn = draw_valid(
            lambda size: sampler.draw(stream, np.full(size, sampler.total)), is_defined, size
        )
        counts = times if rows.cluster is None else times[:, units] * rows.count
        row_weight = counts if rows.weight is None else counts * rows.weight
        areas = replicate_averages(rows, row_weight, averages, classes)
        return np.stack([areas[name] for name in averages], axis=1), n_redrawn

    return batched_replicates(
        draw,
        n_boot=confidence.n_boot,
        batch_size=max(1, BLOCK_ROWS // max(sampler.size, len(rows.code))),
        seed=confidence.seed,
        key=key,
        arrays_only=True,
    )


Average = Literal["hand_till", "macro", "weighted", "micro"]


def wins_fit_int64(total: int, rows: MulticlassRows) -> bool:
    """Return whether Int64 holds twice the number of won pairs of rows with this total count.

    For `"micro"`, a pair is a score of a row for one of its classes, and a score for another class.
    """
    n_classes = len(rows.scores)
    most_labels = 1 if rows.labels is None else n_classes
    return 2 * (total * most_labels) * (total * n_classes) <= np.iinfo(np.int64).max


class ClassSizes(NamedTuple):
    """The total weight of the rows in each class and of the others, by replicate or group.

    `used` is true for classes with an area: there are rows in the class, and others.
    """

    size: NDArray[Any]
    rest: NDArray[Any]
    used: NDArray[np.bool_]

    @classmethod
    def of_one_label(cls, size: NDArray[Any]) -> ClassSizes:
        """Return the sizes if each row belongs to one class."""
        has_rows = size > 0
        used = has_rows & (has_rows.sum(axis=1, keepdims=True) > 1)
        return cls(size, size.sum(axis=1, keepdims=True) - size, used)

    @classmethod
    def of_labels(cls, size: NDArray[Any], rest: NDArray[Any]) -> ClassSizes:
        """Return the sizes if rows can belong to several classes."""
        return cls(size, rest, (size > 0) & (rest > 0))

    @property
    def n_used(self) -> NDArray[np.int64]:
        """The number of classes with an area."""
        return np.asarray(self.used.sum(axis=1))

    @property
    def divisors(self) -> tuple[NDArray[Any], ...]:
        """What the sums of the four averages are divided by."""
        used = self.n_used
        pairs = 2 * self.size.sum(axis=1) * self.rest.sum(axis=1)
        return used * (used - 1), used, np.where(self.used, self.size, 0).sum(axis=1), pairs


def _sizes_of_replicates(rows: MulticlassRows, row_weight: NDArray[Any]) -> ClassSizes:
    """Return the sizes of the classes in each replicate; `rows` are sorted by class."""
    if rows.labels is not None:
        # Products of floats are faster, and exact for these numbers of rows.
        weight = row_weight.astype(np.float64)
        products = (weight @ labels.astype(np.float64) for labels in (rows.labels, ~rows.labels))
        return ClassSizes.of_labels(*(part.astype(row_weight.dtype) for part in products))
    starts = run_starts(rows.code)
    size = np.zeros((len(row_weight), len(rows.scores)), row_weight.dtype)
    size[:, rows.code[starts]] = np.add.reduceat(row_weight, starts, axis=1)
    return ClassSizes.of_one_label(size)


def _sizes_of_groups(rows: MulticlassRows, group: NDArray[np.int64], n_groups: int) -> ClassSizes:
    """Return the sizes of the classes in each group."""
    weight = rows.row_weight
    shape = n_groups, len(rows.scores)
    if rows.labels is None:
        return ClassSizes.of_one_label(sums_at((group, rows.code), weight, shape))
    parts = (weight[:, None] * labels for labels in (rows.labels, ~rows.labels))
    return ClassSizes.of_labels(*(sums_at(group, part, shape) for part in parts))


class Placements(NamedTuple):
    """For each row, the numbers of positives with a higher score, and with at least its score."""

    higher: NDArray[np.int32]
    at_least: NDArray[np.int32]

    @classmethod
    def from_scores(
        cls, negated: NDArray[Any], score: NDArray[Any], scored: NDArray[np.bool_] | None
    ) -> Placements:
        """Return the placements of rows with these scores; both numbers are 0 for unscored rows.

        `negated` are the scores of the positives with the opposite sign, in rising order.
        """
        higher, at_least = (
            np.searchsorted(negated, -score, side).astype(np.int32) for side in ("left", "right")
        )
        if scored is not None:
            higher[~scored] = at_least[~scored] = 0
        return cls(higher, at_least)

    def doubled_wins(self, cumulated: NDArray[Any]) -> NDArray[Any]:
        """Return twice the weight of the positives above each row in each replicate.

        A tie counts half. `cumulated` is the cumulative weight of the positives by falling score.
        """
        wins: NDArray[Any] = cumulated[:, self.higher] + cumulated[:, self.at_least]
        return wins


class ClassPlacements(NamedTuple):
    """Placements of the rows of a group by their scores of one class, whose rows are `positive`.

    `order` are the positives with a score, by falling score, and `of_class` the placements of all
    rows among them. For `"micro"`, the scores of all rows for their own classes are positives:
    `own_order` has their rows by falling score, `of_all` the placements of the scores of the class
    among them.
    """

    code: int
    positive: NDArray[np.bool_]
    order: NDArray[np.int64]
    of_class: Placements | None
    own_order: NDArray[np.int64]
    of_all: Placements | None


def own_scores(rows: MulticlassRows) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows and their scores for the classes to which they belong, if not missing."""
    found, scores = [np.zeros(0, np.int64)], [np.zeros(0)]
    for i, score in enumerate(rows.scores):
        found.append(np.flatnonzero(rows.scored_of_class(i)))
        scores.append(score[found[-1]].astype(np.float64))
    return np.concatenate(found), np.concatenate(scores)


def class_placements(
    rows: MulticlassRows, averages: Sequence[Average]
) -> Iterator[ClassPlacements]:
    """Yield the placements for each class; `rows` are the rows of one group, sorted by class."""
    own_order, negated = np.zeros(0, np.int64), np.zeros(0)
    if "micro" in averages:
        own_order, scores = own_scores(rows)
        falling = np.argsort(-scores, kind="stable")
        own_order, negated = own_order[falling], -scores[falling]
    for code, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
        of_class, order, positive = None, np.zeros(0, np.int64), rows.of_class(code)
        if set(averages) != {"micro"} and positive.any():
            order = np.flatnonzero(rows.scored_of_class(code))
            order = order[np.argsort(-score[order], kind="stable")]
            of_class = Placements.from_scores(-score[order], score, scored)
        of_all = Placements.from_scores(negated, score, scored) if "micro" in averages else None
        if of_class is not None or of_all is not None:
            yield ClassPlacements(code, positive, order, of_class, own_order, of_all)


def replicate_averages(
    rows: MulticlassRows,
    row_weight: NDArray[Any],
    averages: Sequence[Average],
    classes: Iterable[ClassPlacements],
) -> dict[Average, NDArray[np.float64]]:
    """Return the average AUCs of the replicates of one group; NaN if no class has an area.

    `rows` are sorted by class. `row_weight` has the weight of each row in each replicate.
    """
    if not wins_fit_int64(int(row_weight.sum(axis=1).max()), rows):
        row_weight = row_weight.astype(np.float64, copy=False)
    sizes, starts = _sizes_of_replicates(rows, row_weight), run_starts(rows.code)
    pairs, macro, weighted = (np.zeros(len(row_weight)) for _ in range(3))
    all_wins = np.zeros(len(row_weight), row_weight.dtype)
    own_cumulated = None
    with np.errstate(divide="ignore", invalid="ignore"):
        for placements in classes:
            size, rest = sizes.size[:, placements.code], sizes.rest[:, placements.code]
            if placements.of_class is not None:
                wins = row_weight * placements.of_class.doubled_wins(
                    _cumulated(row_weight, placements.order)
                )
                wins[:, placements.positive] = 0
                won = np.add.reduceat(wins, starts, axis=1)
                if "hand_till" in averages:
                    pair_areas = won / (2 * size[:, None] * sizes.size[:, rows.code[starts]])
                    # `grouped_averages` adds up in the same order, so that both functions have the
                    # same rounding errors.
                    pairs += np.cumsum(np.nan_to_num(pair_areas), axis=1)[:, -1]
                area = np.nan_to_num(won.sum(axis=1) / (2 * size * rest))
                macro += area
                weighted += area * size
            if placements.of_all is not None:
                if own_cumulated is None:
                    own_cumulated = _cumulated(row_weight, placements.own_order)
                wins = row_weight * placements.of_all.doubled_wins(own_cumulated)
                wins[:, placements.positive] = 0
                all_wins = all_wins + wins.sum(axis=1)
    return _divide_sums(averages, (pairs, macro, weighted, all_wins), sizes)


def _cumulated(row_weight: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    """Return, for each replicate, 0 and the cumulative weights of the rows in `order`."""
    sums = np.zeros((len(row_weight), len(order) + 1), row_weight.dtype)
    np.cumsum(row_weight[:, order], axis=1, out=sums[:, 1:])
    return sums


def grouped_averages(
    rows: MulticlassRows, group: NDArray[np.int64], n_groups: int, averages: Sequence[Average]
) -> dict[Average, NDArray[np.float64]]:
    """Return the average AUCs of all groups; `rows` are unweighted, sorted by group and class."""
    row_weight, sizes = rows.count, _sizes_of_groups(rows, group, n_groups)
    # A cell is one class of one group.
    starts = run_starts(group, rows.code)
    cell_group = group[starts]
    class_weight = np.add.reduceat(row_weight, starts) if len(starts) else row_weight
    pairs, macro, weighted = (np.zeros(n_groups) for _ in range(3))
    all_wins = np.zeros(n_groups, np.int64)
    own = own_scores(rows) if "micro" in averages else None
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
            size, rest, positive = sizes.size[:, i], sizes.rest[:, i], rows.of_class(i)
            if set(averages) != {"micro"} and positive.any():
                ranked = np.flatnonzero(rows.scored_of_class(i))
                wins = row_weight * _grouped_doubled_wins(
                    group, score, scored, (ranked, None), row_weight
                )
                wins[positive] = 0
                won = np.add.reduceat(wins, starts)
                if "hand_till" in averages:
                    pair_areas = won / (2 * size[cell_group] * class_weight)
                    pair_areas = np.nan_to_num(pair_areas, posinf=0.0)
                    pairs += np.bincount(cell_group, pair_areas, n_groups)
                group_won = sums_at(cell_group, won, n_groups)
                area = np.nan_to_num(group_won / (2 * size * rest))
                macro += area
                weighted += area * size
            if own is not None:
                wins = row_weight * _grouped_doubled_wins(group, score, scored, own, row_weight)
                wins[positive] = 0
                np.add.at(all_wins, group, wins)
    return _divide_sums(averages, (pairs, macro, weighted, all_wins), sizes)


def _grouped_doubled_wins(
    group: NDArray[np.int64],
    score: NDArray[Any],
    scored: NDArray[np.bool_] | None,
    positives: tuple[NDArray[np.int64], NDArray[Any] | None],
    row_weight: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return, for each row, twice the weight of the positives of its group with a higher score.

    A tie counts half. `positives` are the rows of the positives, and other scores of these rows.
    """
    size, (row, positive) = len(score), positives
    values, groups, weights = score, group, np.zeros(size, np.int64)
    if positive is None:
        weights[row] = row_weight[row]
    else:
        values, groups = np.concatenate([score, positive]), np.concatenate([group, group[row]])
        weights = np.concatenate([weights, row_weight[row]])
    order = np.lexsort((-values, groups))
    values, groups = values[order], groups[order]
    cumulated = np.append(0, np.cumsum(weights[order]))
    # A step is a set of tied rows of a group.
    steps = run_starts(groups, values)
    ends = np.append(steps[1:], len(order))
    doubled = np.repeat(cumulated[steps] + cumulated[ends], ends - steps)
    first = run_starts(groups)
    doubled -= np.repeat(2 * cumulated[first], np.diff(np.append(first, len(order))))
    wins = np.empty(len(order), np.int64)
    wins[order] = doubled
    wins = wins[:size]
    return wins if scored is None else np.where(scored, wins, 0)


def _divide_sums(
    averages: Sequence[Average], sums: Sequence[NDArray[Any]], sizes: ClassSizes
) -> dict[Average, NDArray[np.float64]]:
    """Return the average AUCs: `sums` over classes, divided by total weights; NaN without areas."""
    pairs = dict(zip(get_args(Average), zip(sums, sizes.divisors, strict=True), strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        areas = {name: np.clip(np.divide(*pairs[name]), 0, 1) for name in averages}
    return {name: np.where(sizes.n_used > 0, area, np.nan) for name, area in areas.items()}


def influences(
    rows: MulticlassRows, averages: Sequence[Average]
) -> dict[Average, NDArray[np.float64]]:
    """Return the derivatives of each average by the weights of rows, sorted by class."""
    row_weight = rows.row_weight.astype(np.float64)
    sizes = _sizes_of_replicates(rows, row_weight[None, :])
    own_row, own_score = own_scores(rows)
    n_pairs, n_classes, _, all_pairs = (float(divisor[0]) for divisor in sizes.divisors)
    total = float(sizes.divisors[2][0])
    pairs, macro, weighted, won, n_labels, n_used = (np.zeros(len(row_weight)) for _ in range(6))
    mean = 0.0  # the weighted average
    for placements in class_placements(rows, averages):
        score, scored = rows.scores[placements.code], rows.scored[placements.code]
        positive = placements.positive
        negative = ~positive if scored is None else ~positive & scored
        n_labels += positive
        size, rest = (float(part[0, placements.code]) for part in (sizes.size, sizes.rest))
        if placements.of_class is not None and sizes.used[0, placements.code]:
            ranked = rows.scored_of_class(placements.code)
            cumulated = _cumulated(row_weight[None, :], placements.order)
            lost = np.where(positive, 0, placements.of_class.doubled_wins(cumulated)[0] / 2)
            gained = np.zeros(len(row_weight))
            gained[ranked] = _weight_below(score[negative], row_weight[negative], score[ranked])
            if "hand_till" in averages:
                class_weight = sizes.size[0]
                own_weight = class_weight[rows.code]
                shares = np.zeros(len(row_weight))
                shares[ranked] = _weight_below(
                    score[negative], (row_weight / own_weight)[negative], score[ranked]
                )
                pair_areas = np.bincount(rows.code, row_weight * lost, len(class_weight)) / size
                pair_areas = pair_areas / np.where(class_weight > 0, class_weight, 1)
                pairs += np.where(
                    positive,
                    (shares - pair_areas.sum()) / size,
                    (lost / size - pair_areas[rows.code]) / own_weight,
                )
            area = (row_weight * lost).sum() / (size * rest)
            change = np.where(positive, (gained / rest - area) / size, (lost / size - area) / rest)
            macro += change
            weighted += size * change + area * positive
            mean += size * area / total
            n_used += positive
        if placements.of_all is not None:
            cumulated = _cumulated(row_weight[None, :], placements.own_order)
            won += np.where(positive, 0, placements.of_all.doubled_wins(cumulated)[0] / 2)
            below = _weight_below(score[negative], row_weight[negative], own_score)
            won += np.bincount(own_row, below, len(won))
    # Each pair adds to `won` of both of its rows, so the weighted sum of `won` is twice the number
    # of won pairs.
    micro = (row_weight * won).sum() / all_pairs
    n_own, n_other = (float(part.sum()) for part in (sizes.size, sizes.rest))
    shares_of_pairs = n_labels / n_own + (len(rows.scores) - n_labels) / n_other
    results: dict[Average, NDArray[np.float64]] = {
        "hand_till": pairs / n_pairs if n_pairs else pairs,
        "macro": macro / n_classes,
        "weighted": (weighted - mean * n_used) / total,
        "micro": 2 * won / all_pairs - micro * shares_of_pairs,
    }
    return {name: results[name] for name in averages}


def row_acceleration(rows: MulticlassRows, influence: NDArray[np.float64]) -> float:
    """Return the acceleration constant of BCa, from derivatives by the weights of rows."""
    weighted = influence if rows.weight is None else influence * rows.weight
    return acceleration(weighted, rows.count, rows.cluster)


def _weight_below(
    scores: NDArray[Any], row_weight: NDArray[np.float64], values: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the total weight of the scores below each of `values`; a tie counts half."""
    order = np.argsort(scores)
    rising = scores[order]
    cumulated = np.append(0, np.cumsum(row_weight[order]))
    below, at_most = (
        cumulated[np.searchsorted(rising, values, side)] for side in ("left", "right")
    )
    result: NDArray[np.float64] = (below + at_most) / 2
    return result
