"""Expressions of rates at thresholds, and the cumulative counts that all expressions use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.errors import ColumnTypeError, LabelError, OptionValueError
from rocframe.inputs.cases import MAX_TOTAL_COUNT, MAX_TOTAL_WEIGHT
from rocframe.inputs.roles import (
    check_column_type,
    check_positive,
    column_expression,
    positive_literal,
)
from rocframe.options import check_supported, parse_fraction, public
from rocframe.schemas.table_type import score_floats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocframe.inputs.roles import Column

    TypedExpr = tuple[pl.Expr, pl.DataType]


@public
def tpr(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the true positive rate at the score of each row.

    The rate of a row is the share of the positives of the group with at least the score of the row.
    Rows without a label, or with weight or count 0, get a rate but are not counted.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], a value per row, named like the score; null if the score is missing or
        the group has no positives.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.tpr("label")).to_series().to_list()
    [0.5, 1.0, 1.0]
    """
    return formula_expression(
        lambda rows: _rate(rows, rows.positive), score, label, positive, weight, count
    )


@public
def fpr(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the false positive rate at the score of each row.

    The rate of a row is the share of the negatives of the group with at least the score of the row.
    Rows without a label, or with weight or count 0, get a rate but are not counted.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], a value per row, named like the score; null if the score is missing or
        the group has no negatives.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.fpr("label")).to_series().to_list()
    [0.0, 1.0, 1.0]
    """
    return formula_expression(
        lambda rows: _rate(rows, ~rows.positive),
        score,
        label,
        positive,
        weight,
        count,
        needs_positives=False,
    )


def _rate(rows: Rows, in_class: pl.Expr) -> pl.Expr:
    """Return, for each row, the share of the rows of a class with at least the same score."""
    sums = _cumulated_by_score("weight")
    rate = field("sum").gather(field("last")) / field("total")
    return (
        record(score=rows.score, weight=rows.class_weight(in_class))
        .implode()
        .list.eval(record(last=_tie_position("max"), sum=sums, total=sums.last()))
        .list.eval(pl.when(field("total") > 0).then(rate))
        .explode()
    )


def _tie_position(of_ties: Literal["min", "max"]) -> pl.Expr:
    """Return the first or last position of the ties of each row, in the order of falling scores."""
    return field("score").rank(of_ties, descending=True) - 1


def _cumulated_by_score(name: str) -> pl.Expr:
    """Return cumulative sums of a field in the order of falling scores; unscored rows are last."""
    return field(name).sort_by(field("score"), descending=True, nulls_last=True).cum_sum()


@public
def placement(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the placement value of each row among the scores of the other class.

    For a positive, it is the share of negatives with a lower score; for a negative, the share of
    positives with a higher score. A tie counts 1/2. The mean over each class is the AUC.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], a value per row, named like the score; null if the label or the score is
        missing, or if the other class has no rows.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.placement("label")).to_series().to_list()
    [1.0, 0.75, 0.5]
    """
    return formula_expression(
        _placement, score, label, positive, weight, count, needs_positives=False
    )


def _placement(rows: Rows) -> pl.Expr:
    tp, fp = _cumulated_by_score("tp"), _cumulated_by_score("fp")
    pos, neg = field("pos"), field("neg")
    share_below = (neg - _doubled_sum_above("fp") + neg) / (2 * neg)
    share_above = _doubled_sum_above("tp") / (2 * pos)
    return (
        record(
            score=rows.score,
            positive=rows.positive,
            tp=rows.class_weight(rows.positive),
            fp=rows.class_weight(~rows.positive),
        )
        .implode()
        .list.eval(
            record(
                positive=field("positive"),
                first=_tie_position("min"),
                last=_tie_position("max"),
                tp=tp,
                fp=fp,
                pos=tp.last(),
                neg=fp.last(),
            )
        )
        .list.eval(
            pl.when(field("positive") & (neg > 0))
            .then(share_below)
            .when(~field("positive") & (pos > 0))
            .then(share_above)
        )
        .explode()
    )


def _doubled_sum_above(name: str) -> pl.Expr:
    """Return, for each row, twice the sum of a field over higher scores; ties count one half."""
    above = field(name).shift(1, fill_value=0).gather(field("first"))
    return above + field(name).gather(field("last"))


