"""Read predictions that other packages hold, such as DuckDB and Spark, through narwhals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.frames import collect_narwhals
from rocframe.inputs.roles import returns_several_columns
from rocframe.options import parse_names
from rocframe.table_arguments import is_arrow_table, read_arrow_table
from rocframe.text import format_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocframe.inputs.roles import Roles


def read_engine(predictions: Any) -> Any:
    """Return a table of another package as a narwhals frame, and polars frames unchanged.

    Tables that narwhals does not support are converted to a polars DataFrame if they have the Arrow
    stream interface. All other values are returned unchanged.
    """
    if isinstance(predictions, pl.DataFrame | pl.LazyFrame):
        return predictions
    try:
        frame = nw.from_native(predictions, pass_through=True)
        has_names = not is_engine(frame) or all(isinstance(name, str) for name in frame.columns)
    except nw.exceptions.DuplicateError:
        has_names = False
    if not has_names:
        return read_arrow_table("predictions", predictions)
    if is_engine(frame):
        native = frame.to_native()
        return native if isinstance(native, pl.DataFrame | pl.LazyFrame) else frame
    return read_arrow_table("predictions", predictions) if is_arrow_table(predictions) else frame


def is_engine(frame: object) -> bool:
    """Return whether a value is a narwhals frame."""
    return isinstance(frame, nw.DataFrame | nw.LazyFrame)


def engine_schema(frame: Any, roles: Roles) -> pl.Schema:
    """Return the names and the polars dtypes of the columns of a narwhals frame.

    Group columns with fixed categories, such as those of type ENUM in DuckDB, become Categorical,
    as in other functions. Columns of Python objects in pandas have no dtype in narwhals. Those that
    are arguments have the dtype that polars reads.
    """
    by = parse_names(roles.by)
    schema: pl.Schema = frame.collect_schema().to_polars()
    for name in by:
        if isinstance(schema.get(name), pl.Enum):
            schema[name] = pl.Categorical()
    for name in (*by, *_columns([roles.label, roles.score, roles.weight, roles.count])):
        if isinstance(name, str) and has_python_objects(frame, [name]):
            schema[name] = collect_rows(frame.select(name)).schema[name]
    return schema


def has_python_objects(frame: Any, columns: Sequence[str]) -> bool:
    """Return whether one of the columns of a table in memory has no dtype in narwhals."""
    dtypes = frame.collect_schema()
    return isinstance(frame, nw.DataFrame) and any(
        dtypes.get(name) in {nw.Object, nw.Unknown} for name in columns
    )


def check_column_names(roles: Roles, frame: Any) -> None:
    """Raise an error for arguments that are expressions instead of names of columns."""
    for argument in ("label", "score", "weight", "count"):
        for value in _columns(getattr(roles, argument)):
            is_expression = isinstance(value, pl.Expr) and not returns_several_columns(value)
            if is_expression or isinstance(value, nw.Expr):
                package = format_type(frame.to_native())
                problem = f"expected the name of a column, because the table is a {package}"
                hint = f"Compute the column in the {package} first, and pass its name."
                raise OptionValueError.compose(argument, value, problem, hint)


def check_star(names: Mapping[str, str], frame: Any) -> None:
    """Raise an error for a column `*` of a table that is not in memory, such as one of DuckDB.

    `names` maps roles, such as "label" or "by 0", to columns. In a query, `*` stands for all
    columns.
    """
    for role, name in names.items():
        if name == "*" and isinstance(frame, nw.LazyFrame):
            package = format_type(frame.to_native())
            problem = f"in a query of the {package}, this name stands for all columns"
            hint = f"Rename the column in the {package} first."
            raise OptionValueError.compose(role.split()[0], name, problem, hint)


def _columns(value: Any) -> Iterator[Any]:
    """Yield the columns of an argument, which can be a list or a mapping of columns."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        for element in value:
            yield from _columns(element)
    else:
        yield value


def collect_rows(frame: Any) -> pl.DataFrame:
    """Return the rows of a narwhals frame as a polars DataFrame."""
    if isinstance(frame, nw.LazyFrame):
        return collect_narwhals(frame)
    return read_arrow_table("predictions", frame.to_native())
