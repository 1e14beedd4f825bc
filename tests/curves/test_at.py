"""`at`: the operating points of small curves, by hand and by definition."""

from __future__ import annotations

import inspect
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.rates import NAMES, RATES
from tests import oracles
from tests.all_cases import all_cases
from tests.strategies import ANY_WEIGHTS, EDGES, PLAIN, TIED, shuffled, tables

INF = math.inf
COLUMNS = ["threshold", "tp", "fp", "fn", "tn"]
RATE_AXES = ["fpr", "tpr", "alert_rate"]

# Two positives on top, a tie across the classes at 0.5, then negatives: fpr 0, 1/4, 1/2, 1.
PREDICTIONS = {"label": [1, 1, 1, 0, 0, 0, 0], "score": [0.9, 0.8, 0.5, 0.5, 0.3, 0.1, 0.1]}

values = st.sampled_from([0.0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 1.0]) | st.floats(0, 1)


def curve(**more: object) -> pl.DataFrame:
    return rf.curve(pl.DataFrame(PREDICTIONS), "label", "score", **more)


def point(axis: str, value: float, row: tuple | None, rates: dict[str, float | None]) -> dict:
    names = row or (None,) * 5
    return {"at": axis, "at_value": value, **dict(zip(COLUMNS, names, strict=True)), **rates}


def test_at_a_threshold_is_the_row_of_the_smallest_threshold_not_below_it(frame):
    actual = frame(curve()).pipe(rf.at, threshold=[0.95, 0.9, 0.85, 0.5, 0.2, 0.1])
    expected = frame(
        {
            "at": ["threshold"] * 6,
            "at_value": [0.95, 0.9, 0.85, 0.5, 0.2, 0.1],
            "threshold": [INF, 0.9, 0.9, 0.5, 0.3, 0.1],
            "tp": [0, 1, 1, 3, 3, 3],
            "fp": [0, 0, 0, 1, 2, 4],
            "fn": [3, 2, 2, 0, 0, 0],
            "tn": [4, 4, 4, 3, 2, 0],
            "fpr": [0.0, 0.0, 0.0, 0.25, 0.5, 1.0],
            "tpr": [0.0, 1 / 3, 1 / 3, 1.0, 1.0, 1.0],
        }
    )
    assert_frame_equal(actual, expected, check_exact=True)


def test_a_threshold_below_all_scores_is_the_last_row():
    assert rf.at(curve(), threshold=-INF).row(0)[2:7] == (0.1, 3, 4, 0, 0)
    assert rf.at(curve(), threshold=0.05).row(0)[2:7] == (0.1, 3, 4, 0, 0)


def test_infinite_scores_are_positive_at_an_infinite_threshold():
    table = pl.DataFrame({"label": [1, 0], "score": [INF, 0.0]})
    curves = rf.curve(table, "label", "score")
    assert rf.at(curves, threshold=INF).row(0)[2:7] == (INF, 1, 0, 0, 1)
    assert rf.at(curve(), threshold=INF).row(0)[2:7] == (INF, 0, 0, 3, 4)


def test_at_a_false_positive_rate_is_the_lowest_threshold_that_does_not_exceed_it(frame):
    actual = frame(curve()).pipe(rf.at, fpr=[0, 0.25, 0.3, 1])
    expected = frame(
        {
            "at": ["fpr"] * 4,
            "at_value": [0.0, 0.25, 0.3, 1.0],
            "threshold": [0.8, 0.5, 0.5, 0.1],
            "tp": [2, 3, 3, 3],
            "fp": [0, 1, 1, 4],
            "fn": [1, 0, 0, 0],
            "tn": [4, 3, 3, 0],
            "fpr": [0.0, 0.25, 0.25, 1.0],
            "tpr": [2 / 3, 1.0, 1.0, 1.0],
        }
    )
    assert_frame_equal(actual, expected, check_exact=True)


def test_at_a_true_positive_rate_is_the_highest_threshold_that_reaches_it():
    actual = rf.at(curve(), tpr=[0, 1 / 3, 0.34, 1]).select(COLUMNS)
    expected = [(INF, 0, 0, 3, 4), (0.9, 1, 0, 2, 4), (0.8, 2, 0, 1, 4), (0.5, 3, 1, 0, 3)]
    assert actual.rows() == expected


def test_at_an_alert_rate_at_most_this_share_of_rows_is_positive():
    actual = rf.at(curve(), alert_rate=[0, 2 / 7, 0.5, 4 / 7, 1]).select(COLUMNS)
    expected = [
        (INF, 0, 0, 3, 4),
        (0.8, 2, 0, 1, 4),
        (0.8, 2, 0, 1, 4),
        (0.5, 3, 1, 0, 3),
        (0.1, 3, 4, 0, 0),
    ]
    assert actual.rows() == expected


