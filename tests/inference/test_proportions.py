"""Limits of proportions: published values and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from rocframe.inference import clopper_pearson, wilson

METHODS = {"wilson": wilson, "exact": clopper_pearson}


@pytest.mark.parametrize(
    ("part", "whole", "method", "printed"),
    [
        # Newcombe 1998, table I.
        (81, 263, wilson, (0.2553, 0.3662)),
        (81, 263, clopper_pearson, (0.2527, 0.3676)),
        (15, 148, wilson, (0.0624, 0.1605)),
        (15, 148, clopper_pearson, (0.0578, 0.1617)),
        (0, 20, wilson, (0.0, 0.1611)),
        (0, 20, clopper_pearson, (0.0, 0.1684)),
        (1, 29, wilson, (0.0061, 0.1718)),
        (1, 29, clopper_pearson, (0.0009, 0.1776)),
    ],
)
def test_limits_equal_those_printed_in_newcombe_1998(part, whole, method, printed):
    limits = method(np.array([part], float), np.array([whole], float), 0.95)
    assert tuple(round(float(limit[0]), 4) for limit in limits) == printed


@pytest.mark.parametrize("name", METHODS)
@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0.01, 0.999))
def test_limits_equal_those_of_scipy(name, whole, share, level):
    part = round(share * whole)
    lower, upper = METHODS[name](np.array([part], float), np.array([whole], float), level)
    expected = binomtest(part, whole).proportion_ci(level, method=name)
    assert lower[0] == pytest.approx(expected.low, rel=1e-9, abs=1e-12)
    assert upper[0] == pytest.approx(expected.high, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("method", METHODS.values())
def test_a_proportion_of_no_rows_has_no_limits(method):
    assert np.isnan(method(np.zeros(1), np.zeros(1), 0.95)).all()
