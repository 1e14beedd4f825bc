"""Compute the curve of each group: a confusion matrix per distinct score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from rocframe.curves.display import CurveCounts
from rocframe.curves.simplified_rows import area_change, simplified_rows
from rocframe.curves.simplify import parse_max_error
from rocframe.errors import MissingColumnError, OptionValueError, RepeatedNameError
from rocframe.frames import as_input_frame, build_table, take_rows
from rocframe.inputs.cases import RowState
from rocframe.inputs.node import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import sort_rows
from rocframe.kernel.scan import Scan
from rocframe.kernel.threads import run_parallel, split_rows
from rocframe.kinds import KindName, kind_named, scale_of
from rocframe.options import NOT_GIVEN, parse_names, parse_numbers
from rocframe.rates import Settings, check_metric_settings, parse_metric_expressions
from rocframe.schemas import CURVE_COLUMNS, MODEL, SIMPLIFICATION, THRESHOLD, curve_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.scan import Block
    from rocframe.kinds import Kind, Scale


def curve(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    kind: KindName = "roc",
    metrics: str | pl.Expr | Sequence[str | pl.Expr] = (),
    thresholds: Sequence[float] | pl.Series | None = None,
    max_error: float | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
    prevalence: float | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
) -> FrameT:
    """Trace the curve of each group: a confusion matrix per distinct score.

    In each row, all scores at or above the threshold (`score >= threshold`) are predicted positive.
    Tied scores share a row. The first row of a group has the threshold `inf`, where nothing is
    predicted positive. An infinite score has a row of its own after it.

    Parameters
    ----------
    predictions : DataFrame or LazyFrame
        One row per prediction. A LazyFrame returns a LazyFrame.
    label : str or Expr
        Column or expression with the true class: Boolean, 0/1 numbers, or any values together with
        `positive`.
    score : str, Expr, selector, sequence or mapping
        Column or expression with the score; higher values indicate the positive class. Any real
        number is allowed, and scores are never transformed. A list, a selector or a mapping from
        names to columns compares several models side by side. It adds the key `model` (String)
        after `by`.
    by : str or sequence of str, default None
        Group columns. A null key is a group of its own.
    kind : str, default "roc"
        Which two rates are the axes: `"roc"` (fpr, tpr), `"precision_recall"` or `"pr"` (recall,
        precision), `"det"` (fpr, fnr), `"gain"` (alert_rate, tpr), `"lift"` (alert_rate, lift),
        `"lift_chart"` (alert_rate, tp).
    metrics : str, Expr or sequence of these, default ()
        More columns: names such as `"f1"` or `"mcc"`, and named expressions of your own over `tp`,
        `fp`, `fn`, `tn`. An alias such as `"specificity"` makes a column of that name.
    thresholds : sequence of float, default None
        Only these thresholds, falling, and `inf`; no full table is built on the way.
    max_error : float, default None
        Only the rows that `simplify` keeps, and its columns `error` and `area_change` right of all
        others; no full table is built on the way.
    positive : object, default None
        Value of `label` that is the positive class; all other values are negative. Required unless
        labels are Boolean or 0/1.
    weight : str or Expr, default None
        Column or expression with the importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Column or expression with the number of identical rows that a row represents; all results
        are those of that many separate rows. If the table has a column named `count`, pass
        `count="count"` or `count=None`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Handling of rows whose label, score, weight or count is null or NaN. `"raise"`: an error.
        `"drop"`: the rows are left out and counted in `n_missing`. `"worst"`: for missing scores
        only; an unscored positive is a false negative and an unscored negative is a false positive
        at every threshold.
    prevalence : float, default None
        Prevalence, between 0 and 1, at which metrics that depend on both classes are computed. The
        counts do not change.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    costs : mapping of str to float, default None
        Costs of a `tp`, `fp`, `fn` and `tn`, for `"expected_cost"`. Costs that are not given are 0.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, (`model`,) `threshold, tp, fp, fn, tn`, the two rates, then `metrics`; with
        `max_error` then `error, area_change`. Sorted by group and falling threshold. Counts are
        Int64, or Float64 where rows are weighted;
        threshold and rates are Float64. A rate is null where its denominator is 0: a group
        without positives keeps its `fpr` and has null `tpr`. A group without usable rows is its
        `inf` row. Without `by` there is always one group; with `by` and no rows, none.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite.

    See Also
    --------
    auc : The area under each curve, from predictions.
    at : Operating points of a curve table.
    simplify : Fewer rows of a curve table, and what that costs.

    Notes
    -----
    Names for `metrics` are `tpr`, `fpr`, `tnr`, `fnr`, `precision`, `npv`, `fdr`,
    `false_omission_rate`, `accuracy`, `error_rate`, `balanced_accuracy`, `f1`, `f_beta`, `jaccard`,
    `mcc`, `kappa`, `youden`, `markedness`, `alert_rate`, `rnp`, `lift`, `prevalence`, `lr_pos`,
    `lr_neg`, `odds_ratio`, `mutual_information`, `chi2`, `expected_cost` and `net_benefit`.
    Aliases: `recall`, `sensitivity` and `hit_rate` for `tpr`; `fall_out` for `fpr`; `specificity`
    for `tnr`; `miss_rate` for `fnr`; `ppv` for `precision`; `rpp` and `yrate` for `alert_rate`.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> rf.curve(predictions, "label", "score")
    shape: (3, 7)
    ┌───────────┬─────┬─────┬─────┬─────┬─────┬─────┐
    │ threshold ┆ tp  ┆ fp  ┆ fn  ┆ tn  ┆ fpr ┆ tpr │
    │ ---       ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- │
    │ f64       ┆ i64 ┆ i64 ┆ i64 ┆ i64 ┆ f64 ┆ f64 │
    ╞═══════════╪═════╪═════╪═════╪═════╪═════╪═════╡
    │ inf       ┆ 0   ┆ 0   ┆ 2   ┆ 1   ┆ 0.0 ┆ 0.0 │
    │ 0.9       ┆ 1   ┆ 0   ┆ 1   ┆ 1   ┆ 0.0 ┆ 0.5 │
    │ 0.4       ┆ 2   ┆ 1   ┆ 0   ┆ 0   ┆ 1.0 ┆ 1.0 │
    └───────────┴─────┴─────┴─────┴─────┴─────┴─────┘

    A metric of the package and an expression:

    >>> wrong = (pl.col("fp") + pl.col("fn")).alias("wrong")
    >>> predictions.roc.curve("label", "score", metrics=["f1", wrong]).select("f1", "wrong")
    shape: (3, 2)
    ┌──────────┬───────┐
    │ f1       ┆ wrong │
    │ ---      ┆ ---   │
    │ f64      ┆ i64   │
    ╞══════════╪═══════╡
    │ 0.0      ┆ 2     │
    │ 0.666667 ┆ 1     │
    │ 0.8      ┆ 1     │
    └──────────┴───────┘
    """
    settings = Settings(beta=beta, costs=costs, prevalence=prevalence)
    shape = kind_named(kind)
    named = parse_metric_expressions(metrics, settings)
    if max_error is not None:
        max_error = parse_max_error(max_error)
        _check_no_thresholds(thresholds)
    told = {} if max_error is None else SIMPLIFICATION
    made = [*CURVE_COLUMNS, *shape.rates, *told]
    _check_metric_columns(named, [*parse_names(by), *CURVE_COLUMNS, *shape.rates], made, score)
    check_metric_settings(named, beta=beta, costs=costs)
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )
    edges = None if thresholds is None else parse_thresholds(thresholds)

    def make(cases: Cases) -> pl.DataFrame:
        # numpy loads with the first curve, not with the package.
        if max_error is not None:
            return simplified_curves(cases, shape, scale_of(shape, None), max_error)
        if edges is None:
            return full_curves(cases)
        return counts_at_thresholds(cases, edges)

    walked = plan_table(
        predictions,
        roles,
        make,
        columns={**curve_columns(roles.mass), **told},
        more=(*shape.rates, *named),
        anchor=THRESHOLD,
    )
    # Metrics of one's own may use the rates.
    rated = walked.with_columns(*shape.exprs(settings))
    rated = rated.with_columns(expr.alias(name) for name, expr in named.items())
    if named:  # 0/0 in a metric of one's own is as undefined as in ours
        rated = rated.with_columns((cs.by_name(*named) & cs.float()).fill_nan(None))
    if told:
        rated = rated.select(~cs.by_name(*told), cs.by_name(*told))
    return as_input_frame(predictions, rated)


def _check_no_thresholds(thresholds: object) -> None:
    if thresholds is not None:
        raise OptionValueError.of(
            "thresholds",
            thresholds,
            "these are the rows to make, and max_error= chooses others",
            "Leave out one of the two.",
        )


def _check_metric_columns(
    named: Mapping[str, pl.Expr], known: Sequence[str], made: Sequence[str], score: Scores
) -> None:
    """Check that metrics read columns that exist, and have names that no column has."""
    several = [] if isinstance(score, str) else [MODEL]
    for name, expr in named.items():
        for root in expr.meta.root_names():
            if root not in (*known, *several):
                raise MissingColumnError.of("metrics", root, known)
        if name in made:
            raise RepeatedNameError.in_result("metrics", name, made)


def parse_thresholds(thresholds: Sequence[float] | pl.Series) -> list[float]:
    """Return the distinct thresholds in rising order, without `inf`, which every curve has."""
    values = parse_numbers("thresholds", thresholds, single=False, example="[0.1, 0.5]")
    return sorted({value + 0.0 for value in values} - {inf})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveArrays:
    """The rows of a curve table, as arrays: group i has the rows `starts[i]` to `starts[i + 1]`."""

    walk: Scan
    starts: NDArray[np.int64]
    threshold: NDArray[np.float64]
    counts: dict[str, NDArray[Any]]


def full_curves(cases: Cases) -> pl.DataFrame:
    """Return the confusion matrix at every distinct score of each group.

    The groups' columns come first, under the names they have in `cases`.
    """
    trace = trace_curves(Scan.from_rows(sort_rows(cases)))
    keys = repeat_keys(trace.walk.rows.keys, np.diff(trace.starts))
    return keys.hstack(pl.DataFrame({THRESHOLD: trace.threshold, **trace.counts}))


def trace_curves(walk: Scan) -> CurveArrays:
    """Return the rows of all curves as arrays."""
    rows = walk.rows
    kind = walk.totals.pos.dtype

    def steps(block: Block) -> tuple[Block, NDArray[np.float64]]:
        return block, rows.codec.decode(block.codes)

    parts = walk.map(steps)
    starts, wheres = row_positions([(block.groups, block.starts) for block, _ in parts], walk)
    firsts = starts[:-1]
    table = {name: np.empty(int(starts[-1]), kind) for name in ("tp", "fp", "fn", "tn")}
    threshold = np.empty(int(starts[-1]), np.float64)

    def place(part: tuple[tuple[Block, NDArray[np.float64]], Callable[[], Any]]) -> None:
        (block, scores), find = part
        where = find()
        if len(block.groups) == 1:
            pos, neg, more = (values[block.groups[0]] for values in sides)
        else:
            pos, neg, more = (block.of_steps(values) for values in sides)
        threshold[where] = scores
        table["tp"][where] = block.tp
        table["fp"][where] = block.fp + more
        table["fn"][where] = pos - block.tp
        table["tn"][where] = neg - (block.fp + more)

    totals, unscored = walk.totals, rows.unscored.neg_mass
    sides = (totals.pos, totals.neg, unscored.astype(kind))
    run_parallel(place, zip(parts, wheres, strict=True))
    threshold[firsts] = np.inf
    table["tp"][firsts] = 0
    table["fp"][firsts] = unscored
    table["fn"][firsts] = totals.pos
    table["tn"][firsts] = totals.neg - unscored
    return CurveArrays(walk=walk, starts=starts, threshold=threshold, counts=table)


def row_positions(
    blocks: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], walk: Scan
) -> tuple[NDArray[np.int64], list[Callable[[], Any]]]:
    """Return where the rows of each group start, and functions that find the rows of each block.

    A block consists of its groups and where their steps start in it. Each group has one more row,
    above all its steps.
    """
    lengths = np.ones(walk.rows.keys.height, np.int64)
    done = []
    for groups, steps in blocks:
        done.append(lengths[groups])
        lengths[groups] += np.diff(steps)
    starts = np.append(0, np.cumsum(lengths))

    def find(groups: NDArray[np.int64], steps: NDArray[np.int64], passed: NDArray[np.int64]) -> Any:
        first = starts[groups] + passed
        if len(groups) == 1:
            return slice(int(first[0]), int(first[0] + steps[-1]))
        return np.arange(steps[-1]) + np.repeat(first - steps[:-1], np.diff(steps))

    return starts, [
        partial(find, groups, steps, passed)
        for (groups, steps), passed in zip(blocks, done, strict=True)
    ]


def repeat_keys(keys: pl.DataFrame, lengths: NDArray[np.int64]) -> pl.DataFrame:
    """Repeat each group's key as often as its table has rows."""
    return take_rows(keys, np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths))


