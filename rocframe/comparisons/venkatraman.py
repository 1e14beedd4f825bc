"""Venkatraman and Begg's permutation test of the equality of two whole ROC curves.

References
----------
E. S. Venkatraman, C. B. Begg (1996), "A distribution-free procedure for comparing receiver
operating characteristic curves from a paired experiment", Biometrika 83(4), 835-848.
doi:10.1093/biomet/83.4.835
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.comparisons.permutation_test import exchange_test, rank_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.pairing import Instances, ModelBatch
    from rocframe.comparisons.permutation_test import DoubledRanks
    from rocframe.kernel.resample import RandomDraws


STATISTIC_ROUNDING = 1e-9  # relative rounding error of the statistic


def venkatraman_test(
    instances: Instances, batch: ModelBatch, pairs: Sequence[tuple[int, int]], draws: RandomDraws
) -> Iterator[dict[str, Any]]:
    """Compare the ROC curves of pairs of models by the errors they make at each rank."""
    return exchange_test(
        instances,
        batch,
        pairs,
        draws,
        name="venkatraman",
        statistic=error_difference,
        extreme=lambda values, observed: values >= observed * (1 - STATISTIC_ROUNDING),
    )


def error_difference(a: DoubledRanks, b: DoubledRanks, n_pos: int) -> NDArray[np.float64]:
    """Return the absolute differences of the errors of both models, summed over all ranks."""
    # At a rank, the errors are the positives after it and the negatives up to it. So the numbers
    # of errors differ by twice the difference of the true positives.
    difference = _true_positives(a, n_pos) - _true_positives(b, n_pos)
    result: NDArray[np.float64] = 2 * np.abs(difference).sum(axis=1)
    return result


def _true_positives(ranks: DoubledRanks, n_pos: int) -> NDArray[np.float64]:
    """Return the number of positives among the first 1, 2, 3, ... rows of each permutation."""
    pos, total = rank_counts(ranks, n_pos)
    occupied = total > 0
    share = np.repeat(pos[occupied] / total[occupied], total[occupied]).reshape(len(ranks), -1)
    return np.cumsum(share, axis=1)
