"""The verb `intervals`: predictions → metrics of each group, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from rocframe.curves.at import as_point
from rocframe.formulas import Settings
from rocframe.frames import like
from rocframe.predictions import Roles
from rocframe.rates import check_read
from rocframe.tabulate import tabulated
from rocframe.vocabulary import metrics_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rocframe.cases import Cases
    from rocframe.curves.at import Given
    from rocframe.frames import FrameT
    from rocframe.predictions import By, Column, Count, Missing, Scores

Method = Literal["bootstrap", "bootstrap_basic", "bootstrap_bca", "wilson", "clopper_pearson"]


def intervals(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    metrics: str | pl.Expr | Sequence[str | pl.Expr],
    threshold: Given = None,
    fpr: Given = None,
    tpr: Given = None,
    alert_rate: Given = None,
    by: By = None,
    ci: Method | None = "bootstrap",
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
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
    predictions
        One row per prediction. A LazyFrame stays lazy.
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    score
        Column or expression; higher means more positive. Any real number, never transformed. A
        list, a selector or a mapping from names to columns compares several models side by side.
        It adds the key `model` (String) after `by`.
    metrics
        One or several: of whole curves `"auc"`, `"gini"`, `"ks"`, `"eer"`, `"average_precision"`,
        `"pr_auc"`; at a point any metric that `curve` knows, such as `"tpr"` or `"f1"`, and named
        expressions of your own over `threshold`, `tp`, `fp`, `fn`, `tn`.
    threshold
        The points: one threshold or several, each for `score >= threshold`.
    fpr
        The points: the lowest threshold whose false positive rate does not exceed this.
    tpr
        The points: the highest threshold whose true positive rate reaches this.
    alert_rate
        The points: the lowest threshold that calls no larger a share of all rows positive.
    by
        Group columns: one name or several. A null key is a group.
    ci
        Method of the interval: quantiles of resamples, `"bootstrap"`, or these turned about the
        estimate, `"bootstrap_basic"`, or corrected for bias and skewness, `"bootstrap_bca"`; for
        shares of rows at a given threshold also `"wilson"` and `"clopper_pearson"`; None for no
        interval.
    level
        Share of intervals that cover, between 0 and 1.
    n_boot
        How many resamples the bootstrap draws.
    seed
        Whole number from 0 that the bootstrap draws by; None draws anew each time. What a group
        draws depends on the seed and its key only.
    cluster
        Column or expression saying which rows belong together, such as those of one user: what
        varies is independent clusters, whose rows need not be.
    positive
        The value of `label` that is the positive class; all others are negative. Needed unless
        labels are Boolean or 0/1.
    weight
        Column or expression with the importance of a row, finite and at least 0.
    count
        Column or expression saying how many identical rows a row stands for; everything is what
        that many rows would give. A table with a column `count` needs a word: its name, or None.
    missing
        What becomes of rows whose label, score, weight or count is null or NaN: `"raise"` an
        error; `"drop"` them and count them; or `"worst"`, for scores only: an unscored positive
        is a false negative and an unscored negative a false positive at every threshold.
    prevalence
        The share of positives, between 0 and 1, for which the metrics that depend on it are
        worked out; the counts stay as they are.
    beta
        How many times as much recall weighs as precision, in `"f_beta"`.
    costs
        What a `tp`, `fp`, `fn`, `tn` costs, in `"expected_cost"`; 0 where not named.

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
    from rocframe.inference.intervals import Confidence
    from rocframe.metrics.asked import as_metrics, check_method, check_points
    from rocframe.metrics.measure import measured
    from rocframe.metrics.rows import Wanted

    confidence = Confidence.of(ci, level, n_boot, seed, get_args(Method))
    asked = as_metrics(metrics, Settings(beta=beta, costs=costs, prevalence=prevalence))
    check_read([metric.name for metric in asked], beta=beta, costs=costs)
    given = {"threshold": threshold, "fpr": fpr, "tpr": tpr, "alert_rate": alert_rate}
    check_points(asked, given)
    some = any(value is not None for value in given.values())
    axis, values = as_point(given) if some else (None, [])
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

    table = tabulated(predictions, roles, make, columns=metrics_schema(), anchor="metric")
    return like(predictions, table)
