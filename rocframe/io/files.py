"""Files on disk: known by their suffix, checked at both ends, replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from rocframe.errors import RocframeError, StorageError
from rocframe.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator


Format: TypeAlias = Literal["Parquet", "Arrow IPC"]

FORMATS: dict[str, Format] = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow IPC",
    ".feather": "Arrow IPC",
    ".ipc": "Arrow IPC",
}

# Both formats put the same letters first and last. A file that was cut short lacks the last.
MARKS: dict[Format, bytes] = {"Parquet": b"PAR1", "Arrow IPC": b"ARROW1"}

# polars panics, with something that is no Exception, where a file changes under its hands.
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def format_of(path: str | os.PathLike[str]) -> Format:
    """Return the format that the suffix of a path stands for."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise StorageError.of(
            os.fspath(path),
            f"no format has the suffix {suffix!r}",
            f"There are: {listed(FORMATS)}.",
        )
    return FORMATS[suffix]


def fault(path: Path, kind: Format) -> str | None:
    """Say what is wrong with a file that one can see without reading it, if anything is."""
    if not path.exists():
        return "there is no such file"
    if not path.is_file():
        return "that is a folder" if path.is_dir() else "that is no regular file"
    mark = MARKS[kind]
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if not size:
            return "the file is empty: it has 0 bytes, so its data are missing"
        file.seek(0)
        first = file.read(len(mark))
        file.seek(max(0, size - len(mark)))
        last = file.read(len(mark))
    if first != mark:
        return f"that is no {kind} file: it does not begin with {mark.decode()}"
    if last != mark:
        return f"the {kind} file is cut short: it does not end with {mark.decode()}"
    return None


def reason(error: BaseException) -> str:
    """Return what a library says is wrong, the first line of it."""
    if isinstance(error, pl.exceptions.PanicException):
        return "it changed while it was read"
    if isinstance(error, FileNotFoundError):
        return "it is gone"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].removesuffix(".")


def check_target(path: str | os.PathLike[str]) -> Path:
    """Find out, before anything is computed, whether a file can be written; return its real path.

    A symbolic link is followed: the file it points to is replaced, the link stays.
    """
    given, target = os.fspath(path), Path(os.path.realpath(Path(path).expanduser()))
    folder = target.parent
    if "://" in given:
        raise StorageError.of(given, "that is no local file", "Write it here, then copy it there.")
    if target.is_dir():
        raise StorageError.of(given, "that is a folder", "Name a file in it.")
    # Replacing /dev/null or a named pipe by a file would break whoever uses it.
    if target.exists() and not target.is_file():
        raise StorageError.of(given, "that is no regular file", "Name a file in a folder.")
    if not folder.is_dir():
        wrong = f"{str(folder)!r} is no folder" if folder.exists() else f"no folder {str(folder)!r}"
        raise StorageError.of(given, wrong, "Make the folder first.")
    try:
        probe = _new_beside(target)
    except OSError as error:
        raise _unwritable(given, error) from error
    probe.unlink()
    return target


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, which then takes the place of `path` in one step.

    Whatever happens inside, and whenever the process is killed, `path` holds what was there
    before or all of what was written, and never a part.
    """
    target = check_target(path)
    new = _new_beside(target)
    try:
        yield new
        _settle(new)
        if target.exists():
            with suppress(PermissionError):  # a file that belongs to someone else
                new.chmod(stat.S_IMODE(target.stat().st_mode))
        new.replace(target)
        _settle(target.parent)
    except RocframeError:
        raise
    except UNREADABLE as error:
        raise _unwritable(os.fspath(path), error) from error
    finally:
        new.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file whole or not at all."""
    with replaced(path) as new:
        new.write_text(text, encoding="utf-8", newline="\n")


def _new_beside(target: Path) -> Path:
    """Make an empty file in the folder of `target`, with the mode that any new file has."""
    # Hidden, and with a suffix of its own: who reads the folder does not take it for a table.
    new = target.with_name(f".rocframe-{token_hex(8)}.tmp")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return new


def _settle(path: Path) -> None:
    """Wait until the disk has it. A folder keeps the names of its files."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: str, error: BaseException) -> StorageError:
    said = (isinstance(error, OSError) and error.strerror) or reason(error)
    return StorageError.of(
        path, f"the file cannot be written: {said}", "What was there before is as it was."
    )
