"""Docstrings have all sections, the same text for the same parameter, and the returned columns."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

import rocframe as rf
from rocframe import datasets
from tests.all_cases import all_cases

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS = {
    name: getattr(rf, name) for name in rf.__all__ if inspect.isfunction(getattr(rf, name))
}
DATASETS = {
    f"datasets.{name}": function
    for name, function in vars(datasets).items()
    if inspect.isfunction(function)
    and function.__module__ == datasets.__name__
    and not name.startswith("_")
}
EXPRESSIONS = {
    f"expr.roc.{name}": getattr(pl.col("score").roc, name)
    for name in vars(rf.RocExpr)
    if not name.startswith("_")
}
DOCUMENTED = {**FUNCTIONS, **DATASETS, **EXPRESSIONS}

PREDICTIONS = pl.DataFrame(
    {"label": [1, 0, 1], "score": [0.9, 0.4, 0.4], "model": ["a", "a", "b"], "w": [1.0, 2.0, 3.0]}
)
CURVES = rf.curve(PREDICTIONS, "label", "score", by="model")


def sections(function: Callable) -> dict[str, str]:
    """Cut a docstring at its underlined titles; the text before the first is its summary."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.getdoc(function) or "", flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def documented(function: Callable) -> dict[str, str]:
    """Return the text of each parameter in a docstring, in one line.

    The text "As in `f`." is replaced by the text of the parameter in the docstring of `f`.
    """
    found: dict[str, list[str]] = {}
    for line in sections(function).get("Parameters", "").splitlines():
        if line and not line[0].isspace():
            words: list[str] = []  # the text of one or several parameters
            found |= dict.fromkeys(line.split(" : ")[0].strip().split(", "), words)
        elif line.strip():
            words.append(line.strip())
    texts = {name: " ".join(words) for name, words in found.items()}
    for name, text in texts.items():
        if other := re.fullmatch(r"As in `(\w+)`\.", text):
            in_expressions = function.__module__.startswith("rocframe.expressions")
            page = EXPRESSIONS if in_expressions else FUNCTIONS
            texts[name] = documented(page[f"{'expr.roc.' * in_expressions}{other[1]}"])[name]
    return texts


def lists(function: Callable) -> list[list[str]]:
    """Return the backticked lists of names under Returns."""
    text = " ".join(sections(function)["Returns"].split())
    quoted = re.findall(r"`([^`]*)`", text)
    return [re.split(r", ?", part) for part in quoted if re.fullmatch(r"[*\w, ]+", part)]


def test_the_first_line_is_one_imperative_sentence():
    with all_cases() as case:
        for name, function in DOCUMENTED.items():
            with case(name):
                first, *rest = sections(function)[""].splitlines()
                assert re.fullmatch(r"[A-Z][a-z]+ .+\.", first)
                assert not first.split()[0].endswith("s")
                assert len(first) <= 96
                assert not any(rest[:1])


def test_there_is_a_part_for_parameters_returns_and_examples():
    with all_cases() as case:
        for name, function in DOCUMENTED.items():
            with case(name):
                parts = sections(function)
                assert "Examples" in parts
                assert ("Returns" in parts) == (
                    inspect.signature(function).return_annotation != "None"
                )
                assert ("Parameters" in parts) == bool(inspect.signature(function).parameters)
                order = [
                    *("", "Parameters", "Returns", "Raises", "See Also", "Notes", "References"),
                    "Examples",
                ]
                assert list(parts) == [name for name in order if name in parts]


def test_every_parameter_is_explained_in_the_order_of_the_signature():
    with all_cases() as case:
        for name, function in DOCUMENTED.items():
            with case(name):
                assert list(documented(function)) == list(inspect.signature(function).parameters)
                assert all(re.fullmatch(r".+[.:)]", text) for text in documented(function).values())


def test_see_also_has_a_line_for_each_function():
    with all_cases() as case:
        for name, function in DOCUMENTED.items():
            with case(name):
                lines = re.split(r"\n(?!\s)", sections(function).get("See Also", "").strip())
                for line in filter(None, lines):
                    assert re.match(r"[\w.]+( : |$)", line), line
                    assert line.count(" : ") <= 1, line


