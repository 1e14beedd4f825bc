"""Cases of many classes → the table of areas over all classes: one row per group and average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.areas.exact import scaled
from rocframe.cases import State, read
from rocframe.classes.grouped import grouped_areas
from rocframe.classes.influence import influences, skewness
from rocframe.classes.kinds import LARGEST
from rocframe.classes.rows import Rows
from rocframe.classes.used import Used, numbered_groups
from rocframe.counting.arrange import Groups
from rocframe.counting.draws import stream_keys
from rocframe.counting.resample import Urn
from rocframe.counting.threads import spread
from rocframe.counting.walk import BLOCK
from rocframe.inference.bootstrap import limits_of, same
from rocframe.vocabulary import multiclass_auc_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.classes.kinds import Average
    from rocframe.inference.intervals import Confidence
    from rocframe.predictions import Bound

Values: TypeAlias = "dict[Average, NDArray[np.float64]]"

NUMBERS = ("se", "lower", "upper", "ci_level")
FEW = 300  # rows of a group from which it is quicker to look at groups one by one


def measured(
    frame: pl.DataFrame,
    bound: Bound,
    codes: NDArray[np.int32],
    averages: Sequence[Average],
    confidence: Confidence,
) -> pl.DataFrame:
    """Return the keys of each group, then the columns of the table."""
    every = list(read(frame, bound))
    first, used = every[0], Used.of(every)
    found = Groups.of(first.keys, len(codes))
    groups, group = found.keys.height, numbered_groups(found.starts, found.order)
    order = np.flatnonzero(used.used)
    order = order[np.argsort(group[order] * len(every) + codes[order], kind="stable")]
    rows = Rows(
        code=codes,
        scores=[cases.score for cases in every],
        scored=[None if cases.state is None else cases.state != State.UNSCORED for cases in every],
        count=used.count,
        weight=None if first.weight is None else scaled(first.weight)[0],
        cluster=first.cluster,
    ).take(order)
    starts = np.searchsorted(group[order], np.arange(groups + 1))
    n, n_classes = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    np.add.at(n, group[order], rows.count)
    cells = np.unique(group[order] * len(every) + rows.code) // len(every)
    np.add.at(n_classes, cells, 1)
    areas = _areas(rows, starts, averages)
    lines = {
        "n": n,
        "n_missing": used.n_missing(group, groups),
        "n_classes": np.full(groups, len(every)),
        "n_classes_used": n_classes,
    }
    notes = np.select([np.diff(starts) == 0, n_classes < 2], ["no_rows", "one_class"], "")
    columns: dict[str, Any] = {
        "average": [*averages] * groups,
        **{name: np.repeat(values, len(averages)) for name, values in lines.items()},
        "auc": np.stack([areas[name] for name in averages], axis=1).ravel(),
        "note": [note or None for note in np.repeat(notes, len(averages)).tolist()],
        **{name: np.full(groups * len(averages), np.nan) for name in NUMBERS},
        "ci_method": [None] * (groups * len(averages)),
    }
    if confidence.ci is not None:
        keys = stream_keys(found.keys)
        for i in np.flatnonzero(n_classes > 1).tolist():
            own = rows.take(slice(starts[i], starts[i + 1])).merged()
            places = range(i * len(averages), (i + 1) * len(averages))
            area = dict(zip(averages, columns["auc"][places.start : places.stop], strict=True))
            for place, line in zip(places, _intervals(own, area, confidence, keys[i]), strict=True):
                for name, value in line.items():
                    columns[name][place] = value
    schema = multiclass_auc_schema()
    table = found.keys[np.repeat(np.arange(groups), len(averages))]
    table = table if found.keys.width else pl.DataFrame(height=len(averages))
    return table.with_columns(
        pl.Series(name, columns[name], dtype, nan_to_null=True) for name, dtype in schema.items()
    )


def _areas(rows: Rows, starts: NDArray[np.int64], averages: Sequence[Average]) -> Values:
    """Return the areas of each group; NaN with fewer than 2 classes."""
    groups, size = len(starts) - 1, int(rows.count.sum())
    exact = rows.weight is None and size * size * len(rows.scores) <= LARGEST
    if exact and len(rows.code) < FEW * groups:
        group = np.repeat(np.arange(groups), np.diff(starts))
        return grouped_areas(rows, group, groups, averages)
    found = {name: np.full(groups, np.nan) for name in averages}
    for i in np.flatnonzero(np.diff(starts)):
        own = rows.take(slice(starts[i], starts[i + 1]))
        group_of = own.group
        for name, area in group_of.areas(
            own.mass[None, :], averages, group_of.classes(averages)
        ).items():
            found[name][i] = area[0]
    return found


def _intervals(
    rows: Rows, areas: dict[Average, float], confidence: Confidence, key: tuple[int, ...]
) -> Iterator[dict[str, Any]]:
    """Yield standard error, limits and note of each average of one group."""
    values, redrawn = _replicates(rows, list(areas), confidence, key)
    bca = confidence.ci == "bootstrap_bca"
    influence = influences(rows, list(areas)) if bca else {}
    for name, area in areas.items():
        rising = np.sort(values[name])
        if same(rising[0], rising[-1]):
            yield {"ci_level": confidence.level, "note": "zero_variance"}
            continue
        a = skewness(rows, influence[name]) if bca else 0.0
        lower, upper = np.clip(
            limits_of(str(confidence.ci), confidence.level, area, rising, a), 0, 1
        )
        yield {
            "ci_level": confidence.level,
            "se": rising.std(ddof=1),
            "lower": lower,
            "upper": upper,
            "ci_method": None if np.isnan(lower) else confidence.ci,
            "note": f"redrawn:{redrawn}" if redrawn else None,
        }


def _replicates(
    rows: Rows, averages: Sequence[Average], confidence: Confidence, key: tuple[int, ...]
) -> tuple[Values, int]:
    """Return the averages of resamples of whole rows, and how many were drawn again."""
    group, urn, unit = rows.group, Urn.of(rows.count), None
    if rows.cluster is not None:
        clusters, unit = np.unique(rows.cluster, return_inverse=True)
        urn = Urn.of(np.ones(len(clusters), np.int64))
    classes = list(group.classes(averages))
    size = max(1, BLOCK // max(urn.size, len(rows.code)))
    firsts = range(0, confidence.n_boot, size)

    def batch(place: int) -> tuple[Values, int]:
        stream = confidence.seed.stream(key, place)
        length = min(size, confidence.n_boot - firsts[place])
        counts = np.zeros((length, len(rows.code)), np.int64)
        wanted, redrawn = np.arange(length), 0
        while len(wanted):
            drawn = urn.draw(stream, np.full(len(wanted), urn.total))
            counts[wanted] = drawn if unit is None else drawn[:, unit] * rows.count
            wanted = wanted[group.present(counts[wanted]) < 2]
            redrawn += len(wanted)
        mass = counts if rows.weight is None else counts * rows.weight
        return group.areas(mass, averages, classes), redrawn

    done = spread(batch, range(len(firsts)))
    values = {name: np.concatenate([part[0][name] for part in done]) for name in averages}
    return values, sum(part[1] for part in done)
