from __future__ import annotations

from datetime import UTC, date, datetime, time

import polars as pl
import pytest

from rocframe.cli.options import EvaluationOptions, parse_value


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("yes", pl.String(), "yes"),
        ("1", pl.String(), "1"),
        ("1", pl.Enum(["0", "1"]), "1"),
        ("true", pl.Boolean(), True),
        ("False", pl.Boolean(), False),
        ("0", pl.Boolean(), False),
        ("yes", pl.Boolean(), "yes"),
        ("2", pl.Int64(), 2),
        ("-1", pl.Int8(), -1),
        ("1.0", pl.Int64(), 1.0),
        ("1.5", pl.Float32(), 1.5),
        ("yes", pl.Int64(), "yes"),
        ("2024-02-29", pl.Date(), date(2024, 2, 29)),
        ("2024-02-29T13:00Z", pl.Datetime("ms", "UTC"), datetime(2024, 2, 29, 13, tzinfo=UTC)),
        ("13:00", pl.Time(), time(13)),
        ("noon", pl.Time(), "noon"),
        ("1d", pl.Duration(), "1d"),
        ("yes", pl.Binary(), b"yes"),
    ],
)
def test_a_text_gets_the_dtype_of_the_labels(text, dtype, value):
    actual = parse_value(text, dtype)
    assert actual == value
    assert type(actual) is type(value)


def test_a_missing_positive_class_is_none():
    assert parse_value(None, pl.String()) is None


def test_costs_are_options_of_the_report():
    options = EvaluationOptions(label="label", score=["score"], cost=["fp=1,fn=5"], prevalence=0.2)
    report = options.report_options({})
    assert (report.costs, report.prevalence) == ({"fp": 1.0, "fn": 5.0}, 0.2)


def test_a_capacity_is_an_option_of_the_report():
    options = EvaluationOptions(
        label="label", score=["score"], subject_to=["alerts=:100", "precision=0.5:"]
    )
    report = options.report_options({})
    assert report.subject_to == {"alerts": (None, 100.0), "precision": (0.5, None)}
