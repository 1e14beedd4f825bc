"""The verb `auc_covariance`: predictions of several models → how their areas vary together."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.areas.partial import Part
from rocframe.comparisons.model_areas import areas_of, batches
from rocframe.comparisons.model_pairs import Measure, pair_notes
from rocframe.comparisons.pairing import Pairing, compared_by, read_instances
from rocframe.errors import OptionValueError
from rocframe.frames import build_table
from rocframe.inference.p_values import adjust_p_values
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import RowGroups
from rocframe.kernel.threads import run_parallel
from rocframe.options import NOT_GIVEN
from rocframe.schemas import CONTRAST, MODEL, covariance_columns
from rocframe.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.partial import Range
    from rocframe.comparisons.model_areas import Areas
    from rocframe.comparisons.pairing import BoundPairs, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inference.p_values import Adjust
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


def auc_covariance(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - the word users have for it
    by: By = None,
    fpr: Range | None = None,
    tpr: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    unmatched: Unmatched = "raise",
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Estimate the covariance matrix of the areas of all models in each group.

    It is DeLong's, from the placements of the rows that all models of the group scored. From it
    follows the variance of any sum or difference of areas.

    Parameters
    ----------
    predictions : DataFrame or LazyFrame
        One row per prediction. A LazyFrame returns a LazyFrame.
    label : str or Expr
        Column or expression with the true class: Boolean, 0/1 numbers, or any values together with
        `positive`.
    score : str, Expr, selector, sequence or mapping
        Column or expression with the score; higher values indicate the positive class. Any real
        number is allowed, and scores are never transformed. A list, a selector or a mapping from
        names to columns compares several models side by side.
    between : str, default MODEL
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify the instance of a row. Each instance occurs once per model and group,
        in any row order.
    by : str or sequence of str, default None
        Group columns. A null key is a group of its own.
    fpr : (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`. The partial area is the integral of
        TPR over this range.
    tpr : (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`. The partial area is the integral of 1 -
        FPR over this range.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that chance is 0.5 and the maximum is 1.
    unmatched : {"raise", "drop"}, default "raise"
        Handling of instances that only some of the models have: `"raise"` an error, or `"drop"`
        them and count them in `note`.
    cluster : str or Expr, default None
        Column or expression that identifies clusters of dependent rows, such as all rows of one
        user. Different clusters are assumed to be independent.
    positive : object, default None
        Value of `label` that is the positive class; all other values are negative. Required unless
        labels are Boolean or 0/1.
    weight : str or Expr, default None
        Column or expression with the importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Column or expression with the number of identical rows that a row represents; all results
        are those of that many separate rows. If the table has a column named `count`, pass
        `count="count"` or `count=None`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Handling of rows whose label, score, weight or count is null or NaN. `"raise"`: an error.
        `"drop"`: the rows are left out and counted in `n_missing`. `"worst"`: for missing scores
        only; an unscored positive is a false negative and an unscored negative is a false positive
        at every threshold.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, `model_a, model_b, covariance, correlation, auc_a, auc_b, n_pos, n_neg, note`; a row
        per group and ordered pair of its models, a model with itself among them, sorted by these:
        the covariance there is the variance of the area. Both covariance and correlation (in
        [-1, 1]) are null where a class has fewer than two rows, or clusters; the correlation also
        where a variance is 0. With `fpr` or `tpr` the areas are `partial_auc_a` and
        `partial_auc_b`.
        `n_pos` and `n_neg` (Int64) count the rows that all models scored. `note` (String) is null,
        or the first that applies of `no_rows, no_positives, no_negatives, one_positive,
        one_negative, zero_variance`, or the number of rows left out (`unmatched:3`).

    Raises
    ------
    PairingError
        If rows do not pair up: without `id`, with an id that is null or there twice, with rows that
        only one model has, or with two labels of one id.
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite.

    See Also
    --------
    compare : Test every two models of a group.
    contrast : Test more than two areas at once.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
    correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2),
    567-578. doi:10.2307/2533958

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 0, 0], "a": [0.9, 0.3, 0.3, 0.1], "b": [2, 3, 3, 0]}
    ... )
    >>> matrix = rf.auc_covariance(predictions, "label", ["a", "b"])
    >>> matrix.select("model_a", "model_b", "covariance", "auc_a", "auc_b")
    shape: (4, 5)
    ┌─────────┬─────────┬────────────┬───────┬───────┐
    │ model_a ┆ model_b ┆ covariance ┆ auc_a ┆ auc_b │
    │ ---     ┆ ---     ┆ ---        ┆ ---   ┆ ---   │
    │ str     ┆ str     ┆ f64        ┆ f64   ┆ f64   │
    ╞═════════╪═════════╪════════════╪═══════╪═══════╡
    │ a       ┆ a       ┆ 0.03125    ┆ 0.875 ┆ 0.875 │
    │ a       ┆ b       ┆ 0.03125    ┆ 0.875 ┆ 0.625 │
    │ b       ┆ a       ┆ 0.03125    ┆ 0.625 ┆ 0.875 │
    │ b       ┆ b       ┆ 0.15625    ┆ 0.625 ┆ 0.625 │
    └─────────┴─────────┴────────────┴───────┴───────┘
    """
    # numpy and scipy load with the first comparison, not with the package.
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
    measure = Measure(part=Part.of(fpr, tpr, standardize))
    pairing = Pairing.of(roles, between=between, id=id, unmatched=unmatched, least=1)
    return compared_by(
        predictions,
        roles,
        pairing,
        lambda frame, pairs: covariance_table(frame, pairs, measure),
        schema=lambda model: covariance_columns(model, measure.name),
        anchor="n_pos",
        apart=True,
    )


