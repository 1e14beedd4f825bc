"""The function `transfer`: thresholds that are chosen on some data, applied to other data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.curves.at import point_axis, rows_at
from rocframe.curves.table import COMPLETE_CURVES, PointTable, check_ends, plan_curves
from rocframe.decisions.constraints import allowed_rows
from rocframe.decisions.costs import CurveRows, best_rows
from rocframe.decisions.operating_point import RuleOptions
from rocframe.errors import OptionValueError
from rocframe.frames import build_table, check_keys, find_keys, number_keys, select_keys
from rocframe.inference import class_notes
from rocframe.kernel.arrays import run_parallel, split_groups
from rocframe.kernel.groups import (
    concatenated_ranges,
    cumulative_sums,
    falling_ranks,
    group_starts,
    is_run_start,
    sort_order,
)
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kinds import prevalence_column
from rocframe.options import check_supported, public
from rocframe.rates import CONFUSION
from rocframe.schemas.curves import transfer_columns
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.curves.table import CurveLayout, Curves
    from rocframe.decisions.constraints import Constraint
    from rocframe.decisions.costs import Rule
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.schemas.table_type import Schema


@public
def transfer(
    curves: FrameT,
    /,
    rule: str | pl.Expr | Sequence[str | pl.Expr] = "youden",
    *,
    over: str = "fold",
    chosen: pl.DataFrame | None = None,
    costs: Mapping[str, float] | None = None,
    benefits: Mapping[str, float] | None = None,
    prevalence: float | None = None,
    subject_to: Mapping[str, Sequence[float | None]] | None = None,
    guarantee: float | None = None,
    minimize: bool | None = None,
    beta: float = 1.0,
    by: By = None,
) -> FrameT:
    """Apply thresholds that are chosen on some data to other data.

    The choice of a threshold is a part of training, so its effect must be measured on other data.
    For each fold, the threshold is chosen on the pooled rows of all other folds, and applied to the
    rows of this fold. With `chosen=`, the thresholds of a given table are applied instead.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    rule : str, Expr or sequence of these, default "youden"
        What the threshold optimizes: rules of `operating_point` except `"bayes"`, with a row for
        each.
    over : str, default "fold"
        Group column with the parts of the data: the other curves that differ from a curve only in
        this column are pooled. Not used with `chosen`.
    chosen : DataFrame, default None
        A table with the chosen thresholds, whose group columns are group columns of `curves`: of
        `operating_point`, with the rules and options of its call; or rows of `at`, `hull` or
        `curve`, one for each group, which are applied to all rules.
    costs, benefits : mapping of str to float, default None
        As in `operating_point`.
    prevalence : float, default None
        Prevalence, between 0 and 1, for rules and constraints that depend on it; by default, the
        one that was passed to `curve`, or else that of each curve. Counts do not change.
    subject_to : mapping of str to sequence, default None
        Constraints of the choice, as in `operating_point`. Without `chosen`, numbers of rows, such
        as `"alerts"`, raise an error, because the pooled folds have more rows: use `"alert_rate"`.
    guarantee, minimize, beta
        As in `operating_point`.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, rule, value_realised, value_chosen, optimism, threshold, tp, fp, fn, tn, note`; one
        row per curve and rule, in the order of the rules. A column `prevalence` of the curves is
        right of `tn`. With `subject_to`, the metrics of the constraints and `is_met` are left of
        `note`.

        - `value_realised` and `value_chosen` (Float64) are the metric of the rule (String) on the
          data of the curve in this row, and on the data of the choice. `optimism` (Float64) is the
          amount by which `value_chosen` is better. Both are null if `chosen` has no such value.
        - `tp, fp, fn, tn` are the counts of the curve in this row, with `score >= threshold` as the
          prediction.
        - With `subject_to`, each metric has a column of its name (Float64) with its value on the
          data of this row. `is_met` (Boolean) is whether these values meet all constraints, and
          null if one is undefined and all others do.

        If no threshold was chosen, all columns from `value_realised` to `is_met` are null. `note`
        (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, no_solution`, for the curve in this row or, if no
        threshold was chosen, for the data of the choice.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks some of its rows, if `chosen` lacks a
        rule or has several thresholds for one curve and rule, or if an option is invalid or unused.

    See Also
    --------
    operating_point : The best threshold of each curve by a rule.
    intervals : Confidence limits of the threshold that a rule chooses.

    Notes
    -----
    The scores of all folds must be on one scale, as probabilities usually are. `optimism` compares
    data sets of different size, so an expression as the rule must be a mean or a ratio, not a sum.

    References
    ----------
    - M. Vuk, T. Curk (2006), Metodološki zvezki 3(1), 89-108, section 7.
    - T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874.
      doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> votes = rf.datasets.vote().filter(model="naive_bayes")
    >>> curves = rf.curve(votes, "label", "score", by=["model", "fold"])
    >>> applied = rf.transfer(curves, "accuracy").head(2)
    >>> applied.select("fold", "value_realised", "value_chosen", "optimism", "threshold")
    shape: (2, 5)
    ┌──────┬────────────────┬──────────────┬───────────┬───────────┐
    │ fold ┆ value_realised ┆ value_chosen ┆ optimism  ┆ threshold │
    │ ---  ┆ ---            ┆ ---          ┆ ---       ┆ ---       │
    │ i8   ┆ f64            ┆ f64          ┆ f64       ┆ f64       │
    ╞══════╪════════════════╪══════════════╪═══════════╪═══════════╡
    │ 1    ┆ 0.747368       ┆ 0.746761     ┆ -0.000608 ┆ 0.699855  │
    │ 2    ┆ 0.726316       ┆ 0.749117     ┆ 0.022801  ┆ 0.658319  │
    └──────┴────────────────┴──────────────┴───────────┴───────────┘
    """
    settings = {"costs": costs, "prevalence": prevalence, "beta": beta}
    options = RuleOptions.parse(
        rule,
        benefits=benefits,
        subject_to=subject_to,
        guarantee=guarantee,
        minimize=minimize,
        **settings,
    )
    hint = "The threshold of this rule does not depend on data: use at(threshold=)."
    has_bayes = "bayes" in options.rules
    check_supported("rule", rule, "transfer()", supported=not has_bayes, noun="value", hint=hint)
    points = None
    if chosen is None:
        _check_no_counts(subject_to or {})
    else:
        check_supported("guarantee", guarantee, "chosen=")
        points = _parse_chosen(chosen, options)

    def compute(curves: Curves, columns: Schema) -> pl.DataFrame:
        results = _apply(curves, options, over, points)
        rows = np.repeat(np.arange(len(curves.firsts)), len(options.rules))
        return build_table(curves.keys, results, columns, rows=rows)

    return plan_transfer(
        curves,
        compute,
        over=over,
        keys=None if points is None else points.key_dtypes,
        columns=lambda schema: transfer_columns(
            schema.get("tp", pl.Int64()), options.subject_to, prevalence_column(schema)
        ),
        by=by,
        anchor="rule",
    )


def plan_transfer(
    curves: FrameT,
    compute: Callable[[Curves, Schema], pl.DataFrame],
    *,
    over: str,
    keys: Callable[[Iterable[str]], Schema] | None,
    columns: Callable[[pl.Schema], Schema],
    by: By,
    anchor: str,
) -> FrameT:
    """Return a table with a result for each curve, to which a choice on other data is applied.

    The choice is a threshold or a set of concavities. `keys` returns the group columns of `chosen`
    and their dtypes, for the names of the group columns of the curves. It is None if the choice is
    made on the other folds, which `over` names.
    """

    def check(table: CurveLayout) -> None:
        chosen = {} if keys is None else keys(table.keys)
        check_keys("chosen", chosen, table.keys, chosen, noun="curves")

    return plan_curves(
        curves,
        by,
        columns,
        compute,
        anchor=anchor,
        compared=("over", over) if keys is None else None,
        check=check,
    )


class Choice(NamedTuple):
    """The chosen threshold of each curve or NaN, the value on the data of the choice, a note."""

    threshold: NDArray[np.float64]
    value: NDArray[np.float64]
    note: NDArray[np.object_]


def _apply(
    curves: Curves, options: RuleOptions, over: str, chosen: PointTable | None
) -> dict[str, object]:
    """Return the columns of the result: a row per curve and rule."""
    rules, constraints = options.of_curves(curves)
    if chosen is None:
        choices = _choose_on_others(curves, over, rules, constraints, options.guarantee)
    else:
        points = chosen.of_models(curves.keys.columns)
        _check_single(points)
        choices = [_read_choice(curves, points, rule) for rule in rules]
    axis, n_curves = point_axis(curves, THRESHOLD), len(curves.firsts)
    shape = n_curves, len(rules)
    threshold, value, realised, optimism = np.full((4, *shape), np.nan)
    row, note = np.full(shape, -1), np.full(shape, None, object)
    own_note = class_notes(curves.pos, curves.neg)
    for i, (rule, choice) in enumerate(zip(rules, choices, strict=True)):
        exists = ~np.isnan(choice.threshold)
        applied_threshold = np.where(exists, choice.threshold, np.inf)
        applied_row = rows_at(axis, applied_threshold[:, None])[0][exists, 0]
        counts = {part: np.asarray(curves.columns.at(part, applied_row)) for part in CONFUSION}
        threshold[:, i], value[:, i], row[exists, i] = choice.threshold, choice.value, applied_row
        realised[exists, i] = rule.value.evaluate({THRESHOLD: applied_threshold[exists], **counts})
        low_is_better = rule.minimize or (bool(rule.polynomial) and rule.value.better == "lower")
        with np.errstate(invalid="ignore"):  # the difference of two infinite values
            optimism[:, i] = (value[:, i] - realised[:, i]) * (-1 if low_is_better else 1)
        note[:, i] = np.where(exists, own_note, choice.note)
    return {
        "rule": [*options.rules] * n_curves,
        "value_realised": realised.ravel(),
        "value_chosen": value.ravel(),
        "optimism": optimism.ravel(),
        THRESHOLD: threshold.ravel(),
        **curves.take(row.ravel(), [*CONFUSION, *prevalence_column(curves.layout.row)]).to_dict(),
        **_realised_constraints(curves, row.ravel(), threshold.ravel(), constraints),
        "note": note.ravel().tolist(),
    }


def _realised_constraints(
    curves: Curves,
    row: NDArray[np.int64],
    threshold: NDArray[np.float64],
    constraints: Sequence[Constraint],
) -> dict[str, object]:
    """Return the metrics of constraints at rows (-1: none), and whether all are in their range."""
    if not constraints:
        return {}
    exists = np.flatnonzero(row >= 0)
    tp, fp, fn, tn = (np.asarray(curves.columns.at(part, row[exists])) for part in CONFUSION)
    sizes = {"pos": tp + fn, "neg": fp + tn, "scores": curves.scores}
    rows = CurveRows(curve=exists, threshold=threshold[exists], tp=tp, fp=fp, **sizes)
    columns: dict[str, object] = {}
    undefined, violated = row < 0, np.zeros(len(row), bool)
    for constraint in constraints:
        metric, values = constraint.metric, np.full(len(row), np.nan)
        values[exists] = metric.evaluate(rows.counts)
        columns[metric.column or metric.name] = values
        is_undefined = np.isnan(values[exists])
        rounded = rows.round_values(values[exists], metric)
        undefined[exists] |= is_undefined
        violated[exists] |= ~constraint.is_met(rows, rounded) & ~is_undefined
    is_met = pl.Series(~violated).scatter(np.flatnonzero(undefined & ~violated), None)
    return columns | {"is_met": is_met}


def _choose_on_others(
    curves: Curves,
    over: str,
    rules: Sequence[Rule],
    constraints: Sequence[Constraint],
    guarantee: float | None,
) -> list[Choice]:
    """Return, for each rule, the thresholds chosen on the pooled other folds of each curve."""
    folds = OtherFolds.from_curves(curves, over)

    def choose(part: slice) -> list[Choice]:
        rows = folds.pooled_rows(part)
        is_allowed = allowed_rows(rows, constraints, guarantee)
        totals = folds.pos[part], folds.neg[part]
        return [_choose(rows, rule, is_allowed, *totals) for rule in rules]

    parts = run_parallel(choose, folds.parts() or [slice(0, 0)])
    restored = np.argsort(folds.order)
    return [
        Choice(*(np.concatenate(arrays)[restored] for arrays in zip(*choices, strict=True)))
        for choices in zip(*parts, strict=True)
    ]


def _choose(
    rows: CurveRows, rule: Rule, is_allowed: NDArray[np.bool_], pos: NDArray[Any], neg: NDArray[Any]
) -> Choice:
    """Return the best threshold of each curve by a rule, among the allowed rows."""
    best = best_rows(rows, rule, len(pos), is_allowed).row
    exists = best >= 0
    chosen = rows.take(best[exists])
    threshold, value = np.full((2, len(pos)), np.nan)
    threshold[exists], value[exists] = chosen.threshold, rule.value.evaluate(chosen.counts)
    return Choice(threshold, value, class_notes(pos, neg, no_solution=~exists))


def _check_no_counts(subject_to: Mapping[str, Sequence[float | None]]) -> None:
    """Raise an error for a number of rows: limits for other folds are none for one fold."""
    rates = {"alerts": "alert_rate", "tp": "tpr", "fp": "fpr", "fn": "fnr", "tn": "tnr"}
    for name, limits in subject_to.items():
        if name in rates:
            problem = (
                "a limit on a number of rows is not supported, because the threshold is chosen on "
                "all other folds together, which have another number of rows"
            )
            hint = f'Use the proportion of rows: subject_to={{"{rates[name]}": …}}.'
            raise OptionValueError.compose(f"subject_to[{name!r}]", limits, problem, hint)


def _parse_chosen(chosen: object, options: RuleOptions) -> PointTable:
    """Return the table `chosen` after a check that each curve and rule has one threshold."""
    hint = "Pass the collected result of operating_point, at or hull."
    points = PointTable.parse("chosen", chosen, hint)
    has_rules = "rule" in points.rows.columns
    _check_single(points.of_models([points.models or ""]))
    if has_rules and points.rows.height:
        available = points.rows.get_column("rule").unique().sort().to_list()
        for name in options.rules:
            if name not in available:
                problem = "the table passed as chosen= has no threshold for this rule"
                names = ", ".join(map(repr, available))
                raise OptionValueError.compose("rule", name, problem, f"Its rules are: {names}.")
    return points


def _check_single(points: PointTable) -> None:
    """Raise an error unless each curve and rule has one operating point."""
    points.check_single([*points.keys, *(["rule"] if "rule" in points.rows.columns else [])])


def _read_choice(curves: Curves, points: PointTable, rule: Rule) -> Choice:
    """Return the threshold of each curve for a rule from a table of operating points."""
    rows = points.rows
    if "rule" in rows.columns:
        rows = rows.filter(pl.col("rule") == rule.name)
    row = find_keys(select_keys(curves.keys, points.keys), select_keys(rows, points.keys))

    def numbers(name: str) -> NDArray[np.float64]:
        values = rows.get_column(name).cast(pl.Float64).gather(row)
        return values.fill_null(np.nan).to_numpy()

    threshold, value = numbers(THRESHOLD), np.full(len(row), np.nan)
    if "value" in rows.columns:
        value = numbers("value")
    elif {*CONFUSION} <= {*rows.columns}:
        counts = {part: numbers(part) for part in CONFUSION}
        value = rule.value.evaluate({THRESHOLD: threshold, **counts})
    none = pl.Series([None], dtype=pl.String).new_from_index(0, rows.height)
    note = rows.get_column("note", default=none).cast(pl.String).gather(row)
    return Choice(threshold, value, note.fill_null("no_solution").to_numpy())


def pooled_other_curves(curves: Curves, over: str) -> CurveRows:
    """Return for each curve the pooled curve of all curves that differ from it only in `over`."""
    folds = OtherFolds.from_curves(curves, over)
    rows = folds.pooled_rows(slice(0, len(folds.order)))
    curve = folds.order[rows.curve]
    order = np.argsort(curve, kind="stable")
    return replace(rows.take(order), curve=curve[order])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OtherFolds:
    """Steps of curves, and of the pooled curves of groups.

    A step is the change of `tp` and `fp` at a threshold, the first from 0. Curves of a group have
    the same values of all group columns except for that of the folds, and are sorted by group.
    Curve i is the curve `order[i]` of the table, belongs to `group[i]` and has the steps
    `starts[i]` to `starts[i + 1] - 1`. For each of them, `pooled` is the index of the pooled step
    with the same threshold; `other_tp` and `other_fp` are the changes of all other curves of the
    group, which have `pos[i]` positives and `neg[i]` negatives.

    Group i has the pooled steps `pooled_starts[i]` to `pooled_starts[i + 1] - 1`, with the changes
    `pooled_tp` and `pooled_fp`; `n_curves` is the number of curves with a row at the threshold.
    """

    order: NDArray[np.int64]
    group: NDArray[np.int64]
    starts: NDArray[np.int64]
    pooled: NDArray[np.int64]
    other_tp: NDArray[Any]
    other_fp: NDArray[Any]
    pos: NDArray[Any]
    neg: NDArray[Any]
    pooled_starts: NDArray[np.int64]
    threshold: NDArray[np.float64]
    pooled_tp: NDArray[Any]
    pooled_fp: NDArray[Any]
    n_curves: NDArray[np.int64]
    scores: np.dtype[Any]

    @classmethod
    def from_curves(cls, curves: Curves, over: str) -> OtherFolds:
        """Return the steps of a curve table; `over` is the column of the folds."""
        check_ends(curves, "it cannot be pooled with other curves", COMPLETE_CURVES)
        _, group = number_keys(curves.keys, curves.keys_without(over))
        order = np.argsort(group, kind="stable")
        group = group[order]
        n_groups = int(group.max(initial=-1)) + 1
        curve_edges = group_starts(group, n_groups)
        pos, neg = (sums_of_others(total[order], curve_edges) for total in (curves.pos, curves.neg))
        sizes = np.diff(curves.starts)[order]
        starts = np.append(0, np.cumsum(sizes))
        rows, first = concatenated_ranges(curves.starts[:-1][order], sizes), starts[:-1]
        threshold = curves.columns[THRESHOLD][rows]
        rank = falling_ranks(threshold)
        rank[first] = np.iinfo(np.int64).min
        row_starts = starts[curve_edges]
        by_rank, sorted_rank = sort_order(rank, row_starts)
        is_new = is_run_start(sorted_rank)
        is_new[row_starts[:-1]] = True
        new = np.flatnonzero(is_new)
        pooled = np.empty(len(rows), np.int64)
        pooled[by_rank] = np.cumsum(is_new) - 1
        changes: dict[str, NDArray[Any]] = {}
        for name in ("tp", "fp"):
            counts = curves.columns[name][rows]
            change = np.diff(counts, prepend=counts[:1])
            change[first] = counts[first]
            others = np.empty_like(change)
            others[by_rank] = sums_of_others(change[by_rank], np.append(new, len(rows)))
            pooled_change = np.add.reduceat(change[by_rank], new) if len(new) else change
            changes |= {f"pooled_{name}": pooled_change, f"other_{name}": others}
        return cls(
            order=order,
            group=group,
            starts=starts,
            pooled=pooled,
            pos=pos,
            neg=neg,
            pooled_starts=np.searchsorted(new, row_starts),
            threshold=threshold[by_rank[new]],
            **changes,
            n_curves=np.diff(new, append=len(rows)),
            scores=curves.scores,
        )

    def parts(self) -> list[slice]:
        """Return slices of curves; the pooled curves of each slice fit into the cache."""
        ends = np.cumsum(np.diff(self.pooled_starts)[self.group])
        return split_groups(np.append(0, ends), BLOCK_ROWS)

    def pooled_rows(self, part: slice) -> CurveRows:
        """Return the pooled curve of all other curves of the group, for each curve of a slice."""
        group, edges = self.group[part], self.starts[part.start : part.stop + 1]
        first = self.pooled_starts[group]
        lengths = self.pooled_starts[group + 1] - first
        starts = np.append(0, np.cumsum(lengths))
        # Steps that occur only in the omitted curve are removed. At each remaining step, the change
        # of tp and fp is the sum of the changes of all curves except the omitted one.
        omitted = slice(edges[0], edges[-1])
        index = self.pooled[omitted] + np.repeat(starts[:-1] - first, np.diff(edges))
        is_removed = self.n_curves[self.pooled[omitted]] == 1
        removed, index = index[is_removed], index[~is_removed]
        step = np.delete(concatenated_ranges(first, lengths), removed)
        index -= np.searchsorted(removed, index)
        starts -= np.searchsorted(removed, starts)
        counts = []
        for pooled, others in ((self.pooled_tp, self.other_tp), (self.pooled_fp, self.other_fp)):
            change = pooled[step]
            change[index] = others[omitted][~is_removed]
            counts.append(cumulative_sums(change, starts))
        lengths = np.diff(starts)
        return CurveRows(
            curve=np.repeat(np.arange(len(group)), lengths),
            threshold=self.threshold[step],
            tp=counts[0],
            fp=counts[1],
            pos=np.repeat(self.pos[part], lengths),
            neg=np.repeat(self.neg[part], lengths),
            scores=self.scores,
        )


def sums_of_others(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """Return, for each value, the sum of all other values of its segment, without subtraction.

    `starts` are the first positions of the segments, and the number of values. A difference of two
    large sums of weights can have a large rounding error.
    """
    if not len(values):
        return values
    first = np.zeros(len(values), bool)
    first[starts[:-1]] = True
    before = np.roll(cumulative_sums(values.copy(), starts), 1)
    reversed_starts = len(values) - starts[::-1]
    after = np.roll(cumulative_sums(values[::-1].copy(), reversed_starts)[::-1], -1)
    last = np.roll(first, -1)
    result: NDArray[Any] = np.where(first, 0, before) + np.where(last, 0, after)
    return result
