"""Tests of the recipes of docs/cookbook.md that equal published estimators.

The code blocks of the page run, and their numbers are compared with the formulas of the papers, in
plain Python loops over rows and pairs.
"""

from __future__ import annotations

import math
from contextlib import redirect_stdout
from io import StringIO
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.test_documentation import DOCS, blocks

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = DOCS / "cookbook.md"
NRI = "Why is there no net reclassification improvement (NRI)?"
CENSORED = "What is the AUC for events within a year if some rows are censored?"
VERIFIED = "What is the AUC if only some rows have a verified label?"
STRATA = "What is the AUC within strata, such as age groups or hospitals?"
OPTIMISM = "How optimistic is the AUC on the training rows?"
SELECTIVE = "What is the area under the risk-coverage curve?"
UNLABELED = "What is the AUC before the labels arrive?"
FIRST = "Is one model better among the first 200 rows?"
FAIRNESS = "Is the model fair between segments?"
ALL_SEGMENTS = "How do I show all rows beside the segments?"
TESTED = {
    NRI,
    CENSORED,
    VERIFIED,
    STRATA,
    OPTIMISM,
    SELECTIVE,
    UNLABELED,
    ALL_SEGMENTS,
    FIRST,
    FAIRNESS,
}


@pytest.fixture(scope="module")
def recipes() -> dict[str, dict[str, Any]]:
    """The variables after each of the recipes, by the heading of the recipe."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    python = [block for block in blocks(PAGE) if block.language == "python"]
    namespace: dict[str, Any] = {}
    exec(python[0].text, namespace)
    after = {}
    for block in python:
        headings = (line[4:] for line in lines[block.line :: -1] if line.startswith("### "))
        heading = next(headings, None)
        if heading in TESTED:
            with redirect_stdout(StringIO()):
                exec(block.text, namespace)
            after[heading] = dict(namespace)
    return after


def win(positive: float, negative: float) -> float:
    return (positive > negative) + (positive == negative) / 2


def pair_auc(rows: Iterable[tuple[Any, float, float]]) -> float:
    """Return the share of weighted pairs that are ranked correctly; rows: label, score, weight."""
    rows = list(rows)
    wins = pairs = 0.0
    for label, score, weight in rows:
        for other_label, other_score, other_weight in rows:
            if label and not other_label:
                wins += weight * other_weight * win(score, other_score)
                pairs += weight * other_weight
    return wins / pairs


# Censored rows


def factors(table: pl.DataFrame, *, censoring: bool) -> dict[float, float]:
    """Return the factor of the Kaplan-Meier estimate of each time; events precede censoring."""
    rows = table.select("time", "event").rows()
    result = {}
    for time in {other for other, _ in rows}:
        later = sum(other > time for other, _ in rows)
        events = sum(other == time and event for other, event in rows)
        censored = sum(other == time and not event for other, event in rows)
        lost, kept = (censored, later) if censoring else (events, later + censored)
        result[time] = kept / (lost + kept) if lost else 1.0
    return result


def censored_auc(table: pl.DataFrame, horizon: float) -> float:
    """Return the estimator of Uno et al. (2007) and of Hung and Chiang (2010)."""
    steps = factors(table, censoring=True)
    at_horizon = math.prod(steps[step] for step in steps if step <= horizon)
    rows = []
    for marker, time, event in table.select("marker", "time", "event").rows():
        if time <= horizon and event:
            before = math.prod(steps[step] for step in steps if step < time)
            rows.append((True, marker, 1 / before))
        elif time > horizon:
            rows.append((False, marker, 1 / at_horizon))
    return pair_auc(rows)


def tied_survival(seed: int) -> pl.DataFrame:
    """Return rows whose times and markers have many ties."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "marker": rng.integers(0, 5, 60),
            "time": rng.integers(1, 9, 60),
            "event": rng.random(60) < 0.5,
        }
    )


