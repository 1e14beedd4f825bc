"""Add new and changed logs to a store of compressed predictions."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b, file_digest
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING

import polars as pl

from rocframe.compression.cells import COUNT, LABEL, WEIGHT
from rocframe.compression.compress import compress
from rocframe.errors import ColumnTypeError, LogError, OptionValueError, RocframeError
from rocframe.frames import column
from rocframe.inputs.cases import scores_as_floats
from rocframe.inputs.roles import check_positive, positive_literal
from rocframe.inputs.score_cells import SCORE_WIDTH
from rocframe.io.files import error_reason
from rocframe.io.logs import unreadable_logs
from rocframe.io.store import Part, is_complete, part_path, read_part, read_parts
from rocframe.io.tables import read_file_schema, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rocframe.io.logs import Logs
    from rocframe.io.store import StoreOptions


MAX_FOLDERS = 1000  # a log with more distinct values of the partition column raises an error
# If a file changes twice within the resolution of its file system, its time remains the same.
# Therefore the time of a file is not stored until it is older than this number of nanoseconds.
TIME_RESOLUTION = 2_000_000_000


@dataclass(slots=True, kw_only=True)
class StoreUpdate:
    """The logs that `update_store` added, replaced, moved, left unchanged or skipped.

    `skipped` contains the reasons. `gone` are logs of the store that no longer exist, and
    `incomplete` those of them that an interrupted run did not add or replace completely.
    `without_positives` are added or replaced logs without a positive row, and `without_rows` those
    without a row that has a label and a score. `columns` are the columns of added, replaced and
    moved logs that the store does not use.
    """

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    without_positives: list[str] = field(default_factory=list)
    without_rows: list[str] = field(default_factory=list)
    columns: set[str] = field(default_factory=set)


def update_store(
    folder: Path,
    parts: Sequence[Part],
    files: Sequence[str],
    reader: LogReader,
    *,
    skip_unreadable: bool = False,
    on_file: Callable[[str, int, int], None] = lambda *_: None,
) -> StoreUpdate:
    """Add the logs `files` to a store, replace the parts of changed logs, and keep all others.

    `parts` are the parts of the store. A log is unchanged if its size and its time of modification
    are unchanged, or else its content. Each part is replaced when the new part is complete. If the
    process is killed between two parts of a log, the metadata of the parts show that the log is
    incomplete, and the next run reads the log again. `on_file` is called with the name of a step,
    the number of a file and the number of all files.
    """
    run = _UpdateRun(folder, parts, reader, skip_unreadable=skip_unreadable)
    opened: dict[str, Logs] = {}
    unreadable: dict[str, LogError] = {}
    for number, file in enumerate(files):
        on_file("Opening file", number, len(files))
        if run.is_unchanged(file):
            run.update.unchanged.append(file)
            continue
        try:
            opened[file] = reader.open(file)
        except LogError as error:
            unreadable[file] = error
    if unreadable and not skip_unreadable:
        raise unreadable_logs(unreadable)
    run.update.skipped |= {file: error.problem for file, error in unreadable.items()}
    for logs in opened.values():
        reader.check_columns(logs)
    for number, (file, logs) in enumerate(opened.items()):
        on_file("Adding log", number, len(opened))
        run.update.columns |= logs.columns - {*reader.columns}
        with run.skip_if_unreadable(file):
            run.add(file, logs)
    run.add_logs_without_positives()
    run.find_logs_that_are_gone(files)
    return run.update


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReader:
    """How logs are opened and compressed for a store.

    `open` opens a log, `columns` maps the columns to read to their options, and `positive` returns
    the positive class for the dtype of the labels.
    """

    options: StoreOptions
    open: Callable[[str], Logs]
    columns: dict[str, str]
    positive: Callable[[pl.DataType], object]

    def check_columns(self, logs: Logs) -> None:
        """Raise an error if a column is missing in a log, unless the log has no predictions."""
        dtypes = logs.groups[0].schema
        if all(dtypes.get(name) != pl.Null for name in (self.options.label, *self.options.score)):
            logs.scan(self.columns)

    def compress(self, logs: Logs, *, needs_positives: bool = False) -> pl.DataFrame:
        """Return the compressed predictions of a log.

        With `needs_positives`, an error is raised if the positive class does not occur.
        """
        columns = dict(self.columns)
        if self.options.count is not None and logs.has_column(SCORE_WIDTH):
            columns[SCORE_WIDTH] = "--count"
        try:
            rows, _ = logs.read(columns, query=lambda rows: self._compress(rows, needs_positives))
        except LogError:
            raise
        except RocframeError as error:
            raise type(error)(f"{logs.files[0]}: {error}") from error
        return rows.with_columns(
            *(scores_as_floats(rows[name], name) for name in self.options.scores),
            *(pl.col(name).cast(pl.Float64) for name in [WEIGHT] if self.options.weight),
        )

    def _compress(self, rows: pl.LazyFrame, needs_positives: bool) -> pl.LazyFrame:
        options, schema = self.options, rows.collect_schema()
        dtype = schema[options.label]
        positive = self.positive(dtype)
        label: str | pl.Expr = options.label
        if positive is not None and dtype != pl.Boolean and not needs_positives:
            # `compress` raises an error if the positive class does not occur.
            value = check_positive(positive, options.label, dtype)
            values = column(options.label)
            values = values.fill_nan(None) if dtype.is_float() else values
            label = (values == positive_literal(value, dtype)).alias(options.label)
            positive = None
        return compress(
            rows.with_columns(_key_values(name, schema[name], options) for name in options.keys),
            label,
            options.score if len(options.score) > 1 else options.score[0],
            by=options.keys or None,
            positive=positive,
            weight=options.weight,
            count=options.count,
            resolution=options.resolution,
            relative=options.relative,
            max_envelope=options.max_envelope,
        )


def _key_values(name: str, dtype: pl.DataType, options: StoreOptions) -> pl.Expr:
    """Return the values of a group column in the dtype of the store.

    The dtype does not depend on the categories of a log or on the size of its integers. The
    partition column of a log with times is their date.
    """
    values = column(name)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        dtype = pl.String()
        values = values.cast(dtype)
    elif dtype.is_integer() and dtype not in {pl.Int64, pl.UInt64, pl.Int128, pl.UInt128}:
        values = values.cast(pl.Int64)
    elif dtype.is_float():
        values = values.cast(pl.Float64)
    if name != options.partition_by:
        return values
    if dtype == pl.Datetime:
        return values.dt.date()
    if not (dtype.is_integer() or dtype in {pl.Date, pl.String, pl.Boolean, pl.Null}):
        hint = "Pass a column of dates, times, text or integers."
        raise ColumnTypeError.compose("partition_by", name, dtype, hint)
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A log as it was before it was read: its name, absolute path, size, time and content hash.

    `modified` is the time that is stored in the parts.
    """

    file: str
    source: str
    size: int
    time: int
    modified: int | None
    digest: str

    @classmethod
    def read(cls, file: str) -> LogFile:
        """Return the properties of a log; its content is read for the hash."""
        try:
            now, status = time_ns(), Path(file).stat()
            with Path(file).open("rb") as content:
                digest = file_digest(content, lambda: blake2b(digest_size=16)).hexdigest()
        except OSError as error:
            problem = f"the file cannot be read: {error_reason(error)}"
            raise LogError.compose(file, problem, "Check the file.") from error
        is_recent = abs(now - status.st_mtime_ns) < TIME_RESOLUTION
        return cls(
            file=file,
            source=absolute_path(file),
            size=status.st_size,
            time=status.st_mtime_ns,
            modified=None if is_recent else status.st_mtime_ns,
            digest=digest,
        )

    def check_unchanged(self) -> None:
        """Raise an error if the file has changed since it was read for the hash."""
        if _size_and_time(self.file) != (self.size, self.time):
            hint = "Run the command again when the file is complete."
            raise LogError.compose(self.file, "the file changed during the read", hint)


