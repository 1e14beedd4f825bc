"""Options of `average`, checked and parsed into one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from rocframe.averages.means import INTERVALS
from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.inference import parse_level, parse_n_boot
from rocframe.kernel.scan import Seed
from rocframe.kinds import check_metric_settings, parse_metric, parse_rates
from rocframe.options import (
    check_choice,
    check_flag,
    check_supported,
    grid_values,
    parse_grid,
    parse_names,
    parse_number,
)
from rocframe.schemas.statistics import (
    AVERAGE_INFO,
    curve_average_columns,
    mean_columns,
    metric_average_columns,
)
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.averages.means import MeanInterval
    from rocframe.kinds import Kind
    from rocframe.rates import Rate, Settings


AverageMethod = Literal[
    "vertical", "horizontal", "threshold", "pooled", "macro", "weighted", "micro"
]

AverageInterval = Literal["corrected", "t", "normal", "binomial", "bootstrap"]
Weights: TypeAlias = "Literal['equal', 'rows', 'positives'] | Mapping[Any, float]"
Grid: TypeAlias = "int | Literal['union'] | Sequence[float] | pl.Series"


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragingMethod:
    """A method of averaging curves.

    `fixes` is what the method holds fixed. `class_weights` are the weights of an average over
    classes, or None for other averages. `uses` are the options that not all methods support.
    """

    fixes: Literal["x", "y", "threshold"] = "x"
    pools_curves: bool = False
    class_weights: str | None = None
    uses: frozenset[str] = frozenset({"grid", "weights", "ci"})

    @property
    def combines_curves(self) -> bool:
        """Whether the result is defined only for several curves together, and has no limits."""
        return self.pools_curves or self.class_weights is not None


METHODS: dict[AverageMethod, AveragingMethod] = {
    "vertical": AveragingMethod(),
    "horizontal": AveragingMethod(fixes="y"),
    "threshold": AveragingMethod(fixes="threshold"),
    "pooled": AveragingMethod(pools_curves=True, uses=frozenset({"ranks"})),
    "macro": AveragingMethod(class_weights="equal", uses=frozenset({"grid"})),
    "weighted": AveragingMethod(class_weights="positives", uses=frozenset({"grid", "prior"})),
    "micro": AveragingMethod(pools_curves=True, class_weights="equal", uses=frozenset({"ranks"})),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AverageOptions:
    """The parsed options of `average`; `fixed` is None by default and for the threshold."""

    over: tuple[str, ...]
    method: AverageMethod
    averaging: AveragingMethod
    fixed: Rate | None
    fixed_threshold: bool
    metrics: tuple[Rate, ...] | None
    nearest: bool
    grid: Grid
    ci: AverageInterval | None
    limits: MeanInterval | None
    level: float
    test_per_train: float | None
    weights: str | Mapping[Any, float]
    weights_argument: Literal["weights", "prior"]
    ranked: bool
    n_boot: int
    seed: Seed
    settings: Settings

    @property
    def pools_curves(self) -> bool:
        """Whether the result is a pooled curve instead of its metrics at given values."""
        chosen = self.fixed is not None or self.fixed_threshold
        return self.averaging.pools_curves and not chosen

    def plan(self, kind: Kind, *, rescaled: bool = False) -> AveragePlan:
        """Return the metrics for this kind; `rescaled` if the curves are at another prevalence."""
        fixed = self.fixed
        if fixed is None and not self.fixed_threshold:
            axis = kind.y if self.averaging.fixes == "y" else kind.x
            fixed = parse_metric("fixed", axis, self.settings)
        is_curve = self.metrics is None and not self.nearest
        is_curve = is_curve and not self.averaging.pools_curves and self.settings.prevalence is None
        if self.fixed is not None:
            axes = (kind.x, kind.y) if self.fixed.proportion_of else (kind.x,)
            is_curve = is_curve and bool(self.fixed.name) and self.fixed.column in axes
        plan = self._curve_plan(kind, fixed) if is_curve else self._metric_plan(kind, fixed)
        self._check_binomial(plan.metrics, rescaled=rescaled)
        return plan

    def _curve_plan(self, kind: Kind, fixed: Rate | None) -> AveragePlan:
        """Return the plan of an averaged curve."""
        if fixed is not None and not fixed.proportion_of:
            problem = (
                f"curves cannot be averaged at fixed values of {fixed.column}, because a curve can "
                f"have the same {fixed.column} at several points"
            )
            raise OptionValueError.compose(
                "method", self.method, problem, 'Use method="vertical" or method="threshold".'
            )
        names = [name for name in (kind.x, kind.y) if not fixed or name != fixed.column]
        _check_settings((), self.settings)
        grid = self._grid_for(fixed)
        sides = grid == "union" and fixed is not None
        return AveragePlan(
            options=self,
            fixed=fixed,
            metrics=tuple(parse_metric("kind", name, self.settings) for name in names),
            grid=grid,
            is_curve=True,
            schema=curve_average_columns(kind, names, sides=sides),
        )

    def _metric_plan(self, kind: Kind, fixed: Rate | None) -> AveragePlan:
        """Return the plan of a table of metrics."""
        metrics = self.metrics
        if metrics is None:
            axes = [parse_metric("metrics", axis, self.settings) for axis in (kind.x, kind.y)]
            metrics = tuple(
                axis
                for axis in axes
                if fixed is None or (axis.name != fixed.name and axis.column != fixed.column)
            )
        name = THRESHOLD if fixed is None else fixed.column
        _check_settings([metric for metric in (fixed, *metrics) if metric], self.settings)
        _check_distinct_columns(name, metrics)
        if fixed is not None:
            for argument, metric in [("fixed", fixed), *(("metrics", one) for one in metrics)]:
                if metric.uses_threshold:
                    problem = (
                        "the metric depends on the threshold, and a threshold is undefined between "
                        "two rows of a curve"
                    )
                    hint = 'Pass fixed="threshold" and the metric in metrics=.'
                    raise OptionValueError.compose(argument, metric.column, problem, hint)
        return AveragePlan(
            options=self,
            fixed=fixed,
            metrics=metrics,
            grid=self._grid_for(fixed),
            is_curve=False,
            schema=metric_average_columns(name, [metric.column for metric in metrics]),
        )

    def _grid_for(self, fixed: Rate | None) -> int | str | list[float]:
        """Return the parsed option `grid` for a fixed metric; thresholds are in falling order."""
        bounds = None if fixed is None else fixed.bounds
        grid = parse_grid(self.grid, keyword="union", bounds=bounds)
        return grid[::-1] if fixed is None and isinstance(grid, list) else grid

    def _check_binomial(self, metrics: Sequence[Rate], *, rescaled: bool) -> None:
        """Raise an error if `ci="binomial"` is used for metrics that are not proportions."""
        for metric in metrics:
            is_proportion = metric.proportion_of and not (rescaled and metric.depends_on_prevalence)
            if self.limits is not None and self.limits.of_proportions and not is_proportion:
                problem = (
                    f"{metric.column} is not a proportion of the positives or of the negatives"
                )
                hint = 'Use, for example, ci="corrected".'
                raise OptionValueError.compose("ci", self.ci, problem, hint)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AveragePlan:
    """The metrics to average at values of `fixed`, or at thresholds; `is_curve` as a curve."""

    options: AverageOptions
    fixed: Rate | None
    metrics: tuple[Rate, ...]
    grid: int | str | list[float]
    is_curve: bool
    schema: dict[str, pl.DataType]

    def at_prevalence(self, prevalence: float | None) -> AveragePlan:
        """Return the plan with metrics at a prevalence, unless they already have a prevalence."""
        fixed = None if self.fixed is None else self.fixed.at_prevalence(prevalence)
        metrics = tuple(metric.at_prevalence(prevalence) for metric in self.metrics)
        return replace(self, fixed=fixed, metrics=metrics)

    @property
    def fixed_column(self) -> str:
        """The name of the column with the values of the fixed metric."""
        return THRESHOLD if self.fixed is None else self.fixed.column

    @property
    def has_sides(self) -> bool:
        """Whether the result has two rows, left and right, at each jump of a curve."""
        return self.is_curve and self.grid == "union" and self.fixed is not None

    @property
    def common_values(self) -> NDArray[np.float64] | None:
        """The grid if it is the same for all groups, or None."""
        if isinstance(self.grid, list):
            return np.array(self.grid)
        if self.fixed is None or not isinstance(self.grid, int):
            return None
        low, high = self.fixed.bounds
        if not np.isfinite(high - low):
            return None
        return low + (high - low) * np.array(grid_values(self.grid))


def parse_average_options(
    *,
    over: object,
    method: AverageMethod,
    fixed: str | pl.Expr | None,
    metrics: str | pl.Expr | Sequence[str | pl.Expr] | None,
    nearest: bool,
    grid: Grid,
    ci: AverageInterval | None,
    level: float,
    test_per_train: float | None,
    weights: Weights,
    prior: object,
    ranks: str | None,
    n_boot: int,
    seed: int | None,
    settings: Settings,
    defaults: Mapping[str, Any],
) -> AverageOptions:
    """Check all options and their combinations, and return them as one record."""
    keys = () if over is None else parse_over(over)
    check_choice("method", method, get_args(AverageMethod))
    check_choice("ci", ci, (*get_args(AverageInterval), None))
    check_choice("ranks", ranks, ("within", None))
    check_flag("nearest", nearest)
    at_values = fixed is not None or metrics is not None or nearest
    if not at_values:
        _check_settings((), settings)
    averaging, is_threshold = METHODS[method], _is_threshold(fixed)
    fixed_metric = _parse_fixed(method, fixed, settings)
    for option, given in (("metrics", metrics), ("nearest", nearest or None)):
        if fixed is None and given is not None and averaging.pools_curves:
            problem = f"method={method!r} supports this option only with fixed="
            hint = f"Pass fixed= as well, or leave out {option}=."
            raise OptionValueError.compose(option, given, problem, hint)
    averaged = None if metrics is None else tuple(parse_rates(metrics, settings).values())
    level, n_boot = parse_level(level), parse_n_boot("n_boot", n_boot)
    check_weights("weights", weights)
    if over is None and averaging.combines_curves:
        problem = f"method={method!r} combines several curves"
        hint = 'Pass the group column of these curves, such as over="class".'
        raise OptionValueError.compose("over", over, problem, hint)
    has_limits = over is not None and "ci" in averaging.uses
    limits = INTERVALS[ci] if has_limits and ci is not None else None
    used = averaging.uses if over is not None else averaging.uses - {"weights", "ci"}
    used |= {"grid"} if at_values else set()
    used |= {"ci"} if ci is None else set()
    used |= set() if limits is None else limits.uses
    values = {"grid": grid, "weights": weights, "ci": ci, "prior": prior, "ranks": ranks}
    of_interval = {"test_per_train": test_per_train, "level": level, "n_boot": n_boot, "seed": seed}
    for option, value in (values | of_interval).items():
        subject = "over=None" if over is None else f"method={method!r}"
        if has_limits and option in of_interval:
            subject = f"ci={ci!r}"
        default = defaults[option]
        check_supported(option, value, subject, supported=option in used, default=default)
    if prior is not None:
        if not isinstance(prior, Mapping):
            problem = "expected a mapping from classes to numbers"
            hint = "Use, for example, prior={'a': 0.9, 'b': 0.1}."
            raise OptionValueError.compose("prior", prior, problem, hint)
        check_weights("prior", prior)
    has_bounds = not (at_values or averaging.fixes == THRESHOLD or averaging.pools_curves)
    parse_grid(grid, keyword="union", bounds=(0, 1) if has_bounds else None)
    return AverageOptions(
        over=keys,
        method=method,
        averaging=averaging,
        fixed=fixed_metric,
        fixed_threshold=averaging.fixes == THRESHOLD or is_threshold,
        metrics=averaged,
        nearest=nearest,
        grid=grid,
        ci=ci if has_limits else None,
        limits=limits,
        level=level,
        test_per_train=parse_test_per_train(test_per_train, keys, limits),
        weights=prior if prior is not None else averaging.class_weights or weights,
        weights_argument="weights" if prior is None else "prior",
        ranked=ranks is not None,
        n_boot=n_boot,
        seed=Seed.parse(seed),
        settings=settings,
    )


def _parse_fixed(
    method: AverageMethod, fixed: str | pl.Expr | None, settings: Settings
) -> Rate | None:
    """Return the fixed metric; None if the option is not given, or is the threshold."""
    fixes, is_threshold = METHODS[method].fixes, _is_threshold(fixed)
    if fixed is None:
        return None
    if fixes == "y" or (fixes == THRESHOLD and not is_threshold):
        problem = f"method={method!r} determines the fixed metric"
        raise OptionValueError.compose(
            "fixed", fixed, problem, 'Use method="vertical" with fixed=.'
        )
    if is_threshold:
        return None
    return parse_metric("fixed", fixed, settings, others=(THRESHOLD,))


def _is_threshold(fixed: object) -> bool:
    return isinstance(fixed, str) and fixed == THRESHOLD


def parse_over(over: object) -> tuple[str, ...]:
    """Return the names of the group columns in `over`."""
    several = [over] if isinstance(over, str) or not hasattr(over, "__iter__") else [*over]
    if not several or not all(isinstance(name, str) for name in several):
        raise OptionValueError.compose(
            "over", over, "expected the names of group columns", 'Use, for example, over="fold".'
        )
    return parse_names(several)  # type: ignore[arg-type]


def parse_test_per_train(
    ratio: object, over: Sequence[str], limits: MeanInterval | None
) -> float | None:
    """Return the number of test rows per training row; None to derive it from the folds."""
    if ratio is None:
        if limits is not None and "test_per_train" in limits.uses and len(over) > 1:
            raise OptionValueError(
                'test_per_train: ci="corrected" requires the ratio of test rows to training '
                "rows, which is unknown if over= names several columns.\nFor repeated ten-fold "
                'cross-validation, use test_per_train=1/9. Or use ci="t", which is for '
                "independent test sets, or ci=None."
            )
        return None
    hint = "For ten folds, use test_per_train=1/9."
    return parse_number("test_per_train", ratio, low=0, closed="left", hint=hint)


def check_weights(argument: str, weights: object) -> None:
    """Raise an error for invalid weights; `curve_weights` checks that no weight is missing."""
    if not isinstance(weights, Mapping):
        check_choice(argument, weights, ("equal", "rows", "positives"))
        return
    for key, weight in weights.items():
        hint = "To exclude a curve, filter the table first."
        parse_number(f"{argument}[{key!r}]", weight, low=0, hint=hint)


def _check_settings(metrics: Sequence[Rate], settings: Settings) -> None:
    """Raise an error for a parameter, such as `costs`, that no metric uses."""
    check_metric_settings(
        [metric.name for metric in metrics], beta=settings.beta, costs=settings.costs
    )
    if settings.prevalence is not None and not any(
        metric.depends_on_prevalence for metric in metrics
    ):
        problem = "no metric of this average depends on the prevalence"
        hint = 'Pass, for example, metrics=["precision"], or leave out prevalence=.'
        raise OptionValueError.compose("prevalence", settings.prevalence, problem, hint)


def _check_distinct_columns(fixed: str, metrics: Sequence[Rate]) -> None:
    """Raise an error if two columns of the result have the same name."""
    names = [fixed, *(metric.column for metric in metrics)]
    columns = [fixed, *(name for metric in names[1:] for name in mean_columns(metric))]
    columns += AVERAGE_INFO
    for name in columns:
        if names.count(name) > 1:
            raise RepeatedNameError.compose("metrics", name, names)
        if columns.count(name) > 1:
            argument = "fixed" if name == fixed else "metrics"
            raise RepeatedNameError.in_result(argument, name, dict.fromkeys(columns))
