"""The function `drift`: the AUC of each time window, compared with a reference window.

References
----------
E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
correlated receiver operating characteristic curves: a nonparametric approach", Biometrics
44(3), 837-845. doi:10.2307/2531595
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from rocframe.comparisons.comparison_tests import Family
from rocframe.comparisons.hypothesis import Hypothesis, Quantity
from rocframe.comparisons.time_windows import TimeWindows, plan_windows
from rocframe.comparisons.unpaired import least_sizes, welch_columns
from rocframe.errors import OptionValueError
from rocframe.frames import build_table
from rocframe.inference.confidence import parse_level
from rocframe.inference.notes import few_rows, first_notes
from rocframe.inference.p_values import adjust_p_values, adjust_table, check_adjust
from rocframe.inputs.roles import Roles
from rocframe.options import NOT_GIVEN, check_choice, public
from rocframe.schemas.columns import ROW_COUNTS, WINDOW
from rocframe.schemas.comparisons import drift_columns
from rocframe.table_arguments import is_arrow_table, read_arrow_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inference.notes import Note
    from rocframe.inference.p_values import Adjust, Alternative
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


@public
def drift(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    over: str = WINDOW,
    by: By = None,
    reference: object = "first",
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    adjust: Adjust | None = "holm",
    family: Family = "group",
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute the AUC of each time window, and compare it with a reference window.

    The difference of two windows is tested by a t test with DeLong's variances, or Obuchowski's
    variances and covariances with `cluster`. `windows` assigns predictions to windows, such as
    weeks, in a new column `window`. Any other column, such as the day, can be used instead: rows
    with equal values are one window.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    over : str, default "window"
        Column of the windows. If `over` is `"window"` and the table has the column `window_end`,
        the result also has the column `window_end`, and windows that overlap are not tested against
        each other.
    by : str or sequence of str, default None
        Group columns; null is a group.
    reference : object, default "first"
        Window with which the other windows of the group are compared.

        - `"first"`: the first window with positives and negatives.
        - `"previous"`: for each window, the last earlier window that has positives and negatives,
          and that does not overlap the window.
        - A value of the column `over`: this window.
        - A DataFrame, LazyFrame or Arrow table of other predictions, such as those of the first
          month. The reference is the rows of this table that belong to the same group. The table
          needs all columns that the arguments use, except `over`.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        Alternative hypothesis: the two values differ (`"two-sided"`), or the AUC of the window is
        larger (`"greater"`) or smaller (`"less"`) than the AUC of the reference.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of a family of tests. `"holm"` controls the probability of at
        least one false rejection. `"bh"` (Benjamini and Hochberg) controls the expected share of
        false rejections among all rejections. None: no adjustment.
    family : {"group", "all"}, default "group"
        Tests whose p-values are adjusted together. `"group"`: the windows of each group and model.
        `"all"`: all rows of the result.
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
        `*by`, `over`, (`window_end`,) (`model`,) `auc, lower, upper, p_adjusted, p_value,
        reference, reference_auc, reference_lower, reference_upper, se, statistic, df, n_pos, n_neg,
        n_missing, ci_level, ci_method, test, difference, difference_lower, difference_upper, note`;
        one row per group and window, sorted by group and window.

        `lower` and `upper` are the limits of `auc`, as in the result of the function `auc`.
        `difference` is `auc` - `reference_auc`, between -1 and 1. `difference_lower` and
        `difference_upper` are the limits of the difference, and `se` is the standard error of the
        difference. `p_value` is the p-value of the test, and `p_adjusted` is this value adjusted
        for the number of tests; the limits are not adjusted. `statistic` is `difference` divided by
        `se`, and `df` is the number of degrees of freedom of its t distribution.

        `reference` is the reference window, with the dtype of `over`, and null if the reference is
        a table. `reference_auc`, `reference_lower` and `reference_upper` are the AUC of the
        reference and its limits. These three columns and the numeric columns of the previous
        paragraph are Float64.

        `difference`, its limits, `se`, the p-values, `statistic` and `df` are null in these cases:

        - The window is the reference.
        - The group does not have the reference window.
        - The AUC of the window or of the reference is null.

        All these columns except `difference` are also null in these cases:

        - A class of the window or of the reference has fewer than two rows or clusters.
        - The window overlaps the reference.
        - The variance of the difference is 0. If the difference is then also 0, `p_value` is not
          null: it is 1 for a two-sided test and 1/2 for a one-sided test.

        `n_pos`, `n_neg` and `n_missing` (Int64) are the numbers of positives, of negatives, and of
        rows with a missing value in the window. `ci_level` (Float64) is `level`. `ci_method`
        (String) is the method of `lower` and `upper`, and `test` (String) is `"delong_t_unpaired"`,
        the method of `compare`. `note` (String) is null, or the first of these values that applies:
        `no_rows, no_positives, no_negatives, one_positive, one_negative, one_positive_cluster,
        one_negative_cluster, zero_variance, shared_rows`, `few_rows:3`, `reference`. `shared_rows`
        means that the window overlaps the reference. `few_rows:3` means that the smallest class of
        the two windows has only 3 rows or clusters. With fewer than 4, the test can reject a true
        null hypothesis too often. `reference:one_positive` means that the difference cannot be
        tested because the reference has a single positive; the part after the colon is the note of
        the reference, or `no_rows` if the group lacks it.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.
    MissingColumnError
        If `over` is not a column, or if the table `reference` lacks a column.
    OptionValueError
        If `reference` is not a value of the column `over`.
    ColumnTypeError
        If a group column has another dtype in the table `reference`.
    ScoreError
        If `compress` has rounded some of the compared scores of a group to one resolution and
        others to another resolution. The scores of a table `reference` are compared with the scores
        of all windows.

    See Also
    --------
    windows : Assign predictions to time windows.
    drift_test : Test each group for any change and for a trend over all windows.
    compare : Compare models on the same rows.

    Notes
    -----
    Without `cluster`, the test assumes that different rows are independent. With `cluster`, rows of
    the same cluster can be dependent, in one window and in two windows. If the same users occur in
    several windows, the covariance of the two areas is subtracted from the variance of their
    difference. Rows that two windows share are not independent. Windows that overlap are therefore
    not tested against each other. With `windows(closed="both")`, rows exactly at the end of a
    window are also in the next window. Windows that share only such rows are not called
    overlapping. They are tested, and the test treats the shared rows as independent. If two tested
    windows share such rows, the true variance of their difference is smaller than the variance in
    the test. The p-values are then too large, and the intervals too wide. Rows with a null in
    `over` are one window, which is never the reference of `"first"` and `"previous"`.

    With `reference="first"` or a given window, all tests depend on the estimate of the same
    reference. A reference with few rows has a wide interval, and tests against this reference have
    low power. The reference can be longer than the windows. For example, if the windows are weeks,
    the reference can be the first month: pass the rows of this month as a table. Leave these rows
    out of `predictions`, because the test assumes that both tables have different rows.

    If the AUC of a group does not change, the probability that at least one of its windows has
    `p_adjusted` below 0.05 with `adjust="holm"` is at most about 0.05. If a growing table is
    evaluated again each day, the number of tests grows, so that `p_adjusted` of a past window can
    increase.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
    correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    B. L. Welch (1947), "The generalization of 'Student's' problem when several different population
    variances are involved", Biometrika 34(1-2), 28-35. doi:10.1093/biomet/34.1-2.28

    N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2),
    567-578. doi:10.2307/2533958

    S. Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal
    of Statistics 6(2), 65-70.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {
    ...         "week": [1, 1, 1, 1, 1, 2, 2, 2, 2, 2],
    ...         "label": [1, 1, 0, 0, 0, 1, 1, 0, 0, 0],
    ...         "score": [0.9, 0.6, 0.6, 0.2, 0.1, 0.4, 0.8, 0.7, 0.5, 0.4],
    ...     }
    ... )
    >>> weeks = rf.drift(predictions, "label", "score", over="week")
    >>> weeks.select("week", "auc", "difference", "p_adjusted", "reference", "note")
    shape: (2, 6)
    ┌──────┬──────────┬────────────┬────────────┬───────────┬────────────┐
    │ week ┆ auc      ┆ difference ┆ p_adjusted ┆ reference ┆ note       │
    │ ---  ┆ ---      ┆ ---        ┆ ---        ┆ ---       ┆ ---        │
    │ i64  ┆ f64      ┆ f64        ┆ f64        ┆ i64       ┆ str        │
    ╞══════╪══════════╪════════════╪════════════╪═══════════╪════════════╡
    │ 1    ┆ 0.916667 ┆ null       ┆ null       ┆ 1         ┆ null       │
    │ 2    ┆ 0.583333 ┆ -0.333333  ┆ 0.566209   ┆ 1         ┆ few_rows:2 │
    └──────┴──────────┴────────────┴────────────┴───────────┴────────────┘
    """
    options = DriftOptions.parse(reference, alternative, level, adjust, family)
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
        cluster=cluster,
    )
    return plan_windows(
        predictions,
        roles,
        over,
        lambda cases: drift_table(
            TimeWindows.from_cases(
                cases, roles, level, has_reference=options.reference_table is not None
            ),
            options,
        ),
        drift_columns,
        reference=options.reference_table,
        finish=(lambda table: adjust_table(table, adjust)) if family == "all" else None,
    )


