"""The command `rocframe`: parse the command line, run a command, return the exit code.

Exit codes: 0 for success, 2 for an error of the user (one short message), 130 for Ctrl-C. Any other
error is a bug and shows its traceback.
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rocframe.errors import RocframeError
from rocframe.frames import PLAN_MARK
from rocframe.io.files import local_path
from rocframe.options import suggest_argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from cyclopts import App

    from rocframe.cli.options import CommandOptions
    from rocframe.cli.tasks import Outcome
    from rocframe.cli.terminal import Progress


SUCCESS, USER_ERROR, INTERRUPTED = 0, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments
        Arguments after `rocframe`; by default those of the command line.
    """
    from cyclopts import CycloptsError, UnknownOptionError

    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # the encoding of a terminal may lack some characters
            stream.reconfigure(errors="backslashreplace")
    try:
        code = application()(arguments)
        sys.stdout.flush()
    except CycloptsError as error:
        command = f"{arguments[0]} " if arguments and arguments[0] in COMMANDS else ""
        text = str(error).strip()
        if isinstance(error, UnknownOptionError):
            option = similar_option(error.token.keyword or error.token.value)
            if option is not None:
                text = f"{text.split(' Did you mean ')[0]} Did you mean {option}?"
        return _fail(f"{text}\nSee rocframe {command}--help.")
    except RocframeError as error:
        return _fail(with_options(str(error).split(PLAN_MARK)[0]))
    except MemoryError:
        return _fail(
            "there is not enough memory for these logs. All files are complete or unchanged.\n"
            "Evaluate fewer files or groups at a time, or write smaller tables with --max-error."
        )
    except KeyboardInterrupt:
        print("rocframe: interrupted. All files are complete or unchanged.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # A program such as `head` has closed the output. Python reports an error at exit if stdout
        # remains closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUCCESS
    return code if isinstance(code, int) else SUCCESS


COMMANDS = ("evaluate", "report")

# Arguments that messages of the package contain and that are also options of the command.
ARGUMENTS = "label|score|by|over|id|positive|weight|count|missing|kind|ci|level|max_error|path"
ASSIGNMENT = re.compile(rf"""(?<![\w.\-'"])({ARGUMENTS})=(?:(['"])(.*?)\2|(-?\w+(?:\.\d+)?))""")


def with_options(message: str) -> str:
    """Replace the arguments in a message with options of the command, `by="x"` with `--by x`."""

    def option(match: re.Match[str]) -> str:
        name, quoted, bare = match[1], match[3], match[4]
        if bare == "None":
            return "--no-count" if name == "count" else f"no --{name}"
        value = bare if quoted is None else quoted
        if name == "path":
            return value
        return f"--{name.replace('_', '-')} {repr(value) if ' ' in value or not value else value}"

    return ASSIGNMENT.sub(option, message)


def similar_option(option: str) -> str | None:
    """Return the option that a user probably means by an unknown option; None without a guess."""
    from rocframe.cli.options import CommandOptions

    name = option.split("=", maxsplit=1)[0].strip("-").replace("-", "_")
    argument = suggest_argument(name, [field.name for field in fields(CommandOptions)])
    return None if argument is None else f"--{argument.replace('_', '-')}"


def application() -> "App":
    """Return the definition of the commands, whose docstrings are the help texts."""
    from cyclopts import App, Parameter

    import rocframe as rf
    from rocframe.cli.options import CommandOptions

    app = App(
        name="rocframe",
        help="Evaluate scoring classifiers from logs of predictions.",
        version=rf.__version__,
        help_format="markdown",
        default_parameter=Parameter(negative=()),  # no --no-quiet, no --empty-by
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )

    @app.command
    def evaluate(
        *log: Annotated[str, Parameter(required=True)],
        options: CommandOptions,
        out: Annotated[Path, Parameter(metavar="FOLDER", alias="-o")],
        max_error: Annotated[float | None, Parameter(metavar="NUMBER")] = None,
    ) -> int:
        """Write tables of AUC and curves, and a page with charts, to a folder.

        The files are auc.parquet, curves.parquet and charts.html. The AUC of each group is printed.

        Parameters
        ----------
        log
            Files, globs or folders of Parquet, Arrow IPC or CSV files with one row per prediction.
            If a folder is named day=5, its logs have a column day with the value 5.
        out
            Folder for the files. It is created if it does not exist.
        max_error
            Simplify the curves in curves.parquet. The number is the largest distance of a
            simplified curve of the first kind from the full curve, as a fraction of the length of
            an axis, such as 0.002. The page and the areas use the full curves.
        """
        from rocframe.cli.tasks import evaluate_logs

        return _run(
            lambda sources, given, folder, progress: evaluate_logs(
                sources, given, folder, progress, max_error
            ),
            log,
            options,
            out,
        )

    @app.command
    def report(
        *log: Annotated[str, Parameter(required=True)],
        options: CommandOptions,
        out: Annotated[Path, Parameter(metavar="FILE", alias="-o")],
    ) -> int:
        """Write an HTML page with AUC, curves and charts.

        The page is one file that can be opened offline. The AUC of each group is printed.

        Parameters
        ----------
        log
            Files, globs or folders of Parquet, Arrow IPC or CSV files with one row per prediction.
            If a folder is named day=5, its logs have a column day with the value 5.
        out
            HTML file to write, in an existing folder.
        """
        from rocframe.cli.tasks import report_logs

        return _run(report_logs, log, options, out)

    return app


def _run(
    command: "Callable[[Sequence[str], CommandOptions, Path, Progress], Outcome]",
    sources: Sequence[str],
    options: "CommandOptions",
    out: Path,
) -> int:
    """Run a command and print its outcome."""
    from rocframe.cli.terminal import Progress, areas_table
    from rocframe.reports.page import pooling_sentence

    if options.no_count and options.count is not None:
        return _fail("--count and --no-count cannot be combined.")
    with Progress(quiet=options.quiet) as progress:
        outcome = command(sources, options, local_path(out), progress)
    for file, reason in outcome.skipped.items():
        print(f"rocframe: skipped {file}: {reason}.", file=sys.stderr)
    if unused := outcome.unused_keys:
        hint = f"Use {' '.join(f'--by {name}' for name in unused)} to evaluate them separately."
        print(f"rocframe: {pooling_sentence(unused)} {hint}", file=sys.stderr)
    if not outcome.has_page:
        hint = 'install it with pip install "rocframe[report]"'
        print(
            f"rocframe: the page was not written, because vl-convert is not installed; {hint}.",
            file=sys.stderr,
        )
    if not options.quiet:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(areas_table(outcome.areas, width=width), end="\n\n")
        print(*outcome.written, sep="\n")
    return SUCCESS


def _fail(message: str) -> int:
    print(f"rocframe: {message}", file=sys.stderr)
    return USER_ERROR
