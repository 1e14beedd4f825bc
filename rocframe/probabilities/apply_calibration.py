"""The function `apply_calibration`: convert scores to probabilities by fitted functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.errors import MissingColumnError, OptionValueError, RepeatedNameError
from rocframe.frames import (
    as_input_frame,
    check_keys,
    column,
    join_keys,
    lazy_plan,
    number_keys,
    private_names,
)
from rocframe.inputs.cases import scores_as_floats
from rocframe.inputs.probabilities import check_range
from rocframe.inputs.roles import check_column_type, parse_scores, resolve_column
from rocframe.kernel.groups import group_starts
from rocframe.kernel.interpolate import interpolate_in_groups
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.threads import run_parallel, split_rows
from rocframe.options import public
from rocframe.probabilities.fit_calibration import (
    PARAMETERS,
    PROBABILITY_METHODS,
    logistic_probabilities,
    probability_hint,
)
from rocframe.schemas.calibration import FIT
from rocframe.schemas.columns import MODEL
from rocframe.text import format_key, format_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import Scores


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
