"""What holds for the chart of every table that has one."""

from __future__ import annotations

from importlib import import_module

import polars as pl
import pytest

import rocframe as rf
from rocframe.schemas import TABLES, table_of
from tests.charts.reading import spec, svg
from tests.test_names import PUNCTUATION

# Names that all verbs take, and those of fields in the data of charts.
NAMES = ["^p.*$", *PUNCTUATION, "שלום", "row", "x", "c0", "f0", "a very long name " * 9]

# Group v has no positives.
PREDICTIONS = pl.DataFrame(
    {
        "id": [*range(12)] * 3,
        "m": ["a"] * 12 + ["b"] * 12 + ["c"] * 12,
        "fold": [1, 1, 2, 2] * 9,
        "g": (["u"] * 8 + ["v"] * 4) * 3,
        "label": [True, False, True, False, True, False, True, False, *[False] * 4] * 3,
        "score": [i * 7 % 12 / 10 for i in range(36)],
    }
)
CLASSES = pl.DataFrame(
    {
        "g": ["u", "u", "u", "v"],
        "label": ["p", "q", "p", "q"],
        "p": [0.9, 0.2, 0.3, 0.1],
        "q": [0.1, 0.8, 0.7, 0.9],
    }
)
GRADES = pl.DataFrame(
    {
        "g": ["u"] * 7 + ["v"],
        "grade": [1, 1, 2, 2, 2, 3, 3, 1],
        "score": [0.1, 0.5, 0.4, 0.6, 0.7, 0.6, 0.9, 0.3],
    }
)


def curves(table: pl.DataFrame, by: str) -> pl.DataFrame:
    return rf.curve(table, "label", "score", by=["m", by] if by != "m" else "m")


MADE = {
    "auc": lambda table, by: rf.auc(table, "label", "score", by=[by, "m"]),
    "partial auc": lambda table, by: rf.auc(table, "label", "score", by=by, fpr=(0, 0.5)),
    "auc test": lambda table, by: rf.auc_test(table, "label", "score", by=[by, "m"]),
    "multiclass auc": lambda _, by: rf.multiclass_auc(
        CLASSES.rename({"g": by}), "label", ["p", "q"], by=by, ci=None
    ),
    "volume": lambda _, by: rf.volume(
        GRADES.rename({"g": by}), "grade", "score", by=by, classes=[1, 2, 3]
    ),
    "fold auc": lambda table, by: rf.fold_auc(table, "label", "score", by=by),
    "pooling gap": lambda table, by: rf.pooling_gap(table, "label", "score", by=by),
    "intervals": lambda table, by: rf.intervals(
        table, "label", "score", metrics=["tpr", "lift"], threshold=0.5, by=by, ci=None
    ),
    "comparison": lambda table, by: rf.compare(
        table, "label", "score", id="id", between="m", by=by
    ),
    "covariance": lambda table, by: rf.auc_covariance(
        table, "label", "score", id="id", between="m", by=by
    ),
    "band": lambda table, by: rf.band(table, "label", "score", by=by, grid=5),
    "band both ways": lambda table, by: rf.band(table, "label", "score", by=by, method="threshold"),
    "at": lambda table, by: rf.at(curves(table, by), tpr=[0.5, 0.9]),
    "at, between rows": lambda table, by: rf.at(curves(table, by), tpr=0.5, interpolate=True),
    "area": lambda table, by: rf.area(curves(table, by)),
    "area of precision-recall": lambda table, by: rf.area(curves(table, by), kind="pr"),
    "plan": lambda *_: rf.power(auc=[0.6, 0.7], n_pos=[10, 20], n_neg=30),
}
every_table = pytest.mark.parametrize("made", MADE.values(), ids=MADE)


def fields(part: object) -> set[str]:
    """All the fields that a specification, or a part of one, reads."""
    if isinstance(part, list):
        return set().union(*map(fields, part))
    if not isinstance(part, dict):
        return set()
    own = {part["field"]} if isinstance(part.get("field"), str) else set()
    return own.union(*(fields(value) for key, value in part.items() if key != "datasets"))


