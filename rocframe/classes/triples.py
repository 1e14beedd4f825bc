"""Rows of three classes, and what the triples made of one row of each count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

LARGEST = 2**62  # what may add up in Int64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """Rows with a score: the group and class of each, and how many rows it stands for."""

    group: NDArray[np.int64]
    code: NDArray[np.int32]
    count: NDArray[np.int64]
    groups: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Triples:
    """What the triples of kinds of rows count, class by class.

    Of kind i there are `mass[i]` rows of a class, in group `group[i]`; `value[i]` is what the
    triples of one of them count together, and `whole` what one triple counts that is right.
    `total` is what all triples of each group count.
    """

    group: Sequence[NDArray[np.int64]]
    mass: Sequence[NDArray[Any]]
    value: Sequence[NDArray[Any]]
    total: NDArray[Any]
    whole: int