def covariance_table(frame: pl.DataFrame, pairs: BoundPairs, measure: Measure) -> pl.DataFrame:
    """Return a row for each two models of each group, in both orders and with themselves."""
    instances = read_instances(frame, pairs)
    groups = RowGroups.from_keys(instances.keys, len(instances.negative))
    schema = covariance_columns(instances.models.dtype, measure.name)
    parts: list[pl.DataFrame] = []
    for batch in batches(instances, groups, pairs.pairing, together=True):
        areas = areas_of(instances, batch, measure.part)
        matrix = measure.slope**2 * covariances(spreads(areas))
        size = len(batch.models)
        a, b = (at.ravel() for at in np.indices((size, size)))
        area = measure.shown(np.array(areas.area)).T
        variances = np.diagonal(matrix, axis1=1, axis2=2)
        flat = np.where((variances == 0).any(axis=1), 0.0, variances[:, 0])
        notes = pair_notes(areas.units, flat, batch.unmatched)
        columns: dict[str, Any] = {
            "model_a": np.tile(np.array(batch.models)[a], len(area)),
            "model_b": np.tile(np.array(batch.models)[b], len(area)),
            "n_pos": np.repeat(areas.n_pos, size**2),
            "n_neg": np.repeat(areas.n_neg, size**2),
            f"{measure.name}_a": area[:, a].ravel(),
            f"{measure.name}_b": area[:, b].ravel(),
            "covariance": matrix[:, a, b].ravel(),
            "correlation": correlations(matrix)[:, a, b].ravel(),
            "note": np.repeat(notes, size**2).tolist(),
        }
        parts.append(
            build_table(
                pl.DataFrame({"group": np.repeat(batch.groups, size**2)}),
                columns,
                {**schema, "model_a": pl.Int64(), "model_b": pl.Int64()},
            )
        )
    if not parts:
        return build_table(groups.keys[:0], {}, schema)
    whole = pl.concat(parts).sort("group", "model_a", "model_b")
    keys = groups.keys[whole.get_column("group")]
    models = (
        instances.models[whole.get_column(name)].alias(name) for name in ("model_a", "model_b")
    )
    return pl.concat([keys, whole.drop("group").with_columns(models)], how="horizontal")


