"""Charts → what they say, read as strictly as a browser reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import vl_convert

if TYPE_CHECKING:
    import altair as alt


def spec(chart: alt.Chart) -> dict[str, Any]:
    """The specification, as a strict parser reads it."""

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    return json.loads(chart.to_json(), parse_constant=refuse)


def records(chart: alt.Chart) -> list[dict[str, Any]]:
    """The data: a record per row."""
    return json.loads(chart.data.values, parse_constant=pytest.fail)


def marks(chart: alt.Chart) -> list[str]:
    """The marks of the layers."""
    read = spec(chart)
    return [layer["mark"]["type"] for layer in read.get("spec", read)["layer"]]


def encodings(chart: alt.Chart, channel: str) -> list[Any]:
    """What the layers encode in a channel."""
    read = spec(chart)
    layers = read.get("spec", read)["layer"]
    return [layer["encoding"][channel] for layer in layers if channel in layer["encoding"]]


def svg(chart: alt.Chart) -> str:
    """The picture."""
    return vl_convert.vegalite_to_svg(json.dumps(spec(chart)))
