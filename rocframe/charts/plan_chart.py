"""Charts of plans: power, or the detectable difference, against the number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.axes import count_ticks, inside_sentence, linear_axis
from rocframe.charts.curve_layers import NO_TOOLTIP
from rocframe.charts.dot_plot import reference_rule
from rocframe.charts.groups import CHART_SIDE, JOINT, GroupColumn, Groups
from rocframe.charts.labels import (
    MAX_IN_SUBTITLE,
    distinct_number_texts,
    domain_of,
    field_name,
    finite,
    inline_data,
    json_rows,
    json_values,
    not_drawn,
    number_text,
    sentences,
    tooltip,
)
from rocframe.charts.layer_chart import layered
from rocframe.schemas.statistics import PLAN
from rocframe.text import format_count, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table

LOG_RANGE = 100  # minimum ratio of the largest and the smallest x for a logarithmic axis
# Columns of a plan. Rows with different values in these columns are on different lines.
LINE_COLUMNS = (
    *("auc", "null", "auc_b", "correlation", "alpha", "alternative", "variance", "se_at"),
    *("target", "ratio", "n_neg"),
)
TITLES = {
    "n_pos": "Positives",
    "n_neg": "Negatives",
    "difference": "Difference of AUC",
    "power": "Power",
}
LINE = "_plan"  # the field of the line of plans without line columns


def plan_chart(table: pl.DataFrame, _layout: Table, _options: ChartOptions) -> alt.LayerChart:
    """Draw plans as lines through dots, with a dashed line at each target power."""
    values = {name: json_values(table.get_column(name)) for name in PLAN.columns()}
    records = json_rows(values)
    labels = json_rows({name: _texts(table.get_column(name)) for name in PLAN.columns()})
    x, y, varied_columns, line_columns = _roles(values)
    lines = [JOINT.join(label[name] for name in line_columns) for label in labels]
    title = JOINT.join(line_columns)
    taken = [] if len(line_columns) == 1 else [*values]
    name = field_name(title, taken) if title else LINE
    groups = Groups(columns={name: GroupColumn.in_given_order(lines, title)})
    if len(groups.columns[name].values) > 1:
        groups = groups.with_colors(name)
    targets = sorted({record["target"] for record in records} - {None})
    for record, line in zip(records, lines, strict=True):
        record[name] = line

    plans: Any = alt.Chart().transform_filter(f"isValid(datum.{x}) && isValid(datum.{y})")
    # Lines of plans are sorted by x, which is the default.
    layers = [
        plans.mark_line(strokeWidth=2).encode(tooltip=NO_TOOLTIP),
        plans.mark_point(filled=True, size=60, opacity=1),
    ]
    if y == "power":
        layers.append(reference_rule("y", y, targets))
    chart = layered(
        layers,
        data=inline_data(records),
        encoding={
            **_axis_channels(records, x, y),
            **groups.channels(),
            "tooltip": [tooltip(column) for column in PLAN.columns()],
        },
        width=CHART_SIDE,
        height=CHART_SIDE,
    )
    missing, texts = [], []
    for record, label in zip(records, labels, strict=True):
        if record[x] is None or record[y] is None:
            names = varied_columns or ("auc", "n_pos")
            missing.append(JOINT.join(f"{one} {label[one]}" for one in names))
            continue
        line = f"{groups.columns[name].title} {record[name]}: " if line_columns else ""
        texts.append(f"{line}{x} {label[x]}, {y} {number_text(record[y])}")
    power = f"Target power {' and '.join(f'{target:.4g}' for target in targets)}" if targets else ""
    result = groups.with_titles(
        chart,
        title=TITLES[y],
        subtitle=sentences(power, not_drawn(missing, MAX_IN_SUBTITLE), end=""),
        description=sentences(
            f"{TITLES[y]} chart, {format_count(len(texts), 'plan')}: "
            f"{inside_sentence(TITLES[y])} against {inside_sentence(TITLES[x])}",
            join_first(texts, separator="; "),
            not_drawn(missing),
        ),
    )
    assert isinstance(result, alt.LayerChart)
    return result


def _roles(values: Mapping[str, Sequence[Any]]) -> tuple[str, str, list[str], list[str]]:
    """Return the column of the x axis, the column of the y axis, and two lists of other columns.

    The first list contains the columns whose values differ between rows. The second list contains
    those of them that distinguish lines.
    """
    varied = {name for name, column in values.items() if len(set(column) - {None}) > 1}
    has_target = any(target is not None for target in values["target"])
    y = "difference" if has_target and "difference" in varied else "power"
    choices = ("n_pos",) if has_target else ("n_pos", "n_neg", "difference")
    x = next((name for name in choices if name in varied), "n_pos")
    varied_columns = [name for name in LINE_COLUMNS if name in varied and name not in (x, y)]
    line_columns = [name for name in varied_columns if not _is_determined(name, x, y, values)]
    return x, y, varied_columns, line_columns


def _is_determined(name: str, x: str, y: str, values: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether a column that varies needs no separate lines.

    This is the case if the chart shows its values on an axis or as dashed lines, or if they can be
    computed from other columns of the plan.
    """
    if name == "auc":
        return "difference" in (x, y)
    if name == "target":
        return y == "power"
    if name not in {"ratio", "n_neg"}:
        return False
    # If one of `ratio` and `n_neg` is constant, it and `n_pos` determine the other.
    other = "n_neg" if name == "ratio" else "ratio"
    n_own, n_other = (len(set(values[side]) - {None}) for side in (name, other))
    return n_other == 1 or (n_own, name) > (n_other, other)


def _texts(values: pl.Series) -> list[str]:
    """Return the values of a column of a plan as text."""
    return distinct_number_texts(values) if values.dtype.is_numeric() else format_values(values)


def _axis_channels(records: Sequence[Mapping[str, Any]], x: str, y: str) -> dict[str, Any]:
    """Return the channels of both axes; the x axis is logarithmic if its range is wide."""
    across = finite(record[x] for record in records)
    wide = bool(across) and min(across) > 0 and max(across) >= LOG_RANGE * min(across)
    x_domain = domain_of([*across, *([] if wide else [0])], (0, 100))
    up = [*(record[y] for record in records), 0]
    y_domain = [0, 1] if y == "power" else domain_of(up)
    x_axis = linear_axis() if x == "difference" else linear_axis(count_ticks(x_domain))
    x_scale = alt.Scale(domain=x_domain, type="log" if wide else "linear", nice=True)
    y_scale = alt.Scale(domain=y_domain, nice=True)
    return {
        "x": alt.X(f"{x}:Q", title=TITLES[x], scale=x_scale, axis=x_axis),
        "y": alt.Y(f"{y}:Q", title=TITLES[y], scale=y_scale, axis=linear_axis()),
    }
