"""The areas and the curves of a report; curves of many rows are computed in parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from rocframe.areas.auc import auc
from rocframe.curves.curve import curve
from rocframe.frames import find_keys, key_starts, number_keys, select_keys, take_rows
from rocframe.inputs.cases import is_positive
from rocframe.inputs.roles import check_positive
from rocframe.kernel.arrays import split_groups
from rocframe.kernel.groups import RowGroups, concatenated_ranges
from rocframe.kinds import kind_named
from rocframe.reports.text_columns import group_columns
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rocframe.kernel.arrays import Array, IntArray
    from rocframe.reports.evaluation import ReportOptions

PART_SCORES = 1 << 20  # scores whose curves are computed together, if there are more scores


def areas_and_curves(
    predictions: pl.DataFrame,
    options: ReportOptions,
    on_step: Callable[[str], None] = lambda _: None,
) -> tuple[pl.DataFrame, GroupedCurves]:
    """Return the AUC and the curves of each group; `on_step` gets the name of each step."""
    areas = report_areas(predictions, options, on_step)
    return areas, report_curves(predictions, options, on_step)


def report_areas(
    predictions: pl.DataFrame, options: ReportOptions, on_step: Callable[[str], None]
) -> pl.DataFrame:
    """Return the AUC of each group."""
    on_step("Computing the AUC")
    areas = auc(
        predictions,
        **options.roles,
        by=options.keys or None,
        ci=options.ci,
        level=options.level,
        seed=options.seed,
    )
    return options.restore_text(areas)


def report_curves(
    predictions: pl.DataFrame,
    options: ReportOptions,
    on_step: Callable[[str], None],
    on_part: Callable[[pl.DataFrame], None] = lambda _: None,
) -> GroupedCurves:
    """Return the curves of each group, with the axes of the first kind first.

    `on_part` gets the rows of all curves. If many rows have group columns, curves are computed in
    parts, and later again for the groups that are drawn: the table of all curves can be several
    times larger than the predictions. `report_areas` has checked the predictions.
    """
    on_step("Computing the curves")
    if not (options.keys and has_many_rows(predictions, options)):
        table = _curve_table(options.restore_text(predictions), options)
        on_part(table)
        return GroupedCurves.from_table(table)
    grouped = GroupedPredictions.from_table(predictions, options)
    first, outside = [], []
    for part in grouped.parts():
        table = _curve_table(part, grouped.options)
        on_part(table)
        starts = curve_starts(table)
        first.append(first_rows(table, starts))
        outside.append(_is_outside(table, starts))
        del part, table  # before the next part is computed
    return GroupedCurves.from_predictions(grouped, pl.concat(first), pl.concat(outside))


def has_many_rows(predictions: pl.DataFrame, options: ReportOptions) -> bool:
    """Return whether curves may need parts; expressions can depend on the rows of all parts."""
    has_names = all(isinstance(role, str) for role in options.columns)
    return has_names and predictions.height * len(options.scores) > PART_SCORES


def _curve_table(predictions: pl.DataFrame, options: ReportOptions) -> pl.DataFrame:
    first, *others = map(kind_named, options.kinds)
    rates = [rate for kind in others for rate in kind.rates if rate not in first.rates]
    return curve(
        predictions,
        **options.roles,
        by=options.keys or None,
        kind=options.kinds[0],
        metrics=list(dict.fromkeys(rates)),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupedPredictions:
    """Predictions whose rows are read by group.

    `keys` are the sorted group columns of all groups. Group i has the rows of `table` at
    `order[starts[i] : starts[i + 1]]`, in the order of the log. In `table` and `options`, the label
    is Boolean if `positive` was set.
    """

    table: pl.DataFrame
    options: ReportOptions
    keys: pl.DataFrame
    starts: IntArray
    order: Array

    @classmethod
    def from_table(cls, predictions: pl.DataFrame, options: ReportOptions) -> GroupedPredictions:
        """Find the groups of predictions, whose roles are all names of columns."""
        keys = select_keys(predictions, options.keys)
        table = predictions.drop(options.keys).rechunk()
        if options.positive is not None:
            # A part without positives must not raise the error of a log without positives.
            label = table.get_column(cast("str", options.label))
            value = check_positive(options.positive, label.name, label.dtype)
            is_pos = is_positive(label, value, label.name).alias(label.name)
            table, options = table.with_columns(is_pos), replace(options, positive=None)
        keys.columns = [str(i) for i in range(keys.width)]
        groups = RowGroups.from_keys(keys, table.height)
        distinct = groups.keys.rename(dict(zip(keys.columns, options.keys, strict=True)))
        return cls(
            table=table,
            options=options,
            keys=options.restore_text(distinct),
            starts=groups.starts,
            order=groups.order.astype(np.uint32 if table.height < 1 << 32 else np.int64),
        )

    def of_groups(self, numbers: Array) -> pl.DataFrame:
        """Return the rows of the groups with these numbers."""
        sizes = np.diff(self.starts)[numbers]
        rows = self.order[concatenated_ranges(self.starts[numbers], sizes)]
        keys = take_rows(self.keys, np.repeat(numbers, sizes))
        return keys.hstack(take_rows(self.table, rows).get_columns())

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of neighboring groups, with about `PART_SCORES` scores or of one group."""
        most = max(1, PART_SCORES // len(self.options.scores))
        for part in split_groups(self.starts, most):
            yield self.of_groups(np.arange(part.start, part.stop))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupedCurves:
    """The curves of all groups, of which some are read at a time.

    `first` has the first row of each curve, and `outside` states whether it has scores outside
    [0, 1]. `read` returns the rows of the groups with the given numbers. `predictions` is None if
    all curves are in memory.
    """

    first: pl.DataFrame
    outside: pl.Series
    read: Callable[[Array], pl.DataFrame]
    predictions: GroupedPredictions | None = None

    @classmethod
    def from_table(cls, table: pl.DataFrame) -> GroupedCurves:
        """Return the curves of a table that `curve` returned."""
        starts = curve_starts(table)
        lengths = np.diff(starts)

        def read(numbers: Array) -> pl.DataFrame:
            if len(numbers) == len(lengths):
                return table
            parts = [table.slice(starts[i], lengths[i]) for i in numbers]
            return pl.concat(parts, rechunk=True) if parts else table.clear()

        return cls(first=first_rows(table, starts), outside=_is_outside(table, starts), read=read)

    @classmethod
    def from_predictions(
        cls, predictions: GroupedPredictions, first: pl.DataFrame, outside: pl.Series
    ) -> GroupedCurves:
        """Return curves that are computed from predictions when they are read."""
        keys = select_keys(first, group_columns(first, THRESHOLD))
        n_models = len(predictions.options.scores)  # groups of the predictions have all models

        def read(numbers: Array) -> pl.DataFrame:
            rows = predictions.of_groups(np.unique(numbers // n_models))
            table = _curve_table(rows, predictions.options)
            return table if n_models == 1 else rows_of_groups(table, take_rows(keys, numbers))

        return cls(first=first, outside=outside, read=read, predictions=predictions)

    @property
    def keys(self) -> pl.DataFrame:
        """The group columns of each curve."""
        return select_keys(self.first, group_columns(self.first, THRESHOLD))

    def of_groups(self, groups: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the groups in `groups`, which may have fewer group columns."""
        return self.read(_is_in_groups(self.keys, groups).arg_true().to_numpy())

    def all_curves(self) -> pl.DataFrame:
        """Return the rows of all groups."""
        return self.read(np.arange(self.keys.height))

    def parts_of(
        self, predictions: pl.DataFrame, options: ReportOptions
    ) -> tuple[Iterable[pl.DataFrame], ReportOptions]:
        """Return the predictions of the curves as parts of complete groups, with their options."""
        if self.predictions is None:
            return [options.restore_text(predictions)], options
        return self.predictions.parts(), self.predictions.options

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of all curves, in parts."""
        if self.predictions is None:
            yield self.all_curves()
            return
        for part in self.predictions.parts():
            yield _curve_table(part, self.predictions.options)


def curve_starts(table: pl.DataFrame) -> IntArray:
    """Return the position of the first row of each curve, and the number of rows."""
    keys = select_keys(table, group_columns(table, THRESHOLD))
    return np.append(key_starts(keys, table.height).to_numpy().astype(np.int64), table.height)


def first_rows(table: pl.DataFrame, starts: IntArray) -> pl.DataFrame:
    """Return the first row of each curve; its counts add up to those of all rows of the group."""
    return take_rows(table, starts[:-1])


def _is_outside(table: pl.DataFrame, starts: IntArray) -> pl.Series:
    """Return whether each curve has scores outside [0, 1]; its first threshold is not a score."""
    threshold = table.get_column(THRESHOLD).gather
    is_outside = (threshold(np.minimum(starts[:-1] + 1, starts[1:] - 1)) > 1) | (
        threshold(starts[1:] - 1) < 0
    )
    return is_outside & pl.Series(np.diff(starts) > 1)


def rows_of_groups(table: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `groups`, which may have fewer group columns than the table."""
    return table.filter(_is_in_groups(table, groups))


def _is_in_groups(table: pl.DataFrame, groups: pl.DataFrame) -> pl.Series:
    """Return whether each row of a table belongs to one of the groups in `groups`."""
    names = group_columns(groups) if "auc" in groups.columns else groups.columns
    keys, _ = number_keys(groups, names)
    return find_keys(select_keys(table, names), keys).is_not_null()
