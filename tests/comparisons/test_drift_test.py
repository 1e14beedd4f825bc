from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf

MONDAY = date(2026, 1, 5)


def log(n_weeks=8, per_week=60, *, drop=0.0, seed=1, n_logs=1):
    """Predictions by week; `drop` is the difference of the mean scores from week to week."""
    rng = np.random.default_rng(seed)
    n = n_logs * n_weeks * per_week
    week = np.tile(np.repeat(np.arange(n_weeks), per_week), n_logs)
    label = rng.random(n) < 0.4
    return pl.DataFrame(
        {
            "log": np.repeat(np.arange(n_logs), n_weeks * per_week),
            "week": week,
            "label": label,
            "score": (3 * (rng.normal(size=n) + (1.5 - drop * week) * label)).round(),
        }
    ).with_columns(day=pl.lit(MONDAY) + pl.duration(weeks=pl.col("week")))


def placement_values(table):
    """Return the placement values of the positives and of the negatives."""
    pos, neg = (table.filter(pl.col("label") == label)["score"].to_numpy() for label in (1, 0))
    wins = (pos[:, None] > neg) + (pos[:, None] == neg) / 2
    return wins.mean(axis=1), wins.mean(axis=0)


def brute_force(table, over, time, level):
    """Return the columns of the tests by matrices, from the placement values of all rows."""
    windows = [
        placement_values(table.filter(pl.col(over) == one)) for one in np.unique(table[over])
    ]
    v, df_terms = 0, []
    for values in zip(*windows, strict=True):
        n = np.array([len(one) for one in values])
        pooled = sum(((one - one.mean()) ** 2).sum() for one in values) / (n - 1).sum()
        v = v + pooled / n
        df_terms.append((pooled * (1 / n).sum()) ** 2 / (n - 1).sum())
    df_denominator = v.sum() ** 2 / sum(df_terms)
    y = np.array([of_pos.mean() for of_pos, _ in windows])
    k, mean = len(y), np.average(y, weights=1 / v)
    q = sum((y - mean) ** 2 / v)
    tau = max(0, q - (k - 1)) / (sum(1 / v) - sum(1 / v**2) / sum(1 / v))
    x = np.column_stack([np.ones(k), time])

    def fit(w):
        inverse = np.linalg.inv(x.T @ w @ x)
        coefficients = inverse @ x.T @ w @ y
        residuals = y - x @ coefficients
        return inverse, coefficients, residuals @ w @ residuals

    w = np.diag(1 / v)
    inverse, _, residual = fit(w)
    trace = np.trace(w) - np.trace(inverse @ x.T @ w @ w @ x)
    w = np.diag(1 / (v + max(0, residual - (k - 2)) / trace))
    inverse, (_, slope), residual = fit(w)
    slope_se = np.sqrt(residual / (k - 2) * inverse[1, 1])
    low, high = stats.t.interval(level, k - 2, slope, slope_se)
    return {
        "homogeneity_p": stats.f.sf(q / (k - 1), k - 1, df_denominator),
        "trend_p": 2 * stats.t.sf(abs(slope / slope_se), k - 2),
        "slope": slope,
        "lower": low,
        "upper": high,
        "se": slope_se,
        "between_sd": tau**0.5,
        "cochran_q": q,
        "df": k - 1,
        "df_denominator": df_denominator,
        "mean_auc": mean,
        "n_windows": k,
    }


@pytest.mark.parametrize("drop", [0.0, 0.25])
def test_the_tests_are_those_of_a_slow_implementation(drop):
    table = log(per_week=120, drop=drop)
    for level, over, time in [(0.95, "week", np.arange(8)), (0.8, "day", 7 * np.arange(8))]:
        (row,) = rf.drift_test(table, "label", "score", over=over, level=level).rows(named=True)
        expected = brute_force(table, over, time, level)
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-9)
        assert row["homogeneity_p_adjusted"] == row["homogeneity_p"]
        assert row["n_pos"] == table["label"].sum()
    assert (row["trend_p"] < 0.05) == (drop > 0)


