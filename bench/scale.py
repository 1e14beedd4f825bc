"""Measure time, memory and size on disk for many rows and groups: `python -m bench.scale`.

The rows are written to a Parquet file in row groups, so that files may be larger than the memory.
Each task runs in a new process:

- `count`: count the rows of the file. polars reads only the metadata.
- `read`: read the columns, and compute their sums. The other tasks cannot take less time.
- `compress`: stream the file through `compress` with a resolution. Then compute the curves of the
  compressed table, and the bounds of their areas over all orders of tied rows.
- `auc` and `curve`: all rows in memory, without rounding. The time does not include reading.

One billion rows with 100 groups:

    python -m bench.scale --rows 1e9 --groups 100 --tasks count,read,compress --folder DIR

The files in `DIR` are used again by later runs, and are not deleted. Without `--folder`, the files
are temporary. `--save` stores the results in `docs/scale.json`. `python docs/scale.py` then writes
the table and the chart of the documentation.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import rocframe as rf
from bench.machine import processor

if TYPE_CHECKING:
    from collections.abc import Callable

TREE = Path(__file__).resolve().parents[1]
RESULTS = TREE / "docs" / "scale.json"
ROWS, GROUPS = [10**6, 10**7], [1, 100, 10**4, 10**6]
ROW_GROUP = 10**6  # rows
RESOLUTION = 1 / 1024
SUMS = {"group": pl.Int64, "score": pl.Float64, "label": pl.Int64}  # dtypes of the sums of columns
DISK_BYTES = 6  # upper bound of the size of a row on disk
RESERVE = 10**9  # bytes of the disk that remain free
# Upper bounds of the memory of a row, with the columns that are read
MEMORY_BYTES = {"auc": 60, "curve": 200}
MAX_SHARE = 0.6  # of the memory of the machine
LINE = (
    "{task:10} {rows:>13} {groups:>9} {seconds:>9} {cpu:>9} {rate:>10} {peak:>9} {file:>9} "
    "{cells:>11} {compressed:>10} {width:>9}"
)
TITLES = {
    "task": "task",
    "rows": "rows",
    "groups": "groups",
    "seconds": "seconds",
    "cpu": "CPU s",
    "rate": "10⁶ rows/s",
    "peak": "peak MB",
    "file": "file MB",
    "cells": "cells",
    "compressed": "result MB",
    "width": "bounds",
}


def write_rows(path: Path, rows: int, groups: int, seed: int) -> None:
    """Write a Parquet file with the columns `group` (Int32), `score` (Float32), `label` (Boolean).

    10 % of the labels are positive. The scores are between 0 and 1. The rows of a row group depend
    only on the seed and the number of the row group.
    """
    from pyarrow.parquet import ParquetWriter

    writer = None
    partial = path.with_suffix(".part")
    for number, start in enumerate(range(0, rows, ROW_GROUP)):
        rng = np.random.default_rng([seed, number])
        size = min(ROW_GROUP, rows - start)
        label = rng.random(size, dtype=np.float32) < 0.1
        logit = 1.5 * (rng.standard_normal(size, dtype=np.float32) + label) - 0.5
        columns = {
            "group": rng.integers(0, groups, size, dtype=np.int32),
            "score": 1 / (1 + np.exp(-logit)),
            "label": label,
        }
        table = pl.DataFrame(columns).to_arrow()
        writer = writer or ParquetWriter(
            partial, table.schema, compression="zstd", use_dictionary=["group"]
        )
        writer.write_table(table, row_group_size=ROW_GROUP)
    if writer:
        writer.close()
        partial.replace(path)


def count_rows(path: Path) -> dict[str, Any]:
    """Count the rows."""
    pl.scan_parquet(path).select(pl.len()).collect()
    return {}


def read_columns(path: Path) -> dict[str, Any]:
    """Read all columns, and compute their sums."""
    sums = [pl.col(name).cast(dtype).sum() for name, dtype in SUMS.items()]
    pl.scan_parquet(path).select(sums).collect()
    return {}


def compress_file(path: Path) -> dict[str, Any]:
    """Compress the rows, and compute curves and the bounds of their areas.

    `width` is the largest difference between the bounds of the AUC of a group.
    """
    log = pl.scan_parquet(path)
    start = time.perf_counter()
    table = rf.compress(log, "label", "score", by="group", resolution=RESOLUTION).collect()
    compressed = time.perf_counter()
    curves = rf.curve(table, "label", "score", by="group", count="count")
    bounds = rf.tie_bounds(curves)
    evaluated = time.perf_counter()
    auc = bounds.filter(pl.col("metric") == "auc")
    with tempfile.TemporaryDirectory() as folder:
        rf.write(table, Path(folder) / "table.parquet")
        size = (Path(folder) / "table.parquet").stat().st_size
    return {
        "compress_seconds": compressed - start,
        "evaluate_seconds": evaluated - compressed,
        "counted": int(table["count"].sum()),
        "cells": table.height,
        "compressed_bytes": size,
        "width": (auc["optimistic"] - auc["pessimistic"]).max(),
    }


def auc_in_memory(table: pl.DataFrame) -> dict[str, Any]:
    """Compute areas with their intervals."""
    rf.auc(table, "label", "score", by="group")
    return {}


def curve_in_memory(table: pl.DataFrame) -> dict[str, Any]:
    """Compute curves with all points."""
    return {"points": rf.curve(table, "label", "score", by="group").height}


FILE_TASKS = {"count": count_rows, "read": read_columns, "compress": compress_file}
MEMORY_TASKS = {"auc": auc_in_memory, "curve": curve_in_memory}
TASKS = (*FILE_TASKS, *MEMORY_TASKS)


def run(task: str, path: Path, repeat: int) -> None:
    """Print the measurements of a task as JSON: those of the fastest of `repeat` runs.

    After 30 seconds, the task is not run again. The peak memory is that of the whole process.
    """
    work: Callable[[Any], dict[str, Any]]
    source: Path | pl.DataFrame
    if task in MEMORY_TASKS:
        work, source = MEMORY_TASKS[task], pl.read_parquet(path)
        work(source.head(1000))  # imports modules
    else:
        work, source = FILE_TASKS[task], path
        import_modules()
    results: list[dict[str, Any]] = []
    while len(results) < repeat and sum(result["seconds"] for result in results) < 30:
        start, cpu = time.perf_counter(), time.process_time()
        result = work(source)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        results.append({"seconds": seconds, "cpu_seconds": cpu, **result})
    result = min(results, key=lambda result: result["seconds"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result["peak_bytes"] = peak * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps(result))


def import_modules() -> None:
    """Compress a small table, which imports the modules that are loaded on first use."""
    few = pl.DataFrame({"label": [True, False], "score": [0.5, 0.25]})
    table = rf.compress(few, "label", "score")
    rf.tie_bounds(rf.curve(table, "label", "score", count="count"))


def in_new_process(code: str) -> str:
    """Run Python code in a new process, and return what it prints."""
    command = [sys.executable, "-c", f"from pathlib import Path\nfrom bench import scale\n{code}"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=TREE).stdout


def rows_on_disk(folder: Path, rows: int) -> int:
    """Return `rows`, or fewer rows if the disk does not have enough free space."""
    free = shutil.disk_usage(folder).free - RESERVE
    if rows * DISK_BYTES <= free:
        return rows
    print(f"{folder} has free space for {max(free, 0) // DISK_BYTES:,} rows only.")
    return int(max(free, 0) // DISK_BYTES)


def memory_problem(task: str, rows: int) -> str:
    """Return the reason why a task cannot run in memory, or an empty text."""
    needed = rows * MEMORY_BYTES.get(task, 0)
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed <= MAX_SHARE * available:
        return ""
    return f"may need {needed / 1e9:,.0f} GB of memory; the machine has {available / 1e9:,.0f} GB"


def measure(
    folder: Path, rows: int, groups: int, tasks: list[str], *, seed: int, repeat: int
) -> list[dict[str, Any]]:
    """Return the measurements of the tasks for a file with this number of rows and groups.

    The file is written if it does not exist.
    """
    path = folder / f"rows-{rows}-groups-{groups}-seed-{seed}.parquet"
    if not path.exists():
        rows = rows_on_disk(folder, rows)
        path = folder / f"rows-{rows}-groups-{groups}-seed-{seed}.parquet"
    if not path.exists():
        start = time.perf_counter()
        in_new_process(f"scale.write_rows(Path({str(path)!r}), {rows}, {groups}, {seed})")
        seconds = time.perf_counter() - start
        if rows >= 10**8:
            print(f"{rows:,} rows written in {seconds:.0f} s", flush=True)
    results = []
    for task in tasks:
        problem = memory_problem(task, rows)
        if problem:
            print(f"{task:10} {rows:>13,} {groups:>9,} not run: {problem}", flush=True)
            continue
        load = os.getloadavg()[0]
        printed = in_new_process(f"scale.run({task!r}, Path({str(path)!r}), {repeat})")
        result = {
            "task": task,
            "rows": rows,
            "groups": groups,
            **json.loads(printed),
            "file_bytes": path.stat().st_size,
            "load": round(load, 1),
        }
        if result.get("counted", rows) != rows:
            raise AssertionError(f"compress counted {result['counted']} of {rows} rows")
        print(line(result), flush=True)
        results.append(result)
    return results


def line(result: dict[str, Any]) -> str:
    """Return the measurements of a task as a line of the table."""
    compressed, width = result.get("compressed_bytes"), result.get("width")
    return LINE.format(
        task=result["task"],
        rows=f"{result['rows']:,}",
        groups=f"{result['groups']:,}",
        seconds=f"{result['seconds']:.3f}",
        cpu=f"{result['cpu_seconds']:.3f}",
        rate=f"{result['rows'] / result['seconds'] / 1e6:,.1f}",
        peak=f"{result['peak_bytes'] / 1e6:,.0f}",
        file=f"{result['file_bytes'] / 1e6:,.1f}",
        cells=f"{result['cells']:,}" if "cells" in result else "",
        compressed="" if compressed is None else f"{compressed / 1e6:,.2f}",
        width="" if width is None else f"{width:.5f}",
    )


def comparison(results: list[dict[str, Any]]) -> list[str]:
    """Return sentences that compare `compress` with reading the columns."""
    by_task = {(result["task"], result["rows"], result["groups"]): result for result in results}
    sentences = []
    for (task, rows, groups), result in by_task.items():
        read = by_task.get(("read", rows, groups))
        if task == "compress" and read:
            sentences.append(
                f"{rows:,} rows, {groups:,} groups: compress, curves and bounds "
                f"{rows / result['seconds'] / 1e6:,.1f} million rows/s; reading the columns alone "
                f"{rows / read['seconds'] / 1e6:,.1f} million rows/s"
            )
    return sentences


def save(results: list[dict[str, Any]], path: Path) -> None:
    """Add results to a file; they replace earlier results of the same task, rows and groups."""
    machine = {
        "processor": processor(),
        "threads": pl.thread_pool_size(),
        "polars": pl.__version__,
        "date": datetime.now(tz=UTC).date().isoformat(),
    }
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    stored += [{**result, **machine} for result in results]
    by_key = {(result["rows"], result["groups"], result["task"]): result for result in stored}
    lines = [json.dumps(by_key[key]) for key in sorted(by_key)]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    print(f"{len(results)} results saved in {path}")


def numbers(text: str) -> list[int]:
    """Return the whole numbers of a list such as `1e6,1e7`; each is at least 1."""
    values = [int(float(word)) for word in text.split(",")]
    if min(values) < 1:
        raise argparse.ArgumentTypeError(f"expected numbers of at least 1, got {text}")
    return values


def task_names(text: str) -> list[str]:
    """Return the tasks of a list such as `read,compress`."""
    names = text.split(",")
    if not set(names) <= set(TASKS):
        raise argparse.ArgumentTypeError(f"expected some of {','.join(TASKS)}, got {text}")
    return names


def main(arguments: list[str] | None = None) -> None:
    """Print all measurements."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale")
    parser.add_argument("--rows", type=numbers, default=ROWS, help="such as 1e6,1e7 (default)")
    parser.add_argument("--groups", type=numbers, default=GROUPS, help="such as 1,100,1e4")
    parser.add_argument("--tasks", type=task_names, default=list(TASKS), help=",".join(TASKS))
    parser.add_argument("--folder", type=Path, help="folder of the Parquet files; they remain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--save", action="store_true", help=f"add results to {RESULTS.name}")
    options = parser.parse_args(arguments)
    print(f"processor: {processor()}, {pl.thread_pool_size()} threads; polars {pl.__version__}")
    print(LINE.format(**TITLES))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results = [
            result
            for groups in options.groups
            for rows in options.rows
            for result in measure(
                folder, rows, groups, options.tasks, seed=options.seed, repeat=options.repeat
            )
        ]
    print(*comparison(results), sep="\n")
    if options.save:
        save(results, RESULTS)


if __name__ == "__main__":
    main()
