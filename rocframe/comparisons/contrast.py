"""The verb `contrast`: predictions of several models → one test of all their areas per group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum, isfinite
from typing import TYPE_CHECKING, Any, Literal

from rocframe.errors import OptionValueError
from rocframe.options import as_number
from rocframe.predictions import Roles
from rocframe.vocabulary import MODEL, contrast_schema

ROUNDING = 1e-9  # of coefficients such as 1/3, relative to the largest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.areas.part import Range
    from rocframe.comparisons.pairing import Unmatched
    from rocframe.frames import FrameT
    from rocframe.inference.adjust import Adjust
    from rocframe.predictions import By, Column, Count, Missing, Scores


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
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Test all areas of each group at once: whether any of its models differ.

    DeLong's chi-squared statistic of a contrast: of sums of areas, each with a coefficient, that
    are all 0 where the null hypothesis holds. Unless coefficients are given, they say that all
    models have the same area.

    Parameters
    ----------
    predictions
        One row per prediction. A LazyFrame stays lazy.
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    score
        Column or expression; higher means more positive. Any real number, never transformed. A
        list, a selector or a mapping from names to columns compares several models side by side.
    between
        Column that says whose prediction a row is, where models stand one below the other.
    id
        Column, or several, naming the instance that a row is about: what rows of different models
        share. It is there once for each model and group, in any order of rows.
    by
        Group columns: one name or several. A null key is a group.
    coefficients
        What is 0 where the null hypothesis holds: a number for each model, such as
        `{"new": 1, "old": -0.5, "older": -0.5}`, which add up to 0, models left out having 0; or
        several of these.
    fpr
        Range of the false positive rate, say `(0, 0.1)`: the integral of TPR over it.
    tpr
        Range of the true positive rate, say `(0.9, 1)`: the integral of 1 - FPR over it.
    standardize
        `"mcclish"` puts a partial area on the scale where chance is 1/2 and the best is 1.
    adjust
        How p-values are adjusted for how many rows the result has: `"holm"`, the chance of any
        false claim; `"bh"` (Benjamini and Hochberg), the share of false ones among the claims;
        None for not at all.
    unmatched
        What becomes of rows that only some of the models have: `"raise"` an error, or `"drop"`
        them and count them in `note`.
    cluster
        Column or expression saying which rows belong together, such as those of one user: what
        varies is independent clusters, whose rows need not be.
    positive
        The value of `label` that is the positive class; all others are negative. Needed unless
        labels are Boolean or 0/1.
    weight
        Column or expression with the importance of a row, finite and at least 0.
    count
        Column or expression saying how many identical rows a row stands for; everything is what
        that many rows would give. A table with a column `count` needs a word: its name, or None.
    missing
        What becomes of rows whose label, score, weight or count is null or NaN: `"raise"` an
        error; `"drop"` them and count them; or `"worst"`, for scores only: an unscored positive
        is a false negative and an unscored negative a false positive at every threshold.

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
    from rocframe.areas.part import Part
    from rocframe.comparisons.measure import Measure
    from rocframe.comparisons.pairing import Pairing
    from rocframe.comparisons.plan import compared_by
    from rocframe.comparisons.together import contrast_table
    from rocframe.inference.adjust import check_adjust

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
        schema=lambda _: contrast_schema(),
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
