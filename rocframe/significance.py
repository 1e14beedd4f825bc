"""The function `auc_test`: tests of an AUC against chance or against a given area.

For given scores, the AUC is determined by the sum of the ranks of the positives. Under the null
hypothesis, the positives are a random subset of the rows of a group, so their ranks are a random
sample without replacement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.areas.pairs import Clusters, auc_variance_parts, class_sizes, count_pairs
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import (
    AREA_ROUNDING,
    MIN_AREA_UNITS,
    absent_classes,
    adjust_table,
    check_adjust,
    check_alternative,
    class_notes,
    few_rows,
    first_notes,
    is_as_extreme,
    normal_p_value,
    permutation_p_value,
)
from rocframe.inputs.cases import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import batch_sizes, exact_sums, run_parallel
from rocframe.kernel.groups import concatenated_ranges, scale_weights
from rocframe.kernel.scan import BLOCK_ROWS, Scan, Seed, stream_keys
from rocframe.options import (
    NOT_GIVEN,
    check_choice,
    check_supported,
    is_text,
    parse_fraction,
    parse_integer,
    public,
)
from rocframe.schemas.statistics import AUC_TEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.pairs import Pairs
    from rocframe.frames import FrameT
    from rocframe.inference import Adjust, Alternative
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.scan import Block


@public
def auc_test(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    null: float = 0.5,
    method: AucTestMethod | None = None,
    alternative: Alternative = "two-sided",
    adjust: Adjust | None = "holm",
    n_perm: int = 9_999,
    seed: int | None = None,
    best_of: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Test whether the AUC of each group differs from chance, or from a given area.

    The p-value is the probability that the estimated area is at least as far from `null` as
    observed, if the true area is `null`. The interval of `auc` shows how much better than chance a
    model is.

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
    null : float, default 0.5
        AUC that the null hypothesis assumes, between 0 and 1. 0.5 is chance.
    method : str, default None
        `"mann_whitney"` and `"permutation"` require `null=0.5`, and no `weight`, `cluster` and
        `missing="worst"`; otherwise, the default is `"delong_t"`.

        - `"mann_whitney"`, the default: the normal approximation of the permutation test.
        - `"permutation"`: a test that permutes the labels of a group.
        - `"delong_t"`: the test of Brunner and Munzel, a t test with DeLong's standard error.
        - `"delong"`: a z test with the same statistic, for many rows of each class.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        The true area differs from the null (`"two-sided"`), is larger or is smaller.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of a family of tests. `"holm"` controls the probability of at
        least one false rejection, `"bh"` (Benjamini and Hochberg) the expected share of false
        rejections among all rejections.
    n_perm : int, default 9999
        Number of random permutations. If a group has at most this many different permutations, all
        are used and the p-value is exact. Otherwise it is at least 1 / (1 + n_perm).
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
    best_of : int, default None
        Number of models from which the best was selected, including models that are not in the
        table. Requires `alternative="greater"` and `"mann_whitney"` or `"permutation"`.
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
        One row per group, sorted by group: `*by`, (`model`,) `auc, p_adjusted, p_value, null, se,
        statistic, df, n_pos, n_neg, n_missing, test, note`. `p_adjusted` (Float64) is adjusted over
        all rows of the result. `statistic` (Float64) is `auc - null` divided by `se`, which is
        DeLong's standard error or the standard deviation over all permutations of the labels.
        `test` (String) is the method, or `permutation_exact` if all permutations were used.

        With `best_of`, the columns `best_of` (Int64), `auc_by_chance` (Float64) and `p_best`
        (Float64) are left of `note`: the expected largest AUC of `best_of` models with independent
        random scores, and the probability that it is at least `auc` (too large for correlated
        models).

        The statistics are null if a class has no rows and, except for `auc`, with `"delong_t"` and
        `"delong"` if a class has only one row or cluster. If the variance is 0, `se` is null; the
        p-value is 1 if `auc` equals `null`, and null otherwise.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance`, `few_rows:3` (below 10 rows or
        clusters of a class, for `"delong_t"` and `"delong"`); with `cluster`,
        `one_positive_cluster` and `one_negative_cluster`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if options cannot be combined.

    See Also
    --------
    auc : The areas, with intervals.
    power : Compute the power of a test.

    References
    ----------
    - E. Brunner, U. Munzel (2000), Biometrical Journal 42(1), 17-25.
      doi:10.1002/(SICI)1521-4036(200001)42:1<17::AID-BIMJ17>3.0.CO;2-U
    - E. R. DeLong et al. (1988), Biometrics 44(3), 837-845. doi:10.2307/2531595
    - G. Forman (2002), HP Laboratories, technical report HPL-2002-123 (`best_of`).
    - H. B. Mann, D. R. Whitney (1947), Annals of Mathematical Statistics 18(1), 50-60.
      doi:10.1214/aoms/1177730491
    - B. Phipson, G. K. Smyth (2010), Statistical Applications in Genetics and Molecular Biology
      9(1), 39. doi:10.2202/1544-6115.1585

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 1, 0, 0], "score": [0.9, 0.7, 0.7, 0.1]})
    >>> tests = rf.auc_test(
    ...     predictions, "label", "score", method="permutation", alternative="greater", best_of=10
    ... )
    >>> tests.select("auc", "p_value", "test", "p_best", "auc_by_chance")
    shape: (1, 5)
    ┌───────┬──────────┬───────────────────┬──────────┬───────────────┐
    │ auc   ┆ p_value  ┆ test              ┆ p_best   ┆ auc_by_chance │
    │ ---   ┆ ---      ┆ ---               ┆ ---      ┆ ---           │
    │ f64   ┆ f64      ┆ str               ┆ f64      ┆ f64           │
    ╞═══════╪══════════╪═══════════════════╪══════════╪═══════════════╡
    │ 0.875 ┆ 0.333333 ┆ permutation_exact ┆ 0.982658 ┆ 0.868491      │
    └───────┴──────────┴───────────────────┴──────────┴───────────────┘

    The best of ten models with random scores has an expected AUC of 0.868 on these four rows.
    """
    roles = Roles(label, score, by, positive, weight, count, missing, cluster)
    null = parse_fraction("null", null, example=0.5)
    if best_of is not None:
        best_of = parse_integer("best_of", best_of, high=MAX_MODELS, example=40)
    options = AucTestOptions(
        null=null,
        method=parse_auc_test_method(method, null, roles),
        alternative=alternative,
        adjust=adjust,
        n_perm=parse_integer("n_perm", n_perm, high=10**9),
        seed=Seed.parse(seed),
        best_of=best_of,
    )
    table = plan_table(
        predictions,
        roles,
        lambda cases: auc_test_table(cases, options),
        columns=AUC_TEST.columns(options.best_of),
        anchor="n_pos",
        finish=lambda tests: adjust_table(tests, options.adjust),
    )
    return as_input_frame(predictions, table)


