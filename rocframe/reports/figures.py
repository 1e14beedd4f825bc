"""Draw the charts of a report: select curves, panels and colors, and build the dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import polars as pl

from rocframe.charts.chart import chart
from rocframe.charts.curve_layers import merge_levels, reference_line
from rocframe.charts.dashboard import dashboard
from rocframe.charts.dashboard_data import MAX_CURVES
from rocframe.charts.style import CHANCE_DASH, distinct_labels, short_name
from rocframe.decisions.costs import ErrorCosts
from rocframe.frames import column, find_keys, number_keys, select_keys
from rocframe.rates import CONFUSION
from rocframe.reports.export import PAGE_STYLE, chart_spec, text_alternative, with_page_colors
from rocframe.reports.grouped_curves import curve_starts, first_rows, rows_of_groups
from rocframe.reports.text_columns import group_columns, interval_title
from rocframe.schemas.statistics import curve_average_of
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_count, format_name, format_values, join_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rocframe.options import KindName
    from rocframe.reports.grouped_curves import GroupedCurves
    from rocframe.reports.tables import ReportTables
    from rocframe.schemas.statistics import CurveAverage


CAPTIONS = {
    "roc": "Better curves are closer to the top left. Dashed diagonal: random classifier.",
    "precision_recall": "Better curves are closer to the top right. Dashed line: random "
    "classifier, at the share of positives.",
    "det": "Better curves are closer to the bottom left. Both axes are normal deviates.",
    "gain": "Share of all positives that are among the highest-scored rows.",
    "lift": "Share of positives among the highest-scored rows, relative to all rows.",
    "predictive_value": "Share of positives among the highest-scored rows. Dashed line: random "
    "classifier.",
    "skill": "Share of errors avoided, compared with predicting the same class for all rows. "
    "Dashed line: this constant prediction.",
    "lift_chart": "Number of positives among the highest-scored rows.",
}

MAX_DRAWN_COLORS = 12  # more colors are hard to distinguish
MAX_DRAWN_CURVES = 60  # more lines hide each other
MAX_PANELS = 12
MAX_CURVES_WITH_LIMITS = 3
ALL_MEANS = "All means"  # the name of a chart of several mean curves, if it has no panel name
EMPTY_DASHBOARD = "Nothing is shown: no group has both positives and negatives."


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart as a Vega-Lite specification; `name` is that of its panel or mean curve, or None."""

    spec: dict[str, Any]
    name: str | None

    @property
    def alternative(self) -> str:
        """The text alternative for screen readers."""
        text = text_alternative(self.spec)
        return f"{self.name}. {text}" if self.name else text


def curve_caption(
    kind: KindName, averages: pl.DataFrame | None, over: str | None, *, marked: bool = False
) -> str:
    """Return the caption of the charts of a kind, with averages `over` and `marked` thresholds."""
    if averages is None:
        return f"{CAPTIONS[kind]} Points: recommended thresholds." if marked else CAPTIONS[kind]
    interval = interval_title(averages)
    shading = f"Shading, in charts of one mean: {interval}. " if interval else ""
    name = format_name(str(over))
    lines = f"Bold: mean. {shading}Thin: one line per {name}."
    if kind != "roc":
        return f"{CAPTIONS[kind]} {lines}"
    areas = f"AUC: area under the mean curve. Mean AUC: mean of the areas of each {name}."
    return f"{CAPTIONS[kind]} {lines} {areas}"


def curve_figures(
    curves: GroupedCurves,
    averages: pl.DataFrame | None,
    kind: KindName,
    selection: CurveSelection,
    points: pl.DataFrame | None = None,
) -> list[Figure]:
    """Return the figures of one kind of curve.

    Without `averages`, each panel has a figure with the marked `points`. With them, each mean curve
    has one with the averaged curves, or each panel has one of all its mean curves, or both.
    """
    figures: list[Figure] = []
    color = selection.color
    for name, groups in selection.panels:
        if groups.is_empty():
            continue
        if averages is None:
            lines = chart(curves.of_groups(groups), kind=kind, color=color)
            if points is not None:  # the caption names the points
                marks = rows_of_groups(points, groups)
                lines += chart(marks, kind=kind, color=color, legend=False)
            figures.append(_figure(lines, name, selection.color_values))
            continue
        if groups.height > 1:
            means = chart(_without_limits(rows_of_groups(averages, groups)), color=color)
            if kind == "precision_recall":
                means.layer += _chance_lines(curves.of_groups(groups), groups)
            figures.append(_figure(means, name or ALL_MEANS, selection.color_values))
        if groups.height == 1 or selection.panel is None:
            figures += _mean_figures(curves, averages, kind, selection, groups)
    if not figures:  # empty axes
        figures = [_figure(chart(curves.first.clear(), kind=kind, color=None))]
    return figures


