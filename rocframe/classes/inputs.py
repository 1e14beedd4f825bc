"""Read the labels and scores of tables with many classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
import polars.selectors as cs

from rocframe.errors import ColumnTypeError, LabelError, OptionValueError
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
    Column,
    bind_roles,
    check_repeated_columns,
    resolve_column,
    returns_several_columns,
    selected_names,
    used_columns,
)
from rocframe.kernel.groups import RowGroups, scale_weights
from rocframe.options import check_distinct, parse_names
from rocframe.text import format_key, format_list, format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import BoundRoles, Roles


ClassScores: TypeAlias = Column | Sequence[Column] | Mapping[Any, Column]
Classes: TypeAlias = str | Sequence[Any] | None

SCORES_HINT = (
    "Pass {class: column}, several columns named like their classes, or one column of lists."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreColumns:
    """The score columns of a table with many classes.

    `classes` has the class of each score, and `argument` is the name of the option with the
    classes. `names` are the names of the scores in error messages. `columns` are the columns of the
    scores, by name or as expressions. If the scores are in one column of lists, `lists` has its
    name, expression and dtype, and `exprs` is empty. If each row is one instance and one class,
    there is one score, `classes` is None and `class_column` is the name of the column with the
    class.
    """

    classes: list[Any] | None
    exprs: list[pl.Expr]
    names: list[str]
    columns: list[Column]
    argument: str = "scores"
    lists: tuple[str, pl.Expr, pl.DataType] | None = None
    class_column: str | None = None

    def split_lists(
        self, plan: pl.LazyFrame, ids: Sequence[pl.Expr], name: str
    ) -> tuple[pl.LazyFrame, list[pl.Expr]]:
        """Return the query plan, and an expression for the score of each class.

        If the scores are in lists, the lists are checked and copied into the column `name`. `ids`
        are the columns that identify a row in error messages.
        """
        if self.lists is None:
            return plan, self.exprs
        source, lists, dtype = self.lists
        checked = _with_length_check(lists.alias(name), dtype, source, ids, len(self.names))
        return plan.with_columns(checked.alias(name)), [
            column(name).list.get(i, null_on_oob=True) for i in range(len(self.names))
        ]


def read_scores(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    scores: ClassScores,
    classes: Classes,
    used: Container[str],
    *,
    ordered: bool = False,
) -> ScoreColumns:
    """Check the options `scores` and `classes`, and return the score columns.

    A selector of scores must not select a column in `used`. If `scores` is one numeric column: with
    `ordered`, the score increases from class to class in the order of `classes`; without it,
    `classes` is the name of the column with the class of each row.
    """
    single = isinstance(scores, str) or (
        isinstance(scores, pl.Expr) and not returns_several_columns(scores)
    )
    if not single:
        return _read_class_columns(plan, schema, scores, classes, used)
    name, expr, dtype = resolve_column(plan, schema, "scores", scores)  # type: ignore[arg-type]
    columns: list[Column] = [scores]  # type: ignore[list-item]
    if isinstance(dtype, pl.List | pl.Array):
        return _read_score_lists(name, expr, dtype, columns, classes)
    _check_numeric(name, dtype)
    if ordered:
        values = _list_classes(
            classes,
            f"{name!r} is the only score column, so the order of the three classes is required",
            'Pass the classes from lowest to highest, such as classes=["low", "mid", "high"].',
        )
        return ScoreColumns(
            classes=values, exprs=[expr], names=[name], columns=columns, argument="classes"
        )
    if not isinstance(classes, str):
        raise OptionValueError.compose(
            "scores",
            name,
            f"expected a score for each class, but this is one column of type {dtype}",
            f"{SCORES_HINT}\nIf each row is one instance and one class, pass the name of the "
            'column with the class, such as classes="class".',
        )
    return ScoreColumns(
        classes=None, exprs=[expr], names=[name], columns=columns, class_column=classes
    )


def _list_classes(classes: Classes, problem: str, hint: str) -> list[Any]:
    """Return the classes as a list; raise an error if they are text or not iterable."""
    is_list = hasattr(classes, "__iter__") and not isinstance(classes, str | bytes)
    if classes is None or not is_list:
        raise OptionValueError.compose("classes", classes, problem, hint)
    return list(classes)


def read_class_scores(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    scores: ClassScores,
    classes: Classes,
    used: Container[str],
) -> ScoreColumns:
    """Return the score columns of a table that has one row per instance."""
    columns = read_scores(plan, schema, scores, classes, used)
    if columns.classes is None:
        raise OptionValueError.compose(
            "classes",
            classes,
            "expected a column of scores for each class, instead of one row per instance and class",
            f'Pivot the table first, such as .pivot({columns.class_column!r}, index="id", …).',
        )
    return columns


def _read_class_columns(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    scores: ClassScores,
    classes: Classes,
    used: Container[str],
) -> ScoreColumns:
    """Read scores that have a column for each class."""
    if classes is not None:
        problem = "scores= already determines the classes"
        raise OptionValueError.compose("classes", classes, problem, "Leave out classes=.")
    values: list[Any] = []
    columns: list[Column] = []
    if isinstance(scores, Mapping):
        values, columns = list(scores), list(scores.values())
    else:
        entries: list[Any] = [scores]
        if not isinstance(scores, str | pl.Expr):
            is_list = hasattr(scores, "__iter__") and not isinstance(scores, pl.Series)
            entries = list(scores) if is_list else []
        for entry in entries:
            names, expanded = _expand_selector(plan, schema, entry, used)
            values += names
            columns += expanded
        check_distinct("scores", values)
    if not columns:
        raise OptionValueError.compose(
            "scores", scores, "expected at least one column", SCORES_HINT
        )
    sources = [resolve_column(plan, schema, "scores", entry) for entry in columns]
    for name, _, dtype in sources:
        _check_numeric(name, dtype)
    return ScoreColumns(
        classes=values,
        exprs=[expr for _, expr, _ in sources],
        names=[name for name, _, _ in sources],
        columns=columns,
    )


def _expand_selector(
    plan: pl.LazyFrame, schema: pl.Schema, entry: Any, used: Container[str]
) -> tuple[list[str], list[Column]]:
    """Return names and columns of one entry of `scores`, which may be a selector."""
    if not isinstance(entry, pl.Expr) or not returns_several_columns(entry):
        return [resolve_column(plan, schema, "scores", entry)[0]], [entry]
    if not cs.is_selector(entry):
        problem = "the expression returns several columns"
        raise OptionValueError.compose(
            "scores", entry, problem, "Pass a selector, or a list with one expression per class."
        )
    names = selected_names(plan, schema, "scores", entry, used)
    return names, list(names)


def _read_score_lists(
    name: str,
    expr: pl.Expr,
    dtype: pl.List | pl.Array,
    columns: list[Column],
    classes: Classes,
) -> ScoreColumns:
    """Read scores that are in one column of lists or arrays."""
    inner = dtype.inner() if isinstance(dtype.inner, type) else dtype.inner
    _check_numeric(name, inner)
    values = _list_classes(
        classes,
        f"column {name!r} contains lists of scores, so the order of the classes is required",
        'Pass the classes in the order of the lists, such as classes=["a", "b", "c"].',
    )
    size = dtype.size if isinstance(dtype, pl.Array) else len(values)
    if not values or size != len(values):
        raise OptionValueError.compose(
            "classes",
            values,
            f"column {name!r} has {size} scores per row" if size else "expected at least one class",
            "Pass one class for each score.",
        )
    return ScoreColumns(
        classes=values,
        exprs=[],
        names=[name] * size,
        columns=columns,
        argument="classes",
        lists=(name, expr.arr.to_list() if isinstance(dtype, pl.Array) else expr, pl.List(inner)),
    )


def _with_length_check(
    lists: pl.Expr, dtype: pl.DataType, name: str, ids: Sequence[pl.Expr], size: int
) -> pl.Expr:
    """Return the expression `lists` with a check.

    The expression raises an error if a list is null or does not have `size` scores.
    """

    def run(rows: pl.Series) -> pl.Series:
        values = rows.struct.unnest().to_series(-1)
        has_other_length = (values.list.len() != size).fill_null(True)
        if has_other_length.any():
            # polars may check several batches in parallel, so the total number of wrong rows is
            # unknown here.
            row = rows.filter(has_other_length)[0]
            _, scores = row.popitem()
            key = format_key(row, row.values())
            raise OptionValueError.compose(
                "scores",
                name,
                f"expected {size} scores in each row, one for each class",
                f"{f'The row where {key}' if key else 'One row'} has {format_value(scores)}.\n"
                "Correct such rows, or remove them with .filter().",
            )
        return values

    packed = pl.struct(*ids, lists)
    return packed.map_batches(run, return_dtype=dtype, is_elementwise=True)


def _check_numeric(name: str, dtype: pl.DataType) -> None:
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        raise ColumnTypeError.compose(
            "scores", name, dtype, "Scores must be numbers. Cast the column first."
        )


def check_single_label(label: object) -> None:
    """Raise an error if there is a label column for each class."""
    if not isinstance(label, str | pl.Expr):
        problem = "expected one label column, because each row must have one true class"
        hint = "Pass one column, or use one_vs_rest for several labels per row."
        raise OptionValueError.compose("label", label, problem, hint)


def check_class_type(argument: str, name: str, dtype: pl.DataType) -> None:
    """Raise an error if the type of a column of classes is not supported."""
    if not (_type_family(dtype) in {"text", "number"} or dtype == pl.Boolean):
        hint = (
            "Classes must be Boolean, numbers, String, Categorical or Enum: convert the column "
            "first."
        )
        if dtype.is_nested():
            hint += " For several labels per row, use one_vs_rest."
        raise ColumnTypeError.compose(argument, name, dtype, hint)


def typed_classes(
    argument: str, values: Sequence[Any], dtype: pl.DataType | None, label: str
) -> pl.Series:
    """Return the classes in the type `dtype` of the labels; if it is None, infer the type."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    check_distinct(argument, plain)
    try:
        series = pl.Series("class", plain, strict=True)
        typed = series if dtype is None else series.cast(dtype)
        unchanged = typed.cast(series.dtype).eq(series).all()
        fits = dtype is None or (is_comparable(series.dtype, dtype) and unchanged)
        fits = fits and not typed.null_count()
    except (pl.exceptions.PolarsError, OverflowError, TypeError):
        fits = False
    if fits and _type_family(typed.dtype) in {"text", "number", "Boolean"}:
        return typed
    if dtype is None:
        problem = "expected classes of one type: text, numbers or Booleans"
        raise OptionValueError.compose(argument, plain, problem, "Convert the classes to one type.")
    name, values = str(dtype), ""
    if isinstance(dtype, pl.Enum):
        name, values = "Enum", f" with the values {format_list(dtype.categories)}"
    raise OptionValueError.compose(
        argument,
        plain,
        f"some of these classes cannot be labels of column {label!r}, which has type {name}"
        f"{values}",
        "Name each class by its label, such as scores={0: 'p0', 1: 'p1'} for labels 0 and 1.",
    )


