"""`.roc` on frames and expressions: the same names, docs and results as the functions."""

from __future__ import annotations

import inspect
import pydoc
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

VERBS = [
    *("add_metrics", "apply_calibration", "area", "at", "auc", "auc_covariance", "auc_test"),
    *("average", "band", "calibration", "calibration_summary", "chain", "chart", "combine"),
    *("combine_points", "compare", "compress", "concavities", "confusion_matrix", "contrast"),
    *("cost_curve", "curve", "curve_from_calibration", "dashboard", "decision_curve"),
    *("decision_intervals", "draw_decisions", "drift", "drift_test", "expand_counts"),
    *(
        "fit_calibration",
        "fold_auc",
        "gains",
        "gate",
        "h_measure",
        "hull",
        "hull_shares",
        "intervals",
    ),
    *("iso_lines", "lc_index", "mix", "multiclass_auc", "multiclass_metrics", "murphy_curve"),
    *("one_vs_one", "one_vs_rest", "operating_point", "pool_imputations", "pooling_gap"),
    *("reader_study", "relative_superiority"),
    *("repair_scores", "repaired_auc", "report", "score_drift", "simplify", "smooth", "summary"),
    *("tie_bounds", "ties", "top_label", "transfer", "volume", "windows"),
]
PREDICTIONS = {"label": [True, False, True], "score": [0.9, 0.4, 0.4], "g": ["a", "a", "b"]}

every_verb = pytest.mark.parametrize("verb", VERBS)


def test_the_accessor_has_the_verbs_and_nothing_else(frame):
    accessor = frame(PREDICTIONS).roc
    assert isinstance(accessor, rf.RocFrame)
    assert [name for name in dir(accessor) if not name.startswith("_")] == VERBS


@every_verb
def test_a_method_has_the_docs_name_and_signature_of_the_function(frame, verb):
    function, method = getattr(rf, verb), getattr(frame(PREDICTIONS).roc, verb)
    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    assert first.kind is inspect.Parameter.POSITIONAL_ONLY
    assert first.name in {"predictions", "curves", "table"}
    assert inspect.signature(method) == signature.replace(parameters=rest)
    assert inspect.getdoc(method) == inspect.getdoc(function)
    assert method.__name__ == verb
    assert method.__module__ == function.__module__


@every_verb
def test_help_shows_the_summary_and_every_option(frame, verb):
    shown = pydoc.render_doc(getattr(frame(PREDICTIONS).roc, verb), renderer=pydoc.plaintext)
    assert inspect.getdoc(getattr(rf, verb)).splitlines()[0] in shown
    for option in list(inspect.signature(getattr(rf, verb)).parameters)[1:]:
        assert option in shown


def test_help_on_the_accessor_lists_the_verbs(frame):
    shown = pydoc.render_doc(frame(PREDICTIONS).roc, renderer=pydoc.plaintext)
    assert "Functions of rocframe as methods of a table" in shown
    assert all(f" {verb}(" in shown for verb in VERBS)


def test_a_method_does_what_the_function_does(frame):
    rows = frame(PREDICTIONS)
    curves = rf.curve(rows, "label", "score", by="g", metrics="f1")
    assert_frame_equal(rows.roc.curve("label", "score", by="g", metrics="f1"), curves)
    assert_frame_equal(
        rows.roc.curve(score="score", label="label"), rf.curve(rows, "label", "score")
    )
    assert_frame_equal(
        rows.roc.auc("label", "score", ci=None), rf.auc(rows, "label", "score", ci=None)
    )
    assert_frame_equal(curves.roc.at(tpr=1), rf.at(curves, tpr=1))
    assert_frame_equal(curves.roc.area(kind="pr"), rf.area(curves, kind="pr"))


def test_an_accessor_can_be_used_several_times(frame):
    accessor = frame(PREDICTIONS).roc
    first = accessor.auc("label", "score")
    assert_frame_equal(accessor.auc("label", "score"), first)
    assert accessor.curve("label", "score").lazy().collect().height == 3


@pytest.mark.parametrize("verb", ["curve", "auc", "auc_test", "band"])
def test_label_and_score_are_the_only_arguments_by_position(frame, verb):
    rows = frame(PREDICTIONS)
    with pytest.raises(TypeError, match="positional argument"):
        getattr(rows.roc, verb)("label", "score", "g")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'score'"):
        getattr(rows.roc, verb)("label")


@pytest.mark.parametrize("name", ["aucs", "roc_auc", "Curve", "write", "read", "to_dict"])
def test_unknown_names_raise_attribute_error(frame, name):
    with pytest.raises(AttributeError) as caught:
        getattr(frame(PREDICTIONS).roc, name)
    assert str(caught.value).startswith(
        f".roc.{name}: unknown method.\nMethods: {', '.join(sorted(VERBS))}."
    )


def test_a_verb_by_another_name_is_guessed(frame):
    with pytest.raises(AttributeError, match=r"Did you mean \.roc\.curve\?$"):
        frame(PREDICTIONS).roc.roc_curve("label", "score")


HINTS = """
.youden: Use .roc.best_threshold("label", rule="youden"), or another rule.
.class_metrics: It was renamed. Use rocframe.add_metrics, with the same arguments without by=.
best_threshold: Use rocframe.operating_point for curve tables, or the expression \
pl.col("score").roc.best_threshold("label").
f1: Use the expression pl.col("score").roc.f1("label", threshold=0.5).
confusion: Use the expression pl.col("score").roc.confusion("label", threshold=0.5).
brier: Use the expression pl.col("score").roc.brier("label").
thresholds: Use rocframe.at for given thresholds or rates, or rocframe.operating_point for the \
best threshold.
"""


def test_names_of_other_namespaces_have_a_hint():
    for line in HINTS.strip().splitlines():
        name, hint = line.split(": ", 1)
        with pytest.raises(AttributeError) as caught:
            getattr(pl.col("score").roc if name.startswith(".") else rf, name.lstrip("."))
        assert str(caught.value).endswith(f"\n{hint}")


def test_series_have_no_accessor():
    with pytest.raises(AttributeError, match=r"^'Series' object has no attribute 'roc'$"):
        pl.Series([0.5]).roc  # noqa: B018


def test_only_the_attribute_roc_is_added_to_frames(frame):
    rows = frame(PREDICTIONS)
    assert [name for name in dir(rows) if name.startswith("roc")] == ["roc"]
    assert not hasattr(rows, "auc")


def test_expressions_have_an_accessor_of_their_own():
    accessor = pl.col("score").roc
    assert isinstance(accessor, rf.RocExpr)
    methods = [name for name in dir(accessor) if not name.startswith("_")]
    assert {"auc", "auc_se", "average_precision", "gini", "ks", "tpr", "fpr"} <= set(methods)
    for name in methods:
        first = "reference" if name in {"psi", "ks_2samp"} else "label"
        assert next(iter(inspect.signature(getattr(accessor, name)).parameters)) == first
    with pytest.raises(AttributeError, match=r"^\.roc\.curve: unknown method"):
        accessor.curve  # noqa: B018


def test_every_public_name_is_there_and_listed_in_order():
    assert sorted(rf.__all__) == rf.__all__
    assert len(set(rf.__all__)) == len(rf.__all__)
    assert all(hasattr(rf, name) for name in rf.__all__)


def test_no_public_function_has_the_name_of_a_module():
    # The import of a module of the package would replace a function of the same name.
    modules = {path.stem for path in Path(rf.__file__).parent.iterdir()}
    assert modules & set(rf.__all__) == {"datasets"}
