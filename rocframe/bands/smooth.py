"""Smooth ROC curves: binormal curves fitted to predictions, and curves of two distributions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import polars as pl

from rocframe.bands.band_curves import BandCurves
from rocframe.bands.binormal import binormal_tpr, fit_curves
from rocframe.curves.curve import trace_curves
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, build_table
from rocframe.inference.notes import class_notes
from rocframe.inputs.node import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.scan import Scan
from rocframe.options import NOT_GIVEN, grid_values, parse_grid, public
from rocframe.schemas.curves import SMOOTH_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores

    SmoothGrid: TypeAlias = int | Sequence[float] | pl.Series


KNOT_RATES = np.array([0.0, 0.5, 1.0])


@public
def smooth(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    grid: SmoothGrid = 101,
    positive: object = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Fit a binormal ROC curve to each group by maximum likelihood.

    The curve is Φ(a + b·Φ⁻¹(fpr)), where Φ is the distribution function of the standard normal
    distribution. Scores have this ROC curve if an increasing function transforms them to scores
    with a normal distribution in each class. `a` and `b` describe these normal distributions. `a`
    is the mean of the positives minus the mean of the negatives, divided by the standard deviation
    of the positives. `b` is the standard deviation of the negatives, divided by that of the
    positives.

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
    grid : int or sequence of float, default 101
        False positive rates of the result: a number of evenly spaced rates from 0 to 1, or a list
        of rates.
    positive : object, default None
        Value of `label` that is the positive class.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, (`model`,) `fpr, tpr, auc, a, b, note`; one row per group and point, sorted by group
        and rising `fpr`.

        - `tpr` (Float64) is the true positive rate of the fitted curve at `fpr`.
        - `auc` (Float64) is the area under the complete fitted curve, Φ(a / √(1 + b²)).
        - `a` and `b` (Float64) are the parameters.

        `auc`, `a` and `b` are the same in all rows of a group.

        `tpr`, `auc`, `a` and `b` are null if the group lacks a class or if the likelihood has no
        maximum, for example if a threshold separates the classes. `note` (String) is null, or the
        first of these values that applies: `no_rows, no_positives, no_negatives, one_positive,
        one_negative, no_solution`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    band : With `method="working_hotelling"`, the confidence band of the same curve.
    theoretical_curve : The curve of two known distributions of scores.

    Notes
    -----
    The fit depends only on the order of the scores, and uses ratings 1, 2, 3, … in this order. Tied
    rows have the same rating. Neighboring rows of the same class also have the same rating. If a
    group has more than 1000 ratings, neighboring ratings are merged.

    If `b` is not 1, a binormal curve crosses the diagonal. If the crossing point is far from the
    corners of the chart, the binormal model is not suitable.

    References
    ----------
    D. D. Dorfman, E. Alf (1969), "Maximum-likelihood estimation of parameters of signal-detection
    theory and determination of confidence intervals: rating-method data", Journal of Mathematical
    Psychology 6(3), 487-496. doi:10.1016/0022-2496(69)90019-4

    C. E. Metz, B. A. Herman, J.-H. Shen (1998), "Maximum likelihood estimation of receiver
    operating characteristic (ROC) curves from continuously-distributed data", Statistics in
    Medicine 17(9), 1033-1053. doi:10.1002/(SICI)1097-0258(19980515)17:9<1033::AID-SIM784>3.0.CO;2-Z

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 0, 1, 0, 0, 1, 0], "score": [0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.2, 0.1]}
    ... )
    >>> rf.smooth(predictions, "label", "score", grid=[0, 0.1, 0.5]).drop("note")
    shape: (3, 5)
    ┌─────┬──────────┬──────────┬────────┬──────────┐
    │ fpr ┆ tpr      ┆ auc      ┆ a      ┆ b        │
    │ --- ┆ ---      ┆ ---      ┆ ---    ┆ ---      │
    │ f64 ┆ f64      ┆ f64      ┆ f64    ┆ f64      │
    ╞═════╪══════════╪══════════╪════════╪══════════╡
    │ 0.0 ┆ 0.0      ┆ 0.779441 ┆ 0.9107 ┆ 0.630654 │
    │ 0.1 ┆ 0.540814 ┆ 0.779441 ┆ 0.9107 ┆ 0.630654 │
    │ 0.5 ┆ 0.818773 ┆ 0.779441 ┆ 0.9107 ┆ 0.630654 │
    └─────┴──────────┴──────────┴────────┴──────────┘
    """
    compute = partial(_smooth_table, fpr=_parse_smooth_grid(grid))
    roles = Roles(label=label, score=score, by=by, positive=positive, count=count, missing=missing)
    table = plan_table(predictions, roles, compute, columns=SMOOTH_COLUMNS, anchor="fpr")
    return as_input_frame(predictions, table)


