"""Expressions of areas: `auc` and `average_precision`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.areas.area import RateRange
from rocframe.expressions.rates import (
    FP,
    FP0,
    NEG,
    POS,
    TP,
    TP0,
    both_classes,
    field,
    formula_expression,
    pack_rows,
    quotient,
    record,
    steps,
)
from rocframe.options import public

if TYPE_CHECKING:
    from rocframe.areas.area import Range
    from rocframe.expressions.rates import Rows
    from rocframe.inputs.roles import Column


@public
def auc(
    score: pl.Expr,
    label: Column,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    specificity: Range | None = None,
    sensitivity: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the area under the ROC curve of the group.

    The AUC is the probability that a random positive has a higher score than a random negative; a
    tie counts 1/2. The result is equal to the columns `auc` and `partial_auc` of `rocframe.auc`.

    Parameters
    ----------
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    fpr : (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`: the partial area is the integral of
        TPR over this range.
    tpr : (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`: the partial area is the integral of 1 -
        FPR over this range. With `fpr` as well, it is the part of the rectangle of both ranges
        below the curve.
    specificity : (float, float), default None
        Range of the specificity, 1 - FPR: `(0.9, 1)` is the same as `fpr=(0, 0.1)`.
    sensitivity : (float, float), default None
        Another name of `tpr`.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that a random model has 0.5 and a perfect model has
        1.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, default None
        Number of equal rows that a row represents.

    Returns
    -------
    Expr
        Float64, named like the score; null if there are no positives or no negatives. Rows with a
        null or NaN label or score are left out.

    References
    ----------
    - E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), Biometrics 44(3), 837-845.
      doi:10.2307/2531595
    - D. K. McClish (1989), Medical Decision Making 9(3), 190-195. doi:10.1177/0272989X8900900307

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.auc("label")).item()
    0.75
    """
    rates = {"fpr": fpr, "tpr": tpr, "specificity": specificity, "sensitivity": sensitivity}
    rate_range = RateRange.parse(rates, standardize)

    def area(rows: Rows) -> pl.Expr:
        return _area(rows) if rate_range is None else partial_auc(rows, rate_range)

    return formula_expression(area, score, label, positive, weight, count)


@public
def gini(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the Gini coefficient of the group: 2·AUC - 1, which is 0 for chance.

    It is also called the accuracy ratio, or Somers' D of the score given the label.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [-1, 1], named like the score; null if there are no positives or no negatives.
        Rows with a null or NaN label or score are left out.

    References
    ----------
    D. J. Hand, R. J. Till (2001), Machine Learning 45, 171-186. doi:10.1023/A:1010920819831

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.gini("label")).item()
    0.5
    """
    return formula_expression(
        lambda rows: 2 * _area(rows) - 1, score, label, positive, weight, count
    )


def _area(rows: Rows) -> pl.Expr:
    if rows.row_weight is None:
        return _area_of_ranks(rows)
    if rows.weight is not None:
        area = ((FP - FP0) / NEG * ((TP + TP0) / POS)).sum() / 2
        return steps(rows).list.agg(
            both_classes(area.clip(0, 1))
        )  # sums of weights have rounding errors
    tp, tp0, fp, fp0 = (count.cast(rows.product_dtype) for count in (TP, TP0, FP, FP0))
    area = quotient(((fp - fp0) * (tp + tp0)).sum(), 2 * tp.last() * fp.last())
    return steps(rows).list.agg(both_classes(area))


def _area_of_ranks(rows: Rows) -> pl.Expr:
    """Return the area from midranks, which takes half the time of the computation from `steps`."""
    positive = field("positive")
    # Twice the sum of the midranks of P positives is 2·wins + ties + P·(P + 1). This number minus
    # P·(P + 1) is at most 2·P·N, where N is the number of negatives. The difference is correct even
    # if both terms overflow, because Int64 arithmetic is modulo 2^64.
    doubled = (field("score").rank("average") * 2).cast(pl.Int64).filter(positive).sum()
    pos, neg = positive.cast(pl.Int64).sum(), (~positive).cast(pl.Int64).sum()
    area = quotient(doubled - pos * (pos + 1), 2 * pos * neg)
    return pack_rows(rows).list.agg(pl.when((pos > 0) & (neg > 0)).then(area))


@public
def auc_se(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute DeLong's standard error of the group's AUC.

    It is √(s²(V10)/m + s²(V01)/n), from the sample variances of the placement values (see
    `placement`) of the m positives and of the n negatives. These numbers depend on `count`, but not
    on `weight`.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64, named like the score; null if a class has fewer than two rows, or if the variance
        is 0: if a threshold separates the classes, or if all scores are equal.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})
    >>> round(predictions.select(pl.col("score").roc.auc_se("label")).item(), 6)
    0.176777
    """
    return formula_expression(_auc_se, score, label, positive, weight, count)


