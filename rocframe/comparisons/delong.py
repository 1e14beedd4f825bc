"""Pairs of models → DeLong's tests of the difference of their areas, paired and unpaired.

References
----------
E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
correlated receiver operating characteristic curves: a nonparametric approach", Biometrics
44(3), 837-845. doi:10.2307/2531595
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.areas.pairs import count_pairs
from rocframe.areas.partial import partial_areas, partial_variance
from rocframe.areas.variance import delong_variance
from rocframe.comparisons.model_areas import areas_of
from rocframe.comparisons.model_pairs import Comparison, pair_notes, welch
from rocframe.kernel.exact import scale_to_unit
from rocframe.kernel.groups import sort_rows
from rocframe.kernel.scan import Scan
from rocframe.kernel.threads import run_parallel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.partial import Part
    from rocframe.comparisons.model_areas import Batch
    from rocframe.comparisons.model_pairs import Measure, Question
    from rocframe.comparisons.pairing import Instances
    from rocframe.inputs.cases import Cases


def paired(
    instances: Instances,
    batch: Batch,
    pairs: Sequence[tuple[int, int]],
    question: Question,
    measure: Measure,
) -> list[Comparison]:
    """Compare models by the variance of the difference of their areas on the same rows."""
    areas = areas_of(instances, batch, measure.part)
    place = {model: i for i, model in enumerate(batch.models)}

    def one(pair: tuple[int, int]) -> Comparison:
        a, b = (place[model] for model in pair)
        variance = areas.variance(a, b)
        return Comparison(
            a=pair[0],
            b=pair[1],
            groups=batch.groups,
            columns={
                "n_paired": areas.n_pos + areas.n_neg,
                **answered(question, measure, (areas.area[a], areas.area[b]), variance),
                "note": pair_notes(areas.units, variance, batch.unmatched),
            },
        )

    return run_parallel(one, pairs)


def unpaired(
    apart: Sequence[Apart],
    pairs: Sequence[tuple[int, int]],
    question: Question,
    measure: Measure,
) -> Iterator[Comparison]:
    """Compare models that scored rows of their own, by a t with Welch's degrees of freedom."""
    for a, b in pairs:
        both, *places = np.intersect1d(
            apart[a].groups, apart[b].groups, assume_unique=True, return_indices=True
        )
        area, variance, n_pos, n_neg = (
            [getattr(apart[model], name)[at] for model, at in zip((a, b), places, strict=True)]
            for name in ("area", "variance", "n_pos", "n_neg")
        )
        total = variance[0] + variance[1]
        rows = (n_pos[0] + n_neg[0], n_pos[1] + n_neg[1])
        df = welch((variance[0], variance[1]), rows)
        units = np.minimum(*n_pos), np.minimum(*n_neg)
        yield Comparison(
            a=a,
            b=b,
            groups=both,
            columns={
                "n_paired": np.full(len(both), np.nan),
                **answered(question, measure, (area[0], area[1]), total, df),
                "note": pair_notes(units, total, np.zeros(len(both), np.int64)),
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Apart:
    """The areas of one model in its own groups: how large, how sure, of how many rows."""

    groups: NDArray[np.int64]
    area: NDArray[np.float64]
    variance: NDArray[np.float64]
    n_pos: NDArray[np.int64]
    n_neg: NDArray[np.int64]

    @classmethod
    def of(cls, cases: Cases, keys: pl.DataFrame, part: Part | None) -> Apart:
        """Measure a model's areas; `keys` are those of all groups, in order."""
        if cases.weight is not None:
            cases = replace(cases, weight=scale_to_unit(cases.weight)[0])
        walk = Scan.from_rows(sort_rows(cases))
        if part is None:
            pairs = count_pairs(walk)
            area, variance = pairs.areas[0], delong_variance(walk, pairs)
        else:
            area, variance = partial_areas(walk, part)[0], partial_variance(walk, part)
        own = walk.rows.keys
        return cls(
            groups=places_of(own, keys),
            area=area,
            variance=variance,
            n_pos=walk.totals.pos_rows,
            n_neg=walk.totals.neg_rows,
        )


def places_of(own: pl.DataFrame, keys: pl.DataFrame) -> NDArray[np.int64]:
    """Return the places of some keys among all."""
    if not keys.width:
        return np.zeros(1, np.int64)
    # Grouped, not joined: a join of sorted columns finds no NaN.
    both = pl.concat(
        [
            keys.with_columns(place=pl.int_range(pl.len()), own=pl.lit(None, pl.Int64)),
            own.with_columns(place=pl.lit(None, pl.Int64), own=pl.int_range(pl.len())),
        ]
    )
    found = both.group_by(keys.columns).agg(pl.col("place", "own").max()).drop_nulls("own")
    return found.sort("own").get_column("place").to_numpy()


def answered(
    question: Question,
    measure: Measure,
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    variance: NDArray[np.float64],
    df: NDArray[np.float64] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Return the two values as they are shown, and the columns of the test of their difference."""
    a, b = values
    return {
        f"{measure.name}_a": measure.shown(a),
        f"{measure.name}_b": measure.shown(b),
        **question.answer(
            measure.slope * (a - b), measure.slope**2 * variance, df, largest=measure.largest
        ),
    }
