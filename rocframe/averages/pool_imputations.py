"""The function `pool_imputations`: estimates of imputed data sets, combined by Rubin's rules."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import polars as pl

from rocframe.averages.means import format_keys
from rocframe.averages.options import parse_over
from rocframe.errors import ColumnTypeError, MissingColumnError, OptionValueError
from rocframe.frames import (
    as_input_frame,
    build_table,
    column,
    find_keys,
    lazy_plan,
    number_keys,
    private_names,
    select_keys,
    through_node,
)
from rocframe.inference import exclusion_notes, first_notes, join_notes, parse_level
from rocframe.kernel.groups import run_starts
from rocframe.metrics.intervals import STATISTICS
from rocframe.options import (
    check_choice,
    check_group_column,
    check_group_columns,
    group_dtypes,
    parse_number,
    public,
    to_float,
)
from rocframe.rates import NAMES
from rocframe.schemas import table_of
from rocframe.schemas.statistics import POOLED
from rocframe.schemas.table_type import POINT_NAMES
from rocframe.text import format_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT

PoolingScale = Literal["logit", "identity"]

# The columns with an estimate, for each type of table that can be pooled; "table" is any other one.
DIFFERENCE = "difference"
AREA_NAMES = ("auc", "partial_auc", "mean_auc")
ESTIMATES = {
    "auc": AREA_NAMES[:1],
    "partial_auc": AREA_NAMES[1:2],
    "fold_auc": AREA_NAMES[2:],
    "intervals": ("estimate",),
    "comparison": (DIFFERENCE,),
    "table": ("estimate", *AREA_NAMES),
}
NORMAL_DF = 1e12  # the t distribution with more degrees of freedom is the normal distribution
UNIT_METRICS = {  # metrics whose values are from 0 to 1
    *AREA_NAMES,
    *(name for name, each in (NAMES | STATISTICS).items() if tuple(each.bounds) == (0, 1)),
}


@public
def pool_imputations(
    table: FrameT,
    /,
    *,
    over: str | Sequence[str] = "imputation",
    scale: PoolingScale | None = None,
    df_complete: float | None = None,
    level: float = 0.95,
) -> FrameT:
    """Combine the estimates of several imputed data sets by Rubin's rules.

    The variance of the pooled estimate is the mean of the variances within the data sets, plus 1 +
    1/m times the variance of the estimates between the m data sets. The same rows are in each data
    set, so the variance does not decrease with m, unlike that of a mean over independent folds.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        The result of `auc`, `intervals`, `fold_auc` or `compare` with the imputed data set in
        `by=`, or any table with the columns `estimate` and `se`, and with group columns left of
        `estimate`.
    over : str or sequence of str, default "imputation"
        Group columns that identify the imputed data set.
    scale : {"logit", "identity"}, default None
        Scale on which estimates are averaged and limits are computed. The default is `"logit"` for
        areas and for metrics from 0 to 1, and `"identity"` for others and for differences.
    df_complete : float, default None
        Degrees of freedom that the variance would have without missing data, `inf` for a normal
        distribution. The default is the size of the smaller class minus 1, or `inf` for tables
        without `n_pos` and `n_neg`. With clusters, pass the number of clusters minus 1.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and metric, sorted by group, with metrics in the given order: `*by`,
        `metric, estimate, lower, upper, at, at_value, se, within_variance, between_variance,
        relative_increase, fraction_missing, df, n_imputations, ci_level, scale, note`. The models
        of a comparison are group columns. `metric`, `at`, `scale` and `note` are String,
        `n_imputations` is Int64, all others Float64.

        Without a column `metric` in the table, `metric` is the name of the pooled column, such as
        `auc`. `within_variance` and `between_variance` are on the `scale`; `se`
        is on that of the estimate, by the delta method. `relative_increase` is the increase of the
        variance because of missing data, and `fraction_missing` the fraction of missing
        information. Limits have the t distribution with `df` degrees of freedom.

        `estimate` is null if an estimate is null or, on the logit scale, 0 or 1. Limits and
        variances are also null if a standard error is null, or for one data set.

        `note` is null, or the first of `zero_variance, one_imputation`. `undefined:1 (3)` is added
        if the estimate or standard error of one data set, the data set 3, is not defined.

    Raises
    ------
    RocframeError
        If a column or an option is invalid, or if a group has several rows of a data set.

    See Also
    --------
    fold_auc : The mean AUC of folds with different rows.

    Notes
    -----
    The imputation model must include the label and the score or its features; otherwise the areas
    are biased. Five data sets are enough for an estimate; p-values and limits need about as many
    data sets as the percentage of incomplete rows.

    References
    ----------
    - D. B. Rubin (1987), Multiple Imputation for Nonresponse in Surveys.
      doi:10.1002/9780470316696
    - J. Barnard, D. B. Rubin (1999), Biometrika 86(4), 948-955. doi:10.1093/biomet/86.4.948

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> areas = pl.DataFrame(
    ...     {"imputation": [1, 2, 3], "auc": [0.80, 0.82, 0.78], "se": [0.030, 0.029, 0.031]}
    ... )
    >>> pooled = rf.pool_imputations(areas)
    >>> pooled.select("estimate", "lower", "upper", "se", "fraction_missing", "df")
    shape: (1, 6)
    ┌──────────┬──────────┬──────────┬──────────┬──────────────────┬───────────┐
    │ estimate ┆ lower    ┆ upper    ┆ se       ┆ fraction_missing ┆ df        │
    │ ---      ┆ ---      ┆ ---      ┆ ---      ┆ ---              ┆ ---       │
    │ f64      ┆ f64      ┆ f64      ┆ f64      ┆ f64              ┆ f64       │
    ╞══════════╪══════════╪══════════╪══════════╪══════════════════╪═══════════╡
    │ 0.800502 ┆ 0.707156 ┆ 0.869581 ┆ 0.037934 ┆ 0.443282         ┆ 14.496764 │
    └──────────┴──────────┴──────────┴──────────┴──────────────────┴───────────┘
    """
    check_choice("scale", scale, (*get_args(PoolingScale), None))
    level, over = parse_level(level), parse_over(over)
    if df_complete is not None and to_float(df_complete) != inf:
        df_complete = parse_number("df_complete", df_complete, low=0, example=49)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        estimate = _estimate_column(schema)
        names = list(schema)
        parts = _part_columns(schema)
        keys = [name for name in names[: names.index(estimate)] if name not in parts]
        for name in over:
            check_group_column("over", name, keys, schema)
        by = [name for name in keys if name not in over]
        check_group_columns(by, schema, [*POOLED.columns()])
        group_dtypes(keys, schema)
        inputs = [name for name in (estimate, "se", "n_pos", "n_neg") if name in schema]
        for name in inputs:
            if not schema[name].is_numeric():
                hint = "Cast the column to Float64."
                raise ColumnTypeError.of_table("table", name, schema[name], hint)
        # With other names, filters of the result are not applied to these columns.
        private = private_names(inputs, names)

        layout = ImputedColumns(
            by=tuple(by), parts=parts, over=over, estimate=estimate, private=private
        )
        return through_node(
            plan.select(
                *map(column, (*keys, *parts)), *(column(n).alias(p) for n, p in private.items())
            ),
            lambda frame: _pool_table(frame, layout, scale, df_complete, level),
            schema=group_dtypes(by, schema) | POOLED.columns(),
            by=by,
            anchor="n_imputations",
        )

    return as_input_frame(table, lazy_plan("table", table).pipe_with_schema(resolve))


def _estimate_column(schema: Mapping[str, pl.DataType]) -> str:
    """Return the column of a table whose values are pooled; raise an error if there is none."""
    names = ESTIMATES.get(table_of(list(schema)).name, ())
    found = [name for name in names if name in schema]
    if not found or "se" not in schema:
        raise MissingColumnError.of_table(
            "table",
            "se",
            schema,
            problem="the table has no estimate with a standard error that can be pooled",
            hint="Pass the result of auc, intervals, fold_auc or compare, or a table with the "
            "columns estimate and se.",
        )
    return found[0]


def _part_columns(schema: Mapping[str, pl.DataType]) -> tuple[str, ...]:
    """Return the columns that distinguish the estimates of a group and data set."""
    name = table_of(list(schema)).name
    # Tables of `compare` have a column `ratio` if they have a row per metric.
    has_metrics = (name == "table" and "estimate" in schema) or "ratio" in schema
    if has_metrics and schema.get("metric") == pl.String:
        return ("metric",)
    return ("metric", *POINT_NAMES) if name == "intervals" else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImputedColumns:
    """The columns of a table of imputed data sets.

    `by` and `parts`, such as `metric`, identify a pooled estimate, and `over` its data sets.
    `private` has the columns of the numbers in the collected frame.
    """

    by: tuple[str, ...]
    parts: tuple[str, ...]
    over: tuple[str, ...]
    estimate: str
    private: Mapping[str, str]


def _pool_table(
    frame: pl.DataFrame,
    layout: ImputedColumns,
    scale: PoolingScale | None,
    df_complete: float | None,
    level: float,
) -> pl.DataFrame:
    """Return the table of pooled estimates, from a table with a row per data set and estimate."""
    from scipy.special import stdtrit

    frame, starts = _sort_data_sets(frame, layout)
    first = frame[starts[:-1]]
    keys = select_keys(first, layout.by)
    if not frame.height:
        return build_table(keys, {}, POOLED.columns())
    metrics = [layout.estimate] * first.height
    if "metric" in layout.parts:
        metrics = first["metric"].to_list()
    # Differences of metrics in [0, 1] can be negative.
    in_unit = UNIT_METRICS if layout.estimate != DIFFERENCE else ()
    scales = [scale or ("logit" if name in in_unit else "identity") for name in metrics]
    is_logit = np.array(scales) == "logit"
    value, se, *sizes = (
        frame[name].cast(pl.Float64).fill_null(nan).to_numpy() for name in layout.private.values()
    )
    on_logit = np.repeat(is_logit, np.diff(starts))
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(on_logit, value * (1 - value), 1)
        slope[~(slope > 0)] = nan
        scaled = np.where(on_logit, np.log(value / (1 - value)), value) + 0 * slope
        variance = np.where(se >= 0, se / slope, nan) ** 2
    complete = np.full(first.height, inf if df_complete is None else df_complete)
    if df_complete is None and len(sizes) == 2:
        complete = np.minimum.reduceat(np.minimum(*sizes), starts[:-1]) - 1
    rules = RubinsRules.from_values(scaled, variance, starts, complete)
    total_se = np.sqrt(np.where(rules.total > 0, rules.total, nan))
    half = stdtrit(np.minimum(rules.df, NORMAL_DF), (1 + level) / 2) * total_se
    ends = [rules.mean, rules.mean - half, rules.mean + half]
    with np.errstate(over="ignore"):
        estimate, lower, upper = (np.where(is_logit, 1 / (1 + np.exp(-end)), end) for end in ends)
    undefined = np.isnan(scaled) | np.isnan(variance)
    notes = first_notes(
        {"zero_variance": rules.total == 0, "one_imputation": rules.n_imputations == 1}
    )
    names = format_keys(select_keys(frame, layout.over), layout.over)
    others = exclusion_notes(names, ~undefined, starts, "undefined")
    columns = {
        "metric": metrics,
        "estimate": estimate,
        "lower": lower,
        "upper": upper,
        **{name: first[name] for name in POINT_NAMES if name in layout.parts},
        "se": total_se * np.where(is_logit, estimate * (1 - estimate), 1),
        "within_variance": rules.within,
        "between_variance": rules.between,
        "relative_increase": rules.relative_increase,
        "fraction_missing": rules.fraction_missing,
        "df": np.where(np.isfinite(rules.df), rules.df, nan),
        "n_imputations": rules.n_imputations,
        "ci_level": level,
        "scale": scales,
        "note": [join_notes(*both) for both in zip(notes, others, strict=True)],
    }
    return build_table(keys, columns, POOLED.columns())


def _sort_data_sets(
    frame: pl.DataFrame, layout: ImputedColumns
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return the rows, sorted by group, and the first row of each pooled estimate, and the end.

    Metrics and points keep the order of their first rows.
    """
    group, data_set = (number_keys(frame, names)[1] for names in (layout.by, layout.over))
    parts = select_keys(frame, layout.parts)
    part = np.zeros(frame.height, np.int64)
    if layout.parts:
        part = find_keys(parts, parts.unique(maintain_order=True)).to_numpy()
    order = np.lexsort((data_set, part, group))
    group, part, data_set = group[order], part[order], data_set[order]
    starts = run_starts(group, part)
    rows = frame[order]
    if len(run_starts(group, part, data_set)) < frame.height:
        repeated = np.setdiff1d(np.arange(frame.height), run_starts(group, part, data_set))
        names = [*layout.by, *layout.parts, *layout.over]
        key = format_key(names, rows.select(map(column, names)).row(int(repeated[0])))
        problem = f"several rows have the same group and data set, such as {key}"
        hint = "Each row needs its own values of the columns left of its estimate."
        raise OptionValueError.compose("over", [*layout.over], problem, hint)
    return rows, np.append(starts, frame.height)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RubinsRules:
    """Rubin's rules (1987) with the degrees of freedom of Barnard and Rubin (1999), per group."""

    n_imputations: NDArray[np.int64]
    mean: NDArray[np.float64]
    within: NDArray[np.float64]
    between: NDArray[np.float64]
    df: NDArray[np.float64]

    @classmethod
    def from_values(
        cls,
        values: NDArray[np.float64],
        variances: NDArray[np.float64],
        starts: NDArray[np.int64],
        df_complete: NDArray[np.float64],
    ) -> RubinsRules:
        """Combine the values of the rows of each group; NaN if a value is NaN."""
        m = np.diff(starts)
        mean, within = (np.add.reduceat(each, starts[:-1]) / m for each in (values, variances))
        squares = np.add.reduceat((values - np.repeat(mean, m)) ** 2, starts[:-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            between = np.where(np.isnan(within), nan, squares / (m - 1))
            missing = (1 + 1 / m) * between
            share = missing / (within + missing)
            old = (m - 1) / share**2
            shrunk = 1 - 2 / (df_complete + 3.0)  # (df + 1) / (df + 3), which is 1 for inf
            observed = np.where(np.isinf(df_complete), inf, shrunk * df_complete * (1 - share))
            df = 1 / (1 / old + 1 / observed)
        return cls(n_imputations=m, mean=mean, within=within, between=between, df=df)

    @property
    def relative_increase(self) -> NDArray[np.float64]:
        """The increase of the variance because of missing data, relative to that within."""
        with np.errstate(divide="ignore", invalid="ignore"):
            increase: NDArray[np.float64] = (
                (1 + 1 / self.n_imputations) * self.between / self.within
            )
        return increase

    @property
    def total(self) -> NDArray[np.float64]:
        """The variance of the mean."""
        return self.within + (1 + 1 / self.n_imputations) * self.between

    @property
    def fraction_missing(self) -> NDArray[np.float64]:
        """The fraction of missing information."""
        increase = self.relative_increase
        return (increase + 2 / (self.df + 3)) / (increase + 1)
