"""Benchmarks of intervals and tests, with goals and run times of pROC 1.18, in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

import rocframe as rf
from bench.data import predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocframe.bands.band import BandMethodName


class Timed(NamedTuple):
    """A benchmark: name, table, goal and run time of pROC in seconds, and the function to run."""

    name: str
    table: str
    goal: float
    proc: float | None
    run: Callable[[], object]


def benchmarks(scale: float = 1.0) -> Iterator[Timed]:
    """Yield the benchmarks, with the numbers of rows and resamples multiplied by `scale`."""
    yield from _intervals(scale)
    yield from _comparisons(scale)
    yield from _reader_studies(scale)
    yield from _permutations(scale)


def _intervals(scale: float) -> Iterator[Timed]:
    rows, draws = _scaled(100_000, scale), _scaled(2_000, scale)
    sample = predictions(rows)
    yield Timed(
        f"auc, bootstrap × {draws:,}",
        f"{rows:,} rows",
        2.0,
        110.0,
        lambda: rf.auc(sample, "label", "score", ci="bootstrap", n_boot=draws, seed=1),
    )
    methods: tuple[BandMethodName, ...] = ("bootstrap", "fixed_width", "envelope")
    for method in methods:
        yield Timed(
            f"band, {method} × {draws:,}", f"{rows:,} rows", 3.0, None, _band(sample, method, draws)
        )
    rows = _scaled(1_000_000, scale)
    many = predictions(rows)
    yield Timed("auc, DeLong", f"{rows:,} rows", 1.55, 1.55, lambda: rf.auc(many, "label", "score"))


def _band(sample: pl.DataFrame, method: BandMethodName, draws: int) -> Callable[[], object]:
    return lambda: rf.band(sample, "label", "score", method=method, n_boot=draws, seed=1)


def _comparisons(scale: float) -> Iterator[Timed]:
    rows = _scaled(1_000_000, scale)
    two = _models(rows, models=2)
    yield Timed(
        "compare, two models",
        f"{rows:,} rows",
        0.76,
        0.76,
        lambda: rf.compare(two, "label", ["m0", "m1"]),
    )
    groups = _scaled(1_000, scale)
    twenty = _models(groups * 1_000, models=20).with_columns(group=pl.int_range(pl.len()) // 1_000)
    names = [f"m{i}" for i in range(20)]
    yield Timed(
        "compare, all pairs of 20 models",
        f"{groups:,} groups of 1,000 rows",
        5.0,
        None,
        lambda: rf.compare(twenty, "label", names, by="group"),
    )
    ten = _models(rows, models=10)
    yield Timed(
        "compare, recall of the first 500, 10 models",
        f"{rows:,} rows",
        5.0,
        None,
        lambda: rf.compare(
            ten,
            "label",
            names[:10],
            metric="recall",
            alerts=_scaled(500, scale),
            n_boot=_scaled(2_000, scale),
            seed=1,
        ),
    )
    yield Timed(
        "compare, tpr at a threshold, McNemar",
        f"{groups:,} groups of 1,000 rows",
        0.5,
        None,
        lambda: rf.compare(twenty, "label", names[:2], by="group", metric="tpr", threshold=0.5),
    )
    draws, sample = _scaled(2_000, scale), _models(_scaled(100_000, scale), models=2)
    sample = sample.with_columns(((-pl.col("m0", "m1")).exp() + 1) ** -1)
    for metric, point in (("recall", {"alert_rate": 0.05}), ("auc", {}), ("ks", {}), ("ece", {})):
        yield Timed(
            f"compare, {metric}, bootstrap × {draws:,}",
            f"{sample.height:,} rows",
            4.0,
            None,
            _bootstrap(sample, n_boot=draws, metric=metric, **point),
        )
    n_models = _scaled(1_000, scale)
    thousand = _models(_scaled(10_000, scale), models=n_models)
    columns = [f"m{i}" for i in range(n_models)]
    yield Timed(
        f"auc_covariance, {n_models:,} models",
        f"{thousand.height:,} rows",
        10.0,
        None,
        lambda: rf.auc_covariance(thousand, "label", columns),
    )


def _bootstrap(sample: pl.DataFrame, **options: Any) -> Callable[[], object]:
    return lambda: rf.compare(sample, "label", ["m0", "m1"], method="bootstrap", seed=1, **options)


def _reader_studies(scale: float) -> Iterator[Timed]:
    n_cases = _scaled(1_000, scale)
    cases = _models(n_cases, models=10).with_row_index("case")
    readings = cases.unpivot(index=["case", "label"], variable_name="model", value_name="score")
    number = pl.col("model").str.slice(1).cast(pl.Int64)
    readings = readings.with_columns(reader=number // 2, modality=number % 2)
    for covariance, goal in (("delong", 0.3), ("jackknife", 2.0)):
        yield Timed(
            f"reader_study, {covariance}, 5 readers × 2 modalities",
            f"{n_cases:,} cases",
            goal,
            None,
            lambda covariance=covariance: rf.reader_study(
                readings, "label", "score", id="case", covariance=covariance
            ),
        )


def _permutations(scale: float) -> Iterator[Timed]:
    options = {"method": "permutation", "seed": 1}
    groups, draws = _scaled(1_000, scale), _scaled(1_000, scale)
    grouped = predictions(groups * 1_000, groups=groups)
    yield Timed(
        f"auc_test, permutation × {draws:,}",
        f"{groups:,} groups of 1,000 rows",
        10.0,
        None,
        lambda: rf.auc_test(grouped, "label", "score", by="group", n_perm=draws, **options),
    )
    rows, n_perm = _scaled(100_000, scale), _scaled(2_000, scale)
    one = predictions(rows)
    yield Timed(
        f"auc_test, permutation × {n_perm:,}",
        f"{rows:,} rows",
        3.0,
        None,
        lambda: rf.auc_test(one, "label", "score", n_perm=n_perm, **options),
    )


def _scaled(full: int, scale: float) -> int:
    return max(10, round(full * scale))


def _models(rows: int, *, models: int) -> pl.DataFrame:
    """Return labels and one score column per model, with correlated scores."""
    rng = np.random.default_rng(rows + models)
    label = rng.random(rows) < 0.3
    shared = rng.normal(np.where(label, 0.5, -0.5))
    scores = {f"m{i}": shared + 0.5 * rng.normal(size=rows) for i in range(models)}
    return pl.DataFrame({"label": label, **scores})
