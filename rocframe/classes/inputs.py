"""Read the labels and scores of tables with many classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs

from rocframe.errors import (
    ColumnTypeError,
    LabelError,
    MissingColumnError,
    OptionValueError,
    PairingError,
    RepeatedNameError,
)
from rocframe.frames import as_input_frame, column, lazy_plan, private_names
from rocframe.inputs.cases import scores_as_floats
from rocframe.inputs.roles import Column, resolve_column, selected_names, source_columns
from rocframe.options import check_distinct, output_columns, returns_several_columns
from rocframe.text import format_count, format_key, format_list, format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from rocframe.frames import FrameT

ClassScores: TypeAlias = Column | Sequence[Column] | Mapping[Any, Column]
Classes: TypeAlias = str | Sequence[Any] | None

SEVERAL_LABELS = (
    "pass a mapping {class: column} of Boolean or 0/1 columns, or one column of lists of classes"
)
SCORES_HINT = (
    "Pass {class: column}, several columns named like their classes, or one column of lists."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreColumns:
    """The score columns of a table with many classes.

    `classes` has the class of each score, `argument` is the option with the classes, and `names`
    are those of the scores in errors. `lists` is the name, expression and dtype of one column of
    lists, and `exprs` is then empty. If each row is one class of an instance, `class_column` has
    the class.
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

        Lists are checked and copied into the column `name`; `ids` identify a row in errors.
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

    A selector of scores must not select a column in `used`. One numeric column is the scores of the
    column `classes` or, with `ordered`, a score that increases from class to class.
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
        values = list_classes(
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


def list_classes(classes: Classes, problem: str, hint: str) -> list[Any]:
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
    name: str, expr: pl.Expr, dtype: pl.List | pl.Array, columns: list[Column], classes: Classes
) -> ScoreColumns:
    """Read scores that are in one column of lists or arrays."""
    inner = dtype.inner() if isinstance(dtype.inner, type) else dtype.inner
    _check_numeric(name, inner)
    values = list_classes(
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
    """Return the lists; an error if a list is null or does not have `size` scores."""

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


def label_sources(
    plan: pl.LazyFrame, schema: pl.Schema, label: ClassLabels, *, multilabel: bool
) -> list[Column]:
    """Return the label columns; without `multilabel`, a column for each class is an error.

    Several columns without their classes are always an error.
    """
    if multilabel and isinstance(label, Mapping):
        return [*label.values()]
    several = (
        len(output_columns(plan, schema, "label", label)) > 1
        if isinstance(label, pl.Expr)
        else isinstance(label, list | tuple) or not (multilabel or isinstance(label, str))
    )
    if several:
        if multilabel:
            problem = "expected one label column, or a mapping from each class to its label column"
            hint = f"{SEVERAL_LABELS[0].upper()}{SEVERAL_LABELS[1:]}."
        else:
            problem = "expected one label column, because each row must have one true class"
            hint = (
                "Pass one column. multiclass_auc and one_vs_rest accept several classes per row: "
                f"{SEVERAL_LABELS}."
            )
        raise OptionValueError.compose("label", label, problem, hint)
    return [label]  # type: ignore[list-item]


def check_class_type(argument: str, name: str, dtype: pl.DataType) -> None:
    """Raise an error if the type of a column of classes is not supported."""
    if not (type_family(dtype) in {"text", "number"} or dtype == pl.Boolean):
        hint = (
            "Classes must be Boolean, numbers, String, Categorical or Enum: convert the column "
            "first."
        )
        if dtype.is_nested():
            hint += " For several classes per row, use multiclass_auc or one_vs_rest."
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
    if fits and type_family(typed.dtype) in {"text", "number", "Boolean"}:
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
        CLASS_TYPE_HINTS[argument],
    )


# Hints for classes of another type than the labels, by the argument with the classes.
CLASS_TYPE_HINTS = {
    "scores": "Name each class by its label, such as scores={0: 'p0', 1: 'p1'} for labels 0 and 1.",
    "classes": "Pass the labels as classes, such as classes=[0, 1] for labels 0 and 1.",
}


def is_comparable(first: pl.DataType, second: pl.DataType) -> bool:
    """Return whether values of the two types can be equal."""
    return type_family(first) == type_family(second)


def type_family(dtype: pl.DataType) -> str:
    """Return "text", "number", or the name of another type; values of one family can be equal."""
    if dtype.is_numeric():
        return "number"
    is_text = dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical)
    return "text" if is_text else str(dtype)


