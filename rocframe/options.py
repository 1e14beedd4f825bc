"""Read the options of the public functions, and the tables that users pass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction
from functools import wraps
from inspect import Parameter, signature
from io import IOBase
from itertools import pairwise
from math import ceil, inf, isfinite, isnan, ulp
from os import PathLike
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

import polars as pl
import polars.selectors as cs

from rocframe.errors import (
    ArgumentError,
    ColumnTypeError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
    ReservedColumnError,
    RocframeError,
    UnknownOptionError,
)
from rocframe.text import format_list, format_type, format_value, join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable


# Names of closed sets that the command line lists in its help. This module does not load numpy;
# the records of the sets are in `kinds.py` and in the file of `gate`.
KindName: TypeAlias = Literal[
    "roc",
    "precision_recall",
    "pr",
    "det",
    "gain",
    "lift",
    "lift_chart",
    "predictive_value",
    "skill",
]
# Tests of both `gate` and `compare`.
SharedMethod = Literal[
    "delong_t",
    "delong",
    "delong_t_unpaired",
    "delong_unpaired",
    "t_test",
    "t_test_unpaired",
    "mcnemar",
    "miettinen_nurminen",
    "delta",
    "delta_unpaired",
    "bootstrap",
    "bootstrap_unpaired",
]
GateMethod = Literal["newcombe", "newcombe_unpaired", SharedMethod]
ComparisonMethod = Literal[SharedMethod, "mcnemar_exact", "kosinski", "permutation", "venkatraman"]


class NotGiven(Enum):
    """Type of `NOT_GIVEN`."""

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "<not given>"


# Default of an argument such as `count`, for which the value None has a meaning of its own.
NOT_GIVEN: Final = NotGiven.NOT_GIVEN
MAX_INTEGER = 2**53  # Float64 represents all integers up to this number
DECIMAL_DIGITS = 12  # floats with more digits are results of computations, such as 5/6


def check_choice(argument: str, value: object, choices: Iterable[str | None]) -> None:
    """Raise an error if the value of an option is not one of the choices."""
    allowed = list(choices)
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise UnknownOptionError.compose(argument, value, allowed)


def is_text(value: object, *texts: str) -> bool:
    """Return whether a value is one of the texts; `==` of an expression or array is no Boolean."""
    return isinstance(value, str) and value in texts


def check_flag(argument: str, value: object) -> None:
    """Raise an error if the value of an option is not True or False."""
    if not isinstance(value, bool):
        hint = f"Use {argument}=True, or leave out {argument}=."
        raise OptionValueError.compose(argument, value, "expected True or False", hint)


def check_supported(
    option: str,
    value: object,
    subject: str,
    *,
    supported: bool = False,
    default: object = None,
    noun: Literal["option", "value"] = "option",
    hint: str = "",
) -> None:
    """Raise an error for an option that `subject` does not support, unless it has its default."""
    is_default = value is default or (isinstance(value, type(default)) and value == default)
    if not (supported or is_default):
        problem = f"this {noun} cannot be used with {subject}"
        raise OptionValueError.compose(option, value, problem, hint or f"Leave out {option}=.")


def to_float(value: object) -> float | None:
    """Return a scalar number of Python or numpy as a float; None for other values."""
    if isinstance(value, str | bytes | pl.Series | pl.Expr) or getattr(value, "ndim", None):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def to_list(value: Any) -> list[Any]:
    """Return one value or an iterable of values as a list; strings and 0-d arrays are one value."""
    is_single = isinstance(value, str | bytes) or getattr(value, "ndim", None) == 0
    return [value] if is_single or not hasattr(value, "__iter__") else [*value]


def to_floats(value: object) -> list[float] | None:
    """Return a number or an iterable of numbers as a list; None for other values."""
    numbers = [to_float(item) for item in to_list(value)]
    return None if None in numbers else numbers  # type: ignore[return-value]


def parse_number(
    argument: str,
    value: object,
    *,
    low: float = -inf,
    high: float = inf,
    closed: Literal["none", "left", "right"] = "none",
    example: object = None,
    hint: str = "",
) -> float:
    """Return a finite number between `low` and `high`; a Boolean raises an error.

    `closed` states which of the two limits is an allowed value. The default hint is the `example`.
    """
    number = to_float(value)
    above = number is not None and (number >= low if closed == "left" else number > low)
    below = number is not None and (number <= high if closed == "right" else number < high)
    if number is None or isinstance(value, bool) or not (above and below and isfinite(number)):
        limits = []
        if low > -inf:
            limits.append(f"{'of at least' if closed == 'left' else 'above'} {low:g}")
        if high < inf:
            limits.append(f"{'of at most' if closed == 'right' else 'below'} {high:g}")
        finite = "" if -inf < low and high < inf else "finite "
        problem = " ".join([f"expected a {finite}number", " and ".join(limits)]).rstrip()
        raise OptionValueError.compose(
            argument, value, problem, hint or f"Use, for example, {argument}={example}."
        )
    return number


def parse_fraction(argument: str, value: object, *, example: object) -> float:
    """Return a number above 0 and below 1; the error suggests the value `example`."""
    return parse_number(argument, value, low=0, high=1, example=example)


def parse_integer(
    argument: str,
    value: object,
    *,
    low: int = 1,
    high: int = MAX_INTEGER,
    example: int = 1000,
    hint: str = "",
) -> int:
    """Return an integer from `low` to `high`; the hint is `example`. Booleans raise an error."""
    number = to_float(value)
    if number is None or isinstance(value, bool) or not low <= number <= high or number % 1:
        limits = f"of at least {low}" if high == MAX_INTEGER else f"from {low} to {high}"
        problem = f"expected an integer {limits}"
        raise OptionValueError.compose(
            argument, value, problem, hint or f"Use, for example, {argument}={example}."
        )
    return int(number)


def exact_fraction(number: float) -> Fraction:
    """Return the fraction that a float stands for: 1/10 for 0.1, and 5/6 for 0.8333333333333334.

    If the shortest decimal representation of the float has at most 12 digits, this is its value.
    Otherwise, it is the fraction with the smallest denominator that is rounded to this float.
    """
    number = float(number)
    decimal = Decimal(repr(number))
    if len(decimal.normalize().as_tuple().digits) <= DECIMAL_DIGITS:
        return Fraction(decimal)
    half = Fraction(ulp(number)) / 2
    size = abs(Fraction(number))
    return simplest_fraction(size - half, size + half) * (1 if number > 0 else -1)


def simplest_fraction(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction with the smallest denominator from `low` to `high`, both above 0."""
    whole = ceil(low)
    if whole <= high:
        return Fraction(whole)
    whole -= 1
    return whole + 1 / simplest_fraction(1 / (high - whole), 1 / (low - whole))


