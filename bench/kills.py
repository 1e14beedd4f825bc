"""Kill updates of a store at random moments, and check every read: `python -m bench.kills`.

Each round changes, adds or moves logs, starts `rocframe evaluate --store` in a new process, and
kills it after a random time. Readers in other processes call `rf.scan` and `rocframe evaluate`
without logs all the time. Each result must be that of the state before or after an update that ran
during the read. The expected results are computed from the logs, without a store. Every third kill
follows the replacement of the manifest, when the update removes the old parts. After some kills, an
update without a kill must publish the new state and leave only the files that the manifest lists.

    python -m bench.kills --kills 100 --readers 2

The exit code is 1 if a read returned anything else.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any, TextIO

import polars as pl

import rocframe as rf
from rocframe.cli import main as cli
from rocframe.cli import tasks

TREE = Path(__file__).resolve().parents[1]
OPTIONS = ["--label", "label", "--score", "score", "--by", "day", "--quiet"]
COLUMNS = ["day", "label", "score"]
N_LOGS, N_DAYS, N_ROWS = 5, 4, 8  # days of a log, and rows of a day
COMPLETE_AFTER = 5  # an update without a kill follows after this number of kills
PAUSE = 0.5  # the largest number of seconds between two reads of a process
READY = "ready"
GONE = "a part was removed after the scan"
Key = tuple[str, str]  # digests of the rows and of the areas


def random_log(choice: random.Random, first: int) -> pl.DataFrame:
    """Return a log of several days. All scores are new, so that no two states are equal."""
    days = [date(2026, 11, 1) + timedelta(first + i) for i in range(N_DAYS) for _ in range(N_ROWS)]
    rows = [(day, choice.random() < 0.5, choice.random()) for day in days]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def digest(table: pl.DataFrame) -> str:
    """Return a hash of the rows of a table, in any order."""
    table = table.sort(table.columns)
    return blake2b(table.write_csv().encode(), digest_size=8).hexdigest()


def rows_digest(rows: pl.DataFrame) -> str:
    """Return a hash of predictions, or of rows of a store."""
    return digest(rows.select(*COLUMNS, count="count" if "count" in rows.columns else pl.lit(1)))


def areas_digest(areas: pl.DataFrame) -> str:
    """Return a hash of the areas of all days."""
    return digest(areas.select("day", "auc", "n_pos", "n_neg"))


def key(logs: dict[str, pl.DataFrame]) -> Key:
    """Return the digests of the rows and areas of a state."""
    rows = pl.concat(logs.values())
    return rows_digest(rows), areas_digest(rf.auc(rows, "label", "score", by="day"))


def evaluate(folder: Path, out: Path, *logs: str) -> None:
    """Run `rocframe evaluate --store` without a page; raise an error if it fails."""
    tasks.find_spec = lambda _: None  # type: ignore[attr-defined]
    words = [*logs, *OPTIONS, "--store", str(folder / "store"), "--out", str(out)]
    words += ["--partition-by", "day"] if logs else []
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        code = cli.main(["evaluate", *words])
    if code:
        raise RuntimeError(errors.getvalue())


def update(folder: Path) -> None:
    """Update the store after a line on the standard input."""
    print(READY, flush=True)
    sys.stdin.readline()
    evaluate(folder, folder / "out", str(folder / "logs"))


def read_until_killed(folder: Path, number: int) -> None:
    """Read the store again and again, and print the time and the digest of each result."""
    out = folder / f"read{number}"
    while True:
        for kind in ("scan", "evaluate"):
            start, result = time.time(), ""
            try:
                if kind == "scan":
                    lazy = rf.scan(folder / "store")
                    try:
                        result = rows_digest(lazy.collect())
                    except FileNotFoundError:
                        result = GONE
                else:
                    evaluate(folder, out)
                    result = areas_digest(rf.read(out / "auc.parquet"))
            except Exception as error:  # noqa: BLE001
                result = f"{type(error).__name__}: {error}"
            print(json.dumps([start, time.time(), kind, result]), flush=True)
            time.sleep(random.uniform(0, PAUSE))


def start(*arguments: object, output: TextIO | None = None) -> subprocess.Popen[str]:
    """Start this script in a new process."""
    return subprocess.Popen(
        [sys.executable, "-m", "bench.kills", *map(str, arguments)],
        cwd=TREE,
        stdin=subprocess.PIPE,
        stdout=output or subprocess.PIPE,
        text=True,
    )


@dataclass
class Trial:
    """The logs, the published logs, and the states that were current during each round."""

    folder: Path
    choice: random.Random
    logs: dict[str, pl.DataFrame] = field(default_factory=dict)
    published: dict[str, pl.DataFrame] = field(default_factory=dict)
    rounds: list[tuple[float, float, tuple[Key, Key]]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def write(self, name: str, log: pl.DataFrame) -> None:
        log.write_parquet(self.folder / "logs" / name)
        self.logs[name] = log

    def change(self) -> None:
        """Change all logs, change one log, add a log, or move a log."""
        names = sorted(self.logs)
        kind = self.choice.choice(["all", "one", "add", "move"])
        if kind == "add":
            number = len(names)
            self.write(f"{number:03}-{self.choice.random()}.parquet", random_log(self.choice, 0))
        elif kind == "move":
            name = self.choice.choice(names)
            new = f"m-{self.choice.random()}.parquet"
            (self.folder / "logs" / name).rename(self.folder / "logs" / new)
            self.logs[new] = self.logs.pop(name)
        else:
            for name in names if kind == "all" else [self.choice.choice(names)]:
                self.write(name, random_log(self.choice, self.choice.randrange(3)))
        self.counts[f"changes of kind {kind!r}"] += 1

    def expected(self) -> dict[str, pl.DataFrame]:
        """Return the logs of the store after an update."""
        kept = {
            name: log
            for name, log in self.published.items()
            if name not in self.logs and not any(log.equals(new) for new in self.logs.values())
        }
        return {**kept, **self.logs}

    def run(self, delay: float | None = None, *, published: bool = False) -> float:
        """Update the store, kill the process after `delay` seconds, and check the store.

        With `published`, the time begins when the manifest is replaced.
        """
        after = self.expected()
        keys = key(self.published), key(after)
        self.rounds.append((time.time(), math.inf, keys))
        with contextlib.ExitStack() as stack:
            process = stack.enter_context(start("--update", self.folder))
            stack.callback(process.kill)  # also after an interrupt
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline().strip() == READY
            clock = time.monotonic()
            process.stdin.write("\n")
            process.stdin.flush()
            if delay is not None:
                manifest = (self.store / "_rocframe_store.json").stat().st_ino
                while published and process.poll() is None:
                    if (self.store / "_rocframe_store.json").stat().st_ino != manifest:
                        break
                time.sleep(delay)
                process.send_signal(signal.SIGKILL)
            code = process.wait()
            duration = time.monotonic() - clock
        self.rounds[-1] = (self.rounds[-1][0], time.time(), keys)
        rows = rows_digest(rf.scan(self.store).collect())
        evaluate(self.folder, self.folder / "check")
        areas = areas_digest(rf.read(self.folder / "check" / "auc.parquet"))
        if (rows, areas) not in keys or (delay is None and (code or (rows, areas) != keys[1])):
            self.errors.append(f"after round {len(self.rounds)}: neither the old nor the new state")
        # The rows before and after the move of a log are equal, but the listed logs differ.
        if (rows, areas) == keys[1] and self._listed_logs() == set(after):
            self.published = after
        if delay is not None:
            self.counts["kills"] += 1
            state = "before" if keys[0] != keys[1] and (rows, areas) == keys[0] else "after"
            self.counts[f"kills that left the state {state} the update"] += code < 0
            self.counts["kills after the end of the update"] += code >= 0
            self.counts["kills that left parts which the manifest does not list"] += (
                len(self._files()) > self._n_listed()
            )
        elif len(self._files()) != self._n_listed():
            self.errors.append(f"after round {len(self.rounds)}: files that are not listed")
        return duration

    def _files(self) -> list[Path]:
        return list(self.store.rglob("*.parquet"))

    def _manifest(self) -> list[dict[str, Any]]:
        logs: list[dict[str, Any]] = json.loads((self.store / "_rocframe_store.json").read_text())[
            "logs"
        ]
        return logs

    def _listed_logs(self) -> set[str]:
        return {Path(log["source"]).name for log in self._manifest()}

    def _n_listed(self) -> int:
        return sum(len(log["parts"]) for log in self._manifest())

    def check_reads(self, lines: list[str]) -> None:
        """Compare each read with the states that were current during the read."""
        for line in lines:
            begin, end, kind, result = json.loads(line)
            self.counts[f"reads with {kind}"] += 1
            if kind == "scan" and result == GONE:
                self.counts["scans of which an update removed files before they were read"] += 1
                continue
            # The state before the first round that ended after the begin, and all later states.
            states = {
                pair[kind == "evaluate"]
                for first, last, pairs in self.rounds
                if begin <= last and first <= end
                for pair in pairs
            }
            earlier = [pairs for _, last, pairs in self.rounds if last < begin]
            states |= {pair[kind == "evaluate"] for pair in (earlier[-1] if earlier else ())}
            if result not in states:
                self.errors.append(f"{kind}: {result}")


def trial(folder: Path, *, n_kills: int, n_readers: int, seed: int) -> Trial:
    """Kill updates of a store in a folder, and return what was found."""
    (folder / "logs").mkdir()
    result = Trial(folder, random.Random(seed))
    for i in range(N_LOGS):
        result.write(f"{i:03}.parquet", random_log(result.choice, i // 3))
    evaluate(folder, folder / "out", str(folder / "logs"))
    result.published = dict(result.logs)
    result.change()
    duration = result.run()
    outputs = [folder / f"reads{i}" for i in range(n_readers)]
    with contextlib.ExitStack() as stack:
        readers = []
        for i, output in enumerate(outputs):
            file = stack.enter_context(output.open("w"))
            process = start("--read", folder, "--number", i, output=file)
            readers.append(stack.enter_context(process))
        try:
            for i in range(n_kills):
                result.change()
                if i % 3 == 2:
                    result.run(result.choice.uniform(0, 0.01), published=True)
                else:
                    result.run(result.choice.uniform(0, duration))
                if i % COMPLETE_AFTER == COMPLETE_AFTER - 1:
                    duration = result.run()
        except KeyboardInterrupt:
            print("interrupted")  # the results up to now are printed
        finally:
            for process in readers:
                process.kill()
    for output in outputs:
        lines = output.read_text().splitlines(keepends=True)
        result.check_reads([line for line in lines if line.endswith("\n")])
    return result


def main(arguments: list[str] | None = None) -> int:
    """Run a trial, and print the counts and the errors."""
    parser = argparse.ArgumentParser(prog="python -m bench.kills")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--update", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.update is not None:
        update(options.update)
        return 0
    if options.read is not None:
        read_until_killed(options.read, options.number)
    with tempfile.TemporaryDirectory() as folder:
        result = trial(
            Path(folder), n_kills=options.kills, n_readers=options.readers, seed=options.seed
        )
    for name, count in sorted(result.counts.items()):
        print(f"{count:>6} {name}")
    print(f"{len(result.errors):>6} errors")
    for error, count in Counter(result.errors).most_common(20):
        print(f"{count:>6} × {error}")
    return 1 if result.errors else 0


if __name__ == "__main__":
    sys.exit(main())
