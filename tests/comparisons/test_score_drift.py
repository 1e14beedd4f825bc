"""`score_drift` and the expressions `psi` and `ks_2samp`, against scipy and fractions."""

import math
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.spatial.distance import jensenshannon
from scipy.stats import chi2, ks_2samp, kstwobign, wasserstein_distance

import rocframe as rf

EDGES = [-2.0, -1.0, 0.0, 0.5, 3.0]


def sample(rows, seed=0, windows=4, digits=None):
    """Return scores of two groups in windows; the last windows are shifted."""
    rng = np.random.default_rng(seed)
    window = rng.integers(0, windows, rows)
    score = rng.normal(size=rows) + 0.3 * (window > 1)
    table = pl.DataFrame({"g": rng.choice(["a", "b"], rows), "w": window, "score": score})
    return table.with_columns(n=rng.integers(0, 4, rows), weight=rng.random(rows)).with_columns(
        pl.col("score") if digits is None else pl.col("score").round(digits)
    )


def quantile_bins(reference, bins):
    """Return the last score of each bin: a score with the share s below it is in bin ⌊s · bins⌋."""
    numbers = {x: sum(y < x for y in reference) * bins // len(reference) for x in reference}
    return [max(x for x in numbers if numbers[x] == i) for i in sorted(set(numbers.values()))]


def counts(scores, ends):
    """Return the number of scores in each right-closed bin; scores above all are in the last."""
    found = [0] * len(ends)
    for x in scores:
        found[next((i for i, end in enumerate(ends) if x <= end), len(ends) - 1)] += 1
    return found


def psi(found, expected):
    """Return PSI from counts; a bin without rows of one sample has half a row."""
    total = 0.0
    for a, b in zip(found, expected, strict=True):
        if a or b:
            p = Fraction(a or Fraction(1, 2)) / sum(found)
            q = Fraction(b or Fraction(1, 2)) / sum(expected)
            total += float(p - q) * math.log(p / q)
    return total


def pairs(table, result):
    """Yield the rows of a result with a reference, with the scores of both windows."""
    for row in result.iter_rows(named=True):
        if row["psi"] is not None:
            scores = table.filter(g=row["g"])
            yield (
                row,
                scores.filter(w=row["w"])["score"].to_numpy(),
                scores.filter(w=row["reference"])["score"].to_numpy(),
            )


@pytest.mark.parametrize("reference", ["first", "previous", 2])
@pytest.mark.parametrize(("rows", "digits"), [(80, None), (1200, None), (600, 1), (300, 0)])
def test_statistics_are_those_of_scipy_and_of_fractions(rows, digits, reference):
    table = sample(rows, digits=digits)
    result = rf.score_drift(table, "score", over="w", by="g", reference=reference)
    checked = 0
    for row, window, scores in pairs(table, result):
        ends = quantile_bins(scores, 10)
        found, expected = counts(window, ends), counts(scores, ends)
        wanted = {
            "psi": psi(found, expected),
            "ks": ks_2samp(window, scores, method="asymp").statistic,
            "wasserstein": wasserstein_distance(window, scores),
            "jensen_shannon": jensenshannon(found, expected, 2),
        }
        assert {name: row[name] for name in wanted} == pytest.approx(wanted, abs=1e-12)
        sizes = (row["n"], row["n_reference"], row["n_bins"])
        assert sizes == (len(window), len(scores), len(ends))
        checked += 1
    assert checked == 6


def test_edges_divide_the_scores_into_left_closed_bins_with_open_ends():
    table = sample(300, digits=1)
    result = rf.score_drift(table, "score", over="w", by="g", bins=EDGES)
    for row, window, scores in pairs(table, result):
        inner = [-math.inf, *EDGES[1:-1], math.inf]
        found, expected = (np.histogram(each, inner)[0].tolist() for each in (window, scores))
        assert row["psi"] == pytest.approx(psi(found, expected), abs=1e-12)
        assert row["jensen_shannon"] == pytest.approx(jensenshannon(found, expected, 2), abs=1e-12)


def test_the_index_without_empty_bins_is_that_of_other_packages():
    """Other packages replace shares of 0 by 0.0001. The definition is the same without them."""
    rng = np.random.default_rng(2)
    reference, window = rng.normal(size=1000), rng.normal(0.2, 1, size=800)
    table = pl.DataFrame(
        {"w": np.repeat([0, 1], [1000, 800]), "score": np.append(reference, window)}
    )
    breaks = np.append(pl.Series(reference).sort().to_numpy()[99:900:100], np.inf)
    p, q = (np.bincount(np.searchsorted(breaks, x)) / len(x) for x in (window, reference))
    assert p.min() > 0
    found = rf.score_drift(table, "score", over="w")["psi"][1]
    assert found == pytest.approx(((p - q) * np.log(p / q)).sum(), abs=1e-12)


@pytest.mark.filterwarnings("ignore:`qcut` is deprecated:DeprecationWarning")  # in polars-ds
def test_the_index_is_that_of_polars_ds_if_no_bin_is_empty():
    pds = pytest.importorskip("polars_ds", reason="polars-ds is in the bench group only")
    rng = np.random.default_rng(2)
    reference = rng.normal(size=1000)
    weight = np.exp(0.2 * reference)
    # Other packages interpolate the quantiles, so that other scores could be in another bin.
    window = rng.choice(reference, 300, p=weight / weight.sum())
    table = pl.DataFrame(
        {"w": np.repeat([0, 1], [1000, 300]), "score": np.append(reference, window)}
    )
    found = rf.score_drift(table, "score", over="w")["psi"][1]
    index = pds.psi(pl.Series(window), pl.Series(reference), n_bins=10)
    one = pl.DataFrame({"row": [1]})
    assert found == pytest.approx(one.select(index).item(), abs=1e-12)


@pytest.mark.parametrize(("rows", "method"), [(60, "exact"), (300, "exact"), (4000, "asymp")])
def test_ks_p_values_are_exact_for_small_windows_and_else_of_the_limit(rows, method):
    table = sample(rows, seed=6)
    for row, window, scores in pairs(table, rf.score_drift(table, "score", over="w", by="g")):
        exact = len(window) * len(scores) <= 10_000
        assert exact == (method == "exact")
        n = len(window) * len(scores) / (len(window) + len(scores))
        wanted = ks_2samp(window, scores, method="exact").pvalue
        if not exact:
            wanted = kstwobign.sf(math.sqrt(n) * row["ks"])
        assert row["ks_p"] == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (3, 3), (4, 2)])
