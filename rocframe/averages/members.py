"""Curve tables → groups of curves that are averaged: which, how much each counts, which not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.frames import column
from rocframe.options import as_number
from rocframe.spelling import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves

NAMED = 10  # curves that a note names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """The curves of all groups, group after group.

    Group i has the curves `curve[starts[i]]` to `curve[starts[i + 1] - 1]`, numbers in the table
    of curves. `usable` says which have both classes, `weight` how much each counts.
    """

    keys: pl.DataFrame
    curves: Curves
    curve: NDArray[np.int64]
    starts: NDArray[np.int64]
    usable: NDArray[np.bool_]
    weight: NDArray[np.float64]
    notes: list[str | None]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many curves each group has, left out ones among them."""
        return np.diff(self.starts)


def members_of(
    curves: Curves,
    over: Sequence[str],
    weights: str | Mapping[Any, float],
    argument: str = "weights",
) -> Members:
    """Put the curves of each group together, in the order of their keys.

    `argument` is the one that says how much each counts.
    """
    keys, (curve, starts) = grouped(curves.keys, over)
    pos, neg = (_last_total(curves, *names) for names in (("tp", "fn"), ("fp", "tn")))
    usable = (pos > 0) & (neg > 0)
    told = spelled(curves.keys, over)
    weight = _weights(curves.keys, over, weights, argument, rows=pos + neg, positives=pos)
    usable, weight, told = usable[curve], weight[curve], told[curve]
    return Members(
        keys=keys,
        curves=curves,
        curve=curve,
        starts=starts,
        usable=usable,
        weight=weight,
        notes=left_out(told, usable, starts),
    )


def grouped(
    keys: pl.DataFrame, over: Sequence[str]
) -> tuple[pl.DataFrame, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the keys without `over`, sorted, and which rows of `keys` each of them has."""
    rest = [name for name in keys.columns if name not in over]
    if not rest:
        size = keys.height
        groups = 1 if size else 0
        return pl.DataFrame(height=groups), (
            np.arange(size),
            np.array([0, size] if groups else [0], np.int64),
        )
    hidden = keys.select(column(name).alias(str(i)) for i, name in enumerate(rest))
    found = (
        hidden.with_columns(pl.int_range(keys.height).alias("row"))
        .group_by(hidden.columns)
        .agg(pl.col("row").sort())
        .sort(hidden.columns)
    )
    starts = np.append(0, np.cumsum(found["row"].list.len().to_numpy(), dtype=np.int64))
    rows = found["row"].explode(empty_as_null=False).to_numpy().astype(np.int64)
    named = found.select(hidden.columns).rename(dict(zip(hidden.columns, rest, strict=True)))
    return named, (rows, starts.astype(np.int64))


def left_out(
    told: NDArray[np.object_], usable: NDArray[np.bool_], starts: NDArray[np.int64]
) -> list[str | None]:
    """Say of each group how many curves lack a class, and name them."""
    notes: list[str | None] = [None] * (len(starts) - 1)
    lost = np.flatnonzero(~usable)
    group = np.searchsorted(starts, lost, "right") - 1
    for i in np.unique(group):
        names = list(told[lost[group == i]])
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        notes[i] = f"left_out:{len(names)} ({', '.join(names[:NAMED])}{more})"
    return notes


def spelled(keys: pl.DataFrame, over: Sequence[str]) -> NDArray[np.object_]:
    """Spell out the key of each curve."""
    columns = [words(keys.get_column(name)) for name in over]
    told = np.empty(keys.height, object)
    told[:] = [" ".join(key) for key in zip(*columns, strict=True)]
    return told


def _weights(
    keys: pl.DataFrame,
    over: Sequence[str],
    weights: str | Mapping[Any, float],
    argument: str,
    **known: NDArray[np.float64],
) -> NDArray[np.float64]:
    if isinstance(weights, str):
        return known.get(weights, np.ones(keys.height))
    columns = [keys.get_column(name).to_list() for name in over]
    asked = columns[0] if len(over) == 1 else list(zip(*columns, strict=True))
    found = np.ones(keys.height)
    for i, key in enumerate(asked):
        if key not in weights:
            raise OptionValueError.of(
                argument,
                weights,
                f"it has no weight for {key!r}",
                f"Give one for every value of {' and '.join(map(repr, over))}.",
            )
        found[i] = as_number(weights[key])
    return found


def _last_total(curves: Curves, first: str, second: str) -> NDArray[np.float64]:
    """Return the size of a class, as the last row has it: weighted rates end at exactly 1."""
    first_counts, second_counts = (curves.walk.at(name, curves.lasts) for name in (first, second))
    total: NDArray[np.float64] = (first_counts + second_counts).astype(np.float64)
    return total
