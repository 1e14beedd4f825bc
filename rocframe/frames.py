"""Convert between DataFrame and LazyFrame, and add Python functions to lazy queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import polars as pl
import polars.selectors as cs

from rocframe.errors import ColumnTypeError, MissingColumnError, RocframeError
from rocframe.options import check_frame, parse_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

FrameT = TypeVar("FrameT", bound=pl.DataFrame | pl.LazyFrame)


def column(name: str) -> pl.Expr:
    """Return the column with this name; `pl.col` treats the names `^…$` and `*` as patterns."""
    return cs.by_name(name).as_expr()


def lazy_plan(argument: str, frame: pl.DataFrame | pl.LazyFrame) -> pl.LazyFrame:
    """Return a DataFrame or LazyFrame as a LazyFrame; raise an error for other values."""
    check_frame(argument, frame)
    return frame.lazy()


def as_input_frame(source: FrameT, result: pl.LazyFrame) -> FrameT:
    """Return `result` as a LazyFrame if `source` is a LazyFrame, else as a DataFrame."""
    if isinstance(source, pl.LazyFrame):
        return cast("FrameT", result)
    try:
        return cast("FrameT", result.collect())
    except RocframeError as error:
        raise error.with_traceback(None) from None  # without the functions of polars


def collect_frame(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Return a DataFrame or LazyFrame as a DataFrame."""
    return frame.collect() if isinstance(frame, pl.LazyFrame) else frame


BATCH_ROWS = 1 << 20


def collect_batches(plan: pl.LazyFrame, on_rows: Callable[[int], None]) -> pl.DataFrame:
    """Return the rows of a LazyFrame; `on_rows` gets the number of rows after each batch."""
    batches, n_rows = [pl.DataFrame(schema=plan.collect_schema())], 0
    for batch in plan.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
        batches.append(batch)
        n_rows += batch.height
        on_rows(n_rows)
    return pl.concat(batches, rechunk=True)


def collect_unsplit(plan: pl.LazyFrame) -> pl.DataFrame:
    """Return a plan over a DataFrame as a DataFrame, whose selected columns are not copied.

    The streaming engine divides a DataFrame into chunks, which are copied to become arrays.
    """
    return plan.collect(engine="in-memory")


def collect_narwhals(frame: Any) -> pl.DataFrame:
    """Return a LazyFrame of narwhals as a polars DataFrame."""
    collected: pl.DataFrame = frame.collect(backend="polars").to_native()
    return collected


def take_rows(keys: pl.DataFrame, rows: Any) -> pl.DataFrame:
    """Return the rows of `keys` at the positions `rows`; `keys` may have no columns."""
    if not keys.width:
        return pl.DataFrame(height=len(rows))
    return keys.select(pl.all().gather(pl.Series("", rows, pl.get_index_type())))


def key_starts(keys: pl.DataFrame, height: int) -> pl.Series:
    """Return the positions of the first row, and of rows whose keys differ from the row before."""
    if not keys.width:
        return pl.Series([0][:height], dtype=pl.Int64)
    changes = pl.any_horizontal(pl.all().ne_missing(pl.all().shift()))
    is_start = changes | (pl.int_range(pl.len()) == 0)
    return keys.select(is_start.alias("is_start")).to_series().arg_true()