def test_at_a_number_of_alerts_at_most_this_number_of_rows_is_positive(frame):
    actual = rf.at(frame(curve()), alerts=[0, 2, 3.5, 4, 7, 1e9]).select("at", *COLUMNS)
    shares = rf.at(frame(curve()), alert_rate=[0, 2 / 7, 0.5, 4 / 7, 1, 1]).select(*COLUMNS)
    assert_frame_equal(actual.drop("at"), shares, check_exact=True)
    assert set(actual.lazy().collect()["at"]) == {"alerts"}
    between = rf.at(curve(), alerts=[2, 3], interpolate=True)
    assert between.select("tp", "fp", "mix").rows() == [(2.0, 0.0, 0.0), (2.5, 0.5, 0.5)]


def test_a_number_of_alerts_is_a_sum_of_weights_and_no_share():
    weights = [3.0, 1.0, 2.0, 5.0, 1.0, 0.5, 0.25]
    weighted = curve_of_weights(weights)
    found = rf.at(weighted, alerts=[2.9, 3.0, 10.9, 11.0, 12.75]).get_column("threshold")
    assert found.to_list() == [INF, 0.9, 0.8, 0.5, 0.1]
    for alerts in (0.0, 3.5, 11.0, 12.25):
        limit = {"subject_to": {"alerts": (None, alerts)}, "minimize": False}
        best = rf.operating_point(weighted, "alerts", **limit).get_column("threshold").item()
        assert rf.at(weighted, alerts=alerts).get_column("threshold").item() == best
    with pytest.raises(rf.OptionValueError, match="are shares of all cases, which sum to 1"):
        rf.at(curve_of_weights([each / 12.75 for each in weights]), alerts=3)


def curve_of_weights(weights: list[float]) -> pl.DataFrame:
    return rf.curve(pl.DataFrame({**PREDICTIONS, "w": weights}), "label", "score", weight="w")


ALIASES = {name: rate.name for name, rate in NAMES.items() if name != rate.name}
COMPLEMENTS = {"tnr": "fpr", "fnr": "tpr", "rnp": "alert_rate"}


@pytest.mark.slow
@given(
    table=tables(missing=True),
    eighths=st.lists(st.integers(0, 8), min_size=1, max_size=3),
    interpolate=st.booleans(),
)
def test_rows_at_a_complement_of_a_rate_are_those_at_the_rate(table, eighths, interpolate):
    curves = rf.curve(table, "label", "score", by="group", missing="worst", metrics=["tnr", "fnr"])
    for name, rate in COMPLEMENTS.items():
        points = rf.at(curves, **{name: [n / 8 for n in eighths]}, interpolate=interpolate)
        expected = rf.at(curves, **{rate: [1 - n / 8 for n in eighths]}, interpolate=interpolate)
        assert points.select("at", "at_value").rows() == [(name, n / 8) for n in eighths] * (
            curves.get_column("group").n_unique()
        )
        assert_frame_equal(
            points.drop("at", "at_value"), expected.drop("at", "at_value"), abs_tol=1e-13, rel_tol=0
        )


def test_other_names_of_rates_return_the_same_rows(frame):
    curves = frame(curve())
    arguments = inspect.signature(rf.at).parameters
    names = {name: rate for name, rate in ALIASES.items() if rate in arguments}
    assert names.items() >= {"recall": "tpr", "specificity": "tnr", "miss_rate": "fnr"}.items()
    with all_cases() as case:
        for name, rate in names.items():
            for interpolate in (False, True):
                with case(name, interpolate):
                    points = rf.at(curves, **{name: [0.2, 0.5]}, interpolate=interpolate)
                    expected = rf.at(curves, **{rate: [0.2, 0.5]}, interpolate=interpolate)
                    assert_frame_equal(
                        points, expected.with_columns(at=pl.lit(name)), check_exact=True
                    )
                    assert_frame_equal(
                        points, curves.roc.at(**{name: [0.2, 0.5]}, interpolate=interpolate)
                    )


def test_metrics_without_one_row_per_value_point_to_constraints():
    arguments = inspect.signature(rf.at).parameters
    with all_cases() as case:
        for name in NAMES:
            if name in arguments or name == "prevalence":
                continue
            with case(name):
                with pytest.raises(rf.ArgumentError) as caught:
                    rf.at(curve(), **{name: 0.5})
                assert 'operating_point("tpr", subject_to=' in str(caught.value)


