"""Count the positives and negatives of curves in bins of the score.

The counts of a bin are the differences between the counts of the curve at the two edges of the bin.

References
----------
J. W. Tukey (1977), "Exploratory Data Analysis", Addison-Wesley.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from math import ceil, floor, inf, isfinite, log10, nextafter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.curves.locate import CurveAxis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves


TARGET_BINS = 20  # approximate number of bins
NICE_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5))

BIN_COLUMNS = {
    "curve": pl.Int64,
    "bin": pl.Int64,
    "left": pl.Float64,
    "right": pl.Float64,
    "below": pl.Boolean,
    "above": pl.Boolean,
}


def score_bins(curves: Curves) -> pl.DataFrame:
    """Return the numbers of positives and negatives in bins of the score of each curve.

    The result has one row per curve and bin. Each curve has its own bins. The column `curve` is the
    number of the curve, counted from 0. A bin contains the scores with `left <= score < right`. The
    first bin also contains all lower scores, and the last bin all higher scores, including infinite
    scores. `below` and `above` are True for bins that contain such scores. A curve without finite
    scores has one bin, from 0 to 1.
    """
    threshold, tp, fp = (curves.columns[name] for name in ("threshold", "tp", "fp"))
    axis, parts = CurveAxis.from_curves(curves, None), []
    for curve, (start, end) in enumerate(pairwise(curves.starts)):
        falling = threshold[start:end]
        edges = bin_edges(falling, tp[start:end], fp[start:end])
        # Scores beyond the outer edges are counted in the outer bins. In all rows of a curve, fp
        # includes the unscored negatives, so differences of fp between rows do not include them.
        rows = axis.search(np.array([curve]), curves.round_thresholds(edges)[None, :], "last")[0]
        rows[0], rows[-1] = end - 1, start
        scored = falling[1:]
        last = np.arange(len(edges) - 1) == len(edges) - 2
        first = np.arange(len(edges) - 1) == 0
        columns = {
            "curve": np.full(len(edges) - 1, curve),
            "bin": np.arange(len(edges) - 1),
            "left": edges[:-1],
            "right": edges[1:],
            "below": first & bool(np.any(scored < edges[0])),
            # A score equal to the last edge is in the last bin, but not above the edge.
            "above": last & bool(np.any(scored > edges[-1])),
            "pos": -np.diff(tp[rows]),
            "neg": -np.diff(fp[rows]),
        }
        parts.append(pl.DataFrame(columns))
    kinds = {
        name: pl.Float64 if counts.dtype.kind == "f" else pl.Int64
        for name, counts in (("pos", tp), ("neg", fp))
    }
    schema = BIN_COLUMNS | kinds
    return pl.concat(
        [pl.DataFrame(schema=schema)]
        + [part.select(pl.col(name).cast(kind) for name, kind in schema.items()) for part in parts]
    )


def bin_edges(
    threshold: NDArray[np.float64], tp: NDArray[np.float64], fp: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the edges of about 20 bins; the edges are round numbers.

    If all scores are in [0, 1], the bins extend from 0 to 1. Otherwise, they extend from the lowest
    to the highest score, without the scores that are outliers of both classes. A score is an
    outlier of a class if it is more than three interquartile ranges below the lower quartile or
    above the upper quartile (Tukey's outer fences).
    """
    finite = np.isfinite(threshold)
    scores = threshold[finite]
    if not len(scores) or (scores[-1] >= 0 and scores[0] <= 1):
        bins = TARGET_BINS if len(scores) else 1
        return np.arange(bins + 1) / bins
    low, high = float(scores[-1]), float(scores[0])
    before = int(np.argmax(finite)) - 1
    fences = [_outer_fences(scores, counts[finite] - counts[before]) for counts in (tp, fp)]
    defined = [fence for fence in fences if fence is not None]
    if defined:
        lows, highs = zip(*defined, strict=True)
        low, high = max(low, min(lows)), min(high, max(highs))
    return _round_edges(low, high)


def _outer_fences(
    scores: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[float, float] | None:
    """Return Tukey's lower and upper outer fence of a class; None for a class without rows.

    `scores` are in falling order. `counts` are the numbers of rows of the class at or above each
    score. If the two quartiles are equal, the result is the lowest and the highest score.
    """
    if not counts[-1] > 0:
        return None
    upper, lower = (float(scores[np.searchsorted(counts, counts[-1] * q)]) for q in (0.25, 0.75))
    if upper == lower:
        return float(scores[-1]), float(scores[0])
    distance = 3 * (upper - lower)
    return lower - distance, upper + distance


def _round_edges(low: float, high: float) -> NDArray[np.float64]:
    """Return bin edges that are multiples of a round number and cover `low` to `high`."""
    width = high / TARGET_BINS - low / TARGET_BINS
    if not width > 0:
        width = max(abs(low), 1.0) / 10
    step = nice_step(width)
    first, last = (Decimal(repr(end)) / step for end in (low, high))
    start = floor(first)
    stop = max(ceil(last), start + 1)
    # Decimal multiples are exact: 3 * 0.1 is 0.3.
    multiples = [float(factor * step) for factor in range(start, stop + 1)]
    even = np.array(multiples) if all(map(isfinite, multiples)) else np.array([low, high])
    # If the scores differ only in their last digits, two multiples can be the same float.
    distinct = np.unique(even)
    if len(distinct) < len(even):
        distinct = np.unique(np.linspace(low, high, 3))
    if len(distinct) > 1:
        return distinct
    # All scores are equal. The second edge is the next float in the direction of 0.
    neighbor = nextafter(low, -inf if low > 0 else inf)
    return np.array(sorted([low, neighbor]))


def nice_step(width: float) -> Decimal:
    """Return the smallest number >= `width` that is 1, 2, 2.5 or 5 times a power of ten."""
    power = Decimal(10) ** floor(log10(width))
    return next(
        (factor * power for factor in NICE_STEPS if factor * power >= Decimal(repr(width))),
        10 * power,
    )
