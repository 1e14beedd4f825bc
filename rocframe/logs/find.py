"""Names, globs and folders → files."""

from __future__ import annotations

import os
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from rocframe.errors import LogError
from rocframe.files import FORMATS, Format
from rocframe.quoting import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

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
