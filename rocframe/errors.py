"""The exceptions that rocframe raises, and the texts of their messages.

RocframeError
├── ArgumentError          a call with an unknown argument, or without a required argument
├── MissingColumnError     a column that an argument names is not in the frame
├── RepeatedNameError      a name is given twice, or two columns of the result have the same name
├── ReservedColumnError    a group column has the name of a column of the result
├── UnknownOptionError     an option is not one of a closed set of values
├── OptionValueError       an option has a value outside its range
├── ColumnTypeError        a column has a type that its argument does not support
├── AmbiguousCountError    the table has a column `count`, and `count` is not given
├── LabelError             labels that do not determine the positive class, or have no score column
├── ScoreError             scores that cannot be converted to Float64 exactly, are infinite, or are
│                          no probabilities
├── MassError              weights, counts, benefits or costs that are negative, infinite or too
│                          large
├── MissingValuesError     null or NaN in a column, with `missing="raise"`
├── PairingError           rows of several models that cannot be paired
├── BrokenCurveError       a table that is not a complete curve table
├── LazyFrameError         a LazyFrame where a DataFrame is needed
├── LogError               a prediction log that cannot be read
├── StorageError           a table, chart or page that cannot be written or read
└── MissingExtraError      an optional dependency that is not installed

The first line of a message has the form `argument=value: problem`. The next lines state what was
found and what to do.
"""

from __future__ import annotations

from datetime import datetime
from difflib import get_close_matches
from math import isnan
from typing import TYPE_CHECKING

import polars as pl

from rocframe.text import format_count, format_list, format_name, format_type, format_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Names of metrics and methods in other packages, and the names in this package.
VALUE_ALIASES = {
    **dict.fromkeys(("roc_auc", "roc_auc_score", "auroc"), "auc"),
    **dict.fromkeys(("ap", "average_precision_score"), "average_precision"),
    "eer": "equal_error",
    **dict.fromkeys(("best", "j", "youden_index"), "youden"),
    **dict.fromkeys(("closest.topleft", "roc01", "distance"), "closest_top_left"),
    **dict.fromkeys(("sigmoid", "platt_scaling"), "platt"),
    **dict.fromkeys(("cost", "min_cost", "misclassification_cost"), "expected_cost"),
    **{
        f"{name}_score": name
        for name in ("accuracy", "balanced_accuracy", "f1", "jaccard", "precision", "recall")
    },
    "fbeta_score": "f_beta",
    "matthews_corrcoef": "mcc",
    "cohen_kappa_score": "kappa",
    "ovo": "hand_till",
    "ovr": "macro",
    "brier_score_loss": "brier",
    **{
        f"{correct}_{predicted}{plural}": correct[0] + predicted[0]
        for correct in ("true", "false")
        for predicted in ("positive", "negative")
        for plural in ("", "s")
    },
}
CURVE_TABLE = {"threshold", "tp", "fp", "fn", "tn"}  # columns of all curve tables
MAX_FRACTIONAL_LABELS = 10  # a float label column with more distinct values probably has scores


# polars appends texts to a message, which contain nodes of the query plan or an expression.
CONTEXT_MARKS = ("\n\nResolved plan until failure", "\n\nThis error occurred ")


def _state_names(owner: str, names: Sequence[str], noun: str) -> str:
    """Return a sentence that lists names, such as "The frame has: 'label', 'score'."."""
    return f"{owner}: {format_list(names, most=30)}." if names else f"{owner} no {noun}s."


def suggest_value(argument: str, value: object, names: Iterable[object]) -> str:
    """Return a line that suggests the most similar name to a value; empty if none is similar."""
    guess = _similar_name(value, names)
    return "" if guess is None else f"\nDid you mean {argument}={guess!r}?"


def _similar_name(value: object, names: Iterable[object]) -> str | None:
    if not isinstance(value, str):
        return None
    words = {name.lower(): name for name in names if isinstance(name, str)}
    word = value.lower()
    word = word if word in words else VALUE_ALIASES.get(word, word)
    guess = get_close_matches(word, words, n=1)
    return words[guess[0]] if guess else None


