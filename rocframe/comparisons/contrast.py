"""The verb `contrast`: predictions of several models → one test of all their areas per group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum, isfinite
from typing import TYPE_CHECKING, Any, Literal

from rocframe.areas.partial import Part
from rocframe.comparisons.auc_covariance import contrast_table
from rocframe.comparisons.model_pairs import Measure
from rocframe.comparisons.pairing import Pairing, compared_by
from rocframe.errors import OptionValueError
from rocframe.inference.p_values import check_adjust
from rocframe.inputs.roles import Roles
from rocframe.options import NOT_GIVEN, as_number
from rocframe.schemas import CONTRAST, MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.areas.partial import Range
    from rocframe.comparisons.pairing import Unmatched
    from rocframe.frames import FrameT
    from rocframe.inference.p_values import Adjust
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


ROUNDING = 1e-9  # of coefficients such as 1/3, relative to the largest


def contrast(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - the word users have for it
    by: By = None,
    coefficients: Mapping[Any, float] | Sequence[Mapping[Any, float]] | None = None,
    fpr: Range | None = None,
    tpr: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    adjust: Adjust | None = "holm",
    unmatched: Unmatched = "raise",
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Test all areas of each group at once: whether any of its models differ.

    DeLong's chi-squared statistic of a contrast: of sums of areas, each with a coefficient, that
    are all 0 where the null hypothesis holds. Unless coefficients are given, they say that all
    models have the same area.

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
    coefficients : mapping of str to float, or sequence of mappings, default None
        What is 0 where the null hypothesis holds: a number for each model, such as `{"new": 1,
        "old": -0.5, "older": -0.5}`, which add up to 0, models left out having 0; or several of
        these.
    fpr : (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`. The partial area is the integral of
        TPR over this range.
    tpr : (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`. The partial area is the integral of 1 -
        FPR over this range.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that chance is 0.5 and the maximum is 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of all rows of the result: `"holm"` controls the probability of
        at least one false rejection, `"bh"` (Benjamini and Hochberg) the expected share of false
        rejections. None: no adjustment.
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
        `*by`, `p_value, p_adjusted, statistic, df, n_models, n_paired, test, note`; a row per
        group, sorted by group. `statistic` has a chi-squared distribution with `df` degrees of
        freedom where all sums are 0: as many as sums that do not follow from each other. Models
        that order rows alike have 0 degrees, and p is 1. `n_models` (Int64) counts the models of
        the group, `n_paired` the rows that all of them scored. The test is null where a class has
        fewer than two rows, or clusters, where a model with a coefficient has no rows, and where a
        sum is not 0 and shows no variance. `note` (String) is null, or the first that applies of
        `no_rows, no_positives, no_negatives, one_positive, one_negative, zero_variance`, or the
        number of rows left out (`unmatched:3`).

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
    auc_covariance : The matrix that the statistic comes from.

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
    ...     {
    ...         "label": [1, 1, 0, 0],
    ...         "a": [0.9, 0.3, 0.3, 0.1],
    ...         "b": [2, 3, 3, 0],
    ...         "c": [4, 1, 3, 2],
    ...     }
    ... )
    >>> test = rf.contrast(predictions, "label", ["a", "b", "c"])
    >>> test.select("p_value", "statistic", "df", "n_models", "n_paired")
    shape: (1, 5)
    ┌──────────┬───────────┬─────┬──────────┬──────────┐
    │ p_value  ┆ statistic ┆ df  ┆ n_models ┆ n_paired │
    │ ---      ┆ ---       ┆ --- ┆ ---      ┆ ---      │
    │ f64      ┆ f64       ┆ f64 ┆ i64      ┆ i64      │
    ╞══════════╪═══════════╪═════╪══════════╪══════════╡
    │ 0.001503 ┆ 13.0      ┆ 2.0 ┆ 3        ┆ 4        │
    └──────────┴───────────┴─────┴──────────┴──────────┘
    """
    # numpy and scipy load with the first comparison, not with the package.
    check_adjust(adjust)
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
    pairing = Pairing.of(roles, between=between, id=id, unmatched=unmatched)
    rows = _rows(coefficients)
    return compared_by(
        predictions,
        roles,
        pairing,
        lambda frame, pairs: contrast_table(frame, pairs, measure, rows, adjust),
        schema=lambda _: CONTRAST.columns(),
        anchor="n_models",
        # A model that has a coefficient may be in other groups.
        apart=adjust is None and rows is None,
    )


def _rows(
    coefficients: Any,
) -> list[Mapping[Any, float]] | None:
    """Read the coefficients: none, one row of them, or several."""
    if coefficients is None:
        return None
    several = isinstance(coefficients, Iterable) and not isinstance(coefficients, Mapping | str)
    rows = list(coefficients) if several else [coefficients]
    for row in rows:
        numbers = [as_number(value) for value in row.values()] if isinstance(row, Mapping) else []
        if not any(numbers) or not all(one is not None and isfinite(one) for one in numbers):
            raise OptionValueError.of(
                "coefficients",
                row,
                "it does not give models coefficients: finite numbers, not all of them 0",
                'Give, say, coefficients={"new": 1, "old": -1}.',
            )
        added = fsum(one for one in numbers if one is not None)
        if abs(added) > ROUNDING * max(abs(one or 0) for one in numbers):
            raise OptionValueError.of(
                "coefficients",
                row,
                f"they add up to {added:g}, so equal areas would not make the sum 0",
                'Give, say, {"new": 1, "old": -0.5, "older": -0.5}.',
            )
    if not rows:
        raise OptionValueError.of(
            "coefficients", coefficients, "it is empty", "Leave it out to compare all models."
        )
    return rows
