"""The verb `auc_test`: predictions → a test of each group's AUC against chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.areas.pairs import count_pairs
from rocframe.areas.variance import Clusters, auc_variance
from rocframe.errors import OptionValueError
from rocframe.frames import build_table, like
from rocframe.inference.confidence import notes
from rocframe.inference.p_values import (
    adjust_p_values,
    check_adjust,
    check_alternative,
    normal_p_value,
)
from rocframe.inputs.node import tabulated
from rocframe.inputs.roles import Roles
from rocframe.kernel.exact import scale_to_unit
from rocframe.kernel.groups import sort_rows
from rocframe.kernel.resample import Seed, stream_keys
from rocframe.kernel.scan import Scan
from rocframe.options import NOT_GIVEN, check_choice, share, whole
from rocframe.schemas import AUC_TEST
from rocframe.significance.permutation import Margins, Permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inference.p_values import Adjust, Alternative
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


def auc_test(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    null: float = 0.5,
    method: Method = "delong",
    alternative: Alternative = "two-sided",
    adjust: Adjust | None = "holm",
    n_perm: int = 9_999,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Test whether the AUC of each group is another than chance, or than any given area.

    The p-value says how likely an area at least as far from `null` is where the true area is
    `null`. It says nothing about how much better than chance a model is: for that see the
    interval of `auc`.

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
    null : float, default 0.5
        Area under the null hypothesis, between 0 and 1. 0.5 is chance.
    method : str, default "delong"
        `"delong"`, the difference over DeLong's standard error, for any `null`; or, for chance
        alone, `"permutation"`, dealing out the labels of a group anew, and `"mann_whitney"`, the
        normal limit of that. These two need rows that are exchangeable.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        Alternative hypothesis: the true area differs from the null (`"two-sided"`), is larger
        (`"greater"`) or is smaller (`"less"`).
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of a family of tests: `"holm"` controls the probability of at
        least one false rejection, `"bh"` (Benjamini and Hochberg) the expected share of false
        rejections. None: no adjustment.
    n_perm : int, default 9999
        Number of random permutations. If a group has at most this many permutations, all of them
        are used and its p-value is exact. Otherwise the smallest possible p-value is 1 / (1 +
        n_perm).
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
        `*by`, (`model`,) `auc, p_value, p_adjusted, null, se, statistic, n_pos, n_neg, n_missing,
        test, note`; a row per group, sorted by group. `p_adjusted` is adjusted over the whole
        result. `statistic` is the difference of `auc` and `null` over `se`: DeLong's standard
        error, or that of an area by chance, ties allowed for. The three counts (Int64) are of rows,
        `count` included, also where rows are weighted; all else are Float64, but for the last two
        (String). `test` is `method`, or `permutation_exact`; it is never null. Without positives or
        without negatives `auc` and all that follows from it is null; under `"delong"` the p-value
        is null too where a class has one row or where the variance is 0, say at an AUC of 1. Where
        the variance is 0 and `auc` equals `null`, as for constant scores, the p-value is 1. `note`
        is null, or the first that applies of `no_rows, no_positives, no_negatives, one_positive,
        one_negative, zero_variance`.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite.
    OptionValueError
        If `null` is no area, or not 1/2 where labels are dealt out; if they are, and rows have
        weights or `missing` is `"worst"`; if `n_perm` or `seed` is no whole number.

    See Also
    --------
    auc : The areas, with intervals.
    compare : Test the difference of two models.
    power : Plan how likely such a test is to find what is there.

    Notes
    -----
    Two-sided permutation p-values compare distances from 1/2. Adjusted p-values depend on every
    group, so in a lazy plan no filter on groups is passed down to the predictions.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or
    more correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    H. B. Mann, D. R. Whitney (1947), "On a test of whether one of two random variables is
    stochastically larger than the other", Annals of Mathematical Statistics 18(1), 50-60.
    doi:10.1214/aoms/1177730491

    B. Phipson, G. K. Smyth (2010), "Permutation p-values should never be zero", Statistical
    Applications in Genetics and Molecular Biology 9(1), article 39. doi:10.2202/1544-6115.1585

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 1, 0, 0], "score": [0.9, 0.7, 0.7, 0.1]})
    >>> tests = rf.auc_test(predictions, "label", "score", method="permutation")
    >>> tests.select("auc", "p_value", "null", "test")
    shape: (1, 4)
    ┌───────┬──────────┬──────┬───────────────────┐
    │ auc   ┆ p_value  ┆ null ┆ test              │
    │ ---   ┆ ---      ┆ ---  ┆ ---               │
    │ f64   ┆ f64      ┆ f64  ┆ str               │
    ╞═══════╪══════════╪══════╪═══════════════════╡
    │ 0.875 ┆ 0.666667 ┆ 0.5  ┆ permutation_exact │
    └───────┴──────────┴──────┴───────────────────┘
    """
    # numpy loads with the first test, not with the package.
    check_choice("method", method, ("delong", "permutation", "mann_whitney"))
    check_alternative(alternative)
    check_adjust(adjust)
    question = Question(
        null=share("null", null, "an area is between 0 and 1", "Give, say, null=0.5."),
        method=method,
        alternative=alternative,
        n_perm=whole("n_perm", n_perm, most=10**9),
        seed=Seed.parse(seed),
    )
    if method != "delong":
        _check_exchangeable(question.null, method, weight, cluster, missing)
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
        return auc_test_table(cases, question)

    table = tabulated(
        predictions,
        roles,
        make,
        columns=AUC_TEST.columns(),
        anchor="n_pos",
        finish=lambda tests: with_adjusted(tests, adjust),
    )
    return like(predictions, table)


