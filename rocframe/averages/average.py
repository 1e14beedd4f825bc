"""The function `average`: means of curves at fixed values of a metric, with confidence limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import signature
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rocframe.averages.means import (
    MAX_CELLS,
    CurveGroups,
    CurveValues,
    MeanSample,
    collect_blocks,
    curve_weights,
    grid_blocks,
    group_curves,
    merge_curves,
    pooled_curves,
)
from rocframe.averages.options import parse_average_options
from rocframe.curves.locate import CurveAxis, find_curves_lacking_rows, interleave
from rocframe.curves.table import SEPARATE_CURVES, check_gaps, curve_layout, name_key, read_curves
from rocframe.errors import BrokenCurveError, ColumnTypeError, MissingColumnError, OptionValueError
from rocframe.frames import (
    as_input_frame,
    build_table,
    column,
    lazy_plan,
    number_keys,
    private_names,
    select_keys,
    through_node,
)
from rocframe.inference import counted_note, join_notes, note_with_keys
from rocframe.kernel.arrays import interpolate_in_groups, split_groups
from rocframe.kernel.groups import concatenated_ranges, group_starts
from rocframe.kernel.scan import stream_keys
from rocframe.kinds import PREVALENCE, kind_of
from rocframe.options import (
    check_group_column,
    check_group_columns,
    check_supported,
    grid_values,
    group_dtypes,
    parse_grid,
    parse_names,
    public,
)
from rocframe.rates import CONFUSION, Settings
from rocframe.schemas.curves import CALIBRATION, SIMPLIFICATION
from rocframe.schemas.statistics import POOLED_CURVE, mean_columns, metric_average_columns
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.averages.means import GridBlock
    from rocframe.averages.options import (
        AverageInterval,
        AverageMethod,
        AverageOptions,
        AveragePlan,
        Grid,
        Weights,
    )
    from rocframe.curves.locate import PointsAtValues
    from rocframe.curves.table import CurveLayout, Curves
    from rocframe.decisions.costs import ClassShares
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.options import KindName


@public
def average(
    curves: FrameT,
    /,
    *,
    over: str | Sequence[str] | None = "fold",
    method: AverageMethod = "vertical",
    fixed: str | pl.Expr | None = None,
    metrics: str | pl.Expr | Sequence[str | pl.Expr] | None = None,
    nearest: bool = False,
    grid: Grid = 101,
    ci: AverageInterval | None = "corrected",
    level: float = 0.95,
    test_per_train: float | None = None,
    weights: Weights = "equal",
    prior: ClassShares | None = None,
    ranks: Literal["within"] | None = None,
    n_boot: int = 2000,
    seed: int | None = None,
    prevalence: float | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
    by: By = None,
    kind: KindName | None = None,
) -> FrameT:
    """Average the curves of each group over folds, or over another group column.

    Each row is a point of the averaged curve: means over the curves of the group, their standard
    deviations, and confidence limits of the means. Curves that lack a class are excluded and listed
    in `note`.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    over : str, sequence of str or None, default "fold"
        Group columns to average over, such as the fold. None: the result has the values of each
        curve, without limits.
    method : str, default "vertical"
        Method of averaging; `"threshold"` and `"pooled"` require scores with the same meaning.

        - `"vertical"`: the mean of y at given values of x.
        - `"horizontal"`: the mean of x at given values of y, a rate that only rises or only falls.
        - `"threshold"`: the means of x and y at given thresholds, from the counts of
          `score >= threshold` of each curve.
        - `"pooled"`: one curve from the predictions of all curves together.
        - `"macro"`, `"weighted"`, `"micro"`: for curves of one class against all others (see
          `one_vs_rest`), without limits: the vertical mean with equal weights, or with each class
          weighted by its number of positives; and as `"pooled"`.
    fixed : str or Expr, default None
        Metric at whose values, given in `grid`, the means (or a pooled curve) are computed: a name,
        such as `"tpr"`, `"threshold"`, or a named expression over counts and rates. By default, as
        `method` says.
    metrics : str, Expr or sequence of these, default None
        Metrics to average, instead of the axes: names of metrics or of the four counts, and named
        expressions over counts and rates, and over `threshold` if it is fixed.
    nearest : bool, default False
        Whether the row with the nearest fixed value is used, instead of interpolation.
    grid : int, sequence of float or str, default 101
        Values of the fixed metric: a list, or a number of evenly spaced values (for thresholds, and
        metrics without two finite bounds, of observed values). `"union"`: all values of all curves,
        with two rows for each value of a fixed axis, the means just left and just right of it.
    ci : str or None, default "corrected"
        Method of the confidence limits. All limits are pointwise.

        - `"corrected"`: t interval for folds of one data set, corrected for the overlap of their
          training sets (Nadeau and Bengio).
        - `"t"` and `"normal"`: intervals for independent test sets.
        - `"binomial"`: Wilson's interval of a rate at given thresholds, from the counts of all test
          sets together.
        - `"bootstrap"`: percentiles of the mean over resampled curves that have a value.
        - None: no limits.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    test_per_train : float, default None
        Ratio of test rows to training rows, for `ci="corrected"`; by default 1 / (k - 1), as in
        k-fold cross-validation. Required if `over` names several columns.
    weights : str or mapping, default "equal"
        Weight of each curve in the mean: `"equal"`, `"rows"` or `"positives"` (their number), or a
        mapping from the values of `over` to numbers above 0.
    prior : mapping, default None
        Weights of the classes for `method="weighted"`, such as class proportions, a mapping from
        the values of `over` to numbers above 0. By default, the numbers of positives.
    ranks : {"within"}, default None
        `"within"`, for `"pooled"` and `"micro"`: replace each score by the proportion of rows of
        the same curve with a lower score (equal scores count 1/2).
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
    prevalence : float, default None
        Prevalence at which metrics such as precision are computed. By default, that of
        `curve(prevalence=)`, or of each curve.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, by default 0, for the metric `"expected_cost"`.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve, such as `"roc"`; see `curve`. By default, the two rates right of `tn`
        determine the kind.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and point, sorted by group, then by rising value of the fixed metric or by
        falling threshold: the group columns without `over`; `side` (String, `left` or `right`) if
        there are two rows per value; the two axes; for each averaged axis, its name with `_sd`,
        `_se`, `_lower` and `_upper`; then `ci_level, n_curves, threshold_mean, threshold_sd, note`.
        All are Float64, except `n_curves` (Int64, the number of curves that reach this point) and
        `note` (String). `threshold_mean` is the mean of the thresholds that `at` returns.

        Standard deviations have the divisor n - 1. They, standard errors and limits are null for a
        single curve, and standard errors and limits if all curves have the same value; with
        `ci="binomial"`, only standard errors are null, if the mean is 0 or 1. Limits are clipped to
        the range of the metric. `note` is null, or contains all of these that apply:
        `zero_variance`; `one_curve`; `left_out:1 (7)` and `lacks_rows:1 (3)`, if one curve, with
        this value of `over`, lacks a class or the rows of this point; `fewer:precision (3)`, if the
        precision is defined for only 3 of the `n_curves` curves.

        For tables of `calibration`, the axes are `score_mean` (fixed) and `event_rate`. For pooled
        curves, the result is a curve table: `threshold, tp, fp, fn, tn`, the column `prevalence` if
        the curves have it, the two axes, then `pooled_auc, mean_auc, n_curves, note`. Both areas
        are null, with the note `lacks_rows`, if a curve ends before its lowest score.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if several curves have the same values of `by`, if `over`
        is not a group column, or if a metric or an option is invalid or not supported by `method`.

    See Also
    --------
    area : The area under an averaged curve.

    Notes
    -----
    If a curve has several points with the same value of an axis, the best point is used, such as
    the highest TPR at an FPR. If `fixed` is not an axis, the point with the highest threshold is
    used for `tpr`, `fnr`, `npv`, `false_omission_rate` and `lr_neg`, and with the lowest threshold
    for all other metrics. With `grid="union"`, the area under the vertical mean of ROC curves is
    the mean of the areas.

    Limits assume that curves are independent, apart from the overlap that `"corrected"` includes.
    For curves of the same cases, such as those of several readers, use `fold_auc` with `id`.

    A curve that lacks the rows for its lowest scores has no value at points that need these rows;
    metrics that both rise and fall, such as accuracy, need all rows. A curve with unscored
    positives has no value above its highest TPR. A curve of `curve(thresholds=...)` has values only
    at its own thresholds, and is pooled only with curves that have the same. It is recognized by
    true negatives in its last row, or without weights by two neighboring rows with the same counts;
    otherwise, its scores are taken as rounded down to its thresholds.

    References
    ----------
    - T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874, section 8.
      doi:10.1016/j.patrec.2005.10.010
    - C. Nadeau, Y. Bengio (2003), Machine Learning 52(3), 239-281. doi:10.1023/A:1024068626366

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> vote = rf.datasets.vote().filter(pl.col("model") == "logistic_regression")
    >>> mean = rf.average(rf.curve(vote, "label", "score", by="fold"), over="fold", grid=3)
    >>> mean.select("fpr", "tpr", "tpr_sd", "n_curves", "threshold_mean")
    shape: (3, 5)
    ┌─────┬──────────┬──────────┬──────────┬────────────────┐
    │ fpr ┆ tpr      ┆ tpr_sd   ┆ n_curves ┆ threshold_mean │
    │ --- ┆ ---      ┆ ---      ┆ ---      ┆ ---            │
    │ f64 ┆ f64      ┆ f64      ┆ i64      ┆ f64            │
    ╞═════╪══════════╪══════════╪══════════╪════════════════╡
    │ 0.0 ┆ 0.221474 ┆ 0.146784 ┆ 10       ┆ inf            │
    │ 0.5 ┆ 0.885256 ┆ 0.068838 ┆ 10       ┆ 0.274418       │
    │ 1.0 ┆ 1.0      ┆ 0.0      ┆ 10       ┆ 0.007317       │
    └─────┴──────────┴──────────┴──────────┴────────────────┘
    """
    options = parse_average_options(
        over=over,
        method=method,
        fixed=fixed,
        metrics=metrics,
        nearest=nearest,
        grid=grid,
        ci=ci,
        level=level,
        test_per_train=test_per_train,
        weights=weights,
        prior=prior,
        ranks=ranks,
        n_boot=n_boot,
        seed=seed,
        settings=Settings(beta=beta, costs=costs, prevalence=prevalence),
        defaults=DEFAULTS,
    )

    metric_options = {
        "fixed": fixed,
        "metrics": metrics,
        "nearest": nearest,
        "prior": prior,
        "ranks": ranks,
        "prevalence": prevalence,
        "beta": beta,
        "costs": costs,
        "kind": kind,
    }

    def resolve(frame: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        if is_calibration_table(list(schema)):
            subject = "an average of calibration curves"
            for option, value in metric_options.items():
                check_supported(option, value, subject, default=ALL_DEFAULTS[option])
            return plan_calibration_average(frame, schema, by, options)
        table = curve_layout(schema, by, ())
        curve_kind = kind_of(list(schema), kind)
        for name in options.over:
            check_group_column("over", name, table.by, schema)
        rest = tuple(name for name in table.by if name not in options.over)
        rescaled = table.has_prevalence
        plan = None if options.pools_curves else options.plan(curve_kind, rescaled=rescaled)
        _check_not_simplified(table, options, plan)
        is_weighted = any(table.count_dtype(name).is_float() for name in CONFUSION)
        columns: dict[str, Any] = {}
        if plan is not None:
            columns = dict(plan.schema)
        else:
            columns = {
                THRESHOLD: pl.Float64() if options.ranked else table.scores,
                **dict.fromkeys(CONFUSION, pl.Float64() if is_weighted else pl.Int64()),
                **({PREVALENCE: pl.Float64()} if rescaled else {}),
                **dict.fromkeys(curve_kind.rates, pl.Float64()),
                **POOLED_CURVE,
            }
        # Averages with grid="union" are recognized by the column `side`, so no group column may be
        # named `side`.
        check_group_columns(rest, table.keys, (*columns, "side"))
        if is_weighted and options.limits is not None and options.limits.of_proportions:
            raise OptionValueError.compose(
                "ci",
                options.ci,
                "the curves have weights instead of numbers of rows",
                'Use ci="corrected" or ci="t".',
            )

        def average_rows(rows: pl.DataFrame) -> pl.DataFrame:
            all_curves = read_curves(rows, table)
            if plan is None:
                return pooled_curves(all_curves, curve_kind, options.over, ranked=options.ranked)
            plan_at_prevalence = plan.at_prevalence(all_curves.prevalence)
            if options.averaging.pools_curves:
                return pooled_metrics(all_curves, plan_at_prevalence)
            return average_curves(all_curves, plan_at_prevalence)

        return through_node(
            frame.select(table.count_columns),
            average_rows,
            schema={**{name: table.keys[name] for name in rest}, **columns},
            by=rest,
            anchor=THRESHOLD if plan is None else "n_curves",
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


ALL_DEFAULTS = {name: option.default for name, option in signature(average).parameters.items()}
# The defaults of the options that `parse_average_options` checks.
DEFAULTS = {
    name: ALL_DEFAULTS[name]
    for name in signature(parse_average_options).parameters
    if name in ALL_DEFAULTS
}


def _check_not_simplified(
    table: CurveLayout, options: AverageOptions, plan: AveragePlan | None
) -> None:
    """Raise an error for simplified curves if the method requires counts at all thresholds."""
    at_thresholds = plan is None or plan.fixed is None or options.averaging.pools_curves
    if at_thresholds and all(name in table.row for name in SIMPLIFICATION):
        raise BrokenCurveError.compose(
            "curves: simplified curves lack rows, so the counts at a threshold are unknown",
            'Compute the curves without max_error=, or use method="vertical" without fixed=.',
        )


def _check_fixed(curves: Curves, plan: AveragePlan) -> None:
    """Raise an error for curves at given thresholds if a metric is fixed, not the threshold."""
    if plan.fixed is not None:
        check_gaps(curves, f"its points at a given {plan.fixed.column} are unknown")


def average_curves(curves: Curves, plan: AveragePlan) -> pl.DataFrame:
    """Return a table of means, with one row per group and value of the fixed metric."""
    options = plan.options
    _check_fixed(curves, plan)
    curve_groups = group_curves(curves, options.over, options.weights, options.weights_argument)
    return _mean_table(curve_groups, plan)


def pooled_metrics(curves: Curves, plan: AveragePlan) -> pl.DataFrame:
    """Return a table of metrics of pooled curves, with one row per group and fixed value."""
    _check_fixed(curves, plan)
    members = group_curves(curves, plan.options.over, "equal")
    pooled = merge_curves(curves, members, ranked=plan.options.ranked)
    lacks_rows = find_curves_lacking_rows(curves)[members.curve]
    groups = len(members.notes)
    curve_groups = CurveGroups(
        keys=members.keys,
        curves=pooled,
        curve=np.arange(groups),
        starts=np.arange(groups + 1),
        usable=(pooled.pos > 0) & (pooled.neg > 0),
        weight=np.ones(groups),
        note_keys=[
            [members.note_keys[i][0] for i in range(start, end) if lacks_rows[i]]
            for start, end in pairwise(members.starts.tolist())
        ],
        notes=members.notes,
    )
    n_pooled = np.diff(np.append(0, np.cumsum(members.usable))[members.starts])
    return _mean_table(curve_groups, plan, n_pooled)


def _mean_table(
    curve_groups: CurveGroups, plan: AveragePlan, n_pooled: NDArray[np.int64] | None = None
) -> pl.DataFrame:
    """Return the table of means; `n_pooled` is the number of curves in each pooled curve."""
    common = plan.common_values
    n_values = None if common is None else len(common)
    averager = CurveAverager(
        curve_groups=curve_groups,
        plan=plan,
        axis=CurveAxis.from_curves(curve_groups.curves, plan.fixed, n_values=n_values),
        lacks_rows=(
            find_curves_lacking_rows(curve_groups.curves)
            if plan.fixed is None
            else curve_groups.curves.ends_early
        ),
        streams=stream_keys(curve_groups.keys),
        n_pooled=n_pooled,
    )
    blocks = grid_blocks(curve_groups, averager.axis, plan)
    return collect_blocks(
        curve_groups, plan.schema, ((block, averager.columns(block)) for block in blocks)
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveAverager:
    """Computes the means of all groups at values of one metric or of the threshold.

    `lacks_rows` is True for curves without a row per distinct score or, if a metric is fixed, for
    curves that end before their lowest score. `streams` identify the random numbers of each group.
    `n_pooled` is the number of curves in each pooled curve, or None if curves are averaged.
    """

    curve_groups: CurveGroups
    plan: AveragePlan
    axis: CurveAxis
    lacks_rows: NDArray[np.bool_]
    streams: list[tuple[int, ...]]
    n_pooled: NDArray[np.int64] | None

    def columns(self, block: GridBlock) -> dict[str, NDArray[Any]]:
        """Return the columns of a block, arrays with one row per group and one column per value."""
        curve_groups, plan, options = self.curve_groups, self.plan, self.plan.options
        sizes = curve_groups.sizes[block.groups]
        rows = concatenated_ranges(curve_groups.starts[block.groups], sizes)
        curve, starts = curve_groups.curve[rows], np.cumsum(sizes) - sizes
        values = block.values
        rounded = self.axis.round_values(values)
        points = self.points(curve, rounded if len(values) == 1 else np.repeat(rounded, sizes, 0))
        usable, lacks_rows = curve_groups.usable[rows], self.lacks_rows[curve]
        exists = points.exists & usable[:, None]
        if plan.fixed is not None and not plan.fixed.monotone and plan.fixed.occurrence == "last":
            # A curve that lacks rows has no value: a missing row with a lower threshold could have
            # the same value of the metric.
            exists &= ~lacks_rows[:, None]
        unknown = ~exists & (usable & lacks_rows)[:, None]
        fixed = np.repeat(values, 2, axis=1) if plan.has_sides else values
        shape = len(block.groups), fixed.shape[1]

        def curve_values(values: NDArray[np.float64]) -> CurveValues:
            values = np.where(exists, values, np.nan)
            return CurveValues(values=values, weight=curve_groups.weight[rows], starts=starts)

        thresholds = curve_values(points.threshold)
        mean, sd = thresholds.mean_and_sd()
        columns: dict[str, Any] = {
            "ci_level": np.nan if options.ci is None else options.level,
            "n_curves": thresholds.count,
            "threshold_mean": mean,
            "threshold_sd": sd,
        }
        if plan.is_curve and plan.fixed is None:
            columns |= {"threshold_mean": fixed, "threshold_sd": 0.0}
        else:
            columns[plan.fixed_column] = fixed
        if plan.has_sides:
            columns["side"] = np.tile(np.array(["left", "right"], object), shape[1] // 2)
        counts: dict[str, NDArray[np.int64]] = {}
        constant = np.zeros(shape, bool)
        for metric in plan.metrics:
            metric_values = curve_values(points.evaluate(metric))
            mean, sd = metric_values.mean_and_sd()
            finite = metric_values
            if np.isinf(metric_values.values).any():
                finite = replace(
                    finite, values=np.where(np.isinf(finite.values), np.nan, finite.values)
                )
            limits = MeanSample(
                values=finite,
                options=options,
                curves=sizes,
                rows=self.axis.total(metric.proportion_of)[curve],
                streams=[self.streams[group] for group in block.groups],
                bounds=metric.bounds,
            ).limits()
            is_finite = np.isfinite(mean)
            constant |= limits.constant & is_finite
            interval = (limits.se, limits.lower, limits.upper)
            parts = (mean, sd, *(np.where(is_finite, part, np.nan) for part in interval))
            columns |= dict(zip(mean_columns(metric.column), parts, strict=True))
            counts[metric.column] = metric_values.count
        if plan.is_curve:
            columns["n_curves"] = counts[plan.metrics[-1].column]
            counts = {}
        columns["note"] = self.notes(block, columns["n_curves"], counts, constant, unknown)
        if self.n_pooled is not None:
            columns["n_curves"] = columns["n_curves"] * self.n_pooled[block.groups][:, None]
        return columns

    def points(self, curve: NDArray[np.int64], values: NDArray[np.float64]) -> PointsAtValues:
        """Return the point of each curve at each value, or with `has_sides` both at a jump."""
        nearest, metric = self.plan.options.nearest, self.plan.fixed
        if metric is None:
            return self.axis.points_at_thresholds(curve, values, self.lacks_rows, nearest=nearest)
        if not self.plan.has_sides:
            return self.axis.points(curve, values, nearest=nearest)
        left, right = (
            self.axis.points(curve, values, occurrence=occurrence)
            for occurrence in (("first", "last") if metric.rising else ("last", "first"))
        )
        return interleave([left, right])

    def notes(
        self,
        block: GridBlock,
        n_curves: NDArray[np.int64],
        counts: Mapping[str, NDArray[np.int64]],
        constant: NDArray[np.bool_],
        unknown: NDArray[np.bool_],
    ) -> NDArray[np.object_]:
        """Return the notes of groups and values; `unknown` are curves that lack rows."""
        notes, limits = np.empty(n_curves.shape, object), self.plan.options.limits
        for i, group in enumerate(block.groups):
            excluded = self.curve_groups.notes[group]
            notes[i] = excluded
            notes[i, constant[i]] = join_notes("zero_variance", excluded)
            if limits is not None and not limits.of_proportions:
                notes[i, n_curves[i] == 1] = join_notes("one_curve", excluded)
        ends = np.cumsum(self.curve_groups.sizes[block.groups])
        for i in np.unique(np.searchsorted(ends, np.flatnonzero(unknown.any(axis=1)), "right")):
            group = block.groups[i]
            of_group = unknown[ends[i] - self.curve_groups.sizes[group] : ends[i]]
            for j in np.flatnonzero(of_group.any(axis=0)):
                curves = self.curve_groups.starts[group] + np.flatnonzero(of_group[:, j])
                keys = [key for curve in curves for key in self.curve_groups.note_keys[curve]]
                notes[i, j] = join_notes(notes[i, j], note_with_keys("lacks_rows", keys))
        scale = np.ones(len(block.groups), np.int64)
        if self.n_pooled is not None:
            scale = self.n_pooled[block.groups]
        fewer = np.zeros(n_curves.shape, bool)
        for count in counts.values():
            fewer |= count < n_curves
        for i, j in np.argwhere(fewer & (scale > 0)[:, None]):
            lacking = ", ".join(
                f"{name} ({count[i, j] * scale[i]})"
                for name, count in counts.items()
                if count[i, j] < n_curves[i, j]
            )
            notes[i, j] = join_notes(notes[i, j], counted_note("fewer", lacking))
        return notes


SCORE, RATE = "score_mean", "event_rate"
READ_COLUMNS = ("bin", SCORE, RATE, "n")
AVERAGE = metric_average_columns(SCORE, [RATE])


def is_calibration_table(columns: Sequence[str]) -> bool:
    """Return whether a table with these columns is a table of `calibration`."""
    return CALIBRATION.recognize(columns) is not None


def plan_calibration_average(
    frame: pl.LazyFrame, schema: pl.Schema, by: By, options: AverageOptions
) -> pl.LazyFrame:
    """Return the query plan that averages calibration curves at given scores."""
    subject = "an average of calibration curves"
    averaging = options.averaging
    if averaging.fixes != "x" or averaging.pools_curves:
        hint = 'Use method="vertical".'
        check_supported("method", options.method, subject, noun="value", hint=hint)
    if options.limits is not None and options.limits.of_proportions:
        hint = 'Use ci="corrected" or ci="t".'
        check_supported("ci", options.ci, subject, noun="value", hint=hint)
    grid = parse_grid(options.grid, keyword="union", bounds=(0, 1))
    keys = tuple(schema)[: list(schema).index("bin")] if by is None else parse_names(by)
    check_group_columns(keys, schema, READ_COLUMNS)
    for name in READ_COLUMNS:
        if name not in schema:
            raise MissingColumnError.of_table("curves", name, schema)
        if not schema[name].is_numeric():
            hint = "This column must be numeric. Compute the table with .roc.calibration(…)."
            raise ColumnTypeError.of_table("curves", name, schema[name], hint)
    for name in options.over:
        check_group_column("over", name, keys, schema)
    rest = tuple(name for name in keys if name not in options.over)
    dtypes = group_dtypes(keys, schema)
    check_group_columns(rest, dtypes, (*AVERAGE, "side"))
    # The group columns may have any names.
    private = private_names(READ_COLUMNS, keys)
    columns = [column(name).alias(private[name]) for name in READ_COLUMNS]

    def average_rows(rows: pl.DataFrame) -> pl.DataFrame:
        points = rows.select(pl.col(private[name]).cast(pl.Float64).alias(name) for name in private)
        return _average_table(select_keys(rows, keys), points, options, grid)

    return through_node(
        frame.select(*(column(name) for name in keys), *columns),
        average_rows,
        schema={**{name: dtypes[name] for name in rest}, **AVERAGE},
        by=rest,
        anchor="n_curves",
    )


def _average_table(
    keys: pl.DataFrame, points: pl.DataFrame, options: AverageOptions, grid: int | str | list[float]
) -> pl.DataFrame:
    """Return the means of each group and score, from the keys and numbers of points of curves."""
    curve_keys, owner = number_keys(keys, keys.columns)
    _check_bins(curve_keys, owner, points)
    curves = CalibrationCurves.from_points(owner, points, curve_keys.height)
    totals = _row_totals(owner, points, curve_keys.height, options.weights)
    weight = curve_weights(
        curve_keys, options.over, options.weights, options.weights_argument, **totals
    )
    groups = CurveGroups.from_keys(
        curve_keys, curves, options.over, usable=curves.sizes > 0, weight=weight
    )
    starts, streams = groups.starts, stream_keys(groups.keys)
    tables = [build_table(groups.keys.clear(), {}, AVERAGE)]
    for block, scores in _blocks(curves, groups, grid):
        members = slice(starts[block.start], starts[block.stop])
        values = CurveValues(
            values=curves.rates_at(groups.curve[members], scores),
            weight=groups.weight[members],
            starts=starts[block] - starts[block.start],
        )
        limits = MeanSample(
            values=values,
            options=options,
            curves=groups.sizes[block],
            rows=np.zeros(len(values.values)),
            streams=streams[block],
            bounds=(0.0, 1.0),
        ).limits()
        parts = (values.mean, values.sd, limits.se, limits.lower, limits.upper)
        repeated = np.tile(scores, block.stop - block.start)
        columns: dict[str, Any] = {
            SCORE: repeated,
            **{name: part.ravel() for name, part in zip(mean_columns(RATE), parts, strict=True)},
            "ci_level": None if options.ci is None else options.level,
            "n_curves": values.count.ravel(),
            "threshold_mean": repeated,
            "threshold_sd": np.where(np.isnan(repeated), np.nan, 0.0),
            "note": [
                join_notes("zero_variance", note) if is_constant else note
                for note, constant in zip(
                    groups.notes[block], limits.constant.tolist(), strict=True
                )
                for is_constant in constant
            ],
        }
        rows = np.repeat(np.arange(block.start, block.stop), len(scores))
        tables.append(build_table(groups.keys, columns, AVERAGE, rows=rows))
    return pl.concat(tables)


def _check_bins(curve_keys: pl.DataFrame, owner: NDArray[np.int64], points: pl.DataFrame) -> None:
    """Raise an error if a curve has two points of the same bin; `owner` is the curve of a point."""
    repeated = points.select("bin", pl.Series("owner", owner)).is_duplicated()
    if repeated.any():
        name = name_key(curve_keys, int(owner[repeated.arg_max()]), otherwise="the curve")
        raise BrokenCurveError.compose(
            f"curves: {name} has two rows with the same bin", SEPARATE_CURVES
        )


class CalibrationCurves(NamedTuple):
    """The points of calibration curves, by rising score, without undefined event rates."""

    score: NDArray[np.float64]
    rate: NDArray[np.float64]
    starts: NDArray[np.int64]

    @classmethod
    def from_points(
        cls, owner: NDArray[np.int64], points: pl.DataFrame, size: int
    ) -> CalibrationCurves:
        """Return `size` curves; `owner` is the number of the curve of each point."""
        score, rate = (points.get_column(name).to_numpy() for name in (SCORE, RATE))
        order = np.lexsort((score, owner))
        order = order[~np.isnan(score[order] + rate[order])]
        return cls(score[order], rate[order], group_starts(owner[order], size))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of points of each curve."""
        return np.diff(self.starts)

    def scores_of(self, curve: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distinct scores of some curves in rising order."""
        return np.unique(self.score[concatenated_ranges(self.starts[curve], self.sizes[curve])])

    def rates_at(self, curve: NDArray[np.int64], at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return event rates of curves (rows) at scores (columns); NaN outside their range."""
        result = np.full((len(curve), len(at)), np.nan)
        has_points = self.sizes[curve] > 0
        first = self.starts[curve[has_points], None]
        last = self.starts[curve[has_points] + 1, None] - 1
        values = interpolate_in_groups(self.score, self.rate, first, last, at)
        is_inside = (at >= self.score[first]) & (at <= self.score[last])
        result[has_points] = np.where(is_inside, values, np.nan)
        return result


def _blocks(
    curves: CalibrationCurves, groups: CurveGroups, grid: int | str | list[float]
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield blocks of groups, and the scores at which the curves of these groups are averaged."""
    if isinstance(grid, str):
        for i, (start, end) in enumerate(pairwise(groups.starts)):
            scores = curves.scores_of(groups.curve[start:end])
            # A group without scores has one row, which contains its note.
            yield slice(i, i + 1), scores if len(scores) else np.array([np.nan])
        return
    common = np.array(grid_values(grid))
    for block in split_groups(groups.starts * len(common), MAX_CELLS):
        yield block, common


def _row_totals(
    owner: NDArray[np.int64], points: pl.DataFrame, size: int, weights: object
) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of rows and of positives of each curve, if `weights` needs them."""
    if weights not in ("rows", "positives"):
        return {}
    n = points.get_column("n")
    if n.null_count():
        problem = "smooth calibration curves do not have numbers of rows"
        hint = 'Use weights="equal", or a mapping from the values of over= to numbers.'
        raise OptionValueError.compose("weights", weights, problem, hint)
    n_pos = (n * points.get_column(RATE)).fill_null(0)
    return {
        name: np.bincount(owner, values.to_numpy(), size).astype(np.float64)
        for name, values in (("rows", n), ("positives", n_pos))
    }
