"""Sphinx configuration: API pages from docstrings, other pages from Markdown, no network."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import imagesize
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.ext.autosummary import Autosummary
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

import rocframe as rf

sys.path.insert(0, str(Path(__file__).parent))

import live_charts
import reference
import shrink

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

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
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "primary_sidebar_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
}

# Terms that readers search, and the section that answers each: an entry of the index below its
# heading, which the search lists first.
SEARCH_TERMS = {
    "install": ("index", "Install"),
    "sample size": ("uncertainty", "Sample size and power"),
    "McNemar": ("uncertainty", "Compare models where they are used"),
    "fairness": ("uncertainty", "Groups of rows"),
    "Youden": ("decisions", "Choose a threshold"),
    "MLflow": ("pipelines", "MLflow"),
    "PSI": ("monitoring", "Before there are labels"),
}


def add_search_terms(_app: Sphinx, name: str, source: list[str]) -> None:
    """Add the entries of the index to the source of a page."""
    for term, (page, section) in SEARCH_TERMS.items():
        if page == name:
            heading = re.compile(rf"^(#+ {re.escape(section)}\n)", re.MULTILINE)
            source[0], n_found = heading.subn(rf"\1\n```{{index}} ! {term}\n```\n", source[0])
            if n_found != 1:
                raise ExtensionError(f"{page}.md needs one heading {section!r}: see SEARCH_TERMS")


def pages_with_terms(
    _app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], _removed: set[str]
) -> list[str]:
    """Return the pages to read again: Sphinx forgets the entries of pages that it does not read."""
    pages = {page for page, _ in SEARCH_TERMS.values()} & env.found_docs
    return sorted(pages) if added or changed else []


class Pictures(SphinxTransform):
    """Show each picture with its width, which Sphinx needs to link it to its file."""

    default_priority = 10  # before Sphinx copies the images

    def apply(self, **_: Any) -> None:
        """Set the widths of the images."""
        for image in self.document.findall(nodes.image):
            _, path = self.env.relfn2path(image["uri"])
            image.setdefault("width", f"{imagesize.get(path)[0]}px")


class Thumbnails(SphinxDirective):
    """Show each section of a page of the gallery as a card with the picture of the section."""

    required_arguments = 1
    SECTION = re.compile(
        r"^## (?P<title>.+)$(?:(?!^## ).*\n)*?^(?P<picture>!\[[^\]]*\]\([^)]*\))$", re.MULTILINE
    )

    def run(self) -> list[nodes.Node]:
        """Return the cards of the page that the directive names."""
        name = self.arguments[0]
        page = Path(self.env.doc2path(self.env.docname)).with_name(f"{name}.md")
        self.env.note_dependency(str(page))
        lines = ["::::{grid} 1 2 3 3", ":gutter: 2", ""]
        for section in self.SECTION.finditer(page.read_text(encoding="utf-8")):
            lines += [
                f":::{{grid-item-card}} {section['title']}",
                f":link: {name}.html#{nodes.make_id(section['title'])}",
                ":link-type: url",
                ":class-card: thumbnail",
                "",
                section["picture"],
                ":::",
            ]
        lines.append("::::")
        cards = nodes.Element()
        self.state.nested_parse(StringList(lines, str(page)), self.content_offset, cards)
        return cards.children


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
    app.connect("source-read", add_search_terms)
    app.connect("env-get-outdated", pages_with_terms)
    app.add_transform(Pictures)
    live_charts.setup(app)
    app.connect("build-finished", shrink.shrink, priority=900)  # after the steps that write files
    app.add_directive("thumbnails", Thumbnails)
    app.add_directive("autosummary", FunctionCards, override=True)
    # numpydoc has the priority 500, and must see the docstring alone.
    app.connect("autodoc-process-docstring", add_examples, priority=900)
