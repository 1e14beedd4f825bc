"""Rows of a curve → metrics of a confusion matrix, and how one case more would change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.vocabulary import CONFUSION, THRESHOLD, WALK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.areas.influence import Both
    from rocframe.counting.resample import Sample
    from rocframe.metrics.asked import Metric
    from rocframe.metrics.points import Points, Where

STEP = 1e-4  # of a count: how far a derivative looks to either side


def stacked(points: Points) -> NDArray[np.float64]:
    """Put the columns of points side by side, the counts null where there is no such row.

    The first axis is the group, the second the value.
    """
    columns = [points.threshold, *(getattr(points, name) for name in CONFUSION)]
    return np.stack([np.where(points.none, np.nan, column) for column in columns], axis=2)


def rates_at(
    points: NDArray[np.float64], metrics: Sequence[Metric], where: Where
) -> dict[str, NDArray[np.float64]]:
    """Work metrics out at stacked points; a row per group, NaN where they are undefined."""
    shape = points.shape[:2]
    columns = {name: points[:, :, i].ravel() for i, name in enumerate(WALK)}
    if where.axis == "threshold":  # what is asked for counts, not which score comes next
        columns[THRESHOLD] = np.tile(np.asarray(where.values, float), shape[0])
    frame = pl.DataFrame(columns).fill_nan(None)
    made = frame.with_columns(
        metric.expr.cast(pl.Float64).alias(str(i))
        for i, metric in enumerate(metrics)
        if metric.expr is not None
    )
    lost = frame.get_column("tp").is_null().to_numpy()
    return {
        metric.name: np.where(lost, np.nan, made[str(i)].to_numpy()).reshape(shape)
        for i, metric in enumerate(metrics)
    }


def influence_at(metric: Metric, where: Where, place: int, sample: Sample) -> Both:
    """Return the influence on a metric at a given threshold, of which there are four kinds.

    One more positive is one more of those called positive, or of those that are not.
    """
    counts = stacked(where.at(sample))[0, place]
    trials = np.repeat(counts[None, :], 8, axis=0)
    for i in range(4):
        trials[2 * i, i + 1] *= 1 + STEP
        trials[2 * i + 1, i + 1] *= 1 - STEP
    here = where.only(place)
    values = rates_at(trials[:, None, :], [metric], here)[metric.name].reshape(4, 2)
    cells = counts[1:]
    some = cells > 0
    with np.errstate(invalid="ignore"):
        slopes = np.divide(
            values[:, 0] - values[:, 1], 2 * STEP * cells, out=np.zeros(4), where=some
        )
    slopes[~np.isfinite(slopes)] = 0
    tp, fp, fn, tn = slopes - _means(slopes, cells, apart=not metric.mixed)
    called = where.called(sample.block.codes, place)
    return np.append(np.where(called, tp, fn), fn), np.append(np.where(called, fp, tn), fp)


def _means(
    slopes: NDArray[np.float64], cells: NDArray[np.float64], *, apart: bool
) -> NDArray[np.float64]:
    """Return what is common to all rows, or to all rows of a class: it changes no resample."""
    positive = np.array([True, False, True, False])
    if not apart:
        return np.full(4, (slopes * cells).sum() / cells.sum())
    means = [(slopes * cells)[own].sum() / cells[own].sum() for own in (positive, ~positive)]
    found: NDArray[np.float64] = np.where(positive, *means)
    return found
