"""Invalid values of each option raise one clear error."""

from __future__ import annotations

from math import inf, nan, nextafter

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

PREDICTIONS = pl.DataFrame(
    {"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1], "g": list("aabb")}
)
CURVES = rf.curve(PREDICTIONS, "label", "score")


def curve(**options):
    return rf.curve(PREDICTIONS, "label", "score", **options)


def auc(**options):
    return rf.auc(PREDICTIONS, "label", "score", **options)


def at(**options):
    return rf.at(CURVES, **options)


def compare(**options):
    return rf.compare(PREDICTIONS, "label", {"a": "score", "b": "score"}, **options)


def exchanged(**options):
    return compare(**{"method": "permutation", **options})


def contrast(coefficients):
    scores = {"a": "score", "b": -pl.col("score")}
    return rf.contrast(PREDICTIONS, "label", scores, coefficients=coefficients)


SHARE = "expected a number above 0 and below 1.\nUse, for example, level=0.95."
PREVALENCE = "expected a number above 0 and below 1.\nUse, for example, prevalence=0.1."
METHODS = (
    "Choose one of: 'logit_delong', 'delong', 'newcombe', 'hanley_mcneil', "
    "'hanley_mcneil_exponential', 'bootstrap', 'bootstrap_basic', 'bootstrap_bca', None."
)
ANALYTIC = 'Use ci="logit_delong", ci="delong" or ci="bootstrap".'
NO_RATES = "method='permutation' compares areas, not rates.\nUse method=\"bootstrap\"."
WHOLE = "expected an integer from 1 to 1000000000.\nUse, for example, n_perm=1000."
RESAMPLES = "expected an integer from 2 to 100000000.\nUse, for example, n_boot=2000."
COSTS = 'Use, for example, costs={"fp": 1, "fn": 5}.'
SEED = "expected an integer of at least 0, or None.\nUse, for example, seed=1."
BETA = "expected a finite number above 0.\nUse, for example, beta=2."
EDGES = "expected a list of numbers.\nUse, for example, thresholds=[0.1, 0.5]."
PAIR = "expected a pair of numbers.\nUse, for example, fpr=(0, 0.1)."
RATES = "Use values within this range."
FRAME = "expected a DataFrame, LazyFrame or Arrow table, but this is"
READ_FILE = "Read the file first: pl.read_{0}(path) or pl.scan_{0}(path)."
CONVERT = "Convert the value first: pl.DataFrame(…)."
ARRAYS = (
    'Make a table of the arrays first: pl.DataFrame({"label": y_true, "score": y_score}). Then '
    "pass the names of its columns."
)
PASS_FRAME = "Pass a table, such as the result of pl.read_parquet(path)."
PASS_RESULT = "Pass a table that rocframe returned, such as the result of .roc.curve(label, score)."
UNGROUPED = "Pass the table itself, and the group columns as by=."
WHERE = "Use exactly one of threshold, fpr, tpr, alert_rate, tnr, fnr, such as fpr=[0.01, 0.05]."
KINDS = (
    "Choose one of: 'roc', 'precision_recall', 'pr', 'det', 'gain', 'lift', 'predictive_value', "
    "'skill', 'lift_chart'."
)
TABLE = "Columns of the result: 'threshold', 'tp', 'fp', 'fn', 'tn', 'fpr', 'tpr'."

COMPARED = (
    "Choose one of: 'delong_t', 'delong', 'delong_t_unpaired', 'delong_unpaired', 't_test', "
    "'t_test_unpaired', 'bootstrap', 'permutation', 'venkatraman'."
)
AREAS = (
    "method='{}' compares areas, not rates.\n"
    'Use method="bootstrap", or pass the range of a partial area, such as {}.'
)
RATE = (
    "expected a rate between 0 and 1.\n"
    "Pass a rate, such as {0}=0.1, or the range of a partial area, such as {0}=(0, 0.1)."
)
MARGIN = "expected a number of at least 0 and below 1.\nUse, for example, margin=0.02."
SINGLE = (
    "this option cannot be used with method='permutation'.\n"
    'Use method="delong_t" or method="bootstrap".'
)
COEFFICIENTS = (
    "expected a mapping from models to finite numbers that are not all 0.\n"
    'Use, for example, coefficients={"new": 1, "old": -1}.'
)
NO_MODEL = "unknown model.\nModels: 'a', 'b'."

WRONG = [
    (lambda: auc(level=95), f"level=95: {SHARE}"),
    (lambda: auc(level="0.95"), f"level='0.95': {SHARE}"),
    (lambda: auc(level=None), f"level=None: {SHARE}"),
    (lambda: auc(level=nan), f"level=nan: {SHARE}"),
    (
        lambda: auc(level=nextafter(1, 0)),
        (
            "level=0.9999999999999999: the limits are infinite, because (1 + level) / 2 is rounded "
            "to 1.\nUse, for example, level=0.95."
        ),
    ),
    (
        lambda: auc(ci="wald"),
        (f"ci='wald': unknown value.\n{METHODS}"),
    ),
    (
        lambda: auc(ci=["delong"]),
        (f"ci=['delong']: unknown value.\n{METHODS}"),
    ),
    (lambda: auc(fpr=0.1), f"fpr=0.1: {PAIR}"),
    (lambda: auc(fpr="01"), f"fpr='01': {PAIR}"),
    (lambda: auc(fpr=(0, 0.1, 0.2)), f"fpr=(0, 0.1, 0.2): {PAIR}"),
    (
        lambda: auc(fpr=(0, 0.1), tpr=(0, 0.1)),
        (
            "tpr=(0, 0.1): fpr= is given as well.\n"
            "A partial area has one range: pass either fpr= or tpr=."
        ),
    ),
    (
        lambda: auc(standardize=["mcclish"]),
        "standardize=['mcclish']: unknown value.\nChoose one of: 'mcclish', None.",
    ),
    (
        lambda: auc(standardize="mcclish"),
        "standardize='mcclish': only partial areas can be standardized.\nPass fpr= or tpr=.",
    ),
    (
        lambda: auc(ci="newcombe", fpr=(0, 0.1)),
        (f"fpr=(0, 0.1): this option cannot be used with ci='newcombe'.\n{ANALYTIC}"),
    ),
    (
        lambda: auc(ci="hanley_mcneil", tpr=(0.5, 1)),
        (f"tpr=(0.5, 1): this option cannot be used with ci='hanley_mcneil'.\n{ANALYTIC}"),
    ),
    (
        lambda: auc(ci="hanley_mcneil", weight="score"),
        f"weight='score': this option cannot be used with ci='hanley_mcneil'.\n{ANALYTIC}",
    ),
    (
        lambda: auc(ci="hanley_mcneil_exponential", cluster="score"),
        (
            "cluster='score': this option cannot be used with ci='hanley_mcneil_exponential'.\n"
            f"{ANALYTIC}"
        ),
    ),
    (lambda: auc(n_boot=1), f"n_boot=1: {RESAMPLES}"),
    (lambda: auc(n_boot=99.5), f"n_boot=99.5: {RESAMPLES}"),
    (lambda: auc(n_boot=True), f"n_boot=True: {RESAMPLES}"),
    (lambda: auc(n_boot="many"), f"n_boot='many': {RESAMPLES}"),
    (lambda: auc(n_boot=10**9), f"n_boot=1000000000: {RESAMPLES}"),
    (lambda: auc(seed=-1), f"seed=-1: {SEED}"),
    (lambda: auc(seed=0.5), f"seed=0.5: {SEED}"),
    (
        lambda: curve(kind="prc"),
        f"kind='prc': unknown value.\nDid you mean kind='pr'?\n{KINDS}",
    ),
    (lambda: curve(kind=["roc"]), f"kind=['roc']: unknown value.\n{KINDS}"),
    (lambda: auc(level=10**400), f"level=1{'0' * 99}…: {SHARE}"),
    (lambda: auc(n_boot=10**400), f"n_boot=1{'0' * 99}…: {RESAMPLES}"),
    (lambda: curve(thresholds="55"), f"thresholds='55': {EDGES}"),
    (lambda: curve(thresholds=0.5), f"thresholds=0.5: {EDGES}"),
    (lambda: curve(thresholds=[0.5, None]), f"thresholds=[0.5, None]: {EDGES}"),
    (lambda: curve(thresholds=["0.5"]), f"thresholds=['0.5']: {EDGES}"),
    (lambda: curve(thresholds=[nan]), "thresholds=[nan]: a value is NaN.\nRemove NaN."),
    (lambda: curve(beta="2"), f"beta='2': {BETA}"),
    (lambda: curve(beta=0), f"beta=0: {BETA}"),
    (lambda: curve(beta=True), f"beta=True: {BETA}"),
    (lambda: curve(beta=inf), f"beta=inf: {BETA}"),
    (lambda: curve(prevalence="half"), f"prevalence='half': {PREVALENCE}"),
    (lambda: curve(prevalence=10), f"prevalence=10: {PREVALENCE}"),
    (lambda: curve(prevalence=0), f"prevalence=0: {PREVALENCE}"),
    (
        lambda: curve(costs=[1, 5]),
        f"costs=[1, 5]: expected a dict of costs.\n{COSTS}",
    ),
    (lambda: curve(costs={"fp": "1"}), f"costs['fp']='1': expected a finite number.\n{COSTS}"),
    (lambda: curve(costs={"fp": nan}), f"costs['fp']=nan: expected a finite number.\n{COSTS}"),
    (
        lambda: curve(costs={"FP": 1}),
        (
            "costs='FP': unknown value.\nDid you mean costs='fp'?\n"
            "Choose one of: 'tp', 'fp', 'fn', 'tn'."
        ),
    ),
    (
        lambda: curve(costs={"false_negatives": 1}),
        (
            "costs='false_negatives': unknown value.\nDid you mean costs='fn'?\n"
            "Choose one of: 'tp', 'fp', 'fn', 'tn'."
        ),
    ),
    (
        lambda: curve(cost=5),
        (
            "cost=5: expected a column name or an expression.\n"
            "If all rows have the same cost, use cost=pl.lit(5)."
        ),
    ),
    (
        lambda: curve(metrics="expected_cost"),
        (
            "metrics='expected_cost': the costs of errors are not given.\n"
            'Use, for example, costs={"fp": 1, "fn": 5}; '
            "the cost of correct predictions is 0 by default."
        ),
    ),
    (
        lambda: curve(metrics="fpr"),
        (
            f"metrics='fpr': the result already has a column of this name.\n{TABLE}\n"
            "Leave out 'fpr' in metrics=."
        ),
    ),
    (
        lambda: curve(metrics=pl.col("tp") * 2),
        (
            "metrics=[(col(\"tp\")) * (dyn int: 2)]: the expression is named 'tp', which is a "
            f'column of the result.\n{TABLE}\nGive the expression another name with .alias("…").'
        ),
    ),
    (
        lambda: curve(metrics="auc"),
        (
            "metrics='auc': this is a statistic of a complete curve, not of one row.\n"
            'Use rf.auc(…) or rf.intervals(…, metrics="auc").'
        ),
    ),
    (
        lambda: curve(metrics=["f1", "ks"]),
        (
            "metrics='ks': this is a statistic of a complete curve, not of one row.\n"
            'Use rf.intervals(…, metrics="ks").'
        ),
    ),
    (
        lambda: rf.average(CURVES, over="g", metrics="roc_auc"),
        (
            "metrics='roc_auc': this is a statistic of a complete curve, not of one row.\n"
            'Use rf.auc(…) or rf.intervals(…, metrics="auc").'
        ),
    ),
    (
        lambda: rf.auc(PREDICTIONS, "label", "score", ci="wilson"),
        (
            "ci='wilson': this method is for proportions of rows, such as the TPR at a threshold.\n"
            "For proportions: rf.intervals(…, ci='wilson'). For areas: ci=\"logit_delong\"."
        ),
    ),
    (
        lambda: curve(metrics=pl.col("tp", "fp") * 2),
        (
            "metrics=[(cs.by_name('tp', 'fp', require_all=true)) * (dyn int: 2)]: the expression "
            "returns several columns.\nPass one named expression for each column."
        ),
    ),
    (
        lambda: curve(metrics=(pl.col("tpp") * 2).alias("twice")),
        (
            "metrics='tpp': the frame has no column of this name.\n"
            "The frame has: 'threshold', 'tp', 'fp', 'fn', 'tn', 'fpr', 'tpr'.\n"
            "Did you mean metrics='tp'?"
        ),
    ),
    (at, f"at: no threshold or rate is given.\n{WHERE}"),
    (lambda: at(fpr=0.1, tpr=0.5), f"fpr=0.1: tpr= is given as well.\n{WHERE}"),
    (lambda: at(fpr=5), f"fpr=5: 5 is outside the range from 0 to 1.\n{RATES} For 5 %, use 0.05."),
    (
        lambda: at(alert_rate=[0.1, -0.5]),
        f"alert_rate=[0.1, -0.5]: -0.5 is outside the range from 0 to 1.\n{RATES}",
    ),
    (lambda: at(fpr=nan), "fpr=nan: a value is NaN.\nRemove NaN."),
    (lambda: at(threshold=nan), "threshold=nan: a value is NaN.\nRemove NaN."),
    (
        lambda: at(threshold="5"),
        (
            "threshold='5': expected a number or a list of numbers.\n"
            "Use, for example, threshold=0.5."
        ),
    ),
    (
        lambda: at(tpr=[0.5, None]),
        "tpr=[0.5, None]: expected a number or a list of numbers.\nUse, for example, tpr=0.5.",
    ),
    (
        lambda: at(threshold=0.5, interpolate=True),
        (
            "interpolate=True: counts are constant between two thresholds, so they cannot be "
            "interpolated.\nUse interpolate=True with a rate, such as fpr= or tpr=."
        ),
    ),
    (
        lambda: compare(method="delongg"),
        f"method='delongg': unknown value.\nDid you mean method='delong'?\n{COMPARED}",
    ),
    (lambda: compare(method=None), f"method=None: unknown value.\n{COMPARED}"),
    (lambda: compare(level=95), f"level=95: {SHARE}"),
    (lambda: compare(fpr=0.1), f"fpr=0.1: {AREAS.format('delong_t', 'fpr=(0, 0.1)')}"),
    (lambda: compare(tpr=1), f"tpr=1.0: {AREAS.format('delong_t', 'tpr=(0.9, 1)')}"),
    (lambda: exchanged(fpr=0.1), f"fpr=0.1: {NO_RATES}"),
    (lambda: compare(fpr=1.5), f"fpr=1.5: {RATE.format('fpr')}"),
    (lambda: compare(tpr=nan), f"tpr=nan: {RATE.format('tpr')}"),
    (lambda: compare(fpr=0.1, standardize="mcclish"), f"fpr=0.1: {PAIR}"),
    (
        lambda: compare(fpr=(0, 0.1), tpr=0.5),
        "tpr=0.5: fpr= is given as well.\nA partial area has one range: pass either fpr= or tpr=.",
    ),
    (lambda: compare(margin="0.1"), f"margin='0.1': {MARGIN}"),
    (lambda: compare(margin=-0.1), f"margin=-0.1: {MARGIN}"),
    (lambda: compare(margin=1), f"margin=1: {MARGIN}"),
    (lambda: compare(margin=nan), f"margin=nan: {MARGIN}"),
    (
        lambda: compare(margin=0.1, alternative="less"),
        (
            "alternative='less': margin= already defines a one-sided alternative: "
            "model_b is not inferior to model_a.\nPass either margin= or alternative=."
        ),
    ),
    (
        lambda: compare(alternative="two.sided"),
        (
            "alternative='two.sided': unknown value.\nDid you mean alternative='two-sided'?\n"
            "Choose one of: 'two-sided', 'greater', 'less'."
        ),
    ),
    (
        lambda: compare(adjust="bonferroni"),
        "adjust='bonferroni': unknown value.\nChoose one of: 'holm', 'bh', None.",
    ),
    (
        lambda: compare(family="groups"),
        (
            "family='groups': unknown value.\nDid you mean family='group'?\n"
            "Choose one of: 'group', 'all'."
        ),
    ),
    (lambda: compare(method="bootstrap", n_boot=1), f"n_boot=1: {RESAMPLES}"),
    (lambda: exchanged(n_perm=0), f"n_perm=0: {WHOLE}"),
    (lambda: compare(n_perm=0), f"n_perm=0: {WHOLE}"),
    (lambda: exchanged(n_perm=10**9 + 1), f"n_perm=1000000001: {WHOLE}"),
    (lambda: compare(n_boot=1), f"n_boot=1: {RESAMPLES}"),
    (lambda: exchanged(n_perm="all"), f"n_perm='all': {WHOLE}"),
    (lambda: exchanged(seed=-1), f"seed=-1: {SEED}"),
    (lambda: compare(seed=1.5), f"seed=1.5: {SEED}"),
    (lambda: compare(baseline="c"), f"baseline='c': {NO_MODEL}"),
    (lambda: compare(baseline=1, method="delong_unpaired"), f"baseline=1: {NO_MODEL}"),
    (lambda: compare(baseline=["a"]), f"baseline=['a']: {NO_MODEL}"),
    (lambda: exchanged(weight="score"), f"weight='score': {SINGLE}"),
    (lambda: exchanged(count="label"), f"count='label': {SINGLE}"),
    (
        lambda: exchanged(fpr=(0, 0.1)),
        (
            "fpr=(0.0, 0.1): this option cannot be used with method='permutation'.\n"
            'Use method="delong_t" or method="bootstrap".'
        ),
    ),
    (
        lambda: exchanged(margin=0.1),
        (
            "margin=0.1: this option cannot be used with method='permutation'.\n"
            'Use method="delong_t" or method="bootstrap".'
        ),
    ),
    (
        lambda: compare(method="venkatraman", alternative="less"),
        (
            "alternative='less': this value cannot be used with method='venkatraman'.\n"
            'Omit alternative=, or use method="permutation" to compare areas.'
        ),
    ),
    (
        lambda: compare(method="delong_unpaired", cluster="g"),
        (
            "cluster='g': this option cannot be used with method='delong_unpaired'.\n"
            'Use method="delong_t" with id=; this method supports clusters.'
        ),
    ),
    (
        lambda: compare(cluster="g", count="label"),
        (
            "count='label': with cluster=, each row must be one prediction.\n"
            "Use count=None, with a table that has one row for each prediction."
        ),
    ),
    (lambda: contrast({}), f"coefficients={{}}: {COEFFICIENTS}"),
    (lambda: contrast("ab"), f"coefficients='ab': {COEFFICIENTS}"),
    (lambda: contrast(2), f"coefficients=2: {COEFFICIENTS}"),
    (lambda: contrast([1, -1]), f"coefficients=1: {COEFFICIENTS}"),
    (lambda: contrast({"a": 0}), f"coefficients={{'a': 0}}: {COEFFICIENTS}"),
    (lambda: contrast({"a": nan}), f"coefficients={{'a': nan}}: {COEFFICIENTS}"),
    (lambda: contrast({"a": 1, "b": -inf}), f"coefficients={{'a': 1, 'b': -inf}}: {COEFFICIENTS}"),
    (lambda: contrast({"a": "1"}), f"coefficients={{'a': '1'}}: {COEFFICIENTS}"),
    (lambda: contrast([{"a": 1, "b": -1}, {}]), f"coefficients={{}}: {COEFFICIENTS}"),
    (
        lambda: contrast([]),
        "coefficients=[]: the list is empty.\nOmit coefficients= to compare all models.",
    ),
    (lambda: contrast({"a": 1, "c": -1}), f"coefficients='c': {NO_MODEL}"),
    (
        lambda: rf.contrast(PREDICTIONS, "label", ["score"], adjust="BH"),
        (
            "adjust='BH': unknown value.\nDid you mean adjust='bh'?\n"
            "Choose one of: 'holm', 'bh', None."
        ),
    ),
    (lambda: rf.contrast(PREDICTIONS, "label", ["score"], fpr=0.1), f"fpr=0.1: {PAIR}"),
    (
        lambda: rf.auc_covariance(PREDICTIONS, "label", ["score"], standardize="mcclish"),
        "standardize='mcclish': only partial areas can be standardized.\nPass fpr= or tpr=.",
    ),
    (lambda: rf.area(CURVES, kind="x"), f"kind='x': unknown value.\n{KINDS}"),
    (lambda: rf.auc({"label": [1]}, "label", "score"), f"predictions: {FRAME} a dict.\n{CONVERT}"),
    (
        lambda: rf.curve("log.parquet", "label", "score"),
        f"predictions: {FRAME} a str.\n{READ_FILE.format('parquet')}",
    ),
    (
        lambda: rf.auc(PREDICTIONS.group_by("g"), "label", "score"),
        f"predictions: {FRAME} a GroupBy.\n{UNGROUPED}",
    ),
    (lambda: rf.at(CURVES["tp"], fpr=0.1), f"curves: {FRAME} a Series.\n{PASS_RESULT}"),
    (lambda: rf.area(None), f"curves: {FRAME} None.\n{PASS_RESULT}"),
]


@pytest.mark.parametrize(("call", "text"), WRONG, ids=[text.split(":")[0] for _, text in WRONG])
def test_a_wrong_option_is_named_with_its_value_and_what_to_do(call, text):
    with pytest.raises(rf.RocframeError) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize("half", [0.5, np.float64(0.5), np.float32(0.5), np.array(0.5)], ids=repr)
def test_a_number_of_any_kind_is_a_number(half):
    assert_frame_equal(at(fpr=half), at(fpr=0.5))
    assert_frame_equal(at(threshold=[half]), at(threshold=0.5))
    assert_frame_equal(curve(thresholds=[half]), curve(thresholds=[0.5]))
    assert_frame_equal(auc(fpr=(0, half)), auc(fpr=(0, 0.5)))
    assert_frame_equal(auc(level=half), auc(level=0.5))
    assert_frame_equal(compare(margin=half, baseline="a"), compare(margin=0.5, baseline="a"))
    assert_frame_equal(contrast({"a": half, "b": -half}), contrast({"a": 1, "b": -1}))


@pytest.mark.parametrize(
    "several", [[0, 0.5], (0, 0.5), pl.Series([0.0, 0.5]), np.array([0, 0.5]), range(1)], ids=repr
)
def test_several_numbers_come_in_any_container(several):
    assert_frame_equal(at(tpr=several), at(tpr=[float(one) for one in several]))
    assert_frame_equal(curve(thresholds=several), curve(thresholds=[float(one) for one in several]))


@pytest.mark.parametrize(
    "function",
    [
        lambda frame, wrap: rf.auc(frame, "label", wrap(["score"]), by=wrap(["g"])),
        lambda frame, wrap: rf.curve(frame, "label", "score", by=wrap(["g"]), metrics=wrap(["f1"])),
        lambda frame, wrap: rf.compress(frame, "label", "score", by=wrap(["g"])),
        lambda frame, wrap: rf.area(rf.curve(frame, "label", "score", by="g"), by=wrap(["g"])),
        lambda frame, wrap: rf.cost_curve(rf.curve(frame, "label", "score"), grid=wrap([0.1, 0.5])),
        lambda frame, wrap: rf.at(rf.curve(frame, "label", "score"), fpr=wrap([0.1, 0.5])),
    ],
    ids=["auc", "curve", "compress", "area", "cost_curve", "at"],
)
def test_an_iterator_is_read_once_although_a_plan_is_resolved_several_times(function):
    expected = function(PREDICTIONS, list)
    assert_frame_equal(function(PREDICTIONS, iter), expected)
    plan = function(PREDICTIONS.lazy(), iter)
    assert plan.collect_schema() == expected.schema
    for _ in range(2):
        assert_frame_equal(plan.select(pl.all()).collect(), expected)


def test_an_array_of_names_is_several_metrics_but_not_one():
    names = np.array(["f1", "mcc"])
    assert_frame_equal(curve(metrics=names), curve(metrics=["f1", "mcc"]))
    with pytest.raises(rf.UnknownOptionError, match=r"^metrics=array\(\['f1', 'mcc'\], dtype"):
        curve(metrics=[names])


def test_an_expression_may_use_the_rates():
    gain = (pl.col("tpr") - pl.col("fpr")).alias("gain")
    assert_frame_equal(curve(metrics=gain), curve(metrics="youden").rename({"youden": "gain"}))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"beta": 2},
            (
                "beta=2: no metric in this call uses this option.\n"
                'Use, for example, metrics=["f_beta"].'
            ),
        ),
        (
            {"costs": {"fp": 1}, "metrics": ["f1"]},
            (
                "costs={'fp': 1}: no metric in this call uses this option.\n"
                'Use, for example, metrics=["expected_cost"].'
            ),
        ),
    ],
)
def test_an_option_that_nothing_reads_is_not_ignored(options, text):
    with pytest.raises(rf.OptionValueError) as caught:
        rf.curve(pl.DataFrame({"y": [1, 0], "s": [0.9, 0.1]}), "y", "s", **options)
    assert str(caught.value) == text


