"""The verb `report`: predictions → one HTML page, with all that is known of their curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import collected, column, planned
from rocframe.io.files import check_target, write_text
from rocframe.kinds import kind_named
from rocframe.options import NOT_GIVEN, NotGiven, parse_names
from rocframe.reports.export import vl_convert
from rocframe.reports.page import Report, page
from rocframe.reports.report_tables import more_tables, tables
from rocframe.schemas import MODEL

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from rocframe.inference.confidence import Method
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kinds import KindName


def report(
    predictions: pl.DataFrame | pl.LazyFrame,
    /,
    label: Column,
    score: Scores,
    *,
    path: str | os.PathLike[str],
    by: By = None,
    over: str | NotGiven | None = NOT_GIVEN,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - the word users have for it
    kind: KindName | Sequence[KindName] = ("roc", "precision_recall"),
    ci: Method | None = "logit_delong",
    level: float = 0.95,
    title: str = "Evaluation",
    about: Mapping[str, object] | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> None:
    """Write a page with the areas and curves of each group, and what they rest on.

    It is one HTML file that needs no network: tables of areas and of other numbers of whole
    curves, charts, a comparison of models where their rows pair up, what was left out and why, and
    where it comes from. The same predictions make the same page, to the byte.

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
    path : str or Path
        A file in a folder that is there. It is written whole or not at all.
    by : str or sequence of str, default None
        Group columns. A null key is a group of its own.
    over : str or sequence of str, optional
        The group column whose curves are averaged: each mean is drawn before them. `"fold"` unless
        it is given, if that is a group column; None for none.
    id : str or sequence of str, default None
        Column, or several, naming the instance that a row is about, where models stand one below
        the other, with their names in the group column `model`: then models are compared. Scores
        that stand side by side need none.
    kind : str or sequence of str, optional
        One kind of curve or several.
    ci : str or None, default "logit_delong"
        Method of the interval of an area, as `auc` has them; None for none.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    title : str, default "Evaluation"
        What stands at the top.
    about : mapping of str to JSON value, default None
        What the page shall say of its origin: names and values, such as files, or a date, which it
        has none of otherwise.
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

    Raises
    ------
    MissingExtraError
        If vl-convert is not installed.
    StorageError
        If there is no such folder, or if the file cannot be written.
    PairingError
        If `id` does not pair the rows of models.
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set; if labels do not say which class is positive,
        values are missing under `"raise"`, or a weight is negative or not finite.

    See Also
    --------
    chart_fragment : One chart for a page of your own.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import rocframe as rf
    >>> with TemporaryDirectory() as folder:
    ...     page = Path(folder) / "vote.html"
    ...     rf.report(rf.datasets.vote(), "label", "score", path=page, by="model", id="id")
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    # numpy and Altair load with the first page, not with the package.
    vl_convert("report")
    asked = Asked(
        label=label,
        score=score,
        by=by,
        over=over,
        id=id,
        kind=kind,
        ci=ci,
        level=level,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )
    said = _said(about)
    check_target(path)
    rows = asked.read(predictions)
    made = tables(rows, asked)
    shown = Report(
        title=title,
        tables=made,
        more=more_tables(rows, asked, made),
        kinds=asked.kinds,
        averaged=asked.averaged,
        about={**_origin(rows, asked), "more": said, "files": [], "files_skipped": {}},
    )
    write_text(path, page(shown))


def _said(about: Mapping[str, object] | None) -> dict[str, object]:
    if about is None:
        return {}
    if not hasattr(about, "items") or not all(isinstance(name, str) for name in about):
        raise OptionValueError.of(
            "about", about, "it is no mapping of names", 'Say about={"files": "vote.parquet"}.'
        )
    return dict(about)


def _origin(rows: pl.DataFrame, asked: Asked) -> dict[str, Any]:
    """Say what was evaluated, and by which columns."""
    positive = asked.positive
    if positive is None:
        label = pl.col(asked.label) if isinstance(asked.label, str) else asked.label
        positive = (
            True if rows.lazy().select(label).collect_schema().dtypes() == [pl.Boolean] else 1
        )
    score = asked.score
    several = [score] if isinstance(score, str | pl.Expr) else list(score)
    ids = [asked.id] if isinstance(asked.id, str | pl.Expr) else asked.id or []
    count = None if asked.count is NOT_GIVEN else asked.count
    return {
        "label": _named(asked.label),
        "score": list(map(_named, several)),
        "positive": positive,
        "weight": None if asked.weight is None else _named(asked.weight),
        "count": None if count is None else _named(count),
        "missing": asked.missing,
        "over": asked.averaged,
        "id": ", ".join(map(_named, ids)) or None,
        "rows": rows.height,
    }


def _named(column: Column) -> str:
    if isinstance(column, str):
        return column
    name = column.meta.output_name(raise_if_undetermined=False)
    return str(column) if name is None else name


FOLD = "fold"

KINDS: tuple[KindName, ...] = ("roc", "precision_recall")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """What a report is of: columns as the verbs take them, and what is worked out.

    `over` is the group column whose curves are averaged, `id` the instance that a row is about.
    """

    label: Column
    score: Scores
    by: By = None
    over: str | NotGiven | None = NOT_GIVEN
    id: Column | Sequence[Column] | None = None
    kind: KindName | Sequence[KindName] = KINDS
    ci: Method | None = "logit_delong"
    level: float = 0.95
    positive: object = None
    weight: Column | None = None
    count: Count = NOT_GIVEN
    missing: Missing = "raise"
    keys: tuple[str, ...] = field(init=False)
    kinds: tuple[KindName, ...] = field(init=False)
    averaged: str | None = field(init=False)

    def __post_init__(self) -> None:
        keys = parse_names(self.by)
        given = parse_names(self.kind)
        if not given:
            raise OptionValueError.of("kind", self.kind, "it names none", 'Say kind="roc".')
        kinds = dict.fromkeys(cast("KindName", kind_named(name).name) for name in given)
        over = self.over
        if over is NOT_GIVEN:
            over = FOLD if FOLD in keys else None
        if over is not None and over not in keys:
            raise MissingColumnError.of("over", str(over), keys)
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "kinds", tuple(kinds))
        object.__setattr__(self, "averaged", over)

    @property
    def predictions(self) -> dict[str, Any]:
        """The arguments that say which column is what."""
        return {
            "label": self.label,
            "score": self.score,
            "positive": self.positive,
            "weight": self.weight,
            "count": self.count,
            "missing": self.missing,
        }

    def read(self, predictions: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
        """Collect the columns that the verbs read; all, where an expression may stand for any."""
        plan = planned("predictions", predictions)
        given = [self.label, self.weight, self.count, *_several(self.id), *_several(self.score)]
        named = [one for one in given if isinstance(one, str)]
        if all(isinstance(one, str) or one is None or one is NOT_GIVEN for one in given):
            there = plan.collect_schema()
            # A column that nobody named: the verbs ask what it is.
            named += ["count"] if self.count is NOT_GIVEN else []
            wanted = list(dict.fromkeys([*self.keys, *named]))
            if not set(wanted) - {"count"} <= set(there):
                return collected(plan.head(0))  # which is enough for the verbs to say what lacks
            plan = plan.select(column(name) for name in wanted if name in there)
        return collected(plan)

    @property
    def groups(self) -> list[str]:
        """The group columns that say neither which fold nor which model it is."""
        return [name for name in self.keys if name not in {self.averaged, MODEL}]


def _several(given: Any) -> list[Any]:
    if given is None or isinstance(given, str | pl.Expr):
        return [given]
    return list(given.values()) if hasattr(given, "values") else list(given)