def test_every_table_has_a_chart_except_contrasts():
    assert {table.name for table in TABLES if table.drawing is None} == {"contrast"}


def test_every_drawing_is_a_function():
    for table in TABLES:
        if table.drawing is not None:
            module, name = table.drawing.split(":")
            assert callable(getattr(import_module(module), name))


@every_table
def test_every_table_is_drawn_and_said_in_words(made):
    table = made(PREDICTIONS, "g")
    chart = table.roc.chart()
    assert "NaN" not in svg(chart)
    assert chart.description.endswith(".")
    assert chart.title.text


@every_table
def test_the_chart_of_an_empty_table_is_empty(made):
    chart = made(PREDICTIONS, "g").clear().roc.chart()
    assert 'aria-roledescription="axis"' in svg(chart)
    assert any(f" 0 {things}" in chart.description for things in ("rows", "bands", "plans")) or (
        "0 points" in chart.description or "0 models" in chart.description
    )


@every_table
def test_an_option_that_a_drawing_does_not_read_raises(made):
    table = made(PREDICTIONS, "g")
    reads = table_of(table.columns).type.chart_options
    asked = {"color": "g", "facet": "g", "detail": "g", "kind": "roc", "by": "g"}
    for option in asked.keys() - set(reads):
        with pytest.raises(rf.RocframeError) as caught:
            table.roc.chart(**{option: asked[option]})
        assert str(caught.value).startswith(f"{option}={asked[option]!r}: charts of a table of")


@every_table
def test_a_group_of_any_name_is_drawn_under_it(made):
    table = made(PREDICTIONS, "g")
    expected = table.roc.chart()
    for name in NAMES:
        chart = table.rename({"g": name}, strict=False).roc.chart()
        assert chart.data.values == expected.data.values
    odd = table.rename({"g": "a\\.b"}, strict=False).roc.chart()
    assert fields(spec(odd)) == fields(spec(expected))
    assert "NaN" not in svg(odd)


@every_table
def test_group_values_of_any_kind_are_drawn(made):
    values = [*NAMES, "null", None]
    parts = [PREDICTIONS.filter(g="u").with_columns(g=pl.lit(value, pl.String)) for value in values]
    chart = made(pl.concat(parts), "g").roc.chart()
    assert "NaN" not in svg(chart)


@every_table
def test_columns_that_others_put_behind_a_table_change_nothing(made):
    table = made(PREDICTIONS, "g")
    more = table.with_columns(pl.lit(1).alias("a.b"), pl.lit(2).alias("x"))
    if table.columns[-1] in {"auc", "pr_auc"}:  # an area is the last column of its table
        with pytest.raises(rf.BrokenCurveError):
            more.roc.chart()
        return
    assert more.roc.chart().description == table.roc.chart().description


def test_a_table_of_contrasts_says_what_has_a_picture():
    table = rf.contrast(PREDICTIONS, "label", "score", id="id", between="m")
    with pytest.raises(rf.BrokenCurveError) as caught:
        table.roc.chart()
    assert str(caught.value) == (
        "chart: a table of contrasts has one test per group and no chart.\n"
        "Show the table, or draw .roc.compare(label, score, …): each pair, with its interval."
    )


def test_a_table_that_is_not_ours_says_which_are():
    with pytest.raises(rf.BrokenCurveError) as caught:
        rf.chart(PREDICTIONS)
    assert str(caught.value) == (
        "chart: this is no curve table, because it has no column 'threshold', 'tp', 'fp', 'fn', "
        "'tn'.\nMake one with .roc.curve(label, score, by=…), or pass an unchanged table of "
        "average, band, at, area, auc, auc_test, multiclass_auc, volume, fold_auc, pooling_gap, "
        "intervals, compare, auc_covariance, power, sample_size or detectable_difference."
    )