@pytest.mark.parametrize(
    ("axis", "inside", "beyond", "end"),
    [
        ("fpr", [0.0, 0.25, 0.5], 0.6, 0.5),
        ("tpr", [0.5, 1.0], None, 1.0),
        ("alert_rate", [0.4, 5 / 7], 0.75, 5 / 7),
        ("threshold", [INF, 0.5, 0.3], 0.2, 0.3),
        ("tnr", [1.0, 0.5], 0.4, 0.5),
        ("specificity", [1.0, 0.5], 0.4, 0.5),
        ("fnr", [0.5, 0.0], None, 0.0),
        ("rnp", [0.6, 2 / 7], 0.25, 2 / 7),
    ],
)
@pytest.mark.parametrize("interpolate", [False, True])
def test_values_beyond_the_end_of_a_cut_curve_are_refused(axis, inside, beyond, end, interpolate):
    if interpolate and axis == "threshold":
        return
    cut = curve().filter(pl.col("threshold") > 0.1)
    given = curve(thresholds=[0.9, 0.8, 0.5, 0.3])
    for table in (cut, given):
        for value in inside:
            expected = rf.at(curve(), **{axis: value}, interpolate=interpolate)
            found = rf.at(table, **{axis: value}, interpolate=interpolate)
            counts = ["at", "at_value", "tp", "fp", "tpr"]
            assert_frame_equal(found.select(counts), expected.select(counts))
        if beyond is not None:
            with pytest.raises(rf.BrokenCurveError) as error:
                rf.at(table, **{axis: [inside[0], beyond]}, interpolate=interpolate)
            assert str(error.value) == (
                "curves: the curve lacks the points of its lowest scores: its last point is at "
                f"{axis}={end:.6g}, so its row at {axis}={beyond:.6g} is unknown.\n"
                "Compute the curve without thresholds=, and do not filter its rows."
            )


def test_a_true_positive_rate_beyond_the_end_of_a_cut_curve_is_refused(frame):
    cut = frame(rf.curve(pl.DataFrame({**PREDICTIONS, "g": 1}), "label", "score", by="g"))
    cut = cut.filter(pl.col("threshold") > 0.5)
    with pytest.raises(
        rf.BrokenCurveError, match=r"group g=1 lacks .* is at tpr=0\.666667, so its row"
    ):
        rf.at(cut, tpr=0.7).lazy().collect()
    assert rf.at(cut, tpr=2 / 3).lazy().collect()["threshold"].to_list() == [0.8]


def test_interpolation_is_linear_in_both_counts_and_computes_the_rates_from_them(frame):
    actual = frame(curve(metrics=["precision", "accuracy"])).pipe(
        rf.at, fpr=[0.125, 0.25], interpolate=True
    )
    expected = frame(
        {
            "at": ["fpr"] * 2,
            "at_value": [0.125, 0.25],
            "threshold": [None, None],
            "tp": [2.5, 3.0],
            "fp": [0.5, 1.0],
            "fn": [0.5, 0.0],
            "tn": [3.5, 3.0],
            "fpr": [0.125, 0.25],
            "tpr": [2.5 / 3, 1.0],
            "precision": [2.5 / 3, 0.75],
            "accuracy": [6 / 7, 6 / 7],
            "threshold_above": [0.8, 0.5],
            "threshold_below": [0.5, 0.3],
            "mix": [0.5, 0.0],
        }
    ).with_columns(pl.col("threshold").cast(pl.Float64))
    assert_frame_equal(actual, expected, check_exact=True)


def test_columns_with_other_values_than_the_metric_of_their_name_are_null_between_rows():
    plain = curve(metrics=["f_beta", "accuracy"])
    hits = (pl.col("tp") / 2).alias("accuracy")
    point = {"fpr": 0.125, "interpolate": True}
    assert rf.at(plain, **point).select("f_beta", "accuracy").null_count().row(0) == (0, 0)
    other = curve(metrics=["f_beta", hits, "expected_cost"], beta=2, costs={"fp": 1, "fn": 5})
    assert rf.at(other, **point).select("f_beta", "accuracy", "expected_cost").row(0) == (None,) * 3


def test_values_are_null_in_groups_whose_rate_is_undefined_only():
    table = pl.DataFrame(
        {"g": ["none"] * 2 + ["some"] * 2, "label": [0, 0, 1, 0], "score": [0.2, 0.1, 0.2, 0.1]}
    )
    curves = rf.curve(table, "label", "score", by="g")
    nothing = (None,) * 7
    assert rf.at(curves, tpr=0.5).rows() == [
        ("none", "tpr", 0.5, *nothing),
        ("some", "tpr", 0.5, 0.2, 1, 0, 0, 1, 0.0, 1.0),
    ]
    mixed = rf.at(curves, tpr=0.5, interpolate=True)
    assert mixed.row(0) == ("none", "tpr", 0.5, *nothing, None, None, None)
    assert mixed.row(1)[:9] == ("some", "tpr", 0.5, None, 0.5, 0.0, 0.5, 1.0, 0.0)


