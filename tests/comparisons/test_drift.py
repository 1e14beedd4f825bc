from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf

MONDAY = date(2026, 1, 5)
TEST = ["difference", "difference_lower", "difference_upper", "p_value", "se", "statistic", "df"]


def log(n_days=28, per_day=12, seed=1):
    """Predictions of two segments; the model is worse in segment b from the third week on."""
    rng = np.random.default_rng(seed)
    n = n_days * per_day
    day = np.repeat(np.arange(n_days), per_day)
    segment = rng.choice(["a", "b"], n)
    label = rng.random(n) < 0.4
    shift = np.where((segment == "b") & (day >= 14), 0.2, 1.5)
    return pl.DataFrame(
        {
            "day": [MONDAY + timedelta(days=int(i)) for i in day],
            "segment": segment,
            "label": label,
            "score": (2 * (rng.normal(size=n) + shift * label)).round(),
        }
    )


LOG = log()


def brute_force(rows):
    """The AUC, and the two parts of DeLong's variance with class sizes, from all pairs."""
    x = rows.filter("label")["score"].to_list()
    y = rows.filter(~pl.col("label"))["score"].to_list()
    if not x or not y:
        return None, None
    wins = np.array([[(a > b) + (a == b) / 2 for b in y] for a in x])
    if len(x) < 2 or len(y) < 2:
        return wins.mean(), None
    means = wins.mean(1), wins.mean(0)
    return wins.mean(), [(np.var(values, ddof=1) / len(values), len(values)) for values in means]


def welch(window, reference, level):
    """Return the columns TEST for the results of `brute_force`, by scipy."""
    (auc, own), (auc_0, other) = window, reference
    difference = auc - auc_0
    if own is None or other is None:
        return [difference, *[None] * 6]
    variance = sum(v for v, _ in own + other)
    if variance == 0:
        return [difference, None, None, 1.0 if difference == 0 else None, None, None, None]
    df = variance**2 / sum(v**2 / (n - 1) for v, n in own + other)
    se = variance**0.5
    low, high = np.clip(stats.t.interval(level, df, difference, se), -1, 1)
    p = 2 * stats.t.sf(abs(difference / se), df)
    return [difference, low, high, p, se, difference / se, df]


def holm(p_values):
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    result, largest = [None] * len(p_values), 0.0
    for rank, (p, i) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        result[i] = largest
    return result


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 3)), max_size=40),
    st.sampled_from(["first", "previous", 2]),
)
def test_the_differences_are_those_of_a_slow_implementation(rows, reference):
    table = pl.DataFrame(
        rows, {"w": pl.Int64, "label": pl.Boolean, "score": pl.Int64}, orient="row"
    )
    if reference == 2 and rows and 2 not in table["w"]:
        return
    if not rows:
        return
    got = rf.drift(table, "label", "score", over="w", reference=reference, level=0.9)
    windows = sorted({row[0] for row in rows})
    results = {w: brute_force(table.filter(w=w)) for w in windows}
    usable = [w for w in windows if results[w][0] is not None]
    expected = []
    for w in windows:
        before = [one for one in usable if one < w]
        chosen = {
            "first": usable[0] if usable else None,
            "previous": before[-1] if before else None,
            2: 2,
        }[reference]
        tested = chosen is not None and chosen != w and results[w][0] is not None
        tested = tested and results[chosen][0] is not None
        row = welch(results[w], results[chosen], 0.9) if tested else [None] * 7
        expected.append([chosen, *row])
    assert got["w"].to_list() == windows
    assert got["reference"].to_list() == [row[0] for row in expected]
    for name, values in zip(TEST, zip(*(row[1:] for row in expected), strict=True), strict=True):
        if name == "statistic":  # 0 if the difference and the variance are 0
            continue
        found = got[name].to_list()
        assert [v is None for v in found] == [v is None for v in values], name
        assert found == [None if v is None else pytest.approx(v, abs=1e-12) for v in values], name
    adjusted = holm(got["p_value"].to_list())
    assert got["p_adjusted"].to_list() == [
        None if p is None else pytest.approx(p, abs=1e-14) for p in adjusted
    ]


