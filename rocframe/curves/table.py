"""Read curve tables: find their columns, sort their groups, and check that each is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.errors import BrokenCurveError, ColumnTypeError, MissingColumnError, OptionValueError
from rocframe.frames import (
    as_input_frame,
    column,
    key_starts,
    lazy_plan,
    private_names,
    select_keys,
    take_rows,
    through_node,
)
from rocframe.inputs.cases import outside_unit_problem
from rocframe.kernel.arrays import run_parallel
from rocframe.kernel.groups import groups_of_rows, round_thresholds
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kinds import PREVALENCE, has_prevalence
from rocframe.options import (
    check_group_column,
    check_group_columns,
    group_dtypes,
    parse_fraction,
    parse_names,
)
from rocframe.rates import CONFUSION
from rocframe.schemas.curves import GIVEN_THRESHOLDS, HULL_COLUMNS, RULE_COLUMNS
from rocframe.schemas.table_type import (
    CURVE_COLUMNS,
    POINT_NAMES,
    THRESHOLD,
    score_floats,
    with_scores,
)
from rocframe.text import format_key, format_list, join_names

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.schemas.table_type import Schema


MAKE_CURVES = "Compute a curve table with .roc.curve(label, score, by=…)."
SEPARATE_CURVES = "The group may contain several curves: name all group columns in by=."
COMPLETE_CURVES = "Compute the curve without thresholds=, and do not filter its rows."
NOTE = "note"
TOTAL_ROUNDING = 1e-9  # largest relative rounding error of a total of weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveLayout:
    """The columns of a curve table.

    `by` are the group columns, and `keys` has their dtypes. `row` has the names and dtypes of
    `threshold` and of all columns right of `threshold`.
    """

    by: tuple[str, ...]
    keys: dict[str, pl.DataType]
    row: dict[str, pl.DataType]

    @property
    def all_columns(self) -> list[pl.Expr]:
        """All columns as expressions; the columns in `row` are renamed by `private`."""
        return self._select(self.row)

    @property
    def count_columns(self) -> list[pl.Expr]:
        """Keys, threshold, counts, prevalence and error bounds, so that queries skip metrics."""
        names = [PREVALENCE] * self.has_prevalence + [*GIVEN_THRESHOLDS] * self.has_given_thresholds
        return self._select((*CURVE_COLUMNS, *names))

    def _select(self, names: Iterable[str]) -> list[pl.Expr]:
        """Return the group columns and the columns `names`, which are renamed by `private`."""
        rows = [column(name).alias(self.private(name)) for name in names]
        return [*(column(name) for name in self.by), *rows]

    @property
    def has_prevalence(self) -> bool:
        """Whether the table has a column with the prevalence at which its rates are computed."""
        return has_prevalence(list(self.row))

    @property
    def has_given_thresholds(self) -> bool:
        """Whether the table has the error bounds of `curve` with `thresholds=`."""
        return all(name in self.row for name in GIVEN_THRESHOLDS)

    @property
    def scores(self) -> pl.DataType:
        """The float dtype of the scores, in which they are compared with given thresholds."""
        return score_floats([self.row[THRESHOLD]])

    def count_dtype(self, name: str) -> pl.DataType:
        """Return the dtype of a count in computations: Float64 for fractions, otherwise Int64."""
        dtype = self.row[name]
        is_whole = dtype.is_integer() or (isinstance(dtype, pl.Decimal) and dtype.scale == 0)
        return pl.Int64() if is_whole else pl.Float64()

    def private(self, name: str) -> str:
        """Return a name for a column in `row` that differs from the names of all group columns."""
        return private_names([name], self.by)[name]


def curve_layout(
    schema: Mapping[str, pl.DataType], by: By, new_columns: tuple[str, ...]
) -> CurveLayout:
    """Check the columns of a curve table, also against `new_columns`, and return its layout."""
    missing = [name for name in CURVE_COLUMNS if name not in schema]
    if missing:
        raise BrokenCurveError.compose(
            f"curves: expected a curve table, but the table has no column {format_list(missing)}",
            MAKE_CURVES,
        )
    names = list(schema)
    first = names.index(THRESHOLD)
    keys = parse_names(by) if by is not None else tuple(names[:first])
    check_group_columns(keys, schema, (*CURVE_COLUMNS, *new_columns))
    for name in (*CURVE_COLUMNS, *([PREVALENCE] if has_prevalence(names) else [])):
        if not schema[name].is_numeric():
            raise ColumnTypeError.of_table(
                "curves", name, schema[name], f"This column must be numeric. {MAKE_CURVES}"
            )
    row = {
        name: schema[name]
        for name in names[first:]
        if name != NOTE or NOTE not in new_columns  # the note of the result replaces this column
    }
    return CurveLayout(by=keys, keys=group_dtypes(keys, schema), row=row)


def plan_curves(
    curves: FrameT,
    by: By,
    columns: Schema | Callable[[pl.Schema], Schema],
    build: Callable[[Curves, Schema], pl.DataFrame],
    *,
    anchor: str,
    compared: tuple[str, str] | None = None,
    position: Literal["first", "last"] | None = "first",
    check: Callable[[CurveLayout], None] = lambda _: None,
) -> FrameT:
    """Return the table that `build` computes from the curves, as the same kind of frame.

    `columns` are the columns of the result right of the group columns, or a function of the schema
    of the curve table; `build` also gets them. `anchor` is a column that is never null. `compared`
    are an argument and its value: the group column whose curves are compared or pooled, and whose
    `position` in the result is among the group columns, at the end, or None. `check` may raise an
    error.
    """

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        new_columns = columns(schema) if callable(columns) else columns
        table = curve_layout(schema, by, tuple(new_columns))
        new_columns = with_scores(new_columns, table.scores)
        if compared is not None:
            check_group_column(*compared, table.by, schema)
        check(table)
        across = None if compared is None else compared[1]
        keys = {name: dtype for name, dtype in table.keys.items() if name != across}
        last = {name: table.keys[name] for name in table.keys if name not in keys}
        result = table.keys | new_columns
        if position != "first":
            result = keys | new_columns | (last if position == "last" else {})
        return through_node(
            plan.select(table.count_columns),
            lambda frame: build(read_curves(frame, table), new_columns),
            schema=result,
            by=tuple(keys),
            anchor=anchor,
            compared=across if across in result else None,
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


def check_new_columns(
    columns: Iterable[str], new_columns: Iterable[str], function: str, *, argument: str = "curves"
) -> None:
    """Raise an error if a table with these columns already has a column that a function adds."""
    available = {*columns}
    for name in new_columns:
        if name in available:
            problem = f"the table already has a column {name!r}; {function}() adds this column"
            raise BrokenCurveError.compose(
                f"{argument}: {problem}",
                "Pass a table without this column, or rename the column, for example with "
                f".rename({{{name!r}: {name + '_before'!r}}}).",
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """Complete curves, sorted by group and falling threshold.

    Columns of `table` right of the group columns have the names that `layout.private` returns.
    Group i has the key `keys[i]` and the rows `starts[i]` to `starts[i + 1] - 1`. `prevalence` is
    that of the rates of the table; None for that of each curve. `has_gaps` is True for curves at
    given thresholds that lack rows between these.
    """

    layout: CurveLayout
    table: pl.DataFrame
    keys: pl.DataFrame
    starts: IntArray
    columns: CurveColumns
    has_gaps: BoolArray
    prevalence: float | None = None

    @property
    def firsts(self) -> IntArray:
        """The first row of each group."""
        return self.starts[:-1]

    @property
    def lasts(self) -> IntArray:
        """The last row of each group."""
        return self.starts[1:] - 1

    @property
    def pos(self) -> Array:
        """The number of positives of each curve, or the sum of their weights."""
        return self._first_row_sum("tp", "fn")

    @property
    def neg(self) -> Array:
        """The number of negatives of each curve, or the sum of their weights."""
        return self._first_row_sum("fp", "tn")

    def _first_row_sum(self, *names: str) -> Array:
        """Return the sum of two counts in the first row of each curve."""
        first, second = (self.columns.at(name, self.firsts) for name in names)
        total: Array = first + second
        return total

    @property
    def class_sizes(self) -> tuple[FloatArray, FloatArray]:
        """The sums tp + fn and fp + tn in the last row of each group.

        These sums have a different rounding error in each row. In the last row, tp divided by its
        sum is exactly 1.
        """
        pos, neg = (
            (self.columns.at(selected, self.lasts) + self.columns.at(rest, self.lasts)).astype(
                np.float64
            )
            for selected, rest in (("tp", "fn"), ("fp", "tn"))
        )
        return pos, neg

    @property
    def ends_early(self) -> BoolArray:
        """A mask of the curves that lack rows with low thresholds: the last row has tn > 0.

        Missing rows with positives only cannot be detected, because a curve with unscored positives
        has the same counts.
        """
        last = self.columns.at("tn", self.lasts)
        result: BoolArray = last > TOTAL_ROUNDING * self.neg
        return result

    @property
    def scores(self) -> np.dtype[Any]:
        """The float dtype of the scores as a dtype of numpy."""
        return np.dtype(np.float32 if self.layout.scores == pl.Float32 else np.float64)

    def round_thresholds(self, thresholds: ArrayLike) -> FloatArray:
        """Return given thresholds, rounded to the float dtype of the scores."""
        return round_thresholds(thresholds, self.scores)

    def shown_thresholds(self, rows: IntArray) -> FloatArray:
        """Return the thresholds of rows as they are displayed."""
        values = pl.Series(self.columns.at(THRESHOLD, rows))
        return shown_numbers(values.cast(self.layout.scores)).to_numpy()

    def take(self, rows: IntArray, names: Iterable[str] | None = None) -> pl.DataFrame:
        """Return rows with their public names, by default all; the row -1 has only nulls."""
        position = pl.Series("", rows).replace(-1, None).cast(pl.get_index_type())
        return self.table.select(
            pl.col(self.layout.private(name)).gather(position).alias(name)
            for name in (self.layout.row if names is None else names)
        )

    def keys_without(self, name: str | None) -> tuple[str, ...]:
        """Return the group columns except for `name`, such as the column of the models or folds."""
        return tuple(key for key in self.layout.by if key != name)

    def name_group(self, group: int) -> str:
        """Return the text for a group in errors: `group fold=1`, or `the curve` without groups."""
        return name_key(self.keys, group, otherwise="the curve")


def shown_numbers(values: pl.Series) -> pl.Series:
    """Return floats as the shortest Float64 numbers that are rounded to them.

    JSON and JavaScript have only Float64 numbers. There, the Float32 number 0.7 is 0.69999999, so a
    slider at 0.7 would not select it.
    """
    return values.cast(pl.String).cast(pl.Float64) if values.dtype == pl.Float32 else values


def name_key(keys: pl.DataFrame, group: int, *, otherwise: str) -> str:
    """Return the text for a group in errors: `group fold=1`, or `otherwise` without groups."""
    return f"group {format_key(keys.columns, keys.row(group))}" if keys.width else otherwise


def read_curves(frame: pl.DataFrame, table: CurveLayout) -> Curves:
    """Return the complete curves of a table, sorted by group and falling threshold."""
    if not table.by and frame.is_empty():
        raise BrokenCurveError.compose(
            "curves: the table has no rows, but a curve without group columns has at least one row",
            "Do not filter its rows. If the curves have group columns, name them in by=. "
            f"{MAKE_CURVES}",
        )
    threshold = frame.get_column(table.private(THRESHOLD))
    if threshold.null_count() or any(
        frame.get_column(table.private(name)).null_count() for name in CONFUSION
    ):
        raise BrokenCurveError.compose(
            "curves: a threshold or a count is null",
            "If the table is a result of at(), drop the rows without an operating point. "
            f"Otherwise, {MAKE_CURVES[0].lower()}{MAKE_CURVES[1:]}",
        )
    keys = frame.select(frame.get_column(name).alias(str(i)) for i, name in enumerate(table.by))
    columns = _read_columns(frame, table)
    starts = find_starts_fast(keys, columns)
    if starts is not None:
        return _build_curves(frame, table, starts, columns)
    ordered = frame
    if not _is_sorted(keys, threshold):
        order = _row_order(frame, table, keys)
        ordered = frame[order]
        keys = keys[order] if keys.width else keys
        columns = _read_columns(ordered, table)
    starts = key_starts(keys, frame.height).to_numpy().astype(np.int64)
    curves = _build_curves(ordered, table, starts, columns)
    _check_complete(curves)
    return curves


def read_prevalence(values: pl.Series) -> float | None:
    """Return the value of the column `prevalence`, the same in all rows; None without rows."""
    if not len(values):
        return None
    low, high = values.min(), values.max()
    if values.null_count() or low != high:
        different = values.unique().sort()
        texts = ", ".join("null" if value is None else f"{value:g}" for value in different[:5])
        raise BrokenCurveError.compose(
            "curves: the column 'prevalence' to the right of 'tn' has several values: "
            f"{texts}{', …' if len(different) > 5 else ''}",
            "A column 'prevalence' between 'tn' and the rates is the value of the option "
            "prevalence= of .roc.curve(…), one number for the whole table. Evaluate tables with "
            "different prevalences separately. If the column is a metric, move it to the right of "
            "the rates.",
        )
    return parse_fraction("prevalence", low, example=0.1)


def _read_columns(frame: pl.DataFrame, table: CurveLayout) -> CurveColumns:
    """Return the thresholds as Float64 and the counts as Float64 or Int64."""
    columns = {THRESHOLD: frame.get_column(table.private(THRESHOLD)).cast(pl.Float64)}
    for name in CONFUSION:
        counts = frame.get_column(table.private(name))
        columns[name] = counts.cast(table.count_dtype(name), strict=False)
        if columns[name].null_count():
            raise BrokenCurveError.compose(
                f"curves: column {name!r} has values outside the range of Int64",
                "Divide all counts by a common factor first. Rates do not change.",
            )
    return CurveColumns(columns)


def _build_curves(
    frame: pl.DataFrame, table: CurveLayout, starts: IntArray, columns: CurveColumns
) -> Curves:
    """Return the curves of a sorted table."""
    has_gaps = np.zeros(len(starts), bool)
    if table.has_given_thresholds:
        error = frame.get_column(table.private("error")).gather(starts)
        has_gaps = (error.cast(pl.Float64).fill_null(0) > 0).to_numpy()
    return Curves(
        has_gaps=has_gaps,
        layout=table,
        table=frame,
        keys=take_rows(select_keys(frame, table.by), starts),
        starts=np.append(starts, frame.height),
        columns=columns,
        prevalence=(
            read_prevalence(frame.get_column(table.private(PREVALENCE)))
            if table.has_prevalence
            else None
        ),
    )


def _row_order(frame: pl.DataFrame, table: CurveLayout, keys: pl.DataFrame) -> pl.Series:
    """Return the order of rows by key, falling threshold and rising counts."""
    names = [table.private(name) for name in CURVE_COLUMNS]
    return (
        frame.select(names)
        .hstack(keys)
        .with_row_index("row")
        .select(
            pl.col("row").sort_by(
                *keys.columns,
                *(column(name) for name in names[:3]),
                descending=[*[False] * keys.width, True, False, False],
            )
        )
        .to_series()
    )


def _is_sorted(keys: pl.DataFrame, threshold: pl.Series) -> bool:
    """Return whether the rows are sorted as in the result of `curve`."""
    starts = key_starts(keys, len(threshold)).to_numpy()
    if not _has_sorted_groups(keys, starts):
        return False
    falling = threshold.to_numpy()
    is_first = np.zeros(len(falling), bool)
    is_first[starts] = True
    return bool(np.all((falling[1:] < falling[:-1]) | is_first[1:]))


def _check_complete(curves: Curves) -> None:
    """Raise an error that names the first group whose rows are not one complete curve."""
    threshold, tp, fp, fn, tn = (curves.columns[name] for name in CURVE_COLUMNS)
    is_first = np.zeros(len(tp), bool)
    is_first[curves.firsts] = True
    lengths = np.diff(curves.starts)

    def check(invalid: BoolArray, problem: str, hint: str) -> None:
        if invalid.any():
            group = int(groups_of_rows(curves.starts, np.argmax(invalid)))
            problem = problem.format(group=curves.name_group(group))
            hint = _common_hull_hint(curves.layout) or hint
            raise BrokenCurveError.compose(f"curves: {problem}", hint)

    no_top = np.zeros(len(tp), bool)
    no_top[curves.firsts] = (threshold[curves.firsts] != np.inf) | (tp[curves.firsts] != 0)
    check(
        no_top,
        "{group} lacks the row above all scores (threshold inf, tp 0)",
        "Curves must be complete: filter predictions or groups, not rows of a curve.",
    )
    repeated = np.zeros(len(tp), bool)
    np.equal(threshold[1:], threshold[:-1], out=repeated[1:])
    repeated &= ~is_first
    # With infinite scores, the first two rows have the threshold inf, which is not an error.
    second = np.minimum(curves.firsts + 1, curves.lasts)
    repeated[second[threshold[second] == np.inf]] = False
    check(repeated, "{group} has two rows with the same threshold", SEPARATE_CURVES)
    for name, total in (("tp + fn", tp + fn), ("fp + tn", fp + tn)):
        first = np.repeat(total[curves.firsts], lengths)
        exact = total.dtype.kind == "i"
        differs = total != first if exact else abs(total - first) > TOTAL_ROUNDING * first
        check(differs, f"{name} is not the same in all rows of {{group}}", SEPARATE_CURVES)
    # In a curve, fp is lowest in the first row, and fn and tn are lowest in the last row.
    for name, rest, rows in (
        ("fp", "tn", curves.firsts),
        ("fn", "tp", curves.lasts),
        ("tn", "fp", curves.lasts),
    ):
        lowest, other = (curves.columns.at(one, rows) for one in (name, rest))
        slack = TOTAL_ROUNDING * abs(lowest + other) if lowest.dtype.kind == "f" else 0
        negative = np.zeros(curves.columns.height, bool)
        negative[rows] = lowest < -slack
        hint = f"Counts are numbers of rows or sums of weights. {MAKE_CURVES}"
        check(negative, f"{name} is below 0 in {{group}}", hint)
    for name, counts in (("tp", tp), ("fp", fp)):
        decreases = np.zeros(len(counts), bool)
        np.less(counts[1:], counts[:-1], out=decreases[1:])
        decreases &= ~is_first
        problem = f"{name} decreases with falling thresholds in {{group}}"
        check(decreases, problem, SEPARATE_CURVES)


def _common_hull_hint(table: CurveLayout) -> str:
    """Return a hint if the table is a result of `hull(across=)`; otherwise an empty text."""
    across = hull_models(table.row)
    if across is None:
        return ""
    return (
        "The table is a common hull: its thresholds and counts are from several curves (see the "
        f"column {across!r}). Compute the area from the columns fpr and tpr, or use "
        "hull() without across=."
    )


def hull_models(columns: Mapping[str, pl.DataType]) -> str | None:
    """Return the column of the models of a table of `hull(across=)`; None for other tables.

    It is right of the other columns of a hull. A column that a user adds there looks the same.
    """
    names = list(columns)
    if not {*HULL_COLUMNS} <= {*names}:
        return None
    right = names[names.index(NOTE) + 1 :][:1]
    return next((name for name in right if not columns[name].is_float()), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointTable:
    """A table of chosen operating points: rows of `at`, `operating_point`, `hull` or `curve`.

    A row belongs to the curves that have its values of the columns `by`, and of the column `models`
    if the table is a common hull of several models; `of_models` checks this. `argument` is its name
    in errors.
    """

    argument: str
    rows: pl.DataFrame
    by: tuple[str, ...]
    models: str | None

    @classmethod
    def parse(cls, argument: str, table: object, hint: str) -> PointTable:
        """Return a table after a check of its type and of its column `threshold`."""
        if not isinstance(table, pl.DataFrame):
            expected = "a DataFrame of operating points"
            raise OptionValueError.unexpected_type(argument, table, expected, hint)
        names = table.columns
        if THRESHOLD not in names:
            raise MissingColumnError.of_table(argument, THRESHOLD, names, hint=hint)
        check_threshold_column(argument, table.schema)
        starts = [
            start for start, value in (POINT_NAMES, RULE_COLUMNS) if {start, value} <= {*names}
        ]
        first = min(names.index(name) for name in (*starts, THRESHOLD))
        by = tuple(names[:first])
        return cls(argument=argument, rows=table, by=by, models=hull_models(table.schema))

    def of_models(self, names: Iterable[str]) -> PointTable:
        """Return the table as a common hull only if its column of models is in `names`."""
        if self.models is None or self.models not in names:
            return replace(self, models=None)
        # The first and the last vertex of a common hull belong to no model.
        return replace(self, rows=self.rows.filter(column(self.models).is_not_null()))

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that state to which curves a row belongs."""
        return self.by if self.models is None else (*self.by, self.models)

    def key_dtypes(self, names: Iterable[str]) -> Schema:
        """Return `keys` and their dtypes for curves with the group columns `names`."""
        return {name: self.rows.schema[name] for name in self.of_models(names).keys}

    def check_single(self, keys: Sequence[str], hint: str = "") -> None:
        """Raise an error unless each value of the columns `keys` has one row."""
        rows = select_keys(self.rows, keys)
        repeated = rows.filter(rows.is_duplicated()) if keys else rows.slice(1)
        if repeated.height:
            key = f" for {format_key(keys, repeated.row(0))}" if keys else ""
            each = f" for each {join_names(keys)}" if keys else ""
            raise OptionValueError(
                f"{self.argument}: the table has several operating points{key}.\n"
                f"Keep one row{each}, for example with .filter(){hint}."
            )


