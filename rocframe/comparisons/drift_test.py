"""The function `drift_test`: tests of equal AUCs in all windows of time, and of a trend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.areas.pairs import ZERO_VARIANCE
from rocframe.comparisons.drift import WindowAreas
from rocframe.comparisons.time_windows import plan_windows
from rocframe.errors import OptionValueError
from rocframe.frames import build_table
from rocframe.inference import (
    absent_classes,
    adjust_table,
    check_adjust,
    exclusion_notes,
    first_notes,
    join_notes,
    normal_p_value,
    parse_level,
)
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import group_starts
from rocframe.options import NOT_GIVEN, public
from rocframe.schemas.statistics import DRIFT_TEST
from rocframe.schemas.table_type import ROW_COUNTS, WINDOW
from rocframe.text import format_name, format_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.pairs import ClassSizes
    from rocframe.comparisons.time_windows import TimeWindows
    from rocframe.frames import FrameT
    from rocframe.inference import Adjust
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


@public
def drift_test(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    over: str = WINDOW,
    by: By = None,
    level: float = 0.95,
    adjust: Adjust | None = "holm",
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Test whether the AUC of each group changes over time: any change, and a linear trend.

    The null hypotheses are that all windows have the same AUC (Cochran's test of homogeneity), and
    that the AUC neither rises nor falls with time. Both tests weight the areas by the inverse of
    DeLong's variances, pooled over the windows. `drift` shows which windows differ.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    over : str, default "window"
        Column of the windows, which must not overlap. The trend needs the dtype Date, Datetime or
        an integer dtype. For `"window"`, the column `window_end` is also read.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values over all rows of the result, separately for each of the two
        tests.
    cluster : str or Expr, default None
        Clusters of dependent rows, such as users.
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
        One row per group, sorted by group: `*by`, (`model`,) `homogeneity_p_adjusted,
        trend_p_adjusted, homogeneity_p, trend_p, se, between_sd, cochran_q, df, df_denominator,
        mean_auc, n_windows, n_pos, n_neg, n_missing, ci_level, slope, lower, upper, note`. `slope`
        (Float64) is the change of the AUC per day, or per unit for integers, with limits and
        standard error `se`. `between_sd` (Float64) is the standard deviation of the AUC between
        windows without the sampling error. `n_windows` (Int64) excludes windows with at most one
        row or cluster of a class.

        The columns of the test of homogeneity are null if `n_windows` is below 2, or if the pooled
        variance is 0; those of the trend also if `n_windows` is below 3, for other dtypes of
        `over`, or if all areas are exactly on a line. `note` (String) is null, or the first that
        applies of `no_rows, no_positives, no_negatives, zero_variance` (the pooled variance is 0),
        and the windows that are left out, such as `left_out:1 (2026-01-05)`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if windows overlap.

    See Also
    --------
    drift : Compare the AUC of each window with a reference window.
    windows : Assign predictions to time windows.

    Notes
    -----
    The trend is a random effects meta-regression of the AUC on the start of the window, with Knapp
    and Hartung's t test: variation from week to week alone is not a trend. If windows with fewer
    than about 10 positives are mixed with much larger windows, the test of homogeneity rejects too
    often; use longer windows. With many rows per window, it finds changes that are too small to
    matter: see `between_sd`. If few clusters are in many windows, it rejects too rarely. Rows with
    a null in `over` are left out of the tests.

    References
    ----------
    - W. G. Cochran (1954), Biometrics 10(1), 101-129. doi:10.2307/3001666
    - R. DerSimonian, N. Laird (1986), Controlled Clinical Trials 7, 177.
      doi:10.1016/0197-2456(86)90046-2
    - G. Knapp, J. Hartung (2003), Statistics in Medicine 22(17), 2693-2710. doi:10.1002/sim.1482
    - N. A. Obuchowski (1997), Biometrics 53(2), 567-578. doi:10.2307/2533958
    - J. N. K. Rao, A. J. Scott (1981), Journal of the American Statistical Association 76(374),
      221-230. doi:10.1080/01621459.1981.10477633

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [9, 8, 4, 5, 2, 1, 9, 7, 3, 5, 4, 4, 9, 3, 2, 6, 5, 2]
    >>> weeks, labels = [1] * 6 + [2] * 6 + [3] * 6, [1, 1, 1, 0, 0, 0] * 3
    >>> predictions = pl.DataFrame({"week": weeks, "label": labels, "score": scores})
    >>> tests = rf.drift_test(predictions, "label", "score", over="week")
    >>> tests.select(pl.col("homogeneity_p", "trend_p", "slope").round(3)).row(0, named=True)
    {'homogeneity_p': 0.623, 'trend_p': 0.052, 'slope': -0.194}
    """
    level = parse_level(level)
    check_adjust(adjust)
    roles = Roles(label, score, by, positive, weight, count, missing, cluster)

    def adjust_tests(table: pl.DataFrame) -> pl.DataFrame:
        for name in ("homogeneity_p", "trend_p"):
            table = adjust_table(table, adjust, name, f"{name}_adjusted")
        return table

    return plan_windows(
        predictions,
        roles,
        over,
        lambda cases: drift_test_table(WindowAreas.from_cases(cases, roles, level), over, level),
        lambda _: DRIFT_TEST.columns(),
        keep_windows=False,
        finish=adjust_tests,
    )


