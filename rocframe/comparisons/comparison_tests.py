"""Tests of pairs of models: of mean losses, by bootstrap, by permutation, and their records.

The sources are in the docstring of `compare`, the definitions in docs/numbers.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from rocframe.areas.pairs import ZERO_VARIANCE, doubled_ranks, group_sums
from rocframe.comparisons.decision_intervals import paired_samples
from rocframe.comparisons.delong import delong_paired
from rocframe.comparisons.hypothesis import (
    METRICS,
    ComparedMetric,
    Hypothesis,
    Quantity,
    area_estimates,
    area_estimates_of_all_rows,
    difference_columns,
    welch_columns,
)
from rocframe.comparisons.pairing import (
    PairingOptions,
    model_position,
    read_instances,
    read_models,
    segment_sums,
)
from rocframe.errors import OptionValueError
from rocframe.inference import check_adjust, is_as_extreme, permutation_p_value
from rocframe.kernel.arrays import batch_sizes, run_parallel
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.options import NOT_GIVEN, NotGiven, check_choice, check_supported
from rocframe.resampling import IntervalColumns
from rocframe.text import join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.pairs import Clusters
    from rocframe.comparisons.hypothesis import Estimator, PairedComparison, UnpairedTest
    from rocframe.comparisons.pairing import Instances, ModelBatch, PairingColumns, UnpairedModels
    from rocframe.inference import Adjust, Alternative
    from rocframe.inputs.roles import Roles
    from rocframe.kernel.scan import Block, RandomDraws, ReplicateCounts, Scan, Seed


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
        columns = difference_columns(comparison.hypothesis, (means[a], means[b]), variance, df)
        return comparison.record(
            pair, columns, rows=rows.class_rows, units=rows.class_units, variance=variance
        )

    return run_parallel(compare_pair, comparison.pairs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedRows:
    """The rows of a batch, for weighted means of each group and the variances of these means.

    `n_units` and `class_units` count the rows or clusters of groups, and of their classes.
    """

    starts: NDArray[np.int64]
    group: NDArray[np.int64]
    count: NDArray[np.float64]
    weight: NDArray[np.float64]
    clusters: Clusters | None
    class_rows: tuple[NDArray[np.int64], NDArray[np.int64]]
    n_units: NDArray[np.int64]
    class_units: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def from_batch(cls, batch: ModelBatch) -> PairedRows:
        """Return the rows of a batch."""
        count, weight, clusters = batch.count, batch.weight, batch.clusters
        n_pos, n_neg = class_rows = tuple(batch.class_sums(count))
        n_units = n_pos + n_neg
        if clusters is not None:
            n_pos, n_neg, n_units = clusters.sizes
        return cls(
            starts=batch.starts[:-1],
            group=batch.group,
            count=count.astype(np.float64),
            weight=np.ones(len(count)) if weight is None else weight,
            clusters=clusters,
            class_rows=class_rows,
            n_units=n_units,
            class_units=(n_pos, n_neg),
        )

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted mean of the values of each group; NaN for groups without rows."""
        row_weight = self.count * self.weight
        total = segment_sums(row_weight, np.ones(len(values)), self.starts)
        with np.errstate(invalid="ignore"):
            means: NDArray[np.float64] = segment_sums(row_weight, values, self.starts) / total
        return means

    def variance_of_mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of each mean; NaN for groups with fewer than two rows or clusters.

        It is n/(n - 1) Σ(weight · (value - mean) / total weight)² over the n rows, or over
        clusters, whose terms are added up first.
        """
        total = segment_sums(self.count * self.weight, np.ones(len(values)), self.starts)
        deviation = self.weight * (values - self.mean(values)[self.group]) / total[self.group]
        if self.clusters is None:
            squares = segment_sums(self.count * deviation, deviation, self.starts)
        else:
            terms, clusters = self.count * deviation, self.clusters
            sums = np.zeros(len(clusters.group))
            for rows, cluster in zip(clusters.rows, clusters.cluster, strict=True):
                sums += np.bincount(cluster, terms[rows], len(sums))
            squares = np.bincount(clusters.group, sums**2, len(self.starts))
        n = self.n_units
        with np.errstate(divide="ignore", invalid="ignore"):
            variance: NDArray[np.float64] = n / (n - 1) * squares
        variance[n < 2] = np.nan
        variance[n * variance < ZERO_VARIANCE] = 0
        return variance


def loss_estimates(scan: Scan, quantity: Quantity) -> tuple[NDArray[np.float64], ...]:
    """Return the mean loss of each group, its variance, and Welch's variance²/(n - 1)."""
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
        return mean, variance, variance**2 / (n - 1)


