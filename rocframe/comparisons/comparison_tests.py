"""Tests of pairs of models: of mean losses, by bootstrap, by permutation, and their records.

The sources are in the docstring of `compare`, the definitions in docs/reference/compare.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import polars as pl

from rocframe.areas.pairs import ZERO_VARIANCE, Clusters, class_sizes, doubled_ranks, group_sums
from rocframe.comparisons.decision_tests import kosinski_test, mcnemar_test, miettinen_nurminen_test
from rocframe.comparisons.delong import delong_paired
from rocframe.comparisons.hypothesis import (
    Hypothesis,
    Quantity,
    area_estimates,
    area_estimates_of_all_rows,
    difference_columns,
    wald_columns,
    welch_columns,
)
from rocframe.comparisons.influence_tests import delta_estimates, delta_test, share_estimates
from rocframe.comparisons.paired_samples import PairedRows, paired_samples
from rocframe.comparisons.pairing import PairingOptions, model_position, read_instances, read_models
from rocframe.curves.table import PointTable
from rocframe.errors import OptionValueError
from rocframe.inference import check_adjust, is_as_extreme, permutation_p_value
from rocframe.inputs.cases import RowState
from rocframe.kernel.arrays import batch_sizes, run_parallel
from rocframe.kernel.scan import BLOCK_ROWS, RandomDraws, ReplicateStatistic, resample_groups
from rocframe.metrics.statistics import PointSearch
from rocframe.options import NOT_GIVEN, NotGiven, check_choice, check_flag, check_supported
from rocframe.resampling import IntervalColumns
from rocframe.text import join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.hypothesis import (
        Estimator,
        PairedComparison,
        UnpairedEstimates,
        UnpairedSample,
        UnpairedTest,
    )
    from rocframe.comparisons.pairing import (
        Instances,
        PairingColumns,
        ParsedThresholds,
        UnpairedModels,
    )
    from rocframe.inference import Adjust, Alternative
    from rocframe.inputs.roles import Roles
    from rocframe.kernel.scan import Block, ReplicateCounts, Scan, Seed


def t_test(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the paired t test of each pair of models that scored the same rows."""
    batch, quantity = comparison.batch, comparison.hypothesis.quantity
    if batch.instances.weight is None:
        batch = batch.in_rank_order()  # sums of floats depend on the order of rows
    rows, negative = PairedRows.from_batch(batch), batch.negative
    losses, means = {}, {}
    for model in batch.models:
        of_positives, of_negatives = quantity.row_losses(batch.instances.score[model][batch.rows])
        losses[model] = np.where(negative, of_negatives, of_positives)
        means[model] = rows.mean(losses[model])

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        a, b = pair
        variance = rows.variance_of_mean(losses[a] - losses[b])
        df = (rows.n_units - 1).astype(np.float64)
        own = None
        if comparison.hypothesis.with_ratio:
            own = rows.variance_of_mean(losses[a]), rows.variance_of_mean(losses[b])
        columns = difference_columns(comparison.hypothesis, (means[a], means[b]), variance, df, own)
        return comparison.record(
            pair, columns, rows=rows.class_rows, units=rows.class_units, variance=variance
        )

    return run_parallel(compare_pair, comparison.pairs)


def loss_estimates(sample: UnpairedSample) -> UnpairedEstimates:
    """Return the mean loss of each group, its variance, and Welch's variance²/(n - 1)."""
    scan, quantity = sample.scan, sample.quantity
    mean = quantity.values(scan)

    def squared_deviations(block: Block) -> list[NDArray[np.float64]]:
        of_positives, of_negatives = quantity.row_losses(scan.codec.decode(block.codes))
        pos = block.pos if block.pos_squares is None else block.pos_squares
        neg = block.neg if block.neg_squares is None else block.neg_squares
        center = block.of_steps(mean)
        squares = pos * (of_positives - center) ** 2 + neg * (of_negatives - center) ** 2
        return [np.add.reduceat(squares, block.starts[:-1])]

    totals = scan.totals
    with_weights = totals.pos.dtype.kind == "f"
    (squares,) = group_sums(scan, scan.map(squared_deviations, squares=with_weights), 1)
    n = totals.pos_rows + totals.neg_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = n / (n - 1) * squares / (totals.pos + totals.neg) ** 2
    variance[n < 2] = np.nan
    variance[n * variance < ZERO_VARIANCE] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return sample.estimates(mean, variance, variance**2 / (n - 1))


