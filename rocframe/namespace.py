"""The namespace `.roc` on DataFrame, LazyFrame and Expr.

The module of a method is imported when the method is first used.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable


# The modules of the public functions that are not methods of `.roc`.
FUNCTION_MODULES = {
    **dict.fromkeys(("power", "sample_size", "detectable_difference"), "rocframe.planning"),
    "theoretical_curve": "rocframe.bands.smooth",
    "chart_bundle": "rocframe.reports.export",
    **dict.fromkeys(("chart_fragment", "save_chart"), "rocframe.reports.export"),
    **dict.fromkeys(("about", "read", "scan", "write"), "rocframe.io.tables"),
}

# Names that other packages use, and the function of this package with the same purpose.
NAME_ALIASES = {
    alias: function
    for function, aliases in {
        "auc": "roc_auc roc_auc_score auroc auc_score partial_auc",
        "curve": "roc roc_curve precision_recall_curve pr_curve det_curve gain_curve lift_curve",
        "intervals": "ci_coords ci_thresholds confidence_interval metrics",
        "chart": "plot draw show plot_roc plot_roc_curve roccurvedisplay",
        "at": "coords at_threshold",
        "operating_point": "best best_threshold optimal_threshold youden cutpoint cutpointr",
        "compare": "roc_test delong delong_test delong_roc_test",
        "reader_study": "mrmc obuchowski_rockette",
        "gate": "non_inferiority non_inferiority_test release_gate",
        "average": "mean mean_curve",
        "fit_calibration": "calibrate recalibrate calibratedclassifiercv isotonic platt "
        "platt_scaling beta_calibration temperature_scaling",
        "average_precision": "average_precision_score ap",
        "calibration": "calibration_curve reliability_diagram reliability",
        "murphy_curve": "murphy murphy_diagram plot_murphy_diagram",
        "brier": "brier_score brier_score_loss",
        "pool_imputations": "pool rubin rubins_rules mice pool_auc",
        "psi": "population_stability_index",
        "score_drift": "data_drift prediction_drift",
        "windows": "group_by_dynamic rolling time_windows",
    }.items()
    for alias in aliases.split()
}
NAME_HINTS = {
    **dict.fromkeys(
        ("ci", "ci_auc", "confint"), "Use {}auc: its columns lower and upper are confidence limits."
    ),
    **dict.fromkeys(
        ("confusion_matrix_at_thresholds", "confusion_curve"),
        "Use {}curve: each of its rows has the counts tp, fp, fn, tn at a threshold.",
    ),
    "multiclass_losses": "Use {}multiclass_metrics(label, scores, …): it returns brier, log_loss, "
    "accuracy and, with metrics=, other metrics.",
    "class_metrics": "It was renamed. Use {}add_metrics, with the same arguments without by=.",
    "best_threshold": "Use {}operating_point for curve tables, or the expression "
    'pl.col("score").roc.best_threshold("label").',
    "thresholds": "Use {}at for given thresholds or rates, or {}operating_point for the best "
    "threshold.",
    **dict.fromkeys(
        ("save", "savefig", "to_html", "to_png"),
        "Use rocframe.write for tables and rocframe.save_chart for charts.",
    ),
}


METRICS_AT_THRESHOLDS = "rocframe.expressions.thresholds"


class LazyMethod:
    """A method that calls the function of the same name in a module.

    The module is imported when the method is first used.
    """

    def __init__(self, module: str) -> None:
        self.module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, namespace: Namespace | None, owner: type) -> Any:
        function = getattr(import_module(self.module), self.name)

        @wraps(function)
        def method(self: Namespace, /, *args: Any, **kwargs: Any) -> Any:
            return function(self._subject, *args, **kwargs)

        return method if namespace is None else MethodType(method, namespace)


class Namespace:
    """A namespace whose methods pass `_subject`, a frame or an expression, to functions."""

    _subject: Any

    def __getattr__(self, name: str) -> NoReturn:
        methods = lazy_methods(type(self))
        hint = suggest_name(name, methods, ".roc.")
        raise AttributeError(
            f".roc.{name}: unknown method.\nMethods: {', '.join(sorted(methods))}.{hint}",
            name=name,
            obj=self,
        )


def lazy_methods(namespace: type[Namespace]) -> dict[str, str]:
    """Return the names of the methods of a namespace, each with the module of its function."""
    members = vars(namespace).items()
    return {name: value.module for name, value in members if isinstance(value, LazyMethod)}


def suggest_name(name: str, names: Iterable[str], prefix: str) -> str:
    """Return a line that suggests a function for an unknown name.

    `names` are the available functions. `prefix` is written in front of the suggested function. The
    line is empty if no function is similar.
    """
    key = name.lower()
    available, expressions = list(names), lazy_methods(RocExpr)
    is_expression = available == [*expressions]
    if key in NAME_HINTS:
        return "\n" + NAME_HINTS[key].replace("{}", "rocframe." if is_expression else prefix)
    function = NAME_ALIASES.get(key, name)
    if is_expression and function == "operating_point":
        return '\nUse .roc.best_threshold("label", rule="youden"), or another rule.'
    if function not in available:
        if function in FUNCTION_MODULES:
            return f"\nUse the function rocframe.{function}."
        if function in lazy_methods(RocFrame):
            return f"\nUse .roc.{function} of a DataFrame or LazyFrame."
        if function in expressions:
            at = ", threshold=0.5" if expressions[function] == METRICS_AT_THRESHOLDS else ""
            return f'\nUse the expression pl.col("score").roc.{function}("label"{at}).'
    guess = get_close_matches(function, available, n=1)
    return f"\nDid you mean {prefix}{guess[0]}?" if guess else ""


@pl.api.register_dataframe_namespace("roc")
@pl.api.register_lazyframe_namespace("roc")
class RocFrame(Namespace):
    """Functions of rocframe as methods of a table of predictions, curves or other results."""

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame) -> None:
        self._frame = frame

    @property
    def _subject(self) -> pl.DataFrame | pl.LazyFrame:
        # polars stores the namespace in the frame, and the namespace refers to the frame. Such a
        # cycle of references keeps the frame in memory until the garbage collector runs, so the
        # stored namespace is removed.
        vars(self._frame).pop("roc", None)
        return self._frame

    curve = LazyMethod("rocframe.curves.curve")
    curve_from_calibration = LazyMethod("rocframe.probabilities.curve_from_calibration")
    auc = LazyMethod("rocframe.areas.auc")
    band = LazyMethod("rocframe.bands.band")
    smooth = LazyMethod("rocframe.bands.smooth")
    calibration = LazyMethod("rocframe.probabilities.calibration")
    fit_calibration = LazyMethod("rocframe.probabilities.fit_calibration")
    apply_calibration = LazyMethod("rocframe.probabilities.fit_calibration")
    calibration_summary = LazyMethod("rocframe.probabilities.calibration_summary")
    compare = LazyMethod("rocframe.comparisons.compare")
    contrast = LazyMethod("rocframe.comparisons.contrast")
    gate = LazyMethod("rocframe.comparisons.gate")
    hull_shares = LazyMethod("rocframe.comparisons.hull_shares")
    reader_study = LazyMethod("rocframe.comparisons.reader_study")
    combine = LazyMethod("rocframe.comparisons.combine")
    combine_points = LazyMethod("rocframe.comparisons.combine")
    chain = LazyMethod("rocframe.comparisons.combine")
    auc_covariance = LazyMethod("rocframe.comparisons.delong")
    drift = LazyMethod("rocframe.comparisons.drift")
    drift_test = LazyMethod("rocframe.comparisons.drift_test")
    score_drift = LazyMethod("rocframe.comparisons.score_drift")
    auc_test = LazyMethod("rocframe.significance")
    gains = LazyMethod("rocframe.decisions.gains")
    h_measure = LazyMethod("rocframe.decisions.h_measure")
    summary = LazyMethod("rocframe.summaries")
    intervals = LazyMethod("rocframe.metrics.intervals")
    multiclass_auc = LazyMethod("rocframe.classes.multiclass_auc")
    multiclass_metrics = LazyMethod("rocframe.classes.multiclass_metrics")
    compress = LazyMethod("rocframe.compression")
    one_vs_rest = LazyMethod("rocframe.classes.one_vs")
    one_vs_one = LazyMethod("rocframe.classes.one_vs")
    top_label = LazyMethod("rocframe.classes.one_vs")
    volume = LazyMethod("rocframe.classes.volume")
    windows = LazyMethod("rocframe.inputs.windows")
    add_metrics = LazyMethod("rocframe.decisions.add_metrics")
    at = LazyMethod("rocframe.curves.at")
    operating_point = LazyMethod("rocframe.decisions.operating_point")
    tie_bounds = LazyMethod("rocframe.areas.tie_bounds")
    ties = LazyMethod("rocframe.areas.tie_bounds")
    transfer = LazyMethod("rocframe.decisions.transfer")
    hull = LazyMethod("rocframe.decisions.hull")
    concavities = LazyMethod("rocframe.decisions.concavities")
    repair_scores = LazyMethod("rocframe.decisions.concavities")
    repaired_auc = LazyMethod("rocframe.decisions.concavities")
    iso_lines = LazyMethod("rocframe.decisions.hull")
    confusion_matrix = LazyMethod("rocframe.classes.confusion_matrix")
    expand_counts = LazyMethod("rocframe.classes.confusion_matrix")
    mix = LazyMethod("rocframe.decisions.mix")
    draw_decisions = LazyMethod("rocframe.decisions.mix")
    cost_curve = LazyMethod("rocframe.decisions.cost_curve")
    relative_superiority = LazyMethod("rocframe.decisions.relative_superiority")
    lc_index = LazyMethod("rocframe.decisions.relative_superiority")
    decision_curve = LazyMethod("rocframe.decisions.decision_curve")
    murphy_curve = LazyMethod("rocframe.probabilities.losses")
    decision_intervals = LazyMethod("rocframe.comparisons.decision_intervals")
    simplify = LazyMethod("rocframe.curves.simplify")
    area = LazyMethod("rocframe.areas.area")
    average = LazyMethod("rocframe.averages.average")
    fold_auc = LazyMethod("rocframe.averages.fold_auc")
    pooling_gap = LazyMethod("rocframe.averages.fold_auc")
    pool_imputations = LazyMethod("rocframe.averages.pool_imputations")
    chart = LazyMethod("rocframe.charts.chart")
    dashboard = LazyMethod("rocframe.charts.dashboard")
    report = LazyMethod("rocframe.reports.report")


@pl.api.register_expr_namespace("roc")
class RocExpr(Namespace):
    """Statistics of a score column, as expressions: one value per group, or one per row.

    The methods return native polars expressions. They work in `select`, `with_columns`,
    `group_by().agg()`, `over`, `group_by_dynamic` and `rolling`, on DataFrames and LazyFrames, on
    all polars engines, and for several score columns at once.

    An expression cannot raise errors that depend on the data. Rows whose label, score, weight or
    count is null or NaN are left out, and so are rows whose weight or count is 0. The result of a
    group is null if it has no positives (except for `fpr`), if the positive class is unknown
    (numeric labels other than 0 and 1 without `positive`), if a weight or count is negative, or if
    a weight is infinite. A column named `count` is read only if `count="count"` is given.
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._subject = expr

    auc = LazyMethod("rocframe.expressions.areas")
    auc_se = LazyMethod("rocframe.expressions.areas")
    gini = LazyMethod("rocframe.expressions.areas")
    ks = LazyMethod("rocframe.expressions.rates")
    ks_2samp = LazyMethod("rocframe.expressions.samples")
    psi = LazyMethod("rocframe.expressions.samples")
    average_precision = LazyMethod("rocframe.expressions.areas")
    pr_auc = LazyMethod("rocframe.expressions.areas")
    brier = LazyMethod("rocframe.expressions.probability")
    log_loss = LazyMethod("rocframe.expressions.probability")
    brier_skill = LazyMethod("rocframe.expressions.probability")
    cllr = LazyMethod("rocframe.expressions.probability")
    ece = LazyMethod("rocframe.expressions.probability")
    spiegelhalter_z = LazyMethod("rocframe.expressions.probability")
    observed_to_expected = LazyMethod("rocframe.expressions.probability")
    tpr = LazyMethod("rocframe.expressions.rates")
    fpr = LazyMethod("rocframe.expressions.rates")
    placement = LazyMethod("rocframe.expressions.rates")
    at_prevalence = LazyMethod("rocframe.expressions.rates")
    best_threshold = LazyMethod("rocframe.expressions.best_threshold")
    confusion = LazyMethod(METRICS_AT_THRESHOLDS)
    accuracy = LazyMethod(METRICS_AT_THRESHOLDS)
    balanced_accuracy = LazyMethod(METRICS_AT_THRESHOLDS)
    precision = LazyMethod(METRICS_AT_THRESHOLDS)
    recall = LazyMethod(METRICS_AT_THRESHOLDS)
    specificity = LazyMethod(METRICS_AT_THRESHOLDS)
    f1 = LazyMethod(METRICS_AT_THRESHOLDS)
    f_beta = LazyMethod(METRICS_AT_THRESHOLDS)
    jaccard = LazyMethod(METRICS_AT_THRESHOLDS)
    mcc = LazyMethod(METRICS_AT_THRESHOLDS)
    kappa = LazyMethod(METRICS_AT_THRESHOLDS)
