"""Count the files of the package that one call enters: `python -m bench.entered_files`.

A file is entered if a call runs a function of it. Files that are only imported do not count. A
small number of files means that a reader of the code has to open few files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rocframe as rf

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

PACKAGE = Path(rf.__file__).parent
GOALS = {"auc": 14, "compare": 22, "chart of curves": 20}


def entered_files(call: Callable[[], object]) -> set[str]:
    """Return the files of the package in which a call runs a function."""
    found: set[str] = set()

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            found.add(frame.f_code.co_filename)

    call()  # imports, and caches of polars
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    paths = (Path(name) for name in found)
    return {path.relative_to(PACKAGE).as_posix() for path in paths if PACKAGE in path.parents}


def calls() -> dict[str, Callable[[], object]]:
    """Return the measured calls by name."""
    votes = rf.datasets.vote()
    curves = rf.curve(votes, "label", "score", by=["model", "fold"])
    return {
        "auc": lambda: rf.auc(votes, "label", "score", by="model"),
        "compare": lambda: rf.compare(votes, "label", "score", between="model", id="id"),
        "chart of curves": lambda: rf.chart(curves, detail="fold").to_dict(),
    }


if __name__ == "__main__":
    for name, call in calls().items():
        files = sorted(entered_files(call))
        print(f"{name:16} {len(files):3} files (goal {GOALS[name]}): {', '.join(files)}")