def nan_as_null(expr: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return the expression with null instead of NaN; `dtype` is its type."""
    return expr.fill_nan(None) if dtype.is_float() else expr


def _unknown_values(values: pl.Series, known: set[Any]) -> list[Any]:
    """Return the distinct values that are not in `known`, sorted, without null."""
    return sorted(value for value in values.drop_nulls().unique().to_list() if value not in known)


def _with_check(expr: pl.Expr, check: Callable[[pl.Series], None], dtype: pl.DataType) -> pl.Expr:
    """Return the expression; `check` is called with its values and may raise an error."""

    def run(values: pl.Series) -> pl.Series:
        check(values.alias(""))  # methods of a Series treat a name of the form `^…$` as a pattern
        return values

    return expr.map_batches(run, return_dtype=dtype, is_elementwise=True)


ClassLabels: TypeAlias = Column | Mapping[Any, Column]
KeepColumns: TypeAlias = str | Sequence[str] | pl.Expr | None
ResolvedColumn: TypeAlias = tuple[str, pl.Expr, pl.DataType]
ID = "id"
ID_HINT = 'Pass the columns that identify an instance, such as id="id".'


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """A query plan with the kept columns, and with labels and scores under private names.

    The last of `kept_columns`, `id_names`, identify instances. `labels` is the true class, or, if
    `is_multilabel`, whether the row belongs to each class. If each row is one class of an instance,
    there is one score, `classes` is empty, and `row_class` is the class of the row.
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
        """Return true for each row; an error if an instance repeats a class or has two labels."""
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


def reshape_classes(
    predictions: FrameT,
    label: ClassLabels,
    scores: ClassScores,
    from_wide: Callable[[Layout], pl.LazyFrame],
    from_long: Callable[[Layout], pl.LazyFrame],
    **options: Any,
) -> FrameT:
    """Return the table that one of both functions computes; `options` as in `read_layout`."""

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        layout = read_layout(plan, schema, label, scores, **options)
        return (from_wide if layout.row_class is None else from_long)(layout)

    return as_input_frame(
        predictions, lazy_plan("predictions", predictions).pipe_with_schema(resolve)
    )


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
    multilabel: bool = False,
) -> Layout:
    """Return the layout for the options of `one_vs_rest` or `one_vs_one`, after a check.

    `table` are the names of the computed columns. With `multilabel`, a row can belong to several
    classes.
    """
    sources = label_sources(plan, schema, label, multilabel=multilabel)
    ids = None if id is None else _column_names(plan, schema, "id", id)
    if ids == []:
        raise OptionValueError.compose("id", id, "expected at least one column", ID_HINT)
    used = {name for s in sources for name in source_columns(plan, schema, "label", s)}
    score_columns = read_scores(plan, schema, scores, classes, used.union(ids or ()))
    labels = read_labels(plan, schema, label, score_columns, multilabel=multilabel)
    class_column = score_columns.class_column
    if class_column is not None:
        used.add(class_column)
        if id is None:
            problem = "the table has one row per instance and class, so id= is required"
            raise OptionValueError.compose("id", None, problem, ID_HINT)
    for source in score_columns.columns:
        used.update(source_columns(plan, schema, "scores", source))
    kept_columns = _read_kept_columns(plan, schema, keep=keep, ids=ids, used=used, table=table)
    label_roles = [f"label {i}" for i in range(len(labels.columns))]
    score_roles = [f"score {i}" for i in range(len(score_columns.names))]
    names = private_names([*label_roles, *score_roles, "class", "row", "lists"], (*schema, ID))
    if ids is None:
        plan = plan.with_row_index(names["row"])
        id_exprs = [column(names["row"]).alias(ID)]
    else:
        id_exprs = [column(name) for name in ids]

    row_class: list[pl.Expr] = []
    if class_column is not None:
        _, expr, dtype = resolve_column(plan, schema, "classes", class_column)
        row_class, class_series = [expr], pl.Series("class", [], dtype)
        checked = [_label_in_rows(labels.columns[0], dtype, expr)]
    else:
        class_series, checked = checked_labels(labels, score_columns)
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
        is_multilabel=labels.is_multilabel,
    )


def _of_one_type(
    plan: pl.LazyFrame, exprs: Sequence[pl.Expr], names: Sequence[str]
) -> Sequence[pl.Expr]:
    """Return the scores; if some of them are floats, all are cast to one float type."""
    dtypes = plan.select(expr.alias(str(i)) for i, expr in enumerate(exprs)).collect_schema()
    if len(set(dtypes.dtypes())) == 1:
        return exprs
    common = supertype(dtypes.dtypes())
    return _exact_floats(exprs, dtypes.dtypes(), names, common) if common.is_float() else exprs


def supertype(dtypes: Iterable[pl.DataType]) -> pl.DataType:
    """Return the type to which polars casts columns of these types when it concatenates them."""
    empty = [pl.Series("", [], dtype).to_frame() for dtype in dtypes]
    return pl.concat(empty, how="vertical_relaxed").dtypes[0]


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


