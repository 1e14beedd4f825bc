"""A layered Altair chart that copies its layers less often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.errors import OptionValueError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

# The constructor of `alt.LayerChart` moves these properties of the layers to the chart.
MOVED = ("params", "width", "height", "view")


class LayerChart(alt.LayerChart):
    """An `alt.LayerChart` that copies its layers less often.

    The operator `+` omits lines of chance that the chart already contains, and raises an error for
    two charts of this class with different axes.
    """

    def __init__(self, data: Any = alt.Undefined, layer: Sequence[Any] = (), **kwargs: Any) -> None:
        # The constructor of `alt.LayerChart` copies all layers twice in order to move properties of
        # layers to the chart. It is called each time a chart is created, changed, concatenated or
        # written. Most layers have no such properties, and are therefore set without a copy.
        complete = all(_has_nothing_to_move(part, data) for part in layer)
        super().__init__(data=data, layer=() if complete else layer, **kwargs)
        if complete:
            self.layer = list(layer)

    def __iadd__(self, other: alt.typing.ChartType) -> Self:
        # Altair's `+` and `add_layers` call this method.
        if isinstance(other, LayerChart):
            _check_axes(_axis_titles(self), _axis_titles(other))
            charts: list[Any] = [self, other]
            heights = [chart._get("height") for chart in charts]
            if alt.Undefined not in heights and heights[0] != heights[1]:
                # Charts of calibration with bars are taller. Altair requires equal heights.
                self.height = max(heights)
                other = other.copy(deep=False)
                other.height = self.height
        if isinstance(other, alt.LayerChart):
            fixed = [layer for layer in self.layer if _has_data(layer)]
            layers = [layer for layer in other.layer if layer not in fixed]
            if len(layers) < len(other.layer):
                other = other.copy(deep=False)
                other.layer = layers
        return super().__iadd__(other)


def _axis_titles(chart: Any) -> list[str]:
    """Return the titles of the x and of the y axis; empty if no layer has both titles."""
    for layer in chart.layer:
        encoding = layer._get("encoding")
        channels = [] if encoding is alt.Undefined else map(encoding._get, "xy")
        titles = [part._get("title") for part in channels if part is not alt.Undefined]
        if len(titles) == 2 and all(isinstance(title, str) for title in titles):
            return titles
    return []


def _check_axes(first: Sequence[str], second: Sequence[str]) -> None:
    """Raise an error if the axes of two charts have different titles.

    A chart without titles is compatible with every chart.
    """
    if first and second and first != second:
        names, others = (" and ".join(map(repr, titles)) for titles in (first, second))
        problem = f"chart + chart: the axes differ: {names} in one chart, {others} in the other"
        hint = (
            "Draw both charts with the same kind=, or with the same x= and y=. "
            "To draw them side by side, use chart | chart."
        )
        raise OptionValueError(f"{problem}.\n{hint}")


def _has_nothing_to_move(layer: Any, data: Any) -> bool:
    """Return whether a layer has nothing that Altair moves to the layered chart.

    Altair moves parameters and sizes, and the data if they are the `data` of the layered chart.
    """
    has_other_data = data is not alt.Undefined and layer._get("data") is not data
    return (
        type(layer) is alt.Chart
        and (has_other_data or not _has_data(layer))
        and all(layer._get(name) is alt.Undefined for name in MOVED)
    )


def _has_data(layer: Any) -> bool:
    return layer._get("data") is not alt.Undefined
