"""Linear interpolation between the points of groups."""

from __future__ import annotations

import numpy as np
import pytest

from rocframe.kernel.arrays import interpolate_in_groups, interpolate_segments


def test_values_are_those_of_numpy_in_each_group():
    rng = np.random.default_rng(4)
    sizes = np.array([1, 5, 2, 40])
    starts = np.append(0, np.cumsum(sizes))
    x = np.concatenate([np.sort(rng.normal(size=size)) for size in sizes])
    y = rng.normal(size=len(x))
    group = rng.integers(len(sizes), size=500)
    at = np.append(rng.normal(size=500 - len(x)) * 2, x)
    found = interpolate_in_groups(x, y, starts[group], starts[group + 1] - 1, at)
    expected = [
        np.interp(value, x[starts[i] : starts[i + 1]], y[starts[i] : starts[i + 1]])
        for i, value in zip(group, at, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_values_can_be_a_matrix_of_groups_and_numbers():
    x, y = np.array([0.0, 1, 0, 2]), np.array([0.0, 1, 5, 7])
    first, last = np.array([[0], [2]]), np.array([[1], [3]])
    found = interpolate_in_groups(x, y, first, last, np.array([-1, 0.5, 1, 3]))
    assert found.tolist() == [[0, 0.5, 1, 1], [5, 5.5, 6, 7]]


def test_small_differences_count_in_a_group_after_many_groups():
    n = 300_000
    x = np.tile([0.5, 0.5 + 2**-50, 0.5 + 2**-49], n)
    y = np.tile([0.0, 1.0, 4.0], n)
    last = np.array([3 * n - 1])
    at = np.array([0.5 + 2**-51, 0.5 + 2**-50, 0.5 + 3 * 2**-51])
    assert interpolate_in_groups(x, y, last - 2, last, at).tolist() == [0.5, 1.0, 2.5]


@pytest.mark.parametrize(
    ("x", "at", "expected"),
    [
        ((-1.5e308, 1.5e308), 0.0, 0.5),
        ((-np.inf, 1.0), 0.0, 1.0),
        ((-np.inf, 1.0), -np.inf, 0.0),
        ((0.0, np.inf), 1e300, 0.0),
        ((-np.inf, np.inf), 3.0, 0.5),
        ((2.0, 2.0), 2.0, 0.0),
        ((0.0, 1.0), 7.0, 1.0),
        ((0.0, 1.0), -7.0, 0.0),
    ],
)
def test_segments_may_be_infinite_long_or_short(x, at, expected):
    ends = np.array([x[0]]), np.array([x[1]])
    rates = np.array([0.0]), np.array([1.0])
    assert interpolate_segments(ends, rates, np.array([at])).tolist() == [expected]


def test_a_point_without_value_does_not_matter_at_the_other_point():
    x = np.array([0.0, 0.0, 0.0]), np.array([1.0, 1.0, 1.0])
    y = np.array([3.0, np.nan, 3.0]), np.array([np.nan, 5.0, np.nan])
    found = interpolate_segments(x, y, np.array([0.0, 1.0, 0.5]))
    np.testing.assert_array_equal(found, [3.0, 5.0, np.nan])
