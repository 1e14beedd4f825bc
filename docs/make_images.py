"""Write the pictures of the README and of the documentation: `python docs/make_images.py [PART]`.

PART is a part of the paths of the pictures to write, such as `course/`. Without PART, all pictures
are written. Dark pages invert the lightness of the pictures. The screenshots of pages need the
browser chromium. The picture of the page on large logs shows the measurements in
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
import demo_pages
import scale
from pictures import (
    DASHBOARD,
    DIGESTS,
    IMAGES,
    PANELS,
    REPORT,
    SCREENSHOTS,
    digest,
    panel,
    pictures,
)
from PIL import Image
from vl_convert import vegalite_to_png

import rocframe as rf

BROWSER = "chromium"
BROWSER_OPTIONS = (
    *("--headless", "--no-sandbox", "--hide-scrollbars"),
    "--virtual-time-budget=20000",  # milliseconds for the scripts of the page
    "--blink-settings=preferredColorScheme=1",  # light
)
# The pictures of the landing page are the upper parts of the pages, in half of their size.
WIDTH, HEIGHTS, CARD = 1080, (1150, 880, 1150), (1080, 1000)  # in pixels


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
    """Write the picture of a chart."""
    with alt.theme.enable("rocframe"):
        png = vegalite_to_png(json.dumps(chart.to_dict()), ppi=80)
    write_png(Image.open(BytesIO(png)), image)


def write_png(picture: Image.Image, image: str) -> None:
    """Write a picture with at most 256 colors, which takes a third of the space."""
    path = IMAGES / image
    path.parent.mkdir(exist_ok=True)
    picture.convert("RGB").quantize(256).save(path, optimize=True)


def write_screenshots() -> None:
    """Write the pictures of the report of the gallery, and of the pages of the landing page."""
    with TemporaryDirectory() as folder:
        demo_pages.write(Path(folder))
        votes = Path(folder, "votes.html")
        rf.report(rf.datasets.vote(), "label", "score", path=votes, by=["model", "fold"], id="id")
        write_png(screenshot(votes, 1150), REPORT)
        for name, height in zip(demo_pages.NAMES, HEIGHTS, strict=True):
            picture = screenshot(Path(folder, name), height)
            if name == demo_pages.DASHBOARD:
                write_png(picture, DASHBOARD)
            card = Image.new("RGB", CARD, "white")
            card.paste(picture)
            half = card.resize((CARD[0] // 2, CARD[1] // 2), Image.Resampling.LANCZOS)
            write_png(half, f"start/{Path(name).stem}.png")


def screenshot(page: Path, height: int) -> Image.Image:
    """Return a picture of the upper part of a page."""
    file = page.with_suffix(".png")
    options = [f"--window-size={WIDTH},{height}", f"--screenshot={file}"]
    command = [BROWSER, *BROWSER_OPTIONS, *options, page.as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    return Image.open(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