def test_weights_of_censored_rows_give_the_estimator_of_uno(recipes):
    recipe = recipes[CENSORED]
    expected = censored_auc(recipe["survival"], 1)
    assert recipe["areas"]["auc"].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("horizon", [1, 2.5, 4, 7])
def test_weights_of_censored_rows_with_equal_times(recipes, horizon):
    for seed in range(3):
        table = tied_survival(seed)
        known = recipes[CENSORED]["at_horizon"](table, horizon)
        area = rf.auc(known, "label", "marker", weight="weight", ci=None)["auc"].item()
        assert area == pytest.approx(censored_auc(table, horizon), rel=1e-12)


@pytest.mark.parametrize("horizon", [1, 2.5, 4, 7])
def test_weights_of_cases_and_controls_add_up_to_the_kaplan_meier_estimate_of_events(
    recipes, horizon
):
    table = tied_survival(0)
    known = recipes[CENSORED]["at_horizon"](table, horizon)
    steps = factors(table, censoring=False)
    survived = table.height * math.prod(steps[step] for step in steps if step <= horizon)
    assert known.filter(~pl.col("label"))["weight"].sum() == pytest.approx(survived, rel=1e-12)
    events = known.filter("label")["weight"].sum()
    assert events == pytest.approx(table.height - survived, rel=1e-12)


@pytest.mark.slow
def test_limits_with_weights_of_censored_rows_contain_the_true_area(recipes):
    rng = np.random.default_rng(1)
    samples = []
    for sample in range(2000):
        marker = rng.normal(size=200)
        event, censoring = rng.exponential(np.exp(-marker)), rng.exponential(2, 200)
        table = {"marker": marker, "time": np.minimum(event, censoring)}
        survival = pl.DataFrame({**table, "event": event <= censoring})
        known = recipes[CENSORED]["at_horizon"](survival, 1)
        samples.append(known.with_columns(sample=pl.lit(sample)))
    areas = rf.auc(pl.concat(samples), "label", "marker", by="sample", weight="weight")
    # P(M > M′ | T ≤ 1 < T′). The marker is standard normal, and T is exponential with rate exp(M).
    grid = np.linspace(-9, 9, 20001)
    density, alive = np.exp(-(grid**2) / 2), np.exp(-np.exp(grid))
    cases, controls = density * (1 - alive), density * alive
    below = np.cumsum(controls) - controls / 2
    true_area = float(np.sum(cases * below) / cases.sum() / controls.sum())
    assert abs(areas["auc"].mean() - true_area) < 4 * areas["auc"].std() / math.sqrt(2000)
    assert 0.94 < coverage(areas, true_area) < 0.96


def coverage(areas: pl.DataFrame, true_area: float) -> float:
    return areas.select(pl.lit(true_area).is_between("lower", "upper").mean()).item()


# Verified rows


def test_weights_of_verified_rows_give_the_estimator_by_inverse_probability(recipes):
    recipe = recipes[VERIFIED]
    rows = [
        (label, score, 1.0 if score >= 0.5 else 1 / 0.2)
        for label, score in recipe["verified"].select("label", "score").rows()
    ]
    weighted = recipe["areas"]["verified people, weighted"]["auc"].item()
    assert weighted == pytest.approx(pair_auc(rows), rel=1e-12)
    verified = recipe["areas"]["verified people"]["auc"].item()
    assert verified == pytest.approx(pair_auc((*row[:2], 1.0) for row in rows), rel=1e-12)