def test_the_homogeneity_of_two_windows_of_equal_sizes_is_a_t_test_of_the_difference():
    score = [9, 8, 4, 7, 5, 2, 1, 6, 3, 9, 7, 5, 3, 1, 0, 4]
    table = pl.DataFrame(
        {"week": [1] * 8 + [2] * 8, "label": [1, 1, 1, 1, 0, 0, 0, 0] * 2, "score": score}
    )
    (row,) = rf.drift_test(table, "label", "score", over="week").rows(named=True)
    (a, se_a), (b, se_b) = rf.auc(table, "label", "score", by="week").select("auc", "se").rows()
    t = (a - b) / (se_a**2 + se_b**2) ** 0.5
    assert row["homogeneity_p"] == pytest.approx(2 * stats.t.sf(abs(t), row["df_denominator"]))
    trend = ["trend_p", "slope", "lower", "upper", "se"]
    assert [row[name] for name in trend] == [None] * 5


def test_groups_are_tested_alone_and_their_p_values_adjusted_together():
    table = log(n_logs=3)
    both = rf.drift_test(table, "label", "score", over="week", by="log", adjust="bh")
    for i in range(3):
        alone = rf.drift_test(table.filter(log=i), "label", "score", over="week")
        omitted = ["homogeneity_p_adjusted", "trend_p_adjusted"]
        assert_frame_equal(both.filter(log=i).drop("log", *omitted), alone.drop(omitted))
    for name in ("homogeneity_p", "trend_p"):
        expected = stats.false_discovery_control(both[name].to_numpy())
        assert both[f"{name}_adjusted"].to_list() == pytest.approx(expected)


def test_windows_are_dates_times_or_names():
    table = log()
    expected = rf.drift_test(table, "label", "score", over="day")
    weeks = rf.windows(table, "day", every="1w")
    assert_frame_equal(rf.drift_test(weeks, "label", "score"), expected)
    start = datetime(2026, 1, 5, tzinfo=UTC)
    times = table.with_columns(day=pl.lit(start) + pl.duration(weeks=pl.col("week")))
    assert_frame_equal(rf.drift_test(times, "label", "score", over="day"), expected)
    names = rf.drift_test(table.cast({"day": pl.String}), "label", "score", over="day")
    assert names["homogeneity_p"].to_list() == expected["homogeneity_p"].to_list()
    trend = ["trend_p", "trend_p_adjusted", "slope", "lower", "upper", "se"]
    assert names.select(trend).row(0) == (None,) * 6
    assert names["n_windows"].to_list() == expected["n_windows"].to_list()


@pytest.mark.parametrize(
    "time",
    [
        pl.col("week"),
        pl.col("week") * 3_600_000_000_000 + 1_700_000_000_000_000_000,
        pl.datetime(2026, 1, 1, 1, 7) + pl.duration(seconds="week"),
    ],
)
def test_areas_that_are_on_a_line_have_a_homogeneity_but_no_trend(time):
    scores = [1, 3, 4, 2, 7, 5, 0, 6, 4, 3, 5, 2, 0, 7, 1, 6, 6, 2, 3, 7, 0, 4, 1, 5]
    table = pl.DataFrame(
        {"week": np.repeat([0, 1, 2], 8), "label": ([1] * 4 + [0] * 4) * 3, "score": scores}
    ).with_columns(time.alias("week"))
    areas = rf.auc(table, "label", "score", by="week")
    assert areas["auc"].to_list() == [0.25, 0.5, 0.75]
    tests = rf.drift_test(table, "label", "score", over="week")
    trend = ["trend_p", "trend_p_adjusted", "slope", "lower", "upper", "se"]
    assert tests.select(trend).row(0) == (None,) * 6
    homogeneity = ["homogeneity_p", "cochran_q", "df", "between_sd", "mean_auc", "n_windows"]
    expected = brute_force(
        table, "week", [0, 1, 2.5], 0.95
    )  # these columns do not depend on the times
    assert tests.select(homogeneity).row(0) == pytest.approx(
        [expected[name] for name in homogeneity]
    )


