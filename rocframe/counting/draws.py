"""Seeds and keys → random streams: one for each group and batch of replicates.

What a group draws depends on the seed and its key only: not on the other groups, their order, or
the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from rocframe.errors import OptionValueError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """What all streams of one call start from."""

    entropy: int

    @classmethod
    def of(cls, seed: object) -> Seed:
        """Read the option `seed`; None draws anew each time."""
        if seed is None:
            return cls(entropy=int(np.random.SeedSequence().entropy))  # type: ignore[arg-type]
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
            raise OptionValueError.of(
                "seed", seed, "it is no whole number from 0", "Give one, say seed=1, or None."
            )
        return cls(entropy=int(seed))

    def stream(self, key: tuple[int, ...], batch: int) -> np.random.Generator:
        """Return the random numbers of one batch of a group's replicates."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=(*key, batch))
        return np.random.Generator(np.random.PCG64DXSM(sequence))


def stream_keys(keys: pl.DataFrame, model: str | None = None) -> list[tuple[int, ...]]:
    """Return, for each group, the numbers that tell its streams from those of the others.

    A model that has a column of its own counts like a last key.
    """
    columns = [column.to_list() for column in keys]
    if model is not None:
        columns.append([model] * keys.height)
    return [_words(key) for key in zip(*columns, strict=True)] if columns else [_words(())]


def _words(key: tuple[object, ...]) -> tuple[int, ...]:
    # Python's own hash of text differs from run to run.
    digest = blake2b(repr(key).encode(), digest_size=16).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
