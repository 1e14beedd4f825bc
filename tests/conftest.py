"""Options and fixtures that all tests share."""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt

GOLDEN = Path(__file__).parent / "golden"

# With the default thresholds, garbage collection takes a twelfth of the time of all tests.
gc.set_threshold(20_000, 20, 20)

# No test has a deadline: a busy machine is slow at times. Under CI the examples are the same in
# every run. `make laws` selects the second profile with --hypothesis-profile=thorough.
settings.register_profile(
    "rocframe",
    max_examples=10,
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile(
    "thorough", settings.get_profile("rocframe"), max_examples=20, derandomize=True
)
settings.load_profile("rocframe")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="overwrite the stored files with the current results",
    )


def pytest_collection_finish() -> None:
    """Exclude the imported modules and the collected tests from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _no_validation_of_parts() -> None:
    """Do not validate each part of a chart when it is created, which takes half of that time.

    Altair validates the same parts again in `chart.to_dict()`, unless `validate=False` is set.
    """
    if "altair" in sys.modules:  # the selected tests import it
        sys.modules["altair.utils.schemapi"].disable_debug_mode()


@pytest.fixture(params=[pl.DataFrame, pl.LazyFrame], ids=["eager", "lazy"])
def frame(request: pytest.FixtureRequest) -> type[pl.DataFrame | pl.LazyFrame]:
    """Return the class of the frame: `frame(columns)` creates one."""
    return request.param


@pytest.fixture
def assert_golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compare the specification of a chart, without its data, with a stored one."""

    def check(chart: alt.Chart, name: str, *, validate: bool = True) -> None:
        boring = {"$schema", "config", "data", "datasets"}
        spec = chart.to_dict(validate=validate)
        spec = {key: value for key, value in spec.items() if key not in boring}
        path = GOLDEN / f"{name}.json"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(spec, indent=2, sort_keys=True) + "\n")
        assert spec == json.loads(path.read_text()), f"{path.name}: see --update-golden"

    return check
