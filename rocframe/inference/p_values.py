"""P-values and their adjustment for multiple tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray


Alternative = Literal["two-sided", "greater", "less"]


def check_alternative(alternative: str) -> None:
    """Raise an error if `alternative` is not one of the three alternatives."""
    check_choice("alternative", alternative, get_args(Alternative))


def normal_p_value(
    statistic: NDArray[np.float64],
    alternative: Alternative,
    df: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return p-values of standard normal statistics, or of t with `df` degrees of freedom."""
    from scipy.special import ndtr, stdtr

    def lower_tail(value: NDArray[np.float64]) -> NDArray[np.float64]:
        probability: NDArray[np.float64] = ndtr(value) if df is None else stdtr(df, value)
        # If a difference and its variance are 0, the statistic is 0 and `df` is NaN. The tail
        # probability of the statistic 0 is 1/2 for all `df`.
        return np.where(value == 0, 0.5, probability)

    if alternative == "two-sided":
        return 2 * lower_tail(-np.abs(statistic))
    return lower_tail(-statistic if alternative == "greater" else statistic)


def is_as_extreme(
    drawn: NDArray[Any], observed: NDArray[Any] | int, alternative: Alternative
) -> NDArray[np.bool_]:
    """Return whether each statistic of a permutation is at least as extreme as the observed one.

    The mean of the statistic over all permutations is 0.
    """
    if alternative == "two-sided":
        extreme: NDArray[np.bool_] = np.abs(drawn) >= np.abs(observed)
    else:
        extreme = drawn >= observed if alternative == "greater" else drawn <= observed
    return extreme


def permutation_p_value(
    n_extreme: NDArray[np.int64], n_permutations: NDArray[np.int64], exact: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the share of permutations whose statistic is at least as extreme as that of the data.

    If the permutations are a random sample (`exact` is False), the data count as one more
    permutation, so that no p-value is 0 (Phipson and Smyth, 2010).
    """
    data = np.where(exact, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value: NDArray[np.float64] = (n_extreme + data) / (n_permutations + data)
    return p_value


Adjust = Literal["holm", "bh"]


def check_adjust(adjust: str | None) -> None:
    """Raise an error if `adjust` is not the name of an adjustment method or None."""
    check_choice("adjust", adjust, (*get_args(Adjust), None))


def adjust_p_values(
    p_values: NDArray[np.float64], families: NDArray[Any], adjust: Adjust | None
) -> NDArray[np.float64]:
    """Adjust p-values within families by Holm's or Benjamini and Hochberg's method.

    `families` is an array with the number of the family of each test. P-values that are NaN are not
    counted as tests, and remain NaN.
    """
    p, size = pl.col("p"), pl.col("p").count()
    adjusted = {
        "holm": (p * (size - p.rank("min") + 1)).cum_max(),
        "bh": (p * size / p.rank("max")).cum_min(reverse=True),
    }
    if adjust is not None:
        p = adjusted[adjust].over("family", order_by="p").clip(upper_bound=1)
    tests = pl.DataFrame({"p": p_values, "family": families}).fill_nan(None)
    return tests.select(p.fill_null(np.nan)).to_series().to_numpy()


def adjust_table(
    table: pl.DataFrame,
    adjust: Adjust | None,
    name: str = "p_value",
    adjusted: str = "p_adjusted",
) -> pl.DataFrame:
    """Return the table with the p-values of a column, adjusted over all groups and models."""
    p_value = table[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    p_adjusted = adjust_p_values(p_value, np.zeros(len(p_value)), adjust)
    return table.with_columns(pl.Series(adjusted, p_adjusted, nan_to_null=True))


def simultaneous_limits(
    table: pl.DataFrame, groups: NDArray[Any], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return Bonferroni's simultaneous limits of the differences in a table of tests.

    `groups` are the numbers of the groups. The family of each test is the one for which Holm's
    method returns the adjusted p-values of the table: the tests of its group, or all tests. The
    limits of tests with other limits than estimate ± quantile · se, such as bootstrap limits, are
    NaN. Return None if the p-values were not adjusted by Holm's method, or if all families consist
    of one test.
    """
    from scipy.special import ndtri, stdtrit

    def column(name: str) -> NDArray[np.float64]:
        values = table.get_column(name).cast(pl.Float64).fill_null(np.nan)
        return values.to_numpy()

    p_value, estimate, se, df = map(column, ("p_value", "difference", "se", "df"))
    families = next(
        (
            numbers
            for numbers in (groups, np.zeros_like(groups))
            if np.allclose(
                adjust_p_values(p_value, numbers, "holm"),
                column("p_adjusted"),
                rtol=1e-9,
                atol=0,
                equal_nan=True,
            )
        ),
        None,
    )
    sizes = None if families is None else np.bincount(families, ~np.isnan(p_value))[families]
    if sizes is None or sizes.max(initial=0) < 2:
        return None

    def half_width(alpha: Any) -> NDArray[np.float64]:
        probability = 1 - alpha / 2
        quantile = np.where(np.isnan(df), ndtri(probability), stdtrit(df, probability))
        return np.asarray(quantile * se, np.float64)

    half = half_width(1 - level)
    ends = np.stack([column("lower"), column("upper")])
    is_wald = np.isclose(ends, [estimate - half, estimate + half], rtol=0, atol=1e-9).all(axis=0)
    half = np.where(is_wald & (sizes > 0), half_width((1 - level) / np.maximum(sizes, 1)), np.nan)
    return estimate - half, estimate + half
