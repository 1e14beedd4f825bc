"""The function `multiclass_auc`: averages of AUCs over all classes of each group."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from rocframe.classes.inputs import compute_class_table
from rocframe.errors import OptionValueError
from rocframe.inference import Confidence, first_notes, note_with_keys
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import group_starts, run_starts
from rocframe.kernel.scan import BLOCK_ROWS, RowSampler, draw_together, stream_keys
from rocframe.options import NOT_GIVEN, check_choice, check_distinct, public
from rocframe.resampling import IntervalColumns, acceleration, batched_replicates
from rocframe.schemas.statistics import MULTICLASS_AUC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.classes.inputs import Classes, ClassScores, MulticlassGroups, MulticlassRows
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing

BootstrapMethod = Literal["bootstrap", "bootstrap_basic", "bootstrap_bca"]


@public
def multiclass_auc(
    predictions: FrameT,
    /,
    label: Column,
    scores: ClassScores,
    *,
    by: By = None,
    classes: Classes = None,
    average: Average | Sequence[Average] = ("hand_till", "macro", "weighted", "micro"),
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
    1/2 if the scores tie. The averages differ in the weights of the pairs.

    `"micro"` compares the score of a row for its true class with a score, of the same or another
    row, for a class that is not its true class.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean, numbers, String, Categorical or Enum.
    scores : mapping, sequence of str, selector or str
        Score of each class, higher for this class: a mapping from classes to columns, columns named
        like their classes, or one column of lists.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    classes : sequence, default None
        Classes in the order of the lists.
    average : str or sequence of str, optional
        `"hand_till"`: Hand and Till's M, the mean AUC over ordered pairs of classes. `"macro"`: the
        mean AUC of each class against all others. `"weighted"`: the same mean, weighted by class
        frequency (Provost and Domingos). `"micro"`: the AUC of all scores of all classes.
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

        - `auc` (Float64, in [0, 1]) is null if the group has rows of fewer than two classes.
        - `lower`, `upper` and `se` (Float64) are null without an interval. The limits of
          `"bootstrap_bca"` are also null if every resample is above, or every one below, `auc`.
        - `n_classes` (Int64) counts the classes in `scores`, and `n_classes_used` (Int64) those
          with rows in the group. Averages are over the latter; `"micro"` uses all classes.
        - `n` (Int64) counts the rows that are used, and `n_missing` (Int64) those with a missing
          value, which `missing="drop"` leaves out for all classes.
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
    A resample has as many rows, or clusters, as the group; the numbers of rows of the classes vary.
    The averages of a resample are over the classes that occur in it. `"bootstrap_bca"` estimates
    the skewness from the derivatives of an average with respect to the weights of rows.

    References
    ----------
    D. J. Hand, R. J. Till (2001), "A simple generalisation of the area under the ROC curve for
    multiple class classification problems", Machine Learning 45, 171-186.
    doi:10.1023/A:1010920819831

    F. Provost, P. Domingos (2003), "Tree induction for probability-based ranking", Machine
    Learning 52, 199-215. doi:10.1023/A:1024099825458

    B. Efron (1987), "Better bootstrap confidence intervals", Journal of the American Statistical
    Association 82(397), 171-185. doi:10.1080/01621459.1987.10478410

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {
    ...         "truth": ["cat", "dog", "emu"],
    ...         "cat": [0.7, 0.2, 0.2],
    ...         "dog": [0.2, 0.3, 0.5],
    ...         "emu": [0.1, 0.5, 0.3],
    ...     }
    ... )
    >>> areas = rf.multiclass_auc(predictions, "truth", ["cat", "dog", "emu"])
    >>> areas.select("average", "auc", "n_classes_used", "n")
    shape: (4, 4)
    ┌───────────┬──────────┬────────────────┬─────┐
    │ average   ┆ auc      ┆ n_classes_used ┆ n   │
    │ ---       ┆ ---      ┆ ---            ┆ --- │
    │ str       ┆ f64      ┆ i64            ┆ i64 │
    ╞═══════════╪══════════╪════════════════╪═════╡
    │ hand_till ┆ 0.666667 ┆ 3              ┆ 3   │
    │ macro     ┆ 0.666667 ┆ 3              ┆ 3   │
    │ weighted  ┆ 0.666667 ┆ 3              ┆ 3   │
    │ micro     ┆ 0.777778 ┆ 3              ┆ 3   │
    └───────────┴──────────┴────────────────┴─────┘
    """
    averages = _parse_averages(average)
    confidence = Confidence.parse(ci, level, n_boot, seed, get_args(BootstrapMethod))
    roles = Roles(
        label=label,
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
        lambda grouped: _multiclass_auc_columns(grouped, averages, confidence),
        columns=MULTICLASS_AUC.columns(),
        rows_per_group=len(averages),
        anchor="average",
    )


