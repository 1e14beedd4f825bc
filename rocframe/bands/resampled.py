"""Bands from bootstrap replicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rocframe.bands.closed_form import displaced
from rocframe.bands.grid import Curves, Limits, slack_of, within
from rocframe.inference.confidence import notes
from rocframe.kernel.resample import MAX_STORED_NUMBERS, GroupRows, GroupSampler
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.threads import run_parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rocframe.bands.grid import Asked
    from rocframe.kernel.resample import BootstrapDraws, ReplicateScan
    from rocframe.kernel.scan import Scan


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
        run_parallel = np.sqrt(np.sum(parts, axis=0) / redrawn.draws.n_boot)
        run_parallel = np.maximum(run_parallel, LEAST * run_parallel.max())
        places = _places(bases[group])
        ways = np.union1d(places, bases[group].along)
        scales[group] = ways, np.interp(ways, places, run_parallel)

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


Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Redrawn:
    """The replicates of all groups; they are the same however often one asks for them.

    Classes keep their sizes: the curves depend on rates of the classes only.
    """

    walk: Scan
    draws: BootstrapDraws

    def each(
        self, groups: NDArray[np.int64], function: Callable[[int, Curves], Made], *, held: int = 1
    ) -> Iterator[tuple[int, list[Made]]]:
        """Run `function` on each batch of each group; results group by group.

        `held` says how many numbers `function` makes of a replicate: so many groups are worked
        on side by side as memory allows.
        """
        most = max(1, MAX_STORED_NUMBERS // (self.draws.n_boot * held))
        rows = np.cumsum(np.diff(self.walk.rows.starts)[groups]) // (4 * BLOCK_ROWS)
        places = np.arange(len(groups)) // most
        fresh = np.flatnonzero((np.diff(rows, prepend=-1) > 0) | (np.diff(places, prepend=-1) > 0))
        for share in np.split(groups, fresh[1:]):
            yield from self._together(share, function)

    def _together(
        self, groups: NDArray[np.int64], function: Callable[[int, Curves], Made]
    ) -> Iterator[tuple[int, list[Made]]]:
        n_boot = self.draws.n_boot
        urns = run_parallel(
            lambda group: GroupSampler.from_group(GroupRows.from_scan(self.walk, group)),
            groups.tolist(),
        )
        tasks = [
            (urn, batch, min(urn.batch, n_boot - first))
            for urn in urns
            for batch, first in enumerate(range(0, n_boot, urn.batch))
        ]

        def run(task: tuple[GroupSampler, int, int]) -> Made:
            urn, batch, size = task
            group = urn.population.group
            stream = self.draws.seed.stream(self.draws.keys[group], batch)
            sample = urn.draw(stream, size, mixed=False).scan(corners=True)
            return function(group, curves(sample))

        done = iter(run_parallel(run, tasks))
        for urn in urns:
            yield (
                urn.population.group,
                [next(done) for _ in range(0, n_boot, urn.batch)],
            )


def curves(sample: ReplicateScan) -> Curves:
    """Return the curves of replicates, as if they were groups."""
    totals, block = sample.totals, sample.block
    size = len(totals.pos)
    points = len(block.tp) // size + 1

    def rates(
        counts: NDArray[np.float64], first: NDArray[np.float64], total: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        walked = np.zeros((size, points))
        walked[:, 1:] = counts.reshape(size, points - 1)
        walked += np.broadcast_to(first, size)[:, None]
        walked /= total[:, None]
        return walked.ravel()

    return Curves(
        starts=np.arange(size + 1) * points,
        counts={},
        fpr=rates(block.fp, totals.unscored_neg, totals.neg),
        tpr=rates(block.tp, np.zeros(1), totals.pos),
        n_pos=totals.pos_rows,
        n_neg=totals.neg_rows,
        slack=slack_of(totals.pos),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Turned:
    """One curve, or several, a row each: at the way `along` it has the height `across`.

    `wide` and `high` are the unit square's sides.
    """

    wide: float
    high: float
    along: NDArray[np.float64]
    across: NDArray[np.float64]

    @classmethod
    def of(
        cls, fpr: NDArray[np.float64], tpr: NDArray[np.float64], *, n_pos: int, n_neg: int
    ) -> Turned:
        """Turn curves; all of them start in the one corner and end in the other."""
        wide, high = float(np.sqrt(n_neg)), float(np.sqrt(n_pos))
        corners = [(0, 0)] * (fpr.ndim - 1) + [(1, 1)]
        x, y = (
            size * np.pad(rate, corners, constant_values=(0.0, 1.0))
            for size, rate in ((wide, fpr), (high, tpr))
        )
        return cls(wide=wide, high=high, along=x + y, across=y - x)

    def at(self, along: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the heights of one curve at ways along it."""
        height: NDArray[np.float64] = np.interp(along, self.along, self.across)
        return height

    def all_at(self, along: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the heights of several curves, a row each, at the same ways along them."""
        # All curves in a row, end to end: one pass for all of them.
        shift = np.arange(len(self.along))[:, None] * (self.wide + self.high + 1)
        height: NDArray[np.float64] = np.interp(
            (along + shift).ravel(), (self.along + shift).ravel(), self.across.ravel()
        )
        return height.reshape(len(self.along), -1)

    def apart(
        self, others: Turned, ways: NDArray[np.float64], scale: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return how far each of several curves lies from this one, at most, in units of `scale`.

        `scale` is given at `ways`, and straight between them; they hold all points of this curve.
        Then the largest distance is at one of them or at a point of the other curve.
        """
        theirs = np.abs(others.across - self.at(others.along))
        theirs /= np.interp(others.along, ways, scale)
        ours = np.abs(others.all_at(ways) - self.at(ways)) / scale
        apart: NDArray[np.float64] = np.maximum(theirs.max(axis=1), ours.max(axis=1))
        return apart

    def limits(
        self, ways: NDArray[np.float64], reach: NDArray[np.float64], fpr: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and highest TPR at `fpr` of rising curves nowhere further than `reach`.

        `reach` is given at `ways`, and straight between them.
        """
        height = self.at(ways)
        upper = _ceiling(ways, height + reach, fpr * self.wide, self.high)
        # The lower limit is the upper one of the curve seen from its other end.
        turned = (self.wide + self.high - ways)[::-1], (self.high - self.wide - height)[::-1]
        down = _ceiling(turned[0], turned[1] + reach[::-1], (1 - fpr) * self.wide, self.high)
        return (self.high - down) / self.high, upper / self.high


def _ceiling(
    ways: NDArray[np.float64],
    height: NDArray[np.float64],
    x: NDArray[np.float64],
    most: float,
) -> NDArray[np.float64]:
    """Return how high a rising curve may be at `x` that nowhere passes `height`.

    Where the border is at (u, v), the curve is at most v high as far as u: its height at x is at
    most the least v of the border from x on.
    """
    u, v = (ways - height) / 2, (ways + height) / 2
    farthest = np.maximum.accumulate(u)
    after = np.searchsorted(farthest, x, "left")
    inside = after < len(u)
    right = np.minimum(after, len(u) - 1)
    left = np.maximum(right - 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(u[right] > u[left], (x - u[left]) / (u[right] - u[left]), 1.0)
    crossing = v[left] + np.clip(share, 0, 1) * (v[right] - v[left])
    later = np.minimum.accumulate(v[::-1])[::-1]
    limit: NDArray[np.float64] = np.where(inside, np.minimum(crossing, later[right]), most)
    return np.clip(limit, 0.0, most)
