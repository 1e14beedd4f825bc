"""Parse `metrics`: names of metrics and the caller's own expressions, and check their options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import OptionValueError
from rocframe.inference.bootstrap import Statistic
from rocframe.metric_options import parse_metric, parse_metrics
from rocframe.metrics.statistics import CURVE_STATISTICS
from rocframe.options import check_choice, check_supported
from rocframe.rates import NAMES, RATES, CountRatio, Rate
from rocframe.schemas import PARTIAL_AUC_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.rates import Settings


PROPORTIONS = [rate.name for rate in RATES.values() if rate.count_ratio is not None]


def parse_interval_metrics(
    metrics: str | pl.Expr | Sequence[str | pl.Expr], settings: Settings
) -> dict[str, Statistic | Rate]:
    """Parse `metrics` into statistics of complete curves and metrics of single points."""
    return parse_metrics(metrics, lambda metric: _parse_metric(metric, settings))


def _parse_metric(metric: object, settings: Settings) -> tuple[str, Statistic | Rate]:
    if isinstance(metric, str) and metric in PARTIAL_AUC_NAMES:
        problem, hint = "partial areas are not supported", "Use rf.auc(…, fpr=(0, 0.1))."
        raise OptionValueError.compose("metrics", metric, problem, hint)
    if not isinstance(metric, pl.Expr):
        check_choice("metrics", metric, (*CURVE_STATISTICS, *NAMES))
    if not isinstance(metric, str) or metric not in CURVE_STATISTICS:
        rate = parse_metric("metrics", metric, settings)
        return rate.column, rate
    statistic = CURVE_STATISTICS[metric]
    if statistic.replicate.depends_on_prevalence and settings.prevalence is not None:
        problem = f"{metric!r} supports only the prevalence of the data"
        hint = "Leave out prevalence= or this metric."
        raise OptionValueError.compose("prevalence", settings.prevalence, problem, hint)
    return metric, statistic


def check_points(metrics: Mapping[str, Statistic | Rate], points: Mapping[str, object]) -> None:
    """Check that points are given if, and only if, a metric is computed at points."""
    at_points = [name for name, metric in metrics.items() if isinstance(metric, Rate)]
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
    ci: str | None,
    metrics: Mapping[str, Statistic | Rate],
    axis: str | None,
    columns: Mapping[str, object],
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
    for metric_name, metric in metrics.items():
        if isinstance(metric, Statistic) or metric.count_ratio is None:
            problem = f"{metric_name!r} is not a proportion of rows"
            hint = f'Use ci="bootstrap" for it. Proportions of rows are: {", ".join(PROPORTIONS)}.'
            if isinstance(metric, Rate) and isinstance(metric.formula, CountRatio):
                problem = f"with prevalence= {metric_name!r} is not a proportion of rows"
                hint = 'Use ci="bootstrap" for it, or leave out prevalence=.'
            raise OptionValueError.compose("ci", ci, problem, hint)
    for name, column in columns.items():
        check_supported(name, column, f"ci={ci!r}", hint='Use ci="bootstrap".')