class RocframeError(Exception):
    """Base class of all errors of rocframe.

    It is raised for columns that do not exist or have an unsuitable type, invalid options, invalid
    labels, weights or missing values, and incomplete curves. For a LazyFrame, errors that depend on
    its columns or values are raised by `collect`.

    If an error is raised while polars resolves the schema of a query, polars appends the query plan
    to its message. The plan is removed, because it contains nodes that the user did not write.
    """

    def __init__(self, message: str = "") -> None:
        """Create an error with a message."""
        for mark in CONTEXT_MARKS:
            message = message.split(mark, maxsplit=1)[0]
        super().__init__(message)


class ArgumentError(RocframeError, TypeError):
    """A call with an unknown argument, or without a required argument."""

    @classmethod
    def compose(
        cls, function: str, problem: str, arguments: Iterable[str], hint: str
    ) -> ArgumentError:
        """Return an error that lists the arguments of the function."""
        return cls(f"{function}: {problem}.\nArguments: {', '.join(arguments)}.\n{hint}")


class MissingColumnError(RocframeError, pl.exceptions.ColumnNotFoundError):
    """A column that an argument names is not in the frame."""

    @classmethod
    def compose(
        cls,
        argument: str,
        column: object,
        available: Iterable[str],
        *,
        noun: str = "column",
        problem: str | None = None,
        hint: str | None = None,
    ) -> MissingColumnError:
        """Return an error that lists the names, and suggests the most similar name."""
        names = list(available)
        problem = problem or f"the frame has no {noun} of this name"
        lines = [
            f"{argument}={format_value(column)}: {problem}.",
            _state_names("The frame has", names, noun),
        ]
        if argument in {"label", "score"} and CURVE_TABLE.issubset(names):
            lines.append(
                "This frame is a curve table. Pass the predictions, or use a function that reads "
                "curve tables, such as area, at or hull."
            )
        elif guess := get_close_matches(str(column), names, n=1):
            lines.append(f"Did you mean {argument}={guess[0]!r}?")
        return cls("\n".join(lines if hint is None else [*lines, hint]))

    @classmethod
    def of_table(
        cls,
        argument: str,
        column: str,
        available: Iterable[str],
        *,
        problem: str | None = None,
        owner: str = "The table has",
        hint: str | None = None,
    ) -> MissingColumnError:
        """Return an error for a missing column of the table that is passed as `argument`."""
        problem = problem or f"the table has no column {column!r}"
        lines = [f"{argument}: {problem}.", _state_names(owner, [*available], "column")]
        return cls("\n".join(lines if hint is None else [*lines, hint]))


class RepeatedNameError(RocframeError, ValueError):
    """A name is given twice, or two columns of the result would have the same name."""

    @classmethod
    def compose(cls, argument: str, name: str, names: Iterable[str]) -> RepeatedNameError:
        """Return an error that lists the names."""
        return cls(
            f"{argument}={name!r}: the name is given more than once.\n"
            f"Given: {format_list(names)}.\nUse each name once."
        )

    @classmethod
    def of_group(cls, argument: str, name: str, by: Iterable[str]) -> RepeatedNameError:
        """Return an error for a column of an argument that is also in `by=`."""
        problem = f"this column is also a group column in by={format_value(list(by))}"
        return cls(f"{argument}={name!r}: {problem}.\nRemove {name!r} from by=.")

    @classmethod
    def in_result(
        cls, argument: str, name: str, table: Iterable[str], hint: str | None = None
    ) -> RepeatedNameError:
        """Return an error that lists the columns of the result, one of which has this name."""
        hint = hint or f"Leave out {name!r} in {argument}=, or give it another name."
        return cls(
            f"{argument}={name!r}: the result already has a column of this name.\n"
            f"Columns of the result: {format_list(table, most=30)}.\n{hint}"
        )

    @classmethod
    def in_predictions(cls, name: str, table: Iterable[str]) -> RepeatedNameError:
        """Return an error for a column of the predictions with the name of a new column."""
        return cls(
            f"predictions: the table already has a column {name!r}, and the result has a new "
            f"column of this name.\n{_state_names('The table has', [*table], 'column')}\n"
            f"Rename or drop this column first, for example with .rename({{{name!r}: 'other'}})."
        )

    @classmethod
    def of_expression(
        cls, argument: str, expr: object, name: str, table: Iterable[str]
    ) -> RepeatedNameError:
        """Return an error for an expression that has the name of a column of the result."""
        return cls(
            f"{argument}={format_value(expr)}: the expression is named {name!r}, which is a column "
            f"of the result.\nColumns of the result: {format_list(table, most=30)}.\n"
            'Give the expression another name with .alias("…").'
        )


