"""The examples of docs/pipelines.md: the nightly job from end to end, and its callers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from datetime import date, timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from shutil import which
from textwrap import dedent
from types import SimpleNamespace
from typing import NamedTuple
from unittest.mock import MagicMock

import numpy as np
import polars as pl
import pytest

from rocframe.cli import main as cli
from rocframe.cli import tasks

TREE = Path(__file__).resolve().parents[2]
PAGE = TREE / "docs" / "pipelines.md"
REFERENCE = date(2026, 10, 1)
DAYS = [date(2026, 11, 2) + timedelta(days=i) for i in (0, 3, 7, 10, 14, 17)]  # three weeks
ROWS = 1200  # of a log
FILES = ("areas.json", "drift.json", "scores.json", "gate.json")


def example(heading, language):
    """Return the first block of a language in a section of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1]
    return re.search(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1]


JOB = example("Nightly job with cron", "sh")
NEWEST = re.search(r"`(jq .*)`", PAGE.read_text(encoding="utf-8"))[1]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)  # the page takes a second


def write_logs(days, *, web=1.5):
    """Write the reference, and a log for each day.

    `web` is the distance of the classes in the segment web.
    """
    log_of(REFERENCE).write_parquet("reference.parquet")
    for day in days:
        path = Path(f"logs/day={day}/0.parquet")
        path.parent.mkdir(parents=True)
        log_of(day, web).write_parquet(path)
        os.utime(path, (1e9, 1e9))  # the content of a log that has just changed is read again


