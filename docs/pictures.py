"""Run the code of the gallery, in which each picture shows the variable `chart` above it."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GALLERY = HERE / "gallery.md"
PAGES = ("images/gallery/dashboard.png", "images/gallery/report.png")  # a browser draws them
DIGESTS = HERE / "images" / "gallery" / "digests.json"
PART = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^!\[[^\]]*\]\((?P<image>[^)]*)\)$", re.MULTILINE | re.DOTALL
)


def pictures() -> dict[str, Any]:
    """Run the gallery and return the chart of each image, by image path.

    Images of pages are not included.
    """
    source = GALLERY.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    charts: dict[str, Any] = {}
    for part in PART.finditer(source):
        if part["image"] in PAGES:
            continue
        if part["image"]:
            charts[part["image"]] = namespace.pop("chart")
            continue
        line = source.count("\n", 0, part.start("code"))
        with redirect_stdout(StringIO()):
            exec(compile("\n" * line + part["code"], GALLERY, "exec", dont_inherit=True), namespace)
    return charts


def digest(chart: Any) -> str:
    """Return a hash of the specification of a chart.

    The hash ignores the version of Vega-Lite, and the last digits of numbers, which can differ
    between processors.
    """
    spec = chart.to_dict()
    spec.pop("$schema", None)
    spec.pop("config", None)
    text = json.dumps(_rounded(spec), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(part: Any) -> Any:
    match part:
        # The name of a data set is a hash of its values, including their last digits.
        case {"datasets": sets, **rest}:
            result: Any = [_rounded(rest), *map(_rounded, sets.values())]
        case {"name": str(name)} if name.startswith("data-"):
            result = None
        case dict():
            result = {key: _rounded(value) for key, value in part.items()}
        case list():
            result = [*map(_rounded, part)]
        case str() if part.startswith("[{"):
            result = _rounded(json.loads(part))
        case float():
            result = float(f"{part:.6g}")
        case _:
            result = part
    return result
