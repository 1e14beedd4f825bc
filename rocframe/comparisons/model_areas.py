"""Areas of several models on the same instances, and their variances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.areas.pairs import doubled_placements, doubled_ranks
from rocframe.areas.partial import partial_areas, partial_placements
from rocframe.areas.variance import ZERO_VARIANCE, Clusters, obuchowski_variance, placement_variance
from rocframe.errors import PairingError
from rocframe.inputs.cases import Cases, State
from rocframe.kernel.exact import exact_product, exact_quotient, exact_sums, scale_to_unit
from rocframe.kernel.groups import RowGroups, sort_grouped_rows
from rocframe.kernel.scan import Scan
from rocframe.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rocframe.areas.partial import Part
    from rocframe.comparisons.pairing import Instances, Pairing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Areas:
    """Areas of the models of a batch, and what their variances are made of.

    `area`, `values` and `total` have an array for each model: an area per group, a value per row,
    and the sum of the values of the positives, or of the negatives, which is the same. `segment`
    is where the rows of each class of each group start. `n_pos` and `n_neg` count rows; `units`
    are what is independent: these, or clusters.
    """

    area: list[NDArray[np.float64]]
    values: list[NDArray[Any]]
    total: list[NDArray[Any]]
    segment: NDArray[np.int64]
    n_pos: NDArray[np.int64]
    n_neg: NDArray[np.int64]
    units: tuple[NDArray[np.int64], NDArray[np.int64]]
    count: NDArray[np.int64] | None
    weight: NDArray[np.float64] | None
    clusters: Clusters | None
    scales: tuple[Any, Any]
    exact: bool

    def variance(self, a: int, b: int | None = None) -> NDArray[np.float64]:
        """Return the variance of a model's area, or of the difference of two, in each group.

        NaN where a class has fewer than two rows, or clusters.
        """
        values = self.values[a] if b is None else self.values[a] - self.values[b]
        if self.clusters is not None:
            return obuchowski_variance(self.clusters, values, self.weight, self.scales)
        if not self.exact:
            return self._variance(values)
        total = self.total[a] if b is None else self.total[a] - self.total[b]
        return self._exact_variance(values, total)

    def _exact_variance(self, values: NDArray[Any], total: NDArray[Any]) -> NDArray[np.float64]:
        """Return the variance from sums of whole numbers, which no order of rows changes."""
        size = np.abs(values)
        heavy = size if self.count is None else exact_product(size, self.count)
        squares = _summed(heavy, size, self.segment)
        m, n = self.n_pos, self.n_neg
        return placement_variance(m, n, squares[0::2], total) + placement_variance(
            n, m, squares[1::2], total
        )

    def _variance(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance from squared weights about the weighted mean."""
        count = np.ones(len(values), np.int64) if self.count is None else self.count
        weight = np.ones(len(values)) if self.weight is None else self.weight
        length = np.diff(np.append(self.segment, len(values)))
        total = _summed(np.ones(len(values)), count * weight, self.segment)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = _summed(count * weight, values, self.segment) / total
            off = weight * (values - np.repeat(mean, length))
            parts = _summed(count * off, off, self.segment) / total**2
            result = np.zeros(len(self.n_pos))
            for side, (rows, scale) in enumerate(
                zip((self.n_pos, self.n_neg), self.scales, strict=True)
            ):
                result += rows / (rows - 1) * parts[side::2] / np.square(scale, dtype=float)
        result[(self.n_pos < 2) | (self.n_neg < 2)] = np.nan
        result[result < ZERO_VARIANCE] = 0
        return result


def areas_of(instances: Instances, batch: Batch, part: Part | None) -> Areas:
    """Measure the areas of a batch, and find what each row adds to them."""
    exact = part is None and instances.weight is None
    if part is not None and instances.weight is None:
        batch = settled(instances, batch)  # sums of fractions depend on the order of rows
    rows, segment = batch.rows, batch.segment
    weight = None if instances.weight is None else scale_to_unit(instances.weight[rows])[0]
    count = None if instances.count is None else instances.count[rows]
    mass = _mass(count, weight, len(rows))
    area, values, total, walk = [], [], [], None
    for walk in walks(instances, batch):
        values.append(doubled_placements(walk) if part is None else partial_placements(walk, part))
        total.append(_summed(mass, values[-1], segment)[0::2])
        area.append(_area(walk, total[-1]) if part is None else partial_areas(walk, part)[0])
    assert walk is not None
    clusters = None
    n_pos, n_neg = units = walk.totals.pos_rows, walk.totals.neg_rows
    if instances.cluster is not None:
        clusters = Clusters.of_rows(
            batch.group,
            instances.cluster[rows],
            instances.negative[rows],
            np.arange(len(rows)),
            len(batch.groups),
        )
        units = clusters.sizes[:2]
    return Areas(
        area=area,
        values=values,
        total=total,
        segment=segment,
        n_pos=n_pos,
        n_neg=n_neg,
        units=units,
        count=count,
        weight=weight,
        clusters=clusters,
        scales=(1.0, 1.0) if part else (2 * walk.totals.neg, 2 * walk.totals.pos),
        exact=exact,
    )


