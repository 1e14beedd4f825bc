"""Cases → the AUC table: areas, standard errors, limits and notes of each group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.areas.clusters import Clusters
from rocframe.areas.exact import scaled
from rocframe.areas.pairs import count_pairs, delong_variance
from rocframe.areas.partial import partial_areas, partial_placements, partial_variance
from rocframe.areas.placements import doubled_placements
from rocframe.counting.arrange import arrange
from rocframe.counting.walk import Walk
from rocframe.inference.intervals import area_interval, notes
from rocframe.vocabulary import AUC, PARTIAL_AUC, area_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.areas.part import Part
    from rocframe.cases import Cases
    from rocframe.inference.intervals import Method


def measured(cases: Cases, part: Part | None, ci: Method | None, level: float) -> pl.DataFrame:
    """Return one row per group: its key, then the columns of an AUC table."""
    if cases.weight is not None:
        (weight,) = scaled(cases.weight)
        cases = replace(cases, weight=weight)
    walk = Walk.of(arrange(cases, follow=cases.cluster is not None))
    totals = walk.totals
    n_pos, n_neg = totals.pos_rows, totals.neg_rows
    raw, variance = _areas(walk, part, ci)
    units = n_pos, n_neg
    if cases.cluster is not None and ci:
        clusters = Clusters.of(walk, cases.cluster)
        variance = _clustered_variance(walk, part, clusters, cases.weight)
        units = clusters.sizes[:2]
    shown = (lambda area: area) if part is None else part.shown
    columns: dict[str, Any] = {
        "n_pos": n_pos,
        "n_neg": n_neg,
        "n_missing": walk.rows.tails.n_missing,
        **dict(zip(AUC if part is None else PARTIAL_AUC, map(shown, raw), strict=True)),
    }
    if variance is not None and ci is not None:
        largest, slope = (1.0, 1.0) if part is None else (part.b - part.a, part.slope)
        found = area_interval(
            ci,
            level,
            raw[0],
            variance=variance,
            n_pos=units[0],
            n_neg=units[1],
            largest=largest,
            whole=part is None,
        )
        columns |= {
            "se": found.se * slope,
            "lower": shown(found.lower),
            "upper": shown(found.upper),
            "ci_level": np.full(len(n_pos), level),
            "ci_method": list(found.method),
        }
    columns["note"] = list(notes(*units, variance))
    schema = area_schema(AUC if part is None else PARTIAL_AUC)
    return walk.rows.keys.with_columns(
        pl.Series(name, columns.get(name, [None] * len(n_pos)), dtype, nan_to_null=True)
        for name, dtype in schema.items()
    )


def _areas(
    walk: Walk, part: Part | None, ci: Method | None
) -> tuple[tuple[NDArray[np.float64], ...], NDArray[np.float64] | None]:
    """Return the areas, and their variance where an interval is asked for."""
    if part is not None:
        return partial_areas(walk, part), partial_variance(walk, part) if ci else None
    pairs = count_pairs(walk)
    return pairs.areas, delong_variance(walk, pairs) if ci else None


def _clustered_variance(
    walk: Walk, part: Part | None, clusters: Clusters, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return Obuchowski's variance of each group's area."""
    if part is not None:
        return clusters.variance(partial_placements(walk, part), weight)
    scales = 2 * walk.totals.neg, 2 * walk.totals.pos
    return clusters.variance(doubled_placements(walk), weight, scales)
