"""Kinds of curve, such as ROC, and the option `metrics`: their axes, scales and interpolation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import polars as pl

from rocframe.errors import (
    VALUE_ALIASES,
    BrokenCurveError,
    MissingColumnError,
    OptionValueError,
    UnknownOptionError,
)
from rocframe.options import check_choice, check_distinct, to_list
from rocframe.rates import CONFUSION, COUNT_COLUMNS, COUNT_METRICS, NAMES, RATES, Rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rocframe.rates import Counts, Settings


Scale: TypeAlias = Literal["linear", "log", "logit", "normal_deviate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """The lines of chance of a kind of curve: their description, and where they are.

    The line is y = x, or y = 1 - x if it `falls`, or horizontal at a `height`. With `of_curves`, it
    depends on the class sizes of each curve. With `perfect`, lines rise from 0, and further lines
    show perfect scores. `key` explains the lines in the subtitle.
    """

    text: str = "The dashed line shows chance"
    height: float | None = None
    falls: bool = False
    of_curves: bool = False
    perfect: bool = False
    key: str = ""


DIAGONAL = Chance()
OF_PREVALENCES = Chance(text="Each dashed line shows chance at one prevalence", of_curves=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """A kind of curve: its name, title and axes.

    `segments` is the shape of the line between two points, whose counts are interpolated linearly.
    `scale` is the default scale. `scaled` are the axes, "x" or "xy", of each other scale, and
    `simplified` the scales for which the rows of a line are selected. `area` is the column of the
    area, and `area_label` its name in charts. `chance` are the lines of chance, if there are any.
    `corner` is a corner of the chart that no curve reaches. `has_ties` is true if the order of tied
    rows can be drawn, and `roc_area` if the area below or above the curve is that of the ROC curve.
    `free` is true for axes that the user chose, if no other kind has them.
    """

    name: str
    title: str
    x: str
    y: str
    segments: Literal["straight", "hyperbolic"] = "straight"
    aliases: tuple[str, ...] = ()
    scale: Scale = "linear"
    scaled: Mapping[Scale, str] = field(default_factory=dict)
    simplified: tuple[Scale, ...] = ("linear", "log")
    area: str = "auc"
    area_label: str = "ROC AUC"  # on other axes, it is not the area under the drawn curve
    chance: Chance | None = DIAGONAL
    corner: str = "lower right"
    has_ties: bool = False
    roc_area: bool = False
    free: bool = False

    @property
    def rates(self) -> tuple[str, ...]:
        """The columns that this kind adds to the confusion matrices."""
        return tuple(name for name in (self.x, self.y) if name not in CONFUSION)

    def axis(self, name: str) -> Rate:
        """Return the metric with the name of an axis, such as `self.x`."""
        return NAMES[name]

    def exprs(self, settings: Settings) -> list[pl.Expr]:
        """Return the columns in `rates` as expressions over the counts."""
        return [NAMES[name].expr(settings).alias(name) for name in self.rates]


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="roc",
            title="ROC",
            x="fpr",
            y="tpr",
            scaled={"log": "x", "normal_deviate": "xy"},
            area_label="AUC",
            has_ties=True,
            roc_area=True,
        ),
        Kind(
            name="precision_recall",
            title="Precision-recall",
            x="recall",
            y="precision",
            segments="hyperbolic",
            aliases=("pr",),
            # The rows that are selected for linear axes are sufficient for all scales.
            simplified=("linear",),
            area="average_precision",
            area_label="AP",
            chance=OF_PREVALENCES,
            corner="lower left",
        ),
        Kind(
            name="det",
            title="Detection error trade-off",
            x="fpr",
            y="fnr",
            scale="normal_deviate",
            scaled={"log": "xy", "normal_deviate": "xy"},
            simplified=("normal_deviate",),
            chance=Chance(falls=True),
            corner="upper right",
            roc_area=True,
        ),
        Kind(
            name="gain", title="Gain", x="alert_rate", y="tpr", scaled={"log": "x"}, has_ties=True
        ),
        Kind(
            name="lift",
            title="Lift",
            x="alert_rate",
            y="lift",
            segments="hyperbolic",
            scaled={"log": "x"},
            simplified=("linear",),
            chance=Chance(height=1),
            corner="upper right",
        ),
        Kind(
            name="predictive_value",
            title="Predictive value",
            x="alert_rate",
            y="ppv",  # an alias, because the table may have another column named `precision`
            segments="hyperbolic",
            simplified=("linear",),
            chance=OF_PREVALENCES,
        ),
        Kind(
            name="skill",
            title="Skill",
            x="alert_rate",
            y="skill",
            simplified=("linear",),
            chance=Chance(text="The dashed line shows the best constant prediction", height=0),
        ),
        Kind(
            name="lift_chart",
            title="Lift chart",
            x="alert_rate",
            y="tp",
            scaled={"log": "x"},
            chance=Chance(
                text=f"{OF_PREVALENCES.text}. Dotted lines show perfect scores",
                of_curves=True,
                perfect=True,
                key="dashed: chance, dotted: perfect scores",
            ),
            has_ties=True,
        ),
    )
}

PREVALENCE = "prevalence"

KIND_NAMES = {name: kind for kind in KINDS.values() for name in (kind.name, *kind.aliases)}


def kind_named(name: str) -> Kind:
    """Return the kind with this name or alias."""
    check_choice("kind", name, KIND_NAMES)
    return KIND_NAMES[name]


def has_prevalence(columns: Sequence[str]) -> bool:
    """Return whether the column right of `tn` is `prevalence`, the prevalence of the rates."""
    names = list(columns)
    return "tn" in names and names[names.index("tn") + 1 :][:1] == [PREVALENCE]


def prevalence_column(schema: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Return the name and dtype of the column `prevalence` right of `tn`, if there is one."""
    return {PREVALENCE: schema[PREVALENCE]} if has_prevalence([*schema]) else {}


