"""Codes preserve the order, ties, label and value of each score."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocframe.inputs.cases import Cases, RowState
from rocframe.kernel import groups as codec_module
from rocframe.kernel.groups import ReservedCode, encode_rows, fit_codec
from tests.strategies import EDGES, INFINITE

HOLES = [0.0, -0.0, math.inf, -math.inf]

floats64 = st.floats(allow_nan=False) | st.sampled_from([*EDGES, *INFINITE])
floats32 = st.floats(allow_nan=False, width=32) | st.sampled_from(
    [*HOLES, 2.0**-149, -(2.0**-149), float(np.float32(3.4e38)), -1.0, 1.0]
)

PATHS = {
    "nothing negative, 64": (np.float64, st.floats(0, allow_nan=False) | st.just(-0.0)),
    "nothing negative, 32": (np.float32, st.floats(0, allow_nan=False, width=32)),
    "both signs, 64": (np.float64, st.floats(-1e9, 1e9, allow_subnormal=False)),
    "both signs, 32": (np.float32, st.floats(-1e9, 1e9, width=32).filter(lambda x: abs(x) > 1e-3)),
    "any, 64": (np.float64, floats64),
    "any, 32": (np.float32, floats32),
    "infinities and zeros": (np.float64, st.sampled_from(HOLES)),
    "infinities and zeros, 32": (np.float32, st.sampled_from(HOLES)),
    "only below": (np.float64, st.floats(max_value=-5e-324, allow_nan=False)),
}

# One chunk, and chunks so short that each sees a part of the range only.
every_chunk = pytest.mark.parametrize("chunk", [1 << 16, 2], ids=["whole", "cut"])
every_path = pytest.mark.parametrize(("dtype", "scores"), PATHS.values(), ids=PATHS)


def cases(scores: np.ndarray, negative: np.ndarray, state: np.ndarray | None = None) -> Cases:
    return Cases(
        model=None,
        keys=pl.DataFrame(height=len(scores)),
        negative=negative,
        score=scores,
        state=state,
        count=None,
        weight=None,
    )


@pytest.mark.slow
@every_path
@every_chunk
@given(data=st.data())
def test_codes_decode_to_the_scores(dtype, scores, chunk, data):
    values = np.array(data.draw(st.lists(scores, max_size=12)), dtype)
    negative = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), bool
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec_module, "ENCODED_ROWS", chunk)
        codec, codes = encode_rows(cases(values, negative))
    decoded = codec.decode(codes >> 1)
    assert decoded.dtype == np.float64
    assert decoded.tolist() == values.astype(np.float64).tolist()
    assert (codes & 1).astype(bool).tolist() == negative.tolist()
    # No -0.0 comes back.
    assert not (np.signbit(decoded) & (decoded == 0)).any()


@pytest.mark.slow
@every_path
@every_chunk
@given(data=st.data())
def test_codes_are_in_the_reverse_order_of_scores_with_the_same_ties(dtype, scores, chunk, data):
    values = np.array(data.draw(st.lists(scores, min_size=1, max_size=12)), dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec_module, "ENCODED_ROWS", chunk)
        codec, codes = encode_rows(cases(values, np.zeros(len(values), bool)))
    assert int(codes.max()) < int(codec.first_reserved)
    for i, one in enumerate(values.tolist()):
        for j, two in enumerate(values.tolist()):
            assert (one > two) == (int(codes[i]) < int(codes[j]))
            assert (one == two) == (int(codes[i]) == int(codes[j]))


@given(
    values=st.lists(floats64, max_size=12),
    marks=st.lists(st.sampled_from(list(RowState)), min_size=12, max_size=12),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_codes_of_rows_without_a_threshold_sort_after_all_scores(values, marks, dtype):
    with np.errstate(over="ignore"):
        scores = np.array(values, np.float64).astype(dtype)
    state = np.array(marks[: len(scores)], np.uint8)
    negative = np.arange(len(scores)) % 2 == 0
    codec, codes = encode_rows(cases(scores, negative, state))
    for i, mark in enumerate(state):
        assert (int(codes[i]) >= int(codec.first_reserved)) == (mark != RowState.USED)
        if mark != RowState.USED:
            assert int(codes[i]) >> 1 == codec.reserved(ReservedCode[RowState(mark).name])
        assert int(codes[i]) & 1 == negative[i]


def test_the_sort_of_codes_puts_positives_first_within_a_tie():
    values = np.array([0.5, -1.0, 0.5, -0.0, 0.0, math.inf])
    negative = np.array([True, False, False, True, False, True])
    codec, codes = encode_rows(cases(values, negative))
    codes.sort()
    assert codec.decode(codes >> 1).tolist() == [math.inf, 0.5, 0.5, 0.0, 0.0, -1.0]
    assert (codes & 1).tolist() == [1, 0, 1, 0, 1, 0]


def test_float32_scores_have_codes_of_32_bits():
    assert fit_codec(np.array([0.0, 0.5], np.float32)).codes == np.uint32
    assert fit_codec(np.array([-1.5, 0.5], np.float32)).codes == np.uint32
    # Both signs over the whole range of Float32 need more than 31 bits.
    assert fit_codec(np.array([-(2.0**127), 2.0**-149], np.float32)).codes == np.uint64
    assert fit_codec(np.array([-1e300, 1e-300])).table is not None
    assert fit_codec(np.array([-1e100, 1e-100])).table is None


def test_an_empty_column_of_scores_has_a_codec():
    for dtype in (np.float32, np.float64):
        codec, codes = encode_rows(cases(np.zeros(0, dtype), np.zeros(0, bool)))
        assert codec.decode(codes).tolist() == []
