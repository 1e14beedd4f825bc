"""Options of averages → one checked record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from rocframe.counting.draws import Seed
from rocframe.errors import OptionValueError
from rocframe.inference.intervals import as_level, as_resamples
from rocframe.options import as_number, as_numbers, check_choice, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.curves.kinds import Kind

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
        as_level(level)
        as_resamples("n_boot", n_boot)
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
            n_boot=as_resamples("n_boot", n_boot),
            seed=Seed.of(seed),
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