@public
def ks(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the Kolmogorov-Smirnov statistic of the group: the maximum of TPR - FPR.

    Rows with `score >= threshold` are predicted positive. One threshold is above all scores, so the
    maximum is at least 0.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], named like the score; null if there are no positives or no negatives.
        Rows with a null or NaN label or score are left out.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.ks("label")).item()
    0.5
    """
    return formula_expression(_ks, score, label, positive, weight, count)


def _ks(rows: Rows) -> pl.Expr:
    if rows.weight is not None:
        return steps(rows).list.agg(both_classes((TP / POS - FP / NEG).max().clip(0, 1)))
    tp, fp = (count.cast(rows.product_dtype) for count in (TP, FP))
    numerator = (tp * fp.last() - fp * tp.last()).max()
    return steps(rows).list.agg(both_classes(quotient(numerator, tp.last() * fp.last())))


@public
def at_prevalence(
    score: pl.Expr,
    label: Column | None = None,
    *,
    prevalence: float | Column,
    sample_prevalence: float | Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Convert probabilities to probabilities for a population with another prevalence.

    The odds of each probability are multiplied by the odds of the new prevalence, divided by the
    odds of the sample prevalence. The result is correct if only the share of positives differs, and
    not the distribution of the scores within each class.

    Parameters
    ----------
    label : str or Expr, default None
        The true class: Boolean or 0/1, or any values with `positive`.
    prevalence : float, str or Expr
        Prevalence of the population, above 0 and below 1: a number, or a numeric column or
        expression with a value per row or group.
    sample_prevalence : float, str, Expr or None, default None
        Prevalence for which the scores are calibrated, above 0 and below 1, such as that of the
        training data. None: the (weighted) share of positives of the group, from `label`.
    positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], a value per row, named like the score; null if the score is missing or
        outside [0, 1], or if a prevalence is null, 0 or less, or 1 or more. Scores of 0 and 1 do
        not change.

    References
    ----------
    - M. Saerens, P. Latinne, C. Decaestecker (2002), Neural Computation 14(1), 21-41.
      doi:10.1162/089976602753284446
    - C. Elkan (2001), "The foundations of cost-sensitive learning", IJCAI, 973-978.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> sample = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.5, 0.5, 0.1]})
    >>> rare = pl.col("score").roc.at_prevalence("label", prevalence=0.1)
    >>> sample.select(rare.round(4)).to_series().to_list()
    [0.5, 0.1, 0.1, 0.0122]
    """
    if (label is None) == (sample_prevalence is None):
        given = "neither is given" if label is None else "both are given"
        raise OptionValueError.compose(
            "sample_prevalence",
            sample_prevalence,
            f"expected either sample_prevalence= or the labels of the sample, but {given}",
            "Use, for example, at_prevalence(prevalence=0.01, sample_prevalence=0.5) or "
            'at_prevalence("label", prevalence=0.01).',
        )
    if label is None:
        for name, value in {"positive": positive, "weight": weight, "count": count}.items():
            check_supported(name, value, "sample_prevalence=")
    population_odds = _prevalence_odds(_parse_prevalence("prevalence", prevalence))
    sample_odds = None
    if sample_prevalence is not None:
        sample_odds = _prevalence_odds(_parse_prevalence("sample_prevalence", sample_prevalence))

    def convert(rows: Rows) -> pl.Expr:
        ratio = (_label_odds(rows) if sample_odds is None else sample_odds) / population_odds
        p = rows.score.cast(pl.Float64)
        # In this form, rounding cannot change the order of two scores: every operation is monotone.
        converted = 1 / (1 + (1 - p) / p * ratio)
        is_end = (p == 0) | (p == 1)
        result = pl.when(is_end).then(p).when(p.is_between(0, 1)).then(converted)
        return pl.when(ratio.is_not_null()).then(result)

    return formula_expression(
        convert,
        score,
        pl.lit(None) if label is None else label,
        positive,
        weight,
        count,
        needs_positives=label is not None,
    )