class ReservedColumnError(RocframeError, ValueError):
    """A group column has the name of a column of the result."""

    @classmethod
    def compose(
        cls, column: str, table: Iterable[str], argument: str = "by"
    ) -> ReservedColumnError:
        """Return an error that lists the columns of the result."""
        if column == "model" and "model" in table:
            return cls(
                f"{argument}='model': several scores are compared, and the result has a column "
                f"'model' with their names.\nLeave 'model' out of {argument}=, or rename this "
                "column first."
            )
        return cls(
            f"{argument}={column!r}: the result already has a column of this name.\n"
            f"Columns of the result: {format_list(dict.fromkeys(table), most=30)}.\n"
            "Rename the group column first, for example with "
            f".rename({{{column!r}: {column + '_group'!r}}})."
        )


class UnknownOptionError(RocframeError, ValueError):
    """An option is not one of a closed set of values."""

    @classmethod
    def compose(cls, argument: str, value: object, allowed: Iterable[object]) -> UnknownOptionError:
        """Return an error that lists the allowed values, and suggests the most similar value."""
        choices = list(allowed)
        return cls(
            f"{argument}={format_value(value)}: unknown value."
            f"{suggest_value(argument, value, choices)}\n"
            f"Choose one of: {format_list(choices, most=60)}."
        )

    @classmethod
    def of_key(cls, argument: str, key: object, allowed: Iterable[object]) -> UnknownOptionError:
        """Return an error for a key of a mapping that is passed as `argument`."""
        choices = list(allowed)
        guess = _similar_name(key, choices)
        suggestion = "" if guess is None else f"\nDid you mean {argument}[{guess!r}]?"
        return cls(
            f"{argument}[{format_value(key)}]: unknown key.{suggestion}\n"
            f"Choose one of: {format_list(choices, most=60)}."
        )


class OptionValueError(RocframeError, ValueError):
    """An option has a value outside its range."""

    @classmethod
    def compose(cls, argument: str, value: object, problem: str, hint: str) -> OptionValueError:
        """Return an error about an argument: what is wrong, and what to pass instead."""
        return cls(f"{argument}={format_value(value)}: {problem}.\n{hint}")

    @classmethod
    def unexpected_type(
        cls, argument: str, value: object, expected: str, hint: str
    ) -> OptionValueError:
        """Return an error that names the type of a value, but does not show the value."""
        name = format_type(value)
        article = "an" if name[0].lower() in "aeiou" else "a"
        actual = {"ndarray": "a numpy array", "NoneType": "None"}.get(name, f"{article} {name}")
        if isinstance(value, pl.DataFrame):
            actual = format_value(value)
        return cls(f"{argument}: expected {expected}, but this is {actual}.\n{hint}")


class ColumnTypeError(RocframeError, TypeError):
    """A column has a type that its argument does not support."""

    @classmethod
    def compose(cls, argument: str, column: str, dtype: object, hint: str) -> ColumnTypeError:
        """Return an error that names the type of the column and states what to do."""
        return cls(f"{argument}={column!r}: the column has type {dtype}.\n{hint}")

    @classmethod
    def of_table(cls, argument: str, column: str, dtype: object, hint: str) -> ColumnTypeError:
        """Return an error for a column of a table that is passed as `argument`."""
        return cls(f"{argument}: column {column!r} of the table has type {dtype}.\n{hint}")


