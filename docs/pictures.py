"""Run the code of the documentation pages, and return the charts that their pictures show.

An image that directly follows a ```python block, or the output of this block, shows the variable
`chart` of the block. Other images repeat a picture of another place, or are screenshots.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl

import rocframe as rf

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).parent
IMAGES = HERE / "images"
DIGESTS = IMAGES / "digests.json"
DASHBOARD = "gallery/dashboard.png"
SCREENSHOTS = (  # a browser draws them
    *(DASHBOARD, "gallery/report.png"),
    *("start/report.png", "start/dashboard.png", "start/nightly.png"),
)
PART = re.compile(
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n.*?^```\n)?"
    r"(?:\n!\[[^\]]*\]\((?:\.\./)*images/(?P<image>[^)]*)\)$)?",
    re.MULTILINE | re.DOTALL,
)


def pages() -> list[Path]:
    """Return the Markdown pages of the documentation, without built files."""
    return sorted(page for page in HERE.rglob("*.md") if not {"_build", "api"} & set(page.parts))


def pictures(selected: str = "", sources: Iterable[Path] | None = None) -> dict[str, Any]:
    """Return the chart of each picture, by the path of the picture in docs/images.

    `selected` is a part of the paths. Only the pages with such pictures run. `sources` are the
    pages, by default all pages.
    """
    charts: dict[str, Any] = {}
    with TemporaryDirectory() as folder, chdir(folder):
        Path("data").symlink_to(HERE.parent / "data", target_is_directory=True)
        for page in pages() if sources is None else sources:
            parts = list(PART.finditer(page.read_text(encoding="utf-8")))
            images = [part["image"] for part in parts if part["image"]]
            if any(selected in image for image in images):
                charts |= _charts(page, parts)
    return {image: chart for image, chart in charts.items() if selected in image}


def dashboard() -> Any:
    """Return the dashboard of two models that the picture DASHBOARD shows."""
    models = ["random_forest", "logistic_regression"]
    votes = rf.datasets.vote().filter(pl.col("model").is_in(models))
    curves = rf.curve(votes, "label", "score", by="model")
    return rf.dashboard(curves, threshold=0.5, costs={"fp": 1, "fn": 5})


def _charts(page: Path, parts: list[re.Match[str]]) -> dict[str, Any]:
    """Run the blocks of a page, and return its charts by the paths of their pictures."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    charts: dict[str, Any] = {}
    for part in parts:
        line = part.string.count("\n", 0, part.start("code"))
        if part["image"]:
            namespace.pop("chart", None)
        with redirect_stdout(StringIO()):
            exec(compile("\n" * line + part["code"], page, "exec", dont_inherit=True), namespace)
        if part["image"] and part["image"] not in SCREENSHOTS:
            charts[part["image"]] = namespace["chart"]
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
