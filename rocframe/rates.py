"""Metrics of a confusion matrix: one record each, as expressions over `tp, fp, fn, tn`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from math import inf, isfinite
from operator import add
from typing import TYPE_CHECKING, Literal, NamedTuple

import polars as pl

from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.options import as_number, check_choice, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # expressions compare to expressions
class Rate:
    """A metric: how it is called, worked out, and read.

    `mixes` says whether it depends on how many positives there are per negative.
    """

    name: str
    label: str
    formula: Callable[[Counts, Settings], pl.Expr]
    better: Literal["higher", "lower", "neither"]
    bounds: tuple[float, float] = (0, 1)
    aliases: tuple[str, ...] = ()
    mixes: bool = True

    @property
    def share(self) -> Share | None:
        """Which counts it is of, and out of which, where it is a share of rows."""
        return self.formula if isinstance(self.formula, Share) else None

    def expr(self, settings: Settings | None = None) -> pl.Expr:
        """Return the metric as a Float64 expression; null where it is undefined."""
        settings = settings or Settings()
        counts = settings.counts if self.mixes else COUNTED
        return self.formula(counts, settings).cast(pl.Float64).alias(self.name)


def ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Divide; null, never NaN, where the whole is empty."""
    return pl.when(whole > 0).then(part / whole)


