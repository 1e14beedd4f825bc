"""Adjusted p-values equal those of statsmodels and hand-computed values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from rocframe.inference import adjust_p_values


def test_holm_multiplies_by_the_number_of_remaining_tests_and_is_monotone():
    found = adjust_p_values(np.array([0.01, 0.04, 0.03, 0.5]), np.zeros(4), "holm")
    np.testing.assert_allclose(found, [0.04, 0.09, 0.09, 0.5], rtol=1e-15)


def test_benjamini_hochberg_divides_by_the_rank():
    found = adjust_p_values(np.array([0.01, 0.04, 0.03, 0.5]), np.zeros(4), "bh")
    np.testing.assert_allclose(found, [0.04, 0.16 / 3, 0.16 / 3, 0.5], rtol=1e-15)


def test_without_a_method_p_values_are_unchanged():
    p = np.array([0.2, np.nan])
    np.testing.assert_array_equal(adjust_p_values(p, np.zeros(2), None), p)


def one_by_one(p: list[float]) -> list[float]:
    """Apply Holm's procedure step by step: reject the smallest, then test the others."""
    result = [0.0] * len(p)
    reached = 0.0
    for step, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        reached = max(reached, min(1.0, p[i] * (len(p) - step)))
        result[i] = reached
    return result


@pytest.mark.parametrize(
    ("method", "oracle"), [("holm", one_by_one), ("bh", false_discovery_control)]
)
def test_families_are_adjusted_separately_and_undefined_tests_do_not_count(method, oracle):
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 60, 200):
        p, family = rng.random(size) ** 2, rng.integers(0, 5, size)
        p[rng.random(size) < 0.1] = np.nan
        p[rng.random(size) < 0.2] = 0.25
        found = adjust_p_values(p, family, method)
        assert (np.isnan(found) == np.isnan(p)).all()
        for one in np.unique(family[~np.isnan(p)]):
            own = (family == one) & ~np.isnan(p)
            np.testing.assert_allclose(found[own], oracle(list(p[own])), rtol=1e-14)
