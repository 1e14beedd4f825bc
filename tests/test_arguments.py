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
AUC = (
    "Arguments: predictions, label, score, by, fpr, tpr, specificity, sensitivity, alert_rate, "
    "standardize, ci, level, n_boot, seed, cluster, positive, weight, count, missing."
)
AT = (
    "Arguments: curves, threshold, fpr, tpr, alert_rate, tnr, fnr, fall_out, recall, sensitivity, "
    "hit_rate, rpp, yrate, specificity, miss_rate, rnp, interpolate, by."
)


def auc(**arguments):
    return rf.auc(TABLE, "label", "score", **arguments)


def unexpected(name: str, hint: str) -> str:
    return f"auc: unexpected keyword argument {name!r}.\n{AUC}\n{hint}"


WRONG = [
    (lambda: auc(pos_label=1), unexpected("pos_label", "Use positive= instead.")),
    (lambda: auc(group_by="g"), unexpected("group_by", "Use by= instead.")),
    (lambda: auc(groupby="g"), unexpected("groupby", "Use by= instead.")),
    (lambda: auc(sample_weight="w"), unexpected("sample_weight", "Use weight= instead.")),
    (lambda: auc(random_state=1), unexpected("random_state", "Use seed= instead.")),
    (lambda: auc(conf_level=0.9), unexpected("conf_level", "Use level= instead.")),
    (lambda: auc(method="delong"), unexpected("method", "Use ci= instead.")),
    (lambda: auc(max_fpr=0.1), unexpected("max_fpr", "Use fpr= instead.")),
    (lambda: auc(positiv=1), unexpected("positiv", "Use positive= instead.")),
    (
        lambda: auc(multi_class="ovr"),
        unexpected("multi_class", "Use multiclass_auc for averages over classes."),
    ),
    (lambda: auc(xyz=1), unexpected("xyz", "Leave out xyz=.")),
    (
        lambda: rf.auc(TABLE, y_true="label", y_score="score"),
        unexpected("y_true", "Use label= instead."),
    ),
    (
        lambda: TABLE.roc.auc("label", y_score="score"),
        unexpected("y_score", "Use score= instead."),
    ),
    (lambda: TABLE.roc.auc(target="label"), unexpected("target", "Use label= instead.")),
    (
        lambda: rf.auc(TABLE, "label"),
        f"auc: missing 1 required positional argument: 'score'.\n{AUC}\nPass score=….",
    ),
    (
        lambda: rf.auc(TABLE),
        (
            "auc: missing 2 required positional arguments: 'label' and 'score'.\n"
            f"{AUC}\nPass label=… and score=…."
        ),
    ),
    (
        lambda: rf.auc(label="label", score="score"),
        (
            "auc: missing 1 required positional argument: 'predictions'.\n"
            f"{AUC}\nPass predictions by position, as the first argument."
        ),
    ),
    (
        lambda: rf.auc(TABLE, "label", "score", "g"),
        (
            "auc: takes 3 positional arguments but 4 were given.\n"
            f"{AUC}\nPass each argument once, and options by name, such as by=…."
        ),
    ),
    (
        lambda: rf.at(CURVES, max_fpr=0.8),
        f"at: unexpected keyword argument 'max_fpr'.\n{AT}\nUse fpr= instead.",
    ),
    (
        lambda: rf.at(CURVES, precision=0.8),
        (
            f"at: unexpected keyword argument 'precision'.\n{AT}\nFor another metric, use "
            'operating_point("tpr", subject_to={"precision": (0.9, 1)}). '
            'For means over folds, use average(fixed="precision").'
        ),
    ),
    (
        lambda: rf.decision_curve(CURVES, grid=[0.2]),
        (
            "decision_curve: unexpected keyword argument 'grid'.\n"
            "Arguments: curves, thresholds, prevalence, by.\nUse thresholds= instead."
        ),
    ),
    (
        lambda: rf.cost_curve(CURVES, thresholds=[0.2]),
        (
            "cost_curve: unexpected keyword argument 'thresholds'.\n"
            "Arguments: curves, grid, across, by.\nUse grid= instead."
        ),
    ),
    (
        lambda: rf.operating_point(CURVES, maximize="f1"),
        (
            "operating_point: unexpected keyword argument 'maximize'.\nArguments: curves, rule, "
            "costs, benefits, prevalence, prior, subject_to, minimize, beta, by.\n"
            "Pass the metric as rule=; set minimize=True for the lowest value."
        ),
    ),
    (
        lambda: rf.calibration_summary(TABLE, "label", "score", strategy="uniform"),
        (
            "calibration_summary: unexpected keyword argument 'strategy'.\n"
            f"Arguments: {', '.join(inspect.signature(rf.calibration_summary).parameters)}.\n"
            "Use method= instead."
        ),
    ),
    (
        lambda: rf.average(CURVES, across="fold"),
        (
            "average: unexpected keyword argument 'across'.\n"
            f"Arguments: {', '.join(inspect.signature(rf.average).parameters)}.\n"
            "Use over= instead."
        ),
    ),
    (
        lambda: rf.hull_shares(TABLE, "label", "score", across="model"),
        (
            "hull_shares: unexpected keyword argument 'across'.\n"
            f"Arguments: {', '.join(inspect.signature(rf.hull_shares).parameters)}.\n"
            "Use between= instead."
        ),
    ),
    (
        lambda: rf.cost_curve(CURVES, over="fold"),
        (
            "cost_curve: unexpected keyword argument 'over'.\n"
            "Arguments: curves, grid, across, by.\nUse across= instead."
        ),
    ),
    (
        lambda: rf.transfer(CURVES, maximize="f1"),
        (
            "transfer: unexpected keyword argument 'maximize'.\n"
            f"Arguments: {', '.join(inspect.signature(rf.transfer).parameters)}.\n"
            "Pass the metric as rule=; set minimize=True for the lowest value."
        ),
    ),
    (
        lambda: rf.intervals(TABLE, "label", "score", maximize="f1"),
        (
            "intervals: unexpected keyword argument 'maximize'.\n"
            f"Arguments: {', '.join(inspect.signature(rf.intervals).parameters)}.\n"
            "Pass the metric as rule=; set minimize=True for the lowest value."
        ),
    ),
    (
        lambda: rf.auc(TABLE, "label", "score", maximize=True),
        unexpected("maximize", "Leave out maximize=."),
    ),
    (
        lambda: rf.confusion_matrix(TABLE, "label", "score", threshold=0.5),
        (
            "confusion_matrix: unexpected keyword argument 'threshold'.\n"
            "Arguments: predictions, label, score, scores, classes, by, positive, weight, count, "
            "missing.\n"
            "For a threshold of scores, use curve(…).roc.at(threshold=0.5)."
        ),
    ),
    (
        lambda: rf.auc(TABLE, "label", "score", benefit="amount"),
        unexpected(
            "benefit",
            "Weight positives by their benefit and negatives by their cost, for example with "
            'weight=pl.when(pl.col("label") == 1).then("amount").otherwise(5).',
        ),
    ),
    (
        lambda: rf.at(CURVES, fpr=0.8, cost="loss"),
        (
            f"at: unexpected keyword argument 'cost'.\n{AT}\n"
            "Pass cost= to curve, which computes the curves."
        ),
    ),
    (
        lambda: SCORE.gini("label", na_rm=True),
        (
            "gini: unexpected keyword argument 'na_rm'.\n"
            "Arguments: score, label, positive, weight, count.\n"
            "Leave out na_rm=: expressions always leave out rows with missing values."
        ),
    ),
    (
        lambda: rf.volume(TABLE, "label", "score", positive=1),
        (
            "volume: unexpected keyword argument 'positive'.\n"
            f"Arguments: {', '.join(inspect.signature(rf.volume).parameters)}.\n"
            "Leave out positive=: all three classes are compared. Use classes= for their order."
        ),
    ),
    (
        lambda: SCORE.auc("label", pos_label=1),
        (
            "auc: unexpected keyword argument 'pos_label'.\n"
            "Arguments: score, label, fpr, tpr, specificity, sensitivity, standardize, positive, "
            "weight, count.\n"
            "Use positive= instead."
        ),
    ),
]


