"""A store of compressed predictions: a folder with one Parquet file per log and day."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rocframe.compression.cells import SCORE_COLUMN
from rocframe.compression.resolution import Rounding
from rocframe.errors import OptionValueError, RocframeError, StorageError
from rocframe.io.files import (
    HIDDEN_PREFIXES,
    error_reason,
    exclusive_lock,
    is_temporary,
    remove_stale_files,
)
from rocframe.io.tables import (
    check_file,
    parquet_files,
    read,
    read_metadata,
    scan_files,
)
from rocframe.options import parse_fraction
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import polars as pl


PART_METADATA = "store"  # the metadata of a part are the entry of this name in those of the file
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

    Attributes
    ----------
    path
        The file.
    source
        Absolute path of the log.
    size
        Size of the log in bytes.
    modified
        Time of the last change of the log in nanoseconds, or None if the time was too recent.
    digest
        Hash of the content of the log.
    values
        The values of the partition column in the log, as text. The log has one part for each value,
        or one part for None if it has no rows.
    value
        The value of this part.
    moved_from
        The earlier path of the log, or None.
    options
        The options of the store.
    """

    path: Path
    source: str
    size: int
    modified: int | None
    digest: str
    values: tuple[str | None, ...]
    value: str | None
    moved_from: str | None
    options: StoreOptions

    @classmethod
    def read(cls, path: Path) -> Part:
        """Return the part in a file; raise an error if the file is damaged or not a part."""
        try:
            metadata: Any = (read_metadata(path, verify=False) or {}).get(PART_METADATA)
        except StorageError as error:
            raise damaged_part(path, error) from error
        try:
            entries = dict(metadata)
            options = entries.pop("options")
            pairs = {**options, "score": tuple(options["score"]), "by": tuple(options["by"])}
            return cls(
                **{**entries, "values": tuple(entries["values"])},
                path=path,
                options=StoreOptions(**pairs),
            )
        except (TypeError, KeyError, ValueError) as error:
            raise StorageError.compose(
                path,
                "the file is not a part of a store",
                "Pass another folder as --store, or move this file to another folder.",
            ) from error

    def metadata(self) -> dict[str, object]:
        """Return the metadata of the file."""
        return {
            PART_METADATA: {name: value for name, value in asdict(self).items() if name != "path"}
        }


def damaged_part(path: Path, error: StorageError) -> StorageError:
    """Return the error for a part that cannot be read."""
    hint = "Delete this file and run the command again with the logs: its log is then read again."
    return StorageError.compose(path, f"the part of the store is damaged: {error.problem}", hint)


def part_path(folder: Path, source: str, partition_by: str | None, value: str | None) -> Path:
    """Return the file for a part, such as `store/day=2026-11-01/5d41402abc4b2a76.parquet`.

    The name of the file depends on the value too, because folders whose names differ in upper and
    lower case only are the same folder on some file systems.
    """
    text = "\0".join([source, *([] if value is None else [value])])
    name = blake2b(text.encode(errors="surrogateescape"), digest_size=8).hexdigest()
    if partition_by is None:
        return folder / f"{name}.parquet"
    label = NULL_FOLDER if value is None else quote(value, safe=" ")
    if value == NULL_FOLDER:  # this text is not null
        label = label.replace("_", "%5F")
    return folder / f"{quote(partition_by, safe=' ')}={label}" / f"{name}.parquet"


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


def read_parts(folder: Path) -> list[Part]:
    """Return all parts of a store; raise an error for damaged files and files of other programs."""
    parts = [Part.read(path) for path in parquet_files(folder)]
    parent = folder.absolute().parent
    for part in parts:
        key = part.options.partition_by
        expected = part_path(folder, part.source, key, part.value)
        if part.path != expected:
            if part.path.absolute() == part_path(parent, part.source, key, part.value):
                problem = f"the folder is one {key} of a store"
                hint = f"Did you mean --store {folder.parent if folder.name else parent}?"
                raise StorageError.compose(folder, problem, hint)
            hint = f"Delete this file, or rename it to {str(expected.relative_to(folder))!r}."
            raise StorageError.compose(part.path, "the part was copied or renamed", hint)
        if part.options != parts[0].options:
            problem = f"the part has other options than {str(parts[0].path)!r}"
            raise StorageError.compose(part.path, problem, "Keep only parts of one store.")
    return parts


def is_complete(parts: Sequence[Part]) -> bool:
    """Return whether the parts of a log are all of the same version of the log."""
    if not parts:
        return False
    versions = {(part.digest, part.values) for part in parts}
    return len(versions) == 1 and {part.value for part in parts} == set(parts[0].values)


def read_part(part: Part) -> pl.DataFrame:
    """Return the rows of a part."""
    try:
        return read(part.path)
    except StorageError as error:
        raise damaged_part(part.path, error) from error


def scan_parts(parts: Sequence[Part]) -> pl.LazyFrame:
    """Return the rows of parts as one table, after a check of their checksums."""

    def check(path: Path) -> None:
        try:
            check_file(path)
        except StorageError as error:
            raise damaged_part(path, error) from error

    return scan_files([part.path for part in parts], check)
