"""Group the curves that are averaged together, weight them, and divide the groups into blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.curves.thinning import evenly_ranked_rows
from rocframe.errors import OptionValueError
from rocframe.frames import build_table, select_keys
from rocframe.inference.notes import exclusion_notes
from rocframe.kernel.exact import scale_by_groups
from rocframe.kernel.groups import RowGroups, group_starts, is_run_start
from rocframe.kernel.sort import concatenated_ranges
from rocframe.kernel.threads import split_groups
from rocframe.options import to_float
from rocframe.text import format_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.averages.options import AveragePlan
    from rocframe.curves.locate import CurveAxis
    from rocframe.curves.table import Curves


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveGroups:
    """The curves of all groups, group after group.

    Group i has the curves `curve[starts[i]]` to `curve[starts[i + 1] - 1]`, numbered as in
    `curves`. `usable` is True for curves with both classes. `weight` is the weight of each curve in
    the mean, scaled to at most 1. `note_keys` has, for each curve, the keys that the note
    `lacks_rows` lists: the key of the curve or, for a pooled curve, the keys of its original curves
    that lack rows. `notes` has the note on the excluded curves of each group.
    """

    keys: pl.DataFrame
    curves: Curves
    curve: NDArray[np.int64]
    starts: NDArray[np.int64]
    usable: NDArray[np.bool_]
    weight: NDArray[np.float64]
    note_keys: Sequence[Sequence[str]]
    notes: list[str | None]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of curves of each group, including curves that are not usable."""
        return np.diff(self.starts)


def group_curves(
    curves: Curves,
    over: Sequence[str],
    weights: str | Mapping[Any, float],
    argument: str = "weights",
) -> CurveGroups:
    """Return the curves, grouped and sorted by all keys except `over`.

    `argument` is the name of the argument that contains the weights; error messages contain it.
    """
    groups = group_keys(curves.keys, over)
    curve, starts = groups.order, groups.starts
    pos, neg = curves.class_sizes
    usable = (pos > 0) & (neg > 0)
    names = format_keys(curves.keys, over)
    weight = curve_weights(curves.keys, over, weights, argument, rows=pos + neg, positives=pos)
    usable, names = usable[curve], names[curve]
    weight = scale_by_groups(weight[curve], starts)
    return CurveGroups(
        keys=groups.keys,
        curves=curves,
        curve=curve,
        starts=starts,
        usable=usable,
        weight=weight,
        note_keys=[[name] for name in names],
        notes=exclusion_notes(names, usable, starts),
    )


def group_keys(keys: pl.DataFrame, over: Sequence[str]) -> RowGroups:
    """Return the groups of the rows of `keys` with equal values of all columns except `over`.

    Without rows there are no groups.
    """
    rest = select_keys(keys, [name for name in keys.columns if name not in over])
    if not keys.height:
        return RowGroups(keys=rest, starts=np.zeros(1, np.int64), order=np.zeros(0, np.int64))
    names = rest.columns
    rest.columns = [str(i) for i in range(rest.width)]
    groups = RowGroups.from_keys(rest, keys.height)
    groups.keys.columns = names
    return groups


def format_keys(keys: pl.DataFrame, over: Sequence[str]) -> NDArray[np.object_]:
    """Return the key of each curve as text: the values of `over`, or of all keys if it is empty."""
    columns = [format_values(keys.get_column(name)) for name in over or keys.columns]
    if not columns:
        return np.full(keys.height, "", object)
    result = np.empty(keys.height, object)
    result[:] = [" ".join(key) for key in zip(*columns, strict=True)]
    return result


