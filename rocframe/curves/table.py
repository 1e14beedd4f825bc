"""Curve tables read back: complete groups of confusion matrices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.errors import BrokenCurveError, ColumnTypeError
from rocframe.frames import column
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.threads import run_parallel
from rocframe.options import check_group_columns, group_dtypes, parse_names
from rocframe.rates import CONFUSION
from rocframe.schemas import CURVE_COLUMNS, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.inputs.roles import By


MAKE_CURVES = "Make one with .roc.curve(label, score, by=…)."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveLayout:
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
        rows = [column(name).alias(self.private(name)) for name in CURVE_COLUMNS]
        return [*(column(name) for name in self.by), *rows]

    def private(self, name: str) -> str:
        """Return the name that a column right of the keys has inside a node."""
        hidden = f"({name})"
        while hidden in self.by:
            hidden = f"({hidden})"
        return hidden


def curve_layout(schema: Mapping[str, pl.DataType], by: By, made: tuple[str, ...]) -> CurveLayout:
    """Find the keys of a curve table, and check that it is one."""
    lacking = [name for name in CURVE_COLUMNS if name not in schema]
    if lacking:
        raise BrokenCurveError.of(
            f"this is no curve table: it has no column {', '.join(map(repr, lacking))}", MAKE_CURVES
        )
    names = list(schema)
    at = names.index(THRESHOLD)
    keys = parse_names(by) if by is not None else tuple(names[:at])
    check_group_columns(keys, schema, (*CURVE_COLUMNS, *made))
    for name in CURVE_COLUMNS:
        if not schema[name].is_numeric():
            raise ColumnTypeError.of(
                "curves", name, schema[name], f"It holds numbers. {MAKE_CURVES}"
            )
    row = {name: schema[name] for name in names[at:]}
    return CurveLayout(by=keys, keys=group_dtypes(keys, schema), row=row)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """Whole curves, group after group, each from `inf` down.

    `table` has the group columns and the rows; group i has the key `keys[i]` and the rows
    `starts[i]` to `starts[i + 1]`. Without group columns `keys` has a row per group all the same.
    """

    layout: CurveLayout
    table: pl.DataFrame
    keys: pl.DataFrame
    starts: NDArray[np.int64]
    columns: CurveColumns

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
        first, second = (self.columns.at(name, self.firsts) for name in names)
        total: NDArray[Any] = first + second
        return total


def read_curves(frame: pl.DataFrame, table: CurveLayout) -> Curves:
    """Sort a curve table by key and falling threshold, and check that each group is whole."""
    if not table.by and frame.is_empty():
        raise BrokenCurveError.of(
            "curves: the table has no rows, and without group columns even no predictions make one",
            f"Leave its rows in, or name its group columns in by=. {MAKE_CURVES}",
        )
    threshold = frame.get_column(table.private(THRESHOLD))
    if threshold.null_count() or any(
        frame.get_column(table.private(name)).null_count() for name in CONFUSION
    ):
        raise BrokenCurveError.of(
            "curves: a threshold or a count is null, so these are no rows of a curve",
            f"Leave out the rows that at() found nothing for. {MAKE_CURVES}",
        )
    keys = frame.select(frame.get_column(name).alias(str(i)) for i, name in enumerate(table.by))
    walk = _read_columns(frame, table)
    starts = find_starts_fast(keys, walk)
    if starts is not None:
        return _build_curves(frame, table, starts, walk)
    ordered = frame
    if not _is_sorted(keys, threshold):
        order = _sort_order(frame, table, keys)
        ordered = frame[order]
        keys = keys[order] if keys.width else keys
        walk = _read_columns(ordered, table)
    curves = _build_curves(ordered, table, _group_starts(keys, frame.height), walk)
    _check_complete(curves)
    return curves


def _read_columns(frame: pl.DataFrame, table: CurveLayout) -> CurveColumns:
    """Read thresholds and counts: floats, or whole numbers."""
    wanted = {
        name: pl.Float64 if table.row[name].is_float() or name == THRESHOLD else pl.Int64
        for name in CURVE_COLUMNS
    }
    return CurveColumns(
        {name: frame.get_column(table.private(name)).cast(dtype) for name, dtype in wanted.items()}
    )


def _build_curves(
    frame: pl.DataFrame, table: CurveLayout, starts: NDArray[np.int64], walk: CurveColumns
) -> Curves:
    """Put sorted rows and the first ones of their groups together."""
    keys = pl.DataFrame(height=len(starts))
    if table.by:
        keys = frame.select(column(name) for name in table.by)[starts]
    return Curves(
        layout=table,
        table=frame,
        keys=keys,
        starts=np.append(starts, frame.height),
        columns=walk,
    )


def _sort_order(frame: pl.DataFrame, table: CurveLayout, keys: pl.DataFrame) -> pl.Series:
    """Return the rows by key and falling threshold, an infinite score after the row above all."""
    hidden = [table.private(name) for name in CURVE_COLUMNS]
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


def _group_starts(keys: pl.DataFrame, height: int) -> NDArray[np.int64]:
    """Return where each run of equal keys starts."""
    if not height:
        return np.zeros(0, np.int64)
    if not keys.width:
        return np.zeros(1, np.int64)
    fresh = keys.select(
        pl.any_horizontal(pl.all().ne_missing(pl.all().shift())).alias("fresh")
    ).to_series()
    return np.flatnonzero((fresh | (pl.int_range(height, eager=True) == 0)).to_numpy())


def _is_sorted(keys: pl.DataFrame, threshold: pl.Series) -> bool:
    """Say whether the rows are sorted already, as our verbs return them."""
    starts = _group_starts(keys, len(threshold))
    if keys.width:
        firsts = keys[starts]
        if not firsts.equals(firsts.unique().sort(keys.columns)):
            return False
    falling = threshold.to_numpy()
    fresh = np.zeros(len(falling), bool)
    fresh[starts] = True
    return bool(np.all((falling[1:] < falling[:-1]) | fresh[1:]))


def _check_complete(curves: Curves) -> None:
    threshold, tp, fp, fn, tn = (curves.columns[name] for name in CURVE_COLUMNS)
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
    _check_not_negative(curves, first_group)
    for name, part in (("tp", tp), ("fp", fp)):
        back = ~fresh & (part < np.append(0, part[:-1]))
        if back.any():
            raise BrokenCurveError.of(
                f"curves: {name} falls with the threshold in {first_group(back)}",
                "Two curves lie in one group: name all group columns in by=, or undo the join.",
            )


def _check_not_negative(curves: Curves, first_group: Callable[[NDArray[np.bool_]], str]) -> None:
    """Check that no count is negative: those of rows called rise, and all others fall."""
    for name, rest, ends in (
        ("fp", "tn", curves.firsts),
        ("fn", "tp", curves.lasts),
        ("tn", "fp", curves.lasts),
    ):
        part, other = (curves.columns.at(one, ends) for one in (name, rest))
        # Weights add up to a total to rounding only.
        slack = 1e-9 * abs(part + other) if part.dtype.kind == "f" else 0
        negative = np.zeros(curves.columns.height, bool)
        negative[ends] = part < -slack
        if negative.any():
            raise BrokenCurveError.of(
                f"curves: {name} is below 0 in {first_group(negative)}",
                f"It is a number of rows, or their weight. {MAKE_CURVES}",
            )


def find_starts_fast(keys: pl.DataFrame, walk: CurveColumns) -> NDArray[np.int64] | None:
    """Return the first row of each curve; None unless these are sorted whole curves of counts.

    A curve starts where thresholds do not fall, and nowhere else: keys change there and only there.
    """
    if any(walk.is_float(name) for name in CONFUSION):
        return None
    blocks = walk.blocks(BLOCK_ROWS)
    if not blocks:
        return np.zeros(0, np.int64)
    found = run_parallel(lambda block: _starts_within(keys, walk, *block), blocks)
    found.append(
        _starts_between(keys, walk, np.array([start for start, _ in blocks[1:]], np.int64))
    )
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return None
    starts = np.sort(np.concatenate([[0], *parts]))
    return starts if _is_whole(keys, walk, starts) else None


def _starts_within(
    keys: pl.DataFrame, walk: CurveColumns, start: int, end: int
) -> NDArray[np.int64] | None:
    """Return the rows after `start` and before `end` at which curves start; None if unsound."""
    rows = _known([walk.between(name, start, end) for name in CURVE_COLUMNS])
    steps = _steps([part[:-1] for part in rows], [part[1:] for part in rows])
    if steps is None:
        return None
    above, here = (keys.slice(a, end - start - 1) for a in (start, start + 1))
    return steps + start + 1 if _change_at(above, here, steps) else None


def _starts_between(
    keys: pl.DataFrame, walk: CurveColumns, seams: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return those of the first rows of blocks at which curves start; None if unsound."""
    steps = _steps(
        *(_known([walk.at(name, rows) for name in CURVE_COLUMNS]) for rows in (seams - 1, seams))
    )
    if steps is None:
        return None
    above, here = (keys[rows] if keys.width else keys for rows in (seams - 1, seams))
    return seams[steps] if _change_at(above, here, steps) else None


