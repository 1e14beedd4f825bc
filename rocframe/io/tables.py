"""Write and read tables as Parquet and Arrow files with metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.errors import ColumnTypeError, OptionValueError, RepeatedNameError, StorageError
from rocframe.io.files import (
    FILE_FORMATS,
    METADATA_KEY,
    READ_ERRORS,
    FileFormat,
    add_checksum,
    check_target,
    collect_query,
    content_problem,
    error_reason,
    local_path,
    replacement,
    scan_file,
)
from rocframe.io.logs import (
    MANIFEST,
    PART_METADATA,
    PART_NAME,
    damaged_part,
    missing_manifest,
    parquet_files,
    read_current,
    stored_files,
)
from rocframe.kinds import PREVALENCE, has_prevalence
from rocframe.options import check_frame, public
from rocframe.schemas import table_of
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyarrow.parquet import ParquetWriter

METADATA_VERSION = 1
MAX_METADATA_DEPTH = 100  # Python's JSON encoder and decoder fail above about 1,000 levels
MAX_METADATA_SIZE = 1 << 24  # characters of JSON
ROW_GROUP_SIZE = 1 << 18
DECISION_RULE = "score >= threshold"


@public
def write(
    table: pl.DataFrame | pl.LazyFrame,
    path: str | os.PathLike[str],
    *,
    about: Mapping[str, object] | None = None,
) -> None:
    """Write a table to a Parquet or Arrow file.

    If writing fails, an old file is unchanged. The file contains metadata, which `about` returns,
    and a checksum, by which `read`, `scan`, `about` and the commands detect damage. Parquet files
    also have checksums of their pages, which other programs can verify.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        Any table. A LazyFrame is collected before the file is written, so it may read from `path`.
    path : str or Path
        File to write, in an existing folder. The suffix determines the format: `.parquet` or `.pq`
        for Parquet; `.arrow`, `.feather` or `.ipc` for Arrow IPC, which supports fewer dtypes.
    about : mapping of str to JSON value, default None
        Names and values that are added to the metadata.

    Raises
    ------
    StorageError
        If the suffix is unknown, if the folder does not exist, or if the file cannot be written.
    RepeatedNameError
        If `about` contains a name that rocframe uses in the metadata.
    OptionValueError
        If `table` is not a table, or if JSON does not support a value of `about`, which may have
        100 levels of nesting and 16 million characters.
    ColumnTypeError
        If a column has the dtype Object.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl, rocframe as rf
    >>> log = pl.DataFrame({"label": [True, False, True], "score": [0.9, 0.4, 0.4]})
    >>> with TemporaryDirectory() as folder:
    ...     rf.write(rf.curve(log, "label", "score"), Path(folder) / "curve.parquet")
    ...     rf.read(Path(folder) / "curve.parquet").columns
    ['threshold', 'tp', 'fp', 'fn', 'tn', 'fpr', 'tpr']
    """
    check_frame("table", table)
    file_format, metadata = _file_format(path), _check_metadata({} if about is None else about)
    check_target(path)
    frame = collect_query(path, table)
    if file_format == "Parquet":
        with parquet_writer(path, metadata) as write_part:
            write_part(frame)
        return
    _check_storable(path, frame)
    text = json.dumps({**_table_metadata(frame), **metadata})
    with replacement(path) as new:
        _write_ipc(frame, new, text, os.fspath(path))
        add_checksum(new, file_format)


@contextmanager
def parquet_writer(
    path: str | os.PathLike[str], about: Mapping[str, object]
) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Yield a function that writes the next rows of a table; one call is required.

    The file is that of `write` for the whole table. It replaces an old file at the end of the
    `with` block; if the block fails, the old file is unchanged.
    """
    described, pending = list[pl.DataFrame](), list[pl.DataFrame]()
    with replacement(path) as new:
        with ExitStack() as stack:
            writer: ParquetWriter | None = None

            def write_part(frame: pl.DataFrame) -> None:
                nonlocal writer, pending
                _check_storable(path, frame)
                if not described and (writer := _arrow_writer(new, frame)) is not None:
                    stack.enter_context(writer)
                # The metadata depend on the columns, and on the values of one of them.
                names = [PREVALENCE] if has_prevalence(frame.columns) else []
                described.append(frame.unique(names) if names else frame.clear())
                pending.append(frame)
                n_rows = sum(part.height for part in pending)
                if writer is not None and n_rows >= ROW_GROUP_SIZE:
                    rows, n_full = pl.concat(pending), n_rows // ROW_GROUP_SIZE * ROW_GROUP_SIZE
                    write_rows(writer, rows[:n_full])
                    pending = [rows[n_full:].rechunk()] if n_rows > n_full else []

            def write_rows(writer: ParquetWriter, rows: pl.DataFrame) -> None:
                writer.write_table(rows.rechunk().to_arrow(), row_group_size=ROW_GROUP_SIZE)

            yield write_part
            text = json.dumps({**_table_metadata(pl.concat(described)), **about})
            if writer is not None:
                if pending:
                    write_rows(writer, pl.concat(pending))
                writer.add_key_value_metadata({METADATA_KEY: text})
        if writer is None:
            pl.concat(pending).write_parquet(new, metadata={METADATA_KEY: text})
        add_checksum(new, "Parquet")


