"""Read the predictions of a command, from logs or from the window of a store."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.cli.options import NEW, OLD, parse_value, scores_by_model
from rocframe.compression import COUNT, LABEL, SCORE_COLUMN, WEIGHT, compress
from rocframe.errors import LogError, OptionValueError, RocframeError, StorageError
from rocframe.frames import collect_frame, column
from rocframe.inputs.roles import SCORE_WIDTH
from rocframe.inputs.windows import parse_length
from rocframe.io.files import READ_ERRORS, error_reason, local_path, output_folder
from rocframe.io.logs import (
    Store,
    StoreOptions,
    common_dtype,
    find_logs,
    locked_store,
    open_logs,
    read_current,
)
from rocframe.io.store_update import LogReader, StoreUpdate, update_store
from rocframe.io.tables import read_part_schema, scan_parts
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_count, format_name, join_first

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rocframe.cli.options import LogOptions, ModelOptions
    from rocframe.io.logs import Logs, Part
    from rocframe.reports.evaluation import ReportOptions
    from rocframe.reports.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The predictions of logs or of the window of a store, with the roles of their columns.

    `provenance` is the metadata of a result. `unused_keys` are columns that are usually keys, but
    that no option names. `subject` names the data in a title. For a store, `summary` describes its
    content and changes, and `partition_by` is its partition column.
    """

    predictions: pl.DataFrame
    options: ReportOptions
    provenance: dict[str, Any]
    unused_keys: list[str]
    subject: str
    summary: str | None = None
    warnings: Sequence[str] = ()
    partition_by: str | None = None

    @property
    def skipped(self) -> dict[str, str]:
        """The skipped logs with the reasons."""
        skipped: dict[str, str] = self.provenance["files_skipped"]
        return skipped


def read_inputs(
    sources: Sequence[str],
    options: LogOptions,
    progress: Progress,
    *,
    exclude: Sequence[Path] = (),
    categorical_keys: bool = False,
) -> Inputs:
    """Return the predictions of logs, or of the window of a store after its update.

    `exclude` are files that the command writes, which are no logs. With `categorical_keys`, group
    columns of strings in logs are Categorical; see `ReportOptions.text_keys`.
    """
    if options.store is not None:
        return _read_store(sources, options, options.store, exclude, progress)
    columns = options.required_columns()
    progress.step("Finding the logs")
    files = find_logs(sources, exclude=exclude)
    logs = open_logs(
        files,
        skip_unreadable=options.skip_unreadable,
        on_file=lambda number: progress.count("Opening file", number, len(files)),
    )
    options.check_count(logs)
    schema = logs.scan(columns).collect_schema()  # raises an error if a column is missing
    keys = options.by or () if categorical_keys else ()
    text_keys = tuple(name for name in keys if schema[name] == pl.String)
    if options.count is not None and logs.has_column(SCORE_WIDTH):
        columns.setdefault(SCORE_WIDTH, "--count")
    n_files = len(logs.files)
    step = f"Reading {n_files:,} files" if n_files > 1 else "Reading the log"
    progress.step(step)
    n_rows = logs.count_rows()
    predictions, logs = logs.read(
        columns,
        skip_unreadable=options.skip_unreadable,
        query=lambda rows: rows.with_columns(column(key).cast(pl.Categorical) for key in text_keys),
        on_rows=lambda n: progress.read_rows(step, n, n_rows),
    )
    report_options = replace(options.report_options(predictions.schema), text_keys=text_keys)
    return Inputs(
        predictions=predictions,
        options=report_options,
        provenance={
            **report_options.provenance(predictions),
            "files": logs.files,
            "files_skipped": dict(logs.skipped),
        },
        unused_keys=_unused_keys(report_options, logs.columns, options),
        subject=_subject(logs.files),
    )


def _unused_keys(roles: ReportOptions, available: set[str], options: LogOptions) -> list[str]:
    """Return the columns that are usually keys, and that no option names."""
    named = options.required_columns()
    return [name for name in roles.unused_keys(available) if name not in named]


