"""Instances → tables about all models of a group at once: covariances, and contrasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.comparisons.areas import areas_of
from rocframe.comparisons.batches import batches
from rocframe.comparisons.covariance import chi_squared, correlations, covariances, spreads
from rocframe.comparisons.instances import read_instances
from rocframe.comparisons.pairs import pair_notes
from rocframe.counting.arrange import Groups
from rocframe.errors import OptionValueError
from rocframe.inference.adjust import adjusted
from rocframe.quoting import listed
from rocframe.vocabulary import contrast_schema, covariance_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.measure import Measure
    from rocframe.comparisons.pairing import BoundPairs
    from rocframe.inference.adjust import Adjust


def covariance_table(frame: pl.DataFrame, pairs: BoundPairs, measure: Measure) -> pl.DataFrame:
    """Return a row for each two models of each group, in both orders and with themselves."""
    instances = read_instances(frame, pairs)
    groups = Groups.of(instances.keys, len(instances.negative))
    schema = covariance_schema(instances.models.dtype, measure.name)
    parts: list[pl.DataFrame] = []
    for batch in batches(instances, groups, pairs.pairing, together=True):
        areas = areas_of(instances, batch, measure.part)
        matrix = measure.slope**2 * covariances(spreads(areas))
        size = len(batch.models)
        a, b = (at.ravel() for at in np.indices((size, size)))
        area = measure.shown(np.array(areas.area)).T
        variances = np.diagonal(matrix, axis1=1, axis2=2)
        flat = np.where((variances == 0).any(axis=1), 0.0, variances[:, 0])
        notes = pair_notes(areas.units, flat, batch.unmatched)
        columns: dict[str, Any] = {
            "model_a": np.tile(np.array(batch.models)[a], len(area)),
            "model_b": np.tile(np.array(batch.models)[b], len(area)),
            "n_pos": np.repeat(areas.n_pos, size**2),
            "n_neg": np.repeat(areas.n_neg, size**2),
            f"{measure.name}_a": area[:, a].ravel(),
            f"{measure.name}_b": area[:, b].ravel(),
            "covariance": matrix[:, a, b].ravel(),
            "correlation": correlations(matrix)[:, a, b].ravel(),
            "note": np.repeat(notes, size**2).tolist(),
        }
        parts.append(
            pl.DataFrame({"group": np.repeat(batch.groups, size**2)}).with_columns(
                pl.Series(
                    name,
                    columns[name],
                    pl.Int64 if name.startswith("model") else dtype,
                    nan_to_null=True,
                )
                for name, dtype in schema.items()
            )
        )
    if not parts:
        return groups.keys[:0].with_columns(
            pl.Series(name, [], dtype) for name, dtype in schema.items()
        )
    whole = pl.concat(parts).sort("group", "model_a", "model_b")
    keys = groups.keys[whole.get_column("group")]
    models = (
        instances.models[whole.get_column(name)].alias(name) for name in ("model_a", "model_b")
    )
    return pl.concat([keys, whole.drop("group").with_columns(models)], how="horizontal")


def contrast_table(
    frame: pl.DataFrame,
    pairs: BoundPairs,
    measure: Measure,
    coefficients: Sequence[Mapping[Any, float]] | None,
    adjust: Adjust | None,
) -> pl.DataFrame:
    """Return a row for each group: the test that a contrast of its models' areas is 0."""
    from scipy.special import chdtrc

    instances = read_instances(frame, pairs)
    groups = Groups.of(instances.keys, len(instances.negative))
    length = len(groups.starts) - 1
    models, rows = np.zeros(length, np.int64), np.zeros(length, np.int64)
    statistic, df = np.full(length, np.nan), np.full(length, np.nan)
    notes = np.full(length, "no_rows", object)
    given = None if coefficients is None else _coefficients(coefficients, instances.models)
    for batch in batches(instances, groups, pairs.pairing, together=True):
        areas = areas_of(instances, batch, measure.part)
        if given is None:
            matrix = np.diff(np.eye(len(batch.models)), axis=0)
            whole = len(batch.models) > 1
        else:
            matrix = given[:, list(batch.models)]
            whole = not np.delete(given, batch.models, axis=1).any()
        models[batch.groups] = len(batch.models)
        rows[batch.groups] = areas.n_pos + areas.n_neg
        variance = areas.variance(0)
        notes[batch.groups] = pair_notes(areas.units, None, batch.unmatched)
        if not whole:
            if given is not None:  # a model that has a coefficient has no rows here
                notes[batch.groups] = "no_rows"
            continue
        found = chi_squared(matrix, np.array(areas.area).T, spreads(areas))
        undefined = np.isnan(found[0]) & ~np.isnan(variance)
        notes[batch.groups[undefined]] = "zero_variance"
        statistic[batch.groups], df[batch.groups] = found
    p_value = np.where(df == 0, 1.0, chdtrc(df, statistic))
    columns: dict[str, Any] = {
        "n_models": models,
        "n_paired": rows,
        "statistic": statistic,
        "df": df,
        "p_value": p_value,
        "p_adjusted": adjusted(p_value, np.zeros(length, np.int64), adjust),
        "test": np.full(length, "delong", object),
        "note": notes.tolist(),
    }
    return groups.keys.with_columns(
        pl.Series(name, columns[name], dtype, nan_to_null=True)
        for name, dtype in contrast_schema().items()
    )


def _coefficients(given: Sequence[Mapping[Any, float]], models: pl.Series) -> NDArray[np.float64]:
    """Return the coefficient of each model in each row of a contrast."""
    known = models.to_list()
    matrix = np.zeros((len(given), len(known)))
    for row, coefficients in zip(matrix, given, strict=True):
        for model, value in coefficients.items():
            if not known:  # no rows say which models there are
                continue
            if model not in known:
                raise OptionValueError.of(
                    "coefficients", model, "there is no such model", f"There are: {listed(known)}."
                )
            row[known.index(model)] = value
    return matrix
