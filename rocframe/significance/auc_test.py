"""The function `auc_test`: tests of an AUC against chance or against a given area."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rocframe.areas.pairs import count_pairs
from rocframe.areas.variance import Clusters, auc_variance_parts, class_sizes
from rocframe.frames import as_input_frame, build_table
from rocframe.inference.confidence import AREA_ROUNDING
from rocframe.inference.notes import (
    MIN_AREA_UNITS,
    absent_classes,
    class_notes,
    few_rows,
    first_notes,
)
from rocframe.inference.p_values import (
    adjust_table,
    check_adjust,
    check_alternative,
    normal_p_value,
)
from rocframe.inputs.node import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import scale_weights
from rocframe.kernel.resample import Seed, stream_keys
from rocframe.kernel.scan import Scan
from rocframe.options import (
    NOT_GIVEN,
    check_choice,
    check_supported,
    is_text,
    parse_fraction,
    parse_integer,
    public,
)
from rocframe.schemas.areas import AUC_TEST
from rocframe.significance.permutation import CenteredRanks, permutation_p_values

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inference.p_values import Adjust, Alternative
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


@public
def auc_test(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    null: float = 0.5,
    method: AucTestMethod | None = None,
    alternative: Alternative = "two-sided",
    adjust: Adjust | None = "holm",
    n_perm: int = 9_999,
    seed: int | None = None,
    best_of: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Test whether the AUC of each group differs from chance, or from a given area.

    The p-value is the probability that the estimated area is at least as far from `null` as
    observed, if the true area is `null`. The p-value does not measure how much better than chance a
    model is; the interval of `auc` does.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    by : str or sequence of str, default None
        Group columns; null is a group.
    null : float, default 0.5
        AUC that the null hypothesis assumes, between 0 and 1. 0.5 is chance.
    method : str, default None
        Test of the AUC. `"mann_whitney"` and `"permutation"` require `null=0.5`, and do not support
        `weight`, `cluster` and `missing="worst"`.

        - `"mann_whitney"`: the Mann-Whitney test, which is the normal approximation of the
          permutation test.
        - `"permutation"`: a test that permutes the labels of a group.
        - `"delong_t"`: the test of Brunner and Munzel. The statistic is the area minus `null`,
          divided by DeLong's standard error. It is compared with a t distribution.
        - `"delong"`: a z test with the same statistic. With few rows of a class, it rejects a true
          null hypothesis too often.
        - None: `"mann_whitney"`. If `null` is not 0.5, or if `weight`, `cluster` or
          `missing="worst"` is given, None means `"delong_t"`.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        Alternative hypothesis: the true area differs from the null (`"two-sided"`), is larger
        (`"greater"`) or is smaller (`"less"`).
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of a family of tests. `"holm"` controls the probability of at
        least one false rejection. `"bh"` (Benjamini and Hochberg) controls the expected share of
        false rejections among all rejections. None: no adjustment.
    n_perm : int, default 9999
        Number of random permutations. If at most this many different permutations are possible in a
        group, all of them are used and the p-value is exact. Otherwise the smallest possible
        p-value is 1 / (1 + n_perm).
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
    best_of : int, default None
        Number of models from which the best model was selected, including models that are not in
        the table. The result then has columns that compare the AUC with the largest AUC of
        `best_of` models with random scores. Requires `alternative="greater"` and one of the methods
        `"mann_whitney"` and `"permutation"`.
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
        `*by`, (`model`,) `auc, p_adjusted, p_value, null, se, statistic, df, n_pos, n_neg,
        n_missing, test, note`; one row per group, sorted by group.

        - `p_adjusted` (Float64) is the p-value adjusted over all rows of the result.
        - `statistic` (Float64) is `auc - null` divided by `se`.
        - `se` (Float64) is DeLong's standard error for `"delong_t"` and `"delong"`. For the other
          methods, `se` is the standard deviation of the AUC over all permutations of the labels.
        - `df` (Float64) is the number of degrees of freedom for `"delong_t"`, and null for the
          other methods.
        - `n_pos`, `n_neg` and `n_missing` (Int64) are the numbers of positives, of negatives, and
          of rows with a missing value. A row counts `count` times; `weight` has no effect on these
          numbers.
        - `test` (String) is the name of the method, or `permutation_exact` if all permutations were
          used.

        With `best_of`, the columns `best_of` (Int64), `auc_by_chance` (Float64) and `p_best`
        (Float64) are left of `note`. `p_best` is the probability that the largest AUC of
        `best_of` models with independent random scores is at least `auc`. `auc_by_chance` is the
        expected value of this largest AUC. Both are null if `p_value` is null.

        `auc`, `se`, `statistic` and the p-values are null if a class has no rows. With the methods
        `"delong_t"` and `"delong"`, all of these except `auc` are also null if a class has only one
        row or only one cluster.

        If the variance is 0, `se` and `df` are null. The other values then depend on the null
        hypothesis. If `auc` equals the area of the null hypothesis, `statistic` is 0 and the
        p-value is 1. An example is constant scores with `null=0.5`. If the two areas differ,
        `statistic` and the p-values are null. An example is an AUC of 1 with `"delong_t"`.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, zero_variance`, `few_rows:3`. `few_rows:3` means
        that the smaller class has only 3 rows or clusters. With fewer than 10, the tests
        `"delong_t"` and `"delong"` reject a true null hypothesis too often. With `cluster`, the
        note of a class in a single cluster is `one_positive_cluster` or `one_negative_cluster`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.
    OptionValueError
        If `null` is not between 0 and 1, or if `n_perm`, `seed` or `best_of` is not a whole number.
        This error is also raised if the method or the alternative does not support `null`,
        `weight`, `cluster`, `missing="worst"` or `best_of`.

    See Also
    --------
    auc : The areas, with intervals.
    compare : Test the difference of two models.
    power : Compute the power of a test.

    Notes
    -----
    A two-sided permutation test counts the permutations whose AUC is at least as far from 1/2 as
    the observed AUC.

    `p_best` is 1 - (1 - `p_value`)^N for N = `best_of` models. In `auc_test`, the scores of a
    random classifier are the scores of the data in a random order. A random classifier therefore
    has the same ties as the data. Forman (2002) instead compares the best classifier with simple
    classifiers that are generated at random. `auc_by_chance` is exact if all permutations were
    enumerated. Otherwise, the AUC of a random classifier is assumed to be normal with the standard
    deviation `se`, and limited to values from 0 to 1. If the scores of the models are positively
    correlated, the largest AUC by chance is smaller than for independent scores, and `p_best` is
    too large (conservative).

    References
    ----------
    E. Brunner, U. Munzel (2000), "The nonparametric Behrens-Fisher problem: asymptotic theory and a
    small-sample approximation", Biometrical Journal 42(1), 17-25.
    doi:10.1002/(SICI)1521-4036(200001)42:1<17::AID-BIMJ17>3.0.CO;2-U

    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or
    more correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    G. Forman (2002), "A method for discovering the insignificance of one's best classifier and the
    unlearnability of a classification task", HP Laboratories, technical report HPL-2002-123.

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

    The best of ten models with random scores has an expected AUC of 0.868 on these four rows:

    >>> best = rf.auc_test(
    ...     predictions,
    ...     "label",
    ...     "score",
    ...     method="permutation",
    ...     alternative="greater",
    ...     best_of=10,
    ... )
    >>> best.select("auc", "p_value", "p_best", "auc_by_chance")
    shape: (1, 4)
    ┌───────┬──────────┬──────────┬───────────────┐
    │ auc   ┆ p_value  ┆ p_best   ┆ auc_by_chance │
    │ ---   ┆ ---      ┆ ---      ┆ ---           │
    │ f64   ┆ f64      ┆ f64      ┆ f64           │
    ╞═══════╪══════════╪══════════╪═══════════════╡
    │ 0.875 ┆ 0.333333 ┆ 0.982658 ┆ 0.868491      │
    └───────┴──────────┴──────────┴───────────────┘
    """
    options = AucTestOptions.parse(
        null=null,
        method=method,
        alternative=alternative,
        adjust=adjust,
        n_perm=n_perm,
        seed=seed,
        best_of=best_of,
        weight=weight,
        cluster=cluster,
        missing=missing,
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
    table = plan_table(
        predictions,
        roles,
        lambda cases: auc_test_table(cases, options),
        columns=AUC_TEST.columns(options.best_of),
        anchor="n_pos",
        finish=lambda tests: adjust_table(tests, options.adjust),
    )
    return as_input_frame(predictions, table)


AucTestMethod = Literal["delong_t", "delong", "permutation", "mann_whitney"]
DELONG_METHODS: tuple[AucTestMethod, ...] = ("delong_t", "delong")
MAX_MODELS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucTestOptions:
    """The options of `auc_test` after they were checked."""

    null: float
    method: AucTestMethod
    alternative: Alternative
    adjust: Adjust | None
    n_perm: int
    seed: Seed
    best_of: int | None

    @classmethod
    def parse(
        cls,
        *,
        null: float,
        method: AucTestMethod | None,
        alternative: Alternative,
        adjust: Adjust | None,
        n_perm: int,
        seed: int | None,
        best_of: int | None,
        weight: Column | None,
        cluster: Column | None,
        missing: Missing,
    ) -> AucTestOptions:
        """Check the options; raise an error if the method does not support weights or clusters."""
        check_choice("method", method, (*get_args(AucTestMethod), None))
        check_alternative(alternative)
        check_adjust(adjust)
        null = parse_fraction("null", null, example=0.5)
        # All methods except DeLong's assume that each assignment of the labels to the rows is
        # equally likely. For weighted or clustered rows, this is not the case.
        values = {
            "null": None if null == 0.5 else null,
            "missing": missing if is_text(missing, "worst") else None,
        }
        delong_options = {"weight": weight, "cluster": cluster, **values}
        if method is None:
            is_plain = all(value is None for value in delong_options.values())
            method = "mann_whitney" if is_plain else "delong_t"
        for name, value in delong_options.items():
            check_supported(
                name,
                value,
                f"method={method!r}",
                supported=method in DELONG_METHODS,
                noun="value" if name in values else "option",
                hint=f'Omit {name}=, or use method="delong_t".',
            )
        check_supported(
            "best_of",
            best_of,
            f"method={method!r}",
            supported=method not in DELONG_METHODS,
            hint='Use method="mann_whitney" or method="permutation". These methods do not support '
            'null=, weight=, cluster= or missing="worst".',
        )
        check_supported(
            "best_of",
            best_of,
            f"alternative={alternative!r}",
            supported=alternative == "greater",
            hint='Use alternative="greater".',
        )
        return cls(
            null=null,
            method=method,
            alternative=alternative,
            adjust=adjust,
            n_perm=parse_integer("n_perm", n_perm, high=10**9),
            seed=Seed.parse(seed),
            best_of=None
            if best_of is None
            else parse_integer("best_of", best_of, high=MAX_MODELS, example=40),
        )


def auc_test_table(cases: Cases, options: AucTestOptions) -> pl.DataFrame:
    """Return the result of `auc_test` for the cases of one model, with unadjusted p-values."""
    cases = scale_weights(cases, by_class=True)
    scan = Scan.from_cases(cases)
    n_pos, n_neg = scan.totals.pos_rows, scan.totals.neg_rows
    clusters = None if cases.cluster is None else Clusters.from_scan(scan, cases.cluster)
    pairs = count_pairs(scan)
    auc = pairs.areas[0]
    sizes, df = class_sizes(scan, clusters), None
    ranks = None if options.method in DELONG_METHODS else CenteredRanks.from_scan(scan)
    if ranks is not None:
        variance = ranks.null_variance(n_pos, n_neg)
    else:
        parts = auc_variance_parts(scan, pairs, clusters, cases.weight)
        variance = parts.total
        if options.method == "delong_t":
            df = parts.df(sizes, n_pos + n_neg if clusters is None else clusters.sizes[2])
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    statistic = (auc - options.null) / se
    p_value = normal_p_value(statistic, options.alternative, df)
    test = np.full(len(auc), options.method, object)
    best_auc = np.full(len(auc), np.nan)
    if options.best_of is not None:
        best_auc = expected_best_auc(np.sqrt(variance), options.best_of)
    if ranks is not None and options.method == "permutation":
        defined = np.flatnonzero(variance > 0)
        permuted = permutation_p_values(
            ranks,
            pairs,
            defined,
            options.alternative,
            n_perm=options.n_perm,
            seed=options.seed,
            keys=stream_keys(scan.rows.keys, cases.model),
            best_of=options.best_of,
        )
        p_value[defined] = permuted.p_value
        test[defined[permuted.exact]] = "permutation_exact"
        best_auc[defined[permuted.exact]] = permuted.best_auc[permuted.exact]
    # If the variance is 0, the test is defined only if the area equals the area under the null
    # hypothesis.
    equal = (variance == 0) & (np.abs(auc - options.null) < AREA_ROUNDING)
    statistic[equal], p_value[equal] = 0, 1
    zero_variance = variance == 0
    if ranks is None:
        too_few = few_rows(*sizes, MIN_AREA_UNITS)
        note = class_notes(
            *sizes,
            clustered=clusters is not None,
            zero_variance=zero_variance,
            few_rows=too_few,
        )
    else:  # the permutation and Mann-Whitney tests need only one row of each class
        note = first_notes(absent_classes(*sizes) | {"zero_variance": zero_variance})
    columns: dict[str, Any] = {
        "n_pos": n_pos,
        "n_neg": n_neg,
        "n_missing": scan.rows.unscored.n_missing,
        "auc": auc,
        "null": options.null,
        "se": se,
        "statistic": statistic,
        "df": np.full(len(auc), np.nan) if df is None else df,
        "p_value": p_value,
        "p_adjusted": p_value,
        "p_best": best_p_value(p_value, options.best_of),
        "auc_by_chance": best_auc,
        "best_of": options.best_of,
        "test": list(test),
        "note": list(note),
    }
    return build_table(scan.rows.keys, columns, AUC_TEST.columns(options.best_of))


def best_p_value(p_value: NDArray[np.float64], best_of: int | None) -> NDArray[np.float64]:
    """Return the probability that the smallest of `best_of` independent p-values is at most this.

    1 - (1 - p)^N is computed without the loss of digits for small p.
    """
    with np.errstate(divide="ignore"):  # for p = 1
        result: NDArray[np.float64] = -np.expm1((best_of or 1) * np.log1p(-p_value))
    return result


def expected_best_auc(se: NDArray[np.float64], best_of: int) -> NDArray[np.float64]:
    """Return the expected largest area of `best_of` models with random scores.

    An area is assumed to be normal with mean 1/2 and standard deviation `se`, and limited to values
    from 0 to 1.
    """
    from scipy.special import log_ndtr

    # The expected value of the maximum z of N standard normal variables that are limited to
    # [-c, c] is c minus the integral of Φ(z)^N from -c to c. It is constant for c > 12.
    z = np.linspace(0, 12, 12_001)
    distribution = np.exp(best_of * log_ndtr(z)) + np.exp(best_of * log_ndtr(-z))
    steps = (distribution[1:] + distribution[:-1]) / 2 * np.diff(z)
    maximum = z - np.append(0, np.cumsum(steps))
    with np.errstate(divide="ignore"):  # for constant scores
        limit = 0.5 / se
    result: NDArray[np.float64] = 0.5 + se * np.interp(limit, z, maximum)
    return result
