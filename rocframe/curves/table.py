"""Read curve tables: find their columns, sort their groups, and check that each is complete."""

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
    from numpy.typing import NDArray

    from rocframe.inputs.roles import By


MAKE_CURVES = "Make one with .roc.curve(label, score, by=…)."
SEPARATE_CURVES = "One group holds the rows of two curves: name all group columns in by=."
RELATIVE_ERROR = 1e-9  # of totals of weights, which are sums of floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveLayout:
    """The group columns of a curve table, and the columns from `threshold` on, with dtypes."""

    by: tuple[str, ...]
    keys: dict[str, pl.DataType]
    row: dict[str, pl.DataType]

    @property
    def inputs(self) -> list[pl.Expr]:
        """All columns; those of the rows have private names, which no filter refers to."""
        rows = [column(name).alias(self.private(name)) for name in self.row]
        return [*(column(name) for name in self.by), *rows]

    @property
    def walk(self) -> list[pl.Expr]:
        """Group columns, threshold and counts: a lazy plan computes no metrics for these."""
        rows = [column(name).alias(self.private(name)) for name in CURVE_COLUMNS]
        return [*(column(name) for name in self.by), *rows]

    def private(self, name: str) -> str:
        """Return the name of a column of the rows inside a node of a plan."""
        hidden = f"({name})"
        while hidden in self.by:
            hidden = f"({hidden})"
        return hidden


