"""Dashboards before any interaction, and their errors."""

from __future__ import annotations

import json
import re
import sys
from xml.etree import ElementTree as ET

import altair as alt
import numpy as np
import polars as pl
import pytest

import rocframe as rf
from rocframe.charts.dashboard.data import ROWS
from tests.all_cases import all_cases
from tests.charts.specifications import render
from tests.charts.specifications import spec as strict

NUMBERS = [
    *("threshold", "tp", "fp", "fn", "tn", "tpr", "fpr", "precision", "accuracy", "alert_rate"),
    *("expected_cost", "net_benefit"),
]
RATES = NUMBERS[5:]


def rendered(chart):
    """Return the picture of a chart or of a specification."""
    return ET.fromstring(render(json.dumps(chart if isinstance(chart, dict) else strict(chart))))


def labels(chart):
    """Return the names of the parts of the rendered chart."""
    svg = rendered(chart)
    return [node.get("aria-label") for node in svg.iter() if node.get("aria-label")]


def texts(chart):
    """Return all text of the rendered chart."""
    svg = rendered(chart)
    return [node.text for node in svg.iter("{http://www.w3.org/2000/svg}text")]


def numbers(chart):
    """Return the numbers that the rendered chart shows for each curve, as text."""
    found = {}
    for label in labels(chart):
        name, _, rest = label.rpartition(": ")
        number, _, text = rest.partition(" ")
        if name and number in NUMBERS:
            found.setdefault(name, {})[number] = text
    return found


def first_panel_and_numbers(spec):
    """Return a spec with the first panel and the numbers, which is faster to render.

    The first panel has the legend, and its points have the parameter of the threshold.
    """
    grid, panel = spec["vconcat"]
    first = grid["concat"][0]
    views = {layer["name"] for part in (first, panel) for layer in part["layer"] if "name" in layer}
    params = [one for one in spec["params"] if views.issuperset(one.get("views", ()))]
    return {**spec, "vconcat": [first, panel], "params": params}


def records(chart):
    return json.loads(chart.data.values, parse_constant=pytest.fail)


@pytest.fixture(scope="module")
def vote():
    return rf.datasets.vote()


@pytest.fixture(scope="module")
def by_model(vote):
    return rf.curve(vote, "label", "score", by="model")


@pytest.fixture(scope="module")
def board(by_model):
    return rf.dashboard(by_model)


@pytest.fixture(scope="module")
def board_at_half(by_model):
    return rf.dashboard(by_model, threshold=0.5)


def test_the_specification_of_a_dashboard_by_model_is_unchanged(board_at_half, assert_golden):
    assert_golden(board_at_half, "dashboard_by_model")


def test_the_specification_of_a_dashboard_without_groups_is_unchanged(vote, assert_golden):
    bayes = vote.filter(pl.col("model") == "naive_bayes")
    curves = rf.curve(bayes, "label", "score")
    assert_golden(
        rf.dashboard(curves, threshold=0.5, prevalence=0.1, costs={"fp": 1, "fn": 5}),
        "dashboard_without_groups",
    )


@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_numbers_of_a_dashboard_are_those_of_at(vote, prevalence):
    costs = {"fp": 2, "fn": 5}
    subset = vote.filter(
        pl.col("model").is_in(["linear_svm", "random_forest"]), pl.col("fold") <= 2
    )
    curves = rf.curve(
        subset, "label", "score", by="model", metrics=RATES[2:], prevalence=prevalence, costs=costs
    )
    board = rf.dashboard(curves, threshold=0.2, prevalence=prevalence, costs=costs)
    assert board.title.subtitle is alt.Undefined  # not a row is left out
    spec = strict(board)
    slider = next(one for one in spec["params"] if "value" in one)
    assert slider["value"] == [{"angle": 0.2}]
    for threshold in (0.5, 0.2, 0.0, 1.0, -0.7, 7.5):
        slider["value"] = [{"angle": threshold}]
        shown = numbers(first_panel_and_numbers(spec))
        for row in rf.at(curves, threshold=threshold).to_dicts():
            row["net_benefit"] = net_benefit(row, threshold, prevalence)
            for name in NUMBERS:
                text, value = shown[row["model"]][name].replace("−", "-"), row[name]
                if value is None:
                    assert text == "–"
                elif name in {"tp", "fp", "fn", "tn"}:
                    assert text == f"{value:,}"
                else:
                    assert float(text) == pytest.approx(value, abs=6e-4, rel=1e-6), name
        assert len(shown) == 2


