"""The columns of a predictions table and their roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import frexp, isnan, ldexp
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard, get_args
from zoneinfo import ZoneInfo

import polars as pl
import polars.selectors as cs

from rocframe.errors import (
    AmbiguousCountError,
    ColumnTypeError,
    LabelError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
    ScoreError,
)
from rocframe.frames import column, private_names
from rocframe.options import (
    NOT_GIVEN,
    NotGiven,
    check_choice,
    check_distinct,
    check_group_columns,
    group_dtypes,
    is_text,
    output_columns,
    parse_names,
    returns_several_columns,
    to_float,
    to_list,
)
from rocframe.schemas.table_type import MODEL, TOTAL, score_floats
from rocframe.text import format_key, format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Container

SCORE_HINT = "Pass a column name, an expression, or several: a list, a selector, {name: column}."
MAX_INT128 = 2**127  # a float of this size or larger is not a value of any integer dtype of polars
COUNT_HINT = "Use count=None, with a table that has one row for each prediction."
Missing = Literal["raise", "drop", "worst"]
Column: TypeAlias = str | pl.Expr
Scores: TypeAlias = Column | Sequence[Column] | Mapping[str, Column]
By: TypeAlias = Column | Sequence[Column] | None
Count: TypeAlias = Column | NotGiven | None
Total: TypeAlias = bool | str | Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """The arguments of a public function about the columns of predictions, such as `label`.

    `label` is NOT_GIVEN if the function reads scores only; all rows are then positives. With
    `needs_scores`, such as for probabilities, `missing="worst"` is an error. `cluster_argument` is
    the name of the argument `cluster`. `total` are the group columns over which totals are
    computed.
    """

    label: Column | NotGiven
    score: Scores
    by: By = None
    positive: object = None
    weight: Column | None = None
    count: Count = NOT_GIVEN
    missing: Missing = "raise"
    cluster: Column | None = None
    _: KW_ONLY
    benefit: Column | None = None
    cost: Column | None = None
    needs_scores: bool = False
    cluster_argument: str = "cluster"
    several_classes: str = ""
    total: Total = False

    def __post_init__(self) -> None:
        if self.needs_scores and is_text(self.missing, "worst"):
            problem = "a row without a score has no probability"
            raise OptionValueError.compose("missing", self.missing, problem, 'Use missing="drop".')
        policies = ("raise", "drop") if self.needs_scores else get_args(Missing)
        check_choice("missing", self.missing, policies)
        for argument, value in (("benefit", self.benefit), ("cost", self.cost)):
            if value is not None and self.weight is not None:
                raise OptionValueError.compose(
                    argument,
                    value,
                    "weight= is given as well",
                    f"Leave out weight=, and multiply each {argument} by the weight of its row.",
                )
        _ = self.total_over  # raises an error for wrong names
        if self.cluster is not None and self.count is not None and self.count is not NOT_GIVEN:
            raise OptionValueError.compose(
                "count",
                self.count,
                f"with {self.cluster_argument}=, each row must be one prediction",
                COUNT_HINT,
            )

    @property
    def optional_columns(self) -> dict[str, Column]:
        """The columns of the optional arguments that are given, such as `weight`."""
        columns = {
            "weight": self.weight,
            "benefit": self.benefit,
            "cost": self.cost,
            "count": None if self.count is NOT_GIVEN else self.count,
            "cluster": self.cluster,
        }
        return {role: source for role, source in columns.items() if source is not None}

    @property
    def total_over(self) -> tuple[str, ...]:
        """The group columns over which rows of totals are computed; none without totals."""
        total = self.total
        if total is False:
            return ()
        by = parse_names(self.by)
        names = by if total is True else tuple(to_list(total))
        if not names or any(name not in by for name in names):
            problem = "expected True, False or names of group columns in by="
            hint = f"Group columns: {format_list(by)}." if by else "There are no group columns."
            raise OptionValueError.compose("total", total, problem, hint)
        check_distinct("total", names)
        if total is True and MODEL in names:
            problem = "a total of all group columns would combine the rows of several models"
            others = [name for name in names if name != MODEL]
            hint = f"Pass the columns to combine: total={others or [MODEL]}."
            raise OptionValueError.compose("total", total, problem, hint)
        return names

    def argument(self, role: str) -> str:
        """Return the name of the public argument for a key of `optional_columns`."""
        return self.cluster_argument if role == "cluster" else role

    @property
    def count_dtype(self) -> pl.DataType:
        """Dtype of the counts of a curve: Int64, or Float64 if rows have weights or costs."""
        weights = (self.weight, self.benefit, self.cost)
        return pl.Int64() if all(weight is None for weight in weights) else pl.Float64()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundRoles:
    """The columns of predictions, after a check of their names and dtypes.

    `inputs` are the expressions of all columns to read. Of each role, such as "label", `private`
    has the column in their frame, and `names` the column in error messages. `models` are the names
    of several scores, or None. `scores` is the float dtype of the scores, and `keys` are the dtypes
    of the group columns. With the rows of a reference table, `reference_by` are its group columns.
    """

    roles: Roles
    by: tuple[str, ...]
    keys: dict[str, pl.DataType]
    models: tuple[str, ...] | None
    inputs: tuple[pl.Expr, ...]
    private: dict[str, str]
    names: dict[str, str]
    positive: object
    scores: pl.DataType
    reference_by: tuple[str, ...] | None = None

    @property
    def result_keys(self) -> dict[str, pl.DataType]:
        """Dtypes of the group columns of the result, with `model` if there are several scores."""
        model = {} if self.models is None else {MODEL: pl.String()}
        return {**self.keys, **model, **({TOTAL: pl.Boolean()} if self.roles.total_over else {})}


def bind_roles(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    roles: Roles,
    table: Sequence[str],
    *,
    keyed: bool = True,
    over: int = 0,
) -> BoundRoles:
    """Check the names and dtypes of the columns of predictions; return them as `BoundRoles`.

    `table` are the columns of the result, which group columns must not have. With several scores
    and `keyed`, the result has the group column `model`. The last `over` names in `roles.by` are
    `over=`.
    """
    by = parse_names(roles.by)
    scores, models = parse_scores(plan, schema, roles.score, used_columns(plan, schema, roles))
    if models is not None and keyed and MODEL in table:
        rest = [name for name in table if name != MODEL]
        raise RepeatedNameError.in_result("metrics", MODEL, (MODEL, *rest))
    key = [MODEL] if models is not None and keyed else []
    key += [TOTAL] if roles.total_over else []
    result_keys, over_keys = by[: len(by) - over], by[len(by) - over :]
    check_group_columns(result_keys, schema, (*table, *key))
    for name in over_keys:
        if name in result_keys:
            raise RepeatedNameError.of_group("over", name, result_keys)
    check_group_columns(over_keys, schema, (*table, *key), "over")
    if roles.count is NOT_GIVEN and "count" in schema:
        raise AmbiguousCountError.compose()

    sources: dict[str, tuple[str, Column]] = {}
    if roles.label is not NOT_GIVEN:
        sources["label"] = ("label", roles.label)
    sources |= {f"score {i}": ("score", score) for i, score in enumerate(scores)}
    sources |= {r: (roles.argument(r), source) for r, source in roles.optional_columns.items()}
    named = {_named_column(source) for _, source in sources.values()}
    if _has_width(schema) and SCORE_WIDTH not in {*by, *named}:
        sources["width"] = ("width", SCORE_WIDTH)

    arguments = [("by", name) for name in result_keys] + [("over", name) for name in over_keys]
    check_repeated_columns([*arguments, *sources.values()])

    private = private_names(sources, by)
    inputs, names, positive = [column(name) for name in by], {}, None
    score_dtypes = []
    for role, (argument, source) in sources.items():
        names[role], expr, dtype = resolve_column(plan, schema, argument, source)
        check_column_type(argument, names[role], dtype)
        inputs.append(expr.alias(private[role]))
        if argument == "score":
            score_dtypes.append(dtype)
        if argument == "label":
            positive = check_positive(roles.positive, names[role], dtype)
    return BoundRoles(
        roles=roles,
        by=by,
        keys=group_dtypes(by, schema),
        models=models,
        inputs=tuple(inputs),
        private=private,
        names=names,
        positive=positive,
        scores=score_floats(score_dtypes),
    )


def used_columns(plan: pl.LazyFrame, schema: pl.Schema, roles: Roles) -> set[str]:
    """Return the columns of other arguments, which a selector of scores must not select."""
    used = {*parse_names(roles.by), *([SCORE_WIDTH] if _has_width(schema) else [])}
    labels = {} if roles.label is NOT_GIVEN else {"label": roles.label}
    for role, source in {**labels, **roles.optional_columns}.items():
        used |= set(source_columns(plan, schema, roles.argument(role), source))
    return used


def _has_width(schema: pl.Schema) -> bool:
    """Return whether a table has a column with the widths of rounded scores."""
    return SCORE_WIDTH in schema and schema[SCORE_WIDTH].is_float()


def check_repeated_columns(arguments: Sequence[tuple[str, Column]]) -> None:
    """Raise an error if the same column is given for two arguments that need different columns.

    A group column cannot be the label or a score, and the label cannot be used for any other
    argument. Only columns that are given by name or as `pl.col(name)` are compared.
    """
    columns = dict.fromkeys(
        (argument, name)
        for argument, source in arguments
        if (name := _named_column(source)) is not None
    )
    for argument, name in columns:
        others = ("label", "score", "scores") if argument in {"by", "over"} else ("label",)
        for role in others:
            if argument != role and (role, name) in columns:
                raise OptionValueError.compose(
                    argument,
                    name,
                    f"this is the same column as {role}={name!r}",
                    f"Pass another column as {argument}= or as {role}=.",
                )


def _named_column(source: object) -> str | None:
    """Return the name of a column that is given by name or as `pl.col(name)`; None for others."""
    if isinstance(source, pl.Expr) and source.meta.undo_aliases().meta.is_column():
        return source.meta.root_names()[0]
    return source if isinstance(source, str) else None


def _check_no_values(argument: str, value: object) -> None:
    """Raise an error for a Series or an array of numbers instead of the name of a column."""
    is_array = type(value).__name__ == "ndarray" and value.dtype.kind in "biuf"  # type: ignore[attr-defined]
    if isinstance(value, pl.Series) or is_array:
        hint = f"Pass the name of a column of the table, such as {argument}={argument!r}."
        if isinstance(value, pl.Series) and value.name:
            hint = f"Pass the name of the column: {argument}={value.name!r}."
        expected = "a column name or an expression"
        raise OptionValueError.unexpected_type(argument, value, expected, hint)


def parse_scores(
    plan: pl.LazyFrame, schema: pl.Schema, score: Scores, used: Container[str] = ()
) -> tuple[list[Column], tuple[str, ...] | None]:
    """Return the score columns, none of them in `used`, and the models; None for a single score."""
    _check_no_values("score", score)
    if isinstance(score, Mapping):
        _check_score_mapping(score)
        return list(score.values()), tuple(score)
    if is_single_score(score):
        return [score], None
    if isinstance(score, pl.Expr):
        return _expand_scores(plan, schema, score, used)
    if not hasattr(score, "__iter__"):
        problem = "expected a column name or an expression"
        raise OptionValueError.compose("score", score, problem, SCORE_HINT)
    scores: list[Column] = list(score)
    if not scores:
        raise OptionValueError.compose("score", score, "expected at least one column", SCORE_HINT)
    columns: list[Column] = []
    names: list[str] = []
    for element in scores:
        parts, models = parse_scores(plan, schema, element, used)
        columns += parts
        names += models or [resolve_column(plan, schema, "score", element)[0]]
    check_distinct("score", names)
    return columns, tuple(names)


def selected_names(
    plan: pl.LazyFrame, schema: pl.Schema, argument: str, source: pl.Expr, used: Container[str]
) -> list[str]:
    """Return the columns of a selector of scores; raise an error if one of them is in `used`."""
    names = output_columns(plan, schema, argument, source).names()
    for name in names:
        if name in used:
            use = "which another argument uses"
            if name == SCORE_WIDTH:
                use = "the column with the widths of rounded scores"
            raise OptionValueError.compose(
                argument,
                source,
                f"the selector selects {name!r}, {use}",
                f"Exclude this column, for example with … - cs.by_name({name!r}), or pass a "
                "list of column names.",
            )
    return names


def _expand_scores(
    plan: pl.LazyFrame, schema: pl.Schema, score: pl.Expr, used: Container[str]
) -> tuple[list[Column], tuple[str, ...]]:
    """Return an expression for each column of a selector or expression, and the model names."""
    names = selected_names(plan, schema, "score", score, used)
    if not names:
        raise OptionValueError.compose(
            "score",
            score,
            "the selector matches no column",
            f"The frame has: {format_list(schema, most=30)}.",
        )
    if cs.is_selector(score):
        return [column(name) for name in names], tuple(names)
    # `struct.field` treats a name of the form `^…$` as a regular expression, so the fields are
    # renamed to numbers.
    fields = [str(i) for i in range(len(names))]
    struct = pl.struct(score).struct.rename_fields(fields)
    return [struct.struct.field(field) for field in fields], tuple(names)


def _check_score_mapping(scores: Mapping[str, Column]) -> None:
    """Raise an error if a mapping of scores is empty, or if a key is not a string."""
    if not scores:
        raise OptionValueError.compose("score", scores, "expected at least one column", SCORE_HINT)
    for name in scores:
        if not isinstance(name, str):
            raise OptionValueError.compose(
                "score",
                name,
                "the names of models must be strings",
                'Use, for example, {"name": "column"}.',
            )


def is_single_score(score: Scores) -> TypeGuard[Column]:
    """Return whether one column is given as the score, so that there is no group column `model`."""
    if isinstance(score, pl.Expr):
        return not returns_several_columns(score)
    return isinstance(score, str)


def resolve_column(
    plan: pl.LazyFrame, schema: pl.Schema, argument: str, source: Column
) -> tuple[str, pl.Expr, pl.DataType]:
    """Return the name, expression and dtype of a column that is given by name or expression."""
    if isinstance(source, str) and source not in schema:
        raise MissingColumnError.compose(argument, source, schema)
    expr = column_expression(argument, source)
    if isinstance(source, str):
        return source, expr, schema[source]
    outputs = output_columns(plan, schema, argument, expr)
    if len(outputs) != 1:
        raise OptionValueError.compose(
            argument,
            source,
            f"the expression returns {len(outputs)} columns",
            "Pass an expression that returns one column.",
        )
    ((name, dtype),) = outputs.items()
    return name, expr, dtype


def source_columns(
    plan: pl.LazyFrame, schema: pl.Schema, argument: str, source: object
) -> list[str]:
    """Return the columns that are used by an argument, which is a name or an expression."""
    if isinstance(source, pl.Expr):
        # `root_names` omits names in selectors.
        return source.meta.root_names() or output_columns(plan, schema, argument, source).names()
    return [source] if isinstance(source, str) else []


def column_expression(argument: str, source: Column) -> pl.Expr:
    """Return the expression of a column that is given by name or as an expression."""
    if isinstance(source, str):
        return column(source)
    if isinstance(source, pl.Expr):
        return source
    _check_no_values(argument, source)  # type: ignore[unreachable]
    hint = f"Use, for example, {argument}='a' or {argument}=pl.col('a')."
    if argument in {"benefit", "cost"} and to_float(source) is not None:
        hint = f"If all rows have the same {argument}, use {argument}=pl.lit({source})."
    problem = "expected a column name or an expression"
    raise OptionValueError.compose(argument, source, problem, hint)


# For each argument: the test of the type of a column, and the hint for an unsuitable type.
COLUMN_TYPES: dict[str, tuple[Callable[[pl.DataType], bool], str]] = {
    "label": (
        lambda dtype: not (dtype.is_nested() or dtype in {pl.Null, pl.Object}),
        (
            "Labels must be Boolean, numbers, text, dates, times or bytes. Compute such a column "
            "first."
        ),
    ),
    "score": (
        lambda dtype: dtype.is_numeric() or dtype == pl.Boolean,
        "Scores must be numbers. Cast the column first.",
    ),
    "weight": (
        lambda dtype: dtype.is_numeric() or dtype == pl.Boolean,
        "Weights must be numbers. Cast the column first.",
    ),
    "benefit": (
        lambda dtype: dtype.is_numeric(),
        "Benefits must be numbers. Cast the column first.",
    ),
    "cost": (lambda dtype: dtype.is_numeric(), "Costs must be numbers. Cast the column first."),
    "threshold": (lambda dtype: dtype.is_numeric(), "Thresholds must be numbers."),
    "count": (
        lambda dtype: dtype.is_integer(),
        "Counts must be integers. Cast the column first, or pass fractions as weight=.",
    ),
    **dict.fromkeys(
        ("cluster", "id"),
        (
            lambda dtype: dtype != pl.Object,
            "Values of this type cannot be sorted. Cast the column, for example to String.",
        ),
    ),
    "width": (lambda dtype: dtype.is_float(), ""),
}


def check_column_type(argument: str, name: str, dtype: pl.DataType) -> None:
    """Raise an error if a column of this type cannot be used for an argument."""
    is_suitable, hint = COLUMN_TYPES[argument]
    if is_suitable(dtype):
        return
    if argument == "score" and dtype == pl.String:
        hint = (
            f"{hint[:-1]}, for example with pl.col({name!r}).cast(pl.Float64). For predicted "
            f"classes, use a comparison, such as pl.col({name!r}) == 'yes'."
        )
    if argument == "score" and isinstance(dtype, pl.Enum):
        hint = (
            "Scores must be numbers. To use the order of the categories, pass "
            f"score=pl.col({name!r}).cat.physical()."
        )
    raise ColumnTypeError.compose(argument, name, dtype, hint)


def check_positive(positive: object, name: str, dtype: pl.DataType) -> object:
    """Return `positive` as a Python value; raise an error if no label can be equal to it."""
    if positive is None:
        return None
    if getattr(positive, "ndim", None) == 0:  # a numpy scalar
        positive = positive.item()  # type: ignore[attr-defined]
    number = isinstance(positive, int) or (
        isinstance(positive, float | Decimal) and not isnan(positive)
    )
    if dtype == pl.Boolean:
        fits = number and positive in {0, 1}
    elif dtype.is_numeric():
        fits = number
    elif dtype.is_temporal():
        fits = _is_temporal_value(positive, dtype)
    else:
        fits = isinstance(positive, bytes if dtype == pl.Binary else str)
    if not fits:
        raise LabelError.positive_type(positive, name, dtype)
    if isinstance(dtype, pl.Enum) and positive not in dtype.categories:
        raise LabelError.no_positive(positive, name, dtype.categories)
    return positive


def _is_temporal_value(value: object, dtype: pl.DataType) -> bool:
    """Return whether a Python value can be equal to a value of this temporal dtype.

    Both have a time zone or none, and the value is a multiple of the time unit of the dtype.
    """
    if type(value) is date:
        fits = dtype == pl.Date
    elif isinstance(value, datetime):
        has_zone = value.utcoffset() is not None
        fits = isinstance(dtype, pl.Datetime) and has_zone == (dtype.time_zone is not None)
    else:
        fits = isinstance(value, time | timedelta) and isinstance(value, dtype.to_python())
    if not fits:
        return False
    series = pl.Series([value])
    back = series.cast(dtype, strict=False).cast(series.dtype, strict=False)
    return back.equals(series)


def comparable_positive(positive: object, dtype: pl.DataType) -> object:
    """Return the positive value as a value that engines can compare exactly with the labels.

    A comparison of floats can make different integers equal, and polars does not compare Booleans
    with decimals: both become integers. A datetime gets the time zone of the labels.
    """
    is_whole = isinstance(positive, float) and positive.is_integer() and abs(positive) < MAX_INT128
    if (dtype.is_integer() and is_whole) or (dtype.is_numeric() and isinstance(positive, bool)):
        return int(positive)  # type: ignore[call-overload]
    if isinstance(positive, datetime) and isinstance(dtype, pl.Datetime) and dtype.time_zone:
        return positive.astimezone(ZoneInfo(dtype.time_zone))
    return positive


def positive_literal(positive: object, dtype: pl.DataType) -> pl.Expr:
    """Return the positive value as an expression in the unit of the labels, if these are times.

    polars compares times of different units in the coarser unit, which can make different times
    equal.
    """
    literal = pl.lit(comparable_positive(positive, dtype))
    return literal.cast(dtype) if dtype.is_temporal() else literal


SCORE_WIDTH = "score_width"
MAX_MULTIPLE = 2.0**53  # Float64 has no digits below the step in larger multiples of the step
MAX_RELATIVE_SCORE = 2.0**970  # the product in `leading_power` overflows for larger numbers
MAX_RESOLUTION = 2.0**900  # of a resolution that is not relative
MIN_RELATIVE_SCORE = 2.0**-1000  # the step of a relative resolution can be 0 for smaller numbers


def power_of_two_below(number: float) -> float:
    """Return the largest power of two that is not above a positive number."""
    return ldexp(0.5, frexp(number)[1])


def leading_power(positive: Any) -> Any:
    """Return the largest power of two that is not above each positive number of an expression.

    S. M. Rump, T. Ogita and S. Oishi (2008), algorithm 3.5, doi:10.1137/050645671. All engines
    return the same numbers, because the algorithm consists of products and differences of Float64.
    """
    product = positive * (2.0**52 + 1)
    return (product - product * (1 - 2.0**-53)).abs()


def round_down(score: Any, resolution: Any, *, relative: Any, when: Callable[..., Any]) -> Any:
    """Return the lower edge of the cell that contains each score.

    It is the largest multiple of the step that is not above the score. The step is `resolution`,
    with `relative` times the largest power of two not above the absolute score. A score without
    digits below the step is its own edge. `score` and `when` are of polars or narwhals.
    """
    step = _cell_step(score, resolution, relative, when)
    edge = (score / step).floor() * step
    # The quotient of a negative score near 0 and a large step is 0.
    edge = when(edge > score).then(-step).otherwise(edge)
    return when(_has_cell(score, step)).then(edge).otherwise(score)


def cell_width(edge: pl.Expr, resolution: Any, *, relative: Any) -> pl.Expr:
    """Return the width of the cell with each lower edge: 0 for exact scores, null for null."""
    step = _cell_step(edge, resolution, relative, pl.when)
    width: pl.Expr = pl.when(_has_cell(edge, step)).then(step).otherwise(0.0)
    if relative is not False:
        # The cell above -2^k contains numbers with a smaller leading power than its edge.
        width = pl.when(relative & _is_negative_power(edge)).then(width / 2).otherwise(width)
    return pl.when(edge.is_not_null()).then(width)


def _cell_step(score: Any, resolution: Any, relative: Any, when: Callable[..., Any]) -> Any:
    """Return the distance between neighboring edges at each score; a number if it is constant."""
    if relative is False:
        return resolution
    # Scores above -MAX_RELATIVE_SCORE can be rounded down to this number, so that it needs a step.
    has_step = (score >= -MAX_RELATIVE_SCORE) & (score < MAX_RELATIVE_SCORE)
    step = when(has_step).then(leading_power(score.abs()) * resolution).otherwise(0.0)
    return step if relative is True else pl.when(relative).then(step).otherwise(resolution)


def _has_cell(score: Any, step: Any) -> Any:
    """Return whether a score has digits below the step, which are removed by rounding down."""
    below = score.abs() < step * MAX_MULTIPLE
    return below if isinstance(step, float) else below & (step > 0)


def _is_negative_power(edge: pl.Expr) -> Any:
    return (edge < 0) & (leading_power(edge.abs()) == edge.abs())


def group_resolution(
    edges: Sequence[pl.Expr], width: pl.Expr, by: Sequence[pl.Expr]
) -> tuple[pl.Expr, pl.Expr]:
    """Return the resolution of the cells of each group, and whether it is relative to the scores.

    It is relative if all cells of the group have the same width relative to the leading power of
    their score, but not the same width, or if widths are above MAX_RESOLUTION; otherwise, it is the
    largest width. A score of 0 has no leading power, and is exact in tables with a relative
    resolution. The kind can differ from that of `compress` only if both have the same cells.
    """
    power = leading_power(edges[0].abs())
    power = pl.when(_is_negative_power(edges[0])).then(power / 2).otherwise(power)
    positive = pl.when(width > 0).then(width)
    ratio = positive / power
    exact_zero = ((width == 0) & (edges[0].abs() < MIN_RELATIVE_SCORE)).any()
    ends = [positive.min(), positive.max(), ratio.min(), ratio.max(), exact_zero]
    if by:
        ends = [end.over(by) for end in ends]
    narrowest, widest, lowest, highest, exact_zero = ends
    differ = (narrowest < widest) | (exact_zero & (widest > 0)) | (widest > MAX_RESOLUTION)
    # The ratio is infinite if cells that begin at 0 have a width.
    same_ratio = (lowest == highest) & highest.is_finite()
    relative = (differ & same_ratio).fill_null(False) & (len(edges) == 1)
    resolution = pl.when(relative).then(highest).otherwise(widest).fill_null(0.0)
    return resolution, relative


def check_cells(
    keys: pl.DataFrame,
    scores: Sequence[pl.Series],
    width: pl.Series | None,
    by: Sequence[str],
    *,
    compared: bool = False,
    model: pl.Series | None = None,
) -> None:
    """Raise an error for wrong widths, or if a group has cells of different resolutions.

    `width` are the widths of the cells, or None; a score without a width is exact. `by` are the
    names of `keys` in messages. With `compared`, parts of groups are compared with each other.
    `model` is the model of each row, or None.
    """
    if width is None:
        return
    is_wrong = (width < 0) | width.is_infinite()
    if width.is_nan().any():
        for score in scores:
            is_scored = score.is_not_nan() if score.dtype.is_float() else score.is_not_null()
            is_wrong |= width.is_nan() & is_scored
        width = width.fill_nan(None)
    if is_wrong.any():
        raise ScoreError.wrong_widths(SCORE_WIDTH, int(is_wrong.sum()))
    if not (width.max() or 0):  # all scores are exact
        return
    edges = [pl.nth(keys.width + 1 + i) for i in range(len(scores))]
    stored, groups = pl.nth(keys.width), [pl.nth(i) for i in range(keys.width)]
    columns = [*keys, *(values.cast(pl.Float64) for values in (width, *scores))]
    table = pl.DataFrame([column.alias(str(i)) for i, column in enumerate(columns)])
    has_score = pl.any_horizontal(edge.is_not_null() for edge in edges)
    table = table.with_columns(pl.when(has_score).then(stored.fill_null(0)))
    resolution, relative = group_resolution(edges, stored, groups)
    names = ("resolution", "relative")
    table = table.with_columns(resolution.alias(names[0]), relative.alias(names[1]))
    options = {"resolution": pl.col(names[0]), "relative": pl.col(names[1])}
    rounded = pl.any_horizontal(round_down(edge, **options, when=pl.when) != edge for edge in edges)
    widest = pl.max_horizontal(cell_width(edge, **options) for edge in edges)
    if model is not None:
        table = table.with_columns(model.cast(pl.String).alias("model"))
    wrong = table.filter(rounded | (widest != stored))
    if wrong.height:
        group = format_key(by, wrong.row(0))
        if by:
            on = table.columns[: len(by)]
            table = table.join(wrong.head(1), on=on, how="semi", nulls_equal=True)
        distinct_widths = table.select(stored.drop_nulls().unique().sort()).to_series().to_list()
        models = None
        if model is not None:
            widths = stored.drop_nulls().unique().sort()
            by_model = table.group_by("model").agg(widths).sort("model")
            models = dict(zip(*(column.to_list() for column in by_model), strict=True))
        raise ScoreError.different_cells(
            SCORE_WIDTH, distinct_widths, group, compared=compared, models=models
        )
