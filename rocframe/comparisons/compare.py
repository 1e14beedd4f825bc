"""The function `compare`: tests of the differences between pairs of models."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.comparisons.bootstrap_test import bootstrap_test
from rocframe.comparisons.delong import delong_paired
from rocframe.comparisons.hypothesis import (
    ComparedMetric,
    Hypothesis,
    PairedComparison,
    Quantity,
)
from rocframe.comparisons.instances import model_batches, read_instances, read_models
from rocframe.comparisons.mean_losses import loss_estimates, t_test
from rocframe.comparisons.pairing import (
    PairingOptions,
    build_model_table,
    model_position,
    plan_comparison,
)
from rocframe.comparisons.permutation_test import permutation_test, venkatraman_test
from rocframe.comparisons.unpaired import (
    UnpairedEstimates,
    area_estimates,
    unpaired_tests,
    welch_columns,
)
from rocframe.errors import OptionValueError
from rocframe.inference.confidence import parse_level, parse_n_boot
from rocframe.inference.p_values import adjust_p_values, check_adjust
from rocframe.inputs.roles import Roles
from rocframe.kernel.resample import RandomDraws, Seed, stream_keys
from rocframe.options import (
    NOT_GIVEN,
    NotGiven,
    check_choice,
    check_supported,
    parse_integer,
    public,
)
from rocframe.schemas.columns import MODEL
from rocframe.schemas.comparisons import comparison_columns
from rocframe.schemas.table_type import integers
from rocframe.text import join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rocframe.areas.partial import Range
    from rocframe.comparisons.pairing import PairingColumns, Unmatched
    from rocframe.comparisons.unpaired import Estimator, UnpairedTest
    from rocframe.frames import FrameT
    from rocframe.inference.p_values import Adjust, Alternative
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

    The default tests are paired: both models scored the same rows. A paired test has more power
    than a comparison of the confidence intervals of the two models. For models that scored
    different rows, pass an unpaired `method`. In a long table, which has a row for each instance
    and model, `id` identifies the rows of the same instance. If each model has a score column, `id`
    is not needed.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction. A table of pandas, pyarrow, DuckDB or another package that exports
        Arrow streams is converted to a polars DataFrame.
    label : str or Expr
        Column or expression with the true class: Boolean values or the numbers 0 and 1. With
        `positive`, values of any type are allowed except List, Array, Struct and Object.
    score : str, Expr, selector, sequence or mapping
        Column or expression with the score; higher values indicate the positive class. Any real
        number is allowed, and scores are never transformed. For several models, pass a list of
        columns, a polars selector, or a mapping from model names to columns.
    between : str, default "model"
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify the instance of a row, so that the rows of different models are
        matched. Each instance occurs once per model and group, in any row order.
    by : str or sequence of str, default None
        Group columns. Rows with a null in a group column are a separate group.
    baseline : str, default None
        Model with which all other models are compared. The baseline is `model_a`: `difference` is
        the value of the baseline minus the value of the other model. None: all pairs of models are
        compared.
    metric : {"auc", "average_precision", "brier", "log_loss"}, default "auc"
        Metric of the models. `"auc"`: the AUC. If `fpr` or `tpr` is a range, the metric is the
        partial area. If `fpr` is a number, the metric is the TPR at this FPR. If `tpr` is a number,
        the metric is the FPR at this TPR. `"average_precision"`: the average precision. `"brier"`
        and `"log_loss"`: the mean of a loss, for which scores must be probabilities.
    method : str, optional
        Test of the difference. By default `"delong"` for areas, `"t_test"` for losses and
        `"bootstrap"` for average precision.

        - `"delong"`, for areas of models that scored the same rows: a z test with DeLong's variance
          of the difference.
        - `"delong_unpaired"`, for areas of models that scored different rows: a t test with Welch's
          degrees of freedom.
        - `"t_test"`, for losses: a paired t test of the losses of the rows.
        - `"t_test_unpaired"`, for losses of models that scored different rows: Welch's t test.
        - `"bootstrap"`, for all metrics: a z test with the variance over resamples. Both models
          have the same resamples. For areas and rates, each resample has as many rows of each class
          as the data. With `cluster`, complete clusters are drawn.
        - `"permutation"`, for areas: a permutation test. In each permutation, the two ranks of a
          row are exchanged between the models with probability 1/2.
        - `"venkatraman"`: a test of the complete curves with the same permutations. Curves can
          differ even if their areas are equal.
    fpr : float or (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`, to compare partial areas. With a
        single number, the true positive rates at this false positive rate are compared; this
        requires `method="bootstrap"`.
    tpr : float or (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`, to compare partial areas. With a single
        number, the false positive rates at this true positive rate are compared; this requires
        `method="bootstrap"`.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that a random model has 0.5 and a perfect model has
        1.
    margin : float, default None
        Non-inferiority margin, at least 0 and below 1. Requires `baseline`, which is `model_a`. The
        test is one-sided. Its alternative hypothesis is that `model_b` is worse than `model_a` by
        less than the margin. The p-value is below 0.05 if `upper` of the interval with `level=0.9`
        is below `margin`. For losses, the p-value is below 0.05 if `lower` of this interval is
        above minus `margin`.
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
        Handling of instances that only one of the two models has. `"raise"`: an error. `"drop"`:
        their rows are left out and counted in `note`. If `missing="drop"` leaves out the row of one
        model, the row of the other model for the same instance is left out too, and counted in
        `note`. This is not an error, even with `unmatched="raise"`.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    n_perm : int, default 2000
        Number of random permutations. If a group has at most this many permutations, all of them
        are used and the p-value is exact. Otherwise the smallest possible p-value is 1 / (1 +
        n_perm).
    seed : int, default None
        Seed of the random draws, an integer >= 0. If None, each call uses a new seed. The draws of
        a group depend only on the seed and the values of the group columns, not on other groups.
    cluster : str or Expr, default None
        Column or expression that identifies clusters of dependent rows, such as all rows of one
        user. Different clusters are assumed to be independent.
    positive : object, default None
        Value of `label` that is the positive class; all other values are negative. Required for
        labels that are not Boolean or 0/1.
    weight : str or Expr, default None
        Column or expression with the importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Column or expression with the number of identical rows that a row represents. The results
        are the same as if the row were repeated that many times. If the table has a column named
        `count`, this option is required: pass `count="count"` to use the column, `count=None` to
        ignore it.
    missing : {"raise", "drop", "worst"}, default "raise"
        Handling of rows whose label, score, weight or count is null or NaN. `"raise"`: an error.
        `"drop"`: these rows are left out. `"worst"`: only scores may be missing. At every
        threshold, a positive without a score counts as a false negative, and a negative without a
        score as a false positive.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, `model_a, model_b, difference, lower, upper, p_value, p_adjusted, se, statistic, df,
        auc_a, auc_b, n_paired, ci_level, test, note`; one row per group and pair of models that
        both have rows in the group, sorted by group, `model_a` and `model_b`.

        - `difference` is `auc_a - auc_b`, between -1 and 1 except for `"log_loss"`.
        - `lower` and `upper` are the confidence limits of the difference.
        - `p_adjusted` is adjusted for the number of tests; the limits are not adjusted.
        - `se` is the standard error of the difference.
        - `auc_a` and `auc_b` are the areas of the two models. With a range, the columns are named
          `partial_auc_a` and `partial_auc_b`. With a fixed rate, the columns are `tpr_a` and
          `tpr_b`, or `fpr_a` and `fpr_b`. With `metric`, the columns are `average_precision_a` and
          `average_precision_b`, `brier_a` and `brier_b`, or `log_loss_a` and `log_loss_b`.

        `statistic` is `difference` minus its value under the null hypothesis, divided by `se`. For
        `"permutation"`, `statistic` is `difference`. For `"venkatraman"`, `statistic` is the
        absolute difference of the numbers of errors of the two models, summed over all ranks. `df`
        is the number of degrees of freedom of a t test, and null for all other methods. The limits
        and `se` are null for `"permutation"` and `"venkatraman"`.

        For the other methods, the limits, `se` and `p_value` are null if `difference` is null, if a
        class has fewer than two rows or clusters, or if the variance of the difference is 0. For
        the t tests of losses, two rows or clusters of any class are enough. If both the variance
        and the difference are 0, `p_value` is not null. It is 1 for a two-sided test, 1/2 for a
        one-sided test, and 0 for a test with a positive `margin`. The columns from `difference` to
        `auc_b` are Float64.

        - `n_paired` (Int64) is the number of instances that both models scored. It is null for
          unpaired tests.
        - `ci_level` (Float64) is `level`, and null for tests without limits.
        - `test` (String) is `method`, with `_exact` appended if all permutations were used.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance`; `redrawn:3` if 3 resamples lacked
        a class and were drawn again, or were left out because a rate was undefined; `unmatched:3`
        if 3 rows without a matching row of another model were left out.

    Raises
    ------
    PairingError
        If rows cannot be paired: `id` is not given for a long table, an id is null or is repeated
        within a model and group, or an id has different labels. With `unmatched="raise"`, this
        error is also raised if an id does not occur in all models.
    RocframeError
        If a column does not exist or has an unsuitable type, a name is reserved or repeated, or an
        option is invalid. This error is also raised if the labels do not determine the positive
        class, values are missing with `missing="raise"`, a weight is negative or not finite, or,
        for a loss, a score is outside [0, 1]. For a LazyFrame, errors that depend on its columns or
        values are raised by `collect`.

    See Also
    --------
    contrast : Test more than two areas at once.
    auc_covariance : Estimate the covariance matrix of the areas.
    auc_test : Test one area against chance.

    Notes
    -----
    The tests assume that the rows or the clusters are independent, and that the models were fitted
    on other data. The tests do not account for the variation between models that are fitted on
    different training data.

    For losses, and for the FPR at a fixed TPR, `model_a` is better if `difference` is negative. For
    all other metrics, `model_a` is better if `difference` is positive. `missing="worst"` is not
    supported for losses.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
    correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    B. L. Welch (1947), "The generalization of 'Student's' problem when several different population
    variances are involved", Biometrika 34(1-2), 28-35. doi:10.1093/biomet/34.1-2.28

    N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2),
    567-578. doi:10.2307/2533958

    E. S. Venkatraman, C. B. Begg (1996), "A distribution-free procedure for comparing receiver
    operating characteristic curves from a paired experiment", Biometrika 83(4), 835-848.
    doi:10.1093/biomet/83.4.835

    F. X. Diebold, R. S. Mariano (1995), "Comparing predictive accuracy", Journal of Business and
    Economic Statistics 13(3), 253-263. doi:10.1080/07350015.1995.10524599

    A. I. Bandos, H. E. Rockette, D. Gur (2005), "A permutation test sensitive to differences in
    areas for comparing ROC curves from a paired design", Statistics in Medicine 24(18), 2873-2893.
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
    │ a       ┆ b       ┆ 0.331975 ┆ 0.343592 ┆ 0.916667 ┆ 0.583333 ┆ 5        │
    └─────────┴─────────┴──────────┴──────────┴──────────┴──────────┴──────────┘
    >>> probabilities = {"a": "a", "b": pl.col("b") / 4}
    >>> pairs = rf.compare(predictions, "label", probabilities, metric="brier")
    >>> pairs.select("difference", "p_value", "se", "df", "brier_a", "brier_b", "test")
    shape: (1, 7)
    ┌────────────┬──────────┬──────────┬─────┬─────────┬─────────┬────────┐
    │ difference ┆ p_value  ┆ se       ┆ df  ┆ brier_a ┆ brier_b ┆ test   │
    │ ---        ┆ ---      ┆ ---      ┆ --- ┆ ---     ┆ ---     ┆ ---    │
    │ f64        ┆ f64      ┆ f64      ┆ f64 ┆ f64     ┆ f64     ┆ str    │
    ╞════════════╪══════════╪══════════╪═════╪═════════╪═════════╪════════╡
    │ -0.1595    ┆ 0.337608 ┆ 0.146546 ┆ 4.0 ┆ 0.128   ┆ 0.2875  ┆ t_test │
    └────────────┴──────────┴──────────┴─────┴─────────┴─────────┴────────┘
    """
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
    options = CompareOptions.parse(
        roles,
        metric=metric,
        method=method,
        fpr=fpr,
        tpr=tpr,
        standardize=standardize,
        margin=margin,
        alternative=alternative,
        level=level,
        baseline=baseline,
        adjust=adjust,
        family=family,
        n_boot=n_boot,
        n_perm=n_perm,
        seed=seed,
    )
    pairing = PairingOptions.parse(
        roles,
        between=between,
        id=id,
        unmatched=unmatched,
        paired=options.test.compare_pairs is not None,
        unpaired=UNPAIRED_METHODS.get(options.hypothesis.quantity.metric),
        probabilities=options.hypothesis.quantity.is_loss,
    )
    return plan_comparison(
        predictions,
        roles,
        pairing,
        lambda frame, columns: comparison_table(frame, columns, options),
        schema=lambda model: comparison_columns(model, options.hypothesis.quantity.name),
        anchor="test",
        # The adjustment with `family="all"` and the check of the baseline require all groups.
        independent_groups=family == "group" and baseline is None,
    )


