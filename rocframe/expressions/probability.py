"""Expressions for scoring rules and calibration measures of probabilities."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import polars as pl

from rocframe.expressions.rates import field, formula_expression, pack_rows, record
from rocframe.options import public
from rocframe.probabilities.bins import BIN_ROUNDING, Binning
from rocframe.probabilities.losses import EPSILON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.expressions.rates import Rows
    from rocframe.inputs.roles import Column
    from rocframe.probabilities.bins import BinMethod


@public
def brier(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the Brier score of the group: the mean of (probability - outcome)².

    The outcome is 1 for a positive and 0 for a negative. Lower values are better.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], named like the score; null if there are no positives, or if a score is
        outside [0, 1].

    References
    ----------
    G. W. Brier (1950), Monthly Weather Review 78(1), 1-3.
    doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> round(predictions.select(pl.col("score").roc.brier("label")).item(), 6)
    0.176667
    """
    return formula_expression(_brier, score, label, positive, weight, count)


@public
def log_loss(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the logarithmic loss of the group: the mean of -log(probability of the outcome).

    The logarithm is natural. Lower values are better. Scores are clipped to [ε, 1 - ε] with ε =
    2⁻⁵², so that the loss is finite.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64, named like the score; null without positives, or if a score is outside [0, 1].

    References
    ----------
    I. J. Good (1952), Journal of the Royal Statistical Society B 14(1), 107-114.
    doi:10.1111/j.2517-6161.1952.tb00104.x

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> round(predictions.select(pl.col("score").roc.log_loss("label")).item(), 6)
    0.510826
    """
    return formula_expression(
        lambda rows: _mean_loss(rows, _row_log_loss(rows)), score, label, positive, weight, count
    )


@public
def brier_skill(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the Brier skill score of the group: 1 - Brier score / (π·(1 - π)).

    π is the share of positives of the group, and π·(1 - π) is the Brier score if all scores are π.
    The skill is 1 if all scores are equal to the outcomes, and 0 or less if the scores are not
    better than the constant score π.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64, at most 1, named like the score; null if a class has no rows, or if a score is
        outside [0, 1].

    References
    ----------
    G. W. Brier (1950), Monthly Weather Review 78(1), 1-3.
    doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> round(predictions.select(pl.col("score").roc.brier_skill("label")).item(), 6)
    0.205
    """
    return formula_expression(_brier_skill, score, label, positive, weight, count)


@public
def cllr(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute Cllr of the group: the logarithmic loss in bits, with equal weights of both classes.

    Cllr is the average of two means of -log2(probability of the outcome): over the positives and
    over the negatives. The scores have to be calibrated for a prevalence of 1/2; convert others
    with `at_prevalence` first. Cllr is 0 for perfect scores, and 1 if all scores are 1/2. Scores
    are clipped to [ε, 1 - ε] with ε = 2⁻⁵², as in `log_loss`.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64, named like the score; null without a class, or if a score is outside [0, 1].

    References
    ----------
    N. Brümmer, J. du Preez (2006), Computer Speech and Language 20(2-3), 230-275.
    doi:10.1016/j.csl.2005.08.001

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> round(predictions.select(pl.col("score").roc.cllr("label")).item(), 6)
    0.736966
    """
    return formula_expression(_cllr, score, label, positive, weight, count)


@public
def ece(
    score: pl.Expr,
    label: Column,
    *,
    method: BinMethod = "quantile",
    bins: int | Sequence[float] = 10,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the expected calibration error of the group, with bins of scores.

    It is the mean over bins of the absolute difference between the event rate (share of positives)
    and the mean score, weighted by the numbers of rows or the sums of weights.

    Parameters
    ----------
    label
        As in `auc`.
    method : {"quantile", "uniform"}, default "quantile"
        Bins with about the same number of rows, or of equal width, as in `rocframe.calibration`.
    bins : int or sequence of float, default 10
        Number of bins, or edges of the score, as in `rocframe.calibration`.
    positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], named like the score; null if there are no positives, or if a score is
        outside [0, 1].

    References
    ----------
    M. P. Naeini, G. F. Cooper, M. Hauskrecht (2015), Proceedings of the AAAI Conference on
    Artificial Intelligence 29(1). doi:10.1609/aaai.v29i1.9602

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> round(predictions.select(pl.col("score").roc.ece("label", bins=2)).item(), 6)
    0.1
    """
    binning = Binning.parse(method, bins)
    return formula_expression(
        lambda rows: _ece(rows, binning), score, label, positive, weight, count
    )


@public
def spiegelhalter_z(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute Spiegelhalter's z, a test statistic of the calibration of the group.

    z is the sum of (outcome - score)·(1 - 2·score), divided by its standard deviation. If the
    scores are calibrated and the rows independent, z is about standard normal.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64, named like the score; null without positives, or if a score is outside [0, 1].
        If all scores are 0, 1/2 or 1, z is infinite if a positive has the score 0 or a negative the
        score 1, and null if not.

    References
    ----------
    D. J. Spiegelhalter (1986), Statistics in Medicine 5(5), 421-433. doi:10.1002/sim.4780050506

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> round(predictions.select(pl.col("score").roc.spiegelhalter_z("label")).item(), 6)
    -0.144338
    """
    return formula_expression(_spiegelhalter_z, score, label, positive, weight, count)


@public
def observed_to_expected(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the number of positives of the group divided by the sum of its scores.

    It is above 1 if the scores are too low on average, and below 1 if they are too high.

    Parameters
    ----------
    label, positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64, named like the score; null without positives, or if a score is outside [0, 1].
        If all scores are 0, the result is infinite.

    References
    ----------
    E. W. Steyerberg (2019), Clinical Prediction Models, 2nd edition, Springer, chapter 15.
    doi:10.1007/978-3-030-16399-0

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> round(predictions.select(pl.col("score").roc.observed_to_expected("label")).item(), 6)
    1.176471
    """
    return formula_expression(_observed_to_expected, score, label, positive, weight, count)


def _brier(rows: Rows) -> pl.Expr:
    return _mean_loss(rows, (_probability(rows) - _outcome(rows)) ** 2)


def _brier_skill(rows: Rows) -> pl.Expr:
    pos, neg = rows.class_totals
    # A rounded share of positives could differ from 0 and 1 although a class is absent.
    reference = pos / (pos + neg) * (neg / (pos + neg))
    return pl.when((pos > 0) & (neg > 0)).then(1 - _brier(rows) / reference)


def _cllr(rows: Rows) -> pl.Expr:
    loss, (pos, neg) = _row_log_loss(rows), rows.class_totals
    of_pos, of_neg = (_total(rows, loss, where) for where in (rows.positive, ~rows.positive))
    mean = (of_pos / pos + of_neg / neg) / (2 * log(2))
    return pl.when(_are_probabilities(rows) & (pos > 0) & (neg > 0)).then(mean)


def _ece(rows: Rows, binning: Binning) -> pl.Expr:
    """Return the expected calibration error from cumulative sums at the ends of the bins."""
    score, weight, total = field("score"), field("weight"), field("total")
    row_weight = field("positive").is_not_null().cast(pl.Int64)
    if rows.weight is not None:
        row_weight = field("count") * weight
    elif rows.count is not None:
        row_weight = field("row_weight").cast(pl.Int128)
    outcome, probability = field("positive").cast(pl.Float64), score.cast(pl.Float64)
    table = pack_rows(rows).list.eval(pl.element().sort_by(score))
    table = table.list.eval(
        record(
            score=probability,
            gap=row_weight.cast(pl.Float64) * (outcome - probability),
            before=row_weight.cum_sum() - row_weight,
            total=row_weight.sum(),
        )
    )
    if binning.edges is not None:
        edges = pl.Series(binning.edges[1:-1]).cast(rows.scores).cast(pl.Float64)
        index = pl.lit(edges).search_sorted(score, side="right")
    else:
        is_first = score.ne_missing(score.shift(1))
        below = pl.when(is_first).then(field("before")).forward_fill()
        index = (binning.n * below) // total
        if rows.weight is not None:
            index = (binning.n * below / total + BIN_ROUNDING).floor()
        index = index.clip(0, binning.n - 1)
    table = table.list.eval(
        record(gap=field("gap").cum_sum(), total=total, last=index.ne_missing(index.shift(-1)))
    )
    ends = field("gap").filter(field("last"))
    difference = (ends - ends.shift(1, fill_value=0)).abs().sum()
    error = table.list.agg(pl.when(total.count() > 0).then(difference / total.first()))
    return pl.when(_are_probabilities(rows)).then(error)


def _spiegelhalter_z(rows: Rows) -> pl.Expr:
    score = _probability(rows)
    slope = 1 - 2 * score
    variance = slope**2 * score * (1 - score)
    total = _total(rows, (_outcome(rows) - score) * slope)
    if rows.weight is None:
        z = total / _total(rows, variance).sqrt()
    else:
        # The squares of very small weights would be 0.
        largest = rows.weight.filter(rows.used).max()
        z = total / largest / (_total(rows, rows.weight / largest * variance) / largest).sqrt()
    return pl.when(_are_probabilities(rows)).then(z.fill_nan(None))


def _observed_to_expected(rows: Rows) -> pl.Expr:
    ratio = _total(rows, _outcome(rows)) / _total(rows, _probability(rows))
    return pl.when(_are_probabilities(rows)).then(ratio.fill_nan(None))


def _probability(rows: Rows) -> pl.Expr:
    return rows.score.cast(pl.Float64)


def _outcome(rows: Rows) -> pl.Expr:
    return rows.positive.cast(pl.Float64)


def _row_log_loss(rows: Rows) -> pl.Expr:
    """Return -log(probability of the outcome) of each row."""
    probability = _probability(rows).clip(EPSILON, 1 - EPSILON)
    return -pl.when(rows.positive).then(probability).otherwise(1 - probability).log()


def _are_probabilities(rows: Rows) -> pl.Expr:
    """Return whether all scores of the used rows are in [0, 1]."""
    return _probability(rows).is_between(0, 1).filter(rows.used).all()


def _total(rows: Rows, values: pl.Expr, where: pl.Expr | None = None) -> pl.Expr:
    """Return the sum of values times row weights over the used rows where `where` is true."""
    selected = rows.used if where is None else rows.used & where
    if rows.row_weight is not None:
        values = rows.row_weight.cast(pl.Float64) * values
    return values.filter(selected).sum()


def _mean_loss(rows: Rows, loss: pl.Expr) -> pl.Expr:
    """Return the mean loss of the rows; null if there are no rows or a score is outside [0, 1]."""
    loss = loss.filter(rows.used)
    if rows.row_weight is None:
        return pl.when(_are_probabilities(rows)).then(loss.mean())
    weight = rows.row_weight.filter(rows.used).cast(pl.Float64)
    total = weight.sum()
    mean = (weight * loss).sum() / total
    return pl.when(_are_probabilities(rows) & (total > 0)).then(mean)