def odds(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Divide; infinite over an empty whole, null where both are empty."""
    return pl.when(whole > 0).then(part / whole).when((whole == 0) & (part > 0)).then(pl.lit(inf))


@dataclass(frozen=True, slots=True)
class Share:
    """A share of rows: which counts it is of, and out of which."""

    part: tuple[str, ...]
    whole: tuple[str, ...]

    def __call__(self, counts: Counts, _: Settings) -> pl.Expr:
        """Return the share."""
        part, whole = (
            reduce(add, (getattr(counts, name) for name in names))
            for names in (self.part, self.whole)
        )
        return ratio(part, whole)


tpr = Share(("tp",), ("tp", "fn"))

fpr = Share(("fp",), ("fp", "tn"))

tnr = Share(("tn",), ("fp", "tn"))

fnr = Share(("fn",), ("tp", "fn"))

precision = Share(("tp",), ("tp", "fp"))

npv = Share(("tn",), ("fn", "tn"))

fdr = Share(("fp",), ("tp", "fp"))

false_omission_rate = Share(("fn",), ("fn", "tn"))


class Counts(NamedTuple):
    """The four counts of a confusion matrix, as expressions."""

    tp: pl.Expr
    fp: pl.Expr
    fn: pl.Expr
    tn: pl.Expr

    @property
    def n(self) -> pl.Expr:
        """All cases."""
        return self.tp + self.fp + self.fn + self.tn


CONFUSION = Counts._fields

accuracy = Share(("tp", "tn"), Counts._fields)

error_rate = Share(("fp", "fn"), Counts._fields)

alert_rate = Share(("tp", "fp"), Counts._fields)

rnp = Share(("fn", "tn"), Counts._fields)

prevalence = Share(("tp", "fn"), Counts._fields)


def f_beta(c: Counts, s: Settings) -> pl.Expr:
    """Return the harmonic mean of precision and recall, recall counting beta times as much."""
    square = s.beta**2
    return ratio((1 + square) * c.tp, (1 + square) * c.tp + square * c.fn + c.fp)


def mcc(c: Counts, _: Settings) -> pl.Expr:
    """Return the correlation of label and call."""
    margins = ((c.tp + c.fp).cast(pl.Float64) * (c.fn + c.tn)).sqrt() * (
        (c.tp + c.fn).cast(pl.Float64) * (c.fp + c.tn)
    ).sqrt()
    return ratio(_crossed(c), margins).clip(-1, 1)


def kappa(c: Counts, _: Settings) -> pl.Expr:
    """Return the agreement of label and call beyond chance."""
    chance = (c.tp + c.fp).cast(pl.Float64) * (c.fp + c.tn) + (c.tp + c.fn).cast(pl.Float64) * (
        c.fn + c.tn
    )
    return ratio(2 * _crossed(c), chance)


def chi2(c: Counts, _: Settings) -> pl.Expr:
    """Pearson's statistic of label and call, uncorrected."""
    rows = (c.tp + c.fp).cast(pl.Float64) * (c.fn + c.tn)
    columns = (c.tp + c.fn).cast(pl.Float64) * (c.fp + c.tn)
    return pl.when((rows > 0) & (columns > 0)).then(
        _crossed(c) / rows * _crossed(c) / columns * c.n
    )


def lift(c: Counts, s: Settings) -> pl.Expr:
    """How many times the prevalence the precision is."""
    return ratio(precision(c, s), prevalence(c, s))


def mutual_information(c: Counts, _: Settings) -> pl.Expr:
    """Return what the call tells of the label, in bits."""

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
    """Return what a row costs on average."""
    if s.costs is None:
        raise OptionValueError.of(
            "metrics",
            "expected_cost",
            "nobody said what the errors cost",
            'Give, say, costs={"fp": 1, "fn": 5}; correct predictions cost 0 unless named.',
        )
    paid = sum((getattr(c, name) * cost for name, cost in s.costs.items()), pl.lit(0.0))
    return ratio(paid, c.n)


def net_benefit(c: Counts, _: Settings) -> pl.Expr:
    """Return true positives less false ones at the odds of the threshold, per row."""
    at = pl.col("threshold")
    gained = (c.tp - c.fp * (at / (1 - at))) / c.n
    return (
        pl.when((at == inf) & (c.n > 0))
        .then(0.0)
        .when((at >= 0) & (at < 1) & (c.n > 0))
        .then(gained)
    )


RATES = {
    rate.name: rate
    for rate in (
        Rate(
            name="tpr",
            label="True positive rate",
            formula=tpr,
            better="higher",
            aliases=("recall", "sensitivity", "hit_rate"),
            mixes=False,
        ),
        Rate(
            name="fpr",
            label="False positive rate",
            formula=fpr,
            better="lower",
            aliases=("fall_out",),
            mixes=False,
        ),
        Rate(
            name="tnr",
            label="True negative rate",
            formula=tnr,
            better="higher",
            aliases=("specificity",),
            mixes=False,
        ),
        Rate(
            name="fnr",
            label="False negative rate",
            formula=fnr,
            better="lower",
            aliases=("miss_rate",),
            mixes=False,
        ),
        Rate(
            name="precision",
            label="Precision",
            formula=precision,
            better="higher",
            aliases=("ppv",),
        ),
        Rate(
            name="npv",
            label="Negative predictive value",
            formula=npv,
            better="higher",
        ),
        Rate(
            name="fdr",
            label="False discovery rate",
            formula=fdr,
            better="lower",
        ),
        Rate(
            name="false_omission_rate",
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
            mixes=False,
        ),
        Rate(
            name="f1",
            label="F1",
            formula=lambda c, _: ratio(2 * c.tp, 2 * c.tp + c.fp + c.fn),
            better="higher",
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
            mixes=False,
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
        Rate(name="lift", label="Lift", formula=lift, better="higher", bounds=(0, inf)),
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
            mixes=False,
        ),
        Rate(
            name="lr_neg",
            label="Negative likelihood ratio",
            formula=lambda c, s: odds(fnr(c, s), tnr(c, s)),
            better="lower",
            bounds=(0, inf),
            mixes=False,
        ),
        Rate(
            name="odds_ratio",
            label="Odds ratio",
            formula=lambda c, _: odds(c.tp.cast(pl.Float64) * c.tn, c.fp.cast(pl.Float64) * c.fn),
            better="higher",
            bounds=(0, inf),
            mixes=False,
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


def as_expressions(
    metrics: str | pl.Expr | Sequence[str | pl.Expr], settings: Settings
) -> dict[str, pl.Expr]:
    """Read `metrics`: names of ours, or named expressions over tp, fp, fn, tn."""
    given: list[object] = (
        [metrics]
        if isinstance(metrics, str | pl.Expr) or not hasattr(metrics, "__iter__")
        else [*metrics]
    )
    named: dict[str, pl.Expr] = {}
    for metric in given:
        if isinstance(metric, pl.Expr):
            name, expr = metric.meta.output_name(raise_if_undetermined=False), metric
            if name is None:
                wrong, todo = "it makes several columns", "Give one named expression for each."
                raise OptionValueError.of("metrics", metric, wrong, todo)
        else:
            check_choice("metrics", metric, NAMES)
            name = str(metric)
            expr = NAMES[name].expr(settings).alias(name)
        if name in named:
            raise RepeatedNameError.of("metrics", name, [str(one) for one in given])
        named[name] = expr
    return named


def check_read(names: Iterable[str], *, beta: float, costs: Mapping[str, float] | None) -> None:
    """Check that what is said beside the metrics is said to one of them."""
    every = set(names)
    for option, value, idle, reader in (
        ("costs", costs, None, "expected_cost"),
        ("beta", beta, 1, "f_beta"),
    ):
        if value != idle and reader not in every:
            todo = f'Say metrics=["{reader}"] with it.'
            raise OptionValueError.of(option, value, "no metric reads it", todo)


COUNTED = Counts(*(pl.col(name) for name in Counts._fields))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settings:
    """What some metrics ask for beside the counts."""

    beta: float = 1.0
    costs: Mapping[str, float] | None = None
    prevalence: float | None = None

    def __post_init__(self) -> None:
        beta = as_number(self.beta)
        if beta is None or not 0 < beta < inf:
            wrong = "it is no finite number above 0"
            raise OptionValueError.of("beta", self.beta, wrong, "Give, say, beta=2.")
        if self.prevalence is not None:
            wrong = "the share of positives is a number between 0 and 1"
            share("prevalence", self.prevalence, wrong, "Give one, or None for that of the data.")
        costs: object = self.costs
        if costs is not None and not isinstance(costs, Mapping):
            wrong = "it does not say what costs how much"
            raise OptionValueError.of("costs", costs, wrong, 'Give, say, {"fp": 1, "fn": 5}.')
        for name, cost in (self.costs or {}).items():
            check_choice("costs", name, Counts._fields)
            number = as_number(cost)
            if number is None or not isfinite(number):
                raise OptionValueError.of("costs", cost, f"{name!r} costs no number", "Give one.")

    @property
    def counts(self) -> Counts:
        """The counts, with the classes at the wished-for prevalence."""
        if self.prevalence is None:
            return COUNTED
        tp, fp, fn, tn = COUNTED
        pos = COUNTED.n * self.prevalence
        neg = COUNTED.n * (1 - self.prevalence)
        return Counts(
            tp=pos * ratio(tp, tp + fn),
            fp=neg * ratio(fp, fp + tn),
            fn=pos * ratio(fn, tp + fn),
            tn=neg * ratio(tn, fp + tn),
        )


# Products of two counts outgrow Int64; as floats they only lose digits that no one reads.
def _crossed(c: Counts) -> pl.Expr:
    return c.tp.cast(pl.Float64) * c.tn - c.fp.cast(pl.Float64) * c.fn
