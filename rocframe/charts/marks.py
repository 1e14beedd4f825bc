"""Operating points that somebody wants to see → points of the curves, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, isnan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.charts.plane import measured
from rocframe.charts.records import numbers
from rocframe.curves.points import nearest
from rocframe.errors import ColumnTypeError, MissingColumnError, OptionValueError
from rocframe.frames import column
from rocframe.options import as_numbers
from rocframe.vocabulary import CONFUSION, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.parts import Scene
    from rocframe.curves.table import Curves

    Points: TypeAlias = "float | Sequence[float] | pl.Series | pl.DataFrame"
    Mark: TypeAlias = "Points | Mapping[str, Points] | None"

MARK = "mark"
MOST = 6  # names that shapes tell apart
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
    if not 0 < len(mark) <= MOST:
        wrong = f"there are {len(mark)} names, and shapes tell 1 to {MOST} apart"
        raise OptionValueError.of("mark", list(mark), wrong, "Draw the others in a second chart.")
    every: dict[str | None, Points] = {}
    every.update(mark.items())
    return every


def points_of(curves: Curves, points: Points) -> pl.DataFrame:
    """Return points with the number of their curve, their threshold and their counts."""
    if not isinstance(points, pl.DataFrame):
        values = None if isinstance(points, pl.LazyFrame) else as_numbers(points)
        if values is None or any(map(isnan, values)):
            wrong = "it is neither thresholds nor a collected table of points"
            raise OptionValueError.of("mark", points, wrong, GIVE)
        rows = nearest(curves, "threshold", values)
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
