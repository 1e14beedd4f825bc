"""Area under the ROC curve at the top of the list (Clémençon and Vayatis 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.areas.pairs import Pairs, group_sums, pair_dtype
from rocframe.areas.partial import parse_ends
from rocframe.areas.steps import Steps
from rocframe.errors import OptionValueError
from rocframe.inference.bootstrap import Statistic
from rocframe.kernel.exact import exact_sums
from rocframe.kernel.groups import groups_of_rows
from rocframe.kernel.resample import ReplicateStatistic
from rocframe.rates import prevalence_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.areas.partial import Range
    from rocframe.kernel.scan import Scannable

# The methods of `auc(ci=)` that are valid for the area at the top. DeLong's variance is not valid,
# because it treats the score at the end of the range as known. This score varies between samples.
TOP_INTERVALS = ("bootstrap", "bootstrap_basic")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopRange:
    """The top of the list: the rows with the highest scores, up to the alert rate `share`."""

    share: float
    mcclish: bool = False

    @classmethod
    def parse(cls, alert_rate: Range, *, mcclish: bool = False) -> TopRange:
        """Check the option `alert_rate`, and return its range, which must start at 0."""
        example = "Use, for example, alert_rate=(0, 0.01)."
        low, high = parse_ends("alert_rate", alert_rate, example)
        if not (low == 0 and 0 < high <= 1):
            problem = "expected a range (0, p) with 0 < p <= 1"
            raise OptionValueError.compose("alert_rate", alert_rate, problem, example)
        return cls(share=high, mcclish=mcclish)

    def standardized_areas(self, scan: Scannable) -> tuple[NDArray[np.float64], ...]:
        """Return three areas of each group: with ties counted as 1/2, as 0 and as 1.

        If `mcclish` is false, the areas are not standardized.
        """
        totals = scan.totals
        parts = scan.map(lambda block: self.pairs(Steps.from_block(scan, block)))
        wins, wins_or_ties = group_sums(scan, [part[:2] for part in parts], 2, pair_dtype(scan, 1))
        cut = group_sums(scan, [part.cut for part in parts], 3)
        return self.quotients(TopPairs(wins, wins_or_ties, cut), totals.pos, totals.neg)

    def pairs(self, steps: Steps, prevalence: float | None = None) -> TopPairs:
        """Return numbers of pairs in which the positive is at the top and has the higher score.

        Alert rates are computed at `prevalence`; None means the prevalence of each group.
        """
        starts, pos, neg = steps.starts, steps.pos, steps.neg
        pos_weight: NDArray[Any] = np.ones(len(pos), np.int64)
        neg_weight = pos_weight
        if prevalence is not None:
            pos_weight, neg_weight = prevalence_weights(pos, neg, prevalence)
        alerts0, alerts = (
            tp * steps.of_steps(pos_weight) + fp * steps.of_steps(neg_weight)
            for tp, fp in ((steps.tp0, steps.fp0), (steps.tp, steps.fp))
        )
        limit = steps.of_steps(self.share * (pos * pos_weight + neg * neg_weight))
        all_neg = steps.of_steps(neg)
        rise = np.where(alerts <= limit, steps.tp - steps.tp0, 0)
        wins, wins_or_ties = (
            exact_sums(rise, all_neg - fp, starts[:-1]) for fp in (steps.fp, steps.fp0)
        )
        # `cut` are the scores whose rows are only partly at the top, at most one in each group.
        cut = np.flatnonzero((alerts0 < limit) & (limit < alerts))
        group = groups_of_rows(starts, cut)
        inside = limit[cut] - alerts0[cut]
        share = inside / (alerts[cut] - alerts0[cut])
        rise, width = (steps.tp - steps.tp0)[cut], (steps.fp - steps.fp0)[cut]
        below, below0 = (all_neg - steps.fp)[cut], (all_neg - steps.fp0)[cut]
        pos_unit, neg_unit = pos_weight[group], neg_weight[group]
        # Number of positives with this score that are at the top: `last` if all negatives with this
        # score are ranked first, and `first` if all positives are ranked first.
        last = np.clip((inside - width * neg_unit) / pos_unit, 0, rise)
        first = np.clip(inside / pos_unit, 0, rise)
        cut_pairs = np.zeros((3, len(pos)))
        np.add.at(cut_pairs[0], group, share * rise * (below0 - share * width / 2))
        np.add.at(cut_pairs[1], group, last * below)
        np.add.at(cut_pairs[2], group, first * below0)
        return TopPairs(wins, wins_or_ties, cut_pairs)

    def quotients(
        self, pairs: TopPairs, pos: NDArray[Any], neg: NDArray[Any]
    ) -> tuple[NDArray[np.float64], ...]:
        """Return three areas: the result of `pairs`, divided by the number of all pairs.

        If `mcclish` is true, the areas are standardized.
        """
        whole = Pairs(wins=pairs.wins, wins_or_ties=pairs.wins_or_ties, pos=pos, neg=neg)
        with np.errstate(divide="ignore", invalid="ignore"):
            areas = np.clip(whole.shares + pairs.cut / (pos.astype(float) * neg), 0, 1)
            if self.mcclish:
                chance = self.share * (1 - self.share / 2)
                largest = np.minimum(self.share * (pos + neg) / pos, 1.0)
                areas = (1 + (areas - chance) / (largest - chance)) / 2
        return tuple(areas)

    def statistic(self) -> Statistic:
        """Return the area as a `Statistic` for the bootstrap.

        Resamples are drawn from both classes together, because the area depends on the prevalence.
        """
        return Statistic(
            replicate=ReplicateStatistic(
                function=lambda sample: self.standardized_areas(sample)[0],
                depends_on_prevalence=True,
            ),
            influence=None,
            bounds=(-inf, inf) if self.mcclish else (0.0, 1.0),
        )


class TopPairs(NamedTuple):
    """Numbers of pairs of each group in which the positive is at the top and has the higher score.

    `wins` and `wins_or_ties` are for positives whose tied rows are all at the top: without and with
    tied pairs. The rows of `cut` are for positives of the one score whose rows are only partly at
    the top: with a tied pair counted as 1/2, as 0 and as 1.
    """

    wins: NDArray[Any]
    wins_or_ties: NDArray[Any]
    cut: NDArray[np.float64]
