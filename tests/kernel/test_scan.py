"""The tables do not depend on how sorted rows are divided into blocks and threads.

The sizes from which large groups take other paths are set so low that small data take them.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.curves import curve as fixed
from rocframe.kernel import arrays as threads
from rocframe.kernel import groups as codec
from rocframe.kernel import groups as sort
from rocframe.kernel import scan as walk
from rocframe.kernel.arrays import count_workers, run_parallel, split_rows
from tests import oracles
from tests.all_cases import all_cases
from tests.strategies import ANY_WEIGHTS, COUNTS, EXACT_WEIGHTS, SHAPES, examples, tables

# Block, large, small and chunk; all rows in one piece, and cut as finely as can be.
CUTS = {
    "whole": {},
    "finest": {"block": 1, "large": 1, "small": 0, "chunk": 1},
    "by blocks": {"block": 3},
    "large groups sorted in parts": {"large": 4, "small": 0},
    "no matrices": {"small": 0},
    "all at once": {"block": 5, "large": 6, "small": 2, "chunk": 3},
}
every_cut = pytest.mark.parametrize("sizes", CUTS.values(), ids=CUTS)
any_number_of_threads = st.sampled_from([1, 2, 3])


def cut(
    patch: pytest.MonkeyPatch,
    *,
    block: int = walk.BLOCK_ROWS,
    large: int = sort.PARALLEL_SORT_ROWS,
    small: int = sort.MATRIX_SORT_ROWS,
    chunk: int = codec.ENCODED_ROWS,
    threads_used: int | None = None,
) -> None:
    patch.setattr(walk, "BLOCK_ROWS", block)
    patch.setattr(sort, "PARALLEL_SORT_ROWS", large)
    patch.setattr(sort, "MATRIX_SORT_ROWS", small)
    patch.setattr(codec, "ENCODED_ROWS", chunk)
    patch.setattr(fixed, "COUNTED_ROWS", chunk)
    if threads_used is not None:
        for module in (sort, threads):
            patch.setattr(module, "count_workers", lambda: threads_used)


def everything(table: pl.DataFrame, **more: object) -> list[pl.DataFrame]:
    """Return each table that is computed by a scan."""
    options = {"by": "group", "missing": "worst", **more}
    return [
        rf.curve(table, "label", "score", **options),
        rf.curve(table, "label", "score", thresholds=[0.0, 0.5], **options),
        rf.auc(table, "label", "score", **options),
        rf.auc(table, "label", "score", fpr=(0.1, 0.6), **options),
        rf.auc(table, "label", "score", tpr=(0.5, 1.0), **options),
    ]


def assert_same_in_all_cuts(
    table: pl.DataFrame, exact: int, threads_used: int | None = None, **more: object
) -> None:
    """Compare the tables of all cuts with those of uncut rows; the first of them exactly."""
    expected = everything(table, **more)
    with all_cases() as case:
        for name, sizes in CUTS.items():
            with case(name), pytest.MonkeyPatch.context() as patch:
                cut(patch, **sizes, threads_used=threads_used)
                found = everything(table, **more)
                for one, other in zip(found[:exact], expected[:exact], strict=True):
                    assert_frame_equal(one, other, check_exact=True)
                for one, other in zip(found[exact:], expected[exact:], strict=True):
                    # The blocks of an area are sums of floats, added up in another order.
                    assert_frame_equal(one, other, rel_tol=1e-7, abs_tol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exact", "mass"),
    # Quarters add up exactly, in any order.
    [(3, {}), (3, {"count": COUNTS}), (2, {"weight": EXACT_WEIGHTS, "count": COUNTS})],
    ids=["rows", "counts", "weights"],
)
@examples(1 / 4)
@given(data=st.data(), threads_used=any_number_of_threads)
def test_tables_do_not_depend_on_the_size_of_pieces(exact, mass, data, threads_used):
    table = data.draw(tables(missing=True, min_size=6, max_size=40, mass=mass))
    assert_same_in_all_cuts(table, exact, threads_used, **{name: name for name in mass})


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["any float", "any float32", "edges", "uint8"])
@examples(1 / 3)
@given(data=st.data())
def test_counts_in_pieces_equal_the_definition(shape, data):
    table = data.draw(tables(shape=SHAPES[shape], missing=True, min_size=6, max_size=40))
    expected = oracles.curve_table(oracles.by_group(table))
    expected = expected.cast({"threshold": oracles.threshold_dtype(table)})
    with all_cases() as case:
        for name, sizes in CUTS.items():
            with case(name), pytest.MonkeyPatch.context() as patch:
                cut(patch, **sizes)
                curve = rf.curve(table, "label", "score", by="group", missing="worst")
                assert_frame_equal(curve.drop("fpr", "tpr"), expected, check_exact=True)


def mixed_sizes(seed: int = 1) -> pl.DataFrame:
    """Return one huge group, some medium and many tiny ones, with ties and missing values."""
    random = np.random.default_rng(seed)
    sizes = [20_000, *[200] * 20, *random.integers(0, 6, 2_000)]
    group = np.repeat(np.arange(len(sizes)), sizes)
    score = random.normal(size=len(group)).round(2)
    frame = pl.DataFrame(
        {
            "group": group,
            "label": random.random(len(group)) < 1 / (1 + np.exp(-score)),
            "score": score,
            "weight": random.integers(0, 8, len(group)) / 4,
        }
    )
    holes = random.random(len(group)) < 0.02
    frame = frame.with_columns(score=pl.when(pl.Series(~holes)).then("score"))
    return frame.sample(fraction=1, shuffle=True, seed=seed)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_huge_group_does_not_change_the_digits_of_small_groups(weight):
    table = mixed_sizes()
    whole = everything(table, weight=weight)
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, block=1 << 10, large=1 << 12, small=3, chunk=1 << 9, threads_used=3)
        parts = everything(table, weight=weight)
    for one, other in zip(parts[:2], whole[:2], strict=True):
        assert_frame_equal(one, other, check_exact=True)
    assert_frame_equal(parts[2], whole[2], check_exact=weight is None, rel_tol=1e-12)
    for one, other in zip(parts[3:], whole[3:], strict=True):
        assert_frame_equal(one, other, rel_tol=1e-7, abs_tol=1e-9)


@every_cut
def test_tied_rows_share_a_row_for_any_size_of_pieces(sizes):
    table = pl.DataFrame({"label": [True, False] * 50, "score": [0.5] * 100})
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, **sizes)
        assert rf.curve(table, "label", "score").height == 2
        areas = rf.auc(table, "label", "score")
        envelope = areas.select("auc", "auc_pessimistic", "auc_optimistic")
        assert envelope.row(0) == (0.5, 0.0, 1.0)


@every_cut
@pytest.mark.parametrize("state", ["unscored", "absent", "left out"])
def test_a_large_group_without_a_threshold_has_its_first_row(sizes, state):
    table = pl.DataFrame(
        {
            "group": [1] * 50 + [2] * 50,
            "label": [True, False] * 50,
            "score": [None if state != "absent" else 0.5] * 50 + [0.5] * 50,
            "weight": [0.0 if state == "absent" else 1.0] * 50 + [1.0] * 50,
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, **sizes)
        missing = "drop" if state == "left out" else "worst"
        curve = rf.curve(table, "label", "score", by="group", weight="weight", missing=missing)
    lost = 25.0 if state == "unscored" else 0.0
    assert curve.drop("fpr", "tpr").rows() == [
        (1, float("inf"), 0.0, lost, lost, 0.0),
        (2, float("inf"), 0.0, 0.0, 25.0, 25.0),
        (2, 0.5, 25.0, 25.0, 0.0, 0.0),
    ]


@given(table=tables(missing=True, mass={"weight": ANY_WEIGHTS}, min_size=6))
def test_rounded_sums_of_a_group_do_not_depend_on_other_groups(table):
    huge = table.with_columns(group=pl.lit("huge"), weight=pl.col("weight") * 1e17)
    both = rf.curve(
        pl.concat([table, huge]), "label", "score", by="group", weight="weight", missing="worst"
    )
    alone = rf.curve(table, "label", "score", by="group", weight="weight", missing="worst")
    remaining = both.filter(pl.col("group").ne_missing("huge"))
    assert_frame_equal(remaining, alone, check_exact=True)


@given(length=st.integers(0, 50), most=st.integers(1, 60))
def test_slices_contain_each_row_once_and_are_not_too_long(length, most):
    pieces = split_rows(length, most)
    assert [i for piece in pieces for i in range(length)[piece]] == list(range(length))
    assert all(piece.stop - piece.start <= most for piece in pieces)


def test_spread_returns_results_in_order_and_raises_errors():
    assert run_parallel(lambda i: i * i, range(100)) == [i * i for i in range(100)]
    assert run_parallel(lambda i: i, []) == []
    with pytest.raises(ZeroDivisionError):
        run_parallel(lambda i: 1 // i, range(3))
    assert count_workers() >= 1


def test_a_running_plan_uses_the_threads_of_the_polars_pool():
    result = pl.LazyFrame({"a": [1]}).map_batches(
        lambda _: pl.DataFrame({"a": [count_workers.__wrapped__()]})
    )
    assert result.collect().item() == pl.thread_pool_size()
