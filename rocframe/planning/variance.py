"""An area and the rows of each class → the variance of its estimate, before there are any data.

References
----------
J. A. Hanley, B. J. McNeil (1982), "The meaning and use of the area under a receiver operating
characteristic (ROC) curve", Radiology 143(1), 29-36. doi:10.1148/radiology.143.1.7063747
N. A. Obuchowski, D. K. McClish (1997), "Sample size determination for diagnostic accuracy studies
involving binormal ROC curve indices", Statistics in Medicine 16(13), 1529-1542.
doi:10.1002/(SICI)1097-0258(19970715)16:13<1529::AID-SIM565>3.0.CO;2-H
"""

from __future__ import annotations

from math import exp
from statistics import NormalDist
from typing import Literal

Variance = Literal["hanley_mcneil_exponential", "obuchowski"]


def variance_of(variance: Variance, area: float, n_pos: int, n_neg: int) -> float:
    """Return the variance of an estimated area."""
    formula = exponential if variance == "hanley_mcneil_exponential" else binormal
    return formula(area, n_pos, n_neg)


def exponential(area: float, n_pos: int, n_neg: int) -> float:
    """Return the variance for scores that are exponential in both classes."""
    # The chances that a positive beats two negatives, and that two positives beat a negative.
    beats_two = 2 * area**2 / (1 + area)
    two_beat = area / (2 - area)
    own = (n_pos - 1) * (two_beat - area**2) + (n_neg - 1) * (beats_two - area**2)
    return (area * (1 - area) + own) / (n_pos * n_neg)


def binormal(area: float, n_pos: int, n_neg: int) -> float:
    """Return the variance for ratings of scores that are normal, equally spread in both classes."""
    # The covariance of the curve's two parameters is not in it, which makes it larger than the
    # variance of the area over all pairs, but for areas near 1/2 and near 1. 0.0099 for 1/(32π) and
    # 1.414 for √2 as published: other programs have them too.
    apart = 1.414 * NormalDist().inv_cdf(area)
    both = (5 * apart**2 + 8) / n_pos + (apart**2 + 8) / n_neg
    return 0.0099 * exp(-(apart**2) / 2) * both
