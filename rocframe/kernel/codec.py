"""Encode scores and labels as sortable integers, and decode scores.

The code of a row is an unsigned integer. The lowest bit of the code is the label: 1 for negatives.
The other bits encode the score: a higher score has a smaller code. If the codes are sorted, the
rows are sorted by falling score, with the positives of a tie first. Two rows are tied if their
codes are equal except for the lowest bit.

Scores are not rounded. Nonnegative IEEE floats have the same order as their bit patterns. The label
needs one bit of the code. If there are scores of both signs, all bits of a float are in use.
Therefore the bit patterns between zero and the smallest magnitude of the scores are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rocframe.inputs.cases import RowState
from rocframe.kernel.threads import run_parallel, split_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rocframe.inputs.cases import Cases


Floats: TypeAlias = Any  # NDArray of float64 or float32
Codes: TypeAlias = Any  # NDArray of uint64 or uint32
FLOAT64 = np.dtype(np.float64)
ENCODED_ROWS = 1 << 16  # number of rows that a thread encodes at a time


class ReservedCode(IntEnum):
    """Codes of rows that are unscored or not used, as distances from the largest code."""

    LEFT_OUT = 0
    ABSENT = 1
    UNSCORED = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codec:
    """Encoding of one column of scores.

    The code of a score is `top - rank`. The rank is an integer that increases with the score, and
    `top` is the rank of the highest score. `floats` is the dtype in which scores are encoded, and
    `scores` is the dtype of the scores. There are three kinds of rank:

    - Without negative scores, the rank is the bit pattern of the score.
    - With negative scores (`signed`), the rank has the sign of the score. The smallest magnitude,
      whose bit pattern is `least`, has the rank 1, and infinity has the rank `infinity`.
    - If `table` is not None, it has the sorted distinct scores, and the rank of a score is its
      position in `table`.
    """

    floats: np.dtype[Any]
    signed: bool
    top: int
    least: int
    infinity: int
    table: Floats | None = None
    scores: np.dtype[Any] = FLOAT64

    @property
    def integers(self) -> np.dtype[Any]:
        """The signed integer type with the size of a score."""
        return np.dtype(f"i{self.floats.itemsize}")

    @property
    def codes(self) -> np.dtype[Any]:
        """The unsigned integer type with the size of a score."""
        return np.dtype(f"u{self.floats.itemsize}")

    def reserved(self, kind: ReservedCode) -> int:
        """Return the reserved code of a kind of row, without the label bit."""
        return int(np.iinfo(self.codes).max >> 1) - int(kind)

    @property
    def first_reserved(self) -> Any:
        """The smallest reserved code; scored rows have smaller codes."""
        return self.codes.type(self.reserved(max(ReservedCode)) << 1)

    def encode(self, scores: Floats, negative: NDArray[np.bool_]) -> Codes:
        """Return the codes of rows with these scores and labels."""
        if self.table is not None:
            rank = np.searchsorted(self.table, scores).astype(self.integers)
        elif self.signed:
            rank = self._signed_rank(scores)
        else:
            rank = (scores + 0).view(self.integers)  # + 0 turns -0.0 into 0.0
        np.subtract(self.top, rank, out=rank)
        codes: Codes = rank.view(self.codes)
        codes <<= 1
        codes |= negative
        return codes

    def decode(self, codes: Codes) -> NDArray[np.float64]:
        """Return the scores as Float64; `codes` are codes without the label bit."""
        rank = self.top - codes.view(self.integers)
        if self.table is not None:
            scores = self.table[rank]
        elif not self.signed:
            scores = rank.view(self.floats)
        else:
            below = rank >> (8 * self.floats.itemsize - 1)
            size = (rank ^ below) - below
            bits = size + (self.least - 1)
            bits[size == 0] = 0
            bits[size == self.infinity] = _float_bits(np.inf, self.floats)
            scores = np.copysign(bits.view(self.floats), rank)
        as_float64: NDArray[np.float64] = scores.astype(np.float64, copy=False)
        return as_float64

    def _signed_rank(self, scores: Floats) -> Any:
        """Return the ranks of scores of both signs, as integers of the same size."""
        bits = scores.view(self.integers)
        below = bits >> (8 * self.floats.itemsize - 1)
        size = bits & np.iinfo(self.integers).max
        size -= self.least - 1
        np.clip(size, 0, self.infinity, out=size)
        size ^= below
        size -= below
        return size


def round_thresholds(thresholds: ArrayLike, floats: np.dtype[Any]) -> NDArray[np.float64]:
    """Return thresholds as Float64, rounded to the float dtype of the scores.

    Scores and thresholds are compared in the dtype of the scores, as in `score >= 0.7` of polars.
    """
    with np.errstate(over="ignore"):  # large numbers are infinite in Float32
        rounded: NDArray[np.float64] = np.asarray(thresholds, np.float64).astype(floats)
    return rounded.astype(np.float64)


def fit_codec(scores: Floats) -> Codec:
    """Return a codec that can encode these scores, which must not contain NaN."""
    floats = scores.dtype
    room = int(np.iinfo(f"i{floats.itemsize}").max) - len(ReservedCode)
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    if low >= 0:
        top = _float_bits(high + 0, floats)
        return Codec(floats=floats, signed=False, top=top, least=0, infinity=0)
    parts = run_parallel(
        lambda part: _magnitude_range(scores[part]),
        split_rows(len(scores), ENCODED_ROWS),
        arrays_only=True,
    )
    least = min((small for small, _ in parts if small), default=1)
    infinity = max(max(large for _, large in parts) - least + 2, 1)
    if 2 * infinity < room:
        codec = Codec(floats=floats, signed=True, top=0, least=least, infinity=infinity)
        top = int(codec._signed_rank(np.array([high], floats))[0])
        return Codec(floats=floats, signed=True, top=top, least=least, infinity=infinity)
    if floats == np.float32:
        return fit_codec(scores.astype(np.float64))
    # The largest magnitude is more than 2**1024 times the smallest nonzero one, so differences of
    # bit patterns do not fit into the integer type. Codes are positions in a table of scores.
    table = np.unique(scores + 0)
    return Codec(floats=floats, signed=False, top=len(table) - 1, least=0, infinity=0, table=table)


def encode_rows(cases: Cases) -> tuple[Codec, Codes]:
    """Return the codec and the codes of all cases.

    Rows that are unscored, left out or absent have the largest codes.
    """
    codec = replace(fit_codec(cases.score), scores=cases.score.dtype)
    scores = cases.score.astype(codec.floats, copy=False)
    codes = np.empty(len(scores), codec.codes)

    def fill(part: slice) -> None:
        codes[part] = codec.encode(scores[part], cases.negative[part])
        if cases.state is not None:
            for state in (RowState.UNSCORED, RowState.ABSENT, RowState.LEFT_OUT):
                rows = cases.state[part] == state
                code = codec.codes.type(codec.reserved(ReservedCode[state.name]) << 1)
                codes[part][rows] = code | cases.negative[part][rows]

    run_parallel(fill, split_rows(len(scores), ENCODED_ROWS), arrays_only=True)
    return codec, codes


def _float_bits(value: Any, floats: np.dtype[Any]) -> int:
    """Return the bit pattern of a float of dtype `floats`, as an integer."""
    return int(np.array([value], floats).view(f"i{floats.itemsize}")[0])


def _magnitude_range(scores: Floats) -> tuple[int, int]:
    """Return the bit patterns of the smallest nonzero and the largest finite magnitude."""
    bits = np.abs(scores).view(f"i{scores.dtype.itemsize}")
    small = int(bits.min())
    large = int(bits.max())
    if small == 0:
        nonzero = bits[bits > 0]
        small = int(nonzero.min()) if len(nonzero) else 0
    if large >= _float_bits(np.inf, scores.dtype):
        finite = bits[bits < large]
        large = int(finite.max()) if len(finite) else 0
    return small, large
