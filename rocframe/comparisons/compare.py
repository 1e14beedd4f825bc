"""The functions `compare` and `gate`: tests of differences between models."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.comparisons.comparison_tests import (
    COMPARISON_TESTS,
    NO_UNPAIRED_CLUSTERS,
    CompareOptions,
    ComparisonTest,
)
from rocframe.comparisons.delong import newcombe_paired, newcombe_unpaired
from rocframe.comparisons.hypothesis import (
    PairedComparison,
    Quantity,
    UnpairedEstimates,
    area_estimates,
    unpaired_tests,
)
from rocframe.comparisons.pairing import (
    Instances,
    build_model_table,
    model_batches,
    plan_comparison,
)
from rocframe.errors import OptionValueError, PairingError
from rocframe.frames import build_table, find_keys
from rocframe.inference import adjust_p_values, first_notes, parse_level, parse_n_boot
from rocframe.inputs.cases import RowState
from rocframe.inputs.roles import Roles
from rocframe.kernel.scan import RandomDraws, Seed, stream_keys
from rocframe.options import NOT_GIVEN, NotGiven, parse_integer, parse_number, public
from rocframe.schemas.statistics import comparison_columns, gate_columns
from rocframe.schemas.table_type import MODEL, integers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.area import Range
    from rocframe.comparisons.comparison_tests import Family
    from rocframe.comparisons.hypothesis import ComparedMetric
    from rocframe.comparisons.pairing import (
        PairingColumns,
        PairingOptions,
        Unmatched,
        UnpairedModels,
    )
    from rocframe.frames import FrameT
    from rocframe.inference import Adjust, Alternative, Note
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


@public
def compare(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - name of the public option
    by: By = None,
    baseline: object = None,
    metric: ComparedMetric = "auc",
    method: ComparisonMethod | NotGiven = NOT_GIVEN,
    fpr: float | Range | None = None,
    tpr: float | Range | None = None,
    specificity: float | Range | None = None,
    sensitivity: float | Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    margin: float | None = None,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    adjust: Adjust | None = "holm",
    family: Family = "group",
    unmatched: Unmatched = "raise",
    n_boot: int = 2000,
    n_perm: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compare the AUC, or another metric, of each pair of models in each group.

    The default tests are paired: both models scored the same rows, in one score column each, or in
    a long table where `id` identifies the instances. They have more power than a comparison of two
    confidence intervals. For different rows, pass an unpaired `method`.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
    between : str, default "model"
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify an instance, to match the rows of the models.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    baseline : str, default None
        Model with which all other models are compared. It is `model_a`. None: all pairs.
    metric : {"auc", "average_precision", "brier", "log_loss"}, default "auc"
        `"auc"`: the AUC; with a range `fpr` or `tpr` the partial area, and at a number the other
        rate. `"brier"` and `"log_loss"` are means of a loss of probabilities.
    method : str, optional
        By default `"delong_t"` for areas, `"t_test"` for losses, `"bootstrap"` for average
        precision.

        - `"delong_t"`, for areas: a t test with DeLong's variance and Satterthwaite's degrees of
          freedom.
        - `"delong"`: a z test with the same variance, for at least about 50 rows of each class.
        - `"delong_t_unpaired"`, `"delong_unpaired"`: for models that scored different rows, with
          Satterthwaite's or with Welch's degrees of freedom.
        - `"t_test"`, `"t_test_unpaired"`: a paired t test of losses, and Welch's for different
          rows.
        - `"bootstrap"`, for all metrics: a z test (for average precision, a t test) with the
          variance over resamples, which are the same for both models.
        - `"permutation"`, for areas: exchanges the two ranks of random rows between the models.
        - `"venkatraman"`: a test of the complete curves with the same permutations. Curves can
          differ even if their areas are equal.
    fpr : float or (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`, to compare partial areas, or a number,
        to compare the true positive rates at this rate with `method="bootstrap"`.
    tpr : float or (float, float), default None
        The same for the true positive rate: a range such as `(0.9, 1)`, or a number. Two ranges are
        those of a two-way partial area, as in `auc`.
    specificity : float or (float, float), default None
        Specificity, 1 - FPR: `(0.9, 1)` is the same as `fpr=(0, 0.1)`.
    sensitivity : float or (float, float), default None
        Another name of `tpr`.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that a random model has 0.5 and a perfect model has
        1.
    margin : float, default None
        Non-inferiority margin, from 0 to below 1. Requires `baseline`. The one-sided alternative is
        that `model_b` is worse than `model_a` by less than the margin.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        The two values differ (`"two-sided"`), or that of `model_a` is larger or smaller.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of a family of tests. `"holm"` controls the probability of at
        least one false rejection, `"bh"` (Benjamini and Hochberg) the expected share of false
        rejections among all rejections.
    family : {"group", "all"}, default "group"
        Tests that are adjusted together: the pairs of each group, or all rows of the result.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    n_perm : int, default 2000
        Number of random permutations. All 2^n are used, and the p-value is exact, if a group has at
        most this many; otherwise it is at least 1 / (1 + n_perm).
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
        One row per group and pair of models that both have rows in the group, sorted by group,
        `model_a` and `model_b`: `*by`, `model_a, model_b, difference, lower, upper, p_value,
        p_adjusted, se, statistic, df, auc_a, auc_b, n_paired, n_pos, n_neg, ci_level, test, note`.

        - `difference` (Float64) is the value of `model_a` minus the value of `model_b`. Its limits
          are not adjusted for the number of tests; `p_adjusted` is.
        - `auc_a` and `auc_b` (Float64) are the areas. With a range, they are named `partial_auc_a`
          and `partial_auc_b`; with a fixed rate, `tpr_a` and `tpr_b`, or `fpr_a` and `fpr_b`; with
          other metrics, `average_precision_a` and `average_precision_b`, `brier_a` and `brier_b`,
          or `log_loss_a` and `log_loss_b`.
        - `n_paired`, `n_pos` and `n_neg` (Int64) count the instances that both models scored; for
          unpaired tests, `n_paired` is null, the others are those of the model that has fewer.

        The statistics are null if a class has fewer than two rows or clusters (for permutations, no
        rows; for t tests of losses, both classes together), or if the variance of the difference is
        0; a difference of 0 then has a p-value. `"permutation"` and `"venkatraman"` have no limits.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance`, `few_rows:3` (below 4 rows or
        clusters of a class), `redrawn:3` (resamples) or `unmatched:3`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the rows cannot be paired by `id`.

    See Also
    --------
    contrast : Test more than two areas at once.
    auc_covariance : Estimate the covariance matrix of the areas.

    Notes
    -----
    The tests assume that rows or clusters are independent, and that the models were fitted on other
    data. They do not account for the variation between models fitted on different training data.
    For losses, and for the FPR at a fixed TPR, `model_a` is better if `difference` is negative.

    References
    ----------
    - E. Brunner, U. Munzel (2000), Biometrical Journal 42(1), 17-25.
      doi:10.1002/(SICI)1521-4036(200001)42:1<17::AID-BIMJ17>3.0.CO;2-U
    - E. R. DeLong et al. (1988), Biometrics 44(3), 837-845. doi:10.2307/2531595
    - B. L. Welch (1947), Biometrika 34(1-2), 28-35. doi:10.1093/biomet/34.1-2.28
    - N. A. Obuchowski (1997), Biometrics 53(2), 567-578. doi:10.2307/2533958
    - E. S. Venkatraman, C. B. Begg (1996), Biometrika 83(4), 835-848. doi:10.1093/biomet/83.4.835
    - F. X. Diebold, R. S. Mariano (1995), Journal of Business and Economic Statistics 13(3),
      253-263. doi:10.1080/07350015.1995.10524599
    - A. I. Bandos et al. (2005), Statistics in Medicine 24(18), 2873-2893. doi:10.1002/sim.2149

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 1, 0, 0], "a": [0.9, 0.8, 0.3, 0.3, 0.1], "b": [3, 1, 2, 3, 0]}
    ... )
    >>> pairs = rf.compare(predictions, "label", ["a", "b"])
    >>> pairs.select("model_a", "model_b", "p_value", "se", "auc_a", "auc_b", "n_paired")
    shape: (1, 7)
    ┌─────────┬─────────┬──────────┬──────────┬──────────┬──────────┬──────────┐
    │ model_a ┆ model_b ┆ p_value  ┆ se       ┆ auc_a    ┆ auc_b    ┆ n_paired │
    │ ---     ┆ ---     ┆ ---      ┆ ---      ┆ ---      ┆ ---      ┆ ---      │
    │ str     ┆ str     ┆ f64      ┆ f64      ┆ f64      ┆ f64      ┆ i64      │
    ╞═════════╪═════════╪══════════╪══════════╪══════════╪══════════╪══════════╡
    │ a       ┆ b       ┆ 0.494642 ┆ 0.343592 ┆ 0.916667 ┆ 0.583333 ┆ 5        │
    └─────────┴─────────┴──────────┴──────────┴──────────┴──────────┴──────────┘
    """
    roles = Roles(label, score, by, positive, weight, count, missing, cluster)
    rates = {"fpr": fpr, "tpr": tpr, "specificity": specificity, "sensitivity": sensitivity}
    options = CompareOptions(
        roles=roles,
        tests=COMPARISON_TESTS,
        method=method,
        level=parse_level(level),
        quantity=Quantity.parse(metric, rates, standardize),
        margin=margin,
        alternative=alternative,
        baseline=baseline,
        adjust=adjust,
        family=family,
        n_boot=parse_n_boot("n_boot", n_boot),
        n_perm=parse_integer("n_perm", n_perm, high=10**9),
        seed=Seed.parse(seed),
    )
    return plan_comparison(
        predictions,
        options.pairing(between=between, id=id, unmatched=unmatched),
        lambda frame, columns: comparison_table(frame, columns, options),
        schema=lambda model: comparison_columns(model, options.quantity.name),
        anchor="test",
        # The adjustment with `family="all"` and the check of the baseline require all groups.
        independent_groups=family == "group" and baseline is None,
    )


