"""Compute the tables of a report from the predictions, and format them as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

import polars as pl

from rocframe.areas.auc import auc
from rocframe.averages.average import average
from rocframe.averages.fold_auc import FoldIntervalMethod, fold_auc
from rocframe.comparisons.compare import compare
from rocframe.curves.curve import curve
from rocframe.errors import OptionValueError, RocframeError
from rocframe.frames import column, private_names
from rocframe.inference.notes import SEPARATOR
from rocframe.kinds import kind_named
from rocframe.metrics.intervals import intervals
from rocframe.schemas import MODEL
from rocframe.text import (
    format_count,
    format_interval,
    format_name,
    format_number,
    format_p_value,
    format_values,
    join_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rocframe.inference.notes import Note
    from rocframe.kinds import KindName
    from rocframe.reports.report import ReportOptions


CURVE_METRICS = {"average_precision": "average precision", "ks": "KS"}
CLASS = "class"  # the group column of one_vs_rest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTables:
    """All tables of a report.

    Attributes
    ----------
    areas, curves
        AUC and curve of each group.
    metrics
        Metrics of whole curves, one row per row of `areas`.
    pooled
        Curves of the pooled rows of all values of the averaged group column.
    folds
        Mean AUC over the averaged group column.
    averages
        Mean curves over the averaged group column, by kind.
    comparison
        Pairwise comparison of the models.
    remarks
        Sentences that state which tables could not be computed, and why.
    """

    areas: pl.DataFrame
    curves: pl.DataFrame
    metrics: pl.DataFrame
    pooled: pl.DataFrame | None
    folds: pl.DataFrame | None
    averages: Mapping[str, pl.DataFrame]
    comparison: pl.DataFrame | None
    remarks: tuple[str, ...]


def areas_and_curves(
    predictions: pl.DataFrame,
    options: ReportOptions,
    on_step: Callable[[str], None] = lambda _: None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute the AUC and the curves of each group; `on_step` receives the name of each step."""
    arguments = {**options.roles, "by": options.keys or None}
    on_step("Computing the AUC")
    areas = auc(predictions, **arguments, ci=options.ci, level=options.level, seed=options.seed)
    on_step("Computing the curves")
    first, *others = map(kind_named, options.kinds)
    rates = [rate for kind in others for rate in kind.rates if rate not in first.rates]
    metrics = list(dict.fromkeys(rates))
    return areas, curve(predictions, **arguments, kind=options.kinds[0], metrics=metrics)


