"""Dashboards before any interaction."""

from __future__ import annotations

import json
import re
import sys
from xml.etree import ElementTree as ET

import altair as alt
import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

import rocframe as rf
from rocframe.charts import dashboard_data
from rocframe.charts.dashboard import LOW_PANEL_HEIGHT, PANEL_WIDTH
from rocframe.charts.style import DARK, LIGHT
from tests.all_cases import all_cases
from tests.charts.specifications import render
from tests.charts.specifications import spec as strict

NUMBERS = [
    *("threshold", "tp", "fp", "fn", "tn", "tpr", "fpr", "precision", "accuracy", "alert_rate"),
    *("expected_cost", "net_benefit"),
]
COUNTS, RATES = NUMBERS[1:5], NUMBERS[5:]


def rendered(chart):
    """Return the picture of a chart or of a specification."""
    return ET.fromstring(render(json.dumps(chart if isinstance(chart, dict) else strict(chart))))


def marks(chart, name):
    """Return the elements of a named layer of the rendered chart."""
    groups = [node for node in rendered(chart).iter() if f" {name}_" in node.get("class", "")]
    return [
        part for group in groups for part in group if part.tag.endswith(("text", "path", "line"))
    ]


def texts(chart):
    """Return all text of the rendered chart."""
    nodes = rendered(chart).iter("{http://www.w3.org/2000/svg}text")
    return [text for node in nodes for text in node.itertext()]


def numbers(chart):
    """Return the numbers that the rendered chart shows for each curve, as text."""
    spec = chart if isinstance(chart, dict) else strict(chart)
    names = [mark.text for mark in marks(spec, "names")] or ["all rows"]
    columns = spec["vconcat"][-1]["layer"][0]["encoding"]["x"]["sort"]
    found = [mark.text for mark in marks(spec, "numbers")]
    rows = zip(*[iter(found)] * len(columns), strict=True)
    return {
        name: dict(zip(columns, row, strict=True)) for name, row in zip(names, rows, strict=True)
    }


def param(chart, name):
    """Return a parameter of a chart or of a specification."""
    params = chart["params"] if isinstance(chart, dict) else strict(chart)["params"]
    return next(one for one in params if one["name"] == name)


def at_threshold(spec, threshold):
    """Set the slider to a threshold."""
    param(spec, "rf_mode")["value"] = "score"
    param(spec, "rf_threshold")["value"] = [{"angle": threshold}]
    return spec


def at_rate(spec, mode, rate):
    """Set the slider to a rate."""
    param(spec, "rf_mode")["value"] = mode
    param(spec, "rf_rate")["value"] = [{"strokeWidth": rate}]
    return spec


def lines(chart):
    """Return the records of the drawn lines."""
    return json.loads(chart.vconcat[0].concat[0].layer[0].data.values, parse_constant=pytest.fail)


def panels_and_numbers(chart, *panels):
    """Return the specification with some panels and the numbers, which is faster to render.

    The first panel has the legend, and its points have the parameter of the threshold.
    """
    spec = chart if isinstance(chart, dict) else strict(chart)
    grid, numbers = spec["vconcat"]
    shown = [*(grid["concat"][panel] for panel in (0, *panels)), numbers]
    views = {layer["name"] for part in shown for layer in part["layer"] if "name" in layer}
    params = [one for one in spec["params"] if views.issuperset(one.get("views", ()))]
    return {**spec, "vconcat": shown, "params": params}


def shown_counts(numbers):
    """Return the counts among the numbers of a curve."""
    return [numbers[name] for name in COUNTS]


def counts_of(row):
    """Return the counts of a row of a table, as a dashboard shows them."""
    return [f"{row[name]:,}" for name in COUNTS]


def records(chart):
    return json.loads(chart.data.values, parse_constant=pytest.fail)


VOTE = rf.datasets.vote()
BY_MODEL = rf.curve(VOTE, "label", "score", by="model")
# Few rows of two models, because large dashboards take seconds to render.
TWO = VOTE.filter(pl.col("model").is_in(["linear_svm", "random_forest"]), pl.col("fold") <= 2)


@pytest.fixture(scope="module")
def board():
    return rf.dashboard(BY_MODEL)


