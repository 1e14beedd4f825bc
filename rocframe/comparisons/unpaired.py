"""Welch's test of models that scored different rows, and the areas that it compares.

References
----------
B. L. Welch (1947), "The generalization of 'Student's' problem when several different population
variances are involved", Biometrika 34(1-2), 28-35. doi:10.1093/biomet/34.1-2.28
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.pairs import count_pairs
from rocframe.areas.partial import partial_variance
from rocframe.areas.variance import ZERO_VARIANCE, delong_variance_parts, limit_df
from rocframe.comparisons.hypothesis import difference_columns
from rocframe.frames import find_keys
from rocframe.inference.notes import absent_classes, few_rows, first_notes
from rocframe.kernel.groups import scale_weights
from rocframe.kernel.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.variance import ClassSizes
    from rocframe.comparisons.hypothesis import Hypothesis, Quantity
    from rocframe.inference.notes import Note
    from rocframe.inputs.cases import Cases

    # Estimates a quantity, its variance and the `spread` of this variance in each group of a scan.
    Estimator = Callable[[Scan, "Quantity"], tuple[NDArray[np.float64], ...]]
    # Compares the estimates of two models in the same groups.
    UnpairedTest = Callable[
        ["UnpairedEstimates", "UnpairedEstimates", "Hypothesis"], dict[str, NDArray[np.float64]]
    ]


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
    """Return the columns of `difference_columns` for the estimates of two samples.

    The test is a t test with Welch's degrees of freedom. `shared` are the covariances of the
    estimates and the numbers of clusters of both samples, or None if the samples are independent.
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

    `spread` is the sum of v²/(n - 1) over the independent parts v of the variance, where n is the
    number of rows or clusters from which v is estimated. The degrees of freedom are variance² /
    spread.
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
    """Return the total or partial area of a model in each group, DeLong's variance, and its spread.

    The parts of the variance are those of positives and negatives.
    """
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
