"""Make the built site smaller: remove files that no page loads, and markup without an effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx

# Source maps, the icons of companies, and the script for icons of other sets than the font.
UNUSED = ("*.map", "fa-brands-400.woff2", "scripts/fontawesome.js*", "webpack-macros.html")
ICON_SCRIPT = re.compile(r"<script[^>]*scripts/fontawesome\.js[^>]*></script>")
# The names and the rules of the icons in the style sheet of the theme.
ICON = re.compile(r"\.(?P<name>fa-[\w-]+)\{--fa:\"[^\"]*\"\}")
KEPT = re.compile(r"<(?P<tag>pre|script|style)\b.*?</(?P=tag)>", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# Names, punctuation and spaces in code have the color of plain text.
PLAIN = re.compile(r'<span class="(?:n|nn|nx|p|w)">([^<]*)</span>')
LITERAL = re.compile(r'<code class="docutils literal notranslate">(.*?)</code>', re.DOTALL)
WORD = re.compile(r'<span class="pre">([^<]*)</span>')


def shrink(app: Sphinx, _error: Exception | None) -> None:
    """Remove unused files of the theme, and shorten the pages and the style sheet."""
    site = app.outdir
    for pattern in UNUSED:
        for path in (site / "_static").rglob(pattern):
            path.unlink()
    used = set()
    for path in site.rglob("*.html"):
        text = shorter(path.read_text(encoding="utf-8"))
        used |= set(re.findall(r"\bfa-[\w-]+", text))
        path.write_text(text, encoding="utf-8")
    for path in (site / "_static").rglob("*.js"):
        used |= set(re.findall(r"\bfa-[\w-]+", path.read_text(encoding="utf-8")))
    for path in (site / "_static" / "styles").glob("pydata*.css"):
        text = path.read_text(encoding="utf-8")
        path.write_text(
            ICON.sub(lambda rule: rule[0] if rule["name"] in used else "", text), encoding="utf-8"
        )


def shorter(page: str) -> str:
    """Return a page without indentation, comments, and spans that have no style."""
    page = ICON_SCRIPT.sub("", page)
    page = LITERAL.sub(lambda code: WORD.sub(r"\1", f'<code class="literal">{code[1]}</code>'), page)
    parts, start = [], 0
    for kept in KEPT.finditer(page):
        parts += [_flat(page[start : kept.start()]), PLAIN.sub(r"\1", kept[0])]
        start = kept.end()
    return "".join([*parts, _flat(page[start:])])


def _flat(html: str) -> str:
    return re.sub(r"\s*\n\s*", "\n", COMMENT.sub("", html))
