"""Write the measured part of the page on large logs: `python docs/scale.py`.

The part consists of a summary, a chart and a table. `docs/make_images.py` draws the chart. The
measurements are those in docs/scale.json, which `python -m bench.scale --save` writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

HERE = Path(__file__).parent
RESULTS = HERE / "scale.json"
PAGE = HERE / "large-logs.md"
IMAGE = "scale.png"
START, END = "<!-- measured: start -->\n", "<!-- measured: end -->\n"
TASKS = {
    "read": "read the columns",
    "compress": "compress, curves and bounds",
    "auc": "auc of all rows",
    "curve": "curve of all rows",
}
PANELS = {"seconds": "seconds", "peak": "peak memory (MB)", "disk": "size on disk (MB)"}
ALL_ROWS, COMPRESSED = "all rows", "compressed table"
GROUPS, ROWS = 100, 10**7  # constant in the panels of rows, and in those of groups


def read_results() -> pl.DataFrame:
    """Return the measurements, one row per task and size."""
    results = pl.read_json(RESULTS, infer_schema_length=None)
    return results.filter(pl.col("task").is_in([*TASKS])).sort("rows", "groups", "task")


def chart(results: pl.DataFrame) -> Any:
    """Return the chart: time, memory and size on disk against rows, and against groups."""
    measured = results.with_columns(
        pl.col("task").replace_strict(TASKS), peak=pl.col("peak_bytes") / 1e6
    )
    compressed = measured.filter(pl.col("task") == TASKS["compress"]).drop("task")
    files = compressed.unpivot(
        ["file_bytes", "compressed_bytes"],
        index=["rows", "groups"],
        variable_name="task",
        value_name="disk",
    )
    names = {"file_bytes": ALL_ROWS, "compressed_bytes": COMPRESSED}
    files = files.with_columns(pl.col("task").replace_strict(names), pl.col("disk") / 1e6)
    rows = []
    for quantity, title in PANELS.items():
        table = files if quantity == "disk" else measured
        domain = [ALL_ROWS, COMPRESSED] if quantity == "disk" else [*TASKS.values()]
        panels = []
        for x, where in (("rows", pl.col("groups") == GROUPS), ("groups", pl.col("rows") == ROWS)):
            data = table.filter(where).select("task", x, quantity)
            constant = f"{GROUPS:,} groups" if x == "rows" else f"{ROWS:,} rows"
            panels.append(
                alt.Chart(data, title=constant, width=280, height=170)
                .mark_line(point=True)
                .encode(
                    alt.X(f"{x}:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s")),
                    alt.Y(f"{quantity}:Q", title=title, scale=alt.Scale(type="log")),
                    alt.Color(
                        "task:N",
                        title=None,
                        scale=alt.Scale(domain=domain),
                        legend=alt.Legend(labelLimit=300),
                    ),
                )
            )
        rows.append(alt.hconcat(*panels))
    return alt.vconcat(*rows).resolve_scale(color="independent")


def text(results: pl.DataFrame) -> str:
    """Return the measured part of the page: a summary, the chart and the table."""
    machines = results.select("processor", "threads", "polars", "date").unique().sort("date")
    lines = [
        f"- {m['processor']}, {m['threads']} threads, polars {m['polars']}, measured on {m['date']}"
        for m in machines.iter_rows(named=True)
    ]
    lines += ["", summary(results), ""]
    lines += [
        f"![Time, memory and size on disk against rows and groups, log-log](images/{IMAGE})",
        "",
    ]
    seconds = {(r["rows"], r["groups"], r["task"]): r["seconds"] for r in results.to_dicts()}
    titles = ["rows", "groups", *(f"{task} (s)" for task in TASKS)]
    titles += ["peak (MB)", "Parquet (MB)", "rows of the result", "bounds"]
    lines += [f"| {' | '.join(titles)} |", f"| {' | '.join('--:' for _ in titles)} |"]
    compressions = results.filter(pl.col("task") == "compress")
    lines += [table_line(result, seconds) for result in compressions.iter_rows(named=True)]
    return "\n".join(lines) + "\n"


def summary(results: pl.DataFrame) -> str:
    """Return the results of the largest file in words."""
    largest = (
        results.filter(pl.col("task") == "compress").sort("rows", "groups").row(-1, named=True)
    )
    size = (pl.col("rows") == largest["rows"]) & (pl.col("groups") == largest["groups"])
    read = results.filter(size, pl.col("task") == "read").row(0, named=True)
    return (
        f"The largest file has {largest['rows']:,} rows and {largest['groups']:,} groups in "
        f"{largest['file_bytes'] / 1e9:.2f} GB. Compression, curves and bounds together took "
        f"{largest['seconds']:.1f} s ({rate(largest)} million rows per second), with a peak of "
        f"{largest['peak_bytes'] / 1e9:.2f} GB of memory. Reading the columns took "
        f"{read['seconds']:.1f} s ({rate(read)} million rows per second). The compressed table "
        f"has {largest['cells']:,} rows. In each group, the two bounds of the AUC differ by at "
        f"most {largest['width']:.5f}."
    )


def rate(result: dict[str, Any]) -> str:
    """Return the number of million rows per second."""
    return f"{result['rows'] / result['seconds'] / 1e6:.1f}"


def table_line(result: dict[str, Any], seconds: dict[tuple[int, int, str], float]) -> str:
    """Return a compression, with the times of all tasks of its size, as a line of the table."""
    times = [seconds.get((result["rows"], result["groups"], task)) for task in TASKS]
    cells = [
        f"{result['rows']:,}",
        f"{result['groups']:,}",
        *("" if time is None else f"{time:.2f}" for time in times),
        f"{result['peak_bytes'] / 1e6:,.0f}",
        f"{result['file_bytes'] / 1e6:,.0f}",
        f"{result['cells']:,}",
        f"{result['width']:.5f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write the measured part of the page."""
    results = read_results()
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{START}\n{text(results)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