class AmbiguousCountError(RocframeError, ValueError):
    """The table has a column `count`, and the argument `count` is not given."""

    @classmethod
    def compose(cls, table: str = "frame") -> AmbiguousCountError:
        """Return an error that states the two possible values of `count`."""
        return cls(
            f"count: the {table} has a column named 'count', which may hold the number of rows "
            "that each row represents.\n"
            'If the column holds these numbers, pass count="count". If not, pass count=None.'
        )


def _state_labels(labels: Iterable[object]) -> str:
    """Return a sentence that lists labels, or states that there are none."""
    names = format_list(labels)
    return f"Found: {names}." if names else "The column contains no labels."


class LabelError(RocframeError, ValueError):
    """The labels do not determine the positive class, or a class has no score column."""

    @classmethod
    def unknown_positive(
        cls,
        column: str,
        dtype: object,
        values: Iterable[object] | None = None,
        example: object = None,
        several: str = "",
    ) -> LabelError:
        """Return an error for labels that require `positive=`; None if only their type is known.

        `several` is a hint for more than two classes, in which `{}` stands for the labels.
        """
        problem = (
            f"label={column!r}: the positive class is unknown. The labels have type {dtype}, and "
            "only Boolean and 0/1 labels have a default positive class.\n"
        )
        if values is None:
            return cls(f"{problem}Pass the label of the positive class as positive=.")
        labels = list(values)
        hint = f"Use, for example, positive={example!r}."
        if isinstance(example, float) and len(labels) > MAX_FRACTIONAL_LABELS:
            hint = "The labels look like scores. Check that label= and score= are not exchanged."
        elif several and len(labels) > 2:
            hint = (
                f"{several.format(format_list(labels, most=60))} "
                f"For decisions about one class, use, for example, positive={example!r}."
            )
        return cls(f"{problem}{_state_labels(labels)}\n{hint}")

    @classmethod
    def no_positive(cls, positive: object, column: str, values: Iterable[object]) -> LabelError:
        """Return an error for a value of `positive` that does not occur among the labels."""
        return cls(
            f"positive={positive!r}: no label of column {column!r} has this value.\n"
            f"{_state_labels(values)}\nUse one of these values as positive. "
            "If the data has no positives, cast the labels to an Enum of both classes."
        )

    @classmethod
    def positive_type(cls, positive: object, column: str, dtype: object) -> LabelError:
        """Return an error for a positive value whose type differs from that of the labels."""
        hint = "Pass a value of the same type as the labels."
        if isinstance(positive, float) and isnan(positive):
            return cls(
                f"positive=nan: NaN is a missing value.\nPass a label of column {column!r} instead."
            )
        if isinstance(positive, list | tuple | set | frozenset):
            hint = f"Pass one value. For several values, use label=pl.col({column!r}).is_in([…])."
        elif isinstance(positive, datetime) and isinstance(dtype, pl.Datetime):
            zone = "without a" if dtype.time_zone is None else "with a"
            hint = f"Pass a datetime {zone} time zone, rounded to the time unit of the labels."
        return cls(
            f"positive={format_value(positive)}: this value is never equal to a label of column "
            f"{column!r}, which has type {dtype}.\n{hint}"
        )

    @classmethod
    def without_score(
        cls, column: str, labels: Iterable[object], classes: Iterable[object], argument: str
    ) -> LabelError:
        """Return an error for labels of classes that have no score column."""
        labels, classes = list(labels), list(classes)
        hint = f"Add the missing classes to {argument}=, or remove their rows with .filter()."
        # Often the columns are named like the classes with a prefix, such as "p_a" for class "a".
        found = {
            label: [name for name in classes if f"{name}".endswith(f"{label}")] for label in labels
        }
        names = {name for columns in found.values() for name in columns}
        is_unique = all(len(columns) == 1 for columns in found.values())
        if argument == "scores" and is_unique and len(names) == len(found):
            pairs = ", ".join(f"{label!r}: {name!r}" for label, (name,) in found.items())
            more = ", …" if len(names) < len(classes) else ""
            hint = f"If these are the columns of the classes, pass scores={{{pairs}{more}}}."
        return cls(
            f"label={column!r}: these labels have no score: {format_list(labels)}.\n"
            f"Classes with a score: {format_list(classes)}.\n{hint}"
        )