def _arrow_writer(new: Path, frame: pl.DataFrame) -> ParquetWriter | None:
    """Return a writer of tables like `frame`, with checksums of pages, which polars cannot write.

    For dtypes that pyarrow cannot write, such as 128-bit integers, return None.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    try:
        schema = frame.clear().to_arrow().schema
        return ParquetWriter(new, schema, compression="zstd", write_page_checksum=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _check_storable(path: str | os.PathLike[str], frame: pl.DataFrame) -> None:
    """Raise an error for names and dtypes of columns that files cannot store."""
    for name, dtype in frame.schema.items():
        if "\0" in name:
            problem = f"the name of column {name!r} contains a null character"
            hint = "Files cannot store this character. Rename the column."
            raise StorageError.compose(os.fspath(path), problem, hint)
        if dtype == pl.Object:  # polars would write the addresses of the objects
            hint = "Files cannot store Python objects. Cast the column first, or leave it out."
            raise ColumnTypeError.of_table("table", name, dtype, hint)


@public
def read(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a table from a Parquet or Arrow file.

    Parameters
    ----------
    path : str or Path
        File to read. The suffix determines the format.

    Returns
    -------
    DataFrame
        The table that was written, with the same dtypes and values.

    Raises
    ------
    StorageError
        If the file is missing, empty or damaged, or if its suffix does not match its format.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl, rocframe as rf
    >>> log = pl.DataFrame({"label": [True, False, True], "score": [0.9, 0.4, 0.4]})
    >>> with TemporaryDirectory() as folder:
    ...     rf.write(rf.auc(log, "label", "score"), Path(folder) / "auc.arrow")
    ...     rf.read(Path(folder) / "auc.arrow")["auc"].item()
    0.75
    """
    local, file_format = check_file(path)
    try:
        # The file is opened once, because another process may replace it.
        with local.open("rb") as file:
            return pl.read_parquet(file) if file_format == "Parquet" else pl.read_ipc(file)
    except READ_ERRORS as error:
        raise _unreadable_table(path, error_reason(error)) from error


@public
def scan(path: str | os.PathLike[str]) -> pl.LazyFrame:
    """Scan a table in a Parquet or Arrow file.

    Parameters
    ----------
    path : str or Path
        File or folder to read. The suffix of a file determines its format. Of a folder, all Parquet
        files in it and in its subfolders are read as one table, except those whose names begin with
        "." or "_". Of a store that `rocframe evaluate --store` wrote, the files of its last
        complete update are read.

    Returns
    -------
    LazyFrame
        The table in the file; for a folder, the rows of all files in the order of their names.
        Names of folders such as `day=2026-11-01` do not become columns. Checksums are compared when
        `scan` is called. `collect` raises FileNotFoundError if a later update of a store has
        removed one of the files.

    Raises
    ------
    StorageError
        If a file is missing, empty, damaged or of another format than its suffix, if a folder
        cannot be listed, contains no Parquet file or files with different columns, or if the list
        of the files of a store is missing or damaged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl, rocframe as rf
    >>> log = pl.DataFrame({"label": [True, False, True], "score": [0.9, 0.4, 0.4]})
    >>> with TemporaryDirectory() as folder:
    ...     rf.write(rf.curve(log, "label", "score"), Path(folder) / "curve.parquet")
    ...     rf.scan(Path(folder) / "curve.parquet").select("threshold", "tp").collect_schema()
    Schema([('threshold', Float64), ('tp', Int64)])
    """
    local = local_path(path)
    if local.is_dir():
        return read_current(lambda: parquet_files(local), lambda files: _scan_folder(local, files))
    if not local.suffix and not local.exists():
        raise StorageError.compose(
            os.fspath(path), "the file or folder does not exist", "Check the path."
        )
    local, file_format = check_file(path)
    try:
        lazy = scan_file(local, file_format)
        lazy.collect_schema()
    except READ_ERRORS as error:
        raise _unreadable_table(path, error_reason(error)) from error
    return lazy