@pytest.mark.parametrize("verb", [rf.area, lambda curves: rf.at(curves, fpr=0.1)])
def test_a_curve_table_without_keys_or_rows_is_no_curve(verb):
    curves = rf.curve(pl.DataFrame({"y": [1, 0], "s": [0.9, 0.1]}), "y", "s").clear()
    with pytest.raises(rf.BrokenCurveError) as caught:
        verb(curves)
    assert str(caught.value).startswith(
        "curves: the table has no rows, but a curve without group columns has at least one row.\n"
    )


@pytest.mark.parametrize("name", ["threshold", "tp"])
def test_columns_of_the_curve_cannot_be_group_columns(name):
    table = rf.curve(pl.DataFrame({"y": [1, 0], "s": [0.9, 0.1]}), "y", "s")
    with pytest.raises(rf.ReservedColumnError) as caught:
        rf.area(table, by=name)
    assert str(caught.value) == (
        f"by={name!r}: the result already has a column of this name.\n"
        "Columns of the result: 'threshold', 'tp', 'fp', 'fn', 'tn'.\n"
        f"Rename the group column first, for example with .rename({{{name!r}: '{name}_group'}})."
    )


def test_columns_of_the_result_alone_cannot_be_group_columns():
    table = rf.curve(pl.DataFrame({"y": [1, 0], "s": [0.9, 0.1]}), "y", "s")
    with pytest.raises(rf.MissingColumnError) as caught:
        rf.area(table, by="auc")
    assert str(caught.value) == (
        "by='auc': the frame has no column of this name.\n"
        "The frame has: 'threshold', 'tp', 'fp', 'fn', 'tn', 'fpr', 'tpr'."
    )


