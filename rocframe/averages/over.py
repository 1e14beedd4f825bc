"""Keys that averages take away: which they are, and predictions that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import planned
from rocframe.vocabulary import as_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


def as_over(over: object) -> tuple[str, ...]:
    """Read the keys that go."""
    several = [over] if isinstance(over, str) or not hasattr(over, "__iter__") else [*over]
    if not several or not all(isinstance(name, str) for name in several):
        raise OptionValueError.of(
            "over", over, "it names no key of the curves", 'Give one or several, say over="fold".'
        )
    return as_names(several)  # type: ignore[arg-type]


def having(predictions: pl.DataFrame | pl.LazyFrame, over: Sequence[str]) -> pl.LazyFrame:
    """Return the plan of predictions, and check that they have these keys."""

    def check(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        for name in over:
            if name not in schema:
                raise MissingColumnError.of("over", name, list(schema))
        return plan

    return planned("predictions", predictions).pipe_with_schema(check)
