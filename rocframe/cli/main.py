"""The command `rocframe`: options → work, and an exit code.

0 all went well, 1 an error of ours, 2 an error of the caller's in one short message, 130 Ctrl-C.
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rocframe.errors import RocframeError
from rocframe.frames import PLAN_MARK

if TYPE_CHECKING:
    from collections.abc import Callable

    from cyclopts import App

    from rocframe.cli.options import Options
    from rocframe.cli.tasks import Outcome, Task
    from rocframe.cli.terminal import Progress


FINE, WRONG, STOPPED = 0, 2, 130

# Messages speak of arguments, as Python has them; here they are options, or plain paths.
OPTIONS = "label|score|by|over|id|positive|weight|count|missing|kind|ci|level|path"

ASSIGNMENT = re.compile(rf"""(?<![\w.\-'"])({OPTIONS})=(?:(['"])(.*?)\2|(-?\w+(?:\.\d+)?))""")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments
        What stands after `rocframe` on the command line; by default, what stands there.
    """
    from cyclopts import CycloptsError

    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # some terminals have few letters
            stream.reconfigure(errors="backslashreplace")
    try:
        code = application()(given)
        sys.stdout.flush()
    except CycloptsError as error:
        return _refuse(f"{str(error).strip()}\nSee rocframe {_named(given)}--help.")
    except RocframeError as error:
        return _refuse(as_options(str(error).split(PLAN_MARK)[0]))
    except KeyboardInterrupt:
        print("rocframe: stopped. Files are as they were or complete.", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        # Whoever read our output has read enough. Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    return code if isinstance(code, int) else FINE


def _named(given: Sequence[str]) -> str:
    """Return which command was meant, if that can be told."""
    return f"{given[0]} " if given and given[0] in {"evaluate", "report"} else ""


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
    from rocframe.cli.options import Options

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

    @app.command
    def evaluate(
        *log: Annotated[str, Parameter(required=True)],
        options: Options,
        out: Annotated[Path, Parameter(metavar="FOLDER", alias="-o")],
    ) -> int:
        """Evaluate prediction logs: areas, curves, and a page with charts.

        Prints the area under each ROC curve, and writes auc.parquet, curves.parquet and
        charts.html to a folder.

        Parameters
        ----------
        log
            Files, globs and folders: Parquet, Arrow IPC or CSV, a row per prediction. Folders
            called key=value are columns.
        out
            Where the files go; made if it is not there.
        """
        from rocframe.cli.tasks import evaluate

        return _done(evaluate, log, options, out)

    @app.command
    def report(
        *log: Annotated[str, Parameter(required=True)],
        options: Options,
        out: Annotated[Path, Parameter(metavar="FILE", alias="-o")],
    ) -> int:
        """Write one page about prediction logs: areas, curves, and what they rest on.

        The page is one HTML file that needs no network. Prints the area under each ROC curve.

        Parameters
        ----------
        log
            Files, globs and folders: Parquet, Arrow IPC or CSV, a row per prediction. Folders
            called key=value are columns.
        out
            The page, in a folder that is there.
        """
        from rocframe.cli.tasks import report

        return _done(report, log, options, out)

    return app


def _done(
    work: "Callable[[Task, Path, Progress], Outcome]",
    logs: Sequence[str],
    options: "Options",
    out: Path,
) -> int:
    """Do what a command does, and say what came of it."""
    from rocframe.cli.terminal import Progress

    if options.no_count and options.count is not None:
        return _refuse("--count and --no-count exclude each other.")
    with Progress(quiet=options.quiet) as progress:
        outcome = work(options.task(logs), out.expanduser(), progress)
    _report(outcome, quiet=options.quiet)
    return FINE


def _report(outcome: "Outcome", *, quiet: bool) -> None:
    """Print what came of an evaluation."""
    from rocframe.cli.terminal import printed

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
