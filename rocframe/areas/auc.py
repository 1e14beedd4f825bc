"""The verb `auc`: predictions → the area under each group's ROC curve, and its interval."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.areas.pairs import Pairs, count_pairs, delong_variance, doubled_placements
from rocframe.areas.partial import Part, partial_areas, partial_placements, partial_variance
from rocframe.areas.variance import (
    AUC_STATISTIC,
    Clusters,
    hanley_mcneil_exponential_variance,
    hanley_mcneil_variance,
    partial_auc_statistic,
)
from rocframe.errors import OptionValueError
from rocframe.frames import build_table, like
from rocframe.inference.bootstrap import BOOTSTRAPS, bootstrap_intervals
from rocframe.inference.confidence import (
    WHOLE_AREA_METHODS,
    Confidence,
    Interval,
    area_interval,
    notes,
    replace_degenerate_limits,
)
from rocframe.inputs.node import tabulated
from rocframe.inputs.roles import Roles
from rocframe.kernel.exact import scaled
from rocframe.kernel.groups import arrange
from rocframe.kernel.resample import Draws, stream_keys
from rocframe.kernel.scan import Walk
from rocframe.options import NOT_GIVEN
from rocframe.schemas import AUC_NAMES, PARTIAL_AUC_NAMES, auc_columns

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.partial import Range
    from rocframe.frames import FrameT
    from rocframe.inference.bootstrap import Statistic
    from rocframe.inference.confidence import Method
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


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
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Measure the area under the ROC curve of each group, with its interval.

    The area is the chance that a positive has a higher score than a negative, a tie counting
    half: (2·wins + ties) / (2·positives·negatives), in whole numbers. `auc_pessimistic` and
    `auc_optimistic` are what it would be with all negatives, or all positives, of every tie
    first.

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
        names to columns compares several models side by side. It adds the key `model` (String)
        after `by`.
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
    ci : str or None, default "logit_delong"
        Method of the interval: `"logit_delong"`, DeLong's variance on the logit scale; `"delong"`,
        the same as a Wald interval, clipped to [0, 1]; for whole areas also `"newcombe"`,
        `"hanley_mcneil"` (the Wald interval of their variance) and `"hanley_mcneil_exponential"`
        (its shortcut, which knows nothing but the area); quantiles of resamples, `"bootstrap"`, or
        these turned about the estimate, `"bootstrap_basic"`, or corrected for bias and skewness,
        `"bootstrap_bca"`; None for no interval, which takes a tenth to a fifth less time.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the random draws, a whole number >= 0. None: a new seed in every call. The draws of
        a group depend only on the seed and the group's key.
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
    confidence = Confidence.of(ci, level, n_boot, seed)
    part = Part.of(fpr, tpr, standardize)
    if ci in WHOLE_AREA_METHODS and part is not None:
        raise OptionValueError.of(
            "ci",
            ci,
            f"{WHOLE_AREA_METHODS[ci]}'s interval is for whole areas",
            'Say ci="logit_delong", ci="delong" or ci="bootstrap" with fpr= or tpr=.',
        )
    for option, value in (("weight", weight), ("cluster", cluster)):
        if ci in WHOLE_AREA_METHODS and value is not None:
            raise OptionValueError.of(
                "ci",
                ci,
                f"{WHOLE_AREA_METHODS[ci]}'s variance assumes independent rows of equal weight",
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

    areas = AUC_NAMES if part is None else PARTIAL_AUC_NAMES
    table = tabulated(predictions, roles, make, columns=auc_columns(areas), anchor="n_pos")
    return like(predictions, table)


class Found(NamedTuple):
    """An interval of each group, the variance behind it, and resamples drawn again."""

    interval: Interval
    variance: NDArray[np.float64]
    lost: NDArray[np.int64] | None = None


def measured(cases: Cases, part: Part | None, confidence: Confidence) -> pl.DataFrame:
    """Return one row per group: its key, then the columns of an AUC table."""
    if cases.weight is not None:
        (weight,) = scaled(cases.weight)
        cases = replace(cases, weight=weight)
    walk = Walk.of(arrange(cases, follow=cases.cluster is not None))
    totals = walk.totals
    n_pos, n_neg = totals.pos_rows, totals.neg_rows
    area = part or count_pairs(walk)
    raw = area.areas if isinstance(area, Pairs) else partial_areas(walk, area)
    shown = (lambda area: area) if part is None else part.shown
    columns: dict[str, Any] = {
        "n_pos": n_pos,
        "n_neg": n_neg,
        "n_missing": walk.rows.tails.n_missing,
        **dict(zip(AUC_NAMES if part is None else PARTIAL_AUC_NAMES, map(shown, raw), strict=True)),
    }
    units, found = (n_pos, n_neg), None
    if confidence.ci is not None:
        clusters = None if cases.cluster is None else Clusters.of(walk, cases.cluster)
        units = units if clusters is None else clusters.sizes[:2]
        if confidence.ci in BOOTSTRAPS:
            found = _resampled(
                walk,
                AUC_STATISTIC if part is None else partial_auc_statistic(part),
                Draws(
                    n_boot=confidence.n_boot,
                    seed=confidence.seed,
                    keys=stream_keys(walk.rows.keys, cases.model),
                    cluster=cases.cluster,
                ),
                confidence,
                area=raw[0],
                units=units,
                whole=part is None,
            )
        else:
            variance = _variance(walk, area, clusters, cases.weight)
            interval = area_interval(
                confidence.ci,
                confidence.level,
                raw[0],
                variance=variance,
                n_pos=units[0],
                n_neg=units[1],
                own=_own_variance(walk, area, confidence.ci),
                largest=1.0 if part is None else part.b - part.a,
                whole=part is None,
            )
            found = Found(interval, variance)
        columns |= {
            "se": found.interval.se * (1.0 if part is None else part.slope),
            "lower": shown(found.interval.lower),
            "upper": shown(found.interval.upper),
            "ci_level": confidence.level,
            "ci_method": list(found.interval.method),
        }
    columns["note"] = list(notes(*units, *(found or (None, None))[1:]))
    schema = auc_columns(AUC_NAMES if part is None else PARTIAL_AUC_NAMES)
    return build_table(walk.rows.keys, columns, schema)


def _resampled(
    walk: Walk,
    statistic: Statistic,
    draws: Draws,
    confidence: Confidence,
    *,
    area: NDArray[np.float64],
    units: tuple[NDArray[np.int64], NDArray[np.int64]],
    whole: bool,
) -> Found:
    """Return the bootstrap's interval of each group's area."""
    spread = bootstrap_intervals(
        walk,
        statistic,
        area,
        draws,
        ci=str(confidence.ci),
        level=confidence.level,
        groups=(units[0] > 1) & (units[1] > 1),
    )
    variance = np.where(spread.constant, 0.0, spread.se**2)
    interval = replace_degenerate_limits(
        Interval(*spread[:3], np.full(len(area), confidence.ci, object)),
        confidence.level,
        area,
        variance=variance,
        n_pos=units[0],
        n_neg=units[1],
        whole=whole,
    )
    return Found(interval, variance, spread.n_redrawn)


def _variance(
    walk: Walk,
    area: Pairs | Part,
    clusters: Clusters | None,
    weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return DeLong's variance of each group's area, or Obuchowski's where there are clusters."""
    if clusters is not None:
        return _clustered_variance(walk, area, clusters, weight)
    if isinstance(area, Pairs):
        return delong_variance(walk, area)
    return partial_variance(walk, area)


def _own_variance(walk: Walk, area: Pairs | Part, ci: str) -> NDArray[np.float64] | None:
    """Return the variance of methods that have another one, which are for whole areas."""
    if isinstance(area, Pairs) and ci == "hanley_mcneil":
        return hanley_mcneil_variance(walk, area)
    if isinstance(area, Pairs) and ci == "hanley_mcneil_exponential":
        return hanley_mcneil_exponential_variance(area)
    return None


def _clustered_variance(
    walk: Walk, area: Pairs | Part, clusters: Clusters, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return Obuchowski's variance of each group's area."""
    if not isinstance(area, Pairs):
        return clusters.variance(partial_placements(walk, area), weight)
    scales = 2 * walk.totals.neg, 2 * walk.totals.pos
    return clusters.variance(doubled_placements(walk), weight, scales)
