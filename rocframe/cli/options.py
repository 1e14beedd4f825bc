"""The options that all commands have: what is said of a log, and of its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from rocframe.cli.tasks import Task
from rocframe.options import NOT_GIVEN

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMN, FLAG = Parameter(metavar="COLUMN"), Parameter(show_default=False)

Kind = Literal["roc", "precision_recall", "pr", "det", "gain", "lift", "lift_chart"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Options:
    """What the columns are, and what is worked out.

    Attributes
    ----------
    label
        The truth: Boolean, or 0 and 1, or anything with --positive.
    score
        Higher means more positive. Say it again to compare columns as models.
    by
        A group column: a curve per group. Say it again for more.
    over
        The group column whose curves are averaged on the page; fold, if that is one.
    id
        What a row is about, where the group column model says whose prediction it is: then the
        page compares models. Say it again if it takes several columns.
    positive
        The label that is the positive class.
    weight
        How much a row counts.
    count
        How many identical rows a row stands for.
    no_count
        The column count of the log is nothing of the kind.
    missing
        Rows whose label, score or weight is missing: an error, left out and counted, or
        (scores only) counted against the model.
    kind
        Curves on the page; roc and precision_recall if nothing is said. The first gives the
        axes of the table of curves, the others are columns of it.
    ci
        How the interval of an area is worked out.
    level
        The level of the interval.
    title
        The title of the page.
    skip_unreadable
        Leave out files that are empty, cut short or damaged, and say so.
    quiet
        Print nothing but errors.
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
    kind: Annotated[list[Kind] | None, Parameter(metavar="KIND")] = None
    ci: Literal["logit_delong", "delong", "newcombe", "none"] = "logit_delong"
    level: Annotated[float, Parameter(metavar="SHARE")] = 0.95
    title: Annotated[str | None, Parameter(metavar="TEXT")] = None
    skip_unreadable: Annotated[bool, FLAG] = False
    quiet: Annotated[bool, Parameter(alias="-q", show_default=False)] = False

    def task(self, logs: Sequence[str]) -> Task:
        """Return what they ask for."""
        return Task(
            logs=logs,
            label=self.label,
            scores=self.score,
            by=self.by or (),
            over=NOT_GIVEN if self.over is None else self.over,
            ids=self.id or (),
            positive=self.positive,
            weight=self.weight,
            count=None if self.no_count else NOT_GIVEN if self.count is None else self.count,
            missing=self.missing,
            kinds=self.kind or ("roc", "precision_recall"),
            ci=None if self.ci == "none" else self.ci,
            level=self.level,
            title=self.title,
            skip_unreadable=self.skip_unreadable,
        )
