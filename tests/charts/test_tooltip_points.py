"""Points with tooltips are evenly spaced along the visible line."""

from __future__ import annotations

import numpy as np

from rocframe.curves.thinning import column_extremes, corner_points, evenly_spaced_points


def test_points_for_tooltips_are_spaced_along_the_line():
    x = np.sort(np.random.default_rng(2).random(100_000) ** 3)
    starts = np.array([0, len(x)])
    marked = evenly_spaced_points(
        x, x, starts, np.array([100]), corners=corner_points(x, x, starts, 0.01)
    )
    assert 100 <= marked.sum() <= 102
    assert np.diff(x[marked]).max() < 0.011


def test_tooltips_ignore_oscillation_within_a_pixel():
    y = np.append(np.tile([0.0, 1.0], 500), np.ones(1000))
    x = np.append(np.linspace(0, 0.001, 1000), np.linspace(0.001, 1, 1000))
    starts = np.array([0, len(x)])
    outline = column_extremes(x, y, starts, 0.002)
    x, y, starts = x[outline], y[outline], np.array([0, outline.sum()])
    bare = corner_points(x, y, starts, 0.01)
    assert bare.sum() <= 5
    marked = evenly_spaced_points(x, y, starts, np.array([100]), corners=bare)
    assert marked[x > 0.001].sum() >= 25


def test_lines_of_one_point_or_none_are_unchanged():
    x = np.array([0.2, 0.3])
    some = evenly_spaced_points(x, x, np.array([0, 1, 1, 2, 2]), np.full(4, 5), corners=x > 0)
    assert some.tolist() == [True, True]
    assert (
        evenly_spaced_points(
            x[:0], x[:0], np.array([0, 0]), np.array([5]), corners=x[:0] > 0
        ).tolist()
        == []
    )
