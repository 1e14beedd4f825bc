from __future__ import annotations

import json

import polars as pl
import pytest

import rocframe as rf
from rocframe.reports.colors import painted
from rocframe.reports.figures import NONE, Drawn, board_of

ROWS = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})


def board(predictions, by=None, **options):
    curves = rf.curve(predictions, "label", "score", by=by, **options)
    areas = rf.auc(predictions, "label", "score", by=by, **options)
    return board_of(curves, Drawn.of(areas, None))


def groups(**keys):
    return ROWS.join(pl.DataFrame(keys), how="cross")


def names(made):
    """The curves that are shown."""
    first, _, _ = made.figure.alternative.partition(". ROC")
    return first.partition(": ")[2].split(", ")


def test_few_curves_are_all_shown():
    made = board(groups(model=["a", "b"]), "model")
    assert made.said == ""
    assert names(made) == ["a", "b"]
    assert "Dashboard of 2 curves: a, b" in made.figure.alternative


def test_of_many_those_with_the_most_rows_are_shown_and_counted():
    many = pl.concat([groups(model=list(range(15))), groups(model=[3, 14])])
    made = board(many, "model")
    assert made.said == "12 curves of 15 are shown: those with the most rows."
    assert names(made) == [*map(str, range(11)), "14"]


def test_of_two_keys_whole_values_of_the_second_are_shown():
    made = board(
        groups(model=["a", "b", "c"]).join(pl.DataFrame({"day": range(6)}), how="cross"),
        ["model", "day"],
    )
    said = "those of day = 0, day = 1, day = 2 and day = 3."
    assert made.said == f"12 curves of 18 are shown: {said}"
    assert made.figure.alternative.startswith(
        "Dashboard of 12 curves: a, 0, a, 1, a, 2, a, 3, b, 0"
    )


def test_groups_without_an_area_are_not_shown_and_that_is_said():
    rows = pl.concat([groups(model=["a"]), groups(model=["b"]).filter(label=1)])
    made = board(rows, "model")
    assert names(made) == ["a"]
    assert made.said == "1 curve of 2 is shown: that with an area."


@pytest.mark.parametrize("rows", [ROWS.clear(), ROWS.filter(label=1)])
def test_without_a_single_area_there_is_a_sentence_in_its_place(rows):
    made = board(rows)
    assert (made.figure, made.said) == (None, NONE)


def test_rows_without_a_score_count_as_errors_there_too():
    rows = ROWS.with_columns(score=pl.when(pl.int_range(pl.len()) > 0).then("score"))
    made = board(rows, missing="worst")
    spec = made.figure.spec
    (one,) = json.loads(spec["datasets"][spec["data"]["name"]])
    assert (one["pos"], one["neg"]) == (2, 2)


def test_titles_have_the_colors_of_the_page_and_keep_their_words():
    spec = {"title": {"text": "#59636e", "subtitle": ["#07469b"], "subtitleColor": "#59636e"}}
    assert painted({"layer": [spec], "title": "#59636e"}) == {
        "layer": [{"title": {**spec["title"], "subtitleColor": "var(--quiet, #59636e)"}}],
        "title": "#59636e",
    }
