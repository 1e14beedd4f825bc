"""The tables of a report: means over classes have no limits."""

from __future__ import annotations

import pytest

import rocframe as rf
from rocframe.reports.report import ReportOptions
from rocframe.reports.report_tables import areas_and_curves, report_tables

DIGITS = {digit: f"p{digit}" for digit in range(10)}


@pytest.fixture(scope="module")
def each():
    digits = rf.datasets.digits()
    few = digits.filter(digits["model"] == digits["model"][0])
    return rf.one_vs_rest(few, "label", DIGITS, id="id")


def more(each, over):
    options = ReportOptions(
        label="label", score="score", by=["model", "class"], over=over, count=None
    )
    return report_tables(each, options, *areas_and_curves(each, options))


def test_means_over_classes_have_no_limits_for_classes_share_their_instances(each):
    found = more(each, "class")
    assert found.folds.select("se", "lower", "upper").row(0) == (None, None, None)
    assert found.folds["mean_auc"][0] is not None
    assert found.averages["roc"]["tpr_lower"].null_count() == found.averages["roc"].height
