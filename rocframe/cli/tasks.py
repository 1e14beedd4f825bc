"""The commands of the command line: read logs, compute tables, write files.

The modules of pages and of the gate, which load Altair and scipy, are imported in functions, so
that other commands start without them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.cli.formats import check_result_path, is_table_path, write_result
from rocframe.cli.options import NEW, OLD, parse_positive, scores_by_model
from rocframe.cli.text_tables import VERDICT_TEXTS
from rocframe.compression import COUNT, LABEL, WEIGHT, compress
from rocframe.curves.curve import curve
from rocframe.curves.simplify import parse_max_error
from rocframe.decisions.operating_point import RuleOptions, operating_point
from rocframe.errors import LogError, OptionValueError, RocframeError, StorageError
from rocframe.frames import collect_frame, column
from rocframe.inputs.roles import SCORE_WIDTH
from rocframe.inputs.windows import parse_length
from rocframe.io.files import READ_ERRORS, error_reason, local_path, output_folder, write_text
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
from rocframe.io.tables import read_part_schema, scan_parts, write
from rocframe.reports.curves_file import curves_file
from rocframe.reports.evaluation import report_areas, report_curves
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_count, format_name, join_first

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocframe.cli.options import (
        DecisionOptions,
        EvaluationOptions,
        LogOptions,
        ReleaseOptions,
        StoreArguments,
    )
    from rocframe.io.logs import Logs, Part
    from rocframe.reports.evaluation import GroupedCurves, ReportOptions
    from rocframe.reports.progress import Progress

CURVES_FILE, AREAS_FILE, PAGE_FILE = "curves.parquet", "auc.parquet", "charts.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """The table to print, the files that were written, and the skipped logs with the reasons.

    `lacks_page` is True without vl-convert. `unused_keys` are columns that are usually keys, but
    that no option names. `summary` is text below the table. `has_passed` is that of the gate.
    """

    table: pl.DataFrame
    written: list[Path]
    skipped: dict[str, str]
    unused_keys: list[str]
    lacks_page: bool = False
    summary: str | None = None
    warnings: Sequence[str] = ()
    has_passed: bool = True


def evaluate_logs(
    sources: Sequence[str],
    options: EvaluationOptions,
    out: Path | None,
    progress: Progress,
    *,
    max_error: float | None = None,
    store: StoreArguments | None = None,
) -> CommandResult:
    """Compute the tables of `evaluate`, of logs or a store; write them and the page to a folder.

    The page is left out if vl-convert is not installed. If `out` is a file or None, only the areas
    are computed.
    """
    folder = None if out is None or is_table_path(out) else out
    if max_error is not None:
        parse_max_error(max_error)
        if folder is None:
            problem, hint = "the curves are written to a folder only", "Pass a folder as --out."
            raise OptionValueError(f"--max-error {max_error:g}: {problem}.\n{hint}")
    results = [] if out is None else [out]
    if folder is not None:
        results = [folder / CURVES_FILE, folder / AREAS_FILE]
    if store is None or store.store is None:
        logs = _open_sources(sources, options, progress, exclude=results)
        read = partial(_read_report_logs, logs, options, progress)
    else:
        read = partial(read_store, sources, options, store, out, progress)
    if folder is not None:
        return _write_evaluation(read, options, folder, progress, max_error=max_error)
    for path in results:
        check_result_path(path)
    evaluation = _evaluate(read(), progress, n_steps=2)
    for path in results:
        progress.step("Writing the file")
        write_result(evaluation.areas, path, evaluation.provenance)
    return evaluation.result(results)


def _write_evaluation(
    read: Callable[[], ReportInputs],
    options: EvaluationOptions,
    folder: Path,
    progress: Progress,
    *,
    max_error: float | None,
) -> CommandResult:
    """Write the curves, the areas and the page to a folder."""
    results = [folder / CURVES_FILE, folder / AREAS_FILE]
    if find_spec("vl_convert") is not None:
        results.append(folder / PAGE_FILE)
    with output_folder(folder, "--out", results):
        evaluation = _evaluate(read(), progress)
        inputs, about, page = evaluation.inputs, evaluation.provenance, None
        with curves_file(
            results[0],
            about,
            kind=inputs.options.kinds[0],
            max_error=max_error,
            compares_sizes=inputs.options.has_many_rows(inputs.predictions),
        ) as file:
            curves = evaluation.curves(progress, file.write)
            if len(results) == 3:
                page = _page(evaluation, curves, options, progress, (CURVES_FILE, AREAS_FILE))
            progress.step("Writing the files")
        write(evaluation.areas, results[1], about=about)
        if page is not None:
            write_text(results[2], page)
    return evaluation.result(results, lacks_page=page is None, warning=file.warning())


def report_logs(
    sources: Sequence[str], options: EvaluationOptions, path: Path, progress: Progress
) -> CommandResult:
    """Compute the report of the logs, and write it as an HTML page to a file."""
    from rocframe.reports.export import load_vl_convert
    from rocframe.reports.report import check_page_path

    load_vl_convert("rocframe report")
    logs = _open_sources(sources, options, progress)
    check_page_path(path)
    evaluation = _evaluate(_read_report_logs(logs, options, progress), progress)
    page = _page(evaluation, evaluation.curves(progress), options, progress)
    progress.step("Writing the page")
    write_text(path, page)
    return evaluation.result([path])


def decide_logs(
    sources: Sequence[str], options: DecisionOptions, path: Path | None, progress: Progress
) -> CommandResult:
    """Choose a threshold for each group and rule; write the table to `path` if it is given."""
    arguments = options.rule_arguments()
    RuleOptions.parse(**arguments)  # an error in the options is raised before the logs are read
    written = [] if path is None else [path]
    logs = _open_sources(sources, options, progress, exclude=written)
    if path is not None:
        check_result_path(path)
    predictions, logs = _read_logs(logs, options, progress)
    roles = options.report_options(predictions.schema[options.label])
    progress.step("Computing the curves")
    curves = curve(predictions, **roles.roles, by=roles.keys or None)
    progress.step("Choosing the thresholds")
    points = operating_point(curves, **arguments)
    if path is not None:
        progress.step("Writing the file")
        about = {
            **roles.provenance(predictions),
            "options": {name: value for name, value in arguments.items() if value is not None},
            "files": logs.files,
            "files_skipped": dict(logs.skipped),
        }
        write_result(points, path, about)
    skipped, unused = dict(logs.skipped), roles.unused_keys(logs.columns)
    return CommandResult(table=points, written=written, skipped=skipped, unused_keys=unused)


def gate_logs(
    sources: Sequence[str], options: ReleaseOptions, path: Path | None, progress: Progress
) -> CommandResult:
    """Test whether the new model is non-inferior; write the table to `path` if it is given.

    `sources` are the old and the new log, or one log with a column of scores of each model.
    """
    from rocframe.comparisons.gate import gate

    old_score, new_score = _two_scores(sources, options)
    side_by_side = len(sources) == 1
    method = options.gate_method(side_by_side=side_by_side)
    written = [] if path is None else [path]
    scores = [options.score] if side_by_side else [[old_score], [new_score]]
    log_options = [replace(options, score=score) for score in scores]
    logs = [
        _open_sources([source], each, progress, exclude=written)
        for source, each in zip(sources, log_options, strict=True)
    ]
    if path is not None:
        check_result_path(path)
    tables = []
    for i, each in enumerate(log_options):
        table, logs[i] = _read_logs(logs[i], each, progress)
        if not table.height:
            raise LogError.compose(
                sources[i],
                "the log has no rows",
                "A gate needs predictions of the old and of the new model.",
            )
        tables.append(table)
    progress.step("Testing the groups")
    arguments = options.gate_arguments(tables[0].schema[options.label])
    if side_by_side:
        predictions = tables[0]
        pairing: dict[str, Any] = {"score": {OLD: old_score, NEW: new_score}}
    else:
        predictions, log = _concatenate_logs(tables, logs, log_options)
        pairing = {"score": old_score, "between": log, "id": options.id_argument}
        arguments = options.gate_arguments(predictions.schema[options.label])
    table = gate(predictions, baseline=OLD, method=method, **pairing, **arguments)
    order = pl.col("verdict").replace_strict(
        list(VERDICT_TEXTS), range(len(VERDICT_TEXTS)), return_dtype=pl.Int64
    )
    table = table.sort(order, maintain_order=True)
    roles = log_options[0].report_options(predictions.schema[options.label])
    skipped = {file: why for log in logs for file, why in log.skipped.items()}
    if path is not None:
        progress.step("Writing the file")
        about = {
            **roles.provenance(predictions),
            "score": options.score,
            "id": options.id,
            "options": {
                name: arguments[name]
                for name in ("margin", "metric", "level", "adjust", "min_rows")
            }
            | {
                name: value
                for name, value in options.point_arguments().items()
                if value not in (None, {}, [])
            },
            **{f"files_{name}": log.files for name, log in zip((OLD, NEW), logs, strict=False)},
            "files_skipped": skipped,
        }
        write_result(table, path, about)
    shared = {*logs[0].files} & {*logs[-1].files} if old_score == new_score else set()
    columns = set().union(*(log.columns for log in logs))
    if not side_by_side:
        columns -= {MODEL}  # each log has the predictions of one model
    return CommandResult(
        table=table,
        written=written,
        skipped=skipped,
        unused_keys=roles.unused_keys(columns) if options.id is None else [],
        summary=_gate_summary(table, options),
        warnings=[f"OLD and NEW contain the same file {format_name(min(shared))}."]
        if shared
        else (),
        has_passed=bool(table["passed"].all()),
    )


def _two_scores(sources: Sequence[str], options: ReleaseOptions) -> tuple[str, str]:
    """Return the columns of the old and the new score."""
    scores = options.score
    if len(sources) == 1 and len(scores) != 2:
        raise OptionValueError.compose(
            "score",
            scores[0],
            "with one log, expected two columns of scores",
            "Pass the new log as well, or the score of the old and of the new model: "
            "--score old --score new.",
        )
    if len(scores) > 2:
        hint = "Pass the score of the old and of the new model."
        raise OptionValueError.compose("score", scores[2], "expected one or two columns", hint)
    return scores[0], scores[-1]


def _concatenate_logs(
    tables: Sequence[pl.DataFrame], logs: Sequence[Logs], options: Sequence[ReleaseOptions]
) -> tuple[pl.DataFrame, str]:
    """Return the rows of both logs, and the name of the column with "old" or "new"."""
    required = options[0].required_columns()
    if SCORE_WIDTH not in required and any(SCORE_WIDTH in table.columns for table in tables):
        # Scores without a width are exact.
        exact = pl.lit(0.0).alias(SCORE_WIDTH)
        tables = [
            table if SCORE_WIDTH in table.columns else table.with_columns(exact) for table in tables
        ]
        required[SCORE_WIDTH] = "--count"
    (old, new), (old_score, new_score) = tables, (each.score[0] for each in options)
    new = new.select(
        column(new_score if name == old_score else name).alias(name) for name in old.columns
    )
    files = [log.files[0] for log in logs]
    required[old_score] = "scores of two models, which are not compared with each other"
    dtypes = {
        name: common_dtype(
            name, option, [(files[0], old.schema[name]), (files[1], new.schema[name])]
        )
        for name, option in required.items()
    }
    log = "log"
    while log in dtypes:
        log = f"({log})"
    casts = [column(name).cast(dtype) for name, dtype in dtypes.items()]
    return (
        pl.concat(
            table.select(*casts, pl.lit(name).alias(log))
            for name, table in ((OLD, old), (NEW, new))
        ),
        log,
    )


def _gate_summary(table: pl.DataFrame, options: ReleaseOptions) -> str:
    """Return the decision as a sentence, and the test."""
    from rocframe.comparisons.gate import GATE_TESTS

    counts = table.filter(pl.col("passed").is_not_null())
    failing = counts.height - int(counts["passed"].sum())
    groups = format_count(counts.height, "group")
    lines = [
        f"PASS: NEW is non-inferior to OLD in {groups}."
        if not failing
        else f"FAIL: NEW is not shown to be non-inferior to OLD in {failing:,} of {groups}."
    ]
    if ignored := table.height - counts.height:
        verb = "does" if ignored == 1 else "do"
        lines[0] += f" {format_count(ignored, 'group')} {verb} not count (--min-rows)."
    test = table["test"][0]
    reason = ""
    if not GATE_TESTS[test].is_paired and options.method is None:
        reason = " The rows of the two logs are not paired, because --id is not given."
    lines.append(f"Test: {test}, level {options.level:g}, adjustment {options.adjust}.{reason}")
    return "\n".join(lines)


def _open_sources(
    sources: Sequence[str], options: LogOptions, progress: Progress, exclude: Sequence[Path] = ()
) -> Logs:
    """Return the logs in the sources; raise an error if the column of an option is missing."""
    columns = options.required_columns()
    progress.step("Finding the logs")
    files = find_logs(sources, exclude=exclude)
    logs = open_logs(
        files,
        skip_unreadable=options.skip_unreadable,
        on_file=lambda number: progress.count("Opening file", number, len(files)),
    )
    options.check_count(logs)
    logs.scan(columns)
    return logs


def _read_logs(
    logs: Logs,
    options: LogOptions,
    progress: Progress,
    query: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda rows: rows,
) -> tuple[pl.DataFrame, Logs]:
    """Read the columns of the options and the widths of scores; also return the read logs."""
    columns = options.required_columns()
    if options.count is not None and logs.has_column(SCORE_WIDTH):
        columns.setdefault(SCORE_WIDTH, "--count")
    n_files = len(logs.files)
    step = f"Reading {n_files:,} files" if n_files > 1 else "Reading the log"
    progress.step(step)
    n_rows = logs.count_rows()
    return logs.read(
        columns,
        skip_unreadable=options.skip_unreadable,
        query=query,
        on_rows=lambda n: progress.rows(step, n, n_rows),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInputs:
    """The predictions of logs or of the window of a store, and how they are evaluated.

    `subject` names the data in the title. For a store, `summary` describes its content and changes.
    """

    predictions: pl.DataFrame
    options: ReportOptions
    provenance: dict[str, Any]
    unused_keys: list[str]
    subject: str
    summary: str | None = None
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The areas of predictions, and the metadata of the tables."""

    inputs: ReportInputs
    areas: pl.DataFrame
    provenance: dict[str, Any]

    def curves(
        self, progress: Progress, on_part: Callable[[pl.DataFrame], None] = lambda _: None
    ) -> GroupedCurves:
        """Compute the curves; `on_part` gets their rows in parts."""
        return report_curves(self.inputs.predictions, self.inputs.options, progress.step, on_part)

    def result(
        self, written: list[Path], *, lacks_page: bool = False, warning: str | None = None
    ) -> CommandResult:
        """Return the result of a command that has written these files."""
        lines = [self.inputs.summary, rounding_note(self.areas, self.provenance)]
        return CommandResult(
            table=self.areas,
            written=written,
            lacks_page=lacks_page,
            skipped=self.provenance["files_skipped"],
            unused_keys=self.inputs.unused_keys,
            summary="\n".join(filter(None, lines)) or None,
            warnings=[*self.inputs.warnings, *filter(None, [warning])],
        )


