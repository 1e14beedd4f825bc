"""Run the code of the documentation pages, and return the charts that their pictures show.

An image that directly follows a ```python block, or the output of this block, shows the variable
`chart` of the block. The images of the page on coverage show tables in docs/coverage. Other images
repeat a picture of another place, or are screenshots.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import chdir, redirect_stdout
from io import StringIO
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
from vl_convert import vegalite_to_scenegraph

import rocframe as rf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).parent
IMAGES = HERE / "images"
DIGESTS = IMAGES / "digests.json"
PANELS = IMAGES / "panels.json"  # of the pictures of the gallery, for the thumbnails
COVERAGE = HERE / "coverage"
# Columns of the tables of coverage that distinguish their rows.
COVERAGE_KEYS = ("case", "ci", "method", "AUC", "positives, negatives")
COVERAGE_KEYS += ("old AUC", "margin", "correlation")
DASHBOARD = "gallery/dashboard.png"
REPORT = "gallery/report.png"
SCREENSHOTS = (  # a browser draws them
    *(DASHBOARD, REPORT),
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
    charts: dict[str, Any] = coverage_charts() if sources is None else {}
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


def coverage_charts() -> dict[str, Any]:
    """Return the charts of the page on coverage, by the paths of their pictures."""
    areas = {"x": pl.col("column").str.strip_prefix("AUC "), "x_title": "true AUC"}
    numbers = pl.col("column").str.extract(r"(\d+)")
    covered = {"y_title": "coverage (%)", "nominal": 95}
    rejected = {"y_title": "wrong rejections (%)", "nominal": 5}
    sizes = ["3, 27", "5, 45", "10, 90", "20, 180"]
    tests = _simulated("tests-of-areas", (pl.col("AUC") == "0.7") & _sizes(sizes))
    methods = ("normal or chi-squared", "default")
    gate = _simulated("release-gate", _sizes(["10, 90"]))
    charts = {
        "auc": _percent_chart(_simulated("auc"), "case", "ci", **areas, **covered),
        "ks": _percent_chart(_simulated("ks"), "case", "ci", **areas, **covered),
        "tests-of-areas": _percent_chart(
            pl.concat(tests.with_columns(method=pl.lit(name)) for name in methods),
            *("column", "method"),
            x=pl.col("positives, negatives"),
            x_title="positives, negatives",
            number=(pl.col("method") == "default").cast(pl.Int64),
            **rejected,
        ),
        "release-gate": _percent_chart(
            gate.with_columns(case=pl.format("AUC {}, correlation {}", "old AUC", "correlation")),
            *("case", "method"),
            x=numbers,
            x_title="groups",
            **rejected | {"y_title": "samples with a wrong pass (%)"},
        ),
        "bands": _percent_chart(
            _simulated("bands"), "case", "method", x=numbers, x_title="rows", **covered
        ),
    }
    return {f"coverage/{name}.png": chart for name, chart in charts.items()}


def _sizes(sizes: list[str]) -> pl.Expr:
    return pl.col("positives, negatives").is_in(sizes)


def _simulated(name: str, where: pl.Expr | bool = True) -> pl.DataFrame:
    """Return rows of a table in docs/coverage, with one row per cell, whose text is in `cell`."""
    table = pl.read_csv(COVERAGE / f"{name}.csv", comment_prefix="#", infer_schema=False)
    keys = [column for column in table.columns if column in COVERAGE_KEYS]
    return table.filter(where).unpivot(index=keys, variable_name="column", value_name="cell")


def _percent_chart(
    table: pl.DataFrame,
    panel: str,
    series: str,
    *,
    x: pl.Expr,
    x_title: str,
    y_title: str,
    nominal: float,
    number: pl.Expr | int = 0,
) -> Any:
    """Return a chart of the first, or another, number of each cell, with a line per series."""
    percent = pl.col("cell").str.extract_all(r"[\d.]+").list.get(number).cast(pl.Float64)
    data = table.select(panel=panel, series=series, x=x, percent=percent)
    panels = data["panel"].unique(maintain_order=True).to_list()
    lines = (
        alt.Chart()
        .mark_line(point=True)
        .encode(
            alt.X("x:O", title=x_title, sort=None, axis=alt.Axis(labelAngle=0)),
            alt.Y("percent:Q", title=y_title, scale=alt.Scale(zero=False)),
            alt.Color("series:N", title=None, sort=None),
        )
    )
    rule = alt.Chart().mark_rule(strokeDash=[4, 4], color="gray").encode(y=alt.datum(nominal))
    return (
        alt.layer(rule, lines, data=data)
        .properties(width=190, height=200)
        .facet(alt.Facet("panel:N", title=None, sort=panels), columns=4)
    )


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


def panel(chart: Any) -> list[float]:
    """Return the largest panel of a chart, without its axes: left, top, width and height.

    They are shares of the width or of the height of the picture.
    """
    with alt.theme.enable("rocframe"):
        scene = vegalite_to_scenegraph(json.dumps(chart.to_dict(validate=False)))
    _, *rectangle = max(_panels(scene["scenegraph"], *scene["origin"]), key=itemgetter(0))
    sides = ("width", "height", "width", "height")
    return [round(x / scene[side], 4) for x, side in zip(rectangle, sides, strict=True)]


def _panels(mark: Any, left: float, top: float) -> Iterator[tuple[float, ...]]:
    """Return area, left, top, width and height of each group of marks that has a frame."""
    for group in mark.get("items", []) if mark["marktype"] == "group" else []:
        x, y = left + group.get("x", 0), top + group.get("y", 0)
        size = group.get("width", 0), group.get("height", 0)
        if group.get("stroke"):
            yield size[0] * size[1], x, y, *size
        for part in group.get("items", []):
            yield from _panels(part, x, y)


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
