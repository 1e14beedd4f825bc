"""The verb `band`: predictions → a band around each group's ROC curve."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rocframe.bands.grid import as_grid
from rocframe.bands.methods import Wanted, method_named
from rocframe.frames import like
from rocframe.predictions import Roles
from rocframe.tabulate import tabulated
from rocframe.vocabulary import band_schema

if TYPE_CHECKING:
    import polars as pl

    from rocframe.bands.grid import Grid
    from rocframe.bands.methods import MethodName
    from rocframe.cases import Cases
    from rocframe.frames import FrameT
    from rocframe.predictions import By, Column, Count, Missing, Scores


def band(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    method: MethodName = "kolmogorov_smirnov",
    level: float = 0.95,
    grid: Grid = 101,
    n_boot: int = 2000,
    seed: int | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Draw a band around the ROC curve of each group: limits of TPR at a grid of FPR.

    A `simultaneous` band holds the whole true curve with confidence `level`. A `pointwise` band
    holds it at one false positive rate, or at one threshold, with that confidence, and the whole
    curve far more rarely.

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
    method
        Simultaneous: `"kolmogorov_smirnov"`, the default, which holds for any scores and any
        number of rows, moves the curve by the largest distances that both score distributions
        may have from the sample's; `"fixed_width"` moves it along one slope until the share
        `level` of resampled curves lies inside; `"envelope"` moves it further where these vary
        more; `"working_hotelling"` is around a binormal curve fitted by maximum likelihood.
        Pointwise: `"bootstrap"`, quantiles of resampled curves at each FPR; `"binomial"`,
        Wilson's limits of TPR as if the threshold of each FPR were known; `"threshold"`, Wilson's
        limits of TPR and of FPR, each at `level`, at each threshold.
    level
        Share of bands that hold, between 0 and 1.
    grid
        Where: a number of FPRs, evenly from 0 to 1; a list of them; or `"curve"`, those of the
        group's own curve. `"threshold"` takes the lowest threshold that keeps to each FPR.
    n_boot
        How many resamples the bootstrap draws.
    seed
        Whole number from 0 that fixes what is drawn; None draws anew each time. What a group draws
        depends on the seed and its key only.
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
        `*by`, (`model`,) `fpr, tpr, fpr_lower, fpr_upper, lower, upper, ci_level, scope, band,
        note`; a row per group and point, sorted by group and rising `fpr`. All rates are Float64
        in [0, 1]. `tpr` is the height of the curve at `fpr`, straight between its points and the
        upper end of a jump; of `"working_hotelling"` it is that of the fitted curve. `lower` and
        `upper` are the limits of TPR; `fpr_lower` and `fpr_upper` those of FPR, null but for
        `"threshold"`. `scope` (String) is `pointwise` or `simultaneous`, `band` (String) the
        method. A group without one of the classes keeps its points, or one row where they would
        be its own, with null `tpr` and limits. `note` (String) is null, or the first that applies
        of `no_rows, no_positives, no_negatives, one_positive, one_negative, zero_variance,
        no_solution`: with one row of a class, or none that another draw would change, resampling
        shows no spread, and a binormal likelihood need not have a maximum.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite; if rows are weighted and the method has no form for that.

    See Also
    --------
    auc : The area under each curve, and its interval.

    References
    ----------
    G. Campbell (1994), "Advances in statistical methodology for the evaluation of diagnostic and
    laboratory tests", Statistics in Medicine 13(5-7), 499-508. doi:10.1002/sim.4780130513

    G. Ma, W. J. Hall (1993), "Confidence bands for receiver operating characteristic curves",
    Medical Decision Making 13(3), 191-197. doi:10.1177/0272989X9301300304

    S. A. Macskassy, F. Provost, S. Rosset (2005), "ROC confidence bands: an empirical
    evaluation", Proceedings of the 22nd International Conference on Machine Learning, 537-544.
    doi:10.1145/1102351.1102419

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> limits = rf.band(predictions, "label", "score", method="binomial", grid=[0, 0.5, 1])
    >>> limits.select("fpr", "tpr", "lower", "upper", "scope")
    shape: (3, 5)
    ┌─────┬──────┬──────────┬──────────┬───────────┐
    │ fpr ┆ tpr  ┆ lower    ┆ upper    ┆ scope     │
    │ --- ┆ ---  ┆ ---      ┆ ---      ┆ ---       │
    │ f64 ┆ f64  ┆ f64      ┆ f64      ┆ str       │
    ╞═════╪══════╪══════════╪══════════╪═══════════╡
    │ 0.0 ┆ 0.5  ┆ 0.094531 ┆ 0.905469 ┆ pointwise │
    │ 0.5 ┆ 0.75 ┆ 0.197867 ┆ 0.973323 ┆ pointwise │
    │ 1.0 ┆ 1.0  ┆ 0.34238  ┆ 1.0      ┆ pointwise │
    └─────┴──────┴──────────┴──────────┴───────────┘
    """
    # numpy loads with the first band, not with the package.
    from rocframe.bands.made import banded
    from rocframe.counting.draws import Seed
    from rocframe.counting.resample import Draws
    from rocframe.inference.intervals import as_level, as_resamples

    level = as_level(level)
    wanted = Wanted(method=method_named(method, weight), level=level, grid=as_grid(grid))
    draws = partial(Draws, n_boot=as_resamples("n_boot", n_boot), seed=Seed.of(seed))
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )

    def make(cases: Cases) -> pl.DataFrame:
        return banded(cases, wanted, draws)

    table = tabulated(predictions, roles, make, columns=band_schema(), anchor="band")
    return like(predictions, table)
