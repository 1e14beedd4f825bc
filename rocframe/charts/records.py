"""Drawn paths → the data of a chart: a record per curve, its points as lists."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from rocframe.charts.clip import BETWEEN
from rocframe.charts.plane import measured

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocframe.charts.lines import Lines
    from rocframe.curves.kinds import Kind
    from rocframe.curves.table import Curves

POINTS = ("threshold", "x", "y", "tp", "fp")


def records_of(lines: Lines, curves: Curves, kind: Kind) -> list[dict[str, Any]]:
    """Return for each curve its totals and its points, in numbers that JSON has.

    Points between two rows of the table have neither threshold nor counts. The totals are those
    of curves that are drawn.
    """
    path = lines.path
    real = (path.row != BETWEEN).tolist()
    walk = {
        name: [
            _exact(value) if known else None
            for value, known in zip(curves.walk[name][path.row].tolist(), real, strict=True)
        ]
        for name in ("threshold", "tp", "fp")
    }
    x, y = (_rounded(rate.tolist()) for rate in (lines.x, lines.y))
    points: dict[str, list[Any]] = {**walk, "x": x, "y": y}
    totals = {
        "pos": [_exact(value) for value in curves.total("tp", "fn").tolist()],
        "neg": [_exact(value) for value in curves.total("fp", "tn").tolist()],
    }
    prevalence = _rounded(measured(path, kind, "prevalence").tolist())
    records = []
    for curve, (start, end) in enumerate(zip(path.starts[:-1], path.starts[1:], strict=True)):
        record: dict[str, Any] = {"curve": curve}
        record |= {name: values[curve] for name, values in totals.items()}
        record["prevalence"] = prevalence[start] if end > start else None
        record |= {name: values[start:end] for name, values in points.items()}
        records.append(record)
    return records


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.7g}") for value in values]


def _exact(value: float) -> float | str | None:
    """Round what is no count, nor counts something as seconds do; JSON has no infinity."""
    if value in (inf, -inf):
        return None if value > 0 else "-inf"
    return value if isinstance(value, int) or abs(value) >= 1e7 else float(f"{value:.7g}")


def numbers(values: Iterable[float | str]) -> list[float | str | None]:
    """Return values in numbers that JSON has, and text as it is."""
    return [value if isinstance(value, str) else _exact(value) for value in values]
