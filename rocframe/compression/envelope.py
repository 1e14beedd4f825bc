"""Find the coarsest resolution of each group for which the envelope of the AUC is small enough."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.compression.cells import COUNT, LABEL, WEIGHT, WIDTH
from rocframe.compression.resolution import RESOLUTIONS, Rounding
from rocframe.frames import collect_frame, number_distinct_rows, select_keys
from rocframe.inputs.score_cells import round_down

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.compression.cells import CompressInput

# Each pass over the data keeps more binary digits of the largest score, until all envelopes are
# small enough. The last pass does not round scores.
DIGITS = (16, 24, 34, 44, None)
FINEST_EXPONENT, COARSEST_EXPONENT = (round(log2(resolution)) for resolution in RESOLUTIONS)
GROUP = "group"


def cells_within_envelope(source: CompressInput, limit: float) -> pl.DataFrame:
    """Return the compressed table with the coarsest resolution of each group for an envelope.

    The envelope of a group is the difference between its optimistic and its pessimistic AUC. It
    does not fall if the resolution becomes coarser. Therefore the resolution, a power of two, is
    found by bisection of its exponent. Groups with only one class keep the resolution of the last
    pass over the data.
    """
    largest = min(source.largest_exponent(), COARSEST_EXPONENT - 1)
    for digits in DIGITS:
        rounding = Rounding() if digits is None else Rounding(2.0 ** (largest - digits))
        counted = collect_frame(source.count(rounding))
        groups, group = number_distinct_rows(select_keys(counted, source.keys))
        rows = counted.with_columns(group.alias(GROUP))
        last = np.full(groups.height, rounding.resolution)
        too_large = _envelopes(rows, source, last) > limit
        if not too_large.any():
            break

    has_both = ~np.isnan(_envelopes(rows, source, last))
    # A single large score must not limit the resolution of all others in the last pass.
    finest = min(largest, FINEST_EXPONENT) if digits is None else largest - digits
    low = np.full(groups.height, finest)
    high = np.where(has_both & ~too_large, largest + 1, low)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = _envelopes(rows, source, 2.0**middle) <= limit
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    resolution = 2.0**low
    if digits is None:
        resolution[~(_envelopes(rows, source, resolution) <= limit)] = 0.0
    widths = [pl.Series(resolution).gather(group)]
    widths += [counted[WIDTH]] if WIDTH in counted.columns else []
    with_width = counted.lazy().with_columns(pl.max_horizontal(*widths).alias(WIDTH))
    return collect_frame(source.finish(source.widen(with_width)))


def _envelopes(
    rows: pl.DataFrame, source: CompressInput, resolution: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the envelope of the AUC of each group; NaN for groups with only one class.

    `resolution` is the resolution of each group, or 0 for scores that are not rounded. For several
    scores, the result is the largest envelope.
    """
    weight = pl.col(COUNT).cast(pl.Float64)
    if WEIGHT in rows.columns:
        weight *= pl.col(WEIGHT)
    is_positive = pl.col(LABEL).cast(pl.Int8) == 1
    sides = [pl.when(side).then(weight).otherwise(0.0) for side in (is_positive, ~is_positive)]
    step = pl.lit(pl.Series(resolution)).gather(pl.col(GROUP))
    pos, neg = pl.col("pos"), pl.col("neg")
    envelopes = []
    for name in source.scores:
        edge = round_down(pl.col(name).cast(pl.Float64), step, relative=False, when=pl.when)
        by_group = (
            rows.filter(pl.col(name).is_not_null() & pl.col(LABEL).is_not_null())
            .select(GROUP, edge.alias("edge"), sides[0].alias("pos"), sides[1].alias("neg"))
            .group_by(GROUP, "edge")
            .agg(pos.sum(), neg.sum())
            .group_by(GROUP)
            .agg(((pos * neg).sum() / (pos.sum() * neg.sum())).alias("envelope"))
        )
        envelope = np.full(len(resolution), np.nan)
        envelope[by_group[GROUP].to_numpy()] = by_group["envelope"].to_numpy()
        envelopes.append(envelope)
    largest: NDArray[np.float64] = np.fmax.reduce(envelopes)
    return largest