def test_the_specification_of_a_dashboard_by_model_is_unchanged(board, assert_golden):
    assert_golden(board, "dashboard_by_model")


def test_the_specification_of_a_dashboard_without_groups_is_unchanged(assert_golden):
    curves = rf.curve(VOTE.filter(model="naive_bayes"), "label", "score")
    options = {"threshold": 0.5, "prevalence": 0.1, "costs": {"fp": 1, "fn": 5}}
    # Its parts are those of the dashboard by model, which is validated.
    assert_golden(rf.dashboard(curves, **options), "dashboard_without_groups", validate=False)


def test_texts_lines_and_bars_have_the_colors_of_the_theme():
    board = rf.dashboard(rf.curve(TWO, "label", "score", by="model"))
    for name, shown, other in (("rocframe", LIGHT, DARK), ("rocframe_dark", DARK, LIGHT)):
        with alt.theme.enable(name):
            spec = board.to_dict(validate=False)
        picture = render(json.dumps(panels_and_numbers(spec, 3, 4, 5)))
        assert f'fill="{shown.foreground}"' in picture
        for part in ("background", "foreground", "muted", "grid"):
            assert getattr(other, part) not in picture


@pytest.mark.parametrize(
    ("prevalence", "thresholds"), [(None, (0.2, 0.0, 1.0, -0.7, 7.5)), (0.1, (0.2,))]
)
def test_numbers_of_a_dashboard_are_those_of_at(prevalence, thresholds):
    options = {"prevalence": prevalence, "costs": {"fp": 2, "fn": 5}}
    curves = rf.curve(TWO, "label", "score", by="model", metrics=RATES[2:], **options)
    board = rf.dashboard(curves, threshold=0.2, **options)
    assert board.title.subtitle is alt.Undefined  # not a row is left out
    spec = strict(board)
    assert param(spec, "rf_threshold")["value"] == [{"angle": 0.2}]
    for threshold in thresholds:
        shown = numbers(panels_and_numbers(at_threshold(spec, threshold)))
        for row in rf.at(curves, threshold=threshold).to_dicts():
            row["net_benefit"] = net_benefit(row, threshold, prevalence)
            for name in NUMBERS:
                text, value = shown[row["model"]][name].replace("−", "-"), row[name]
                if value is None:
                    assert text == "–"
                elif value == float("inf"):
                    assert text == "no row"
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


def test_net_benefit_is_not_shown_if_no_scores_are_probabilities():
    board = rf.dashboard(rf.curve(TWO.filter(model="linear_svm"), "label", "score"))
    (shown,) = numbers(panels_and_numbers(board)).values()
    assert list(shown) == NUMBERS[:-1]


@pytest.mark.parametrize(("fp", "fn", "prevalence"), [(1, 5, None), (3, 1, None), (1, 5, 0.02)])
def test_a_dashboard_starts_at_the_row_of_lowest_cost_and_shows_its_curve_first(fp, fn, prevalence):
    options = {"costs": {"fp": fp, "fn": fn}, "prevalence": prevalence}
    rows = TWO.filter(fold=1)
    curves = rf.curve(rows, "label", "score", by="model", metrics="expected_cost", **options)
    cheapest = curves.sort("expected_cost", maintain_order=True).row(0, named=True)
    best = rf.operating_point(curves, "expected_cost", **options).filter(model=cheapest["model"])
    assert best["threshold"].to_list() == [cheapest["threshold"]]
    board = panels_and_numbers(rf.dashboard(curves, **options))
    first, *_ = numbers(board)
    assert first == cheapest["model"]
    assert shown_counts(numbers(board)[first]) == counts_of(cheapest)
    # The ring is at the shown row.
    shown = texts(board)
    position = shown.index("Lowest cost:")
    none = "no row is predicted positive"
    threshold = f"score ≥ {cheapest['threshold']:.4g}".replace("-", "−")
    expected = none if cheapest["tp"] + cheapest["fp"] == 0 else threshold
    assert shown[position + 1 : position + 3] == [first, expected]


