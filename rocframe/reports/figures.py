"""Draw the charts of a report: select curves, panels and colors, and build the dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rocframe.charts.chart import chart
from rocframe.charts.dashboard.dashboard import dashboard
from rocframe.charts.dashboard.data import MAX_CURVES
from rocframe.charts.labels import distinct_labels, short_name
from rocframe.frames import column
from rocframe.reports.colors import with_page_colors
from rocframe.reports.export import chart_spec, text_alternative
from rocframe.reports.report_tables import group_columns, interval_title
from rocframe.schemas import MODEL, curve_average_of, table_of
from rocframe.text import format_count, format_name, join_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rocframe.kinds import KindName
    from rocframe.schemas import CurveAverage


CAPTIONS = {
    "roc": "Better curves are closer to the top left. Dashed diagonal: random classifier.",
    "precision_recall": "Better curves are closer to the top right. Dashed line: random "
    "classifier, at the share of positives.",
    "det": "Better curves are closer to the bottom left. Both axes are normal deviates.",
    "gain": "Share of all positives that are among the highest-scored rows.",
    "lift": "Share of positives among the highest-scored rows, relative to all rows.",
    "lift_chart": "Number of positives among the highest-scored rows.",
}

MAX_DRAWN_COLORS = 12  # more colors are hard to distinguish
MAX_DRAWN_CURVES = 60  # more lines hide each other
MAX_PANELS = 12
EMPTY_DASHBOARD = "Nothing is shown: no group has both positives and negatives."


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart as a Vega-Lite specification, and the name of its panel if there are several."""

    spec: Mapping[str, Any]
    name: str | None

    @property
    def alternative(self) -> str:
        """The text alternative for screen readers."""
        text = text_alternative(self.spec)
        return f"{self.name}. {text}" if self.name else text


def curve_caption(kind: KindName, averages: pl.DataFrame | None, over: str | None) -> str:
    """Return the caption of charts of one kind; `averages` are its mean curves, if any."""
    if averages is None:
        return CAPTIONS[kind]
    interval = interval_title(averages)
    shading = f"Shading, in charts of one mean: {interval}. " if interval else ""
    return f"{CAPTIONS[kind]} Bold: mean. {shading}Thin: one line per {format_name(str(over))}."


def curve_figures(
    curves: pl.DataFrame, averages: pl.DataFrame | None, kind: KindName, selection: CurveSelection
) -> list[Figure]:
    """Draw the curves of one kind: a figure per panel, or per mean curve with its curves."""
    figures: list[Figure] = []
    color = selection.color
    for name, groups in selection.panels:
        if groups.is_empty():
            continue
        if averages is None:
            lines = chart(rows_of_groups(curves, groups), kind=kind, color=color)
            figures.append(_curve_figure(_package_spec(lines), name, selection))
            continue
        if groups.height > 1:
            means = chart(_without_limits(rows_of_groups(averages, groups)), color=color)
            figures.append(_curve_figure(_package_spec(means), name, selection))
        if groups.height == 1 or selection.panel is None:
            figures += _mean_figures(curves, averages, kind, selection, groups)
    if not figures:  # empty axes
        empty = _package_spec(chart(curves.clear(), kind=kind, color=None))
        figures = [_curve_figure(empty, None, selection)]
    return figures


def _mean_figures(
    curves: pl.DataFrame,
    averages: pl.DataFrame,
    kind: KindName,
    selection: CurveSelection,
    groups: pl.DataFrame,
) -> Iterator[Figure]:
    """Draw each mean with its limits, in front of the curves it averages."""
    keys = group_columns(groups)
    texts = [distinct_labels(groups.get_column(key)) for key in keys]
    color, detail = selection.color, [str(selection.averaged)]
    for i, group in enumerate(groups.head(MAX_PANELS).iter_slices(1)):
        thin = chart(rows_of_groups(curves, group), kind=kind, color=color, detail=detail)
        bold = chart(rows_of_groups(averages, group), color=color)
        spec = _layered(_package_spec(thin), _package_spec(bold))
        values = zip(keys, texts, strict=True)
        name = ", ".join(f"{short_name(key)} = {text[i]}" for key, text in values)
        yield _curve_figure(spec, name or None, selection)