def net_benefit(row, threshold, prevalence):
    """Return the net benefit of a row of `at` at the threshold of the slider, not of the row."""
    if row["model"] == "linear_svm":
        return None  # the scores are not probabilities
    if row["tp"] + row["fp"] == 0:
        return 0
    if not 0 <= threshold < 1:
        return None
    total = row["tp"] + row["fp"] + row["fn"] + row["tn"]
    share = (row["tp"] + row["fn"]) / total if prevalence is None else prevalence
    return share * row["tpr"] - (1 - share) * row["fpr"] * threshold / (1 - threshold)


def test_net_benefit_is_not_shown_if_no_scores_are_probabilities(vote):
    svm = vote.filter(pl.col("model") == "linear_svm")
    board = rf.dashboard(rf.curve(svm, "label", "score"))
    (shown,) = numbers(first_panel_and_numbers(strict(board))).values()
    assert list(shown) == NUMBERS[:-1]


@pytest.mark.parametrize("costs", [{"fp": 1, "fn": 1}, {"fp": 1, "fn": 5}, {"fp": 3, "fn": 1}])
def test_the_line_of_equal_cost_touches_the_cheapest_row_of_a_named_curve(vote, costs):
    subset = vote.filter(
        pl.col("model").is_in(["linear_svm", "random_forest"]), pl.col("fold") == 1
    )
    curves = rf.curve(subset, "label", "score", by="model", metrics="expected_cost", costs=costs)
    cheapest = curves.sort("expected_cost", maintain_order=True).row(0, named=True)
    board = first_panel_and_numbers(strict(rf.dashboard(curves, costs=costs)))
    found = [text for text in labels(board) if text.startswith("lowest cost")]
    threshold = f"{cheapest['threshold']:.7g}".replace("-", "−")
    assert found == [f"lowest cost of {cheapest['model']} at {threshold}"]
    assert cheapest["model"] in texts(board)


def test_the_lowest_cost_of_predicting_no_positive_has_the_threshold_inf():
    rows = pl.DataFrame({"label": [1, 0, 0, 0], "score": [0.1, 0.2, 0.3, 0.4]})
    board = rf.dashboard(rf.curve(rows, "label", "score"), costs={"fp": 50, "fn": 1})
    assert ">score ≥ inf</tspan>" in render(json.dumps(first_panel_and_numbers(strict(board))))


def test_costs_are_selected_as_ratios(by_model, board):
    (plain,) = (one for one in strict(board)["params"] if one["name"] == "rf_costs")
    labels = plain["bind"]["labels"]
    assert labels[:2] == ["1 : 100", "1 : 50"]
    assert labels[7:12] == ["1 : 2", "1 : 1", "2 : 1", "3 : 1", "4 : 1"]
    assert (plain["value"], plain["bind"]["options"][11]) == (1, 4)
    spec = strict(rf.dashboard(by_model, costs={"fp": 2, "fn": 5}))
    (given,) = (one for one in spec["params"] if one["name"] == "rf_costs")
    assert given["bind"]["labels"][given["bind"]["options"].index(0.4)] == "1 : 2.5"
    assert given["value"] == 0.4


def test_event_rates_of_scores_on_different_scales_do_not_share_an_axis(by_model, board):
    def shows_one_curve(board):
        panel = board.vconcat[0].concat[4].to_dict(validate=False)
        assert panel["title"]["text"] == "Event rate by score"
        (line,) = (layer for layer in panel["layer"] if layer["mark"]["type"] == "line")
        return any("window" in step for step in line["transform"])

    assert shows_one_curve(board)
    probabilities = by_model.filter(pl.col("model") != "linear_svm")
    assert not shows_one_curve(rf.dashboard(probabilities))


def test_a_threshold_changes_only_the_value_of_the_slider(by_model, board):
    expected = board.to_dict(validate=False)
    slider = next(one for one in expected["params"] if "value" in one)
    for threshold in (-0.7, 7.5):
        slider["value"] = [{"angle": threshold}]
        actual = rf.dashboard(by_model, threshold=threshold).to_dict(validate=False)
        assert plain_names(actual) == plain_names(expected)


