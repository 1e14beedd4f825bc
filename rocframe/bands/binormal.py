"""Maximum likelihood fits of the binormal model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.bands.grid import Curves


STEPS = 100  # of Newton; where there is a maximum some ten do

HALVINGS = 30  # of a step that leads down

NEAR = 1e-12  # of log-likelihood: what a step at the top still promises

FARTHEST = 1e3  # of a parameter or its standard error: beyond, it is on its way to infinity


class Binormal(NamedTuple):
    """Parameters of each group, and their variances.

    NaN where the likelihood has no maximum, because a curve of corners fits better than any.
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    var_a: NDArray[np.float64]
    var_b: NDArray[np.float64]
    cov_ab: NDArray[np.float64]


class Step(NamedTuple):
    """Where Newton's method goes from here, how much it promises, and the information left."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    x: NDArray[np.float64]
    promise: NDArray[np.float64]
    information: NDArray[np.float64]


def fitted(ratings: Ratings) -> Binormal:
    """Fit the binormal curve of each group of the ratings."""
    found = np.full((5, len(ratings.groups)), np.nan)
    # Two parameters need two cutoffs.
    places = np.flatnonzero(np.diff(ratings.starts) > 2)
    climb = Climb.begin(ratings, places)
    for _ in range(STEPS):
        if not len(places):
            break
        step = climb.step()
        top = step.promise <= NEAR
        found[:, places[top]] = climb.result(step)[:, top]
        lost = ~climb.walk(step) & ~top
        lost |= (np.abs(climb.a) > FARTHEST) | ~((climb.b < FARTHEST) & (climb.b > 1 / FARTHEST))
        stay = ~(top | lost)
        places, climb = places[stay], climb.only(stay)
    sure = np.all(np.isfinite(found), axis=0) & np.all(found[2:4] < FARTHEST**2, axis=0)
    return Binormal(*np.where(sure, found, np.nan))


@dataclass(slots=True, kw_only=True, eq=False)
class Climb:
    """Groups on their way up.

    Group i has the ratings from `firsts[i]` on; `x` is the cutoff below a rating on the scale on
    which negatives are standard normal, turned so that it rises; inf below the last of a group.
    """

    firsts: NDArray[np.int64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    x: NDArray[np.float64]
    a: NDArray[np.float64]
    b: NDArray[np.float64]

    @classmethod
    def begin(cls, ratings: Ratings, places: NDArray[np.int64]) -> Climb:
        """Start from the line through the points, all of them drawn inwards."""
        from scipy.special import ndtri

        lengths = np.diff(ratings.starts)
        kept = np.repeat(np.isin(np.arange(len(lengths)), places), lengths)
        pos, neg, lengths = ratings.pos[kept], ratings.neg[kept], lengths[places]
        firsts = np.cumsum(lengths) - lengths
        last = firsts + lengths - 1

        def shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
            running = np.cumsum(values)
            running -= np.repeat(running[firsts] - values[firsts], lengths)
            shared: NDArray[np.float64] = running / np.repeat(running[last], lengths)
            return shared

        both = shares(pos + neg)
        x, y = (ndtri((shares(side) + both) / 2) for side in (neg, pos))
        x[last], y[last] = 0.0, 0.0
        cutoffs = lengths - 1.0

        def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return _sums(values, firsts) / cutoffs

        spread, joint = mean(x * x) - mean(x) ** 2, mean(x * y) - mean(x) * mean(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            b = np.clip(np.nan_to_num(joint / spread, nan=1.0), 0.2, 5.0)
        a = mean(y) - b * mean(x)
        x[last] = np.inf
        return cls(firsts=firsts, pos=pos, neg=neg, x=x, a=a, b=b)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many ratings each group has."""
        return np.diff(self.firsts, append=len(self.x))

    def only(self, stay: NDArray[np.bool_]) -> Climb:
        """Go on with some of the groups."""
        lengths = self.lengths
        kept = np.repeat(stay, lengths)
        return Climb(
            firsts=np.cumsum(lengths[stay]) - lengths[stay],
            pos=self.pos[kept],
            neg=self.neg[kept],
            x=self.x[kept],
            a=self.a[stay],
            b=self.b[stay],
        )

    def likelihood(
        self, a: NDArray[np.float64], b: NDArray[np.float64], x: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of each group; -inf where parameters cannot be."""
        y = np.repeat(a, self.lengths) + np.repeat(b, self.lengths) * x
        return sum(  # type: ignore[return-value]
            _sums(Side.likelihood(count, cutoff, self.firsts), self.firsts)
            for count, cutoff in ((self.neg, x), (self.pos, y))
        )

    def step(self) -> Step:
        """Work out Newton's step, cutoffs first, then what they leave of a and b."""
        from scipy.linalg import solveh_banded

        lengths, cutoff = self.lengths, np.isfinite(self.x)
        x, b = np.where(cutoff, self.x, 0.0), np.repeat(self.b, self.lengths)
        y = np.repeat(self.a, lengths) + b * self.x
        negatives = Side.of(self.neg, self.x, self.firsts)
        positives = Side.of(self.pos, y, self.firsts)

        def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return _sums(values, self.firsts)

        slope = negatives.slope + b * positives.slope
        by_a, by_b = positives.times(cutoff.astype(np.float64)), positives.times(x)
        with_a, with_b = b * by_a, b * by_b - positives.slope
        along = np.where(cutoff, negatives.along + b * b * positives.along, 1.0)
        across = negatives.across + b * b * positives.across
        # A hair more on the diagonal: rounding must not make the matrix singular.
        banded = np.vstack([np.append(0.0, across[:-1]), along * (1 + 1e-14)])
        sides = np.column_stack([slope, with_a, with_b])
        p, qa, qb = solveh_banded(banded, sides, check_finite=False).T

        information = np.empty((len(self.a), 2, 2))
        information[:, 0, 0] = total(np.where(cutoff, by_a, 0.0)) - total(with_a * qa)
        information[:, 0, 1] = total(x * by_a) - total(with_a * qb)
        information[:, 1, 0] = information[:, 0, 1]
        information[:, 1, 1] = total(x * by_b) - total(with_b * qb)
        up_a, up_b = total(positives.slope), total(x * positives.slope)
        left = np.column_stack([up_a - total(with_a * p), up_b - total(with_b * p)])
        size, axes = np.linalg.eigh(information)
        # Where the surface is no dome, go up along its axes all the same.
        size = np.maximum(np.abs(size), 1e-8 * np.abs(size).max(axis=1, keepdims=True) + 1e-300)
        da, db = np.einsum("gij,gj,gkj,gk->ig", axes, 1 / size, axes, left)
        dx = p - np.repeat(da, lengths) * qa - np.repeat(db, lengths) * qb
        promise = total(slope * dx) + up_a * da + up_b * db
        return Step(
            a=da, b=db, x=np.where(cutoff, dx, 0.0), promise=promise, information=information
        )

    def walk(self, step: Step) -> NDArray[np.bool_]:
        """Go as far as the likelihood rises; say which groups moved."""
        now = self.likelihood(self.a, self.b, self.x)
        size, moved = np.ones(len(now)), np.zeros(len(now), bool)
        for _ in range(HALVINGS):
            a, b = self.a + size * step.a, self.b + size * step.b
            x = self.x + np.repeat(size, self.lengths) * step.x
            enough = now + 1e-4 * size * step.promise - 1e-12 * np.abs(now)
            moved = self.likelihood(a, b, x) >= enough
            if moved.all():
                break
            size[~moved] /= 2
        self.a, self.b = np.where(moved, a, self.a), np.where(moved, b, self.b)
        self.x = np.where(np.repeat(moved, self.lengths), x, self.x)
        return moved

    def result(self, step: Step) -> NDArray[np.float64]:
        """Return the parameters and the inverse of their information, a column per group."""
        aa, ab, bb = (step.information[:, i, j] for i, j in ((0, 0), (0, 1), (1, 1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            free = aa * bb - ab * ab
            free = np.where((aa > 0) & (free > 0), free, np.nan)
            return np.vstack([self.a, self.b, bb / free, aa / free, -ab / free])


def _sums(values: NDArray[np.float64], firsts: NDArray[np.int64]) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.add.reduceat(values, firsts) if len(firsts) else np.zeros(0)
    return sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """Derivatives of the log-likelihood Σ count · log(Φ(upper) - Φ(lower)) by the cutoffs.

    `slope` is the first; `along` minus the second; `across` minus the mixed one of a cutoff and
    the next, which is 0 between groups.
    """

    slope: NDArray[np.float64]
    along: NDArray[np.float64]
    across: NDArray[np.float64]

    @staticmethod
    def likelihood(
        count: NDArray[np.float64], upper: NDArray[np.float64], firsts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of each rating."""
        share = _between(_lower(upper, firsts), upper)
        possible = np.maximum(share, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            made: NDArray[np.float64] = np.where(count > 0, count * np.log(possible), 0.0)
        return np.where(np.isnan(made), -np.inf, made)

    @classmethod
    def of(
        cls, count: NDArray[np.float64], upper: NDArray[np.float64], firsts: NDArray[np.int64]
    ) -> Side:
        """Work them out for ratings that all have a share above 0 where they have a count."""
        lower = _lower(upper, firsts)
        share = _between(lower, upper)
        high, low = (np.exp(-0.5 * end * end) / np.sqrt(2 * np.pi) for end in (upper, lower))
        some = (count > 0) & (share > 0)
        share = np.where(some, share, 1.0)
        high, low = np.where(some, high / share, 0.0), np.where(some, low / share, 0.0)
        # Of a normal variable between two cutoffs the mean lies between them, rounding or not:
        # so the matrix of second derivatives stays what it is, positive definite.
        mean = np.clip(low - high, lower, upper)
        with np.errstate(invalid="ignore"):
            from_upper = np.where(high > 0, high * (upper - mean), 0.0)
            from_lower = np.where(low > 0, low * (mean - lower), 0.0)
        joint = count * high * low
        before = np.append((count * from_lower + joint)[1:], 0.0)
        return cls(
            slope=count * high - np.append((count * low)[1:], 0.0),
            along=count * from_upper + joint + before,
            across=-np.append(joint[1:], 0.0),
        )

    def times(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the matrix of minus the second derivatives by a value of each cutoff."""
        product = self.along * values
        product[:-1] += self.across[:-1] * values[1:]
        product[1:] += self.across[:-1] * values[:-1]
        return product


def _lower(upper: NDArray[np.float64], firsts: NDArray[np.int64]) -> NDArray[np.float64]:
    lower = np.empty_like(upper)
    lower[1:] = upper[:-1]
    lower[firsts] = -np.inf
    return lower


def _between(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of a standard normal variable between two cutoffs."""
    from scipy.special import ndtr

    # Differences of small numbers, not of numbers close to 1.
    turn = lower > 0
    share: NDArray[np.float64] = ndtr(np.where(turn, -lower, upper)) - ndtr(
        np.where(turn, -upper, lower)
    )
    return share


MOST = 1000  # ratings of a group: more tell hardly more, and take longer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratings:
    """Positives and negatives of each rating, from the highest down.

    The ratings `starts[i]` to `starts[i + 1]` belong to the group `groups[i]`.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]

    @classmethod
    def of(cls, curves: Curves) -> Ratings:
        """Put the cases of each whole group into ratings; unscored ones into the outer two."""
        groups = np.flatnonzero(curves.whole)
        of_point = np.repeat(np.arange(len(curves.n_pos)), np.diff(curves.starts))
        points = np.flatnonzero(curves.whole[of_point])
        # One more after the last point of each group: what stands below all scores.
        lengths = np.diff(curves.starts)[groups] + 1
        starts = np.append(0, np.cumsum(lengths))
        inner = np.ones(starts[-1], bool)
        inner[starts[1:] - 1] = False
        sides = []
        for name, total in (("tp", curves.n_pos), ("fp", curves.n_neg)):
            running = np.repeat(total[groups], lengths)
            running[inner] = curves.counts[name][points]
            steps = np.diff(running, prepend=0)
            steps[starts[:-1]] = running[starts[:-1]]
            sides.append(steps)
        pos, neg = sides
        some = (pos > 0) | (neg > 0)
        group = np.repeat(np.arange(len(groups)), lengths)[some]
        merged = _joined(group, _runs(pos[some], neg[some], group), pos[some], neg[some])
        group, pos, neg = _joined(merged[0], _coarse(*merged), *merged[1:])
        return cls(
            groups=groups,
            starts=np.searchsorted(group, np.arange(len(groups) + 1)),
            pos=pos.astype(np.float64),
            neg=neg.astype(np.float64),
        )


def _runs(
    pos: NDArray[np.int64], neg: NDArray[np.int64], group: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say where something else begins than the one class that stood before."""
    fresh = np.ones(len(pos), bool)
    mixed = (pos > 0) & (neg > 0)
    same = (pos[1:] > 0) == (pos[:-1] > 0)
    fresh[1:] = mixed[1:] | mixed[:-1] | ~same | (group[1:] != group[:-1])
    return fresh


def _coarse(
    group: NDArray[np.int64], pos: NDArray[np.int64], neg: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say where ratings begin if a group has at most `MOST` of about the same size."""
    fresh = np.ones(len(group), bool)
    sizes = np.bincount(group)
    for crowded in np.flatnonzero(sizes > MOST):
        a, b = np.searchsorted(group, [crowded, crowded + 1])
        size = (pos[a:b] + neg[a:b]).astype(np.float64)
        # The place of a rating's middle among all cases of the group.
        middle = np.cumsum(size) - size / 2
        piece = np.floor(middle * (MOST / size.sum()))
        fresh[a + 1 : b] = piece[1:] != piece[:-1]
    return fresh


def _joined(
    group: NDArray[np.int64],
    fresh: NDArray[np.bool_],
    pos: NDArray[np.int64],
    neg: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    firsts = np.flatnonzero(fresh)
    if not len(firsts):
        return group, pos, neg
    return group[firsts], np.add.reduceat(pos, firsts), np.add.reduceat(neg, firsts)
