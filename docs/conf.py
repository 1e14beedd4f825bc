"""Sphinx configuration: API pages from docstrings, other pages from Markdown, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import imagesize
from docutils import nodes

import rocframe as rf

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
]
exclude_patterns = ["_build"]
nitpicky = True
# Only names of rocframe are checked, except the type variable `FrameT`. To resolve types of other
# packages, Sphinx needs a network.
nitpick_ignore_regex = [("py:.*", r"(?!rocframe\.).*|.*\bFrameT")]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = f"rocframe {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_sidebars = {
    page: [] for page in ("index", "guide", "gallery", "tables", "numbers", "changelog")
}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 2,
    "show_prev_next": False,
}


def link_images(app: Sphinx, document: nodes.document) -> None:
    """Set the width of each image, because Sphinx links only images with a width to their files."""
    for image in document.findall(nodes.image):
        width, _ = imagesize.get(app.srcdir / image["uri"])
        image.setdefault("width", f"{width}px")


def setup(app: Sphinx) -> None:
    """Connect the functions of this file to Sphinx."""
    app.connect("doctree-read", link_images)
