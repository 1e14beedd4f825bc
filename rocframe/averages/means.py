"""Options of averages; means of curves, their spread and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from rocframe.errors import OptionValueError
from rocframe.inference.bootstrap import replicates
from rocframe.inference.confidence import parse_level, parse_n_boot
from rocframe.kernel.resample import Seed
from rocframe.options import as_number, as_numbers, check_choice, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.kinds import Kind


Method = Literal["vertical", "horizontal", "threshold", "pooled", "macro", "weighted", "micro"]

Spread = Literal["corrected", "t", "normal", "binomial", "bootstrap"]

Weights: TypeAlias = "Literal['equal', 'rows', 'positives'] | Mapping[Any, float]"

Grid: TypeAlias = "int | Literal['union'] | Sequence[float] | pl.Series"

# Which counts an axis is a share of, for axes that may be held fixed: these rise or fall all the
# way down a curve.
MONOTONE = ("fpr", "tpr", "recall", "fnr", "alert_rate")

BINOMIAL = MONOTONE

# What averages over classes are called: how they are taken, and how much each class counts.
OF_CLASSES: dict[str, tuple[Method, str]] = {
    "macro": ("vertical", "equal"),
    "weighted": ("vertical", "positives"),
    "micro": ("pooled", "equal"),
}

MOST = 10**7  # points of a grid

POINTS = 101

LEVEL = 0.95

N_BOOT = 2000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """How curves are averaged: along what, where, and with which interval."""

    method: Method
    grid: int | str | list[float]
    interval: Spread | None
    level: float
    test_per_train: float | None
    weights: str | Mapping[Any, float]
    n_boot: int
    seed: Seed
    over: tuple[str, ...]
    ranked: bool = False
    weighted_by: Literal["weights", "prior"] = "weights"

    @classmethod
    def of(
        cls,
        over: tuple[str, ...],
        method: Method,
        *,
        grid: Grid,
        interval: Spread | None,
        level: float,
        test_per_train: float | None,
        weights: Weights,
        prior: object,
        ranks: str | None,
        n_boot: int,
        seed: int | None,
    ) -> Plan:
        """Check the options, each alone and with the method that would read it."""
        check_choice("method", method, get_args(Method))
        check_choice("interval", interval, (*get_args(Spread), None))
        check_choice("ranks", ranks, ("within", None))
        parse_level(level)
        parse_n_boot("n_boot", n_boot)
        check_weights("weights", weights)
        taken, usual = OF_CLASSES.get(method, (method, "equal"))
        classes, pooled = method in OF_CLASSES, taken == "pooled"
        limits = not (classes or pooled)
        for option, value, idle, read in (
            ("grid", grid, POINTS, not pooled),
            ("weights", weights, "equal", limits),
            ("interval", interval, "corrected", limits or interval is None),
            ("prior", prior, None, method == "weighted"),
            ("ranks", ranks, None, pooled),
            ("test_per_train", test_per_train, None, limits and interval == "corrected"),
            ("level", level, LEVEL, limits and interval is not None),
            ("n_boot", n_boot, N_BOOT, limits and interval == "bootstrap"),
            ("seed", seed, None, limits and interval == "bootstrap"),
        ):
            if not read and not (isinstance(value, type(idle)) and value == idle):
                wrong = f"method={method!r} with interval={interval!r} does not read it"
                raise OptionValueError.of(option, value, wrong, "Leave it out.")
        if prior is not None and not isinstance(prior, Mapping):
            wrong = "it is no mapping from classes to numbers"
            todo = "Give, say, prior={'a': 0.9, 'b': 0.1}."
            raise OptionValueError.of("prior", prior, wrong, todo)
        if prior is not None:
            check_weights("prior", prior)
        return cls(
            method=taken,
            grid=as_grid(grid, taken),
            interval=interval if limits else None,
            level=level,
            test_per_train=as_test_per_train(test_per_train, over, interval if limits else None),
            weights=prior if prior is not None else usual if classes else weights,
            n_boot=parse_n_boot("n_boot", n_boot),
            seed=Seed.parse(seed),
            over=over,
            ranked=ranks is not None,
            weighted_by="weights" if prior is None else "prior",
        )

    @property
    def sides(self) -> bool:
        """Whether the table has a row for each side of a jump."""
        return self.grid == "union" and self.method in {"vertical", "horizontal"}

    def averaged(self, kind: Kind) -> tuple[str, ...]:
        """Return the axes whose means are taken, once the kind is known to allow that."""
        if self.method == "threshold":
            averaged: tuple[str, ...] = (kind.x, kind.y)
        else:
            averaged = (kind.y,) if self.method == "vertical" else (kind.x,)
            (fixed,) = {kind.x, kind.y} - set(averaged)
            if fixed not in MONOTONE:
                raise OptionValueError.of(
                    "method",
                    self.method,
                    f"{fixed} is no axis to hold fixed: a curve may have one value of it at "
                    "several places, or at none",
                    'Say method="vertical", or "threshold".',
                )
        for axis in averaged:
            if self.interval == "binomial" and axis not in BINOMIAL:
                raise OptionValueError.of(
                    "interval",
                    self.interval,
                    f"{axis} is no share of a number of rows that is fixed",
                    'Say interval="corrected", say.',
                )
        return averaged


def as_grid(grid: object, method: str) -> int | str | list[float]:
    """Read `grid`: a number of points, values in rising order, or "union"."""
    if isinstance(grid, str):
        check_choice("grid", grid, ("union",))
        return grid
    single = as_number(grid)
    if single is not None and not isinstance(grid, float):
        points = whole("grid", grid, least=2)
        if points > MOST:
            wrong = f"a grid has {MOST} points at most"
            raise OptionValueError.of("grid", grid, wrong, "Give, say, grid=101.")
        return points
    values = None if single is not None else as_numbers(grid)
    if not values:
        wrong = 'it is neither a number of points, nor a list of values, nor "union"'
        raise OptionValueError.of("grid", grid, wrong, "Give, say, grid=101 or grid=[0.01, 0.1].")
    for one in values:
        if isnan(one) or (method != "threshold" and not 0 <= one <= 1):
            wrong = "one of them is NaN" if isnan(one) else f"{one:g} is no share"
            todo = "Leave it out." if isnan(one) else "Rates lie between 0 and 1: 5 % is 0.05."
            raise OptionValueError.of("grid", grid, wrong, todo)
    return sorted({value + 0.0 for value in values}, reverse=method == "threshold")


def as_test_per_train(given: object, over: Sequence[str], interval: str | None) -> float | None:
    """Read how many test rows there are per training row; None where that follows."""
    if given is None:
        if interval == "corrected" and len(over) > 1:
            raise OptionValueError.of(
                "test_per_train",
                None,
                "how many rows a model was fitted on does not follow from several keys",
                "Say it: 1/9 for ten folds, however often they were dealt out anew.",
            )
        return None
    number = as_number(given)
    if number is None or not 0 <= number < inf:
        raise OptionValueError.of(
            "test_per_train",
            given,
            "test rows per training row are a number from 0",
            "Ten folds have test_per_train=1/9.",
        )
    return number


def check_weights(argument: str, weights: object) -> None:
    """Check the weights of curves, as far as that goes without the curves."""
    if not isinstance(weights, Mapping):
        check_choice(argument, weights, ("equal", "rows", "positives"))
        return
    for key, given in weights.items():
        number = as_number(given)
        if number is None or not (isfinite(number) and number > 0):
            raise OptionValueError.of(
                f"{argument}[{key!r}]",
                given,
                "a weight is a finite number above 0",
                "To leave a curve out, filter the table first.",
            )


RESAMPLES_PER_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cell:
    """Values of some curves (down) at some places (across): curves of group i from `starts[i]`.

    NaN is where a curve has no value; `weight` is how much each curve counts.
    """

    values: NDArray[np.float64]
    weight: NDArray[np.float64]
    starts: NDArray[np.int64]

    @property
    def there(self) -> NDArray[np.bool_]:
        """Where curves have a value."""
        return ~np.isnan(self.values)

    def add(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up over the curves of each group."""
        total: NDArray[np.float64] = np.add.reduceat(values, self.starts, axis=0)
        return total

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Repeat what groups have for each of their curves."""
        lengths = np.diff(np.append(self.starts, len(self.values)))
        return np.repeat(values, lengths, axis=0)

    @property
    def count(self) -> NDArray[np.int64]:
        """How many curves of each group have a value."""
        counts: NDArray[np.int64] = np.add.reduceat(self.there.astype(np.int64), self.starts)
        return counts

    @property
    def mass(self) -> NDArray[np.float64]:
        """The sum of their weights."""
        return self.add(self.weight[:, None] * self.there)

    @property
    def unevenness(self) -> NDArray[np.float64]:
        """The sum of squared shares of the weight: one over their number if all weigh the same."""
        squares = self.add(self.weight[:, None] ** 2 * self.there)
        return _over(squares, self.mass**2)

    @property
    def base(self) -> NDArray[np.float64]:
        """The smallest value of each group: sums of differences to it keep equal values equal."""
        base: NDArray[np.float64] = np.fmin.reduceat(self.values, self.starts, axis=0)
        return base

    @property
    def mean(self) -> NDArray[np.float64]:
        """The weighted mean of each group."""
        base = self.base
        above = np.where(self.there, self.values - self.spread(base), 0)
        mean: NDArray[np.float64] = base + _over(self.add(self.weight[:, None] * above), self.mass)
        return mean

    def sd(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard deviation of each group, with n - 1; NaN for one curve."""
        off = np.where(self.there, self.values - self.spread(mean), 0)
        squares = _over(self.add(self.weight[:, None] * off**2), self.mass)
        left = np.where(self.count > 1, 1 - self.unevenness, 0)
        sd: NDArray[np.float64] = np.sqrt(_over(squares, left))
        return sd

    def with_infinite(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and spread of thresholds or rates, some of which may be infinite."""
        ends = np.isinf(self.values)
        finite = Cell(
            values=np.where(ends, 0.0, self.values), weight=self.weight, starts=self.starts
        )
        mean = finite.mean
        sd = finite.sd(mean)
        high, low = (
            self.add((self.values == end).astype(np.float64)) > 0 for end in (np.inf, -np.inf)
        )
        mean = np.where(high, np.inf, np.where(low, -np.inf, mean))
        return np.where(high & low, np.nan, mean), np.where(high | low, np.nan, sd)


def _over(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found


def limits(
    cell: Cell,
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
    plan: Plan,
    *,
    curves: NDArray[np.int64],
    rows: NDArray[np.float64],
    streams: list[tuple[int, ...]],
    bounds: tuple[float, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return standard error and limits of each mean; NaN where there are none.

    `curves` are those of each group, with the ones that lack a class; `rows` those that the rate
    of each curve is a share of.
    """
    if plan.interval is None:
        return (np.full(mean.shape, np.nan),) * 3
    if plan.interval == "bootstrap":
        se, lower, upper = _resampled(cell, plan, streams)
        return se, lower, upper
    if plan.interval == "binomial":
        own = _over(cell.weight**2, rows)
        shares = np.where(cell.there, own[:, None], 0.0)
        se = np.sqrt(mean * (1 - mean) * _over(cell.add(shares), cell.mass**2))
    else:
        share = cell.unevenness
        if plan.interval == "corrected":
            share = share + _test_per_train(plan, curves)[:, None]
        se = sd * np.sqrt(share)
    reach = _quantiles(plan, cell.count) * se
    return se, np.clip(mean - reach, *bounds), np.clip(mean + reach, *bounds)


def _test_per_train(plan: Plan, curves: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many test rows each group has per training row: k folds have 1 to k - 1."""
    if plan.test_per_train is not None:
        return np.full(len(curves), plan.test_per_train)
    return _over(np.ones(len(curves)), (curves - 1).astype(np.float64))


def _quantiles(plan: Plan, count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many standard errors the limits are from the mean."""
    from scipy.special import ndtri, stdtrit

    share = (1 + plan.level) / 2
    if plan.interval in {"normal", "binomial"}:
        return np.full(count.shape, ndtri(share))
    found = np.full(int(count.max(initial=1)) + 1, np.nan)
    found[2:] = stdtrit(np.arange(1, len(found) - 1, dtype=np.float64), share)
    return found[count]


def _resampled(
    cell: Cell, plan: Plan, streams: list[tuple[int, ...]]
) -> tuple[NDArray[np.float64], ...]:
    """Return standard error and percentile limits of the mean over resampled curves."""
    ends = np.append(cell.starts[1:], len(cell.values))
    found = [np.full(cell.count.shape, np.nan) for _ in range(3)]
    tails = [(1 - plan.level) / 2, (1 + plan.level) / 2]
    for group, (start, end) in enumerate(zip(cell.starts, ends, strict=True)):
        some = cell.there[start:end].any(axis=1)
        if some.sum() < 2:
            continue
        values, weight = cell.values[start:end][some], cell.weight[start:end][some]
        single = (~np.isnan(values)).sum(axis=0) < 2
        every = _replicate_means(values, weight, plan, streams[group])
        every[:, single] = np.nan
        whole = ~np.isnan(every).any(axis=0)
        found[0][group, whole] = every[:, whole].std(axis=0, ddof=1)
        found[1][group, whole], found[2][group, whole] = np.quantile(every[:, whole], tails, axis=0)
        for at in np.flatnonzero(~whole & ~single):  # drawn without any curve that has a value
            drawn_means = every[~np.isnan(every[:, at]), at]
            found[0][group, at] = drawn_means.std(ddof=1)
            found[1][group, at], found[2][group, at] = np.quantile(drawn_means, tails)
    return tuple(found)


def _replicate_means(
    values: NDArray[np.float64], weight: NDArray[np.float64], plan: Plan, key: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the means over resampled curves, a row per resample."""
    there, curves = ~np.isnan(values), len(weight)
    base = np.nanmin(values, axis=0, where=there, initial=np.inf)
    above = np.where(there, values - base, 0)

    def draw(stream: np.random.Generator, size: int) -> tuple[NDArray[np.float64], int]:
        mass = stream.multinomial(curves, np.full(curves, 1 / curves), size) * weight
        return base + _over(mass @ above, mass @ there.astype(np.float64)), 0

    means, _ = replicates(
        draw, n_boot=plan.n_boot, batch_size=RESAMPLES_PER_BATCH, seed=plan.seed, key=key
    )
    return means
