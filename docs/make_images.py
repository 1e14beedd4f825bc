"""Write the pictures of the README and of the documentation: `python docs/make_images.py`.

The pictures of pages need the browser chromium. The picture of the page on large logs shows the
measurements in docs/scale.json.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import scale
from pictures import DIGESTS, PAGES, digest, pictures

import rocframe as rf

HERE = Path(__file__).parent
BROWSER = "chromium"
BROWSER_OPTIONS = (
    *("--headless", "--no-sandbox", "--hide-scrollbars"),
    "--virtual-time-budget=20000",  # milliseconds for the scripts of the page
)
WIDTH, HEIGHTS = 1080, (880, 1150)  # in pixels


def main() -> None:
    """Write all pictures."""
    votes = rf.datasets.vote()
    for kind in ("roc", "precision_recall", "det", "lift"):
        chart = rf.curve(votes, "label", "score", by="model", kind=kind).roc.chart()
        chart.save(HERE / "images" / f"{kind}.png", ppi=100)
    areas = rf.auc(votes, "label", "score", by="model")
    areas.roc.chart().save(HERE / "images" / "auc.png", ppi=100)
    scale.main()
    charts = pictures()
    DIGESTS.parent.mkdir(exist_ok=True)
    for image, chart in charts.items():
        chart.save(HERE / image, ppi=80)
    digests = {Path(image).name: digest(chart) for image, chart in charts.items()}
    DIGESTS.write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")
    if shutil.which(BROWSER):
        write_pages(votes)


def write_pages(votes: pl.DataFrame) -> None:
    """Write the pictures of a dashboard and of a report."""
    two = votes.filter(pl.col("model").is_in(["random_forest", "logistic_regression"]))
    curves = rf.curve(two, "label", "score", by="model")
    with TemporaryDirectory() as folder:
        board, report = (Path(folder) / f"{Path(image).stem}.html" for image in PAGES)
        rf.save_chart(rf.dashboard(curves, threshold=0.5, costs={"fp": 1, "fn": 5}), board)
        rf.report(votes, "label", "score", path=report, by=["model", "fold"], id="id")
        for page, image, height in zip((board, report), PAGES, HEIGHTS, strict=True):
            options = [f"--window-size={WIDTH},{height}", f"--screenshot={HERE / image}"]
            command = [BROWSER, *BROWSER_OPTIONS, *options, page.as_uri()]
            subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