def test_the_areas_are_those_of_auc_and_the_tests_those_of_compare():
    weeks = rf.windows(LOG, "day", every="1w")
    options = {"count": None, "level": 0.8}
    table = rf.drift(weeks, "label", "score", by="segment", adjust="bh", **options)
    keys = ["segment", "window", "window_end"]
    areas = rf.auc(weeks, "label", "score", by=keys, **options)
    shared = ["auc", "lower", "upper", "n_pos", "n_neg", "n_missing", "ci_level", "ci_method"]
    assert_frame_equal(table.select(*keys, *shared), areas.select(*keys, *shared))
    pairs = rf.compare(
        weeks,
        "label",
        "score",
        by="segment",
        between="window",
        baseline=MONDAY,
        method="delong_t_unpaired",
        adjust="bh",
        **options,
    )
    others = table.filter(pl.col("window") != MONDAY)
    assert others.height == 6
    for name, same, sign in [
        ("difference", "difference", -1),
        ("difference_lower", "upper", -1),
        ("difference_upper", "lower", -1),
        ("statistic", "statistic", -1),
        ("p_value", "p_value", 1),
        ("p_adjusted", "p_adjusted", 1),
        ("se", "se", 1),
        ("df", "df", 1),
        ("reference_auc", "auc_a", 1),
    ]:
        assert others[name].to_list() == pytest.approx((sign * pairs[same]).to_list(), rel=1e-12)
    assert table["reference"].unique().to_list() == [MONDAY]
    assert table.filter(window=MONDAY).select(pl.col(TEST).is_null().all()).row(0) == (True,) * 7


@pytest.mark.parametrize("margin", [0, 0.02, 0.3])
def test_with_a_margin_the_test_is_whether_a_window_is_worse_by_more_than_the_margin(margin):
    weeks = rf.windows(LOG, "day", every="1w")
    table = rf.drift(weeks, "label", "score", by="segment", margin=margin)
    plain = rf.drift(weeks, "label", "score", by="segment")
    tested = ["p_adjusted", "p_value", "statistic"]
    assert_frame_equal(table.drop(tested), plain.drop(tested))
    for segment in ("a", "b"):
        rows = table.filter(segment=segment).drop_nulls("df")
        assert rows.height == 3
        parts = [brute_force(weeks.filter(window=w, segment=segment)) for w in rows["window"]]
        first = brute_force(weeks.filter(window=MONDAY, segment=segment))
        expected = []
        for window in parts:
            difference, _, _, _, se, _, df = welch(window, first, 0.95)
            expected.append(stats.t.cdf((difference + margin) / se, df))
        assert rows["p_value"].to_list() == pytest.approx(expected)
        assert rows["p_adjusted"].to_list() == pytest.approx(holm(expected))
        assert (rows["statistic"] * rows["se"]).to_list() == pytest.approx(
            (rows["difference"] + margin).to_list()
        )


@pytest.mark.parametrize(("margin", "p"), [(0.1, 1.0), (0, 0.5)])
def test_windows_that_separate_the_classes_are_not_worse(margin, p):
    rows = pl.DataFrame({"w": [1, 2] * 6, "label": [0, 0, 1, 1] * 3, "score": [0, 0, 1, 1] * 3})
    table = rf.drift(rows, "label", "score", over="w", margin=margin)
    assert table["auc"].to_list() == [1, 1]
    assert table["p_value"].to_list() == [None, p]


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 100])
def test_a_window_that_is_worse_by_the_margin_is_rarely_said_to_be_worse_by_more(n):
    """At the boundary of the hypothesis, the test rejects in about 5 % of 4,000 logs."""
    rng, n_logs = np.random.default_rng(8), 4000
    label = np.tile(np.arange(2 * n) % 2, 2)
    window = np.repeat([0, 1], 2 * n)
    areas = np.array([0.85, 0.8])
    shift = 2**0.5 * stats.norm.ppf(areas)
    score = rng.normal(size=(n_logs, 4 * n)) + shift[window] * label
    logs = pl.DataFrame(
        {
            "log": np.repeat(np.arange(n_logs), 4 * n),
            "w": np.tile(window, n_logs),
            "label": np.tile(label, n_logs),
            "score": score.ravel(),
        }
    )
    table = rf.drift(logs, "label", "score", over="w", by="log", margin=0.05).filter(w=1)
    assert 0.035 < (table["p_value"] < 0.05).mean() < 0.065