def test_functions_say_what_they_raise():
    with all_cases() as case:
        for name, function in FUNCTIONS.items():
            with case(name):
                named = re.findall(r"^(\w+)$", sections(function)["Raises"], flags=re.MULTILINE)
                assert named
                assert {error for error in named if error.endswith("Error")} == set(named)
                assert all(issubclass(getattr(rf, error), rf.RocframeError) for error in named)


def test_examples_run_and_show_a_result():
    with all_cases() as case:
        for name, function in DOCUMENTED.items():
            with case(name):
                examples = sections(function)["Examples"]
                assert ">>> " in examples
                assert re.search(r"^(?!>>>|\.\.\.)\S", examples, flags=re.MULTILINE)


PLAN = ["power", "sample_size", "detectable_difference"]
COMPARE = ["compare", "contrast", "auc_covariance", "hull_shares", "decision_intervals"]


def test_functions_that_measure_cite_where_they_come_from():
    measures = [
        *("curve", "auc", "drift", "drift_test", "intervals", "auc_test", "band", "calibration"),
        *("curve_from_calibration", "fit_calibration", "calibration_summary", "smooth", "at"),
        *("operating_point", "ties", "tie_bounds", "transfer", "hull", "concavities"),
        *("iso_lines", "mix", "confusion_matrix", "combine", "combine_points", "cost_curve"),
        *("relative_superiority", "lc_index", "decision_curve", "murphy_curve", "h_measure"),
        *("gains", "summary", "area", "average", "simplify"),
        *PLAN,
        *COMPARE,
        "reader_study",
        "score_drift",
    ]
    measures += [*MANY_CLASSES, "multiclass_metrics", "volume", "fold_auc", "pooling_gap"]
    measures.append("pool_imputations")
    for name in measures:
        assert "doi:10." in sections(FUNCTIONS[name])["References"]


READ_PREDICTIONS = [
    *("curve", "auc", "drift", "intervals", "auc_test", "band", "fold_auc", "h_measure"),
    *("pooling_gap", "summary", "gains"),
    *COMPARE,
]
READ_PROBABILITIES = [
    *("calibration", "calibration_summary", "fit_calibration", "apply_calibration"),
    "multiclass_metrics",
]
MANY_CLASSES = ["one_vs_rest", "one_vs_one", "top_label", "multiclass_auc"]
READ_CURVES = [
    *("at", "area", "average", "chart", "concavities", "cost_curve", "dashboard"),
    *("decision_curve", "hull", "iso_lines", "lc_index", "mix", "murphy_curve"),
    *("operating_point", "relative_superiority", "repaired_auc", "simplify", "ties"),
    *("tie_bounds", "transfer"),
]


@pytest.mark.parametrize("family", [READ_PREDICTIONS, READ_CURVES], ids=["predictions", "curves"])
def test_a_parameter_that_verbs_share_is_explained_in_the_same_words(family):
    shared = set.intersection(*(set(documented(FUNCTIONS[name])) for name in family))
    assert shared >= {"by"}
    # Comparisons make no key `model`, and do not speak of one.
    for parameter in shared - {"fpr", "tpr", "score"}:
        assert len({documented(FUNCTIONS[name])[parameter] for name in family}) == 1, parameter


def test_functions_that_compare_explain_their_parameters_in_the_same_words():
    every = [documented(FUNCTIONS[name]) for name in COMPARE]
    different = {"fpr", "tpr", "specificity", "adjust", "unmatched", "baseline", "method"}
    different |= {"prevalence"}
    for parameter in set.union(*map(set, every)) - different:
        assert len({words[parameter] for words in every if parameter in words}) == 1, parameter
    contrast, covariance, hull_shares, decisions = every[1:]
    assert all(
        contrast[name] == covariance[name] for name in ("fpr", "tpr", "specificity", "unmatched")
    )
    assert decisions["baseline"].split(".")[0] == every[0]["baseline"].split(".")[0]
    assert hull_shares["unmatched"] == decisions["unmatched"] == covariance["unmatched"]
    combined, chained = documented(rf.combine), documented(rf.chain)
    points = {"unmatched", "threshold", "fpr", "tpr", "specificity", "sensitivity"}
    for other, words in ((every[0], combined), (contrast, chained), (combined, chained)):
        assert all(words[name] == other[name] for name in set(words) & set(other) - points)
    assert combined["unmatched"] == every[0]["unmatched"]
    assert chained["unmatched"] == contrast["unmatched"]
    auc = documented(rf.auc)
    assert all(auc[name] == every[0][name] for name in ("cluster", "seed", "standardize"))


