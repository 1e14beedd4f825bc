"""Walks → resamples of each group → standard errors and limits of all its rows.

Statistics of TPR and FPR alone share the resamples that keep the sizes of the classes; those that
depend on how many positives there are per negative share resamples that do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rocframe.counting.resample import Asked, resampled
from rocframe.inference.bootstrap import acceleration, spread_of
from rocframe.metrics.matrices import influence_at, rates_at, stacked
from rocframe.vocabulary import WALK

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.areas.influence import Both
    from rocframe.counting.resample import Draws, Resampled, Sample
    from rocframe.counting.walk import Walk
    from rocframe.metrics.asked import Metric
    from rocframe.metrics.points import Where
    from rocframe.metrics.rows import Found, Wanted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resampling:
    """What is asked of the resamples, and where the answers go.

    `enough` says which groups have two rows, or clusters, of each class: what is made of one row
    shows no spread. At a threshold that was given that does no harm to the other class.
    """

    wanted: Wanted
    where: Where | None
    found: Found
    enough: NDArray[np.bool_]

    @property
    def _whole(self) -> list[Metric]:
        return [metric for metric in self.wanted.metrics if metric.whole is not None]

    @property
    def _at_points(self) -> dict[bool, list[Metric]]:
        """The metrics at points, by whether they depend on how many positives there are."""
        sets: dict[bool, list[Metric]] = {}
        for metric in self.wanted.metrics:
            if metric.whole is None:
                mixed = metric.mixed or self.wanted.axis == "alert_rate"
                sets.setdefault(mixed, []).append(metric)
        return sets

    def run(self, walk: Walk, draws: Draws) -> None:
        """Fill in what the resamples show."""
        asked = [metric.whole.asked for metric in self._whole if metric.whole is not None]
        where = self.where
        if where is not None:
            # Resamples lack scores; which are left is looked up where a metric asks.
            scores = any(metric.reads_threshold for metric in self.wanted.metrics)

            def points(sample: Sample) -> NDArray[np.float64]:
                return stacked(where.at(sample, scores=scores))

            width = len(WALK) * len(where.values)
            asked += [
                Asked(function=points, mixed=mixed, corners=False, width=width)
                for mixed in self._at_points
            ]
        wanted = None if self.wanted.axis == "threshold" else self.enough
        for one in resampled(walk, asked, draws, wanted):
            self._fill(one)

    def _fill(self, one: Resampled) -> None:
        """Fill in one group."""
        group, found, confidence = one.population.group, self.found, self.wanted.confidence
        replicates = self._replicates(one)
        for i, (metric, place) in enumerate(self.wanted.rows):
            given = metric.whole is None and self.wanted.axis == "threshold"
            if not (given or self.enough[group]):
                continue
            values, redrawn = replicates[metric.name]
            spread = spread_of(
                values[:, place or 0],
                float(found.estimate[i, group]),
                str(confidence.ci),
                confidence.level,
                bounds=metric.bounds,
                skewness=partial(acceleration, one.population, self._influence(metric, place)),
            )
            found.se[i, group], found.lower[i, group], found.upper[i, group] = spread[:3]
            found.flat[i, group], found.lost[i, group] = spread.flat, spread.lost + redrawn
            if not np.isnan(spread.lower):
                found.method[i, group] = confidence.ci

    def _replicates(self, one: Resampled) -> dict[str, tuple[NDArray[np.float64], int]]:
        """Return the replicates of each metric, a column per value, and those drawn again."""
        whole, sets = self._whole, self._at_points.values()
        made = {
            metric.name: (values[:, None], redrawn)
            for metric, values, redrawn in zip(whole, one.values, one.redrawn, strict=False)
        }
        rest = zip(sets, one.values[len(whole) :], one.redrawn[len(whole) :], strict=True)
        for metrics, points, redrawn in rest:
            assert self.where is not None
            rates = rates_at(points, metrics, self.where)
            made |= {name: (values, redrawn) for name, values in rates.items()}
        return made

    def _influence(self, metric: Metric, place: int | None) -> Callable[[Sample], Both]:
        if metric.whole is not None:
            return metric.whole.influence
        assert self.where is not None
        assert place is not None
        return partial(influence_at, metric, self.where, place)
