"""The function `calibration`: its methods, and the event rate as a function of a probability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import PROPORTION_LIMITS, Confidence, class_notes
from rocframe.inputs.cases import check_probabilities, plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import grouped_bisect, interpolate_segments, run_parallel
from rocframe.kernel.groups import group_starts, scale_weights
from rocframe.kernel.scan import (
    BLOCK_ROWS,
    GroupRows,
    RandomDraws,
    ReplicateCounts,
    ReplicateStatistic,
    Scan,
    resample_groups,
)
from rocframe.options import (
    MAX_BINS,
    NOT_GIVEN,
    NotGiven,
    check_choice,
    check_flag,
    check_supported,
    parse_integer,
    parse_number,
    public,
)
from rocframe.probabilities.bins import (
    Binning,
    isotonic_bins,
    isotonic_rates,
    positive_count_limits,
    probability_bins,
    score_steps,
)
from rocframe.probabilities.losses import find_points
from rocframe.probabilities.regression import automatic_bandwidth, kernel, loess
from rocframe.resampling import batched_replicates, column_limits
from rocframe.schemas.curves import calibration_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Scores, Total
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.kernel.scan import ReplicateScan
    from rocframe.probabilities.bins import Bins
    from rocframe.probabilities.losses import Points
    from rocframe.resampling import ColumnLimits

CalibrationInterval: TypeAlias = Literal["wilson", "clopper_pearson", "bootstrap"]
CalibrationMethod: TypeAlias = Literal["quantile", "uniform", "isotonic", "loess", "kernel"]


@public
def calibration(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    total: Total = False,
    method: CalibrationMethod = "quantile",
    bins: int | Sequence[float] = 10,
    empty_bins: bool = False,
    grid: int = 101,
    span: float = 2 / 3,
    degree: Literal[1, 2] = 1,
    bandwidth: float | None = None,
    consistency: bool = False,
    ci: CalibrationInterval | NotGiven | None = NOT_GIVEN,
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Literal["raise", "drop"] = "raise",
) -> FrameT:
    """Compute the calibration curve of each group: the event rate as a function of the score.

    The scores must be probabilities. The event rate is the share of positives. If the scores are
    calibrated, it equals the score, up to sampling errors.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The probability of the positive class; several columns add the group column `model`.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    total : bool, str or sequence of str, default False
        Add rows of all groups together, with a column `total`: True, or the group columns over
        which groups are combined, such as `"segment"` for a total of each model.
    method : str, default "quantile"
        Method of estimation. Rows with equal scores are in the same bin.

        - `"quantile"`: bins that end at quantiles of the scores: with `bins=4`, the first bin ends
          at the lowest score s for which at least 1/4 of the rows have scores up to s. Not used if
          `bins` are edges.
        - `"uniform"`: bin i is [i / `bins`, (i + 1) / `bins`); the last bin includes 1.
        - `"isotonic"`: the levels of the isotonic regression of the labels on the score (CORP).
        - `"loess"`: local regression with tricube weights, at points of a grid.
        - `"kernel"`: mean of the labels, at points of a grid, with the weights of a normal kernel,
          reflected at 0 and 1.
    bins : int or sequence of float, default 10
        Number of quantile or uniform bins, or edges of the score that rise from 0 to 1, such as
        `[0, 0.01, 0.05, 0.2, 1]`: bin i is [`bins[i]`, `bins[i + 1]`); the last bin includes 1.
    empty_bins : bool, default False
        Whether the result has rows with `n` = 0 for bins without rows.
    grid : int, default 101
        Number of points of a smooth curve, evenly spaced between the extreme scores of the group.
    span : float, default 2/3
        For `"loess"`: the share of the rows that each local regression uses, above 0 and at most 1.
    degree : {1, 2}, default 1
        For `"loess"`: 1 for lines, as in R's `lowess`, or 2 for parabolas, as in R's `loess`.
    bandwidth : float, default None
        For `"kernel"`: the standard deviation of the normal kernel. By default `smooth_ece` of
        `calibration_summary`, but at least 0.001.
    consistency : bool, default False
        Whether the result has two consistency limits: if the scores are calibrated, the event rate
        is between them with the probability `level`.
    ci : {"wilson", "clopper_pearson", "bootstrap"} or None, optional
        Method of the confidence limits of the event rate. By default `"wilson"` where it is
        supported, otherwise None, no limits.

        - `"wilson"` and `"clopper_pearson"`: limits of a proportion of independent rows, for
          quantile and uniform bins, and bins with edges, without weights and clusters.
        - `"bootstrap"`: quantiles of resamples of rows or clusters, for all methods.
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
    missing : {"raise", "drop"}, default "raise"
        Missing values: an error, or rows left out.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and bin or point, sorted by group and rising score: `*by`, (`model`,)
        `bin, score_mean, event_rate, lower, upper, score_min, score_max, n, ci_level, ci_method,
        note, method`, then with `consistency` `consistency_lower, consistency_upper`. `bin` (from
        0) and `n` are Int64, `ci_method`, `note` and `method` String, all others Float64.

        `score_mean` and `event_rate` are weighted means; `n` counts rows, without weights. For
        points, `score_mean` is the score, and `score_min`, `score_max` and `n` are null. Scores,
        event rate and limits are null without rows in the bin or near the point of a kernel.

        Bootstrap limits are null if all resamples have the same event rate (`zero_variance`); those
        of quantile and uniform bins with an event rate of 0 or 1 without weights and clusters are
        Wilson's. Other notes are `no_rows`, `no_positives`, `no_negatives`, `one_positive`,
        `one_negative`, and `redrawn:12` if 12 resamples were drawn again or have no event rate.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if a score is outside [0, 1].

    See Also
    --------
    calibration_summary : Measures of calibration.
    fit_calibration : Functions that convert scores to probabilities.

    Notes
    -----
    All limits are pointwise. Resamples use the bins or the bandwidth of the data.

    Limits of `"isotonic"` can miss the confidence `level` where the event rate rises, even with
    many rows. Limits of a smooth curve describe its random error, not its bias, which is large
    where the true curve bends within the span or the bandwidth.

    Consistency limits are for independent rows. In quantile and uniform bins without weights, they
    are exact, or approximate if the variance of the number of positives is at least 400. All others
    are quantiles of `n_boot` draws of the labels.

    References
    ----------
    - J. Bröcker, L. A. Smith (2007), Weather and Forecasting 22(3), 651-661. doi:10.1175/WAF993.1
    - T. Dimitriadis et al. (2021), Proceedings of the National Academy of Sciences 118(8).
      doi:10.1073/pnas.2016191118
    - B. Sen et al. (2010), The Annals of Statistics 38(4), 1953-1977. doi:10.1214/09-AOS777
    - J. Błasiok, P. Nakkiran (2023), "Smooth ECE". doi:10.48550/arXiv.2309.12236
    - M. Vuk, T. Curk (2006), Metodološki zvezki 3(1), 89-108, section 6.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [0, 0, 1, 0, 1, 1, 0, 1], "score": [0.1, 0.2, 0.3, 0.3, 0.6, 0.7, 0.8, 0.9]}
    ... )
    >>> curve = rf.calibration(predictions, "label", "score", bins=2)
    >>> curve.select("bin", "score_mean", "event_rate", "lower", "upper", "n")
    shape: (2, 6)
    ┌─────┬────────────┬────────────┬──────────┬──────────┬─────┐
    │ bin ┆ score_mean ┆ event_rate ┆ lower    ┆ upper    ┆ n   │
    │ --- ┆ ---        ┆ ---        ┆ ---      ┆ ---      ┆ --- │
    │ i64 ┆ f64        ┆ f64        ┆ f64      ┆ f64      ┆ i64 │
    ╞═════╪════════════╪════════════╪══════════╪══════════╪═════╡
    │ 0   ┆ 0.225      ┆ 0.25       ┆ 0.045587 ┆ 0.699358 ┆ 4   │
    │ 1   ┆ 0.75       ┆ 0.75       ┆ 0.300642 ┆ 0.954413 ┆ 4   │
    └─────┴────────────┴────────────┴──────────┴──────────┴─────┘
    """
    options = _parse_options(
        method,
        {"weight": weight, "cluster": cluster},
        bins=bins,
        empty_bins=empty_bins,
        grid=grid,
        span=span,
        degree=degree,
        bandwidth=bandwidth,
        consistency=consistency,
        confidence=(ci, level, n_boot, seed),
    )
    table = plan_table(
        predictions,
        Roles(
            label,
            score,
            by,
            positive,
            weight,
            count,
            missing,
            cluster,
            needs_scores=True,
            total=total,
        ),
        lambda cases: _calibration_table(cases, options),
        columns=calibration_columns(consistency=options.consistency),
        anchor="bin",
    )
    return as_input_frame(predictions, table)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationOptions:
    """The checked options of `calibration`."""

    method: RateMethod
    binning: Binning
    empty_bins: bool
    grid: int
    span: float
    degree: int
    bandwidth: float | None
    consistency: bool
    confidence: Confidence


def _parse_options(
    method: CalibrationMethod,
    columns: Mapping[str, Column | None],
    *,
    confidence: tuple[str | NotGiven | None, float, int, int | None],
    **options: Any,
) -> CalibrationOptions:
    """Check the options of `calibration`; `confidence` has `ci`, `level`, `n_boot` and `seed`."""
    check_choice("method", method, RATE_METHODS)
    rate_method, subject = RATE_METHODS[method], f"method={method!r}"
    for option in dict.fromkeys(name for each in RATE_METHODS.values() for name in each.options):
        default = signature(calibration).parameters[option].default
        supported = option in rate_method.options
        check_supported(option, options[option], subject, supported=supported, default=default)
    for option in ("empty_bins", "consistency"):
        check_flag(option, options[option])
    bins = options.pop("bins")
    options["binning"] = Binning.parse(method, bins) if rate_method.fixed_bins else Binning()
    options["grid"] = parse_integer("grid", options["grid"], low=2, high=MAX_BINS, example=101)
    span = parse_number("span", options["span"], low=0, high=1, closed="right", example=0.75)
    options["degree"] = parse_integer("degree", options["degree"], low=1, high=2, example=2)
    if (width := options["bandwidth"]) is not None:
        options["bandwidth"] = parse_number("bandwidth", width, low=0, high=1, example=0.05)
    ci, level, n_boot, seed = confidence
    if isinstance(ci, NotGiven):
        has_columns = any(value is not None for value in columns.values())
        ci = "wilson" if rate_method.fixed_bins and not has_columns else None
    parsed = Confidence.parse(ci, level, n_boot, seed, get_args(CalibrationInterval))
    if ci in PROPORTION_LIMITS:
        hint = 'Use ci="bootstrap".'
        if not rate_method.fixed_bins:
            problem = f"this interval is for quantile and uniform bins, not for {subject}"
            raise OptionValueError.compose("ci", ci, problem, hint)
        for name, value in columns.items():
            check_supported(name, value, f"ci={ci!r}", hint=hint)
    return CalibrationOptions(**{**options, "method": rate_method, "span": span}, confidence=parsed)


def _calibration_table(cases: Cases, options: CalibrationOptions) -> pl.DataFrame:
    """Return the table of one model, with a row per group and bin or point."""
    check_probabilities(cases)
    scan = Scan.from_cases(scale_weights(cases))
    rates = options.method.rates(scan, options)
    ci, level = options.confidence.ci, options.confidence.level
    draws = None
    if options.consistency or not (ci is None or ci in PROPORTION_LIMITS):
        confidence = options.confidence
        draws = RandomDraws.of_cases(cases, scan.rows.keys, confidence.n_boot, confidence.seed)
    limits = confidence_limits(scan, rates, ci, level, draws)
    group, number, source = _result_rows(rates, len(scan.totals.pos), options)
    has_rate = source >= 0
    has_rate[has_rate] = ~np.isnan(rates.event_rate[source[has_rate]])

    def column(values: Array, missing: Any = np.nan) -> Array:
        result = np.full(len(source), missing)
        result[source >= 0] = values[source[source >= 0]]
        return result

    method = np.full(len(source), ci, object)
    method[column(limits.wilson, missing=False)] = "wilson"
    method[np.isnan(column(limits.lower))] = None
    totals = scan.totals
    columns: dict[str, Any] = {
        "bin": number,
        "score_mean": column(rates.score),
        "event_rate": column(rates.event_rate),
        "lower": column(limits.lower),
        "upper": column(limits.upper),
        "ci_level": level if ci is not None or options.consistency else None,
        "ci_method": method.tolist(),
        "note": class_notes(
            np.where(has_rate, totals.pos_rows[group], 0),
            np.where(has_rate, totals.neg_rows[group], 0),
            zero_variance=column(limits.constant, missing=False),
            redrawn=column(limits.n_redrawn, missing=0),
        ).tolist(),
        "method": options.binning.method if options.method.fixed_bins else options.method.name,
    }
    if rates.bins is not None:
        columns["score_min"] = column(rates.bins.score_min)
        columns["score_max"] = column(rates.bins.score_max)
        columns["n"] = column(rates.bins.n, missing=0)
    if options.consistency:
        assert draws is not None
        lower, upper = consistency_limits(scan, rates, level, draws)
        columns |= {"consistency_lower": column(lower), "consistency_upper": column(upper)}
    schema = calibration_columns(consistency=options.consistency)
    return build_table(scan.rows.keys, columns, schema, rows=group)


def _rates_of_bins(scan: Scan, options: CalibrationOptions) -> EventRates:
    """Return the event rates of quantile or uniform bins, or of levels of isotonic regression."""
    fixed = options.method.fixed_bins
    bins = probability_bins(scan, options.binning) if fixed else isotonic_bins(scan)
    score = bins.score_mean
    of_replicates, scores = (bin_rates, bins.score_min) if fixed else (isotonic_values, score)
    return EventRates(
        group=bins.group,
        index=bins.index,
        score=score,
        event_rate=bins.event_rate,
        bins=bins,
        depends_on_labels=not fixed,
        of_replicates=lambda sample, own: of_replicates(sample, scores[own]),
    )


def _loess_estimate(
    options: CalibrationOptions, points: Points, owner: IntArray, score: FloatArray, _: FloatArray
) -> FloatArray:
    """Return local regressions at scores."""
    return loess(points, span=options.span, degree=options.degree).at(owner, score)


def _smooth_rates(
    scan: Scan, options: CalibrationOptions, estimate: Callable[..., FloatArray]
) -> EventRates:
    """Return the event rates of a smooth estimate at the points of all groups."""
    points = find_points(scan)
    bandwidth = np.full(len(points.groups), options.bandwidth or np.nan)
    if options.bandwidth is None and "bandwidth" in options.method.options:
        bandwidth = automatic_bandwidth(points)
    owner, score = points.even_grid(options.grid)
    starts = group_starts(owner, len(points.groups))
    rate = estimate(options, points, owner, score, bandwidth)

    def of_replicates(sample: ReplicateScan, own: slice) -> FloatArray:
        replicates, width = find_points(sample), own.stop - own.start
        size = len(replicates.groups)
        rates = estimate(
            options,
            replicates,
            np.repeat(np.arange(size), width),
            np.tile(score[own], size),
            np.full(size, bandwidth[owner[own.start]]),
        ).reshape(size, width)
        # A point without an event rate has no limits, even if a resample has rows nearby.
        return np.where(np.isnan(rate[own]), np.nan, rates)

    return EventRates(
        group=points.groups[owner],
        index=np.arange(len(owner)) - starts[owner],
        score=score,
        event_rate=rate,
        bins=None,
        depends_on_labels=False,
        of_replicates=of_replicates,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RateMethod:
    """A method of `calibration`, the options that only some methods use, and its event rates.

    `fixed_bins`: the scores alone determine the bins, so event rates are proportions of rows.
    """

    name: CalibrationMethod
    options: tuple[str, ...] = ()
    rates: Callable[[Scan, CalibrationOptions], EventRates] = _rates_of_bins
    fixed_bins: bool = False


BIN_OPTIONS = ("bins", "empty_bins")
RATE_METHODS: dict[str, RateMethod] = {
    method.name: method
    for method in (
        RateMethod(name="quantile", options=BIN_OPTIONS, fixed_bins=True),
        RateMethod(name="uniform", options=BIN_OPTIONS, fixed_bins=True),
        RateMethod(name="isotonic"),
        RateMethod(
            name="loess",
            options=("grid", "span", "degree"),
            rates=partial(_smooth_rates, estimate=_loess_estimate),
        ),
        RateMethod(
            name="kernel",
            options=("grid", "bandwidth"),
            rates=partial(_smooth_rates, estimate=lambda _, *at: kernel(*at)),
        ),
    )
}


def _result_rows(
    rates: EventRates, n_groups: int, options: CalibrationOptions
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the group, bin number and position in `rates` (-1: no rows) of each result row."""
    positions = np.arange(len(rates.group))
    if options.empty_bins:
        n_bins = options.binning.n
        group = np.repeat(np.arange(n_groups), n_bins)
        number = np.tile(np.arange(n_bins), n_groups)
        source = np.full(len(group), -1)
        source[rates.group * n_bins + rates.index] = positions
        return group, number, source
    empty = np.setdiff1d(np.arange(n_groups), rates.group)
    group = np.append(rates.group, empty)
    order = np.argsort(group, kind="stable")
    number = np.append(rates.index, np.zeros(len(empty), np.int64))
    source = np.append(positions, np.full(len(empty), -1))
    return group[order], number[order], source[order]


