"""The command `rocframe`: parse the command line, run a command, return the exit code.

Exit codes: 0 for success, 1 if a test of the data does not pass, such as a release gate, 2 for an
error of the user (one short message), 130 for Ctrl-C. Any other error is a bug and shows its
traceback, with exit code 70, which differs from that of a test that does not pass.
"""

import gc
import os
import re
import shutil
import sys
import traceback
from ast import literal_eval
from collections.abc import Sequence
from dataclasses import fields
from datetime import date, datetime, time
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rocframe.errors import RocframeError, StorageError
from rocframe.options import suggest_argument
from rocframe.text import escape_unprintable, format_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from cyclopts import App, CycloptsError
    from cyclopts.config import Dict

    from rocframe.cli.options import LogOptions
    from rocframe.cli.tasks import CommandResult
    from rocframe.reports.progress import Progress


SUCCESS, NOT_PASSED, USER_ERROR, INTERNAL_ERROR, INTERRUPTED = 0, 1, 2, 70, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments
        Arguments after `rocframe`; by default those of the command line.
    """
    from cyclopts import CycloptsError

    if arguments is None:
        arguments = sys.argv[1:]
        # The garbage collector would search the loaded modules, which remain until the end: 10 % of
        # the time of the help.
        gc.freeze()
        _ensure_home()
    _escape_output()
    try:
        code = application()(arguments)
        sys.stdout.flush()
    except CycloptsError as error:
        code = _fail(_parsing_error_text(error, arguments))
    except RocframeError as error:
        code = _fail(with_options(str(error)) + _repeated_option_hint(arguments, error))
    except MemoryError:
        code = _fail(
            "there is not enough memory for these logs. Each output file is complete or "
            "unchanged.\nEvaluate fewer files or groups at a time, or write smaller tables with "
            "--max-error."
        )
    except KeyboardInterrupt:
        print("rocframe: interrupted. Each output file is complete or unchanged.", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        code = SUCCESS
    except SystemExit:  # of cyclopts, if it does not know the shell
        code = USER_ERROR
    except Exception:  # noqa: BLE001 - the traceback is shown
        traceback.print_exc()
        code = INTERNAL_ERROR
    return code if isinstance(code, int) else SUCCESS


def _ensure_home() -> None:
    """Set the home folder of a user who has none, as container runtimes do: Altair needs one."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = "/"


def _escape_output() -> None:
    """Print characters that the encoding of the terminal lacks as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _parsing_error_text(error: "CycloptsError", arguments: Sequence[str]) -> str:
    """Return the message of an error in the options, with the most similar option."""
    from cyclopts import UnknownOptionError

    command = f"{arguments[0]} " if arguments and arguments[0] in COMMANDS else ""
    text = str(error).strip()
    if isinstance(error, UnknownOptionError):
        option = similar_option(error.token.keyword or error.token.value, command.strip())
        if option is not None:
            text = f"{text.split(' Did you mean ')[0]} Did you mean {option}?"
    return f"{text}{_repeated_option_hint(arguments, error)}\nSee rocframe {command}--help."


def _discard_output() -> None:
    """Replace stdout after `head` has closed it; Python would report an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Files in the current folder with default options, and the keys above the names of commands. The
# first file takes precedence.
CONFIGURATION_FILES = {"rocframe.toml": (), "pyproject.toml": ("tool", "rocframe")}
COMMANDS = ("evaluate", "report", "decide", "gate")

# Arguments of the package that are also options of the command.
ARGUMENTS = (
    "label|score|by|over|id|positive|weight|count|missing|kind|ci|level|max_error|path|"
    "rule|costs|benefits|prevalence|subject_to|guarantee|minimize|beta|"
    "margin|metric|threshold|fpr|tpr|specificity|sensitivity|alert_rate|alerts|method|adjust|min_rows|unmatched|cluster|seed|"
    "resolution|max_envelope|partition_by|last"
)
# An argument with a value: by="x", by=['x'] or level=0.9, but not a folder such as label=1/.
ASSIGNMENT = re.compile(
    rf"""(?<![\w.\-'"/\\])(?<!--subject-to )({ARGUMENTS})="""
    r"""(?:(['"])(.*?)\2|(-?\w+(?:\.\d+)?(?:e[-+]\d+)?)(?![\w/\\]|\.\d)|(\[[^\[\]]*\]))"""
)


