"""`reader_study`: compared with printed results, with brute force, and with tests of scipy."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf
from rocframe.comparisons import reader_study as module
from tests.all_cases import all_cases

PRINTED = json.loads((Path(__file__).parents[1] / "reference/vandyke1993.json").read_text("utf-8"))
OF_MEAN = pl.col("reader").is_null()
OF_PAIR = pl.col("modality_b").is_not_null()


def readings(seed: int = 1, *, readers: int = 3, modalities: str = "ab", n: int = 30):
    """Return ratings of cases, with ties, by readers who differ in accuracy."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    case = label + 0.5 * rng.normal(size=n)
    parts = [
        pl.DataFrame(
            {
                "case": np.arange(n),
                "label": label,
                "modality": modality,
                "reader": reader,
                "score": np.round(2 * (case * (1 + 0.3 * i + 0.2 * reader) + rng.normal(size=n))),
            }
        )
        for (i, modality), reader in product(enumerate(modalities), range(readers))
    ]
    return pl.concat(parts).sample(fraction=1, shuffle=True, seed=seed)


def study(table, **options):
    return rf.reader_study(table, "label", "score", id="case", **options)


def value_of(table, metric, threshold):
    """Return a metric of one reader with one modality."""
    if threshold is not None:
        options = {"metrics": metric, "threshold": threshold, "ci": None}
        return rf.intervals(table, "label", "score", **options)["estimate"].item()
    if isinstance(metric, tuple):
        return rf.auc(table, "label", "score", fpr=metric, ci=None)["partial_auc"].item()
    return rf.intervals(table, "label", "score", metrics=metric, ci=None)["estimate"].item()


def values_of(table, metric="auc", threshold=None):
    """Return the metric of each modality (rows) and reader (columns)."""
    parts = table.partition_by("modality", "reader", as_dict=True)
    names = [sorted(set(column)) for column in zip(*parts, strict=True)]
    return np.array(
        [[value_of(parts[i, j], metric, threshold) for j in names[1]] for i in names[0]]
    )


def jackknife_matrix(table, metric="auc", threshold=None):
    """Return the covariances of all values: each case is left out once."""
    cases = table["case"].unique().sort()
    without = np.array(
        [values_of(table.filter(pl.col("case") != i), metric, threshold).ravel() for i in cases]
    )
    n = len(without)
    return (n - 1) ** 2 / n * np.cov(without.T)


def delong_matrix(table, **options):
    """Return the covariances of all areas, which `auc_covariance` estimates."""
    name = pl.format("{} {}", "modality", "reader").alias("model")
    long = rf.auc_covariance(table.with_columns(name), "label", "score", id="case", **options)
    return long.pivot("model_b", index="model_a", values="covariance").drop("model_a").to_numpy()


def components(values, matrix):
    """Return the covariances of Obuchowski and Rockette's model by loops over all readings."""
    t, r = values.shape
    cells = list(product(range(t), range(r)))
    kinds = {name: [] for name in ("var_error", "cov1", "cov2", "cov3")}
    for (a, first), (b, second) in product(enumerate(cells), repeat=2):
        same = first[0] == second[0], first[1] == second[1]
        kind = {(True, True): "var_error", (False, True): "cov1", (True, False): "cov2"}
        kinds[kind.get(same, "cov3")].append(matrix[a, b])
    return {name: np.mean(numbers) if numbers else None for name, numbers in kinds.items()}


def rows(table):
    return {(row["modality_a"], row["modality_b"], row["reader"]): row for row in table.to_dicts()}


def test_the_results_of_van_dyke_are_the_printed_ones(monkeypatch):
    """The covariances of all pairs of readings are replaced by their printed means."""
    table = readings(readers=5, n=114).with_columns(pl.col("modality").replace("a", "1"))
    table = table.with_columns(pl.col("modality").replace("b", "2"))
    values = np.array([PRINTED["areas"][modality] for modality in "12"])[None]
    same_reader, same_modality = np.eye(5, dtype=bool)[None, :, None], np.eye(2, dtype=bool)
    same_modality = same_modality[:, None, :, None]
    with all_cases() as case:
        for printed in PRINTED["analyses"]:
            matrix = np.where(same_reader, printed["cov1"], printed["cov3"])
            own = np.array(printed.get("cov2_of_modality", [printed["cov2"]] * 2))
            own = np.where(same_modality, own[:, None, None, None], matrix)
            error = np.array(printed.get("var_error_of_modality", [printed["var_error"]] * 2))
            error = np.where(same_reader & same_modality, error[:, None, None, None], own)
            monkeypatch.setattr(
                module, "reading_estimates", lambda *_, c=error: (values.reshape(1, 10), c[None])
            )
            found = rows(study(table, fixed=printed["fixed"]))
            with case(printed["fixed"], printed["covariance"]):
                assert {
                    name: found["1", "2", None][name] for name in printed["difference"]
                } == pytest.approx(printed["difference"], rel=2e-5, abs=1e-7)
                for modality, expected in printed["modalities"].items():
                    row = found[modality, None, None]
                    assert {n: row[n] for n in expected} == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("options", [{}, {"fpr": (0, 0.4)}, {"tpr": (0.5, 1)}], ids=str)