def test_the_trend_of_large_integers_is_that_of_their_differences():
    table = log(4)
    expected = rf.drift_test(table, "label", "score", over="week")
    late = table.with_columns(pl.col("week") + 2**62)
    assert_frame_equal(rf.drift_test(late, "label", "score", over="week"), expected)


def test_windows_with_an_area_of_0_or_1_are_used():
    table = log(n_weeks=4)
    perfect = pl.DataFrame(
        {
            "week": [7] * 4 + [8] * 4,
            "label": [True, True, False, False] * 2,
            "score": [2.0, 3, 0, 1, 0, 1, 2, 3],
        }
    )
    table = pl.concat([table.select(perfect.columns), perfect])
    assert rf.auc(table, "label", "score", by="week")["auc"].to_list()[-2:] == [1, 0]
    (row,) = rf.drift_test(table, "label", "score", over="week").rows(named=True)
    expected = brute_force(table, "week", [0, 1, 2, 3, 7, 8], 0.95)
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-9)
    assert (row["n_windows"], row["note"]) == (6, None)


def test_windows_of_equal_sizes_have_the_mean_area_of_fold_auc():
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "week": np.repeat(np.arange(6), 12),
            "label": np.tile([True] * 4 + [False] * 8, 6),
            "score": rng.normal(size=72) + np.tile([2.0] * 4 + [0.0] * 8, 6),
        }
    )
    folds = rf.fold_auc(table, "label", "score", over="week")
    tests = rf.drift_test(table, "label", "score", over="week")
    assert tests["mean_auc"].item() == pytest.approx(folds["mean_auc"].item())


@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_windows_that_all_have_the_variance_0_have_a_mean_but_no_tests(weight):
    table = pl.DataFrame(
        {
            "log": ["a"] * 12 + ["b"] * 12,
            "week": ([1] * 4 + [2] * 4 + [3] * 4) * 2,
            "label": [1, 1, 0, 0] * 6,
            "score": [2, 2, 1, 1] * 3 + [3] * 12,
            "weight": weight,
        }
    )
    options = {"over": "week", "by": "log", "weight": "weight"}
    tests = rf.drift_test(table, "label", "score", **options)
    counts = ["log", "mean_auc", "n_windows", "n_pos", "n_neg", "n_missing", "ci_level", "note"]
    assert tests.select(counts).rows() == [
        ("a", 1.0, 3, 6, 6, 0, 0.95, "zero_variance"),
        ("b", 0.5, 3, 6, 6, 0, 0.95, "zero_variance"),
    ]
    assert tests.drop(counts).null_count().sum_horizontal().item() == 2 * 12


def test_windows_without_a_variance_or_a_time_are_left_out():
    table = log(n_weeks=4)
    single = pl.DataFrame({"week": [8, 8, 9, None, None], "label": [1, 0, 1, 1, 0]})
    single = single.with_columns(score=pl.lit(1.0))
    columns = ["week", "label", "score"]
    rows = [part.select(columns).cast({"label": pl.Boolean}) for part in (table, single)]
    got = rf.drift_test(pl.concat(rows), "label", "score", over="week")
    counted = ["n_pos", "n_neg", "note"]
    expected = rf.drift_test(table, "label", "score", over="week")
    assert_frame_equal(got.drop(counted), expected.drop(counted))
    assert got["note"].to_list() == ["left_out:2 (8, 9)"]
    assert got["n_neg"].to_list() == [expected["n_neg"].item() + 2]
    none = rf.drift_test(table.clear(), "label", "score", over="week")
    assert none.select("n_windows", "n_pos", "mean_auc", "note").rows() == [(0, 0, None, "no_rows")]
    assert rf.drift_test(table.clear(), "label", "score", over="week", by="log").height == 0


