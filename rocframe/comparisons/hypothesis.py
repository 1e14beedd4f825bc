"""What a comparison tests: the compared quantity, the null hypothesis, and non-inferiority."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.areas.area import RateRange, partial_variance
from rocframe.areas.pairs import (
    AUC_STATISTIC,
    ZERO_VARIANCE,
    count_pairs,
    delong_variance_parts,
    limit_df,
)
from rocframe.errors import OptionValueError
from rocframe.frames import find_keys
from rocframe.inference import (
    absent_classes,
    check_alternative,
    class_notes,
    few_rows,
    first_notes,
    normal_p_value,
    normal_quantile,
)
from rocframe.inputs.cases import RowState
from rocframe.kernel.arrays import run_parallel
from rocframe.kernel.groups import scale_weights, weight_units
from rocframe.kernel.scan import Scan
from rocframe.metrics.intervals import (
    check_points,
    parse_interval_metrics,
    parse_points,
    point_search,
)
from rocframe.metrics.statistics import PointSearch, rates_at, stack_points
from rocframe.options import check_supported, is_text, parse_number, to_float, to_list
from rocframe.rates import TOTALS, CountRatio, Rate, Settings, as_fpr_or_tpr
from rocframe.schemas.table_type import MODEL, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.pairs import ClassSizes
    from rocframe.comparisons.pairing import ModelBatch
    from rocframe.decisions.operating_point import RuleOptions
    from rocframe.inference import Alternative, Note
    from rocframe.inputs.cases import Cases
    from rocframe.kernel.scan import RandomDraws, Scannable
    from rocframe.metrics.statistics import RuleSearch
    from rocframe.resampling import Statistic

    Estimator = Callable[["UnpairedSample"], "UnpairedEstimates"]
    UnpairedTest = Callable[
        ["UnpairedEstimates", "UnpairedEstimates", "Hypothesis"], dict[str, NDArray[np.float64]]
    ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantity:
    """A compared quantity: a statistic of all scores, or a metric (`rate`) at a point of the curve.

    `search` finds the point of each curve. `rate_range` is the range of a partial area.
    """

    name: str = "auc"
    statistic: Statistic = AUC_STATISTIC
    rate_range: RateRange | None = None
    rate: Rate | None = None
    search: PointSearch | RuleSearch | None = None

    @classmethod
    def of_area(cls, rate_range: RateRange | None) -> Quantity:
        """Return the AUC, or the partial area over a range."""
        if rate_range is None:
            return cls()
        name = "partial_auc"
        return cls(name=name, statistic=rate_range.statistic(), rate_range=rate_range)

    def values(self, scan: Scannable) -> NDArray[np.float64]:
        """Return the quantity of each group or resample of a scan, before standardization."""
        if self.rate is None or self.search is None:
            return self.statistic.values(scan)
        points = self.search.points(scan, scores=self.rate.uses_threshold)
        (values,) = rates_at(stack_points(points), [self.rate], self.search).values()
        return values[:, 0]

    def points(self, scan: Scan) -> NDArray[np.float64] | None:
        """Return the threshold, alerts and shortfall of each group (columns); None without points.

        The shortfall is the number of alerts by which the point is below a given number or rate of
        alerts, because scores are tied or the group has fewer rows.
        """
        if self.search is None:
            return None
        points = self.search.points(scan)
        threshold = np.where(points.missing[:, 0], np.nan, points.threshold[:, 0])
        alerts = np.asarray(points.tp[:, 0] + points.fp[:, 0], np.float64)
        shortfall = np.zeros(len(alerts))
        is_weighted = scan.totals.pos.dtype.kind == "f"
        if isinstance(self.search, PointSearch) and self.is_at_alerts and not is_weighted:
            n = np.asarray(scan.totals.pos + scan.totals.neg, np.float64)
            limit, rate = self.search.values[0], self.search.rate
            is_share = rate is not None and rate.proportion is not None
            rows = limit * n if is_share else limit
            shortfall = np.maximum(np.floor(rows + COUNT_ROUNDING) - alerts, 0)
        return np.stack([threshold, alerts, shortfall])

    def of_groups(
        self, given: NDArray[np.float64] | None, unit: NDArray[np.float64] | None
    ) -> Quantity:
        """Return the metric with the given thresholds, and with the unit of weights, of groups.

        If thresholds are given, the scores are decisions.
        """
        if self.search is None or (given is None and unit is None):
            return self
        search = replace(self.search, unit=unit)
        if given is not None and isinstance(search, PointSearch) and search.rate is None:
            search = replace(search, values=[1.0], given=given)
        return replace(self, search=search)

    def row_losses(self, probability: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the loss of each probability if the row is positive, and if it is negative."""
        assert self.statistic.row_losses is not None
        return self.statistic.row_losses(probability.astype(np.float64))

    @property
    def has_corners(self) -> bool:
        """Whether the corners of the ROC curve determine the quantity."""
        return self.rate is None and self.statistic.replicate.corners

    @property
    def has_influence(self) -> bool:
        """Whether the influence values of the rows are known, and determine the variance."""
        if self.rate is None:
            return self.statistic.influence is not None and self.statistic.has_influence_variance
        return isinstance(self.search, PointSearch)

    @property
    def has_reliable_influence(self) -> bool:
        """Whether the test by influence values keeps its level in small samples.

        It does not at an estimated point of the curve; see docs/coverage.md.
        """
        return self.is_at_given_threshold or (
            self.rate is None and self.statistic.has_reliable_influence
        )

    def bootstrap_df(
        self, n_pos: NDArray[np.int64], n_neg: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Return the degrees of freedom of bootstrap tests; None for z tests."""
        if not self.statistic.has_t_reference:
            return None
        smaller = n_pos if self.depends_on_prevalence else np.minimum(n_pos, n_neg)
        return np.maximum(smaller - 1.0, 1)

    @property
    def is_area(self) -> bool:
        """Whether the quantity is the area under the ROC curve or a part of it."""
        return self.rate is None and self.statistic.is_roc_area

    @property
    def is_loss(self) -> bool:
        """Whether the quantity is the mean of a loss of the rows, computed from probabilities."""
        return self.statistic.row_losses is not None

    @property
    def of_probabilities(self) -> bool:
        """Whether the scores must be probabilities."""
        return self.rate is None and self.statistic.of_probabilities

    @property
    def text(self) -> str:
        """The quantity in error messages, such as `'tpr' at the point of fpr=0.1`."""
        if isinstance(self.search, PointSearch) and self.search.rate is not None:
            return f"{self.name!r} at {self.search.rate.name}={self.search.values[0]:g}"
        return repr(self.name)

    @property
    def is_at_given_threshold(self) -> bool:
        """Whether the quantity is a metric at a threshold that is given in advance."""
        return isinstance(self.search, PointSearch) and self.search.rate is None

    @property
    def is_at_alerts(self) -> bool:
        """Whether the quantity is a metric at a given number or rate of alerts."""
        rate = self.search.rate if isinstance(self.search, PointSearch) else None
        ratio = None if rate is None else rate.count_ratio
        return ratio is not None and ratio.numerator == ALERTS

    @property
    def share(self) -> CountRatio | None:
        """The proportion of rows that the quantity is at a given threshold, or None."""
        if self.rate is None or not self.is_at_given_threshold:
            return None
        return self.rate.proportion

    @property
    def is_paired_share(self) -> bool:
        """Whether the quantity is a proportion of rows that are the same for both models."""
        return self.share is not None and self.share.denominator in TOTALS

    @property
    def is_predictive_value(self) -> bool:
        """Whether the quantity is a proportion of the rows with one of both decisions."""
        return self.share is not None and self.share.denominator in DECISIONS

    @property
    def better(self) -> str:
        """Which values are better: `"higher"`, `"lower"` or `"neither"`."""
        return (self.statistic if self.rate is None else self.rate).better

    @property
    def depends_on_prevalence(self) -> bool:
        """Whether the quantity depends on the share of positives."""
        if self.rate is None or self.search is None:
            return self.statistic.replicate.depends_on_prevalence
        return self.rate.varies_with_prevalence or self.search.depends_on_prevalence

    @property
    def slope(self) -> float:
        """Derivative of the standardized value with respect to the value before standardization."""
        return 1.0 if self.rate_range is None else self.rate_range.slope

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest standardized value."""
        ends = (self.statistic if self.rate is None else self.rate).bounds
        low, high = self.standardized(np.array(ends, np.float64)).tolist()
        return low, high

    @property
    def max_difference(self) -> float:
        """Largest possible difference of two standardized values."""
        low, high = self.bounds
        return high - low

    def standardized(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standardize values if the quantity is a standardized partial area, else return them."""
        return values if self.rate_range is None else self.rate_range.standardize(values)


ALERTS = ("tp", "fp")
COUNT_ROUNDING = 1e-9  # rounding error of a number of rows that is computed from a rate
DECISIONS = (("tp", "fp"), ("fn", "tn"), ("tn", "fn"))  # denominators of predictive values
RATES_OF_AREAS = ("fpr", "tpr", "specificity", "sensitivity")


def parse_quantities(
    metric: str | pl.Expr | Sequence[str | pl.Expr],
    points: Mapping[str, object],
    *,
    standardize: str | None = None,
    rule: RuleOptions | None = None,
    settings: Settings | None = None,
) -> list[Quantity]:
    """Return the compared quantities; `points` are the arguments that determine a point or range.

    A pair of rates is the range of the partial area that `"auc"` then is. If `"auc"` is the only
    metric, a single FPR or TPR is the point at which the other rate is compared.
    """
    if isinstance(points.get(THRESHOLD), Mapping | pl.DataFrame):
        points = {**points, THRESHOLD: 0.0}  # the thresholds are read with the groups and models
    given = {name: value for name, value in points.items() if value is not None}
    rates = {name: points.get(name) for name in RATES_OF_AREAS}
    names = to_list(metric)
    is_area = [is_text(name, "auc") for name in names]
    has_range = any(to_float(value) is None for value in rates.values() if value is not None)
    if has_range and any(is_area) and not all(is_area):
        area = Quantity.of_area(RateRange.parse(rates, standardize))
        others = [name for name, is_own in zip(names, is_area, strict=True) if not is_own]
        others_at = {name: value for name, value in points.items() if name not in rates}
        following = iter(parse_quantities(others, others_at, rule=rule, settings=settings))
        return [area if is_own else next(following) for is_own in is_area]
    if names and all(is_area) and given.keys() <= set(RATES_OF_AREAS):
        name = next(iter(given), "")
        rate = to_float(given.get(name)) if len(given) == 1 and standardize is None else None
        if rate is None:
            return [Quantity.of_area(RateRange.parse(rates, standardize))]
        if not 0 <= rate <= 1:
            problem = "expected a rate between 0 and 1"
            hint = (
                f"Pass a rate, such as {name}=0.1, or the range of a partial area, "
                f"such as {name}=(0, 0.1)."
            )
            raise OptionValueError.compose(name, rate, problem, hint)
        axis, _ = as_fpr_or_tpr(name, [rate])
        metric = "tpr" if axis == "fpr" else "fpr"
    check_supported("standardize", standardize, f"metric={metric!r}")
    settings = settings or Settings()
    metrics = parse_interval_metrics(metric, settings, argument="metric")
    if MODEL in metrics:
        problem = "the columns model_a and model_b have the names of the models"
        raise OptionValueError.compose("metric", metric, problem, "Use another name in .alias().")
    check_points(metrics, dict(points), argument="metric")
    at, values = parse_points({**points}, example="fpr=0.01")
    if len(values) > 1:
        problem = "models are compared at one point"
        hint = f"Pass one value, such as {at}={values[0]}."
        raise OptionValueError.compose(str(at), given[str(at)], problem, hint)
    search = point_search(at, values, rule, settings.prevalence)
    return [
        Quantity(name=name, rate=each, search=search)
        if isinstance(each, Rate)
        else Quantity(name=name, statistic=each)
        for name, each in metrics.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """The difference a - b under the null hypothesis, the alternative, and the confidence level."""

    quantity: Quantity
    null: float
    alternative: Alternative
    level: float
    non_inferiority: bool = False
    with_ratio: bool = False

    @classmethod
    def parse(
        cls,
        quantity: Quantity,
        margin: float | None,
        alternative: Alternative,
        level: float,
        *,
        with_ratio: bool = False,
        inferiority: bool = False,
    ) -> Hypothesis:
        """Return the hypothesis a - b < margin, or > -margin if low values are better.

        With `inferiority`, it is a - b < -margin, if high values are better.
        """
        check_alternative(alternative)
        if margin is None:
            return cls(
                quantity=quantity,
                null=0.0,
                alternative=alternative,
                level=level,
                with_ratio=with_ratio,
            )
        largest = max(quantity.max_difference, 1)
        size = parse_number("margin", margin, low=0, high=largest, closed="left", example=0.02)
        if alternative != "two-sided":
            claim = (
                "the AUC of the window is lower than that of the reference by more than the margin"
                if inferiority
                else "model_b is not inferior to model_a"
            )
            problem = f"margin= already defines a one-sided alternative: {claim}"
            hint = "Pass either margin= or alternative=."
            raise OptionValueError.compose("alternative", alternative, problem, hint)
        lower_is_better = quantity.better == "lower"
        if quantity.better == "neither":
            problem = f"neither high nor low values of {quantity.name!r} are better"
            hint = "Use another metric. A test for any difference is compare(…) without margin=."
            raise OptionValueError.compose("margin", margin, problem, hint)
        return cls(
            quantity=quantity,
            null=-size if lower_is_better or inferiority else size,
            alternative="greater" if lower_is_better else "less",
            level=level,
            non_inferiority=not inferiority,
            with_ratio=with_ratio,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedComparison:
    """The pairs of models to compare on the same rows, the hypothesis, and the random draws.

    `thresholds` are those of each model (rows) and group, if they are given.
    """

    batch: ModelBatch
    pairs: Sequence[tuple[int, int]]
    hypothesis: Hypothesis
    draws: RandomDraws
    thresholds: NDArray[np.float64] | None = None

    def given(self, model: int) -> NDArray[np.float64] | None:
        """Return the given thresholds of a model in the groups of the batch, if there are any."""
        return None if self.thresholds is None else self.thresholds[model, self.batch.groups]

    def quantity(self, model: int) -> Quantity:
        """Return the compared quantity of a model, in the groups of the batch."""
        return self.hypothesis.quantity.of_groups(self.given(model), self.batch.weight_unit)

    def points(self) -> dict[int, NDArray[np.float64]]:
        """Return `Quantity.points` of each model, if metrics at points are compared."""
        batch, quantity = self.batch, self.hypothesis.quantity
        if quantity.search is None:
            return {}
        if quantity.is_at_given_threshold:
            nothing = np.zeros(len(batch.groups))
            return {
                model: np.stack([thresholds, nothing, nothing])
                for model in batch.models
                if (thresholds := self.given(model)) is not None
            }
        found = run_parallel(
            lambda task: self.quantity(task[0]).points(task[1]),
            zip(batch.models, batch.scans(), strict=True),
        )
        return {
            model: points
            for model, points in zip(batch.models, found, strict=True)
            if points is not None
        }

    def decisions(self) -> dict[int, NDArray[np.bool_]]:
        """Return whether each row of the batch is predicted positive by each model."""
        instances, rows = self.batch.instances, self.batch.rows
        return {
            model: np.where(
                instances.state[model][rows] == RowState.USED,
                instances.score[model][rows] == 1,
                instances.negative[rows],
            )
            for model in self.batch.models
        }

    def record(
        self,
        pair: tuple[int, int],
        columns: Mapping[str, NDArray[Any]],
        *,
        rows: tuple[NDArray[np.int64], NDArray[np.int64]],
        units: tuple[NDArray[np.int64], NDArray[np.int64]],
        variance: NDArray[np.float64] | None = None,
        few: bool = False,
        redrawn: NDArray[np.int64] | None = None,
    ) -> dict[str, Any]:
        """Return the columns of the test of a pair of models, with a note for each group.

        With `few`, the note `few_rows` warns of few rows or clusters of a class.
        """
        given = [self.given(model) for model in pair]
        if given[0] is not None and given[1] is not None:  # NaN: there is no threshold
            absent = {"estimate_a": np.isnan(given[0]), "estimate_b": np.isnan(given[1])}
            either = absent["estimate_a"] | absent["estimate_b"]
            columns = {
                name: np.where(absent.get(name, either), np.nan, values.T).T
                for name, values in columns.items()
            }
            variance = None if variance is None else np.where(either, np.nan, variance)
        values = columns["estimate_a"] + columns["estimate_b"]
        lacks_variance = np.array(False) if variance is None else np.isnan(variance)
        note = class_notes(
            *units,
            zero_variance=None if variance is None else variance == 0,
            no_limits=np.isinf(values) | (lacks_variance & ~np.isnan(values)),
            no_solution=np.isnan(values) & np.array(self.hypothesis.quantity.rate is not None),
            few_rows=few_rows(*units) if few else None,
            redrawn=redrawn,
            unmatched=self.batch.unmatched,
        )
        n_pos, n_neg = rows
        sizes = {"n_paired": n_pos + n_neg, "n_pos": n_pos, "n_neg": n_neg}
        return {"models": pair, "group": self.batch.groups, **sizes, **columns, "note": note}


def difference_columns(
    hypothesis: Hypothesis,
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    variance: NDArray[np.float64],
    df: NDArray[np.float64] | None = None,
    variances: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Return both values, their difference with Wald limits, and the test of the null hypothesis.

    `values` and `variance` are not standardized. The test is a t test if there are `df`. With the
    `variances` of both values, there are also limits of the ratio, if they are required.
    """
    from scipy.special import stdtrit

    a, b = values
    quantity = hypothesis.quantity
    with np.errstate(invalid="ignore"):
        difference = quantity.slope * (a - b)
    variance = np.where(np.isfinite(difference), quantity.slope**2 * variance, np.nan)
    offset = difference - hypothesis.null
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    statistic = offset / se
    # If the variance is 0, the test is defined only if the difference is 0, in the data and under
    # the null hypothesis.
    statistic[(variance == 0) & (difference == 0) & (offset == 0)] = 0.0
    p_value = normal_p_value(statistic, hypothesis.alternative, df)
    if hypothesis.null != 0:  # a difference of 0 with variance 0 is within any margin
        within = (variance == 0) & (difference == 0) & np.isnan(statistic)
        p_value[within] = 0.0 if hypothesis.non_inferiority else 1.0
    z = normal_quantile(hypothesis.level) if df is None else stdtrit(df, (1 + hypothesis.level) / 2)
    largest = quantity.max_difference
    ratio = {}
    if hypothesis.with_ratio and variances is not None:
        of_a, of_b = (quantity.slope**2 * each for each in variances)
        standardized = quantity.standardized(a), quantity.standardized(b)
        ratio = ratio_limits(standardized, (of_a, of_b), variance, z)
    return ratio | {
        "estimate_a": quantity.standardized(a),
        "estimate_b": quantity.standardized(b),
        "difference": difference,
        "se": se,
        "lower": np.clip(difference - z * se, -largest, largest),
        "upper": np.clip(difference + z * se, -largest, largest),
        "statistic": statistic,
        "df": np.full(len(se), np.nan) if df is None else np.where(variance > 0, df, np.nan),
        "p_value": p_value,
    }


def ratio_limits(
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    variances: tuple[NDArray[np.float64], NDArray[np.float64]],
    of_difference: NDArray[np.float64],
    z: float | NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """Return Wald limits of the ratio of two positive values, on the logarithmic scale."""
    (a, b), (of_a, of_b) = values, variances
    covariance = (of_a + of_b - of_difference) / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        variance = of_a / a**2 + of_b / b**2 - 2 * covariance / (a * b)
        half = np.where((a > 0) & (b > 0), z * np.sqrt(np.maximum(variance, 0)), np.nan)
        return {"ratio_lower": a / b * np.exp(-half), "ratio_upper": a / b * np.exp(half)}


def unpaired_tests(
    models: Sequence[UnpairedEstimates],
    pairs: Sequence[tuple[int, int]],
    hypothesis: Hypothesis,
    compare_estimates: UnpairedTest,
) -> Iterator[dict[str, Any]]:
    """Yield the columns of the test of each pair of models that scored different rows."""
    for pair in pairs:
        a, b = (models[model] for model in pair)
        groups, *positions = np.intersect1d(
            a.groups, b.groups, assume_unique=True, return_indices=True
        )
        a, b = (estimates.select(own) for estimates, own in zip((a, b), positions, strict=True))
        absent_a, absent_b = (absent_classes(model.n_pos, model.n_neg) for model in (a, b))
        n_pos, n_neg = least_sizes(a, b)
        applies: dict[Note, NDArray[Any]] = {
            **{note: absent_a[note] | absent_b[note] for note in absent_a},
            "one_positive": (a.n_pos == 1) | (b.n_pos == 1),
            "one_negative": (a.n_neg == 1) | (b.n_neg == 1),
            "zero_variance": a.variance + b.variance == 0,
        }
        if hypothesis.quantity.rate is not None:
            applies["no_solution"] = np.isnan(a.value) | np.isnan(b.value)
        applies["no_limits"] = np.isinf(a.value) | np.isinf(b.value)
        if a.redrawn is not None and b.redrawn is not None:
            applies["redrawn"] = a.redrawn + b.redrawn
        if not hypothesis.quantity.is_loss and a.total is None:
            applies["few_rows"] = few_rows(n_pos, n_neg)
        kept = {}
        if a.replicates is not None and b.replicates is not None:
            kept["replicates"] = np.stack([a.replicates, b.replicates], axis=1)
        yield kept | {
            "models": pair,
            "group": groups,
            "n_pos": n_pos,
            "n_neg": n_neg,
            **compare_estimates(a, b, hypothesis),
            "note": first_notes(applies),
        }


def wald_columns(
    a: UnpairedEstimates, b: UnpairedEstimates, hypothesis: Hypothesis
) -> dict[str, NDArray[np.float64]]:
    """Return `difference_columns` of two samples by a z test, or a t test of some statistics."""
    if hypothesis.quantity.statistic.has_t_reference:
        return welch_columns(a, b, hypothesis)
    variance = a.variance + b.variance
    return difference_columns(
        hypothesis, (a.value, b.value), variance, variances=(a.variance, b.variance)
    )


def welch_columns(
    a: UnpairedEstimates,
    b: UnpairedEstimates,
    hypothesis: Hypothesis,
    shared: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Return `difference_columns` of two samples by a t test with Welch's degrees of freedom.

    `shared` are the covariances of dependent estimates, and the numbers of clusters.
    """
    variance, df = welch_variance(a, b)
    if shared is not None:
        covariance, n = shared
        variance = variance - 2 * covariance
        variance[variance < ZERO_VARIANCE] = 0
        with np.errstate(divide="ignore", invalid="ignore"):
            df = limit_df(variance**2 / (a.spread + b.spread), least_sizes(a, b), n)
    return difference_columns(
        hypothesis, (a.value, b.value), variance, df, (a.variance, b.variance)
    )


def least_sizes(a: UnpairedEstimates, b: UnpairedEstimates) -> ClassSizes:
    """Return the smaller number of positives, and of negatives, of two samples."""
    return np.minimum(a.n_pos, b.n_pos), np.minimum(a.n_neg, b.n_neg)


def welch_variance(
    a: UnpairedEstimates, b: UnpairedEstimates
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the variance of the difference of two estimates, and its degrees of freedom."""
    variance = a.variance + b.variance
    with np.errstate(divide="ignore", invalid="ignore"):
        df: NDArray[np.float64] = variance**2 / (a.spread + b.spread)
    return variance, df


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnpairedEstimates:
    """The estimates of one model, their variances and numbers of rows or clusters, by group.

    `spread` is the sum of v²/(n - 1) over the independent parts v of the variance. `total` is the
    number of rows of a proportion. With the bootstrap, `redrawn` resamples were drawn again, and
    `replicates` has their values (columns), if they are kept.
    """

    groups: NDArray[np.int64]
    value: NDArray[np.float64]
    variance: NDArray[np.float64]
    spread: NDArray[np.float64]
    n_pos: NDArray[np.int64]
    n_neg: NDArray[np.int64]
    total: NDArray[np.float64] | None = None
    redrawn: NDArray[np.int64] | None = None
    replicates: NDArray[np.float64] | None = None

    def select(self, positions: NDArray[np.int64]) -> UnpairedEstimates:
        """Return the estimates of the groups at these positions."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        given = {name: values for name, values in arrays.items() if values is not None}
        return UnpairedEstimates(**{name: values[positions] for name, values in given.items()})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnpairedSample:
    """The rows of one model, the compared quantity, and the random draws of the bootstrap."""

    cases: Cases
    scan: Scan
    quantity: Quantity
    draws: RandomDraws
    groups: NDArray[np.int64]
    n_groups: int

    @classmethod
    def from_cases(
        cls,
        cases: Cases,
        keys: pl.DataFrame,
        quantity: Quantity,
        given: NDArray[np.float64] | None,
        draws: RandomDraws,
    ) -> UnpairedSample:
        """Scan the rows; `keys` and `given` are keys and thresholds of the groups of all models."""
        # The weights of each class can be scaled separately only for functions of FPR and TPR.
        by_class = not quantity.depends_on_prevalence and quantity.rate is None
        scaled = scale_weights(cases, by_class=by_class)
        scan = Scan.from_cases(scaled)
        groups = find_keys(scan.rows.keys, keys).to_numpy()
        unit = None if cases.weight is None else weight_units(cases, scaled)
        quantity = quantity.of_groups(None if given is None else given[groups], unit)
        own_keys = [draws.keys[group] for group in groups] if draws.keys else []
        draws = replace(draws, keys=own_keys, cluster=cases.cluster)
        return cls(
            cases=cases,
            scan=scan,
            quantity=quantity,
            draws=draws,
            groups=groups,
            n_groups=keys.height,
        )

    def points(self) -> NDArray[np.float64] | None:
        """Return `Quantity.points` of the groups of all models; NaN for groups without rows."""
        points = self.quantity.points(self.scan)
        if points is None:
            return None
        result = np.full((len(points), self.n_groups), np.nan)
        result[:, self.groups] = points
        return result

    def estimates(
        self,
        value: NDArray[np.float64],
        variance: NDArray[np.float64],
        spread: NDArray[np.float64],
        **others: NDArray[Any] | None,
    ) -> UnpairedEstimates:
        """Return the estimates of the groups."""
        totals = self.scan.totals
        return UnpairedEstimates(
            groups=self.groups,
            value=value,
            variance=variance,
            spread=spread,
            n_pos=totals.pos_rows,
            n_neg=totals.neg_rows,
            **others,
        )


def area_estimates(sample: UnpairedSample) -> UnpairedEstimates:
    """Return the total or partial area of a model in each group, its variance, and its spread."""
    scan, quantity = sample.scan, sample.quantity
    if quantity.rate_range is None:
        pairs = count_pairs(scan)
        area, variance = pairs.areas[0], delong_variance_parts(scan, pairs)
    else:
        area = quantity.rate_range.areas(scan)[0]
        variance = partial_variance(scan, quantity.rate_range)
    spread = variance.spread((scan.totals.pos_rows, scan.totals.neg_rows))
    return sample.estimates(area, variance.total, spread)


def area_estimates_of_all_rows(sample: UnpairedSample) -> UnpairedEstimates:
    """Return the estimates of `area_estimates`, where the variance has n - 1 df as in pROC."""
    estimates = area_estimates(sample)
    n = estimates.n_pos + estimates.n_neg
    with np.errstate(divide="ignore", invalid="ignore"):
        return replace(estimates, spread=estimates.variance**2 / (n - 1))