def parse_numbers(
    argument: str,
    value: object,
    *,
    bounds: tuple[float, float] | None = None,
    single: bool = True,
    example: str,
) -> list[float]:
    """Return a list of numbers without NaN, all within `bounds`; one number if `single` is true."""
    numbers = to_floats(value) if single or to_float(value) is None else None
    if numbers is None:
        problem = f"expected {'a number or ' if single else ''}a list of numbers"
        raise OptionValueError.compose(
            argument, value, problem, f"Use, for example, {argument}={example}."
        )
    for number in numbers:
        if isnan(number):
            raise OptionValueError.compose(argument, value, "a value is NaN", "Remove NaN.")
        if bounds is not None and not bounds[0] <= number <= bounds[1]:
            problem = f"{number:g} is outside the range from {bounds[0]:g} to {bounds[1]:g}"
            hint = f"Use values within this range.{percent_hint(number, bounds[1])}"
            raise OptionValueError.compose(argument, value, problem, hint)
    return numbers


MAX_PERCENT = 100


def percent_hint(number: float, high: float) -> str:
    """Return a hint for a number that may be a percentage; `high` is its largest allowed value."""
    if high != 1 or not 1 < number <= MAX_PERCENT:
        return ""
    return f" For {number:g} %, use {number / MAX_PERCENT:g}."


MAX_GRID_POINTS = 10**7


def parse_grid(
    grid: object, *, keyword: str | None = None, bounds: tuple[float, float] | None = (0, 1)
) -> int | str | list[float]:
    """Return the number of grid points, the rising grid values, or the string `keyword`."""
    problem = "expected a number of points or a list of values"
    if keyword is not None:
        problem = f'expected a number of points, a list of values or "{keyword}"'
    hint = "Use, for example, grid=101 or grid=[0.01, 0.1]."
    if isinstance(grid, str):
        if keyword is None or grid != keyword:
            raise UnknownOptionError(f"grid={format_value(grid)}: {problem}.\n{hint}")
        return grid
    points = to_float(grid)
    if points is not None and not isinstance(grid, bool | float) and points % 1 == 0:
        return parse_integer("grid", grid, low=2, high=MAX_GRID_POINTS, example=101)
    if points is not None or not to_floats(grid):
        raise OptionValueError.compose("grid", grid, problem, hint)
    values = parse_numbers("grid", grid, bounds=bounds, example="[0.01, 0.1]")
    return sorted({value + 0.0 for value in values})


