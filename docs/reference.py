"""What the page of a function shows besides its docstring: a picture, and links to examples.

The picture is that of a section of the gallery. The examples are the sections of all pages whose
code calls the function. The columns and definitions are in the file of its name in `FRAGMENTS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from docutils.nodes import make_id
from pictures import HERE, pages

FRAGMENTS = HERE / "reference"
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
        for part in sections():
            if part.page == f"gallery/{name}" and part.picture and part.calls(function):
                return part
    return None


def picture_lines(function: str) -> list[str]:
    """Return the reStructuredText of the picture of a function, with a link to its section."""
    picture = picture_of(function)
    if picture is None:
        return []
    return [
        *(f".. image:: /{picture.picture}", f"   :alt: {picture.text}", ""),
        *(f"`{picture.page_title} {picture.title} <../{picture.link}>`__", ""),
    ]


def example_lines(function: str) -> list[str]:
    """Return the reStructuredText of the links to sections whose code calls a function."""
    examples = [
        part
        for part in sections()
        if not part.page.startswith("gallery/")
        and part.title != part.page_title
        and part.calls(function)
    ][:MAX_EXAMPLES]
    if not examples:
        return []
    links = [f"- {part.page_title}: `{part.title} <../{part.link}>`__" for part in examples]
    return [".. rubric:: More examples", "", *links, ""]
