"""Data of what is drawn beside curves: hulls, ties, cost lines and marked points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.areas.area import areas_of_ties
from rocframe.charts.axes import measured, rates
from rocframe.charts.curve_data import BETWEEN, POINTS, bent, drawn_on, numbers, records_of
from rocframe.curves.at import operating_points
from rocframe.curves.hull import hull_vertices, lowest_cost
from rocframe.errors import BrokenCurveError, ColumnTypeError, MissingColumnError, OptionValueError
from rocframe.frames import column
from rocframe.options import to_floats
from rocframe.rates import CONFUSION
from rocframe.schemas import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.charts.axes import Plane
    from rocframe.charts.chart import Asked
    from rocframe.charts.curve_data import Path
    from rocframe.charts.groups import Group
    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind

    Points: TypeAlias = "float | Sequence[float] | pl.Series | pl.DataFrame"
    Mark: TypeAlias = "Points | Mapping[str, Points] | None"


# The kinds that can be drawn with an option.
HAVING = {
    "hull": ("roc", "gain", "lift_chart"),
    "costs": ("roc",),
    "prevalence": ("roc",),
    "ties": ("roc", "gain", "lift_chart"),
}

MOST = 10  # values that a description lists


def parts_of(scene: Scene, asked: Asked) -> list[dict[str, Any]]:
    """Return records of all that was asked for beside the curves."""
    kind = scene.plane.kind
    for option in HAVING:
        value = getattr(asked, option)
        if option in {"hull", "ties"}:
            _check_switch(option, value)
        if value is not None and value is not False:
            _check_kind(option, value, kind)
    parts = []
    if asked.ties:
        parts += ties(scene)
    if asked.hull:
        parts += hulls(scene)
    if asked.costs is not None or asked.prevalence is not None:
        parts += equal_costs(scene, asked.costs, asked.prevalence)
    return [*parts, *marks(scene, asked.mark)]


def _check_switch(option: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionValueError.of(option, value, "it is neither True nor False", "Give one.")


def _check_kind(option: str, value: object, kind: Kind) -> None:
    having = HAVING[option]
    if kind.name in having:
        return
    wrong = f"{kind.title} charts cannot show it"
    todo = f"Those of kind={', '.join(map(repr, having))} can. Leave it out."
    raise OptionValueError.of(option, value, wrong, todo)


def describe_overlays(curves: Curves, told: Group | None, asked: Asked) -> str:
    """Say what stands beside the curves, for those who cannot see it."""
    said = ""
    if asked.ties:
        said += _between(curves, told)
    if asked.hull:
        said += " Thin dashed lines are convex hulls."
    if asked.costs is not None or asked.prevalence is not None:
        said += " A thin line of equal expected cost touches each curve."
    if asked.mark is not None:
        names = [name for name in named(asked.mark) if name is not None]
        said += f" Points are marked: {', '.join(names)}." if names else " Points are marked."
    return said


def _between(curves: Curves, told: Group | None) -> str:
    """Say between which two areas the order of tied rows could move each."""
    try:
        _, low, high = areas_of_ties(curves)
    except BrokenCurveError:  # made with thresholds=, and so without its end
        return ""
    values = [""] * len(low) if told is None else told.texts
    here: dict[str, list[tuple[float, float]]] = {}
    for value, *ends in zip(values, low.tolist(), high.tolist(), strict=True):
        if not isnan(ends[0]):
            here.setdefault(value, []).append((ends[0], ends[1]))
    listed = [
        f"{value} {fmean(a for a, _ in ends):.3f} to {fmean(b for _, b in ends):.3f}".strip()
        for value, ends in here.items()
    ]
    more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
    what = "areas" if told is None or len(set(told.places)) == len(told.places) else "mean areas"
    if not listed:
        return ""
    return f" Depending on the order of ties, ROC {what} are {', '.join(listed[:MOST])}{more}."


EMPTY, HULL = "empty", "hull"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """Curves on a plane. The path has the rows that matter, of those that can be drawn."""

    plane: Plane
    curves: Curves
    path: Path

    @property
    def drawn(self) -> NDArray[np.bool_]:
        """Which curves are drawn."""
        return np.diff(self.path.starts) > 0

    @property
    def curve(self) -> NDArray[np.int64]:
        """The curve of each row of the table."""
        return np.repeat(np.arange(len(self.curves.firsts)), np.diff(self.curves.starts))

    def traced(self, part: str, path: Path) -> list[dict[str, Any]]:
        """Return the points that draw a path beside the curves, as a curve is drawn."""
        every = records_of(drawn_on(self.plane, path), self.curves, self.plane.kind)
        names = ("curve", *POINTS)
        return [
            {**{name: record[name] for name in names}, "part": part}
            for record in every
            if record["x"]
        ]

    def through(self, chosen: NDArray[np.int64]) -> Path:
        """Return the path through some rows of the curves that are drawn."""
        curve = self.curve[chosen]
        seen = self.drawn[curve]
        row = chosen[seen]
        tp, fp = (self.curves.columns[name][row].astype(np.float64) for name in ("tp", "fp"))
        return replace(self.path, curve=curve[seen], row=row, tp=tp, fp=fp)


def hulls(scene: Scene) -> list[dict[str, Any]]:
    """Return the upper convex hull of each curve."""
    walk = scene.curves.columns
    kept = hull_vertices(walk["tp"], walk["fp"], scene.curves.starts)
    return scene.traced(HULL, scene.through(np.flatnonzero(kept)))


TIE = "tie"

LEAST = 1 / 800  # of an axis: what is thinner hides behind the line

# A tie with its positives first, and with its negatives first, and round: shares of tp and fp.
ROUND = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))


def ties(scene: Scene) -> list[dict[str, Any]]:
    """Return a shape for each step of each curve that is tied and wide enough to be seen."""
    curves, plane = scene.curves, scene.plane
    tp, fp = (curves.columns[name].astype(np.float64) for name in ("tp", "fp"))
    curve = scene.curve
    at = np.flatnonzero(
        (curve[1:] == curve[:-1]) & (tp[1:] > tp[:-1]) & (fp[1:] > fp[:-1]) & scene.drawn[curve[1:]]
    )
    ends = [
        plane.place(
            replace(scene.path, curve=curve[at], row=at, tp=tp[at + up], fp=fp[at + across])
        )
        for up, across in ROUND[:4]
    ]
    spread = [np.ptp([corner[axis] for corner in ends], axis=0) for axis in (0, 1)]
    at = at[np.minimum(*spread) >= LEAST]
    corners = [(tp[at + up], fp[at + across]) for up, across in ROUND]
    # Each shape is a line of its own, round and back to its start.
    shapes = replace(
        scene.path,
        curve=np.repeat(np.arange(len(at)), len(ROUND)),
        row=np.full(len(at) * len(ROUND), BETWEEN),
        tp=np.stack([up for up, _ in corners], 1).ravel(),
        fp=np.stack([across for _, across in corners], 1).ravel(),
        pos=scene.path.pos[curve[at]],
        neg=scene.path.neg[curve[at]],
    )
    if plane.bends:
        shapes = bent(plane, shapes)
    x, y = rates(plane.kind, shapes)
    x, y = np.maximum(x, plane.x.low), np.clip(y, plane.y.low, plane.y.high)
    if plane.x.deviate:
        x = np.minimum(x, plane.x.high)
    owner = curve[at][shapes.curve]
    return [
        {
            "curve": i,
            "part": TIE,
            "box": shapes.curve[owner == i].tolist(),
            "threshold": [],
            "x": numbers(x[owner == i].tolist()),
            "y": numbers(y[owner == i].tolist()),
            "tp": [],
            "fp": [],
        }
        for i in np.unique(owner).tolist()
    ]


EQUAL_COST, TOUCHED = "equal cost", "touched"


def equal_costs(
    scene: Scene, costs: Mapping[str, float] | None, prevalence: float | None
) -> list[dict[str, Any]]:
    """Return the line of each curve, as far as one sees it, and the row that it touches."""
    best = lowest_cost(scene.curves, costs, prevalence)
    walk, path = scene.curves.columns, scene.path
    curves: list[int] = []
    ends: list[tuple[float, float]] = []
    touched = []
    for i in np.flatnonzero(scene.drawn & (best.row >= 0)).tolist():
        row = best.row[i]
        tp, fp = walk["tp"][row].item(), walk["fp"][row].item()
        at = (fp / path.neg[i], tp / path.pos[i])
        for x, y in through(scene.plane, at, (best.run[i], best.rise[i])):
            curves.append(i)
            ends.append((y * path.pos[i], x * path.neg[i]))
        touched.append(
            {
                "curve": i,
                "part": TOUCHED,
                "pos": path.pos[i].item(),
                "neg": path.neg[i].item(),
                "cost": float(f"{best.cost[i]:.7g}"),
                "threshold": numbers([walk["threshold"][row].item()]),
                "x": numbers([at[0]]),
                "y": numbers([at[1]]),
                "tp": numbers([tp]),
                "fp": numbers([fp]),
            }
        )
    tp_fp = np.array(ends, float).reshape(-1, 2)
    line = replace(
        path,
        curve=np.array(curves, np.int64),
        row=np.full(len(curves), BETWEEN),
        tp=tp_fp[:, 0],
        fp=tp_fp[:, 1],
    )
    seen = [one for one in touched if scene.plane.shows(one["x"][0], one["y"][0])]
    return [*scene.traced(EQUAL_COST, line), *seen]


def through(
    plane: Plane, at: tuple[float, float], step: tuple[float, float]
) -> list[tuple[float, float]]:
    """Return the two ends of a line that falls nowhere, cut at the axes; none if it is a point."""
    enter, leave = -inf, inf
    for side, place, way in zip((plane.x, plane.y), at, step, strict=True):
        low, high = (side.low, side.high) if side.endless else (0.0, 1.0)
        if way > 0:
            enter, leave = max(enter, (low - place) / way), min(leave, (high - place) / way)
        elif not low <= place <= high:
            return []
    if leave <= enter:
        return []
    ends = ([place + t * way for place, way in zip(at, step, strict=True)] for t in (enter, leave))
    return [(_share(x), _share(y)) for x, y in ends]


def _share(rate: float) -> float:
    return min(max(round(rate, 15), 0.0), 1.0)


MARK = "mark"

MOST_MARKS = 6  # names that shapes tell apart

CURVE = "(curve)"  # no group column in front of these has the name: they are aliased first

GIVE = "Give thresholds, a table from at(), or a mapping from names to either."


def marks(scene: Scene, mark: Mark) -> list[dict[str, Any]]:
    """Return the points of each curve and name that are in the picture."""
    found = []
    for name, points in named(mark).items():
        table = points_of(scene.curves, points)
        found += [
            one | {MARK: name}
            for one in _placed(scene, table.filter(pl.col(CURVE).is_in(_shown(scene))))
        ]
    return found


def named(mark: Mark) -> dict[str | None, Points]:
    """Read `mark`: points without a name, or points by name."""
    if not isinstance(mark, Mapping):
        return {} if mark is None else {None: mark}
    names: list[object] = list(mark)
    for name in names:
        if not isinstance(name, str) or not name:
            raise OptionValueError.of("mark", name, "it is no name", "Name points by text.")
    if not 0 < len(mark) <= MOST_MARKS:
        wrong = f"there are {len(mark)} names, and shapes tell 1 to {MOST_MARKS} apart"
        raise OptionValueError.of("mark", list(mark), wrong, "Draw the others in a second chart.")
    every: dict[str | None, Points] = {}
    every.update(mark.items())
    return every


def points_of(curves: Curves, points: Points) -> pl.DataFrame:
    """Return points with the number of their curve, their threshold and their counts."""
    if not isinstance(points, pl.DataFrame):
        values = None if isinstance(points, pl.LazyFrame) else to_floats(points)
        if values is None or any(map(isnan, values)):
            wrong = "it is neither thresholds nor a collected table of points"
            raise OptionValueError.of("mark", points, wrong, GIVE)
        rows = operating_points(curves, "threshold", values)
        curve = np.repeat(np.arange(len(curves.firsts)), len(values))
        return rows.select(pl.Series(CURVE, curve, pl.Int64), THRESHOLD, *CONFUSION)
    keys = curves.keys
    for name in (*keys.columns, THRESHOLD, *CONFUSION):
        if name not in points.columns:
            raise MissingColumnError.of("mark", name, points.columns)
    for name, dtype in keys.schema.items():
        if points.schema[name] != dtype:
            todo = f"In the curves it is {dtype}: cast one of them."
            raise ColumnTypeError.of("mark", name, points.schema[name], todo)
    rows = points.select(
        *(column(name).alias(f"k{i}") for i, name in enumerate(keys.columns)),
        THRESHOLD,
        *CONFUSION,
    ).drop_nulls(CONFUSION)
    hidden = [f"k{i}" for i in range(keys.width)]
    if not hidden:
        return _checked(
            curves, rows.select(pl.lit(0, pl.Int64).alias(CURVE), THRESHOLD, *CONFUSION)
        )
    numbered = keys.select(column(name).alias(f"k{i}") for i, name in enumerate(keys.columns))
    numbered = numbered.with_row_index(CURVE).with_columns(pl.col(CURVE).cast(pl.Int64))
    found = rows.join(numbered, on=hidden, how="inner", nulls_equal=True, maintain_order="left")
    if rows.height and not found.height:
        wrong = "none of its groups is one of the curves"
        raise OptionValueError.of("mark", points.columns, wrong, "Mark points of these curves.")
    return _checked(curves, found.select(CURVE, THRESHOLD, *CONFUSION))


def _checked(curves: Curves, points: pl.DataFrame) -> pl.DataFrame:
    """Check that points are of the same cases as their curves."""
    curve = points.get_column(CURVE).to_numpy()
    for one, other in (("tp", "fn"), ("fp", "tn")):
        total = curves.total(one, other)[curve]
        own = (points.get_column(one) + points.get_column(other)).to_numpy()
        off = np.abs(own - total) > 1e-9 * total
        if off.any():
            i = int(np.flatnonzero(off)[0])
            wrong = f"a point has {one} + {other} = {own[i]:g}, and its curve {total[i]:g}"
            raise OptionValueError.of("mark", points.columns, wrong, "Mark points of these curves.")
    return points


def _shown(scene: Scene) -> list[int]:
    found: list[int] = np.flatnonzero(scene.drawn).tolist()
    return found


def _placed(scene: Scene, points: pl.DataFrame) -> list[dict[str, Any]]:
    ordered = points.sort(CURVE, maintain_order=True)
    curve = ordered.get_column(CURVE).to_numpy()
    tp, fp = (ordered.get_column(name).cast(pl.Float64).to_numpy() for name in ("tp", "fp"))
    path = replace(scene.path, curve=curve, row=np.zeros(len(curve), np.int64), tp=tp, fp=fp)
    x, y = (measured(path, scene.plane.kind, side.name) for side in (scene.plane.x, scene.plane.y))
    threshold = [
        "between two" if value is None else inf if value == inf else value
        for value in ordered.get_column(THRESHOLD).to_list()
    ]
    found = []
    for i in np.unique(curve).tolist():
        here = [at for at in np.flatnonzero(curve == i).tolist() if scene.plane.shows(x[at], y[at])]
        if here:
            found.append(
                {
                    "curve": i,
                    "part": MARK,
                    "pos": scene.path.pos[i].item(),
                    "neg": scene.path.neg[i].item(),
                    **{
                        name: numbers([values[at] for at in here])
                        for name, values in (
                            ("threshold", threshold),
                            ("x", x.tolist()),
                            ("y", y.tolist()),
                            ("tp", ordered.get_column("tp").to_list()),
                            ("fp", ordered.get_column("fp").to_list()),
                        )
                    },
                }
            )
    return found
