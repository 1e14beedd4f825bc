"""The list of files in CONTRIBUTING.md has a line per file and folder, from its docstring."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import rocframe as rf
from tests.test_layers import LAYERS, parsed

PACKAGE = Path(rf.__file__).parent
PAGE = PACKAGE.parent / "CONTRIBUTING.md"
SUFFIXES = {".py", ".js", ".html"}
BLOCK = re.compile(r"(?<=^```text\nrocframe/\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def position(path: Path) -> tuple[bool, int, str]:
    """Return the position of a file or folder: files first, in the order of the layers."""
    layer = path.name.removesuffix(".py")
    known = path.parent == PACKAGE and layer in LAYERS
    return path.is_dir(), LAYERS.index(layer) if known else -1, path.name


def tree(folder: Path, depth: int = 1) -> str:
    """List the files and folders in a folder with the first line of each docstring."""
    lines = []
    for path in sorted(folder.iterdir(), key=position):
        name = "  " * depth + path.name
        if path.is_dir() and any(path.glob("*.py")):
            lines += [line(f"{name}/", path / "__init__.py"), tree(path, depth + 1)]
        elif path.suffix in SUFFIXES and (path.name != "__init__.py" or depth == 1):
            lines.append(line(name, path))
    return "".join(lines)


def line(name: str, path: Path) -> str:
    """Return the name of a file or folder, and the first line of its docstring or comment."""
    if path.suffix == ".py":
        text = ast.get_docstring(parsed(path)) or ""
    else:
        text = path.read_text(encoding="utf-8").removeprefix("{# ").removeprefix("// ")
    return f"{name:<28} {text.splitlines()[0].removesuffix(' -#}')}\n"


def test_contributing_lists_every_file_with_its_first_line(request):
    page = PAGE.read_text(encoding="utf-8")
    (listed,) = BLOCK.finditer(page)
    expected = tree(PACKAGE)
    if request.config.getoption("--update-golden"):
        page = page[: listed.start()] + expected + page[listed.end() :]
        PAGE.write_text(page, encoding="utf-8")
    assert expected in page, "see --update-golden"


def test_every_file_and_folder_says_in_one_line_what_is_in_it():
    lines = tree(PACKAGE).splitlines()
    assert [line for line in lines if not line.endswith(".")] == []
    assert [line for line in lines if len(line) > 125] == []
