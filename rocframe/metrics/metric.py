"""Parse `metrics`: names of metrics and the caller's own expressions, and check their options."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.metrics.statistics import CURVE_STATISTICS
from rocframe.options import check_choice
from rocframe.rates import NAMES, RATES, list_metrics, own_metric
from rocframe.schemas import PARTIAL_AUC_NAMES, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.inference.bootstrap import Statistic
    from rocframe.rates import CountRatio, Settings


PROPORTIONS = [rate.name for rate in RATES.values() if rate.count_ratio is not None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """A metric of complete curves (`curve`) or of single points (`expr`).

    `mixed` is True if it depends on the prevalence of the data, `fixed` if the caller has set the
    prevalence. `count_ratio` is the ratio of its counts if it is a proportion of rows.
    """

    name: str
    curve: Statistic | None = None
    expr: pl.Expr | None = None
    mixed: bool = True
    bounds: tuple[float, float] = (-inf, inf)
    fixed: bool = False
    count_ratio: CountRatio | None = None

    @property
    def proportion(self) -> CountRatio | None:
        """Counts of the proportion, None if the metric is none at the given prevalence."""
        return None if self.fixed else self.count_ratio

    @property
    def reads_threshold(self) -> bool:
        """Whether the formula contains the threshold."""
        return self.expr is not None and THRESHOLD in self.expr.meta.root_names()


def parse_metrics(
    metrics: str | pl.Expr | Sequence[str | pl.Expr], settings: Settings
) -> list[Metric]:
    """Parse `metrics`: names, or named expressions over threshold, tp, fp, fn, tn."""
    given = list_metrics(metrics)
    if not given:
        raise OptionValueError.compose(
            "metrics", metrics, "expected at least one metric", 'Use, for example, metrics="auc".'
        )
    parsed = [_parse_metric(metric, settings) for metric in given]
    names = [metric.name for metric in parsed]
    for name in names:
        if names.count(name) > 1:
            raise RepeatedNameError.compose("metrics", name, names)
    return parsed


def _parse_metric(given: object, settings: Settings) -> Metric:
    if not isinstance(given, pl.Expr):
        if isinstance(given, str) and given in PARTIAL_AUC_NAMES:
            problem, hint = "partial areas are not supported", "Use rf.auc(…, fpr=(0, 0.1))."
            raise OptionValueError.compose("metrics", given, problem, hint)
        check_choice("metrics", given, (*CURVE_STATISTICS, *NAMES))
        name = str(given)
        if name in CURVE_STATISTICS:
            curve = CURVE_STATISTICS[name]
            mixed = curve.replicate.mixed
            if mixed and settings.prevalence is not None:
                problem = f"{name!r} supports only the prevalence of the data"
                hint = "Leave out prevalence= or this metric."
                raise OptionValueError.compose("prevalence", settings.prevalence, problem, hint)
            return Metric(name=name, curve=curve, mixed=mixed, bounds=curve.bounds)
        rate = NAMES[name]
        fixed = rate.mixes and settings.prevalence is not None
        return Metric(
            name=name,
            expr=rate.expr(settings),
            mixed=rate.mixes and not fixed,
            bounds=rate.bounds,
            fixed=fixed,
            count_ratio=rate.count_ratio,
        )
    own = own_metric("metrics", given)
    return Metric(name=own.column, expr=own.expr())


def check_points(metrics: Sequence[Metric], points: Mapping[str, object]) -> None:
    """Check that points are given if, and only if, a metric is computed at points."""
    at_points = [metric.name for metric in metrics if metric.curve is None]
    given = [(name, value) for name, value in points.items() if value is not None]
    if at_points and not given:
        raise OptionValueError.compose(
            "metrics",
            at_points[0],
            "this metric requires an operating point, and none is given",
            f"Pass one of {', '.join(points)}, such as threshold=0.5.",
        )
    if given and not at_points:
        name, value = given[0]
        hint = 'Use, for example, metrics=["tpr"], or leave this argument out.'
        raise OptionValueError.compose(name, value, "no metric uses it", hint)


def check_method(
    ci: str | None, metrics: Sequence[Metric], axis: str | None, columns: Mapping[str, object]
) -> None:
    """Check that all metrics have intervals by this method."""
    hint = 'Use ci="bootstrap", or pass threshold=.'
    is_estimated = axis not in {None, "threshold"}
    if ci == "bootstrap_bca" and is_estimated:
        problem = (
            f"the acceleration is unknown, because the threshold of a given {axis} is estimated"
        )
        raise OptionValueError.compose("ci", ci, problem, hint)
    if ci not in {"wilson", "clopper_pearson"}:
        return
    if is_estimated:
        problem = f"with {axis}= the threshold is estimated, which this method does not account for"
        raise OptionValueError.compose("ci", ci, problem, hint)
    for metric in metrics:
        if metric.proportion is None:
            problem = f"{metric.name!r} is not a proportion of rows"
            hint = f'Use ci="bootstrap" for it. Proportions of rows are: {", ".join(PROPORTIONS)}.'
            if metric.count_ratio is not None:
                problem = f"with prevalence= {metric.name!r} is not a proportion of rows"
                hint = 'Use ci="bootstrap" for it, or leave out prevalence=.'
            raise OptionValueError.compose("ci", ci, problem, hint)
    for name, column in columns.items():
        if column is not None:
            problem = "this method assumes independent rows of equal weight"
            raise OptionValueError.compose("ci", ci, problem, f'Use ci="bootstrap" with {name}=.')