def kind_of(columns: Sequence[str], kind: str | None = None) -> Kind:
    """Return the kind with this name; for None, the kind whose axes are right of column `tn`."""
    if kind is not None:
        return kind_named(kind)
    right = tuple(columns[list(columns).index("tn") + 1 + has_prevalence(columns) :])
    for candidate in KINDS.values():
        if candidate.rates == right[: len(candidate.rates)]:
            return candidate
    raise BrokenCurveError.compose(
        f"kind=None: the columns right of 'tn' do not determine the kind of curve: {list(right)}",
        "Use, for example, kind='roc'.",
    )


# The axes of tables of calibration, which are no curve tables.
CALIBRATION_KIND = Kind(
    name="calibration",
    title="Calibration",
    x="score_mean",
    y="event_rate",
    scaled={"log": "xy", "logit": "xy"},
    chance=Chance(text="The dashed line shows perfect calibration"),
)


def scale_of(kind: Kind, scale: Scale | None) -> Scale:
    """Return `scale`, if the kind supports it, or the default scale of the kind if it is None."""
    if scale is None:
        return kind.scale
    check_choice("scale", scale, [None, *get_args(Scale)])
    if scale != "linear" and scale not in kind.scaled:
        kinds = ", ".join(repr(name) for name, one in KINDS.items() if scale in one.scaled)
        charts = [f"kind={kinds}"] if kinds else []
        charts += ["tables of calibration"] if scale in CALIBRATION_KIND.scaled else []
        raise OptionValueError.compose(
            "scale",
            scale,
            f"charts of {kind.y} against {kind.x} do not have this scale",
            f"The scale is available for {' and for '.join(charts)}.",
        )
    return scale


Parsed = TypeVar("Parsed")

# Columns that a user-defined expression may contain.
VARIABLES = ("threshold", *CONFUSION)

# Names of statistics of complete curves, which `intervals` computes.
CURVE_STATISTIC_NAMES = ("auc", "gini", "ks", "eer", "average_precision", "pr_auc", "h_measure")
# Names of statistics of probabilities, which `intervals` computes.
PROBABILITY_STATISTIC_NAMES = (
    *("brier", "brier_skill", "log_loss", "miscalibration", "discrimination", "uncertainty"),
    *("ece", "mce", "calibration_intercept", "calibration_slope", "ici", "e50", "e90", "e_max"),
    *("cllr", "cllr_min", "calibration_in_the_large", "observed_to_expected", "smooth_ece"),
)


def parse_metric(
    argument: str, value: object, settings: Settings, *, others: tuple[str, ...] = ()
) -> Rate:
    """Return the record of a metric: a name, which may be of `others`, or a named expression."""
    if isinstance(value, pl.Expr):
        return user_metric(argument, value, settings)
    check_metric_name(argument, value, (*NAMES, *COUNT_METRICS, *others))
    metric = (NAMES | COUNT_METRICS)[str(value)]
    return replace(metric, column=str(value), settings=settings)


