"""`decision_intervals`: intervals of decision curves and cost curves, and of their differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from rocframe.comparisons.paired_samples import paired_samples
from rocframe.comparisons.pairing import (
    PairingOptions,
    build_model_table,
    model_batches,
    model_position,
    plan_comparison,
    read_instances,
)
from rocframe.decisions.cost_curve import EnvelopeLines, normalized_cost
from rocframe.decisions.decision_curve import (
    DEFAULT_THRESHOLDS,
    class_totals,
    parse_probability_thresholds,
)
from rocframe.errors import OptionValueError, ScoreError
from rocframe.inference import Confidence, Estimate, class_notes, paired_difference
from rocframe.inputs.cases import RowState, outside_unit_problem
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import round_thresholds
from rocframe.kernel.scan import RandomDraws, stream_keys
from rocframe.options import (
    NOT_GIVEN,
    NotGiven,
    check_choice,
    check_supported,
    is_text,
    parse_fraction,
    parse_numbers,
    public,
)
from rocframe.resampling import column_limits
from rocframe.schemas.statistics import DECISION_AXES, decision_interval_columns
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.paired_samples import PairedSample
    from rocframe.comparisons.pairing import Instances, ModelBatch, PairingColumns, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.scan import ReplicateCounts, ReplicateScan

DecisionKind = Literal["decision", "cost"]
DecisionInterval = Literal["mover", "bootstrap", "bootstrap_basic"]
CI_HINT = 'Use ci="bootstrap".'


@public
def decision_intervals(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    kind: DecisionKind = "decision",
    grid: float | Sequence[float] | None = None,
    prevalence: float | None = None,
    baseline: object = None,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - name of the public option
    by: By = None,
    unmatched: Unmatched = "raise",
    ci: DecisionInterval | NotGiven | None = NOT_GIVEN,
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute decision curves or cost curves with confidence intervals, and their differences.

    With `baseline`, each point of a curve also has the difference to the curve of another model.
    All models of a group are evaluated on the same resamples. Several models are several score
    columns, or the rows of a long table with `id`. With one score column and no `id`, all rows of a
    group are one model; a column named as in `between` must then be in `by`.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
    kind : {"decision", "cost"}, default "decision"
        `"decision"`: the net benefit at probability thresholds, for scores in [0, 1]. `"cost"`: the
        lowest expected cost at each probability cost, as in `cost_curve`.
    grid : float or sequence of float, default None
        Probability thresholds of at least 0 and below 1, or probability costs from 0 to 1; by
        default, in steps of 0.01.
    prevalence : float, default None
        Prevalence, between 0 and 1, for the net benefit; by default, that of the data.
    baseline : str, default None
        Model with which all other models are compared. `difference` is other minus baseline, the
        opposite of `compare`. None: no differences.
    between : str, default "model"
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify an instance, to match the rows of the models.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
    ci : {"mover", "bootstrap", "bootstrap_basic"} or None, optional
        `"mover"`: combined Wilson limits of the shares of true and false positives, the default for
        net benefits without `cluster` and `weight`; `"bootstrap"`: quantiles of the resamples;
        `"bootstrap_basic"`, the default for costs: 2·estimate - quantile. None: no intervals.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
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
        One row per group, model and point, sorted in this order: `*by`, (`model`,)
        `probability_threshold, net_benefit, lower, upper, se, difference_se, treat_all, n_pos,
        n_neg, ci_level, ci_method, difference, difference_lower, difference_upper, note`. For cost
        curves, `probability_cost, expected_cost` and `trivial_cost` are in the place of
        `probability_threshold, net_benefit` and `treat_all`.

        `n_pos` and `n_neg` (Int64) count the rows that all models of the group scored. Limits and
        standard errors (Float64) are null if `ci` is None, if a class has no rows, or, for
        bootstrap intervals, fewer than two rows or clusters, or if all resamples are equal.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance`, `redrawn:12` or `unmatched:3`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the rows cannot be paired by `id`.

    See Also
    --------
    decision_curve : The net benefit, compared with treating all and treating none.
    cost_curve : The lowest expected cost, and its threshold.
    intervals : Intervals of the net benefit at given thresholds, by other methods.
    compare : Test the difference of the net benefit, or of another metric, at a threshold.

    Notes
    -----
    The intervals are pointwise: each is valid at one point, not for the whole curve. Without
    `prevalence`, resamples of net benefits are drawn from both classes together, otherwise from
    each class. The lowest cost of a resample is on average below that of the data, which is below
    that of the population; `"bootstrap_basic"` corrects a part of this bias, but fewer than 95 % of
    its intervals contain the cost of the population. Differences between models have a smaller
    bias.

    References
    ----------
    - A. J. Vickers et al. (2008), BMC Medical Informatics 8, 53. doi:10.1186/1472-6947-8-53
    - G. Y. Zou, A. Donner (2008), Statistics in Medicine 27(10), 1693-1702. doi:10.1002/sim.3095
    - R. G. Newcombe (1998), Statistics in Medicine 17(22), 2635-2650.
      doi:10.1002/(SICI)1097-0258(19981130)17:22<2635::AID-SIM954>3.0.CO;2-C
    - C. Drummond, R. C. Holte (2006), Machine Learning 65(1), 95-130. doi:10.1007/s10994-006-8199-5

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> votes = rf.datasets.vote().filter(pl.col("model").is_in(["random_forest", "naive_bayes"]))
    >>> options = {"id": "id", "grid": 0.3, "baseline": "naive_bayes"}
    >>> benefit = rf.decision_intervals(votes, "label", "score", **options)
    >>> benefit.select("model", "net_benefit", "difference", "difference_lower", "difference_upper")
    shape: (2, 5)
    ┌───────────────┬─────────────┬────────────┬──────────────────┬──────────────────┐
    │ model         ┆ net_benefit ┆ difference ┆ difference_lower ┆ difference_upper │
    │ ---           ┆ ---         ┆ ---        ┆ ---              ┆ ---              │
    │ str           ┆ f64         ┆ f64        ┆ f64              ┆ f64              │
    ╞═══════════════╪═════════════╪════════════╪══════════════════╪══════════════════╡
    │ naive_bayes   ┆ 0.234262    ┆ null       ┆ null             ┆ null             │
    │ random_forest ┆ 0.238801    ┆ 0.00454    ┆ -0.014952        ┆ 0.024027         │
    └───────────────┴─────────────┴────────────┴──────────────────┴──────────────────┘
    """
    check_choice("kind", kind, CURVES)
    curve = CURVES[kind]
    check_supported("prevalence", prevalence, 'kind="cost"', supported=curve.of_probabilities)
    has_mover = curve.of_probabilities and cluster is None and weight is None
    default = "mover" if has_mover else "bootstrap"
    method = (curve.default_ci or default) if isinstance(ci, NotGiven) else ci
    if is_text(method, "mover"):
        supported = curve.of_probabilities
        check_supported("ci", method, 'kind="cost"', supported=supported, hint=CI_HINT)
        check_supported("ci", method, "cluster= and weight=", supported=has_mover, hint=CI_HINT)
    confidence = Confidence.parse(method, level, n_boot, seed, get_args(DecisionInterval))
    if prevalence is not None:
        prevalence = parse_fraction("prevalence", prevalence, example=0.1)
    options = DecisionIntervalOptions(
        curve=curve,
        axis=np.array(sorted(set(curve.grid if grid is None else curve.parse_grid(grid)))),
        prevalence=prevalence,
        baseline=baseline,
        confidence=confidence,
        difference_method=default if isinstance(ci, NotGiven) else confidence.ci,
    )
    roles = Roles(label, score, by, positive, weight, count, missing, cluster)
    pairing = PairingOptions(
        roles=roles,
        between=between,
        id=id,
        unmatched=unmatched,
        min_models=1,
        single_model=True,
        unpaired=f"by={between!r}",
    )
    return plan_comparison(
        predictions,
        pairing,
        lambda frame, columns: decision_table(frame, columns, options),
        schema=partial(decision_interval_columns, kind),
        anchor="n_pos",
        # The baseline is checked against the models of all groups, so all groups are read.
        independent_groups=baseline is None,
    )