ComparisonMethod = Literal[
    "delong_t",
    "delong",
    "delong_t_unpaired",
    "delong_unpaired",
    "t_test",
    "t_test_unpaired",
    "bootstrap",
    "permutation",
    "venkatraman",
]


def comparison_table(
    frame: pl.DataFrame, columns: PairingColumns, options: CompareOptions
) -> pl.DataFrame:
    """Return the comparisons of a collected frame: one row per group and pair of models."""
    table = compare_models(options.test.read(frame, columns), columns.options, options)
    p_value = table.get_column("p_value").fill_null(np.nan).to_numpy()
    families = table.get_column("group").to_numpy()
    if options.family != "group":
        families = np.zeros_like(families)
    p_adjusted = adjust_p_values(p_value, families, options.adjust)
    return table.with_columns(pl.Series("p_adjusted", p_adjusted).fill_nan(None)).drop(POSITIONS)


POSITIONS = ("group", "position_a", "position_b")


def compare_models(
    data: Instances | UnpairedModels, pairing: PairingOptions, options: CompareOptions
) -> pl.DataFrame:
    """Return the sorted comparisons, with unadjusted p-values and the columns `POSITIONS`."""
    baseline = options.baseline_position(data.models)
    if isinstance(data, Instances):
        parts = _compare_paired(data, baseline, pairing, options)
    else:
        parts = _compare_unpaired(data, baseline, options)
    columns = []
    for part in parts:
        a, b = part.pop("models")
        positions = {"model_a": a, "model_b": b, "position_a": a, "position_b": b}
        columns.append({"test": options.test.name} | part | positions)  # exact tests have own names
    schema = comparison_columns(data.models.dtype, options.quantity.name)
    return build_model_table(
        columns,
        schema | integers(*POSITIONS),
        keys=data.keys,
        models=data.models,
        order=["model_a", "model_b"],
        constants={"ci_level": options.level if options.test.has_limits else None},
    )


