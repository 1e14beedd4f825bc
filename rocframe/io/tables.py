"""Result tables as Parquet and Arrow files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rocframe.errors import OptionValueError, RepeatedNameError, StorageError
from rocframe.frames import collected
from rocframe.io.files import UNREADABLE, check_target, fault, format_of, reason, replaced
from rocframe.schemas import table_of

KEY = "rocframe"

SCHEMA_VERSION = 1

RULE = "score >= threshold"


def write(
    table: pl.DataFrame | pl.LazyFrame,
    path: str | os.PathLike[str],
    *,
    about: Mapping[str, object] | None = None,
) -> None:
    """Write a table to one Parquet or Arrow file, whole or not at all.

    The file is written beside its place, and then takes it in one step. A failure in between,
    be it a full disk or the end of the process, leaves what was there before. The metadata of
    the file say what the table shows.

    Parameters
    ----------
    table : DataFrame or LazyFrame
        Any table; a LazyFrame is collected first, so it may read the file it replaces.
    path : str or Path
        A file in a folder that is there. Its suffix says the format: `.parquet` or `.pq` for
        Parquet; `.arrow`, `.feather` or `.ipc` for Arrow IPC, which needs the types of Arrow.
    about : mapping of str to JSON value, default None
        What the metadata shall say beside that: names and JSON values.

    Raises
    ------
    StorageError
        If the suffix is unknown, if there is no such folder, or if the file cannot be written.
    RepeatedNameError
        If `about` has a name that rocframe uses itself.
    OptionValueError
        If `about` is no mapping or has a value that JSON cannot hold, or if `table` is no polars
        frame.

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
    if not isinstance(table, pl.DataFrame | pl.LazyFrame):
        raise OptionValueError.of(
            "table", type(table).__name__, "it is no polars frame", "Give one, say pl.DataFrame(…)."
        )
    kind, said = format_of(path), _checked({} if about is None else about)
    check_target(path)
    try:
        frame = collected(table)
    except pl.exceptions.PanicException as error:
        wrong = "the table cannot be computed: a file that it reads changed meanwhile"
        raise StorageError.of(os.fspath(path), wrong, "Scan the file again.") from error
    meta = json.dumps({**shown(frame), **said})
    with replaced(path) as new:
        if kind == "Parquet":
            frame.write_parquet(new, compression="zstd", statistics=True, metadata={KEY: meta})
        else:
            _write_ipc(frame, new, meta, os.fspath(path))


