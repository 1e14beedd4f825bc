"""Read the columns of a table with many classes for binary predictions of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
import polars.selectors as cs

from rocframe.classes.inputs import (
    check_class_type,
    is_comparable,
    known_labels,
    nan_as_null,
    read_scores,
    typed_classes,
    unknown_values,
    with_check,
)
from rocframe.errors import (
    ColumnTypeError,
    LabelError,
    MissingColumnError,
    OptionValueError,
    PairingError,
    RepeatedNameError,
)
from rocframe.frames import column, private_names
from rocframe.inputs.cases import scores_as_floats
from rocframe.inputs.roles import Column, output_columns, resolve_column, source_columns
from rocframe.text import format_count, format_list

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocframe.classes.inputs import Classes, ClassScores, ScoreColumns


ClassLabels: TypeAlias = Column | Mapping[Any, Column]
KeepColumns: TypeAlias = str | Sequence[str] | pl.Expr | None
ResolvedColumn: TypeAlias = tuple[str, pl.Expr, pl.DataType]
ID = "id"
ID_HINT = 'Pass the columns that identify an instance, such as id="id".'


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """A query plan with the kept columns, and with labels and scores under private names.

    `kept_columns` are the input columns of the result. The last of them, `id_names`, identify
    instances. Each class of `classes` has an item in `scores`, the expression of its score, and in
    `names`, the name of this score in the table.

    `labels` has one expression, the true class. If `is_multilabel` is True, `labels` has an
    expression for each class, which is true if the row belongs to the class. If each row is one
    instance and one class, there is one score, `classes` is empty, and `row_class` is the class of
    the row.
    """

    plan: pl.LazyFrame
    kept_columns: tuple[pl.Expr, ...]
    id_names: list[str]
    labels: tuple[pl.Expr, ...]
    scores: tuple[pl.Expr, ...]
    names: tuple[str, ...]
    classes: pl.Series
    row_class: pl.Expr | None
    is_multilabel: bool

    @property
    def ids(self) -> tuple[pl.Expr, ...]:
        """The columns that identify instances."""
        return tuple(map(column, self.id_names))

    def class_literal(self, i: int) -> pl.Expr:
        """Return class `i` as an expression."""
        return pl.lit(self.classes[i], dtype=self.classes.dtype)

    def is_of_class(self, i: int) -> pl.Expr:
        """Return an expression that is true for the rows of class `i`."""
        return self.labels[i] if self.is_multilabel else self.labels[0] == self.class_literal(i)

    def float_scores(self) -> tuple[pl.Expr, ...]:
        """Return the scores as floats of one type, with null instead of NaN."""
        dtypes = self.plan.select(self.scores).collect_schema().dtypes()
        dtype = pl.Float32() if set(dtypes) == {pl.Float32} else pl.Float64()
        return tuple(
            score.fill_nan(None) for score in _exact_floats(self.scores, dtypes, self.names, dtype)
        )

    def unique_rows(self) -> pl.Expr:
        """Return an expression that is true for each row.

        The expression raises an error if an instance has two rows of one class, or two labels.
        """
        assert self.row_class is not None

        def run(rows: pl.Series) -> pl.Series:
            table = rows.struct.unnest()
            labels = table.group_by(pl.exclude("class")).agg(pl.len(), pl.col("class").n_unique())
            ids = labels.drop("label", "len", "class")
            different = ids.is_duplicated()
            problem = rule = correction = ""
            if (labels["class"] < labels["len"]).any():
                repeated = format_count(int(table.drop("label").is_duplicated().sum()), "row")
                problem = f"{repeated} have the same id and class as another row"
                rule, correction = "one row per class", "remove the repeated rows"
            elif different.any():
                instances = format_count(ids.filter(different).n_unique(), "instance")
                problem = f"rows with the same id have different labels, in {instances}"
                rule, correction = "one label", "correct the labels"
            if problem:
                hint = (
                    f"An instance must have {rule}. In id=, pass all columns that identify an "
                    f'instance, such as id=["model", "id"]. Or {correction}.'
                )
                raise PairingError.compose("id", self.id_names, problem, hint)
            return pl.Series([True]).new_from_index(0, len(rows))

        columns = pl.struct(
            *(expr.alias(str(i)) for i, expr in enumerate(self.ids)),
            self.row_class.alias("class"),
            self.labels[0].alias("label"),
        )
        return columns.map_batches(run, return_dtype=pl.Boolean())


def read_layout(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    label: ClassLabels,
    scores: ClassScores,
    *,
    classes: Classes,
    id: str | Sequence[str] | None,  # noqa: A002 - the public name
    keep: KeepColumns,
    table: Sequence[str],
) -> Layout:
    """Return the layout for the options of `one_vs_rest` or `one_vs_one`, after a check.

    `table` are the names of the computed columns.
    """
    ids = None if id is None else _column_names(plan, schema, "id", id)
    if ids == []:
        raise OptionValueError.compose("id", id, "expected at least one column", ID_HINT)
    sources = label.values() if isinstance(label, Mapping) else [label]
    used = {name for s in sources for name in source_columns(plan, schema, "label", s)}
    score_columns = read_scores(plan, schema, scores, classes, used.union(ids or ()))
    labels = _read_labels(plan, schema, label, score_columns)
    class_column = score_columns.class_column
    if class_column is not None:
        used.add(class_column)
        if id is None:
            raise OptionValueError.compose(
                "id",
                None,
                "the table has one row per instance and class, so id= is required",
                ID_HINT,
            )
    for source in score_columns.columns:
        used.update(source_columns(plan, schema, "scores", source))
    kept_columns = _read_kept_columns(plan, schema, keep=keep, ids=ids, used=used, table=table)
    label_roles = [f"label {i}" for i in range(len(labels))]
    score_roles = [f"score {i}" for i in range(len(score_columns.names))]
    names = private_names([*label_roles, *score_roles, "class", "row", "lists"], (*schema, ID))
    if ids is None:
        plan = plan.with_row_index(names["row"])
        id_exprs = [column(names["row"]).alias(ID)]
    else:
        id_exprs = [column(name) for name in ids]

    is_multilabel = isinstance(label, Mapping)
    row_class: list[pl.Expr] = []
    if class_column is not None:
        _, expr, dtype = resolve_column(plan, schema, "classes", class_column)
        row_class, class_series = [expr], pl.Series("class", [], dtype)
    else:
        name, _, dtype = labels[0]
        class_series = typed_classes(
            score_columns.argument,
            score_columns.classes or [],
            None if is_multilabel else dtype,
            name,
        )
    checked = (
        [_binary_label(*label_column) for label_column in labels]
        if is_multilabel
        else [_checked_label(labels[0], score_columns, class_series, *row_class)]
    )
    plan, exprs = score_columns.split_lists(plan, id_exprs, names["lists"])
    floats = _of_one_type(plan, exprs, score_columns.names)
    selected = plan.select(
        *(column(name) for name in kept_columns),
        *id_exprs,
        *(expr.alias(names["class"]) for expr in row_class),
        *(expr.alias(names[role]) for role, expr in zip(label_roles, checked, strict=True)),
        *(expr.alias(names[role]) for role, expr in zip(score_roles, floats, strict=True)),
    )
    return Layout(
        # The plan is cached, because the columns of each class are read from it separately.
        plan=selected.cache(),
        kept_columns=tuple(column(name) for name in (*kept_columns, *(ids or [ID]))),
        id_names=ids or [ID],
        labels=tuple(column(names[role]) for role in label_roles),
        scores=tuple(column(names[role]) for role in score_roles),
        names=tuple(score_columns.names),
        classes=class_series,
        row_class=column(names["class"]) if row_class else None,
        is_multilabel=is_multilabel,
    )


def _of_one_type(
    plan: pl.LazyFrame, exprs: Sequence[pl.Expr], names: Sequence[str]
) -> Sequence[pl.Expr]:
    """Return the scores; if some of them are floats, all are cast to one float type."""
    dtypes = plan.select(expr.alias(str(i)) for i, expr in enumerate(exprs)).collect_schema()
    if len(set(dtypes.dtypes())) == 1:
        return exprs
    empty = [pl.Series("score", [], dtype).to_frame() for dtype in dtypes.dtypes()]
    common = pl.concat(empty, how="vertical_relaxed").schema["score"]
    return _exact_floats(exprs, dtypes.dtypes(), names, common) if common.is_float() else exprs


def _exact_floats(
    exprs: Sequence[pl.Expr],
    dtypes: Sequence[pl.DataType],
    names: Sequence[str],
    dtype: pl.DataType,
) -> list[pl.Expr]:
    """Return scores as floats; raise an error if the conversion changes a score."""

    def exact(score: pl.Expr, score_dtype: pl.DataType, name: str) -> pl.Expr:
        if score_dtype.is_float() or score_dtype == pl.Boolean:
            return score.cast(dtype)
        return score.map_batches(
            lambda values: scores_as_floats(values, name).cast(dtype),
            return_dtype=dtype,
            is_elementwise=True,
        )

    return [exact(*arguments) for arguments in zip(exprs, dtypes, names, strict=True)]


def _read_labels(
    plan: pl.LazyFrame, schema: pl.Schema, label: ClassLabels, scores: ScoreColumns
) -> list[ResolvedColumn]:
    """Return the label column, or the label columns of all classes, after a check."""
    if not isinstance(label, Mapping):
        name, expr, dtype = resolve_column(plan, schema, "label", label)
        check_class_type("label", name, dtype)
        if scores.class_column is not None:
            _, _, class_dtype = resolve_column(plan, schema, "classes", scores.class_column)
            check_class_type("classes", scores.class_column, class_dtype)
            if not is_comparable(class_dtype, dtype):
                hint = f"The label column {name!r} has type {dtype}: cast one of the two columns."
                raise ColumnTypeError.compose("classes", scores.class_column, class_dtype, hint)
        return [(name, expr, dtype)]
    if scores.classes is None:
        raise OptionValueError.compose(
            "label",
            list(label),
            "expected one label column, because the table has one row per instance and class",
            "Pass the column with the true class of each instance.",
        )
    missing = [value for value in scores.classes if value not in label]
    extra = [value for value in label if value not in scores.classes]
    if missing or extra:
        raise OptionValueError.compose(
            "label",
            list(label),
            f"the classes of label= and scores= differ: no {'label' if missing else 'score'} for "
            f"{format_list(missing or extra)}",
            "Pass a label column and a score for each class.",
        )
    labels = [resolve_column(plan, schema, "label", label[value]) for value in scores.classes]
    for name, _, dtype in labels:
        if not (dtype == pl.Boolean or dtype.is_numeric()):
            hint = "Each label column must contain Boolean values, or the numbers 0 and 1."
            raise ColumnTypeError.compose("label", name, dtype, hint)
    return labels


def _binary_label(name: str, expr: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return the label of one class as Boolean; raise an error for numbers except 0 and 1."""
    if dtype == pl.Boolean:
        return expr

    def check(values: pl.Series) -> None:
        others = values.filter((values != 0) & (values != 1))
        if len(others):
            raise LabelError(
                f"label={name!r}: each label column must contain only Boolean values, or only the "
                f"numbers 0 and 1.\nFound the value: {others[0]!r}.\n"
                f"Convert the labels first, for example with pl.col({name!r}) == {others[0]!r}."
            )

    return with_check(nan_as_null(expr, dtype), check, dtype) == 1


