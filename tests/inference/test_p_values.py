"""One-sided and two-sided p-values: scipy and hand-computed values."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from rocframe.inference import is_as_extreme, normal_p_value

Z = np.array([-40.0, -1.5, 0.0, 0.3, 8.0])


def test_normal_p_values_equal_those_of_scipy_also_in_the_tails():
    np.testing.assert_allclose(normal_p_value(Z, "greater"), norm.sf(Z), rtol=1e-12)
    np.testing.assert_allclose(normal_p_value(Z, "less"), norm.cdf(Z), rtol=1e-12)
    np.testing.assert_allclose(normal_p_value(Z, "two-sided"), 2 * norm.sf(np.abs(Z)), rtol=1e-12)


def test_undefined_statistics_have_no_p_value():
    assert np.isnan(normal_p_value(np.array([np.nan]), "two-sided")).all()


def test_a_permutation_statistic_equal_to_the_observed_one_counts_as_extreme():
    drawn = np.array([-3, -2, 0, 2, 3])
    assert is_as_extreme(drawn, 2, "greater").tolist() == [False, False, False, True, True]
    assert is_as_extreme(drawn, 2, "less").tolist() == [True, True, True, True, False]
    assert is_as_extreme(drawn, -2, "two-sided").tolist() == [True, True, False, True, True]
