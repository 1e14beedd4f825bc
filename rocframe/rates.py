"""Metrics of a confusion matrix, each as a record with an expression over `tp, fp, fn, tn`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from math import inf, isclose
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl

from rocframe.errors import MissingColumnError, OptionValueError, RepeatedNameError
from rocframe.options import check_choice, parse_fraction, parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # expressions compare to expressions
class Rate:
    """A metric of a confusion matrix: its name, formula and properties.

    Parameters
    ----------
    name : str
        Name of a metric of the package; empty for an expression of the caller.
    label : str
        Title of an axis.
    formula : callable
        The metric as an expression over the four counts, given the settings.
    better : {"higher", "lower", "neither"}
        Which of two values is better.
    bounds : tuple of float
        Smallest and largest possible value.
    aliases : tuple of str
        Other names.
    depends_on_prevalence : bool
        Whether the value depends on the prevalence.
    occurrence : {"first", "last"}
        Which row of a curve is used if several rows have the same value: the row with the highest
        threshold (`"first"`) or with the lowest threshold (`"last"`).
    extends : bool
        Whether the metric is also defined beyond the first and last row of a complete curve.
    needs_alerts : bool
        Whether the metric is undefined where nothing is predicted positive.
    column : str
        Name of the column, if it is not `name`.
    settings : Settings
        Parameters of the formula.
    function_of : tuple of CountRatio and callable
        A proportion of rows, and the rising function of it that the metric is. None if the metric
        is no such function.
    """

    name: str
    label: str
    formula: Callable[[Counts, Settings], pl.Expr]
    better: Literal["higher", "lower", "neither"]
    bounds: tuple[float, float] = (0, 1)
    aliases: tuple[str, ...] = ()
    depends_on_prevalence: bool = True
    occurrence: Literal["first", "last"] = "last"
    extends: bool = False
    needs_alerts: bool = False
    column: str = ""
    settings: Settings | None = None
    function_of: tuple[CountRatio, Callable[[Any], Any]] | None = None

    @property
    def at_given_prevalence(self) -> bool:
        """Whether the metric is computed at a prevalence that the caller has set."""
        prevalence = None if self.settings is None else self.settings.prevalence
        return self.depends_on_prevalence and prevalence is not None

    @property
    def varies_with_prevalence(self) -> bool:
        """Whether the value may depend on the prevalence of the data."""
        is_own = not self.name  # formulas of the caller are not analysed
        return is_own or (self.depends_on_prevalence and not self.at_given_prevalence)

    @property
    def count_ratio(self) -> CountRatio | None:
        """The metric as a ratio of counts; None for other formulas and at a given prevalence."""
        if self.at_given_prevalence or not isinstance(self.formula, CountRatio):
            return None
        return self.formula

    @property
    def rising(self) -> bool | None:
        """Whether the metric rises (True) or falls along every curve; None if it may do both."""
        return self.formula.rising if isinstance(self.formula, CountRatio) else None

    @property
    def monotone(self) -> bool:
        """Whether the metric rises or falls along every curve."""
        return self.rising is not None

    @property
    def proportion_of(self) -> tuple[str, ...]:
        """The counts in the denominator, if their total is the same at all points; else empty.

        At a given prevalence, a metric of both classes is not a proportion of rows.
        """
        ratio = self.count_ratio
        return ratio.whole if ratio is not None and ratio.whole in TOTALS else ()

    @property
    def reads_threshold(self) -> bool:
        """Whether the formula contains the threshold."""
        return "threshold" in self.expr().meta.root_names()

    def expr(self, settings: Settings | None = None) -> pl.Expr:
        """Return the metric as a Float64 expression; null where it is undefined."""
        settings = settings or self.settings or Settings()
        counts = settings.counts if self.depends_on_prevalence else COUNT_COLUMNS
        return self.formula(counts, settings).cast(pl.Float64).alias(self.column or self.name)

    def at_prevalence(self, prevalence: float | None) -> Rate:
        """Return the metric at the prevalence of a table, unless another one is given."""
        settings = self.settings or Settings()
        if prevalence is None or settings.prevalence is not None:
            return self
        return replace(self, settings=replace(settings, prevalence=prevalence))

    def evaluate(self, counts: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the metric for arrays of thresholds and counts; NaN where it is undefined."""
        if self.count_ratio is not None:
            return self.count_ratio.evaluate(counts)
        arrays = np.broadcast_arrays(*counts.values())
        frame = pl.DataFrame(
            {name: array.ravel() for name, array in zip(counts, arrays, strict=True)}
        )
        values = frame.with_columns(self.expr().alias("value")).get_column("value")
        result: NDArray[np.float64] = values.fill_null(np.nan).to_numpy()
        return result.reshape(arrays[0].shape)


def ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return a quotient; null if the denominator is 0."""
    return pl.when(whole > 0).then(part / whole)


def odds(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return a quotient; infinite if the denominator is 0, null if both are 0."""
    return pl.when(whole > 0).then(part / whole).when((whole == 0) & (part > 0)).then(pl.lit(inf))


# Sums of counts that are the same in all rows of a curve.
TOTALS = (("tp", "fn"), ("fp", "tn"), ("tp", "fp", "fn", "tn"))


@dataclass(frozen=True, slots=True)
class CountRatio:
    """A ratio of two sums of counts, or one sum if `whole` is empty."""

    part: tuple[str, ...]
    whole: tuple[str, ...] = ()

    def __call__(self, counts: Counts, _: Settings) -> pl.Expr:
        """Return the ratio as an expression."""
        part: pl.Expr = reduce(add, (getattr(counts, name) for name in self.part))
        if not self.whole:
            return part
        return ratio(part, reduce(add, (getattr(counts, name) for name in self.whole)))

    def evaluate(self, counts: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the ratio for arrays of counts; NaN where it is undefined."""
        part = reduce(add, (counts[name] for name in self.part)).astype(np.float64)
        if not self.whole:
            return part
        whole = reduce(add, (counts[name] for name in self.whole))
        result: NDArray[np.float64] = np.full(part.shape, np.nan)
        np.divide(part, whole, out=result, where=whole > 0)
        return result

    @property
    def rising(self) -> bool | None:
        """Whether the ratio rises (True) or falls along every curve; None if it may do both."""
        if self.whole and self.whole not in TOTALS:
            return None
        are_alerts = {name in {"tp", "fp"} for name in self.part}
        return are_alerts.pop() if len(are_alerts) == 1 else None


tpr = CountRatio(("tp",), ("tp", "fn"))
fpr = CountRatio(("fp",), ("fp", "tn"))
tnr = CountRatio(("tn",), ("fp", "tn"))
fnr = CountRatio(("fn",), ("tp", "fn"))
precision = CountRatio(("tp",), ("tp", "fp"))
npv = CountRatio(("tn",), ("fn", "tn"))
fdr = CountRatio(("fp",), ("tp", "fp"))
false_omission_rate = CountRatio(("fn",), ("fn", "tn"))


class Counts(NamedTuple):
    """The four counts of a confusion matrix, as expressions."""

    tp: pl.Expr
    fp: pl.Expr
    fn: pl.Expr
    tn: pl.Expr

    @property
    def n(self) -> pl.Expr:
        """The sum of the four counts."""
        return self.tp + self.fp + self.fn + self.tn


CONFUSION = Counts._fields

# Columns that a user-defined expression may contain.
VARIABLES = ("threshold", *CONFUSION)
accuracy = CountRatio(("tp", "tn"), Counts._fields)
error_rate = CountRatio(("fp", "fn"), Counts._fields)
alert_rate = CountRatio(("tp", "fp"), Counts._fields)
rnp = CountRatio(("fn", "tn"), Counts._fields)
prevalence = CountRatio(("tp", "fn"), Counts._fields)
jaccard = CountRatio(("tp",), ("tp", "fp", "fn"))


def f_beta(c: Counts, s: Settings) -> pl.Expr:
    """Return the harmonic mean of precision and recall, with beta as the weight of recall."""
    square = s.beta**2
    return ratio((1 + square) * c.tp, (1 + square) * c.tp + square * c.fn + c.fp)


def mcc(c: Counts, _: Settings) -> pl.Expr:
    """Return Matthews' correlation of label and predicted class."""
    margins = ((c.tp + c.fp).cast(pl.Float64) * (c.fn + c.tn)).sqrt() * (
        (c.tp + c.fn).cast(pl.Float64) * (c.fp + c.tn)
    ).sqrt()
    return ratio(_cross_product_difference(c), margins).clip(-1, 1)


def kappa(c: Counts, _: Settings) -> pl.Expr:
    """Return Cohen's kappa of label and predicted class."""
    chance = (c.tp + c.fp).cast(pl.Float64) * (c.fp + c.tn) + (c.tp + c.fn).cast(pl.Float64) * (
        c.fn + c.tn
    )
    return ratio(2 * _cross_product_difference(c), chance)


def chi2(c: Counts, _: Settings) -> pl.Expr:
    """Return Pearson's chi-squared statistic without continuity correction."""
    rows = (c.tp + c.fp).cast(pl.Float64) * (c.fn + c.tn)
    columns = (c.tp + c.fn).cast(pl.Float64) * (c.fp + c.tn)
    return pl.when((rows > 0) & (columns > 0)).then(
        _cross_product_difference(c) / rows * _cross_product_difference(c) / columns * c.n
    )


def lift(c: Counts, s: Settings) -> pl.Expr:
    """Return the precision divided by the prevalence."""
    return ratio(precision(c, s), prevalence(c, s))


def mutual_information(c: Counts, _: Settings) -> pl.Expr:
    """Return the mutual information of label and predicted class, in bits."""

    def cell(count: pl.Expr, row: pl.Expr, col: pl.Expr) -> pl.Expr:
        share = count / c.n
        gain = (count.cast(pl.Float64) * c.n / row / col).log(2)
        return pl.when(count > 0).then(share * gain).otherwise(0.0)

    bits = (
        cell(c.tp, c.tp + c.fp, c.tp + c.fn)
        + cell(c.fp, c.tp + c.fp, c.fp + c.tn)
        + cell(c.fn, c.fn + c.tn, c.tp + c.fn)
        + cell(c.tn, c.fn + c.tn, c.fp + c.tn)
    )
    return pl.when(c.n > 0).then(bits.clip(0, 1))


def expected_cost(c: Counts, s: Settings) -> pl.Expr:
    """Return the mean cost per row."""
    if s.costs is None:
        raise OptionValueError.compose(
            "metrics",
            "expected_cost",
            "the costs of errors are not given",
            'Use, for example, costs={"fp": 1, "fn": 5}; '
            "the cost of correct predictions is 0 by default.",
        )
    cost = sum((getattr(c, name) * cost for name, cost in s.costs.items()), pl.lit(0.0))
    return ratio(cost, c.n)


def net_benefit(c: Counts, _: Settings) -> pl.Expr:
    """Return the net benefit per row: tp minus fp multiplied by the odds of the threshold."""
    threshold = pl.col("threshold")
    benefit = (c.tp - c.fp * (threshold / (1 - threshold))) / c.n
    return (
        pl.when((threshold == inf) & (c.n > 0))
        .then(0.0)
        .when((threshold >= 0) & (threshold < 1) & (c.n > 0))
        .then(benefit)
    )


RATES = {
    rate.name: rate
    for rate in (
        Rate(
            name="tpr",
            occurrence="first",
            label="True positive rate",
            formula=tpr,
            better="higher",
            aliases=("recall", "sensitivity", "hit_rate"),
            depends_on_prevalence=False,
        ),
        Rate(
            name="fpr",
            extends=True,
            label="False positive rate",
            formula=fpr,
            better="lower",
            aliases=("fall_out",),
            depends_on_prevalence=False,
        ),
        Rate(
            name="tnr",
            label="True negative rate",
            formula=tnr,
            better="higher",
            aliases=("specificity",),
            depends_on_prevalence=False,
        ),
        Rate(
            name="fnr",
            occurrence="first",
            label="False negative rate",
            formula=fnr,
            better="lower",
            aliases=("miss_rate",),
            depends_on_prevalence=False,
        ),
        Rate(
            name="precision",
            needs_alerts=True,
            label="Precision",
            formula=precision,
            better="higher",
            aliases=("ppv",),
        ),
        Rate(
            name="npv",
            occurrence="first",
            label="Negative predictive value",
            formula=npv,
            better="higher",
        ),
        Rate(
            name="fdr",
            needs_alerts=True,
            label="False discovery rate",
            formula=fdr,
            better="lower",
        ),
        Rate(
            name="false_omission_rate",
            occurrence="first",
            label="False omission rate",
            formula=false_omission_rate,
            better="lower",
        ),
        Rate(
            name="accuracy",
            label="Accuracy",
            formula=accuracy,
            better="higher",
        ),
        Rate(
            name="error_rate",
            label="Error rate",
            formula=error_rate,
            better="lower",
        ),
        Rate(
            name="balanced_accuracy",
            label="Balanced accuracy",
            formula=lambda c, s: (tpr(c, s) + tnr(c, s)) / 2,
            better="higher",
            depends_on_prevalence=False,
        ),
        Rate(
            name="f1",
            label="F1",
            formula=lambda c, _: ratio(2 * c.tp, 2 * c.tp + c.fp + c.fn),
            better="higher",
            function_of=(jaccard, lambda share: 2 * share / (1 + share)),
        ),
        Rate(name="f_beta", label="F-beta", formula=f_beta, better="higher"),
        Rate(
            name="jaccard",
            label="Jaccard index",
            formula=lambda c, _: ratio(c.tp, c.tp + c.fp + c.fn),
            better="higher",
        ),
        Rate(
            name="mcc",
            label="Matthews correlation",
            formula=mcc,
            better="higher",
            bounds=(-1, 1),
        ),
        Rate(name="kappa", label="Cohen's kappa", formula=kappa, better="higher", bounds=(-1, 1)),
        Rate(
            name="youden",
            label="Youden's J",
            formula=lambda c, s: tpr(c, s) - fpr(c, s),
            better="higher",
            bounds=(-1, 1),
            depends_on_prevalence=False,
        ),
        Rate(
            name="markedness",
            label="Markedness",
            formula=lambda c, s: precision(c, s) + npv(c, s) - 1,
            better="higher",
            bounds=(-1, 1),
        ),
        Rate(
            name="alert_rate",
            extends=True,
            label="Alert rate",
            formula=alert_rate,
            better="neither",
            aliases=("rpp", "yrate"),
        ),
        Rate(
            name="rnp",
            label="Rate of negative predictions",
            formula=rnp,
            better="neither",
        ),
        Rate(
            name="lift",
            needs_alerts=True,
            label="Lift",
            formula=lift,
            better="higher",
            bounds=(0, inf),
        ),
        Rate(
            name="prevalence",
            label="Prevalence",
            formula=prevalence,
            better="neither",
        ),
        Rate(
            name="lr_pos",
            label="Positive likelihood ratio",
            formula=lambda c, s: odds(tpr(c, s), fpr(c, s)),
            better="higher",
            bounds=(0, inf),
            depends_on_prevalence=False,
        ),
        Rate(
            name="lr_neg",
            occurrence="first",
            label="Negative likelihood ratio",
            formula=lambda c, s: odds(fnr(c, s), tnr(c, s)),
            better="lower",
            bounds=(0, inf),
            depends_on_prevalence=False,
        ),
        Rate(
            name="odds_ratio",
            label="Odds ratio",
            formula=lambda c, _: odds(c.tp.cast(pl.Float64) * c.tn, c.fp.cast(pl.Float64) * c.fn),
            better="higher",
            bounds=(0, inf),
            depends_on_prevalence=False,
        ),
        Rate(
            name="mutual_information",
            label="Mutual information (bits)",
            formula=mutual_information,
            better="higher",
        ),
        Rate(
            name="chi2",
            label="Chi-squared",
            formula=chi2,
            better="higher",
            bounds=(0, inf),
        ),
        Rate(
            name="expected_cost",
            label="Expected cost per row",
            formula=expected_cost,
            better="lower",
            bounds=(-inf, inf),
        ),
        Rate(
            name="net_benefit",
            label="Net benefit",
            formula=net_benefit,
            better="higher",
            bounds=(-inf, 1),
        ),
    )
}

NAMES = {name: rate for rate in RATES.values() for name in (rate.name, *rate.aliases)}

COUNT_METRICS = {
    name: Rate(
        name=name,
        label=name,
        formula=CountRatio((name,)),
        better="neither",
        bounds=(0, inf),
        depends_on_prevalence=False,
        occurrence="first" if name in {"tp", "fn"} else "last",
    )
    for name in Counts._fields
}


def parse_metric(
    argument: str, value: object, settings: Settings, *, others: tuple[str, ...] = ()
) -> Rate:
    """Return the metric with this name, or given as a named expression over the four counts.

    `others` are other names that the argument accepts.
    """
    if isinstance(value, pl.Expr):
        return own_metric(argument, value)
    check_choice(argument, value, (*NAMES, *COUNT_METRICS, *others))
    metric = (NAMES | COUNT_METRICS)[str(value)]
    return replace(metric, column=str(value), settings=settings)


def own_metric(argument: str, expr: pl.Expr) -> Rate:
    """Return a metric that is given as a named expression over threshold and counts."""
    name = expression_name(argument, expr)
    for root in expr.meta.root_names():
        if root not in VARIABLES:
            raise MissingColumnError.compose(argument, root, VARIABLES)
    check_rowwise(argument, name, expr)
    return Rate(
        name="",
        label=name,
        column=name,
        formula=lambda *_: expr,
        better="neither",
        bounds=(-inf, inf),
        depends_on_prevalence=False,
    )


def expression_name(argument: str, expr: pl.Expr) -> str:
    """Return the name of the column that an expression returns."""
    name = expr.meta.output_name(raise_if_undetermined=False)
    if name is None:
        problem = "the expression returns several columns"
        hint = "Pass one named expression for each column."
        raise OptionValueError.compose(argument, expr, problem, hint)
    return name


def parse_metrics(
    metrics: object, parse: Callable[[object], tuple[str, Parsed]], *, allow_empty: bool = False
) -> dict[str, Parsed]:
    """Parse one metric, or a sequence of metrics, into a mapping from names.

    `parse` returns the name of a metric and its parsed form.
    """
    single = isinstance(metrics, str | pl.Expr) or not isinstance(metrics, Iterable)
    parsed = [parse(metric) for metric in ([metrics] if single else [*metrics])]  # type: ignore[misc]
    names = [name for name, _ in parsed]
    if not (names or allow_empty):
        hint = 'Use, for example, metrics=["precision"].'
        raise OptionValueError.compose("metrics", metrics, "expected at least one metric", hint)
    for name in names:
        if names.count(name) > 1:
            raise RepeatedNameError.compose("metrics", name, names)
    return dict(parsed)


def check_metric_settings(
    names: Iterable[str], *, beta: float, costs: Mapping[str, float] | None
) -> None:
    """Check that `costs` and `beta` are used by one of the metrics."""
    metrics = set(names)
    for option, value, default, metric in (
        ("costs", costs, None, "expected_cost"),
        ("beta", beta, 1, "f_beta"),
    ):
        if value != default and metric not in metrics:
            hint = f'Use, for example, metrics=["{metric}"].'
            raise OptionValueError.compose(option, value, "no metric uses it", hint)


COUNT_COLUMNS = Counts(*(pl.col(name) for name in Counts._fields))
COSTS_HINT = 'Use, for example, costs={"fp": 1, "fn": 5}.'


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settings:
    """Parameters of metrics: `beta`, `costs` and `prevalence`."""

    beta: float = 1.0
    costs: Mapping[str, float] | None = None
    prevalence: float | None = None

    def __post_init__(self) -> None:
        parse_number("beta", self.beta, low=0, example=2)
        if self.prevalence is not None:
            parse_fraction("prevalence", self.prevalence, example=0.1)
        costs: object = self.costs
        if costs is not None and not isinstance(costs, Mapping):
            problem = "expected a dict of costs"
            raise OptionValueError.compose("costs", costs, problem, COSTS_HINT)
        for name, cost in (self.costs or {}).items():
            check_choice("costs", name, Counts._fields)
            parse_number(f"costs[{name!r}]", cost, hint=COSTS_HINT)

    @property
    def counts(self) -> Counts:
        """The counts, rescaled to the given prevalence if there is one."""
        if self.prevalence is None:
            return COUNT_COLUMNS
        tp, fp, fn, tn = COUNT_COLUMNS
        pos = COUNT_COLUMNS.n * self.prevalence
        neg = COUNT_COLUMNS.n * (1 - self.prevalence)
        return Counts(
            tp=pos * ratio(tp, tp + fn),
            fp=neg * ratio(fp, fp + tn),
            fn=pos * ratio(fn, tp + fn),
            tn=neg * ratio(tn, fp + tn),
        )


def rescaled_counts(
    counts: Mapping[str, NDArray[Any]], prevalence: float
) -> dict[str, NDArray[np.float64]]:
    """Return shares of all rows in place of counts, such that positives have this prevalence.

    The counts of a class without rows are 0.
    """
    result = {}
    for names, share in zip(TOTALS, (prevalence, 1 - prevalence), strict=False):
        total = reduce(add, (counts[name] for name in names))
        for name in names:
            part = np.zeros(np.shape(total))
            np.divide(counts[name], total, out=part, where=total > 0)
            result[name] = share * part
    return result


# Unsorted rows with a duplicate and a null row. An expression that combines rows returns different
# values for all rows together than for each row alone.
TRIAL_ROWS: tuple[tuple[float | None, ...], ...] = (
    (0.3, 3.0, 7.0, 2.0, 11.0),
    (0.7, 1.0, 0.0, 4.0, 18.0),
    (None, None, None, None, None),
    (-2.0, 5e6, 3e6, 4e5, 6e7),
    (inf, 0.0, 0.0, 5.0, 18.0),
    (0.3, 3.0, 7.0, 2.0, 11.0),
    (0.1, 5.0, 13.0, 0.0, 5.0),
)


def check_rowwise(argument: str, name: str, expr: pl.Expr) -> None:
    """Check that an expression returns one number for each row, computed from that row alone."""
    frame = pl.DataFrame(TRIAL_ROWS, schema=dict.fromkeys(VARIABLES, pl.Float64), orient="row")
    try:
        together = _column_of(frame, expr)
        alone = [_column_of(frame[i], expr) for i in range(len(TRIAL_ROWS))]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or ["no further message"])[0]
        problem = f"it cannot be computed row by row: {reason}"
        raise _rowwise_error(argument, name, problem) from error
    for values in (together, *alone):
        if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
            problem = f"it returns {values.dtype}"
            hint = "It must return numbers or Booleans."
            raise OptionValueError.compose(argument, name, problem, hint)
    if not _all_close(_as_numbers(together), [_as_numbers(one)[0] for one in alone]):
        raise _rowwise_error(argument, name, "its value in a row depends on other rows")


def _column_of(frame: pl.DataFrame, expr: pl.Expr) -> pl.Series:
    return frame.with_columns(expr.alias("value")).get_column("value")


def _as_numbers(values: pl.Series) -> list[float | None]:
    return values.cast(pl.Float64).fill_nan(None).to_list()


def _all_close(left: Sequence[float | None], right: Sequence[float | None]) -> bool:
    return all(
        a is b or (a is not None and b is not None and isclose(a, b))
        for a, b in zip(left, right, strict=True)
    )


def _rowwise_error(argument: str, name: str, problem: str) -> OptionValueError:
    hint = (
        "The counts of all groups and resamples are in one column: "
        'use pl.col("tp") / (pl.col("tp") + pl.col("fp")), without sums, filters or windows.'
    )
    return OptionValueError.compose(argument, name, problem, hint)


# Products of two counts may exceed Int64, so they are computed as Float64.
def _cross_product_difference(c: Counts) -> pl.Expr:
    return c.tp.cast(pl.Float64) * c.tn - c.fp.cast(pl.Float64) * c.fn
