"""Exact sums and quotients of integers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAX_INT64 = 2**63 - 1
MAX_EXACT_FLOAT = 2**53


def exact_sums(
    weight: NDArray[Any], value: NDArray[Any], starts: NDArray[np.int64], *, power: int = 1
) -> NDArray[Any]:
    """Return sums of `weight * value ** power` between starts.

    Sums of integers are exact: they are Python integers if Int64 is too small.
    """
    if weight.dtype.kind == "f":
        return np.add.reduceat(weight * value**power, starts)
    total, top = int(weight.sum()), int(value.max())
    if total * top**power <= MAX_INT64:
        return np.add.reduceat(weight * value**power, starts)
    # Split values into limbs so short that sums of their products fit Int64.
    bits = max(1, (62 - total.bit_length()) // power)
    if total << (bits * power) > MAX_INT64:
        return np.add.reduceat(weight.astype(object) * value.astype(object) ** power, starts)
    limbs = [(value >> place) & ((1 << bits) - 1) for place in range(0, top.bit_length(), bits)]
    if power == 1:
        pairs = [(limb, i) for i, limb in enumerate(limbs)]
    else:
        pairs = [(a * b, i + j) for i, a in enumerate(limbs) for j, b in enumerate(limbs)]
    total_of = np.zeros(len(starts), object)
    for limb, place in pairs:
        total_of += np.add.reduceat(weight * limb, starts).astype(object) * (1 << (bits * place))
    return total_of


def exact_quotient(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """Return correctly rounded quotients of integers; NaN where the denominator is 0."""
    result = np.full(len(whole), np.nan)
    if whole.dtype.kind == "f":
        np.divide(part, whole, out=result, where=whole > 0)
        return result
    plain = np.array((whole > 0) & (whole < MAX_EXACT_FLOAT) & (abs(part) < MAX_EXACT_FLOAT), bool)
    result[plain] = part[plain].astype(np.float64) / whole[plain].astype(np.float64)
    for i in np.flatnonzero(~plain & np.array(whole > 0, bool)):
        result[i] = int(part[i]) / int(whole[i])
    return result


def exact_product(*factors: NDArray[Any]) -> NDArray[Any]:
    """Return products; those of integers are Python integers if Int64 is too small."""
    if not any(factor.dtype.kind == "f" for factor in factors):
        bound = math.prod(int(abs(factor).max()) if len(factor) else 0 for factor in factors)
        if bound > MAX_INT64:
            factors = tuple(factor.astype(object) for factor in factors)
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def scale_to_unit(*parts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Scale floats to at most 1 by a common power of two, which changes no ratio and is exact.

    Products of two scaled sums of weights neither overflow nor underflow. Integers stay unchanged.
    """
    if not any(part.dtype.kind == "f" for part in parts):
        return parts
    power = -math.frexp(max(float(part.max(initial=0)) for part in parts))[1]
    return tuple(np.ldexp(part, power) for part in parts)
