"""Windows of time: rows by group and window, the reference of each window, and overlaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.errors import (
    AmbiguousCountError,
    ColumnTypeError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
    RocframeError,
    suggest_value,
)
from rocframe.frames import as_input_frame, check_keys, column, lazy_plan, private_names
from rocframe.inputs.cases import plan_bound_table
from rocframe.inputs.roles import SCORE_WIDTH, bind_roles
from rocframe.kernel.groups import is_run_start
from rocframe.options import NOT_GIVEN, is_arrow_table, parse_names, read_arrow_table, to_list
from rocframe.schemas.table_type import WINDOW, WINDOW_COLUMNS, WINDOW_END
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import BoundRoles, Roles
    from rocframe.schemas.table_type import Schema

REFERENCE_TYPES = (str, int, float, Decimal, date, time, timedelta)  # a datetime is a date


def parse_reference(reference: object) -> object:
    """Return the option `reference`, a table as a LazyFrame; raise an error if it is invalid."""
    if is_arrow_table(reference):
        reference = read_arrow_table("reference", reference)
    if isinstance(reference, pl.DataFrame | pl.LazyFrame):
        return reference.lazy()
    if not isinstance(reference, REFERENCE_TYPES):
        expected = '"first", "previous", a value of the column of windows, or a table'
        hint = 'Use, for example, reference="first".'
        raise OptionValueError.unexpected_type("reference", reference, expected, hint)
    return reference


def plan_windows(
    predictions: FrameT,
    roles: Roles,
    over: str,
    compute: Callable[[Cases], pl.DataFrame],
    columns: Callable[[pl.DataType], Schema],
    *,
    anchor: str = "n_pos",
    keep_windows: bool = True,
    reference: pl.LazyFrame | None = None,
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
) -> FrameT:
    """Return a table that is computed from the windows of each group.

    With `reference`, the last key column of the cases is True for its rows. `columns` returns the
    columns of the result for the dtype of `over`, of which `anchor` is never null; with
    `keep_windows`, the windows are added.
    """
    if type(over) is not str:
        problem = "expected the name of one column"
        raise OptionValueError.compose("over", over, problem, 'Use, for example, over="day".')

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        if over not in schema:
            hint = 'The default is over="window", a column that rf.windows adds to a table.'
            raise MissingColumnError.compose(
                "over", over, schema, hint=hint if over == WINDOW else None
            )
        has_ends = over == WINDOW and WINDOW_END in schema
        names = WINDOW_COLUMNS if has_ends else (over,)
        by = parse_names(roles.by)
        for name in names:
            if name in by:
                raise RepeatedNameError.of_group("over", name, by)
        roles_of_windows = replace(roles, by=(*by, *names))
        bound = bind_roles(
            plan, schema, roles_of_windows, [*columns(schema[over])], over=len(names)
        )
        rows, hidden = plan.select(bound.inputs), 0
        if reference is not None:
            rows, bound = _add_reference(rows, bound, reference, schema, roles)
            hidden = 1
        return plan_bound_table(
            rows,
            bound,
            compute,
            columns=columns(schema[over]),
            anchor=anchor,
            finish=finish,
            over=len(names) + hidden,
            keep_over=len(names) if keep_windows else 0,
            compare_over=True,
        )

    plan = lazy_plan("predictions", predictions).pipe_with_schema(resolve)
    return as_input_frame(predictions, plan)


def _add_reference(
    rows: pl.LazyFrame, bound: BoundRoles, reference: pl.LazyFrame, schema: pl.Schema, roles: Roles
) -> tuple[pl.LazyFrame, BoundRoles]:
    """Return the rows of the predictions and of a reference table, and the roles of their columns.

    The last group column `reference` is True for the rows of the reference, which have no windows.
    No other group column has this name, because it is a column of the result.
    """
    reference_schema = reference.collect_schema()
    by = parse_names(roles.by)
    scores = roles.score.values() if isinstance(roles.score, Mapping) else to_list(roles.score)
    labels = [] if roles.label is NOT_GIVEN else [roles.label]
    for source in (*by, *labels, *scores, *roles.optional_columns.values()):
        # Selectors have no root names, and can select other columns of the reference.
        for name in source.meta.root_names() if isinstance(source, pl.Expr) else [source]:
            if isinstance(name, str) and name not in reference_schema:
                hint = "Compress the reference in the same way as the predictions."
                raise MissingColumnError.of_table(
                    "reference",
                    name,
                    reference_schema,
                    problem=f"the predictions have a column {name!r}, but the reference does not",
                    owner="The reference has",
                    hint=hint if source is roles.count else None,
                )
    check_keys("reference", reference_schema, schema, by)
    if roles.count is NOT_GIVEN and "count" in reference_schema:
        hint = 'With count="count", the predictions must have this column too.'
        raise AmbiguousCountError(f"{AmbiguousCountError.compose('reference')}\n{hint}")
    # Selectors of scores must not select columns that the predictions do not have. The widths are
    # needed to find a reference with scores of another resolution.
    names = [name for name in dict.fromkeys((*schema, SCORE_WIDTH)) if name in reference_schema]
    table = reference.select(map(column, names))
    try:
        # The types of the labels are compared below.
        bound_reference = bind_roles(table, reference_schema, replace(roles, positive=None), ())
    except RocframeError as error:
        raise type(error)(f"reference: {error}") from None
    if bound_reference.models != bound.models:
        models = (format_list(each.models or ()) for each in (bound_reference, bound))
        problem = "the reference has the models {}, but the predictions have the models {}"
        hint = "Pass the score columns by name, or select the same columns in both tables."
        raise OptionValueError.compose("score", roles.score, problem.format(*models), hint)
    private = private_names([*bound.private, *bound_reference.private], bound.by)
    exprs = bound_reference.inputs[len(by) :]
    inputs = [
        expr.alias(private[role]) for role, expr in zip(bound_reference.private, exprs, strict=True)
    ]
    parts = {False: rows, True: table.select(*map(column, by), *inputs)}
    both = pl.concat(
        [part.with_columns(pl.lit(value).alias("reference")) for value, part in parts.items()],
        how="diagonal_relaxed",
    )
    for role in {"label", "cluster"} & private.keys():
        _check_types(parts, private[role], bound.names[role])
    return both, replace(
        bound,
        by=(*bound.by, "reference"),
        keys={**bound.keys, "reference": pl.Boolean()},
        private=private,
        names={**bound_reference.names, **bound.names},
        reference_by=by,
    )


def _check_types(parts: Mapping[bool, pl.LazyFrame], private: str, name: str) -> None:
    """Raise an error if values of predictions (False) and reference (True) are never equal."""
    values = [parts[is_reference].select(private) for is_reference in (False, True)]
    of_predictions, of_reference = (each.collect_schema()[private] for each in values)
    # `concat` would convert numbers and times to text, and times to numbers.
    can_be_equal = _kind_of_values(of_predictions) == _kind_of_values(of_reference)
    try:
        pl.concat(values, how="diagonal_relaxed").collect_schema()
    except pl.exceptions.SchemaError:
        can_be_equal = False
    if not can_be_equal:
        hint = f"In the predictions, it has type {of_predictions}. Cast one of the two columns."
        raise ColumnTypeError.of_table("reference", name, of_reference, hint)


def _kind_of_values(dtype: pl.DataType) -> str:
    """Return the kind of values of this type; values of two kinds are never equal."""
    if dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum):
        return "text"
    return "time" if dtype.is_temporal() else "other"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeWindows:
    """The windows of all groups, sorted by group and time.

    `keys` are the group columns of the groups, and `window_keys` those of the windows with the
    windows. If the reference is a table, each of its groups is one row without a window, for which
    `is_reference` is True. Window i overlaps window j of the same group if `start[i] < end[j]` and
    `start[j] < end[i]`.
    """

    keys: pl.DataFrame
    window_keys: pl.DataFrame
    group: NDArray[np.int64]
    window: pl.Series
    is_reference: NDArray[np.bool_]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def from_keys(cls, keys: pl.DataFrame, n_by: int, *, has_reference: bool) -> TimeWindows:
        """Return the windows of sorted key columns of `plan_windows`, with `n_by` group columns."""
        names = keys.columns
        flag = names.pop() if has_reference else None
        windows = keys.select(names)
        if n_by:
            # The windows are sorted by group, and nulls are equal to each other.
            numbers = windows.select(pl.struct(names[:n_by]).rle_id()).to_series()
            group = numbers.to_numpy().astype(np.int64)
        else:
            group = np.zeros(windows.height, np.int64)
        # Without group columns there is one group, even if it has no windows.
        groups = pl.DataFrame(height=1)
        if n_by:
            groups = windows.select(names[:n_by]).filter(pl.Series(is_run_start(group)))
        window = windows.get_column(names[n_by])
        # The position of a window is used as its time if the ends of the windows are unknown.
        start = np.arange(windows.height)
        end = start + 1
        if len(names) > n_by + 1:
            times = [window, windows.get_column(names[n_by + 1])]
            if all(one.dtype.is_temporal() or one.dtype.is_integer() for one in times):
                start, end = (
                    one.to_physical().cast(pl.Int64).fill_null(NO_TIME).to_numpy() for one in times
                )
        return cls(
            keys=groups,
            window_keys=windows,
            group=group,
            window=window,
            is_reference=(
                np.zeros(windows.height, bool) if flag is None else keys.get_column(flag).to_numpy()
            ),
            start=start,
            end=end,
        )

    def overlap(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the windows `a` overlap the windows `b` of the same groups."""
        overlap: NDArray[np.bool_] = (self.start[a] < self.end[b]) & (self.start[b] < self.end[a])
        return overlap

    def references(self, reference: object, is_usable: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the position of the reference of each window; -1 if there is none.

        References of `"first"` and `"previous"` are windows for which `is_usable` is True.
        """
        has_time = self.window.is_not_null().to_numpy()
        usable = np.flatnonzero(has_time & is_usable)
        if isinstance(reference, pl.LazyFrame):
            usable = np.flatnonzero(self.is_reference)
        elif reference == "previous":
            return self._previous(usable)
        elif reference != "first":
            values = self.window.unique(maintain_order=True)
            if len(values) and reference not in values.to_list():
                problem = "this is not a value of the column of windows"
                hint = (
                    f"The windows are: {format_list(values.drop_nulls().to_list(), most=30)}."
                    + suggest_value("reference", reference, ["first", "previous", *values])
                )
                raise OptionValueError.compose("reference", reference, problem, hint)
            usable = np.flatnonzero([value == reference for value in self.window.to_list()])
        result = np.full(self.keys.height, -1)
        groups, first = np.unique(self.group[usable], return_index=True)
        result[groups] = usable[first]
        return result[self.group]

    def _previous(self, usable: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the last window that ends before each window starts; `usable` are candidates."""
        times, numbers = np.unique(np.append(self.start, self.end), return_inverse=True)
        start, end = np.split(numbers, 2)
        usable = usable[np.lexsort((end[usable], self.group[usable]))]
        ends = self.group[usable] * len(times) + end[usable]
        position = np.searchsorted(ends, self.group * len(times) + start, "right") - 1
        result = np.append(usable, -1)[position]
        same_group = (position >= 0) & (self.group[result] == self.group)
        has_time = self.window.is_not_null().to_numpy()
        return np.where(same_group & has_time, result, -1)


def reference_notes(notes: pl.Series, position: NDArray[np.int64], reference: object) -> pl.Series:
    """Return the note of the reference of each window, such as `reference:one_positive`.

    `position` is the position of the reference of each window in `notes`, or -1.
    """
    of_reference = notes.gather(pl.Series(position).replace(-1, None))
    is_previous = isinstance(reference, str) and reference == "previous"
    if not is_previous:  # the first window has no previous window
        has_none = pl.Series(position) < 0
        of_reference = of_reference.zip_with(~has_none, pl.Series(["no_rows"]))
    return "reference:" + of_reference


def size_notes(is_small: NDArray[np.bool_], reference: NDArray[np.int64]) -> pl.Series:
    """Return a note on each window that has too few rows, or whose reference has too few.

    `reference` is the position of the reference of each window, or -1.
    """
    notes = pl.select(pl.when(pl.Series(is_small)).then(pl.lit("below_min_rows"))).to_series()
    of_reference = "reference:" + notes.gather(pl.Series(reference).replace(-1, None))
    return notes.zip_with(notes.is_not_null(), of_reference)


def scatter(values: NDArray[np.float64], rows: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Return an array of length `n` with the values at the positions `rows`, and NaN elsewhere."""
    result = np.full(n, np.nan)
    result[rows] = values
    return result


NO_TIME = np.iinfo(np.int64).min  # start and end of windows without a time