def plain_names(spec):
    """Return a specification as text, with the views that Altair numbers renumbered from 0."""
    seen = {}
    text = json.dumps(spec)
    return re.sub(r"view_\d+", lambda found: seen.setdefault(found[0], f"view {len(seen)}"), text)


def test_the_matrix_is_that_of_the_first_curve(by_model, board_at_half):
    row = rf.at(by_model, threshold=0.5).row(0, named=True)
    shown = labels(board_at_half)
    for cell in ("tp", "fp", "fn", "tn"):
        assert f"{cell} {row[cell]}" in shown


def test_bins_count_all_rows_and_long_curves_are_thinned():
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"score": rng.random(50_000), "label": rng.random(50_000) < 0.3})
    curves = rf.curve(rows, "label", "score")
    board = rf.dashboard(curves)
    remaining = [one for one in records(board)[0]["threshold"] if one is not None]
    assert len(set(remaining)) <= ROWS
    assert board.title.subtitle == [
        f"{curves.height - len(set(remaining)) - 1:,} thresholds are omitted to limit the file size"
    ]
    bins = json.loads(board.vconcat[0].concat[3].data.values)
    assert [one["bin_pos"] + one["bin_neg"] for one in bins] == (
        rows["score"].hist(bins=[place / 20 for place in range(21)])["count"].to_list()
    )
    # Each row that is kept is a row of the table.
    shown = pl.DataFrame(
        {name: records(board)[0][name] for name in ("threshold", "tp", "fp")}, strict=False
    ).filter(pl.col("tp") % 1 == 0, pl.col("fp") % 1 == 0, pl.col("threshold").is_not_null())
    same = shown.cast({"tp": pl.Int64, "fp": pl.Int64}).join(
        curves, on=["threshold", "tp", "fp"], how="semi"
    )
    assert same["threshold"].n_unique() == len(set(remaining))


@pytest.mark.render
def test_twelve_long_curves_are_small():
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {"g": np.repeat(range(12), 5000), "score": rng.normal(size=60_000)}
    ).with_columns(label=pl.Series(rng.random(60_000) < 0.3))
    board = rf.dashboard(rf.curve(rows, "label", "score", by="g"))
    assert len(board.to_json(indent=None)) < 300_000


def test_more_than_twelve_curves_are_refused_and_none_is_left_out():
    rows = pl.DataFrame({"g": list(range(13)) * 2, "label": [0] * 13 + [1] * 13}).with_columns(
        score=0.5
    )
    curves = rf.curve(rows, "label", "score", by="g")
    with pytest.raises(rf.OptionValueError) as caught:
        curves.roc.dashboard()
    assert str(caught.value) == (
        "by=['g']: a dashboard shows at most 12 curves, but the table has 13.\n"
        "Select groups with .filter() first, or draw all of them with .roc.chart()."
    )
    assert len(records(rf.dashboard(curves.filter(pl.col("g") < 12)))) == 12


def test_curves_of_one_class_are_named_and_not_drawn():
    rows = pl.DataFrame({"m": list("aab"), "label": [1, 0, 1], "score": [0.9, 0.1, 0.5]})
    board = rf.dashboard(rf.curve(rows, "label", "score", by="m"))
    assert board.title.subtitle == ["Not drawn because one class is missing: b"]
    assert [record["label"] for record in records(board)] == ["a"]
    assert "b (AUC undefined)" in texts(first_panel_and_numbers(strict(board)))


def test_the_description_of_a_dashboard_without_curves_has_no_names():
    rows = pl.DataFrame({"m": ["b"], "label": [1], "score": [0.5]})
    board = rf.dashboard(rf.curve(rows, "label", "score", by="m"))
    assert board.description.startswith("Dashboard of 0 curves. ROC,")


@pytest.mark.parametrize("rows", [0, 1], ids=["no rows", "one class"])
def test_a_table_with_nothing_to_draw_has_empty_axes(rows):
    table = pl.DataFrame({"m": ["a"], "label": [True], "score": [0.5]}).head(rows)
    board = rf.dashboard(rf.curve(table, "label", "score", by="m"))
    assert records(board) == []
    assert {"ROC", "Precision-recall", "Gain", "Confusion matrix"} <= set(texts(board))


