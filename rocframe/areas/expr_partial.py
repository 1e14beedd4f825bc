"""Rows → the area over a part of the curve, as `partial.py` has it, in an expression.

References
----------
D. K. McClish (1989), "Analyzing a portion of the ROC curve", Medical Decision Making 9(3),
190-195. doi:10.1177/0272989X8900900307
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.areas.expr_steps import FP, FP0, NEG, POS, TP, TP0, both_classes, field, record, steps

if TYPE_CHECKING:
    from rocframe.areas.expr_rows import Rows
    from rocframe.areas.part import Part


def partial_auc(rows: Rows, part: Part) -> pl.Expr:
    """Return the integral of TPR over an FPR range, or of 1 - FPR over a TPR range."""
    a, b = part.ends
    x0, x1, y0, y1 = (field(name) for name in ("x0", "x1", "y0", "y1"))
    left, right = x0.clip(a, b), x1.clip(a, b)
    # A step's line at the middle of what the range leaves of it.
    along = ((left + right) / 2 - x0) / (x1 - x0)
    height = y0 + along.clip(0, 1) * (y1 - y0)
    area = pl.when(right > left).then((right - left) * height).otherwise(0).sum()
    if part.mcclish:
        area = (area - part.chance) * part.slope + 0.5
    # Without rows of a class the axes are null (0/0 is not divided), and so is the area.
    whole = x0.is_not_null().any() & y0.is_not_null().any()
    return _axes(rows, part).list.agg(pl.when(whole).then(area))


def _axes(rows: Rows, part: Part) -> pl.Expr:
    """Return the steps as rates: of the curve itself, or mirrored for a TPR range."""
    x0, x1, y0, y1 = FP0 / NEG, FP / NEG, TP0 / POS, TP / POS
    if part.rate == "tpr":
        x0, x1, y0, y1 = 1 - y1, 1 - y0, 1 - x1, 1 - x0
    axes = {"x0": x0, "x1": x1, "y0": y0, "y1": y1}
    return steps(rows).list.eval(record(**{k: both_classes(axis) for k, axis in axes.items()}))
