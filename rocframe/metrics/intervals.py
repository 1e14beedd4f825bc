"""The function `intervals`: metrics of each group with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.areas.pairs import Clusters, class_sizes, count_pairs
from rocframe.curves.at import EXAMPLE, parse_point
from rocframe.decisions.constraints import CONSTRAINED
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import PROPORTION_LIMITS, Confidence, class_notes, is_perfect
from rocframe.inputs.cases import check_probabilities, plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import scale_weights, weight_units
from rocframe.kernel.scan import RandomDraws, ReplicateStatistic, Scan, resample_groups
from rocframe.kinds import check_metric_settings, parse_metric, parse_metrics
from rocframe.metrics.statistics import (
    CURVE_STATISTICS,
    PERFECT_LIMITS,
    PROBABILITY_STATISTICS,
    PointSearch,
    RuleSearch,
    influence_at,
    parse_rule,
    rates_at,
    stack_points,
)
from rocframe.options import NOT_GIVEN, NotGiven, check_choice, check_flag, check_supported, public
from rocframe.rates import NAMES, RATES, CountRatio, Rate, Settings, as_fpr_or_tpr
from rocframe.resampling import (
    BOOTSTRAPS,
    BootstrapLimits,
    IntervalColumns,
    Statistic,
    replicate_rows,
    sample_acceleration,
)
from rocframe.schemas.curves import METRIC_INTERVALS, METRIC_REPLICATES
from rocframe.schemas.statistics import PARTIAL_AUC_NAMES
from rocframe.schemas.table_type import CURVE_COLUMNS, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.curves.at import PointValues
    from rocframe.decisions.operating_point import RuleOptions
    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores, Total
    from rocframe.kernel.scan import GroupReplicates, GroupRows

MetricIntervalMethod = Literal[
    "bootstrap",
    "bootstrap_basic",
    "bootstrap_bca",
    "bootstrap_supremum",
    "wilson",
    "clopper_pearson",
]


@public
def intervals(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    metrics: str | pl.Expr | Sequence[str | pl.Expr],
    threshold: PointValues = None,
    fpr: PointValues = None,
    tpr: PointValues = None,
    specificity: PointValues = None,
    sensitivity: PointValues = None,
    alert_rate: PointValues = None,
    alerts: PointValues = None,
    rule: str | pl.Expr | None = None,
    by: By = None,
    total: Total = False,
    ci: MetricIntervalMethod | NotGiven | None = NOT_GIVEN,
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
    prevalence: float | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
    benefits: Mapping[str, float] | None = None,
    subject_to: Mapping[str, Sequence[float | None]] | None = None,
    minimize: bool | None = None,
    replicates: bool = False,
) -> FrameT:
    """Compute metrics of each group with confidence intervals.

    Each row is a metric of a complete curve, or of one point of a curve: at a given threshold, at
    the threshold that `at` returns for a rate, or that `operating_point` returns for a rule. For a
    rate or a rule, the bootstrap determines the threshold again in every resample.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    metrics : str, Expr or sequence of these
        Metrics of three types:

        - of complete curves: `"auc"`, `"gini"`, `"ks"`, `"eer"`, `"average_precision"`,
          `"pr_auc"`, `"h_measure"` (with the prior Beta(2, 2));
        - of probabilities, for scores in [0, 1]: the measures of `calibration_summary`, such as
          `"brier"`, `"log_loss"`, `"ece"` or `"calibration_slope"`;
        - of points: all metrics of `curve`, such as `"tpr"` or `"f1"`, named expressions over
          `threshold`, `tp`, `fp`, `fn`, `tn` and rates and, at a rate or by a rule, `"threshold"`.
    threshold : float or sequence of float, default None
        Thresholds; rows with `score >= threshold` are predicted positive.
    fpr : float or sequence of float, default None
        False positive rates. The point is at the lowest threshold whose FPR is at most the rate.
    tpr : float or sequence of float, default None
        True positive rates. The point is at the highest threshold whose TPR is at least the rate.
    specificity : float or sequence of float, default None
        Specificities, 1 - FPR: 0.9 is the same point as `fpr=0.1`.
    sensitivity : float or sequence of float, default None
        Another name of `tpr`.
    alert_rate : float or sequence of float, default None
        Alert rates. The point is at the lowest threshold whose alert rate is at most the value.
    alerts : float or sequence of float, default None
        Numbers of alerts. The point is at the lowest threshold with at most this number of rows
        predicted positive or, with `weight`, at most this sum of their weights.
    rule : str or Expr, default None
        Rule of `operating_point` (except `"bayes"`) that chooses the threshold of the point; the
        highest of several that are equally good.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    total : bool, str or sequence of str, default False
        Add rows of all groups together, with a column `total`: True, or the group columns over
        which groups are combined, such as `"segment"` for a total of each model.
    ci : str or None, optional
        Method of the interval.

        - `"bootstrap_bca"`: quantiles of the resamples, corrected for bias and skewness; the
          default, except at a rate, by a rule, and for the measures without influence values in
          Notes.
        - `"bootstrap"`: quantiles of the resamples; the default at a rate or by a rule.
        - `"bootstrap_basic"`: these quantiles, reflected at the estimate: 2·`estimate` - quantile;
          the default for measures without influence values.
        - `"bootstrap_supremum"`: for `"ks"`, its default; others are not valid if KS is near 0.
        - `"wilson"` and `"clopper_pearson"`: for proportions of rows, such as `"tpr"` or
          `"precision"`, at given thresholds.
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
    prevalence : float, default None
        Prevalence, by default that of the data, at which metrics such as precision are computed.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, by default 0, for the metric `"expected_cost"`.
    benefits : mapping of str to float, default None
        Benefits of one `tp`, `fp`, `fn` and `tn`, by default 0, for the rule `"profit"`.
    subject_to : mapping of str to sequence, default None
        Constraints of the rule: lowest and highest value of metrics, as in `operating_point`.
    minimize : bool, default None
        Whether the rule minimizes its metric or expression, as in `operating_point`.
    replicates : bool, default False
        Return the values of all resamples instead of intervals.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group, metric and point, sorted by group, with metrics and points in the given
        order: `*by`, (`model`,) `metric, estimate, lower, upper, at, at_value, threshold, se,
        n_pos, n_neg, n_missing, ci_level, ci_method, note`. `metric`, `at`, `ci_method` and `note`
        are String, `n_pos`, `n_neg` and `n_missing` Int64, all others Float64.

        `at` is the argument that determines the point, `at_value` its value (null for a rule), and
        `threshold` the threshold of the point; they are null for complete curves.

        `estimate` is null if the metric is 0/0, or no threshold has the given rate or meets the
        constraints. Bootstrap limits and `se` are also null if a class has no rows or, without a
        given threshold, one row, and if all resamples are equal. If the AUC, or a proportion or F1
        at a given threshold, is 0 or 1, the limits are Newcombe's or Wilson's (see `ci_method`).

        `note` is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance, no_solution, no_limits, redrawn`;
        with `cluster`, `one_positive_cluster` and `one_negative_cluster`. `redrawn:12`: 12
        resamples without a class were drawn again, or were left out because the metric is
        undefined.

        With `replicates=True`, there is one row per group, metric, point and resample: `*by`,
        (`model`,) `metric, draw, value, at, at_value`. `draw` (Int64) is the number of the
        resample, from 1 to `n_boot`, and `value` (Float64) the metric of the resample, null if it
        is undefined or a class has too few rows for bootstrap limits. The limits of
        `ci="bootstrap"` with the same `seed` are quantiles of `value` (`method="weibull"` of
        `numpy.quantile`). Models, groups, and metrics that do and do not depend on the prevalence
        have different resamples: to compare models, use `compare(replicates=True)`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if a measure of probabilities is requested
        for scores outside [0, 1].

    See Also
    --------
    auc : AUC and partial AUC with more methods.
    calibration_summary : The definitions of the measures of probabilities.

    Notes
    -----
    For metrics and rules that depend only on TPR and FPR, each resample has as many rows of each
    class as the data. For all others, rows are drawn from both classes together. The intervals do
    not correct the bias of metrics at a threshold that a rule chose on the same data.

    `prevalence` is not available for `"average_precision"`, `"pr_auc"`, `"h_measure"` and measures
    of probabilities, except `"cllr"` and `"cllr_min"`. With it, `alert_rate` is a rate at this
    prevalence. The value of a named expression in a row must not depend on other rows.

    The measures without influence values (derivatives with respect to the weight of a row) are
    `"miscalibration"`, `"discrimination"`, `"ece"` and `"mce"` (of ten quantile bins),
    `"smooth_ece"`, `"ici"`, `"e50"`, `"e90"`, `"e_max"`, `"cllr_min"` and `"h_measure"`. Most are
    too large on average, in the data and more so in resamples. `"bootstrap_basic"` corrects this
    bias, but its limits are still too high for nearly calibrated scores.

    References
    ----------
    - A. C. Davison, D. V. Hinkley (1997), Bootstrap Methods and their Application, Cambridge
      University Press, chapters 2 and 5. doi:10.1017/CBO9780511802843
    - R. G. Newcombe (1998), Statistics in Medicine 17(8), 857-872 and 873-890.
      doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E and
      doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I
    - K. Boyd et al. (2013), ECML PKDD, 451-466. doi:10.1007/978-3-642-40994-3_29
    - Z. Fang, A. Santos (2019), The Review of Economic Studies 86(1), 377-412.
      doi:10.1093/restud/rdy049

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 1], "score": [0.9, 0.4, 0.4, 0.7]})
    >>> options = {"metrics": ["tpr", "precision"], "threshold": 0.5, "ci": "wilson"}
    >>> rates = rf.intervals(predictions, "label", "score", **options)
    >>> rates.select("metric", "estimate", "lower", "upper", "at", "at_value", "threshold")
    shape: (2, 7)
    ┌───────────┬──────────┬─────────┬──────────┬───────────┬──────────┬───────────┐
    │ metric    ┆ estimate ┆ lower   ┆ upper    ┆ at        ┆ at_value ┆ threshold │
    │ ---       ┆ ---      ┆ ---     ┆ ---      ┆ ---       ┆ ---      ┆ ---       │
    │ str       ┆ f64      ┆ f64     ┆ f64      ┆ str       ┆ f64      ┆ f64       │
    ╞═══════════╪══════════╪═════════╪══════════╪═══════════╪══════════╪═══════════╡
    │ tpr       ┆ 0.666667 ┆ 0.20766 ┆ 0.938508 ┆ threshold ┆ 0.5      ┆ 0.7       │
    │ precision ┆ 1.0      ┆ 0.34238 ┆ 1.0      ┆ threshold ┆ 0.5      ┆ 0.7       │
    └───────────┴──────────┴─────────┴──────────┴───────────┴──────────┴───────────┘
    """
    method = "bootstrap_bca" if isinstance(ci, NotGiven) else ci
    confidence = Confidence.parse(method, level, n_boot, seed, get_args(MetricIntervalMethod))
    parsed = parse_interval_metrics(
        metrics, Settings(beta=beta, costs=costs, prevalence=prevalence)
    )
    rule_options = parse_rule(
        rule,
        costs=costs,
        benefits=benefits,
        prevalence=prevalence,
        subject_to=subject_to,
        minimize=minimize,
        beta=beta,
    )
    used = {*parsed, *(rule_options.names if rule_options else ())}
    check_metric_settings(used, beta=beta, costs=costs)
    point_arguments: dict[str, Any] = {"threshold": threshold, "fpr": fpr, "tpr": tpr}
    point_arguments |= {"specificity": specificity, "sensitivity": sensitivity}
    point_arguments |= {"alert_rate": alert_rate, "alerts": alerts, "rule": rule}
    check_points(parsed, point_arguments)
    at, values = parse_points(point_arguments)
    check_flag("replicates", replicates)
    if replicates:
        if isinstance(ci, NotGiven):
            ci = "bootstrap"
        hint = 'Leave out ci=; the quantiles of the replicates are the limits of ci="bootstrap".'
        check_supported("ci", ci, "replicates=True", default="bootstrap", noun="value", hint=hint)
    if not isinstance(ci, NotGiven):
        check_method(ci, parsed, at, {"weight": weight, "cluster": cluster})
    options = IntervalOptions(
        metrics=parsed,
        at=at,
        values=values,
        rule=rule_options,
        prevalence=prevalence,
        confidence=confidence,
        methods={
            name: default_method(metric, at) if isinstance(ci, NotGiven) else ci
            for name, metric in parsed.items()
        },
    )
    probabilities = options.of_probabilities
    roles = Roles(
        label,
        score,
        by,
        positive,
        weight,
        count,
        missing,
        cluster,
        needs_scores=probabilities,
        total=total,
    )
    compute = partial(metric_replicate_table if replicates else interval_table, options=options)
    columns = (METRIC_REPLICATES if replicates else METRIC_INTERVALS).columns()
    table = plan_table(predictions, roles, compute, columns=columns, anchor="metric")
    return as_input_frame(predictions, table)


def interval_table(cases: Cases, options: IntervalOptions) -> pl.DataFrame:
    """Return the result of `intervals` for the cases of one model."""
    if options.of_probabilities:
        check_probabilities(cases)
    intervals, ci = MetricIntervals(cases, options), options.confidence.ci
    intervals.estimate_all()
    if ci in PROPORTION_LIMITS:
        intervals.add_proportions(ci)
    elif ci is not None:
        intervals.add_bootstrap()
        intervals.add_perfect_curves()
        if cases.weight is None and cases.cluster is None:
            intervals.add_proportions("wilson", degenerate_only=True)
    return intervals.table()


def metric_replicate_table(cases: Cases, options: IntervalOptions) -> pl.DataFrame:
    """Return the replicates of all metrics for the cases of one model."""
    if options.of_probabilities:
        check_probabilities(cases)
    intervals, n_boot = MetricIntervals(cases, options), options.confidence.n_boot
    keys, n_lines = intervals.scan.rows.keys, len(intervals.lines)
    values = np.full((keys.height, n_lines, n_boot), nan)
    for (line, group), replicates, *_ in intervals.replicates():
        values[group, line] = replicates
    points = intervals.line_columns(keys.height)
    own = {name: dtype for name, dtype in METRIC_REPLICATES.columns().items() if name in points}
    rows = np.repeat(np.arange(keys.height), n_lines)
    lines = build_table(keys, points, own, rows=rows)
    return replicate_rows(lines, {"value": values.ravel()}, n_boot).select(
        *keys.columns, *METRIC_REPLICATES.columns()
    )


class MetricIntervals(IntervalColumns):
    """Columns of the result, as arrays with one row per item of `lines` and one column per group.

    `search` finds the points of a curve, and `points` are those of the data; None if no metric
    requires a point. `sizes` are the numbers of rows or clusters of both classes.
    """

    def __init__(self, cases: Cases, options: IntervalOptions) -> None:
        scaled = scale_weights(cases)
        self.cases, self.options, self.lines = cases, options, options.lines
        self.scan = Scan.from_cases(scaled)
        clusters = None if cases.cluster is None else Clusters.from_scan(self.scan, cases.cluster)
        self.sizes = class_sizes(self.scan, clusters)
        super().__init__(len(self.lines), len(self.sizes[0]))
        self.estimate, self.threshold = np.full((2, *self.se.shape), nan)
        self.search = options.search(None if cases.weight is None else weight_units(cases, scaled))
        self.points = None if self.search is None else self.search.points(self.scan)

    def estimate_all(self) -> None:
        """Write the estimates and the thresholds of the points."""
        rates: dict[str, NDArray[np.float64]] = {}
        if self.search is not None and self.points is not None:
            rates = rates_at(stack_points(self.points), self.options.rates, self.search)
        for i, (name, index) in enumerate(self.lines):
            if name in self.options.curve_statistics:
                self.estimate[i] = self.options.curve_statistics[name].values(self.scan)
            elif self.points is not None:
                self.estimate[i] = rates[name][:, index]
                threshold = self.points.threshold[:, index]
                self.threshold[i] = np.where(self.points.missing[:, index], nan, threshold)

    def add_bootstrap(self) -> None:
        """Write the bootstrap intervals."""
        options = self.options
        for (i, group), values, n_redrawn, population in self.replicates():
            name, index = self.lines[i]
            metric = options.metrics[name]
            self.add(
                (i, group),
                values,
                float(self.estimate[i, group]),
                options.methods[name],
                options.confidence.level,
                bounds=metric.bounds,
                acceleration=partial(_metric_acceleration, population, metric, self.search, index),
                n_redrawn=n_redrawn,
            )

    def replicates(self) -> Iterator[tuple[tuple[int, int], NDArray[np.float64], int, GroupRows]]:
        """Yield the line and group, the replicates, how many were drawn again, and the rows.

        A group needs two rows or clusters of each class, because all resamples of a single row are
        equal; but not for metrics at a given threshold, which may depend on one class only.
        """
        options, search, confidence = self.options, self.search, self.options.confidence
        enough = (self.sizes[0] > 1) & (self.sizes[1] > 1)
        at_threshold = options.at == THRESHOLD
        # Metrics with the same sampling scheme use the same resamples. The points of a resample are
        # computed once for all of these metrics.
        rates_by_dependence: dict[bool, list[Rate]] = {}
        for rate in options.rates:
            of_points = search is not None and search.depends_on_prevalence
            depends_on_prevalence = rate.varies_with_prevalence or of_points
            rates_by_dependence.setdefault(depends_on_prevalence, []).append(rate)
        statistics = [
            statistic.replicates_for(options.methods[name])
            for name, statistic in options.curve_statistics.items()
        ]
        if search is not None:
            # A resample may lack rows with the score of a point. The threshold of the point is then
            # another score of the resample. This score is computed only if a metric uses the
            # threshold.
            scores = any(rate.uses_threshold for rate in options.rates)
            points_of = partial(search.points, scores=scores)
            statistics += [
                ReplicateStatistic(
                    function=lambda sample: stack_points(points_of(sample)),
                    depends_on_prevalence=depends_on_prevalence,
                    corners=False,
                    width=len(CURVE_COLUMNS) * len(search.values),
                )
                for depends_on_prevalence in rates_by_dependence
            ]
        draws = RandomDraws.of_cases(
            self.cases, self.scan.rows.keys, confidence.n_boot, confidence.seed
        )
        groups = None if at_threshold else enough
        for resamples in resample_groups(self.scan, statistics, draws, groups):
            group = resamples.population.group
            replicates = _metric_replicates(
                resamples, options.curve_statistics, rates_by_dependence, search
            )
            for i, (name, index) in enumerate(self.lines):
                metric = options.metrics[name]
                if not (enough[group] or (at_threshold and isinstance(metric, Rate))):
                    continue
                values, n_redrawn = replicates[name]
                of_line = values if index is None else values[:, index]
                yield (i, group), of_line, n_redrawn, resamples.population

    def add_perfect_curves(self) -> None:
        """Write limits for curves with an AUC of 0 or 1, whose resamples are all equal."""
        statistics = self.options.curve_statistics
        if not statistics:
            return
        perfect = is_perfect(count_pairs(self.scan).areas[0])
        for i, (name, _) in enumerate(self.lines):
            if name not in statistics or name not in PERFECT_LIMITS:
                continue
            low, high = statistics[name].bounds
            share = (self.estimate[i] - low) / (high - low)
            selected = np.isnan(self.lower[i]) & perfect & is_perfect(share)
            n_pos, n_neg = (counts[selected] for counts in self.sizes)
            method, limits = PERFECT_LIMITS[name]
            level = self.options.confidence.level
            ends = limits(np.round(share[selected]), n_pos, n_neg, level)
            self.lower[i, selected], self.upper[i, selected] = (
                low + (high - low) * end for end in ends
            )
            self.method[i, selected] = method

    def add_proportions(self, ci: str, *, degenerate_only: bool = False) -> None:
        """Write limits of proportions at given thresholds; those of other metrics do not change.

        If `degenerate_only` is true, limits are computed only if the proportion, or that of which
        the metric (such as F1) is a function, is 0 or 1 and all replicates are equal.
        """
        if self.points is None or self.options.at != THRESHOLD:
            return
        for i, (name, index) in enumerate(self.lines):
            rate = self.options.metrics[name]
            if not isinstance(rate, Rate):
                continue
            ratio, function = rate.proportion, None
            if degenerate_only and rate.function_of is not None and not rate.at_given_prevalence:
                ratio, function = rate.function_of
            if ratio is None:
                continue
            count, total = (
                np.sum([getattr(self.points, name)[:, index] for name in names], axis=0) * 1.0
                for names in (ratio.numerator, ratio.denominator)
            )
            selected = total > 0
            if degenerate_only:
                selected &= self.constant[i] & ((count == 0) | (count == total))
            count, total = count[selected], total[selected]
            ends = PROPORTION_LIMITS[ci](count, total, self.options.confidence.level)
            self.lower[i, selected], self.upper[i, selected] = (
                ends if function is None else map(function, ends)
            )
            self.method[i, selected] = ci
            variance = count / total * (1 - count / total) / total
            self.se[i, selected] = np.sqrt(np.where(variance > 0, variance, nan))

    def line_columns(self, n_groups: int) -> dict[str, list[Any]]:
        """Return the columns of the metric and the point of each line, for each group."""
        lines, options = self.lines, self.options
        return {
            "metric": [name for name, _ in lines] * n_groups,
            "at": [None if index is None else options.at for _, index in lines] * n_groups,
            "at_value": [None if i is None else options.values[i] for _, i in lines] * n_groups,
        }

    def table(self) -> pl.DataFrame:
        """Return the result of `intervals`, sorted by group."""
        lines, totals, options = self.lines, self.scan.totals, self.options
        ci, groups = options.confidence.ci, len(totals.pos)
        note = [
            class_notes(
                *self.sizes,
                clustered=self.cases.cluster is not None,
                zero_variance=self.constant[i],
                no_solution=np.isnan(self.estimate[i]),
                no_limits=np.isnan(self.lower[i]) & (ci is not None),
                redrawn=self.n_redrawn[i],
            )
            for i in range(len(lines))
        ]
        columns: dict[str, Any] = {
            **self.line_columns(groups),
            "n_pos": np.repeat(totals.pos_rows, len(lines)),
            "n_neg": np.repeat(totals.neg_rows, len(lines)),
            "n_missing": np.repeat(self.scan.rows.unscored.n_missing, len(lines)),
            "ci_level": None if ci is None else options.confidence.level,
            "ci_method": self.method.T.ravel().tolist(),
            "note": np.array(note, object).T.ravel().tolist(),
        }
        for name in ("estimate", "threshold", "se", "lower", "upper"):
            columns[name] = getattr(self, name).T.ravel()
        rows = np.repeat(np.arange(groups), len(lines))
        return build_table(self.scan.rows.keys, columns, METRIC_INTERVALS.columns(), rows=rows)


def _metric_replicates(
    resamples: GroupReplicates,
    statistics: Mapping[str, Statistic],
    rates_by_dependence: Mapping[bool, Sequence[Rate]],
    search: PointSearch | RuleSearch | None,
) -> dict[str, tuple[NDArray[np.float64], int]]:
    """Return, by metric, its replicates (one column per point) and the number drawn again."""
    pairs = list(zip(resamples.values, resamples.n_redrawn, strict=True))
    replicates = {
        name: (statistic.column_of(values), redrawn)
        for (name, statistic), (values, redrawn) in zip(statistics.items(), pairs, strict=False)
    }
    pairs_at_points = pairs[len(statistics) :]
    for own_rates, (points, redrawn) in zip(
        rates_by_dependence.values(), pairs_at_points, strict=True
    ):
        assert search is not None
        values_at_points = rates_at(points, own_rates, search)
        replicates |= {name: (values, redrawn) for name, values in values_at_points.items()}
    return replicates


def _metric_acceleration(
    population: GroupRows,
    metric: Statistic | Rate,
    search: PointSearch | RuleSearch | None,
    index: int | None,
) -> float:
    """Return BCa's acceleration of a curve statistic, or of a metric at a given threshold."""
    if isinstance(metric, Statistic):
        return sample_acceleration(population, metric.influence)
    assert isinstance(search, PointSearch)
    assert index is not None
    return sample_acceleration(population, partial(influence_at, metric, search, index))


STATISTICS = CURVE_STATISTICS | PROBABILITY_STATISTICS
PROPORTIONS = [rate.name for rate in RATES.values() if rate.proportion is not None]


def parse_interval_metrics(
    metrics: str | pl.Expr | Sequence[str | pl.Expr], settings: Settings, argument: str = "metrics"
) -> dict[str, Statistic | Rate]:
    """Return the metrics by name: statistics of complete curves, and metrics of single points."""
    return parse_metrics(
        metrics, lambda metric: parse_interval_metric(metric, settings, argument), argument=argument
    )


def parse_interval_metric(
    metric: object, settings: Settings, argument: str = "metrics"
) -> tuple[str, Statistic | Rate]:
    """Return the name of a metric, and the metric as a `Statistic` or, for points, as a `Rate`."""
    if isinstance(metric, str) and metric in PARTIAL_AUC_NAMES:
        problem, hint = "partial areas are not supported", "Use rf.auc(…, fpr=(0, 0.1))."
        raise OptionValueError.compose(argument, metric, problem, hint)
    if not isinstance(metric, pl.Expr):
        check_choice(argument, metric, (*STATISTICS, THRESHOLD, *NAMES))
    if isinstance(metric, str) and metric == THRESHOLD:
        return THRESHOLD, replace(CONSTRAINED[THRESHOLD], column=THRESHOLD)
    if not isinstance(metric, str) or metric not in STATISTICS:
        rate = parse_metric(argument, metric, settings)
        return rate.column, rate
    statistic = STATISTICS[metric]
    if statistic.replicate.depends_on_prevalence and settings.prevalence is not None:
        problem = f"{metric!r} supports only the prevalence of the data"
        hint = f"Leave out prevalence=, or the metric {metric!r}."
        raise OptionValueError.compose("prevalence", settings.prevalence, problem, hint)
    return metric, statistic


def check_points(
    metrics: Mapping[str, Statistic | Rate],
    point_arguments: Mapping[str, object],
    argument: str = "metrics",
) -> None:
    """Raise an error if a metric requires a point and none is given, or the other way round."""
    at_points = [name for name, metric in metrics.items() if isinstance(metric, Rate)]
    given = [(name, value) for name, value in point_arguments.items() if value is not None]
    if at_points and not given:
        raise OptionValueError.compose(
            argument,
            at_points[0],
            "this metric requires an operating point",
            f"Pass one of {', '.join(point_arguments)}, such as threshold=0.5.",
        )
    if given and not at_points:
        name, value = given[0]
        hint = f'Use, for example, {argument}=["tpr"], or leave out {name}=.'
        raise OptionValueError.compose(name, value, "no metric in this call uses this option", hint)
    if given and given[0][0] == THRESHOLD and THRESHOLD in at_points:
        hint = "Leave out this metric, or pass rule= or a rate instead of threshold=."
        problem = "threshold= already determines the threshold"
        raise OptionValueError.compose(argument, THRESHOLD, problem, hint)


def parse_points(
    point_arguments: dict[str, Any], example: str = EXAMPLE
) -> tuple[str | None, Sequence[float | None]]:
    """Return the name and the values of the argument that determines the points, if any."""
    given = [name for name, value in point_arguments.items() if value is not None]
    if not given:
        return None, []
    return ("rule", [None]) if given == ["rule"] else parse_point(point_arguments, example=example)


def point_search(
    at: str | None,
    values: Sequence[float | None],
    rule: RuleOptions | None,
    prevalence: float | None,
) -> PointSearch | RuleSearch | None:
    """Return the search for the points of each curve; None if no point is needed."""
    if rule is not None:
        (best,), constraints = rule.at_prevalence(None)
        return RuleSearch(rule=best, constraints=constraints)
    if at is None:
        return None
    name, numbers = as_fpr_or_tpr(at, [each for each in values if each is not None])
    rate = None if name == THRESHOLD else NAMES[name].at_prevalence(prevalence)
    return PointSearch(rate=rate, values=numbers)


def check_method(
    ci: str | None,
    metrics: Mapping[str, Statistic | Rate],
    at: str | None,
    columns: Mapping[str, object],
) -> None:
    """Raise an error if the interval method `ci` does not support a metric or an option."""
    bootstrap = BOOTSTRAPS.get(str(ci), BootstrapLimits())
    for name, metric in metrics.items():
        _check_bootstrap(bootstrap, ci, name, metric)
    of_proportions = ci in PROPORTION_LIMITS
    if at not in {None, THRESHOLD} and (bootstrap.is_corrected or of_proportions):
        problem = f"with {at}= the threshold is estimated, so the acceleration constant is unknown"
        if of_proportions:
            problem = (
                f"with {at}= the threshold is estimated from the data, and this method requires a "
                "given threshold"
            )
        hint = 'Use ci="bootstrap", or pass threshold=.'
        raise OptionValueError.compose("ci", ci, problem, hint)
    if not of_proportions:
        return
    for name, metric in metrics.items():
        if isinstance(metric, Statistic) or metric.proportion is None:
            problem = f"{name!r} is not a proportion of rows"
            hint = (
                f'Use ci="bootstrap" for {name!r}. '
                f"Proportions of rows are: {', '.join(PROPORTIONS)}."
            )
            if isinstance(metric, Rate) and isinstance(metric.formula, CountRatio):
                problem = f"{name!r} is not a proportion of rows if prevalence= is set"
                hint = f'Use ci="bootstrap" for {name!r}, or leave out prevalence=.'
            raise OptionValueError.compose("ci", ci, problem, hint)
    for name, column in columns.items():
        check_supported(name, column, f"ci={ci!r}", hint='Use ci="bootstrap".')


def _check_bootstrap(
    bootstrap: BootstrapLimits, ci: str | None, name: str, metric: Statistic | Rate
) -> None:
    """Raise an error if a metric does not support a bootstrap method."""
    if bootstrap.of_supremum and (isinstance(metric, Rate) or metric.supremum is None):
        problem = f"this method supports only 'ks', not {name!r}"
        hint = f'Use ci="bootstrap" for {name!r}.'
        raise OptionValueError.compose("ci", ci, problem, hint)
    if bootstrap.is_corrected and isinstance(metric, Statistic) and metric.influence is None:
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
    """The checked options of `intervals`: points at `values` of the argument `at`."""

    metrics: Mapping[str, Statistic | Rate]
    at: str | None
    values: Sequence[float | None]
    rule: RuleOptions | None
    prevalence: float | None
    confidence: Confidence
    methods: Mapping[str, str | None]

    def search(self, unit: NDArray[np.float64] | None) -> PointSearch | RuleSearch | None:
        """Return the search for the points of each curve; None if no point is needed."""
        search = point_search(self.at, self.values, self.rule, self.prevalence)
        return None if search is None else replace(search, unit=unit)

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
        """The rows of each group: a metric, and an index in `values` or None for curves."""
        indices = range(len(self.values))
        return [
            (name, index)
            for name in self.metrics
            for index in ([None] if name in self.curve_statistics else indices)
        ]
