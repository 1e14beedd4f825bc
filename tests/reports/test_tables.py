"""The tables of a report of one class against the rest."""

from __future__ import annotations

import pytest

import rocframe as rf
from rocframe.reports.evaluation import ReportOptions
from rocframe.reports.grouped_curves import areas_and_curves
from rocframe.reports.tables import report_tables

DIGITS = {digit: f"p{digit}" for digit in range(10)}


@pytest.fixture(scope="module")
def predictions():
    digits = rf.datasets.digits()
    model = digits.filter(digits["model"] == digits["model"][0])
    return rf.one_vs_rest(model, "label", DIGITS, id="id")


def tables_of(predictions, over):
    options = ReportOptions(
        label="label", score="score", by=["model", "class"], over=over, count=None
    )
    return report_tables(predictions, options, *areas_and_curves(predictions, options))


def test_means_over_classes_have_no_limits_because_classes_share_instances(predictions):
    tables = tables_of(predictions, "class")
    assert tables.mean_areas.select("se", "lower", "upper").row(0) == (None, None, None)
    assert tables.mean_areas["mean_auc"][0] is not None
    assert tables.mean_curves["roc"]["tpr_lower"].null_count() == tables.mean_curves["roc"].height
