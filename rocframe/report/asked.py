"""The options of `report` → one record, checked, and the arguments of the verbs behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rocframe.curves.kinds import kind_named
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import collected, column, planned
from rocframe.vocabulary import MODEL, as_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from rocframe.curves.kinds import KindName
    from rocframe.inference.intervals import Method
    from rocframe.predictions import By, Column, Count, Missing, Scores

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
    over: str | EllipsisType | None = ...
    id: Column | Sequence[Column] | None = None
    kind: KindName | Sequence[KindName] = KINDS
    ci: Method | None = "logit_delong"
    level: float = 0.95
    positive: object = None
    weight: Column | None = None
    count: Count = ...
    missing: Missing = "raise"
    keys: tuple[str, ...] = field(init=False)
    kinds: tuple[KindName, ...] = field(init=False)
    averaged: str | None = field(init=False)

    def __post_init__(self) -> None:
        keys = as_names(self.by)
        given = as_names(self.kind)
        if not given:
            raise OptionValueError.of("kind", self.kind, "it names none", 'Say kind="roc".')
        kinds = dict.fromkeys(cast("KindName", kind_named(name).name) for name in given)
        over = self.over
        if over is ...:
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
        if all(isinstance(one, str) or one is None or one is ... for one in given):
            there = plan.collect_schema()
            # A column that nobody named: the verbs ask what it is.
            named += ["count"] if self.count is ... else []
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
