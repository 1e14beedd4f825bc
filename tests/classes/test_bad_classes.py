"""Errors of tables with many classes, with their whole text."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import polars.selectors as cs
import pytest

import rocframe as rf
from tests.all_cases import all_cases

ABC = ["a", "b", "c"]
WIDE = pl.DataFrame(
    {
        "truth": ["a", "b", "c"],
        "a": [0.5, 0.2, 0.1],
        "b": [0.3, 0.5, 0.1],
        "c": [0.2, 0.3, 0.8],
        "text": ["x", "y", "z"],
        "bits": [0, 1, 2],
        "day": [1, 2, 3],
    }
)
LISTS = pl.DataFrame(
    {
        "truth": ["a", "b", "c", "a"],
        "key": [7, 8, 9, 10],
        "p": [[0.5, 0.5], [0.5, 0.2], [0.1], None],
    }
)
MELTED = pl.DataFrame(
    {
        "id": [1, 1, 2, 2, 2],
        "truth": ["a", "a", "b", "b", "b"],
        "of": ["a", "b", "a", "b", "b"],
        "p": [0.1, 0.9, 0.2, 0.8, 0.7],
    }
)
GIVE = "Pass {class: column}, several columns named like their classes, or one column of lists."
BY_LABEL = "Name each class by its label, such as scores={0: 'p0', 1: 'p1'} for labels 0 and 1."

NO_ROW = (
    "label='truth': no row has a score for these labels: 'z'.\nClasses with a score: 'a', 'b'.\n"
    "Add rows with the scores of these classes, or use .filter() to remove the instances with "
    "these labels."
)
STRANGE = MELTED.with_columns(truth=pl.col("truth").replace("a", "z"))
ODD = 2**53 + pl.Series([0, 1, 0])
LARGE = WIDE.select("truth", a=ODD, b=2**53, c=2**53)
LARGE_ROWS = MELTED.head(3).with_columns(p=ODD)
INEXACT = "value 9007199254740993 changes when it becomes Float64, so two scores might become equal"

# Table, arguments, error, and how its text starts.
# fmt: off
BOTH = [
    (WIDE, ("truth", ["a", "b"]), {}, rf.LabelError,
     ("label='truth': these labels have no score: 'c'.\nClasses with a score: 'a', 'b'.\n"
     "Add the missing classes to scores=, or remove their rows with .filter().")),
    (WIDE.with_columns(truth=pl.date(2026, 1, "day")), ("truth", ABC), {}, rf.ColumnTypeError,
     ("label='truth': the column has type Date.\n"
     "Classes must be Boolean, numbers, String, Categorical or Enum: convert the column first.")),
    (MELTED.with_columns(pl.col("of").cast(pl.Binary)), ("truth", "p"),
     {"classes": "of", "id": "id"}, rf.ColumnTypeError,
     "classes='of': the column has type Binary.\nClasses must be Boolean, "),
    (WIDE, ("truht", ABC), {}, rf.MissingColumnError,
     "label='truht': the frame has no column of this name.\n"),
    (WIDE, ("truth", ["a", "bb"]), {}, rf.MissingColumnError,
     "scores='bb': the frame has no column of this name.\n"),
    (WIDE, ("truth", ["a", "a"]), {}, rf.RepeatedNameError,
     "scores='a': the name is given more than once.\nGiven: 'a', 'a'.\n"),
    (WIDE, ("truth", ["a", "text"]), {}, rf.ColumnTypeError,
     "scores='text': the column has type String.\nScores must be numbers. Cast the column first."),
    (WIDE, ("truth", []), {}, rf.OptionValueError,
     f"scores=[]: expected at least one column.\n{GIVE}"),
    (WIDE, ("truth", {}), {}, rf.OptionValueError, "scores={}: expected at least one column.\n"),
    (WIDE, ("truth", 3), {}, rf.OptionValueError, "scores=3: expected at least one column.\n"),
    (WIDE, ("truth", cs.date()), {}, rf.OptionValueError, "scores="),
    (WIDE, ("truth", [pl.all() * 2]), {}, rf.OptionValueError, "scores="),
    (WIDE, ("truth", {1: "a", 2: "b"}), {}, rf.OptionValueError,
     ("scores=[1, 2]: some of these classes cannot be labels of column 'truth', which has type "
     "String.\n"
     + BY_LABEL)),
    (WIDE, ("bits", ABC), {}, rf.OptionValueError,
     "scores=['a', 'b', 'c']: some of these classes cannot be labels of column 'bits', which has "),
    (WIDE.with_columns(pl.col("bits").cast(pl.Int8)), ("bits", {0: "a", 300: "b"}), {},
     rf.OptionValueError,
     "scores=[0, 300]: some of these classes cannot be labels of column 'bits', "),
    (WIDE.with_columns(pl.col("truth").cast(pl.Enum(ABC))), ("truth", {"a": "a", "x": "b"}), {},
     rf.OptionValueError,
     ("scores=['a', 'x']: some of these classes cannot be labels of column 'truth', which has type "
     "Enum with the values 'a', 'b', 'c'.\n")),
    (WIDE, ("truth", {"a": "a", None: "b"}), {}, rf.OptionValueError,
     "scores=['a', None]: some of these classes cannot be labels of column "),
    (WIDE, ("truth", "a"), {}, rf.OptionValueError,
     ("scores='a': expected a score for each class, but this is one column of type Float64.\n"
     f"{GIVE}\nIf each row is one instance and one class, pass the name of the column with the "
     'class, such as classes="class".')),
    (WIDE, ("truth", ABC), {"classes": ABC}, rf.OptionValueError,
     "classes=['a', 'b', 'c']: scores= already determines the classes.\nLeave out classes=."),
    (WIDE, ("truth", ABC), {"keep": "dya"}, rf.MissingColumnError,
     "keep='dya': the frame has no column of this name.\n"),
    (WIDE, ("truth", ABC), {"keep": pl.col("day") * 2}, rf.OptionValueError,
     'keep=[(col("day")) * (dyn int: 2)]: expressions are not supported here.\n'),
    (WIDE, ("truth", ABC), {"keep": [1]}, rf.OptionValueError,
     "keep=1: expected a column name.\n"),
    (WIDE, ("truth", ABC), {"id": ["day", "day"]}, rf.RepeatedNameError,
     "id='day': the name is given more than once.\n"),
    (WIDE, ("truth", ABC), {"id": []}, rf.OptionValueError,
     ("id=[]: expected at least one column.\n"
     'Pass the columns that identify an instance, such as id="id".')),
    (WIDE, ("truth", ABC), {"id": cs.date()}, rf.OptionValueError, "id="),
    (MELTED, ("truth", "p"), {"classes": "of", "id": []}, rf.OptionValueError,
     "id=[]: expected at least one column.\n"),
    (WIDE.rename({"day": "score"}), ("truth", ABC), {}, rf.RepeatedNameError,
     "keep='score': the result already has a column of this name.\nColumns of the result: "),
    (WIDE.rename({"day": "label"}), ("truth", ABC), {"id": "label"}, rf.RepeatedNameError,
     "id='label': the result already has a column of this name.\n"),
    (WIDE.rename({"day": "id"}), ("truth", ABC), {}, rf.OptionValueError,
     ("id=None: the result has a column 'id' with row numbers, but the table already has a column "
     "of this name.\n"
     'If the column of the table identifies instances, pass id="id". If not, pass keep=[…] '
     'with the columns that the result keeps, without "id".')),
    (LISTS, ("truth", "p"), {}, rf.OptionValueError,
     ("classes=None: column 'p' contains lists of scores, so the order of the classes is "
     "required.\n"
     'Pass the classes in the order of the lists, such as classes=["a", "b", "c"].')),
    (LISTS, ("truth", "p"), {"classes": 3}, rf.OptionValueError,
     ("classes=3: column 'p' contains lists of scores, so the order of the classes is "
     "required.\n")),
    (LISTS, ("truth", "p"), {"classes": []}, rf.OptionValueError,
     "classes=[]: expected at least one class.\n"),
    (LISTS, ("truth", "p"), {"classes": [["a"], ["b"]]}, rf.OptionValueError,
     "classes=[['a'], ['b']]: some of these classes cannot be labels of column 'truth', "),
    (LISTS, ("truth", "p"), {"classes": ["a", "a"]}, rf.RepeatedNameError,
     "classes='a': the name is given more than once.\n"),
    (LISTS.with_columns(truth=pl.lit("a")), ("truth", "p"), {"classes": ["a", "b"], "id": "key"},
     rf.OptionValueError,
     ("scores='p': expected 2 scores in each row, one for each class.\n"
     "The row where key=9 has [0.1].\nCorrect such rows, or remove them with .filter().")),
    (LISTS.head(2), ("truth", "p"), {"classes": ["a", "c"]}, rf.LabelError,
     ("label='truth': these labels have no score: 'b'.\nClasses with a score: 'a', 'c'.\n"
     "Add the missing classes to classes=, or")),
    (LISTS.head(2).with_columns(pl.col("p").list.to_array(2)), ("truth", "p"), {"classes": ABC},
     rf.OptionValueError,
     "classes=['a', 'b', 'c']: column 'p' has 2 scores per row.\nPass one class for each score."),
    (LISTS.with_columns(p=pl.lit([["x"]])), ("truth", "p"), {"classes": ["a"]}, rf.ColumnTypeError,
     "scores='p': the column has type "),
    (MELTED, ("truth", "p"), {"classes": "of"}, rf.OptionValueError,
     ("id=None: the table has one row per instance and class, so id= is required.\n"
     'Pass the columns that identify an instance, such as id="id".')),
    (MELTED, ("truth", "p"), {"classes": "off", "id": "id"}, rf.MissingColumnError,
     "classes='off': the frame has no column of this name.\n"),
    (MELTED.with_columns(of=1), ("truth", "p"), {"classes": "of", "id": "id"}, rf.ColumnTypeError,
     ("classes='of': the column has type Int32.\n"
     "The label column 'truth' has type String: cast one of the two columns.")),
    (STRANGE, ("truth", "p"), {"classes": "of", "id": "id"}, rf.LabelError, NO_ROW),
    (STRANGE.with_columns(pl.col("of").cast(pl.Enum("ab"))),
     ("truth", "p"), {"classes": "of", "id": "id"}, rf.LabelError, NO_ROW),
    (WIDE.with_columns(a=2**53 + pl.col("bits").clip(0, 1)), ("truth", ABC), {}, rf.ScoreError,
     "score='a': Int64 value 9007199254740993 changes when it becomes Float64"),
    (WIDE.with_columns(a=pl.lit(Decimal(f"0.{10**19 + 1}"))), ("truth", ABC), {}, rf.ScoreError,
     "score='a': Decimal(precision=38, scale=20) value 0.10000000000000000001 changes when it "),
]
REST = [
    (WIDE, ("truth", ABC), {"margin": 3}, rf.OptionValueError,
     ("margin=3: expected at most 2, because there are 3 classes.\n"
     "Use a smaller number, or margin=True for the highest score of the other classes.")),
    (WIDE, ("truth", ABC), {"margin": 0}, rf.OptionValueError,
     "margin=0: expected an integer of at least 1.\nUse, for example, margin=3."),
    (WIDE.filter(pl.col("truth") == "a"), ("truth", ["a"]), {"margin": True}, rf.OptionValueError,
     ("margin=True: there is only one class, so there is no other score to subtract.\n"
     "Leave out margin=.")),
    (WIDE, ("truth", ABC), {"margin": "best"}, rf.OptionValueError,
     "margin='best': expected an integer of at least 1.\n"),
    (MELTED, ("truth", "p"), {"classes": "of", "id": "id", "margin": True}, rf.PairingError,
     ("id=['id']: 2 rows have the same id and class as another row.\n"
     'An instance must have one row per class. In id=, pass all columns that identify an instance, '
      'such as id=["model", "id"]. Or remove the repeated rows.')),
    (LARGE, ("truth", ABC), {"margin": True}, rf.ScoreError, f"score='a': Int64 {INEXACT}"),
    (LARGE.select("truth", p=pl.concat_list(ABC)), ("truth", "p"), {"classes": ABC, "margin": 2},
     rf.ScoreError, f"score='p': Int64 {INEXACT}"),
    (LARGE_ROWS, ("truth", "p"), {"classes": "of", "id": "id", "margin": True}, rf.ScoreError,
     f"score='p': Int64 {INEXACT}"),
    (WIDE, ({"a": "bits", "b": "bits"}, ["a", "b"]), {}, rf.LabelError,
     ("label='bits': each label column must contain only Boolean values, or only the numbers 0 "
     "and 1.\nFound the value: 2.\n"
     "Convert the labels first, for example with pl.col('bits') == 2.")),
    (WIDE, ({"a": "text"}, ["a"]), {}, rf.ColumnTypeError,
     ("label='text': the column has type String.\n"
     "Each label column must contain Boolean values, or the numbers 0 and 1.")),
    (WIDE, ({"a": "bits"}, ["a", "b"]), {}, rf.OptionValueError,
     "label=['a']: the classes of label= and scores= differ: no label for 'b'.\n"),
    (WIDE, ({"a": "bits", "b": "bits"}, ["a"]), {}, rf.OptionValueError,
     "label=['a', 'b']: the classes of label= and scores= differ: no score for 'b'.\n"),
    (WIDE, ({"a": "bits", 1: "bits"}, {"a": "a", 1: "b"}), {}, rf.OptionValueError,
     ("scores=['a', 1]: expected classes of one type: text, numbers or Booleans.\n"
     "Convert the classes to one type.")),
    (MELTED, ({"a": "truth"}, "p"), {"classes": "of", "id": "id"}, rf.OptionValueError,
     ("label=['a']: expected one label column, because the table has one row per "
     "instance and class.\n")),
]
ONE = [
    (WIDE, ("truth", ABC), {"max_pairs": 5}, rf.OptionValueError,
     ("max_pairs=5: 3 classes have 6 ordered pairs, and each row would become 4 rows, "
      "one for each pair that contains its class.\n"
     "Pass max_pairs=None to proceed, or use fewer classes.")),
    (MELTED.head(4), ("truth", "p"), {"classes": "of", "id": "id", "max_pairs": 1},
     rf.OptionValueError,
     ("max_pairs=1: 2 classes have 2 ordered pairs, and each instance would become 2 rows, "
      "one for each pair that contains its class.\n"
     "Pass max_pairs=None to proceed, or use fewer classes.")),
    (LARGE, ("truth", ABC), {"relative": "difference"}, rf.ScoreError,
     f"score='a': Int64 {INEXACT}"),
    (LARGE_ROWS, ("truth", "p"), {"classes": "of", "id": "id", "relative": "ratio"}, rf.ScoreError,
     f"score='p': Int64 {INEXACT}"),
    (WIDE, ("truth", ABC), {"max_pairs": 0}, rf.OptionValueError,
     "max_pairs=0: expected an integer of at least 1.\n"),
    (WIDE, ("truth", ABC), {"relative": "log"}, rf.UnknownOptionError,
     "relative='log': unknown value.\nChoose one of: 'difference', 'ratio', None."),
    (WIDE, ({"a": "bits"}, ["a"]), {}, rf.OptionValueError,
     ("label={'a': 'bits'}: expected one label column, because each row must have one true class.\n"
     "Pass one column. multiclass_auc and one_vs_rest accept several classes per row: pass a ")),
    (MELTED, ("truth", "p"), {"classes": "of", "id": "id"}, rf.PairingError,
     "id=['id']: 2 rows have the same id and class as another row.\n"),
]
# fmt: on


def check(frame, verb, case):
    table, arguments, options, error, text = case
    rows = table.lazy() if frame is pl.LazyFrame else table
    with pytest.raises(error) as caught:
        verb(rows, *arguments, **options).lazy().collect()
    assert str(caught.value).startswith(text)
    if frame is pl.DataFrame:
        assert "Resolved plan" not in str(caught.value)
        assert "This error occurred" not in str(caught.value)


VERBS = {rf.one_vs_rest: [*BOTH, *REST], rf.one_vs_one: [*BOTH, *ONE], rf.top_label: BOTH}


@pytest.mark.parametrize(
    ("verb", "wrong"), VERBS.items(), ids=["one_vs_rest", "one_vs_one", "top_label"]
)
def test_wrong_inputs_raise_errors_with_the_expected_text(frame, verb, wrong):
    with all_cases() as case:
        for one in wrong:
            with case(one[-1].split("\n")[0]):
                check(frame, verb, one)


def test_an_input_that_is_not_a_frame_raises():
    with pytest.raises(rf.OptionValueError, match="LazyFrame or Arrow table, but this is a dict"):
        rf.one_vs_rest({}, "truth", ABC)
