"""The function `auc`: the area under the ROC curve of each group, with a confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.areas.area import RateRange, TopRange
from rocframe.areas.pairs import (
    AUC_STATISTIC,
    Clusters,
    auc_variance_parts,
    class_sizes,
    count_pairs,
    hanley_mcneil_exponential_variance,
    hanley_mcneil_variance,
)
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import (
    SMALL_CLASS,
    Confidence,
    class_notes,
    is_perfect,
    logit,
    newcombe,
    newcombe_variance,
    normal_quantile,
    perfect_area_limits,
    wald,
)
from rocframe.inputs.cases import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import scale_weights
from rocframe.kernel.scan import RandomDraws, Scan, resample_groups
from rocframe.options import NOT_GIVEN, check_choice, check_supported, public
from rocframe.resampling import IntervalColumns, sample_acceleration
from rocframe.schemas.statistics import AUC_NAMES, PARTIAL_AUC_NAMES, auc_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.area import Range
    from rocframe.areas.pairs import ClassSizes, Pairs, VarianceParts
    from rocframe.frames import FrameT
    from rocframe.inference import AUCIntervalMethod, Limits
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores, Total


@public
def auc(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    total: Total = False,
    fpr: Range | None = None,
    tpr: Range | None = None,
    specificity: Range | None = None,
    sensitivity: Range | None = None,
    alert_rate: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    ci: AUCIntervalMethod | None = "logit_delong",
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute the area under the ROC curve of each group, with a confidence interval.

    The AUC is the probability that a random positive has a higher score than a random negative; a
    tie counts 1/2: (2·wins + ties) / (2·positives·negatives), in exact integers without weights. In
    `auc_pessimistic` a tie counts 0, in `auc_optimistic` it counts 1.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    total : bool, str or sequence of str, default False
        Add rows of all groups together, with a column `total`: True, or the group columns over
        which groups are combined, such as `"segment"` for a total of each model.
    fpr : (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`, over which TPR is integrated.
    tpr : (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`, over which 1 - FPR is integrated. With
        `fpr` as well, the area is the part of the rectangle of both ranges below the curve.
    specificity : (float, float), default None
        Range of 1 - FPR: `(0.9, 1)` is the same as `fpr=(0, 0.1)`.
    sensitivity : (float, float), default None
        Another name of `tpr`.
    alert_rate : (float, float), default None
        Range of the share of rows that are predicted positive, from 0: for `(0, 0.01)`, the partial
        area is the probability that a random positive is one of the 1 % of the rows with the
        highest scores, and has a higher score than a random negative.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that a random model has 0.5 and a perfect model has
        1.
    ci : str or None, default "logit_delong"
        Method of the interval; for `alert_rate`, only `"bootstrap"` and `"bootstrap_basic"`.

        - `"logit_delong"`: on the logit scale, with DeLong's variance; wider for small classes.
        - `"delong"`: Wald interval with DeLong's variance, clipped to [0, 1].
        - `"newcombe"`, `"hanley_mcneil"`, `"hanley_mcneil_exponential"`: Newcombe's interval, and
          Wald intervals with Hanley and McNeil's variance, from the data or from the AUC and the
          class sizes. Not for partial areas, `weight` and `cluster`.
        - `"bootstrap"`: quantiles of the AUC over resamples of the rows.
        - `"bootstrap_basic"`: these quantiles, reflected at the estimate: 2·`auc` - quantile.
        - `"bootstrap_bca"`: these quantiles, corrected for bias and skewness.
        - None: no interval.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
    cluster : str or Expr, default None
        Clusters of dependent rows, such as users.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group, sorted by group: `*by`, (`model`,) `auc, lower, upper, se,
        auc_pessimistic, auc_optimistic, n_pos, n_neg, n_missing, ci_level, ci_method, note`. With
        `fpr`, `tpr` or `alert_rate`, the areas are `partial_auc, partial_auc_pessimistic,
        partial_auc_optimistic`. Areas and limits (Float64) are in [0, 1]; with `standardize`, they
        can be below 0 for a model worse than chance. `n_pos`, `n_neg` and `n_missing` (Int64) count
        rows, without weights.

        Areas, `se` and limits are null if there are no positives or no negatives. `se` and limits
        are also null if the variance is 0, and for DeLong's methods and the bootstrap if a class
        has only one row or cluster. With ranges of both rates, only the bootstrap has limits. If
        the AUC (not a partial area) is 0 or 1, the limits are Newcombe's, and `ci_method` (String)
        is `newcombe`.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance, no_limits, redrawn`; with
        `cluster`, `one_positive_cluster` and `one_negative_cluster`. `redrawn:12`: 12 resamples had
        no row of one class and were drawn again.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.

    Notes
    -----
    If a class has fewer than 50 rows or clusters, `"logit_delong"` uses a t distribution with
    Satterthwaite's degrees of freedom. Each limit of an AUC (not a partial area) of rows without
    clusters is then this one or Newcombe's, whichever is farther from the AUC. With `cluster`,
    Obuchowski's variance replaces DeLong's. For `alert_rate` (the local AUC of Clémençon and
    Vayatis), resamples are drawn from both classes together, otherwise from each class.

    References
    ----------
    - E. R. DeLong et al. (1988), Biometrics 44(3), 837-845. doi:10.2307/2531595
    - R. G. Newcombe (2006), Statistics in Medicine 25(4), 559-573. doi:10.1002/sim.2324
    - J. A. Hanley, B. J. McNeil (1982), Radiology 143(1), 29-36.
      doi:10.1148/radiology.143.1.7063747
    - N. A. Obuchowski (1997), Biometrics 53(2), 567-578. doi:10.2307/2533958
    - B. Efron (1987), Journal of the American Statistical Association 82(397), 171-185.
      doi:10.1080/01621459.1987.10478410
    - D. K. McClish (1989), Medical Decision Making 9(3), 190-195. doi:10.1177/0272989X8900900307
    - S. Clémençon, N. Vayatis (2007), Journal of Machine Learning Research 8, 2671-2699.
    - H. Yang et al. (2019), Statistical Methods in Medical Research 28(1), 184-195.
      doi:10.1177/0962280217718866

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> areas = rf.auc(predictions, "label", "score")
    >>> areas.select("auc", "auc_pessimistic", "auc_optimistic", "n_pos", "n_neg", "note")
    shape: (1, 6)
    ┌──────┬─────────────────┬────────────────┬───────┬───────┬──────────────┐
    │ auc  ┆ auc_pessimistic ┆ auc_optimistic ┆ n_pos ┆ n_neg ┆ note         │
    │ ---  ┆ ---             ┆ ---            ┆ ---   ┆ ---   ┆ ---          │
    │ f64  ┆ f64             ┆ f64            ┆ i64   ┆ i64   ┆ str          │
    ╞══════╪═════════════════╪════════════════╪═══════╪═══════╪══════════════╡
    │ 0.75 ┆ 0.5             ┆ 1.0            ┆ 2     ┆ 1     ┆ one_negative │
    └──────┴─────────────────┴────────────────┴───────┴───────┴──────────────┘
    """
    confidence = Confidence.parse(ci, level, n_boot, seed)
    rates = {"fpr": fpr, "tpr": tpr, "specificity": specificity, "sensitivity": sensitivity}
    rate_range = _parse_range(rates, alert_rate, standardize)
    method = None if ci is None else AREA_METHODS[ci]
    if method is not None:
        options = {"alert_rate": alert_rate, **rates, "weight": weight, "cluster": cluster}
        for option, value in options.items():
            check_supported(
                option,
                value,
                f"ci={ci!r}",
                supported=option not in method.refuses,
                hint=TOP_HINT if option == "alert_rate" else FULL_AREA_HINT,
            )
    if method is not None and method.limits is not None and ci != "logit_delong":
        is_supported = rate_range is None or rate_range.has_formula_limits
        hint = f"{TOP_HINT} The default returns the area and its standard error without limits."
        subject = "ranges of FPR and of TPR"
        check_supported("ci", ci, subject, supported=is_supported, noun="value", hint=hint)
    table = plan_table(
        predictions,
        Roles(label, score, by, positive, weight, count, missing, cluster, total=total),
        lambda cases: auc_table(cases, rate_range, confidence).table,
        columns=auc_columns(AUC_NAMES if rate_range is None else PARTIAL_AUC_NAMES),
        anchor="n_pos",
    )
    return as_input_frame(predictions, table)


