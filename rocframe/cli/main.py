"""The command `rocframe`: parse the command line, run a command, return the exit code.

Exit codes: 0 for success, 1 if a test of the data does not pass, such as a release gate, 2 for an
error of the user (one short message), 130 for Ctrl-C. Any other error is a bug and shows its
traceback, with exit code 70, which differs from that of a test that does not pass.
"""

import gc
import os
import re
import sys
import traceback
from ast import literal_eval
from collections.abc import Sequence
from dataclasses import fields
from datetime import date, datetime, time
from functools import partial
from inspect import cleandoc
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocframe.cli import INTERNAL_ERROR, INTERRUPTED, SUCCESS, USER_ERROR
from rocframe.errors import OptionValueError, RocframeError, StorageError
from rocframe.options import suggest_argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from cyclopts import App, ArgumentCollection, CycloptsError


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
        # The garbage collector would search the loaded modules, which remain until the end: 15 % of
        # the time of the help. Commands enable it.
        gc.freeze()
        gc.disable()
        _ensure_home()
    _prepare_output()
    from rocframe.cli.commands import output, print_message, print_to_stderr

    try:
        path = [*takewhile(COMMANDS.__contains__, arguments)]
        has_help = not HELP_OPTIONS.isdisjoint(arguments)
        code: int = SUCCESS
        # The options are not parsed. An unknown command is an error.
        if has_help and (path or arguments[0] in HELP_OPTIONS):
            with output():
                application().help_print(path)
        elif path:
            code = application(configurations())(arguments)
        else:  # such as --version
            with output():
                application()(arguments)
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
        print_message("interrupted. Each output file is complete or unchanged.")
        code = INTERRUPTED
    except SystemExit as error:  # of rich, for a closed pipe; of cyclopts, for an unknown shell
        is_closed = isinstance(error.__context__, BrokenPipeError)
        code = SUCCESS if is_closed else USER_ERROR
    except Exception:  # noqa: BLE001 - the traceback is shown
        print_to_stderr(traceback.format_exc().rstrip())
        code = INTERNAL_ERROR
    return code


def _ensure_home() -> None:
    """Set the home folder of a user who has none, as container runtimes do: Altair needs one."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = "/"


def _prepare_output() -> None:
    """Print characters that the encoding of the terminal lacks as escapes.

    A closed stdout or stderr is replaced with a stream to which a write is an error.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, name)
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


# Files in the current folder with default options, and the keys above the names of commands. The
# first file takes precedence.
CONFIGURATION_FILES = {"rocframe.toml": (), "pyproject.toml": ("tool", "rocframe")}
HELP_OPTIONS = {"--help", "-h"}
COMMANDS = ("evaluate", "report", "decide", "compare", "gate", "drift", "calibrate")

# Arguments of the package that are also options of the command.
ARGUMENTS = (
    "label|score|by|over|between|baseline|reference|every|period|offset|time|bins|id|positive|weight|count|missing|kind|ci|level|max_error|path|"
    "rule|costs|benefits|prevalence|subject_to|guarantee|minimize|beta|"
    "margin|metric|threshold|fpr|tpr|specificity|sensitivity|alert_rate|alerts|method|adjust|min_rows|unmatched|cluster|seed|"
    "resolution|max_envelope|max_missing|partition_by|last"
)
# An argument with a value: by="x", by=['x'] or level=0.9, but not a folder such as label=1/.
ASSIGNMENT = re.compile(
    rf"""(?<![\w.\-'"/\\])(?<!--subject-to )({ARGUMENTS})="""
    r"""(?:(['"])(.*?)\2|(-?\w+(?:\.\d+)?(?:e[-+]\d+)?)(?![\w/\\]|\.\d)|(\[[^\[\]]*\]))"""
)


