"""Texts of errors: each file `errors/AREA.txt` contains calls, and below each call its error.

The blocks of a file are separated by blank lines. A block is Python source whose last expression
raises an error. The indented lines below it are the class and the message of this error, which
`--update-golden` writes: a new block consists of the call only. A block that ends with an
assignment defines a name for the blocks below it, and a block of comments is a heading. All files
can use the names of `names_of_calls`. The calls run in an empty folder.
"""

from __future__ import annotations

import ast
import datetime as dt
import math
import re
from pathlib import Path
from textwrap import indent

import numpy as np
import polars as pl
import pytest

import rocframe as rf

FOLDER = Path(__file__).with_name("errors")
ERROR = re.compile(r"^    \w+:\n", re.MULTILINE)  # the first line below a call


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
    modules = {"rf": rf, "pl": pl, "np": np, "inf": math.inf, "nan": math.nan, "dt": dt}
    return modules | {
        "predictions": one,  # label, score
        "curve": rf.curve(one, "label", "score"),
        "long": long,  # a row for each model and instance
        "curves": rf.curve(long, "label", "score", by=["model", "fold"]),
        "models": rf.curve(long, "label", "score", by="model"),
        "wide": wide,  # a column of scores for each model
    }


def with_errors(text: str) -> str:
    """Return the text of a file with the errors that its calls raise."""
    names, blocks, without = names_of_calls(), [], []
    for block in text.strip().split("\n\n"):
        found = ERROR.search(block)
        source = block[: found.start()].rstrip() if found else block
        body = ast.parse(source).body
        if not body or not isinstance(body[-1], ast.Expr):  # comments or definitions
            exec(source, names)
            blocks.append(source)
            continue
        try:
            exec(source, dict(names))
        except rf.RocframeError as error:
            text = str(error).split("\n\nResolved plan")[0]  # polars adds the plan of a LazyFrame
            message = indent(f"{type(error).__name__}:\n{text}", "    ")
            blocks.append(f"{source}\n{message}")
        except Exception as error:
            error.add_note(f"in the call\n{source}")
            raise
        else:
            without.append(source)
    assert not without, "\n".join(["These calls raise no error:", *without])
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_calls_raise_the_errors_below_them(path, request, tmp_path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = with_errors(text)
    if request.config.getoption("--update-golden"):
        path.write_text(result, encoding="utf-8")
    else:
        assert result == text, f"{path.name}: see --update-golden"


def test_a_call_without_an_error_fails():
    with pytest.raises(AssertionError, match=r"raise no error:\s*rf\.hull\(curve\)"):
        with_errors("rf.hull(curve)\n    OptionValueError:\n    message.\n")


def test_no_block_is_in_a_file_twice():
    for path in FOLDER.glob("*.txt"):
        blocks = path.read_text(encoding="utf-8").split("\n\n")
        assert len(set(blocks)) == len(blocks), path.name