def _scan_folder(folder: Path, files: Sequence[Path]) -> pl.LazyFrame:
    """Return the rows of all Parquet files of a folder, which can be a store."""
    if not files:
        problem = "the folder contains no Parquet files"
        raise StorageError.compose(folder, problem, "Check the path.")
    if stored_files(folder) is not None:
        return scan_parts(files)
    for path in files:
        check_file(path)
        if (
            PART_NAME.fullmatch(path.name)
            and PART_METADATA in (read_metadata(path, verify=False) or {})
            and not any((parent / MANIFEST).exists() for parent in path.parents[:2])
        ):
            raise missing_manifest(folder, str(path))
    return _scan_files(files)


def scan_parts(files: Sequence[Path]) -> pl.LazyFrame:
    """Return the rows of parts of a store as one table, after a check of their checksums."""
    for path in files:
        check_part(path)
    return _scan_files(files)


def read_part_schema(path: Path) -> dict[str, pl.DataType]:
    """Return the columns of a part of a store."""
    check_part(path, verify=False)
    return read_file_schema(path)


def check_part(path: Path, *, verify: bool = True) -> None:
    """Raise an error if a part of a store is missing or damaged, as `check_file`."""
    try:
        check_file(path, verify=verify)
    except StorageError as error:
        raise damaged_part(path, error) from error


def _scan_files(files: Sequence[Path]) -> pl.LazyFrame:
    """Return the rows of checked Parquet files with the same columns."""
    schemas = {path: read_file_schema(path) for path in files}
    first, expected = next(iter(schemas.items()))
    for path, schema in schemas.items():
        if schema != expected:
            problem = f"the file has the columns {_schema_text(schema)}, but {str(first)!r} has "
            hint = "Pass a folder in which all Parquet files have the same columns and dtypes."
            raise StorageError.compose(path, problem + _schema_text(expected), hint)
    return pl.scan_parquet(list(files), glob=False, hive_partitioning=False)


def _schema_text(schema: Mapping[str, pl.DataType]) -> str:
    return ", ".join(f"{name} ({dtype})" for name, dtype in schema.items())


def read_file_schema(path: Path) -> dict[str, pl.DataType]:
    """Return the columns of a Parquet file."""
    try:
        return dict(scan_file(path, "Parquet").collect_schema())
    except READ_ERRORS as error:
        raise _unreadable_table(path, error_reason(error)) from error


