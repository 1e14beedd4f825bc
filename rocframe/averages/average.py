"""The verb `average`: curve tables → the averaged curve of each group, and its spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.averages.curve_groups import Gathered, as_over, coarse, members_of, ranges, tasks
from rocframe.averages.locate import Measure, Track, places_above, places_at
from rocframe.averages.means import POINTS, Cell, Plan, limits
from rocframe.averages.metric_means import Asked, held_means, held_pooled
from rocframe.averages.pooled import pooled
from rocframe.curves.table import curve_layout, read_curves
from rocframe.errors import BrokenCurveError, MissingColumnError, OptionValueError
from rocframe.frames import like, planned, through_node
from rocframe.kernel.resample import stream_keys
from rocframe.kinds import kind_of
from rocframe.options import check_group_columns
from rocframe.rates import Settings
from rocframe.schemas import (
    CURVE_COLUMNS,
    POOLED_CURVE,
    SIMPLIFICATION,
    THRESHOLD,
    curve_average_columns,
    spread_columns,
)
from rocframe.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.averages.curve_groups import Members, Task
    from rocframe.averages.locate import End, Places
    from rocframe.averages.means import Grid, Method, Spread, Weights
    from rocframe.averages.metric_means import Held
    from rocframe.curves.table import CurveLayout, Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kinds import Kind, KindName


def average(
    curves: FrameT,
    /,
    *,
    over: str | Sequence[str] = "fold",
    method: Method = "vertical",
    fixed: str | pl.Expr | None = None,
    metrics: str | pl.Expr | Sequence[str | pl.Expr] | None = None,
    nearest: bool = False,
    grid: Grid = 101,
    interval: Spread | None = "corrected",
    level: float = 0.95,
    test_per_train: float | None = None,
    weights: Weights = "equal",
    prior: Mapping[Any, float] | None = None,
    ranks: Literal["within"] | None = None,
    n_boot: int = 2000,
    seed: int | None = None,
    prevalence: float | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
    by: By = None,
    kind: KindName | None = None,
) -> FrameT:
    """Average the curves of each group over folds, or over any other key.

    A row is a point of the averaged curve, with the spread of the curves about it. Curves that
    lack a class are left out, counted and named.

    Parameters
    ----------
    curves : DataFrame or LazyFrame
        A curve table as returned by `curve`: group columns, `threshold`, `tp, fp, fn, tn`, and any
        columns right of them. Every group must be complete. Rows may be in any order.
    over : str or sequence of str, default "fold"
        Key of the curves that are averaged, or several: the other keys are the groups.
    method : str, default "vertical"
        `"vertical"`, the mean y at fixed x; `"horizontal"`, the mean x at fixed y, where y is a
        rate that rises or falls all along a curve; `"threshold"`, the means of both at fixed
        thresholds, each curve counting `score >= threshold`, which is for scores that mean the same
        in all curves; `"pooled"`, the one curve of all rows together, which needs that too. Over
        classes, which are no sample and so have no limits: `"macro"`, vertical; `"weighted"`,
        vertical, each class counting as much as it has positives; `"micro"`, pooled.
    fixed : str or Expr, default None
        What is held fixed instead of x: the name of a metric, such as `"tpr"` or `"accuracy"`;
        `"threshold"`; or a named expression of your own over `tp`, `fp`, `fn`, `tn`. Of a pooled
        curve it says at which values that is read off.
    metrics : str, Expr or sequence of these, default None
        What is averaged there instead of the axes: names of metrics or of the four counts, and
        named expressions of your own, which may read `threshold` where that is fixed.
    nearest : bool, default False
        Of each curve take the row that is there and nearest to the fixed value, not the point
        between two rows that has it.
    grid : int, sequence of float or str, default 101
        Where the mean is taken: so many evenly spaced values, or these values; of thresholds, and
        of metrics without two bounds, so many of all that there are. Or `"union"`: every value that
        some row of some curve has, and, of the axes, both sides of it, for curves may jump there.
    interval : str or None, default "corrected"
        Method of the limits: `"corrected"`, a t interval for folds of one data set, which are
        fitted on each other's rows (Nadeau, Bengio); `"t"` and `"normal"`, for test sets that are
        independent of each other; `"binomial"`, for rates, from the rows of all test sets taken
        together; `"bootstrap"`, quantiles of means over curves drawn anew; None for no limits. All
        hold at one point, not for the curve as a whole.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    test_per_train : float, default None
        Test rows per training row, for `"corrected"`. Unless it is given: 1 to k - 1, as in k
        folds. Needed where `over` names several keys, such as a repetition and a fold.
    weights : str or mapping, default "equal"
        How much each curve counts: `"equal"`; `"rows"`, as much as it has rows; `"positives"`, as
        much as it has positives; or a mapping from the values of `over` to numbers above 0.
    prior : mapping, default None
        How much each class counts in `"weighted"`, instead of its positives: a mapping from the
        values of `over` to numbers above 0, such as their shares where the models will be used.
    ranks : {"within"}, default None
        `"within"`, for `"pooled"`: first put in the place of each score the share of its own
        curve's rows that have lower ones, ties counting half.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the random draws, a whole number >= 0. None: a new seed in every call. The draws of
        a group depend only on the seed and the group's key.
    prevalence : float, default None
        Prevalence, between 0 and 1, at which metrics that depend on both classes are computed. The
        counts do not change.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    costs : mapping of str to float, default None
        Costs of a `tp`, `fp`, `fn` and `tn`, for `"expected_cost"`. Costs that are not given are 0.
    by : str or sequence of str, default None
        Group columns. By default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve. By default, the kind whose axes are the columns right of `tn`.

    Returns
    -------
    DataFrame or LazyFrame
        The keys but `over`; for both sides of jumps `side` (String, `left` or `right`); the two
        axes; for each axis that was averaged its `_sd`, `_se`, `_lower`, `_upper`; then
        `ci_level, n_curves, threshold_mean, threshold_sd, note`. All are Float64, but for
        `n_curves` (Int64, the curves that have a value there) and `note` (String). Rows rise with
        the fixed axis, or fall with the threshold. `threshold_mean` is that of the lowest
        thresholds that do not exceed a fixed `fpr` or `alert_rate`, or of the highest that reach a
        fixed `tpr`, `recall` or `fnr`. The standard deviation has n - 1 and is null for one
        curve, and so are the limits unless they are binomial. Limits are clipped to what the rate
        can be. `note` is null, or says how many curves are left out, and which: left_out:1 (7).

        Pooled curves are a curve table: `threshold, tp, fp, fn, tn`, the two axes, then
        `pooled_auc, mean_auc, n_curves, note`: all rows are pooled, also those of curves that
        `mean_auc` leaves out. The areas are null where a curve ends before its lowest score.

    Raises
    ------
    RocframeError
        If the table is no curve table, a group is not whole, `over` is no key of it, or an option
        is not one of its set.
    OptionValueError
        If `grid`, `test_per_train`, `weights` or the fixed axis is none that a mean can be taken
        with, or if an option is given that the method does not read.
    UnknownOptionError
        If `fixed` or `metrics` names no metric.

    See Also
    --------
    area : The area under an averaged curve.

    Notes
    -----
    Where a curve jumps, the better row has the value: the highest TPR at an FPR, the lowest FPR
    at a TPR, the highest precision at a recall. Between rows a curve is linear in its counts. One
    with unscored negatives begins right of FPR 0, and has a TPR of 0 left of there.

    An accuracy or a precision may be reached several times. Then the place with the lowest
    threshold counts, as for an FPR; but the highest for what is said of uncalled rows, as for a
    TPR: `fnr`, `npv`, `false_omission_rate` and `lr_neg`. A row counts that has the value, and so
    does the point between two rows of which one is above and one below.

    With `grid="union"`, the area under the vertical mean of ROC curves is the mean of their areas.

    `"threshold"` and `"pooled"` read curves that have a row for each of their scores. One that was
    made with `thresholds=` shows that where it ends before its lowest score, or calls no more rows
    at a threshold than at the one above; weights show the first only. Then it has values at its
    own thresholds alone, and is pooled with curves at the same ones alone. Where it does not show,
    a score counts as the highest of its curve's thresholds that it reaches.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874, section 8. doi:10.1016/j.patrec.2005.10.010

    C. Nadeau, Y. Bengio (2003), "Inference for the generalization error", Machine Learning 52(3),
    239-281. doi:10.1023/A:1024068626366

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {
    ...         "fold": [1, 1, 1, 2, 2, 2, 2],
    ...         "label": [1, 0, 1, 1, 0, 1, 0],
    ...         "score": [0.9, 0.4, 0.4, 0.8, 0.6, 0.5, 0.1],
    ...     }
    ... )
    >>> curves = rf.curve(predictions, "label", "score", by="fold")
    >>> mean = rf.average(curves, over="fold", grid=3)
    >>> mean.select("fpr", "tpr", "tpr_sd", "n_curves", "threshold_mean")
    shape: (3, 5)
    ┌─────┬───────┬──────────┬──────────┬────────────────┐
    │ fpr ┆ tpr   ┆ tpr_sd   ┆ n_curves ┆ threshold_mean │
    │ --- ┆ ---   ┆ ---      ┆ ---      ┆ ---            │
    │ f64 ┆ f64   ┆ f64      ┆ i64      ┆ f64            │
    ╞═════╪═══════╪══════════╪══════════╪════════════════╡
    │ 0.0 ┆ 0.5   ┆ 0.0      ┆ 2        ┆ 0.85           │
    │ 0.5 ┆ 0.875 ┆ 0.176777 ┆ 2        ┆ 0.7            │
    │ 1.0 ┆ 1.0   ┆ 0.0      ┆ 2        ┆ 0.25           │
    └─────┴───────┴──────────┴──────────┴────────────────┘

    The area under the mean is the mean of the areas, where both sides of each jump are there:

    >>> curves.roc.average(over="fold", grid="union").roc.area()
    shape: (1, 1)
    ┌─────────────┐
    │ auc_of_mean │
    │ ---         │
    │ f64         │
    ╞═════════════╡
    │ 0.75        │
    └─────────────┘

    The precision and the share of alerts where half and where all positives are found:

    >>> promised = curves.roc.average(
    ...     fixed="tpr", metrics=["precision", "alert_rate"], grid=[0.5, 1]
    ... )
    >>> promised.select("tpr", "precision", "precision_sd", "alert_rate")
    shape: (2, 4)
    ┌─────┬───────────┬──────────────┬────────────┐
    │ tpr ┆ precision ┆ precision_sd ┆ alert_rate │
    │ --- ┆ ---       ┆ ---          ┆ ---        │
    │ f64 ┆ f64       ┆ f64          ┆ f64        │
    ╞═════╪═══════════╪══════════════╪════════════╡
    │ 0.5 ┆ 1.0       ┆ 0.0          ┆ 0.291667   │
    │ 1.0 ┆ 0.666667  ┆ 0.0          ┆ 0.875      │
    └─────┴───────────┴──────────────┴────────────┘
    """
    # numpy loads with the first average, not with the package.
    asked = Asked.of(
        method,
        fixed=fixed,
        metrics=metrics,
        grid=grid,
        nearest=nearest,
        prevalence=prevalence,
        beta=beta,
        costs=costs,
    )
    checked = Plan.of(
        as_over(over),
        method,
        grid=grid if asked is None else POINTS,
        interval=interval,
        level=level,
        test_per_train=test_per_train,
        weights=weights,
        prior=prior,
        ranks=ranks,
        n_boot=n_boot,
        seed=seed,
    )

    def resolve(frame: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        table = curve_layout(schema, by, ())
        shape = kind_of(list(schema), kind)
        for name in checked.over:
            _check_key(name, table)
        rest = tuple(name for name in table.by if name not in checked.over)
        plan, held = (checked, None) if asked is None else asked.on(shape, checked)
        pooling = plan.method == "pooled" and held is None
        _check_full(table, plan.method, held)
        if held is not None:
            made = held.schema
        elif pooling:
            made = {
                THRESHOLD: pl.Float64(),
                **{name: _summed(table.row[name]) for name in CURVE_COLUMNS[1:]},
                **dict.fromkeys(shape.rates, pl.Float64()),
                **POOLED_CURVE,
            }
        else:
            made = curve_average_columns(shape, plan.averaged(shape), sides=plan.sides)
        # A mean is known by its columns, and one of a union by this one: no group is called so.
        check_group_columns(rest, table.keys, (*made, "side"))
        if plan.interval == "binomial" and table.row["tp"].is_float():
            raise OptionValueError.of(
                "interval",
                plan.interval,
                "these curves have weights, which are no numbers of rows",
                'Say interval="corrected" or interval="t".',
            )

        def find(rows: pl.DataFrame) -> pl.DataFrame:
            whole = read_curves(rows, table)
            if held is not None and plan.method == "pooled":
                return held_pooled(whole, shape, held, plan)
            if held is not None:
                return held_means(whole, held, plan)
            if pooling:
                return pooled(whole, shape, plan.over, ranked=plan.ranked)
            return averaged(whole, shape, plan)

        return through_node(
            frame.select(table.walk),
            find,
            schema={**{name: table.keys[name] for name in rest}, **made},
            by=rest,
            anchor=THRESHOLD if pooling else "n_curves",
        )

    return like(curves, planned("curves", curves).pipe_with_schema(resolve))


def _check_key(name: str, table: CurveLayout) -> None:
    """Check that curves are averaged over one of their keys."""
    if name in table.by:
        return
    if name not in table.row:
        raise MissingColumnError.of("over", name, [*table.by, *table.row])
    keys = f"Its keys are: {listed(table.by)}." if table.by else "It has no keys."
    raise OptionValueError.of("over", name, "it is no key of the table", keys)


def _check_full(table: CurveLayout, method: str, held: Held | None) -> None:
    """Check that curves read at thresholds are not simplified: what others call is not known."""
    at_threshold = THRESHOLD in {method, None if held is None else held.name}
    if (method == "pooled" or at_threshold) and all(name in table.row for name in SIMPLIFICATION):
        raise BrokenCurveError.of(
            "curves: simplified curves lack rows, so what is called at a threshold is not known",
            "Average the full curves, made without max_error=; or hold a rate fixed.",
        )


def _summed(dtype: pl.DataType) -> pl.DataType:
    return pl.Float64() if dtype.is_float() else pl.Int64()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What all pieces of the work share: the curves, the fixed axis, and the averaged ones."""

    members: Members
    track: Track
    axes: tuple[Measure, ...]
    plan: Plan
    streams: list[tuple[int, ...]]
    coarse: NDArray[np.bool_] | None


