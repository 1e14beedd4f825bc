"""Run the code of the gallery: each picture shows the variable `chart` of the code above it."""

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
DIGESTS = HERE / "images" / "gallery" / "digests.json"
PART = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^!\[[^\]]*\]\((?P<image>[^)]*)\)$", re.MULTILINE | re.DOTALL
)


def pictures() -> dict[str, Any]:
    """Run the gallery and return the chart of each image, by image path."""
    source = GALLERY.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found: dict[str, Any] = {}
    for part in PART.finditer(source):
        if part["image"]:
            found[part["image"]] = namespace.pop("chart")
            continue
        line = source.count("\n", 0, part.start("code"))
        with redirect_stdout(StringIO()):
            exec(compile("\n" * line + part["code"], GALLERY, "exec", dont_inherit=True), namespace)
    return found


def digest(chart: Any) -> str:
    """Return a hash of the specification of a chart.

    The hash ignores the version of Vega-Lite, and the last digits of numbers, which can differ
    between processors.
    """
    spec = chart.to_dict()
    spec.pop("$schema", None)
    spec.pop("config", None)
    text = json.dumps(_rough(spec), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rough(part: Any) -> Any:
    match part:
        # The name of a data set is a hash of its values, including their last digits.
        case {"datasets": sets, **rest}:
            rough: Any = [_rough(rest), *map(_rough, sets.values())]
        case {"name": str(name)} if name.startswith("data-"):
            rough = None
        case dict():
            rough = {key: _rough(value) for key, value in part.items()}
        case list():
            rough = [*map(_rough, part)]
        case str() if part.startswith("[{"):
            rough = _rough(json.loads(part))
        case float():
            rough = float(f"{part:.6g}")
        case _:
            rough = part
    return rough
