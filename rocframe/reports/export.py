"""Write charts as files and HTML, with the libraries for a page without a network, and colors."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from html import escape
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.style import DARK, LIGHT, Palette, light
from rocframe.errors import MissingExtraError, OptionValueError, StorageError
from rocframe.io.files import check_target, local_path, replacement
from rocframe.options import check_supported, check_text, parse_number, public
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

# The options of each format, by suffix.
CHART_FORMATS: dict[str, tuple[str, ...]] = {
    ".json": (),
    ".html": (),
    ".svg": (),
    ".png": ("scale", "ppi"),
    ".pdf": (),
}
# The lowest value of each option, and an example. At lower values, an image can have no pixels.
IMAGE_OPTIONS = {"scale": (0.01, 2), "ppi": (1, 300)}

CHART_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
body {{ font-family: system-ui, sans-serif; }}
:root:has([data-dark]) {{ color-scheme: light dark; }}
</style>
</head>
<body>
{fragment}
</body>
</html>
"""

FONT_SAMPLE = """<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">
<text y="15" font-size="15" font-family="{font}">{text}</text>
</svg>"""

DRAW_CALL = "window.rocframe?.draw?.()"


@public
def save_chart(
    chart: alt.TopLevelMixin,
    path: str | os.PathLike[str],
    /,
    *,
    scale: float | None = None,
    ppi: float | None = None,
) -> None:
    """Save a chart as an image, an HTML page or a Vega-Lite specification.

    In contrast to `chart.save`, an old file is unchanged if writing fails, an HTML page needs no
    network and runs only its own scripts, and markup in names and values is shown as text.

    Parameters
    ----------
    chart : altair chart
        Any Altair chart. The output contains its data, in which NaN and infinite values become
        null. The description of the chart becomes the text alternative for screen readers.
    path : str or Path
        File to write, in an existing folder. The suffix determines the format: `.png`, `.svg`,
        `.pdf`, `.html`, or `.json` for the specification.
    scale : float, default None
        Factor by which the size of a `.png` image is multiplied, at least 0.01; None means 1.
    ppi : float, default None
        Resolution of a `.png` image in pixels per inch, at least 1; None means 72, so that one unit
        of the size of the chart is one pixel.

    Raises
    ------
    StorageError
        If the suffix is unknown, the folder does not exist, or the file cannot be written.
    MissingExtraError
        If vl-convert is not installed and the suffix is not `.json`.
    OptionValueError
        If `chart` is not an Altair chart, if `scale` or `ppi` is invalid or does not apply to the
        format, or if a font of a `.png` or `.pdf` file is not installed.

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
    suffix = local_path(path).suffix.lower()
    if suffix not in CHART_FORMATS:
        problem = f"unknown chart format {suffix!r}"
        raise StorageError.compose(
            os.fspath(path), problem, f"Supported: {format_list(CHART_FORMATS)}."
        )
    options = {
        name: _image_option(name, value, suffix)
        for name, value in (("scale", scale), ("ppi", ppi))
        if value is not None
    }
    check_target(path)
    content = _file_content(chart, suffix, options)
    with replacement(path) as new:
        new.write_bytes(content)


def _image_option(name: str, value: object, suffix: str) -> float:
    """Return the value of an option; raise an error if it is invalid for the format."""
    formats = [one for one, options in CHART_FORMATS.items() if name in options]
    hint = f"Leave out {name}=, or use one of these formats: {format_list(formats)}."
    check_supported(name, value, f"the format {suffix!r}", supported=suffix in formats, hint=hint)
    low, example = IMAGE_OPTIONS[name]
    return parse_number(name, value, low=low, high=1e4, closed="left", example=example)


def _file_content(chart: alt.TopLevelMixin, suffix: str, options: Mapping[str, Any]) -> bytes:
    spec = chart_spec(chart)
    if suffix == ".json":
        return (json.dumps(spec, allow_nan=False, indent=2) + "\n").encode()
    library = load_vl_convert("save_chart")
    if suffix == ".html":
        title = escape(text_alternative({"title": spec.get("title")}))
        policy = content_policy(bundle_script(), DRAW_CALL)
        page = CHART_PAGE.format(policy=policy, title=title, fragment=chart_fragment(chart))
        return page.encode()
    if suffix != ".svg":  # SVG images contain the text and the name of the font
        _check_fonts(spec, library)
    convert = getattr(library, f"vegalite_to_{suffix[1:]}")
    content: bytes | str = convert(spec, **options)
    return content.encode() if isinstance(content, str) else content


def _check_fonts(spec: Mapping[str, Any], library: ModuleType) -> None:
    """Raise an error if no font of a list of fonts is installed: images would have no text."""
    for font in dict.fromkeys(_fonts(spec)):
        images = (
            library.svg_to_png(FONT_SAMPLE.format(font=escape(font), text=text)) for text in "M "
        )
        if len(set(images)) == 1:
            raise OptionValueError.compose(
                "font",
                font,
                "the font is not installed, so the image would have no text",
                f'Install it, or name another font for this case: font="{font}, sans-serif". SVG '
                "and HTML files use the fonts of the reader.",
            )


def _fonts(part: Any) -> Iterator[str]:
    """Yield the values of all options of fonts in a specification, without its data."""
    if isinstance(part, list):
        for one in part:
            yield from _fonts(one)
    elif isinstance(part, dict):
        for name, value in part.items():
            if name.lower().endswith("font") and isinstance(value, str):
                yield value
            elif name not in {"data", "datasets"}:
                yield from _fonts(value)


@public
def chart_fragment(chart: alt.TopLevelMixin, /, *, bundle: bool = True) -> str:
    r"""Return a chart as an HTML fragment to insert in any page.

    The fragment needs no network and has no ids, so a page can contain any number of fragments.
    Insert it as raw HTML: with `| safe` in Jinja templates, `IPython.display.HTML` in notebooks, or
    a block of raw HTML in Markdown and Quarto.

    Parameters
    ----------
    chart : altair chart
        Any Altair chart. The output contains its data, in which NaN and infinite values become
        null. The description of the chart becomes the text alternative for screen readers.
    bundle : bool, default True
        Whether the fragment contains the script that draws the chart, about 900 kB. For a page with
        several charts, pass False, and insert `chart_bundle()` once, anywhere in the page.

    Returns
    -------
    str
        A `<div>` of the class `rocframe-chart` and one or two scripts. The text has no blank lines,
        because a blank line ends HTML in Markdown.

    Raises
    ------
    MissingExtraError
        If vl-convert is not installed and `bundle` is True.
    OptionValueError
        If `chart` is not an Altair chart.

    See Also
    --------
    chart_bundle : The script that draws the fragments in a page.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> chart = rf.curve(predictions, "label", "score").roc.chart()
    >>> rf.chart_fragment(chart, bundle=False)[:39]
    '<div class="rocframe-chart" role="img" '
    """
    spec = chart_spec(chart)
    label = escape(" ".join(text_alternative(spec).split()))
    colors = ""
    if spec.get("usermeta") == {"rocframe": "dashboard"}:
        # The script of the page replaces the variables by the colors of the light or the dark mode.
        spec = with_page_colors(spec)
        spec["config"] = PAGE_STYLE.config() | spec.get("config", {})
        colors = f' data-dark="{escape(json.dumps(css_colors(DARK)))}"'
    data = f'<script type="application/json">{json_for_html(spec)}</script>'
    role = "group" if colors or any("bind" in one for one in spec.get("params", [])) else "img"
    box = (
        f'<div class="rocframe-chart" role="{role}" aria-label="{label}"{colors}>'
        f'{data}<div style="width:100%"></div></div><script>{DRAW_CALL}</script>'
    )
    return f"{chart_bundle()}\n{box}" if bundle else box


def chart_spec(chart: alt.TopLevelMixin, *, validate: bool = True) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart with its data, without NaN and infinite values.

    Reports omit the validation against the schema of Vega-Lite: a third of their time.
    """
    if not isinstance(chart, alt.TopLevelMixin):
        raise OptionValueError(
            f"chart: expected an Altair chart, got {type(chart).__name__}.\n"
            "Pass the result of .roc.chart(), or any other Altair chart."
        )
    # The user may have enabled another data transformer, such as one that writes the data to files.
    # Altair would search the metadata of all installed packages for the theme, for each chart.
    alt.theme.register("rocframe", enable=False)(light)
    theme = "rocframe" if alt.theme.active == "default" else alt.theme.active
    with alt.data_transformers.enable("default", max_rows=None), alt.theme.enable(theme):
        spec: dict[str, Any] = _json_value(chart.to_dict(validate=validate))
    return spec


