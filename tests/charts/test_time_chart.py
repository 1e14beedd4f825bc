import re
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import encodings, marks, records, spec, svg

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
    drawn = pl.DataFrame(records(chart)).sort("segment", "window")
    assert drawn["window"].to_list() == [f"{day}T00:00:00.000Z" for day in table["window"]]
    assert drawn["window_end"].to_list() == [str(day) for day in table["window_end"]]
    rings = re.findall(
        r'aria-roledescription="point"[^>]*stroke="[^"]+" stroke-width="2"', svg(chart)
    )
    assert len(rings) == table.filter(pl.col("p_adjusted") < 0.05).height == 3
    assert drawn["_has_line"].all()
    for name in ("auc", "lower", "upper", "reference_auc", "reference_lower", "reference_upper"):
        assert drawn[name].to_list() == table[name].round_sig_figs(7).to_list()
    assert marks(chart) == ["line", "rect", "rule", "bar", "point", "point"]
    assert spec(chart)["title"] == {
        "text": "Area under the ROC curve in windows of 1 week",
        "subtitle": (
            "95 % intervals (not adjusted), test: unpaired DeLong, t distribution. "
            "Dashed: reference. Rings: adjusted p < 0.05"
        ),
        "anchor": "start",
    }
    assert (
        "The dashed line is the AUC of the reference, and the band is its interval. "
        "3 windows with an adjusted p-value below 0.05. app 2026-01-26: 0."
    ) in spec(chart)["description"]


def test_the_chart_of_the_drift_of_scores_shows_the_table(weeks):
    shifted = pl.col("score") + (pl.col("window") >= pl.date(2026, 1, 26)).cast(pl.Float64)
    table = rf.score_drift(weeks.with_columns(shifted), "score", by="segment", level=0.9)
    chart = table.sample(fraction=1, shuffle=True, seed=1).roc.chart()
    drawn = pl.DataFrame(records(chart)).sort("segment", "window")
    for name in ("psi", "psi_critical", "psi_p_adjusted", "ks", "missing_share"):
        assert drawn[name].to_list() == table[name].round_sig_figs(7).to_list()
    rings = re.findall(
        r'aria-roledescription="point"[^>]*stroke="[^"]+" stroke-width="2"', svg(chart)
    )
    assert len(rings) == table.filter(pl.col("psi_p_adjusted") < 0.1).height == 6
    assert marks(chart) == ["line", "line", "point", "point"]
    assert encodings(chart, "y")[0]["field"] == "psi_critical"
    assert spec(chart)["title"] == {
        "text": "Population stability index in windows of 1 week",
        "subtitle": "Dashed: exceeded by 10 % without drift. Rings: adjusted p < 0.1",
        "anchor": "start",
    }
    assert "6 windows with an adjusted p-value below 0.1. " in chart.description
    assert "app 2026-01-26: 0.343" in chart.description
    lowest, _ = spec(chart)["spec"]["encoding"]["y"]["scale"]["domain"]
    assert lowest <= 0


def test_each_line_has_a_panel(weeks):
    models = pl.concat([weeks.with_columns(model=pl.lit(name)) for name in ("a", "b")])
    table = rf.drift(models, "label", "score", by="model")
    chart = table.roc.chart()
    assert spec(chart)["facet"]["field"] == "model"
    assert encodings(chart, "color") == []
    table = rf.drift(models, "label", "score", by=["model", "segment"])
    chart = table.roc.chart()
    assert spec(chart)["facet"]["field"] == "model · segment"
    assert spec(chart)["facet"]["sort"] == ["a · app", "a · web", "b · app", "b · web"]
    assert encodings(chart, "x")[0]["title"] == "start of window (1 week)"
    low, high = encodings(chart, "y")[0]["scale"]["domain"]
    ends = table.select(pl.min_horizontal("lower", "reference_lower").min(), pl.col("upper").max())
    assert [low, high] == pytest.approx([ends[0, 0], ends[0, 1]], rel=1e-6)
    assert "facet" not in spec(table.roc.chart(color=None))