def test_a_segment_that_drifts_is_found_since_the_week_of_the_change():
    many = log(per_day=150, seed=3)
    table = rf.drift(rf.windows(many, "day", every="1w"), "label", "score", by="segment")
    significant = table.filter(pl.col("p_adjusted") < 0.05).select("segment", "window")
    weeks = [MONDAY + timedelta(weeks=k) for k in (2, 3)]
    assert significant.rows() == [("b", week) for week in weeks]


def test_each_model_has_the_windows_of_a_table_of_its_own():
    weeks = rf.windows(LOG, "day", every="1w")
    expected = rf.drift(weeks, "label", "score", by="segment")
    models = rf.drift(weeks, "label", {"x": "score", "y": -pl.col("score")}, by="segment")
    assert models.columns[:4] == ["segment", "window", "window_end", "model"]
    assert_frame_equal(models.filter(model="x").drop("model"), expected)
    y = models.filter(model="y")
    assert y["difference"].to_list() == pytest.approx(
        (-expected["difference"]).to_list(), abs=1e-12
    )


def test_the_adjustment_is_over_each_group_or_over_all_rows():
    weeks = rf.windows(LOG, "day", every="1w")
    plain = rf.drift(weeks, "label", "score", by="segment", adjust=None)
    assert plain["p_adjusted"].to_list() == plain["p_value"].to_list()
    assert rf.drift(weeks, "label", "score", by="segment", family="all")[
        "p_adjusted"
    ].to_list() == pytest.approx(holm(plain["p_value"].to_list()))


def test_the_reference_is_a_table_of_other_predictions():
    before, after = LOG.filter(pl.col("day") < MONDAY + timedelta(weeks=2)), "2 weeks before"
    live = rf.windows(LOG.join(before, on="day", how="anti"), "day", every="1w")
    names = ["segment", "window", "window_end"]
    one_key = pl.concat(
        [
            live.with_columns(pl.col("window").cast(pl.String)),
            before.with_columns(window=pl.lit(after)),
        ],
        how="diagonal",
    ).drop("window_end")
    expected = rf.drift(one_key, "label", "score", by="segment", reference=after)
    remaining = expected.filter(pl.col("window") != after)
    # The numbers of tests are equal, because the reference is not compared with itself.
    for reference in (
        before,
        before.lazy(),
        before.to_arrow(),
        before.drop("day").with_columns(extra=1),
    ):
        got = rf.drift(live, "label", "score", by="segment", reference=reference)
        assert got.columns[:3] == names
        assert_frame_equal(
            got.drop(names, "reference"), remaining.drop("segment", "window", "reference")
        )
        assert got.schema["reference"] == pl.Date
        assert got["reference"].null_count() == got.height == 4
    lazy = rf.drift(live.lazy(), "label", "score", by="segment", reference=before)
    one = lazy.filter(pl.col("segment") == "b").collect()
    assert_frame_equal(one, got.filter(pl.col("segment") == "b"))
    only_a = before.filter(segment="a")
    partly = rf.drift(live, "label", "score", by="segment", reference=only_a)
    assert_frame_equal(partly.filter(segment="a"), got.filter(segment="a"))
    assert partly.filter(segment="b")["difference"].null_count() == 2
    no_group = rf.drift(live.filter(segment="a"), "label", "score", by="segment", reference=before)
    assert_frame_equal(no_group, got.filter(segment="a"))


def test_group_columns_by_expression_are_computed_in_a_reference_table_too():
    key = pl.col("segment").str.to_uppercase()
    before = LOG.filter(pl.col("day") < MONDAY + timedelta(weeks=2))
    live = rf.windows(LOG.join(before, on="day", how="anti"), "day", every="1w")
    computed = [frame.with_columns(key) for frame in (live, before)]
    expected = rf.drift(computed[0], "label", "score", by="segment", reference=computed[1])
    for reference in (before, before.lazy(), before.to_arrow()):
        got = rf.drift(live, "label", "score", by=key, reference=reference)
        assert_frame_equal(got, expected)


