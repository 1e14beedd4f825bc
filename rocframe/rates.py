"""Metrics of a confusion matrix: one record each, pure expressions over tp, fp, fn, tn."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal, NamedTuple

import polars as pl

from rocframe.errors import OptionValueError, RepeatedNameError, UnknownOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


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


COUNTED = Counts(*(pl.col(name) for name in Counts._fields))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settings:
    """What some metrics ask for beside the counts."""

    beta: float = 1.0
    costs: Mapping[str, float] | None = None
    prevalence: float | None = None

    def __post_init__(self) -> None:
        if not self.beta > 0:
            raise OptionValueError.of("beta", self.beta, "it is not above 0", "Give, say, beta=2.")
        if self.prevalence is not None and not 0 < self.prevalence < 1:
            raise OptionValueError.of(
                "prevalence",
                self.prevalence,
                "it is the share of positives, between 0 and 1",
                "Give a number inside that range, or None for the share in the data.",
            )
        for name in self.costs or ():
            if name not in Counts._fields:
                raise UnknownOptionError.of("costs", name, Counts._fields)

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
    return pl.when(whole > 0).then(part / whole).when(part > 0).then(pl.lit(inf))


def _tpr(c: Counts, _: Settings) -> pl.Expr:
    return ratio(c.tp, c.tp + c.fn)


def _fpr(c: Counts, _: Settings) -> pl.Expr:
    return ratio(c.fp, c.fp + c.tn)


def _tnr(c: Counts, _: Settings) -> pl.Expr:
    return ratio(c.tn, c.fp + c.tn)


def _fnr(c: Counts, _: Settings) -> pl.Expr:
    return ratio(c.fn, c.tp + c.fn)


def _f_beta(c: Counts, s: Settings) -> pl.Expr:
    square = s.beta**2
    return ratio((1 + square) * c.tp, (1 + square) * c.tp + square * c.fn + c.fp)


# Products of two counts outgrow Int64; as floats they only lose digits that no one reads.
def _crossed(c: Counts) -> pl.Expr:
    return c.tp.cast(pl.Float64) * c.tn - c.fp.cast(pl.Float64) * c.fn


def _mcc(c: Counts, _: Settings) -> pl.Expr:
    margins = ((c.tp + c.fp).cast(pl.Float64) * (c.fn + c.tn)).sqrt() * (
        (c.tp + c.fn).cast(pl.Float64) * (c.fp + c.tn)
    ).sqrt()
    return ratio(_crossed(c), margins).clip(-1, 1)


def _kappa(c: Counts, _: Settings) -> pl.Expr:
    chance = (c.tp + c.fp).cast(pl.Float64) * (c.fp + c.tn) + (c.tp + c.fn).cast(pl.Float64) * (
        c.fn + c.tn
    )
    return ratio(2 * _crossed(c), chance)


def _chi2(c: Counts, _: Settings) -> pl.Expr:
    rows = (c.tp + c.fp).cast(pl.Float64) * (c.fn + c.tn)
    columns = (c.tp + c.fn).cast(pl.Float64) * (c.fp + c.tn)
    return pl.when((rows > 0) & (columns > 0)).then(
        _crossed(c) / rows * _crossed(c) / columns * c.n
    )


def _lift(c: Counts, _: Settings) -> pl.Expr:
    return ratio(ratio(c.tp, c.tp + c.fp), ratio(c.tp + c.fn, c.n))


def _mutual_information(c: Counts, _: Settings) -> pl.Expr:
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


def _expected_cost(c: Counts, s: Settings) -> pl.Expr:
    if s.costs is None:
        raise OptionValueError.of(
            "metrics",
            "expected_cost",
            "nobody said what the errors cost",
            'Give, say, costs={"fp": 1, "fn": 5}; correct predictions cost 0 unless named.',
        )
    paid = sum((getattr(c, name) * cost for name, cost in s.costs.items()), pl.lit(0.0))
    return ratio(paid, c.n)


def _net_benefit(c: Counts, _: Settings) -> pl.Expr:
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
            formula=_tpr,
            better="higher",
            aliases=("recall", "sensitivity", "hit_rate"),
            mixes=False,
        ),
        Rate(
            name="fpr",
            label="False positive rate",
            formula=_fpr,
            better="lower",
            aliases=("fall_out",),
            mixes=False,
        ),
        Rate(
            name="tnr",
            label="True negative rate",
            formula=_tnr,
            better="higher",
            aliases=("specificity",),
            mixes=False,
        ),
        Rate(
            name="fnr",
            label="False negative rate",
            formula=_fnr,
            better="lower",
            aliases=("miss_rate",),
            mixes=False,
        ),
        Rate(
            name="precision",
            label="Precision",
            formula=lambda c, _: ratio(c.tp, c.tp + c.fp),
            better="higher",
            aliases=("ppv",),
        ),
        Rate(
            name="npv",
            label="Negative predictive value",
            formula=lambda c, _: ratio(c.tn, c.fn + c.tn),
            better="higher",
        ),
        Rate(
            name="fdr",
            label="False discovery rate",
            formula=lambda c, _: ratio(c.fp, c.tp + c.fp),
            better="lower",
        ),
        Rate(
            name="false_omission_rate",
            label="False omission rate",
            formula=lambda c, _: ratio(c.fn, c.fn + c.tn),
            better="lower",
        ),
        Rate(
            name="accuracy",
            label="Accuracy",
            formula=lambda c, _: ratio(c.tp + c.tn, c.n),
            better="higher",
        ),
        Rate(
            name="error_rate",
            label="Error rate",
            formula=lambda c, _: ratio(c.fp + c.fn, c.n),
            better="lower",
        ),
        Rate(
            name="balanced_accuracy",
            label="Balanced accuracy",
            formula=lambda c, s: (_tpr(c, s) + _tnr(c, s)) / 2,
            better="higher",
            mixes=False,
        ),
        Rate(
            name="f1",
            label="F1",
            formula=lambda c, _: ratio(2 * c.tp, 2 * c.tp + c.fp + c.fn),
            better="higher",
        ),
        Rate(name="f_beta", label="F-beta", formula=_f_beta, better="higher"),
        Rate(
            name="jaccard",
            label="Jaccard index",
            formula=lambda c, _: ratio(c.tp, c.tp + c.fp + c.fn),
            better="higher",
        ),
        Rate(
            name="mcc",
            label="Matthews correlation",
            formula=_mcc,
            better="higher",
            bounds=(-1, 1),
        ),
        Rate(name="kappa", label="Cohen's kappa", formula=_kappa, better="higher", bounds=(-1, 1)),
        Rate(
            name="youden",
            label="Youden's J",
            formula=lambda c, s: _tpr(c, s) - _fpr(c, s),
            better="higher",
            bounds=(-1, 1),
            mixes=False,
        ),
        Rate(
            name="markedness",
            label="Markedness",
            formula=lambda c, _: ratio(c.tp, c.tp + c.fp) + ratio(c.tn, c.fn + c.tn) - 1,
            better="higher",
            bounds=(-1, 1),
        ),
        Rate(
            name="alert_rate",
            label="Alert rate",
            formula=lambda c, _: ratio(c.tp + c.fp, c.n),
            better="neither",
            aliases=("rpp", "yrate"),
        ),
        Rate(
            name="rnp",
            label="Rate of negative predictions",
            formula=lambda c, _: ratio(c.fn + c.tn, c.n),
            better="neither",
        ),
        Rate(name="lift", label="Lift", formula=_lift, better="higher", bounds=(0, inf)),
        Rate(
            name="prevalence",
            label="Prevalence",
            formula=lambda c, _: ratio(c.tp + c.fn, c.n),
            better="neither",
        ),
        Rate(
            name="lr_pos",
            label="Positive likelihood ratio",
            formula=lambda c, s: odds(_tpr(c, s), _fpr(c, s)),
            better="higher",
            bounds=(0, inf),
            mixes=False,
        ),
        Rate(
            name="lr_neg",
            label="Negative likelihood ratio",
            formula=lambda c, s: odds(_fnr(c, s), _tnr(c, s)),
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
            formula=_mutual_information,
            better="higher",
        ),
        Rate(
            name="chi2",
            label="Chi-squared",
            formula=_chi2,
            better="higher",
            bounds=(0, inf),
        ),
        Rate(
            name="expected_cost",
            label="Expected cost per row",
            formula=_expected_cost,
            better="lower",
            bounds=(-inf, inf),
        ),
        Rate(
            name="net_benefit",
            label="Net benefit",
            formula=_net_benefit,
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
    given = [metrics] if isinstance(metrics, str | pl.Expr) else list(metrics)
    named: dict[str, pl.Expr] = {}
    for metric in given:
        if isinstance(metric, pl.Expr):
            name, expr = metric.meta.output_name(), metric
        elif metric in NAMES:
            name, expr = metric, NAMES[metric].expr(settings).alias(metric)
        else:
            raise UnknownOptionError.of("metrics", metric, NAMES)
        if name in named:
            raise RepeatedNameError.of("metrics", name, [str(one) for one in given])
        named[name] = expr
    return named
