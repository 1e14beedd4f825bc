"""The page on tables and the docstrings list the columns of each type of table, in their order."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import polars as pl

from rocframe.inference import Note
from rocframe.kinds import KINDS
from rocframe.schemas import TABLES
from rocframe.schemas.curves import GIVEN_THRESHOLDS, SIMPLIFICATION
from rocframe.schemas.table_type import CURVE_COLUMNS
from tests.all_cases import all_cases
from tests.test_docstrings import DOCUMENTED, lists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rocframe.schemas.table_type import TableType

PAGE = Path(__file__).parents[1] / "docs/tables.md"

# Values for the arguments of the functions that return the columns of a type of table.
ARGUMENTS = {
    "count": pl.Int64(),
    "model": pl.String(),
    "area": "auc",
    "over": pl.String(),
    "metric": "auc",
    "best_of": True,
    "kind": KINDS["roc"],
    "fixed": "fpr",
    "averaged": ("tpr",),
    "sides": False,
    "label": pl.String(),
    "reading": pl.String(),
}

# The names of the axes and of other columns of an average depend on its options.
AVERAGE = {"fpr", "tpr", "side"}

# Columns that exist only with some options, and words that are not names of columns.
CONDITIONAL = {
    "curve": {"prevalence"},
    "iso_lines": {"prevalence", "alert_rate"},
    "mix": {"prevalence", "across", "_above", "_below"},
    "cost_curve": {"across", "second_cost", "cost_difference"},
    "hull": {"across"},
    "summary": {"model"},
    "h_measure": {"model"},
    "calibration": {"model", "consistency_lower", "consistency_upper"},
    "calibration_summary": {"model"},
    "gains": {"model"},
    "fit_calibration": {"model", "over"},
    "murphy_curve": {"side"},
    "transfer": {"prevalence", "subject_to", "is_met"},
    "comparison": {"metric", "ratio", "ratio_lower", "ratio_upper", "threshold_a", "threshold_b"},
}

# Types of tables for which the page and the docstring do not repeat the columns of the curve.
ADD_TO_CURVE = {"operating_points", "operating_point", "hull"}


def record_columns(table: TableType) -> list[str]:
    parameters = inspect.signature(table.columns).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty]
    return list(table.columns(**{name: ARGUMENTS[name] for name in required}))


def without(names: Iterable[str], *omitted: Iterable[str]) -> list[str]:
    left_out = {name for group in omitted for name in group}
    return list(dict.fromkeys(name for name in names if name not in left_out))


def page_columns(*, alternative: bool = False) -> list[list[str]]:
    """Return the first cells of each table of columns; `alternative` reads names in parentheses."""
    found = []
    for rows in re.findall(r"\n\| column \| dtype.*\n.*\n((?:\|.*\n?)+)", PAGE.read_text("utf-8")):
        columns = []
        for cell in (row.split("|")[1] for row in rows.splitlines()):
            inside = alternative and "(" in cell
            columns += re.findall(r"\(`(\w+)`\)" if inside else r"(?<!\()`(\w+)`", cell)
        found.append(columns)
    return found


def assert_listed(table: TableType, found: list[list[str]], *omitted: Iterable[str]) -> list[str]:
    """Assert that a list has the columns of the record of a type of table; return this list."""
    omitted = (*omitted, CONDITIONAL.get(table.name, ()))
    omitted += (CURVE_COLUMNS,) if table.name in ADD_TO_CURVE else ()
    columns = without(record_columns(table), *omitted)
    same = [names for names in found if without(names, *omitted) == columns]
    assert same, (table.name, columns)
    return same[0]


def average_part(names: Iterable[str]) -> list[str]:
    endings = ("_sd", "_se", "_lower", "_upper")
    return [n for n in names if n == "threshold_sd" or not n.endswith(endings)]


def test_the_page_on_tables_lists_the_columns_of_each_type_of_table():
    found, alternative = page_columns(), page_columns(alternative=True)
    areas = re.findall(
        r"^\| (?:curve|any curve|average).* \| (`.*`) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    areas = [re.findall(r"`(\w+)`", cell) for cell in areas]
    partial = [[re.sub("^auc", "partial_auc", name) for name in names] for names in found]
    averages = [average_part(without(names, AVERAGE)) for names in found]
    listed = []
    with all_cases() as case:
        for table in TABLES:
            with case(f"{table.name}: {record_columns(table)}"):
                if table.name == "average":
                    columns = average_part(without(record_columns(table), AVERAGE))
                    assert columns in averages
                    listed.append(found[averages.index(columns)])
                elif table.name == "area":
                    assert record_columns(table) in areas
                elif table.name == "partial_auc":
                    assert_listed(table, partial)
                elif table.name == "cost_intervals":
                    assert_listed(table, alternative)
                else:
                    listed.append(assert_listed(table, found))
    # Tables without a record of their own: totals, predictions that are compressed, of many classes
    # or in windows, curves at given thresholds, simplified curves, averages of metrics, all areas.
    others = [names for names in found if names not in listed]
    assert [names[:2] for names in others] == [
        ["total"],
        ["label", "score"],
        ["id", "class"],
        ["window", "window_end"],
        list(GIVEN_THRESHOLDS),
        list(SIMPLIFICATION),
        ["_sd", "_se"],
        ["auc", "partial_auc"],
    ]


def test_the_page_on_tables_lists_the_values_of_note_in_their_order():
    (rows,) = re.findall(r"\n\| value \| meaning \|\n.*\n((?:\|.*\n)+)", PAGE.read_text("utf-8"))
    cells = "".join(row.split("|")[1] for row in rows.splitlines())
    assert re.findall(r"`(\w+)[^`]*`", cells) == list(get_args(Note))


# Functions whose docstring has the columns in several lists, or describes them in another way.
SEVERAL_LISTS = {"average", "at", "operating_point", "mix", "iso_lines", "combine_points"}
SEVERAL_LISTS |= {"add_metrics", "hull"}
# Types of tables that a function returns with some options only.
WITH_OPTIONS = {"partial_auc", "cost_intervals"}


def documented_lists(function: Callable) -> list[list[str]]:
    return [without(names, {"*by"}) for names in lists(function)]


def test_docstrings_list_the_columns_of_each_type_of_table():
    with all_cases() as case:
        for table in TABLES:
            for name in set(table.functions) - SEVERAL_LISTS:
                with case(f"{table.name}: {name}"):
                    if table.name in WITH_OPTIONS:
                        words = {word for names in lists(DOCUMENTED[name]) for word in names}
                        assert set(record_columns(table)) <= words
                    else:
                        best_of = {"p_best", "auc_by_chance", "best_of"}
                        assert_listed(table, documented_lists(DOCUMENTED[name]), best_of, {"model"})


def test_the_page_of_a_function_shows_the_columns_of_its_table(monkeypatch):
    monkeypatch.syspath_prepend(str(PAGE.parent))
    columns_of = import_module("reference").columns_of
    functions = {name for table in TABLES for name in table.functions}
    without = {name for name in functions if columns_of(name) is None}
    # These columns are those of a curve, or depend on the kind, or are described in a sentence.
    assert without == {"add_metrics", "area", "fit_calibration", "theoretical_curve"}
    heading, (header, *rows) = columns_of("drift")
    assert (heading, header) == ("Drift", "| column | dtype | meaning | null |")
    assert any(row.startswith("| `difference` | Float64 |") for row in rows)