def test_ks_p_values_are_shares_of_all_orders_of_the_rows(n, m):
    def distance(ranks):
        steps = range(n + m + 1)
        return max(
            abs(
                Fraction(sum(r < t for r in ranks), n)
                - Fraction(sum(r not in ranks for r in range(t)), m)
            )
            for t in steps
        )

    orders = [set(each) for each in combinations(range(n + m), n)]
    distances = [distance(ranks) for ranks in orders]
    for ranks, own in zip(orders, distances, strict=True):
        window = [int(rank in ranks) for rank in range(n + m)]
        table = pl.DataFrame({"w": window, "score": range(n + m)})
        row = rf.score_drift(table, "score", over="w", bins=2).row(1, named=True)
        assert row["ks"] == pytest.approx(float(own), abs=1e-12)
        share = sum(each >= own for each in distances) / len(orders)
        assert row["ks_p"] == pytest.approx(share, abs=1e-12)


def test_the_test_of_psi_is_a_scaled_chi_squared_test():
    table = sample(900)
    result = rf.score_drift(table, "score", over="w", by="g", level=0.9, adjust=None)
    for row, window, scores in pairs(table, result):
        n, m = len(window), len(scores)
        scale = 1 / n + 1 / m + 5 * (1 / n**2 + 1 / m**2)
        assert row["psi_critical"] == pytest.approx(chi2(9).ppf(0.9) * scale)
        assert row["psi_p"] == pytest.approx(chi2(9).sf(row["psi"] / scale))
        assert row["psi_p"] == row["psi_p_adjusted"]
        assert (row["psi_p"] < 0.1) == (row["psi"] > row["psi_critical"])


