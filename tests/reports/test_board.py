from __future__ import annotations

import json

import polars as pl
import pytest

import rocframe as rf
from rocframe.reports.colors import with_page_colors
from rocframe.reports.figures import EMPTY_DASHBOARD, dashboard_section, select_curves

ROWS = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})


def board(predictions, by=None, **options):
    curves = rf.curve(predictions, "label", "score", by=by, **options)
    areas = rf.auc(predictions, "label", "score", by=by, **options)
    return dashboard_section(curves, select_curves(areas, None))


def groups(**keys):
    return ROWS.join(pl.DataFrame(keys), how="cross")


def names(made):
    """The curves that are shown."""
    first, _, _ = made.figure.alternative.partition(". ROC")
    return first.partition(": ")[2].split(", ")


def test_few_curves_are_all_shown():
    made = board(groups(model=["a", "b"]), "model")
    assert made.text == ""
    assert names(made) == ["a", "b"]
    assert "Dashboard of 2 curves: a, b" in made.figure.alternative


def test_of_many_those_with_the_most_rows_are_shown_and_counted():
    many = pl.concat([groups(model=list(range(15))), groups(model=[3, 14])])
    made = board(many, "model")
    assert made.text == "Shown: 12 of 15 curves, those with the most rows."
    assert names(made) == [*map(str, range(11)), "14"]


def test_of_two_keys_whole_values_of_the_second_are_shown():
    made = board(
        groups(model=["a", "b", "c"]).join(pl.DataFrame({"day": range(6)}), how="cross"),
        ["model", "day"],
    )
    those = "those of day = 0, day = 1, day = 2 and day = 3"
    assert made.text == f"Shown: 12 of 18 curves, {those}."
    assert made.figure.alternative.startswith(
        "Dashboard of 12 curves: a, 0, a, 1, a, 2, a, 3, b, 0"
    )


def test_groups_without_an_area_are_not_shown_and_that_is_said():
    rows = pl.concat([groups(model=["a"]), groups(model=["b"]).filter(label=1)])
    made = board(rows, "model")
    assert names(made) == ["a"]
    assert made.text == "Shown: 1 of 2 curves, those with an AUC."


@pytest.mark.parametrize("rows", [ROWS.clear(), ROWS.filter(label=1)])
def test_without_a_single_area_there_is_a_sentence_in_its_place(rows):
    made = board(rows)
    assert (made.figure, made.text) == (None, EMPTY_DASHBOARD)


def test_rows_without_a_score_count_as_errors_there_too():
    rows = ROWS.with_columns(score=pl.when(pl.int_range(pl.len()) > 0).then("score"))
    made = board(rows, missing="worst")
    spec = made.figure.spec
    (one,) = json.loads(spec["datasets"][spec["data"]["name"]])
    assert (one["pos"], one["neg"]) == (2, 2)


def test_titles_have_the_colors_of_the_page_and_keep_their_words():
    spec = {"title": {"text": "#59636e", "subtitle": ["#07469b"], "subtitleColor": "#59636e"}}
    assert with_page_colors({"layer": [spec], "title": "#59636e"}) == {
        "layer": [{"title": {**spec["title"], "subtitleColor": "var(--quiet, #59636e)"}}],
        "title": "#59636e",
    }
