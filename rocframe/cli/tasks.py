"""The commands of the command line: read logs, compute tables, write files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.cli.stored_predictions import read_store, rounding_note
from rocframe.cli.terminal import VERDICT_TEXTS
from rocframe.comparisons.gate import gate
from rocframe.curves.curve import curve
from rocframe.curves.simplify import parse_max_error, simplify
from rocframe.decisions.operating_point import RuleOptions, operating_point
from rocframe.errors import LogError, OptionValueError
from rocframe.frames import column
from rocframe.inputs.score_cells import SCORE_WIDTH
from rocframe.io.files import output_folder, write_text
from rocframe.io.logs import common_dtype, find_logs, open_logs
from rocframe.io.tables import check_table_path, write
from rocframe.reports.offline_script import load_vl_convert
from rocframe.reports.page import report_page
from rocframe.reports.report import check_page_path
from rocframe.reports.report_tables import areas_and_curves, report_tables
from rocframe.schemas.columns import MODEL
from rocframe.text import format_count, format_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.cli.options import (
        DecisionOptions,
        EvaluationOptions,
        LogOptions,
        ReleaseOptions,
        StoreArguments,
    )
    from rocframe.io.logs import Logs
    from rocframe.reports.progress import Progress
    from rocframe.reports.report import ReportOptions


CURVES_FILE, AREAS_FILE, PAGE_FILE = "curves.parquet", "auc.parquet", "charts.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """The table to print, the files that were written, and the skipped logs with the reasons.

    `lacks_page` is True if the page was left out because vl-convert is not installed. `unused_keys`
    are columns of the logs that are usually group columns, such as "model", but that no option
    names. `summary` is a text to print below the table, and `warnings` are messages. `has_passed`
    is False if the release gate did not pass.
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
    folder: Path,
    progress: Progress,
    *,
    max_error: float | None = None,
    store: StoreArguments | None = None,
) -> CommandResult:
    """Compute the tables of `evaluate`, and write them and the page to a folder.

    The page is left out if vl-convert is not installed. With `max_error`, the curves in the table
    are simplified. With `store`, the logs are added to a store, and the tables are those of the
    store.
    """
    if max_error is not None:
        parse_max_error(max_error)
    results = [folder / CURVES_FILE, folder / AREAS_FILE]
    if store is None or store.store is None:
        logs = _open_sources(sources, options, progress, exclude=results)
        compute = partial(_evaluate, logs, options, progress)
    else:
        compute = partial(_evaluate_store, sources, options, store, folder, progress)
    if find_spec("vl_convert") is not None:
        results.append(folder / PAGE_FILE)
    with output_folder(folder, "--out", results):
        evaluation = compute()
        curves, about = evaluation.curves, evaluation.provenance
        if max_error is not None:
            curves = simplify(curves, max_error=max_error, kind=evaluation.options.kinds[0])
            about = {**about, "max_error": max_error}
        page = None
        if len(results) == 3:
            page = _page(evaluation, options, progress, files=(CURVES_FILE, AREAS_FILE))
        progress.step("Writing the files")
        write(curves, results[0], about=about)
        write(evaluation.areas, results[1], about=evaluation.provenance)
        if page is not None:
            write_text(results[2], page)
    return CommandResult(
        table=evaluation.areas,
        written=results,
        lacks_page=page is None,
        skipped=evaluation.provenance["files_skipped"],
        unused_keys=evaluation.unused_keys,
        summary=evaluation.summary,
        warnings=evaluation.warnings,
    )


def report_logs(
    sources: Sequence[str], options: EvaluationOptions, path: Path, progress: Progress
) -> CommandResult:
    """Compute the report of the logs, and write it as an HTML page to a file."""
    load_vl_convert("rocframe report")
    logs = _open_sources(sources, options, progress)
    check_page_path(path)
    evaluation = _evaluate(logs, options, progress)
    page = _page(evaluation, options, progress)
    progress.step("Writing the page")
    write_text(path, page)
    return CommandResult(
        table=evaluation.areas,
        written=[path],
        skipped=evaluation.provenance["files_skipped"],
        unused_keys=evaluation.unused_keys,
    )


def decide_logs(
    sources: Sequence[str], options: DecisionOptions, path: Path | None, progress: Progress
) -> CommandResult:
    """Choose a threshold for each group and rule; write the table to `path` if it is given."""
    arguments = options.rule_arguments()
    RuleOptions.parse(**arguments)  # an error in the options is raised before the logs are read
    written = [] if path is None else [path]
    logs = _open_sources(sources, options, progress, exclude=written)
    if path is not None:
        check_table_path(path)
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
        write(points, path, about=about)
    return CommandResult(
        table=points,
        written=written,
        skipped=dict(logs.skipped),
        unused_keys=roles.unused_keys(logs.columns),
    )