def grid_values(grid: int | list[float]) -> list[float]:
    """Return the values of a grid: a list, or evenly spaced ones from 0 to 1, correctly rounded."""
    return [i / (grid - 1) for i in range(grid)] if isinstance(grid, int) else grid


MAX_BINS = 1_000_000
MAX_SCORE_BINS = 1_000  # of bins of any scores


def parse_bins(bins: object, *, example: str, unit: bool = True) -> int | list[float]:
    """Return the number of bins, or their edges, which rise: from 0 to 1, or any with `unit=False`.

    Without `unit`, there are at least two bins, and at most `MAX_SCORE_BINS`.
    """
    if to_float(bins) is not None:
        low, high = (1, MAX_BINS) if unit else (2, MAX_SCORE_BINS)
        return parse_integer("bins", bins, low=low, high=high, example=10)
    hint = f"Use, for example, bins=10 or bins={example}."
    if not to_floats(bins):
        problem = "expected a number of bins or a list of edges"
        raise OptionValueError.compose("bins", bins, problem, hint)
    edges = parse_numbers("bins", bins, bounds=(0, 1) if unit else None, example=example)
    if unit:
        has_ends, problem = edges[0] == 0 and edges[-1] == 1, "start with 0, rise, and end with 1"
    else:
        has_ends = 2 < len(edges) <= MAX_SCORE_BINS
        problem = f"rise, and be at least 3 and at most {MAX_SCORE_BINS:,}"
    if not has_ends or any(low >= high for low, high in pairwise(edges)):
        raise OptionValueError.compose("bins", bins, f"edges must {problem}", hint)
    return edges


def unit_edges(bins: int | list[float]) -> list[float]:
    """Return the edges of bins of [0, 1]: a list, or those of equal bins, correctly rounded."""
    return grid_values(bins + 1) if isinstance(bins, int) else bins


def parse_names(by: str | pl.Expr | Iterable[str | pl.Expr] | None) -> tuple[str, ...]:
    """Return the names of the group columns in `by` as a tuple, which is empty for None.

    `public` replaces the expressions in `by` of public functions by names.
    """
    if by is None:
        return ()
    names = []
    for name in [by] if isinstance(by, Mapping) else to_list(by):
        if not isinstance(name, str):
            problem = "expected names of group columns, expressions or selectors"
            hint = 'Use, for example, by=["model", pl.col("day").dt.month()].'
            raise OptionValueError.compose("by", name, problem, hint)
        names.append(name)
    return tuple(names)


def returns_several_columns(expr: pl.Expr) -> bool:
    """Return whether an expression is a selector, or may return several columns."""
    return cs.is_selector(expr) or expr.meta.has_multiple_outputs()


def output_columns(
    plan: pl.LazyFrame, schema: pl.Schema, argument: str, source: pl.Expr
) -> pl.Schema:
    """Return the names and dtypes of the columns that an expression returns."""
    try:
        return plan.select(source).collect_schema()
    except pl.exceptions.ColumnNotFoundError as error:
        # `root_names` omits names in selectors. The message of polars contains the missing name.
        roots = [name for name in source.meta.root_names() if name not in schema]
        name = (roots or [*str(error).split('"')[1:2], str(source)])[0]
        raise MissingColumnError.compose(argument, name, schema) from None
    except pl.exceptions.DuplicateError:
        problem = "the expression returns two columns with the same name"
        hint = "Pass an expression that returns one column."
        if argument == "score":
            hint = 'Rename one column, for example with .name.suffix(), or pass {"a": …, "b": …}.'
        raise OptionValueError.compose(argument, source, problem, hint) from None


def check_distinct(argument: str, values: Sequence[Any]) -> None:
    """Raise an error if a value, such as a name or a class, is given more than once."""
    with suppress(TypeError):  # values without a hash are not names, and raise another error
        for value, times in Counter(values).items():
            if times > 1:
                raise RepeatedNameError.compose(argument, value, values)


def check_group_columns(
    by: Sequence[str], available: Iterable[str], table: Sequence[str], argument: str = "by"
) -> None:
    """Raise an error for a group column that is missing, given twice, or a result column."""
    names = list(available)
    for name in by:
        if name not in names:
            hint = None
            if argument == "over" and name == "fold":
                hint = "Pass the column of the folds as over=."
            raise MissingColumnError.compose(argument, name, names, hint=hint)
        if by.count(name) > 1:
            raise RepeatedNameError.compose(argument, name, by)
        if name in table:
            raise ReservedColumnError.compose(name, table, argument)


