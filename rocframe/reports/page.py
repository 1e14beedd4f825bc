"""Build the HTML page of a report from its tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.kinds import kind_named
from rocframe.reports.export import (
    PAGE_STYLE,
    content_policy,
    embed_script,
    json_for_html,
    style_sheets,
)
from rocframe.reports.figures import (
    GroupedCurves,
    calibration_caption,
    calibration_figures,
    curve_caption,
    curve_figures,
    dashboard_section,
    select_curves,
    time_figure,
)
from rocframe.reports.recommendations import (
    costs_text,
    exact_text,
    model_ranking,
    recommendations,
    verdict,
)
from rocframe.reports.tables import (
    DECIMALS,
    NO_VALUE,
    NOTE_TEXTS,
    UNDEFINED_AUC,
    comparison_text,
    group_columns,
    metrics_text,
)
from rocframe.schemas.table_type import MODEL
from rocframe.text import (
    format_count,
    format_interval,
    format_name,
    format_number,
    format_percent,
    format_values,
    join_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rocframe.reports.figures import CurveSelection
    from rocframe.reports.recommendations import ModelRanking, Recommendations
    from rocframe.reports.report import ReportOptions
    from rocframe.reports.tables import ReportTables


PAGE_TEMPLATE = Path(__file__).with_name("page.html")
BREAKABLE_PARTS = r"[^-_/.:,;=|]*[-_/.:,;=|]+|[^-_/.:,;=|]+"
PAGE_SCRIPT = Path(__file__).with_name("page.js")


def report_page(
    tables: ReportTables,
    options: ReportOptions,
    *,
    title: str,
    provenance: Mapping[str, Any],
    files: tuple[str, str] | None = None,
    on_step: Callable[[str], None] = lambda _: None,
) -> str:
    """Return the page as HTML; `on_step` is called with a text before charts are drawn.

    `provenance` is the result of `ReportOptions.provenance`, with optional additional keys: `files`
    (the names of the logs), `files_skipped` (the reason by file), `unused_keys`, `about` (the
    entries of the user), and `days`, `resolution`, `relative` and `max_envelope` of a store.
    `files` are the names of the files with all curves and all areas, which the page mentions if it
    does not show all.
    """
    from jinja2 import Environment, StrictUndefined  # a dependency of Altair
    from markupsafe import Markup

    areas = tables.areas
    curves_file, areas_file = files or (None, None)
    selection = select_curves(areas, options.averaged)
    colors = selection.model_colors
    recommended = recommendations(tables, options, colors)
    ranking = model_ranking(tables, options, colors=colors, file=areas_file)
    points = None if recommended is None else recommended.points
    curves = GroupedCurves.from_table(tables.curves)
    # Calibration curves and the dashboard show the pooled rows of averaged curves.
    pooled = curves if tables.pooled is None else GroupedCurves.from_table(tables.pooled)
    versions = _versions()
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["breakable"] = _with_line_breaks
    environment.filters["json"] = lambda spec: Markup(json_for_html(spec))
    scripts = embed_script(), PAGE_SCRIPT.read_text(encoding="utf-8").strip()
    sections = _sections(
        tables, options, selection, points, curves=curves, pooled=pooled, on_step=on_step
    )
    # The first chart, such as the ROC curves of all models, is at the top of the page.
    first = sections[0]["figures"].pop(0) if selection.panel is None else None
    on_step("Drawing the dashboard")
    dashboard = dashboard_section(
        pooled,
        selection,
        tables.calibration,
        costs=options.costs,
        prevalence=options.prevalence,
    )
    return environment.from_string(PAGE_TEMPLATE.read_text(encoding="utf-8")).render(
        title=title,
        version=versions["rocframe"],
        data_line=_data_line(areas, provenance),
        recommended=recommended,
        ranking=ranking,
        key_numbers=key_numbers(tables, ranking, recommended),
        sheets={name: Markup(text) for name, text in style_sheets().items()},
        metrics=metrics_text(tables, areas_file),
        time_figure=time_figure(tables, selection),
        over=options.averaged,
        first_figure=first,
        first_caption=sections[0]["caption"],
        selection_note=selection.note(curves_file),
        sections=[section for section in sections if section["figures"]],
        dashboard=dashboard,
        comparison=None if tables.comparison is None else comparison_text(tables.comparison),
        pooled_over=None if options.averages_classes else options.averaged,
        omissions=_omissions(tables, options, provenance),
        settings=_settings_list(areas, options, provenance, versions),
        files=provenance.get("files", []),
        config=Markup(json.dumps({**PAGE_STYLE.config(), "background": None})),
        policy=Markup(content_policy(*scripts)),
        offline_script=Markup(scripts[0]),
        page_script=Markup(scripts[1]),
    )


def key_numbers(
    tables: ReportTables,
    ranking: ModelRanking,
    recommended: Recommendations | None,
) -> list[tuple[str, str, str]]:
    """Return four numbers with their titles and explanations, for the top of the page."""
    areas = tables.areas
    sizes = areas.select(pos="n_pos", all=pl.col("n_pos") + pl.col("n_neg"))
    of_each = ""
    if MODEL in group_columns(areas) and areas.get_column(MODEL).n_unique() > 1:
        of_models = sizes.with_columns(areas.get_column(MODEL).alias("model"))
        of_models = of_models.group_by("model").sum().drop("model")
        sizes, of_each = (
            (of_models[:1], " of each model")
            if of_models.is_duplicated().all()
            else (of_models, "")
        )
    pos, n = sizes.sum().row(0)
    share = NO_VALUE if not n else format_percent(float(f"{pos / n:.3g}"))
    numbers = [
        ("Rows" if of_each else "Predictions", f"{n:,}", of_each.strip()),
        ("Positives", share, f"{pos:,} of {n:,}{of_each}"),
    ]
    ranks = ranking.ranks.with_row_index()
    best = ranks.sort("area", descending=True, nulls_last=True, maintain_order=True)[:1]
    if not best.height:
        return numbers
    area, row = best["area"][0], ranking.areas[best["index"]]
    highest = f"Highest {ranking.name}" if ranks.height > 1 else ranking.name
    first = "auc" if tables.mean_areas is None else "mean_auc"
    limits = [] if best["area"][0] != row[first][0] else [_limits(row)]
    numbers.append(
        (
            highest[0].upper() + highest[1:],
            format_number(area, DECIMALS) or NO_VALUE,
            ", ".join(filter(None, [_name(row, group_columns(row, first)), *limits])),
        )
    )
    if recommended is not None:
        return [*numbers, recommended.key_number]
    second = ranks.filter(pl.col("rank") == 1)
    if second.height == 1 and ranks["group"].n_unique() == 1:
        text = format_number(second["difference"][0], DECIMALS) or NO_VALUE
        verdicts = verdict(*second.select("area", "rank", "significant", "p").row(0))
        model = format_values(second.get_column("model"))[0]
        return [*numbers, ("Ahead of the second", text, f"{model}: {verdicts}")]
    if ranks.height > 1:
        return [*numbers, ("Groups", f"{ranks.height:,}", join_names(group_columns(row, first)))]
    precision = tables.metrics["average_precision"]
    only = format_number(precision[0], DECIMALS) if precision.len() == 1 else None
    return [*numbers, ("Average precision", only, "")] if only else numbers


def _name(row: pl.DataFrame, keys: Sequence[str]) -> str:
    """Return the values of the group columns of a table with one row."""
    return ", ".join(format_values(row.get_column(key))[0] for key in keys)


def _limits(row: pl.DataFrame) -> str:
    return format_interval(row["lower"][0], row["upper"][0], DECIMALS) or ""


def _sections(
    tables: ReportTables,
    options: ReportOptions,
    selection: CurveSelection,
    points: pl.DataFrame | None,
    *,
    curves: GroupedCurves,
    pooled: GroupedCurves,
    on_step: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return the title, the caption and the figures of each kind of curve, and of calibration.

    `points` are the recommended thresholds, or None. `pooled` are the curves of the groups that
    have calibration curves.
    """
    sections: list[dict[str, Any]] = []
    for kind in options.kinds:
        on_step(f"Drawing the charts: {kind_named(kind).title}")
        means = tables.mean_curves.get(kind)
        sections.append(
            {
                "title": kind_named(kind).title,
                "caption": curve_caption(kind, means, options.averaged, marked=points is not None),
                "figures": curve_figures(curves, means, kind, selection, points),
            }
        )
    if tables.calibration is not None:
        on_step("Drawing the charts: Calibration")
        figures = calibration_figures(tables.calibration, pooled, selection)
        caption = calibration_caption(tables.calibration, selection)
        if figures:
            sections.append({"title": "Calibration", "caption": caption, "figures": figures})
    return sections


