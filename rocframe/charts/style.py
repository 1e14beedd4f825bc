"""Colors, fonts and texts of charts: themes, palettes, titles, captions and labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from json import dumps
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Any, Literal, cast
from unicodedata import combining

import altair as alt
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.inference import SEPARATOR
from rocframe.schemas.table_type import THRESHOLD
from rocframe.text import format_name, format_percent, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

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
    """Return the field of a column: its name, unless it is taken or Vega-Lite cannot use it."""
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
    """Return numbers as text: with 7 digits, or with all if rounded numbers would be equal."""
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
    """Return a number as a JSON value with few digits; NaN is null, and infinity is a text."""
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

    Thresholds are not rounded, because users select rows by the thresholds in tooltips.
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
    """Return records as JSON text, which Altair does not inspect, limit or transform."""
    records = [{name: part for name, part in one.items() if name != "_curve"} for one in records]
    values = dumps(records, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return alt.InlineData(values=values, format=alt.JsonDataFormat(type="json"))


def finite(values: Iterable[Any]) -> list[float]:
    """Return the numbers in a list of JSON values, without None and without texts like "inf"."""
    return [value for value in values if isinstance(value, int | float)]


def domain_of(values: Iterable[Any], empty: Sequence[float] = (0.0, 1.0)) -> list[float]:
    """Return the range of the numbers in `values`; one number gets a margin, zeros are `empty`."""
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


FONT = "system-ui, sans-serif"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """The colors of a theme, with a contrast of 3 to 1; eight are distinct for everyone."""

    background: str
    foreground: str
    muted: str
    grid: str
    colors: tuple[str, ...]

    def config(self) -> dict[str, Any]:
        """Return the Vega-Lite config with the default properties of charts."""
        text = {"labelColor": self.muted, "titleColor": self.foreground}
        sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
        lines = dict.fromkeys(("domainColor", "tickColor"), self.muted)
        return {
            "background": self.background,
            "font": FONT,
            "axis": {**text, **sizes, **lines, "gridColor": self.grid},
            "header": {**text, **sizes},
            "legend": {
                **text,
                **sizes,
                "symbolBaseFillColor": self.muted,
                "symbolBaseStrokeColor": self.muted,
            },
            "title": {"color": self.foreground, "subtitleColor": self.muted, "fontSize": 14},
            "view": {"stroke": self.grid},
            "mark": {"color": self.colors[0]},
            "text": {"color": self.foreground},
            "rule": {"color": self.colors[0]},
            "range": {"category": list(self.colors)},
        }


LIGHT = Palette(
    background="#ffffff",
    foreground="#1b1f24",
    muted="#59636e",
    grid="#e3e6ea",
    colors=(
        *("#07469b", "#c67e15", "#007e69", "#9d89b1", "#ac5213", "#3a8cff", "#67335a", "#073810"),
        *("#f11272", "#0019ff", "#a04ead", "#92352f"),
    ),
)

DARK = Palette(
    background="#14171b",
    foreground="#e6e9ec",
    muted="#9aa4ae",
    grid="#333a42",
    colors=(
        *("#3272cc", "#ffcf25", "#0fba92", "#ba96fb", "#fa7410", "#a8d9f1", "#975e57", "#edffc0"),
        *("#cf1a9c", "#29dbaa", "#ffa447", "#de0000"),
    ),
)

COLORS = LIGHT.colors
MAX_DISTINCT_COLORS = 8  # with every type of color vision

# The part of the viridis color map with a contrast of at least 3 to 1 on white.
ORDERED_COLORS = ("#440154", "#482374", "#414386", "#365e8d", "#2b768e", "#228f8c", "#22a685")

# The gray of reference lines, which is visible on white and on dark backgrounds.
REFERENCE_COLOR = "#80868b"
GRAY = alt.ColorValue(REFERENCE_COLOR)
OTHER_COLOR = "#b4b9be"  # of groups that are not highlighted
# The color of the background of the active theme, around marks that overlap lines.
BACKGROUND = alt.ExprRef("background")
BAND_OPACITY = 0.2
TIE_DASH = [2, 2]
TIE_KEY = "worst to best order of ties"
CHANCE_DASH, PERFECT_DASH = [4, 4], [1, 3]
# Dashes that can be distinguished from each other and from the line of chance.
DASHES = ([1, 0], [7, 2], [2, 1], [8, 2, 2, 2], [12, 3], [5, 1, 1, 1, 1, 1])
CHANCE_STROKE: dict[str, Any] = {
    "color": REFERENCE_COLOR,
    "strokeDash": CHANCE_DASH,
    "strokeWidth": 1,
}
SYMBOLS = (
    *("circle", "diamond", "square", "triangle-up"),
    *("cross", "triangle-down", "triangle-right", "triangle-left"),
)


def color_scale(domain: Sequence[str], *, ordered: bool = False) -> alt.Scale:
    """Return a scale with a color for each value of `domain`; many ordered ones get shades."""
    if ordered and len(domain) > MAX_DISTINCT_COLORS:
        return alt.Scale(domain=list(domain), range=_sequential(len(domain)))
    return alt.Scale(domain=list(domain))


def _sequential(n_colors: int) -> list[str]:
    """Return `n_colors` evenly spaced colors from the darkest to the lightest of ORDERED_COLORS."""
    stops = [[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in ORDERED_COLORS]
    colors = []
    for i in range(n_colors):
        stop, share = divmod(i * (len(stops) - 1) / (n_colors - 1), 1)
        low, high = stops[int(stop)], stops[min(int(stop) + 1, len(stops) - 1)]
        rgb = (a + share * (b - a) for a, b in zip(low, high, strict=True))
        colors.append("#" + "".join(f"{round(part):02x}" for part in rgb))
    return colors


def theme_colors() -> list[str] | None:
    """Return the list of colors of the active Altair theme; None if it has no list."""
    theme = alt.theme.get()
    colors = None if theme is None else category(cast("Any", theme()).get("config", {}))
    return colors if isinstance(colors, list) else None


def theme_sets_colors() -> bool:
    """Return whether the active Altair theme sets the colors of categories."""
    theme: Any = alt.theme.get()
    settings = {} if theme is None else theme()
    embedded = settings.get("usermeta", {}).get("embedOptions", {})
    return category(settings.get("config", {})) is not None or "theme" in embedded


def category(config: Mapping[str, Any]) -> Any:
    """Return the colors, or the color scheme, in a config of Vega-Lite; None if it has none."""
    return (config.get("range") or {}).get("category")


def parse_colors(colors: object) -> list[str] | dict[str, str]:
    """Return the option `colors` as a list, or as a mapping from texts of values to colors."""
    values = [*colors.values()] if isinstance(colors, Mapping) else colors
    if (
        isinstance(values, list | tuple)
        and values
        and all(isinstance(color, str) and color.strip() for color in values)
    ):
        if isinstance(colors, Mapping):
            return dict(zip(value_texts([*colors]), values, strict=True))
        return [*values]
    problem = "expected CSS colors, or a mapping from values to CSS colors"
    hint = 'Use, for example, colors=["#d62728", "black"].'
    raise OptionValueError.compose("colors", colors, problem, hint)


def value_texts(values: Sequence[object]) -> list[str]:
    """Return values of a group column as charts show them."""
    return [distinct_labels(pl.Series([value], strict=False))[0] for value in values]


def set_colors(chart: Any, colors: list[str] | dict[str, str]) -> None:
    """Set the color of each value that is not gray, or one color for all marks."""
    encoding = _shared(chart)
    color = encoding._get("color")
    if not isinstance(color, alt.Color):
        if isinstance(colors, dict):
            problem = "this chart has no colors by value"
            hint = "Pass color= with a group column, or a list with one color."
            raise OptionValueError.compose("colors", colors, problem, hint)
        condition = color._get("condition") if isinstance(color, alt.ColorDatum) else alt.Undefined
        encoding.color = alt.ColorValue(colors[0], condition=condition)
        return
    scale = color._get("scale")
    values, shown = scale.domain, scale._get("range")
    palette = theme_colors() or COLORS
    if shown is alt.Undefined:
        shown = [palette[i % len(palette)] for i in range(len(values))]
    shown = [*shown]
    if isinstance(colors, dict) and not colors.keys() & {*values}:
        problem = "none of these values is in the chart"
        hint = f"Values: {join_first(values)}."
        raise OptionValueError.compose("colors", [*colors], problem, hint)
    chosen = [i for i, shade in enumerate(shown) if shade != OTHER_COLOR]
    for rank, i in enumerate(chosen):
        if isinstance(colors, dict):
            shown[i] = colors.get(values[i], shown[i])
        else:
            shown[i] = colors[rank % len(colors)]
    color["scale"] = alt.Scale(domain=values, range=shown)


def add_dashes(chart: Any) -> None:
    """Distinguish the values of the colors of a chart by dashes as well."""
    encoding = _shared(chart)
    color = encoding._get("color")
    if isinstance(color, alt.Color):
        options: Any = color.to_dict(validate=False)
        options.pop("condition", None)
        values = options.pop("scale")["domain"]
        dashes = [DASHES[i % len(DASHES)] for i in range(len(values))]
        encoding.strokeDash = alt.StrokeDash(
            **options, scale=alt.Scale(domain=values, range=dashes)
        )


def _shared(chart: Any) -> Any:
    return (chart.spec if isinstance(chart, alt.FacetChart) else chart).encoding


OUTLINE_SYMBOL: dict[str, Any] = {
    "symbolType": "square",
    "symbolStrokeColor": REFERENCE_COLOR,
    "symbolFillColor": "transparent",
    "symbolStrokeWidth": 1,
}
STROKE_SYMBOL: dict[str, Any] = {"symbolType": "stroke", "symbolStrokeColor": REFERENCE_COLOR}
BAND_SYMBOL = {
    "symbolType": "square",
    "symbolFillColor": REFERENCE_COLOR,
    "symbolOpacity": BAND_OPACITY,
}
# The channel and the symbol of each legend below a chart. Lines have another channel than bars and
# bands. Outlines of ties have another channel than dashes, which can distinguish groups. The
# channel strokeOpacity has no legend in Vega-Lite.
KEY_SYMBOLS: dict[str, tuple[type[alt.Opacity | alt.StrokeWidth], dict[str, Any]]] = {
    "band": (alt.StrokeWidth, BAND_SYMBOL),
    "limits": (alt.StrokeWidth, OUTLINE_SYMBOL | {"symbolOpacity": 1}),
    "bar": (alt.StrokeWidth, STROKE_SYMBOL),
    "line": (alt.Opacity, STROKE_SYMBOL),
    "tie": (alt.Opacity, OUTLINE_SYMBOL | {"symbolDash": TIE_DASH}),
}


def with_key(
    layer: alt.Chart,
    text: str,
    symbol: Literal["band", "limits", "bar", "line", "tie"],
    width: float = 1,
) -> alt.Chart:
    """Return the layer with a legend below the chart; `text` states the meaning of its marks.

    It is a legend, because the sum of charts shows the legends of both, but only one title.
    """
    channel, options = KEY_SYMBOLS[symbol]
    if symbol == "line":
        options = options | {"symbolStrokeWidth": width}
    elif symbol == "tie":
        layer = layer.encode(strokeDash=alt.StrokeDashValue(TIE_DASH))
    legend = alt.Legend(title=None, orient="bottom", labelLimit=0, symbolSize=200, **options)
    value = width if channel is alt.StrokeWidth else 1
    scale = alt.Scale(type="ordinal", domain=[text], range=[value])
    entry: alt.Chart = layer.transform_calculate(_key=dumps(text)).encode(
        channel("_key:O", scale=scale, legend=legend)
    )
    return entry


def light() -> alt.theme.ThemeConfig:
    """Return the theme `rocframe`, with a white background."""
    return cast("alt.theme.ThemeConfig", {"config": LIGHT.config()})


def dark() -> alt.theme.ThemeConfig:
    """Return the theme `rocframe_dark`, with a dark background."""
    return cast("alt.theme.ThemeConfig", {"config": DARK.config()})
