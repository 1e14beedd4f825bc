"""Charts → files: specifications, pages and pictures, whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocframe.errors import OptionValueError, StorageError
from rocframe.files import check_target, replaced
from rocframe.quoting import listed
from rocframe.report.bundle import vl_convert
from rocframe.report.fragment import chart_fragment
from rocframe.report.spec import said_of, spec_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt

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
    chart
        Any Altair chart. All its data go with it, NaN and infinity, which JSON lacks, as null; its
        description is read to those who cannot see it.
    path
        A file in a folder that is there. Its suffix says the format: `.png`, `.svg`, `.pdf`,
        `.html`, or `.json` for the specification.
    scale
        How many times as large a picture is, of `.png` and `.pdf`; 1 unless given.
    ppi
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
        from html import escape

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
