from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import encodings, marks, records, spec

MONDAY = date(2026, 1, 5)


@pytest.fixture(scope="module")
def log():
    """Predictions of two segments in six weeks; one of them is worse in the last three weeks."""
    rng = np.random.default_rng(4)
    n = 6 * 7 * 60
    day = np.repeat(np.arange(42), 60)
    segment = rng.choice(["app", "web"], n)
    label = rng.random(n) < 0.3
    shift = np.where((segment == "app") & (day >= 21), 0.3, 2.0)
    return pl.DataFrame(
        {
            "day": [MONDAY + timedelta(days=int(i)) for i in day],
            "segment": segment,
            "label": label,
            "score": rng.normal(size=n) + shift * label,
        }
    )


@pytest.fixture(scope="module")
def weeks(log):
    return rf.windows(log, "day", every="1w")


def test_the_chart_of_drift_shows_the_table(weeks):
    table = rf.drift(weeks, "label", "score", by="segment")
    chart = table.sample(fraction=1, shuffle=True, seed=1).roc.chart()
    drawn = pl.DataFrame(records(chart)).sort("f0", "time")
    assert drawn["time"].to_list() == [f"{day}T00:00:00.000Z" for day in table["window"]]
    assert drawn["end"].to_list() == [str(day) for day in table["window_end"]]
    for name, column in (("auc", "auc"), ("low", "lower"), ("high", "upper")):
        assert drawn[name].to_list() == table[column].round_sig_figs(7).to_list()
    assert drawn["ring"].to_list() == (table["p_adjusted"] < 0.05).fill_null(value=False).to_list()
    assert drawn.filter("ring")["f0"].unique().to_list() == ["app"]
    assert drawn["line"].all()
    for name in ("reference_auc", "reference_lower", "reference_upper"):
        assert drawn[name].to_list() == table[name].round_sig_figs(7).to_list()
    assert marks(chart) == ["line", "rect", "rule", "rule", "point", "point"]
    assert spec(chart)["title"] == {
        "text": "Area under the ROC curve over window",
        "subtitle": (
            "95 % intervals (not adjusted), test: unpaired DeLong (t). Dashed: reference. "
            "Rings: adjusted p < 0.05"
        ),
        "anchor": "start",
    }
    assert (
        "The dashed line is the AUC of the reference, and the band is its interval. "
        "3 windows with an adjusted p-value below 0.05. app 2026-01-26: 0."
    ) in spec(chart)["description"]


def test_lines_of_two_group_columns_are_in_panels(weeks):
    models = pl.concat([weeks.with_columns(model=pl.lit(name)) for name in ("a", "b")])
    table = rf.drift(models, "label", "score", by=["model", "segment"])
    chart = table.roc.chart()
    panel, color = spec(chart)["facet"]["field"], encodings(chart, "color")[0]["field"]
    lines = {(record[panel], record[color]) for record in records(chart)}
    assert lines == {("app", "a"), ("app", "b"), ("web", "a"), ("web", "b")}
    assert encodings(chart, "x")[0]["title"] == "start of window"
    assert "facet" not in spec(table.roc.chart(color=None))


def test_a_group_without_values_has_a_reason_and_no_legend(weeks):
    without = weeks.with_columns(pl.col("label") & (pl.col("segment") == "app"))
    table = rf.drift(without, "label", "score", by="segment")
    chart = table.roc.chart()
    assert encodings(chart, "color")[0]["legend"]["values"] == ["app"]
    assert chart.title.subtitle.endswith(" Not drawn: web")
    assert chart.description.endswith(" Not drawn: web.")
    panels = table.roc.chart(facet="segment")
    reasons = [record.get("empty") for record in records(panels)]
    assert [reason for reason in reasons if reason] == ["no positives"]
    assert "Not drawn" not in panels.title.subtitle + panels.description


