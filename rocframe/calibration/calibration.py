"""The function `calibration`: event rates of bins of probabilities, with confidence limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from rocframe.calibration.bins import (
    BinMethod,
    check_probabilities,
    isotonic_rates,
    probability_bins,
    score_steps,
)
from rocframe.calibration_tables import calibration_columns
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, build_table
from rocframe.inference.bootstrap import nearly_equal, replicate_limits
from rocframe.inference.confidence import Confidence, clopper_pearson, wilson
from rocframe.inference.notes import class_notes
from rocframe.inputs.node import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import scale_weights
from rocframe.kernel.resample import RandomDraws, ReplicateStatistic, resample_groups, stream_keys
from rocframe.kernel.scan import Scan
from rocframe.kernel.threads import run_parallel
from rocframe.options import (
    NOT_GIVEN,
    NotGiven,
    check_choice,
    check_flag,
    check_supported,
    parse_integer,
    public,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.calibration.bins import Bins
    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Scores
    from rocframe.kernel.resample import ReplicateScan


CalibrationInterval: TypeAlias = Literal["wilson", "clopper_pearson", "bootstrap"]
DEFAULT_BINS = 10
MAX_BINS = 1_000_000
MAX_DRAWN_NUMBERS = 1 << 21  # largest number of random numbers that a thread keeps in memory


@public
def calibration(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    method: BinMethod = "quantile",
    bins: int = DEFAULT_BINS,
    empty_bins: bool = False,
    ci: CalibrationInterval | NotGiven | None = NOT_GIVEN,
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Literal["raise", "drop"] = "raise",
) -> FrameT:
    """Compute the calibration curve of each group: event rates of bins of probabilities.

    The scores must be probabilities. Each row of the result is a bin of rows with similar scores.
    If the scores are calibrated, the event rate of a bin equals its mean score, up to sampling
    errors.

    Parameters
    ----------
    predictions : DataFrame or LazyFrame
        One row per prediction.
    label : str or Expr
        Column or expression with the true class: Boolean, 0/1 numbers, or, together with
        `positive`, values of any type except List, Array, Struct and Object.
    score : str, Expr, selector, sequence or mapping
        Column or expression with the score, a probability of the positive class in [0, 1]. A list,
        a selector or a mapping from names to columns compares several models side by side. The
        result then has the group column `model` (String) after `by`.
    by : str or sequence of str, default None
        Group columns. Rows with a null key are a separate group.
    method : {"quantile", "uniform", "isotonic"}, default "quantile"
        Method of binning. `"quantile"`: bins with about the same number of rows; bin i ends at the
        lowest score for which the share of rows up to this score is at least (i + 1) / `bins`.
        `"uniform"`: bin i is [i / `bins`, (i + 1) / `bins`); the last bin includes 1. `"isotonic"`:
        the levels of the isotonic regression of the labels on the score, which are found by the
        pool-adjacent-violators algorithm (CORP). Rows with equal scores are in the same bin.
    bins : int, default 10
        Number of quantile or uniform bins.
    empty_bins : bool, default False
        If True, the result also has a row with `n` = 0 for each quantile or uniform bin without
        rows. If False, these bins are omitted. A quantile bin is empty if rows with equal scores
        fill the bins next to it.
    ci : {"wilson", "clopper_pearson", "bootstrap"} or None, optional
        Method of the confidence limits of the event rate. `"wilson"` and `"clopper_pearson"`:
        limits of a proportion of independent rows, for quantile and uniform bins without weights.
        `"bootstrap"`: quantiles of resamples, for all bins. None: no limits. By default
        `"wilson"` for quantile and uniform bins without weights, otherwise None.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the random draws, an integer >= 0. If None, each call uses a new seed. The draws of
        a group depend only on the seed and the key of the group.
    positive : object, default None
        Value of `label` that is the positive class; all other values are negative. Required unless
        labels are Boolean or 0/1.
    weight : str or Expr, default None
        Column or expression with the importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Column or expression with the number of identical rows that a row represents. The results
        are the same as if the row were repeated that many times. If the table has a column named
        `count`, pass `count="count"` or `count=None`.
    missing : {"raise", "drop"}, default "raise"
        Handling of rows whose label, score, weight or count is null or NaN. `"raise"`: an error.
        `"drop"`: the rows are left out.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and bin, sorted by group and rising score: `*by`, (`model`,) `bin,
        score_mean, event_rate, lower, upper, score_min, score_max, n, ci_level, ci_method, note`.

        `bin` (Int64) is the number of the bin within its group, from 0. `score_mean` (Float64) is
        the mean score of the rows, and `event_rate` (Float64) the share of positives; both are
        weighted if rows have weights. `lower` and `upper` (Float64) are the limits of the event
        rate. `score_min` and `score_max` (Float64) are the lowest and the highest score in the bin.
        `n` (Int64) is the number of rows, multiplied by `count` but not by `weight`. `ci_level`
        (Float64) is the confidence level, and `ci_method` (String) the method of the limits.

        A bin without rows has `n` = 0, and null scores, event rate and limits. A group without rows
        has one such row, bin 0, unless `empty_bins` is True. Bootstrap limits are null if all
        resamples have the same event rate; for quantile and uniform bins without weights whose
        event rate is 0 or 1, Wilson's limits are used instead, and `ci_method` is `wilson`.

        `note` (String) is null, or the first of these values that applies: `no_rows` for a bin or
        a group without rows; `no_positives`, `no_negatives`, `one_positive` or `one_negative` for
        all bins of a group with so many rows of a class; `zero_variance` if all resamples have the
        same event rate; `redrawn:12` if 12 resamples had no rows in the bin and were omitted. With
        weights, and for isotonic levels, resamples with rows of one class only are drawn again;
        they are counted too.

    Raises
    ------
    RocframeError
        If a column does not exist or has an unsuitable type, a name is reserved or repeated, or an
        option is invalid or does not support the method or weights. Also if the labels do not
        determine the positive class, values are missing with `missing="raise"`, a weight is
        negative or not finite, or a score is outside [0, 1]. For a LazyFrame, errors that depend on
        its columns or values are raised by `collect`.

    See Also
    --------
    decision_curve : Net benefit of decisions that are based on probabilities.
    summary : Brier score and log loss.

    Notes
    -----
    The limits are pointwise: each interval contains the event rate of its own bin with confidence
    `level`. The limits of quantile and uniform bins are for the event rate of rows whose scores are
    between `score_min` and `score_max`. Resamples therefore use the bins of the data, instead of
    new quantiles.

    The limits of an isotonic level are for the isotonic regression at `score_mean`. Each resample
    has its own isotonic regression, with other levels, which is interpolated linearly between
    neighboring scores. Where the true event rate rises steadily with the score, these limits
    contain it less often than the confidence level says (Sen, Banerjee and Woodroofe 2010).

    References
    ----------
    T. Dimitriadis, T. Gneiting, A. I. Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers", Proceedings of the National Academy of Sciences 118(8), e2016191118.
    doi:10.1073/pnas.2016191118

    B. Sen, M. Banerjee, M. Woodroofe (2010), "Inconsistency of bootstrap: the Grenander estimator",
    The Annals of Statistics 38(4), 1953-1977. doi:10.1214/09-AOS777

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

    The levels of the isotonic regression:

    >>> levels = rf.calibration(predictions, "label", "score", method="isotonic")
    >>> levels.select("bin", "score_mean", "event_rate", "score_min", "score_max", "n")
    shape: (4, 6)
    ┌─────┬────────────┬────────────┬───────────┬───────────┬─────┐
    │ bin ┆ score_mean ┆ event_rate ┆ score_min ┆ score_max ┆ n   │
    │ --- ┆ ---        ┆ ---        ┆ ---       ┆ ---       ┆ --- │
    │ i64 ┆ f64        ┆ f64        ┆ f64       ┆ f64       ┆ i64 │
    ╞═════╪════════════╪════════════╪═══════════╪═══════════╪═════╡
    │ 0   ┆ 0.15       ┆ 0.0        ┆ 0.1       ┆ 0.2       ┆ 2   │
    │ 1   ┆ 0.3        ┆ 0.5        ┆ 0.3       ┆ 0.3       ┆ 2   │
    │ 2   ┆ 0.7        ┆ 0.666667   ┆ 0.6       ┆ 0.8       ┆ 3   │
    │ 3   ┆ 0.9        ┆ 1.0        ┆ 0.9       ┆ 0.9       ┆ 1   │
    └─────┴────────────┴────────────┴───────────┴───────────┴─────┘
    """
    options = _parse_options(
        method,
        weight,
        bins=bins,
        empty_bins=empty_bins,
        ci=ci,
        level=level,
        n_boot=n_boot,
        seed=seed,
    )
    _check_missing(missing)
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )
    table = plan_table(
        predictions,
        roles,
        lambda cases: _calibration_table(cases, options),
        columns=calibration_columns(),
        anchor="bin",
    )
    return as_input_frame(predictions, table)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationOptions:
    """The checked options of `calibration`."""

    method: BinMethod
    bins: int
    empty_bins: bool
    confidence: Confidence


def _parse_options(
    method: BinMethod,
    weight: Column | None,
    *,
    bins: int,
    empty_bins: bool,
    ci: str | NotGiven | None,
    level: float,
    n_boot: int,
    seed: int | None,
) -> CalibrationOptions:
    """Check the options of `calibration`, and choose the interval method if `ci` is not given."""
    check_choice("method", method, get_args(BinMethod))
    check_flag("empty_bins", empty_bins)
    isotonic = method == "isotonic"
    subject = f"method={method!r}"
    check_supported("bins", bins, subject, supported=not isotonic, default=DEFAULT_BINS)
    check_supported("empty_bins", empty_bins, subject, supported=not isotonic, default=False)
    n_bins = parse_integer("bins", bins, high=MAX_BINS, example=10)
    if isinstance(ci, NotGiven):
        ci = None if isotonic or weight is not None else "wilson"
    confidence = Confidence.parse(ci, level, n_boot, seed, get_args(CalibrationInterval))
    if ci in {"wilson", "clopper_pearson"}:
        hint = 'Use ci="bootstrap".'
        if isotonic:
            problem = f"the labels determine the levels of {subject}, which this method ignores"
            raise OptionValueError.compose("ci", ci, problem, hint)
        check_supported("weight", weight, f"ci={ci!r}", hint=hint)
    return CalibrationOptions(
        method=method, bins=n_bins, empty_bins=empty_bins, confidence=confidence
    )


def _check_missing(missing: object) -> None:
    """Raise an error for `missing="worst"`, which is only for functions of ranks."""
    if missing == "worst":
        problem = "a row without a score has no probability"
        raise OptionValueError.compose("missing", missing, problem, 'Use missing="drop".')


def _calibration_table(cases: Cases, options: CalibrationOptions) -> pl.DataFrame:
    """Return the table of one model, with a row per group and bin."""
    check_probabilities(cases)
    scan = Scan.from_cases(scale_weights(cases))
    bins = probability_bins(scan, options.method, options.bins)
    limits = _bin_limits(scan, bins, options, cases.model)
    group, number, source = _result_rows(bins, len(scan.totals.pos), options)
    has_rows = source >= 0

    def column(values: NDArray[Any]) -> NDArray[Any]:
        result = np.full(len(source), np.nan)
        result[has_rows] = values[source[has_rows]]
        return result

    n, redrawn = (np.zeros(len(source), np.int64) for _ in range(2))
    n[has_rows] = bins.n[source[has_rows]]
    redrawn[has_rows] = limits.n_redrawn[source[has_rows]]
    constant = np.zeros(len(source), bool)
    constant[has_rows] = limits.constant[source[has_rows]]
    lower = column(limits.lower)
    method = np.full(len(source), options.confidence.ci, object)
    if options.confidence.ci == "bootstrap":
        method[has_rows] = np.where(limits.wilson[source[has_rows]], "wilson", "bootstrap")
    method[np.isnan(lower)] = None
    totals = scan.totals
    columns = {
        "bin": number,
        "score_mean": column(bins.score_mean),
        "event_rate": column(bins.event_rate),
        "lower": lower,
        "upper": column(limits.upper),
        "score_min": column(bins.score_min),
        "score_max": column(bins.score_max),
        "n": n,
        "ci_level": None if options.confidence.ci is None else options.confidence.level,
        "ci_method": method.tolist(),
        "note": class_notes(
            np.where(has_rows, totals.pos_rows[group], 0),
            np.where(has_rows, totals.neg_rows[group], 0),
            zero_variance=constant,
            redrawn=redrawn,
        ).tolist(),
    }
    return build_table(scan.rows.keys, columns, calibration_columns(), rows=group)


def _result_rows(
    bins: Bins, n_groups: int, options: CalibrationOptions
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the group, the bin number and the position in `bins` of each row of the result.

    The position is -1 for a bin without rows.
    """
    positions = np.arange(len(bins.group))
    if options.empty_bins:
        group = np.repeat(np.arange(n_groups), options.bins)
        number = np.tile(np.arange(options.bins), n_groups)
        source = np.full(len(group), -1)
        source[bins.group * options.bins + bins.index] = positions
        return group, number, source
    empty = np.setdiff1d(np.arange(n_groups), bins.group)
    group = np.append(bins.group, empty)
    order = np.argsort(group, kind="stable")
    number = np.append(bins.index, np.zeros(len(empty), np.int64))
    source = np.append(positions, np.full(len(empty), -1))
    return group[order], number[order], source[order]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinLimits:
    """Confidence limits of the event rate of each bin; NaN if undefined.

    `constant` is True if all resamples have the same event rate. `wilson` is True if bootstrap
    limits are replaced by Wilson's limits. `n_redrawn` is the number of resamples that were drawn
    again, or were omitted because they had no rows in the bin.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    constant: NDArray[np.bool_]
    wilson: NDArray[np.bool_]
    n_redrawn: NDArray[np.int64]

    @classmethod
    def undefined(cls, size: int) -> BinLimits:
        """Return limits that are NaN."""
        return cls(
            lower=np.full(size, np.nan),
            upper=np.full(size, np.nan),
            constant=np.zeros(size, bool),
            wilson=np.zeros(size, bool),
            n_redrawn=np.zeros(size, np.int64),
        )

    @classmethod
    def from_parts(cls, parts: Sequence[ColumnLimits]) -> BinLimits:
        """Return the limits of consecutive parts of the bins; undefined replicates are omitted."""
        limits = cls.undefined(sum(len(part.lower) for part in parts))
        if not parts:
            return limits
        lower, upper, constant, n_undefined = map(np.concatenate, zip(*parts, strict=True))
        return replace(limits, lower=lower, upper=upper, constant=constant, n_redrawn=n_undefined)


class ColumnLimits(NamedTuple):
    """The limits of each column of replicates; NaN if undefined.

    `constant` is True if all replicates are equal. `n_undefined` is the number of replicates that
    are NaN.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    constant: NDArray[np.bool_]
    n_undefined: NDArray[np.int64]