def is_comparable(first: pl.DataType, second: pl.DataType) -> bool:
    """Return whether values of the two types can be equal."""
    return _type_family(first) == _type_family(second)


def _type_family(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "number"
    is_text = dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical)
    return "text" if is_text else str(dtype)


def known_labels(
    label: pl.Expr,
    dtype: pl.DataType,
    classes: pl.Series,
    error: Callable[[list[object]], LabelError],
) -> pl.Expr:
    """Return labels with NaN as null; raise an error if a label is not one of the classes."""
    known = set(classes.to_list())

    def check(values: pl.Series) -> None:
        unknown = unknown_values(values, known)
        if unknown:
            raise error(unknown)

    return with_check(nan_as_null(label, dtype), check, dtype)


def nan_as_null(expr: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return the expression with null instead of NaN; `dtype` is its type."""
    return expr.fill_nan(None) if dtype.is_float() else expr


def unknown_values(values: pl.Series, known: set[Any]) -> list[Any]:
    """Return the distinct values that are not in `known`, sorted, without null."""
    return sorted(value for value in values.drop_nulls().unique().to_list() if value not in known)


def with_check(expr: pl.Expr, check: Callable[[pl.Series], None], dtype: pl.DataType) -> pl.Expr:
    """Return the expression; `check` is called with its values and may raise an error."""

    def run(values: pl.Series) -> pl.Series:
        check(values.alias(""))  # methods of a Series treat a name of the form `^…$` as a pattern
        return values

    return expr.map_batches(run, return_dtype=dtype, is_elementwise=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MulticlassRows:
    """Rows with a known class, and their scores of all classes.

    `code` is the number of the class of each row. `scored` has an array for each class: True for
    rows that have a score of the class. The array is None if all rows have this score. `weight` and
    `cluster` are None if they are not given.
    """

    code: NDArray[np.int32]
    scores: Sequence[NDArray[Any]]
    scored: Sequence[NDArray[np.bool_] | None]
    count: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    cluster: NDArray[np.uint32] | None = None

    def take(self, rows: NDArray[Any] | slice) -> MulticlassRows:
        """Return the given rows, in the given order."""
        return MulticlassRows(
            code=self.code[rows],
            scores=[score[rows] for score in self.scores],
            scored=[None if mask is None else mask[rows] for mask in self.scored],
            count=self.count[rows],
            weight=None if self.weight is None else self.weight[rows],
            cluster=None if self.cluster is None else self.cluster[rows],
        )

    @property
    def row_weight(self) -> NDArray[Any]:
        """Count times weight of each row."""
        return self.count if self.weight is None else self.count * self.weight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MulticlassGroups:
    """The rows of all groups, without the rows that are left out.

    `keys` has one row per group, and `group` is the group of each row. `n_missing` is the number of
    rows of each group without a label or a score. `names` are the names of the scores in error
    messages.
    """

    keys: pl.DataFrame
    group: NDArray[np.int64]
    rows: MulticlassRows
    n_missing: NDArray[np.int64]
    names: list[str]


def compute_class_table(
    predictions: FrameT,
    roles: Roles,
    read_columns: Callable[[pl.LazyFrame, pl.Schema, set[str]], ScoreColumns],
    compute: Callable[[MulticlassGroups], dict[str, Any]],
    *,
    columns: Mapping[str, pl.DataType],
    rows_per_group: int = 1,
    anchor: str,
    unknown_label: Callable[..., LabelError],
) -> FrameT:
    """Return a table with the group columns and the columns that `compute` returns.

    `read_columns` returns the score columns; its third argument contains the columns that a
    selector of scores must not select. `roles` contains all other options. `columns` are the names
    and dtypes of the computed columns; the column `anchor` is never null. `unknown_label` composes
    the error for labels that are not one of the classes.
    """

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        scores = read_columns(plan, schema, used_columns(plan, schema, roles))
        plan, bound, code = _encode(
            plan, schema, roles, scores, table=tuple(columns), unknown_label=unknown_label
        )

        def run(frame: pl.DataFrame) -> pl.DataFrame:
            grouped = _read_multiclass_groups(frame, bound, code, scores.names)
            group_of_row = np.repeat(np.arange(grouped.keys.height), rows_per_group)
            table = build_table(grouped.keys, compute(grouped), columns, rows=group_of_row)
            return table.rename({str(i): name for i, name in enumerate(bound.by)})

        schema_out = {**bound.keys, **columns}
        return through_node(plan, run, schema=schema_out, by=bound.by, anchor=anchor)

    return as_input_frame(
        predictions, lazy_plan("predictions", predictions).pipe_with_schema(resolve)
    )


def _encode(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    roles: Roles,
    scores: ScoreColumns,
    *,
    table: Sequence[str],
    unknown_label: Callable[..., LabelError],
) -> tuple[pl.LazyFrame, BoundRoles, str]:
    """Return a plan of the columns to read, and their roles.

    The third result is the name of the column with the number of the class of each row.
    """
    check_single_label(roles.label)
    name, label, dtype = resolve_column(plan, schema, "label", roles.label)
    arguments: list[tuple[str, Column]] = [("by", group) for group in parse_names(roles.by)]
    arguments += [("scores", score) for score in scores.columns]
    check_repeated_columns([("label", roles.label), *arguments])
    check_class_type("label", name, dtype)
    classes = typed_classes(scores.argument, scores.classes or [], dtype, name)
    plan, exprs = scores.split_lists(plan, [], private_names(["lists"], tuple(schema))["lists"])
    checked = known_labels(
        label,
        dtype,
        classes,
        lambda labels: unknown_label(name, labels, classes.to_list(), scores.argument),
    )
    # `read_cases` requires binary labels: true for a known class, null for a missing label.
    is_known = pl.when(checked.is_not_null()).then(pl.lit(True)).alias(name)
    named = [expr.alias(source) for expr, source in zip(exprs, scores.names, strict=True)]
    columns = {str(i): expr for i, expr in enumerate(named)}
    roles = replace(roles, label=is_known, score=columns)
    bound = bind_roles(plan, schema, roles, table, keyed=False)
    code = private_names(["code"], bound.by)["code"]
    return (
        plan.select(*bound.inputs, _class_numbers(label, dtype, classes).alias(code)),
        bound,
        code,
    )


def _class_numbers(label: pl.Expr, dtype: pl.DataType, classes: pl.Series) -> pl.Expr:
    """Return the number of each label among the classes; 0 for a missing label."""
    if _type_family(dtype) == "text":
        label, classes = label.cast(pl.String), classes.cast(pl.String)
    numbers = pl.Series(range(len(classes)), dtype=pl.Int32)
    return label.replace_strict(classes, numbers, default=0, return_dtype=pl.Int32)


def _read_multiclass_groups(
    frame: pl.DataFrame, bound: BoundRoles, code: str, names: list[str]
) -> MulticlassGroups:
    """Return the rows of all groups of a collected frame, without the rows that are left out."""
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
    rows = MulticlassRows(
        code=frame.get_column(code).to_numpy(),
        scores=[case.score for case in cases],
        scored=[None if case.state is None else case.state != RowState.UNSCORED for case in cases],
        count=count,
        weight=first.weight,
        cluster=first.cluster,
    )
    if not used.all():
        rows, group = rows.take(used), group[used]
    return MulticlassGroups(
        keys=groups.keys, group=group, rows=rows, n_missing=n_missing, names=names
    )
