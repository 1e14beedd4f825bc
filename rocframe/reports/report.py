"""The function `report`: a page with the charts and tables of an evaluation."""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.errors import OptionValueError, StorageError
from rocframe.frames import lazy_plan
from rocframe.io.files import check_target, collect_query, local_path, write_text
from rocframe.io.tables import check_nesting
from rocframe.kinds import kind_named
from rocframe.options import NOT_GIVEN, NotGiven, check_flag, check_text, public
from rocframe.reports.evaluation import ReportOptions, areas_and_curves, pooling_sentence
from rocframe.reports.export import (
    PAGE_STYLE,
    content_policy,
    embed_script,
    json_for_html,
    load_vl_convert,
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
from rocframe.reports.progress import Progress
from rocframe.reports.recommendations import (
    costs_text,
    exact_text,
    model_ranking,
    recommendations,
    verdict,
)
from rocframe.reports.tables import UNDEFINED_AUC, comparison_text, metrics_text, report_tables
from rocframe.reports.text_columns import DECIMALS, NO_VALUE, NOTE_TEXTS, group_columns
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

    from jinja2 import Template

    from rocframe.comparisons.pairing import Unmatched
    from rocframe.inference import AUCIntervalMethod
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.options import KindName
    from rocframe.reports.figures import CurveSelection
    from rocframe.reports.recommendations import ModelRanking, Recommendations
    from rocframe.reports.tables import ReportTables


@public
def report(
    predictions: pl.DataFrame | pl.LazyFrame,
    /,
    label: Column,
    score: Scores,
    *,
    path: str | os.PathLike[str],
    by: By = None,
    over: str | Sequence[str] | NotGiven | None = NOT_GIVEN,
    id: Column | Sequence[Column] | None = None,  # noqa: A002
    kind: KindName | Sequence[KindName] = ("roc", "precision_recall"),
    ci: AUCIntervalMethod | None = "logit_delong",
    level: float = 0.95,
    unmatched: Unmatched = "raise",
    costs: Mapping[str, float] | None = None,
    prevalence: float | None = None,
    subject_to: Mapping[str, Sequence[float | None]] | None = None,
    seed: int | None = None,
    title: str = "Evaluation",
    about: Mapping[str, object] | None = None,
    progress: bool = False,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> Path:
    """Write an HTML page with the AUC and the curves of each group.

    The page is one file that needs no network: key numbers, the best model, a table of the areas,
    charts, an interactive dashboard, a comparison of models if their rows can be paired, what was
    left out, and the settings. Models whose scores are all between 0 and 1 have calibration charts.
    The same predictions and `seed` give the same file, byte by byte.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
    path : str or Path
        File to write, with the suffix `.html`, in an existing folder. If writing fails, an old file
        is unchanged.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    over : str, sequence of one str, or None, optional
        Group column over which the curves are averaged; by default `"fold"`, if `by` contains it.
        None for no averages. The curves of all classes have the same instances: with
        `over="class"`, averages have no limits, and models are compared within each class.
    id : str or sequence of str, default None
        Columns that identify the instance of a row. With `id`, the page compares the models in the
        group column `model`. For scores in several columns, `id` is not needed.
    kind : str or sequence of str, optional
        Kind of curve, or several kinds.
    ci : str or None, default "logit_delong"
        Method of the confidence interval of the AUC, as in `auc`; None for no intervals.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, such as `{"fp": 1, "fn": 5}`; others are 0. The page
        then recommends the threshold of lowest expected cost of each group.
    prevalence : float, default None
        Prevalence, between 0 and 1, at which costs are computed; None: that of each group.
    subject_to : mapping of str to sequence, default None
        Constraints of the recommended thresholds, as in `operating_point`, such as a capacity:
        `{"alerts": (0, 100)}`. Without costs, the threshold of highest recall is recommended.
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
    title : str, default "Evaluation"
        Title of the page.
    about : mapping of str to JSON value, default None
        Names and values, such as files or a date, that are added to the list of settings.
    progress : bool, default False
        If True, show the current step on stderr.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    MissingExtraError
        If vl-convert is not installed.
    StorageError
        If the suffix is not `.html`, if the folder does not exist, or if the file cannot be
        written.
    PairingError
        If `id` does not pair the rows of the models.
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    chart_fragment : A chart as an HTML fragment for any page.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import rocframe as rf
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "vote.html"
    ...     page = rf.report(rf.datasets.vote(), "label", "score", path=file, by="model", id="id")
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    given = locals()
    load_vl_convert("report")
    names = [option.name for option in fields(ReportOptions) if option.init]
    options = ReportOptions(**{name: given[name] for name in names})
    check_text("title", title)
    check_flag("progress", progress)
    entries = _check_about(about)
    check_page_path(path)
    plan = lazy_plan("predictions", predictions)
    options = options.with_models(plan)
    with Progress(quiet=not progress, delay=0) as steps:
        steps.step("Reading the predictions")
        steps.expect(options.n_steps + 1)  # the last step writes the file
        rows = collect_query(path, options.select_columns(plan))
        areas, curves = areas_and_curves(rows, options, steps.step)
        tables = report_tables(rows, options, areas, curves, steps.step)
        unused = options.unused_keys(plan.collect_schema())
        provenance = {**options.provenance(rows), "about": entries, "unused_keys": unused}
        page = report_page(tables, options, title=title, provenance=provenance, on_step=steps.step)
        steps.step("Writing the page")
        write_text(path, page)
    return Path(path)


def check_page_path(path: str | os.PathLike[str]) -> None:
    """Raise an error if `path` does not end with `.html`, or if no file can be written there."""
    suffix = local_path(path).suffix
    if suffix.lower() != ".html":
        problem = f"expected the suffix '.html', got {suffix!r}"
        raise StorageError.compose(os.fspath(path), problem, "Pass a name that ends with .html.")
    check_target(path)


def _check_about(about: Mapping[str, object] | None) -> dict[str, str]:
    if about is None:
        return {}
    if not hasattr(about, "items") or not all(isinstance(name, str) for name in about):
        hint = 'Use, for example, about={"files": "vote.parquet"}.'
        problem = "expected a mapping from names to values"
        raise OptionValueError.compose("about", about, problem, hint)
    entries = {}
    for name, value in about.items():
        argument, problem = f"about[{name!r}]", "the value cannot be converted to text"
        check_nesting(argument, value)
        try:
            entries[name] = str(value)
        except (RecursionError, ValueError):
            raise OptionValueError.compose(argument, value, problem, "Pass a string.") from None
    return entries


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

    `provenance` is that of the options, with optional keys: `files`, `files_skipped` (the reason by
    file), `unused_keys`, `about` (the entries of the user), and `days`, `resolution`, `relative`
    and `max_envelope` of a store. `files` are the files of all curves and areas, for pages with
    less.
    """
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
    scripts = embed_script(), PAGE_SCRIPT.read_text(encoding="utf-8").strip()
    sections = _sections(
        tables, options, selection, points, curves=curves, pooled=pooled, on_step=on_step
    )
    # The first chart, such as the ROC curves of all models, is at the top of the page.
    first = sections[0]["figures"].pop(0) if selection.panel is None else None
    on_step("Drawing the dashboard")
    dashboard = dashboard_section(
        pooled, selection, tables.calibration, costs=options.costs, prevalence=options.prevalence
    )
    return _template().render(
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
    tables: ReportTables, ranking: ModelRanking, recommended: Recommendations | None
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
    values = [format_values(row.get_column(key))[0] for key in group_columns(row, first)]
    title, text = highest[0].upper() + highest[1:], ", ".join(filter(None, [*values, *limits]))
    numbers.append((title, format_number(area, DECIMALS) or NO_VALUE, text))
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
    """Return the title, the caption and the figures of each kind of curve, and of calibration."""
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


@cache
def _template() -> Template:
    """Compile the template of a page, which takes as long as the charts of a small page."""
    from jinja2 import Environment, StrictUndefined  # a dependency of Altair
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["breakable"] = _with_line_breaks
    environment.filters["json"] = lambda spec: Markup(json_for_html(spec))
    return environment.from_string(PAGE_TEMPLATE.read_text(encoding="utf-8"))


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
