"""The function `compare`: tests of the differences between pairs of models."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.comparisons.comparison_tests import COMPARISON_TESTS, CompareOptions
from rocframe.comparisons.hypothesis import (
    PairedComparison,
    Quantity,
    UnpairedEstimates,
    unpaired_tests,
)
from rocframe.comparisons.pairing import (
    Instances,
    build_model_table,
    model_batches,
    plan_comparison,
)
from rocframe.inference import adjust_p_values, parse_level, parse_n_boot
from rocframe.inputs.roles import Roles
from rocframe.kernel.resample import RandomDraws, Seed, stream_keys
from rocframe.options import NOT_GIVEN, parse_integer, public
from rocframe.schemas.statistics import comparison_columns
from rocframe.schemas.table_type import MODEL, integers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    from rocframe.inference import Adjust, Alternative
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.options import NotGiven


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
    a long table with a row for each instance and model, where `id` identifies the instance. A
    paired test has more power than a comparison of the two confidence intervals. For models that
    scored different rows, pass an unpaired `method`.

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
    by : str or sequence of str, default None
        Group columns; null is a group.
    baseline : str, default None
        Model with which all other models are compared. It is `model_a`. None: all pairs are
        compared.
    metric : {"auc", "average_precision", "brier", "log_loss"}, default "auc"
        `"auc"`: the AUC, or the partial area if `fpr` or `tpr` is a range, or the TPR at a number
        `fpr`, or the FPR at a number `tpr`. `"brier"` and `"log_loss"` are means of a loss of
        probabilities.
    method : str, optional
        Test of the difference. By default `"delong_t"` for areas, `"t_test"` for losses and
        `"bootstrap"` for average precision.

        - `"delong_t"`, for areas: a t test with DeLong's variance of the difference, and
          Satterthwaite's degrees of freedom, from the variances within the positives and within the
          negatives.
        - `"delong"`: a z test with the same variance. With fewer than about 50 rows of a class, it
          rejects a true null hypothesis too often.
        - `"delong_t_unpaired"`: `"delong_t"` for models that scored different rows.
        - `"delong_unpaired"`: the same with Welch's degrees of freedom, from the numbers of all
          rows.
        - `"t_test"`, for losses: a paired t test of the losses of the rows.
        - `"t_test_unpaired"`: Welch's t test of losses, for models that scored different rows.
        - `"bootstrap"`, for all metrics: a z test with the variance over resamples, which are the
          same for both models. For average precision, a t test whose degrees of freedom are the
          number of positives minus 1. For areas and rates, each resample has as many rows of each
          class as the data. With `cluster`, complete clusters are drawn.
        - `"permutation"`, for areas: in each permutation, the two ranks of a row are exchanged
          between the models with probability 1/2.
        - `"venkatraman"`: a test of the complete curves with the same permutations. Curves can
          differ even if their areas are equal.
    fpr : float or (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`, to compare partial areas, or a number,
        to compare the true positive rates at this rate with `method="bootstrap"`.
    tpr : float or (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`, to compare partial areas, or a number,
        to compare the false positive rates at this rate with `method="bootstrap"`.
    specificity : float or (float, float), default None
        Specificity, 1 - FPR: `(0.9, 1)` is the same as `fpr=(0, 0.1)`, and 0.9 the same as
        `fpr=0.1`.
    sensitivity : float or (float, float), default None
        Another name of `tpr`.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that a random model has 0.5 and a perfect model has
        1.
    margin : float, default None
        Non-inferiority margin, at least 0 and below 1. Requires `baseline`. The test is one-sided,
        with the alternative that `model_b` is worse than `model_a` by less than the margin: the
        p-value is below 0.05 if `upper` with `level=0.9` is below `margin`, or for losses, if
        `lower` is above `-margin`.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        Alternative hypothesis: the two values differ (`"two-sided"`), or the value of `model_a` is
        larger (`"greater"`) or smaller (`"less"`).
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of a family of tests. `"holm"` controls the probability of at
        least one false rejection. `"bh"` (Benjamini and Hochberg) controls the expected share of
        false rejections among all rejections. None: no adjustment.
    family : {"group", "all"}, default "group"
        Tests whose p-values are adjusted together. `"group"`: the pairs of each group. `"all"`: all
        rows of the result.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    n_perm : int, default 2000
        Number of random permutations. If a group of n rows or clusters has at most this many
        permutations, 2^n, all are used and the p-value is exact. Otherwise it is at least 1 / (1 +
        n_perm).
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
        `*by`, `model_a, model_b, difference, lower, upper, p_value, p_adjusted, se, statistic, df,
        auc_a, auc_b, n_paired, n_pos, n_neg, ci_level, test, note`; one row per group and pair of
        models that both have rows in the group, sorted by group, `model_a` and `model_b`.

        - `difference` (Float64) is the value of `model_a` minus the value of `model_b`, between -1
          and 1 except for `"log_loss"`, with its limits and its standard error `se`.
        - `p_adjusted` (Float64) is adjusted for the number of tests; the limits are not adjusted.
        - `statistic` (Float64) is `difference` minus its value under the null hypothesis, divided
          by `se`; for `"permutation"`, it is `difference`, and for `"venkatraman"` the sum over all
          ranks of the absolute difference of the numbers of errors. `df` (Float64) is null except
          for t tests.
        - `auc_a` and `auc_b` (Float64) are the areas. With a range, the columns are named
          `partial_auc_a` and `partial_auc_b`; with a fixed rate, `tpr_a` and `tpr_b`, or `fpr_a`
          and `fpr_b`; with other metrics, `average_precision_a` and `average_precision_b`,
          `brier_a` and `brier_b`, or `log_loss_a` and `log_loss_b`.
        - `n_paired` (Int64) is the number of instances that both models scored, and null for
          unpaired tests. `n_pos` and `n_neg` (Int64) are their positives and negatives, or the
          smaller number of both models for unpaired tests.
        - `ci_level` (Float64) is `level`, and null for tests without limits. `test` (String) is
          `method`, with `_exact` appended if all permutations were used.

        The limits and `se` are null for `"permutation"` and `"venkatraman"`. For the other methods,
        they and `p_value` are null if `difference` is null, or if a class has fewer than two rows
        or clusters (for t tests of losses, if both classes together have). If the variance of the
        difference is 0, the limits and `se` are null. `p_value` is then null if the difference is
        not 0; otherwise, it is 0 for a test with a positive `margin`, 1/2 for other one-sided
        tests, and 1 for two-sided tests.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance`, `few_rows:3`, `redrawn:3` or
        `unmatched:3`. With `few_rows`, below 4 rows or clusters of a class, all tests of areas
        except `"permutation"` and `"venkatraman"` can reject a true null hypothesis too often.
        `redrawn` counts resamples that lacked a class or had an undefined rate.

    Raises
    ------
    PairingError
        If `id` does not pair the rows of the models.
    RocframeError
        If a column, an option or a value is invalid, or if a score is outside [0, 1] and the metric
        is a loss.

    See Also
    --------
    contrast : Test more than two areas at once.
    auc_covariance : Estimate the covariance matrix of the areas.
    auc_test : Test one area against chance.

    Notes
    -----
    The tests assume that the rows or the clusters are independent, and that the models were fitted
    on other data. They do not account for the variation between models that are fitted on different
    training data. For losses, and for the FPR at a fixed TPR, `model_a` is better if `difference`
    is negative. `missing="worst"` is not supported for losses.

    References
    ----------
    - E. Brunner, U. Munzel (2000), Biometrical Journal 42(1), 17-25.
      doi:10.1002/(SICI)1521-4036(200001)42:1<17::AID-BIMJ17>3.0.CO;2-U
    - E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), Biometrics 44(3), 837-845.
      doi:10.2307/2531595
    - B. L. Welch (1947), Biometrika 34(1-2), 28-35. doi:10.1093/biomet/34.1-2.28
    - N. A. Obuchowski (1997), Biometrics 53(2), 567-578. doi:10.2307/2533958
    - E. S. Venkatraman, C. B. Begg (1996), Biometrika 83(4), 835-848. doi:10.1093/biomet/83.4.835
    - F. X. Diebold, R. S. Mariano (1995), Journal of Business and Economic Statistics 13(3),
      253-263. doi:10.1080/07350015.1995.10524599
    - A. I. Bandos, H. E. Rockette, D. Gur (2005), Statistics in Medicine 24(18), 2873-2893.
      doi:10.1002/sim.2149

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
