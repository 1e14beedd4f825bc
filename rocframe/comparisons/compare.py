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
    UnpairedSample,
    area_estimates,
    parse_quantities,
    unpaired_tests,
)
from rocframe.comparisons.pairing import (
    Instances,
    UnpairedModels,
    build_model_table,
    given_thresholds,
    model_batches,
    plan_comparison,
)
from rocframe.errors import OptionValueError, PairingError
from rocframe.frames import build_table, find_keys
from rocframe.inference import adjust_p_values, first_notes, parse_level, parse_n_boot
from rocframe.inputs.cases import RowState
from rocframe.inputs.roles import Roles
from rocframe.kernel.scan import Seed, stream_keys
from rocframe.kinds import check_metric_settings
from rocframe.metrics.statistics import parse_rule
from rocframe.options import NOT_GIVEN, GateMethod, NotGiven, parse_integer, parse_number, public
from rocframe.rates import Settings
from rocframe.schemas.statistics import comparison_columns, gate_columns
from rocframe.schemas.table_type import MODEL, integers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.area import Range
    from rocframe.comparisons.comparison_tests import ComparedPairs, Family
    from rocframe.comparisons.pairing import (
        GivenThresholds,
        PairingColumns,
        PairingOptions,
        Unmatched,
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
    pairs: ComparedPairs = "all",
    metric: str | pl.Expr | Sequence[str | pl.Expr] = "auc",
    method: ComparisonMethod | NotGiven = NOT_GIVEN,
    threshold: GivenThresholds = None,
    fpr: float | Range | None = None,
    tpr: float | Range | None = None,
    specificity: float | Range | None = None,
    sensitivity: float | Range | None = None,
    alert_rate: float | None = None,
    alerts: float | None = None,
    rule: str | pl.Expr | None = None,
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
    prevalence: float | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
    benefits: Mapping[str, float] | None = None,
    subject_to: Mapping[str, Sequence[float | None]] | None = None,
    minimize: bool | None = None,
) -> FrameT:
    """Compare the AUC, or other metrics, of each pair of models, or of groups of rows.

    Tests are paired if both models scored the same rows, in one score column each, or in a long
    table where `id` identifies the instances. They have more power than a comparison of two
    confidence intervals. Without `id`, another column than `"model"` in `between`, such as
    `"sex"`, compares groups of different rows with one model by unpaired tests.

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
    pairs : {"all", "rest"}, default "all"
        `"rest"` compares each value of `between` with all other rows; `model_b` is then null.
    metric : str, Expr or sequence of these, default "auc"
        The metrics of `intervals`. For metrics of points, such as `"tpr"`, also pass `threshold`, a
        rate, `alerts` or `rule`. `"auc"` is the partial area if `fpr` or `tpr` is a range, and the
        other rate if one of them is a number. A list gives a row per metric.
    method : str, optional
        By default, the first of these tests that applies, except `"mcnemar_exact"`, and
        `"bootstrap"` before `"delta"` at an FPR or TPR and for areas under the precision-recall
        curve. Tests whose names end with `_unpaired`, and `"miettinen_nurminen"`, are for different
        rows.

        - `"delong_t"`, `"delong_t_unpaired"`, for areas: a t test with DeLong's variance and
          Satterthwaite's degrees of freedom.
        - `"delong"`, `"delong_unpaired"`: a z test with the same variance, or a t test with Welch's
          degrees of freedom, for at least about 50 rows of each class.
        - `"t_test"`, `"t_test_unpaired"`, for `"brier"` and `"log_loss"`: t tests of losses.
        - `"mcnemar"`, `"mcnemar_exact"`, for shares of all rows or of those of a class at given
          thresholds, such as `"tpr"` and `"accuracy"`: McNemar's test (mid-p or exact), and Tango's
          limits.
        - `"kosinski"`, for predictive values at given thresholds, such as `"precision"`: a weighted
          score test, and Wald limits.
        - `"miettinen_nurminen"`, for shares at given thresholds: the score test and its limits.
        - `"delta"`, `"delta_unpaired"`: a t test with the variance from the derivatives with
          respect to the weights of rows, for metrics of which these are known.
        - `"bootstrap"`, `"bootstrap_unpaired"`, for all metrics: a z test (for areas under the
          precision-recall curve, a t test) with the variance over resamples.
        - `"permutation"`, for areas: exchanges the two ranks of random rows between the models.
        - `"venkatraman"`: a test of the complete curves with the same permutations. Curves can
          differ even if their areas are equal.
    threshold : float, mapping or DataFrame, default None
        A threshold that was chosen without these data: of all models, by model, or a table with the
        columns `threshold` and those of models and groups, such as that of `operating_point`.
    fpr : float or (float, float), default None
        False positive rate at which metrics are compared, with the lowest threshold that does not
        exceed it in these data, or a range such as `(0, 0.1)` for partial areas.
    tpr : float or (float, float), default None
        The same for the true positive rate: a number, or a range such as `(0.9, 1)`. Two ranges are
        those of a two-way partial area, as in `auc`.
    specificity : float or (float, float), default None
        Specificity, 1 - FPR: `(0.9, 1)` is the same as `fpr=(0, 0.1)`.
    sensitivity : float or (float, float), default None
        Another name of `tpr`.
    alert_rate : float, default None
        Share of the rows with the highest scores at which metrics are compared.
    alerts : float, default None
        Number of the rows with the highest scores, such as 500 letters.
    rule : str or Expr, default None
        Rule of `operating_point` (except `"bayes"`) that chooses the threshold of each model, and
        again in each resample.
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
    prevalence : float, default None
        Prevalence, by default that of the data, at which metrics such as precision are computed.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, by default 0, for the metric `"expected_cost"`.
    benefits : mapping of str to float, default None
        Benefits of one `tp`, `fp`, `fn` and `tn`, by default 0, for the rule `"profit"`.
    subject_to : mapping of str to sequence, default None
        Constraints of the rule: lowest and highest value of metrics, as in `operating_point`.
    minimize : bool, default None
        Whether the rule minimizes its metric or expression, as in `operating_point`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and pair of models that both have rows in the group, sorted by group,
        `model_a` and `model_b`: `*by`, `model_a, model_b, difference, lower, upper, p_value,
        p_adjusted, se, statistic, df, auc_a, auc_b, n_paired, n_pos, n_neg, ci_level, test, note`.
        `model_a` and `model_b` are values of `between`.

        If `metric` is a list, there is a row per metric, in the given order, and more columns:
        `*by`, `model_a, model_b, metric, difference, lower, upper, p_value, p_adjusted, ratio,
        ratio_lower, ratio_upper, se, statistic, df, estimate_a, estimate_b, threshold_a,
        threshold_b, n_paired, n_pos, n_neg, ci_level, test, note`. `ratio` is `estimate_a` /
        `estimate_b`. The family `"group"` then includes all metrics.

        - `difference` (Float64) is the value of `model_a` minus the value of `model_b`. Its limits
          are not adjusted for the number of tests; `p_adjusted` is.
        - `auc_a` and `auc_b` (Float64) are the values of the metric, and named after it, such as
          `partial_auc_a`, `tpr_a` or `brier_a`.
        - `n_paired`, `n_pos` and `n_neg` (Int64) count the instances that both models scored; for
          unpaired tests, `n_paired` is null, the others are those of the model that has fewer.

        The statistics are null if a class has fewer than two rows or clusters (for permutations, no
        rows; for t tests of losses, both classes together; not for tests of shares of decisions),
        or if the variance of the difference is 0; a difference of 0 then has a p-value. Limits are
        null for `"permutation"` and `"venkatraman"`.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance, no_solution` (an undefined metric),
        `few_rows:3` (below 4 rows or clusters of a class), `redrawn:3` (resamples) or
        `unmatched:3`.

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
    For losses, and for metrics such as the FPR, `model_a` is better if `difference` is negative.
    Levels and coverage in small samples are on the page "Coverage of intervals and tests".

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
    - M. W. Fagerland, S. Lydersen, P. Laake (2013), BMC Medical Research Methodology 13, 91.
      doi:10.1186/1471-2288-13-91
    - T. Tango (1998), Statistics in Medicine 17(8), 891-908.
      doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B
    - A. S. Kosinski (2013), Statistics in Medicine 32(6), 964-977. doi:10.1002/sim.5587
    - O. Miettinen, M. Nurminen (1985), Statistics in Medicine 4(2), 213-226.
      doi:10.1002/sim.4780040211

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
    chosen = parse_rule(
        rule,
        costs=costs,
        benefits=benefits,
        prevalence=prevalence,
        subject_to=subject_to,
        minimize=minimize,
        beta=beta,
    )
    points: dict[str, object] = {"threshold": threshold, "fpr": fpr, "tpr": tpr}
    points |= {"specificity": specificity, "sensitivity": sensitivity}
    points |= {"alert_rate": alert_rate, "alerts": alerts, "rule": rule}
    quantities = parse_quantities(
        metric,
        points,
        standardize=standardize,
        rule=chosen,
        settings=Settings(beta=beta, costs=costs, prevalence=prevalence),
    )
    used = {*(quantity.name for quantity in quantities), *(chosen.names if chosen else ())}
    check_metric_settings(used, beta=beta, costs=costs)
    options = CompareOptions(
        roles=roles,
        tests=COMPARISON_TESTS,
        method=method,
        level=parse_level(level),
        quantities=quantities,
        margin=margin,
        alternative=alternative,
        baseline=baseline,
        adjust=adjust,
        family=family,
        n_boot=parse_n_boot("n_boot", n_boot),
        n_perm=parse_integer("n_perm", n_perm, high=10**9),
        seed=Seed.parse(seed),
        is_list=not isinstance(metric, str | pl.Expr),
        is_unpaired=is_default_unpaired(method, between, id),
        pairs=pairs,
        threshold=threshold,
    )
    return plan_comparison(
        predictions,
        options.pairing(between=between, id=id, unmatched=unmatched),
        lambda frame, columns: comparison_table(frame, columns, options),
        schema=lambda model: comparison_columns(model, options.name),
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
    "mcnemar",
    "mcnemar_exact",
    "kosinski",
    "miettinen_nurminen",
    "delta",
    "delta_unpaired",
    "bootstrap",
    "bootstrap_unpaired",
    "permutation",
    "venkatraman",
]


def is_default_unpaired(method: object, between: str, id_columns: object) -> bool:
    """Return whether groups of rows are compared: without `id`, and not between models."""
    return isinstance(method, NotGiven) and id_columns is None and between != MODEL


def comparison_table(
    frame: pl.DataFrame, columns: PairingColumns, options: CompareOptions
) -> pl.DataFrame:
    """Return the comparisons of a collected frame: one row per group and pair of models."""
    table = compare_models(read_data(frame, columns, options), columns, options)
    p_value = table.get_column("p_value").fill_null(np.nan).to_numpy()
    families = table.get_column("group").to_numpy()
    if options.family != "group":
        families = np.zeros_like(families)
    p_adjusted = adjust_p_values(p_value, families, options.adjust)
    return table.with_columns(pl.Series("p_adjusted", p_adjusted).fill_nan(None)).drop(POSITIONS)


POSITIONS = ("group", "position_a", "position_b")


def read_data(
    frame: pl.DataFrame, columns: PairingColumns, options: CompareOptions
) -> Instances | UnpairedModels:
    """Read the models of a collected frame, with a sample of all other rows for each if needed."""
    data = options.selected[0].read(frame, columns)
    if options.pairs == "rest" and isinstance(data, UnpairedModels):
        return data.with_rest()
    return data


def compare_models(
    data: Instances | UnpairedModels, columns: PairingColumns, options: CompareOptions
) -> pl.DataFrame:
    """Return the sorted comparisons, with unadjusted p-values and the columns `POSITIONS`."""
    given = None
    if any(quantity.is_at_given_threshold for quantity in options.quantities):
        given = given_thresholds(options.threshold, data.models, data.keys, columns)
        data = data.decisions(given)
    baseline = options.baseline_position(data.models)
    compare = _compare_paired if isinstance(data, Instances) else _compare_unpaired
    parts = []
    for part in compare(data, baseline, columns.options, options, given):  # type: ignore[arg-type]
        a, b = part.pop("models")
        positions = {"model_a": a, "model_b": b, "position_a": a, "position_b": b}
        parts.append(part | positions)
    schema = comparison_columns(data.models.dtype, options.name) | integers(*POSITIONS)
    names = [quantity.name for quantity in options.quantities]
    # Tests have different columns, such as limits.
    found = dict.fromkeys(name for part in parts for name in part)
    for part in parts:
        part |= {name: np.nan for name in found if name not in part}
        if options.name is not None:
            for side in ("a", "b"):
                part[f"{options.name}_{side}"] = part.pop(f"estimate_{side}")
    return build_model_table(
        parts,
        {**schema, "metric": pl.Int64()} if options.is_list else schema,
        keys=data.keys,
        models=data.models,
        order=["model_a", "model_b", "metric"] if options.is_list else ["model_a", "model_b"],
    ).with_columns(
        [pl.col("metric").replace_strict(range(len(names)), names, return_dtype=pl.String())]
        if options.is_list
        else []
    )


def _compare_paired(
    instances: Instances,
    baseline: int | None,
    pairing: PairingOptions,
    options: CompareOptions,
    given: NDArray[np.float64] | None,
) -> Iterator[dict[str, Any]]:
    """Yield the columns of each pair of models that scored the same rows."""
    # The keys of random streams are slow to compute, so only tests with random draws have them.
    has_draws = any(test.draws is not None for test in options.selected)
    keys = stream_keys(instances.keys) if has_draws else []
    for batch in model_batches(instances, pairing):
        pairs = _model_pairs(batch.models, baseline)
        for number, (test, hypothesis) in enumerate(
            zip(options.selected, options.hypotheses, strict=True)
        ):
            assert test.compare_pairs is not None
            comparison = PairedComparison(
                batch=batch,
                pairs=pairs,
                hypothesis=hypothesis,
                draws=options.draws(test, keys),
                thresholds=given,
            )
            thresholds = comparison.point_thresholds() if options.is_list else {}
            for part in test.compare_pairs(comparison) if pairs else ():
                found = [thresholds.get(model) for model in part["models"]]
                yield _complete(part, test, options, number, found)


def _compare_unpaired(
    unpaired: UnpairedModels,
    baseline: int | None,
    _: PairingOptions,
    options: CompareOptions,
    given: NDArray[np.float64] | None,
) -> Iterator[dict[str, Any]]:
    """Yield the columns of each pair of models that scored different rows."""
    n_models = len(unpaired.cases)
    pairs = _model_pairs(range(n_models), baseline)
    if options.pairs == "rest":
        pairs = [(model, model + n_models // 2) for model in range(n_models // 2)]
    for number, (test, hypothesis) in enumerate(
        zip(options.selected, options.hypotheses, strict=True)
    ):
        assert test.estimator is not None
        samples = [
            UnpairedSample.from_cases(
                cases,
                unpaired.keys,
                hypothesis.quantity,
                None if given is None else given[model],
                options.draws(
                    test, [] if test.draws is None else stream_keys(unpaired.keys, str(model))
                ),
            )
            for model, cases in enumerate(unpaired.cases)
        ]
        estimates = [test.estimator(sample) for sample in samples]
        thresholds = [sample.point_thresholds() if options.is_list else None for sample in samples]
        for part in unpaired_tests(estimates, pairs, hypothesis, test.compare_estimates):
            found = [
                None if values is None else values[part["group"]]
                for values in (thresholds[model] for model in part["models"])
            ]
            yield _complete(part, test, options, number, found)


def _complete(
    part: dict[str, Any],
    test: ComparisonTest,
    options: CompareOptions,
    number: int,
    thresholds: list[NDArray[np.float64] | None],
) -> dict[str, Any]:
    """Return the columns of a pair of models with those that do not depend on the test."""
    result: dict[str, Any] = {"test": test.name, "metric": number} | part  # or an exact test
    result["ci_level"] = options.level if test.has_limits else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        result["ratio"] = np.divide(part["estimate_a"], part["estimate_b"])
    for side, values in zip("ab", thresholds, strict=True):
        if values is not None:
            result[f"threshold_{side}"] = values
    return result


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
    metric: str | pl.Expr = "auc",
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
        quantities=parse_quantities(metric, {}),
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
        schema=lambda model: gate_columns(model, str(options.name)),
        anchor="verdict",
        independent_groups=False,
    )


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
    (test,), (hypothesis,) = options.selected, options.hypotheses
    quantity = hypothesis.quantity
    data = test.read(frame, columns)
    table = compare_models(data, columns, options)
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

    sign = -1.0 if quantity.better == "lower" else 1.0
    margin = sign * hypothesis.null
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
