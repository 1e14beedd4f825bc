"""Walks and seeds → the ROC curves of replicates, batch after batch of each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rocframe.bands.curves import Curves, slack_of
from rocframe.counting.population import Population
from rocframe.counting.resample import HELD, Urns
from rocframe.counting.threads import spread
from rocframe.counting.walk import BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rocframe.counting.resample import Draws, Sample
    from rocframe.counting.walk import Walk

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Redrawn:
    """The replicates of all groups; they are the same however often one asks for them.

    Classes keep their sizes: the curves depend on rates of the classes only.
    """

    walk: Walk
    draws: Draws

    def each(
        self, groups: NDArray[np.int64], function: Callable[[int, Curves], Made], *, held: int = 1
    ) -> Iterator[tuple[int, list[Made]]]:
        """Run `function` on each batch of each group; results group by group.

        `held` says how many numbers `function` makes of a replicate: so many groups are worked
        on side by side as memory allows.
        """
        most = max(1, HELD // (self.draws.n_boot * held))
        rows = np.cumsum(np.diff(self.walk.rows.starts)[groups]) // (4 * BLOCK)
        places = np.arange(len(groups)) // most
        fresh = np.flatnonzero((np.diff(rows, prepend=-1) > 0) | (np.diff(places, prepend=-1) > 0))
        for share in np.split(groups, fresh[1:]):
            yield from self._together(share, function)

    def _together(
        self, groups: NDArray[np.int64], function: Callable[[int, Curves], Made]
    ) -> Iterator[tuple[int, list[Made]]]:
        n_boot = self.draws.n_boot
        urns = spread(lambda group: Urns.of(Population.of(self.walk, group)), groups.tolist())
        tasks = [
            (urn, batch, min(urn.batch, n_boot - first))
            for urn in urns
            for batch, first in enumerate(range(0, n_boot, urn.batch))
        ]

        def run(task: tuple[Urns, int, int]) -> Made:
            urn, batch, size = task
            group = urn.population.group
            stream = self.draws.seed.stream(self.draws.keys[group], batch)
            sample = urn.draw(stream, size, mixed=False).walk(corners=True)
            return function(group, curves(sample))

        done = iter(spread(run, tasks))
        for urn in urns:
            yield (
                urn.population.group,
                [next(done) for _ in range(0, n_boot, urn.batch)],
            )


def curves(sample: Sample) -> Curves:
    """Return the curves of replicates, as if they were groups."""
    totals, block = sample.totals, sample.block
    size = len(totals.pos)
    points = len(block.tp) // size + 1

    def rates(
        counts: NDArray[np.float64], first: NDArray[np.float64], total: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        walked = np.zeros((size, points))
        walked[:, 1:] = counts.reshape(size, points - 1)
        walked += np.broadcast_to(first, size)[:, None]
        walked /= total[:, None]
        return walked.ravel()

    return Curves(
        starts=np.arange(size + 1) * points,
        counts={},
        fpr=rates(block.fp, totals.unscored_neg, totals.neg),
        tpr=rates(block.tp, np.zeros(1), totals.pos),
        n_pos=totals.pos_rows,
        n_neg=totals.neg_rows,
        slack=slack_of(totals.pos),
    )
