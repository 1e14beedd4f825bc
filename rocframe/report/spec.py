"""Altair charts → specifications in strict JSON, which stand in HTML as they are."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

from rocframe.errors import OptionValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt


def spec_of(chart: alt.TopLevelMixin, *, ours: bool = False) -> dict[str, Any]:
    """Return a chart as one object that has all its data in it.

    JSON has neither NaN nor infinity: where data have them, the chart has null. Charts that are
    ours are not held against the schema again, which takes a third of the time of a page.
    """
    import altair as alt

    if not isinstance(chart, alt.TopLevelMixin):
        raise OptionValueError(
            f"chart: a {type(chart).__name__} is no Altair chart.\n"
            "Give what .roc.chart() returns, or any other chart of Altair's."
        )
    # Whatever transformer is enabled: others write files of data beside the chart.
    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = _finite(chart.to_dict(validate=not ours))
    return spec


def as_json(spec: Mapping[str, Any]) -> str:
    """Write JSON that no HTML parser takes for anything else, whatever names are in it."""
    text = json.dumps(spec, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def said_of(spec: Mapping[str, Any]) -> str:
    """Return what a chart is, in words: its description, else its title."""
    title = spec.get("title")
    title = title.get("text") if isinstance(title, dict) else title
    title = " ".join(map(str, title)) if isinstance(title, list) else title
    said = spec.get("description") or title
    return said if isinstance(said, str) else "Chart"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