def gate_logs(
    sources: Sequence[str], options: ReleaseOptions, path: Path | None, progress: Progress
) -> CommandResult:
    """Test whether the new model is non-inferior; write the table to `path` if it is given.

    `sources` are the old and the new log, or one log with a column of scores of each model.
    """
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
        check_table_path(path)
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
    if path is not None:
        progress.step("Writing the file")
        about = {
            **roles.provenance(predictions),
            "score": options.score,
            "id": options.id,
            "options": {
                name: arguments[name]
                for name in ("margin", "metric", "level", "adjust", "min_rows")
            },
            **{f"files_{name}": log.files for name, log in zip((OLD, NEW), logs, strict=False)},
            "files_skipped": {file: why for log in logs for file, why in log.skipped.items()},
        }
        write(table, path, about=about)
    shared = {*logs[0].files} & {*logs[-1].files} if old_score == new_score else set()
    columns = set().union(*(log.columns for log in logs))
    if not side_by_side:
        columns -= {MODEL}  # each log has the predictions of one model
    return CommandResult(
        table=table,
        written=written,
        skipped={file: why for log in logs for file, why in log.skipped.items()},
        unused_keys=roles.unused_keys(columns) if options.id is None else [],
        summary=_gate_summary(table, options),
        warnings=[f"OLD and NEW contain the same file {format_name(min(shared))}."]
        if shared
        else (),
        has_passed=bool(table["passed"].all()),
    )


OLD, NEW = "old", "new"


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
    """Return the rows of both logs, and the name of the column with "old" or "new".

    The scores of the new log have the name of the old score.
    """
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
    if test.endswith("_unpaired") and options.method is None:
        reason = " The rows of the two logs are not paired, because --id is not given."
    lines.append(f"Test: {test}, level {options.level:g}, adjustment {options.adjust}.{reason}")
    return "\n".join(lines)


def _open_sources(
    sources: Sequence[str],
    options: LogOptions,
    progress: Progress,
    exclude: Sequence[Path] = (),
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


def _read_logs(logs: Logs, options: LogOptions, progress: Progress) -> tuple[pl.DataFrame, Logs]:
    """Read the columns that the options name, and return them with the logs that were read.

    The column of the widths of the scores of compressed logs is also read.
    """
    columns = options.required_columns()
    if options.count is not None and logs.has_column(SCORE_WIDTH):
        columns.setdefault(SCORE_WIDTH, "--count")
    n_files = len(logs.files)
    progress.step(f"Reading {n_files:,} files" if n_files > 1 else "Reading the log")
    return logs.read(columns, skip_unreadable=options.skip_unreadable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The predictions of the logs, their areas and curves, and the metadata of the tables."""

    predictions: pl.DataFrame
    options: ReportOptions
    areas: pl.DataFrame
    curves: pl.DataFrame
    provenance: dict[str, Any]
    unused_keys: list[str]
    subject: str
    summary: str | None = None
    warnings: Sequence[str] = ()


def _evaluate_store(
    sources: Sequence[str],
    options: EvaluationOptions,
    arguments: StoreArguments,
    out: Path,
    progress: Progress,
) -> Evaluation:
    """Add the logs to the store, and compute the areas and curves of its predictions."""
    stored = read_store(sources, options, arguments, out, progress)
    progress.expect(stored.options.n_steps + 1)  # the last step writes the files
    areas, curves = areas_and_curves(stored.predictions, stored.options, progress.step)
    return Evaluation(
        predictions=stored.predictions,
        options=stored.options,
        areas=areas,
        curves=curves,
        provenance={**stored.provenance, "rows_missing": _missing_rows(areas, stored.options)},
        unused_keys=stored.options.unused_keys(stored.columns),
        subject=Path(stored.provenance["store"]).name,
        summary="\n".join(filter(None, [stored.summary, rounding_note(areas, stored.provenance)])),
        warnings=stored.warnings,
    )


def _evaluate(logs: Logs, options: EvaluationOptions, progress: Progress) -> Evaluation:
    """Read the logs and compute the areas and curves."""
    predictions, logs = _read_logs(logs, options, progress)
    report_options = options.report_options(predictions.schema[options.label])
    progress.expect(report_options.n_steps + 1)  # the last step writes the files
    areas, curves = areas_and_curves(predictions, report_options, progress.step)
    return Evaluation(
        predictions=predictions,
        options=report_options,
        areas=areas,
        curves=curves,
        provenance={
            **report_options.provenance(predictions),
            "rows_missing": _missing_rows(areas, report_options),
            "files": logs.files,
            "files_skipped": dict(logs.skipped),
        },
        unused_keys=report_options.unused_keys(logs.columns),
        subject=_subject(logs.files),
    )


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
    options: EvaluationOptions,
    progress: Progress,
    files: tuple[str, str] | None = None,
) -> str:
    """Return the page as HTML."""
    title = f"Evaluation of {evaluation.subject}" if options.title is None else options.title
    tables = report_tables(
        evaluation.predictions,
        evaluation.options,
        evaluation.areas,
        evaluation.curves,
        progress.step,
    )
    provenance = {**evaluation.provenance, "unused_keys": evaluation.unused_keys}
    return report_page(
        tables,
        evaluation.options,
        title=title,
        provenance=provenance,
        files=files,
        on_step=progress.step,
    )
