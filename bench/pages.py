"""Benchmarks of reports: write reports of the bundled logs, and open a report with 60 charts."""

from __future__ import annotations

import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

import rocframe as rf
from bench.data import predictions

if TYPE_CHECKING:
    from collections.abc import Callable

CHROMIUM = Path("/usr/bin/chromium")
WRITE_GOAL, LONG_GOAL, OPEN_GOAL = 5.0, 10.0, 3.0  # goals in seconds


class Page(NamedTuple):
    """A report: its name and the function that writes it to a path."""

    name: str
    write: Callable[[Path], None]


def benchmarks() -> list[Page]:
    """Return the reports of the bundled logs."""
    vote = rf.datasets.vote()
    scores = {digit: f"p{digit}" for digit in range(10)}
    digits = rf.one_vs_rest(rf.datasets.digits(), "label", scores, id="id")
    return [
        Page("vote, by model", _report_writer(vote, by="model", id="id")),
        Page("vote, by model and fold", _report_writer(vote, by=["model", "fold"], id="id")),
        Page("digits, by model and class", _report_writer(digits, by=["model", "class"])),
    ]


def _report_writer(log: pl.DataFrame, **options: object) -> Callable[[Path], None]:
    return lambda path: rf.report(log, "label", "score", path=path, **options)  # type: ignore[arg-type]


def write_sixty_charts(path: Path, charts: int = 60) -> None:
    """Write a report with the given number of charts, of six kinds."""
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


def long_log(rows: int = 5_000_000, days: int = 300) -> pl.DataFrame:
    """Return predictions of three models on several days."""
    key = pl.col("group")
    day = pl.date(2026, 1, 1) + pl.duration(days=key // 3)
    return (
        predictions(rows, groups=3 * days)
        .lazy()
        .select(pl.format("model {}", key % 3).alias("model"), day.alias("day"), "label", "score")
        .collect()
    )


def open_page(path: Path) -> tuple[int, float, float]:
    """Open a page; return its number of charts and two times in seconds.

    The times are those until the visible charts are drawn, and until all charts are drawn.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"], env={**os.environ}
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        start = time.perf_counter()
        page.goto(path.resolve().as_uri())
        page.locator(".chart svg.marks").first.wait_for()
        visible_seconds = time.perf_counter() - start
        page.wait_for_selector("body[data-drawn]", timeout=120_000)
        all_seconds = time.perf_counter() - start
        count = page.locator(".chart svg.marks").count()
        browser.close()
    return count, visible_seconds, all_seconds


def missing_program() -> str:
    """Return the reason why pages cannot be opened, or an empty text."""
    if find_spec("playwright") is None:
        return "playwright is not installed"
    return "" if CHROMIUM.exists() else "chromium is not installed"


def main() -> None:
    """Print all measurements."""
    with tempfile.TemporaryDirectory() as folder:
        for i, page in enumerate(benchmarks()):
            start = time.perf_counter()
            page.write(Path(folder) / "page.html")
            seconds = time.perf_counter() - start
            first = ", including imports" if i == 0 else ""
            print(
                f"report, {page.name}: {seconds:.1f} s{first}; goal ≤ {WRITE_GOAL:g} s", flush=True
            )
        log = long_log()
        start = time.perf_counter()
        _report_writer(log, by=["model", "day"])(Path(folder) / "long.html")
        seconds = time.perf_counter() - start
        print(
            f"report, {log.height:,} rows, 900 curves by model and day: {seconds:.1f} s; "
            f"goal ≤ {LONG_GOAL:g} s",
            flush=True,
        )
        if missing_program():
            print(f"Opening a page is not measured: {missing_program()}.")
            return
        write_sixty_charts(Path(folder) / "sixty.html")
        count, visible_seconds, all_seconds = open_page(Path(folder) / "sixty.html")
        print(
            f"page with {count} charts: visible charts drawn after {visible_seconds:.1f} s, all "
            f"charts after {all_seconds:.1f} s; goal ≤ {OPEN_GOAL:g} s"
        )


if __name__ == "__main__":
    main()
