"""The functions `fold_auc` and `pooling_gap`: areas over folds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from rocframe.areas.area import area_of_mean
from rocframe.areas.pairs import (
    ZERO_VARIANCE,
    Clusters,
    class_sizes,
    cluster_parts,
    count_pairs,
    delong_class_variances,
    delong_variance,
)
from rocframe.averages.average import DEFAULTS, average_curves
from rocframe.averages.means import CurveValues, format_keys, group_keys
from rocframe.averages.options import parse_average_options, parse_over
from rocframe.curves.curve import complete_curves
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, build_table, collect_frame
from rocframe.inference import (
    absent_classes,
    exclusion_notes,
    first_notes,
    join_notes,
    logit,
    normal_quantile,
    parse_level,
    wald,
)
from rocframe.inputs.cases import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import run_parallel
from rocframe.kernel.groups import (
    ReservedCode,
    RowGroups,
    groups_of_rows,
    run_starts,
    scale_weights,
    sort_rows,
)
from rocframe.kernel.scan import BLOCK_ROWS, Scan
from rocframe.kinds import KINDS
from rocframe.options import NOT_GIVEN, check_choice, parse_names, public
from rocframe.rates import Settings
from rocframe.resampling import nearly_equal
from rocframe.schemas.statistics import FOLD_AUC, POOLING_GAP, curve_average_of
from rocframe.schemas.table_type import ROW_COUNTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inference import Limits, Note
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.groups import SortedRows


@public
def fold_auc(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    over: str | Sequence[str] = "fold",
    by: By = None,
    id: Column | None = None,  # noqa: A002 - the name that comparisons use
    ci: FoldIntervalMethod | None = "logit_delong",
    level: float = 0.95,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute the mean AUC of the folds of each group, with a confidence interval.

    The result also has the area under the averaged curve of the folds, and the pooled AUC, which
    also compares rows of different folds. Folds that lack a class are excluded from the means.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    over : str or sequence of str, default "fold"
        Columns that identify the fold in which a row was tested.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    id : str or Expr, default None
        The case of a row, if a case has rows in several folds, such as one for each reader. Rows of
        a case are dependent. Not with `count`.
    ci : str or None, default "logit_delong"
        Method of the interval.

        - `"logit_delong"`: interval of the logit of the mean, with DeLong's variance in each fold.
        - `"delong"`: Wald interval (mean ± z·`se`) with the same variance, clipped to [0, 1].
        - `"ledell"`: Wald interval with the variance of LeDell, Petersen and van der Laan, which
          uses the class proportions of all folds together; not with `weight` and `id`.
        - None: no interval.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
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
        One row per group, sorted by group: `*by`, (`model`,) `mean_auc, lower, upper, sd, se,
        auc_of_mean, pooled_auc, n_curves, n_pos, n_neg, n_missing, ci_level, ci_method, note`.
        Counts are Int64, `ci_method` and `note` String, all others Float64.

        `sd` is the standard deviation of the areas of the folds, with the divisor `n_curves` - 1,
        and null for one fold. `auc_of_mean` is the area under the mean TPR of the folds at 101
        values of the FPR, `pooled_auc` the AUC of all rows. `n_curves` is the number of folds with
        both classes. `se` and limits are null if the variance is 0 or, for DeLong's methods, if a
        fold has only one row (with `id`, one case) of a class.

        `note` is null, or the first of `no_rows, no_positives, no_negatives, one_positive,
        one_negative, zero_variance, one_curve`; with `id`, `one_positive_cluster` and
        `one_negative_cluster`. `left_out:1 (3)` is added if one fold, the fold 3, is excluded.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    average : The averaged curve of the folds.
    pooling_gap : The difference between the area of all rows and the mean of the areas.

    Notes
    -----
    The intervals treat the fitted models as fixed and the test rows as random: they do not include
    the variation between models fitted on other rows, or between readers. If a case is in several
    folds, as in repeated cross-validation, the limits are too narrow without `id`. For rows that
    occur once for each class, as in `one_vs_rest`, use `multiclass_auc`. For imputed data sets,
    which all have the same rows, use `pool_imputations`.

    References
    ----------
    - N. A. Obuchowski (1997), Biometrics 53(2), 567-578. doi:10.2307/2533958
    - E. LeDell et al. (2015), Electronic Journal of Statistics 9(1), 1583-1607.
      doi:10.1214/15-EJS1035

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> vote = rf.datasets.vote().filter(pl.col("model") == "logistic_regression")
    >>> areas = rf.fold_auc(vote, "label", "score", over="fold")
    >>> areas.select("mean_auc", "sd", "se", "pooled_auc", "n_curves")
    shape: (1, 5)
    ┌──────────┬──────────┬──────────┬────────────┬──────────┐
    │ mean_auc ┆ sd       ┆ se       ┆ pooled_auc ┆ n_curves │
    │ ---      ┆ ---      ┆ ---      ┆ ---        ┆ ---      │
    │ f64      ┆ f64      ┆ f64      ┆ f64        ┆ i64      │
    ╞══════════╪══════════╪══════════╪════════════╪══════════╡
    │ 0.810421 ┆ 0.059004 ┆ 0.014283 ┆ 0.808057   ┆ 10       │
    └──────────┴──────────┴──────────┴────────────┴──────────┘
    """
    check_choice("ci", ci, (*get_args(FoldIntervalMethod), None))
    level = parse_level(level)
    method = None if ci is None else FOLD_METHODS[ci]
    for option, value in (("weight", weight), ("id", id)):
        if method is not None and value is not None and option in method.refuses:
            raise OptionValueError.compose(option, value, *method.refuses[option])
    return fold_table(
        predictions,
        Roles(label, score, by, positive, weight, count, missing, id, cluster_argument="id"),
        over,
        lambda folds: _fold_auc_columns(folds, ci, level),
        FOLD_AUC.columns(),
        ci_level=None if ci is None else level,
    )


