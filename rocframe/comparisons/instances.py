"""Collected predictions of several models → instances, each with the scores it was given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.cases import State, read
from rocframe.comparisons.pairing import as_columns
from rocframe.errors import PairingError
from rocframe.quoting import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.cases import Cases
    from rocframe.comparisons.pairing import BoundPairs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instances:
    """What several models scored: a place for each instance.

    `score` has an array for each of `models`, which are sorted. `there` says for each of them
    which instances it has a row for, and `usable` which of those count: not the rows that were
    left out.
    """

    models: pl.Series
    keys: pl.DataFrame
    negative: NDArray[np.bool_]
    score: list[NDArray[Any]]
    state: NDArray[np.uint8]
    there: NDArray[np.bool_]
    count: NDArray[np.int64] | None
    weight: NDArray[np.float64] | None
    cluster: NDArray[np.uint32] | None

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which instances count for which model."""
        return self.there & (self.state <= State.UNSCORED)


def read_instances(frame: pl.DataFrame, pairs: BoundPairs) -> Instances:
    """Read a collected frame, whichever way the models stand in it."""
    every = list(read(frame, pairs.bound))
    if pairs.between is None:
        return _side_by_side(every)
    return _one_below_the_other(frame, every[0], pairs)


def cases_of_models(frame: pl.DataFrame, pairs: BoundPairs) -> tuple[pl.Series, list[Cases]]:
    """Read the cases of each model apart, models in their order."""
    every = list(read(frame, pairs.bound))
    if pairs.between is None:
        every.sort(key=lambda one: str(one.model))
        return pl.Series("model", [one.model for one in every], pl.String), every
    models, rows = rows_of_models(frame.get_column(pairs.between))
    return models, [_some(every[0], own) for own in rows]


def _some(cases: Cases, rows: NDArray[np.int64]) -> Cases:
    """Return the cases of some rows."""

    def part(values: NDArray[Any] | None) -> Any:
        return None if values is None else values[rows]

    return replace(
        cases,
        keys=cases.keys[rows] if cases.keys.width else pl.DataFrame(height=len(rows)),
        negative=cases.negative[rows],
        score=cases.score[rows],
        state=part(cases.state),
        count=part(cases.count),
        weight=part(cases.weight),
    )


def _side_by_side(cases: list[Cases]) -> Instances:
    """Read models that have a column each: an instance is a row."""
    cases = sorted(cases, key=lambda one: str(one.model))
    first = cases[0]
    used = np.full(len(first.score), State.USED, np.uint8)
    return Instances(
        models=pl.Series("model", [one.model for one in cases], pl.String),
        keys=first.keys,
        negative=first.negative,
        score=[one.score for one in cases],
        state=np.array([used if one.state is None else one.state for one in cases]),
        there=np.ones((len(cases), len(used)), bool),
        count=first.count,
        weight=first.weight,
        cluster=first.cluster,
    )


def _one_below_the_other(frame: pl.DataFrame, cases: Cases, pairs: BoundPairs) -> Instances:
    """Read models that have rows of their own: an instance is a group and an id."""
    assert pairs.between is not None
    models, rows = rows_of_models(frame.get_column(pairs.between))
    width = cases.keys.width
    ids = [frame.get_column(name).alias(str(width + i)) for i, name in enumerate(pairs.ids)]
    named = pl.DataFrame([*cases.keys, *ids])
    instances, place = _placed(named, models, rows, pairs, named.columns[width:])
    there, at = place >= 0, np.maximum(place, 0)
    used = np.full(len(cases.score), State.USED, np.uint8)
    state = (used if cases.state is None else cases.state)[at]
    usable = there & (state <= State.UNSCORED)
    weighed = there & (state != State.LEFT_OUT)  # a row of weight 0 says that much

    def agreed(argument: str, values: NDArray[Any] | None) -> NDArray[Any] | None:
        if values is None or not len(models):
            return values
        known = weighed if argument == "weight" else usable
        return _agreed(values, at, known, models, (argument, pairs.pairing.id))

    negative = agreed("label", cases.negative)
    assert negative is not None
    return Instances(
        models=models,
        keys=instances.select(cases.keys.columns),
        negative=negative,
        score=[cases.score[own] for own in at],
        state=state,
        there=there,
        count=None,
        weight=agreed("weight", cases.weight),
        cluster=agreed("cluster", cases.cluster),
    )


