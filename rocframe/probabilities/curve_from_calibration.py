"""The function `curve_from_calibration`: curves from event rates and the distribution of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.curves.curve import check_metric_columns, metric_expression, with_rates
from rocframe.curves.table import SEPARATE_CURVES, name_key
from rocframe.errors import BrokenCurveError, ColumnTypeError, MissingColumnError, OptionValueError
from rocframe.frames import (
    as_input_frame,
    build_table,
    column,
    lazy_plan,
    number_keys,
    private_names,
    through_node,
)
from rocframe.kernel.groups import cumulative_sums, group_starts, is_run_start
from rocframe.kinds import check_metric_settings, kind_named, parse_metrics
from rocframe.options import (
    KindName,
    check_group_columns,
    check_text,
    group_dtypes,
    parse_names,
    public,
)
from rocframe.rates import Settings
from rocframe.schemas.curves import curve_columns
from rocframe.schemas.table_type import CURVE_COLUMNS, THRESHOLD
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray


MAKE_BINS = (
    'Compute a table of bins with .roc.calibration(label, score, by=…, method="quantile"), or with '
    'the method "uniform" or "isotonic".'
)
PASS_DENSITY = (
    "Tables of the methods loess and kernel have grid points instead of bins, and their column n "
    "is null. For such a table, pass the column of the density of the scores as density=."
)
# A product n·event_rate is an integer if it differs from one by at most this, plus a rounding error
# of the product.
INTEGER_TOLERANCE = 1e-6


@public
def curve_from_calibration(
    table: FrameT,
    /,
    *,
    kind: KindName = "roc",
    metrics: str | pl.Expr | Sequence[str | pl.Expr] = (),
    density: str | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
    by: By = None,
) -> FrameT:
    """Compute a curve table from the event rates and the distribution of the scores.

    Each bin of a calibration table has n·event_rate positives and n·(1 - event_rate) negatives,
    which are added up over all bins at or above a threshold.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        A table of bins as returned by `calibration`, with the columns `bin, event_rate, score_min,
        n`, or with `density` the columns `bin, event_rate, score_mean`, in any order of rows.
    kind : str, default "roc"
        Which two rates are the axes, such as `"roc"` (fpr, tpr) or `"pr"` (recall, precision);
        `curve` lists all kinds.
    metrics : str, Expr or sequence of these, default ()
        Additional columns: names of metrics, such as `"accuracy"`, and named expressions; see
        `curve`.
    density : str, default None
        Column with the density of the scores at each grid point `score_mean`, at least 0. Each row
        of the table is then a grid point, as in tables of the methods `"loess"` and `"kernel"`.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, by default 0, for the metric `"expected_cost"`.
    by : str, Expr, selector or sequence, default None
        Group columns. By default, all columns left of `bin`.

    Returns
    -------
    DataFrame or LazyFrame
        A curve table, sorted by group and falling threshold: `*by, threshold, tp, fp, fn, tn`, the
        two rates, then `metrics`. Each group has a row with the threshold `inf`, and one row per
        bin with `n` > 0, or with `density` one row per grid point.

        `threshold` (Float64) is `score_min` of the bin, or with `density` `score_mean`:
        `score >= threshold` selects the rows of this bin and of all higher bins. The counts are
        Int64 if `n` is an integer column, otherwise Float64. A rate is null if its denominator is
        0.

    Raises
    ------
    RocframeError
        If a column is missing, not numeric or outside its range, if two bins of a group have the
        same `score_min`, or if `n` is an integer column and n·event_rate is not an integer.

    See Also
    --------
    calibration : The event rate of each bin.
    area : The area under each curve.

    Notes
    -----
    For bins, each row of the result is also a row of the curve of the predictions, and between
    these rows the result is a straight line. With bins of `calibration(method="isotonic")`, the
    result is the convex hull of the curve. With `density`, counts are integrals by the trapezoidal
    rule.

    If the calibration table was computed with weights, n·event_rate is usually not an integer. For
    approximate counts, convert `n` to Float64: `table.with_columns(pl.col("n").cast(pl.Float64))`.
    For exact sums of weights, replace `n` by the sum of weights of each bin.

    References
    ----------
    - M. Vuk, T. Curk (2006), Metodološki zvezki 3(1), 89-108, section 6.
    - T. Fawcett, A. Niculescu-Mizil (2007), Machine Learning 68(1), 97-106.
      doi:10.1007/s10994-007-5011-0

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> bins = pl.DataFrame(
    ...     {"bin": [0, 1], "event_rate": [0.25, 0.75], "score_min": [0.1, 0.5], "n": [8, 4]}
    ... )
    >>> rf.curve_from_calibration(bins, metrics="accuracy").drop("fpr", "tpr")
    shape: (3, 6)
    ┌───────────┬─────┬─────┬─────┬─────┬──────────┐
    │ threshold ┆ tp  ┆ fp  ┆ fn  ┆ tn  ┆ accuracy │
    │ ---       ┆ --- ┆ --- ┆ --- ┆ --- ┆ ---      │
    │ f64       ┆ i64 ┆ i64 ┆ i64 ┆ i64 ┆ f64      │
    ╞═══════════╪═════╪═════╪═════╪═════╪══════════╡
    │ inf       ┆ 0   ┆ 0   ┆ 5   ┆ 7   ┆ 0.583333 │
    │ 0.5       ┆ 3   ┆ 1   ┆ 2   ┆ 6   ┆ 0.75     │
    │ 0.1       ┆ 5   ┆ 7   ┆ 0   ┆ 0   ┆ 0.416667 │
    └───────────┴─────┴─────┴─────┴─────┴──────────┘

    A calibrated model whose scores are uniformly distributed:

    >>> grid = pl.DataFrame({"bin": range(101)}).with_columns(
    ...     score_mean=pl.col("bin") / 100, event_rate=pl.col("bin") / 100, q=pl.lit(1.0)
    ... )
    >>> round(rf.curve_from_calibration(grid, density="q").roc.area().item(), 4)
    0.8333
    """
    settings = Settings(beta=beta, costs=costs)
    curve_kind = kind_named(kind)
    exprs = parse_metrics(
        metrics, lambda metric: metric_expression(metric, settings), allow_empty=True
    )
    check_metric_settings(exprs, beta=beta, costs=costs)
    if density is not None:
        check_text("density", density)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        fixed_columns = (*CURVE_COLUMNS, *curve_kind.rates)
        layout = calibration_layout(schema, by, density, (*fixed_columns, *exprs))
        known = [*layout.keys, *fixed_columns]
        rates = check_metric_columns(exprs, known, fixed_columns)
        counts = through_node(
            plan.select(layout.inputs),
            lambda frame: curves_of_bins(frame, layout),
            schema={**layout.keys, **curve_columns(layout.count)},
            by=list(layout.keys),
            anchor=THRESHOLD,
        )
        return with_rates(counts, curve_kind, exprs, settings, rates)

    return as_input_frame(table, lazy_plan("table", table).pipe_with_schema(resolve))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibrationLayout:
    """The columns of a calibration table that determine the curves.

    `count` is the dtype of the counts. `columns` are those of the threshold, of the event rate, and
    of the number of rows or the density, by their name in `inputs`.
    """

    keys: dict[str, pl.DataType]
    columns: dict[str, str]
    count: pl.DataType
    is_density: bool

    @property
    def inputs(self) -> list[pl.Expr]:
        """The group columns and the read columns as expressions."""
        read = [column(name).alias(private) for name, private in self.columns.items()]
        return [*map(column, self.keys), *read]


def calibration_layout(
    schema: Mapping[str, pl.DataType], by: By, density: str | None, new_columns: Sequence[str]
) -> CalibrationLayout:
    """Check a calibration table; group columns must not be `new_columns`, those of the result."""
    if by is None and "bin" not in schema:
        raise MissingColumnError.of_table("table", "bin", schema, hint=MAKE_BINS)
    names = list(schema)
    keys = names[: names.index("bin")] if by is None else list(parse_names(by))
    check_group_columns(keys, schema, new_columns)
    threshold, mass = ("score_min", "n") if density is None else ("score_mean", density)
    if density is not None and density not in schema:
        raise MissingColumnError.compose("density", density, schema)
    if density in ("score_mean", "event_rate"):
        problem = "this column is not the density of the scores"
        hint = "Add a column with the density at each grid point, and pass its name."
        raise OptionValueError.compose("density", density, problem, hint)
    for name in (threshold, "event_rate", mass):
        if name not in schema:
            raise MissingColumnError.of_table("table", name, schema, hint=MAKE_BINS)
        if name in keys:
            argument, value = ("density", density) if name == density else ("by", by)
            problem = f"column {name!r} has a value for each bin, so it cannot be a group column"
            hint = (
                "By default, all columns left of 'bin' are group columns. In by=, name only "
                "the columns that identify a group."
            )
            raise OptionValueError.compose(argument, value, problem, hint)
        if not schema[name].is_numeric():
            hint = f"This column must be numeric. {MAKE_BINS}"
            raise ColumnTypeError.of_table("table", name, schema[name], hint)
    return CalibrationLayout(
        keys=group_dtypes(keys, schema),
        columns=private_names((threshold, "event_rate", mass), keys),
        count=pl.Int64() if density is None and schema[mass].is_integer() else pl.Float64(),
        is_density=density is not None,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibrationRows:
    """The rows of a calibration table; NaN is null, and `mass` the number of rows or density."""

    keys: pl.DataFrame
    group: IntArray
    threshold: FloatArray
    rate: FloatArray
    mass: FloatArray

    @classmethod
    def read(cls, frame: pl.DataFrame, layout: CalibrationLayout) -> CalibrationRows:
        """Return the rows of a table with the columns `layout.inputs`."""
        keys, group = number_keys(frame, list(layout.keys))
        threshold, rate, mass = (
            frame.get_column(private).cast(pl.Float64).to_numpy()
            for private in layout.columns.values()
        )
        keys = keys if layout.keys else pl.DataFrame(height=1)
        return cls(keys=keys, group=group, threshold=threshold, rate=rate, mass=mass)

    def sorted_part(self, mask: BoolArray) -> CalibrationRows:
        """Return the rows where `mask` is true, sorted by group and falling threshold."""
        rows = np.flatnonzero(mask)
        rows = rows[np.lexsort((-self.threshold[rows], self.group[rows]))]
        return CalibrationRows(
            keys=self.keys,
            group=self.group[rows],
            threshold=self.threshold[rows],
            rate=self.rate[rows],
            mass=self.mass[rows],
        )

    def check(self, invalid: BoolArray, problem: str, hint: str) -> None:
        """Raise an error that names the group of the first invalid row, if there is one."""
        if invalid.any():
            group = int(self.group[np.argmax(invalid)])
            name = name_key(self.keys, group, otherwise="the table")
            raise BrokenCurveError.compose(f"table: {problem.format(group=name)}", hint)


def curves_of_bins(frame: pl.DataFrame, layout: CalibrationLayout) -> pl.DataFrame:
    """Return the curve table of a calibration table: the group columns, threshold and counts."""
    table = CalibrationRows.read(frame, layout)
    _check_rows(table, layout)
    has_score = ~np.isnan(table.threshold)
    rows = table.sorted_part(has_score if layout.is_density else has_score & (table.mass > 0))
    group, keys = rows.group, rows.keys
    rows.check(
        ~is_run_start(group, rows.threshold),
        "two rows of {group} have the same " + next(iter(layout.columns)),
        SEPARATE_CURVES,
    )
    pos, neg = _grid_counts(rows) if layout.is_density else _bin_counts(rows, layout.count)
    # The curve of each group starts above all bins.
    row_starts = group_starts(group, keys.height)
    starts, firsts = row_starts + np.arange(keys.height + 1), row_starts[:-1]
    threshold = np.insert(rows.threshold, firsts, np.inf)
    tp, fp = (cumulative_sums(np.insert(counts, firsts, 0), starts) for counts in (pos, neg))
    lengths, lasts = np.diff(starts), starts[1:] - 1
    n_pos, n_neg = (np.repeat(counts[lasts], lengths) for counts in (tp, fp))
    return build_table(
        keys,
        {THRESHOLD: threshold, "tp": tp, "fp": fp, "fn": n_pos - tp, "tn": n_neg - fp},
        curve_columns(layout.count),
        rows=np.repeat(np.arange(keys.height), lengths),
    )


def _check_rows(rows: CalibrationRows, layout: CalibrationLayout) -> None:
    """Raise an error if a row has no score, event rate or number of rows, or an invalid one."""
    score, _, name = layout.columns
    no_score, no_rate, no_mass = map(np.isnan, (rows.threshold, rows.rate, rows.mass))
    hint = MAKE_BINS if layout.is_density else f"{MAKE_BINS}\n{PASS_DENSITY}"
    for invalid, problem, advice in (
        (no_mass & ~(no_score & no_rate), f"{name} is null in {{group}}", hint),
        (rows.mass < 0, f"{name} is below 0 in {{group}}", MAKE_BINS),
        (np.isinf(rows.mass), f"{name} is infinite in {{group}}", MAKE_BINS),
        ((rows.mass > 0) & no_score, f"{score} is null in {{group}}", hint),
        ((rows.mass > 0) & no_rate, "event_rate is null in {group}", hint),
        ((rows.rate < 0) | (rows.rate > 1), "event_rate is outside [0, 1] in {group}", MAKE_BINS),
    ):
        rows.check(invalid, problem, advice)


def _bin_counts(rows: CalibrationRows, dtype: pl.DataType) -> tuple[Array, Array]:
    """Return the numbers of positives and negatives in each bin, which must be whole for Int64."""
    pos = rows.rate * rows.mass
    if dtype.is_float():
        return pos, rows.mass - pos
    is_fraction = abs(pos - np.rint(pos)) > INTEGER_TOLERANCE + np.spacing(rows.mass)
    first = ", the first one in {group}" if rows.keys.width else ""
    rows.check(
        is_fraction,
        f"n·event_rate is not an integer in {format_count(int(is_fraction.sum()), 'bin')}{first}",
        "If the event rates are weighted, replace n by the sum of weights of each bin. For "
        'approximate counts, use .with_columns(pl.col("n").cast(pl.Float64)).',
    )
    n_pos = np.rint(pos).astype(np.int64)
    return n_pos, rows.mass.astype(np.int64) - n_pos


def _grid_counts(rows: CalibrationRows) -> tuple[Array, Array]:
    """Return the integrals of both classes from each grid point to the next; 0 for the last."""
    # The event rate can be null where the density is 0.
    rate = np.where(rows.mass > 0, rows.rate, 0.0)
    widths = -np.diff(rows.threshold, prepend=rows.threshold[:1])
    widths[is_run_start(rows.group)] = 0
    pos, neg = (
        widths * (values + np.roll(values, 1)) / 2
        for values in (rate * rows.mass, (1 - rate) * rows.mass)
    )
    return pos, neg
