"""The function `reader_study`: Obuchowski and Rockette's (1995) analysis of reader studies.

The areas of t modalities and r readers of the same cases have a modality effect, random effects of
the reader and of the reader with a modality, and an error due to the cases. Errors have the
covariances cov1 (same reader), cov2 (same modality) and cov3 (neither). The degrees of freedom are
those of Hillis (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from rocframe.areas.area import RateRange
from rocframe.areas.pairs import ZERO_VARIANCE
from rocframe.comparisons.delong import paired_areas, sums_of_products
from rocframe.comparisons.hypothesis import Quantity
from rocframe.comparisons.influence_tests import model_influences
from rocframe.comparisons.pairing import (
    PairingOptions,
    build_model_table,
    model_batches,
    model_names,
    plan_comparison,
    read_instances,
)
from rocframe.errors import OptionValueError, PairingError
from rocframe.frames import number_distinct_rows
from rocframe.inference import (
    absent_classes,
    adjust_p_values,
    check_adjust,
    few_rows,
    first_notes,
    normal_p_value,
    parse_level,
)
from rocframe.inputs.roles import Roles
from rocframe.metrics.intervals import parse_interval_metric
from rocframe.metrics.statistics import PointSearch
from rocframe.options import check_choice, check_supported, parse_number, public
from rocframe.rates import Settings
from rocframe.resampling import ROUNDING_ERROR, Statistic
from rocframe.schemas.statistics import reader_study_columns
from rocframe.schemas.table_type import THRESHOLD
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.areas.area import Range
    from rocframe.comparisons.pairing import ModelBatch, PairingColumns, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inference import Adjust
    from rocframe.inputs.roles import By, Column, Missing


@public
def reader_study(
    predictions: FrameT,
    /,
    label: Column,
    score: Column,
    *,
    id: Column | Sequence[Column],  # noqa: A002 - name of the public option
    reader: str = "reader",
    modality: str = "modality",
    by: By = None,
    metric: str | pl.Expr = "auc",
    threshold: float | None = None,
    fpr: Range | None = None,
    tpr: Range | None = None,
    specificity: Range | None = None,
    sensitivity: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    fixed: FixedFactor | None = None,
    covariance: Covariance = "delong",
    level: float = 0.95,
    adjust: Adjust | None = "holm",
    unmatched: Unmatched = "raise",
    cluster: Column | None = None,
    positive: object = None,
    missing: Missing = "raise",
) -> FrameT:
    """Compare modalities in a multi-reader multi-case study by Obuchowski and Rockette's model.

    Several readers read the same cases with each modality, and each reading has a score, such as a
    rating. The results apply to other readers and other cases, unless `fixed` is given.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str or Expr
        The score, higher for positives.
    id : str or sequence of str
        Columns that identify a case.
    reader : str, default "reader"
        Column of the readers.
    modality : str, default "modality"
        Column of the modalities.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    metric : str or Expr, default "auc"
        `"auc"`: the AUC or, with a range, the partial area. Or another metric of `intervals`: of
        complete curves, such as `"ks"`, or at `threshold`, such as `"tpr"`.
    threshold : float, default None
        Score from which a reading is positive (`score >= threshold`), for metrics such as `"tpr"`.
    fpr : (float, float), default None
        Range of the false positive rate, such as `(0, 0.1)`, over which TPR is integrated.
    tpr : (float, float), default None
        Range of the true positive rate, such as `(0.9, 1)`, over which 1 - FPR is integrated. With
        `fpr` as well, the area is the part of the rectangle of both ranges below the curve.
    specificity : (float, float), default None
        Range of the specificity, 1 - FPR: `(0.9, 1)` is the same as `fpr=(0, 0.1)`.
    sensitivity : (float, float), default None
        Another name of `tpr`.
    standardize : {"mcclish"}, default None
        `"mcclish"` rescales a partial area so that a random model has 0.5 and a perfect model has
        1.
    fixed : {"readers", "cases"}, default None
        Factor whose values are all values of interest: the results apply only to these readers, or
        only to these cases. None: readers and cases are both random samples.
    covariance : {"delong", "jackknife"}, default "delong"
        Estimate of the covariances: `"delong"` from placement values, or for other metrics from
        their influence values; `"jackknife"` from the changes if one case is left out.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    adjust : {"holm", "bh"} or None, default "holm"
        Adjustment of the p-values of the pairs of modalities, for the mean and for each reader.
    unmatched : {"raise", "drop"}, default "raise"
        Cases that lack a reading: an error, or left out, and the other readings of them counted in
        `note`.
    cluster : str or Expr, default None
        Clusters of dependent rows, such as users.
    positive : object, default None
        Value of `label` that is the positive class.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    DataFrame or LazyFrame
        For each group, one row per modality with the mean over the readers, and one per pair of
        modalities with the difference of the means; then the same rows for each reader. Columns:
        `*by`, `modality_a, modality_b, estimate, lower, upper, p_value, p_adjusted, se, statistic,
        df, f_p_value, f_statistic, f_df, f_df_denominator, var_reader, var_reader_modality,
        var_error, cov1, cov2, cov3, n_readers, n_cases, n_pos, n_neg, ci_level, metric, fixed,
        covariance_method, reader, note`.

        - `estimate` (Float64) is the mean of `modality_a` or, if `modality_b` is not null, the
          difference a - b. `reader` is null in the rows of the mean over all readers.
        - `statistic` (Float64) has a t distribution with `df` degrees of freedom; null `df`: a
          normal distribution.
        - `f_p_value` (Float64) tests that the means of all modalities are equal.
        - `var_reader` and the other components (Float64) are those of all modalities or, in rows
          with one modality, of the areas with this modality.

        The rows of a reader use only the readings of this reader, which is then fixed. Numbers are
        null if a class has fewer than two cases or clusters, if a group has one reader and readers
        are random, or if the variance is 0; a difference of 0 then has a p-value.

        `note` (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative, one_reader, zero_variance, no_solution,
        no_limits`, `few_rows:3` (below 4 cases or clusters of a class, if `df` is null),
        `negative_covariance` (cov2 is below cov3, or negative; the model uses a difference of 0) or
        `unmatched:3` (readings).

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, if a reading is absent, or if the readings of
        a case have different labels.

    See Also
    --------
    compare : Compare models, or the modalities for one reader.

    References
    ----------
    - N. A. Obuchowski, H. E. Rockette (1995), Communications in Statistics - Simulation and
      Computation 24(2), 285-308. doi:10.1080/03610919508813243
    - S. L. Hillis (2007), Statistics in Medicine 26(3), 596-619. doi:10.1002/sim.2532
    - S. L. Hillis (2014), Statistics in Medicine 33(2), 330-360. doi:10.1002/sim.5926
    - E. R. DeLong et al. (1988), Biometrics 44(3), 837-845. doi:10.2307/2531595

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> readings = pl.DataFrame(
    ...     {
    ...         "reader": [1] * 16 + [2] * 16,
    ...         "modality": (["CT"] * 8 + ["MRI"] * 8) * 2,
    ...         "case": [1, 2, 3, 4, 5, 6, 7, 8] * 4,
    ...         "label": [1, 1, 1, 1, 0, 0, 0, 0] * 4,
    ...         "rating": [int(rating) for rating in "52543414533511324223543453253132"],
    ...     }
    ... )
    >>> study = rf.reader_study(readings, "label", "rating", id="case")
    >>> study.select("modality_a", "modality_b", "estimate", "se", "df", "p_value").head(3)
    shape: (3, 6)
    ┌────────────┬────────────┬──────────┬──────────┬──────────┬──────────┐
    │ modality_a ┆ modality_b ┆ estimate ┆ se       ┆ df       ┆ p_value  │
    │ ---        ┆ ---        ┆ ---      ┆ ---      ┆ ---      ┆ ---      │
    │ str        ┆ str        ┆ f64      ┆ f64      ┆ f64      ┆ f64      │
    ╞════════════╪════════════╪══════════╪══════════╪══════════╪══════════╡
    │ CT         ┆ null       ┆ 0.453125 ┆ 0.322118 ┆ 1.386001 ┆ null     │
    │ MRI        ┆ null       ┆ 0.859375 ┆ 0.117966 ┆ 5.1984   ┆ null     │
    │ CT         ┆ MRI        ┆ -0.40625 ┆ 0.285842 ┆ 2.915498 ┆ 0.252848 │
    └────────────┴────────────┴──────────┴──────────┴──────────┴──────────┘
    """
    check_adjust(adjust)
    rates = {"fpr": fpr, "tpr": tpr, "specificity": specificity, "sensitivity": sensitivity}
    check_choice("fixed", fixed, (*get_args(FixedFactor), None))
    check_choice("covariance", covariance, get_args(Covariance))
    measure = parse_measure(metric, threshold, rates, standardize)
    options = StudyOptions(
        measure=measure, fixed=fixed, covariance=covariance, level=parse_level(level), adjust=adjust
    )
    options.check_cluster(cluster)
    roles = Roles(label, score, by, positive, None, None, missing, cluster)
    pairing = PairingOptions(
        roles=roles,
        readings={"modality": modality, "reader": reader},
        id=id,
        unmatched=unmatched,
        unpaired=None,
        probabilities=measure.of_probabilities,
    )
    return plan_comparison(
        predictions,
        pairing,
        lambda frame, columns: study_table(frame, columns, options),
        schema=reader_study_columns,
        anchor="n_readers",
        independent_groups=True,
    )


FixedFactor = Literal["readers", "cases"]
Covariance = Literal["delong", "jackknife"]


def parse_measure(
    metric: object, threshold: float | None, rates: dict[str, Range | None], standardize: str | None
) -> Quantity:
    """Return what is measured: the AUC, a partial area, or another metric of `intervals`."""
    name, parsed = parse_interval_metric(metric, Settings(), "metric")
    if isinstance(metric, str) and metric == "auc":
        check_supported("threshold", threshold, f"metric={name!r}")
        return Quantity.of_area(RateRange.parse(rates, standardize))
    for option, value in {**rates, "standardize": standardize}.items():
        check_supported(option, value, f"metric={name!r}")
    if isinstance(parsed, Statistic):
        check_supported("threshold", threshold, f"metric={name!r}")
        return Quantity(name=name, statistic=parsed)
    if name == THRESHOLD:
        problem, hint = "the threshold is given, not estimated", 'Use, for example, "tpr".'
        raise OptionValueError.compose("metric", name, problem, hint)
    if threshold is None:
        problem = "this metric requires a threshold"
        raise OptionValueError.compose("metric", name, problem, "Pass, for example, threshold=3.")
    at = parse_number("threshold", threshold, example=3)
    return Quantity(name=name, rate=parsed, search=PointSearch(rate=None, values=[at]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StudyOptions:
    """The checked options of `reader_study`."""

    measure: Quantity
    fixed: FixedFactor | None
    covariance: Covariance
    level: float
    adjust: Adjust | None

    def __post_init__(self) -> None:
        is_known = self.measure.has_influence or self.covariance == "jackknife"
        if self.fixed != "cases" and not is_known:
            problem = "the influence values of this metric are unknown"
            hint = 'Pass covariance="jackknife".'
            raise OptionValueError.compose("metric", self.measure.name, problem, hint)

    @property
    def uses_placements(self) -> bool:
        """Whether the covariances are those of placement values."""
        return self.measure.is_area and self.covariance == "delong"

    def check_cluster(self, cluster: object) -> None:
        """Raise an error if clusters are given, and the covariances do not account for them."""
        if not self.uses_placements:
            hint = 'Use covariance="delong" and metric="auc", or leave out cluster=.'
            check_supported("cluster", cluster, "these covariances", hint=hint)


def study_table(
    frame: pl.DataFrame, columns: PairingColumns, options: StudyOptions
) -> pl.DataFrame:
    """Return the rows of the means and of each reader of all groups."""
    assert columns.between is not None
    for argument, name in columns.options.model_columns.items():
        if n := frame.get_column(columns.between).struct.field(argument).null_count():
            problem = f"the {argument} is null in {format_count(n, 'row')}"
            hint = "Remove these rows with .filter() first."
            raise OptionValueError.compose(argument, name, problem, hint)
    instances = read_instances(frame, columns)
    factors = Factors.of_models(instances.models)
    batches = model_batches(instances, columns.options, all_models=True)
    parts = [Study.of_batch(batch, factors, options).columns() for batch in batches]
    return build_model_table(
        parts,
        reader_study_columns(instances.models.dtype),
        keys=instances.keys,
        models={
            "modality_a": factors.modalities,
            "modality_b": factors.modalities,
            "reader": factors.readers,
        },
        order=[],
        constants={
            "ci_level": options.level,
            "metric": options.measure.name,
            "fixed": options.fixed,
            "covariance_method": None if options.fixed == "cases" else options.covariance,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factors:
    """The sorted modalities and readers, and the position of those of each model."""

    modalities: pl.Series
    readers: pl.Series
    modality: NDArray[np.int64]
    reader: NDArray[np.int64]

    @classmethod
    def of_models(cls, models: pl.Series) -> Factors:
        """Return the factors of models that are structs of a modality and a reader."""
        (modalities, modality), (readers, reader) = (
            number_distinct_rows(models.struct.field(name).to_frame())
            for name in ("modality", "reader")
        )
        return cls(
            modalities=modalities.to_series(),
            readers=readers.to_series(),
            modality=modality.to_numpy().astype(np.int64),
            reader=reader.to_numpy().astype(np.int64),
        )

    def crossed(self, models: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the modalities and the readers of `models`; raise an error if one is absent."""
        used = list(models)
        modality, reader = np.unique(self.modality[used]), np.unique(self.reader[used])
        present = set(zip(self.modality[used].tolist(), self.reader[used].tolist(), strict=True))
        for i in modality.tolist():
            for j in reader.tolist():
                if (i, j) not in present:
                    names = {"reader": self.readers[j], "modality": self.modalities[i]}
                    problem = f"there are no rows of {model_names(names)}"
                    hint = (
                        "Each reader must read the cases with each modality. Leave out this reader "
                        "or this modality with .filter()."
                    )
                    raise PairingError(f"reader_study: {problem}.\n{hint}")
        return modality, reader


def reading_estimates(
    batch: ModelBatch, options: StudyOptions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the value of each model in each group, and the covariance matrix of each group."""
    measure = options.measure
    if options.fixed == "cases":
        values = np.array([measure.values(scan) for scan in batch.scans()]).T
        matrix = np.zeros((*values.shape, values.shape[1]))
    elif options.uses_placements:
        areas = paired_areas(batch, measure.rate_range)
        values, matrix = np.array(areas.area).T, areas.covariances()
    else:
        values, matrix = _influence_covariances(batch, options)
    return measure.standardized(values), measure.slope**2 * matrix


def _influence_covariances(
    batch: ModelBatch, options: StudyOptions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values and covariances from influence values, or from changes by the jackknife."""
    measure, jackknife = options.measure, options.covariance == "jackknife"
    batch = batch.in_rank_order()  # sums of fractions depend on the order of rows
    n_pos, n_neg = batch.class_sums(np.ones(len(batch.rows), np.int64))
    defined = (n_pos > 1) & (n_neg > 1)
    quantities = dict.fromkeys(batch.models, measure)
    estimates, influences = model_influences(batch, quantities, jackknife=jackknife)
    # Values that do not depend on the prevalence vary with the rows of each class separately.
    separate = not (jackknife or measure.depends_on_prevalence)
    segment = batch.segment if separate else batch.starts[:-1]
    size = np.diff(np.append(segment, len(batch.rows)))[:, None, None]
    sums = sums_of_products(influences, influences, segment)
    with np.errstate(divide="ignore", invalid="ignore"):
        matrix = size / (size - 1) * sums
    matrix = matrix[0::2] + matrix[1::2] if separate else matrix
    matrix[~defined] = np.nan
    constant = np.diagonal(matrix, axis1=1, axis2=2) < ZERO_VARIANCE
    matrix[constant[:, :, None] | constant[:, None, :]] = 0
    return np.array(estimates).T, matrix


class Components(NamedTuple):
    """Mean squares of the values of t modalities and r readers, and means of their covariances.

    `ms_modality`, `ms_reader` and `ms_residual` are those of the analysis of variance without
    replications; NaN for one modality or one reader.
    """

    n_readers: int
    n_modalities: int
    ms_modality: NDArray[np.float64]
    ms_reader: NDArray[np.float64]
    ms_residual: NDArray[np.float64]
    var_error: NDArray[np.float64]
    cov1: NDArray[np.float64]
    cov2: NDArray[np.float64]
    cov3: NDArray[np.float64]

    @classmethod
    def of_values(cls, values: NDArray[np.float64], covariances: NDArray[np.float64]) -> Components:
        """Return the components of each group, from arrays with the axes group, t, r, (t, r)."""
        n_groups, t, r = values.shape
        of_modality, of_reader = (values.mean(axis, keepdims=True) for axis in (2, 1))
        mean = values.mean((1, 2), keepdims=True)
        residual = values - of_modality - of_reader + mean
        same_modality = np.eye(t, dtype=bool)[:, None, :, None]
        same_reader = np.eye(r, dtype=bool)[None, :, None, :]

        def mean_square(deviation: NDArray[np.float64], repeats: int, df: int) -> Any:
            total = repeats * (deviation**2).sum((1, 2))
            return total / df if df else np.full(n_groups, np.nan)

        def mean_covariance(cells: NDArray[np.bool_]) -> Any:
            selected = covariances[:, cells]
            return selected.mean(axis=1) if cells.any() else np.full(n_groups, np.nan)

        return cls(
            n_readers=r,
            n_modalities=t,
            ms_modality=mean_square(of_modality - mean, r, t - 1),
            ms_reader=mean_square(of_reader - mean, t, r - 1),
            ms_residual=mean_square(residual, 1, (t - 1) * (r - 1)),
            var_error=mean_covariance(same_modality & same_reader),
            cov1=mean_covariance(~same_modality & same_reader),
            cov2=mean_covariance(same_modality & ~same_reader),
            cov3=mean_covariance(~same_modality & ~same_reader),
        )

    @property
    def reader_covariance(self) -> NDArray[np.float64]:
        """The covariance of the modality effects of two readers: cov2 - cov3, may be negative."""
        if self.n_readers == 1:
            return np.zeros(len(self.cov2))
        return self.cov2 if self.n_modalities == 1 else self.cov2 - self.cov3

    @property
    def is_negative(self) -> NDArray[np.bool_]:
        """Whether `reader_covariance` is below 0, by more than a rounding error."""
        negative: NDArray[np.bool_] = self.reader_covariance < -ROUNDING_ERROR * self.var_error
        return negative

    @property
    def variances(self) -> dict[str, NDArray[np.float64]]:
        """The variance components, which can be negative, as columns."""
        if self.n_modalities == 1:
            var_reader = self.ms_reader - self.var_error + self.cov2
        else:
            var_reader = (self.ms_reader - self.ms_residual) / self.n_modalities
            var_reader += self.cov3 - self.cov1
        covariance = np.maximum(self.reader_covariance, 0)
        return {
            "var_reader": var_reader,
            "var_reader_modality": self.ms_residual - self.var_error + self.cov1 + covariance,
            "var_error": self.var_error,
            "cov1": self.cov1,
            "cov2": self.cov2,
            "cov3": self.cov3,
        }

    def error(self, fixed: FixedFactor | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return r times the variance of the modality effect of a mean over readers, and its df.

        The degrees of freedom are Hillis' (2007), and infinite for fixed readers.
        """
        r, covariance = self.n_readers, np.maximum(self.reader_covariance, 0)
        if fixed == "readers":
            own = self.var_error if self.n_modalities == 1 else self.var_error - self.cov1
            return own + (r - 1) * covariance, np.full(len(own), np.inf)
        base = self.ms_reader if self.n_modalities == 1 else self.ms_residual
        df = (r - 1) * max(self.n_modalities - 1, 1)
        base = np.where(base < ZERO_VARIANCE, 0, base)
        error = base + r * covariance
        with np.errstate(divide="ignore", invalid="ignore"):
            return error, df * (error / base) ** 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """The values of the readings of some groups, with the axes group, modality and reader."""

    batch: ModelBatch
    options: StudyOptions
    modalities: NDArray[np.int64]
    readers: NDArray[np.int64]
    values: NDArray[np.float64]
    covariances: NDArray[np.float64]

    @classmethod
    def of_batch(cls, batch: ModelBatch, factors: Factors, options: StudyOptions) -> Study:
        """Estimate the values of a batch of groups with the same modalities and readers."""
        modalities, readers = factors.crossed(batch.models)
        shape = len(modalities), len(readers)
        values, covariances = reading_estimates(batch, options)
        return cls(
            batch=batch,
            options=options,
            modalities=modalities,
            readers=readers,
            # Models are sorted by modality and reader.
            values=values.reshape(-1, *shape),
            covariances=covariances.reshape(-1, *shape, *shape),
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of all rows: of the means, and then of each reader."""
        singles = [(i,) for i in range(len(self.modalities))]
        pairs = list(combinations(range(len(self.modalities)), 2))
        lines = [self._mean_line(own) for own in (*singles, *pairs)]
        for reader in range(len(self.readers)):
            lines += [self._reader_line(own, reader) for own in (*singles, *pairs)]
        undefined = np.full(len(self.values), np.nan)
        columns = {
            name: np.stack([line.get(name, undefined) for line in lines], axis=1).ravel()
            for name in {name: None for line in lines for name in line}
        }
        # The pairs of the means, and those of each reader, are a family of tests.
        families = np.arange(len(columns["p_value"])) // (len(singles) + len(pairs))
        adjusted = adjust_p_values(columns["p_value"], families, self.options.adjust)
        return columns | {"p_adjusted": adjusted}

    def _mean_line(self, own: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """Return the columns of the mean of a modality, or of the difference of two means."""
        values, covariances, fixed = self.values, self.covariances, self.options.fixed
        if len(own) == 1:  # the estimates of one modality do not depend on other modalities
            values, covariances = values[:, own], covariances[:, own][:, :, :, own]
        components = Components.of_values(values, covariances)
        error, df = components.error(fixed)
        columns = components.variances
        if len(own) == 2:
            columns |= _equality_test(components, error, df)
        line = self._line(
            own,
            self.values.mean(axis=2)[:, own],
            len(own) * error / components.n_readers,
            df,
            one_reader=np.full(len(df), components.n_readers == 1 and fixed != "readers"),
            negative_covariance=components.is_negative,
        )
        return line | columns | {"reader": np.full(len(df), -1)}

    def _reader_line(self, own: tuple[int, ...], reader: int) -> dict[str, NDArray[Any]]:
        """Return the columns of a modality for one reader, or of the difference of two."""
        matrix = self.covariances[:, own, reader][:, :, own, reader]
        var_error = np.diagonal(matrix, axis1=1, axis2=2).mean(axis=1)
        columns, variance = {"var_error": var_error}, var_error
        if len(own) == 2:
            columns["cov1"] = matrix[:, 0, 1]
            variance = 2 * (var_error - matrix[:, 0, 1])
        df = np.full(len(matrix), np.inf)
        line = self._line(own, self.values[:, own, reader], variance, df)
        return line | columns | {"reader": np.full(len(df), self.readers[reader])}

    def _line(
        self,
        own: tuple[int, ...],
        values: NDArray[np.float64],
        variance: NDArray[np.float64],
        df: NDArray[np.float64],
        **notes: NDArray[np.bool_],
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of one value, or of the difference of two, with this variance."""
        from scipy.special import stdtrit

        is_pair, options = len(own) == 2, self.options
        estimate = values[:, 0] - values[:, 1] if is_pair else values[:, 0]
        variance = np.where(variance < ZERO_VARIANCE, 0, variance)
        variance[np.isnan(estimate)] = np.nan
        se = np.sqrt(np.where(variance > 0, variance, np.nan))
        low, high = options.measure.bounds
        if is_pair:
            low, high = low - high, high - low
        half = stdtrit(df, (1 + options.level) / 2) * se
        statistic = estimate / se if is_pair else np.full(len(se), np.nan)
        statistic[(variance == 0) & (estimate == 0) & is_pair] = 0.0
        n_pos, n_neg = self.batch.class_sums(np.ones(len(self.batch.rows), np.int64))
        a, b = (*self.modalities[list(own)].tolist(), -1)[:2]
        has_df = (variance > 0) & np.isfinite(df)
        return {
            "group": self.batch.groups,
            "modality_a": np.full(len(se), a),
            "modality_b": np.full(len(se), b),
            "estimate": estimate,
            "lower": np.clip(estimate - half, low, high),
            "upper": np.clip(estimate + half, low, high),
            "p_value": normal_p_value(statistic, "two-sided", df),
            "se": se,
            "statistic": statistic,
            "df": np.where(has_df, df, np.nan),
            "n_readers": np.full(len(se), len(self.readers)),
            "n_cases": n_pos + n_neg,
            "n_pos": n_pos,
            "n_neg": n_neg,
            "note": self._notes(estimate, variance, df, notes),
        }

    def _notes(
        self,
        estimate: NDArray[np.float64],
        variance: NDArray[np.float64],
        df: NDArray[np.float64],
        notes: Mapping[str, NDArray[np.bool_]],
    ) -> NDArray[np.object_]:
        """Return the first note that applies in each group."""
        units = self.batch.class_sums(np.ones(len(self.batch.rows), np.int64))
        if self.batch.clusters is not None:
            units = np.array(self.batch.clusters.sizes[:2])
        random_cases = self.options.fixed != "cases"
        applies: dict[Any, NDArray[Any]] = {
            **absent_classes(*units),
            "one_positive": (units[0] == 1) & random_cases,
            "one_negative": (units[1] == 1) & random_cases,
            "zero_variance": variance == 0,
            "no_solution": np.isnan(estimate),
            "no_limits": np.isnan(variance),
            # Tests with Hillis' degrees of freedom keep their level with few cases.
            "few_rows": few_rows(*units) * (random_cases & np.isinf(df)),
            "unmatched": self.batch.unmatched,
            **notes,
        }
        return first_notes(applies)


def _equality_test(
    components: Components, error: NDArray[np.float64], df: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the columns of the test that the means of all modalities are equal."""
    from scipy.special import chdtrc, fdtrc

    df_numerator = components.n_modalities - 1
    usable = np.where(error > ZERO_VARIANCE, error, np.nan)
    statistic = components.ms_modality / usable
    is_finite = np.isfinite(df)
    p_value = np.where(
        is_finite,
        fdtrc(df_numerator, np.where(is_finite, df, 1.0), statistic),
        chdtrc(df_numerator, df_numerator * statistic),  # the limit for infinite df
    )
    return {
        "f_p_value": p_value,
        "f_statistic": statistic,
        "f_df": np.where(np.isnan(statistic), np.nan, df_numerator),
        "f_df_denominator": np.where(is_finite & ~np.isnan(statistic), df, np.nan),
    }
