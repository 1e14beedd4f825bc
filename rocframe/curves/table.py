"""Curve tables, read back: whole groups of confusion matrices, from the highest threshold down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.errors import BrokenCurveError, ColumnTypeError
from rocframe.frames import column
from rocframe.vocabulary import CONFUSION, THRESHOLD, WALK, as_names, check_groups, keys_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rocframe.curves.rows import Rows
    from rocframe.predictions import By

MAKE = "Make one with .roc.curve(label, score, by=…)."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Which columns of a curve table are keys, and which stand right of them."""

    by: tuple[str, ...]
    keys: dict[str, pl.DataType]
    row: dict[str, pl.DataType]

    @property
    def inputs(self) -> list[pl.Expr]:
        """The columns under private names, so that no filter on the result reaches them."""
        rows = [column(name).alias(self.private(name)) for name in self.row]
        return [*(column(name) for name in self.by), *rows]

    @property
    def walk(self) -> list[pl.Expr]:
        """The same of threshold and counts alone: rates and metrics are not even worked out."""
        rows = [column(name).alias(self.private(name)) for name in WALK]
        return [*(column(name) for name in self.by), *rows]

    def private(self, name: str) -> str:
        """Return the name that a column right of the keys has inside a node."""
        hidden = f"({name})"
        while hidden in self.by:
            hidden = f"({hidden})"
        return hidden


def layout(schema: Mapping[str, pl.DataType], by: By, made: tuple[str, ...]) -> Layout:
    """Find the keys of a curve table, and check that it is one."""
    lacking = [name for name in WALK if name not in schema]
    if lacking:
        raise BrokenCurveError.of(
            f"this is no curve table: it has no column {', '.join(map(repr, lacking))}", MAKE
        )
    names = list(schema)
    at = names.index(THRESHOLD)
    keys = as_names(by) if by is not None else tuple(names[:at])
    check_groups(keys, schema, (*WALK, *made))
    for name in WALK:
        if not schema[name].is_numeric():
            raise ColumnTypeError.of("curves", name, schema[name], f"It holds numbers. {MAKE}")
    row = {name: schema[name] for name in names[at:]}
    return Layout(by=keys, keys=keys_schema(keys, schema), row=row)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """Whole curves, group after group, each from `inf` down.

    `table` has the group columns and the rows; group i has the key `keys[i]` and the rows
    `starts[i]` to `starts[i + 1]`. Without group columns `keys` has a row per group all the same.
    """

    layout: Layout
    table: pl.DataFrame
    keys: pl.DataFrame
    starts: NDArray[np.int64]
    walk: Rows

    @property
    def firsts(self) -> NDArray[np.int64]:
        """The first row of each group."""
        return self.starts[:-1]

    @property
    def lasts(self) -> NDArray[np.int64]:
        """The last row of each group."""
        return self.starts[1:] - 1

    def total(self, *names: str) -> NDArray[Any]:
        """Return a sum of counts that all rows of a group share."""
        first, second = (self.walk.at(name, self.firsts) for name in names)
        total: NDArray[Any] = first + second
        return total


def opened(frame: pl.DataFrame, table: Layout) -> Curves:
    """Sort a curve table by key and falling threshold, and check that each group is whole."""
    if not table.by and frame.is_empty():
        raise BrokenCurveError.of(
            "curves: the table has no rows, and without group columns even no predictions make one",
            f"Leave its rows in, or name its group columns in by=. {MAKE}",
        )
    threshold = frame.get_column(table.private(THRESHOLD))
    if threshold.null_count() or any(
        frame.get_column(table.private(name)).null_count() for name in CONFUSION
    ):
        raise BrokenCurveError.of(
            "curves: a threshold or a count is null, so these are no rows of a curve",
            f"Leave out the rows that at() found nothing for. {MAKE}",
        )
    from rocframe.curves.sound import sound_starts

    keys = frame.select(frame.get_column(name).alias(str(i)) for i, name in enumerate(table.by))
    walk = _walk(frame, table)
    starts = sound_starts(keys, walk)
    if starts is not None:
        return _curves(frame, table, starts, walk)
    ordered = frame
    if not _in_order(keys, threshold):
        order = _order(frame, table, keys)
        ordered = frame[order]
        keys = keys[order] if keys.width else keys
        walk = _walk(ordered, table)
    curves = _curves(ordered, table, _starts(keys, frame.height), walk)
    _check_whole(curves)
    return curves


def _walk(frame: pl.DataFrame, table: Layout) -> Rows:
    """Read thresholds and counts: floats, or whole numbers."""
    from rocframe.curves.rows import Rows

    wanted = {
        name: pl.Float64 if table.row[name].is_float() or name == THRESHOLD else pl.Int64
        for name in WALK
    }
    return Rows(
        {name: frame.get_column(table.private(name)).cast(dtype) for name, dtype in wanted.items()}
    )


