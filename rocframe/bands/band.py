"""Confidence bands of ROC curves: `band`, the Kolmogorov-Smirnov band and binomial limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rocframe.bands.band_curves import BandCurves
from rocframe.bands.binormal import working_hotelling_limits
from rocframe.bands.grid import (
    BandLimits,
    parse_band_grid,
    points_at_rates,
    points_at_thresholds,
    shifted_limits,
)
from rocframe.bands.resampled import envelope_limits, fixed_width_limits, pointwise_bootstrap_limits
from rocframe.curves.curve import trace_curves
from rocframe.frames import as_input_frame, build_table
from rocframe.inference.confidence import parse_level, parse_n_boot, wilson
from rocframe.inference.notes import absent_classes, first_notes
from rocframe.inputs.node import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.resample import RandomDraws, Seed, stream_keys
from rocframe.kernel.scan import Scan
from rocframe.options import NOT_GIVEN, check_choice, check_supported, public
from rocframe.schemas.curves import BAND
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.bands.grid import BandGrid, GridPoints
    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


BandMethodName: TypeAlias = Literal[
    "kolmogorov_smirnov",
    "fixed_width",
    "envelope",
    "working_hotelling",
    "bootstrap",
    "binomial",
    "threshold",
]


@public
def band(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    method: BandMethodName = "kolmogorov_smirnov",
    level: float = 0.95,
    grid: BandGrid = 101,
    n_boot: int = 2000,
    seed: int | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute a confidence band of the ROC curve of each group: limits of TPR at a grid of FPR.

    A `simultaneous` band contains the complete true curve with confidence `level`. A `pointwise`
    band is valid at one false positive rate, or at one threshold; the probability that it contains
    the complete curve is much smaller than `level`.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    by : str or sequence of str, default None
        Group columns; null is a group.
    method : str, default "kolmogorov_smirnov"
        Simultaneous bands:

        - `"kolmogorov_smirnov"`: two copies of the curve, one shifted up and left and one shifted
          down and right, by quantiles of Kolmogorov's distance. This band is valid for all scores
          and sample sizes.
        - `"fixed_width"`: two copies of the curve: one is shifted up and left, the other down and
          right. The size of the shift is chosen so that the proportion `level` of the resampled
          curves lies between the copies.
        - `"envelope"`: as `"fixed_width"`, with larger shifts where the resampled curves vary more.
        - `"working_hotelling"`: limits of a binormal curve that is fitted by maximum likelihood.

        Pointwise bands:

        - `"bootstrap"`: quantiles of the resampled curves at each FPR.
        - `"binomial"`: Wilson's limits of TPR, which assume that the threshold of each FPR is
          known.
        - `"threshold"`: Wilson's limits of TPR and of FPR at each threshold, each with confidence
          `level`.
    level : float, default 0.95
        Confidence level of the band, between 0 and 1.
    grid : int, sequence of float or str, default 101
        False positive rates of the result: a number of evenly spaced rates from 0 to 1, a list of
        rates, or `"curve"` for all false positive rates of the rows of each ROC curve. With
        `method="threshold"`, the result has one point for each of these rates. The point is at the
        lowest threshold whose FPR is at most the rate.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, (`model`,) `fpr, tpr, fpr_lower, fpr_upper, lower, upper, ci_level, scope, band,
        note`; one row per group and point, sorted by group and rising `fpr`. All rates are Float64
        in [0, 1].

        - `tpr` is the true positive rate of the curve at `fpr`, interpolated linearly between
          points. If the curve is vertical at `fpr`, `tpr` is the upper end. For
          `"working_hotelling"`, `tpr` is the true positive rate of the fitted curve.
        - `lower` and `upper` are the limits of TPR.
        - `fpr_lower` and `fpr_upper` are the limits of FPR for `"threshold"`, and null for all
          other methods.
        - `scope` (String) is `pointwise` or `simultaneous`, and `band` (String) is the method.

        If a group lacks a class, `tpr` and the limits are null. With `grid="curve"` or
        `method="threshold"`, such a group has one row. `note` (String) is null, or the first of
        these values that applies: `no_rows, no_positives, no_negatives, one_positive, one_negative,
        zero_variance, no_solution`. Bands from resampled curves have no limits if a class has one
        row, or if all resampled curves are equal. `no_solution` means that the binormal likelihood
        has no maximum.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    auc : The area under each curve and its confidence interval.

    References
    ----------
    G. Campbell (1994), "Advances in statistical methodology for the evaluation of diagnostic and
    laboratory tests", Statistics in Medicine 13(5-7), 499-508. doi:10.1002/sim.4780130513

    G. Ma, W. J. Hall (1993), "Confidence bands for receiver operating characteristic curves",
    Medical Decision Making 13(3), 191-197. doi:10.1177/0272989X9301300304

    S. A. Macskassy, F. Provost, S. Rosset (2005), "ROC confidence bands: an empirical
    evaluation", Proceedings of the 22nd International Conference on Machine Learning, 537-544.
    doi:10.1145/1102351.1102419

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> limits = rf.band(predictions, "label", "score", method="binomial", grid=[0, 0.5, 1])
    >>> limits.select("fpr", "tpr", "lower", "upper", "scope")
    shape: (3, 5)
    ┌─────┬──────┬──────────┬──────────┬───────────┐
    │ fpr ┆ tpr  ┆ lower    ┆ upper    ┆ scope     │
    │ --- ┆ ---  ┆ ---      ┆ ---      ┆ ---       │
    │ f64 ┆ f64  ┆ f64      ┆ f64      ┆ str       │
    ╞═════╪══════╪══════════╪══════════╪═══════════╡
    │ 0.0 ┆ 0.5  ┆ 0.094531 ┆ 0.905469 ┆ pointwise │
    │ 0.5 ┆ 0.75 ┆ 0.197867 ┆ 0.973323 ┆ pointwise │
    │ 1.0 ┆ 1.0  ┆ 0.34238  ┆ 1.0      ┆ pointwise │
    └─────┴──────┴──────────┴──────────┴───────────┘
    """
    compute = partial(
        _band_table,
        method=_parse_band_method(method, weight),
        level=parse_level(level),
        grid=parse_band_grid(grid),
        n_boot=parse_n_boot("n_boot", n_boot),
        seed=Seed.parse(seed),
    )
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )
    table = plan_table(predictions, roles, compute, columns=BAND.columns(), anchor="band")
    return as_input_frame(predictions, table)


