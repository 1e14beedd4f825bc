"""The function `score_drift`: the scores of each time window, compared with a reference window."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from rocframe.comparisons.comparison_tests import Family
from rocframe.comparisons.time_windows import (
    TimeWindows,
    parse_reference,
    plan_windows,
    reference_notes,
    scatter,
    size_notes,
)
from rocframe.frames import build_table
from rocframe.inference import adjust_p_values, adjust_table, check_adjust, first_notes, parse_level
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import grouped_bisect, sums_at
from rocframe.kernel.groups import (
    cumulative_sums,
    group_starts,
    groups_of_rows,
    round_thresholds,
    scale_weights,
)
from rocframe.kernel.scan import Scan
from rocframe.options import NOT_GIVEN, check_choice, parse_bins, parse_integer, parse_names, public
from rocframe.probabilities.bins import quantile_numbers, score_steps
from rocframe.schemas.statistics import score_drift_columns
from rocframe.schemas.table_type import WINDOW

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inference import Adjust, Note
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Scores


@public
def score_drift(
    predictions: FrameT,
    /,
    score: Scores,
    *,
    over: str = WINDOW,
    by: By = None,
    reference: object = "first",
    bins: int | list[float] = 10,
    level: float = 0.95,
    adjust: Adjust | None = "holm",
    family: Family = "group",
    min_rows: int = 0,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Literal["raise", "drop"] = "raise",
) -> FrameT:
    """Compare the distribution of the scores of each time window with a reference, without labels.

    The population stability index (PSI) and the Jensen-Shannon distance compare the shares of the
    rows in bins of the reference; the Kolmogorov-Smirnov statistic and the Wasserstein distance
    compare the distributions without bins. `windows` assigns predictions to windows, such as weeks.
    Labels are not read, and may be missing.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    score : str, Expr, selector, sequence or mapping
        The score, which need not be a probability. Several columns add the group column `model`.
    over : str, default "window"
        Column of the windows. If it is `"window"`, the column `window_end` is also read and
        returned; windows that overlap are then not tested against each other.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    reference : object, default "first"
        Window with which the other windows of the group are compared.

        - `"first"`: the first window with scores.
        - `"previous"`: for each window, the last earlier one with scores that does not overlap.
        - A value of the column `over`: this window.
        - A table of other predictions, such as those of the first month, with all columns that the
          arguments use except `over`: its rows of the same group.
    bins : int or list of float, default 10
        Number of quantile bins of the reference, or at least three rising edges of the score.
        A quantile bin ends at a score of the reference and includes it. With edges, bin i is
        [`bins[i]`, `bins[i + 1]`); the first and the last bin also contain all scores beyond them.
    level : float, default 0.95
        Without drift, PSI is at most `psi_critical` with this probability, between 0 and 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of a family of tests. `"holm"` controls the probability of at
        least one false rejection, `"bh"` (Benjamini and Hochberg) the expected share of false
        rejections among all rejections.
    family : {"group", "all"}, default "group"
        Tests that are adjusted together: those of each group and model, or all rows of the result.
    min_rows : int, default 0
        Windows with fewer scores do not count: they are not tested, and are not
        the reference of `"first"` and `"previous"`; other references need as many.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop"}, default "raise"
        Missing values: an error, or rows left out.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and window, sorted by group and window: `*by`, `over`, (`window_end`,)
        (`model`,) `psi, psi_p_adjusted, psi_critical, psi_p, ks_p, jensen_shannon, wasserstein,
        reference, n, n_reference, n_missing, n_bins, reference_missing_share, level, ks,
        ks_p_adjusted, missing_share, note`.

        - `psi` (Float64) is the sum of (p - q) ln(p / q) over the bins; p and q are the shares of
          the rows of the window and of the reference. A bin without rows has half a row.
        - `ks` (Float64) is the largest difference of both distribution functions.
        - `jensen_shannon` (Float64) is the distance with logarithms to base 2, from 0 to 1.
        - `missing_share` (Float64) is `n_missing` / (`n` + `n_missing`).

        The comparison is null if the window is the reference or if one of them has no scores; tests
        also if the windows overlap, or because of `min_rows`; `psi` and `jensen_shannon` also if
        the quantile bins are one bin, because all scores of the reference are equal; `wasserstein`
        if a score is infinite.

        `note` (String) is null, or the first of these values that applies: `below_min_rows,
        reference:below_min_rows, no_rows, zero_variance` (one quantile bin), `shared_rows` (the
        windows overlap), or `reference:no_rows`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the table `reference` lacks a column.

    See Also
    --------
    windows : Assign predictions to time windows.
    drift : Compare the AUC of the windows, if there are labels.

    Notes
    -----
    Rows are assumed to be independent. Without drift, PSI has approximately a chi-squared
    distribution with `n_bins` - 1 degrees of freedom, times 1/`n` + 1/`n_reference` (Yurdakul and
    Naranjo 2020). The p-values include the next term of the expected value, because small windows
    have a larger PSI. The p-value of KS is exact if the product of the numbers of rows is at most
    10,000, and otherwise that of the limiting distribution. Ties make it larger. For weighted rows,
    the tests use Kish's effective numbers of rows.

    References
    ----------
    - B. Yurdakul, J. Naranjo (2020), Journal of Risk Model Validation 14(4), 89-100.
      doi:10.21314/JRMV.2020.227
    - J. L. Hodges (1958), Arkiv för Matematik 3(43), 469-486. doi:10.1007/BF02589501
    - J. Lin (1991), IEEE Transactions on Information Theory 37(1), 145-151. doi:10.1109/18.61115

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.5, 0.6, 0.7, 0.7, 0.8, 0.9]
    >>> predictions = pl.DataFrame({"week": [1] * 6 + [2] * 6, "score": scores})
    >>> weeks = rf.score_drift(predictions, "score", over="week", bins=3)
    >>> weeks.select("week", pl.col("psi", "psi_p", "ks", "ks_p", "wasserstein").round(4))
    shape: (2, 6)
    ┌──────┬────────┬────────┬────────┬────────┬─────────────┐
    │ week ┆ psi    ┆ psi_p  ┆ ks     ┆ ks_p   ┆ wasserstein │
    │ ---  ┆ ---    ┆ ---    ┆ ---    ┆ ---    ┆ ---         │
    │ i64  ┆ f64    ┆ f64    ┆ f64    ┆ f64    ┆ f64         │
    ╞══════╪════════╪════════╪════════╪════════╪═════════════╡
    │ 1    ┆ null   ┆ null   ┆ null   ┆ null   ┆ null        │
    │ 2    ┆ 1.4256 ┆ 0.1807 ┆ 0.6667 ┆ 0.1429 ┆ 0.35        │
    └──────┴────────┴────────┴────────┴────────┴─────────────┘
    """
    check_adjust(adjust)
    check_choice("family", family, get_args(Family))
    check_choice("missing", missing, ("raise", "drop"))
    options = ScoreDriftOptions(
        reference=parse_reference(reference),
        bins=parse_bins(bins, example="[0, 0.01, 0.05, 0.2, 1]", unit=False),
        level=parse_level(level),
        adjust=adjust,
        min_rows=parse_integer("min_rows", min_rows, low=0, example=50),
    )
    roles = Roles(NOT_GIVEN, score, by, None, weight, count, missing, needs_scores=True)
    table = options.reference if isinstance(options.reference, pl.LazyFrame) else None
    n_by = len(parse_names(by))

    def compute(cases: Cases) -> pl.DataFrame:
        samples = ScoreSamples.from_cases(cases, n_by, options, has_reference=table is not None)
        return score_drift_table(samples, options)

    def adjust_all(tests: pl.DataFrame) -> pl.DataFrame:
        for name in TESTS:
            tests = adjust_table(tests, adjust, f"{name}_p", f"{name}_p_adjusted")
        return tests

    return plan_windows(
        predictions,
        roles,
        over,
        compute,
        score_drift_columns,
        anchor="n",
        reference=table,
        finish=adjust_all if family == "all" else None,
    )


TESTS = ("psi", "ks")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreDriftOptions:
    """Options of `score_drift`; `reference` can be a table, and `bins` are a number or edges."""

    reference: object
    bins: int | list[float]
    level: float
    adjust: Adjust | None
    min_rows: int


def score_drift_table(samples: ScoreSamples, options: ScoreDriftOptions) -> pl.DataFrame:
    """Return the result of `score_drift` for the windows of one model."""
    windows, n = samples.windows, samples.n
    is_small = n < options.min_rows
    reference = windows.references(options.reference, (n > 0) & ~is_small)
    notes_of_size = size_notes(is_small, reference)
    own = reference == np.arange(len(n))
    compared = np.flatnonzero((reference >= 0) & ~own & (n > 0) & (n[reference] > 0))
    against = reference[compared]
    pairs = samples.pairs(compared, against)
    overlap = windows.overlap(compared, against)
    counts = pairs.bin_counts()
    results = psi_columns(pairs, counts, options.level) | ks_columns(pairs)
    has_no_test = overlap | notes_of_size.is_not_null().to_numpy()[compared]
    for name in ("psi_p", "psi_critical", "ks_p"):
        results[name] = np.where(has_no_test, np.nan, results[name])
    results["wasserstein"] = pairs.wasserstein()
    columns: dict[str, Any] = {
        name: scatter(values, compared, len(n)) for name, values in results.items()
    }
    for name in TESTS:
        p_adjusted = adjust_p_values(columns[f"{name}_p"], windows.group, options.adjust)
        columns[f"{name}_p_adjusted"] = p_adjusted
    n_bins = np.full(len(n), -1)
    n_bins[compared] = np.count_nonzero(counts[0] + counts[1], axis=1)
    applies: dict[Note, NDArray[Any]] = {
        "no_rows": n == 0,
        "zero_variance": (n_bins == 1) & np.isnan(columns["psi"]),
        "shared_rows": np.isin(np.arange(len(n)), compared[overlap]),
    }
    note = pl.Series(first_notes(applies).tolist(), dtype=pl.String)
    of_reference = reference_notes(
        pl.Series(np.where(n > 0, "", "no_rows")).replace("", None), reference, options.reference
    )
    note = note.zip_with(note.is_not_null() | pl.Series(own), of_reference)
    note = notes_of_size.zip_with(notes_of_size.is_not_null(), note)
    position = pl.Series(reference).replace(-1, None)
    columns |= {
        "reference": windows.window.gather(position),
        "n": n,
        "n_reference": pl.Series(n).gather(position),
        "n_missing": samples.n_missing,
        "n_bins": pl.Series(n_bins).replace(-1, None),
        "missing_share": samples.missing_share,
        "reference_missing_share": pl.Series(samples.missing_share).gather(position),
        "level": options.level,
        "note": note,
    }
    table = build_table(windows.window_keys, columns, score_drift_columns(windows.window.dtype))
    return table.filter(~pl.Series(windows.is_reference)) if windows.is_reference.any() else table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreSamples:
    """The distinct scores of each window of all groups, in falling order, and their row weights.

    `window` is the window of each score, `weight` the row weight at it, and `cumulative` that at or
    above it. `rank` is larger for lower scores, in all windows. `bin` is the number of the bin of
    the score in its own window. Each window has `n` rows with scores, with the sum `total` of the
    row weights, and the effective number of rows `effective`; both numbers are equal unless rows
    have weights (`weighted`). `n_missing` rows are left out.
    """

    windows: TimeWindows
    window: NDArray[np.int64]
    starts: NDArray[np.int64]
    score: NDArray[np.float64]
    rank: NDArray[np.int64]
    weight: NDArray[Any]
    cumulative: NDArray[Any]
    bin: NDArray[np.int64]
    n_bins: int
    has_edges: bool
    n: NDArray[np.int64]
    total: NDArray[Any]
    effective: NDArray[np.float64]
    n_missing: NDArray[np.int64]
    weighted: bool

    @classmethod
    def from_cases(
        cls, cases: Cases, n_by: int, options: ScoreDriftOptions, *, has_reference: bool
    ) -> ScoreSamples:
        """Sort the scores of all windows; the key columns are those of `plan_windows`."""
        scan = Scan.from_cases(scale_weights(cases))
        rows, n, total = scan.rows, scan.totals.pos_rows, scan.totals.pos
        steps = score_steps(scan)
        if isinstance(options.bins, int):
            of_step, n_bins = total[steps.group], options.bins
            number = quantile_numbers(of_step - steps.tp, of_step, n_bins)
        else:
            edges = round_thresholds(options.bins[1:-1], scan.codec.scores)
            number, n_bins = np.searchsorted(edges, steps.probability, "right"), len(edges) + 1
        effective = n.astype(np.float64)
        if rows.weights is not None and rows.weights.weight is not None:
            scored = np.arange(len(rows.codes))
            group = groups_of_rows(rows.starts, scored)
            squares = np.where(
                scored < rows.ends[group], rows.weights.row_weight * rows.weights.weight, 0.0
            )
            with np.errstate(invalid="ignore"):
                effective = total**2 / sums_at(group, squares, len(n))
        keys = rows.keys.rename(dict(zip(rows.keys.columns, cases.keys.columns, strict=True)))
        return cls(
            windows=TimeWindows.from_keys(keys, n_by, has_reference=has_reference),
            window=steps.group,
            starts=group_starts(steps.group, len(n)),
            score=steps.probability,
            rank=np.unique(-steps.probability, return_inverse=True)[1],
            weight=steps.pos,
            cumulative=steps.tp,
            bin=number,
            n_bins=n_bins,
            has_edges=not isinstance(options.bins, int),
            n=n,
            total=total,
            effective=effective,
            n_missing=rows.unscored.n_missing,
            weighted=cases.weight is not None,
        )

    @property
    def missing_share(self) -> NDArray[np.float64]:
        """The share of the rows of each window that are left out; NaN without rows."""
        with np.errstate(invalid="ignore"):
            share: NDArray[np.float64] = self.n_missing / (self.n + self.n_missing)
        return share

    def pairs(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> SamplePairs:
        """Return the windows `a` with their references `b`, both with scores."""
        pair = np.full(len(self.n), -1)
        pair[a] = np.arange(len(a))
        step = np.flatnonzero(pair[self.window] >= 0)
        pair = pair[self.window[step]]
        # The scores of all windows are sorted by these integers.
        n_ranks = int(self.rank.max(initial=0)) + 1
        keys, wanted = self.window * n_ranks + self.rank, b[pair] * n_ranks + self.rank[step]
        at_or_above, above = (np.searchsorted(keys, wanted, side) for side in ("right", "left"))
        return SamplePairs(
            samples=self, a=a, b=b, pair=pair, step=step, at_or_above=at_or_above, above=above
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SamplePairs:
    """Windows `a` with their references `b`, with the positions of the scores of the windows.

    `step` is the position of each score of the windows `a` in the samples, and `pair` its window.
    In the samples, the scores of the reference at or above it end before `at_or_above`, and those
    above it before `above`.
    """

    samples: ScoreSamples
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    pair: NDArray[np.int64]
    step: NDArray[np.int64]
    at_or_above: NDArray[np.int64]
    above: NDArray[np.int64]

    @property
    def sizes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The effective numbers of rows of both windows of each pair."""
        return self.samples.effective[self.a], self.samples.effective[self.b]

    def reference_weight(self, end: NDArray[np.int64]) -> NDArray[Any]:
        """Return the row weight of the reference of each score up to the position `end`."""
        weight: NDArray[Any] = np.append(self.samples.cumulative, 0)[end - 1]
        return np.where(end > self.samples.starts[self.b[self.pair]], weight, 0)

    def bin_counts(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the row weights of both windows of each pair in the bins of the reference."""
        samples, (pair, step) = self.samples, (self.pair, self.step)
        number = samples.bin[step]
        if not samples.has_edges:
            total = samples.total[self.b][pair]
            below = total - self.reference_weight(self.at_or_above)
            # Scores above the reference are in its last bin, which can have any number.
            last = samples.bin[samples.starts[self.b]][pair]
            number = np.minimum(quantile_numbers(below, total, samples.n_bins), last)
        shape = len(self.a), samples.n_bins
        of_window = sums_at((pair, number), samples.weight[step], shape)
        position = np.full(len(samples.n), -1)
        needed = np.unique(self.b)
        position[needed] = np.arange(len(needed))
        used = np.flatnonzero(position[samples.window] >= 0)
        of_reference = sums_at(
            (position[samples.window[used]], samples.bin[used]),
            samples.weight[used],
            (len(needed), samples.n_bins),
        )
        return of_window, of_reference[position[self.b]]

    def ks(self) -> NDArray[np.float64]:
        """Return the largest difference of the distribution functions of each pair.

        The difference is largest at a score of the window, or just above one.
        """
        samples, pair = self.samples, self.pair
        total, reference_total = samples.total[self.a][pair], samples.total[self.b][pair]
        cumulative = samples.cumulative[self.step]
        shares = (
            (cumulative, self.at_or_above),
            (cumulative - samples.weight[self.step], self.above),
        )
        result = np.zeros(len(self.a))
        for weight, end in shares:
            difference = np.abs(weight / total - self.reference_weight(end) / reference_total)
            np.maximum.at(result, pair, difference)
        return result.clip(0, 1)

    def wasserstein(self) -> NDArray[np.float64]:
        """Return the integral of the absolute difference of the distribution functions.

        Between two scores of the window, its distribution function is constant, so that the sign of
        the difference changes at most once. NaN if a score is infinite.
        """
        samples, pair = self.samples, self.pair
        if not len(pair):
            return np.zeros(0)
        window = self.b[pair]
        first, last = samples.starts[window], samples.starts[window + 1] - 1
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            # Distribution functions of falling scores, and their integrals.
            x = -samples.score
            share = samples.cumulative / samples.total[samples.window]
            gaps = np.diff(x, prepend=0) * np.append(0, share[:-1])
            gaps[samples.starts[:-1][samples.n > 0]] = 0
            integrals = cumulative_sums(gaps, samples.starts)

            def integral(at: NDArray[np.float64], end: NDArray[np.int64]) -> NDArray[np.float64]:
                """Return the integral up to `at`; the scores at or above it are before `end`."""
                step = np.maximum(end - 1, first)
                value = integrals[step] + share[step] * (at - x[step])
                return np.where(end > first, value, 0.0)

            own, at = share[self.step], x[self.step]
            is_last = np.append(pair[1:] != pair[:-1], True)
            stop = np.where(is_last, np.maximum(at, x[last]), np.append(at[1:], 0))
            stop_end = np.where(is_last, last + 1, np.append(self.at_or_above[1:], 0))
            crossing = grouped_bisect(lambda step: share[step] < own, first, last)
            crossing = np.minimum(crossing, last)
            middle = np.clip(x[crossing], at, stop)
            middle_end = np.clip(crossing + 1, self.at_or_above, stop_end)
            parts = [integral(*point) for point in ((at, self.at_or_above), (middle, middle_end))]
            after = integral(stop, stop_end) - parts[1]
            area = own * (middle - at) - (parts[1] - parts[0]) + after - own * (stop - middle)
            is_first = np.append(True, pair[1:] != pair[:-1])
            area = np.maximum(area, 0) + np.where(is_first, parts[0], 0.0)
            result = sums_at(pair, area, len(self.a))
        return np.where(np.isfinite(result), result, np.nan)


def psi_columns(
    pairs: SamplePairs, counts: tuple[NDArray[Any], NDArray[Any]], level: float
) -> dict[str, NDArray[np.float64]]:
    """Return the population stability index with its test, and the Jensen-Shannon distance.

    `counts` are the row weights of both windows in bins.
    """
    from scipy.special import chdtrc, chdtri, rel_entr

    samples = pairs.samples
    used = (counts[0] > 0) | (counts[1] > 0)
    n_bins = np.count_nonzero(used, axis=1)
    p, q = (
        count / samples.total[window][:, None]
        for count, window in zip(counts, (pairs.a, pairs.b), strict=True)
    )
    middle = (p + q) / 2
    divergence = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / (2 * log(2))
    p, q = (
        np.where(share > 0, share, 0.5 / samples.n[window][:, None])
        for share, window in ((p, pairs.a), (q, pairs.b))
    )
    psi = np.where(used, (p - q) * np.log(p / q), 0.0).sum(axis=1)
    sizes = pairs.sizes
    # The terms of first and second order of the expected value without drift, for bins with equal
    # shares: see docs/reference/score_drift.md.
    first, second = (1 / sizes[0] ** k + 1 / sizes[1] ** k for k in (1, 2))
    scale = first + n_bins / 2 * second
    p_value = np.where(n_bins > 1, chdtrc(np.maximum(n_bins - 1, 1), psi / scale), 1.0)
    critical = np.where(n_bins > 1, chdtri(np.maximum(n_bins - 1, 1), 1 - level) * scale, 0.0)
    columns = {
        "psi": psi,
        "psi_p": p_value,
        "psi_critical": critical,
        "jensen_shannon": np.sqrt(divergence.clip(0, 1)),
    }
    if samples.has_edges:
        return columns
    return {name: np.where(n_bins > 1, values, np.nan) for name, values in columns.items()}


EXACT_KS_PRODUCT = 10_000  # largest product of the numbers of rows for exact p-values
EXACT_KS_PAIRS = 4_096  # of which the paths are counted together


def ks_columns(pairs: SamplePairs) -> dict[str, NDArray[np.float64]]:
    """Return the Kolmogorov-Smirnov statistic of each pair, and its p-value."""
    from scipy.special import kolmogorov

    ks = pairs.ks()
    n, m = pairs.sizes
    p_value = kolmogorov(np.sqrt(n * m / (n + m)) * ks)
    exact = np.flatnonzero((n * m <= EXACT_KS_PRODUCT) & (not pairs.samples.weighted))
    tests = np.column_stack([np.minimum(n, m), np.maximum(n, m), np.rint(ks * n * m)])[exact]
    tests, test = np.unique(tests.astype(np.int64), axis=0, return_inverse=True)
    order = np.argsort(tests[:, :2].sum(axis=1), kind="stable")
    exact_p = np.zeros(len(tests))
    for start in range(0, len(order), EXACT_KS_PAIRS):
        part = order[start : start + EXACT_KS_PAIRS]
        exact_p[part] = exact_ks_p_values(*tests[part].T)
    p_value[exact] = exact_p[test.ravel()]
    return {"ks": ks, "ks_p": p_value}


def exact_ks_p_values(
    n: NDArray[np.int64], m: NDArray[np.int64], distance: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probability of a KS statistic of at least `distance` / (n m) without ties.

    Without drift, the rows of both samples in the order of their scores are a random path from
    (0, 0) to (n, m), and all paths have the same probability (Hodges 1958). The path is drawn row
    by row, and stops where the distribution functions differ by `distance` / (n m). The tests are
    sorted by n + m, and n <= m.
    """
    total = n + m
    n, m, distance = n[:, None], m[:, None], distance[:, None]
    i = np.arange(n.max(initial=0) + 1)
    of_first, of_second, ahead = n - i, m + i, i * (n + m)
    probability = (distance > 0) * (i == 0).astype(np.float64)
    stopped = np.where(distance[:, 0] > 0, 0.0, 1.0)
    for t in range(int(total.max(initial=0))):
        longer = slice(np.searchsorted(total, t, "right"), None)
        before = probability[longer] / (total[longer, None] - t)
        after = before * (of_second[longer] - t)
        after[:, 1:] += before[:, :-1] * of_first[longer, :-1]
        is_far = np.abs(ahead[longer] - (t + 1) * n[longer]) >= distance[longer]
        stopped[longer] += np.sum(after, axis=1, where=is_far)
        after[is_far] = 0
        probability[longer] = after
    return stopped.clip(0, 1)
