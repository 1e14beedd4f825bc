"""Metrics that a caller names, and the rows of the table of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.metrics.statistics import CURVE_STATISTICS
from rocframe.options import check_choice
from rocframe.rates import NAMES, RATES, own_metric
from rocframe.schemas import PARTIAL_AUC_NAMES, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.curves.at import PointAxis
    from rocframe.inference.bootstrap import Statistic
    from rocframe.inference.confidence import Confidence
    from rocframe.rates import Settings, Share


SHARES = [rate.name for rate in RATES.values() if rate.share is not None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """One metric under the name it was asked for: of the whole curve, or at its points.

    `mixed` says whether it depends on how many positives there are per negative, `fixed` whether
    the caller said how many; `share` names its counts, where it is a share of the rows there are,
    or would be if `fixed` were not.
    """

    name: str
    whole: Statistic | None = None
    expr: pl.Expr | None = None
    mixed: bool = True
    bounds: tuple[float, float] = (-inf, inf)
    fixed: bool = False
    share: Share | None = None

    @property
    def proportion(self) -> Share | None:
        """Which rows it is a share of, if it is one."""
        return None if self.fixed else self.share

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
        if isinstance(asked, str) and asked in PARTIAL_AUC_NAMES:
            wrong, todo = "it is no metric here", "Say rf.auc(…, fpr=(0, 0.1)) instead."
            raise OptionValueError.of("metrics", asked, wrong, todo)
        check_choice("metrics", asked, (*CURVE_STATISTICS, *NAMES))
        if asked in CURVE_STATISTICS:
            whole = CURVE_STATISTICS[str(asked)]
            if whole.asked.mixed and settings.prevalence is not None:
                wrong = f"{asked!r} is known at the share of positives in the data only"
                todo = "Leave one of the two out."
                raise OptionValueError.of("prevalence", settings.prevalence, wrong, todo)
            mixed, bounds = whole.asked.mixed, whole.bounds
            return Metric(name=str(asked), whole=whole, mixed=mixed, bounds=bounds)
        rate = NAMES[str(asked)]
        expr = rate.expr(settings)
        fixed = rate.mixes and settings.prevalence is not None
        return Metric(
            name=str(asked),
            expr=expr,
            mixed=rate.mixes and not fixed,
            bounds=rate.bounds,
            fixed=fixed,
            share=rate.share,
        )
    own = own_metric("metrics", asked)
    return Metric(name=own.column, expr=own.expr())


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
            todo = f'Say ci="bootstrap" for it. Shares of rows are: {", ".join(SHARES)}.'
            if metric.share is not None:
                wrong = f"with prevalence= {metric.name!r} is no share of the rows there are"
                todo = 'Say ci="bootstrap" for it, or leave prevalence out.'
            raise OptionValueError.of("ci", ci, wrong, todo)
    for name, column in columns.items():
        if column is not None:
            wrong = "it is for rows that all weigh the same and stand for themselves"
            raise OptionValueError.of("ci", ci, wrong, f'Say ci="bootstrap" with {name}=.')


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wanted:
    """Which metrics, where on the curve, and how sure."""

    metrics: Sequence[Metric]
    axis: PointAxis | None
    values: Sequence[float]
    confidence: Confidence

    @property
    def rows(self) -> list[tuple[Metric, int | None]]:
        """The rows of each group: a metric, and the place of the value it is worked out at."""
        places = range(len(self.values))
        return [
            (metric, place)
            for metric in self.metrics
            for place in ([None] if metric.whole is not None else places)
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """What is known of each row (first axis) and group (second); NaN and None where nothing is."""

    estimate: NDArray[np.float64]
    threshold: NDArray[np.float64]
    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    method: NDArray[np.object_]
    flat: NDArray[np.bool_]
    lost: NDArray[np.int64]

    @classmethod
    def nothing(cls, shape: tuple[int, int]) -> Found:
        """Make room for what will be found."""
        empty = {
            name: np.full(shape, np.nan)
            for name in ("estimate", "threshold", "se", "lower", "upper")
        }
        return cls(
            **empty,
            method=np.full(shape, None, object),
            flat=np.zeros(shape, bool),
            lost=np.zeros(shape, np.int64),
        )