def test_functions_that_plan_explain_their_parameters_in_the_same_words():
    every = [documented(FUNCTIONS[name]) for name in PLAN]
    for parameter in set.union(*map(set, every)):
        assert len({words[parameter] for words in every if parameter in words}) == 1, parameter
    alternative = {words["alternative"] for words in (*every, documented(rf.auc_test))}
    assert len(alternative) == 1


def test_shared_parameters_are_explained_in_the_same_words_everywhere():
    every = {}
    for function in (*FUNCTIONS.values(), *EXPRESSIONS.values()):
        for parameter, text in documented(function).items():
            every.setdefault(parameter, set()).add(text)
    assert documented(rf.band)["level"] == "Confidence level of the band, between 0 and 1."
    every["level"].discard(documented(rf.band)["level"])
    every["level"].discard(documented(rf.score_drift)["level"])  # of a critical value
    # Where there are many classes, labels are classes.
    for name in (*MANY_CLASSES, "multiclass_metrics", "volume"):
        every["label"] -= {documented(FUNCTIONS[name])["label"]}
    # Functions of probabilities restrict the scores, and do not support missing="worst".
    for parameter in ("score", "missing"):
        every[parameter] -= {
            documented(FUNCTIONS[name]).get(parameter) for name in READ_PROBABILITIES
        }
    # With three classes or more, missing="worst" concerns pairs or triples of rows.
    every["missing"] -= {documented(f)["missing"] for f in (rf.multiclass_auc, rf.volume)}
    # `compress` does not convert the tables of other packages.
    every["predictions"] -= {documented(rf.compress)["predictions"]}
    shared = ("label", "weight", "missing", "level", "predictions", "curves", "cluster", "total")
    for parameter in shared:
        assert len(every[parameter]) == 1, parameter
    # `compress` keeps several scores side by side, `confusion_matrix` takes decisions, and
    # `score_drift` knows no positives.
    others = (rf.compress, rf.confusion_matrix, rf.score_drift)
    every["score"] -= {documented(function)["score"] for function in others}
    # Verbs look for a column `count`, and say so; expressions do not. For unknown positive classes,
    # verbs raise an error and expressions return null.
    for parameter in ("count", "positive", "score"):
        longest = max(every[parameter], key=len)
        assert all(longest.startswith(text) for text in every[parameter]), parameter


def test_the_summary_says_which_inequality_and_which_end_a_curve_has():
    text = " ".join(inspect.getdoc(rf.curve).split())
    for words in ("`score >= threshold`", "Tied scores share a row", "`inf`", "null", "LazyFrame"):
        assert words in text


def test_verbs_on_many_classes_explain_their_parameters_in_the_same_words():
    every = [documented(FUNCTIONS[name]) for name in MANY_CLASSES]
    for parameter in set.union(*map(set, every)):
        texts = {words[parameter] for words in every if parameter in words}
        longest = max(texts, key=len)
        assert all(longest.startswith(text) for text in texts), parameter


KEYS = {"*by", "model"}


def names(function: Callable, which: int) -> list[str]:
    """Return the columns in one of the lists of several names under Returns."""
    several = [found for found in lists(function) if len(found) > 1]
    return [name for name in several[which] if name not in KEYS]


def test_the_columns_of_curve_are_those_documented():
    kinds = {"roc": ["fpr", "tpr"], "pr": ["recall", "precision"], "lift_chart": ["alert_rate"]}
    for kind, rates in kinds.items():
        table = rf.curve(PREDICTIONS, "label", ["score"], kind=kind, metrics=["f1"])
        assert table.columns == ["model", *names(rf.curve, 0), *rates, "f1"]
    assert lists(rf.curve)[:2] == [["*by"], ["model"]]


