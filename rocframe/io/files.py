"""Formats of files, checks before files are read, and replacement of files by complete ones."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import sys
import zlib
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from time import sleep
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias

import polars as pl

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

from rocframe.errors import OptionValueError, RocframeError, StorageError
from rocframe.frames import collect_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


FileFormat: TypeAlias = Literal["Parquet", "Arrow IPC"]

FILE_FORMATS: dict[str, FileFormat] = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow IPC",
    ".feather": "Arrow IPC",
    ".ipc": "Arrow IPC",
}

# Files of each format begin and end with these bytes. The end of a truncated file has other bytes.
MAGIC_BYTES: dict[FileFormat, bytes] = {"Parquet": b"PAR1", "Arrow IPC": b"ARROW1"}

# `add_checksum` inserts these bytes and a CRC-32 before the footer of a file. Programs find data
# and footer by their positions, so they ignore bytes between data and footer. The checksums of the
# pages of Parquet do not replace it: they do not cover the footer, polars does not verify them, and
# Arrow files have none. Of 2,715 changes of one bit in the footer of a store, pyarrow with
# `page_checksum_verification=True` read 101 without an error, but with other values.
CHECKSUM_MARK = b"ROCFRAME-CRC"
CHECKSUM_SIZE = len(CHECKSUM_MARK) + 4
METADATA_KEY = "rocframe"  # the entry of the metadata of a file that `write` adds
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"  # the last bytes of the data of an Arrow file
CHUNK_SIZE = 1 << 20
MAX_ATTEMPTS = 100  # maximum number of attempts to create a temporary file
# Files whose names begin with these characters are not data, such as the file _SUCCESS of Spark.
HIDDEN_PREFIXES = (".", "_")
TEMPORARY_PREFIX, TEMPORARY_SUFFIX = ".rocframe-", ".tmp"
LOCK_INTERVAL = 0.1  # seconds between two attempts to lock a file

# If a file changes during the read, polars raises PanicException, which is not an Exception.
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
EMPTY_FILE = "the file is empty (0 bytes)"


def local_path(path: object, *, check_access: bool = True) -> Path:
    """Return a path with `~` replaced; raise an error for an invalid name or folder."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str):
        hint = 'Pass a str or a Path, such as path="table.parquet".'
        raise OptionValueError.compose("path", path, "expected the name of a file", hint)
    try:
        name.encode()  # polars cannot read files whose names have invalid bytes
        local = Path(name).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(os.path.realpath(local))
    except PermissionError as error:
        if check_access:
            problem = f"it cannot be accessed: {error_reason(error)}"
            hint = "Check the permissions of the folders in the path."
            raise StorageError.compose(name, problem, hint) from error
    except (OSError, ValueError, RuntimeError) as error:
        problem = f"a file cannot have this name: {error_reason(error)}"
        raise StorageError.compose(path, problem, "Pass another name.") from error
    return local


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return an absolute path without symbolic links, except links that cannot be read."""
    try:
        return Path(os.path.realpath(path))
    except OSError:
        return Path(path).absolute()


def access_error(path: str | os.PathLike[str]) -> OSError | None:
    """Return why a folder cannot be listed, or a link cannot be followed; None without an error."""
    try:
        os.scandir(path).close()
    except OSError as error:
        return None if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP} else error
    return None


def raise_unlisted(error: OSError) -> None:
    """Raise the error for a folder that cannot be listed."""
    raise StorageError.compose(
        error.filename, listing_problem(error), "Make the folder readable."
    ) from error


def listing_problem(error: BaseException) -> str:
    """Return the problem of a folder that cannot be listed, for an error message."""
    return f"the folder cannot be listed: {error_reason(error)}"


def visible_files(
    folder: str | os.PathLike[str],
    on_error: Callable[[OSError], None] = raise_unlisted,
    listed: Callable[[Path], list[Path] | None] = lambda _: None,
) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders, except hidden files and folders.

    A file with several names is listed once, if possible by a name without links. `on_error` gets
    the error of an unreadable folder or link. Folders with files `listed` are not searched.
    """
    roots, links, visited = [Path(folder)], list[Path](), set[Path]()

    def report(error: OSError) -> None:
        error.filename = error.filename or os.fspath(folder)
        if error.errno != errno.ENOENT:  # a folder that is deleted during the search has no files
            on_error(error)

    for root in roots:  # the loop appends links to folders
        for parent, folders, names in os.walk(root, onerror=report):
            if (real := real_path(parent)) in visited:
                folders.clear()
                continue
            visited.add(real)
            if (listed_files := listed(Path(parent))) is not None:
                folders.clear()
                for path in (real / path.relative_to(parent) for path in listed_files):
                    visited |= {path, path.parent}
                yield from listed_files
                continue
            folders[:] = _visible_names(folders)
            paths = [Path(parent, name) for name in _visible_names(names)]
            roots += filter(os.path.islink, (Path(parent, name) for name in folders))
            links += filter(os.path.islink, paths)
            files = list(itertools.filterfalse(os.path.islink, paths))
            visited.update(real / path.name for path in files)
            yield from files
    yield from _linked_files(links, visited, report)


