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
from rocframe.counting.resample import Draws
from rocframe.counting.walk import Walk
from rocframe.curves.trace import repeat_keys, traced_rows
from rocframe.inference.intervals import notes
from rocframe.vocabulary import BAND, as_instance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocframe.bands.asked import Asked
    from rocframe.bands.limits import Limits
    from rocframe.bands.methods import Method
    from rocframe.cases import Cases
    from rocframe.counting.draws import Seed

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


def banded(
    cases: Cases,
    method: Method,
    level: float,
    grid: Sequence[float] | None,
    n_boot: int,
    seed: Seed,
) -> pl.DataFrame:
    """Return a row per group and point: the group's key, then the columns of a band table."""
    walk = Walk.of(arrange(cases))
    curves = Curves.of(traced_rows(walk))
    asked = (at_steps if method.name == "threshold" else at_rates)(curves, grid)
    if method.drawn:
        draws = Draws(n_boot=n_boot, seed=seed, keys=stream_keys(walk.rows.keys, cases.model))
        limits = DRAWN[method.name](curves, asked, level, Redrawn(walk=walk, draws=draws))
    else:
        limits = WORKED_OUT[method.name](curves, asked, level)
    said = np.full(len(curves.n_pos), None) if limits.notes is None else limits.notes
    absent = np.where(curves.whole, None, notes(curves.n_pos, curves.n_neg, None))
    columns: dict[str, Any] = {
        "fpr": asked.fpr,
        "tpr": limits.tpr,
        "fpr_lower": limits.fpr_lower,
        "fpr_upper": limits.fpr_upper,
        "lower": limits.lower,
        "upper": limits.upper,
        "ci_level": np.full(len(asked.group), level),
    }
    words = {"scope": method.scope, "band": method.name}
    note = np.where(curves.whole, said, absent)[asked.group]
    keys = repeat_keys(walk.rows.keys, np.bincount(asked.group, minlength=len(curves.n_pos)))
    height = len(asked.group)
    return keys.with_columns(
        *(
            pl.Series(name, values, pl.Float64, nan_to_null=True)
            if values is not None
            else pl.Series(name, [None], pl.Float64).new_from_index(0, height)
            for name, values in columns.items()
        ),
        *(pl.Series(name, [word]).new_from_index(0, height) for name, word in words.items()),
        pl.Series("note", list(note), pl.String),
    ).select(*keys.columns, *(pl.col(name).cast(as_instance(BAND[name])) for name in BAND))
