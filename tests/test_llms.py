"""The file docs/llms.txt is current and short, and its code runs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import polars as pl
import pytest

import rocframe as rf
from tests.test_documentation import blocks, public_methods

DOCS = Path(__file__).parents[1] / "docs"
FILE = DOCS / "llms.txt"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("llms", DOCS / "llms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_current(script):
    assert FILE.read_text(encoding="utf-8") == script.text(), "run python docs/llms.py"


def test_the_file_has_at_most_3000_words():
    assert len(re.findall(r"\w[\w'’.-]*", FILE.read_text(encoding="utf-8"))) <= 3000


def test_each_function_and_each_method_of_expressions_has_one_line(script):
    before, after = FILE.read_text(encoding="utf-8").split(script.EXPRESSIONS)
    lines = re.compile(r"^- `(\w+)\(", re.MULTILINE)
    names = lines.findall(before)
    assert sorted(names) == sorted(name for name in rf.__all__ if is_function(name))
    assert sorted(lines.findall(after)) == sorted(public_methods(pl.col("score").roc))


def is_function(name):
    return callable(getattr(rf, name)) and name[0].islower()


def test_the_recipes_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipes = [block for block in blocks(FILE) if block.language == "python"]
    assert len(recipes) == 11  # the first block reads the data
    namespace = {}
    for recipe in recipes:
        code = compile("\n" * (recipe.line - 1) + recipe.text, FILE, "exec", dont_inherit=True)
        exec(code, namespace)
    assert {path.name for path in tmp_path.iterdir()} == {
        "roc.html",
        "small.parquet",
        "report.html",
    }