def _linked_files(
    links: Iterable[Path], visited: set[Path], report: Callable[[OSError], None]
) -> Iterator[Path]:
    """Yield the links to files that are not in `visited`, and report links to folders."""
    for path in links:
        if error := access_error(path):  # it may be a link to a folder
            report(error)
        elif (real := real_path(path)) not in visited:
            visited.add(real)
            yield path


def _visible_names(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith(HIDDEN_PREFIXES))


def scan_file(path: str | Path, file_format: FileFormat) -> pl.LazyFrame:
    """Return the rows of a file; names of folders such as `day=2026-11-01` become no columns."""
    scan = pl.scan_parquet if file_format == "Parquet" else pl.scan_ipc
    return scan(path, glob=False, hive_partitioning=False)


def file_problem(path: Path, file_format: FileFormat) -> str | None:
    """Return why the first and last bytes of a file are wrong; None if they are correct."""
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


def add_checksum(path: Path, file_format: FileFormat) -> None:
    """Insert a checksum of all bytes of a complete file before its footer."""
    with path.open("r+b") as file:
        start = _footer_start(file, file_format)
        file.seek(start)
        footer = file.read()
        checksum = _checksum(file, start, footer)
        file.seek(start)
        file.write(CHECKSUM_MARK + checksum.to_bytes(4, "little") + footer)


def content_problem(path: Path, file_format: FileFormat, *, verify: bool = True) -> str | None:
    """Return why a file is missing, incomplete or damaged; None if polars can read it safely.

    With `verify`, the checksum is compared. polars can abort the process if a file is damaged, so
    pyarrow reads files without a checksum.
    """
    if problem := file_problem(path, file_format):
        return problem
    if verify:
        matches = _matches_checksum(path, file_format)
        if matches is not None:
            return (
                None if matches else "the file is damaged: its content does not match its checksum"
            )
    import pyarrow as pa

    try:
        if file_format == "Arrow IPC":
            has_lost = _read_arrow(path, values=verify)
        else:
            has_lost = _read_parquet_footer(path)
    except (pa.ArrowException, ValueError) as error:
        raise OSError(str(error)) from error
    return "the file is damaged: its checksum is overwritten" if verify and has_lost else None


def _read_arrow(path: Path, *, values: bool) -> bool:
    """Read an Arrow file, or its schema, with pyarrow; return whether it has lost its checksum."""
    from pyarrow import ipc, memory_map

    with memory_map(str(path)) as file:
        reader = ipc.open_file(file)
        for i in range(reader.num_record_batches if values else 0):
            reader.get_batch(i).validate(full=True)
        metadata = reader.schema.metadata or {}
    with path.open("rb") as file:
        file.seek(_footer_start(file, "Arrow IPC") - len(END_OF_STREAM))
        is_end = file.read(len(END_OF_STREAM)) == END_OF_STREAM
    return METADATA_KEY.encode() in metadata and not is_end


