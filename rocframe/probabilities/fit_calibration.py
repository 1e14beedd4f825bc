"""The functions `fit_calibration` and `apply_calibration`: calibrate scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

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
from rocframe.kernel.arrays import interpolate_in_groups
from rocframe.kernel.groups import group_starts, is_run_start, scale_weights, weight_units
from rocframe.kernel.scan import BLOCK_ROWS, Scan
from rocframe.kernel.threads import run_parallel, split_rows
from rocframe.options import (
    NOT_GIVEN,
    check_choice,
    check_column_name,
    check_flag,
    check_supported,
    parse_names,
    public,
)
from rocframe.probabilities.bins import probability_bins
from rocframe.probabilities.losses import EPSILON, log_losses, log_odds
from rocframe.probabilities.regression import LogisticRows, fit_logistic, log_likelihood, ones
from rocframe.schemas.curves import FIT
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_key, format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Scores
    from rocframe.kernel.scan import Block

FitMethod: TypeAlias = Literal["isotonic", "platt", "logistic", "beta", "temperature"]
# Methods whose scores must be in [0, 1].
PROBABILITY_METHODS = ("logistic", "beta", "temperature")
Columns: TypeAlias = "tuple[NDArray[np.float64], ...]"
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

    `apply_calibration` applies the fit to other predictions. The fitted function never decreases
    with the score, so the order of the scores is never reversed, but different scores can get the
    same probability.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        Column or expression with the score; higher values indicate the positive class. Methods
        `"isotonic"` and `"platt"` allow any real number; the other methods require probabilities in
        [0, 1]. For several models, pass a list of columns, a selector, or a mapping from model
        names to columns. One function is fitted for each model. The result then has the group
        column `model` (String) after `by`.
    method : {"isotonic", "platt", "logistic", "beta", "temperature"}, default "isotonic"
        Type of the function. In the formulas, a, b and c are the parameters, p is a score that is a
        probability, and logit(p) = ln(p / (1 - p)).

        - `"isotonic"`: isotonic regression of the labels on the score. Between the fitted scores,
          the function is linear; below the lowest and above the highest score, the function is
          constant.
        - `"platt"`: logit(probability) = c + a·score.
        - `"logistic"`: logit(probability) = c + a·logit(p).
        - `"beta"`: logit(probability) = c + a·ln(p) - b·ln(1 - p), with a >= 0 and b >= 0.
        - `"temperature"`: logit(probability) = a·logit(p). The temperature is 1 / a.
    smooth_targets : bool, default None
        If True, the labels are replaced by Platt's targets, (n_pos + 1) / (n_pos + 2) for positives
        and 1 / (n_neg + 2) for negatives. The parameters are then finite even if a threshold
        separates the classes. By default True for `"platt"`, otherwise False. Not supported by
        `"isotonic"`.
    over : str, default None
        Column of the folds for cross-fitting. The result then has this column after `by`. For each
        fold, the result contains the function that is fitted on all other folds of the group.
        `apply_calibration` converts the scores of each fold with this function.
    by : str or sequence of str, default None
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
        A small table, sorted by group: `*by`, (`over`,) (`model`,) `score, probability, method,
        n_folds, n_pos, n_neg, n_missing, intercept, slope, slope_complement, note`. `"isotonic"`
        returns one row per group and knot, with rising scores. All other methods return one row per
        group. `write` and `read` store the table.

        - `score` and `probability` (Float64) are the coordinates of a knot of the isotonic
          regression. For each probability, there are knots at the lowest and at the highest score
          with this probability. For all other methods, both columns are null.
        - `intercept`, `slope` and `slope_complement` (Float64) are the parameters c, a and b. The
          slopes are >= 0, and at least one of them is > 0. For `"isotonic"`, all three are null.
          `slope_complement` is null for all methods except `"beta"`. The intercept of
          `"temperature"` is 0.
        - `method` (String) is the argument `method`.
        - `n_folds` (Int64) is the number of folds to which the function is fitted: all folds of the
          group except the fold of the row. It is null without `over`.
        - `n_pos` and `n_neg` (Int64) are the numbers of positives and negatives on which the
          function is fitted. `n_missing` (Int64) is the number of rows that were left out because a
          value is missing. A row counts `count` times; `weight` has no effect on these numbers.

        If no function can be fitted to a group, the group has one row, in which `score`,
        `probability` and the parameters are null. `note` (String) is null, or the reason:
        `no_rows`, `no_positives`, `no_negatives`, `zero_variance` if all scores are equal,
        `no_solution` if the parameters are not finite or not unique, or `negative_slope` if the
        fitted probability does not increase with the score. `merged:305` means that 305 of the
        different scores get the same probability as the next lower score, because Float64 has no
        number between the two probabilities. `"isotonic"` does not have this note.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid. This error is also raised if a score is
        outside [0, 1] for a method that needs probabilities, or infinite for `"platt"`.

    See Also
    --------
    apply_calibration : Add the calibrated scores to predictions.
    calibration : Event rates of bins of probabilities.
    calibration_summary : Measures of calibration.

    Notes
    -----
    Do not fit the function on the training data of the model. The scores of a model are usually too
    extreme on its training data.

    The parameters maximize the likelihood. For methods that need probabilities, scores are first
    clipped to [ε, 1 - ε] with ε = 2⁻⁵², because the logarithm of 0 is infinite. `"beta"` needs at
    least three different scores. If a slope of `"beta"` would be negative, this slope is set to 0,
    and the other two parameters are fitted again.

    Without Platt's targets, the methods `"platt"`, `"logistic"` and `"beta"` have no solution if a
    score separates the classes, in either direction. Without Platt's targets, the method
    `"temperature"` has no solution if the score 0.5 separates the classes. In these cases, `note`
    is `no_solution`. By default, only `"platt"` uses Platt's targets.

    With weights, Platt's targets use the sum of the weights of each class instead of `n_pos` and
    `n_neg`, as in scikit-learn.

    With `over`, the computation time is proportional to the number of folds.

    References
    ----------
    B. Zadrozny, C. Elkan (2002), "Transforming classifier scores into accurate multiclass
    probability estimates", Proceedings of the 8th ACM SIGKDD International Conference on Knowledge
    Discovery and Data Mining, 694-699. doi:10.1145/775047.775151

    J. C. Platt (1999), "Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods", Advances in Large Margin Classifiers, 61-74.

    D. R. Cox (1958), "Two further applications of a model for binary regression", Biometrika
    45(3/4), 562-565. doi:10.1093/biomet/45.3-4.562

    M. Kull, T. M. Silva Filho, P. Flach (2017), "Beyond sigmoids: how to obtain well-calibrated
    probabilities from binary classifiers with beta calibration", Electronic Journal of Statistics
    11(2), 5052-5080. doi:10.1214/17-EJS1338SI

    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (2017), "On calibration of modern neural networks",
    Proceedings of the 34th International Conference on Machine Learning, 1321-1330.
    doi:10.48550/arXiv.1706.04599

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> validation = pl.DataFrame(
    ...     {"label": [0, 1, 0, 1, 0, 1, 1], "score": [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0]}
    ... )
    >>> rf.fit_calibration(validation, "label", "score").select("score", "probability", "n_pos")
    shape: (5, 3)
    ┌───────┬─────────────┬───────┐
    │ score ┆ probability ┆ n_pos │
    │ ---   ┆ ---         ┆ ---   │
    │ f64   ┆ f64         ┆ i64   │
    ╞═══════╪═════════════╪═══════╡
    │ -2.0  ┆ 0.0         ┆ 4     │
    │ -1.0  ┆ 0.5         ┆ 4     │
    │ 2.0   ┆ 0.5         ┆ 4     │
    │ 3.0   ┆ 1.0         ┆ 4     │
    │ 4.0   ┆ 1.0         ┆ 4     │
    └───────┴─────────────┴───────┘
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

    Fit on one part of the predictions, and apply the fit to another part:

    >>> test = pl.DataFrame({"score": [-1.5, 0.5, 9.0]})
    >>> test.roc.apply_calibration("score", platt)
    shape: (3, 2)
    ┌───────┬──────────────────┐
    │ score ┆ calibrated_score │
    │ ---   ┆ ---              │
    │ f64   ┆ f64              │
    ╞═══════╪══════════════════╡
    │ -1.5  ┆ 0.388645         │
    │ 0.5   ┆ 0.531163         │
    │ 9.0   ┆ 0.929602         │
    └───────┴──────────────────┘
    """
    check_choice("method", method, get_args(FitMethod))
    if smooth_targets is not None:
        check_flag("smooth_targets", smooth_targets)
    isotonic = method == "isotonic"
    check_supported("smooth_targets", smooth_targets, f"method={method!r}", supported=not isotonic)
    smooth = method == "platt" if smooth_targets is None else smooth_targets
    if over is not None:
        check_column_name("over", over, example="fold")
    roles = Roles(
        label=label,
        score=score,
        by=by if over is None else (*parse_names(by), over),
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
        needs_scores=True,
    )

    def fit(cases: Cases) -> FittedFunctions:
        return _fit_isotonic(cases) if isotonic else _fit_parameters(cases, method, smooth=smooth)

    def compute(cases: Cases) -> pl.DataFrame:
        if method in PROBABILITY_METHODS:
            check_probabilities(cases, *probability_hint(method))
        if over is not None:
            return _fit_other_folds(cases, fit, method)
        result = fit(cases)
        return _fit_table(result.keys, result.group, result.all_columns, method)

    table = plan_table(
        predictions,
        roles,
        compute,
        columns=FIT.columns(),
        anchor="n_pos",
        over=0 if over is None else 1,
        keep_over=0 if over is None else 1,
    )
    return as_input_frame(predictions, table)


