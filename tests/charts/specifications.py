"""Read the specification and the data of a chart with a strict JSON parser, as browsers do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import vl_convert

if TYPE_CHECKING:
    import altair as alt


def spec(chart: alt.Chart) -> dict[str, Any]:
    """Return the specification; constants that are not JSON, such as NaN, fail the test."""

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    return json.loads(chart.to_json(), parse_constant=refuse)


def records(chart: alt.Chart) -> list[dict[str, Any]]:
    """Return the data: one record per row."""
    return json.loads(chart.data.values, parse_constant=pytest.fail)


def marks(chart: alt.Chart) -> list[str]:
    """Return the mark of each layer."""
    read = spec(chart)
    return [layer["mark"]["type"] for layer in read.get("spec", read)["layer"]]


def encodings(chart: alt.Chart, channel: str) -> list[Any]:
    """Return the encoding of a channel in each layer that has it."""
    read = spec(chart)
    layers = read.get("spec", read)["layer"]
    return [layer["encoding"][channel] for layer in layers if channel in layer["encoding"]]


def svg(chart: alt.Chart) -> str:
    """Return the chart as SVG."""
    return vl_convert.vegalite_to_svg(json.dumps(spec(chart)))
