"""The offline script: JavaScript that draws all charts of an HTML page without a network."""

from __future__ import annotations

import os
from base64 import b64encode
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rocframe.errors import MissingExtraError, StorageError
from rocframe.io.files import replacement
from rocframe.options import public

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


# With the option `ast`, Vega interprets expressions. Without `ast`, Vega compiles expressions with
# `Function`, which a content security policy forbids unless the policy contains 'unsafe-eval'.
EMBED = "window.rocframe={embed:(box,spec,options)=>vegaEmbed(box,spec,{...options,ast:true})};"
DRAW_SCRIPT = Path(__file__).with_name("offline_script.js")
DRAWING_SCRIPT = Path(__file__).with_name("drawing.js")


@public
def chart_bundle() -> str:
    """Return the HTML of the script that draws the charts of a page.

    One copy of the script, anywhere in the page, draws all fragments that
    `chart_fragment(chart, bundle=False)` returned. The script has about 900 kB and needs no
    network.

    Returns
    -------
    str
        A `<script>` element, which defines the global name `rocframe`. A page may contain several
        copies. `rocframe.draw()` draws fragments that other scripts add to the page later. The
        script does not use `eval`, so the content security policy of a page need not contain
        `'unsafe-eval'`.

    Raises
    ------
    MissingExtraError
        If vl-convert is not installed.

    See Also
    --------
    chart_fragment : A chart as an HTML fragment.

    Examples
    --------
    >>> import rocframe as rf
    >>> rf.chart_bundle()[:8]
    '<script>'
    """
    return f"<script>{bundle_script()}</script>"


def bundle_script() -> str:
    """Return the JavaScript that draws the charts of a page, without `<script>` tags."""
    return f"{embed_script()}\n{DRAW_SCRIPT.read_text(encoding='utf-8').strip()}"


def content_policy(*scripts: str) -> str:
    """Return the content security policy of a page in which only the given inline scripts run.

    Vega's tooltips and graphics have inline styles, and saved images are `data:` or `blob:` URLs.
    """
    hashes = (b64encode(sha256(script.encode()).digest()).decode() for script in scripts)
    sources = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; "
        f"style-src 'unsafe-inline'; script-src {sources}"
    )


@cache
def embed_script() -> str:
    """Return the script that defines `rocframe.embed`; a second copy in a page has no effect."""
    library = load_vl_convert("chart_bundle")
    # The script is cached, because creating it takes two seconds. It depends only on EMBED and on
    # the release of vl-convert.
    name = f"embed-{library.__version__}-{_sha256(EMBED)[:8]}.js"
    code = cached_text(name, partial(library.javascript_bundle, EMBED))
    # In an HTML page, these two texts would end the script element or start a comment.
    code = code.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    drawing = DRAWING_SCRIPT.read_text(encoding="utf-8").strip()
    # `window.rocframe` can be an element: a heading "rocframe" usually has this id.
    return f"if(!window.rocframe?.embed)(()=>{{{code}}})();\n{drawing}"


def load_vl_convert(feature: str) -> ModuleType:
    """Import vl-convert, which contains Vega, or raise an error that says how to install it."""
    try:
        import vl_convert
    except ModuleNotFoundError as error:
        raise MissingExtraError.compose(feature, "vl-convert", "report") from error
    module: ModuleType = vl_convert
    return module


def cached_text(name: str, create: Callable[[], str]) -> str:
    """Return the text in the file `name` of the cache folder.

    If there is no such file, or if it is damaged, the text is created and the file is written. The
    first line of the file is the checksum of the text.
    """
    folder = cache_folder()
    if folder is None:
        return create()
    path = folder / name
    with suppress(OSError, UnicodeDecodeError):
        checksum, _, text = path.read_bytes().decode().partition("\n")
        if checksum == _sha256(text):
            return text
    text = create()
    with suppress(OSError, StorageError):
        folder.mkdir(parents=True, exist_ok=True)
        with replacement(path) as new:
            new.write_bytes(f"{_sha256(text)}\n{text}".encode())
    return text


def cache_folder() -> Path | None:
    """Return the cache folder of this user, or None if the user has no home folder."""
    parent = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    if Path(parent).is_absolute():
        return Path(parent, "rocframe")
    try:
        return Path.home() / ".cache" / "rocframe"
    except RuntimeError:
        return None


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()
