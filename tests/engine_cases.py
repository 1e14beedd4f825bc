"""Predictions with difficult values, and calls of `compress`, for the tests of other engines."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import rocframe as rf

N = 200


def engine_predictions() -> pl.DataFrame:
    """Return predictions with labels, scores and keys of many dtypes, and with missing values."""
    rng = np.random.default_rng(3)

    def column(values: list, dtype: pl.DataType | None = None, *, missing: float = 0.1):
        chosen = [values[i] for i in rng.integers(0, len(values), N)]
        masked = rng.random(N) < missing
        values = [None if m else v for v, m in zip(chosen, masked, strict=True)]
        return pl.Series(values, dtype=dtype)

    decimals = [Decimal("0.125"), Decimal("1.500"), Decimal("-0.250")]
    times = [datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), datetime(2025, 12, 31, tzinfo=UTC)]
    return pl.DataFrame(
        {
            "text": column(["yes", "no", ""]),
            "day": column([date(2026, 1, 1), date(2025, 1, 1)]),
            "time": column(times),
            "key": column([0.5, 0.0, -0.0]),
            "bool": column([True, False]),
            "integer": column([0, 1]),
            "small": column([0, 1], pl.Int8),
            "float": column([0.0, 1.0, nan, -0.0]),
            "score": column([0.0, -0.0, nan, 0.1, 1 / 3, -1e-9, 2.5, -3.7, inf, -inf, 1e-320]),
            "single": column([0.0, -0.0, 0.1, -2.7, nan, 3e-30], pl.Float32),
            "decimal": column(decimals, pl.Decimal(9, 3)),
            "rank": column([3, -2, 7, 100]),
            "weight": column([0.5, 1.0, 2.0], missing=0),
            "n": column([1, 2, 0], missing=0),
        }
    )


# The arguments of each call. The comments state which results of engines can differ.
CALLS = {
    # NaN, null and -0.0 in scores and keys
    "Boolean labels": {"label": "bool", "score": "score", "by": ["text", "day", "time"]},
    "float labels": {"label": "float", "score": "score", "by": "key"},
    "numbers": {"label": "integer", "score": "single", "by": "bool"},
    "text": {"label": "text", "score": "decimal", "positive": "yes"},
    "false": {"label": "bool", "score": "rank", "positive": False},
    "dates": {"label": "day", "score": "score", "positive": date(2025, 1, 1)},
    "times": {"label": "time", "score": "rank", "positive": datetime(2025, 12, 31, tzinfo=UTC)},
    "decimals": {"label": "decimal", "score": "bool", "positive": Decimal("1.5")},
    # division and floor
    "resolution": {"label": "small", "score": "score", "resolution": 0.1},
    "relative": {"label": "bool", "score": "score", "resolution": 0.1, "relative": True},
    "envelope": {"label": "bool", "score": "single", "by": "text", "max_envelope": 0.1},
    # sums, and the dtypes of their results
    "weights": {"label": "bool", "score": "score", "weight": "weight", "by": "text"},
    "counts": {"label": "small", "score": "score", "count": "n", "weight": "rank"},
    "several": {"label": "bool", "score": {"a": "score", "b": "decimal"}, "resolution": 0.5},
}
SPARK_CALLS = ("Boolean labels", "float labels", "text", "relative", "envelope", "counts")


def check_engine(table, frame: pl.DataFrame, call: dict) -> None:
    """Check that `compress` returns the same cells for a table of an engine and for polars."""
    expected = rf.compress(frame, **call)
    found = rf.compress(table, **call)
    assert_frame_equal(found, expected)
    for name in {"score", "a"} & {*found.columns}:  # frames with 0.0 and -0.0 are equal
        zeros = found.filter(pl.col(name) == 0)[name].cast(pl.Float64)
        assert not np.signbit(zeros.to_numpy()).any()
