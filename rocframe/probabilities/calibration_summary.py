"""The function `calibration_summary`: measures of the calibration of each group in one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from rocframe.frames import as_input_frame, build_table
from rocframe.inference.notes import class_notes
from rocframe.inputs.cases import RowState
from rocframe.inputs.node import plan_table
from rocframe.inputs.probabilities import check_probabilities
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import RowGroups, scale_weights
from rocframe.kernel.scan import Scan
from rocframe.options import NOT_GIVEN, check_choice, parse_integer, public
from rocframe.probabilities.bins import MAX_BINS, probability_bins
from rocframe.probabilities.logistic import logistic_recalibration, unit_slope_intercept
from rocframe.probabilities.losses import (
    binned_decomposition,
    brier_skill,
    corp_decomposition,
    isotonic_losses,
    positives_to_expected,
    probability_losses,
)
from rocframe.probabilities.measures import (
    curve_errors,
    ece,
    hosmer_lemeshow,
    mce,
    smooth_ece,
    spiegelhalter,
)
from rocframe.probabilities.score_points import find_points
from rocframe.schemas.calibration import CALIBRATION_SUMMARY

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Scores


FixedBinMethod: TypeAlias = Literal["quantile", "uniform"]


@public
def calibration_summary(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    method: FixedBinMethod = "quantile",
    bins: int = 10,
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
    by : str or sequence of str, default None
        Group columns; null is a group.
    method : {"quantile", "uniform"}, default "quantile"
        Type of the bins, as in `calibration`. `ece`, `mce`, the Hosmer-Lemeshow test and the parts
        of the Brier score are computed from bins. `"quantile"`: bins with about the same number of
        rows. `"uniform"`: bins of equal width. Rows with equal scores are in the same bin.
    bins : int, default 10
        Number of bins.
    n_fitted : int, default 0
        Number that is subtracted from the number of bins, to obtain the degrees of freedom of the
        Hosmer-Lemeshow test. Pass 0 for rows that were not used to fit the model. For the training
        rows of a logistic regression, 2 is usual, whatever its number of coefficients.
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
        `hosmer_lemeshow_df` (Int64). Means and sums over rows are weighted if rows have weights.

        Losses:

        - `brier` is the mean of (score - outcome)², with the outcome 1 for a positive and 0 for a
          negative.
        - `brier_skill` is 1 - `brier` / `uncertainty`.
        - `log_loss` is the mean of -log(probability of the outcome), with the natural logarithm.
        - `cllr` is the average of two means of -log2(probability of the outcome): the mean over the
          positives and the mean over the negatives.
        - `cllr_min` is the lowest Cllr that is possible if the scores are replaced by an increasing
          function of the scores.

        Parts of the Brier score by isotonic regression: `brier` = `miscalibration` -
        `discrimination` + `uncertainty`.

        - `miscalibration` is the Brier score minus the Brier score of the isotonic regression of
          the labels on the score (the CORP method of Dimitriadis, Gneiting and Jordan 2021).
        - `discrimination` is `uncertainty` minus the Brier score of the isotonic regression.
        - `uncertainty` is π·(1 - π), where π is the event rate of the group.

        Parts of the Brier score by bins: `brier` = `reliability` - `resolution` + `uncertainty` +
        `within_bin_variance` - `within_bin_covariance`.

        - `reliability` is the mean over the bins of (mean score - event rate)², and `resolution` is
          the mean over the bins of (event rate - π)². Bins are weighted by their numbers of rows.
        - `within_bin_variance` is the variance of the scores within bins.
        - `within_bin_covariance` is twice the covariance of score and outcome within bins.

        Absolute differences between score and event rate:

        - `ece` is the mean over the bins of the difference between mean score and event rate,
          weighted by the numbers of rows. `mce` is the largest difference of a bin.
        - `smooth_ece` is also a mean difference between score and event rate, but a kernel is used
          instead of bins.
        - For `ici`, `e50`, `e90` and `e_max`, a local regression estimates the event rate at each
          score. The four columns are the mean, the median, the 90th percentile and the maximum of
          the difference between score and estimate over all rows.

        Logistic recalibration: `calibration_intercept` and `calibration_slope` are the parameters a
        and b of logit(P) = a + b·logit(score), where P is the probability of a positive. They are
        fitted by maximum likelihood. Calibrated scores have a = 0 and b = 1.
        `calibration_in_the_large` is the estimate of a with b = 1. `observed_to_expected` is the
        number of positives divided by the sum of the scores; calibrated scores have 1.

        Tests of calibration: `spiegelhalter_z` has a standard normal distribution for calibrated
        scores. `hosmer_lemeshow` has about a chi-squared distribution with `hosmer_lemeshow_df`
        degrees of freedom, the number of bins minus `n_fitted`. Bins whose scores are all 0 or all
        1 are not counted if their labels agree. If `n_fitted` is 0, `hosmer_lemeshow_p` is that of
        a multiple of a chi-squared distribution that has the mean and the variance of the statistic
        for calibrated scores. `spiegelhalter_p` is two-sided.

        `n_pos`, `n_neg` and `n_missing` (Int64) are the numbers of positives, of negatives, and of
        rows with a missing value. A row counts `count` times; `weight` has no effect on these
        numbers. `note` (String) is null, or the first of these values that applies: `no_rows,
        no_positives, no_negatives, separated, one_positive, one_negative, zero_variance, left_out`.
        `zero_variance` means that all scores between 0 and 1 are equal, and `separated` that a
        threshold separates the classes; the logistic parameters are then null. `left_out:3` means
        that 3 rows with a score of 0 or 1 are left out of the logistic parameters, because their
        log odds are infinite.

        All statistics are null if the group has no rows. `brier_skill`, `cllr`, `cllr_min` and the
        logistic parameters are null if there are no positives or no negatives.

        - `calibration_intercept` and `calibration_slope` are also null if all scores are equal, or
          if a threshold separates the positives from the negatives.
        - A group in which each score is 0, 1/2 or 1 is a special case. `spiegelhalter_z` is then
          infinite if a positive has the score 0 or a negative has the score 1; otherwise, it is
          null.
        - `hosmer_lemeshow_p` is null if `hosmer_lemeshow_df` is 0.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if a score is outside [0, 1].

    See Also
    --------
    calibration : The event rate of each bin.
    fit_calibration : Functions that convert scores to probabilities.
    intervals : Confidence intervals of these measures.
    summary : Brier score and log loss with measures of discrimination.

    Notes
    -----
    In `log_loss` and `cllr`, scores of 0 and 1 are replaced by 2⁻⁵² and 1 - 2⁻⁵². Rows with such
    scores are left out of the logistic recalibration, as in R's `rms::val.prob`.

    `cllr` uses the odds of the score as likelihood ratio, so the score has to be the probability of
    a positive for a prevalence of 1/2. The expression `.roc.at_prevalence` converts scores to this
    prevalence. `cllr_min` does not depend on the prevalence.

    References
    ----------
    T. Dimitriadis, T. Gneiting, A. I. Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers", Proceedings of the National Academy of Sciences 118(8), e2016191118.
    doi:10.1073/pnas.2016191118

    D. B. Stephenson, C. A. S. Coelho, I. T. Jolliffe (2008), "Two extra components in the Brier
    score decomposition", Weather and Forecasting 23(4), 752-757. doi:10.1175/2007WAF2006116.1

    D. R. Cox (1958), "Two further applications of a model for binary regression", Biometrika
    45(3/4), 562-565. doi:10.1093/biomet/45.3-4.562

    D. J. Spiegelhalter (1986), "Probabilistic prediction in patient management and clinical
    trials", Statistics in Medicine 5(5), 421-433. doi:10.1002/sim.4780050506

    D. W. Hosmer, S. Lemeshow (1980), "Goodness of fit tests for the multiple logistic regression
    model", Communications in Statistics - Theory and Methods 9(10), 1043-1069.
    doi:10.1080/03610928008827941

    P. C. Austin, E. W. Steyerberg (2019), "The Integrated Calibration Index (ICI) and related
    metrics for quantifying the calibration of logistic regression models", Statistics in Medicine
    38(21), 4051-4065. doi:10.1002/sim.8281

    N. Brümmer, J. du Preez (2006), "Application-independent evaluation of speaker detection",
    Computer Speech and Language 20(2-3), 230-275. doi:10.1016/j.csl.2005.08.001

    J. Błasiok, P. Nakkiran (2023), "Smooth ECE: principled reliability diagrams via kernel
    smoothing", arXiv:2309.12236. doi:10.48550/arXiv.2309.12236

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [0, 0, 1, 0, 1, 1, 0, 1], "score": [0.1, 0.2, 0.3, 0.3, 0.6, 0.7, 0.8, 0.9]}
    ... )
    >>> table = rf.calibration_summary(predictions, "label", "score", bins=2)
    >>> table.select("brier", "miscalibration", "discrimination", "uncertainty")
    shape: (1, 4)
    ┌─────────┬────────────────┬────────────────┬─────────────┐
    │ brier   ┆ miscalibration ┆ discrimination ┆ uncertainty │
    │ ---     ┆ ---            ┆ ---            ┆ ---         │
    │ f64     ┆ f64            ┆ f64            ┆ f64         │
    ╞═════════╪════════════════╪════════════════╪═════════════╡
    │ 0.19125 ┆ 0.045417       ┆ 0.104167       ┆ 0.25        │
    └─────────┴────────────────┴────────────────┴─────────────┘
    >>> table.select("ece", "ici", "calibration_intercept", "calibration_slope", "cllr", "cllr_min")
    shape: (1, 6)
    ┌────────┬──────────┬───────────────────────┬───────────────────┬──────────┬──────────┐
    │ ece    ┆ ici      ┆ calibration_intercept ┆ calibration_slope ┆ cllr     ┆ cllr_min │
    │ ---    ┆ ---      ┆ ---                   ┆ ---               ┆ ---      ┆ ---      │
    │ f64    ┆ f64      ┆ f64                   ┆ f64               ┆ f64      ┆ f64      │
    ╞════════╪══════════╪═══════════════════════╪═══════════════════╪══════════╪══════════╡
    │ 0.0125 ┆ 0.167633 ┆ 0.058933              ┆ 0.855975          ┆ 0.806367 ┆ 0.594361 │
    └────────┴──────────┴───────────────────────┴───────────────────┴──────────┴──────────┘
    """
    check_choice("method", method, get_args(FixedBinMethod))
    options = SummaryOptions(
        method=method,
        bins=parse_integer("bins", bins, high=MAX_BINS, example=10),
        n_fitted=parse_integer("n_fitted", n_fitted, low=0, example=2),
    )
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
        needs_scores=True,
    )
    table = plan_table(
        predictions,
        roles,
        lambda cases: _measures_table(cases, options),
        columns=CALIBRATION_SUMMARY.columns(),
        anchor="n_pos",
    )
    return as_input_frame(predictions, table)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions:
    """The checked options of `calibration_summary`."""

    method: FixedBinMethod
    bins: int
    n_fitted: int


def _certain_rows(cases: Cases, n_groups: int) -> NDArray[np.int64]:
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


def _measures_table(cases: Cases, options: SummaryOptions) -> pl.DataFrame:
    """Return the measures of one model, with one row per group."""
    check_probabilities(cases)
    scan = Scan.from_cases(scale_weights(cases))
    totals = scan.totals
    losses, isotonic = probability_losses(scan), isotonic_losses(scan)
    bins, points = probability_bins(scan, options.method, options.bins), find_points(scan)
    fit = logistic_recalibration(scan)
    z, z_p_value = spiegelhalter(scan)
    test = hosmer_lemeshow(scan, bins, n_fitted=options.n_fitted)
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
