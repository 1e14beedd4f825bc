"""Curves → pointwise bands from the binomial limits of each rate by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.bands.limits import Limits
from rocframe.inference.proportions import wilson

if TYPE_CHECKING:
    from rocframe.bands.asked import Asked
    from rocframe.bands.curves import Curves


def binomial(curves: Curves, asked: Asked, level: float) -> Limits:
    """Return Wilson's limits of the height of the curve at each false positive rate.

    They are those of a fixed threshold: that the threshold of a false positive rate is itself
    estimated does not widen them.
    """
    tpr = curves.heights(asked.group, asked.fpr)
    n_pos = curves.n_pos[asked.group]
    lower, upper = wilson(tpr * n_pos, n_pos, level)
    return Limits(tpr=tpr, lower=lower, upper=upper)


def threshold(curves: Curves, asked: Asked, level: float) -> Limits:
    """Return Wilson's limits of both rates at each threshold."""
    nothing = np.where(asked.row < 0, np.nan, 0.0)
    tpr, fpr = (nothing + rate[asked.row] for rate in (curves.tpr, curves.fpr))
    n_pos, n_neg = curves.n_pos[asked.group], curves.n_neg[asked.group]
    lower, upper = wilson(tpr * n_pos, n_pos, level)
    fpr_lower, fpr_upper = wilson(fpr * n_neg, n_neg, level)
    return Limits(tpr=tpr, lower=lower, upper=upper, fpr_lower=fpr_lower, fpr_upper=fpr_upper)
