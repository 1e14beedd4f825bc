"""Options of `intervals`, checked and parsed into one record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.curves.at import parse_point
from rocframe.decisions.operating_point import CONSTRAINED
from rocframe.errors import OptionValueError
from rocframe.inference.bootstrap import Statistic
from rocframe.metric_options import parse_metric, parse_metrics
from rocframe.metrics.points import PointSearch
from rocframe.metrics.probability_statistics import PROBABILITY_STATISTICS
from rocframe.metrics.rule_points import RuleSearch
from rocframe.metrics.statistics import CURVE_STATISTICS
from rocframe.options import check_choice, check_supported
from rocframe.rates import NAMES, RATES, CountRatio, Rate, Settings, as_fpr_or_tpr
from rocframe.schemas.areas import PARTIAL_AUC_NAMES
from rocframe.schemas.columns import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rocframe.decisions.operating_point import RuleOptions
    from rocframe.inference.confidence import Confidence


STATISTICS = CURVE_STATISTICS | PROBABILITY_STATISTICS
PROPORTIONS = [rate.name for rate in RATES.values() if rate.count_ratio is not None]


def parse_interval_metrics(
    metrics: str | pl.Expr | Sequence[str | pl.Expr], settings: Settings
) -> dict[str, Statistic | Rate]:
    """Return the metrics by name: statistics of complete curves, and metrics of single points."""
    return parse_metrics(metrics, lambda metric: _parse_interval_metric(metric, settings))


def _parse_interval_metric(metric: object, settings: Settings) -> tuple[str, Statistic | Rate]:
    """Return the name of a metric, and the metric as a `Statistic` or, for points, as a `Rate`."""
    if isinstance(metric, str) and metric in PARTIAL_AUC_NAMES:
        problem, hint = "partial areas are not supported", "Use rf.auc(…, fpr=(0, 0.1))."
        raise OptionValueError.compose("metrics", metric, problem, hint)
    if not isinstance(metric, pl.Expr):
        check_choice("metrics", metric, (*STATISTICS, THRESHOLD, *NAMES))
    if isinstance(metric, str) and metric == THRESHOLD:
        return THRESHOLD, replace(CONSTRAINED[THRESHOLD], column=THRESHOLD)
    if not isinstance(metric, str) or metric not in STATISTICS:
        rate = parse_metric("metrics", metric, settings)
        return rate.column, rate
    statistic = STATISTICS[metric]
    if statistic.replicate.depends_on_prevalence and settings.prevalence is not None:
        problem = f"{metric!r} supports only the prevalence of the data"
        hint = f"Leave out prevalence=, or the metric {metric!r}."
        raise OptionValueError.compose("prevalence", settings.prevalence, problem, hint)
    return metric, statistic


def check_points(
    metrics: Mapping[str, Statistic | Rate], point_arguments: Mapping[str, object]
) -> None:
    """Raise an error if a metric requires a point, such as a threshold, but no point is given.

    Also raise an error if a point is given and no metric requires a point. `point_arguments` are
    the arguments that can determine the points.
    """
    at_points = [name for name, metric in metrics.items() if isinstance(metric, Rate)]
    given = [(name, value) for name, value in point_arguments.items() if value is not None]
    if at_points and not given:
        raise OptionValueError.compose(
            "metrics",
            at_points[0],
            "this metric requires an operating point",
            f"Pass one of {', '.join(point_arguments)}, such as threshold=0.5.",
        )
    if given and not at_points:
        name, value = given[0]
        hint = f'Use, for example, metrics=["tpr"], or leave out {name}=.'
        raise OptionValueError.compose(name, value, "no metric in this call uses this option", hint)
    if given and given[0][0] == THRESHOLD and THRESHOLD in at_points:
        hint = "Leave out this metric, or pass rule= or a rate instead of threshold=."
        problem = "threshold= already determines the threshold"
        raise OptionValueError.compose("metrics", THRESHOLD, problem, hint)


def parse_points(point_arguments: dict[str, Any]) -> tuple[str | None, Sequence[float | None]]:
    """Return the name and the values of the argument that determines the points.

    If no argument is given, the name is None and there are no values.
    """
    given = [name for name, value in point_arguments.items() if value is not None]
    if not given:
        return None, []
    return ("rule", [None]) if given == ["rule"] else parse_point(point_arguments)


def check_method(
    ci: str | None,
    metrics: Mapping[str, Statistic | Rate],
    at: str | None,
    columns: Mapping[str, object],
) -> None:
    """Raise an error if the interval method `ci` does not support one of the metrics.

    `at` is the argument that determines the points. `columns` are the arguments `weight` and
    `cluster`.
    """
    for name, metric in metrics.items():
        _check_bootstrap(ci, name, metric)
    hint = 'Use ci="bootstrap", or pass threshold=.'
    is_estimated = at not in {None, "threshold"}
    if ci == "bootstrap_bca" and is_estimated:
        problem = f"with {at}= the threshold is estimated, so the acceleration constant is unknown"
        raise OptionValueError.compose("ci", ci, problem, hint)
    if ci not in {"wilson", "clopper_pearson"}:
        return
    if is_estimated:
        problem = (
            f"with {at}= the threshold is estimated from the data, and this method requires a "
            "given threshold"
        )
        raise OptionValueError.compose("ci", ci, problem, hint)
    for metric_name, metric in metrics.items():
        if isinstance(metric, Statistic) or metric.count_ratio is None:
            problem = f"{metric_name!r} is not a proportion of rows"
            hint = (
                f'Use ci="bootstrap" for {metric_name!r}. '
                f"Proportions of rows are: {', '.join(PROPORTIONS)}."
            )
            if isinstance(metric, Rate) and isinstance(metric.formula, CountRatio):
                problem = f"{metric_name!r} is not a proportion of rows if prevalence= is set"
                hint = f'Use ci="bootstrap" for {metric_name!r}, or leave out prevalence=.'
            raise OptionValueError.compose("ci", ci, problem, hint)
    for name, column in columns.items():
        check_supported(name, column, f"ci={ci!r}", hint='Use ci="bootstrap".')


def _check_bootstrap(ci: str | None, name: str, metric: Statistic | Rate) -> None:
    """Raise an error if a metric does not support a bootstrap method."""
    hint = f'Use ci="bootstrap" for {name!r}.'
    if ci == "bootstrap_supremum" and (isinstance(metric, Rate) or metric.supremum is None):
        problem = f"this method supports only 'ks', not {name!r}"
        raise OptionValueError.compose("ci", ci, problem, hint)
    if ci == "bootstrap_bca" and isinstance(metric, Statistic) and metric.influence is None:
        problem = f"the acceleration constant of {name!r} is unknown"
        hint = f'Use ci="bootstrap_basic" for {name!r}.'
        raise OptionValueError.compose("ci", ci, problem, hint)


def default_method(metric: Statistic | Rate, at: str | None) -> str:
    """Return the interval method of a metric if `ci` is not given."""
    if isinstance(metric, Statistic):
        if metric.influence is None:
            return "bootstrap_basic"
        return "bootstrap_bca" if metric.supremum is None else "bootstrap_supremum"
    return "bootstrap_bca" if at == "threshold" else "bootstrap"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntervalOptions:
    """The checked options of `intervals`.

    `at` is the name of the argument that determines the points, such as "fpr", and `values` are
    its values. `rule` is the rule that determines the point, or None. `prevalence` is the
    prevalence of the metrics, or None for that of the data. `methods` has the interval method of
    each metric.
    """

    metrics: Mapping[str, Statistic | Rate]
    at: str | None
    values: Sequence[float | None]
    rule: RuleOptions | None
    prevalence: float | None
    confidence: Confidence
    methods: Mapping[str, str | None]

    def search(self, unit: NDArray[np.float64] | None) -> PointSearch | RuleSearch | None:
        """Return the search for the points of each curve; None if no point is needed."""
        if self.rule is not None:
            (rule,), constraints = self.rule.at_prevalence(None)
            return RuleSearch(rule=rule, constraints=constraints, unit=unit)
        if self.at is None:
            return None
        name, values = as_fpr_or_tpr(self.at, [each for each in self.values if each is not None])
        rate = None if name == THRESHOLD else NAMES[name].at_prevalence(self.prevalence)
        return PointSearch(rate=rate, values=values, unit=unit)

    @property
    def curve_statistics(self) -> dict[str, Statistic]:
        """The statistics of complete curves."""
        return {
            name: metric for name, metric in self.metrics.items() if isinstance(metric, Statistic)
        }

    @property
    def of_probabilities(self) -> bool:
        """Whether a statistic requires scores in [0, 1]."""
        return any(statistic.of_probabilities for statistic in self.curve_statistics.values())

    @property
    def rates(self) -> list[Rate]:
        """The metrics of single points."""
        return [metric for metric in self.metrics.values() if isinstance(metric, Rate)]

    @property
    def lines(self) -> list[tuple[str, int | None]]:
        """The rows of each group in the result, as pairs of a metric and an index in `values`.

        The index is None for a metric of the complete curve.
        """
        indices = range(len(self.values))
        return [
            (name, index)
            for name in self.metrics
            for index in ([None] if name in self.curve_statistics else indices)
        ]