OF_WRONG_TYPE = {
    "an expression": pl.col("score"),
    "an array": np.array([1, 2]),
    "an array of one number": np.array(1.5),
    "an array of one text": np.array("x"),
    "a table": pl.DataFrame({"a": [1]}),
    "an object": object(),
}
SCORED = pl.DataFrame(
    {
        "label": [1, 0, 1, 0, 1, 0],
        "score": [0.9, 0.8, 0.7, 0.3, 0.4, 0.1],
        "other": [0.9, 0.1, 0.7, 0.3, 0.4, 0.8],
        "fold": [1, 1, 2, 2, 2, 1],
    }
)
FOLD_CURVES = rf.curve(SCORED, "label", "score", by="fold")
POINTS = rf.at(rf.curve(SCORED, "label", ["score", "other"]), fpr=0.5)
CHOICES = {
    ("auc", "ci"): lambda **options: rf.auc(SCORED, "label", "score", **options),
    ("auc", "score"): lambda **options: rf.auc(SCORED, "label", **options),
    ("auc_test", "missing"): lambda **options: rf.auc_test(SCORED, "label", "score", **options),
    ("intervals", "ci"): lambda **options: rf.intervals(
        SCORED, "label", "score", metrics="auc", **options
    ),
    ("calibration", "ci"): lambda **options: rf.calibration(SCORED, "label", "score", **options),
    ("calibration", "missing"): lambda **options: rf.calibration(
        SCORED, "label", "score", **options
    ),
    ("compare", "id"): lambda **options: rf.compare(SCORED, "label", ["score", "other"], **options),
    ("compare", "baseline"): lambda **options: rf.compare(
        SCORED, "label", ["score", "other"], **options
    ),
    ("contrast", "coefficients"): lambda **options: rf.contrast(
        SCORED, "label", ["score", "other"], **options
    ),
    ("average", "over"): lambda **options: rf.average(FOLD_CURVES, **options),
    ("combine_points", "across"): lambda **options: rf.combine_points(POINTS, **options),
    ("tie_bounds", "metrics"): lambda **options: rf.tie_bounds(FOLD_CURVES, **options),
    ("chart", "kind"): lambda **options: rf.chart(FOLD_CURVES, **options),
    ("chart", "x"): lambda **options: rf.chart(FOLD_CURVES, y="tpr", **options),
    ("chart", "y"): lambda **options: rf.chart(FOLD_CURVES, x="fpr", **options),
}


