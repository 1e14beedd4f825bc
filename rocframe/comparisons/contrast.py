"""The function `contrast`: F test and DeLong's chi-squared test of contrasts of areas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum, isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rocframe.areas.area import RateRange
from rocframe.areas.pairs import limit_df
from rocframe.comparisons.delong import paired_areas
from rocframe.comparisons.pairing import (
    PairingOptions,
    model_batches,
    model_position,
    plan_comparison,
    read_instances,
)
from rocframe.errors import OptionValueError
from rocframe.frames import build_table
from rocframe.inference import (
    MIN_DIFFERENCE_UNITS,
    adjust_p_values,
    check_adjust,
    class_notes,
    few_rows,
)
from rocframe.inputs.roles import Roles
from rocframe.options import NOT_GIVEN, check_choice, public, to_float
from rocframe.schemas.statistics import CONTRAST
from rocframe.schemas.table_type import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.area import Range
    from rocframe.areas.pairs import ClassSizes, VarianceParts
    from rocframe.comparisons.pairing import PairingColumns, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inference import Adjust
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores

Coefficients: TypeAlias = Mapping[Any, float]

# The largest rounding error of a sum of coefficients, divided by the largest coefficient, and of an
# eigenvalue, divided by the terms of the covariances.
COEFFICIENT_ROUNDING = 1e-9
EIGENVALUE_ROUNDING = 1e-10


@public
def contrast(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - name of the public option
    by: By = None,
    coefficients: Coefficients | Sequence[Coefficients] | None = None,
    method: ContrastMethod = "delong_f",
    fpr: Range | None = None,
    tpr: Range | None = None,
    specificity: Range | None = None,
    sensitivity: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    adjust: Adjust | None = "holm",
    unmatched: Unmatched = "raise",
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Test in each group whether a contrast of the models' areas is 0.

    A contrast is a weighted sum of AUCs, or partial areas, with weights that add up to 0. The null
    hypothesis is that all given contrasts are 0; by default, that all models have the same area.

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
    coefficients : mapping of str to float, or sequence of mappings, default None
        Weights of the models in a contrast, such as `{"new": 1, "old": -0.5, "older": -0.5}`, or a
        list of contrasts. Other models have weight 0. None: test whether all models have the same
        area.
    method : {"delong_f", "delong"}, default "delong_f"
        `"delong_f"`: an F test with DeLong's covariance matrix; `"delong"`: DeLong's chi-squared
        test, for at least about 50 rows of each class.
    fpr : (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`, over which TPR is integrated.
    tpr : (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`, over which 1 - FPR is integrated. With
        `fpr` as well, the area is the part of the rectangle of both ranges below the curve.
    specificity : (float, float), default None
        Range of the specificity, 1 - FPR: `(0.9, 1)` is the same as `fpr=(0, 0.1)`.
    sensitivity : (float, float), default None
        Another name of `tpr`.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that a random model has 0.5 and a perfect model has
        1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of all rows of the result, as in `compare`.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
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
        One row per group, sorted by group: `*by`, `p_value, p_adjusted, statistic, df,
        df_denominator, n_models, n_paired, n_pos, n_neg, test, note`. `statistic` (Float64) has an
        F distribution with `df` and `df_denominator` (Float64) degrees of freedom or, for
        `"delong"`, a chi-squared distribution with `df`. `n_paired`, `n_pos` and `n_neg` (Int64)
        count the instances that all `n_models` models scored.

        If all models rank the rows in the same order, `df` is 0 and `p_value` 1. The Float64
        columns are null if a class has too few rows or clusters (at least two are necessary), if a
        model of a contrast has no rows, if a contrast is not 0 but its variance is 0, or if there
        is only one model.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance`, `few_rows:5` (below `df` + 3 rows
        or clusters of a class) or `unmatched:3`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the rows cannot be paired by `id`.

    See Also
    --------
    compare : Test each pair of models of a group.
    auc_covariance : Estimate the covariance matrix of the areas.

    References
    ----------
    - E. R. DeLong et al. (1988), Biometrics 44(3), 837-845. doi:10.2307/2531595
    - K. Krishnamoorthy, J. Yu (2004), Statistics and Probability Letters 66(2), 161-169.
      doi:10.1016/j.spl.2003.10.012
    - N. A. Obuchowski (1997), Biometrics 53(2), 567-578. doi:10.2307/2533958

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = {"a": [0.9, 0.3, 0.3, 0.1], "b": [2, 3, 3, 0], "c": [4, 1, 3, 2]}
    >>> predictions = pl.DataFrame({"label": [1, 1, 0, 0], **scores})
    >>> test = rf.contrast(predictions, "label", ["a", "b", "c"])
    >>> test.select(pl.col("p_value", "statistic", "df").round(3)).row(0, named=True)
    {'p_value': 0.567, 'statistic': 2.167, 'df': 2.0}
    """
    check_adjust(adjust)
    roles = Roles(label, score, by, positive, weight, count, missing, cluster)
    rates = {"fpr": fpr, "tpr": tpr, "specificity": specificity, "sensitivity": sensitivity}
    rate_range = RateRange.parse(rates, standardize)
    pairing = PairingOptions(roles=roles, between=between, id=id, unmatched=unmatched)
    contrasts = parse_coefficients(coefficients)
    check_choice("method", method, CONTRAST_TESTS)
    return plan_comparison(
        predictions,
        pairing,
        lambda frame, columns: contrast_table(
            frame, columns, rate_range, contrasts, method=method, adjust=adjust
        ),
        schema=lambda _: CONTRAST.columns(),
        anchor="n_models",
        # The names of models are checked against the models of all groups, so all groups are read.
        independent_groups=adjust is None and contrasts is None,
    )


