"""The options of the commands, and their conversion to arguments of the package.

The help is shown without numpy, which modules of later layers load: they are imported in functions.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import isnan
from pathlib import Path  # noqa: TC003 - cyclopts evaluates the annotations
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from zoneinfo import ZoneInfo

import polars as pl
from cyclopts import Parameter

from rocframe.errors import (
    AmbiguousCountError,
    OptionValueError,
    RepeatedNameError,
    ReservedColumnError,
)
from rocframe.options import (
    NOT_GIVEN,
    ComparisonMethod,
    GateMethod,
    KindName,
    NotGiven,
    parse_number,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.io.logs import Logs
    from rocframe.reports.evaluation import ReportOptions

AdjustName: TypeAlias = Literal["holm", "bh", "none"]
FormatName: TypeAlias = Literal["table", "json", "jsonl", "csv"]

COLUMN, FLAG = Parameter(metavar="COLUMN"), Parameter(show_default=False)
WINDOW_LENGTH = Parameter(metavar="WINDOW_LENGTH", allow_leading_hyphen=True)
RATE_OR_RANGE = Parameter(metavar="NUMBER|LOW:HIGH")
OLD, NEW = "old", "new"  # the models of `gate`
GROUP_OPTIONS = ("--by", "--between", "--over")  # of columns by which a store can be divided


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Columns of the logs and options of all commands; these descriptions are the help texts.

    Attributes
    ----------
    label
        Column with the true class: Boolean, 0/1, or, with --positive, any values.
    score
        Column with the score, higher for positives. Repeat it to compare columns as models.
    by
        Group column; each group has its own curve. Repeat it for several columns.
    positive
        Value of the label that is the positive class. Dates and times have ISO format.
    weight
        Column with the weight of a row.
    count
        Column with the number of identical rows that a row represents.
    no_count
        Ignore a column named "count" that does not contain numbers of identical rows.
    missing
        Rows with a missing label, score or weight. "raise": stop with an error. "drop": leave them
        out and count them. "worst": rows without a score are errors at every threshold.
    skip_unreadable
        Skip empty, truncated and damaged files, and print their names.
    store
        Folder with compressed predictions, to which rocframe evaluate adds logs. All other commands
        only read it, and no LOG is given. The options have the names of columns in the logs; --by
        can name any group column of the store.
    since
        First day of the store to read, such as 2026-11-01.
    until
        Last day of the store to read, which is included.
    last
        Length of the window of the store to read, such as 28d, 4w or 3mo; for integers, such as 10.
        It ends at --until, or at the last day of the store.
    format
        Format of the printed table: "table" for people; "json", "jsonl" (an object on each line) or
        "csv" for programs, with all columns, rows and digits, and all messages on stderr.
    quiet
        Print only errors and warnings, and the table if --format is given.
    verbose
        Show each step at once, with the seconds since the start.
    """

    label: Annotated[str | None, COLUMN]
    score: Annotated[list[str], COLUMN]
    by: Annotated[list[str] | None, COLUMN] = None
    positive: Annotated[str | None, Parameter(metavar="VALUE", allow_leading_hyphen=True)] = None
    weight: Annotated[str | None, COLUMN] = None
    count: Annotated[str | None, COLUMN] = None
    no_count: Annotated[bool, FLAG] = False
    missing: Literal["raise", "drop", "worst"] = "raise"
    skip_unreadable: Annotated[bool, FLAG] = False
    store: Annotated[Path | None, Parameter(metavar="FOLDER")] = None
    since: Annotated[str | None, Parameter(metavar="DAY", allow_leading_hyphen=True)] = None
    until: Annotated[str | None, Parameter(metavar="DAY", allow_leading_hyphen=True)] = None
    last: Annotated[str | None, Parameter(metavar="WINDOW_LENGTH")] = None
    format: FormatName | None = None
    quiet: Annotated[bool, Parameter(alias="-q", show_default=False)] = False
    verbose: Annotated[bool, Parameter(alias="-v", show_default=False)] = False

    # Options of single commands:
    adds_logs = False  # whether the command adds logs to the store
    drop_missing_parts = False
    is_over_partition = False  # whether the windows are the partitions of the store

    def check(self, sources: Sequence[str]) -> None:
        """Raise an error if options cannot be combined with each other or with the logs."""
        if self.no_count and self.count is not None:
            raise OptionValueError("--count and --no-count cannot be combined.")
        if self.quiet and self.verbose:
            raise OptionValueError("--quiet and --verbose cannot be combined.")
        if self.store is None and (names := list(self.window_options | self.new_store_options)):
            raise needs_store(names[0])
        if self.since is not None and self.last is not None:
            raise OptionValueError(
                "--last: --since is given as well.\nLeave out one of the two options."
            )
        if self.store is None and not sources:
            raise OptionValueError(
                "LOG: no logs are given.\nPass files, folders or globs, or a store as --store."
            )
        if self.store is not None and sources and not self.adds_logs:
            raise OptionValueError(
                f"--store {self.store}: this command reads a store, and adds no logs.\n"
                "Add logs with rocframe evaluate LOG --store, or leave out LOG or --store."
            )

    @property
    def window_options(self) -> dict[str, str]:
        """The options that select a window, without those that are not given."""
        options = {"since": self.since, "until": self.until, "last": self.last}
        return {name: text for name, text in options.items() if text is not None}

    @property
    def new_store_options(self) -> dict[str, Any]:
        """The given options of a new store, of `evaluate` only."""
        return {}

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        """The columns that each option names, such as "--by", in rising order of precedence."""
        optional = {"--weight": self.weight, "--count": self.count, "--label": self.label}
        others = {option: [name] for option, name in optional.items() if name is not None}
        return {"--by": self.by or [], "--score": self.score, **others}

    def required_columns(self) -> dict[str, str]:
        """Return a dict from each column to read to its option, such as "--by"."""
        columns: dict[str, str] = {}
        for option, names in self.columns.items():
            if repeated := [name for name in names if names.count(name) > 1]:
                raise RepeatedNameError.compose(option[2:], repeated[0], names)
            columns |= dict.fromkeys(names, option)
        return columns

    @property
    def group_columns(self) -> dict[str, str]:
        """The group columns to read from a store, with their options."""
        return {name: option for option in GROUP_OPTIONS for name in self.columns.get(option, [])}

    def check_count(self, logs: Logs) -> None:
        """Raise an error if logs have a column "count" and no option says what it means."""
        if self.count is None and not self.no_count and logs.has_column("count"):
            raise AmbiguousCountError(
                "--count: the log has a column named 'count', which may hold the number of rows "
                "that each row represents.\n"
                "If the column holds these numbers, pass --count count. If not, pass --no-count."
            )

    def report_options(self, schema: Mapping[str, pl.DataType]) -> ReportOptions:
        """Return the options of the report, with `--positive` in the dtype of the labels."""
        from rocframe.reports.evaluation import ReportOptions

        positive = parse_value(self.positive, schema.get(self.label or "", pl.String()))
        return ReportOptions(**self._report_arguments() | {"positive": positive})

    def _report_arguments(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "score": scores_by_model(self.score),
            "by": self.by,
            "weight": self.weight,
            "count": self.count,
            "missing": self.missing,
        }


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(LogOptions):
    """The options of `evaluate` and `report`.

    Attributes
    ----------
    over
        Group column over which the page averages curves. By default "fold", if --by names it.
    id
        Column that identifies the instance of a row, to compare the models in the group column
        "model". Repeat it for several columns.
    kind
        Kind of curve; by default roc and precision_recall. Repeat it for several kinds. In
        curves.parquet, the axes of the first kind come first.
    ci
        Method of the confidence interval of the AUC.
    level
        Confidence level of the intervals, above 0 and below 1, such as 0.95.
    unmatched
        Instances that only one of two compared models has. "raise": stop with an error. "drop":
        leave them out of the comparison and count their rows.
    cost
        Cost of an outcome (tp, fp, fn or tn), such as fp=1; others are 0. The page then states the
        threshold of lowest cost of each model. Repeat it, or separate several costs by commas.
    prevalence
        Prevalence, between 0 and 1, of the costs. By default, that of each group.
    subject_to
        Constraint of the thresholds on the page, as in decide, such as alerts=:100. Without --cost,
        the page states the threshold of highest recall. Repeat it for several constraints.
    title
        Title of the page.
    """

    over: Annotated[str | None, COLUMN] = None
    id: Annotated[list[str] | None, COLUMN] = None
    kind: Annotated[list[KindName] | None, Parameter(metavar="KIND")] = None
    ci: Literal["logit_delong", "delong", "newcombe", "none"] = "logit_delong"
    level: Annotated[float, Parameter(metavar="LEVEL")] = 0.95
    unmatched: Literal["raise", "drop"] = "raise"
    cost: Annotated[list[str] | None, Parameter(metavar="NAME=NUMBER", alias="--costs")] = None
    prevalence: Annotated[float | None, Parameter(metavar="NUMBER")] = None
    subject_to: Annotated[list[str] | None, Parameter(metavar="METRIC=LOW:HIGH")] = None
    title: Annotated[str | None, Parameter(metavar="TEXT")] = None

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        """The columns that each option names."""
        return {"--id": self.id or [], **super().columns}

    def _report_arguments(self) -> dict[str, Any]:
        return {
            **super()._report_arguments(),
            "over": NOT_GIVEN if self.over is None else self.over,
            "id": one_or_all(self.id),
            "ci": None if self.ci == "none" else self.ci,
            "level": self.level,
            "unmatched": self.unmatched,
            "costs": parse_amounts("--cost", self.cost, COST_HINT),
            "prevalence": self.prevalence,
            "subject_to": parse_ranges(self.subject_to),
            **({"kind": self.kind} if self.kind else {}),
        }


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class StoreEvaluationOptions(EvaluationOptions):
    """The options of `evaluate`, which also adds logs to a store.

    Attributes
    ----------
    store
        Folder in which the predictions are kept in compressed form. Only new and changed logs are
        read, and the tables are those of the whole store. A changed log replaces its earlier rows;
        the rows of a log that no longer exists are kept. Without LOG, the store is evaluated as it
        is. Later runs need --label and --score, and the other options of the first run or none of
        them; --by can name any of its group columns.
    partition_by
        Column with the day of a prediction, which divides the store into folders such as
        day=2026-11-01; also text or integers. Times become dates. Required for --since, --until and
        --last.
    resolution
        Round scores in the store down to multiples of this number, so that it becomes small.
    relative
        --resolution is relative to the score, for scores of very different sizes.
    max_envelope
        Instead of --resolution, use the coarsest resolution for which the uncertainty of each AUC
        of a log is at most this number, such as 1e-4.
    drop_missing_parts
        Accept that files of the store are missing whose logs do not exist or are not given.
    """

    store: Annotated[Path | None, Parameter(metavar="FOLDER")] = None
    partition_by: Annotated[str | None, COLUMN] = None
    resolution: Annotated[float | None, Parameter(metavar="NUMBER")] = None
    relative: Annotated[bool, FLAG] = False
    max_envelope: Annotated[float | None, Parameter(metavar="NUMBER")] = None
    drop_missing_parts: Annotated[bool, FLAG] = False

    adds_logs = True

    def check(self, sources: Sequence[str]) -> None:
        """Raise an error if options cannot be combined with each other or with the logs."""
        if self.drop_missing_parts and self.store is None:
            raise needs_store("drop_missing_parts")
        super().check(sources)

    @property
    def new_store_options(self) -> dict[str, Any]:
        """The given options of a new store."""
        names = ("partition_by", "resolution", "relative", "max_envelope")
        options = {name: getattr(self, name) for name in names}
        return {
            k: value for k, value in options.items() if value is not None and value is not False
        }


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ThresholdOptions(LogOptions):
    """The options of `decide` and `gate` about rules that choose thresholds, and about metrics.

    Attributes
    ----------
    cost
        Cost of an outcome (tp, fp, fn or tn), such as fp=1; others are 0. Repeat it, or separate
        several costs by commas.
    benefit
        Benefit of an outcome, such as tp=20; others are 0. Repeat it, or separate several by
        commas.
    prevalence
        Prevalence, between 0 and 1, of rules, constraints and metrics. By default, that of each
        group.
    subject_to
        Constraint: a metric, "alerts" (the number of alerts) or "threshold" with its range, such as
        precision=0.9:1, precision=0.9: or alerts=:100. Repeat it for several constraints.
    minimize
        Use the threshold with the lowest value of the metric, or, with --maximize, the highest. By
        default, the best value of each metric.
    beta
        Weight of recall relative to precision in the metric f_beta.
    """

    cost: Annotated[list[str] | None, Parameter(metavar="NAME=NUMBER", alias="--costs")] = None
    benefit: Annotated[list[str] | None, Parameter(metavar="NAME=NUMBER", alias="--benefits")] = (
        None
    )
    prevalence: Annotated[float | None, Parameter(metavar="NUMBER")] = None
    subject_to: Annotated[list[str] | None, Parameter(metavar="METRIC=LOW:HIGH")] = None
    minimize: Annotated[bool | None, Parameter(negative="--maximize", show_default=False)] = None
    beta: Annotated[float, Parameter(metavar="NUMBER")] = 1.0

    def rule_arguments(self) -> dict[str, Any]:
        """Return the arguments of rules and metrics of `operating_point` and `gate`."""
        return {
            "costs": parse_amounts("--cost", self.cost, COST_HINT),
            "benefits": parse_amounts("--benefit", self.benefit, BENEFIT_HINT),
            "prevalence": self.prevalence,
            "subject_to": parse_ranges(self.subject_to),
            "minimize": self.minimize,
            "beta": self.beta,
        }


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DecisionOptions(ThresholdOptions):
    """The options of `decide`.

    Attributes
    ----------
    rule
        What the threshold optimizes: youden, closest_top_left, equal_error, expected_cost and bayes
        (with --cost), profit (with --benefit), or a metric such as f1. Repeat it for several rules.
    guarantee
        Confidence, such as 0.95, with which the constraints hold on new data. By default, they hold
        on these logs.
    """

    rule: Annotated[list[str] | None, Parameter(metavar="RULE")] = None
    guarantee: Annotated[float | None, Parameter(metavar="NUMBER")] = None

    def rule_arguments(self) -> dict[str, Any]:
        """Return the arguments of `operating_point`."""
        of_decisions = {"rule": self.rule or ["youden"], "guarantee": self.guarantee}
        return {**of_decisions, **super().rule_arguments()}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ModelOptions(ThresholdOptions):
    """The options of commands that compare models.

    Attributes
    ----------
    between
        Column with the name of the model, if the logs or the store have one row for each prediction
        of each model.
    baseline
        The model with which the others are compared: a value of the column --between, or one of
        several --score columns.
    id
        Column that identifies a row of all models, so that the test is paired. Without it, the test
        needs many more rows. Repeat it for several columns.
    threshold
        Threshold of all models, chosen without these logs, or, repeated, MODEL=NUMBER for each
        model. Two numbers in gate are those of the old and of the new model.
    fpr
        False positive rate at which the metric is compared, or the range of a partial area, such as
        0:0.1.
    tpr
        True positive rate, or the range of a partial area, such as 0.9:1.
    specificity
        Specificity, 1 - FPR, or the range of a partial area.
    sensitivity
        Another name of --tpr.
    alert_rate
        Share of the rows with the highest scores at which the metric is compared, such as 0.01.
    alerts
        Number of the rows with the highest scores at which the metric is compared.
    rule
        Rule that chooses the threshold of each model, as in decide, except bayes.
    unmatched
        Rows whose --id only one model has. "raise": stop with an error. "drop": leave them out of
        the comparison and count them.
    cluster
        Column of clusters of dependent rows, such as all rows of one user. Two logs also need --id.
    seed
        Seed of the random draws of the method bootstrap.
    """

    between: Annotated[str | None, COLUMN] = None
    baseline: Annotated[str | None, Parameter(metavar="MODEL", allow_leading_hyphen=True)] = None
    id: Annotated[list[str] | None, COLUMN] = None
    threshold: Annotated[
        list[str] | None, Parameter(metavar="NUMBER|MODEL=NUMBER", allow_leading_hyphen=True)
    ] = None
    fpr: Annotated[str | None, RATE_OR_RANGE] = None
    tpr: Annotated[str | None, RATE_OR_RANGE] = None
    specificity: Annotated[str | None, RATE_OR_RANGE] = None
    sensitivity: Annotated[str | None, RATE_OR_RANGE] = None
    alert_rate: Annotated[float | None, Parameter(metavar="NUMBER")] = None
    alerts: Annotated[float | None, Parameter(metavar="NUMBER")] = None
    rule: Annotated[str | None, Parameter(metavar="RULE")] = None
    unmatched: Literal["raise", "drop"] = "raise"
    cluster: Annotated[str | None, COLUMN] = None
    seed: Annotated[int, Parameter(metavar="NUMBER")] = 0

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        """The columns that each option names."""
        optional = {"--cluster": self.cluster, "--between": self.between}
        single = {option: [name] for option, name in optional.items() if name is not None}
        return {**single, "--id": self.id or [], **super().columns}

    def check(self, sources: Sequence[str]) -> None:
        """Raise an error if options cannot be combined with each other or with the logs."""
        super().check(sources)
        if self.between is not None and len(self.score) > 1:
            problem = "several --score columns are models as well"
            hint = "Pass one --score column, or leave out --between."
            raise _invalid_value("--between", self.between, problem, hint)

    def arguments(self, models: pl.DataType | None, pair: Sequence[str] = ()) -> dict[str, Any]:
        """Return the arguments of `gate` and `compare` without columns, `method` and `metric`.

        `models` is the dtype of the column --between. Two thresholds are those of the models
        `pair`.
        """
        from rocframe.comparisons.hypothesis import RATES_OF_AREAS

        return {
            "threshold": self._threshold_argument(models or pl.String(), pair),
            **{name: parse_rate(f"--{name}", getattr(self, name)) for name in RATES_OF_AREAS},
            "alert_rate": self.alert_rate,
            "alerts": self.alerts,
            "rule": self.rule,
            **self.rule_arguments(),
            "unmatched": self.unmatched,
            "cluster": self.cluster,
            "seed": self.seed,
        }

    def _threshold_argument(
        self, models: pl.DataType, pair: Sequence[str]
    ) -> float | dict[Any, float] | None:
        """Return the threshold of all models, or a dict with that of each model."""
        thresholds: dict[Any, float] = {}
        for number, text in enumerate(self.threshold or []):
            name, equals, value = text.rpartition("=")
            threshold = _float_from_text(value)
            if threshold is None:
                problem = "expected a number, or a model and a number"
                raise _invalid_value("--threshold", text, problem, THRESHOLD_HINT)
            if not equals and len(self.threshold or []) == 1:
                return threshold
            if not equals and number >= len(pair):
                problem = (
                    "expected the threshold of the old and of the new model"
                    if pair
                    else "this threshold has no model"
                )
                raise _invalid_value("--threshold", text, problem, THRESHOLD_HINT)
            thresholds[parse_value(name, models) if equals else pair[number]] = threshold
        return thresholds or None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(ModelOptions):
    """The options of `gate`.

    Attributes
    ----------
    margin
        Largest acceptable deterioration of the metric, such as 0.005.
    metric
        Metric of the models, such as recall, precision, average_precision or brier. Metrics of a
        point of the curve also need --threshold, a rate, --alerts or --rule. brier and log_loss
        need probabilities.
    method
        Method of the test. The default depends on the metric and on --id; it is printed.
    level
        Confidence level of the one-sided limits, above 0.5 and below 1. A group passes if its
        adjusted p-value is at most 1 - level.
    adjust
        Adjustment of the p-values for the number of groups. "holm" limits the probability of at
        least one false pass, "bh" the expected share of false passes. "none": no adjustment.
    min_rows
        Groups with fewer positives or negatives in the old log do not count. With 0, every group
        does.
    """

    margin: Annotated[float, Parameter(metavar="NUMBER", allow_leading_hyphen=True)]
    metric: Annotated[str, Parameter(metavar="METRIC")] = "auc"
    method: Annotated[GateMethod | None, Parameter(metavar="METHOD")] = None
    level: Annotated[float, Parameter(metavar="LEVEL")] = 0.95
    adjust: AdjustName = "holm"
    min_rows: Annotated[int, Parameter(metavar="NUMBER")] = 0

    def gate_method(self, *, side_by_side: bool) -> GateMethod | NotGiven:
        """Return the method of the test; raise an error if it does not fit the option `id`."""
        from rocframe.comparisons.gate import GATE_TESTS

        if side_by_side and self.id is not None:
            hint = "Omit --id: both scores of a row are in the same log."
            raise OptionValueError(f"--id {self.id[0]}: the rows are already paired.\n{hint}")
        is_paired = side_by_side or self.id is not None
        if self.method is None:
            return NOT_GIVEN
        needs_pairs = GATE_TESTS[self.method].is_paired
        if is_paired and not needs_pairs:
            problem = "this method is for logs of different rows, but the rows are paired"
            hint = "Use a method for paired rows" + (", or omit --id." if self.id else ".")
            raise _invalid_value("--method", self.method, problem, hint)
        if needs_pairs and not is_paired:
            problem = "this method is for paired rows, and no column identifies the rows"
            hint = "Pass --id, or omit --method to use the default method for different rows."
            raise _invalid_value("--method", self.method, problem, hint)
        return self.method

    def arguments(self, models: pl.DataType | None, pair: Sequence[str] = ()) -> dict[str, Any]:
        """Return the arguments of `gate` except the columns and `method`."""
        return {
            **super().arguments(models, pair),
            "margin": self.margin,
            "metric": self.metric,
            "level": self.level,
            "adjust": adjustment(self.adjust),
            "min_rows": self.min_rows,
        }


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(ModelOptions):
    """The options of `compare`.

    Attributes
    ----------
    metric
        Metric of the models, such as auc (the default), recall or brier. Metrics of a point of the
        curve also need --threshold, a rate, --alerts or --rule. Repeat it for several metrics.
    method
        Method of the test. The default depends on the metric and on --id; it is printed.
    margin
        Test whether each model is not worse than the --baseline by this margin.
    level
        Confidence level of the limits, above 0 and below 1, such as 0.95.
    adjust
        Adjustment of the p-values for the number of tests in each group. "holm" limits the
        probability of at least one false rejection, "bh" the expected share of false rejections.
        "none": no adjustment.
    """

    metric: Annotated[list[str] | None, Parameter(metavar="METRIC")] = None
    method: Annotated[ComparisonMethod | None, Parameter(metavar="METHOD")] = None
    margin: Annotated[float | None, Parameter(metavar="NUMBER", allow_leading_hyphen=True)] = None
    level: Annotated[float, Parameter(metavar="LEVEL")] = 0.95
    adjust: AdjustName = "holm"

    def arguments(self, models: pl.DataType | None, pair: Sequence[str] = ()) -> dict[str, Any]:
        """Return the arguments of `compare` except the columns and `method`."""
        return {
            **super().arguments(models, pair),
            "metric": one_or_all(self.metric) or "auc",
            "margin": self.margin,
            "level": self.level,
            "adjust": adjustment(self.adjust),
        }


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MonitoringOptions(LogOptions):
    """The options of `drift`.

    Attributes
    ----------
    label
        Column with the true class: Boolean, 0/1, or, with --positive, any values. Without it, the
        distributions of the scores are compared instead of the AUC.
    no_label
        Compare the scores, although a file of options names the column --label.
    over
        Column of the windows, such as the day. By default, the partition column of the store.
    every
        Distance between the starts of two windows of the column --over, such as 1w, or 10 for
        integers. By default, each value of the column is a window.
    period
        Length of a window, such as 4w. By default, --every.
    offset
        Shift of the starts of all windows, such as 2d.
    reference
        Window with which the others are compared: "first", "previous", a value of --over (with
        --every, the start of a window), or files of predictions, such as those of the first month.
    margin
        With --label, a window fails if its AUC is shown to be lower than that of the reference by
        more than this margin, such as 0.02. Without --label, PSI or KS must also be above it, such
        as 0.1. By default, a window fails if it differs from the reference.
    level
        Confidence level, above 0 and below 1, such as 0.95. A window fails if its adjusted p-value
        is at most 1 - level.
    adjust
        Adjustment of the p-values for the number of windows of a group. "holm" limits the
        probability of at least one false alarm, "bh" the expected share of false alarms. "none": no
        adjustment. Without --label, PSI and KS are adjusted separately, so that this probability is
        at most doubled.
    min_rows
        Windows with fewer positives or negatives, or, without --label, scores, do not count, and
        are no reference of "first" and "previous"; other references need as many. With 0, every
        window counts, and fails if it cannot be compared.
    bins
        Without --label, number of quantile bins of PSI, or their edges, such as 0:0.1:0.5:1. By
        default, 10.
    max_missing
        Without --label, a window fails if its share of missing scores exceeds that of the reference
        by more than this number. By default, 0.1.
    """

    label: Annotated[str | None, COLUMN] = None
    no_label: Annotated[bool, FLAG] = False
    over: Annotated[str | None, COLUMN] = None
    every: Annotated[str | None, WINDOW_LENGTH] = None
    period: Annotated[str | None, WINDOW_LENGTH] = None
    offset: Annotated[str | None, WINDOW_LENGTH] = None
    reference: Annotated[str, Parameter(metavar="WINDOW|FILE", allow_leading_hyphen=True)] = "first"
    margin: Annotated[float | None, Parameter(metavar="NUMBER", allow_leading_hyphen=True)] = None
    level: Annotated[float, Parameter(metavar="LEVEL")] = 0.95
    adjust: AdjustName = "holm"
    min_rows: Annotated[int, Parameter(metavar="NUMBER")] = 0
    bins: Annotated[str | None, Parameter(metavar="NUMBER|EDGES", allow_leading_hyphen=True)] = None
    max_missing: Annotated[float | None, Parameter(metavar="NUMBER")] = None

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        """The columns that each option names."""
        return {"--over": [] if self.over is None else [self.over], **super().columns}

    def check(self, sources: Sequence[str]) -> None:
        """Raise an error if options cannot be combined with each other or with the logs."""
        super().check(sources)
        if self.no_label and self.label is not None:
            raise OptionValueError("--label and --no-label cannot be combined.")
        if self.over is None and self.store is None:
            raise OptionValueError(
                "--over: the column of the windows is not given.\nUse, for example, --over day."
            )
        for name in ("period", "offset"):
            if (text := getattr(self, name)) is not None and self.every is None:
                problem = "the windows have no distance"
                raise _invalid_value(f"--{name}", text, problem, "Pass --every as well.")
        if self.label is None and self.positive is not None:
            hint = "Pass --label as well."
            raise _invalid_value("--positive", self.positive, "there is no column of labels", hint)
        if self.label is None and self.margin is not None:
            parse_number("margin", self.margin, low=0, closed="left", example=0.1)
        for name in ("bins", "max_missing"):
            if (value := getattr(self, name)) is not None and self.label is not None:
                problem = "this option is for scores without labels"
                hint = "Leave out this option, or --label."
                raise _invalid_value(f"--{name.replace('_', '-')}", str(value), problem, hint)
        if self.max_missing is not None:
            parse_number("max_missing", self.max_missing, low=0, closed="left", example=0.1)

    @property
    def is_over_partition(self) -> bool:  # type: ignore[override]
        """Whether the windows are the partitions of the store."""
        return self.over is None

    def add_verdicts(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the result of the command, with `passed` and a `verdict` on each window.

        A window without an earlier window that does not overlap it has no reference, and a window
        that overlaps its reference has no test: like small windows, they do not count. An error if
        all windows are small. A window with missing scores is not small because of them.
        """
        for name in ("passed", "verdict"):
            if name in table.columns:
                raise ReservedColumnError.compose(name, table.columns)
        tests, has_missing = {"difference": "p_adjusted"}, pl.lit(value=False)
        if self.label is None:
            tests = {name: f"{name}_p_adjusted" for name in ("psi", "ks")}
            increase = pl.col("missing_share") - pl.col("reference_missing_share")
            has_missing = increase > (0.1 if self.max_missing is None else self.max_missing)
            has_missing &= pl.col("n") + pl.col("n_missing") >= self.min_rows
        has_margin = self.label is None and self.margin is not None
        differs = [
            (pl.col(p_value) <= 1 - self.level)
            & (pl.col(value) > self.margin if has_margin else pl.lit(value=True))
            for value, p_value in tests.items()
        ]
        window = table[table.columns[len(self.by or [])]]
        has_no_pair = pl.col("note").is_null() & pl.col("reference").is_null()
        verdicts = {
            "missing_scores": has_missing,
            "ignored": pl.col("note").is_in(["below_min_rows", "reference:below_min_rows"]),
            "reference": pl.col("reference") == window,
            "drift": pl.any_horizontal(differs),
            "no_drift": pl.any_horizontal(pl.col(*tests.values()).is_not_null()),
            "no_test": has_no_pair | (pl.col("note") == "shared_rows"),
        }
        verdict = pl.coalesce(
            *(pl.when(is_true).then(pl.lit(name)) for name, is_true in verdicts.items()),
            pl.lit("undecided"),
        )
        passed = {"no_drift": True} | dict.fromkeys(("missing_scores", "drift", "undecided"), False)
        result = table.with_columns(
            verdict.replace_strict(passed, default=None, return_dtype=pl.Boolean).alias("passed"),
            verdict.alias("verdict"),
        )
        if result.height and (result["verdict"] == "ignored").all():
            rows = "scores" if self.label is None else "positives or negatives"
            problem = f"all windows, or their references, have fewer {rows} than this number"
            hint = "Such windows do not count, so no window is left. Pass a smaller number."
            raise _invalid_value("--min-rows", str(self.min_rows), problem, hint)
        return result


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(LogOptions):
    """The options of `calibrate`.

    Attributes
    ----------
    bins
        Number of bins of ece, mce, the Hosmer-Lemeshow test and the parts of the Brier score, or
        their edges from 0 to 1, such as 0:0.1:0.5:1.
    method
        Type of the bins: with equal numbers of rows ("quantile") or equal widths ("uniform").
    """

    bins: Annotated[str, Parameter(metavar="NUMBER|EDGES")] = "10"
    method: Literal["quantile", "uniform"] = "quantile"


# The options of each command.
COMMAND_OPTIONS: dict[str, type[LogOptions]] = {
    "evaluate": StoreEvaluationOptions,
    "report": EvaluationOptions,
    "decide": DecisionOptions,
    "gate": ReleaseOptions,
    "compare": ComparisonOptions,
    "drift": MonitoringOptions,
    "calibrate": CalibrateOptions,
}


def parse_bins_option(text: str) -> int | list[float]:
    """Parse a number of bins such as "10", or their edges such as "0:0.1:1"."""
    numbers = [_float_from_text(part) for part in text.split(":")]
    if None in numbers or (len(numbers) == 1 and not text.isdecimal()):
        problem = "expected a number of bins or their edges"
        hint = "Use, for example, --bins 10 or --bins 0:0.1:0.5:1."
        raise _invalid_value("--bins", text, problem, hint)
    return int(text) if len(numbers) == 1 else numbers  # type: ignore[return-value]


def scores_by_model(names: Sequence[str]) -> str | dict[str, str]:
    """Return a single score column as a string, and several columns as a dict with their names."""
    return names[0] if len(names) == 1 else {name: name for name in names}


def adjustment(name: str) -> str | None:
    """Return the argument `adjust` for an option."""
    return None if name == "none" else name


def needs_store(name: str) -> OptionValueError:
    """Return the error for an option that is given without `--store`."""
    option = f"--{name.replace('_', '-')}"
    return OptionValueError(
        f"{option}: this option needs a store.\nPass a folder as --store, or leave out {option}."
    )


def one_or_all(names: list[str] | None) -> str | list[str] | None:
    """Return a single name as a string, and several names as a list."""
    return names[0] if names is not None and len(names) == 1 else names


THRESHOLD_HINT = "Use, for example, --threshold 0.5, or --threshold a=0.4 --threshold b=0.5."
COST_HINT = "Use, for example, --cost fp=1 --cost fn=5."
BENEFIT_HINT = "Use, for example, --benefit tp=20 --benefit fp=-1."
RANGE_HINT = "Use, for example, --subject-to precision=0.9:1 or --subject-to alerts=:100."


def parse_amounts(option: str, values: list[str] | None, hint: str) -> dict[str, float] | None:
    """Parse costs or benefits such as "fp=1,fn=5"; None if the option is not given."""
    if values is None:
        return None
    amounts: dict[str, float] = {}
    for text in (part.strip() for value in values for part in value.split(",")):
        name, _, amount = text.partition("=")
        number = _float_from_text(amount)
        if number is None:
            raise _invalid_value(option, text, "expected an outcome and a number", hint)
        if name.strip() in amounts:
            raise _invalid_value(option, text, f"{name.strip()!r} has two values", hint)
        amounts[name.strip()] = number
    return amounts


def parse_ranges(values: list[str] | None) -> dict[str, tuple[float | None, float | None]] | None:
    """Parse constraints such as "precision=0.9:1"; None if the option is not given."""
    if values is None:
        return None
    ranges: dict[str, tuple[float | None, float | None]] = {}
    for text in values:
        name, _, limits = (part.strip() for part in text.partition("="))
        low, colon, high = (part.strip() for part in limits.partition(":"))
        lowest, highest = (_float_from_text(limit) for limit in (low, high))
        is_valid = all(limit == "" or _float_from_text(limit) is not None for limit in (low, high))
        if not name or not colon or not (low or high) or not is_valid:
            problem = "expected a metric and its lowest and highest allowed value"
            raise _invalid_value("--subject-to", text, problem, RANGE_HINT)
        if name in ranges:
            raise _invalid_value("--subject-to", text, f"{name!r} has two ranges", RANGE_HINT)
        ranges[name] = lowest, highest
    return ranges


def parse_rate(option: str, text: str | None) -> float | tuple[float, float] | None:
    """Parse a rate such as "0.1", or a range of rates such as "0:0.1"."""
    if text is None:
        return None
    numbers = [_float_from_text(part) for part in text.split(":")]
    if len(numbers) > 2 or None in numbers:
        problem = "expected a rate, or the lowest and the highest rate of a range"
        raise _invalid_value(option, text, problem, f"Use {option} 0.1, or {option} 0:0.1.")
    return tuple(numbers) if len(numbers) == 2 else numbers[0]  # type: ignore[return-value]


def _float_from_text(text: str) -> float | None:
    """Return the number in a text; None for NaN and for other texts."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if isnan(number) else number


def _invalid_value(option: str, text: str, problem: str, hint: str) -> OptionValueError:
    return OptionValueError(f"{option} {text}: {problem}.\n{hint}")


def parse_value(text: str | None, dtype: pl.DataType) -> object:
    """Return the value that a text has in a column of this dtype; the text if this fails."""
    if text is None:
        return None
    if dtype == pl.Boolean:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if dtype.is_numeric():
        for number in (int, Decimal if dtype.is_decimal() else float):
            with suppress(ValueError, InvalidOperation):
                return number(text)
    if dtype.is_temporal() and dtype != pl.Duration:
        with suppress(ValueError):
            parse: Any = dtype.to_python()
            value = parse.fromisoformat(text)
            if isinstance(dtype, pl.Datetime) and dtype.time_zone and value.tzinfo is None:
                value = value.replace(tzinfo=ZoneInfo(dtype.time_zone))
            return value
    return text.encode() if dtype == pl.Binary else text
