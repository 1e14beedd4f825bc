"""Groups of a curve table → the words that a chart has for them, and for the areas under them."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING

from rocframe.areas.under import auc_of, average_precision_of
from rocframe.charts.names import legible, spelled
from rocframe.errors import BrokenCurveError
from rocframe.vocabulary import MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rocframe.curves.kinds import Kind
    from rocframe.curves.table import Curves

MOST = 10  # values that a description lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group column as text: its title, its values in order, and which of them each curve has.

    `ordered` says that the values are numbers or times.
    """

    title: str
    values: tuple[str, ...]
    places: tuple[int, ...]
    ordered: bool

    @classmethod
    def of(cls, keys: pl.Series) -> Group:
        """Read the keys of all curves; values are in the order in which polars sorts them."""
        values = keys.alias("key").unique().sort()
        known = values.to_frame().with_row_index("place")
        places = (
            keys.alias("key")
            .to_frame()
            .join(known, on="key", how="left", nulls_equal=True, maintain_order="left")
        )
        return cls(
            title=legible(keys.name),
            values=tuple(spelled(values)),
            places=tuple(places.get_column("place").to_list()),
            ordered=keys.dtype.is_numeric() or keys.dtype.is_temporal(),
        )

    @property
    def texts(self) -> list[str]:
        """The value of each curve."""
        return [self.values[place] for place in self.places]

    def captions(self, areas: Sequence[float] | None, kind: Kind) -> dict[str, str]:
        """Return each value with the area under its curves behind it."""
        if areas is None:
            return {}
        here: dict[str, list[float]] = {value: [] for value in self.values}
        for value, area in zip(self.texts, areas, strict=True):
            here[value].append(area)
        return {value: f"{value} ({summed_up(some, kind)})" for value, some in here.items()}


def telling(color: str | None, panel: str | None, groups: Mapping[str, Group]) -> str | None:
    """Return the field whose values have captions, that of the models if it is one of the two.

    A mean over models would say nothing; one over the folds, or segments, of each model does.
    """
    if color is None or (panel is not None and groups[panel].title == MODEL):
        return panel
    return color


def mean_area(areas: Sequence[float] | None, kind: Kind, groups: Mapping[str, Group]) -> str:
    """Say the area under one curve, or the mean of several; nothing of several models."""
    mixed = any(len(group.values) > 1 for group in groups.values() if group.title == MODEL)
    return "" if mixed else summed_up(areas, kind)


def by_group(told: Group, captions: Mapping[str, str]) -> str:
    """Say for each value what stands behind it, for those who cannot see a chart."""
    listed = [captions.get(value, value) for value in told.values]
    more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
    return f"By {told.title}: {', '.join(listed[:MOST])}{more}."


def areas_of(curves: Curves, kind: Kind) -> list[float] | None:
    """Return the area under each curve, NaN where it is undefined; None where none is known."""
    try:
        areas = average_precision_of(curves) if _is_pr(kind) else auc_of(curves)
    except BrokenCurveError:  # made with thresholds=, and so without its end
        return None
    return [float(area) for area in areas]


def summed_up(areas: Sequence[float] | None, kind: Kind) -> str:
    """Say the area under one curve, or the mean of several; nothing where none is known."""
    if not areas:
        return ""
    # On other axes than its own the area is not that under the line one sees.
    name = "AP" if _is_pr(kind) else "AUC" if kind.name == "roc" else "ROC AUC"
    known = [area for area in areas if not isnan(area)]
    if not known:
        return f"{name} undefined"
    mean = "mean " if len(areas) > 1 else ""
    lost = len(areas) - len(known)
    return f"{mean}{name} {fmean(known):.3f}" + (f", {lost} undefined" if lost else "")


def _is_pr(kind: Kind) -> bool:
    return kind.name == "precision_recall"
