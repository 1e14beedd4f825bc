"""The commands, whose docstrings are the help texts: run a command and print its result.

The modules of tables are imported in functions, so that the help is shown without them.
"""

import gc
import os
import shutil
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rocframe.cli import NOT_PASSED, SUCCESS
from rocframe.cli.options import (
    CalibrateOptions,
    ComparisonOptions,
    DecisionOptions,
    EvaluationOptions,
    MonitoringOptions,
    ReleaseOptions,
    StoreEvaluationOptions,
)
from rocframe.text import escape_unprintable, format_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from polars import DataFrame

    from rocframe.cli.options import LogOptions
    from rocframe.cli.tasks import CommandResult
    from rocframe.reports.progress import Progress

FILES = (
    "Files, globs or folders of Parquet, Arrow IPC or CSV files with one row per prediction. If a "
    "folder is named day=5, its logs have a column day with the value 5."
)
AddedLog = Annotated[str, Parameter(help=f"{FILES} Not required with --store.")]
Log = Annotated[str, Parameter(help=f"{FILES} Not with --store.")]
TableFile = Annotated[
    Path | None,
    Parameter(
        metavar="FILE",
        alias="-o",
        help="File to write the table to, in an existing folder, such as table.json. The suffix is "
        ".json, .jsonl, .csv, .parquet or .arrow.",
    ),
]


def evaluate_command(
    *log: AddedLog,
    options: StoreEvaluationOptions,
    out: Annotated[Path | None, Parameter(metavar="FOLDER|FILE", alias="-o")] = None,
    max_error: Annotated[float | None, Parameter(metavar="NUMBER")] = None,
) -> int:
    """Print the AUC of each group, and write curves and a page with charts to a folder.

    The files in the folder are auc.parquet, curves.parquet and charts.html.

    Parameters
    ----------
    out
        Folder for the files, which is created if it does not exist, or file for the printed
        table: .json, .jsonl, .csv, .parquet or .arrow. Without a folder, no curves are
        computed.
    max_error
        Simplify the curves in curves.parquet. The number is the largest distance of a
        simplified curve of the first kind from the full curve, as a fraction of the length of
        an axis, such as 0.002. The page and the areas use the full curves.
    """
    from rocframe.cli.tasks import evaluate_logs

    return _run(partial(evaluate_logs, max_error=max_error), log, options, out)


def report_command(
    *log: Log,
    options: EvaluationOptions,
    out: Annotated[Path, Parameter(metavar="FILE", alias="-o")],
) -> int:
    """Write an HTML page with AUC, curves and charts.

    The page is one file that can be opened offline. The AUC of each group is printed.

    Parameters
    ----------
    out
        HTML file to write, in an existing folder.
    """
    from rocframe.cli.tasks import report_logs

    return _run(report_logs, log, options, out)


def decide_command(*log: Log, options: DecisionOptions, out: TableFile = None) -> int:
    """Choose a threshold for each group, by cost, profit or a metric, and print the table.

    Rows with score >= threshold are predicted positive. Without --rule, the thresholds have the
    highest Youden index. The printed thresholds are rounded to 6 significant digits; the file
    has all digits.
    """
    from rocframe.cli.tasks import decide_logs
    from rocframe.cli.text_tables import decisions_table

    return _run(decide_logs, log, options, out, decisions_table)


def compare_command(*log: Log, options: ComparisonOptions, out: TableFile = None) -> int:
    """Compare models in each group: the columns --score, or the values of --between."""
    from rocframe.cli.tasks import compare_logs
    from rocframe.cli.text_tables import models_table

    return _run(compare_logs, log, options, out, models_table)


def gate_command(*log: str, options: ReleaseOptions, out: TableFile = None) -> int:
    """Test in each group that a new model is not worse than the old one by a margin.

    Exit codes: 0 if the new model is shown to be non-inferior in every group, 1 if it is not
    shown in at least one group, 2 for an error in options or logs. A group that cannot be
    tested, for example because only one log contains it, does not pass.

    Parameters
    ----------
    log
        OLD NEW: the predictions of the old and of the new model, each a file, folder or glob
        (in quotes). The models can have different columns of scores; the first --score is the
        column in OLD. Or one log, or a store, with a score of each model: --score OLD_COLUMN
        --score NEW_COLUMN. With --baseline, any number of logs with the column --between or
        with several columns of scores.
    """
    from rocframe.cli.tasks import gate_logs
    from rocframe.cli.text_tables import release_table

    return _run(gate_logs, log, options, out, release_table)


