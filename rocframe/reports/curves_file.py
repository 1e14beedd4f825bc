"""Write the curves of a report to a file, and measure the size of simplified curves."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.curves.simplify import simplify
from rocframe.io.tables import parquet_writer, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rocframe.options import KindName

LARGE_FILE = 50_000_000  # bytes
SUGGESTED_ERROR = 0.001


@dataclass(slots=True, kw_only=True)
class CurvesFile:
    """A Parquet file of curves that is written in parts; with `max_error`, they are simplified.

    If it `compares_sizes`, the simplified curves of a full file are kept until its end, and a large
    file has a `warning` with both sizes.
    """

    path: Path
    about: Mapping[str, Any]
    kind: KindName
    max_error: float | None
    compares_sizes: bool
    write_part: Callable[[pl.DataFrame], None]
    n_points: int = 0
    simplified: list[pl.DataFrame] = field(default_factory=list)

    def write(self, curves: pl.DataFrame) -> None:
        """Write the curves of the next groups."""
        if self.max_error is not None:
            curves = simplify(curves, max_error=self.max_error, kind=self.kind)
        elif self.compares_sizes:
            self.simplified.append(simplify(curves, max_error=SUGGESTED_ERROR, kind=self.kind))
        self.n_points += curves.height
        self.write_part(curves)

    def warning(self) -> str | None:
        """Return a sentence on the size of a large file, and of the file with simplified curves."""
        size = self.path.stat().st_size
        if not self.simplified or size < LARGE_FILE:
            return None
        with TemporaryDirectory() as folder:
            path = Path(folder) / self.path.name
            about = {**self.about, "max_error": SUGGESTED_ERROR}
            write(pl.concat(self.simplified), path, about=about)
            simplified_size = path.stat().st_size
        return (
            f"{self.path.name} has {size / 1e6:,.0f} MB ({self.n_points:,} points). With "
            f"--max-error {SUGGESTED_ERROR:g}, it would have {simplified_size / 1e6:,.1f} MB. "
            "With --store, scores are rounded, so curves have fewer points."
        )


@contextmanager
def curves_file(
    path: Path,
    about: Mapping[str, Any],
    *,
    kind: KindName,
    max_error: float | None,
    compares_sizes: bool,
) -> Iterator[CurvesFile]:
    """Yield a file of curves, which replaces an old file at the end of the `with` block."""
    if max_error is not None:
        about = {**about, "max_error": max_error}
    with parquet_writer(path, about) as write_part:
        yield CurvesFile(
            path=path,
            about=about,
            kind=kind,
            max_error=max_error,
            compares_sizes=compares_sizes,
            write_part=write_part,
        )