def test_the_covariances_of_areas_are_those_of_delong(options):
    table = readings()
    matrix = delong_matrix(table, **options)
    values = rf.auc(table, "label", "score", by=["modality", "reader"], ci=None, **options)
    name = "partial_auc" if options else "auc"
    values = values[name].to_numpy().reshape(2, 3)
    found = rows(study(table, **options))
    pair = found["a", "b", None]
    expected = components(values, matrix)
    assert {name: pair[name] for name in expected} == pytest.approx(expected)
    for i, modality in enumerate("ab"):
        row = found[modality, None, None]
        assert row["estimate"] == pytest.approx(values[i].mean())
        own = components(values[i : i + 1], matrix[3 * i : 3 * i + 3, 3 * i : 3 * i + 3])
        assert row["var_error"] == pytest.approx(own["var_error"])
        assert row["cov2"] == pytest.approx(own["cov2"])
        for j in range(3):
            reader = found[modality, None, j]
            assert reader["estimate"] == pytest.approx(values[i, j])
            assert reader["se"] == pytest.approx(matrix[3 * i + j, 3 * i + j] ** 0.5)
    weight = np.array([1, 0, 0, -1, 0, 0])
    first = found["a", "b", 0]
    assert first["se"] == pytest.approx((weight @ matrix @ weight) ** 0.5)
    assert first["p_value"] == pytest.approx(
        2 * stats.norm.sf(abs(first["estimate"] / first["se"]))
    )


@pytest.mark.parametrize(
    ("metric", "threshold"),
    [("auc", None), ((0, 0.4), None), ("ks", None), ("tpr", 2.0), ("precision", 2.0)],
    ids=str,
)
def test_the_jackknife_leaves_out_each_case(metric, threshold):
    table = readings(n=10)
    options = {"fpr": metric} if isinstance(metric, tuple) else {"metric": metric}
    found = rows(study(table, covariance="jackknife", threshold=threshold, **options))
    expected = components(
        values_of(table, metric, threshold), jackknife_matrix(table, metric, threshold)
    )
    pair = found["a", "b", None]
    assert {name: pair[name] for name in expected} == pytest.approx(expected)


def test_influence_values_give_delongs_covariances():
    table = readings()
    areas, gini = study(table), study(table, metric="gini")
    for name, factor in {"estimate": 2, "se": 2, "cov1": 4, "cov3": 4, "df": 1}.items():
        mean = pl.col(name).filter(OF_MEAN & OF_PAIR)
        assert gini.select(mean).item() == pytest.approx(factor * areas.select(mean).item())


def test_the_variance_of_a_rate_is_that_of_a_proportion_of_its_class():
    table = readings(n=40)
    for metric, label in {"tpr": 1, "tnr": 0}.items():
        found = study(table, metric=metric, threshold=2).filter(~OF_MEAN, ~OF_PAIR)
        rate, n = found["estimate"], 20
        assert_frame_equal(
            found.select(pl.col("se") ** 2),
            pl.DataFrame({"se": rate * (1 - rate) / (n - 1)}),
            check_exact=False,
        )
        own = table.filter(label=label).group_by("modality", "reader")
        shares = own.agg((pl.col("score") >= 2).mean().alias("share")).sort("reader", "modality")
        assert rate.to_list() == pytest.approx(
            [share if label else 1 - share for share in shares["share"]]
        )