def _compare_paired(
    instances: Instances, baseline: int | None, pairing: PairingOptions, options: CompareOptions
) -> Iterator[dict[str, Any]]:
    """Yield the columns of each pair of models that scored the same rows."""
    compare_pairs = options.test.compare_pairs
    assert compare_pairs is not None
    # The keys of random streams are slow to compute, so only tests with random draws have them.
    keys = [] if options.test.draws is None else stream_keys(instances.keys)
    draws = RandomDraws(n_draws=options.n_draws, seed=options.seed, keys=keys)
    hypothesis = options.hypothesis
    for batch in model_batches(instances, pairing):
        if pairs := _model_pairs(batch.models, baseline):
            yield from compare_pairs(
                PairedComparison(batch=batch, pairs=pairs, hypothesis=hypothesis, draws=draws)
            )


def _compare_unpaired(
    unpaired: UnpairedModels, baseline: int | None, options: CompareOptions
) -> Iterator[dict[str, Any]]:
    """Yield the columns of each pair of models that scored different rows."""
    estimator = options.test.estimator
    assert estimator is not None
    estimates = [
        UnpairedEstimates.from_cases(cases, unpaired.keys, options.quantity, estimator)
        for cases in unpaired.cases
    ]
    pairs = _model_pairs(range(len(estimates)), baseline)
    return unpaired_tests(estimates, pairs, options.hypothesis, options.test.compare_estimates)


