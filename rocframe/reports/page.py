"""The HTML page of a report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.kinds import kind_named
from rocframe.reports.colors import PAGE, sheets
from rocframe.reports.export import as_json, embedder
from rocframe.reports.figures import (
    Drawn,
    Figure,
    board_of,
    caption_of,
    curve_figures,
    table_figure,
    told,
)
from rocframe.reports.report_tables import (
    counted,
    joined,
    keys_of,
    listed_areas,
    listed_comparison,
    listed_folds,
)
from rocframe.text import visible, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.kinds import KindName
    from rocframe.reports.report_tables import More, Tables


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
    return [
        Section(
            title=kind_named(kind).title,
            caption=caption_of(kind, averaged=kind in report.more.means),
            figures=curve_figures(report.tables.curves, report.more.means.get(kind), kind, drawn),
        )
        for kind in report.kinds
    ]


def _versions() -> dict[str, str]:
    import rocframe as rf

    return {
        "rocframe": rf.__version__,
        "polars": pl.__version__,
        "altair": alt.__version__,
        "Vega-Lite": alt.SCHEMA_VERSION.removeprefix("v"),
    }


POLICIES = {
    "raise": "rows with a missing label, score or weight would have been an error",
    "drop": "rows with a missing label, score or weight are left out",
    "worst": "rows without a score count as errors at every threshold",
}

CAUSES = {
    "no_rows": "no rows",
    "no_positives": "no positives",
    "no_negatives": "no negatives",
}

MOST_NAMED = 40


def summary(areas: pl.DataFrame, about: Mapping[str, Any]) -> str:
    """Say in a line what was evaluated."""
    keys = keys_of(areas)
    groups = f", {counted(areas.height, 'group')} by {joined(keys)}" if keys else ""
    scores = joined([visible(name) for name in about["score"]])
    truth = f"{visible(about['label'])} = {_value(about['positive'])}"
    return (
        f"{counted(about['rows'], 'prediction')}{groups}. Scored by {scores}, positive if {truth}."
    )


def left_out(
    areas: pl.DataFrame, about: Mapping[str, Any], remarks: Sequence[str] = ()
) -> list[str]:
    """Say all that the numbers do not cover."""
    said = [f"{file}: {why}." for file, why in about["files_skipped"].items()]
    lost = int(areas.get_column("n_missing").sum())
    if lost:
        fate = "counted as errors" if about["missing"] == "worst" else "left out"
        rows = counted(lost, "prediction")
        said.append(f"{rows} with a missing label, score or weight: {fate}.")
    for note, cause in CAUSES.items():
        groups = areas.filter(pl.col("note") == note)
        if groups.height:
            named = _named(groups)
            said.append(
                f"{counted(groups.height, 'group')} with {cause}, so without an area{named}."
            )
    return [*said, *remarks] or ["Nothing."]


def _named(groups: pl.DataFrame) -> str:
    keys = keys_of(groups)
    if not keys:
        return ""
    top = groups.head(MOST_NAMED)
    columns = [
        [f"{visible(key)} = {value}" for value in words(top.get_column(key))] for key in keys
    ]
    listed = "; ".join(", ".join(parts) for parts in zip(*columns, strict=True))
    left = groups.height - top.height
    return f": {listed}" + (f"; and {left:,} more" if left else "")


def facts(
    areas: pl.DataFrame, about: Mapping[str, Any], versions: Mapping[str, str]
) -> list[tuple[str, str]]:
    """List what was asked for, and by what it was made."""
    method = areas.get_column("ci_method").drop_nulls().unique().sort()
    level = areas.get_column("ci_level").drop_nulls()
    shares = f", {100 * level[0]:g} %" if len(level) else ""
    scores = about["score"]
    named = [
        ("Label", visible(about["label"])),
        ("Positive class", _value(about["positive"])),
        ("Score" if len(scores) == 1 else "Scores", ", ".join(map(visible, scores))),
        ("Groups", ", ".join(map(visible, keys_of(areas))) or "none"),
    ]
    named += [
        (title, visible(about[name]))
        for name, title in OPTIONAL.items()
        if about.get(name) is not None
    ]
    named += [
        ("Called positive", "score ≥ threshold; a tie is one step of the curve and half an area"),
        ("Missing values", POLICIES[about["missing"]]),
        ("Intervals", (", ".join(method) + shares) if len(method) else "none"),
        ("Rows", f"{about['rows']:,}"),
        *((visible(name), visible(str(value))) for name, value in about.get("more", {}).items()),
        ("Made by", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]
    return named


OPTIONAL = {"weight": "Weight", "count": "Count", "over": "Averaged over", "id": "Paired by"}


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else visible(str(value))
