"""Costs of errors, the row of lowest expected cost of each curve, and the line of equal cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rocframe.decisions.optimum import CurveRows, Rule, best_rows, linear_gain
from rocframe.errors import OptionValueError
from rocframe.options import exact_fraction
from rocframe.rates import CONFUSION, RATES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind
    from rocframe.rates import Settings


class ErrorCosts(NamedTuple):
    """Costs of a false positive and of a false negative.

    The cost of a correct prediction of the same class is subtracted.
    """

    fp: Fraction
    fn: Fraction

    @classmethod
    def parse(cls, costs: Mapping[str, float]) -> ErrorCosts:
        """Return the costs of errors.

        Raise an error if a false positive costs less than a true negative, if a false negative
        costs less than a true positive, or if no wrong prediction costs more than a correct one.
        """
        exact = {name: exact_fraction(costs.get(name, 0)) for name in CONFUSION}
        fp, fn = exact["fp"] - exact["tn"], exact["fn"] - exact["tp"]
        if fp < 0 or fn < 0 or fp == fn == 0:
            raise OptionValueError.compose(
                "costs",
                costs,
                "errors must cost more than correct predictions",
                'Use, for example, {"fp": 1, "fn": 5}; the cost of outcomes that are not named is '
                "0.",
            )
        return cls(fp, fn)


def cost_rule(settings: Settings) -> Rule:
    """Return the rule `"expected_cost"`: the lowest cost per row, with the costs in `settings`."""
    fp, fn = ErrorCosts.parse(settings.costs or {})
    return Rule(
        name="expected_cost",
        value=replace(RATES["expected_cost"], settings=settings),
        polynomial=linear_gain(fn, fp, settings.prevalence),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LowestCost:
    """The row of lowest expected cost of each curve, its cost, and the slope of equal cost.

    The slope of lines of equal cost in ROC coordinates is `rise` divided by `run`. `rise` and `run`
    are at least 0, and one of them may be 0. `n_optima` is the number of rows with the lowest cost.
    If a curve lacks a class, `row` is -1, `n_optima` is 0, and the other values are NaN.
    """

    row: NDArray[np.int64]
    n_optima: NDArray[np.int64]
    cost: NDArray[np.float64]
    rise: NDArray[np.float64]
    run: NDArray[np.float64]


ERROR_RATE_COSTS = {"fp": 1.0, "fn": 1.0}  # with these costs, the expected cost is the error rate


def lowest_cost(curves: Curves, settings: Settings) -> LowestCost:
    """Return the row of lowest expected cost of each curve.

    Of several such rows, the row with the highest threshold is returned. Without costs in
    `settings`, each error costs 1. Without a prevalence, the costs are those at the prevalence of
    the table or of each curve.
    """
    settings = replace(
        settings,
        costs=ERROR_RATE_COSTS if settings.costs is None else settings.costs,
        prevalence=curves.prevalence if settings.prevalence is None else settings.prevalence,
    )
    rule, errors = cost_rule(settings), ErrorCosts.parse(settings.costs or {})
    rows = CurveRows.from_curves(curves)
    pos, neg = curves.pos, curves.neg
    row, n_optima = best_rows(rows, rule, len(pos))
    has_both = (pos > 0) & (neg > 0)
    row, n_optima = np.where(has_both, row, -1), np.where(has_both, n_optima, 0)
    cost, rise, run = (np.full(len(pos), np.nan) for _ in range(3))
    exists = row >= 0
    cost[exists] = rule.value.evaluate(rows.take(row[exists]).counts)
    prevalence = settings.prevalence
    share = pos[exists] / (pos + neg)[exists] if prevalence is None else prevalence
    rise[exists], run[exists] = (1 - share) * float(errors.fp), share * float(errors.fn)
    return LowestCost(row=row, n_optima=n_optima, cost=cost, rise=rise, run=run)


EQUAL_COST_KINDS = ("roc", "gain", "lift_chart")  # kinds whose lines of equal cost are straight


def equal_cost_steps(
    best: LowestCost, curves: Curves, kind: Kind
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the direction of the line of equal cost of each curve: changes of x and of y.

    x and y are the axes of `kind`. Both changes are at least 0, and one of them may be 0.
    """
    pos, neg = curves.pos, curves.neg
    if curves.prevalence is None:
        share = np.divide(pos, pos + neg, out=np.zeros(len(pos)), where=pos + neg > 0)
    else:
        share = np.full(len(pos), curves.prevalence)
    steps = {
        "fpr": best.run,
        "tpr": best.rise,
        "alert_rate": share * best.rise + (1 - share) * best.run,
        "tp": pos * best.rise,
    }
    return steps[kind.x], steps[kind.y]
