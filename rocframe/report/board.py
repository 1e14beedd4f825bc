"""Curves → the chart of a page whose parts follow one threshold, and which curves it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rocframe.charts.dashboard import dashboard
from rocframe.charts.linked_data import MOST
from rocframe.report.figures import Figure, of_groups
from rocframe.report.paint import alike, painted
from rocframe.report.spec import spec_of
from rocframe.report.words import counted, joined
from rocframe.spelling import visible

if TYPE_CHECKING:
    from rocframe.report.drawn import Drawn

NONE = "Nothing is shown: no group has both positives and negatives."


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The chart, where there is one, and sentences: which curves it shows, or why none."""

    figure: Figure | None
    said: str


def board_of(curves: pl.DataFrame, drawn: Drawn) -> Board:
    """Draw the curves of as many groups as there is room for.

    `curves` has one for each group that is drawn: where means are, all rows of each.
    """
    groups, which = _chosen(drawn)
    if not groups.height:
        return Board(figure=None, said=NONE)
    shown = of_groups(curves, groups)
    made = dashboard(shown, color=drawn.color, threshold=_start(shown))
    spec = alike(painted(spec_of(made, ours=True)), drawn.colors)
    # The page has a heading, and room for sentences.
    below = spec.pop("title").get("subtitle", [])
    said = [which, *(f"{line}." for line in below)]
    if drawn.averaged is not None:
        said.insert(0, f"All values of {visible(drawn.averaged)} are taken together.")
    return Board(figure=Figure(spec=spec, name=None), said=" ".join(filter(None, said)))


def _start(curves: pl.DataFrame) -> float | None:
    """Return one half where most scores are shares, whatever the others are."""
    scores = curves.get_column("threshold")
    return 0.5 if scores.is_between(0, 1).sum() > scores.is_finite().sum() / 2 else None


def _chosen(drawn: Drawn) -> tuple[pl.DataFrame, str]:
    """Choose whole panels, as long as there is room; of the first as many groups as there are."""
    parts = [
        (name, known)
        for name, part in drawn.groups
        if (known := part.filter(pl.col("auc").is_not_null())).height
    ]
    if not parts:
        return pl.DataFrame(), ""
    taken: list[tuple[str | None, pl.DataFrame]] = []
    room = MOST
    for name, part in parts:
        if part.height > room:
            break
        taken.append((name, part))
        room -= part.height
    whole = drawn.whole
    if not taken:
        name, part = parts[0]
        order = part.select(
            place=pl.int_range(pl.len()), rows=pl.col("n_pos") + pl.col("n_neg")
        ).sort("rows", "place", descending=[True, False])
        first = part[order.get_column("place").head(MOST).sort()]
        among = f" of {name}" if name else ""
        return first, f"{_shown(MOST, whole)}{among} with the most rows."
    groups = pl.concat([part for _, part in taken])
    if len(taken) == len(parts):
        if groups.height == whole:
            return groups, ""
        why = "the most rows" if drawn.height < whole else "an area"
        return groups, f"{_shown(groups.height, whole)} with {why}."
    names = joined([str(name) for name, _ in taken])
    return groups, f"{_shown(groups.height, whole)} of {names}."


def _shown(several: int, whole: int) -> str:
    are, those = ("is", "that") if several == 1 else ("are", "those")
    return f"{counted(several, 'curve')} of {whole:,} {are} shown: {those}"
