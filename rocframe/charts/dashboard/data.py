"""Data of a dashboard: rows of each curve, and bins of its scores."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.charts.curve_chart import read
from rocframe.charts.groups import Group, areas_of, assigned
from rocframe.charts.labels import field
from rocframe.curves.bins import nice_step, score_bins
from rocframe.curves.table import curve_layout
from rocframe.curves.thinning import evenly_spaced_points, limit_corners, rows_at_levels
from rocframe.errors import BrokenCurveError, OptionValueError
from rocframe.kinds import KINDS
from rocframe.text import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.inputs.roles import By
    from rocframe.options import NotGiven


MOST = 12  # curves: more colors are not told apart, nor are more rows of numbers read

# JSON has no infinity, and Vega's expressions have none: the largest number stands for it.
LARGEST = 1.7976931348623157e308

STEPS = 1000  # of the slider

LONGEST = 32  # characters of a name beside numbers

CLOSE = 7  # significant digits of points between two rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """The thresholds from which one is chosen. `top` is above every finite score."""

    low: float
    high: float
    step: float
    top: float

    @property
    def start(self) -> float:
        """Where the threshold is if nobody says where."""
        step = Decimal(repr(self.step))
        return float(
            Decimal(repr(self.low)) + int((self.high / 2 - self.low / 2) / self.step) * step
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """Curves with a record each, their bins, and their groups as text.

    `color` is the field of the group that has colors. `undefined` names the curves that lack a
    class: they have no record. `left_out` is how many rows of the others the records do not have.
    `shares` says whether all scores are from 0 to 1, `counted` whether all counts are whole.
    """

    records: list[dict[str, Any]]
    bins: list[dict[str, Any]]
    slider: Slider
    shares: bool
    groups: dict[str, Group]
    color: str | None
    captions: dict[str, str]
    undefined: list[str]
    left_out: int
    counted: bool


def linked(table: pl.DataFrame, *, by: By, color: str | NotGiven | None) -> Linked:
    """Read a curve table, and choose what of it is shown."""
    names = curve_layout(table.schema, by, ()).by
    channels = assigned(names, table.columns, color=color, facet=None, detail=())
    curves = read(table, names)
    _check_few(curves, names)
    roc = KINDS["roc"]
    areas = areas_of(curves, roc)
    if areas is None:
        raise BrokenCurveError.of(
            "curves: the last row of a curve does not call all scores positive, so nobody knows "
            "what is below it",
            "Make them without thresholds=: a dashboard shows how all scores are spread.",
        )
    fields = {name: field(place) for place, name in enumerate(names) if len(curves.firsts)}
    groups = {field: Group.of(curves.keys.get_column(name)) for name, field in fields.items()}
    labels = _labels(groups, len(curves.firsts))
    drawn = np.flatnonzero((curves.total("tp", "fn") > 0) & (curves.total("fp", "tn") > 0))
    kept = [choose_rows(curves, int(curve), ROWS // len(drawn)) for curve in drawn]
    keys = {
        int(curve): {"curve": int(curve), "label": labels[curve], "name": _shortened(labels[curve])}
        | {name: group.texts[curve] for name, group in groups.items()}
        for curve in drawn
    }
    bins = score_bins(curves).filter(pl.col("curve").is_in(list(keys)))
    told = None if channels.color is None else fields.get(channels.color)
    return Linked(
        records=[
            key | _record(curves, curve, rows)
            for (curve, key), rows in zip(keys.items(), kept, strict=True)
        ],
        bins=[keys[one["curve"]] | one for one in _spelled(curves, bins)],
        slider=_slider(curves, bins),
        shares=bool(bins.select((pl.col("left") >= 0) & (pl.col("right") <= 1)).to_series().all()),
        groups=groups,
        color=told,
        captions={} if told is None else groups[told].captions(areas, roc),
        undefined=[label for curve, label in enumerate(labels) if curve not in keys],
        left_out=int(np.diff(curves.starts)[drawn].sum()) - sum(map(len, kept)),
        counted=all(curves.columns[name].dtype.kind == "i" for name in ("tp", "fp")),
    )


def _check_few(curves: Curves, names: Sequence[str]) -> None:
    several = len(curves.firsts)
    if several > MOST:
        raise OptionValueError.of(
            "by",
            list(names),
            f"these are {several} curves, and a dashboard shows at most {MOST}",
            "Filter whole groups first, or draw all of them with .roc.chart().",
        )


def _labels(groups: Mapping[str, Group], several: int) -> list[str]:
    """Return the name of each curve: the values of all its groups."""
    texts = [group.texts for group in groups.values()]
    return [", ".join(part[curve] for part in texts) or "all rows" for curve in range(several)]


def _shortened(label: str) -> str:
    """Cut a name in its middle: names that start alike often differ at their ends."""
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 15]}…{label[-14:]}"


def _record(curves: Curves, curve: int, kept: NDArray[np.int64]) -> dict[str, Any]:
    """Return the totals of a curve and its points, in numbers that JSON has."""
    rows, places = walked(curves, curve, kept)
    real = places % 1 == 0
    counts = {
        name: np.where(
            real,
            curves.columns[name][rows],
            np.interp(places, np.arange(len(kept)), curves.columns[name][kept]),
        ).tolist()
        for name in ("tp", "fp")
    }
    return {
        "pos": curves.total("tp", "fn")[curve].item(),
        "neg": curves.total("fp", "tn")[curve].item(),
        # Points between two rows have the threshold of the lower one, where they lead.
        "threshold": [_finite(one) for one in curves.columns["threshold"][rows].tolist()],
        **{name: [_short(one) for one in values] for name, values in counts.items()},
    }


def _finite(threshold: float) -> float | None:
    return None if threshold == inf else max(threshold, -LARGEST)


def _short(count: float) -> float:
    """Return whole numbers as such, and no more digits of others than can be told apart."""
    return int(count) if count % 1 == 0 else float(f"{count:.{CLOSE}g}")


def _spelled(curves: Curves, bins: pl.DataFrame) -> list[dict[str, Any]]:
    """Return bins with their edges as text, and the totals of their curves."""
    edges = {name: words(bins.get_column(name)) for name in ("left", "right")}
    spelled = []
    for place, one in enumerate(bins.to_dicts()):
        left, right = (texts[place] for texts in edges.values())
        below, above = one.pop("below"), one.pop("above")
        text = f"{left} to {right}"
        text = f"below {right}" if below else f"from {left}" if above else text
        spelled.append(
            one
            | {
                "angle": one["left"],
                "bin_pos": one.pop("pos"),
                "bin_neg": one.pop("neg"),
                "scores": "all" if below and above else text,
                "pos": curves.total("tp", "fn")[one["curve"]].item(),
                "neg": curves.total("fp", "tn")[one["curve"]].item(),
            }
        )
    return spelled


def _slider(curves: Curves, bins: pl.DataFrame) -> Slider:
    """Choose the ends of the slider: round numbers around most scores, and above all of them."""
    low, high = (
        bins.select(pl.col("left").min(), pl.col("right").max()).row(0) if len(bins) else (0.0, 1.0)
    )
    threshold = curves.columns["threshold"]
    highest = float(threshold[np.isfinite(threshold)].max(initial=-inf))
    width = high / STEPS - low / STEPS
    step = float(nice_step(width))
    # A slider whose highest value is the highest score could not call nothing positive.
    if high == highest:
        high = float(Decimal(repr(high)) + Decimal(repr(step)))
    return Slider(low=low, high=high, step=step, top=max(high, nextafter(highest, inf)))


ROWS = 2880  # of all curves together; curves that have no more than their part keep all

CORNERS = 80  # of each of two lines

TOLERANCE = 1 / 1000  # of an axis, as far as CORNERS are enough

BETWEEN = 60  # points of a curve that are no rows

# Of a class: rows between which no count passes one of them are looked at no closer.
SHARES = np.concatenate([np.geomspace(1e-5, 0.01, 500), np.linspace(0.01, 1, 1500)[1:]])

NEAR = 1 / 200  # rows that are this close need no points between them


def choose_rows(curves: Curves, curve: int, most: int) -> NDArray[np.int64]:
    """Return about so many rows of a curve, or all if there are no more.

    They are the corners of its ROC and precision-recall lines, and others evenly along the way.
    """
    start, end = curves.starts[curve], curves.starts[curve + 1]
    if end - start <= most:
        return np.arange(start, end)
    tp, fp = (curves.columns[name][start:end] for name in ("tp", "fp"))
    pos, neg = (float(curves.total(*names)[curve]) for names in (("tp", "fn"), ("fp", "tn")))
    rows = rows_at_levels(len(tp), lambda: [(tp, pos * SHARES), (fp, neg * SHARES)])
    up, across = tp[rows] / pos, fp[rows] / neg
    called = np.maximum(tp[rows] + fp[rows], 1e-300)
    ends = np.array([0, len(rows)])
    precision = tp[rows] / called
    first, second = (
        limit_corners(x, y, ends, TOLERANCE, most=CORNERS, factor=1.5)[0]
        for x, y in ((across, up), (up, precision))
    )
    kept = first | second
    spare = np.array([max(most - int(kept.sum()), 0)])
    kept |= evenly_spaced_points(across, up, ends, spare, corners=kept)
    chosen: NDArray[np.int64] = start + rows[kept]
    return chosen


def walked(
    curves: Curves, curve: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return places along some rows of a curve, from 0: at each row, and at points between.

    Between two rows everything is linear in tp and fp, which is no straight line in
    precision-recall. The first result is the row that comes at or after each place.
    """
    pos, neg = (float(curves.total(*names)[curve]) for names in (("tp", "fn"), ("fp", "tn")))
    up = np.diff(curves.columns["tp"][rows]) / pos
    across = np.diff(curves.columns["fp"][rows]) / neg
    # Straight are also the lines of steps, and those from where nothing is called.
    bend = np.minimum(up, across)
    bend[
        (bend < NEAR) | (curves.columns["tp"][rows[:-1]] + curves.columns["fp"][rows[:-1]] == 0)
    ] = 0
    added = np.floor(bend / max(bend.sum(), NEAR) * BETWEEN).astype(np.int64)
    first = np.repeat(np.arange(len(added)), added)
    number = np.arange(len(first)) - np.repeat(np.cumsum(added) - added, added) + 1
    # Closer together near the upper row, where precision bends most.
    share = (number / (added[first] + 1)) ** 2
    places = np.sort(np.concatenate([np.arange(len(rows)), first + share]))
    return rows[np.ceil(places).astype(np.int64)], places
