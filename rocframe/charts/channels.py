"""Group columns → what tells their curves apart in a chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocframe.errors import MissingColumnError, OptionValueError, RepeatedNameError
from rocframe.quoting import listed
from rocframe.vocabulary import MODEL, as_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The group column of each channel; the others only have lines of their own."""

    color: str | None
    facet: str | None


def assigned(
    by: Sequence[str],
    columns: Sequence[str],
    *,
    color: str | EllipsisType | None,
    facet: str | None,
    detail: str | Sequence[str],
) -> Channels:
    """Check the channels that were asked for, and choose a column for the color if none was."""
    given: tuple[tuple[str, object], ...] = (("color", color), ("facet", facet))
    for argument, value in given:
        if not (value is None or value is ... or isinstance(value, str)):
            wrong, todo = "it is no name of a column", f"Name one, say {argument}={MODEL!r}."
            raise OptionValueError.of(argument, value, wrong, todo)
    plain = as_names(detail)
    asked = [("detail", name) for name in plain]
    asked += [("facet", facet)] if facet is not None else []
    asked += [("color", color)] if isinstance(color, str) else []
    for argument, name in asked:
        if name in by:
            continue
        if name not in columns:
            raise MissingColumnError.of(argument, name, by or columns)
        groups = f"Its group columns are: {listed(by)}." if by else "It has no group columns."
        raise OptionValueError.of(argument, name, "it is no group column of the table", groups)
    for name in plain:
        if [other for _, other in asked].count(name) > 1:
            raise RepeatedNameError.of("detail", name, [other for _, other in asked])
    if isinstance(color, str) or color is None:
        return Channels(color=color, facet=facet)
    left = [name for name in by if name not in (*plain, facet)]
    chosen = MODEL if MODEL in left else next(iter(left), None)
    return Channels(color=chosen, facet=facet)
