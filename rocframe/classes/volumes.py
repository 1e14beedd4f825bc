"""Cases of three classes → the table of volumes: one row per group.

The variance is that of a U-statistic of three samples: what the triples of each row count, on
average, varies over the rows of its class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.areas.exact import product, quotient
from rocframe.cases import read
from rocframe.classes.ordered import ordered_triples
from rocframe.classes.sums import WHOLE, Kinds, pairs_of, triples_of_sums
from rocframe.classes.triples import Members, Triples
from rocframe.classes.used import Used, numbered_groups
from rocframe.counting.arrange import Groups
from rocframe.errors import OptionValueError, ScoreError
from rocframe.inference.intervals import logit, quantile, wald
from rocframe.vocabulary import volume_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.cases import Cases
    from rocframe.inference.intervals import Confidence
    from rocframe.predictions import Bound

MOST_PAIRS = 1 << 24  # pairs of kinds of rows of one group, and entries of its table
ROUNDING = 1e-28  # square of the rounding of what triples count, as shares


def measured(
    frame: pl.DataFrame, bound: Bound, codes: NDArray[np.int32], confidence: Confidence
) -> pl.DataFrame:
    """Return the keys of each group, then the columns of the table."""
    every = list(read(frame, bound))
    used = Used.of(every)
    found = Groups.of(every[0].keys, len(codes))
    groups = found.keys.height
    group = numbered_groups(found.starts, found.order)
    sizes = np.zeros((groups, 3), np.int64)
    np.add.at(sizes, (group[used.used], codes[used.used]), used.count[used.used])
    rows = np.flatnonzero(used.used & ~used.unscored)
    members = Members(group=group[rows], code=codes[rows], count=used.count[rows], groups=groups)
    if len(every) == 1:
        triples = ordered_triples(members, every[0].score[rows])
    else:
        triples = _sums(members, _scores(every, rows, bound), bound)
    n = [sizes[:, i] for i in range(3)]
    volume = quotient(triples.total, triples.whole * product(*n))
    variance = _variance(triples, volume, n)
    columns: dict[str, Any] = {
        "rule": ["order" if len(every) == 1 else "sum"] * groups,
        **dict(zip(("n_first", "n_second", "n_third"), n, strict=True)),
        "n_missing": used.n_missing(group, groups),
        "volume": volume,
        "note": list(_notes(sizes, variance, asked=confidence.ci is not None)),
    }
    if confidence.ci is not None:
        columns |= _limits(volume, variance, confidence)
    table = found.keys if found.keys.width else pl.DataFrame(height=groups)
    return table.with_columns(
        pl.Series(name, columns.get(name, [None] * groups), dtype, nan_to_null=True)
        for name, dtype in volume_schema().items()
    )


def _scores(every: Sequence[Cases], rows: NDArray[np.int64], bound: Bound) -> NDArray[np.float64]:
    """Put the scores of all classes side by side; they can be added."""
    columns = []
    for cases, role in zip(every, bound.models or (), strict=True):
        score = cases.score[rows].astype(np.float64)
        if not np.isfinite(score).all():
            raise ScoreError.infinite(bound.names[role])
        columns.append(score)
    return np.stack(columns, axis=1)


def _sums(rows: Members, score: NDArray[np.float64], bound: Bound) -> Triples:
    """Count the triples of each group by the rule of sums."""
    place = 3 * rows.group + rows.code
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(3 * rows.groups + 1))
    none = np.zeros(0, np.int64)
    group, mass, value = ([[none], [none], [none]] for _ in range(3))
    total = np.zeros(rows.groups, object)
    for i in range(rows.groups):
        own = [order[starts[3 * i + k] : starts[3 * i + k + 1]] for k in range(3)]
        classes = [Kinds.of(score[some], rows.count[some]) for some in own]
        _check_size(classes, bound)
        counted = triples_of_sums(classes)
        total[i] = sum(
            a * b for a, b in zip(counted[0].tolist(), classes[0].mass.tolist(), strict=True)
        )
        for k, kinds in enumerate(classes):
            group[k].append(np.full(len(kinds.mass), i))
            mass[k].append(kinds.mass)
            value[k].append(counted[k])
    return Triples(
        group=[np.concatenate(parts) for parts in group],
        mass=[np.concatenate(parts) for parts in mass],
        value=[np.concatenate(parts) for parts in value],
        total=total,
        whole=WHOLE,
    )


def _check_size(classes: Sequence[Kinds], bound: Bound) -> None:
    pairs = pairs_of(classes)
    if pairs > MOST_PAIRS:
        raise OptionValueError.of(
            "scores",
            [bound.names[role] for role in bound.models or ()],
            f"sums of three rows take {pairs} steps in a group with "
            f"{', '.join(str(len(kinds.mass)) for kinds in classes)} distinct rows of its classes, "
            f"and the most is {MOST_PAIRS}",
            "Draw fewer rows of each class first, or round the scores so that rows become alike.",
        )


def _variance(
    triples: Triples, volume: NDArray[np.float64], sizes: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Return the variance of each volume; NaN with fewer than two rows of a class."""
    variance = np.zeros(len(volume))
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, n in enumerate(sizes):
            group, mass = triples.group[i], triples.mass[i].astype(np.float64)
            others = [sizes[k].astype(np.float64) for k in range(3) if k != i]
            whole = (triples.whole * others[0] * others[1])[group]
            off = triples.value[i].astype(np.float64) / whole - volume[group]
            spread = np.bincount(group, mass * off**2, len(volume))
            unscored = n - np.bincount(group, mass, len(volume))
            variance += (spread + unscored * volume**2) / (n - 1) / n
    variance[np.min(sizes, axis=0) < 2] = np.nan
    variance[variance < ROUNDING] = 0
    return variance


def _limits(
    volume: NDArray[np.float64], variance: NDArray[np.float64], confidence: Confidence
) -> dict[str, Any]:
    """Return standard errors and limits of all groups; NaN where there are none."""
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    z = quantile(confidence.level)
    lower, upper = (logit if confidence.ci == "logit" else wald)(volume, se, z, 1.0)
    return {
        "se": se,
        "lower": lower,
        "upper": upper,
        "ci_level": np.where(np.isnan(volume), np.nan, confidence.level),
        "ci_method": [None if no else confidence.ci for no in np.isnan(lower)],
    }


def _notes(
    sizes: NDArray[np.int64], variance: NDArray[np.float64], *, asked: bool
) -> NDArray[np.object_]:
    """Say of each group the first thing that keeps it from having all its numbers."""
    found = np.full(len(sizes), None, object)
    if asked:
        found[variance == 0] = "zero_variance"
    found[sizes.min(axis=1) == 1] = "single_row"
    found[sizes.min(axis=1) == 0] = "absent_class"
    found[sizes.max(axis=1) == 0] = "no_rows"
    return found