@pytest.mark.parametrize(("call", "text"), WRONG, ids=[text.split("\n")[0] for _, text in WRONG])
def test_a_call_with_wrong_arguments_names_the_argument_to_use(call, text):
    with pytest.raises(rf.ArgumentError) as caught:
        call()
    assert str(caught.value) == text


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


def test_a_frame_of_another_package_is_named_with_its_package():
    other = type("DataFrame", (), {"__module__": "pandas.core.frame"})
    with pytest.raises(rf.OptionValueError) as caught:
        rf.auc(other(), "label", "score")
    assert str(caught.value) == (
        "predictions: expected a DataFrame, LazyFrame or Arrow table, but this is a "
        "pandas DataFrame.\n"
        "Convert the value first, for example with pl.DataFrame(…) or pl.from_pandas(…)."
    )


def test_arrays_in_place_of_a_table_and_column_names_are_explained():
    for labels, scores, kind in (
        ([1, 0], [0.9, 0.1], "list"),
        (np.array([1, 0]), np.array([0.9, 0.1]), "numpy array"),
    ):
        for call in (lambda: rf.auc(labels, scores), lambda: rf.curve(labels, scores)):  # noqa: B023
            with pytest.raises(rf.OptionValueError) as caught:
                call()
            assert str(caught.value) == (
                "predictions: expected a DataFrame, LazyFrame or Arrow table, but this is a "
                f"{kind}.\n"
                'Make a table of the arrays first: pl.DataFrame({"label": y_true, "score": '
                "y_score}). Then pass the names of its columns."
            )


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
