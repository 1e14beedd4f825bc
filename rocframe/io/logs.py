"""Prediction logs in files as one lazy table."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from difflib import get_close_matches
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from rocframe.errors import LogError
from rocframe.frames import collected, column
from rocframe.io.files import FORMATS, UNREADABLE, Format, fault, reason
from rocframe.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Files of one format, one schema and one set of hive keys: what one scan can read."""

    kind: LogFormat
    schema: Mapping[str, pl.DataType]
    hive: tuple[str, ...]
    files: tuple[str, ...]

    def scan(self, needed: Iterable[str]) -> pl.LazyFrame:
        """Read the needed columns; those that no file holds, from the names of its folders."""
        files = list(self.files)
        if self.kind == "CSV":
            return pl.scan_csv(files, glob=False, infer_schema_length=None)
        hive = bool(self.hive) and any(name not in self.schema for name in needed)
        scan = pl.scan_parquet if self.kind == "Parquet" else pl.scan_ipc
        return scan(files, glob=False, hive_partitioning=hive)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """Prediction logs that were found and opened, and those that could not be, with the reason."""

    parts: tuple[Part, ...]
    skipped: Mapping[str, str]

    @property
    def files(self) -> list[str]:
        """All files that are read."""
        return sorted(file for part in self.parts for file in part.files)

    def has(self, name: str) -> bool:
        """Say whether any of the files has a column of this name."""
        return any(name in part.schema for part in self.parts)

    def scan(self, needed: Mapping[str, str]) -> pl.LazyFrame:
        """Plan one table with the needed columns: `{column: what asks for it}`."""
        plans = [(part, part.scan(needed)) for part in self.parts]
        found = []
        for part, plan in plans:
            schema = plan.collect_schema()
            for name, option in needed.items():
                if name not in schema:
                    raise _lacks_column(part.files[0], name, option, schema)
            found.append((part.files[0], schema))
        types = {
            name: common_type(name, option, [(file, schema[name]) for file, schema in found])
            for name, option in needed.items()
        }
        return pl.concat(
            plan.select(column(name).cast(dtype) for name, dtype in types.items())
            for _, plan in plans
        )

    def read(self, needed: Mapping[str, str], *, skip: bool = False) -> tuple[pl.DataFrame, Logs]:
        """Read the needed columns; return them, and the logs that they come from.

        A file may be damaged in a place that only reading it to the end comes to.
        """
        try:
            return collected(self.scan(needed)), self
        except LogError:
            raise
        except UNREADABLE as error:
            bad = self._damaged(needed)
            if not bad:
                todo = "Run it again, or give the files one by one to find the one that fails."
                raise LogError.of(listed(self.files), _cannot(error), todo) from error
            if not skip:
                file, why = next(iter(bad.items()))
                raise _unreadable(file, why) from error
            return self._without(bad).read(needed, skip=skip)

    def _damaged(self, needed: Mapping[str, str]) -> dict[str, str]:
        """Find out which files cannot be read to the end, by reading each alone."""
        bad = {}
        for part in self.parts:
            for file in part.files:
                alone = replace(part, files=(file,)).scan(needed)
                try:
                    collected(alone.select(column(name) for name in needed))
                except UNREADABLE as error:
                    bad[file] = _cannot(error)
        return bad

    def _without(self, bad: Mapping[str, str]) -> Logs:
        parts = [
            replace(part, files=tuple(file for file in part.files if file not in bad))
            for part in self.parts
        ]
        return _some(Logs(parts=tuple(filter(_files, parts)), skipped={**self.skipped, **bad}))


def open_logs(
    files: Sequence[str],
    *,
    on_error: Literal["raise", "skip"] = "raise",
    tell: Callable[[int], None] = lambda _: None,
) -> Logs:
    """Open each file without reading its rows: see that it is whole, and which columns it has."""
    alike: dict[tuple[object, ...], tuple[Part, list[str]]] = {}
    skipped = {}
    for number, file in enumerate(files):
        tell(number)
        try:
            part = _open(file)
        except LogError as error:
            if on_error == "raise":
                raise
            skipped[file] = str(error).removeprefix(f"{file}: ").split(".\n")[0]
            continue
        same = (part.kind, frozenset(part.schema.items()), part.hive)
        alike.setdefault(same, (part, []))[1].append(file)
    parts = tuple(replace(part, files=tuple(paths)) for part, paths in alike.values())
    return _some(Logs(parts=parts, skipped=skipped))


def _some(logs: Logs) -> Logs:
    if not logs.parts:
        file, why = next(iter(logs.skipped.items()))
        others = len(logs.skipped) - 1
        wrong = f"{why}; and none of {others} other files can be read" if others else why
        raise LogError.of(file, wrong, "Write or fetch them again.")
    return logs


def _files(part: Part) -> tuple[str, ...]:
    return part.files


def _open(file: str) -> Part:
    kind = SUFFIXES.get(Path(file).suffix.lower())
    if kind is None:
        raise LogError.of(
            file, "no format of logs has that suffix", f"There are: {listed(SUFFIXES)}."
        )
    try:
        wrong = _empty(file) if kind == "CSV" else fault(Path(file), kind)
        if wrong is None:
            return Part(kind=kind, schema=_schema(file, kind), hive=_hive(file), files=(file,))
    except UNREADABLE as error:
        wrong = _cannot(error)
    raise _unreadable(file, wrong)


