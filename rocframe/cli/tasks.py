"""The commands of the command line: compute tables of predictions, and write files.

The modules of pages and of the gate, which load Altair and scipy, are imported in functions, so
that other commands start without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.cli.formats import check_result_path, is_table_path, write_result
from rocframe.cli.options import NEW, OLD, one_or_all
from rocframe.cli.sources import read_inputs, read_old_and_new
from rocframe.cli.text_tables import VERDICT_TEXTS
from rocframe.curves.curve import curve
from rocframe.curves.simplify import parse_max_error, simplify
from rocframe.decisions.operating_point import RuleOptions, operating_point
from rocframe.errors import LogError, OptionValueError
from rocframe.io.files import output_folder, write_text
from rocframe.io.tables import write
from rocframe.reports.evaluation import report_areas, report_curves
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rocframe.cli.options import (
        DecisionOptions,
        EvaluationOptions,
        ReleaseOptions,
        StoreEvaluationOptions,
    )
    from rocframe.cli.sources import Inputs
    from rocframe.reports.evaluation import ReportOptions
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
    options: StoreEvaluationOptions,
    out: Path | None,
    progress: Progress,
    *,
    max_error: float | None = None,
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
    read = partial(read_inputs, sources, options, progress, exclude=results)
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
    read: Callable[[], Inputs],
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
        all_curves = evaluation.curves(progress)
        curves, about = all_curves, evaluation.provenance
        if max_error is not None:
            kind = evaluation.inputs.options.kinds[0]
            curves = simplify(all_curves, max_error=max_error, kind=kind)
            about = {**about, "max_error": max_error}
        page = None
        if len(results) == 3:
            files = (CURVES_FILE, AREAS_FILE)
            page = _page(evaluation, all_curves, options, progress, files)
        progress.step("Writing the files")
        write(curves, results[0], about=about)
        write(evaluation.areas, results[1], about=evaluation.provenance)
        if page is not None:
            write_text(results[2], page)
    return evaluation.result(results, lacks_page=page is None)


def report_logs(
    sources: Sequence[str], options: EvaluationOptions, path: Path, progress: Progress
) -> CommandResult:
    """Compute the report of the logs, and write it as an HTML page to a file."""
    from rocframe.reports.export import load_vl_convert
    from rocframe.reports.report import check_page_path

    load_vl_convert("rocframe report")
    check_page_path(path)
    evaluation = _evaluate(read_inputs(sources, options, progress), progress)
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
    inputs = read_inputs(sources, options, progress, exclude=_result_paths(path))
    roles = inputs.options
    progress.step("Computing the curves")
    curves = curve(inputs.predictions, **roles.roles, by=roles.keys or None)
    progress.step("Choosing the thresholds")
    points = operating_point(curves, **arguments)
    return _tabulated(inputs, points, path, arguments, progress)


def gate_logs(
    sources: Sequence[str], options: ReleaseOptions, path: Path | None, progress: Progress
) -> CommandResult:
    """Test whether the new model is non-inferior; write the table to `path` if it is given.

    `sources` are the old and the new log, or one log with a column of scores of each model.
    """
    from rocframe.comparisons.gate import gate

    if len(sources) > 2:
        hint = "Pass the old and the new log, each a file, a folder, or a glob in quotes."
        raise LogError.compose(sources[2], "expected two logs, OLD and NEW", hint)
    old_score, new_score = _two_scores(sources, options)
    side_by_side = len(sources) < 2
    method = options.gate_method(side_by_side=side_by_side)
    if side_by_side:
        inputs = read_inputs(sources, options, progress, exclude=_result_paths(path))
        models: dict[str, Any] = {
            "score": {OLD: inputs.options.scores[old_score], NEW: inputs.options.scores[new_score]}
        }
    else:
        inputs, log = read_old_and_new(sources, options, progress, exclude=_result_paths(path))
        models = {"between": log, "id": one_or_all(options.id)}
    progress.step("Testing the groups")
    arguments = options.gate_arguments()
    table = gate(
        inputs.predictions,
        baseline=OLD,
        method=method,
        by=inputs.options.keys or None,
        **{**inputs.options.roles, **models},
        **arguments,
    )
    order = pl.col("verdict").replace_strict(
        list(VERDICT_TEXTS), range(len(VERDICT_TEXTS)), return_dtype=pl.Int64
    )
    return _tabulated(
        inputs,
        table.sort(order, maintain_order=True),
        path,
        {"id": options.id, **arguments},
        progress,
        summary=_gate_summary(table, options),
        has_passed=bool(table["passed"].all()),
    )


def _result_paths(path: Path | None) -> list[Path]:
    """Return the path of a result as a list, after a check of the path."""
    if path is None:
        return []
    check_result_path(path)
    return [path]


def _tabulated(
    inputs: Inputs,
    table: pl.DataFrame,
    path: Path | None,
    arguments: Mapping[str, Any],
    progress: Progress,
    *,
    summary: str | None = None,
    has_passed: bool = True,
) -> CommandResult:
    """Return the result of a command with this table, which is written to `path`, if given."""
    if path is not None:
        progress.step("Writing the file")
        given = {name: value for name, value in arguments.items() if value not in (None, {}, [])}
        write_result(table, path, {**inputs.provenance, "options": given})
    return CommandResult(
        table=table,
        written=[] if path is None else [path],
        skipped=inputs.skipped,
        unused_keys=inputs.unused_keys,
        summary="\n".join(filter(None, (inputs.summary, summary))) or None,
        warnings=inputs.warnings,
        has_passed=has_passed,
    )


def _two_scores(sources: Sequence[str], options: ReleaseOptions) -> tuple[str, str]:
    """Return the columns of the old and the new score."""
    scores = options.score
    if len(sources) < 2 and len(scores) != 2:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The areas of predictions, and the metadata of the tables."""

    inputs: Inputs
    areas: pl.DataFrame
    provenance: dict[str, Any]

    def curves(self, progress: Progress) -> pl.DataFrame:
        """Compute the curves."""
        return report_curves(self.inputs.predictions, self.inputs.options, progress.step)

    def result(self, written: list[Path], *, lacks_page: bool = False) -> CommandResult:
        """Return the result of a command that has written these files."""
        lines = [self.inputs.summary, rounding_note(self.areas, self.provenance)]
        return CommandResult(
            table=self.areas,
            written=written,
            lacks_page=lacks_page,
            skipped=self.inputs.skipped,
            unused_keys=self.inputs.unused_keys,
            summary="\n".join(filter(None, lines)) or None,
            warnings=self.inputs.warnings,
        )


def _evaluate(inputs: Inputs, progress: Progress, *, n_steps: int | None = None) -> Evaluation:
    """Compute the areas; the number of further steps is that of a page by default."""
    # The last step writes the files.
    progress.expect(inputs.options.n_steps + 1 if n_steps is None else n_steps)
    areas = report_areas(inputs.predictions, inputs.options, progress.step)
    provenance = {**inputs.provenance, "rows_missing": _missing_rows(areas, inputs.options)}
    return Evaluation(inputs=inputs, areas=areas, provenance=provenance)


def _missing_rows(areas: pl.DataFrame, options: ReportOptions) -> int | dict[str, int]:
    """Return the number of rows with missing values; for several score columns, of each model."""
    if not isinstance(options.score, Mapping):
        return int(areas["n_missing"].sum())
    counts = areas.group_by(MODEL).agg(pl.col("n_missing").sum()).sort(MODEL)
    return dict(zip(counts[MODEL], counts["n_missing"], strict=True))


def _page(
    evaluation: Evaluation,
    curves: pl.DataFrame,
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
