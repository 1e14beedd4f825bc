"""Charts as files and HTML fragments, with the script that draws them offline."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from html import escape
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.errors import MissingExtraError, OptionValueError, StorageError
from rocframe.io.files import check_target, replaced
from rocframe.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


READS: dict[str, tuple[str, ...]] = {
    ".json": (),
    ".html": (),
    ".svg": (),
    ".png": ("scale", "ppi"),
    ".pdf": ("scale",),
}

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
</head>
<body>
{fragment}
</body>
</html>
"""


def save_chart(
    chart: alt.TopLevelMixin,
    path: str | os.PathLike[str],
    /,
    *,
    scale: float | None = None,
    ppi: float | None = None,
) -> None:
    """Save a chart as a picture, a page or a specification, whole or not at all.

    It does what `chart.save` does and three things more: the file is written beside its place,
    and then takes it in one step; a page needs no network, and names and values that hold markup
    are text in it; and data that JSON cannot hold become null.

    Parameters
    ----------
    chart : altair chart
        Any Altair chart. Its data are embedded; NaN and infinite values become null, because JSON
        has neither. Its description becomes the text alternative for screen readers.
    path : str or Path
        A file in a folder that is there. Its suffix says the format: `.png`, `.svg`, `.pdf`,
        `.html`, or `.json` for the specification.
    scale : float, default None
        How many times as large a picture is, of `.png` and `.pdf`; 1 unless given.
    ppi : float, default None
        Pixels per inch of a `.png`, 72 of which show the chart in its own size; 72 unless given.

    Raises
    ------
    StorageError
        If the suffix is unknown, if there is no such folder, or if the file cannot be written.
    MissingExtraError
        If vl-convert is not installed, which all formats but `.json` need.
    OptionValueError
        If `chart` is no Altair chart, if `scale` or `ppi` is no positive number, or if the format
        has no such option.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> chart = rf.curve(predictions, "label", "score").roc.chart()
    >>> with TemporaryDirectory() as folder:
    ...     rf.save_chart(chart, Path(folder) / "roc.svg")
    ...     (Path(folder) / "roc.svg").read_text(encoding="utf-8")[:4]
    '<svg'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in READS:
        wrong = f"no format of charts has the suffix {suffix!r}"
        raise StorageError.of(os.fspath(path), wrong, f"There are: {listed(READS)}.")
    given = {"scale": scale, "ppi": ppi}
    asked = {name: value for name, value in given.items() if value is not None}
    for name, value in asked.items():
        _check(name, value, suffix)
    check_target(path)
    content = _content(chart, suffix, asked)
    with replaced(path) as new:
        new.write_bytes(content)


def _check(name: str, value: object, suffix: str) -> None:
    if name not in READS[suffix]:
        having = [one for one, options in READS.items() if name in options]
        wrong = f"{suffix} has no such option"
        raise OptionValueError.of(name, value, wrong, f"It is for {listed(having)}. Leave it out.")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e4:
        raise OptionValueError.of(
            name, value, "it is no positive number", f"Give one, say {name}=2, or leave it out."
        )


def _content(chart: alt.TopLevelMixin, suffix: str, asked: Mapping[str, Any]) -> bytes:
    spec = spec_of(chart)
    if suffix == ".json":
        return (json.dumps(spec, allow_nan=False, indent=2) + "\n").encode()
    if suffix == ".html":
        vl_convert("save_chart")
        title = escape(said_of({"title": spec.get("title")}))
        return PAGE.format(title=title, fragment=chart_fragment(chart)).encode()
    library = vl_convert("save_chart")
    if suffix == ".png":
        png: bytes = library.vegalite_to_png(spec, **asked)
        return png
    if suffix == ".pdf":
        pdf: bytes = library.vegalite_to_pdf(spec, **asked)
        return pdf
    svg: str = library.vegalite_to_svg(spec)
    return svg.encode()


DRAWN = "<script>window.rocframe&&rocframe.draw()</script>"


def chart_fragment(chart: alt.TopLevelMixin, /, *, bundle: bool = True) -> str:
    r"""Return a chart as a piece of HTML, to be put into a page of one's own.

    It needs no network, has no ids, and can stand in a page as often as one likes, between any
    other fragments. Whatever is in names and values is text there, markup and `</script>` too.
    It is HTML already: templates take it with `| safe`, notebooks with `IPython.display.HTML`,
    Markdown and Quarto as a block of raw HTML.

    Parameters
    ----------
    chart : altair chart
        Any Altair chart. Its data are embedded; NaN and infinite values become null, because JSON
        has neither. Its description becomes the text alternative for screen readers.
    bundle : bool, default True
        Whether the script that draws it, about 900 kB, is part of the piece. A page with several
        charts needs it once: say False, and put `chart_bundle()` anywhere in it.

    Returns
    -------
    str
        A `<div>` of the class `rocframe-chart`, and a script or two. There are no blank lines in
        it, which would end HTML in Markdown.

    Raises
    ------
    MissingExtraError
        If vl-convert is not installed, and `bundle` is True.
    OptionValueError
        If `chart` is no Altair chart.

    See Also
    --------
    chart_bundle : The script, once.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> chart = rf.curve(predictions, "label", "score").roc.chart()
    >>> rf.chart_fragment(chart, bundle=False)[:39]
    '<div class="rocframe-chart" role="img" '
    """
    spec = spec_of(chart)
    data = f'<script type="application/json">{as_json(spec)}</script>'
    box = (
        f'<div class="rocframe-chart" role="img" aria-label="{escape(_line(said_of(spec)))}">'
        f'{data}<div style="width:100%"></div></div>{DRAWN}'
    )
    return f"{chart_bundle()}\n{box}" if bundle else box


def _line(text: str) -> str:
    return " ".join(text.split())


EMBED = "window.rocframe={embed:vegaEmbed};"

DRAW = Path(__file__).with_name("export.js")


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


def folder() -> Path | None:
    """Return where files of ours are kept, if this user has such a place."""
    named = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    if Path(named).is_absolute():
        return Path(named, "rocframe")
    try:
        return Path.home() / ".cache" / "rocframe"
    except RuntimeError:
        return None


def kept(name: str, make: Callable[[], str]) -> str:
    """Return the text of that name: as it was made before, or made now."""
    place = folder()
    if place is None:
        return make()
    path = place / name
    with suppress(OSError, UnicodeDecodeError):
        sign, _, text = path.read_bytes().decode().partition("\n")
        if sign == _signed(text):
            return text
    text = make()
    with suppress(OSError, StorageError):
        place.mkdir(parents=True, exist_ok=True)
        with replaced(path) as new:
            new.write_bytes(f"{_signed(text)}\n{text}".encode())
    return text


def _signed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def spec_of(chart: alt.TopLevelMixin, *, ours: bool = False) -> dict[str, Any]:
    """Return a chart as one object that has all its data in it.

    JSON has neither NaN nor infinity: where data have them, the chart has null. Charts that are
    ours are not held against the schema again, which takes a third of the time of a page.
    """
    if not isinstance(chart, alt.TopLevelMixin):
        raise OptionValueError(
            f"chart: a {type(chart).__name__} is no Altair chart.\n"
            "Give what .roc.chart() returns, or any other chart of Altair's."
        )
    # Whatever transformer is enabled: others write files of data beside the chart.
    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = _finite(chart.to_dict(validate=not ours))
    return spec


def as_json(spec: Mapping[str, Any]) -> str:
    """Write JSON that no HTML parser takes for anything else, whatever names are in it."""
    text = json.dumps(spec, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def said_of(spec: Mapping[str, Any]) -> str:
    """Return what a chart is, in words: its description, else its title."""
    title = spec.get("title")
    title = title.get("text") if isinstance(title, dict) else title
    title = " ".join(map(str, title)) if isinstance(title, list) else title
    said = spec.get("description") or title
    return said if isinstance(said, str) else "Chart"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
