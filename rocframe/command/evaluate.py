"""Prediction logs → tables of curves and areas, and a page, in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rocframe.areas.auc import auc
from rocframe.curves.curve import curve
from rocframe.curves.kinds import kind_named
from rocframe.errors import AmbiguousCountError, RepeatedNameError, StorageError
from rocframe.files import check_target, write_text
from rocframe.logs.find import find
from rocframe.logs.log import open_logs
from rocframe.report.page import Report, page
from rocframe.storage import write
from rocframe.vocabulary import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from rocframe.command.progress import Progress
    from rocframe.curves.kinds import KindName
    from rocframe.inference.intervals import Method
    from rocframe.logs.log import Logs
    from rocframe.predictions import Missing

CURVES, AREAS, PAGE = "curves.parquet", "auc.parquet", "charts.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to evaluate, and how: the options of the command, checked by none of us yet."""

    logs: Sequence[str]
    label: str
    scores: Sequence[str]
    by: Sequence[str]
    positive: str | None
    weight: str | None
    count: str | EllipsisType | None
    missing: Missing
    kinds: Sequence[KindName]
    ci: Method | None
    level: float
    out: Path
    title: str | None
    skip_unreadable: bool

    @property
    def needed(self) -> dict[str, str]:
        """The columns that are read, and which option asks for each."""
        asked = [(name, "--by") for name in self.by]
        asked += [(name, "--score") for name in self.scores]
        asked += [(self.weight, "--weight")] if self.weight is not None else []
        asked += [(self.count, "--count")] if isinstance(self.count, str) else []
        return dict([*asked, (self.label, "--label")])

    @property
    def keys(self) -> list[str]:
        """The group columns of the tables."""
        return [*self.by, *([MODEL] if len(self.scores) > 1 else [])]

    @property
    def each_kind(self) -> list[KindName]:
        """The kinds of curve, each once and by its own name."""
        return list(dict.fromkeys(cast("KindName", kind_named(name).name) for name in self.kinds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it: the areas, the files that were written, and what could not be."""

    areas: pl.DataFrame
    written: list[Path]
    skipped: dict[str, str]
    page_lacks: bool


def evaluate(task: Task, progress: Progress) -> Outcome:
    """Read the logs, compute the tables, write them and the page."""
    kinds = task.each_kind
    for option, names in (("by", task.by), ("score", task.scores)):
        for name in names:
            if list(names).count(name) > 1:
                raise RepeatedNameError.of(option, name, names)
    logs = _open(task, progress)
    drawn = _outputs(task.out)
    count = len(logs.files)
    progress.step(f"Reading {count:,} files" if count > 1 else "Reading the log")
    predictions, logs = logs.read(task.needed, skip=task.skip_unreadable)
    positive = matched(task.positive, predictions.schema[task.label])
    given: dict[str, Any] = {
        "label": task.label,
        "score": list(task.scores) if len(task.scores) > 1 else task.scores[0],
        "by": list(task.by) or None,
        "positive": positive,
        "weight": task.weight,
        "count": None if task.count is ... else task.count,
        "missing": task.missing,
    }
    progress.step("Computing the areas")
    areas = auc(predictions, **given, ci=task.ci, level=task.level)
    progress.step("Computing the curves")
    first, *others = map(kind_named, kinds)
    more = [rate for kind in others for rate in kind.rates if rate not in first.rates]
    curves = curve(predictions, **given, kind=kinds[0], metrics=list(dict.fromkeys(more)))

    progress.step("Writing the tables")
    about = _about(task, logs, predictions, positive, areas)
    write(curves, task.out / CURVES, about=about)
    write(areas, task.out / AREAS, about=about)
    written = [task.out / CURVES, task.out / AREAS]
    if drawn:
        progress.step("Drawing the page")
        report = Report(
            title=task.title or _title(logs.files),
            areas=areas,
            curves=curves,
            kinds=kinds,
            about=about,
            tables=(CURVES, AREAS),
        )
        write_text(task.out / PAGE, page(report))
        written.append(task.out / PAGE)
    return Outcome(areas=areas, written=written, skipped=dict(logs.skipped), page_lacks=not drawn)


def matched(text: str | None, dtype: pl.DataType) -> object:
    """Read the positive class as a value of the labels' type; as it is where it is none."""
    if text is None:
        return None
    if dtype == pl.Boolean:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if dtype.is_numeric():
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                continue
    return text


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


def _open(task: Task, progress: Progress) -> Logs:
    """Find the logs, and the columns in them."""
    progress.step("Finding the logs")
    files = find(task.logs, but=[task.out / CURVES, task.out / AREAS])
    logs = open_logs(
        files,
        on_error="skip" if task.skip_unreadable else "raise",
        tell=lambda done: progress.count("Opening file", done, len(files)),
    )
    if task.count is ... and logs.has("count"):
        raise AmbiguousCountError(
            "--count: the log has a column 'count', and a row may stand for that many rows.\n"
            "Say --count count if it does, or --no-count if it does not."
        )
    logs.scan(task.needed)
    return logs


def _about(
    task: Task, logs: Logs, predictions: pl.DataFrame, positive: object, areas: pl.DataFrame
) -> dict[str, object]:
    """Say where the tables come from."""
    if positive is None:
        positive = True if predictions.schema[task.label] == pl.Boolean else 1
    return {
        "label": task.label,
        "score": list(task.scores),
        "positive": positive,
        "weight": task.weight,
        "count": task.count if isinstance(task.count, str) else None,
        "missing": task.missing,
        "rows": predictions.height,
        "rows_missing": _missing(task, areas),
        "files": logs.files,
        "files_skipped": dict(logs.skipped),
    }


def _missing(task: Task, areas: pl.DataFrame) -> int | dict[str, int]:
    """Count the rows with something missing; for each model where models are side by side."""
    if len(task.scores) == 1:
        return int(areas.get_column("n_missing").sum())
    counts = areas.group_by(MODEL).agg(pl.col("n_missing").sum()).sort(MODEL)
    return dict(zip(counts.get_column(MODEL), counts.get_column("n_missing"), strict=True))


def _title(files: Sequence[str]) -> str:
    what = Path(files[0]).name if len(files) == 1 else f"{len(files):,} files"
    return f"Evaluation of {what}"
