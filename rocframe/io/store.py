"""A store of compressed predictions: a folder of Parquet files, and a manifest that lists them."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from rocframe.compression.cells import SCORE_COLUMN
from rocframe.compression.resolution import Rounding
from rocframe.errors import OptionValueError, RocframeError, StorageError
from rocframe.io.files import (
    FILE_FORMATS,
    HIDDEN_PREFIXES,
    READ_ERRORS,
    error_reason,
    exclusive_lock,
    is_temporary,
    raise_unlisted,
    real_path,
    remove_stale_files,
    visible_files,
    write_text,
)
from rocframe.options import parse_fraction
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


FilesT = TypeVar("FilesT")
QueryT = TypeVar("QueryT")

# The manifest lists the parts of a store. Programs that read a folder of Parquet files ignore names
# that begin with "_".
MANIFEST = "_rocframe_store.json"
MANIFEST_VERSION = 1
PART_METADATA = "store"  # the name of an entry in the metadata of each part
PART_NAME = re.compile(r"part-[0-9a-f]{16}\.parquet")
LOCK_FILE = ".rocframe.lock"
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"  # in names of folders, this text represents null


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """The options that all parts of a store have in common.

    `label` and `score` are the columns of the logs. `positive` is the text of `--positive`. `by`
    and `partition_by` are the group columns of the parts. Options that are not given are None.
    """

    label: str
    score: tuple[str, ...]
    by: tuple[str, ...] = ()
    partition_by: str | None = None
    positive: str | None = None
    weight: str | None = None
    count: str | None = None
    resolution: float | None = None
    relative: bool = False
    max_envelope: float | None = None

    def __post_init__(self) -> None:
        if self.partition_by is not None and self.partition_by.startswith(HIDDEN_PREFIXES):
            raise OptionValueError(
                f"--partition-by {self.partition_by}: files in folders whose names begin with "
                f"{format_list(HIDDEN_PREFIXES)} are ignored.\nRename the column in the logs."
            )
        if self.relative and self.resolution is None:
            raise OptionValueError(
                "--relative: --resolution is not given.\n"
                "Use, for example, --resolution 0.01 --relative."
            )
        if self.max_envelope is not None and self.resolution is not None:
            raise OptionValueError(
                "--max-envelope: --resolution is given as well.\nLeave out one of the two options."
            )
        Rounding.parse(self.resolution, self.relative)
        if self.max_envelope is not None:
            parse_fraction("max_envelope", self.max_envelope, example=0.0001)

    @property
    def keys(self) -> tuple[str, ...]:
        """The group columns of the parts: the partition column, then the others."""
        first = () if self.partition_by is None else (self.partition_by,)
        return tuple(dict.fromkeys([*first, *self.by]))

    @property
    def scores(self) -> tuple[str, ...]:
        """The score columns of the parts."""
        return self.score if len(self.score) > 1 else (SCORE_COLUMN,)

    def check_match(self, stored: StoreOptions, folder: Path) -> None:
        """Raise an error if a given option differs from that of a store."""
        for name in ("label", "score", "positive", "weight", "count", "partition_by"):
            given, expected = getattr(self, name), getattr(stored, name)
            if given is not None and given != expected:
                raise _other_option(folder, _option_text(name, given), _option_text(name, expected))
        rounding = stored._rounding_text()
        if self.max_envelope is not None or self.resolution is not None:
            same = self.max_envelope == stored.max_envelope and (
                Rounding.parse(self.resolution, self.relative)
                == Rounding.parse(stored.resolution, stored.relative)
            )
            if not same:
                raise _other_option(folder, self._rounding_text(), rounding)
        for name in self.by:
            if name not in stored.keys:
                columns = " ".join(f"--by {key}" for key in stored.keys) or "no --by"
                raise _other_option(folder, f"--by {name}", columns)

    def _rounding_text(self) -> str:
        if self.max_envelope is not None:
            return f"--max-envelope {self.max_envelope:g}"
        if self.resolution is None:
            return "no --resolution"
        return f"--resolution {self.resolution:g}{' --relative' if self.relative else ''}"


def _option_text(name: str, value: Any) -> str:
    option = f"--{name.replace('_', '-')}"
    if value is None:
        return f"no {option}"
    return " ".join(f"{option} {one}" for one in (value if isinstance(value, tuple) else [value]))


def _other_option(folder: Path, given: str, expected: str) -> OptionValueError:
    return OptionValueError(
        f"{given}: the store {str(folder)!r} has {expected}.\n"
        "Pass the option of the store, or a new folder as --store for other options."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file of a store: the compressed predictions of one log with one value of the partition.

    `file` is its path in the folder of the store, `value` the value of the partition column as
    text, `size` the number of bytes, and `rows` the number of rows of the log.
    """

    file: str
    value: str | None
    size: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLog:
    """A log whose compressed predictions are in a store.

    Attributes
    ----------
    source
        Absolute path of the log.
    size
        Size of the log in bytes.
    modified
        Time of the last change of the log in nanoseconds, or None if the time was too recent.
    digest
        Hash of the content of the log.
    parts
        One part for each value of the partition column, or one part without rows.
    """

    source: str
    size: int
    modified: int | None
    digest: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A state of a store: the content of its manifest.

    An update writes parts under new names, and then replaces the manifest. The file of a part never
    changes. Therefore a reader of a manifest reads one state of the store without a lock, or finds
    that a part no longer exists.
    """

    folder: Path
    options: StoreOptions
    logs: tuple[StoredLog, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Store | None:
        """Return the state of a store; None if the folder has no manifest."""
        path = folder / MANIFEST
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content.pop("checksum") != _content_digest(content):
                raise ValueError
            if content["version"] != MANIFEST_VERSION:
                problem = f"the store has the format {content['version']} of another version"
                hint = "Use the version of rocframe that wrote the store, or create a new store."
                raise StorageError.compose(path, problem, hint)
            options = content["options"]
            pairs = {**options, "score": tuple(options["score"]), "by": tuple(options["by"])}
            logs = tuple(
                StoredLog(**{**log, "parts": tuple(Part(**part) for part in log["parts"])})
                for log in content["logs"]
            )
            return cls(folder=folder, options=StoreOptions(**pairs), logs=logs)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except StorageError:
            raise
        except OSError as error:
            problem = f"the list of the files of the store cannot be read: {error_reason(error)}"
            raise StorageError.compose(path, problem, "Make the file readable.") from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            problem = "the list of the files of the store is damaged"
            raise StorageError.compose(path, problem, RESTORE_HINT) from error

    @classmethod
    def open(cls, folder: Path, options: StoreOptions) -> Store:
        """Return the state of a store; for a folder without data, a new store with `options`."""
        store = cls.read(folder)
        if store is None and stored_files(folder) is not None:
            parent = folder.absolute().parent
            problem = f"the folder is one {folder.absolute().name.split('=')[0]} of a store"
            hint = f"Did you mean --store {folder.parent if folder.name else parent}?"
            raise StorageError.compose(folder, problem, hint)
        if store is None and (example := next(map(str, parquet_files(folder)), None)):
            # The first update of a store writes a manifest before it writes parts.
            store = cls.read(folder)
            if store is None:
                raise missing_manifest(folder, example)
        return store if store is not None and store.logs else cls(folder=folder, options=options)

    @property
    def parts(self) -> list[Part]:
        """The parts of all logs."""
        return [part for log in self.logs for part in log.parts]

    def existing_part(self) -> Path | None:
        """Return the file of a part that exists; None if there is none."""
        return next((self.path(part) for part in self.parts if self.is_intact(part)), None)

    def path(self, part: Part) -> Path:
        """Return the file of a part."""
        return self.folder / part.file

    def is_intact(self, part: Part) -> bool:
        """Return whether the file of a part exists and has its size; its content is not read."""
        path = self.path(part)
        try:
            return path.stat().st_size == part.size
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            problem = f"a part of the store cannot be read: {error_reason(error)}"
            raise StorageError.compose(path, problem, "Make the file readable.") from error

    def write(self) -> None:
        """Replace the manifest by this state, which readers see from then on."""
        content: dict[str, Any] = {
            "version": MANIFEST_VERSION,
            "options": asdict(self.options),
            "logs": [asdict(log) for log in self.logs],
        }
        text = json.dumps({**content, "checksum": _content_digest(content)})
        write_text(self.folder / MANIFEST, text)

    def remove_unlisted_parts(self) -> None:
        """Remove the parts of earlier states and of killed updates, and folders without parts.

        The manifest of a store without logs is removed too.
        """
        listed = {self.path(part) for part in self.parts}
        for path in chain(self.folder.glob("*.parquet"), self.folder.glob("*=*/*.parquet")):
            if PART_NAME.fullmatch(path.name) and path not in listed:
                with suppress(OSError):  # Windows cannot remove a file that another process reads
                    path.unlink()
                    if path.parent != self.folder:
                        path.parent.rmdir()  # an error if the folder contains other parts
        if not self.logs:
            (self.folder / MANIFEST).unlink(missing_ok=True)


RESTORE_HINT = (
    "Restore this file from a backup, or create a new store: run the command with all logs and "
    "another folder as --store."
)


def _content_digest(content: dict[str, Any]) -> str:
    return blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


def missing_manifest(folder: Path, example: str) -> StorageError:
    """Return the error for a folder with Parquet files that should be a store."""
    problem = f"the file does not exist, although the folder contains {example!r}"
    return StorageError.compose(folder / MANIFEST, problem, RESTORE_HINT)


def damaged_part(path: Path, error: StorageError) -> StorageError:
    """Return the error for a part that is missing or cannot be read."""
    hint = (
        "Restore this file. Otherwise, delete it and run the command with the logs, which reads "
        "its log again. If the log no longer exists, add --drop-missing-parts."
    )
    return StorageError.compose(path, f"a part of the store cannot be read: {error.problem}", hint)


def new_part_path(folder: Path, partition_by: str | None, value: str | None) -> Path:
    """Return an unused name, such as `store/day=2026-11-01/part-5d41402abc4b2a76.parquet`."""
    name = f"part-{token_hex(8)}.parquet"
    if partition_by is None:
        return folder / name
    label = NULL_FOLDER if value is None else quote(value, safe=" ")
    if value == NULL_FOLDER:  # this text is not null
        label = label.replace("_", "%5F")
    return folder / f"{_folder_prefix(partition_by)}{label}" / name


def _folder_prefix(partition_by: str) -> str:
    return f"{quote(partition_by, safe=' ')}="


@contextmanager
def locked_store(folder: Path, on_step: Callable[[str], None]) -> Iterator[None]:
    """Lock a store during a `with` block, and remove temporary files of killed processes."""
    try:
        with exclusive_lock(
            folder / LOCK_FILE, lambda: on_step(f"Waiting for another process that locks {folder}")
        ):
            remove_stale_files(path for path in folder.rglob(".*") if is_temporary(path.name))
            yield
    except RocframeError:
        raise
    except OSError as error:
        problem = f"the store cannot be changed: {error_reason(error)}"
        hint = "Make the folder writable. To read the store only, name no log files in the command."
        raise StorageError.compose(folder, problem, hint) from error


def stored_files(folder: Path) -> list[Path] | None:
    """Return the parts in a folder that is a store or a folder of a store; None for others."""
    path = real_path(folder)
    for root in (folder, path.parent):
        # os.path.lexists is also False if the folder cannot be accessed.
        store = Store.read(root) if os.path.lexists(root / MANIFEST) else None
        if store is not None and root is folder:
            return [folder / part.file for part in store.parts]
        key = None if store is None else store.options.partition_by
        if store is not None and key is not None and path.name.startswith(_folder_prefix(key)):
            files = [Path(part.file) for part in store.parts]
            return [folder / file.name for file in files if file.parent.name == path.name]
    return None


def data_files(
    folder: str | os.PathLike[str], on_error: Callable[[OSError], None] = raise_unlisted
) -> Iterator[Path]:
    """Yield the visible files of a folder and its subfolders; of a store, the parts it lists.

    `on_error` is called with the error for a folder that cannot be listed; see `visible_files`.
    """
    return visible_files(folder, on_error, stored_files)


def parquet_files(folder: Path) -> list[Path]:
    """Return the sorted Parquet files in a folder and its subfolders, as `data_files`."""
    return sorted(
        path for path in data_files(folder) if FILE_FORMATS.get(path.suffix.lower()) == "Parquet"
    )


def read_current(read: Callable[[], FilesT], query: Callable[[FilesT], QueryT]) -> QueryT:
    """Return the result of a query of the state that `read` returns.

    If the query fails because an update has removed files of this state, it is repeated with the
    new state.
    """
    state = read()
    while True:
        try:
            return query(state)
        except (StorageError, *READ_ERRORS):
            failed, state = state, read()
            if state == failed:
                raise