@pytest.mark.parametrize(("function", "option"), CHOICES)
def test_an_option_of_a_wrong_type_is_an_error_of_rocframe(function, option):
    for name, value in OF_WRONG_TYPE.items():
        if (name, option) == ("an expression", "score"):
            continue
        with pytest.raises(rf.RocframeError) as caught:
            CHOICES[function, option](**{option: value})
        assert str(caught.value).split("=")[0].split(":")[0] in {option, function}, name
    if (function, option) == ("tie_bounds", "metrics"):
        with pytest.raises(rf.UnknownOptionError):
            CHOICES[function, option](metrics=None)


def test_functions_of_curves_name_the_missing_columns_of_another_table():
    with pytest.raises(rf.BrokenCurveError) as caught:
        rf.iso_lines(SCORED, costs={"fp": 1, "fn": 1})
    assert str(caught.value).startswith(
        "curves: expected a curve table, but the table has no column 'threshold', 'tp', 'fp', 'fn'"
    )


def test_a_chart_names_a_column_of_counts_that_is_text():
    matrix = rf.confusion_matrix(SCORED, "label", pl.col("score") > 0.5)
    with pytest.raises(rf.ColumnTypeError) as caught:
        rf.chart(matrix.with_columns(pl.lit("many").alias("tp")))
    assert str(caught.value) == (
        "table: column 'tp' of the table has type String.\nThis column must be numeric."
    )