def check_threshold_column(argument: str, schema: Mapping[str, pl.DataType]) -> None:
    """Raise an error if the thresholds in a table are not numbers; `schema` has its dtypes."""
    dtype = schema[THRESHOLD]
    if not dtype.is_numeric() and dtype != pl.Null:
        hint = "Thresholds must be numbers. Cast the column first."
        raise ColumnTypeError.of_table(argument, THRESHOLD, dtype, hint)


def check_gaps(
    curves: Curves,
    consequence: str,
    hint: str = COMPLETE_CURVES,
    *,
    affected: BoolArray | None = None,
) -> None:
    """Raise an error if a curve lacks rows between given thresholds.

    `consequence` states what cannot be computed. `affected` is a mask of the curves for which these
    rows are needed; by default, all.
    """
    lacking = curves.has_gaps if affected is None else curves.has_gaps & affected
    if lacking.any():
        group = curves.name_group(int(np.argmax(lacking)))
        problem = f"curves: {group} lacks the points between its given thresholds, so {consequence}"
        raise BrokenCurveError.compose(problem, hint)


def check_ends(curves: Curves, consequence: str, hint: str, *, gaps: bool = False) -> None:
    """Raise an error if a curve lacks rows with low thresholds, where its last row has tn > 0.

    Curves that lack rows between given thresholds raise an error, too, unless `gaps` is true.
    """
    if not gaps:
        check_gaps(curves, consequence, hint)
    early = curves.ends_early
    if early.any():
        group = curves.name_group(int(np.argmax(early)))
        problem = f"curves: {group} lacks the points of its lowest scores, so {consequence}"
        raise BrokenCurveError.compose(problem, hint)


