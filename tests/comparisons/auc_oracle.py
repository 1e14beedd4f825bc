"""Areas of several models on the same rows and their covariances, in exact fractions.

Slow, over all pairs of rows, and sharing no code with the package. A table has a column for each
model, `label`, and perhaps `weight`, `count` and `user`.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

import polars as pl
from hypothesis import strategies as st

from tests.oracles import Case, areas, cases, partial_areas, partial_placements, placements, total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SCORES = st.integers(0, 4)
USERS = st.sampled_from("uvwxyz")
SIDES = (True, False)  # positives, negatives
MORE = {
    "weight": (pl.Float64, st.sampled_from([0.5, 1.0, 3.0])),
    "count": (pl.Int64, st.sampled_from([1, 2, 3])),
    "user": (pl.String, USERS),
}


@st.composite
def logs(
    draw: Callable[..., Any],
    *more: str,
    models: str = "ab",
    min_size: int = 4,
    max_size: int = 12,
    missing: bool = False,
) -> pl.DataFrame:
    """Draw a table of at least two positives and two negatives; `more` names columns to add."""
    score = st.none() | SCORES if missing else SCORES
    kinds = [pl.Boolean, *[pl.Float64] * len(models), *(MORE[name][0] for name in more)]
    values = [*[score] * len(models), *(MORE[name][1] for name in more)]
    rows = draw(st.lists(st.tuples(*values), min_size=min_size, max_size=max_size))
    labels = draw(st.permutations([True, True, False, False, *[None] * (len(rows) - 4)]))
    labels = [draw(st.booleans()) if label is None else label for label in labels]
    schema = dict(zip(["label", *models, *more], kinds, strict=True))
    data = [(label, *row) for label, row in zip(labels, rows, strict=True)]
    return pl.DataFrame(data, schema=schema, orient="row")


def cases_of(table: pl.DataFrame, model: str) -> list[Case]:
    return cases(table.rename({model: "score"}))


class Exact:
    """Areas of the models of a table and their covariances; `part` is (rate, a, b)."""

    def __init__(
        self,
        table: pl.DataFrame,
        models: Sequence[str],
        part: tuple[str, float, float] | None = None,
        cluster: str | None = None,
    ) -> None:
        self.every = {model: cases_of(table, model) for model in models}
        self.values, self.area = {}, {}
        for model, rows in self.every.items():
            if part is None:
                self.values[model], self.area[model] = placements(rows), areas(rows)[0]
            else:
                self.values[model] = partial_placements(rows, *part)
                self.area[model] = partial_areas(rows, *part)[0]
        self.rows = self.every[models[0]]
        self.cluster = None if cluster is None else table[cluster].to_list()
        self.off = {(model, side): self._off(model, side) for model in models for side in SIDES}

    def _off(self, model: str, side: bool) -> list[Fraction]:
        """Return each row's value minus the mean of its class; 0 in the other class."""
        own = [i for i, row in enumerate(self.rows) if row.positive is side]
        values, whole = self.values[model], total(self.rows[i] for i in own)
        mean = sum((self.rows[i].mass * values[i] for i in own), Fraction(0)) / whole
        return [
            (value - mean) * row.weight / whole if row.positive is side else Fraction(0)
            for value, row in zip(values, self.rows, strict=True)
        ]

    def covariance(self, a: str, b: str) -> Fraction:
        """Return DeLong's covariance of two areas, or Obuchowski's with clusters."""
        pos, neg = ([self.off[model, side] for model in (a, b)] for side in SIDES)
        if self.cluster is not None:
            return self._clustered(pos, neg)
        found = Fraction(0)
        for side, (one, other) in zip(SIDES, (pos, neg), strict=True):
            n = sum(row.count for row in self.rows if row.positive is side)
            products = zip(one, other, self.rows, strict=True)
            found += Fraction(n, n - 1) * sum(x * y * row.count for x, y, row in products)
        return found

    def _clustered(self, pos: list[list[Fraction]], neg: list[list[Fraction]]) -> Fraction:
        sums = [defaultdict(Fraction) for _ in range(4)]
        hold = [set(), set()]
        for i, (name, row) in enumerate(zip(self.cluster, self.rows, strict=True)):
            hold[not row.positive].add(name)
            for into, values in zip(sums, (*pos, *neg), strict=True):
                into[name] += values[i]
        every = hold[0] | hold[1]

        def added(i: int, j: int, clusters: int) -> Fraction:
            products = sum((sums[i][name] * sums[j][name] for name in every), Fraction(0))
            return Fraction(clusters, clusters - 1) * products

        both = added(0, 3, len(every)) + added(1, 2, len(every))
        return added(0, 1, len(hold[0])) + added(2, 3, len(hold[1])) + both

    def variance(self, a: str, b: str) -> Fraction:
        """Return the variance of the difference of two areas."""
        return self.covariance(a, a) + self.covariance(b, b) - 2 * self.covariance(a, b)

    def df(self, a: str, b: str) -> float:
        """Return Satterthwaite's degrees of freedom of the difference, with limits for clusters."""
        spread, sizes = Fraction(0), []
        names = range(len(self.rows)) if self.cluster is None else self.cluster
        for side in SIDES:
            sums, counts = defaultdict(Fraction), {}
            for i, (name, row) in enumerate(zip(names, self.rows, strict=True)):
                if row.positive is side:
                    sums[name] += self.off[a, side][i] - self.off[b, side][i]
                    counts[name] = row.count if self.cluster is None else 1
            n = sum(counts.values())
            part = Fraction(n, n - 1) * sum(counts[name] * sums[name] ** 2 for name in counts)
            spread += part**2 / (n - 1)
            sizes.append(n)
        n_all = sum(sizes) if self.cluster is None else len(set(self.cluster))
        if not spread:
            return n_all - 1
        return float(min(max(self.variance(a, b) ** 2 / spread, min(sizes) - 1), n_all - 1))

    def se(self, a: str, b: str) -> float:
        return sqrt(self.variance(a, b))

    def chi_squared(self, contrast: Sequence[Sequence[int]]) -> Fraction | None:
        """Return the statistic of a contrast by elimination; None if its matrix is singular."""
        models = list(self.area)
        covariance = {(a, b): self.covariance(a, b) for a in models for b in models}
        terms = [dict(zip(models, map(Fraction, row), strict=True)) for row in contrast]
        value = [sum(row[m] * self.area[m] for m in models) for row in terms]
        matrix = [
            [sum(r[a] * s[b] * covariance[a, b] for a in models for b in models) for s in terms]
            for r in terms
        ]
        work = [[*row, v] for row, v in zip(matrix, value, strict=True)]
        for i in range(len(work)):
            pivot = next((k for k in range(i, len(work)) if work[k][i]), None)
            if pivot is None:
                return None
            work[i], work[pivot] = work[pivot], work[i]
            work[i] = [x / work[i][i] for x in work[i]]
            for k in range(len(work)):
                if k != i:
                    work[k] = [x - work[k][i] * y for x, y in zip(work[k], work[i], strict=True)]
        return sum(v * row[-1] for v, row in zip(value, work, strict=True))