def test_fixed_cases_give_paired_t_tests_of_the_values_of_readers():
    table = readings(readers=5, modalities="abc")
    values = values_of(table)
    found = rows(study(table, fixed="cases"))
    for i, modality in enumerate("abc"):
        row = found[modality, None, None]
        expected = stats.ttest_1samp(values[i], 0).confidence_interval()
        assert (row["lower"], row["upper"]) == pytest.approx(np.clip(expected, 0, 1))
    residual = values - values.mean(0) - values.mean(1)[:, None] + values.mean()
    mean_square = (residual**2).sum() / 8
    f = 5 * values.mean(1).var(ddof=1) / mean_square
    for i, j in combinations(range(3), 2):
        row = found["abc"[i], "abc"[j], None]
        assert row["se"] == pytest.approx((2 * mean_square / 5) ** 0.5)
        assert (row["df"], row["f_df"], row["f_df_denominator"]) == (8, 2, 8)
        assert row["f_statistic"] == pytest.approx(f)
        assert row["f_p_value"] == pytest.approx(stats.f.sf(f, 2, 8))
    two = rows(study(table.filter(pl.col("modality") != "c"), fixed="cases"))["a", "b", None]
    test = stats.ttest_rel(values[0], values[1])
    assert (two["statistic"], two["p_value"]) == pytest.approx((test.statistic, test.pvalue))
    assert two["f_p_value"] == pytest.approx(test.pvalue)


def test_fixed_readers_have_the_variance_of_a_difference_of_means():
    table = readings(3, readers=4)
    matrix, weight = delong_matrix(table), np.repeat([1, -1], 4) / 4
    row = rows(study(table, fixed="readers"))["a", "b", None]
    assert row["note"] is None
    se = (weight @ matrix @ weight) ** 0.5
    assert row["se"] == pytest.approx(se)
    assert row["df"] is None
    assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(row["estimate"]) / se))
    assert row["f_p_value"] == pytest.approx(row["p_value"])
    one = study(table.filter(reader=1), fixed="readers").filter(OF_PAIR)
    compared = rf.compare(
        table.filter(reader=1), "label", "score", between="modality", id="case", method="delong"
    )
    for name in ("se", "p_value", "lower", "upper"):
        assert one[name].to_list() == pytest.approx([compared[name].item()] * 2)


def test_p_values_are_adjusted_over_the_pairs_of_the_means_and_of_each_reader():
    found = study(readings(readers=2, modalities="abcd")).filter(OF_PAIR)
    for part in found.partition_by("reader", maintain_order=True):
        p = np.sort(part["p_value"])
        expected = np.minimum(np.maximum.accumulate(p * (6 - np.arange(6))), 1)
        assert np.sort(part["p_adjusted"]) == pytest.approx(expected)


def test_a_negative_difference_of_covariances_is_replaced_by_0(monkeypatch):
    values = np.array([[0.7, 0.8, 0.9, 0.75, 0.9, 0.85]])
    same = np.kron(np.eye(2), np.ones((3, 3)))
    matrix = np.where(np.eye(6, dtype=bool), 0.004, np.where(same, 0.001, 0.002))[None]
    monkeypatch.setattr(module, "reading_estimates", lambda *_: (values, matrix))
    found = rows(study(readings()))
    pair, fixed = found["a", "b", None], rows(study(readings(), fixed="cases"))["a", "b", None]
    assert pair["note"] == "negative_covariance"
    assert found["a", None, None]["note"] is None
    residual = np.array([0.7 - 0.75, 0.8 - 0.9, 0.9 - 0.85])
    assert pair["se"] == pytest.approx(residual.std(ddof=1) / 3**0.5)
    assert pair["df"] == pytest.approx(2)
    assert fixed["se"] == pytest.approx(pair["se"])