def score_outside_unit(curves: Curves) -> str | None:
    """Return the problem of curves with scores outside [0, 1]; None if all are in this range."""
    has_score = np.ones(curves.columns.height, bool)
    has_score[curves.firsts] = False  # the first row of a curve has no score
    rows = np.flatnonzero(has_score)

    def group(position: int) -> str:
        row = rows[position]
        return curves.name_group(int(groups_of_rows(curves.starts, row)))

    return outside_unit_problem(
        curves.columns[THRESHOLD][rows], group if curves.keys.width else None
    )


def find_starts_fast(keys: pl.DataFrame, columns: CurveColumns) -> IntArray | None:
    """Return the first row of each curve, or None if sorting or detailed checks are needed.

    A curve starts at each row whose threshold is not lower than that of the previous row. The group
    must change at exactly these rows. Complete, sorted curves of integer counts pass.
    """
    if any(columns.is_float(name) for name in CONFUSION):
        return None
    blocks = columns.blocks(BLOCK_ROWS)
    if not blocks:
        return np.zeros(0, np.int64)
    results = run_parallel(lambda block: _starts_within(keys, columns, *block), blocks)
    results.append(
        _starts_between(keys, columns, np.array([start for start, _ in blocks[1:]], np.int64))
    )
    parts = [part for part in results if part is not None]
    if len(parts) < len(results):
        return None
    starts = np.sort(np.concatenate([[0], *parts]))
    return starts if _has_complete_groups(keys, columns, starts) else None


