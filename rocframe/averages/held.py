"""What callers hold fixed, and what is averaged there → one checked record.

A table of metrics at fixed values of another is asked for by `fixed`, by `metrics`, or by
`nearest`. Where that says no more than `method` does, the plan of the averaged curve is changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.averages.measures import Measure
from rocframe.averages.plan import MONOTONE, OF_CLASSES, as_grid
from rocframe.curves.held import held_schema, spread_of
from rocframe.curves.mean import ABOUT
from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.formulas import Settings
from rocframe.rates import check_read
from rocframe.vocabulary import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.averages.plan import Grid, Plan
    from rocframe.curves.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """Which metric is held fixed (None: the threshold), at which values, and what is averaged."""

    name: str
    fixed: Measure | None
    measures: tuple[Measure, ...]
    grid: int | str | list[float]
    nearest: bool

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Dtypes of the table, right of its keys."""
        return held_schema(self.name, [measure.name for measure in self.measures])

    @property
    def common(self) -> NDArray[np.float64] | None:
        """The values that are the same in all groups; None where each has its own."""
        if isinstance(self.grid, list):
            return np.array(self.grid)
        if not isinstance(self.grid, int) or self.fixed is None:
            return None
        low, high = self.fixed.bounds
        if not np.isfinite(high - low):
            return None
        return low + (high - low) * (np.arange(self.grid) / (self.grid - 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """What is asked for, as far as that goes without the kind of curve; None is its axes."""

    name: str | None
    fixed: Measure | None
    measures: tuple[Measure, ...] | None
    grid: Grid
    nearest: bool
    settings: Settings

    @classmethod
    def of(
        cls,
        method: str,
        *,
        fixed: str | pl.Expr | None,
        metrics: str | pl.Expr | Sequence[str | pl.Expr] | None,
        grid: Grid,
        nearest: bool,
        prevalence: float | None,
        beta: float,
        costs: Mapping[str, float] | None,
    ) -> Asked | None:
        """Check the options, each alone and with the method; None where none is given."""
        settings = Settings(beta=beta, costs=costs, prevalence=prevalence)
        said: object = nearest
        if not isinstance(said, bool):
            wrong, todo = "it is neither True nor False", "Say nearest=True, or leave it out."
            raise OptionValueError.of("nearest", said, wrong, todo)
        if fixed is None and metrics is None and not nearest:
            _check_settings((), settings)
            return None
        named = fixed if isinstance(fixed, str) else None
        if fixed is None:
            _check_whole(method, metrics=metrics, nearest=nearest or None)
        elif method == "horizontal" or (method == THRESHOLD and named != THRESHOLD):
            wrong = f"method={method!r} says itself what is held fixed"
            raise OptionValueError.of("fixed", fixed, wrong, 'Say method="vertical" with it.')
        at_threshold = THRESHOLD in {method, named}
        held = None
        if fixed is not None and not at_threshold:
            held = Measure.of("fixed", fixed, settings, more=(THRESHOLD,))
        return cls(
            name=THRESHOLD if at_threshold else None if held is None else held.name,
            fixed=held,
            measures=None if metrics is None else _measures(metrics, settings),
            grid=grid,
            nearest=nearest,
            settings=settings,
        )

    def on(self, kind: Kind, plan: Plan) -> tuple[Plan, Held | None]:
        """Return the plan of an averaged curve, or what stands in a table of metrics."""
        settings, measures = self.settings, self.measures
        name = self.name or (kind.y if plan.method == "horizontal" else kind.x)
        plain = measures is None and not self.nearest and settings.prevalence is None
        if plain and plan.method != "pooled":
            along = {kind.x: "vertical", THRESHOLD: THRESHOLD}
            along |= {kind.y: "horizontal"} if kind.y in MONOTONE else {}
            if name in along:
                method: Any = along[name]
                _check_settings((), settings)
                return replace(plan, method=method, grid=as_grid(self.grid, method)), None
        fixed = self.fixed
        if fixed is None and name != THRESHOLD:
            fixed = Measure.of("fixed", name, settings)
        if measures is None:
            axes = [Measure.of("metrics", axis, settings) for axis in (kind.x, kind.y)]
            measures = tuple(one for one in axes if fixed is None or one.known != fixed.known)
        read = [one for one in (fixed, *measures) if one is not None]
        _check_settings(read, settings)
        _check_names(name, measures)
        for argument, one in [("fixed", fixed), *(("metrics", one) for one in measures)]:
            if one is not None and one.reads_threshold and (argument == "fixed" or fixed):
                raise OptionValueError.of(
                    argument,
                    one.name,
                    "it reads the threshold, and between two rows there is none",
                    'Say fixed="threshold", with it among the metrics.',
                )
        for one in measures:
            if plan.interval == "binomial" and one.whole is None:
                wrong = f"{one.name} is no share of a number of rows that is fixed"
                todo = 'Say interval="corrected", say.'
                raise OptionValueError.of("interval", plan.interval, wrong, todo)
        grid = _as_values(self.grid, fixed)
        return plan, Held(
            name=name, fixed=fixed, measures=measures, grid=grid, nearest=self.nearest
        )


def _measures(
    metrics: str | pl.Expr | Sequence[str | pl.Expr], settings: Settings
) -> tuple[Measure, ...]:
    """Read the metrics that are averaged: one, or several."""
    given: list[object] = (
        [metrics]
        if isinstance(metrics, str | pl.Expr) or not hasattr(metrics, "__iter__")
        else [*metrics]
    )
    if not given:
        todo = 'Give one or several, say "precision".'
        raise OptionValueError.of("metrics", metrics, "it names no metric", todo)
    return tuple(Measure.of("metrics", one, settings) for one in given)


def _as_values(grid: Grid, fixed: Measure | None) -> int | str | list[float]:
    """Read `grid`: of thresholds falling, of metrics rising and as far as these go."""
    values = as_grid(grid, THRESHOLD)
    if fixed is None or not isinstance(values, list):
        return values
    low, high = fixed.bounds
    for one in values:
        if not low <= one <= high:
            wrong = f"{one:g} is no value of {fixed.name}"
            todo = f"It lies between {low:g} and {high:g}."
            raise OptionValueError.of("grid", grid, wrong, todo)
    return values[::-1]


def _check_whole(method: str, **given: object) -> None:
    """Check that nothing is asked of a pooled curve, which is there as a whole."""
    for option, value in given.items():
        if value is not None and OF_CLASSES.get(method, (method,))[0] == "pooled":
            wrong = f"method={method!r} makes a whole curve, with its tp, fp, fn, tn"
            todo = "Say fixed= with it, or work metrics out of these."
            raise OptionValueError.of(option, value, wrong, todo)


def _check_settings(read: Sequence[Measure], settings: Settings) -> None:
    """Check that what is said beside the metrics is said to one of them."""
    check_read([one.known for one in read], beta=settings.beta, costs=settings.costs)
    if settings.prevalence is not None and not any(one.mixed for one in read):
        wrong = "no metric depends on it"
        todo = 'Say metrics=["precision"] with it, say, or leave it out.'
        raise OptionValueError.of("prevalence", settings.prevalence, wrong, todo)


def _check_names(name: str, measures: Sequence[Measure]) -> None:
    """Check that no two columns of the table have one name."""
    asked = [name, *(one.name for one in measures)]
    taken = [name, *ABOUT]
    for one in measures:
        for made in spread_of(one.name):
            if made in taken:
                raise RepeatedNameError.of("metrics", made, asked)
            taken.append(made)
