"""Walks → the confusion matrix of each group at given thresholds or rates.

The row of a curve that `at` finds: the smallest threshold that is not below the value, the lowest
one whose FPR or alert rate does not exceed it, the highest one whose TPR reaches it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.counting.codec import Codec
    from rocframe.counting.walk import Block, Walk, Walked
    from rocframe.curves.at import Axis


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

    axis: Axis
    values: Sequence[float]
    codec: Codec
    limits: Sequence[Any]
    unit: float

    @classmethod
    def of(cls, walk: Walk, axis: Axis, values: Sequence[float], unit: float) -> Where:
        """Look the thresholds up among the scores of all groups."""
        codec = walk.rows.codec
        limits: list[Any] = [None] * len(values)
        if axis == "threshold":

            def reaching(block: Block) -> list[Any]:
                scores = codec.decode(block.codes)
                codes = (block.codes[scores >= value] for value in values)
                return [code.max() if len(code) else None for code in codes]

            found = zip(*walk.each(reaching), strict=True)
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

    def at(self, walk: Walked) -> Points:
        """Find the points of each group of a walk."""
        size, kind = len(walk.totals.pos), walk.totals.pos.dtype
        first = self.axis == "tpr"
        tp, fp = (np.zeros((len(self.values), size), kind) for _ in range(2))
        code = np.zeros(tp.shape, self.codec.codes)
        found = np.zeros(tp.shape, bool)
        for piece, every in zip(walk.pieces, walk.each(lambda b: self._of(walk, b)), strict=True):
            groups = piece.groups
            for i, part in enumerate(every):
                # The last of the rows on one side of the value, or the first on the other.
                better = part.some & ~found[i][groups] if first else part.some
                place = groups[better]
                for held, new in ((tp, part.tp), (fp, part.fp), (code, part.code)):
                    held[i][place] = new[better]
                found[i][place] = True
        return self._points(walk, tp, fp, code, found)

    def _of(self, walk: Walked, block: Block) -> list[_Found]:
        """Find, among the steps of a block, the one that each group has for each value."""
        lengths, starts = np.diff(block.starts), block.starts[:-1]
        amount = self._amount(walk, block)
        made = []
        for place, value in enumerate(self.values):
            if self.axis == "threshold":
                before = self.called(block.codes, place)
            else:
                before = amount < value if self.axis == "tpr" else amount <= value
            count = np.add.reduceat(before.astype(np.int64), starts)
            some = count < lengths if self.axis == "tpr" else count > 0
            step = starts + np.clip(count if self.axis == "tpr" else count - 1, 0, lengths - 1)
            made.append(
                _Found(
                    some=some,
                    tp=block.tp[step],
                    fp=block.fp[step],
                    code=block.codes[self._first_like(block, step)],
                )
            )
        return made

    def _amount(self, walk: Walked, block: Block) -> NDArray[np.float64]:
        """Return what the values are compared with, at each step."""
        if self.axis == "threshold":
            return np.zeros(0)
        totals = walk.totals
        return self._rate(
            block.tp,
            block.fp + block.of_steps(totals.unscored_neg),
            block.of_steps(totals.pos),
            block.of_steps(totals.neg),
        )

    def _rate(self, tp: Any, fp: Any, pos: Any, neg: Any) -> NDArray[np.float64]:
        # The totals are put together as those of a curve's row are, to the last bit.
        fn, tn = pos - tp, neg - fp
        part, whole = {
            "fpr": (fp, fp + tn),
            "tpr": (tp, tp + fn),
            "alert_rate": (tp + fp, tp + fp + fn + tn),
        }[self.axis]
        with np.errstate(divide="ignore", invalid="ignore"):
            rate: NDArray[np.float64] = part / whole
        return rate

    def _first_like(self, block: Block, step: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the highest step that calls the same rows: resamples lack scores."""
        if self.axis in {"threshold", "tpr"}:  # known anyway, or a score for sure
            return step
        places = np.flatnonzero((block.tp > block.tp0) | (block.fp > block.fp0))
        near = np.searchsorted(places, step, "right") - 1
        return np.where(near < 0, 0, places[near])

    def _points(
        self,
        walk: Walked,
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


class _Found(NamedTuple):
    """The step of each group of a block, and whether there is one."""

    some: NDArray[np.bool_]
    tp: NDArray[Any]
    fp: NDArray[Any]
    code: NDArray[Any]
