"""Find the files of logs of predictions, check them, and read them as one table."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from difflib import get_close_matches
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from rocframe.errors import LogError, RocframeError
from rocframe.frames import collect_frame, column
from rocframe.inputs.score_cells import SCORE_WIDTH
from rocframe.io.files import (
    EMPTY_FILE,
    FILE_FORMATS,
    READ_ERRORS,
    FileFormat,
    access_error,
    content_problem,
    error_reason,
    listing_problem,
    local_path,
    real_path,
    scan_file,
)
from rocframe.io.store import data_files
from rocframe.text import format_count, format_list, format_name, join_first

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence


LogFormat: TypeAlias = FileFormat | Literal["CSV"]
LOG_FORMATS: dict[str, LogFormat] = {**FILE_FORMATS, ".csv": "CSV"}


def find_logs(sources: Sequence[str], *, exclude: Collection[Path] = ()) -> list[str]:
    """Return the sorted log files of all `sources`, which are names of files, globs and folders.

    Folders that cannot be listed are also in the result; `open_logs` raises an error for them.
    `exclude` contains files and folders that are not logs, such as tables that an earlier command
    wrote to the same folder. A file with several names is listed once, by the name with the fewest
    symbolic links.
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
    """Return the logs in `files`, after each file is checked and its schema is read.

    `on_file` is called with the number of each file before the file is opened.
    """
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
            file,
            f"unknown suffix {Path(file).suffix!r}",
            f"Supported: {format_list(LOG_FORMATS)}.",
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
    """Return the columns of a CSV file without values, such as all columns of a file without rows.

    polars reads these columns as String.
    """
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
    """Files with the same layout, which one scan can read.

    Hive keys are the keys in the names of folders such as key=value, which polars adds as columns.
    """

    format: LogFormat
    schema: Mapping[str, pl.DataType]
    hive_keys: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def layout(self) -> tuple[object, ...]:
        """The format, the columns and the hive keys; the order of columns counts in CSV files only.

        polars reads the columns of several CSV files by their positions.
        """
        columns = self.schema.items()
        ordered = tuple(columns) if self.format == "CSV" else frozenset(columns)
        return (self.format, ordered, self.hive_keys)

    def scan(self, columns: Iterable[str], text: Collection[str] = ()) -> pl.LazyFrame:
        """Return a LazyFrame of the files, with the columns of folders named key=value.

        The values of the keys `text` are strings. polars infers the dtypes of the other keys.
        """
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

    def scan(self, columns: Mapping[str, str]) -> pl.LazyFrame:
        """Return columns of all files; `columns` maps each name to its option, such as --by.

        Scores of files without the widths of scores are exact, so that their widths are 0.
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
        """Return the keys in the names of folders that are read as strings.

        polars infers a dtype from the folders of each group, such as Int64 for day=1 in one group
        and String for day=x in another group. If these dtypes differ, or differ from a String
        column of other files, the values in the names of folders are strings.
        """
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
        query: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda rows: rows,
    ) -> tuple[pl.DataFrame, Logs]:
        """Return the rows of all readable files, and the logs without files that cannot be read.

        `query` is applied to the rows while they are read.

        Some damage is detected only when a complete file is read. If an error occurs, each file is
        read separately to find the damaged files.
        """
        try:
            return collect_frame(query(self.scan(columns))), self
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
        return logs.read(columns, skip_unreadable=skip_unreadable, query=query)

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

    `dtypes` contains each file with the dtype of its column. Floats of different precisions raise
    an error if values are compared between files, because equal values, such as 0.7, differ after
    they are stored with different precisions.
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
    """Return a dtype that represents the values of both dtypes; None if there is no such dtype.

    `small_integers` is true if all integers are below 2**53, so that Float64 represents them.
    """
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