def _band_table(
    cases: Cases,
    *,
    method: BandMethod,
    level: float,
    grid: list[float] | None,
    n_boot: int,
    seed: Seed,
) -> pl.DataFrame:
    """Return the table of the band, with a row per group and point."""
    scan = Scan.from_cases(cases)
    curves = BandCurves.from_arrays(trace_curves(scan))
    points = (points_at_thresholds if method.name == "threshold" else points_at_rates)(curves, grid)
    if method.is_resampled:
        keys = stream_keys(scan.rows.keys, cases.model)
        draws = RandomDraws(n_draws=n_boot, seed=seed, keys=keys)
        limits = method.limits(curves, points, level, scan, draws)
    else:
        limits = method.limits(curves, points, level)
    group_notes = first_notes(absent_classes(curves.n_pos, curves.n_neg))
    group_notes[curves.has_both_classes] = (
        None if limits.notes is None else limits.notes[curves.has_both_classes]
    )
    columns: dict[str, Any] = {
        "fpr": points.fpr,
        "tpr": limits.tpr,
        "fpr_lower": limits.fpr_lower,
        "fpr_upper": limits.fpr_upper,
        "lower": limits.lower,
        "upper": limits.upper,
        "ci_level": level,
        "scope": method.scope,
        "band": method.name,
        "note": group_notes[points.group].tolist(),
    }
    return build_table(scan.rows.keys, columns, BAND.columns(), rows=points.group)