def walks(instances: Instances, batch: Batch) -> Iterator[Scan]:
    """Yield the walk of each model of a batch; their rows are those of the batch."""
    rows = batch.rows
    groups = RowGroups(keys=pl.DataFrame(height=len(batch.groups)), starts=batch.starts, order=rows)
    weight = None if instances.weight is None else scale_to_unit(instances.weight[rows])[0]
    for model in batch.models:
        state = instances.state[model][rows]
        cases = Cases(
            model=None,
            keys=groups.keys,
            negative=instances.negative[rows],
            score=instances.score[model][rows],
            state=state if (state != State.USED).any() else None,
            count=None if instances.count is None else instances.count[rows],
            weight=weight,
        )
        yield Scan.from_rows(sort_grouped_rows(cases, groups))


def settled(instances: Instances, batch: Batch) -> Batch:
    """Return the batch with rows in an order that does not depend on the one they have.

    Within a class rows are sorted by their ranks: those that have the same in all models are alike.
    """
    table = _told_apart(instances, batch)
    order = table.select(pl.arg_sort_by(table.columns, maintain_order=True)).to_series()
    return replace(batch, rows=batch.rows[order.cast(pl.Int64).to_numpy()])


def kinds(instances: Instances, batch: Batch) -> tuple[Instances, Batch]:
    """Return the same with one row, and a count, for all rows that are alike; settled.

    Rows in clusters stay apart.
    """
    batch = settled(instances, batch)
    if instances.cluster is not None or not len(batch.rows):
        return instances, batch
    table = _told_apart(instances, batch).drop("count", strict=False)
    fresh = table.select(pl.any_horizontal(pl.all().ne_missing(pl.all().shift()))).to_series()
    first = fresh.to_numpy().copy()
    first[0] = True
    places = np.flatnonzero(first)
    count = np.zeros(len(instances.negative), np.int64)
    own = np.ones(len(first), np.int64)
    if instances.count is not None:
        own = instances.count[batch.rows]
    count[batch.rows[places]] = np.add.reduceat(own, places)
    before = np.append(0, np.cumsum(first))
    merged = replace(
        batch,
        rows=batch.rows[places],
        starts=before[batch.starts],
        middle=before[batch.middle],
    )
    return replace(instances, count=count), merged


def _told_apart(instances: Instances, batch: Batch) -> pl.DataFrame:
    """Return what tells the rows of a batch apart: group, class, ranks, weight, and count."""
    rows = batch.rows
    table: dict[str, NDArray[Any]] = {"group": batch.group, "negative": instances.negative[rows]}
    for i, walk in enumerate(walks(instances, batch)):
        table[str(i)] = doubled_ranks(walk)
    if instances.weight is not None:
        table["weight"] = instances.weight[rows]
    if instances.count is not None:
        table["count"] = instances.count[rows]
    return pl.DataFrame(table)


def _mass(
    count: NDArray[np.int64] | None, weight: NDArray[np.float64] | None, length: int
) -> NDArray[Any]:
    """Return what each row counts."""
    counts = np.ones(length, np.int64) if count is None else count
    return counts if weight is None else counts * weight


def _area(walk: Scan, total: NDArray[Any]) -> NDArray[np.float64]:
    """Return the areas whose positives have these doubled placements in all."""
    whole = exact_product(walk.totals.pos, walk.totals.neg, np.array([2]))
    area: NDArray[np.float64] = exact_quotient(total.astype(whole.dtype), whole)
    if whole.dtype.kind == "f":  # sums of weights may round across the ends
        np.clip(area, 0, 1, out=area)
    return area


