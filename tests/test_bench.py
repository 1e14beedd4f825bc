"""Every benchmark runs on a small table without an error."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import polars as pl
import pytest

import rocframe as rf
from bench import calibration, decisions, drawing, pages, scale, startup, uncertainty
from bench.cases import benchmarks

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_every_benchmark_of_this_package_runs():
    names = set()
    for _, cases in benchmarks(5_000, peers=False):
        for case in cases:
            assert case.run() is not None
            names.add(case.name)
    assert {"auc", "curve", "curve, weights", "auc, expression", "average"} <= names
    assert {"volume, by order", "top_label"} <= names
    assert {"one_vs_rest, streamed", "multiclass_auc", "multiclass_metrics"} <= names


@pytest.mark.slow
def test_every_benchmark_of_intervals_and_tests_runs():
    cases = list(uncertainty.benchmarks(0.001))
    assert len(cases) == len({case.name + case.table for case in cases})
    for case in cases:
        assert case.run().height > 0


def test_every_benchmark_of_the_start_of_commands_runs(tmp_path):
    (tmp_path / "empty.parquet").touch()
    assert all(start.seconds(tmp_path) > 0 for start in startup.STARTS)


def test_every_benchmark_of_decisions_runs():
    cases = list(decisions.benchmarks(0.001, peers=False))
    assert len(cases) == len({case.name for case in cases}) == 8
    for case in cases:
        assert case.run().height > 0
        assert case.peer is None or case.peer[1]() is not None


@pytest.mark.slow
def test_every_benchmark_of_calibration_runs():
    for case in calibration.benchmarks(0.0005):
        assert case.run().height > 0


def test_every_benchmark_of_drawing_runs():
    assert [case.run() is not None for case in drawing.benchmarks(100)] == [True] * 3


@pytest.mark.slow
def test_every_benchmark_of_reports_runs(tmp_path):
    pytest.importorskip("vl_convert")
    assert len(pages.benchmarks()) == 3
    assert pages.long_log(900, days=3).select("model", "day").n_unique() == 9
    pages.write_sixty_charts(tmp_path / "few.html", charts=12)
    assert (tmp_path / "few.html").read_text(encoding="utf-8").count('class="plot"') >= 12


@pytest.fixture
def in_one_process(monkeypatch):
    """Run the tasks of the scaling benchmark in this process, which takes less time."""

    def run(code):
        with redirect_stdout(StringIO()) as printed:
            exec(code, {"scale": scale, "Path": Path})
        return printed.getvalue()

    monkeypatch.setattr(scale, "in_new_process", run)


@pytest.mark.usefixtures("in_one_process")
def test_the_scaling_benchmark_measures_each_task_and_saves_the_results(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(scale, "RESULTS", tmp_path / "scale.json")
    arguments = ["--rows", "1e4", "--groups", "1,3", "--folder", str(tmp_path), "--repeat", "1"]
    scale.main([*arguments, "--save"])
    assert "10,000 rows, 3 groups: compress, curves and bounds" in capsys.readouterr().out
    results = json.loads(scale.RESULTS.read_text(encoding="utf-8"))
    assert [(result["groups"], result["task"]) for result in results] == [
        (groups, task) for groups in (1, 3) for task in sorted(scale.TASKS)
    ]
    file = tmp_path / "rows-10000-groups-3-seed-0.parquet"
    written = file.stat().st_mtime_ns
    # A second run uses the file again, and replaces its own results.
    scale.main([*arguments, "--groups", "3", "--tasks", "compress", "--save"])
    assert len(json.loads(scale.RESULTS.read_text(encoding="utf-8"))) == len(results)
    assert file.stat().st_mtime_ns == written
    # The bounds of the compressed rows contain the areas of all rows.
    area = rf.auc(pl.read_parquet(file), "label", "score", by="group")
    table = rf.compress(
        pl.scan_parquet(file), "label", "score", by="group", resolution=scale.RESOLUTION
    )
    rounded = rf.auc(table.collect(), "label", "score", by="group", count="count")
    assert area["auc"].is_between(rounded["auc_pessimistic"], rounded["auc_optimistic"]).all()
    width = (rounded["auc_optimistic"] - rounded["auc_pessimistic"]).max()
    (result,) = (r for r in results if (r["groups"], r["task"]) == (3, "compress"))
    assert result["width"] == pytest.approx(width)
    assert result["counted"] == 10_000


def test_the_scaling_benchmark_writes_fewer_rows_if_the_disk_is_full(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(scale, "RESERVE", scale.shutil.disk_usage(tmp_path).free - 600_000_000)
    assert scale.rows_on_disk(tmp_path, 1_000) == 1_000
    assert scale.rows_on_disk(tmp_path, 10**12) == pytest.approx(10**8, rel=0.5)
    assert "has free space for" in capsys.readouterr().out


def test_other_packages_compute_the_same_areas():
    pytest.importorskip("polars_ds", reason="polars-ds is in the bench group only")
    peers = pytest.importorskip("bench.peers")
    from bench.data import predictions

    frame = predictions(2_000)
    area = rf.auc(frame, "label", "score", ci=None)["auc"].item()
    assert peers.sklearn_auc(frame, 1) == [pytest.approx(area, abs=1e-12)]
    assert peers.polarbearings_auc(frame, 1).item() == pytest.approx(area, abs=1e-12)
    assert peers.polars_ds_auc(frame, 1).item() == pytest.approx(area, abs=1e-12)


@pytest.mark.slow
def test_the_coverage_study_prints_the_same_tables_in_each_run(capsys, monkeypatch):
    from bench import coverage

    # Every method runs, for fewer sizes and distributions.
    for name in (
        "SIZES",
        "AREAS",
        "ROWS",
        "PARTIAL_SIZES",
        "METRIC_SIZES",
        "METRIC_AREAS",
        "H_SIZES",
        "RULE_SIZES",
        "CALIBRATION_SIZES",
        "GUARANTEE_ROWS",
        "RECTANGLES",
        "GATE_CASES",
    ):
        monkeypatch.setattr(coverage, name, getattr(coverage, name)[:1])
    monkeypatch.setattr(coverage, "TIES", coverage.TIES[::3])
    arguments = ["--samples", "4", "--resampled", "4", "--replicates", "6"]
    outputs = []
    for part in ("", "other metrics"):
        coverage.main([*arguments, "--only", part])
        text = capsys.readouterr().out
        outputs.append([line for line in text.splitlines() if not line.endswith(" s)")])
    assert len(outputs[1]) > 5
    assert set(outputs[1]) <= set(outputs[0])
    for name in (*coverage.FORMULAS, *coverage.BOOTSTRAPS):
        assert sum(line.startswith(f"| `{name}` |") for line in outputs[0]) >= len(coverage.SIZES)
    for name in (*coverage.SIMULTANEOUS, *coverage.POINTWISE):
        assert sum(line.startswith(f"| `{name}` |") for line in outputs[0]) >= len(coverage.ROWS)
    for name in coverage.MEAN_INTERVALS:
        assert sum(line.startswith(f"| `{name}` |") for line in outputs[0]) >= 4
    for method in coverage.RULE_METHODS:
        assert sum(f"` | `{method}` | " in line and "youden" in line for line in outputs[0]) == 1
    for name in coverage.METRICS:
        lines = [line for line in outputs[0] if re.match(rf"\| `{name}` \| (`|default)", line)]
        assert len(lines) == len(coverage.METRIC_METHODS) * len(coverage.METRIC_SIZES)
    for name in dict(coverage.CALIBRATION_METHODS):
        assert any(line.startswith(f"| `{name}` | `") for line in outputs[0])
    assert sum(line.startswith("| `bootstrap_supremum` |") for line in outputs[0]) == 1
    for name in (
        *coverage.PARTIAL_METHODS,
        *coverage.GATE_METHODS,
        *coverage.GATE_METRICS,
        "compare",
    ):
        assert any(line.startswith(f"| `{name}` ") for line in outputs[0])
    assert_files_have_the_columns(coverage.printed_tables(outputs[0]))


def assert_files_have_the_columns(tables):
    written = [{*header} for _, header, _ in coverage_tables()]
    for columns, *_ in tables:
        names = {name for name in columns if name != "case" and not name.startswith("fixed=")}
        assert any(names <= header for header in written), columns


def coverage_tables():
    """Return the names, headers and rows of the tables in docs/coverage."""
    tables = []
    for path in sorted((DOCS / "coverage").glob("*.csv")):
        lines = path.read_text(encoding="utf-8").splitlines()
        header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
        tables.append((path.stem, header, rows))
    return tables


def test_the_page_on_coverage_links_to_the_tables_of_all_parts():
    from bench import coverage

    tables = coverage_tables()
    assert all({len(row) for row in rows} == {len(header)} for _, header, rows in tables)
    names = {name for name, _, _ in tables}
    assert {re.sub(r"-\d$", "", name) for name in names} == {n for *_, n in coverage.PARTS.values()}
    page = (DOCS / "coverage.md").read_text(encoding="utf-8")
    assert {*re.findall(r"\(coverage/([\w-]+)\.csv\)", page)} == names


def test_tables_of_the_coverage_study_are_written_below_their_comments(tmp_path, monkeypatch):
    from bench import coverage

    monkeypatch.setattr(coverage, "TABLES", tmp_path)
    (tmp_path / "a.csv").write_text("# how\nold\n")
    part = ["| `ci` | n, m |", "| --- | --- |", "| `t` | 1 (2) |", ""]
    other = ["| x |", "| --- |", "| 1 |"]
    tables = coverage.printed_tables(["20 rows:\n", *part, "Then:\n", *part, *other])
    coverage.write_tables("a", tables)
    assert (tmp_path / "a.csv").read_text() == (
        '# how\ncase,ci,"n, m"\n20 rows,t,1 (2)\nThen,t,1 (2)\n'
    )
    assert (tmp_path / "a-2.csv").read_text() == "x\n1\n"


def test_the_page_on_large_logs_shows_the_saved_measurements():
    spec = importlib.util.spec_from_file_location("scale_page", DOCS / "scale.py")
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    results = page.read_results()
    measured = page.PAGE.read_text(encoding="utf-8").split(page.START)[1].split(page.END)[0]
    assert measured.strip() == page.text(results).strip(), "run python docs/scale.py"
    assert (DOCS / "images" / page.IMAGE).exists()
    assert len(page.chart(results).to_dict()["vconcat"]) == 3


@pytest.mark.parametrize("option", ["--rows", "--groups"])
def test_scale_needs_at_least_one_row_and_one_group(option, capsys):
    with pytest.raises(SystemExit):
        scale.main([option, "10,0"])
    assert f"argument {option}: expected numbers of at least 1, got 10,0" in capsys.readouterr().err