def _starts_within(
    keys: pl.DataFrame, columns: CurveColumns, start: int, end: int
) -> IntArray | None:
    """Return the rows within a block at which curves start; None if checks are needed."""
    rows = _with_totals([columns.between(name, start, end) for name in CURVE_COLUMNS])
    steps = _starts_of_curves([part[:-1] for part in rows], [part[1:] for part in rows])
    if steps is None:
        return None
    above, here = (keys.slice(a, end - start - 1) for a in (start, start + 1))
    return steps + start + 1 if _keys_change_at(above, here, steps) else None


def _starts_between(keys: pl.DataFrame, columns: CurveColumns, firsts: IntArray) -> IntArray | None:
    """Return the rows in `firsts`, of blocks, at which curves start; None if checks are needed."""
    steps = _starts_of_curves(
        *(
            _with_totals([columns.at(name, rows) for name in CURVE_COLUMNS])
            for rows in (firsts - 1, firsts)
        )
    )
    if steps is None:
        return None
    above, here = (keys[rows] if keys.width else keys for rows in (firsts - 1, firsts))
    return firsts[steps] if _keys_change_at(above, here, steps) else None


def _with_totals(rows: list[Array]) -> list[Array]:
    """Return threshold, tp, fp, tp + fn and fp + tn, from threshold, tp, fp, fn and tn."""
    threshold, tp, fp, fn, tn = rows
    return [threshold, tp, fp, tp + fn, fp + tn]


