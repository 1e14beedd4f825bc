"""Scores and given thresholds are compared in the dtype of the scores, as polars compares them.

The scores are shares of the votes of ten trees, stored as Float32. The Float32 number that is
displayed as 0.7 is below the Float64 number 0.7.
"""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.schemas.table_type import SCORE_COLUMNS
from tests.all_cases import all_cases
from tests.charts.specifications import records

if TYPE_CHECKING:
    from collections.abc import Callable

INF = float("inf")
GIVEN = [0.1, 0.3, 0.7, 0.9]


def forest(dtype: type[pl.DataType] = pl.Float32) -> pl.DataFrame:
    """Return predictions of a forest of ten trees: the share of trees that vote for a row."""
    rng = np.random.default_rng(7)
    quality = rng.uniform(size=600)
    label = rng.uniform(size=600) < quality
    votes = rng.binomial(10, 0.15 + 0.7 * quality)
    columns = {"id": np.arange(600), "label": label, "score": votes / 10}
    return pl.DataFrame(columns).with_columns(pl.col("score").cast(dtype))


PREDICTIONS = forest()
LABEL = PREDICTIONS.get_column("label")
N = PREDICTIONS.height
GATE = {"baseline": "a", "margin": 0.1}


def deployed(threshold: float, predictions: pl.DataFrame = PREDICTIONS) -> tuple[int, int]:
    """Return the true and false positives of the rule `score >= threshold` of polars."""
    alerts = predictions.filter(pl.col("score") >= threshold).get_column("label")
    return int(alerts.sum()), len(alerts) - int(alerts.sum())


@cache
def complete_curve() -> pl.DataFrame:
    return rf.curve(PREDICTIONS, "label", "score")


def curve(predictions: pl.DataFrame | None = None, **options: Any) -> pl.DataFrame:
    if predictions is None and not options:
        return complete_curve()
    predictions = PREDICTIONS if predictions is None else predictions
    return rf.curve(predictions, "label", "score", **options)


def counts(table: pl.DataFrame) -> tuple[float, float]:
    ((tp, fp),) = table.select("tp", "fp").rows()
    return tp, fp


def from_rates(tpr: float, fpr: float) -> tuple[float, float]:
    return round(tpr * int(LABEL.sum()), 6), round(fpr * (N - int(LABEL.sum())), 6)


def net_benefit(threshold: float) -> float:
    tp, fp = deployed(threshold)
    return tp / N - fp / N * threshold / (1 - threshold)


def marked(threshold: float) -> tuple[float, float]:
    (point,) = records(curve().roc.at(threshold=threshold).roc.chart())
    return point["tp"], point["fp"]


@cache
def dashboard_record() -> dict[str, str]:
    board = curve().roc.dashboard().to_dict()
    texts = [text for text in board["datasets"].values() if isinstance(text, str)]
    (record,) = [row for text in texts for row in json.loads(text) if "increases" in row]
    return record


def first_dashboard_row(threshold: float) -> tuple[float, float]:
    """Return the counts of the row that the filter of a dashboard selects."""
    record = dashboard_record()
    limits = [float(text.replace("Infinity", "inf")) for text in record["t"].split(",")]
    selected = sum(limit >= threshold for limit in limits)
    steps = [step or "0/1" for step in record["increases"].split(",")][:selected]
    parts = [[int(part or 0) for part in f"{step}/0".split("/")[:2]] for step in steps]
    tp, fp = (sum(part) for part in zip(*parts, strict=True))
    return tp, fp


def pair() -> pl.DataFrame:
    return PREDICTIONS.with_columns(a="score", b="score").drop("score")


def of_model(table: pl.DataFrame) -> tuple[float, float]:
    first = table.row(0, named=True)
    return first["tp"], first["fp"]


def chosen(threshold: float) -> pl.DataFrame:
    """Return operating points of another data set, with Float64 thresholds."""
    data = {"rule": ["youden"], "value": [0.5], "threshold": [threshold]}
    return pl.DataFrame(data)