def _subject(files: Sequence[str]) -> str:
    return format_name(Path(files[0]).name) if len(files) == 1 else f"{len(files):,} files"


def read_old_and_new(
    sources: Sequence[str],
    options: ModelOptions,
    progress: Progress,
    *,
    exclude: Sequence[Path] = (),
) -> tuple[Inputs, str]:
    """Return the predictions of an old and a new log, and the column with "old" or "new".

    The scores can have different columns; that of the old log is the column of the result.
    """
    old_score, new_score = options.score[0], options.score[-1]
    parts = []
    for source, score in zip(sources, (old_score, new_score), strict=True):
        inputs = read_inputs([source], replace(options, score=[score]), progress, exclude=exclude)
        if not inputs.predictions.height:
            raise LogError.compose(
                source,
                "the log has no rows",
                "A gate needs predictions of the old and of the new model.",
            )
        parts.append(inputs)
    of_old = replace(options, score=[old_score])
    predictions, log = _concatenate_logs(parts, of_old, new_score)
    roles = of_old.report_options(predictions.schema)
    files = [part.provenance["files"] for part in parts]
    shared = {*files[0]} & {*files[1]} if old_score == new_score else set()
    return replace(
        parts[0],
        predictions=predictions,
        options=roles,
        provenance={
            **roles.provenance(predictions),
            "score": options.score,
            **{f"files_{name}": names for name, names in zip((OLD, NEW), files, strict=True)},
            "files_skipped": parts[0].skipped | parts[1].skipped,
        },
        # Each log has the predictions of one model.
        unused_keys=[
            name
            for name in dict.fromkeys(parts[0].unused_keys + parts[1].unused_keys)
            if name != MODEL
        ],
        warnings=[f"OLD and NEW contain the same file {format_name(min(shared))}."]
        if shared
        else (),
    ), log


def _concatenate_logs(
    parts: Sequence[Inputs], options: LogOptions, new_score: str
) -> tuple[pl.DataFrame, str]:
    """Return the rows of both logs, and the name of the column with "old" or "new"."""
    tables, required = [part.predictions for part in parts], options.required_columns()
    if SCORE_WIDTH not in required and any(SCORE_WIDTH in table.columns for table in tables):
        # Scores without a width are exact.
        exact = pl.lit(0.0).alias(SCORE_WIDTH)
        tables = [
            table if SCORE_WIDTH in table.columns else table.with_columns(exact) for table in tables
        ]
        required[SCORE_WIDTH] = "--count"
    (old, new), (old_score,) = tables, options.score
    new = new.select(
        column(new_score if name == old_score else name).alias(name) for name in old.columns
    )
    files = [part.provenance["files"][0] for part in parts]
    required[old_score] = "scores of two models, which are not compared with each other"
    dtypes = {
        name: common_dtype(
            name, option, [(files[0], old.schema[name]), (files[1], new.schema[name])]
        )
        for name, option in required.items()
    }
    log = unused_name("log", dtypes)
    casts = [column(name).cast(dtype) for name, dtype in dtypes.items()]
    return (
        pl.concat(
            table.select(*casts, pl.lit(name).alias(log))
            for name, table in ((OLD, old), (NEW, new))
        ),
        log,
    )


def unused_name(name: str, used: Collection[str]) -> str:
    """Return a name of a new column: `name`, in parentheses while a column has the name."""
    while name in used:
        name = f"({name})"
    return name