def test_shares_of_verified_rows_give_the_rates_of_begg_and_greenes(recipes):
    table = recipes[VERIFIED]["logistic"].with_columns(
        range=pl.when(pl.col("score") >= 0.5).then(2).when(pl.col("score") >= 0.3).then(1)
    )
    table = table.with_columns(pl.col("range").fill_null(0))
    draw = pl.Series(np.random.default_rng(2).random(table.height))
    probability = pl.col("range").replace_strict({0: 0.2, 1: 0.5, 2: 0.9})
    table = table.with_columns(verified=draw < probability)
    weight = 1 / pl.col("verified").mean().over("range")
    weighted = table.with_columns(weight=weight).filter("verified")
    curve = rf.curve(weighted, "label", "score", weight="weight")

    rows = table.select("range", "verified", "label").rows()
    for threshold, lowest in ((0.5, 2), (0.3, 1)):
        above, total = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}
        for part in (0, 1, 2):
            share = sum(row[0] == part for row in rows) / len(rows)
            known = [label for number, seen, label in rows if number == part and seen]
            for label in (True, False):
                joint = share * sum(other == label for other in known) / len(known)
                total[label] += joint
                above[label] += joint if part >= lowest else 0
        point = curve.roc.at(threshold=threshold).row(0, named=True)
        assert point["tpr"] == pytest.approx(above[True] / total[True], rel=1e-12)
        assert point["fpr"] == pytest.approx(above[False] / total[False], rel=1e-12)


@pytest.mark.slow
def test_limits_with_weights_of_verified_rows_contain_the_true_area():
    rng = np.random.default_rng(1)
    sample = np.repeat(np.arange(2000), 1000)
    label = rng.random(sample.size) < 0.2
    score = rng.normal(size=sample.size) + 1.2 * label
    probability = np.where(score > 1, 1.0, 0.2)
    table = pl.DataFrame(
        {"sample": sample, "label": label, "score": score, "weight": 1 / probability}
    )
    verified = table.filter(pl.Series(rng.random(sample.size) < probability))
    true_area = NormalDist().cdf(1.2 / math.sqrt(2))
    weighted = rf.auc(verified, "label", "score", by="sample", weight="weight")
    assert 0.92 < coverage(weighted, true_area) < 0.96
    assert coverage(rf.auc(verified, "label", "score", by="sample"), true_area) < 0.86


# Strata


