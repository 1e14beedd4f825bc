"""The formats of tables for other programs: JSON, JSON Lines and CSV, on stdout or in a file."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from rocframe.errors import StorageError
from rocframe.io.files import FILE_FORMATS, check_target, write_text
from rocframe.io.tables import check_table_path, write
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """A text format: its name, which is also the suffix of its files, and the text of a table."""

    name: str
    to_text: Callable[[pl.DataFrame], str]


def _json_text(table: pl.DataFrame) -> str:
    """Return an array with one object for each row, on a line of its own."""
    return "[\n" + ",\n".join(_row_objects(table)) + "\n]\n" if table.height else "[]\n"


def _json_lines_text(table: pl.DataFrame) -> str:
    return "".join(f"{row}\n" for row in _row_objects(table))


def _csv_text(table: pl.DataFrame) -> str:
    """Return lines of CSV; a null is an empty field, and an empty text is quoted."""
    nested = [name for name, dtype in table.schema.items() if dtype.is_nested()]
    plain = _plain_columns(table).with_columns(
        pl.Series(name, [json.dumps(_plain_value(value)) for value in table[name]], pl.String)
        for name in nested
    )
    return plain.write_csv()


TEXT_FORMATS = {
    text_format.name: text_format
    for text_format in (
        TextFormat(name="json", to_text=_json_text),
        TextFormat(name="jsonl", to_text=_json_lines_text),
        TextFormat(name="csv", to_text=_csv_text),
    )
}


def _plain_columns(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with times in ISO format and bytes as hexadecimal digits."""
    return table.with_columns(
        cs.temporal().dt.to_string("iso:strict"), cs.binary().bin.encode("hex")
    )


def _row_objects(table: pl.DataFrame) -> list[str]:
    """Return each row as a JSON object."""
    columns = [map(_plain_value, column) for column in _plain_columns(table)]
    return [
        json.dumps(dict(zip(table.columns, row, strict=True)), allow_nan=False)
        for row in zip(*columns, strict=True)
    ]


def _plain_value(value: Any) -> Any:
    """Return a value that JSON has; infinite numbers and NaN are the texts inf, -inf and nan."""
    match value:
        case float():
            return value if isfinite(value) else str(value)
        case None | bool() | int() | str():
            return value
        case dict():
            return {name: _plain_value(item) for name, item in value.items()}
        case list() | pl.Series():
            return [_plain_value(item) for item in value]
    return str(value)  # such as decimals and times in lists


def is_table_path(path: Path) -> bool:
    """Return whether a path has the suffix of a file with a table, and is no folder."""
    suffix = path.suffix.lower()
    is_known = suffix in FILE_FORMATS or suffix.removeprefix(".") in TEXT_FORMATS
    return is_known and not path.is_dir()


def check_result_path(path: Path) -> None:
    """Raise an error if `write_result` cannot write to this path."""
    if _text_format(path) is not None:
        check_target(path)
    elif path.suffix.lower() in FILE_FORMATS:
        check_table_path(path)
    else:
        suffixes = [f".{name}" for name in TEXT_FORMATS] + list(FILE_FORMATS)
        hint = f"Supported: {format_list(suffixes)}."
        raise StorageError.compose(path, f"unknown suffix {path.suffix!r}", hint)


def write_result(table: pl.DataFrame, path: Path, about: Mapping[str, object]) -> None:
    """Write a table in the format of the suffix; only Parquet and Arrow files have metadata."""
    if (text_format := _text_format(path)) is not None:
        write_text(path, text_format.to_text(table))
    else:
        write(table, path, about=about)


def _text_format(path: Path) -> TextFormat | None:
    return TEXT_FORMATS.get(path.suffix.lower().removeprefix("."))


def print_table(table: pl.DataFrame, format_name: str) -> None:
    """Print a table in a text format, in UTF-8 and with the same line ends on all systems."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.write(TEXT_FORMATS[format_name].to_text(table))