class DecisionIntervalOptions(NamedTuple):
    """The options of `decision_intervals`; `axis` are the points of the curves."""

    curve: DecisionCurve
    axis: NDArray[np.float64]
    prevalence: float | None
    baseline: object
    confidence: Confidence
    difference_method: str | None

    @property
    def stratified(self) -> bool:
        """Whether resamples have the class sizes of the data: values depend on rates only."""
        return not self.curve.of_probabilities or self.prevalence is not None

    def values(self, resamples: Sequence[ReplicateCounts]) -> NDArray[np.float64]:
        """Return the values of the curves; the axes are the resample, the model and the point."""
        corners = not self.curve.of_probabilities
        scans = (resample.scan(corners=corners) for resample in resamples)
        return np.stack([self.curve.values(scan, self) for scan in scans], axis=1)


def decision_table(
    frame: pl.DataFrame, columns: PairingColumns, options: DecisionIntervalOptions
) -> pl.DataFrame:
    """Return a row for each group, model and point."""
    instances = read_instances(frame, columns)
    baseline = None
    if options.baseline is not None and columns.model == pl.Null:
        problem = "there is only one model in each group"
        hint = (
            "Pass several score columns. For a long table with a column of models, pass the column "
            'that identifies instances, such as id="id".'
        )
        raise OptionValueError.compose("baseline", options.baseline, problem, hint)
    if options.baseline is not None and len(instances.models):
        baseline = model_position("baseline", options.baseline, instances.models.to_list())
    if options.curve.of_probabilities:
        instances = _in_threshold_ranges(instances, options.axis, columns)
    confidence, n_points = options.confidence, len(options.axis)
    keys = [] if confidence.ci is None else stream_keys(instances.keys)
    draws = RandomDraws(n_draws=confidence.n_boot, seed=confidence.seed, keys=keys)
    axis, *_ = DECISION_AXES[options.curve.name]
    parts: list[dict[str, Any]] = []
    for batch in model_batches(instances, columns.options, all_models=True):
        merged = batch.merge_identical_rows()
        samples = paired_samples(merged, list(merged.scans()))
        position = batch.models.index(baseline) if baseline in batch.models else None
        for i, (group, sample) in enumerate(zip(batch.groups, samples, strict=True)):
            decisions = partial(Decisions.at_thresholds, merged, i, n_points)
            stream = draws, int(group), int(batch.unmatched[i])
            part = _columns_of_group(sample, decisions, options, position, stream)
            part |= {
                "group": np.full(len(part["se"]), group),
                MODEL: np.repeat(batch.models, n_points),
                axis: np.tile(options.axis, len(batch.models)),
            }
            parts.append(part)
    return build_model_table(
        parts,
        decision_interval_columns(options.curve.name, columns.model),
        keys=instances.keys,
        models=instances.models,
        order=[MODEL, axis],
        constants={"ci_level": None if confidence.ci is None else confidence.level},
    )


