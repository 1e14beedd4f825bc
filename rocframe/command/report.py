"""Prediction logs → one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.command.evaluate import Outcome
from rocframe.command.task import opened, read
from rocframe.files import check_target, write_text
from rocframe.report.bundle import vl_convert
from rocframe.report.page import Report, page
from rocframe.report.tables import more_tables, tables

if TYPE_CHECKING:
    from pathlib import Path

    from rocframe.command.progress import Progress
    from rocframe.command.task import Task


def report(task: Task, out: Path, progress: Progress) -> Outcome:
    """Read the logs, compute the tables, and write the page that shows them."""
    vl_convert("rocframe report")
    logs = opened(task, progress)
    check_target(out)
    source = read(task, logs, progress)
    made = tables(source.predictions, source.asked, progress.step)
    progress.step("Drawing the page")
    shown = Report(
        title=source.title,
        tables=made,
        more=more_tables(source.predictions, source.asked, made),
        kinds=source.asked.kinds,
        averaged=source.asked.averaged,
        about={**source.about(made.areas), **source.shown},
    )
    write_text(out, page(shown))
    return Outcome(
        areas=made.areas, written=[out], skipped=dict(source.logs.skipped), page_lacks=False
    )