def curve_layout(schema: Mapping[str, pl.DataType], by: By, made: tuple[str, ...]) -> CurveLayout:
    """Find the group columns of a curve table, and check its other columns."""
    lacking = [name for name in CURVE_COLUMNS if name not in schema]
    if lacking:
        raise BrokenCurveError.compose(
            f"this is no curve table: it has no column {', '.join(map(repr, lacking))}", MAKE_CURVES
        )
    names = list(schema)
    at = names.index(THRESHOLD)
    keys = parse_names(by) if by is not None else tuple(names[:at])
    check_group_columns(keys, schema, (*CURVE_COLUMNS, *made))
    for name in CURVE_COLUMNS:
        if not schema[name].is_numeric():
            raise ColumnTypeError.compose(
                "curves", name, schema[name], f"This column must be numeric. {MAKE_CURVES}"
            )
    row = {name: schema[name] for name in names[at:]}
    return CurveLayout(by=keys, keys=group_dtypes(keys, schema), row=row)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """Complete curves, group after group, by falling threshold.

    `table` has the group columns and all columns of the rows. Group i has the key `keys[i]` and the
    rows `starts[i]` to `starts[i + 1]`. Without group columns `keys` is a frame of one row and no
    columns.
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

    @property
    def ends_early(self) -> NDArray[np.bool_]:
        """Whether each curve ends before its lowest score, as with `thresholds=`."""
        last = self.columns.at("tn", self.lasts)
        result: NDArray[np.bool_] = last > RELATIVE_ERROR * self.total("fp", "tn")
        return result

    def name_group(self, group: int) -> str:
        """Name a group in an error: `group fold=1`, or `the curve` without group columns."""
        key = self.keys.row(group, named=True) if self.keys.width else {}
        values = ", ".join(f"{name}={value!r}" for name, value in key.items())
        return f"group {values}" if values else "the curve"


def read_curves(frame: pl.DataFrame, table: CurveLayout) -> Curves:
    """Sort a curve table by key and falling threshold, and check that each group is complete."""
    if not table.by and frame.is_empty():
        raise BrokenCurveError.compose(
            "curves: the table has no rows, but a curve without group columns has at least one",
            f"Keep its rows, or name its group columns in by=. {MAKE_CURVES}",
        )
    threshold = frame.get_column(table.private(THRESHOLD))
    if threshold.null_count() or any(
        frame.get_column(table.private(name)).null_count() for name in CONFUSION
    ):
        raise BrokenCurveError.compose(
            "curves: a threshold or a count is null",
            f"Drop the rows for which at() found no operating point. {MAKE_CURVES}",
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
    """Read thresholds and counts, as Float64 or Int64."""
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
    """Return the curves of a sorted table."""
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
    """Return the order of rows by key and falling threshold; the row with tp = fp = 0 is first."""
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
    """Check whether the rows are sorted, as `curve` returns them."""
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
    """Raise an error that names the first group whose rows are not one complete curve."""
    threshold, tp, fp, fn, tn = (curves.columns[name] for name in CURVE_COLUMNS)
    fresh = np.zeros(len(tp), bool)
    fresh[curves.firsts] = True
    lengths = np.diff(curves.starts)

    def check(wrong: NDArray[np.bool_], problem: str, hint: str) -> None:
        if wrong.any():
            group = int(np.searchsorted(curves.starts, np.argmax(wrong), "right")) - 1
            problem = problem.format(group=curves.name_group(group))
            raise BrokenCurveError.compose(f"curves: {problem}", hint)

    check(
        fresh & ~(np.isposinf(threshold) & (tp == 0)),
        "{group} has no row above all scores (threshold inf, tp 0)",
        "Curves must be complete: filter predictions or whole groups, not rows of a curve.",
    )
    repeated = ~fresh & (np.append(np.nan, threshold[:-1]) == threshold)
    if len(tp):
        # An infinite score has a row of its own, after the row above all scores.
        second = np.append(False, fresh[:-1])
        repeated &= ~(second & np.isposinf(threshold))
    check(repeated, "{group} has a threshold twice", SEPARATE_CURVES)
    for name, total in (("tp + fn", tp + fn), ("fp + tn", fp + tn)):
        first = np.repeat(total[curves.firsts], lengths)
        exact = total.dtype.kind == "i"
        differs = total != first if exact else abs(total - first) > RELATIVE_ERROR * first
        check(differs, f"{name} is not the same in all rows of {{group}}", SEPARATE_CURVES)
    # fp is lowest in the first row of a curve; fn and tn are lowest in the last.
    for name, rest, rows in (
        ("fp", "tn", curves.firsts),
        ("fn", "tp", curves.lasts),
        ("tn", "fp", curves.lasts),
    ):
        lowest, other = (curves.columns.at(one, rows) for one in (name, rest))
        slack = RELATIVE_ERROR * abs(lowest + other) if lowest.dtype.kind == "f" else 0
        negative = np.zeros(curves.columns.height, bool)
        negative[rows] = lowest < -slack
        hint = f"It is a number of rows or a sum of weights. {MAKE_CURVES}"
        check(negative, f"{name} is below 0 in {{group}}", hint)
    for name, counts in (("tp", tp), ("fp", fp)):
        decreases = ~fresh & (counts < np.append(0, counts[:-1]))
        problem = f"{name} decreases with falling thresholds in {{group}}"
        check(decreases, problem, SEPARATE_CURVES)


def check_ends(curves: Curves, consequence: str, hint: str) -> None:
    """Raise an error if a curve ends before its lowest score, with what cannot be computed then."""
    early = curves.ends_early
    if early.any():
        group = curves.name_group(int(np.argmax(early)))
        problem = f"curves: {group} ends before its lowest score, so {consequence}"
        raise BrokenCurveError.compose(problem, hint)


def find_starts_fast(keys: pl.DataFrame, walk: CurveColumns) -> NDArray[np.int64] | None:
    """Return the first row of each curve, or None if a slower check must find them or the error.

    This is the fast path for integer counts that are sorted as `curve` returns them. A curve starts
    where the threshold does not fall, and the keys must change in the same rows.
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
    return starts if _has_complete_groups(keys, walk, starts) else None


def _starts_within(
    keys: pl.DataFrame, walk: CurveColumns, start: int, end: int
) -> NDArray[np.int64] | None:
    """Return the rows between `start` and `end` where curves start; None if a check fails."""
    rows = _with_totals([walk.between(name, start, end) for name in CURVE_COLUMNS])
    steps = _starts_of_curves([part[:-1] for part in rows], [part[1:] for part in rows])
    if steps is None:
        return None
    above, here = (keys.slice(a, end - start - 1) for a in (start, start + 1))
    return steps + start + 1 if _keys_change_at(above, here, steps) else None