def simplified_curves(cases: Cases, kind: Kind, scale: Scale, max_error: float) -> pl.DataFrame:
    """Return the simplified curve of each group, with its error and change of area.

    The groups' columns come first, under the names they have in `cases`.
    """
    walk = Scan.from_rows(sort_rows(cases))
    walks, codes = _trace_counts(walk)
    rows, error = simplified_rows(walks, kind, scale, max_error)
    group = np.searchsorted(walks.starts, rows, "right") - 1
    pos, neg = walks.pos[group], walks.neg[group]
    tp, fp = walks.tp[rows], walks.fp[rows]
    threshold = walk.rows.codec.decode(codes[rows])
    threshold[rows == walks.starts[group]] = np.inf
    told = (error, area_change(walks, rows, kind))
    columns = {THRESHOLD: threshold, "tp": tp, "fp": fp, "fn": pos - tp, "tn": neg - fp}
    columns |= {name: values[group] for name, values in zip(SIMPLIFICATION, told, strict=True)}
    schema = {
        **curve_columns(pl.Float64() if tp.dtype.kind == "f" else pl.Int64()),
        **SIMPLIFICATION,
    }
    return build_table(walk.rows.keys, columns, schema, rows=group)


def _trace_counts(walk: Scan) -> tuple[CurveCounts, NDArray[Any]]:
    """Return the counts of all rows of all curves, and the codes of their scores."""
    totals, unscored = walk.totals, walk.rows.unscored.neg_mass
    kind = totals.pos.dtype

    def steps(block: Block) -> tuple[NDArray[Any], ...]:
        return block.groups, block.starts, block.tp, block.fp, block.codes

    parts = walk.map(steps)
    starts, wheres = row_positions([(part[0], part[1]) for part in parts], walk)
    tp, fp = (np.zeros(int(starts[-1]), kind) for _ in range(2))
    codes = np.zeros(int(starts[-1]), walk.rows.codes.dtype)

    def place(part: tuple[tuple[NDArray[Any], ...], Callable[[], Any]]) -> None:
        (_, _, called, false, scores), find = part
        where = find()
        tp[where], fp[where], codes[where] = called, false, scores

    run_parallel(place, zip(parts, wheres, strict=True))
    if unscored.any():
        fp += np.repeat(unscored.astype(kind), np.diff(starts))
    return CurveCounts(tp=tp, fp=fp, starts=starts, pos=totals.pos, neg=totals.neg), codes


