"""Charts of numbers with intervals, one row per group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.charts.dot_plot import HIGH, LOW, TOLD, WHY, Dots, drawn, own_columns, rows_of
from rocframe.charts.groups import Group
from rocframe.charts.labels import finite, plain, said, said_p, why
from rocframe.options import NOT_GIVEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt

    from rocframe.charts.chart import Asked
    from rocframe.charts.dot_plot import Rows
    from rocframe.schemas import Table


MOST = 10  # rows that a description lists

AREA = "Area under the ROC curve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """How the columns of a table are drawn: its title, its axis and its marks, first the dot.

    `references` are what the axis always has a line at, `reference` is a column that has one for
    each of its values, and `tests` says that there are p-values.
    """

    title: str
    axis: str
    marks: tuple[str, ...]
    inner: tuple[str, str] | None = None
    references: tuple[float, ...] = ()
    reference: str | None = None
    part: str | None = None
    tests: bool = False


DRAWN = {
    "auc": Drawn(
        title=AREA,
        axis="AUC",
        marks=("auc",),
        inner=("auc_pessimistic", "auc_optimistic"),
        references=(0.5,),
    ),
    "partial_auc": Drawn(
        title="Partial area under the ROC curve",
        axis="Partial AUC",
        marks=("partial_auc",),
        inner=("partial_auc_pessimistic", "partial_auc_optimistic"),
    ),
    "auc_test": Drawn(
        title="Tests of the AUC", axis="AUC", marks=("auc",), reference="null", tests=True
    ),
    "multiclass_auc": Drawn(
        title="Area over all classes",
        axis="AUC",
        marks=("auc",),
        references=(0.5,),
        part="average",
    ),
    "volume": Drawn(
        title="Volume under the ROC surface",
        axis="Volume",
        marks=("volume",),
        references=(1 / 6,),  # of three classes that nothing tells apart
    ),
    "fold_auc": Drawn(
        title="Area over folds",
        axis="AUC",
        marks=("mean_auc", "pooled_auc", "auc_of_mean"),
        references=(0.5,),
    ),
}

AREAS = {
    "auc": Drawn(title=AREA, axis="AUC", marks=("auc",), references=(0.5,)),
    "auc_of_mean": Drawn(
        title="Area under the averaged curve",
        axis="AUC",
        marks=("auc_of_mean",),
        references=(0.5,),
    ),
    "area_of_mean": Drawn(
        title="Area under the averaged curve", axis="Area", marks=("area_of_mean",)
    ),
    "pr_auc": Drawn(
        title="Area under the precision-recall curve",
        axis="Area",
        marks=("average_precision", "pr_auc"),
    ),
}


def interval_chart(
    table: pl.DataFrame, found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each row of a table of areas or tests."""
    how = DRAWN.get(found.name) or AREAS[table.columns[-1]]
    parts = {how.part: table.get_column(how.part).to_list()} if how.part else {}
    rows = rows_of(table, found.by, color=asked.color, facet=asked.facet, parts=parts)
    told = [name for name in own_columns(table, found.by) if name != how.part]
    return charted(table, rows, how, told)


def charted(
    table: pl.DataFrame, rows: Rows, how: Drawn, told: Sequence[str], *, free: bool = False
) -> alt.LayerChart | alt.FacetChart:
    """Draw the rows of a table."""
    values = {name: plain(table.get_column(name)) for name in told}
    first = values[how.marks[0]]
    notes = values.get("note", [None] * table.height)
    records: list[dict[str, Any]] = [
        {**names, **dict(zip(values, row, strict=True))}
        for names, row in zip(rows.records(), zip(*values.values(), strict=True), strict=True)
    ]
    for record, value, note in zip(records, first, notes, strict=True):
        low, high = record.get("lower"), record.get("upper")
        # Of what is infinite there is no place to draw, and the tooltip has it.
        record[LOW], record[HIGH] = (low, high) if len(finite([low, high])) == 2 else (None, None)
        record[WHY] = None if finite([value]) else _why(value or note, record, rows)
        if how.tests:
            record[TOLD] = said_p(record["p_adjusted"])
    dots = Dots(
        rows=rows,
        records=records,
        axis=how.axis,
        marks=how.marks,
        inner=how.inner if _differs(records, how.inner) else None,
        references=how.references,
        reference=how.reference,
        column="adjusted p" if how.tests else None,
        tooltip=tuple(told),
        free=free,
    )
    return drawn(
        dots,
        title=how.title,
        subtitle=_limits(table),
        description=_described(dots, how),
    )


def _why(note: str | None, record: Mapping[str, Any], rows: Rows) -> str:
    """Say why a row has no dot, and which row that is where several share a line."""
    return f"{record[str(rows.color)]}: {why(note)}" if rows.dodges else why(note)


