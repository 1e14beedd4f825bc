"""Write the pictures of the README and of the documentation: `python docs/make_images.py [PART]`.

PART is a part of the paths of the pictures to write, such as `course/`. Without PART, all pictures
are written. There are two files of each picture: for light and for dark pages. The screenshots of
pages need the browser chromium. The picture of the page on large logs shows the measurements in
docs/scale.json.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
import scale
from pictures import DIGESTS, IMAGES, PANELS, SCREENSHOTS, dashboard, digest, panel, pictures
from PIL import Image
from vl_convert import vegalite_to_png

import rocframe as rf
from rocframe.charts.style import DARK
from rocframe.reports.export import PAGE_STYLE, with_page_colors

BROWSER = "chromium"
BROWSER_OPTIONS = (
    *("--headless", "--no-sandbox", "--hide-scrollbars"),
    "--virtual-time-budget=20000",  # milliseconds for the scripts of the page
)
COLOR_SCHEMES = {"": "1", "-dark": "0"}  # values of an option of chromium
# The colors of charts in pages are CSS variables. Pictures have the colors of a palette instead.
DARK_COLORS = {
    getattr(PAGE_STYLE, part): getattr(DARK, part)
    for part in ("background", "foreground", "muted", "grid")
} | dict(zip(PAGE_STYLE.colors, DARK.colors, strict=True))
WIDTH, HEIGHTS = 1080, (880, 1150)  # in pixels


def main(selected: str = "") -> None:
    """Write the pictures whose paths contain `selected`."""
    charts = pictures(selected)
    for image, chart in charts.items():
        save(image, chart)
    if selected in scale.IMAGE:
        save(scale.IMAGE, scale.chart(scale.read_results()))
    update(DIGESTS, {image: digest(chart) for image, chart in charts.items()}, selected)
    plots = {image: panel(chart) for image, chart in charts.items() if image.startswith("gallery/")}
    update(PANELS, plots, selected)
    if shutil.which(BROWSER) and any(selected in image for image in SCREENSHOTS):
        write_screenshots()


def update(path: Path, found: dict[str, Any], selected: str) -> None:
    """Write what was found for each picture; keep the lines of pictures that are not selected."""
    old = json.loads(path.read_text(encoding="utf-8")) if selected else {}
    lines = (
        f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in sorted((old | found).items())
    )
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def save(image: str, chart: Any) -> None:
    """Write a chart for light and for dark pages."""
    (IMAGES / image).parent.mkdir(exist_ok=True)
    with alt.theme.enable("rocframe"):
        spec = chart.to_dict()
    dark = json.dumps(with_page_colors(spec))
    for variable, color in DARK_COLORS.items():
        dark = dark.replace(variable, color)
    for suffix, text in (("", json.dumps(spec)), ("-dark", dark)):
        png = vegalite_to_png(text, ppi=80)
        write_png(png, with_suffix(image, suffix))


def write_png(png: bytes, path: Path) -> None:
    """Write a picture with at most 256 colors, which takes a third of the space."""
    Image.open(BytesIO(png)).convert("RGB").quantize(256).save(path, optimize=True)


def with_suffix(image: str, suffix: str) -> Path:
    """Return the file of a picture: `name.png` or `name-dark.png`."""
    path = IMAGES / image
    return path.with_stem(path.stem + suffix)


def write_screenshots() -> None:
    """Write the pictures of a dashboard and of a report."""
    with TemporaryDirectory() as folder:
        board, report = (Path(folder) / f"{Path(image).stem}.html" for image in SCREENSHOTS)
        rf.save_chart(dashboard(), board)
        rf.report(rf.datasets.vote(), "label", "score", path=report, by=["model", "fold"], id="id")
        for page, image, height in zip((board, report), SCREENSHOTS, HEIGHTS, strict=True):
            for suffix, scheme in COLOR_SCHEMES.items():
                if page is board and suffix:  # this page is always light
                    continue
                options = [
                    f"--blink-settings=preferredColorScheme={scheme}",
                    f"--window-size={WIDTH},{height}",
                    f"--screenshot={with_suffix(image, suffix)}",
                ]
                command = [BROWSER, *BROWSER_OPTIONS, *options, page.as_uri()]
                subprocess.run(command, check=True, capture_output=True)
                write_png(with_suffix(image, suffix).read_bytes(), with_suffix(image, suffix))


if __name__ == "__main__":
    main(*sys.argv[1:])
