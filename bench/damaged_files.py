"""Damage files in random ways, and check what each command and function does with them.

`python -m bench.damaged_files --files 1000` prints a table of outcomes. A file with a checksum must
give an error or the result of the undamaged file. A file without a checksum, such as one of another
program, may give another result, because nothing shows that a value was changed. No file may end
the process, or raise an error of another package.

The functions run in a second process, which is started again if a file ends it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import rocframe as rf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SUFFIXES = ("parquet", "arrow")
ERROR, EQUAL, DIFFERENT = "error", "equal", "different"
SKIPPED = "skipped"  # the result of the undamaged log alone
RAW_ERROR, ABORT, PANIC_TEXT = "raw error", "abort", "panic text"
WRONG = (RAW_ERROR, ABORT, PANIC_TEXT)  # outcomes that no file may have
COLUMNS = ["--label", "label", "--score", "score"]


def predictions(n_rows: int, seed: int) -> pl.DataFrame:
    """Return a log of predictions of two models."""
    numbers = random.Random(seed)
    label = [numbers.random() < 0.3 for _ in range(n_rows)]
    return pl.DataFrame(
        {
            "label": label,
            "score": [round(numbers.gauss(0.4 + 0.2 * one, 0.1), 3) for one in label],
            "model": [numbers.choice(["small", "large"]) for _ in label],
            "id": range(n_rows),
            "day": [f"2026-11-{1 + i % 28:02}" for i in range(n_rows)],
        }
    )


def write_originals(folder: Path) -> dict[str, Path]:
    """Write the undamaged files: logs with and without a checksum, and results of rocframe."""
    files = {}
    for suffix in SUFFIXES:
        for n_rows in (20, 2_000):
            log = predictions(n_rows, seed=n_rows)
            files[f"log with checksum, {n_rows} rows, {suffix}"] = with_checksum = (
                folder / f"own{n_rows}.{suffix}"
            )
            rf.write(log, with_checksum)
            files[f"log of polars, {n_rows} rows, {suffix}"] = other = (
                folder / f"other{n_rows}.{suffix}"
            )
            log.write_parquet(other) if suffix == "parquet" else log.write_ipc(other)
        files[f"curve table, {suffix}"] = curve = folder / f"curve.{suffix}"
        rf.write(rf.curve(predictions(200, seed=1), "label", "score", by="model"), curve)
    return files


def _flip_bits(content: bytearray, numbers: random.Random, _: bytes) -> None:
    for _bit in range(numbers.randint(1, 3)):
        content[numbers.randrange(len(content))] ^= 1 << numbers.randrange(8)


def _flip_bit_near_the_end(content: bytearray, numbers: random.Random, _: bytes) -> None:
    content[-numbers.randint(1, min(600, len(content)))] ^= 1 << numbers.randrange(8)


def _truncate(content: bytearray, numbers: random.Random, _: bytes) -> None:
    del content[numbers.randrange(len(content)) :]


def _overwrite(content: bytearray, numbers: random.Random, _: bytes) -> None:
    start, size = numbers.randrange(len(content)), numbers.choice([1, 4, 16, 64, 512])
    end = min(len(content), start + size)
    fill = bytes(end - start) if numbers.random() < 0.5 else numbers.randbytes(end - start)
    content[start:end] = fill


def _overwrite_before_the_footer(content: bytearray, numbers: random.Random, _: bytes) -> None:
    """Overwrite bytes around the position of the checksum."""
    start = max(0, _footer_start(content) - numbers.randint(1, 40))
    end = min(len(content), start + numbers.randint(1, 40))
    content[start:end] = numbers.randbytes(end - start)


def _move_range(content: bytearray, numbers: random.Random, _: bytes) -> None:
    """Remove some bytes, or insert a copy of some bytes."""
    start = numbers.randrange(len(content))
    piece = content[start : start + numbers.randint(1, 32)]
    if numbers.random() < 0.5:
        del content[start : start + len(piece)]
    else:
        content[start:start] = piece


def _swap_footer(content: bytearray, numbers: random.Random, other: bytes) -> None:
    """Replace the footer by that of another file, with or without the bytes of its checksum."""
    start = _footer_start(bytearray(other)) - numbers.choice([0, 16])
    content[_footer_start(content) :] = other[start:]


def _footer_start(content: bytearray) -> int:
    magic = 4 if content[-4:] == b"PAR1" else 6
    size = int.from_bytes(content[-magic - 4 : -magic], "little")
    return max(0, len(content) - magic - 4 - size)


DAMAGES: tuple[Callable[[bytearray, random.Random, bytes], None], ...] = (
    _flip_bits,
    _flip_bit_near_the_end,
    _truncate,
    _overwrite,
    _overwrite_before_the_footer,
    _move_range,
    _swap_footer,
)


def damaged(originals: dict[str, Path], number: int, seed: int) -> tuple[str, str, bytes]:
    """Return the name of an original, the kind of damage, and the damaged content."""
    numbers = random.Random(f"{seed} {number}")
    name = numbers.choice(list(originals))
    suffix = originals[name].suffix
    others = [path for path in originals.values() if path.suffix == suffix]
    other = numbers.choice([path for path in others if path != originals[name]])
    damage = numbers.choice(DAMAGES)
    content = bytearray(originals[name].read_bytes())
    damage(content, numbers, other.read_bytes())
    return name, damage.__name__.strip("_"), bytes(content)


def outcomes(path: Path, good: Path, *, is_log: bool) -> Iterator[tuple[str, Any]]:
    """Yield the result of each function and command, or the name of an outcome.

    `good` is an undamaged log, with which the command `gate` compares the file.
    """
    yield from (
        (name, _call(function, path))
        for name, function in {
            "read": rf.read,
            "scan": lambda path: rf.scan(path).collect(),
            "about": rf.about,
        }.items()
    )
    if not is_log:
        return
    with tempfile.TemporaryDirectory() as folder:
        out, stored = Path(folder), Path(folder, "stored")
        log, table = str(path), str(out / "table.parquet")
        by_model = [*COLUMNS, "--by", "model", "--quiet"]
        commands: dict[str, tuple[list[str], Path]] = {
            "evaluate": (["evaluate", log, *by_model, "--out", str(out)], out / "curves.parquet"),
            "report": (["report", log, *by_model, "--out", f"{out}/page.html"], out / "page.html"),
            "decide": (["decide", log, *by_model, "--out", table], Path(table)),
            "gate": (
                ["gate", log, str(good), *COLUMNS, "--margin", "0.1", "--quiet", "--out", table],
                Path(table),
            ),
            "store": (
                ["evaluate", log, *by_model, "--store", f"{out}/store", "--out", str(stored)],
                stored / "curves.parquet",
            ),
            "skip": (
                ["evaluate", log, str(good), *by_model, "--skip-unreadable", "--out", str(out)],
                out / "auc.parquet",
            ),
        }  # fmt: skip
        for name, (arguments, result) in commands.items():
            result.unlink(missing_ok=True)
            yield name, _run(arguments, result)


def _call(function: Callable[[Path], Any], path: Path) -> Any:
    try:
        result = function(path)
    except (rf.RocframeError, pl.exceptions.PolarsError):  # polars collects the result of `scan`
        return ERROR
    except BaseException as error:  # noqa: BLE001 - a PanicException is not an Exception
        return f"{RAW_ERROR}: {type(error).__name__}: {str(error)[:200]}"
    return _fingerprint(result)


def _run(arguments: list[str], result: Path) -> Any:
    from rocframe.cli.main import main

    messages = io.StringIO()
    try:
        with contextlib.redirect_stderr(messages):
            code = main(arguments)
    except BaseException as error:  # noqa: BLE001
        return f"{RAW_ERROR}: {type(error).__name__}: {str(error)[:200]}"
    if code == 2 and messages.getvalue().startswith("rocframe: "):
        return ERROR
    if code not in {0, 1} or not result.exists():
        return f"{RAW_ERROR}: exit code {code}"
    if result.suffix == ".html":
        return result.read_text()
    return _fingerprint(rf.read(result))


def _fingerprint(result: Any) -> str:
    """Return a text that is equal for equal results."""
    if isinstance(result, pl.DataFrame):
        return f"{result.schema} {result.rows()!r}"
    return repr(result)


def serve() -> None:
    """Read names of files from stdin, and write the results of each file as a line of JSON."""
    from rocframe.cli import tasks

    tasks.find_spec = lambda _: None  # type: ignore[assignment,misc]  # evaluate draws no page
    tasks.load_vl_convert = lambda _: None  # type: ignore[assignment,misc]
    # The page takes a second, and shows tables that are computed from the same rows.
    tasks._page = lambda evaluation, *_: _fingerprint(evaluation.areas)  # type: ignore[assignment]
    answers = os.fdopen(os.dup(1), "w")
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - it is open until the process ends
    os.dup2(errors.fileno(), 2)  # polars writes the text of a panic to this file
    for line in sys.stdin:
        path, good, is_log = json.loads(line)
        found: dict[str, str] = {}
        n_bytes = os.fstat(2).st_size
        for name, outcome in outcomes(Path(path), Path(good), is_log=is_log):
            found[name] = outcome
            if (size := os.fstat(2).st_size) > n_bytes:
                errors.seek(n_bytes)
                text, n_bytes = errors.read().decode(errors="replace"), size
                found[name] = f"{PANIC_TEXT}: {text[:200]}"
            print(json.dumps(["done", name]), file=answers, flush=True)
        print(json.dumps(["results", found]), file=answers, flush=True)


class Worker:
    """A process that runs all functions on a file; it is started again if a file ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def results(self, path: Path, good: Path, *, is_log: bool) -> dict[str, str]:
        """Return the results of a file; the functions after an abort are missing."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.damaged_files", "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=Path(__file__).parents[1],
                text=True,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(path), str(good), is_log]) + "\n")
        process.stdin.flush()
        last = "start"
        for line in process.stdout:
            kind, content = json.loads(line)
            if kind == "results":
                results: dict[str, str] = content
                return results
            last = content
        process.stdin.close()
        self.close()
        return {"all": f"{ABORT}: exit code {process.returncode} after {last}"}

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def check_files(
    n_files: int, seed: int, folder: Path, on_wrong: Callable[[str, bytes], None]
) -> Counter[tuple[bool, str, str]]:
    """Damage files, and count the outcomes by checksum, function and outcome.

    `on_wrong` is called with the description of each wrong outcome and the content of the file.
    """
    originals = write_originals(folder)
    good = folder / "good.parquet"
    rf.write(predictions(2_000, seed=7), good)
    counts: Counter[tuple[bool, str, str]] = Counter()
    worker = Worker()
    try:
        references = {
            name: worker.results(path, good, is_log="log" in name)
            for name, path in originals.items()
        }
        good_alone = worker.results(good, good, is_log=True)["skip"]
        for number in range(n_files):
            name, damage, content = damaged(originals, number, seed)
            path = folder / "damaged" / originals[name].name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            is_own = "polars" not in name
            for function, result in worker.results(path, good, is_log="log" in name).items():
                outcome = _outcome(result, references[name].get(function))
                if function == "skip" and result == good_alone:
                    outcome = SKIPPED
                counts[is_own, function, outcome] += 1
                is_silent = outcome == DIFFERENT and is_own
                if outcome in WRONG or is_silent:
                    shown = result if outcome in WRONG else outcome
                    on_wrong(f"{number} {name}, {damage}: {function}: {shown}", content)
    finally:
        worker.close()
    return counts


def _outcome(result: str, reference: str | None) -> str:
    if result == ERROR or result.startswith(WRONG):
        return result.split(":", maxsplit=1)[0]
    return EQUAL if result == reference else DIFFERENT


def main() -> int:
    """Print a table of outcomes; the exit code is 1 if an outcome is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the files with a wrong outcome")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    wrong: list[str] = []

    def on_wrong(text: str, content: bytes) -> None:
        wrong.append(text)
        print(text, flush=True)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            suffix = "parquet" if "parquet" in text else "arrow"
            (options.keep / f"{text.split(maxsplit=1)[0]}.{suffix}").write_bytes(content)

    with tempfile.TemporaryDirectory() as folder:
        counts = check_files(options.files, options.seed, Path(folder), on_wrong)
    for is_own in (True, False):
        print(f"\n{'With' if is_own else 'Without'} a checksum")
        for function in dict.fromkeys(name for own, name, _ in counts if own == is_own):
            texts = (
                f"{number:,} {outcome}"
                for (own, name, outcome), number in counts.items()
                if own == is_own and name == function
            )
            print(f"{function:10} {', '.join(texts)}")
    print(f"\n{len(wrong):,} wrong outcomes of {options.files:,} files, seed {options.seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
