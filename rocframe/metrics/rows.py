"""What the rows of the table of metrics are about, and what is found for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.curves.at import Axis
    from rocframe.inference.intervals import Confidence
    from rocframe.metrics.asked import Metric


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wanted:
    """Which metrics, where on the curve, and how sure."""

    metrics: Sequence[Metric]
    axis: Axis | None
    values: Sequence[float]
    confidence: Confidence

    @property
    def rows(self) -> list[tuple[Metric, int | None]]:
        """The rows of each group: a metric, and the place of the value it is worked out at."""
        places = range(len(self.values))
        return [
            (metric, place)
            for metric in self.metrics
            for place in ([None] if metric.whole is not None else places)
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """What is known of each row (first axis) and group (second); NaN and None where nothing is."""

    estimate: NDArray[np.float64]
    threshold: NDArray[np.float64]
    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    method: NDArray[np.object_]
    flat: NDArray[np.bool_]
    lost: NDArray[np.int64]

    @classmethod
    def nothing(cls, shape: tuple[int, int]) -> Found:
        """Make room for what will be found."""
        empty = {
            name: np.full(shape, np.nan)
            for name in ("estimate", "threshold", "se", "lower", "upper")
        }
        return cls(
            **empty,
            method=np.full(shape, None, object),
            flat=np.zeros(shape, bool),
            lost=np.zeros(shape, np.int64),
        )