def _summed(weight: NDArray[Any], value: NDArray[Any], segment: NDArray[np.int64]) -> NDArray[Any]:
    """Add up `weight * value` of the rows of each segment; signed values stay signed."""
    some = np.diff(np.append(segment, len(value))) > 0
    found: NDArray[Any]
    if value.dtype.kind != "f" and len(value) and value.min() < 0:
        above, below = np.maximum(value, 0), np.maximum(-value, 0)
        gained: NDArray[Any] = _summed(weight, above, segment)
        gained -= _summed(weight, below, segment)
        return gained
    if not some.any():
        return np.zeros(len(segment), np.result_type(weight, value))
    found = exact_sums(weight, value, segment[some])
    result = np.zeros(len(segment), found.dtype)
    result[some] = found
    return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Models (by place) that scored the same instances in some groups (by place).

    The instances of the i-th group are `rows[starts[i]:starts[i + 1]]`, positives first, from
    `middle[i]` the negatives. `unmatched` counts the rows of the models that are left out.
    """

    models: tuple[int, ...]
    groups: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    middle: NDArray[np.int64]
    unmatched: NDArray[np.int64]

    @property
    def group(self) -> NDArray[np.int64]:
        """The group of each row, among those of the batch."""
        return np.repeat(np.arange(len(self.groups)), np.diff(self.starts))

    @property
    def segment(self) -> NDArray[np.int64]:
        """Where the positives, and then the negatives, of each group start."""
        return np.column_stack([self.starts[:-1], self.middle]).ravel()


def batches(
    instances: Instances, groups: RowGroups, pairing: Pairing, *, together: bool = False
) -> Iterator[Batch]:
    """Cut instances into batches; each pair of models in each group is in exactly one.

    `together` keeps all models of a group in one batch, with the instances that all scored.
    """
    # From here on, instances stand group by group, positives first.
    group = np.repeat(np.arange(len(groups.starts) - 1), np.diff(groups.starts))
    order = groups.order
    by_class = np.argsort(2 * group + instances.negative[order], kind="stable")
    group, order = group[by_class], order[by_class]

    there, usable = instances.there[:, order], instances.usable[:, order]
    present = _any(there, groups.starts)
    if not len(order):  # models that have a column each are there without rows, too
        present[:] = True
    if pairing.unmatched == "raise":
        _check_matched(instances, there, present[:, group], pairing)
    models = present.sum(axis=0)
    scored = usable.sum(axis=0)
    uneven = np.zeros(len(models), bool)
    if not together:
        np.logical_or.at(uneven, group, (scored > 0) & (scored < models[group]))

    def batch(some: tuple[int, ...], where: NDArray[np.bool_]) -> Batch:
        chosen = np.flatnonzero(where)
        own = where[group]
        kept = own & usable[list(some)].all(axis=0)
        renumbered = np.cumsum(where) - 1
        place = renumbered[group[kept]]
        rows = order[kept]
        starts = np.append(0, np.cumsum(np.bincount(place, minlength=len(chosen))))
        positive = np.bincount(place[~instances.negative[rows]], minlength=len(chosen))
        left = (usable[list(some)] & own & ~kept).sum(axis=0)
        return Batch(
            models=some,
            groups=chosen,
            rows=rows,
            starts=starts,
            middle=starts[:-1] + positive,
            unmatched=np.bincount(group, left, len(where)).astype(np.int64)[chosen],
        )

    for pattern in np.unique(present[:, ~uneven], axis=1).T:
        some = tuple(np.flatnonzero(pattern).tolist())
        if some:
            yield batch(some, ~uneven & (present == pattern[:, None]).all(axis=0))
    if uneven.any():
        for pair in combinations(range(len(present)), 2):
            where = uneven & present[list(pair)].all(axis=0)
            if where.any():
                yield batch(pair, where)


def _any(values: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for each model and group whether any instance has it."""
    running = np.zeros((len(values), values.shape[1] + 1), np.int64)
    np.cumsum(values, axis=1, out=running[:, 1:])
    return running[:, starts[1:]] > running[:, starts[:-1]]


def _check_matched(
    instances: Instances,
    there: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    pairing: Pairing,
) -> None:
    """Check that every model of a group has all rows that the others have there."""
    lacking = (wanted & ~there).sum(axis=1)
    if not lacking.any():
        return
    worst = int(lacking.argmax())
    raise PairingError.of(
        "id",
        pairing.id,
        f"model {instances.models[worst]!r} lacks {counted(int(lacking[worst]))} that other models "
        "have in the same groups",
        'Say unmatched="drop" to leave such rows out and count them, or find out why they are '
        "missing.",
    )
