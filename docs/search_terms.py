"""Terms that readers search: entries of the index of the search, which leads to their sections."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

# The page and the section that answer each term: an entry of the index below its heading.
SEARCH_TERMS = {
    "install": ("index", "Install"),
    "sample size": ("uncertainty", "Sample size and power"),
    "McNemar": ("uncertainty", "The test of each metric"),
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


def setup(app: Sphinx) -> None:
    """Add the entries when pages are read."""
    app.connect("source-read", add_search_terms)
    app.connect("env-get-outdated", pages_with_terms)
