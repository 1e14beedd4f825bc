"""Pairing of the predictions of several models by instance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.errors import ColumnTypeError, MissingColumnError, OptionValueError, PairingError
from rocframe.frames import column, like, planned, private_names, take_rows, through_node
from rocframe.inputs.cases import State, read
from rocframe.inputs.roles import bind, resolved
from rocframe.options import NOT_GIVEN, check_choice
from rocframe.schemas import MODEL
from rocframe.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import Bound, Column, Roles


Unmatched = Literal["raise", "drop"]

WAYS = (
    "Models stand one below the other, and between= names the column that says which; or side by "
    'side, and score=["a", "b"] names their columns.'
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairing:
    """What the caller said about which rows belong together."""

    between: str
    id: Column | Sequence[Column] | None
    unmatched: Unmatched
    paired: bool
    least: int

    @classmethod
    def of(
        cls,
        roles: Roles,
        *,
        between: object,
        id: Column | Sequence[Column] | None,  # noqa: A002 - the word users have for it
        unmatched: Unmatched,
        paired: bool = True,
        least: int = 2,
    ) -> Pairing:
        """Check the options that pair rows."""
        check_choice("unmatched", unmatched, get_args(Unmatched))
        if not isinstance(between, str):
            wrong = "the column of models is given by name"
            todo = 'Say between="model"; other columns come from .with_columns().'
            raise OptionValueError.of("between", between, wrong, todo)
        if id is not None and roles.count is not None and roles.count is not NOT_GIVEN:
            wrong = "id= needs to know each row, and these are many in one"
            todo = "Compare scores side by side, or say count=None with a row for each prediction."
            raise OptionValueError.of("count", roles.count, wrong, todo)
        if id is not None and not isinstance(id, str | pl.Expr) and hasattr(id, "__iter__"):
            id = list(id)  # noqa: A001
        return cls(between=between, id=id, unmatched=unmatched, paired=paired, least=least)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundPairs:
    """The same, once the columns are known."""

    bound: Bound
    pairing: Pairing
    model: pl.DataType
    between: str | None
    ids: tuple[str, ...]
    inputs: tuple[pl.Expr, ...]


def bind_pairs(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    roles: Roles,
    pairing: Pairing,
    table: Sequence[str],
) -> BoundPairs:
    """Find the columns, and see whether models stand side by side or one below the other."""
    bound = bind(plan, schema, roles, table, keyed=False)
    between = pairing.between
    if bound.models is not None:
        if between != MODEL:
            wrong = "scores are given side by side, which makes the models themselves"
            raise OptionValueError.of("between", between, wrong, "Leave between= out.")
        if pairing.id is not None:
            wrong = "scores are given side by side, so rows are paired already"
            raise OptionValueError.of("id", pairing.id, wrong, "Leave id= out.")
        if len(bound.models) < pairing.least:
            raise OptionValueError.of(
                "score",
                bound.models[0],
                "one model cannot be compared",
                'Give several, say score=["a", "b"].',
            )
        return BoundPairs(
            bound=bound,
            pairing=pairing,
            model=pl.String(),
            between=None,
            ids=(),
            inputs=bound.inputs,
        )
    if between not in schema:
        error = MissingColumnError.of("between", between, schema)
        raise MissingColumnError(f"{error}\n{WAYS}")
    if between in bound.by:
        raise OptionValueError.of(
            "between",
            between,
            "it is a group column too, and models are compared within groups",
            f"Leave {between!r} out of by.",
        )
    ids = as_columns(pairing.id)
    if pairing.paired and not ids:
        raise PairingError.of(
            "id",
            pairing.id,
            "which rows of the models belong together is not said, and this method pairs them",
            'Name the column that says it, say id="id"; give the models side by side as '
            'score=["a", "b"]; or, if they scored different rows, compare them by '
            'method="delong_unpaired".',
        )
    private = private_names(["between", *(f"id {i}" for i in range(len(ids)))], bound.by)
    found = [("between", between, column(between), schema[between])]
    found += [("id", *resolved(plan, schema, "id", one)) for one in ids]
    for argument, name, _, dtype in found:
        if dtype == pl.Object:
            todo = "Rows are sorted by it: cast it first."
            raise ColumnTypeError.of(argument, name, dtype, todo)
    every = zip((expr for _, _, expr, _ in found), private.values(), strict=True)
    return BoundPairs(
        bound=bound,
        pairing=pairing,
        model=schema[between],
        between=private["between"],
        ids=tuple(private.values())[1:],
        inputs=(*bound.inputs, *(expr.alias(name) for expr, name in every)),
    )


def as_columns(given: Column | Sequence[Column] | None) -> list[Column]:
    """Read `id`: nothing, one column, or several."""
    if given is None:
        return []
    several = isinstance(given, Iterable) and not isinstance(given, str | pl.Expr)
    return [*given] if several else [given]  # type: ignore[misc, list-item]


def compared_by(
    predictions: FrameT,
    roles: Roles,
    pairing: Pairing,
    make: Callable[[pl.DataFrame, BoundPairs], pl.DataFrame],
    *,
    schema: Callable[[pl.DataType], dict[str, pl.DataType]],
    anchor: str,
    apart: bool,
) -> FrameT:
    """Plan the table that `make` makes, and return it in the kind of frame given.

    `schema` says its columns for models of some type, `apart` whether groups have nothing to do
    with each other. `anchor` names a column that is never null.
    """

    def resolve(plan: pl.LazyFrame, columns: pl.Schema) -> pl.LazyFrame:
        pairs = bind_pairs(plan, columns, roles, pairing, tuple(schema(pl.String())))
        by = pairs.bound.by
        names = dict(zip(map(str, range(len(by))), by, strict=True))
        return through_node(
            plan.select(pairs.inputs),
            lambda frame: make(frame, pairs).rename(names),
            schema={**pairs.bound.keys, **schema(pairs.model)},
            by=by if apart else (),
            anchor=anchor,
        )

    return like(predictions, planned("predictions", predictions).pipe_with_schema(resolve))


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
        keys=take_rows(cases.keys, rows),
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