def test_a_reference_table_can_have_other_columns_and_other_types():
    before = LOG.filter(pl.col("day") < MONDAY + timedelta(weeks=2))
    positive = pl.col("label") == 1
    expected = rf.drift(LOG, "label", "score", over="day", reference=before)
    for label, reference in (
        (positive, before.with_columns(segment=pl.lit(1), day=pl.lit("x"), more=pl.lit(2))),
        (positive.alias("label"), before.cast({"label": pl.Int8, "score": pl.Int32})),
    ):
        table = rf.drift(LOG, label, "score", over="day", reference=reference)
        assert_frame_equal(table, expected)
    models = rf.drift(LOG, "label", cs.numeric(), over="day", reference=before.with_columns(x=1))
    assert_frame_equal(models.drop("model"), expected)


@pytest.mark.parametrize("reference", ["first", "previous", MONDAY + timedelta(weeks=1)])
def test_windows_that_overlap_are_not_tested_against_each_other(reference):
    rolling = rf.windows(LOG, "day", every="1w", period="2w")
    table = rf.drift(rolling, "label", "score", reference=reference)
    starts = table["window"].to_list()
    assert [b - a for a, b in pairwise(starts)] == [timedelta(weeks=1)] * 3
    chosen = {"first": [0, 0, 0, 0], "previous": [None, None, 0, 1]}.get(reference, [1, 1, 1, 1])
    assert table["reference"].to_list() == [None if i is None else starts[i] for i in chosen]
    tested = [i is not None and abs(k - i) >= 2 for k, i in enumerate(chosen)]
    assert table["p_value"].is_not_null().to_list() == tested
    shared = [i is not None and abs(k - i) == 1 for k, i in enumerate(chosen)]
    assert (table["note"] == "shared_rows").fill_null(value=False).to_list() == shared
    has_difference = [i is not None and k != i for k, i in enumerate(chosen)]
    assert table["difference"].is_not_null().to_list() == has_difference


def test_windows_without_an_area_or_a_time_are_not_the_reference():
    table = pl.DataFrame(
        {
            "t": [None, None, None, None, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3],
            "label": [1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0],
            "score": [1, 2, 3, 0, 1, 2, 1, 2, 3, 4, 4, 3, 2, 1],
        }
    )
    first = rf.drift(table, "label", "score", over="t")
    assert first["t"].to_list() == [None, 1, 2, 3]
    assert first["reference"].to_list() == [2, 2, 2, 2]
    assert first["difference"].to_list() == [0.5, None, None, 0.5]
    assert first["note"].to_list() == ["few_rows:2", "no_negatives", None, "few_rows:2"]
    previous = rf.drift(table, "label", "score", over="t", reference="previous")
    assert previous["reference"].to_list() == [None, None, None, 2]


def test_a_group_without_the_reference_window_has_no_differences():
    table = pl.DataFrame({"g": [1] * 4 + [2] * 4, "t": ["x"] * 4 + ["y"] * 4})
    table = table.with_columns(label=pl.Series([1, 0] * 4), score=pl.Series([2, 1] * 4))
    got = rf.drift(table, "label", "score", over="t", by="g", reference="x")
    assert got["reference"].to_list() == ["x", None]
    assert got["reference_auc"].to_list() == [1.0, None]
    assert got["difference"].to_list() == [None, None]
    empty = rf.drift(table.clear(), "label", "score", over="t", by="g", reference="z")
    assert empty.height == 0
    assert empty.schema == got.schema


