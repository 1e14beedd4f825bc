"""Sphinx configuration: API pages from docstrings, other pages from Markdown, no network."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import imagesize
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.ext.autosummary import Autosummary
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

import rocframe as rf

sys.path.insert(0, str(Path(__file__).parent))

import live_charts
import pictures
import reference
import search_terms
import shrink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sphinx.application import Sphinx

project = "rocframe"
author = "The rocframe developers"
copyright = author
version = release = rf.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
]
# The API pages include the texts of the folder reference.
exclude_patterns = ["_build", "reference"]
templates_path = ["_templates"]
nitpicky = True
default_role = "literal"  # single backticks in docstrings enclose code
# Only names of rocframe are checked, except the type variable `FrameT`. To resolve types of other
# packages, Sphinx needs a network.
nitpick_ignore_regex = [("py:.*", r"(?!rocframe\.).*|.*\bFrameT")]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_context = {
    "fragments": {f"rocframe.{path.stem}": path.name for path in reference.FRAGMENTS.glob("*.md")}
}
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = f"rocframe {release}"
html_static_path = ["_static"]
html_extra_path = ["llms.txt"]  # docs/llms.py writes it
html_css_files = ["tables.css"]
html_js_files = [("copy.js", {"defer": "defer"})]
html_favicon = "_static/favicon.svg"
# Other pages, such as those of functions, have no list at the side: code needs the width.
LISTED = ["guide", "uncertainty", "decisions", "calibration", "folds", "classes", "monitoring"]
LISTED += ["large-logs", "pipelines", "command-line"]
LISTED += [
    f"{folder}/{page.stem}"
    for folder in ("course", "gallery")
    for page in Path(__file__).with_name(folder).glob("*.md")
]
html_sidebars = {"**": []} | {page: ["sidebar-nav-bs.html"] for page in LISTED}
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "primary_sidebar_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
}


WIDE = 600  # pixels; also in tables.css


class Pictures(SphinxTransform):
    """Show each picture with its width, which Sphinx needs to link it to its file."""

    default_priority = 10  # before Sphinx copies the images

    def apply(self, **_: Any) -> None:
        """Set the widths of the images, and mark wide ones, which phones scroll."""
        for image in self.document.findall(nodes.image):
            _, path = self.env.relfn2path(image["uri"])
            width = imagesize.get(path)[0]
            image.setdefault("width", f"{width}px")
            if width > WIDE:
                image["classes"].append("wide")


class Thumbnails(SphinxDirective):
    """Show cards with the panels of pictures, without axes and legends.

    The argument is the name of a page in the same folder: its sections become cards. Without it,
    each line of the content is the title of a section of this page and a picture.
    """

    optional_arguments = 1
    has_content = True
    SECTION = re.compile(
        r"^## (?P<title>.+)$(?:(?!^## ).*\n)*?"
        r"^!\[[^\]]*\]\(\.\./(?P<picture>images/[^)]*)\)$",
        re.MULTILINE,
    )
    ROOM = 4 / 3  # width per height of the room for a picture

    def run(self) -> list[nodes.Node]:
        """Return the cards."""
        name = self.arguments[0] if self.arguments else Path(self.env.docname).name
        page = Path(self.env.doc2path(self.env.docname)).with_name(f"{name}.md")
        for path in (page, pictures.PANELS):
            self.env.note_dependency(str(path))
        if self.content:
            found = [tuple(line.split(": ")) for line in self.content]
        else:
            found = self.SECTION.findall(page.read_text(encoding="utf-8"))
        texts = {part.picture: part.text for part in reference.sections()}
        lines = ["::::{grid} 2 2 3 4", ":gutter: 2", ""]
        for title, picture in found:
            lines += [
                f":::{{grid-item-card}} {title}",
                f":link: {name}.html#{nodes.make_id(title)}",
                ":link-type: url",
                "",
                f"![{' '.join(texts[picture].split())}](/{picture})",
                ":::",
            ]
        lines.append("::::")
        cards = nodes.Element()
        self.state.nested_parse(StringList(lines, str(page)), self.content_offset, cards)
        panels = json.loads(pictures.PANELS.read_text(encoding="utf-8"))
        for picture in list(cards.findall(nodes.image)):
            picture["classes"].append("no-scaled-link")
            picture["loading"] = "lazy"
            image = picture["uri"].rpartition("images/")[2]
            picture["uri"] = os.path.relpath(pictures.IMAGES / image, page.parent)
            size = imagesize.get(pictures.IMAGES / image)
            frame = self.frame(panels.get(image, (0, 0, 1, 1)), *size)
            start, end = (
                nodes.raw("", html, format="html")
                for html in (f'<span class="panel" style="{frame}">', "</span>")
            )
            place = picture.parent.index(picture)
            picture.parent[place : place + 1] = [start, picture, end]
        return cards.children

    def frame(self, panel: Sequence[float], width: int, height: int) -> str:
        """Return the style of a frame around a panel of a picture: see tables.css."""
        left, top, wide, high = panel
        ratio = wide * width / (high * height)
        style = {
            "width": f"{min(1, ratio / self.ROOM):.1%}",
            "aspect-ratio": f"{ratio:.3f}",
            "--picture": f"{1 / wide:.1%}",
            "--left": f"{-left / wide:.1%}",
            "--top": f"{-top / high:.1%}",
        }
        return "; ".join(f"{name}: {value}" for name, value in style.items())


class FunctionCards(Autosummary):
    """Show the functions of the API page as cards with a summary and a picture."""

    def get_table(self, items: list[tuple[str, str | None, str, str]]) -> list[nodes.Node]:  # type: ignore[override]
        """Return a card for each function."""
        if self.env.docname != "api":
            return super().get_table(items)  # type: ignore[arg-type, return-value]
        lines = [".. grid:: 1 2 3 3", "   :gutter: 2", ""]
        for name, _, summary, full_name in items:
            picture = reference.picture_of(name.removeprefix("rocframe."))
            lines += [
                f"   .. grid-item-card:: {name.rpartition('.')[2]}",
                f"      :link: api/{full_name}.html",
                *(
                    "      :link-type: url",
                    "      :class-card: thumbnail",
                    "",
                    f"      {summary}",
                    "",
                ),
            ]
            if picture is not None:
                lines += [
                    f"      .. image:: /{picture.picture}",
                    *(f"         :alt: {picture.text}", ""),
                ]
        cards = nodes.Element()
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, cards)
        return cards.children


def add_examples(
    _app: Sphinx, what: str, name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Add a picture below the examples of a function, and links to more examples at the end.

    Initials at the beginning of a reference are no letters of a list.
    """
    lines[:] = [re.sub(r"^(\s*- [A-Z])\. ", r"\1\\. ", line) for line in lines]
    if what == "function":
        function = name.removeprefix("rocframe.")
        starts = (":Parameters:", ":Returns:")
        start = next((i for i, line in enumerate(lines) if line.startswith(starts)), len(lines))
        lines[start:start] = reference.picture_lines(function)
        lines += ["", *reference.example_lines(function)]


def setup(app: Sphinx) -> None:
    """Add the transform, the directives and the hook of this file to Sphinx."""
    search_terms.setup(app)
    app.add_transform(Pictures)
    live_charts.setup(app)
    app.connect("build-finished", shrink.shrink, priority=900)  # after the steps that write files
    app.add_directive("thumbnails", Thumbnails)
    app.add_directive("autosummary", FunctionCards, override=True)
    # numpydoc has the priority 500, and must see the docstring alone.
    app.connect("autodoc-process-docstring", add_examples, priority=900)
