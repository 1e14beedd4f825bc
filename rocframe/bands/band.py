"""The verb `band`: predictions → a band around each group's ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rocframe.bands.closed_form import binomial, kolmogorov_smirnov, threshold, working_hotelling
from rocframe.bands.grid import Curves, at_rates, at_steps, parse_band_grid
from rocframe.bands.resampled import Redrawn, bootstrap, envelope, fixed_width
from rocframe.curves.curve import trace_curves
from rocframe.errors import OptionValueError, UnknownOptionError
from rocframe.frames import build_table, like
from rocframe.inference.confidence import notes, parse_level, parse_n_boot
from rocframe.inputs.node import tabulated
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import sort_rows
from rocframe.kernel.resample import BootstrapDraws, Seed, stream_keys
from rocframe.kernel.scan import Scan
from rocframe.options import NOT_GIVEN, check_choice
from rocframe.schemas import BAND
from rocframe.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from rocframe.bands.grid import Asked, Grid, Limits
    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


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
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Draw a band around the ROC curve of each group: limits of TPR at a grid of FPR.

    A `simultaneous` band holds the whole true curve with confidence `level`. A `pointwise` band
    holds it at one false positive rate, or at one threshold, with that confidence, and the whole
    curve far more rarely.

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
    method : str, default "kolmogorov_smirnov"
        Simultaneous: `"kolmogorov_smirnov"`, the default, which holds for any scores and any number
        of rows, moves the curve by the largest distances that both score distributions may have
        from the sample's; `"fixed_width"` moves it along one slope until the share `level` of
        resampled curves lies inside; `"envelope"` moves it further where these vary more;
        `"working_hotelling"` is around a binormal curve fitted by maximum likelihood. Pointwise:
        `"bootstrap"`, quantiles of resampled curves at each FPR; `"binomial"`, Wilson's limits of
        TPR as if the threshold of each FPR were known; `"threshold"`, Wilson's limits of TPR and of
        FPR, each at `level`, at each threshold.
    level : float, default 0.95
        Confidence level of the band, between 0 and 1.
    grid : int, sequence of float or str, default 101
        Where: a number of FPRs, evenly from 0 to 1; a list of them; or `"curve"`, those of the
        group's own curve. `"threshold"` takes the lowest threshold that keeps to each FPR.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the random draws, a whole number >= 0. None: a new seed in every call. The draws of
        a group depend only on the seed and the group's key.
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
    level = parse_level(level)
    wanted = Wanted(method=method_named(method, weight), level=level, grid=parse_band_grid(grid))
    draws = partial(BootstrapDraws, n_boot=parse_n_boot("n_boot", n_boot), seed=Seed.parse(seed))
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

    table = tabulated(predictions, roles, make, columns=BAND.columns(), anchor="band")
    return like(predictions, table)


WORKED_OUT: dict[str, Callable[[Curves, Asked, float], Limits]] = {
    "kolmogorov_smirnov": kolmogorov_smirnov,
    "working_hotelling": working_hotelling,
    "binomial": binomial,
    "threshold": threshold,
}

DRAWN: dict[str, Callable[[Curves, Asked, float, Redrawn], Limits]] = {
    "bootstrap": bootstrap,
    "fixed_width": fixed_width,
    "envelope": envelope,
}


def banded(cases: Cases, wanted: Wanted, draws: Callable[..., BootstrapDraws]) -> pl.DataFrame:
    """Return a row per group and point: the group's key, then the columns of a band table."""
    method, level = wanted.method, wanted.level
    walk = Scan.from_rows(sort_rows(cases))
    curves = Curves.of(trace_curves(walk))
    asked = (at_steps if method.name == "threshold" else at_rates)(curves, wanted.grid)
    if method.drawn:
        keys = stream_keys(walk.rows.keys, cases.model)
        redrawn = Redrawn(walk=walk, draws=draws(keys=keys))
        limits = DRAWN[method.name](curves, asked, level, redrawn)
    else:
        limits = WORKED_OUT[method.name](curves, asked, level)
    columns: dict[str, Any] = {
        "fpr": asked.fpr,
        "tpr": limits.tpr,
        "fpr_lower": limits.fpr_lower,
        "fpr_upper": limits.fpr_upper,
        "lower": limits.lower,
        "upper": limits.upper,
        "ci_level": level,
        "scope": method.scope,
        "band": method.name,
        "note": list(_notes(curves, limits)[asked.group]),
    }
    return build_table(walk.rows.keys, columns, BAND.columns(), rows=asked.group)


def _notes(curves: Curves, limits: Limits) -> NDArray[np.object_]:
    """Say of each group which class it lacks, or else what its method says."""
    said = notes(curves.n_pos, curves.n_neg, None)
    whole = curves.whole
    said[whole] = None if limits.notes is None else limits.notes[whole]
    return said


Scope: TypeAlias = Literal["pointwise", "simultaneous"]

MethodName: TypeAlias = Literal[
    "kolmogorov_smirnov",
    "fixed_width",
    "envelope",
    "working_hotelling",
    "bootstrap",
    "binomial",
    "threshold",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """What a band promises: one point at a time, or the whole curve at once.

    `drawn` bands are made of resampled curves; only these take weighted rows.
    """

    name: MethodName
    scope: Scope
    drawn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the caller wants of a band; `grid` is None for the points of each curve."""

    method: Method
    level: float
    grid: tuple[float, ...] | None


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name="kolmogorov_smirnov", scope="simultaneous"),
        Method(name="fixed_width", scope="simultaneous", drawn=True),
        Method(name="envelope", scope="simultaneous", drawn=True),
        Method(name="working_hotelling", scope="simultaneous"),
        Method(name="bootstrap", scope="pointwise", drawn=True),
        Method(name="binomial", scope="pointwise"),
        Method(name="threshold", scope="pointwise"),
    )
}


def method_named(name: str, weight: Column | None) -> Method:
    """Return the method of this name, if it can do what is asked of it."""
    if name is None:
        raise UnknownOptionError.of("method", name, METHODS)
    check_choice("method", name, METHODS)
    method = METHODS[name]
    if weight is not None and not method.drawn:
        drawn = [other.name for other in METHODS.values() if other.drawn]
        raise OptionValueError.of(
            "weight",
            weight,
            f"the band {name!r} has no form for weighted rows",
            f"Choose one of: {listed(drawn)}; or say count= if a row stands for several.",
        )
    return method
