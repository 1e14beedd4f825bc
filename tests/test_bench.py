"""Every benchmark runs on a small table without an error."""

from __future__ import annotations

import pytest

from bench import calibration, decisions, drawing, pages, uncertainty
from bench.cases import benchmarks


def test_every_benchmark_of_this_package_runs():
    names = set()
    for _, cases in benchmarks(5_000, peers=False):
        for case in cases:
            assert case.run() is not None
            names.add(case.name)
    assert {"auc", "curve", "curve, weights", "auc, expression", "average"} <= names
    assert {"volume, by order", "top_label"} <= names
    assert {"one_vs_rest, streamed", "multiclass_auc", "multiclass_losses"} <= names


def test_every_benchmark_of_intervals_and_tests_runs():
    cases = list(uncertainty.benchmarks(0.005))
    assert len(cases) == len({case.name + case.table for case in cases})
    for case in cases:
        assert case.run().height > 0


def test_every_benchmark_of_decisions_runs():
    cases = list(decisions.benchmarks(0.001, peers=False))
    assert len(cases) == len({case.name for case in cases}) == 8
    for case in cases:
        assert case.run().height > 0
        assert case.peer is None or case.peer[1]() is not None


def test_every_benchmark_of_calibration_runs():
    for case in calibration.benchmarks(0.0005):
        assert case.run().height > 0


def test_every_benchmark_of_drawing_runs():
    assert [case.run() is not None for case in drawing.benchmarks(100)] == [True] * 3


def test_every_benchmark_of_reports_runs(tmp_path):
    pytest.importorskip("vl_convert")
    assert len(pages.benchmarks()) == 3
    assert pages.long_log(900, days=3).select("model", "day").n_unique() == 9
    pages.write_sixty_charts(tmp_path / "few.html", charts=12)
    assert (tmp_path / "few.html").read_text(encoding="utf-8").count('class="plot"') >= 12


def test_other_packages_compute_the_same_areas():
    pytest.importorskip("polars_ds", reason="polars-ds is in the bench group only")
    peers = pytest.importorskip("bench.peers")
    import rocframe as rf
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
        "RULE_SIZES",
        "CALIBRATION_SIZES",
        "GATE_CASES",
    ):
        monkeypatch.setattr(coverage, name, getattr(coverage, name)[:1])
    monkeypatch.setattr(coverage, "TIES", coverage.TIES[::3])
    arguments = ["--samples", "8", "--resampled", "4", "--replicates", "6"]
    outputs = []
    for _ in range(2):
        coverage.main(arguments)
        text = capsys.readouterr().out
        outputs.append([line for line in text.splitlines() if not line.endswith(" s)")])
    assert outputs[0] == outputs[1]
    for name in (*coverage.FORMULAS, *coverage.BOOTSTRAPS):
        assert sum(line.startswith(f"| `{name}` |") for line in outputs[0]) >= len(coverage.SIZES)
    for name in (*coverage.SIMULTANEOUS, *coverage.POINTWISE):
        assert sum(line.startswith(f"| `{name}` |") for line in outputs[0]) >= len(coverage.ROWS)
    for name in coverage.MEAN_INTERVALS:
        assert sum(line.startswith(f"| `{name}` |") for line in outputs[0]) >= 4
    for method in coverage.RULE_METHODS:
        assert sum(f"` | `{method}` | " in line and "youden" in line for line in outputs[0]) == 1
    for name in coverage.METRICS:
        lines = [line for line in outputs[0] if line.startswith(f"| `{name}` |")]
        assert len(lines) == len(coverage.METRIC_METHODS) * len(coverage.METRIC_SIZES)
    for name in dict(coverage.CALIBRATION_METHODS):
        assert any(line.startswith(f"| `{name}` | `") for line in outputs[0])
    assert sum(line.startswith("| `bootstrap_supremum` |") for line in outputs[0]) == 1
    for name in (*coverage.PARTIAL_METHODS, *coverage.GATE_METHODS, "compare"):
        assert any(line.startswith(f"| `{name}` ") for line in outputs[0])