def _known(rows: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return thresholds, counts of those called, and how many there are of each class."""
    threshold, tp, fp, fn, tn = rows
    return [threshold, tp, fp, tp + fn, fp + tn]


def _steps(before: list[NDArray[Any]], after: list[NDArray[Any]]) -> NDArray[np.int64] | None:
    """Return where rows do not follow those before them; None if counts do not go with that."""
    (above, tp0, fp0, pos0, neg0), (threshold, tp, fp, pos, neg) = before, after
    starts = np.flatnonzero(~(threshold < above))
    for wrong in (tp < tp0, fp < fp0, pos != pos0, neg != neg0):
        wrong[starts] = False
        if wrong.any():
            return None
    return starts


def _change_at(above: pl.DataFrame, here: pl.DataFrame, steps: NDArray[np.int64]) -> bool:
    """Say whether keys differ from those above them in these rows and in no others."""
    if not above.width:
        return not len(steps)
    changes = [
        # The plain comparison is quicker by far, but knows no nulls.
        one.ne_missing(other) if one.null_count() + other.null_count() else one != other
        for one, other in zip(above.get_columns(), here.get_columns(), strict=True)
    ]
    changed = reduce(or_, changes)
    if changed.sum() != len(steps):
        return False
    return not len(steps) or bool(changed.to_numpy()[steps].all())


def _is_whole(keys: pl.DataFrame, walk: CurveColumns, starts: NDArray[np.int64]) -> bool:
    """Say whether curves start above all scores, and their keys rise; no counts are negative."""
    lasts = np.append(starts[1:], walk.height) - 1
    top = np.isposinf(walk.at(THRESHOLD, starts)) & (walk.at("tp", starts) == 0)
    least = [walk.at("fp", starts), walk.at("fn", lasts), walk.at("tn", lasts)]
    if not top.all() or any((counts < 0).any() for counts in least):
        return False
    if not keys.width:
        return len(starts) == 1
    firsts = keys[starts]
    return firsts.equals(firsts.unique().sort(keys.columns))


SHORT_CHUNK_ROWS = 1 << 14  # rows: pieces that are shorter in the mean are put together by blocks


class CurveColumns(Mapping[str, Any]):
    """Columns of equal length without nulls; looked up as in a dict, each is one array."""

    __slots__ = ("_series", "_whole")

    def __init__(self, columns: Mapping[str, pl.Series]) -> None:
        self._series = dict(columns)
        self._whole: dict[str, NDArray[Any]] = {}

    @classmethod
    def from_arrays(cls, columns: Mapping[str, NDArray[Any]]) -> CurveColumns:
        """Hold columns that are arrays already."""
        return cls({name: pl.Series(name, values) for name, values in columns.items()})

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._whole:
            self._whole[name] = self._series[name].to_numpy()
        return self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._series.values())))

    def is_float(self, name: str) -> bool:
        """Say whether a column holds floats; all others hold whole numbers."""
        return self._series[name].dtype.is_float()

    def at(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return what stands in some rows of a column, in any order."""
        series = self._series[name]
        if name in self._whole or series.n_chunks() == 1:
            found: NDArray[Any] = self[name][rows]
            return found
        return series.gather(pl.Series(rows.ravel())).to_numpy().reshape(rows.shape)

    def between(self, name: str, start: int, end: int) -> NDArray[Any]:
        """Return the rows from `start` to before `end`, with no copy where one piece has them."""
        return self._series[name].slice(start, end - start).to_numpy()

    def blocks(self, most: int) -> list[tuple[int, int]]:
        """Cut the rows into runs of at most so many that cross no piece, unless it is short."""
        lengths = next(iter(self._series.values())).chunk_lengths()
        if self.height < SHORT_CHUNK_ROWS * len(lengths):
            lengths = [self.height]
        edges = np.append(0, np.cumsum(lengths)).tolist()
        return [
            (start, min(start + most, end))
            for a, end in pairwise(edges)
            for start in range(a, end, most)
        ]