def bootstrap_test(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the bootstrap test of each pair, which has its own resamples."""
    comparison = _merge_distant_rows(comparison)
    return [_resampled_pair(comparison, pair) for pair in comparison.pairs]


# A threshold of a resample that is the point of a given rate is within this many standard errors
# (and rows) of that of the data, with a probability of 1 up to rounding errors.
WINDOW_ERRORS = 8
WINDOW_ROWS = 30
MAX_MERGED_MODELS = 30  # one bit of an integer for each model


def _merge_distant_rows(comparison: PairedComparison) -> PairedComparison:
    """Merge rows whose scores by all models are far from the thresholds, for metrics at a rate.

    The thresholds of resamples, and all counts at these thresholds, do not change.
    """
    batch, instances = comparison.batch, comparison.batch.instances
    search = comparison.hypothesis.quantity.search
    has_window = isinstance(search, PointSearch) and search.window_classes is not None
    if (
        not has_window
        or instances.weight is not None
        or instances.cluster is not None
        or not len(batch.rows)
        or len(batch.models) > MAX_MERGED_MODELS
    ):
        return comparison
    group, score = batch.group, list(instances.score)
    key, is_distant = 2 * group + batch.negative, np.ones(len(batch.rows), bool)

    def limits(task: tuple[int, Scan]) -> NDArray[Any]:
        return _score_window(task[1], comparison.quantity(task[0]))

    windows = run_parallel(limits, zip(batch.models, batch.scans(), strict=True))
    for model, (low, high) in zip(batch.models, windows, strict=True):
        values = score[model][batch.rows]
        is_above, is_below = values > high[group], values < low[group]
        is_distant &= is_above | is_below
        is_distant &= instances.state[model][batch.rows] == RowState.USED
        key = 2 * key + is_above
        score[model] = score[model].copy()
        score[model][batch.rows] = np.clip(values, low[group], high[group])
    distant = np.flatnonzero(is_distant)
    _, first, number = np.unique(key[distant], return_index=True, return_inverse=True)
    count = np.zeros(len(instances.negative), np.int64)
    count[batch.rows] = batch.count
    merged = np.bincount(number, batch.count[distant], len(first)).astype(np.int64)
    count[batch.rows[distant[first]]] = merged
    kept = ~is_distant
    kept[distant[first]] = True
    before = np.append(0, np.cumsum(kept))
    batch = replace(
        batch,
        instances=replace(instances, score=score, count=count),
        rows=batch.rows[kept],
        starts=before[batch.starts],
        middle=before[batch.middle],
    )
    return replace(comparison, batch=batch)


def _score_window(scan: Scan, quantity: Quantity) -> NDArray[Any]:
    """Return the lowest and the highest score of each group that can be the threshold."""
    search, rows = quantity.search, scan.rows
    assert isinstance(search, PointSearch)
    classes = search.window_classes
    assert classes is not None
    points = search.points(scan, scores=False)
    weight = np.ones(len(rows.codes)) if rows.weights is None else rows.weights.row_weight
    negative = (rows.codes & 1).astype(bool)
    scored = rows.codes < rows.codec.first_reserved
    weight = np.where(scored & np.where(negative, classes[1], classes[0]), weight, 0.0)
    total = np.append(0.0, np.cumsum(weight))
    start, end = total[rows.starts[:-1]], total[rows.ends]
    rank = np.sum(
        [each[:, 0] for each, own in ((points.tp, classes[0]), (points.fp, classes[1])) if own],
        axis=0,
    )
    rank = np.clip(rank, 0, end - start)
    half = WINDOW_ERRORS * np.sqrt(rank * (1 - rank / np.maximum(end - start, 1)) + 1) + WINDOW_ROWS
    ends = []
    for limit, outside in ((rank + half, -np.inf), (rank - half, np.inf)):
        position = np.searchsorted(total, start + limit, "left") - 1
        inside = (limit > 0) & (start + limit < end)
        code = rows.codes[np.where(inside, position, 0)] >> 1
        ends.append(np.where(inside, rows.codec.decode(code), outside))
    return np.stack(ends)


def _resampled_pair(comparison: PairedComparison, pair: tuple[int, int]) -> dict[str, Any]:
    """Return the columns of the comparison of a pair of models, with an element per group."""
    hypothesis, draws = comparison.hypothesis, comparison.draws
    depends_on_prevalence = hypothesis.quantity.depends_on_prevalence
    batch = replace(comparison.batch, models=tuple(sorted(pair))).merge_identical_rows()
    quantities = [comparison.quantity(model) for model in batch.models]
    scans = list(batch.scans())
    values = [quantity.values(scan) for quantity, scan in zip(quantities, scans, strict=True)]
    corners = hypothesis.quantity.has_corners

    def sample_values(resamples: list[ReplicateCounts]) -> NDArray[np.float64]:
        return np.stack(
            [
                quantity.values(resample.scan(corners=corners))
                for quantity, resample in zip(quantities, resamples, strict=True)
            ],
            axis=1,
        )

    a, b = (batch.models.index(model) for model in pair)
    shape = len(batch.groups)
    intervals, own = IntervalColumns(shape), np.full((2, shape), np.nan)
    kept = {"replicates": np.full((shape, 2, draws.n_draws), np.nan)} if draws.are_kept else {}
    n_pos, n_neg = np.zeros((2, shape), np.int64)
    for group, sample in enumerate(paired_samples(batch, scans)):
        n_pos[group], n_neg[group] = sample.units
        if min(sample.units) < 2:  # all resamples of a single row or cluster are equal
            continue
        key = draws.keys[batch.groups[group]]
        samples, n_redrawn = sample.resample(
            sample_values,
            draws,
            key,
            stratified=not depends_on_prevalence,
            arrays_only=hypothesis.quantity.rate is None,
        )
        with np.errstate(invalid="ignore"):  # of infinite values
            change = samples[:, a] - samples[:, b]
            difference = float(values[a][group] - values[b][group])
        intervals.add(
            group,
            change,
            difference,
            None,
            hypothesis.level,
            bounds=(-1.0, 1.0),
            n_redrawn=n_redrawn,
        )
        with np.errstate(invalid="ignore"):
            own[:, group] = samples[:, a].var(ddof=1), samples[:, b].var(ddof=1)
        for replicates in kept.values():
            replicates[group] = hypothesis.quantity.standardized(samples[:, [a, b]].T)
    df = hypothesis.quantity.bootstrap_df(n_pos, n_neg)
    return comparison.record(
        pair,
        kept
        | difference_columns(
            hypothesis, (values[a], values[b]), intervals.variance, df, (own[0], own[1])
        ),
        rows=tuple(batch.class_sums(batch.count)),
        units=(n_pos, n_neg),
        variance=intervals.variance,
        few=not hypothesis.quantity.is_loss,
        redrawn=intervals.n_redrawn,
    )


def bootstrap_estimates(sample: UnpairedSample) -> UnpairedEstimates:
    """Return the quantity of each group with the variance of its resamples."""
    scan, quantity = sample.scan, sample.quantity
    values = quantity.values(scan)
    intervals = IntervalColumns(len(values))
    clusters = None
    if sample.cases.cluster is not None:
        clusters = Clusters.from_scan(scan, sample.cases.cluster)
    n_pos, n_neg = class_sizes(scan, clusters)
    statistic = ReplicateStatistic(
        function=quantity.values,
        depends_on_prevalence=quantity.depends_on_prevalence,
        corners=quantity.has_corners,
    )
    enough = (n_pos > 1) & (n_neg > 1)
    kept = np.full((len(values), sample.draws.n_draws), np.nan) if sample.draws.are_kept else None
    for resamples in resample_groups(scan, [statistic], sample.draws, enough):
        group = resamples.population.group
        intervals.add(
            group,
            resamples.values[0],
            float(values[group]),
            None,
            0.95,
            bounds=(-1.0, 1.0),
            n_redrawn=resamples.n_redrawn[0],
        )
        if kept is not None:
            kept[group] = quantity.standardized(resamples.values[0])
    variance = np.where(enough, intervals.variance, np.nan)
    df = quantity.bootstrap_df(n_pos, n_neg)
    spread = np.zeros(len(values)) if df is None else variance**2 / df
    return sample.estimates(values, variance, spread, redrawn=intervals.n_redrawn, replicates=kept)


# Doubled ranks with the positives first; one row per permutation.
DoubledRanks: TypeAlias = "NDArray[np.int64]"


def permutation_test(comparison: PairedComparison) -> Iterator[dict[str, Any]]:
    """Yield the columns of Bandos, Rockette and Gur's (2005) test of each pair of models."""
    alternative = comparison.hypothesis.alternative

    def difference(a: DoubledRanks, b: DoubledRanks, n_pos: int) -> NDArray[np.int64]:
        return doubled_wins_of_ranks(a, n_pos) - doubled_wins_of_ranks(b, n_pos)

    def extreme(values: NDArray[np.int64], observed: int) -> NDArray[np.bool_]:
        return is_as_extreme(values, observed, alternative)

    for columns in exchange_test(
        comparison, name="permutation", statistic=difference, extreme=extreme
    ):
        yield {**columns, "statistic": columns["difference"]}


def exchange_test(
    comparison: PairedComparison,
    *,
    name: str,
    statistic: Callable[[DoubledRanks, DoubledRanks, int], NDArray[Any]],
    extreme: Callable[[NDArray[Any], Any], NDArray[np.bool_]],
) -> Iterator[dict[str, Any]]:
    """Yield the columns of a test that exchanges two ranks of random rows or clusters of each pair.

    `statistic` is a function of the ranks of both models and the number of positives; `extreme`
    returns which of its values are at least as extreme as the observed one.
    """
    batch, draws = comparison.batch, comparison.draws
    ranks = dict(zip(batch.models, map(doubled_ranks, batch.scans()), strict=True))
    negative, cluster = batch.negative, batch.instances.cluster
    cluster = None if cluster is None else cluster[batch.rows]
    n_pos, n_neg = batch.middle - batch.starts[:-1], batch.starts[1:] - batch.middle
    for a, b in comparison.pairs:
        # Rows are sorted, so that the random exchanges depend neither on the order of rows in the
        # frame nor on the order of the two models.
        order = np.lexsort((ranks[max(a, b)], ranks[min(a, b)], negative, batch.group))
        groups = []
        for start, end, positives in zip(batch.starts, batch.starts[1:], n_pos, strict=False):
            rows = order[start:end]
            unit = np.arange(len(rows))
            if cluster is not None:
                unit = np.unique(cluster[rows], return_inverse=True)[1]
            groups.append(_RankedGroup(ranks[a][rows], ranks[b][rows], int(positives), unit))
        keys = [draws.keys[group] for group in batch.groups]
        observed, p_value, exact = _exchange_p_values(groups, keys, draws, statistic, extreme)
        area_a, area_b = (
            np.array([group.area(getattr(group, side)) for group in groups], float)
            for side in ("a", "b")
        )
        columns = {
            "estimate_a": area_a,
            "estimate_b": area_b,
            "difference": area_a - area_b,
            "statistic": observed,
            "p_value": p_value,
            "test": np.array([f"{name}_exact" if is_exact else name for is_exact in exact], object),
        }
        yield comparison.record((a, b), columns, rows=(n_pos, n_neg), units=(n_pos, n_neg))


class _RankedGroup(NamedTuple):
    """The doubled ranks of one group by both models, positives first, and the exchanged units."""

    a: DoubledRanks
    b: DoubledRanks
    n_pos: int
    unit: NDArray[np.int64]

    @property
    def n_units(self) -> int:
        """Number of rows or clusters whose ranks are exchanged."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a positive and a negative."""
        return self.n_pos * (len(self.a) - self.n_pos)

    def area(self, ranks: DoubledRanks) -> float:
        """Return the area of a model; NaN if a class is absent."""
        if not self.n_pairs:
            return np.nan
        return int(doubled_wins_of_ranks(ranks[None], self.n_pos)[0]) / (2 * self.n_pairs)

    def exchange(self, exchanged: NDArray[np.bool_]) -> tuple[DoubledRanks, DoubledRanks]:
        """Return the ranks by both models after an exchange of the units in `exchanged`."""
        rows = exchanged[:, self.unit]
        return np.where(rows, self.b, self.a), np.where(rows, self.a, self.b)


def _exchange_p_values(
    groups: Sequence[_RankedGroup],
    keys: Sequence[tuple[int, ...]],
    draws: RandomDraws,
    statistic: Callable[[DoubledRanks, DoubledRanks, int], NDArray[Any]],
    extreme: Callable[[NDArray[Any], Any], NDArray[np.bool_]],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return each statistic and p-value (NaN if a class is absent), and whether it is exact."""
    defined = np.array([group.n_pairs > 0 for group in groups], bool)
    # n units have 2^n exchanges. The number is limited to 2^31, which is larger than the largest
    # number of draws.
    exchanges = np.array([1 << min(group.n_units, 31) for group in groups], np.int64)
    exact = defined & (exchanges <= draws.n_draws)
    n_permutations = np.where(exact, exchanges, np.where(defined, draws.n_draws, 0))
    observed = [statistic(group.a[None], group.b[None], group.n_pos)[0] for group in groups]

    def count_extreme(task: tuple[int, int, int, int]) -> int:
        i, number, first, size = task
        group = groups[i]
        if exact[i]:
            exchange = np.arange(first, first + size)
            exchanged = (exchange[:, None] >> np.arange(group.n_units)) & 1 == 1
        else:
            stream = draws.seed.stream(keys[i], number)
            exchanged = stream.integers(0, 2, (size, group.n_units)) == 1
        values = statistic(*group.exchange(exchanged), group.n_pos)
        return int(np.count_nonzero(extreme(values, observed[i])))

    tasks = []
    for i, group in enumerate(groups):
        batch_size = max(1, BLOCK_ROWS // max(1, len(group.a)))
        for number, size in enumerate(batch_sizes(int(n_permutations[i]), batch_size)):
            tasks.append((i, number, number * batch_size, size))
    n_extreme = np.zeros(len(groups), np.int64)
    counts = np.array(run_parallel(count_extreme, tasks, arrays_only=True), np.int64)
    np.add.at(n_extreme, np.array([task[0] for task in tasks], np.int64), counts)
    p_value = permutation_p_value(n_extreme, n_permutations, exact)
    undefined = np.where(defined, 0.0, np.nan)
    return np.array(observed, float) + undefined, p_value + undefined, exact


def rank_counts(ranks: DoubledRanks, n_pos: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of positives and of rows at each doubled rank, one row per permutation."""
    n_permutations, n_rows = ranks.shape
    width = 2 * n_rows + 1
    size = n_permutations * width
    row_numbers = ranks + np.arange(n_permutations)[:, None] * width
    total = np.bincount(row_numbers.ravel(), minlength=size)
    pos = np.bincount(row_numbers[:, :n_pos].ravel(), minlength=size)
    return pos.reshape(n_permutations, width), total.reshape(n_permutations, width)


def doubled_wins_of_ranks(ranks: DoubledRanks, n_pos: int) -> NDArray[np.int64]:
    """Return twice the number of positives ranked before negatives; a tied pair counts 1."""
    pos, total = rank_counts(ranks, n_pos)
    cumulative = np.cumsum(pos, axis=1)
    wins: NDArray[np.int64] = ((total - pos) * (2 * cumulative - pos)).sum(axis=1)
    return wins


STATISTIC_ROUNDING = 1e-9  # largest relative rounding error of the statistic


def error_difference(a: DoubledRanks, b: DoubledRanks, n_pos: int) -> NDArray[np.float64]:
    """Return the absolute difference of the models' numbers of errors, summed over all ranks."""
    # At a rank, the errors are the positives with later ranks and the negatives up to this rank.
    # Therefore the numbers of errors of two models differ by twice the difference of their numbers
    # of true positives.
    difference = _true_positives(a, n_pos) - _true_positives(b, n_pos)
    result: NDArray[np.float64] = 2 * np.abs(difference).sum(axis=1)
    return result


def _true_positives(ranks: DoubledRanks, n_pos: int) -> NDArray[np.float64]:
    """Return the positives among the first 1, 2, 3, ... rows; tied rows share them evenly."""
    pos, total = rank_counts(ranks, n_pos)
    occupied = total > 0
    share = np.repeat(pos[occupied] / total[occupied], total[occupied]).reshape(len(ranks), -1)
    return np.cumsum(share, axis=1)


Family = Literal["group", "all"]
ComparedPairs = Literal["all", "rest"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparisonTest:
    """A test of the difference of two models.

    `compares` states which quantities it compares, and `is_default` whether it is their default,
    unless an earlier test is. `compare_pairs` compares models that scored the
    same rows. For different rows, it is None, and `compare_estimates` compares two results of
    `estimator`. `needs_variance` is false if the test has a p-value for a variance of 0.
    `unsupported` maps options to hints for error messages.
    """

    name: str
    compares: Callable[[Quantity], bool] = lambda quantity: quantity.is_area
    is_default: Callable[[Quantity], bool] = lambda _: True
    compare_pairs: Callable[[PairedComparison], Iterable[dict[str, Any]]] | None = None
    estimator: Estimator | None = None
    compare_estimates: UnpairedTest = welch_columns
    draws: Literal["n_boot", "n_perm"] | None = None
    has_limits: bool = True
    needs_variance: bool = True
    unsupported: Mapping[str, str] = field(default_factory=dict)

    @property
    def argument(self) -> str:
        """The argument that selects the test, for error messages."""
        return f'method="{self.name}"'

    @property
    def is_paired(self) -> bool:
        """Whether the test compares models that scored the same rows."""
        return self.compare_pairs is not None

    def supports(self, quantity: Quantity, given: Iterable[str]) -> bool:
        """Return whether the test supports the quantity and the options that are `given`."""
        return self.compares(quantity) and self.unsupported.keys().isdisjoint(given)

    def read(self, frame: pl.DataFrame, columns: PairingColumns) -> Instances | UnpairedModels:
        """Read the models of a collected frame, with pairing if the test needs it."""
        return (read_instances if self.is_paired else read_models)(frame, columns)

    def check_quantity(self, quantity: Quantity, tests: Mapping[str, ComparisonTest]) -> None:
        """Raise an error if the test cannot compare the quantity; name the `tests` that can."""
        if self.compares(quantity):
            return
        methods = [test.argument for test in tests.values() if test.compares(quantity)]
        problem = f"this method does not compare the metric {quantity.text}"
        hint = f"Use {join_names(methods, 'or')}."
        if quantity.rate is not None and self.compares(Quantity()):
            hint += " This method compares areas, such as the range fpr=(0, 0.1)."
        raise OptionValueError.compose("method", self.name, problem, hint)

    def check_options(self, roles: Roles, hypothesis: Hypothesis) -> None:
        """Raise an error if the test does not support one of the options."""
        rate_range = hypothesis.quantity.rate_range
        options: dict[str, object] = {
            "weight": roles.weight,
            "count": None if roles.count is NOT_GIVEN else roles.count,
            "margin": abs(hypothesis.null) if hypothesis.non_inferiority else None,
            "cluster": roles.cluster,
        }
        if rate_range is not None:
            options = {rate_range.rate: (rate_range.low, rate_range.high), **options}
        for option, hint in self.unsupported.items():
            is_alternative = option == "alternative"
            check_supported(
                option,
                hypothesis.alternative if is_alternative else options.get(option),
                f"method={self.name!r}",
                default="two-sided" if is_alternative else None,
                noun="value" if is_alternative else "option",
                hint=hint,
            )


# The permutation tests exchange the ranks of single rows, so they do not support these options.
UNSUPPORTED_BY_PERMUTATIONS = dict.fromkeys(
    ("fpr", "tpr", "weight", "count", "margin"), 'Use method="delong_t" or method="bootstrap".'
)
# Tests of numbers of independent rows.
UNSUPPORTED_BY_COUNTS = dict.fromkeys(
    ("weight", "cluster"), 'Use method="delta" or method="bootstrap".'
)
UNPAIRED_BOOTSTRAP = 'Use method="bootstrap_unpaired".'
NO_UNPAIRED_CLUSTERS = {"cluster": 'Use method="delong_t" with id=; this method supports clusters.'}
COMPARISON_TESTS: dict[str, ComparisonTest] = {
    test.name: test
    for test in (
        ComparisonTest(name="delong_t", compare_pairs=partial(delong_paired, reference="t")),
        ComparisonTest(name="delong", compare_pairs=delong_paired),
        ComparisonTest(
            name="delong_t_unpaired", estimator=area_estimates, unsupported=NO_UNPAIRED_CLUSTERS
        ),
        ComparisonTest(
            name="delong_unpaired",
            estimator=area_estimates_of_all_rows,
            unsupported=NO_UNPAIRED_CLUSTERS,
        ),
        ComparisonTest(
            name="t_test", compares=lambda quantity: quantity.is_loss, compare_pairs=t_test
        ),
        ComparisonTest(
            name="t_test_unpaired",
            compares=lambda quantity: quantity.is_loss,
            estimator=loss_estimates,
            unsupported={"cluster": 'Use method="t_test" with id=; this method supports clusters.'},
        ),
        ComparisonTest(
            name="mcnemar",
            compares=lambda quantity: quantity.is_paired_share,
            compare_pairs=mcnemar_test,
            needs_variance=False,
            unsupported=UNSUPPORTED_BY_COUNTS,
        ),
        ComparisonTest(
            name="mcnemar_exact",
            compares=lambda quantity: quantity.is_paired_share,
            compare_pairs=partial(mcnemar_test, mid=False),
            unsupported=UNSUPPORTED_BY_COUNTS | {"margin": 'Use method="mcnemar".'},
        ),
        ComparisonTest(
            name="kosinski",
            compares=lambda quantity: quantity.is_predictive_value,
            compare_pairs=kosinski_test,
            unsupported=UNSUPPORTED_BY_COUNTS | {"margin": 'Use method="delta".'},
        ),
        ComparisonTest(
            name="miettinen_nurminen",
            compares=lambda quantity: quantity.share is not None,
            estimator=share_estimates,
            compare_estimates=miettinen_nurminen_test,
            needs_variance=False,
            unsupported=dict.fromkeys(("weight", "cluster"), UNPAIRED_BOOTSTRAP),
        ),
        ComparisonTest(
            name="delta",
            compares=lambda quantity: quantity.has_influence and not quantity.is_area,
            is_default=lambda quantity: quantity.has_reliable_influence,
            compare_pairs=delta_test,
        ),
        ComparisonTest(
            name="delta_unpaired",
            compares=lambda quantity: quantity.has_influence and not quantity.is_area,
            is_default=lambda quantity: quantity.has_reliable_influence,
            estimator=delta_estimates,
            unsupported=dict.fromkeys(("weight", "cluster"), UNPAIRED_BOOTSTRAP),
        ),
        ComparisonTest(
            name="bootstrap", compares=lambda _: True, compare_pairs=bootstrap_test, draws="n_boot"
        ),
        ComparisonTest(
            name="bootstrap_unpaired",
            compares=lambda _: True,
            estimator=bootstrap_estimates,
            compare_estimates=wald_columns,
            draws="n_boot",
        ),
        ComparisonTest(
            name="permutation",
            compare_pairs=permutation_test,
            draws="n_perm",
            has_limits=False,
            unsupported=UNSUPPORTED_BY_PERMUTATIONS,
        ),
        ComparisonTest(
            name="venkatraman",
            # Venkatraman and Begg (1996)
            compare_pairs=partial(
                exchange_test,
                name="venkatraman",
                statistic=error_difference,
                extreme=lambda values, observed: values >= observed * (1 - STATISTIC_ROUNDING),
            ),
            draws="n_perm",
            has_limits=False,
            unsupported={
                **UNSUPPORTED_BY_PERMUTATIONS,
                "alternative": 'Omit alternative=, or use method="permutation" to compare areas.',
            },
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompareOptions:
    """Options of `compare`; `tests` are the tests that `method` can name.

    If `is_list`, the table has a row per metric, and `is_unpaired` is whether the models scored
    different rows if `method` is not given. `threshold` is given for each model or group. With
    `replicates`, the result are the replicates of bootstrap tests.
    """

    roles: Roles
    tests: Mapping[str, ComparisonTest]
    method: str | NotGiven
    quantities: Sequence[Quantity]
    margin: float | None
    alternative: Alternative = "two-sided"
    level: float
    baseline: object
    adjust: Adjust | None
    family: Family
    n_boot: int
    n_perm: int = 2000
    seed: Seed
    is_list: bool = False
    is_unpaired: bool = False
    pairs: ComparedPairs = "all"
    threshold: ParsedThresholds = None
    replicates: bool = False

    def __post_init__(self) -> None:
        check_flag("replicates", self.replicates)
        check_adjust(self.adjust)
        check_choice("family", self.family, get_args(Family))
        check_choice("pairs", self.pairs, get_args(ComparedPairs))
        for test, hypothesis in zip(self.selected, self.hypotheses, strict=True):
            quantity = hypothesis.quantity
            test.check_quantity(quantity, self.tests)
            if self.replicates and test.draws != "n_boot":
                problem = "this method has no bootstrap replicates"
                instead = "bootstrap" if test.is_paired else "bootstrap_unpaired"
                hint = f'Use method="{instead}", or leave out replicates=.'
                raise OptionValueError.compose("method", test.name, problem, hint)
            if quantity.of_probabilities and self.roles.missing == "worst":
                problem = "the loss of a row without a score is undefined"
                raise OptionValueError.compose("missing", "worst", problem, 'Use missing="drop".')
            test.check_options(self.roles, hypothesis)
        if self.margin is not None and self.baseline is None:
            problem = "a test of non-inferiority requires a baseline model"
            hint = 'Pass, for example, baseline="old".'
            raise OptionValueError.compose("margin", self.margin, problem, hint)
        if self.pairs == "rest" and self.baseline is not None:
            problem = "baseline= already determines the pairs"
            raise OptionValueError.compose("pairs", self.pairs, problem, "Leave out one of both.")
        if self.pairs == "rest" and self.is_paired:
            problem = "the rows of a model and all other rows are different rows"
            hint = 'Pass groups of rows without id=, such as between="sex".'
            raise OptionValueError.compose("pairs", self.pairs, problem, hint)

    @property
    def name(self) -> str | None:
        """The name of the only metric; None for a table with a row per metric."""
        return None if self.is_list else self.quantities[0].name

    @property
    def selected(self) -> list[ComparisonTest]:
        """The test of each quantity: `method`, or the first that supports it and the roles."""
        if not isinstance(self.method, NotGiven):
            check_choice("method", self.method, self.tests)
            return [self.tests[self.method]] * len(self.quantities)
        return [
            next(
                test
                for test in self.tests.values()
                if test.is_paired != self.is_unpaired
                and (not self.replicates or test.draws == "n_boot")
                and test.supports(quantity, self.given)
                and test.is_default(quantity)
            )
            for quantity in self.quantities
        ]

    @property
    def given(self) -> set[str]:
        """The options that some tests do not support."""
        return {*self.roles.optional_columns, *(() if self.margin is None else ("margin",))}

    @property
    def is_paired(self) -> bool:
        """Whether the models scored the same rows."""
        return self.selected[0].is_paired

    @property
    def hypotheses(self) -> list[Hypothesis]:
        """The null hypothesis and the alternative for each quantity."""
        return [
            Hypothesis.parse(
                quantity, self.margin, self.alternative, self.level, with_ratio=self.is_list
            )
            for quantity in self.quantities
        ]

    def draws(self, test: ComparisonTest, keys: list[tuple[int, ...]]) -> RandomDraws:
        """Return the resamples or permutations of a test."""
        n_draws = {"n_boot": self.n_boot, "n_perm": self.n_perm, None: 0}[test.draws]
        return RandomDraws(n_draws=n_draws, seed=self.seed, keys=keys, are_kept=self.replicates)

    def baseline_position(self, models: pl.Series) -> int | None:
        """Return the position of the baseline in `models`; None without a baseline or rows."""
        if self.baseline is None or not len(models):
            return None
        return model_position("baseline", self.baseline, models.to_list())

    def pairing(self, **options: Any) -> PairingOptions:
        """Return the options of the pairing of rows; raise an error if one is invalid."""
        between, given = options["between"], self.threshold
        table = given.rows if isinstance(given, PointTable) else pl.DataFrame()
        if self.pairs == "rest" and (isinstance(given, Mapping) or between in table.columns):
            problem = f"all other rows have thresholds of several values of {between!r}"
            hint = 'With pairs="rest", pass one number, or a table with a row per group of by=.'
            value = table if isinstance(given, PointTable) else given
            raise OptionValueError.compose("threshold", value, problem, hint)
        unpaired = (
            test.argument
            for test in self.tests.values()
            if test.supports(self.quantities[0], self.given) and not test.is_paired
        )
        return PairingOptions(
            roles=self.roles,
            **options,
            paired=self.is_paired,
            unpaired=next(unpaired, None),
            probabilities=any(quantity.of_probabilities for quantity in self.quantities),
        )
