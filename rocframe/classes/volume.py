"""The verb `volume`: scores of three classes → the volume under each group's ROC surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from rocframe.classes.coded import Given, coded
from rocframe.classes.scores import read_ordered, read_scores
from rocframe.classes.values import as_classes
from rocframe.errors import LabelError, OptionValueError
from rocframe.frames import like, planned, through_node
from rocframe.vocabulary import volume_schema

if TYPE_CHECKING:
    import polars as pl

    from rocframe.classes.scores import Classes, ClassScores
    from rocframe.frames import FrameT
    from rocframe.predictions import By, Column, Count, Missing

Method = Literal["logit", "wald"]


def volume(
    predictions: FrameT,
    /,
    label: Column,
    scores: ClassScores,
    *,
    by: By = None,
    classes: Classes = None,
    ci: Method | None = "logit",
    level: float = 0.95,
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Measure the volume under the ROC surface of three classes in each group.

    The volume is the chance that three rows, one of each class, are told apart: a row drawn from
    each, in no order, and each then given to another class. Guessing has 1/6, and 1 is the best.
    What tells them apart depends on `scores`, and `rule` says which it was.

    One score of all classes, with `classes` from lowest to highest, makes the rule `"order"`: the
    three rows are right if their scores stand in the order of their classes. A triple counts 1/2
    if two of its scores tie and the third stands where it should, and 1/6 if all three tie.

    A score of each class makes the rule `"sum"`: of the six ways to give three rows a class each,
    the one with the largest sum of scores is chosen, each row adding its score of the class it is
    given. A triple counts 1/k if the right way is one of k with the largest sum. Of logarithms of
    probabilities the largest sum is the largest product, which is the most likely way whatever the
    frequencies of the classes.

    Parameters
    ----------
    predictions
        One row per prediction. A LazyFrame stays lazy.
    label
        Column or expression with the class of each row.
    scores
        One column or expression, a score that rises from class to class; or a score of each of the
        three classes: a mapping from classes to columns or expressions; a list of columns or a
        selector, if columns are named like the classes; or one column of lists or arrays.
    by
        Group columns: one name or several. A null key is a group.
    classes
        For one score the three classes, from that of the lowest scores to that of the highest. For
        lists the classes, in the order of the lists.
    ci
        Method of the interval, from the variance of a U-statistic of three samples: `"logit"`, on
        the logit scale; `"wald"`, clipped to [0, 1]; None for no interval.
    level
        Share of intervals that cover, between 0 and 1.
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
        `*by, volume, lower, upper, se, rule, n_first, n_second, n_third, n_missing, ci_level,
        ci_method, note`; a row per group, sorted by group. `volume` (Float64) is null where a class
        has no rows; `se` and limits where one has a single row, or where all rows of a class have
        the same share of right triples, in each class. `n_first, n_second, n_third` (Int64) count
        the rows of the classes in the order in which they were named, `n_missing` those that lack a
        label or a score. Under `"worst"` no triple of an unscored row is right. `note`
        (String) is null, or the first that applies of `no_rows, absent_class, single_row,
        zero_variance`.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if there
        are not three classes, a label is of none of them, or values are missing under `"raise"`;
        for sums if a score is infinite, or if a group has so many rows that they cannot be tried.

    See Also
    --------
    multiclass_auc : one number for any number of classes, from pairs of rows.

    Notes
    -----
    Triples are counted in whole numbers: by order from one sort of the rows, so that millions are
    no burden; by sums from all pairs of rows, so that some thousands of each class are. Sums that
    differ by no more than rounding, 1e-12 of the largest score, are equal.

    Standard errors look at the share of right triples of each row: var = s₁²/n₁ + s₂²/n₂ + s₃²/n₃
    with the sample variance of the shares of each class, which is DeLong's variance for three
    samples.

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
    >>> found = rf.volume(stages, "stage", "score", classes=["low", "mid", "high"])
    >>> found.select("volume", "rule", "n_first", "n_second", "n_third", "note")
    shape: (1, 6)
    ┌────────┬───────┬─────────┬──────────┬─────────┬────────────┐
    │ volume ┆ rule  ┆ n_first ┆ n_second ┆ n_third ┆ note       │
    │ ---    ┆ ---   ┆ ---     ┆ ---      ┆ ---     ┆ ---        │
    │ f64    ┆ str   ┆ i64     ┆ i64      ┆ i64     ┆ str        │
    ╞════════╪═══════╪═════════╪══════════╪═════════╪════════════╡
    │ 0.875  ┆ order ┆ 2       ┆ 2        ┆ 1       ┆ single_row │
    └────────┴───────┴─────────┴──────────┴─────────┴────────────┘
    """
    # numpy loads with the first area, not with the package.
    from rocframe.inference.intervals import Confidence

    confidence = Confidence.of(ci, level, 2, 0, get_args(Method))
    columns = volume_schema()
    given = Given(label=label, by=by, count=count, missing=missing)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        found = read_ordered(plan, schema, scores, classes)
        found = found or read_scores(plan, schema, scores, classes)

        def three(dtype: pl.DataType, name: str) -> pl.Series:
            every = as_classes(found.argument, found.values or [], dtype, name)
            if len(every) != 3:
                raise OptionValueError.of(
                    found.argument,
                    every.to_list(),
                    f"a volume is of three classes, and these are {len(every)}",
                    "For any number of classes say multiclass_auc, for two say auc.",
                )
            return every

        node = coded(
            plan, schema, given, found, three, table=tuple(columns), error=LabelError.fourth
        )

        def run(frame: pl.DataFrame) -> pl.DataFrame:
            from rocframe.classes.volumes import measured

            codes = frame.get_column(node.code).to_numpy()
            table = measured(frame, node.bound, codes, confidence)
            names = {str(i): name for i, name in enumerate(node.bound.by)}
            return table.rename(names)

        return through_node(
            node.plan, run, schema={**node.bound.keys, **columns}, by=node.bound.by, anchor="rule"
        )

    return like(predictions, planned("predictions", predictions).pipe_with_schema(resolve))