def test_windows_and_references_of_different_resolutions_raise_an_error():
    fine, coarse, other = (
        rf.compress(part, "label", "score", by=["day", "segment"], resolution=resolution)
        for part, resolution in (
            (LOG.filter(pl.col("day") < MONDAY + timedelta(days=14)), 0.5),
            (LOG.filter(pl.col("day") >= MONDAY + timedelta(days=14)), 4),
            (LOG, 0.5),
        )
    )
    message = (
        "score_width: the compared rows{} have scores that were rounded to different resolutions. "
        "This difference alone can change the results.\n"
        "Widths in column 'score_width': {}.\nRound the scores of all compared rows to the "
        "largest width: "
        'compress(…, resolution={}, count="count").'
    )
    mixed = pl.concat([fine, coarse])
    raw = LOG.with_columns(count=1)
    by, a = {"by": "segment"}, " of group segment='a'"
    by_segment = pl.concat([fine.filter(segment="a"), coarse.filter(segment="b")])
    for table, options, expected in (
        (mixed, {}, ("", "0.5, 4.0", 4.0)),
        (mixed.lazy(), by, (a, "0.5, 4.0", 4.0)),
        (fine, by | {"reference": coarse}, (a, "0.5, 4.0", 4.0)),
        (fine, by | {"reference": raw}, (a, "0.0, 0.5", 0.5)),
        (raw, {"reference": fine}, ("", "0.0, 0.5", 0.5)),
    ):
        for function in (rf.drift, rf.drift_test):
            if function is rf.drift_test and "reference" in options:
                continue
            with pytest.raises(rf.ScoreError) as error:
                function(
                    table, "label", "score", over="day", count="count", **options
                ).lazy().collect()
            assert str(error.value) == message.format(*expected)
    same = rf.compress(
        mixed, "label", "score", by=["day", "segment"], count="count", resolution=4.0
    )
    for table, options in ((same, {}), (by_segment, by), (fine, {"reference": other})):
        rf.drift(table, "label", "score", over="day", count="count", **options)


@pytest.mark.slow
def test_the_probability_that_an_unchanged_group_has_a_significant_window():
    """In 1,500 logs without drift, the share of logs with a significant window is near 5 %."""
    rng, n_logs, n_windows = np.random.default_rng(5), 1500, 6
    n = n_windows * 150
    label = np.tile(rng.permutation(np.arange(150) < 40), n_windows)
    score = rng.normal(size=(n_logs, n)) + label
    logs = pl.DataFrame(
        {
            "log": np.repeat(np.arange(n_logs), n),
            "t": np.tile(np.repeat(np.arange(n_windows), 150), n_logs),
            "label": np.tile(label, n_logs),
            "score": score.ravel(),
        }
    )
    table = rf.drift(logs, "label", "score", over="t", by="log")
    single = (table["p_value"] < 0.05).mean()
    any_window = (table.group_by("log").agg(pl.col("p_adjusted").min())["p_adjusted"] < 0.05).mean()
    assert 0.04 < single < 0.06
    assert 0.025 < any_window < 0.06


def test_the_test_is_conservative_if_two_windows_share_rows():
    # 400 groups; each of two windows has 40 rows, and 20 of these rows are in both windows.
    rng = np.random.default_rng(1)
    row = np.tile(np.arange(60), 400)
    label = rng.random(len(row)) < 0.4
    rows = pl.DataFrame(
        {
            "group": np.repeat(np.arange(400), 60),
            "row": row,
            "label": label,
            "score": rng.normal(size=len(row)) + label,
        }
    )
    windows = pl.concat(
        [
            rows.filter(pl.col("row") < 40).with_columns(window=pl.lit(1)),
            rows.filter(pl.col("row") >= 20).with_columns(window=pl.lit(2)),
        ]
    )
    tests = rf.drift(windows, "label", "score", by="group", adjust=None)
    assert (tests["p_value"].drop_nulls() < 0.05).mean() < 0.02


def persons(n_persons=60, n_windows=4, seed=1, *, decimals=1):
    """Five rows of each person in random windows; rows of a person are dependent."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_persons), 5)
    label = (person % 3 == 0) ^ (rng.random(len(person)) < 0.2)
    score = label + rng.normal(size=n_persons)[person] + rng.normal(size=len(person))
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in person],
            "w": rng.integers(0, n_windows, len(person)),
            "label": label,
            "score": score.round(decimals),
        }
    )


def influences(rows):
    """The centered placement values of the persons, with the numbers of Obuchowski's method."""
    pos, neg = rows.filter("label"), rows.filter(~pl.col("label"))
    x, y = pos["score"].to_numpy(), neg["score"].to_numpy()
    wins = (x[:, None] > y) + (x[:, None] == y) / 2
    of_pos, of_neg = {}, {}
    for sums, owner, values in [(of_pos, pos, wins.mean(1)), (of_neg, neg, wins.mean(0))]:
        for person, value in zip(owner["person"], values, strict=True):
            sums[person] = sums.get(person, 0) + (value - wins.mean()) / len(values)
    return wins.mean(), of_pos, of_neg, len({*of_pos, *of_neg})