def _read_store(
    sources: Sequence[str],
    options: LogOptions,
    store_folder: Path,
    exclude: Sequence[Path],
    progress: Progress,
) -> Inputs:
    """Add new and changed logs to the store, and return the predictions of the window."""
    folder = local_path(store_folder)
    options.required_columns()  # raises an error for repeated columns
    for option in ("--id", "--cluster"):
        if name := next(iter(options.columns.get(option, [])), None):
            raise OptionValueError(
                f"{option} {name}: a store has no columns that identify rows, because equal "
                f"predictions are merged.\nLeave out {option}."
            )
    update: StoreUpdate | None = None
    with ExitStack() as stack:
        if sources or options.drop_missing_parts:
            stack.enter_context(output_folder(folder, "--store"))
            stack.enter_context(locked_store(folder, progress.step))
            progress.step("Reading the store")
            store = _matching_store(folder, options)
            progress.step("Finding the logs")
            reader = LogReader(
                options=store.options,
                missing=options.missing,
                open=lambda file: _open_log(file, options),
                columns=_stored_columns(store.options),
                positive=lambda dtype: parse_value(store.options.positive, dtype),
            )
            update = update_store(
                store,
                find_logs(sources, exclude=[folder, *exclude]) if sources else [],
                reader,
                skip_unreadable=options.skip_unreadable,
                drop_missing_parts=options.drop_missing_parts,
                on_file=progress.count,
            )
        elif not folder.is_dir():
            raise StorageError.compose(folder, "the store does not exist", CREATE_HINT)
        return read_current(
            lambda: _matching_store(folder, options, reads_only=update is None),
            lambda store: _read_window(store, options, update, progress),
        )


CREATE_HINT = "Check the path, or add logs with rocframe evaluate LOG --store."


def check_outside_store(out: Path, folder: Path) -> None:
    """Raise an error if the path of a result is in a store."""
    # Path.resolve raises an error for a link to itself.
    real_out = Path(os.path.realpath(out))
    if Path(os.path.realpath(local_path(folder))) in {real_out, *real_out.parents}:
        problem, hint = f"the path is in the store {str(folder)!r}", "Pass another path as --out."
        raise StorageError.compose(out, problem, hint)


def _matching_store(folder: Path, options: LogOptions, *, reads_only: bool = False) -> Store:
    """Return the state of a store, after a check of the options."""
    given = StoreOptions(
        label=options.label or LABEL,
        score=tuple(options.score),
        by=tuple(options.by or ()),
        positive=options.positive,
        weight=options.weight,
        count=options.count,
        **options.new_store_options,
    )
    store = Store.open(folder, given)
    stored = store.options
    if options.label is None:
        given = replace(given, label=stored.label)
    if reads_only and set(given.score) <= set(stored.score):
        given = replace(given, score=stored.score)  # the scores of some models
    given.check_match(stored, folder, options.group_columns)
    if stored.partition_by is None and options.window_options:
        problem = f"the store {str(folder)!r} has no --partition-by"
        hint = "Create a store with --partition-by and the column of the days."
        raise OptionValueError(f"{_window_text(options.window_options)}: {problem}.\n{hint}")
    return store


def _read_window(
    store: Store, options: LogOptions, update: StoreUpdate | None, progress: Progress
) -> Inputs:
    """Return the predictions of the window of a store; `update` are the changes of this run."""
    folder, stored = store.folder, store.options
    if not store.parts:
        problem, hint = "the store is empty", CREATE_HINT
        if update is not None and update.skipped:
            files = [f"{format_name(file)} ({why})" for file, why in update.skipped.items()]
            problem += f", because logs were skipped: {join_first(files, 5)}"
            hint = "Write or download the files again."
        raise StorageError.compose(folder, problem, hint)
    dtype, days = _partition_values(store)
    window = _window(store, options.window_options, dtype, days)
    progress.step(f"Reading {format_count(len(window), 'part')} of the store")
    scores = options.score if len(stored.score) > 1 else stored.scores
    keys = list(options.group_columns)
    if options.is_over_partition and stored.partition_by is not None:
        keys.append(stored.partition_by)
    predictions = _read_predictions(store, window, scores, keys)
    report_options = replace(
        options.report_options({}),
        label=LABEL,
        score=scores_by_model(scores if len(scores) > 1 else [SCORE_COLUMN]),
        positive=None,
        weight=None if stored.weight is None else WEIGHT,
        count=COUNT,
    )
    changes, chosen = update or StoreUpdate(), set(window)
    return Inputs(
        predictions=predictions,
        options=report_options,
        provenance={
            **report_options.provenance(predictions),
            "label": stored.label,
            "score": options.score,
            "positive": True if stored.positive is None else stored.positive,
            "weight": stored.weight,
            "count": stored.count,
            "files": [log.source for log in store.logs if not chosen.isdisjoint(log.parts)],
            "files_skipped": changes.skipped,
            "store": str(folder),
            "days": _range_text(window, days),
            "resolution": stored.resolution,
            "relative": stored.relative,
            "max_envelope": stored.max_envelope,
        },
        unused_keys=_unused_keys(report_options, {*stored.keys, *changes.columns}, options),
        subject=folder.name,
        summary=_store_summary(store, window, days, update),
        warnings=_warnings(changes, stored),
        partition_by=stored.partition_by,
    )


