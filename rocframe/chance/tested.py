"""Cases → the table of tests: each group's area, and how likely one as far out is by chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.areas.clusters import Clusters
from rocframe.areas.exact import scaled
from rocframe.areas.pairs import count_pairs, delong_variance
from rocframe.areas.placements import doubled_placements
from rocframe.chance.margins import Margins
from rocframe.chance.permutation import Permutation
from rocframe.counting.arrange import arrange
from rocframe.counting.draws import stream_keys
from rocframe.counting.walk import Walk
from rocframe.inference.adjust import adjusted
from rocframe.inference.intervals import notes
from rocframe.inference.p_values import normal
from rocframe.vocabulary import auc_test_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.cases import Cases
    from rocframe.counting.draws import Seed
    from rocframe.inference.adjust import Adjust
    from rocframe.inference.p_values import Alternative

Method = Literal["delong", "permutation", "mann_whitney"]

ROUNDING = 1e-12  # of an area: weighted ones differ by less where they are equal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is asked of each group's area, and how it is answered."""

    null: float
    method: Method
    alternative: Alternative
    n_perm: int
    seed: Seed


def tested(cases: Cases, question: Question) -> pl.DataFrame:
    """Return one row per group: its key, then the columns of a table of tests."""
    if cases.weight is not None:
        (weight,) = scaled(cases.weight)
        cases = replace(cases, weight=weight)
    walk = Walk.of(arrange(cases, follow=cases.cluster is not None))
    n_pos, n_neg = walk.totals.pos_rows, walk.totals.neg_rows
    pairs = count_pairs(walk)
    area = pairs.areas[0]
    by_ranks = question.method != "delong"
    margins = Margins.of(walk) if by_ranks else None
    units = n_pos, n_neg
    if margins is not None:
        variance = margins.null_variance(n_pos, n_neg)
    elif cases.cluster is None:
        variance = delong_variance(walk, pairs)
    else:
        clusters = Clusters.of(walk, cases.cluster)
        scales = 2 * walk.totals.neg, 2 * walk.totals.pos
        variance = clusters.variance(doubled_placements(walk), cases.weight, scales)
        units = clusters.sizes[:2]
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    statistic = (area - question.null) / se
    p = normal(statistic, question.alternative)
    test = np.full(len(p), question.method, object)
    if margins is not None and question.method == "permutation":
        which = np.flatnonzero(variance > 0)
        permutation = Permutation.of(margins, pairs, which, question.alternative)
        keys = stream_keys(walk.rows.keys, cases.model)
        p[which], exact = permutation.p_values(question.n_perm, question.seed, keys)
        test[which[exact]] = "permutation_exact"
    # Without any spread an area is either the one asked about, or nothing can be said.
    same = (variance == 0) & (np.abs(area - question.null) < ROUNDING)
    statistic[same], p[same] = 0, 1
    found: dict[str, Any] = {
        "n_pos": n_pos,
        "n_neg": n_neg,
        "n_missing": walk.rows.tails.n_missing,
        "auc": area,
        "null": np.full(len(p), question.null),
        "se": se,
        "statistic": statistic,
        "p_value": p,
        "p_adjusted": p,
        "test": list(test),
        "note": list(_notes(*units, variance, by_ranks)),
    }
    return walk.rows.keys.with_columns(
        pl.Series(name, found[name], dtype, nan_to_null=True)
        for name, dtype in auc_test_schema().items()
    )


def _notes(
    n_pos: NDArray[np.int64],
    n_neg: NDArray[np.int64],
    variance: NDArray[np.float64],
    by_ranks: bool,
) -> NDArray[np.object_]:
    """Say what keeps a group from having all its numbers."""
    found = notes(n_pos, n_neg, variance)
    if by_ranks:  # which one row of a class is enough for
        single = (found == "one_positive") | (found == "one_negative")
        found[single] = None
        found[single & (variance == 0)] = "zero_variance"
    return found


def with_adjusted(table: pl.DataFrame, adjust: Adjust | None) -> pl.DataFrame:
    """Adjust the p-values over all groups and models."""
    p = table["p_value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    found = adjusted(p, np.zeros(len(p)), adjust)
    return table.with_columns(pl.Series("p_adjusted", found, nan_to_null=True))