# Arguments whose values are dicts, and the option that is repeated for each item of the dict.
DICT_OPTIONS = {"costs": "cost", "benefits": "benefit", "subject_to": "subject-to"}
OPTION_NAMES = {**DICT_OPTIONS, "time": "over"}  # of arguments with other names
# A dict, such as costs={"fp": 1}.
DICT = re.compile(rf"(?:({'|'.join(DICT_OPTIONS)})=|(?<=example, ))(\{{[^{{}}]*\}})")
# An item of a dict, such as costs['fp']= or subject_to['tpr']=(0.5, None), or a key alone.
ITEM = re.compile(rf"({'|'.join(DICT_OPTIONS)})\[(['\"])(.*?)\2\](=)?(\([^()]*\))?")
# A range of rates, such as fpr=(0, 0.1).
RANGE = re.compile(r"\b(fpr|tpr|specificity|sensitivity)=(\([^()]*\))")
# A quoted text, or the number inf outside quotes.
INFINITY = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\binf\b""")
# A date, time or datetime of Python, such as datetime.date(2024, 2, 29).
DATE = re.compile(
    r"\bdatetime\.(date|datetime|time)\((\d+(?:, \d+)*)"
    r"(?:, tzinfo=(?:datetime\.timezone\.utc|zoneinfo\.ZoneInfo\(key='[^']*'\)))?\)"
)
# An option that can be repeated.
LISTED_OPTIONS = ("--by", "--score", "--id")
# Errors of a log that can be the second value of such an option.
SURPLUS_LOG = ("the file or folder does not exist", "expected two logs")
# An argument without a value, such as costs=.
BARE_ARGUMENT = re.compile(rf"(?<!--subject-to )(?<![\w.\-'\"/\\])({ARGUMENTS})=(?![\w'\"(\[{{…-])")


def _repeated_option_hint(arguments: Sequence[str], error: Exception) -> str:
    """Return a line on an option that must be repeated, for `--by model segment`; else empty.

    `segment` is then read as the name of a log, which does not exist, or which is one log too many.
    """
    for option, value, source in zip(arguments, arguments[1:], arguments[2:], strict=False):
        is_surplus = str(error).startswith(tuple(f"{source}: {text}" for text in SURPLUS_LOG))
        if is_surplus and option in LISTED_OPTIONS:
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
    return f"--{OPTION_NAMES.get(argument, argument).replace('_', '-')}"


def _assigned_option(match: re.Match[str]) -> str:
    """Return the option for an argument with a value: `--by x` for `by="x"`."""
    name, _, quoted, bare, listed = match.groups()
    if bare == "None":
        return "--no-count" if name == "count" else f"no --{name}"
    if listed is not None:
        values = _literal(listed)
        if not values or not isinstance(values, list):
            return match[0]
        if name == "bins":  # edges are one value
            values = [_option_value(tuple(values))]
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
    options = COMMAND_OPTIONS.get(command, EvaluationOptions)
    argument = suggest_argument(name, [field.name for field in fields(options)])
    return None if argument is None else f"--{argument.replace('_', '-')}"


# Options of a file that are left out if another option, or LOG, is on the command line.
REPLACED_OPTIONS = {
    "quiet": ("--verbose",),
    "verbose": ("--quiet",),
    "count": ("--no-count",),
    "no-count": ("--count",),
    "label": ("--no-label",),
    "positive": ("--no-label",),
    "no-label": ("--label",),
    "since": ("--last", "LOG"),
    "last": ("--since", "LOG"),
    "until": ("LOG",),
    "store": ("LOG",),
}


def configurations() -> "list[Callable[[App, tuple[str, ...], ArgumentCollection], None]]":
    """Return functions that add the options of files in the current folder, and check paths."""
    paths = {name: Path(name) for name in CONFIGURATION_FILES if Path(name).is_file()}
    files = [partial(_add_options, name, _read_options(name, path)) for name, path in paths.items()]
    return [*files, _check_paths]


def _check_paths(_app: "App", _: tuple[str, ...], arguments: "ArgumentCollection") -> None:
    """Raise an error for an empty path, which would be the current folder."""
    for argument in arguments:
        is_path = argument.name in ("LOG", "--out", "--store", "--reference")
        if is_path and any(token.value == "" for token in argument.tokens):
            hint = "Pass a path. A variable of the shell that is not set is empty."
            raise OptionValueError(f"{argument.name}: the path is empty.\n{hint}")


def _add_options(
    file: str,
    tables: dict[str, dict[str, Any]],
    app: "App",
    commands: tuple[str, ...],
    arguments: "ArgumentCollection",
) -> None:
    """Add the options of a file to the arguments of a command that are not given."""
    from cyclopts.config import Dict

    from rocframe.cli.options import COMMAND_OPTIONS

    command = commands[-1]
    given = {argument.name for argument in arguments if argument.tokens}
    if COMMAND_OPTIONS[command].adds_logs:
        given.discard("LOG")
    options = {
        name: value
        for name, value in tables.get(command, {}).items()
        if given.isdisjoint(REPLACED_OPTIONS.get(name.replace("_", "-"), ()))
    }
    Dict({command: options}, source=file)(app, commands, arguments)


def _read_options(name: str, path: Path) -> dict[str, dict[str, Any]]:
    """Return the options of each command in a file; raise an error for other names of tables."""
    import tomllib

    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError.compose(
            name, f"the file cannot be read: {error}", "Correct the file."
        ) from error
    for key in CONFIGURATION_FILES[name]:
        value = tables.get(key, {})
        tables = value if isinstance(value, dict) else {key: value}
    for key, options in tables.items():
        if key not in COMMANDS or not isinstance(options, dict):
            table = ".".join(
                (*CONFIGURATION_FILES[name], suggest_argument(key, COMMANDS) or "evaluate")
            )
            problem = f"{key!r} is not the table of a command"
            hint = f"Options are in a table such as [{table}]."
            raise OptionValueError(f"{name}: {problem}.\n{hint}")
    return tables


def application(config: "Sequence[Callable[..., None]]" = ()) -> "App":
    """Return the command line application; the docstrings of its commands are the help texts."""
    from cyclopts import App, Parameter

    import rocframe as rf
    from rocframe.cli.commands import COMMAND_FUNCTIONS
    from rocframe.cli.options import COMMAND_OPTIONS

    app = App(
        name="rocframe",
        help="Evaluate scoring classifiers from logs of predictions.",
        version=rf.__version__,
        help_format="plaintext",  # the library for Markdown takes a third of the time of the help
        default_parameter=Parameter(negative=()),  # without options such as --no-quiet
        config=config,
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for options in {base for one in COMMAND_OPTIONS.values() for base in one.__mro__[:-1]}:
        options.__doc__ = join_paragraphs(options.__doc__)

    app.register_install_completion_command(
        help="Complete commands and options in this shell with the Tab key."
    )

    for name, function in COMMAND_FUNCTIONS.items():
        function.__doc__ = join_paragraphs(function.__doc__)
        app.command(function, name=name)
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


def _fail(message: str) -> int:
    from rocframe.cli.commands import print_message

    print_message(message)
    return USER_ERROR


if __name__ == "__main__":
    sys.exit(main())