ContrastMethod = Literal["delong_f", "delong"]


def parse_coefficients(coefficients: Any) -> list[Coefficients] | None:
    """Return the coefficients of each contrast after a check; None if all areas are compared."""
    if coefficients is None:
        return None
    is_list = isinstance(coefficients, Iterable) and not isinstance(coefficients, Mapping | str)
    contrasts = list(coefficients) if is_list else [coefficients]
    for contrast in contrasts:
        values = contrast.values() if isinstance(contrast, Mapping) else ()
        numbers = [to_float(value) for value in values]
        finite = [number for number in numbers if number is not None and isfinite(number)]
        if len(finite) < len(numbers) or not any(finite):
            problem = "expected a mapping from models to finite numbers that are not all 0"
            hint = 'Use, for example, coefficients={"new": 1, "old": -1}.'
            raise OptionValueError.compose("coefficients", contrast, problem, hint)
        total = fsum(finite)
        if abs(total) > COEFFICIENT_ROUNDING * max(map(abs, finite)):
            problem = f"the coefficients add up to {total:g}, but must add up to 0"
            hint = 'Use, for example, coefficients={"new": 1, "old": -0.5, "older": -0.5}.'
            raise OptionValueError.compose("coefficients", contrast, problem, hint)
    if not contrasts:
        problem = "the list is empty"
        hint = "Omit coefficients= to compare all models."
        raise OptionValueError.compose("coefficients", coefficients, problem, hint)
    return contrasts


def contrast_table(
    frame: pl.DataFrame,
    columns: PairingColumns,
    rate_range: RateRange | None,
    contrasts: Sequence[Coefficients] | None,
    *,
    method: ContrastMethod,
    adjust: Adjust | None,
) -> pl.DataFrame:
    """Return a row for each group: the test that all contrasts of the areas are 0."""
    instances = read_instances(frame, columns)
    keys = instances.keys
    n_groups = keys.height
    n_models, n_pos, n_neg, unmatched = np.zeros((4, n_groups), np.int64)
    units, minimum = np.zeros((2, n_groups), np.int64), np.zeros(n_groups, np.int64)
    results = np.full((3, n_groups), np.nan)
    zero_variance = np.zeros(n_groups, bool)
    matrix = None if contrasts is None else _contrast_matrix(contrasts, instances.models)
    for batch in model_batches(instances, columns.options, all_models=True):
        areas = paired_areas(batch, rate_range)
        n_models[batch.groups] = len(batch.models)
        n_pos[batch.groups], n_neg[batch.groups] = areas.n_pos, areas.n_neg
        unmatched[batch.groups] = batch.unmatched
        if matrix is None:  # the contrasts are the differences of successive models
            coefficients = np.diff(np.eye(len(batch.models)), axis=0)
        else:
            coefficients = matrix[:, list(batch.models)]
            # A model of a contrast has no rows in this group.
            if np.delete(matrix, batch.models, axis=1).any():
                continue
        units[:, batch.groups] = areas.units
        if not len(coefficients):
            continue
        variances = areas.difference_variances()
        result = estimate_contrasts(
            coefficients, np.array(areas.area).T, variances, areas.units, areas.n_units
        )
        results[:, batch.groups] = result
        undefined = np.isnan(result[0]) & ~np.isnan(variances.total[:, 0, 1])
        # With few rows or clusters, the estimated covariance matrix of several contrasts can be
        # singular or indefinite, although the difference of each two areas has a variance.
        full_rank = np.linalg.matrix_rank(coefficients / np.abs(coefficients).max(1, keepdims=True))
        rank = np.where(undefined, full_rank, np.nan_to_num(result[1]))
        least = np.where(rank > 0, MIN_DIFFERENCE_UNITS - 1 + rank, 0).astype(np.int64)
        lacks_rows = np.minimum(*areas.units) < least
        is_constant = _has_constant_difference(coefficients, areas.area, variances.total)
        zero_variance[batch.groups] = (result[1] == 0) | (
            undefined & (is_constant | (rank == 1) | ~lacks_rows)
        )
        minimum[batch.groups] = least
    df = results[1]
    statistic, df_denominator, p_value = CONTRAST_TESTS[method](*results)
    p_value = np.where(df == 0, 1.0, p_value)
    values = {
        "n_models": n_models,
        "n_paired": n_pos + n_neg,
        "n_pos": n_pos,
        "n_neg": n_neg,
        "statistic": statistic,
        "df": df,
        "df_denominator": df_denominator,
        "p_value": p_value,
        "p_adjusted": adjust_p_values(p_value, np.zeros(n_groups, np.int64), adjust),
        "test": method,
        "note": class_notes(
            *units,
            zero_variance=zero_variance,
            few_rows=few_rows(units[0], units[1], minimum),
            unmatched=unmatched,
        ).tolist(),
    }
    return build_table(keys, values, CONTRAST.columns())