def stratified(strata: int, n_pos: int, n_neg: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    stratum = np.repeat(np.arange(strata), n_pos + n_neg)
    label = np.tile(np.arange(n_pos + n_neg) < n_pos, strata)
    score = rng.normal(size=stratum.size) + stratum + label
    return pl.DataFrame({"stratum": stratum, "label": label, "score": score})


def test_areas_of_strata_give_the_covariate_adjusted_auc(recipes):
    recipe = recipes[STRATA]
    rows = recipe["forest"].select("segment", "label", "score").rows()
    placements = []
    for segment, label, score in rows:
        if label:
            negatives = [
                other for group, positive, other in rows if group == segment and not positive
            ]
            placements.append(sum(win(score, other) for other in negatives) / len(negatives))
    expected = sum(placements) / len(placements)
    adjusted = (recipe["share"] * pl.col("auc")).sum()
    placement = recipe["placement"].filter("label").mean()
    found = [
        recipe["strata"].select(adjusted).item(),
        recipe["forest"].select(placement).item(),
        recipe["adjusted"].roc.area()["auc_of_mean"].item(),
    ]
    assert found == pytest.approx([expected] * 3, rel=1e-12)


def test_the_mean_curve_of_strata_is_the_distribution_of_placements_of_the_positives():
    table = stratified(3, 12, 20)
    few = pl.int_range(pl.len()).is_between(4, 11)  # stratum 0 keeps 4 of its 12 positives
    table = table.filter(~few)
    grid = [part / 20 for part in range(20)]
    curve = rf.curve(table, "label", "score", by="stratum")
    mean = curve.roc.average(over="stratum", weights="positives", grid=grid, ci=None)
    rows = table.rows()
    exceeded = []
    for stratum, label, score in rows:
        if label:
            negatives = [other for group, pos, other in rows if group == stratum and not pos]
            exceeded.append(sum(other >= score for other in negatives) / len(negatives))
    expected = [sum(rate <= fpr + 1e-9 for rate in exceeded) / len(exceeded) for fpr in grid]
    assert mean["tpr"].to_list() == pytest.approx(expected, rel=1e-12)


def test_fold_auc_is_the_covariate_adjusted_auc_if_strata_have_equal_numbers_of_positives():
    table = stratified(4, 15, 25)
    areas = rf.auc(table, "label", "score", by="stratum")
    share = pl.col("n_pos") / pl.col("n_pos").sum()
    expected = areas.select(
        mean_auc=(share * pl.col("auc")).sum(), se=(share * pl.col("se")).pow(2).sum().sqrt()
    )
    found = rf.fold_auc(table, "label", "score", over="stratum").select("mean_auc", "se")
    assert_frame_equal(found, expected, rel_tol=1e-12)


# Resamples


def test_resamples_give_the_optimism_and_the_weights_of_efron_and_tibshirani(recipes):
    recipe = recipes[OPTIMISM]
    differences, outside = [], []
    for (resample,), fit in recipe["fits"].group_by("resample", maintain_order=True):
        rows = fit.select("drawn", "label", "score").rows()
        drawn = [(label, score, 1) for times, label, score in rows for _ in range(times)]
        original = pair_auc((label, score, 1) for _, label, score in rows)
        if resample == 0:
            apparent = original
            continue
        differences.append(pair_auc(drawn) - original)
        outside.append(pair_auc((label, score, 1) for times, label, score in rows if not times))
    assert len(outside) == 200
    out_of_bag = sum(outside) / 200
    rate = (apparent - out_of_bag) / (apparent - 0.5)
    expected = {
        "apparent": apparent,
        "optimism": sum(differences) / 200,
        "outside": out_of_bag,
        "w": 0.632 / (1 - 0.368 * rate),
    }
    assert 0 < rate < 1
    assert {name: recipe[name] for name in expected} == pytest.approx(expected, rel=1e-12)


# Reclassification


def test_overconfident_probabilities_have_a_positive_nri_and_a_lower_net_benefit(recipes):
    recipe = recipes[NRI]
    total = {True: 0, False: 0}
    up = {True: 0, False: 0}
    benefit = {"old": 0.0, "new": 0.0}
    rows = recipe["both"].select("label", "old", "new").rows()
    for label, old, new in rows:
        total[label] += 1
        up[label] += (new > old) - (new < old)
        for name, probability in (("old", old), ("new", new)):
            if probability >= 0.2:
                benefit[name] += (1 if label else -0.25) / len(rows)
    expected = up[True] / total[True] - up[False] / total[False]
    assert recipe["nri"].item() == pytest.approx(expected, rel=1e-12)
    found = dict(recipe["benefits"].select("model", "net_benefit").rows())
    assert found == pytest.approx(benefit, rel=1e-12)
    areas = recipe["losses"]["auc"].to_list()
    assert areas[0] == areas[1]
    assert expected > 0
    assert benefit["new"] < benefit["old"]


# Selective prediction


def test_the_area_under_the_risk_coverage_curve_is_the_mean_risk_at_the_certainty_of_each_row(
    recipes,
):
    recipe = recipes[SELECTIVE]
    rows = [
        (max(score, 1 - score), (score >= 0.5) == label)
        for score, label in recipe["forest"].select("score", "label").rows()
    ]
    risks = []
    for certainty, _ in rows:
        used = [correct for other, correct in rows if other >= certainty]
        risks.append(used.count(False) / len(used))
    assert recipe["area"].item() == pytest.approx(sum(risks) / len(risks), rel=1e-12)


# Rows without labels


def test_the_expected_area_has_the_probability_of_each_pair_as_its_weight(recipes):
    recipe = recipes[UNLABELED]
    table = recipe["votes"].filter(model="logistic_regression").head(300)
    scores = table["score"].to_list()
    wins = pairs = 0.0
    for positive in scores:
        for negative in scores:
            weight = positive * (1 - negative)
            wins += weight * win(positive, negative)
            pairs += weight
    assert recipe["expected_auc"](table) == pytest.approx(wins / pairs, rel=1e-12)


def test_the_expected_area_of_calibrated_scores_is_the_mean_area_of_their_labels(recipes):
    rng = np.random.default_rng(1)
    score = rng.beta(2, 4, 400)
    expected = recipes[UNLABELED]["expected_auc"](pl.DataFrame({"score": score}))
    drawn = rng.random((500, 400)) < score
    table = pl.DataFrame(
        {
            "draw": np.repeat(np.arange(500), 400),
            "label": drawn.ravel(),
            "score": np.tile(score, 500),
        }
    )
    areas = rf.auc(table, "label", "score", by="draw", ci=None)["auc"]
    assert expected == pytest.approx(areas.mean(), abs=0.004)


# Segments


def test_the_total_of_the_segments_is_the_area_of_all_rows(recipes):
    recipe = recipes[ALL_SEGMENTS]
    total = recipe["areas"].filter("total").drop("segment", "total")
    assert_frame_equal(total, rf.auc(recipe["forest"], "label", "score"))
    rows = recipe["forest"].select("label", "score").rows()
    assert total["auc"].item() == pytest.approx(pair_auc((*row, 1.0) for row in rows), rel=1e-12)


# Models and groups at an operating point


def test_the_first_rows_are_those_with_the_highest_scores(recipes):
    recipe = recipes[FIRST]
    row = recipe["first"].row(0, named=True)
    for side in "ab":
        ranked = recipe["wide"].sort(row[f"model_{side}"], descending=True)
        found = ranked.head(200)["label"].sum() / ranked["label"].sum()
        assert row[f"recall_{side}"] == pytest.approx(found, rel=1e-12)
    assert row["difference"] == pytest.approx(row["recall_a"] - row["recall_b"], rel=1e-12)


def rates(rows: list[tuple[bool, bool]]) -> dict[str, float]:
    """The rates of pairs of a true class and a decision."""
    alerts = [label for label, alert in rows if alert]
    pos, neg = ([alert for label, alert in rows if label is side] for side in (True, False))
    return {
        "tpr": sum(pos) / len(pos),
        "fpr": sum(neg) / len(neg),
        "alert_rate": len(alerts) / len(rows),
        "precision": sum(alerts) / len(alerts),
    }


def test_differences_of_groups_are_the_measures_of_fairness(recipes):
    recipe = recipes[FAIRNESS]
    rows = recipe["bayes"].select("segment", "label", pl.col("score") >= 0.5).rows()
    groups = sorted({segment for segment, *_ in rows})
    of = {group: rates([tuple(row[1:]) for row in rows if row[0] == group]) for group in groups}
    rest = {group: rates([tuple(row[1:]) for row in rows if row[0] != group]) for group in groups}
    found = recipe["fairness"].select("model_a", "metric", "difference").rows()
    assert found == [
        (group, metric, pytest.approx(of[group][metric] - rest[group][metric], rel=1e-12))
        for group in groups
        for metric in ("tpr", "fpr", "alert_rate", "precision")
    ]
    # The largest differences of two groups, as fairlearn and yardstick compute them.
    largest = {
        metric: max(of[group][metric] for group in groups)
        - min(of[group][metric] for group in groups)
        for metric in of[groups[0]]
    }
    pairs = rf.compare(recipe["bayes"], "label", "score", between="segment", metric=[*largest],
                       threshold=0.5)  # fmt: skip
    size = pairs.group_by("metric").agg(pl.col("difference").abs().max())
    assert dict(size.iter_rows()) == pytest.approx(largest, rel=1e-12)
    odds = pairs.filter(pl.col("metric").is_in(["tpr", "fpr"]))["difference"].abs().max()
    assert odds == pytest.approx(max(largest["tpr"], largest["fpr"]), rel=1e-12)
    ratio = pairs.filter(metric="alert_rate").select(
        pl.min_horizontal("ratio", 1 / pl.col("ratio"))
    )
    shares = [of[group]["alert_rate"] for group in groups]
    assert ratio.min().item() == pytest.approx(min(shares) / max(shares), rel=1e-12)