def rows_of_models(model: pl.Series) -> tuple[pl.Series, list[NDArray[np.int64]]]:
    """Return the models in their order, and where the rows of each are."""
    # Logs of several models mostly hold long runs of one: grouping these is less work.
    fresh = model.ne_missing(model.shift()).to_numpy()
    fresh[:1] = True
    starts = np.flatnonzero(fresh)
    runs = (
        pl.DataFrame({"model": model[starts], "from": starts})
        .with_columns(to=np.append(starts, len(model))[1:])
        .group_by("model", maintain_order=True)
        .agg("from", "to")
        .sort("model")
    )
    rows = []
    for of_model in runs.select("from", "to").iter_slices(1):
        start, end = (ends.explode(empty_as_null=False).to_numpy() for ends in of_model)
        before = np.append(0, np.cumsum(end - start)[:-1])
        rows.append(np.repeat(start - before, end - start) + np.arange((end - start).sum()))
    return runs.get_column("model"), rows


def _placed(
    named: pl.DataFrame,
    models: pl.Series,
    rows: list[NDArray[np.int64]],
    pairs: BoundPairs,
    ids: list[str],
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return the instances, and the row that each model has for each of them, or -1."""
    given = pairs.pairing.id
    for name, source in zip(ids, as_columns(given), strict=True):
        unnamed = named.get_column(name).null_count()
        if unnamed:
            wrong = f"it is null in {counted(unnamed)}, which pair with none"
            raise PairingError.of("id", source, wrong, "Leave such rows out with .filter() first.")
    parts = [named[own] for own in rows]
    # Predictions of many models mostly come in one order; a join is for when they do not.
    alike = all(part.equals(parts[0]) for part in parts[1:])
    for model, part in zip(models, parts[:1] if alike else parts, strict=not alike):
        _check_distinct(part, len(ids), given, model)
    if alike:
        return (parts[0], np.array(rows)) if parts else (named, np.zeros((0, 0), np.int64))
    instances = named.unique().sort(named.columns)
    place = np.full((len(rows), instances.height), -1)
    numbered = instances.with_row_index("instance")
    for own, part, found in zip(rows, parts, place, strict=True):
        at = part.join(
            numbered, on=named.columns, how="left", nulls_equal=True, maintain_order="left"
        )
        found[at.get_column("instance").to_numpy()] = own
    return instances, place


def _check_distinct(part: pl.DataFrame, ids: int, given: object, model: object) -> None:
    """Check that one model has an id once in each group; the ids are the last columns."""
    again = part.is_duplicated()
    if again.any():
        example = part.filter(again)[0, -ids:].to_dicts()[0].values()
        raise PairingError.of(
            "id",
            given,
            f"model {model!r} has {counted(int(again.sum()))} that share a group and an id, "
            f"such as {', '.join(map(repr, example))}",
            "An id is there once for each model and group: add what tells them apart, to id= or "
            "to by=.",
        )


def _agreed(
    values: NDArray[Any],
    at: NDArray[np.int64],
    known: NDArray[np.bool_],
    models: pl.Series,
    names: tuple[str, object],
) -> NDArray[Any]:
    """Return what all models say of each instance, which has to be the same."""
    argument, given = names
    first = known.argmax(axis=0)
    every = np.arange(at.shape[1])
    result: NDArray[Any] = values[at[first, every]]
    for i, model in enumerate(models):
        other = np.flatnonzero(known[i] & (values[at[i]] != result))
        if len(other):
            raise PairingError.of(
                "id",
                given,
                f"the {argument} that model {model!r} has differs from that of model "
                f"{models[int(first[other[0]])]!r} in {counted(len(other))} of the same id",
                f"One id is one instance, with one {argument}: pair by what tells instances apart.",
            )
    return result