def _model_pairs(models: Sequence[int], baseline: int | None) -> list[tuple[int, int]]:
    """Return the pairs of models to compare: all pairs, or the baseline with each other model."""
    if baseline is None:
        return list(combinations(models, 2))
    return [(baseline, model) for model in models if baseline in models and model != baseline]


@public
def gate(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    baseline: object,
    margin: float,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - name of the public option
    by: By = None,
    metric: ComparedMetric = "auc",
    method: GateMethod | NotGiven = NOT_GIVEN,
    level: float = 0.95,
    adjust: Adjust | None = "holm",
    min_rows: int = 0,
    unmatched: Unmatched = "raise",
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Test in each group whether a new model is non-inferior to an old model.

    Non-inferior means better, or worse by less than `margin`. A group passes if a test rejects,
    after an adjustment for the number of groups, that the new model is worse by the margin or more.
    The probability of any false pass is at most about 1 - `level` for the default test of the AUC.
    It can be higher for other metrics, and with fewer than about 10 rows of a class. The new model
    passes if all groups that are large enough for `min_rows` pass: `gate(…)["passed"].all()`.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
    baseline : str
        The old model. Each other model is a new model.
    margin : float
        Non-inferiority margin, from 0 to below 1: the largest acceptable deterioration.
    between : str, default "model"
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify an instance, to match the rows of the models.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    metric : {"auc", "average_precision", "brier", "log_loss"}, default "auc"
        Metric of the models. The losses `"brier"` and `"log_loss"` need probabilities.
    method : str, optional
        By default `"newcombe"` for AUCs: Newcombe's limits of both areas, combined for models that
        scored the same rows; `"newcombe_unpaired"` is for different rows. With weights or clusters,
        the default is `"delong_t"`. Others as in `compare`: `"delong"`, `"delong_t_unpaired"`,
        `"delong_unpaired"`, `"t_test"` (default for losses), `"t_test_unpaired"`, `"bootstrap"`
        (default for average precision).
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of all rows of the result: `"holm"` controls the probability of
        at least one false pass, `"bh"` the expected share of false passes among all passes.
    min_rows : int, default 0
        Groups in which the old model, or the new one if only it has rows, has fewer positives or
        fewer negatives do not count.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
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
        One row per group and new model, sorted by group and `model_new`, even if only one of the
        two models has rows in the group: `*by`, `passed, deterioration, limit, margin, p_adjusted,
        p_value, se, auc_old, auc_new, n_paired, n_pos, n_neg, ci_level, test, verdict, model_old,
        model_new, note`.

        - `passed` (Boolean) is true if `p_adjusted <= 1 - level`, and null because of `min_rows`.
        - `verdict` (String): `"non_inferior"` (the group passes), `"not_shown"` (not enough
          evidence), `"inferior"` (evidence that the deterioration is above the margin, in this
          group alone), `"undecided"` (no p-value, the group does not pass) or `"ignored"`
          (`min_rows`).
        - `deterioration` (Float64) is `auc_old - auc_new`, or new minus old for losses; positive if
          the new model is worse. `limit` is its upper one-sided limit, not adjusted for the number
          of groups. `p_value` is that of a deterioration of at least `margin`.
        - For other metrics, columns are named `average_precision_old` and `average_precision_new`,
          and so on.
        - `note` (String) is null, or the first of these values that applies: `not_in_old`,
          `not_in_new`, `below_min_rows`, and the notes of `compare`. Before `zero_variance`, there
          is `identical_scores`: such a group passes if `margin` is above 0.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the rows cannot be paired by `id`.

    See Also
    --------
    compare : Test the differences of models.

    Notes
    -----
    `level` must be above 0.5, because a group could otherwise pass without evidence. If both models
    have an AUC of 1 but different scores, all methods except Newcombe's estimate a variance of 0,
    and the verdict is `"undecided"`.

    References
    ----------
    - G. Y. Zou, A. Donner (2008), Statistics in Medicine 27(10), 1693-1702. doi:10.1002/sim.3095
    - R. G. Newcombe (2006), Statistics in Medicine 25(4), 559-573. doi:10.1002/sim.2324

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> models = ["logistic_regression", "linear_svm"]
    >>> votes = rf.datasets.vote().filter(pl.col("model").is_in(models))
    >>> decision = rf.gate(votes, "label", "score", baseline=models[0], margin=0.01, id="id")
    >>> decision.select("passed", "verdict", "deterioration", "limit", "margin", "p_adjusted")
    shape: (1, 6)
    ┌────────┬──────────────┬───────────────┬──────────┬────────┬────────────┐
    │ passed ┆ verdict      ┆ deterioration ┆ limit    ┆ margin ┆ p_adjusted │
    │ ---    ┆ ---          ┆ ---           ┆ ---      ┆ ---    ┆ ---        │
    │ bool   ┆ str          ┆ f64           ┆ f64      ┆ f64    ┆ f64        │
    ╞════════╪══════════════╪═══════════════╪══════════╪════════╪════════════╡
    │ true   ┆ non_inferior ┆ 0.000106      ┆ 0.002785 ┆ 0.01   ┆ 0.000643   │
    └────────┴──────────────┴───────────────┴──────────┴────────┴────────────┘
    """
    roles = Roles(label, score, by, positive, weight, count, missing, cluster)
    level = parse_level(level)
    if level <= 0.5:
        problem = "a group would pass without evidence of non-inferiority"
        hint = "Pass a level above 0.5, such as level=0.95."
        raise OptionValueError.compose("level", level, problem, hint)
    # The intervals have two limits with the level 2 * level - 1, so that one limit has the
    # one-sided level `level`.
    options = CompareOptions(
        roles=roles,
        tests=GATE_TESTS,
        # Without a margin, the options would be those of a test for any difference.
        margin=parse_number("margin", margin, low=0, high=1, closed="left", example=0.01),
        method=method,
        quantity=Quantity.parse(metric, {}, None),
        level=2 * level - 1,
        baseline=baseline,
        adjust=adjust,
        family="all",
        n_boot=parse_n_boot("n_boot", n_boot),
        seed=Seed.parse(seed),
    )
    min_rows = parse_integer("min_rows", min_rows, low=0, example=50)
    return plan_comparison(
        predictions,
        options.pairing(between=between, id=id, unmatched=unmatched),
        lambda frame, columns: gate_table(frame, columns, options, level, min_rows),
        schema=lambda model: gate_columns(model, options.quantity.name),
        anchor="verdict",
        independent_groups=False,
    )


GateMethod = Literal[
    "newcombe",
    "newcombe_unpaired",
    "delong_t",
    "delong",
    "delong_t_unpaired",
    "delong_unpaired",
    "t_test",
    "t_test_unpaired",
    "bootstrap",
]
NEWCOMBE_HINT = 'Newcombe\'s limits need independent rows without weights. Use method="delong_t".'
GATE_TESTS: dict[str, ComparisonTest] = {
    "newcombe": ComparisonTest(
        name="newcombe",
        compare_pairs=newcombe_paired,
        needs_variance=False,
        unsupported=dict.fromkeys(("weight", "cluster"), NEWCOMBE_HINT),
    ),
    "newcombe_unpaired": ComparisonTest(
        name="newcombe_unpaired",
        estimator=area_estimates,
        compare_estimates=newcombe_unpaired,
        needs_variance=False,
        unsupported={"weight": 'Use method="delong_t_unpaired".', **NO_UNPAIRED_CLUSTERS},
    ),
    **{name: COMPARISON_TESTS[name] for name in get_args(GateMethod)[2:]},
}


def gate_table(
    frame: pl.DataFrame,
    columns: PairingColumns,
    options: CompareOptions,
    level: float,
    min_rows: int,
) -> pl.DataFrame:
    """Return the decision of a collected frame: one row per group and new model, sorted."""
    test, quantity = options.test, options.quantity
    data = test.read(frame, columns)
    table = compare_models(data, columns.options, options)
    old = options.baseline_position(data.models)
    if old is not None:
        has_rows, smaller_class = _group_sizes(data)
        one_model = _groups_of_one_model(table, has_rows, old, data.models, data.keys)
        table = pl.concat([table, one_model])
    if old is None or not table.height:
        problem = "there are no rows to test"
        hint = "Check the predictions: the decision needs rows of the old and of a new model."
        raise PairingError.compose("baseline", options.baseline, problem, hint)
    table = table.sort("group", "position_b")
    group, new = (table.get_column(name).to_numpy() for name in ("group", "position_b"))

    note = table.get_column("note")
    counted = np.where((note == "not_in_old").fill_null(False), new, old)
    has_few_rows = smaller_class[counted, group] < min_rows
    if has_few_rows.all():
        problem = "all groups of the old model have fewer positives or negatives than this number"
        hint = "Such groups do not count, so no group is left. Pass a smaller number."
        raise PairingError.compose("min_rows", min_rows, problem, hint)
    has_zero_variance = (note == "zero_variance").fill_null(False).to_numpy()
    is_identical = np.zeros(table.height, bool)
    if isinstance(data, Instances) and has_zero_variance.any():
        is_identical = has_zero_variance & ~_has_different_scores(data, old)[new, group]

    sign = -1.0 if quantity.lower_is_better else 1.0
    margin = sign * options.hypothesis.null
    p_value = table.get_column("p_value").fill_null(np.nan).to_numpy().copy()
    if test.needs_variance:
        p_value[has_zero_variance] = np.nan
    # A margin of 0 is the boundary of the null hypothesis: the statistic of other tests is then 0.
    p_value[is_identical] = 0.0 if margin > 0 else 0.5
    p_value[has_few_rows] = np.nan
    p_adjusted = adjust_p_values(p_value, np.zeros_like(group), options.adjust)
    passed = p_adjusted <= 1 - level + LEVEL_ROUNDING
    verdicts = {
        "ignored": has_few_rows,
        "undecided": np.isnan(p_value),
        "non_inferior": passed,
        "inferior": p_value >= level,
    }
    limit = sign * table.get_column("upper" if sign > 0 else "lower").fill_null(np.nan).to_numpy()
    limit[is_identical] = 0.0
    is_of_one_model = note.is_in(NOTES_OF_ONE_MODEL).fill_null(False).to_numpy()
    notes = first_notes(
        {
            "below_min_rows": has_few_rows & ~is_of_one_model,
            "identical_scores": is_identical & ~has_few_rows,
        }
    )
    decision_note = pl.Series(notes.tolist(), dtype=pl.String)
    name = quantity.name
    sources = {"model_old": "model_a", "model_new": "model_b"}
    sources |= {f"{name}_old": f"{name}_a", f"{name}_new": f"{name}_b"}
    sources |= {same: same for same in ("se", "n_paired", "n_pos", "n_neg")}
    result: dict[str, Any] = {
        **{column: table.get_column(source) for column, source in sources.items()},
        "passed": pl.Series(passed).set(pl.Series(has_few_rows), None),
        "verdict": np.select([*verdicts.values()], [*verdicts], "not_shown").tolist(),
        # The sum with 0 is 0 instead of -0.
        "deterioration": sign * table.get_column("difference").to_numpy() + 0.0,
        "limit": limit,
        "margin": margin,
        "p_adjusted": p_adjusted,
        "p_value": p_value,
        "ci_level": level,
        "test": test.name,
        "note": decision_note.zip_with(decision_note.is_not_null(), note),
    }
    return build_table(data.keys, result, gate_columns(table.schema["model_a"], name), rows=group)


LEVEL_ROUNDING = 1e-12  # rounding error of 1 - level
NOTES_OF_ONE_MODEL: tuple[Note, ...] = ("not_in_old", "not_in_new")


def _groups_of_one_model(
    table: pl.DataFrame,
    has_rows: NDArray[np.bool_],
    old: int,
    models: pl.Series,
    keys: pl.DataFrame,
) -> pl.DataFrame:
    """Return a row of `table` for each group and new model if only it or the old one has rows."""
    new, group = np.nonzero(has_rows != has_rows[old])
    a, has_old = np.full(len(new), old), has_rows[old, group]
    columns = {
        "group": group,
        "position_a": a,
        "position_b": new,
        "model_a": models[a],
        "model_b": models[new],
        "note": first_notes({"not_in_old": ~has_old, "not_in_new": has_old}).tolist(),
    }
    schema = {name: dtype for name, dtype in table.schema.items() if name not in keys.columns}
    return build_table(keys, columns, schema, rows=group)


def _group_sizes(data: UnpairedModels | Instances) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return whether each model (axis 0) has rows in each group, and its smaller class size."""
    rows: list[tuple[NDArray[Any], ...]] = []  # the group, class and count of the rows of a model
    if isinstance(data, Instances):
        group = data.group
        count = 1 if data.count is None else data.count
        for present, used in zip(data.present, data.used, strict=True):
            rows.append((group[present], data.negative[present], (used * count)[present]))
    else:
        for cases in data.cases:
            used = np.ones(len(cases.score), bool)
            if cases.state is not None:
                used = cases.state <= RowState.UNSCORED
            count = 1 if cases.count is None else cases.count
            rows.append((find_keys(cases.keys, data.keys).to_numpy(), cases.negative, used * count))
    n_groups = data.keys.height
    has_rows = [np.bincount(group, minlength=n_groups) > 0 for group, _, _ in rows]
    smaller_class = [
        np.minimum(*(np.bincount(group, count * side, n_groups) for side in (negative, ~negative)))
        for group, negative, count in rows
    ]
    return np.array(has_rows), np.array(smaller_class)


def _has_different_scores(instances: Instances, old: int) -> NDArray[np.bool_]:
    """Return whether each model (axis 0) differs from the old one on their rows of each group."""
    group, score, state, used = (instances.group, instances.score, instances.state, instances.used)
    result = np.zeros((len(score), instances.keys.height), bool)
    for new in range(len(score)):
        differs = (score[new] != score[old]) | (state[new] != state[old])
        result[new, group[differs & used[new] & used[old]]] = True
    return result