def read(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a table from a Parquet or Arrow file.

    Parameters
    ----------
    path : str or Path
        File to read. The suffix determines the format.

    Returns
    -------
    DataFrame
        The table as it was written: null, infinite thresholds and types included.

    Raises
    ------
    StorageError
        If the file is missing, empty, cut short, or something else.

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
    local, kind = _local(path)
    try:
        # Opened once: what takes the place of the file meanwhile is another file.
        with local.open("rb") as file:
            return pl.read_parquet(file) if kind == "Parquet" else pl.read_ipc(file)
    except UNREADABLE as error:
        raise _unreadable(path, reason(error)) from error


def scan(path: str | os.PathLike[str]) -> pl.LazyFrame:
    """Read a table from a Parquet or Arrow file, as far as it is needed.

    Parameters
    ----------
    path : str or Path
        File to read. The suffix determines the format.

    Returns
    -------
    LazyFrame
        The table as it was written. Collecting reads the columns and groups that are asked for.

    Raises
    ------
    StorageError
        If the file is missing, empty, cut short, or something else.

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
    local, kind = _local(path)
    try:
        if kind == "Parquet":
            lazy = pl.scan_parquet(local, glob=False, hive_partitioning=False)
        else:
            lazy = pl.scan_ipc(local, glob=False, hive_partitioning=False)
        lazy.collect_schema()
    except UNREADABLE as error:
        raise _unreadable(path, reason(error)) from error
    return lazy


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Say what the table in a file shows, and what its writer said.

    Parameters
    ----------
    path : str or Path
        File written by `write`. The suffix determines the format.

    Returns
    -------
    dict
        `table` ("curve", "average", "auc", "partial_auc", "auc_test", "comparison", "contrast",
        "auc_covariance", "band", "plan", "fold_auc", "pooling_gap", "multiclass_auc",
        "volume", "operating_points", "area" or "table");
        `kind` of curve; `by`, the group columns; `rule` for what is called positive; `ties`;
        `version` of rocframe; `schema`, the version of these names; then what the writer said.
        What does not apply is None.

    Raises
    ------
    StorageError
        If the file cannot be read, or if it is not of rocframe's making.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl, rocframe as rf
    >>> log = pl.DataFrame({"label": [True, False, True], "score": [0.9, 0.4, 0.4]})
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "curve.parquet"
    ...     rf.write(rf.curve(log, "label", "score"), file, about={"positive": "churned"})
    ...     found = rf.about(file)
    >>> found["table"], found["kind"], found["rule"], found["ties"], found["positive"]
    ('curve', 'roc', 'score >= threshold', 'a tie is one row', 'churned')
    """
    local, kind = _local(path)
    try:
        text = (
            pl.read_parquet_metadata(local).get(KEY) if kind == "Parquet" else _ipc_metadata(local)
        )
        found = json.loads(text) if text is not None else None
    except (*UNREADABLE, ValueError) as error:
        raise _unreadable(path, reason(error)) from error
    if not isinstance(found, dict):
        raise StorageError.of(
            os.fspath(path),
            "its metadata do not say what it shows; rocframe.write did not make this file",
            "rocframe.read reads it all the same.",
        )
    return found


def shown(table: pl.DataFrame) -> dict[str, Any]:
    """Say what a table shows, as far as its columns tell."""
    import rocframe as rf

    found = table_of(table.columns)
    return {
        "table": found.name,
        "kind": found.kind,
        "by": list(found.by),
        "rule": RULE if found.type.ties else None,
        "ties": found.type.ties,
        "version": rf.__version__,
        "schema": SCHEMA_VERSION,
    }


def _checked(said: object) -> dict[str, object]:
    """Check that the caller's metadata have names of their own and values that JSON can hold."""
    if not isinstance(said, Mapping):
        wrong, todo = "it has no names", 'Give names and values, say {"what": "fraud"}.'
        raise OptionValueError.of("about", said, wrong, todo)
    ours = shown(pl.DataFrame())
    for name, value in said.items():
        if not isinstance(name, str):
            raise OptionValueError.of("about", name, "a name is a string", "Write it as one.")
        if name in ours:
            raise RepeatedNameError.of("about", name, [*ours, *said])
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise OptionValueError.of(
                f"about[{name!r}]", value, f"JSON cannot hold it: {error}", "Say it as a string."
            ) from None
    return dict(said)


def _write_ipc(frame: pl.DataFrame, new: Path, meta: str, path: str) -> None:
    # polars writes Arrow files, but no metadata into them.
    import pyarrow as pa
    from pyarrow import ipc

    try:
        table = frame.to_arrow().unify_dictionaries().replace_schema_metadata({KEY: meta})
        options = ipc.IpcWriteOptions(compression="zstd")
        with ipc.new_file(new, table.schema, options=options) as writer:
            writer.write_table(table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise StorageError.of(
            path, f"Arrow cannot hold this table: {reason(error)}", "Write it as Parquet."
        ) from error


def _ipc_metadata(path: Path) -> str | None:
    from pyarrow import OSFile, ipc

    with OSFile(str(path)) as file:
        found = (ipc.open_file(file).schema.metadata or {}).get(KEY.encode())
    return None if found is None else found.decode()


def _local(path: str | os.PathLike[str]) -> tuple[Path, str]:
    kind = format_of(path)
    local = Path(path).expanduser()
    try:
        wrong = fault(local, kind)
    except OSError as error:
        raise _unreadable(path, error.strerror or reason(error)) from error
    if wrong:
        raise StorageError.of(os.fspath(path), wrong, "Check the path, or write the file again.")
    return local, kind


def _unreadable(path: str | os.PathLike[str], why: str) -> StorageError:
    return StorageError.of(
        os.fspath(path), f"the file cannot be read: {why}", "Write it again, or fetch it again."
    )
