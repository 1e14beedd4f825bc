"""The notebooks of the documentation run, and their outputs are those of the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rocframe as rf

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs/notebooks"
pytestmark = pytest.mark.notebook


def run(folder: Path, *arguments: str) -> str:
    """Run a Python command in an empty folder, with the commands of this environment."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def outputs(name: str, folder: Path) -> list[dict[str, Any]]:
    """Run a notebook with nbconvert; return the outputs of its cells."""
    options = ("--to", "notebook", "--execute", "--output-dir", str(folder))
    run(folder, "-m", "nbconvert", *options, str(NOTEBOOKS / f"{name}.ipynb"))
    notebook = json.loads((folder / f"{name}.ipynb").read_text(encoding="utf-8"))
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def texts(found: list[dict[str, Any]]) -> str:
    """Return all texts of outputs."""
    parts = [output.get("text", output.get("data", {}).get("text/plain", [])) for output in found]
    return "\n".join("".join(part) for part in parts)


def test_the_analysis_shows_the_areas_and_three_pictures(tmp_path):
    found = outputs("analysis", tmp_path)
    areas = rf.auc(rf.datasets.vote(), "label", "score", by="model")
    assert all(f"{area:.6f}"[:7] in texts(found) for area in areas["auc"])
    assert sum("image/svg+xml" in output.get("data", {}) for output in found) == 3


def test_the_nightly_batch_reads_only_the_new_log_and_finds_the_drift(tmp_path):
    shown = texts(outputs("nightly-batch", tmp_path))
    assert "13 logs" in shown
    assert "14 logs" in shown
    assert "2026-11-11" in shown  # the first day with lower scores
    assert "│ app     ┆ false" in shown


def test_the_report_contains_its_data_and_scripts(tmp_path):
    found = outputs("report", tmp_path)
    fragments = [output["data"]["text/html"] for output in found if "text/html" in output["data"]]
    assert max(len("".join(html)) for html in fragments) > 500_000
    assert "'curves.png', 'dashboard.html', 'report.html', 'votes.html'" in texts(found)


def test_the_marimo_notebook_shows_the_row_of_the_threshold(tmp_path):
    code = (
        "import runpy; app = runpy.run_path(r'%s')['app']; _, names = app.run();"
        "print(names['point'].select('tp', 'fp').row(0), names['best']['threshold'].item())"
    )
    shown = run(tmp_path, "-c", code % (NOTEBOOKS / "dashboard.py"))
    votes = rf.datasets.vote().filter(model="logistic_regression")
    curve = rf.curve(votes, "label", "score")
    point = curve.roc.at(threshold=0.5).select("tp", "fp").row(0)
    best = curve.roc.operating_point("expected_cost", costs={"fp": 1, "fn": 5}, prevalence=0.42)
    assert shown.strip() == f"{point} {best['threshold'].item()}"


def test_notebooks_are_committed_without_outputs():
    for path in NOTEBOOKS.glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