def test_p_values_are_adjusted_within_groups_or_over_all_rows():
    table = sample(1500)
    plain = rf.score_drift(table, "score", over="w", by="g", adjust=None)
    for family, keys in (("group", ["g"]), ("all", [])):
        holm = rf.score_drift(table, "score", over="w", by="g", family=family)
        for name in ("psi", "ks"):
            for part in holm.partition_by(keys) if keys else [holm]:
                p = part.drop_nulls(f"{name}_p").sort(f"{name}_p")
                k = p.height
                steps = np.maximum.accumulate((k - np.arange(k)) * p[f"{name}_p"].to_numpy())
                assert p[f"{name}_p_adjusted"].to_numpy() == pytest.approx(np.minimum(steps, 1))
        assert_frame_equal(
            holm.drop("psi_p_adjusted", "ks_p_adjusted"),
            plain.drop("psi_p_adjusted", "ks_p_adjusted"),
        )


@pytest.mark.parametrize("family", ["group", "all"])
@pytest.mark.parametrize("reference", ["first", "previous"])
def test_windows_with_few_rows_do_not_change_the_results_of_others(reference, family):
    table = sample(800, windows=20)
    options = {"by": "g", "over": "w", "reference": reference, "family": family, "bins": 3}
    result = rf.score_drift(table, "score", min_rows=20, **options)
    is_large = pl.col("n") >= 20
    large = result.filter(is_large)
    assert 5 < large.height < 35
    rows = table.join(large, on=["g", "w"], how="semi")
    assert_frame_equal(large, rf.score_drift(rows, "score", **options))
    small = result.filter(~is_large)
    assert set(small["note"]) == {"below_min_rows"}
    tests = small.select("psi_p", "psi_p_adjusted", "psi_critical", "ks_p", "ks_p_adjusted")
    assert set(tests.null_count().row(0)) == {small.height}


def test_windows_are_not_tested_against_a_reference_with_few_rows():
    table = sample(800)
    before = table.filter(w=0)
    n = int(before["g"].value_counts()["count"].min())
    options = {"by": "g", "over": "w", "reference": before, "min_rows": n + 1}
    result = rf.score_drift(table.filter(pl.col("w") > 0), "score", **options)
    is_small = result["n_reference"] == n
    assert is_small.sum() == 3
    notes = {"reference:below_min_rows"}
    assert set(result.filter(is_small)["note"]) == notes
    assert result["psi_p"].is_null().to_list() == is_small.to_list()


def test_a_table_is_a_reference_of_each_group():
    table = sample(800)
    before, live = table.filter(w=0), table.filter(pl.col("w") > 0)
    expected = rf.score_drift(table, "score", over="w", by="g", reference=0)
    for frame in (before, before.lazy(), before.drop("w"), before.to_arrow()):
        found = rf.score_drift(live, "score", over="w", by="g", reference=frame)
        assert found["reference"].null_count() == found.height
        assert_frame_equal(
            found.drop("reference"), expected.filter(pl.col("w") > 0).drop("reference")
        )
    lazy = rf.score_drift(live.lazy(), "score", over="w", by="g", reference=before).collect()
    assert_frame_equal(lazy, found)
    part = rf.score_drift(live, "score", over="w", by="g", reference=before.filter(g="a"))
    assert_frame_equal(part.filter(g="a"), found.filter(g="a"))
    assert set(part.filter(g="b")["note"]) == {"reference:no_rows"}
    assert part.filter(g="b")["psi"].null_count() == 3


