"""Whole curves → areas under them.

References
----------
T. Saito, M. Rehmsmeier (2015), "The precision-recall plot is more informative than the ROC plot
when evaluating binary classifiers on imbalanced datasets", PLoS ONE 10(3), e0118432.
doi:10.1371/journal.pone.0118432
J. Davis, M. Goadrich (2006), "The relationship between precision-recall and ROC curves", ICML,
233-240. doi:10.1145/1143844.1143874
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.exact import scaled, sums
from rocframe.areas.pairs import Pairs
from rocframe.curves.hyperbola import hyperbola
from rocframe.errors import BrokenCurveError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves


def auc_of(curves: Curves) -> NDArray[np.float64]:
    """Return the area under each ROC curve, ties counting half; NaN where a class is absent."""
    return areas_of_ties(curves)[0]


def areas_of_ties(
    curves: Curves,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the area under each ROC curve, ties counting half, nothing, and full."""
    counts = (*_steps(curves), curves.total("tp", "fn"), curves.total("fp", "tn"))
    if not len(curves.firsts):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    tp, fp, tp0, fp0, pos, neg = scaled(*counts)
    won, not_lost = (sums(fp - fp0, called, curves.firsts) for called in (tp0, tp))
    return Pairs(low=won, high=not_lost, pos=pos, neg=neg).areas


def average_precision_of(curves: Curves) -> NDArray[np.float64]:
    """Return the step sum under each precision-recall curve; NaN without positives."""
    tp, fp, tp0, _ = (part.astype(np.float64) for part in _steps(curves))
    return _per_positive(curves, step_sum(tp, fp, tp0))


def pr_auc_of(curves: Curves) -> NDArray[np.float64]:
    """Return the area under each interpolated precision-recall curve; NaN without positives."""
    return _per_positive(curves, hyperbola(*(part.astype(np.float64) for part in _steps(curves))))


def _per_positive(curves: Curves, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    if not len(curves.firsts):
        return np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        area: NDArray[np.float64] = np.add.reduceat(steps, curves.firsts) / curves.total("tp", "fn")
    return area


def step_sum(tp: NDArray[Any], fp: NDArray[Any], tp0: NDArray[Any]) -> NDArray[np.float64]:
    """Return each step's new positives times its precision."""
    # In place: fresh memory for each of the arrays takes longer than the arithmetic.
    area: NDArray[np.float64] = np.add(tp, fp, dtype=np.float64)
    np.divide(tp, area, out=area, where=area > 0)
    area *= tp - tp0
    return area


def _steps(curves: Curves) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the counts after and before each row."""
    tp, fp, tn = curves.walk["tp"], curves.walk["fp"], curves.walk["tn"]
    short = tn[curves.starts[1:] - 1] > 1e-9 * curves.total("fp", "tn")
    if short.any():
        group = curves.keys.row(int(np.argmax(short)), named=True) if curves.layout.by else {}
        named = ", ".join(f"{name}={value!r}" for name, value in group.items())
        raise BrokenCurveError.of(
            f"curves: the curve{' of ' + named if named else ''} ends before its lowest score, "
            "so the area under it is not known",
            "Make the curve without thresholds= and keep all its rows; for a part of the area ask "
            ".roc.auc(…, fpr=(0, 0.1)).",
        )
    before = [np.append(part[:1] * 0, part[:-1]) for part in (tp, fp)]
    for part in before:
        part[curves.firsts] = 0
    return tp, fp, before[0], before[1]