def _with_line_breaks(name: str) -> str:
    """Return a name as HTML that allows line breaks after characters such as "-" and "_"."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(map(escape, re.findall(BREAKABLE_PARTS, name, re.DOTALL)))


def _versions() -> dict[str, str]:
    import rocframe as rf

    return {
        "rocframe": rf.__version__,
        "polars": pl.__version__,
        "altair": alt.__version__,
        "Vega-Lite": alt.SCHEMA_VERSION.removeprefix("v"),
    }


def _data_line(areas: pl.DataFrame, provenance: Mapping[str, Any]) -> str:
    """Return one line: the number of rows, the groups, the scores and the positive class."""
    keys, scores = group_columns(areas), provenance["score"]
    groups = f", {format_count(areas.height, 'group')} by {join_names(keys)}" if keys else ""
    return (
        f"{format_count(provenance['rows'], 'prediction')}{groups}. "
        f"{'Score' if len(scores) == 1 else 'Scores'}: {join_names([*map(format_name, scores)])}. "
        f"Positive class: {format_name(provenance['label'])} = "
        f"{_value_text(provenance['positive'])}."
    )


MAX_NAMED_GROUPS = 40


def _omissions(
    tables: ReportTables, options: ReportOptions, provenance: Mapping[str, Any]
) -> list[str]:
    """Return sentences that state which files, rows and results are missing."""
    areas = tables.areas
    skipped: Mapping[str, str] = provenance.get("files_skipped", {})
    sentences = [f"{file}: {reason}." for file, reason in skipped.items()]
    if unused := provenance.get("unused_keys"):
        sentences.append(pooling_sentence(unused))
    n_missing = int(areas["n_missing"].sum())
    # With missing="worst", no row is left out. `_settings_list` states the number of rows without a
    # score.
    if n_missing and options.missing != "worst":
        rows = format_count(n_missing, "prediction")
        verb = "was" if n_missing == 1 else "were"
        sentences.append(f"{rows} with a missing label, score or weight {verb} left out.")
    for note in UNDEFINED_AUC:
        groups = areas.filter(pl.col("note") == note)
        if groups.height:
            have, pronoun = ("has", "its") if groups.height == 1 else ("have", "their")
            count = format_count(groups.height, "group")
            names = _group_names(groups)
            sentences.append(
                f"{count} {have} {NOTE_TEXTS[note]}, so {pronoun} AUC is undefined{names}."
            )
    return [*sentences, *_unmatched(tables.comparison), *tables.remarks] or ["Nothing."]


def pooling_sentence(unused: Sequence[str]) -> str:
    """Return the sentence that the columns `unused`, such as `fold`, are not group columns."""
    one = len(unused) == 1
    subject = f"The {'column' if one else 'columns'} {join_names(unused)}"
    predicate = "is not a group column" if one else "are not group columns"
    pronoun = "it" if one else "them"
    return f"{subject} {predicate}, so rows with different values of {pronoun} are pooled."


def _unmatched(comparison: pl.DataFrame | None) -> list[str]:
    """Return a list, possibly empty, with a sentence about rows that comparisons leave out."""
    if comparison is None:
        return []
    notes = comparison.get_column("note").str.extract(r"unmatched:(\d+)").cast(pl.Int64)
    n_pairs = notes.len() - notes.null_count()
    if not n_pairs:
        return []
    rows = format_count(int(notes.max()), "row")  # type: ignore[arg-type]
    most = "up to " if notes.n_unique() > 1 else ""
    pairs = format_count(n_pairs, "pair")
    return [f"The comparison of {pairs} of models leaves out {most}{rows} that one model lacks."]


def _group_names(groups: pl.DataFrame) -> str:
    keys = group_columns(groups)
    if not keys:
        return ""
    top = groups.head(MAX_NAMED_GROUPS)
    parts = [
        [f"{format_name(key)} = {value}" for value in format_values(top.get_column(key))]
        for key in keys
    ]
    names = "; ".join(map(", ".join, zip(*parts, strict=True)))
    n_others = groups.height - top.height
    return f": {names}" + (f"; and {n_others:,} more" if n_others else "")


MISSING_POLICIES = {
    "raise": "not allowed: a missing label, score or weight raises an error",
    "drop": "rows with a missing label, score or weight are left out",
    "worst": "rows without a score count as wrong predictions at every threshold",
}

UNMATCHED = {"drop": "instances that only one of two models has are left out of the comparison"}


def _settings_list(
    areas: pl.DataFrame,
    options: ReportOptions,
    provenance: Mapping[str, Any],
    versions: Mapping[str, str],
) -> list[tuple[str, str]]:
    """Return the entries of the settings list: pairs of a name and a value as text."""
    methods = areas["ci_method"].drop_nulls().unique().sort()
    level = areas["ci_level"].drop_nulls()
    percent = f", {format_percent(level[0])}" if len(level) else ""
    scores = provenance["score"]
    optional = {
        "Rounded scores": _rounding_text(provenance),
        "Days": provenance.get("days"),
        "Weight": provenance["weight"],
        "Count": provenance["count"],
        "Averaged over": options.averaged,
        "Paired by": options.id_names,
        "Costs": None if options.costs is None else costs_text(options.costs),
        "Prevalence of the costs": None
        if options.prevalence is None
        else exact_text(options.prevalence),
        "Unmatched rows": UNMATCHED.get(options.unmatched),
        "Seed": None if options.seed is None else str(options.seed),
    }
    about: Mapping[str, object] = provenance.get("about", {})
    n_missing = int(areas["n_missing"].sum())
    unscored = f": {format_count(n_missing, 'row')}" if options.missing == "worst" else ""
    return [
        ("Label", format_name(provenance["label"])),
        ("Positive class", _value_text(provenance["positive"])),
        ("Score" if len(scores) == 1 else "Scores", ", ".join(map(format_name, scores))),
        ("Groups", ", ".join(map(format_name, group_columns(areas))) or "none"),
        *((name, format_name(value)) for name, value in optional.items() if value is not None),
        ("Decision rule", "positive if score ≥ threshold"),
        ("Tied scores", "one point of the curve; a tied pair counts one half in the AUC"),
        ("Missing values", MISSING_POLICIES[options.missing] + unscored),
        ("Intervals", (", ".join(methods) + percent) if len(methods) else "none"),
        ("Rows", f"{provenance['rows']:,}"),
        *((format_name(name), format_name(str(value))) for name, value in about.items()),
        ("Software", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]


def _rounding_text(provenance: Mapping[str, Any]) -> str | None:
    """Return how the scores of a store are rounded; None if they are not rounded."""
    if provenance.get("max_envelope") is not None:
        return f"rounded down, --max-envelope {provenance['max_envelope']:g}"
    if provenance.get("resolution") is None:
        return None
    relative = " relative to the score" if provenance["relative"] else ""
    return f"rounded down, --resolution {provenance['resolution']:g}{relative}"


def _value_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else format_name(str(value))