def test_costs_are_shown_as_they_are_given(board):
    plain = param(board, "rf_costs")
    assert plain["bind"]["options"] == plain["bind"]["labels"]
    assert plain["bind"]["labels"][:2] == ["1 : 100", "1 : 50"]
    assert plain["bind"]["labels"][7:12] == ["1 : 2", "1 : 1", "2 : 1", "3 : 1", "4 : 1"]
    assert plain["value"] == "1 : 1"
    for costs, text in (({"fp": 2, "fn": 5}, "2 : 5"), ({"fp": 2, "fn": 10}, "2 : 10")):
        given = rf.dashboard(rf.curve(TWO, "label", "score", by="model"), costs=costs)
        assert param(given, "rf_costs")["value"] == text
        assert param(given, "rf_costs")["bind"]["options"].count(text) == 1
        shown = texts(panels_and_numbers(given))
        (heading,) = (one for one in shown if one.startswith("Numbers at"))
        assert heading.endswith(f"costs {text} (false positive : false negative)")


def test_event_rates_of_scores_on_different_scales_do_not_share_an_axis(board):
    def shows_one_curve(board):
        panel = board.vconcat[0].concat[4].to_dict(validate=False)
        assert panel["title"]["text"] == "Event rate by score"
        return panel["encoding"]["x"]["scale"].get("domain") != [0, 1]

    assert shows_one_curve(board)
    probabilities = BY_MODEL.filter(pl.col("model") != "linear_svm")
    assert not shows_one_curve(rf.dashboard(probabilities))


def test_a_threshold_changes_only_the_value_of_the_slider(board):
    expected = board.to_dict(validate=False)
    for threshold in (-0.7, 7.5):
        param(expected, "rf_threshold")["value"] = [{"angle": threshold}]
        actual = rf.dashboard(BY_MODEL, threshold=threshold).to_dict(validate=False)
        assert plain_names(actual) == plain_names(expected)


def plain_names(spec):
    """Return a specification as text, with the views that Altair numbers renumbered from 0."""
    seen = {}
    text = json.dumps(spec)
    return re.sub(r"view_\d+", lambda found: seen.setdefault(found[0], f"view {len(seen)}"), text)


def test_the_matrix_is_that_of_the_first_curve(board):
    spec = at_threshold(panels_and_numbers(board, 5), 0.5)
    first = next(iter(numbers(spec)))
    row = rf.at(BY_MODEL, threshold=0.5).filter(model=first).row(0, named=True)
    assert [mark.text for mark in marks(spec, "matrix")] == counts_of(row)


def long_curves(n_rows, n_models, seed=0):
    """Return curves of rare events, with as many thresholds as rows."""
    rng = np.random.default_rng(seed)
    label = rng.random((n_models, n_rows)) < 0.1
    scores = 1 / (1 + np.exp(3 - label - rng.normal(size=label.shape)))
    rows = pl.DataFrame({"label": label.ravel(), "score": scores.ravel()})
    names = np.repeat([f"m{i}" for i in range(n_models)], n_rows)
    return rf.curve(rows.with_columns(model=pl.Series(names)), "label", "score", by="model")