def _parse_range(
    rates: Mapping[str, object], alert_rate: Range | None, standardize: str | None
) -> RateRange | TopRange | None:
    """Check the options of a partial area, and return its range; None for the full area."""
    if alert_rate is None:
        return RateRange.parse(rates, standardize)
    for name, value in rates.items():
        hint = f"A partial area has one range: leave out {name}= or alert_rate=."
        check_supported(name, value, "alert_rate=", hint=hint)
    check_choice("standardize", standardize, ("mcclish", None))
    return TopRange.parse(alert_rate, mcclish=standardize == "mcclish")


class AucTable(NamedTuple):
    """The result of `auc`, the variance of each area if it was computed, its scan and clusters."""

    table: pl.DataFrame
    parts: VarianceParts | None
    scan: Scan
    clusters: Clusters | None


def auc_table(
    cases: Cases, rate_range: RateRange | TopRange | None, confidence: Confidence
) -> AucTable:
    """Return the result of `auc` for the cases of one model, and the variance of each area."""
    statistic = AUC_STATISTIC if rate_range is None else rate_range.statistic()
    # For a range of alert rates, the weights of both classes are scaled by the same factor, because
    # alert rates depend on the ratio of the weights of the classes.
    cases = scale_weights(cases, by_class=not statistic.replicate.depends_on_prevalence)
    scan = Scan.from_cases(cases)
    method = None if confidence.ci is None else AREA_METHODS[confidence.ci]
    uses_formula = method is not None and method.limits is not None
    clusters = None
    if method is not None and cases.cluster is not None:
        clusters = Clusters.from_scan(scan, cases.cluster)
    pairs, names, slope = None, PARTIAL_AUC_NAMES, 1.0
    areas: tuple[NDArray[np.float64], ...]
    standardize: Callable[[Any], Any] = np.asarray  # areas that are not standardized
    if rate_range is None:
        squares = uses_formula and cases.cluster is None and cases.weight is None
        pairs, names = count_pairs(scan, squares=squares), AUC_NAMES
        areas, variance_of = pairs.areas, partial(auc_variance_parts, scan, pairs)
    else:
        areas, variance_of = rate_range.areas(scan), partial(rate_range.variance, scan)
        standardize, slope = rate_range.standardize, rate_range.slope
    intervals, parts = IntervalColumns(len(areas[0])), None
    sizes = class_sizes(scan, clusters)
    if uses_formula:
        parts = variance_of(clusters, cases.weight)
        measured = MeasuredAreas(
            scan=scan,
            area=areas[0],
            maximum=statistic.bounds[1],
            parts=parts,
            pairs=pairs,
            clusters=clusters,
            sizes=sizes,
        )
        intervals = measured.intervals(confidence)
        if rate_range is not None and not rate_range.has_formula_limits:
            intervals.lower[:], intervals.upper[:], intervals.method[:] = np.nan, np.nan, None
    elif method is not None:
        draws = RandomDraws.of_cases(cases, scan.rows.keys, confidence.n_boot, confidence.seed)
        enough = (sizes[0] > 1) & (sizes[1] > 1)
        for result in resample_groups(scan, [statistic.replicate], draws, enough, arrays_only=True):
            group = result.population.group
            intervals.add(
                group,
                result.values[0],
                float(areas[0][group]),
                confidence.ci,
                confidence.level,
                bounds=statistic.bounds,
                acceleration=partial(sample_acceleration, result.population, statistic.influence),
                n_redrawn=result.n_redrawn[0],
            )
    if method is not None and rate_range is None:
        perfect = is_perfect(areas[0]) & np.isnan(intervals.se)
        n_pos, n_neg = (n[perfect] for n in sizes)
        intervals.lower[perfect], intervals.upper[perfect] = perfect_area_limits(
            areas[0][perfect], n_pos, n_neg, confidence.level
        )
        intervals.method[perfect] = "newcombe"
    note = class_notes(
        *sizes,
        clustered=clusters is not None,
        zero_variance=intervals.constant,
        no_limits=np.isnan(intervals.lower) & ~np.isnan(areas[0]) & (method is not None),
        redrawn=intervals.n_redrawn,
    )
    columns = {
        **scan.size_columns,
        **dict(zip(names, map(standardize, areas), strict=True)),
        "se": intervals.se * slope,
        "lower": standardize(intervals.lower),
        "upper": standardize(intervals.upper),
        "ci_level": None if method is None else confidence.level,
        "ci_method": list(intervals.method),
        "note": list(note),
    }
    table = build_table(scan.rows.keys, columns, auc_columns(names))
    return AucTable(table, parts, scan, clusters)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredAreas:
    """The areas of all groups, at most `maximum`, and what intervals are computed from."""

    scan: Scan
    area: NDArray[np.float64]
    maximum: float
    parts: VarianceParts
    pairs: Pairs | None
    clusters: Clusters | None
    sizes: ClassSizes

    def intervals(self, confidence: Confidence) -> IntervalColumns:
        """Return the intervals by a formula; undefined if the variance of the area is 0."""
        assert confidence.ci is not None
        method, columns = AREA_METHODS[confidence.ci], IntervalColumns(len(self.area))
        variance = self.parts.total if method.variance is None else method.variance(self)
        columns.se = np.sqrt(np.where(variance > 0, variance, np.nan))
        columns.method[:] = confidence.ci
        assert method.limits is not None
        columns.lower, columns.upper = method.limits(self, columns, confidence.level)
        columns.constant = self.parts.total == 0
        for values in (columns.se, columns.lower, columns.upper):
            values[columns.constant] = np.nan
        columns.method[np.isnan(columns.lower)] = None
        return columns


