"""The function `compare`: tests of differences between models, or between groups of rows."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.comparisons.comparison_tests import COMPARISON_TESTS, CompareOptions, ComparisonTest
from rocframe.comparisons.hypothesis import (
    PairedComparison,
    UnpairedSample,
    parse_quantities,
    unpaired_tests,
)
from rocframe.comparisons.pairing import (
    Instances,
    UnpairedModels,
    build_model_table,
    model_batches,
    model_thresholds,
    parse_model_thresholds,
    plan_comparison,
)
from rocframe.inference import adjust_p_values, first_notes, join_notes, parse_level, parse_n_boot
from rocframe.inputs.roles import Roles
from rocframe.kernel.scan import Seed, stream_keys
from rocframe.kinds import check_metric_settings
from rocframe.metrics.statistics import parse_rule
from rocframe.options import NOT_GIVEN, ComparisonMethod, NotGiven, parse_integer, public
from rocframe.rates import Settings
from rocframe.resampling import replicate_rows
from rocframe.schemas.statistics import comparison_columns, replicate_columns
from rocframe.schemas.table_type import MODEL, integers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.area import Range
    from rocframe.comparisons.comparison_tests import ComparedPairs, Family
    from rocframe.comparisons.hypothesis import Quantity
    from rocframe.comparisons.pairing import PairingColumns, PairingOptions, Thresholds, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inference import Adjust, Alternative
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
    threshold: Thresholds = None,
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
    replicates: bool = False,
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
        rate, `alerts` or `rule`. `"auc"` is the partial area if `fpr` or `tpr` is a range; alone,
        it is the other rate if one of them is a number. A list gives a row per metric.
    method : str, optional
        By default, the first of these tests that applies, except `"mcnemar_exact"`, and
        `"bootstrap"` before `"delta"` at estimated points of curves (a rate, `alerts`, `"ks"`,
        `"eer"`) and for areas under the precision-recall curve. Tests whose names end with
        `_unpaired`, and `"miettinen_nurminen"`, are for different rows.

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
        - `"bootstrap"`, `"bootstrap_unpaired"`, for all metrics: a z test with the variance over
          resamples (for `"ks"` and areas under the precision-recall curve, a t test).
        - `"permutation"`, for areas: exchanges the two ranks of random rows between the models.
        - `"venkatraman"`: a test of the complete curves with the same permutations. Curves can
          differ even if their areas are equal.
    threshold : float, mapping or DataFrame, default None
        A threshold that was chosen without these data: of all models, by model, or a table with the
        columns `threshold` and those of models and groups, such as that of `operating_point`.
        Without a threshold, the results of a group are null.
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
        Number of the rows with the highest scores, such as 500 letters; with `weight`, the sum of
        their weights.
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
    replicates : bool, default False
        Return the values of all resamples instead of tests, for `"bootstrap"` (then the default)
        and `"bootstrap_unpaired"`.

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

        With `replicates=True`, there is one row per group, pair and resample: `*by`, `model_a,
        model_b, draw, difference, estimate_a, estimate_b`. If `metric` is a list, `metric` is the
        column left of `draw`. `draw` (Int64) is the number of the resample, from 1 to `n_boot`. The
        values (Float64) are null if they are undefined in the resample, or if a class has too few
        rows. The standard deviation of `difference` is `se`; for different rows, `se`² is the sum
        of the variances of `estimate_a` and `estimate_b`. Metrics that depend on the prevalence
        have other resamples than those that do not.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance, no_solution` (an undefined metric),
        `no_limits` (an infinite metric), `few_rows:3` (below 4 rows or clusters of a class),
        `redrawn:3` (resamples) or `unmatched:3`. Before `zero_variance`, there is
        `fewer_alerts:97`, which `few_rows` can follow: a model has 97 fewer alerts than given,
        because scores are tied or the group has fewer rows. The metric is that of its alerts.
        Without any, there is no test.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the rows cannot be paired by `id`.

    See Also
    --------
    gate : Test in each group whether a new model is non-inferior.
    contrast : Test more than two areas at once.
    auc_covariance : Estimate the covariance matrix of the areas.

    Notes
    -----
    The tests assume that rows or clusters are independent, and that the models were fitted on other
    data. They do not account for the variation between models fitted on different training data.
    For losses, and for metrics such as the FPR, `model_a` is better if `difference` is negative.
    Levels and coverage in small samples are on the page "Coverage of intervals and bands".

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
    points: dict[str, object] = {"threshold": threshold, "fpr": fpr, "tpr": tpr}
    points |= {"specificity": specificity, "sensitivity": sensitivity}
    points |= {"alert_rate": alert_rate, "alerts": alerts, "rule": rule}
    quantities = parse_compared(
        metric,
        points,
        standardize=standardize,
        settings=Settings(beta=beta, costs=costs, prevalence=prevalence),
        benefits=benefits,
        subject_to=subject_to,
        minimize=minimize,
    )
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
        threshold=parse_model_thresholds(threshold, between),
        replicates=replicates,
    )
    build, schema = comparison_table, comparison_columns
    if replicates:
        build, schema = comparison_replicate_table, replicate_columns
    return plan_comparison(
        predictions,
        options.pairing(
            between=between, id=id, unmatched=unmatched, default_unpaired=options.is_unpaired
        ),
        lambda frame, columns: build(frame, columns, options),
        schema=lambda model: schema(model, options.name),
        anchor="draw" if replicates else "test",
        # The adjustment with `family="all"` and the check of the baseline require all groups.
        independent_groups=family == "group" and baseline is None,
    )


def parse_compared(
    metric: str | pl.Expr | Sequence[str | pl.Expr],
    points: Mapping[str, object],
    *,
    standardize: str | None,
    settings: Settings,
    **rule_options: Any,
) -> list[Quantity]:
    """Return the compared quantities, from the arguments of the metric, the point and the rule."""
    beta, costs = settings.beta, settings.costs
    rule = parse_rule(
        points["rule"], costs=costs, beta=beta, prevalence=settings.prevalence, **rule_options
    )
    quantities = parse_quantities(
        metric, points, standardize=standardize, rule=rule, settings=settings
    )
    used = {*(quantity.name for quantity in quantities), *(rule.names if rule else ())}
    check_metric_settings(used, beta=beta, costs=costs, argument="metric")
    return quantities


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


def comparison_replicate_table(
    frame: pl.DataFrame, columns: PairingColumns, options: CompareOptions
) -> pl.DataFrame:
    """Return the replicates of a collected frame: a row per group, pair, metric and resample."""
    data = read_data(frame, columns, options)
    parts, values, first = [], [np.zeros((0, 2, options.n_boot))], 0
    for part in comparison_parts(data, columns, options):
        values.append(part["replicates"])
        part["line"] = first + np.arange(len(values[-1]))
        first += len(values[-1])
        parts.append({name: part[name] for name in ("group", *PAIR_COLUMNS, "line")})
    schema = replicate_columns(data.models.dtype, options.name)
    names = [name for name in PAIR_COLUMNS if name in schema]
    own = {name: schema[name] for name in names} | integers("line")
    lines = sorted_table(parts, own, data, options)
    order = lines.get_column("line").to_numpy()
    a, b = np.moveaxis(np.concatenate(values)[order], 1, 0)
    replicates = {"difference": a - b, "estimate_a": a, "estimate_b": b}
    flat = {name: each.ravel() for name, each in replicates.items()}
    return replicate_rows(lines.drop("line"), flat, options.n_boot)


PAIR_COLUMNS = ("model_a", "model_b", "metric")
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
    parts = comparison_parts(data, columns, options)
    schema = comparison_columns(data.models.dtype, options.name) | integers(*POSITIONS)
    # Tests have different columns, such as limits.
    found = dict.fromkeys(name for part in parts for name in part)
    for part in parts:
        part |= {name: np.nan for name in found if name not in part}
        if options.name is not None:
            for side in ("a", "b"):
                part[f"{options.name}_{side}"] = part.pop(f"estimate_{side}")
    return sorted_table(parts, schema, data, options)


def comparison_parts(
    data: Instances | UnpairedModels, columns: PairingColumns, options: CompareOptions
) -> list[dict[str, Any]]:
    """Return the columns of each pair of models and metric, with an element for each group."""
    baseline = options.baseline_position(data.models)
    compare = _compare_paired if isinstance(data, Instances) else _compare_unpaired
    parts = []
    # Metrics at given thresholds need decisions only, all others the scores.
    for is_given in (False, True):
        numbers = [
            number
            for number, quantity in enumerate(options.quantities)
            if quantity.is_at_given_threshold == is_given
        ]
        source, given = data, None
        if numbers and is_given:
            given = model_thresholds(options.threshold, data.models, data.keys, columns)
            source = data.decisions(given)
        for part in compare(
            source,  # type: ignore[arg-type]
            baseline,
            columns.options,
            options,
            given,
            numbers=numbers,
        ):
            a, b = part.pop("models")
            positions = {"model_a": a, "model_b": b, "position_a": a, "position_b": b}
            parts.append(part | positions)
    return parts


def sorted_table(
    parts: Sequence[dict[str, Any]],
    schema: dict[str, pl.DataType],
    data: Instances | UnpairedModels,
    options: CompareOptions,
) -> pl.DataFrame:
    """Return a table of the columns of `comparison_parts`, sorted by group, pair and metric."""
    names = [quantity.name for quantity in options.quantities]
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
    *,
    numbers: Sequence[int],
) -> Iterator[dict[str, Any]]:
    """Yield the columns of each pair of models that scored the same rows."""
    # The keys of random streams are slow to compute, so only tests with random draws have them.
    has_draws = any(test.draws is not None for test in options.selected)
    keys = stream_keys(instances.keys) if has_draws else []
    tests, hypotheses = options.selected, options.hypotheses
    for batch in model_batches(instances, pairing) if numbers else ():
        pairs = _model_pairs(batch.models, baseline)
        for number in numbers:
            test, hypothesis = tests[number], hypotheses[number]
            assert test.compare_pairs is not None
            comparison = PairedComparison(
                batch=batch,
                pairs=pairs,
                hypothesis=hypothesis,
                draws=options.draws(test, keys),
                thresholds=given,
            )
            has_points = options.is_list or hypothesis.quantity.is_at_alerts
            points = comparison.points() if pairs and has_points else {}
            for part in test.compare_pairs(comparison) if pairs else ():
                found = [points.get(model) for model in part["models"]]
                yield _complete(part, test, options, number, found)


def _compare_unpaired(
    unpaired: UnpairedModels,
    baseline: int | None,
    _: PairingOptions,
    options: CompareOptions,
    given: NDArray[np.float64] | None,
    *,
    numbers: Sequence[int],
) -> Iterator[dict[str, Any]]:
    """Yield the columns of each pair of models that scored different rows."""
    n_models = len(unpaired.cases)
    pairs = _model_pairs(range(n_models), baseline)
    if options.pairs == "rest":
        pairs = [(model, model + n_models // 2) for model in range(n_models // 2)]
    tests, hypotheses = options.selected, options.hypotheses
    for number in numbers:
        test, hypothesis = tests[number], hypotheses[number]
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
        has_points = options.is_list or hypothesis.quantity.is_at_alerts
        points = [sample.points() if has_points else None for sample in samples]
        for part in unpaired_tests(estimates, pairs, hypothesis, test.compare_estimates):
            found = [
                None if values is None else values[:, part["group"]]
                for values in (points[model] for model in part["models"])
            ]
            yield _complete(part, test, options, number, found)


def _complete(
    part: dict[str, Any],
    test: ComparisonTest,
    options: CompareOptions,
    number: int,
    points: list[NDArray[np.float64] | None],
) -> dict[str, Any]:
    """Return the columns of a pair of models with those that do not depend on the test.

    If all rows with the highest score of a model are more than the given number of alerts, the
    model has no alerts, and there is no test.
    """
    result: dict[str, Any] = {"test": test.name, "metric": number} | part  # or an exact test
    result["ci_level"] = options.level if test.has_limits else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        result["ratio"] = np.divide(part["estimate_a"], part["estimate_b"])
    shortfall, is_empty = np.zeros((2, len(part["group"])))
    for side, values in zip("ab", points, strict=True):
        if values is not None:
            threshold, alerts, missing = values
            shortfall = np.fmax(shortfall, missing)
            is_empty = np.fmax(is_empty, (alerts == 0) & (missing > 0))
            if options.is_list:
                result[f"threshold_{side}"] = threshold
    if shortfall.any():
        for name in TEST_RESULTS & result.keys():
            result[name] = np.where(is_empty > 0, np.nan, result[name])
        fewer = first_notes({"fewer_alerts": shortfall.astype(np.int64)})
        result["note"] = np.array([*map(_note_on_alerts, fewer, result["note"])], object)
    return result


def _note_on_alerts(fewer: str | None, note: str | None) -> str | None:
    """Return the note of a test whose models may have fewer alerts than given.

    The missing alerts are the cause of an undefined metric or a variance of 0, but not of a class
    with too few rows.
    """
    if fewer is None or note in CLASS_NOTES:
        return note
    return join_notes(fewer, note) if note and note.startswith("few_rows") else fewer


CLASS_NOTES = ("no_rows", "no_positives", "no_negatives", "one_positive", "one_negative")
TEST_RESULTS = {
    *("lower", "upper", "p_value", "se", "statistic", "df", "ratio_lower", "ratio_upper")
}


def _model_pairs(models: Sequence[int], baseline: int | None) -> list[tuple[int, int]]:
    """Return the pairs of models to compare: all pairs, or the baseline with each other model."""
    if baseline is None:
        return list(combinations(models, 2))
    return [(baseline, model) for model in models if baseline in models and model != baseline]
