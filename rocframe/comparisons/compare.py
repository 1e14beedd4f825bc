"""The verb `compare`: predictions of several models → how their areas differ, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from rocframe.comparisons.delong import Apart, paired, unpaired
from rocframe.comparisons.model_areas import batches
from rocframe.comparisons.model_pairs import Family, Measure, Question, comparison_table
from rocframe.comparisons.pairing import Pairing, cases_of_models, compared_by, read_instances
from rocframe.comparisons.resampling import permuted, resampled
from rocframe.errors import OptionValueError
from rocframe.inference.confidence import parse_level, parse_n_boot
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import RowGroups
from rocframe.kernel.resample import BootstrapDraws, Seed, stream_keys
from rocframe.options import NOT_GIVEN, check_choice, whole
from rocframe.schemas import MODEL, comparison_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.comparisons.model_areas import Batch
    from rocframe.comparisons.model_pairs import Comparison, Place, Whole
    from rocframe.comparisons.pairing import BoundPairs, Instances, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inference.p_values import Adjust, Alternative
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


def compare(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - the word users have for it
    by: By = None,
    baseline: object = None,
    method: Method = "delong",
    fpr: Place | None = None,
    tpr: Place | None = None,
    standardize: Literal["mcclish"] | None = None,
    margin: float | None = None,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    adjust: Adjust | None = "holm",
    family: Whole = "group",
    unmatched: Unmatched = "raise",
    n_boot: int = 2000,
    n_perm: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compare the areas under the ROC curves of every two models in each group.

    Two models that scored the same rows are compared row by row, which is far sharper than
    comparing their intervals. `id` says which rows of the two are the same; scores that stand
    side by side need none.

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
    baseline : str, default None
        The model that all others are compared with; without it every two are.
    method : str, default "delong"
        `"delong"`, from the variance of the difference on the same rows; `"delong_unpaired"`, for
        models that scored rows of their own: a t with Welch's degrees of freedom; `"bootstrap"`, of
        the same rows for both models, classes apart; `"permutation"`, which exchanges the ranks
        that the two gave; `"venkatraman"`, the same for whole curves: they may differ though their
        areas do not.
    fpr : float or (float, float), default None
        Range of the false positive rate, say `(0, 0.1)`, to compare partial areas over; or one
        false positive rate at which to compare true positive rates, by bootstrap.
    tpr : float or (float, float), default None
        Range of the true positive rate, or one at which to compare false positive rates.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that chance is 0.5 and the maximum is 1.
    margin : float, default None
        Tests non-inferiority, one-sided: whether `b` is worse than `a`, which `baseline` has to
        name, by less than this. A p-value below 0.05 goes with limits of `level=0.9`.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        `"two-sided"`, or `"greater"` or `"less"`: that `a` has the larger, or smaller, number.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of a family of tests: `"holm"` controls the probability of at
        least one false rejection, `"bh"` (Benjamini and Hochberg) the expected share of false
        rejections. None: no adjustment.
    family : {"group", "all"}, default "group"
        What one family of tests is: the pairs of a `"group"`, or `"all"` rows of the result.
    unmatched : {"raise", "drop"}, default "raise"
        Handling of instances that only one of the two models has: `"raise"` an error, or `"drop"`
        them and count them in `note`.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    n_perm : int, default 2000
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
        `*by`, `model_a, model_b, difference, lower, upper, p_value, p_adjusted, se, statistic, df,
        auc_a, auc_b, n_paired, ci_level, test, note`; a row per group and pair of models that both
        have rows there, sorted by these. `difference` is `auc_a - auc_b`. Limits are those of the
        difference; they and `se` are null for tests that have none, and where the difference shows
        no variance: then p is 1 if the difference is 0 (1/2 one-sided, 0 with `margin`), and null
        otherwise. `statistic` is the distance from the null hypothesis in standard errors; of
        exchanged ranks it is the difference itself, and for `"venkatraman"` the errors by which the
        curves differ, added up over all ranks. `df` is null unless the statistic is a t. With a
        range the areas are `partial_auc_a` and `partial_auc_b`, with one rate `tpr_a` and `tpr_b`,
        or `fpr_a` and `fpr_b`. `n_paired` (Int64) counts the rows that both scored, null where rows
        are not paired. `ci_level` is `level`, and null for tests without limits. `test` names the
        method, with `_exact` where all exchanges were looked at. `note` (String) is null, or the
        first that applies of `no_rows, no_positives, no_negatives, one_positive, one_negative,
        zero_variance`, the number of replicates that were drawn again (`redrawn:3`), or of rows
        left out (`unmatched:3`).

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
    contrast : Test more than two areas at once.
    auc_covariance : The matrix that all these variances come from.
    auc_test : Test one area against chance.

    Notes
    -----
    The test presumes rows that are independent of each other, or clusters that are, and models
    that were fitted on other rows. It says nothing of how a model would do if it were fitted anew.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
    correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    B. L. Welch (1947), "The generalization of 'Student's' problem when several different population
    variances are involved", Biometrika 34(1-2), 28-35. doi:10.1093/biomet/34.1-2.28

    N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2),
    567-578. doi:10.2307/2533958

    E. S. Venkatraman, C. B. Begg (1996), "A distribution-free procedure for comparing receiver
    operating characteristic curves from a paired experiment", Biometrika 83(4), 835-848.
    doi:10.1093/biomet/83.4.835

    A. I. Bandos, H. E. Rockette, D. Gur (2005), "A permutation test sensitive to differences in
    areas for comparing ROC curves from a paired design", Statistics in Medicine 24(18), 2873-2893.
    doi:10.1002/sim.2149

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 1, 0, 0], "a": [0.9, 0.8, 0.3, 0.3, 0.1], "b": [3, 1, 2, 3, 0]}
    ... )
    >>> pairs = rf.compare(predictions, "label", ["a", "b"])
    >>> pairs.select("model_a", "model_b", "p_value", "se", "auc_a", "auc_b", "n_paired")
    shape: (1, 7)
    ┌─────────┬─────────┬──────────┬──────────┬──────────┬──────────┬──────────┐
    │ model_a ┆ model_b ┆ p_value  ┆ se       ┆ auc_a    ┆ auc_b    ┆ n_paired │
    │ ---     ┆ ---     ┆ ---      ┆ ---      ┆ ---      ┆ ---      ┆ ---      │
    │ str     ┆ str     ┆ f64      ┆ f64      ┆ f64      ┆ f64      ┆ i64      │
    ╞═════════╪═════════╪══════════╪══════════╪══════════╪══════════╪══════════╡
    │ a       ┆ b       ┆ 0.331975 ┆ 0.343592 ┆ 0.916667 ┆ 0.583333 ┆ 5        │
    └─────────┴─────────┴──────────┴──────────┴──────────┴──────────┴──────────┘
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
    plan = Plan.of(
        method,
        fpr=fpr,
        tpr=tpr,
        standardize=standardize,
        margin=margin,
        alternative=alternative,
        level=level,
        baseline=baseline,
        adjust=adjust,
        family=family,
        n_boot=n_boot,
        n_perm=n_perm,
        seed=seed,
    )
    plan.check(roles)
    pairing = Pairing.of(
        roles, between=between, id=id, unmatched=unmatched, paired=method != "delong_unpaired"
    )
    return compared_by(
        predictions,
        roles,
        pairing,
        lambda frame, pairs: compared(frame, pairs, plan),
        schema=lambda model: comparison_columns(model, plan.measure.name),
        anchor="test",
        # A baseline is looked for among all models, whichever groups they are in.
        apart=family == "group" and baseline is None,
    )


Method = Literal["delong", "delong_unpaired", "bootstrap", "permutation", "venkatraman"]

RANGE = {"fpr": (0, 0.1), "tpr": (0.9, 1)}

EXCHANGING = ("permutation", "venkatraman")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What is asked: of which pairs, about what, and by which method."""

    method: Method
    measure: Measure
    question: Question
    family: Family
    n_drawn: int
    seed: Seed

    @classmethod
    def of(
        cls,
        method: Method,
        *,
        fpr: Place | None,
        tpr: Place | None,
        standardize: str | None,
        margin: float | None,
        alternative: Alternative,
        level: float,
        baseline: object,
        adjust: Adjust | None,
        family: Whole,
        n_boot: int,
        n_perm: int,
        seed: int | None,
    ) -> Plan:
        """Check the options."""
        check_choice("method", method, get_args(Method))
        level = parse_level(level)
        measure = Measure.of(fpr, tpr, standardize)
        resamples = parse_n_boot("n_boot", n_boot)
        whole("n_perm", n_perm)
        return cls(
            method=method,
            measure=measure,
            question=Question.of(margin, alternative, level, falling=measure.name == "fpr"),
            family=Family.of(baseline, adjust, family),
            n_drawn=whole("n_perm", n_perm) if method in EXCHANGING else resamples,
            seed=Seed.parse(seed),
        )

    def check(self, roles: Roles) -> None:
        """Check that the method can answer what is asked, of rows such as these."""
        method, measure = self.method, self.measure
        if measure.at is not None and method != "bootstrap":
            area = (
                f", or give the range of a partial area, say {measure.at[0]}={RANGE[measure.at[0]]}"
            )
            raise OptionValueError.of(
                measure.at[0],
                measure.at[1],
                f"method={method!r} compares areas, not rates",
                f'Say method="bootstrap"{"" if method in EXCHANGING else area}.',
            )
        if method in EXCHANGING:
            if measure.part is not None:
                raise OptionValueError.of(
                    measure.part.rate,
                    (measure.part.a, measure.part.b),
                    f"method={method!r} has no partial areas",
                    'Say method="delong" or method="bootstrap" for these.',
                )
            for name, given in (("weight", roles.weight), ("count", roles.count)):
                if given is not None and given is not NOT_GIVEN:
                    raise OptionValueError.of(
                        name,
                        given,
                        f"method={method!r} exchanges single rows that weigh the same",
                        'Say method="delong" or method="bootstrap", which take it.',
                    )
            if self.question.margin:
                raise OptionValueError.of(
                    "margin",
                    abs(self.question.null),
                    f"method={method!r} tests that there is no difference",
                    'Say method="delong" or method="bootstrap".',
                )
        if method == "venkatraman" and self.question.alternative != "two-sided":
            raise OptionValueError.of(
                "alternative",
                self.question.alternative,
                "whole curves differ to no side",
                'Leave it out, or say method="permutation" for areas.',
            )
        if self.question.margin and self.family.baseline is None:
            raise OptionValueError.of(
                "margin",
                abs(self.question.null),
                "which model the others shall not be worse than is not said",
                'Name it, say baseline="old".',
            )
        if method == "delong_unpaired" and roles.cluster is not None:
            raise OptionValueError.of(
                "cluster",
                roles.cluster,
                "rows that are not paired are taken to be independent",
                'Pair them: say method="delong" with id=.',
            )


