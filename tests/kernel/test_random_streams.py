"""Random streams depend only on the seed, the key of the group, and the batch."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import polars as pl
import pytest

import rocframe as rf
from rocframe.kernel.scan import Seed, stream_keys

KEYS = pl.DataFrame({"0": ["a", "b", None], "1": [1, 2, 2]})


def test_the_key_of_a_group_does_not_depend_on_other_groups():
    assert stream_keys(KEYS)[1:] == stream_keys(KEYS[1:])
    assert stream_keys(KEYS[::-1]) == stream_keys(KEYS)[::-1]


def test_all_groups_have_keys_of_their_own():
    keys = pl.DataFrame({"0": range(10_000)})
    assert len(set(stream_keys(keys))) == 10_000
    assert stream_keys(pl.DataFrame({"0": ["1"]})) != stream_keys(pl.DataFrame({"0": [1]}))


def test_score_columns_are_a_last_group_column():
    assert stream_keys(pl.DataFrame({"0": ["a"]}), "m") == stream_keys(
        pl.DataFrame({"0": ["a"], "1": ["m"]})
    )


def test_keys_of_any_type_have_a_stream():
    keys = pl.DataFrame({"0": [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)], "1": [[1.5]], "2": [b"x"]})
    assert len(stream_keys(keys)[0]) == 4


@pytest.mark.slow
def test_the_stream_of_a_key_is_the_same_in_another_process():
    code = "import polars as pl; from rocframe.kernel.scan import stream_keys as k; "
    code += "print(k(pl.DataFrame({'0': ['a', None], '1': [1, 2]})))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == str(stream_keys(pl.DataFrame({"0": ["a", None], "1": [1, 2]})))


def test_equal_seeds_have_equal_draws_and_other_batches_other_draws():
    key = stream_keys(KEYS)[0]
    first = Seed.parse(7).stream(key, 0).integers(0, 1000, 20).tolist()
    assert first == Seed.parse(7).stream(key, 0).integers(0, 1000, 20).tolist()
    assert first != Seed.parse(7).stream(key, 1).integers(0, 1000, 20).tolist()
    assert first != Seed.parse(8).stream(key, 0).integers(0, 1000, 20).tolist()


def test_without_a_seed_each_call_draws_anew():
    assert Seed.parse(None) != Seed.parse(None)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(rf.OptionValueError, match=f"^seed={seed!r}: expected an integer"):
        Seed.parse(seed)
