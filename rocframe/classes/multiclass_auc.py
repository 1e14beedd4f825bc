"""The verb `multiclass_auc`: a many-class table → areas over all classes of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from rocframe.classes.coded import Given, coded
from rocframe.classes.scores import read_scores
from rocframe.classes.values import as_classes
from rocframe.errors import LabelError, OptionValueError, RepeatedNameError
from rocframe.frames import like, planned, through_node
from rocframe.options import check_choice
from rocframe.vocabulary import multiclass_auc_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.classes.scores import Classes, ClassScores
    from rocframe.frames import FrameT
    from rocframe.predictions import By, Column, Count, Missing

Average = Literal["hand_till", "macro", "weighted", "micro"]
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
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Measure the area under the ROC curve over all classes of each group.

    All areas count pairs of rows of different classes: that of class i wins if its score of i is
    the higher one; a tie counts half. What differs is which pairs weigh how much.

    Parameters
    ----------
    predictions
        One row per prediction. A LazyFrame stays lazy.
    label
        Column or expression with the class of each row.
    scores
        Score of each class; higher means more of that class. A mapping from classes to columns or
        expressions; a list of columns or a selector, if columns are named like the classes; or one
        column of lists or arrays, with `classes`.
    by
        Group columns: one name or several. A null key is a group.
    classes
        For lists the classes, in the order of the lists.
    average
        One or several of `"hand_till"`, M: the mean over ordered pairs of classes, each class
        against each other; `"macro"`: the mean over classes, each against all others;
        `"weighted"`: the same weighted by how frequent a class is (Provost and Domingos);
        `"micro"`: the area of all scores of all classes in one ranking.
    ci
        Method of the interval: quantiles of resamples, `"bootstrap"`, or these turned about the
        estimate, `"bootstrap_basic"`, or corrected for bias and skewness, `"bootstrap_bca"`; None
        for no interval.
    level
        Share of intervals that cover, between 0 and 1.
    n_boot
        How many resamples the bootstrap draws.
    seed
        Whole number from 0 that fixes what is drawn; None draws anew each time. What a group draws
        depends on the seed and its key only.
    cluster
        Column or expression saying which rows belong together, such as those of one user: what
        varies is independent clusters, whose rows need not be.
    weight
        Column or expression with the importance of a row, finite and at least 0.
    count
        Column or expression saying how many identical rows a row stands for; everything is what
        that many rows would give. A table with a column `count` needs a word: its name, or None.
    missing
        What becomes of rows whose label, score, weight or count is null or NaN: `"raise"` an
        error; `"drop"` them and count them; or `"worst"`, for scores only: an unscored positive
        is a false negative and an unscored negative a false positive at every threshold.

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
    from rocframe.inference.intervals import Confidence

    averages = _averages(average)
    confidence = Confidence.of(ci, level, n_boot, seed, get_args(Method))
    columns = multiclass_auc_schema()

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
            from rocframe.classes.measured import measured

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
