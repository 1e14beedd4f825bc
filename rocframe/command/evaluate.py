"""Prediction logs → tables of curves and areas, and a page, in a folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rocframe.command.task import opened, read
from rocframe.errors import StorageError
from rocframe.files import check_target, write_text
from rocframe.report.page import Report, page
from rocframe.report.tables import more_tables, tables
from rocframe.storage import write

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from rocframe.command.progress import Progress
    from rocframe.command.task import Task

CURVES, AREAS, PAGE = "curves.parquet", "auc.parquet", "charts.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it: the areas, the files that were written, and what could not be."""

    areas: pl.DataFrame
    written: list[Path]
    skipped: dict[str, str]
    page_lacks: bool


def evaluate(task: Task, out: Path, progress: Progress) -> Outcome:
    """Read the logs, compute the tables, write them and the page."""
    task = replace(task, own=[out / CURVES, out / AREAS])
    logs = opened(task, progress)
    drawn = _outputs(out)
    source = read(task, logs, progress)
    made = tables(source.predictions, source.asked, progress.step)

    progress.step("Writing the tables")
    about = source.about(made.areas)
    write(made.curves, out / CURVES, about=about)
    write(made.areas, out / AREAS, about=about)
    written = [out / CURVES, out / AREAS]
    if drawn:
        progress.step("Drawing the page")
        report = Report(
            title=source.title,
            tables=made,
            more=more_tables(source.predictions, source.asked, made),
            kinds=source.asked.kinds,
            averaged=source.asked.averaged,
            about={**about, **source.shown},
            files=(CURVES, AREAS),
        )
        write_text(out / PAGE, page(report))
        written.append(out / PAGE)
    return Outcome(
        areas=made.areas,
        written=written,
        skipped=dict(source.logs.skipped),
        page_lacks=not drawn,
    )


def _outputs(out: Path) -> bool:
    """Make the folder and see that files can be written there; say whether the page can."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        wrong = f"the folder cannot be made: {error.strerror or error}"
        raise StorageError.of(out, wrong, "Say --out and the name of a folder.") from error
    drawn = find_spec("vl_convert") is not None
    for name in (CURVES, AREAS, *([PAGE] if drawn else [])):
        check_target(out / name)
    return drawn