def _auc_se(rows: Rows) -> pl.Expr:
    theta = ((FP - FP0) / NEG * ((TP + TP0) / POS)).sum() / 2
    v10 = (NEG - FP + (NEG - FP0)) / (2 * NEG) - theta
    v01 = (TP + TP0) / (2 * POS) - theta
    if rows.weight is None:
        m, n = (total.cast(pl.Float64) for total in (POS, NEG))
        pos_squares, neg_squares = (TP - TP0) / m**2, (FP - FP0) / n**2
    else:
        m, n = (field(name).last().cast(pl.Float64) for name in ("pos_rows", "neg_rows"))
        pos_squares, neg_squares = (
            field("pos_squares") / POS / POS,
            field("neg_squares") / NEG / NEG,
        )
    variance = (
        m / (m - 1) * (pos_squares * v10**2).sum() + n / (n - 1) * (neg_squares * v01**2).sum()
    )
    # The variance is 0 only if all scores of one class are above those of the other class, or if
    # all scores are equal. These two conditions are tested with counts, because the computed
    # variance has rounding errors.
    below, above = ((FP > 0) & (TP0 < POS)).sum(), ((TP > 0) & (FP0 < NEG)).sum()
    has_variance = (below > 0) & (above > 0) & (TP.len() > 1)
    error = pl.when((m > 1) & (n > 1) & has_variance).then(variance.sqrt())
    return steps(rows, squares=True).list.agg(both_classes(error))


def partial_auc(rows: Rows, rate_range: RateRange) -> pl.Expr:
    """Return the integral of TPR over an FPR range, or of 1 - FPR over a TPR range, or of both."""
    a, b = rate_range.ends
    bottom, top = rate_range.bottom, rate_range.top
    x0, x1, y0, y1 = (field(name) for name in ("x0", "x1", "y0", "y1"))
    left, right = x0.clip(a, b), x1.clip(a, b)

    def height(x: pl.Expr) -> pl.Expr:
        return y0 + ((x - x0) / (x1 - x0)).clip(0, 1) * (y1 - y0)

    if rate_range.has_both_rates:
        # The segment rises from `left` to `right`; its parts below `bottom`, and below `top`.
        start, end = height(left), height(right)
        below, inside = (
            pl.when(end > start)
            .then(((limit - start) / (end - start)).clip(0, 1))
            .otherwise((start < limit).cast(pl.Float64))
            for limit in (bottom, top)
        )
        depth = (start.clip(bottom, top) + end.clip(bottom, top)) / 2 - bottom
        mean = (inside - below) * depth + (1 - inside) * (top - bottom)
    else:
        mean = height((left + right) / 2)
    area = pl.when(right > left).then((right - left) * mean).otherwise(0).sum()
    area = rate_range.standardize(area)
    # The rates of a class are null if the class has no rows.
    has_both_classes = x0.is_not_null().any() & y0.is_not_null().any()
    return _segment_rates(rows, rate_range).list.agg(pl.when(has_both_classes).then(area))


def _segment_rates(rows: Rows, rate_range: RateRange) -> pl.Expr:
    """Return the segments (x0, y0) to (x1, y1) on the axes of the range."""
    x0, x1, y0, y1 = FP0 / NEG, FP / NEG, TP0 / POS, TP / POS
    if rate_range.rate == "tpr":
        x0, x1, y0, y1 = 1 - y1, 1 - y0, 1 - x1, 1 - x0
    axes = {"x0": x0, "x1": x1, "y0": y0, "y1": y1}
    return steps(rows).list.eval(record(**{k: both_classes(axis) for k, axis in axes.items()}))


@public
def average_precision(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the average precision of the group.

    It is the sum of precision times the increase of recall over all thresholds, the distinct scores
    t at which rows with `score >= t` are predicted positive. `pr_auc` interpolates between them.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], named like the score; null if there are no positives. Rows with a null or
        NaN label or score are left out.

    References
    ----------
    T. Saito, M. Rehmsmeier (2015), PLoS ONE 10(3), e0118432. doi:10.1371/journal.pone.0118432

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> round(predictions.select(pl.col("score").roc.average_precision("label")).item(), 6)
    0.833333
    """
    return formula_expression(_average_precision, score, label, positive, weight, count)


@public
def pr_auc(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the area under the interpolated precision-recall curve of the group.

    It is the integral of precision over recall. Between two thresholds, the false positives are a
    linear function of the true positives, so precision is a hyperbola. `average_precision` is the
    area without interpolation.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], named like the score; null if there are no positives. Rows with a null or
        NaN label or score are left out.

    References
    ----------
    - J. Davis, M. Goadrich (2006), ICML, 233-240. doi:10.1145/1143844.1143874
    - T. Saito, M. Rehmsmeier (2015), PLoS ONE 10(3), e0118432. doi:10.1371/journal.pone.0118432

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> round(predictions.select(pl.col("score").roc.pr_auc("label")).item(), 6)
    0.887327
    """
    return formula_expression(_pr_auc, score, label, positive, weight, count)


def _average_precision(rows: Rows) -> pl.Expr:
    return _area_of_steps(rows, (TP - TP0) * (TP / (TP + FP)))


def _pr_auc(rows: Rows) -> pl.Expr:
    new_tp = TP - TP0
    # Between two points, fp is a linear function of tp. If fp is b + (a - 1)·t at t true positives,
    # the precision is t / (a·t + b).
    a = 1 + (FP - FP0) / new_tp
    b = FP0 - (a - 1) * TP0
    alerts_before = TP0 + FP0
    growth = pl.when(alerts_before > 0).then((TP + FP - alerts_before) / alerts_before).otherwise(0)
    area = new_tp / a - b / a**2 * growth.log1p()
    return _area_of_steps(rows, pl.when(new_tp > 0).then(area).otherwise(0))


def _area_of_steps(rows: Rows, step: pl.Expr) -> pl.Expr:
    """Return the sum of `step` over all distinct scores, divided by the number of positives."""
    area = (step.sum() / POS).clip(0, 1)
    return steps(rows, by_class=False).list.agg(pl.when(POS > 0).then(area))