def _wald_limits(areas: MeasuredAreas, columns: IntervalColumns, level: float) -> Limits:
    return wald(areas.area, columns.se, normal_quantile(level), areas.maximum)


def _logit_limits(areas: MeasuredAreas, columns: IntervalColumns, level: float) -> Limits:
    """Return limits on the logit scale, which are wider if a class has few rows or clusters."""
    area, se, sizes, clusters = areas.area, columns.se, areas.sizes, areas.clusters
    lower, upper = logit(area, se, normal_quantile(level), areas.maximum)
    small = np.flatnonzero(np.minimum(*sizes) < SMALL_CLASS)
    if len(small):
        from scipy.special import stdtrit

        n = sizes[0] + sizes[1] if clusters is None else clusters.sizes[2]
        t = stdtrit(areas.parts.df(sizes, n)[small], (1 + level) / 2)
        columns.method[small] = "logit_delong_t"
        lower[small], upper[small] = logit(area[small], se[small], t, areas.maximum)
        if areas.pairs is not None and clusters is None:  # Newcombe's limits: independent rows
            n_pos, n_neg = (size[small] for size in sizes)
            others = newcombe(area[small], n_pos, n_neg, normal_quantile(level))
            lower[small] = np.minimum(lower[small], others[0])
            upper[small] = np.maximum(upper[small], others[1])
            columns.method[small] = "logit_delong_newcombe"
    return lower, upper


