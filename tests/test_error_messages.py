"""Texts of errors: each file `errors/AREA.txt` contains calls, and below each call its error.

The blocks of a file are separated by blank lines. A block is Python source whose last expression
raises an error. The indented lines below it are the class and the message of this error, which
`--update-golden` writes: a new block consists of the call only. A block that ends with an
assignment defines a name for the blocks below it, and a block of comments is a heading. All files
can use the names of `names_of_calls`. The calls run in an empty folder, with DataFrames and again
with LazyFrames.
"""

from __future__ import annotations

import ast
import datetime as dt
import math
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from rocframe.cli import main as cli

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).with_name("errors")
FILES = sorted(FOLDER.glob("*.txt"))
TABLES = [path for path in FILES if path.stem not in {"command_line", "logs"}]  # calls with tables
ERROR = re.compile(r"^    \w+:\n", re.MULTILINE)  # the first line below a call


class CommandError(rf.RocframeError):
    """The error of a command of the command line."""


def command(line: str) -> None:
    """Run a command, and raise its error, with a dot in place of the current folder."""
    with redirect_stderr(StringIO()) as errors, redirect_stdout(StringIO()):
        code = cli.main(shlex.split(line))
    if code == 2:
        text = errors.getvalue().removeprefix("rocframe: ").strip()
        raise CommandError(text.replace(str(Path.cwd()), "."))


def names_of_calls() -> dict[str, object]:
    """Return the modules and the small tables that calls can use."""
    label = [1, 0, 1, 0, 1, 0, 1, 0]
    wide = pl.DataFrame(
        {
            "id": range(8),
            "fold": [1] * 4 + [2] * 4,
            "user": [1, 1, 2, 2, 3, 3, 4, 4],
            "label": label,
            "a": [0.9, 0.3, 0.6, 0.7, 0.8, 0.2, 0.4, 0.1],
            "b": [0.8, 0.4, 0.2, 0.5, 0.9, 0.1, 0.7, 0.6],
        }
    )
    index = ["id", "fold", "user", "label"]
    long = wide.unpivot(["a", "b"], index=index, variable_name="model", value_name="score")
    one = wide.select("label", score="a")
    modules = {"rf": rf, "pl": pl, "cs": pl.selectors, "np": np, "dt": dt}
    modules |= {"inf": math.inf, "nan": math.nan, "command": command, "Path": Path}
    return modules | {
        "predictions": one,  # label, score
        "curve": rf.curve(one, "label", "score"),
        "long": long,  # a row for each model and instance
        "curves": rf.curve(long, "label", "score", by=["model", "fold"]),
        "models": rf.curve(long, "label", "score", by="model"),
        "wide": wide,  # a column of scores for each model
    }


def blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the source of each block of a file, and whether it is a call."""
    for block in text.strip().split("\n\n"):
        found = ERROR.search(block)
        source = block[: found.start()].rstrip() if found else block
        body = ast.parse(source).body
        yield source, bool(body) and isinstance(body[-1], ast.Expr)


def error_of(source: str, names: dict[str, object]) -> str | None:
    """Return the class and the message of the error that a call raises."""
    *before, call = ast.parse(source).body
    names = dict(names)
    try:
        exec(ast.unparse(ast.Module(before, [])), names)
        result = eval(ast.unparse(call), names)
        if isinstance(result, pl.LazyFrame):
            result.collect()
    except rf.RocframeError as error:
        text = str(error).split("\n\nResolved plan")[0]  # polars adds the plan of a LazyFrame
        return f"{type(error).__name__}:\n{text}"
    except Exception as error:
        error.add_note(f"in the call\n{source}")
        raise
    return None


def with_errors(text: str) -> str:
    """Return the text of a file with the errors that its calls raise."""
    names, results, without = names_of_calls(), [], []
    for source, is_call in blocks(text):
        results.append(source)
        if not is_call:  # comments or definitions
            exec(source, names)
        elif error := error_of(source, names):
            results[-1] += "\n" + indent(error, "    ")
        else:
            without.append(source)
    assert not without, "\n".join(["These calls raise no error:", *without])
    return "\n\n".join(results) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_calls_raise_the_errors_below_them(path, request, tmp_path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = with_errors(text)
    if request.config.getoption("--update-golden"):
        path.write_text(result, encoding="utf-8")
    else:
        assert result == text, f"{path.name}: see --update-golden"


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_calls_with_lazy_frames_raise_the_same_errors(path, tmp_path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = names_of_calls()
    for source, is_call in blocks(text):
        if not is_call:
            exec(source, names)
            continue
        tables = {k: v.lazy() for k, v in names.items() if isinstance(v, pl.DataFrame)}
        try:
            error = error_of(source, names | tables)
        except (AttributeError, TypeError) as problem:
            if "LazyFrame" not in str(problem):  # the call uses a method of DataFrame only
                raise
            continue
        assert error, source
        if not re.search(r"(but this is a (polars )?|got )Lazy", error):  # a table that is not lazy
            assert f"{source}\n{indent(error, '    ')}\n" in text


def test_a_call_without_an_error_fails():
    with pytest.raises(AssertionError, match=r"raise no error:\s*rf\.hull\(curve\)"):
        with_errors("rf.hull(curve)\n    OptionValueError:\n    message.\n")


def test_no_block_is_in_a_file_twice():
    for path in FILES:
        blocks = path.read_text(encoding="utf-8").split("\n\n")
        assert len(set(blocks)) == len(blocks), path.name


def test_a_message_states_the_argument_then_the_problem_then_a_remedy():
    for path in TABLES:
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            if found := ERROR.search(block):
                problem, *rest = dedent(block[found.end() :]).splitlines()
                assert re.match(r"[\w./]+( \+ \w+|\[.+?\])?(=.*?)?: .+[.?]$", problem), problem
                assert rest, problem
                words = r"\b(invalid|should|illegal|bad|please)\b"
                assert not re.search(words, f"{problem} {rest}", flags=re.IGNORECASE), problem
