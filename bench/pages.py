"""Benchmarks of reports: writing those of the bundled logs, and opening one with 60 charts."""

from __future__ import annotations

import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

import rocframe as rf

if TYPE_CHECKING:
    from collections.abc import Callable

CHROMIUM = Path("/usr/bin/chromium")
WRITTEN, OPENED = 5.0, 3.0  # goals in seconds


class Page(NamedTuple):
    """A report: its name and the function that writes it to a path."""

    what: str
    write: Callable[[Path], None]


def every() -> list[Page]:
    """Return the reports of the bundled logs."""
    vote = rf.datasets.vote()
    scores = {digit: f"p{digit}" for digit in range(10)}
    digits = rf.one_vs_rest(rf.datasets.digits(), "label", scores, id="id")
    return [
        Page("vote, by model", _writing(vote, by="model", id="id")),
        Page("vote, by model and fold", _writing(vote, by=["model", "fold"], id="id")),
        Page("digits, by model and class", _writing(digits, by=["model", "class"])),
    ]


def _writing(predictions: pl.DataFrame, **options: object) -> Callable[[Path], None]:
    return lambda path: rf.report(predictions, "label", "score", path=path, **options)  # type: ignore[arg-type]


def sixty(path: Path, charts: int = 60) -> None:
    """Write a page with charts of six kinds, ten of each kind by default."""
    vote = rf.datasets.vote().with_columns(pl.col("fold").alias("part"))
    kinds = ["roc", "precision_recall", "det", "gain", "lift", "lift_chart"]
    rf.report(
        vote.filter(pl.col("part") <= charts // 6),
        "label",
        "score",
        path=path,
        by=["model", "part"],
        kind=kinds,
    )


def opening(path: Path) -> tuple[int, float, float]:
    """Return the number of charts, and the seconds until the visible and until all are drawn."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"], env={**os.environ}
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        start = time.perf_counter()
        page.goto(path.resolve().as_uri())
        page.locator(".chart svg.marks").first.wait_for()
        seen = time.perf_counter() - start
        page.wait_for_selector("body[data-drawn]", timeout=120_000)
        whole = time.perf_counter() - start
        count = page.locator(".chart svg.marks").count()
        browser.close()
    return count, seen, whole


def lacking() -> str:
    """Return which program for opening pages is missing, or an empty string."""
    if find_spec("playwright") is None:
        return "playwright is not installed"
    return "" if CHROMIUM.exists() else "chromium is not installed"


def main() -> None:
    """Print all measurements."""
    with tempfile.TemporaryDirectory() as folder:
        for place, page in enumerate(every()):
            start = time.perf_counter()
            page.write(Path(folder) / "page.html")
            seconds = time.perf_counter() - start
            first = ", including imports" if place == 0 else ""
            print(f"report, {page.what}: {seconds:.1f} s{first}; goal ≤ {WRITTEN:g} s", flush=True)
        if lacking():
            print(f"Opening a page is not measured: {lacking()}.")
            return
        sixty(Path(folder) / "sixty.html")
        count, seen, whole = opening(Path(folder) / "sixty.html")
        print(
            f"page with {count} charts: visible charts drawn after {seen:.1f} s, all charts after "
            f"{whole:.1f} s; goal ≤ {OPENED:g} s"
        )


if __name__ == "__main__":
    main()