def test_windows_of_several_weeks_are_not_tested_against_windows_that_they_overlap():
    days = [date(2026, 1, 5) + timedelta(days=i // 30) for i in range(30 * 56)]
    table = pl.DataFrame({"day": days, "score": np.random.default_rng(1).random(len(days))})
    windows = rf.windows(table, "day", every="1w", period="2w", incomplete="drop")
    result = rf.score_drift(windows, "score")
    assert result["note"].to_list() == [None, "shared_rows", *[None] * 5]
    row = result.row(1, named=True)
    assert (row["psi"] is None, row["psi_p"], row["ks_p"]) == (False, None, None)
    previous = rf.score_drift(windows, "score", reference="previous")
    assert previous["reference"].to_list() == [None, None, *previous["window"][:5]]
    assert previous["note"].null_count() == 7


def test_missing_scores_are_an_error_or_a_share_of_each_window():
    table = pl.DataFrame(
        {
            "w": [0] * 5 + [1] * 5 + [2] * 2,
            "score": [0.1, 0.2, None, 0.4, 0.5, 0.1, None, 0.9, float("nan"), 0.8, None, None],
        }
    )
    with pytest.raises(rf.MissingValuesError, match=r'missing="drop" to leave these rows out\.$'):
        rf.score_drift(table, "score", over="w")
    result = rf.score_drift(table, "score", over="w", bins=2, missing="drop")
    columns = ("n", "n_reference", "n_missing", "missing_share", "reference_missing_share", "note")
    assert result.select(columns).rows() == [
        (4, 4, 1, 0.2, 0.2, None),
        (3, 4, 2, 0.4, 0.2, None),
        (0, 4, 2, 1.0, 0.2, "no_rows"),
    ]
    complete = rf.score_drift(table.filter(pl.col("score").is_not_nan()), "score", over="w", bins=2)
    assert_frame_equal(
        result.select("psi", "ks", "ks_p", "wasserstein")[:2],
        complete.select("psi", "ks", "ks_p", "wasserstein"),
    )


def test_a_reference_with_equal_scores_has_one_quantile_bin_and_no_index():
    table = pl.DataFrame({"w": [0] * 4 + [1] * 4, "score": [0.5] * 4 + [0.5, 0.5, 0.6, 0.7]})
    row = rf.score_drift(table, "score", over="w").row(1, named=True)
    assert (row["psi"], row["jensen_shannon"], row["n_bins"]) == (None, None, 1)
    assert (row["ks"], row["wasserstein"], row["note"]) == (
        0.5,
        pytest.approx(0.075),
        "zero_variance",
    )
    edges = rf.score_drift(table, "score", over="w", bins=[0, 0.6, 1]).row(1, named=True)
    assert edges["psi"] == pytest.approx(psi([2, 2], [4, 0]))
    none = rf.score_drift(table, "score", over="w", bins=[0, 0.1, 0.2]).row(1, named=True)
    assert (none["psi"], none["psi_p"], none["n_bins"], none["note"]) == (0, 1, 1, None)


def test_infinite_scores_have_ranks_but_no_wasserstein_distance():
    table = pl.DataFrame({"w": [0] * 3 + [1] * 3, "score": [-math.inf, 0.0, 1, 0, 2, math.inf]})
    row = rf.score_drift(table, "score", over="w", bins=3).row(1, named=True)
    assert row["wasserstein"] is None
    assert row["ks"] == pytest.approx(2 / 3)
    assert row["psi"] == pytest.approx(psi([0, 1, 2], [1, 1, 1]))


@pytest.mark.parametrize("bins", [3, 10, EDGES], ids=str)
@pytest.mark.parametrize("digits", [None, 0])
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_the_expressions_equal_the_function(bins, digits, engine):
    table = sample(400, windows=2, digits=digits)
    score, is_reference = pl.col("score").roc, pl.col("w") == 0
    for options in ({}, {"count": "n"}, {"weight": "weight"}, {"count": "n", "weight": "weight"}):
        result = rf.score_drift(table, "score", over="w", by="g", bins=bins, **options)
        found = (
            table.lazy()
            .group_by("g")
            .agg(
                psi=score.psi(is_reference, bins=bins, **options),
                ks=score.ks_2samp(is_reference, **options),
            )
            .sort("g")
            .collect(engine=engine)
        )
        assert_frame_equal(found, result.filter(w=1).select("g", "psi", "ks"))


def test_an_expression_is_null_without_rows_of_one_sample_or_with_one_quantile_bin():
    table = pl.DataFrame(
        {
            "g": [*"aabbccc"],
            "old": [True, True, False, False, True, True, False],
            "score": [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.6],
        }
    )
    score = pl.col("score").roc
    found = table.group_by("g", maintain_order=True).agg(
        psi=score.psi("old"), edges=score.psi("old", bins=[0, 0.55, 1]), ks=score.ks_2samp("old")
    )
    assert found.rows()[:2] == [("a", None, None, None), ("b", None, None, None)]
    assert found.row(2) == ("c", None, pytest.approx(psi([0, 1], [2, 0])), 1.0)


def test_labels_are_not_read_and_compressed_tables_give_the_same_result():
    table = sample(2000, digits=1).with_columns(label=pl.lit(None, pl.Boolean))
    partly = table.with_columns(label=pl.when(pl.col("w") < 2).then(pl.col("n") > 1))
    expected = rf.score_drift(table.drop("label"), "score", over="w", by="g")
    for each in (table, partly):
        counted = rf.compress(each, "label", "score", by=["g", "w"])
        assert_frame_equal(
            rf.score_drift(counted, "score", over="w", by="g", count="count"), expected
        )
    rounded = rf.compress(partly, "label", "score", by=["g", "w"], resolution=0.5)
    widths = rf.score_drift(rounded, "score", over="w", by="g", count="count")
    floor = table.with_columns((pl.col("score") * 2).floor() / 2)
    assert_frame_equal(widths, rf.score_drift(floor, "score", over="w", by="g"))
    other = rf.compress(partly.filter(w=0), "label", "score", by=["g", "w"], resolution=1)
    both = pl.concat([other, rounded.filter(pl.col("w") > 0)])
    with pytest.raises(rf.ScoreError, match="score_width"):
        rf.score_drift(both, "score", over="w", by="g", count="count")


def test_several_scores_are_models_and_selectors_do_not_need_a_label():
    table = sample(500).with_columns(other=-pl.col("score"))
    both = rf.score_drift(table, {"x": "score", "y": "other"}, over="w", by="g", bins=EDGES)
    for model, name in (("x", "score"), ("y", "other")):
        alone = rf.score_drift(table, name, over="w", by="g", bins=EDGES)
        assert_frame_equal(both.filter(model=model).drop("model"), alone)
    assert both.columns[:3] == ["g", "w", "model"]


def test_weights_of_one_are_no_weights_except_for_the_exact_p_value():
    table = sample(400).with_columns(one=1.0)
    weighted = rf.score_drift(table, "score", over="w", by="g", weight="one")
    plain = rf.score_drift(table, "score", over="w", by="g")
    assert_frame_equal(weighted.drop("ks_p", "ks_p_adjusted"), plain.drop("ks_p", "ks_p_adjusted"))
    double = table.with_columns(one=pl.lit(2.0))
    assert_frame_equal(rf.score_drift(double, "score", over="w", by="g", weight="one"), weighted)


def test_weighted_tests_use_effective_numbers_of_rows():
    table = sample(900)
    result = rf.score_drift(table, "score", over="w", by="g", weight="weight", bins=4)
    for row in result.drop_nulls("psi").iter_rows(named=True):
        n, m = (
            table.filter(g=row["g"], w=w)
            .select(pl.col("weight").sum() ** 2 / (pl.col("weight") ** 2).sum())
            .item()
            for w in (row["w"], row["reference"])
        )
        scale = 1 / n + 1 / m + 2 * (1 / n**2 + 1 / m**2)
        assert row["psi_critical"] == pytest.approx(chi2(3).ppf(0.95) * scale)
        wanted = kstwobign.sf(math.sqrt(n * m / (n + m)) * row["ks"])
        assert row["ks_p"] == pytest.approx(wanted)


def test_a_table_without_rows_has_no_windows():
    table = sample(10).clear()
    assert rf.score_drift(table, "score", over="w", by="g").height == 0
    assert rf.score_drift(table, "score", over="w").height == 0


def test_distinct_scores_of_large_windows_are_counted_once():
    rng = np.random.default_rng(8)
    scores = rng.normal(size=400_000).round(3)
    table = pl.DataFrame({"w": np.arange(400_000) // 200_000, "score": scores})
    row = rf.score_drift(table, "score", over="w").row(1, named=True)
    before, after = scores[:200_000], scores[200_000:]
    assert row["wasserstein"] == pytest.approx(wasserstein_distance(after, before), abs=1e-12)
    assert row["ks"] == pytest.approx(ks_2samp(after, before, method="asymp").statistic, abs=1e-12)
