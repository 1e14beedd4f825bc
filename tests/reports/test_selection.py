from __future__ import annotations

import json

import polars as pl
from polars.testing import assert_frame_equal

from rocframe.reports.evaluation import ReportOptions
from rocframe.reports.figures import (
    MAX_DRAWN_COLORS,
    MAX_DRAWN_CURVES,
    MAX_PANELS,
    select_curves,
    time_figure,
)
from rocframe.reports.grouped_curves import GroupedCurves, areas_and_curves, rows_of_groups
from rocframe.reports.tables import report_tables


def areas(**keys):
    """Return areas; the area and the rows of each group exceed those of the previous group."""
    n = len(next(iter(keys.values()), [0]))
    auc = [i / n for i in range(n)]
    return pl.DataFrame(
        {**keys, "auc": auc, "n_pos": range(n), "n_neg": [1] * n, "n_missing": [0] * n}
    )


def drawn(table, averaged=None):
    return pl.concat([groups for _, groups in select_curves(table, averaged).panels])


def test_a_small_number_of_curves_is_drawn_completely():
    undefined = areas(model=["a", None, "c"]).with_columns(auc=pl.lit(None, pl.Float64))
    for table in (areas(), areas(model=["a", None, "c"]), undefined):
        assert_frame_equal(drawn(table), table)
        assert select_curves(table, None).note("curves.parquet") == ""


def test_the_models_with_the_largest_areas_are_drawn_in_the_order_of_the_table():
    table = areas(segment=range(100))
    assert_frame_equal(drawn(table), table.tail(MAX_DRAWN_COLORS))
    assert select_curves(table, None).note("curves.parquet") == (
        "The charts show 12 of 100 curves: the 12 values of segment with the largest AUC. "
        "curves.parquet contains all curves."
    )
    falling = table.with_columns(n_pos=100 - pl.col("n_pos"))
    assert_frame_equal(drawn(falling), falling.tail(MAX_DRAWN_COLORS))


def test_models_are_selected_by_their_mean_area_over_all_charts():
    table = areas(model=[*range(20)] * 2, day=[1] * 20 + [2] * 20)
    table = table.with_columns(auc=pl.when(pl.col("day") == 2).then(0.3).otherwise("auc"))
    selection = select_curves(table, None)
    assert selection.color_values == [str(number) for number in range(8, 20)]
    assert selection.note(None) == (
        "The charts show 24 of 40 curves: the 12 values of model with the largest mean AUC."
    )


def test_evenly_spaced_dates_are_drawn_if_there_are_many():
    days = pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 5, 10), eager=True)
    table = areas(day=range(len(days))).with_columns(day=days)
    limited = table.head(MAX_DRAWN_CURVES)
    assert_frame_equal(drawn(limited), limited)
    days_drawn = drawn(table)["day"]
    assert (days_drawn.len(), days_drawn[0], days_drawn[-1]) == (
        MAX_DRAWN_CURVES,
        days[0],
        days[-1],
    )
    assert set(days_drawn.diff().drop_nulls().dt.total_days()) == {2, 3}
    assert select_curves(table, None).note(None) == (
        "The charts show 60 of 130 curves: 60 evenly spaced values of day."
    )


def test_a_model_is_drawn_with_all_its_folds():
    folds = {"fold": [*range(10)] * 9, "model": sorted([*"abcdefghi"] * 10), "run": ["x"] * 90}
    table = areas(**folds).select("run", "model", "fold", pl.exclude(*folds))
    selection = select_curves(table.rename({"run": "model", "model": "run"}), None)
    assert selection.n_drawn == 90
    selection = select_curves(
        table.select("model", pl.lit(1).alias("day"), pl.exclude("model")), None
    )
    ((_, groups),) = selection.panels
    assert groups.height == MAX_DRAWN_CURVES
    assert groups["model"].unique().sort().to_list() == [*"defghi"]
    assert selection.note(None) == (
        "The charts show 60 of 90 curves: at most 60 in each chart, starting with the model with "
        "the largest mean AUC."
    )


