"""Make the built site smaller: remove files that no page loads, and markup without an effect.

The style sheets of the theme keep the rules of elements that the pages have. Pictures become WebP
files with 18 levels of each color.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

from minify_html import minify
from PIL import Image

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Source maps, icons that no page has, and the script for icons of other sets than the font.
UNUSED = ("*.map", "fa-brands-400.woff2", "fa-regular-400.woff2", "fontawesome.js*")
UNUSED += ("webpack-macros.html",)
SHEETS = ("styles/pydata*.css", "sphinx-design*.css", "basic.css")
# Hints for browsers and for search services, and versions of files; see OWN for those that remain.
HINT = re.compile(
    r'<link rel="(?:preload|next|prev|index)"[^>]*>|<meta name="docsearch[^>]*>'
    r"|<script[^>]*scripts/fontawesome\.js[^>]*></script>"
    r'|\?(?:digest|v)=\w+(?=")'
)
# Names, operators, punctuation and spaces in code have the color of plain text.
PLAIN = re.compile(r'<span class="(?:n|nn|nx|o|p|w|pre)">([^<]*)</span>')
# The caches of browsers must not mix versions of the files of this site: each has a digest.
OWN = re.compile(
    r"_static/(?:(?:copy|live-charts|charts/rocframe)\.js|(?:tables|charts/colors)\.css)"
)
PICTURE = re.compile(r"(_images/[\w.-]+)\.png(?=\")")
RULE = re.compile(r"(?P<selectors>[^{}@;]+)\{(?P<body>[^{}]*)\}")
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")


def shrink(app: Sphinx, error: Exception | None) -> None:
    """Remove unused files of the theme, and shorten the pages, their pictures and style sheets."""
    if error:
        return
    site, static = app.outdir, app.outdir / "_static"
    for path in {path for pattern in UNUSED for path in static.rglob(pattern)}:
        path.unlink()
    versions = {
        file.relative_to(site).as_posix(): f"{crc32(file.read_bytes()):08x}"
        for file in static.rglob("*")
        if OWN.fullmatch(file.relative_to(site).as_posix())
    }
    words = set()
    for path in site.rglob("*.html"):
        text = PLAIN.sub(r"\1", HINT.sub("", path.read_text(encoding="utf-8")))
        text = minify(PICTURE.sub(r"\1.webp", text))
        text = OWN.sub(lambda file: f"{file[0]}?v={versions[file[0]]}", text)
        words |= set(re.findall(r"[\w-]+", text))
        path.write_text(text, encoding="utf-8")
    for path in static.rglob("*.js"):
        words |= set(re.findall(r"[\w-]+", path.read_text(encoding="utf-8")))
    for path in [path for pattern in SHEETS for path in static.glob(pattern)]:
        path.write_text(used_rules(path.read_text(encoding="utf-8"), words), encoding="utf-8")
    for path in (site / "_images").glob("*.png"):
        picture = Image.open(path).convert("RGB").point(lambda value: (value + 7) // 15 * 15)
        picture.save(path.with_suffix(".webp"), lossless=True, quality=100)
        path.unlink()


def used_rules(sheet: str, words: set[str]) -> str:
    """Return a style sheet with only the selectors whose classes are words of pages or scripts."""

    def kept(rule: re.Match[str]) -> str:
        selectors = [
            selector
            for selector in re.split(r",(?![^(]*\))", rule["selectors"])
            if words.issuperset(CLASS.findall(re.sub(r":\w+\([^)]*\)", "", selector)))
        ]
        return f"{','.join(selectors)}{{{rule['body']}}}" if selectors else ""

    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return RULE.sub(kept, sheet)
