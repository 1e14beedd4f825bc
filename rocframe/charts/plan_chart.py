"""Plans → one Altair chart: power, or the difference that is found, against the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.curve_layers import framed, held, side_of
from rocframe.charts.dot_plot import JOINT
from rocframe.charts.labels import columns_told, domain_of, finite, not_drawn, plain, said
from rocframe.charts.style import CHANCE, COLORS, GRID, color_scale
from rocframe.schemas import PLAN

if TYPE_CHECKING:
    import polars as pl

    from rocframe.charts.chart import Asked
    from rocframe.schemas import Table


FEW, MOST = 3, 10  # rows that a subtitle and a description list

WIDE = 100  # times the least: from there on numbers of rows are told apart on a logarithmic axis

# What tells lines apart.
ASKED = (
    *("auc", "null", "auc_b", "correlation", "alpha", "alternative", "variance", "se_at"),
    *("target", "ratio", "n_neg"),
)

TITLES = {
    "n_pos": "Positives",
    "n_neg": "Negatives",
    "difference": "Difference of AUC",
    "power": "Power",
}

RATIO = {"ratio", "n_neg"}

LINE = "line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Plans on two axes: a record each, and which line it is on."""

    x: str
    y: str
    title: str
    lines: tuple[str, ...]
    records: list[dict[str, Any]]

    @property
    def missing(self) -> list[str]:
        """Say what was asked for where nothing was found."""
        return [record["asked"] for record in self.records if not _placed(record, self.x, self.y)]


def plan_chart(table: pl.DataFrame, _found: Table, _asked: Asked) -> alt.LayerChart:
    """Draw a table of plans."""
    plans = _pictured(table)
    targets = sorted({record["target"] for record in plans.records} - {None})
    layers = [_line(plans), _dots(plans)]
    if plans.y == "power":
        layers += [
            alt.Chart(alt.InlineData(values=[{}])).mark_rule(**CHANCE).encode(y=alt.datum(target))
            for target in targets
        ]
    side = side_of(None)
    chart = alt.LayerChart(layer=layers, data=held(plans.records), width=side, height=side)
    aimed = f"power {' and '.join(f'{target:.4g}' for target in targets)}" if targets else ""
    whole = framed(
        chart,
        title=TITLES[plans.y],
        subtitle="; ".join(filter(None, (aimed, not_drawn(plans.missing, FEW)))),
        description=_described(plans),
        panel=None,
        groups={},
        captions={},
    )
    assert isinstance(whole, alt.LayerChart)
    return whole


def _pictured(table: pl.DataFrame) -> Plans:
    """Choose the axes that vary, and what tells the lines between them apart."""
    values = {name: plain(table.get_column(name)) for name in PLAN.signature}
    varied = {name for name, column in values.items() if len(set(column) - {None}) > 1}
    aimed = any(target is not None for target in values["target"])
    y = "difference" if aimed and "difference" in varied else "power"
    choices = ("n_pos",) if aimed else ("n_pos", "n_neg", "difference")
    x = next((name for name in choices if name in varied), "n_pos")
    asked = [name for name in ASKED if name in varied and name not in (x, y)]
    told = [name for name in asked if not _follows(name, x, y, values)]
    records = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    for record in records:
        record[LINE] = JOINT.join(_word(record[name]) for name in told)
        record["asked"] = JOINT.join(
            f"{name} {_word(record[name])}" for name in asked or ("auc", "n_pos")
        )
    return Plans(
        x=x,
        y=y,
        title=JOINT.join(told),
        lines=tuple(dict.fromkeys(record[LINE] for record in records)),
        records=records,
    )


def _follows(name: str, x: str, y: str, values: dict[str, list[Any]]) -> bool:
    """Say whether what was asked for is on an axis already, or follows from what is."""
    if name == "auc":
        return "difference" in (x, y)
    if name == "target":
        return y == "power"
    if name in RATIO:  # where one of them is the same for all plans, the other follows from it
        one, other = (len(set(values[side]) - {None}) for side in (name, *(RATIO - {name})))
        return other == 1 or (one, name) > (other, *(RATIO - {name}))
    return False


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)


def _placed(record: dict[str, Any], x: str, y: str) -> bool:
    return record[x] is not None and record[y] is not None


def _position(plans: Plans) -> dict[str, Any]:
    """Return the two axes."""
    across = finite(record[plans.x] for record in plans.records)
    far = bool(across) and min(across) > 0 and max(across) >= WIDE * min(across)
    up = [*(record[plans.y] for record in plans.records), 0]
    axis: dict[str, Any] = {"grid": True, "gridColor": GRID, "tickCount": 5}
    x_scale = alt.Scale(
        domain=domain_of([*across, *([] if far else [0])], (0, 100)),
        type="log" if far else "linear",
        nice=True,
    )
    tall = [0, 1] if plans.y == "power" else domain_of(up)
    return {
        "x": alt.X(f"{plans.x}:Q", title=TITLES[plans.x], scale=x_scale, axis=alt.Axis(**axis)),
        "y": alt.Y(
            f"{plans.y}:Q",
            title=TITLES[plans.y],
            scale=alt.Scale(domain=tall, nice=True),
            axis=alt.Axis(**axis),
        ),
    }


def _color(plans: Plans) -> Any:
    if len(plans.lines) < 2:
        return alt.value(COLORS[0])
    legend = alt.Legend(title=plans.title, labelLimit=0, symbolOpacity=1)
    return alt.Color(f"{LINE}:N", scale=color_scale(plans.lines), legend=legend)


def _line(plans: Plans) -> alt.Chart:
    drawn = alt.Chart().mark_line(strokeWidth=2).transform_filter(_there(plans))
    layer: alt.Chart = drawn.encode(
        **_position(plans), color=_color(plans), detail=f"{LINE}:N", order=f"{plans.x}:Q"
    )
    return layer


def _dots(plans: Plans) -> alt.Chart:
    dots = alt.Chart().mark_point(filled=True, size=60, opacity=1).transform_filter(_there(plans))
    layer: alt.Chart = dots.encode(
        **_position(plans), color=_color(plans), tooltip=columns_told(PLAN.signature)
    )
    return layer


def _there(plans: Plans) -> str:
    return f"isValid(datum.{plans.x}) && isValid(datum.{plans.y})"


def _described(plans: Plans) -> str:
    """Say what a chart shows, for those who cannot see it."""
    x, y = plans.x, plans.y
    there = [record for record in plans.records if _placed(record, x, y)]
    count = "1 plan" if len(there) == 1 else f"{len(there)} plans"
    text = f"{TITLES[y]} chart, {count}: {TITLES[y].lower()} against {TITLES[x].lower()}."
    told = [
        f"{f'{plans.title} {record[LINE]}: ' if plans.title else ''}"
        f"{x} {_word(record[x])}, {y} {said(record[y])}"
        for record in there[:MOST]
    ]
    more = f" And {len(there) - MOST} more." if len(there) > MOST else ""
    text += f" {'; '.join(told)}.{more}" if told else ""
    missing = not_drawn(plans.missing, MOST)
    return f"{text} {missing[0].upper()}{missing[1:]}." if missing else text