def test_the_columns_of_auc_are_those_documented():
    plain = names(rf.auc, 0)
    assert rf.auc(PREDICTIONS, "label", "score", by="model").columns == ["model", *plain]
    partial = names(rf.auc, 1)
    areas = [name for name in plain if name.startswith("auc")]
    for part in ({"fpr": (0, 0.5)}, {"tpr": (0.5, 1)}):
        expected = [dict(zip(areas, partial, strict=True)).get(name, name) for name in plain]
        assert rf.auc(PREDICTIONS, "label", "score", **part).columns == expected
    notes = names(rf.auc, 2)
    assert notes == [
        *("no_rows", "no_positives", "no_negatives", "one_positive", "one_negative"),
        *("zero_variance", "no_limits", "redrawn"),
    ]


def test_the_columns_of_auc_test_are_those_documented():
    columns = names(rf.auc_test, 0)
    tests = rf.auc_test(PREDICTIONS, "label", "score", by="model")
    assert tests.columns == ["model", *columns]
    assert [*names(rf.auc_test, 1), "no_limits", "redrawn"] == names(rf.auc, 2)


def test_the_columns_of_comparisons_are_those_documented():
    rows = PREDICTIONS.rename({"model": "model_"}).with_columns(other=-pl.col("score"))
    scores = ["score", "other"]
    plain = names(rf.compare, 0)
    assert rf.compare(rows, "label", scores, by="model_").columns == ["model_", *plain]
    areas = {"fpr": (0, 0.5)}, {"tpr": (0.5, 1)}, {"fpr": 0.5}, {"tpr": 0.5}
    for options, name in zip(areas, ("partial_auc", "partial_auc", "tpr", "fpr"), strict=True):
        table = rf.compare(rows, "label", scores, method="bootstrap", n_boot=2, seed=1, **options)
        found = [column for column in table.columns if column not in plain]
        assert found == [f"{name}_a", f"{name}_b"]
    table = rf.compare(rows, "label", scores, by="model_", metric=["auc"])
    (documented_names,) = (one for one in lists(rf.compare) if "ratio_lower" in one)
    assert [*table.columns[1:]] == [name for name in documented_names if name != "*by"]
    rows = rows.with_columns(other=1 - pl.col("score"))
    for metric in ("average_precision", "brier", "log_loss"):
        table = rf.compare(rows, "label", scores, metric=metric, n_boot=2, seed=1)
        found = [column for column in table.columns if column not in plain]
        assert found == [f"{metric}_a", f"{metric}_b"]
    covariance = rf.auc_covariance(rows, "label", scores, by="model_")
    assert covariance.columns == ["model_", *names(rf.auc_covariance, 0)]
    test = rf.contrast(rows, "label", scores, by="model_")
    assert test.columns == ["model_", *names(rf.contrast, 0)]
    for verb in (rf.contrast, rf.auc_covariance):
        assert [*names(verb, -1), "no_limits", "redrawn"] == names(rf.auc, 2)
    assert names(rf.compare, -1) == [*names(rf.contrast, -1), "no_solution"]


def test_the_columns_of_verbs_on_many_classes_are_those_documented():
    rows = pl.DataFrame({"truth": ["a", "b"], "a": [1, 0], "b": [0, 1], "g": [1, 1]})
    for name, keys in {
        "one_vs_rest": ["g", "id"],
        "one_vs_one": ["g", "id"],
        "top_label": ["g", "id"],
        "multiclass_auc": [],
        "multiclass_metrics": [],
    }.items():
        table = FUNCTIONS[name](rows, "truth", ["a", "b"])
        assert table.columns == [*keys, *names(FUNCTIONS[name], 0)]


def test_the_columns_of_volume_are_those_documented():
    rows = pl.DataFrame({"truth": ["a", "b", "c"], "score": [1, 2, 3], "g": [1, 1, 1]})
    table = rf.volume(rows, "truth", "score", classes=["a", "b", "c"], by="g")
    assert table.columns == ["g", *names(rf.volume, 0)]
    assert names(rf.volume, -1) == ["no_rows", "absent_class", "single_row", "zero_variance"]


