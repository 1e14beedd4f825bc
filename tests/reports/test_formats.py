from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from rocframe.text import (
    format_count,
    format_interval,
    format_name,
    format_number,
    format_percent,
    format_values,
    join_names,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a b", "a b"), ("", "''"), (" a", "' a'"), ("a\n", "'a\\n'"), ("\u202e", "'\\u202e'")],
)
def test_invisible_text_is_quoted(text, shown):
    assert format_name(text) == shown


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["null", None, "a"], ["'null'", "null", "a"]),
        ([True, None], ["true", "null"]),
        (pl.Series([0.1], dtype=pl.Float32), ["0.1"]),
        ([date(2024, 1, 2)], ["2024-01-02"]),
        ([[1, 2]], ["[1, 2]"]),
        (pl.Series(["b"], dtype=pl.Enum(["b"])), ["b"]),
    ],
)
def test_group_values_become_text(values, shown):
    assert format_values(pl.Series(values)) == shown


def test_missing_numbers_have_no_text():
    assert format_number(None) is None
    assert format_number(0.81) == "0.8100"
    assert format_number(-0.00001) == "0.0000"
    assert format_number(-0.00009) == "−0.0001"
    assert format_interval(None, None) is None
    assert format_interval(0.5, 1.0) == "0.5000 to 1.0000"
    assert format_interval(0.5, None, brackets=True) is None
    assert format_interval(-0.5, 1.0, 3, brackets=True) == "[−0.500, 1.000]"


def test_percentages_have_at_most_four_digits():
    assert [format_percent(share) for share in (0.95, 0.999, 0.12345)] == [
        "95 %",
        "99.9 %",
        "12.35 %",
    ]


def test_counts_and_names_are_written_as_in_a_sentence():
    assert [format_count(n, "file") for n in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]
    assert [join_names([*"abc"][:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
