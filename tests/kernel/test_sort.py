"""Sorting codes with numpy and with polars, and the order that sorts them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.kernel import groups as sort
from rocframe.kernel.groups import falling_ranks, sort_groups, sort_order


@pytest.fixture(params=[True, False], ids=["numpy", "polars"], autouse=True)
def fast_numpy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the sort of numpy, or that of polars; divide groups of 3,000 rows among threads."""
    monkeypatch.setattr(sort, "has_fast_numpy_sort", lambda: request.param)
    monkeypatch.setattr(sort, "PARALLEL_SORT_ROWS", 3_000)


ROWS = 20_000
RNG = np.random.default_rng(7)
NORMAL = RNG.normal(size=ROWS)
OUTLIER = NORMAL.view(np.uint64).copy()
OUTLIER[::100] = 2**64 - 1
CODES = {
    "random": RNG.integers(0, 2**63, ROWS).astype(np.uint64),
    "short": RNG.integers(0, 2**32, ROWS).astype(np.uint32),
    "tied": RNG.integers(0, 5, ROWS).astype(np.uint64),
    "all 64 bits": OUTLIER,
    "equal leading bits": np.where(NORMAL > 2, 2**64 - 1, 2**60 + RNG.integers(0, 99, ROWS)).astype(
        np.uint64
    ),
    "signed": falling_ranks(np.where(NORMAL > 2, np.inf, NORMAL)),
    "sorted": np.arange(ROWS, dtype=np.uint64),
    "rotated": np.roll(np.arange(ROWS, dtype=np.uint64), ROWS // 2),
}


@pytest.mark.parametrize("name", CODES)
def test_sorted_codes_and_their_order_are_those_of_a_stable_sort(name: str) -> None:
    for edges in ([], [0, 1, 1, 50, 4_000, 9_000, 9_001], np.arange(0, ROWS, 7)):
        starts = np.array([0, *edges, ROWS])
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        codes = CODES[name].copy()
        expected = np.lexsort((codes, group))
        order, result = sort_order(codes, starts)
        np.testing.assert_array_equal(order, expected)
        np.testing.assert_array_equal(result, codes[expected])
        assert result.dtype == codes.dtype
        sort_groups(codes, starts)
        np.testing.assert_array_equal(codes, result)


@pytest.mark.parametrize("workers", [1, 3])
def test_large_groups_are_sorted_with_any_number_of_threads(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sort, "count_workers", lambda: workers)
    for codes in CODES.values():
        result = codes.copy()
        sort_groups(result, np.array([0, 5_000, ROWS]))
        expected = np.concatenate([np.sort(codes[:5_000]), np.sort(codes[5_000:])])
        np.testing.assert_array_equal(result, expected)


def test_no_codes_have_an_empty_order() -> None:
    order, codes = sort_order(np.zeros(0, np.uint64), np.array([0, 0]))
    assert len(order) == len(codes) == 0


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
def test_queries_with_several_areas_finish(engine: str) -> None:
    predictions = pl.LazyFrame(
        {
            "group": np.arange(ROWS) % 3,
            "label": NORMAL + RNG.normal(size=ROWS) > 0,
            "score": NORMAL,
            "weight": RNG.random(ROWS),
        }
    )
    areas = [
        rf.auc(predictions, "label", "score", by=by, weight=weight, ci=None)
        for by in (None, "group")
        for weight in (None, "weight")
    ]
    nested = [pl.concat([area] * 3) for area in areas]
    joined = [area.join(area.select("auc", other="n_pos"), on="auc") for area in areas]
    results = pl.collect_all([*nested, *joined], engine=engine)  # type: ignore[call-overload]
    for area, repeated in zip(areas, results[: len(areas)], strict=True):
        alone = area.collect()
        assert_frame_equal(repeated, pl.concat([alone] * 3))