def _parse_prevalence(argument: str, value: float | Column) -> pl.Expr:
    """Return a prevalence as an expression; check that it is numeric, a number in (0, 1)."""
    if not isinstance(value, str | pl.Expr):
        return pl.lit(parse_fraction(argument, value, example=0.1))

    def resolve(typed: list[TypedExpr]) -> pl.Expr:
        ((expr, dtype),) = typed
        # A column that contains only nulls may have dtype Null.
        if not (dtype.is_numeric() or dtype == pl.Null):
            hint = "Prevalences must be numbers. Cast the column first."
            raise ColumnTypeError.compose(argument, expr.meta.output_name(), dtype, hint)
        return expr.cast(pl.Float64)

    return pl.pipe_with_dtype([column_expression(argument, value)], resolve)


def _prevalence_odds(prevalence: pl.Expr) -> pl.Expr:
    """Return the odds of a prevalence; null if the prevalence is not above 0 and below 1."""
    return pl.when((prevalence > 0) & (prevalence < 1)).then(prevalence / (1 - prevalence))


def _label_odds(rows: Rows) -> pl.Expr:
    """Return the number of positives divided by the number of negatives; null if either is 0."""
    pos, neg = rows.class_totals
    return pl.when((pos > 0) & (neg > 0)).then(pos / neg)


