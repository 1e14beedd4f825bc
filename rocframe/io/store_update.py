"""Add new and changed logs to a store of compressed predictions."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b, file_digest
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING

import polars as pl

from rocframe.compression import COUNT, LABEL, WEIGHT, compress
from rocframe.errors import (
    ColumnTypeError,
    LogError,
    MissingValuesError,
    OptionValueError,
    RocframeError,
)
from rocframe.frames import column
from rocframe.inputs.cases import scores_as_floats
from rocframe.inputs.roles import SCORE_WIDTH, check_positive, positive_literal
from rocframe.io.files import error_reason, flush_to_disk
from rocframe.io.logs import PART_METADATA, Part, Store, StoredLog, new_part_path, unreadable_logs
from rocframe.io.tables import read_part_schema, write
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rocframe.io.logs import Logs, StoreOptions


MAX_FOLDERS = 1000  # a log with more distinct values of the partition column raises an error
# If a file changes twice within the resolution of its file system, its time remains the same.
# Therefore the time of a file is not stored until it is older than this number of nanoseconds.
TIME_RESOLUTION = 2_000_000_000


@dataclass(slots=True, kw_only=True)
class StoreUpdate:
    """The logs that `update_store` added, replaced, moved, left unchanged or skipped.

    `gone` are logs that no longer exist, and `dropped` missing parts that left the manifest. Of new
    logs, some are `without_positives`, `without_rows`, or `repeated`: they have the content of
    another log. `columns` are those that are not used.
    """

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    without_positives: list[str] = field(default_factory=list)
    without_rows: list[str] = field(default_factory=list)
    columns: set[str] = field(default_factory=set)


def update_store(
    store: Store,
    files: Sequence[str],
    reader: LogReader,
    *,
    skip_unreadable: bool = False,
    drop_missing_parts: bool = False,
    on_file: Callable[[str, int, int], None] = lambda *_: None,
) -> StoreUpdate:
    """Add the logs `files` to a store, replace the parts of changed logs, and keep all others.

    A log is unchanged if its size and its time of modification are unchanged, or else its content.
    A log with a missing part is read again. The new parts are written beside the others, and one
    replacement of the manifest publishes all changes: before that, the store is unchanged.
    """
    run = _UpdateRun(store, reader, skip_unreadable=skip_unreadable)
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
    try:
        if not store.logs:
            store.write()  # a folder with parts has a manifest
        for number, (file, logs) in enumerate(opened.items()):
            on_file("Adding log", number, len(opened))
            run.update.columns |= logs.columns - {*reader.columns}
            with run.skip_if_unreadable(file):
                run.add(file, logs)
        run.add_logs_without_positives()
        if drop_missing_parts:
            run.drop_missing_parts()
        run.find_logs_that_are_gone(files)
        run.publish()
    finally:
        # After an interrupt, only the manifest itself shows whether it has been replaced.
        (Store.read(store.folder) or store).remove_unlisted_parts()
    return run.update


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReader:
    """How logs are opened, with `columns` by option, and compressed for a store."""

    options: StoreOptions
    missing: str
    open: Callable[[str], Logs]
    columns: dict[str, str]
    positive: Callable[[pl.DataType], object]

    def check_columns(self, logs: Logs) -> None:
        """Raise an error if a column is missing in a log, unless the log has no predictions."""
        dtypes = logs.groups[0].schema
        if all(dtypes.get(name) != pl.Null for name in (self.options.label, *self.options.score)):
            logs.scan(self.columns)

    def compress(self, logs: Logs, *, needs_positives: bool = False) -> pl.DataFrame:
        """Return the compressed predictions; with `needs_positives`, there must be a positive."""
        columns, null_dtypes = dict(self.columns), {}
        if self.missing != "raise":
            of_label = pl.Boolean() if self.options.positive is None else pl.String()
            null_dtypes = {"--label": of_label, "--score": pl.Float64()}
        if self.options.count is not None and logs.has_column(SCORE_WIDTH):
            columns[SCORE_WIDTH] = "--count"
        try:
            rows, _ = logs.read(
                columns,
                null_dtypes=null_dtypes,
                query=lambda rows: self._compress(rows, needs_positives),
            )
            if not rows.height:
                logs.scan(columns)  # raises an error if no dtypes are known, as of a CSV file
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


def _exists(path: str) -> bool:
    """Return whether a file exists; True if this cannot be determined."""
    try:
        Path(path).stat()
    except OSError as error:
        return not isinstance(error, FileNotFoundError | NotADirectoryError)
    return True


def _key_values(name: str, dtype: pl.DataType, options: StoreOptions) -> pl.Expr:
    """Return a group column in the dtype of the store, in which times of partitions are dates.

    It does not depend on the categories of a log or on the size of its integers.
    """
    values = column(name)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        dtype = pl.String()
        values = values.cast(dtype)
    elif dtype.is_integer() and dtype not in {pl.Int64, pl.UInt64, pl.Int128, pl.UInt128}:
        values = values.cast(pl.Int64)
    elif dtype == pl.Float16:
        values = values.cast(pl.Float32)
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
    """A log before it was read: its name, the time of its last change, and its entry."""

    file: str
    time: int
    entry: StoredLog

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
        time = status.st_mtime_ns
        entry = StoredLog(
            source=absolute_path(file),
            size=status.st_size,
            modified=None if abs(now - time) < TIME_RESOLUTION else time,
            digest=digest,
            parts=(),
        )
        return cls(file=file, time=time, entry=entry)

    def check_unchanged(self) -> None:
        """Raise an error if the file has changed since it was read for the hash."""
        if _size_and_time(self.file) != (self.entry.size, self.time):
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
    """The steps of `update_store`: the published state of the store, and the logs of the next."""

    def __init__(self, store: Store, reader: LogReader, *, skip_unreadable: bool) -> None:
        self.store = store
        self.update = StoreUpdate()
        self._reader = reader
        self._options = reader.options
        self._skip_unreadable = skip_unreadable
        self._logs = {log.source: log for log in store.logs}
        # A part and its columns, which all later parts must have.
        self._example: tuple[str, Mapping[str, pl.DataType]] | None = None
        if (path := store.existing_part()) is not None:
            self._example = str(path), read_part_schema(path)
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
        log = self._logs.get(absolute_path(file))
        if log is None or log.modified is None or not self._is_intact(log):
            return False
        return _size_and_time(file) == (log.size, log.modified)

    def add(self, file: str, logs: Logs) -> None:
        """Add a log to the store, or replace its parts if its content has changed."""
        log = LogFile.read(file)
        entry = log.entry
        known = self._logs.get(entry.source)
        if known is not None and known.digest == entry.digest and self._is_intact(known):
            self._logs[entry.source] = replace(entry, parts=known.parts)
            self.update.unchanged.append(file)
            return
        same = self._logs_with_content(entry)
        if moved := [other for other in same if not _exists(other.source)]:
            del self._logs[moved[0].source]
            self._logs[entry.source] = replace(entry, parts=moved[0].parts)
            self.update.moved.append(file)
        else:
            table = self._reader.compress(logs)
            log.check_unchanged()
            if self._reader.missing == "raise":
                self._check_missing(table, file)
            if same and table.height:
                self.update.repeated.append(file)
            if self._options.positive is not None and not table[LABEL].any():
                self._without_positives.append((log, logs, table))
            else:
                self._write(table, log)

    def _check_missing(self, table: pl.DataFrame, file: str) -> None:
        """Raise an error if labels or scores of a log are missing."""
        for name in (LABEL, *self._options.scores):
            if n := int(table.select(column(COUNT).filter(column(name).is_null()).sum()).item()):
                raise MissingValuesError(
                    f"{file}: the {'label' if name == LABEL else 'score'} is null or NaN in "
                    f"{format_count(n, 'row')}.\n"
                    "Correct the log, or pass --missing drop, which leaves out these rows."
                )

    def add_logs_without_positives(self) -> None:
        """Add the logs without positives, which are an error if all logs have no positives."""
        if self._example is None:
            for _, logs, _ in self._without_positives:
                self._reader.compress(logs, needs_positives=True)
        for log, _, table in self._without_positives:
            self._write(table, log)
            if log.file not in self.update.without_rows:
                self.update.without_positives.append(log.file)

    def drop_missing_parts(self) -> None:
        """Remove missing parts from the logs, and logs of which all parts are missing.

        A log that has lost parts is read again if a later run finds it.
        """
        for log in list(self._logs.values()):
            if missing := [part for part in log.parts if not self.store.is_intact(part)]:
                self.update.dropped += [part.file for part in missing]
                parts = tuple(part for part in log.parts if part not in missing)
                self._logs[log.source] = replace(log, digest="", modified=None, parts=parts)
                if not parts:
                    del self._logs[log.source]

    def find_logs_that_are_gone(self, files: Sequence[str]) -> None:
        """Find the logs of the store that no longer exist."""
        listed = set(map(absolute_path, files))
        self.update.gone = sorted(
            source for source in self._logs if source not in listed and not _exists(source)
        )

    def publish(self) -> None:
        """Replace the manifest, if the logs have changed."""
        logs = tuple(log for _, log in sorted(self._logs.items()))
        if logs != self.store.logs:
            store = replace(self.store, logs=logs)
            store.write()
            self.store = store

    def _is_intact(self, log: StoredLog) -> bool:
        return all(map(self.store.is_intact, log.parts))

    def _logs_with_content(self, log: StoredLog) -> list[StoredLog]:
        """Return the other logs with the same content, also in the names of their folders."""
        return [
            stored
            for source, stored in self._logs.items()
            if stored.digest == log.digest
            and source != log.source
            and _hive_folders(source) == _hive_folders(log.source)
            and self._is_intact(stored)
        ]

    def _write(self, table: pl.DataFrame, log: LogFile) -> None:
        """Write the parts of a log: one for each value of the partition column."""
        table = self._with_store_dtypes(table, log.file)
        has_score = pl.any_horizontal(column(name).is_not_null() for name in self._options.scores)
        if not table.select(
            (column(LABEL).is_not_null() & has_score & (column(COUNT) > 0)).any()
        ).item():
            self.update.without_rows.append(log.file)
        key = self._options.partition_by
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
        source = log.entry.source
        (self.update.replaced if source in self._logs else self.update.added).append(log.file)
        parts = tuple(self._write_part(part, value, source) for value, part in tables)
        self._logs[source] = replace(log.entry, parts=parts)

    def _write_part(self, table: pl.DataFrame, value: str | None, source: str) -> Part:
        """Write a part of a log, which readers ignore until the manifest lists it."""
        folder = self.store.folder
        path = new_part_path(folder, self._options.partition_by, value)
        if not path.parent.is_dir():
            path.parent.mkdir(exist_ok=True)
            flush_to_disk(folder)
        write(table, path, about={PART_METADATA: {"log": source}})
        if self._example is None:
            self._example = source, table.schema
        return Part(
            file=path.relative_to(folder).as_posix(),
            value=value,
            size=path.stat().st_size,
            rows=int(table[COUNT].sum()),
        )

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
                    f"such as in {path!r}.\n"
                    "Cast the column of one of the logs, or use another folder as --store for it."
                )
        return table


def _hive_folders(path: str) -> list[str]:
    return [name for name in Path(path).parts[:-1] if "=" in name]