COUNTED_ROWS = 1 << 16


def counts_at_thresholds(cases: Cases, edges: Sequence[float]) -> pl.DataFrame:
    """Return the confusion matrix of each group at each of some rising thresholds.

    The groups' columns come first, under the names they have in `cases`.
    """
    rising = np.asarray(edges, np.float64)
    cells = len(rising) + 1
    cell = np.empty(len(cases.score), np.uint32)

    def find(part: slice) -> None:
        # The number of thresholds that a score reaches.
        negative = cases.negative[part]
        reached = np.searchsorted(rising, cases.score[part].astype(np.float64), "right")
        cell[part] = reached + cells * negative
        if cases.state is not None:
            state = cases.state[part]
            # An unscored positive reaches none; unscored negatives are added below.
            cell[part][state == RowState.UNSCORED] = 0
            aside = (state > RowState.UNSCORED) | ((state == RowState.UNSCORED) & negative)
            cell[part][aside] = 2 * cells

    run_parallel(find, split_rows(len(cell), COUNTED_ROWS))
    mass = (
        cases.count
        if cases.weight is None
        else cases.weight * (1 if cases.count is None else cases.count)
    )
    keys, sums = _sum_cells(cases.keys, cell, mass, 2 * cells + 1)
    unscored = np.zeros(len(sums), sums.dtype)
    if cases.state is not None:
        lost = (cases.state == RowState.UNSCORED) & cases.negative
        where = np.where(lost, 0, 1).astype(np.uint32)
        unscored = _sum_cells(cases.keys, where, mass, 2)[1][:, 0]
    # From the top down: scores that reach the highest threshold first.
    walked = []
    for side in (sums[:, :cells], sums[:, cells : 2 * cells]):
        running = np.cumsum(side[:, ::-1], axis=1)
        above = np.zeros_like(running)
        above[:, 1:] = running[:, :-1]
        walked.append((above, running[:, -1:] - above))
    (tp, fn), (fp, tn) = walked
    more = unscored[:, None]
    columns = {"tp": tp, "fp": fp + more, "fn": fn, "tn": tn}
    threshold = np.append(np.inf, rising[::-1])
    lengths = np.full(len(sums), cells)
    columns[THRESHOLD] = np.tile(threshold, (len(sums), 1))
    flat = {name: np.ascontiguousarray(columns[name]).ravel() for name in CURVE_COLUMNS}
    return repeat_keys(keys, lengths).hstack(pl.DataFrame(flat))


