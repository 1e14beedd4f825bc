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
    for again in (
        type(first)(str(first)),
        pickle.loads(pickle.dumps(first)),
        copy.copy(first),
    ):
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


TEXTS = {
    "an unknown argument": (
        rf.ArgumentError.compose(
            "at", "unexpected keyword argument 'recall'", ["curves", "tpr"], "Use tpr= instead."
        ),
        ("at: unexpected keyword argument 'recall'.\nArguments: curves, tpr.\nUse tpr= instead."),
    ),
    "a missing column": (
        rf.MissingColumnError.compose("by", "modle", ["model", "fold"]),
        (
            "by='modle': the frame has no column of this name.\nThe frame has: 'model', 'fold'.\n"
            "Did you mean by='model'?"
        ),
    ),
    "a missing column among many": (
        rf.MissingColumnError.compose("by", "z", map(str, range(40))),
        (
            f"by='z': the frame has no column of this name.\n"
            f"The frame has: {', '.join(repr(str(i)) for i in range(30))} and 10 more."
        ),
    ),
    "a repeated name": (
        rf.RepeatedNameError.compose("by", "a", ["a", "b", "a"]),
        ("by='a': the name is given more than once.\nGiven: 'a', 'b', 'a'.\nUse each name once."),
    ),
    "a reserved name": (
        rf.ReservedColumnError.compose("tp", ["threshold", "tp"]),
        (
            "by='tp': the result already has a column of this name.\n"
            "Columns of the result: 'threshold', 'tp'.\n"
            "Rename the group column first, for example with .rename({'tp': 'tp_group'})."
        ),
    ),
    "an unknown option": (
        rf.UnknownOptionError.compose("ci", "delongg", ["delong", "newcombe", None]),
        (
            "ci='delongg': unknown value.\nDid you mean ci='delong'?\n"
            "Choose one of: 'delong', 'newcombe', None."
        ),
    ),
    "a metric with its name in scikit-learn": (
        rf.UnknownOptionError.compose("metrics", "f1_score", ["jaccard", "f1"]),
        (
            "metrics='f1_score': unknown value.\nDid you mean metrics='f1'?\n"
            "Choose one of: 'jaccard', 'f1'."
        ),
    ),
    "a metric in capitals": (
        rf.UnknownOptionError.compose("metrics", "Fpr", ["tpr", "fpr"]),
        "metrics='Fpr': unknown value.\nDid you mean metrics='fpr'?\nChoose one of: 'tpr', 'fpr'.",
    ),
    "an alias that is not a name of the option": (
        rf.UnknownOptionError.compose("metrics", "false_positives", ["fpr", "fdr"]),
        (
            "metrics='false_positives': unknown value.\nDid you mean metrics='fpr'?\n"
            "Choose one of: 'fpr', 'fdr'."
        ),
    ),
    "an option of the wrong type": (
        rf.UnknownOptionError.compose("ci", True, ["delong", None]),
        "ci=True: unknown value.\nChoose one of: 'delong', None.",
    ),
    "an option out of range": (
        rf.OptionValueError.compose(
            "level", 95, "expected a number below 1", "Use, for example, level=0.95."
        ),
        "level=95: expected a number below 1.\nUse, for example, level=0.95.",
    ),
    "a wrong type": (
        rf.ColumnTypeError.compose("score", "s", pl.Date(), "Scores are numbers."),
        "score='s': the column has type Date.\nScores are numbers.",
    ),
    "a column that may be a count": (
        rf.AmbiguousCountError.compose(),
        (
            "count: the frame has a column named 'count', which may hold the number of rows that "
            "each row represents.\n"
            'If the column holds these numbers, pass count="count". If not, pass count=None.'
        ),
    ),
    "labels without a default positive class": (
        rf.LabelError.unknown_positive("y", pl.String(), ["a", "b"], "b"),
        (
            "label='y': the positive class is unknown. The labels have type String, and only "
            "Boolean and 0/1 labels have a default positive class.\nFound: 'a', 'b'.\n"
            "Use, for example, positive='b'."
        ),
    ),
    "labels of a type without a default positive class": (
        rf.LabelError.unknown_positive("y", pl.String()),
        (
            "label='y': the positive class is unknown. The labels have type String, and only "
            "Boolean and 0/1 labels have a default positive class.\n"
            "Pass the label of the positive class as positive=."
        ),
    ),
    "a positive value that is absent": (
        rf.LabelError.no_positive("c", "y", ["a", "b"]),
        (
            "positive='c': no label of column 'y' has this value.\nFound: 'a', 'b'.\n"
            "Use one of these values as positive. "
            "If the data has no positives, cast the labels to an Enum of both classes."
        ),
    ),
    "a positive value that no label can be": (
        rf.LabelError.positive_type(1, "y", pl.String()),
        (
            "positive=1: this value is never equal to a label of column 'y', which has "
            "type String.\nPass a value of the same type as the labels."
        ),
    ),
    "scores that Float64 rounds": (
        rf.ScoreError.inexact("s", pl.Int64(), 2**53 + 1),
        (
            "score='s': Int64 value 9007199254740993 changes when it becomes Float64, so two "
            "scores might become equal.\n"
            "Scale or rank the scores first, for example with pl.col('s').rank('dense')."
        ),
    ),
    "negative weights": (
        rf.MassError.compose("weight", "w", "negative", 1),
        (
            "weight='w': the weight is negative in 1 row.\nA weight must be finite and at "
            "least 0; correct these rows, or remove them with .filter()."
        ),
    ),
    "counts too large": (
        rf.MassError.overflow("count", "n", "the maximum of Int64"),
        (
            "count='n': the sum of the counts is more than the maximum of Int64.\n"
            "Divide all counts by a common factor first. Rates do not change."
        ),
    ),
    "missing scores": (
        rf.MissingValuesError.compose("score", "s", 3, ", the first one in group g=1"),
        (
            "missing='raise': score column 's' is null or NaN in 3 rows, the first one in "
            "group g=1.\n"
            'Use missing="drop" to leave these rows out, or missing="worst" to '
            "count rows without a score as wrong at every threshold."
        ),
    ),
    "missing labels": (
        rf.MissingValuesError.compose("label", "y", 1, ""),
        (
            "missing='raise': label column 'y' is null or NaN in 1 row.\n"
            'Use missing="drop" to leave these rows out.'
        ),
    ),
    "missing labels in the worst case": (
        rf.MissingValuesError.compose("label", "y", 1, "", worst=True),
        (
            "missing='worst': label column 'y' is null or NaN in 1 row.\n"
            'missing="worst" applies to scores only.\n'
            'Use missing="drop" to leave these rows out, or remove them with '
            ".filter()."
        ),
    ),
    "a broken curve": (
        rf.BrokenCurveError.compose("curves: tp falls", "Name all group columns in by="),
        "curves: tp falls.\nName all group columns in by=",
    ),
    "rows that do not pair up": (
        rf.PairingError.compose("id", "user", "it is null in 2 rows", "Leave them out."),
        "id='user': it is null in 2 rows.\nLeave them out.",
    ),
    "a lazy frame": (
        rf.LazyFrameError.compose("chart"),
        (
            "chart: expected a DataFrame, but this is a LazyFrame.\n"
            "Collect the table first: curves.collect().roc.chart()."
        ),
    ),
    "an unreadable log": (
        rf.LogError.compose("a.parquet", "it is empty", "Write it again."),
        "a.parquet: it is empty.\nWrite it again.",
    ),
    "an unwritable table": (
        rf.StorageError.compose("a.csv", "it is neither Parquet nor Arrow", "Name it a.parquet."),
        "path='a.csv': it is neither Parquet nor Arrow.\nName it a.parquet.",
    ),
    "a library of an extra": (
        rf.MissingExtraError.compose("save_chart", "vl-convert", "report"),
        (
            "save_chart: this needs vl-convert, which is not installed.\n"
            'Install it with: pip install "rocframe[report]".'
        ),
    ),
}
every_text = pytest.mark.parametrize(("error", "text"), TEXTS.values(), ids=TEXTS)


@every_text
def test_a_message_has_exactly_this_text(error, text):
    assert str(error) == text


@every_text
def test_a_message_states_the_argument_then_the_problem_then_a_remedy(error, text):
    first, *rest = text.split("\n")
    assert re.match(r"[\w./]+(='?[^:]*)?: .+[.?]", first)
    assert rest
    assert not re.search(r"\b(invalid|should|illegal|bad|please)\b", text, flags=re.IGNORECASE)
    assert isinstance(error, rf.RocframeError)


def test_every_error_has_a_text_here():
    assert {type(error) for error, _ in TEXTS.values()} == set(BASES)


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
