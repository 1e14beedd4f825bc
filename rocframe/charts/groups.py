"""Groups of a table: colors, panels and legends."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING

from rocframe.areas.area import auc_of, average_precision_of
from rocframe.charts.labels import legible, spelled
from rocframe.errors import (
    BrokenCurveError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
)
from rocframe.options import NOT_GIVEN, NotGiven, parse_names
from rocframe.schemas import MODEL
from rocframe.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The group column of each channel; the others only have lines of their own."""

    color: str | None
    facet: str | None


def assigned(
    by: Sequence[str],
    columns: Sequence[str],
    *,
    color: str | NotGiven | None,
    facet: str | None,
    detail: str | Sequence[str],
) -> Channels:
    """Check the channels that were asked for, and choose a column for the color if none was."""
    given: tuple[tuple[str, object], ...] = (("color", color), ("facet", facet))
    for argument, value in given:
        if not (value is None or value is NOT_GIVEN or isinstance(value, str)):
            wrong, todo = "it is no name of a column", f"Name one, say {argument}={MODEL!r}."
            raise OptionValueError.of(argument, value, wrong, todo)
    plain = parse_names(detail)
    asked = [("detail", name) for name in plain]
    asked += [("facet", facet)] if facet is not None else []
    asked += [("color", color)] if isinstance(color, str) else []
    for argument, name in asked:
        if name in by:
            continue
        if name not in columns:
            raise MissingColumnError.of(argument, name, by or columns)
        groups = f"Its group columns are: {listed(by)}." if by else "It has no group columns."
        raise OptionValueError.of(argument, name, "it is no group column of the table", groups)
    for name in plain:
        if [other for _, other in asked].count(name) > 1:
            raise RepeatedNameError.of("detail", name, [other for _, other in asked])
    if isinstance(color, str) or color is None:
        return Channels(color=color, facet=facet)
    left = [name for name in by if name not in (*plain, facet)]
    chosen = MODEL if MODEL in left else next(iter(left), None)
    return Channels(color=chosen, facet=facet)