def drawn(threshold: float) -> tuple[int, int]:
    points = pl.DataFrame(
        {"at": ["fpr"], "at_value": [0.1], "mix": [0.5]}
        | {f"threshold_{side}": [threshold] for side in ("above", "below")}
    )
    decided = rf.draw_decisions(PREDICTIONS, "score", points, id="id", seed=1)
    alerts = decided.filter("decision").get_column("label")
    return int(alerts.sum()), len(alerts) - int(alerts.sum())


def rates(metrics: pl.DataFrame) -> tuple[float, float]:
    estimate = dict(metrics.select("metric", "estimate").rows())
    return from_rates(estimate["tpr"], estimate["fpr"])


def intervals(**options: Any) -> pl.DataFrame:
    options = {"metrics": ["tpr", "fpr"], "ci": None} | options
    return rf.intervals(PREDICTIONS, "label", "score", **options)


# For each function: its counts (tp, fp) at a threshold, or its net benefit.
AT_THRESHOLD: dict[str, Callable[[float], Any]] = {
    "curve": lambda t: counts(curve(thresholds=[t]).tail(1)),
    "curve by group": lambda t: counts(
        curve(PREDICTIONS.with_columns(g=1), by="g", thresholds=[t]).tail(1)
    ),
    "at": lambda t: counts(rf.at(curve(), threshold=t)),
    "compare": lambda t: from_rates(
        *rf.compare(pair(), "label", ["a", "b"], metric=["tpr", "fpr"], threshold=t)["estimate_a"]
    ),
    "compare, groups of rows": lambda t: from_rates(
        *rf.compare(
            pl.concat([PREDICTIONS.with_columns(g=1), PREDICTIONS[::2].with_columns(g=2)]),
            *("label", "score"),
            between="g",
            metric=["tpr", "fpr"],
            threshold={1: t, 2: 0.5},
        )["estimate_a"]
    ),
    "reader_study": lambda t: from_rates(
        *(
            rf.reader_study(
                pl.concat([PREDICTIONS.with_columns(modality=i, reader=1) for i in (1, 2)]),
                *("label", "score"),
                id="id",
                fixed="readers",
                metric=metric,
                threshold=t,
            )["estimate"][0]
            for metric in ("tpr", "fpr")
        )
    ),
    "gate": lambda t: from_rates(
        *(
            rf.gate(pair(), "label", ["a", "b"], metric=metric, threshold=t, **GATE)[
                f"{metric}_old"
            ].item()
            for metric in ("tpr", "fpr")
        )
    ),
    "at, of given thresholds": lambda t: counts(rf.at(curve(thresholds=GIVEN), threshold=t)),
    "at, of a simplified curve": lambda t: counts(
        rf.at(rf.simplify(curve(), max_error=0.4, keep=t), threshold=t)
    ),
    "at, of a pooled curve": lambda t: tuple(
        count / 2
        for count in counts(
            rf.at(
                rf.average(
                    pl.concat([curve().select(pl.lit(i).alias("fold"), pl.all()) for i in (1, 2)]),
                    method="pooled",
                ),
                threshold=t,
            )
        )
    ),
    "simplify": lambda t: counts(
        rf.simplify(curve(), max_error=0.9, keep=t).filter(pl.col("threshold") == t)
    ),
    "intervals": lambda t: rates(intervals(threshold=t)),
    "intervals, subject_to": lambda t: rates(
        intervals(rule="tpr", subject_to={"threshold": (t, None)})
    ),
    "operating_point": lambda t: counts(
        rf.operating_point(curve(), rule="tpr", subject_to={"threshold": (t, None)})
    ),
    "operating_point, bayes": lambda t: counts(
        rf.operating_point(curve(), rule="bayes", costs={"fp": t, "fn": 1 - t})
    ),
    "transfer": lambda t: counts(rf.transfer(curve(), chosen=chosen(t))),
    "combine": lambda t: of_model(rf.combine(pair(), "label", ["a", "b"], threshold=t)),
    "combine, of a table": lambda t: of_model(
        rf.combine(
            pair(),
            "label",
            ["a", "b"],
            threshold=pl.DataFrame({"model": ["a", "b"], "threshold": [t, t]}),
        )
    ),
    "chain": lambda t: of_model(rf.chain(pair(), "label", ["a", "b"], threshold=t)),
    "draw_decisions": drawn,
    "chart": marked,
    "dashboard": first_dashboard_row,
}
NET_BENEFIT: dict[str, Callable[[float], float]] = {
    "decision_curve": lambda t: rf.decision_curve(curve(), thresholds=t).item(0, "net_benefit"),
    "decision_intervals": lambda t: rf.decision_intervals(
        PREDICTIONS, "label", "score", grid=[t], ci=None
    ).item(0, "net_benefit"),
    "curve": lambda t: curve(thresholds=[t], metrics="net_benefit").item(-1, "net_benefit"),
    "intervals": lambda t: intervals(threshold=t, metrics="net_benefit").item(0, "estimate"),
    "average": lambda t: rf.average(
        pl.concat([curve().select(pl.lit(i).alias("fold"), pl.all()) for i in (1, 2)]),
        fixed="threshold",
        grid=[t],
        metrics="net_benefit",
    ).item(0, "net_benefit"),
}
# Functions with thresholds, or tables of thresholds, that other tests in this file check, or whose
# scores are not compared with them.
OTHERS = {"report", "murphy_curve", "repair_scores", "repaired_auc", "combine_points"}
ARGUMENTS = {"threshold", "thresholds", "subject_to", "chosen", "keep", "concavities"}