def test_infinite_scores_are_shown_as_at_finds_them():
    inf = float("inf")
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [inf, 0.5, 0.25, -inf]})
    curves = rf.curve(rows, "label", "score")
    for threshold in (0.3, 2, -5):
        row = rf.at(curves, threshold=threshold).row(0, named=True)
        board = rf.dashboard(curves, threshold=threshold)
        shown = numbers(first_panel_and_numbers(strict(board)))["all rows"]
        assert [shown[name] for name in ("tp", "fp", "fn", "tn")] == [
            str(row[name]) for name in ("tp", "fp", "fn", "tn")
        ]
        assert shown["threshold"] == f"{row['threshold']:g}"
    bins = json.loads(board.vconcat[0].concat[3].data.values)
    assert (bins[0]["scores"], bins[-1]["scores"]) == ("below 0.05", "from 0.95")


@pytest.mark.parametrize("lowest", [0.0, -sys.float_info.max, sys.float_info.max])
def test_scores_up_to_the_largest_float_are_drawn(lowest):
    scores = [sys.float_info.max, lowest, lowest]
    curves = rf.curve(pl.DataFrame({"label": [1, 0, 1], "score": scores}), "label", "score")
    spec = strict(rf.dashboard(curves))
    slider = next(one for one in spec["params"] if "value" in one)
    threshold = slider["value"][0]["angle"]
    row = rf.at(curves, threshold=threshold).row(0, named=True)
    shown = numbers(first_panel_and_numbers(spec))["all rows"]
    assert [shown[name] for name in ("tp", "fp")] == [str(row["tp"]), str(row["fp"])]
    assert slider["bind"]["max"] == sys.float_info.max


def test_precision_is_not_linear_between_points_of_a_tie_without_negatives():
    scores = [*(5 - i for i in range(5)), *[0] * 10, -1]
    rows = pl.DataFrame({"label": [0] * 5 + [1] * 10 + [0], "score": scores})
    (record,) = records(rf.dashboard(rf.curve(rows, "label", "score")))
    tp, fp = (np.array(record[name][1:]) for name in ("tp", "fp"))
    for n in (1, 2.5, 5, 7.5):
        assert np.interp(n, tp[:-1], (tp / (tp + fp))[:-1]) == pytest.approx(n / (n + 5), abs=2e-3)


def test_weighted_counts_are_written_with_their_fractions():
    rows = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4], "w": [1.5, 0.25, 2.0]})
    board = rf.dashboard(rf.curve(rows, "label", "score", weight="w"), threshold=0.9)
    shown = numbers(first_panel_and_numbers(strict(board)))["all rows"]
    assert [shown[name] for name in ("tp", "fp", "fn", "tn")] == ["1.5", "0", "2", "0.25"]


def slider_of(board) -> dict:
    return next(one for one in strict(board)["params"] if "value" in one)


def differences(curves: pl.DataFrame, slider: dict) -> pl.DataFrame:
    """Return tpr - fpr of each curve at the start of the slider (first row) and at each value."""
    start, bind = slider["value"][0]["angle"], slider["bind"]
    n_steps = round((bind["max"] - bind["min"]) / bind["step"])
    values = [round(bind["min"] + i * bind["step"], 9) for i in range(n_steps + 1)]
    points = curves.with_columns(difference=pl.col("tpr") - pl.col("fpr"))
    return pl.DataFrame(
        [
            rf.at(curve, threshold=[start, *values], by=[])["difference"].alias(str(i))
            for i, curve in enumerate(points.partition_by("model", include_key=False))
        ]
    )


def test_the_threshold_of_several_curves_starts_where_they_differ_most(by_model, board):
    slider = slider_of(board)
    assert (slider["bind"]["min"], slider["bind"]["max"]) == (-2.6, 1.2)
    found = differences(by_model, slider)
    spread = (found.max_horizontal() - found.min_horizontal()).round(9)
    assert spread[0] == spread.max() > 0


