"""The tables that functions accept: polars frames, and tables of other packages through Arrow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ParamSpec, Protocol, TypeVar, overload

import polars as pl

from rocframe.errors import OptionValueError
from rocframe.text import format_list, format_type


class ArrowTable(Protocol):
    """A table whose rows other packages can read: pandas, pyarrow, DuckDB, Ibis and others."""

    def __arrow_c_stream__(self, requested_schema: Any = None, /) -> Any:
        """Return the rows as a stream in the C format of Arrow."""


P = ParamSpec("P")
PolarsT = TypeVar("PolarsT", bound=pl.DataFrame | pl.LazyFrame)


class FrameFunction(Protocol[P]):
    """A function that returns a frame of the type of its first argument.

    For Arrow tables, the function returns a DataFrame.
    """

    @overload
    def __call__(self, table: PolarsT, /, *args: P.args, **kwargs: P.kwargs) -> PolarsT: ...
    @overload
    def __call__(self, table: ArrowTable, /, *args: P.args, **kwargs: P.kwargs) -> pl.DataFrame: ...


FrameT_contra = TypeVar("FrameT_contra", bound=pl.DataFrame | pl.LazyFrame, contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)


class TableFunction(Protocol[FrameT_contra, P, ResultT_co]):
    """A function of a table, whose result has another type, such as a chart."""

    def __call__(  # noqa: D102 - the docstring is that of the function
        self, table: FrameT_contra | ArrowTable, /, *args: P.args, **kwargs: P.kwargs
    ) -> ResultT_co: ...


def is_arrow_table(value: object) -> bool:
    """Return whether a value is a table of another package with the Arrow stream interface."""
    # Single columns have the same interface. A column of structs would be read as a table.
    is_table = hasattr(type(value), "__arrow_c_stream__") and not isinstance(value, pl.DataFrame)
    return is_table and not _is_array(value)


def read_arrow_table(argument: str, table: Any) -> pl.DataFrame:
    """Return the rows of an Arrow table as a DataFrame; `argument` is its name in the errors."""
    if type(table).__module__.split(".")[0] == "pyspark":
        hint = (
            "rocframe does not load the rows of a cluster into memory by itself. To count the rows "
            f"on the cluster, use rf.compress({argument}, label, score, …), and pass the result "
            f'with count="count". To load all rows, use pl.DataFrame({argument}.toArrow()).'
        )
        raise OptionValueError.unexpected_type(argument, table, "a table in memory", hint)
    try:
        return pl.DataFrame(table)
    except (Exception, pl.exceptions.PanicException) as error:
        # Each package raises errors of its own classes, and polars panics for some types.
        # The message of a panic contains the error that caused it.
        text = re.sub(r'.*ErrString\("(.*)"\)+', r"\1", str(error)).split("\n")[0].rstrip(".")
        columns = _unreadable_columns(table)
        where = f" ({format_list(columns)})" if columns else ""
        raise OptionValueError(
            f"{argument}: the {format_type(table)} cannot be read: {text}.\n"
            f"Convert, rename or leave out the columns that polars cannot read{where}."
        ) from error


def _unreadable_columns(table: Any) -> list[str]:
    """Return the columns of a pandas DataFrame that polars cannot read; none for other tables."""
    if format_type(table) != "pandas DataFrame" or not table.columns.is_unique:
        return []
    names = []
    for name in table.columns:
        try:
            pl.DataFrame(table[[name]])
        except (Exception, pl.exceptions.PanicException):  # noqa: BLE001 - as above
            names.append(name)
    return names


def check_frame(argument: str, value: object) -> None:
    """Raise an error for a value other than a frame; the error says how to convert the value."""
    if isinstance(value, pl.DataFrame | pl.LazyFrame):
        return
    is_array = isinstance(value, Sequence) or _is_array(value)
    hint = "Convert the value first, for example with pl.DataFrame(…) or pl.from_pandas(…)."
    if isinstance(value, str | PathLike):
        reader = "csv" if str(value).endswith(".csv") else "parquet"
        hint = f"Read the file first: pl.read_{reader}(path) or pl.scan_{reader}(path)."
    elif isinstance(value, Mapping):
        hint = "Convert the value first: pl.DataFrame(…)."
    elif type(value).__name__ == "LazyFrame":
        hint = "Collect the table first, with its method collect()."
    elif type(value).__name__.endswith("GroupBy"):
        hint = "Pass the table itself, and the group columns as by=."
    elif argument != "predictions" and (is_array or value is None):
        hint = (
            "Pass a table that rocframe returned, such as the result of .roc.curve(label, score)."
        )
    elif value is None:
        hint = "Pass a table, such as the result of pl.read_parquet(path)."
    elif is_array:
        hint = (
            'Make a table of the arrays first: pl.DataFrame({"label": y_true, "score": y_score}). '
            "Then pass the names of its columns."
        )
    expected = "a DataFrame, LazyFrame or Arrow table"
    raise OptionValueError.unexpected_type(argument, value, expected, hint)


def _is_array(value: object) -> bool:
    """Return whether a value is an array, or a single column of polars, pandas or pyarrow."""
    kind = type(value)
    return kind.__module__ == "numpy" or kind.__name__.endswith(("Series", "Array"))