def _read_parquet_footer(path: Path) -> bool:
    """Read a Parquet footer of this file with pyarrow; return whether it has lost its checksum."""
    from pyarrow import ArrowNotImplementedError
    from pyarrow.parquet import read_metadata

    try:
        footer = read_metadata(path)
    except ArrowNotImplementedError:  # for dtypes such as 128-bit integers
        return False
    with path.open("rb") as file:
        end = _footer_start(file, "Parquet")
    groups = (footer.row_group(i) for i in range(footer.num_row_groups))
    chunks = (group.column(i) for group in groups for i in range(group.num_columns))
    last = start = len(MAGIC_BYTES["Parquet"])
    for chunk in chunks:
        if not chunk.total_compressed_size:  # a column without rows has no position
            continue
        position = chunk.dictionary_page_offset or chunk.data_page_offset
        last = max(last, position + chunk.total_compressed_size)
        if position < start or chunk.total_compressed_size < 0 or last > end:
            raise ValueError("its footer names data outside the file")
    return METADATA_KEY.encode() in (footer.metadata or {}) and end - last == CHECKSUM_SIZE


def _matches_checksum(path: Path, file_format: FileFormat) -> bool | None:
    """Return whether a file matches its checksum; None if it has no checksum."""
    with path.open("rb") as file:
        start = _footer_start(file, file_format) - CHECKSUM_SIZE
        if start < 0:
            return None
        file.seek(start)
        mark, expected = file.read(len(CHECKSUM_MARK)), int.from_bytes(file.read(4), "little")
        footer = file.read()
        return _checksum(file, start, footer) == expected if mark == CHECKSUM_MARK else None


def _footer_start(file: BinaryIO, file_format: FileFormat) -> int:
    """Return the position of the footer, whose length is stored before the last magic bytes."""
    after_footer = file.seek(-len(MAGIC_BYTES[file_format]) - 4, os.SEEK_END)
    return after_footer - int.from_bytes(file.read(4), "little")


def _checksum(file: BinaryIO, size: int, footer: bytes) -> int:
    """Return the CRC-32 of the first `size` bytes of a file, followed by the footer."""
    file.seek(0)
    checksum = 0
    while size > 0 and (chunk := file.read(min(CHUNK_SIZE, size))):
        checksum, size = zlib.crc32(chunk, checksum), size - len(chunk)
    return zlib.crc32(footer, checksum)


def error_reason(error: BaseException) -> str:
    """Return why a file cannot be read or written: one line of the message of the error."""
    if isinstance(error, pl.exceptions.PanicException):
        return "it changed during the read"
    if isinstance(error, FileNotFoundError):
        return "it no longer exists"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].removesuffix(".")


