"""Thinned lines stay within the tolerance of the full lines at every point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocframe.curves.thinning import column_extremes, corner_points, rows_at_levels


def farthest(x, y, line_x, line_y):
    """Return the largest distance of a point from a polyline, over all of its segments."""
    start_x, along_x = line_x[:-1], np.diff(line_x)
    start_y, along_y = line_y[:-1], np.diff(line_y)
    length = along_x**2 + along_y**2
    length[length == 0] = 1
    worst = 0.0
    for some in np.array_split(np.arange(len(x)), len(x) // 200 + 1):
        right, up = x[some, None] - start_x, y[some, None] - start_y
        share = np.clip((right * along_x + up * along_y) / length, 0, 1)
        squares = (right - share * along_x) ** 2 + (up - share * along_y) ** 2
        worst = max(worst, squares.min(1).max())
    return np.sqrt(worst)


def filled(x, y, parts=4):
    """Return the line with more points between its points."""
    at = np.arange(0, len(x) - 1 + 1e-9, 1 / parts)
    return np.interp(at, np.arange(len(x)), x), np.interp(at, np.arange(len(y)), y)


def noisy(n, rng):
    x = np.sort(rng.random(n))
    return x, np.clip(x**0.3 + rng.normal(0, 0.02, n), 0, 1)


def staircase(n, rng):
    right = rng.random(n - 1) < 0.5
    right[0], right[-1] = True, False
    x, y = (np.append(0, np.cumsum(steps)) for steps in (right, ~right))
    return x / x[-1], y / y[-1]


SHAPES = {
    "smooth": lambda n, _: (np.linspace(0, 1, n), np.linspace(0, 1, n) ** 0.2),
    "staircase": staircase,
    "corner": lambda n, _: (
        np.append(np.zeros(n // 2), np.linspace(0, 1, n // 2)),
        np.append(np.linspace(0, 1, n // 2), np.ones(n // 2)),
    ),
    "diagonal": lambda n, _: (np.linspace(0, 1, n), np.linspace(0, 1, n)),
    "zigzag": lambda n, _: (np.linspace(0, 1, n), np.arange(n) % 2 / 3),
    "noisy": noisy,
    "one place": lambda n, _: (np.full(n, 0.5), np.full(n, 0.5)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [4, 100, 1000])
@pytest.mark.parametrize("tolerance", [0.1, 0.01, 0.001])
def test_corners_keep_the_line_within_the_tolerance_both_ways(shape, n, tolerance):
    x, y = SHAPES[shape](n, np.random.default_rng(n))
    remaining = corner_points(x, y, np.array([0, n]), tolerance)
    assert remaining[0]
    assert remaining[-1]
    assert farthest(x, y, x[remaining], y[remaining]) <= tolerance + 1e-12
    assert farthest(*filled(x[remaining], y[remaining]), x, y) <= tolerance + 1e-12


def test_required_points_are_kept_and_do_not_move_the_line():
    rng = np.random.default_rng(7)
    x, y = noisy(800, rng)
    expected = rng.random(800) < 0.05
    remaining = corner_points(x, y, np.array([0, 800]), 0.05, required=expected)
    assert remaining[expected].all()
    assert farthest(x, y, x[remaining], y[remaining]) <= 0.05 + 1e-12


def test_corners_of_a_straight_line_are_its_ends():
    x = np.linspace(0, 1, 1000)
    assert np.flatnonzero(corner_points(x, x, np.array([0, 1000]), 1e-9)).tolist() == [0, 999]


def test_the_corner_of_a_perfect_curve_is_kept():
    x = np.append(np.zeros(500), np.linspace(0, 1, 501))
    y = np.append(np.linspace(0, 1, 501), np.ones(500))
    assert np.flatnonzero(corner_points(x, y, np.array([0, 1001]), 1e-3)).tolist() == [0, 500, 1000]


def test_lines_beside_each_other_are_thinned_as_each_would_be_alone():
    rng = np.random.default_rng(0)
    lines = [SHAPES[shape](n, rng) for shape in SHAPES for n in (4, 30, 600)]
    starts = np.cumsum([0, *(len(x) for x, _ in lines)])
    x, y = (np.concatenate(part) for part in zip(*lines, strict=True))
    together = corner_points(x, y, starts, 0.01)
    alone = [corner_points(x, y, np.array([0, len(x)]), 0.01) for x, y in lines]
    assert together.tolist() == np.concatenate(alone).tolist()


def test_lines_of_one_point_or_none_are_kept_as_they_are():
    x = np.array([0.2, 0.3])
    assert corner_points(x, x, np.array([0, 1, 1, 2, 2]), 0.1).tolist() == [True, True]
    assert corner_points(x[:0], x[:0], np.array([0]), 0.1).tolist() == []


def test_lines_may_have_different_tolerances():
    rng = np.random.default_rng(1)
    x, y = noisy(600, rng)
    twice, starts = np.tile([x, y], 2), np.array([0, 600, 1200])
    together = corner_points(*twice, starts, np.array([0.01, 0.1]))
    alone = [corner_points(x, y, np.array([0, 600]), tolerance) for tolerance in (0.01, 0.1)]
    assert together.tolist() == np.concatenate(alone).tolist()


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=40))
def test_any_line_stays_within_the_tolerance(points):
    x, y = (np.array(part) / 8 for part in zip(*points, strict=True))
    remaining = corner_points(x, y, np.array([0, len(x)]), 0.2)
    if len(x) > 1:
        assert farthest(x, y, x[remaining], y[remaining]) <= 0.2 + 1e-12
        assert farthest(*filled(x[remaining], y[remaining]), x, y) <= 0.2 + 1e-12


@pytest.mark.parametrize("whole", [True, False], ids=["counts", "weights"])
@pytest.mark.parametrize("share", [0.5, 0.001])
def test_counts_between_two_landmarks_pass_no_level(whole, share):
    rng = np.random.default_rng(1)
    n = 100_000
    positive = rng.random(n) < share
    mass = np.ones(n, np.int64) if whole else rng.exponential(size=n)
    both = [np.append(0, np.cumsum(mass * side)) for side in (positive, ~positive)]
    levels = [np.geomspace(1e-6, 1, 3000) * counts[-1] for counts in both]
    remaining = rows_at_levels(n + 1, lambda: list(zip(both, levels, strict=True)))
    assert remaining[0] == 0
    assert remaining[-1] == n
    assert len(remaining) < n / 4
    left, right = remaining[:-1], remaining[1:]
    gaps = right - left > 1
    assert gaps.any()
    for counts, values in zip(both, levels, strict=True):
        passed = np.searchsorted(values, counts, "right")
        assert (passed[left[gaps]] == passed[right[gaps]]).all()


def test_all_rows_of_short_curves_are_landmarks():
    assert rows_at_levels(50, list).tolist() == list(range(50))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [0.1, 0.003])
def test_outlines_keep_the_line_within_a_column_both_ways(shape, width):
    x, y = SHAPES[shape](1000, np.random.default_rng(3))
    remaining = column_extremes(x, y, np.array([0, len(x)]), width)
    assert remaining[0]
    assert remaining[-1]
    assert remaining.sum() <= 4 / width + 4
    assert farthest(x, y, x[remaining], y[remaining]) <= width + 1e-12
    assert farthest(*filled(x[remaining], y[remaining]), x, y) <= width + 1e-12
