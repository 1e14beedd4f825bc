"""Names of methods in words."""

from __future__ import annotations

from typing import get_args

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from rocframe.areas.auc import AREA_METHODS
from rocframe.averages.fold_auc import FOLD_METHODS, FoldIntervalMethod
from rocframe.averages.means import INTERVALS as MEAN_INTERVALS
from rocframe.averages.options import METHODS as AVERAGING_METHODS
from rocframe.averages.options import AverageInterval, AverageMethod
from rocframe.classes.multiclass_auc import BootstrapMethod
from rocframe.classes.volume import VolumeMethod
from rocframe.comparisons.compare import ComparisonMethod
from rocframe.comparisons.contrast import ContrastMethod
from rocframe.comparisons.decision_intervals import DecisionInterval
from rocframe.inference import METHOD_TEXTS, AUCIntervalMethod, method_text
from rocframe.metrics.intervals import PROPORTION_LIMITS, MetricIntervalMethod
from rocframe.options import GateMethod
from rocframe.probabilities.calibration import CalibrationInterval
from rocframe.resampling import BOOTSTRAPS
from rocframe.significance import AucTestMethod

METHODS = (
    AUCIntervalMethod,
    AucTestMethod,
    AverageInterval,
    BootstrapMethod,
    CalibrationInterval,
    ComparisonMethod,
    ContrastMethod,
    DecisionInterval,
    FoldIntervalMethod,
    GateMethod,
    MetricIntervalMethod,
    VolumeMethod,
)
# Methods of results that are not values of an option.
RESULTS = {"logit_delong_newcombe", "logit_delong_t", "permutation_exact", "venkatraman_exact"}


def test_each_method_has_a_record():
    assert list(AREA_METHODS) == list(get_args(AUCIntervalMethod))
    assert list(AVERAGING_METHODS) == list(get_args(AverageMethod))
    assert list(FOLD_METHODS) == list(get_args(FoldIntervalMethod))
    assert list(MEAN_INTERVALS) == list(get_args(AverageInterval))
    assert {*BOOTSTRAPS, *PROPORTION_LIMITS} == {*get_args(MetricIntervalMethod)}


def test_all_methods_have_names_in_words():
    names = {name for methods in METHODS for name in get_args(methods)} | RESULTS
    assert set(METHOD_TEXTS) == names
    assert not any("_" in text for text in METHOD_TEXTS.values())
    assert len(set(METHOD_TEXTS.values())) == len(METHOD_TEXTS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("logit_delong", "DeLong, logit scale"),
        ("delong_t_unpaired", "unpaired DeLong, t distribution"),
    ],
)
def test_methods_are_named_as_in_textbooks(name, text):
    assert method_text(name) == text


def test_methods_of_results_have_names_in_words():
    rng = np.random.default_rng(1)
    for n in (5, 8, 30, 300):
        rows = pl.DataFrame({"label": np.arange(n) % 2, "a": rng.random(n), "b": rng.random(n)})
        tables = [
            rf.auc(rows, "label", "a"),
            rf.auc(rows.with_columns(w=rng.random(n) + 1), "label", "a", weight="w"),
            rf.auc_test(rows, "label", "a", method="permutation", n_perm=20, seed=1),
            rf.compare(rows, "label", ["a", "b"], method="permutation", n_perm=20, seed=1),
            rf.intervals(
                rows, "label", "a", metrics=["tpr", "ks"], threshold=0.5, seed=1, n_boot=9
            ),
        ]
        for table in tables:
            column = "ci_method" if "ci_method" in table.columns else "test"
            assert set(table.get_column(column).drop_nulls()) <= set(METHOD_TEXTS)