def covariance(a, b):
    """Obuchowski's covariance of two areas, with the factor √(I/(I - 1)) for each window."""
    (_, pos_a, neg_a, n_a), (_, pos_b, neg_b, n_b) = a, b
    total = 0
    for left, right in [(pos_a, pos_b), (neg_a, neg_b)]:
        factor = np.sqrt(len(left) / (len(left) - 1) * len(right) / (len(right) - 1))
        total += factor * sum(left[one] * right.get(one, 0) for one in left)
    factor = np.sqrt(n_a / (n_a - 1) * n_b / (n_b - 1))
    for left, right in [(pos_a, neg_b), (neg_a, pos_b)]:
        total += factor * sum(left[one] * right.get(one, 0) for one in left)
    return total


@pytest.mark.parametrize("reference", ["first", "previous", 2])
def test_the_test_of_clusters_is_that_of_a_slow_implementation(reference):
    table = persons()
    found = rf.drift(table, "label", "score", over="w", cluster="person", reference=reference)
    areas = {w: influences(table.filter(w=w)) for w in range(4)}
    for row in found.filter(pl.col("difference").is_not_null()).rows(named=True):
        a, b = areas[row["w"]], areas[row["reference"]]
        variance = covariance(a, a) + covariance(b, b) - 2 * covariance(a, b)
        parts = [
            (len(one) / (len(one) - 1) * sum(v**2 for v in one.values()), len(one))
            for one in (*a[1:3], *b[1:3])
        ]
        df = variance**2 / sum(v**2 / (n - 1) for v, n in parts)
        n = len({*a[1], *a[2], *b[1], *b[2]})
        df = min(max(df, min(n for _, n in parts) - 1), n - 1)
        assert row["difference"] == pytest.approx(a[0] - b[0], abs=1e-12)
        assert row["se"] == pytest.approx(variance**0.5, rel=1e-9)
        assert row["df"] == pytest.approx(df, rel=1e-9)
        expected = 2 * stats.t.sf(abs(row["difference"] / row["se"]), df)
        assert row["p_value"] == pytest.approx(expected, rel=1e-9)
    assert found["difference"].null_count() == 1
    each = rf.auc(table, "label", "score", by="w", cluster="person")
    shared = ["auc", "lower", "upper", "n_pos", "n_neg", "ci_method"]
    assert_frame_equal(found.select("w", *shared), each.select("w", *shared))


@pytest.mark.parametrize("weight", [None, "weight"])
def test_clusters_of_one_row_give_the_test_without_clusters(weight):
    table = LOG.with_row_index("row").with_columns(weight=1 + pl.col("row") % 3)
    weeks = rf.windows(table, "day", every="1w")
    options = {"by": "segment", "weight": weight}
    columns = ["auc", *TEST, "p_adjusted", "test", "note"]
    single = rf.drift(weeks, "label", "score", cluster="row", **options).select(columns)
    every = rf.drift(weeks, "label", "score", **options).select(columns)
    assert_frame_equal(single, every, rel_tol=1e-12, abs_tol=1e-14)


def test_a_reference_table_can_have_the_clusters_of_the_windows():
    table = persons()
    windows, reference = table.filter(pl.col("w") > 0), table.filter(w=0).drop("w")
    options = {"cluster": "person", "over": "w"}
    found = rf.drift(windows, "label", "score", reference=reference, **options)
    expected = rf.drift(table, "label", "score", reference=0, **options).filter(pl.col("w") > 0)
    assert_frame_equal(found.drop("reference"), expected.drop("reference"))


def test_windows_of_the_same_rows_of_the_same_persons_do_not_differ():
    table = persons().drop("w")
    twice = pl.concat([table.with_columns(w=pl.lit(w)) for w in (1, 2)])
    row = rf.drift(twice, "label", "score", over="w", cluster="person").row(1, named=True)
    assert (row["difference"], row["p_value"], row["se"], row["note"]) == (0, 1, None, None)


