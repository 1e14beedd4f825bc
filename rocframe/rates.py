"""Metrics of a confusion matrix: one record each, pure expressions over tp, fp, fn, tn."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.formulas import (
    COUNTED,
    Counts,
    Settings,
    Share,
    accuracy,
    alert_rate,
    chi2,
    error_rate,
    expected_cost,
    f_beta,
    false_omission_rate,
    fdr,
    fnr,
    fpr,
    kappa,
    lift,
    mcc,
    mutual_information,
    net_benefit,
    npv,
    odds,
    precision,
    prevalence,
    ratio,
    rnp,
    tnr,
    tpr,
)
from rocframe.options import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


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
