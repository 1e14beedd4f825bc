"""The rows of each group that have no threshold: left out, absent, or unscored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.counting.codec import Codec, Codes, Tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.counting.masses import Masses


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tails:
    """What stands behind the scores of each group.

    `length` counts the places it takes. `n_missing` counts rows left out or unscored. The
    unscored ones, positive and negative, are there as rows, as mass (count times weight), and as
    squares (count times squared weight).
    """

    length: NDArray[np.int64]
    n_missing: NDArray[np.int64]
    pos_rows: NDArray[np.int64]
    neg_rows: NDArray[np.int64]
    pos_mass: NDArray[Any]
    neg_mass: NDArray[Any]
    pos_squares: NDArray[Any]
    neg_squares: NDArray[Any]

    @classmethod
    def none(cls, groups: int) -> Tails:
        """Return the tails of groups whose rows all have a threshold."""
        nothing = np.zeros(groups, np.int64)
        return cls(
            length=nothing,
            n_missing=nothing,
            pos_rows=nothing,
            neg_rows=nothing,
            pos_mass=nothing,
            neg_mass=nothing,
            pos_squares=nothing,
            neg_squares=nothing,
        )

    @classmethod
    def find(
        cls,
        codec: Codec,
        codes: Codes,
        masses: Masses | None,
        starts: NDArray[np.int64],
    ) -> Tails:
        """Find them among the sorted codes of all groups."""
        at = np.flatnonzero(codes >= codec.first_tail)
        group = np.searchsorted(starts, at, "right") - 1
        kind, negative = codes[at] >> 1, (codes[at] & 1).astype(bool)
        rows = np.ones(len(at), np.int64) if masses is None else masses.count[at]
        mass = rows if masses is None else masses.mass[at]
        squares = mass if masses is None or masses.weight is None else mass * masses.weight[at]

        def total(values: NDArray[Any], where: NDArray[np.bool_]) -> NDArray[Any]:
            sums = np.zeros(len(starts) - 1, values.dtype)
            np.add.at(sums, group[where], values[where])
            return sums

        unscored = kind == codec.tail(Tail.UNSCORED)
        left_out = kind == codec.tail(Tail.LEFT_OUT)
        return cls(
            length=total(np.ones(len(at), np.int64), np.ones(len(at), bool)),
            n_missing=total(rows, unscored | left_out),
            pos_rows=total(rows, unscored & ~negative),
            neg_rows=total(rows, unscored & negative),
            pos_mass=total(mass, unscored & ~negative),
            neg_mass=total(mass, unscored & negative),
            pos_squares=total(squares, unscored & ~negative),
            neg_squares=total(squares, unscored & negative),
        )
