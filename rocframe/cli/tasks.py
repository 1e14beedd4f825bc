"""Tasks of the command line: evaluate a log, write a report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.errors import AmbiguousCountError, RepeatedNameError, StorageError
from rocframe.io.files import check_target, write_text
from rocframe.io.logs import find, open_logs
from rocframe.io.tables import write
from rocframe.kinds import kind_named
from rocframe.options import NOT_GIVEN, NotGiven
from rocframe.reports.export import vl_convert
from rocframe.reports.page import Report, page
from rocframe.reports.report import Asked
from rocframe.reports.report_tables import keys_of, more_tables, tables
from rocframe.schemas import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.cli.terminal import Progress
    from rocframe.inference.confidence import Method
    from rocframe.inputs.roles import Missing
    from rocframe.io.logs import Logs
    from rocframe.kinds import KindName


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to evaluate, and how: the options of the command, checked by none of us yet."""

    logs: Sequence[str]
    label: str
    scores: Sequence[str]
    by: Sequence[str]
    over: str | NotGiven | None = NOT_GIVEN
    ids: Sequence[str] = ()
    positive: str | None
    weight: str | None
    count: str | NotGiven | None
    missing: Missing
    kinds: Sequence[KindName]
    ci: Method | None
    level: float
    title: str | None
    skip_unreadable: bool
    own: Sequence[Path] = field(default=())

    def __post_init__(self) -> None:
        for option, names in (("by", self.by), ("score", self.scores)):
            for name in names:
                if list(names).count(name) > 1:
                    raise RepeatedNameError.of(option, name, names)
        for name in self.kinds:
            kind_named(name)

    @property
    def needed(self) -> dict[str, str]:
        """The columns that are read, and which option asks for each."""
        asked = [(name, "--by") for name in self.by]
        asked += [(name, "--id") for name in self.ids]
        asked += [(name, "--score") for name in self.scores]
        asked += [(self.weight, "--weight")] if self.weight is not None else []
        asked += [(self.count, "--count")] if isinstance(self.count, str) else []
        return dict([*asked, (self.label, "--label")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The predictions that a task is about, where they come from, and what is asked of them."""

    predictions: pl.DataFrame
    logs: Logs
    asked: Asked
    task: Task

    def about(self, areas: pl.DataFrame) -> dict[str, object]:
        """Say where tables come from."""
        task, positive = self.task, self.asked.positive
        if positive is None:
            positive = True if self.predictions.schema[task.label] == pl.Boolean else 1
        return {
            "label": task.label,
            "score": list(task.scores),
            "positive": positive,
            "weight": task.weight,
            "count": task.count if isinstance(task.count, str) else None,
            "missing": task.missing,
            "rows": self.predictions.height,
            "rows_missing": _missing(task, areas),
            "files": self.logs.files,
            "files_skipped": dict(self.logs.skipped),
        }

    @property
    def shown(self) -> dict[str, object]:
        """Say what else a page tells of it."""
        return {"over": self.asked.averaged, "id": ", ".join(self.task.ids) or None}

    @property
    def title(self) -> str:
        """The title that was given, or the name of the log."""
        if self.task.title is not None:
            return self.task.title
        files = self.logs.files
        what = Path(files[0]).name if len(files) == 1 else f"{len(files):,} files"
        return f"Evaluation of {what}"


def opened(task: Task, progress: Progress) -> Logs:
    """Find the logs, and the columns in them."""
    progress.step("Finding the logs")
    files = find(task.logs, but=list(task.own))
    logs = open_logs(
        files,
        on_error="skip" if task.skip_unreadable else "raise",
        tell=lambda done: progress.count("Opening file", done, len(files)),
    )
    if task.count is NOT_GIVEN and logs.has("count"):
        raise AmbiguousCountError(
            "--count: the log has a column 'count', and a row may stand for that many rows.\n"
            "Say --count count if it does, or --no-count if it does not."
        )
    logs.scan(task.needed)
    return logs


def read(task: Task, logs: Logs, progress: Progress) -> Read:
    """Read the rows of the logs."""
    count = len(logs.files)
    progress.step(f"Reading {count:,} files" if count > 1 else "Reading the log")
    predictions, logs = logs.read(task.needed, skip=task.skip_unreadable)
    given: dict[str, Any] = {
        "label": task.label,
        "score": list(task.scores) if len(task.scores) > 1 else task.scores[0],
        "by": list(task.by) or None,
        "over": task.over,
        "id": list(task.ids) or None,
        "kind": task.kinds,
        "ci": task.ci,
        "level": task.level,
        "positive": matched(task.positive, predictions.schema[task.label]),
        "weight": task.weight,
        "count": None if task.count is NOT_GIVEN else task.count,
        "missing": task.missing,
    }
    return Read(predictions=predictions, logs=logs, asked=Asked(**given), task=task)


def matched(text: str | None, dtype: pl.DataType) -> object:
    """Read the positive class as a value of the labels' type; as it is where it is none."""
    if text is None:
        return None
    if dtype == pl.Boolean:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if dtype.is_numeric():
        for number in (int, float):
            try:
                return number(text)
            except ValueError:
                continue
    return text


def _missing(task: Task, areas: pl.DataFrame) -> int | dict[str, int]:
    """Count the rows with something missing; for each model where models are side by side."""
    if MODEL not in keys_of(areas) or MODEL in task.by:
        return int(areas.get_column("n_missing").sum())
    counts = areas.group_by(MODEL).agg(pl.col("n_missing").sum()).sort(MODEL)
    return dict(zip(counts.get_column(MODEL), counts.get_column("n_missing"), strict=True))


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
