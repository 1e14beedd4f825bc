"""The methods that make a band: what each promises, and of which rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rocframe.errors import OptionValueError, UnknownOptionError
from rocframe.options import check_choice
from rocframe.quoting import listed

if TYPE_CHECKING:
    from rocframe.predictions import Column

Scope: TypeAlias = Literal["pointwise", "simultaneous"]
MethodName: TypeAlias = Literal[
    "kolmogorov_smirnov",
    "fixed_width",
    "envelope",
    "working_hotelling",
    "bootstrap",
    "binomial",
    "threshold",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """What a band promises: one point at a time, or the whole curve at once.

    `drawn` bands are made of resampled curves; only these take weighted rows.
    """

    name: MethodName
    scope: Scope
    drawn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the caller wants of a band; `grid` is None for the points of each curve."""

    method: Method
    level: float
    grid: tuple[float, ...] | None


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name="kolmogorov_smirnov", scope="simultaneous"),
        Method(name="fixed_width", scope="simultaneous", drawn=True),
        Method(name="envelope", scope="simultaneous", drawn=True),
        Method(name="working_hotelling", scope="simultaneous"),
        Method(name="bootstrap", scope="pointwise", drawn=True),
        Method(name="binomial", scope="pointwise"),
        Method(name="threshold", scope="pointwise"),
    )
}


def method_named(name: str, weight: Column | None) -> Method:
    """Return the method of this name, if it can do what is asked of it."""
    if name is None:
        raise UnknownOptionError.of("method", name, METHODS)
    check_choice("method", name, METHODS)
    method = METHODS[name]
    if weight is not None and not method.drawn:
        drawn = [other.name for other in METHODS.values() if other.drawn]
        raise OptionValueError.of(
            "weight",
            weight,
            f"the band {name!r} has no form for weighted rows",
            f"Choose one of: {listed(drawn)}; or say count= if a row stands for several.",
        )
    return method