AucTestMethod = Literal["delong_t", "delong", "permutation", "mann_whitney"]
MAX_MODELS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class AucTest:
    """A test of an AUC.

    With `labels_are_random`, the variance is that over all assignments of the labels to the rows,
    which must be equally likely (not for weighted or clustered rows); otherwise it is DeLong's.
    `permutes`: the p-value is that of these assignments; `has_df`: of a t distribution.
    """

    labels_are_random: bool = False
    permutes: bool = False
    has_df: bool = False


AUC_TESTS: dict[AucTestMethod, AucTest] = {
    "delong_t": AucTest(has_df=True),
    "delong": AucTest(),
    "permutation": AucTest(labels_are_random=True, permutes=True),
    "mann_whitney": AucTest(labels_are_random=True),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucTestOptions:
    """The options of `auc_test` after they were checked."""

    null: float
    method: AucTestMethod
    alternative: Alternative
    adjust: Adjust | None
    n_perm: int
    seed: Seed
    best_of: int | None

    @property
    def test(self) -> AucTest:
        """The record of the method."""
        return AUC_TESTS[self.method]

    def __post_init__(self) -> None:
        check_alternative(self.alternative)
        check_adjust(self.adjust)
        hint = (
            'Use method="mann_whitney" or method="permutation". These methods do not support '
            'null=, weight=, cluster= or missing="worst".'
        )
        subject, supported = f"method={self.method!r}", self.test.labels_are_random
        check_supported("best_of", self.best_of, subject, supported=supported, hint=hint)
        subject, supported = f"alternative={self.alternative!r}", self.alternative == "greater"
        hint = 'Use alternative="greater".'
        check_supported("best_of", self.best_of, subject, supported=supported, hint=hint)


def parse_auc_test_method(method: AucTestMethod | None, null: float, roles: Roles) -> AucTestMethod:
    """Return the method or the default; raise an error if it does not support `null` or a role."""
    check_choice("method", method, (*AUC_TESTS, None))
    values = {
        "null": None if null == 0.5 else null,
        "missing": roles.missing if is_text(roles.missing, "worst") else None,
    }
    delong_options = {"weight": roles.weight, "cluster": roles.cluster, **values}
    if method is None:
        is_plain = all(value is None for value in delong_options.values())
        method = "mann_whitney" if is_plain else "delong_t"
    for name, value in delong_options.items():
        check_supported(
            name,
            value,
            f"method={method!r}",
            supported=not AUC_TESTS[method].labels_are_random,
            noun="value" if name in values else "option",
            hint=f'Omit {name}=, or use method="delong_t".',
        )
    return method


def auc_test_table(cases: Cases, options: AucTestOptions) -> pl.DataFrame:
    """Return the result of `auc_test` for the cases of one model, with unadjusted p-values."""
    cases = scale_weights(cases, by_class=True)
    scan = Scan.from_cases(cases)
    n_pos, n_neg = scan.totals.pos_rows, scan.totals.neg_rows
    clusters = None if cases.cluster is None else Clusters.from_scan(scan, cases.cluster)
    pairs = count_pairs(scan)
    auc = pairs.areas[0]
    sizes, df = class_sizes(scan, clusters), None
    ranks = CenteredRanks.from_scan(scan) if options.test.labels_are_random else None
    if ranks is not None:
        variance = ranks.null_variance(n_pos, n_neg)
    else:
        parts = auc_variance_parts(scan, pairs, clusters, cases.weight)
        variance = parts.total
        if options.test.has_df:
            df = parts.df(sizes, n_pos + n_neg if clusters is None else clusters.sizes[2])
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    statistic = (auc - options.null) / se
    p_value = normal_p_value(statistic, options.alternative, df)
    test = np.full(len(auc), options.method, object)
    best_auc = np.full(len(auc), np.nan)
    if options.best_of is not None:
        best_auc = expected_best_auc(np.sqrt(variance), options.best_of)
    if ranks is not None and options.test.permutes:
        defined = np.flatnonzero(variance > 0)
        keys = stream_keys(scan.rows.keys, cases.model)
        permuted = permutation_p_values(ranks, pairs, defined, options, keys)
        p_value[defined] = permuted.p_value
        test[defined[permuted.exact]] = "permutation_exact"
        best_auc[defined[permuted.exact]] = permuted.best_auc[permuted.exact]
    # If the variance is 0, the test is defined only if the area equals the area under the null
    # hypothesis.
    zero_variance = variance == 0
    equal = zero_variance & (np.abs(auc - options.null) < AREA_ROUNDING)
    statistic[equal], p_value[equal] = 0, 1
    if ranks is None:
        note = class_notes(
            *sizes,
            clustered=clusters is not None,
            zero_variance=zero_variance,
            few_rows=few_rows(*sizes, MIN_AREA_UNITS),
        )
    else:  # the permutation and Mann-Whitney tests need only one row of each class
        note = first_notes(absent_classes(*sizes) | {"zero_variance": zero_variance})
    columns: dict[str, Any] = {
        "n_pos": n_pos,
        "n_neg": n_neg,
        "n_missing": scan.rows.unscored.n_missing,
        "auc": auc,
        "null": options.null,
        "se": se,
        "statistic": statistic,
        "df": np.full(len(auc), np.nan) if df is None else df,
        "p_value": p_value,
        "p_adjusted": p_value,
        "p_best": best_p_value(p_value, options.best_of),
        "auc_by_chance": best_auc,
        "best_of": options.best_of,
        "test": list(test),
        "note": list(note),
    }
    return build_table(scan.rows.keys, columns, AUC_TEST.columns(options.best_of))


def best_p_value(p_value: NDArray[np.float64], best_of: int | None) -> NDArray[np.float64]:
    """Return 1 - (1 - p)^N for N = `best_of`, without the loss of digits for small p."""
    with np.errstate(divide="ignore"):  # for p = 1
        result: NDArray[np.float64] = -np.expm1((best_of or 1) * np.log1p(-p_value))
    return result


def expected_best_auc(se: NDArray[np.float64], best_of: int) -> NDArray[np.float64]:
    """Return the expected largest of `best_of` random areas, normal and limited to [0, 1]."""
    from scipy.special import log_ndtr

    # The expected value of the maximum z of N standard normal variables that are limited to
    # [-c, c] is c minus the integral of Φ(z)^N from -c to c. It is constant for c > 12.
    z = np.linspace(0, 12, 12_001)
    distribution = np.exp(best_of * log_ndtr(z)) + np.exp(best_of * log_ndtr(-z))
    steps = (distribution[1:] + distribution[:-1]) / 2 * np.diff(z)
    maximum = z - np.append(0, np.cumsum(steps))
    with np.errstate(divide="ignore"):  # for constant scores
        limit = 0.5 / se
    result: NDArray[np.float64] = 0.5 + se * np.interp(limit, z, maximum)
    return result


MAX_GROUP_ROWS = 10**9  # numpy draws without replacement only if there are fewer rows


def permutation_p_values(
    ranks: CenteredRanks,
    pairs: Pairs,
    groups: NDArray[np.int64],
    options: AucTestOptions,
    keys: Sequence[tuple[int, ...]],
) -> PermutationTests:
    """Return the permutation tests of groups with both classes; `keys` are those of all groups."""
    m, n = pairs.pos[groups], pairs.neg[groups]
    n_rows = m + n
    if len(n_rows) and n_rows.max() >= MAX_GROUP_ROWS:
        problem = f"a group has {n_rows.max()} rows, too many to permute their labels"
        hint = 'Use method="mann_whitney", which approximates this test for many rows.'
        raise OptionValueError.compose("method", "permutation", problem, hint)
    # The rows of the smaller class are drawn. The sum of the centered ranks of all rows is 0.
    # Therefore the sum over the negatives is the negative of the sum over the positives.
    draws = _Draws(
        ranks=ranks,
        groups=groups,
        n_rows=n_rows,
        n_drawn=np.minimum(m, n),
        sign=np.where(m > n, -1, 1),
        observed=(pairs.wins[groups] + pairs.wins_or_ties[groups]).astype(np.int64) - m * n,
        options=options,
    )
    n_perm = options.n_perm
    shapes = zip(n_rows.tolist(), draws.n_drawn.tolist(), strict=True)
    n_subsets = np.array([_count_subsets(*shape, n_perm) for shape in shapes], np.int64)
    exact = n_subsets <= n_perm
    n_extreme, best_auc = np.zeros(len(groups), np.int64), np.full(len(groups), np.nan)
    _count_enumerated(draws, np.flatnonzero(exact), n_extreme, best_auc)
    _count_sampled(draws, np.flatnonzero(~exact), n_extreme, keys)
    p_value = permutation_p_value(n_extreme, np.minimum(n_subsets, n_perm), exact)
    return PermutationTests(p_value, exact, best_auc)


class PermutationTests(NamedTuple):
    """Permutation tests; `best_auc` is NaN if not all permutations were enumerated (`exact`)."""

    p_value: NDArray[np.float64]
    exact: NDArray[np.bool_]
    best_auc: NDArray[np.float64]


class _Draws(NamedTuple):
    """Groups from which subsets of rows, as large as the smaller class, are drawn.

    `sign` is -1 if this is the negative class; `observed` is the rank sum of the positives.
    """

    ranks: CenteredRanks
    groups: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    n_drawn: NDArray[np.int64]
    sign: NDArray[np.int64]
    observed: NDArray[np.int64]
    options: AucTestOptions

    def is_extreme(self, sums: NDArray[Any], i: Any) -> NDArray[np.bool_]:
        """Return whether sums of the ranks of subsets are as extreme as the observed sums."""
        return is_as_extreme(sums, self.observed[i], self.options.alternative)


def _count_subsets(n_rows: int, n_drawn: int, n_perm: int) -> int:
    """Return the number of subsets of `n_drawn` of `n_rows` rows, but at most `n_perm + 1`."""
    # At most half of the rows are drawn. The number of subsets is therefore at least 2^n_drawn.
    if n_drawn >= n_perm.bit_length():
        return n_perm + 1
    return min(math.comb(n_rows, n_drawn), n_perm + 1)


def _count_enumerated(
    draws: _Draws,
    selected: NDArray[np.int64],
    n_extreme: NDArray[np.int64],
    best_auc: NDArray[np.float64],
) -> None:
    """Count in `n_extreme` the subsets of `selected` groups that are as extreme as the data."""
    best_of = draws.options.best_of
    shapes = np.stack([draws.n_rows[selected], draws.n_drawn[selected]], axis=1)
    for n_rows, n_drawn in np.unique(shapes, axis=0).tolist():
        same_shape = selected[(shapes == (n_rows, n_drawn)).all(axis=1)]
        n_pairs = n_drawn * (n_rows - n_drawn)  # a sum is between -n_pairs and n_pairs
        n_sums = np.zeros((0 if best_of is None else len(same_shape), 2 * n_pairs + 1), np.int64)
        for positions in _enumerate_subsets(n_rows, n_drawn):
            size = max(1, BLOCK_ROWS // max(positions.size, n_rows))
            for start in range(0, len(same_shape), size):
                part = same_shape[start : start + size]
                ranks = draws.ranks.of_rows(draws.groups[part], n_rows)
                sums = ranks[:, positions].sum(axis=2) * draws.sign[part, None]
                extreme = draws.is_extreme(sums, (part, None))
                n_extreme[part] += np.count_nonzero(extreme, axis=1)
                if best_of is not None:
                    counted = n_sums[start : start + size]
                    cells = sums + (n_pairs + n_sums.shape[1] * np.arange(len(part))[:, None])
                    added = np.bincount(cells.ravel(), minlength=counted.size)
                    counted += added.reshape(counted.shape)
        if best_of is not None:
            best_auc[same_shape] = _expected_maximum(n_sums, best_of)


def _expected_maximum(n_sums: NDArray[np.int64], best_of: int) -> NDArray[np.float64]:
    """Return the expected largest of `best_of` areas; columns count areas from 0 to 1."""
    # The expected value of a number in [0, 1] is 1 minus the integral of its distribution function.
    share = np.cumsum(n_sums, axis=1) / n_sums.sum(axis=1, keepdims=True)
    result: NDArray[np.float64] = 1 - (share[:, :-1] ** best_of).mean(axis=1)
    return result


def _enumerate_subsets(n_rows: int, n_drawn: int) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of all subsets; row i of a block has the positions of the rows of a subset."""
    subsets = combinations(range(n_rows), n_drawn)
    size = max(1, BLOCK_ROWS // n_drawn)
    while block := list(chain.from_iterable(islice(subsets, size))):
        yield np.array(block, np.int64).reshape(-1, n_drawn)


def _count_sampled(
    draws: _Draws,
    selected: NDArray[np.int64],
    n_extreme: NDArray[np.int64],
    keys: Sequence[tuple[int, ...]],
) -> None:
    """Add the number of extreme subsets among `n_perm` random ones of `selected` to `n_extreme`."""
    samplers, options = {}, draws.options
    tasks = []
    for i in selected.tolist():
        n_scores = len(draws.ranks.of_group(draws.groups[i])[0])
        sampler = SubsetSampler.fastest(
            n_rows=int(draws.n_rows[i]), n_scores=n_scores, n_drawn=int(draws.n_drawn[i])
        )
        samplers[i] = sampler
        sizes = batch_sizes(options.n_perm, sampler.batch_size)
        tasks += [(i, *batch) for batch in enumerate(sizes)]

    def count_extreme(task: tuple[int, int, int]) -> int:
        i, batch, size = task
        stream = options.seed.stream(keys[draws.groups[i]], batch)
        sums = samplers[i].sums(stream, *draws.ranks.of_group(draws.groups[i]), size)
        return int(np.count_nonzero(draws.is_extreme(sums * draws.sign[i], i)))

    counts = np.array(run_parallel(count_extreme, tasks, arrays_only=True), np.int64)
    np.add.at(n_extreme, np.array([task[0] for task in tasks], np.int64), counts)


# Measured times of the strategies of SubsetSampler in nanoseconds: for a distinct score, for a row,
# for a drawn row and for a call. Only the ratios matter.
SCORE_COST, ROW_COST, DRAW_COST, CALL_COST = 90, 4, 60, 10_000
MIN_ROWS_PER_DRAW = 20  # if n_rows / n_drawn is larger, numpy draws rows without permuting all rows
UINT16_VALUES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubsetSampler:
    """Draws subsets of `n_drawn` rows, and adds up their ranks.

    The strategies draw the number of rows with each distinct score (`"scores"`), the rows of a
    subset one after the other (`"draws"`), or for each row whether it is in the subset (`"rows"`).
    """

    strategy: Literal["scores", "draws", "rows"]
    n_drawn: int
    batch_size: int

    @classmethod
    def fastest(cls, *, n_rows: int, n_scores: int, n_drawn: int) -> SubsetSampler:
        """Return the sampler with the fastest strategy."""
        costs = {"scores": SCORE_COST * n_scores, "rows": ROW_COST * n_rows}
        if n_drawn * MIN_ROWS_PER_DRAW <= n_rows:
            costs["draws"] = CALL_COST + DRAW_COST * n_drawn
        strategy: Any = min(costs, key=costs.__getitem__)
        width = {"scores": n_scores, "rows": n_rows, "draws": n_drawn}[strategy]
        # A row needs one byte of memory; a score or a draw needs eight bytes.
        block = 4 * BLOCK_ROWS if strategy == "rows" else BLOCK_ROWS
        return cls(strategy=strategy, n_drawn=n_drawn, batch_size=max(1, block // width))

    def sums(
        self,
        stream: np.random.Generator,
        n_rows: NDArray[np.int64],
        ranks: NDArray[np.int64],
        size: int,
    ) -> NDArray[np.int64]:
        """Return the sum of ranks of each of `size` subsets; scores have `n_rows` and `ranks`."""
        result: NDArray[np.int64]
        if self.strategy == "scores":
            drawn = stream.multivariate_hypergeometric(
                n_rows, self.n_drawn, size, method="marginals"
            )
            result = drawn @ ranks
            return result
        ends = np.cumsum(n_rows)
        total = int(ends[-1])
        if self.strategy == "draws":
            result = np.empty(size, np.int64)
            for i in range(size):
                positions = stream.choice(total, self.n_drawn, replace=False, shuffle=False)
                result[i] = ranks[np.searchsorted(ends, positions, "right")].sum()
            return result
        subsets: NDArray[Any] = sample_subsets(stream, size, total, self.n_drawn)
        result = subsets @ np.repeat(ranks, n_rows)
        return result


def sample_subsets(
    stream: np.random.Generator, size: int, n_rows: int, n_drawn: int
) -> NDArray[np.bool_]:
    """Return `size` random subsets of `n_drawn` rows, all subsets with the same probability."""
    # First, each row is included with the same probability. Then random rows are added or removed
    # until there are `n_drawn` rows. All subsets of the same size remain equally likely. The first
    # step includes fewer rows than needed, because adding a row takes fewer attempts than removing
    # a row.
    expected = max(0.0, n_drawn - math.sqrt(n_drawn * (1 - n_drawn / n_rows)))
    uniform = stream.integers(0, UINT16_VALUES, (size, n_rows), np.uint16)
    subsets: NDArray[np.bool_] = uniform < int(UINT16_VALUES * expected / n_rows)
    flat = subsets.reshape(-1)
    lacking = n_drawn - np.count_nonzero(subsets, axis=1)
    # An attempt to add a row succeeds with a probability of at least 1 - n_drawn / n_rows. An
    # attempt to remove a row succeeds with a probability of at least n_drawn / n_rows. Therefore
    # the expected number of passes is limited.
    while lacking.any():
        # A pass changes at most `lacking` rows of a subset, so a pass never adds or removes too
        # many rows.
        subset = np.repeat(np.arange(size), np.abs(lacking))
        positions = subset * n_rows + stream.integers(0, n_rows, len(subset))
        positions = np.sort(positions[flat[positions] != (lacking > 0)[subset]])
        changed = positions[np.diff(positions, prepend=-1) > 0]
        flat[changed] ^= True
        lacking -= np.sign(lacking) * np.bincount(changed // n_rows, minlength=size)
    return subsets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CenteredRanks:
    """Doubled ranks minus their mean of the distinct scores; those of a group start at `starts`."""

    starts: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    rank: NDArray[np.int64]

    @classmethod
    def from_scan(cls, scan: Scan) -> CenteredRanks:
        """Return the ranks of the rows of all groups; rows must not have weights."""
        total = scan.totals.pos_rows + scan.totals.neg_rows

        def rank_block(block: Block) -> tuple[NDArray[np.int64], ...]:
            above, at_least = block.tp0 + block.fp0, block.tp + block.fp
            rank = block.of_steps(total) - at_least - above
            return block.groups, np.diff(block.starts), at_least - above, rank

        starts = np.zeros(len(total) + 1, np.int64)
        n_rows, ranks = [starts[:0]], [starts[:0]]
        for groups, n_scores, rows, rank in scan.map(rank_block):
            starts[groups + 1] += n_scores
            n_rows.append(rows)
            ranks.append(rank)
        return cls(
            starts=np.cumsum(starts), n_rows=np.concatenate(n_rows), rank=np.concatenate(ranks)
        )

    def of_group(self, group: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of rows and the rank of each score of a group."""
        scores = slice(self.starts[group], self.starts[group + 1])
        return self.n_rows[scores], self.rank[scores]

    def of_rows(self, groups: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """Return the ranks of all rows of groups that have `length` rows each."""
        n_scores = self.starts[groups + 1] - self.starts[groups]
        positions = concatenated_ranges(self.starts[groups], n_scores)
        return np.repeat(self.rank[positions], self.n_rows[positions]).reshape(-1, length)

    def null_variance(
        self, n_pos: NDArray[np.int64], n_neg: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the variance of each AUC over all permutations of labels; NaN for one class."""
        squares = np.zeros(len(n_pos))
        filled = np.flatnonzero(np.diff(self.starts))
        if len(filled):
            sums = exact_sums(self.n_rows, np.abs(self.rank), self.starts[filled], power=2)
            squares[filled] = sums.astype(np.float64)
        m, n = n_pos.astype(np.float64), n_neg.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance: NDArray[Any] = squares / (4 * m * n * (m + n) * (m + n - 1))
        return np.where((n_pos > 0) & (n_neg > 0), variance, np.nan)