def check_group_column(
    argument: str, name: object, by: Sequence[str], columns: Collection[str]
) -> None:
    """Raise an error if `name` is not one of the group columns `by` of the table."""
    is_text = isinstance(name, str)
    if is_text and name in by:
        return
    if is_text and name in columns:
        groups = (
            f"Group columns of the table: {format_list(by)}."
            if by
            else "The table has no group columns."
        )
        raise OptionValueError.compose(
            argument, name, "expected a group column of the table", groups
        )
    problem = None if is_text else "expected a string, the name of one group column"
    hint = None
    if argument == "over" and is_text and name == "fold":
        hint = (
            'The default is over="fold". Compute the table with "fold" in by=, or pass another '
            "group column as over=."
        )
    raise MissingColumnError.compose(
        argument, name, by, noun="group column", problem=problem, hint=hint
    )


def check_column_name(argument: str, value: object, *, example: str) -> None:
    """Raise an error if the value of an option is not a string, the name of one column."""
    if not isinstance(value, str):
        hint = f'Use, for example, {argument}="{example}".'
        raise OptionValueError.compose(argument, value, "expected the name of one column", hint)


def group_dtypes(by: Sequence[str], schema: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Return the dtypes of the group columns; raise an error for a dtype that cannot be sorted."""
    for name in by:
        if schema[name] == pl.Object:
            hint = "Groups are sorted, and this type has no order. Cast the column first."
            raise ColumnTypeError.compose("by", name, schema[name], hint)
    return {name: schema[name] for name in by}


def check_text(argument: str, value: object) -> None:
    """Raise an error if a value is not text, or if UTF-8 cannot encode the text."""
    if not isinstance(value, str):
        raise OptionValueError.compose(argument, value, "expected text", "Pass a string.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise OptionValueError.compose(
            argument,
            value,
            "the text contains a lone surrogate, which UTF-8 does not support",
            "Remove this character.",
        ) from None


# Arguments of other packages, and the arguments of this package with the same meaning.
ARGUMENT_ALIASES: dict[str, tuple[str, ...]] = {
    alias: arguments
    for arguments, aliases in {
        ("label",): "y_true y_test y target targets truth true actual labels outcome response",
        ("score", "scores"): "y_score y_pred y_prob y_proba y_hat pred preds prediction predictor "
        "prob probs proba probability probas_pred score scores",
        ("positive",): "pos_label pos_class positive_class positive_label event levels",
        ("by",): "group_by groupby group groups strata",
        ("between", "by"): "model models",
        ("total",): "overall margins",
        ("over", "by"): "fold folds cv",
        ("over", "between", "by"): "across",
        ("across", "by"): "over",
        ("weight",): "sample_weight sample_weights weights case_weights",
        ("count",): "counts freq frequency n",
        ("missing",): "na nan nulls na_rm dropna on_missing",
        ("level",): "conf_level confidence confidence_level",
        ("ci",): "ci_method interval method",
        ("n_boot",): "boot_n bootstrap n_bootstrap n_bootstraps n_resamples",
        ("n_perm",): "permutations n_permutations",
        ("seed",): "random_state random_seed rng",
        ("id",): "ids id_column pair_by",
        ("cluster",): "clusters user_id",
        ("metrics",): "metric loss losses",
        ("thresholds", "threshold", "grid"): "threshold thresholds cutoff cutoffs",
        ("thresholds",): "grid",
        ("method",): "strategy",
        ("fpr",): "max_fpr fpr_range partial_auc",
        ("tpr",): "min_tpr tpr_range recall sensitivity",
        ("max_error",): "drop_intermediate tolerance",
        ("color",): "colour hue color_by",
        ("facet",): "col row facet_by",
        ("path",): "file filename fname output out",
        ("about",): "metadata",
        ("adjust",): "p_adjust correction",
    }.items()
    for alias in aliases.split()
}

# Arguments of other packages that have no equivalent in this package, and what to use instead.
ARGUMENTS_OF_OTHERS = {
    **dict.fromkeys(
        ("title", "width", "height"),
        "If the result is a chart, use its method .properties({name}=…).",
    ),
    **dict.fromkeys(("average", "multi_class"), "Use multiclass_auc for averages over classes."),
    "direction": "Higher scores indicate the positive class. If lower scores indicate it, negate "
    'the score, for example with score=-pl.col("score").',
    "error_rate": 'Use operating_point("tpr", subject_to={{"error_rate": (0, 0.1)}}).',
}

# Arguments whose values are names of columns, expressions, selectors, or lists or mappings of them.
COLUMN_ARGUMENTS = {
    *("label", "score", "scores", "weight", "count", "cluster", "id"),
    *("between", "over", "across", "benefit", "cost", "time"),
}

# What to use instead of an argument that a function does not have, by function and argument.
HINTS_OF_FUNCTIONS = {
    **{
        ("calibration_summary", name): "For confidence limits of these measures, use, for example, "
        'intervals(…, metrics="calibration_slope").'
        for name in ("ci", "level", "n_boot", "seed")
    },
    **{
        ("confusion_matrix", name): "For a threshold of scores, use curve(…).roc.at(threshold=0.5)."
        for name in ("threshold", "thresholds", "cutoff", "cutoffs")
    },
    **{
        ("multiclass_auc", name): 'Use average="hand_till" for all pairs of classes, or '
        'average="macro" for each class against all others. For intervals, use ci=.'
        for name in ("method", "multi_class")
    },
    ("fpr", "threshold"): 'Use 1 - pl.col("score").roc.specificity("label", threshold=…).',
    ("tpr", "threshold"): 'Use pl.col("score").roc.recall("label", threshold=…).',
    ("chart", "hull"): "Add the chart of the hull: curves.roc.chart() + "
    "curves.roc.hull().roc.chart().",
    ("chart", "mark"): "Add the chart of the points: curves.roc.chart() + "
    "curves.roc.at(threshold=0.5).roc.chart().",
    **{
        ("chart", name): "Add the chart of the lines: curves.roc.chart() + "
        "curves.roc.iso_lines(costs=…, prevalence=…).roc.chart()."
        for name in ("costs", "prevalence")
    },
    **{
        (function, "maximize"): "Pass the metric as rule=; set minimize=True for the lowest value."
        for function in ("operating_point", "transfer", "intervals")
    },
}


def suggest_argument(name: str, arguments: Iterable[str]) -> str | None:
    """Return the argument that a user probably means by a name; None if no argument is similar."""
    available = list(arguments)
    for argument in ARGUMENT_ALIASES.get(name.lower(), ()):
        if argument in available:
            return argument
    return next(iter(get_close_matches(name.lower(), available, n=1, cutoff=0.7)), None)


def _unknown_argument_hint(
    function: Callable[..., Any], parameters: Mapping[str, Parameter], name: str, value: object
) -> str:
    """Return a hint for an argument that a function does not have."""
    by_name = [
        key
        for key, parameter in parameters.items()
        if parameter.kind is not Parameter.POSITIONAL_ONLY
    ]
    row_values = name in {"benefit", "cost"} and not isinstance(value, Mapping)
    is_missing = name == "missing" or ARGUMENT_ALIASES.get(name.lower()) == ("missing",)
    hint = f"Leave out {name}=."
    if row_values and "curves" in parameters:
        hint = f"Pass {name}= to curve, which computes the curves."
    elif row_values and "weight" in parameters:
        hint = (
            "Weight positives by their benefit and negatives by their cost, for example with "
            'weight=pl.when(pl.col("label") == 1).then("amount").otherwise(5).'
        )
    elif (function.__name__, name.lower()) in HINTS_OF_FUNCTIONS:
        hint = HINTS_OF_FUNCTIONS[function.__name__, name.lower()]
    elif name in ARGUMENTS_OF_OTHERS:
        hint = ARGUMENTS_OF_OTHERS[name].format(name=name)
    elif name == "alpha" and "level" in by_name:
        hint = "Use level=, the confidence level: 1 minus alpha."
    elif argument := suggest_argument(name, by_name):
        hint = f"Use {argument}= instead."
    elif is_missing and function.__module__.startswith("rocframe.expressions"):
        hint = f"Leave out {name}=: expressions always leave out rows with missing values."
    elif name == "positive" and function.__name__ == "volume":
        hint = f"Leave out {name}=: all three classes are compared. Use classes= for their order."
    elif function.__name__ == "at":
        hint = (
            'For another metric, use operating_point("tpr", subject_to={"precision": (0.9, 1)}). '
            'For means over folds, use average(fixed="precision").'
        )
    return hint


ResultT = TypeVar("ResultT")
FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")
FRAME_ARGUMENTS = ("predictions", "curves", "table")


@overload
def public(function: Callable[Concatenate[PolarsT, P], PolarsT]) -> FrameFunction[P]: ...
@overload
def public(
    function: Callable[Concatenate[PolarsT, P], ResultT],
) -> TableFunction[PolarsT, P, ResultT]: ...
@overload
def public(function: FunctionT) -> FunctionT: ...
def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper that converts Arrow tables, and raises ArgumentError for wrong arguments.

    Each Arrow table is read once, because a RecordBatchReader can be read only once.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_arrow_table, (*args, *kwargs.values()))):
            args, kwargs = _read_arrow_tables(function, args, kwargs)
        return _call(function, args, kwargs)

    return call


def public_for_engines(function: Callable[Concatenate[PolarsT, P], PolarsT]) -> FrameFunction[P]:
    """Return a wrapper of a function that itself reads the tables of other packages."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _call(function, args, kwargs)

    return cast("FrameFunction[P]", call)


def _call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the result of a function; raise ArgumentError for wrong arguments."""
    # Functions may read an option several times, for example again when a LazyFrame is collected.
    # The values of an iterator can be read only once, so they are stored. The first argument is the
    # table.
    args = [*args[:1], *map(_store_values, args[1:])]
    kwargs = {name: _store_values(value) for name, value in kwargs.items()}
    if args and isinstance(args[0], pl.DataFrame | pl.LazyFrame):
        args[0], args[1:], kwargs = _compute_keys(function, args[0], args[1:], kwargs)
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        # If the call itself is wrong, the traceback has one entry. A TypeError that is raised
        # inside `function` has more entries, and is not an error of the call.
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        problem = str(error)
    raise _argument_error(function, args, kwargs, problem)


def _compute_keys(
    function: Callable[..., Any], table: PolarsT, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[PolarsT, list[Any], dict[str, Any]]:
    """Return the arguments of a call, in which `by` has only names of columns.

    Expressions in `by` become the first columns of the table, so that they are left of the column
    `threshold` of a curve table, and of `reference=`. `args` are the other arguments by position.
    """
    by = to_list(kwargs.get("by"))
    if not any(isinstance(source, pl.Expr) for source in by):
        return table, [*args], kwargs
    plan, schema = table.lazy(), table.collect_schema()
    names: list[str] = []
    computed: dict[str, pl.Expr] = {}
    for source in by:
        outputs = _key_names(plan, schema, source) if isinstance(source, pl.Expr) else [source]
        names += outputs
        if isinstance(source, pl.Expr) and not source.meta.is_column_selection():
            _check_length(source, schema)
            computed |= dict.fromkeys(outputs, source)
    check_distinct("by", parse_names(names))
    kwargs = {**kwargs, "by": names}
    if not computed:
        return table, [*args], kwargs
    result = _with_keys(table, computed)
    if isinstance(kwargs.get("reference"), pl.DataFrame | pl.LazyFrame):
        _check_reference(kwargs["reference"].collect_schema(), schema, computed)
        kwargs["reference"] = _with_keys(kwargs["reference"], computed)
    positional = [*signature(function).parameters][1 : 1 + len(args)]
    values = {**dict(zip(positional, args, strict=False)), **kwargs}
    for argument in COLUMN_ARGUMENTS & values.keys():
        value = values[argument] = _select_by_name(argument, values[argument], plan, result.lazy())
        for name, source in computed.items():
            if name in schema and _uses_column(value, name, plan):
                problem = f"{argument}= uses the column {name!r}, which has the same name"
                hint = "Give the group column another name, with .alias()."
                raise OptionValueError.compose("by", source, problem, hint)
    args = [*(values[name] for name in positional), *args[len(positional) :]]
    return result, args, {name: values[name] for name in kwargs}


def _select_by_name(argument: str, value: Any, before: pl.LazyFrame, after: pl.LazyFrame) -> Any:
    """Return a value whose selectors do not select columns that only the plan `after` has."""
    if isinstance(value, Mapping):
        return {key: _select_by_name(argument, part, before, after) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_select_by_name(argument, part, before, after) for part in value]
    if not isinstance(value, pl.Expr) or not returns_several_columns(value):
        return value
    with suppress(pl.exceptions.PolarsError):  # the function raises its own error
        names = before.select(value).collect_schema().names()
        if value.meta.is_column_selection():
            return cs.by_name(*names)
        if names != after.select(value).collect_schema().names():
            problem = "the selector also selects group columns that are computed in by="
            hint = "Select the columns by name."
            raise OptionValueError.compose(argument, value, problem, hint)
    return value


def _check_reference(reference: pl.Schema, schema: pl.Schema, keys: Mapping[str, pl.Expr]) -> None:
    """Raise an error if a reference lacks a column of the predictions that a key is computed of."""
    for source in keys.values():
        for name in source.meta.root_names():
            if name in schema and name not in reference:
                raise MissingColumnError.of_table(
                    "reference",
                    name,
                    reference,
                    problem=f"the predictions have a column {name!r}, but the reference does not",
                    owner="The reference has",
                )


def _key_names(plan: pl.LazyFrame, schema: pl.Schema, source: pl.Expr) -> list[str]:
    """Return the names of the columns that an expression or selector in `by` returns."""
    names = output_columns(plan, schema, "by", source).names()
    if not names:
        problem = "the selector matches no column"
        hint = f"The frame has: {format_list(schema, most=30)}."
        raise OptionValueError.compose("by", source, problem, hint)
    return names


def _with_keys(frame: PolarsT, keys: Mapping[str, pl.Expr]) -> PolarsT:
    """Return a table with additional first columns, which replace columns of the same names."""
    # A source of several columns occurs once for each of them.
    sources = list({id(source): source for source in keys.values()}.values())
    columns = [*sources, cs.all() - cs.by_name(*keys, require_all=False)]
    try:
        return cast("PolarsT", frame.select(columns))
    except pl.exceptions.ShapeError:  # a LazyFrame raises this error when it is collected
        raise _length_error(sources[0] if len(sources) == 1 else sources) from None


def _check_length(source: pl.Expr, schema: pl.Schema) -> None:
    """Raise an error if an expression in `by` does not return one value for each row.

    A constant is allowed. An expression of several columns is evaluated on two rows of nulls. The
    number of values that a Python function returns is not known.
    """
    if returns_several_columns(source):
        preserved = pl.DataFrame(schema=schema).clear(2).select(source).height == 2
    else:
        try:
            preserved = source.meta.is_length_preserving()
        except pl.exceptions.PolarsError:
            return
        preserved |= not source.meta.root_names()  # a constant
    if not preserved:
        raise _length_error(source)


def _length_error(source: object) -> OptionValueError:
    """Return the error for an expression in `by` that does not return one value for each row."""
    problem = "the expression does not return one value for each row"
    hint = "Use a function of the values of a row. For a value of each group, use .over()."
    return OptionValueError.compose("by", source, problem, hint)


def _uses_column(value: Any, name: str, plan: pl.LazyFrame) -> bool:
    """Return whether the value of an argument names a column, or has an expression that uses it."""
    if isinstance(value, pl.Expr):
        if cs.is_selector(value):
            return name in plan.select(value).collect_schema()
        return name in value.meta.root_names()
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        return any(_uses_column(element, name, plan) for element in value)
    return isinstance(value, str) and value == name


def _store_values(value: Any) -> Any:
    """Return an iterator as a list, a 0-d array as a scalar, and other values unchanged."""
    if type(value).__name__ == "ndarray" and value.ndim == 0:
        return value.item()
    return [*value] if isinstance(value, Iterator) and not isinstance(value, IOBase) else value


def _read_arrow_tables(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, in which Arrow tables are converted to DataFrames."""
    names = [*signature(function).parameters]
    names += ["argument"] * (len(args) - len(names))  # too many arguments: the call itself fails

    def convert(name: str, value: Any) -> Any:
        return read_arrow_table(name, value) if is_arrow_table(value) else value

    return (
        tuple(convert(name, value) for name, value in zip(names, args, strict=False)),
        {name: convert(name, value) for name, value in kwargs.items()},
    )


def _argument_error(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], problem: str
) -> RocframeError:
    """Return the error for a call with wrong arguments; `problem` is Python's message."""
    parameters = signature(function).parameters
    first = next(iter(parameters.values()), None)
    if first is not None and args and first.name in FRAME_ARGUMENTS:
        check_frame(first.name, args[0])
    problem = problem.removeprefix(f"{function.__qualname__}() ")
    unknown = [name for name in kwargs if name not in parameters]
    required = [
        name
        for name, parameter in list(parameters.items())[len(args) :]
        if parameter.default is Parameter.empty and name not in kwargs
    ]
    if unknown:
        name = unknown[0]
        problem = f"unexpected keyword argument {name!r}"
        hint = _unknown_argument_hint(function, parameters, name, kwargs[name])
    elif first is not None and not args and first.kind is Parameter.POSITIONAL_ONLY:
        hint = f"Pass {first.name} by position, as the first argument."
    elif required:
        hint = f"Pass {join_names([f'{name}=…' for name in required])}."
    else:
        options = [
            key for key, parameter in parameters.items() if parameter.kind is Parameter.KEYWORD_ONLY
        ]
        example = f", such as {options[0]}=…" if options else ""
        hint = f"Pass each argument once, and options by name{example}."
    return ArgumentError.compose(function.__name__, problem, parameters, hint)


