"""The function `gate`: tests in each group whether a new model is non-inferior to an old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.comparisons.compare import compare_models, is_default_unpaired, parse_compared
from rocframe.comparisons.comparison_tests import (
    COMPARISON_TESTS,
    NO_UNPAIRED_CLUSTERS,
    CompareOptions,
    ComparisonTest,
)
from rocframe.comparisons.delong import newcombe_paired, newcombe_unpaired
from rocframe.comparisons.hypothesis import area_estimates
from rocframe.comparisons.pairing import (
    Instances,
    UnpairedModels,
    model_thresholds,
    parse_model_thresholds,
    plan_comparison,
)
from rocframe.errors import OptionValueError, PairingError
from rocframe.frames import build_table, find_keys
from rocframe.inference import adjust_p_values, first_notes, parse_level, parse_n_boot
from rocframe.inputs.cases import RowState
from rocframe.inputs.roles import Roles
from rocframe.kernel.scan import Seed
from rocframe.options import NOT_GIVEN, GateMethod, NotGiven, parse_integer, parse_number, public
from rocframe.rates import Settings
from rocframe.schemas.statistics import gate_columns
from rocframe.schemas.table_type import MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.area import Range
    from rocframe.comparisons.hypothesis import Quantity
    from rocframe.comparisons.pairing import PairingColumns, Thresholds, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inference import Adjust, Note
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


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
    metric: str = "auc",
    method: GateMethod | NotGiven = NOT_GIVEN,
    threshold: Thresholds = None,
    fpr: float | Range | None = None,
    tpr: float | Range | None = None,
    specificity: float | Range | None = None,
    sensitivity: float | Range | None = None,
    alert_rate: float | None = None,
    alerts: float | None = None,
    rule: str | pl.Expr | None = None,
    standardize: Literal["mcclish"] | None = None,
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
    prevalence: float | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
    benefits: Mapping[str, float] | None = None,
    subject_to: Mapping[str, Sequence[float | None]] | None = None,
    minimize: bool | None = None,
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
        Non-inferiority margin, from 0 to below the range of the metric: the largest acceptable
        deterioration.
    between : str, default "model"
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify an instance, to match the rows of the models.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    metric : str, default "auc"
        A metric of `intervals` of which high or low values are better. For metrics of points, such
        as `"recall"`, also pass `threshold`, a rate, `alerts` or `rule`. `"auc"` is the partial
        area if `fpr` or `tpr` is a range, and the other rate if one of them is a number.
    method : str, optional
        By default `"newcombe"` for AUCs: Newcombe's limits of both areas, combined for models that
        scored the same rows; `"newcombe_unpaired"` is for different rows. For partial areas, with
        weights or with clusters, the default is `"delong_t"`. Others as in `compare`, with the same
        defaults: `"delong"`, `"delong_t_unpaired"`, `"delong_unpaired"`, `"t_test"`,
        `"t_test_unpaired"`, `"mcnemar"`, `"miettinen_nurminen"`, `"delta"`, `"delta_unpaired"`,
        `"bootstrap"`, `"bootstrap_unpaired"`.
    threshold : float, mapping or DataFrame, default None
        A threshold that was chosen without these data: of all models, by model, or a table with the
        columns `threshold` and those of models and groups, such as that of `operating_point`.
    fpr : float or (float, float), default None
        False positive rate at which metrics are compared, with the lowest threshold that does not
        exceed it in these data, or a range such as `(0, 0.1)` for partial areas.
    tpr : float or (float, float), default None
        The same for the true positive rate: a number, or a range such as `(0.9, 1)`.
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
    `level` must be above 0.5, because a group could otherwise pass without evidence. If the rows
    have no `id`, and `between` is another column than `"model"`, the tests are unpaired. If both
    models have an AUC of 1 but different scores, all methods except Newcombe's estimate a variance
    of 0, and the verdict is `"undecided"`.

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
    if len(quantities) > 1:
        problem = "a release gate tests one metric"
        raise OptionValueError.compose("metric", metric, problem, 'Pass, for example, "recall".')
    # The intervals have two limits with the level 2 * level - 1, so that one limit has the
    # one-sided level `level`.
    options = CompareOptions(
        roles=roles,
        tests=GATE_TESTS,
        margin=margin,
        method=method,
        quantities=quantities,
        is_unpaired=is_default_unpaired(method, between, id),
        threshold=parse_model_thresholds(threshold, between),
        level=2 * level - 1,
        baseline=baseline,
        adjust=adjust,
        family="all",
        n_boot=parse_n_boot("n_boot", n_boot),
        seed=Seed.parse(seed),
    )
    # Without a margin, the options would be those of a test for any difference.
    parse_number("margin", margin, low=0, closed="left", example=0.01)
    min_rows = parse_integer("min_rows", min_rows, low=0, example=50)
    return plan_comparison(
        predictions,
        options.pairing(between=between, id=id, unmatched=unmatched),
        lambda frame, columns: gate_table(frame, columns, options, level, min_rows),
        schema=lambda model: gate_columns(model, str(options.name)),
        anchor="verdict",
        independent_groups=False,
    )


def _is_complete_area(quantity: Quantity) -> bool:
    """Return whether a quantity is the area under the complete ROC curve."""
    return quantity.is_area and quantity.rate_range is None


NEWCOMBE_HINT = 'Newcombe\'s limits need independent rows without weights. Use method="delong_t".'
GATE_TESTS: dict[str, ComparisonTest] = {
    "newcombe": ComparisonTest(
        name="newcombe",
        compares=_is_complete_area,
        compare_pairs=newcombe_paired,
        needs_variance=False,
        unsupported=dict.fromkeys(("weight", "cluster"), NEWCOMBE_HINT),
    ),
    "newcombe_unpaired": ComparisonTest(
        name="newcombe_unpaired",
        compares=_is_complete_area,
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
    sign = -1.0 if quantity.better == "lower" else 1.0
    margin = sign * hypothesis.null
    p_value = table.get_column("p_value").fill_null(np.nan).to_numpy().copy()
    has_value = table.get_column("difference").is_not_null()
    has_fewer_alerts = note.str.starts_with("fewer_alerts") & has_value  # replaces zero_variance
    has_zero_variance = (note == "zero_variance").fill_null(False).to_numpy()
    has_zero_variance |= table.get_column("se").is_null().to_numpy() & (
        ~np.isnan(p_value) | has_fewer_alerts.fill_null(False).to_numpy()
    )
    is_identical = has_zero_variance & _is_identical(data, columns, options, old)[new, group]
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


def _is_identical(
    data: UnpairedModels | Instances, columns: PairingColumns, options: CompareOptions, old: int
) -> NDArray[np.bool_]:
    """Return whether each model (axis 0) has the scores and thresholds of the old one by group."""
    result = np.full((len(data.models), data.keys.height), isinstance(data, Instances))
    if not isinstance(data, Instances):
        return result
    group, score, state, used = (data.group, data.score, data.state, data.used)
    for new in range(len(score)):
        differs = (score[new] != score[old]) | (state[new] != state[old])
        result[new, group[differs & used[new] & used[old]]] = False
    if options.quantities[0].is_at_given_threshold:
        given = model_thresholds(options.threshold, data.models, data.keys, columns)
        result &= given == given[old]
    return result