def _parse_averages(average: Any) -> tuple[Average, ...]:
    is_single = isinstance(average, str) or not hasattr(average, "__iter__")
    names = (average,) if is_single else tuple(average)
    for name in names:
        check_choice("average", name, get_args(Average))
    check_distinct("average", names)
    if not names:
        hint = 'Use, for example, average="hand_till".'
        raise OptionValueError.compose("average", average, "expected at least one average", hint)
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
    has_rows = np.zeros((n_groups, n_classes), bool)
    has_rows[group, rows.code] = True
    n_used = has_rows.sum(axis=1)
    by_average = _group_averages(rows, group, starts, averages)
    auc = np.stack([by_average[name] for name in averages], axis=1)
    intervals = IntervalColumns(n_groups, len(averages))
    if confidence.ci is not None:
        keys = stream_keys(grouped.keys)
        for i in np.flatnonzero(n_used > 1).tolist():
            group_rows = _merge_identical(rows.take(slice(starts[i], starts[i + 1])))
            areas = dict(zip(averages, auc[i].tolist(), strict=True))
            _add_intervals(intervals, group_rows, areas, confidence, group=i, key=keys[i])
    has_limits = np.full((n_groups, 1), confidence.ci is not None)
    note = first_notes(
        {
            "no_rows": np.repeat(np.diff(starts) == 0, len(averages)),
            "one_class": np.repeat(n_used < 2, len(averages)),
            "zero_variance": intervals.constant.ravel(),
            "no_limits": (np.isnan(intervals.lower) & has_limits).ravel(),
            "redrawn": intervals.n_redrawn.ravel(),
        }
    )
    per_group = {
        "n": grouped.n,
        "n_missing": grouped.n_missing,
        "n_classes": np.full(n_groups, n_classes),
        "n_classes_used": n_used,
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
    _note_absent_classes(columns, has_rows, grouped.names)
    return columns


def _note_absent_classes(
    columns: dict[str, Any], has_rows: NDArray[np.bool_], names: list[str]
) -> None:
    """Add the classes without rows, of which averages have no area, to the notes of rows without.

    `has_rows` states for each group and class whether the group has rows of the class. The
    micro-average uses all classes.
    """
    averages = columns["average"]
    size = len(averages) // max(len(has_rows), 1)
    n_used = has_rows.sum(axis=1)
    groups = np.flatnonzero((n_used > 1) & (n_used < len(names)))
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
    n_groups, n_classes = len(starts) - 1, len(rows.scores)
    exact = rows.weight is None and wins_fit_int64(int(rows.count.sum()), n_classes)
    if exact and len(rows.code) < MIN_ROWS_PER_GROUP * n_groups:
        return grouped_averages(rows, group, n_groups, averages)
    results = {name: np.full(n_groups, np.nan) for name in averages}
    for i in np.flatnonzero(np.diff(starts)):
        group_rows = rows.take(slice(starts[i], starts[i + 1]))
        if rows.weight is None and not wins_fit_int64(int(group_rows.count.sum()), n_classes):
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
    keys += [np.unique(values, return_inverse=True)[1].astype(np.int32) for values in optional]
    _, first, inverse = np.unique(
        np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True
    )
    merged = rows.take(first)
    merged.count[:] = 0
    np.add.at(merged.count, inverse.ravel(), rows.count)
    return merged


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
    units_of_class = np.split(units, run_starts(rows.code)[1:])
    classes = list(class_placements(rows, averages))

    def draw(stream: np.random.Generator, size: int) -> tuple[NDArray[np.float64], int]:
        times, n_redrawn = draw_together(stream, size, sampler, units_of_class)
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


def wins_fit_int64(total: int, n_classes: int) -> bool:
    """Return whether Int64 can hold twice the number of won pairs of rows with this total count.

    For the average `"micro"`, a pair is one of `total` positives and one of the scores of all rows.
    """
    return 2 * total * (total * n_classes) <= np.iinfo(np.int64).max


class Placements(NamedTuple):
    """For each row, the numbers of positives with a higher score, and with at least its score."""

    higher: NDArray[np.int32]
    at_least: NDArray[np.int32]

    @classmethod
    def from_scores(
        cls,
        negated: NDArray[Any],
        score: NDArray[Any],
        scored: NDArray[np.bool_] | None,
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
        """Return twice the weight of the positives above each row, for each replicate.

        A positive above a row has a higher score than this row. A tie counts half. `cumulated` is
        the cumulative weight of the positives in the order of falling scores.
        """
        wins: NDArray[Any] = cumulated[:, self.higher] + cumulated[:, self.at_least]
        return wins


class ClassPlacements(NamedTuple):
    """Placements of the rows of a group by their scores of one class.

    `position` is the position of the class `code` among the classes with rows in the group, or
    None. `order` are its rows in the order of falling scores, and `of_class` are the placements of
    all rows among them. For the average `"micro"`, the scores of all rows for their true class are
    positives. `true_score_order` are the rows in the order of these scores, and `of_all` the
    placements of the scores of the class among them.
    """

    code: int
    position: int | None
    order: NDArray[np.int64]
    of_class: Placements | None
    true_score_order: NDArray[np.int64]
    of_all: Placements | None


def true_class_scores(rows: MulticlassRows) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the score of each row for its true class, and True for rows that have this score."""
    true_score, present = np.zeros(len(rows.code)), np.ones(len(rows.code), bool)
    for i, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
        positive = rows.code == i
        true_score[positive] = score[positive]
        if scored is not None:
            present[positive] = scored[positive]
    return true_score, present


def class_placements(
    rows: MulticlassRows, averages: Sequence[Average]
) -> Iterator[ClassPlacements]:
    """Yield the placements for each class; `rows` are the rows of one group, sorted by class."""
    starts = run_starts(rows.code)
    ends = np.append(starts[1:], len(rows.code))
    positions = {int(code): i for i, code in enumerate(rows.code[starts])}
    true_score_order, negated = np.zeros(0, np.int64), np.zeros(0)
    if "micro" in averages:
        true_score, present = true_class_scores(rows)
        true_score_order = np.flatnonzero(present)
        true_score_order = true_score_order[
            np.argsort(-true_score[true_score_order], kind="stable")
        ]
        negated = -true_score[true_score_order]
    for code, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
        of_class, order, position = None, np.zeros(0, np.int64), positions.get(code)
        if position is not None and set(averages) != {"micro"}:
            order = np.arange(starts[position], ends[position])
            order = order if scored is None else order[scored[order]]
            order = order[np.argsort(-score[order], kind="stable")]
            of_class = Placements.from_scores(-score[order], score, scored)
        of_all = Placements.from_scores(negated, score, scored) if "micro" in averages else None
        if of_class is not None or of_all is not None:
            yield ClassPlacements(code, position, order, of_class, true_score_order, of_all)


def replicate_averages(
    rows: MulticlassRows,
    row_weight: NDArray[Any],
    averages: Sequence[Average],
    classes: Iterable[ClassPlacements],
) -> dict[Average, NDArray[np.float64]]:
    """Return the average AUCs of the replicates of one group; NaN for fewer than 2 classes.

    `rows` are sorted by class. `row_weight` has the weight of each row in each replicate.
    """
    starts, n_classes = run_starts(rows.code), len(rows.scores)
    if not wins_fit_int64(int(row_weight.sum(axis=1).max()), n_classes):
        row_weight = row_weight.astype(np.float64, copy=False)
    class_weight = np.add.reduceat(row_weight, starts, axis=1)
    total = class_weight.sum(axis=1)
    pairs, macro, weighted = (np.zeros(len(row_weight)) for _ in range(3))
    all_wins = np.zeros(len(row_weight), row_weight.dtype)
    all_cumulated = None
    with np.errstate(divide="ignore", invalid="ignore"):
        for placements in classes:
            if placements.of_class is not None and placements.position is not None:
                wins = row_weight * placements.of_class.doubled_wins(
                    _cumulated(row_weight, placements.order)
                )
                won = np.add.reduceat(wins, starts, axis=1)
                won[:, placements.position] = 0
                class_total = class_weight[:, placements.position]
                pair_areas = won / (2 * class_total[:, None] * class_weight)
                # `grouped_averages` adds up in the same order, so that both functions have the same
                # rounding errors.
                pairs += np.cumsum(np.nan_to_num(pair_areas), axis=1)[:, -1]
                area = np.nan_to_num(won.sum(axis=1) / (2 * class_total * (total - class_total)))
                macro += area
                weighted += area * (class_total / total)
            if placements.of_all is not None:
                if all_cumulated is None:
                    all_cumulated = _cumulated(row_weight, placements.true_score_order)
                wins = row_weight * placements.of_all.doubled_wins(all_cumulated)
                wins[:, rows.code == placements.code] = 0
                all_wins = all_wins + wins.sum(axis=1)
    used = (class_weight > 0).sum(axis=1)
    return _divide_sums(averages, (pairs, macro, weighted, all_wins), used, total, n_classes)


def _cumulated(row_weight: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    """Return, for each replicate, 0 and the cumulative weights of the rows in `order`."""
    sums = np.zeros((len(row_weight), len(order) + 1), row_weight.dtype)
    np.cumsum(row_weight[:, order], axis=1, out=sums[:, 1:])
    return sums


def grouped_averages(
    rows: MulticlassRows, group: NDArray[np.int64], n_groups: int, averages: Sequence[Average]
) -> dict[Average, NDArray[np.float64]]:
    """Return the average AUCs of all groups; `rows` are unweighted, sorted by group and class."""
    row_weight, n_classes = rows.count, len(rows.scores)
    # A cell is one class of one group.
    starts = run_starts(group, rows.code)
    cell_group, cell_code = group[starts], rows.code[starts]
    class_weight = np.add.reduceat(row_weight, starts) if len(starts) else row_weight
    total = np.zeros(n_groups, np.int64)
    np.add.at(total, cell_group, class_weight)
    pairs, macro, weighted = (np.zeros(n_groups) for _ in range(3))
    all_wins = np.zeros(n_groups, np.int64)
    true_score = true_class_scores(rows) if "micro" in averages else None
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
            is_cell, positive = cell_code == i, rows.code == i
            if is_cell.any() and set(averages) != {"micro"}:
                class_total = np.zeros(n_groups, np.int64)
                class_total[cell_group[is_cell]] = class_weight[is_cell]
                positive_weight = row_weight * (positive if scored is None else positive & scored)
                wins = row_weight * _grouped_doubled_wins(
                    group, score, score, positive_weight, scored
                )
                won = np.add.reduceat(wins, starts)
                won[is_cell] = 0
                pair_areas = won / (2 * class_total[cell_group] * class_weight)
                pairs += np.bincount(cell_group, np.nan_to_num(pair_areas, posinf=0.0), n_groups)
                group_won = np.zeros(n_groups, np.int64)
                np.add.at(group_won, cell_group, won)
                area = np.nan_to_num(group_won / (2 * class_total * (total - class_total)))
                macro += area
                weighted += area * (class_total / total)
            if true_score is not None:
                scored_weight = row_weight * true_score[1]
                wins = row_weight * _grouped_doubled_wins(
                    group, true_score[0], score, scored_weight, scored
                )
                wins[positive] = 0
                np.add.at(all_wins, group, wins)
    used = np.bincount(cell_group, minlength=n_groups)
    return _divide_sums(averages, (pairs, macro, weighted, all_wins), used, total, n_classes)


def _grouped_doubled_wins(
    group: NDArray[np.int64],
    positive: NDArray[Any],
    score: NDArray[Any],
    row_weight: NDArray[np.int64],
    scored: NDArray[np.bool_] | None,
) -> NDArray[np.int64]:
    """Return, for each row, twice the weight of the positives of its group with a higher score.

    A tie counts half. Each row is a positive with a score in `positive` and a weight in
    `row_weight`; the weight of negatives is 0.
    """
    size = len(score)
    if positive is score:
        order = np.lexsort((-score, group))
        row, values = order, score[order]
    else:
        values, groups = np.concatenate([score, positive]), np.concatenate([group, group])
        order = np.lexsort((-values, groups))
        row_weight = np.concatenate([np.zeros(size, np.int64), row_weight])
        row, values = order % size, values[order]
    cumulated = np.append(0, np.cumsum(row_weight[order]))
    # A step is a set of tied rows of a group.
    steps = run_starts(group[row], values)
    ends = np.append(steps[1:], len(order))
    doubled = np.repeat(cumulated[steps] + cumulated[ends], ends - steps)
    first = run_starts(group[row])
    doubled -= np.repeat(2 * cumulated[first], np.diff(np.append(first, len(order))))
    wins = np.empty(len(order), np.int64)
    wins[order] = doubled
    wins = wins[:size]
    return wins if scored is None else np.where(scored, wins, 0)


def _divide_sums(
    averages: Sequence[Average],
    sums: Sequence[NDArray[Any]],
    used: NDArray[np.int64],
    total: NDArray[Any],
    n_classes: int,
) -> dict[Average, NDArray[np.float64]]:
    """Return the average AUCs: the `sums` over classes, divided by their total weight.

    `sums` has an item for each of the four averages. `used` is the number of classes with rows.
    Results are NaN if it is below 2.
    """
    divisors: Sequence[Any] = used * (used - 1), used, 1, 2 * total * (total * (n_classes - 1))
    pairs = dict(zip(get_args(Average), zip(sums, divisors, strict=True), strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        areas = {name: np.clip(np.divide(*pairs[name]), 0, 1) for name in averages}
    return {name: np.where(used > 1, area, np.nan) for name, area in areas.items()}


def influences(
    rows: MulticlassRows, averages: Sequence[Average]
) -> dict[Average, NDArray[np.float64]]:
    """Return the derivatives of each average by the weights of rows, sorted by class."""
    row_weight = rows.row_weight.astype(np.float64)
    class_weight = np.bincount(rows.code, row_weight, len(rows.scores))
    true_class_weight, total = class_weight[rows.code], row_weight.sum()
    pairs, macro, weighted, won = (np.zeros(len(row_weight)) for _ in range(4))
    true_score, has_true_score = true_class_scores(rows)
    for placements in class_placements(rows, averages):
        score, scored = rows.scores[placements.code], rows.scored[placements.code]
        positive = rows.code == placements.code
        negative = ~positive if scored is None else ~positive & scored
        if placements.of_class is not None:
            size, rest = class_weight[placements.code], total - class_weight[placements.code]
            ranked = positive if scored is None else positive & scored
            cumulated = _cumulated(row_weight[None, :], placements.order)
            lost = np.where(positive, 0, placements.of_class.doubled_wins(cumulated)[0] / 2)
            gained, shares = np.zeros(len(row_weight)), np.zeros(len(row_weight))
            gained[ranked] = _weight_below(score[negative], row_weight[negative], score[ranked])
            shares[ranked] = _weight_below(
                score[negative], (row_weight / true_class_weight)[negative], score[ranked]
            )
            pair_areas = np.bincount(rows.code, row_weight * lost, len(class_weight)) / size
            pair_areas = pair_areas / np.where(class_weight > 0, class_weight, 1)
            pairs += np.where(
                positive,
                (shares - pair_areas.sum()) / size,
                (lost / size - pair_areas[rows.code]) / true_class_weight,
            )
            area = (row_weight * lost).sum() / (size * rest)
            change = np.where(positive, gained, lost)
            macro += np.where(positive, (gained / rest - area) / size, (lost / size - area) / rest)
            weighted += change / (total * rest) - area * size / total * np.where(
                positive, 1 / total, 1 / total + 1 / rest
            )
        if placements.of_all is not None:
            wins = (
                placements.of_all.doubled_wins(
                    _cumulated(row_weight[None, :], placements.true_score_order)
                )[0]
                / 2
            )
            won += np.where(positive, 0, wins)
            won[has_true_score] += _weight_below(
                score[negative], row_weight[negative], true_score[has_true_score]
            )
    used = np.count_nonzero(class_weight)
    n_pairs = total**2 * (len(rows.scores) - 1)
    results: dict[Average, NDArray[np.float64]] = {
        "hand_till": pairs / (used * (used - 1)),
        "macro": macro / used,
        "weighted": weighted,
        # Each pair adds to `won` of its positive row and of its negative row, so the weighted sum
        # of `won` is twice the number of won pairs.
        "micro": won / n_pairs - (row_weight * won).sum() / n_pairs / total,
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