def test_the_columns_of_plans_are_those_documented():
    for name, options in {
        "power": {"auc": 0.7, "n_pos": 10, "n_neg": 10},
        "sample_size": {"auc": 0.7},
        "detectable_difference": {"n_pos": 10, "n_neg": 10},
    }.items():
        assert FUNCTIONS[name](**options).columns == names(FUNCTIONS[name], 0)


def test_the_columns_of_band_are_those_documented():
    for method in ("binomial", "threshold"):
        table = rf.band(PREDICTIONS, "label", "score", by="model", method=method)
        assert table.columns == ["model", *names(rf.band, 0)]
        assert set(table["scope"]) == {"pointwise"}
    assert names(rf.band, -1) == [
        *("no_rows", "no_positives", "no_negatives", "one_positive", "one_negative"),
        *("zero_variance", "no_solution"),
    ]


def test_the_columns_and_parameters_of_smooth_are_those_documented():
    table = rf.smooth(PREDICTIONS, "label", "score", by="model")
    assert table.columns == ["model", *names(rf.smooth, 0)]
    assert names(rf.smooth, -1) == [
        *("no_rows", "no_positives", "no_negatives", "one_positive", "one_negative"),
        "no_solution",
    ]
    shared, smooth = documented(rf.band), documented(rf.smooth)
    assert all(smooth[name] == shared[name] for name in set(smooth) & set(shared) - {"grid"})


def test_the_columns_of_intervals_are_those_documented():
    result = rf.intervals(PREDICTIONS, "label", "score", metrics="auc", by="model", ci=None)
    assert result.columns == ["model", *names(rf.intervals, 0)]
    assert names(rf.intervals, 1) == [
        *("no_rows", "no_positives", "no_negatives", "one_positive", "one_negative"),
        *("zero_variance", "no_solution", "no_limits", "redrawn"),
    ]


def test_the_columns_of_at_are_those_documented():
    first, second, *_ = lists(rf.at)
    keys = [name for name in (*first, *second) if name != "*by"]
    assert rf.at(CURVES, fpr=0.5).columns == ["model", *keys, *CURVES.columns[1:]]
    more = names(rf.at, -1)
    assert rf.at(CURVES, fpr=0.5, interpolate=True).columns == [
        *("model", *keys),
        *(*CURVES.columns[1:], *more),
    ]


def test_the_columns_of_simplify_are_those_documented():
    simple = rf.simplify(CURVES)
    assert simple.columns == [*CURVES.columns, *names(rf.simplify, 0)]
    subset = rf.curve(PREDICTIONS, "label", "score", by="model", max_error=0.1)
    assert subset.columns == simple.columns


def test_the_columns_of_area_are_those_documented():
    assert rf.area(CURVES).columns == ["model", *names(rf.area, 0)]
    assert rf.area(CURVES, kind="pr").columns == ["model", *names(rf.area, 1)]


def test_the_columns_about_folds_are_those_documented():
    for function in (rf.fold_auc, rf.pooling_gap):
        table = function(PREDICTIONS, "label", "score", over="model", by="w")
        assert table.columns == ["w", *names(function, 0)]


def test_the_columns_of_average_are_those_documented():
    spread = [f"tpr_{part}" for part in ("sd", "se", "lower", "upper")]
    every = [found for found in lists(rf.average) if len(found) > 2]
    about, walk, areas = every
    mean = rf.average(CURVES, over="model")
    assert mean.columns == ["fpr", "tpr", *spread, *about]
    pooled = rf.average(CURVES, over="model", method="pooled")
    assert pooled.columns == [*walk, "fpr", "tpr", *areas]


def test_every_error_says_when_it_is_raised():
    with all_cases() as case:
        for error in (name for name in rf.__all__ if name.endswith("Error")):
            with case(error):
                first = inspect.getdoc(getattr(rf, error)).splitlines()[0]
                assert re.fullmatch(r"[A-Z].+[.]", first)
