"""Columns of pieces of work → one table, group after group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rocframe.averages.grids import Task
    from rocframe.averages.members import Members


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gathered:
    """What is known of each group (down) at each value (across), piece after piece."""

    members: Members
    schema: Mapping[str, pl.DataType]
    groups: list[NDArray[np.uint32]] = field(default_factory=list)
    parts: list[dict[str, NDArray[Any]]] = field(default_factory=list)

    def add(
        self, task: Task, columns: Mapping[str, NDArray[Any]], known: NDArray[np.bool_]
    ) -> None:
        """Add the columns of a piece, where it has a value, and the notes of its groups."""
        notes = np.array([self.members.notes[group] for group in task.groups], object)
        told = {**columns, "note": np.repeat(notes[:, None], known.shape[1], axis=1)}
        self.groups.append(np.repeat(task.groups.astype(np.uint32), known.sum(axis=1)))
        self.parts.append({name: told[name][known] for name in self.schema})

    def table(self) -> pl.DataFrame:
        """Return the keys of the groups, then the columns."""
        place = np.concatenate([np.zeros(0, np.uint32), *self.groups])
        places, keys = pl.Series(place), self.members.keys
        table = keys[places] if keys.width else pl.DataFrame(height=len(places))
        made = table.with_columns(
            pl.Series(name, self._values(name), dtype, nan_to_null=True)
            for name, dtype in self.schema.items()
        )
        # Groups with about as many values were worked on together.
        return made if places.is_sorted() else made[np.argsort(place, kind="stable")]

    def _values(self, name: str) -> Any:
        """Put the values of a column together, texts as a list."""
        if not self.parts:
            return []
        whole = np.concatenate([part[name] for part in self.parts])
        return whole.tolist() if whole.dtype == object else whole
