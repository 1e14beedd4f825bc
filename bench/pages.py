"""How long pages take: to write those of the bundled logs, and to open one with 60 charts."""

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
WRITTEN, OPENED = 5.0, 3.0  # seconds


class Page(NamedTuple):
    """A page to write: of which log, and with which columns."""

    what: str
    write: Callable[[Path], None]


def every() -> list[Page]:
    """Return the pages of the bundled logs."""
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
    """Write a page with ten charts of each of six kinds."""
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
    """Return how many charts a page has, and the seconds until those in sight and all are drawn."""
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
    """Say what is not there that opens pages, if anything is."""
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
            first = ", with all that loads first" if place == 0 else ""
            print(f"report, {page.what}: {seconds:.1f} s{first}; goal ≤ {WRITTEN:g} s", flush=True)
        if lacking():
            print(f"opening a page is not measured: {lacking()}")
            return
        sixty(Path(folder) / "sixty.html")
        count, seen, whole = opening(Path(folder) / "sixty.html")
        print(
            f"a page with {count} charts: those in sight drawn after {seen:.1f} s, all after "
            f"{whole:.1f} s; goal ≤ {OPENED:g} s"
        )


if __name__ == "__main__":
    main()