REFERENCE_TYPES = (str, int, float, Decimal, date, time, timedelta)  # a datetime is a date


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DriftOptions:
    """Options of `drift`, checked; `reference_table` is `reference` if it is a table."""

    reference: object
    reference_table: pl.LazyFrame | None
    hypothesis: Hypothesis
    adjust: Adjust | None
    family: Family

    @classmethod
    def parse(
        cls,
        reference: object,
        alternative: Alternative,
        level: float,
        adjust: Adjust | None,
        family: Family,
    ) -> DriftOptions:
        """Return the options; raise an error if one is invalid."""
        if is_arrow_table(reference):
            reference = read_arrow_table("reference", reference)
        table = reference.lazy() if isinstance(reference, pl.DataFrame | pl.LazyFrame) else None
        if table is None and not isinstance(reference, REFERENCE_TYPES):
            expected = '"first", "previous", a value of the column of windows, or a table'
            hint = 'Use, for example, reference="first".'
            raise OptionValueError.unexpected_type("reference", reference, expected, hint)
        hypothesis = Hypothesis.parse(Quantity(), None, alternative, parse_level(level))
        check_adjust(adjust)
        check_choice("family", family, get_args(Family))
        return cls(
            reference=reference,
            reference_table=table,
            hypothesis=hypothesis,
            adjust=adjust,
            family=family,
        )