class FittedFunctions(NamedTuple):
    """The rows of the table of `fit_calibration`, sorted by group.

    `keys` are the keys of the groups, and `group` is the number of the group of each row. `columns`
    has the knots or the parameters of each row. `totals` has the columns that are equal for all
    rows of a group, with one value for each group.
    """

    keys: pl.DataFrame
    group: NDArray[np.int64]
    columns: dict[str, NDArray[np.float64]]
    totals: dict[str, NDArray[Any]]

    @property
    def all_columns(self) -> dict[str, NDArray[Any]]:
        """The values of all columns in each row."""
        return self.columns | {name: values[self.group] for name, values in self.totals.items()}


def probability_hint(method: str) -> tuple[str, str]:
    """Return why a method needs probabilities, and what to do if the scores are others."""
    remedy = 'method="isotonic" and method="platt" accept any real score.'
    return f'method="{method}" needs probabilities.', remedy


def _fit_isotonic(cases: Cases) -> FittedFunctions:
    """Return the knots of the isotonic regression of each group.

    A group without both classes has one row without a knot.
    """
    scan = Scan.from_cases(scale_weights(cases))
    bins = probability_bins(scan, "isotonic", 1)
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


def _totals(scan: Scan, notes: NDArray[np.object_]) -> dict[str, NDArray[Any]]:
    """Return the numbers of rows and the note of each group."""
    return {
        "n_pos": scan.totals.pos_rows,
        "n_neg": scan.totals.neg_rows,
        "n_missing": scan.rows.unscored.n_missing,
        "note": notes,
    }


