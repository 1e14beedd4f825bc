"""The options that the commands share."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import polars as pl
from cyclopts import Parameter

from rocframe.errors import RepeatedNameError
from rocframe.options import NOT_GIVEN
from rocframe.reports.report import DEFAULT_KINDS, ReportOptions

COLUMN, FLAG = Parameter(metavar="COLUMN"), Parameter(show_default=False)
KindChoice = Literal["roc", "precision_recall", "pr", "det", "gain", "lift", "lift_chart"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """Columns of the logs and settings of the evaluation; these descriptions are the help texts.

    Attributes
    ----------
    label
        Column with the true class: Boolean, 0/1, or, together with --positive, text, numbers, dates
        or times.
    score
        Column with the score; higher values indicate the positive class. Repeat the option to
        compare several columns as models.
    by
        Group column; each group has its own curve. Repeat the option for several columns.
    over
        Group column over which the page averages curves. By default "fold", if --by names this
        column.
    id
        Column that identifies the instance of a row. With this option, the page compares the models
        in the group column "model". Repeat the option for several columns.
    positive
        Value of the label that is the positive class. Dates and times have ISO format.
    weight
        Column with the weight of a row.
    count
        Column with the number of identical rows that a row represents.
    no_count
        Ignore a column named "count" that does not contain numbers of identical rows.
    missing
        Handling of rows with a missing label, score or weight. "raise": stop with an error. "drop":
        leave the rows out and count them. "worst": count rows without a score as errors of the
        model at every threshold.
    kind
        Kind of curve; by default roc and precision_recall. Repeat the option for several kinds. In
        curves.parquet, the axes of the first kind come first, then those of the other kinds.
    ci
        Method of the confidence interval of the AUC.
    level
        Confidence level of the intervals, between 0 and 1.
    unmatched
        Handling of instances that only one of two compared models has. "raise": stop with an error.
        "drop": leave these instances out of the comparison and count their rows.
    title
        Title of the page.
    skip_unreadable
        Skip empty, truncated and damaged files, and print their names.
    quiet
        Print only errors and warnings.
    """

    label: Annotated[str, COLUMN]
    score: Annotated[list[str], COLUMN]
    by: Annotated[list[str] | None, COLUMN] = None
    over: Annotated[str | None, COLUMN] = None
    id: Annotated[list[str] | None, COLUMN] = None
    positive: Annotated[str | None, Parameter(metavar="VALUE", allow_leading_hyphen=True)] = None
    weight: Annotated[str | None, COLUMN] = None
    count: Annotated[str | None, COLUMN] = None
    no_count: Annotated[bool, FLAG] = False
    missing: Literal["raise", "drop", "worst"] = "raise"
    kind: Annotated[list[KindChoice] | None, Parameter(metavar="KIND")] = None
    ci: Literal["logit_delong", "delong", "newcombe", "none"] = "logit_delong"
    level: Annotated[float, Parameter(metavar="LEVEL")] = 0.95
    unmatched: Literal["raise", "drop"] = "raise"
    title: Annotated[str | None, Parameter(metavar="TEXT")] = None
    skip_unreadable: Annotated[bool, FLAG] = False
    quiet: Annotated[bool, Parameter(alias="-q", show_default=False)] = False

    def required_columns(self) -> dict[str, str]:
        """Return the columns to read, and the option that names each."""
        names = {"--by": self.by, "--id": self.id, "--score": self.score}
        for option in ("--by", "--score"):
            values = names[option] or []
            for name in values:
                if values.count(name) > 1:
                    raise RepeatedNameError.compose(option[2:], name, values)
        columns = {name: option for option, values in names.items() for name in values or []}
        columns |= {} if self.weight is None else {self.weight: "--weight"}
        columns |= {} if self.count is None else {self.count: "--count"}
        return {**columns, self.label: "--label"}

    def report_options(self, label_dtype: pl.DataType) -> ReportOptions:
        """Return the options of the report, with `--positive` in the dtype of the labels."""
        arguments: dict[str, Any] = {
            "label": self.label,
            "score": self.score if len(self.score) > 1 else self.score[0],
            "by": self.by,
            "over": NOT_GIVEN if self.over is None else self.over,
            "id": self.id,
            "kind": self.kind or DEFAULT_KINDS,
            "ci": None if self.ci == "none" else self.ci,
            "level": self.level,
            "unmatched": self.unmatched,
            "positive": parse_positive(self.positive, label_dtype),
            "weight": self.weight,
            "count": self.count,
            "missing": self.missing,
        }
        return ReportOptions(**arguments)


def parse_positive(text: str | None, dtype: pl.DataType) -> object:
    """Return the positive class as a value of the dtype of the labels, or else as text."""
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
