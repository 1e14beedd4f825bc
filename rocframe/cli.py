"""The command `rocframe`: options → work, and an exit code.

0 all went well, 1 an error of ours, 2 an error of the caller's in one short message, 130 Ctrl-C.
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rocframe.errors import RocframeError
from rocframe.frames import PLAN

if TYPE_CHECKING:
    from cyclopts import App

    from rocframe.command.evaluate import Outcome

FINE, WRONG, STOPPED = 0, 2, 130

# Messages speak of arguments, as Python has them; here they are options, or plain paths.
OPTIONS = "label|score|by|positive|weight|count|missing|kind|ci|level|path"
ASSIGNMENT = re.compile(rf"""(?<![\w.\-'"])({OPTIONS})=(?:(['"])(.*?)\2|(-?\w+(?:\.\d+)?))""")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments
        What stands after `rocframe` on the command line; by default, what stands there.
    """
    from cyclopts import CycloptsError

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # some terminals have few letters
            stream.reconfigure(errors="backslashreplace")
    try:
        code = application()(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except CycloptsError as error:
        return _refuse(f"{str(error).strip()}\nSee rocframe evaluate --help.")
    except RocframeError as error:
        return _refuse(as_options(str(error).split(PLAN)[0]))
    except KeyboardInterrupt:
        print("rocframe: stopped. Files are as they were or complete.", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        # Whoever read our output has read enough. Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    return code if isinstance(code, int) else FINE


def as_options(message: str) -> str:
    """Write the arguments in a message as options of the command."""

    def option(found: re.Match[str]) -> str:
        name, quoted, bare = found[1], found[3], found[4]
        if bare == "None":
            return "--no-count" if name == "count" else f"no --{name}"
        value = bare if quoted is None else quoted
        if name == "path":
            return value
        return f"--{name} {repr(value) if ' ' in value or not value else value}"

    return ASSIGNMENT.sub(option, message)


def application() -> "App":
    """Describe the command line."""
    from cyclopts import App, Parameter

    import rocframe as rf

    app = App(
        name="rocframe",
        help="Evaluation curves of scoring classifiers: prediction logs in, tables out.",
        version=rf.__version__,
        help_format="markdown",
        # No --no-quiet and --empty-by beside every option.
        default_parameter=Parameter(negative=()),
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    column, flag = Parameter(metavar="COLUMN"), Parameter(show_default=False)

    @app.command
    def evaluate(
        *log: Annotated[str, Parameter(required=True)],
        label: Annotated[str, column],
        score: Annotated[list[str], column],
        out: Annotated[Path, Parameter(metavar="FOLDER", alias="-o")],
        by: Annotated[list[str] | None, column] = None,
        positive: Annotated[
            str | None, Parameter(metavar="VALUE", allow_leading_hyphen=True)
        ] = None,
        weight: Annotated[str | None, column] = None,
        count: Annotated[str | None, column] = None,
        no_count: Annotated[bool, flag] = False,
        missing: Literal["raise", "drop", "worst"] = "raise",
        kind: Annotated[
            list[Literal["roc", "precision_recall", "pr", "det", "gain", "lift", "lift_chart"]]
            | None,
            Parameter(metavar="KIND"),
        ] = None,
        ci: Literal["logit_delong", "delong", "newcombe", "none"] = "logit_delong",
        level: Annotated[float, Parameter(metavar="SHARE")] = 0.95,
        title: Annotated[str | None, Parameter(metavar="TEXT")] = None,
        skip_unreadable: Annotated[bool, flag] = False,
        quiet: Annotated[bool, Parameter(alias="-q", show_default=False)] = False,
    ) -> int:
        """Evaluate prediction logs: areas, curves, and a page with charts.

        Prints the area under each ROC curve, and writes auc.parquet, curves.parquet and
        charts.html to a folder.

        Parameters
        ----------
        log
            Files, globs and folders: Parquet, Arrow IPC or CSV, a row per prediction. Folders
            called key=value are columns.
        label
            The truth: Boolean, or 0 and 1, or anything with --positive.
        score
            Higher means more positive. Say it again to compare columns as models.
        out
            Where the files go; made if it is not there.
        by
            A group column: a curve per group. Say it again for more.
        positive
            The label that is the positive class.
        weight
            How much a row counts.
        count
            How many identical rows a row stands for.
        no_count
            The column count of the log is nothing of the kind.
        missing
            Rows whose label, score or weight is missing: an error, left out and counted, or
            (scores only) counted against the model.
        kind
            Curves on the page; roc and precision_recall if nothing is said. The first gives the
            axes of the table, the others are columns of it.
        ci
            How the interval of an area is worked out.
        level
            The level of the interval.
        title
            The title of the page.
        skip_unreadable
            Leave out files that are empty, cut short or damaged, and say so.
        quiet
            Print nothing but errors.
        """
        from rocframe.command.evaluate import Task, evaluate
        from rocframe.command.progress import Progress

        if no_count and count is not None:
            return _refuse("--count and --no-count exclude each other.")
        task = Task(
            logs=log,
            label=label,
            scores=score,
            by=by or (),
            positive=positive,
            weight=weight,
            count=None if no_count else ... if count is None else count,
            missing=missing,
            kinds=kind or ("roc", "precision_recall"),
            ci=None if ci == "none" else ci,
            level=level,
            out=out.expanduser(),
            title=title,
            skip_unreadable=skip_unreadable,
        )
        with Progress(quiet=quiet) as progress:
            outcome = evaluate(task, progress)
        _report(outcome, quiet=quiet)
        return FINE

    return app


def _report(outcome: "Outcome", *, quiet: bool) -> None:
    """Print what came of an evaluation."""
    from rocframe.command.printed import printed

    for file, why in outcome.skipped.items():
        print(f"rocframe: {file} is left out: {why}.", file=sys.stderr)
    if outcome.page_lacks:
        print(
            'rocframe: no page is written; it needs `pip install "rocframe[report]"`.',
            file=sys.stderr,
        )
    if quiet:
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(printed(outcome.areas, width=width))
    print()
    for path in outcome.written:
        print(path)


def _refuse(message: str) -> int:
    print(f"rocframe: {message}", file=sys.stderr)
    return WRONG
