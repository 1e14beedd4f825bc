"""Columns and charts of tables of statistics over many classes."""

from __future__ import annotations

from rocframe.schemas.columns import INTERVAL, INTERVAL_INFO
from rocframe.schemas.table_type import (
    DOT_CHART,
    HALF_TIES,
    SHARED_TIES,
    DotStyle,
    TableType,
    floats,
    has_columns,
    integers,
    strings,
)

MULTICLASS_LOSSES = TableType(
    name="multiclass_losses",
    functions=("multiclass_losses",),
    columns=lambda: (
        floats("brier", "log_loss", "accuracy")
        | integers("n_classes", "n", "n_missing")
        | strings("note")
    ),
    recognize=has_columns("brier", "log_loss", "accuracy", "n_classes"),
    ties=None,
    drawing=DOT_CHART,
    dots=DotStyle(
        title="Losses and accuracy over all classes",
        axis="Value",
        marks=("brier", "log_loss", "accuracy"),
        in_panels=True,
    ),
)

MULTICLASS_AUC = TableType(
    name="multiclass_auc",
    functions=("multiclass_auc",),
    columns=lambda: (
        floats("auc")
        | INTERVAL
        | integers("n", "n_missing")
        | floats("ci_level")
        | strings("ci_method")
        | integers("n_classes", "n_classes_used")
        | strings("average", "note")
    ),
    recognize=has_columns("auc", "n_classes", "n_classes_used", "average"),
    ties=HALF_TIES,
    drawing=DOT_CHART,
    dots=DotStyle(
        title="Multiclass AUC",
        axis="AUC",
        marks=("auc",),
        chance=0.5,
        part="average",
        ranked=False,
    ),
)

VOLUME = TableType(
    name="volume",
    functions=("volume",),
    columns=lambda: (
        floats("volume")
        | INTERVAL
        | strings("rule")
        | integers("n_first", "n_second", "n_third", "n_missing")
        | INTERVAL_INFO
    ),
    recognize=has_columns("volume", "rule", "n_first", "n_second", "n_third"),
    ties=SHARED_TIES,
    drawing=DOT_CHART,
    dots=DotStyle(
        title="Volume under the ROC surface",
        axis="Volume",
        marks=("volume",),
        chance=1 / 6,  # the expected volume for random scores
    ),
)
