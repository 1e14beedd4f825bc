"""Find the files of logs of predictions, check them, and read them as one table."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from glob import glob, has_magic
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar
from urllib.parse import quote

import polars as pl

from rocframe.compression import SCORE_COLUMN, Rounding
from rocframe.errors import LogError, OptionValueError, RocframeError, StorageError
from rocframe.frames import collect_batches, collect_frame, column
from rocframe.inputs.roles import SCORE_WIDTH
from rocframe.io.files import (
    EMPTY_FILE,
    FILE_FORMATS,
    HIDDEN_PREFIXES,
    READ_ERRORS,
    FileFormat,
    access_error,
    content_problem,
    error_reason,
    exclusive_lock,
    is_temporary,
    listing_problem,
    local_path,
    raise_unlisted,
    real_path,
    remove_stale_files,
    scan_file,
    visible_files,
    write_text,
)
from rocframe.options import parse_fraction
from rocframe.text import format_count, format_list, format_name, join_first

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

LogFormat: TypeAlias = FileFormat | Literal["CSV"]
LOG_FORMATS: dict[str, LogFormat] = {**FILE_FORMATS, ".csv": "CSV"}


def find_logs(sources: Sequence[str], *, exclude: Collection[Path] = ()) -> list[str]:
    """Return the sorted log files of all `sources`, which are names of files, globs and folders.

    Folders that cannot be listed are also in the result; `open_logs` raises an error for them. A
    file with several names is listed once, by the name with the fewest symbolic links.
    """
    excluded = {*map(real_path, exclude)}
    files: dict[Path, str] = {}
    for source in sources:
        for file in _expand(source):
            path = real_path(file)
            if path in files:
                files[path] = min(files[path], file, key=_link_count)
            elif excluded.isdisjoint([path, *path.parents]):
                files[path] = file
    if not files:
        raise LogError.compose(format_list(sources), "no logs found", "Pass files or folders.")
    return sorted(files.values())


def _link_count(file: str) -> int:
    """Return how many parts of the name of a file are symbolic links."""
    return sum(map(os.path.islink, (Path(file), *Path(file).parents)))


def _expand(source: str) -> Iterator[str]:
    """Yield the files of a file name, a folder or a glob; raise an error if there are none."""
    path = str(local_path(source, check_access=False))
    searched = f"The current folder is {str(Path.cwd())!r}."
    if access_error(path):
        yield path
    elif Path(path).is_dir():
        files = list(_logs_in_folder(path))
        if not files:
            hint = f"Logs have one of these suffixes: {format_list(LOG_FORMATS)}."
            raise LogError.compose(source, "the folder contains no logs", hint)
        yield from files
    elif Path(path).exists():
        yield path
    elif not has_magic(path):
        raise LogError.compose(source, "the file or folder does not exist", searched)
    else:
        # Path.glob rejects absolute patterns.
        matches = sorted(glob(path, recursive=True))  # noqa: PTH207
        unlisted = list(_unlisted_folders(Path(path)))
        if not (matches or unlisted):
            raise LogError.compose(source, "no file matches", searched)
        yield from unlisted
        for match in matches:
            is_folder = not access_error(match) and Path(match).is_dir()
            yield from _logs_in_folder(match) if is_folder else [match]


def _logs_in_folder(folder: str) -> Iterator[str]:
    """Yield the logs in a folder and its subfolders, and the folders that cannot be listed."""
    errors: list[OSError] = []
    for path in data_files(folder, errors.append):
        if path.suffix.lower() in LOG_FORMATS:
            yield str(path)
    yield from (error.filename for error in errors)


def _unlisted_folders(pattern: Path) -> Iterator[str]:
    """Yield the folders that a glob searches, but that cannot be listed or accessed."""
    for path in (pattern, *pattern.parents):
        if has_magic(str(path)):
            for folder in glob(str(path.parent), recursive=True):  # noqa: PTH207
                searched = folder if has_magic(path.name) else str(Path(folder, path.name))
                if access_error(searched):
                    yield searched


def open_logs(
    files: Sequence[str],
    *,
    skip_unreadable: bool = False,
    on_file: Callable[[int], None] = lambda _: None,
) -> Logs:
    """Return the checked logs in `files`; `on_file` is called with the number of each file."""
    groups: dict[tuple[object, ...], LogGroup] = {}
    unreadable: dict[str, LogError] = {}
    for number, file in enumerate(files):
        on_file(number)
        try:
            group = _open_file(file)
        except LogError as error:
            unreadable[file] = error
            continue
        others = groups[group.layout].files if group.layout in groups else ()
        groups[group.layout] = replace(group, files=(*others, file))
    if unreadable and not skip_unreadable:
        raise unreadable_logs(unreadable)
    skipped = {file: error.problem for file, error in unreadable.items()}
    return _checked_logs(tuple(groups.values()), skipped)


def unreadable_logs(errors: Mapping[str, LogError]) -> LogError:
    """Return the error of the first of several logs, with the names of the others."""
    (file, error), *others = errors.items()
    if not others:
        return error
    names = join_first([format_name(name) for name, _ in others], 5)
    problem = f"{error.problem}; these files cannot be read either: {names}"
    return LogError.compose(file, problem, error.hint)


def _open_file(file: str) -> LogGroup:
    """Return a file with its format and schema; raise an error if the file cannot be read."""
    if error := access_error(file):
        if os.path.isdir(file):  # noqa: PTH112 - Path.is_dir raises PermissionError
            hint = "Make the folder readable, or skip it with --skip-unreadable."
            raise LogError.compose(file, listing_problem(error), hint) from error
        raise _unreadable_log(file, _read_problem(error)) from error
    log_format = LOG_FORMATS.get(Path(file).suffix.lower())
    if log_format is None:
        raise LogError.compose(
            file, f"unknown suffix {Path(file).suffix!r}", f"Supported: {format_list(LOG_FORMATS)}."
        )
    try:
        file.encode()  # polars cannot read files whose names have invalid bytes
        if log_format == "CSV":
            problem = None if Path(file).stat().st_size else EMPTY_FILE
        else:
            problem = content_problem(Path(file), log_format)
        if problem is None:
            # polars determines the columns of folders named key=value by the same rule.
            keys = (part.split("=", 1)[0] for part in Path(file).parts[:-1] if "=" in part)
            schema = _read_schema(file, log_format)
            return LogGroup(format=log_format, schema=schema, hive_keys=tuple(keys), files=(file,))
    except (*READ_ERRORS, UnicodeEncodeError) as error:
        problem = _read_problem(error)
    raise _unreadable_log(file, problem)


def _read_schema(file: str, log_format: LogFormat) -> Mapping[str, pl.DataType]:
    if log_format != "CSV":
        return scan_file(file, log_format).collect_schema()
    log = pl.scan_csv(file, glob=False, infer_schema_length=None)
    return {**log.collect_schema(), **dict.fromkeys(_empty_columns(log), pl.Null())}


def _empty_columns(log: pl.LazyFrame) -> list[str]:
    """Return the columns of a CSV file without values, which polars reads as String."""
    names = [name for name, dtype in log.collect_schema().items() if dtype == pl.String]
    for part in (log.head(1000), log):  # nearly always, the first rows contain values
        if names:
            counts = collect_frame(part.select(column(name).count() for name in names)).row(0)
            names = [name for name, count in zip(names, counts, strict=True) if not count]
    return names


def _checked_logs(groups: Sequence[LogGroup], skipped: Mapping[str, str]) -> Logs:
    """Return the logs, or raise an error if no file can be read."""
    if not groups:
        file, problem = next(iter(skipped.items()))
        n_others = len(skipped) - 1
        others = f"; {format_count(n_others, 'more file')} cannot be read" if n_others else ""
        raise LogError.compose(file, problem + others, "Write or download the files again.")
    return Logs(groups=tuple(groups), skipped=skipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogGroup:
    """Files with the same layout, which one scan reads; keys are those of folders key=value."""

    format: LogFormat
    schema: Mapping[str, pl.DataType]
    hive_keys: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def layout(self) -> tuple[object, ...]:
        """The format, the columns and the Hive keys; polars reads CSV columns by position."""
        columns = self.schema.items()
        ordered = tuple(columns) if self.format == "CSV" else frozenset(columns)
        return (self.format, ordered, self.hive_keys)

    def scan(self, columns: Iterable[str], text: Collection[str] = ()) -> pl.LazyFrame:
        """Return a LazyFrame with columns of folders key=value; keys in `text` are strings."""
        files = list(self.files)
        if self.format == "CSV":
            log = pl.scan_csv(files, glob=False, infer_schema_length=None)
            empty = [name for name, dtype in self.schema.items() if dtype == pl.Null]
            return log.with_columns(pl.lit(None).alias(name) for name in empty)
        hive = bool(self.hive_keys) and any(name not in self.schema for name in columns)
        repeated = [name for name in self.hive_keys if self.hive_keys.count(name) > 1]
        if hive and repeated:
            problem = f"two folders in the path of this file have the key {repeated[0]!r}"
            raise LogError.compose(files[0], problem, "Rename one of the folders.")
        scan = pl.scan_parquet if self.format == "Parquet" else pl.scan_ipc
        dtypes = {name: pl.String() for name in self.hive_keys if name in text}
        return scan(files, glob=False, hive_partitioning=hive, hive_schema=dtypes or None)

    def has_key(self, name: str) -> bool:
        """Return whether the values of a column are in the names of folders."""
        return name in self.hive_keys and name not in self.schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """The logs that can be read, and the files that were skipped, with the reasons."""

    groups: tuple[LogGroup, ...]
    skipped: Mapping[str, str]

    @property
    def files(self) -> list[str]:
        """The files that are read."""
        return sorted(file for group in self.groups for file in group.files)

    @property
    def columns(self) -> set[str]:
        """The columns of all files, including those from the names of folders."""
        return {name for group in self.groups for name in (*group.schema, *group.hive_keys)}

    def has_column(self, name: str) -> bool:
        """Return whether at least one file contains a column of this name."""
        return any(name in group.schema for group in self.groups)

    def scan(
        self, columns: Mapping[str, str], null_dtypes: Mapping[str, pl.DataType] | None = None
    ) -> pl.LazyFrame:
        """Return `columns`, each with its option, of all files; scores without a width get 0.

        Labels and scores without values are an error, unless `null_dtypes` has their option.
        """
        plans = [group.scan(columns) for group in self.groups]
        if text := self._text_keys(columns, [plan.collect_schema() for plan in plans]):
            plans = [group.scan(columns, text) for group in self.groups]
        if SCORE_WIDTH in columns and self.has_column(SCORE_WIDTH):
            plans = [
                plan
                if SCORE_WIDTH in plan.collect_schema()
                else plan.with_columns(pl.lit(0.0).alias(SCORE_WIDTH))
                for plan in plans
            ]
        schemas = []
        for group, plan in zip(self.groups, plans, strict=True):
            schema = plan.collect_schema()
            for name, option in columns.items():
                if name not in schema:
                    raise _missing_column(group, name, option, schema)
            schemas.append((group.files[0], schema))
        dtypes = {
            name: common_dtype(name, option, [(file, schema[name]) for file, schema in schemas])
            for name, option in columns.items()
        }
        for name, option in columns.items():
            if dtypes[name] == pl.Null():
                dtypes[name] = (null_dtypes or {}).get(option, pl.Null())
            if option in {"--label", "--score"} and dtypes[name] == pl.Null():
                hint = "Pass files with at least one prediction."
                raise LogError.compose(
                    self.groups[0].files[0], f"column {name!r} for {option} has no values", hint
                )
        return pl.concat(
            plan.select(column(name).cast(dtype) for name, dtype in dtypes.items())
            for plan in plans
        )

    def _text_keys(self, columns: Iterable[str], schemas: Sequence[pl.Schema]) -> list[str]:
        """Return the keys of folders that are strings because polars infers different dtypes."""
        text = []
        for name in columns:
            dtypes = {schema.get(name, pl.Null()) for schema in schemas} - {pl.Null()}
            in_files = {group.schema[name] for group in self.groups if name in group.schema}
            from_folders = any(group.has_key(name) for group in self.groups)
            if from_folders and len(dtypes) > 1 and in_files <= {pl.String(), pl.Null()}:
                text.append(name)
        return text

    def read(
        self,
        columns: Mapping[str, str],
        *,
        skip_unreadable: bool = False,
        null_dtypes: Mapping[str, pl.DataType] | None = None,
        query: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda rows: rows,
        on_rows: Callable[[int], None] = lambda _: None,
    ) -> tuple[pl.DataFrame, Logs]:
        """Return the rows of all readable files, and the logs without files that cannot be read.

        The `query` runs during the scan, and `on_rows` gets the number of its rows so far. After an
        error, each file is read to find damaged files.
        """
        try:
            return collect_batches(query(self.scan(columns, null_dtypes)), on_rows), self
        except RocframeError:
            raise
        except READ_ERRORS as error:
            damaged = self._damaged_files(columns)
            if not damaged:
                hint = "Run the command again, or pass one file at a time to find the damaged file."
                raise LogError.compose(
                    format_list(self.files), _read_problem(error), hint
                ) from error
            if not skip_unreadable:
                errors = {file: _unreadable_log(file, why) for file, why in damaged.items()}
                raise unreadable_logs(errors) from error
        groups = [
            replace(group, files=tuple(file for file in group.files if file not in damaged))
            for group in self.groups
        ]
        logs = _checked_logs(
            [group for group in groups if group.files], {**self.skipped, **damaged}
        )
        return logs.read(columns, skip_unreadable=skip_unreadable, query=query, on_rows=on_rows)

    def count_rows(self) -> int | None:
        """Return the number of rows in the metadata of the files; None for CSV and unreadable."""
        if any(group.format == "CSV" for group in self.groups):
            return None
        counts = [group.scan(()).select(pl.len()) for group in self.groups]
        with suppress(*READ_ERRORS):
            return int(collect_frame(pl.concat(counts).sum()).item())
        return None

    def _damaged_files(self, columns: Mapping[str, str]) -> dict[str, str]:
        """Read each file separately, and return the files that fail, with the reasons."""
        damaged = {}
        for group in self.groups:
            for file in group.files:
                plan = replace(group, files=(file,)).scan(columns)
                try:
                    collect_frame(plan.select(column(name) for name in columns))
                    schema = _read_schema(file, group.format)
                except READ_ERRORS as error:
                    damaged[file] = _read_problem(error)
                else:
                    if replace(group, schema=schema).layout != group.layout:
                        damaged[file] = "its columns changed during the read"
        return damaged


def _read_problem(error: BaseException) -> str:
    return f"the file cannot be read: {error_reason(error)}"


def _unreadable_log(file: str, problem: str) -> LogError:
    hint = "Write or download the file again, or skip unreadable files with --skip-unreadable."
    return LogError.compose(file, problem, hint)


def _missing_column(group: LogGroup, name: str, option: str, schema: Iterable[str]) -> LogError:
    """Return the error for a column that an option names, but that files do not contain."""
    available = list(schema)
    guess = get_close_matches(name, available, n=1)
    names = name.split(",")
    hint = f"Columns: {format_list(available, most=30) or 'none'}."
    if option in {"--by", "--id", "--score"} and len(names) > 1 and {*names}.issubset(available):
        repeated = " ".join(f"{option} {name}" for name in names)
        hint += f"\nRepeat the option for several columns: {repeated}."
    elif group.has_key(name):
        hint += (
            "\nNames of folders, such as day=1, become columns only for Parquet and Arrow files."
        )
    elif guess:
        hint += f"\nDid you mean {option} {guess[0]}?"
    return LogError.compose(group.files[0], f"the file has no column {name!r} for {option}", hint)


FLOAT_DTYPES = (pl.Float16(), pl.Float32(), pl.Float64())

INTEGER_DTYPES = tuple(
    dtype() for dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
)


# Values of these columns are compared between rows of different files.
COMPARED_OPTIONS = {"--score", "--by", "--id", "--partition-by"}

MAX_ENUM_CATEGORIES = 20  # maximum number of categories in an error message


def common_dtype(name: str, option: str, dtypes: Sequence[tuple[str, pl.DataType]]) -> pl.DataType:
    """Return a dtype that can represent the values of a column in all files exactly.

    Floats of different precisions raise an error if values are compared between files, because
    equal values, such as 0.7, differ after they are stored with different precisions.
    """
    floats = {dtype: file for file, dtype in reversed(dtypes) if dtype.is_float()}
    if option in COMPARED_OPTIONS and len(floats) > 1:
        raise _different_precisions(name, floats)
    (first, common), *others = dtypes
    for file, dtype in others:
        wider = _wider_dtype(common, dtype, small_integers=option == "--label")
        if wider is None:
            raise LogError.compose(
                file,
                f"column {name!r} has type {_dtype_text(dtype)}, but in {format_name(first)} it "
                f"has type {_dtype_text(common)}",
                "Cast the column to the same type in all files.",
            )
        if wider != common:
            first, common = file, wider
    return common


def _different_precisions(name: str, floats: Mapping[pl.DataType, str]) -> LogError:
    """Return the error for floats of different precisions; `floats` has a file of each dtype."""
    narrowest, *_, widest = sorted(floats, key=FLOAT_DTYPES.index)
    file = floats[widest]
    hint = f"Equal values, such as 0.7, differ between these types. Cast the column to {narrowest}"
    if LOG_FORMATS.get(Path(file).suffix.lower()) == "CSV":
        hint += ", and write CSV files, which are read as Float64, as Parquet files."
    else:
        hint += " in all files."
    other = format_name(floats[narrowest])
    problem = f"column {name!r} has type {widest}, but in {other} it has type {narrowest}"
    return LogError.compose(file, problem, hint)


def _dtype_text(dtype: pl.DataType) -> str:
    """Return a dtype as text, without the categories of an Enum if there are many."""
    if isinstance(dtype, pl.Enum) and len(dtype.categories) > MAX_ENUM_CATEGORIES:
        return f"Enum with {len(dtype.categories):,} categories"
    return str(dtype)


def _wider_dtype(a: pl.DataType, b: pl.DataType, *, small_integers: bool) -> pl.DataType | None:
    """Return a dtype for the values of both, or None; `small_integers` are below 2**53."""
    pair = {a, b} - {pl.Null()}
    if len(pair) < 2:
        return min(pair, default=a, key=str)
    if pair <= set(FLOAT_DTYPES):
        return max(pair, key=FLOAT_DTYPES.index)
    if pair <= set(INTEGER_DTYPES):
        return pl.Int64()
    # pandas stores integers as floats if values are missing. Float64 cannot represent all 64-bit
    # integers.
    if pair <= {*FLOAT_DTYPES, *INTEGER_DTYPES} and (small_integers or pl.Int64() not in pair):
        return pl.Float64()
    if pair <= {pl.String(), pl.Categorical()}:
        return pl.String()
    return None


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
    """The options that all parts of a store have in common; those that are not given are None."""

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

    def check_match(self, stored: StoreOptions, folder: Path, keys: Mapping[str, str]) -> None:
        """Raise an error if a given option differs from that of a store.

        `keys` are the group columns to read, with their options, such as "--by".
        """
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
        for name, option in keys.items():
            if name not in stored.keys:
                columns = " ".join(f"--by {key}" for key in stored.keys) or "no --by"
                raise _other_option(folder, f"{option} {name}", columns)

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
    """A file of a store: the compressed predictions of one log with one value of the partition."""

    file: str
    value: str | None
    size: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLog:
    """A log whose compressed predictions are in a store, with a part per value of the partition.

    `modified` is in nanoseconds, or None if it was too recent; `digest` is the hash of the content.
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
    changes, so readers need no lock: they read one state, or find that a part no longer exists.
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
        """Remove parts of earlier states and killed updates, and the manifest of an empty store."""
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
    """Yield the visible files of a folder, or the parts that a store lists; see `visible_files`."""
    return visible_files(folder, on_error, stored_files)


def parquet_files(folder: Path) -> list[Path]:
    """Return the sorted Parquet files in a folder and its subfolders, as `data_files`."""
    return sorted(
        path for path in data_files(folder) if FILE_FORMATS.get(path.suffix.lower()) == "Parquet"
    )


def read_current(read: Callable[[], FilesT], query: Callable[[FilesT], QueryT]) -> QueryT:
    """Return a query of the state from `read`; repeat it if an update has removed its files."""
    state = read()
    while True:
        try:
            return query(state)
        except (StorageError, *READ_ERRORS):
            failed, state = state, read()
            if state == failed:
                raise