def _read_predictions(
    store: Store, window: Sequence[Part], scores: Sequence[str], keys: Sequence[str]
) -> pl.DataFrame:
    """Return the predictions of parts of a store."""
    files = sorted(map(store.path, window))
    rows = compress(
        scan_parts(files),
        LABEL,
        scores if len(scores) > 1 else scores[0],
        by=keys or None,
        weight=None if store.options.weight is None else WEIGHT,
        count=COUNT,
    )
    try:
        return collect_frame(rows)
    except RocframeError:
        raise
    except READ_ERRORS as error:
        scan_parts(files)  # raises an error that names the part, if it is missing now
        problem = f"the store cannot be read: {error_reason(error)}"
        raise StorageError.compose(store.folder, problem, "Run the command again.") from error


def _stored_columns(options: StoreOptions) -> dict[str, str]:
    """Return a dict from each column of the logs that the store needs to its option."""
    columns = dict.fromkeys(options.by, "--by") | dict.fromkeys(options.score, "--score")
    optional = {options.partition_by: "--partition-by", options.weight: "--weight"}
    optional |= {options.count: "--count"}
    columns |= {name: option for name, option in optional.items() if name is not None}
    return {**columns, options.label: "--label"}


def _open_log(file: str, options: LogOptions) -> Logs:
    logs = open_logs([file])
    options.check_count(logs)
    return logs


def _window_text(options: Mapping[str, str]) -> str:
    return " ".join(f"--{name} {text}" for name, text in options.items())


def _partition_values(store: Store) -> tuple[pl.DataType, dict[Part, Any]]:
    """Return the dtype of the partition column, and the value of each part, integer or text."""
    key, path = store.options.partition_by, store.existing_part() or store.path(store.parts[0])
    dtype = pl.Null() if key is None else read_part_schema(path)[key]
    convert = int if dtype.is_integer() else str
    return dtype, {part: convert(part.value) for part in store.parts if part.value is not None}


def _window(
    store: Store, options: Mapping[str, str], dtype: pl.DataType, days: Mapping[Part, Any]
) -> Sequence[Part]:
    """Return the parts whose values of the partition column, `days`, the options select."""
    if not options:
        return store.parts
    window, name = _window_text(options), store.options.partition_by
    if dtype == pl.Boolean:
        raise OptionValueError(
            f"{window}: the column {name!r} of the store is Boolean.\n"
            "Windows need a store with --partition-by and a column of dates, text or integers."
        )
    if dtype == pl.String and "last" in options:
        if not all(map(_is_date, days.values())):
            raise OptionValueError(
                f"--last {options['last']}: the days of the store are text, and not all are dates "
                "such as 2026-11-01.\nUse --since and --until, which compare text."
            )
        dtype = pl.Date()
    since, until = (
        _day(option, options[option], dtype) if option in options else None
        for option in ("since", "until")
    )
    if "last" in options and days:
        end = max(days.values()) if until is None else until
        since = _first_of_last(options["last"], end, dtype)
    chosen = [
        part
        for part, day in days.items()
        if (since is None or since <= day) and (until is None or day <= until)
    ]
    if not chosen:
        content = (
            f"The store has {name} {_range_text(store.parts, days)}."
            if days
            else f"The column {name!r} of the store is null in all rows."
        )
        raise OptionValueError(f"{window}: the store has no rows in this window.\n{content}")
    return chosen