def test_values_are_null_at_rates_that_no_threshold_has_because_scores_are_missing():
    table = pl.DataFrame({"label": [1, 1, 0, 0, 0, 0], "score": [0.9, None, 0.5, 0.4, 0.3, None]})
    curves = rf.curve(table, "label", "score", missing="worst")
    assert rf.at(curves, fpr=[0.1, 0.25]).select(COLUMNS).rows() == [(None,) * 5, (0.9, 1, 1, 1, 3)]
    assert rf.at(curves, tpr=[0.5, 0.6]).select(COLUMNS).rows() == [(0.9, 1, 1, 1, 3), (None,) * 5]
    assert rf.at(curves, tpr=0.6, interpolate=True).select(COLUMNS).rows() == [(None,) * 5]


def test_each_group_has_a_row_for_each_value_in_the_given_order():
    table = pl.DataFrame({**PREDICTIONS, "g": ["b", "a"] * 3 + ["b"]})
    points = rf.at(rf.curve(table, "label", "score", by="g"), fpr=[0.5, 0.1, 0.5])
    assert points.select("g", "at_value").rows() == [
        (g, v) for g in ("a", "b") for v in (0.5, 0.1, 0.5)
    ]


def test_no_values_give_no_rows():
    points = rf.at(curve(), fpr=[])
    assert points.shape == (0, 9)
    assert points.columns == ["at", "at_value", *COLUMNS, "fpr", "tpr"]
    for table in (curve(), curve(prevalence=0.1)):
        assert rf.at(table, tpr=[], interpolate=True).height == 0


def test_values_may_be_a_series():
    values = pl.Series([0.1, 0.25])
    assert_frame_equal(rf.at(curve(), fpr=values), rf.at(curve(), fpr=[0.1, 0.25]))


def test_an_empty_curve_table_has_no_points():
    predictions = pl.DataFrame(schema={"g": pl.String, "label": pl.Boolean, "score": pl.Float64})
    curves = rf.curve(predictions, "label", "score", by="g")
    for axis in ("threshold", *RATE_AXES):
        assert rf.at(curves, **{axis: [0.1, 0.2]}).is_empty()


def test_an_empty_group_has_points_at_thresholds_but_not_at_rates():
    predictions = pl.DataFrame(schema={"label": pl.Boolean, "score": pl.Float64})
    curves = rf.curve(predictions, "label", "score")
    assert rf.at(curves, threshold=0.5).row(0) == ("threshold", 0.5, INF, 0, 0, 0, 0, None, None)
    for axis in RATE_AXES:
        assert rf.at(curves, **{axis: 0.5}).row(0) == (axis, 0.5, *[None] * 7)


def test_points_of_a_table_with_another_prevalence_have_its_rates():
    curves = curve(metrics="precision", prevalence=0.1)
    points = rf.at(curves, tpr=0.5)
    row = curves.filter(pl.col("threshold") == points["threshold"][0])
    assert_frame_equal(points.drop("at", "at_value"), row)
    mixed = rf.at(curves, tpr=0.5, interpolate=True)
    assert mixed.select("prevalence", "tpr", "precision").rows() == [(0.1, 0.5, 1.0)]
    below = rf.at(curves, fpr=0.75, interpolate=True)
    assert below["precision"].to_list() == pytest.approx([0.1 / (0.1 + 0.9 * 0.75)], rel=1e-14)


@given(
    table=tables(missing=True),
    values=st.lists(st.sampled_from([*EDGES, INF, -INF]) | st.floats(allow_nan=False), max_size=4),
)
def test_rows_at_thresholds_are_those_of_the_definition(table, values):
    curves = rf.curve(table, "label", "score", by="group", missing="worst")
    actual = rf.at(curves, threshold=values)
    expected = [
        (
            *(name, "threshold", value + 0.0),
            *oracles.at(points, "threshold", oracles.rounded(value, table)),
        )
        for name, points in traced(table).items()
        for value in values
    ]
    assert actual.select("group", "at", "at_value", *COLUMNS).rows() == expected


