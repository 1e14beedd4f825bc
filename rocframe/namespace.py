"""`.roc` on DataFrame and LazyFrame: names only, the functions live in their rooms."""

from __future__ import annotations

from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar

import polars as pl

from rocframe.areas.area import area
from rocframe.areas.auc import auc
from rocframe.averages.average import average
from rocframe.averages.fold_auc import fold_auc
from rocframe.averages.pooling_gap import pooling_gap
from rocframe.bands.band import band
from rocframe.chance.auc_test import auc_test
from rocframe.charts.chart import chart
from rocframe.charts.dashboard import dashboard
from rocframe.classes.multiclass_auc import multiclass_auc
from rocframe.classes.one_vs_one import one_vs_one
from rocframe.classes.one_vs_rest import one_vs_rest
from rocframe.classes.volume import volume
from rocframe.comparisons.auc_covariance import auc_covariance
from rocframe.comparisons.compare import compare
from rocframe.comparisons.contrast import contrast
from rocframe.curves.at import at
from rocframe.curves.curve import curve
from rocframe.curves.simplify import simplify
from rocframe.metrics.intervals import intervals

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def verb(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make a method of a function that takes the frame first; keep its docs and signature."""

    @wraps(function)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(self._frame, *args, **kwargs)

    return method


@pl.api.register_dataframe_namespace("roc")
@pl.api.register_lazyframe_namespace("roc")
class RocFrame:
    """Evaluation curves of a table of predictions, and what follows from a table of curves."""

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame) -> None:
        self._held = frame

    @property
    def _frame(self) -> pl.DataFrame | pl.LazyFrame:
        # polars caches the accessor on the frame: a cycle that keeps large frames alive until
        # the garbage collector runs. Dropping the cached entry breaks it.
        vars(self._held).pop("roc", None)
        return self._held

    def __getattr__(self, name: str) -> NoReturn:
        verbs = [verb for verb in vars(type(self)) if not verb.startswith("_")]
        guess = get_close_matches(name, verbs, n=1, cutoff=0.4)
        raise AttributeError(
            f".roc.{name}: there is no such verb.\nThere are: {', '.join(sorted(verbs))}."
            + (f"\nDid you mean .roc.{guess[0]}?" if guess else ""),
            name=name,
            obj=self,
        )

    curve = verb(curve)
    auc = verb(auc)
    band = verb(band)
    compare = verb(compare)
    contrast = verb(contrast)
    auc_covariance = verb(auc_covariance)
    auc_test = verb(auc_test)
    intervals = verb(intervals)
    multiclass_auc = verb(multiclass_auc)
    one_vs_rest = verb(one_vs_rest)
    one_vs_one = verb(one_vs_one)
    volume = verb(volume)
    at = verb(at)
    simplify = verb(simplify)
    area = verb(area)
    average = verb(average)
    fold_auc = verb(fold_auc)
    pooling_gap = verb(pooling_gap)
    chart = verb(chart)
    dashboard = verb(dashboard)