# Arguments whose values are dicts, and the option that is repeated for each item of the dict.
DICT_OPTIONS = {"costs": "cost", "benefits": "benefit", "subject_to": "subject-to"}
# A dict, such as costs={"fp": 1}.
DICT = re.compile(rf"(?:({'|'.join(DICT_OPTIONS)})=|(?<=example, ))(\{{[^{{}}]*\}})")
# An item of a dict, such as costs['fp']= or subject_to['tpr']=(0.5, None), or a key alone.
ITEM = re.compile(rf"({'|'.join(DICT_OPTIONS)})\[(['\"])(.*?)\2\](=)?(\([^()]*\))?")
# A range of rates, such as fpr=(0, 0.1).
RANGE = re.compile(r"\b(fpr|tpr|specificity|sensitivity)=(\([^()]*\))")
# A quoted text, or the number inf outside quotes.
INFINITY = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\binf\b""")
# A date, time or datetime of Python, such as datetime.date(2024, 2, 29).
DATE = re.compile(r"\bdatetime\.(date|datetime|time)\((\d+(?:, \d+)*)\)")
# An option that can be repeated.
LISTED_OPTIONS = ("--by", "--score", "--id")
# An argument without a value, such as costs=.
BARE_ARGUMENT = re.compile(rf"(?<!--subject-to )(?<![\w.\-'\"/\\])({ARGUMENTS})=(?![\w'\"(\[{{…-])")


def _repeated_option_hint(arguments: Sequence[str], error: Exception) -> str:
    """Return a line on an option that must be repeated, for `--by model segment`; else empty.

    `segment` is then read as the name of a log, which does not exist, or which is one log too many.
    """
    from cyclopts import UnusedCliTokensError

    unused = error.unused_tokens or () if isinstance(error, UnusedCliTokensError) else ()
    for option, value, source in zip(arguments, arguments[1:], arguments[2:], strict=False):
        is_missing = str(error).startswith(f"{source}: the file or folder does not exist")
        if (is_missing or source in unused) and option in LISTED_OPTIONS:
            return f"\nFor several columns, repeat the option: {option} {value} {option} {source}."
    return ""


def with_options(message: str) -> str:
    """Replace arguments in a message with options, `by="x"` with `--by x`."""
    message = DATE.sub(_iso_date, message)
    message = ITEM.sub(_item_option, DICT.sub(_dict_options, message))
    message = RANGE.sub(lambda match: f"--{match[1]} {_option_value(_literal(match[2]))}", message)
    message = ASSIGNMENT.sub(_assigned_option, message)
    return BARE_ARGUMENT.sub(lambda match: _option_name(match[1]), message)


def _iso_date(match: re.Match[str]) -> str:
    kind = {"date": date, "datetime": datetime, "time": time}[match[1]]
    try:
        return str(kind(*map(int, match[2].split(", "))))
    except (TypeError, ValueError, OverflowError):  # text that is not a date
        return match[0]


def _option_name(argument: str) -> str:
    return f"--{DICT_OPTIONS.get(argument, argument).replace('_', '-')}"


def _assigned_option(match: re.Match[str]) -> str:
    """Return the option for an argument with a value: `--by x` for `by="x"`."""
    name, _, quoted, bare, listed = match.groups()
    if bare == "None":
        return "--no-count" if name == "count" else f"no --{name}"
    if listed is not None:
        values = _literal(listed)
        if not values or not isinstance(values, list):
            return match[0]
    else:
        values = [bare if quoted is None else quoted]
    if name == "path":
        return values[0]
    if name == "minimize":
        return {"True": "--minimize", "False": "--maximize"}.get(values[0], match[0])
    texts = [repr(value) if " " in value or not value else value for value in map(str, values)]
    return " ".join(f"{_option_name(name)} {text}" for text in texts)


def _dict_options(match: re.Match[str]) -> str:
    """Return the options for a dict: `--cost fp=1 --cost fn=5` for `costs={"fp": 1, "fn": 5}`."""
    values = _literal(match[2])
    if not isinstance(values, dict):
        return match[0]
    option = _option_name(match[1] or "costs")
    return " ".join(f"{option} {name}={_option_value(value)}" for name, value in values.items())


def _item_option(match: re.Match[str]) -> str:
    """Return the option for an item of a dict: `--cost fp=` for `costs['fp']=`."""
    limits = () if match[5] is None else _literal(match[5])
    if limits is None:
        return match[0]
    return f"{_option_name(match[1])} {match[3]}{match[4] or ''}{_option_value(limits)}"


def _literal(text: str) -> object:
    """Return the value of a Python literal, in which `inf` can be a number; None for other text."""
    text = INFINITY.sub(lambda match: match[1] or "1e999", text)
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def _option_value(value: object) -> str:
    if isinstance(value, tuple):
        return ":".join("" if limit is None else _option_value(limit) for limit in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def similar_option(option: str, command: str) -> str | None:
    """Return the option that is most similar to an unknown option; None if none is similar."""
    from rocframe.cli.options import COMMAND_OPTIONS, EvaluationOptions

    # An option of a file is, for example, [evaluate][lable].
    name = (
        option.split("=", maxsplit=1)[0].rsplit("[", maxsplit=1)[-1].strip("-]").replace("-", "_")
    )
    groups = COMMAND_OPTIONS.get(command, (EvaluationOptions,))
    argument = suggest_argument(name, [field.name for group in groups for field in fields(group)])
    return None if argument is None else f"--{argument.replace('_', '-')}"


def configurations() -> "list[Dict]":
    """Return the default options in the files of the current folder, which exist rarely."""
    files = {name: Path(name) for name in CONFIGURATION_FILES if Path(name).is_file()}
    if not files:
        return []
    import tomllib

    from cyclopts.config import Dict

    sources = []
    for name, path in files.items():
        try:
            options = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise StorageError.compose(
                name, f"the file cannot be read: {error}", "Correct the file."
            ) from error
        sources.append(Dict(options, root_keys=CONFIGURATION_FILES[name], source=name))
    return sources


def application() -> "App":
    """Return the command line application; the docstrings of its commands are the help texts."""
    from cyclopts import App, Parameter

    import rocframe as rf
    from rocframe.cli.options import (
        COMMAND_OPTIONS,
        DecisionOptions,
        EvaluationOptions,
        ReleaseOptions,
        StoreArguments,
    )

    app = App(
        name="rocframe",
        help="Evaluate scoring classifiers from logs of predictions.",
        version=rf.__version__,
        help_format="plaintext",  # the library for Markdown takes a third of the time of the help
        default_parameter=Parameter(negative=()),  # without options such as --no-quiet
        config=configurations(),
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    classes = {one for group in COMMAND_OPTIONS.values() for one in group}
    for options in {base for one in classes for base in one.__mro__[:-1]}:
        options.__doc__ = join_paragraphs(options.__doc__)

    app.register_install_completion_command(
        help="Complete commands and options in this shell with the Tab key."
    )

    def command(function: "Callable[..., int]") -> None:
        function.__doc__ = join_paragraphs(function.__doc__)
        app.command(function)

    @command
    def evaluate(
        *log: str,
        options: EvaluationOptions,
        out: Annotated[Path | None, Parameter(metavar="FOLDER|FILE", alias="-o")] = None,
        max_error: Annotated[float | None, Parameter(metavar="NUMBER")] = None,
        store: StoreArguments | None = None,
    ) -> int:
        """Print the AUC of each group, and write curves and a page with charts to a folder.

        The files in the folder are auc.parquet, curves.parquet and charts.html.

        Parameters
        ----------
        log
            Files, globs or folders of Parquet, Arrow IPC or CSV files with one row per prediction.
            If a folder is named day=5, its logs have a column day with the value 5. Required
            without --store.
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

        store = store or StoreArguments()
        store.check()
        if not log and store.store is None:
            return _fail(
                'Command "evaluate" parameter LOG requires an argument.\n'
                "See rocframe evaluate --help."
            )
        command = partial(evaluate_logs, max_error=max_error, store=store)
        return _run(command, log, options, out)

    @command
    def report(
        *log: Annotated[str, Parameter(required=True)],
        options: EvaluationOptions,
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

    @command
    def decide(
        *log: Annotated[str, Parameter(required=True)],
        options: DecisionOptions,
        out: Annotated[Path | None, Parameter(metavar="FILE", alias="-o")] = None,
    ) -> int:
        """Choose a threshold for each group, by cost, profit or a metric, and print the table.

        Rows with score >= threshold are predicted positive. Without --rule, the thresholds have the
        highest Youden index. The printed thresholds are rounded to 6 significant digits; the file
        has all digits.

        Parameters
        ----------
        log
            Files, globs or folders of Parquet, Arrow IPC or CSV files with one row per prediction.
            If a folder is named day=5, its logs have a column day with the value 5.
        out
            File to write the table to, in an existing folder, such as thresholds.json. The
            suffix is .json, .jsonl, .csv, .parquet or .arrow.
        """
        from rocframe.cli.tasks import decide_logs
        from rocframe.cli.text_tables import decisions_table

        return _run(decide_logs, log, options, out, decisions_table)

    @command
    def gate(
        old: str,
        new: str | None = None,
        /,
        *,
        options: ReleaseOptions,
        out: Annotated[Path | None, Parameter(metavar="FILE", alias="-o")] = None,
    ) -> int:
        """Test in each group that a new model is not worse than the old one by a margin.

        Exit codes: 0 if the new model is shown to be non-inferior in every group, 1 if it is not
        shown in at least one group, 2 for an error in options or logs. A group that cannot be
        tested, for example because only one log contains it, does not pass.

        Parameters
        ----------
        old
            File, folder or glob (in quotes) with the predictions of the old model.
        new
            File, folder or glob with the predictions of the new model. If it is omitted, the old
            log has a score of each model: --score OLD_COLUMN --score NEW_COLUMN. Two logs can also
            have different columns of scores; the first option is the column in the old log.
        out
            File to write the table to, in an existing folder, such as gate.json. The
            suffix is .json, .jsonl, .csv, .parquet or .arrow.
        """
        from rocframe.cli.tasks import gate_logs
        from rocframe.cli.text_tables import release_table

        sources = [old] if new is None else [old, new]
        return _run(gate_logs, sources, options, out, release_table)

    return app


def join_paragraphs(docstring: str | None) -> str:
    """Return a docstring in which each paragraph is one line, which the help wraps."""
    lines: list[str] = []
    for line in cleandoc(docstring or "").splitlines():
        last = lines[-1] if lines else ""
        is_heading = line.startswith("---") or last.startswith("---")
        if last and line and not is_heading and _indentation(last) == _indentation(line):
            lines[-1] = f"{last} {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _run(
    command: "Callable[[Sequence[str], Any, Any, Progress], CommandResult]",
    sources: Sequence[str],
    options: "LogOptions",
    out: Path | None,
    table_text: "Callable[..., str] | None" = None,
) -> int:
    """Run a command, print its result with `table_text`, and return the exit code."""
    from rocframe.io.files import local_path
    from rocframe.reports.evaluation import pooling_sentence
    from rocframe.reports.progress import Progress

    if options.no_count and options.count is not None:
        return _fail("--count and --no-count cannot be combined.")
    if options.quiet and options.verbose:
        return _fail("--quiet and --verbose cannot be combined.")
    with Progress(quiet=options.quiet, delay=0 if options.verbose else None) as progress:
        result = command(sources, options, None if out is None else local_path(out), progress)
    for file, reason in result.skipped.items():
        _print_message(f"skipped {format_name(file)}: {reason}.")
    if unused := result.unused_keys:
        hint = (
            f"Add {' '.join(f'--by {name}' for name in unused)} to evaluate these rows separately."
        )
        _print_message(f"{pooling_sentence(unused)} {hint}")
    for warning in result.warnings:
        _print_message(warning)
    if result.lacks_page:
        hint = 'install it with pip install "rocframe[report]"'
        _print_message(f"the page was not written, because vl-convert is not installed; {hint}.")
    try:
        _print_result(result, options, table_text)
        sys.stdout.flush()
    except BrokenPipeError:  # the exit code must not depend on the reader of the output
        _discard_output()
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
        print(text if is_for_program else f"\n{text}", file=sys.stderr if is_for_program else None)


def _fail(message: str) -> int:
    _print_message(message)
    return USER_ERROR


def _print_message(message: str) -> None:
    """Print a message to stderr; control characters of names would change the terminal."""
    print(f"rocframe: {escape_unprintable(message)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