def test_the_threshold_of_one_curve_starts_at_the_largest_difference_of_its_rates():
    whole = pl.DataFrame({"label": [1, 0], "score": [1.0, 0.0]})
    slider = slider_of(rf.dashboard(rf.curve(whole, "label", "score")))
    # One step above the highest score, so that nothing can be called positive.
    assert (slider["value"], slider["bind"]["max"]) == ([{"angle": 0.5}], 1.001)
    subset = pl.DataFrame({"label": [1, 1, 0, 0], "score": [0.25, 0.2, 0.1, 0.05]})
    svm = rf.datasets.vote().filter(pl.col("model") == "linear_svm")
    forest = rf.datasets.vote().filter(pl.col("model") == "random_forest")
    for rows in (subset.with_columns(model=1), svm, forest):
        curves = rf.curve(rows, "label", "score", by="model")
        difference = differences(curves, slider_of(rf.dashboard(curves))).to_series()
        assert difference[0] == difference.max() > 0


def test_the_threshold_of_equal_curves_starts_at_the_largest_difference_of_their_rates():
    rows = pl.DataFrame({"label": [1, 1, 0, 0], "score": [0.25, 0.2, 0.1, 0.05]})
    twice = pl.concat([rows.with_columns(model=pl.lit(name)) for name in "ab"])
    curves = rf.curve(twice, "label", "score", by="model")
    difference = differences(curves, slider_of(rf.dashboard(curves)))["0"]
    assert difference[0] == difference.max() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": float("inf")}, "threshold=inf: expected a finite number."),
        ({"threshold": "0.5x"}, "threshold='0.5x': expected a finite number."),
        ({"prevalence": 0}, "prevalence=0: expected a number above 0 and below 1."),
        ({"costs": 5}, "costs=5: expected a dict of costs."),
        ({"costs": {"fp": 0}}, "costs['fp']=0: expected a finite number above 0."),
        ({"costs": {"fn": 5}}, "costs['fp']=0: expected a finite number above 0."),
        ({"costs": {"tp": 1}}, "costs='tp': "),
        ({"color": "fold"}, "color='fold': the frame has no group column of this name."),
        ({"color": "tp"}, "color='tp': expected a group column of the table."),
        ({"by": "fold"}, "by='fold': the frame has no column of this name."),
    ],
    ids=[
        "infinite",
        "text",
        "prevalence",
        "costs",
        "free",
        "unnamed",
        "gain",
        "color",
        "count",
        "by",
    ],
)
def test_an_option_out_of_range_is_named(by_model, options, message):
    with pytest.raises(rf.RocframeError) as caught:
        rf.dashboard(by_model, **options)
    assert str(caught.value).startswith(message)


def test_a_lazy_frame_is_refused(by_model):
    with pytest.raises(rf.LazyFrameError) as caught:
        rf.dashboard(by_model.lazy())
    assert str(caught.value) == (
        "dashboard: expected a DataFrame, but this is a LazyFrame.\n"
        "Collect the table first: curves.collect().roc.dashboard()."
    )


def test_a_table_that_is_not_a_curve_raises_an_error(vote):
    with pytest.raises(
        rf.BrokenCurveError, match=r"^curves: expected a curve table, but the table has no column"
    ):
        rf.dashboard(rf.auc(vote, "label", "score", by="model"))


def test_curves_at_given_thresholds_are_refused(vote):
    curves = rf.curve(vote, "label", "score", by="model", thresholds=[0.5])
    with pytest.raises(rf.BrokenCurveError, match=r"Compute the curves without thresholds="):
        rf.dashboard(curves)


@pytest.mark.render
def test_names_and_values_do_not_change_fields_and_expressions():
    # fmt: off
    names = ["^p.*$", "a.b", "a[0]", "a:Q", "count()", "", "\n", "'", '"', "\\", "<script>",
             "angle", "f0"]
    # fmt: on
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})

    def board(names):
        values = {name: pl.lit(name) for name in names}
        first = rows.select(pl.all(), **values)
        second = rows.select(pl.all(), **dict.fromkeys(names, pl.lit("b")))
        curves = rf.curve(pl.concat([first, second]), "label", "score", by=names)
        return rf.dashboard(curves)

    # What Vega reads as fields and expressions is the same, whatever the names are.
    plain = [f"m{i}" for i in range(len(names))]
    expected = {n: list(read(board(plain[:n]).to_dict(validate=False))) for n in (1, len(names))}
    with all_cases() as case:
        for odd in (names, names[::-1], ["a.b"], ["count()"], ["\\"]):
            with case(odd):
                assert list(read(board(odd).to_dict(validate=False))) == expected[len(odd)]
    assert len(numbers(first_panel_and_numbers(strict(board(names))))) == 2