def _layered(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Layer two specifications under the title of the first. Altair's `+` is much slower."""
    data = below.pop("datasets", {}) | above.pop("datasets", {})
    layer = {part: above[part] for part in ("data", "transform", "layer")}
    return {**below, "layer": [*below["layer"], layer], "datasets": data}


def _curve_figure(spec: Mapping[str, Any], name: str | None, selection: CurveSelection) -> Figure:
    spec = with_page_colors(spec, selection.color_values)
    _share_legend_labels(spec, [])
    return Figure(spec=spec, name=name)


def _package_spec(drawing: Any) -> dict[str, Any]:
    return chart_spec(drawing, validate=False)


def _share_legend_labels(spec: dict[str, Any], first: list[str]) -> None:
    """Use the legend labels of the first layer in all layers, which share one legend."""
    color = spec.get("encoding", {}).get("color", {})
    if "labelExpr" in (color.get("legend") or {}):
        first.append(color["legend"]["labelExpr"])
        color["legend"]["labelExpr"] = first[0]
    for layer in spec.get("layer", []):
        _share_legend_labels(layer, first)


def rows_of_groups(table: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `groups`, which may have fewer group columns than the table."""
    on = [column(key) for key in group_columns(groups)]
    if not on:
        return table
    return table.join(groups.select(on), on=on, how="semi", nulls_equal=True, maintain_order="left")


def _without_limits(averages: pl.DataFrame) -> pl.DataFrame:
    """Set the limits of mean curves to null, because overlapping bands are not readable."""
    axes = cast("CurveAverage", curve_average_of(averages.columns)).averaged
    limits = [f"{axis}_{limit}" for axis in axes for limit in ("lower", "upper")]
    return averages.with_columns(pl.lit(None, pl.Float64).alias(name) for name in limits)


def table_figure(table: pl.DataFrame | None) -> Figure | None:
    """Draw a table other than a curve, if it has rows and a chart."""
    if table is None or table.is_empty() or table_of(table.columns).type.drawing is None:
        return None
    return Figure(spec=with_page_colors(_package_spec(chart(table))), name=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSelection:
    """The curves, or the means over the group column `averaged`, that a page draws.

    `panels` contains the name and the groups of each panel. `n_curves` is the number of all curves
    or means of the report, including those that are not drawn.
    """

    averaged: str | None
    color: str | None
    panel: str | None
    n_curves: int
    panels: tuple[tuple[str | None, pl.DataFrame], ...]

    @property
    def n_drawn(self) -> int:
        """The number of curves that are drawn."""
        return sum(groups.height for _, groups in self.panels)

    @property
    def color_values(self) -> list[str]:
        """The values that have a color, the same one in all panels."""
        if self.color is None or not self.panels:
            return []
        values = [groups.get_column(self.color) for _, groups in self.panels]
        return distinct_labels(pl.concat(values).unique().sort())

    def note(self, file: str | None) -> str:
        """Return a sentence about curves that are not drawn, or an empty text."""
        if self.n_drawn == self.n_curves:
            return ""
        noun = "curves" if self.averaged is None else "means"
        text = f"The charts show {self.n_drawn:,} of {self.n_curves:,} {noun}: "
        text += "those with the most rows."
        return f"{text} {file} contains all of them." if file else text


def select_curves(areas: pl.DataFrame, averaged: str | None) -> CurveSelection:
    """Select the curves to draw, with a panel for each value of the second group column.

    The numbers of panels, colors and curves are limited. `areas` is the table of `auc`. With
    `averaged`, the means over that group column are selected.
    """
    units = areas if averaged is None else _groups_of_means(areas, averaged)
    keys = group_columns(units)
    color = _color_column(keys) if keys else None
    panel = next((name for name in keys if name != color), None)
    return CurveSelection(
        averaged=averaged,
        color=color,
        panel=panel,
        n_curves=units.height,
        panels=((None, largest_groups(units)),) if panel is None else _panels(units, panel),
    )


def _groups_of_means(areas: pl.DataFrame, averaged: str) -> pl.DataFrame:
    """Return a row per mean, with the columns of a table of areas that the selection uses."""
    keys = [column(key) for key in group_columns(areas) if key != averaged]
    totals = [pl.col("auc").max(), pl.col("n_pos").sum(), pl.col("n_neg").sum()]
    return areas.group_by(keys, maintain_order=True).agg(totals) if keys else areas.select(totals)


def _color_column(keys: Sequence[str]) -> str:
    return MODEL if MODEL in keys else keys[0]


def _panels(units: pl.DataFrame, panel: str) -> tuple[tuple[str, pl.DataFrame], ...]:
    """Select the panels with the most rows, and the largest groups of each."""
    values = (
        units.filter(pl.col("auc").is_not_null())
        .select(column(panel).alias("panel"), N_ROWS.alias("rows"))
        .group_by("panel")
        .agg(pl.col("rows").sum())
        .sort("rows", "panel", descending=[True, False])
        .head(MAX_PANELS)
        .get_column("panel")
        .sort()
    )
    groups = (
        largest_groups(units.filter(column(panel).eq_missing(pl.lit(value))))
        for value in (values.slice(i, 1) for i in range(len(values)))
    )
    names = (f"{short_name(panel)} = {value}" for value in distinct_labels(values))
    return tuple(zip(names, groups, strict=True))


N_ROWS = pl.col("n_pos") + pl.col("n_neg")


def largest_groups(areas: pl.DataFrame) -> pl.DataFrame:
    """Return the groups to draw in one panel: all, or those with the most rows if there are many.

    Colors are selected by their total number of rows, then groups in the order of the colors. A
    model is therefore drawn with all its folds, up to the limit of curves.
    """
    keys = group_columns(areas)
    if not keys:
        return areas
    groups = areas.select(
        pl.int_range(pl.len()).alias("row"),
        column(_color_column(keys)).rank("dense").fill_null(0).alias("color"),
        N_ROWS.alias("rows"),
        pl.col("auc").is_not_null().alias("defined"),
    ).filter("defined")
    n_colors = groups.get_column("color").n_unique()
    if groups.height <= MAX_DRAWN_CURVES and n_colors <= MAX_DRAWN_COLORS:
        return areas
    colors = (
        groups.group_by("color")
        .agg(pl.col("rows").sum().alias("total"))
        .sort("total", "color", descending=[True, False])
        .head(MAX_DRAWN_COLORS)
    )
    selected = (
        groups.join(colors, on="color")
        .sort("total", "color", "rows", "row", descending=[True, False, True, False])
        .head(MAX_DRAWN_CURVES)
    )
    return areas[selected.get_column("row").sort()]


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardSection:
    """The dashboard, None if no curve is defined, and a text about the curves that it shows."""

    figure: Figure | None
    text: str


def dashboard_section(curves: pl.DataFrame, selection: CurveSelection) -> DashboardSection:
    """Draw the dashboard, with up to `MAX_CURVES` groups.

    `curves` has one curve per group. If the page draws means, these are the curves of the pooled
    rows.
    """
    groups, note = _dashboard_groups(selection)
    if groups.is_empty():
        return DashboardSection(figure=None, text=EMPTY_DASHBOARD)
    shown = rows_of_groups(curves, groups)
    threshold = _initial_threshold(shown)
    spec = _package_spec(dashboard(shown, color=selection.color, threshold=threshold))
    spec = with_page_colors(spec, selection.color_values)
    subtitle = spec.pop("title").get("subtitle", [])  # the page shows it as text
    pooled = (
        [] if selection.averaged is None else [f"Pooled over {format_name(selection.averaged)}."]
    )
    text = [*pooled, note, *(f"{line}." for line in subtitle)]
    return DashboardSection(figure=Figure(spec=spec, name=None), text=" ".join(filter(None, text)))


def _initial_threshold(curves: pl.DataFrame) -> float | None:
    """Return 0.5 if most scores are between 0 and 1; else None, the default of the dashboard."""
    scores = curves.get_column("threshold")
    return 0.5 if scores.is_between(0, 1).sum() > scores.is_finite().sum() / 2 else None


def _dashboard_groups(selection: CurveSelection) -> tuple[pl.DataFrame, str]:
    """Select the first panels with up to `MAX_CURVES` groups, or part of the first panel."""
    panels = [
        (name, defined)
        for name, groups in selection.panels
        if (defined := groups.filter(pl.col("auc").is_not_null())).height
    ]
    if not panels:
        return pl.DataFrame(), ""
    total = format_count(selection.n_curves, "curve")
    n_panels = n_groups = 0
    while n_panels < len(panels) and n_groups + panels[n_panels][1].height <= MAX_CURVES:
        n_groups += panels[n_panels][1].height
        n_panels += 1
    if not n_panels:
        name, groups = panels[0]
        rows = groups.select(row=pl.int_range(pl.len()), rows=N_ROWS)
        rows = rows.sort("rows", "row", descending=[True, False]).head(MAX_CURVES)
        panel = f"of {name} " if name else ""
        note = f"The dashboard shows {MAX_CURVES} of {total}: those {panel}with the most rows."
        return groups[rows.get_column("row").sort()], note
    groups = pl.concat([groups for _, groups in panels[:n_panels]])
    if n_panels < len(panels):
        selected = f"of {join_names([str(name) for name, _ in panels[:n_panels]])}"
    elif n_groups == selection.n_curves:
        return groups, ""
    else:
        selected = "with " + (
            "the most rows" if selection.n_drawn < selection.n_curves else "an AUC"
        )
    return groups, f"The dashboard shows {n_groups} of {total}: those {selected}."