@pytest.mark.render
@pytest.mark.parametrize(("n_rows", "most"), [(20_000, 550_000), (100_000, 1_000_000)])
def test_long_curves_show_the_counts_of_at_for_every_value_of_the_slider(n_rows, most):
    curves = long_curves(n_rows, 2)
    board = rf.dashboard(curves)
    spec = panels_and_numbers(board)
    assert len(json.dumps(strict(board))) < most
    bind, (start,) = param(spec, "rf_threshold")["bind"], param(spec, "rf_threshold")["value"]
    hovered = [value for one in lines(board) for value in one["threshold"] if value is not None]
    steps = np.random.default_rng(1).integers(0, 1000, 3)
    values = [0.93, *(round(bind["min"] + k * bind["step"], 3) for k in steps.tolist())]
    for threshold in (start["angle"], *values, *hovered[:: len(hovered) // 3]):
        shown = numbers(at_threshold(spec, threshold))
        for row in rf.at(curves, threshold=threshold).to_dicts():
            assert shown_counts(shown[row["model"]]) == counts_of(row)


def thresholds_of(record):
    """Return the thresholds of a record of rows."""
    return [float(text) for text in record["t"].split(",")]


def test_all_rows_of_tables_of_medium_size_are_in_the_dashboard():
    curves = long_curves(20_000, 2)
    board = rf.dashboard(curves)
    assert board.title.subtitle is alt.Undefined
    for record, curve in zip(records(board), ("m0", "m1"), strict=True):
        exact = curves.filter(model=record["name"])["threshold"].to_numpy()
        shown = np.array(thresholds_of(record))
        assert len(shown) == len(exact)
        # A shown threshold predicts the same rows positive as the threshold of the row.
        assert (shown <= exact).all()
        assert (shown[:-1] > exact[1:]).all()
        assert curve in {record["name"] for record in records(board)}


def test_rows_with_small_counts_of_long_tables_are_kept(monkeypatch):
    monkeypatch.setattr(dashboard_data, "MAX_DASHBOARD_ROWS", 8000)
    curves = long_curves(20_000, 1)
    board = rf.dashboard(curves)
    (record,) = records(board)
    kept = len(thresholds_of(record))
    assert board.title.subtitle == [
        f"{curves.height - kept:,} thresholds between those of the slider are omitted"
    ]
    assert kept <= 8000
    small = curves.filter((pl.col("tp") < 200) | (pl.col("fp") < 200))
    assert kept > small.height
    assert record["increases"].split(",")[: small.height] == [
        "0" if i == 0 else "1" if step else ""
        for i, step in enumerate(small["tp"].diff().to_list())
    ]
    bins = json.loads(board.vconcat[0].concat[3].layer[0].data.values)
    assert sum(one["bin_pos"] + one["bin_neg"] for one in bins) == 20_000


@pytest.mark.render
@pytest.mark.parametrize(
    ("modes", "prevalence"), [(["alert_rate", "fpr", "tpr"], None), (["alert_rate"], 0.1)]
)
def test_the_slider_of_a_rate_finds_the_row_with_this_rate(modes, prevalence):
    options = {"metrics": "alert_rate", "prevalence": prevalence}
    curves = rf.curve(TWO, "label", "score", by="model", **options)
    spec = panels_and_numbers(rf.dashboard(curves, prevalence=prevalence))
    options = param(spec, "rf_mode")["bind"]["options"]
    assert options == ["score", "alert_rate", "fpr", "tpr"]
    for mode in modes:
        for rate in (0.0, 0.2, 1.0):
            shown = numbers(at_rate(spec, mode, rate))
            for (model,), rows in curves.group_by("model"):
                values = pl.col(mode).round(9)
                below = values < rate if mode == "tpr" else values <= rate
                n = rows.filter(below).height
                row = rows.row(n if mode == "tpr" else n - 1, named=True)
                assert shown_counts(shown[model]) == counts_of(row), (mode, rate, model)


def test_models_with_different_scales_start_with_the_slider_of_the_alert_rate(board):
    assert param(board, "rf_mode")["value"] == "alert_rate"
    probabilities = rf.dashboard(BY_MODEL.filter(pl.col("model") != "linear_svm"))
    assert param(probabilities, "rf_mode")["value"] == "score"


SEGMENTS = VOTE.filter(
    pl.col("model").is_in(["linear_svm", "naive_bayes", "random_forest"])
).with_columns(
    segment=pl.lit(["north", "south", "west", "east"]).list.get(pl.int_range(pl.len()) % 4)
)


def test_one_segment_is_shown_at_a_time():
    curves = rf.curve(SEGMENTS, "label", "score", by=["model", "segment"])
    part = panels_and_numbers(rf.dashboard(curves))
    one = param(part, "rf_segment_group_1")
    assert (one["value"], one["bind"]["options"]) == ("east", ["east", "north", "south", "west"])
    for segment in ("east", "west"):
        one["value"] = segment
        shown = numbers(part)
        assert sorted(shown) == [
            f"{model} · {segment}" for model in ("linear_svm", "naive_bayes", "random_forest")
        ]
        assert len(marks(part, "roc_lines")) == 3


def test_numbers_do_not_run_into_each_other():
    rows = SEGMENTS.with_columns(score=pl.col("score") / 10_000, n=pl.lit(100_000))
    curves = rf.curve(rows, "label", "score", by=["model", "segment"], count="n")
    spec = panels_and_numbers(rf.dashboard(curves, prevalence=0.0001))
    table = spec["vconcat"][-1]["layer"][0]["encoding"]["x"]
    left, right = table["scale"]["range"]
    column = (right - left) / len(table["sort"])
    for text in (text for row in numbers(spec).values() for text in row.values()):
        assert 6.2 * len(text) + 6 <= column, text


@pytest.mark.render
def test_twelve_long_curves_are_small():
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {"g": np.repeat(range(12), 5000), "score": rng.normal(size=60_000)}
    ).with_columns(label=pl.Series(rng.random(60_000) < 0.3))
    board = rf.dashboard(rf.curve(rows, "label", "score", by="g"))
    assert len(board.to_json(indent=None)) < 900_000


def test_up_to_twelve_curves_are_all_shown():
    rows = pl.DataFrame({"g": list(range(12)) * 2, "label": [0] * 12 + [1] * 12, "score": 0.5})
    assert len(records(rf.dashboard(rf.curve(rows, "label", "score", by="g")))) == 12


def test_curves_of_one_class_are_named_and_not_drawn():
    rows = pl.DataFrame({"m": list("aab"), "label": [1, 0, 1], "score": [0.9, 0.1, 0.5]})
    board = rf.dashboard(rf.curve(rows, "label", "score", by="m"))
    assert board.title.subtitle == ["Not drawn because one class is missing: b"]
    assert [record["label"] for record in records(board)] == ["a"]
    assert "b (AUC undefined)" in texts(panels_and_numbers(board))


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
        shown = numbers(panels_and_numbers(board))["all rows"]
        assert shown_counts(shown) == counts_of(row)
        assert shown["threshold"] == f"{row['threshold']:g}"
    bins = json.loads(board.vconcat[0].concat[3].layer[0].data.values)
    assert (bins[0]["scores"], bins[-1]["scores"]) == ("below 0.05", "from 0.95")


@pytest.mark.parametrize("lowest", [-sys.float_info.max, sys.float_info.max])
def test_scores_up_to_the_largest_float_are_drawn(lowest):
    scores = [sys.float_info.max, lowest, lowest]
    curves = rf.curve(pl.DataFrame({"label": [1, 0, 1], "score": scores}), "label", "score")
    spec = strict(rf.dashboard(curves))
    slider = param(spec, "rf_threshold")
    threshold = slider["value"][0]["angle"]
    row = rf.at(curves, threshold=threshold).row(0, named=True)
    shown = numbers(panels_and_numbers(spec))["all rows"]
    assert shown_counts(shown) == counts_of(row)
    assert slider["bind"]["max"] == sys.float_info.max


def test_precision_is_not_linear_between_points_of_a_tie_without_negatives():
    scores = [*(5 - i for i in range(5)), *[0] * 10, -1]
    rows = pl.DataFrame({"label": [0] * 5 + [1] * 10 + [0], "score": scores})
    (record,) = lines(rf.dashboard(rf.curve(rows, "label", "score")))
    tp, fp = (np.array(record[name][1:]) for name in ("tp", "fp"))
    for n in (1, 2.5, 5, 7.5):
        assert np.interp(n, tp[:-1], (tp / (tp + fp))[:-1]) == pytest.approx(n / (n + 5), abs=2e-3)


def test_weighted_counts_are_written_with_their_fractions():
    rows = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4], "w": [1.5, 0.25, 2.0]})
    board = rf.dashboard(rf.curve(rows, "label", "score", weight="w"), threshold=0.9)
    shown = numbers(panels_and_numbers(board))["all rows"]
    assert shown_counts(shown) == ["1.5", "0", "2", "0.25"]


