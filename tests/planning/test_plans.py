"""Power, sample size and detectable difference: by hand, published and simulated numbers."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.optimize import brentq
from scipy.stats import norm

import rocframe as rf

VARIANCES = ["hanley_mcneil_exponential", "obuchowski"]
SCHEMA = {
    "difference": pl.Float64,
    **dict.fromkeys(["n_pos", "n_neg"], pl.Int64),
    **dict.fromkeys(["power", "auc", "null", "auc_b", "correlation", "se", "se_null"], pl.Float64),
    **dict.fromkeys(["ratio", "target", "alpha"], pl.Float64),
    **dict.fromkeys(["alternative", "variance", "se_at", "note"], pl.String),
}


CHOSEN = ("two-sided", VARIANCES[0])


def one(table: pl.DataFrame, name: str = "power") -> float:
    return table[name].item()


# By hand


def test_a_row_has_the_options_and_the_derived_values():
    table = rf.power(auc=0.8, n_pos=10, n_neg=20)
    # By chance the variance is (10 + 20 + 1) / (12·10·20); else from the chances that a positive
    # beats two negatives, 1.28 / 1.8, and that two positives beat a negative, 0.8 / 1.2.
    se_null = math.sqrt(31 / 2400)
    se = math.sqrt((0.16 + 9 * (0.8 / 1.2 - 0.64) + 19 * (1.28 / 1.8 - 0.64)) / 200)
    power = norm.sf(norm.ppf(0.975) - 0.3 / se) + norm.cdf(norm.ppf(0.025) - 0.3 / se)
    row = (0.3, 10, 20, power, 0.8, 0.5, None, None, se, se_null, 2.0, None, 0.05)
    chosen = (*CHOSEN, "estimate", None)
    expected = pl.DataFrame([(*row, *chosen)], schema=SCHEMA, orient="row")
    assert_frame_equal(table, expected, rel_tol=1e-12)


def test_a_test_may_take_its_standard_error_under_the_null_hypothesis():
    table = rf.power(auc=0.8, n_pos=10, n_neg=20, se_at="null")
    se_null, se = table.select("se_null", "se").row(0)
    least = norm.ppf(0.975) * se_null
    power = norm.sf((least - 0.3) / se) + norm.cdf((-least - 0.3) / se)
    assert one(table) == pytest.approx(power, rel=1e-12)
    same = ["se_null", "se", "difference", "n_pos"]
    assert_frame_equal(table.select(same), rf.power(auc=0.8, n_pos=10, n_neg=20).select(same))


def test_two_models_share_the_second_ones_area_under_the_null_hypothesis():
    table = rf.power(auc=0.85, auc_b=0.8, correlation=0.4, n_pos=80, n_neg=90, alternative="less")
    alone = {area: one(rf.power(auc=area, n_pos=80, n_neg=90), "se") for area in (0.8, 0.85)}
    a, b = alone[0.85], alone[0.8]
    assert one(table, "null") is None
    assert one(table, "difference") == pytest.approx(0.05, rel=1e-14)
    assert one(table, "se_null") == pytest.approx(b * math.sqrt(2 * 0.6), rel=1e-12)
    assert one(table, "se") == pytest.approx(math.sqrt(a * a + b * b - 0.8 * a * b), rel=1e-12)
    beyond = -0.05 / one(table, "se") - norm.ppf(0.95)
    assert one(table) == pytest.approx(norm.cdf(beyond), rel=1e-10)


def test_the_order_of_two_models_does_not_matter():
    sizes = {"correlation": 0.4, "n_pos": 80, "n_neg": 90}
    there = rf.power(auc=0.85, auc_b=0.95, **sizes)
    back = rf.power(auc=0.95, auc_b=0.85, **sizes)
    assert one(there) == pytest.approx(one(back), rel=1e-12)
    assert 0.5 < one(there) < 0.99
    there = rf.sample_size(auc=0.85, auc_b=0.95, correlation=0.4)
    back = rf.sample_size(auc=0.95, auc_b=0.85, correlation=0.4)
    assert one(there, "n_pos") == one(back, "n_pos")


def test_there_are_at_least_ten_rows_of_each_class():
    expected = [(0.1, 91, 10), (1 / 3, 28, 10), (0.5, 19, 10), (0.9, 11, 10), (1, 10, 10)]
    for ratio, *sizes in [*expected, (1.05, 10, 11), (3, 10, 30)]:
        assert rf.sample_size(auc=0.99, ratio=ratio).select("n_pos", "n_neg").row(0) == tuple(sizes)
    two = rf.sample_size(auc=0.99, auc_b=0.5, correlation=0.5)
    assert two.select("n_pos", "n_neg").row(0) == (10, 10)


@pytest.mark.parametrize("ratio", [1e-300, 5e-324, 1e300, 1.7e308])
def test_a_ratio_beyond_all_numbers_of_rows_has_no_solution(ratio):
    assert rf.sample_size(auc=0.6, ratio=ratio)["note"].to_list() == ["no_solution"]


def test_there_is_a_row_per_combination_and_the_last_argument_varies_fastest():
    table = rf.power(auc=[0.7, 0.8], n_pos=np.array([10, 20]), n_neg=30, alpha=(0.05, 0.01))
    assert table.select("auc", "n_pos", "n_neg", "alpha").rows() == [
        (auc, n_pos, 30, alpha)
        for auc in (0.7, 0.8)
        for n_pos in (10, 20)
        for alpha in (0.05, 0.01)
    ]
    again = pl.concat(
        rf.power(auc=auc, n_pos=n_pos, n_neg=30, alpha=alpha)
        for auc, n_pos, _, alpha in table.select("auc", "n_pos", "n_neg", "alpha").rows()
    )
    assert_frame_equal(table, again)


def test_sample_size_has_no_solution_if_no_number_of_rows_reaches_the_power():
    table = rf.sample_size(auc=[0.5, 0.4, 0.7], alternative="greater", ratio=3)
    assert table["note"].to_list() == ["no_solution", "no_solution", None]
    nothing = ["difference", "n_pos", "n_neg", "se_null", "se", "power"]
    assert table.head(2).select(nothing).null_count().row(0) == (2,) * 6
    assert table["ratio"].to_list() == [3.0] * 3
    assert table["target"].to_list() == [0.8] * 3
    assert table.schema == SCHEMA


@pytest.mark.parametrize(
    ("auc", "null", "alternative"),
    [(0.99, 0.999, "greater"), (0.01, 0.001, "less"), (0.5, 0.5, "two-sided")],
)
def test_a_difference_of_the_wrong_sign_has_no_solution_with_any_standard_error(
    auc, null, alternative
):
    # With the standard error under the null hypothesis, the power of ten rows is above 0.15.
    options = {"auc": auc, "null": null, "alternative": alternative, "se_at": "null"}
    table = rf.sample_size(**options, power=0.15)
    assert table.select("n_pos", "power", "note").row(0) == (None, None, "no_solution")


def test_detectable_difference_has_no_solution_if_no_area_reaches_the_power():
    table = rf.detectable_difference(n_pos=[2, 40], n_neg=3, se_at="null")
    assert table["note"].to_list() == ["no_solution", None]
    nothing = ["auc", "difference", "se_null", "se", "power"]
    assert table.head(1).select(nothing).null_count().row(0) == (1,) * 5
    assert table["ratio"].to_list() == [1.5, 0.075]
    assert table.schema == SCHEMA


# As published


def test_hanley_and_mcneils_table_of_rows_for_two_models():
    # Table III of 1982, for different rows, one-sided: from 0.70 to 0.75. It leaves out terms of
    # the order of 1/n, which make up for some rows.
    table = rf.sample_size(
        auc=0.75,
        auc_b=0.7,
        correlation=0,
        power=[0.8, 0.9, 0.95],
        alternative="greater",
        se_at="null",
    )
    assert table["n_pos"].to_list() == [pytest.approx(n, rel=0.004) for n in (652, 897, 1131)]
    assert table["n_neg"].to_list() == table["n_pos"].to_list()


# As pROC 1.18 prints them, which looks at one tail only.
PUBLISHED = {"variance": "obuchowski", "se_at": "null"}
PROC = {"n_pos": 41, "n_neg": 72, **PUBLISHED}


def test_power_and_detectable_difference_are_those_of_proc():
    assert one(rf.power(auc=0.73, **PROC)) == pytest.approx(0.9897453, abs=1e-6)
    assert one(rf.power(auc=0.73, alpha=0.009238584, **PROC)) == pytest.approx(0.95, abs=1e-6)
    found = rf.detectable_difference(power=0.95, **PROC)
    assert one(found, "auc") == pytest.approx(0.6961054, abs=1e-5)


# Rows of each class for a one-sided test at power 0.9, as N. A. Obuchowski (2004) tabulates them.
TABULATED = {
    0.25: [(334, 84), (80, 20)],
    0.5: [(202, 101), (49, 25)],
    1: [(135, 135), (33, 33), (14, 14)],
    2: [(102, 203), (25, 50), (11, 21)],
    4: [(85, 340), (21, 84)],
}


@pytest.mark.parametrize("ratio", TABULATED)
def test_obuchowskis_table_of_rows_for_one_model(ratio):
    areas = [0.6, 0.7, 0.8][: len(TABULATED[ratio])]
    table = rf.sample_size(auc=areas, ratio=ratio, power=0.9, alternative="greater", **PUBLISHED)
    for (n_pos, n_neg), (pos, neg) in zip(
        table.select("n_pos", "n_neg").rows(), TABULATED[ratio], strict=True
    ):
        # The table rounds each class up by itself. Here whole positives come first, and what the
        # negatives gain in rounding saves up to one of their kind.
        assert pos - max(1, 1 / ratio) < n_pos <= pos
        assert neg <= n_neg < neg + max(1, ratio)


def test_sample_size_equals_the_formula_solved_for_n():
    for ratio in (0.5, 1.0, 1.7):
        found = rf.sample_size(auc=0.73, ratio=ratio, power=0.95, **PUBLISHED)

        def short(n: float, ratio: float = ratio) -> float:
            a = 1.414 * norm.ppf(0.73)
            v0 = 0.0099 * (8 + 8 / ratio) / n
            v1 = 0.0099 * math.exp(-a * a / 2) * (5 * a * a + 8 + (a * a + 8) / ratio) / n
            return norm.ppf(0.975) * v0**0.5 + norm.ppf(0.95) * v1**0.5 - 0.23

        # Negatives are rounded up, which may save a positive.
        assert one(found, "n_pos") in {math.ceil(brentq(short, 2, 1e4)) - i for i in (0, 1)}


# As simulated


def normal_scores(areas: dict[str, float], n_pos: int, n_neg: int, groups: int, shared: float = 0):
    """Return scores of models with these areas, which share a component of this variance."""
    rng = np.random.default_rng(n_pos)
    label = np.tile(np.arange(n_pos + n_neg) < n_pos, groups)
    common = shared**0.5 * rng.normal(size=len(label))
    scores = {
        name: common
        + (1 - shared) ** 0.5 * rng.normal(size=len(label))
        + math.sqrt(2) * norm.ppf(area) * label
        for name, area in areas.items()
    }
    group = np.repeat(np.arange(groups), n_pos + n_neg)
    return pl.DataFrame({"g": group, "label": label, **scores})


def exponential_scores(areas: dict[str, float], n_pos: int, n_neg: int, groups: int):
    """Return exponential scores of models with these areas: Exp(1/r) beats Exp(1) by r/(1 + r)."""
    rng = np.random.default_rng(n_pos)
    label = np.tile(np.arange(n_pos + n_neg) < n_pos, groups)
    scores = {
        name: rng.exponential(np.where(label, area / (1 - area), 1.0))
        for name, area in areas.items()
    }
    group = np.repeat(np.arange(groups), n_pos + n_neg)
    return pl.DataFrame({"g": group, "label": label, **scores})


@pytest.mark.parametrize(
    ("auc", "n_pos", "n_neg"), [(0.65, 60, 90), (0.75, 30, 20), (0.6, 100, 80)]
)
def test_simulated_exponential_scores_have_the_planned_power(auc, n_pos, n_neg):
    groups = 1_500
    rows = exponential_scores({"score": auc}, n_pos, n_neg, groups)
    tests = rf.auc_test(rows, "label", "score", by="g", method="mann_whitney")
    plan = rf.power(auc=auc, n_pos=n_pos, n_neg=n_neg, se_at="null")
    assert tests["auc"].std() == pytest.approx(one(plan, "se"), rel=0.06)
    share = (tests["p_value"] <= 0.05).mean()
    assert share == pytest.approx(one(plan), abs=4 * math.sqrt(0.25 / groups) + 0.005)


@pytest.mark.parametrize(
    ("auc", "null", "n_pos", "n_neg"),
    [(0.95, 0.9, 50, 50), (0.9, 0.8, 30, 30), (0.85, 0.9, 182, 182), (0.7, 0.6, 120, 120)],
)
def test_delongs_test_has_about_the_planned_power(auc, null, n_pos, n_neg):
    rows = normal_scores({"score": auc}, n_pos, n_neg, 1_000)
    options = {"method": "delong", "null": null, "adjust": None}
    tests = rf.auc_test(rows, "label", "score", by="g", **options)
    plan = rf.power(auc=auc, null=null, n_pos=n_pos, n_neg=n_neg)
    # What is left is the variance's: near an area of 1 that of normal scores is smaller.
    assert (tests["p_value"] <= 0.05).mean() == pytest.approx(one(plan), abs=0.12)
    # With the standard error that is there it is nearer, but for the tails of few rows.
    true = norm.cdf(abs(auc - null) / tests["auc"].std() - norm.ppf(0.975))
    assert (tests["p_value"] <= 0.05).mean() == pytest.approx(true, abs=0.06)


@pytest.mark.parametrize(
    ("a", "b", "shared", "rows_each"), [(0.95, 0.9, 0.5, 80), (0.8, 0.75, 0.7, 150)]
)
def test_comparisons_have_about_the_planned_power(a, b, shared, rows_each):
    rows = normal_scores({"a": a, "b": b}, rows_each, rows_each, 500, shared)
    pairs = rf.compare(rows, "label", ["a", "b"], by="g", adjust=None, method="delong")
    correlation = np.corrcoef(pairs["auc_a"], pairs["auc_b"])[0, 1]
    plan = rf.power(auc=b, auc_b=a, correlation=correlation, n_pos=rows_each, n_neg=rows_each)
    found = (pairs["p_value"] <= 0.05).mean()
    assert found == pytest.approx(one(plan), abs=0.12)
    true = norm.cdf((a - b) / pairs["difference"].std() - norm.ppf(0.975))
    assert found == pytest.approx(true, abs=0.06)


def test_comparisons_of_exponential_scores_have_the_planned_power():
    rows = exponential_scores({"a": 0.9, "b": 0.8}, 100, 100, 1_000)
    pairs = rf.compare(rows, "label", ["a", "b"], by="g", adjust=None, method="delong")
    plan = rf.power(auc=0.9, auc_b=0.8, correlation=0, n_pos=100, n_neg=100)
    assert (pairs["p_value"] <= 0.05).mean() == pytest.approx(one(plan), abs=0.04)


def test_the_binormal_formula_is_conservative_for_normal_scores():
    n_pos, n_neg = 50, 70
    rows = normal_scores({"score": 0.8}, n_pos, n_neg, 1_500)
    found = rf.auc(rows, "label", "score", by="g", ci=None)["auc"]
    assert found.mean() == pytest.approx(0.8, abs=0.005)
    plans = [rf.power(auc=0.8, n_pos=n_pos, n_neg=n_neg, variance=name) for name in VARIANCES]
    exponential, binormal = (one(plan, "se") for plan in plans)
    assert found.std() == pytest.approx(exponential, rel=0.06)
    assert found.std() < binormal < 1.2 * found.std()


def test_two_models_on_the_same_rows_differ_by_the_planned_standard_error():
    rows = normal_scores({"a": 0.8, "b": 0.8}, 60, 60, 1_500, shared=0.7)
    areas = rf.auc(rows, "label", ["a", "b"], by="g", ci=None)
    first, second = (areas.filter(pl.col("model") == name)["auc"].to_numpy() for name in "ab")
    correlation = np.corrcoef(first, second)[0, 1]
    assert 0.55 < correlation < 0.7  # a little below that of the scores
    plan = rf.power(auc=0.8, auc_b=0.8, correlation=correlation, n_pos=60, n_neg=60)
    assert (first - second).std() == pytest.approx(one(plan, "se"), rel=0.07)


# Laws

areas = st.floats(0.52, 0.97)
rows_of_a_class = st.integers(5, 2_000)
designs = st.fixed_dictionaries(
    {
        "alpha": st.sampled_from([0.01, 0.05, 0.1]),
        "alternative": st.sampled_from(["two-sided", "greater"]),
        "variance": st.sampled_from(VARIANCES),
        "se_at": st.sampled_from(["estimate", "null"]),
    }
)


@given(areas, rows_of_a_class, rows_of_a_class, designs)
def test_power_rises_with_the_rows_and_with_the_distance(auc, n_pos, n_neg, design):
    subset, more, most = rf.power(
        auc=auc, n_pos=[n_pos, 2 * n_pos, 4 * n_pos], n_neg=n_neg, **design
    )["power"]
    if subset > 0.3:  # small powers may decrease
        assert subset <= more <= most
    found = rf.power(auc=[0.5, (0.5 + auc) / 2, auc], n_pos=n_pos, n_neg=n_neg, **design)["power"]
    assert found[0] == pytest.approx(design["alpha"], rel=1e-9)
    if found[1] > 0.3:
        assert found[1] <= found[2]


@given(
    areas, st.sampled_from([0.1, 0.5, 1.0, 3.0, 19.0]), st.sampled_from([0.5, 0.8, 0.99]), designs
)
def test_sample_size_reaches_the_power_and_one_positive_less_does_not(auc, ratio, power, design):
    table = rf.sample_size(auc=auc, ratio=ratio, power=power, **design)
    n_pos, n_neg = table.select("n_pos", "n_neg").row(0)
    assert one(table) >= power
    assert n_neg == math.ceil(round(ratio * n_pos, 9))
    assert min(n_pos, n_neg) >= 10
    assert one(rf.power(auc=auc, n_pos=n_pos, n_neg=n_neg, **design)) == one(table)
    fewer = math.ceil(round(ratio * (n_pos - 1), 9))
    if min(n_pos - 1, fewer) >= 10:
        assert one(rf.power(auc=auc, n_pos=n_pos - 1, n_neg=fewer, **design)) < power


@given(st.integers(20, 2_000), st.integers(20, 2_000), st.sampled_from([0.6, 0.9]), designs)
def test_a_detectable_difference_reaches_the_power_and_a_smaller_one_does_not(
    n_pos, n_neg, power, design
):
    table = rf.detectable_difference(n_pos=n_pos, n_neg=n_neg, power=power, **design)
    auc, difference = table.select("auc", "difference").row(0)
    assert difference == pytest.approx(auc - 0.5, abs=1e-15)
    assert one(table) == pytest.approx(power, abs=1e-9)
    assert one(table) >= power
    assert one(rf.power(auc=auc, n_pos=n_pos, n_neg=n_neg, **design)) == one(table)
    smaller = 0.5 + difference * (1 - 1e-6)
    assert one(rf.power(auc=smaller, n_pos=n_pos, n_neg=n_neg, **design)) < power


@given(areas, st.floats(0.5, 0.97), st.floats(-0.5, 0.9), designs)
def test_more_correlated_areas_need_fewer_rows(auc, auc_b, correlation, design):
    if abs(auc - auc_b) < 0.02:
        auc_b = auc - 0.02
    design |= {"alternative": "two-sided"}
    loose, tight = rf.sample_size(
        auc=auc, auc_b=auc_b, correlation=[correlation, correlation + 0.05], **design
    )["n_pos"]
    assert tight <= loose


@given(areas, rows_of_a_class, rows_of_a_class, st.sampled_from([0.05, 0.1]))
def test_areas_below_chance_mirror_areas_above(auc, n_pos, n_neg, alpha):
    # A flipped score turns wins into losses, and the classes' parts in the variance around.
    better = rf.power(auc=auc, n_pos=n_pos, n_neg=n_neg, alpha=alpha, alternative="greater")
    worse = rf.power(
        auc=1 - auc,
        n_pos=n_pos,
        n_neg=n_neg,
        alpha=alpha,
        alternative="less",
        variance="obuchowski",
    )
    binormal = rf.power(
        auc=auc, n_pos=n_pos, n_neg=n_neg, alpha=alpha, alternative="greater", variance="obuchowski"
    )
    assert one(worse) == pytest.approx(one(binormal), rel=1e-9)
    turned = rf.power(auc=1 - auc, n_pos=n_neg, n_neg=n_pos, alpha=alpha, alternative="less")
    assert one(turned) == pytest.approx(one(better), rel=1e-9)


def test_the_alternative_less_finds_an_area_below_chance():
    found = rf.detectable_difference(n_pos=50, n_neg=70, alternative="less")
    above = rf.detectable_difference(n_pos=70, n_neg=50, alternative="greater")
    assert one(found, "difference") == pytest.approx(-one(above, "difference"), rel=1e-9)


def test_a_tiny_alpha_has_the_power_of_the_lower_tail():
    table = rf.power(auc=0.99, n_pos=100, n_neg=100, alpha=[1e-15, 1e-17, 1e-100])
    se = table["se"][0]
    expected = [norm.cdf(0.49 / se + norm.ppf(alpha / 2)) for alpha in table["alpha"]]
    assert table["power"].to_list() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("area", [5e-324, 1e-300, 1 - 2**-53])
def test_areas_next_to_0_and_1_have_a_power_of_1(area, variance):
    assert one(rf.power(auc=area, n_pos=20, n_neg=30, variance=variance)) == 1
    assert one(rf.sample_size(auc=area, variance=variance), "n_pos") == 10


@pytest.mark.parametrize("one_value", [np.array(0.8), np.float32(0.75)])
def test_an_area_can_be_a_number_of_numpy(one_value):
    assert_frame_equal(
        rf.power(auc=one_value, n_pos=np.array(20), n_neg=20),
        rf.power(auc=float(one_value), n_pos=20, n_neg=20),
    )


@pytest.mark.parametrize("null", [[0.5], np.array([0.5]), pl.Series([0.5])])
def test_two_models_accept_the_default_of_null_in_any_container(null):
    options = {"auc": 0.8, "auc_b": 0.7, "correlation": 0.5, "n_pos": 20, "n_neg": 20}
    assert_frame_equal(rf.power(**options, null=null), rf.power(**options))