def fold_table(
    predictions: FrameT,
    roles: Roles,
    over: str | Sequence[str],
    compute: Callable[[Folds], dict[str, Any]],
    schema: dict[str, pl.DataType],
    *,
    ci_level: float | None = None,
) -> FrameT:
    """Return a table with a row per group: the counts, and the columns that `compute` returns."""
    names = parse_over(over)

    def table(cases: Cases) -> pl.DataFrame:
        folds = Folds.from_cases(cases, len(names))
        # Without rows, a table with group columns has no groups, and other tables have one group.
        if not folds.keys.height:
            columns = {"n_curves": 0, "note": "no_rows", **dict.fromkeys(ROW_COUNTS, 0)}
            columns["ci_level"] = ci_level
            keys = folds.keys if folds.keys.width else pl.DataFrame(height=1)
            return build_table(keys, columns, schema)
        totals = folds.scan.totals
        columns = {
            "n_pos": folds.total(totals.pos_rows),
            "n_neg": folds.total(totals.neg_rows),
            "n_missing": folds.total(folds.scan.rows.unscored.n_missing),
            "n_curves": folds.areas.count[:, 0],
            "mean_auc": folds.areas.mean[:, 0],
            "note": folds.notes(),
            "ci_level": ci_level,
        }
        return build_table(folds.keys, columns | compute(folds), schema)

    plan = plan_table(
        predictions,
        replace(roles, by=(*parse_names(roles.by), *names)),
        table,
        columns=schema,
        anchor="n_pos",
        over=len(names),
    )
    return as_input_frame(predictions, plan)