class ArrowTable(Protocol):
    """A table whose rows other packages can read: pandas, pyarrow, DuckDB, Ibis and others."""

    def __arrow_c_stream__(self, requested_schema: Any = None, /) -> Any:
        """Return the rows as a stream in the C format of Arrow."""


P = ParamSpec("P")
PolarsT = TypeVar("PolarsT", bound=pl.DataFrame | pl.LazyFrame)


class FrameFunction(Protocol[P]):
    """A function that returns a frame of the type of its argument; a DataFrame for Arrow tables."""

    @overload
    def __call__(self, table: PolarsT, /, *args: P.args, **kwargs: P.kwargs) -> PolarsT: ...
    @overload
    def __call__(self, table: ArrowTable, /, *args: P.args, **kwargs: P.kwargs) -> pl.DataFrame: ...


FrameT_contra = TypeVar("FrameT_contra", bound=pl.DataFrame | pl.LazyFrame, contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)


class TableFunction(Protocol[FrameT_contra, P, ResultT_co]):
    """A function of a table, whose result has another type, such as a chart."""

    def __call__(  # noqa: D102 - the docstring is that of the function
        self, table: FrameT_contra | ArrowTable, /, *args: P.args, **kwargs: P.kwargs
    ) -> ResultT_co: ...


