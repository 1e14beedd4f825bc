"""Calls with wrong arguments: each is an error that names the argument or the function to use."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from rocframe.namespace import lazy_methods
from rocframe.options import FRAME_ARGUMENTS, public
from tests.all_cases import all_cases

TABLE = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
CURVES = rf.curve(TABLE, "label", "score")
SCORE = pl.col("score").roc
FUNCTIONS = {
    name: getattr(rf, name) for name in rf.__all__ if inspect.isfunction(getattr(rf, name))
}
EXPRESSIONS = {f"expr.roc.{name}": getattr(SCORE, name) for name in lazy_methods(rf.RocExpr)}


def test_every_public_function_reports_unknown_arguments_and_can_be_pickled():
    with all_cases() as case:
        for name, function in {**FUNCTIONS, **EXPRESSIONS}.items():
            with case(name):
                with pytest.raises(rf.ArgumentError, match="unexpected keyword argument 'xyz'"):
                    function(xyz=1)
                assert function.__name__ == name.split(".")[-1]
        for name, function in FUNCTIONS.items():
            with case(name):
                assert pickle.loads(pickle.dumps(function)) is function


def test_a_type_error_inside_a_function_is_not_changed():
    def add(table: object) -> object:
        return table + 1

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        public(add)(TABLE.roc)
    assert not isinstance(caught.value, rf.RocframeError)


NO_FRAMES = {
    "a path": ("log.parquet", "pl.read_parquet(path) or pl.scan_parquet(path)."),
    "a csv file": (Path("log.csv"), "pl.read_csv(path) or pl.scan_csv(path)."),
    "a dict": ({"label": [1, 0], "score": [0.9, 0.1]}, "pl.DataFrame(…)."),
    "None": (None, "Pass a table"),
    "a list": ([1, 0], "table"),
    "an array": (np.array([1, 0]), "table"),
    "a Series": (pl.Series([1, 0]), "table"),
    "a number": (1, "pl.from_pandas(…)."),
    "a grouped table": (TABLE.group_by("label"), "by=."),
}


def test_every_function_of_a_table_says_how_to_make_one_of_other_objects(tmp_path):
    arguments = {"label": "label", "score": "score", "scores": {"a": "score"}}
    arguments |= {"path": tmp_path / "file.html", "metrics": "ks"}
    points = rf.mix(rf.curve(TABLE, "label", "score"), fpr=0.5)
    arguments |= {"points": points, "id": "id", "seed": 1, "prior": {0: 0.5, 1: 0.5}}
    arguments |= {"across": "model", "cost_ratio": (0.1, 1, 2)}
    arguments |= {"concavities": rf.concavities(rf.curve(TABLE, "label", "score"))}
    arguments |= {"time": "day", "every": "1w", "baseline": "a", "margin": 0.01}
    arguments |= {"fit": rf.fit_calibration(TABLE, "label", "score")}
    with all_cases() as case:
        for name, function in FUNCTIONS.items():
            names = [*inspect.signature(function).parameters]
            if not {*names[:1]} & {*FRAME_ARGUMENTS}:
                continue
            first, *others = inspect.signature(function).parameters.values()
            required = {
                one.name: arguments[one.name]
                for one in others
                if one.default is inspect.Parameter.empty
            }
            required |= {"tpr": 0.5} if function in {rf.at, rf.mix} else {}
            required |= {"metrics": "f1"} if function is rf.add_metrics else {}
            for what, (value, hint) in NO_FRAMES.items():
                with case(name, what):
                    with pytest.raises(rf.OptionValueError) as caught:
                        function(value, **required)
                    expected = "expected a DataFrame, LazyFrame or Arrow table, but this is "
                    assert str(caught.value).startswith(f"{first.name}: {expected}")
                    assert hint in str(caught.value).split("\n")[1]


COUNTS = "Use {}curve: each of its rows has the counts tp, fp, fn, tn at a threshold."
FILES = "Use rocframe.write for tables and rocframe.save_chart for charts."
NAMES = {
    "roc_auc": "Did you mean {}auc?",
    "roc_curve": "Did you mean {}curve?",
    "confusion_curve": COUNTS,
    "best": "Did you mean {}operating_point?",
    "coords": "Did you mean {}at?",
    "ci": "Use {}auc: its columns lower and upper are confidence limits.",
    "plot": "Did you mean {}chart?",
    "save": FILES,
    "brier_score": 'Use the expression pl.col("score").roc.brier("label").',
    "curvs": "Did you mean {}curve?",
}


def test_names_of_other_packages_suggest_the_name_in_rocframe():
    with all_cases() as case:
        for name, hint in NAMES.items():
            for owner, prefix in ((rf, "rocframe."), (TABLE.roc, ".roc.")):
                with case(prefix, name):
                    with pytest.raises(AttributeError) as caught:
                        getattr(owner, name)
                    assert str(caught.value).split("\n")[-1] == hint.format(prefix)
    with pytest.raises(AttributeError, match=r"Use the function rocframe\.write\.$"):
        TABLE.roc.write  # noqa: B018
    with pytest.raises(AttributeError, match=r"Use \.roc\.curve of a DataFrame or LazyFrame\.$"):
        SCORE.roc_curve  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'rocframe' has no attribute '__xyz__'$"):
        rf.__xyz__  # noqa: B018
