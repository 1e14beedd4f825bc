"""Measure the peak memory of `rocframe evaluate` on a large log: `python -m bench.memory`.

The log has 20 million rows in ten folders, as written every day: a label, a score in Float64, 4
models, 25 segments, and columns that the command does not need. The command runs in a new process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from bench.startup import COMMAND

ROWS, DAYS, MODELS, SEGMENTS = 20_000_000, 10, 4, 25
GOAL = 1.5  # GB of resident memory
MEASURE = (
    "import resource, subprocess, sys; "
    "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
    "print(used.ru_maxrss, used.ru_utime + used.ru_stime)"
)


def write_log(folder: Path, rows: int) -> None:
    """Write the rows of each day to a Parquet file in its folder."""
    models = np.array([f"model {i}" for i in range(MODELS)])
    segments = np.array([f"segment {i:02}" for i in range(SEGMENTS)])
    for day in range(DAYS):
        rng = np.random.default_rng(day)
        size = rows // DAYS
        label = rng.random(size) < 0.1
        columns = {
            "label": label,
            "score": 1 / (1 + np.exp(0.5 - 1.5 * (rng.standard_normal(size) + label))),
            "model": models[rng.integers(0, MODELS, size)],
            "segment": segments[rng.integers(0, SEGMENTS, size)],
            "request": np.arange(size) + day * size,
            "amount": rng.random(size),
        }
        path = folder / f"day=2026-11-{day + 1:02}"
        path.mkdir(parents=True)
        pl.DataFrame(columns).write_parquet(path / "log.parquet")


def measure(log: Path, out: Path, options: tuple[str, ...]) -> tuple[float, float]:
    """Return the peak memory of the command in GB, and its CPU seconds."""
    columns = ("--label", "label", "--score", "score", "--by", "model", "--by", "segment")
    files = (str(log), "--out", str(out), "--quiet")
    command = [sys.executable, "-c", COMMAND, "evaluate", *files, *columns, *options]
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], capture_output=True, text=True, check=True
    )
    peak, seconds = map(float, result.stdout.split())
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e9, seconds


def main(rows: int = ROWS) -> None:
    """Print the peak memory, and the sizes of the log and of the curves."""
    with tempfile.TemporaryDirectory() as name:
        log, out, store = Path(name, "log"), Path(name, "out"), Path(name, "store")
        write_log(log, rows)
        size = sum(file.stat().st_size for file in log.rglob("*.parquet"))
        print(f"evaluate, {rows:,} rows in {size / 1e6:,.0f} MB, {MODELS * SEGMENTS} groups")
        for options in (
            (),
            ("--max-error", "0.001"),
            ("--store", str(store), "--partition-by", "day", "--resolution", "0.001"),
        ):
            peak, seconds = measure(log, out, options)
            curves = (out / "curves.parquet").stat().st_size
            print(
                f"{options[0] if options else '':12} peak memory {peak:.2f} GB; goal ≤ {GOAL:g} "
                f"GB. {seconds:.0f} s CPU, curves.parquet {curves / 1e6:,.1f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