def _starts_between(
    keys: pl.DataFrame, walk: CurveColumns, seams: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return the first rows of blocks at which curves start; None if a check fails."""
    steps = _starts_of_curves(
        *(
            _with_totals([walk.at(name, rows) for name in CURVE_COLUMNS])
            for rows in (seams - 1, seams)
        )
    )
    if steps is None:
        return None
    above, here = (keys[rows] if keys.width else keys for rows in (seams - 1, seams))
    return seams[steps] if _keys_change_at(above, here, steps) else None


def _with_totals(rows: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return thresholds, tp, fp, and the totals of both classes."""
    threshold, tp, fp, fn, tn = rows
    return [threshold, tp, fp, tp + fn, fp + tn]


def _starts_of_curves(
    before: list[NDArray[Any]], after: list[NDArray[Any]]
) -> NDArray[np.int64] | None:
    """Return where the threshold does not fall; None if counts are wrong in other rows."""
    (above, tp0, fp0, pos0, neg0), (threshold, tp, fp, pos, neg) = before, after
    starts = np.flatnonzero(~(threshold < above))
    for wrong in (tp < tp0, fp < fp0, pos != pos0, neg != neg0):
        wrong[starts] = False
        if wrong.any():
            return None
    return starts


def _keys_change_at(above: pl.DataFrame, here: pl.DataFrame, steps: NDArray[np.int64]) -> bool:
    """Check whether keys differ from those of the row above in these rows and in no others."""
    if not above.width:
        return not len(steps)
    changes = [
        # Plain comparison is much faster, but nulls need ne_missing.
        one.ne_missing(other) if one.null_count() + other.null_count() else one != other
        for one, other in zip(above.get_columns(), here.get_columns(), strict=True)
    ]
    changed = reduce(or_, changes)
    if changed.sum() != len(steps):
        return False
    return not len(steps) or bool(changed.to_numpy()[steps].all())


def _has_complete_groups(keys: pl.DataFrame, walk: CurveColumns, starts: NDArray[np.int64]) -> bool:
    """Check first rows and order of the groups, and that no counts are negative."""
    lasts = np.append(starts[1:], walk.height) - 1
    top = np.isposinf(walk.at(THRESHOLD, starts)) & (walk.at("tp", starts) == 0)
    least = [walk.at("fp", starts), walk.at("fn", lasts), walk.at("tn", lasts)]
    if not top.all() or any((counts < 0).any() for counts in least):
        return False
    if not keys.width:
        return len(starts) == 1
    firsts = keys[starts]
    return firsts.equals(firsts.unique().sort(keys.columns))


SHORT_CHUNK_ROWS = 1 << 14  # mean rows of a chunk, below which blocks span several chunks


GATHER_COST = 8  # of one row of a column in several chunks, per copied row


class CurveColumns(Mapping[str, Any]):
    """Columns of equal length without nulls: a mapping from names to arrays.

    A column of several chunks is copied into one array when it is first looked up, or when so many
    of its rows are looked up that the copy is faster.
    """

    __slots__ = ("_series", "_whole")

    def __init__(self, columns: Mapping[str, pl.Series]) -> None:
        self._series = dict(columns)
        self._whole: dict[str, NDArray[Any]] = {}

    @classmethod
    def from_arrays(cls, columns: Mapping[str, NDArray[Any]]) -> CurveColumns:
        """Use arrays as columns."""
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
        """The number of rows."""
        return len(next(iter(self._series.values())))

    def is_float(self, name: str) -> bool:
        """Whether a column has floats; all others have integers."""
        return self._series[name].dtype.is_float()

    def at(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values of a column in some rows, in any order."""
        series = self._series[name]
        copied = name in self._whole or series.n_chunks() == 1
        if copied or GATHER_COST * rows.size >= len(series):
            found: NDArray[Any] = self[name][rows]
            return found
        return series[pl.Series(rows.ravel())].to_numpy().reshape(rows.shape)

    def between(self, name: str, start: int, end: int) -> NDArray[Any]:
        """Return the rows from `start` to before `end`; a view if they are in one chunk."""
        return self._series[name].slice(start, end - start).to_numpy()

    def blocks(self, most: int) -> list[tuple[int, int]]:
        """Split the rows into blocks of at most so many; within chunks unless these are short."""
        lengths = next(iter(self._series.values())).chunk_lengths()
        if self.height < SHORT_CHUNK_ROWS * len(lengths):
            lengths = [self.height]
        edges = np.append(0, np.cumsum(lengths)).tolist()
        return [
            (start, min(start + most, end))
            for a, end in pairwise(edges)
            for start in range(a, end, most)
        ]