def _pairs_variance(
    variance: Callable[[Scan, Pairs], NDArray[np.float64]], areas: MeasuredAreas
) -> NDArray[np.float64]:
    """Return a variance that is computed from the pairs of full areas."""
    assert areas.pairs is not None
    return variance(areas.scan, areas.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaMethod:
    """A method of the interval of an area: a formula, or a bootstrap if `limits` is None.

    `variance` is None for DeLong's variance. `limits` may change the names of methods in the
    columns. `refuses` are the options that the method does not support.
    """

    limits: Callable[[MeasuredAreas, IntervalColumns, float], Limits] | None = None
    variance: Callable[[MeasuredAreas], NDArray[np.float64]] | None = None
    refuses: tuple[str, ...] = ()


# DeLong's variance is not valid for the area at the top, because it treats the score at the end of
# the range as known. This score varies between samples, and its influence values are unknown. The
# default of `ci` is accepted, and its limits are null.
TOP = ("alert_rate",)
TOP_HINT = 'Use ci="bootstrap".'
FULL_AREA_HINT = 'Use ci="logit_delong", ci="delong" or ci="bootstrap".'
# The options of partial areas, and of rows with dependence or with different weights.
FULL_AREA_ONLY = (*TOP, "fpr", "tpr", "specificity", "sensitivity", "weight", "cluster")
AREA_METHODS: dict[str, AreaMethod] = {
    "logit_delong": AreaMethod(limits=_logit_limits),
    "delong": AreaMethod(limits=_wald_limits, refuses=TOP),
    "newcombe": AreaMethod(
        limits=lambda areas, _, level: newcombe(areas.area, *areas.sizes, normal_quantile(level)),
        variance=lambda areas: newcombe_variance(areas.area, *areas.sizes),
        refuses=FULL_AREA_ONLY,
    ),
    "hanley_mcneil": AreaMethod(
        limits=_wald_limits,
        variance=partial(_pairs_variance, hanley_mcneil_variance),
        refuses=FULL_AREA_ONLY,
    ),
    "hanley_mcneil_exponential": AreaMethod(
        limits=_wald_limits,
        variance=partial(
            _pairs_variance, lambda _, pairs: hanley_mcneil_exponential_variance(pairs)
        ),
        refuses=FULL_AREA_ONLY,
    ),
    "bootstrap": AreaMethod(),
    "bootstrap_basic": AreaMethod(),
    "bootstrap_bca": AreaMethod(refuses=TOP),
}
