"""Comparisons of single pairs → one table: a row for each pair of models in each group."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.inference.adjust import adjusted, check_adjust
from rocframe.options import check_choice
from rocframe.quoting import listed
from rocframe.vocabulary import comparison_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.inference.adjust import Adjust

Whole = Literal["group", "all"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """Which pairs are compared, and which of them are one family of tests."""

    baseline: object
    adjust: Adjust | None
    whole: Whole

    @classmethod
    def of(cls, baseline: object, adjust: Adjust | None, family: Whole) -> Family:
        """Check the options that say so."""
        check_adjust(adjust)
        check_choice("family", family, get_args(Whole))
        return cls(baseline=baseline, adjust=adjust, whole=family)

    def pairs(self, models: Sequence[int], names: pl.Series) -> list[tuple[int, int]]:
        """Return the pairs among some models, given by place."""
        if self.baseline is None:
            return list(combinations(models, 2))
        known = names.to_list()
        if self.baseline not in known:  # there are no rows at all: see `check`
            return []
        first = known.index(self.baseline)
        return [(first, other) for other in models if first in models and other != first]

    def check(self, names: pl.Series) -> None:
        """Check that the baseline is one of the models."""
        known = names.to_list()  # none where there are no rows to say so
        if self.baseline is not None and known and self.baseline not in known:
            raise OptionValueError.of(
                "baseline", self.baseline, "there is no such model", f"There are: {listed(known)}."
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """A pair of models in some groups, all by place: a value of each column for each group."""

    a: int
    b: int
    groups: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]


def comparison_table(
    found: Sequence[Comparison],
    keys: pl.DataFrame,
    models: pl.Series,
    family: Family,
    *,
    area: str,
    test: str,
    level: float | None,
) -> pl.DataFrame:
    """Put comparisons together: sorted by group, then model a, then model b.

    `level` is that of the limits, None for tests that have none.
    """
    lengths = [len(one.groups) for one in found]
    group = _joined([one.groups for one in found])
    a, b = (np.repeat([getattr(one, side) for one in found], lengths) for side in "ab")
    order = np.lexsort((b, a, group))
    group = group[order]
    made: dict[str, Any] = {
        "model_a": models[a[order].astype(np.int64)],
        "model_b": models[b[order].astype(np.int64)],
        "ci_level": [level] * len(order),
    }
    schema = comparison_schema(models.dtype, area)
    for name in schema:
        if name == "test" and not any(name in one.columns for one in found):
            made[name] = [test] * len(order)
        elif name not in made and name != "p_adjusted":
            values = _joined([one.columns[name] for one in found])[order]
            made[name] = values.tolist() if values.dtype == object else values
    families = group if family.whole == "group" else np.zeros(len(group), np.int64)
    made["p_adjusted"] = adjusted(made["p_value"].astype(float), families, family.adjust)
    return keys[group].with_columns(
        pl.Series(name, made[name], dtype, nan_to_null=True) for name, dtype in schema.items()
    )


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