def _starts_of_curves(before: list[Array], after: list[Array]) -> IntArray | None:
    """Return the pairs of neighboring rows in which the threshold does not fall: starts of curves.

    `before` and `after` have the columns of the first and second rows of all pairs. Return None if
    the two rows of any other pair cannot be in the same curve.
    """
    (above, tp0, fp0, pos0, neg0), (threshold, tp, fp, pos, neg) = before, after
    starts = np.flatnonzero(~(threshold < above))
    for invalid in (tp < tp0, fp < fp0, pos != pos0, neg != neg0):
        invalid[starts] = False
        if invalid.any():
            return None
    return starts


def _keys_change_at(above: pl.DataFrame, here: pl.DataFrame, steps: IntArray) -> bool:
    """Return whether the keys in `above` and `here` differ in the rows `steps` and no others."""
    if not above.width:
        return not len(steps)
    changes = [
        # `!=` is much faster than `ne_missing`, but its result is null if a key is null.
        key.ne_missing(other) if key.null_count() + other.null_count() else key != other
        for key, other in zip(above.get_columns(), here.get_columns(), strict=True)
    ]
    changed = reduce(or_, changes)
    if changed.sum() != len(steps):
        return False
    return not len(steps) or bool(changed.to_numpy()[steps].all())


def _has_complete_groups(keys: pl.DataFrame, columns: CurveColumns, starts: IntArray) -> bool:
    """Return whether groups are sorted, start at the threshold inf, and have no negative counts."""
    lasts = np.append(starts[1:], columns.height) - 1
    top = np.isposinf(columns.at(THRESHOLD, starts)) & (columns.at("tp", starts) == 0)
    least = [columns.at("fp", starts), columns.at("fn", lasts), columns.at("tn", lasts)]
    if not top.all() or any((counts < 0).any() for counts in least):
        return False
    return _has_sorted_groups(keys, starts)


