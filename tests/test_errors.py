"""Error classes: their base classes, that polars can rebuild them, and their messages."""

from __future__ import annotations

import copy
import inspect
import pickle
import re

import polars as pl
import pytest

import rocframe as rf
from rocframe import errors
from rocframe.text import format_count, format_list, format_value

BASES = {
    rf.ArgumentError: TypeError,
    rf.MissingColumnError: pl.exceptions.ColumnNotFoundError,
    rf.RepeatedNameError: ValueError,
    rf.ReservedColumnError: ValueError,
    rf.UnknownOptionError: ValueError,
    rf.OptionValueError: ValueError,
    rf.ColumnTypeError: TypeError,
    rf.AmbiguousCountError: ValueError,
    rf.LabelError: ValueError,
    rf.ScoreError: ValueError,
    rf.MassError: ValueError,
    rf.MissingValuesError: ValueError,
    rf.PairingError: ValueError,
    rf.BrokenCurveError: ValueError,
    rf.LazyFrameError: TypeError,
    rf.LogError: OSError,
    rf.StorageError: OSError,
    rf.MissingExtraError: ImportError,
}
every_error = pytest.mark.parametrize("error", BASES, ids=lambda error: error.__name__)


def test_the_list_of_errors_is_whole():
    result = {
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and issubclass(value, rf.RocframeError)
    }
    assert result == {rf.RocframeError, *BASES}
    assert {name for name in rf.__all__ if name.endswith("Error")} == {
        error.__name__ for error in result
    }


def test_the_tree_on_top_of_the_module_shows_every_error():
    drawn = re.findall(r"^[├└]── (\w+) +\S", inspect.getdoc(errors), flags=re.MULTILINE)
    assert sorted(drawn) == sorted(error.__name__ for error in BASES)


@every_error
def test_an_error_is_caught_by_our_name_and_by_the_nearest_of_python_or_polars(error):
    assert issubclass(error, rf.RocframeError)
    assert issubclass(error, BASES[error])
    assert error.__module__ == "rocframe.errors"


@every_error
def test_an_error_is_restored_from_its_text(error):
    first = error("weight='w': something.\nDo this.")
    assert str(first) == "weight='w': something.\nDo this."
    for again in (type(first)(str(first)), pickle.loads(pickle.dumps(first)), copy.copy(first)):
        assert type(again) is error
        assert str(again) == str(first)


@pytest.mark.parametrize("run", ["collect", "collect_schema"])
def test_the_message_of_a_lazy_frame_has_no_query_plan(run):
    table = pl.DataFrame({"label": [0, 1], "score": [0.1, 0.2]})
    with pytest.raises(rf.MissingColumnError) as caught:
        getattr(rf.windows(rf.compress(table.lazy(), "label", "score"), "day", every=1), run)()
    assert str(caught.value) == (
        "time='day': the frame has no column of this name.\n"
        "The frame has: 'label', 'score', 'score_width', 'count'."
    )


@every_error
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_an_error_keeps_its_class_in_a_node_and_in_the_schema(error, engine):
    def fail(*_: object) -> pl.LazyFrame:
        raise error("weight='w': something.\nDo this.")

    plan = pl.LazyFrame({"a": [1]})
    with pytest.raises(rf.RocframeError) as caught:
        plan.map_batches(fail).select("a").collect(engine=engine)
    assert type(caught.value) is error
    assert str(caught.value) == "weight='w': something.\nDo this."
    with pytest.raises(rf.RocframeError) as caught:
        plan.pipe_with_schema(fail).collect_schema()
    assert type(caught.value) is error
    assert str(caught.value).startswith("weight='w': something.\nDo this.")


def test_values_in_messages_stay_on_one_line_and_short():
    assert format_value("a") == "'a'"
    assert format_value(pl.col("a") + 1) == '[(col("a")) + (dyn int: 1)]'
    assert format_value("two\nlines") == r"'two\nlines'"
    assert format_value(pl.Series("s", [1])) == "shape: (1,) Series: 's' [i64] [ 1 ]"
    assert len(format_value(list(range(1000)))) == 101


def test_lists_in_messages_end_with_the_number_of_remaining_items():
    assert format_list("ab") == "'a', 'b'"
    assert format_list(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
    assert format_list(range(12), most=2) == "0, 1 and 10 more"
    assert format_list([]) == ""
    assert (format_count(0, "row"), format_count(1, "row"), format_count(2, "row")) == (
        "0 rows",
        "1 row",
        "2 rows",
    )
