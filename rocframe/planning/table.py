"""Plans → the table of plans, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.errors import OptionValueError
from rocframe.planning.plan import Plan
from rocframe.vocabulary import plan_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

FOUND = ("difference", "se_null", "se", "power")


def row(asked: dict[str, Any], plan: Plan | None) -> dict[str, Any]:
    """Return the row of a plan: what was asked, then what was found; nothing, if there is none."""
    asked = {"target" if name == "power" else name: value for name, value in asked.items()}
    if plan is None:
        return {**asked, "note": "no_solution"}
    return {**asked, **{name: getattr(plan, name) for name in (*Plan.__slots__, *FOUND)}}


def plans(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Return the table of all rows."""
    counts = pl.col("n_neg") / pl.col("n_pos")
    table = pl.DataFrame(list(rows), schema=plan_schema())
    return table.with_columns(ratio=pl.col("ratio").fill_null(counts))


def check_target(asked: dict[str, Any]) -> None:
    """Check that a power is one that takes a difference to reach."""
    if not asked["power"] > asked["alpha"]:
        raise OptionValueError.of(
            "power",
            asked["power"],
            f"a test at alpha={asked['alpha']:g} has that power without any difference",
            "Give, say, power=0.8.",
        )