def compared(frame: pl.DataFrame, pairs: BoundPairs, plan: Plan) -> pl.DataFrame:
    """Compare the models of a collected frame in each of its groups."""
    find = _unpaired if plan.method == "delong_unpaired" else _paired
    models, keys, found = find(frame, pairs, plan)
    return comparison_table(
        found,
        keys,
        models,
        plan.family,
        area=plan.measure.name,
        test=plan.method,
        level=None if plan.method in EXCHANGING else plan.question.level,
    )


def _paired(
    frame: pl.DataFrame, pairs: BoundPairs, plan: Plan
) -> tuple[pl.Series, pl.DataFrame, list[Comparison]]:
    instances = read_instances(frame, pairs)
    plan.family.check(instances.models)
    groups = RowGroups.from_keys(instances.keys, len(instances.negative))
    found: list[Comparison] = []
    for batch in batches(instances, groups, pairs.pairing):
        some = plan.family.pairs(batch.models, instances.models)
        if not some:
            continue
        found += _by_method(instances, batch, some, plan, groups.keys)
    return instances.models, groups.keys, found


def _by_method(
    instances: Instances,
    batch: Batch,
    pairs: Sequence[tuple[int, int]],
    plan: Plan,
    keys: pl.DataFrame,
) -> list[Comparison]:
    if plan.method == "delong":
        return paired(instances, batch, pairs, plan.question, plan.measure)
    draws = BootstrapDraws(n_boot=plan.n_drawn, seed=plan.seed, keys=stream_keys(keys))
    if plan.method == "bootstrap":
        return resampled(instances, batch, pairs, plan.question, plan.measure, draws=draws)
    curves = plan.method == "venkatraman"
    return permuted(instances, batch, pairs, plan.question, draws, curves=curves)


def _unpaired(
    frame: pl.DataFrame, pairs: BoundPairs, plan: Plan
) -> tuple[pl.Series, pl.DataFrame, list[Comparison]]:
    models, every = cases_of_models(frame, pairs)
    plan.family.check(models)
    schema = {str(i): dtype for i, dtype in enumerate(pairs.bound.keys.values())}
    keys = pl.concat([pl.DataFrame(schema=schema), *(cases.keys for cases in every)])
    keys = keys.unique().sort(keys.columns) if keys.width else pl.DataFrame(height=1)
    apart = [Apart.of(cases, keys, plan.measure.part) for cases in every]
    some = plan.family.pairs(range(len(models)), models)
    return models, keys, list(unpaired(apart, some, plan.question, plan.measure))
