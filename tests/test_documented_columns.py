"""The API pages and the docstrings list the columns of each type of table, in their order."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import polars as pl

import rocframe as rf
from rocframe.inference import Note
from rocframe.kinds import KINDS
from rocframe.schemas import TABLES
from rocframe.schemas.curves import GIVEN_THRESHOLDS, SIMPLIFICATION
from rocframe.schemas.table_type import CURVE_COLUMNS
from tests.all_cases import all_cases
from tests.test_docstrings import DOCUMENTED, lists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rocframe.schemas.table_type import TableType

DOCS = Path(__file__).parents[1] / "docs"
INCLUDE = re.compile(r"```\{include\} \.\./reference/(\w+)\.md\n```")

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

# Types of tables for which the texts do not repeat the columns of the curve.
ADD_TO_CURVE = {"operating_points", "operating_point", "hull"}


def record_columns(table: TableType) -> dict[str, pl.DataType]:
    parameters = inspect.signature(table.columns).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty]
    return table.columns(**{name: ARGUMENTS[name] for name in required})


def without(names: Iterable[str], *omitted: Iterable[str]) -> list[str]:
    left_out = {name for group in omitted for name in group}
    return list(dict.fromkeys(name for name in names if name not in left_out))


def page_text(function: str) -> str:
    """Return the text of the API page of a function below its docstring."""
    text = (DOCS / f"reference/{function}.md").read_text("utf-8")
    return INCLUDE.sub(lambda match: page_text(match[1]), text)


def page_columns(function: str, *, alternative: bool = False) -> list[dict[str, str]]:
    """Return the columns of each table of columns on the page of a function, with their dtypes.

    `alternative` reads the names in parentheses.
    """
    found = []
    for rows in re.findall(r"\n\| column \| dtype.*\n.*\n((?:\|.*\n?)+)", page_text(function)):
        columns: dict[str, str] = {}
        for cell, dtype in (row.split("|")[1:3] for row in rows.splitlines()):
            inside = alternative and "(" in cell
            names = re.findall(r"\(`(\w+)`\)" if inside else r"(?<!\()`(\w+)`", cell)
            columns |= dict.fromkeys(names, dtype.strip())
        found.append(columns)
    return found


def assert_listed(
    table: TableType, found: Sequence[Iterable[str]], *omitted: Iterable[str]
) -> None:
    """Assert that a list has the columns of the record of a type of table."""
    omitted = (*omitted, CONDITIONAL.get(table.name, ()))
    omitted += (CURVE_COLUMNS,) if table.name in ADD_TO_CURVE else ()
    columns = without(record_columns(table), *omitted)
    assert columns in [without(names, *omitted) for names in found], (table.name, columns)


def average_part(names: Iterable[str]) -> list[str]:
    endings = ("_sd", "_se", "_lower", "_upper")
    return [n for n in names if n == "threshold_sd" or not n.endswith(endings)]


# The columns of this function are those of the table that it is given, and metrics.
WITHOUT_COLUMNS = {"add_metrics"}


def test_the_page_of_a_function_lists_the_columns_of_its_table():
    with all_cases() as case:
        for table in TABLES:
            for name in set(table.functions) - WITHOUT_COLUMNS:
                with case(f"{table.name}: {name}"):
                    found = page_columns(name)
                    if table.name == "average":
                        columns = average_part(without(record_columns(table), AVERAGE))
                        assert columns in [average_part(without(part, AVERAGE)) for part in found]
                    elif table.name == "area":
                        cells = re.findall(
                            r"^\| .*(?:curve|average).* \| (`.*`) \|$",
                            page_text(name),
                            re.MULTILINE,
                        )
                        areas = [re.findall(r"`(\w+)`", cell) for cell in cells]
                        assert list(record_columns(table)) in areas
                    elif table.name == "partial_auc":
                        assert_listed(
                            table,
                            [[re.sub("^auc", "partial_auc", c) for c in part] for part in found],
                        )
                    elif table.name == "cost_intervals":
                        assert_listed(table, page_columns(name, alternative=True))
                    else:
                        assert_listed(table, found)


def test_the_pages_list_the_dtypes_of_columns():
    plain = {str(dtype) for dtype in (pl.Float64, pl.Int64, pl.String, pl.Boolean)}
    checked = 0
    with all_cases() as case:
        for table in TABLES:
            for name in set(table.functions) - WITHOUT_COLUMNS:
                dtypes = record_columns(table)
                for columns in page_columns(name):
                    for column in columns.keys() & dtypes.keys():
                        if columns[column] in plain:
                            with case(f"{table.name}: {column}"):
                                assert columns[column] == str(dtypes[column])
                            checked += 1
    assert checked > 400


def test_the_pages_list_the_columns_of_tables_without_a_record():
    others = {
        "compress": ["label", "score"],
        "one_vs_rest": ["id", "class"],
        "windows": ["window", "window_end"],
        "curve": list(GIVEN_THRESHOLDS),
        "simplify": list(SIMPLIFICATION),
    }
    for name, columns in others.items():
        assert columns in [list(part)[: len(columns)] for part in page_columns(name)]


def test_each_text_belongs_to_a_public_name():
    names = {path.stem for path in (DOCS / "reference").glob("*.md")}
    assert names <= set(rf.__all__)
    assert {name for table in TABLES for name in table.functions} <= names


def test_the_page_on_tables_links_to_the_columns_of_each_function():
    linked = re.findall(
        r"api/rocframe\.(\w+)\.rst#columns", (DOCS / "tables.md").read_text("utf-8")
    )
    assert len(linked) == len(set(linked))
    names = [path.stem for path in (DOCS / "reference").glob("*.md")]
    assert set(linked) == {name for name in names if "# Columns\n" in page_text(name)}


def test_the_page_on_tables_lists_the_values_of_note_in_their_order():
    page = (DOCS / "tables.md").read_text("utf-8")
    (rows,) = re.findall(r"\n\| value \| meaning \|\n.*\n((?:\|.*\n)+)", page)
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