def _has_sorted_groups(keys: pl.DataFrame, starts: IntArray) -> bool:
    """Return whether the keys of the groups, which start at the rows `starts`, rise."""
    if not keys.width:
        return len(starts) == 1
    firsts = keys[starts]
    return firsts.equals(firsts.unique().sort(keys.columns))


SHORT_CHUNK_ROWS = 1 << 14  # if chunks have fewer rows on average, blocks span several chunks
GATHER_COST = 8  # time to read a row of a column with chunks, divided by the time to copy a row


class CurveColumns(Mapping[str, Any]):
    """Columns of equal length without nulls: a mapping from names to arrays.

    A column with several chunks is copied into one array only if this saves time.
    """

    __slots__ = ("_arrays", "_series")

    def __init__(self, columns: Mapping[str, pl.Series]) -> None:
        self._series = dict(columns)
        self._arrays: dict[str, Array] = {}

    @classmethod
    def from_arrays(cls, columns: Mapping[str, Array]) -> CurveColumns:
        """Return columns with the values of arrays."""
        return cls({name: pl.Series(name, values) for name, values in columns.items()})

    def __getitem__(self, name: str) -> Array:
        if name not in self._arrays:
            self._arrays[name] = self._series[name].to_numpy()
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(next(iter(self._series.values())))

    def is_float(self, name: str) -> bool:
        """Return whether a column is Float64 instead of Int64."""
        return self._series[name].dtype.is_float()

    def at(self, name: str, rows: IntArray) -> Array:
        """Return the values of a column in several rows, in the order of `rows`."""
        series = self._series[name]
        is_array = name in self._arrays or series.n_chunks() == 1
        if is_array or GATHER_COST * rows.size >= len(series):
            values: Array = self[name][rows]
            return values
        return series[pl.Series(rows.ravel())].to_numpy().reshape(rows.shape)

    def between(self, name: str, start: int, end: int) -> Array:
        """Return the rows `start` to `end - 1` of a column; rows in one chunk are not copied."""
        return self._series[name].slice(start, end - start).to_numpy()

    def blocks(self, most: int) -> list[tuple[int, int]]:
        """Return blocks of at most `most` rows, each within one chunk if chunks are long."""
        lengths = next(iter(self._series.values())).chunk_lengths()
        if self.height < SHORT_CHUNK_ROWS * len(lengths):
            lengths = [self.height]
        edges = np.append(0, np.cumsum(lengths)).tolist()
        return [
            (start, min(start + most, end))
            for a, end in pairwise(edges)
            for start in range(a, end, most)
        ]


def check_counts(argument: str, value: object, curves: Curves, instead: str) -> None:
    """Raise an error for a number of alerts if counts are shares; `instead` is for its hint."""
    total = curves.pos + curves.neg
    if total.dtype.kind == "f" and len(total) and (abs(total - 1) <= TOTAL_ROUNDING).all():
        problem = "the counts of these curves are shares of all cases, which sum to 1"
        hint = f"Use the proportion of alerts: {instead}."
        raise OptionValueError.compose(argument, value, problem, hint)