def _in_threshold_ranges(
    instances: Instances, axis: NDArray[np.float64], columns: PairingColumns
) -> Instances:
    """Replace scores by numbers of thresholds up to them, so that more rows can be merged."""
    scores = []
    for model, score, state in zip(instances.models, instances.score, instances.state, strict=True):
        values = np.asarray(score, np.float64)
        used = np.flatnonzero(state == RowState.USED)

        def group(position: int, used: NDArray[np.int64] = used, model: object = model) -> str:
            row = int(used[position])
            keys = instances.keys
            group_key = keys.row(int(instances.group[row])) if keys.width else ()
            key: dict[str, object] = dict(zip(columns.bound.keys, group_key, strict=True))
            if columns.model != pl.Null:
                key |= {columns.options.between: model}
            return f"group {format_key(key, key.values())}"

        has_groups = bool(columns.bound.keys) or columns.model != pl.Null
        problem = outside_unit_problem(values[used], group if has_groups else None)
        if problem is not None:
            hint = 'Use calibrated probabilities, or kind="cost", which accepts all scores.'
            raise ScoreError.no_probability("predictions", problem, hint)
        limits = round_thresholds(axis, score.dtype)
        scores.append(np.searchsorted(limits, values, "right").astype(np.float64))
    return replace(instances, score=scores)


