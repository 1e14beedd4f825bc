"""Write the curves of a report to a file, and measure how small other options would make it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.curves.simplify import simplify
from rocframe.inputs.roles import power_of_two_below
from rocframe.io.tables import parquet_writer, write
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rocframe.options import KindName

LARGE_FILE = 50_000_000  # bytes
SUGGESTED_ERROR = SUGGESTED_RESOLUTION = 0.001


@dataclass(slots=True, kw_only=True)
class CurvesFile:
    """A Parquet file of curves that is written in parts; with `max_error`, they are simplified.

    If it `compares_sizes`, the smaller curves of other options are kept until the end of the file,
    or until they have more than half of the points, because they would fill the memory. A large
    file has a `warning` with the sizes of those that are kept.
    """

    path: Path
    about: Mapping[str, Any]
    kind: KindName
    max_error: float | None
    compares_sizes: bool
    write_part: Callable[[pl.DataFrame], None]
    n_points: int = 0
    smaller: dict[str, list[pl.DataFrame]] = field(
        default_factory=lambda: {options: [] for options in SMALLER_CURVES}
    )

    def write(self, curves: pl.DataFrame) -> None:
        """Write the curves of the next groups."""
        if self.max_error is not None:
            curves = simplify(curves, max_error=self.max_error, kind=self.kind)
        self.n_points += curves.height
        self.write_part(curves)
        if not self.compares_sizes:
            return
        for options, parts in list(self.smaller.items()):
            parts.append(SMALLER_CURVES[options](curves, self.kind))
            if sum(part.height for part in parts) > self.n_points / 2:
                del self.smaller[options]

    def warning(self) -> str | None:
        """Return the size of a large file, and its sizes with other options of the command."""
        size = self.path.stat().st_size
        if not self.compares_sizes or size < LARGE_FILE:
            return None
        sizes = []
        with TemporaryDirectory() as folder:
            path = Path(folder) / self.path.name
            for options, parts in self.smaller.items():
                write(pl.concat(parts), path, about=self.about)
                sizes.append(f"{path.stat().st_size / 1e6:,.1f} MB with {options}")
        others = f"It would have {' and '.join(sizes)}. " if sizes else ""
        return (
            f"{self.path.name} has {size / 1e6:,.0f} MB ({self.n_points:,} points). {others}"
            "A store needs less memory, because it reads the files of logs one by one."
        )


def _points_within_error(curves: pl.DataFrame, kind: KindName) -> pl.DataFrame:
    return simplify(curves, max_error=SUGGESTED_ERROR, kind=kind)


def _curves_of_rounded_scores(curves: pl.DataFrame, _: KindName) -> pl.DataFrame:
    """Return the last row of each range of scores, with its lower end."""
    # The threshold of the first row of a curve is infinite, so it differs from that of the row
    # above.
    step = power_of_two_below(SUGGESTED_RESOLUTION)
    rounded = curves.with_columns((pl.col(THRESHOLD) / step).floor() * step)
    threshold = pl.col(THRESHOLD)
    return rounded.filter(threshold.ne(threshold.shift(-1)).fill_null(True))


# The curves that the command would write with other options.
SMALLER_CURVES: dict[str, Callable[[pl.DataFrame, KindName], pl.DataFrame]] = {
    f"--max-error {SUGGESTED_ERROR:g}": _points_within_error,
    f"--store FOLDER --resolution {SUGGESTED_RESOLUTION:g}": _curves_of_rounded_scores,
}


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
            compares_sizes=compares_sizes and max_error is None,
            write_part=write_part,
        )
