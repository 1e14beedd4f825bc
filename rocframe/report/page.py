"""Tables and charts → one HTML page that needs no network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocframe.report.board import board_of
from rocframe.report.bundle import embedder
from rocframe.report.drawn import Drawn, told
from rocframe.report.facts import facts, left_out, summary
from rocframe.report.figures import Figure, caption_of, curve_figures, table_figure
from rocframe.report.listed import listed_areas, listed_comparison, listed_folds
from rocframe.report.paint import PAGE, sheets
from rocframe.report.spec import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.curves.kinds import KindName
    from rocframe.report.tables import More, Tables

TEMPLATE = Path(__file__).with_name("page.html")
SCRIPT = Path(__file__).with_name("page.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a page shows, and where it comes from.

    `about` says what was evaluated and how, and `files` which files hold the areas and curves
    that the page has no room for, if there are any.
    """

    title: str
    tables: Tables
    more: More
    kinds: Sequence[KindName]
    averaged: str | None
    about: Mapping[str, Any]
    files: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Charts of one kind, and how to read them."""

    title: str
    caption: str
    figures: list[Figure]


def page(report: Report) -> str:
    """Write the page: tables, charts, what was left out, and where it comes from."""
    # Altair brings jinja2.
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    areas, more, about = report.tables.areas, report.more, report.about
    curves_file, areas_file = report.files or (None, None)
    drawn = Drawn.of(areas, report.averaged)
    versions = _versions()
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["json"] = lambda spec: Markup(as_json(spec))
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        title=report.title,
        version=versions["rocframe"],
        summary=summary(areas, about),
        sheets={name: Markup(text) for name, text in sheets().items()},
        areas=listed_areas(areas, more, areas_file),
        areas_figure=table_figure(areas),
        over=report.averaged,
        folds=None if more.folds is None else listed_folds(more.folds),
        few=told(drawn, curves_file),
        sections=_sections(report, drawn),
        board=board_of(report.tables.curves if more.pooled is None else more.pooled, drawn),
        comparison=None if more.comparison is None else listed_comparison(more.comparison),
        comparison_figure=(None if more.comparison is None else table_figure(more.comparison)),
        remarks=left_out(areas, about, more.remarks),
        facts=facts(areas, about, versions),
        files=about["files"],
        config=Markup(json.dumps({**PAGE.config(), "background": None})),
        bundle=Markup(embedder()),
        script=Markup(SCRIPT.read_text(encoding="utf-8").strip()),
    )


def _sections(report: Report, drawn: Drawn) -> list[Section]:
    """Draw the curves of each kind."""
    from rocframe.curves.kinds import kind_named

    return [
        Section(
            title=kind_named(kind).title,
            caption=caption_of(kind, averaged=kind in report.more.means),
            figures=curve_figures(report.tables.curves, report.more.means.get(kind), kind, drawn),
        )
        for kind in report.kinds
    ]


def _versions() -> dict[str, str]:
    import altair as alt
    import polars as pl

    import rocframe as rf

    return {
        "rocframe": rf.__version__,
        "polars": pl.__version__,
        "altair": alt.__version__,
        "Vega-Lite": alt.SCHEMA_VERSION.removeprefix("v"),
    }
