"""Pairs of models → permutation tests: of the difference of two areas, or of whole curves.

If two models order instances alike, each instance's ranks under the two could be exchanged. Ranks,
not scores: scores of two models need not be on one scale. Exchanged ranks are ranked anew, and
equal ones count as a tie: for the area by halves, for the curve by a straight line.

References
----------
E. S. Venkatraman, C. B. Begg (1996), "A distribution-free procedure for comparing receiver
operating characteristic curves from a paired experiment", Biometrika 83(4), 835-848.
doi:10.1093/biomet/83.4.835
A. I. Bandos, H. E. Rockette, D. Gur (2005), "A permutation test sensitive to differences in areas
for comparing ROC curves from a paired design", Statistics in Medicine 24(18), 2873-2893.
doi:10.1002/sim.2149
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.placements import doubled_ranks
from rocframe.comparisons.areas import walks
from rocframe.comparisons.pairs import pair_notes
from rocframe.comparisons.table import Comparison
from rocframe.counting.threads import spread
from rocframe.counting.walk import BLOCK
from rocframe.inference.p_values import as_extreme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.batches import Batch
    from rocframe.comparisons.instances import Instances
    from rocframe.comparisons.pairs import Question
    from rocframe.counting.resample import Draws
    from rocframe.inference.p_values import Alternative

ROUNDING = 1e-9  # of sums of differences of curves, relative to the sum


def permuted(
    instances: Instances,
    batch: Batch,
    pairs: Sequence[tuple[int, int]],
    question: Question,
    draws: Draws,
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
        rows = np.array(spread(lambda test: test.run(draws), tests)).reshape(-1, 4)
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

    def every(self, draws: Draws) -> bool:
        """Say whether there are no more exchanges than are wanted, so that all are looked at."""
        units = int(self.unit.max(initial=-1)) + 1
        return 0 < self.n_pos < len(self.a) and units < 31 and 1 << units <= draws.n_boot

    def run(self, draws: Draws) -> tuple[float, float, float, float]:
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
        size = max(1, BLOCK // rows)
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
        return int(as_extreme(found, observed, self.alternative).sum())

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
