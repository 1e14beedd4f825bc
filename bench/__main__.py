"""Run the benchmarks: `python -m bench [rows] [--no-peers] [--repeat N] [part]`.

The parts are `--uncertainty`, `--decisions`, `--calibration`, `--drawing`, `--pages`, `--startup`,
`--memory`, `--scale` and `--peers`; without one of them all benchmarks run.

Each line has the time of the fastest of N repetitions, in seconds and as a multiple of the time of
one single-threaded `np.sort` of the float64 scores. This sort is several times faster on some
processors than on others. Therefore the processor and a sort of polars are printed first, and the
goals depend on whether `np.sort` is fast. Peak memory is measured in a new process, in
addition to the memory of the table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bench import memory, pages, scale, startup
from bench.calibration import benchmarks as calibration_benchmarks
from bench.cases import benchmarks
from bench.data import predictions
from bench.decisions import benchmarks as decision_benchmarks
from bench.drawing import CURVES, MAX_CHART_KB, POINTS
from bench.drawing import benchmarks as drawing_benchmarks
from bench.machine import processor
from bench.uncertainty import benchmarks as uncertainty_benchmarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench.decisions import Decision

PEER_RATIO = 3.5  # goal: the time of the fastest other package, divided by ours
# Goals of the peak memory, including the table, as multiples of the table
MEMORY_GOALS = {"auc": 4.0, "compress": 3.0}
FAST_SORT = 0.4  # seconds of np.sort; fast processors need 0.13 to 0.19, and others 0.66 to 0.8
TIMED = "{what:36} {table:28} {seconds:>9} {goal:>7} {proc:>7}"
LINE = "{what:36} {table:28} {seconds:>9} {ratio:>8} {goal:>7}"


def best(work: Callable[[], object], repeat: int) -> float:
    """Return the seconds of the fastest of `repeat` calls. After 30 seconds, stop earlier."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
        if sum(seconds) > 30:
            break
    return min(seconds)


def main(arguments: list[str] | None = None) -> None:
    """Print all measurements."""
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("rows", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--no-peers", action="store_true", help="do not run other packages")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--uncertainty", action="store_true", help="run intervals and tests only")
    parser.add_argument("--decisions", action="store_true", help="run decisions only")
    parser.add_argument("--calibration", action="store_true", help="run calibration only")
    parser.add_argument("--drawing", action="store_true", help="run charts only")
    parser.add_argument("--pages", action="store_true", help="run reports only")
    parser.add_argument("--startup", action="store_true", help="run the start of commands only")
    parser.add_argument("--memory", action="store_true", help="run the memory of evaluate only")
    parser.add_argument("--scale", action="store_true", help="run many rows and groups only")
    parser.add_argument("--peers", action="store_true", help="compare with other packages only")
    options = parser.parse_args(arguments)
    parts: dict[str, Callable[[], None]] = {
        "drawing": lambda: drawing(options.repeat),
        "decisions": lambda: decisions(
            decision_benchmarks(peers=not options.no_peers), options.repeat
        ),
        "calibration": lambda: decisions(calibration_benchmarks(), options.repeat),
        "pages": pages.main,
        "startup": startup.main,
        "memory": memory.main,
        "scale": lambda: scale.main([]),
        "peers": lambda: against_peers(options.rows, options.repeat),
        "uncertainty": lambda: uncertainty(options.repeat),
    }
    for name, run in parts.items():
        if getattr(options, name):
            run()
            return

    sort = machine(options.rows, max(3, options.repeat))
    print(
        LINE.format(what="benchmark", table="table", seconds="seconds", ratio="× sort", goal="goal")
    )
    fast = is_fast_sort(sort, options.rows)
    for _, cases in benchmarks(options.rows, fast=fast, peers=not options.no_peers):
        times: dict[str, float] = {}
        for case in cases:
            times[case.name] = seconds = best(case.run, options.repeat)
            print(
                LINE.format(
                    what=case.name,
                    table=case.table,
                    seconds=f"{seconds:.3f}",
                    ratio=f"{seconds / sort:.2f}",
                    goal="" if case.goal is None or case.base else f"≤ {case.goal:g}",
                )
                + (
                    f"  {seconds / times[case.base]:.2f} × {case.base} (≤ {case.goal:g})"
                    if case.base
                    else ""
                ),
                flush=True,
            )
    print()
    uncertainty(options.repeat)
    print()
    decisions(decision_benchmarks(peers=not options.no_peers), options.repeat)
    print()
    decisions(calibration_benchmarks(), options.repeat)
    print()
    drawing(options.repeat)
    print()
    for what in ("auc", "curve"):
        for groups in (1, 1_000):
            function_memory(what, options.rows, groups)
    if not options.no_peers:
        against_peers(options.rows, options.repeat)
    imports(options.repeat)
    print()
    pages.main()
    print()
    startup.main()
    print()
    memory.main()
    print()
    scale.main([])


def machine(rows: int, repeat: int) -> float:
    """Print the processor and the seconds of two sorts, and return those of `np.sort`.

    The goals depend on whether `np.sort` is fast. If it is fast, it sorts ten million scores in
    less than `FAST_SORT` seconds.
    """
    scores = predictions(rows)["score"]
    values = scores.to_numpy()
    sort = best(lambda: np.sort(values), repeat)
    polars_sort = best(lambda: scores.sort(multithreaded=False), repeat)
    kind = "fast" if is_fast_sort(sort, rows) else "slow"
    print(f"processor: {processor()}, {pl.thread_pool_size()} threads")
    print(f"{rows:,} rows; np.sort of the scores: {sort:.3f} s ({kind})")
    print(f"single-threaded sort of polars: {polars_sort:.3f} s\n")
    return sort