class ScoreError(RocframeError, ValueError):
    """Scores that cannot be converted to Float64 exactly, are infinite, or are no probabilities."""

    @classmethod
    def no_probability(cls, argument: str, problem: str, hint: str) -> ScoreError:
        """Return an error for scores that are not probabilities, such as scores above 1."""
        return cls(f"{argument}: {problem}.\n{hint}")

    @classmethod
    def infinite(cls, column: str, subject: str, hint: str) -> ScoreError:
        """Return an error for infinite scores, which `subject` does not support."""
        return cls(
            f"score={column!r}: some scores are infinite, which {subject} does not support.\n{hint}"
        )

    @classmethod
    def inexact(cls, column: str, dtype: object, example: object) -> ScoreError:
        """Return an error with an example of a score that the conversion changes."""
        return cls(
            f"score={column!r}: {dtype} value {example} changes when it becomes Float64, so two "
            "scores might become equal.\nScale or rank the scores first, "
            f"for example with pl.col({column!r}).rank('dense')."
        )

    @classmethod
    def wrong_widths(cls, column: str, rows: int) -> ScoreError:
        """Return an error for widths of ranges of scores that are negative or not finite."""
        return cls(
            f"{column}: the width is negative or not finite in {format_count(rows, 'row')}.\n"
            "A width must be finite and at least 0. Correct these rows. If the column "
            f"{column} does not come from compress(), rename it."
        )

    @classmethod
    def different_cells(
        cls,
        column: str,
        widths: Sequence[float],
        group: str,
        *,
        compared: bool = False,
        models: Mapping[object, Sequence[float]] | None = None,
    ) -> ScoreError:
        """Return an error for scores of one group that were rounded to different resolutions.

        With `compared`, its parts, such as windows or models (of these widths), are compared.
        """
        width_text = format_list(widths)
        if models is not None:
            width_text = "; ".join(f"{name}: {format_list(each)}" for name, each in models.items())
        where = f" of group {group}" if group else ""
        if len(widths) == 1:
            return cls(
                f"{column}: some scores{where} are not multiples of their width {widths[0]!r}. The "
                "scores were changed after compress.\n"
                f"Transform the scores before compress(). If the column {column} "
                "does not come from compress(), rename it."
            )
        if compared:
            return cls(
                f"{column}: the compared rows{where} have scores that were rounded to different "
                "resolutions. This difference alone can change the results.\n"
                f"Widths in column {column!r}: {width_text}.\n"
                "Round the scores of all compared rows to the largest width: "
                f'compress(…, resolution={max(widths)!r}, count="count").'
            )
        return cls(
            f"{column}: the scores{where} were rounded to different resolutions. A rounded score "
            "represents a range of scores, and these ranges overlap.\n"
            f"Widths in column {column!r}: {width_text}.\n"
            'Round all scores to the largest width: compress(…, count="count").'
        )


class MassError(RocframeError, ValueError):
    """Weights, counts, benefits or costs that are negative, infinite or too large."""

    @classmethod
    def compose(cls, argument: str, column: str, problem: str, rows: int) -> MassError:
        """Return an error with the number of rows that have negative or infinite values."""
        return cls(
            f"{argument}={column!r}: the {argument} is {problem} in {format_count(rows, 'row')}.\n"
            f"A {argument} must be finite and at least 0; correct these rows, or remove them with "
            ".filter()."
        )

    @classmethod
    def not_monotone(cls, argument: str, column: str, rows: int) -> MassError:
        """Return an error for negative benefits or costs."""
        reason = {
            "benefit": "With a negative benefit, the curve would fall when the threshold is "
            "lowered.\nA benefit is the value of the row if it is a true positive, minus its value "
            "if it is a false negative. Pass it",
            "cost": "With a negative cost, the curve would run backwards when the threshold is "
            "lowered.\nA cost is the loss from the row if it is a false positive, minus the loss "
            "if it is a true negative. Pass it",
        }[argument]
        return cls(
            f"{argument}={column!r}: the {argument} is negative in {format_count(rows, 'row')}.\n"
            f"{reason} as a number >= 0."
        )

    @classmethod
    def overflow(
        cls, argument: str, column: str, limit: str, *, counted: bool = False
    ) -> MassError:
        """Return an error for a sum above a limit; with `counted`, the sum of value times count."""
        values = f"{argument} times count" if counted else f"the {argument}s"
        return cls(
            f"{argument}={column!r}: the sum of {values} is more than {limit}.\n"
            f"Divide all {argument}s by a common factor first. Rates do not change."
        )


