"""DeLong's test of models that scored the same rows, and the area of one model with its variance.

References
----------
E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
correlated receiver operating characteristic curves: a nonparametric approach", Biometrics
44(3), 837-845. doi:10.2307/2531595
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocframe.areas.pairs import count_pairs
from rocframe.areas.partial import partial_areas, partial_variance
from rocframe.areas.variance import delong_variance
from rocframe.comparisons.hypothesis import difference_columns
from rocframe.comparisons.paired_areas import paired_areas
from rocframe.inference.notes import class_notes
from rocframe.kernel.threads import run_parallel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rocframe.comparisons.hypothesis import PairedComparison, Quantity
    from rocframe.kernel.scan import Scan


def delong_paired(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the test of each pair of models that scored the same rows."""
    batch, hypothesis = comparison.batch, comparison.hypothesis
    areas = paired_areas(comparison.instances, batch, hypothesis.quantity.rate_range)

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        a, b = (batch.models.index(model) for model in pair)
        variance = areas.variance(a, b)
        return {
            "models": pair,
            "group": batch.groups,
            "n_paired": areas.n_pos + areas.n_neg,
            **difference_columns(hypothesis, (areas.area[a], areas.area[b]), variance),
            "note": class_notes(
                *areas.units, zero_variance=variance == 0, unmatched=batch.unmatched
            ),
        }

    return run_parallel(compare_pair, comparison.pairs)


def area_estimates(scan: Scan, quantity: Quantity) -> tuple[NDArray[np.float64], ...]:
    """Return the total or partial area of a model in each group, and DeLong's variance."""
    if quantity.rate_range is None:
        pairs = count_pairs(scan)
        return pairs.areas[0], delong_variance(scan, pairs)
    return partial_areas(scan, quantity.rate_range)[0], partial_variance(scan, quantity.rate_range)
