"""Hypothesis strategies: small tables of predictions of every shape that scores come in.

Every table has the columns `group` (String, null is a group), `label` (Boolean) and `score`, and,
where asked for, `weight` or `count`. Groups of one class, and of no used row, come up by chance.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

GREATEST = 1.7976931348623157e308
SMALLEST = 5e-324

# Neighbours that a tolerance would tie, zeros of both signs, and both ends of Float64.
# fmt: off
EDGES = [
    0.0, -0.0, SMALLEST, -SMALLEST, 2.2250738585072014e-308, 0.3, 0.1 + 0.2, 0.5, 1.0,
    math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0), -1.0, GREATEST, -GREATEST,
]
# fmt: on
INFINITE = [math.inf, -math.inf]


def examples(share: float) -> settings:
    """Use a share of the profile's examples: for a slow test, or one that is repeated often."""
    return settings(max_examples=max(1, round(share * settings().max_examples)))


class Shape(NamedTuple):
    """A column of scores: its type and its values, either a list or a strategy."""

    dtype: Any
    values: list[Any] | st.SearchStrategy[Any]


# Drawing a column from a list of values takes one draw, and one draw for each row otherwise.
TIED = Shape(pl.Float64, [0.0, 0.25, 0.5, 1.0])
PLAIN = Shape(pl.Float64, st.floats(0, 1, allow_subnormal=False))
SHAPES = {
    "tied": TIED,
    "probabilities": PLAIN,
    "any float": Shape(pl.Float64, st.floats(allow_nan=False)),
    "edges": Shape(pl.Float64, [*EDGES, *INFINITE]),
    "infinite": Shape(pl.Float64, [*INFINITE, 0.0]),
    "negative": Shape(pl.Float64, st.floats(-2, -0.5)),
    "denormal": Shape(pl.Float64, [i * SMALLEST for i in (0, 1, 2, 3, -1, -2, -3)]),
    "any float32": Shape(pl.Float32, st.floats(allow_nan=False, width=32)),
    "tied float32": Shape(pl.Float32, [-1.0, 0.0, 0.5, math.inf]),
    "wide float32": Shape(pl.Float32, [2.0**-149, -(2.0**-149), 2.0**127, -(2.0**127), 0.0]),
    "int64": Shape(pl.Int64, st.integers(-(2**53), 2**53)),
    "int8": Shape(pl.Int8, list(range(-128, 128))),
    "uint8": Shape(pl.UInt8, list(range(256))),
    "boolean": Shape(pl.Boolean, [False, True]),
}

# Weights whose sums and products Float64 holds exactly, and weights where it does not.
EXACT_WEIGHTS = [i / 4 for i in range(9)]
ANY_WEIGHTS = [0.0, 0.1, 0.3, 1.0, 7.7] * 25 + [
    0.1 + 9.9 * math.modf(i / 1.618)[0] for i in range(125)
]
COUNTS = [1, 2, 3, 0]


def any_shape() -> st.SearchStrategy[Shape]:
    return st.sampled_from(list(SHAPES.values()))


@st.composite
def tables(
    draw: Callable[..., Any],
    *,
    shape: Shape | None = None,
    mass: dict[str, list[Any] | st.SearchStrategy[Any]] | None = None,
    missing: bool = False,
    max_size: int = 24,
    min_size: int = 0,
) -> pl.DataFrame:
    """Draw a table; `mass` names columns to add and what they hold.

    With `missing`, some scores are null (or NaN, where they are floats). Every other table has
    rows enough, in groups few enough, for all that is undefined in small ones.
    """
    dtype, values = draw(any_shape()) if shape is None else shape
    rich = draw(st.booleans())
    groups = draw(st.sampled_from([["a"], ["a", None]])) if rich else ["a", "b", None]
    least = max(min_size, 14) if rich else min_size
    # Three of four scores are present.
    nan = math.nan if dtype in {pl.Float32, pl.Float64} else None
    absent = [False, False, False, False, False, False, None, nan] if missing else [False]
    rows = list(product(absent, groups, [False, True]))
    rows = [rows[i % len(rows)] for i in draw(st.binary(min_size=least, max_size=max_size))]
    scores = draw(column(values, len(rows)))
    masses = {name: draw(column(values, len(rows))) for name, values in (mass or {}).items()}
    data = {
        "group": [group for _, group, _ in rows],
        "label": [label for _, _, label in rows],
        "score": [
            score if gone is False else gone
            for score, (gone, _, _) in zip(scores, rows, strict=True)
        ],
        **masses,
    }
    kinds = {name: pl.Int64 if name == "count" else pl.Float64 for name in masses}
    return pl.DataFrame(
        data, schema={"group": pl.String, "label": pl.Boolean, "score": dtype, **kinds}
    )


def column(values: list[Any] | st.SearchStrategy[Any], height: int) -> st.SearchStrategy[list[Any]]:
    """Draw as many values from a list of at most 256, or from a strategy."""
    if isinstance(values, list):
        codes = st.binary(min_size=height, max_size=height)
        return codes.map(lambda drawn: [values[code % len(values)] for code in drawn])
    return st.lists(values, min_size=height, max_size=height)


def both_classes(table: pl.DataFrame) -> bool:
    """Return whether a table, as one group, has positives and negatives."""
    return table["label"].n_unique() == 2


def shuffled(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    return table.sample(fraction=1, shuffle=True, seed=seed)


def repeated(table: pl.DataFrame, by: str) -> pl.DataFrame:
    """Repeat each row by the number in a column, and drop that column."""
    rows = [i for i, times in enumerate(table[by].to_list()) for _ in range(int(times))]
    return table.drop(by)[rows]


def ranked(scores: pl.Series) -> pl.Series:
    """Map scores to small whole numbers in the same order."""
    # -0.0 and 0.0 are one score; polars ranks them so.
    return scores.rank("dense").cast(pl.Int64)
