"""One chart → a piece of HTML for a page, a template or a notebook of one's own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rocframe.report.bundle import chart_bundle
from rocframe.report.spec import as_json, said_of, spec_of

if TYPE_CHECKING:
    import altair as alt

DRAWN = "<script>window.rocframe&&rocframe.draw()</script>"


def chart_fragment(chart: alt.TopLevelMixin, /, *, bundle: bool = True) -> str:
    r"""Return a chart as a piece of HTML, to be put into a page of one's own.

    It needs no network, has no ids, and can stand in a page as often as one likes, between any
    other fragments. Whatever is in names and values is text there, markup and `</script>` too.
    It is HTML already: templates take it with `| safe`, notebooks with `IPython.display.HTML`,
    Markdown and Quarto as a block of raw HTML.

    Parameters
    ----------
    chart
        Any Altair chart. All its data go with it, NaN and infinity, which JSON lacks, as null; its
        description is read to those who cannot see it.
    bundle
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
