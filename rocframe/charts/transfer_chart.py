"""Charts of transferred thresholds: values on new data and on the data that determined them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocframe.charts.axes import axis_title
from rocframe.charts.dot_plot import (
    ESTIMATE_TEXT,
    REASON,
    DotPlot,
    RightText,
    add_numbers,
    add_reason,
    documented_columns,
    dot_layers,
    mark_name,
    read_rows,
    row_records,
)
from rocframe.charts.labels import finite, note_text, number_text, sentences
from rocframe.text import format_count, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt
    import polars as pl

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table

REALISED, CHOSEN = "value_realised", "value_chosen"
# Titles of the values of rules that are not metrics.
RULE_TITLES = {
    "closest_top_left": "Distance to (0, 1)",
    "equal_error": "Mean of FPR and FNR",
    "profit": "Profit per row",
}


def transfer_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw two connected points for each row: `value_chosen` and `value_realised`.

    If the table has several rules, each rule has a panel with its own axis.
    """
    rules = table.get_column("rule").to_list()
    several = len(set(rules)) > 1
    shown = documented_columns(table, layout.by)
    rows = read_rows(
        table,
        layout.by,
        options,
        taken=[name for name in shown if name != "rule"],
        parts={"rule": rules} if several else {},
        in_panels=several,
    )
    if several:
        shown.remove("rule")
    groups = rows.groups
    records = row_records(table, groups, shown)
    for record in records:
        known = finite([record[REALISED]])
        add_reason(record, None if known else note_text(record["note"]), rows)
    add_numbers(records, REALISED, (), groups.panel)
    axis = _rule_title(rules[0]) if len(set(rules)) == 1 else "Value"
    plot = DotPlot(
        rows=rows,
        records=records,
        axis=axis,
        marks=(REALISED, CHOSEN),
        limits=(REALISED, CHOSEN),
        right=(RightText(field=ESTIMATE_TEXT, title=mark_name(REALISED)),),
        shown=tuple(shown),
        free_axes=several,
    )
    names = groups.names(len(records))
    texts = [
        f"{name}: {_transfer_text(record)}" for name, record in zip(names, records, strict=True)
    ]
    return plot.layered(
        dot_layers(plot),
        title="Transferred thresholds",
        subtitle="Realised: on other data than those that determined the threshold",
        description=sentences(
            f"Transferred thresholds, {format_count(len(records), 'row')}: {axis}",
            "A line connects the value on the data of a row with the value on the data that "
            "determined the threshold",
            join_first(texts, separator="; "),
        ),
    )


def _rule_title(rule: str) -> str:
    """Return the title of the axis of a rule: the name of the value that the rule optimizes."""
    return RULE_TITLES.get(rule) or axis_title(rule)


def _transfer_text(record: Mapping[str, Any]) -> str:
    """Describe one row: its values, or the reason why the value is undefined."""
    if record.get(REASON) is not None:
        return str(record[REASON])
    return f"{number_text(record[REALISED])}, where it was chosen {number_text(record[CHOSEN])}"
