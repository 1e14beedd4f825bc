"""Cases → the table of metrics: estimates, standard errors, limits and notes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.areas.clusters import Clusters
from rocframe.areas.exact import scaled
from rocframe.counting.arrange import arrange
from rocframe.counting.draws import stream_keys
from rocframe.counting.resample import Draws
from rocframe.counting.walk import Walk
from rocframe.curves.trace import repeat_keys
from rocframe.inference.bootstrap import BOOTSTRAPS
from rocframe.inference.intervals import newcombe, notes, quantile
from rocframe.inference.proportions import clopper_pearson, wilson
from rocframe.metrics.matrices import rates_at, stacked
from rocframe.metrics.points import Where
from rocframe.metrics.resampling import Resampling
from rocframe.metrics.rows import Found, Wanted
from rocframe.vocabulary import metrics_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.cases import Cases
    from rocframe.metrics.points import Points


def measured(cases: Cases, wanted: Wanted) -> pl.DataFrame:
    """Return one row per group, metric and point: its key, then the columns of the table."""
    unit = 1.0
    if cases.weight is not None and len(cases.weight):
        (weight,) = scaled(cases.weight)
        unit = float(cases.weight.max() / weight.max()) if weight.max() else 1.0
        cases = replace(cases, weight=weight)
    walk = Walk.of(arrange(cases, follow=cases.cluster is not None))
    units = walk.totals.pos_rows, walk.totals.neg_rows
    if cases.cluster is not None:
        units = Clusters.of(walk, cases.cluster).sizes[:2]
    where = points = None
    if wanted.axis is not None:
        where = Where.of(walk, wanted.axis, wanted.values, unit)
        points = where.at(walk)
    found = Found.nothing((len(wanted.rows), len(units[0])))
    _estimate(walk, wanted, where, points, found)
    ci = wanted.confidence.ci
    if ci in BOOTSTRAPS:
        draws = Draws(
            n_boot=wanted.confidence.n_boot,
            seed=wanted.confidence.seed,
            keys=stream_keys(walk.rows.keys, cases.model),
            cluster=cases.cluster,
        )
        enough = (units[0] > 1) & (units[1] > 1)
        Resampling(wanted=wanted, where=where, found=found, enough=enough).run(walk, draws)
        _ends_of_areas(wanted, found, units)
        if cases.weight is None and cases.cluster is None:
            _limits_of_counts(wanted, points, found, "wilson", ends_only=True)
    elif ci is not None:
        _limits_of_counts(wanted, points, found, ci)
    return _table(walk, wanted, found, units)


def _estimate(
    walk: Walk, wanted: Wanted, where: Where | None, points: Points | None, found: Found
) -> None:
    """Fill in the estimates, and the thresholds that the points are at."""
    rates: dict[str, NDArray[np.float64]] = {}
    if where is not None and points is not None:
        at_points = [metric for metric in wanted.metrics if metric.whole is None]
        rates = rates_at(stacked(points), at_points, where)
    for i, (metric, place) in enumerate(wanted.rows):
        if metric.whole is not None:
            found.estimate[i] = metric.whole.asked.function(walk)
        elif points is not None:
            found.estimate[i] = rates[metric.name][:, place]
            threshold = points.threshold[:, place]
            found.threshold[i] = np.where(points.none[:, place], np.nan, threshold)


def _ends_of_areas(
    wanted: Wanted, found: Found, units: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> None:
    """Take Newcombe's limits for areas of 0 and 1, where resamples show no spread."""
    for i, (metric, _) in enumerate(wanted.rows):
        if metric.name not in {"auc", "gini"} or metric.whole is None:
            continue
        low, high = metric.bounds
        share = (found.estimate[i] - low) / (high - low)
        edge = np.isnan(found.lower[i]) & (np.abs(share - 0.5) > 0.5 - 1e-12)
        n_pos, n_neg = (of[edge] for of in units)
        z = quantile(wanted.confidence.level)
        limits = newcombe(np.round(share[edge]), n_pos, n_neg, z)
        for held, limit in zip((found.lower, found.upper), limits, strict=True):
            held[i, edge] = low + (high - low) * limit
        found.method[i, edge] = "newcombe"


def _limits_of_counts(
    wanted: Wanted, points: Points | None, found: Found, ci: str, *, ends_only: bool = False
) -> None:
    """Fill in the limits of proportions at thresholds that were given.

    `ends_only` leaves all alone but those of 0 and 1 that have no limits yet.
    """
    if points is None or wanted.axis != "threshold":
        return
    method = wilson if ci == "wilson" else clopper_pearson
    for i, (metric, place) in enumerate(wanted.rows):
        if metric.proportion is None:
            continue
        part, whole = (
            np.sum([getattr(points, name)[:, place] for name in names], axis=0).astype(float)
            for names in (metric.proportion.part, metric.proportion.whole)
        )
        own = whole > 0
        if ends_only:
            own &= found.flat[i] & ((part == 0) | (part == whole))
        limits = method(part[own], whole[own], wanted.confidence.level)
        found.lower[i, own], found.upper[i, own] = limits
        found.method[i, own] = ci
        share = part[own] / whole[own]
        variance = share * (1 - share) / whole[own]
        found.se[i, own] = np.sqrt(np.where(variance > 0, variance, np.nan))


def _table(
    walk: Walk,
    wanted: Wanted,
    found: Found,
    units: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> pl.DataFrame:
    rows, totals = wanted.rows, walk.totals
    groups = len(totals.pos)
    values = [None if place is None else wanted.values[place] for _, place in rows]
    note = np.full((len(rows), groups), None, object)
    for i in range(len(rows)):
        variance = np.where(found.flat[i], 0.0, np.nan)
        unsolved = np.isnan(found.estimate[i])
        note[i] = notes(*units, variance, found.lost[i], unsolved)
    level = None if wanted.confidence.ci is None else wanted.confidence.level
    columns: dict[str, Any] = {
        "metric": [metric.name for metric, _ in rows] * groups,
        "at": [None if place is None else wanted.axis for _, place in rows] * groups,
        "value": values * groups,
        "threshold": found.threshold.T.ravel(),
        "n_pos": np.repeat(totals.pos_rows, len(rows)),
        "n_neg": np.repeat(totals.neg_rows, len(rows)),
        "n_missing": np.repeat(walk.rows.tails.n_missing, len(rows)),
        "estimate": found.estimate.T.ravel(),
        "se": found.se.T.ravel(),
        "lower": found.lower.T.ravel(),
        "upper": found.upper.T.ravel(),
        "ci_level": [level] * (groups * len(rows)),
        "ci_method": found.method.T.ravel().tolist(),
        "note": note.T.ravel().tolist(),
    }
    return repeat_keys(walk.rows.keys, np.full(groups, len(rows))).with_columns(
        pl.Series(name, columns[name], dtype, nan_to_null=True)
        for name, dtype in metrics_schema().items()
    )
