"""The options of `chart` → one record, checked against what a table's drawing reads."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from rocframe.errors import OptionValueError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from types import EllipsisType

    from rocframe.charts.marks import Mark
    from rocframe.curves.kinds import KindName
    from rocframe.curves.scales import Scale
    from rocframe.predictions import By


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked of a chart; an option that has its default was not asked for."""

    by: By = None
    kind: KindName | None = None
    color: str | EllipsisType | None = ...
    facet: str | None = None
    detail: str | Sequence[str] = ()
    scale: Scale | None = None
    hull: bool = False
    costs: Mapping[str, float] | None = None
    prevalence: float | None = None
    mark: Mark = None
    ties: bool = False

    def check(self, read: Collection[str], table: str) -> None:
        """Raise on an option that a drawing would not look at."""
        for option in fields(self):
            value = getattr(self, option.name)
            unasked = value is option.default or (
                isinstance(value, type(option.default)) and value == option.default
            )
            if unasked or option.name in read:
                continue
            wrong = f"charts of a table of this kind ({table}) have no such option"
            there = [one.name for one in fields(self) if one.name in read]
            have = f"They have: {', '.join(there)}." if there else "They have none."
            raise OptionValueError.of(option.name, value, wrong, f"{have} Leave it out.")
