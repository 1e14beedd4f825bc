"""What callers name as metrics → how each is worked out, resampled and bounded."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import MissingColumnError, OptionValueError, RepeatedNameError
from rocframe.metrics.whole import WHOLE
from rocframe.options import check_choice
from rocframe.rates import NAMES, as_expressions
from rocframe.vocabulary import THRESHOLD, WALK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.formulas import Settings
    from rocframe.inference.bootstrap import Statistic

# Which counts a proportion is of, and out of which.
PROPORTIONS = {
    "tpr": (("tp",), ("tp", "fn")),
    "fpr": (("fp",), ("fp", "tn")),
    "tnr": (("tn",), ("fp", "tn")),
    "fnr": (("fn",), ("tp", "fn")),
    "precision": (("tp",), ("tp", "fp")),
    "npv": (("tn",), ("fn", "tn")),
    "fdr": (("fp",), ("tp", "fp")),
    "false_omission_rate": (("fn",), ("fn", "tn")),
    "accuracy": (("tp", "tn"), ("tp", "fp", "fn", "tn")),
    "error_rate": (("fp", "fn"), ("tp", "fp", "fn", "tn")),
    "alert_rate": (("tp", "fp"), ("tp", "fp", "fn", "tn")),
    "rnp": (("fn", "tn"), ("tp", "fp", "fn", "tn")),
    "prevalence": (("tp", "fn"), ("tp", "fp", "fn", "tn")),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """One metric under the name it was asked for: of the whole curve, or at its points.

    `mixed` says whether it depends on how many positives there are per negative; `proportion`
    names its counts, where it is a share of rows.
    """

    name: str
    whole: Statistic | None = None
    expr: pl.Expr | None = None
    mixed: bool = True
    bounds: tuple[float, float] = (-inf, inf)
    proportion: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def reads_threshold(self) -> bool:
        """Whether the threshold itself is in the formula."""
        return self.expr is not None and THRESHOLD in self.expr.meta.root_names()


def as_metrics(
    metrics: str | pl.Expr | Sequence[str | pl.Expr], settings: Settings
) -> list[Metric]:
    """Read `metrics`: names of ours, or named expressions over threshold, tp, fp, fn, tn."""
    given: list[object] = (
        [metrics]
        if isinstance(metrics, str | pl.Expr) or not hasattr(metrics, "__iter__")
        else [*metrics]
    )
    if not given:
        raise OptionValueError.of(
            "metrics", metrics, "it names no metric", 'Give one or several, say "auc".'
        )
    made = [_metric(one, settings) for one in given]
    names = [metric.name for metric in made]
    for name in names:
        if names.count(name) > 1:
            raise RepeatedNameError.of("metrics", name, names)
    return made


def _metric(asked: object, settings: Settings) -> Metric:
    if not isinstance(asked, pl.Expr):
        check_choice("metrics", asked, (*WHOLE, *NAMES))
        if asked in WHOLE:
            whole = WHOLE[str(asked)]
            mixed, bounds = whole.asked.mixed, whole.bounds
            return Metric(name=str(asked), whole=whole, mixed=mixed, bounds=bounds)
        rate = NAMES[str(asked)]
        expr = rate.expr(settings)
        fixed = settings.prevalence is not None
        return Metric(
            name=str(asked),
            expr=expr,
            mixed=rate.mixes and not fixed,
            bounds=rate.bounds,
            proportion=None if fixed and rate.mixes else PROPORTIONS.get(rate.name),
        )
    ((name, expr),) = as_expressions(asked, settings).items()
    for root in expr.meta.root_names():
        if root not in WALK:
            raise MissingColumnError.of("metrics", root, WALK)
    return Metric(name=name, expr=expr)


def check_points(asked: Sequence[Metric], given: Mapping[str, object]) -> None:
    """Check that there are points if, and only if, a metric is asked for at them."""
    at_points = [metric.name for metric in asked if metric.whole is None]
    said = [(name, value) for name, value in given.items() if value is not None]
    if at_points and not said:
        raise OptionValueError.of(
            "metrics",
            at_points[0],
            "nobody said where on the curve",
            f"Give one of {', '.join(given)}, such as threshold=0.5.",
        )
    if said and not at_points:
        name, value = said[0]
        todo = 'Name one that is worked out at a point, say metrics=["tpr"], or leave this out.'
        raise OptionValueError.of(name, value, "no metric reads it", todo)


def check_method(
    ci: str | None, asked: Sequence[Metric], axis: str | None, columns: Mapping[str, object]
) -> None:
    """Check that the method of the intervals is one for all metrics."""
    todo = 'Say ci="bootstrap", or give threshold=.'
    moves = axis not in {None, "threshold"}
    if ci == "bootstrap_bca" and moves:
        wrong = f"at a given {axis} the threshold moves, and nobody knows how skewed that is"
        raise OptionValueError.of("ci", ci, wrong, todo)
    if ci not in {"wilson", "clopper_pearson"}:
        return
    if moves:
        wrong = f"at a given {axis} the threshold moves from sample to sample, which widens limits"
        raise OptionValueError.of("ci", ci, wrong, todo)
    for metric in asked:
        if metric.proportion is None:
            wrong = f"{metric.name!r} is no share of the rows"
            named = ", ".join(PROPORTIONS)
            todo = f'Say ci="bootstrap" for it. Shares of rows are: {named}.'
            raise OptionValueError.of("ci", ci, wrong, todo)
    for name, column in columns.items():
        if column is not None:
            wrong = "it is for rows that all weigh the same and stand for themselves"
            raise OptionValueError.of("ci", ci, wrong, f'Say ci="bootstrap" with {name}=.')
