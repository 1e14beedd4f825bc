"""Metrics of a confusion matrix, each as a record with an expression over `tp, fp, fn, tn`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from math import inf
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.options import check_choice, exact_fraction, parse_fraction, parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


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
COUNT_COLUMNS = Counts(*(pl.col(name) for name in CONFUSION))
COSTS_HINT = 'Use, for example, costs={"fp": 1, "fn": 5}.'


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settings:
    """Parameters of metrics: `beta`, `costs` and `prevalence`.

    `row_prevalence` and `row_costs` are used instead of numbers that differ between rows.
    """

    beta: float = 1.0
    costs: Mapping[str, float] | None = None
    prevalence: float | None = None
    row_costs: Mapping[str, pl.Expr] | None = None
    row_prevalence: pl.Expr | None = None

    def __post_init__(self) -> None:
        parse_number("beta", self.beta, low=0, example=2)
        if self.prevalence is not None:
            prevalence = parse_fraction("prevalence", self.prevalence, example=0.1)
            object.__setattr__(self, "prevalence", prevalence)
        costs: object = self.costs
        if costs is not None and not isinstance(costs, Mapping):
            problem = "expected a dict of costs"
            raise OptionValueError.compose("costs", costs, problem, COSTS_HINT)
        for name, cost in (self.costs or {}).items():
            check_choice("costs", name, CONFUSION)
            parse_number(f"costs[{name!r}]", cost, hint=COSTS_HINT)

    def reweight(self, counts: Counts) -> Counts:
        """Return the counts, with weights that give them the prevalence if one is set."""
        prevalence = self.prevalence if self.row_prevalence is None else self.row_prevalence
        if prevalence is None:
            return counts
        tp, fp, fn, tn = counts
        pos_weight, neg_weight = prevalence_weight_exprs(tp + fn, fp + tn, prevalence)
        return Counts(
            tp=tp * pos_weight, fp=fp * neg_weight, fn=fn * pos_weight, tn=tn * neg_weight
        )


def prevalence_weights(
    pos: NDArray[Any], neg: NDArray[Any], prevalence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights of both classes for a prevalence and the same total; 0 if one is missing."""
    total, defined = pos + neg, (pos > 0) & (neg > 0)
    pos_weight, neg_weight = np.zeros((2, *np.shape(total)))
    np.divide(total * prevalence, pos, out=pos_weight, where=defined)
    np.divide(total * (1 - prevalence), neg, out=neg_weight, where=defined)
    return pos_weight, neg_weight


def prevalence_weight_exprs(
    pos: pl.Expr, neg: pl.Expr, prevalence: float | pl.Expr
) -> tuple[pl.Expr, pl.Expr]:
    """Return the weights of `prevalence_weights` as expressions; null without both classes."""
    total, defined = pos + neg, (pos > 0) & (neg > 0)
    return (
        pl.when(defined).then(total * prevalence / pos),
        pl.when(defined).then(total * (1 - prevalence) / neg),
    )


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Return the quotient of two expressions; null where the denominator is 0."""
    return pl.when(denominator > 0).then(numerator / denominator)


def ratio_or_inf(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Return the quotient of two expressions; `inf` for x / 0 with x > 0, and null for 0 / 0."""
    is_infinite = (denominator == 0) & (numerator > 0)
    quotient = pl.when(denominator > 0).then(numerator / denominator)
    return quotient.when(is_infinite).then(pl.lit(inf))


def as_fpr_or_tpr(name: str, values: Sequence[float]) -> tuple[str, list[float]]:
    """Return the FPR and its values for `specificity`, and the TPR for `sensitivity`.

    The complement is exact: the FPR of specificity 0.9 is 0.1, and that of 5/6 is 1/6.
    """
    if name == "specificity":
        return "fpr", [float(1 - exact_fraction(value)) for value in values]
    return {"sensitivity": "tpr"}.get(name, name), [*values]


# Sums of counts that are the same in all rows of a curve.
TOTALS = (("tp", "fn"), ("fp", "tn"), ("tp", "fp", "fn", "tn"))


