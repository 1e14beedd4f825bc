"""Tied rows → what their order might make of a curve: the area between its two extremes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.charts.clip import BETWEEN
from rocframe.charts.lines import bent
from rocframe.charts.plane import rates
from rocframe.charts.records import numbers

if TYPE_CHECKING:
    from rocframe.charts.parts import Scene

TIE = "tie"
LEAST = 1 / 800  # of an axis: what is thinner hides behind the line
# A tie with its positives first, and with its negatives first, and round: shares of tp and fp.
ROUND = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))


def ties(scene: Scene) -> list[dict[str, Any]]:
    """Return a shape for each step of each curve that is tied and wide enough to be seen."""
    curves, plane = scene.curves, scene.plane
    tp, fp = (curves.walk[name].astype(np.float64) for name in ("tp", "fp"))
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
