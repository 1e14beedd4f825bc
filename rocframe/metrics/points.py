"""Confusion matrices at given thresholds or rates, and metrics of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.curves.locate import grouped_bisect
from rocframe.rates import CONFUSION, NAMES
from rocframe.schemas import CURVE_COLUMNS, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.curves.at import PointAxis
    from rocframe.inference.bootstrap import Influences
    from rocframe.kernel.codec import Codec
    from rocframe.kernel.resample import ReplicateScan
    from rocframe.kernel.scan import Block, Scan, Scannable
    from rocframe.metrics.metric import Metric


class Points(NamedTuple):
    """A row of the curve for each group and value: its threshold and counts.

    `none` says where the curve has no such row.
    """

    threshold: NDArray[np.float64]
    tp: NDArray[Any]
    fp: NDArray[Any]
    fn: NDArray[Any]
    tn: NDArray[Any]
    none: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Where:
    """Where on a curve: which axis, which values on it.

    `limits` are, for thresholds, the codes of the lowest scores that reach them; None where no
    score does. `unit` is what the weights of the walk were divided by.
    """

    axis: PointAxis
    values: Sequence[float]
    codec: Codec
    limits: Sequence[Any]
    unit: float

    @classmethod
    def of(cls, walk: Scan, axis: PointAxis, values: Sequence[float], unit: float) -> Where:
        """Look the thresholds up among the scores of all groups."""
        codec = walk.rows.codec
        limits: list[Any] = [None] * len(values)
        if axis == "threshold":

            def reaching(block: Block) -> list[Any]:
                scores = codec.decode(block.codes)
                codes = (block.codes[scores >= value] for value in values)
                return [code.max() if len(code) else None for code in codes]

            found = zip(*walk.map(reaching), strict=True)
            known = ([code for code in codes if code is not None] for codes in found)
            limits = [max(codes, default=None) for codes in known] or limits
        return cls(axis=axis, values=values, codec=codec, limits=limits, unit=unit)

    def only(self, place: int) -> Where:
        """Return one of the values alone."""
        return replace(self, values=self.values[place : place + 1], limits=[self.limits[place]])

    def called(self, codes: Any, place: int) -> NDArray[np.bool_]:
        """Say which scores reach a threshold that was given."""
        limit = self.limits[place]
        return np.zeros(len(codes), bool) if limit is None else codes <= limit

    def at(self, walk: Scannable, *, scores: bool = True) -> Points:
        """Find the points of each group of a walk; `scores` says whether thresholds matter."""
        size, kind = len(walk.totals.pos), walk.totals.pos.dtype
        first = self.axis == "tpr"
        tp, fp = (np.zeros((len(self.values), size), kind) for _ in range(2))
        code = np.zeros(tp.shape, self.codec.codes)
        found = np.zeros(tp.shape, bool)
        parts = walk.map(lambda block: self._of(walk, block, scores=scores))
        for piece, every in zip(walk.ranges, parts, strict=True):
            groups = piece.groups
            for i, part in enumerate(every):
                # The last of the rows on one side of the value, or the first on the other.
                better = part.some & ~found[i][groups] if first else part.some
                place = groups[better]
                for held, new in ((tp, part.tp), (fp, part.fp), (code, part.code)):
                    held[i][place] = new[better]
                found[i][place] = True
        return self._points(walk, tp, fp, code, found)

    def _of(self, walk: Scannable, block: Block, *, scores: bool) -> list[_Found]:
        """Find, among the steps of a block, the one that each group has for each value."""
        starts, ends = block.starts[:-1], block.starts[1:]
        made = []
        for place in range(len(self.values)):
            # All steps before this one lie on one side of the value, all others on the other.
            turn = grouped_bisect(self._before(walk, block, place), starts, ends - 1)
            some = turn < ends if self.axis == "tpr" else turn > starts
            step = np.clip(turn if self.axis == "tpr" else turn - 1, starts, ends - 1)
            score = step
            if scores and self.axis in {"fpr", "alert_rate"}:
                # Resamples lack scores: the highest of the steps that call the same rows.
                same = block.tp[step] + block.fp[step]
                score = grouped_bisect(partial(_calls_fewer, block, same), starts, step - 1)
            made.append(
                _Found(some=some, tp=block.tp[step], fp=block.fp[step], code=block.codes[score])
            )
        return made

    def _before(
        self, walk: Scannable, block: Block, place: int
    ) -> Callable[[NDArray[np.int64]], NDArray[np.bool_]]:
        """Return what says of a step of each group whether it lies before the value."""
        value, totals = self.values[place], walk.totals
        if self.axis == "threshold":
            return lambda step: self.called(block.codes[step], place)
        pos, neg, more = (of[block.groups] for of in (totals.pos, totals.neg, totals.unscored_neg))

        def before(step: NDArray[np.int64]) -> NDArray[np.bool_]:
            rate = self._rate(block.tp[step], block.fp[step] + more, pos, neg)
            below: NDArray[np.bool_] = rate < value if self.axis == "tpr" else rate <= value
            return below

        return before

    def _rate(self, tp: Any, fp: Any, pos: Any, neg: Any) -> NDArray[np.float64]:
        # The totals are put together as those of a curve's row are, to the last bit.
        share = NAMES[self.axis].share
        assert share is not None
        return share.evaluate({"tp": tp, "fp": fp, "fn": pos - tp, "tn": neg - fp})

    def _points(
        self,
        walk: Scannable,
        tp: NDArray[Any],
        fp: NDArray[Any],
        code: NDArray[Any],
        found: NDArray[np.bool_],
    ) -> Points:
        """Put the rows together; above all scores is the row that calls only the unscored."""
        totals = walk.totals
        called = found & ((tp > 0) | (fp > 0))
        threshold = np.where(called, self.codec.decode(np.where(called, code, 0)), np.inf)
        unscored = totals.unscored_neg.astype(tp.dtype)
        none = np.zeros(tp.shape, bool)
        if self.axis != "threshold":
            # That row has its place among the others, before all of them.
            above = self._rate(np.zeros_like(unscored), unscored, totals.pos, totals.neg)
            for i, value in enumerate(self.values):
                if self.axis == "tpr":
                    start = above >= value
                    tp[i][start], fp[i][start], threshold[i][start] = 0, 0, np.inf
                    none[i] = ~(found[i] | start) | np.isnan(above)
                else:
                    none[i] = ~(above <= value)
        fp = fp + unscored
        tp, fp, fn, tn = tp.T, fp.T, (totals.pos - tp).T, (totals.neg - fp).T
        if tp.dtype.kind == "f":
            tp, fp, fn, tn = (count * self.unit for count in (tp, fp, fn, tn))
        return Points(threshold=threshold.T, tp=tp, fp=fp, fn=fn, tn=tn, none=none.T)


def _calls_fewer(block: Block, than: NDArray[Any], step: NDArray[np.int64]) -> NDArray[np.bool_]:
    fewer: NDArray[np.bool_] = block.tp[step] + block.fp[step] < than
    return fewer


class _Found(NamedTuple):
    """The step of each group of a block, and whether there is one."""

    some: NDArray[np.bool_]
    tp: NDArray[Any]
    fp: NDArray[Any]
    code: NDArray[Any]


def stack_points(points: Points) -> NDArray[np.float64]:
    """Return threshold and counts of points, with axes group, value, column; NaN for no point."""
    columns = [points.threshold, *(getattr(points, name) for name in CONFUSION)]
    return np.stack([np.where(points.none, np.nan, column) for column in columns], axis=2)


def rates_at(
    points: NDArray[np.float64], metrics: Sequence[Metric], where: Where
) -> dict[str, NDArray[np.float64]]:
    """Return metrics at stacked points: a row per group, a column per value, NaN if undefined."""
    shape = points.shape[:2]
    columns = {name: points[:, :, i].ravel() for i, name in enumerate(CURVE_COLUMNS)}
    if where.axis == "threshold":  # the given threshold, not the lowest score that reaches it
        columns[THRESHOLD] = np.tile(np.asarray(where.values, float), shape[0])
    frame = pl.DataFrame(columns).fill_nan(None)
    values = frame.with_columns(
        metric.expr.cast(pl.Float64).alias(str(i))
        for i, metric in enumerate(metrics)
        if metric.expr is not None
    )
    no_point = frame.get_column("tp").is_null().to_numpy()
    return {
        metric.name: np.where(no_point, np.nan, values[str(i)].to_numpy()).reshape(shape)
        for i, metric in enumerate(metrics)
    }


RELATIVE_STEP = 1e-4  # of numerical derivatives with respect to counts


def influence_at(metric: Metric, where: Where, index: int, sample: ReplicateScan) -> Influences:
    """Return the influence values of a metric at a given threshold.

    They are the derivatives with respect to the four counts: a positive above the threshold adds to
    `tp`, one below it to `fn`, and so on.
    """
    counts = stack_points(where.at(sample))[0, index]
    trials = np.repeat(counts[None, :], 8, axis=0)
    for i in range(4):
        trials[2 * i, i + 1] *= 1 + RELATIVE_STEP
        trials[2 * i + 1, i + 1] *= 1 - RELATIVE_STEP
    values = rates_at(trials[:, None, :], [metric], where.only(index))[metric.name].reshape(4, 2)
    cells = counts[1:]
    with np.errstate(invalid="ignore"):
        slopes = np.divide(
            values[:, 0] - values[:, 1],
            2 * RELATIVE_STEP * cells,
            out=np.zeros(4),
            where=cells > 0,
        )
    slopes[~np.isfinite(slopes)] = 0
    tp, fp, fn, tn = slopes - _mean_slopes(slopes, cells, by_class=not metric.mixed)
    called = where.called(sample.block.codes, index)
    return np.append(np.where(called, tp, fn), fn), np.append(np.where(called, fp, tn), fp)


def _mean_slopes(
    slopes: NDArray[np.float64], cells: NDArray[np.float64], *, by_class: bool
) -> NDArray[np.float64]:
    """Return the mean slope over all rows, or over the rows of each class, for each count.

    Resamples keep the number of rows, or of rows of each class, so the mean has no influence.
    """
    if not by_class:
        return np.full(4, (slopes * cells).sum() / cells.sum())
    positive = np.array([True, False, True, False])
    of_pos, of_neg = (
        (slopes * cells)[own].sum() / cells[own].sum() for own in (positive, ~positive)
    )
    means: NDArray[np.float64] = np.where(positive, of_pos, of_neg)
    return means
