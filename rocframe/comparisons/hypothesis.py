"""What a comparison tests: the compared quantity, the null hypothesis, and non-inferiority."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rocframe.areas.area import RateRange, partial_variance
from rocframe.areas.pairs import ZERO_VARIANCE, count_pairs, delong_variance_parts, limit_df
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
from rocframe.kernel.groups import scale_weights
from rocframe.kernel.scan import Scan
from rocframe.metrics.statistics import PointSearch, average_precision
from rocframe.options import check_choice, check_supported, parse_number, to_float
from rocframe.probabilities.losses import EPSILON, log_losses, probability_losses
from rocframe.rates import NAMES, as_fpr_or_tpr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.pairs import ClassSizes
    from rocframe.comparisons.pairing import ModelBatch
    from rocframe.inference import Alternative, Note
    from rocframe.inputs.cases import Cases
    from rocframe.kernel.scan import RandomDraws, Scannable

    Estimator = Callable[[Scan, "Quantity"], tuple[NDArray[np.float64], ...]]
    UnpairedTest = Callable[
        ["UnpairedEstimates", "UnpairedEstimates", "Hypothesis"], dict[str, NDArray[np.float64]]
    ]

ComparedMetric = Literal["auc", "average_precision", "brier", "log_loss"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """A metric by which models are compared: of each group of a scan, or the mean of a loss.

    `row_losses` returns the losses of probabilities of positive, and of negative rows.
    """

    values: Callable[[Scannable], NDArray[np.float64]]
    row_losses: Callable[[NDArray[np.float64]], tuple[NDArray[Any], NDArray[Any]]] | None = None
    depends_on_prevalence: bool = True
    max_difference: float = 1.0
    bootstrap_t: bool = False


METRICS: dict[ComparedMetric, Metric] = {
    "auc": Metric(values=lambda scan: count_pairs(scan).areas[0], depends_on_prevalence=False),
    # With few positives, the variance of an average precision is itself uncertain.
    "average_precision": Metric(values=average_precision, bootstrap_t=True),
    "brier": Metric(
        values=lambda scan: probability_losses(scan).brier,
        row_losses=lambda p: ((1 - p) ** 2, p**2),
    ),
    "log_loss": Metric(
        values=lambda scan: probability_losses(scan).log_loss,
        row_losses=log_losses,
        max_difference=-log(EPSILON),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """The compared quantity: a metric, a partial area, or the other rate at a fixed FPR or TPR."""

    metric: ComparedMetric = "auc"
    rate_range: RateRange | None = None
    fixed_rate: tuple[Literal["fpr", "tpr"], float] | None = None

    @classmethod
    def parse(
        cls, metric: ComparedMetric, rates: Mapping[str, object], standardize: str | None
    ) -> Quantity:
        """Return the compared quantity; numbers in `rates` are fixed rates, pairs are ranges."""
        check_choice("metric", metric, METRICS)
        if metric != "auc":
            for name, value in {**rates, "standardize": standardize}.items():
                check_supported(name, value, f"metric={metric!r}")
            return cls(metric=metric)
        given = [name for name, value in rates.items() if value is not None]
        name = given[0] if len(given) == 1 and standardize is None else ""
        rate = to_float(rates.get(name))
        if rate is not None:
            if not 0 <= rate <= 1:
                problem = "expected a rate between 0 and 1"
                hint = (
                    f"Pass a rate, such as {name}=0.1, or the range of a partial area, "
                    f"such as {name}=(0, 0.1)."
                )
                raise OptionValueError.compose(name, rate, problem, hint)
            name, (rate,) = as_fpr_or_tpr(name, [rate])
            return cls(fixed_rate=(name, rate))  # type: ignore[arg-type]
        return cls(rate_range=RateRange.parse(rates, standardize))

    @property
    def name(self) -> str:
        """Prefix of the columns with the values of the two models."""
        if self.fixed_rate is not None:
            return "tpr" if self.fixed_rate[0] == "fpr" else "fpr"
        return self.metric if self.rate_range is None else "partial_auc"

    @property
    def is_loss(self) -> bool:
        """Whether the quantity is the mean of a loss of the rows, computed from probabilities."""
        return METRICS[self.metric].row_losses is not None

    def row_losses(self, probability: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the loss of each probability if the row is positive, and if it is negative."""
        losses = METRICS[self.metric].row_losses
        assert losses is not None
        return losses(probability.astype(np.float64))

    def values(self, scan: Scannable) -> NDArray[np.float64]:
        """Return the quantity of each group or resample of a scan."""
        if self.rate_range is not None:
            return self.rate_range.areas(scan)[0]
        if self.fixed_rate is None:
            return METRICS[self.metric].values(scan)
        axis, rate = self.fixed_rate
        point = PointSearch(rate=NAMES[axis], values=[rate]).points(scan)
        counts = (point.tp, point.fn) if axis == "fpr" else (point.fp, point.tn)
        part, rest = (count[:, 0] for count in counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            values: NDArray[np.float64] = part / (part + rest)
        return np.where(point.missing[:, 0], np.nan, values)

    @property
    def lower_is_better(self) -> bool:
        """Whether a lower value is better."""
        return self.is_loss or self.name == "fpr"

    @property
    def depends_on_prevalence(self) -> bool:
        """Whether the quantity depends on the share of positives."""
        return METRICS[self.metric].depends_on_prevalence

    @property
    def slope(self) -> float:
        """Derivative of the standardized value with respect to the value before standardization."""
        return 1.0 if self.rate_range is None else self.rate_range.slope

    @property
    def max_difference(self) -> float:
        """Largest possible difference of two standardized values."""
        if self.rate_range is None:
            return METRICS[self.metric].max_difference
        return self.rate_range.slope * self.rate_range.maximum

    def standardized(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standardize values if the quantity is a standardized partial area, else return them."""
        return values if self.rate_range is None else self.rate_range.standardize(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """The difference a - b under the null hypothesis, the alternative, and the confidence level."""

    quantity: Quantity
    null: float
    alternative: Alternative
    level: float
    non_inferiority: bool = False

    @classmethod
    def parse(
        cls, quantity: Quantity, margin: float | None, alternative: Alternative, level: float
    ) -> Hypothesis:
        """Return the hypothesis a - b < margin, or > -margin if low values are better."""
        check_alternative(alternative)
        if margin is None:
            return cls(quantity=quantity, null=0.0, alternative=alternative, level=level)
        size = parse_number("margin", margin, low=0, high=1, closed="left", example=0.02)
        if alternative != "two-sided":
            problem = (
                "margin= already defines a one-sided alternative: model_b is not inferior to "
                "model_a"
            )
            hint = "Pass either margin= or alternative=."
            raise OptionValueError.compose("alternative", alternative, problem, hint)
        lower_is_better = quantity.lower_is_better
        return cls(
            quantity=quantity,
            null=-size if lower_is_better else size,
            alternative="greater" if lower_is_better else "less",
            level=level,
            non_inferiority=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedComparison:
    """The pairs of models to compare on the same rows, the hypothesis, and the random draws."""

    batch: ModelBatch
    pairs: Sequence[tuple[int, int]]
    hypothesis: Hypothesis
    draws: RandomDraws

    def record(
        self,
        pair: tuple[int, int],
        columns: Mapping[str, NDArray[Any]],
        *,
        rows: tuple[NDArray[np.int64], NDArray[np.int64]],
        units: tuple[NDArray[np.int64], NDArray[np.int64]],
        variance: NDArray[np.float64] | None = None,
        redrawn: NDArray[np.int64] | None = None,
    ) -> dict[str, Any]:
        """Return the columns of the test of a pair of models, with a note for each group."""
        is_exact = variance is None or self.hypothesis.quantity.is_loss
        note = class_notes(
            *units,
            zero_variance=None if variance is None else variance == 0,
            few_rows=None if is_exact else few_rows(*units),
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
) -> dict[str, NDArray[np.float64]]:
    """Return both values, their difference with Wald limits, and the test of the null hypothesis.

    `values` and `variance` are not standardized. The test is a t test if there are `df`.
    """
    from scipy.special import stdtrit

    a, b = values
    quantity = hypothesis.quantity
    difference = quantity.slope * (a - b)
    variance = quantity.slope**2 * variance
    offset = difference - hypothesis.null
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    statistic = offset / se
    # If the variance is 0, the test is defined only if the difference is 0, in the data and under
    # the null hypothesis.
    statistic[(variance == 0) & (difference == 0) & (offset == 0)] = 0.0
    p_value = normal_p_value(statistic, hypothesis.alternative, df)
    if hypothesis.non_inferiority:  # a difference of 0 with variance 0 is within any margin
        p_value[(variance == 0) & (difference == 0) & np.isnan(statistic)] = 0.0
    z = normal_quantile(hypothesis.level) if df is None else stdtrit(df, (1 + hypothesis.level) / 2)
    largest = quantity.max_difference
    return {
        f"{quantity.name}_a": quantity.standardized(a),
        f"{quantity.name}_b": quantity.standardized(b),
        "difference": difference,
        "se": se,
        "lower": np.clip(difference - z * se, -largest, largest),
        "upper": np.clip(difference + z * se, -largest, largest),
        "statistic": statistic,
        "df": np.full(len(se), np.nan) if df is None else np.where(variance > 0, df, np.nan),
        "p_value": p_value,
    }


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
        if not hypothesis.quantity.is_loss:
            applies["few_rows"] = few_rows(n_pos, n_neg)
        yield {
            "models": pair,
            "group": groups,
            "n_pos": n_pos,
            "n_neg": n_neg,
            **compare_estimates(a, b, hypothesis),
            "note": first_notes(applies),
        }


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
    return difference_columns(hypothesis, (a.value, b.value), variance, df)


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

    `spread` is the sum of v²/(n - 1) over the independent parts v of the variance.
    """

    groups: NDArray[np.int64]
    value: NDArray[np.float64]
    variance: NDArray[np.float64]
    spread: NDArray[np.float64]
    n_pos: NDArray[np.int64]
    n_neg: NDArray[np.int64]

    @classmethod
    def from_cases(
        cls, cases: Cases, keys: pl.DataFrame, quantity: Quantity, estimator: Estimator
    ) -> UnpairedEstimates:
        """Estimate the quantity; `keys` are the sorted keys of the groups of all models."""
        # The weights of each class can be scaled separately only for functions of FPR and TPR.
        scan = Scan.from_cases(scale_weights(cases, by_class=not quantity.depends_on_prevalence))
        value, variance, spread = estimator(scan, quantity)
        return cls(
            groups=find_keys(scan.rows.keys, keys).to_numpy(),
            value=value,
            variance=variance,
            spread=spread,
            n_pos=scan.totals.pos_rows,
            n_neg=scan.totals.neg_rows,
        )

    def select(self, positions: NDArray[np.int64]) -> UnpairedEstimates:
        """Return the estimates of the groups at these positions."""
        return UnpairedEstimates(
            **{name: getattr(self, name)[positions] for name in self.__slots__}
        )


def area_estimates(scan: Scan, quantity: Quantity) -> tuple[NDArray[np.float64], ...]:
    """Return the total or partial area of a model in each group, its variance, and its spread."""
    if quantity.rate_range is None:
        pairs = count_pairs(scan)
        area, variance = pairs.areas[0], delong_variance_parts(scan, pairs)
    else:
        area = quantity.rate_range.areas(scan)[0]
        variance = partial_variance(scan, quantity.rate_range)
    return area, variance.total, variance.spread((scan.totals.pos_rows, scan.totals.neg_rows))


def area_estimates_of_all_rows(scan: Scan, quantity: Quantity) -> tuple[NDArray[np.float64], ...]:
    """Return the estimates of `area_estimates`, where the variance has n - 1 df as in pROC."""
    area, variance, _ = area_estimates(scan, quantity)
    n = scan.totals.pos_rows + scan.totals.neg_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        return area, variance, variance**2 / (n - 1)
