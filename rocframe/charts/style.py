"""Colors and themes of all charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from json import dumps
from typing import TYPE_CHECKING, Any, Literal, cast

import altair as alt
import polars as pl

from rocframe.charts.labels import distinct_labels
from rocframe.errors import OptionValueError

if TYPE_CHECKING:
    from collections.abc import Sequence


FONT = "system-ui, sans-serif"


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """The colors of a theme, as CSS colors.

    The first eight of `colors` can be distinguished with every type of color vision. Each color has
    a contrast of at least 3 to 1 with the background.
    """

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
ORDERED_COLORS = (
    "#440154",
    "#482374",
    "#414386",
    "#365e8d",
    "#2b768e",
    "#228f8c",
    "#22a685",
)

# The gray of reference lines, which is visible on white and on dark backgrounds.
REFERENCE_COLOR = "#80868b"
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
# If marks coincide, this is the ratio of the areas of a mark and of the mark above it, up to three
# times. With a ratio below 2, a square would hide the circle below it. If there are more than eight
# groups, marks have the same size, because large marks would hide the marks of other groups.
SIZE_RATIO, MAX_SIZE_STEPS, MAX_SIZED_GROUPS = 2.2, 3, 8


def color_scale(domain: Sequence[str], *, ordered: bool = False) -> alt.Scale:
    """Return a scale with a color for each value of `domain`.

    The colors are those of the theme; see `LayerChart`. More than MAX_DISTINCT_COLORS ordered
    values, such as days, have colors from dark to light.
    """
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
    """Set the colors of a chart: one color for each value, or the first color for all marks.

    Values that are not highlighted stay gray.
    """
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


def with_key(
    layer: alt.Chart,
    text: str,
    symbol: Literal["band", "limits", "bar", "line", "tie"],
    width: float = 1,
) -> alt.Chart:
    """Return the layer with a legend below the chart; `text` states the meaning of its marks.

    `width` is the stroke width of bars. The text is in a legend, not in the subtitle, because the
    sum of two charts shows the legends of both charts, but only the title of the first.
    """
    options: dict[str, Any] = {"symbolType": "square", "symbolStrokeColor": REFERENCE_COLOR}
    channel: type[alt.Opacity | alt.StrokeWidth] = alt.StrokeWidth
    value: Any = width
    if symbol == "band":
        options = {
            "symbolType": "square",
            "symbolFillColor": REFERENCE_COLOR,
            "symbolOpacity": BAND_OPACITY,
        }
    elif symbol == "limits":
        options |= {"symbolFillColor": "transparent", "symbolStrokeWidth": 1, "symbolOpacity": 1}
    elif symbol == "tie":
        # Another channel than that of dashes, which can distinguish groups. The channel
        # strokeOpacity has no legend in Vega-Lite.
        channel, value = alt.Opacity, 1
        options |= {
            "symbolFillColor": "transparent",
            "symbolStrokeWidth": 1,
            "symbolDash": TIE_DASH,
        }
        layer = layer.encode(strokeDash=alt.StrokeDashValue(TIE_DASH))
    else:
        options["symbolType"] = "stroke"
        if symbol == "line":  # another channel than that of bars and bands
            channel, value = alt.Opacity, 1
            options["symbolStrokeWidth"] = width
    legend = alt.Legend(title=None, orient="bottom", labelLimit=0, symbolSize=200, **options)
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
