"""Tests of README.md, CONTRIBUTING.md and docs/: their examples run, and their names exist.

The ```python blocks of a page run one after the other in one namespace, those of the gallery in a
namespace of their own, in a folder with the bundled logs in `data/`. After a ```python block that
prints, a ```text block shows the expected output; `--update-golden` updates it. The lines
`$ rocframe …` of ```console blocks run.
"""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

import rocframe as rf
from rocframe.cli.main import main
from tests.all_cases import all_cases

TREE = Path(__file__).resolve().parents[1]
DOCS = TREE / "docs"
PAGES = [
    TREE / "README.md",
    *sorted(page for page in DOCS.rglob("*.md") if not {"_build", "api"} & set(page.parts)),
]
BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)

every_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(TREE).as_posix()
)
# The examples of these pages resample, read large logs, or write files of charts.
SLOW_PAGES = [
    *(DOCS / f"{name}.md" for name in ("decisions", "large-logs", "notebooks", "uncertainty")),
    *(DOCS / "gallery").glob("*.md"),
]


class Block(NamedTuple):
    language: str
    text: str
    line: int  # of the first line of the text
    span: tuple[int, int]  # of the text


def blocks(page: Path) -> list[Block]:
    source = page.read_text(encoding="utf-8")
    return [
        Block(
            match["language"],
            match["text"],
            source.count("\n", 0, match.start("text")) + 1,
            match.span("text"),
        )
        for match in BLOCK.finditer(source)
    ]


def follows(source: str, code: Block, output: Block) -> bool:
    """Return whether there is no text between the two blocks."""
    return set(source[code.span[1] : output.span[0]].split()) <= {"```", "```text"}


@pytest.fixture
def _folder_with_data(tmp_path, monkeypatch):
    (tmp_path / "data").symlink_to(TREE / "data", target_is_directory=True)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=page.relative_to(TREE).as_posix(),
            marks=[pytest.mark.slow] if page in SLOW_PAGES else [],
        )
        for page in PAGES
    ],
)
@pytest.mark.usefixtures("_folder_with_data")
def test_every_python_block_runs_and_prints_what_the_page_shows(page, request):
    source = page.read_text(encoding="utf-8")
    page_blocks = blocks(page)
    namespace = {"__name__": "__main__"}
    outputs, without_output = [], []
    for block, after in zip_longest(page_blocks, page_blocks[1:]):
        if block.language != "python":
            continue
        # The blank lines make the line numbers of tracebacks those of the page.
        code = compile("\n" * (block.line - 1) + block.text, page, "exec", dont_inherit=True)
        if page.parent.name == "gallery":  # each block is complete
            namespace = {"__name__": "__main__"}
        with redirect_stdout(StringIO()) as printed, pl.Config(tbl_width_chars=100):
            exec(code, namespace)
        if after and after.language == "text" and follows(source, block, after):
            outputs.append((after, printed.getvalue()))
        elif printed.getvalue():
            without_output.append(block.line)
    assert without_output == [], f"{page.name}: blocks at these lines print, but show no output"
    if request.config.getoption("--update-golden", default=False):
        for output, printed in reversed(outputs):
            source = source[: output.span[0]] + printed + source[output.span[1] :]
        page.write_text(source, encoding="utf-8")
        return
    for output, printed in outputs:
        assert printed == output.text, f"{page.name}, line {output.line}: see --update-golden"


@pytest.mark.usefixtures("_folder_with_data")
def test_every_rocframe_command_works(capsys):
    seen = set()
    with all_cases() as case:
        for page in PAGES:
            for line in commands(page):
                if line not in seen:  # pages repeat commands that write a report
                    seen.add(line)
                    with case(page.name, line):
                        assert main(shlex.split(line, comments=True)[2:]) == 0, capsys.readouterr()
    assert len(seen) > 1


def commands(page: Path) -> list[str]:
    """Return the lines of a page that run `rocframe`."""
    consoles = [block.text for block in blocks(page) if block.language == "console"]
    lines = "".join(consoles).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("$ rocframe ")]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_exists(name):
    targets = re.findall(r"^([a-z]+):", (TREE / "Makefile").read_text(), re.MULTILINE)
    page = (TREE / name).read_text(encoding="utf-8")
    mentioned = re.findall(r"(?:`|^)make ((?:[a-z]+ ?)+)", page, re.MULTILINE)
    assert mentioned
    assert {target for group in mentioned for target in group.split()} <= set(targets)


def test_every_path_of_the_rules_exists():
    page = (TREE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:tests|rocframe|bench|docs|data)/[\w./]*)`", page)
    assert [path for path in paths if not (TREE / path).exists()] == []


def test_the_api_page_has_the_public_names_and_no_others():
    pages = "".join((DOCS / f"{name}.md").read_text("utf-8") for name in ("api", "errors"))
    listed = re.findall(r"^(?: +|\.\. autoexception:: )rocframe\.(\w+)", pages, re.MULTILINE)
    assert set(listed) == set(rf.__all__) - {"__version__"}


def test_the_api_page_has_the_methods_of_expressions_and_no_others():
    page = (DOCS / "expressions.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\.\. automethod:: RocExpr\.(\w+)$", page, re.MULTILINE)
    assert set(listed) == public_methods(pl.col("score").roc)


@pytest.mark.parametrize("frame", [pl.DataFrame, pl.LazyFrame])
def test_the_methods_of_frames_are_public_functions(frame):
    assert public_methods(frame().roc) <= set(rf.__all__)


def public_methods(accessor):
    return {name for name in dir(type(accessor)) if not name.startswith("_")}


@every_page
def test_every_fence_is_closed(page):
    fences = re.findall(r"^`{3,}", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) == 2 * len(blocks(page))
