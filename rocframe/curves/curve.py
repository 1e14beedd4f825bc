"""The verb `curve`: predictions → a confusion matrix per threshold and group."""

from __future__ import annotations

from math import inf, isnan
from typing import TYPE_CHECKING

import polars.selectors as cs

from rocframe.curves.kinds import KindName, kind_named
from rocframe.curves.scales import scale_of
from rocframe.curves.simplify import as_error
from rocframe.errors import MissingColumnError, OptionValueError, RepeatedNameError
from rocframe.formulas import Settings
from rocframe.frames import like
from rocframe.options import as_number, as_numbers
from rocframe.predictions import Roles
from rocframe.rates import as_expressions, check_read
from rocframe.tabulate import tabulated
from rocframe.vocabulary import (
    MODEL,
    THRESHOLD,
    WALK,
    as_names,
    simplified_schema,
    walk_schema,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rocframe.cases import Cases
    from rocframe.frames import FrameT
    from rocframe.predictions import By, Column, Count, Missing, Scores


def curve(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    kind: KindName = "roc",
    metrics: str | pl.Expr | Sequence[str | pl.Expr] = (),
    thresholds: Sequence[float] | pl.Series | None = None,
    max_error: float | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
    prevalence: float | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
) -> FrameT:
    """Trace the curve of each group: a confusion matrix per distinct score.

    A row says what happens when every score at or above its threshold (`score >= threshold`) is
    called positive. Tied scores share a row. The first row of a group has threshold `inf` and
    calls nothing positive; an infinite score has a row of its own after it.

    Parameters
    ----------
    predictions
        One row per prediction. A LazyFrame stays lazy.
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    score
        Column or expression; higher means more positive. Any real number, never transformed. A
        list, a selector or a mapping from names to columns compares several models side by side.
        It adds the key `model` (String) after `by`.
    by
        Group columns: one name or several. A null key is a group.
    kind
        Which two rates are the axes: `"roc"` (fpr, tpr), `"precision_recall"` or `"pr"` (recall,
        precision), `"det"` (fpr, fnr), `"gain"` (alert_rate, tpr), `"lift"` (alert_rate, lift),
        `"lift_chart"` (alert_rate, tp).
    metrics
        More columns: names such as `"f1"` or `"mcc"`, and named expressions of your own over
        `tp`, `fp`, `fn`, `tn`. An alias such as `"specificity"` makes a column of that name.
    thresholds
        Only these thresholds, falling, and `inf`; no full table is built on the way.
    max_error
        Only the rows that `simplify` keeps, and its columns `error` and `area_change` right of
        all others; no full table is built on the way.
    positive
        The value of `label` that is the positive class; all others are negative. Needed unless
        labels are Boolean or 0/1.
    weight
        Column or expression with the importance of a row, finite and at least 0.
    count
        Column or expression saying how many identical rows a row stands for; everything is what
        that many rows would give. A table with a column `count` needs a word: its name, or None.
    missing
        What becomes of rows whose label, score, weight or count is null or NaN: `"raise"` an
        error; `"drop"` them and count them; or `"worst"`, for scores only: an unscored positive
        is a false negative and an unscored negative a false positive at every threshold.
    prevalence
        The share of positives, between 0 and 1, for which the metrics that depend on it are
        worked out; the counts stay as they are.
    beta
        How many times as much recall weighs as precision, in `"f_beta"`.
    costs
        What a `tp`, `fp`, `fn`, `tn` costs, in `"expected_cost"`; 0 where not named.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, (`model`,) `threshold, tp, fp, fn, tn`, the two rates, then `metrics`; with
        `max_error` then `error, area_change`. Sorted by group and falling threshold. Counts are
        Int64, or Float64 where rows are weighted;
        threshold and rates are Float64. A rate is null where its denominator is 0: a group
        without positives keeps its `fpr` and has null `tpr`. A group without usable rows is its
        `inf` row. Without `by` there is always one group; with `by` and no rows, none.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite.

    See Also
    --------
    auc : The area under each curve, from predictions.
    at : Operating points of a curve table.
    simplify : Fewer rows of a curve table, and what that costs.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> rf.curve(predictions, "label", "score")
    shape: (3, 7)
    ┌───────────┬─────┬─────┬─────┬─────┬─────┬─────┐
    │ threshold ┆ tp  ┆ fp  ┆ fn  ┆ tn  ┆ fpr ┆ tpr │
    │ ---       ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- │
    │ f64       ┆ i64 ┆ i64 ┆ i64 ┆ i64 ┆ f64 ┆ f64 │
    ╞═══════════╪═════╪═════╪═════╪═════╪═════╪═════╡
    │ inf       ┆ 0   ┆ 0   ┆ 2   ┆ 1   ┆ 0.0 ┆ 0.0 │
    │ 0.9       ┆ 1   ┆ 0   ┆ 1   ┆ 1   ┆ 0.0 ┆ 0.5 │
    │ 0.4       ┆ 2   ┆ 1   ┆ 0   ┆ 0   ┆ 1.0 ┆ 1.0 │
    └───────────┴─────┴─────┴─────┴─────┴─────┴─────┘

    A metric of ours and one of one's own:

    >>> wrong = (pl.col("fp") + pl.col("fn")).alias("wrong")
    >>> predictions.roc.curve("label", "score", metrics=["f1", wrong]).select("f1", "wrong")
    shape: (3, 2)
    ┌──────────┬───────┐
    │ f1       ┆ wrong │
    │ ---      ┆ ---   │
    │ f64      ┆ i64   │
    ╞══════════╪═══════╡
    │ 0.0      ┆ 2     │
    │ 0.666667 ┆ 1     │
    │ 0.8      ┆ 1     │
    └──────────┴───────┘
    """
    settings = Settings(beta=beta, costs=costs, prevalence=prevalence)
    shape = kind_named(kind)
    named = as_expressions(metrics, settings)
    if max_error is not None:
        max_error = as_error(max_error)
        _check_alone(thresholds)
    told = {} if max_error is None else simplified_schema()
    made = [*WALK, *shape.rates, *told]
    _check_metrics(named, [*as_names(by), *WALK, *shape.rates], made, score)
    check_read(named, beta=beta, costs=costs)
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )
    edges = None if thresholds is None else as_edges(thresholds)

    def make(cases: Cases) -> pl.DataFrame:
        # numpy loads with the first curve, not with the package.
        if max_error is not None:
            from rocframe.curves.few import traced_few

            return traced_few(cases, shape, scale_of(shape, None), max_error)
        if edges is None:
            from rocframe.curves.trace import traced

            return traced(cases)
        from rocframe.curves.fixed import counted_at

        return counted_at(cases, edges)

    walked = tabulated(
        predictions,
        roles,
        make,
        columns={**walk_schema(roles.mass), **told},
        more=(*shape.rates, *named),
        anchor=THRESHOLD,
    )
    # Metrics of one's own may use the rates.
    rated = walked.with_columns(*shape.exprs(settings))
    rated = rated.with_columns(expr.alias(name) for name, expr in named.items())
    if named:  # 0/0 in a metric of one's own is as undefined as in ours
        rated = rated.with_columns((cs.by_name(*named) & cs.float()).fill_nan(None))
    if told:
        rated = rated.select(~cs.by_name(*told), cs.by_name(*told))
    return like(predictions, rated)


