"""Sphinx configuration: API pages from docstrings, other pages from Markdown, no network."""

from __future__ import annotations

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
import reference

if TYPE_CHECKING:
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
html_sidebars = {"**": []}  # code needs the width
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 2,
}


class Pictures(SphinxTransform):
    """Show each picture in the version for light or for dark pages, with a link to its file."""

    default_priority = 10  # before Sphinx copies the images

    def apply(self, **_: Any) -> None:
        """Set the widths of the images, and add their versions for dark pages."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            path = folder / image["uri"]
            # Sphinx links only images with a width to their files.
            image.setdefault("width", f"{imagesize.get(path)[0]}px")
            if path.with_stem(f"{path.stem}-dark").exists():
                dark = image.deepcopy()
                dark["uri"] = str(Path(image["uri"]).with_stem(f"{path.stem}-dark"))
                dark["classes"].append("only-dark")
                image["classes"].append("only-light")
                image.parent.insert(image.parent.index(image) + 1, dark)


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
    """Add a picture below the examples of a function, and links to more examples at the end."""
    if what == "function":
        function = name.removeprefix("rocframe.")
        starts = (":Parameters:", ":Returns:")
        start = next((i for i, line in enumerate(lines) if line.startswith(starts)), len(lines))
        lines[start:start] = reference.picture_lines(function)
        lines += ["", *reference.example_lines(function)]


def setup(app: Sphinx) -> None:
    """Add the transform, the directives and the hook of this file to Sphinx."""
    app.add_transform(Pictures)
    live_charts.setup(app)
    app.add_directive("thumbnails", Thumbnails)
    app.add_directive("autosummary", FunctionCards, override=True)
    # numpydoc has the priority 500, and must see the docstring alone.
    app.connect("autodoc-process-docstring", add_examples, priority=900)