def averaged(curves: Curves, kind: Kind, plan: Plan) -> pl.DataFrame:
    """Return the averaged curve of each group, point after point."""
    axes = plan.averaged(kind)
    members = members_of(curves, plan.over, plan.weights, plan.weighted_by)
    work = Work(
        members=members,
        track=Track.of(curves, kind.x if axes == (kind.y,) else kind.y),
        axes=tuple(Measure.of("kind", axis, Settings()) for axis in axes),
        plan=plan,
        streams=stream_keys(members.keys),
        coarse=coarse(curves) if plan.method == "threshold" else None,
    )
    made = Gathered(members=members, schema=curve_average_columns(kind, axes, sides=plan.sides))
    for task in tasks(members, work.track, plan):
        columns = _averaged(work, task)
        shape = columns["n_curves"].shape
        known = np.repeat(~np.isnan(task.values), shape[1] // task.values.shape[1], axis=1)
        made.add(task, columns, np.broadcast_to(known, shape))
    return made.table()


def _averaged(work: Work, task: Task) -> dict[str, NDArray[Any]]:
    """Return the columns of some groups (down) at some values (across)."""
    members, track, plan = work.members, work.track, work.plan
    groups, sizes = task.groups, members.sizes[task.groups]
    rows = ranges(members.starts[groups], sizes)
    curve, starts = members.curve[rows], np.cumsum(sizes) - sizes
    several = _found(work, task.values, curve, sizes)
    values = np.repeat(task.values, len(several), axis=1)
    shape = (len(groups), values.shape[1])

    def cell(take: Callable[[Places], NDArray[np.float64]]) -> Cell:
        together = np.stack([take(places) for places in several], axis=2).reshape(len(curve), -1)
        together[~members.usable[rows]] = np.nan
        return Cell(values=together, weight=members.weight[rows], starts=starts)

    columns: dict[str, NDArray[Any]] = {}
    for axis in work.axes:
        some = cell(axis.of_places)
        mean = some.mean
        sd = some.sd(mean)
        spread = limits(
            some,
            mean,
            sd,
            plan,
            curves=sizes,
            rows=axis.out_of(track)[curve],
            streams=[work.streams[group] for group in groups],
            bounds=axis.bounds,
        )
        columns |= dict(zip(spread_columns(axis.name), (mean, sd, *spread), strict=True))
        columns["n_curves"] = some.count
    if plan.sides:
        columns["side"] = np.tile(np.array(["left", "right"], object), (shape[0], shape[1] // 2))
    columns["ci_level"] = np.full(shape, np.nan if plan.interval is None else plan.level)
    fixed = np.broadcast_to(values, shape)
    if plan.method == "threshold":
        return columns | {"threshold_mean": fixed, "threshold_sd": np.zeros(shape)}
    told = cell(_threshold).with_infinite()
    thresholds = dict(zip(("threshold_mean", "threshold_sd"), told, strict=True))
    return columns | {track.name: fixed} | thresholds


def _found(
    work: Work, values: NDArray[np.float64], curve: NDArray[np.int64], sizes: NDArray[np.int64]
) -> list[Places]:
    """Return the places of the values, on each side of a jump if asked for."""
    track = work.track
    if len(values) > 1:
        values = np.repeat(values, sizes, axis=0)
    if work.plan.method == "threshold":
        return [places_above(track, curve, values, work.coarse)]
    if not work.plan.sides:
        return [places_at(track, curve, values, track.end)]
    ends: tuple[End, End] = ("last", "first") if track.name == "fnr" else ("first", "last")
    return [places_at(track, curve, values, end) for end in ends]


def _threshold(places: Places) -> NDArray[np.float64]:
    """Return the threshold of each place that there is."""
    return np.where(places.there, places.threshold, np.nan)