# The largest weight is scaled to about 2**900. The sum of count times weight is then finite in
# Float64, because the sum of the counts is less than 2**62.
LARGEST_EXPONENT = 900


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The columns of a group, as expressions; None if an option is not set.

    `score` is null in rows without a score, and `positive` in rows without a label. `scores` is the
    float dtype of the scores. If one of the conditions in `invalid` is true for a group, its result
    is null.
    """

    score: pl.Expr
    positive: pl.Expr
    count: pl.Expr | None
    weight: pl.Expr | None
    threshold: pl.Expr | None
    scores: pl.DataType
    invalid: tuple[pl.Expr, ...]

    @property
    def row_weight(self) -> pl.Expr | None:
        """Count times weight of each row; None if neither count nor weight is given."""
        if self.weight is None or self.count is None:
            return self.count if self.weight is None else self.weight
        return self.count * self.weight

    @property
    def product_dtype(self) -> type[pl.DataType]:
        """Dtype for the product of two sums of row weights; integer products do not overflow."""
        if self.weight is not None:
            return pl.Float64
        return pl.Int64 if self.count is None else pl.Int128

    @property
    def used(self) -> pl.Expr:
        """Whether a row has a label, a score, and a row weight above 0."""
        known = self.positive.is_not_null() & self.score.is_not_null()
        return known if self.row_weight is None else known & (self.row_weight > 0)

    def class_weight(self, in_class: pl.Expr) -> pl.Expr:
        """Return the row weight of the used rows of a class, and 0 for all other rows."""
        row_weight = pl.lit(1, pl.Int64) if self.row_weight is None else self.row_weight
        return pl.when(self.used & in_class).then(row_weight).otherwise(0)

    @property
    def class_totals(self) -> tuple[pl.Expr, pl.Expr]:
        """The sums of the row weights of used positives and of used negatives, as floats."""
        pos, neg = (
            self.class_weight(in_class).sum().cast(pl.Float64)
            for in_class in (self.positive, ~self.positive)
        )
        return pos, neg


def formula_expression(  # noqa: PLR0917 - the order of the arguments of all expressions
    formula: Callable[[Rows], pl.Expr],
    score: pl.Expr,
    label: Column,
    positive: object,
    weight: Column | None,
    count: Column | None,
    *,
    threshold: pl.Expr | None = None,
    needs_positives: bool = True,
) -> pl.Expr:
    """Return the value of `formula` as an expression with the name of the score column.

    With `needs_positives`, the result is null for groups without positives: `positive` may be
    wrong, and an expression cannot raise an error that depends on data.
    """
    columns = {"score": score, "label": column_expression("label", label)}
    columns |= {} if weight is None else {"weight": column_expression("weight", weight)}
    columns |= {} if count is None else {"count": column_expression("count", count)}
    columns |= {} if threshold is None else {"threshold": threshold}

    # polars calls this function when it resolves the plan, once for each score column.
    def resolve(typed: list[TypedExpr]) -> pl.Expr:
        roles = dict(zip(columns, typed, strict=True))
        rows = _rows(roles, positive)
        result, invalid = formula(rows), rows.invalid
        if needs_positives:
            invalid = (*invalid, ~(rows.used & rows.positive).any())
        if invalid:
            result = pl.when(~pl.any_horizontal(invalid)).then(result)
        return result.alias(roles["score"][0].meta.output_name())

    return pl.pipe_with_dtype(list(columns.values()), resolve)


def _rows(roles: Mapping[str, TypedExpr], positive: object) -> Rows:
    """Return the columns of the roles as `Rows`; raise an error for an unsuitable dtype."""
    for role, (expr, dtype) in roles.items():
        # A column that contains only nulls may have dtype Null. Labels are checked in `_positive`.
        if role != "label" and dtype != pl.Null:
            check_column_type(role, expr.meta.output_name(), dtype)
    score, dtype = roles["score"]
    is_positive, invalid = _positive(*roles["label"], positive)
    count, weight = None, None
    if "count" in roles:
        count = roles["count"][0].cast(pl.Int64, strict=False)
        total = roles["count"][0].cast(pl.Float64).sum()
        invalid = (*invalid, (count < 0).any(), total >= MAX_TOTAL_COUNT)
    if "weight" in roles:
        weight = roles["weight"][0].cast(pl.Float64).fill_nan(None)
        total = weight.sum() if count is None else (count * weight).sum()
        invalid = (*invalid, ((weight < 0) | weight.is_infinite()).any(), total > MAX_TOTAL_WEIGHT)
    threshold = roles["threshold"][0] if "threshold" in roles else None
    if threshold is not None:  # compared in the dtype of the scores
        narrow = dtype in {pl.Float16, pl.Float32}
        threshold = threshold.cast(dtype if narrow else pl.Float64).fill_nan(None)
    return Rows(
        score=score.fill_nan(None) if dtype.is_float() else score,
        positive=is_positive,
        count=count,
        weight=weight,
        threshold=threshold,
        scores=score_floats([dtype]),
        invalid=invalid,
    )


def _positive(
    label: pl.Expr, dtype: pl.DataType, positive: object
) -> tuple[pl.Expr, tuple[pl.Expr, ...]]:
    """Return whether each label is positive, and conditions for groups with invalid labels."""
    if dtype == pl.Null:
        return label.cast(pl.Boolean), ()
    name = label.meta.output_name()
    check_column_type("label", name, dtype)
    if dtype.is_float():
        label = label.fill_nan(None)
    if positive is not None:
        positive = check_positive(positive, name, dtype)
        if dtype == pl.Boolean:
            return label if positive else ~label, ()
        return label == positive_literal(positive, dtype), ()
    if dtype == pl.Boolean:
        return label, ()
    if dtype.is_numeric():
        return label == 1, (((label != 0) & (label != 1)).any(),)
    raise LabelError.unknown_positive(name, dtype)


def field(name: str) -> pl.Expr:
    """Return a field of the structs in a list, for use in `list.eval` and `list.agg`."""
    return pl.element().struct.field(name)


def record(**columns: pl.Expr) -> pl.Expr:
    """Return a struct of columns, in which a single value is repeated for each row.

    polars computes `column / value` as `column * (1 / value)`, which may differ from the correctly
    rounded quotient in the last digit. The quotient of two fields of a struct is rounded correctly.
    """
    return pl.struct([expr.alias(name) for name, expr in columns.items()])


# The fields of `steps`. The last cumulative counts are the totals of both classes.
TP, FP, TP0, FP0 = (field(name) for name in ("tp", "fp", "tp0", "fp0"))
POS, NEG = TP.last(), FP.last()


def both_classes(value: pl.Expr) -> pl.Expr:
    """Return a value that was computed from `steps`, or null if a class has no rows."""
    return pl.when((POS > 0) & (NEG > 0)).then(value)


def quotient(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Divide integers as floats. The quotient of integers up to 2^53 is correctly rounded."""
    return numerator.cast(pl.Float64) / denominator.cast(pl.Float64)


def pack_rows(rows: Rows) -> pl.Expr:
    """Collect the used rows of each group into one list of structs."""
    columns = {"score": rows.score, "positive": rows.positive}
    if rows.weight is not None:
        columns["count"] = pl.lit(1, pl.Int64) if rows.count is None else rows.count
        columns["weight"] = rows.weight
    elif rows.count is not None:
        columns["row_weight"] = rows.count
    return record(**columns).filter(rows.used).implode()


