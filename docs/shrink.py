"""Make the built site smaller: remove files that no page loads, and markup without an effect.

The style sheets of the theme keep the rules of elements that the pages have. Pictures
become WebP files with 18 levels of each color, which no reader distinguishes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

from PIL import Image

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Source maps, icons that no page has, and the script for icons of other sets than the font.
UNUSED = ("*.map", "fa-brands-400.woff2", "fa-regular-400.woff2", "fontawesome.js*")
UNUSED += ("webpack-macros.html",)
SHEETS = ("styles/pydata*.css", "sphinx-design*.css", "basic.css")
KEPT = re.compile(r"<(?P<tag>pre|script|style)\b.*?</(?P=tag)>", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# Hints for browsers and for search services, and versions of files; see OWN for those that remain.
HINT = re.compile(
    r'<link rel="(?:preload|next|prev|index)"[^>]*>|<meta name="docsearch[^>]*>'
    r"|<script[^>]*scripts/fontawesome\.js[^>]*></script>"
    r'|\?(?:digest|v)=\w+(?=")|(?<= )title="(?:Link to this [a-z]+|rocframe[\w.]*)"'
    r'|(?<=<script )data-cfasync="false"|<meta name="viewport"[^>]*>(?=.*<meta name="viewport")',
    re.DOTALL,
)
# The caches of browsers must not mix versions of the files of this site: each has a digest.
OWN = re.compile(
    r"_static/(?:(?:copy|live-charts|charts/rocframe)\.js|(?:tables|charts/colors)\.css)"
)
# Names, operators, punctuation and spaces in code have the color of plain text.
PLAIN = re.compile(r'<span class="(?:n|nn|nx|o|p|w)">([^<]*)</span>')
WORD = re.compile(r'<span class="pre">([^<]*)</span>')
LITERAL = re.compile(
    r'<code class="(xref )?[^">]*docutils literal notranslate">(.*?)</code>', re.DOTALL
)
SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.DOTALL)
# HTML lets these end tags, the quotation marks of simple values and spaces before blocks out.
BLOCK = "article|dd|div|dl|dt|h[1-6]|header|li|link|meta|nav|ol|p|pre|script|section|table|td|tr|ul"
OPTIONAL = re.compile(
    r"</(?:li|dd|dt|td|th|tr)>|(?<==)\"(?P<value>[\w.:#-]+)\"(?=[ >])"
    rf"|(?:</p>)?\s*(?=</?(?:{BLOCK})\b)"
)
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
        text = shorter(path.read_text(encoding="utf-8"))
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


def shorter(page: str) -> str:
    """Return a page without indentation, comments, hints, and markup that has no style."""
    page = HINT.sub("", page)
    page = LITERAL.sub(_code, page)
    page = SIGNATURE.sub(lambda part: PLAIN.sub(r"\1", WORD.sub(r"\1", part[0])), page)
    page = re.sub(r"(_images/[\w.-]+)\.png(?=\")", r"\1.webp", page)
    parts, start = [], 0
    for kept in KEPT.finditer(page):
        parts += [_flat(page[start : kept.start()]), PLAIN.sub(r"\1", kept[0])]
        start = kept.end()
    return "".join([*parts, _flat(page[start:])])


def _code(literal: re.Match[str]) -> str:
    tag = "<code class=xref>" if literal[1] else "<code>"
    return WORD.sub(r"\1", f"{tag}{literal[2]}</code>")


def _flat(html: str) -> str:
    html = re.sub(r"\s*\n\s*", "\n", COMMENT.sub("", html))
    return OPTIONAL.sub(lambda part: part["value"] or "", html)


def used_rules(sheet: str, words: set[str]) -> str:
    """Return a style sheet with only the selectors whose classes are words of pages or scripts."""

    def kept(rule: re.Match[str]) -> str:
        selectors = [
            selector
            for selector in re.split(r",(?![^(]*\))", rule["selectors"])
            if words.issuperset(CLASS.findall(re.sub(r":\w+\([^)]*\)", "", selector)))
        ]
        return f"{','.join(selectors)}{{{rule['body']}}}" if selectors else ""

    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL).replace("code.literal", "code")
    return RULE.sub(kept, sheet)