def check_metric_name(argument: str, value: object, names: Iterable[str]) -> None:
    """Raise an error if a value is not in `names`; suggest `intervals` for names such as "auc"."""
    name = value if isinstance(value, str) else None
    if name not in CURVE_STATISTIC_NAMES:
        name = VALUE_ALIASES.get(name, name) if name is not None else None
    if name in CURVE_STATISTIC_NAMES:
        area = "rf.auc(…) or " if name == "auc" else ""
        raise UnknownOptionError(
            f"{argument}={value!r}: this is a statistic of a complete curve, not of one row.\n"
            f'Use {area}rf.intervals(…, metrics="{name}").'
        )
    if name in PROBABILITY_STATISTIC_NAMES:
        raise UnknownOptionError(
            f"{argument}={value!r}: this is a statistic of all scores of a group, not of one row.\n"
            f'Use rf.intervals(…, metrics="{name}").'
        )
    check_choice(argument, value, names)


def user_metric(argument: str, expr: pl.Expr, settings: Settings) -> Rate:
    """Return the record of a metric: a named expression of the threshold, counts and rates."""
    name = expression_name(argument, expr)
    roots = dict.fromkeys(expr.meta.root_names())
    rates = [NAMES[root] for root in roots if root in NAMES]
    for root in roots:
        if root not in VARIABLES and root not in NAMES:
            raise MissingColumnError.compose(argument, root, (*VARIABLES, "fpr", "tpr"))

    def formula(counts: Counts, options: Settings) -> pl.Expr:
        if not rates:
            return expr
        # polars cannot replace the columns of an expression, so the rates are computed first.
        columns = [
            (NAMES[root].formula(counts, options) if root in NAMES else pl.col(root)).alias(root)
            for root in roots
        ]
        return pl.struct(columns).map_batches(
            lambda rows: rows.struct.unnest().select(expr.cast(pl.Float64)).to_series(),
            return_dtype=pl.Float64,
        )

    check_rowwise(argument, name, formula(COUNT_COLUMNS, settings))
    return Rate(
        name="",
        label=name,
        column=name,
        formula=formula,
        better="neither",
        bounds=(-inf, inf),
        depends_on_prevalence=any(rate.depends_on_prevalence for rate in rates),
        settings=settings,
    )


def expression_name(argument: str, expr: pl.Expr) -> str:
    """Return the name of the column of an expression; raise an error for several columns."""
    name = expr.meta.output_name(raise_if_undetermined=False)
    if name is None:
        problem = "the expression returns several columns"
        hint = "Pass one named expression for each column."
        raise OptionValueError.compose(argument, expr, problem, hint)
    return name


def parse_metrics(
    metrics: object,
    parse: Callable[[object], tuple[str, Parsed]],
    *,
    allow_empty: bool = False,
    argument: str = "metrics",
    example: str = "precision",
) -> dict[str, Parsed]:
    """Parse one metric, or a sequence of metrics, into a mapping from names to parsed metrics."""
    parsed = [parse(metric) for metric in to_list(metrics)]
    names = [name for name, _ in parsed]
    if not (names or allow_empty):
        problem, hint = "expected at least one name", f'Use, for example, {argument}=["{example}"].'
        raise OptionValueError.compose(argument, metrics, problem, hint)
    check_distinct(argument, names)
    return dict(parsed)


def parse_rates(metrics: object, settings: Settings) -> dict[str, Rate]:
    """Return a dict from the column name of each metric to its record."""

    def parse(metric: object) -> tuple[str, Rate]:
        rate = parse_metric("metrics", metric, settings)
        return rate.column, rate

    return parse_metrics(metrics, parse)


def check_metric_settings(
    names: Iterable[str],
    *,
    beta: float,
    costs: object,
    f_beta: str = "f_beta",
    argument: str = "metrics",
) -> None:
    """Raise an error if `costs` or `beta` is set and no metric in `names` uses the option.

    `f_beta` is the name of the metric that the error suggests for `beta`, and `argument` is that of
    the argument of metrics.
    """
    metrics = set(names)
    for option, value, is_set, metric, example in (
        ("costs", costs, costs is not None, "expected_cost", "expected_cost"),
        ("beta", beta, beta != 1, "f_beta", f_beta),
    ):
        if is_set and metric not in metrics:
            hint = f'Use, for example, {argument}=["{example}"].'
            raise OptionValueError.compose(
                option, value, "no metric in this call uses this option", hint
            )


