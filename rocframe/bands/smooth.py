"""Smooth ROC curves: binormal curves fitted to predictions, and curves of two distributions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.curve import trace_curves
from rocframe.curves.locate import interpolated_values, segment_fraction
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import class_notes
from rocframe.inputs.cases import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import grouped_bisect
from rocframe.kernel.groups import cumulative_sums, falling_ranks, group_starts
from rocframe.kernel.scan import Scan
from rocframe.options import NOT_GIVEN, grid_values, parse_fraction, parse_grid, public
from rocframe.schemas.curves import SMOOTH_COLUMNS
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.curves.curve import CurveArrays
    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.scan import ReplicateScan

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
    grid: SmoothGrid | None = None,
    positive: object = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Fit a binormal ROC curve to each group by maximum likelihood; the result is a curve table.

    The curve is Φ(a + b·Φ⁻¹(fpr)), where Φ is the distribution function of the standard normal
    distribution. Scores have this curve if an increasing function makes them normal in each class:
    `a` is then the difference of the means, and `b` the standard deviation of the negatives, both
    divided by the standard deviation of the positives.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    grid : int or sequence of float, default None
        False positive rates of the result: a number of evenly spaced rates from 0 to 1, or a list
        of rates, to which 0 and 1 are added. By default, the rates 0, 0.01, …, 1 and 241 rates with
        evenly spaced normal deviates from -6 to 6, which are dense at both ends of the curve.
    positive : object, default None
        Value of `label` that is the positive class.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, (`model`,) `threshold, tp, fp, fn, tn, fpr, tpr, auc, a, b, note`, a curve table;
        one row per group and point, sorted by group and rising `fpr`.

        - `threshold` (Float64) is on the scale on which the scores of the negatives are standard
          normal: -Φ⁻¹(fpr). The first is `inf`, and the last is so low that both rates are 1.
        - `tp, fp, fn, tn` (Float64) are expected counts, and `tpr` and `fpr` (Float64) the rates of
          the fitted curve.
        - `auc` (Float64) is the area under the complete fitted curve, Φ(a / √(1 + b²)). It and the
          parameters `a` and `b` (Float64) are the same in all rows of a group.

        A group without one of the classes has the first and the last row, with the counts and the
        rate of the other class. If the likelihood has no maximum, such as if a threshold separates
        the classes, the group has one row with counts 0, and other functions return the note
        `no_rows` for it. All other numbers are null. `note` (String) is null, or the first of these
        values that applies: `no_rows, no_positives, no_negatives, one_positive, one_negative,
        no_solution`.

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
    The fit depends only on the order of the scores. Tied rows, and neighboring rows of the same
    class, have the same rating; of more than 1000 ratings, neighbors are merged. If `b` is not 1,
    the curve crosses the diagonal; far from the corners, the model is not suitable.

    The column `auc` is exact. `area` returns the area under the straight lines between the rows,
    which is lower where the curve is concave.

    References
    ----------
    - D. D. Dorfman, E. Alf (1969), Journal of Mathematical Psychology 6(3), 487-496.
      doi:10.1016/0022-2496(69)90019-4
    - C. E. Metz, B. A. Herman, J.-H. Shen (1998), Statistics in Medicine 17(9), 1033-1053.
      doi:10.1002/(SICI)1097-0258(19980515)17:9<1033::AID-SIM784>3.0.CO;2-Z

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 0, 1, 0, 0, 1, 0], "score": [0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.2, 0.1]}
    ... )
    >>> curve = rf.smooth(predictions, "label", "score", grid=[0.1])
    >>> curve.select(pl.col("fpr", "tpr", "auc", "a", "b").round(4)).rows()[1]
    (0.1, 0.5408, 0.7794, 0.9107, 0.6307)
    """
    compute = partial(_smooth_table, fpr=_parse_smooth_grid(grid))
    roles = Roles(label=label, score=score, by=by, positive=positive, count=count, missing=missing)
    table = plan_table(
        predictions,
        roles,
        compute,
        columns=SMOOTH_COLUMNS,
        anchor=THRESHOLD,
        thresholds=pl.Float64(),
    )
    return as_input_frame(predictions, table)


def _parse_smooth_grid(grid: object) -> NDArray[np.float64]:
    """Return the false positive rates of the grid in increasing order, with 0 and 1."""
    from scipy.special import ndtr

    if grid is None:
        return np.union1d(grid_values(101), ndtr(np.linspace(-6, 6, 241)))
    points = parse_grid(grid)
    assert not isinstance(points, str)
    return np.union1d(grid_values(points), [0.0, 1.0])


