"""The verb `curve`: predictions → a confusion matrix per threshold and group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.curves.kinds import KindName, kind_named
from rocframe.errors import RepeatedNameError
from rocframe.frames import like
from rocframe.per_model import tabulated
from rocframe.predictions import Roles
from rocframe.rates import Settings, as_expressions
from rocframe.vocabulary import THRESHOLD, WALK, walk_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rocframe.cases import Cases
    from rocframe.frames import FrameT
    from rocframe.predictions import By, Column, Count, Missing, Scores


def curve(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    kind: KindName = "roc",
    metrics: str | pl.Expr | Sequence[str | pl.Expr] = (),
    thresholds: Sequence[float] | pl.Series | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
    prevalence: float | None = None,
    beta: float = 1.0,
    costs: Mapping[str, float] | None = None,
) -> FrameT:
    """DOC"""
    settings = Settings(beta=beta, costs=costs, prevalence=prevalence)
    shape = kind_named(kind)
    named = as_expressions(metrics, settings)
    for name in named:
        if name in {*WALK, *shape.rates}:
            raise RepeatedNameError.of("metrics", name, [*WALK, *shape.rates, *named])
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )
    edges = None if thresholds is None else as_edges(thresholds)

    def make(cases: Cases) -> pl.DataFrame:
        # numpy loads with the first curve, not with the package.
        if edges is None:
            from rocframe.curves.trace import traced

            return traced(cases)
        from rocframe.curves.fixed import counted_at

        return counted_at(cases, edges)

    walked = tabulated(
        predictions,
        roles,
        make,
        columns=walk_schema(roles.mass),
        more=(*shape.rates, *named),
        anchor=THRESHOLD,
    )
    return like(
        predictions,
        walked.with_columns(
            *shape.exprs(settings), *(expr.alias(name) for name, expr in named.items())
        ),
    )


def as_edges(thresholds: Sequence[float] | pl.Series) -> list[float]:
    """Read given thresholds: rising, each once, without the `inf` that is always there."""
    from rocframe.errors import OptionValueError

    try:
        values = [float(value) for value in thresholds]
    except (TypeError, ValueError):
        raise OptionValueError.of(
            "thresholds", thresholds, "they are not all numbers", "Give a list of numbers."
        ) from None
    if any(value != value for value in values):
        raise OptionValueError.of(
            "thresholds", thresholds, "one of them is NaN", "Leave it out."
        )
    return sorted({value + 0.0 for value in values} - {float("inf")})