# Rows for a test of user-defined expressions. An expression that combines rows, such as a sum,
# returns different values for the table of all rows and for each row alone. The rows are unsorted
# and include a duplicate and nulls, so that the test detects most such expressions.
TEST_ROWS: tuple[tuple[float | None, ...], ...] = (
    (0.3, 3.0, 7.0, 2.0, 11.0),
    (0.7, 1.0, 0.0, 4.0, 18.0),
    (None, None, None, None, None),
    (-2.0, 5e6, 3e6, 4e5, 6e7),
    (inf, 0.0, 0.0, 5.0, 18.0),
    (0.3, 3.0, 7.0, 2.0, 11.0),
    (0.1, 5.0, 13.0, 0.0, 5.0),
)


def check_rowwise(argument: str, name: str, expr: pl.Expr) -> None:
    """Raise an error if an expression is not numeric, or if its value depends on other rows."""
    frame = pl.DataFrame(TEST_ROWS, schema=dict.fromkeys(VARIABLES, pl.Float64), orient="row")
    try:
        in_table, separate = _test_values(frame, expr)
    except POLARS_ERRORS as error:
        raise _separate_error(argument, name, error) from error
    for values in (in_table, *separate):
        if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
            problem = f"the expression returns {values.dtype}"
            hint = "Use an expression that returns numbers or Booleans."
            raise OptionValueError.compose(argument, name, problem, hint)
    _check_equal(argument, name, in_table, separate)


def check_curve_expression(name: str, expr: pl.Expr, rates: Iterable[str]) -> None:
    """Raise an error if the value of an expression in a row of a curve depends on other rows.

    It is not checked if it fails for the test rows, because it may succeed for a curve.
    """
    frame = pl.DataFrame(TEST_ROWS, schema=dict.fromkeys(VARIABLES, pl.Float64), orient="row")
    frame = frame.with_columns(RATES["tpr"].expr().alias(rate) for rate in rates)
    frame = frame.with_columns(pl.col(CONFUSION).cast(pl.Int64))
    try:
        in_table, separate = _test_values(frame, expr)
    except (pl.exceptions.ShapeError, pl.exceptions.OutOfBoundsError) as error:
        raise _separate_error("metrics", name, error) from error
    except POLARS_ERRORS:
        return
    _check_equal("metrics", name, in_table, separate)


POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


def _test_values(frame: pl.DataFrame, expr: pl.Expr) -> tuple[pl.Series, list[pl.Series]]:
    """Return the values of an expression for the table of all rows, and for each row alone."""
    parts = (frame, *(frame[i] for i in range(frame.height)))
    in_table, *separate = (
        part.with_columns(expr.alias("value")).get_column("value") for part in parts
    )
    return in_table, separate


def _check_equal(
    argument: str, name: str, in_table: pl.Series, separate: Sequence[pl.Series]
) -> None:
    """Raise an error if values for the table of all rows differ from values for each row alone."""
    if in_table.dtype.is_numeric() or in_table.dtype == pl.Boolean:
        numbers, expected = (
            np.concatenate([part.cast(pl.Float64).to_numpy() for part in parts])
            for parts in ([in_table], separate)
        )
        is_equal = np.allclose(numbers, expected, rtol=1e-9, atol=0, equal_nan=True)
    else:
        is_equal = all(in_table[[i]].equals(value) for i, value in enumerate(separate))
    if not is_equal:
        raise _rowwise_error(argument, name, "the value in a row depends on other rows")


def _separate_error(argument: str, name: str, error: BaseException) -> OptionValueError:
    reason = (str(error).splitlines() or ["no further message"])[0]
    problem = f"the expression cannot be computed for each row separately: {reason}"
    return _rowwise_error(argument, name, problem)


def _rowwise_error(argument: str, name: str, problem: str) -> OptionValueError:
    hint = (
        "Do not use sums, filters or windows, because they would combine rows of all groups. "
        'Use, for example, pl.col("tp") / (pl.col("tp") + pl.col("fp")).'
    )
    return OptionValueError.compose(argument, name, problem, hint)