def test_the_slider_ends_where_no_row_is_predicted_positive(board):
    slider = param(board, "rf_threshold")["bind"]
    assert (slider["min"], slider["max"]) == (-2.6, 1.2)
    whole = pl.DataFrame({"label": [1, 0], "score": [1.0, 0.0]})
    slider = param(rf.dashboard(rf.curve(whole, "label", "score")), "rf_threshold")
    # One step above the highest score, so that nothing can be called positive.
    assert (slider["value"], slider["bind"]["max"]) == ([{"angle": 1.0}], 1.001)


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
    assert len(numbers(panels_and_numbers(board(names)))) == 1


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


def test_curves_of_two_keys_have_the_color_of_one_and_names_of_both():
    board = rf.dashboard(rf.curve(TWO, "label", "score", by=["model", "fold"]), color="fold")
    part = panels_and_numbers(board)
    assert sorted(numbers(part)) == ["linear_svm · 1", "linear_svm · 2"]
    assert "fold (click: select one, double-click: all)" in texts(part)


@pytest.mark.render
def test_a_dashboard_can_be_concatenated_with_other_charts(board):
    both = board | rf.chart(BY_MODEL)
    assert "Evaluation by threshold" in texts(both)
    assert len(marks(both, "names")) == 6


def event_records(board):
    """Return the records of the panel of event rates."""
    return json.loads(board.vconcat[0].concat[4].layer[0].data.values)