ComparisonMethod = Literal[
    "delong",
    "delong_unpaired",
    "t_test",
    "t_test_unpaired",
    "bootstrap",
    "permutation",
    "venkatraman",
]
DEFAULT_METHODS: dict[ComparedMetric, ComparisonMethod] = {
    "auc": "delong",
    "average_precision": "bootstrap",
    "brier": "t_test",
    "log_loss": "t_test",
}
UNPAIRED_METHODS = {
    "auc": 'method="delong_unpaired"',
    **dict.fromkeys(("brier", "log_loss"), 'method="t_test_unpaired"'),
}
AREAS: tuple[ComparedMetric, ...] = ("auc",)
LOSSES: tuple[ComparedMetric, ...] = ("brier", "log_loss")
Family = Literal["group", "all"]
EXAMPLE_RANGES = {"fpr": (0, 0.1), "tpr": (0.9, 1)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparisonTest:
    """A test of the difference of two models.

    `metrics` are the metrics that the test can compare. `compare_pairs` compares models that scored
    the same rows. For a test of different rows, it is None, `estimator` estimates the metric of one
    model, and `compare_estimates` compares the estimates of two models. `draws` is the option with
    the number of random draws. `unsupported` maps the options that the test does not support to
    hints for error messages.
    """

    name: str
    metrics: tuple[ComparedMetric, ...] = AREAS
    compare_pairs: Callable[[PairedComparison], Iterable[dict[str, Any]]] | None = None
    estimator: Estimator | None = None
    compare_estimates: UnpairedTest = welch_columns
    draws: Literal["n_boot", "n_perm"] | None = None
    has_limits: bool = True
    compares_rates: bool = False
    unsupported: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        method: str | NotGiven,
        metric: ComparedMetric,
        tests: Mapping[str, ComparisonTest],
        defaults: Mapping[ComparedMetric, str],
    ) -> ComparisonTest:
        """Return the test with this name, or the default test of the metric.

        Raise an error for a name that is not a key of `tests`.
        """
        if method is NOT_GIVEN:
            return tests[defaults[metric]]
        check_choice("method", method, tests)
        return tests[method]

    def check_quantity(self, quantity: Quantity, tests: Mapping[str, ComparisonTest]) -> None:
        """Raise an error if the test cannot compare the metric or the rate `quantity`.

        The error names those of `tests` that can compare the metric.
        """
        if quantity.metric not in self.metrics:
            methods = [
                f'method="{test.name}"'
                for test in tests.values()
                if quantity.metric in test.metrics
            ]
            raise OptionValueError.compose(
                "method",
                self.name,
                f"this method does not compare the metric {quantity.metric!r}",
                f"Use {join_names(methods, 'or')}.",
            )
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
    ("fpr", "tpr", "weight", "count", "margin"),
    'Use method="delong" or method="bootstrap".',
)
COMPARISON_TESTS: dict[str, ComparisonTest] = {
    test.name: test
    for test in (
        ComparisonTest(name="delong", compare_pairs=delong_paired),
        ComparisonTest(
            name="delong_unpaired",
            estimator=area_estimates,
            unsupported={"cluster": 'Use method="delong" with id=, which supports clusters.'},
        ),
        ComparisonTest(name="t_test", metrics=LOSSES, compare_pairs=t_test),
        ComparisonTest(
            name="t_test_unpaired",
            metrics=LOSSES,
            estimator=loss_estimates,
            unsupported={"cluster": 'Use method="t_test" with id=, which supports clusters.'},
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
            compare_pairs=venkatraman_test,
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
    """Options of `compare`; `n_draws` is the number of resamples or permutations."""

    test: ComparisonTest
    hypothesis: Hypothesis
    baseline: object
    adjust: Adjust | None
    family: Family
    n_draws: int
    seed: Seed

    @classmethod
    def parse(
        cls,
        roles: Roles,
        *,
        metric: ComparedMetric,
        method: str | NotGiven,
        fpr: float | Range | None = None,
        tpr: float | Range | None = None,
        standardize: str | None = None,
        margin: float | None,
        alternative: Alternative = "two-sided",
        level: float,
        baseline: object,
        adjust: Adjust | None,
        family: Family,
        n_boot: int,
        n_perm: int = 2000,
        seed: int | None,
        tests: Mapping[str, ComparisonTest] | None = None,
        defaults: Mapping[ComparedMetric, str] | None = None,
    ) -> CompareOptions:
        """Return the options; raise an error if one is invalid or not supported by the test.

        `tests` are the allowed tests, by default those of `compare`, and `defaults` is the default
        method of each metric.
        """
        tests = COMPARISON_TESTS if tests is None else tests
        level = parse_level(level)
        quantity = Quantity.parse(metric, fpr, tpr, standardize)
        test = ComparisonTest.parse(method, quantity.metric, tests, defaults or DEFAULT_METHODS)
        n_draws = {
            "n_boot": parse_n_boot("n_boot", n_boot),
            "n_perm": parse_integer("n_perm", n_perm, high=10**9),
        }
        hypothesis = Hypothesis.parse(quantity, margin, alternative, level)
        check_adjust(adjust)
        check_choice("family", family, get_args(Family))
        options = cls(
            test=test,
            hypothesis=hypothesis,
            baseline=baseline,
            adjust=adjust,
            family=family,
            n_draws=0 if test.draws is None else n_draws[test.draws],
            seed=Seed.parse(seed),
        )
        test.check_quantity(quantity, tests)
        if quantity.is_loss and roles.missing == "worst":
            problem = "a row without a score has no loss"
            raise OptionValueError.compose("missing", "worst", problem, 'Use missing="drop".')
        test.check_options(roles, hypothesis)
        if margin is not None and baseline is None:
            raise OptionValueError.compose(
                "margin",
                abs(hypothesis.null),
                "a test of non-inferiority requires a baseline model",
                'Pass, for example, baseline="old".',
            )
        return options


def comparison_table(
    frame: pl.DataFrame, columns: PairingColumns, options: CompareOptions
) -> pl.DataFrame:
    """Return the comparisons of a collected frame: one row per group and pair of models.

    Rows are sorted by group, model a and model b.
    """
    compare_models = _compare_unpaired if options.test.compare_pairs is None else _compare_paired
    models, keys, comparisons = compare_models(frame, columns, options)
    parts = []
    for comparison in comparisons:
        pair = np.broadcast_to(comparison.pop("models"), (len(comparison["group"]), 2))
        test = {"test": np.full(len(pair), options.test.name)}  # exact tests have their own names
        parts.append(test | comparison | {"model_a": pair[:, 0], "model_b": pair[:, 1]})
    table = build_model_table(
        parts,
        comparison_columns(models.dtype, options.hypothesis.quantity.name) | integers("group"),
        keys=keys,
        models=models,
        order=["model_a", "model_b"],
        constants={"ci_level": options.hypothesis.level if options.test.has_limits else None},
    )
    p_value = table.get_column("p_value").fill_null(np.nan).to_numpy()
    families = table.get_column("group").to_numpy()
    if options.family != "group":
        families = np.zeros_like(families)
    p_adjusted = adjust_p_values(p_value, families, options.adjust)
    return table.with_columns(pl.Series("p_adjusted", p_adjusted).fill_nan(None)).drop("group")


def _compare_paired(
    frame: pl.DataFrame, columns: PairingColumns, options: CompareOptions
) -> tuple[pl.Series, pl.DataFrame, list[dict[str, Any]]]:
    """Return the models, the keys of groups, and the columns of each pair, for a paired test."""
    compare_pairs = options.test.compare_pairs
    assert compare_pairs is not None
    instances = read_instances(frame, columns)
    baseline = _baseline_position(options.baseline, instances.models)
    # The keys of random streams are slow to compute, so only tests with random draws have them.
    keys = [] if options.test.draws is None else stream_keys(instances.groups.keys)
    draws = RandomDraws(n_draws=options.n_draws, seed=options.seed, keys=keys)
    comparisons: list[dict[str, Any]] = []
    for batch in model_batches(instances, columns.options):
        pairs = _model_pairs(batch.models, baseline)
        if pairs:
            comparison = PairedComparison(
                batch=batch,
                pairs=pairs,
                hypothesis=options.hypothesis,
                draws=draws,
            )
            comparisons += compare_pairs(comparison)
    return instances.models, instances.groups.keys, comparisons


def _compare_unpaired(
    frame: pl.DataFrame, columns: PairingColumns, options: CompareOptions
) -> tuple[pl.Series, pl.DataFrame, list[dict[str, Any]]]:
    """Return models, keys of groups, and columns of each pair, for models with separate rows."""
    models, model_cases = read_models(frame, columns)
    pairs = _model_pairs(range(len(models)), _baseline_position(options.baseline, models))
    schema = {str(i): dtype for i, dtype in enumerate(columns.bound.keys.values())}
    keys = pl.concat([pl.DataFrame(schema=schema), *(cases.keys for cases in model_cases)])
    keys = keys.unique().sort(keys.columns) if keys.width else pl.DataFrame(height=1)
    hypothesis = options.hypothesis
    estimator = options.test.estimator
    assert estimator is not None
    estimates = [
        UnpairedEstimates.from_cases(cases, keys, hypothesis.quantity, estimator)
        for cases in model_cases
    ]
    tests = unpaired_tests(estimates, pairs, hypothesis, options.test.compare_estimates)
    return models, keys, list(tests)


def _baseline_position(baseline: object, models: pl.Series) -> int | None:
    """Return the position of the baseline in `models`; None without a baseline or rows."""
    names = models.to_list()
    if baseline is None or not names:
        return None
    return model_position("baseline", baseline, names)


def _model_pairs(models: Sequence[int], baseline: int | None) -> list[tuple[int, int]]:
    """Return the pairs of models to compare: all pairs, or the baseline with each other model."""
    if baseline is None:
        return list(combinations(models, 2))
    return [(baseline, model) for model in models if baseline in models and model != baseline]
