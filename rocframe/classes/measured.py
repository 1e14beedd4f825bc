"""Cases of many classes → the table of areas over all classes: one row per group and average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.areas.exact import scaled
from rocframe.cases import State, read
from rocframe.classes.kinds import Group
from rocframe.counting.arrange import Groups
from rocframe.counting.draws import stream_keys
from rocframe.counting.resample import Urn
from rocframe.counting.threads import spread
from rocframe.counting.walk import BLOCK
from rocframe.inference.bootstrap import limits_of, same
from rocframe.vocabulary import multiclass_auc_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.cases import Cases
    from rocframe.classes.kinds import Average
    from rocframe.inference.intervals import Confidence
    from rocframe.predictions import Bound

Values: TypeAlias = "dict[Average, NDArray[np.float64]]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Rows that count: their classes, scores and states, and how much each counts."""

    code: NDArray[np.int32]
    scores: Sequence[NDArray[Any]]
    scored: Sequence[NDArray[np.bool_] | None]
    count: NDArray[np.int64]
    weight: NDArray[np.float64] | None

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows, in that order."""
        return Rows(
            code=self.code[rows],
            scores=[score[rows] for score in self.scores],
            scored=[None if some is None else some[rows] for some in self.scored],
            count=self.count[rows],
            weight=None if self.weight is None else self.weight[rows],
        )

    def merged(self) -> Rows:
        """Make one row of those that are alike, in an order that depends on nothing else."""
        told: list[NDArray[Any]] = [self.code]
        for score, some in zip(self.scores, self.scored, strict=True):
            told.append(np.unique(score, return_inverse=True)[1].astype(np.int32))
            if some is not None:
                told[-1][~some] = -1
        if self.weight is not None:
            told.append(np.unique(self.weight, return_inverse=True)[1].astype(np.int32))
        _, first, place = np.unique(
            np.stack(told, axis=1), axis=0, return_index=True, return_inverse=True
        )
        merged = self.take(first)
        np.copyto(merged.count, 0)
        np.add.at(merged.count, place.ravel(), self.count)
        return merged

    @property
    def group(self) -> Group:
        """The rows as a group, if they stand class by class."""
        return Group.of(self.code, self.scores, self.scored)


def measured(
    frame: pl.DataFrame,
    bound: Bound,
    codes: NDArray[np.int32],
    averages: Sequence[Average],
    confidence: Confidence,
) -> pl.DataFrame:
    """Return the keys of each group, then the columns of the table."""
    every = list(read(frame, bound))
    first = every[0]
    used, left_out, absent = _states(every)
    weight = None if first.weight is None else scaled(first.weight)[0]
    rows = Rows(
        code=codes,
        scores=[cases.score for cases in every],
        scored=[None if cases.state is None else cases.state != State.UNSCORED for cases in every],
        count=np.ones(len(codes), np.int64) if first.count is None else first.count,
        weight=weight,
    )
    groups = Groups.of(first.keys, len(codes))
    keys = stream_keys(groups.keys)
    columns: dict[str, list[Any]] = {name: [] for name in multiclass_auc_schema()}
    for i in range(groups.keys.height):
        places = groups.order[groups.starts[i] : groups.starts[i + 1]]
        missing = int(rows.count[places[left_out[places] & ~absent[places]]].sum())
        places = places[used[places]]
        own = rows.take(places[np.argsort(codes[places], kind="stable")])
        found = _areas(own, averages, confidence, keys[i])
        for name in averages:
            line = {
                "average": name,
                "n": int(own.count.sum()),
                "n_missing": missing + _unscored(own),
                "n_classes": len(every),
                "n_classes_used": len(np.unique(own.code)),
                **found[name],
            }
            for column, values in columns.items():
                values.append(line.get(column))
    spread_keys = np.repeat(np.arange(groups.keys.height), len(averages))
    table = groups.keys[spread_keys] if groups.keys.width else pl.DataFrame(height=len(averages))
    return table.with_columns(
        pl.Series(name, columns[name], dtype, nan_to_null=True)
        for name, dtype in multiclass_auc_schema().items()
    )


def _states(every: list[Cases]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows are used, left out, and absent; a row is left out for all classes."""
    left_out = np.zeros(len(every[0].negative), bool)
    absent = left_out.copy()
    for cases in every:
        if cases.state is not None:
            left_out |= cases.state == State.LEFT_OUT
            absent |= cases.state == State.ABSENT
    return ~left_out & ~absent, left_out, absent


def _unscored(rows: Rows) -> int:
    """Count the rows that lack some score, and are errors."""
    some = np.zeros(len(rows.code), bool)
    for scored in rows.scored:
        some |= False if scored is None else ~scored
    return int(rows.count[some].sum())


def _areas(
    rows: Rows, averages: Sequence[Average], confidence: Confidence, key: tuple[int, ...]
) -> dict[Average, dict[str, Any]]:
    """Return the area, interval and note of each average of one group."""
    note = "no_rows" if not len(rows.code) else "one_class"
    if len(np.unique(rows.code)) < 2:
        return {name: {"note": note} for name in averages}
    group = rows.group
    mass = rows.count if rows.weight is None else rows.count * rows.weight
    areas = group.areas(mass[None, :], averages, group.classes(averages))
    found = {name: {"auc": float(areas[name][0])} for name in averages}
    if confidence.ci is None:
        return found
    values, redrawn = _replicates(rows.merged(), averages, confidence, key)
    for name in averages:
        found[name] |= _interval(found[name]["auc"], np.sort(values[name]), redrawn, confidence)
    return found


def _replicates(
    rows: Rows, averages: Sequence[Average], confidence: Confidence, key: tuple[int, ...]
) -> tuple[Values, int]:
    """Return the averages of resamples of whole rows, and how many were drawn again."""
    group, urn = rows.group, Urn.of(rows.count)
    classes = list(group.classes(averages))
    size = max(1, BLOCK // max(urn.size, len(rows.code)))
    firsts = range(0, confidence.n_boot, size)

    def batch(place: int) -> tuple[Values, int]:
        stream = confidence.seed.stream(key, place)
        length = min(size, confidence.n_boot - firsts[place])
        counts = np.zeros((length, len(rows.code)), np.int64)
        wanted, redrawn = np.arange(length), 0
        while len(wanted):
            counts[wanted] = urn.draw(stream, np.full(len(wanted), urn.total))
            wanted = wanted[group.present(counts[wanted]) < 2]
            redrawn += len(wanted)
        mass = counts if rows.weight is None else counts * rows.weight
        return group.areas(mass, averages, classes), redrawn

    done = spread(batch, range(len(firsts)))
    values = {name: np.concatenate([part[0][name] for part in done]) for name in averages}
    return values, sum(part[1] for part in done)


def _interval(
    area: float, values: NDArray[np.float64], redrawn: int, confidence: Confidence
) -> dict[str, Any]:
    """Return standard error, limits and note from rising replicates."""
    note = f"redrawn:{redrawn}" if redrawn else None
    level = {"ci_level": confidence.level}
    if same(values[0], values[-1]):
        return {**level, "note": "zero_variance"}
    lower, upper = np.clip(limits_of(str(confidence.ci), confidence.level, area, values), 0, 1)
    return {
        **level,
        "se": float(values.std(ddof=1)),
        "lower": float(lower),
        "upper": float(upper),
        "ci_method": confidence.ci,
        "note": note,
    }