def _parse_smooth_grid(grid: object) -> NDArray[np.float64]:
    """Return the false positive rates of the grid in increasing order."""
    points = parse_grid(grid)
    assert not isinstance(points, str)
    return np.array(grid_values(points))


def _smooth_table(cases: Cases, *, fpr: NDArray[np.float64]) -> pl.DataFrame:
    """Return the table of the fitted curves, with a row per group and point."""
    from scipy.special import ndtr

    scan = Scan.from_cases(cases)
    curves = BandCurves.from_arrays(trace_curves(scan))
    fit = fit_curves(curves)
    n_groups = len(curves.n_pos)
    unsolved = curves.has_both_classes & np.isnan(fit.a)
    notes = class_notes(curves.n_pos, curves.n_neg, no_solution=unsolved)
    area = ndtr(fit.a / np.sqrt(1 + fit.b**2))
    columns = {
        "fpr": np.tile(fpr, n_groups),
        "tpr": binormal_tpr(fit.a[:, None], fit.b[:, None], fpr).ravel(),
        **{
            name: values.repeat(len(fpr))
            for name, values in (("auc", area), ("a", fit.a), ("b", fit.b))
        },
        "note": notes.repeat(len(fpr)).tolist(),
    }
    rows = np.repeat(np.arange(n_groups), len(fpr))
    return build_table(scan.rows.keys, columns, SMOOTH_COLUMNS, rows=rows)


class Distribution(Protocol):
    """A continuous distribution with the methods of scipy's distributions."""

    def sf(self, x: NDArray[np.float64], /) -> NDArray[np.float64]:
        """Return the probability of values above `x`."""
        ...

    def isf(self, q: NDArray[np.float64], /) -> NDArray[np.float64]:
        """Return the number x for which the probability of values above x is `q`."""
        ...


