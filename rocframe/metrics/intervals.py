"""The verb `intervals`: predictions → metrics of each group, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rocframe.areas.variance import Clusters
from rocframe.curves.at import parse_point
from rocframe.frames import build_table, like
from rocframe.inference.bootstrap import BOOTSTRAPS, bootstrap_interval, sample_acceleration
from rocframe.inference.confidence import (
    Confidence,
    clopper_pearson,
    newcombe,
    normal_quantile,
    notes,
    wilson,
)
from rocframe.inputs.node import tabulated
from rocframe.inputs.roles import Roles
from rocframe.kernel.exact import scale_to_unit
from rocframe.kernel.groups import sort_rows
from rocframe.kernel.resample import (
    BootstrapDraws,
    ReplicateStatistic,
    resample_groups,
    stream_keys,
)
from rocframe.kernel.scan import Scan
from rocframe.metrics.metric import Found, Wanted, as_metrics, check_method, check_points
from rocframe.metrics.points import Where, influence_at, rates_at, stacked
from rocframe.options import NOT_GIVEN
from rocframe.rates import Settings, check_read
from rocframe.schemas import CURVE_COLUMNS, METRIC_INTERVALS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.curves.at import PointValues
    from rocframe.frames import FrameT
    from rocframe.inference.bootstrap import Influences
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.resample import GroupReplicates, ReplicateScan
    from rocframe.metrics.metric import Metric
    from rocframe.metrics.points import Points


Method = Literal["bootstrap", "bootstrap_basic", "bootstrap_bca", "wilson", "clopper_pearson"]


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
    alert_rate: PointValues = None,
    by: By = None,
    ci: Method | None = "bootstrap",
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
) -> FrameT:
    """Measure any metrics of each group, with their intervals.

    A row is a metric of a group's whole curve, or at one point of it. A threshold is given, or
    found at a given rate, as `at` finds it; then the bootstrap finds it anew in every resample,
    because it would be another one in another sample.

    Parameters
    ----------
    predictions : DataFrame or LazyFrame
        One row per prediction. A LazyFrame returns a LazyFrame.
    label : str or Expr
        Column or expression with the true class: Boolean, 0/1 numbers, or any values together with
        `positive`.
    score : str, Expr, selector, sequence or mapping
        Column or expression with the score; higher values indicate the positive class. Any real
        number is allowed, and scores are never transformed. A list, a selector or a mapping from
        names to columns compares several models side by side. It adds the key `model` (String)
        after `by`.
    metrics : str, Expr or sequence of these
        One or several: of whole curves `"auc"`, `"gini"`, `"ks"`, `"eer"`, `"average_precision"`,
        `"pr_auc"`; at a point any metric that `curve` knows, such as `"tpr"` or `"f1"`, and named
        expressions of your own over `threshold`, `tp`, `fp`, `fn`, `tn`.
    threshold : float or sequence of float, default None
        The points: one threshold or several, each for `score >= threshold`.
    fpr : float or sequence of float, default None
        The points: the lowest threshold whose false positive rate does not exceed this.
    tpr : float or sequence of float, default None
        The points: the highest threshold whose true positive rate reaches this.
    alert_rate : float or sequence of float, default None
        The points: the lowest threshold that calls no larger a share of all rows positive.
    by : str or sequence of str, default None
        Group columns. A null key is a group of its own.
    ci : str or None, default "bootstrap"
        Method of the interval: quantiles of resamples, `"bootstrap"`, or these turned about the
        estimate, `"bootstrap_basic"`, or corrected for bias and skewness, `"bootstrap_bca"`; for
        shares of rows at a given threshold also `"wilson"` and `"clopper_pearson"`; None for no
        interval.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the random draws, a whole number >= 0. None: a new seed in every call. The draws of
        a group depend only on the seed and the group's key.
    cluster : str or Expr, default None
        Column or expression that identifies clusters of dependent rows, such as all rows of one
        user. Different clusters are assumed to be independent.
    positive : object, default None
        Value of `label` that is the positive class; all other values are negative. Required unless
        labels are Boolean or 0/1.
    weight : str or Expr, default None
        Column or expression with the importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Column or expression with the number of identical rows that a row represents; all results
        are those of that many separate rows. If the table has a column named `count`, pass
        `count="count"` or `count=None`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Handling of rows whose label, score, weight or count is null or NaN. `"raise"`: an error.
        `"drop"`: the rows are left out and counted in `n_missing`. `"worst"`: for missing scores
        only; an unscored positive is a false negative and an unscored negative is a false positive
        at every threshold.
    prevalence : float, default None
        Prevalence, between 0 and 1, at which metrics that depend on both classes are computed. The
        counts do not change.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    costs : mapping of str to float, default None
        Costs of a `tp`, `fp`, `fn` and `tn`, for `"expected_cost"`. Costs that are not given are 0.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, (`model`,) `metric, at, value, estimate, lower, upper, se, threshold, n_pos, n_neg,
        n_missing, ci_level, ci_method, note`; a row per group, metric and point, sorted by
        group, metrics and points in the order given. `metric` (String) is the name asked for;
        `at` (String) the argument that gave the point and `value` what it gave; `threshold` the
        score that the point is at: all three null for whole curves. The counts (Int64) are of
        rows; all other numbers are Float64, in the units of the metric. `estimate` is null where
        there is no such point or the metric is 0/0 there; `se` and limits of the bootstrap where
        all resamples agree, without one of the classes, and, but for metrics at a given threshold,
        with one row of a class; those of shares where the estimate is. At an AUC of 0
        or 1 the limits are Newcombe's, at shares of 0 or 1 at a given threshold Wilson's, and
        `ci_method` says so. `note` (String) is null, or the first that applies of `no_rows,
        no_positives, no_negatives, one_positive, one_negative, zero_variance, no_solution,
        redrawn`; the last with a number, as in `redrawn:12`: so many resamples lacked a class and
        were drawn again, or had 0/0 and were left out.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set or does not go with the metrics; if labels do not
        say which class is positive, values are missing under `"raise"`, or a weight is negative
        or not finite.

    See Also
    --------
    auc : Areas, also partial ones, with more methods.
    at : The same points of a curve table, without intervals.

    Notes
    -----
    Resamples keep the sizes of both classes for metrics of `tpr` and `fpr` alone; for all others,
    such as precision, and for expressions of your own, whatever they are made of, rows are drawn
    whatever their class. These expressions make a number of each row from that row alone.
    `prevalence` is not for `"average_precision"` and `"pr_auc"`. Where rows have clusters, whole
    clusters are drawn. The limits of n resamples are number p·(n + 1) of them in rising order, in
    proportion between two neighbours. `"bootstrap_bca"` takes its skewness from the influence of
    single rows on the metric (the infinitesimal jackknife), which is not known where the point
    moves: it is for whole curves and given thresholds. `net_benefit` is at the threshold given.

    References
    ----------
    A. C. Davison, D. V. Hinkley (1997), Bootstrap Methods and their Application, Cambridge
    University Press, chapters 2 and 5. doi:10.1017/CBO9780511802843

    R. G. Newcombe (1998), "Two-sided confidence intervals for the single proportion: comparison of
    seven methods", Statistics in Medicine 17(8), 857-872.
    doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 1], "score": [0.9, 0.4, 0.4, 0.7]})
    >>> made = rf.intervals(
    ...     predictions, "label", "score", metrics=["tpr", "precision"], threshold=0.5, ci="wilson"
    ... )
    >>> made.select("metric", "at", "value", "estimate", "lower", "upper", "threshold")
    shape: (2, 7)
    ┌───────────┬───────────┬───────┬──────────┬─────────┬──────────┬───────────┐
    │ metric    ┆ at        ┆ value ┆ estimate ┆ lower   ┆ upper    ┆ threshold │
    │ ---       ┆ ---       ┆ ---   ┆ ---      ┆ ---     ┆ ---      ┆ ---       │
    │ str       ┆ str       ┆ f64   ┆ f64      ┆ f64     ┆ f64      ┆ f64       │
    ╞═══════════╪═══════════╪═══════╪══════════╪═════════╪══════════╪═══════════╡
    │ tpr       ┆ threshold ┆ 0.5   ┆ 0.666667 ┆ 0.20766 ┆ 0.938508 ┆ 0.7       │
    │ precision ┆ threshold ┆ 0.5   ┆ 1.0      ┆ 0.34238 ┆ 1.0      ┆ 0.7       │
    └───────────┴───────────┴───────┴──────────┴─────────┴──────────┴───────────┘
    """
    # numpy loads with the first interval, not with the package.
    confidence = Confidence.of(ci, level, n_boot, seed, get_args(Method))
    asked = as_metrics(metrics, Settings(beta=beta, costs=costs, prevalence=prevalence))
    check_read([metric.name for metric in asked], beta=beta, costs=costs)
    given = {"threshold": threshold, "fpr": fpr, "tpr": tpr, "alert_rate": alert_rate}
    check_points(asked, given)
    some = any(value is not None for value in given.values())
    axis, values = parse_point(given) if some else (None, [])
    check_method(ci, asked, axis, {"weight": weight, "cluster": cluster})
    wanted = Wanted(metrics=asked, axis=axis, values=values, confidence=confidence)
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
        cluster=cluster,
    )

    def make(cases: Cases) -> pl.DataFrame:
        return measured(cases, wanted)

    table = tabulated(predictions, roles, make, columns=METRIC_INTERVALS.columns(), anchor="metric")
    return like(predictions, table)


def measured(cases: Cases, wanted: Wanted) -> pl.DataFrame:
    """Return one row per group, metric and point: its key, then the columns of the table."""
    unit = 1.0
    if cases.weight is not None and len(cases.weight):
        (weight,) = scale_to_unit(cases.weight)
        unit = float(cases.weight.max() / weight.max()) if weight.max() else 1.0
        cases = replace(cases, weight=weight)
    walk = Scan.from_rows(sort_rows(cases, follow=cases.cluster is not None))
    units = walk.totals.pos_rows, walk.totals.neg_rows
    if cases.cluster is not None:
        units = Clusters.of(walk, cases.cluster).sizes[:2]
    where = points = None
    if wanted.axis is not None:
        where = Where.of(walk, wanted.axis, wanted.values, unit)
        points = where.at(walk)
    found = Found.nothing((len(wanted.rows), len(units[0])))
    _estimate(walk, wanted, where, points, found)
    ci = wanted.confidence.ci
    if ci in BOOTSTRAPS:
        draws = BootstrapDraws(
            n_boot=wanted.confidence.n_boot,
            seed=wanted.confidence.seed,
            keys=stream_keys(walk.rows.keys, cases.model),
            cluster=cases.cluster,
        )
        enough = (units[0] > 1) & (units[1] > 1)
        Resampling(wanted=wanted, where=where, found=found, enough=enough).run(walk, draws)
        _ends_of_areas(wanted, found, units)
        if cases.weight is None and cases.cluster is None:
            _limits_of_counts(wanted, points, found, "wilson", ends_only=True)
    elif ci is not None:
        _limits_of_counts(wanted, points, found, ci)
    return _table(walk, wanted, found, units)


def _estimate(
    walk: Scan, wanted: Wanted, where: Where | None, points: Points | None, found: Found
) -> None:
    """Fill in the estimates, and the thresholds that the points are at."""
    rates: dict[str, NDArray[np.float64]] = {}
    if where is not None and points is not None:
        at_points = [metric for metric in wanted.metrics if metric.whole is None]
        rates = rates_at(stacked(points), at_points, where)
    for i, (metric, place) in enumerate(wanted.rows):
        if metric.whole is not None:
            found.estimate[i] = metric.whole.asked.function(walk)
        elif points is not None:
            found.estimate[i] = rates[metric.name][:, place]
            threshold = points.threshold[:, place]
            found.threshold[i] = np.where(points.none[:, place], np.nan, threshold)


def _ends_of_areas(
    wanted: Wanted, found: Found, units: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> None:
    """Take Newcombe's limits for areas of 0 and 1, where resamples show no spread."""
    for i, (metric, _) in enumerate(wanted.rows):
        if metric.name not in {"auc", "gini"} or metric.whole is None:
            continue
        low, high = metric.bounds
        share = (found.estimate[i] - low) / (high - low)
        edge = np.isnan(found.lower[i]) & (np.abs(share - 0.5) > 0.5 - 1e-12)
        n_pos, n_neg = (of[edge] for of in units)
        z = normal_quantile(wanted.confidence.level)
        limits = newcombe(np.round(share[edge]), n_pos, n_neg, z)
        for held, limit in zip((found.lower, found.upper), limits, strict=True):
            held[i, edge] = low + (high - low) * limit
        found.method[i, edge] = "newcombe"


