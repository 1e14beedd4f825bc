"""Statistics of whole curves: one number per group of a walk, be it data or resamples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.influence import AREA, auc_influence
from rocframe.areas.pairs import count_pairs
from rocframe.areas.under import step_sum
from rocframe.counting.resample import Asked
from rocframe.curves.hyperbola import hyperbola
from rocframe.inference.bootstrap import Statistic
from rocframe.metrics.influence import (
    average_precision_influence,
    eer_influence,
    ks_influence,
    pr_auc_influence,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.areas.influence import Both
    from rocframe.counting.resample import Sample
    from rocframe.counting.walk import Block, Walked


def gini(walk: Walked) -> NDArray[np.float64]:
    """Return twice the area, less one: what the curve has over chance, as a share of the best."""
    return 2 * count_pairs(walk).areas[0] - 1


def _gini_influence(sample: Sample) -> Both:
    pos, neg = auc_influence(sample)
    return 2 * pos, 2 * neg


def ks(walk: Walked) -> NDArray[np.float64]:
    """Return the largest TPR - FPR, at least 0; NaN where a class is absent."""
    largest = np.zeros(len(walk.totals.pos))

    def one(block: Block) -> NDArray[np.float64]:
        x, y = _rates(walk, block, block.tp, block.fp)
        found: NDArray[np.float64] = np.maximum.reduceat(y - x, block.starts[:-1])
        return found

    for piece, found in zip(walk.pieces, walk.each(one), strict=True):
        largest[piece.groups] = np.maximum(largest[piece.groups], found)
    return _with_both(walk, largest)


def eer(walk: Walked) -> NDArray[np.float64]:
    """Return FPR where it equals 1 - TPR, linear between points; NaN where a class is absent."""
    rate = np.ones(len(walk.totals.pos))

    def one(block: Block) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        x0, y0 = _rates(walk, block, block.tp0, block.fp0)
        x1, y1 = _rates(walk, block, block.tp, block.fp)
        crosses = np.flatnonzero((x0 + y0 < 1) & (x1 + y1 >= 1))
        x0, y0, x1, y1 = (side[crosses] for side in (x0, y0, x1, y1))
        mix = (1 - x0 - y0) / (x1 + y1 - x0 - y0)
        owner = np.searchsorted(block.starts, crosses, "right") - 1
        return block.groups[owner], x0 + mix * (x1 - x0)

    for groups, found in walk.each(one):
        rate[groups] = found
    return _with_both(walk, rate)


def average_precision(walk: Walked) -> NDArray[np.float64]:
    """Return precision added up over the steps of recall; NaN without positives."""
    return _over_positives(walk, lambda tp, fp, tp0, _: step_sum(tp, fp, tp0))


def pr_auc(walk: Walked) -> NDArray[np.float64]:
    """Return the integral of precision between the points, too; NaN without positives."""

    def steps(*counts: NDArray[Any]) -> NDArray[np.float64]:
        return hyperbola(*(count.astype(float) for count in counts))

    return _over_positives(walk, steps)


def _rates(
    walk: Walked, block: Block, tp: NDArray[np.float64], fp: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    totals = walk.totals
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (fp + block.of_steps(totals.unscored_neg)) / block.of_steps(totals.neg)
        y = tp / block.of_steps(totals.pos)
    return x, y


def _with_both(walk: Walked, values: NDArray[np.float64]) -> NDArray[np.float64]:
    absent = (walk.totals.pos == 0) | (walk.totals.neg == 0)
    return np.where(absent, np.nan, np.clip(values, 0, 1))


def _over_positives(walk: Walked, steps: Callable[..., NDArray[np.float64]]) -> NDArray[np.float64]:
    totals = walk.totals
    area = np.zeros(len(totals.pos))

    def one(block: Block) -> NDArray[np.float64]:
        more = block.of_steps(totals.unscored_neg) if totals.unscored_neg.any() else 0
        found = steps(block.tp, block.fp + more, block.tp0, block.fp0 + more)
        return np.add.reduceat(found, block.starts[:-1])

    for piece, found in zip(walk.pieces, walk.each(one), strict=True):
        area[piece.groups] += found
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: NDArray[np.float64] = np.clip(area / totals.pos, 0, 1)
    return shares


WHOLE = {
    "auc": AREA,
    "gini": Statistic(
        asked=Asked(function=gini),
        influence=_gini_influence,
        bounds=(-1.0, 1.0),
    ),
    "ks": Statistic(asked=Asked(function=ks), influence=ks_influence),
    "eer": Statistic(asked=Asked(function=eer), influence=eer_influence),
    "average_precision": Statistic(
        asked=Asked(function=average_precision, mixed=True, corners=False),
        influence=average_precision_influence,
    ),
    "pr_auc": Statistic(asked=Asked(function=pr_auc, mixed=True), influence=pr_auc_influence),
}
