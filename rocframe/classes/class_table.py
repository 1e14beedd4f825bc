"""Rows of several classes in groups, and tables that are computed from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.classes.inputs import (
    checked_labels,
    label_sources,
    read_class_scores,
    read_labels,
    type_family,
)
from rocframe.errors import LabelError
from rocframe.frames import (
    as_input_frame,
    build_table,
    column,
    lazy_plan,
    private_names,
    through_node,
)
from rocframe.inputs.cases import RowState, read_cases
from rocframe.inputs.roles import bind_roles, check_repeated_columns, used_columns
from rocframe.kernel.arrays import sums_at
from rocframe.kernel.groups import RowGroups, scale_weights
from rocframe.options import parse_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.classes.inputs import Classes, LabelColumns, ScoreColumns
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import BoundRoles, Column, Roles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MulticlassRows:
    """Rows with a known class, and their scores of all classes.

    `code` is the number of the class of each row. If rows can belong to several classes, it is 0,
    and `labels` has a Boolean column for each class. `scored` has, for each class, a mask of the
    rows with a score of the class, or None if all have it.
    """

    code: NDArray[np.int32]
    labels: NDArray[np.bool_] | None = None
    scores: Sequence[NDArray[Any]]
    scored: Sequence[NDArray[np.bool_] | None]
    count: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    cluster: NDArray[np.uint32] | None = None

    def take(self, rows: NDArray[Any] | slice) -> MulticlassRows:
        """Return the given rows, in the given order."""
        return MulticlassRows(
            code=self.code[rows],
            labels=None if self.labels is None else self.labels[rows],
            scores=[score[rows] for score in self.scores],
            scored=[None if mask is None else mask[rows] for mask in self.scored],
            count=self.count[rows],
            weight=None if self.weight is None else self.weight[rows],
            cluster=None if self.cluster is None else self.cluster[rows],
        )

    def of_class(self, code: int) -> NDArray[np.bool_]:
        """Return whether each row belongs to the class of this number."""
        return self.code == code if self.labels is None else self.labels[:, code]

    def scored_of_class(self, code: int) -> NDArray[np.bool_]:
        """Return whether each row belongs to the class and has a score of it."""
        rows, scored = self.of_class(code), self.scored[code]
        return rows if scored is None else rows & scored

    @property
    def row_weight(self) -> NDArray[Any]:
        """Count times weight of each row."""
        return self.count if self.weight is None else self.count * self.weight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MulticlassGroups:
    """The rows of all groups, without the rows that are left out.

    `group` is the row of `keys` of each row. `n_missing` counts the rows of each group without a
    label or a score. `classes` are in the order of their numbers; `names` name their scores in
    errors.
    """

    keys: pl.DataFrame
    group: NDArray[np.int64]
    rows: MulticlassRows
    n_missing: NDArray[np.int64]
    classes: pl.Series
    names: list[str]

    @property
    def n(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        return sums_at(self.group, self.rows.count, self.keys.height)


def compute_class_table(
    predictions: FrameT, roles: Roles, classes: Classes, compute: Any, **options: Any
) -> FrameT:
    """Return a table with the group columns and computed columns; see `plan_class_table`."""

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        return plan_class_table(plan, schema, roles, classes, compute, **options)

    return as_input_frame(
        predictions, lazy_plan("predictions", predictions).pipe_with_schema(resolve)
    )


def plan_class_table(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    roles: Roles,
    classes: Classes,
    compute: Callable[[MulticlassGroups], dict[str, Any]],
    *,
    columns: Callable[[pl.DataType], Mapping[str, pl.DataType]],
    anchor: str,
    unknown_label: Callable[..., LabelError] = LabelError.without_score,
    read_columns: Callable[..., ScoreColumns] | None = None,
    check_classes: Callable[[list[Any]], object] = lambda _: None,
    check_labels: Callable[..., object] = lambda **_: None,
    multilabel: bool = False,
) -> pl.LazyFrame:
    """Return the query plan of the group columns and the columns that `compute` returns.

    `columns` returns the names and dtypes of the computed columns for the dtype of the classes; the
    column `anchor` is never null, and an array or list. `read_columns` reads the score columns.
    `check_classes` may raise an error, and so may `check_labels`, which is called with
    `is_multilabel`. With `multilabel`, a row can belong to several classes: the label may be a
    mapping from classes to columns, or a column of lists of classes.
    """
    label: Any = roles.label
    sources = label_sources(plan, schema, label, multilabel=multilabel)
    # A selector of scores must not select the columns of other arguments.
    used = {
        name for one in sources for name in used_columns(plan, schema, replace(roles, label=one))
    }
    scores = (read_columns or read_class_scores)(plan, schema, roles.score, classes, used)
    check_class_roles(roles, sources, "scores", scores.columns)
    labels = read_labels(plan, schema, label, scores, multilabel=multilabel)
    check_labels(is_multilabel=labels.is_multilabel)
    values, is_known, true_classes = _read_true_classes(labels, scores, unknown_label)
    check_classes(values.to_list())
    names = columns(values.dtype)
    plan, exprs = scores.split_lists(plan, [], private_names(["lists"], tuple(schema))["lists"])
    by_class: Any = {
        str(i): expr.alias(name)
        for i, (expr, name) in enumerate(zip(exprs, scores.names, strict=True))
    }
    roles = replace(roles, label=is_known, score=by_class)
    rows, bound, codes = bind_class_rows(plan, schema, roles, true_classes, tuple(names))

    def run(frame: pl.DataFrame) -> pl.DataFrame:
        truths = frame.select(map(column, codes))
        grouped = read_multiclass_groups(frame, bound, truths, values, scores.names)
        return build_class_table(grouped, bound, compute(grouped), names, anchor)

    return through_node(rows, run, schema={**bound.keys, **names}, by=bound.by, anchor=anchor)


def check_class_roles(
    roles: Roles, labels: Sequence[Column], argument: str, scores: Sequence[Column]
) -> None:
    """Raise an error if a column is given for two arguments; `argument` is that of the scores."""
    check_repeated_columns(
        [
            *(("by", group) for group in parse_names(roles.by)),
            *(("label", label) for label in labels),
            *((argument, score) for score in scores),
            *((roles.argument(role), source) for role, source in roles.optional_columns.items()),
        ]
    )


def _read_true_classes(
    labels: LabelColumns, scores: ScoreColumns, unknown_label: Callable[..., LabelError]
) -> tuple[pl.Series, pl.Expr, list[pl.Expr]]:
    """Return the classes, whether a row has a label (or null), and the true classes of the rows.

    The latter are the numbers of the classes or, with several labels per row, a Boolean per class.
    """
    classes, columns = checked_labels(labels, scores, unknown_label)
    name = ", ".join(dict.fromkeys(name for name, _, _ in labels.columns))
    # `read_cases` requires binary labels: true for a known class, null for a missing label.
    is_missing = pl.any_horizontal(values.is_null() for values in columns)
    known = pl.when(~is_missing).then(pl.lit(True)).alias(name)
    if not labels.is_multilabel:
        columns = [_class_numbers(*labels.columns[0][1:], classes)]
    return classes, known, columns


def bind_class_rows(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    roles: Roles,
    columns: Sequence[pl.Expr],
    table: Sequence[str],
) -> tuple[pl.LazyFrame, BoundRoles, list[str]]:
    """Return a plan of the columns of the roles and `columns`, the roles, and their names."""
    bound = bind_roles(plan, schema, roles, table, keyed=False)
    taken = (*bound.by, *bound.private.values())
    names = [*private_names([f"class {i}" for i in range(len(columns))], taken).values()]
    numbered = (expr.alias(name) for expr, name in zip(columns, names, strict=True))
    return plan.select(*bound.inputs, *numbered), bound, names


def build_class_table(
    grouped: MulticlassGroups,
    bound: BoundRoles,
    columns: Mapping[str, Any],
    schema: Mapping[str, pl.DataType],
    anchor: str,
) -> pl.DataFrame:
    """Return the table of computed columns; each group has as many rows as any other."""
    n_groups = grouped.keys.height
    rows = np.repeat(np.arange(n_groups), len(columns[anchor]) // max(n_groups, 1))
    table = build_table(grouped.keys, columns, schema, rows=rows)
    return table.rename({str(i): name for i, name in enumerate(bound.by)})


def _class_numbers(label: pl.Expr, dtype: pl.DataType, classes: pl.Series) -> pl.Expr:
    """Return the number of each label among the classes; 0 for a missing label."""
    if type_family(dtype) == "text":
        label, classes = label.cast(pl.String), classes.cast(pl.String)
    numbers = pl.Series(range(len(classes)), dtype=pl.Int32)
    return label.replace_strict(classes, numbers, default=0, return_dtype=pl.Int32)


def read_multiclass_groups(
    frame: pl.DataFrame,
    bound: BoundRoles,
    truths: pl.DataFrame,
    classes: pl.Series,
    names: list[str],
) -> MulticlassGroups:
    """Return the rows of all groups of a collected frame, without the rows that are left out.

    `truths` has the number of the class of each row, or a Boolean column for each class.
    """
    cases = list(read_cases(frame, bound))
    first, n = scale_weights(cases[0]), frame.height
    states = [case.state for case in cases if case.state is not None]

    def any_state(state: RowState) -> NDArray[np.bool_]:
        mask = np.zeros(n, bool)
        for values in states:
            mask |= values == state
        return mask

    absent, left_out, unscored = map(
        any_state, (RowState.ABSENT, RowState.LEFT_OUT, RowState.UNSCORED)
    )
    used = ~(left_out | absent)
    count = np.ones(n, np.int64) if first.count is None else first.count
    groups = RowGroups.from_keys(first.keys, n)
    group = groups.number
    missing = (left_out & ~absent) | (unscored & used)
    n_missing = sums_at(group[missing], count[missing], groups.keys.height)
    codes, labels = truths.to_series().to_numpy(), None
    if truths.to_series().dtype == pl.Boolean:
        codes, labels = np.zeros(n, np.int32), truths.fill_null(False).to_numpy()
    rows = MulticlassRows(
        code=codes,
        labels=labels,
        scores=[case.score for case in cases],
        scored=[None if case.state is None else case.state != RowState.UNSCORED for case in cases],
        count=count,
        weight=first.weight,
        cluster=first.cluster,
    )
    if not used.all():
        rows, group = rows.take(used), group[used]
    return MulticlassGroups(
        keys=groups.keys, group=group, rows=rows, n_missing=n_missing, classes=classes, names=names
    )
