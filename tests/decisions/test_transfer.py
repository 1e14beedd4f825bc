"""`transfer`: thresholds of all other folds, compared with one choice per fold."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.all_cases import all_cases

COSTS = {"fp": 1, "fn": 3}
CASES = [
    ("youden", {}),
    ("accuracy", {}),
    ("error_rate", {}),
    ("expected_cost", {"costs": COSTS}),
    ("expected_cost", {"costs": COSTS, "prevalence": 0.2}),
    ("closest_top_left", {}),
    ("profit", {"benefits": {"tp": 3, "fp": -1}}),
    ("recall", {"subject_to": {"precision": (0.6, None)}}),
    ((2 * pl.col("tp") - pl.col("fp")).alias("gain"), {}),
    ("f1", {"minimize": True}),
]
LOW_IS_BETTER = ["error_rate", "expected_cost", "closest_top_left"]
VALUES = ["value_realised", "value_chosen", "optimism", "threshold", "tp", "fp", "fn", "tn"]


def predictions(seed: int = 0, rows: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    return pl.DataFrame(
        {
            "model": rng.choice(["a", "b"], rows),
            "fold": rng.integers(0, 4, rows),
            "label": label,
            "score": (rng.normal(size=rows) + label).round(1),
        }
    )


TABLE = predictions()
CURVES = rf.curve(TABLE, "label", "score", by=["model", "fold"])


def applied_by_hand(table: pl.DataFrame, rule: object, options: dict) -> pl.DataFrame:
    """Return the result for a table with the columns `fold`, `label` and `score`."""
    parts = []
    for (fold,), own in table.sort("fold").group_by("fold", maintain_order=True):
        others = table.filter(pl.col("fold") != fold).roc.curve("label", "score")
        best = others.roc.operating_point(rule, **options).row(0, named=True)
        threshold = best["threshold"]
        row = own.roc.curve("label", "score").roc.at(threshold=threshold)
        # A curve of decisions, on which the rule has only one row to choose from.
        is_alert = own.select(pl.col("label"), score=(pl.col("score") >= threshold).cast(pl.Int8))
        curve = is_alert.roc.curve("label", "score")
        unconstrained = {**options, "subject_to": {"threshold": (0.5, 1)}}
        if is_alert.get_column("score").max() == 0:
            unconstrained = {**options, "subject_to": {"threshold": (np.inf, np.inf)}}
        realised = curve.roc.operating_point(rule, **unconstrained).item(0, "value")
        sign = -1 if best["rule"] in LOW_IS_BETTER or options.get("minimize") else 1
        parts.append(
            row.select(
                fold=pl.lit(fold, pl.Int64),
                value_realised=pl.lit(realised),
                value_chosen=pl.lit(best["value"]),
                optimism=pl.lit(sign * (best["value"] - realised)),
                threshold=pl.lit(threshold),
                **{name: pl.col(name) for name in VALUES[4:]},
            )
        )
    return pl.concat(parts)


def test_thresholds_are_those_of_all_other_folds():
    with all_cases() as case:
        for rule, options in CASES:
            with case(str(rule), options):
                found = rf.transfer(CURVES, rule, **options)
                for model in ("a", "b"):
                    expected = applied_by_hand(TABLE.filter(model=model), rule, options)
                    assert_frame_equal(
                        found.filter(model=model).select("fold", *VALUES), expected, rel_tol=1e-12
                    )


def test_several_rules_have_a_row_each_and_columns_are_in_order():
    found = rf.transfer(CURVES, ["youden", "f1"])
    assert found.columns == ["model", "fold", "rule", *VALUES, "note"]
    assert found.get_column("rule").to_list() == ["youden", "f1"] * 8
    for rule in ("youden", "f1"):
        assert_frame_equal(found.filter(rule=rule), rf.transfer(CURVES, rule))


def test_chosen_thresholds_of_another_table_are_applied():
    validation = rf.curve(predictions(1), "label", "score", by="model")
    best = rf.operating_point(validation, ["youden", "expected_cost"], costs=COSTS)
    found = CURVES.roc.transfer(["youden", "expected_cost"], chosen=best, costs=COSTS)
    joined = found.join(best, on=["model", "rule"], suffix="_there", maintain_order="left")
    assert joined.get_column("threshold").equals(joined.get_column("threshold_there"))
    assert joined.get_column("value_chosen").equals(joined.get_column("value"))
    for row in found.filter(rule="youden").iter_rows(named=True):
        curve = CURVES.filter(model=row["model"], fold=row["fold"])
        point = curve.roc.at(threshold=row["threshold"]).row(0, named=True)
        assert row["value_realised"] == pytest.approx(point["tpr"] - point["fpr"])
        assert [row[name] for name in VALUES[4:]] == [point[name] for name in VALUES[4:]]


def test_one_chosen_threshold_is_applied_to_all_curves_and_missing_ones_are_null():
    best = rf.operating_point(rf.curve(predictions(1), "label", "score"), "youden")
    found = rf.transfer(CURVES, chosen=best)
    assert found.get_column("threshold").unique().to_list() == best["threshold"].to_list()
    validation = rf.curve(predictions(1), "label", "score", by="model")
    only_a = rf.operating_point(validation).filter(model="a")
    partly = rf.transfer(CURVES, chosen=only_a)
    assert partly.filter(model="b").select("threshold", "tp", "note").unique().rows() == [
        (None, None, "no_solution")
    ]
    assert partly.filter(model="a").get_column("threshold").null_count() == 0


def test_the_note_of_a_missing_threshold_is_that_of_the_table_of_chosen_thresholds():
    validation = TABLE.filter(pl.col("model").eq("a") | pl.col("label").eq(1))
    best = rf.operating_point(rf.curve(validation, "label", "score", by="model"))
    assert best.select("model", "note").rows() == [("a", None), ("b", "no_negatives")]
    for chosen, note in (
        (best, "no_negatives"),
        (best.drop("note"), "no_solution"),
        (best.with_columns(note=None), "no_solution"),
        (best.filter(model="a"), "no_solution"),
    ):
        applied = rf.transfer(CURVES, chosen=chosen)
        notes = applied.select("model", "note").unique(maintain_order=True)
        assert notes.rows() == [("a", None), ("b", note)]


def test_rows_of_other_tables_of_points_are_applied_to_all_rules():
    validation = rf.curve(predictions(1), "label", "score", by="model")
    best = rf.operating_point(validation, "expected_cost", costs=COSTS)
    expected = rf.transfer(CURVES, "expected_cost", chosen=best, costs=COSTS)
    rules = ["expected_cost", "youden"]
    vertices = rf.hull(validation).join(best, on=["model", "threshold"], how="semi")
    rows = validation.join(best, on=["model", "threshold"], how="semi")
    half = rf.at(validation, threshold=0.5)
    for chosen in (vertices, rows, rows.lazy().collect().sample(fraction=1, shuffle=True)):
        found = rf.transfer(CURVES, rules, chosen=chosen, costs=COSTS)
        assert_frame_equal(found.filter(rule="expected_cost"), expected)
        assert found.filter(rule="youden")["threshold"].equals(expected["threshold"])
    found = rf.transfer(CURVES, chosen=half)
    youden = {row["model"]: row["tpr"] - row["fpr"] for row in half.iter_rows(named=True)}
    for row in found.iter_rows(named=True):
        assert row["value_chosen"] == pytest.approx(youden[row["model"]])
        assert row["threshold"] == half.filter(model=row["model"])["threshold"].item()
    # Without counts, the value on the other data is unknown.
    numbers = rf.transfer(CURVES, chosen=half.select("model", "threshold"))
    values = ["value_chosen", "optimism"]
    assert_frame_equal(numbers.drop(values), found.drop(values))
    assert numbers.select(values).null_count().row(0) == (8, 8)


def test_a_vertex_of_a_common_hull_is_applied_to_the_curves_of_its_model():
    validation = rf.curve(predictions(1), "label", "score", by="model")
    common = rf.hull(validation, across="model")
    with pytest.raises(rf.OptionValueError, match="Keep one row for each model"):
        rf.transfer(CURVES, chosen=common)
    vertex = common.filter(pl.col("model").is_not_null()).head(1)
    model, threshold = vertex.select("model", "threshold").row(0)
    # The first and the last vertex belong to no model.
    for chosen in (vertex, pl.concat([common.head(1), vertex, common.tail(1)])):
        found = rf.transfer(CURVES, chosen=chosen)
        own = found.filter(model=model)
        assert own["threshold"].unique().to_list() == [threshold]
        assert own["value_chosen"][0] == pytest.approx((vertex["tpr"] - vertex["fpr"]).item())
        others = found.filter(pl.col("model") != model)
        assert others.select("threshold", "note").unique().rows() == [(None, "no_solution")]


def test_filters_on_folds_of_a_plan_do_not_change_the_choice():
    plan = rf.transfer(CURVES.lazy(), "accuracy").filter(fold=2, model="a").collect()
    assert_frame_equal(plan, rf.transfer(CURVES, "accuracy").filter(fold=2, model="a"))


def test_undefined_choices_are_null():
    single = rf.transfer(CURVES.filter(fold=1))
    assert single.select("threshold", "value_realised", "fp", "note").unique().rows() == [
        (None, None, None, "no_rows")
    ]
    none = rf.transfer(CURVES, subject_to={"precision": (0.99, 1), "recall": (0.99, 1)})
    assert none.get_column("note").unique().to_list() == ["no_solution"]
    assert rf.transfer(CURVES.clear()).columns == single.columns


def test_the_optimism_of_scores_without_information_is_that_of_choosing():
    """With random scores, the best threshold looks better where it was chosen."""
    rng = np.random.default_rng(5)
    n = 400 * 40
    table = pl.DataFrame(
        {
            "sample": np.repeat(np.arange(400), 40),
            "fold": np.tile(np.arange(40) % 4, 400),
            "label": rng.integers(0, 2, n),
            "score": rng.random(n),
        }
    )
    curves = rf.curve(table, "label", "score", by=["sample", "fold"])
    found = rf.transfer(curves, "accuracy")
    assert found.get_column("value_realised").mean() == pytest.approx(0.5, abs=0.02)
    assert found.get_column("optimism").mean() > 0.1


def test_the_page_about_decisions_shows_the_accuracies_of_the_bundled_log():
    page = Path(__file__).parents[2].joinpath("docs", "decisions.md").read_text(encoding="utf-8")
    votes = rf.datasets.vote().filter(pl.col("model") != "linear_svm")
    curves = votes.roc.curve("label", "score", by=["model", "fold"])
    default = curves.roc.at(threshold=0.5).select(
        "model", accuracy=(pl.col("tp") + pl.col("tn")) / pl.sum_horizontal("tp", "fp", "fn", "tn")
    )
    before = default.group_by("model").agg(pl.col("accuracy").mean())
    after = curves.roc.transfer("accuracy").group_by("model").agg(pl.col("value_realised").mean())
    for model, default_accuracy, realised in before.join(after, on="model").iter_rows():
        if model == "naive_bayes":
            text = (
                f"from {default_accuracy:.3f} at the threshold 0.5 to {realised:.3f} at the chosen"
            )
            assert text in " ".join(page.split())
        else:
            assert realised == pytest.approx(default_accuracy, abs=0.005)


def test_the_result_states_whether_the_constraints_are_met_on_the_fold():
    limits = {"precision": (0.6, None), "fpr": (0, 0.4), "threshold": (0.1, None)}
    found = rf.transfer(CURVES, ["recall", "accuracy"], subject_to=limits)
    assert found.columns == [
        *("model", "fold", "rule"),
        *(*VALUES, "precision", "fpr", "is_met", "note"),
    ]
    assert found.get_column("is_met").unique().sort().to_list() == [False, True]
    for row in found.iter_rows(named=True):
        precision = Fraction(row["tp"], row["tp"] + row["fp"])
        fpr = Fraction(row["fp"], row["fp"] + row["tn"])
        assert (row["precision"], row["fpr"]) == (float(precision), float(fpr))
        met = precision >= Fraction("0.6") and fpr <= Fraction("0.4") and row["threshold"] >= 0.1
        assert row["is_met"] is met
    plain = rf.transfer(CURVES, "recall", subject_to=limits).drop("precision", "fpr", "is_met")
    assert_frame_equal(found.filter(rule="recall").drop("precision", "fpr", "is_met"), plain)
    lazy = rf.transfer(CURVES.lazy(), ["recall", "accuracy"], subject_to=limits)
    assert_frame_equal(lazy.collect(), found)


def test_constraints_are_checked_for_chosen_thresholds_and_null_where_undefined():
    table = pl.DataFrame(
        {
            "g": [*"aaabbcc"],
            "label": [1, 1, 0, 0, 0, 1, 0],
            "score": [0.9, 0.2, 0.5, 0.9, 0.1, 0.1, 0.05],
        }
    )
    curves = rf.curve(table, "label", "score", by="g")
    chosen = pl.DataFrame({"rule": ["recall"], "value": [1.0], "threshold": [0.4]})
    limits = {"recall": (0.4, 1), "precision": (0.4, None), "tp": (1, 1), "alerts": (0, 1)}
    found = rf.transfer(curves, "recall", chosen=chosen, subject_to=limits)
    assert found.select("g", "tp", "recall", "precision", "alerts", "is_met").rows() == [
        ("a", 1, 0.5, 0.5, 2.0, False),
        ("b", 0, None, 0.0, 1.0, False),
        ("c", 0, 0.0, None, 0.0, False),
    ]
    few = rf.transfer(curves, "recall", chosen=chosen, subject_to={"precision": (0.4, None)})
    assert few.get_column("is_met").to_list() == [True, False, None]
    absent = chosen.with_columns(threshold=None)
    none = rf.transfer(curves, "recall", chosen=absent, subject_to={"precision": (0.4, None)})
    assert none.select("precision", "is_met").unique().rows() == [(None, None)]


def test_metrics_that_compare_the_classes_choose_no_threshold_if_the_other_folds_have_one_class():
    table = TABLE.with_columns(label=pl.when(fold=0).then("label").otherwise(0))
    found = rf.transfer(rf.curve(table, "label", "score", by=["model", "fold"]), ["f1", "accuracy"])
    of_first = found.filter(fold=0).select("rule", "threshold", "note").unique().sort("rule")
    assert of_first.rows() == [("accuracy", np.inf, None), ("f1", None, "no_positives")]


def test_a_rule_per_row_has_no_optimism_on_folds_with_the_same_rows():
    fold = TABLE.filter(model="a", fold=0)
    folds = pl.concat([fold.with_columns(fold=pl.lit(i)) for i in range(4)])
    curves = rf.curve(folds, "label", "score", by="fold")
    gain = pl.col("tp") - pl.col("fp")
    per_row = gain / pl.sum_horizontal("tp", "fp", "fn", "tn")
    applied = rf.transfer(curves, [gain.alias("sum"), per_row.alias("mean")])
    pooled = applied.get_column("value_realised") * pl.Series([3, 1] * 4)
    assert pooled.to_list()[::2] == applied.get_column("value_chosen").to_list()[::2]
    assert applied.filter(rule="mean").get_column("optimism").unique().to_list() == [0]


def test_the_difference_of_two_infinite_values_is_null():
    rows = {"fold": [1, 1, 2, 2], "label": [1, 0, 1, 0], "score": [2, 1, 2, 1]}
    curves = rf.curve(pl.DataFrame(rows), "label", "score", by="fold")
    applied = rf.transfer(curves, "lr_pos")
    assert applied["value_chosen"].to_list() == applied["value_realised"].to_list() == [np.inf] * 2
    assert applied["optimism"].to_list() == [None, None]


def test_heavy_weights_of_one_fold_do_not_change_the_choice_on_other_folds():
    table = pl.DataFrame(
        {
            "fold": [1, 1, 1, 1, 2, 2, 2, 2],
            "label": [1, 0, 1, 0] * 2,
            "score": [0.9, 0.3, 0.6, 0.7, 0.9, 0.2, 0.5, 0.4],
        }
    ).with_columns(weight=pl.when(fold=1).then(0.1).otherwise(1e17))
    curves = rf.curve(table, "label", "score", weight="weight", by="fold")
    applied = rf.transfer(curves, "youden")
    # With two folds, the choice for each fold is that of the other fold.
    own = rf.operating_point(curves, "youden").sort("fold", descending=True)
    assert applied["threshold"].to_list() == own["threshold"].to_list()
    np.testing.assert_allclose(applied["value_chosen"], own["value"], rtol=1e-12)
    assert applied["note"].null_count() == 2


@pytest.mark.parametrize("name", ["(number)", "number", "0", "(0)", "()", "^k.*$", "*"])
def test_group_columns_may_have_any_name(name):
    table = pl.DataFrame(
        {
            "key": [None, None, None, "b", "b", "b"] * 4,
            "g": [1, 2, 3] * 8,
            "label": [1, 0, 0, 1, 0, 1, 0, 1] * 3,
            "score": [i * 7 % 11 for i in range(24)],
            "id": range(24),
        }
    )

    def results(table: pl.DataFrame, key: str) -> list[pl.DataFrame]:
        curves = rf.curve(table, "label", "score", by=[key, "g"])
        found = rf.concavities(curves)
        return [
            rf.transfer(curves, chosen=rf.operating_point(curves)),
            rf.transfer(curves, over="g"),
            rf.repaired_auc(curves, chosen=found, which="all"),
            rf.repair_scores(table, "score", found),
            rf.draw_decisions(table, "score", rf.mix(curves, fpr=0.3), id="id", seed=1),
        ]

    renamed = results(table.rename({"key": name}), name)
    for result, expected in zip(renamed, results(table, "key"), strict=True):
        assert_frame_equal(result.rename({name: "key"}), expected)


def test_a_model_without_scores_does_not_change_other_models():
    table = TABLE.filter(model="b")
    unscored = table.with_columns(model=pl.lit("a"), score=pl.lit(None, pl.Float64))
    options = {"by": ["model", "fold"], "missing": "worst"}
    both = rf.curve(pl.concat([unscored, table]), "label", "score", **options)
    found, alone = rf.transfer(both), rf.transfer(rf.curve(table, "label", "score", **options))
    assert_frame_equal(found.filter(model="b"), alone)
    assert found.filter(model="a")["threshold"].unique().to_list() == [np.inf]
