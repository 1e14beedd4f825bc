"""Mixtures are compared with all pairs of points, and draws with their expected rates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.decisions.mix import uniform_draws

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=12)
POINT = ["fpr", "tpr", "mix", "threshold_above", "threshold_below"]


def table(rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"label": pl.Boolean, "score": pl.Int64}, orient="row")


def best_mixture(points: set[tuple[Fraction, Fraction]], rate, value, worth) -> Fraction:
    """Return the highest worth of a mixture of two points that has exactly the given rate."""
    found = [worth(a) for a in points if rate(a) == value]
    for a in points:
        for b in points:
            if rate(a) < value < rate(b):
                share = (value - rate(a)) / (rate(b) - rate(a))
                found.append(worth(a) + share * (worth(b) - worth(a)))
    return max(found)


@pytest.mark.hypothesis
@given(ROWS, st.sampled_from(["fpr", "tpr", "alert_rate"]), st.integers(0, 8))
def test_no_other_mixture_with_this_rate_is_better(rows, axis, eighths):
    pos = sum(label for label, _ in rows)
    neg = len(rows) - pos
    value = Fraction(eighths, 8)
    point = rf.curve(table(rows), "label", "score").roc.mix(**{axis: eighths / 8})
    if not pos or not neg:
        assert point.select(POINT).null_count().row(0) == (1,) * 5
        assert point.item(0, "note") in {"no_positives", "no_negatives"}
        return
    points = {
        (
            Fraction(sum(s >= t and not y for y, s in rows), neg),
            Fraction(sum(s >= t and y for y, s in rows), pos),
        )
        for t in range(8)
    }
    rate = {
        "fpr": lambda p: p[0],
        "tpr": lambda p: p[1],
        "alert_rate": lambda p: (p[0] * neg + p[1] * pos) / len(rows),
    }[axis]
    found = point.row(0, named=True)
    worth = (lambda p: -p[0]) if axis == "tpr" else (lambda p: p[1])
    expected = float(best_mixture(points, rate, value, worth))
    assert worth((found["fpr"], found["tpr"])) == pytest.approx(expected, abs=1e-12)
    assert float(rate((found["fpr"], found["tpr"]))) == pytest.approx(float(value), abs=1e-12)
    # The two thresholds give the point.
    share = Fraction(found["mix"])
    counts = [
        (1 - share) * sum(s >= found["threshold_above"] and y == kind for y, s in rows)
        + share * sum(s >= found["threshold_below"] and y == kind for y, s in rows)
        for kind in (True, False)
    ]
    assert [found["tp"], found["fp"]] == pytest.approx([float(n) for n in counts], abs=1e-12)
    assert found["tp"] + found["fn"] == pytest.approx(pos)
    assert found["fp"] + found["tn"] == pytest.approx(neg)


def test_a_choice_between_two_classifiers_meets_the_budget_of_the_mailing():
    clients = pl.DataFrame(
        {
            "label": [1, 0, 1, 0, 1, 0],
            "score": [3, 3, 2, 2, 1, 1],
            "clients": [48, 376, 96, 564, 96, 2820],
        }
    )
    mailing = rf.curve(clients, "label", "score", count="clients")
    between = mailing.roc.at(alert_rate=0.2, interpolate=True)
    assert between.item(0, "mix") == 94 / 165
    assert between.select("fpr", "tpr").row(0) == pytest.approx((0.185455, 0.427879), abs=5e-7)
    # The classifier of 424 clients is below the hull.
    best = mailing.roc.mix(alert_rate=0.2).row(0, named=True)
    assert best["mix"] == pytest.approx(800 / 1084, rel=1e-15)
    assert (best["tp"] + best["fp"], best["tp"]) == pytest.approx((800, 144 * 800 / 1084))
    assert (best["threshold_above"], best["threshold_below"]) == (np.inf, 2)


def test_a_vertex_with_the_rate_needs_no_random_choice():
    rows = [(True, 4), (True, 3), (False, 3), (False, 2), (True, 1), (False, 1)]
    curves = rf.curve(table(rows), "label", "score")
    point = curves.roc.mix(fpr=[0, 1 / 3, 1])
    assert point.select(POINT).rows() == [
        (0, 1 / 3, 0, 4, 4),
        (1 / 3, 2 / 3, 0, 3, 3),
        (1, 1, 0, 1, 1),
    ]
    assert curves.roc.mix(tpr=1 / 3).select(POINT).rows() == [(0, 1 / 3, 0, 4, 4)]
    # Of two vertices with the TPR 1, the one with the lower FPR.
    ends_flat = rf.curve(table([(True, 3), (False, 2), (True, 1), (False, 0)]), "label", "score")
    assert ends_flat.roc.mix(tpr=1).select(POINT).rows() == [(1 / 2, 1, 0, 1, 1)]


def test_models_are_mixed_across_a_key_at_the_mean_class_sizes():
    a = pl.DataFrame({"label": [1] * 10 + [0] * 10, "score": [2] * 5 + [1] * 14 + [2]})
    b = pl.DataFrame({"label": [1] * 20 + [0] * 20, "score": [2] * 18 + [1] * 12 + [2] * 10})
    frame = pl.concat(t.with_columns(model=pl.lit(m), g=pl.lit(1)) for m, t in (("a", a), ("b", b)))
    curves = rf.curve(frame, "label", "score", by=["g", "model"])
    point = curves.roc.mix(across="model", fpr=[0.05, 0.3])
    assert point.columns == [
        *("g", "fpr", "tpr", "at", "at_value", "tp", "fp", "fn", "tn"),
        *("model_above", "model_below", "threshold_above", "threshold_below", "mix", "note"),
    ]
    expected = pl.DataFrame(
        {
            "fpr": [0.05, 0.3],
            "tpr": [0.25, 0.7],
            "mix": [0.5, 0.5],
            "model_above": ["a", "a"],
            "model_below": ["a", "b"],
            "tp": [3.75, 10.5],
            "tn": [14.25, 10.5],
        }
    )
    assert_frame_equal(point.select(expected.columns), expected)
    assert_frame_equal(curves.lazy().roc.mix(across="model", fpr=[0.05, 0.3]).collect(), point)


def test_the_prevalence_of_the_table_counts_for_the_alert_rate():
    rows = [(True, 4), (True, 3), (False, 3), (False, 2), (True, 1), (False, 1)]
    curves = rf.curve(table(rows), "label", "score", prevalence=0.1)
    point = curves.roc.mix(alert_rate=0.2).row(0, named=True)
    assert 0.1 * point["tpr"] + 0.9 * point["fpr"] == pytest.approx(0.2, abs=1e-15)


def test_points_that_no_threshold_reaches_are_null():
    frame = pl.DataFrame({"label": [1, 1, 0, 0], "score": [0.9, None, 0.4, None]})
    curves = rf.curve(frame, "label", "score", missing="worst")
    point = curves.roc.mix(tpr=[0.25, 0.75])
    assert point.get_column("note").to_list() == [None, "no_solution"]
    assert point.get_column("tpr").to_list() == [0.25, None]


def drawn(n: int = 4000) -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(1)
    label = rng.random(n) < 0.4
    frame = pl.DataFrame({"id": np.arange(n), "label": label, "score": rng.normal(label).round(1)})
    return frame, rf.curve(frame, "label", "score").roc.mix(fpr=0.105)


def test_draws_have_the_expected_rates():
    frame, point = drawn()
    rates = []
    for seed in range(40):
        decided = frame.roc.draw_decisions("score", point, id="id", seed=seed)
        negative = decided.filter(~pl.col("label"))
        rates.append(negative.get_column("decision").mean())
    # The standard error of one draw is below 0.005.
    assert np.mean(rates) == pytest.approx(0.105, abs=0.0005)
    assert len(set(rates)) > 10


def test_a_draw_depends_on_the_seed_and_the_case_only():
    frame, point = drawn(500)
    decided = rf.draw_decisions(frame, "score", point, id="id", seed=3)
    shuffled = frame.sample(fraction=0.5, shuffle=True, seed=1)
    again = rf.draw_decisions(shuffled.lazy(), "score", point, id="id", seed=3).collect()
    remaining = shuffled.select("id").join(decided, on="id", how="left", maintain_order="left")
    assert_frame_equal(again, remaining)
    other = rf.draw_decisions(frame, "score", point, id="id", seed=4)
    assert not other.get_column("decision").equals(decided.get_column("decision"))


def test_numbers_of_the_draw_are_the_same_in_all_versions():
    texts = pl.Series(["1", "2", "", None, "é"])
    numbers = uniform_draws(texts, 1).to_list()
    assert numbers == [
        *(0.32950835053573857, 0.01416046030253404, 0.36818951565166946, None),
        0.7516557295223705,
    ]
    many = uniform_draws(pl.Series(range(50_000)).cast(pl.String), 0).to_numpy()
    assert len(np.unique(many)) == len(many)
    assert np.abs(np.histogram(many, 20, (0, 1))[0] - 2500).max() < 250


def test_identifiers_have_any_type_with_a_text_or_bytes():
    frame, point = drawn(6)
    texts = frame.select(pl.col("id").cast(pl.String)).to_series()
    expected = rf.draw_decisions(frame, "score", point, id="id", seed=3).get_column("decision")
    binary = frame.with_columns(id=texts.cast(pl.Binary))
    decided = rf.draw_decisions(binary, "score", point, id="id", seed=3).get_column("decision")
    assert decided.equals(expected)
    no_text = frame.with_columns(id=pl.Series([b"\xff", b"\xfe", b"\xff", b"\xfe", b"\x80", None]))
    decided = rf.draw_decisions(
        no_text, pl.lit(point.item(0, "threshold_below")), point, id="id", seed=3
    )
    first, second, *rest = decided.get_column("decision")
    assert rest[:2] == [first, second]
    assert rest[3] is None


def test_one_model_decides_a_case():
    frame, _ = drawn(300)
    noisy = frame.with_columns(pl.col("score") + pl.col("id") % 3, model=pl.lit("b"))
    long = pl.concat([frame.with_columns(model=pl.lit("a")), noisy])
    curves = rf.curve(long, "label", "score", by="model")
    point = curves.roc.mix(across="model", alert_rate=0.5)
    decided = long.roc.draw_decisions("score", point, id="id", seed=0)
    per_case = decided.drop_nulls("decision").group_by("id").len()
    assert set(per_case.get_column("len")) == {1}
    assert per_case.height == 300


def test_group_columns_may_have_names_like_those_of_mixed_models():
    frame, _ = drawn(100)
    groups = pl.col("id") % 3, pl.col("id") % 2
    named = frame.with_columns(**dict(zip(["m_above", "m_below"], groups, strict=True)))
    plain = frame.with_columns(**dict(zip("ab", groups, strict=True)))
    decisions = [
        table.roc.draw_decisions(
            "score", rf.curve(table, "label", "score", by=by).roc.mix(fpr=0.3), id="id", seed=1
        ).get_column("decision")
        for table, by in ((named, ["m_above", "m_below"]), (plain, ["a", "b"]))
    ]
    assert decisions[0].equals(decisions[1])


def test_cases_without_a_score_an_identifier_or_a_point_have_no_decision():
    points = pl.DataFrame(
        {
            "g": ["a"],
            "at": ["fpr"],
            "at_value": [0.1],
            "mix": [0.5],
            "threshold_above": [0.5],
            "threshold_below": [0.5],
        }
    )
    frame = pl.DataFrame(
        {
            "g": ["a", "a", "a", "a", "b"],
            "id": [1, 2, 3, None, 5],
            "score": [0.9, None, float("nan"), 0.9, 0.9],
        }
    )
    decided = frame.roc.draw_decisions("score", points, id="id", seed=0)
    assert decided.get_column("decision").to_list() == [True, None, None, None, None]


def test_the_decisions_of_a_single_threshold_are_those_of_the_threshold():
    votes = rf.datasets.vote()
    curves = rf.curve(votes, "label", "score", by="model")
    limits = curves.roc.operating_point("youden")
    vertices = curves.roc.hull().join(limits, on=["model", "threshold"], how="semi")
    half = curves.roc.at(threshold=0.5)
    for points in (limits, vertices, half, limits.select("model", "threshold")):
        decided = votes.roc.draw_decisions("score", points, id="id", seed=1)
        expected = votes.join(points, on="model", maintain_order="left")
        expected = expected.select(pl.col("score") >= pl.col("threshold")).to_series()
        assert decided["decision"].to_list() == expected.to_list()
    # A vertex of a common hull decides the rows of its model.
    vertex = curves.roc.hull(across="model").filter(pl.col("model").is_not_null()).head(1)
    model, threshold = vertex.select("model", "threshold").row(0)
    decided = votes.roc.draw_decisions("score", vertex, id="id", seed=1)
    own = pl.when(model=model).then(pl.col("score") >= threshold).alias("decision")
    assert_frame_equal(decided, votes.with_columns(own))


def test_points_are_drawn_in_a_chart():
    curves = rf.curve(rf.datasets.vote(), "label", "score", by="model")
    chart = curves.roc.mix(fpr=[0.1, 0.2]).roc.chart()
    assert chart.description.startswith("ROC chart, 12 points")


def test_vertices_of_a_common_hull_are_found_in_curves_with_different_numbers_of_rows():
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "model": rng.choice(["a", "b"], 60, p=[0.3, 0.7]),
            "label": rng.integers(0, 2, 60),
            "score": rng.integers(0, 9, 60),
        }
    )
    for seed in range(10):
        curves = rf.curve(
            table.with_columns(pl.col("score").shuffle(seed)), "label", "score", by="model"
        )
        vertices = rf.hull(curves, across="model")
        mixed = rf.mix(curves, across="model", fpr=vertices["fpr"].unique().sort().to_list())
        highest = vertices.group_by("fpr").agg(pl.col("tpr").max()).sort("fpr")
        assert mixed["mix"].to_list() == [0] * highest.height
        np.testing.assert_allclose(mixed["tpr"], highest["tpr"], rtol=1e-12)


def test_a_table_without_curves_has_no_mixtures():
    predictions = pl.DataFrame(
        schema={"model": pl.String, "label": pl.Boolean, "score": pl.Float64}
    )
    curves = rf.curve(predictions, "label", "score", by="model")
    assert curves.roc.mix(fpr=0.2).height == 0
    assert curves.roc.mix(fpr=0.2, across="model").height == 0
