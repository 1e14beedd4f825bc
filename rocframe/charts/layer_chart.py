"""Altair charts of layers that share their encodings, and their default colors."""

from __future__ import annotations

import json
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias

import altair as alt

from rocframe.charts.style import COLORS, REFERENCE_COLOR, category, inline_data, theme_sets_colors
from rocframe.errors import OptionValueError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

# A chart of a table: with `facet`, it has panels.
AnyChart: TypeAlias = alt.LayerChart | alt.FacetChart

# The constructor of `alt.LayerChart` moves these properties of the layers to the chart.
MOVED = ("params", "width", "height", "view")
# Properties of a whole chart. In a sum of two charts, the sum has those of the first chart.
WHOLE = ("title", "description", "width", "height", "background", "padding", "autosize", "config")
# Mark styles: the lines of curves, lines of other tables that show the same curves, and lines of
# averages. In a sum, the same curves are drawn once, and an average without colors is gray.
CURVE_LINE, ESTIMATE, MEAN_LINE = "curve", "estimate", "mean"
ROW = "_row"  # the field of the number of a row, in a sum of two charts with panels
SOURCE = "_source"  # the field of the chart of a row, in a sum of two charts with panels
FALLBACK = "rocframe colors"  # in the context of `to_dict`: an outer chart adds the colors