def contrast_table(
    frame: pl.DataFrame,
    pairs: BoundPairs,
    measure: Measure,
    coefficients: Sequence[Mapping[Any, float]] | None,
    adjust: Adjust | None,
) -> pl.DataFrame:
    """Return a row for each group: the test that a contrast of its models' areas is 0."""
    from scipy.special import chdtrc

    instances = read_instances(frame, pairs)
    groups = RowGroups.from_keys(instances.keys, len(instances.negative))
    length = len(groups.starts) - 1
    models, rows = np.zeros(length, np.int64), np.zeros(length, np.int64)
    statistic, df = np.full(length, np.nan), np.full(length, np.nan)
    notes = np.full(length, "no_rows", object)
    given = None if coefficients is None else _coefficients(coefficients, instances.models)
    for batch in batches(instances, groups, pairs.pairing, together=True):
        areas = areas_of(instances, batch, measure.part)
        if given is None:
            matrix = np.diff(np.eye(len(batch.models)), axis=0)
            whole = len(batch.models) > 1
        else:
            matrix = given[:, list(batch.models)]
            whole = not np.delete(given, batch.models, axis=1).any()
        models[batch.groups] = len(batch.models)
        rows[batch.groups] = areas.n_pos + areas.n_neg
        variance = areas.variance(0)
        notes[batch.groups] = pair_notes(areas.units, None, batch.unmatched)
        if not whole:
            if given is not None:  # a model that has a coefficient has no rows here
                notes[batch.groups] = "no_rows"
            continue
        found = chi_squared(matrix, np.array(areas.area).T, spreads(areas))
        undefined = np.isnan(found[0]) & ~np.isnan(variance)
        notes[batch.groups[undefined]] = "zero_variance"
        statistic[batch.groups], df[batch.groups] = found
    p_value = np.where(df == 0, 1.0, chdtrc(df, statistic))
    columns: dict[str, Any] = {
        "n_models": models,
        "n_paired": rows,
        "statistic": statistic,
        "df": df,
        "p_value": p_value,
        "p_adjusted": adjust_p_values(p_value, np.zeros(length, np.int64), adjust),
        "test": "delong",
        "note": notes.tolist(),
    }
    return build_table(groups.keys, columns, CONTRAST.columns())


def _coefficients(given: Sequence[Mapping[Any, float]], models: pl.Series) -> NDArray[np.float64]:
    """Return the coefficient of each model in each row of a contrast."""
    known = models.to_list()
    matrix = np.zeros((len(given), len(known)))
    for row, coefficients in zip(matrix, given, strict=True):
        for model, value in coefficients.items():
            if not known:  # no rows say which models there are
                continue
            if model not in known:
                raise OptionValueError.of(
                    "coefficients", model, "there is no such model", f"There are: {listed(known)}."
                )
            row[known.index(model)] = value
    return matrix


ROUNDING = 1e-10  # of a covariance matrix, relative to its largest eigenvalue


def spreads(areas: Areas) -> NDArray[np.float64]:
    """Return the variances of the differences of every two models' areas in each group.

    On the diagonal stand the variances of the areas themselves.
    """
    models = len(areas.area)
    found = np.empty((len(areas.n_pos), models, models))
    for model, variance in enumerate(run_parallel(areas.variance, range(models))):
        found[:, model, model] = variance
    pairs = list(combinations(range(models), 2))
    for (a, b), apart in zip(
        pairs, run_parallel(lambda pair: areas.variance(*pair), pairs), strict=True
    ):
        found[:, a, b] = found[:, b, a] = apart
    return found


def covariances(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance matrices that these variances are of."""
    own = np.diagonal(found, axis1=1, axis2=2)
    matrix: NDArray[np.float64] = (own[:, :, None] + own[:, None, :] - found) / 2
    places = np.arange(found.shape[1])
    matrix[:, places, places] = own
    return matrix


def correlations(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations of covariance matrices; NaN where a variance is 0."""
    sd = np.sqrt(np.diagonal(matrix, axis1=1, axis2=2))
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.clip(matrix / (sd[:, :, None] * sd[:, None, :]), -1, 1)
    found[np.isinf(found)] = np.nan
    return found


def chi_squared(
    contrast: NDArray[np.float64], area: NDArray[np.float64], found: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the statistic of each group that all rows of a contrast are 0, and its degrees.

    NaN where a row is not 0 though it shows no variance.
    """
    contrast = contrast / np.abs(contrast).max(axis=1, keepdims=True)
    values = area @ contrast.T
    spread_of = _variances(contrast, found)
    statistic, df = np.full(len(values), np.nan), np.full(len(values), np.nan)
    for i in np.flatnonzero(np.isfinite(spread_of).all(axis=(1, 2))):
        size, axes = np.linalg.eigh(spread_of[i])
        along = axes.T @ values[i]
        some = size > ROUNDING * max(float(size.max()), 0.0)
        if (np.abs(along[~some]) > ROUNDING * np.abs(contrast).sum()).any():
            continue
        statistic[i], df[i] = (along[some] ** 2 / size[some]).sum(), some.sum()
    return statistic, df


def _variances(contrast: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance matrix of the rows of a contrast, from the variances of differences.

    Rows add up to 0, so the areas' own variances play no part, and do not hide the much smaller
    ones of differences.
    """
    places = np.arange(found.shape[1])
    apart = found.copy()
    apart[:, places, places] = 0
    result: NDArray[np.float64] = contrast @ apart @ contrast.T / -2
    return result
