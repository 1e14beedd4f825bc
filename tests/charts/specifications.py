"""Read the specification and the data of a chart with a strict JSON parser, as browsers do."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
import vl_convert

import rocframe as rf
from rocframe.charts.style import REFERENCE_COLOR, WORD_JOINER

if TYPE_CHECKING:
    import altair as alt

VOTE = rf.datasets.vote()
TWO = VOTE.filter(pl.col("model").is_in(["decision_tree", "linear_svm"]))  # the first two models

# The last charts and their specifications: Altair needs at least 10 ms for each specification.
RECENT_TEXTS: list[tuple[alt.Chart, str]] = []
MAX_RECENT = 16

render = cache(vl_convert.vegalite_to_svg)


def json_text(chart: alt.Chart) -> str:
    """Return the specification as text. Do not change the chart afterwards: the text is cached.

    The specification is not validated, which takes as long again. `assert_golden` and
    `test_all_charts.py` validate each kind of chart.
    """
    for other, text in RECENT_TEXTS:
        if other is chart:
            return text
    text = chart.to_json(validate=False, indent=None)
    RECENT_TEXTS.append((chart, text))
    del RECENT_TEXTS[:-MAX_RECENT]
    return text


def spec(chart: alt.Chart) -> dict[str, Any]:
    """Return the specification; constants that are not JSON, such as NaN, fail the test."""

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    return json.loads(json_text(chart), parse_constant=refuse)


def records(chart: alt.Chart) -> list[dict[str, Any]]:
    """Return the data: one record per row, with the values of both axes as `x` and `y`.

    If a record has several points, each of its values on the axes is a list.
    """
    shared = chart.to_dict(validate=False)
    shared = shared.get("spec", shared)["encoding"]
    axes = {
        name: shared[name]["field"].removesuffix("_deviate").removesuffix("_logit")
        for name in "xy"
        if name in shared
    }
    rows = json.loads(chart.data.values, parse_constant=pytest.fail)
    return [row | {name: row[axis] for name, axis in axes.items() if axis in row} for row in rows]


def layers(chart: alt.Chart) -> list[dict[str, Any]]:
    """Return the layers, with the encodings that Vega-Lite merges from the chart and the layer."""
    return layers_of(spec(chart))


def layers_of(read: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the layers of a specification; see `layers`."""
    return _layers(read.get("spec", read), {})


def _layers(read: dict[str, Any], parent: dict[str, Any]) -> list[dict[str, Any]]:
    own = read.get("encoding", {})
    merged = parent | {
        name: parent[name] | part
        if isinstance(part, dict)
        and ("field" in part or "datum" in part)
        and isinstance(parent.get(name), dict)
        else part
        for name, part in own.items()
    }
    if "layer" in read:
        return [layer for part in read["layer"] for layer in _layers(part, merged)]
    return [{**read, "encoding": {name: part for name, part in merged.items() if part is not None}}]


def marks(chart: alt.Chart) -> list[str]:
    """Return the mark of each layer."""
    return [layer["mark"]["type"] for layer in layers(chart)]


def encodings(chart: alt.Chart, channel: str) -> list[Any]:
    """Return the encoding of a channel in each layer that has it."""
    return [layer["encoding"][channel] for layer in layers(chart) if channel in layer["encoding"]]


def svg(chart: alt.Chart) -> str:
    """Return the chart as SVG."""
    return render(json.dumps(spec(chart)))


def parts(chart: alt.Chart, part: str | None = None) -> list[dict[str, Any]]:
    """Return the records of one overlay; with None, those of the curves."""
    return [record for record in records(chart) if record.get("_layer") == part]


def texts(chart: alt.Chart) -> list[str | None]:
    """Return all texts of the rendered chart, without invisible characters."""
    shown = ET.fromstring(svg(chart).replace(WORD_JOINER, ""))
    return [node.text for node in shown.iter("{http://www.w3.org/2000/svg}text")]


def line_marks(chart: alt.Chart) -> list[str]:
    """Return the rendered lines as SVG elements, without reference lines."""
    return [line for line in _line_marks(chart) if REFERENCE_COLOR not in line]


def lines(chart: alt.Chart) -> int:
    """Return the number of rendered lines, without reference lines."""
    return len(line_marks(chart))


def reference_lines(chart: alt.Chart) -> int:
    """Return the number of rendered reference lines, such as lines of chance."""
    return len(_line_marks(chart)) - lines(chart)


def _line_marks(chart: alt.Chart) -> list[str]:
    return re.findall(r'<path [^>]*aria-roledescription="line mark"[^>]*>', svg(chart))


def point_marks(chart: alt.Chart) -> list[str]:
    """Return the rendered points as SVG elements, without the invisible points of tooltips."""
    points = re.findall(r'<path [^>]*aria-roledescription="point"[^>]*>', svg(chart))
    return [point for point in points if 'opacity="0"' not in point]


def rules(chart: alt.Chart) -> int:
    """Return the number of rendered rules, such as bars between confidence limits."""
    return svg(chart).count('aria-roledescription="rule mark"')


def shared(chart: alt.Chart, channel: str) -> dict[str, Any]:
    """Return the definition of a channel that the layers share; empty without a definition."""
    read = spec(chart)
    return read.get("spec", read)["encoding"].get(channel, {})


def domain(chart: alt.Chart, channel: str) -> list[Any]:
    """Return the domain of the scale of a shared channel."""
    return shared(chart, channel)["scale"]["domain"]