def test_costs_whose_ratio_is_infinite_are_an_error():
    with pytest.raises(rf.OptionValueError) as caught:
        rf.dashboard(FOLD_CURVES, costs={"fp": 1, "fn": 1e-320})
    assert str(caught.value) == (
        "costs={'fp': 1, 'fn': 1e-320}: the ratio of the two costs is too large or too small for a "
        'floating-point number.\nUse, for example, costs={"fp": 1, "fn": 5}.'
    )


def test_the_power_of_an_area_near_1_with_one_negative_is_finite():
    plan = rf.power(auc=1 - 1e-12, auc_b=0.7, correlation=0.5, n_pos=10**6, n_neg=1)
    assert 0 < plan["power"].item() < 1


HINTS = {
    "levels": (lambda: rf.auc(SCORED, "label", "score", levels=[0, 1]), "Use positive= instead."),
    "direction": (
        lambda: rf.auc(SCORED, "label", "score", direction="<"),
        (
            "Higher scores indicate the positive class. If lower scores indicate it, negate the "
            'score, for example with score=-pl.col("score").'
        ),
    ),
    "limits of calibration": (
        lambda: rf.calibration_summary(SCORED, "label", "score", ci="wilson"),
        (
            "For confidence limits of these measures, use, for example, "
            'intervals(…, metrics="calibration_slope").'
        ),
    ),
    "models at a threshold": (
        lambda: rf.compare(SCORED, "label", ["score", "other"], threshold=0.5),
        (
            "For metrics of each model at a threshold, use "
            'intervals(…, metrics="precision", threshold=0.5). For differences of the net benefit '
            "between models, use decision_intervals."
        ),
    ),
    "an ordered score": (
        lambda: rf.auc(
            SCORED.with_columns(pl.lit("mid").cast(pl.Enum(["low", "mid"])).alias("score")),
            "label",
            "score",
        ),
        (
            "Scores must be numbers. To use the order of the categories, pass "
            "score=pl.col('score').cat.physical()."
        ),
    ),
    "classes as text": (
        lambda: rf.confusion_matrix(SCORED.with_columns(p=pl.lit("yes")), "label", "p"),
        (
            "Scores must be numbers. Cast the column first, for example with "
            "pl.col('p').cast(pl.Float64). For predicted classes, use a comparison, "
            "such as pl.col('p') == 'yes'."
        ),
    ),
    "several labels": (
        lambda: rf.multiclass_auc(SCORED, ["label", "fold"], ["score", "other"]),
        "Pass a mapping {class: column} of Boolean or 0/1 columns, or one column of lists of classes.",
    ),
}


