"""Check the built documentation: `python tests/check_docs.py docs/_build/html`.

The links within the site work, each picture has a text alternative, each live chart has a
specification, the search finds the headings of the pages except the changelog, and terms of
SEARCH_TERMS, and the site is not larger than MAX_BYTES.
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from search_terms import SEARCH_TERMS

MIN_WORDS = 3  # of the text alternative of a picture
MAX_BYTES = 8_000_000


class Page(HTMLParser):
    """The links, anchors, pictures and headings of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.alternatives: dict[str, str] = {}
        self.charts: list[str] = []
        self.headings: list[str] = []
        self._in_heading = self._in_anchor = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "a" and "headerlink" in values.get("class", ""):
            self._in_anchor = True
        if tag == "img":
            self.alternatives[values.get("src", "")] = values.get("alt", "")
        if "data-chart" in values:
            self.charts.append(values["data-chart"])
        if tag in {"h1", "h2", "h3"}:
            self._in_heading = True
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._in_anchor = False
        if tag in {"h1", "h2", "h3"}:
            self._in_heading = False

    def handle_data(self, data: str) -> None:
        if self._in_heading and not self._in_anchor:
            self.headings[-1] += data


def problems(site: Path) -> list[str]:
    """Return a line for each broken link, picture without alternative and heading not found."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (
                anchor and target in pages and anchor not in pages[target].anchors
            ):
                found.append(f"{path.name}: the link {link} has no target")
        for image, text in page.alternatives.items():
            if "_images/" in image and len(text.split()) < MIN_WORDS:
                found.append(f"{path.name}: the picture {image} needs a text alternative")
        found += [
            f"{path.name}: the live chart {chart} has no specification"
            for chart in page.charts
            if not (site / "_static" / "charts" / chart).exists()
        ]
    found += not_searched(site, pages)
    n_bytes = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    if n_bytes > MAX_BYTES:
        found.append(f"the site has {n_bytes:,} bytes, more than {MAX_BYTES:,}")
    return found


def not_searched(site: Path, pages: dict[Path, Page]) -> list[str]:
    """Return a line for each heading and each term that the search does not find."""
    found = []
    index = json.loads(re.sub(r"^[^{]*|\)[^)]*$", "", (site / "searchindex.js").read_text()))
    titles = {re.sub(r"\W+", " ", title).strip().lower() for title in index["alltitles"]}
    for path, page in pages.items():
        for heading in page.headings if "<article" in path.read_text(encoding="utf-8") else []:
            name = re.sub(r"\W+", " ", heading).strip().lower()
            if name and name not in titles and path.stem not in {"search", "genindex", "changelog"}:
                found.append(f"{path.name}: the search index lacks the heading {heading}")
    names = index["docnames"]
    if "changelog" in [
        names[place[0]] for places in index["alltitles"].values() for place in places
    ]:
        found.append("searchindex.js: the changelog is searched")
    for term, (page, _) in SEARCH_TERMS.items():
        entries = [names[place[0]] for place in index["indexentries"].get(term.lower(), ())]
        if page not in entries:
            found.append(f"searchindex.js: the search for {term!r} does not lead to {page}")
    return found


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]))
    print("\n".join(found), file=sys.stderr)
    sys.exit(bool(found))