def log_of(day, web=1.5):
    rng, n = np.random.default_rng(day.toordinal()), ROWS
    segment, label = np.array(["app", "web"] * (n // 2)), np.arange(n) % 4 < 2
    score = rng.normal(size=n) + label * np.where(segment == "web", web, 1.5)
    return pl.DataFrame(
        {"segment": segment, "label": label, "score": score, "new_score": score + label * 0.2}
    )


class Run(NamedTuple):
    code: int
    out: str
    err: str


def run(script, *shell):
    """Run a shell script. The command `rocframe` in it runs in this process, which is faster.

    The shell sends the arguments of a call through a pipe, and reads the exit code from another.
    """
    requests, replies = os.pipe(), os.pipe()
    function = f"""date() {{ echo {DAYS[-1]}; }}
    rocframe() {{
        {{ printf '%s\\037' "$@"; echo; }} > /dev/fd/{requests[1]}
        read -r code < /dev/fd/{replies[0]}
        cat call.out; cat call.err >&2; return "$code"
    }}
    """
    with subprocess.Popen(
        [*(shell or ["sh"]), "-c", function + script],
        pass_fds=(requests[1], replies[0]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(requests[1])
        os.close(replies[0])
        with os.fdopen(requests[0]) as calls, os.fdopen(replies[1], "w") as codes:
            for call in calls:
                with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
                    code = cli.main(call.split("\037")[:-1])
                Path("call.out").write_text(out.getvalue())
                Path("call.err").write_text(err.getvalue())
                print(code, file=codes, flush=True)
        out, err = process.communicate()
    return Run(process.returncode, out, err)


def results():
    return [json.loads(Path(name).read_text(), parse_constant=pytest.fail) for name in FILES]


def contents():
    """Return the content of all files except the logs and the messages."""
    files = {path for path in Path().rglob("*") if path.is_file()} - set(Path().rglob("call.*"))
    files -= {Path("evaluate.log")}
    return {path: path.read_bytes() for path in files if path.parts[0] != "logs"}


@pytest.fixture(scope="module")
def first_night(tmp_path_factory):
    """Return the folder of a job without drift, and what it printed."""
    folder = tmp_path_factory.mktemp("monitoring")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(tasks, "find_spec", lambda _: None)
        write_logs(DAYS)
        return folder, run(JOB)


def test_a_night_without_drift(first_night, monkeypatch):
    folder, job = first_night
    monkeypatch.chdir(folder)
    assert (job.code, job.out) == (0, "The new model can be released.\n")
    areas, drift, scores, gate = results()
    assert [row["segment"] for row in areas] == ["app", "web"]
    assert {row["n_pos"] + row["n_neg"] for row in areas} == {ROWS // 2 * len(DAYS)}
    assert {row["window"] for row in drift} == {str(day) for day in DAYS[::2]}
    assert [(row["day"], row["verdict"]) for row in scores] == [(str(DAYS[-1]), "no_drift")] * 2
    assert {"psi", "ks"} <= set(scores[0])
    assert [row["verdict"] for row in gate] == ["non_inferior"] * 2


def test_a_second_run_reads_no_log_again_and_writes_the_same_bytes(first_night, monkeypatch):
    monkeypatch.chdir(first_night[0])
    before = contents()
    digest = MagicMock()
    monkeypatch.setattr("rocframe.io.store_update.file_digest", digest)
    job = run(JOB)
    assert job.code == 0
    assert f"{len(DAYS)} unchanged" in job.err
    assert not digest.called
    assert contents() == before


def test_a_drift_is_the_exit_code_of_the_job():
    write_logs(DAYS[:-2])
    write_logs(DAYS[-2:], web=0.8)
    job = run(JOB.replace("--score score --score new_score", "--score new_score --score score"))
    assert (job.code, job.out) == (1, "")
    _, drift, _, gate = results()
    changed = [(row["segment"], row["window"]) for row in drift if row["passed"] is False]
    assert changed == [("web", str(DAYS[-2]))]
    assert {row["verdict"] for row in gate} == {"inferior"}
    if which("jq") is not None:
        assert run(NEWEST).code == 1
        drift = [row | {"passed": row["window"] == str(DAYS[-2]) or None} for row in drift]
        Path("drift.json").write_text(json.dumps([drift[0] | {"passed": False}, *drift[1:]]))
        assert run(NEWEST).code == 0


def test_a_week_whose_labels_are_not_known_yet_does_not_count():
    write_logs(DAYS)
    for day in DAYS[-2:]:
        unlabeled = log_of(day).with_columns(label=pl.lit(None, pl.Boolean))
        unlabeled.write_parquet(f"logs/day={day}/0.parquet")
    job = run(JOB)
    assert job.code == 0, job.err
    verdicts = {row["window"]: row["verdict"] for row in results()[1]}
    assert [*verdicts.values()] == ["no_drift", "no_drift", "ignored"]
    assert run(JOB.replace("--min-rows 20", "")).code == 1


def test_scores_that_are_missing_on_the_last_day_fail():
    write_logs(DAYS)
    log = log_of(DAYS[-1]).with_row_index("row")
    score = pl.when(pl.col("row") % 10 == 0).then("score")
    log.with_columns(score).drop("row").write_parquet(f"logs/day={DAYS[-1]}/0.parquet")
    assert run(JOB).code == 1
    _, drift, scores, _ = results()
    assert {row["verdict"] for row in drift} == {"no_drift"}
    assert [row["verdict"] for row in scores] == ["missing_scores"] * 2


def test_a_night_without_a_log_of_yesterday_is_an_error():
    write_logs(DAYS[:-1])
    job = run(JOB)
    assert (job.code, job.out) == (2, "")
    assert f"logs/day={DAYS[-1]}" in job.err


def test_damaged_logs_are_skipped_but_not_by_the_gate():
    write_logs(DAYS)
    damaged = Path(f"logs/day={DAYS[3]}/0.parquet")
    damaged.write_bytes(damaged.read_bytes()[:-9])
    job = run(JOB)
    assert job.code == 2
    assert job.out.startswith(f"rocframe: skipped {damaged}: ")
    assert Path("gate.json").read_text() == ""
    areas = json.loads(Path("areas.json").read_text())
    assert {row["n_pos"] + row["n_neg"] for row in areas} == {ROWS // 2 * (len(DAYS) - 1)}

    before = {path: text for path, text in contents().items() if path.name not in FILES}
    job = run(JOB.replace("--skip-unreadable", ""))
    assert (job.code, job.out) == (2, "")
    assert str(damaged) in job.err
    assert contents() == before | {Path("areas.json"): b""}


@pytest.mark.parametrize(("code", "printed"), [(0, ""), (1, "nightly.sh: exit code 1\n")])
def test_cron_prints_exit_codes(tmp_path, code, printed):
    Path("monitoring").mkdir()
    Path("monitoring/nightly.sh").write_text(f"echo message >&2; exit {code}")
    line = example("Nightly job with cron", "text").splitlines()[1].split(maxsplit=5)[5]
    env = {"HOME": str(tmp_path), "PATH": os.defpath}
    assert subprocess.check_output(["sh", "-c", line], env=env, text=True) == printed
    assert Path("monitoring/nightly.log").read_text() == "message\n"


def run_example(heading, packages, *, code=0):
    """Run an example with replacements of packages, and with a job that has this exit code."""
    Path("monitoring").mkdir(exist_ok=True)
    Path("monitoring/nightly.sh").write_text(f"exit {code}\n")
    namespace = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, package in packages.items():
            patch.setitem(sys.modules, name, package)
        exec(example(heading, "py"), namespace)
    return namespace


def decorator(**_):
    return lambda function: function


class FailError(Exception):
    """The exception after which Airflow does not repeat a task."""


@pytest.mark.parametrize(
    ("code", "error"), [(0, None), (1, FailError), (2, subprocess.CalledProcessError)]
)
def test_airflow_repeats_the_job_after_an_error_but_not_after_a_drift(code, error):
    packages = {
        "airflow.sdk": SimpleNamespace(dag=decorator, task=decorator),
        "airflow.sdk.exceptions": SimpleNamespace(AirflowFailException=FailError),
    }
    with nullcontext() if error is None else pytest.raises(error):
        run_example("Airflow task", packages, code=code)


@pytest.mark.parametrize(("code", "passed"), [(0, True), (1, False), (2, None)])
def test_a_drift_is_a_failed_check_of_the_dagster_asset(code, passed):
    records = ("AssetCheckSpec", "RetryPolicy", "MaterializeResult", "AssetCheckResult")
    dagster = SimpleNamespace(
        asset=decorator, **dict.fromkeys(records, lambda *_, **fields: fields)
    )
    monitoring = run_example("Dagster asset", {"dagster": dagster}, code=code)["monitoring"]
    if passed is None:
        with pytest.raises(subprocess.CalledProcessError):
            monitoring()
    else:
        assert monitoring() == {"check_results": [{"passed": passed}]}


def test_mlflow_duckdb_and_pandas_read_the_results(first_night, monkeypatch):
    monkeypatch.chdir(first_night[0])
    areas, drift, _, gate = results()
    mlflow = MagicMock()
    run_example("MLflow", {"mlflow": mlflow})
    mlflow.log_metrics.assert_called_once_with(
        {f"auc/{row['segment']}": row["auc"] for row in areas}
    )
    logged = [
        call.args[0] for call in (*mlflow.log_artifacts.mock_calls, *mlflow.log_artifact.mock_calls)
    ]
    assert [Path(name).exists() for name in logged] == [True, True]

    tables = run_example("DuckDB and pandas", {})
    assert tables["drift"].columns == [*drift[0]]
    assert tables["areas"]["auc"].to_list() == [row["auc"] for row in areas]
    assert tables["gate"]["verdict"].to_list() == [row["verdict"] for row in gate]


WORKFLOW = example("GitHub workflow", "yaml")


def test_the_workflow_is_yaml():
    steps = pytest.importorskip("yaml").safe_load(WORKFLOW)["jobs"]["gate"]["steps"]
    assert RELEASE_GATE in [step.get("run") for step in steps]


RELEASE_GATE = dedent(WORKFLOW.split("run: |\n")[1].split("      - uses:")[0])


@pytest.mark.skipif(which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(("names", "code"), [(["old", "new"], 0), (["new", "old"], 1)])
def test_the_step_of_the_workflow_fails_if_the_gate_does(names, code):
    rows = log_of(DAYS[0]).with_row_index("id")
    for name, score in zip(names, ("score", "new_score"), strict=True):
        Path(name).mkdir()
        rows.select("id", "segment", "label", score=score).write_parquet(f"{name}/0.parquet")
    assert run(RELEASE_GATE, "bash", "-e").code == code
    assert [row["passed"] for row in json.loads(Path("gate.json").read_text())] == [code == 0] * 2


def test_a_user_without_a_home_folder(monkeypatch):
    """Containers can run with a user id that has no entry and no environment variable HOME."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", MagicMock(side_effect=KeyError))
    monkeypatch.setattr(sys, "argv", ["rocframe", "--version"])
    assert cli.main() == 0
    assert Path.home() == Path("/")


DOCKERFILE = dict(line.split(" ", 1) for line in example("Docker", "dockerfile").splitlines())


def test_the_image_and_its_run_agree():
    project = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = re.search(r"rocframe\[(\w+)\]", DOCKERFILE["RUN"])[1]
    assert extra in project["optional-dependencies"]
    assert int(DOCKERFILE["USER"]) > 0
    assert json.loads(DOCKERFILE["CMD"])[1] == "/" + DOCKERFILE["COPY"].split()[0]
    assert f'-v "$PWD:{DOCKERFILE["WORKDIR"]}"' in example("Docker", "sh")


@pytest.mark.slow  # the job in its own processes, with the page
@pytest.mark.skipif(os.geteuid() == 0 and which("setpriv") is None, reason="root has all rights")
def test_a_user_without_rights_outside_the_folder_of_results(tmp_path):
    """The job of the container runs if the home folder and the logs cannot be changed."""
    results_folder, home, programs = (tmp_path / name for name in ("monitoring", "home", "bin"))
    for folder in (results_folder, home, programs):
        folder.mkdir()
    (tmp_path / "nightly.sh").write_text(JOB)
    rocframe = programs / "rocframe"
    rocframe.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rocframe.cli.main "$@"\n')
    rocframe.chmod(0o755)
    today = programs / "date"
    today.write_text(f"#!/bin/sh\necho {DAYS[-1]}\n")
    today.chmod(0o755)
    os.chdir(results_folder)
    write_logs(DAYS)
    read_only = [path for path in tmp_path.rglob("*") if path.is_dir() and path != results_folder]
    for folder in (tmp_path, *read_only):
        folder.chmod(0o500)

    limit = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    command = json.loads(DOCKERFILE["CMD"].replace("/nightly.sh", str(tmp_path / "nightly.sh")))
    run_limited = partial(
        subprocess.run,
        env={"HOME": home, "PATH": f"{programs}:{os.defpath}", "PYTHONPATH": TREE},
        capture_output=True,
        text=True,
    )
    try:
        assert run_limited([*limit, "mkdir", home / "new"]).returncode == 1
        job = run_limited([*limit, *command])
    finally:
        for folder in (tmp_path, *read_only):
            folder.chmod(0o700)
    assert (job.returncode, job.stdout) == (0, "The new model can be released.\n"), job.stderr
    assert [len(table) for table in results()] == [2, 6, 2, 2]
    assert Path("evaluation/charts.html").exists()
