"""`.roc` on expressions: names only, the functions live in `areas/expr_*.py`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import polars as pl

from rocframe.areas.expr_auc import auc, gini
from rocframe.areas.expr_auc_se import auc_se
from rocframe.areas.expr_ks import ks
from rocframe.areas.expr_placement import placement
from rocframe.areas.expr_precision_recall import average_precision, pr_auc
from rocframe.areas.expr_probability import brier, log_loss
from rocframe.areas.expr_rates import fpr, tpr

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")


def method(
    function: Callable[Concatenate[pl.Expr, P], pl.Expr],
) -> Callable[Concatenate[Any, P], pl.Expr]:
    """Make a method of a function that takes the score first; keep its docs and signature."""

    @wraps(function)
    def of_score(self: RocExpr, /, *args: P.args, **kwargs: P.kwargs) -> pl.Expr:
        return function(self._score, *args, **kwargs)

    return of_score


@pl.api.register_expr_namespace("roc")
class RocExpr:
    """Numbers about a score column, as expressions: one per group, or one per row.

    They are native polars: they work in `select`, `with_columns`, `group_by().agg()`, `over`,
    `group_by_dynamic` and `rolling`, eager and lazy, on any engine, for several columns at once.

    An expression cannot raise on data. A row whose label, score, weight or count is null or NaN is
    left out; a row of weight or count 0 is absent. A group has null where labels do not say which
    class is positive (neither Boolean nor 0/1, and no `positive`), where a weight or count is
    negative or a weight infinite. A column named `count` is not read unless `count` names it.
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._score = expr

    auc = method(auc)
    auc_se = method(auc_se)
    gini = method(gini)
    ks = method(ks)
    average_precision = method(average_precision)
    pr_auc = method(pr_auc)
    brier = method(brier)
    log_loss = method(log_loss)
    tpr = method(tpr)
    fpr = method(fpr)
    placement = method(placement)