def _sum_cells(
    keys: pl.DataFrame, cell: np.ndarray, mass: np.ndarray | None, cells: int
) -> tuple[pl.DataFrame, np.ndarray]:
    """Add up the mass in each cell of each group; return the sorted groups and one row for each."""
    kind = np.int64 if mass is None else mass.dtype
    if not keys.width:
        if kind == np.int64 and mass is not None:  # bincount would add whole numbers as floats
            sums = np.zeros(cells, np.int64)
            np.add.at(sums, cell, mass)
        else:
            sums = np.bincount(cell, mass, cells).astype(kind)
        return pl.DataFrame(height=1), sums[None, :]
    frame = keys.with_columns(cell=pl.Series(cell))
    amount = pl.len().cast(pl.Int64) if mass is None else pl.col("mass").sum()
    if mass is not None:
        frame = frame.with_columns(mass=pl.Series(mass))
    counted = frame.group_by(*keys.columns, "cell").agg(amount.alias("mass"))
    groups = counted.select(keys.columns).unique().sort(keys.columns)
    placed = counted.join(
        groups.with_row_index("group"), on=keys.columns, nulls_equal=True, how="left"
    )
    sums = np.zeros((groups.height, cells), kind)
    sums[placed["group"].to_numpy(), placed["cell"].to_numpy()] = placed["mass"].to_numpy()
    return groups, sums