@dataclass(frozen=True, slots=True)
class CountRatio:
    """A ratio of two sums of counts, such as tp / (tp + fn), or a sum if `denominator` is empty."""

    numerator: tuple[str, ...]
    denominator: tuple[str, ...] = ()

    def __call__(self, counts: Counts, _: Settings) -> pl.Expr:
        """Return the ratio as an expression."""
        numerator: pl.Expr = reduce(add, (getattr(counts, name) for name in self.numerator))
        if not self.denominator:
            return numerator
        return ratio(numerator, reduce(add, (getattr(counts, name) for name in self.denominator)))

    def evaluate(self, counts: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the ratio for arrays of counts; NaN if the denominator is 0."""
        numerator = reduce(add, (counts[name] for name in self.numerator)).astype(np.float64)
        if not self.denominator:
            return numerator
        denominator = reduce(add, (counts[name] for name in self.denominator))
        result: NDArray[np.float64] = np.full(numerator.shape, np.nan)
        np.divide(numerator, denominator, out=result, where=denominator > 0)
        return result

    @property
    def rising(self) -> bool | None:
        """Whether it rises (True) or falls as the threshold is lowered; None if it does both."""
        if self.denominator and self.denominator not in TOTALS:
            return None
        are_alerts = {name in {"tp", "fp"} for name in self.numerator}
        return are_alerts.pop() if len(are_alerts) == 1 else None


# eq=False: `==` of two expressions is an expression, not a Boolean
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rate:
    """A metric of a confusion matrix: its name, formula and properties.

    `label` is the title of an axis. `formula` is a function of the four counts and of the
    `settings` that returns an expression. `better` states which values are better, and `bounds` are
    the smallest and the largest possible value. Of several rows of a curve with the same value, the
    row with the highest threshold (`occurrence="first"`) or with the lowest one (`"last"`) is used.
    If the metric `extends`, a value outside the range of a curve has a point: the first row for
    values below the range and, if the curve is complete, the last row for values above it. If it
    `needs_alerts`, it is undefined if no row is predicted positive. If it is of `one_class`, it
    describes rows of one class too, although it is not a `CountRatio`. A user-defined metric has a
    `column`, but no name. `function_of` are a proportion p and an increasing function f such that
    the metric is f(p), or None.
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
    one_class: bool = False
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
        """Whether the metric may depend on the prevalence of the data."""
        # A number of rows of both classes does, although a given prevalence does not change it.
        is_user_defined, ratio = not self.name, self.count_ratio
        is_number = ratio is not None and self.is_number and len(ratio.numerator) > 1
        given = self.at_given_prevalence
        return is_user_defined or is_number or (self.depends_on_prevalence and not given)

    @property
    def is_number(self) -> bool:
        """Whether the metric is a number of rows."""
        ratio = self.count_ratio
        return ratio is not None and not ratio.denominator

    @property
    def count_ratio(self) -> CountRatio | None:
        """The formula if it is a `CountRatio` without a given prevalence, otherwise None."""
        if self.at_given_prevalence or not isinstance(self.formula, CountRatio):
            return None
        return self.formula

    @property
    def proportion(self) -> CountRatio | None:
        """The formula if it is a proportion of rows at the prevalence of the data, or None."""
        ratio = self.count_ratio
        return ratio if ratio is not None and ratio.denominator else None

    @property
    def rising(self) -> bool | None:
        """Whether it rises (True) or falls as the threshold is lowered; None if it does both."""
        return self.formula.rising if isinstance(self.formula, CountRatio) else None

    @property
    def monotone(self) -> bool:
        """Whether the metric always rises or always falls as the threshold is lowered."""
        return self.rising is not None

    @property
    def proportion_of(self) -> tuple[str, ...]:
        """The counts in the denominator, if their sum is the same in all rows of a curve."""
        ratio = self.count_ratio
        return ratio.denominator if ratio is not None and ratio.denominator in TOTALS else ()

    @property
    def needs_both_classes(self) -> bool:
        """Whether the metric says nothing about the decisions on rows of one class.

        Without positives, for example, the precision is 0 at each threshold with alerts.
        """
        ratio = self.formula if isinstance(self.formula, CountRatio) else None
        is_share = ratio is not None and (not ratio.denominator or ratio.denominator in TOTALS)
        return bool(self.name) and not self.one_class and not is_share

    @property
    def uses_threshold(self) -> bool:
        """Whether the formula contains the threshold."""
        return "threshold" in self.expr().meta.root_names()

    def expr(self, settings: Settings | None = None, counts: Counts = COUNT_COLUMNS) -> pl.Expr:
        """Return the metric of counts as a Float64 expression; null where it is undefined."""
        settings = settings or self.settings or Settings()
        counts = settings.reweight(counts) if self.depends_on_prevalence else counts
        return self.formula(counts, settings).cast(pl.Float64).alias(self.column or self.name)

    def at_prevalence(self, prevalence: float | None) -> Rate:
        """Return the metric at a prevalence, unless its settings already contain one."""
        settings = self.settings or Settings()
        if prevalence is None or settings.prevalence is not None:
            return self
        return replace(self, settings=replace(settings, prevalence=prevalence))

    def reweight(
        self, counts: Mapping[str, NDArray[Any]], pos: NDArray[Any], neg: NDArray[Any]
    ) -> Mapping[str, NDArray[Any]]:
        """Return the counts of curves with `pos` and `neg` rows at the prevalence, if given."""
        if not self.at_given_prevalence:
            return counts
        assert self.settings is not None
        assert self.settings.prevalence is not None
        weights = prevalence_weights(pos, neg, self.settings.prevalence)
        weight_of = zip(CONFUSION, (*weights, *weights), strict=True)  # tp, fp, fn, tn
        return {name: counts[name] * weight for name, weight in weight_of}

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


tpr = CountRatio(("tp",), ("tp", "fn"))
fpr = CountRatio(("fp",), ("fp", "tn"))
tnr = CountRatio(("tn",), ("fp", "tn"))
fnr = CountRatio(("fn",), ("tp", "fn"))
precision = CountRatio(("tp",), ("tp", "fp"))
npv = CountRatio(("tn",), ("fn", "tn"))
fdr = CountRatio(("fp",), ("tp", "fp"))
false_omission_rate = CountRatio(("fn",), ("fn", "tn"))
accuracy = CountRatio(("tp", "tn"), CONFUSION)
error_rate = CountRatio(("fp", "fn"), CONFUSION)
alert_rate = CountRatio(("tp", "fp"), CONFUSION)
rnp = CountRatio(("fn", "tn"), CONFUSION)
prevalence = CountRatio(("tp", "fn"), CONFUSION)
jaccard = CountRatio(("tp",), ("tp", "fp", "fn"))


MAX_BETA = 1e100  # F-beta is the recall, up to rounding, for this and for all larger values


def f_beta(c: Counts, s: Settings) -> pl.Expr:
    """Return the weighted harmonic mean of precision (weight 1) and recall (weight beta²)."""
    square = min(float(s.beta), MAX_BETA) ** 2
    return ratio((1 + square) * c.tp, (1 + square) * c.tp + square * c.fn + c.fp)


def _cross_product_difference(c: Counts) -> pl.Expr:
    """Return tp·tn - fp·fn, the determinant of the confusion matrix."""
    # Products of two counts may exceed Int64.
    return c.tp.cast(pl.Float64) * c.tn - c.fp.cast(pl.Float64) * c.fn


def mcc(c: Counts, _: Settings) -> pl.Expr:
    """Return Matthews' correlation coefficient of label and predicted class."""
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
    costs = s.row_costs or s.costs
    if costs is None:
        raise OptionValueError.compose(
            "metrics",
            "expected_cost",
            "the costs of errors are not given",
            'Use, for example, costs={"fp": 1, "fn": 5}; '
            "the cost of correct predictions is 0 by default.",
        )
    cost = sum(
        (
            getattr(c, name) * (cost if isinstance(cost, pl.Expr) else float(cost))
            for name, cost in costs.items()
        ),
        pl.lit(0.0),
    )
    return ratio(cost, c.n)


def skill(c: Counts, _: Settings) -> pl.Expr:
    """Return 1 minus the errors divided by those of the majority class, as a constant prediction.

    This is the skill score of Briggs and Ruppert (2005) for equal costs of both errors.
    """
    return 1 - ratio(c.fp + c.fn, pl.min_horizontal(c.tp + c.fn, c.fp + c.tn))


def net_benefit(c: Counts, _: Settings) -> pl.Expr:
    """Return the net benefit per row, (tp - fp * threshold / (1 - threshold)) / n."""
    threshold = pl.col("threshold").cast(pl.Float64)
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
            name="fdr", needs_alerts=True, label="False discovery rate", formula=fdr, better="lower"
        ),
        Rate(
            name="false_omission_rate",
            occurrence="first",
            label="False omission rate",
            formula=false_omission_rate,
            better="lower",
        ),
        Rate(name="accuracy", label="Accuracy", formula=accuracy, better="higher"),
        Rate(name="error_rate", label="Error rate", formula=error_rate, better="lower"),
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
        Rate(name="jaccard", label="Jaccard index", formula=jaccard, better="higher"),
        Rate(
            name="mcc", label="Matthews correlation", formula=mcc, better="higher", bounds=(-1, 1)
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
            name="alerts",
            extends=True,
            label="Alerts",
            formula=CountRatio(("tp", "fp")),
            better="neither",
            bounds=(0, inf),
            depends_on_prevalence=False,
        ),
        Rate(name="rnp", label="Rate of negative predictions", formula=rnp, better="neither"),
        Rate(
            name="lift",
            needs_alerts=True,
            label="Lift",
            formula=lift,
            better="higher",
            bounds=(0, inf),
        ),
        Rate(name="prevalence", label="Prevalence", formula=prevalence, better="neither"),
        Rate(
            name="lr_pos",
            label="Positive likelihood ratio",
            formula=lambda c, s: ratio_or_inf(tpr(c, s), fpr(c, s)),
            better="higher",
            bounds=(0, inf),
            depends_on_prevalence=False,
        ),
        Rate(
            name="lr_neg",
            occurrence="first",
            label="Negative likelihood ratio",
            formula=lambda c, s: ratio_or_inf(fnr(c, s), tnr(c, s)),
            better="lower",
            bounds=(0, inf),
            depends_on_prevalence=False,
        ),
        Rate(
            name="odds_ratio",
            label="Odds ratio",
            formula=lambda c, _: ratio_or_inf(
                c.tp.cast(pl.Float64) * c.tn, c.fp.cast(pl.Float64) * c.fn
            ),
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
        Rate(name="chi2", label="Chi-squared", formula=chi2, better="higher", bounds=(0, inf)),
        Rate(name="skill", label="Skill", formula=skill, better="higher", bounds=(-inf, 1)),
        Rate(
            name="expected_cost",
            one_class=True,
            label="Expected cost per row",
            formula=expected_cost,
            better="lower",
            bounds=(-inf, inf),
        ),
        Rate(
            name="net_benefit",
            one_class=True,
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
    for name in CONFUSION
}
