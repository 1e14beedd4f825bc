"""Curves and their replicates → bands from resampling.

The resamples are stratified: positives are drawn from positives, negatives from negatives.

References
----------
S. A. Macskassy, F. Provost, S. Rosset (2005), "ROC confidence bands: an empirical evaluation",
Proceedings of the 22nd International Conference on Machine Learning, 537-544.
doi:10.1145/1102351.1102419
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.bands.kolmogorov import displaced
from rocframe.bands.limits import Limits, within
from rocframe.bands.turned import Turned
from rocframe.inference.intervals import notes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.bands.asked import Asked
    from rocframe.bands.curves import Curves
    from rocframe.bands.redrawn import Redrawn

NUMBERS = 1 << 24  # heights of replicates that are held at a time, of one group
PLACES = 257  # along a curve, at which its spread is found
LEAST = 0.5  # of the largest spread: where replicates hardly differ, the true curve still may


def bootstrap(curves: Curves, asked: Asked, level: float, redrawn: Redrawn) -> Limits:
    """Return the quantiles of the replicates' heights at each false positive rate."""
    said, varied = _varied(curves)
    lower, upper = np.full((2, len(asked.fpr)), np.nan)
    edges = np.searchsorted(asked.group, np.arange(len(said) + 1))
    n_boot = redrawn.draws.n_boot
    widest = int(np.diff(edges).max(initial=0))
    points = max(1, NUMBERS // n_boot)
    shares = [(1 - level) / 2, (1 + level) / 2]
    for first in range(0, widest, points):
        groups = varied[edges[varied] + first < edges[varied + 1]]

        def heights(group: int, replicates: Curves, first: int = first) -> NDArray[np.float64]:
            a = edges[group] + first
            fpr = asked.fpr[a : min(a + points, edges[group + 1])]
            size = len(replicates.n_pos)
            place = np.repeat(np.arange(size), len(fpr))
            return replicates.heights(place, np.tile(fpr, size)).reshape(size, -1)

        for group, parts in redrawn.each(groups, heights, held=min(widest, points)):
            found = np.quantile(np.concatenate(parts), shares, axis=0, method="weibull")
            a = edges[group] + first
            lower[a : a + found.shape[1]], upper[a : a + found.shape[1]] = found
    tpr = curves.heights(asked.group, asked.fpr)
    return Limits(tpr=tpr, lower=lower, upper=upper, notes=said)


def fixed_width(curves: Curves, asked: Asked, level: float, redrawn: Redrawn) -> Limits:
    """Return the limits between which the share `level` of the replicates lies, moved alike.

    The curve is moved up by so many standard deviations of its height as it is moved to the left.
    """
    said, varied = _varied(curves)
    bases = {group: _turned(curves, group) for group in varied.tolist()}

    def apart(group: int, replicates: Curves) -> NDArray[np.float64]:
        base = bases[group]
        return base.apart(
            _all_turned(curves, group, replicates), base.along, np.ones(len(base.along))
        )

    moved = np.full(len(said), np.nan)
    for group, parts in redrawn.each(varied, apart):
        moved[group] = _share(np.concatenate(parts), level) / 2
    with np.errstate(divide="ignore"):
        left_right, up_down = moved / np.sqrt(curves.n_neg), moved / np.sqrt(curves.n_pos)
    return _said(displaced(curves, asked, left_right[asked.group], up_down[asked.group]), said)


def envelope(curves: Curves, asked: Asked, level: float, redrawn: Redrawn) -> Limits:
    """Return the limits between which the share `level` of the replicates lies, moved unalike.

    The curve is moved in proportion to the spread of the replicates at each place, but nowhere
    by less than half of what it is moved elsewhere.
    """
    said, varied = _varied(curves)
    bases = {group: _turned(curves, group) for group in varied.tolist()}

    def squares(group: int, replicates: Curves) -> NDArray[np.float64]:
        base = bases[group]
        off = _all_turned(curves, group, replicates).all_at(_places(base)) - base.at(_places(base))
        total: NDArray[np.float64] = np.sum(off * off, axis=0)
        return total

    scales: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for group, parts in redrawn.each(varied, squares):
        spread = np.sqrt(np.sum(parts, axis=0) / redrawn.draws.n_boot)
        spread = np.maximum(spread, LEAST * spread.max())
        places = _places(bases[group])
        ways = np.union1d(places, bases[group].along)
        scales[group] = ways, np.interp(ways, places, spread)

    def apart(group: int, replicates: Curves) -> NDArray[np.float64]:
        return bases[group].apart(_all_turned(curves, group, replicates), *scales[group])

    lower, upper = np.full((2, len(asked.fpr)), np.nan)
    edges = np.searchsorted(asked.group, np.arange(len(said) + 1))
    for group, parts in redrawn.each(varied, apart):
        ways, scale = scales.pop(group)
        own = slice(edges[group], edges[group + 1])
        reach = _share(np.concatenate(parts), level) * scale
        lower[own], upper[own] = bases[group].limits(ways, reach, asked.fpr[own])
    tpr = curves.heights(asked.group, asked.fpr)
    return Limits(tpr=tpr, lower=within(lower), upper=within(upper), notes=said)


def _varied(curves: Curves) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Return a note for each group whose replicates are too much alike, and the other groups."""
    fpr, tpr = curves.fpr, curves.tpr
    # A curve through one of these corners has no other point; nor has one without any turn.
    corner = ((fpr == 0) & (tpr == 1)) | ((fpr == 1) & (tpr == 0))
    group = np.repeat(np.arange(len(curves.n_pos)), np.diff(curves.starts))
    inner = ~(((fpr == 0) & (tpr == 0)) | ((fpr == 1) & (tpr == 1)))
    some = np.bincount(group, weights=inner, minlength=len(curves.n_pos)) > 0
    never = np.bincount(group, weights=corner, minlength=len(curves.n_pos)) > 0
    said = notes(curves.n_pos, curves.n_neg, np.where(some & ~never, 1.0, 0.0))
    return said, np.flatnonzero(said == None)  # noqa: E711 - an array of notes


def _turned(curves: Curves, group: int) -> Turned:
    own = slice(curves.starts[group], curves.starts[group + 1])
    sizes = {"n_pos": curves.n_pos[group], "n_neg": curves.n_neg[group]}
    return Turned.of(curves.fpr[own], curves.tpr[own], **sizes)


def _all_turned(curves: Curves, group: int, replicates: Curves) -> Turned:
    size = len(replicates.n_pos)
    rates = replicates.fpr.reshape(size, -1), replicates.tpr.reshape(size, -1)
    return Turned.of(*rates, n_pos=curves.n_pos[group], n_neg=curves.n_neg[group])


def _places(base: Turned) -> NDArray[np.float64]:
    places: NDArray[np.float64] = np.linspace(0, base.wide + base.high, PLACES)
    return places


def _share(distances: NDArray[np.float64], level: float) -> float:
    """Return the smallest distance that so large a share of the replicates keeps to."""
    return float(np.quantile(distances, level, method="inverted_cdf"))


def _said(limits: Limits, said: NDArray[np.object_]) -> Limits:
    return Limits(tpr=limits.tpr, lower=limits.lower, upper=limits.upper, notes=said)