def curve_weights(
    keys: pl.DataFrame,
    over: Sequence[str],
    weights: str | Mapping[Any, float],
    argument: str,
    **totals: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weight of each curve: from a mapping, or the total with the name `weights`.

    If no total has this name (`"equal"`), all weights are 1.
    """
    if isinstance(weights, str):
        return totals.get(weights, np.ones(keys.height))
    columns = [keys.get_column(name).to_list() for name in over]
    values = columns[0] if len(over) == 1 else list(zip(*columns, strict=True))
    result = np.ones(keys.height)
    for i, key in enumerate(values):
        if key not in weights:
            raise OptionValueError.compose(
                argument,
                weights,
                f"there is no number for {key!r}",
                f"Pass a number for each value of {' and '.join(map(repr, over))}.",
            )
        result[i] = to_float(weights[key])
    return result


MAX_CELLS = 1 << 17  # a block has at most twice this number of values of all curves
MAX_ROWS = 1 << 20  # the values of about this number of rows are sorted at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridBlock:
    """A block of groups and of the values at which the curves of these groups are averaged.

    `values` has one row for all groups, or one row per group. Only the first `lengths` values of a
    row are used.
    """

    groups: NDArray[np.int64]
    values: NDArray[np.float64]
    lengths: NDArray[np.int64]

    @property
    def used(self) -> NDArray[np.bool_]:
        """A mask of the elements of `values` that are used, with one row per group."""
        return np.arange(self.values.shape[1]) < self.lengths[:, None]


def grid_blocks(
    curve_groups: CurveGroups, axis: CurveAxis, plan: AveragePlan
) -> Iterator[GridBlock]:
    """Yield blocks of groups and values; each block has a limited size."""
    groups = np.arange(len(curve_groups.notes))
    common = plan.common_values
    if common is not None:
        for part in split_groups(curve_groups.starts, max(1, MAX_CELLS // len(common))):
            lengths = np.full(part.stop - part.start, len(common))
            yield from _split_values(
                curve_groups,
                GridBlock(groups=groups[part], values=common[None, :], lengths=lengths),
            )
        return
    rows = np.append(0, np.cumsum(np.diff(curve_groups.curves.starts)[curve_groups.curve]))[
        curve_groups.starts
    ]
    for part in split_groups(rows, MAX_ROWS):
        values, starts = _observed_values(curve_groups, axis, plan, groups[part])
        yield from _similar_blocks(curve_groups, groups[part], values, starts)


def _split_values(curve_groups: CurveGroups, block: GridBlock) -> Iterator[GridBlock]:
    """Yield blocks of limited size; a block with a large group is split."""
    width = block.values.shape[1]
    step = max(1, 2 * MAX_CELLS // int(curve_groups.sizes[block.groups].sum()))
    for start in range(0, width, step):
        values = block.values[:, start : start + step]
        lengths = np.clip(block.lengths - start, 0, values.shape[1])
        yield GridBlock(groups=block.groups, values=values, lengths=lengths)


def _similar_blocks(
    curve_groups: CurveGroups,
    groups: NDArray[np.int64],
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
) -> Iterator[GridBlock]:
    """Yield blocks of groups with similar numbers of values, so that few cells are unused.

    The values of group `groups[i]` are `values[starts[i]:starts[i + 1]]`.
    """
    lengths = np.diff(starts)
    order = np.argsort(lengths, kind="stable")
    curves = np.cumsum(curve_groups.sizes[groups[order]])
    first = 0
    while first < len(order):
        before = curves[first] - curve_groups.sizes[groups[order[first]]]
        longest = np.maximum(lengths[order[first:]], 1)
        fits = ((curves[first:] - before) * longest <= MAX_CELLS) & (longest <= 2 * longest[0])
        last = first + max(1, int(np.argmin(fits)) if not fits.all() else len(fits))
        part = order[first:last]
        table = np.full((len(part), int(lengths[part].max())), np.nan)
        table[np.arange(table.shape[1]) < lengths[part][:, None]] = values[
            concatenated_ranges(starts[part], lengths[part])
        ]
        yield from _split_values(
            curve_groups, GridBlock(groups=groups[part], values=table, lengths=lengths[part])
        )
        first = last


def _observed_values(
    curve_groups: CurveGroups, axis: CurveAxis, plan: AveragePlan, groups: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the sorted, distinct values of the fixed metric in the curves of each group.

    The second result has the start of the values of each group. If the grid is a number n, only n
    of the values of a group are returned, with evenly spaced ranks.
    """
    curves = curve_groups.curves
    member = concatenated_ranges(curve_groups.starts[groups], curve_groups.sizes[groups])
    member, owner = (
        part[curve_groups.usable[member]]
        for part in (member, np.repeat(np.arange(len(groups)), curve_groups.sizes[groups]))
    )
    curve = curve_groups.curve[member]
    lengths = curves.starts[curve + 1] - curves.starts[curve]
    rows = concatenated_ranges(curves.starts[curve], lengths)
    values, group = axis.values(rows, np.repeat(curve, lengths)) + 0.0, np.repeat(owner, lengths)
    values, group = values[~np.isnan(values)], group[~np.isnan(values)]
    sign = -1 if plan.fixed is None else 1  # thresholds are sorted in falling order
    ends: list[float] = [0.0, 1.0] if plan.is_curve else []
    if plan.fixed is None:
        ends = [np.inf]
    else:
        # A group without values has one row, which contains its note.
        empty = np.setdiff1d(np.arange(len(groups)), group) if not ends else np.zeros(0, np.int64)
        values, group = np.append(values, np.full(len(empty), np.nan)), np.append(group, empty)
    values = np.concatenate([values, np.tile(ends, len(groups))])
    group = np.concatenate([group, np.repeat(np.arange(len(groups)), len(ends))])
    order = np.lexsort((sign * values, group))
    values, group = values[order], group[order]
    is_new = is_run_start(values, group)
    values, group = values[is_new], group[is_new]
    starts = group_starts(group, len(groups))
    if not isinstance(plan.grid, int):
        return values, starts
    rows, starts = evenly_ranked_rows(starts, plan.grid)
    return values[rows], starts


def collect_blocks(
    curve_groups: CurveGroups,
    schema: dict[str, pl.DataType],
    blocks: Iterable[tuple[GridBlock, Mapping[str, Any]]],
) -> pl.DataFrame:
    """Return one table from the columns of all blocks, in the order of the groups."""
    owners, parts = [np.zeros(0, np.int64)], []
    for block, columns in blocks:
        shape = columns["n_curves"].shape
        used = np.repeat(block.used, shape[1] // block.values.shape[1], axis=1)
        owners.append(np.repeat(block.groups, used.sum(axis=1)))
        parts.append({name: np.broadcast_to(columns[name], shape)[used] for name in schema})
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")

    def column_of(name: str) -> Any:
        if not parts:
            return []
        values = np.concatenate([part[name] for part in parts])[order]
        return values.tolist() if values.dtype == object else values

    columns = {name: column_of(name) for name in schema}
    return build_table(curve_groups.keys, columns, schema, rows=owner[order])
