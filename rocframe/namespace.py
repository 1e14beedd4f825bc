"""The namespace `.roc` on DataFrame, LazyFrame and Expr; its methods are loaded on first use."""

from __future__ import annotations

from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from types import MethodType
from typing import Any, NoReturn

import polars as pl


class LazyMethod:
    """A function of a module as a method, imported when it is first accessed."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, namespace: Namespace | None, owner: type) -> Any:
        function = getattr(import_module(self.module), self.name)

        @wraps(function)
        def method(self: Namespace, /, *args: Any, **kwargs: Any) -> Any:
            return function(self._subject, *args, **kwargs)

        return method if namespace is None else MethodType(method, namespace)


class Namespace:
    """A namespace of methods whose first argument is `_subject`."""

    _subject: Any

    def __getattr__(self, name: str) -> NoReturn:
        methods = [key for key, value in vars(type(self)).items() if isinstance(value, LazyMethod)]
        guess = get_close_matches(name, methods, n=1, cutoff=0.4)
        raise AttributeError(
            f".roc.{name}: unknown method.\nMethods: {', '.join(sorted(methods))}."
            + (f"\nDid you mean .roc.{guess[0]}?" if guess else ""),
            name=name,
            obj=self,
        )


@pl.api.register_dataframe_namespace("roc")
@pl.api.register_lazyframe_namespace("roc")
class RocFrame(Namespace):
    """Evaluation curves of a predictions table, and results computed from a curve table."""

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame) -> None:
        self._frame = frame

    @property
    def _subject(self) -> pl.DataFrame | pl.LazyFrame:
        # polars caches the accessor on the frame: a cycle that keeps large frames alive until
        # the garbage collector runs. Dropping the cached entry breaks it.
        vars(self._frame).pop("roc", None)
        return self._frame

    curve = LazyMethod("rocframe.curves.curve")
    auc = LazyMethod("rocframe.areas.auc")
    band = LazyMethod("rocframe.bands.band")
    compare = LazyMethod("rocframe.comparisons.compare")
    contrast = LazyMethod("rocframe.comparisons.contrast")
    auc_covariance = LazyMethod("rocframe.comparisons.auc_covariance")
    auc_test = LazyMethod("rocframe.significance.auc_test")
    intervals = LazyMethod("rocframe.metrics.intervals")
    multiclass_auc = LazyMethod("rocframe.classes.multiclass_auc")
    one_vs_rest = LazyMethod("rocframe.classes.one_vs_rest")
    one_vs_one = LazyMethod("rocframe.classes.one_vs_one")
    volume = LazyMethod("rocframe.classes.volume")
    at = LazyMethod("rocframe.curves.at")
    simplify = LazyMethod("rocframe.curves.simplify")
    area = LazyMethod("rocframe.areas.area")
    average = LazyMethod("rocframe.averages.average")
    fold_auc = LazyMethod("rocframe.averages.fold_auc")
    pooling_gap = LazyMethod("rocframe.averages.pooling_gap")
    chart = LazyMethod("rocframe.charts.chart")
    dashboard = LazyMethod("rocframe.charts.dashboard.dashboard")
    report = LazyMethod("rocframe.reports.report")


@pl.api.register_expr_namespace("roc")
class RocExpr(Namespace):
    """Statistics of a score column, as expressions: one value per group, or one per row.

    They are native polars expressions. They work in `select`, `with_columns`, `group_by().agg()`,
    `over`, `group_by_dynamic` and `rolling`, eager and lazy, on any engine, and for several columns
    at once.

    An expression cannot raise errors that depend on the data. Rows whose label, score, weight or
    count is null or NaN are left out, and rows of weight or count 0 are ignored. The result of a
    group is null where the positive class is unknown (labels are neither Boolean nor 0/1 and
    `positive` is not given), where a weight or count is negative, and where a weight is infinite.
    A column named `count` is read only if `count` names it.
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._subject = expr

    auc = LazyMethod("rocframe.expressions.auc")
    auc_se = LazyMethod("rocframe.expressions.auc")
    gini = LazyMethod("rocframe.expressions.auc")
    ks = LazyMethod("rocframe.expressions.rates")
    average_precision = LazyMethod("rocframe.expressions.precision_recall")
    pr_auc = LazyMethod("rocframe.expressions.precision_recall")
    brier = LazyMethod("rocframe.expressions.probability")
    log_loss = LazyMethod("rocframe.expressions.probability")
    tpr = LazyMethod("rocframe.expressions.rates")
    fpr = LazyMethod("rocframe.expressions.rates")
    placement = LazyMethod("rocframe.expressions.rates")