def _checked_label(
    label: ResolvedColumn,
    scores: ScoreColumns,
    classes: pl.Series,
    row_class: pl.Expr | None = None,
) -> pl.Expr:
    """Return the true class; raise an error if a label is a class that has no score."""
    name, expr, dtype = label
    if row_class is None:
        return known_labels(
            expr,
            dtype,
            classes,
            lambda labels: LabelError.without_score(
                name, labels, classes.to_list(), scores.argument
            ),
        )

    def run(rows: pl.Series) -> pl.Series:
        labels, row_classes = rows.struct.unnest()
        unknown = unknown_values(labels, set(row_classes.unique().to_list()))
        if unknown:
            present = format_list(row_classes.drop_nulls().unique().sort())
            raise LabelError(
                f"label={name!r}: no row has a score for these labels: {format_list(unknown)}.\n"
                f"Classes with a score: {present or 'none'}.\n"
                "Add rows with the scores of these classes, or use .filter() to remove the "
                "instances with these labels."
            )
        return labels

    both = pl.struct(nan_as_null(expr, dtype).alias("label"), row_class.alias("class"))
    checked = both.map_batches(run, return_dtype=dtype)
    if dtype == classes.dtype or dtype.is_numeric():
        return checked
    return checked.cast(pl.String).cast(classes.dtype, strict=False)


