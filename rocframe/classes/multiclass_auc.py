"""The verb `multiclass_auc`: a many-class table → areas over all classes of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from rocframe.classes.class_areas import LARGEST, Average, Rows, grouped_areas, influences, skewness
from rocframe.classes.encoding import Given, Used, coded, numbered_groups
from rocframe.classes.inputs import as_classes, read_scores
from rocframe.errors import LabelError, OptionValueError, RepeatedNameError
from rocframe.frames import build_table, like, planned, through_node
from rocframe.inference.bootstrap import bootstrap_limits, nearly_equal
from rocframe.inference.confidence import Confidence
from rocframe.inputs.cases import State, read
from rocframe.kernel.exact import scaled
from rocframe.kernel.groups import Groups
from rocframe.kernel.resample import Urn, stream_keys
from rocframe.kernel.scan import BLOCK
from rocframe.kernel.threads import spread
from rocframe.options import NOT_GIVEN, check_choice
from rocframe.schemas import MULTICLASS_AUC

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.classes.inputs import Classes, ClassScores
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import Bound, By, Column, Count, Missing


Method = Literal["bootstrap", "bootstrap_basic", "bootstrap_bca"]


def multiclass_auc(
    predictions: FrameT,
    /,
    label: Column,
    scores: ClassScores,
    *,
    by: By = None,
    classes: Classes = None,
    average: Average | Sequence[Average] = ("hand_till", "macro", "weighted", "micro"),
    ci: Method | None = None,
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Measure the area under the ROC curve over all classes of each group.

    All areas count pairs of rows of different classes: that of class i wins if its score of i is
    the higher one; a tie counts half. What differs is which pairs weigh how much.

    Parameters
    ----------
    predictions : DataFrame or LazyFrame
        One row per prediction. A LazyFrame returns a LazyFrame.
    label : str or Expr
        Column or expression with the true class of each row.
    scores : mapping, sequence of str, selector or str
        Score of each class; higher values indicate that class. A mapping from classes to columns or
        expressions; a list of columns or a selector if the columns are named like the classes; or
        one column of lists or arrays together with `classes`.
    by : str or sequence of str, default None
        Group columns. A null key is a group of its own.
    classes : sequence, default None
        For lists: the classes, in the order of the lists.
    average : str or sequence of str, optional
        One or several of `"hand_till"`, M: the mean over ordered pairs of classes, each class
        against each other; `"macro"`: the mean over classes, each against all others; `"weighted"`:
        the same weighted by how frequent a class is (Provost and Domingos); `"micro"`: the area of
        all scores of all classes in one ranking.
    ci : str or None, default None
        Method of the interval: quantiles of resamples, `"bootstrap"`, or these turned about the
        estimate, `"bootstrap_basic"`, or corrected for bias and skewness, `"bootstrap_bca"`; None
        for no interval.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the random draws, a whole number >= 0. None: a new seed in every call. The draws of
        a group depend only on the seed and the group's key.
    cluster : str or Expr, default None
        Column or expression that identifies clusters of dependent rows, such as all rows of one
        user. Different clusters are assumed to be independent.
    weight : str or Expr, default None
        Column or expression with the importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Column or expression with the number of identical rows that a row represents; all results
        are those of that many separate rows. If the table has a column named `count`, pass
        `count="count"` or `count=None`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Handling of rows whose label, score, weight or count is null or NaN. `"raise"`: an error.
        `"drop"`: the rows are left out and counted in `n_missing`. `"worst"`: for missing scores
        only; an unscored positive is a false negative and an unscored negative is a false positive
        at every threshold.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, average, auc, lower, upper, se, n_classes, n_classes_used, n, n_missing, ci_level,
        ci_method, note`; a row per group and average, sorted by group, averages in the order asked
        for. `n_classes` are the classes with a score, `n_classes_used` those that rows are of: the
        averages are over these, except `"micro"`, which has the negatives of all. `auc` is null
        with fewer than two. `n` counts rows (Int64), `n_missing` those that lack a label or a
        score, under `"drop"` left out for all classes. `note` (String) is null, or the first that
        applies of `no_rows, one_class, zero_variance, redrawn`; the last with a number, as in
        `redrawn:12`: so many resamples had one class only. Limits of `"bootstrap_bca"` are null
        where all resamples lie on one side of the estimate.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if a label
        is of a class without a score, values are missing under `"raise"`, or a weight is negative
        or not finite.

    See Also
    --------
    one_vs_one : with `auc` the table of the areas of pairs, the mean of which is M.
    one_vs_rest : with `auc` the areas of classes.

    Notes
    -----
    Classes are worked on one at a time, next to the table itself. Resamples draw whole rows,
    whatever their class, as often as there are rows, and average over the classes they have; or
    whole clusters, as many as there are. Skewness comes from the derivatives of an average by the
    mass of each row.

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
    # numpy loads with the first area, not with the package.
    averages = _averages(average)
    confidence = Confidence.of(ci, level, n_boot, seed, get_args(Method))
    columns = MULTICLASS_AUC.columns()

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        found = read_scores(plan, schema, scores, classes)
        if found.values is None:
            raise OptionValueError.of(
                "classes",
                classes,
                "a row is an instance and a class, and here a row has a score for each class",
                f'Bring them side by side first, say .pivot({found.of!r}, index="id", …).',
            )
        given = Given(
            label=label, by=by, weight=weight, count=count, missing=missing, cluster=cluster
        )
        node = coded(
            plan,
            schema,
            given,
            found,
            lambda dtype, name: as_classes(found.argument, found.values or [], dtype, name),
            table=tuple(columns),
            error=LabelError.without_score,
        )
        bound = node.bound

        def run(frame: pl.DataFrame) -> pl.DataFrame:
            codes = frame.get_column(node.code).to_numpy()
            table = measured(frame, bound, codes, averages, confidence)
            return table.rename(dict(zip(map(str, range(len(bound.by))), bound.by, strict=True)))

        return through_node(
            node.plan,
            run,
            schema={**bound.keys, **columns},
            by=bound.by,
            anchor="average",
        )

    return like(predictions, planned("predictions", predictions).pipe_with_schema(resolve))


def _averages(average: Any) -> tuple[Average, ...]:
    given = [average] if isinstance(average, str) or not hasattr(average, "__iter__") else average
    names = tuple(given)
    for name in names:
        check_choice("average", name, get_args(Average))
        if names.count(name) > 1:
            raise RepeatedNameError.of("average", name, names)
    if not names:
        todo = 'Name one, say average="hand_till".'
        raise OptionValueError.of("average", average, "it names no average", todo)
    return names


Values: TypeAlias = "dict[Average, NDArray[np.float64]]"

NUMBERS = ("se", "lower", "upper", "ci_level")

FEW = 300  # rows of a group from which it is quicker to look at groups one by one


def measured(
    frame: pl.DataFrame,
    bound: Bound,
    codes: NDArray[np.int32],
    averages: Sequence[Average],
    confidence: Confidence,
) -> pl.DataFrame:
    """Return the keys of each group, then the columns of the table."""
    every = list(read(frame, bound))
    first, used = every[0], Used.of(every)
    found = Groups.of(first.keys, len(codes))
    groups, group = found.keys.height, numbered_groups(found.starts, found.order)
    order = np.flatnonzero(used.used)
    order = order[np.argsort(group[order] * len(every) + codes[order], kind="stable")]
    rows = Rows(
        code=codes,
        scores=[cases.score for cases in every],
        scored=[None if cases.state is None else cases.state != State.UNSCORED for cases in every],
        count=used.count,
        weight=None if first.weight is None else scaled(first.weight)[0],
        cluster=first.cluster,
    ).take(order)
    starts = np.searchsorted(group[order], np.arange(groups + 1))
    n, n_classes = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    np.add.at(n, group[order], rows.count)
    cells = np.unique(group[order] * len(every) + rows.code) // len(every)
    np.add.at(n_classes, cells, 1)
    areas = _areas(rows, starts, averages)
    lines = {
        "n": n,
        "n_missing": used.n_missing(group, groups),
        "n_classes": np.full(groups, len(every)),
        "n_classes_used": n_classes,
    }
    notes = np.select([np.diff(starts) == 0, n_classes < 2], ["no_rows", "one_class"], "")
    columns: dict[str, Any] = {
        "average": [*averages] * groups,
        **{name: np.repeat(values, len(averages)) for name, values in lines.items()},
        "auc": np.stack([areas[name] for name in averages], axis=1).ravel(),
        "note": [note or None for note in np.repeat(notes, len(averages)).tolist()],
        **{name: np.full(groups * len(averages), np.nan) for name in NUMBERS},
        "ci_method": [None] * (groups * len(averages)),
    }
    if confidence.ci is not None:
        keys = stream_keys(found.keys)
        for i in np.flatnonzero(n_classes > 1).tolist():
            own = rows.take(slice(starts[i], starts[i + 1])).merged()
            places = range(i * len(averages), (i + 1) * len(averages))
            area = dict(zip(averages, columns["auc"][places.start : places.stop], strict=True))
            for place, line in zip(places, _intervals(own, area, confidence, keys[i]), strict=True):
                for name, value in line.items():
                    columns[name][place] = value
    row_group = np.repeat(np.arange(groups), len(averages))
    return build_table(found.keys, columns, MULTICLASS_AUC.columns(), rows=row_group)


def _areas(rows: Rows, starts: NDArray[np.int64], averages: Sequence[Average]) -> Values:
    """Return the areas of each group; NaN with fewer than 2 classes."""
    groups, size = len(starts) - 1, int(rows.count.sum())
    exact = rows.weight is None and size * size * len(rows.scores) <= LARGEST
    if exact and len(rows.code) < FEW * groups:
        group = np.repeat(np.arange(groups), np.diff(starts))
        return grouped_areas(rows, group, groups, averages)
    found = {name: np.full(groups, np.nan) for name in averages}
    for i in np.flatnonzero(np.diff(starts)):
        own = rows.take(slice(starts[i], starts[i + 1]))
        group_of = own.group
        for name, area in group_of.areas(
            own.mass[None, :], averages, group_of.classes(averages)
        ).items():
            found[name][i] = area[0]
    return found


def _intervals(
    rows: Rows, areas: dict[Average, float], confidence: Confidence, key: tuple[int, ...]
) -> Iterator[dict[str, Any]]:
    """Yield standard error, limits and note of each average of one group."""
    values, redrawn = _replicates(rows, list(areas), confidence, key)
    bca = confidence.ci == "bootstrap_bca"
    influence = influences(rows, list(areas)) if bca else {}
    for name, area in areas.items():
        rising = np.sort(values[name])
        if nearly_equal(rising[0], rising[-1]):
            yield {"ci_level": confidence.level, "note": "zero_variance"}
            continue
        a = skewness(rows, influence[name]) if bca else 0.0
        lower, upper = np.clip(
            bootstrap_limits(str(confidence.ci), confidence.level, area, rising, a), 0, 1
        )
        yield {
            "ci_level": confidence.level,
            "se": rising.std(ddof=1),
            "lower": lower,
            "upper": upper,
            "ci_method": None if np.isnan(lower) else confidence.ci,
            "note": f"redrawn:{redrawn}" if redrawn else None,
        }


def _replicates(
    rows: Rows, averages: Sequence[Average], confidence: Confidence, key: tuple[int, ...]
) -> tuple[Values, int]:
    """Return the averages of resamples of whole rows, and how many were drawn again."""
    group, urn, unit = rows.group, Urn.of(rows.count), None
    if rows.cluster is not None:
        clusters, unit = np.unique(rows.cluster, return_inverse=True)
        urn = Urn.of(np.ones(len(clusters), np.int64))
    classes = list(group.classes(averages))
    size = max(1, BLOCK // max(urn.size, len(rows.code)))
    firsts = range(0, confidence.n_boot, size)

    def batch(place: int) -> tuple[Values, int]:
        stream = confidence.seed.stream(key, place)
        length = min(size, confidence.n_boot - firsts[place])
        counts = np.zeros((length, len(rows.code)), np.int64)
        wanted, redrawn = np.arange(length), 0
        while len(wanted):
            drawn = urn.draw(stream, np.full(len(wanted), urn.total))
            counts[wanted] = drawn if unit is None else drawn[:, unit] * rows.count
            wanted = wanted[group.present(counts[wanted]) < 2]
            redrawn += len(wanted)
        mass = counts if rows.weight is None else counts * rows.weight
        return group.areas(mass, averages, classes), redrawn

    done = spread(batch, range(len(firsts)))
    values = {name: np.concatenate([part[0][name] for part in done]) for name in averages}
    return values, sum(part[1] for part in done)
