"""Bootstrap and permutation tests of pairs of models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.pairs import count_pairs, doubled_ranks
from rocframe.areas.partial import partial_areas
from rocframe.comparisons.delong import answered
from rocframe.comparisons.model_areas import kinds, walks
from rocframe.comparisons.model_pairs import Comparison, pair_notes
from rocframe.inference.bootstrap import bootstrap_interval, replicates
from rocframe.inference.p_values import is_as_extreme
from rocframe.kernel.resample import GroupRows, RowSampler, draw_clusters
from rocframe.kernel.resample import ReplicateCounts as Replicates
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.threads import run_parallel
from rocframe.metrics.points import Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.model_areas import Batch
    from rocframe.comparisons.model_pairs import Measure, Question
    from rocframe.comparisons.pairing import Instances
    from rocframe.inference.p_values import Alternative
    from rocframe.kernel.codec import Codec
    from rocframe.kernel.resample import BootstrapDraws
    from rocframe.kernel.scan import Scan, Scannable


def resampled(
    instances: Instances,
    batch: Batch,
    pairs: Sequence[tuple[int, int]],
    question: Question,
    measure: Measure,
    *,
    draws: BootstrapDraws,
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
    draws: BootstrapDraws,
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
        compared, redrawn[group] = _replicates(own, measure, draws)
        apart = bootstrap_interval(
            compared[:, a] - compared[:, b], 0.0, None, question.level, bounds=(-1.0, 1.0)
        )
        variance[group] = 0.0 if apart.constant else apart.se**2
        redrawn[group] += apart.n_undefined
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
    populations: list[GroupRows]
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


def _groups(instances: Instances, batch: Batch, every: list[Scan]) -> Iterator[_Group]:
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
            populations=[GroupRows.from_scan(walk, group, place) for walk in every],
            codecs=[walk.rows.codec for walk in every],
            n_pos=int(middle - start),
            rows=np.ones(len(rows), np.int64) if count is None else count[rows],
            cluster=cluster,
        )


def _replicates(
    own: _Group, measure: Measure, draws: BootstrapDraws
) -> tuple[NDArray[np.float64], int]:
    """Return the compared values, a row per replicate and a column per model; and the redraws."""

    def draw(stream: np.random.Generator, size: int) -> tuple[NDArray[np.float64], int]:
        times, redrawn = _times(own, stream, size)
        values = []
        for population, codec in zip(own.populations, own.codecs, strict=True):
            pos, neg = (times[:, side.cluster] for side in (population.pos, population.neg))
            sample = Replicates(population=population, pos=pos, neg=neg).scan(corners=True)
            values.append(value_of(sample, measure, codec))
        return np.stack(values, axis=1), redrawn

    return replicates(
        draw,
        n_boot=draws.n_boot,
        batch_size=max(1, BLOCK_ROWS // len(own.rows)),
        seed=draws.seed,
        key=draws.keys[own.name],
    )


def _times(own: _Group, stream: np.random.Generator, size: int) -> tuple[NDArray[np.int64], int]:
    """Draw how often each row is in each replicate; and how many replicates lost a class."""
    if own.cluster is None:
        sides = own.rows[: own.n_pos], own.rows[own.n_pos :]
        parts = [
            RowSampler.from_counts(side).draw(stream, np.full(size, side.sum())) for side in sides
        ]
        return np.concatenate(parts, axis=1), 0
    sides = own.cluster[: own.n_pos], own.cluster[own.n_pos :]
    times, redrawn = draw_clusters(stream, size, int(own.cluster.max()) + 1, sides)
    return times[:, own.cluster], redrawn


def value_of(sample: Scannable, measure: Measure, codec: Codec) -> NDArray[np.float64]:
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


ROUNDING = 1e-9  # of sums of differences of curves, relative to the sum


def permuted(
    instances: Instances,
    batch: Batch,
    pairs: Sequence[tuple[int, int]],
    question: Question,
    draws: BootstrapDraws,
    *,
    curves: bool,
) -> list[Comparison]:
    """Compare the models of a batch by exchanging their ranks."""
    ranks = [doubled_ranks(walk) for walk in walks(instances, batch)]
    negative = instances.negative[batch.rows]
    place = {model: i for i, model in enumerate(batch.models)}
    cluster = None if instances.cluster is None else instances.cluster[batch.rows]
    n_pos, n_neg = batch.middle - batch.starts[:-1], batch.starts[1:] - batch.middle
    undefined = np.full(len(batch.groups), np.nan)
    ends = list(
        zip(batch.groups.tolist(), batch.starts, batch.middle, batch.starts[1:], strict=False)
    )
    name = "venkatraman" if curves else "permutation"
    made = []
    for a, b in pairs:
        own = {model: ranks[place[model]] for model in (a, b)}
        # Rows that have all of these in common are alike: which of them stands first in the frame
        # changes no draw. Nor does it matter which model is called a.
        alike = np.lexsort((own[max(a, b)], own[min(a, b)], negative, batch.group))
        tests = [
            _Test(
                a=own[a][alike[start:end]],
                b=own[b][alike[start:end]],
                n_pos=int(middle - start),
                unit=_numbered(None if cluster is None else cluster[alike[start:end]], end - start),
                alternative=question.alternative,
                key=draws.keys[group],
                curves=curves,
            )
            for group, start, middle, end in ends
        ]
        rows = np.array(run_parallel(lambda test: test.run(draws), tests)).reshape(-1, 4)
        exact = [f"{name}_exact" if test.every(draws) else name for test in tests]
        made.append(
            Comparison(
                a=a,
                b=b,
                groups=batch.groups,
                columns={
                    "n_paired": n_pos + n_neg,
                    "auc_a": rows[:, 0],
                    "auc_b": rows[:, 1],
                    "difference": rows[:, 0] - rows[:, 1],
                    "se": undefined,
                    "lower": undefined,
                    "upper": undefined,
                    "statistic": rows[:, 2],
                    "df": undefined,
                    "p_value": rows[:, 3],
                    "test": np.array(exact, object),
                    "note": pair_notes((n_pos, n_neg), None, batch.unmatched),
                },
            )
        )
    return made


def _numbered(cluster: NDArray[Any] | None, length: Any) -> NDArray[np.int64]:
    """Return the number of what each row is exchanged with: itself, or its cluster."""
    if cluster is None:
        return np.arange(length)
    return np.unique(cluster, return_inverse=True)[1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Test:
    """One group's ranks under two models; the positives come first."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    n_pos: int
    unit: NDArray[np.int64]
    alternative: Alternative
    key: tuple[int, ...]
    curves: bool

    def every(self, draws: BootstrapDraws) -> bool:
        """Say whether there are no more exchanges than are wanted, so that all are looked at."""
        units = int(self.unit.max(initial=-1)) + 1
        return 0 < self.n_pos < len(self.a) and units < 31 and 1 << units <= draws.n_boot

    def run(self, draws: BootstrapDraws) -> tuple[float, float, float, float]:
        """Return both areas, the statistic and its p-value; NaN without one of the classes."""
        rows, units = len(self.a), int(self.unit.max(initial=-1)) + 1
        pairs = self.n_pos * (rows - self.n_pos)
        if not pairs:
            return (np.nan,) * 4
        won = self._won(self.a[None, :])[0], self._won(self.b[None, :])[0]
        area_a, area_b = (int(one) / (2 * pairs) for one in won)
        statistic = self._statistics(self.a[None, :], self.b[None, :])[0]
        hits = tried = 0
        every = self.every(draws)
        wanted = 1 << units if every else draws.n_boot
        size = max(1, BLOCK_ROWS // rows)
        for batch, first in enumerate(range(0, wanted, size)):
            some = min(size, wanted - first)
            if every:
                bits = (np.arange(first, first + some)[:, None] >> np.arange(units)) & 1 == 1
            else:
                bits = draws.seed.stream(self.key, batch).integers(0, 2, (some, units)) == 1
            exchanged = bits[:, self.unit]
            a = np.where(exchanged, self.b, self.a)
            b = np.where(exchanged, self.a, self.b)
            hits += self._beyond(self._statistics(a, b), statistic)
            tried += some
        p_value = hits / tried if every else (1 + hits) / (1 + tried)
        shown = float(statistic) if self.curves else area_a - area_b
        return area_a, area_b, shown, p_value

    def _beyond(self, found: NDArray[Any], observed: Any) -> int:
        """Count exchanges that are at least as far from no difference as what was seen."""
        if self.curves:
            return int((found >= observed * (1 - ROUNDING)).sum())
        return int(is_as_extreme(found, observed, self.alternative).sum())

    def _statistics(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[Any]:
        if not self.curves:
            return self._won(a) - self._won(b)
        # The errors at a rank are the positives after it and the negatives up to it, so two
        # curves' errors differ by twice what their true positives do.
        apart: NDArray[np.float64] = 2 * np.abs(self._reached(a) - self._reached(b)).sum(axis=1)
        return apart

    def _counted(self, ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count positives, and all rows, at each rank of each exchange."""
        times, rows = ranks.shape
        at = ranks + np.arange(times)[:, None] * (2 * rows + 1)
        every = np.bincount(at.ravel(), minlength=times * (2 * rows + 1))
        pos = np.bincount(at[:, : self.n_pos].ravel(), minlength=times * (2 * rows + 1))
        return pos.reshape(times, -1), every.reshape(times, -1)

    def _won(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return twice the pairs that are in order, ties counting half."""
        pos, every = self._counted(ranks)
        upto = np.cumsum(pos, axis=1)
        won: NDArray[np.int64] = ((every - pos) * (2 * upto - pos)).sum(axis=1)
        return won

    def _reached(self, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many positives are among the first 1, 2, 3 … rows of each exchange."""
        pos, every = self._counted(ranks)
        some = every > 0
        share = np.repeat(pos[some] / every[some], every[some]).reshape(len(ranks), -1)
        return np.cumsum(share, axis=1)