def _bin_limits(
    scan: Scan, bins: Bins, options: CalibrationOptions, model: str | None
) -> BinLimits:
    """Return the confidence limits of the event rate of each bin."""
    ci, level = options.confidence.ci, options.confidence.level
    limits = BinLimits.undefined(len(bins.group))
    if ci is None:
        return limits
    pos, total = bins.pos.astype(np.float64), bins.total.astype(np.float64)
    if ci != "bootstrap":
        lower, upper = (wilson if ci == "wilson" else clopper_pearson)(pos, total, level)
        return replace(limits, lower=lower, upper=upper)
    draws = RandomDraws(
        n_draws=options.confidence.n_boot,
        seed=options.confidence.seed,
        keys=stream_keys(scan.rows.keys, model),
    )
    isotonic = options.method == "isotonic"
    if isotonic or scan.totals.pos.dtype.kind == "f":
        return _resampled_limits(scan, bins, draws, level, isotonic=isotonic)
    limits = _drawn_proportions(bins, draws, level)
    lower, upper = wilson(pos, total, level)
    is_extreme = (bins.pos == 0) | (bins.neg == 0)
    return replace(
        limits,
        lower=np.where(is_extreme, lower, limits.lower),
        upper=np.where(is_extreme, upper, limits.upper),
        constant=limits.constant & ~is_extreme,
        wilson=is_extreme,
    )