def shown_rates(board):
    """Return the score, the event rate and its limits of each point, from its position."""
    board = panels_and_numbers(board, 4)

    def place(mark):
        return [float(part) for part in re.findall(r"-?\d[\d.e-]*", mark.get("transform"))]

    points = [place(mark) for mark in marks(board, "events_points") if mark.get("opacity") == "1"]
    ends = [(place(mark)[1], float(mark.get("y2"))) for mark in marks(board, "events_limits")]
    height = LOW_PANEL_HEIGHT
    return [
        (x / PANEL_WIDTH, *(1 - value / height for value in (y, low, low + across)))
        for (x, y), (low, across) in zip(points, ends, strict=True)
    ]


def test_event_rates_of_bins_have_wilson_limits():
    rows = VOTE.filter(model="naive_bayes")
    board = rf.dashboard(rf.curve(rows, "label", "score"))
    shown = event_records(board)
    bins = rows.group_by((pl.col("score") * 20).floor().clip(0, 19).cast(int)).agg(
        pos=pl.col("label").sum(), n=pl.len()
    )
    assert [one["n"] for one in shown] == bins.sort("score")["n"].to_list()
    for one, pos in zip(shown, bins.sort("score")["pos"], strict=True):
        interval = binomtest(int(pos), one["n"]).proportion_ci(0.95, method="wilson")
        assert (one["lower"], one["upper"]) == pytest.approx(tuple(interval), abs=1e-12)
    names = ("score_mean", "event_rate", "lower", "upper")
    assert shown_rates(board) == [
        tuple(pytest.approx(one[name], abs=1e-3) for name in names) for one in shown
    ]


@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_event_rates_are_those_of_a_table_of_calibration(prevalence):
    rows = VOTE.filter(pl.col("model").is_in(["naive_bayes", "random_forest"]))
    table = rf.calibration(rows, "label", "score", by="model", bins=5)
    curves = rf.curve(rows, "label", "score", by="model")
    board = rf.dashboard(curves, calibration=table, prevalence=prevalence)
    share = rows["label"].mean()
    factor = 1 if prevalence is None else prevalence / (1 - prevalence) * (1 - share) / share

    def converted(rate):
        return pytest.approx(factor * rate / (factor * rate + 1 - rate), abs=1e-3)

    names = ("score_mean", "event_rate", "lower", "upper")
    points = sorted(shown_rates(board))
    assert points == [
        (pytest.approx(score, abs=1e-3), *map(converted, rates))
        for score, *rates in sorted(table.select(names).rows())
    ]
    shown = texts(panels_and_numbers(board, 4))
    assert "Calibration" in shown
    assert "Event rate by score" not in shown


def test_curves_without_probabilities_have_no_calibration():
    rows = VOTE.filter(model="naive_bayes")
    table = rf.calibration(rows, "label", "score", by="model", method="isotonic")
    shown = event_records(rf.dashboard(BY_MODEL, calibration=table))
    assert {one["label"] for one in shown} == {"naive_bayes"}
    assert len([one for one in shown if one["_layer"] == "level"]) == table.height
