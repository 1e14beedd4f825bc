"""The function `auc_covariance`: DeLong's covariance matrix of the areas of several models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rocframe.areas.partial import RateRange
from rocframe.comparisons.delong import paired_areas
from rocframe.comparisons.hypothesis import Quantity
from rocframe.comparisons.instances import model_batches, read_instances
from rocframe.comparisons.pairing import PairingOptions, build_model_table, plan_comparison
from rocframe.inference.notes import class_notes
from rocframe.inputs.roles import Roles
from rocframe.options import NOT_GIVEN, public
from rocframe.schemas.columns import MODEL
from rocframe.schemas.comparisons import covariance_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.partial import Range
    from rocframe.comparisons.pairing import PairingColumns, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


@public
def auc_covariance(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - name of the public option
    by: By = None,
    fpr: Range | None = None,
    tpr: Range | None = None,
    specificity: Range | None = None,
    sensitivity: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    unmatched: Unmatched = "raise",
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Estimate the covariance matrix of the areas of all models in each group.

    DeLong's estimate is computed from the placement values of the rows that all models of the group
    scored. The placement value of a row is the share of rows of the other class that the model
    ranks correctly relative to this row. The matrix determines the variance of any sum or
    difference of areas.

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
    by : str or sequence of str, default None
        Group columns; null is a group.
    fpr : (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`. The partial area is the integral of
        TPR over this range.
    tpr : (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`. The partial area is the integral of 1 -
        FPR over this range.
    specificity : (float, float), default None
        Range of the specificity, 1 - FPR: `(0.9, 1)` is the same as `fpr=(0, 0.1)`.
    sensitivity : (float, float), default None
        Another name of `tpr`.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that a random model has 0.5 and a perfect model has
        1.
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
        `*by`, `covariance, correlation, auc_a, auc_b, n_pos, n_neg, model_a, model_b, note`; one
        row per group and ordered pair of its models, including each model with itself, sorted by
        group, `model_a` and `model_b`.

        - `covariance` is the covariance of the two estimated areas; for a model with itself,
          `covariance` is the variance of the area.
        - `correlation` is the correlation of the two estimated areas, in [-1, 1].
        - `auc_a` and `auc_b` are the areas. If `fpr` or `tpr` is given, these two columns are named
          `partial_auc_a` and `partial_auc_b`.

        These columns are Float64. `covariance` and `correlation` are null if a class has fewer than
        two rows or clusters. The correlation is also null if the variance of an area is 0.

        `n_pos` and `n_neg` (Int64) are the numbers of positives and negatives that every model
        scored. `note` (String) is null, or the first of these values that applies: `no_rows,
        no_positives, no_negatives, one_positive, one_negative, zero_variance`, or `unmatched:3` if
        3 rows without a matching row of another model were left out.

    Raises
    ------
    PairingError
        If `id` does not pair the rows of the models.
    RocframeError
        If a column, an option or a value is invalid.

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
    rates = {"fpr": fpr, "tpr": tpr, "specificity": specificity, "sensitivity": sensitivity}
    quantity = Quantity(rate_range=RateRange.parse(rates, standardize))
    pairing = PairingOptions.parse(roles, between=between, id=id, unmatched=unmatched, min_models=1)
    return plan_comparison(
        predictions,
        roles,
        pairing,
        lambda frame, columns: covariance_table(frame, columns, quantity),
        schema=lambda model: covariance_columns(model, quantity.name),
        anchor="n_pos",
        independent_groups=True,
    )


def covariance_table(
    frame: pl.DataFrame, columns: PairingColumns, quantity: Quantity
) -> pl.DataFrame:
    """Return a row for each group and ordered pair of models, including a model with itself."""
    instances = read_instances(frame, columns)
    parts: list[dict[str, NDArray[Any]]] = []
    for batch in model_batches(instances, columns.options, all_models=True):
        areas = paired_areas(batch, quantity.rate_range)
        matrix = quantity.slope**2 * areas.covariances()
        variances = np.diagonal(matrix, axis1=1, axis2=2)
        note = class_notes(
            *areas.units,
            zero_variance=(variances == 0).any(axis=1),
            unmatched=batch.unmatched,
        )
        values = quantity.standardized(np.array(areas.area)).T
        size = len(batch.models)
        a, b = (index.ravel() for index in np.indices((size, size)))
        parts.append(
            {
                "group": np.repeat(batch.groups, size**2),
                "model_a": np.tile(np.array(batch.models)[a], len(values)),
                "model_b": np.tile(np.array(batch.models)[b], len(values)),
                "n_pos": np.repeat(areas.n_pos, size**2),
                "n_neg": np.repeat(areas.n_neg, size**2),
                f"{quantity.name}_a": values[:, a].ravel(),
                f"{quantity.name}_b": values[:, b].ravel(),
                "covariance": matrix[:, a, b].ravel(),
                "correlation": correlations(matrix)[:, a, b].ravel(),
                "note": np.repeat(note, size**2),
            }
        )
    return build_model_table(
        parts,
        covariance_columns(instances.models.dtype, quantity.name),
        keys=instances.keys,
        models=instances.models,
        order=["model_a", "model_b"],
    )


def correlations(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations from covariance matrices; NaN if one of the variances is 0."""
    sd = np.sqrt(np.diagonal(matrix, axis1=1, axis2=2))
    with np.errstate(divide="ignore", invalid="ignore"):
        result: NDArray[np.float64] = np.clip(matrix / (sd[:, :, None] * sd[:, None, :]), -1, 1)
    return result