def report_tables(
    predictions: pl.DataFrame, options: ReportOptions, areas: pl.DataFrame, curves: pl.DataFrame
) -> ReportTables:
    """Compute the other tables of a report, and collect them all."""
    remarks: list[str] = []

    def attempt(
        title: str, compute: Callable[..., pl.DataFrame], *args: Any
    ) -> pl.DataFrame | None:
        try:
            return compute(*args)
        except RocframeError as error:
            reason = " ".join(str(error).splitlines()[0].split())
            remarks.append(f"{title} not computed: {reason}")
            return None

    pooled = folds = comparison = None
    averages: dict[str, pl.DataFrame] = {}
    if options.averaged is not None:
        pooled = curve(predictions, **options.roles, by=options.keys_without(options.averaged))
        folds = attempt("Mean AUC", _mean_areas, predictions, options)
        for kind in options.kinds:
            mean = attempt("Mean curves", _mean_curves, curves, options, kind)
            averages |= {} if mean is None else {kind: mean}
    side_by_side = MODEL in group_columns(areas) and MODEL not in options.keys
    if options.id is not None:
        comparison = _comparison(predictions, options)
    elif side_by_side and areas.get_column(MODEL).n_unique() > 1:
        comparison = attempt("Comparison", _comparison, predictions, options)
    return ReportTables(
        areas=areas,
        curves=curves,
        metrics=_curve_metrics(predictions, options),
        pooled=pooled,
        folds=folds,
        averages=averages,
        comparison=comparison,
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _mean_areas(predictions: pl.DataFrame, options: ReportOptions) -> pl.DataFrame:
    # The classes share instances, so limits for independent areas would be too narrow.
    has_limits = options.averaged != CLASS and options.ci in get_args(FoldIntervalMethod)
    return fold_auc(
        predictions,
        **options.roles,
        over=str(options.averaged),
        by=options.keys_without(options.averaged),
        ci=cast("FoldIntervalMethod", options.ci) if has_limits else None,
        level=options.level,
    )


def _mean_curves(curves: pl.DataFrame, options: ReportOptions, kind: KindName) -> pl.DataFrame:
    over = str(options.averaged)
    if over == CLASS:
        return average(curves, over=over, kind=kind, interval=None)
    return average(curves, over=over, kind=kind, level=options.level)


def _comparison(predictions: pl.DataFrame, options: ReportOptions) -> pl.DataFrame:
    one_score = isinstance(options.score, str | pl.Expr)
    if options.id is not None and one_score and MODEL not in options.keys:
        raise OptionValueError.compose(
            "id",
            options.id,
            "rows of models cannot be paired, because no group column names the models",
            'Name the column of the models "model" and include it in by=, or leave out id=.',
        )
    return compare(
        predictions,
        **options.roles,
        id=options.id,
        by=options.keys_without(options.averaged, MODEL),
        level=options.level,
        unmatched=options.unmatched,
    )


def _curve_metrics(predictions: pl.DataFrame, options: ReportOptions) -> pl.DataFrame:
    """Return metrics of whole curves as columns, in the order of the areas."""
    # Group columns are renamed, because they may have names of columns of `intervals`.
    private = private_names(options.keys, predictions.columns)
    rows = predictions.with_columns(column(name).alias(own) for name, own in private.items())
    result = intervals(
        rows,
        **options.roles,
        by=list(private.values()) or None,
        metrics=list(CURVE_METRICS),
        ci=None,
    )
    # Both tables are sorted by the group columns.
    return pl.DataFrame(
        {name: result.filter(metric=name).get_column("estimate") for name in CURVE_METRICS}
    )


def group_columns(areas: pl.DataFrame, first: str = "auc") -> list[str]:
    """Return the group columns of a table of areas: those to the left of its column `first`."""
    return areas.columns[: areas.columns.index(first)]


MAX_TABLE_ROWS = 500
NO_VALUE = "–"
SHORT_NAME = 20  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """A column as text; `kind` is "name", "number" or "word", and sets its alignment."""

    title: str
    cells: Sequence[str]
    kind: str = "number"

    @property
    def is_short(self) -> bool:
        """Whether the column contains texts that are short enough for one line."""
        return self.kind != "number" and max(map(len, self.cells), default=0) <= SHORT_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table as text; `omitted` is a sentence about rows that are left out, or empty."""

    columns: list[TextColumn]
    omitted: str

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells by row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


def areas_text(tables: ReportTables, file: str | None) -> TextTable:
    """Return the AUC and other metrics of each group as text.

    `file` is the name of a file with all rows of the table, or None.
    """
    areas, top = tables.areas, tables.areas.head(MAX_TABLE_ROWS)
    metrics = tables.metrics.head(MAX_TABLE_ROWS)
    n_rows = top["n_pos"] + top["n_neg"]
    columns = [
        *name_columns(top, group_columns(areas)),
        number_column("AUC", top["auc"]),
        *interval_columns(top, areas),
        *(
            number_column(title, metrics[name])
            for name, title in CURVE_METRICS.items()
            if metrics[name].null_count() < top.height
        ),
        number_column("prevalence", (top["n_pos"] / n_rows).fill_nan(None)),
        count_column("positives", top["n_pos"]),
        count_column("negatives", top["n_neg"]),
        *([count_column("missing", top["n_missing"])] if areas["n_missing"].sum() else []),
    ]
    return _text_table(columns, top, areas, file)


def folds_text(folds: pl.DataFrame) -> TextTable:
    """Return the mean AUC over folds as text."""
    top = folds.head(MAX_TABLE_ROWS)
    columns = [
        *name_columns(top, group_columns(folds, "mean_auc")),
        number_column("mean AUC", top["mean_auc"]),
        *interval_columns(top, folds),
        number_column("sd", top["sd"]),
        number_column("AUC of mean curve", top["auc_of_mean"]),
        number_column("pooled AUC", top["pooled_auc"]),
        count_column("curves", top["n_curves"]),
    ]
    return _text_table(columns, top, folds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The best model of each group and its differences from the others: sentences and a table."""

    sentences: list[str]
    table: TextTable


def summary_text(tables: ReportTables, options: ReportOptions) -> Summary | None:
    """Return which model is best, by how much, and whether the differences are significant.

    The result is None if the report has fewer than two models. If the comparison of the models is
    part of the report, models are ranked by the areas of the comparison, which pools all rows of a
    model.
    """
    areas = tables.areas if tables.folds is None else tables.folds
    first = "auc" if tables.folds is None else "mean_auc"
    keys = group_columns(areas, first)
    if MODEL not in keys or areas.get_column(MODEL).n_unique() < 2:
        return None
    ranked_by = first if tables.folds is None or tables.comparison is None else "pooled_auc"
    ranks = _ranked_models(areas, [key for key in keys if key != MODEL], ranked_by)
    ranks = _with_differences(ranks, tables.comparison)
    several_groups = len(keys) > 1
    if several_groups:
        ranks = ranks.filter(pl.col("rank") < 2)
    top = ranks.head(MAX_TABLE_ROWS)
    top_areas = areas[top.get_column("row")]
    alpha = 1 - options.level
    title = "AUC" if tables.folds is None else "mean AUC"
    below = pl.when(pl.col("rank") > 0).then("difference")
    main = [number_column(title, top_areas[first]), *interval_columns(top_areas, areas)]
    columns = [
        *name_columns(top_areas, [*(key for key in keys if key != MODEL), MODEL]),
        *([number_column("AUC of all rows", top["area"])] if ranked_by == "pooled_auc" else []),
        *([] if ranked_by == "pooled_auc" else main),
        number_column("below the best", top.select(below).to_series()),
        TextColumn(
            title="significant",
            cells=[
                _significance(*row, alpha)
                for row in zip(top["area"], top["rank"], top["p"], strict=True)
            ],
            kind="word",
        ),
        *([] if tables.comparison is None else [_difference_limits(top, tables.comparison)]),
        *(main if ranked_by == "pooled_auc" else []),
    ]
    n_omitted = ranks.height - top.height
    omitted = f"Not shown here: {format_count(n_omitted, 'row')}." if n_omitted else ""
    return Summary(
        sentences=_summary_sentences(ranks, alpha, tested=tables.comparison is not None),
        table=TextTable(columns=columns, omitted=omitted),
    )


def _ranked_models(areas: pl.DataFrame, groups: list[str], ranked_by: str) -> pl.DataFrame:
    """Return the row, the area and the rank of each model; the best model of a group is first."""
    number = pl.struct(map(column, groups)).rank("dense") if groups else pl.lit(1)
    ranks = areas.select(
        pl.int_range(pl.len()).alias("row"),
        number.cast(pl.Int64).alias("group"),
        column(MODEL).alias("model"),
        pl.col(ranked_by).alias("area"),
    ).sort("group", "area", "row", descending=[False, True, False], nulls_last=True)
    return ranks.with_columns(
        pl.int_range(pl.len()).over("group").alias("rank"),  # 0 is the best
        pl.col("model").first().over("group").alias("best"),
        (pl.col("area").first().over("group") - pl.col("area")).alias("difference"),
    )


def _with_differences(ranks: pl.DataFrame, comparison: pl.DataFrame | None) -> pl.DataFrame:
    """Add differences, limits and p-values; null for models that are not compared."""
    names = ["lower", "upper", "p"]
    if comparison is None:
        return ranks.with_columns(pl.lit(None, pl.Float64).alias(name) for name in names)
    groups = group_columns(comparison, "model_a")
    number = pl.struct(map(column, groups)).rank("dense") if groups else pl.lit(1)
    limits = ("difference", "lower", "upper")
    pairs = comparison.select(
        number.cast(pl.Int64).alias("group"),
        pl.col("model_a").alias("best"),
        pl.col("model_b").alias("model"),
        *limits,
        pl.col("p_adjusted").alias("p"),
    )
    swapped = pairs.select(
        "group",
        pl.col("model").alias("best"),
        pl.col("best").alias("model"),
        -pl.col("difference"),
        (-pl.col("upper")).alias("lower"),
        (-pl.col("lower")).alias("upper"),
        "p",
    )
    return ranks.drop("difference").join(
        pl.concat([pairs, swapped]),
        on=["group", "best", "model"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )


def _difference_limits(ranks: pl.DataFrame, comparison: pl.DataFrame) -> TextColumn:
    limits = zip(ranks["lower"], ranks["upper"], strict=True)
    return TextColumn(
        title=f"{interval_title(comparison) or 'interval'} of the difference",
        cells=[format_interval(*pair) or NO_VALUE for pair in limits],
    )


def _significance(area: float | None, rank: int, p_value: float | None, alpha: float) -> str:
    if area is None:
        return "AUC undefined"
    if rank == 0:
        return "best"
    if p_value is None:
        return "not tested"
    text = format_p_value(p_value) or ""
    p_text = f"p {text}" if text.startswith("<") else f"p = {text}"
    return f"{'yes' if p_value < alpha else 'no'}, {p_text}"


def _summary_sentences(ranks: pl.DataFrame, alpha: float, *, tested: bool) -> list[str]:
    """Return sentences on the best model and on the tests of the differences from it.

    If there are several groups, the first sentence states how often each model is the best.
    """
    best = ranks.filter(pl.col("rank") == 0, pl.col("area").is_not_null())
    names = dict(zip(ranks["model"], format_values(ranks["model"]), strict=True))
    sentences = []
    if best.height == 1:
        area = format_number(best["area"][0])
        sentences.append(f"Highest AUC: {names[best['model'][0]]}, {area}.")
    elif best.height:
        counts = best.group_by("model", maintain_order=True).len().sort("len", descending=True)
        counts = counts.head(5)
        texts = [
            f"{names[model]} in {n:,}"
            for model, n in zip(counts["model"], counts["len"], strict=True)
        ]
        groups = format_count(best.height, "group")
        sentences.append(f"Models with the highest AUC in {groups}: {join_names(texts)}.")
    if not tested:
        sentences.append("The differences are not tested, because the rows are not paired.")
        return sentences
    others = ranks.filter(pl.col("rank") > 0, pl.col("p").is_not_null())
    n_significant = others.filter(pl.col("p") < alpha).height
    criterion = f"(adjusted p-value below {alpha:.4g})"
    if others.height == 1:
        negation = "" if n_significant else "not "
        sentences.append(
            f"The difference from the other model is {negation}significant {criterion}."
        )
    elif others.height:
        number = f"{n_significant:,}" if n_significant else "None"
        verb = "is" if n_significant < 2 else "are"
        sentences.append(
            f"{number} of the {others.height:,} differences from the best model {verb} significant "
            f"{criterion}."
        )
    return sentences


def comparison_text(comparison: pl.DataFrame) -> TextTable:
    """Return the differences between models as text."""
    top = comparison.head(MAX_TABLE_ROWS)
    models = top.select(pl.col("model_a").alias("model a"), pl.col("model_b").alias("model b"))
    columns = [
        *name_columns(top, group_columns(comparison, "model_a")),
        *name_columns(models, models.columns),
        number_column("difference", top["difference"]),
        *interval_columns(top, comparison),
        number_column("p-value", top["p_value"], format_p_value),
        number_column("adjusted p-value", top["p_adjusted"], format_p_value),
        number_column("AUC a", top["auc_a"]),
        number_column("AUC b", top["auc_b"]),
        count_column("rows", top["n_paired"]),
    ]
    return _text_table(columns, top, comparison)


def _text_table(
    columns: list[TextColumn], top: pl.DataFrame, table: pl.DataFrame, file: str | None = None
) -> TextTable:
    n_omitted = table.height - top.height
    omitted = f"Not shown here: {format_count(n_omitted, 'row')}{f', see {file}' if file else ''}."
    return TextTable(
        columns=[*columns, *note_columns(top, table, note_in_words)],
        omitted=omitted if n_omitted else "",
    )


def name_columns(top: pl.DataFrame, names: Sequence[str]) -> list[TextColumn]:
    """Return group columns as text."""
    return [
        TextColumn(title=format_name(name), cells=format_values(top.get_column(name)), kind="name")
        for name in names
    ]


def number_column(
    title: str,
    values: pl.Series,
    format_value: Callable[[float | None], str | None] = format_number,
) -> TextColumn:
    """Return a column of metrics as text."""
    return TextColumn(title=title, cells=[format_value(value) or NO_VALUE for value in values])


def count_column(title: str, values: pl.Series) -> TextColumn:
    """Return a column of counts as text."""
    return TextColumn(title=title, cells=[NO_VALUE if n is None else f"{n:,}" for n in values])


def interval_columns(top: pl.DataFrame, table: pl.DataFrame) -> list[TextColumn]:
    """Return a column of intervals as text; an empty list if the table has none."""
    title = interval_title(table)
    if title is None:
        return []
    limits = zip(top["lower"], top["upper"], strict=True)
    return [TextColumn(title=title, cells=[format_interval(*pair) or NO_VALUE for pair in limits])]


def interval_title(table: pl.DataFrame) -> str | None:
    """Return the title of a column of intervals such as "95 % interval"; None without any."""
    level = table["ci_level"].drop_nulls()
    return f"{100 * level[0]:g} % interval" if len(level) else None


# The text of each note in a report. "{}" is the number in the note.
NOTE_TEXTS: dict[Note, str] = {
    "no_rows": "no rows",
    "no_positives": "no positives",
    "no_negatives": "no negatives",
    "one_positive": "no interval: only one positive",
    "one_negative": "no interval: only one negative",
    "zero_variance": "no interval: the estimated variance is 0",
    "no_solution": "undefined",
    "redrawn": "resamples drawn again because they lacked a class: {}",
    "unmatched": "rows left out because one of the two models lacks them: {}",
    "left_out": "curves left out because they lack a class: {}",
    "lacks_rows": "curves left out because rows of them are missing: {}",
    "fewer": "groups with fewer curves: {}",
}


def note_columns(
    top: pl.DataFrame,
    table: pl.DataFrame,
    format_note: Callable[[str], str] = str,
) -> list[TextColumn]:
    """Return a column of notes as text; an empty list if the table has none."""
    if table["note"].null_count() == table.height:
        return []
    cells = [format_note(note) if note else "" for note in top["note"]]
    return [TextColumn(title="note", cells=cells, kind="word")]


def note_in_words(note: str) -> str:
    """Return the notes of a row in words, such as "no positives" for "no_positives"."""
    return SEPARATOR.join(map(_one_note_in_words, note.split(SEPARATOR)))


def _one_note_in_words(note: str) -> str:
    name, _, rest = note.partition(":")
    if name not in NOTE_TEXTS:
        return note
    number, _, names = rest.partition(" ")
    words = NOTE_TEXTS[name].format(f"{int(number):,}" if number.isdecimal() else number)
    return f"{words} {names}".strip()
