"""The function `drift`: the AUC of each time window, compared with a reference window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from rocframe.areas.auc import auc_table
from rocframe.areas.pairs import cluster_parts
from rocframe.comparisons.comparison_tests import Family
from rocframe.comparisons.hypothesis import (
    Hypothesis,
    Quantity,
    UnpairedEstimates,
    least_sizes,
    welch_columns,
)
from rocframe.comparisons.time_windows import (
    TimeWindows,
    parse_reference,
    plan_windows,
    reference_notes,
    scatter,
    size_notes,
)
from rocframe.frames import build_table
from rocframe.inference import (
    Confidence,
    adjust_p_values,
    adjust_table,
    check_adjust,
    few_rows,
    first_notes,
    parse_level,
)
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import scale_weights
from rocframe.options import NOT_GIVEN, check_choice, parse_integer, parse_names, public
from rocframe.schemas.statistics import drift_columns
from rocframe.schemas.table_type import ROW_COUNTS, WINDOW

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from rocframe.areas.auc import AucTable
    from rocframe.areas.pairs import ClassSizes, VarianceParts
    from rocframe.frames import FrameT
    from rocframe.inference import Adjust, Alternative, Note
    from rocframe.inputs.cases import Cases
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
    margin: float | None = None,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    adjust: Adjust | None = "holm",
    family: Family = "group",
    min_rows: int = 0,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute the AUC of each time window, and compare it with a reference window.

    Two windows are compared by a t test with DeLong's variances, or Obuchowski's variances and
    covariances with `cluster`. `windows` assigns predictions to windows, such as weeks. Rows with
    equal values of any other column, such as the day, are also a window.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    over : str, default "window"
        Column of the windows. If it is `"window"`, the column `window_end` is also read and
        returned; windows that overlap are then not tested against each other.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    reference : object, default "first"
        Window with which the other windows of the group are compared.

        - `"first"`: the first window with positives and negatives.
        - `"previous"`: for each window, the last earlier one with both classes that does not
          overlap.
        - A value of the column `over`: this window.
        - A table of other predictions, such as those of the first month, with all columns that the
          arguments use except `over`: its rows of the same group.
    margin : float, default None
        Largest acceptable deterioration, from 0 to below 1. The one-sided alternative is that the
        AUC of the window is lower than that of the reference by more than the margin.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        The two values differ (`"two-sided"`), or the AUC of the window is larger (`"greater"`) or
        smaller (`"less"`) than that of the reference.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of a family of tests. `"holm"` controls the probability of at
        least one false rejection, `"bh"` (Benjamini and Hochberg) the expected share of false
        rejections among all rejections.
    family : {"group", "all"}, default "group"
        Tests that are adjusted together: those of each group and model, or all rows of the result.
    min_rows : int, default 0
        Windows with fewer positives or negatives do not count: they are not tested, and are not
        the reference of `"first"` and `"previous"`; other references need as many.
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
        One row per group and window, sorted by group and window: `*by`, `over`, (`window_end`,)
        (`model`,) `auc, lower, upper, p_adjusted, p_value, reference, reference_auc,
        reference_lower, reference_upper, se, statistic, df, n_pos, n_neg, n_missing, ci_level,
        ci_method, test, difference, difference_lower, difference_upper, note`.

        - `lower` and `upper` (Float64) are the limits of `auc`, as in `auc`.
        - `reference` is the reference window; null if it is a table. `reference_auc` is its AUC.
        - `difference` (Float64) is `auc` - `reference_auc`, with limits, `se` and a test with `df`
          degrees of freedom. The limits are not adjusted for the number of tests; `p_adjusted` is.

        The difference and its test are null if the window is the reference, if the group lacks the
        reference, or if an AUC is null; the test also if a class of one of the windows has fewer
        than two rows or clusters, if the windows overlap, because of `min_rows`, or if the variance
        is 0. If the difference is then also 0, `p_value` is 1, or 1/2 for a one-sided test without
        `margin`.

        `note` (String) is null, or the first of these values that applies: `below_min_rows,
        reference:below_min_rows, no_rows, no_positives, no_negatives, one_positive, one_negative,
        one_positive_cluster, one_negative_cluster, zero_variance, shared_rows` (the windows
        overlap), `few_rows:3`, or `reference:` and the note of the reference because of which there
        is no test.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the table `reference` lacks a column.

    See Also
    --------
    windows : Assign predictions to time windows.
    drift_test : Test each group for any change and for a trend over all windows.
    compare : Compare models on the same rows.

    Notes
    -----
    Without `cluster`, rows are assumed to be independent. With `windows(closed="both")`, windows
    that share only the rows exactly at the end are tested, as if these rows were independent: the
    p-values are too large. Rows with a null in `over` are one window, never a reference of
    `"first"` and `"previous"`. All tests against the same reference depend on its estimate: with
    few rows, they have low power. To compare weeks with the first month, pass its rows as a table,
    and leave them out of `predictions`. If a growing table is evaluated each day, `p_adjusted` of a
    past window can increase.

    References
    ----------
    - E. R. DeLong et al. (1988), Biometrics 44(3), 837-845. doi:10.2307/2531595
    - B. L. Welch (1947), Biometrika 34(1-2), 28-35. doi:10.1093/biomet/34.1-2.28
    - N. A. Obuchowski (1997), Biometrics 53(2), 567-578. doi:10.2307/2533958
    - S. Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.9, 0.6, 0.6, 0.2, 0.1, 0.4, 0.8, 0.7, 0.5, 0.4]
    >>> predictions = pl.DataFrame(
    ...     {"week": [1] * 5 + [2] * 5, "label": [1, 1, 0, 0, 0] * 2, "score": scores}
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
    options = DriftOptions(
        reference=parse_reference(reference),
        hypothesis=Hypothesis.parse(
            Quantity(), margin, alternative, parse_level(level), inferiority=True
        ),
        adjust=adjust,
        min_rows=parse_integer("min_rows", min_rows, low=0, example=50),
    )
    check_adjust(adjust)
    check_choice("family", family, get_args(Family))
    roles = Roles(label, score, by, positive, weight, count, missing, cluster)
    table = options.reference if isinstance(options.reference, pl.LazyFrame) else None

    def compute(cases: Cases) -> pl.DataFrame:
        windows = WindowAreas.from_cases(cases, roles, level, has_reference=table is not None)
        return drift_table(windows, options)

    return plan_windows(
        predictions,
        roles,
        over,
        compute,
        drift_columns,
        reference=table,
        finish=(lambda tests: adjust_table(tests, adjust)) if family == "all" else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DriftOptions:
    """Options of `drift`; `reference` can be a table."""

    reference: object
    hypothesis: Hypothesis
    adjust: Adjust | None
    min_rows: int


def drift_table(estimates: WindowAreas, options: DriftOptions) -> pl.DataFrame:
    """Return the result of `drift` for the windows of one model."""
    windows, areas = estimates.windows, estimates.areas
    n_windows = areas.height
    n_pos, n_neg = (areas.get_column(name).to_numpy() for name in ("n_pos", "n_neg"))
    is_small = np.minimum(n_pos, n_neg) < options.min_rows
    is_usable = areas.get_column("auc").is_not_null().to_numpy() & ~is_small
    reference = windows.references(options.reference, is_usable)
    notes_of_size = size_notes(is_small, reference)
    all_rows = np.arange(n_windows)
    known = np.flatnonzero(reference >= 0)
    others = known[reference[known] != known]
    a, b = (estimates.estimates(rows) for rows in (others, reference[others]))
    clusters = estimates.clusters
    shared = None if clusters is None else clusters.of_pairs(others, reference[others])
    tests = welch_columns(a, b, options.hypothesis, shared)
    overlap = windows.overlap(others, reference[others])
    has_no_test = overlap | notes_of_size.is_not_null().to_numpy()[others]
    columns: dict[str, Any] = {}
    for name, result_name in TEST_COLUMNS.items():
        values = tests[name] if name == "difference" else np.where(has_no_test, np.nan, tests[name])
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
    note = areas.get_column("note")
    note = note.zip_with(note.is_not_null(), test_note)
    reference_note = reference_notes(areas.get_column("note"), reference, options.reference)
    untested = np.isnan(columns["p_value"]) & (reference != all_rows)
    note = note.zip_with(note.is_not_null() | ~pl.Series(untested), reference_note)
    note = notes_of_size.zip_with(notes_of_size.is_not_null(), note)
    position = pl.Series(reference).replace(-1, None)
    columns |= {name: areas.get_column(name) for name in AREA_COLUMNS} | {
        "p_adjusted": p_adjusted,
        "reference": windows.window.gather(position),
        **{
            name: areas.get_column(source).gather(position)
            for name, source in REFERENCE_AREA.items()
        },
        "test": "delong_t_unpaired",
        "note": note,
    }
    table = build_table(windows.window_keys, columns, drift_columns(windows.window.dtype))
    return table.filter(~pl.Series(windows.is_reference)) if windows.is_reference.any() else table


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
REFERENCE_AREA = {"reference_auc": "auc", "reference_lower": "lower", "reference_upper": "upper"}
AREA_COLUMNS = ("auc", "lower", "upper", *ROW_COUNTS, "ci_level", "ci_method")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowAreas:
    """The areas of the windows of all groups, with their variances."""

    windows: TimeWindows
    areas: pl.DataFrame
    variance: NDArray[np.float64]
    parts: VarianceParts
    clusters: WindowClusters | None

    @classmethod
    def from_cases(
        cls, cases: Cases, roles: Roles, level: float, *, has_reference: bool = False
    ) -> WindowAreas:
        """Compute the areas of all windows; the key columns are those of `plan_windows`."""
        result = auc_table(cases, None, Confidence.parse("logit_delong", level))
        areas, parts = result.table, result.parts
        assert parts is not None
        windows = TimeWindows.from_keys(
            areas.select(cases.keys.columns),
            len(parse_names(roles.by)),
            has_reference=has_reference,
        )
        se, note = areas.get_column("se"), areas.get_column("note")
        variance = pl.select(pl.when(note == "zero_variance").then(0.0).otherwise(se**2))
        return cls(
            windows=windows,
            areas=areas,
            variance=variance.to_series().fill_null(np.nan).to_numpy(),
            parts=parts,
            clusters=WindowClusters.from_areas(result, cases, windows.group),
        )

    @property
    def value(self) -> NDArray[np.float64]:
        """The area of each window; NaN if it is undefined."""
        return self.areas.get_column("auc").fill_null(np.nan).to_numpy()

    @property
    def sizes(self) -> ClassSizes:
        """The numbers of positives and negatives of each window, or of clusters with them."""
        if self.clusters is not None:
            return self.clusters.sizes
        n_pos, n_neg = (self.areas.get_column(name).to_numpy() for name in ("n_pos", "n_neg"))
        return n_pos, n_neg

    def estimates(self, rows: NDArray[np.int64]) -> UnpairedEstimates:
        """Return the areas of the windows `rows` with their variances and `sizes`."""
        n_pos, n_neg = self.sizes
        return UnpairedEstimates(
            groups=rows,
            value=self.value[rows],
            variance=self.variance[rows],
            spread=self.parts.spread((n_pos, n_neg))[rows],
            n_pos=n_pos[rows],
            n_neg=n_neg[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowClusters:
    """The numbers of clusters with each class, of the windows and of the groups.

    For each two windows, there are the covariance of their areas, and the number of `shared`
    clusters.
    """

    sizes: ClassSizes
    group_sizes: ClassSizes
    covariance: csr_array
    shared: csr_array

    @classmethod
    def from_areas(
        cls, areas: AucTable, cases: Cases, group: NDArray[np.int64]
    ) -> WindowClusters | None:
        """Return the clusters of the windows; `group` is the group of each window."""
        from scipy.sparse import csr_array

        clusters, n_groups = areas.clusters, int(group.max(initial=-1)) + 1
        if clusters is None:
            return None
        n_codes = int(clusters.number.max(initial=0)) + 1
        codes = group[clusters.group] * n_codes + clusters.number
        codes, row = np.unique(codes, return_inverse=True)
        shape = len(codes), clusters.groups

        def matrix(values: NDArray[Any]) -> csr_array:
            return csr_array((values, (row, clusters.group)), shape=shape)

        parts = cluster_parts(clusters, areas.scan, scale_weights(cases).weight)
        pos, neg, pos_of_both, neg_of_both = map(matrix, parts)
        both, present = pos_of_both.T @ neg_of_both, matrix(np.ones(len(row)))
        group_sizes = []
        for cluster in clusters.cluster:
            in_class = np.zeros(len(codes), bool)
            in_class[row[cluster]] = True
            group_sizes.append(np.bincount(codes[in_class] // n_codes, minlength=n_groups))
        return cls(
            sizes=clusters.sizes[:2],
            group_sizes=(group_sizes[0], group_sizes[1]),
            covariance=(pos.T @ pos + neg.T @ neg + both + both.T).tocsr(),
            shared=(present.T @ present).tocsr(),
        )

    def of_pairs(
        self, a: NDArray[np.int64], b: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the covariances of the windows `a` and `b`, and their numbers of clusters."""
        in_window = self.shared.diagonal()
        covariance, in_both = (_elements(matrix, a, b) for matrix in (self.covariance, self.shared))
        return covariance, (in_window[a] + in_window[b] - in_both).astype(np.int64)

    def correlations(
        self, windows: NDArray[np.int64], group: NDArray[np.int64]
    ) -> dict[int, NDArray[np.float64]]:
        """Return the correlations of the areas of each group whose `windows` share clusters."""
        pairs = self.shared.tocoo()
        is_used = np.isin(pairs.row, windows) & np.isin(pairs.col, windows)
        result = {}
        for one in np.unique(group[pairs.row[is_used & (pairs.row != pairs.col)]]).tolist():
            rows = windows[group[windows] == one]
            matrix = self.covariance[rows][:, rows].toarray()
            sd = np.sqrt(matrix.diagonal())
            scale = np.outer(sd, sd)
            result[one] = np.divide(matrix, scale, out=np.zeros_like(matrix), where=scale > 0)
            np.fill_diagonal(result[one], 1)
        return result


def _elements(
    matrix: csr_array, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the elements of a sparse matrix at pairs of positions."""
    elements = matrix[rows, columns]
    result: NDArray[np.float64] = np.asarray(getattr(elements, "toarray", lambda: elements)())
    return result.ravel()