def _read_kept_columns(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    *,
    keep: KeepColumns,
    ids: list[str] | None,
    used: Iterable[str],
    table: Sequence[str],
) -> list[str]:
    """Return the names of the columns to keep.

    `ids` are the columns in `id`. `used` are the input columns of labels and scores. `table` are
    the computed columns.
    """
    if keep is None:
        taken = {*used, *(ids or ())}
        kept_columns = [name for name in schema if name not in taken]
    else:
        kept_columns = [
            name for name in _column_names(plan, schema, "keep", keep) if name not in (ids or ())
        ]
    if ids is None and ID in kept_columns:
        raise OptionValueError.compose(
            "id",
            None,
            "the result has a column 'id' with row numbers, but the table already has a column of "
            "this name",
            'If the column of the table identifies instances, pass id="id". If not, '
            'pass keep=[…] with the columns that the result keeps, without "id".',
        )
    for argument, names in (("id", ids or []), ("keep", kept_columns)):
        for name in names:
            if name in table:
                rename = f"Rename the column first, for example with .rename({{{name!r}: 'other'}})"
                other = ", or list the other columns in keep=[…]." if argument == "keep" else "."
                raise RepeatedNameError.in_result(argument, name, table, rename + other)
    return kept_columns


def _column_names(
    plan: pl.LazyFrame, schema: pl.Schema, argument: str, columns: str | Sequence[str] | pl.Expr
) -> list[str]:
    """Return the names of columns that are given by name or by a selector."""
    if isinstance(columns, pl.Expr):
        if not cs.is_selector(columns):
            problem = "expressions are not supported here"
            raise OptionValueError.compose(
                argument, columns, problem, "Pass column names or a selector."
            )
        return output_columns(plan, schema, argument, columns).names()
    is_single = isinstance(columns, str) or not hasattr(columns, "__iter__")
    names: list[Any] = [columns] if is_single else list(columns)
    for name in names:
        if not isinstance(name, str):
            problem = "expected a column name"
            hint = f'Pass names, such as {argument}=["model", "fold"].'
            raise OptionValueError.compose(argument, name, problem, hint)
        if name not in schema:
            raise MissingColumnError.compose(argument, name, schema)
        if names.count(name) > 1:
            raise RepeatedNameError.compose(argument, name, names)
    return names


def score_difference(first: pl.Expr, second: pl.Expr) -> pl.Expr:
    """Return `first - second`; the difference of equal scores is 0, also if both are infinite."""
    return pl.when(first == second).then(pl.lit(0).cast(pl.Float32)).otherwise(first - second)