@pytest.mark.parametrize("case", HINTS)
def test_the_last_line_of_an_error_says_what_to_use(case):
    call, hint = HINTS[case]
    with pytest.raises(rf.RocframeError) as caught:
        call()
    assert str(caught.value).splitlines()[-1] == hint


def test_the_order_of_categories_is_a_score():
    score = pl.Series(["low", "mid", "high", "low"], dtype=pl.Enum(["low", "mid", "high"]))
    table = pl.DataFrame({"label": [0, 1, 1, 0], "score": score})
    assert rf.auc(table, "label", pl.col("score").cat.physical())["auc"].item() == 1


def test_the_rule_eer_suggests_equal_error_before_the_choices():
    with pytest.raises(rf.UnknownOptionError) as caught:
        rf.operating_point(FOLD_CURVES, "eer")
    assert str(caught.value).startswith(
        "rule='eer': unknown value.\nDid you mean rule='equal_error'?\nChoose one of: 'youden', "
    )


def test_one_cluster_with_all_positives_has_a_note_of_its_own():
    table = pl.DataFrame(
        {
            "label": [1] * 10 + [0] * 10,
            "score": [*range(0, 20, 2), *range(1, 20, 2)],
            "user": ["a"] * 10 + [f"b{i}" for i in range(10)],
        }
    )
    area = rf.auc(table, "label", "score", cluster="user")
    assert area.select("n_pos", "lower", "note").row(0) == (10, None, "one_positive_cluster")
    other = rf.auc(table.with_columns(pl.col("label") == 0), "label", "score", cluster="user")
    assert other.select("n_neg", "lower", "note").row(0) == (10, None, "one_negative_cluster")


def test_a_value_whose_text_exceeds_the_memory_is_shown_by_its_type():
    class Long:
        def __repr__(self) -> str:
            raise MemoryError

    with pytest.raises(rf.UnknownOptionError) as caught:
        rf.auc(SCORED, "label", "score", ci=Long())
    assert str(caught.value).startswith("ci=<Long>: unknown value.")
