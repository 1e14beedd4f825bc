"""Tables → the words of their rows, as a page shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rocframe.report.words import counted, interval, keys_of, level_of, number, probability
from rocframe.spelling import visible, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocframe.report.tables import More

MOST_ROWS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its title and cells; names of groups, numbers, or plain words."""

    title: str
    cells: Sequence[str]
    kind: str = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A table of words, and how many rows of it are left out for want of room."""

    columns: list[Column]
    more: str

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells, row by row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


def listed_areas(areas: pl.DataFrame, more: More, file: str | None) -> Listed:
    """Spell out the areas, and the metrics beside them."""
    keys = keys_of(areas)
    whole = pl.DataFrame([*areas.select(pl.nth(range(len(keys), areas.width))), *more.metrics])
    top = whole.head(MOST_ROWS)
    rows = pl.col("n_pos") + pl.col("n_neg")
    share = top.select(pl.when(rows > 0).then(pl.col("n_pos") / rows)).to_series()
    columns = [
        *_names(areas.head(MOST_ROWS), keys),
        _numbers("AUC", top.get_column("auc")),
        *_interval(top, areas),
        *(
            _numbers(title, top.get_column(name))
            for name, title in (("average_precision", "average precision"), ("ks", "KS"))
            if top.get_column(name).null_count() < top.height
        ),
        _numbers("prevalence", share),
        _counts("positives", top.get_column("n_pos")),
        _counts("negatives", top.get_column("n_neg")),
    ]
    if areas.get_column("n_missing").sum():
        columns.append(_counts("missing", top.get_column("n_missing")))
    return Listed(columns=[*columns, *_notes(top, areas)], more=_fewer(areas, file))


def listed_folds(folds: pl.DataFrame) -> Listed:
    """Spell out the means of the areas of folds."""
    top = folds.head(MOST_ROWS)
    columns = [
        *_names(top, keys_of(folds, "mean_auc")),
        _numbers("mean AUC", top.get_column("mean_auc")),
        *_interval(top, folds),
        _numbers("sd", top.get_column("sd")),
        _numbers("AUC of mean curve", top.get_column("auc_of_mean")),
        _numbers("AUC of all rows", top.get_column("pooled_auc")),
        _counts("curves", top.get_column("n_curves")),
    ]
    return Listed(columns=[*columns, *_notes(top, folds)], more=_fewer(folds, None))


def listed_comparison(comparison: pl.DataFrame) -> Listed:
    """Spell out differences between models, the smallest p-values where they stand."""
    top = comparison.head(MOST_ROWS)
    keys = comparison.columns[: comparison.columns.index("model_a")]
    columns = [
        *_names(top, [*keys, "model_a", "model_b"]),
        _numbers("difference", top.get_column("difference")),
        *_interval(top, comparison),
        _cells("p", top.get_column("p_value"), probability),
        _cells("p adjusted", top.get_column("p_adjusted"), probability),
        _numbers("AUC a", top.get_column("auc_a")),
        _numbers("AUC b", top.get_column("auc_b")),
        _counts("rows", top.get_column("n_paired")),
    ]
    return Listed(columns=[*columns, *_notes(top, comparison)], more=_fewer(comparison, None))


def _names(table: pl.DataFrame, keys: Sequence[str]) -> list[Column]:
    titles = {"model_a": "model a", "model_b": "model b"}
    return [
        Column(
            title=visible(titles.get(key, key)),
            cells=words(table.get_column(key)),
            kind="name",
        )
        for key in keys
    ]


def _numbers(title: str, values: pl.Series) -> Column:
    return _cells(title, values, number)


def _cells(title: str, values: pl.Series, spell: Callable[[float | None], str | None]) -> Column:
    return Column(title=title, cells=[spell(value) or "–" for value in values])


def _counts(title: str, values: pl.Series) -> Column:
    return Column(title=title, cells=["–" if n is None else f"{n:,}" for n in values])


def _interval(top: pl.DataFrame, table: pl.DataFrame) -> list[Column]:
    level = level_of(table)
    if level is None:
        return []
    limits = zip(top.get_column("lower"), top.get_column("upper"), strict=True)
    return [Column(title=level, cells=[interval(*pair) or "–" for pair in limits])]


def _notes(top: pl.DataFrame, table: pl.DataFrame) -> list[Column]:
    if table.get_column("note").null_count() == table.height:
        return []
    return [Column(title="note", cells=[one or "" for one in top.get_column("note")], kind="word")]


def _fewer(table: pl.DataFrame, file: str | None) -> str:
    left = table.height - MOST_ROWS
    if left <= 0:
        return ""
    return f"{counted(left, 'more row')}{f' in {file}' if file else ''}."
