"""Column names, dtypes and order of every table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import (
    ColumnTypeError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
    ReservedColumnError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


THRESHOLD = "threshold"

CONFUSION = ("tp", "fp", "fn", "tn")

WALK = (THRESHOLD, *CONFUSION)

ROWS = {"n_pos": pl.Int64, "n_neg": pl.Int64, "n_missing": pl.Int64}

LIMITS = {"lower": pl.Float64, "upper": pl.Float64}

SPREAD = {**LIMITS, "se": pl.Float64}

METHOD = {"ci_level": pl.Float64, "ci_method": pl.String, "note": pl.String}

AUC = ("auc", "auc_pessimistic", "auc_optimistic")

PARTIAL_AUC = ("partial_auc", "partial_auc_pessimistic", "partial_auc_optimistic")

AUC_TEST = {
    "auc": pl.Float64,
    "p_value": pl.Float64,
    "p_adjusted": pl.Float64,
    "null": pl.Float64,
    "se": pl.Float64,
    "statistic": pl.Float64,
    **ROWS,
    "test": pl.String,
    "note": pl.String,
}

MULTICLASS_AUC = {
    "average": pl.String,
    "auc": pl.Float64,
    **SPREAD,
    "n_classes": pl.Int64,
    "n_classes_used": pl.Int64,
    "n": pl.Int64,
    "n_missing": pl.Int64,
    **METHOD,
}

VOLUME = {
    "volume": pl.Float64,
    **SPREAD,
    "rule": pl.String,
    "n_first": pl.Int64,
    "n_second": pl.Int64,
    "n_third": pl.Int64,
    "n_missing": pl.Int64,
    **METHOD,
}

# The verbs on plans solve for one of the first four columns.
PLAN = {
    "difference": pl.Float64,
    "n_pos": pl.Int64,
    "n_neg": pl.Int64,
    "power": pl.Float64,
    "auc": pl.Float64,
    "null": pl.Float64,
    "auc_b": pl.Float64,
    "correlation": pl.Float64,
    "se": pl.Float64,
    "se_null": pl.Float64,
    "ratio": pl.Float64,
    "target": pl.Float64,
    "alpha": pl.Float64,
    "alternative": pl.String,
    "variance": pl.String,
    "se_at": pl.String,
    "note": pl.String,
}

BAND = {
    "fpr": pl.Float64,
    "tpr": pl.Float64,
    "fpr_lower": pl.Float64,
    "fpr_upper": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "ci_level": pl.Float64,
    "scope": pl.String,
    "band": pl.String,
    "note": pl.String,
}

FOLD_AUC = {
    "mean_auc": pl.Float64,
    **LIMITS,
    "sd": pl.Float64,
    "se": pl.Float64,
    "auc_of_mean": pl.Float64,
    "pooled_auc": pl.Float64,
    "n_curves": pl.Int64,
    **ROWS,
    **METHOD,
}

POOLING_GAP = {
    **dict.fromkeys(
        (
            *("gap", "pooled_auc", "mean_auc", "gap_between", "gap_within"),
            *("between_share", "between_auc", "within_auc"),
        ),
        pl.Float64,
    ),
    "worst_positives": pl.String,
    "worst_negatives": pl.String,
    "worst_auc": pl.Float64,
    "worst_gap": pl.Float64,
    "n_curves": pl.Int64,
    **ROWS,
    "note": pl.String,
}

POINT = ("at", "value")

SIMPLIFIED = {"error": pl.Float64, "area_change": pl.Float64}

MIX = {"threshold_above": pl.Float64, "threshold_below": pl.Float64, "mix": pl.Float64}

MODEL = "model"

P_VALUES = {"p_value": pl.Float64, "p_adjusted": pl.Float64}

CONTRAST = {
    **P_VALUES,
    "statistic": pl.Float64,
    "df": pl.Float64,
    "n_models": pl.Int64,
    "n_paired": pl.Int64,
    "test": pl.String,
    "note": pl.String,
}


def comparison_schema(model: pl.DataType, area: str) -> dict[str, pl.DataType]:
    """Dtypes of a table of comparisons, right of its keys; `area` is what is compared."""
    named: dict[str, pl.DataType | type[pl.DataType]] = {
        "model_a": model,
        "model_b": model,
        "difference": pl.Float64,
        **LIMITS,
        **P_VALUES,
        **dict.fromkeys(("se", "statistic", "df", f"{area}_a", f"{area}_b"), pl.Float64),
        "n_paired": pl.Int64,
        "ci_level": pl.Float64,
        "test": pl.String,
        "note": pl.String,
    }
    return {name: as_instance(dtype) for name, dtype in named.items()}


def covariance_schema(model: pl.DataType, area: str) -> dict[str, pl.DataType]:
    """Dtypes of a covariance matrix as a long table, right of its keys."""
    named: dict[str, pl.DataType | type[pl.DataType]] = {
        "model_a": model,
        "model_b": model,
        "covariance": pl.Float64,
        "correlation": pl.Float64,
        f"{area}_a": pl.Float64,
        f"{area}_b": pl.Float64,
        "n_pos": pl.Int64,
        "n_neg": pl.Int64,
        "note": pl.String,
    }
    return {name: as_instance(dtype) for name, dtype in named.items()}


def contrast_schema() -> dict[str, pl.DataType]:
    """Dtypes of a table of contrasts, right of its keys."""
    return {name: as_instance(dtype) for name, dtype in CONTRAST.items()}


def walk_schema(mass: pl.DataType | type[pl.DataType]) -> dict[str, pl.DataType]:
    """Dtypes of the five columns that every curve table has."""
    return {THRESHOLD: pl.Float64(), **{name: as_instance(mass) for name in CONFUSION}}


def area_schema(areas: Iterable[str]) -> dict[str, pl.DataType]:
    """Dtypes of an AUC table, right of its keys."""
    area, *envelope = areas
    named = {area: pl.Float64, **SPREAD, **dict.fromkeys(envelope, pl.Float64), **ROWS, **METHOD}
    return {name: as_instance(dtype) for name, dtype in named.items()}


def metrics_schema() -> dict[str, pl.DataType]:
    """Dtypes of a table of metrics with intervals, right of its keys."""
    named = {
        "metric": pl.String,
        "at": pl.String,
        "value": pl.Float64,
        "estimate": pl.Float64,
        **SPREAD,
        THRESHOLD: pl.Float64,
        **ROWS,
        **METHOD,
    }
    return {name: as_instance(dtype) for name, dtype in named.items()}


def auc_test_schema() -> dict[str, pl.DataType]:
    """Dtypes of a table of tests of one area, right of its keys."""
    return {name: as_instance(dtype) for name, dtype in AUC_TEST.items()}


def multiclass_auc_schema() -> dict[str, pl.DataType]:
    """Dtypes of a table of areas over many classes, right of its keys."""
    return {name: as_instance(dtype) for name, dtype in MULTICLASS_AUC.items()}


def volume_schema() -> dict[str, pl.DataType]:
    """Dtypes of a table of volumes over three classes, right of its keys."""
    return {name: as_instance(dtype) for name, dtype in VOLUME.items()}


def fold_auc_schema() -> dict[str, pl.DataType]:
    """Dtypes of a table of areas over folds, right of its keys."""
    return {name: as_instance(dtype) for name, dtype in FOLD_AUC.items()}


def pooling_gap_schema() -> dict[str, pl.DataType]:
    """Dtypes of a table of what pooling changes, right of its keys."""
    return {name: as_instance(dtype) for name, dtype in POOLING_GAP.items()}


def plan_schema() -> dict[str, pl.DataType]:
    """Dtypes of a table of plans."""
    return {name: as_instance(dtype) for name, dtype in PLAN.items()}


def simplified_schema() -> dict[str, pl.DataType]:
    """Dtypes of what a simplified curve has right of all others."""
    return {name: as_instance(dtype) for name, dtype in SIMPLIFIED.items()}


def band_schema() -> dict[str, pl.DataType]:
    """Dtypes of a band table, right of its keys."""
    return {name: as_instance(dtype) for name, dtype in BAND.items()}


def as_instance(dtype: pl.DataType | type[pl.DataType]) -> pl.DataType:
    """Return a dtype as an object, whichever way it was written."""
    return dtype() if isinstance(dtype, type) else dtype


def as_names(by: str | Iterable[str] | None) -> tuple[str, ...]:
    """Read `by`: nothing, one name, or several."""
    if by is None:
        return ()
    given: list[object] = [by] if isinstance(by, str) or not hasattr(by, "__iter__") else [*by]
    names = []
    for name in given:
        if not isinstance(name, str):
            raise OptionValueError.of(
                "by",
                name,
                "group columns are given by name",
                'Give names such as by=["model", "fold"]; other keys come from .with_columns().',
            )
        names.append(name)
    return tuple(names)


def check_groups(
    by: Sequence[str], available: Iterable[str], table: Sequence[str], argument: str = "by"
) -> None:
    """Check that the group columns exist, once each, and clash with no column of the table."""
    names = list(available)
    for name in by:
        if name not in names:
            raise MissingColumnError.of(argument, name, names)
        if by.count(name) > 1:
            raise RepeatedNameError.of(argument, name, by)
        if name in table:
            raise ReservedColumnError.of(name, table, argument)


def keys_schema(by: Sequence[str], schema: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Dtypes of the group columns, which have an order."""
    for name in by:
        if schema[name] == pl.Object:
            todo = "Groups are sorted by their keys, and these have no order: cast them first."
            raise ColumnTypeError.of("by", name, schema[name], todo)
    return {name: schema[name] for name in by}
