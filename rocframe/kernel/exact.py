"""Exact sums and quotients of integers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.options import MAX_INTEGER

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAX_INT64 = 2**63 - 1
MAX_WEIGHT = 2.0**32  # larger weights are scaled


def exact_sums(
    weight: NDArray[Any], value: NDArray[Any], starts: NDArray[np.int64], *, power: int = 1
) -> NDArray[Any]:
    """Return the sums of `weight * value ** power` over segments of the arrays.

    `starts` are the first positions of the segments. Sums of integers are exact. If they may exceed
    Int64, they are Python integers.
    """
    if weight.dtype.kind == "f":
        return np.add.reduceat(weight * value**power, starts)
    total, largest = int(weight.sum()), int(value.max())
    if total * largest**power <= MAX_INT64:
        return np.add.reduceat(weight * value**power, starts)
    # Each value is divided into parts of `bits` bits, which are its digits in base 2**bits. With so
    # few bits, sums of products of digits do not exceed Int64.
    bits = max(1, (62 - total.bit_length()) // power)
    if total << (bits * power) > MAX_INT64:
        return np.add.reduceat(weight.astype(object) * value.astype(object) ** power, starts)
    digits = [
        (value >> shift) & ((1 << bits) - 1) for shift in range(0, largest.bit_length(), bits)
    ]
    if power == 1:
        products = [(digit, i) for i, digit in enumerate(digits)]
    else:
        products = [(a * b, i + j) for i, a in enumerate(digits) for j, b in enumerate(digits)]
    result = np.zeros(len(starts), object)
    for product, i in products:
        result += np.add.reduceat(weight * product, starts).astype(object) * (1 << (bits * i))
    return result


def exact_quotient(numerator: NDArray[Any], denominator: NDArray[Any]) -> NDArray[np.float64]:
    """Return the quotients of two arrays; NaN if the denominator is 0.

    Quotients of integers are correctly rounded.
    """
    result = np.full(len(denominator), np.nan)
    defined = np.array(denominator > 0, bool)
    if denominator.dtype.kind == "f":
        np.divide(numerator, denominator, out=result, where=defined)
        return result
    as_floats = defined & np.array(
        (denominator < MAX_INTEGER) & (abs(numerator) < MAX_INTEGER), bool
    )
    result[as_floats] = numerator[as_floats].astype(np.float64) / denominator[as_floats].astype(
        np.float64
    )
    for i in np.flatnonzero(defined & ~as_floats):
        result[i] = int(numerator[i]) / int(denominator[i])
    return result


def exact_product(*factors: NDArray[Any]) -> NDArray[Any]:
    """Return the product of arrays, as Python integers if integers may exceed Int64."""
    if not any(factor.dtype.kind == "f" for factor in factors):
        bound = math.prod(int(abs(factor).max()) if len(factor) else 0 for factor in factors)
        if bound > MAX_INT64:
            factors = tuple(factor.astype(object) for factor in factors)
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def scale_by_totals(total: NDArray[Any], *counts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Multiply sums of weights by the power of two for which `total` is at least 1/2 and below 1.

    The products of such sums do not underflow or overflow, and their ratios do not change. Integers
    are returned unchanged.
    """
    if not any(count.dtype.kind == "f" for count in counts):
        return counts
    power = -np.frexp(total)[1]
    return tuple(np.ldexp(count, power) for count in counts)


def scale_by_groups(weight: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """Multiply the weights of each group by a power of two; see `scale_by_largest`.

    Group i has the weights `starts[i]` to `starts[i + 1] - 1`. Ratios of the weights of a group do
    not change. Products of its sums do not underflow or overflow, whatever the weights of other
    groups are.
    """
    sizes = np.diff(starts)
    filled = sizes > 0
    largest = np.maximum.reduceat(weight, starts[:-1][filled])
    return scale_by_largest(np.repeat(largest, sizes[filled]), weight)


def scale_by_largest(largest: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
    """Multiply weights by a power of two, so that the largest is below `MAX_WEIGHT`.

    If it is at least 1 and below this limit, the weights do not change, so that numbers of rows
    remain whole numbers. Otherwise, the result is below 1.
    """
    unscaled = (largest >= 1) & (largest < MAX_WEIGHT)
    return scale_by_totals(np.where(unscaled, 0.5, largest), weight)[0]
