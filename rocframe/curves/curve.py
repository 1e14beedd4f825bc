"""The function `curve`: a confusion matrix per group and distinct score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from rocframe.curves.simplify import parse_max_error, simplification
from rocframe.curves.table import curve_layout, read_curves
from rocframe.curves.thinning import CurveCounts
from rocframe.errors import MissingColumnError, RepeatedNameError
from rocframe.frames import as_input_frame, build_table, number_keys, take_rows
from rocframe.inputs.cases import RowState, plan_table
from rocframe.inputs.roles import Roles, is_single_score
from rocframe.kernel.arrays import run_parallel, split_groups, split_rows
from rocframe.kernel.groups import round_thresholds, sort_rows
from rocframe.kernel.scan import BLOCK_ROWS, Scan
from rocframe.kinds import (
    PREVALENCE,
    VARIABLES,
    check_curve_expression,
    check_metric_name,
    check_metric_settings,
    expression_name,
    kind_named,
    parse_metric,
    parse_metrics,
    scale_of,
)
from rocframe.options import (
    NOT_GIVEN,
    KindName,
    check_supported,
    parse_names,
    parse_numbers,
    public,
)
from rocframe.rates import NAMES, Settings
from rocframe.schemas.curves import GIVEN_THRESHOLDS, SIMPLIFICATION, curve_columns
from rocframe.schemas.table_type import CURVE_COLUMNS, MODEL, THRESHOLD, TOTAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores, Total
    from rocframe.kernel.arrays import Array, FloatArray, IntArray
    from rocframe.kernel.scan import Block
    from rocframe.kinds import Kind, Scale


@public
def curve(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    total: Total = False,
    kind: KindName = "roc",
    metrics: str | pl.Expr | Sequence[str | pl.Expr] = (),
    thresholds: Sequence[float] | pl.Series | None = None,
    max_error: float | None = None,
    positive: object = None,
    weight: Column | None = None,
    benefit: Column | None = None,
    cost: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
    prevalence: float | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
) -> FrameT:
    """Compute the curve of each group: a confusion matrix per distinct score.

    Each row of the result has the confusion matrix of one threshold: predictions with `score >=
    threshold` are predicted positive. Tied scores share a row. The first row of a group has the
    threshold `inf`, and nothing is predicted positive; scores of `inf` are in a second row with it.

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
    total : bool, str or sequence of str, default False
        Add rows of all groups together, with a column `total`: True, or the group columns over
        which groups are combined, such as `"segment"` for a total of each model.
    kind : str, default "roc"
        Which two rates are the axes: `"roc"` (fpr, tpr), `"precision_recall"` or `"pr"` (recall,
        precision), `"det"` (fpr, fnr), `"gain"` (alert_rate, tpr), `"lift"` (alert_rate, lift),
        `"lift_chart"` (alert_rate, tp), `"predictive_value"` (alert_rate, ppv),
        `"skill"` (alert_rate, skill).
    metrics : str, Expr or sequence of these, default ()
        Additional columns: names of metrics (see Notes), and named expressions over metrics and all
        columns left of `metrics`. A column has the name that you pass.
    thresholds : sequence of float, default None
        Return only rows at these thresholds, rounded to the float dtype of the scores, and at
        `inf`, in falling order. The full curve is not computed.
    max_error : float, default None
        Return a simplified curve, which lacks rows even at 0; see `simplify`. No `thresholds`.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    benefit : str or Expr, default None
        Benefit of predicting a positive row as positive, finite and >= 0; not used in negative
        rows. By default, 1 if `cost` is given. Not with `weight`. See Notes.
    cost : str or Expr, default None
        Cost of predicting a negative row as positive, finite and >= 0; not used in positive rows.
        By default, 1 if `benefit` is given. Not with `weight`. See Notes.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.
    prevalence : float, default None
        Prevalence, between 0 and 1, at which metrics such as precision are computed. By default,
        the prevalence of the data. The counts do not depend on this option.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, such as `{"fn": 5, "fp": 1}`, for the metric
        `"expected_cost"`. Costs that are not given are 0.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and distinct score, and one row per group above all scores, sorted by
        group and falling threshold: `*by`, (`model`,) `threshold, tp, fp, fn, tn`, the two rates,
        then `metrics`. With the option `prevalence`, the column `prevalence` (Float64) is between
        `tn` and the rates, and functions on curves use it. With `max_error`, the last columns are
        `error, area_change`, as in `simplify`. With `thresholds`, they are `error, area_error`
        (Float64): upper bounds of the distance between the ROC curve and straight lines between
        the rows, and of the difference of their areas.

        Counts are Int64, or Float64 if `weight`, `benefit` or `cost` is given. Rates are Float64.
        Thresholds are Float32 if the scores are Float32 or Float16, otherwise Float64. A rate is
        null if its denominator is 0: in a group without positives, `tpr` is null and `fpr` is not.
        A group whose rows are all left out has only the row with threshold `inf`. Without `by`, all
        rows are one group, even if there are none.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, such as a reserved name, labels that do not
        determine the positive class, or a weight, benefit or cost that is negative or infinite.

    See Also
    --------
    auc : The area under each curve, from predictions.
    at : Operating points of a curve table.
    simplify : Remove rows of a curve table within an error bound.

    Notes
    -----
    Names for `metrics` are `tpr`, `fpr`, `tnr`, `fnr`, `precision`, `npv`, `fdr`,
    `false_omission_rate`, `accuracy`, `error_rate`, `balanced_accuracy`, `f1`, `f_beta`, `jaccard`,
    `mcc`, `kappa`, `youden`, `markedness`, `alert_rate`, `alerts`, `rnp`, `lift`, `prevalence`,
    `lr_pos`, `lr_neg`, `odds_ratio`, `mutual_information`, `chi2`, `skill`, `expected_cost` and
    `net_benefit`.
    Aliases: `recall`, `sensitivity` and `hit_rate` for `tpr`; `fall_out` for `fpr`; `specificity`
    for `tnr`; `miss_rate` for `fnr`; `ppv` for `precision`; `rpp` and `yrate` for `alert_rate`.
    The page of `add_metrics` has their formulas.

    With `benefit` and `cost`, the curve is that of Fawcett's (2004) algorithm 6: `tp` and `fn` are
    sums of benefits, and `fp` and `tn` are sums of costs. For unequal costs of errors, `cost` is
    that of a false positive and `benefit` that of a false negative, such as `benefit=pl.lit(5)`.

    References
    ----------
    - T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874.
      doi:10.1016/j.patrec.2005.10.010
    - T. Fawcett (2004), "ROC graphs: notes and practical considerations", HP Laboratories, Palo
      Alto.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> rf.curve(predictions, "label", "score", metrics=["accuracy"])
    shape: (3, 8)
    ┌───────────┬─────┬─────┬─────┬─────┬─────┬─────┬──────────┐
    │ threshold ┆ tp  ┆ fp  ┆ fn  ┆ tn  ┆ fpr ┆ tpr ┆ accuracy │
    │ ---       ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- ┆ ---      │
    │ f64       ┆ i64 ┆ i64 ┆ i64 ┆ i64 ┆ f64 ┆ f64 ┆ f64      │
    ╞═══════════╪═════╪═════╪═════╪═════╪═════╪═════╪══════════╡
    │ inf       ┆ 0   ┆ 0   ┆ 2   ┆ 1   ┆ 0.0 ┆ 0.0 ┆ 0.333333 │
    │ 0.9       ┆ 1   ┆ 0   ┆ 1   ┆ 1   ┆ 0.0 ┆ 0.5 ┆ 0.666667 │
    │ 0.4       ┆ 2   ┆ 1   ┆ 0   ┆ 0   ┆ 1.0 ┆ 1.0 ┆ 0.666667 │
    └───────────┴─────┴─────┴─────┴─────┴─────┴─────┴──────────┘
    """
    settings = Settings(beta=beta, costs=costs, prevalence=prevalence)
    curve_kind = kind_named(kind)
    exprs = parse_metrics(
        metrics, lambda metric: metric_expression(metric, settings), allow_empty=True
    )
    if max_error is not None:
        max_error = parse_max_error(max_error)
        hint = "Leave out thresholds= or max_error=."
        check_supported("thresholds", thresholds, "max_error=", hint=hint)
    rising = None if thresholds is None else parse_thresholds(thresholds)
    error_columns = {} if rising is None else GIVEN_THRESHOLDS
    if max_error is not None:
        error_columns = SIMPLIFICATION
    constants = {} if prevalence is None else {PREVALENCE: float(prevalence)}
    fixed_columns = [*CURVE_COLUMNS, *constants, *curve_kind.rates]
    if constants and PREVALENCE in exprs and exprs[PREVALENCE].meta.eq(pl.col(PREVALENCE)):
        del exprs[PREVALENCE]  # prevalence= already adds this column
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        benefit=benefit,
        cost=cost,
        count=count,
        missing=missing,
        total=total,
    )
    total_column = [TOTAL] if roles.total_over else []
    model = [] if is_single_score(score) else [MODEL]
    known = [*parse_names(by), *model, *total_column, *fixed_columns]
    rates = check_metric_columns(exprs, known, [*total_column, *fixed_columns, *error_columns])
    check_metric_settings([*exprs, *rates], beta=beta, costs=costs)

    def compute(cases: Cases) -> pl.DataFrame:
        if max_error is not None:
            scale = scale_of(curve_kind, None)
            return simplified_curves(cases, curve_kind, scale, max_error, prevalence)
        if rising is None:
            return full_curves(cases)
        return counts_at_thresholds(cases, rising)

    counts = plan_table(
        predictions,
        roles,
        compute,
        columns={**curve_columns(roles.count_dtype), **error_columns},
        more=(*constants, *curve_kind.rates, *exprs),
        anchor=THRESHOLD,
    )
    columns = [pl.lit(value, pl.Float64()).alias(name) for name, value in constants.items()]
    result = with_rates(counts.with_columns(*columns), curve_kind, exprs, settings, rates)
    if error_columns:
        result = result.select(~cs.by_name(*error_columns), cs.by_name(*error_columns))
    return as_input_frame(predictions, result)


def with_rates(
    counts: pl.LazyFrame,
    kind: Kind,
    metrics: Mapping[str, pl.Expr],
    settings: Settings,
    rates: Sequence[str] = (),
) -> pl.LazyFrame:
    """Add two rates and metrics to counts; `rates` are only needed by expressions."""
    return with_metrics(counts.with_columns(kind.exprs(settings)), metrics, settings, rates)


def with_metrics(
    counts: pl.LazyFrame,
    metrics: Mapping[str, pl.Expr],
    settings: Settings,
    rates: Sequence[str] = (),
) -> pl.LazyFrame:
    """Add metrics to counts; `rates` are only needed by expressions."""
    # User-defined metrics may refer to the rates.
    result = counts.with_columns(NAMES[name].expr(settings).alias(name) for name in rates)
    result = result.select(
        ~cs.by_name(*rates), *(expr.alias(name) for name, expr in metrics.items())
    )
    if metrics:  # undefined values of user-defined metrics can be NaN
        result = result.with_columns((cs.by_name(*metrics) & cs.float()).fill_nan(None))
    return result


def metric_expression(metric: object, settings: Settings) -> tuple[str, pl.Expr]:
    """Return the name and the expression of a metric; an error if an expression combines rows."""
    if isinstance(metric, pl.Expr):
        name = expression_name("metrics", metric)
        rates = {*metric.meta.root_names()} - {*VARIABLES}
        if rates <= {*NAMES}:
            check_curve_expression(name, metric, rates)
        return name, metric
    check_metric_name("metrics", metric, NAMES)
    if metric == PREVALENCE and settings.prevalence is not None:
        return PREVALENCE, pl.col(PREVALENCE)
    return str(metric), parse_metric("metrics", metric, settings).expr()


def check_metric_columns(
    exprs: Mapping[str, pl.Expr], known: Sequence[str], reserved: Sequence[str] = ()
) -> list[str]:
    """Check the columns that metrics refer to, and their names; return the rates to be added."""
    rates: dict[str, None] = {}
    for name, expr in exprs.items():
        for root in expr.meta.root_names():
            if root in known:
                continue
            if root not in NAMES:
                raise MissingColumnError.compose("metrics", root, known)
            rates[root] = None
        if name in reserved and name in NAMES:
            raise RepeatedNameError.in_result(
                "metrics", name, reserved, f"Leave out {name!r} in metrics=."
            )
        if name in reserved:
            raise RepeatedNameError.of_expression("metrics", expr, name, reserved)
    return list(rates)


def parse_thresholds(thresholds: Sequence[float] | pl.Series) -> list[float]:
    """Return the distinct thresholds in increasing order."""
    values = parse_numbers("thresholds", thresholds, single=False, example="[0.1, 0.5]")
    return sorted({value + 0.0 for value in values})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveArrays:
    """The rows of a curve table as arrays; group i has the rows from `starts[i]` to the next."""

    scan: Scan
    starts: IntArray
    threshold: FloatArray
    counts: dict[str, Array]


def full_curves(cases: Cases) -> pl.DataFrame:
    """Return the group columns and the confusion matrix at every distinct score of each group."""
    curves = trace_curves(Scan.from_cases(cases))
    keys = repeat_keys(curves.scan.rows.keys, np.diff(curves.starts))
    return keys.hstack(pl.DataFrame({THRESHOLD: curves.threshold, **curves.counts}))


def complete_curves(cases: Cases) -> Curves:
    """Return the curves of all groups."""
    table = full_curves(cases)
    layout = curve_layout(table.schema, cases.keys.columns, ())
    return read_curves(table.select(layout.count_columns), layout)


def trace_curves(scan: Scan) -> CurveArrays:
    """Return the thresholds and counts of all curves as arrays."""
    pos, neg, codec = scan.totals.pos, scan.totals.neg, scan.codec

    def columns(block: Block, fp: Array) -> dict[str, Array]:
        if len(block.groups) == 1:
            n_pos, n_neg = pos[block.groups[0]], neg[block.groups[0]]
        else:
            n_pos, n_neg = block.of_steps(pos), block.of_steps(neg)
        return {THRESHOLD: codec.decode(block.codes), "fn": n_pos - block.tp, "tn": n_neg - fp}

    first = {THRESHOLD: np.full(len(pos), np.inf), "fn": pos, "tn": neg - scan.totals.unscored_neg}
    starts, counts = _gather_rows(scan, columns, first)
    threshold = counts.pop(THRESHOLD)
    return CurveArrays(scan=scan, starts=starts, threshold=threshold, counts=counts)


def simplified_curves(
    cases: Cases, kind: Kind, scale: Scale, max_error: float, prevalence: float | None
) -> pl.DataFrame:
    """Return a table of simplified curves, with the columns `error` and `area_change`."""
    rows = sort_rows(cases)

    def simplify_part(groups: slice) -> tuple[IntArray, dict[str, Array]]:
        scan = Scan.from_rows(rows.of_groups(groups))
        counts, codes = trace_counts(scan)
        counts = replace(counts, prevalence=prevalence)
        selected, measures = simplification(counts, kind, scale, max_error)
        starts = np.searchsorted(selected, counts.starts)
        lengths = np.diff(starts)
        pos, neg = np.repeat(counts.pos, lengths), np.repeat(counts.neg, lengths)
        tp, fp = counts.tp[selected], counts.fp[selected]
        threshold = rows.codec.decode(codes[selected])
        threshold[starts[:-1]] = np.inf
        columns = {THRESHOLD: threshold, "tp": tp, "fp": fp, "fn": pos - tp, "tn": neg - fp}
        columns |= {name: np.repeat(values, lengths) for name, values in measures.items()}
        return lengths, columns

    # The groups are processed in parts, so that only the full curves of some parts are in memory.
    # A curve has at most one row per case of its group, and the row with the threshold inf.
    sizes = rows.starts + np.arange(len(rows.starts))
    parts = run_parallel(simplify_part, split_groups(sizes, BLOCK_ROWS) or [slice(0, 0)])
    lengths = np.concatenate([lengths for lengths, _ in parts])
    columns = {
        name: np.concatenate([columns.pop(name) for _, columns in parts]) for name in [*parts[0][1]]
    }
    schema = {
        **curve_columns(pl.Float64() if columns["tp"].dtype.kind == "f" else pl.Int64()),
        **SIMPLIFICATION,
    }
    group = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
    return build_table(rows.keys, columns, schema, rows=group)


def trace_counts(scan: Scan) -> tuple[CurveCounts, Array]:
    """Return tp and fp in all rows of all curves, and the encoded scores of the rows.

    The other columns are needed only for the rows that remain after simplification.
    """
    pos, neg = scan.totals.pos, scan.totals.neg
    first = {"codes": np.zeros(len(pos), scan.rows.codes.dtype)}
    starts, table = _gather_rows(scan, lambda block, _: {"codes": block.codes}, first)
    counts = CurveCounts(tp=table["tp"], fp=table["fp"], starts=starts, pos=pos, neg=neg)
    return counts, table["codes"]


def _gather_rows(
    scan: Scan, columns: Callable[[Block, Array], dict[str, Array]], first: Mapping[str, Array]
) -> tuple[IntArray, dict[str, Array]]:
    """Return the first row of each group, and the columns `tp`, `fp` and `first` of all rows.

    `first` has values at the threshold `inf` of each group; `columns` returns those of the other
    rows.
    """
    pos = scan.totals.pos
    unscored = scan.totals.unscored_neg.astype(pos.dtype)
    has_unscored = bool(unscored.any())
    first = {"tp": np.zeros_like(pos), "fp": unscored, **first}
    n_groups = len(pos)
    # To avoid a second copy of the table, each block writes its rows to the positions that the rows
    # have if no scores are tied. Afterwards, the rows are moved to their final positions.
    capacity = len(scan.rows.codes) + n_groups
    table = {name: np.empty(capacity, values.dtype) for name, values in first.items()}

    def write_rows(block: Block) -> tuple[IntArray, IntArray, slice]:
        begin = block.first_row + int(block.groups[0]) + 1
        stop = begin + int(block.starts[-1]) + int(block.groups[-1] - block.groups[0])
        rows: Any = slice(begin, stop)
        if len(block.groups) > 1:
            offsets = block.first_row + block.groups + 1
            rows = np.arange(block.starts[-1]) + np.repeat(offsets, np.diff(block.starts))
        fp = block.fp + block.of_steps(unscored) if has_unscored else block.fp
        for name, values in {"tp": block.tp, "fp": fp, **columns(block, fp)}.items():
            table[name][rows] = values
        return block.groups, np.diff(block.starts), slice(begin, stop)

    lengths, n_steps = np.ones(n_groups, np.int64), 0
    for groups, steps, rows in scan.map(write_rows):
        begin = n_steps + int(groups[0]) + 1
        stop = begin + rows.stop - rows.start
        if begin < rows.start:
            for values in table.values():
                values[begin:stop] = values[rows]
        lengths[groups] += steps
        n_steps += int(steps.sum())
    starts = np.append(0, np.cumsum(lengths))
    for name, values in first.items():
        table[name] = table[name][: starts[-1]]
        table[name][starts[:-1]] = values
    return starts, table


def repeat_keys(keys: pl.DataFrame, lengths: IntArray) -> pl.DataFrame:
    """Return the key of each row; `lengths` are the numbers of rows of the groups in `keys`."""
    if not keys.width:
        return pl.DataFrame(height=int(lengths.sum()))
    return take_rows(keys, np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths))


GROUPED_ROWS = 1 << 22  # maximum number of rows in one call of `group_by`
COUNTED_ROWS = 1 << 16  # rows per slice; arrays of this length fit into the processor cache


def counts_at_thresholds(cases: Cases, given: Sequence[float]) -> pl.DataFrame:
    """Return the confusion matrix of each group above all scores and at the thresholds `given`.

    A row at a given threshold inf is left out if the group has no score of inf.
    """
    thresholds = np.unique(round_thresholds(given, cases.score.dtype))
    cells = len(thresholds) + 1
    # Each row is counted in one cell. The cell of a positive is the number of thresholds at or
    # below its score. For a negative, `cells` is added to this number.
    cell = np.empty(len(cases.score), np.uint32)

    def find_cells(part: slice) -> None:
        negative = cases.negative[part]
        n_below = np.searchsorted(thresholds, cases.score[part].astype(np.float64), "right")
        cell[part] = n_below + cells * negative
        if cases.state is not None:
            state = cases.state[part]
            # An unscored positive is counted below all thresholds. Unscored negatives are added to
            # fp later.
            cell[part][state == RowState.UNSCORED] = 0
            ignored = (state > RowState.UNSCORED) | ((state == RowState.UNSCORED) & negative)
            cell[part][ignored] = 2 * cells

    run_parallel(find_cells, split_rows(len(cell), COUNTED_ROWS), arrays_only=True)
    weight = (
        cases.count
        if cases.weight is None
        else cases.weight * (1 if cases.count is None else cases.count)
    )
    keys, sums, lowest, highest = _sum_cells(
        cases.keys, cell, weight, 2 * cells + 1, score=cases.score
    )
    unscored = np.zeros(len(sums), sums.dtype)
    if cases.state is not None:
        unscored_negative = (cases.state == RowState.UNSCORED) & cases.negative
        where = np.where(unscored_negative, 0, 1).astype(np.uint32)
        unscored = _sum_cells(cases.keys, where, weight, 2)[1][:, 0]
    # Accumulate from the highest threshold down.
    counts, shares = [], []
    for class_sums, rest in ((sums[:, :cells], 0), (sums[:, cells : 2 * cells], unscored)):
        running = np.cumsum(class_sums[:, ::-1], axis=1)
        above = np.zeros_like(running)
        above[:, 1:] = running[:, :-1]
        counts.append((above, running[:, -1:] - above))
        total = (running[:, -1] + rest)[:, None]
        shares.append(
            np.divide(class_sums, total, out=np.zeros(sums[:, :cells].shape), where=total > 0)
        )
    (tp, fn), (fp, tn) = counts
    # Between two rows, the full curve is known only if all scores between them are equal. Otherwise
    # it is anywhere in a rectangle. The lowest scores are below all thresholds, in no rectangle.
    low, high = (
        function(values[:, :cells], values[:, cells : 2 * cells])
        for function, values in ((np.minimum, lowest), (np.maximum, highest))
    )
    unknown = high > low
    unknown[:, 0] = False
    falling = np.tile(np.append(np.inf, thresholds[::-1]), (len(sums), 1))
    columns = {THRESHOLD: falling, "tp": tp, "fp": fp + unscored[:, None], "fn": fn, "tn": tn}
    error = np.where(unknown, np.maximum(*shares), 0).max(axis=1)
    area_error = np.where(unknown, shares[0] * shares[1], 0).sum(axis=1) / 2
    for name, values in zip(GIVEN_THRESHOLDS, (error, area_error), strict=True):
        columns[name] = np.repeat(values[:, None], cells, axis=1)
    kept = np.ones(falling.shape, bool)
    kept[:, 1:] = np.isfinite(falling[:, 1:]) | (falling[:, 1:] < 0)
    kept[:, 1:] |= (tp + fp)[:, 1:] > 0
    flat = {name: values[kept] for name, values in columns.items()}
    return repeat_keys(keys, kept.sum(axis=1)).hstack(pl.DataFrame(flat))


def _sum_cells(
    keys: pl.DataFrame,
    cell: np.ndarray,
    weight: np.ndarray | None,
    cells: int,
    *,
    score: np.ndarray | None = None,
) -> tuple[pl.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Return the sorted keys, and the sum of weights in each cell (columns) of each group (rows).

    The last two arrays are the lowest and the highest score in each cell, if `score` is given.
    """
    dtype = np.int64 if weight is None else weight.dtype
    if not keys.width:
        # `bincount` adds integer weights as floats, which is inexact.
        if dtype == np.int64 and weight is not None:
            sums = np.zeros(cells, np.int64)
            np.add.at(sums, cell, weight)
        else:
            sums = np.bincount(cell, weight, cells).astype(dtype)
        lowest, highest = np.full((2, 1, cells), [[[np.inf]], [[-np.inf]]])
        if score is not None:
            # Any score of the cell. If another score differs from it, the range is infinite.
            lowest[0, cell] = highest[0, cell] = score
            several = cell[lowest[0, cell] != score]
            lowest[0, several], highest[0, several] = -np.inf, np.inf
        return pl.DataFrame(height=1), sums[None, :], lowest, highest
    frame = keys.with_columns(cell=pl.Series(cell))
    total = pl.len().cast(pl.Int64)
    if weight is not None:
        frame = frame.with_columns(weight=pl.Series(weight))
        total = pl.col("weight").sum()
    values = [total.alias("total")]
    merged = [pl.col("total").sum()]
    if score is not None:
        frame = frame.with_columns(low=pl.Series(score), high=pl.Series(score))
        ends = [pl.col("low").min(), pl.col("high").max()]
        values, merged = [*values, *ends], [*merged, *ends]
    # Slices of rows are counted one by one to limit the memory.
    parts = [
        frame[rows].group_by(*keys.columns, "cell").agg(values)
        for rows in split_rows(frame.height, GROUPED_ROWS)
    ]
    counted = parts[0]
    if len(parts) > 1:
        counted = pl.concat(parts).group_by(*keys.columns, "cell").agg(merged)
    groups, group = number_keys(counted, keys.columns)
    position = group, counted["cell"].to_numpy()
    sums = np.zeros((groups.height, cells), dtype)
    sums[position] = counted["total"].to_numpy()
    lowest, highest = np.full((2, *sums.shape), [[[np.inf]], [[-np.inf]]])
    if score is not None:
        lowest[position], highest[position] = (counted[end].to_numpy() for end in ("low", "high"))
    return groups, sums, lowest, highest
