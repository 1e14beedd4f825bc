"""Class labels as numbers, and the rows that count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.classes.inputs import known_labels
from rocframe.frames import private_names
from rocframe.inputs.cases import State
from rocframe.inputs.roles import TYPE_CHECKS, Roles, bind, resolved
from rocframe.options import NOT_GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.classes.inputs import Scores
    from rocframe.errors import LabelError
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import Bound, By, Column, Count, Missing


CODE = "code"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coded:
    """A plan of nothing but what a node reads, and which of its columns is what.

    `code` is the column with the place of each label among the classes, 0 for none; `bound` has a
    score for each class.
    """

    plan: pl.LazyFrame
    bound: Bound
    code: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """What the caller said the columns are, apart from the scores."""

    label: Column
    by: By
    weight: Column | None = None
    count: Count = NOT_GIVEN
    missing: Missing = "raise"
    cluster: Column | None = None


def coded(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    given: Given,
    scores: Scores,
    read_classes: Callable[[pl.DataType, str], pl.Series],
    *,
    table: Sequence[str],
    error: Callable[..., LabelError],
) -> Coded:
    """Find all columns in a plan; `table` names those that will be made.

    `read_classes` makes classes of the type of the labels; `error` is for labels that are none.
    """
    name, truth, dtype = resolved(plan, schema, "label", given.label)
    TYPE_CHECKS["label"](name, dtype)
    classes = read_classes(dtype, name)
    plan, exprs = scores.apart(plan, [], private_names(["lists"], tuple(schema))["lists"])

    def wrong(strange: list[object]) -> LabelError:
        return error(name, strange, classes.to_list(), scores.argument)

    checked = known_labels(truth, dtype, classes, wrong)
    roles = Roles(
        # A row whose class is not known is one whose label is missing.
        label=pl.when(checked.is_not_null()).then(pl.lit(True)).alias(name),
        score=pl.lit(0.0),  # those of all classes take its place
        by=given.by,
        weight=given.weight,
        count=given.count,
        missing=given.missing,
        cluster=given.cluster,
    )
    bound = _of_all(bind(plan, schema, roles, table), exprs, scores.names)
    code = bound.private[CODE]
    own = {role: name for role, name in bound.private.items() if role != CODE}
    return Coded(
        plan=plan.select(*bound.inputs, _places(truth, dtype, classes).alias(code)),
        bound=replace(bound, private=own),
        code=code,
    )


def _of_all(bound: Bound, exprs: Sequence[pl.Expr], names: Sequence[str]) -> Bound:
    """Give what is bound to the score of one class the scores of all classes."""
    roles = [f"score {i}" for i in range(len(exprs))]
    private = private_names([*roles, CODE], bound.by)
    # The score stands behind the groups and the label.
    others = [expr for i, expr in enumerate(bound.inputs) if i != len(bound.by) + 1]
    scores = [expr.alias(private[role]) for role, expr in zip(roles, exprs, strict=True)]
    return replace(
        bound,
        models=tuple(roles),
        inputs=(*others, *scores),
        private={**bound.private, **private},
        names={**bound.names, **dict(zip(roles, names, strict=True))},
    )


def _places(truth: pl.Expr, dtype: pl.DataType, classes: pl.Series) -> pl.Expr:
    """Return the place of each label among the classes; 0 for none."""
    text = dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical)
    known = classes.cast(pl.String) if text else classes
    label = truth.cast(pl.String) if text else truth
    places = pl.Series(range(len(classes)), dtype=pl.Int32)
    return label.replace_strict(known, places, default=0, return_dtype=pl.Int32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Used:
    """What becomes of each row: it is used, left out, or absent; `unscored` ones lack a score."""

    used: NDArray[np.bool_]
    left_out: NDArray[np.bool_]
    unscored: NDArray[np.bool_]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, every: Sequence[Cases]) -> Used:
        """Look at the cases of each class: a row is left out for all classes."""
        size = len(every[0].negative)
        left_out, absent, unscored = (np.zeros(size, bool) for _ in range(3))
        for cases in every:
            if cases.state is not None:
                left_out |= cases.state == State.LEFT_OUT
                absent |= cases.state == State.ABSENT
                unscored |= cases.state == State.UNSCORED
        used = ~left_out & ~absent
        count = every[0].count
        return cls(
            used=used,
            left_out=left_out & ~absent,
            unscored=unscored & used,
            count=np.ones(size, np.int64) if count is None else count,
        )

    def n_missing(self, group: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
        """Count the rows of each group that lack a label or a score."""
        found = np.zeros(groups, np.int64)
        lost = self.left_out | self.unscored
        np.add.at(found, group[lost], self.count[lost])
        return found


def numbered_groups(starts: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the group of each row."""
    group = np.empty(len(order), np.int64)
    group[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return group