def _curves(frame: pl.DataFrame, table: Layout, starts: NDArray[np.int64], walk: Rows) -> Curves:
    """Put sorted rows and the first ones of their groups together."""
    import numpy as np

    keys = pl.DataFrame(height=len(starts))
    if table.by:
        keys = frame.select(column(name) for name in table.by)[starts]
    return Curves(
        layout=table,
        table=frame,
        keys=keys,
        starts=np.append(starts, frame.height),
        walk=walk,
    )


def _order(frame: pl.DataFrame, table: Layout, keys: pl.DataFrame) -> pl.Series:
    """Return the rows by key and falling threshold, an infinite score after the row above all."""
    hidden = [table.private(name) for name in WALK]
    return (
        frame.select(hidden)
        .hstack(keys)
        .with_row_index("row")
        .select(
            pl.col("row").sort_by(
                *keys.columns,
                *(column(name) for name in hidden[:3]),
                descending=[*[False] * keys.width, True, False, False],
            )
        )
        .to_series()
    )


def _starts(keys: pl.DataFrame, height: int) -> NDArray[np.int64]:
    """Return where each run of equal keys starts."""
    import numpy as np

    if not height:
        return np.zeros(0, np.int64)
    if not keys.width:
        return np.zeros(1, np.int64)
    fresh = keys.select(
        pl.any_horizontal(pl.all().ne_missing(pl.all().shift())).alias("fresh")
    ).to_series()
    return np.flatnonzero((fresh | (pl.int_range(height, eager=True) == 0)).to_numpy())


def _in_order(keys: pl.DataFrame, threshold: pl.Series) -> bool:
    """Say whether the rows are sorted already, as our verbs return them."""
    import numpy as np

    starts = _starts(keys, len(threshold))
    if keys.width:
        firsts = keys[starts]
        if not firsts.equals(firsts.unique().sort(keys.columns)):
            return False
    falling = threshold.to_numpy()
    fresh = np.zeros(len(falling), bool)
    fresh[starts] = True
    return bool(np.all((falling[1:] < falling[:-1]) | fresh[1:]))


def _check_whole(curves: Curves) -> None:
    import numpy as np

    threshold, tp, fp, fn, tn = (curves.walk[name] for name in WALK)
    fresh = np.zeros(len(tp), bool)
    fresh[curves.firsts] = True
    lengths = np.diff(curves.starts)

    def first_group(rows: NDArray[np.bool_]) -> str:
        group = int(np.searchsorted(curves.starts, np.flatnonzero(rows)[0], "right")) - 1
        named = [f"{name}={value!r}" for name, value in curves.keys.row(group, named=True).items()]
        return f"group {', '.join(named)}" if named else "the curve"

    topless = fresh & ~(np.isposinf(threshold) & (tp == 0))
    if topless.any():
        raise BrokenCurveError.of(
            f"curves: {first_group(topless)} has no row above all scores (threshold inf, tp 0)",
            "Curves go whole into this verb: filter the predictions or whole groups, not rows.",
        )
    repeated = ~fresh & (np.append(np.nan, threshold[:-1]) == threshold)
    if len(tp):
        # An infinite score has a row of its own, after the row above all.
        second = np.append(False, fresh[:-1])
        repeated &= ~(second & np.isposinf(threshold))
    if repeated.any():
        raise BrokenCurveError.of(
            f"curves: {first_group(repeated)} has a threshold twice",
            "Two curves lie in one group: name all group columns in by=, or undo the join.",
        )
    for name, whole in (("tp + fn", tp + fn), ("fp + tn", fp + tn)):
        total = np.repeat(whole[curves.firsts], lengths)
        # Weighted counts are sums of floats: their totals agree to rounding only.
        off = whole != total if whole.dtype.kind == "i" else abs(whole - total) > 1e-9 * total
        if off.any():
            raise BrokenCurveError.of(
                f"curves: {name} is not the same in all rows of {first_group(off)}",
                "Two curves lie in one group: name all group columns in by=, or undo the join.",
            )
    _check_signs(curves, first_group)
    for name, part in (("tp", tp), ("fp", fp)):
        back = ~fresh & (part < np.append(0, part[:-1]))
        if back.any():
            raise BrokenCurveError.of(
                f"curves: {name} falls with the threshold in {first_group(back)}",
                "Two curves lie in one group: name all group columns in by=, or undo the join.",
            )


def _check_signs(curves: Curves, first_group: Callable[[NDArray[np.bool_]], str]) -> None:
    """Check that no count is negative: those of rows called rise, and all others fall."""
    import numpy as np

    for name, rest, ends in (
        ("fp", "tn", curves.firsts),
        ("fn", "tp", curves.lasts),
        ("tn", "fp", curves.lasts),
    ):
        part, other = (curves.walk.at(one, ends) for one in (name, rest))
        # Weights add up to a total to rounding only.
        slack = 1e-9 * abs(part + other) if part.dtype.kind == "f" else 0
        negative = np.zeros(curves.walk.height, bool)
        negative[ends] = part < -slack
        if negative.any():
            raise BrokenCurveError.of(
                f"curves: {name} is below 0 in {first_group(negative)}",
                f"It is a number of rows, or their weight. {MAKE}",
            )
