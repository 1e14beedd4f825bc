"""Operating points are the best rows by a rule, found by trying all thresholds in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.rates import RATES
from tests.all_cases import all_cases

PREDICTIONS = pl.DataFrame({"label": [1, 0, 1, 0, 0], "score": [0.9, 0.6, 0.4, 0.4, 0.1]})
CURVES = rf.curve(PREDICTIONS, "label", "score")
COSTS = {"fp": 0.1, "fn": 0.7, "tp": 0.2}
BENEFITS = {"tp": 20, "fp": -1.5, "tn": 0.25}


def fraction(number: float) -> Fraction:
    return Fraction(str(number))


def goodness(rule: str, counts: tuple[int, int, int, int], prevalence: str) -> Fraction | None:
    """Return a fraction that is highest at the best threshold; None where it is undefined."""
    tp, fp, pos, neg = counts
    tpr, fpr = Fraction(tp, pos or 1), Fraction(fp, neg or 1)
    pi = Fraction(prevalence) if prevalence else Fraction(pos, pos + neg)
    share = {"tp": pi * tpr, "fn": pi * (1 - tpr), "fp": (1 - pi) * fpr}
    share["tn"] = 1 - sum(share.values())
    if (prevalence or rule in OF_BOTH) and not (pos and neg):
        return None
    if rule in {"precision", "f1"} and not share["tp"] + share["fp"]:
        return Fraction(0) if rule == "f1" and share["fn"] else None
    return {
        "youden": lambda: tpr - fpr,
        "balanced_accuracy": lambda: tpr - fpr,
        "closest_top_left": lambda: -((1 - tpr) ** 2 + fpr**2),
        "equal_error": lambda: -abs(1 - tpr - fpr),
        "expected_cost": lambda: -sum(share[name] * fraction(cost) for name, cost in COSTS.items()),
        "profit": lambda: sum(share[name] * fraction(gain) for name, gain in BENEFITS.items()),
        "accuracy": lambda: share["tp"] + share["tn"],
        "f1": lambda: 2 * share["tp"] / (2 * share["tp"] + share["fp"] + share["fn"]),
        "precision": lambda: share["tp"] / (share["tp"] + share["fp"]),
    }[rule]()


def best(rows: list[tuple[bool, int]], rule: str, prevalence: str) -> tuple[float | None, int]:
    """Return the highest of the best thresholds and their number."""
    pos = sum(label for label, _ in rows)
    points = {}
    for threshold in [inf, *sorted({score for _, score in rows}, reverse=True)]:
        tp = sum(label and score >= threshold for label, score in rows)
        fp = sum(not label and score >= threshold for label, score in rows)
        points[threshold] = goodness(rule, (tp, fp, pos, len(rows) - pos), prevalence)
    defined = {threshold: value for threshold, value in points.items() if value is not None}
    if not defined:
        return None, 0
    optima = [t for t, value in defined.items() if value == max(defined.values())]
    return max(optima), len(optima)


OF_RATES = ["youden", "balanced_accuracy", "closest_top_left", "equal_error"]
OF_BOTH = [*OF_RATES, "f1", "precision"]
RULES = [*OF_BOTH, "expected_cost", "profit", "accuracy"]
GROUPS = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=12),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@pytest.mark.hypothesis
@given(GROUPS, st.sampled_from(["", "0.3"]))
def test_each_rule_finds_the_optimum_that_trying_all_thresholds_finds(groups, prevalence):
    rows = [(g, label, score) for g, group in enumerate(groups) for label, score in group]
    frame = pl.DataFrame(rows, schema=["g", "label", "score"], orient="row")
    given = float(prevalence) if prevalence else None
    curves = rf.curve(frame, "label", "score", by="g")
    found = rf.operating_point(curves, RULES, costs=COSTS, benefits=BENEFITS, prevalence=given)
    expected = [best(group, rule, prevalence) for group in groups for rule in RULES]
    assert list(found.select("threshold", "n_optima").iter_rows()) == expected
    # The table's own prevalence has the same effect.
    if given is not None:
        at_prevalence = rf.curve(frame, "label", "score", by="g", prevalence=given)
        same = rf.operating_point(at_prevalence, RULES, costs=COSTS, benefits=BENEFITS)
        assert_frame_equal(
            same.select("value", "threshold", "n_optima"),
            found.select("value", "threshold", "n_optima"),
        )


def random_curves(n: int) -> pl.DataFrame:
    """Return curves of small random tables with ties, which have both classes."""
    rng = np.random.default_rng(12)
    sizes = rng.integers(4, 16, n)
    table = np.repeat(np.arange(n), sizes)
    score, label = rng.integers(0, 6, len(table)), rng.random(len(table)) < 0.5
    firsts = np.cumsum(sizes) - sizes
    label[firsts], label[firsts + 1] = True, False
    frame = pl.DataFrame({"table": table, "label": label, "score": score})
    return rf.curve(frame, "label", "score", by="table")


def test_the_prevalence_of_the_data_chooses_the_rows_that_no_prevalence_chooses():
    totals = [
        (pl.col("tp") + pl.col("fn")).alias("pos"),
        (pl.col("fp") + pl.col("tn")).alias("neg"),
    ]
    rules = [
        {"rule": "expected_cost", "costs": {"fp": 1, "fn": 1}},
        {"rule": "profit", "benefits": {"tp": 7, "fp": -3, "fn": -1}},
    ]
    parts = random_curves(60).with_columns(totals).partition_by("pos", "neg", as_dict=True)
    for (pos, neg), curves in parts.items():
        for rule in rules:
            without, given = (
                rf.operating_point(curves.drop("pos", "neg"), **rule, prevalence=prevalence)
                for prevalence in (None, pos / (pos + neg))
            )
            assert_frame_equal(
                given.select("table", "threshold", "n_optima"),
                without.select("table", "threshold", "n_optima"),
            )


@pytest.mark.parametrize("prevalence", [None, 0.3, 2 / 7])
def test_costs_that_are_multiplied_by_a_number_choose_the_same_rows(prevalence):
    curves = random_curves(600)
    chosen = [
        rf.operating_point(
            curves, "expected_cost", costs={"fp": factor, "fn": 3 * factor}, prevalence=prevalence
        ).drop("value")
        for factor in (1, 1 / 3, 0.1, np.pi, 1e-300 / 7)
    ]
    for other in chosen[1:]:
        assert_frame_equal(other, chosen[0])


def test_the_value_is_the_metric_at_the_chosen_row():
    rules = ["youden", "closest_top_left", "equal_error", "expected_cost", "profit", "recall"]
    points = rf.operating_point(
        CURVES, rules, costs={"fp": 1, "fn": 5}, benefits={"tp": 20, "fp": -1}
    )
    tpr, fpr, tp, fp, fn = (points.get_column(name) for name in ("tpr", "fpr", "tp", "fp", "fn"))
    expected = [
        tpr[0] - fpr[0],
        ((1 - tpr[1]) ** 2 + fpr[1] ** 2) ** 0.5,
        (1 - tpr[2] + fpr[2]) / 2,
        (fp[3] + 5 * fn[3]) / 5,
        (20 * tp[4] - fp[4]) / 5,
        tpr[5],
    ]
    assert points.get_column("value").to_list() == pytest.approx(expected, rel=1e-15)
    assert points.get_column("rule").to_list() == rules


def test_the_columns_are_the_rule_the_row_of_the_curve_and_the_number_of_optima():
    curves = rf.curve(PREDICTIONS, "label", "score", metrics="f1", kind="gain")
    point = rf.operating_point(curves, "f1")
    assert point.columns == ["rule", "value", *curves.columns, "n_optima", "note"]
    assert_frame_equal(point.select(curves.columns), curves.filter(threshold=0.9))
    assert point.select("value", "n_optima").row(0) == (2 / 3, 2)


def test_fawcetts_twenty_instances_have_the_highest_accuracy_at_one_threshold():
    labels = [1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0]
    scores = [*(0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505)]
    scores += [*(0.4, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.3, 0.1)]
    curves = rf.curve(pl.DataFrame({"label": labels, "score": scores}), "label", "score")
    point = rf.operating_point(curves, "accuracy")
    assert point.select("value", "threshold", "fpr", "tpr", "n_optima").row(0) == (
        0.7,
        0.54,
        0.1,
        0.5,
        1,
    )


def test_constraints_limit_the_rows_that_are_candidates():
    alerts = rf.operating_point(CURVES, "recall", subject_to={"alerts": (0, 2)})
    assert alerts.select("threshold", "value", "n_optima").row(0) == (0.9, 0.5, 2)
    precise = rf.operating_point(
        CURVES, "recall", subject_to={"precision": (0.5, None), "fpr": (0.1, 1)}
    )
    assert precise.select("threshold", "tp", "fp").row(0) == (0.4, 2, 2)
    capped = rf.operating_point(CURVES, "recall", subject_to={"threshold": (0.5, 0.7)})
    assert capped.item(0, "threshold") == 0.6


def test_rows_on_a_limit_meet_a_constraint():
    metrics = ["fpr", "tpr", "precision", "accuracy", "lift", "mcc", "kappa", "net_benefit"]
    score = np.random.default_rng(1).random(12)
    table = pl.DataFrame({"label": [i % 3 == 0 for i in range(12)], "score": score, "weight": 1.0})
    with all_cases() as case:
        for weight in (None, "weight"):
            curves = rf.curve(table, "label", "score", metrics=metrics[2:], weight=weight)
            for name in ("threshold", *metrics):
                values = curves[name].drop_nulls()
                with case(f"{name}, weight={weight}"):
                    for value in values[::2]:
                        found = rf.operating_point(curves, subject_to={name: (value, value)})
                        assert found[name].to_list() == pytest.approx([value], rel=1e-12)


def test_close_thresholds_are_different_limits():
    days = [1_700_000_000_001 + i for i in range(4)]
    curves = rf.curve(pl.DataFrame({"label": [1, 0, 1, 0], "score": days}), "label", "score")
    lowest = rf.operating_point(
        curves, "alert_rate", minimize=False, subject_to={"threshold": (days[2], None)}
    )
    assert lowest.select("threshold", "value").row(0) == (days[2], 0.5)


def test_without_a_row_that_meets_the_constraints_values_are_null():
    point = rf.operating_point(CURVES, subject_to={"precision": (0.9, 1), "tpr": (0.9, 1)})
    assert point.row(0, named=True) == {
        "rule": "youden",
        **dict.fromkeys(["value", *CURVES.columns]),
        "n_optima": 0,
        "note": "no_solution",
    }


def test_an_undefined_group_is_null_and_does_not_change_other_groups():
    frame = pl.DataFrame(
        {"g": [*"aabbc"], "label": [1, 0, 1, 1, 0], "score": [0.2, 0.1, 0.3, 0.3, 0.5]}
    )
    curves = rf.curve(frame, "label", "score", by="g")
    points = rf.operating_point(curves, ["youden", "accuracy"])
    assert points.select("g", "threshold", "n_optima", "note").rows() == [
        ("a", 0.2, 1, "one_positive"),
        ("a", 0.2, 1, "one_positive"),
        ("b", None, 0, "no_negatives"),
        ("b", 0.3, 1, "no_negatives"),
        ("c", None, 0, "no_positives"),
        ("c", inf, 1, "no_positives"),
    ]


def test_without_a_class_only_means_over_rows_and_rates_of_the_other_class_have_a_threshold():
    """Without positives, for example, the precision is 0 at every score."""
    scores = [0.2, 0.4, 0.7]
    mean = ["accuracy", "error_rate", "expected_cost", "net_benefit"]
    mean += ["alert_rate", "alerts", "rnp"]
    of_class = {1: ["tpr", "fnr"], 0: ["fpr", "tnr"]}
    rules = [name for name in RATES if name != "prevalence"]
    for label, note in ((1, "no_negatives"), (0, "no_positives")):
        frame = pl.DataFrame({"label": [label] * 3, "score": scores})
        curves = rf.curve(frame, "label", "score")
        points = pl.concat(
            rf.operating_point(
                curves,
                rule,
                minimize=False if RATES[rule].better == "neither" else None,
                costs=COSTS if rule == "expected_cost" else None,
            )
            for rule in rules
        )
        assert points.get_column("note").unique().to_list() == [note]
        defined = points.filter(pl.col("threshold").is_not_null()).get_column("rule")
        assert set(defined) == {*mean, *of_class[label]}
        # The same for constraints.
        for name in sorted({*RATES} - {"prevalence", "expected_cost", "net_benefit"}):
            point = rf.operating_point(curves, "accuracy", subject_to={name: (None, None)})
            is_defined = name in {*mean, *of_class[label]}
            assert (point.item(0, "threshold") is not None) == is_defined, name
        limits = rf.intervals(frame, "label", "score", metrics="threshold", rule="f1", ci=None)
        assert limits.select("estimate", "note").row(0) == (None, note)


def test_bayes_is_the_row_at_the_threshold_of_the_costs():
    with all_cases() as case:
        for costs, threshold in (
            ({"fp": 1, "fn": 1}, 0.5),
            ({"fp": 1, "fn": 4}, 0.2),
            ({"fp": 3, "fn": 1, "tn": 1}, 2 / 3),
            ({"fp": 1, "fn": 0}, 1.0),
        ):
            with case(str(costs)):
                point = rf.operating_point(CURVES, "bayes", costs=costs)
                expected = rf.at(CURVES, threshold=threshold).select(CURVES.columns)
                assert_frame_equal(point.select(CURVES.columns), expected)
                assert point.item(0, "n_optima") == 1


def test_a_metric_is_optimised_in_its_own_direction_unless_told_otherwise():
    lowest = rf.operating_point(CURVES, "error_rate")
    assert lowest.item(0, "value") == 0.2
    assert rf.operating_point(CURVES, "error_rate", minimize=False).item(0, "value") == 0.6
    assert rf.operating_point(CURVES, "alert_rate", minimize=True).item(0, "threshold") == inf
    gain = (3 * pl.col("tp") - pl.col("fp")).alias("gain")
    assert rf.operating_point(CURVES, gain).select("rule", "value", "threshold").row(0) == (
        "gain",
        4,
        0.4,
    )
    assert rf.operating_point(CURVES, gain, minimize=True).item(0, "value") == 0


def test_large_counts_are_compared_exactly():
    """Both rows differ by less than a rounding error of their rates."""
    big = 3_037_000_500  # the product of two class sizes is above 2**63
    counts = pl.DataFrame(
        {
            "label": [True, False, True, False, True, False],
            "score": [3, 3, 2, 2, 1, 1],
            "count": [big // 2, 1, 1, 1, big - big // 2 - 1, big - 2],
        }
    )
    curves = rf.curve(counts, "label", "score", count="count")
    point = rf.operating_point(curves, ["youden", "closest_top_left"])
    # tp and fp grow by one each, with as many positives as negatives: the same Youden index.
    assert point.get_column("threshold").to_list() == [3.0, 2.0]
    assert point.get_column("n_optima").to_list() == [2, 1]


@pytest.mark.parametrize("prevalence", [None, 0.3])
def test_costs_may_differ_by_many_orders_of_magnitude(prevalence):
    costs = {"fp": 1e-200, "fn": 1e200}
    weighted = rf.curve(PREDICTIONS.with_columns(w=1.5), "label", "score", weight="w")
    for curves in (CURVES, weighted):
        cheapest = rf.operating_point(curves, "expected_cost", costs=costs, prevalence=prevalence)
        assert cheapest.item(0, "threshold") == 0.4
    benefits = {"tp": 1e-200, "fp": -1e200}
    best = rf.operating_point(CURVES, "profit", benefits=benefits, prevalence=prevalence)
    assert best.item(0, "threshold") == 0.9
    line = rf.iso_lines(CURVES, costs={"fp": 1e200, "fn": 1e-200}, prevalence=prevalence)
    assert line.select("threshold", "slope", "intercept").row(0) == (0.9, inf, None)


def test_weights_and_repeated_rows_choose_the_same_threshold():
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "label": rng.integers(0, 2, 60),
            "score": rng.integers(0, 9, 60),
            "n": rng.integers(1, 4, 60),
        }
    )
    rules = ["youden", "closest_top_left", "equal_error", "f1", "mcc", "expected_cost"]
    points = [
        rf.operating_point(curves, rules, costs=COSTS).select("threshold", "value", "n_optima")
        for curves in (
            rf.curve(frame, "label", "score", weight="n"),
            rf.curve(frame, "label", "score", count="n"),
            rf.curve(frame, "label", "score", weight=pl.col("n") * 1e-3),
        )
    ]
    assert_frame_equal(points[0], points[1])
    assert_frame_equal(points[2], points[1])


def test_a_sum_of_weights_of_1_is_not_reported_as_one_row():
    table = pl.DataFrame({"label": [1, 1, 0, 0], "score": [0.9, 0.3, 0.6, 0.7]})
    curves = rf.curve(table.with_columns(w=0.5), "label", "score", weight="w")
    assert curves["tp"].max() == curves["fp"].max() == 1
    for verb in (rf.operating_point, rf.hull, rf.iso_lines, rf.cost_curve):
        assert verb(curves)["note"].null_count() == verb(curves).height
    one = rf.curve(table.head(1).vstack(table.tail(2)), "label", "score")
    for verb in (rf.operating_point, rf.hull, rf.iso_lines, rf.cost_curve):
        assert set(verb(one)["note"]) == {"one_positive"}