def _differs(records: Sequence[dict[str, Any]], ends: tuple[str, str] | None) -> bool:
    return ends is not None and any(record[ends[0]] != record[ends[1]] for record in records)


def _limits(table: pl.DataFrame) -> str:
    """Say what the intervals of a table are, or its tests."""
    if not {"ci_level", "ci_method"} <= set(table.columns):
        tests: Sequence[str] = (
            table.get_column("test").unique(maintain_order=True).to_list()
            if "test" in table.columns
            else []
        )
        return f"test: {', '.join(tests)}" if len(tests) else ""
    levels = table.get_column("ci_level").drop_nulls().unique().sort().to_list()
    methods = table.get_column("ci_method").drop_nulls().unique(maintain_order=True).to_list()
    if not levels or not methods:
        return ""
    shares = " and ".join(f"{100 * level:.4g} %" for level in levels)
    return f"{shares} intervals ({', '.join(methods)})"


def _described(dots: Dots, how: Drawn) -> str:
    """Say what a chart shows, for those who cannot see it."""
    count = len(dots.records)
    text = f"{how.title}, {count} {'row' if count == 1 else 'rows'}."
    told = [
        f"{name}: {_row_said(record, how)}"
        for name, record in zip(dots.rows.named[:MOST], dots.records[:MOST], strict=True)
    ]
    more = f" And {count - MOST} more." if count > MOST else ""
    lines = [f"at {place:.4g}" for place in dots.references]
    lines += ["at the null hypothesis"] if dots.reference else []
    dashed = f" The dashed line is {' and '.join(lines)}." if lines else ""
    return f"{text}{dashed} {'; '.join(told)}.{more}" if told else f"{text}{dashed}"


def _row_said(record: dict[str, Any], how: Drawn) -> str:
    """Say the numbers of one row."""
    if record[WHY] is not None:
        return str(record[WHY])
    text = said(record[how.marks[0]])
    if record[LOW] is not None and record[HIGH] is not None:
        text += f" ({said(record[LOW])} to {said(record[HIGH])})"
    for mark in how.marks[1:]:
        text += f", {mark} {said(record[mark])}"
    if record.get(TOLD):
        text += (
            f", {'adjusted p' if record[TOLD].startswith('<') else 'adjusted p ='} {record[TOLD]}"
        )
    return text


SHORT = {"auc": "AUC", "partial_auc": "partial AUC", "tpr": "TPR", "fpr": "FPR"}


def comparison_chart(
    table: pl.DataFrame, found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw the difference of each pair of models, its interval and its p-value."""
    right = own_columns(table, found.by)
    area = next((name for name in right[2:] if name.endswith("_a")), "area").removesuffix("_a")
    first, second = _models(table)
    pairs = [f"{a} − {b}" for a, b in zip(first, second, strict=True)]
    rows = rows_of(
        table,
        found.by,
        color=None if asked.color is NOT_GIVEN else asked.color,
        facet=asked.facet,
        parts={"models": pairs},
    )
    how = Drawn(
        title=f"Differences of {SHORT.get(area, area)}",
        axis=f"Difference of {SHORT.get(area, area)}",
        marks=("difference",),
        references=(0.0,),
        tests=True,
    )
    return charted(table, rows, how, right[2:])


def _models(table: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the names of both models of each row, spelled alike."""
    both = pl.concat([table.get_column(name).alias("model") for name in ("model_a", "model_b")])
    texts = Group.of(both).texts
    return texts[: table.height], texts[table.height :]


def metric_chart(
    table: pl.DataFrame, found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each metric; metrics of several ranges have panels."""
    names = _metrics(table)
    spread = [table.get_column(name) for name in ("estimate", "lower", "upper")]
    apart = len(set(names)) > 1 and any(
        not 0 <= value <= 1 for part in spread for value in finite(plain(part))
    )
    rows = rows_of(
        table,
        found.by,
        color=asked.color,
        facet=asked.facet,
        parts={"metric": names},
        apart=apart,
    )
    one = names[0] if len(set(names)) == 1 else "Estimate"
    how = Drawn(title="Metrics", axis=one, marks=("estimate",))
    told = [name for name in own_columns(table, found.by) if name != "metric"]
    return charted(table, rows, how, told, free=apart)


def _metrics(table: pl.DataFrame) -> list[str]:
    """Return what each row of a table of metrics shows, and where."""
    parts = (table.get_column(name) for name in ("metric", "at", "value"))
    return [
        metric if at is None else f"{metric} at {at} {value:.4g}"
        for metric, at, value in zip(*(part.to_list() for part in parts), strict=True)
    ]