def is_arrow_table(value: object) -> bool:
    """Return whether a value is a table of another package with the Arrow stream interface."""
    # Single columns have the same interface. A column of structs would be read as a table.
    is_table = hasattr(type(value), "__arrow_c_stream__") and not isinstance(value, pl.DataFrame)
    return is_table and not _is_array(value)


def read_arrow_table(argument: str, table: Any) -> pl.DataFrame:
    """Return the rows of an Arrow table as a DataFrame; `argument` is its name in the errors."""
    if type(table).__module__.split(".")[0] == "pyspark":
        hint = (
            "rocframe does not load the rows of a cluster into memory by itself. To count the rows "
            f"on the cluster, use rf.compress({argument}, label, score, …), and pass the result "
            f'with count="count". To load all rows, use pl.DataFrame({argument}.toArrow()).'
        )
        raise OptionValueError.unexpected_type(argument, table, "a table in memory", hint)
    try:
        return pl.DataFrame(table)
    except (Exception, pl.exceptions.PanicException) as error:
        # Each package raises errors of its own classes, and polars panics for some types.
        # The message of a panic contains the error that caused it.
        text = re.sub(r'.*ErrString\("(.*)"\)+', r"\1", str(error)).split("\n")[0].rstrip(".")
        columns = _unreadable_columns(table)
        where = f" ({format_list(columns)})" if columns else ""
        raise OptionValueError(
            f"{argument}: the {format_type(table)} cannot be read: {text}.\n"
            f"Convert, rename or leave out the columns that polars cannot read{where}."
        ) from error


