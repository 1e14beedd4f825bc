"""What the page of a function shows besides its docstring: columns, definitions and examples.

The columns are a table of the page on tables. The definitions are the sections of the page on
numbers that name the function. The examples are the sections of all pages whose code calls it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docutils.nodes import make_id
from pictures import HERE, pages

TABLES = HERE / "tables.md"
MAX_EXAMPLES = 8  # number of links on the page of a function
# The pages and folders with examples, in the order of the links. "" are all other pages.
EXAMPLE_PAGES = ("cookbook", "guide", "", "course/", "coming-from/")
GALLERY = (
    "curves",
    "uncertainty",
    "comparison",
    "decisions",
    "calibration",
    "folds",
    "classes",
    "time",
)
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
PICTURE = re.compile(r"^!\[(?P<text>[^\]]*)\]\((?:\.\./)*(?P<file>images/[^)]*)\)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of a page: its title, its code, and its first picture with a text alternative."""

    page: str
    page_title: str
    title: str
    code: str
    body: str
    picture: str | None = None
    text: str = ""

    @property
    def link(self) -> str:
        """The address of the section, relative to the folder of the documentation."""
        anchor = "" if self.title == self.page_title else f"#{make_id(self.title)}"
        return f"{self.page}.html{anchor}"

    def calls(self, function: str) -> bool:
        """Return whether the code calls a function or the method of this name."""
        return bool(re.search(rf"\b(?:rf|roc)\.{function}\(", self.code))


@cache
def sections() -> list[Section]:
    """Return the sections with code of all pages, in the order of `EXAMPLE_PAGES`."""
    found = []
    for path in pages():
        page = path.relative_to(HERE).with_suffix("").as_posix()
        text = path.read_text(encoding="utf-8")
        # A comment in code is not a heading.
        headings = list(HEADING.finditer(CODE.sub(lambda match: " " * len(match[0]), text)))
        ends = [*(heading.start() for heading in headings[1:]), len(text)]
        for heading, end in zip(headings, ends, strict=False):
            body = text[heading.end() : end]
            picture = PICTURE.search(body)
            found.append(
                Section(
                    page=page,
                    page_title=headings[0][1],
                    title=heading[1].replace("`", ""),
                    code="\n".join(CODE.findall(body)),
                    body=body,
                    picture=picture["file"] if picture else None,
                    text=picture["text"] if picture else "",
                )
            )
    return sorted(found, key=_position)


def _position(section: Section) -> int:
    """Return the position of the page of a section in `EXAMPLE_PAGES`."""
    folder, _, _ = section.page.rpartition("/")
    names = (section.page, f"{folder}/" if folder else "")
    return next((i for i, name in enumerate(EXAMPLE_PAGES) if name in names), len(EXAMPLE_PAGES))


def picture_of(function: str) -> Section | None:
    """Return the section of the gallery whose picture shows a result of the function."""
    for part in sections():
        if part.page == "gallery/pages" and part.title.lower() == function:
            return part
    for name in GALLERY:
        start, *parts = (part for part in sections() if part.page == f"gallery/{name}")
        if start.calls(function):  # the code at the beginning of a page serves all its pictures
            return parts[0]
        for part in parts:
            if part.picture and part.calls(function):
                return part
    return None


def definitions_of(function: str) -> list[Section]:
    """Return the sections of the page on numbers that name the function."""
    numbers = (part for part in sections() if part.page == "numbers")
    named = re.compile(rf"`(?:rf\.)?{function}[`(]")
    return [part for part in numbers if part.title != part.page_title and named.search(part.body)]


def columns_of(function: str) -> tuple[str, list[str]] | None:
    """Return the heading and the rows of the table of columns that a function returns."""
    lines = TABLES.read_text(encoding="utf-8").split("\n")
    names = rf"(?:`\w+`(?:, | and ))*`{function}`(?:(?:, | and )`\w+`)*"
    start = next((i for i, line in enumerate(lines) if re.match(rf"{names} returns? ", line)), None)
    if start is None:
        return None
    heading = next(line for line in reversed(lines[:start]) if line.startswith("## "))[3:]
    table = next((i for i in range(start, len(lines)) if lines[i].startswith(("| ", "#"))), start)
    if not lines[table].startswith("| column |"):
        return None
    end = next(i for i in range(table, len(lines)) if not lines[i].startswith("|"))
    return heading, [lines[table], *lines[table + 2 : end]]


def _rst(cell: str) -> str:
    """Return a cell of a Markdown table as reStructuredText."""
    cell = re.sub(r"\*`(\w+)`\*", r"*\1*", cell)
    parts = re.split(r"(\[[^\]]+\]\([^)]+\))", cell)
    for i, part in enumerate(parts):
        link = re.fullmatch(r"\[([^\]]+)\]\(([^#)]*)(#?[^)]*)\)", part)
        if link:
            page = Path(link[2] or TABLES.name).with_suffix(".html")
            parts[i] = f"`{link[1].replace('`', '')} <../{page}{link[3]}>`__"
        else:
            # Markup without a space before or after it needs an escaped space.
            text = re.sub(r"`([^`]+)`", r"``\1``", part)
            parts[i] = re.sub(r"(\w\*)(?=``)", r"\1\\ ", text)
    return "".join(parts)


def function_lines(function: str) -> list[str]:
    """Return the reStructuredText below the docstring of a function."""
    lines: list[str] = []
    columns = columns_of(function)
    if columns is not None:
        heading, rows = columns
        link = f"`Tables: {heading} <../tables.html#{make_id(heading)}>`__"
        lines += [".. rubric:: Columns", "", link, ""]
        lines += [".. list-table::", "   :header-rows: 1", ""]
        for row in rows:
            first, *rest = (_rst(cell.strip()) for cell in re.split(r"(?<!\\)\|", row[1:-1]))
            lines += [f"   * - {first}", *(f"     - {cell}" for cell in rest)]
        lines.append("")
    definitions = definitions_of(function)
    if definitions:
        lines += [".. rubric:: Definitions", ""]
        lines += [f"- Numbers: `{part.title} <../{part.link}>`__" for part in definitions]
        lines.append("")
    picture = picture_of(function)
    if picture is not None:
        lines += [
            *(".. rubric:: Picture", ""),
            *(f".. image:: /{picture.picture}", f"   :alt: {picture.text}", ""),
            *(f"`{picture.page_title} {picture.title} <../{picture.link}>`__", ""),
        ]
    examples = [
        part
        for part in sections()
        if not part.page.startswith("gallery/")
        and part.title != part.page_title
        and part.calls(function)
    ][:MAX_EXAMPLES]
    if examples:
        lines += [".. rubric:: More examples", ""]
        lines += [f"- {part.page_title}: `{part.title} <../{part.link}>`__" for part in examples]
        lines.append("")
    return lines