def bootstrap_test(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the bootstrap test of each pair, which has its own resamples."""
    return [_resampled_pair(comparison, pair) for pair in comparison.pairs]


def _resampled_pair(comparison: PairedComparison, pair: tuple[int, int]) -> dict[str, Any]:
    """Return the columns of the comparison of a pair of models, with an element per group."""
    hypothesis, draws = comparison.hypothesis, comparison.draws
    quantity = hypothesis.quantity
    depends_on_prevalence = quantity.depends_on_prevalence
    batch = replace(comparison.batch, models=tuple(sorted(pair))).merge_identical_rows()
    scans = list(batch.scans())
    values = [quantity.values(scan) for scan in scans]

    def sample_values(resamples: list[ReplicateCounts]) -> NDArray[np.float64]:
        # Corners of the ROC curve are enough for areas under it and for its rates.
        resample_scans = (
            resample.scan(corners=not depends_on_prevalence) for resample in resamples
        )
        return np.stack([quantity.values(scan) for scan in resample_scans], axis=1)

    a, b = (batch.models.index(model) for model in pair)
    intervals = IntervalColumns(len(batch.groups))
    n_pos, n_neg = np.zeros((2, len(batch.groups)), np.int64)
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
            arrays_only=quantity.fixed_rate is None,
        )
        intervals.add(
            group,
            samples[:, a] - samples[:, b],
            float(values[a][group] - values[b][group]),
            None,
            hypothesis.level,
            bounds=(-1.0, 1.0),
            n_redrawn=n_redrawn,
        )
    df = np.maximum(n_pos - 1.0, 1) if METRICS[quantity.metric].bootstrap_t else None
    return comparison.record(
        pair,
        difference_columns(hypothesis, (values[a], values[b]), intervals.variance, df),
        rows=tuple(batch.class_sums(batch.count)),
        units=(n_pos, n_neg),
        variance=intervals.variance,
        redrawn=intervals.n_redrawn,
    )


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
            "auc_a": area_a,
            "auc_b": area_b,
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


AREAS: tuple[ComparedMetric, ...] = ("auc",)
LOSSES: tuple[ComparedMetric, ...] = ("brier", "log_loss")
Family = Literal["group", "all"]
EXAMPLE_RANGES = {"fpr": (0, 0.1), "tpr": (0.9, 1)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparisonTest:
    """A test of the difference of two models.

    `compare_pairs` compares models that scored the same rows. For different rows, it is None, and
    `compare_estimates` compares two results of `estimator`. `needs_variance` is false if the test
    has a p-value for a variance of 0. `unsupported` maps options to hints for error messages.
    """

    name: str
    metrics: tuple[ComparedMetric, ...] = AREAS
    compare_pairs: Callable[[PairedComparison], Iterable[dict[str, Any]]] | None = None
    estimator: Estimator | None = None
    compare_estimates: UnpairedTest = welch_columns
    draws: Literal["n_boot", "n_perm"] | None = None
    has_limits: bool = True
    compares_rates: bool = False
    needs_variance: bool = True
    unsupported: Mapping[str, str] = field(default_factory=dict)

    @property
    def argument(self) -> str:
        """The argument that selects the test, for error messages."""
        return f'method="{self.name}"'

    def supports(self, metric: ComparedMetric, roles: Roles) -> bool:
        """Return whether the test supports the metric, and all columns of rows that are given."""
        return metric in self.metrics and not self.unsupported.keys() & roles.optional_columns

    def read(self, frame: pl.DataFrame, columns: PairingColumns) -> Instances | UnpairedModels:
        """Read the models of a collected frame, with pairing if the test needs it."""
        read = read_models if self.compare_pairs is None else read_instances
        return read(frame, columns)

    def check_quantity(self, quantity: Quantity, tests: Mapping[str, ComparisonTest]) -> None:
        """Raise an error if the test cannot compare the quantity; name the `tests` that can."""
        if quantity.metric not in self.metrics:
            methods = [test.argument for test in tests.values() if quantity.metric in test.metrics]
            problem = f"this method does not compare the metric {quantity.metric!r}"
            hint = f"Use {join_names(methods, 'or')}."
            raise OptionValueError.compose("method", self.name, problem, hint)
        if quantity.fixed_rate is None or self.compares_rates:
            return
        option, rate = quantity.fixed_rate
        hint = 'Use method="bootstrap"'
        if option not in self.unsupported:
            example = EXAMPLE_RANGES[option]
            hint += f", or pass the range of a partial area, such as {option}={example}"
        problem = f"method={self.name!r} compares areas, not rates"
        raise OptionValueError.compose(option, rate, problem, f"{hint}.")

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
        ComparisonTest(name="t_test", metrics=LOSSES, compare_pairs=t_test),
        ComparisonTest(
            name="t_test_unpaired",
            metrics=LOSSES,
            estimator=loss_estimates,
            unsupported={"cluster": 'Use method="t_test" with id=; this method supports clusters.'},
        ),
        ComparisonTest(
            name="bootstrap",
            metrics=get_args(ComparedMetric),
            compare_pairs=bootstrap_test,
            draws="n_boot",
            compares_rates=True,
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
    """Options of `compare`; `tests` are the tests that `method` can name."""

    roles: Roles
    tests: Mapping[str, ComparisonTest]
    method: str | NotGiven
    quantity: Quantity
    margin: float | None
    alternative: Alternative = "two-sided"
    level: float
    baseline: object
    adjust: Adjust | None
    family: Family
    n_boot: int
    n_perm: int = 2000
    seed: Seed

    def __post_init__(self) -> None:
        test, quantity, hypothesis = self.test, self.quantity, self.hypothesis
        check_adjust(self.adjust)
        check_choice("family", self.family, get_args(Family))
        test.check_quantity(quantity, self.tests)
        if quantity.is_loss and self.roles.missing == "worst":
            problem = "the loss of a row without a score is undefined"
            raise OptionValueError.compose("missing", "worst", problem, 'Use missing="drop".')
        test.check_options(self.roles, hypothesis)
        if self.margin is not None and self.baseline is None:
            problem = "a test of non-inferiority requires a baseline model"
            hint = 'Pass, for example, baseline="old".'
            raise OptionValueError.compose("margin", abs(hypothesis.null), problem, hint)

    @property
    def test(self) -> ComparisonTest:
        """The test that `method` names, or the first that supports the metric and the roles."""
        if isinstance(self.method, NotGiven):
            return next(
                test
                for test in self.tests.values()
                if test.supports(self.quantity.metric, self.roles)
            )
        check_choice("method", self.method, self.tests)
        return self.tests[self.method]

    @property
    def hypothesis(self) -> Hypothesis:
        """The null hypothesis and the alternative."""
        return Hypothesis.parse(self.quantity, self.margin, self.alternative, self.level)

    @property
    def n_draws(self) -> int:
        """The number of resamples or permutations of the test."""
        draws = {"n_boot": self.n_boot, "n_perm": self.n_perm, None: 0}
        return draws[self.test.draws]

    def baseline_position(self, models: pl.Series) -> int | None:
        """Return the position of the baseline in `models`; None without a baseline or rows."""
        if self.baseline is None or not len(models):
            return None
        return model_position("baseline", self.baseline, models.to_list())

    def pairing(self, **options: Any) -> PairingOptions:
        """Return the options of the pairing of rows; raise an error if one is invalid."""
        unpaired = (
            test.argument
            for test in self.tests.values()
            if test.supports(self.quantity.metric, self.roles) and test.compare_pairs is None
        )
        return PairingOptions(
            roles=self.roles,
            **options,
            paired=self.test.compare_pairs is not None,
            unpaired=next(unpaired, None),
            probabilities=self.quantity.is_loss,
        )