@public
def theoretical_curve(
    positives: Distribution, negatives: Distribution, *, grid: SmoothGrid = 101
) -> pl.DataFrame:
    """Return the ROC curve of two continuous distributions of scores.

    The true positive rate of the curve is S₁(S₀⁻¹(fpr)). S₁(s) is the probability that a positive
    has a score above s, and S₀(s) is the probability that a negative has a score above s.

    Parameters
    ----------
    positives : distribution
        Distribution of the scores of positives, such as `scipy.stats.norm(1, 1)`: an object with
        the methods `sf` and `isf`, which take and return NumPy arrays.
    negatives : distribution
        Distribution of the scores of negatives.
    grid : int or sequence of float, default 101
        False positive rates of the result: a number of evenly spaced rates from 0 to 1, or a list
        of rates.

    Returns
    -------
    DataFrame
        `fpr, tpr, auc, a, b, note`, the columns of `smooth`; one row per point, by rising `fpr`.

        - `tpr` (Float64) is the true positive rate of the curve at `fpr`.
        - `auc` (Float64) is the area under the complete curve, from numerical integration.
        - `a`, `b` and `note` are null.

    Raises
    ------
    RocframeError
        If a distribution lacks a method or is discrete, if its method `sf` returns values that are
        not probabilities, or if the grid is invalid.

    See Also
    --------
    smooth : Binormal curves fitted to predictions.

    Notes
    -----
    With `norm` of `scipy.stats`, `theoretical_curve(norm(a / b, 1 / b), norm(0, 1))` returns the
    binormal curve with the parameters a and b.

    References
    ----------
    M. S. Pepe (2003), The Statistical Evaluation of Medical Tests for Classification and
    Prediction, Oxford University Press, section 4.2.

    Examples
    --------
    For scores s from 0 to 1, the density of the positives is 2s, and the density of the negatives
    is 2 - 2s:

    >>> import rocframe as rf
    >>> from scipy.stats import beta
    >>> rf.theoretical_curve(beta(2, 1), beta(1, 2), grid=[0, 0.25, 1]).select("fpr", "tpr", "auc")
    shape: (3, 3)
    ┌──────┬──────┬──────────┐
    │ fpr  ┆ tpr  ┆ auc      │
    │ ---  ┆ ---  ┆ ---      │
    │ f64  ┆ f64  ┆ f64      │
    ╞══════╪══════╪══════════╡
    │ 0.0  ┆ 0.0  ┆ 0.833333 │
    │ 0.25 ┆ 0.75 ┆ 0.833333 │
    │ 1.0  ┆ 1.0  ┆ 0.833333 │
    └──────┴──────┴──────────┘
    """
    for argument, distribution in (("positives", positives), ("negatives", negatives)):
        _check_distribution(argument, distribution)
    fpr = _parse_smooth_grid(grid)

    def height(rates: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(positives.sf(np.asarray(negatives.isf(rates))), np.float64)

    # Quantiles near the ends of the distributions can be too large for a floating-point number.
    with np.errstate(all="ignore"):
        tpr = height(fpr)
        # Between two of these rates, FPR and TPR rise by at most 1/2. The second half are the
        # false positive rates of the true positive rates in `KNOT_RATES`.
        ends = np.concatenate(
            [KNOT_RATES, np.asarray(negatives.sf(np.asarray(positives.isf(KNOT_RATES))))]
        )
        columns = {"fpr": fpr, "tpr": tpr, "auc": _area_below(height, ends)}
    return build_table(pl.DataFrame(height=len(fpr)), columns, SMOOTH_COLUMNS)


def _area_below(
    height: Callable[[NDArray[np.float64]], NDArray[np.float64]], ends: NDArray[np.float64]
) -> float:
    """Return the area under the curve `height(fpr)`, by numerical integration from 0 to 1.

    `ends` are the ends of the intervals that are integrated separately.
    """
    from scipy.integrate import tanhsinh

    def inner_height(rates: NDArray[np.float64]) -> NDArray[np.float64]:
        # The area over rates nearer to 0 or 1 is below the rounding error of the result. Some
        # distributions of scipy cannot compute quantiles at these rates.
        return height(np.clip(rates, 1e-16, 1 - 1e-16))

    # Intervals that are not much longer than rounding errors are merged with their neighbors.
    ends = np.unique(np.round(np.clip(ends, 0.0, 1.0), 14))
    areas = tanhsinh(inner_height, ends[:-1], ends[1:], atol=1e-14, rtol=0).integral
    return float(np.clip(areas.sum(), 0.0, 1.0))


def _check_distribution(argument: str, distribution: object) -> None:
    """Raise an error if a distribution is not continuous, or if its quantiles are wrong."""
    hint = "Use a continuous distribution with parameters, such as scipy.stats.norm(1, 1)."
    problem = None
    if not all(callable(getattr(distribution, name, None)) for name in ("sf", "isf")):
        problem = "expected a distribution with the methods sf and isf"
    elif isinstance(distribution, type) or hasattr(distribution, "pmf"):
        problem = "the distribution is not continuous"
    else:
        rates = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
        with np.errstate(all="ignore"):
            values = np.asarray(distribution.sf(np.asarray(distribution.isf(rates))))  # type: ignore[attr-defined]
        if values.shape != rates.shape or not np.allclose(values, rates, atol=1e-6):
            problem = "sf(isf(q)) differs from q, so this is not a valid continuous distribution"
    if problem is not None:
        raise OptionValueError.compose(argument, distribution, problem, hint)