def test_clusters_have_obuchowskis_covariances():
    table = readings().with_columns(patient=pl.col("case") // 3)
    matrix = delong_matrix(table, cluster="patient")
    found = rows(study(table, cluster="patient"))
    expected = components(values_of(table), matrix)
    pair = found["a", "b", None]
    assert {name: pair[name] for name in expected} == pytest.approx(expected)


def test_one_modality_has_rows_without_tests(frame):
    table = readings(modalities="a")
    found = study(frame(table)).lazy().collect()
    assert found.shape == (4, 30)
    assert found["p_value"].null_count() == 4
    names = ["estimate", "lower", "upper", "df", "var_reader", "cov2"]
    assert_frame_equal(
        found.select(names)[:1], study(readings()).filter(modality_a="a")[:1].select(names)
    )


def test_one_reader_has_a_note_and_leaves_other_studies_unchanged(frame):
    three, one = readings(2), readings(3, readers=1)
    parts = [three.with_columns(g=pl.lit("x")), one.with_columns(g=pl.lit("y"))]
    found = study(frame(pl.concat(parts)), by="g").lazy().collect()
    alone = study(three)
    assert_frame_equal(found.filter(g="x").drop("g"), alone)
    means = found.filter(OF_MEAN, g="y")
    assert means["note"].to_list() == ["one_reader"] * 3
    assert means["se"].null_count() == 3
    assert found.filter(~OF_MEAN, g="y")["se"].null_count() == 0
    fixed = study(one, fixed="readers")
    assert fixed["note"].null_count() == 6


def test_cases_that_lack_a_reading_are_left_out_if_requested():
    table = readings()
    lacking = table.filter(~((pl.col("case") == 3) & (pl.col("reader") == 1)))
    missing = table.with_columns(
        pl.when((pl.col("case") != 3) | (pl.col("reader") != 1)).then("score")
    )
    expected = study(table.filter(pl.col("case") != 3)).drop("note")
    found = study(lacking, unmatched="drop")
    assert_frame_equal(found.drop("note"), expected)
    assert set(found["note"]) == {"unmatched:4", "negative_covariance; unmatched:4"}
    assert_frame_equal(study(missing, missing="drop").drop("note"), expected)


def test_null_ratings_are_errors_at_every_threshold_if_requested():
    table = readings()
    none = (pl.col("case") == 3) & (pl.col("reader") == 1)
    missing = table.with_columns(pl.when(~none).then("score"))
    lowest = table.with_columns(pl.when(~none).then("score").otherwise(-100.0))
    assert table.filter(none)["label"].unique().to_list() == [1]
    for options in ({}, {"covariance": "jackknife"}, {"metric": "tpr", "threshold": 0}):
        assert_frame_equal(study(missing, missing="worst", **options), study(lowest, **options))


def test_readings_that_separate_the_classes_have_no_variance():
    table = readings().with_columns(score=pl.col("label") * 2.0)
    found = study(table)
    assert found["estimate"].to_list() == [1.0, 1.0, 0.0] * 4
    assert found["se"].null_count() == 12
    assert found.filter(OF_PAIR)["p_value"].to_list() == [1.0] * 4
    assert set(found["note"]) == {"zero_variance"}


def test_absent_classes_have_notes():
    notes = {
        "no_positives": readings().filter(label=0),
        "no_negatives": readings().filter(label=1),
        "one_positive": readings().filter((pl.col("label") == 0) | (pl.col("case") == 1)),
        "few_rows:3": readings().filter((pl.col("label") == 0) | (pl.col("case") < 6)),
    }
    with all_cases() as case:
        for note, table in notes.items():
            with case(note):
                found = study(table)
                assert set(found.filter(~OF_MEAN)["note"]) == {note}
                if note != "few_rows:3":
                    assert set(found["note"]) == {note}
                    assert found["se"].null_count() == found.height
    fixed = study(notes["one_positive"], fixed="cases")
    assert fixed.filter(OF_MEAN)["note"].null_count() == 3


def test_a_filter_on_the_groups_reaches_the_scan(tmp_path):
    table = pl.concat([readings(i).with_columns(g=i) for i in range(3)])
    table.write_parquet(tmp_path / "readings.parquet")
    plan = study(pl.scan_parquet(tmp_path / "readings.parquet"), by="g").filter(g=1)
    assert "SELECTION" in plan.explain()
    assert_frame_equal(plan.collect(), study(table, by="g").filter(g=1))


def test_names_of_readers_and_modalities_keep_their_dtype():
    table = readings().with_columns(
        pl.col("modality").cast(pl.Enum(["b", "a"])), pl.col("reader").cast(pl.Int8)
    )
    found = study(table)
    assert found.schema["modality_a"] == table.schema["modality"]
    assert found.schema["reader"] == pl.Int8
    assert found.filter(OF_PAIR).select("modality_a", "modality_b").row(0) == ("b", "a")
    other = study(readings())
    assert found.filter(OF_PAIR)["p_value"].to_list() == pytest.approx(
        other.filter(OF_PAIR)["p_value"].to_list()
    )


def test_a_metric_without_a_value_for_a_reader_has_a_note():
    table = readings().with_columns(
        pl.when((pl.col("reader") == 1) & (pl.col("modality") == "a"))
        .then(pl.col("score").clip(upper_bound=1))
        .otherwise("score")
    )
    for options in ({}, {"covariance": "jackknife"}, {"fixed": "readers"}):
        found = rows(study(table, metric="precision", threshold=2, **options))
        for key in (("a", None, None), ("a", "b", None), ("a", None, 1), ("a", "b", 1)):
            row = found[key]
            assert (row["estimate"], row["se"], row["note"]) == (None, None, "no_solution")
        assert found["b", None, None]["note"] != "no_solution"