def _drawn_proportions(bins: Bins, draws: RandomDraws, level: float) -> BinLimits:
    """Return quantiles of the event rate of each bin over resamples of rows without weights.

    The limits of a bin depend only on its numbers of positives and negatives in each resample, so
    these numbers are drawn for each bin separately, from their multinomial distribution.
    """
    starts = np.searchsorted(bins.group, np.arange(len(draws.keys) + 1))
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
            return _column_limits(n_pos / (n_pos + n_neg), level)

    return BinLimits.from_parts(run_parallel(part_limits, parts))


def _resampled_limits(
    scan: Scan, bins: Bins, draws: RandomDraws, level: float, *, isotonic: bool
) -> BinLimits:
    """Return quantiles of the event rate of each bin over resamples of the rows.

    The limits are NaN in groups with rows of one class only.
    """
    starts = np.searchsorted(bins.group, np.arange(len(draws.keys) + 1))
    width = int(np.diff(starts).max(initial=1))
    limits = BinLimits.undefined(len(bins.group))

    def rates(sample: ReplicateScan) -> NDArray[np.float64]:
        own = slice(*starts[[sample.population.group, sample.population.group + 1]])
        values = np.full((len(sample.totals.pos), width), np.nan)
        columns = slice(0, own.stop - own.start)
        if isotonic:
            values[:, columns] = _isotonic_values(sample, bins.score_mean[own])
        else:
            values[:, columns] = _bin_rates(sample, bins.score_min[own])
        return values

    statistic = ReplicateStatistic(
        function=rates, depends_on_prevalence=True, corners=False, width=width
    )
    for result in resample_groups(scan, [statistic], draws):
        own = slice(*starts[[result.population.group, result.population.group + 1]])
        part = _column_limits(result.values[0][:, : own.stop - own.start], level)
        limits.lower[own], limits.upper[own], limits.constant[own], n_undefined = part
        limits.n_redrawn[own] = n_undefined + result.n_redrawn[0]
    return limits


