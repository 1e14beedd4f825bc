"""The steps of curves: true and false positives above each distinct score, and at or above it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.kernel.exact import scale_by_totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.kernel.resample import ReplicateScan
    from rocframe.kernel.scan import Block, Scannable


class Steps(NamedTuple):
    """The steps of the curves of some groups: each lowers the threshold to the next distinct score.

    `tp` and `fp` are the counts at or above the score, and `tp0` and `fp0` the counts above the
    score. Unscored negatives are false positives at every score. Group i has the steps `starts[i]`
    to `starts[i + 1] - 1`, and its classes have `pos[i]` and `neg[i]` rows.
    """

    tp0: NDArray[Any]
    fp0: NDArray[Any]
    tp: NDArray[Any]
    fp: NDArray[Any]
    pos: NDArray[Any]
    neg: NDArray[Any]
    starts: NDArray[np.int64]

    @classmethod
    def from_block(cls, scan: Scannable, block: Block) -> Steps:
        """Return the steps of a block."""
        totals, fp0, fp = scan.totals, block.fp0, block.fp
        if totals.unscored_neg.any():
            unscored = block.of_steps(totals.unscored_neg)
            fp0, fp = fp0 + unscored, fp + unscored
        pos, neg = totals.pos[block.groups], totals.neg[block.groups]
        return cls(block.tp0, fp0, block.tp, fp, pos, neg, block.starts)

    @classmethod
    def from_sample(cls, sample: ReplicateScan) -> Steps:
        """Return the steps of the replicates in a sample, with counts as floats."""
        return cls.from_block(sample, sample.block).as_floats()

    @classmethod
    def from_curves(cls, curves: Curves) -> Steps:
        """Return the steps of curve tables, one for each row; the first step starts at (0, 0)."""
        tp, fp = curves.columns["tp"], curves.columns["fp"]
        tp0, fp0 = (np.append(count[:1] * 0, count[:-1]) for count in (tp, fp))
        tp0[curves.firsts] = fp0[curves.firsts] = 0
        pos, neg = curves.pos, curves.neg
        return cls(tp0, fp0, tp, fp, pos, neg, curves.starts)

    def as_floats(self) -> Steps:
        """Return the steps with counts as floats."""
        tp0, fp0, tp, fp, pos, neg = (count.astype(np.float64) for count in self[:6])
        return Steps(tp0, fp0, tp, fp, pos, neg, self.starts)

    def scaled(self) -> Steps:
        """Return the steps with weighted counts scaled in each group; see `scale_by_totals`."""
        if all(count.dtype.kind != "f" for count in self[:6]):
            return self
        tp0, fp0, tp, fp, pos, neg, _ = self.as_floats()
        total = pos + neg
        tp0, fp0, tp, fp = scale_by_totals(self.of_steps(total), tp0, fp0, tp, fp)
        pos, neg = scale_by_totals(total, pos, neg)
        return Steps(tp0, fp0, tp, fp, pos, neg, self.starts)

    def of_steps(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return, for each step, the value of its group; `values` has one value per group."""
        return np.repeat(values, np.diff(self.starts))

    def rates(self, *names: str) -> list[NDArray[np.float64]]:
        """Return counts divided by the size of the class; NaN if the class is absent.

        `names` are the names of the counts, such as `"tp0"`.
        """
        totals = {"t": self.of_steps(self.pos), "f": self.of_steps(self.neg)}
        with np.errstate(divide="ignore", invalid="ignore"):
            return [getattr(self, name) / totals[name[0]] for name in names]

    def equal_errors(self) -> EqualErrors:
        """Return the steps that cross the line FPR = 1 - TPR, at most one for each group."""
        rates = self.rates("tp0", "fp0", "tp", "fp")
        tpr0, fpr0, tpr, fpr = rates
        step = np.flatnonzero((fpr0 + tpr0 < 1) & (fpr + tpr >= 1))
        tpr0, fpr0, tpr, fpr = (rate[step] for rate in rates)
        fraction = (1 - fpr0 - tpr0) / (fpr + tpr - fpr0 - tpr0)
        return EqualErrors(step, tpr0, fpr0, tpr, fpr, fraction, fpr0 + fraction * (fpr - fpr0))


class EqualErrors(NamedTuple):
    """Steps that cross the line FPR = 1 - TPR.

    `tpr0` and `fpr0` are the rates above the score of the step, `tpr` and `fpr` those at or above
    it. `fraction` is the fraction of the step before the line, and `rate` is the FPR on the line.
    """

    step: NDArray[np.int64]
    tpr0: NDArray[np.float64]
    fpr0: NDArray[np.float64]
    tpr: NDArray[np.float64]
    fpr: NDArray[np.float64]
    fraction: NDArray[np.float64]
    rate: NDArray[np.float64]