def absolute_path(file: str) -> str:
    """Return the absolute path of a log, without symbolic links."""
    return os.path.realpath(file)


def _size_and_time(file: str) -> tuple[int, int] | None:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


class _UpdateRun:
    """The steps of `update_store`, and the parts of each log of the store."""

    def __init__(
        self, folder: Path, parts: Sequence[Part], reader: LogReader, *, skip_unreadable: bool
    ) -> None:
        self.update = StoreUpdate()
        self._folder = folder
        self._reader = reader
        self._options = reader.options
        self._skip_unreadable = skip_unreadable
        self._sources = _parts_by_source(parts)
        # A part and its columns, which all later parts must have.
        self._example: tuple[Path, Mapping[str, pl.DataType]] | None = None
        if parts:
            self._example = parts[0].path, read_file_schema(parts[0].path)
        self._without_positives: list[tuple[LogFile, Logs, pl.DataFrame]] = []

    @contextmanager
    def skip_if_unreadable(self, file: str) -> Iterator[None]:
        """Run a `with` block; if the log cannot be read, add the reason to the skipped logs."""
        try:
            yield
        except LogError as error:
            if not self._skip_unreadable:
                raise
            self.update.skipped[file] = error.problem

    def is_unchanged(self, file: str) -> bool:
        """Return whether the size and the time of a log are those in the store."""
        parts = self._sources.get(absolute_path(file), [])
        if not is_complete(parts) or parts[0].modified is None:
            return False
        return _size_and_time(file) == (parts[0].size, parts[0].modified)

    def add(self, file: str, logs: Logs) -> None:
        """Add a log to the store, or replace its parts if its content has changed."""
        log = LogFile.read(file)
        known = self._sources.get(log.source, [])
        if is_complete(known) and known[0].digest == log.digest:
            self._copy(known, log, moved_from=known[0].moved_from)
            self.update.unchanged.append(file)
        elif earlier := self._parts_of_moved_log(log):
            self._copy(earlier, log, moved_from=earlier[0].source)
            del self._sources[earlier[0].source]
            self.update.moved.append(file)
        else:
            table = self._reader.compress(logs)
            log.check_unchanged()
            if self._options.positive is not None and not table[LABEL].any():
                self._without_positives.append((log, logs, table))
            else:
                self._write(table, log)

    def add_logs_without_positives(self) -> None:
        """Add the logs without positives, which are an error if all logs have no positives."""
        if self._example is None:
            for _, logs, _ in self._without_positives:
                self._reader.compress(logs, needs_positives=True)
        for log, _, table in self._without_positives:
            self._write(table, log)
            if log.file not in self.update.without_rows:
                self.update.without_positives.append(log.file)

    def find_logs_that_are_gone(self, files: Sequence[str]) -> None:
        """Find the logs of the store that no longer exist.

        Parts that an interrupted run has already copied for a moved log are removed.
        """
        listed = set(map(absolute_path, files))
        sources = _parts_by_source(read_parts(self._folder))
        for source, parts in sources.items():
            if source in listed or Path(source).exists():
                continue
            if any(
                others[0].moved_from == source
                and others[0].digest == parts[0].digest
                and is_complete(others)
                for others in sources.values()
            ):
                _remove(parts, ())  # an earlier run was killed before it removed these parts
                continue
            self.update.gone.append(source)
            self.update.incomplete += [] if is_complete(parts) else [source]

    def _parts_of_moved_log(self, log: LogFile) -> list[Part]:
        """Return the parts of a log with the same content that no longer exists; empty if none."""
        for source, parts in self._sources.items():
            if (
                is_complete(parts)
                and parts[0].digest == log.digest
                and _hive_folders(source) == _hive_folders(log.source)
                and not Path(source).exists()
            ):
                return parts
        return []

    def _copy(self, parts: Sequence[Part], log: LogFile, *, moved_from: str | None) -> None:
        """Write copies of the parts of a log with the same content, with its new properties."""
        tables = [(part.value, read_part(part)) for part in parts]
        log.check_unchanged()
        self._publish(tables, log, moved_from=moved_from)
        _remove([part for part in parts if part.source != log.source], ())

    def _write(self, table: pl.DataFrame, log: LogFile) -> None:
        """Write the parts of a log: one for each value of the partition column."""
        table = self._with_store_dtypes(table, log.file)
        has_score = pl.any_horizontal(column(name).is_not_null() for name in self._options.scores)
        if not table.select(
            (column(LABEL).is_not_null() & has_score & (column(COUNT) > 0)).any()
        ).item():
            self.update.without_rows.append(log.file)
        known, key = self._sources.get(log.source), self._options.partition_by
        tables: list[tuple[str | None, pl.DataFrame]] = [(None, table)]
        if key is not None and table.height:
            frames = table.partition_by([key], maintain_order=True)
            texts = [frame[key].head(1).cast(pl.String).item() for frame in frames]
            tables = list(zip(texts, frames, strict=True))
        if len(tables) > MAX_FOLDERS:
            raise OptionValueError(
                f"--partition-by {key}: {log.file} has {len(tables):,} different values, and each "
                "value becomes a folder.\n"
                f"Pass a column with at most {MAX_FOLDERS:,} values in each log, such as a date."
            )
        self._publish(tables, log)
        (self.update.replaced if known else self.update.added).append(log.file)

    def _with_store_dtypes(self, table: pl.DataFrame, file: str) -> pl.DataFrame:
        """Return a table with the dtypes of the parts of the store, or raise an error."""
        if self._example is None:
            nulls = [name for name, dtype in table.schema.items() if dtype == pl.Null]
            return table.with_columns(column(name).cast(pl.String) for name in nulls)
        path, schema = self._example
        for name, dtype in schema.items():
            actual = table[name].dtype
            if actual != dtype and table[name].null_count() == table.height:
                table = table.with_columns(pl.lit(None, dtype).alias(name))
            elif actual != dtype:
                raise ColumnTypeError(
                    f"{file}: column {name!r} has type {actual}, but type {dtype} in the store, "
                    f"such as in {str(path)!r}.\n"
                    "Cast the column in the log, or pass another folder as --store."
                )
        return table

    def _publish(
        self,
        tables: Sequence[tuple[str | None, pl.DataFrame]],
        log: LogFile,
        *,
        moved_from: str | None = None,
    ) -> None:
        """Write the parts of a log, then remove earlier parts of the log with other values."""
        paths = []
        for value, table in tables:
            path = part_path(self._folder, log.source, self._options.partition_by, value)
            part = Part(
                path=path,
                source=log.source,
                size=log.size,
                modified=log.modified,
                digest=log.digest,
                values=tuple(value for value, _ in tables),
                value=value,
                moved_from=moved_from,
                options=self._options,
            )
            path.parent.mkdir(exist_ok=True)
            write(table, path, about=part.metadata())
            paths.append(path)
        if self._example is None:
            self._example = paths[0], tables[0][1].schema
        _remove(self._sources.get(log.source, ()), paths)


def _parts_by_source(parts: Sequence[Part]) -> dict[str, list[Part]]:
    sources: dict[str, list[Part]] = {}
    for part in parts:
        sources.setdefault(part.source, []).append(part)
    return sources


def _hive_folders(path: str) -> list[str]:
    return [name for name in Path(path).parts[:-1] if "=" in name]


def _remove(parts: Sequence[Part], kept: Sequence[Path]) -> None:
    """Remove the files of parts except `kept`, and folders that become empty."""
    for part in parts:
        if part.path not in kept:
            part.path.unlink(missing_ok=True)
            if part.options.partition_by is not None:
                with suppress(OSError):  # the folder contains other parts
                    part.path.parent.rmdir()
