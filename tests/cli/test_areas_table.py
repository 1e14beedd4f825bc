from __future__ import annotations

import polars as pl

import rocframe as rf
from rocframe.cli.text_tables import areas_table

LOG = pl.DataFrame(
    {
        "model": ["a", "a", "a", "a", "b", "b"],
        "label": [True, False, True, False, False, False],
        "score": [0.9, 0.4, 0.4, 0.1, 0.1, None],
    }
)


def table(log=LOG, **options):
    options = {"by": "model", "missing": "drop", **options}
    return rf.auc(log, "label", "score", **options)


def test_the_table_has_a_line_per_group_and_aligned_numbers():
    assert areas_table(table(), width=None).splitlines() == [
        "model     AUC     95 % interval  n_pos  n_neg  n_missing  note",
        "a      0.8750  0.0066 to 0.9999      2      2          0",
        "b           -                 -      0      1          1  no_positives",
    ]


def test_columns_of_groups_intervals_and_notes_are_omitted_if_there_are_none():
    text = areas_table(table(LOG.filter(model="a"), by=None, ci=None), width=None)
    assert text.splitlines() == [
        "   AUC  n_pos  n_neg  n_missing",
        "0.8750      2      2          0",
    ]


def test_names_are_shortened_to_the_width_of_the_terminal():
    long = LOG.with_columns(model=pl.col("model") + pl.lit("x" * 80))
    lines = areas_table(table(long), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert "…  " in lines[1]


def test_lines_are_longer_than_a_terminal_that_is_too_narrow():
    lines = areas_table(table(), width=20).splitlines()
    assert lines[1].startswith("a      0.8750")


def test_wide_characters_take_two_columns():
    lines = areas_table(table(LOG.with_columns(model=pl.lit("模型"))), width=None).splitlines()
    assert lines[0].startswith("model     AUC")
    assert lines[1].startswith("模型   0.9167")


def test_control_characters_are_escaped():
    odd = LOG.with_columns(model=pl.lit("\x1b[31m\n"))
    assert "'\\x1b[31m\\n'" in areas_table(table(odd), width=None)


def test_null_and_the_text_null_are_distinct():
    odd = LOG.with_columns(model=pl.when(pl.col("model") == "a").then(pl.lit("null")))
    lines = areas_table(table(odd), width=None).splitlines()
    assert [line.split()[0] for line in lines] == ["model", "null", "'null'"]


def test_long_tables_end_with_the_number_of_other_groups():
    lines = areas_table(table(), width=None, max_rows=1).splitlines()
    assert len(lines) == 3
    assert lines[-1] == "... and 1 more group"
