"""The functions `fit_calibration` and `apply_calibration`: calibrate scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rocframe.areas.pairs import group_sums
from rocframe.errors import MissingColumnError, OptionValueError, RepeatedNameError, ScoreError
from rocframe.frames import (
    as_input_frame,
    build_table,
    check_keys,
    column,
    join_keys,
    lazy_plan,
    number_distinct_rows,
    number_keys,
    private_names,
)
from rocframe.inference import absent_classes, first_notes
from rocframe.inputs.cases import (
    RowState,
    check_probabilities,
    check_range,
    plan_table,
    scores_as_floats,
)
from rocframe.inputs.roles import Roles, check_column_type, parse_scores, resolve_column
from rocframe.kernel.arrays import interpolate_in_groups, run_parallel, split_rows
from rocframe.kernel.groups import group_starts, is_run_start, scale_weights, weight_units
from rocframe.kernel.scan import BLOCK_ROWS, Scan
from rocframe.options import (
    NOT_GIVEN,
    check_choice,
    check_column_name,
    check_flag,
    check_supported,
    parse_names,
    public,
)
from rocframe.probabilities.bins import isotonic_bins
from rocframe.probabilities.losses import EPSILON, log_losses, log_odds
from rocframe.probabilities.regression import LogisticRows, fit_logistic, log_likelihood, ones
from rocframe.schemas.curves import FIT
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_key, format_list, join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Scores
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.kernel.scan import Block

FitMethod: TypeAlias = Literal["isotonic", "platt", "logistic", "beta", "temperature"]
Columns: TypeAlias = "tuple[FloatArray, ...]"
Terms: TypeAlias = "Callable[[FloatArray], Columns]"
PARAMETERS = ("intercept", "slope", "slope_complement")


@public
def fit_calibration(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    method: FitMethod = "isotonic",
    smooth_targets: bool | None = None,
    over: str | None = None,
    by: By = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Literal["raise", "drop"] = "raise",
) -> FrameT:
    """Fit a function that converts the scores of each group to probabilities.

    The fitted function never decreases with the score, but different scores can get the same
    probability. `apply_calibration` applies the fit to other predictions.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives: any real number for `"isotonic"` and `"platt"`, otherwise a
        probability. Several columns have one fit each, and add the group column `model`.
    method : {"isotonic", "platt", "logistic", "beta", "temperature"}, default "isotonic"
        Type of the function. a, b and c are parameters, and logit(p) = ln(p / (1 - p)).

        - `"isotonic"`: isotonic regression of the labels on the score. The function is linear
          between the fitted scores, and constant below the lowest and above the highest score.
        - `"platt"`: logit(probability) = c + a·score.
        - `"logistic"`: logit(probability) = c + a·logit(score).
        - `"beta"`: logit(probability) = c + a·ln(score) - b·ln(1 - score), with a >= 0 and b >= 0.
        - `"temperature"`: logit(probability) = a·logit(score). The temperature is 1 / a.
    smooth_targets : bool, default None
        If True, the labels are replaced by Platt's targets, (n_pos + 1) / (n_pos + 2) for positives
        and 1 / (n_neg + 2) for negatives, so that parameters are finite even if a threshold
        separates the classes. By default only for `"platt"`; not for `"isotonic"`.
    over : str, default None
        Column of the folds for cross-fitting, which the result has after `by`. The function of a
        fold is fitted on all other folds of its group.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop"}, default "raise"
        Missing values: an error, or rows left out and counted in `n_missing`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group, and for `"isotonic"` one row per group and knot, by rising score: `*by`,
        (`over`,) (`model`,) `score, probability, method, n_folds, n_pos, n_neg, n_missing,
        intercept, slope, slope_complement, note`. Counts are Int64, without weights; `method` and
        `note` are String, all others Float64.

        `score` and `probability` are a knot of the isotonic regression. For all other methods,
        `intercept`, `slope` and `slope_complement` are the parameters c, a and b; the slopes are >=
        0, and at least one is > 0. `n_folds` is the number of folds of the fit, null without
        `over`. Columns that the method does not have are null.

        A group without a fit has one row with null parameters, and the `note` `no_rows`,
        `no_positives`, `no_negatives`, `zero_variance` if all scores are equal, `no_solution` if
        the parameters are not finite or not unique, or `negative_slope` if the probability does not
        increase with the score. `merged:305`: 305 distinct scores get the same probability as the
        next lower score, because of the precision of Float64.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, for example if a score is outside [0, 1] for a
        method that needs probabilities, or infinite for `"platt"`.

    See Also
    --------
    apply_calibration : Add the calibrated scores to predictions.
    calibration_summary : Measures of calibration.

    Notes
    -----
    Do not fit the function on the training data of the model, where scores are usually too extreme.
    The parameters maximize the likelihood; in logarithms, scores are clipped to [2⁻⁵², 1 - 2⁻⁵²].
    Without Platt's targets, there is no solution if a score separates the classes, in either
    direction; for `"temperature"`, if the score 0.5 separates them.

    References
    ----------
    - B. Zadrozny, C. Elkan (2002), ACM SIGKDD, 694-699. doi:10.1145/775047.775151
    - J. C. Platt (1999), Advances in Large Margin Classifiers, 61-74.
    - D. R. Cox (1958), Biometrika 45(3/4), 562-565. doi:10.1093/biomet/45.3-4.562
    - M. Kull et al. (2017), Electronic Journal of Statistics 11(2), 5052-5080.
      doi:10.1214/17-EJS1338SI
    - C. Guo et al. (2017), ICML, 1321-1330. doi:10.48550/arXiv.1706.04599

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> validation = pl.DataFrame(
    ...     {"label": [0, 1, 0, 1, 0, 1, 1], "score": [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0]}
    ... )
    >>> platt = rf.fit_calibration(validation, "label", "score", method="platt")
    >>> platt.select("intercept", "slope", "method", "n_pos", "n_neg")
    shape: (1, 5)
    ┌───────────┬──────────┬────────┬───────┬───────┐
    │ intercept ┆ slope    ┆ method ┆ n_pos ┆ n_neg │
    │ ---       ┆ ---      ┆ ---    ┆ ---   ┆ ---   │
    │ f64       ┆ f64      ┆ str    ┆ i64   ┆ i64   │
    ╞═══════════╪══════════╪════════╪═══════╪═══════╡
    │ -0.019641 ┆ 0.288914 ┆ platt  ┆ 4     ┆ 3     │
    └───────────┴──────────┴────────┴───────┴───────┘
    >>> test = pl.DataFrame({"score": [-1.5, 0.5, 9.0]})
    >>> test.roc.apply_calibration("score", platt)["calibrated_score"].round(4).to_list()
    [0.3886, 0.5312, 0.9296]
    """
    check_choice("method", method, FUNCTION_TYPES)
    if smooth_targets is not None:
        check_flag("smooth_targets", smooth_targets)
    function = FUNCTION_TYPES[method]
    smooth = function.smooth_targets if smooth_targets is None else smooth_targets
    supported = function.smooth_targets is not None
    check_supported("smooth_targets", smooth_targets, f"method={method!r}", supported=supported)
    if over is not None:
        check_column_name("over", over, example="fold")
    by = by if over is None else (*parse_names(by), over)

    def fit(cases: Cases) -> FittedFunctions:
        if function.has_knots:
            return _fit_isotonic(cases)
        return _fit_parameters(cases, function, smooth=bool(smooth))

    def compute(cases: Cases) -> pl.DataFrame:
        if function.needs_probabilities:
            check_probabilities(cases, *function.probability_hint)
        if over is not None:
            return _fit_other_folds(cases, fit, method)
        result = fit(cases)
        return _fit_table(result.keys, result.group, result.all_columns, method)

    table = plan_table(
        predictions,
        Roles(label, score, by, positive, weight, count, missing, needs_scores=True),
        compute,
        columns=FIT.columns(),
        anchor="n_pos",
        over=0 if over is None else 1,
        keep_over=0 if over is None else 1,
    )
    return as_input_frame(predictions, table)


class FittedFunctions(NamedTuple):
    """The rows of the table of `fit_calibration`; `totals` has a value per group."""

    keys: pl.DataFrame
    group: IntArray
    columns: dict[str, FloatArray]
    totals: dict[str, Array]

    @property
    def all_columns(self) -> dict[str, Array]:
        """The values of all columns in each row."""
        return self.columns | {name: values[self.group] for name, values in self.totals.items()}


def _fit_isotonic(cases: Cases) -> FittedFunctions:
    """Return the knots of each group; a group without both classes has one row without a knot."""
    scan = Scan.from_cases(scale_weights(cases))
    bins = isotonic_bins(scan)
    notes = first_notes(absent_classes(scan.totals.pos_rows, scan.totals.neg_rows))
    undefined = np.array([note is not None for note in notes], bool)
    # With weights, a rounding error can change the order of two event rates.
    rate = bins.event_rate[np.lexsort((bins.event_rate, bins.group))]
    # A level with several scores has two knots.
    known = ~undefined[bins.group]
    index = np.repeat(np.flatnonzero(known), 1 + (bins.score_min < bins.score_max)[known])
    knots = {
        "score": np.where(is_run_start(index), bins.score_min[index], bins.score_max[index]),
        "probability": rate[index],
    }
    without_fit = np.flatnonzero(undefined)
    group = np.append(bins.group[index], without_fit)
    order = np.argsort(group, kind="stable")
    nulls = np.full(len(without_fit), np.nan)
    columns = {name: np.append(values, nulls)[order] for name, values in knots.items()}
    return FittedFunctions(scan.rows.keys, group[order], columns, _totals(scan, notes))


def _totals(scan: Scan, notes: NDArray[np.object_]) -> dict[str, Array]:
    """Return the numbers of rows and the note of each group."""
    return scan.size_columns | {"note": notes}


def _fit_parameters(cases: Cases, function: FunctionType, *, smooth: bool) -> FittedFunctions:
    """Return the parameters of each group; the parameters of a group without a fit are NaN."""
    scaled = scale_weights(cases)
    scan = Scan.from_cases(scaled)
    low, high = _score_ranges(scan)
    infinite = np.isinf(low) | np.isinf(high)
    if infinite.any() and not function.needs_probabilities:
        subject = f'method="{function.name}"'
        raise ScoreError.infinite(cases.score_name, subject, 'Use method="isotonic".')
    targets = None
    if smooth:
        unit = np.ones(1) if cases.weight is None else weight_units(cases, scaled)
        targets = _platt_targets(scan, unit)
    regression = Regression(scan=scan, targets=targets, low=low, high=high, terms=function.terms)
    parameters = function.parameters(regression)
    # A method with one slope has NaN as its second slope.
    slopes = np.nan_to_num(parameters[:, 1:], nan=0.0)
    undefined = ~np.isfinite(parameters[:, 0] + parameters[:, 1])
    falls = (slopes.min(axis=1) < 0) | (slopes.max(axis=1) == 0)
    notes = first_notes(
        {
            **absent_classes(scan.totals.pos_rows, scan.totals.neg_rows),
            "zero_variance": undefined & (low == high),
            "no_solution": undefined,
            "negative_slope": falls,
        }
    )
    has_reason = np.array([note is not None for note in notes], bool)
    parameters[has_reason] = np.nan
    merged = first_notes({"merged": _merged_scores(scan, function, parameters)})
    notes = np.where(has_reason, notes, merged)
    columns = dict(zip(PARAMETERS, parameters.T, strict=True))
    return FittedFunctions(scan.rows.keys, np.arange(len(notes)), columns, _totals(scan, notes))


def _merged_scores(scan: Scan, function: FunctionType, parameters: FloatArray) -> IntArray:
    """Return how many scores of each group have the same probability as the next lower score."""

    def block_values(block: Block) -> tuple[IntArray, FloatArray]:
        scores = scan.codec.decode(block.codes).astype(np.float64)
        group = block.of_steps(np.arange(len(parameters)))
        return group, function.logistic(scores, parameters[group])

    n_groups, blocks = len(parameters), scan.map(block_values)
    if not blocks:
        return np.zeros(n_groups, np.int64)
    group, probability = (np.concatenate(values) for values in zip(*blocks, strict=True))
    merged = (group[1:] == group[:-1]) & (probability[1:] == probability[:-1])
    return np.bincount(group[1:][merged], minlength=n_groups)


def _score_ranges(scan: Scan) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest score of each group; NaN for groups without rows."""
    low, high = np.full((2, len(scan.totals.pos)), np.nan)

    def block_range(block: Block) -> tuple[IntArray, Any, Any]:
        lowest, highest = block.codes[block.starts[1:] - 1], block.codes[block.starts[:-1]]
        return block.groups, scan.codec.decode(lowest), scan.codec.decode(highest)

    for groups, lowest, highest in scan.map(block_range):
        low[groups] = np.fmin(low[groups], lowest)
        high[groups] = np.fmax(high[groups], highest)
    return low, high