class Colored(alt.TopLevelMixin):
    """A chart whose colors are those of the package if neither it nor the active theme sets them.

    They are added when the chart is written, so that both can still be set after it was made.
    """

    def to_dict(
        self, *args: Any, context: dict[str, Any] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the specification of the chart."""
        if kwargs.get("format") == "vega":  # the colors are added before the chart is compiled
            compiler: Any = alt.vegalite_compilers.get()
            written = self.to_dict(*args, context=context, **kwargs | {"format": "vega-lite"})
            return compiler(written)  # type: ignore[no-any-return]
        context = dict(context or {})
        chart: Any = self
        own = chart._get("config")
        given = own.to_dict(validate=False) if isinstance(own, alt.Config) else {}
        colors = category(given)
        is_set = context.get(FALLBACK, False) or (colors is None and theme_sets_colors())
        whole = context.get("top_level", True)
        spec = super().to_dict(*args, context=context | {FALLBACK: is_set or whole}, **kwargs)
        if is_set:
            return spec
        if whole:
            config = spec.setdefault("config", {})
            config["range"] = {"category": list(COLORS)} | config.get("range", {})
            first = {"color": colors[0] if isinstance(colors, list) else COLORS[0]}
            for name in ("mark", "rule"):  # by default, Vega-Lite draws rules in black
                config[name] = config.get(name, {}) | first | given.get(name, {})
        elif colors is None:
            _add_colors(spec)
        return spec

    def __or__(self, other: Any) -> Any:
        """Return both charts side by side."""
        return _with_properties(HConcatChart(hconcat=[]), super().__or__(other))

    def __and__(self, other: Any) -> Any:
        """Return this chart above the other one."""
        return _with_properties(VConcatChart(vconcat=[]), super().__and__(other))


class HConcatChart(Colored, alt.HConcatChart):
    """Charts side by side."""


class VConcatChart(Colored, alt.VConcatChart):
    """Charts below each other."""


class FacetChart(Colored, alt.FacetChart):
    """A chart with a panel for each value of a column; `+` draws charts with the same panels."""

    def __add__(self, other: Any) -> FacetChart:
        """Return a chart with the layers of both charts in each panel."""
        charts: tuple[Any, Any] = (self, other)
        if not isinstance(other, FacetChart) or len({_facet_field(one) for one in charts}) > 1:
            raise OptionValueError(
                "chart + chart: the charts have different panels.\n"
                "Draw both with the same facet=, or add layers before facet()."
            )
        result: FacetChart = self.copy(deep=False)
        tables = [json.loads(chart.data.values) for chart in charts]
        source = SOURCE
        while any(source in row for table in tables for row in table):  # a sum is added
            source += "_"
        parts = []
        for i, chart in enumerate(charts):
            part = chart.spec.copy(deep=False)
            part.transform = [
                alt.FilterTransform(f"datum.{source} === {i}"),
                *_transforms(chart),
                *_transforms(part),
                alt.WindowTransform(window=[{"op": "row_number", "as": ROW}], groupby=[]),
            ]
            parts.append(_with_row_order(part))
        rows = [row | {source: i} for i, table in enumerate(tables) for row in table]
        result.data, result.transform = inline_data(rows), alt.Undefined
        result.spec = parts[0] + parts[1]
        result.description = _all_descriptions(*charts)
        if result._kwds.get("resolve", alt.Undefined) is alt.Undefined:
            result.resolve = charts[1]._get("resolve")
        return result


def _all_descriptions(*charts: Any) -> str:
    texts = (chart._get("description") for chart in charts)
    return " ".join(text for text in texts if isinstance(text, str))


def _with_row_order(chart: Any) -> Any:
    """Return a chart whose lines connect points in the order of the rows.

    Otherwise, Vega-Lite would convert x to numbers, although x can be an array in the other chart.
    """
    result = chart.copy(deep=False)
    if isinstance(chart, alt.LayerChart):
        result.layer = [_with_row_order(part) for part in chart._kwds["layer"]]
    elif not _has_data(chart) and chart.mark.type == "line":
        channels = {"order": alt.Order(f"{ROW}:Q")} | _channels(chart)
        result.encoding = alt.FacetedEncoding(**channels)
    return result


def _transforms(chart: Any) -> list[Any]:
    transforms = chart._get("transform")
    return [] if transforms is alt.Undefined else [*transforms]


def _facet_field(chart: Any) -> Any:
    definition: Any = chart.facet
    definition = definition.to_dict(validate=False) if isinstance(definition, alt.Facet) else {}
    return definition.get("field")


def _with_properties(result: Any, chart: Any) -> Any:
    """Return the chart `result` with all properties of a chart of another class."""
    for name, value in chart._kwds.items():
        setattr(result, name, value)
    return result


def _add_colors(spec: dict[str, Any], inherited: bool = False) -> None:
    """Write the colors of the package into the scales and marks of a part of another chart."""
    color = spec.get("encoding", {}).get("color")
    inherited = inherited or color is not None
    if isinstance(color, dict) and color.get("type") == "nominal":
        color["scale"] = {"range": list(COLORS)} | (color.get("scale") or {})
    mark = spec.get("mark")
    if isinstance(mark, dict) and not inherited:
        spec["mark"] = {"color": COLORS[0]} | mark
    for part in [*spec.get("layer", []), *([spec["spec"]] if "spec" in spec else [])]:
        _add_colors(part, inherited)


class LayerChart(Colored, alt.LayerChart):
    """An `alt.LayerChart` that copies its layers less often.

    `+` omits reference lines that the chart already contains, and checks that the axes are equal.
    """

    def __init__(self, data: Any = alt.Undefined, layer: Sequence[Any] = (), **kwargs: Any) -> None:
        # The constructor of `alt.LayerChart` copies all layers twice in order to move properties of
        # layers to the chart. It is called each time a chart is created, changed, concatenated or
        # written. Most layers have no such properties, and are therefore set without a copy.
        complete = all(_has_nothing_to_move(part, data) for part in layer)
        super().__init__(data=data, layer=() if complete else layer, **kwargs)
        if complete:
            self.layer = list(layer)

    def facet(self, *args: Any, **kwargs: Any) -> FacetChart:
        """Return a chart with a panel for each value of a column; see `altair.LayerChart.facet`."""
        if self._is_sum and "data" not in kwargs:  # each chart of a sum has its own data
            charts = [part.facet(*args, **kwargs) for part in self._parts()]
            return reduce(add, charts)
        chart: Any = super().facet(*args, **kwargs)
        required = {name: chart._get(name) for name in ("data", "spec", "facet")}
        result = _with_properties(FacetChart(**required), chart)
        result.spec = chart.spec.copy(deep=False)
        for name in ("title", "description"):  # Vega-Lite draws no title in panels
            if (value := chart.spec._get(name)) is not alt.Undefined:
                setattr(result, name, value)
                setattr(result.spec, name, alt.Undefined)
        return result  # type: ignore[no-any-return]

    @property
    def _is_sum(self) -> bool:
        """Whether the chart is a sum of charts of tables."""
        layers: Any = self._kwds["layer"]
        return not _has_data(self) and all(isinstance(part, alt.LayerChart) for part in layers)

    def _parts(self) -> list[LayerChart]:
        """Return the charts of a sum, with the shared channels and, in the first, the titles."""
        parts = []
        layers: Any = self._kwds["layer"]
        for layer in layers:
            part = _with_properties(LayerChart(), layer)
            part.encoding = alt.FacetedEncoding(**_channels(self) | _channels(layer))
            parts.append(part)
        for name in (*WHOLE, "resolve"):
            value: Any = self._kwds.get(name, alt.Undefined)
            if value is not alt.Undefined:
                setattr(parts[0], name, value)
        return parts

    def _add_transform(self, *transforms: Any) -> Self:
        """Add transforms; in a sum, to each chart of a table, because each has its own data."""
        result: Any = super()._add_transform(*transforms)
        if not _has_data(self):
            result.layer = [
                part._add_transform(*transforms) if isinstance(part, alt.LayerChart) else part
                for part in result.layer
            ]
        return result  # type: ignore[no-any-return]

    def __iadd__(self, other: Any) -> Self:  # type: ignore[misc]
        # Altair's `+` and `add_layers` call this method.
        result = type(self)()
        for name in WHOLE:
            value: Any = self._kwds.get(name, alt.Undefined)
            if value is not alt.Undefined:
                setattr(result, name, value)
        parts = [self, other]
        if isinstance(other, LayerChart):
            parts[1] = _without_layers(other, [*filter(_has_data, _single_layers(self))])
            if _show_equal_groups(self, other) and _layers_of_style(self, CURVE_LINE):
                parts[1] = _without_layers(parts[1], _layers_of_style(other, ESTIMATE))
            _check_axes(self, other)
            parts[1] = _with_colors_of(self, parts[1])
            parts[0], parts[1] = _with_common_axes(self, parts[1])
            heights = [chart._get("height") for chart in parts]
            if all(isinstance(height, int | float) for height in heights):
                # Charts of calibration with bars are taller.
                result.height = max(heights)
            shared = _equal_encodings(*parts)
            if shared:
                result.encoding = alt.FacetedEncoding(**shared)
            if result._kwds.get("config", alt.Undefined) is alt.Undefined:
                result.config = other._kwds.get("config", alt.Undefined)
            result.description = _all_descriptions(*parts)
            parts = [_as_layer(part, shared) for part in parts]
            if _layers_of_style(other, MEAN_LINE) and "color" not in _channels(other):
                parts[1] = _with_channels(parts[1], {"color": alt.ColorValue(REFERENCE_COLOR)})
        else:
            parts[0] = _as_layer(self, {})
        result.layer = parts
        return result


def layered(
    layers: Sequence[Any],
    *,
    data: Any,
    encoding: Mapping[str, Any],
    transform: Any = alt.Undefined,
    width: float,
    height: float,
) -> LayerChart:
    """Return a chart of layers, whose own channels are merged into those in `encoding`."""
    return LayerChart(
        layer=list(layers),
        data=data,
        transform=transform,
        encoding=alt.FacetedEncoding(**encoding),
        width=width,
        height=height,
    )


def _with_colors_of(first: Any, second: Any) -> Any:
    """Return the second chart; with the colors of the first if it has its groups and no colors."""
    color, details = _channels(first).get("color"), _channels(second).get("detail")
    if not isinstance(color, alt.Color) or "color" in _channels(second):
        return second
    fields = [part._get("field") for part in details or [] if isinstance(part, alt.Detail)]
    if color._get("field") not in fields:
        return second
    return _with_channels(second, {"color": color})


def _with_channels(chart: Any, channels: dict[str, Any]) -> Any:
    """Return a copy of a chart with other channels in addition to its own."""
    result = chart.copy(deep=False)
    result.encoding = alt.FacetedEncoding(**_channels(chart) | channels)
    return result


def _with_common_axes(*parts: Any) -> list[Any]:
    """Return the charts with the titles of the first one and with equal domains.

    These are the domains of the first chart if it is clipped to them, or else the union of both.
    """
    charts = [*parts]
    for side in ("x", "y"):
        first, second = (_channels(chart).get(side) for chart in charts)
        if first is None or second is None or first._get("title") == second._get("title"):
            continue
        titled = second.copy()
        titled["title"] = first._get("title")
        charts[1] = _with_channels(charts[1], {side: titled})
    if all(_is_clipped(layer) for layer in _single_layers(charts[0])):
        given = {side: part for side, part in _channels(charts[0]).items() if side in ("x", "y")}
        return [charts[0], _clipped(_with_channels(charts[1], given))]
    for side in ("x", "y"):
        domains = [_domain(chart, side) for chart in charts]
        if None in domains or domains[0] == domains[1]:
            continue
        low, high = min(one[0] for one in domains), max(one[1] for one in domains)
        longer = max(charts, key=lambda chart: _domain(chart, side)[1] - _domain(chart, side)[0])
        axis = _channels(longer)[side]._get("axis")
        for i, chart in enumerate(charts):
            channel = _channels(chart)[side].copy()
            channel["scale"]["domain"], channel["axis"] = [low, high], axis
            charts[i] = _with_channels(chart, {side: channel})
    return charts


def _is_clipped(layer: Any) -> bool:
    mark = layer._get("mark")
    return isinstance(mark, alt.MarkDef) and mark._get("clip") is True


def _clipped(chart: Any) -> Any:
    """Return a copy of a chart whose marks are clipped to its axes."""
    result = chart.copy(deep=False)
    if isinstance(chart, alt.LayerChart):
        result.layer = [_clipped(part) for part in chart._kwds["layer"]]
    else:
        result.mark = chart.mark.copy()
        result.mark.clip = True
    return result


def _domain(chart: Any, side: str) -> Any:
    """Return the ends of the domain of an axis; None if they are not numbers."""
    scale = _channels(chart)[side]._get("scale") if side in _channels(chart) else None
    domain: Any = scale._get("domain") if isinstance(scale, alt.Scale) else None
    is_range = isinstance(domain, list) and len(domain) == 2
    return domain if is_range and all(isinstance(end, int | float) for end in domain) else None


def _as_layer(chart: Any, shared: Mapping[str, Any]) -> Any:
    """Return a chart as a layer of a sum, which has its titles and the channels `shared`."""
    layer = alt.LayerChart()
    for name, value in chart._kwds.items():
        if name not in WHOLE and value is not alt.Undefined:
            setattr(layer, name, value)
    own = {name: part for name, part in _channels(chart).items() if name not in shared}
    layer.encoding = alt.FacetedEncoding(**own) if own else alt.Undefined
    return layer


def _without_layers(chart: Any, others: Sequence[Any]) -> Any:
    """Return a chart without the layers, at all levels, that are equal to one of `others`."""
    if not isinstance(chart, alt.LayerChart):
        return chart
    result = chart.copy(deep=False)
    result.layer = [_without_layers(part, others) for part in chart.layer if part not in others]
    return result


def _single_layers(chart: Any) -> list[Any]:
    """Return the layers of a chart at all levels."""
    if not isinstance(chart, alt.LayerChart):
        return [chart]
    layers: Any = chart._kwds["layer"]
    return [layer for part in layers for layer in _single_layers(part)]


def _layers_of_style(chart: Any, style: str) -> list[Any]:
    """Return the layers of a chart, at all levels, whose marks have a style."""
    marks = ((layer, layer._get("mark")) for layer in _single_layers(chart))
    return [layer for layer, mark in marks if isinstance(mark, alt.MarkDef) and mark.style == style]


def _show_equal_groups(first: Any, second: Any) -> bool:
    """Return whether the colors of two charts show the same values of the same column."""
    colors: list[Any] = [_channels(chart).get("color") for chart in (first, second)]
    if not all(isinstance(color, alt.Color) for color in colors):
        return bool(colors[0] == colors[1])
    one, other = (color.to_dict(validate=False) for color in colors)
    domains = (color.get("scale", {}).get("domain") for color in (one, other))
    return bool(one.get("field") == other.get("field") and len({*map(str, domains)}) == 1)


def _channels(chart: Any) -> dict[str, Any]:
    encoding = chart._get("encoding")
    if encoding is alt.Undefined:
        return {}
    return {name: part for name, part in encoding._kwds.items() if part is not alt.Undefined}


def _equal_encodings(first: Any, second: Any) -> dict[str, Any]:
    own, others = _channels(first), _channels(second)
    shared = {name: part for name, part in own.items() if others.get(name) == part}
    if "color" in own and _show_equal_groups(first, second):  # the captions can differ
        shared["color"] = own["color"]
    return shared


def _check_axes(first: Any, second: Any) -> None:
    """Raise an error if two charts, which both have axes, have axes of different columns."""
    axes = [
        [part.to_dict(validate=False) for part in map(_channels(chart).get, "xy") if part]
        for chart in (first, second)
    ]
    fields = [
        [(axis.get("field"), (axis.get("scale") or {}).get("type")) for axis in one] for one in axes
    ]
    if all(len(one) == 2 for one in fields) and fields[0] != fields[1]:
        names, others = (
            " and ".join(repr(axis.get("title", axis.get("field"))) for axis in one) for one in axes
        )
        differ = f"the axes differ: {names} in one chart, {others} in the other"
        if names == others:
            differ = f"the scales of the axes {names} differ"
        problem = f"chart + chart: {differ}"
        hint = (
            "Draw both charts with the same kind= and scale=, or with the same x= and y=. "
            "To draw them side by side, use chart | chart."
        )
        raise OptionValueError(f"{problem}.\n{hint}")


def _has_nothing_to_move(layer: Any, data: Any) -> bool:
    """Return whether a layer has no parameters, sizes or `data` that Altair moves to its chart."""
    has_other_data = data is not alt.Undefined and layer._get("data") is not data
    return (
        type(layer) is alt.Chart
        and (has_other_data or not _has_data(layer))
        and all(layer._get(name) is alt.Undefined for name in MOVED)
    )


def _has_data(layer: Any) -> bool:
    return layer._get("data") is not alt.Undefined