def _limits_of_counts(
    wanted: Wanted, points: Points | None, found: Found, ci: str, *, ends_only: bool = False
) -> None:
    """Fill in the limits of proportions at thresholds that were given.

    `ends_only` leaves all alone but those of 0 and 1 that have no limits yet.
    """
    if points is None or wanted.axis != "threshold":
        return
    method = wilson if ci == "wilson" else clopper_pearson
    for i, (metric, place) in enumerate(wanted.rows):
        if metric.proportion is None:
            continue
        part, whole = (
            np.sum([getattr(points, name)[:, place] for name in names], axis=0).astype(float)
            for names in (metric.proportion.part, metric.proportion.whole)
        )
        own = whole > 0
        if ends_only:
            own &= found.flat[i] & ((part == 0) | (part == whole))
        limits = method(part[own], whole[own], wanted.confidence.level)
        found.lower[i, own], found.upper[i, own] = limits
        found.method[i, own] = ci
        share = part[own] / whole[own]
        variance = share * (1 - share) / whole[own]
        found.se[i, own] = np.sqrt(np.where(variance > 0, variance, np.nan))


def _table(
    walk: Scan,
    wanted: Wanted,
    found: Found,
    units: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> pl.DataFrame:
    rows, totals = wanted.rows, walk.totals
    groups = len(totals.pos)
    values = [None if place is None else wanted.values[place] for _, place in rows]
    note = np.full((len(rows), groups), None, object)
    for i in range(len(rows)):
        variance = np.where(found.flat[i], 0.0, np.nan)
        unsolved = np.isnan(found.estimate[i])
        note[i] = notes(*units, variance, found.lost[i], unsolved)
    level = None if wanted.confidence.ci is None else wanted.confidence.level
    columns: dict[str, Any] = {
        "metric": [metric.name for metric, _ in rows] * groups,
        "at": [None if place is None else wanted.axis for _, place in rows] * groups,
        "value": values * groups,
        "threshold": found.threshold.T.ravel(),
        "n_pos": np.repeat(totals.pos_rows, len(rows)),
        "n_neg": np.repeat(totals.neg_rows, len(rows)),
        "n_missing": np.repeat(walk.rows.unscored.n_missing, len(rows)),
        "estimate": found.estimate.T.ravel(),
        "se": found.se.T.ravel(),
        "lower": found.lower.T.ravel(),
        "upper": found.upper.T.ravel(),
        "ci_level": level,
        "ci_method": found.method.T.ravel().tolist(),
        "note": note.T.ravel().tolist(),
    }
    place = np.repeat(np.arange(groups), len(rows))
    return build_table(walk.rows.keys, columns, METRIC_INTERVALS.columns(), rows=place)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resampling:
    """What is asked of the resamples, and where the answers go.

    `enough` says which groups have two rows, or clusters, of each class: what is made of one row
    shows no spread. At a threshold that was given that does no harm to the other class.
    """

    wanted: Wanted
    where: Where | None
    found: Found
    enough: NDArray[np.bool_]

    @property
    def _whole(self) -> list[Metric]:
        return [metric for metric in self.wanted.metrics if metric.whole is not None]

    @property
    def _at_points(self) -> dict[bool, list[Metric]]:
        """The metrics at points, by whether they depend on how many positives there are."""
        sets: dict[bool, list[Metric]] = {}
        for metric in self.wanted.metrics:
            if metric.whole is None:
                mixed = metric.mixed or self.wanted.axis == "alert_rate"
                sets.setdefault(mixed, []).append(metric)
        return sets

    def run(self, walk: Scan, draws: BootstrapDraws) -> None:
        """Fill in what the resamples show."""
        asked = [metric.whole.asked for metric in self._whole if metric.whole is not None]
        where = self.where
        if where is not None:
            # Resamples lack scores; which are left is looked up where a metric asks.
            scores = any(metric.reads_threshold for metric in self.wanted.metrics)

            def points(sample: ReplicateScan) -> NDArray[np.float64]:
                return stacked(where.at(sample, scores=scores))

            width = len(CURVE_COLUMNS) * len(where.values)
            asked += [
                ReplicateStatistic(function=points, mixed=mixed, corners=False, width=width)
                for mixed in self._at_points
            ]
        wanted = None if self.wanted.axis == "threshold" else self.enough
        for one in resample_groups(walk, asked, draws, wanted):
            self._fill(one)

    def _fill(self, one: GroupReplicates) -> None:
        """Fill in one group."""
        group, found, confidence = one.population.group, self.found, self.wanted.confidence
        replicates = self._replicates(one)
        for i, (metric, place) in enumerate(self.wanted.rows):
            given = metric.whole is None and self.wanted.axis == "threshold"
            if not (given or self.enough[group]):
                continue
            values, redrawn = replicates[metric.name]
            spread = bootstrap_interval(
                values[:, place or 0],
                float(found.estimate[i, group]),
                str(confidence.ci),
                confidence.level,
                bounds=metric.bounds,
                acceleration=partial(
                    sample_acceleration, one.population, self._influence(metric, place)
                ),
            )
            found.se[i, group], found.lower[i, group], found.upper[i, group] = spread[:3]
            found.flat[i, group], found.lost[i, group] = (
                spread.constant,
                spread.n_undefined + redrawn,
            )
            if not np.isnan(spread.lower):
                found.method[i, group] = confidence.ci

    def _replicates(self, one: GroupReplicates) -> dict[str, tuple[NDArray[np.float64], int]]:
        """Return the replicates of each metric, a column per value, and those drawn again."""
        whole, sets = self._whole, self._at_points.values()
        made = {
            metric.name: (values[:, None], redrawn)
            for metric, values, redrawn in zip(whole, one.values, one.redrawn, strict=False)
        }
        rest = zip(sets, one.values[len(whole) :], one.redrawn[len(whole) :], strict=True)
        for metrics, points, redrawn in rest:
            assert self.where is not None
            rates = rates_at(points, metrics, self.where)
            made |= {name: (values, redrawn) for name, values in rates.items()}
        return made

    def _influence(
        self, metric: Metric, place: int | None
    ) -> Callable[[ReplicateScan], Influences]:
        if metric.whole is not None:
            return metric.whole.influence
        assert self.where is not None
        assert place is not None
        return partial(influence_at, metric, self.where, place)