def _smooth_table(cases: Cases, *, fpr: NDArray[np.float64]) -> pl.DataFrame:
    """Return the table of the fitted curves; see `smooth` for groups without one."""
    from scipy.special import ndtr, ndtri

    scan = Scan.from_cases(cases)
    curves = BandCurves.from_arrays(trace_curves(scan))
    fit = fit_curves(curves)
    is_fitted = ~np.isnan(fit.a)
    unsolved = curves.has_both_classes & ~is_fitted
    notes = class_notes(curves.n_pos, curves.n_neg, no_solution=unsolved)
    has_one_class = (curves.n_pos > 0) != (curves.n_neg > 0)
    points = np.arange(len(fpr))
    has_row = is_fitted[:, None] | (points == 0)
    has_row |= has_one_class[:, None] & (points == len(fpr) - 1)
    group, point = np.nonzero(has_row)

    tpr = binormal_tpr(fit.a[:, None], fit.b[:, None], fpr)[has_row]
    has_tpr, has_fpr = (has_one_class & (size > 0) for size in (curves.n_pos, curves.n_neg))
    tpr = np.where(has_tpr[group], fpr[point], tpr)
    # The scores of negatives are standard normal, and those of positives have the mean a / b and
    # the standard deviation 1 / b.
    threshold = falling_thresholds(-ndtri(fpr))
    lowest = min(ndtri(NEGLIGIBLE), np.nextafter(threshold[-2], -np.inf))
    with np.errstate(invalid="ignore"):
        lowest = np.fmin(lowest, (fit.a + lowest) / fit.b)
    threshold = np.where(point == len(fpr) - 1, lowest[group], threshold[point])
    area = ndtr(fit.a / np.sqrt(1 + fit.b**2))
    columns = _columns_of_rates(
        threshold,
        np.where((is_fitted | has_fpr)[group], fpr[point], np.nan),
        tpr,
        *(np.where(unsolved, 0.0, size)[group] for size in (curves.n_pos, curves.n_neg)),
    )
    columns |= {"auc": area[group], "a": fit.a[group], "b": fit.b[group]}
    columns["note"] = notes[group].tolist()
    return build_table(scan.rows.keys, columns, SMOOTH_COLUMNS, rows=group)


NEGLIGIBLE = 2.0**-53  # 1 minus a smaller probability is rounded to 1


def _columns_of_rates(
    threshold: NDArray[np.float64],
    fpr: NDArray[np.float64],
    tpr: NDArray[np.float64],
    n_pos: NDArray[np.float64] | float,
    n_neg: NDArray[np.float64] | float,
) -> dict[str, Any]:
    """Return the columns of a curve table, from rates, which may be NaN, and the class sizes."""
    tp, fp = (
        np.where(np.equal(size, 0), 0.0, size * rate) for rate, size in ((tpr, n_pos), (fpr, n_neg))
    )
    counts = {"tp": tp, "fp": fp, "fn": n_pos - tp, "tn": n_neg - fp}
    return {THRESHOLD: threshold, **counts, "fpr": fpr, "tpr": tpr}


