"""Rows of several classes in groups, and tables that are computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.classes.inputs import (
    binary_label,
    check_single_label,
    known_labels,
    labels_of_lists,
    read_class_scores,
    read_labels,
    type_family,
    typed_classes,
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
from rocframe.inputs.roles import (
    bind_roles,
    check_repeated_columns,
    used_columns,
)
from rocframe.kernel.groups import RowGroups, scale_weights
from rocframe.options import parse_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.classes.inputs import Classes, ClassLabels, ScoreColumns
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import BoundRoles, Column, Roles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MulticlassRows:
    """Rows with a known class, and their scores of all classes.

    `code` is the number of the class of each row. If rows can belong to several classes, it is 0,
    and `labels` has a column for each class, which is true for its rows; otherwise it is None.
    `scored` has, for each class, a mask of the rows that have a score of the class, or None if all
    rows have it.
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

    @property
    def row_weight(self) -> NDArray[Any]:
        """Count times weight of each row."""
        return self.count if self.weight is None else self.count * self.weight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MulticlassGroups:
    """The rows of all groups, without the rows that are left out.

    `keys` has one row per group, and `group` is the group of each row. `n_missing` counts the rows
    of each group without a label or a score. `classes` are the classes in the order of their
    numbers, and `names` the names of their scores in error messages.
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
        n = np.zeros(self.keys.height, np.int64)
        np.add.at(n, self.group, self.rows.count)
        return n


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
    rows_per_group: Callable[[MulticlassGroups], int] = lambda _: 1,
    anchor: str,
    unknown_label: Callable[..., LabelError] = LabelError.without_score,
    read_columns: Callable[..., ScoreColumns] | None = None,
    check_classes: Callable[[list[Any]], object] = lambda _: None,
    multilabel: bool = False,
) -> pl.LazyFrame:
    """Return the query plan of the group columns and the columns that `compute` returns.

    `columns` returns the names and dtypes of the computed columns for the dtype of the classes; the
    column `anchor` is never null. `rows_per_group` returns the number of rows of each group.
    `unknown_label` composes the error for labels that are not one of the classes. `read_columns`
    reads the score columns; by default `read_class_scores`. `check_classes` may raise an error for
    the classes. With `multilabel`, a row can belong to several classes: the label may be a mapping
    from classes to columns, or a column of lists of classes.
    """
    label: Any = roles.label
    if not multilabel:
        check_single_label(label)
    labels = [*label.values()] if isinstance(label, Mapping) else [label]
    # A selector of scores must not select the columns of other arguments.
    used = {
        name for one in labels for name in used_columns(plan, schema, replace(roles, label=one))
    }
    scores = (read_columns or read_class_scores)(plan, schema, roles.score, classes, used)
    arguments: list[tuple[str, Column]] = [("by", group) for group in parse_names(roles.by)]
    arguments += [("scores", score) for score in scores.columns]
    check_repeated_columns([*(("label", one) for one in labels), *arguments])
    label = labels_of_lists(plan, schema, label, scores) if multilabel else label
    truth = _true_classes(plan, schema, label, scores, unknown_label)
    values = truth.classes
    check_classes(values.to_list())
    names = columns(values.dtype)
    rows, bound, codes = _encode(plan, schema, roles, scores, truth=truth, table=tuple(names))

    def run(frame: pl.DataFrame) -> pl.DataFrame:
        truths = frame.select(map(column, codes))
        grouped = read_multiclass_groups(frame, bound, truths, values, scores.names)
        group_of_row = np.repeat(np.arange(grouped.keys.height), rows_per_group(grouped))
        table = build_table(grouped.keys, compute(grouped), names, rows=group_of_row)
        return table.rename({str(i): name for i, name in enumerate(bound.by)})

    return through_node(rows, run, schema={**bound.keys, **names}, by=bound.by, anchor=anchor)


class TrueClasses(NamedTuple):
    """The classes in the order of their numbers, and the true classes of the rows.

    `is_known` is true for rows with a label, and null for others. `columns` has the number of the
    class of each row or, if rows can belong to several classes, a Boolean for each class.
    """

    classes: pl.Series
    is_known: pl.Expr
    columns: list[pl.Expr]


def _true_classes(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    label: ClassLabels,
    scores: ScoreColumns,
    unknown_label: Callable[..., LabelError],
) -> TrueClasses:
    """Check the labels, and return the classes of the rows."""
    sources = read_labels(plan, schema, label, scores)
    name, expr, dtype = sources[0]
    is_single = not isinstance(label, Mapping)
    classes = typed_classes(
        scores.argument, scores.classes or [], dtype if is_single else None, name
    )
    if not is_single:
        columns = [binary_label(*source) for source in sources]
        is_missing = pl.any_horizontal(values.is_null() for values in columns)
        name = ", ".join(dict.fromkeys(one for one, _, _ in sources))
        known = pl.when(~is_missing).then(pl.lit(True)).alias(name)
        return TrueClasses(classes, known, columns)
    checked = known_labels(
        expr,
        dtype,
        classes,
        lambda labels: unknown_label(name, labels, classes.to_list(), scores.argument),
    )
    # `read_cases` requires binary labels: true for a known class, null for a missing label.
    known = pl.when(checked.is_not_null()).then(pl.lit(True)).alias(name)
    return TrueClasses(classes, known, [_class_numbers(expr, dtype, classes)])


def _encode(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    roles: Roles,
    scores: ScoreColumns,
    *,
    truth: TrueClasses,
    table: Sequence[str],
) -> tuple[pl.LazyFrame, BoundRoles, list[str]]:
    """Return a plan of the columns to read, their roles, and the columns of the true classes."""
    plan, exprs = scores.split_lists(plan, [], private_names(["lists"], tuple(schema))["lists"])
    named = [expr.alias(source) for expr, source in zip(exprs, scores.names, strict=True)]
    columns: Any = {str(i): expr for i, expr in enumerate(named)}
    bound = bind_roles(
        plan, schema, replace(roles, label=truth.is_known, score=columns), table, keyed=False
    )
    codes = [*private_names([f"class {i}" for i in range(len(truth.columns))], bound.by).values()]
    numbered = (expr.alias(name) for expr, name in zip(truth.columns, codes, strict=True))
    return plan.select(*bound.inputs, *numbered), bound, codes


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
    n_missing = np.zeros(groups.keys.height, np.int64)
    missing = (left_out & ~absent) | (unscored & used)
    np.add.at(n_missing, group[missing], count[missing])
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
        keys=groups.keys,
        group=group,
        rows=rows,
        n_missing=n_missing,
        classes=classes,
        names=names,
    )