def calibration_caption(calibration: pl.DataFrame, selection: CurveSelection) -> str:
    """Return the caption of the calibration charts."""
    keys = group_columns(calibration, "bin")
    n_curves = calibration.select(map(column, keys)).n_unique() if keys else 1
    sentences = [
        "Share of positives in ten bins of the score.",
        "Dashed diagonal: calibrated probabilities.",
    ]
    if selection.averaged is not None:
        sentences.append(f"Rows are pooled over {format_name(selection.averaged)}.")
    if n_curves < selection.n_curves:
        sentences.append("Models with scores outside [0, 1] are not shown.")
    return " ".join(sentences)


def calibration_figures(
    calibration: pl.DataFrame, curves: GroupedCurves, selection: CurveSelection
) -> list[Figure]:
    """Return a figure for each panel with calibration curves of the groups of `curves`."""
    figures = []
    for name, groups in selection.panels:
        rows = _calibration_of_groups(calibration, groups)
        if not rows.get_column("event_rate").count():
            continue
        lines = chart(rows, color=selection.color, scores=curves.of_groups(groups))
        figures.append(_figure(lines, name, selection.color_values))
    return figures


def _calibration_of_groups(calibration: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the calibration curves of `groups`; with limits if few enough to be readable."""
    rows = rows_of_groups(calibration, groups)
    if groups.height <= MAX_CURVES_WITH_LIMITS:
        return rows
    undefined = pl.lit(None, pl.Float64)
    return rows.with_columns(undefined.alias("lower"), undefined.alias("upper"))


def _chance_lines(curves: pl.DataFrame, groups: pl.DataFrame) -> list[Any]:
    """Return a layer with a dashed line at the share of positives of each group in `groups`.

    Nearly equal shares have one line. Curves of one class are left out, because means exclude them.
    """
    defined = (pl.col("tp") + pl.col("fn") > 0) & (pl.col("fp") + pl.col("tn") > 0)
    totals = (
        first_rows(curves, curve_starts(curves))
        .filter(defined)
        .group_by(map(column, group_columns(groups)), maintain_order=True)
        .agg(
            pl.sum_horizontal(pl.col("tp", "fn").sum()).alias("pos"),
            pl.sum_horizontal(pl.col(*CONFUSION).sum()).alias("all"),
        )
    )
    shares = totals.select(pl.col("pos") / pl.col("all")).to_series()
    return [
        reference_line({"recall": [0, 1], "precision": [level, level]}, CHANCE_DASH)
        for level in dict.fromkeys(merge_levels(shares.to_list(), 1.0))
    ]


def _mean_figures(
    curves: GroupedCurves,
    averages: pl.DataFrame,
    kind: KindName,
    selection: CurveSelection,
    groups: pl.DataFrame,
) -> Iterator[Figure]:
    """Yield a figure for each mean curve: the mean with its limits, in front of its curves."""
    keys = group_columns(groups)
    texts = [distinct_labels(groups.get_column(key)) for key in keys]
    color, detail = selection.color, [str(selection.averaged)]
    for i, group in enumerate(groups.head(MAX_PANELS).iter_slices(1)):
        thin = chart(curves.of_groups(group), kind=kind, color=color, detail=detail)
        bold = chart(rows_of_groups(averages, group), color=color)
        values = zip(keys, texts, strict=True)
        name = ", ".join(f"{short_name(key)} = {text[i]}" for key, text in values)
        yield _figure(thin + bold, name or None, selection.color_values)


def _figure(drawing: Any, name: str | None = None, values: Sequence[str] = ()) -> Figure:
    spec = chart_spec(drawing, validate=False)
    return Figure(spec=with_page_colors(spec, values), name=name)


def _without_limits(averages: pl.DataFrame) -> pl.DataFrame:
    """Return mean curves without confidence limits, because overlapping bands are not readable."""
    axes = cast("CurveAverage", curve_average_of(averages.columns)).averaged
    limits = [f"{axis}_{limit}" for axis in axes for limit in ("lower", "upper")]
    return averages.with_columns(pl.lit(None, pl.Float64).alias(name) for name in limits)


def time_figure(tables: ReportTables, selection: CurveSelection) -> Figure | None:
    """Return the figure of areas over time, or of their means if too many; None without times."""
    areas, keys = tables.areas, group_columns(tables.areas)
    if not any(areas.schema[key].is_temporal() for key in keys):
        return None
    if areas.height > MAX_DRAWN_CURVES:
        areas = areas if tables.mean_areas is None else tables.mean_areas
        if areas.height > MAX_DRAWN_CURVES and selection.n_drawn:
            groups = pl.concat([part for _, part in selection.panels])
            keys = [key for key in group_columns(groups) if not groups.schema[key].is_temporal()]
            areas = rows_of_groups(areas, groups.select(*map(column, keys), "auc"))
    if areas.is_empty():
        return None
    return _figure(chart(areas))


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSelection:
    """The curves, or the means over the group column `averaged`, that a page shows.

    `panels` has the name and the groups of each panel. `n_curves` counts all curves or means, and
    `n_undefined` those without an AUC. If there are too many, `rules` state which are drawn.
    """

    averaged: str | None
    color: str | None
    panel: str | None
    n_curves: int
    n_undefined: int
    rules: tuple[str, ...]
    panels: tuple[tuple[str | None, pl.DataFrame], ...]

    @property
    def n_drawn(self) -> int:
        """The number of curves or means that are drawn."""
        return sum(groups.height for _, groups in self.panels)

    @property
    def _colored(self) -> pl.Series:
        """The distinct values of the group column `color` in all panels."""
        if self.color is None or not self.panels:
            return pl.Series(dtype=pl.String)
        values, _ = number_keys(pl.concat([groups for _, groups in self.panels]), [self.color])
        return values.get_column(self.color)

    @property
    def color_values(self) -> list[str]:
        """The values of the group column `color` in all panels, as text."""
        return distinct_labels(self._colored)

    @property
    def model_colors(self) -> dict[str, int]:
        """The number of the color of each model, if models have the same color in all charts."""
        values = self._colored
        if self.color != MODEL or not 1 < len(values) <= len(PAGE_STYLE.colors):
            return {}
        return {text: i for i, text in enumerate(format_values(values))}

    def note(self, file: str | None) -> str:
        """Return sentences about curves that are not drawn; `file` has all curves, or is None."""
        if self.n_drawn == self.n_curves:
            return ""
        noun = "curves" if self.averaged is None else "means"
        shown = f"The charts show {self.n_drawn:,} of {self.n_curves:,} {noun}"
        sentences = [f"{shown}: {join_names(self.rules)}." if self.rules else f"{shown}."]
        if self.n_undefined:
            undefined = format_count(self.n_undefined, noun.removesuffix("s"))
            sentences.append(f"The AUC of {undefined} is undefined.")
        if file:
            sentences.append(f"{file} contains all curves.")
        return " ".join(sentences)


def select_curves(areas: pl.DataFrame, averaged: str | None) -> CurveSelection:
    """Return the curves, or means over `averaged`, to draw, with panels of the second group column.

    Of too many colors, those with the largest mean AUC are drawn, of too many panels those with the
    most rows, and of too many dates or times evenly spaced values.
    """
    units = areas if averaged is None else _groups_of_means(areas, averaged)
    keys = group_columns(units)
    color = MODEL if MODEL in keys else next(iter(keys), None)
    panel = next((name for name in keys if name != color), None)
    groups, rules = units, list[str]()
    if color is not None:
        is_time = units.schema[color].is_temporal() and panel is None and averaged is None
        most = MAX_DRAWN_CURVES if is_time else MAX_DRAWN_COLORS  # one line per time
        groups = _select_values(groups, color, most, "area", rules)
    if panel is not None:
        groups = _select_values(groups, panel, MAX_PANELS, "rows", rules)
    panels = [(None, groups)] if panel is None else _panels(groups, panel)
    if any(part.height > MAX_DRAWN_CURVES for _, part in panels):
        panels = [(name, _largest_areas(part, MAX_DRAWN_CURVES, color)) for name, part in panels]
        name = format_name(str(color))
        rules.append(
            f"at most {MAX_DRAWN_CURVES} in each chart, starting with the {name} with the largest "
            "mean AUC"
        )
    return CurveSelection(
        averaged=averaged,
        color=color,
        panel=panel,
        n_curves=units.height,
        n_undefined=units.get_column("auc").null_count(),
        rules=tuple(rules),
        panels=tuple(panels),
    )


def _groups_of_means(areas: pl.DataFrame, averaged: str) -> pl.DataFrame:
    """Return a table with one row per mean curve: the mean of the areas and the class sizes."""
    keys = [column(key) for key in group_columns(areas) if key != averaged]
    totals = [pl.col("auc").mean(), pl.col("n_pos").sum(), pl.col("n_neg").sum()]
    return areas.group_by(keys, maintain_order=True).agg(totals) if keys else areas.select(totals)


def _select_values(
    groups: pl.DataFrame, key: str, most: int, order: Literal["area", "rows"], rules: list[str]
) -> pl.DataFrame:
    """Return the groups with at most `most` values of the column `key`; add how to `rules`."""
    defined = groups.filter(pl.col("auc").is_not_null())
    if groups.select(column(key)).n_unique() <= most:
        return groups
    values = defined.group_by(column(key).alias("value")).agg(
        area=pl.col("auc").mean(), rows=(pl.col("n_pos") + pl.col("n_neg")).sum(), n=pl.len()
    )
    if values.height > most and groups.schema[key].is_temporal():
        values = values.sort("value")
        values = values[[round(i * (values.height - 1) / (most - 1)) for i in range(most)]]
        rules.append(f"{most} evenly spaced values of {format_name(key)}")
    elif values.height > most:
        mean = "mean " if values.get_column("n").max() != 1 else ""
        largest = f"with the largest {mean}AUC" if order == "area" else "with the most rows"
        values = values.sort(order, "value", descending=[True, False]).head(most)
        rules.append(f"the {most} values of {format_name(key)} {largest}")
    values = values.select(pl.col("value").alias(key))
    return defined.join(values, on=column(key), how="semi", nulls_equal=True, maintain_order="left")


def _panels(units: pl.DataFrame, panel: str) -> list[tuple[str | None, pl.DataFrame]]:
    """Return the name and the groups of each panel; values without any defined area have none."""
    values, _ = number_keys(units.filter(pl.col("auc").is_not_null()), [panel])
    number = find_keys(select_keys(units, [panel]), values)
    texts = distinct_labels(values.get_column(panel))
    return [
        (f"{short_name(panel)} = {text}", units.filter(number == i)) for i, text in enumerate(texts)
    ]


def _largest_areas(groups: pl.DataFrame, most: int, color: str | None = None) -> pl.DataFrame:
    """Return at most `most` groups of a panel, in table order: colors with the largest mean AUC."""
    row = pl.int_range(pl.len())
    part = row if color is None else column(color).rank("dense").fill_null(0)
    numbered = groups.select(row.alias("row"), part.alias("color"), pl.col("auc").alias("area"))
    mean = pl.col("area").mean().over("color")
    rows = numbered.drop_nulls("area").sort(mean, "color", "row", descending=[True, False, False])
    return groups[rows.head(most).get_column("row").sort()]


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardSection:
    """The dashboard with a text about its curves; `figure` is None if no curve is defined."""

    figure: Figure | None
    text: str


def dashboard_section(
    curves: GroupedCurves,
    selection: CurveSelection,
    calibration: pl.DataFrame | None = None,
    *,
    costs: Mapping[str, float] | None = None,
    prevalence: float | None = None,
) -> DashboardSection:
    """Return the dashboard of up to `MAX_CURVES` groups, at the costs of errors of the report."""
    groups, note = _dashboard_groups(selection)
    if groups.is_empty():
        return DashboardSection(figure=None, text=EMPTY_DASHBOARD)
    rows = curves.of_groups(groups)
    rates = None if calibration is None else _calibration_of_groups(calibration, groups)
    errors = None if costs is None else ErrorCosts.parse(costs)
    board = dashboard(
        rows,
        color=selection.color,
        calibration=rates,
        # The dashboard varies the ratio of both costs, which must not be 0.
        costs={"fp": float(errors.fp), "fn": float(errors.fn)} if errors and all(errors) else None,
        prevalence=prevalence,
    )
    figure = _figure(board, values=selection.color_values)
    subtitle = figure.spec.pop("title").get("subtitle", [])  # the page shows this title as text
    text = [note, *(f"{line}." for line in subtitle)]
    if selection.averaged is not None:
        text = [f"The curves and AUCs are pooled over {format_name(selection.averaged)}.", *text]
    return DashboardSection(figure=figure, text=" ".join(filter(None, text)))


def _dashboard_groups(selection: CurveSelection) -> tuple[pl.DataFrame, str]:
    """Return the groups in the dashboard, and a sentence if groups are left out."""
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
        panel = f"of {name} " if name else ""
        note = f"The dashboard shows {MAX_CURVES} of {total}: those {panel}with the largest AUC."
        return _largest_areas(groups, MAX_CURVES), note
    groups = pl.concat([groups for _, groups in panels[:n_panels]])
    if n_groups == selection.n_curves:
        return groups, ""
    if n_panels < len(panels):
        selected = f"of {join_names([str(name) for name, _ in panels[:n_panels]])}"
    else:
        selected = "of the charts above" if selection.rules else "with an AUC"
    return groups, f"The dashboard shows {n_groups} of {total}: those {selected}."
