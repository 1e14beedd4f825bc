"""Areas as statistics of samples: what they are, and how much one row more would change them.

The influence of a row is that of a unit of mass at its place: an array for positives and one for
negatives, with an entry for each step and a last one for the unscored.

References
----------
A. C. Davison, D. V. Hinkley (1997), Bootstrap Methods and their Application, Cambridge University
Press, section 2.7. doi:10.1017/CBO9780511802843
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.areas.pairs import count_pairs
from rocframe.areas.partial import Influence, in_order, partial_areas
from rocframe.counting.resample import Asked
from rocframe.inference.bootstrap import Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.areas.part import Part
    from rocframe.counting.resample import Sample

Both = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def auc_influence(sample: Sample) -> Both:
    """Return the centred placements of both classes, over the mass of the class."""
    block, totals = sample.block, sample.totals
    auc, pos, neg = count_pairs(sample).areas[0][0], totals.pos[0], totals.neg[0]
    v10 = (neg - totals.unscored_neg[0] - (block.fp0 + block.fp) / 2) / neg
    v01 = (block.tp0 + block.tp) / (2 * pos)
    return (np.append(v10, 0) - auc) / pos, (np.append(v01, 0) - auc) / neg


def partial_influence(sample: Sample, part: Part) -> Both:
    """Return the same of the area over a part, from its clipped placements."""
    block, totals = sample.block, sample.totals
    influence = Influence.of(sample, part)
    placed = in_order(part, *influence.at(block))
    lost = in_order(part, *influence.lost[:, 0])
    masses = (
        np.append(block.pos, totals.unscored_pos[0]),
        np.append(block.neg, totals.unscored_neg[0]),
    )

    def centred(values: NDArray[np.float64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
        total = mass.sum()
        shares: NDArray[np.float64] = (values - (mass * values).sum() / total) / total
        return shares

    pos, neg = (
        centred(np.append(values, last), mass)
        for values, last, mass in zip(placed, lost, masses, strict=True)
    )
    return pos, neg


AREA = Statistic(
    asked=Asked(function=lambda sample: count_pairs(sample).areas[0]), influence=auc_influence
)


def area_over(part: Part) -> Statistic:
    """Return the raw area over a part of the curve as a statistic."""
    return Statistic(
        asked=Asked(function=lambda sample: partial_areas(sample, part)[0]),
        influence=lambda sample: partial_influence(sample, part),
        bounds=(0.0, part.b - part.a),
    )