def _schema(file: str, kind: LogFormat) -> Mapping[str, pl.DataType]:
    if kind == "Parquet":
        return pl.read_parquet_schema(file)
    if kind == "Arrow IPC":
        return pl.read_ipc_schema(file)
    return pl.scan_csv(file, glob=False, infer_schema_length=None).collect_schema()


def _empty(file: str) -> str | None:
    size = Path(file).stat().st_size
    return None if size else "the file is empty: it has 0 bytes, so its data are missing"


def _hive(file: str) -> tuple[str, ...]:
    """Return the keys of folders that are called `key=value`, as polars finds them."""
    return tuple(part.split("=", 1)[0] for part in Path(file).parts[:-1] if "=" in part)


def _lacks_column(file: str, name: str, option: str, schema: Iterable[str]) -> LogError:
    there = list(schema)
    guess = get_close_matches(name, there, n=1)
    return LogError.of(
        file,
        f"there is no column {name!r}, which {option} asks for",
        f"It has: {listed(there, most=30) or 'no columns'}."
        + (f"\nDid you mean {option} {guess[0]}?" if guess else ""),
    )


def _unreadable(file: str, why: str) -> LogError:
    return LogError.of(
        file, why, "Write or fetch it again, or leave out such files with --skip-unreadable."
    )


def _cannot(error: BaseException) -> str:
    return f"the file cannot be read: {reason(error)}"


LogFormat: TypeAlias = Format | Literal["CSV"]

SUFFIXES: dict[str, LogFormat] = {**FORMATS, ".csv": "CSV"}

# Names that the writers of data sets give to what is not data, such as _SUCCESS.
HIDDEN = (".", "_")


def find(sources: Sequence[str], *, but: Collection[Path] = ()) -> list[str]:
    """Find the files that names, globs and folders stand for, each once.

    `but` names files that are no logs: the tables of an earlier run, which may lie beside them.
    """
    leave = {path.resolve() for path in but}
    found: dict[Path, str] = {}
    for source in sources:
        for file in _expand(source):
            if Path(file).resolve() not in leave:
                found.setdefault(Path(file).resolve(), file)
    if not found:
        raise LogError.of(listed(sources), "no log is left to read", "Name files or folders.")
    return sorted(found.values())


def _expand(source: str) -> Iterator[str]:
    path = str(Path(source).expanduser())
    if Path(path).is_dir():
        files = list(_below(path))
        if not files:
            raise LogError.of(
                source,
                "the folder holds no logs",
                f"Logs are files that end in one of: {listed(SUFFIXES)}.",
            )
        yield from files
    elif Path(path).exists():
        yield path
    elif not has_magic(path):
        raise LogError.of(source, "there is no such file or folder", f"Looked in {_here()}.")
    else:
        # Path.glob takes no absolute pattern.
        matches = sorted(glob(path, recursive=True))  # noqa: PTH207
        if not matches:
            raise LogError.of(source, "no file matches", f"Looked in {_here()}.")
        for match in matches:
            yield from _below(match) if Path(match).is_dir() else [match]


def _here() -> str:
    return repr(str(Path.cwd()))


def _below(folder: str) -> Iterator[str]:
    """Yield the logs in a folder and in those below it, which may be links to folders."""
    seen = set()
    for here, folders, names in os.walk(folder, followlinks=True):
        seen.add(Path(here).resolve())
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(HIDDEN) and Path(here, name).resolve() not in seen
        )
        for name in sorted(names):
            if not name.startswith(HIDDEN) and Path(name).suffix.lower() in SUFFIXES:
                yield str(Path(here, name))


FLOATS = (pl.Float16(), pl.Float32(), pl.Float64())

INTEGERS = tuple(
    dtype() for dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
)


def common_type(name: str, option: str, found: Sequence[tuple[str, pl.DataType]]) -> pl.DataType:
    """Return the type that holds all that the files have in one column, without any loss."""
    (first, common), *others = found
    for file, dtype in others:
        wider = wider_type(common, dtype, small=option == "--label")
        if wider is None:
            raise LogError.of(
                file,
                f"column {name!r} has type {dtype}, and in {first} it has type {common}",
                "A column has one type in all files of a log: cast it where they are written.",
            )
        if wider != common:
            first, common = file, wider
    return common


def wider_type(a: pl.DataType, b: pl.DataType, *, small: bool) -> pl.DataType | None:
    """Return the type that holds both; `small` says that whole numbers are below 2**53."""
    pair = {a, b} - {pl.Null()}
    if len(pair) < 2:
        return min(pair, default=a, key=str)
    if pair <= set(FLOATS):
        return max(pair, key=FLOATS.index)
    if pair <= set(INTEGERS):
        return pl.Int64()
    # pandas turns whole numbers into floats where one of them is missing. Those of 64 bits may
    # have more digits than a float.
    if pair <= {*FLOATS, *INTEGERS} and (small or pl.Int64() not in pair):
        return pl.Float64()
    if pair <= {pl.String(), pl.Categorical()}:
        return pl.String()
    return None
