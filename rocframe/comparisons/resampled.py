"""Pairs of models → bootstrap tests: the same resamples of the rows for both models.

Rows are drawn within each class, or in whole clusters. A fixed rate is found anew in every
resample, as the point of the curve moves too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rocframe.areas.pairs import count_pairs
from rocframe.areas.partial import partial_areas
from rocframe.comparisons.areas import kinds, walks
from rocframe.comparisons.delong import answered
from rocframe.comparisons.pairs import pair_notes
from rocframe.comparisons.table import Comparison
from rocframe.counting.population import Population
from rocframe.counting.resample import Batch as Replicates
from rocframe.counting.resample import Urn, whole_clusters
from rocframe.counting.threads import spread
from rocframe.counting.walk import BLOCK
from rocframe.inference.bootstrap import same
from rocframe.metrics.points import Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.batches import Batch
    from rocframe.comparisons.instances import Instances
    from rocframe.comparisons.measure import Measure
    from rocframe.comparisons.pairs import Question
    from rocframe.counting.codec import Codec
    from rocframe.counting.resample import Draws
    from rocframe.counting.walk import Walk, Walked


def resampled(
    instances: Instances,
    batch: Batch,
    pairs: Sequence[tuple[int, int]],
    question: Question,
    measure: Measure,
    *,
    draws: Draws,
) -> list[Comparison]:
    """Compare the models of a batch by the spread of their difference over resamples.

    Each pair is drawn for by itself, so that it does not matter which other models there are.
    """
    return [
        _compared(
            instances,
            replace(batch, models=tuple(sorted(pair))),
            pair,
            question,
            measure,
            draws=draws,
        )
        for pair in pairs
    ]


def _compared(
    instances: Instances,
    batch: Batch,
    pair: tuple[int, int],
    question: Question,
    measure: Measure,
    *,
    draws: Draws,
) -> Comparison:
    """Compare the two models of a batch, whichever of them is a."""
    instances, batch = kinds(instances, batch)
    every = list(walks(instances, batch))
    values = [value_of(walk, measure, walk.rows.codec) for walk in every]
    a, b = (batch.models.index(model) for model in pair)
    size = len(batch.groups)
    variance = np.full(size, np.nan)
    n_paired, redrawn, n_pos, n_neg = np.zeros((4, size), np.int64)
    for own in _groups(instances, batch, every):
        group = own.group
        n_paired[group] = own.rows.sum()
        n_pos[group], n_neg[group] = own.units
        if min(own.units) < 2:  # one row would be drawn over and over
            continue
        replicates, redrawn[group] = _drawn(own, measure, draws)
        apart = replicates[a] - replicates[b]
        known = apart[~np.isnan(apart)]
        redrawn[group] += len(apart) - len(known)
        variance[group] = _variance(known)
    return Comparison(
        a=pair[0],
        b=pair[1],
        groups=batch.groups,
        columns={
            "n_paired": n_paired,
            **answered(question, measure, (values[a], values[b]), variance),
            "note": pair_notes((n_pos, n_neg), variance, batch.unmatched, redrawn),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Group:
    """One group: its rows, positives first, and how each model orders them.

    `rows` says how many rows each stands for, `cluster` which cluster it is in.
    """

    group: int
    name: int
    populations: list[Population]
    codecs: list[Codec]
    n_pos: int
    rows: NDArray[np.int64]
    cluster: NDArray[np.int64] | None

    @property
    def units(self) -> tuple[int, int]:
        """How many rows, or clusters, of each class are drawn from."""
        own = slice(self.n_pos), slice(self.n_pos, None)
        if self.cluster is None:
            pos, neg = (int(self.rows[part].sum()) for part in own)
        else:
            pos, neg = (len(np.unique(self.cluster[part])) for part in own)
        return pos, neg


def _groups(instances: Instances, batch: Batch, every: list[Walk]) -> Iterator[_Group]:
    place = np.arange(len(batch.rows))
    ends = zip(batch.starts, batch.middle, batch.starts[1:], strict=False)
    for group, (start, middle, end) in enumerate(ends):
        rows = batch.rows[start:end]
        count, cluster = instances.count, None
        if instances.cluster is not None:
            cluster = np.unique(instances.cluster[rows], return_inverse=True)[1]
        yield _Group(
            group=group,
            name=int(batch.groups[group]),
            # Each row is a cluster of its own here, so that models share what is drawn.
            populations=[Population.of(walk, group, place) for walk in every],
            codecs=[walk.rows.codec for walk in every],
            n_pos=int(middle - start),
            rows=np.ones(len(rows), np.int64) if count is None else count[rows],
            cluster=cluster,
        )


def _drawn(own: _Group, measure: Measure, draws: Draws) -> tuple[NDArray[np.float64], int]:
    """Return what is compared, of each model in each replicate; and how many were drawn again."""
    size = max(1, BLOCK // len(own.rows))

    def one(batch: int) -> tuple[NDArray[np.float64], int]:
        stream = draws.seed.stream(draws.keys[own.name], batch)
        times, redrawn = _times(own, stream, min(size, draws.n_boot - batch * size))
        found = []
        for population, codec in zip(own.populations, own.codecs, strict=True):
            pos, neg = (times[:, side.cluster] for side in (population.pos, population.neg))
            sample = Replicates(population=population, pos=pos, neg=neg).walk(corners=True)
            found.append(value_of(sample, measure, codec))
        return np.array(found), redrawn

    parts = spread(one, range(-(-draws.n_boot // size)))
    return np.concatenate([part for part, _ in parts], axis=1), sum(lost for _, lost in parts)


def _times(own: _Group, stream: np.random.Generator, size: int) -> tuple[NDArray[np.int64], int]:
    """Draw how often each row is in each replicate; and how many replicates lost a class."""
    if own.cluster is None:
        sides = own.rows[: own.n_pos], own.rows[own.n_pos :]
        parts = [Urn.of(side).draw(stream, np.full(size, side.sum())) for side in sides]
        return np.concatenate(parts, axis=1), 0
    sides = own.cluster[: own.n_pos], own.cluster[own.n_pos :]
    times, redrawn = whole_clusters(stream, size, int(own.cluster.max()) + 1, sides)
    return times[:, own.cluster], redrawn


def value_of(sample: Walked, measure: Measure, codec: Codec) -> NDArray[np.float64]:
    """Return what is compared, in each group or replicate."""
    if measure.part is not None:
        return partial_areas(sample, measure.part)[0]
    if measure.at is None:
        return count_pairs(sample).areas[0]
    axis, value = measure.at
    point = Where(axis=axis, values=[value], codec=codec, limits=[None], unit=1.0).at(sample)
    counts = (point.tp, point.fn) if axis == "fpr" else (point.fp, point.tn)
    part, rest = (count[:, 0] for count in counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate: NDArray[np.float64] = part / (part + rest)
    return np.where(point.none[:, 0], np.nan, rate)


def _variance(values: NDArray[np.float64]) -> float:
    """Return the variance of replicates, 0 where they differ by rounding at most."""
    if len(values) < 2:
        return np.nan
    if same(values.min(), values.max()):
        return 0.0
    return float(values.var(ddof=1))
