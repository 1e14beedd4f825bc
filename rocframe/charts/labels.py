"""Names and numbers as chart text and as JSON values."""

from __future__ import annotations

import re
from collections import Counter
from json import dumps
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Any
from unicodedata import combining

import altair as alt
import polars as pl

from rocframe.inference import SEPARATOR
from rocframe.schemas.table_type import THRESHOLD
from rocframe.text import format_name, format_percent, format_values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

MAX_NAME_LENGTH = 48
CHART_DIGITS = 7  # of numbers in charts
ALL_DIGITS = 17  # sufficient for every Float64
MIN_EXACT = 1e7  # larger floats, such as sums of costs, are not rounded to CHART_DIGITS
RATE_FORMAT, COUNT_FORMAT = ".4~g", ",.2~f"

# The members of every JavaScript object, and the Vega keyword `if`. Vega does not draw a chart with
# one of these texts, because it reads the text as the name of a variable.
JAVASCRIPT_NAMES = frozenset(
    {"if", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"}
    | {"__proto__", "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"}
    | {"toLocaleString", "toString", "valueOf"}
)
# Suffixes of names of calculated fields, which begin with "_" if they are not columns of a table.
CALCULATED = ("_deviate", "_logit")
WORD_JOINER = "\u2060"  # an invisible character without width


def short_name(name: str) -> str:
    """Return a name with escaped invisible characters, shortened if it is long."""
    return shorten(format_name(name), MAX_NAME_LENGTH)


def shorten(text: str, length: int) -> str:
    """Remove the middle of a long text, because similar names often differ only at their ends."""
    if len(text) <= length:
        return chart_text(text)
    start, end = length - 16, len(text) - 15
    while start and not _is_boundary(text, start):
        start -= 1
    while end < len(text) and not _is_boundary(text, end):
        end += 1
    return f"{text[:start]}…{text[end:]}"


def _is_boundary(text: str, index: int) -> bool:
    """Return whether a text can be cut before `index` without dividing a letter or an emoji."""
    return text[index - 1] != "\u200d" and not (
        text[index] == "\u200d"
        or combining(text[index])
        or text[index] == "\ufe0f"
        or "\U0001f3fb" <= text[index] <= "\U0001f3ff"  # skin tones
    )


def chart_text(text: str) -> str:
    """Add an invisible character to a text that equals one of JAVASCRIPT_NAMES."""
    return text + WORD_JOINER if text in JAVASCRIPT_NAMES else text


def field_name(name: str, taken: Collection[str] = ()) -> str:
    """Return the name of a column as the name of a field in the data of a chart.

    It is the name of the column, unless Vega-Lite cannot use this name, or another field has it.
    """
    # Vega-Lite reads a backslash as an escape character, more often than it is escaped.
    field = chart_text(format_name(name)).replace("\\", "⧵")
    while field in taken or field.startswith("_") or field.endswith(CALCULATED):
        field = f"({field})"
    return field


def escape_field(field: str) -> str:
    """Return a name of a field for an encoding or a transform, which read dots as nested fields."""
    return re.sub(r"""([\\.\[\]'"])""", r"\\\1", field)


def datum(field: str) -> str:
    """Return the Vega expression of the value of a field."""
    return f"datum[{dumps(field, ensure_ascii=False)}]"


def distinct_labels(values: pl.Series, length: int = MAX_NAME_LENGTH) -> list[str]:
    """Return a different text, of about `length` characters, for each of the distinct `values`."""
    return distinct_texts([shorten(text, length) for text in format_values(values)])


def distinct_texts(texts: Sequence[str]) -> list[str]:
    """Append a number to repeated texts, such as times that differ by nanoseconds."""
    total, number = Counter(texts), Counter[str]()
    result = []
    for text in texts:
        number[text] += 1
        result.append(text if total[text] == 1 else f"{text} ({number[text]})")
    return result


def sentences(*parts: str, end: str = ".") -> str:
    """Join the parts that are not empty as sentences."""
    return ". ".join(part for part in parts if part) + end


def number_text(value: Any) -> str:
    """Return a number with 3 decimals, or with 4 digits if it is at least 10, as text."""
    if not isinstance(value, int | float):
        return "undefined" if value is None else str(value)
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:,.4g}"
    return "0.000" if text == "-0.000" else text


