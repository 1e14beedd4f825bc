"""The commands `evaluate` and `report`: read logs, compute tables, write files."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.curves.simplify import parse_max_error, simplify
from rocframe.errors import AmbiguousCountError, StorageError
from rocframe.io.files import check_target, write_text
from rocframe.io.logs import find_logs, open_logs
from rocframe.io.tables import write
from rocframe.reports.offline_script import load_vl_convert
from rocframe.reports.page import report_page
from rocframe.reports.report import check_page_path
from rocframe.reports.report_tables import areas_and_curves, group_columns, report_tables
from rocframe.schemas import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocframe.cli.options import CommandOptions
    from rocframe.cli.terminal import Progress
    from rocframe.io.logs import Logs
    from rocframe.reports.report import ReportOptions


CURVES_FILE, AREAS_FILE, PAGE_FILE = "curves.parquet", "auc.parquet", "charts.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The table of areas, the files written, and the logs skipped with the reasons.

    `unused_keys` are columns such as "model" that no option names.
    """

    areas: pl.DataFrame
    written: list[Path]
    has_page: bool
    skipped: dict[str, str]
    unused_keys: list[str]


def evaluate_logs(
    sources: Sequence[str],
    options: CommandOptions,
    folder: Path,
    progress: Progress,
    max_error: float | None = None,
) -> Outcome:
    """Write the tables to a folder, and the page if vl-convert is installed.

    With `max_error`, the curves in the table are simplified.
    """
    if max_error is not None:
        parse_max_error(max_error)
    results = [folder / CURVES_FILE, folder / AREAS_FILE]
    logs = _open_sources(sources, options, progress, exclude=results)
    if find_spec("vl_convert") is not None:
        results.append(folder / PAGE_FILE)
    with _output_folder(folder, results):
        evaluation = _evaluate(logs, options, progress)
        curves, about = evaluation.curves, evaluation.provenance
        if max_error is not None:
            curves = simplify(curves, max_error=max_error, kind=evaluation.options.kinds[0])
            about = {**about, "max_error": max_error}
        page = None
        if len(results) == 3:
            progress.step("Drawing the page")
            page = _page(evaluation, options, files=(CURVES_FILE, AREAS_FILE))
        progress.step("Writing the files")
        write(curves, results[0], about=about)
        write(evaluation.areas, results[1], about=evaluation.provenance)
        if page is not None:
            write_text(results[2], page)
    return Outcome(
        areas=evaluation.areas,
        written=results,
        has_page=page is not None,
        skipped=evaluation.provenance["files_skipped"],
        unused_keys=evaluation.unused_keys,
    )


def report_logs(
    sources: Sequence[str], options: CommandOptions, path: Path, progress: Progress
) -> Outcome:
    """Write the page to a file."""
    load_vl_convert("rocframe report")
    logs = _open_sources(sources, options, progress)
    check_page_path(path)
    evaluation = _evaluate(logs, options, progress)
    progress.step("Drawing the page")
    write_text(path, _page(evaluation, options))
    return Outcome(
        areas=evaluation.areas,
        written=[path],
        has_page=True,
        skipped=evaluation.provenance["files_skipped"],
        unused_keys=evaluation.unused_keys,
    )


def _open_sources(
    sources: Sequence[str],
    options: CommandOptions,
    progress: Progress,
    exclude: Sequence[Path] = (),
) -> Logs:
    """Find the logs, and check that they have the columns that the options name."""
    columns = options.required_columns()
    progress.step("Finding the logs")
    files = find_logs(sources, exclude=exclude)
    logs = open_logs(
        files,
        skip_unreadable=options.skip_unreadable,
        on_file=lambda number: progress.count("Opening file", number, len(files)),
    )
    if options.count is None and not options.no_count and logs.has_column("count"):
        raise AmbiguousCountError(
            "--count: the log has a column named 'count', which may hold the number of rows that "
            "each row represents.\n"
            "Pass --count count if it does, or --no-count if it does not."
        )
    logs.scan(columns)
    return logs


@contextmanager
def _output_folder(folder: Path, files: Sequence[Path]) -> Iterator[None]:
    """Create the folder, and remove it if the block fails; check that the files can be written."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the folder cannot be created: {error.strerror or error}"
        raise StorageError.compose(
            folder, problem, "Pass the name of a folder as --out."
        ) from error
    try:
        for file in files:
            check_target(file)
        yield
    except BaseException:
        with suppress(OSError):  # a folder that contains files is not removed
            for path in new:
                path.rmdir()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The predictions of the logs, their areas and curves, and the metadata of the tables."""

    predictions: pl.DataFrame
    options: ReportOptions
    areas: pl.DataFrame
    curves: pl.DataFrame
    provenance: dict[str, Any]
    unused_keys: list[str]


def _evaluate(logs: Logs, options: CommandOptions, progress: Progress) -> Evaluation:
    """Read the logs and compute the areas and curves."""
    n_files = len(logs.files)
    progress.step(f"Reading {n_files:,} files" if n_files > 1 else "Reading the log")
    predictions, logs = logs.read(
        options.required_columns(), skip_unreadable=options.skip_unreadable
    )
    report_options = options.report_options(predictions.schema[options.label])
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
    )


def _missing_rows(areas: pl.DataFrame, options: ReportOptions) -> int | dict[str, int]:
    """Count the rows with missing values; for several score columns, those of each model."""
    if MODEL not in group_columns(areas) or MODEL in options.keys:
        return int(areas["n_missing"].sum())
    counts = areas.group_by(MODEL).agg(pl.col("n_missing").sum()).sort(MODEL)
    return dict(zip(counts[MODEL], counts["n_missing"], strict=True))


def _page(
    evaluation: Evaluation, options: CommandOptions, files: tuple[str, str] | None = None
) -> str:
    """Return the page as HTML."""
    title, logs = options.title, evaluation.provenance["files"]
    if title is None:
        title = f"Evaluation of {Path(logs[0]).name if len(logs) == 1 else f'{len(logs):,} files'}"
    tables = report_tables(
        evaluation.predictions, evaluation.options, evaluation.areas, evaluation.curves
    )
    provenance = {**evaluation.provenance, "unused_keys": evaluation.unused_keys}
    return report_page(tables, evaluation.options, title=title, provenance=provenance, files=files)
