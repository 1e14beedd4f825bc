"""The verb `auc`: predictions → the area under each group's ROC curve, and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rocframe.frames import like
from rocframe.predictions import Roles
from rocframe.tabulate import tabulated
from rocframe.vocabulary import AUC, PARTIAL_AUC, area_schema

if TYPE_CHECKING:
    import polars as pl

    from rocframe.areas.part import Range
    from rocframe.cases import Cases
    from rocframe.frames import FrameT
    from rocframe.inference.intervals import Method
    from rocframe.predictions import By, Column, Count, Missing, Scores


def auc(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    fpr: Range | None = None,
    tpr: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    ci: Method | None = "logit_delong",
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Measure the area under the ROC curve of each group, with its interval.

    The area is the chance that a positive has a higher score than a negative, a tie counting
    half: (2·wins + ties) / (2·positives·negatives), in whole numbers. `auc_pessimistic` and
    `auc_optimistic` are what it would be with all negatives, or all positives, of every tie
    first.

    Parameters
    ----------
    predictions
        One row per prediction. A LazyFrame stays lazy.
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    score
        Column or expression; higher means more positive. Any real number, never transformed. A
        list, a selector or a mapping from names to columns compares several models side by side.
        It adds the key `model` (String) after `by`.
    by
        Group columns: one name or several. A null key is a group.
    fpr
        Range of the false positive rate, say `(0, 0.1)`: the integral of TPR over it.
    tpr
        Range of the true positive rate, say `(0.9, 1)`: the integral of 1 - FPR over it.
    standardize
        `"mcclish"` puts a partial area on the scale where chance is 1/2 and the best is 1.
    ci
        Method of the interval: `"logit_delong"`, DeLong's variance on the logit scale;
        `"delong"`, the same as a Wald interval, clipped to [0, 1]; for whole areas also
        `"newcombe"`, `"hanley_mcneil"` (the Wald interval of their variance) and
        `"hanley_mcneil_exponential"` (its shortcut, which knows nothing but the area); quantiles
        of resamples, `"bootstrap"`, or these turned about the estimate, `"bootstrap_basic"`, or
        corrected for bias and skewness, `"bootstrap_bca"`; None for no interval, which takes a
        tenth to a fifth less time.
    level
        Share of intervals that cover, between 0 and 1.
    n_boot
        How many resamples the bootstrap draws.
    seed
        Whole number from 0 that fixes what is drawn; None draws anew each time. What a group draws
        depends on the seed and its key only.
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
        `*by`, (`model`,) `auc, lower, upper, se, auc_pessimistic, auc_optimistic, n_pos, n_neg,
        n_missing, ci_level, ci_method, note`; a row per group, sorted by group. With `fpr` or `tpr`
        the areas are `partial_auc, partial_auc_pessimistic, partial_auc_optimistic`. The three
        counts (Int64) are of rows, `count` included, also where rows are weighted; areas and limits
        are Float64 in [0, 1], but where `standardize` puts them below 0 for a model worse than
        chance. An area is null without positives or without negatives; `se` where its variance is
        0. With one row of a class `se` and limits are null for DeLong's methods and the bootstraps,
        the others have both. At an AUC of 0 or 1 the limits are Newcombe's, and `ci_method` says
        so. `note` (String) is null, or the first that applies of `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance, redrawn`; the last with a number,
        as in `redrawn:12`: so many resamples of clusters lacked a class.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite.

    Notes
    -----
    Resamples keep the sizes of both classes, or consist of whole clusters where rows have some.
    The limits of n resamples are number p·(n + 1) of them in rising order, in proportion between
    two neighbours. Skewness comes from the placements of the rows.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or
    more correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    R. G. Newcombe (2006), "Confidence intervals for an effect size measure based on the
    Mann-Whitney statistic. Part 2", Statistics in Medicine 25(4), 559-573. doi:10.1002/sim.2324

    J. A. Hanley, B. J. McNeil (1982), "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve", Radiology 143(1), 29-36. doi:10.1148/radiology.143.1.7063747

    N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2),
    567-578. doi:10.2307/2533958

    B. Efron (1987), "Better bootstrap confidence intervals", Journal of the American Statistical
    Association 82(397), 171-185. doi:10.1080/01621459.1987.10478410

    D. K. McClish (1989), "Analyzing a portion of the ROC curve", Medical Decision Making 9(3),
    190-195. doi:10.1177/0272989X8900900307

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> areas = rf.auc(predictions, "label", "score")
    >>> areas.select("auc", "auc_pessimistic", "auc_optimistic", "n_pos", "n_neg", "note")
    shape: (1, 6)
    ┌──────┬─────────────────┬────────────────┬───────┬───────┬──────────────┐
    │ auc  ┆ auc_pessimistic ┆ auc_optimistic ┆ n_pos ┆ n_neg ┆ note         │
    │ ---  ┆ ---             ┆ ---            ┆ ---   ┆ ---   ┆ ---          │
    │ f64  ┆ f64             ┆ f64            ┆ i64   ┆ i64   ┆ str          │
    ╞══════╪═════════════════╪════════════════╪═══════╪═══════╪══════════════╡
    │ 0.75 ┆ 0.5             ┆ 1.0            ┆ 2     ┆ 1     ┆ one_negative │
    └──────┴─────────────────┴────────────────┴───────┴───────┴──────────────┘
    """
    # numpy loads with the first area, not with the package.
    from rocframe.areas.measure import measured
    from rocframe.areas.part import Part
    from rocframe.errors import OptionValueError
    from rocframe.inference.intervals import WHOLE, Confidence

    confidence = Confidence.of(ci, level, n_boot, seed)
    part = Part.of(fpr, tpr, standardize)
    if ci in WHOLE and part is not None:
        raise OptionValueError.of(
            "ci",
            ci,
            f"{WHOLE[ci]}'s interval is for whole areas",
            'Say ci="logit_delong", ci="delong" or ci="bootstrap" with fpr= or tpr=.',
        )
    for option, value in (("weight", weight), ("cluster", cluster)):
        if ci in WHOLE and value is not None:
            raise OptionValueError.of(
                "ci",
                ci,
                f"{WHOLE[ci]}'s variance is of rows that all weigh the same and stand for "
                "themselves",
                f'Say ci="logit_delong", ci="delong" or ci="bootstrap" with {option}=.',
            )
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

    def make(cases: Cases) -> pl.DataFrame:
        return measured(cases, part, confidence)

    areas = AUC if part is None else PARTIAL_AUC
    table = tabulated(predictions, roles, make, columns=area_schema(areas), anchor="n_pos")
    return like(predictions, table)
