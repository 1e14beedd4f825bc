"""Cases → the band table: a row per group and point asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.bands.asked import at_rates, at_steps
from rocframe.bands.binomial import binomial, threshold
from rocframe.bands.curves import Curves
from rocframe.bands.kolmogorov import kolmogorov_smirnov
from rocframe.bands.redrawn import Redrawn
from rocframe.bands.resampled import bootstrap, envelope, fixed_width
from rocframe.bands.working_hotelling import working_hotelling
from rocframe.counting.arrange import arrange
from rocframe.counting.draws import stream_keys
from rocframe.counting.walk import Walk
from rocframe.curves.trace import repeat_keys, traced_rows
from rocframe.inference.intervals import notes
from rocframe.vocabulary import band_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.bands.asked import Asked
    from rocframe.bands.limits import Limits
    from rocframe.bands.methods import Wanted
    from rocframe.cases import Cases
    from rocframe.counting.resample import Draws

WORKED_OUT: dict[str, Callable[[Curves, Asked, float], Limits]] = {
    "kolmogorov_smirnov": kolmogorov_smirnov,
    "working_hotelling": working_hotelling,
    "binomial": binomial,
    "threshold": threshold,
}

DRAWN: dict[str, Callable[[Curves, Asked, float, Redrawn], Limits]] = {
    "bootstrap": bootstrap,
    "fixed_width": fixed_width,
    "envelope": envelope,
}


def banded(cases: Cases, wanted: Wanted, draws: Callable[..., Draws]) -> pl.DataFrame:
    """Return a row per group and point: the group's key, then the columns of a band table."""
    method, level = wanted.method, wanted.level
    walk = Walk.of(arrange(cases))
    curves = Curves.of(traced_rows(walk))
    asked = (at_steps if method.name == "threshold" else at_rates)(curves, wanted.grid)
    if method.drawn:
        keys = stream_keys(walk.rows.keys, cases.model)
        redrawn = Redrawn(walk=walk, draws=draws(keys=keys))
        limits = DRAWN[method.name](curves, asked, level, redrawn)
    else:
        limits = WORKED_OUT[method.name](curves, asked, level)
    height = len(asked.group)
    columns: dict[str, Any] = {
        "fpr": asked.fpr,
        "tpr": limits.tpr,
        "fpr_lower": limits.fpr_lower,
        "fpr_upper": limits.fpr_upper,
        "lower": limits.lower,
        "upper": limits.upper,
        "ci_level": np.full(height, level),
        "note": list(_notes(curves, limits)[asked.group]),
    }
    words = {"scope": method.scope, "band": method.name}
    table = repeat_keys(walk.rows.keys, np.bincount(asked.group, minlength=len(curves.n_pos)))
    return table.with_columns(
        pl.Series(name, [words[name]], dtype).new_from_index(0, height)
        if name in words
        else pl.Series(name, [None], dtype).new_from_index(0, height)
        if columns[name] is None
        else pl.Series(name, columns[name], dtype, nan_to_null=True)
        for name, dtype in band_schema().items()
    )


def _notes(curves: Curves, limits: Limits) -> NDArray[np.object_]:
    """Say of each group which class it lacks, or else what its method says."""
    said = notes(curves.n_pos, curves.n_neg, None)
    whole = curves.whole
    said[whole] = None if limits.notes is None else limits.notes[whole]
    return said
