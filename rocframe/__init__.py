"""Evaluation curves of scoring classifiers: prediction tables in, curve tables out.

    predictions ──▶ curve ──▶ at, area, average ──▶ chart, Parquet
              └───▶ auc, auc_test, band, compare

Importing the package registers `.roc` on polars DataFrames, LazyFrames and expressions. numpy,
Altair and pyarrow are loaded by the first call that needs them.
"""

from rocframe import datasets
from rocframe.areas.area import area
from rocframe.areas.auc import auc
from rocframe.averages.average import average
from rocframe.averages.fold_auc import fold_auc
from rocframe.averages.pooling_gap import pooling_gap
from rocframe.bands.band import band
from rocframe.chance.auc_test import auc_test
from rocframe.charts.chart import chart
from rocframe.charts.dashboard import dashboard
from rocframe.classes.multiclass_auc import multiclass_auc
from rocframe.classes.one_vs_one import one_vs_one
from rocframe.classes.one_vs_rest import one_vs_rest
from rocframe.classes.volume import volume
from rocframe.comparisons.auc_covariance import auc_covariance
from rocframe.comparisons.compare import compare
from rocframe.comparisons.contrast import contrast
from rocframe.curves.at import at
from rocframe.curves.curve import curve
from rocframe.curves.simplify import simplify
from rocframe.errors import (
    AmbiguousCountError,
    BrokenCurveError,
    ColumnTypeError,
    LabelError,
    LazyFrameError,
    LogError,
    MassError,
    MissingColumnError,
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
from rocframe.expressions import RocExpr  # noqa: F401 - registers `.roc` on expressions
from rocframe.metrics.intervals import intervals
from rocframe.namespace import RocFrame  # noqa: F401 - registers `.roc` on frames
from rocframe.planning.detectable_difference import detectable_difference
from rocframe.planning.power import power
from rocframe.planning.sample_size import sample_size
from rocframe.storage import about, read, scan, write

__version__ = "0.1.0"

__all__ = [
    "AmbiguousCountError",
    "BrokenCurveError",
    "ColumnTypeError",
    "LabelError",
    "LazyFrameError",
    "LogError",
    "MassError",
    "MissingColumnError",
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
    "area",
    "at",
    "auc",
    "auc_covariance",
    "auc_test",
    "average",
    "band",
    "chart",
    "compare",
    "contrast",
    "curve",
    "dashboard",
    "datasets",
    "detectable_difference",
    "fold_auc",
    "intervals",
    "multiclass_auc",
    "one_vs_one",
    "one_vs_rest",
    "pooling_gap",
    "power",
    "read",
    "sample_size",
    "scan",
    "simplify",
    "volume",
    "write",
]


def __dir__() -> list[str]:
    return __all__