@pytest.mark.slow
@pytest.mark.parametrize("axis", RATE_AXES)
@given(table=tables(missing=True), values=st.lists(values, max_size=4))
def test_rows_at_rates_are_those_of_the_definition(axis, table, values):
    curves = rf.curve(table, "label", "score", by="group", missing="worst")
    actual = rf.at(curves, **{axis: values})
    expected = [
        (name, axis, value, *(oracles.at(points, axis, value) or (None,) * 5))
        for name, points in traced(table).items()
        for value in values
    ]
    assert actual.select("group", "at", "at_value", *COLUMNS).rows() == expected
    # The rest of a row is the curve's, unchanged.
    found = actual.drop_nulls("threshold").drop("at", "at_value")
    assert_frame_equal(found, found.join(curves, on=found.columns, how="semi", nulls_equal=True))


@pytest.mark.slow
@pytest.mark.parametrize("axis", RATE_AXES)
@given(table=tables(shape=TIED, missing=True), values=st.lists(values, max_size=3))
def test_interpolated_points_are_those_of_the_definition(axis, table, values):
    curves = rf.curve(table, "label", "score", by="group", missing="worst")
    actual = rf.at(curves, **{axis: values}, interpolate=True)
    rows = []
    for name, points in traced(table).items():
        for value in values:
            found = oracles.between(points, axis, value)
            row = {"group": name, "at": axis, "at_value": value, "threshold": None}
            if found is not None:
                rates = oracles.rates(found.point)
                row |= {part: float(getattr(found.point, part)) for part in COLUMNS[1:]}
                row |= {name: rates[name] for name in ("fpr", "tpr")}
                row |= {"threshold_above": found.above, "threshold_below": found.below}
                row["mix"] = float(found.mix)
            rows.append(row)
    # A mix divides by a difference of rates, of at least 1/24.
    assert_frame_equal(actual, pl.DataFrame(rows, schema=actual.schema), rel_tol=0, abs_tol=1e-13)


def traced(table: pl.DataFrame) -> dict[str, list[oracles.Point]]:
    return {
        name: [oracles.Point(p.threshold + 0.0, *map(int, p[1:])) for p in oracles.curve(every)]
        for name, every in oracles.by_group(table).items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("axis", RATE_AXES)
@given(table=tables(mass={"weight": ANY_WEIGHTS}), values=st.lists(values, max_size=3))
def test_rows_of_weighted_curves_do_not_exceed_the_given_rate_or_reach_it(axis, table, values):
    curves = rf.curve(
        table, "label", "score", by="group", weight="weight", kind="gain", metrics="fpr"
    )
    points = rf.at(curves, **{axis: values}).drop_nulls("threshold")
    off = points[axis] - points["at_value"]
    assert (off >= 0).all() if axis == "tpr" else (off <= 0).all()
    mixed = rf.at(curves, **{axis: values}, interpolate=True).drop_nulls("tp")
    # Interpolated rates meet the value itself, but where the curve jumps over it.
    inner = mixed.filter(pl.col("mix").is_between(0, 1, closed="none"))
    assert_frame_equal(
        inner.select(axis),
        inner.select(pl.col("at_value").alias(axis)),
        rel_tol=1e-12,
        abs_tol=1e-12,
    )


@pytest.mark.slow
@given(table=tables(shape=PLAIN, min_size=2), seed=st.integers(0, 9), values=values)
def test_the_order_of_the_rows_of_a_curve_table_does_not_matter(table, seed, values):
    curves = rf.curve(table, "label", "score", by="group", kind="gain")
    mixed_up = shuffled(curves, seed)
    for axis in ("threshold", *RATE_AXES):
        assert_frame_equal(rf.at(mixed_up, **{axis: values}), rf.at(curves, **{axis: values}))


@pytest.mark.slow
@given(table=tables(), values=values)
def test_every_engine_finds_the_same_rows(table, values):
    curves = rf.curve(table, "label", "score", by="group")
    plan = rf.at(rf.curve(table.lazy(), "label", "score", by="group"), tpr=values)
    for engine in ("streaming", "in-memory"):
        assert_frame_equal(plan.collect(engine=engine), rf.at(curves, tpr=values), check_exact=True)


@pytest.mark.parametrize("name", sorted({*RATES} - {"expected_cost", "net_benefit"}))
def test_every_rate_that_depends_only_on_counts_is_interpolated(name):
    curves = curve(kind="lift_chart", metrics=[] if name == "alert_rate" else name)
    mixed = rf.at(curves, fpr=[0.1, 0.7], interpolate=True)
    for row in mixed.iter_rows(named=True):
        counts = oracles.Point(math.nan, *map(oracles.Fraction, (row[c] for c in COLUMNS[1:])))
        # The counts were rounded once already.
        assert row[name] == pytest.approx(oracles.rates(counts)[name], rel=1e-12)