def _column_limits(values: NDArray[np.float64], level: float) -> ColumnLimits:
    """Return the percentile limits of each column; values that are NaN are left out.

    The limits are NaN if fewer than two values remain, or if all are equal.
    """
    limits = np.full((2, values.shape[1]), np.nan)
    n_undefined = np.isnan(values).sum(axis=0)
    is_complete, is_defined = n_undefined == 0, n_undefined < len(values) - 1
    if is_complete.any():
        limits[:, is_complete] = replicate_limits(values[:, is_complete], level)
    for column in np.flatnonzero(is_defined & ~is_complete):
        present = values[~np.isnan(values[:, column]), column]
        limits[:, column] = replicate_limits(present[:, None], level)[:, 0]
    constant = is_defined & nearly_equal(np.fmin.reduce(values), np.fmax.reduce(values))
    limits[:, constant] = np.nan
    return ColumnLimits(limits[0], limits[1], constant, n_undefined)


def _bin_rates(sample: ReplicateScan, score_min: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the event rate of each replicate (rows) in each bin (columns); NaN without rows.

    `score_min` are the lowest scores of the bins, in rising order.
    """
    size = len(sample.totals.pos)
    # The scores fall, and a bin has all scores from its lowest score to the next bin.
    scores = sample.codec.decode(sample.population.codes)
    ends = np.searchsorted(-scores, -score_min[::-1], "right")
    pos, neg = (
        np.diff(counts.reshape(size, -1)[:, ends - 1], prepend=0, axis=1)[:, ::-1]
        for counts in (sample.block.tp, sample.block.fp)
    )
    with np.errstate(invalid="ignore"):
        rates: NDArray[np.float64] = pos / (pos + neg)
    return rates


def _isotonic_values(sample: ReplicateScan, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the isotonic regression of each replicate (rows) at given scores (columns).

    Values are interpolated linearly between neighboring scores of the replicate, and are constant
    below its lowest and above its highest score.
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
    distance = steps.probability[above] - steps.probability[below]
    fraction = np.where(
        distance > 0,
        (score - steps.probability[below]) / np.where(distance > 0, distance, 1.0),
        0.0,
    )
    values: NDArray[np.float64] = rate[below] + fraction * (rate[above] - rate[below])
    return values