def json_for_html(spec: Mapping[str, Any]) -> str:
    """Return a specification as JSON without markup: `<`, `>` and `&` are escaped."""
    text = json.dumps(spec, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def text_alternative(spec: Mapping[str, Any]) -> str:
    """Return the description of a chart for screen readers, or its title if it has none."""
    title = spec.get("title")
    title = title.get("text") if isinstance(title, dict) else title
    title = " ".join(map(str, title)) if isinstance(title, list) else title
    text = spec.get("description") or title
    return text if isinstance(text, str) else "Chart"


def _json_value(value: Any) -> Any:
    """Replace NaN and infinite numbers by null; an error for text that UTF-8 cannot represent."""
    if isinstance(value, dict):
        return {key: _json_value(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_json_value(part) for part in value]
    if isinstance(value, str) and not value.isascii():
        check_text("chart", value)
    return None if isinstance(value, float) and not isfinite(value) else value


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
        content security policy of a page need not contain `'unsafe-eval'`.

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
    """Return the text in the file `name` of the cache; create it if it is missing or damaged."""
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


CSS_VARIABLES = {"background": "paper", "foreground": "ink", "muted": "quiet", "grid": "line"}


def _css_variable(name: str, color: str) -> str:
    # The color after the comma is used where the variable is not defined: in images that the reader
    # saves from the page.
    return f"var(--{name}, {color})"


PAGE_STYLE = Palette(
    **{part: _css_variable(name, getattr(LIGHT, part)) for part, name in CSS_VARIABLES.items()},
    colors=tuple(_css_variable(f"color-{i}", color) for i, color in enumerate(LIGHT.colors)),
)

# Colors in the specification of a chart, and the CSS variables that replace them.
REPLACEMENTS = {
    **{getattr(LIGHT, part): getattr(PAGE_STYLE, part) for part in CSS_VARIABLES},
    **dict(zip(LIGHT.colors, PAGE_STYLE.colors, strict=True)),
}

# Parts of a specification that contain names and values of the user. They are not changed, because
# a name can be equal to the text of a color.
DATA_KEYS = {"data", "datasets", "domain", "sort", "description"}
TITLE_TEXT_KEYS = {"text", "subtitle"}


def style_sheets() -> dict[str, str]:
    """Return CSS with the definitions of the color variables, by mode: "light" and "dark"."""
    return {
        mode: " ".join(f"--{name}: {color};" for name, color in css_colors(style).items())
        for mode, style in (("light", LIGHT), ("dark", DARK))
    }


def css_colors(style: Palette) -> dict[str, str]:
    """Return the colors of a palette, by the name of their variable."""
    colors = {name: getattr(style, part) for part, name in CSS_VARIABLES.items()}
    return colors | {f"color-{i}": color for i, color in enumerate(style.colors)}


def with_page_colors(spec: Mapping[str, Any], values: Sequence[str] = ()) -> dict[str, Any]:
    """Return the specification of a chart with CSS variables instead of colors.

    Each of `values`, those of all charts of the page, has the same color in every chart.
    """
    shared = list(values) if len(values) <= len(LIGHT.colors) else []
    return {key: _recolored(key, part, shared) for key, part in spec.items()}


def _recolored(key: str, value: Any, shared: list[str]) -> Any:
    if key in DATA_KEYS or (key == "title" and not isinstance(value, dict)):
        return value
    if isinstance(value, str):
        return REPLACEMENTS.get(value, value)
    if isinstance(value, list):
        return [_recolored("", part, shared) for part in value]
    if not isinstance(value, dict):
        return value
    unchanged = TITLE_TEXT_KEYS if key == "title" else set()
    result = {
        name: part if name in unchanged else _recolored(name, part, shared)
        for name, part in value.items()
    }
    scale = result.get("scale")
    domain = scale.get("domain") if isinstance(scale, dict) else None
    if result.get("type") == "nominal" and domain and set(domain) <= set(shared):
        result["scale"] = {"domain": shared, "range": list(PAGE_STYLE.colors[: len(shared)])}
        if isinstance(result.get("legend"), dict):
            result["legend"] = {**result["legend"], "values": domain}
    return result