def test_lines_with_colors_and_many_lines_are_in_panels_of_the_other_columns(weeks):
    names = [f"m{i}" for i in range(7)]
    models = pl.concat([weeks.with_columns(model=pl.lit(name)) for name in names])
    table = rf.auc(models, "label", "score", by=["model", "segment", "window"], ci=None)
    two = table.filter(pl.col("model").is_in(names[:2]))
    for chart, n in ((table.roc.chart(), 7), (two.roc.chart(color="model"), 2)):
        assert spec(chart)["facet"]["sort"] == ["app", "web"]
        assert encodings(chart, "color")[0]["scale"]["domain"] == names[:n]


@pytest.mark.parametrize(
    ("every", "length"),
    [("1w", "1 week"), ("2w", "2 weeks"), ("3d", "3 days"), ("1mo", "1 month"), ("1y", "1 year")],
)
def test_the_title_states_the_length_of_windows_in_words(log, every, length):
    windows = rf.windows(log, "day", every=every)
    table = rf.drift(windows, "label", "score", reference=log)
    assert spec(table.roc.chart())["title"]["text"] == (
        f"Area under the ROC curve in windows of {length}"
    )


def test_a_group_without_values_has_a_reason_and_no_legend(weeks):
    without = weeks.with_columns(pl.col("label") & (pl.col("segment") == "app"))
    table = rf.drift(without, "label", "score", by="segment")
    chart = table.roc.chart(color="segment")
    assert encodings(chart, "color")[0]["legend"]["values"] == ["app"]
    assert chart.title.subtitle.endswith(" Not drawn: web")
    assert chart.description.endswith(" Not drawn: web.")
    panels = table.roc.chart(facet="segment")
    reasons = [record.get("_reason") for record in records(panels)]
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
    assert not any(record["_has_line"] for record in records(chart))
    assert marks(chart) == ["line", "bar", "point", "point"]
    assert spec(chart)["title"]["subtitle"] == (
        "90 % intervals (not adjusted), test: unpaired DeLong, t distribution. "
        "Rings: adjusted p < 0.1"
    )


def test_the_interval_of_a_reference_table_is_drawn(log):
    before = log.filter(pl.col("day") < MONDAY + timedelta(weeks=2))
    live = rf.windows(log.join(before, on="day", how="anti"), "day", every="1w")
    chart = rf.drift(live, "label", "score", reference=before).roc.chart()
    area = rf.auc(before, "label", "score")
    drawn = {(r["reference_auc"], r["reference_lower"], r["_has_line"]) for r in records(chart)}
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
    assert records(chart)[0]["batch"] == first
    assert {"segment", "model"} <= {*records(chart)[0]}


@pytest.mark.parametrize("by", [["day"], ["segment", "day"]])
def test_rows_without_a_date_are_named(log, by):
    some = log.filter(pl.col("day") < MONDAY + timedelta(days=4)).with_columns(
        day=pl.when(pl.col("day") > MONDAY).then("day")
    )
    table = rf.auc(some, "label", "score", by=by)
    names = "app · day null, web · day null" if "segment" in by else "day null"
    chart = table.roc.chart()
    assert chart.title.text == "Area under the ROC curve over day"
    assert chart.title.subtitle == (
        f"95 % intervals (DeLong, logit scale, or Newcombe if wider). Not drawn: {names}"
    )
    assert chart.description.endswith(f" Not drawn: {names}.")
    # Two dates have a dot plot, which also shows the rows without a date.
    two = table.filter(pl.col("day").ne_missing(MONDAY + timedelta(days=3))).roc.chart()
    assert two.title.text == "Area under the ROC curve"


def test_areas_of_windows_with_ends_are_drawn_over_time(weeks):
    table = rf.auc(weeks, "label", "score", by=["segment", "window", "window_end"])
    title = "Area under the ROC curve in windows of 1 week"
    assert spec(table.roc.chart())["title"]["text"] == title
    assert len(records(table.roc.chart())) == 12