class LabelColumns(NamedTuple):
    """The column of the true class or, if `is_multilabel`, a Boolean or 0/1 column per class."""

    columns: list[ResolvedColumn]
    is_multilabel: bool


def read_labels(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    label: ClassLabels,
    scores: ScoreColumns,
    *,
    multilabel: bool,
) -> LabelColumns:
    """Return the label columns, after a check; with `multilabel`, also those of lists."""
    if multilabel:
        label = _labels_of_lists(plan, schema, label, scores)
    if not isinstance(label, Mapping):
        name, expr, dtype = resolve_column(plan, schema, "label", label)
        check_class_type("label", name, dtype)
        if scores.class_column is not None:
            _, _, class_dtype = resolve_column(plan, schema, "classes", scores.class_column)
            check_class_type("classes", scores.class_column, class_dtype)
            if not is_comparable(class_dtype, dtype):
                hint = f"The label column {name!r} has type {dtype}: cast one of the two columns."
                raise ColumnTypeError.compose("classes", scores.class_column, class_dtype, hint)
        return LabelColumns([(name, expr, dtype)], is_multilabel=False)
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
    return LabelColumns(labels, is_multilabel=True)


def _labels_of_lists(
    plan: pl.LazyFrame, schema: pl.Schema, label: ClassLabels, scores: ScoreColumns
) -> ClassLabels:
    """Return the label of each class if the label is a column of lists of classes."""
    if isinstance(label, Mapping) or scores.classes is None:
        return label
    name, lists, dtype = resolve_column(plan, schema, "label", label)
    if not isinstance(dtype, pl.List | pl.Array):
        return label
    lists = lists.arr.to_list() if isinstance(dtype, pl.Array) else lists
    inner = plan.select(lists.explode().alias(name)).collect_schema()[name]
    check_class_type("label", name, inner)
    if inner.is_float():
        lists = lists.list.eval(nan_as_null(pl.element(), inner))
    is_incomplete = lists.list.drop_nulls().list.len() < lists.list.len()
    argument, keys = scores.argument, scores.classes
    classes = typed_classes(argument, keys, inner, name)
    values = classes.to_list()
    check = _unknown_check(
        values, lambda found: LabelError.without_score(name, found, values, argument)
    )
    # To check the labels for one class is sufficient.
    checked = _with_check(lists, lambda rows: check(rows.explode()), pl.List(inner))
    labels = (
        (lists if i else checked).list.contains(pl.lit(classes[i], inner)) for i in range(len(keys))
    )
    # With a null in its list, the classes of a row are unknown.
    return {
        key: pl.when(is_incomplete).then(None).otherwise(label).alias(name)
        for key, label in zip(keys, labels, strict=True)
    }


def checked_labels(
    labels: LabelColumns,
    scores: ScoreColumns,
    unknown_label: Callable[..., LabelError] = LabelError.without_score,
) -> tuple[pl.Series, list[pl.Expr]]:
    """Return the classes, and the true class of each row or, for each class, whether it is one.

    `unknown_label` composes the error for a label that is not one of the classes.
    """
    name, expr, dtype = labels.columns[0]
    dtype_of_labels = None if labels.is_multilabel else dtype
    classes = typed_classes(scores.argument, scores.classes or [], dtype_of_labels, name)
    if labels.is_multilabel:
        return classes, [_binary_label(*label) for label in labels.columns]
    values = classes.to_list()
    check = _unknown_check(
        values, lambda found: unknown_label(name, found, values, scores.argument)
    )
    return classes, [_with_check(nan_as_null(expr, dtype), check, dtype)]


def _unknown_check(
    known: Sequence[Any], error: Callable[[list[Any]], LabelError]
) -> Callable[[pl.Series], None]:
    """Return a function that raises an error if a value is not one of the known values."""
    known_values = set(known)

    def check(values: pl.Series) -> None:
        unknown = _unknown_values(values, known_values)
        if unknown:
            raise error(unknown)

    return check


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

    return _with_check(nan_as_null(expr, dtype), check, dtype) == 1


def _label_in_rows(label: ResolvedColumn, class_dtype: pl.DataType, row_class: pl.Expr) -> pl.Expr:
    """Return the true class of rows of one class each; an error if no row has its score."""
    name, expr, dtype = label

    def run(rows: pl.Series) -> pl.Series:
        labels, row_classes = rows.struct.unnest()
        unknown = _unknown_values(labels, set(row_classes.unique().to_list()))
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
    if dtype == class_dtype or dtype.is_numeric():
        return checked
    return checked.cast(pl.String).cast(class_dtype, strict=False)


def _read_kept_columns(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    *,
    keep: KeepColumns,
    ids: list[str] | None,
    used: Iterable[str],
    table: Sequence[str],
) -> list[str]:
    """Return the names of the columns to keep, without those in `used` and `ids`."""
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
