"""Tables for tests of expressions, with missing values in every column."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl
from hypothesis import strategies as st

from tests.oracles import Case
from tests.strategies import column

if TYPE_CHECKING:
    from collections.abc import Callable

TIED = st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, None, math.nan])
ANY = TIED | st.floats(allow_nan=False)
COLUMNS = {
    "label": (pl.Boolean, [True, False, True, False, None]),
    "score": (pl.Float64, TIED | ANY),
    "weight": (pl.Float64, [0.0, 0.1, 0.5, 1.0, 3.0, None, math.nan]),
    "count": (pl.Int64, [0, 1, 2, 3, None]),
}
# How a row's importance is said: nothing, one of the two, or both.
WEIGHTS = [{}, {"count": "count"}, {"weight": "weight"}, {"weight": "weight", "count": "count"}]


@st.composite
def holed(
    draw: Callable[..., Any], *, scores: st.SearchStrategy[Any] | None = None
) -> pl.DataFrame:
    """Draw a table with several groups, one of them null, and missing values in all columns."""
    groups = ["a", "b", None]
    group = [groups[code % 3] for code in draw(st.binary(max_size=20))]
    data = {"group": pl.Series(group, dtype=pl.String)}
    for name, (dtype, values) in COLUMNS.items():
        chosen = scores if name == "score" and scores is not None else values
        data[name] = pl.Series(draw(column(chosen, len(group))), dtype=dtype)
    return pl.DataFrame(data)


def missing(value: float | None) -> bool:
    return value is None or math.isnan(value)


def used(table: pl.DataFrame, weights: dict[str, str]) -> list[Case]:
    """Return the rows that an expression counts, those without missing values."""
    cases = []
    for row in table.iter_rows(named=True):
        if not any(missing(row[name]) for name in ("label", "score", *weights)):
            count = row["count"] if "count" in weights else 1
            weight = Fraction(row["weight"]) if "weight" in weights else Fraction(1)
            cases.append(Case(row["label"], row["score"], count, weight))
    return [case for case in cases if case.mass]


def expected(
    table: pl.DataFrame, weights: dict[str, str], oracle: Callable[[list[Case]], Any]
) -> pl.DataFrame:
    """Return the value of the oracle for each group, sorted by group."""
    groups = table["group"].unique().sort().to_list()
    found = [oracle(used(table.filter(pl.col("group").eq_missing(g)), weights)) for g in groups]
    numbers = [None if number is None else float(number) for number in found]
    schema = {"group": pl.String, "score": pl.Float64}
    return pl.DataFrame({"group": groups, "score": numbers}, schema=schema)


def actual(table: pl.DataFrame, expression: pl.Expr, *, engine: Any = "in-memory") -> pl.DataFrame:
    """Evaluate an expression in each group, sorted by group."""
    return table.lazy().group_by("group").agg(expression).sort("group").collect(engine=engine)