class Decisions(NamedTuple):
    """The number of thresholds up to the score of each row of a group, for each model (rows).

    The first `n_pos` rows are positive. Without a score, a positive is never predicted positive, a
    negative always.
    """

    step: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    n_pos: int
    n_steps: int

    @classmethod
    def at_thresholds(cls, batch: ModelBatch, group: int, n_steps: int) -> Decisions:
        """Return the decisions in a group of a batch; see `_in_threshold_ranges`."""
        start, middle, end = batch.starts[group], batch.middle[group], batch.starts[group + 1]
        rows, count = batch.rows[start:end], batch.count[start:end]
        never_or_always = np.where(batch.negative[start:end], n_steps, 0)
        step = np.stack(
            [
                np.where(
                    batch.instances.state[model][rows] == RowState.USED,
                    np.nan_to_num(batch.instances.score[model][rows]).astype(np.int64),
                    never_or_always,
                )
                for model in batch.models
            ]
        )
        return cls(step=step, n_rows=count, n_pos=int(middle - start), n_steps=n_steps)

    def alerts(self, step: NDArray[np.int64], rows: slice) -> NDArray[np.float64]:
        """Return the number of rows of a class at or above each threshold."""
        counts = np.bincount(step[rows], self.n_rows[rows], self.n_steps + 1)
        above: NDArray[np.float64] = counts[::-1].cumsum()[::-1][1:]
        return above


def net_benefit_limits(
    decisions: Decisions, options: DecisionIntervalOptions, baseline: int | None
) -> NDArray[np.float64]:
    """Return lower limits, upper limits and standard errors; NaN if undefined.

    Item 0 is for the net benefit of each model, item 1 for its difference from the baseline.
    """
    level, prevalence = options.confidence.level, options.prevalence
    limits = np.full((2, 3, len(decisions.step), len(options.axis)), np.nan)
    odds = options.axis / (1 - options.axis)
    rows = slice(decisions.n_pos), slice(decisions.n_pos, None)
    sizes = [float(decisions.n_rows[of_class].sum()) for of_class in rows]
    if not min(sizes):
        return limits
    # With a prevalence, the shares are those of the rows of each class. Otherwise, they are those
    # of all rows, and a row can only be one of a true positive and a false positive.
    totals, factors = [sum(sizes)] * 2, (1.0, odds)
    if prevalence is not None:
        totals, factors = sizes, (prevalence, (1 - prevalence) * odds)

    def point_limits(shares: list[Estimate], variances: list[Any]) -> NDArray[np.float64]:
        (tp, fp), (of_tp, of_fp) = shares, variances
        covariance = -tp.value * fp.value / totals[0] if prevalence is None else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = np.nan_to_num(covariance / np.sqrt(of_tp * of_fp))
        value = tp.scaled(factors[0]).minus(fp.scaled(factors[1]), correlation)
        variance = of_tp * factors[0] ** 2 + of_fp * factors[1] ** 2
        variance = variance - 2 * covariance * factors[0] * factors[1]
        se = np.sqrt(np.where(variance > 0, variance, np.nan))
        return np.stack([value.lower, value.upper, se])

    alerts = [[decisions.alerts(step, r) for r in rows] for step in decisions.step]
    for model, counts in enumerate(alerts):
        shares = [Estimate.of_proportion(c, n, level) for c, n in zip(counts, totals, strict=True)]
        variances = [
            part.value * (1 - part.value) / n for part, n in zip(shares, totals, strict=True)
        ]
        limits[0, :, model] = point_limits(shares, variances)
        if baseline is None or model == baseline:
            continue
        common = np.minimum(decisions.step[model], decisions.step[baseline])
        shares, variances = [], []
        for r, n, a, b in zip(rows, totals, counts, alerts[baseline], strict=True):
            both = decisions.alerts(common, r)
            share = paired_difference(both, a - both, b - both, n, level)
            shares.append(share)
            variances.append(((a + b - 2 * both) / n - share.value**2) / n)
        limits[1, :, model] = point_limits(shares, variances)
    return limits