def test_windows_that_overlap_can_be_filtered():
    table = rf.windows(log(), "day", every="1w", period="2w")
    apart = table.filter(pl.col("window") != MONDAY + timedelta(weeks=1)).filter(
        pl.col("window") < MONDAY + timedelta(weeks=3)
    )
    assert rf.drift_test(apart, "label", "score")["n_windows"].to_list() == [2]


@pytest.mark.slow
@pytest.mark.parametrize(("n_weeks", "per_week"), [(6, 60), (12, 150), (30, 60)])
def test_both_tests_reject_about_five_percent_of_logs_without_drift(n_weeks, per_week):
    table = log(n_weeks, per_week, n_logs=1500, seed=2)
    tests = rf.drift_test(table, "label", "score", over="week", by="log")
    assert 0.03 < (tests["homogeneity_p"] < 0.05).mean() < 0.075
    assert 0.035 < (tests["trend_p"] < 0.05).mean() < 0.065
    true = (tests["lower"] < 0) & (tests["upper"] > 0)
    assert 0.935 < true.mean() < 0.965


@pytest.mark.slow
def test_the_standard_deviation_between_windows_is_that_of_the_simulation():
    rng = np.random.default_rng(3)
    n_logs, n_weeks, per_week = 60, 20, 1500
    shift = np.repeat(rng.normal(1.2, 0.15, n_logs * n_weeks), per_week)
    label = rng.random(len(shift)) < 0.4
    week = np.tile(np.repeat(np.arange(n_weeks), per_week), n_logs)
    table = pl.DataFrame(
        {
            "log": np.repeat(np.arange(n_logs), n_weeks * per_week),
            "week": week,
            "label": label,
            "score": rng.normal(size=len(shift)) + shift * label,
        }
    )
    tests = rf.drift_test(table, "label", "score", over="week", by="log")
    # The AUC is normal.cdf(shift / sqrt(2)), with this derivative at the mean of the shifts.
    expected = 0.15 * stats.norm.pdf(1.2 / 2**0.5) / 2**0.5
    assert tests["between_sd"].mean() == pytest.approx(expected, rel=0.08)
    assert (tests["homogeneity_p"] < 0.05).mean() > 0.9
    # The weeks vary without a trend, so that the test of the trend keeps its level.
    assert (tests["trend_p"] < 0.05).mean() < 0.13


