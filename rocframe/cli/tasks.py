"""The commands of the command line: compute tables of predictions, and write files.

The modules of pages and of the gate, which load Altair and scipy, are imported in functions, so
that other commands start without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from glob import has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.cli.formats import check_result_path, is_table_path, write_result
from rocframe.cli.options import NEW, OLD, adjustment, one_or_all, parse_bins_option, parse_value
from rocframe.cli.sources import read_inputs, read_old_and_new, unused_name
from rocframe.cli.text_tables import VERDICT_TEXTS, drift_summary
from rocframe.compression import compress, with_equal_widths
from rocframe.curves.curve import curve
from rocframe.curves.simplify import parse_max_error
from rocframe.decisions.operating_point import RuleOptions, operating_point
from rocframe.errors import LogError, OptionValueError
from rocframe.inputs.windows import windows
from rocframe.io.files import output_folder, write_text
from rocframe.io.logs import LOG_FORMATS
from rocframe.io.tables import write
from rocframe.options import NOT_GIVEN
from rocframe.reports.curves_file import curves_file
from rocframe.reports.grouped_curves import has_many_rows, report_areas, report_curves
from rocframe.schemas.table_type import MODEL, WINDOW
from rocframe.text import format_count, format_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocframe.cli.options import (
        CalibrateOptions,
        ComparisonOptions,
        DecisionOptions,
        EvaluationOptions,
        ModelOptions,
        MonitoringOptions,
        ReleaseOptions,
        StoreEvaluationOptions,
    )
    from rocframe.cli.sources import Inputs
    from rocframe.reports.evaluation import ReportOptions
    from rocframe.reports.grouped_curves import GroupedCurves
    from rocframe.reports.progress import Progress

CURVES_FILE, AREAS_FILE, PAGE_FILE = "curves.parquet", "auc.parquet", "charts.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """The table to print, the files that were written, and the skipped logs with the reasons.

    `lacks_page` is True without vl-convert. `unused_keys` are columns that are usually keys, but
    that no option names. `summary` is text below the table. `has_passed` is False if a group or a
    window fails.
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
    read = partial(read_inputs, sources, options, progress, exclude=results, categorical_keys=True)
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
        inputs, about, page = evaluation.inputs, evaluation.provenance, None
        with curves_file(
            results[0],
            about,
            kind=inputs.options.kinds[0],
            max_error=max_error,
            compares_sizes=options.store is None
            and has_many_rows(inputs.predictions, inputs.options),
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
    check_page_path(path)
    evaluation = _evaluate(read_inputs(sources, options, progress, categorical_keys=True), progress)
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
    """Test whether new models are non-inferior; write the table to `path` if it is given.

    `sources` are the old and the new log, or logs with a column of scores of each model, or, with
    `between`, with a row for each model.
    """
    from rocframe.comparisons.gate import gate

    has_names = options.between is not None or options.baseline is not None
    if not has_names:
        _check_old_and_new(sources, options)
    is_pair = not has_names and len(sources) == 2
    side_by_side = options.between is None and not is_pair
    method = options.gate_method(side_by_side=side_by_side)
    exclude = _result_paths(path)
    if is_pair:
        inputs, log = read_old_and_new(sources, options, progress, exclude=exclude)
        models: dict[str, Any] = {"between": log, "id": one_or_all(options.id), "baseline": OLD}
    else:
        inputs = read_inputs(sources, options, progress, exclude=exclude)
        inputs, models = _named_models(inputs, options)
        if not has_names:
            scores = dict(zip((OLD, NEW), inputs.options.scores.values(), strict=True))
            models = {"score": scores, "baseline": OLD}
    progress.step("Testing the groups")
    arguments = _model_arguments(inputs, options, models, () if has_names else (OLD, NEW))
    table = gate(
        inputs.predictions, method=method, **_column_arguments(inputs) | models, **arguments
    )
    order = pl.col("verdict").replace_strict(
        list(VERDICT_TEXTS), range(len(VERDICT_TEXTS)), return_dtype=pl.Int64
    )
    return _tabulated(
        inputs,
        table.sort(order, maintain_order=True),
        path,
        _model_metadata(options, arguments),
        progress,
        summary=_gate_summary(table, options, is_pair=is_pair),
        has_passed=bool(table["passed"].all()),
    )


def compare_logs(
    sources: Sequence[str], options: ComparisonOptions, path: Path | None, progress: Progress
) -> CommandResult:
    """Compare models with each other; write the table to `path` if it is given."""
    from rocframe.comparisons.compare import compare

    inputs = read_inputs(sources, options, progress, exclude=_result_paths(path))
    inputs, models = _named_models(inputs, options)
    progress.step("Comparing the models")
    arguments = _model_arguments(inputs, options, models)
    method = NOT_GIVEN if options.method is None else options.method
    table = compare(
        inputs.predictions, method=method, **_column_arguments(inputs) | models, **arguments
    )
    metadata = _model_metadata(options, arguments)
    summary = _test_sentence(table, options)
    return _tabulated(inputs, table, path, metadata, progress, summary=summary)


def _named_models(inputs: Inputs, options: ModelOptions) -> tuple[Inputs, dict[str, Any]]:
    """Return the predictions, and the arguments about models, which are columns or values."""
    between = options.between
    if between is None:
        if len(options.score) == 1:
            problem = "expected the scores of several models"
            hint = (
                "Repeat the option, as in --score old --score new, or pass the column of the "
                "models as --between."
            )
            raise OptionValueError.compose("score", options.score[0], problem, hint)
        return inputs, {"baseline": options.baseline}
    predictions, name = inputs.predictions, between
    if between == MODEL and options.id is None:
        # In a column named "model", the package expects models that scored the same rows.
        name = unused_name("models", predictions.columns)
        inputs = replace(inputs, predictions=predictions.rename({between: name}))
    baseline = parse_value(options.baseline, predictions.schema[between])
    return inputs, {"between": name, "id": one_or_all(options.id), "baseline": baseline}


def _model_arguments(
    inputs: Inputs, options: ModelOptions, models: Mapping[str, Any], pair: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the arguments of `gate` and `compare` except columns, models and `method`."""
    between = models.get("between")
    return options.arguments(None if between is None else inputs.predictions.schema[between], pair)


def _model_metadata(options: ModelOptions, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a comparison of models for the metadata."""
    names = ("between", "baseline", "id")
    given = {name: getattr(options, name) for name in names} | dict(arguments)
    if isinstance(given["threshold"], Mapping):
        given["threshold"] = {str(model): value for model, value in given["threshold"].items()}
    return given


def _column_arguments(inputs: Inputs) -> dict[str, Any]:
    """Return the arguments of functions of predictions about columns."""
    return {**inputs.options.roles, "by": inputs.options.keys or None}


def drift_logs(
    sources: Sequence[str], options: MonitoringOptions, path: Path | None, progress: Progress
) -> CommandResult:
    """Compare windows with a reference; write the table to `path` if it is given."""
    from rocframe.comparisons.drift import drift
    from rocframe.comparisons.score_drift import score_drift

    exclude = _result_paths(path)
    inputs = read_inputs(sources, options, progress, exclude=exclude)
    over = options.over or inputs.partition_by
    if over is None:
        hint = "Pass the column of the windows as --over, one of the group columns of the store."
        raise OptionValueError(f"--store {options.store}: the store has no --partition-by.\n{hint}")
    rows, dtype = inputs.predictions, inputs.predictions.schema[over]
    if options.every is not None:
        lengths: dict[str, Any] = {
            name: _length(text, dtype)
            for name in ("every", "period", "offset")
            if (text := getattr(options, name)) is not None
        }
        rows = windows(rows, over, **lengths)
        over = WINDOW
    reference, tables = _reference_argument(options.reference, rows[over]), [rows]
    if isinstance(reference, Path):
        inputs, of_reference = _read_reference(inputs, options, exclude, progress)
        tables.append(of_reference)
    if inputs.provenance.get("max_envelope") is not None:
        names = map(str, inputs.options.scores.values())
        tables = with_equal_widths(tables, inputs.options.keys, [*names])
    rows, *files = tables
    arguments: dict[str, Any] = {
        **_column_arguments(inputs),
        "over": over,
        "reference": files[0] if files else reference,
        "level": options.level,
        "adjust": adjustment(options.adjust),
        "min_rows": options.min_rows,
    }
    progress.step("Comparing the windows")
    if options.label is None:
        del arguments["label"], arguments["positive"]
        bins = 10 if options.bins is None else parse_bins_option(options.bins)
        table = score_drift(rows, bins=bins, **arguments)
    else:
        table = drift(rows, margin=options.margin, **arguments)
    table = options.add_verdicts(table)
    return _tabulated(
        inputs,
        table,
        path,
        {name: getattr(options, name) for name in WINDOW_OPTIONS},
        progress,
        summary=drift_summary(table, options),
        has_passed=bool(table["passed"].all()),
    )


WINDOW_OPTIONS = (
    *("over", "every", "period", "offset", "reference", "margin", "level", "adjust"),
    *("min_rows", "bins", "max_missing"),
)


def _length(text: str, dtype: pl.DataType) -> str | int:
    """Return the length of a window, as an integer if the times are integers."""
    try:
        return int(text) if dtype.is_integer() else text
    except ValueError:
        return text  # `windows` raises an error


def _reference_argument(text: str, windows: pl.Series) -> object:
    """Return the argument `reference` of `drift`, or a path of files."""
    value = parse_value(text, windows.dtype)
    if text in ("first", "previous"):
        return value
    is_window = value in windows.unique().to_list()
    if is_window and Path(text).exists():
        problem = "this is a window, and also a file or folder"
        hint = f"For the files, pass ./{text}. For the window, rename the files."
        raise OptionValueError.compose("reference", text, problem, hint)
    is_path = Path(text).suffix.lower() in LOG_FORMATS or has_magic(text) or Path(text).exists()
    return Path(text) if is_path and not is_window else value


def _read_reference(
    inputs: Inputs, options: MonitoringOptions, exclude: Sequence[Path], progress: Progress
) -> tuple[Inputs, pl.DataFrame]:
    """Return the inputs with the files of the reference, and its rows, compressed as a store."""
    stored, store = inputs.provenance, options.store
    options = replace(options, store=None, since=None, until=None, last=None, over=None)
    if store is not None:
        positive = stored["positive"]
        options = replace(
            options,
            positive=positive if isinstance(positive, str) else None,
            weight=stored["weight"],
            count=stored["count"],
        )
    reference = read_inputs([options.reference], options, progress, exclude=exclude)
    rows = reference.predictions
    if store is not None:
        roles = reference.options.roles
        del roles["missing"]
        rows = compress(
            rows,
            **roles | {"label": pl.lit(value=False) if options.label is None else options.label},
            by=reference.options.keys or None,
            **{name: stored[name] for name in ("resolution", "relative")},
        )
    files = {
        "files_reference": reference.provenance["files"],
        "files_skipped": inputs.skipped | reference.skipped,
    }
    warnings = [*inputs.warnings, *reference.warnings]
    return replace(inputs, provenance={**stored, **files}, warnings=warnings), rows


def calibrate_logs(
    sources: Sequence[str], options: CalibrateOptions, path: Path | None, progress: Progress
) -> CommandResult:
    """Compute measures of calibration; write the table to `path` if it is given."""
    from rocframe.probabilities.calibration_summary import calibration_summary

    bins = parse_bins_option(options.bins)
    inputs = read_inputs(sources, options, progress, exclude=_result_paths(path))
    progress.step("Computing the calibration")
    table = calibration_summary(
        inputs.predictions, **_column_arguments(inputs), bins=bins, method=options.method
    )
    metadata = {"bins": bins, "method": options.method}
    return _tabulated(inputs, table, path, metadata, progress)


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
    metadata: Mapping[str, Any],
    progress: Progress,
    *,
    summary: str | None = None,
    has_passed: bool = True,
) -> CommandResult:
    """Return the result of a command with this table, which is written to `path`, if given."""
    if path is not None:
        progress.step("Writing the file")
        given = {name: value for name, value in metadata.items() if value not in (None, {}, [])}
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


def _check_old_and_new(sources: Sequence[str], options: ReleaseOptions) -> None:
    """Raise an error unless there are two logs, or one with two scores."""
    scores = options.score
    if len(sources) > 2:
        hint = (
            "Pass the old and the new log, each a file, a folder, or a glob in quotes; or logs "
            "with the column of the models as --between, and --baseline."
        )
        raise LogError.compose(sources[2], "expected two logs, OLD and NEW", hint)
    if len(sources) < 2 and len(scores) != 2:
        problem = "with one log, expected two columns of scores"
        hint = (
            "Pass the new log as well, the score of the old and of the new model: --score old "
            "--score new; or the column of the models as --between, and --baseline."
        )
        raise OptionValueError.compose("score", scores[0], problem, hint)
    if len(scores) > 2:
        hint = "Pass the score of the old and of the new model."
        raise OptionValueError.compose("score", scores[2], "expected one or two columns", hint)


def _gate_summary(table: pl.DataFrame, options: ReleaseOptions, *, is_pair: bool) -> str:
    """Return the decision as a sentence, and the test."""
    counts = table.filter(pl.col("passed").is_not_null())
    failing = counts.height - int(counts["passed"].sum())
    models = table["model_new"].unique()
    is_single = len(models) == 1
    groups = format_count(counts.height, "group" if is_single else "comparison")
    old, new = "OLD", "NEW"
    if options.baseline is not None:
        old = format_name(options.baseline)
        new = format_name(str(models[0])) if is_single else "each new model"
    lines = [
        f"PASS: {new} is non-inferior to {old} in {groups}."
        if not failing
        else f"FAIL: {new} is not shown to be non-inferior to {old} in {failing:,} of {groups}."
    ]
    if ignored := table.height - counts.height:
        verb = "does" if ignored == 1 else "do"
        lines[0] += f" {format_count(ignored, 'group')} {verb} not count (--min-rows)."
    return "\n".join([*lines, _test_sentence(table, options, is_pair=is_pair)])


def _test_sentence(
    table: pl.DataFrame, options: ReleaseOptions | ComparisonOptions, *, is_pair: bool = False
) -> str:
    """Return the tests of a table, and why they are unpaired."""
    from rocframe.comparisons.comparison_tests import COMPARISON_TESTS
    from rocframe.comparisons.gate import GATE_TESTS

    tests = table["test"].drop_nulls().unique(maintain_order=True).to_list()
    reason, known = "", {**COMPARISON_TESTS, **GATE_TESTS}
    if options.method is None and any(
        test in known and not known[test].is_paired for test in tests
    ):
        rows = "rows of the two logs" if is_pair else "compared rows"
        cause = "--id is not given" if options.store is None else "a store merges equal rows"
        reason = f" The {rows} are not paired, because {cause}."
    names = ", ".join(tests) or "none"
    return f"Test: {names}, level {options.level:g}, adjustment {options.adjust}.{reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The areas of predictions, and the metadata of the tables."""

    inputs: Inputs
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
            skipped=self.inputs.skipped,
            unused_keys=self.inputs.unused_keys,
            summary="\n".join(filter(None, lines)) or None,
            warnings=[*self.inputs.warnings, *filter(None, [warning])],
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