def test_groups_without_an_area_on_any_date_are_named(log):
    without = pl.concat([log.with_columns(model=pl.lit(name)) for name in ("a", "b", "c")])
    empty = pl.col("segment").eq("web") & pl.col("model").eq("a") | pl.col("model").eq("b")
    without = without.with_columns(pl.col("label") & ~empty)
    table = rf.auc(without, "label", "score", by=["segment", "model", "day"])
    title = table.roc.chart(color="segment", facet="model").title
    assert title.subtitle.endswith(" Not drawn: web · a")
    title = table.roc.chart(color="model", facet="segment").title
    assert title.subtitle.endswith(" Not drawn: app · b, web · a, web · b")


def test_the_ticks_of_windows_are_at_their_starts(weeks):
    table = rf.drift(weeks, "label", "score")
    (first, *others) = encodings(table.roc.chart(), "x")[0]["axis"]["values"]
    assert first == {"year": 2026, "month": 1, "date": 5, "utc": True}
    assert len(others) == 5
    hours = table.with_columns(pl.col("window").cast(pl.Datetime) + pl.duration(hours=6))
    assert "axis" not in encodings(hours.roc.chart(), "x")[0]


def test_windows_with_different_references_have_no_line(weeks):
    table = rf.drift(weeks, "label", "score", by="segment", reference="previous", level=0.9)
    chart = table.roc.chart(facet="segment")
    assert not any(record["line"] for record in records(chart))
    assert marks(chart) == ["line", "rule", "point", "point"]
    assert spec(chart)["title"]["subtitle"] == (
        "90 % intervals (not adjusted), test: unpaired DeLong (t). Rings: adjusted p < 0.1"
    )


def test_the_interval_of_a_reference_table_is_drawn(log):
    before = log.filter(pl.col("day") < MONDAY + timedelta(weeks=2))
    live = rf.windows(log.join(before, on="day", how="anti"), "day", every="1w")
    chart = rf.drift(live, "label", "score", reference=before).roc.chart()
    area = rf.auc(before, "label", "score")
    drawn = {(r["reference_auc"], r["reference_lower"], r["line"]) for r in records(chart)}
    expected = (*area.select(pl.col("auc", "lower").round_sig_figs(7)).row(0), True)
    assert drawn == {expected}


@pytest.mark.parametrize(
    ("cast", "kind", "first"),
    [(pl.Int64, "quantitative", 20458), (pl.String, "ordinal", "2026-01-05")],
)
def test_windows_can_be_numbers_and_names(weeks, cast, kind, first):
    table = weeks.with_columns(batch=pl.col("window").cast(cast))
    chart = rf.drift(table, "label", {"a": "score"}, over="batch", by="segment").roc.chart()
    assert encodings(chart, "x")[0]["type"] == kind
    assert records(chart)[0]["time"] == first
    assert [name for name in records(chart)[0] if name.startswith("f")] == ["f0", "f1"]


@pytest.mark.parametrize("by", [["day"], ["segment", "day"]])
def test_rows_without_a_date_are_named(log, by):
    some = log.filter(pl.col("day") < MONDAY + timedelta(days=4)).with_columns(
        day=pl.when(pl.col("day") > MONDAY).then("day")
    )
    table = rf.auc(some, "label", "score", by=by)
    names = "app · day null, web · day null" if "segment" in by else "day null"
    chart = table.roc.chart()
    assert chart.title.text == "Area under the ROC curve over day"
    assert chart.title.subtitle == (f"95 % intervals (logit_delong_newcombe). Not drawn: {names}")
    assert chart.description.endswith(f" Not drawn: {names}.")
    # Two dates have a dot plot, which also shows the rows without a date.
    two = table.filter(pl.col("day").ne_missing(MONDAY + timedelta(days=3))).roc.chart()
    assert two.title.text == "Area under the ROC curve"


def test_areas_of_windows_with_ends_are_drawn_over_time(weeks):
    table = rf.auc(weeks, "label", "score", by=["segment", "window", "window_end"])
    assert spec(table.roc.chart())["title"]["text"] == "Area under the ROC curve over window"
    assert len(records(table.roc.chart())) == 12


def test_a_table_without_its_windows_has_no_chart(weeks):
    table = rf.drift(weeks, "label", "score").drop("window", "window_end")
    with pytest.raises(rf.BrokenCurveError) as error:
        table.roc.chart()
    assert str(error.value) == (
        "chart: the table has no column of windows.\nPass an unchanged table of drift."
    )