def _platt_targets(scan: Scan, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Platt's targets of positives and negatives; weights are in multiples of `unit`."""
    pos, neg = (
        np.asarray(total, np.float64) * unit for total in (scan.totals.pos, scan.totals.neg)
    )
    return (pos + 1) / (pos + 2), 1 / (neg + 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regression:
    """Logistic regressions of the labels of all groups on an intercept and on `terms` of scores.

    `targets` replace the labels of positives and of negatives in each group, if not None. `low` and
    `high` are the lowest and the highest score of each group.
    """

    scan: Scan
    targets: tuple[FloatArray, FloatArray] | None
    low: FloatArray
    high: FloatArray
    terms: Terms

    @property
    def has_classes(self) -> BoolArray:
        """Whether each group has rows of both classes."""
        result: BoolArray = (self.scan.totals.pos > 0) & (self.scan.totals.neg > 0)
        return result

    def parts(
        self,
        scale: Callable[[Block, FloatArray], FloatArray] = lambda _, score: score,
        *,
        intercept: bool = True,
    ) -> list[LogisticRows]:
        """Return the rows of the regressions; `scale` converts the scores of a block."""

        def block_rows(block: Block) -> LogisticRows:
            pos, neg = block.pos, block.neg
            if self.targets is not None:
                high, low = (block.of_steps(target) for target in self.targets)
                pos, neg = pos * high + neg * low, pos * (1 - high) + neg * (1 - low)
            columns = self.terms(scale(block, self.scan.codec.decode(block.codes)))
            return LogisticRows(
                groups=block.groups,
                starts=block.starts,
                pos=pos,
                neg=neg,
                columns=(ones(columns[0]), *columns) if intercept else columns,
            )

        return self.scan.map(block_rows)

    def fit(self, rows: Sequence[LogisticRows], *, first: int = 0, last: int) -> FloatArray:
        """Return the `PARAMETERS` of each group; NaN if there is no unique finite solution.

        `rows` has the regressors of the parameters from `first` to `last`; all others are NaN.
        """
        result = np.full((len(self.has_classes), len(PARAMETERS)), np.nan)
        n_columns = last + 1 - first
        result[:, first : last + 1] = fit_logistic(rows, n_columns, self.has_classes)
        return result


def _logit_parameters(regression: Regression) -> FloatArray:
    """Return intercept and slope of each group."""
    return regression.fit(regression.parts(), last=1)


def _temperature_parameters(regression: Regression) -> FloatArray:
    """Return the slope of each group, and an intercept of 0."""
    result = regression.fit(regression.parts(intercept=False), first=1, last=1)
    result[:, 0] = np.where(np.isnan(result[:, 1]), np.nan, 0.0)
    return result


def _platt_parameters(regression: Regression) -> FloatArray:
    """Return intercept and slope of each group, for scores of any unit."""
    # The regressor is the score as a number from -1 to 1, so that scores of any unit are accurate.
    low, high = regression.low, regression.high
    center, half = low / 2 + high / 2, high / 2 - low / 2
    half = np.where(half > 0, half, 1.0)
    rows = regression.parts(
        lambda block, score: (score - block.of_steps(center)) / block.of_steps(half)
    )
    result = regression.fit(rows, last=1)
    with np.errstate(over="ignore", invalid="ignore"):
        result[:, 1] /= half
        result[:, 0] -= result[:, 1] * center
    return result


def _beta_parameters(regression: Regression) -> FloatArray:
    """Return intercept, slope and complementary slope of each group.

    The likelihood has at most one maximum. If a slope is negative there, or if there is no maximum,
    the maximum for slopes of at least 0 has a slope that is 0, so the models with one slope are
    fitted. If neither of them has a positive slope, both slopes of the result are -1. The models
    with one slope have no maximum either if a threshold separates the classes.
    """
    rows = regression.parts()
    result = regression.fit(rows, last=2)
    reduced = result[:, 1:].min(axis=1) < 0
    undefined = regression.has_classes & np.isnan(result[:, 0])
    if undefined.any():
        # The parameters of two different scores are not unique.
        reduced |= undefined & _has_three_scores(regression)
    if not reduced.any():
        return result
    best = np.full(len(result), -np.inf)
    for slope in (1, 2):
        columns = [replace(part, columns=(part.columns[0], part.columns[slope])) for part in rows]
        parameters = fit_logistic(columns, 2, reduced)
        value = log_likelihood(columns, np.nan_to_num(parameters))
        result[reduced & np.isfinite(parameters[:, 0]) & np.isinf(best)] = [0, -1, -1]
        better = reduced & (parameters[:, 1] > 0) & (value > best)
        best[better] = value[better]
        result[better] = 0
        result[better, 0], result[better, slope] = parameters[better].T
    return result


def _has_three_scores(regression: Regression) -> BoolArray:
    """Return whether each group has at least three different scores after clipping."""
    scan = regression.scan
    low, high = (
        np.clip(score, EPSILON, 1 - EPSILON) for score in (regression.low, regression.high)
    )

    def count_inner(block: Block) -> list[IntArray]:
        scores = scan.codec.decode(block.codes)
        is_inner = (scores > block.of_steps(low)) & (scores < block.of_steps(high))
        return [np.add.reduceat(is_inner, block.starts[:-1], dtype=np.int64)]

    (n_inner,) = group_sums(scan, scan.map(count_inner), 1)
    has_inner: BoolArray = n_inner > 0
    return has_inner


def _beta_terms(score: FloatArray) -> Columns:
    """Return ln(p) and -ln(1 - p)."""
    of_positive, of_negative = log_losses(score)
    return -of_positive, of_negative


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FunctionType:
    """A type of function that converts scores to probabilities, the argument `method`.

    A function interpolates between knots, or its logit is an intercept and the sum of the `terms`
    of the score, each multiplied by a slope, which `parameters` estimates. `smooth_targets` is the
    default of this option, or None if it is not supported.
    """

    name: FitMethod
    has_knots: bool = False
    terms: Terms = lambda score: (log_odds(score),)
    parameters: Callable[[Regression], FloatArray] = _logit_parameters
    needs_probabilities: bool = True
    smooth_targets: bool | None = False

    @property
    def probability_hint(self) -> tuple[str, str]:
        """Why the method needs probabilities, and what to do if the scores are others."""
        others = [
            f'method="{name}"' for name, t in FUNCTION_TYPES.items() if not t.needs_probabilities
        ]
        remedy = f"{join_names(others, 'and')} accept any real score."
        return f'method="{self.name}" needs probabilities.', remedy

    def logistic(self, score: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the probabilities of scores; `parameters` has the `PARAMETERS` of each score."""
        from scipy.special import expit

        logits, *slopes = parameters.T
        for slope, term in zip(slopes, self.terms(score), strict=False):  # unused slopes are NaN
            logits = logits + slope * term
        probability: FloatArray = expit(logits)
        return probability


FUNCTION_TYPES: dict[str, FunctionType] = {
    function.name: function
    for function in (
        FunctionType(
            name="isotonic", has_knots=True, needs_probabilities=False, smooth_targets=None
        ),
        FunctionType(
            name="platt",
            terms=lambda score: (score,),
            parameters=_platt_parameters,
            needs_probabilities=False,
            smooth_targets=True,
        ),
        FunctionType(name="logistic"),
        FunctionType(name="beta", terms=_beta_terms, parameters=_beta_parameters),
        FunctionType(name="temperature", parameters=_temperature_parameters),
    )
}


def _fit_other_folds(
    cases: Cases, fit: Callable[[Cases], FittedFunctions], method: FitMethod
) -> pl.DataFrame:
    """Return the fits on all other folds of the group; the last key column has the folds."""
    folds, fold = number_distinct_rows(cases.keys)
    _, group = number_keys(folds, folds.columns[:-1])
    starts = group_starts(group, group.max(initial=-1) + 1)
    n_folds = np.diff(starts)
    # `position` is the number of the fold of each row within its group.
    position = (np.arange(len(group)) - starts[group])[fold.to_numpy()]
    state = np.zeros(len(position), np.uint8) if cases.state is None else cases.state
    keys = cases.keys.drop(cases.keys.columns[-1])
    numbers: list[IntArray] = []
    parts: list[dict[str, Array]] = []
    # Each pass fits all groups without their fold number i.
    for i in range(int(n_folds.max(initial=0))):
        left_out = np.where(position == i, RowState.ABSENT, state).astype(np.uint8)
        result = fit(replace(cases, keys=keys, state=left_out))
        exists = n_folds[result.group] > i
        numbers.append(starts[result.group[exists]] + i)
        parts.append({name: values[exists] for name, values in result.all_columns.items()})
    if not parts:
        return _fit_table(folds, np.zeros(0, np.int64), {}, method)
    number = np.concatenate(numbers)
    order = np.argsort(number, kind="stable")
    columns = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
    columns["n_folds"] = n_folds[group[number[order]]] - 1
    return _fit_table(folds, number[order], columns, method)


def _fit_table(
    keys: pl.DataFrame, group: IntArray, columns: Mapping[str, Array], method: FitMethod
) -> pl.DataFrame:
    """Return the table of `fit_calibration`; `group` is the number of the key of each row."""
    values = {
        name: column.tolist() if name == "note" else column for name, column in columns.items()
    }
    return build_table(keys, {**values, "method": method}, FIT.columns(), rows=group)


CALIBRATED_SCORE = "calibrated_score"


@public
def apply_calibration(predictions: FrameT, /, score: Scores, fit: pl.DataFrame) -> FrameT:
    """Add a column with calibrated scores, which are probabilities.

    The predictions do not need labels.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    score : str, Expr, selector, sequence or mapping
        The score. For a fit of several score columns, pass the same columns, or one column of all
        scores if the predictions have a column `model`.
    fit : DataFrame
        A table of `fit_calibration`. Its columns left of `score` identify the groups, and must be
        columns of the predictions, except `model` if several score columns are passed.

    Returns
    -------
    DataFrame or LazyFrame
        The predictions with a last column `calibrated_score` (Float64) in [0, 1], or with a column
        `calibrated_<model>` for each of several scores. It is null if the score is null or NaN, if
        `fit` has no row for the group, or if the group has no fit (see `note` of `fit`).

    Raises
    ------
    RocframeError
        If a column is missing, if `fit` is not a table of `fit_calibration` with one fit per group,
        if a new column exists already, or if a score is invalid for the method.

    See Also
    --------
    fit_calibration : Fit the function that converts scores to probabilities.

    Examples
    --------
    Cross-fitting: each fold is calibrated by the fit on the other fold.

    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"fold": [1, 1, 1, 2, 2, 2], "label": [0, 1, 1, 0, 1, 1], "score": [1, 3, 9, 2, 4, 7]}
    ... )
    >>> fit = rf.fit_calibration(predictions, "label", "score", over="fold")
    >>> predictions.roc.apply_calibration("score", fit)["calibrated_score"].to_list()
    [0.0, 0.5, 1.0, 0.5, 1.0, 1.0]
    """
    by = parse_fit(fit)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        scores, models = parse_scores(plan, schema, score, by)
        keys = [name for name in by if models is None or name != MODEL]
        _check_fit_keys(fit, keys, schema)
        if models is not None:
            _check_models(fit, by, models)
        results = [CALIBRATED_SCORE] if models is None else [f"calibrated_{m}" for m in models]
        for name in results:
            if name in schema:
                raise RepeatedNameError.in_predictions(name, schema)
        distinct, group = number_keys(fit, keys)
        names = private_names(["group", *results], [*schema, *results])
        number = pl.lit(0, pl.Int64).alias(names["group"])
        columns, functions = [], []
        for source, result, model in zip(scores, results, models or [None], strict=True):
            score_name, expr, dtype = resolve_column(plan, schema, "score", source)
            check_column_type("score", score_name, dtype)
            columns.append(expr.alias(names[result]))
            selected = np.ones(fit.height, bool)
            if model is not None:
                selected = (
                    (fit.get_column(MODEL).cast(pl.String) == model).fill_null(False).to_numpy()
                )
            functions.append(ScoreFunctions.from_table(fit, group, selected, score_name))
        rows = plan.with_columns(columns)
        if keys:
            numbered = distinct.with_columns(pl.int_range(pl.len()).alias(names["group"]))
            rows = join_keys(rows, schema, numbered, keys)
            number = column(names["group"]).fill_null(-1)
        calibrated = [
            pl.struct(column(names[result]), number)
            .map_batches(function.apply, return_dtype=pl.Float64, is_elementwise=True)
            .alias(result)
            for result, function in zip(results, functions, strict=True)
        ]
        return rows.select(*(column(name) for name in schema), *calibrated)

    plan = lazy_plan("predictions", predictions)
    return as_input_frame(predictions, plan.pipe_with_schema(resolve))


FIT_HINT = "Pass the collected result of fit_calibration."


def parse_fit(fit: object) -> tuple[str, ...]:
    """Return the group columns of a table of `fit_calibration` with one fit for each group."""
    recognized = None
    if isinstance(fit, pl.DataFrame):
        recognized = FIT.recognize(fit.columns)
    if not isinstance(fit, pl.DataFrame) or recognized is None:
        expected = "a table of fit_calibration"
        raise OptionValueError.unexpected_type("fit", fit, expected, FIT_HINT)
    by = recognized[0]
    keys, group = number_keys(fit, by)
    fit = fit.select(
        pl.col("score", "probability").cast(pl.Float64),
        pl.col("method", "n_folds", "n_pos", "n_neg"),
        group=pl.Series(group),
    )
    knots = fit.sort("group", "score")
    # The probability of a knot is not below that of the previous knot of the same fit.
    same_group = pl.col("group") == pl.col("group").shift()
    follows = (pl.col("score") > pl.col("score").shift()) & (
        pl.col("probability") >= pl.col("probability").shift()
    )
    falls = same_group & ~follows.fill_null(False)
    methods = fit.drop("score", "probability").unique()
    repeated = methods.filter(pl.col("group").is_duplicated()).get_column("group")
    groups = knots.filter(falls).get_column("group").append(repeated).sort()
    if len(groups):
        key = f" of group {format_key(by, keys.row(groups[0]))}" if by else ""
        problem = f"fit: the table has several fits{key}"
        raise OptionValueError(f"{problem}.\nSelect one fit for each group with .filter().")
    return by


def _check_fit_keys(fit: pl.DataFrame, keys: Sequence[str], schema: pl.Schema) -> None:
    """Raise an error if a group column of the fit is missing, or has another dtype."""
    if MODEL in keys and MODEL not in schema:
        hint = "For several columns of scores, use score=[…], as in fit_calibration."
        problem = f"the table has a column {MODEL!r}, but the predictions do not"
        owner = "The predictions have"
        raise MissingColumnError.of_table(
            "fit", MODEL, schema, problem=problem, owner=owner, hint=hint
        )
    check_keys("fit", fit.schema, schema, keys)


def _check_models(fit: pl.DataFrame, by: Sequence[str], models: Sequence[str]) -> None:
    """Raise an error if the fit has no row for a model."""
    if MODEL not in by:
        problem = "fit= has no column 'model', so it has one function for a single score column"
        hint = "Pass the name of one column as score=, not a list or mapping."
        raise OptionValueError.compose("score", list(models), problem, hint)
    available = fit.get_column(MODEL).cast(pl.String).drop_nulls().unique().sort().to_list()
    for model in models:
        if model not in available:
            hint = f"Its models are: {format_list(available)}."
            raise OptionValueError.compose("score", model, "fit= has no model of this name", hint)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreFunctions:
    """The functions of a table of `fit_calibration` that convert scores to probabilities.

    `groups` has a mask of the groups with each type of function, False for the group -1 without a
    fit. Group i has `parameters[i]`, or the knots `starts[i]` to `starts[i + 1] - 1`.
    """

    groups: dict[str, BoolArray]
    parameters: FloatArray
    starts: IntArray
    score: FloatArray
    probability: FloatArray
    score_name: str

    @classmethod
    def from_table(
        cls, fit: pl.DataFrame, group: IntArray, selected: BoolArray, score_name: str
    ) -> ScoreFunctions:
        """Return the functions of the selected rows; `group` is the group number of each row."""
        n_groups = int(group.max(initial=-1)) + 1
        score, probability, *parameters = (
            fit.get_column(name).cast(pl.Float64).fill_null(np.nan).to_numpy()
            for name in ("score", "probability", *PARAMETERS)
        )
        is_knot = selected & ~np.isnan(probability)
        has_parameters = selected & ~np.isnan(parameters[1])
        groups = {}
        for name in FUNCTION_TYPES:
            is_type = (fit.get_column("method") == name).fill_null(False).to_numpy()
            groups[name] = np.zeros(n_groups + 1, bool)
            groups[name][group[is_type & (is_knot | has_parameters)]] = True
        values = np.full((n_groups, len(PARAMETERS)), np.nan)
        values[group[has_parameters]] = np.transpose(parameters)[has_parameters]
        knots = np.flatnonzero(is_knot)
        knots = knots[np.lexsort((score[knots], group[knots]))]
        return cls(
            groups={name: mask for name, mask in groups.items() if mask.any()},
            parameters=values,
            starts=group_starts(group[knots], n_groups),
            score=score[knots],
            probability=probability[knots],
            score_name=score_name,
        )

    def apply(self, values: pl.Series) -> pl.Series:
        """Return the probabilities of scores; `values` has pairs of a score and a group number."""
        scores, groups = values.struct.unnest().get_columns()
        floats = scores_as_floats(scores, self.score_name).cast(pl.Float64)
        score, group = floats.fill_null(np.nan).to_numpy(), groups.to_numpy()
        for name, mask in self.groups.items():
            function = FUNCTION_TYPES[name]
            if function.needs_probabilities:
                used = score[mask[group] & ~np.isnan(score)]
                check_range(used, self.score_name, " ".join(function.probability_hint))
        blocks = run_parallel(
            lambda rows: self._probabilities(score[rows], group[rows]),
            split_rows(len(score), BLOCK_ROWS),
            arrays_only=True,
        )
        return pl.Series(values.name, np.concatenate(blocks), nan_to_null=True)

    def _probabilities(self, score: FloatArray, group: IntArray) -> FloatArray:
        """Return the probabilities of scores; NaN for missing scores and groups without a fit."""
        result = np.full(len(score), np.nan)
        for name, mask in self.groups.items():
            rows = np.flatnonzero(mask[group] & ~np.isnan(score))
            at, number = score[rows], group[rows]
            if FUNCTION_TYPES[name].has_knots:
                first, last = self.starts[number], self.starts[number + 1] - 1
                result[rows] = interpolate_in_groups(self.score, self.probability, first, last, at)
            else:
                result[rows] = FUNCTION_TYPES[name].logistic(at, self.parameters[number])
        return result