FoldIntervalMethod = Literal["logit_delong", "delong", "ledell"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folds:
    """The areas of the folds of all groups; those with both classes are `usable`."""

    cases: Cases
    over: tuple[str, ...]
    keys: pl.DataFrame
    scan: Scan
    starts: NDArray[np.int64]
    area: NDArray[np.float64]
    usable: NDArray[np.bool_]
    names: NDArray[np.object_]

    @classmethod
    def from_cases(cls, cases: Cases, n_over: int) -> Folds:
        """Return the folds with their areas; the last `n_over` key columns identify a fold."""
        scan = Scan.from_cases(scale_weights(cases))
        over = tuple(cases.keys.columns[cases.keys.width - n_over :])
        groups = group_keys(scan.rows.keys, over)  # the keys are sorted, so folds keep their order
        area = count_pairs(scan).areas[0]
        return cls(
            cases=cases,
            over=over,
            keys=groups.keys,
            scan=scan,
            starts=groups.starts,
            area=area,
            usable=~np.isnan(area),
            names=format_keys(scan.rows.keys, over),
        )

    @property
    def pooled_cases(self) -> Cases:
        """The cases without the fold keys, with weights scaled in each group."""
        return scale_weights(replace(self.cases, keys=self.cases.keys.drop(self.over)))

    @property
    def areas(self) -> CurveValues:
        """The areas of the usable folds."""
        return self.usable_values(self.area)

    def usable_values(self, values: NDArray[np.float64]) -> CurveValues:
        """Return one value per fold, each with weight 1; NaN for folds without an area."""
        column = np.where(self.usable, values, np.nan)[:, None]
        return CurveValues(values=column, weight=np.ones(len(column)), starts=self.starts[:-1])

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of `values` over all folds of each group."""
        total: NDArray[Any] = np.add.reduceat(values, self.starts[:-1])
        return total

    def notes(
        self, variance: NDArray[np.float64] | None = None, clusters: Clusters | None = None
    ) -> list[str | None]:
        """Return the note of each group: the reason for null results, and the excluded folds."""
        totals = self.scan.totals
        applies: dict[Note, NDArray[np.bool_ | np.int64]] = {
            "one_curve": self.areas.count[:, 0] == 1
        }
        if variance is not None:
            single: tuple[Note, Note] = ("one_positive", "one_negative")
            if clusters is not None:
                single = ("one_positive_cluster", "one_negative_cluster")
            for note, sizes in zip(single, class_sizes(self.scan, clusters), strict=True):
                is_single = (sizes == 1) & self.usable
                has_single = np.add.reduceat(is_single, self.starts[:-1]) > 0
                applies[note] = has_single & np.isnan(variance)
            applies["zero_variance"] = variance == 0
        n_pos, n_neg = self.total(totals.pos_rows), self.total(totals.neg_rows)
        first = first_notes(absent_classes(n_pos, n_neg) | applies)
        exclusions = exclusion_notes(self.names, self.usable, self.starts)
        return [join_notes(*both) for both in zip(first, exclusions, strict=True)]


def _fold_auc_columns(folds: Folds, ci: FoldIntervalMethod | None, level: float) -> dict[str, Any]:
    """Return the columns of the result that only `fold_auc` computes."""
    columns: dict[str, Any] = {
        "sd": folds.areas.sd[:, 0],
        "auc_of_mean": _auc_of_mean(folds),
        "pooled_auc": count_pairs(Scan.from_cases(folds.pooled_cases)).areas[0],
    }
    if ci is not None:
        method, clusters = FOLD_METHODS[ci], None
        if folds.cases.cluster is None:
            variance = method.variance(folds)
        else:
            clusters = Clusters.from_scan(folds.scan, folds.cases.cluster)
            variance = _clustered_mean_variance(folds, clusters)
        se = np.sqrt(np.where(variance > 0, variance, np.nan))
        lower, upper = method.limits(folds.areas.mean[:, 0], se, normal_quantile(level), 1.0)
        columns |= {
            "se": se,
            "lower": lower,
            "upper": upper,
            "ci_method": [None if np.isnan(end) else ci for end in lower],
            "note": folds.notes(variance, clusters),
        }
    return columns


def _delong_mean_variance(folds: Folds) -> NDArray[np.float64]:
    """Return the variance of each mean AUC, from DeLong's variance of independent folds."""
    scan = folds.scan
    variance = delong_variance(scan, count_pairs(scan))
    values = folds.usable_values(variance)
    # A fold with one row of a class has an area without a variance, so the mean has no variance.
    has_variance = np.add.reduceat(folds.usable & np.isnan(variance), folds.starts[:-1]) == 0
    count = values.count[:, 0]
    return np.where(has_variance & (count > 0), values.mean[:, 0] / np.maximum(count, 1), np.nan)


def _clustered_mean_variance(folds: Folds, clusters: Clusters) -> NDArray[np.float64]:
    """Return the variance of each mean AUC from the influence of each case on all folds.

    For a single fold, it is Obuchowski's; without common cases, that of independent folds.
    """
    parts = cluster_parts(clusters, folds.scan, scale_weights(folds.cases).weight)
    # The clusters are the cases of a fold; a code is a case of a group.
    group = groups_of_rows(folds.starts, np.arange(len(folds.area)))[clusters.group]
    n_codes = int(clusters.number.max(initial=0)) + 1
    codes, number = np.unique(group * n_codes + clusters.number, return_inverse=True)
    pos, neg, pos_of_both, neg_of_both = (
        np.bincount(number, values, len(codes)).astype(np.float64) for values in parts
    )
    n_pos, n_neg, _ = clusters.sizes
    squares = pos**2 + neg**2 + 2 * pos_of_both * neg_of_both
    count = folds.areas.count[:, 0]
    total = np.bincount(codes // n_codes, squares, len(count))
    single = folds.usable & ((n_pos < 2) | (n_neg < 2))
    has_variance = (np.add.reduceat(single, folds.starts[:-1]) == 0) & (count > 0)
    variance = np.where(has_variance, total / np.maximum(count, 1) ** 2, np.nan)
    variance[variance < ZERO_VARIANCE] = 0
    return variance


def _ledell_mean_variance(folds: Folds) -> NDArray[np.float64]:
    """Return the variance of each mean AUC by the influence curve of LeDell et al. (2015)."""
    scan = folds.scan
    totals = scan.totals
    pos, neg = totals.pos_rows, totals.neg_rows
    size = (pos + neg).astype(np.float64)

    def usable_sums(values: NDArray[Any]) -> NDArray[np.float64]:
        sums: NDArray[np.float64] = np.add.reduceat(
            np.where(folds.usable, values, 0).astype(np.float64), folds.starts[:-1]
        )
        return sums

    lengths = np.diff(folds.starts)
    all_pos, all_neg = usable_sums(pos), usable_sums(neg)
    total = all_pos + all_neg
    squares = np.zeros(len(size))
    class_variances = delong_class_variances(scan, count_pairs(scan))
    with np.errstate(divide="ignore", invalid="ignore"):
        for n, variance, class_rows in (
            (pos, class_variances[0], all_pos),
            (neg, class_variances[1], all_neg),
        ):
            # If a class has one row, its placement value is equal to the mean of the placement
            # values, so the sum of squared differences from the mean is 0.
            squared_sum = np.where(n > 1, variance * n * (n - 1.0), 0.0)
            squares += np.repeat(total / class_rows, lengths) ** 2 * squared_sum
        result = folds.usable_values(squares / size).mean[:, 0] / total
    return np.where(total > 0, result, np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldMethod:
    """The variance of a mean AUC, its limits, and problem and hint of refused options."""

    variance: Callable[[Folds], NDArray[np.float64]]
    limits: Callable[..., Limits]
    refuses: Mapping[str, tuple[str, str]] = field(default_factory=dict)


FOLD_METHODS: dict[FoldIntervalMethod, FoldMethod] = {
    "logit_delong": FoldMethod(variance=_delong_mean_variance, limits=logit),
    "delong": FoldMethod(variance=_delong_mean_variance, limits=wald),
    "ledell": FoldMethod(
        variance=_ledell_mean_variance,
        limits=wald,
        refuses={
            "weight": (
                'ci="ledell" is defined only for rows without weights',
                'Use ci="delong" with weights.',
            ),
            "id": (
                'ci="ledell" assumes that different rows are independent',
                'Use ci="logit_delong" with id=.',
            ),
        },
    ),
}


def _auc_of_mean(folds: Folds) -> NDArray[np.float64]:
    """Return the area under the vertical average of the curves of each group."""
    chosen = {**DEFAULTS, "over": folds.over, "ci": None}
    options = parse_average_options(**chosen, settings=Settings(), defaults=DEFAULTS)
    curves = complete_curves(scale_weights(folds.cases))
    mean = average_curves(curves, options.plan(KINDS["roc"]))
    shape = curve_average_of(mean.columns)
    assert shape is not None
    areas = collect_frame(area_of_mean(mean.lazy(), mean.schema, shape)).to_series(-1)
    return areas.fill_null(np.nan).to_numpy()


@public
def pooling_gap(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    over: str | Sequence[str] = "fold",
    by: By = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Decompose the difference between the pooled AUC and the mean AUC of the folds of each group.

    The pooled AUC is the share of pairs of a positive and a negative in which the positive has the
    higher score. In a pair between folds, both scores are from different models. If a constant is
    added to all scores of one fold, the pooled AUC can change, but the mean AUC does not.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    over : str or sequence of str, default "fold"
        Columns that identify the fold in which a row was tested.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
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
        One row per group, sorted by group: `*by`, (`model`,) `gap, pooled_auc, mean_auc,
        gap_between, gap_within, between_share, between_auc, within_auc, worst_positives,
        worst_negatives, worst_auc, worst_gap, n_curves, n_pos, n_neg, n_missing, note`.

        - `gap` (Float64, as all below) is `pooled_auc` - `mean_auc` = `gap_between` + `gap_within`.
        - `gap_between` is `pooled_auc` - `within_auc`: the effect of pairs between folds.
        - `gap_within` is `within_auc` - `mean_auc`: the effect of unequal fold sizes.
        - `between_share` is the share of pairs between folds, and `between_auc` and `within_auc`
          are the AUCs of the pairs between and within folds, null if there are no such pairs.
        - `worst_positives` and `worst_negatives` (String) are the two folds, of the positive and of
          the negative, whose pairs have the largest effect on `gap_between`; `worst_auc` is the AUC
          of these pairs, and `worst_gap` their contribution.
        - `n_curves`, the other counts (Int64) and `note` (String) are as in `fold_auc`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    fold_auc : The mean of the areas of folds, and its interval.

    Notes
    -----
    Time and memory grow with the square of the number of folds: 2,000 folds take seconds, and
    10,000 folds need several gigabytes.

    References
    ----------
    G. Forman, M. Scholz (2010), ACM SIGKDD Explorations 12(1), 49-57. doi:10.1145/1882471.1882479

    Examples
    --------
    The AUC of each fold is 1, but the scores of the second fold are lower:

    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"fold": [1, 1, 2, 2], "label": [1, 0, 1, 0], "score": [0.9, 0.8, 0.3, 0.2]}
    ... )
    >>> gap = rf.pooling_gap(predictions, "label", "score", over="fold")
    >>> gap.select("pooled_auc", "mean_auc", "gap_between", "worst_positives", "worst_negatives")
    shape: (1, 5)
    ┌────────────┬──────────┬─────────────┬─────────────────┬─────────────────┐
    │ pooled_auc ┆ mean_auc ┆ gap_between ┆ worst_positives ┆ worst_negatives │
    │ ---        ┆ ---      ┆ ---         ┆ ---             ┆ ---             │
    │ f64        ┆ f64      ┆ f64         ┆ str             ┆ str             │
    ╞════════════╪══════════╪═════════════╪═════════════════╪═════════════════╡
    │ 0.75       ┆ 1.0      ┆ -0.25       ┆ 2               ┆ 1               │
    └────────────┴──────────┴─────────────┴─────────────────┴─────────────────┘
    """
    roles = Roles(label, score, by, positive, weight, count, missing)
    return fold_table(predictions, roles, over, _pooling_gap_columns, POOLING_GAP.columns())


class FoldPairs(NamedTuple):
    """Numbers of won pairs (ties count 1/2) and of all pairs: folds of positives × of negatives."""

    wins: NDArray[np.float64]
    pairs: NDArray[np.float64]


def _pooling_gap_columns(folds: Folds) -> dict[str, Any]:
    """Return the columns of the result that only `pooling_gap` computes."""
    cases = folds.cases
    rows = sort_rows(folds.pooled_cases, with_positions=True)
    fold = RowGroups.from_keys(cases.keys, len(cases.negative)).number
    sizes = np.diff(folds.starts)
    # `position` is the number of a fold within its group.
    position = np.arange(len(folds.area)) - np.repeat(folds.starts[:-1], sizes)
    assert rows.row is not None
    fold_position = position[fold[rows.row]]
    groups = range(len(folds.starts) - 1)
    fold_pairs = run_parallel(
        lambda group: _count_fold_pairs(rows, fold_position, group, int(sizes[group])), groups
    )
    pooled = count_pairs(Scan.from_rows(rows)).areas[0]
    mean = folds.areas.mean[:, 0]
    parts = [
        _decompose_gap(pairs, folds.names[folds.starts[group] : folds.starts[group + 1]])
        for group, pairs in enumerate(fold_pairs)
    ]
    columns: dict[str, Any] = {
        "pooled_auc": pooled,
        "gap": pooled - mean,
        **{name: [part[name] for part in parts] for name in parts[0]},
    }
    within = np.array(columns["within_auc"], np.float64)
    return {**columns, "gap_between": pooled - within, "gap_within": within - mean}


def _count_fold_pairs(
    rows: SortedRows, fold_position: NDArray[np.int64], group: int, size: int
) -> FoldPairs:
    """Return the pairs of a group; `fold_position` is the fold of each row, of `size` folds."""
    start, end = rows.starts[group], rows.ends[group]
    group_rows = slice(start, rows.starts[group + 1])
    row_weight = (
        np.ones(group_rows.stop - start)
        if rows.weights is None
        else rows.weights.row_weight[group_rows]
    )
    negative = (rows.codes[group_rows] & 1).astype(bool)
    code = rows.codes[group_rows] >> 1
    counted = np.arange(len(code)) < end - start
    counted |= code == rows.codec.reserved(ReservedCode.UNSCORED)

    def by_fold(selected: NDArray[np.bool_]) -> NDArray[np.float64]:
        sums = np.bincount(
            fold_position[group_rows][selected], row_weight[selected], minlength=size
        )
        return sums.astype(np.float64)

    scored = int(end - start)
    step = np.cumsum(np.diff(code[:scored], prepend=code[:1]) != 0)
    below = by_fold(negative & (np.arange(len(code)) < scored))
    wins = np.zeros((size, size))
    # Distinct scores are processed in blocks, from the highest to the lowest score. `below` is the
    # number of scored negatives of each fold that are in this block or a later block.
    first, last = 0, int(step[-1]) + 1 if scored else 0
    block = max(1, 2 * BLOCK_ROWS // size)
    while first < last:
        stop = min(first + block, last)
        a, b = np.searchsorted(step, [first, stop])
        block_rows = slice(start + a, start + b)
        index = (step[a:b] - first) * size + fold_position[block_rows]
        pos, neg = (
            np.bincount(
                index, np.where(side, row_weight[a:b], 0), minlength=(stop - first) * size
            ).reshape(-1, size)
            for side in (~negative[a:b], negative[a:b])
        )
        cumulative = np.cumsum(neg, axis=0)
        _add_pairs(wins, pos, below - cumulative + neg / 2)
        below = below - cumulative[-1]
        first = stop
    return FoldPairs(wins, np.outer(by_fold(~negative & counted), by_fold(negative & counted)))


def _add_pairs(wins: NDArray[np.float64], pos: NDArray[Any], lower: NDArray[np.float64]) -> None:
    """Add the correctly ranked pairs of several scores to the matrix `wins`.

    `pos` has the positives of each score (row) and fold (column), `lower` the negatives with a
    lower score. Without ties, each score has positives of one fold only; a matrix product would
    mostly add zeros, so the pairs are then added fold by fold.
    """
    if 4 * np.count_nonzero(pos) > pos.size:
        wins += pos.T @ lower
        return
    fold, step = np.nonzero(pos.T)
    block = max(1, 2 * BLOCK_ROWS // len(wins))
    for start in range(0, len(fold), block):
        folds, steps = fold[start : start + block], step[start : start + block]
        starts = run_starts(folds)
        pairs = pos[steps, folds][:, None] * lower[steps]
        wins[folds[starts]] += np.add.reduceat(pairs, starts, axis=0)


def _decompose_gap(table: FoldPairs, names: NDArray[np.object_]) -> dict[str, Any]:
    """Return the columns that are computed from the pairs of one group; `names` are its folds."""
    total, is_between = table.pairs.sum(), ~np.eye(len(names), dtype=bool)
    result: dict[str, Any] = dict.fromkeys(
        ("between_share", "between_auc", "within_auc", "worst_auc", "worst_gap"), np.nan
    )
    result |= dict.fromkeys(("worst_positives", "worst_negatives"))
    wins, pairs = (matrix * is_between for matrix in table)
    between, within = pairs.sum(), np.trace(table.pairs)
    if total > 0:
        result["between_share"] = between / total
    if between > 0:
        result["between_auc"] = wins.sum() / between
    if within > 0:
        result["within_auc"] = np.trace(table.wins) / within
    if between > 0 and within > 0:
        expected = result["within_auc"] * pairs
        effect = np.where(nearly_equal(wins, expected, scale=pairs), 0, wins - expected) / total
        size = np.abs(effect)
        is_largest = nearly_equal(size, size.max(), scale=0)
        i, j = np.unravel_index(np.argmax(is_largest), effect.shape)
        if effect[i, j]:
            result |= {"worst_positives": names[i], "worst_negatives": names[j]}
            result["worst_auc"] = table.wins[i, j] / table.pairs[i, j]
            result["worst_gap"] = effect[i, j]
    return result
