"""Tables of a report, and their cells as text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_args

import polars as pl

from rocframe.areas.auc import auc
from rocframe.averages.average import average
from rocframe.averages.fold_auc import Interval, fold_auc
from rocframe.comparisons.compare import compare
from rocframe.curves.curve import curve
from rocframe.errors import OptionValueError, RocframeError
from rocframe.frames import column, private_names
from rocframe.kinds import kind_named
from rocframe.metrics.intervals import intervals
from rocframe.schemas import MODEL
from rocframe.text import visible, words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rocframe.reports.report import Asked


METRICS = ("average_precision", "ks")

CLASS = "class"  # as one_vs_rest names the class that a row is about


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The areas and curves of every group: what there always is."""

    areas: pl.DataFrame
    curves: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """What is said beside: metrics in the rows of the areas, means over folds, differences.

    `pooled` has the curves of all rows of each mean. `remarks` say what could not be had, and why.
    """

    metrics: pl.DataFrame
    pooled: pl.DataFrame | None
    folds: pl.DataFrame | None
    means: Mapping[str, pl.DataFrame]
    comparison: pl.DataFrame | None
    remarks: tuple[str, ...]


def tables(
    predictions: pl.DataFrame, asked: Asked, tell: Callable[[str], None] = lambda _: None
) -> Tables:
    """Work out the areas and curves."""
    tell("Computing the areas")
    given = {**asked.predictions, "by": asked.keys or None}
    areas = auc(predictions, **given, ci=asked.ci, level=asked.level)
    tell("Computing the curves")
    first, *others = map(kind_named, asked.kinds)
    more = [rate for kind in others for rate in kind.rates if rate not in first.rates]
    curves = curve(predictions, **given, kind=asked.kinds[0], metrics=list(dict.fromkeys(more)))
    return Tables(areas=areas, curves=curves)


def more_tables(predictions: pl.DataFrame, asked: Asked, made: Tables) -> More:
    """Work out what else a report says of the same predictions."""
    remarks: list[str] = []

    def tried(what: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except RocframeError as error:
            remarks.append(f"{what} {' '.join(str(error).splitlines()[0].split())}")
            return None

    folds: pl.DataFrame | None = None
    pooled: pl.DataFrame | None = None
    means: dict[str, pl.DataFrame] = {}
    if asked.averaged is not None:
        rest = [name for name in asked.keys if name != asked.averaged]
        pooled = curve(predictions, **asked.predictions, by=rest or None)
        folds = tried("No mean of the areas:", lambda: _folds(predictions, asked))
        for kind in asked.kinds:
            mean = tried("No mean curves:", partial(_mean, made.curves, asked, kind))
            means |= {} if mean is None else {kind: mean}
    comparison = None
    side_by_side = MODEL in keys_of(made.areas) and MODEL not in asked.keys
    if asked.id is not None:
        comparison = _comparison(predictions, asked)
    elif side_by_side and made.areas.get_column(MODEL).n_unique() > 1:
        comparison = tried("No comparison:", lambda: _comparison(predictions, asked))
    return More(
        metrics=_metrics(predictions, asked),
        pooled=pooled,
        folds=folds,
        means=means,
        comparison=comparison,
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _metrics(predictions: pl.DataFrame, asked: Asked) -> pl.DataFrame:
    """Return metrics of whole curves, a column each, in the rows of the areas."""
    # Groups may have any name here, also those of the table that these are taken from.
    private = private_names(asked.keys, predictions.columns)
    rows = predictions.with_columns(column(name).alias(own) for name, own in private.items())
    found = intervals(
        rows,
        **asked.predictions,
        by=list(private.values()) or None,
        metrics=list(METRICS),
        ci=None,
    )
    # Both tables are sorted by the same groups.
    return pl.DataFrame(
        {name: found.filter(metric=name).get_column("estimate") for name in METRICS}
    )


def _folds(predictions: pl.DataFrame, asked: Asked) -> pl.DataFrame:
    return fold_auc(
        predictions,
        **asked.predictions,
        over=str(asked.averaged),
        by=[name for name in asked.keys if name != asked.averaged] or None,
        ci=_limits(asked),
        level=asked.level,
    )


def _limits(asked: Asked) -> Interval | None:
    """Return the method of the limits of a mean of areas, if it has any.

    Classes share their instances: limits that take these to be others would be too narrow.
    """
    if asked.averaged == CLASS or asked.ci not in get_args(Interval):
        return None
    return cast("Interval", asked.ci)


def _mean(curves: pl.DataFrame, asked: Asked, kind: Any) -> pl.DataFrame:
    over = str(asked.averaged)
    if over == CLASS:
        return average(curves, over=over, kind=kind, interval=None)
    return average(curves, over=over, kind=kind, level=asked.level)


def _comparison(predictions: pl.DataFrame, asked: Asked) -> pl.DataFrame:
    if asked.id is not None and isinstance(asked.score, str | pl.Expr) and MODEL not in asked.keys:
        raise OptionValueError.of(
            "id", asked.id, "it pairs the rows of models, and no group column says which model",
            'Name the column "model" in by=, or leave id= out.',
        )  # fmt: skip
    return compare(
        predictions,
        **asked.predictions,
        id=asked.id,
        by=asked.groups or None,
        level=asked.level,
    )


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


def number(value: float | None) -> str | None:
    """Spell out an area."""
    return None if value is None else f"{value:.4f}".replace("-", "−")


def interval(lower: float | None, upper: float | None) -> str | None:
    """Spell out an interval, or that there is none."""
    if lower is None or upper is None:
        return None
    return f"{number(lower)} to {number(upper)}"


def probability(value: float | None) -> str | None:
    """Spell out a p-value."""
    return None if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Count things: `1 file`, `2 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def joined(names: Sequence[str]) -> str:
    """Join names as a sentence does: `a`, `a and b`, `a, b and c`."""
    *front, last = names
    return f"{', '.join(front)} and {last}" if front else last


def keys_of(areas: pl.DataFrame, first: str = "auc") -> list[str]:
    """Return the group columns of a table of areas, which are left of its `first` column."""
    return areas.columns[: areas.columns.index(first)]


def level_of(areas: pl.DataFrame) -> str | None:
    """Name the intervals of a table of areas, if it has any."""
    level = areas.get_column("ci_level").drop_nulls()
    return f"{100 * level[0]:g} % interval" if len(level) else None