def falling_thresholds(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return thresholds that fall strictly in spite of rounding errors; the first is `inf`."""
    result = np.full(len(thresholds), np.inf)
    index = np.arange(len(thresholds) - 1)
    rank = falling_ranks(np.clip(thresholds[1:], -MAX_THRESHOLD, MAX_THRESHOLD))
    rank = np.maximum.accumulate(rank - index) + index
    # The inverse of `falling_ranks`.
    result[1:] = 0.0 - (rank ^ ((rank >> 63) & np.iinfo(np.int64).max)).view(np.float64)
    return result


MAX_THRESHOLD = 1e308


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
    positives: Distribution,
    negatives: Distribution,
    *,
    grid: SmoothGrid | None = None,
    prevalence: float = 0.5,
) -> pl.DataFrame:
    """Return the ROC curve of two continuous distributions of scores, as a curve table.

    The true positive rate of the curve is S₁(S₀⁻¹(fpr)). S₁(s) is the probability that a positive
    has a score above s, and S₀(s) is the probability that a negative has a score above s.

    Parameters
    ----------
    positives : distribution
        Distribution of the scores of positives, such as `scipy.stats.norm(1, 1)`: an object with
        the methods `sf` and `isf`, which take and return NumPy arrays.
    negatives : distribution
        Distribution of the scores of negatives.
    grid
        As in `smooth`.
    prevalence : float, default 0.5
        Share of positives among all cases, between 0 and 1.

    Returns
    -------
    DataFrame
        `threshold, tp, fp, fn, tn, fpr, tpr, auc, a, b, note`, a curve table with the columns of
        `smooth`; one row per point, by falling `threshold`. `a`, `b` and `note` are null.

        - `threshold` (Float64) is the score above which `fpr` of the negatives are. The first is
          `inf`. The last is the lower end of both distributions, or so low that both rates are 1.
        - `tp, fp, fn, tn` (Float64) are shares of all cases, such as `tp` = `prevalence` · `tpr`.
          If some positives are above or below all negatives, two rows have the `fpr` 0 or 1.
        - `auc` (Float64) is the area under the complete curve, from numerical integration;
          `area` is lower, as in `smooth`.

    Raises
    ------
    RocframeError
        If a distribution lacks a method or is discrete, if `sf` returns values that are not
        probabilities, or if the grid or the prevalence is invalid.

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
    For scores from 0 to 1 with the densities 2s of positives and 2 - 2s of negatives:

    >>> import polars as pl, rocframe as rf
    >>> from scipy.stats import beta
    >>> curve = rf.theoretical_curve(beta(2, 1), beta(1, 2), grid=[0.25])
    >>> curve.select(pl.col("threshold", "fpr", "tpr", "auc").round(4)).rows()
    [(inf, 0.0, 0.0, 0.8333), (0.5, 0.25, 0.75, 0.8333), (0.0, 1.0, 1.0, 0.8333)]
    """
    for argument, distribution in (("positives", positives), ("negatives", negatives)):
        _check_distribution(argument, distribution)
    fpr = _parse_smooth_grid(grid)
    n_pos = parse_fraction("prevalence", prevalence, example=0.1)

    def height(rates: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(positives.sf(np.asarray(negatives.isf(rates))), np.float64)

    # Quantiles near the ends of the distributions can be too large for a floating-point number.
    with np.errstate(all="ignore"):
        threshold = np.asarray(negatives.isf(fpr), np.float64)
        tpr = np.asarray(positives.sf(threshold), np.float64)
        lowest = min(map(_lowest_score, (positives, negatives)))
        # Between two of these rates, FPR and TPR rise by at most 1/2. The second half are the
        # false positive rates of the true positive rates in `KNOT_RATES`.
        ends = np.concatenate(
            [KNOT_RATES, np.asarray(negatives.sf(np.asarray(positives.isf(KNOT_RATES))))]
        )
        area = _area_below(height, ends)
    # Rounding errors of quantiles must not make the curve decrease.
    tpr = np.where(np.isnan(tpr), np.nan, np.fmax.accumulate(tpr))
    # If some positives are above or below all negatives, the curve has a vertical end, with another
    # point at the FPR 0 or 1.
    first, last = int(tpr[0] == 0), len(fpr) - int(tpr[-1] == 1)
    fpr, tpr, threshold = (
        np.concatenate([[start], values[first:last], [end]])
        for values, start, end in ((fpr, 0, 1), (tpr, 0, 1), (threshold, np.inf, lowest))
    )
    columns = _columns_of_rates(falling_thresholds(threshold), fpr, tpr, n_pos, 1 - n_pos)
    return build_table(pl.DataFrame(height=len(fpr)), columns | {"auc": area}, SMOOTH_COLUMNS)


def _lowest_score(distribution: Distribution) -> float:
    """Return the lower end of a distribution, or a score below which there is almost no score."""
    lowest, low = np.asarray(distribution.isf(np.array([1.0, 1 - NEGLIGIBLE])), np.float64)
    return float(lowest if np.isfinite(lowest) else np.nan_to_num(low, nan=np.inf))


def _area_below(
    height: Callable[[NDArray[np.float64]], NDArray[np.float64]], ends: NDArray[np.float64]
) -> float:
    """Return the integral of `height(fpr)` from 0 to 1, by parts between `ends`."""
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


def binormal_tpr(
    a: NDArray[np.float64], b: NDArray[np.float64], fpr: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the TPR of binormal curves at `fpr`: Φ(a + b·Φ⁻¹(fpr))."""
    from scipy.special import ndtr, ndtri

    with np.errstate(invalid="ignore"):
        tpr: NDArray[np.float64] = ndtr(a + b * ndtri(fpr))
    return tpr


class Binormal(NamedTuple):
    """Parameters of the curve Φ(a + b·Φ⁻¹(fpr)) of each group, their variances and covariance.

    They are NaN if the likelihood has no maximum.
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    var_a: NDArray[np.float64]
    var_b: NDArray[np.float64]
    cov_ab: NDArray[np.float64]


def fit_curves(curves: BandCurves) -> Binormal:
    """Return the fitted binormal curve of each group; NaN for groups that lack a class."""
    ratings = Ratings.from_curves(curves)
    # Groups that lack a class have the index -1, at which NaN is appended.
    index = np.full(len(curves.n_pos), -1)
    index[ratings.groups] = np.arange(len(ratings.groups))
    return Binormal(*(np.append(part, np.nan)[index] for part in fit_binormal(ratings)))


def line_limits(
    fit: Binormal, x: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and highest values at `x` of all lines a + b·x in a confidence ellipse.

    ROC curves never decrease, so the lower limit is constant right of its maximum, and the upper
    left of its minimum.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        # The variance of a + b·x is var_b (x - center)² + min_var.
        center = -fit.cov_ab / fit.var_b
        min_var = np.maximum(fit.var_a - fit.cov_ab**2 / fit.var_b, 0)
        slope = fit.b / radius
        distance = slope * np.sqrt(min_var / (fit.var_b * (fit.var_b - slope**2)))
        has_extremum = fit.var_b > slope**2
        low_x = np.where(has_extremum, np.minimum(x, center + distance), x)
        high_x = np.where(has_extremum, np.maximum(x, center - distance), x)

        def limit(x: NDArray[np.float64], sign: float) -> NDArray[np.float64]:
            half_width = radius * np.sqrt(fit.var_b * (x - center) ** 2 + min_var)
            value: NDArray[np.float64] = fit.a + fit.b * x + sign * half_width
            # At x = ±inf, `value` can be inf - inf. The limit is then x.
            return np.where(np.isinf(x) & ~np.isnan(fit.a), x, value)

        return limit(low_x, -1.0), limit(high_x, 1.0)


# Limit of normal deviates at the start. It is above the deviate of any Float64 number below 1.
MAX_START = 9.0
# Maximum number of steps; about 10 are sufficient if the likelihood has a maximum.
MAX_NEWTON_STEPS = 100
MAX_HALVINGS = 30  # maximum number of halvings of a step that does not increase the likelihood
MIN_GAIN = 1e-12  # if a step increases the log-likelihood by less than this, the search ends
MAX_PARAMETER = 1e3  # if a parameter or standard error is larger, the search has diverged


class NewtonStep(NamedTuple):
    """Changes of `a`, `b` and the cutoffs `x` in one step of Newton's method, of all groups.

    `gain` is the expected increase of the log-likelihood, `information` that of a and b.
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    x: NDArray[np.float64]
    gain: NDArray[np.float64]
    information: NDArray[np.float64]


def fit_binormal(ratings: Ratings) -> Binormal:
    """Return the binormal curves fitted by Newton's method; NaN if there is no maximum."""
    fit = np.full((5, len(ratings.groups)), np.nan)
    # With fewer than two cutoffs (three ratings), the parameters a and b are not determined.
    active = np.flatnonzero(np.diff(ratings.starts) > 2)
    search = NewtonSearch.begin(ratings, active)
    for _ in range(MAX_NEWTON_STEPS):
        if not len(active):
            break
        step = search.step()
        is_maximum = step.gain <= MIN_GAIN
        fit[:, active[is_maximum]] = search.estimates(step)[:, is_maximum]
        failed = ~search.advance(step) & ~is_maximum
        failed |= (np.abs(search.a) > MAX_PARAMETER) | (search.b >= MAX_PARAMETER)
        failed |= ~(search.b > 1 / MAX_PARAMETER)
        remaining = ~(is_maximum | failed)
        active, search = active[remaining], search.subset(remaining)
    valid = np.all(np.isfinite(fit), axis=0) & np.all(fit[2:4] < MAX_PARAMETER**2, axis=0)
    return Binormal(*np.where(valid, fit, np.nan))


@dataclass(slots=True, kw_only=True, eq=False)
class NewtonSearch:
    """The current parameters of the groups whose likelihood is being maximized.

    The ratings of group i start at `firsts[i]`, in falling order; `pos` and `neg` are their rows.
    `x` is the negative of the cutoff below each rating, on the scale on which negatives are
    standard normal. It increases, and is inf at the last rating.
    """

    firsts: NDArray[np.int64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    x: NDArray[np.float64]
    a: NDArray[np.float64]
    b: NDArray[np.float64]

    @classmethod
    def begin(cls, ratings: Ratings, groups: NDArray[np.int64]) -> NewtonSearch:
        """Return the start: a least-squares line on normal-deviate axes.

        The points are moved towards the chance line, because the deviates of 0 and 1 are infinite.
        """
        from scipy.special import ndtri

        lengths = np.diff(ratings.starts)
        selected = np.repeat(np.isin(np.arange(len(lengths)), groups), lengths)
        pos, neg, lengths = ratings.pos[selected], ratings.neg[selected], lengths[groups]
        firsts = np.cumsum(lengths) - lengths
        last = firsts + lengths - 1

        def shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
            cumulative = cumulative_sums(values.copy(), np.append(firsts, len(values)))
            shared: NDArray[np.float64] = cumulative / np.repeat(cumulative[last], lengths)
            return shared

        both = shares(pos + neg)
        # Rounding errors can make a share before the last share equal to 1, whose deviate is inf.
        x, y = (np.minimum(ndtri((shares(side) + both) / 2), MAX_START) for side in (neg, pos))
        x[last], y[last] = 0.0, 0.0
        cutoffs = lengths - 1.0

        def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return _group_totals(values, firsts) / cutoffs

        var_x, cov_xy = mean(x * x) - mean(x) ** 2, mean(x * y) - mean(x) * mean(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            b = np.clip(np.nan_to_num(cov_xy / var_x, nan=1.0), 0.2, 5.0)
        a = mean(y) - b * mean(x)
        x[last] = np.inf
        return cls(firsts=firsts, pos=pos, neg=neg, x=x, a=a, b=b)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of ratings of each group."""
        return np.diff(self.firsts, append=len(self.x))

    def subset(self, mask: NDArray[np.bool_]) -> NewtonSearch:
        """Return the search with only the groups in `mask`."""
        lengths = self.lengths
        selected = np.repeat(mask, lengths)
        return NewtonSearch(
            firsts=np.cumsum(lengths[mask]) - lengths[mask],
            pos=self.pos[selected],
            neg=self.neg[selected],
            x=self.x[selected],
            a=self.a[mask],
            b=self.b[mask],
        )

    def likelihood(
        self, a: NDArray[np.float64], b: NDArray[np.float64], x: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of each group; -inf if the probability of a rating is 0."""
        y = np.repeat(a, self.lengths) + np.repeat(b, self.lengths) * x
        return sum(  # type: ignore[return-value]
            _group_totals(CutoffDerivatives.likelihood(count, cutoff, self.firsts), self.firsts)
            for count, cutoff in ((self.neg, x), (self.pos, y))
        )

    def step(self) -> NewtonStep:
        """Return the Newton step of each group, from two equations for a and b without cutoffs."""
        from scipy.linalg import solveh_banded

        lengths, cutoff = self.lengths, np.isfinite(self.x)
        x, b = np.where(cutoff, self.x, 0.0), np.repeat(self.b, self.lengths)
        y = np.repeat(self.a, lengths) + b * self.x
        negatives = CutoffDerivatives.compute(self.neg, self.x, self.firsts)
        positives = CutoffDerivatives.compute(self.pos, y, self.firsts)

        def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return _group_totals(values, self.firsts)

        slope = negatives.slope + b * positives.slope
        by_a, by_b = positives.multiply(cutoff.astype(np.float64)), positives.multiply(x)
        with_a, with_b = b * by_a, b * by_b - positives.slope
        diagonal = np.where(cutoff, negatives.diagonal + b * b * positives.diagonal, 1.0)
        following = negatives.next + b * b * positives.next
        # Without the factor 1 + 1e-14, rounding errors could make the matrix singular.
        banded = np.vstack([np.append(0.0, following[:-1]), diagonal * (1 + 1e-14)])
        # `with_a` and `with_b` are the negative mixed second derivatives in a cutoff and a or b.
        # The information matrix of a and b is the Schur complement of the matrix of the cutoffs.
        right_sides = np.column_stack([slope, with_a, with_b])
        p, qa, qb = solveh_banded(banded, right_sides, check_finite=False).T

        information = np.empty((len(self.a), 2, 2))
        information[:, 0, 0] = total(np.where(cutoff, by_a, 0.0)) - total(with_a * qa)
        information[:, 0, 1] = total(x * by_a) - total(with_a * qb)
        information[:, 1, 0] = information[:, 0, 1]
        information[:, 1, 1] = total(x * by_b) - total(with_b * qb)
        up_a, up_b = total(positives.slope), total(x * positives.slope)
        gradient = np.column_stack([up_a - total(with_a * p), up_b - total(with_b * p)])
        eigenvalues, axes = np.linalg.eigh(information)
        # If the likelihood is not concave, some eigenvalues are negative. With the absolute values
        # of the eigenvalues, the step increases the likelihood.
        eigenvalues = np.maximum(
            np.abs(eigenvalues), 1e-8 * np.abs(eigenvalues).max(axis=1, keepdims=True) + 1e-300
        )
        da, db = np.einsum("gij,gj,gkj,gk->ig", axes, 1 / eigenvalues, axes, gradient)
        dx = p - np.repeat(da, lengths) * qa - np.repeat(db, lengths) * qb
        gain = total(slope * dx) + up_a * da + up_b * db
        return NewtonStep(
            a=da, b=db, x=np.where(cutoff, dx, 0.0), gain=gain, information=information
        )

    def advance(self, step: NewtonStep) -> NDArray[np.bool_]:
        """Add the step to the parameters, and return a mask of the groups with new parameters.

        The step is halved until the likelihood increases; if it never does, nothing changes.
        """
        current = self.likelihood(self.a, self.b, self.x)
        size, accepted = np.ones(len(current)), np.zeros(len(current), bool)
        for _ in range(MAX_HALVINGS):
            a, b = self.a + size * step.a, self.b + size * step.b
            x = self.x + np.repeat(size, self.lengths) * step.x
            required = current + 1e-4 * size * step.gain - 1e-12 * np.abs(current)
            accepted = self.likelihood(a, b, x) >= required
            if accepted.all():
                break
            size[~accepted] /= 2
        self.a, self.b = np.where(accepted, a, self.a), np.where(accepted, b, self.b)
        self.x = np.where(np.repeat(accepted, self.lengths), x, self.x)
        return accepted

    def estimates(self, step: NewtonStep) -> NDArray[np.float64]:
        """Return a, b, their variances and their covariance, with a column per group."""
        aa, ab, bb = (step.information[:, i, j] for i, j in ((0, 0), (0, 1), (1, 1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            determinant = aa * bb - ab * ab
            determinant = np.where((aa > 0) & (determinant > 0), determinant, np.nan)
            variances = [part / determinant for part in (bb, aa, -ab)]
            return np.vstack([self.a, self.b, *variances])


def _group_totals(values: NDArray[np.float64], firsts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of the values of each group; the values of group i start at `firsts[i]`."""
    sums: NDArray[np.float64] = np.add.reduceat(values, firsts) if len(firsts) else np.zeros(0)
    return sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CutoffDerivatives:
    """Derivatives of the log-likelihood Σ count · log(Φ(upper) - Φ(lower)) in the cutoffs.

    `diagonal` has the negative second derivatives, and `next` the negative mixed ones of a cutoff
    and the next, 0 between groups.
    """

    slope: NDArray[np.float64]
    diagonal: NDArray[np.float64]
    next: NDArray[np.float64]

    @staticmethod
    def likelihood(
        count: NDArray[np.float64], upper: NDArray[np.float64], firsts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of each rating."""
        share = _normal_probability(_cutoffs_below(upper, firsts), upper)
        possible = np.maximum(share, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            result: NDArray[np.float64] = np.where(count > 0, count * np.log(possible), 0.0)
        return np.where(np.isnan(result), -np.inf, result)

    @classmethod
    def compute(
        cls, count: NDArray[np.float64], upper: NDArray[np.float64], firsts: NDArray[np.int64]
    ) -> CutoffDerivatives:
        """Return the derivatives; terms of ratings with a probability of 0 are 0."""
        lower = _cutoffs_below(upper, firsts)
        share = _normal_probability(lower, upper)
        high, low = (np.exp(-0.5 * end * end) / np.sqrt(2 * np.pi) for end in (upper, lower))
        possible = (count > 0) & (share > 0)
        share = np.where(possible, share, 1.0)
        high, low = np.where(possible, high / share, 0.0), np.where(possible, low / share, 0.0)
        # The mean of a normal variable between two cutoffs is clipped to the cutoffs. Without
        # clipping, rounding errors could make the matrix of second derivatives indefinite.
        mean = np.clip(low - high, lower, upper)
        with np.errstate(invalid="ignore"):
            from_upper = np.where(high > 0, high * (upper - mean), 0.0)
            from_lower = np.where(low > 0, low * (mean - lower), 0.0)
        joint = count * high * low
        before = np.append((count * from_lower + joint)[1:], 0.0)
        return cls(
            slope=count * high - np.append((count * low)[1:], 0.0),
            diagonal=count * from_upper + joint + before,
            next=-np.append(joint[1:], 0.0),
        )

    def multiply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the product of a vector and the tridiagonal matrix of `diagonal` and `next`."""
        product = self.diagonal * values
        product[:-1] += self.next[:-1] * values[1:]
        product[1:] += self.next[:-1] * values[:-1]
        return product


def _cutoffs_below(upper: NDArray[np.float64], firsts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the lower cutoff of each rating; -inf for the first rating of each group."""
    lower = np.empty_like(upper)
    lower[1:] = upper[:-1]
    lower[firsts] = -np.inf
    return lower


def _normal_probability(
    lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability that a standard normal variable is between two cutoffs."""
    from scipy.special import ndtr

    # A difference of small upper tail probabilities has a smaller rounding error than a difference
    # of numbers close to 1.
    is_upper_tail = lower > 0
    share: NDArray[np.float64] = ndtr(np.where(is_upper_tail, -lower, upper)) - ndtr(
        np.where(is_upper_tail, -upper, lower)
    )
    return share


# Maximum number of ratings of a group; more ratings take longer and hardly change the fit.
MAX_RATINGS = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratings:
    """Numbers of positives and negatives with each rating, in the order of falling ratings.

    A rating is a range of scores that the fit treats as tied. Group `groups[i]` has the ratings
    `starts[i]` to `starts[i + 1] - 1`.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]

    @classmethod
    def from_curves(cls, curves: BandCurves) -> Ratings:
        """Return the ratings of groups with both classes.

        Unscored positives have the lowest rating, and unscored negatives the highest rating.
        """
        groups = np.flatnonzero(curves.has_both_classes)
        group_of_point = np.repeat(np.arange(len(curves.n_pos)), np.diff(curves.starts))
        points = np.flatnonzero(curves.has_both_classes[group_of_point])
        # The last rating of each group has the unscored positives, which are below all scores.
        lengths = np.diff(curves.starts)[groups] + 1
        starts = np.append(0, np.cumsum(lengths))
        inner = np.ones(starts[-1], bool)
        inner[starts[1:] - 1] = False
        class_counts = []
        for name, total in (("tp", curves.n_pos), ("fp", curves.n_neg)):
            cumulative = np.repeat(total[groups], lengths)
            cumulative[inner] = curves.counts[name][points]
            steps = np.diff(cumulative, prepend=0)
            steps[starts[:-1]] = cumulative[starts[:-1]]
            class_counts.append(steps)
        pos, neg = class_counts
        filled = (pos > 0) | (neg > 0)
        group = np.repeat(np.arange(len(groups)), lengths)[filled]
        pos, neg = pos[filled], neg[filled]
        for find_starts in (_class_starts, _quantile_starts):
            firsts = np.flatnonzero(find_starts(group, pos, neg))
            if len(firsts):
                group = group[firsts]
                pos, neg = np.add.reduceat(pos, firsts), np.add.reduceat(neg, firsts)
        return cls(
            groups=groups,
            starts=group_starts(group, len(groups)),
            pos=pos.astype(np.float64),
            neg=neg.astype(np.float64),
        )


def _class_starts(
    group: NDArray[np.int64], pos: NDArray[np.int64], neg: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return a mask of ratings that start a sequence of ratings with rows of one class only."""
    is_start = np.ones(len(pos), bool)
    has_both = (pos > 0) & (neg > 0)
    same_class = (pos[1:] > 0) == (pos[:-1] > 0)
    is_start[1:] = has_both[1:] | has_both[:-1] | ~same_class | (group[1:] != group[:-1])
    return is_start


def _quantile_starts(
    group: NDArray[np.int64], pos: NDArray[np.int64], neg: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return a mask of ratings that start a merged rating, if there are over `MAX_RATINGS`."""
    is_start = np.ones(len(group), bool)
    sizes = np.bincount(group)
    for large in np.flatnonzero(sizes > MAX_RATINGS):
        a, b = np.searchsorted(group, [large, large + 1])
        size = (pos[a:b] + neg[a:b]).astype(np.float64)
        # `rank` is the mean rank of the rows with a rating.
        rank = np.cumsum(size) - size / 2
        quantile = np.floor(rank * (MAX_RATINGS / size.sum()))
        is_start[a + 1 : b] = quantile[1:] != quantile[:-1]
    return is_start


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BandCurves:
    """The points of the ROC curves of all groups, in the order of falling thresholds.

    Group i has the points `starts[i]` to `starts[i + 1] - 1`, the first with the threshold `inf`.
    Rates of a class without rows are NaN, and rates that differ by at most `tolerance` are equal.
    """

    starts: NDArray[np.int64]
    counts: dict[str, NDArray[Any]]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    n_pos: NDArray[np.int64]
    n_neg: NDArray[np.int64]
    tolerance: float = 0.0

    @classmethod
    def from_arrays(cls, curves: CurveArrays) -> BandCurves:
        """Return the points of full curves, with rates computed from the counts."""
        tp, fp, fn, tn = curves.counts.values()
        with np.errstate(invalid="ignore"):
            fpr, tpr = fp / (fp + tn), tp / (tp + fn)
        totals = curves.scan.totals
        return cls(
            starts=curves.starts,
            counts=curves.counts,
            fpr=fpr,
            tpr=tpr,
            n_pos=totals.pos_rows,
            n_neg=totals.neg_rows,
            tolerance=rate_tolerance(tp),
        )

    @classmethod
    def from_sample(cls, sample: ReplicateScan) -> BandCurves:
        """Return the curves of replicates; each replicate is a group of the result."""
        totals = sample.totals
        tp, fp = sample.curve_counts()
        size, points = tp.shape
        return cls(
            starts=np.arange(size + 1) * points,
            counts={},
            fpr=(fp / totals.neg[:, None]).ravel(),
            tpr=(tp / totals.pos[:, None]).ravel(),
            n_pos=totals.pos_rows,
            n_neg=totals.neg_rows,
            tolerance=rate_tolerance(totals.pos),
        )

    @property
    def has_both_classes(self) -> NDArray[np.bool_]:
        """Which groups have rows of both classes."""
        return (self.n_pos > 0) & (self.n_neg > 0)

    def first_beyond(
        self, group: NDArray[np.int64], fpr: NDArray[np.float64], side: Literal["left", "right"]
    ) -> NDArray[np.int64]:
        """Return the first point of a group with FPR >= `fpr`, or FPR > `fpr` for side "right".

        Without such a point, the result is the first point of the next group.
        """

        def before(point: NDArray[np.int64]) -> NDArray[np.bool_]:
            rate = self.fpr[point]
            result: NDArray[np.bool_] = (
                rate < fpr - self.tolerance if side == "left" else rate <= fpr + self.tolerance
            )
            return result

        return grouped_bisect(before, self.starts[group], self.starts[group + 1] - 1)

    def tpr_at(
        self,
        group: NDArray[np.int64],
        fpr: NDArray[np.float64],
        *,
        step_end: Literal["upper", "lower"] = "upper",
    ) -> NDArray[np.float64]:
        """Return the TPR of a group's curve at `fpr`, at a vertical segment the `step_end`.

        Curves are linear between points, 0 left of the first point, and constant right of the last
        point.
        """
        first, last = self.starts[group], self.starts[group + 1] - 1
        beyond = self.first_beyond(group, fpr, "right" if step_end == "upper" else "left")
        # At a vertical segment, `left` is the upper end for step_end="upper".
        left, right = np.maximum(beyond - 1, first), np.minimum(beyond, last)
        fraction = segment_fraction(fpr - self.fpr[left], self.fpr[right] - self.fpr[left])
        tpr = interpolated_values(self.tpr[left], self.tpr[right], fraction)
        if step_end == "lower":
            exact = (beyond <= last) & (self.fpr[right] <= fpr + self.tolerance)
            tpr = np.where(exact, self.tpr[right], tpr)
        tpr = np.where(beyond > last, self.tpr[last], tpr)
        tpr = np.where(fpr < self.fpr[first] - self.tolerance, 0.0, tpr)
        tpr[~self.has_both_classes[group]] = np.nan
        return tpr


def rate_tolerance(counts: NDArray[Any]) -> float:
    """Return the largest difference of two rates that rounding of weighted counts can cause."""
    return 1e-12 if counts.dtype.kind == "f" else 0.0
