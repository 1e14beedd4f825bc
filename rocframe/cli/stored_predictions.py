"""The option `--store` of `evaluate`: update a store of compressed predictions, and read it."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.cli.options import parse_positive, scores_by_model
from rocframe.compression.cells import COUNT, LABEL, WEIGHT
from rocframe.compression.compress import compress
from rocframe.errors import OptionValueError, RocframeError, StorageError
from rocframe.frames import collect_frame
from rocframe.inputs.windows import parse_length
from rocframe.io.files import READ_ERRORS, error_reason, local_path, output_folder
from rocframe.io.logs import find_logs, open_logs
from rocframe.io.store import Store, StoreOptions, locked_store, read_current
from rocframe.io.store_update import LogReader, StoreUpdate, update_store
from rocframe.io.tables import read_part_schema, scan_parts
from rocframe.text import format_count, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.cli.options import EvaluationOptions, StoreArguments
    from rocframe.io.logs import Logs
    from rocframe.io.store import Part
    from rocframe.reports.progress import Progress
    from rocframe.reports.report import ReportOptions


MAX_UNCERTAINTY = 0.001  # a larger uncertainty of the AUC of rounded scores is printed


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPredictions:
    """The compressed predictions of a window of a store, and the options of their evaluation.

    `provenance` is the metadata of the tables. `columns` are the group columns of the store, and
    the columns of the logs of this run that the store does not contain. `summary` describes the
    store and its changes, and `warnings` name logs that need attention.
    """

    predictions: pl.DataFrame
    options: ReportOptions
    provenance: dict[str, Any]
    columns: tuple[str, ...]
    skipped: dict[str, str]
    summary: str
    warnings: list[str]


def read_store(
    sources: Sequence[str],
    options: EvaluationOptions,
    arguments: StoreArguments,
    out: Path,
    progress: Progress,
) -> StoredPredictions:
    """Add new and changed logs to the store, and return the predictions of the window."""
    folder = local_path(arguments.store)
    given = _store_options(options, arguments)
    if options.id:
        raise OptionValueError(
            f"--id {options.id[0]}: a store has no columns that identify rows, because equal "
            "predictions are merged.\nLeave out --id."
        )
    real_out = Path(os.path.realpath(out))  # Path.resolve raises an error for a link to itself
    if Path(os.path.realpath(folder)) in {real_out, *real_out.parents}:
        raise StorageError.compose(
            out, f"the folder is in the store {str(folder)!r}", "Pass another folder as --out."
        )
    update: StoreUpdate | None = None
    with ExitStack() as stack:
        if sources or arguments.drop_missing_parts:
            stack.enter_context(output_folder(folder, "--store"))
            stack.enter_context(locked_store(folder, progress.step))
            progress.step("Reading the store")
            store = _matching_store(folder, given, arguments)
            progress.step("Finding the logs")
            reader = LogReader(
                options=store.options,
                missing=options.missing,
                open=lambda file: _open_log(file, options),
                columns=_stored_columns(store.options),
                positive=lambda dtype: parse_positive(store.options.positive, dtype),
            )
            update = update_store(
                store,
                find_logs(sources, exclude=[folder, out]) if sources else [],
                reader,
                skip_unreadable=options.skip_unreadable,
                drop_missing_parts=arguments.drop_missing_parts,
                on_file=progress.count,
            )
        elif not folder.is_dir():
            raise StorageError.compose(
                folder, "the store does not exist", "Pass logs to create it, or check the path."
            )
        return read_current(
            lambda: _matching_store(folder, given, arguments),
            lambda store: _read_window(store, options, arguments, update, progress),
        )


def _matching_store(folder: Path, given: StoreOptions, arguments: StoreArguments) -> Store:
    """Return the state of a store, after a check of the options."""
    store = Store.open(folder, given)
    given.check_match(store.options, folder)
    if store.options.partition_by is None and (window_options := _window_options(arguments)):
        problem = f"the store {str(folder)!r} has no --partition-by"
        hint = "Create a store with --partition-by and the column of the days."
        raise OptionValueError(f"{_window_text(window_options)}: {problem}.\n{hint}")
    return store


def _read_window(
    store: Store,
    options: EvaluationOptions,
    arguments: StoreArguments,
    update: StoreUpdate | None,
    progress: Progress,
) -> StoredPredictions:
    """Return the predictions of the window of a store; `update` are the changes of this run."""
    folder, stored = store.folder, store.options
    if not store.parts:
        hint = "Pass logs to add them to the store."
        raise StorageError.compose(folder, "the store is empty", hint)
    dtype, days = _partition_values(store)
    window = _window(store, arguments, dtype, days)
    progress.step(f"Reading {format_count(len(window), 'part')} of the store")
    predictions = _read_predictions(store, window, options.by)
    report_options = replace(
        options.report_options(pl.Boolean()),
        label=LABEL,
        score=scores_by_model(stored.scores),
        positive=None,
        weight=None if stored.weight is None else WEIGHT,
        count=COUNT,
    )
    changes, chosen = update or StoreUpdate(), set(window)
    return StoredPredictions(
        predictions=predictions,
        options=report_options,
        provenance={
            **report_options.provenance(predictions),
            "label": stored.label,
            "score": list(stored.score),
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
        columns=(*stored.keys, *changes.columns),
        skipped=changes.skipped,
        summary=_store_summary(store, window, days, update),
        warnings=_warnings(changes, stored),
    )


def _read_predictions(
    store: Store, window: Sequence[Part], by: Sequence[str] | None
) -> pl.DataFrame:
    """Return the predictions of parts of a store."""
    files, scores = sorted(map(store.path, window)), store.options.scores
    rows = compress(
        scan_parts(files),
        LABEL,
        scores if len(scores) > 1 else scores[0],
        by=by,
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


def _store_options(options: EvaluationOptions, arguments: StoreArguments) -> StoreOptions:
    options.required_columns()  # raises an error for repeated columns
    return StoreOptions(
        label=options.label,
        score=tuple(options.score),
        by=tuple(options.by or ()),
        partition_by=arguments.partition_by,
        positive=options.positive,
        weight=options.weight,
        count=options.count,
        resolution=arguments.resolution,
        relative=arguments.relative,
        max_envelope=arguments.max_envelope,
    )


def _stored_columns(options: StoreOptions) -> dict[str, str]:
    """Return a dict from each column of the logs that the store needs to its option."""
    columns = dict.fromkeys(options.by, "--by") | dict.fromkeys(options.score, "--score")
    optional = {options.partition_by: "--partition-by", options.weight: "--weight"}
    optional |= {options.count: "--count"}
    columns |= {name: option for name, option in optional.items() if name is not None}
    return {**columns, options.label: "--label"}


def _open_log(file: str, options: EvaluationOptions) -> Logs:
    logs = open_logs([file])
    options.check_count(logs)
    return logs


def rounding_note(areas: pl.DataFrame, provenance: Mapping[str, Any]) -> str | None:
    """Return the uncertainty of the AUC of rounded scores; None if it is at most 0.001."""
    if provenance["resolution"] is None and provenance["max_envelope"] is None:
        return None
    widest: Any = (areas["auc_optimistic"] - areas["auc_pessimistic"]).max()
    if widest is None or widest <= MAX_UNCERTAINTY:
        return None
    option = (
        "a finer --resolution" if provenance["max_envelope"] is None else "a smaller --max-envelope"
    )
    return (
        f"Rounded scores: the AUC is known to within {widest:.2g}. For a closer value, create a "
        f"store with {option}."
    )


def _window_options(arguments: StoreArguments) -> dict[str, str]:
    """Return the options that select a window, without those that are not given."""
    options = {name: getattr(arguments, name) for name in ("since", "until", "last")}
    return {name: text for name, text in options.items() if text is not None}


def _window_text(options: dict[str, str]) -> str:
    return " ".join(f"--{name} {text}" for name, text in options.items())


def _partition_values(store: Store) -> tuple[pl.DataType, dict[Part, Any]]:
    """Return the dtype of the partition column, and the value of each part that has one.

    The values are integers or text. The order of dates is the order of their text.
    """
    key, path = store.options.partition_by, store.existing_part() or store.path(store.parts[0])
    dtype = pl.Null() if key is None else read_part_schema(path)[key]
    convert = int if dtype.is_integer() else str
    return dtype, {part: convert(part.value) for part in store.parts if part.value is not None}


def _window(
    store: Store,
    arguments: StoreArguments,
    dtype: pl.DataType,
    days: Mapping[Part, Any],
) -> Sequence[Part]:
    """Return the parts of the days that `--since`, `--until` and `--last` select.

    `days` are the values of the partition column, which has the dtype `dtype`.
    """
    options = _window_options(arguments)
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
    if update.without_rows:
        files = join_first(sorted(update.without_rows), 5)
        warnings.append(f"no row with a label and a score in {files}.")
    return warnings