def _check_alone(thresholds: object) -> None:
    if thresholds is not None:
        raise OptionValueError.of(
            "thresholds",
            thresholds,
            "these are the rows to make, and max_error= chooses others",
            "Leave out one of the two.",
        )


def _check_metrics(
    named: Mapping[str, pl.Expr], known: Sequence[str], made: Sequence[str], score: Scores
) -> None:
    """Check that metrics read columns that are there, and make columns that are not."""
    several = [] if isinstance(score, str) else [MODEL]
    for name, expr in named.items():
        for root in expr.meta.root_names():
            if root not in (*known, *several):
                raise MissingColumnError.of("metrics", root, known)
        if name in made:
            raise RepeatedNameError.taken("metrics", name, made)


def as_edges(thresholds: Sequence[float] | pl.Series) -> list[float]:
    """Read given thresholds: rising, each once, without the `inf` that is always there."""
    values = None if as_number(thresholds) is not None else as_numbers(thresholds)
    if values is None:
        raise OptionValueError.of(
            "thresholds",
            thresholds,
            "it is no list of numbers",
            "Give, say, thresholds=[0.1, 0.5].",
        )
    if any(map(isnan, values)):
        raise OptionValueError.of("thresholds", thresholds, "one of them is NaN", "Leave it out.")
    return sorted({value + 0.0 for value in values} - {inf})
