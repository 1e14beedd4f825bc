"""Compute evaluation curves of scoring classifiers from tables of predictions.

    predictions ──▶ curve ──▶ at, area, average ──▶ chart, Parquet
              ├───▶ auc, auc_test, band, compare
              └───▶ report

Importing the package registers the namespace `.roc` on polars DataFrames, LazyFrames and
expressions. Each function is imported when it is first used. numpy, Altair and pyarrow are imported
when a function first needs them.

These parameters mean the same in all functions:

predictions
    One row per prediction: a DataFrame, a LazyFrame, or a table of pandas, pyarrow, DuckDB or
    another package that exports Arrow streams. The latter is converted to a polars DataFrame.
curves
    A curve table: group columns, `threshold`, `tp, fp, fn, tn`, and other columns right of them, in
    any order of rows. Every curve has all its rows, from the threshold `inf` to the lowest score.
    Groups can be removed as a whole; to use other parts of the data, filter the predictions.
label
    Column or expression with the true class: Boolean or 0/1. With `positive`, values of all types
    except List, Array, Struct and Object.
score
    Column or expression with the score. Higher values indicate the positive class. Any real number
    is allowed, and scores are never transformed. Several models are a list of columns, a selector,
    or a mapping from names of models to columns. The column `model` (String) is then right of `by`.
scores, classes
    For three classes or more, the score of each class; scores need not sum to 1. A mapping from
    classes to columns or expressions; a list of columns, or a selector, with the names of their
    classes; or one column of lists or arrays, whose order `classes` states.
by
    Group columns, as in `group_by` of polars: names, expressions and selectors, alone or in a list.
    The result has the columns that they return: `by=pl.col("day").dt.month()` groups by months, in
    a column `day`. An expression returns one value for each row. Rows with a null in a group column
    are a separate group. If another argument uses the column `day`, too, the group column needs
    another name, with `.alias`. A selector also selects labels and scores, which raise an error.
total
    Adds rows of all groups together. True combines the groups of all columns in `by`; the name of
    a group column, or a list of names, combines groups that differ only in these columns, so that
    `by=["model", "segment"], total="segment"` adds a row for each model. Models of several scores
    are never combined. In the added rows, the column `total`, right of the other group columns, is
    true and the combined columns are null; in all other rows, it is false. The added rows are below
    the groups that they combine, and are computed from the same rows, without repeating them.
positive
    The value of `label` that is the positive class; all others are negative. It is required for
    labels that are not Boolean or 0/1. Without it, expressions return null for other numbers.
weight
    Column or expression with the importance of each row, finite and >= 0.
count
    Column or expression with the number of equal rows that a row represents. Results are the same
    as for repeated rows. If the table has a column `count`, this option is required: `"count"` uses
    the column, and None ignores it.
missing
    What is done if a label, a score, a weight or a count is null or NaN. `"raise"`: an error.
    `"drop"`: the row is left out. `"worst"`: only scores may be missing. At every threshold, a
    positive without a score is a false negative, and a negative without a score a false positive.
cluster
    Column or expression that identifies dependent rows, such as all rows of one user. Different
    clusters are independent.
id, unmatched
    Columns that identify an instance, so that the rows of different models are paired. Each
    instance occurs once per model and group, in any order. With `unmatched="drop"`, instances that
    some models lack are left out and counted in `note`. The same holds, without an error, for
    instances of which `missing="drop"` leaves out a row.
level, ci
    The confidence level between 0 and 1, and the method of the limits; None computes no limits.
n_boot, seed
    The number of resamples, and the seed of their random numbers. The draws of a group depend only
    on the seed and on the values of its group columns. Without a seed, each call uses a new one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rocframe import datasets
from rocframe.errors import (
    AmbiguousCountError,
    ArgumentError,
    BrokenCurveError,
    ColumnTypeError,
    LabelError,
    LazyFrameError,
    LogError,
    MassError,
    MissingColumnError,
    MissingExtraError,
    MissingValuesError,
    OptionValueError,
    PairingError,
    RepeatedNameError,
    ReservedColumnError,
    RocframeError,
    ScoreError,
    StorageError,
    UnknownOptionError,
)
from rocframe.namespace import (
    FUNCTION_MODULES,
    RocExpr,  # noqa: F401 - for tests and docs
    RocFrame,
    lazy_methods,
    suggest_name,
)

if TYPE_CHECKING:
    from rocframe.areas.area import area
    from rocframe.areas.auc import auc
    from rocframe.areas.tie_bounds import tie_bounds, ties
    from rocframe.averages.average import average
    from rocframe.averages.fold_auc import fold_auc, pooling_gap
    from rocframe.averages.pool_imputations import pool_imputations
    from rocframe.bands.band import band
    from rocframe.bands.smooth import smooth, theoretical_curve
    from rocframe.charts.chart import chart
    from rocframe.charts.dashboard import dashboard
    from rocframe.classes.confusion_matrix import confusion_matrix, expand_counts
    from rocframe.classes.multiclass_auc import multiclass_auc
    from rocframe.classes.multiclass_metrics import multiclass_metrics
    from rocframe.classes.one_vs import one_vs_one, one_vs_rest, top_label
    from rocframe.classes.volume import volume
    from rocframe.comparisons.combine import chain, combine, combine_points
    from rocframe.comparisons.compare import compare
    from rocframe.comparisons.contrast import contrast
    from rocframe.comparisons.decision_intervals import decision_intervals
    from rocframe.comparisons.delong import auc_covariance
    from rocframe.comparisons.drift import drift
    from rocframe.comparisons.drift_test import drift_test
    from rocframe.comparisons.gate import gate
    from rocframe.comparisons.hull_shares import hull_shares
    from rocframe.comparisons.reader_study import reader_study
    from rocframe.comparisons.score_drift import score_drift
    from rocframe.compression import compress
    from rocframe.curves.at import at
    from rocframe.curves.curve import curve
    from rocframe.curves.simplify import simplify
    from rocframe.decisions.add_metrics import add_metrics
    from rocframe.decisions.concavities import concavities, repair_scores, repaired_auc
    from rocframe.decisions.cost_curve import cost_curve
    from rocframe.decisions.decision_curve import decision_curve
    from rocframe.decisions.gains import gains
    from rocframe.decisions.h_measure import h_measure
    from rocframe.decisions.hull import hull, iso_lines
    from rocframe.decisions.mix import draw_decisions, mix
    from rocframe.decisions.operating_point import operating_point
    from rocframe.decisions.relative_superiority import lc_index, relative_superiority
    from rocframe.decisions.transfer import transfer
    from rocframe.inputs.windows import windows
    from rocframe.io.tables import about, read, scan, write
    from rocframe.metrics.intervals import intervals
    from rocframe.planning import detectable_difference, power, sample_size
    from rocframe.probabilities.calibration import calibration
    from rocframe.probabilities.calibration_summary import calibration_summary
    from rocframe.probabilities.curve_from_calibration import curve_from_calibration
    from rocframe.probabilities.fit_calibration import apply_calibration, fit_calibration
    from rocframe.probabilities.losses import murphy_curve
    from rocframe.reports.export import chart_bundle, chart_fragment, save_chart
    from rocframe.reports.report import report
    from rocframe.significance import auc_test
    from rocframe.summaries import summary

__version__ = "0.1.0"

__all__ = [
    "AmbiguousCountError",
    "ArgumentError",
    "BrokenCurveError",
    "ColumnTypeError",
    "LabelError",
    "LazyFrameError",
    "LogError",
    "MassError",
    "MissingColumnError",
    "MissingExtraError",
    "MissingValuesError",
    "OptionValueError",
    "PairingError",
    "RepeatedNameError",
    "ReservedColumnError",
    "RocframeError",
    "ScoreError",
    "StorageError",
    "UnknownOptionError",
    "__version__",
    "about",
    "add_metrics",
    "apply_calibration",
    "area",
    "at",
    "auc",
    "auc_covariance",
    "auc_test",
    "average",
    "band",
    "calibration",
    "calibration_summary",
    "chain",
    "chart",
    "chart_bundle",
    "chart_fragment",
    "combine",
    "combine_points",
    "compare",
    "compress",
    "concavities",
    "confusion_matrix",
    "contrast",
    "cost_curve",
    "curve",
    "curve_from_calibration",
    "dashboard",
    "datasets",
    "decision_curve",
    "decision_intervals",
    "detectable_difference",
    "draw_decisions",
    "drift",
    "drift_test",
    "expand_counts",
    "fit_calibration",
    "fold_auc",
    "gains",
    "gate",
    "h_measure",
    "hull",
    "hull_shares",
    "intervals",
    "iso_lines",
    "lc_index",
    "mix",
    "multiclass_auc",
    "multiclass_metrics",
    "murphy_curve",
    "one_vs_one",
    "one_vs_rest",
    "operating_point",
    "pool_imputations",
    "pooling_gap",
    "power",
    "read",
    "reader_study",
    "relative_superiority",
    "repair_scores",
    "repaired_auc",
    "report",
    "sample_size",
    "save_chart",
    "scan",
    "score_drift",
    "simplify",
    "smooth",
    "summary",
    "theoretical_curve",
    "tie_bounds",
    "ties",
    "top_label",
    "transfer",
    "volume",
    "windows",
    "write",
]


# The module of each public function.
MODULES = {**lazy_methods(RocFrame), **FUNCTION_MODULES}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        hint = "" if name.startswith("_") else suggest_name(name, __all__, "rocframe.")
        raise AttributeError(f"module 'rocframe' has no attribute {name!r}{hint}", name=name)
    function = getattr(import_module(MODULES[name]), name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return __all__
