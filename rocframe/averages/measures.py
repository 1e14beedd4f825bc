"""What callers hold fixed and have averaged → records of metrics, each worked out from counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.metrics.rowwise import check_rowwise
from rocframe.options import check_choice
from rocframe.rates import NAMES
from rocframe.vocabulary import CONFUSION, THRESHOLD, WALK

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import NDArray

    from rocframe.averages.places import Places, Track
    from rocframe.formulas import Settings, Share

# These say how well those are told that are not called. Of several places with one of their
# values, the best is the one that calls the fewest; of all others, the one that calls the most.
UNCALLED = ("tpr", "fnr", "npv", "false_omission_rate", "lr_neg", "tp", "fn")

# These have no value where nothing is called yet. A random part of the highest scores has that of
# all of them, so curves start there.
STARTLESS = ("precision", "fdr", "lift")

# Totals that are the same at every place of a curve: shares of them are shares of fixed rows.
TOTALS = (("tp", "fn"), ("fp", "tn"), CONFUSION)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """A metric under the name it was asked for: an expression over the counts at a place.

    `known` is its first name where it is one of ours, `share` says of which counts it is a share
    where it is one.
    """

    name: str
    expr: pl.Expr
    known: str = ""
    bounds: tuple[float, float] = (-inf, inf)
    better: Literal["higher", "lower", "neither"] = "neither"
    mixed: bool = False
    share: Share | None = None

    @classmethod
    def of(
        cls, argument: str, given: object, settings: Settings, *, more: tuple[str, ...] = ()
    ) -> Measure:
        """Read a name of ours, one of the four counts, or a named expression over them."""
        if isinstance(given, pl.Expr):
            return cls._own(argument, given)
        check_choice(argument, given, (*NAMES, *CONFUSION, *more))
        name = str(given)
        if name in CONFUSION:
            return cls(name=name, expr=pl.col(name), known=name, bounds=(0, inf))
        rate = NAMES[name]
        scaled = rate.mixes and settings.prevalence is not None
        return cls(
            name=name,
            expr=rate.expr(settings),
            known=rate.name,
            bounds=rate.bounds,
            better=rate.better,
            mixed=rate.mixes,
            share=None if scaled else rate.share,
        )

    @classmethod
    def _own(cls, argument: str, expr: pl.Expr) -> Measure:
        name = expr.meta.output_name(raise_if_undetermined=False)
        if name is None:
            wrong, todo = "it makes several columns", "Give one named expression for each."
            raise OptionValueError.of(argument, expr, wrong, todo)
        for root in expr.meta.root_names():
            if root not in WALK:
                raise MissingColumnError.of(argument, root, WALK)
        check_rowwise(name, expr, argument)
        return cls(name=name, expr=expr)

    @property
    def reads_threshold(self) -> bool:
        """Whether the threshold itself is in the formula."""
        return THRESHOLD in self.expr.meta.root_names()

    @property
    def whole(self) -> tuple[str, ...] | None:
        """The counts it is a share of, where all places of a curve have as many of them."""
        return self.share.whole if self.share and self.share.whole in TOTALS else None

    def at(
        self,
        threshold: NDArray[np.float64],
        tp: NDArray[np.float64],
        fp: NDArray[np.float64],
        pos: NDArray[np.float64],
        neg: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return it at each place; NaN where it is undefined."""
        # Weights add up to a total to rounding only.
        parts = (threshold, tp, fp, np.maximum(pos - tp, 0), np.maximum(neg - fp, 0))
        flat = np.broadcast_arrays(*parts)
        columns = {name: values.ravel() for name, values in zip(WALK, flat, strict=True)}
        made = pl.DataFrame(columns).with_columns(self.expr.cast(pl.Float64).alias("made"))
        found: NDArray[np.float64] = made.get_column("made").fill_null(np.nan).to_numpy()
        return found.reshape(flat[0].shape)

    def out_of(self, track: Track) -> NDArray[np.float64]:
        """Return how many rows of each curve it is a share of, where it is of fixed ones."""
        whole = self.whole or ()
        return track.pos * ("tp" in whole) + track.neg * ("tn" in whole)

    def of_places(self, places: Places) -> NDArray[np.float64]:
        """Return it at each place that there is; NaN where it has no value."""
        tp, fp = places.tp, places.fp
        if self.known in STARTLESS:
            nothing = tp + fp == 0
            tp, fp = (
                np.where(nothing, begun, counts)
                for begun, counts in zip(places.begun, (tp, fp), strict=True)
            )
        found = self.at(places.threshold, tp, fp, places.pos, places.neg)
        return np.where(places.there, found, np.nan)