def test_groups_without_a_curve_do_not_count_toward_the_limit():
    table = areas(segment=range(100)).with_columns(auc=pl.when(pl.col("segment") < 50).then("auc"))
    assert drawn(table)["segment"].to_list() == [*range(38, 50)]
    thirteen = table.slice(38, 13)
    assert_frame_equal(drawn(thirteen), thirteen.head(12))
    assert select_curves(thirteen, None).note(None) == (
        "The charts show 12 of 13 curves. The AUC of 1 curve is undefined."
    )


def test_group_columns_may_have_any_name():
    for name in ("rows", "value", "area", "n", "auc_", "^p.*$", ""):
        table = areas(**{name: range(100)})
        assert_frame_equal(drawn(table), table.tail(MAX_DRAWN_COLORS))


def test_rows_of_groups_match_all_group_columns():
    keys = {"a": [1, 1, None], "b": [None, 2.0, float("nan")]}
    curves = pl.DataFrame({**keys, "threshold": [1.0, 2.0, 3.0]})
    for row in range(3):
        assert_frame_equal(rows_of_groups(curves, areas(**keys)[row]), curves[row])


def test_the_rows_of_groups_of_sorted_curves_are_those_of_the_table():
    keys = {"a": [None, 1, 1, 1, 2, 2], "b": [2.0, None, 2.0, float("nan"), 1.0, 2.0]}
    size = pl.Series("threshold", [3.0, 2.0, 1.0])
    curves = pl.DataFrame(keys).join(size.to_frame(), how="cross", maintain_order="left")
    grouped = GroupedCurves.from_table(curves)
    for rows in ([0], [3], [1, 2, 5], [5, 0], []):
        one, both = areas(a=keys["a"])[rows], areas(**keys)[rows]
        for groups in (one, both):
            assert_frame_equal(grouped.of_groups(groups), rows_of_groups(curves, groups))
    without = curves.drop("a", "b")
    all_rows = GroupedCurves.from_table(without).of_groups(areas(x=[1]).drop("x"))
    assert_frame_equal(all_rows, without)


def test_the_second_group_column_has_a_panel_for_each_of_its_largest_values():
    table = areas(model=["a", "b"] * 20, day=[None, *sorted([*range(19)] * 2), 19])
    selection = select_curves(table, None)
    assert (selection.color, selection.panel, selection.n_curves) == ("model", "day", 40)
    assert len(selection.panels) == MAX_PANELS
    assert selection.panels[-1][0] == "day = 19"
    assert selection.panels[0][0] == "day = 8"
    assert selection.color_values == ["a", "b"]
    assert selection.note(None) == (
        "The charts show 23 of 40 curves: the 12 values of day with the most rows."
    )


def test_folds_of_a_mean_count_as_one_group():
    table = areas(model=["a", "a", "b", None], fold=[1, 2, 1, 1])
    selection = select_curves(table, "fold")
    ((name, groups),) = selection.panels
    assert (name, selection.color, selection.panel, selection.n_curves) == (None, "model", None, 3)
    auc = [0.125, 0.5, 0.75]
    expected = {"model": ["a", "b", None], "auc": auc, "n_pos": [1, 2, 3], "n_neg": [2, 1, 1]}
    assert_frame_equal(groups, pl.DataFrame(expected))
    ((_, mean),) = select_curves(areas(fold=[1, 2]), "fold").panels
    assert mean.rows() == [(0.25, 1, 2)]


def test_many_areas_are_drawn_as_means_or_over_time():
    days = pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 1, 7), eager=True)
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.1, 0.4, 0.5]})
    keys = pl.DataFrame({"fold": days}).join(pl.DataFrame({"model": range(20)}), how="cross")
    predictions = keys.join(rows, how="cross")
    for over, n_drawn in (("fold", 20), (None, 12 * 7)):
        options = ReportOptions(label="label", score="score", by=["model", "fold"], over=over)
        tables = report_tables(predictions, options, *areas_and_curves(predictions, options))
        figure = time_figure(tables, select_curves(tables.areas, over))
        data = figure.spec["datasets"][figure.spec["data"]["name"]]
        assert len(json.loads(data)) == n_drawn


def test_the_averaged_group_column_may_be_a_sequence_of_one_name():
    def averaged(over):
        return ReportOptions(label="label", score="score", by=["model", "fold"], over=over).averaged

    assert averaged(["fold"]) == averaged(("fold",)) == averaged("fold") == "fold"