def _read_report_logs(logs: Logs, options: EvaluationOptions, progress: Progress) -> ReportInputs:
    """Read the predictions of the logs."""
    schema = logs.scan(options.required_columns()).collect_schema()
    text_keys = [name for name in options.by or () if schema[name] == pl.String]
    predictions, logs = _read_logs(
        logs,
        options,
        progress,
        lambda rows: rows.with_columns(column(key).cast(pl.Categorical) for key in text_keys),
    )
    report_options = replace(
        options.report_options(predictions.schema[options.label]), text_keys=tuple(text_keys)
    )
    files = {"files": logs.files, "files_skipped": dict(logs.skipped)}
    return ReportInputs(
        predictions=predictions,
        options=report_options,
        provenance={**report_options.provenance(predictions), **files},
        unused_keys=report_options.unused_keys(logs.columns),
        subject=_subject(logs.files),
    )


def _evaluate(
    inputs: ReportInputs, progress: Progress, *, n_steps: int | None = None
) -> Evaluation:
    """Compute the areas; the number of further steps is that of a page by default."""
    # The last step writes the files.
    progress.expect(inputs.options.n_steps + 1 if n_steps is None else n_steps)
    areas = report_areas(inputs.predictions, inputs.options, progress.step)
    provenance = {**inputs.provenance, "rows_missing": _missing_rows(areas, inputs.options)}
    return Evaluation(inputs=inputs, areas=areas, provenance=provenance)