def is_fast_sort(seconds: float, rows: int) -> bool:
    """Return whether `np.sort` of this number of rows is fast; see `machine`."""
    return seconds * 10_000_000 / rows < FAST_SORT


def uncertainty(repeat: int) -> None:
    """Print the run times of intervals and tests, in seconds."""
    print(
        TIMED.format(what="benchmark", table="table", seconds="seconds", goal="goal", proc="pROC")
    )
    for benchmark in uncertainty_benchmarks():
        print(
            TIMED.format(
                what=benchmark.name,
                table=benchmark.table,
                seconds=f"{best(benchmark.run, repeat):.3f}",
                goal=f"≤ {benchmark.goal:g}",
                proc="" if benchmark.proc is None else f"{benchmark.proc:g}",
            ),
            flush=True,
        )


def decisions(benchmarks: Iterable[Decision], repeat: int) -> None:
    """Print the run times in seconds, and as multiples of the run times of other functions."""
    for benchmark in benchmarks:
        seconds = best(benchmark.run, repeat)
        goal = "" if benchmark.goal is None else f" (≤ {benchmark.goal:g})"
        ratio = ""
        if benchmark.peer is not None:
            name, run = benchmark.peer
            ratio = f", {seconds / best(run, repeat):.2f} × {name}"
        print(f"{benchmark.name:36} {benchmark.table:36} {seconds:.3f} s{goal}{ratio}", flush=True)


def drawing(repeat: int) -> None:
    """Print the run times of charts of long curves in seconds, and the sizes of the charts."""
    scores = predictions(CURVES * POINTS)["score"].to_numpy()
    sort = best(lambda: np.sort(scores), repeat)
    print(f"{CURVES} curves of {POINTS:,} points; np.sort of the scores: {sort:.3f} s")
    for benchmark in drawing_benchmarks():
        seconds = best(benchmark.run, repeat)
        result = benchmark.run()
        size = (
            f"{result.height:,} rows"
            if isinstance(result, pl.DataFrame)
            else f"{len(result.to_json(indent=None)) / 1000:.0f} KB (≤ {MAX_CHART_KB})"
        )
        goal = "" if benchmark.goal is None else f" (≤ {benchmark.goal:g})"
        print(f"{benchmark.name:36} {seconds:.3f} s{goal}, {seconds / sort:.2f} × sort, {size}")


def against_peers(rows: int, repeat: int) -> None:
    """Print how many times faster than the fastest other package we are, and the peak memory."""
    from bench.peers import contests

    machine(rows, repeat)
    for contest in contests(rows):
        seconds = {name: best(run, repeat) for name, run in contest.peers.items()}
        fastest = min(seconds, key=seconds.__getitem__)
        for table, run in contest.runs.items():
            ours = best(run, repeat)
            print(
                f"{contest.name:6} {table:8} {ours:.3f} s; {fastest} {seconds[fastest]:.3f} s: "
                f"{seconds[fastest] / ours:.1f} times (≥ {PEER_RATIO})",
                flush=True,
            )
    for what, goal in MEMORY_GOALS.items():
        options = ", resolution=1 / 1024" if what == "compress" else ""
        function_memory(what, 3 * rows, 1_000, options=options, goal=goal)


def function_memory(
    what: str, rows: int, groups: int, *, options: str = "", goal: float | None = None
) -> None:
    """Print the peak memory of a function, as a multiple of its input and of its output.

    The function runs in a new process, so that the memory of other benchmarks is not included.
    """
    code = (
        "import resource, sys\n"
        "import rocframe as rf\n"
        "from bench.data import predictions\n"
        f"table = predictions({rows}, groups={groups}).drop('weight')\n"
        f"rf.{what}(table.head(1000), 'label', 'score')\n"
        "def peak():\n"
        "    return int(next(line.split()[1] for line in open('/proc/self/status')"
        " if line.startswith('VmHWM')))\n"
        "def now():\n"
        "    return int(next(line.split()[1] for line in open('/proc/self/status')"
        " if line.startswith('VmRSS')))\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"
        "before = now()\n"
        f"result = rf.{what}(table, 'label', 'score', by={'group' if groups > 1 else None!r}"
        f"{options})\n"
        "print(peak() - before, table.estimated_size() // 1024, result.estimated_size() // 1024)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    if process.returncode:
        print(f"{what}: peak memory is not measured, because /proc is not available")
        return
    used, table, result = (int(word) for word in process.stdout.split())
    print(
        f"{what}, {groups:,} groups: peak memory {used / 1024:,.0f} MiB in addition to the table, "
        f"{used / table:.1f} times the table, {used / max(result, 1):.1f} times the result"
        + ("" if goal is None else f"; with the table {used / table + 1:.1f} (≤ {goal:g})")
    )


def imports(repeat: int) -> None:
    """Print how much longer `import rocframe` takes than `import polars`."""

    def seconds(module: str) -> float:
        command = [sys.executable, "-c", f"import {module}"]
        return best(lambda: subprocess.run(command, check=True), 3 * repeat)

    difference = seconds("rocframe") - seconds("polars")
    print(f"import rocframe: {1000 * difference:.0f} ms longer than import polars")


if __name__ == "__main__":
    main()