def persons(n_persons=80, n_windows=6, seed=1):
    """Rows of persons in random windows; rows of a person are dependent."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_persons), 5)
    label = (person % 3 == 0) ^ (rng.random(len(person)) < 0.2)
    score = label + rng.normal(size=n_persons)[person] + rng.normal(size=len(person))
    week = rng.integers(0, n_windows, len(person))
    return pl.DataFrame({"person": person, "week": week, "label": label, "score": score.round(1)})


def clustered_brute_force(table):
    """Return columns of the tests by matrices, from the placement values of all persons."""
    people = np.unique(table["person"])
    y, sums, sizes = [], [], []
    for week in np.unique(table["week"]):
        rows = table.filter(week=week)
        values = placement_values(rows)
        y.append(values[0].mean())
        owners = [rows.filter(label=label)["person"].to_numpy() for label in (True, False)]
        sums.append(
            [
                [(v - v.mean())[owner == one].sum() / len(v) for one in people]
                for owner, v in zip(owners, values, strict=True)
            ]
        )
        sizes.append([len(set(owner)) for owner in owners] + [rows["person"].n_unique()])
    y, sums, sizes = np.array(y), np.array(sums), np.array(sizes)
    (m, n, every), (pos, neg) = sizes.T, sums.transpose(1, 0, 2)
    factors = [np.sqrt(each / (each - 1))[:, None] for each in (m, n, every)]
    pos, neg, both_pos, both_neg = (
        a * b for a, b in zip([pos, neg, pos, neg], [*factors, factors[2]], strict=True)
    )
    raw = pos @ pos.T + neg @ neg.T + both_pos @ both_neg.T + both_neg @ both_pos.T
    parts, pooled, terms = [(pos**2).sum(1), (neg**2).sum(1)], 0, []
    distinct = [table.filter(label=label)["person"].n_unique() for label in (True, False)]
    for part, size, most in zip(parts, (m, n), distinct, strict=True):
        one = ((size - 1) * size * part).sum() / (size - 1).sum() / size
        terms.append(one.sum() ** 2 / min((size - 1).sum(), most - 1))
        pooled = pooled + one
    df_denominator = pooled.sum() ** 2 / sum(terms)
    pooled = pooled * ((m + n) * raw.diagonal()).sum() / ((m + n) * sum(parts)).sum()
    sd = np.sqrt(pooled / raw.diagonal())
    v = sd[:, None] * raw * sd
    k, t = len(y), np.arange(len(y))

    def projection(w, x):
        return w - w @ x @ np.linalg.inv(x.T @ w @ x) @ x.T @ w

    w, ones = np.diag(1 / pooled), np.ones((k, 1))
    p = projection(w, ones)
    expected = np.trace(p @ v)
    df = expected**2 / np.trace(p @ v @ p @ v)
    x = np.column_stack([np.ones(k), t])
    p_line = projection(w, x)
    tau = max(0, y @ p_line @ y - np.trace(p_line @ v)) / np.trace(p_line)
    w, total = np.diag(1 / (pooled + tau)), v + tau * np.eye(k)
    p_line = projection(w, x)
    coefficients = np.linalg.inv(x.T @ w @ x) @ x.T @ w
    scale = y @ p_line @ y / np.trace(p_line @ total)
    slope, se = (coefficients @ y)[1], (scale * coefficients @ total @ coefficients.T)[1, 1] ** 0.5
    df_line = np.trace(p_line @ total) ** 2 / np.trace(p_line @ total @ p_line @ total)
    q = y @ p @ y
    return {
        "homogeneity_p": stats.f.sf(q / expected, df, df_denominator),
        "trend_p": 2 * stats.t.sf(abs(slope / se), df_line),
        "slope": slope,
        "se": se,
        "between_sd": (max(0, q - expected) / np.trace(p)) ** 0.5,
        "cochran_q": q * df / expected,
        "df": df,
        "df_denominator": df_denominator,
        "mean_auc": np.average(y, weights=1 / pooled),
        "n_windows": k,
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_tests_of_clusters_are_those_of_a_slow_implementation(seed):
    table = persons(seed=seed)
    expected = clustered_brute_force(table)
    (row,) = rf.drift_test(table, "label", "score", over="week", cluster="person").rows(named=True)
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-9)
    other = persons(seed=9).with_columns(log=pl.lit(2))  # another group does not change the result
    both = pl.concat([other, table.with_columns(log=pl.lit(1))])
    options = {"over": "week", "cluster": "person", "by": "log", "adjust": None}
    (again,) = rf.drift_test(both, "label", "score", **options).filter(log=1).rows(named=True)
    assert {name: again[name] for name in expected} == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_clusters_of_one_row_give_the_tests_without_clusters(weight):
    table = log(n_logs=3).with_row_index("row").with_columns(weight=1 + pl.col("row") % 3)
    options = {"over": "week", "by": "log", "weight": weight}
    single = rf.drift_test(table, "label", "score", cluster="row", **options)
    every = rf.drift_test(table, "label", "score", **options)
    assert_frame_equal(single, every, rel_tol=1e-12, abs_tol=1e-14)


def test_clusters_within_windows_only_change_the_variance_of_each_window():
    table = persons().with_columns(week=pl.col("person") % 4)
    (row,) = rf.drift_test(table, "label", "score", over="week", cluster="person").rows(named=True)
    assert row["df"] == 3
    (rows,) = rf.drift_test(table, "label", "score", over="week").rows(named=True)
    assert row["df_denominator"] < rows["df_denominator"]
    left_out = table.with_columns(person=pl.when(pl.col("week") == 2).then(0).otherwise("person"))
    (row,) = rf.drift_test(left_out, "label", "score", over="week", cluster="person").rows(
        named=True
    )
    assert (row["n_windows"], row["note"]) == (3, "left_out:1 (2)")
