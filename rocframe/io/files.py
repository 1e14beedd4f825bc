"""File formats, checks of files before they are read or written, and writing in one step."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from rocframe.errors import RocframeError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator


FileFormat: TypeAlias = Literal["Parquet", "Arrow IPC"]

FILE_FORMATS: dict[str, FileFormat] = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow IPC",
    ".feather": "Arrow IPC",
    ".ipc": "Arrow IPC",
}

# Files of each format begin and end with these bytes. A truncated file lacks them at the end.
MAGIC_BYTES: dict[FileFormat, bytes] = {"Parquet": b"PAR1", "Arrow IPC": b"ARROW1"}

# polars raises a PanicException, not derived from Exception, if a file changes during the read.
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
EMPTY_FILE = "the file is empty (0 bytes)"


def file_problem(path: Path, file_format: FileFormat) -> str | None:
    """Return the problem of a file, from its first and last bytes; None if there is none."""
    if not path.exists():
        return "the file does not exist"
    if not path.is_file():
        return "it is a folder" if path.is_dir() else "it is not a regular file"
    magic = MAGIC_BYTES[file_format]
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if not size:
            return EMPTY_FILE
        file.seek(0)
        first = file.read(len(magic))
        file.seek(max(0, size - len(magic)))
        last = file.read(len(magic))
    if first != magic:
        return f"it is not a {file_format} file: it does not begin with {magic.decode()}"
    if last != magic:
        return f"the {file_format} file is truncated: it does not end with {magic.decode()}"
    return None


def error_reason(error: BaseException) -> str:
    """Return the first line of the message of an error in reading or writing a file."""
    if isinstance(error, pl.exceptions.PanicException):
        return "it changed during the read"
    if isinstance(error, FileNotFoundError):
        return "it no longer exists"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].removesuffix(".")


def check_target(path: str | os.PathLike[str]) -> Path:
    """Check that a file can be written, and return its path without symbolic links.

    A symbolic link is resolved: the file it points to is replaced, and the link stays.
    """
    path_text, target = os.fspath(path), Path(os.path.realpath(Path(path).expanduser()))
    folder = target.parent
    if "://" in path_text:
        raise StorageError.compose(
            path_text, "it is not a local file", "Write to a local file, then copy it."
        )
    if target.is_dir():
        raise StorageError.compose(path_text, "it is a folder", "Pass the name of a file in it.")
    # Replacing a device such as /dev/null would break other programs.
    if target.exists() and not target.is_file():
        raise StorageError.compose(
            path_text, "it is not a regular file", "Pass the name of another file."
        )
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise StorageError.compose(
            path_text, f"{str(folder)!r} {problem}", "Create the folder first."
        )
    new = _temporary_path(target)
    try:
        _create_empty(new)
    except OSError as error:
        raise _write_error(path_text, error) from error
    finally:
        new.unlink(missing_ok=True)
    return target


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new file in the same folder, which replaces `path` at the end of the block.

    If the block fails or the process is killed, the old file is unchanged. Other programs see
    either the old content or the complete new content.
    """
    target = check_target(path)
    new = _temporary_path(target)
    try:  # the file is created in this block, so that an interrupt at any time removes it
        _create_empty(new)
        yield new
        _flush_to_disk(new)
        if target.exists():
            with suppress(PermissionError):  # the file belongs to another user
                new.chmod(stat.S_IMODE(target.stat().st_mode))
        new.replace(target)
        _flush_to_disk(target.parent)
    except RocframeError:
        raise
    except READ_ERRORS as error:
        raise _write_error(os.fspath(path), error) from error
    finally:
        new.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in one step."""
    with replaced(path) as new:
        new.write_text(text, encoding="utf-8", newline="\n")


def _temporary_path(target: Path) -> Path:
    """Return the path of a new file in the folder of `target`."""
    # The name is hidden and has another suffix, so that programs do not read it as a table.
    return target.with_name(f".rocframe-{token_hex(8)}.tmp")


def _create_empty(path: Path) -> None:
    """Create an empty file with the default mode of new files."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def _flush_to_disk(path: Path) -> None:
    """Wait until a file, or the list of files of a folder, is on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open folders
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_error(path: str, error: BaseException) -> StorageError:
    reason = (isinstance(error, OSError) and error.strerror) or error_reason(error)
    return StorageError.compose(
        path, f"the file cannot be written: {reason}", "If the file existed, it is unchanged."
    )
