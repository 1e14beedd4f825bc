"""Predictions → the tables that a report shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_args

import polars as pl

from rocframe.areas.auc import auc
from rocframe.averages.average import average
from rocframe.averages.fold_auc import fold_auc
from rocframe.comparisons.compare import compare
from rocframe.curves.curve import curve
from rocframe.curves.kinds import kind_named
from rocframe.errors import OptionValueError, RocframeError
from rocframe.frames import column, private_names
from rocframe.metrics.intervals import intervals
from rocframe.report.words import keys_of
from rocframe.vocabulary import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocframe.averages.fold_areas import Interval
    from rocframe.report.asked import Asked

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
    from rocframe.averages.fold_areas import Interval

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