def _kolmogorov_smirnov_limits(curves: BandCurves, grid: GridPoints, level: float) -> BandLimits:
    """Return the limits of the Kolmogorov-Smirnov band (Campbell 1994).

    The curve is shifted by a quantile of the Kolmogorov-Smirnov statistic of each class.
    """
    fpr_shift, tpr_shift = (kolmogorov_quantile(n, level) for n in (curves.n_neg, curves.n_pos))
    return shifted_limits(curves, grid, fpr_shift, tpr_shift)


def kolmogorov_quantile(n: NDArray[np.int64], level: float) -> NDArray[np.float64]:
    """Return the √level quantile of the Kolmogorov-Smirnov statistic of n scores.

    The probability is √level because both classes, which are independent, must be within their
    quantiles. The quantile is exact for scores of a continuous distribution, and too large if
    scores are tied.
    """
    from scipy.stats import kstwo

    sizes, position = np.unique(n, return_inverse=True)
    positive = sizes > 0
    distance = np.full(len(sizes), np.nan)
    distance[positive] = kstwo.isf(1 - np.sqrt(level), sizes[positive])
    result: NDArray[np.float64] = distance[position]
    return result


def _binomial_limits(curves: BandCurves, grid: GridPoints, level: float) -> BandLimits:
    """Return Wilson's limits of the TPR at each FPR.

    The limits treat the threshold of each FPR as known, although it is estimated.
    """
    tpr = curves.tpr_at(grid.group, grid.fpr)
    n_pos = curves.n_pos[grid.group]
    lower, upper = wilson(tpr * n_pos, n_pos, level)
    return BandLimits(tpr=tpr, lower=lower, upper=upper)


def _threshold_limits(curves: BandCurves, grid: GridPoints, level: float) -> BandLimits:
    """Return Wilson's limits of FPR and of TPR at each threshold."""
    nan = np.where(grid.point < 0, np.nan, 0.0)
    tpr, fpr = (nan + rate[grid.point] for rate in (curves.tpr, curves.fpr))
    n_pos, n_neg = curves.n_pos[grid.group], curves.n_neg[grid.group]
    lower, upper = wilson(tpr * n_pos, n_pos, level)
    fpr_lower, fpr_upper = wilson(fpr * n_neg, n_neg, level)
    return BandLimits(tpr=tpr, lower=lower, upper=upper, fpr_lower=fpr_lower, fpr_upper=fpr_upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class BandMethod:
    """A method of computing a band.

    The limits of a pointwise band are valid at one point. The limits of a simultaneous band are
    valid for the complete curve. The function `limits` has the arguments curves, grid points and
    level. If `is_resampled` is true, it also has the arguments scan and draws. Only resampled bands
    support weights.
    """

    name: BandMethodName
    scope: Literal["pointwise", "simultaneous"]
    limits: Callable[..., BandLimits]
    is_resampled: bool = False


BAND_METHODS: dict[str, BandMethod] = {
    method.name: method
    for method in (
        BandMethod(
            name="kolmogorov_smirnov", scope="simultaneous", limits=_kolmogorov_smirnov_limits
        ),
        BandMethod(
            name="fixed_width", scope="simultaneous", limits=fixed_width_limits, is_resampled=True
        ),
        BandMethod(
            name="envelope", scope="simultaneous", limits=envelope_limits, is_resampled=True
        ),
        BandMethod(name="working_hotelling", scope="simultaneous", limits=working_hotelling_limits),
        BandMethod(
            name="bootstrap",
            scope="pointwise",
            limits=pointwise_bootstrap_limits,
            is_resampled=True,
        ),
        BandMethod(name="binomial", scope="pointwise", limits=_binomial_limits),
        BandMethod(name="threshold", scope="pointwise", limits=_threshold_limits),
    )
}


def _parse_band_method(name: str, weight: Column | None) -> BandMethod:
    """Return the method of this name; raise an error if weights are given and not supported."""
    check_choice("method", name, BAND_METHODS)
    method = BAND_METHODS[name]
    resampled = [other.name for other in BAND_METHODS.values() if other.is_resampled]
    check_supported(
        "weight",
        weight,
        f"method={name!r}",
        supported=method.is_resampled,
        hint=f"Choose one of: {format_list(resampled)}; or use count= if a row represents several "
        "predictions.",
    )
    return method
