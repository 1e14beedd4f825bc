"""Cases → the AUC table: areas, standard errors, limits and notes of each group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.areas.clusters import Clusters
from rocframe.areas.exact import scaled
from rocframe.areas.hanley_mcneil import exponential_variance, hanley_mcneil_variance
from rocframe.areas.influence import AREA, area_over
from rocframe.areas.pairs import Pairs, count_pairs, delong_variance
from rocframe.areas.partial import partial_areas, partial_placements, partial_variance
from rocframe.areas.placements import doubled_placements
from rocframe.counting.arrange import arrange
from rocframe.counting.draws import stream_keys
from rocframe.counting.resample import Draws
from rocframe.counting.walk import Walk
from rocframe.inference.bootstrap import BOOTSTRAPS, bootstrapped
from rocframe.inference.intervals import Interval, area_interval, notes, with_ends
from rocframe.vocabulary import AUC, PARTIAL_AUC, area_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.areas.part import Part
    from rocframe.cases import Cases
    from rocframe.inference.bootstrap import Statistic
    from rocframe.inference.intervals import Confidence


class Found(NamedTuple):
    """An interval of each group, the variance behind it, and resamples drawn again."""

    interval: Interval
    variance: NDArray[np.float64]
    lost: NDArray[np.int64] | None = None


def measured(cases: Cases, part: Part | None, confidence: Confidence) -> pl.DataFrame:
    """Return one row per group: its key, then the columns of an AUC table."""
    if cases.weight is not None:
        (weight,) = scaled(cases.weight)
        cases = replace(cases, weight=weight)
    walk = Walk.of(arrange(cases, follow=cases.cluster is not None))
    totals = walk.totals
    n_pos, n_neg = totals.pos_rows, totals.neg_rows
    area = part or count_pairs(walk)
    raw = area.areas if isinstance(area, Pairs) else partial_areas(walk, area)
    shown = (lambda area: area) if part is None else part.shown
    columns: dict[str, Any] = {
        "n_pos": n_pos,
        "n_neg": n_neg,
        "n_missing": walk.rows.tails.n_missing,
        **dict(zip(AUC if part is None else PARTIAL_AUC, map(shown, raw), strict=True)),
    }
    units, found = (n_pos, n_neg), None
    if confidence.ci is not None:
        clusters = None if cases.cluster is None else Clusters.of(walk, cases.cluster)
        units = units if clusters is None else clusters.sizes[:2]
        if confidence.ci in BOOTSTRAPS:
            found = _resampled(
                walk,
                AREA if part is None else area_over(part),
                Draws(
                    n_boot=confidence.n_boot,
                    seed=confidence.seed,
                    keys=stream_keys(walk.rows.keys, cases.model),
                    cluster=cases.cluster,
                ),
                confidence,
                area=raw[0],
                units=units,
                whole=part is None,
            )
        else:
            variance = _variance(walk, area, clusters, cases.weight)
            interval = area_interval(
                confidence.ci,
                confidence.level,
                raw[0],
                variance=variance,
                n_pos=units[0],
                n_neg=units[1],
                own=_own_variance(walk, area, confidence.ci),
                largest=1.0 if part is None else part.b - part.a,
                whole=part is None,
            )
            found = Found(interval, variance)
        columns |= {
            "se": found.interval.se * (1.0 if part is None else part.slope),
            "lower": shown(found.interval.lower),
            "upper": shown(found.interval.upper),
            "ci_level": np.full(len(n_pos), confidence.level),
            "ci_method": list(found.interval.method),
        }
    columns["note"] = list(notes(*units, *(found or (None, None))[1:]))
    schema = area_schema(AUC if part is None else PARTIAL_AUC)
    return walk.rows.keys.with_columns(
        pl.Series(name, columns.get(name, [None] * len(n_pos)), dtype, nan_to_null=True)
        for name, dtype in schema.items()
    )


def _resampled(
    walk: Walk,
    statistic: Statistic,
    draws: Draws,
    confidence: Confidence,
    *,
    area: NDArray[np.float64],
    units: tuple[NDArray[np.int64], NDArray[np.int64]],
    whole: bool,
) -> Found:
    """Return the bootstrap's interval of each group's area."""
    (spread,) = bootstrapped(
        walk,
        [statistic],
        [area],
        draws,
        ci=str(confidence.ci),
        level=confidence.level,
        groups=(units[0] > 1) & (units[1] > 1),
    )
    variance = np.where(spread.flat, 0.0, spread.se**2)
    interval = with_ends(
        Interval(*spread[:3], np.full(len(area), confidence.ci, object)),
        confidence.level,
        area,
        variance=variance,
        n_pos=units[0],
        n_neg=units[1],
        whole=whole,
    )
    return Found(interval, variance, spread.lost)


def _variance(
    walk: Walk,
    area: Pairs | Part,
    clusters: Clusters | None,
    weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return DeLong's variance of each group's area, or Obuchowski's where there are clusters."""
    if clusters is not None:
        return _clustered_variance(walk, area, clusters, weight)
    if isinstance(area, Pairs):
        return delong_variance(walk, area)
    return partial_variance(walk, area)


def _own_variance(walk: Walk, area: Pairs | Part, ci: str) -> NDArray[np.float64] | None:
    """Return the variance of methods that have another one, which are for whole areas."""
    if isinstance(area, Pairs) and ci == "hanley_mcneil":
        return hanley_mcneil_variance(walk, area)
    if isinstance(area, Pairs) and ci == "hanley_mcneil_exponential":
        return exponential_variance(area)
    return None


def _clustered_variance(
    walk: Walk, area: Pairs | Part, clusters: Clusters, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return Obuchowski's variance of each group's area."""
    if not isinstance(area, Pairs):
        return clusters.variance(partial_placements(walk, area), weight)
    scales = 2 * walk.totals.neg, 2 * walk.totals.pos
    return clusters.variance(doubled_placements(walk), weight, scales)