def collect_query(path: str | os.PathLike[str], query: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Return the rows of a query for the file `path`; an error if a file has changed."""
    try:
        return collect_frame(query)
    except (pl.exceptions.PanicException, FileNotFoundError) as error:
        change = "been deleted" if isinstance(error, FileNotFoundError) else "changed"
        problem = f"the table cannot be computed: a file that it reads has {change} since the scan"
        raise StorageError.compose(
            os.fspath(path), problem, "Scan the file again, then write the table."
        ) from error


def check_target(path: str | os.PathLike[str]) -> Path:
    """Check that a file can be written, and return its path without symbolic links."""
    target, path_text = real_path(local_path(path)), os.fspath(path)
    folder = target.parent
    if "://" in path_text:
        raise StorageError.compose(
            path_text, "it is not a local file", "Write to a local file, then copy it."
        )
    if target.is_dir():
        raise StorageError.compose(
            path_text, "it is a folder", "Pass the name of a file in this folder."
        )
    # A device, such as /dev/null, must not be replaced by a file.
    if target.exists() and not target.is_file():
        raise StorageError.compose(
            path_text, "it is not a regular file", "Pass the name of another file."
        )
    if not folder.is_dir():
        problem, hint = "does not exist", "Create the folder first."
        if folder.exists():
            problem, hint = "is a file and not a folder", "Choose a path in a folder."
        raise StorageError.compose(path_text, f"{str(folder)!r} {problem}", hint)
    try:
        with _temporary_file(target):
            pass
    except OSError as error:
        raise _write_error(path_text, error) from error
    return target


@contextmanager
def replacement(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a new file, which replaces the file `path` at the end of the `with` block.

    If the block fails or the process is killed, the old file is unchanged.
    """
    target = check_target(path)
    try:
        with _temporary_file(target) as new:
            yield new
            flush_to_disk(new)
            if target.exists():
                with suppress(PermissionError):  # the file belongs to another user
                    new.chmod(stat.S_IMODE(target.stat().st_mode))
            new.replace(target)
            flush_to_disk(target.parent)
    except RocframeError:
        raise
    except READ_ERRORS as error:
        raise _write_error(os.fspath(path), error) from error


@contextmanager
def output_folder(folder: Path, option: str, files: Sequence[Path] = ()) -> Iterator[None]:
    """Create a folder in a `with` block; if the block fails, remove it unless it has files."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the folder cannot be created: {error_reason(error)}"
        raise StorageError.compose(
            folder, problem, f"Pass the name of a folder as {option}."
        ) from error
    try:
        for file in files:
            check_target(file)
        yield
    except BaseException:
        with suppress(OSError):  # a folder that contains files is not removed
            for path in new:
                path.rmdir()
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, invalid bytes as escapes; if this fails, the old file is unchanged."""
    with replacement(path) as new:
        new.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


@contextmanager
def _temporary_file(target: Path) -> Iterator[Path]:
    """Yield a new empty file in the folder of `target`, and remove the file if it still exists.

    Those of killed processes are removed first: locks end with a process, so a file without a lock
    has no writer.
    """
    # The name is hidden and has another suffix, so that programs do not read the file as a table.
    name = blake2b(os.fsencode(target.name), digest_size=6).hexdigest()
    prefix = f"{TEMPORARY_PREFIX}{name}-"
    remove_stale_files(target.parent.glob(f"{prefix}*{TEMPORARY_SUFFIX}"))
    # If another process removes a new file before it is locked, the next name is tried.
    for _ in range(MAX_ATTEMPTS):
        new = target.with_name(f"{prefix}{token_hex(8)}{TEMPORARY_SUFFIX}")
        is_locked = False
        try:  # the file is created in this block, so that an interrupt removes the file
            with _locked(new, os.O_CREAT | os.O_EXCL | os.O_RDWR):
                is_locked = new.exists()
                if is_locked:
                    yield new
                    return
        except BlockingIOError:
            if is_locked:
                raise
        finally:
            new.unlink(missing_ok=True)
    raise OSError("other programs remove or lock its temporary files")


def is_temporary(name: str) -> bool:
    """Return whether a file of this name is a temporary file of `replacement`."""
    return name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)


def remove_stale_files(files: Iterable[Path]) -> None:
    """Remove the temporary files that have no writer, because their process was killed."""
    if sys.platform != "win32":
        for stale in files:
            with suppress(OSError), _locked(stale, os.O_RDWR):
                stale.unlink()


@contextmanager
def exclusive_lock(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Lock a file during a `with` block; if another process has it, call `on_wait`, and wait."""
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            # The process that had the lock removes the file, so that the lock may be that of a file
            # which no longer exists.
            if _try_lock(descriptor) and _is_open_file(path, descriptor):
                try:
                    yield
                finally:
                    with suppress(OSError):  # Windows cannot remove an open file
                        path.unlink()
                return
        finally:
            os.close(descriptor)
        on_wait()
        sleep(LOCK_INTERVAL)


def _try_lock(descriptor: int) -> bool:
    """Lock an open file; return False if another process has locked the file."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_open_file(path: Path, descriptor: int) -> bool:
    """Return whether `path` is still the file that was opened with this descriptor."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def _locked(path: Path, flags: int) -> Iterator[None]:
    """Open and lock a file; raise BlockingIOError if another writer has locked it."""
    descriptor = os.open(path, flags, 0o666)
    if sys.platform == "win32":  # not locked, because Windows cannot rename an open file
        os.close(descriptor)
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or the list of the files in a folder, is stored on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open folders
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_error(path: str, error: BaseException) -> StorageError:
    problem = f"the file cannot be written: {error_reason(error)}"
    return StorageError.compose(path, problem, "If the file existed, it is unchanged.")