@public
def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the metadata of a table in a file.

    Parameters
    ----------
    path : str or Path
        File written by `write`. The suffix determines the format.

    Returns
    -------
    dict
        The names and values that were passed to `write`, and the entries below, which are None if
        they do not apply.

        - `table`: the type of table, such as "curve" or "auc"; "table" for an unknown type.
        - `kind`: the kind of curve. `by`: the group columns.
        - `rule`: the decision rule. `ties`: how tied scores are counted.
        - `version`: the version of rocframe. `schema`: the version of the metadata.
        - `prevalence`: the prevalence that was passed to `curve`, also for tables of `at` and
          `operating_point`; None if it differs between rows, and absent if it does not apply.

    Raises
    ------
    StorageError
        If the file cannot be read, or was not written by `write`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl, rocframe as rf
    >>> log = pl.DataFrame({"label": [True, False, True], "score": [0.9, 0.4, 0.4]})
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "curve.parquet"
    ...     rf.write(rf.curve(log, "label", "score"), file, about={"positive": "churned"})
    ...     metadata = rf.about(file)
    >>> tuple(metadata[name] for name in ("table", "kind", "rule", "ties", "positive"))
    ('curve', 'roc', 'score >= threshold', 'a tie is one row', 'churned')
    """
    metadata = read_metadata(path)
    if metadata is None:
        raise StorageError.compose(
            os.fspath(path),
            "the file has no rocframe metadata, because it was not written by rocframe.write",
            "rocframe.read can read the table nevertheless.",
        )
    return metadata


def read_metadata(path: str | os.PathLike[str], *, verify: bool = True) -> dict[str, Any] | None:
    """Return the metadata that `write` stored in a file, or None, after a check of the checksum."""
    local, file_format = check_file(path, verify=verify)
    try:
        if file_format == "Parquet":
            text = pl.read_parquet_metadata(local).get(METADATA_KEY)
        else:
            text = _ipc_metadata(local)
        metadata = None if text is None else json.loads(text)
    except (*READ_ERRORS, ValueError) as error:
        raise _unreadable_table(path, error_reason(error)) from error
    except RecursionError as error:
        raise _unreadable_table(path, "its metadata are nested too deeply") from error
    return metadata if isinstance(metadata, dict) else None


def _table_metadata(table: pl.DataFrame) -> dict[str, Any]:
    """Return the metadata of a table, which depend on its columns."""
    import rocframe as rf

    result = table_of(table.columns)
    metadata = {
        "table": result.name,
        "kind": result.kind,
        "by": list(result.by),
        "rule": DECISION_RULE if result.type.ties else None,
        "ties": result.type.ties,
        "version": rf.__version__,
        "schema": METADATA_VERSION,
    }
    if has_prevalence(table.columns) and table.schema[PREVALENCE].is_float():
        values = table.get_column(PREVALENCE).fill_nan(None).unique()
        metadata[PREVALENCE] = values.item() if len(values) == 1 else None
    return metadata


def _check_metadata(about: object) -> dict[str, object]:
    """Return `about` as a dict; raise an error for reserved names and values outside JSON."""
    if not isinstance(about, Mapping):
        hint = 'Use, for example, about={"what": "fraud"}.'
        raise OptionValueError.compose(
            "about", about, "expected a mapping from names to values", hint
        )
    reserved = {*_table_metadata(pl.DataFrame()), PREVALENCE}
    size = 0
    for name, value in about.items():
        if not isinstance(name, str):
            raise OptionValueError.compose(
                "about",
                name,
                "the names must be strings",
                f"Use, for example, about={{{str(name)!r}: …}}.",
            )
        if name in reserved:
            problem, hint = "rocframe writes this name itself", "Use another name."
            raise RepeatedNameError(f"about={name!r}: {problem}.\n{hint}")
        check_nesting(f"about[{name!r}]", value)
        try:
            size += len(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            problem = f"JSON does not support this value: {error}"
            raise OptionValueError.compose(
                f"about[{name!r}]", value, problem, "Convert the value to a string."
            ) from None
        if size > MAX_METADATA_SIZE:
            problem = f"the metadata have more than {MAX_METADATA_SIZE:,} characters"
            raise OptionValueError(
                f"about[{name!r}]: {problem}.\nWrite the values to a separate file."
            )
    return dict(about)


def check_nesting(argument: str, value: object) -> None:
    """Raise an error if a value of nested dicts and lists is too deep or too large for JSON."""
    level, n_values = [value], 0
    for _ in range(MAX_METADATA_DEPTH):
        children = chain.from_iterable(
            parent.values() if isinstance(parent, dict) else parent
            for parent in level
            if isinstance(parent, dict | list | tuple)
        )
        level = list(islice(children, MAX_METADATA_SIZE // 2))
        n_values += len(level)
        if not level:
            return
        if n_values >= MAX_METADATA_SIZE // 2:  # a value needs two characters or more
            break
    raise OptionValueError(
        f"{argument}: expected at most {MAX_METADATA_DEPTH} levels of nesting and "
        f"{MAX_METADATA_SIZE // 2:,} values.\nConvert the value to a string."
    )


def _write_ipc(frame: pl.DataFrame, new: Path, metadata: str, path: str) -> None:
    # polars cannot write metadata to Arrow files.
    import pyarrow as pa
    from pyarrow import ipc

    try:
        table = frame.to_arrow().unify_dictionaries()
        table = table.replace_schema_metadata({METADATA_KEY: metadata})
        options = ipc.IpcWriteOptions(compression="zstd")
        with ipc.new_file(new, table.schema, options=options) as writer:
            writer.write_table(table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        problem = f"Arrow does not support this table: {error_reason(error)}"
        raise StorageError.compose(path, problem, "Write it as a Parquet file.") from error


def _ipc_metadata(path: Path) -> str | None:
    from pyarrow import OSFile, ipc

    with OSFile(str(path)) as file:
        text = (ipc.open_file(file).schema.metadata or {}).get(METADATA_KEY.encode())
    return None if text is None else text.decode()


def _file_format(path: str | os.PathLike[str]) -> FileFormat:
    suffix = local_path(path).suffix.lower()
    if suffix not in FILE_FORMATS:
        hint = f"Supported: {format_list(FILE_FORMATS)}."
        raise StorageError.compose(os.fspath(path), f"unknown suffix {suffix!r}", hint)
    return FILE_FORMATS[suffix]


def check_table_path(path: str | os.PathLike[str]) -> None:
    """Raise an error if a table cannot be written to this path, because of its suffix or folder."""
    _file_format(path)
    check_target(path)


def check_file(path: str | os.PathLike[str], *, verify: bool = True) -> tuple[Path, FileFormat]:
    """Return the local path and the format of a file that is complete and not damaged."""
    file_format = _file_format(path)
    local = local_path(path)
    try:
        problem = content_problem(local, file_format, verify=verify)
    except OSError as error:
        raise _unreadable_table(path, error_reason(error)) from error
    if problem:
        raise StorageError.compose(
            os.fspath(path), problem, "Check the path, or write the file again."
        )
    return local, file_format


def _unreadable_table(path: str | os.PathLike[str], reason: str) -> StorageError:
    problem = f"the file cannot be read: {reason}"
    return StorageError.compose(os.fspath(path), problem, "Write or download the file again.")