def read(part):
    """Return fields and expressions of a specification, except those that look up captions."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in {"field", "fields", "calculate", "filter", "groupby", "x2", "y2"}:
                yield key, json.dumps(value)
            else:
                yield from read(value)
    elif isinstance(part, list):
        for one in part:
            yield from read(one)


def test_curves_of_two_keys_have_the_color_of_one_and_names_of_both(vote):
    subset = vote.filter(pl.col("fold") < 3, pl.col("model").is_in(["linear_svm", "naive_bayes"]))
    board = rf.dashboard(rf.curve(subset, "label", "score", by=["model", "fold"]), color="fold")
    part = first_panel_and_numbers(strict(board))
    assert list(numbers(part)) == [
        f"{model} · {fold}" for model in ("linear_svm", "naive_bayes") for fold in (1, 2)
    ]
    assert "fold (click: select one, shift-click: select several)" in texts(part)


@pytest.mark.render
def test_a_dashboard_can_be_concatenated_with_other_charts(by_model, board):
    both = board | rf.chart(by_model)
    assert "Evaluation by threshold" in texts(both)
    assert len(numbers(both)) == 6


def calibration_rates(board):
    """Return the mean score, the event rate, its limits and n of the bins that the chart shows."""
    marks = [label for label in labels(board) if "; score_mean: " in label]
    pairs = [dict(part.split(": ", 1) for part in label.split("; ")) for label in marks]
    names = ("score_mean", "event_rate", "lower", "upper", "n")
    return [(one["curve"], *(float(one[name].replace(",", "")) for name in names)) for one in pairs]


@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_event_rates_are_those_of_a_table_of_calibration(vote, prevalence):
    rows = vote.filter(pl.col("model").is_in(["naive_bayes", "random_forest"]))
    table = rf.calibration(rows, "label", "score", by="model", bins=5)
    curves = rf.curve(rows, "label", "score", by="model")
    board = rf.dashboard(curves, calibration=table, prevalence=prevalence)
    share = rows["label"].mean()
    factor = 1 if prevalence is None else prevalence / (1 - prevalence) * (1 - share) / share

    def converted(rate):
        return pytest.approx(factor * rate / (factor * rate + 1 - rate), rel=1e-3)

    names = ("model", "score_mean", "event_rate", "lower", "upper", "n")
    assert calibration_rates(board) == [
        (model, pytest.approx(score, rel=1e-3), *map(converted, rates), n)
        for model, score, *rates, n in table.select(names).rows()
    ]
    shown = texts(board)
    assert "Calibration" in shown
    assert "Event rate by score" not in shown


def test_curves_without_probabilities_have_no_calibration(vote, by_model):
    rows = vote.filter(model="naive_bayes")
    table = rf.calibration(rows, "label", "score", by="model", method="isotonic")
    board = rf.dashboard(by_model, calibration=table)
    found = {label.split("curve: ")[1].split(";")[0] for label in labels(board) if "; n: " in label}
    assert found == {"naive_bayes"}
    assert len([label for label in labels(board) if "; n: " in label]) == table.height


def test_calibration_of_a_dashboard_is_checked(vote, by_model):
    with pytest.raises(rf.OptionValueError, match="expected a table of calibration"):
        rf.dashboard(by_model, calibration=by_model)
    other = rf.calibration(vote.filter(model="naive_bayes"), "label", "score")
    with pytest.raises(rf.MissingColumnError) as caught:
        rf.dashboard(by_model, calibration=other)
    assert str(caught.value) == (
        "calibration: the curves have a column 'model', but the table does not.\n"
        "The table has: 'bin', 'score_mean', 'event_rate', 'lower', 'upper', 'score_min', "
        "'score_max', 'n', 'ci_level', 'ci_method', 'note', 'method'."
    )