def f_test(
    chi_squared: NDArray[np.float64], df: NDArray[np.float64], nu: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Return the F statistic, its denominator degrees of freedom, and the p-value."""
    from scipy.special import fdtrc

    df_denominator = np.where(df > 0, nu - df + 1, np.nan)
    usable = np.where(df_denominator > 0, df_denominator, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(df == 0, 0.0, usable / (nu * df) * chi_squared)
    return statistic, df_denominator, fdtrc(df, usable, statistic)


def chi_squared_test(
    chi_squared: NDArray[np.float64], df: NDArray[np.float64], _: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Return the statistic, NaN, and the p-value."""
    from scipy.special import chdtrc

    return chi_squared, np.full_like(df, np.nan), chdtrc(df, chi_squared)


CONTRAST_TESTS = {"delong_f": f_test, "delong": chi_squared_test}


def _has_constant_difference(
    coefficients: NDArray[np.float64],
    areas: Sequence[NDArray[np.float64]],
    variances: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Return whether two used models differ in a group although the variance of it is 0."""
    used = np.flatnonzero(coefficients.any(axis=0))
    area = np.array(areas)[used].T
    differs = np.abs(area[:, :, None] - area[:, None, :]) > EIGENVALUE_ROUNDING
    constant: NDArray[np.bool_] = (differs & (variances[:, used][:, :, used] == 0)).any(axis=(1, 2))
    return constant


def _contrast_matrix(contrasts: Sequence[Coefficients], models: pl.Series) -> NDArray[np.float64]:
    """Return the coefficients as a matrix: a row per contrast and a column per model."""
    names = models.to_list()
    matrix = np.zeros((len(contrasts), len(names)))
    if not names:  # without rows the models are unknown
        return matrix
    for row, coefficients in zip(matrix, contrasts, strict=True):
        for model, value in coefficients.items():
            row[model_position("coefficients", model, names)] = value
    return matrix


def estimate_contrasts(
    contrasts: NDArray[np.float64],
    areas: NDArray[np.float64],
    variances: VarianceParts,
    sizes: ClassSizes,
    n: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the chi-squared statistic, its rank, and Krishnamoorthy and Yu's df of each group.

    `variances` are those of differences of areas. NaN if a contrast is not 0 but its variance is 0.
    """
    contrasts = contrasts / np.abs(contrasts).max(axis=1, keepdims=True)
    values = areas @ contrasts.T
    # The coefficients of a contrast add up to 0. The variance of a contrast can therefore be
    # computed from the variances of differences of areas alone.
    with np.errstate(invalid="ignore"):  # the variance of a class in one cluster is infinite
        covariance, *parts = (contrasts @ variance @ contrasts.T / -2 for variance in variances)
        # The largest sum of absolute values of the terms of a covariance.
        size = np.abs(contrasts) @ variances.total @ np.abs(contrasts).T / 2
    defined = np.flatnonzero(np.isfinite(covariance).all(axis=(1, 2)))
    eigenvalues, axes = np.linalg.eigh(covariance[defined])
    projected = (axes.transpose(0, 2, 1) @ values[defined, :, None])[..., 0]
    largest = np.maximum(size[defined].max(axis=(1, 2)), eigenvalues.max(axis=1))
    positive = eigenvalues > EIGENVALUE_ROUNDING * largest[:, None]
    limit = EIGENVALUE_ROUNDING * np.abs(contrasts).sum()
    is_consistent = positive | (np.abs(projected) <= limit)
    has_test = is_consistent.all(axis=1)
    inverse = np.divide(1, eigenvalues, out=np.zeros_like(eigenvalues), where=positive)
    terms = np.divide(projected**2, eigenvalues, out=np.zeros_like(projected), where=positive)
    # With these axes, the covariance matrix is the identity matrix.
    scaled = axes * np.sqrt(inverse)[:, None, :]
    spread = np.zeros(len(defined))
    for part, n_class in zip(parts, sizes, strict=True):
        share = scaled.transpose(0, 2, 1) @ part[defined] @ scaled
        trace = np.trace(share, axis1=1, axis2=2)
        spread += ((share**2).sum(axis=(1, 2)) + trace**2) / (n_class[defined] - 1)
    rank = positive.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        nu = limit_df((rank + rank**2) / spread, (sizes[0][defined], sizes[1][defined]), n[defined])
    result = np.full((3, len(values)), np.nan)
    result[:, defined[has_test]] = np.stack([terms.sum(axis=1), rank, nu])[:, has_test]
    return result