def _columns_of_group(
    sample: PairedSample,
    decisions: Callable[[], Decisions],
    options: DecisionIntervalOptions,
    baseline: int | None,
    stream: tuple[RandomDraws, int, int],
) -> dict[str, Any]:
    """Return the columns of all models and points of a group; `baseline` is a position or None.

    `stream` has the draws, the number of the group, and the number of its unmatched rows.
    """
    draws, group, unmatched = stream
    confidence, curve = options.confidence, options.curve
    _, y, trivial = DECISION_AXES[curve.name]
    observed = sample.observed
    estimates = options.values(observed)[0]
    totals = observed[0].scan(corners=False).totals
    difference = np.full(estimates.shape, np.nan)
    others: list[int] = []
    if baseline is not None:
        others = [model for model in range(len(estimates)) if model != baseline]
        difference[others] = estimates[others] - estimates[baseline]
    # Lower limits, upper limits and standard errors, of the values and of the differences.
    limits, redrawn = np.full((2, 3, *estimates.shape), np.nan), 0
    if confidence.ci == "mover":
        limits = net_benefit_limits(decisions(), options, baseline)
    elif confidence.ci is not None and min(sample.units) > 1:
        replicates, redrawn = sample.resample(
            options.values,
            draws,
            draws.keys[group],
            stratified=options.stratified,
            arrays_only=curve.of_probabilities,  # costs of weighted rows are rounded by a query
        )
        level = confidence.level
        limits[0] = _limits_of_replicates(replicates, estimates, confidence.ci, level)
        limits[0, 0] = np.maximum(limits[0, 0], curve.lowest)
        if baseline is not None:
            compared = replicates[:, others] - replicates[:, [baseline]]
            method = options.difference_method
            limits[1][:, others] = _limits_of_replicates(
                compared, difference[others], method, level
            )
    names = ["lower", "upper", "se", "difference_lower", "difference_upper", "difference_se"]
    arrays = {
        y: estimates,
        "difference": difference,
        **dict(zip(names, limits.reshape(6, *estimates.shape), strict=True)),
        trivial: curve.trivial_values(float(totals.pos[0]), float(totals.neg[0]), options),
    }
    columns = {
        name: np.broadcast_to(values, estimates.shape).ravel() for name, values in arrays.items()
    }
    n_pos, n_neg = sample.n_rows
    units = np.ones((2, estimates.size), np.int64) * np.array(sample.units)[:, None]
    note = class_notes(
        *units,
        # Without limits for another reason, the group has another note.
        zero_variance=np.isnan(columns["se"]) & (confidence.ci is not None),
        redrawn=np.full(estimates.size, redrawn),
        unmatched=np.full(estimates.size, unmatched),
    )
    ci = np.full(estimates.size, confidence.ci, object)
    ci[np.isnan(columns["lower"])] = None
    return {**columns, "n_pos": n_pos, "n_neg": n_neg, "ci_method": ci, "note": note}


