"""Run the coverage study: `python -m bench.coverage [--only TITLE] [--write]`.

The study simulates how often confidence intervals contain the true value, and how often bands
contain the true curve. It prints its tables. `--write` also writes them to docs/coverage, whose
charts are on the page docs/coverage.md. The numbers are the same in each run with the same options.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import rocframe as rf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

TABLES = Path(__file__).parents[1] / "docs" / "coverage"
CAPTION = re.compile(r"(?P<text>\w[^|]*):\n?")

LEVEL = 0.95
SIZES = (20, 50, 200)
AREAS = (0.6, 0.7, 0.8, 0.9, 0.97)
FORMULAS = ("logit_delong", "delong", "newcombe", "hanley_mcneil", "hanley_mcneil_exponential")
BOOTSTRAPS = ("bootstrap", "bootstrap_basic", "bootstrap_bca")

ROWS = (50, 200, 1000)
SIMULTANEOUS = ("kolmogorov_smirnov", "fixed_width", "envelope", "working_hotelling")
POINTWISE = ("bootstrap", "binomial", "threshold")
RESAMPLED_BANDS = ("fixed_width", "envelope", "bootstrap")
PARTIAL_SIZES = (50, 200)
PARTIAL_METHODS = ("logit_delong", "delong", "bootstrap", "bootstrap_bca")
FPR_RANGE = (0.0, 0.2)
# The AUC of the model, and the ranges of FPR and TPR.
RECTANGLES = (
    (0.8, (0.0, 0.5), (0.5, 1.0)),
    (0.8, (0.0, 0.3), (0.6, 1.0)),
    (0.8, (0.1, 0.4), (0.3, 0.9)),
    (0.9, (0.0, 0.5), (0.5, 1.0)),
    (0.9, (0.0, 0.2), (0.8, 1.0)),
    (0.9, (0.1, 0.4), (0.3, 0.9)),
)
FOLDS = 10
FOLD_SIZES = (30, 100, 300)  # rows of each class in a fold
MEAN_INTERVALS = ("corrected", "t", "normal", "bootstrap", "binomial")
TRUE_RATES = (0.5, 0.8, 0.95, 0.99)
MEAN_FPR = (0.1, 0.2, 0.5)
FEATURES = 20
TRAINING_BATCH = 20  # data sets in memory at the same time
METRIC_SIZES = (20, 50)
METRIC_AREAS = (0.7, 0.9, 0.97)
METRICS = ("eer", "average_precision", "f1")
METRIC_METHODS = (None, "bootstrap", "bootstrap_basic")  # None: the default
KS_AREAS = (0.5, 0.6, 0.7, 0.9, 0.97)
KS_METHODS = ("bootstrap_supremum", *BOOTSTRAPS)
H_SIZES = (25, 100, 500)
H_AREAS = (0.6, 0.75, 0.9)
H_METHODS = ("bootstrap_basic", "bootstrap")
RULE_SIZES = (50, 200)
RULE_METHODS = ("bootstrap", "bootstrap_basic")
RULE_METRICS = ("threshold", "tpr", "fpr")
GUARANTEE_ROWS = (50, 200, 400, 2000)
# For each prevalence, constraints with a rule that chooses a threshold close to the limit.
GUARANTEES = {
    prevalence: (
        ("precision", (precision, None), "recall"),
        ("tpr", (0.8, None), "tnr"),
        ("fpr", (None, 0.1), "recall"),
    )
    for prevalence, precision in ((0.5, 0.9), (0.1, 0.5))
}
GUARANTEE_GRID = 100
# Shares of positives by a uniform score, at which precision is not highest for the highest scores.
PRECISION_SHAPES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "0.79 at all scores": lambda score: np.full_like(score, 0.79),
    "0.5 above 0.93, 0.97 above 0.5, else 0.2": lambda score: np.where(
        score > 0.93, 0.5, np.where(score > 0.5, 0.97, 0.2)
    ),
    "0.79 above 0.8, 0.95 above 0.5, else 0": lambda score: np.where(
        score > 0.8, 0.79, np.where(score > 0.5, 0.95, 0.0)
    ),
}
SCORE_STEP = 0.5  # scores with ties are multiples of this number
CALIBRATION_SIZES = (200, 1000)
# Methods of `calibration`, with the interval methods that they support.
CALIBRATION_METHODS = (
    *(("quantile", ci) for ci in ("wilson", "clopper_pearson", "bootstrap")),
    *((method, "bootstrap") for method in ("isotonic", "loess", "kernel")),
)
EXPONENTS = (1, 2)  # the event rate is the score to the power of one of these exponents
GATE_GROUPS = (1, 5, 20)
GATE_METHODS = ("newcombe", "delong")
FEW_ROWS_GATE_METHODS = ("newcombe", "delong_t", "delong")
# The old AUC, the margin, the correlation of the two scores within a class, and the class sizes.
FEW_ROWS_GATE_CASES = tuple(
    (area, margin, correlation, sizes)
    for area, margin in ((0.7, 0.05), (0.9, 0.05))
    for correlation in (0.5, 0.95)
    for sizes in ((3, 27), (5, 45), (10, 90))
)
GATE_CASES = (
    *(
        (0.8, 0.05, correlation, sizes)
        for correlation in (0.5, 0.95)
        for sizes in ((50, 50), (50, 500), (200, 200))
    ),
    *(
        (0.97, 0.02, correlation, sizes)
        for correlation in (0.5, 0.95)
        for sizes in ((50, 50), (50, 500), (200, 200))
    ),
)
# Other metrics of the gate, with their default methods. The bootstrap is slow: it runs only for
# classes of equal sizes, with fewer groups and half of the resamples.
GATE_METRICS = {"brier": "t_test", "log_loss": "t_test", "average_precision": "bootstrap"}
# The numbers of positives and of negatives, and the areas of the models, for tests of areas.
TEST_SIZES = (
    *((3, 27), (5, 45), (10, 90), (20, 180)),
    *((3, 180), (5, 180), (10, 180), (50, 180), (50, 50)),
)
EQUAL_AREAS = (0.7, 0.9)
DIFFERENT_AREAS = ((0.7, 0.9), (0.9, 0.99))
CONTRAST_MODELS = (2, 3, 4, 6, 8)
FEW_POSITIVES = (0, 1, 2, 3, 5)  # positives in addition to the number of models
COMPARED_ROWS = (50, 200, 2000)
COMPARED_METRICS: dict[str, dict[str, Any]] = {
    **{
        f"`{metric}` at a threshold": {"metric": metric, "threshold": None}
        for metric in ("tpr", "precision", "f1")
    },
    "`recall` at an alert rate": {"metric": "recall", "alert_rate": 0.2},
    **{f"`{metric}`": {"metric": metric} for metric in ("ks", "eer", "calibration_slope")},
}
RESAMPLED = ("recall", "ks", "eer")
# Positives, and negatives for each positive.
CLASS_SIZES = ((3, 1), (10, 1), (20, 1), (3, 9), (10, 9), (20, 9), (50, 9))
CLASS_AREAS = (0.6, 0.75, 0.9, 0.97)
SCORE_DRIFT_SIZES = (50, 200, 2000)
DRIFT_SIZES = ((3, 9), (10, 9), (20, 9), (20, 1))
DRIFT_AREAS = (0.75, 0.9)
# Numbers of readers and of cases of each class, and the parameters of Roe and Metz (1997): the
# distance of the means of both classes; the variances of cases, of cases with modalities, of cases
# with readers, and of the rest, for high or low (H, L) correlations; and those of readers (H, L).
STUDY_SIZES = ((3, 25), (3, 50), (5, 25), (5, 50))
STUDY_DISTANCES = (0.75, 1.5, 2.5)
HIGH_CORRELATION, LOW_CORRELATION = (0.3, 0.3, 0.2, 0.2), (0.1, 0.1, 0.2, 0.6)
READER_VARIANCES = {
    "HL": HIGH_CORRELATION,
    "LL": LOW_CORRELATION,
    "HH": HIGH_CORRELATION,
    "LH": LOW_CORRELATION,
}
LOW_READER_VARIANCE = 0.0055
HIGH_READER_VARIANCES = {0.75: 0.011, 1.5: 0.03, 2.5: 0.056}
FIXED_FACTORS = ("readers", "cases")
WINDOWS = (6, 26)
# Persons of each class in a window; the same persons are in one window, two windows or all windows.
PERSONS = (20, 40)
PERSON_ROWS = 5
PERSON_CORRELATION = 0.5
PERSON_WINDOWS = ("one window", "two windows", "all windows")
READERS = 5
IMPUTATIONS = 5
# The class sizes, the share of missing scores, and the AUC.
IMPUTED_CASES = tuple(
    (sizes, missing, area)
    for sizes in ((20, 20), (20, 200), (100, 100))
    for missing in (0.1, 0.3, 0.5)
    for area in (0.75, 0.9)
)
READER_CASES = ((20, 20), (50, 50))
CALIBRATED_ROWS = (30, 100, 1000)
BETA_SHAPES = ((1, 1), (2, 8), (1, 9), (1, 49))
# Rows, prevalence, threshold, and the TPR and FPR of two models at this threshold.
DECISION_CASES = (
    (200, 0.02, 0.2, (0.3, 0.02)),
    (200, 0.02, 0.05, (0.7, 0.2)),
    (1000, 0.02, 0.2, (0.3, 0.02)),
    (200, 0.1, 0.3, (0.5, 0.05)),
    (1000, 0.3, 0.5, (0.6, 0.1)),
)
DECISION_METHODS = ("mover", "bootstrap")
GIVEN_PREVALENCE = 0.02
COST_SIZES = (20, 50, 200)
COST_AREAS = (0.7, 0.9)
PROBABILITY_COSTS = (0.1, 0.3, 0.5)
COST_METHODS = ("bootstrap_basic", "bootstrap")
GRID = 101
RATES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The score distributions of both classes.

    Scores of negatives are standard normal. Scores of positives are normal with variance 1 and a
    mean that is drawn from `means`.
    """

    name: str
    means: tuple[float, ...]

    def samples(self, groups: int, n: int, seed: int, negatives: int = 1) -> pl.DataFrame:
        """Return a table of `groups` samples of n positives and n * `negatives` negatives."""
        rng = np.random.default_rng([seed, n, round(1e6 * sum(self.means))])
        means, n_neg = rng.choice(self.means, (groups, n)), n * negatives
        scores = np.hstack([means + rng.normal(size=(groups, n)), rng.normal(size=(groups, n_neg))])
        return pl.DataFrame(
            {
                "sample": np.repeat(np.arange(groups), n + n_neg),
                "label": np.tile(np.repeat([True, False], [n, n_neg]), groups),
                "score": scores.ravel(),
            }
        )

    def rates(self, threshold: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return the true FPR and TPR at each threshold."""
        from scipy.special import ndtr

        tpr = np.mean([ndtr(mean - threshold) for mean in self.means], axis=0)
        return ndtr(-threshold), tpr

    def curve(self, fpr: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the true TPR at each false positive rate."""
        from scipy.special import ndtri

        return self.rates(-ndtri(fpr))[1]

    def metrics(self) -> tuple[float, dict[str, float]]:
        """Return the threshold with equal error rates, and the true metrics.

        F1 is that of the threshold. The prevalence is 1/2. Positives must have a single mean.
        """
        (mean,) = self.means
        fpr, tpr = self.rates(np.linspace(mean + 12, -12, 1_000_001))
        (error,), (recall,) = self.rates(np.array([mean / 2]))
        return mean / 2, {
            "ks": float((tpr - fpr).max()),
            "eer": float(error),
            "average_precision": float(np.trapezoid(tpr / (tpr + fpr), tpr)),
            "f1": float(2 * recall / (recall + error + 1)),
        }


def normal(area: float) -> Truth:
    """Return the normal distributions with variance 1 that have this AUC."""
    from scipy.special import ndtri

    return Truth(name=f"normal, AUC {area:g}", means=(float(np.sqrt(2) * ndtri(area)),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """A way to tie scores.

    All scores between two neighboring cuts are tied, or all scores above the maximum.
    """

    name: str
    cuts: tuple[float, ...] = ()
    maximum: float = np.inf

    def scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return tied scores."""
        if self.cuts:
            return np.searchsorted(self.cuts, scores, side="right").astype(np.float64)
        return np.minimum(scores, self.maximum)

    def partial_area(self, truth: Truth) -> float:
        """Return the true area over `FPR_RANGE`, by numerical integration."""
        fpr = np.linspace(*FPR_RANGE, 100_001)
        tied = self.cuts or (self.maximum,)
        x, y = (np.array([0.0, *rates[::-1], 1.0]) for rates in truth.rates(np.array(tied)))
        tpr = np.interp(fpr, x, y)
        if not self.cuts:
            tpr = np.where(fpr < x[1], tpr, truth.curve(fpr))
        return float(np.trapezoid(tpr, fpr))


TIES = (
    *(Ties(name=f"{k} values", cuts=tuple(np.linspace(-1, 2, k + 1)[1:-1])) for k in (2, 5, 10)),
    Ties(name="maximum at FPR 0.1", maximum=1.2816),
    Ties(name="maximum at FPR 0.3", maximum=0.5244),
    Ties(name="no ties"),
)
TWO_KINDS = Truth(name="two kinds of positives", means=(0.0, 3.0))


def intervals(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield one table per sample size: coverage in percent and mean width by method and AUC."""
    for n in SIZES:
        yield f"{n} positives and {n} negatives:\n"
        yield "| `ci` | " + " | ".join(f"AUC {area:g}" for area in AREAS) + " |"
        yield "| --- |" + " --- |" * len(AREAS)
        tables = [normal(area).samples(samples, n, seed) for area in AREAS]
        for ci in (*FORMULAS, *BOOTSTRAPS):
            cells = []
            for area, table in zip(AREAS, tables, strict=True):
                rows = table.head(2 * n * resampled) if ci in BOOTSTRAPS else table
                options = {"ci": ci, "level": LEVEL, "n_boot": n_boot, "seed": seed}
                result = rf.auc(rows, "label", "score", by="sample", **options)
                cells.append(_interval_cell(result, area))
            yield f"| `{ci}` | " + " | ".join(cells) + " |"
        yield ""


def unbalanced_intervals(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the coverage and mean width of intervals by class sizes, standard deviation and AUC.

    The first row of a case is the default, the second is the default for large classes.
    """
    del resampled, n_boot
    yield "| positives, negatives | SD | `ci` | " + " | ".join(map(str, CLASS_AREAS)) + " |"
    yield "| --- " * (3 + len(CLASS_AREAS)) + "|"
    for n, negatives in CLASS_SIZES:
        for sd in (1, 2) if negatives > 1 else (1,):
            cells: dict[str, list[str]] = {"`logit_delong`": [], "with z": [], "`newcombe`": []}
            for area in CLASS_AREAS:
                table = normal(area).samples(samples, n, seed, negatives)
                # The positives have this standard deviation, and the same area.
                mean = normal(area).means[0]
                spread = sd * (pl.col("score") - mean) + np.sqrt((1 + sd**2) / 2) * mean
                table = table.with_columns(score=pl.when("label").then(spread).otherwise("score"))
                options = {"by": "sample", "level": LEVEL}
                default = rf.auc(table, "label", "score", **options)
                half = 1.959964 * pl.col("se") / (pl.col("auc") * (1 - pl.col("auc")))
                middle = (pl.col("auc") / (1 - pl.col("auc"))).log()
                limits = default.with_columns(
                    lower=pl.coalesce(1 / (1 + (half - middle).exp()), "lower"),
                    upper=pl.coalesce(1 / (1 + (-half - middle).exp()), "upper"),
                )
                newcombe = rf.auc(table, "label", "score", ci="newcombe", **options)
                for name, result in zip(cells, (default, limits, newcombe), strict=True):
                    cells[name].append(_interval_cell(result, area))
            for name, values in cells.items():
                yield f"| {n}, {n * negatives} | {sd} | {name} | {' | '.join(values)} |"
    yield ""


def drift_tests(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield how often tests of drift reject without drift, in percent."""
    from scipy.special import chdtrc

    del resampled, n_boot
    tests = ("`homogeneity_p`", "`trend_p`", "separate variances")
    yield (
        "| positives, negatives | AUC | "
        + " | ".join(f"{test}, {k} windows" for test in tests for k in WINDOWS)
        + " |"
    )
    yield "| --- " * (2 + len(tests) * len(WINDOWS)) + "|"
    for n, negatives in DRIFT_SIZES:
        for area in DRIFT_AREAS:
            shares = []
            for k in WINDOWS:
                parts = []
                batch = max(1, 2_000_000 // (k * n * (1 + negatives)))
                for start in range(0, samples, batch):
                    size = min(batch, samples - start)
                    table = normal(area).samples(size * k, n, seed + start, negatives)
                    table = table.with_columns(pl.col("sample") // k, window=pl.col("sample") % k)
                    tests_ = rf.drift_test(table, "label", "score", by="sample", adjust=None)
                    areas = rf.auc(table, "label", "score", by=["sample", "window"], ci="delong")
                    logit = (pl.col("auc") / (1 - pl.col("auc"))).log()
                    weight = (pl.col("auc") * (1 - pl.col("auc")) / pl.col("se")) ** 2
                    own = areas.drop_nulls("se").with_columns(y=logit, w=weight)
                    mean = (pl.col("w") * pl.col("y")).sum() / pl.col("w").sum()
                    own = own.group_by("sample").agg(
                        q=(pl.col("w") * (pl.col("y") - mean) ** 2).sum(), df=pl.len() - 1
                    )
                    p = pl.Series("own_p", chdtrc(own["df"].clip(1), own["q"]))
                    columns = tests_.select("sample", "homogeneity_p", "trend_p")
                    parts.append(columns.join(own.with_columns(p), on="sample", how="left"))
                result = pl.concat(parts)
                names = ("homogeneity_p", "trend_p", "own_p")
                shares.append([(result[x].fill_null(1) < 1 - LEVEL).mean() for x in names])
            cells = [f"{100 * share:.1f}" for test in zip(*shares, strict=True) for share in test]
            yield f"| {n}, {n * negatives} | {area:g} | {' | '.join(cells)} |"
    yield ""


def score_drift_tests(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield how often tests of the scores of two windows reject without drift, in percent."""
    from scipy.special import chdtrc

    del resampled, n_boot
    bins = {"quantile bins": 10, "equal bins": [i / 10 for i in range(11)]}
    names = (*(f"PSI, 10 {name}" for name in bins), "PSI, uncorrected", "KS")
    yield f"| rows of the window | rows of the reference | {' | '.join(names)} |"
    yield "| --- " * (2 + len(names)) + "|"
    for n in SCORE_DRIFT_SIZES:
        for n_reference in SCORE_DRIFT_SIZES:
            parts = []
            batch = max(1, 2_000_000 // (n + n_reference))
            for start in range(0, samples, batch):
                size = min(batch, samples - start)
                rng = np.random.default_rng([seed, n, n_reference, start])
                window = np.tile(np.repeat([0, 1], [n_reference, n]), size)
                sample = np.repeat(np.arange(size), n + n_reference)
                table = pl.DataFrame(
                    {"sample": sample, "window": window, "score": rng.random(len(window))}
                )
                tests = [
                    rf.score_drift(table, "score", by="sample", bins=option, adjust=None)
                    .filter(window=1)
                    .select("psi", "psi_p", "ks_p")
                    for option in bins.values()
                ]
                first = chdtrc(9, tests[0]["psi"] / (1 / n + 1 / n_reference))
                parts.append(
                    pl.DataFrame(
                        [tests[0]["psi_p"], tests[1]["psi_p"].alias("equal")]
                    ).with_columns(first=first, ks=tests[0]["ks_p"])
                )
            shares = (pl.concat(parts) < 1 - LEVEL).mean().row(0)
            cells = " | ".join(f"{100 * share:.1f}" for share in shares)
            yield f"| {n:,} | {n_reference:,} | {cells} |"
    yield ""


def reader_studies(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield rejections of equal modalities, and the coverage of a mean, in reader studies."""
    del resampled, n_boot
    sizes = [f"{r} readers, {n} cases" for r, n in STUDY_SIZES]
    header = ["correlation, variance of readers", "mean AUC", *(f"test, {size}" for size in sizes)]
    header += [f"interval, {size}" for size in sizes]
    header += [f'`fixed="{factor}"`, {sizes[-1]}' for factor in FIXED_FACTORS]
    yield f"| {' | '.join(header)} |"
    yield "| --- " * len(header) + "|"
    for structure, variances in READER_VARIANCES.items():
        for distance in STUDY_DISTANCES:
            area = _reader_area(distance, structure)
            tests, intervals_ = [], []
            for readers, n in STUDY_SIZES:
                rng = np.random.default_rng([seed, readers, n, round(100 * distance)])
                parts = []
                batch = max(1, 400_000 // (4 * readers * n))
                for start in range(0, samples, batch):
                    size = min(batch, samples - start)
                    table = _readings(
                        rng,
                        size,
                        readers=readers,
                        n=n,
                        distance=distance,
                        structure=structure,
                        variances=variances,
                    )
                    parts += [
                        _mean_rows(table, fixed)
                        for fixed in (
                            None,
                            *(FIXED_FACTORS if (readers, n) == STUDY_SIZES[-1] else ()),
                        )
                    ]
                result = pl.concat(parts)
                covered = pl.lit(area).is_between("lower", "upper").fill_null(value=True)
                of_default = pl.col("fixed").is_null()
                rejected = pl.col("p_value").fill_null(1) < 1 - LEVEL
                is_pair = pl.col("modality_b").is_not_null()
                shares = result.select(
                    rejected.filter(is_pair & of_default).mean().alias("test"),
                    covered.filter(~is_pair & of_default).mean().alias("interval"),
                    *(
                        rejected.filter(is_pair & (pl.col("fixed") == factor)).mean().alias(factor)
                        for factor in FIXED_FACTORS
                    ),
                ).row(0)
                tests.append(shares[0])
                intervals_.append(shares[1])
            cells = [f"{100 * share:.1f}" for share in (*tests, *intervals_, *shares[2:])]
            yield f"| {structure} | {area:.2f} | {' | '.join(cells)} |"
    yield ""


def _mean_rows(readings: pl.DataFrame, fixed: str | None) -> pl.DataFrame:
    """Return the rows of the means of each simulated study."""
    study = rf.reader_study(readings, "label", "score", id="case", by="sample", fixed=fixed)
    study = study.filter(pl.col("reader").is_null())
    return study.select("modality_b", "lower", "upper", "p_value", "fixed")


def _reader_variance(distance: float, structure: str) -> float:
    """Return the variance of readers in Roe and Metz's (1997) simulations."""
    return HIGH_READER_VARIANCES[distance] if structure.endswith("H") else LOW_READER_VARIANCE


def _reader_area(distance: float, structure: str) -> float:
    """Return the mean AUC of all readers, of both modalities."""
    total = 1 + 2 * _reader_variance(distance, structure)
    return NormalDist().cdf(distance / (2 * total) ** 0.5)


def _readings(
    rng: np.random.Generator,
    samples: int,
    *,
    readers: int,
    n: int,
    distance: float,
    structure: str,
    variances: tuple[float, ...],
) -> pl.DataFrame:
    """Return readings of `n` cases of each class with two equal modalities.

    The effects are those of Roe and Metz (1997): of the reader, and of the reader with the modality
    (both for each class); of the case, and of the case with the modality, with the reader, and with
    both.
    """
    of_reader = _reader_variance(distance, structure)
    # The axes are the sample, the modality, the reader, the class and the case.
    shape = np.array([samples, 2, readers, 2, n])
    axes = [(0, 2, 3), (0, 1, 2, 3), (0, 3, 4), (0, 1, 3, 4), (0, 2, 3, 4), (0, 1, 2, 3, 4)]
    label = np.array([0, 1])[:, None]
    score = np.broadcast_to(distance * label, shape).copy()
    for own, variance in zip(axes, (of_reader, of_reader, *variances), strict=True):
        size = np.where(np.isin(np.arange(5), own), shape, 1)
        score += np.sqrt(variance) * rng.normal(size=size)
    columns = {
        "sample": np.arange(samples)[:, None, None, None, None],
        "modality": np.array([0, 1])[:, None, None, None],
        "reader": np.arange(readers)[:, None, None],
        "label": label,
        "case": n * label + np.arange(n),
        "score": score,
    }
    return pl.DataFrame({name: np.broadcast_to(v, shape).ravel() for name, v in columns.items()})


def clustered_drift_tests(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield how often tests of drift reject without drift if rows of a person are dependent."""
    del resampled, n_boot
    names = ("`drift`", "`homogeneity_p`", "`trend_p`")
    header = [f"{name}, {how} `cluster`" for name in names for how in ("without", "with")]
    yield "| a person is in | windows | AUC | " + " | ".join(header) + " |"
    yield "| --- " * (3 + len(header)) + "|"
    for place in PERSON_WINDOWS:
        for k in WINDOWS:
            for area in DRIFT_AREAS:
                rng = np.random.default_rng([seed, k, round(100 * area)])
                batch = min(samples, max(1, 1_000_000 // (k * sum(PERSONS) * PERSON_ROWS)))
                parts = []
                for _ in range(0, samples, batch):
                    table = _persons_in_windows(rng, batch, k, area, place)
                    for how in (None, "person"):
                        options = {"by": "sample", "cluster": how, "adjust": None}
                        weeks = rf.drift(table, "label", "score", **options)
                        tests_ = rf.drift_test(table, "label", "score", **options)
                        second = weeks.filter(window=1).select(drift_p="p_value")
                        p_values = tests_.select("homogeneity_p", "trend_p")
                        result = pl.concat([second, p_values], how="horizontal")
                        parts.append(result.with_columns(how=pl.lit(how or "")))
                share = (pl.all().fill_null(1) < 1 - LEVEL).mean() * 100
                shares = pl.concat(parts).group_by("how").agg(share).sort("how").drop("how")
                cells = [f"{value:.1f}" for column in shares for value in column]
                yield f"| {place} | {k} | {area:g} | {' | '.join(cells)} |"
    yield ""


def _persons_in_windows(
    rng: np.random.Generator, samples: int, k: int, area: float, place: str
) -> pl.DataFrame:
    """Return rows of persons with scores that have a correlation within a person.

    In each window, the first persons are positive. A person has `PERSON_ROWS` rows in one window or
    in two successive windows, or one row in each window.
    """
    n, in_all = sum(PERSONS), place == "all windows"
    person = np.arange(n if in_all else n * k)
    first = np.zeros(n, np.int64) if in_all else person % k
    later = np.arange(k if in_all else PERSON_ROWS)
    if not in_all:
        later = (later > PERSON_ROWS // 2) * (place == "two windows")
    window = (first[:, None] + later) % k
    shape = (samples, *window.shape)
    label = (person // (1 if in_all else k) < PERSONS[0])[:, None]
    score = normal(area).means[0] * label + np.sqrt(PERSON_CORRELATION) * rng.normal(
        size=(samples, len(person), 1)
    )
    score = score + np.sqrt(1 - PERSON_CORRELATION) * rng.normal(size=shape)
    columns = {
        "sample": np.arange(samples)[:, None, None],
        "person": person[:, None],
        "window": window,
        "label": label,
        "score": score,
    }
    return pl.DataFrame({name: np.broadcast_to(v, shape).ravel() for name, v in columns.items()})


def reader_intervals(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the coverage of the mean AUC of readers of the same cases, with and without `id`."""
    del resampled, n_boot
    yield "| positives, negatives | AUC of a reader | with `id` | without `id` |"
    yield "| --- | --- | --- | --- |"
    for n_pos, n_neg in READER_CASES:
        for area in (0.8, 0.9):
            rng = np.random.default_rng([seed, n_pos, round(100 * area)])
            n_rows, mean = n_pos + n_neg, normal(area).means[0]
            label = np.tile(np.arange(n_rows) < n_pos, samples)
            common = rng.normal(size=len(label)) * np.sqrt(0.5) + mean * label
            table = pl.concat(
                pl.DataFrame(
                    {
                        "sample": np.repeat(np.arange(samples), n_rows),
                        "case": np.tile(np.arange(n_rows), samples),
                        "reader": reader,
                        "label": label,
                        "score": common + rng.normal(size=len(label)) * np.sqrt(0.5),
                    }
                )
                for reader in range(READERS)
            )
            options = {"over": "reader", "by": "sample", "level": LEVEL}
            cells = [
                _interval_cell(rf.fold_auc(table, "label", "score", id=case, **options), area)
                for case in ("case", None)
            ]
            yield f"| {n_pos}, {n_neg} | {area:g} | {' | '.join(cells)} |"
    yield ""


def pooled_intervals(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the coverage of AUCs that are pooled over imputed data sets, in percent."""
    del resampled, n_boot
    yield "| positives, negatives | missing | AUC | logit scale | identity scale | `fold_auc` |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for (n_pos, n_neg), missing, area in IMPUTED_CASES:
        rng = np.random.default_rng([seed, n_pos, n_neg, round(100 * missing), round(100 * area)])
        label = np.arange(n_pos + n_neg) < n_pos
        score = rng.normal(size=(samples, len(label))) + normal(area).means[0] * label
        is_missing = rng.random(score.shape) < missing
        shape = (IMPUTATIONS, *score.shape)
        table = pl.DataFrame(
            {
                "imputation": np.broadcast_to(np.arange(IMPUTATIONS)[:, None, None], shape).ravel(),
                "sample": np.broadcast_to(np.arange(samples)[:, None], shape).ravel(),
                "label": np.broadcast_to(label, shape).ravel(),
                "score": np.stack(
                    [_impute(score, is_missing, label, rng) for _ in range(IMPUTATIONS)]
                ).ravel(),
            }
        )
        areas = rf.auc(table, "label", "score", by=["sample", "imputation"])
        results = [
            *(rf.pool_imputations(areas, scale=s, level=LEVEL) for s in ("logit", "identity")),
            rf.fold_auc(table, "label", "score", over="imputation", by="sample", level=LEVEL),
        ]
        cells = [_interval_cell(result, area) for result in results]
        yield f"| {n_pos}, {n_neg} | {100 * missing:.0f} % | {area:g} | {' | '.join(cells)} |"
    yield ""


def _impute(
    score: NDArray[np.float64],
    is_missing: NDArray[np.bool_],
    label: NDArray[np.bool_],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw the missing scores from the posterior predictive normal distribution of each class."""
    result = score.copy()
    for in_class in (label, ~label):
        values, known = score[:, in_class], ~is_missing[:, in_class]
        n = np.maximum(known.sum(axis=1, keepdims=True), 3)
        mean = (values * known).sum(axis=1, keepdims=True) / n
        squares = ((values - mean) ** 2 * known).sum(axis=1, keepdims=True)
        sd = np.sqrt(squares / rng.chisquare(n - 1))
        drawn = mean + sd * (rng.normal(size=n.shape) / np.sqrt(n) + rng.normal(size=values.shape))
        result[:, in_class] = np.where(known, values, drawn)
    return result


def hosmer_lemeshow_tests(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield how often the Hosmer-Lemeshow test rejects calibrated scores, in percent."""
    from scipy.special import chdtrc

    del resampled, n_boot
    yield "| rows | distribution of scores | `hosmer_lemeshow_p` | chi-squared |"
    yield "| --- | --- | --- | --- |"
    for n in CALIBRATED_ROWS:
        for shape in BETA_SHAPES:
            rng = np.random.default_rng([seed, n, *shape])
            groups = samples if n < 1000 else samples // 4
            score = rng.beta(*shape, groups * n)
            columns = {"label": rng.random(len(score)) < score, "score": score}
            table = pl.DataFrame({"sample": np.repeat(np.arange(groups), n), **columns})
            result = rf.calibration_summary(table, "label", "score", by="sample")
            df, statistic = (result[f"hosmer_lemeshow{x}"].to_numpy() for x in ("_df", ""))
            both = result["hosmer_lemeshow_p"].to_numpy(), chdtrc(df, statistic)
            cells = [f"{100 * np.mean(p < 1 - LEVEL):.1f}" for p in both]
            yield f"| {n} | beta{shape} | {' | '.join(cells)} |"
    yield ""


def net_benefits(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the coverage of limits of net benefits, and of their differences, in percent."""
    yield "| rows | prevalence | threshold | method | net benefit | difference | at a prevalence |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for n, prevalence, threshold, (tpr, fpr) in DECISION_CASES:
        for method in DECISION_METHODS:
            groups = samples if method == "mover" else resampled
            rng = np.random.default_rng([seed, n, round(100 * prevalence), round(100 * threshold)])
            label = rng.random(groups * n) < prevalence
            rate, agrees = np.where(label, tpr, fpr), rng.random(len(label)) < 0.5
            a, other = (rng.random(len(label)) < rate for _ in range(2))
            alerts = {"a": a, "b": np.where(agrees, a, other)}
            columns = {name: alert.astype(float) for name, alert in alerts.items()}
            sample = np.repeat(np.arange(groups), n)
            table = pl.DataFrame({"sample": sample, "label": label, **columns})
            odds, cells = threshold / (1 - threshold), []
            for share in (None, GIVEN_PREVALENCE):
                result = rf.decision_intervals(
                    table,
                    "label",
                    ["a", "b"],
                    by="sample",
                    grid=threshold,
                    baseline="a",
                    prevalence=share,
                    ci=method,
                    n_boot=n_boot,
                    seed=seed,
                ).filter(model="b")
                at = prevalence if share is None else share
                cells.append(_share_within(result, at * tpr - (1 - at) * odds * fpr))
                if share is None:
                    cells.append(_share_within(result, 0.0, "difference_"))
            yield f"| {n} | {prevalence:g} | {threshold:g} | `{method}` | {' | '.join(cells)} |"
    yield ""


def lowest_costs(_: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the coverage of limits of the lowest expected cost, in percent."""
    yield f"| rows of a class | AUC | method | {' | '.join(map(str, PROBABILITY_COSTS))} |"
    yield f"| --- | --- | --- |{' --- |' * len(PROBABILITY_COSTS)}"
    for n in COST_SIZES:
        for area in COST_AREAS:
            truth = normal(area)
            table = truth.samples(resampled, n, seed)
            fpr, tpr = truth.rates(np.linspace(truth.means[0] + 12, -12, 100_001))
            for method in COST_METHODS:
                result = rf.decision_intervals(
                    table,
                    "label",
                    "score",
                    kind="cost",
                    by="sample",
                    grid=PROBABILITY_COSTS,
                    ci=method,
                    n_boot=n_boot,
                    seed=seed,
                )
                cells = []
                for share in PROBABILITY_COSTS:
                    lowest = float((share * (1 - tpr) + (1 - share) * fpr).min())
                    cells.append(_share_within(result.filter(probability_cost=share), lowest))
                yield f"| {n} | {area:g} | `{method}` | {' | '.join(cells)} |"
    yield ""


def _share_within(result: pl.DataFrame, value: float, prefix: str = "") -> str:
    """Return the percentage of limits that contain a value; null limits do not contain it."""
    inside = pl.lit(value).is_between(f"{prefix}lower", f"{prefix}upper").fill_null(False)
    return f"{100 * result.select(inside.mean()).item():.1f}"


def partial_areas(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield one table per sample size: coverage and mean width by method and type of tie.

    The last row of a table is the percentage of samples in which equal models differ significantly.
    """
    truth, label, resampling = normal(0.8), pl.col("label"), ("bootstrap", "bootstrap_bca")
    for n in PARTIAL_SIZES:
        yield f"{n} positives and {n} negatives:\n"
        yield "| method | " + " | ".join(ties.name for ties in TIES) + " |"
        yield "| --- |" + " --- |" * len(TIES)
        # Two models of equal quality whose scores have a correlation of 1/2 in each class.
        a, b = (truth.samples(samples, n, seed + i) for i in range(2))
        b_scores = _correlated_scores(a, b, truth)
        tables = [
            a.with_columns(score=ties.scores(a["score"].to_numpy()), other=ties.scores(b_scores))
            for ties in TIES
        ]
        for ci in PARTIAL_METHODS:
            cells = []
            for ties, table in zip(TIES, tables, strict=True):
                rows = table.head(2 * n * resampled) if ci in resampling else table
                options = {"fpr": FPR_RANGE, "ci": ci, "n_boot": n_boot, "seed": seed}
                result = rf.auc(rows, label, "score", by="sample", level=LEVEL, **options)
                area = ties.partial_area(truth)
                covered = result["lower"].is_not_null() & (result["lower"] <= area)
                covered &= result["upper"] >= area
                width = (result["upper"] - result["lower"]).mean()
                cells.append(f"{100 * covered.mean():.1f} ({width:.4f})")
            yield f"| `{ci}` | " + " | ".join(cells) + " |"
        cells = []
        for table in tables:
            scores = {"a": "score", "b": "other"}
            result = rf.compare(table, label, scores, by="sample", fpr=FPR_RANGE, adjust=None)
            cells.append(f"{100 * (result['p_value'] < 1 - LEVEL).mean():.1f}")
        yield "| `compare` rejects | " + " | ".join(cells) + " |"
        yield ""


def two_way_areas(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield one table per sample size: coverage and mean width by method, AUC and ranges.

    The last row of a table is the percentage of samples in which equal models differ significantly.
    """
    for n in PARTIAL_SIZES:
        yield f"{n} positives and {n} negatives:\n"
        texts = [
            f"AUC {area}, FPR {a:g}-{b:g}, TPR {c:g}-{d:g}" for area, (a, b), (c, d) in RECTANGLES
        ]
        yield "| method | " + " | ".join(texts) + " |"
        yield "| --- |" + " --- |" * len(RECTANGLES)
        for ci in BOOTSTRAPS:
            cells = []
            for auc, fpr, tpr in RECTANGLES:
                truth = normal(auc)
                rows = truth.samples(resampled, n, seed)
                options = {"fpr": fpr, "tpr": tpr, "ci": ci, "n_boot": n_boot, "seed": seed}
                result = rf.auc(rows, "label", "score", by="sample", level=LEVEL, **options)
                x = np.linspace(*fpr, 100_001)
                area = float(np.trapezoid(np.clip(truth.curve(x), *tpr) - tpr[0], x))
                cells.append(_interval_cell(result, area))
            yield f"| `{ci}` | " + " | ".join(cells) + " |"
        cells = []
        for auc, fpr, tpr in RECTANGLES:
            a, b = (normal(auc).samples(samples, n, seed + i) for i in range(2))
            table = a.with_columns(other=_correlated_scores(a, b, normal(auc)))
            scores = {"a": "score", "b": "other"}
            ranges = {"fpr": fpr, "tpr": tpr, "adjust": None}
            result = rf.compare(table, "label", scores, by="sample", **ranges)
            cells.append(f"{100 * (result['p_value'] < 1 - LEVEL).mean():.1f}")
        yield "| `compare` rejects | " + " | ".join(cells) + " |"
        yield ""


def _correlated_scores(a: pl.DataFrame, b: pl.DataFrame, truth: Truth) -> NDArray[np.float64]:
    """Return scores with a correlation of 1/2 in each class to those of `a`, for the same rows."""
    means = truth.means[0] * a["label"].to_numpy()
    noise_a, noise_b = (table["score"].to_numpy() - means for table in (a, b))
    return means + (noise_a + np.sqrt(3) * noise_b) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A TPR at a given threshold (`method="threshold"`) or FPR ("vertical"), and its true value."""

    name: str
    method: str
    at: float
    true: float


def mean_bias(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the bias of vertical means at jumps of the curves and between jumps."""
    del resampled, n_boot
    offsets = [(fpr, steps) for fpr in MEAN_FPR for steps in (0.0, 0.5)]
    yield (
        "| AUC | negatives per fold | "
        + " | ".join(f"FPR {fpr:g}" + (" + half a step" if steps else "") for fpr, steps in offsets)
        + " |"
    )
    yield "| --- | --- |" + " --- |" * len(offsets)
    for area in (0.8, 0.9):
        for n in FOLD_SIZES:
            groups = max(samples * FOLD_SIZES[0] // n, 1)
            curves = _fold_curves(normal(area).samples(groups * FOLDS, n, seed))
            grid = [fpr + steps / n for fpr, steps in offsets]
            means = rf.average(curves, over="fold", grid=grid, ci=None)
            means = means.group_by("fpr").agg(pl.mean("tpr")).sort("fpr")
            bias = means["tpr"] - normal(area).curve(means["fpr"].to_numpy())
            cells = [f"{error:+.3f}" for error in bias]
            yield f"| {area:g} | {n} | " + " | ".join(cells) + " |"
    yield ""


def means_of_one_model(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the coverage of intervals of mean rates, for one model and independent test sets."""
    from scipy.special import ndtri

    truth = normal(0.8)
    points = [
        Point(name=f"TPR {rate:g} at a threshold", method="threshold", at=at, true=rate)
        for rate in TRUE_RATES
        for at in (float(truth.means[0] - ndtri(rate)),)
    ]
    points += [
        Point(name=f"TPR at FPR {fpr:g}", method="vertical", at=fpr, true=true)
        for fpr, true in zip(MEAN_FPR, truth.curve(np.array(MEAN_FPR)).tolist(), strict=True)
    ]
    for n in FOLD_SIZES[:2]:
        yield f"{FOLDS} test sets of {n} positives and {n} negatives:\n"
        table = truth.samples(samples * FOLDS, n, seed)
        yield from _mean_coverage(_fold_curves(table), points, resampled, n_boot, seed)


def means_of_trained_models(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the coverage of intervals of mean rates, for cross-validated models."""
    from scipy.special import ndtr, ndtri

    for n in FOLD_SIZES[:2]:
        yield f"{FOLDS} folds of {n} positives and {n} negatives:\n"
        table, tpr_at_0, distances = cross_validation(samples, n, seed)
        points = [
            Point(name="TPR at threshold 0", method="threshold", at=0, true=tpr_at_0),
            *(
                Point(name=f"TPR at FPR {fpr:g}", method="vertical", at=fpr, true=true)
                for fpr in MEAN_FPR
                for true in (float(ndtr(distances + ndtri(fpr)).mean()),)
            ),
        ]
        yield from _mean_coverage(_fold_curves(table), points, resampled, n_boot, seed)


def cross_validation(
    samples: int, n: int, seed: int
) -> tuple[pl.DataFrame, float, NDArray[np.float64]]:
    """Cross-validate linear discriminant analysis, with n rows of each class in a fold.

    Return the scores, the mean true TPR of the fitted models at threshold 0, and for each fitted
    model the difference between the true mean scores of both classes in standard deviations.
    """
    from scipy.special import ndtr

    rng = np.random.default_rng([seed, n])
    shift = np.full(FEATURES, normal(0.8).means[0] / np.sqrt(FEATURES))
    scores, distances, rates = [], [], []
    for _ in range(-(-samples // TRAINING_BATCH)):
        # Axes: data set, fold, class, row, feature.
        x = rng.normal(size=(TRAINING_BATCH, FOLDS, 2, n, FEATURES))
        x[:, :, 0] += shift
        sums, squares = x.sum(axis=3), np.einsum("sfcni,sfcnj->sfij", x, x)
        rows = n * (FOLDS - 1)
        means = (sums.sum(axis=1, keepdims=True) - sums) / rows
        within = squares.sum(axis=1, keepdims=True) - squares
        within = within - rows * np.einsum("sfci,sfcj->sfij", means, means)
        difference = means[:, :, 0] - means[:, :, 1]
        direction = np.linalg.solve(within / (2 * rows - 2), difference[..., None])[..., 0]
        midpoint = np.einsum("sfi,sfi->sf", means.mean(axis=2), direction)
        scores.append(np.einsum("sfcni,sfi->sfcn", x, direction) - midpoint[..., None, None])
        length = np.linalg.norm(direction, axis=-1)
        distances.append(direction @ shift / length)
        rates.append(ndtr((direction @ shift - midpoint) / length))
    score = np.concatenate(scores)[:samples]
    table = pl.DataFrame(
        {
            "sample": np.repeat(np.arange(samples * FOLDS), 2 * n),
            "label": np.tile(np.repeat([True, False], n), samples * FOLDS),
            "score": score.ravel(),
        }
    )
    return table, float(np.concatenate(rates).mean()), np.concatenate(distances).ravel()


def _fold_curves(table: pl.DataFrame) -> pl.DataFrame:
    """Return the curve of each fold, where `FOLDS` successive samples become one sample."""
    folds = table.with_columns(pl.col("sample") // FOLDS, fold=pl.col("sample") % FOLDS)
    return rf.curve(folds, "label", "score", by=["sample", "fold"])


def _mean_coverage(
    curves: pl.DataFrame, points: list[Point], resampled: int, n_boot: int, seed: int
) -> Iterator[str]:
    """Yield a table of coverage in percent and mean width by interval and point."""
    yield "| `ci` | " + " | ".join(point.name for point in points) + " |"
    yield "| --- |" + " --- |" * len(points)
    for interval in MEAN_INTERVALS:
        table, options = curves, {"over": "fold", "ci": interval, "level": LEVEL}
        if interval == "bootstrap":
            table = curves.filter(pl.col("sample") < resampled)
            options |= {"n_boot": n_boot, "seed": seed}
        means = {
            method: rf.average(
                table, method=method, grid=[p.at for p in points if p.method == method], **options
            )
            for method in ("threshold", "vertical")
        }
        cells = []
        for point in points:
            column = "threshold_mean" if point.method == "threshold" else "fpr"
            rows = means[point.method].filter(pl.col(column) == point.at)
            lower, upper = rows["tpr_lower"], rows["tpr_upper"]
            covered = lower.is_not_null() & (lower <= point.true) & (upper >= point.true)
            cells.append(f"{100 * covered.mean():.1f} ({(upper - lower).mean():.3f})")
        yield f"| `{interval}` | " + " | ".join(cells) + " |"
    yield ""


def metric_intervals(_: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield one table per sample size: coverage and mean width by metric, method and AUC."""
    for n in METRIC_SIZES:
        yield f"{n} positives and {n} negatives:\n"
        yield "| metric | `ci` | " + " | ".join(f"AUC {area:g}" for area in METRIC_AREAS) + " |"
        yield "| --- | --- |" + " --- |" * len(METRIC_AREAS)
        cells: dict[tuple[str, str | None], list[str]] = {}
        for area in METRIC_AREAS:
            truth = normal(area)
            threshold, values = truth.metrics()
            rows = truth.samples(resampled, n, seed)
            options = {"metrics": METRICS, "threshold": threshold, "by": "sample"}
            options |= {"level": LEVEL, "n_boot": n_boot, "seed": seed}
            for ci in METRIC_METHODS:
                method = {} if ci is None else {"ci": ci}
                result = rf.intervals(rows, "label", "score", **options, **method)
                for metric in METRICS:
                    cell = _interval_cell(result.filter(metric=metric), values[metric])
                    cells.setdefault((metric, ci), []).append(cell)
        for metric in METRICS:
            for ci in METRIC_METHODS:
                name = "default" if ci is None else f"`{ci}`"
                yield f"| `{metric}` | {name} | " + " | ".join(cells[metric, ci]) + " |"
        yield ""


def ks_intervals(_: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield one table per sample size: coverage and mean width by method and AUC."""
    for n in METRIC_SIZES:
        yield f"{n} positives and {n} negatives:\n"
        yield "| `ci` | " + " | ".join(f"AUC {area:g}" for area in KS_AREAS) + " |"
        yield "| --- |" + " --- |" * len(KS_AREAS)
        truths = [normal(area) for area in KS_AREAS]
        tables = [(truth.samples(resampled, n, seed), truth.metrics()[1]) for truth in truths]
        for ci in KS_METHODS:
            options = {"metrics": "ks", "by": "sample", "ci": ci}
            options |= {"level": LEVEL, "n_boot": n_boot, "seed": seed}
            cells = [
                _interval_cell(rf.intervals(rows, "label", "score", **options), values["ks"])
                for rows, values in tables
            ]
            yield f"| `{ci}` | " + " | ".join(cells) + " |"
        yield ""


def h_intervals(_: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the coverage and mean width of intervals of the H measure by method and AUC."""
    yield "| rows of a class | `ci` | " + " | ".join(f"AUC {area:g}" for area in H_AREAS) + " |"
    yield "| --- | --- |" + " --- |" * len(H_AREAS)
    cost = (np.arange(10_000) + 0.5) / 10_000
    for n in H_SIZES:
        cells: dict[str, list[str]] = {method: [] for method in H_METHODS}
        for truth in map(normal, H_AREAS):
            (mean,) = truth.means
            # The best threshold for each cost, and the density of Beta(2, 2) without its factor.
            fpr, tpr = truth.rates(np.log(cost / (1 - cost)) / mean + mean / 2)
            density = cost * (1 - cost)
            loss, trivial = cost * fpr + (1 - cost) * (1 - tpr), np.minimum(cost, 1 - cost)
            value = 1 - float(loss @ density / (trivial @ density))
            rows = truth.samples(resampled, n, seed)
            for ci in H_METHODS:
                options = {"metrics": "h_measure", "by": "sample", "ci": ci}
                options |= {"level": LEVEL, "n_boot": n_boot, "seed": seed}
                result = rf.intervals(rows, "label", "score", **options)
                cells[ci].append(_interval_cell(result, value))
        for ci in H_METHODS:
            yield f"| {n} | `{ci}` | " + " | ".join(cells[ci]) + " |"
    yield ""


def rule_intervals(_: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield one table per sample size: coverage and mean width at the points of several rules."""
    truth = normal(0.8)
    (mean,) = truth.means
    middle = mean / 2
    # For each rule, the threshold that is best for the score distributions.
    rules: dict[str, tuple[float, dict[str, object]]] = {
        "`youden`": (middle, {"rule": "youden"}),
        "`equal_error`": (middle, {"rule": "equal_error"}),
        '`expected_cost`, `{"fp": 1, "fn": 3}`': (
            middle - float(np.log(3)) / mean,
            {"rule": "expected_cost", "costs": {"fp": 1, "fn": 3}},
        ),
        '`tpr`, `{"fpr": (0, 0.1)}`': (
            NormalDist().inv_cdf(0.9),
            {"rule": "tpr", "subject_to": {"fpr": (0, 0.1)}},
        ),
    }
    for n in RULE_SIZES:
        yield f"{n} positives and {n} negatives:\n"
        yield "| rule | `ci` | " + " | ".join(f"`{name}`" for name in RULE_METRICS) + " |"
        yield "| --- | --- |" + " --- |" * len(RULE_METRICS)
        rows = truth.samples(resampled, n, seed)
        for name, (threshold, rule) in rules.items():
            fpr, tpr = (float(rate) for rate in truth.rates(np.array(threshold)))
            values = {"threshold": threshold, "tpr": tpr, "fpr": fpr}
            for ci in RULE_METHODS:
                options = {"metrics": RULE_METRICS, "by": "sample", "ci": ci, "level": LEVEL}
                options |= {"n_boot": n_boot, "seed": seed, **rule}
                result = rf.intervals(rows, "label", "score", **options)
                cells = [
                    _interval_cell(result.filter(metric=metric), values[metric])
                    for metric in RULE_METRICS
                ]
                yield f"| {name} | `{ci}` | " + " | ".join(cells) + " |"
        yield ""


def guarantees(samples: int, _: int, __: int, seed: int) -> Iterator[str]:
    """Yield shares of samples whose constraint does not hold, and the power of the sequence."""
    truth = normal(0.9)
    metrics = [metric for metric, *_ in GUARANTEES[0.5]]
    power = []
    yield "Violated constraints without `guarantee=`, then with `guarantee=0.95`:\n"
    yield f"| rows | prevalence | scores | {' | '.join(f'`{name}`' for name in metrics)} |"
    yield "| --- | --- | --- |" + " --- |" * len(metrics)
    for n in GUARANTEE_ROWS:
        for prevalence, constraints in GUARANTEES.items():
            for step in (0.0, SCORE_STEP):
                rng = np.random.default_rng([seed, n, round(100 * prevalence), bool(step)])
                label = rng.random((samples, n)) < prevalence
                score = rng.normal(size=label.shape) + truth.means[0] * label
                rows = {"label": label.ravel(), "score": score.ravel()}
                if step:
                    rows["score"] = np.round(rows["score"] / step) * step
                table = pl.DataFrame({"sample": np.repeat(np.arange(samples), n), **rows})
                curves = rf.curve(table, "label", "score", by="sample")
                cells = []
                for metric, limits, rule in constraints:
                    options = {"rule": rule, "subject_to": {metric: limits}}
                    shares = []
                    for guarantee in (None, LEVEL):
                        found = rf.operating_point(curves, **options, guarantee=guarantee)
                        true = _true_rates(found["threshold"], truth, prevalence, step)
                        low, high = limits
                        violated = true[metric] < low if high is None else true[metric] > high
                        shares.append(100 * violated.sum() / samples)
                        if (metric, step, guarantee) == ("precision", 0, LEVEL):
                            grid = _bonferroni(curves, low)
                            sizes = (
                                _power(t, truth, prevalence) for t in (found["threshold"], grid)
                            )
                            power.append(f"| {n} | {prevalence} | {' | '.join(sizes)} |")
                    cells.append(f"{shares[0]:.1f}, {shares[1]:.1f}")
                scores = "ties" if step else "no ties"
                yield f"| {n} | {prevalence} | {scores} | {' | '.join(cells)} |"
    yield "\nSamples with a threshold in percent (mean true recall), limit of the precision:\n"
    yield f"| rows | prevalence | sequence | Bonferroni, {GUARANTEE_GRID} alert rates |"
    yield "| --- | --- | --- | --- |"
    yield from [*power, ""]


def guarantees_of_shapes(samples: int, _: int, __: int, seed: int) -> Iterator[str]:
    """Yield shares of samples with a precision below its limit, for other shares of positives."""
    yield (
        "| share of positives by score | " + " | ".join(f"{n} rows" for n in GUARANTEE_ROWS) + " |"
    )
    yield "| --- |" + " --- |" * len(GUARANTEE_ROWS)
    for name, shape in PRECISION_SHAPES.items():
        grid = (np.arange(100_000) + 0.5) / 100_000
        precision = np.cumsum(shape(grid)[::-1])[::-1] / np.arange(100_000, 0, -1)
        cells = []
        for n in GUARANTEE_ROWS:
            rng = np.random.default_rng([seed, n])
            score = rng.random(samples * n)
            rows = {"label": rng.random(len(score)) < shape(score), "score": score}
            table = pl.DataFrame({"sample": np.repeat(np.arange(samples), n), **rows})
            curves = rf.curve(table, "label", "score", by="sample")
            limit = {"subject_to": {"precision": (0.8, None)}}
            shares = []
            for guarantee in (None, LEVEL):
                found = rf.operating_point(curves, "recall", **limit, guarantee=guarantee)
                chosen = found["threshold"].drop_nulls().to_numpy()
                true = precision[np.searchsorted(grid, chosen).clip(max=len(grid) - 1)]
                shares.append(f"{100 * (true < 0.8).sum() / samples:.1f}")
            cells.append(", ".join(shares))
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def _true_rates(
    threshold: pl.Series, truth: Truth, prevalence: float, step: float = 0.0
) -> dict[str, NDArray[np.float64]]:
    """Return the true rates at the thresholds that exist and are finite."""
    chosen = threshold.drop_nulls().to_numpy()
    fpr, tpr = truth.rates(chosen[np.isfinite(chosen)] - step / 2)
    tp, fp = prevalence * tpr, (1 - prevalence) * fpr
    return {"tpr": tpr, "fpr": fpr, "precision": tp / (tp + fp)}


def _power(threshold: pl.Series, truth: Truth, prevalence: float) -> str:
    """Return the share of samples with a threshold, and the mean recall, 0 without one."""
    recall = _true_rates(threshold, truth, prevalence)["tpr"]
    return f"{100 * len(recall) / len(threshold):.1f} ({recall.sum() / len(threshold):.3f})"


def _bonferroni(curves: pl.DataFrame, low: float) -> pl.Series:
    """Return the lowest threshold of each sample whose precision passes Bonferroni's test."""
    from scipy.special import betainc

    grid = [i / GUARANTEE_GRID for i in range(1, GUARANTEE_GRID + 1)]
    points = rf.at(curves, alert_rate=grid)
    tp, fp = (points[name].to_numpy() for name in ("tp", "fp"))
    p_value = np.where(tp > 0, betainc(np.maximum(tp, 1), fp + 1, low), 1)
    points = points.with_columns(passes=p_value <= (1 - LEVEL) / GUARANTEE_GRID)
    lowest = pl.col("threshold").filter("passes").min()
    return points.group_by("sample").agg(lowest)["threshold"]


def calibration_limits(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield one table per sample size: coverage and mean width by method and true event rate."""
    rng = np.random.default_rng(seed)
    for n in CALIBRATION_SIZES:
        yield f"{n} rows:\n"
        yield "| `method` | `ci` | event rate = score | event rate = score² |"
        yield "| --- | --- | --- | --- |"
        tables = []
        for exponent in EXPONENTS:
            score = rng.random(samples * n)
            table = {"score": score, "label": rng.random(samples * n) < score**exponent}
            tables.append(pl.DataFrame({"sample": np.repeat(np.arange(samples), n), **table}))
        options = {"by": "sample", "level": LEVEL, "n_boot": n_boot, "seed": seed}
        for method, ci in CALIBRATION_METHODS:
            used = samples if ci != "bootstrap" else resampled
            cells = []
            for exponent, table in zip(EXPONENTS, tables, strict=True):
                rows = table.filter(pl.col("sample") < used)
                result = rf.calibration(rows, "label", "score", method=method, ci=ci, **options)
                true = _true_event_rate(result, exponent, in_bins=method == "quantile")
                inside = true.is_between(result["lower"], result["upper"])
                width = (result["upper"] - result["lower"]).mean()
                cells.append(f"{100 * inside.drop_nulls().mean():.1f} ({width:.3f})")
            yield f"| `{method}` | `{ci}` | " + " | ".join(cells) + " |"
        yield ""
        yield "| `method` | consistency limits |"
        yield "| --- | --- |"
        for method in dict(CALIBRATION_METHODS):
            used = samples if method == "quantile" else resampled
            result = rf.calibration(
                tables[0].filter(pl.col("sample") < used),
                *("label", "score"),
                method=method,
                consistency=True,
                ci=None,
                **options,
            )
            inside = result["event_rate"].is_between(
                result["consistency_lower"], result["consistency_upper"]
            )
            yield f"| `{method}` | {100 * inside.mean():.1f} |"
        yield ""


def _true_event_rate(result: pl.DataFrame, exponent: int, *, in_bins: bool) -> pl.Series:
    """Return the true event rate at each score, for uniformly distributed scores.

    For a bin, it is the mean event rate between its lowest and its highest score.
    """
    if not in_bins:
        return result["score_mean"] ** exponent
    low, high = result["score_min"], result["score_max"]
    power = exponent + 1
    return (high**power - low**power) / (power * (high - low))


def _interval_cell(result: pl.DataFrame, value: float) -> str:
    """Return the percentage of intervals that contain the true value, and their mean width."""
    covered = result["lower"].is_not_null() & (result["lower"] <= value)
    covered &= result["upper"] >= value
    return f"{100 * covered.mean():.1f} ({(result['upper'] - result['lower']).mean():.3f})"


def bands(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield one table per true curve: coverage of the complete curve and of single points."""
    for truth in (normal(0.7), normal(0.9), normal(0.97), TWO_KINDS):
        yield f"{truth.name[0].upper()}{truth.name[1:]}:\n"
        yield "| `method` | " + " | ".join(f"{rows} rows" for rows in ROWS) + " |"
        yield "| --- |" + " --- |" * len(ROWS)
        for method in (*SIMULTANEOUS, *POINTWISE):
            groups = resampled if method in RESAMPLED_BANDS else samples
            cells = []
            for rows in ROWS:
                table = truth.samples(groups, rows // 2, seed)
                options = {"method": method, "level": LEVEL, "n_boot": n_boot, "seed": seed}
                result = rf.band(table, "label", "score", by="sample", grid=GRID, **options)
                cells.append(_coverage(result, table, truth))
            yield f"| `{method}` | " + " | ".join(cells) + " |"
        yield ""


def points(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield the coverage of pointwise bands at single false positive rates."""
    yield "`bootstrap`:\n"
    yield "| curve | rows | " + " | ".join(f"FPR {fpr:g}" for fpr in RATES) + " |"
    yield "| --- | --- |" + " --- |" * len(RATES)
    options = {"by": "sample", "level": LEVEL, "n_boot": n_boot, "seed": seed, "grid": RATES}
    for area in (0.7, 0.9, 0.97):
        for rows in ROWS:
            table = normal(area).samples(resampled, rows // 2, seed)
            result = rf.band(table, "label", "score", method="bootstrap", **options)
            yield f"| AUC {area:g} | {rows} | " + " | ".join(_per_rate(result, normal(area))) + " |"
    yield "\n`binomial`, 50 positives, AUC 0.9:\n"
    yield "| negatives | " + " | ".join(f"FPR {fpr:g}" for fpr in RATES) + " |"
    yield "| --- |" + " --- |" * len(RATES)
    for negatives in (1, 10, 100):
        table = normal(0.9).samples(samples, 50, seed, negatives)
        result = rf.band(table, "label", "score", method="binomial", **options)
        yield f"| {50 * negatives} | " + " | ".join(_per_rate(result, normal(0.9))) + " |"
    yield ""


def _per_rate(result: pl.DataFrame, truth: Truth) -> list[str]:
    """Return the coverage at each false positive rate in percent, as text."""
    shares = (
        result.with_columns(inside=_inside(result, truth)).group_by("fpr").agg(pl.mean("inside"))
    )
    return [f"{100 * share:.1f}" for share in shares.sort("fpr")["inside"]]


def _inside(result: pl.DataFrame, truth: Truth) -> pl.Series:
    """Return whether the true curve is within the limits, for each row of a band."""
    # The tolerance is for rounding errors of limits that equal the true rate, such as 0 and 1.
    lower, upper = result["lower"] - 1e-12, result["upper"] + 1e-12
    return pl.Series(truth.curve(result["fpr"].to_numpy())).is_between(lower, upper)


def _coverage(result: pl.DataFrame, table: pl.DataFrame, truth: Truth) -> str:
    """Return a table cell: coverage of complete curves and of points, mean width, and nulls."""
    if result["band"][0] == "threshold":
        thresholds = rf.curve(table, "label", "score", by="sample")
        rates = ["sample", "fpr", "tpr"]
        result = result.join(thresholds.select(*rates, "threshold"), on=rates, how="left")
        fpr, tpr = truth.rates(result["threshold"].to_numpy())
        result = result.with_columns(
            inside=pl.Series(tpr).is_between(result["lower"], result["upper"])
            & pl.Series(fpr).is_between(result["fpr_lower"], result["fpr_upper"])
        )
    else:
        result = result.with_columns(inside=_inside(result, truth))
    n_without = result.filter(pl.col("lower").is_null())["sample"].n_unique()
    result = result.drop_nulls("lower")
    simultaneous = result.group_by("sample").agg(pl.col("inside").all())["inside"].mean()
    pointwise = result.filter(pl.col("fpr").is_between(0, 1, closed="none"))["inside"].mean()
    width = (result["upper"] - result["lower"]).mean()
    without = f", {n_without} without" if n_without else ""
    return f"{100 * simultaneous:.1f} / {100 * pointwise:.1f} ({width:.3f}{without})"


def false_passes(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield three tables: how often a gate passes a group whose new model is worse by the margin.

    The first two tables are for the AUC, with few positives and with more, the third for other
    metrics.
    """
    numbers = " | ".join(f"{n} group{'s' * (n > 1)}" for n in GATE_GROUPS)
    parts = (FEW_ROWS_GATE_CASES, FEW_ROWS_GATE_METHODS), (GATE_CASES, GATE_METHODS)
    for cases, methods in parts:
        yield f"| `method` | old AUC | margin | correlation | positives, negatives | {numbers} |"
        yield "| --- " * (5 + len(GATE_GROUPS)) + "|"
        for area, margin, correlation, (n_pos, n_neg) in cases:
            rng = np.random.default_rng([seed, n_pos, n_neg, round(1000 * area)])
            n_groups = max(GATE_GROUPS) * samples // 4
            is_positive = np.tile(np.arange(n_pos + n_neg) < n_pos, n_groups)
            scores = _two_models(rng, is_positive, (area, area - margin), correlation)
            for method in methods:
                cells = _false_pass_cells(scores, is_positive, n_groups, margin, method=method)
                case = f"{area:g} | {margin:g} | {correlation:g} | {n_pos}, {n_neg}"
                yield f"| `{method}` | {case} | {' | '.join(cells)} |"
        yield ""
    yield f"| `metric` | old AUC, new AUC | margin | correlation | positives, rows | {numbers} |"
    yield "| --- " * (5 + len(GATE_GROUPS)) + "|"
    for metric, method in GATE_METRICS.items():
        is_bootstrap = method == "bootstrap"
        n_samples = resampled // 10 if is_bootstrap else samples // 16
        n_groups = max(GATE_GROUPS) * max(1, n_samples)
        for area, difference, correlation, (n_pos, n_neg) in GATE_CASES:
            if is_bootstrap and n_pos != n_neg:
                continue
            rng = np.random.default_rng([seed, n_pos, n_neg, round(1000 * area)])
            n_rows, areas = n_pos + n_neg, (area, area - difference)
            prevalence = n_pos / n_rows
            is_positive = rng.random(n_groups * n_rows) < prevalence
            scores = _two_models(rng, is_positive, areas, correlation)
            if metric != "average_precision":
                scores = [
                    _probability(score, one, prevalence)
                    for score, one in zip(scores, areas, strict=True)
                ]
            old, new = (_true_value(metric, one, prevalence) for one in areas)
            cells = _false_pass_cells(
                scores, is_positive, n_groups, abs(old - new),
                metric=metric, method=method, n_boot=max(2, n_boot // 2), seed=seed,
            )  # fmt: skip
            both = f"{areas[0]:g}, {areas[1]:g}"
            sizes = f"{n_pos}, {n_rows}"
            values = [f"`{metric}`", both, f"{abs(old - new):.4f}", f"{correlation:g}", sizes]
            yield f"| {' | '.join([*values, *cells])} |"
    yield ""


def _two_models(
    rng: np.random.Generator,
    is_positive: NDArray[np.bool_],
    areas: tuple[float, float],
    correlation: float,
) -> list[NDArray[np.float64]]:
    """Return the scores of two models: normal with variance 1, correlated within each class."""
    common, own = rng.standard_normal((2, len(is_positive)))
    old, new = (normal(area).means[0] * is_positive for area in areas)
    return [old + common, new + correlation * common + np.sqrt(1 - correlation**2) * own]


def _false_pass_cells(
    scores: list[NDArray[np.float64]],
    is_positive: NDArray[np.bool_],
    n_groups: int,
    margin: float,
    **options: object,
) -> list[str]:
    """Return the percentage of samples in which at least one group passes, for `GATE_GROUPS`."""
    table = pl.DataFrame(
        {
            "group": np.repeat(np.arange(n_groups), len(is_positive) // n_groups),
            "label": is_positive,
            "old": scores[0],
            "new": scores[1],
        }
    )
    options |= {"by": "group", "level": LEVEL, "adjust": None}
    decision = rf.gate(table, "label", ["old", "new"], baseline="old", margin=margin, **options)
    # Holm's method passes at least one of n equal groups if the smallest p-value passes with
    # Bonferroni's adjustment.
    p_value = decision["p_value"].fill_null(1).to_numpy()
    smallest = {n: p_value[: n_groups // n * n].reshape(-1, n).min(axis=1) for n in GATE_GROUPS}
    return [f"{100 * (p <= (1 - LEVEL) / n).mean():.1f}" for n, p in smallest.items()]


def few_positives(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield three tables: rejections of equal models, of different models, and of many models.

    A cell has the percentages of the tests with the normal or chi-squared distribution, and of the
    default tests.
    """
    del resampled, n_boot
    names = ("`compare`", "3 models", "4 models", "`drift`")
    for all_areas in ([(area, area) for area in EQUAL_AREAS], DIFFERENT_AREAS):
        yield f"| AUC | positives, negatives | {' | '.join(names)} |"
        yield "| --- " * (2 + len(names)) + "|"
        for areas in all_areas:
            for sizes in TEST_SIZES:
                every = [areas[0], *areas[1:], areas[0], areas[0]]
                table = _correlated_models(samples, sizes, every, 0.5, seed)
                unpaired = _correlated_models(samples, sizes, areas, 0.0, seed)
                cells = [
                    _rejection_cell(rf.compare, table, 2, ("delong", "delong_t")),
                    _rejection_cell(rf.contrast, table, 3, ("delong", "delong_f")),
                    _rejection_cell(rf.contrast, table, 4, ("delong", "delong_f")),
                    _rejection_cell(
                        rf.compare, unpaired, 2, ("delong_unpaired", "delong_t_unpaired")
                    ),
                ]
                both = ", ".join(f"{area:g}" for area in dict.fromkeys(areas))
                yield f"| {both} | {sizes[0]}, {sizes[1]} | {' | '.join(cells)} |"
        yield ""
    more = " | ".join(f"models + {more}" if more else "as many as models" for more in FEW_POSITIVES)
    yield f"| models | {more} |"
    yield "| --- " * (1 + len(FEW_POSITIVES)) + "|"
    for n_models in CONTRAST_MODELS:
        cells = []
        for more in FEW_POSITIVES:
            sizes, areas = (n_models + more, 180), [0.7] * n_models
            table = _correlated_models(samples, sizes, areas, 0.5, seed)
            cells.append(_rejection_cell(rf.contrast, table, n_models, ("delong", "delong_f")))
        yield f"| {n_models} | {' | '.join(cells)} |"
    yield ""


def _correlated_models(
    groups: int, sizes: tuple[int, int], areas: Sequence[float], correlation: float, seed: int
) -> pl.DataFrame:
    """Return the scores of models: normal with variance 1, correlated within each class."""
    n_pos, n_neg = sizes
    rng = np.random.default_rng([seed, n_pos, n_neg, *(round(1000 * area) for area in areas)])
    is_positive = np.tile(np.arange(n_pos + n_neg) < n_pos, groups)
    common = np.sqrt(correlation) * rng.standard_normal(len(is_positive))
    own = np.sqrt(1 - correlation)
    scores = {
        f"model {i}": normal(area).means[0] * is_positive
        + common
        + own * rng.standard_normal(len(is_positive))
        for i, area in enumerate(areas)
    }
    group = np.repeat(np.arange(groups), n_pos + n_neg)
    return pl.DataFrame({"group": group, "label": is_positive, **scores})


def _rejection_cell(
    test: Callable[..., pl.DataFrame], table: pl.DataFrame, n_models: int, methods: tuple[str, ...]
) -> str:
    """Return the percentages of groups in which the methods reject that the areas are equal."""
    models, shares = table.columns[2 : 2 + n_models], []
    for method in methods:
        result = test(table, "label", models, by="group", method=method, adjust=None)
        rejected = result["p_value"].fill_null(1) < 1 - LEVEL
        shares.append(f"{100 * rejected.mean():.1f}")
    return " → ".join(shares)


def compared_metrics(samples: int, resampled: int, n_boot: int, seed: int) -> Iterator[str]:
    """Yield two tables: rejections of equal metrics, and the coverage of their difference, 0."""
    cases = [(n_rows, prevalence) for n_rows in COMPARED_ROWS for prevalence in (0.1, 0.4)]
    heads = " | ".join(f"{n_rows:,} rows, {prevalence:g}" for n_rows, prevalence in cases)
    capacity = {"metric": "recall", "alert_rate": 0.2}
    by_unit = [
        (f"{text}, `{method}`", capacity | {"method": method}, unit)
        for text, unit in (("distinct scores", None), ("log-odds rounded to 0.25", 0.25))
        for method in ("bootstrap", "delta")
    ]
    defaults = [(text, options, None) for text, options in COMPARED_METRICS.items()]
    for metrics, designs in ((defaults, (True, False)), (by_unit, (True,))):
        yield f"| metric | rows | `method` | {heads} |"
        yield "| --- " * (3 + len(cases)) + "|"
        for text, options, unit in metrics:
            for is_paired in designs:
                method, cells = "", []
                for n_rows, prevalence in cases:
                    is_fast = options["metric"] not in RESAMPLED or "delta" in text
                    n_samples = samples if is_fast else resampled
                    n_samples *= 1 if is_paired else 2
                    table = _compared_models(n_samples, n_rows, prevalence, unit, seed)
                    point = {"threshold": prevalence} if "threshold" in options else {}
                    found = _compare_samples(
                        table, is_paired=is_paired, n_boot=n_boot, seed=seed, **options | point
                    )
                    rejected = found["p_value"].fill_null(1) <= 1 - LEVEL
                    covered = (found["lower"] <= 0) & (found["upper"] >= 0)
                    method = found["test"][0]
                    cells.append(f"{100 * rejected.mean():.1f} ({100 * covered.mean():.1f})")
                rows = "same" if is_paired else "different"
                yield f"| {text} | {rows} | `{method}` | {' | '.join(cells)} |"
        yield ""


def _compared_models(
    n_samples: int, n_rows: int, prevalence: float, unit: float | None, seed: int
) -> pl.DataFrame:
    """Return two equally good models: probabilities of normal scores with a correlation of 0.5."""
    rng = np.random.default_rng([seed, n_rows, round(100 * prevalence)])
    label = rng.random(n_samples * n_rows) < prevalence
    common, *own = np.sqrt(0.5) * rng.standard_normal((3, len(label)))
    scores = {name: label + common + each for name, each in zip("ab", own, strict=True)}
    if unit is not None:
        scores = {name: np.round(score / unit) * unit for name, score in scores.items()}
    odds = prevalence / (1 - prevalence)
    probabilities = {name: 1 / (1 + np.exp(0.5 - x) / odds) for name, x in scores.items()}
    sample = np.repeat(np.arange(n_samples), n_rows)
    return pl.DataFrame({"sample": sample, "label": label, **probabilities})


def _compare_samples(table: pl.DataFrame, *, is_paired: bool, **options: Any) -> pl.DataFrame:
    """Compare two models on each sample, or one model on each two samples."""
    options |= {"by": "sample", "adjust": None}
    if is_paired:
        return rf.compare(table, "label", ["a", "b"], **options)
    table = table.with_columns(pl.col("sample") // 2, half=pl.col("sample") % 2)
    return rf.compare(table, "label", "a", between="half", **options)


def _probability(score: NDArray[np.float64], area: float, prevalence: float) -> NDArray[np.float64]:
    """Return the probability of the positive class for scores of a normal model with this AUC."""
    from scipy.special import expit, logit

    (mean,) = normal(area).means
    return expit(logit(prevalence) + mean * score - mean**2 / 2)


def _true_value(metric: str, area: float, prevalence: float) -> float:
    """Return the true metric of a normal model, by numerical integration."""
    truth = normal(area)
    (mean,) = truth.means
    score = np.linspace(mean + 12, -12, 1_000_001)
    if metric == "average_precision":
        fpr, tpr = truth.rates(score)
        precision = prevalence * tpr / (prevalence * tpr + (1 - prevalence) * fpr)
        return float(np.trapezoid(precision, tpr))
    p = _probability(score, area, prevalence)
    losses = (1 - p) ** 2, p**2
    if metric == "log_loss":
        losses = -np.log(p), -np.log1p(-p)
    densities = (
        share * np.exp(-((score - center) ** 2) / 2) / np.sqrt(2 * np.pi)
        for share, center in ((prevalence, mean), (1 - prevalence, 0.0))
    )
    total = sum(loss * density for loss, density in zip(losses, densities, strict=True))
    return float(-np.trapezoid(total, score))


def printed_tables(lines: Iterable[str]) -> list[list[list[str]]]:
    """Return the rows of printed tables, with their headers; equal headers are those of one table.

    If several captions are above the parts of a table, they are in its first column.
    """
    parts: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}
    caption, header = "", None
    for line in "\n".join(lines).splitlines():
        if not line.startswith("|"):
            header = None
            if match := CAPTION.fullmatch(line):
                caption = match["text"]
        elif not line.startswith("| ---"):
            cells = [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
            if header is None:
                header = tuple(cells)
                parts.setdefault(header, [])
            else:
                parts[header].append((caption, cells))
    found = []
    for names, rows in parts.items():
        if len({caption for caption, _ in rows}) > 1:
            found.append([["case", *names], *([caption, *cells] for caption, cells in rows)])
        else:
            found.append([[*names], *(cells for _, cells in rows)])
    return found


def write_tables(name: str, tables: Sequence[Sequence[Sequence[str]]]) -> None:
    """Write tables to files in `TABLES`. The comments at the start of a file remain."""
    for number, rows in enumerate(tables, start=1):
        path = TABLES / (f"{name}.csv" if number == 1 else f"{name}-{number}.csv")
        old = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(line for line in old if line.startswith("#"))
            csv.writer(file, lineterminator="\n").writerows(rows)


# The parts, the divisors of their numbers of samples, and the names of their files.
PARTS: dict[str, tuple[Callable[..., Iterator[str]], int, str]] = {
    "Intervals of an AUC: coverage in percent (mean width)": (intervals, 1, "auc"),
    "Intervals of unbalanced classes: coverage in percent (mean width)": (
        unbalanced_intervals,
        1,
        "auc-unbalanced",
    ),
    "Tests of drift: rejections without drift, in percent": (drift_tests, 1, "drift"),
    "Tests of scores without labels: rejections without drift, in percent": (
        score_drift_tests,
        1,
        "score-drift",
    ),
    "Tests of drift with clusters: rejections without drift, in percent": (
        clustered_drift_tests,
        2,
        "drift-clusters",
    ),
    "Reader studies: rejections of equal modalities, and coverage of a mean, in percent": (
        reader_studies,
        1,
        "reader-studies",
    ),
    "Means over readers: coverage in percent (mean width)": (reader_intervals, 1, "readers"),
    "Areas pooled over imputed data sets: coverage in percent (mean width)": (
        pooled_intervals,
        1,
        "imputations",
    ),
    "Hosmer-Lemeshow test: rejections of calibrated scores, in percent": (
        hosmer_lemeshow_tests,
        1,
        "hosmer-lemeshow",
    ),
    "Decision curves: coverage of the net benefit in percent": (net_benefits, 1, "net-benefit"),
    "Cost curves: coverage of the lowest cost in percent": (lowest_costs, 2, "lowest-cost"),
    "Intervals of a partial area: coverage in percent (mean width)": (
        partial_areas,
        2,
        "partial-areas",
    ),
    "Intervals of a two-way partial area: coverage in percent (mean width)": (
        two_way_areas,
        2,
        "two-way-areas",
    ),
    "Intervals of other metrics: coverage in percent (mean width)": (
        metric_intervals,
        1,
        "other-metrics",
    ),
    "Intervals of KS: coverage in percent (mean width)": (ks_intervals, 1, "ks"),
    "Intervals of the H measure: coverage in percent (mean width)": (h_intervals, 2, "h-measure"),
    "Intervals at chosen thresholds: coverage in percent (mean width)": (
        rule_intervals,
        1,
        "chosen-thresholds",
    ),
    "Thresholds with a guarantee: violated constraints in percent": (guarantees, 2, "guarantees"),
    "Thresholds with a guarantee, other shapes: violations in percent": (
        guarantees_of_shapes,
        2,
        "guarantees-shapes",
    ),
    "Calibration: coverage of one event rate in percent (mean width)": (
        calibration_limits,
        5,
        "calibration",
    ),
    "Means over folds: mean error of vertical means": (mean_bias, 1, "vertical-means"),
    "Means over folds, one model: coverage in percent (mean width)": (
        means_of_one_model,
        2,
        "test-sets",
    ),
    "Means over folds, fitted models: coverage in percent (mean width)": (
        means_of_trained_models,
        2,
        "cross-validation",
    ),
    "Tests of areas: rejections of models with equal or different areas, in percent": (
        few_positives,
        2,
        "tests-of-areas",
    ),
    "Metrics of equal models: rejections (coverage of the difference) in percent": (
        compared_metrics,
        2,
        "tests-of-metrics",
    ),
    "Release gate: passes of models that are worse by the margin, in percent": (
        false_passes,
        1,
        "release-gate",
    ),
    "Bands: coverage of the curve / of one point, in percent (mean width)": (bands, 2, "bands"),
    "Pointwise bands: coverage of one point, in percent": (points, 2, "pointwise-bands"),
}


def main(arguments: list[str] | None = None) -> None:
    """Print all tables, and write them to files."""
    parser = argparse.ArgumentParser(prog="python -m bench.coverage")
    parser.add_argument(
        "--samples", type=int, default=4000, help="samples for methods without resampling"
    )
    parser.add_argument("--resampled", type=int, default=1000, help="samples for bootstrap methods")
    parser.add_argument(
        "--replicates", type=int, default=1000, help="bootstrap resamples of each sample"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="run the parts whose title contains this text")
    parser.add_argument("--write", action="store_true", help="write the tables to docs/coverage")
    options = parser.parse_args(arguments)
    for title, (part, divisor, name) in PARTS.items():
        if options.only not in title:
            continue
        start = time.perf_counter()
        print(f"{title}\n")
        lines = []
        for line in part(
            max(1, options.samples // divisor),
            max(1, options.resampled // divisor),
            max(2, options.replicates // divisor),
            options.seed,
        ):
            print(line, flush=True)
            lines.append(line)
        if options.write:
            write_tables(name, printed_tables(lines))
        print(f"({time.perf_counter() - start:.0f} s)\n")


if __name__ == "__main__":
    main()