def number_distinct_rows(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the sorted distinct rows, nulls being equal, and the position of each row in them."""
    table = rows.clone()
    table.columns = names = [str(i) for i in range(rows.width)]
    distinct = table.unique().sort(names)
    distinct.columns = rows.columns
    return distinct, find_keys(rows, distinct)


def select_keys(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the columns `names` of a table; without names, a table of equal height."""
    if not names:
        return pl.DataFrame(height=frame.height)
    return frame.select(column(name) for name in names)


def number_keys(table: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return the sorted distinct keys of a table, and the position of the key of each row."""
    keys, number = number_distinct_rows(select_keys(table, by))
    return keys, number.to_numpy()


def find_keys(rows: pl.DataFrame, keys: pl.DataFrame) -> pl.Series:
    """Return, for each row of `rows`, the position of the equal row in `keys`, or null.

    The rows of `keys` are distinct. Nulls are equal to each other.
    """
    if not keys.width:
        position = pl.Series("number", [0 if keys.height else None], pl.Int64)
        return position.new_from_index(0, rows.height)
    rows, keys = rows.clone(), keys.clone()
    rows.columns = keys.columns = names = [str(i) for i in range(keys.width)]
    left_join = _left_join(names, names, keys.dtypes)
    joined = rows.join(keys.with_row_index("number"), **left_join)
    return joined.get_column("number").cast(pl.Int64)


def _left_join(
    left: Sequence[str | pl.Expr], right: Sequence[str], dtypes: Iterable[pl.DataType]
) -> dict[str, Any]:
    """Return the options of `join` on keys of these dtypes; nulls are equal, and so are NaN."""
    # A join on one sorted column does not match NaN, so the tables are joined on two columns.
    same = [pl.lit(0)] if any(dtype.is_float() for dtype in dtypes) else []
    return {
        "left_on": [*left, *same],
        "right_on": [*right, *same],
        "how": "left",
        "nulls_equal": True,
        "maintain_order": "left",
    }


def check_keys(
    argument: str,
    table: Mapping[str, object],
    rows: Mapping[str, object],
    names: Iterable[str],
    noun: str = "predictions",
) -> None:
    """Raise an error unless both tables have the key columns `names`, with equal dtypes.

    `noun` is the name of the `rows` with which the table `argument` is joined.
    """
    for name in names:
        if name not in table:
            problem = f"the {noun} have a column {name!r}, but the table does not"
            raise MissingColumnError.of_table(argument, name, table, problem=problem)
        if name not in rows:
            problem = f"the table has a column {name!r}, but the {noun} do not"
            owner = f"The {noun} have"
            raise MissingColumnError.of_table(argument, name, rows, problem=problem, owner=owner)
        if table[name] != rows[name]:
            hint = f"In the {noun}, it has type {rows[name]}. Cast one of the two columns."
            raise ColumnTypeError.of_table(argument, name, table[name], hint)


def join_keys(
    plan: pl.LazyFrame, schema: pl.Schema, table: pl.DataFrame, by: Sequence[str]
) -> pl.LazyFrame:
    """Return a left join of a plan with a table of distinct keys; nulls are equal, and so are NaN.

    The result may have additional columns of private names.
    """
    names = private_names(map(str, range(len(by))), [*schema, *table.columns])
    keys = table.rename(dict(zip(by, names.values(), strict=True))).lazy()
    dtypes = [schema[name] for name in by]
    return plan.join(keys, **_left_join([*map(column, by)], [*names.values()], dtypes))


def build_table(
    keys: pl.DataFrame,
    columns: Mapping[str, Any],
    schema: Mapping[str, pl.DataType],
    *,
    rows: Any = None,
) -> pl.DataFrame:
    """Return a table with the columns of `keys`, followed by the columns of `schema`.

    Each value of `columns` is an array with one entry per row, or a single value for all rows. NaN
    and missing columns become null. `rows` are positions in `keys`, by default one row for each.
    """
    table = keys if rows is None else take_rows(keys, rows)
    height = table.height
    return table.hstack(
        [build_column(name, columns.get(name), dtype, height) for name, dtype in schema.items()]
    )


def build_column(name: str, values: Any, dtype: pl.DataType, height: int) -> pl.Series:
    """Return the values of a column, or a single value for all rows, as a Series; NaN is null."""
    if values is None or isinstance(values, str | float | int):
        return pl.Series(name, [values], dtype).new_from_index(0, height)
    column = pl.Series(name, values, dtype, nan_to_null=True)
    if dtype.is_float() and isinstance(values, list | pl.Series):  # `nan_to_null` ignores them
        return column.fill_nan(None)
    return column


def fill_nulls(column: pl.Series, value: float) -> pl.Series:
    """Replace null by a value; columns without nulls are not copied."""
    return column.fill_null(value) if column.null_count() else column


def private_names(roles: Iterable[str], by: Sequence[str]) -> dict[str, str]:
    """Return a column name for each role; all names differ, also from those of group columns."""
    names: dict[str, str] = {}
    taken = set(by)
    for role in dict.fromkeys(roles):
        name = f"({role})"
        while name in taken:
            name = f"({name})"
        names[role] = name
        taken.add(name)
    return names


def through_node(
    plan: pl.LazyFrame,
    function: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    schema: dict[str, Any],
    by: Sequence[str],
    anchor: str,
    compared: str | Sequence[str] | None = None,
) -> pl.LazyFrame:
    """Return a query plan that applies `function` to the collected rows of `plan`.

    Filters on the group columns `by` may be applied before it; filters on `compared`, whose values
    within a group affect each other, such as models, are applied to the result.

    `anchor` is a column of the result that is never null. The plan has a filter `anchor is not
    null`, without which polars would apply `head` and `slice` to the rows of `plan`, although
    `slice_pushdown` is False.
    """
    apply = function
    if names := parse_names(compared):
        # polars applies a filter to the rows of `plan` if they have a column of the same name, so
        # the columns get other names before the computation.
        private = private_names(names, plan.collect_schema().names())
        plan = plan.rename(private)

        def apply(frame: pl.DataFrame) -> pl.DataFrame:
            return function(frame.rename({new: name for name, new in private.items()}))

    result = plan.map_batches(
        apply,
        predicate_pushdown=bool(by),
        projection_pushdown=False,
        slice_pushdown=False,
        schema=schema,
        validate_output_schema=True,
    )
    return result.filter(pl.col(anchor).is_not_null())


def deferred_table(compute: Callable[[], pl.DataFrame], plan: pl.LazyFrame) -> pl.LazyFrame:
    """Return a LazyFrame of the columns of `plan`, which calls `compute` when it is collected."""
    return pl.defer(compute, schema=plan.collect_schema())