def _limits_of_replicates(
    replicates: NDArray[np.float64], estimates: NDArray[np.float64], ci: str | None, level: float
) -> NDArray[np.float64]:
    """Return limits and standard errors from a row per resample; NaN if replicates are equal."""
    limits = column_limits(replicates.reshape(len(replicates), -1), level)
    lower, upper, constant = (
        values.reshape(estimates.shape) for values in (limits.lower, limits.upper, limits.constant)
    )
    if ci == "bootstrap_basic":
        lower, upper = 2 * estimates - upper, 2 * estimates - lower
    se = np.where(constant, np.nan, replicates.std(axis=0, ddof=1))
    return np.stack([lower, upper, se])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecisionCurve:
    """A kind of curve: its points, and its values of each resample (rows) at each point (columns).

    Values `of_probabilities` depend on the prevalence, and have intervals by MOVER. `lowest` is the
    lowest possible value.
    """

    name: DecisionKind
    grid: Sequence[float]
    parse_grid: Callable[[object], list[float]]
    values: Callable[[ReplicateScan, DecisionIntervalOptions], NDArray[np.float64]]
    trivial_values: Callable[[float, float, DecisionIntervalOptions], NDArray[np.float64]]
    default_ci: DecisionInterval | None = None
    lowest: float = -np.inf
    of_probabilities: bool = False


def net_benefits(scan: ReplicateScan, options: DecisionIntervalOptions) -> NDArray[np.float64]:
    """Return the net benefit of each resample (rows) at each threshold (columns)."""
    tp, fp = scan.curve_counts()
    scores = scan.codec.decode(scan.population.codes)
    n_steps = np.searchsorted(-scores, -np.arange(1, len(options.axis) + 1), "right")
    pos, neg = (np.asarray(total)[:, None] for total in (scan.totals.pos, scan.totals.neg))
    _, pos_total, neg_total = class_totals(pos, neg, options.prevalence)
    odds = options.axis / (1 - options.axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        values: NDArray[np.float64] = tp[:, n_steps] / pos_total - fp[:, n_steps] / neg_total * odds
    return values


def treat_all(pos: float, neg: float, options: DecisionIntervalOptions) -> NDArray[np.float64]:
    """Return the net benefit of treating all rows at each threshold."""
    share = class_totals(np.array(pos), np.array(neg), options.prevalence)[0]
    values: NDArray[np.float64] = share - (1 - share) * options.axis / (1 - options.axis)
    return values


def expected_costs(scan: ReplicateScan, options: DecisionIntervalOptions) -> NDArray[np.float64]:
    """Return the lowest cost of each resample (rows) at each probability cost (columns)."""
    tp, fp = scan.curve_counts()
    size, width = tp.shape
    pos, neg = scan.totals.pos, scan.totals.neg
    starts = np.arange(size + 1) * width
    rows = EnvelopeLines.find(tp.ravel(), fp.ravel(), starts, pos, neg).rows_on(options.axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        fpr = fp.ravel()[rows] / neg[:, None]
        fnr = np.maximum(pos[:, None] - tp.ravel()[rows], 0) / pos[:, None]
    return normalized_cost(fpr, fnr, options.axis)


def trivial_costs(pos: float, neg: float, options: DecisionIntervalOptions) -> NDArray[np.float64]:
    """Return the lower cost of the two trivial classifiers; NaN if a class has no rows."""
    lower = np.minimum(options.axis, 1 - options.axis)
    return np.where(pos * neg > 0, lower, np.nan)


def _parse_probability_costs(grid: object) -> list[float]:
    example = "[0.1, 0.5]"
    values = parse_numbers("grid", grid, bounds=(0, 1), example=example)
    if not values:
        hint = f"Use, for example, grid={example}."
        raise OptionValueError.compose("grid", grid, "the list is empty", hint)
    return [value + 0.0 for value in values]


CURVES: dict[DecisionKind, DecisionCurve] = {
    curve.name: curve
    for curve in (
        DecisionCurve(
            name="decision",
            grid=DEFAULT_THRESHOLDS,
            parse_grid=partial(parse_probability_thresholds, argument="grid"),
            values=net_benefits,
            trivial_values=treat_all,
            of_probabilities=True,
        ),
        DecisionCurve(
            name="cost",
            grid=tuple(i / 100 for i in range(101)),
            parse_grid=_parse_probability_costs,
            values=expected_costs,
            trivial_values=trivial_costs,
            default_ci="bootstrap_basic",
            lowest=0.0,
        ),
    )
}