def drift_table(windows: TimeWindows, options: DriftOptions) -> pl.DataFrame:
    """Return the result of `drift` for the windows of one model."""
    n_windows = windows.areas.height
    reference = windows.references(options.reference)
    all_rows = np.arange(n_windows)
    known = np.flatnonzero(reference >= 0)
    others = known[reference[known] != known]
    a, b = (windows.estimates(rows) for rows in (others, reference[others]))
    clusters = windows.clusters
    shared = None if clusters is None else clusters.of_pairs(others, reference[others])
    tests = welch_columns(a, b, options.hypothesis, shared)
    overlap = windows.overlap(others, reference[others])
    columns: dict[str, Any] = {}
    for name, result_name in TEST_COLUMNS.items():
        values = tests[name] if name == "difference" else np.where(overlap, np.nan, tests[name])
        columns[result_name] = scatter(values, others, n_windows)
    p_adjusted = adjust_p_values(columns["p_value"], windows.group, options.adjust)
    sizes = np.zeros(n_windows, np.int64)
    sizes[others] = few_rows(*least_sizes(a, b))
    sizes[np.isnan(columns["p_value"])] = 0  # without a test
    # Two windows with a variance can have a difference without one if they share all clusters.
    constant = np.isnan(tests["p_value"]) & (a.variance > 0) & (b.variance > 0) & ~overlap
    applies: dict[Note, NDArray[Any]] = {
        "zero_variance": np.isin(all_rows, others[constant]),
        "shared_rows": np.isin(all_rows, others[overlap]),
        "few_rows": sizes,
    }
    test_note = pl.Series(first_notes(applies).tolist(), dtype=pl.String)
    note = windows.areas.get_column("note")
    note = note.zip_with(note.is_not_null(), test_note)
    reference_note = _reference_notes(windows.areas.get_column("note"), reference, options)
    untested = np.isnan(columns["p_value"]) & (reference != all_rows)
    note = note.zip_with(note.is_not_null() | ~pl.Series(untested), reference_note)
    position = pl.Series(reference).replace(-1, None)
    areas = {name: windows.areas.get_column(name) for name in AREA_COLUMNS}
    columns |= areas | {
        "p_adjusted": p_adjusted,
        "reference": windows.window.gather(position),
        **{
            name: windows.areas.get_column(source).gather(position)
            for name, source in REFERENCE_AREA.items()
        },
        "test": "delong_t_unpaired",
        "note": note,
    }
    keys = windows.areas.select(windows.window_keys)
    table = build_table(keys, columns, drift_columns(windows.window.dtype))
    return table.filter(~pl.Series(windows.is_reference)) if windows.is_reference.any() else table


def _reference_notes(
    notes: pl.Series, reference: NDArray[np.int64], options: DriftOptions
) -> pl.Series:
    """Return the note of the reference of each window, such as `reference:one_positive`."""
    of_reference = notes.gather(pl.Series(reference).replace(-1, None))
    is_previous = isinstance(options.reference, str) and options.reference == "previous"
    if not is_previous:  # the first window has no previous window
        has_none = pl.Series(reference) < 0
        of_reference = of_reference.zip_with(~has_none, pl.Series(["no_rows"]))
    return "reference:" + of_reference


# The columns of `welch_columns`, and their names in the result.
TEST_COLUMNS = {
    "difference": "difference",
    "lower": "difference_lower",
    "upper": "difference_upper",
    "p_value": "p_value",
    "se": "se",
    "statistic": "statistic",
    "df": "df",
}
REFERENCE_AREA = {
    "reference_auc": "auc",
    "reference_lower": "lower",
    "reference_upper": "upper",
}
AREA_COLUMNS = ("auc", "lower", "upper", *ROW_COUNTS, "ci_level", "ci_method")


def scatter(values: NDArray[np.float64], rows: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Return an array of length `n` with the values at the positions `rows`, and NaN elsewhere."""
    result = np.full(n, np.nan)
    result[rows] = values
    return result