def test_a_class_in_one_cluster_is_named_in_the_note():
    table = persons().with_columns(
        person=pl.when(pl.col("label") & (pl.col("w") == 0)).then(pl.lit("p0")).otherwise("person")
    )
    found = rf.drift(table, "label", "score", over="w", cluster="person", reference=0)
    assert found["note"].to_list() == [
        "one_positive_cluster",
        *["reference:one_positive_cluster"] * 3,
    ]


@pytest.mark.parametrize("in_two_windows", [False, True])
def test_rows_of_the_same_persons_do_not_cause_false_alarms(in_two_windows):
    rng = np.random.default_rng(5)
    n_logs, n_persons = 1000, 60
    shape = (n_logs, n_persons, 5)
    person = np.arange(n_persons)[:, None]
    label = person % 6 < 2
    row = np.arange(5)
    score = label + rng.normal(size=(n_logs, n_persons, 1)) + rng.normal(size=shape)
    columns = {
        "log": np.arange(n_logs)[:, None, None],
        "person": person,
        "w": (person + row) % 2 if in_two_windows else person % 2 + 0 * row,
        "label": label,
        "score": score,
    }
    table = pl.DataFrame({k: np.broadcast_to(v, shape).ravel() for k, v in columns.items()})
    share = {}
    for cluster in (None, "person"):
        options = {"over": "w", "by": "log", "cluster": cluster}
        differences = rf.drift(table, "label", "score", adjust=None, **options)
        tests = rf.drift_test(table, "label", "score", adjust=None, **options)
        p_values = (differences.filter(w=1)["p_value"], tests["homogeneity_p"])
        share[cluster] = [(each < 0.05).mean() for each in p_values]
    assert all(0.03 < each < 0.07 for each in share["person"])
    rejected = [each < 0.02 if in_two_windows else each > 0.2 for each in share[None]]
    assert rejected == [True, True]


@pytest.mark.parametrize("family", ["group", "all"])
@pytest.mark.parametrize("reference", ["first", "previous"])
def test_windows_with_few_rows_do_not_change_the_results_of_others(reference, family):
    options = {"by": "segment", "over": "day", "reference": reference, "family": family}
    result = rf.drift(LOG, "label", "score", min_rows=2, **options)
    plain = rf.drift(LOG, "label", "score", **options)
    is_large = pl.min_horizontal("n_pos", "n_neg") >= 2
    large, small = plain.filter(is_large), plain.filter(~is_large)
    assert min(large.height, small.height) > 10
    rows = LOG.join(large, on=["segment", "day"], how="semi")
    assert_frame_equal(result.filter(is_large), rf.drift(rows, "label", "score", **options))
    ignored = result.filter(~is_large)
    assert set(ignored["note"]) == {"below_min_rows"}
    assert ignored["p_value"].null_count() == ignored["p_adjusted"].null_count() == small.height
    assert_frame_equal(ignored.select("day", "auc"), small.select("day", "auc"))


def test_windows_are_not_tested_against_a_reference_with_few_rows():
    weeks = LOG.filter(segment="a").with_columns(pl.col("day").dt.truncate("1w"))
    reference = weeks.filter(day=MONDAY)[:10]
    n = min(reference["label"].sum(), (~reference["label"]).sum())
    others = weeks.filter(pl.col("day") > MONDAY)
    days = others.unique("day", maintain_order=True)["day"]
    by_value = {"reference": MONDAY, "over": "day"}
    for rows, options, first in (
        (others, {"reference": reference, "over": "day"}, []),
        (pl.concat([reference, others]), by_value, ["below_min_rows"]),
    ):
        result = rf.drift(rows, "label", "score", min_rows=n, **options)
        assert result.filter(pl.col("day").is_in(days))["p_value"].null_count() == 0
        result = rf.drift(rows, "label", "score", min_rows=n + 1, **options)
        assert result["note"].to_list() == [*first, *["reference:below_min_rows"] * 3]
        assert result["p_value"].null_count() == result.height
        assert result["difference"].null_count() == len(first)