def distinct_number_texts(numbers: pl.Series) -> list[str]:
    """Return numbers as text: with 7 digits, or with all digits if rounded numbers would be equal.

    The texts of different numbers are different.
    """
    exact = [text.removesuffix(".0") for text in format_values(numbers)]
    rounded = [
        text if number is None else str(number).removesuffix(".0")
        for number, text in zip(json_numbers(numbers.to_list()), exact, strict=True)
    ]
    return rounded if len(set(rounded)) == len(set(exact)) else exact


def level_text(levels: pl.Series) -> str:
    """Return the confidence levels in a column, such as `95 %`; empty without levels."""
    known = levels.drop_nulls().drop_nans().unique().sort().to_list()
    return " and ".join(format_percent(level) for level in known)


def note_text(note: str | None) -> str:
    """Return the first note of a row in words; it states why a value is undefined."""
    return note.partition(SEPARATOR)[0].replace("_", " ") if note else "undefined"


def json_number(value: float | str | None, digits: int = CHART_DIGITS) -> float | str | None:
    """Return a number as a JSON value with this number of significant digits, and null for NaN.

    Infinity becomes a text. Texts and integers do not change.
    """
    if value is None or isinstance(value, int | str):
        return value
    if isnan(value):
        return None
    if not isfinite(value):
        return "inf" if value == inf else "-inf"
    if abs(value) >= MIN_EXACT:
        return value
    rounded = value if digits == ALL_DIGITS else float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def json_numbers(
    values: Iterable[float | str | None], digits: int = CHART_DIGITS
) -> list[float | str | None]:
    """Return numbers as JSON values."""
    return [json_number(value, digits) for value in values]


def digits_of(name: str) -> int:
    """Return the number of digits of a rate, a count or a threshold with this name.

    Thresholds are not rounded, because users can select rows by the thresholds in tooltips, and
    because scores can differ only in their last digits.
    """
    return ALL_DIGITS if name.startswith(THRESHOLD) else CHART_DIGITS


def json_values(values: pl.Series) -> list[Any]:
    """Return the values of a column as JSON values; all types but numbers become texts."""
    if values.dtype.is_numeric():
        exact = values.dtype.is_integer() or values.dtype.is_float()
        numbers = values if exact else values.cast(pl.Float64)
        return json_numbers(numbers.to_list(), digits=digits_of(values.name))
    return [None if value is None else str(value) for value in values.to_list()]


def json_rows(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Convert columns to a list with one record per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def inline_data(records: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Return records as JSON text.

    Altair does not limit the number of rows of JSON text, does not inspect its values, and does not
    apply data transformers to it.
    """
    records = [{name: part for name, part in one.items() if name != "_curve"} for one in records]
    values = dumps(records, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return alt.InlineData(values=values, format=alt.JsonDataFormat(type="json"))


def finite(values: Iterable[Any]) -> list[float]:
    """Return the numbers in a list of JSON values, without None and without texts like "inf"."""
    return [value for value in values if isinstance(value, int | float)]


def domain_of(values: Iterable[Any], empty: Sequence[float] = (0.0, 1.0)) -> list[float]:
    """Return the range of the numbers in `values`; a range of one number gets a margin.

    If there is no number except 0, return `empty`.
    """
    known = finite(values)
    if not any(known):
        return list(empty)
    low, high = min(known), max(known)
    margin = 0.05 * abs(low) if low == high else 0
    return [low - margin, high + margin]


def tooltip(field: str, title: str | None = None, number: str | None = None) -> alt.Tooltip:
    """Return a line of a tooltip: a field as text, or as a number in the format `number`."""
    options: dict[str, Any] = {"field": escape_field(field), "type": "nominal"}
    title = title or field
    if number is not None:
        options |= {"type": "quantitative", "format": number}
    if title != options["field"]:
        # Vega-Lite puts the title into an expression, where a backslash is an escape character.
        options["title"] = title.replace("\\", "\\\\")
    return alt.Tooltip(**options)