def _check_exchangeable(
    null: float, method: str, weight: Column | None, cluster: Column | None, missing: str
) -> None:
    """Check that labels can be dealt out anew among the rows."""
    todo = f'Leave it out, or say method="delong" instead of {method!r}.'
    if null != 0.5:
        wrong = "dealing out labels anew is what a model by chance does, whose area is 0.5"
        raise OptionValueError.of("null", null, wrong, todo)
    if weight is not None:
        wrong = "labels cannot be dealt out anew among rows of different weight"
        raise OptionValueError.of("weight", weight, wrong, todo)
    if cluster is not None:
        wrong = "labels cannot be dealt out anew among rows that belong together"
        raise OptionValueError.of("cluster", cluster, wrong, todo)
    if missing == "worst":
        wrong = "what an unscored row counts for depends on its label, which is dealt out anew"
        raise OptionValueError.of("missing", missing, wrong, todo)


Method = Literal["delong", "permutation", "mann_whitney"]

ROUNDING = 1e-12  # of an area: weighted ones differ by less where they are equal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is asked of each group's area, and how it is answered."""

    null: float
    method: Method
    alternative: Alternative
    n_perm: int
    seed: Seed


def auc_test_table(cases: Cases, question: Question) -> pl.DataFrame:
    """Return one row per group: its key, then the columns of a table of tests."""
    if cases.weight is not None:
        (weight,) = scale_to_unit(cases.weight)
        cases = replace(cases, weight=weight)
    walk = Scan.from_rows(sort_rows(cases, follow=cases.cluster is not None))
    n_pos, n_neg = walk.totals.pos_rows, walk.totals.neg_rows
    pairs = count_pairs(walk)
    area = pairs.areas[0]
    by_ranks = question.method != "delong"
    margins = Margins.of(walk) if by_ranks else None
    units = n_pos, n_neg
    if margins is not None:
        variance = margins.null_variance(n_pos, n_neg)
    else:
        clusters = None if cases.cluster is None else Clusters.of(walk, cases.cluster)
        variance = auc_variance(walk, pairs, clusters, cases.weight)
        units = units if clusters is None else clusters.sizes[:2]
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    statistic = (area - question.null) / se
    p = normal_p_value(statistic, question.alternative)
    test = np.full(len(p), question.method, object)
    if margins is not None and question.method == "permutation":
        which = np.flatnonzero(variance > 0)
        permutation = Permutation.of(margins, pairs, which, question.alternative)
        keys = stream_keys(walk.rows.keys, cases.model)
        p[which], exact = permutation.p_values(question.n_perm, question.seed, keys)
        test[which[exact]] = "permutation_exact"
    # Without any spread an area is either the one asked about, or nothing can be said.
    same = (variance == 0) & (np.abs(area - question.null) < ROUNDING)
    statistic[same], p[same] = 0, 1
    found: dict[str, Any] = {
        "n_pos": n_pos,
        "n_neg": n_neg,
        "n_missing": walk.rows.unscored.n_missing,
        "auc": area,
        "null": question.null,
        "se": se,
        "statistic": statistic,
        "p_value": p,
        "p_adjusted": p,
        "test": list(test),
        "note": list(_notes(*units, variance, by_ranks)),
    }
    return build_table(walk.rows.keys, found, AUC_TEST.columns())


def _notes(
    n_pos: NDArray[np.int64],
    n_neg: NDArray[np.int64],
    variance: NDArray[np.float64],
    by_ranks: bool,
) -> NDArray[np.object_]:
    """Say what keeps a group from having all its numbers."""
    found = notes(n_pos, n_neg, variance)
    if by_ranks:  # which one row of a class is enough for
        single = (found == "one_positive") | (found == "one_negative")
        found[single] = None
        found[single & (variance == 0)] = "zero_variance"
    return found


def with_adjusted(table: pl.DataFrame, adjust: Adjust | None) -> pl.DataFrame:
    """Adjust the p-values over all groups and models."""
    p = table["p_value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    found = adjust_p_values(p, np.zeros(len(p)), adjust)
    return table.with_columns(pl.Series("p_adjusted", found, nan_to_null=True))