class MissingValuesError(RocframeError, ValueError):
    """Null or NaN in a column, with `missing="raise"`."""

    @classmethod
    def compose(
        cls,
        argument: str,
        column: str,
        rows: int,
        where: str,
        *,
        worst: bool = False,
        offers_worst: bool = True,
    ) -> MissingValuesError:
        """Return an error that states how many rows have missing values, and what to do."""
        drop = 'Use missing="drop" to leave these rows out'
        if worst:
            hint = (
                f'missing="worst" applies to scores only.\n{drop}, or remove them with .filter().'
            )
        elif argument == "score" and offers_worst:
            hint = (
                f'{drop}, or missing="worst" to count rows without a score as wrong at every '
                "threshold."
            )
        else:
            hint = f"{drop}."
        return cls(
            f"missing={'worst' if worst else 'raise'!r}: {argument} column {column!r} is null or "
            f"NaN in {format_count(rows, 'row')}{where}.\n{hint}"
        )


class PairingError(RocframeError, ValueError):
    """Rows of several models that cannot be paired."""

    @classmethod
    def compose(cls, argument: str, value: object, problem: str, hint: str) -> PairingError:
        """Return an error about the pairing of rows: what is wrong, and what to do."""
        return cls(f"{argument}={format_value(value)}: {problem}.\n{hint}")


class BrokenCurveError(RocframeError, ValueError):
    """A table that is not a complete curve table."""

    @classmethod
    def compose(cls, problem: str, hint: str) -> BrokenCurveError:
        """Return an error about a curve table: what is wrong, and what to do."""
        return cls(f"{problem}.\n{hint}")


class LazyFrameError(RocframeError, TypeError):
    """A LazyFrame where a DataFrame is needed."""

    @classmethod
    def compose(cls, function: str) -> LazyFrameError:
        """Return an error that shows how to collect the table for this function."""
        return cls(
            f"{function}: expected a DataFrame, but this is a LazyFrame.\n"
            f"Collect the table first: curves.collect().roc.{function}()."
        )


class LogError(RocframeError, OSError):
    """A prediction log that cannot be read."""

    problem: str
    hint: str

    @classmethod
    def compose(cls, path: object, problem: str, hint: str) -> LogError:
        """Return an error about a log file: what is wrong, and what to do."""
        error = cls(f"{format_name(str(path))}: {problem}.\n{hint}")
        error.problem, error.hint = problem, hint
        return error


class StorageError(RocframeError, OSError):
    """A table, chart or page that cannot be written or read."""

    problem: str
    hint: str

    @classmethod
    def compose(cls, path: object, problem: str, hint: str) -> StorageError:
        """Return an error about a file: what is wrong, and what to do."""
        error = cls(f"path={str(path)!r}: {problem}.\n{hint}")
        error.problem, error.hint = problem, hint
        return error


class MissingExtraError(RocframeError, ImportError):
    """An optional dependency that is not installed."""

    @classmethod
    def compose(cls, feature: str, library: str, extra: str) -> MissingExtraError:
        """Return an error with the library that a feature needs, and the extra to install."""
        return cls(
            f"{feature}: this needs {library}, which is not installed.\n"
            f'Install it with: pip install "rocframe[{extra}]".'
        )