def _add_row_weights(packed: pl.Expr, *, by_class: bool) -> pl.Expr:
    """Replace the weights of packed rows by count times weight and count times squared weight.

    First, weights are multiplied by a power of two, which does not change rates. With `by_class`,
    the largest weight of each class becomes about 1, so that squares do not underflow. Otherwise
    both classes have the same factor, up to `LARGEST_EXPONENT`. This avoids subnormal numbers:
    polars divides by multiplying with the reciprocal, which is infinite for some of them.
    """
    rows = {name: field(name) for name in ("score", "positive", "count")}
    weight, positive = field("weight"), field("positive")

    def factors(in_class: pl.Expr, exponent: int) -> tuple[pl.Expr, pl.Expr]:
        # The power of two may be too large for Float64, so the weights are multiplied by two
        # factors.
        power = exponent - weight.filter(in_class).max().log(2).floor()
        first = (power / 2).floor()
        return pl.lit(2.0).pow(first), pl.lit(2.0).pow(power - first)

    if by_class:
        pos, neg = factors(positive, 0), factors(~positive, 0)
        first, second = (
            pl.when(positive).then(of_pos).otherwise(of_neg)
            for of_pos, of_neg in zip(pos, neg, strict=True)
        )
    else:
        first, second = factors(positive.is_not_null(), LARGEST_EXPONENT)
    row_weight = field("count") * weight
    return packed.list.eval(record(**rows, weight=weight * first * second)).list.eval(
        record(**rows, row_weight=row_weight, square=row_weight * weight)
    )


def steps(
    rows: Rows, *, squares: bool = False, by_class: bool = True, scores: bool = False
) -> pl.Expr:
    """Return the cumulative counts of a group as a list of structs, one for each distinct score.

    The highest score is first. `tp` and `fp` are the sums of the row weights of positives and
    negatives with at least this score, and `tp0` and `fp0` those above it, integers unless rows are
    weighted; `scores` adds the score. For weighted rows, `squares` adds `pos_rows` and `neg_rows`,
    the numbers of rows with at least this score, and `pos_squares` and `neg_squares`, the sums of
    count times squared weight at this score.

    Weights are scaled, with a separate factor for each class if `by_class` is true. A ratio of `tp`
    to `fp`, such as the precision, is correct only with `by_class=False`.
    """
    positive, score = field("positive"), field("score")
    if rows.row_weight is None:
        sums = {"tp": positive.cast(pl.Int64).cum_sum(), "fp": (~positive).cast(pl.Int64).cum_sum()}
    else:
        sums = _cumulative_class_sums("tp", "fp", "row_weight")
    packed = pack_rows(rows)
    if rows.weight is not None:
        packed = _add_row_weights(packed, by_class=by_class)
        if squares:
            sums |= {
                **_cumulative_class_sums("pos_rows", "neg_rows", "count"),
                **_cumulative_class_sums("pos_squares", "neg_squares", "square"),
            }
    if scores:
        sums["score"] = score
    fields = {name: field(name) for name in sums}
    fields |= {f"{name}0": field(name).shift(1, fill_value=0) for name in ("tp", "fp")}
    for name in ("pos_squares", "neg_squares"):
        if name in sums:
            fields[name] = field(name) - field(name).shift(1, fill_value=0)
    last = score.ne_missing(
        score.shift(-1)
    )  # -0.0 and 0.0 are equal scores, and they are adjacent when sorted
    return (
        packed.list.eval(pl.element().sort_by(score, descending=True))
        .list.eval(record(last=last, **sums))
        .list.eval(pl.element().filter(field("last")))
        .list.eval(record(**fields))
    )


def _cumulative_class_sums(positives: str, negatives: str, name: str) -> dict[str, pl.Expr]:
    """Return the cumulative sums of a field over positives and negatives, with these names."""
    positive, value = field("positive"), field(name)
    return {
        positives: pl.when(positive).then(value).otherwise(0).cum_sum(),
        negatives: pl.when(positive).then(0).otherwise(value).cum_sum(),
    }
