"""Vega-Embed and all it needs → one script, which any number of charts in a page share."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from rocframe.errors import MissingExtraError
from rocframe.report.kept import kept

if TYPE_CHECKING:
    from types import ModuleType

EMBED = "window.rocframe={embed:vegaEmbed};"
DRAW = Path(__file__).with_name("fragment.js")


@cache
def embedder() -> str:
    """Define `rocframe.embed`, and nothing else, unless another copy has done so."""
    library = vl_convert("chart_bundle")
    # Making it takes two seconds, and of one release it is always the same.
    code = kept(f"embed-{library.__version__}.js", partial(library.javascript_bundle, EMBED))
    # In a string of the script, these would end or hide it.
    code = code.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    return f"if(!window.rocframe)(()=>{{{code}}})();"


def chart_bundle() -> str:
    """Return the script that draws the charts of a page, as HTML.

    One copy, anywhere in the page, draws all fragments that `chart_fragment(chart, bundle=False)`
    made, those before and those behind it. It is about 900 kB, and asks the network for nothing.

    Returns
    -------
    str
        A `<script>` element. It defines one name, `rocframe`, however often it is there;
        `rocframe.draw()` draws fragments that other scripts put into the page later.

    Raises
    ------
    MissingExtraError
        If vl-convert is not installed.

    See Also
    --------
    chart_fragment : The charts.

    Examples
    --------
    >>> import rocframe as rf
    >>> rf.chart_bundle()[:8]
    '<script>'
    """
    return f"<script>{embedder()}\n{DRAW.read_text(encoding='utf-8').strip()}</script>"


def vl_convert(wanted: str) -> ModuleType:
    """Return the library that knows Vega, or say how to get it."""
    try:
        import vl_convert as found
    except ModuleNotFoundError as error:
        raise MissingExtraError.of(wanted, "vl-convert", "report") from error
    module: ModuleType = found
    return module
