"""Costs of errors → the line of equal expected cost that touches each ROC curve."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.charts.clip import BETWEEN
from rocframe.charts.records import numbers
from rocframe.curves.cheapest import cheapest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocframe.charts.parts import Scene
    from rocframe.charts.plane import Plane

EQUAL_COST, TOUCHED = "equal cost", "touched"


def equal_costs(
    scene: Scene, costs: Mapping[str, float] | None, prevalence: float | None
) -> list[dict[str, Any]]:
    """Return the line of each curve, as far as one sees it, and the row that it touches."""
    best = cheapest(scene.curves, costs, prevalence)
    walk, path = scene.curves.walk, scene.path
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