def drift_test_table(areas: WindowAreas, over: str, level: float) -> pl.DataFrame:
    """Return the result of `drift_test` for the windows of one model, without adjustment."""
    windows = areas.windows
    has_time = windows.window.is_not_null().to_numpy()
    _check_no_overlap(windows, has_time, over)
    n_groups = windows.keys.height
    area = areas.value
    counts = {
        name: np.bincount(windows.group, areas.areas.get_column(name).to_numpy(), n_groups).astype(
            np.int64
        )
        for name in ROW_COUNTS
    }
    sizes = areas.sizes
    usable = has_time & (sizes[0] > 1) & (sizes[1] > 1)
    starts = group_starts(windows.group, n_groups)
    names = np.array([format_name(text) for text in format_values(windows.window)], object)
    exclusions = exclusion_notes(names, usable | ~has_time, starts)
    group = windows.group[usable]
    variance, df_denominator = pooled_variance(
        [values[usable] for values in (areas.parts.of_pos, areas.parts.of_neg)],
        [size[usable] for size in sizes],
        group,
        n_groups,
        None if areas.clusters is None else areas.clusters.group_sizes,
    )
    correlations = None
    if areas.clusters is not None:
        # The pooled variance of a window has the same share of the covariance of both classes.
        weight = sizes[0][usable] + sizes[1][usable]
        total, of_pos, of_neg = (
            np.bincount(group, weight * values[usable], n_groups) for values in areas.parts
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            variance *= np.maximum(total / (of_pos + of_neg), 0)[group]
        correlations = areas.clusters.correlations(np.flatnonzero(usable), windows.group)
    # The variances of all windows of a group are 0, or none of them.
    no_variance = variance < ZERO_VARIANCE
    variance[no_variance] = 1
    zero_variance = np.bincount(group[no_variance], minlength=n_groups) > 0
    estimates = Estimates(
        value=area[usable],
        variance=variance,
        group=group,
        n_groups=n_groups,
        correlations=correlations or {},
    )
    tests = estimates.homogeneity(df_denominator)
    tests |= estimates.trend(_times(windows.window.filter(usable), group), level)
    applies = absent_classes(counts["n_pos"], counts["n_neg"]) | {"zero_variance": zero_variance}
    first = first_notes(applies)
    columns: dict[str, Any] = {
        **counts,
        **{name: np.where(zero_variance, np.nan, values) for name, values in tests.items()},
        "mean_auc": estimates.mean,
        "n_windows": estimates.n,
        "ci_level": level,
        "note": [join_notes(*notes) for notes in zip(first, exclusions, strict=True)],
    }
    return build_table(windows.keys, columns, DRIFT_TEST.columns())


def pooled_variance(
    parts: Sequence[NDArray[np.float64]],
    rows: Sequence[NDArray[np.int64]],
    group: NDArray[np.int64],
    n_groups: int,
    units: ClassSizes | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the variance of the area of each window, and its degrees of freedom in each group.

    Variances of placement values are pooled over the windows, weighted by `rows - 1`. `units` are
    the numbers of clusters in a group.
    """

    def total(values: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(group, values, n_groups).astype(np.float64)

    variance, summed, squares = np.zeros(len(group)), np.zeros(n_groups), np.zeros(n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, (part, n) in enumerate(zip(parts, rows, strict=True)):
            df = total(n - 1)
            pooled = (total((n - 1) * n * part) / df)[group] / n
            if units is not None:  # the same clusters can be in several windows
                df = np.minimum(df, units[i] - 1)
            variance += pooled
            summed += total(pooled)
            squares += total(pooled) ** 2 / df
        return variance, summed**2 / squares


def _check_no_overlap(windows: TimeWindows, has_time: NDArray[np.bool_], over: str) -> None:
    """Raise an error if two windows of a group share rows."""
    rows = np.flatnonzero(has_time)
    first, second = rows[:-1], rows[1:]
    same_group = windows.group[first] == windows.group[second]
    if (same_group & windows.overlap(first, second)).any():
        problem = "the windows overlap, so that they share rows and are not independent"
        hint = "Use windows(…, period=None), or use drift, which accepts overlapping windows."
        raise OptionValueError.compose("over", over, problem, hint)


def _times(window: pl.Series, group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the days or units from the first window of each group; NaN for other types."""
    is_time = window.dtype.base_type() in {pl.Date, pl.Datetime}
    if not is_time and not window.dtype.is_integer():
        return np.full(len(window), np.nan)
    # Differences of integers are exact.
    numbers = (window.cast(pl.Datetime("us")).to_physical() if is_time else window).cast(pl.Int128)
    elapsed = (numbers - numbers.gather(np.searchsorted(group, group))).cast(pl.Float64).to_numpy()
    return elapsed / MICROSECONDS_PER_DAY if is_time else elapsed


MICROSECONDS_PER_DAY = 86_400_000_000
# The largest mean square of the residuals of values on a line, divided by that of the values.
SQUARED_ROUNDING = 1e-24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """Estimates with known variances, and the correlations in groups with dependent estimates."""

    value: NDArray[np.float64]
    variance: NDArray[np.float64]
    group: NDArray[np.int64]
    n_groups: int
    correlations: Mapping[int, NDArray[np.float64]]

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of `values` in each group."""
        return np.bincount(self.group, values, self.n_groups).astype(np.float64)

    def moments(
        self, weight: NDArray[np.float64], design: Sequence[NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], ...]:
        """Return the moments of the residual sum of squares of weighted least squares.

        The part of the variance 1 / `weight` above that of the estimates is independent. The
        moments are the expected sum, its degrees of freedom, and the ratio of the variance of the
        last coefficient to that with independent estimates.
        """
        expected = (self.n - len(design)).astype(np.float64)
        df, ratio = expected.copy(), np.ones(self.n_groups)
        for group, correlation in self.correlations.items():
            rows = slice(*np.searchsorted(self.group, [group, group + 1]))
            root = np.sqrt(weight[rows])
            sd = root * np.sqrt(self.variance[rows])
            matrix = sd[:, None] * correlation * sd + np.diag(1 - sd**2)
            columns = np.column_stack([root * column[rows] for column in design])
            if expected[group] <= 0 or not np.isfinite(columns).all():
                continue
            q = np.linalg.qr(columns)[0]
            residual = matrix - q @ (q.T @ matrix)
            trace = np.trace(residual)
            expected[group], df[group] = trace, trace**2 / (residual * residual.T).sum()
            ratio[group] = q[:, -1] @ matrix @ q[:, -1]
        return expected, df, ratio

    @property
    def n(self) -> NDArray[np.int64]:
        """The number of estimates of each group."""
        n: NDArray[np.int64] = np.bincount(self.group, minlength=self.n_groups)
        return n

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of each group, weighted by the inverse variances; NaN without estimates."""
        with np.errstate(invalid="ignore"):
            return self.total(self.value / self.variance) / self.total(1 / self.variance)

    def homogeneity(self, df_denominator: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return Cochran's test of equal values, and the standard deviation between the values."""
        from scipy.special import fdtrc

        weight = 1 / self.variance
        q = self.total(weight * (self.value - self.mean[self.group]) ** 2)
        expected, df, _ = self.moments(weight, [np.ones(len(weight))])
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = self.total(weight) - self.total(weight**2) / self.total(weight)
            between = np.sqrt(np.maximum(q - expected, 0) / scale)
            q *= np.where(df == expected, 1, df / expected)
        known = self.n > 1
        df = np.where(known, df, np.nan)
        return {
            "cochran_q": np.where(known, q, np.nan),
            "df": df,
            "df_denominator": np.where(known, df_denominator, np.nan),
            "homogeneity_p": fdtrc(df, df_denominator, q / df),
            "between_sd": np.where(known, between, np.nan),
        }

    def trend(self, time: NDArray[np.float64], level: float) -> dict[str, NDArray[np.float64]]:
        """Return the slope of a random effects meta-regression on time, with its test and limits.

        The variance between the values is DerSimonian and Laird's estimate around the line.
        """
        from scipy.special import stdtrit

        weight = 1 / self.variance
        design = np.ones(len(weight)), time
        expected, _, _ = self.moments(weight, design)
        with np.errstate(divide="ignore", invalid="ignore"):
            residual, _, spread, centered = self._line(time, weight)
            q = self.total(weight * residual**2)
            # The trace of (X'WX)^-1 X'W^2 X, for an intercept and the centered time.
            trace = self.total(weight**2) / self.total(weight)
            trace += self.total((weight * centered) ** 2) / spread
            between = np.maximum(q - expected, 0) / (self.total(weight) - trace)
            weight = 1 / (self.variance + between[self.group])
            expected, df, ratio = self.moments(weight, design)
            residual, slope, spread, _ = self._line(time, weight)
            squares = self.total(weight * residual**2)
            size = self.total(weight * np.maximum(self.value**2, 1))
            known = (df > 0) & (squares > SQUARED_ROUNDING * size)
            se = np.sqrt(squares / expected * ratio / spread)
            slope, se = np.where(known, slope, np.nan), np.where(known, se, np.nan)
            half = stdtrit(df, (1 + level) / 2) * se
            p_value = normal_p_value(slope / se, "two-sided", df)
        return {
            "slope": slope,
            "lower": slope - half,
            "upper": slope + half,
            "se": se,
            "trend_p": p_value,
        }

    def _line(
        self, time: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], ...]:
        """Return residuals, slope, weighted squares of time, and centered time of a fitted line."""
        total = self.total(weight)
        centered = time - (self.total(weight * time) / total)[self.group]
        value = self.value - (self.total(weight * self.value) / total)[self.group]
        spread = self.total(weight * centered**2)
        slope = self.total(weight * centered * value) / spread
        return value - slope[self.group] * centered, slope, spread, centered