def _day(option: str, text: str, dtype: pl.DataType) -> Any:
    """Return the value of an option in the form of `_partition_values`, or raise an error."""
    try:
        if dtype == pl.Date:
            return date.fromisoformat(text).isoformat()
        return int(text) if dtype.is_integer() else text
    except ValueError:
        kind, example = ("a date", "2026-11-01") if dtype == pl.Date else ("an integer", "7")
        raise OptionValueError(
            f"--{option} {text}: expected {kind}.\nUse, for example, --{option} {example}."
        ) from None


def _is_date(text: str) -> bool:
    """Return whether a text is a date such as 2026-11-01."""
    with suppress(ValueError):
        return date.fromisoformat(text).isoformat() == text
    return False


def _first_of_last(length: str, end: Any, dtype: pl.DataType) -> Any:
    """Return the first day of the last days up to `end`."""
    if dtype.is_integer():
        number = int(length) if length.isdecimal() else length
        return end - int(parse_length("last", number, dtype)[:-1]) + 1
    offset = f"-{parse_length('last', length, pl.Date())}"
    start: date = pl.select(pl.lit(date.fromisoformat(end)).dt.offset_by(offset)).item()
    return (start + timedelta(days=1)).isoformat()


def _range_text(parts: Sequence[Part], days: Mapping[Part, Any]) -> str | None:
    """Return the first and the last day of parts as text; None without days."""
    values = sorted({days[part] for part in parts if part in days})
    if not values:
        return None
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _store_summary(
    store: Store, window: Sequence[Part], days: Mapping[Part, Any], update: StoreUpdate | None
) -> str:
    """Return lines that describe the store, and the changes of this run."""
    line, key = (
        f"{store.folder}: {format_count(len(store.logs), 'log')}",
        store.options.partition_by,
    )
    if text := _range_text(store.parts, days):
        line += f", {key} {text}"
    if len(window) < len(store.parts):
        line += f"; evaluated: {_range_text(window, days)}"
    lines = [line]
    if update is not None:
        changes = {
            "added": update.added,
            "replaced": update.replaced,
            "moved": update.moved,
            "unchanged": update.unchanged,
            "skipped": list(update.skipped),
        }
        counts = [f"{len(logs):,} {name}" for name, logs in changes.items() if logs]
        lines += [", ".join(counts)] if counts else []
        for name in ("replaced", "moved"):
            lines += [f"{name}: {join_first(changes[name])}"] if changes[name] else []
        if update.dropped:
            files = format_count(len(update.dropped), "missing file")
            lines.append(f"The store no longer lists {files}: {join_first(update.dropped, 3)}")
    rows = sum(part.rows for part in store.parts if part.value is None and key is not None)
    if rows:
        lines.append(
            f"{format_count(rows, 'row')} without a {key}, which --since, --until and --last "
            "leave out"
        )
    if update is not None and update.gone:
        logs = format_count(len(update.gone), "deleted log")
        lines.append(f"The store keeps the rows of {logs}: {join_first(update.gone, 3)}")
    return "\n".join(lines)


def _warnings(update: StoreUpdate, options: StoreOptions) -> list[str]:
    """Return sentences about logs that may be wrong."""
    warnings = []
    if update.without_positives:
        files = join_first(update.without_positives, 5)
        warnings.append(f"no row with the positive class {options.positive!r} in {files}.")
    if update.repeated:
        warnings.append(
            "other logs of the store have the same content, so that these rows count twice: "
            f"{join_first(update.repeated, 5)}. Create the store again without copies of logs."
        )
    if update.without_rows:
        files = join_first(sorted(update.without_rows), 5)
        warnings.append(f"no row with a label and a score in {files}.")
    return warnings