def _subject(files: Sequence[str]) -> str:
    return format_name(Path(files[0]).name) if len(files) == 1 else f"{len(files):,} files"


def _missing_rows(areas: pl.DataFrame, options: ReportOptions) -> int | dict[str, int]:
    """Return the number of rows with missing values; for several score columns, of each model."""
    if not isinstance(options.score, Mapping):
        return int(areas["n_missing"].sum())
    counts = areas.group_by(MODEL).agg(pl.col("n_missing").sum()).sort(MODEL)
    return dict(zip(counts[MODEL], counts["n_missing"], strict=True))


def _page(
    evaluation: Evaluation,
    curves: GroupedCurves,
    options: EvaluationOptions,
    progress: Progress,
    files: tuple[str, str] | None = None,
) -> str:
    """Return the page as HTML."""
    from rocframe.reports.report import report_page
    from rocframe.reports.tables import report_tables

    inputs = evaluation.inputs
    tables = report_tables(
        inputs.predictions, inputs.options, evaluation.areas, curves, progress.step
    )
    return report_page(
        tables,
        inputs.options,
        title=f"Evaluation of {inputs.subject}" if options.title is None else options.title,
        provenance={**evaluation.provenance, "unused_keys": inputs.unused_keys},
        files=files,
        on_step=progress.step,
    )