def test_the_scores_differ_from_the_given_thresholds_in_float64():
    scores = PREDICTIONS.get_column("score")
    for threshold in GIVEN:
        narrow = int((scores >= threshold).sum())
        assert narrow == int((scores.to_numpy() >= np.float32(threshold)).sum())
    wide = [int((scores.cast(pl.Float64) >= t).sum()) for t in (0.7, 0.9)]
    assert wide != [int((scores >= t).sum()) for t in (0.7, 0.9)]


def test_every_function_predicts_positive_what_polars_does():
    with all_cases() as case:
        for name, function in AT_THRESHOLD.items():
            for threshold in GIVEN:
                with case(f"{name} at {threshold}"):
                    assert function(threshold) == deployed(threshold)
        for name, function in NET_BENEFIT.items():
            for threshold in GIVEN:
                with case(f"net benefit of {name} at {threshold}"):
                    assert function(threshold) == pytest.approx(net_benefit(threshold), rel=1e-5)


def test_every_function_with_a_threshold_is_listed():
    listed = {name.partition(",")[0] for name in (*AT_THRESHOLD, *NET_BENEFIT)} | OTHERS
    for name in rf.__all__:
        function = getattr(rf, name)
        if inspect.isfunction(function) and not name.startswith(("one_vs", "top_label")):
            arguments = {*inspect.signature(function).parameters} & ARGUMENTS
            assert not arguments or name in listed, (name, arguments)


def test_thresholds_have_the_float_dtype_of_the_scores(frame):
    expected = {
        pl.Float16: pl.Float32,
        pl.Float32: pl.Float32,
        pl.Float64: pl.Float64,
        pl.Int64: pl.Float64,
        pl.Decimal(10, 2): pl.Float64,
    }
    for dtype, floats in expected.items():
        table = frame(forest().with_columns(score=(pl.col("score") * 10).round().cast(dtype)))
        curves = rf.curve(table, "label", "score")
        results = [
            curves,
            rf.curve(table, "label", "score", max_error=0.1),
            rf.curve(table, "label", "score", thresholds=[3, 5]),
            rf.at(curves, fpr=0.1),
            rf.at(curves, fpr=0.1, interpolate=True),
            rf.operating_point(curves),
            rf.hull(curves),
            rf.simplify(curves),
            rf.cost_curve(curves),
            rf.concavities(curves),
            rf.ties(curves),
            rf.iso_lines(curves),
            rf.mix(curves, fpr=0.1),
            rf.transfer(curves, chosen=chosen(5)),
            rf.intervals(table, "label", "score", metrics="tpr", threshold=5, ci=None),
            rf.combine(table, "label", {"a": "score", "b": "score"}, threshold=5),
            rf.chain(table, "label", {"a": "score", "b": "score"}, threshold=5),
        ]
        for result in results:
            schema = result.lazy().collect_schema()
            assert result.lazy().collect().schema == schema
            columns = {name: schema[name] for name in SCORE_COLUMNS if name in schema}
            assert columns
            assert {*columns.values()} == {floats}, (dtype, columns)


