"""The options of the commands, and their conversion to arguments of the package.

The help is shown without numpy, which modules of later layers load: they are imported in functions.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import isnan
from pathlib import Path  # noqa: TC003 - cyclopts evaluates the annotations
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import polars as pl
from cyclopts import Parameter

from rocframe.errors import AmbiguousCountError, OptionValueError, RepeatedNameError
from rocframe.options import NOT_GIVEN, GateMethod, KindName, NotGiven

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.io.logs import Logs
    from rocframe.reports.evaluation import ReportOptions

FormatName: TypeAlias = Literal["table", "json", "jsonl", "csv"]

COLUMN, FLAG = Parameter(metavar="COLUMN"), Parameter(show_default=False)
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
    last: Annotated[str | None, Parameter(metavar="LENGTH")] = None
    format: FormatName | None = None
    quiet: Annotated[bool, Parameter(alias="-q", show_default=False)] = False
    verbose: Annotated[bool, Parameter(alias="-v", show_default=False)] = False

    adds_logs = False  # whether the command adds logs to the store
    drop_missing_parts = False

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
        is. Later runs need the options of the first run, or none; --by can name any of its group
        columns.
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
    id
        Column that identifies a row of all models, so that the test is paired. Without it, the test
        needs many more rows. Repeat it for several columns.
    threshold
        Threshold of both models, chosen without these logs. Repeat it if the new model has another
        threshold; the first one is that of the old model.
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

    id: Annotated[list[str] | None, COLUMN] = None
    threshold: Annotated[
        list[float] | None, Parameter(metavar="NUMBER", allow_leading_hyphen=True)
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
        clusters = [] if self.cluster is None else [self.cluster]
        return {"--cluster": clusters, "--id": self.id or [], **super().columns}

    def point_arguments(self) -> dict[str, Any]:
        """Return the arguments of `gate` and `compare` about points of curves and about rules."""
        from rocframe.comparisons.hypothesis import RATES_OF_AREAS

        return {
            "threshold": self._threshold_argument(),
            **{name: parse_rate(f"--{name}", getattr(self, name)) for name in RATES_OF_AREAS},
            "alert_rate": self.alert_rate,
            "alerts": self.alerts,
            "rule": self.rule,
            **self.rule_arguments(),
        }

    def _threshold_argument(self) -> float | dict[str, float] | None:
        """Return the threshold of both models, or those of the old and of the new model."""
        values = self.threshold or []
        if len(values) > 2:
            problem = "expected the threshold of the old and of the new model"
            raise _invalid_value("--threshold", f"{values[2]:g}", problem, "Pass one or two.")
        if len(values) == 2:
            return dict(zip((OLD, NEW), values, strict=True))
        return values[0] if values else None


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
    adjust: Literal["holm", "bh", "none"] = "holm"
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

    def gate_arguments(self) -> dict[str, Any]:
        """Return the arguments of `gate` except the columns and `method`."""
        return {
            **self.point_arguments(),
            "margin": self.margin,
            "metric": self.metric,
            "level": self.level,
            "adjust": adjustment(self.adjust),
            "min_rows": self.min_rows,
            "unmatched": self.unmatched,
            "cluster": self.cluster,
            "seed": self.seed,
        }


# The options of each command.
COMMAND_OPTIONS: dict[str, type[LogOptions]] = {
    "evaluate": StoreEvaluationOptions,
    "report": EvaluationOptions,
    "decide": DecisionOptions,
    "gate": ReleaseOptions,
}


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
        for number in (int, float):
            try:
                return number(text)
            except ValueError:
                continue
    if dtype.is_temporal() and dtype != pl.Duration:
        with suppress(ValueError):
            parse: Any = dtype.to_python()
            return parse.fromisoformat(text)
    return text.encode() if dtype == pl.Binary else text
