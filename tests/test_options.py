"""Invalid values of each option raise one clear error."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

PREDICTIONS = pl.DataFrame(
    {"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1], "g": list("aabb")}
)
CURVES = rf.curve(PREDICTIONS, "label", "score")


def curve(**options):
    return rf.curve(PREDICTIONS, "label", "score", **options)


def auc(**options):
    return rf.auc(PREDICTIONS, "label", "score", **options)


def at(**options):
    return rf.at(CURVES, **options)


def compare(**options):
    return rf.compare(PREDICTIONS, "label", {"a": "score", "b": "score"}, **options)


def contrast(coefficients):
    scores = {"a": "score", "b": -pl.col("score")}
    return rf.contrast(PREDICTIONS, "label", scores, coefficients=coefficients)


@pytest.mark.parametrize("half", [0.5, np.float64(0.5), np.float32(0.5), np.array(0.5)], ids=repr)
def test_a_number_of_any_kind_is_a_number(half):
    assert_frame_equal(at(fpr=half), at(fpr=0.5))
    assert_frame_equal(at(threshold=[half]), at(threshold=0.5))
    assert_frame_equal(curve(thresholds=[half]), curve(thresholds=[0.5]))
    assert_frame_equal(auc(fpr=(0, half)), auc(fpr=(0, 0.5)))
    assert_frame_equal(auc(level=half), auc(level=0.5))
    assert_frame_equal(compare(margin=half, baseline="a"), compare(margin=0.5, baseline="a"))
    assert_frame_equal(contrast({"a": half, "b": -half}), contrast({"a": 1, "b": -1}))


@pytest.mark.parametrize(
    "several", [[0, 0.5], (0, 0.5), pl.Series([0.0, 0.5]), np.array([0, 0.5]), range(1)], ids=repr
)
def test_several_numbers_come_in_any_container(several):
    assert_frame_equal(at(tpr=several), at(tpr=[float(one) for one in several]))
    assert_frame_equal(curve(thresholds=several), curve(thresholds=[float(one) for one in several]))


@pytest.mark.parametrize(
    "function",
    [
        lambda frame, wrap: rf.auc(frame, "label", wrap(["score"]), by=wrap(["g"])),
        lambda frame, wrap: rf.curve(frame, "label", "score", by=wrap(["g"]), metrics=wrap(["f1"])),
        lambda frame, wrap: rf.compress(frame, "label", "score", by=wrap(["g"])),
        lambda frame, wrap: rf.area(rf.curve(frame, "label", "score", by="g"), by=wrap(["g"])),
        lambda frame, wrap: rf.cost_curve(rf.curve(frame, "label", "score"), grid=wrap([0.1, 0.5])),
        lambda frame, wrap: rf.at(rf.curve(frame, "label", "score"), fpr=wrap([0.1, 0.5])),
    ],
    ids=["auc", "curve", "compress", "area", "cost_curve", "at"],
)
def test_an_iterator_is_read_once_although_a_plan_is_resolved_several_times(function):
    expected = function(PREDICTIONS, list)
    assert_frame_equal(function(PREDICTIONS, iter), expected)
    plan = function(PREDICTIONS.lazy(), iter)
    assert plan.collect_schema() == expected.schema
    for _ in range(2):
        assert_frame_equal(plan.select(pl.all()).collect(), expected)


def test_an_array_of_names_is_several_metrics_but_not_one():
    names = np.array(["f1", "mcc"])
    assert_frame_equal(curve(metrics=names), curve(metrics=["f1", "mcc"]))


def test_an_expression_may_use_the_rates():
    gain = (pl.col("tpr") - pl.col("fpr")).alias("gain")
    assert_frame_equal(curve(metrics=gain), curve(metrics="youden").rename({"youden": "gain"}))


OF_WRONG_TYPE = {
    "an expression": pl.col("score"),
    "an array": np.array([1, 2]),
    "an array of one number": np.array(1.5),
    "an array of one text": np.array("x"),
    "a table": pl.DataFrame({"a": [1]}),
    "an object": object(),
}
SCORED = pl.DataFrame(
    {
        "label": [1, 0, 1, 0, 1, 0],
        "score": [0.9, 0.8, 0.7, 0.3, 0.4, 0.1],
        "other": [0.9, 0.1, 0.7, 0.3, 0.4, 0.8],
        "fold": [1, 1, 2, 2, 2, 1],
    }
)
FOLD_CURVES = rf.curve(SCORED, "label", "score", by="fold")
POINTS = rf.at(rf.curve(SCORED, "label", ["score", "other"]), fpr=0.5)
CHOICES = {
    ("auc", "ci"): lambda **options: rf.auc(SCORED, "label", "score", **options),
    ("auc", "score"): lambda **options: rf.auc(SCORED, "label", **options),
    ("auc_test", "missing"): lambda **options: rf.auc_test(SCORED, "label", "score", **options),
    ("intervals", "ci"): lambda **options: rf.intervals(
        SCORED, "label", "score", metrics="auc", **options
    ),
    ("calibration", "ci"): lambda **options: rf.calibration(SCORED, "label", "score", **options),
    ("calibration", "missing"): lambda **options: rf.calibration(
        SCORED, "label", "score", **options
    ),
    ("compare", "id"): lambda **options: rf.compare(SCORED, "label", ["score", "other"], **options),
    ("compare", "baseline"): lambda **options: rf.compare(
        SCORED, "label", ["score", "other"], **options
    ),
    ("contrast", "coefficients"): lambda **options: rf.contrast(
        SCORED, "label", ["score", "other"], **options
    ),
    ("average", "over"): lambda **options: rf.average(FOLD_CURVES, **options),
    ("combine_points", "across"): lambda **options: rf.combine_points(POINTS, **options),
    ("tie_bounds", "metrics"): lambda **options: rf.tie_bounds(FOLD_CURVES, **options),
    ("chart", "kind"): lambda **options: rf.chart(FOLD_CURVES, **options),
    ("chart", "x"): lambda **options: rf.chart(FOLD_CURVES, y="tpr", **options),
    ("chart", "y"): lambda **options: rf.chart(FOLD_CURVES, x="fpr", **options),
}


@pytest.mark.parametrize(("function", "option"), CHOICES)
def test_an_option_of_a_wrong_type_is_an_error_of_rocframe(function, option):
    for name, value in OF_WRONG_TYPE.items():
        if (name, option) == ("an expression", "score"):
            continue
        with pytest.raises(rf.RocframeError) as caught:
            CHOICES[function, option](**{option: value})
        assert str(caught.value).split("=")[0].split(":")[0] in {option, function}, name


def test_the_power_of_an_area_near_1_with_one_negative_is_finite():
    plan = rf.power(auc=1 - 1e-12, auc_b=0.7, correlation=0.5, n_pos=10**6, n_neg=1)
    assert 0 < plan["power"].item() < 1


def test_the_order_of_categories_is_a_score():
    score = pl.Series(["low", "mid", "high", "low"], dtype=pl.Enum(["low", "mid", "high"]))
    table = pl.DataFrame({"label": [0, 1, 1, 0], "score": score})
    assert rf.auc(table, "label", pl.col("score").cat.physical())["auc"].item() == 1


def test_one_cluster_with_all_positives_has_a_note_of_its_own():
    table = pl.DataFrame(
        {
            "label": [1] * 10 + [0] * 10,
            "score": [*range(0, 20, 2), *range(1, 20, 2)],
            "user": ["a"] * 10 + [f"b{i}" for i in range(10)],
        }
    )
    area = rf.auc(table, "label", "score", cluster="user")
    assert area.select("n_pos", "lower", "note").row(0) == (10, None, "one_positive_cluster")
    other = rf.auc(table.with_columns(pl.col("label") == 0), "label", "score", cluster="user")
    assert other.select("n_neg", "lower", "note").row(0) == (10, None, "one_negative_cluster")


def test_a_value_whose_text_exceeds_the_memory_is_shown_by_its_type():
    class Long:
        def __repr__(self) -> str:
            raise MemoryError

    with pytest.raises(rf.UnknownOptionError) as caught:
        rf.auc(SCORED, "label", "score", ci=Long())
    assert str(caught.value).startswith("ci=<Long>: unknown value.")
