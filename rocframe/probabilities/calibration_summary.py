"""The function `calibration_summary`: measures of the calibration of each group in one row.

Each function returns one value for every group of the scan. A value is NaN if the group has no rows
or if the measure is undefined; degrees of freedom are 0 then. Sums over rows are sums of row
weights, and all scores must be probabilities (`check_probabilities`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

from rocframe.areas.pairs import group_sums
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import class_notes
from rocframe.inputs.cases import RowState, check_probabilities, plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import grouped_bisect
from rocframe.kernel.groups import RowGroups, cumulative_sums, group_starts, scale_weights
from rocframe.kernel.scan import Scan
from rocframe.options import NOT_GIVEN, parse_integer, public
from rocframe.probabilities.bins import Binning, probability_bins
from rocframe.probabilities.losses import (
    WEIGHT_SHARE_ROUNDING,
    binned_decomposition,
    brier_skill,
    corp_decomposition,
    find_points,
    isotonic_losses,
    positives_to_expected,
    probability_losses,
)
from rocframe.probabilities.regression import (
    loess,
    logistic_recalibration,
    smooth_error,
    unit_slope_intercept,
)
from rocframe.schemas.curves import CALIBRATION_SUMMARY

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Scores, Total
    from rocframe.kernel.arrays import Array, FloatArray, IntArray
    from rocframe.kernel.scan import Block, Scannable
    from rocframe.probabilities.bins import BinMethod, Bins
    from rocframe.probabilities.losses import Points


@public
def calibration_summary(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    total: Total = False,
    method: BinMethod = "quantile",
    bins: int | Sequence[float] = 10,
    n_fitted: int = 0,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Literal["raise", "drop"] = "raise",
) -> FrameT:
    """Compute measures of the calibration of probabilities, with one row for each group.

    The scores must be probabilities. The event rate is the share of positives. Scores are
    calibrated if, for each p, the rows with the score p have the event rate p.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The probability of the positive class; several columns add the group column `model`.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    total : bool, str or sequence of str, default False
        Add rows of all groups together, with a column `total`: True, or the group columns over
        which groups are combined, such as `"segment"` for a total of each model.
    method : {"quantile", "uniform"}, default "quantile"
        Type of the bins of `ece`, `mce`, the Hosmer-Lemeshow test and the parts of the Brier score.
    bins : int or sequence of float, default 10
        Number of bins, or edges of the score, as in `calibration`.
    n_fitted : int, default 0
        Number of bins minus the degrees of freedom of the Hosmer-Lemeshow test: usually 2 for the
        training rows of a logistic regression, and 0 for other rows.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop"}, default "raise"
        Missing values: an error, or rows left out.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group, sorted by group: `*by`, (`model`,) `brier, brier_skill, log_loss,
        miscalibration, discrimination, uncertainty, ece, mce, calibration_intercept,
        calibration_slope, spiegelhalter_z, spiegelhalter_p, hosmer_lemeshow, hosmer_lemeshow_df,
        hosmer_lemeshow_p, ici, e50, e90, e_max, cllr, cllr_min, n_pos, n_neg, n_missing, note,
        calibration_in_the_large, observed_to_expected, smooth_ece, reliability, resolution,
        within_bin_variance, within_bin_covariance`. All statistics are Float64, except
        `hosmer_lemeshow_df` (Int64), and are weighted if rows have weights.

        `brier` = `miscalibration` - `discrimination` + `uncertainty` by isotonic regression (CORP),
        and `reliability` - `resolution` + `uncertainty` + `within_bin_variance` -
        `within_bin_covariance` by bins. `ece` and `mce` are the mean and the largest difference of
        score and event rate over bins, `smooth_ece` the mean with a kernel, and `ici, e50, e90,
        e_max` the mean, median, 90th percentile and maximum of the difference to a local
        regression. `cllr` is in bits. Calibrated scores have `calibration_intercept` 0,
        `calibration_slope` 1, `observed_to_expected` 1, and a standard normal `spiegelhalter_z`.

        `n_pos`, `n_neg` and `n_missing` (Int64) count rows, without weights. `note` (String) is
        null or the first of `no_rows, no_positives, no_negatives, separated, one_positive,
        one_negative, zero_variance, left_out`. `separated`: a threshold separates the classes.
        `left_out:3`: 3 rows with a score of 0 or 1 are left out of the logistic parameters.

        Statistics are null without rows. `brier_skill`, `cllr`, `cllr_min` and the logistic
        parameters are null if a class is absent, and the logistic parameters also if all scores are
        equal or the classes are separated. `hosmer_lemeshow_p` is null without degrees of freedom.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if a score is outside [0, 1].

    See Also
    --------
    calibration : The event rate of each bin.
    fit_calibration : Functions that convert scores to probabilities.
    intervals : Confidence intervals of these measures.

    Notes
    -----
    `cllr` uses the odds of the score as likelihood ratio, so the score has to be the probability of
    a positive for a prevalence of 1/2; `.roc.at_prevalence` converts scores to this prevalence.

    References
    ----------
    - T. Dimitriadis et al. (2021), Proceedings of the National Academy of Sciences 118(8).
      doi:10.1073/pnas.2016191118
    - D. B. Stephenson et al. (2008), Weather and Forecasting 23(4), 752-757.
      doi:10.1175/2007WAF2006116.1
    - M. P. Naeini et al. (2015), AAAI Conference on Artificial Intelligence 29(1).
      doi:10.1609/aaai.v29i1.9602
    - D. R. Cox (1958), Biometrika 45(3/4), 562-565. doi:10.1093/biomet/45.3-4.562
    - D. J. Spiegelhalter (1986), Statistics in Medicine 5(5), 421-433. doi:10.1002/sim.4780050506
    - D. W. Hosmer, S. Lemeshow (1980), Communications in Statistics 9(10), 1043-1069.
      doi:10.1080/03610928008827941
    - P. C. Austin, E. W. Steyerberg (2019), Statistics in Medicine 38(21), 4051-4065.
      doi:10.1002/sim.8281
    - N. Brümmer, J. du Preez (2006), Computer Speech and Language 20(2-3), 230-275.
      doi:10.1016/j.csl.2005.08.001
    - J. Błasiok, P. Nakkiran (2023), "Smooth ECE". doi:10.48550/arXiv.2309.12236

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [0, 0, 1, 0, 1, 1, 0, 1], "score": [0.1, 0.2, 0.3, 0.3, 0.6, 0.7, 0.8, 0.9]}
    ... )
    >>> table = rf.calibration_summary(predictions, "label", "score", bins=2)
    >>> table.select("brier", "miscalibration", "discrimination", "uncertainty", "ece", "ici")
    shape: (1, 6)
    ┌─────────┬────────────────┬────────────────┬─────────────┬────────┬──────────┐
    │ brier   ┆ miscalibration ┆ discrimination ┆ uncertainty ┆ ece    ┆ ici      │
    │ ---     ┆ ---            ┆ ---            ┆ ---         ┆ ---    ┆ ---      │
    │ f64     ┆ f64            ┆ f64            ┆ f64         ┆ f64    ┆ f64      │
    ╞═════════╪════════════════╪════════════════╪═════════════╪════════╪══════════╡
    │ 0.19125 ┆ 0.045417       ┆ 0.104167       ┆ 0.25        ┆ 0.0125 ┆ 0.167633 │
    └─────────┴────────────────┴────────────────┴─────────────┴────────┴──────────┘
    """
    binning = Binning.parse(method, bins)
    n_fitted = parse_integer("n_fitted", n_fitted, low=0, example=2)
    table = plan_table(
        predictions,
        Roles(label, score, by, positive, weight, count, missing, needs_scores=True, total=total),
        lambda cases: _measures_table(cases, binning, n_fitted),
        columns=CALIBRATION_SUMMARY.columns(),
        anchor="n_pos",
    )
    return as_input_frame(predictions, table)


def _certain_rows(cases: Cases, n_groups: int) -> IntArray:
    """Return the number of rows of each group with a score of 0 or 1."""
    selected = (cases.score == 0) | (cases.score == 1)
    if cases.state is not None:
        selected &= cases.state == RowState.USED
    rows = np.flatnonzero(selected)
    n = np.zeros(n_groups, np.int64)
    if len(rows):
        group = RowGroups.from_keys(cases.keys, len(selected)).number[rows]
        np.add.at(n, group, 1 if cases.count is None else cases.count[rows])
    return n


def _measures_table(cases: Cases, binning: Binning, n_fitted: int) -> pl.DataFrame:
    """Return the measures of one model, with one row per group."""
    check_probabilities(cases)
    scan = Scan.from_cases(scale_weights(cases))
    totals = scan.totals
    losses, isotonic = probability_losses(scan), isotonic_losses(scan)
    bins, points = probability_bins(scan, binning), find_points(scan)
    fit = logistic_recalibration(scan)
    z, z_p_value = spiegelhalter(scan)
    test = hosmer_lemeshow(scan, bins, n_fitted=n_fitted)
    parts = binned_decomposition(scan, bins)
    columns: dict[str, Any] = {
        "brier": losses.brier,
        "brier_skill": brier_skill(scan, losses.brier),
        "log_loss": losses.log_loss,
        **corp_decomposition(scan, losses.brier, isotonic.brier)._asdict(),
        "ece": ece(scan, bins),
        "mce": mce(scan, bins),
        "calibration_intercept": fit.intercept,
        "calibration_slope": fit.slope,
        "spiegelhalter_z": z,
        "spiegelhalter_p": z_p_value,
        "hosmer_lemeshow": test.statistic,
        "hosmer_lemeshow_df": np.where(np.isnan(test.statistic), np.nan, test.df),
        "hosmer_lemeshow_p": test.p_value,
        **curve_errors(points)._asdict(),
        "cllr": losses.cllr,
        "cllr_min": isotonic.cllr,
        "n_pos": totals.pos_rows,
        "n_neg": totals.neg_rows,
        "n_missing": scan.rows.unscored.n_missing,
        "note": class_notes(
            totals.pos_rows,
            totals.neg_rows,
            zero_variance=fit.constant,
            separated=fit.separated,
            left_out=_certain_rows(cases, scan.rows.keys.height),
        ).tolist(),
        "calibration_in_the_large": unit_slope_intercept(scan),
        "observed_to_expected": positives_to_expected(scan),
        "smooth_ece": smooth_ece(points),
        "reliability": parts.reliability,
        "resolution": parts.resolution,
        "within_bin_variance": parts.within_bin_variance,
        "within_bin_covariance": parts.within_bin_covariance,
    }
    return build_table(scan.rows.keys, columns, CALIBRATION_SUMMARY.columns())


CONSTANT_STATISTIC = 1e-12  # a variance that is only a rounding error, divided by the squared mean


class CurveErrors(NamedTuple):
    """Mean, median, 90th percentile and maximum of |score - c(score)|; c is a calibration curve."""

    ici: FloatArray
    e50: FloatArray
    e90: FloatArray
    e_max: FloatArray


class HosmerLemeshow(NamedTuple):
    """Statistic, degrees of freedom and p-value of the test of each group."""

    statistic: FloatArray
    df: IntArray
    p_value: FloatArray


def ece(scan: Scannable, bins: Bins) -> FloatArray:
    """Return the expected calibration error: the mean of |event rate - mean score| over rows."""
    n_groups = len(scan.totals.pos)
    difference = bins.group_sums(np.abs(bins.pos - bins.score_sum), n_groups)
    with np.errstate(invalid="ignore"):
        return difference / bins.group_sums(bins.total, n_groups)


def mce(scan: Scannable, bins: Bins) -> FloatArray:
    """Return the maximum calibration error: the largest |event rate - mean score| of a bin."""
    largest = np.full(len(scan.totals.pos), np.nan)
    np.fmax.at(largest, bins.group, np.abs(bins.event_rate - bins.score_mean))
    return largest


def smooth_ece(points: Points) -> FloatArray:
    """Return the smooth calibration error; see `smooth_error`."""
    return points.of_all_groups(smooth_error(points))


def curve_errors(points: Points) -> CurveErrors:
    """Return the summary of the differences between the scores and their local regression.

    The percentile for a share p is the smallest difference e such that differences of at most e
    have the share p of the row weight, or if they have exactly p, the mean of e and the next.
    """
    owner = points.owner
    error = np.abs(points.score - loess(points).at(owner, points.score))
    total = points.group_sums(points.weight)
    order = np.lexsort((error, owner))
    error, weight = error[order], points.weight[order]
    share = cumulative_sums(weight.copy(), points.starts) / total[owner]
    lasts = points.starts[1:] - 1

    def percentile(p: float) -> FloatArray:
        at = grouped_bisect(
            lambda i: share[i] < p - WEIGHT_SHARE_ROUNDING, points.starts[:-1], lasts
        )
        at = np.minimum(at, lasts)
        following = np.where(share[at] <= p + WEIGHT_SHARE_ROUNDING, np.minimum(at + 1, lasts), at)
        middle: FloatArray = (error[at] + error[following]) / 2
        return middle

    mean = points.group_sums(error * weight) / total
    values = (mean, percentile(0.5), percentile(0.9), error[lasts])
    return CurveErrors(*map(points.of_all_groups, values))


def spiegelhalter(scan: Scan) -> tuple[FloatArray, FloatArray]:
    """Return Spiegelhalter's z and its two-sided p-value.

    z is the sum of weight·(label - score)·(1 - 2·score), divided by the square root of the sum of
    weight²·(1 - 2·score)²·score·(1 - score); infinite if only the divisor is 0.
    """

    def add(block: Block) -> list[FloatArray]:
        pos, neg = block.pos, block.neg
        score = scan.codec.decode(block.codes)
        slope, variance = 1 - 2 * score, score * (1 - score)
        terms = (pos * (1 - score) - neg * score) * slope
        variances = _squares(block) * slope**2 * variance
        return [np.add.reduceat(values, block.starts[:-1]) for values in (terms, variances)]

    total, variance = group_sums(scan, scan.map(add, squares=True), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = total / np.sqrt(variance)
    return z, 2 * ndtr(-np.abs(z))


def hosmer_lemeshow(scan: Scan, bins: Bins, *, n_fitted: int = 0) -> HosmerLemeshow:
    """Return the test of Hosmer and Lemeshow; `bins` are those of `probability_bins`.

    The statistic is the sum of (O - E)² / (n·m·(1 - m)) over the bins, with the positives O, the
    rows n, the mean score m, and E = n·m. With weights, O and E are sums of row weights, and the
    sum of the squared weights replaces n. A bin in which all scores are 0 or all are 1 is left out
    if O = E, and otherwise makes the statistic infinite. The degrees of freedom are the number of
    bins minus `n_fitted`. If `n_fitted` is 0, the p-value is that of a multiple of a chi-squared
    distribution with the mean and the variance of the statistic for calibrated scores.
    """
    mean = bins.score_mean
    squares, exact, excess = _bin_moments(scan, bins)
    variance = squares * mean * (1 - mean)
    difference = np.where((mean == 0) & (bins.pos == 0) | (mean == 1) & (bins.neg == 0), 0.0, 1.0)
    difference *= bins.pos - bins.total * mean
    # The quotient overflows if an outcome contradicts scores that are nearly 0.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = difference**2 / variance
        # Of calibrated scores, a squared difference has the mean `exact` and this variance.
        moments = exact / variance, (2 * exact**2 + excess) / variance**2
    is_used = ~np.isnan(terms)
    n_groups = len(scan.totals.pos)
    statistic = bins.group_sums(np.where(is_used, terms, 0), n_groups)
    n_bins = bins.group_sums(is_used, n_groups).astype(np.int64)
    statistic[bins.group_sums(np.ones(len(terms)), n_groups) == 0] = np.nan
    df = np.maximum(n_bins - n_fitted, 0)
    if n_fitted:
        p_value = chdtrc(np.maximum(df, 1), statistic)
    else:
        finite = is_used & (variance > 0)
        total, spread = (bins.group_sums(np.where(finite, each, 0), n_groups) for each in moments)
        with np.errstate(divide="ignore", invalid="ignore"):
            p_value = chdtrc(2 * total**2 / spread, 2 * total / spread * statistic)
        # The statistic of bins of one row with the score 1/2 is constant.
        p_value[spread <= CONSTANT_STATISTIC * total**2] = 1
        p_value[np.isinf(statistic)] = 0
    p_value = np.where(df > 0, p_value, np.nan)
    return HosmerLemeshow(statistic=statistic, df=df, p_value=p_value)


def _squares(block: Block) -> Array:
    """Return the sum of count times squared weight at each score of a block."""
    pos, neg = block.pos_squares, block.neg_squares
    squares: Array = block.pos + block.neg if pos is None or neg is None else pos + neg
    return squares


def _bin_moments(scan: Scan, bins: Bins) -> FloatArray:
    """Return the squared weight of each bin, and variance and fourth cumulant of its positives."""
    result = np.zeros((3, len(bins.group)))
    if not len(bins.group):
        return result
    starts = group_starts(bins.group, len(scan.totals.pos))

    def add(block: Block) -> tuple[IntArray, FloatArray]:
        group = np.repeat(block.groups, np.diff(block.starts))
        score = scan.codec.decode(block.codes)
        first, last = starts[group], starts[group + 1] - 1
        position = grouped_bisect(lambda i: bins.score_max[i] < score, first, last)
        # A score above the last bin has the weight 0.
        squares, weight = _squares(block), block.pos + block.neg
        binomial = score * (1 - score)
        with np.errstate(divide="ignore", invalid="ignore"):
            fourth = np.where(weight > 0, squares * (squares / weight) ** 2, 0)
        values = squares, squares * binomial, fourth * binomial * (1 - 6 * binomial)
        return np.minimum(position, len(bins.group) - 1), np.array(values, np.float64)

    for position, values in scan.map(add, squares=True):
        result += [np.bincount(position, each, len(bins.group)) for each in values]
    return result
