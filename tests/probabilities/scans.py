"""Scans of groups of scores and labels, and the rows of each group, for tests of their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.inputs.cases import Cases
from rocframe.kernel.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows = list[tuple[int, float, bool]]  # group, score, label


def scan_of(
    group: Sequence[int],
    score: Sequence[float],
    positive: Sequence[bool],
    weight: Any = None,
    count: Any = None,
) -> Scan:
    cases = Cases(
        model=None,
        keys=pl.DataFrame({"0": group}),
        negative=~np.array(positive, bool),
        score=np.array(score, float),
        state=None,
        count=count,
        weight=weight,
    )
    return Scan.from_cases(cases)


def scan_of_rows(rows: Rows, weight: Any = None) -> Scan:
    return scan_of(*zip(*rows, strict=True), weight)


def by_group(rows: Rows) -> list[list[tuple[float, bool]]]:
    """Return the scores and labels of each group."""
    groups = sorted({group for group, _, _ in rows})
    return [[(p, y) for other, p, y in rows if other == group] for group in groups]
