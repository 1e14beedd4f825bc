"""The function `multiclass_auc`: averages of AUCs over all classes of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rocframe.classes.class_areas import (
    Average,
    class_placements,
    grouped_averages,
    influences,
    replicate_averages,
    row_acceleration,
    wins_fit_int64,
)
from rocframe.classes.inputs import compute_class_table, read_class_scores
from rocframe.errors import LabelError, OptionValueError
from rocframe.inference.bootstrap import batched_replicates, bootstrap_interval
from rocframe.inference.confidence import Confidence
from rocframe.inference.notes import first_notes, note_with_keys
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import group_starts, run_starts
from rocframe.kernel.resample import RowSampler, draw_together, stream_keys
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.options import NOT_GIVEN, check_choice, check_distinct, public
from rocframe.schemas.classes import MULTICLASS_AUC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.classes.inputs import (
        Classes,
        ClassScores,
        MulticlassGroups,
        MulticlassRows,
    )
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

    `"micro"` compares pairs of scores for any classes. One score of a pair is the score of a row
    for its true class. The other score is a score of a row for a class that is not its true class.
    Both scores can come from one row or from two rows.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean, numbers, String, Categorical or Enum.
    scores : mapping, sequence of str, selector or str
        Score of each class; higher values indicate that class. Pass a mapping from classes to
        columns or expressions. If the columns are named like the classes, pass a list of columns or
        a selector. If the scores are lists or arrays in one column, pass this column, and set
        `classes`.
    by : str or sequence of str, default None
        Group columns; null is a group.
    classes : sequence, default None
        For one column of lists: the classes, in the order of the elements of a list.
    average : str or sequence of str, optional
        One or several averages.

        - `"hand_till"`: Hand and Till's M, the mean AUC over ordered pairs of classes.
        - `"macro"`: the mean of the AUCs of each class against all others.
        - `"weighted"`: the mean of the same AUCs, weighted by class frequency (Provost and
          Domingos).
        - `"micro"`: the AUC of one ranking of all scores of all classes.
    ci : str or None, default None
        Method of the interval. `"bootstrap"`: quantiles of the resamples. `"bootstrap_basic"`:
        these quantiles, reflected at the estimate: 2·`auc` - quantile. `"bootstrap_bca"`: these
        quantiles, corrected for bias and skewness. None: no interval.
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
          `"bootstrap_bca"` are also null if the averaged AUC of the data is lower than in every
          resample, or higher than in every resample.
        - `n_classes` (Int64) counts the classes in `scores`.
        - `n_classes_used` (Int64) counts the classes that have rows in the group. Averages are over
          these classes. `"micro"` is an exception: it also uses the classes without rows, and all
          rows are negatives of such a class.
        - `n` (Int64) counts the rows that are used.
        - `n_missing` (Int64) counts the rows whose label, weight, count or any score is missing.
          With `missing="drop"`, a row in which at least one score is missing is left out for all
          classes.
        - `note` (String) is null, or the first of these values that applies: `no_rows, one_class,
          zero_variance, no_limits, redrawn, left_out`. For example, `redrawn:12` means that 12
          resamples had a single class and were drawn again, and `left_out:1 (c)` that the class c
          has no rows and the average is over the other classes.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid. This error is also raised if the class of a
        label has no score, if values are missing with `missing="raise"`, or if a weight is negative
        or not finite.

    See Also
    --------
    one_vs_one : Return a table of pairs of classes, for example for `auc`.
    one_vs_rest : Return a table of each class against all others, for example for `auc`.

    Notes
    -----
    A resample has as many rows, or clusters, as the group; the numbers of rows of the classes vary.
    The averages of a resample are over the classes that occur in it. `"bootstrap_bca"` estimates
    the skewness from the derivatives of an average with respect to the weights of rows. Without an
    interval, the function needs memory for the table and for one class at a time. With an interval,
    it needs memory for all classes of a group.

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
        lambda plan, schema, used: read_class_scores(plan, schema, scores, classes, used),
        lambda grouped: _multiclass_auc_columns(grouped, averages, confidence),
        columns=MULTICLASS_AUC.columns(),
        rows_per_group=len(averages),
        anchor="average",
        unknown_label=LabelError.without_score,
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
    n = np.zeros(n_groups, np.int64)
    np.add.at(n, group, rows.count)
    has_rows = np.zeros((n_groups, n_classes), bool)
    has_rows[group, rows.code] = True
    n_used = has_rows.sum(axis=1)
    by_average = _group_averages(rows, group, starts, averages)
    auc = np.stack([by_average[name] for name in averages], axis=1)
    per_group = {
        "n": n,
        "n_missing": grouped.n_missing,
        "n_classes": np.full(n_groups, n_classes),
        "n_classes_used": n_used,
        "note": first_notes({"no_rows": np.diff(starts) == 0, "one_class": n_used < 2}),
    }
    columns: dict[str, Any] = {
        "average": [*averages] * n_groups,
        "auc": auc.ravel(),
        "ci_level": None if confidence.ci is None else confidence.level,
        "ci_method": np.full(auc.size, None),
        **{name: np.repeat(values, len(averages)) for name, values in per_group.items()},
        **{name: np.full(auc.size, np.nan) for name in ("se", "lower", "upper")},
    }
    if confidence.ci is not None:
        keys = stream_keys(grouped.keys)
        for i in np.flatnonzero(n_used > 1).tolist():
            group_rows = _merge_identical(rows.take(slice(starts[i], starts[i + 1])))
            areas = dict(zip(averages, auc[i].tolist(), strict=True))
            for j, interval in enumerate(
                _average_intervals(group_rows, areas, confidence, keys[i])
            ):
                for name, value in interval.items():
                    columns[name][i * len(averages) + j] = value
    _note_absent_classes(columns, has_rows, grouped.names)
    return {
        name: values.tolist() if name in {"note", "ci_method"} else values
        for name, values in columns.items()
    }


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


def _average_intervals(
    rows: MulticlassRows, areas: dict[Average, float], confidence: Confidence, key: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Return standard error, limits and note of each average AUC of one group."""
    values, n_redrawn = _resampled_averages(rows, list(areas), confidence, key)
    influence = influences(rows, list(areas)) if confidence.ci == "bootstrap_bca" else {}
    intervals = []
    for (name, area), replicates in zip(areas.items(), values.T, strict=True):
        interval = bootstrap_interval(
            replicates,
            area,
            confidence.ci,
            confidence.level,
            bounds=(0.0, 1.0),
            acceleration=lambda name=name: row_acceleration(rows, influence[name]),  # type: ignore[misc]
        )
        notes = first_notes(
            {
                "zero_variance": np.array([interval.constant]),
                "no_limits": np.isnan([interval.lower]),
                "redrawn": np.array([n_redrawn]),
            }
        )
        intervals.append(
            {
                "se": interval.se,
                "lower": interval.lower,
                "upper": interval.upper,
                "ci_method": None if np.isnan(interval.lower) else confidence.ci,
                "note": notes[0],
            }
        )
    return intervals


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
