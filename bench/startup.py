"""Benchmarks of the start of the command `rocframe`: CPU seconds of a new process.

`python -m bench.startup` prints the smallest of several runs. The last command ends with an error
when it opens its log, an empty file, so that its time is that of all steps before the log is read.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

COMMAND = "import sys; from rocframe.cli.main import main; sys.exit(main())"
HELP_GOAL, READ_GOAL = 0.5, 1.0  # goals in CPU seconds
# Run in a new process, because `resource` adds up all processes that a process has started.
MEASURE = (
    "import resource, subprocess, sys; "
    "done = subprocess.run(sys.argv[1:], capture_output=True); "
    "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
    "print(used.ru_utime + used.ru_stime, done.returncode)"
)


class Start(NamedTuple):
    """A command line: its arguments, its goal in CPU seconds, and its exit code."""

    arguments: tuple[str, ...]
    goal: float
    code: int = 0

    def seconds(self, folder: Path) -> float:
        """Run the command in a folder, and return its CPU seconds."""
        command = [sys.executable, "-c", COMMAND, *self.arguments]
        result = subprocess.run(
            [sys.executable, "-c", MEASURE, *command],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
        seconds, code = result.stdout.split()
        if int(code) != self.code:
            raise RuntimeError(f"exit code {code}: rocframe {' '.join(self.arguments)}")
        return float(seconds)


STARTS = (
    Start(("--version",), HELP_GOAL),
    Start(("--help",), HELP_GOAL),
    Start(("evaluate", "--help"), HELP_GOAL),
    Start(("evaluate", "--lable", "label"), HELP_GOAL, code=2),
    Start(
        ("evaluate", "empty.parquet", "--label", "label", "--score", "score", "--out", "out"),
        READ_GOAL,
        code=2,
    ),
)


def main(repeat: int = 10) -> None:
    """Print the CPU seconds of all commands."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "empty.parquet").touch()
        for start in STARTS:
            seconds = min(start.seconds(folder) for _ in range(repeat))
            command = " ".join(start.arguments)
            print(f"rocframe {command}: {seconds:.2f} s CPU; goal ≤ {start.goal:g} s", flush=True)


if __name__ == "__main__":
    main()
