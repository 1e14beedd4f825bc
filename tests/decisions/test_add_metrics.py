"""`add_metrics` on curve tables is `curve(metrics=)`; on other tables, the metrics are exact."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

import rocframe as rf
from rocframe.kinds import KINDS
from rocframe.rates import RATES
from tests import oracles
from tests.all_cases import all_cases
from tests.strategies import examples, shuffled, tables

COSTS = {"fp": 1.0, "fn": 5.0, "tp": 0.25}
VOTE = rf.datasets.vote()
CURVES = rf.curve(VOTE, "label", "score", by=["model", "fold"])
MODELS = rf.curve(VOTE, "label", "score", by="model")


@pytest.mark.hypothesis
@examples(1 / 2)
@given(
    kind=st.sampled_from([*KINDS]),
    table=tables(),
    prevalence=st.sampled_from([None, 0.1]),
    seed=st.integers(0, 9),
)
def test_metrics_that_are_added_to_a_curve_are_those_of_curve(kind, table, prevalence, seed):
    axes = [*KINDS[kind].rates, *(["prevalence"] if prevalence else [])]
    own = [
        (pl.col("precision") * pl.col("tp")).alias("own"),
        (pl.col("threshold") > 0.5).alias("is_high"),
        pl.col("group").alias("copy"),
    ]
    metrics = [*(name for name in RATES if name not in axes), "specificity", *own]
    options = {"by": "group", "kind": kind, "prevalence": prevalence}
    settings = {"costs": COSTS, "beta": 2.0}
    curves = rf.curve(table, "label", "score", **options)
    expected = rf.curve(table, "label", "score", **options, metrics=metrics, **settings)
    assert_frame_equal(rf.add_metrics(curves, metrics, **settings), expected, check_exact=True)
    rows = expected.with_row_index("row").pipe(shuffled, seed)
    found = curves.with_row_index("row")[rows["row"]].lazy().roc.add_metrics(metrics, **settings)
    assert found.collect_schema() == rows.schema
    assert_frame_equal(found.collect(), rows, check_exact=True)


# Tables with confusion matrices that are not complete curves.
POINTS = {
    "at": rf.at(MODELS, threshold=[0.2, 0.5]),
    "at, between rows": rf.at(MODELS, fpr=0.1, interpolate=True),
    "operating_point": rf.operating_point(MODELS, "youden", subject_to={"precision": (0.97, 1)}),
    "transfer": rf.transfer(CURVES, "accuracy"),
    "hull": rf.hull(MODELS, across="model"),
    "simplify": rf.simplify(MODELS, max_error=0.1),
    "curve at thresholds": rf.curve(VOTE, "label", "score", by="model", thresholds=[0.3]),
    "mix": rf.mix(MODELS, fpr=0.1),
    "combine": rf.combine(VOTE, "label", "score", between="model", id="id", threshold=0.5),
    "chain": rf.chain(VOTE, "label", "score", between="model", id="id", threshold=0.5),
    "iso_lines": rf.iso_lines(MODELS, kind="gain").drop("expected_cost"),
    "confusion_matrix": rf.confusion_matrix(
        VOTE.with_columns(decision=pl.col("score") >= 0.5), "label", "decision", by="model"
    ),
    "small integers": MODELS.cast(dict.fromkeys(oracles.Point._fields[1:], pl.UInt16)),
}


def test_metrics_of_any_table_with_confusion_matrices_are_exact():
    """Metrics need only the counts of a row, so the rows need not be a complete curve."""
    names = ["f1", "mcc", "npv", "accuracy", "alerts", "expected_cost"]
    with all_cases() as case:
        for name, table in POINTS.items():
            for prevalence in (None, 0.2):
                with case(name, str(prevalence)):
                    options = {"costs": COSTS, "prevalence": prevalence}
                    found = rf.add_metrics(table, names, **options)
                    assert_frame_equal(found.drop(names), table)
                    for row in found.sample(min(30, found.height), seed=1).iter_rows(named=True):
                        counts = [row[count] for count in oracles.Point._fields[1:]]
                        expected = dict.fromkeys(names)
                        if None not in counts:
                            point = oracles.Point(0.5, *map(Fraction, counts))
                            expected = oracles.rates(point, **options)
                        for metric in names:
                            value = expected[metric]
                            if value is not None:
                                value = pytest.approx(value, rel=1e-9, abs=1e-12)
                            assert row[metric] == value, metric


def test_the_prevalence_of_the_table_is_the_default():
    curves = rf.curve(VOTE, "label", "score", by="model", prevalence=0.02)
    best = rf.operating_point(curves, "precision", subject_to={"tpr": (0.5, 1)})
    found = rf.add_metrics(best, ["ppv", "alerts"])
    assert_series_equal(found["ppv"], found["value"], check_names=False)
    for row in found.iter_rows(named=True):
        alert_rate = 0.02 * row["tpr"] + 0.98 * row["fpr"]
        assert row["alerts"] == row["tp"] + row["fp"]
        assert row["ppv"] == pytest.approx(0.02 * row["tpr"] / alert_rate, rel=1e-12)
    other = rf.add_metrics(best, "ppv", prevalence=0.5)["ppv"]
    assert other.to_list() == pytest.approx((best["tpr"] / (best["tpr"] + best["fpr"])).to_list())
    # In any other position, a column of this name is not the prevalence of the rates.
    metric = rf.curve(VOTE, "label", "score", by="model", metrics=["prevalence", "precision"])
    found = rf.add_metrics(metric, "ppv")
    assert_series_equal(found["ppv"], found["precision"], check_names=False)


def test_results_of_transfer_and_mix_keep_the_prevalence_of_the_curves():
    curves = rf.curve(VOTE, "label", "score", by=["model", "fold"], prevalence=0.02)
    for table in (rf.transfer(curves, "accuracy"), rf.mix(curves, fpr=0.1)):
        names = table.columns
        assert names[names.index("tn") + 1] == "prevalence"
        tpr, fpr = (
            pl.col(part) / (pl.col(part) + pl.col(rest))
            for part, rest in (("tp", "fn"), ("fp", "tn"))
        )
        found = rf.add_metrics(table, "precision")
        precision = table.select(0.02 * tpr / (0.02 * tpr + 0.98 * fpr)).to_series()
        assert_series_equal(found["precision"], precision.fill_nan(None), check_names=False)
        assert found["precision"].null_count() < found.height


def test_metrics_right_of_a_hull_are_no_models():
    net = (pl.col("tp") - pl.col("fp")).alias("net")
    hull = rf.hull(MODELS)
    chosen = hull.sort("slope_low").group_by("model", maintain_order=True).first()
    for added in (net, net.cast(pl.String), "f1"):
        found = rf.transfer(CURVES, chosen=chosen.roc.add_metrics(added))
        assert_frame_equal(found, rf.transfer(CURVES, chosen=chosen))
        common = rf.hull(MODELS, across="model")
        vertex = common.filter(pl.col("model").is_not_null()).unique("model", keep="first")
        found = rf.transfer(CURVES, chosen=vertex.roc.add_metrics(added))
        assert_frame_equal(found, rf.transfer(CURVES, chosen=vertex))


def test_alerts_have_a_limit_in_rows_of_the_data_at_each_prevalence():
    limit = {"subject_to": {"alerts": (0, 30)}, "minimize": False}
    for prevalence in (None, 0.02):
        curves = rf.curve(VOTE, "label", "score", by="model", prevalence=prevalence)
        best = rf.operating_point(curves, "alerts", **limit)
        alerts = curves.with_columns(alerts=pl.col("tp") + pl.col("fp")).filter(
            pl.col("alerts") <= 30
        )
        assert (
            best["value"].to_list()
            == alerts.group_by("model")
            .agg(pl.col("alerts").max())
            .sort("model")["alerts"]
            .to_list()
        )


ERRORS = {
    "table: the table has no column 'fn'.\nThe table has: 'tp', 'fp', 'tn'.": (
        MODELS.select("tp", "fp", "tn"),
        {"metrics": "f1"},
    ),
    "table: column 'tp' of the table has type String.\nCounts must be numbers. Cast the column "
    "first.": (MODELS.cast({"tp": pl.String}), {"metrics": "f1"}),
    "table: the table already has a column 'tpr'; add_metrics() adds this column.\nPass a table "
    "without this column, or rename the column, for example with "
    ".rename({'tpr': 'tpr_before'}).": (MODELS, {"metrics": "tpr"}),
    "metrics='threshold': the frame has no column of this name.\n"
    "The frame has: 'tp', 'fp', 'fn', 'tn'.": (
        MODELS.select("tp", "fp", "fn", "tn"),
        {"metrics": "net_benefit"},
    ),
    'beta=2.0: no metric in this call uses this option.\nUse, for example, metrics=["f_beta"].': (
        MODELS,
        {"metrics": "f1", "beta": 2.0},
    ),
    'metrics=[]: expected at least one name.\nUse, for example, metrics=["precision"].': (
        MODELS,
        {"metrics": []},
    ),
    "prevalence=1: expected a number above 0 and below 1.\nUse, for example, prevalence=0.1.": (
        MODELS,
        {"metrics": "f1", "prevalence": 1},
    ),
}


def test_errors_name_the_table_or_the_option():
    with all_cases() as case:
        for text, (table, options) in ERRORS.items():
            with case(text):
                with pytest.raises(rf.RocframeError) as caught:
                    rf.add_metrics(table, **options)
                assert str(caught.value) == text


def test_an_expression_may_read_a_metric_that_needs_an_option():
    double = (2 * pl.col("expected_cost")).alias("double")
    found = rf.add_metrics(MODELS, ["expected_cost", double], costs=COSTS)
    assert_series_equal(found["double"], found["expected_cost"] * 2, check_names=False)
    assert_series_equal(rf.add_metrics(MODELS, double, costs=COSTS)["double"], found["double"])


def test_the_old_name_states_the_new_one():
    for call in (lambda: rf.class_metrics, lambda: MODELS.roc.class_metrics):
        with pytest.raises(AttributeError, match="add_metrics, with the same arguments"):
            call()