def _fit_parameters(cases: Cases, method: FitMethod, *, smooth: bool) -> FittedFunctions:
    """Return the parameters of each group; the parameters of a group without a fit are NaN."""
    scaled = scale_weights(cases)
    scan = Scan.from_cases(scaled)
    low, high = _score_ranges(scan)
    infinite = np.isinf(low) | np.isinf(high)
    if method == "platt" and infinite.any():
        raise ScoreError.infinite(cases.score_name, 'method="platt"', 'Use method="isotonic".')
    targets = None
    if smooth:
        unit = np.ones(1) if cases.weight is None else weight_units(cases, scaled)
        targets = _platt_targets(scan, unit)
    regression = Regression(scan=scan, targets=targets)
    if method == "platt":
        parameters = _platt_parameters(regression, low, high)
    elif method == "beta":
        parameters = _beta_parameters(regression, low, high)
    else:
        parameters = _logit_parameters(regression, with_intercept=method == "logistic")
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
    merged = first_notes({"merged": _merged_scores(scan, method, parameters)})
    notes = np.where(has_reason, notes, merged)
    columns = dict(zip(PARAMETERS, parameters.T, strict=True))
    return FittedFunctions(scan.rows.keys, np.arange(len(notes)), columns, _totals(scan, notes))


def logistic_probabilities(
    method: str, score: NDArray[np.float64], parameters: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probabilities of scores; `parameters` has the `PARAMETERS` of each score."""
    from scipy.special import expit

    intercept, slope, complement = parameters.T
    if method == "platt":
        logits = intercept + slope * score
    elif method == "beta":
        of_positive, of_negative = log_losses(score)
        logits = intercept - slope * of_positive + complement * of_negative
    else:
        logits = intercept + slope * log_odds(score)
    probability: NDArray[np.float64] = expit(logits)
    return probability


def _merged_scores(
    scan: Scan, method: FitMethod, parameters: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return how many scores of each group have the same probability as the next lower score."""

    def block_values(block: Block) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        scores = scan.codec.decode(block.codes).astype(np.float64)
        group = block.of_steps(np.arange(len(parameters)))
        return group, logistic_probabilities(method, scores, parameters[group])

    n_groups, blocks = len(parameters), scan.map(block_values)
    if not blocks:
        return np.zeros(n_groups, np.int64)
    group, probability = (np.concatenate(values) for values in zip(*blocks, strict=True))
    merged = (group[1:] == group[:-1]) & (probability[1:] == probability[:-1])
    return np.bincount(group[1:][merged], minlength=n_groups)


def _score_ranges(scan: Scan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and the highest score of each group; NaN for groups without rows."""
    low, high = np.full((2, len(scan.totals.pos)), np.nan)

    def block_range(block: Block) -> tuple[NDArray[np.int64], Any, Any]:
        lowest, highest = block.codes[block.starts[1:] - 1], block.codes[block.starts[:-1]]
        return block.groups, scan.codec.decode(lowest), scan.codec.decode(highest)

    for groups, lowest, highest in scan.map(block_range):
        low[groups] = np.fmin(low[groups], lowest)
        high[groups] = np.fmax(high[groups], highest)
    return low, high


def _platt_targets(
    scan: Scan, unit: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Platt's targets of positives and of negatives for each group.

    The sums of weights in the scan are in multiples of `unit`.
    """
    pos, neg = (
        np.asarray(total, np.float64) * unit for total in (scan.totals.pos, scan.totals.neg)
    )
    return (pos + 1) / (pos + 2), 1 / (neg + 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regression:
    """Logistic regressions of the labels of all groups.

    `targets` are the probabilities that replace the labels of positives and of negatives in each
    group, or None if labels are not replaced.
    """

    scan: Scan
    targets: tuple[NDArray[np.float64], NDArray[np.float64]] | None

    @property
    def has_classes(self) -> NDArray[np.bool_]:
        """Whether each group has rows of both classes."""
        result: NDArray[np.bool_] = (self.scan.totals.pos > 0) & (self.scan.totals.neg > 0)
        return result

    def parts(
        self, regressors: Callable[[Block, NDArray[np.float64]], Columns]
    ) -> list[LogisticRows]:
        """Return the rows of the regressions.

        `regressors` returns the regressors for a block and the scores of its steps.
        """

        def block_rows(block: Block) -> LogisticRows:
            pos, neg = block.pos, block.neg
            if self.targets is not None:
                high, low = (block.of_steps(target) for target in self.targets)
                pos, neg = pos * high + neg * low, pos * (1 - high) + neg * (1 - low)
            scores = self.scan.codec.decode(block.codes)
            return LogisticRows(
                groups=block.groups,
                starts=block.starts,
                pos=pos,
                neg=neg,
                columns=regressors(block, scores),
            )

        return self.scan.map(block_rows)

    def fit(self, parts: Sequence[LogisticRows], n_columns: int) -> NDArray[np.float64]:
        """Return the parameters of each group; NaN if there is no unique finite solution."""
        return fit_logistic(parts, n_columns, self.has_classes)


def _platt_parameters(
    regression: Regression, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return intercept, slope and NaN for each group, with the score as the regressor."""
    # The regressor is the score as a number from -1 to 1, so that scores of any unit are accurate.
    center, half = low / 2 + high / 2, high / 2 - low / 2
    half = np.where(half > 0, half, 1.0)

    def regressors(block: Block, scores: NDArray[np.float64]) -> Columns:
        return ones(scores), (scores - block.of_steps(center)) / block.of_steps(half)

    result = np.full((len(center), 3), np.nan)
    intercept, slope = regression.fit(regression.parts(regressors), 2).T
    with np.errstate(over="ignore", invalid="ignore"):
        result[:, 1] = slope / half
        result[:, 0] = intercept - result[:, 1] * center
    return result


def _logit_parameters(regression: Regression, *, with_intercept: bool) -> NDArray[np.float64]:
    """Return intercept, slope and NaN for each group, with the logit of the score as the regressor.

    Without an intercept, the intercept is 0.
    """
    result = np.full((len(regression.scan.totals.pos), 3), np.nan)
    if with_intercept:
        parts = regression.parts(lambda _, scores: (ones(scores), log_odds(scores)))
        result[:, :2] = regression.fit(parts, 2)
    else:
        parts = regression.parts(lambda _, scores: (log_odds(scores),))
        result[:, 1:2] = regression.fit(parts, 1)
        result[:, 0] = np.where(np.isnan(result[:, 1]), np.nan, 0.0)
    return result


def _beta_parameters(
    regression: Regression, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return intercept, slope and complementary slope of beta calibration for each group.

    The likelihood has at most one maximum. If a slope is negative there, or if there is no maximum,
    the maximum for slopes of at least 0 has a slope that is 0, so the models with one slope are
    fitted. If neither of them has a positive slope, both slopes of the result are -1. The models
    with one slope have no maximum either if a threshold separates the classes.
    """

    def regressors(_: Block, scores: NDArray[np.float64]) -> Columns:
        of_positive, of_negative = log_losses(scores)
        return ones(scores), -of_positive, of_negative

    parts = regression.parts(regressors)
    result = regression.fit(parts, 3)
    reduced = result[:, 1:].min(axis=1) < 0
    undefined = regression.has_classes & np.isnan(result[:, 0])
    if undefined.any():
        # The parameters of two different scores are not unique.
        reduced |= undefined & _has_three_scores(regression.scan, low, high)
    if not reduced.any():
        return result
    best = np.full(len(result), -np.inf)
    for slope in (1, 2):
        columns = [replace(part, columns=(part.columns[0], part.columns[slope])) for part in parts]
        parameters = fit_logistic(columns, 2, reduced)
        value = log_likelihood(columns, np.nan_to_num(parameters))
        result[reduced & np.isfinite(parameters[:, 0]) & np.isinf(best)] = [0, -1, -1]
        better = reduced & (parameters[:, 1] > 0) & (value > best)
        best[better] = value[better]
        result[better] = 0
        result[better, 0], result[better, slope] = parameters[better].T
    return result


def _has_three_scores(
    scan: Scan, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return whether each group has at least three different scores after clipping.

    `low` and `high` are the lowest and the highest score of each group.
    """
    low, high = (np.clip(score, EPSILON, 1 - EPSILON) for score in (low, high))

    def count_inner(block: Block) -> list[NDArray[np.int64]]:
        scores = scan.codec.decode(block.codes)
        is_inner = (scores > block.of_steps(low)) & (scores < block.of_steps(high))
        return [np.add.reduceat(is_inner, block.starts[:-1], dtype=np.int64)]

    (n_inner,) = group_sums(scan, scan.map(count_inner), 1)
    has_inner: NDArray[np.bool_] = n_inner > 0
    return has_inner


def _fit_other_folds(
    cases: Cases, fit: Callable[[Cases], FittedFunctions], method: FitMethod
) -> pl.DataFrame:
    """Return the table of the fits on all other folds of the group, for each fold.

    The last column of `cases.keys` has the folds.
    """
    folds, fold = number_distinct_rows(cases.keys)
    _, group = number_keys(folds, folds.columns[:-1])
    starts = group_starts(group, group.max(initial=-1) + 1)
    n_folds = np.diff(starts)
    # `position` is the number of the fold of each row within its group.
    position = (np.arange(len(group)) - starts[group])[fold.to_numpy()]
    state = np.zeros(len(position), np.uint8) if cases.state is None else cases.state
    keys = cases.keys.drop(cases.keys.columns[-1])
    numbers: list[NDArray[np.int64]] = []
    parts: list[dict[str, NDArray[Any]]] = []
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
    keys: pl.DataFrame,
    group: NDArray[np.int64],
    columns: Mapping[str, NDArray[Any]],
    method: FitMethod,
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
        Column or expression with the score. If `fit_calibration` fitted several score columns, pass
        the same columns, for example as a list. The predictions can also be a long table, with the
        models in a column `model` and all scores in one column. Then pass this column of scores.
    fit : DataFrame
        A table of `fit_calibration`. Its columns left of the column `score` identify the groups,
        and must be columns of the predictions. The column `model` is an exception: if several score
        columns are passed, the predictions do not need it.

    Returns
    -------
    DataFrame or LazyFrame
        The predictions with a last column `calibrated_score` (Float64) in [0, 1]. For several
        scores, the last columns are `calibrated_<model>`, one for each model. A calibrated score is
        null if the score is null or NaN, if `fit` has no row for the group, or if the group could
        not be fitted (see the column `note` of `fit`).

    Raises
    ------
    RocframeError
        If a column is missing, if `fit` is not a table of `fit_calibration` with one fit per group,
        or if the predictions already have a column with the name of a new column. This error is
        also raised if a score is outside [0, 1] and the calibration method needs probabilities, or
        if Float64 cannot represent a score exactly.

    See Also
    --------
    fit_calibration : Fit the function that converts scores to probabilities.

    Notes
    -----
    Within a group, a higher score never has a lower calibrated score. Different scores can have the
    same calibrated score, in particular with isotonic regression, and with all methods if
    probabilities are so near to 0 or 1 that they are the same number in Float64 (see the note
    `merged` of `fit_calibration`). The AUC does not change if different scores always have
    different calibrated scores.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {
    ...         "fold": [1, 1, 1, 1, 2, 2, 2, 2],
    ...         "label": [0, 1, 0, 1, 0, 0, 1, 1],
    ...         "score": [0.1, 0.3, 0.5, 0.9, 0.2, 0.4, 0.6, 0.7],
    ...     }
    ... )

    Cross-fitting: each fold is calibrated by the fit on the other fold.

    >>> fit = rf.fit_calibration(predictions, "label", "score", over="fold")
    >>> predictions.roc.apply_calibration("score", fit)
    shape: (8, 4)
    ┌──────┬───────┬───────┬──────────────────┐
    │ fold ┆ label ┆ score ┆ calibrated_score │
    │ ---  ┆ ---   ┆ ---   ┆ ---              │
    │ i64  ┆ i64   ┆ f64   ┆ f64              │
    ╞══════╪═══════╪═══════╪══════════════════╡
    │ 1    ┆ 0     ┆ 0.1   ┆ 0.0              │
    │ 1    ┆ 1     ┆ 0.3   ┆ 0.0              │
    │ 1    ┆ 0     ┆ 0.5   ┆ 0.5              │
    │ 1    ┆ 1     ┆ 0.9   ┆ 1.0              │
    │ 2    ┆ 0     ┆ 0.2   ┆ 0.25             │
    │ 2    ┆ 0     ┆ 0.4   ┆ 0.5              │
    │ 2    ┆ 1     ┆ 0.6   ┆ 0.625            │
    │ 2    ┆ 1     ┆ 0.7   ┆ 0.75             │
    └──────┴───────┴───────┴──────────────────┘
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
    """Return the group columns of a table of `fit_calibration`; raise an error for other objects.

    Also raise an error if the table has several fits for the same group.
    """
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

    `method` is the method of each group, or None if the group has no fit. `parameters` has the
    intercept and the slopes of each group. The knots of group i are those from `starts[i]` to
    `starts[i + 1] - 1`, with rising scores. `score_name` is the name of the scores in errors.
    """

    method: NDArray[np.object_]
    parameters: NDArray[np.float64]
    starts: NDArray[np.int64]
    score: NDArray[np.float64]
    probability: NDArray[np.float64]
    score_name: str

    @classmethod
    def from_table(
        cls,
        fit: pl.DataFrame,
        group: NDArray[np.int64],
        selected: NDArray[np.bool_],
        score_name: str,
    ) -> ScoreFunctions:
        """Return the functions of the selected rows; `group` is the group number of each row."""
        n_groups = int(group.max(initial=-1)) + 1
        score, probability, *parameters = (
            fit.get_column(name).cast(pl.Float64).fill_null(np.nan).to_numpy()
            for name in ("score", "probability", *PARAMETERS)
        )
        is_knot = selected & ~np.isnan(probability)
        has_parameters = selected & ~np.isnan(parameters[1])
        method = np.full(n_groups, None, object)
        rows = is_knot | has_parameters
        method[group[rows]] = np.array(fit.get_column("method").to_list(), object)[rows]
        values = np.full((n_groups, len(PARAMETERS)), np.nan)
        values[group[has_parameters]] = np.transpose(parameters)[has_parameters]
        knots = np.flatnonzero(is_knot)
        knots = knots[np.lexsort((score[knots], group[knots]))]
        return cls(
            method=method,
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
        score = floats.fill_null(np.nan).to_numpy()
        group = groups.to_numpy()
        for method in PROBABILITY_METHODS:
            if (self.method == method).any():
                used = score[self._rows_of(method, score, group)]
                check_range(used, self.score_name, " ".join(probability_hint(method)))
        blocks = run_parallel(
            lambda rows: self._probabilities(score[rows], group[rows]),
            split_rows(len(score), BLOCK_ROWS),
            arrays_only=True,
        )
        return pl.Series(values.name, np.concatenate(blocks), nan_to_null=True)

    def _rows_of(
        self, method: str, score: NDArray[np.float64], group: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the positions of the scores whose group has a fit by a method."""
        has_method = np.append(self.method == method, False)  # group -1 has no fit
        return np.flatnonzero(has_method[group] & ~np.isnan(score))

    def _probabilities(
        self, score: NDArray[np.float64], group: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the probabilities of scores; NaN for missing scores and groups without a fit."""
        result = np.full(len(score), np.nan)
        for method in {method for method in self.method if method is not None}:
            rows = self._rows_of(method, score, group)
            if method == "isotonic":
                first, last = self.starts[group[rows]], self.starts[group[rows] + 1] - 1
                result[rows] = interpolate_in_groups(
                    self.score, self.probability, first, last, score[rows]
                )
            else:
                parameters = self.parameters[group[rows]]
                result[rows] = logistic_probabilities(method, score[rows], parameters)
        return result