def drift_command(*log: Log, options: MonitoringOptions, out: TableFile = None) -> int:
    """Compare the AUC of time windows with a reference, or the scores if there is no --label.

    Exit codes: 0 if no window fails, 1 if a window fails, 2 for an error in options or logs. A
    window that cannot be compared, for example because it has no positives, fails.
    """
    from rocframe.cli.tasks import drift_logs
    from rocframe.cli.text_tables import windows_table

    def text(table: "DataFrame", *, width: int | None) -> str:
        return windows_table(table, options, width=width)

    return _run(drift_logs, log, options, out, text)


def calibrate_command(*log: Log, options: CalibrateOptions, out: TableFile = None) -> int:
    """Print measures of the calibration of probabilities for each group."""
    from rocframe.cli.tasks import calibrate_logs
    from rocframe.cli.text_tables import probabilities_table

    return _run(calibrate_logs, log, options, out, probabilities_table)


COMMAND_FUNCTIONS: "dict[str, Callable[..., int]]" = {
    "evaluate": evaluate_command,
    "report": report_command,
    "decide": decide_command,
    "compare": compare_command,
    "gate": gate_command,
    "drift": drift_command,
    "calibrate": calibrate_command,
}


def _run(
    command: "Callable[[Sequence[str], Any, Any, Progress], CommandResult]",
    sources: "Sequence[str]",
    options: "LogOptions",
    out: Path | None,
    table_text: "Callable[..., str] | None" = None,
) -> int:
    """Run a command, print its result with `table_text`, and return the exit code."""
    from rocframe.cli.sources import check_outside_store
    from rocframe.io.files import local_path
    from rocframe.reports.evaluation import pooling_sentence
    from rocframe.reports.progress import Progress

    gc.enable()
    options.check(sources)
    if out is not None and options.store is not None:
        check_outside_store(out, options.store)
    with Progress(quiet=options.quiet, delay=0 if options.verbose else None) as progress:
        result = command(sources, options, None if out is None else local_path(out), progress)
    for file, reason in result.skipped.items():
        print_message(f"skipped {format_name(file)}: {reason}.")
    if unused := result.unused_keys:
        hint = (
            f"Add {' '.join(f'--by {name}' for name in unused)} to evaluate these rows separately."
        )
        print_message(f"{pooling_sentence(unused)} {hint}")
    for warning in result.warnings:
        print_message(warning)
    if result.lacks_page:
        hint = 'install it with pip install "rocframe[report]"'
        print_message(f"the page was not written, because vl-convert is not installed; {hint}.")
    with output():
        _print_result(result, options, table_text)
    return SUCCESS if result.has_passed else NOT_PASSED


def _print_result(
    result: "CommandResult", options: "LogOptions", table_text: "Callable[..., str] | None"
) -> None:
    """Print the table on stdout, and the summary and the names of files below it.

    If the table is for a program, stdout has nothing else, and the other texts are on stderr.
    """
    from rocframe.cli.formats import TEXT_FORMATS, print_table
    from rocframe.cli.text_tables import areas_table

    is_for_program = options.format in TEXT_FORMATS
    if options.format is not None and is_for_program:
        print_table(result.table, options.format)
    elif options.format is not None or not options.quiet:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(escape_unprintable((table_text or areas_table)(result.table, width=width)))
    if options.quiet:
        return
    texts = [] if result.summary is None else [escape_unprintable(result.summary)]
    if result.written:
        texts.append("\n".join(format_name(str(path)) for path in result.written))
    for text in texts:
        if is_for_program:
            print_to_stderr(text)
        else:
            print(f"\n{text}")


@contextmanager
def output() -> "Iterator[None]":
    """Write to stdout; a reader that ends early, such as `head`, does not change the exit code.

    Only errors of other files, such as those of `--install-completion`, have a file name.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
    except OSError as error:
        from rocframe.errors import StorageError
        from rocframe.io.files import error_reason

        if error.filename is not None:
            problem = f"the file cannot be written: {error_reason(error)}"
            hint = "Check the path, and the variable HOME."
            raise StorageError.compose(str(error.filename), problem, hint) from error
        _discard(sys.stdout)
        problem = f"the output cannot be written: {error_reason(error)}"
        raise StorageError.compose(
            "stdout", problem, "Redirect stdout to a file that can be written."
        ) from error


def _discard(stream: "TextIO") -> None:
    """Discard the rest of the output to a stream that failed; Python would report it at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_message(message: str) -> None:
    """Print a message to stderr; control characters of names would change the terminal."""
    print_to_stderr(f"rocframe: {escape_unprintable(message)}")


def print_to_stderr(text: str) -> None:
    """Print a text to stderr, if it can be written: it does not change the exit code."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)
