"""The verb `report`: predictions → one HTML page, with all that is known of their curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocframe.errors import OptionValueError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from types import EllipsisType

    import polars as pl

    from rocframe.curves.kinds import KindName
    from rocframe.inference.intervals import Method
    from rocframe.predictions import By, Column, Count, Missing, Scores
    from rocframe.report.asked import Asked


def report(
    predictions: pl.DataFrame | pl.LazyFrame,
    /,
    label: Column,
    score: Scores,
    *,
    path: str | os.PathLike[str],
    by: By = None,
    over: str | EllipsisType | None = ...,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - the word users have for it
    kind: KindName | Sequence[KindName] = ("roc", "precision_recall"),
    ci: Method | None = "logit_delong",
    level: float = 0.95,
    title: str = "Evaluation",
    about: Mapping[str, object] | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
) -> None:
    """Write a page with the areas and curves of each group, and what they rest on.

    It is one HTML file that needs no network: tables of areas and of other numbers of whole
    curves, charts, a comparison of models where their rows pair up, what was left out and why, and
    where it comes from. The same predictions make the same page, to the byte.

    Parameters
    ----------
    predictions
        One row per prediction. A LazyFrame stays lazy.
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    score
        Column or expression; higher means more positive. Any real number, never transformed. A
        list, a selector or a mapping from names to columns compares several models side by side.
        It adds the key `model` (String) after `by`.
    path
        A file in a folder that is there. It is written whole or not at all.
    by
        Group columns: one name or several. A null key is a group.
    over
        The group column whose curves are averaged: each mean is drawn before them. `"fold"` unless
        it is given, if that is a group column; None for none.
    id
        Column, or several, naming the instance that a row is about, where models stand one below
        the other, with their names in the group column `model`: then models are compared. Scores
        that stand side by side need none.
    kind
        One kind of curve or several.
    ci
        Method of the interval of an area, as `auc` has them; None for none.
    level
        Share of intervals that cover, between 0 and 1.
    title
        What stands at the top.
    about
        What the page shall say of its origin: names and values, such as files, or a date, which
        it has none of otherwise.
    positive
        The value of `label` that is the positive class; all others are negative. Needed unless
        labels are Boolean or 0/1.
    weight
        Column or expression with the importance of a row, finite and at least 0.
    count
        Column or expression saying how many identical rows a row stands for; everything is what
        that many rows would give. A table with a column `count` needs a word: its name, or None.
    missing
        What becomes of rows whose label, score, weight or count is null or NaN: `"raise"` an
        error; `"drop"` them and count them; or `"worst"`, for scores only: an unscored positive
        is a false negative and an unscored negative a false positive at every threshold.

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
    from rocframe.files import check_target, write_text
    from rocframe.report.asked import Asked
    from rocframe.report.bundle import vl_convert
    from rocframe.report.page import Report, page
    from rocframe.report.tables import more_tables, tables

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
    import polars as pl

    positive = asked.positive
    if positive is None:
        label = pl.col(asked.label) if isinstance(asked.label, str) else asked.label
        positive = (
            True if rows.lazy().select(label).collect_schema().dtypes() == [pl.Boolean] else 1
        )
    score = asked.score
    several = [score] if isinstance(score, str | pl.Expr) else list(score)
    ids = [asked.id] if isinstance(asked.id, str | pl.Expr) else asked.id or []
    count = None if asked.count is ... else asked.count
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