MAX_UNCERTAINTY = 0.001  # a larger uncertainty of the AUC of rounded scores is printed


def read_store(
    sources: Sequence[str],
    options: EvaluationOptions,
    arguments: StoreArguments,
    out: Path | None,
    progress: Progress,
) -> ReportInputs:
    """Add new and changed logs to the store, and return the predictions of the window."""
    folder = local_path(arguments.store)
    given = _store_options(options, arguments)
    if options.id:
        raise OptionValueError(
            f"--id {options.id[0]}: a store has no columns that identify rows, because equal "
            "predictions are merged.\nLeave out --id."
        )
    # Path.resolve raises an error for a link to itself.
    real_out = None if out is None else Path(os.path.realpath(out))
    if real_out and Path(os.path.realpath(folder)) in {real_out, *real_out.parents}:
        raise StorageError.compose(
            out, f"the path is in the store {str(folder)!r}", "Pass another path as --out."
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
                find_logs(sources, exclude=[folder, *([] if out is None else [out])])
                if sources
                else [],
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
) -> ReportInputs:
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
    return ReportInputs(
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
        unused_keys=report_options.unused_keys([*stored.keys, *changes.columns]),
        subject=folder.name,
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
    if provenance.get("resolution") is None and provenance.get("max_envelope") is None:
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
    """Return the dtype of the partition column, and the value of each part, integer or text."""
    key, path = store.options.partition_by, store.existing_part() or store.path(store.parts[0])
    dtype = pl.Null() if key is None else read_part_schema(path)[key]
    convert = int if dtype.is_integer() else str
    return dtype, {part: convert(part.value) for part in store.parts if part.value is not None}


def _window(
    store: Store, arguments: StoreArguments, dtype: pl.DataType, days: Mapping[Part, Any]
) -> Sequence[Part]:
    """Return the parts whose values of the partition column, `days`, the options select."""
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