def _unreadable_columns(table: Any) -> list[str]:
    """Return the columns of a pandas DataFrame that polars cannot read; none for other tables."""
    if format_type(table) != "pandas DataFrame" or not table.columns.is_unique:
        return []
    names = []
    for name in table.columns:
        try:
            pl.DataFrame(table[[name]])
        except (Exception, pl.exceptions.PanicException):  # noqa: BLE001 - as above
            names.append(name)
    return names


def check_frame(argument: str, value: object) -> None:
    """Raise an error for a value other than a frame; the error says how to convert the value."""
    if isinstance(value, pl.DataFrame | pl.LazyFrame):
        return
    is_array = isinstance(value, Sequence) or _is_array(value)
    hint = "Convert the value first, for example with pl.DataFrame(…) or pl.from_pandas(…)."
    if isinstance(value, str | PathLike):
        reader = "csv" if str(value).endswith(".csv") else "parquet"
        hint = f"Read the file first: pl.read_{reader}(path) or pl.scan_{reader}(path)."
    elif isinstance(value, Mapping):
        hint = "Convert the value first: pl.DataFrame(…)."
    elif type(value).__name__ == "LazyFrame":
        hint = "Collect the table first, with its method collect()."
    elif type(value).__name__.endswith("GroupBy"):
        hint = "Pass the table itself, and the group columns as by=."
    elif argument != "predictions" and (is_array or value is None):
        hint = (
            "Pass a table that rocframe returned, such as the result of .roc.curve(label, score)."
        )
    elif value is None:
        hint = "Pass a table, such as the result of pl.read_parquet(path)."
    elif is_array:
        hint = (
            'Make a table of the arrays first: pl.DataFrame({"label": y_true, "score": y_score}). '
            "Then pass the names of its columns."
        )
    expected = "a DataFrame, LazyFrame or Arrow table"
    raise OptionValueError.unexpected_type(argument, value, expected, hint)


def _is_array(value: object) -> bool:
    """Return whether a value is an array, or a single column of polars, pandas or pyarrow."""
    kind = type(value)
    return kind.__module__ == "numpy" or kind.__name__.endswith(("Series", "Array"))
