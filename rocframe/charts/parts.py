"""What is drawn beside curves → records like those of the curves, told apart by their `part`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.charts.lines import drawn_on
from rocframe.charts.records import POINTS, records_of
from rocframe.curves.vertices import vertices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.charts.path import Path
    from rocframe.charts.plane import Plane
    from rocframe.curves.table import Curves

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
        tp, fp = (self.curves.walk[name][row].astype(np.float64) for name in ("tp", "fp"))
        return replace(self.path, curve=curve[seen], row=row, tp=tp, fp=fp)


def hulls(scene: Scene) -> list[dict[str, Any]]:
    """Return the upper convex hull of each curve."""
    walk = scene.curves.walk
    kept = vertices(walk["tp"], walk["fp"], scene.curves.starts)
    return scene.traced(HULL, scene.through(np.flatnonzero(kept)))