MAX_DRAWN_NUMBERS = 1 << 21  # largest number of random numbers that a thread keeps in memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventRates:
    """The event rates of all groups: of bins or at points, by group and rising score.

    `score` is the mean score of the bin, or that of the point, for which `bins` is None. The labels
    may determine the bins (`depends_on_labels`). `of_replicates(sample, own)` returns the event
    rates of the replicates of a group (rows) for its bins or points `own` (columns).
    """

    group: IntArray
    index: IntArray
    score: FloatArray
    event_rate: FloatArray
    bins: Bins | None
    depends_on_labels: bool
    of_replicates: Callable[[ReplicateScan, slice], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateLimits:
    """Limits of each event rate, and where they are `constant` or replaced by Wilson's."""

    lower: FloatArray
    upper: FloatArray
    constant: BoolArray
    wilson: BoolArray
    n_redrawn: IntArray

    @classmethod
    def undefined(cls, size: int) -> RateLimits:
        """Return limits that are NaN."""
        return cls(
            lower=np.full(size, np.nan),
            upper=np.full(size, np.nan),
            constant=np.zeros(size, bool),
            wilson=np.zeros(size, bool),
            n_redrawn=np.zeros(size, np.int64),
        )

    @classmethod
    def from_parts(cls, parts: Sequence[ColumnLimits]) -> RateLimits:
        """Return the limits of consecutive parts of the bins; undefined replicates are omitted."""
        limits = cls.undefined(sum(len(part.lower) for part in parts))
        if not parts:
            return limits
        lower, upper, constant, n_undefined = map(np.concatenate, zip(*parts, strict=True))
        return replace(limits, lower=lower, upper=upper, constant=constant, n_redrawn=n_undefined)


def confidence_limits(
    scan: Scan, rates: EventRates, ci: str | None, level: float, draws: RandomDraws | None
) -> RateLimits:
    """Return the confidence limits of each event rate; only `ci="bootstrap"` needs `draws`."""
    if ci is None:
        return RateLimits.undefined(len(rates.group))
    if ci not in PROPORTION_LIMITS:
        assert draws is not None
        return _bootstrap_rate_limits(scan, rates, level, draws)
    assert rates.bins is not None
    lower, upper = _proportion_limits(rates.bins, ci, level)
    return replace(RateLimits.undefined(len(lower)), lower=lower, upper=upper)


def _proportion_limits(bins: Bins, ci: str, level: float) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's limits, or those of Clopper and Pearson, of the event rate of each bin."""
    pos, total = (values.astype(np.float64) for values in (bins.pos, bins.total))
    return PROPORTION_LIMITS[ci](pos, total, level)


def _bootstrap_rate_limits(
    scan: Scan, rates: EventRates, level: float, draws: RandomDraws
) -> RateLimits:
    """Return quantiles of each event rate over resamples; Wilson's limits of rates of 0 and 1."""
    bins, is_weighted = rates.bins, scan.totals.pos.dtype.kind == "f"
    if bins is None or rates.depends_on_labels or is_weighted or draws.cluster is not None:
        return _resampled_limits(scan, rates, draws, level)
    limits = _drawn_proportions(bins, draws, level)
    lower, upper = _proportion_limits(bins, "wilson", level)
    is_extreme = (bins.pos == 0) | (bins.neg == 0)
    return replace(
        limits,
        lower=np.where(is_extreme, lower, limits.lower),
        upper=np.where(is_extreme, upper, limits.upper),
        constant=limits.constant & ~is_extreme,
        wilson=is_extreme,
    )


def consistency_limits(
    scan: Scan, rates: EventRates, level: float, draws: RandomDraws
) -> tuple[FloatArray, FloatArray]:
    """Return limits of each event rate if rows are positive with the probability of their score."""
    is_weighted = scan.totals.pos.dtype.kind == "f"
    if rates.bins is not None and not (rates.depends_on_labels or is_weighted):
        return _proportion_consistency(scan, rates.bins, level)
    starts = group_starts(rates.group, len(draws.keys))
    lower, upper = np.full((2, len(rates.group)), np.nan)
    for group in np.unique(rates.group).tolist():
        own = slice(starts[group], starts[group + 1])
        population, probability = _unlabeled_rows(scan, group)

        def draw(
            stream: np.random.Generator,
            size: int,
            own: slice = own,
            population: GroupRows = population,
            probability: FloatArray = probability,
        ) -> tuple[FloatArray, int]:
            rows = population.pos.rows
            shape = (size, len(rows))
            if rows.max() == 1:
                n_pos = (stream.random(shape) < probability).astype(np.int64)
            else:
                n_pos = stream.binomial(rows, probability, shape)
            sample = ReplicateCounts(population=population, pos=n_pos, neg=rows - n_pos)
            return rates.of_replicates(sample.scan(corners=False), own), 0

        values, _ = batched_replicates(
            draw,
            n_boot=draws.n_draws,
            batch_size=max(1, BLOCK_ROWS // len(probability)),
            seed=draws.seed,
            # The bootstrap of the same group uses the key without this number.
            key=(*draws.keys[group], 1),
            arrays_only=True,
        )
        limits = column_limits(values, level)
        # If all replicates are equal, this value is both limits.
        lower[own] = np.where(limits.constant, values[0], limits.lower)
        upper[own] = np.where(limits.constant, values[0], limits.upper)
    return lower, upper


def _proportion_consistency(scan: Scan, bins: Bins, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the consistency limits of bins of rows without weights, without random draws."""
    steps, n_groups = score_steps(scan), len(scan.totals.pos)
    first, own = group_starts(steps.group, n_groups), group_starts(bins.group, n_groups)
    # The bins of each group from the highest score to the lowest, as the steps.
    falling = (own[:-1] + own[1:] - 1)[bins.group] - np.arange(len(bins.group))
    highest, group = bins.score_max[falling], bins.group[falling]
    starts = grouped_bisect(
        lambda step: steps.probability[step] > highest, first[group], first[group + 1] - 1
    )
    lower, upper = np.empty((2, len(falling)))
    lower[falling], upper[falling] = positive_count_limits(
        steps.probability, steps.n, np.append(starts, len(steps.n)), level
    )
    return lower / bins.n, upper / bins.n


def _unlabeled_rows(scan: Scan, group: int) -> tuple[GroupRows, FloatArray]:
    """Return a population in which each class has all rows of the group, and their scores."""
    population = GroupRows.from_scan(scan, group).without_labels()
    return population, population.codec.decode(population.codes)[population.pos.step]


def _drawn_proportions(bins: Bins, draws: RandomDraws, level: float) -> RateLimits:
    """Return quantiles of the event rates of bins, from multinomial draws of both classes."""
    starts = group_starts(bins.group, len(draws.keys))
    most = max(1, MAX_DRAWN_NUMBERS // draws.n_draws)
    parts = [
        (group, batch, slice(first, min(first + most, starts[group + 1])))
        for group in range(len(draws.keys))
        for batch, first in enumerate(range(starts[group], starts[group + 1], most))
    ]

    def part_limits(part: tuple[int, int, slice]) -> ColumnLimits:
        group, batch, own = part
        stream = draws.seed.stream(draws.keys[group], batch)
        n = int(bins.total[starts[group] : starts[group + 1]].sum())
        pos, neg, shape = bins.pos[own], bins.neg[own], (draws.n_draws, own.stop - own.start)
        n_pos = stream.binomial(n, pos / n, shape)
        n_neg = stream.binomial(n - n_pos, neg / np.maximum(n - pos, 1))
        with np.errstate(invalid="ignore"):
            return column_limits(n_pos / (n_pos + n_neg), level)

    return RateLimits.from_parts(run_parallel(part_limits, parts, arrays_only=True))


def _resampled_limits(
    scan: Scan, rates: EventRates, draws: RandomDraws, level: float
) -> RateLimits:
    """Return quantiles of each event rate over resamples of rows; NaN in groups of one class."""
    starts = group_starts(rates.group, len(draws.keys))
    width = int(np.diff(starts).max(initial=1))
    limits = RateLimits.undefined(len(rates.group))

    def replicate_rates(sample: ReplicateScan) -> FloatArray:
        own = slice(*starts[[sample.population.group, sample.population.group + 1]])
        values = np.full((len(sample.totals.pos), width), np.nan)
        values[:, : own.stop - own.start] = rates.of_replicates(sample, own)
        return values

    statistic = ReplicateStatistic(
        function=replicate_rates, depends_on_prevalence=True, corners=False, width=width
    )
    for result in resample_groups(scan, [statistic], draws, arrays_only=True):
        own = slice(*starts[[result.population.group, result.population.group + 1]])
        part = column_limits(result.values[0][:, : own.stop - own.start], level)
        limits.lower[own], limits.upper[own], limits.constant[own], n_undefined = part
        limits.n_redrawn[own] = n_undefined + result.n_redrawn[0]
    return limits


def bin_rates(sample: ReplicateScan, score_min: FloatArray) -> FloatArray:
    """Return the event rate of each replicate (rows) in each bin (columns); NaN without rows."""
    size = len(sample.totals.pos)
    # The scores fall, and a bin has all scores from its lowest score to the next bin.
    scores = sample.codec.decode(sample.population.codes)
    ends = np.searchsorted(-scores, -score_min[::-1], "right")
    pos, neg = (
        np.diff(counts.reshape(size, -1)[:, ends - 1], prepend=0, axis=1)[:, ::-1]
        for counts in (sample.block.tp, sample.block.fp)
    )
    with np.errstate(invalid="ignore"):
        rates: FloatArray = pos / (pos + neg)
    return rates


def isotonic_values(sample: ReplicateScan, score: FloatArray) -> FloatArray:
    """Return the isotonic regression of each replicate (rows) at given scores (columns).

    Values are linear between neighboring scores of the replicate, and constant outside its range.
    """
    steps = score_steps(sample)
    rate = isotonic_rates(steps)
    size, length = len(sample.totals.pos), len(sample.population.codes)
    # The steps of a replicate are the scores of the data that the replicate contains.
    in_sample = (sample.block.pos > 0) | (sample.block.neg > 0)
    n_before = np.append(0, np.cumsum(in_sample))
    first = np.arange(size)[:, None] * length
    scores = sample.codec.decode(sample.population.codes)
    next_below = n_before[first + np.searchsorted(-scores, -score, "right")]
    first, last = n_before[first], n_before[first + length] - 1
    above, below = (step.clip(first, last) for step in (next_below - 1, next_below))
    x = (steps.probability[below], steps.probability[above])
    return interpolate_segments(x, (rate[below], rate[above]), score)