def test_a_transferred_threshold_meets_a_constraint_with_the_same_threshold():
    subject_to = {"threshold": (0.7, None)}
    folds = rf.curve(forest().with_columns(fold=pl.col("id") % 3), "label", "score", by="fold")
    found = rf.transfer(folds, "tpr", over="fold", subject_to=subject_to)
    assert found["is_met"].to_list() == [True] * 3


def test_scores_of_bins_are_float64_and_those_of_concavities_have_the_dtype_of_the_scores():
    bins = rf.calibration(forest(), "label", "score", method="isotonic")
    assert {bins.schema[name] for name in ("score_min", "score_max")} == {pl.Float64}
    assert rf.concavities(curve()).schema["score_max"] == pl.Float32


def test_scores_of_several_dtypes_have_float64_thresholds():
    table = forest().with_columns(wide=pl.col("score").cast(pl.Float64))
    curves = rf.curve(table, "label", ["score", "wide"], thresholds=[0.7])
    assert curves.schema["threshold"] == pl.Float64
    narrow, wide = deployed(0.7), deployed(0.7, forest().cast({"score": pl.Float64}))
    found = curves.filter(pl.col("threshold") < 1).select("model", "tp", "fp").rows()
    assert found == [("score", *narrow), ("wide", *wide)]


def test_a_curve_table_with_float64_thresholds_can_be_concatenated():
    narrow = curve().select(pl.lit("a").alias("model"), pl.all())
    wide = curve(forest(pl.Float64)).select(pl.lit("b").alias("model"), pl.all())
    both = pl.concat([narrow, wide], how="vertical_relaxed")
    assert both.schema["threshold"] == pl.Float64
    assert rf.area(both)["auc"].to_list() == [rf.area(curve())["auc"].item()] * 2
    hulls = rf.hull(both, across="model")
    expected = rf.hull(curve()).select("tp", "fp").rows()
    assert hulls.select("tp", "fp").rows() == expected


def test_given_thresholds_that_are_equal_in_float32_are_one_row():
    table = curve(thresholds=[0.7, 0.7 + 1e-9, float(np.float32(0.7))])
    assert_frame_equal(table, curve(thresholds=[0.7]))
    assert table["threshold"].to_list() == [INF, float(np.float32(0.7))]


def test_a_repair_of_other_data_rounds_its_thresholds():
    wide = forest(pl.Float64)
    parts = rf.concavities(rf.curve(wide.with_columns(label=~pl.col("label")), "label", "score"))
    repaired = rf.repair_scores(PREDICTIONS, "score", parts)["repaired_score"]
    expected = rf.repair_scores(wide, "score", parts)["repaired_score"]
    assert (repaired.cast(pl.Float32) - expected.cast(pl.Float32)).abs().max() < 1e-6


def test_elementary_scores_count_the_decisions_of_the_deployed_rule():
    for threshold in GIVEN:
        tp, fp = deployed(threshold)
        fn = int(LABEL.sum()) - tp
        expected = 2 * (threshold * fp + (1 - threshold) * fn) / N
        found = rf.murphy_curve(curve(), grid=[threshold]).item(0, "elementary_score")
        assert found == pytest.approx(expected, rel=1e-6)
