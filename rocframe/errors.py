"""Every error rocframe raises on purpose.

RocframeError
├── MissingColumnError     a column that an argument names is not in the frame
├── RepeatedNameError      one name is given twice, or two columns would share it
├── ReservedColumnError    a group column has the name of a column of the table being made
├── UnknownOptionError     an option is not one of its closed set
├── OptionValueError       an option has a value outside its range
├── ColumnTypeError        a column has a type that its role cannot take
├── AmbiguousCountError    the table has a column `count` and nobody said what it is
├── LabelError             labels that do not say which class is positive
├── ScoreError             scores that Float64 cannot hold exactly
├── MassError              weights or counts that are negative or not finite
├── MissingValuesError     null or NaN where `missing="raise"` wants none
├── PairingError           rows of several models that do not pair up
├── BrokenCurveError       a table that is not a whole curve table
├── LazyFrameError         a lazy frame where a collected table is needed
├── LogError               a prediction log that cannot be read
├── StorageError           a table, chart or page that cannot be stored or read back
└── MissingExtraError      a library that an extra of the package brings is not installed

The text of each says `argument=value`: what is wrong; what there is; what to do.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import polars as pl

from rocframe.text import format_list, format_rows, format_value

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AmbiguousCountError",
    "BrokenCurveError",
    "ColumnTypeError",
    "LabelError",
    "LazyFrameError",
    "LogError",
    "MassError",
    "MissingColumnError",
    "MissingExtraError",
    "MissingValuesError",
    "OptionValueError",
    "PairingError",
    "RepeatedNameError",
    "ReservedColumnError",
    "RocframeError",
    "ScoreError",
    "StorageError",
    "UnknownOptionError",
]


MAX_CLASSES = 10  # more distinct fractions than this are no labels


# Errors take one message: polars rebuilds those raised while it resolves a plan from
# their text alone. Named constructors put the message together.
class RocframeError(Exception):
    """The root of all errors below: `except rocframe.RocframeError` catches every one."""


class MissingColumnError(RocframeError, pl.exceptions.ColumnNotFoundError):
    """A column that an argument names is not in the frame."""

    @classmethod
    def of(cls, argument: str, column: str, available: Iterable[str]) -> MissingColumnError:
        """Name the argument, what the frame has, and the nearest name."""
        names = list(available)
        guess = get_close_matches(column, names, n=1)
        return cls(
            f"{argument}={column!r}: the frame has no such column.\n"
            f"It has: {format_list(names, most=30) or 'no columns'}."
            + (f"\nDid you mean {argument}={guess[0]!r}?" if guess else "")
        )


class RepeatedNameError(RocframeError, ValueError):
    """One name is given twice, or two columns of the result would share it."""

    @classmethod
    def of(cls, argument: str, name: str, given: Iterable[str]) -> RepeatedNameError:
        """Name the argument, the name, and all that were given."""
        return cls(
            f"{argument}={name!r}: the name stands there more than once.\n"
            f"Given: {format_list(given)}.\nName each once, or use .alias() to tell them apart."
        )

    @classmethod
    def taken(cls, argument: str, name: str, table: Iterable[str]) -> RepeatedNameError:
        """Say that the table has a column of that name anyway."""
        return cls(
            f"{argument}={name!r}: the table has a column of that name anyway.\n"
            f"Its columns are: {format_list(table, most=30)}.\n"
            "Leave it out, or use .alias() to give yours another name."
        )

    @classmethod
    def rides(cls, argument: str, name: str, table: Iterable[str]) -> RepeatedNameError:
        """Say that a column cannot ride along under that name."""
        return cls(
            f"{argument}={name!r}: the table being made has a column of that name.\n"
            f"Its columns are: {format_list(table, most=30)}.\n"
            f"Rename yours first, say .rename({{{name!r}: {name + '_given'!r}}})"
            + (", or say with keep=[…] what else to keep." if argument == "keep" else ".")
        )


class ReservedColumnError(RocframeError, ValueError):
    """A group column has the name of a column of the table being made."""

    @classmethod
    def of(cls, column: str, table: Iterable[str], argument: str = "by") -> ReservedColumnError:
        """Name the group column and the columns of the table."""
        if column == "model" and "model" in table:
            return cls(
                f"{argument}='model': several scores are compared, and they make a key 'model' "
                f"themselves.\nLeave 'model' out of {argument}, or rename that column first."
            )
        return cls(
            f"{argument}={column!r}: the table being made has a column of that name.\n"
            f"Its columns are: {format_list(table, most=30)}.\n"
            f"Rename the group column first, say .rename({{{column!r}: {column + '_group'!r}}})."
        )


class UnknownOptionError(RocframeError, ValueError):
    """An option is not one of its closed set."""

    @classmethod
    def of(cls, argument: str, value: object, allowed: Iterable[object]) -> UnknownOptionError:
        """Name the option, its choices, and the nearest of them."""
        choices = list(allowed)
        words = [choice for choice in choices if isinstance(choice, str)]
        guess = get_close_matches(value, words, n=1) if isinstance(value, str) else []
        return cls(
            f"{argument}={format_value(value)}: there is no such choice.\n"
            f"Choose one of: {format_list(choices, most=60)}."
            + (f"\nDid you mean {argument}={guess[0]!r}?" if guess else "")
        )


class OptionValueError(RocframeError, ValueError):
    """An option has a value outside its range."""

    @classmethod
    def of(cls, argument: str, value: object, wrong: str, todo: str) -> OptionValueError:
        """Name the option, what is wrong with its value, and what to give."""
        return cls(f"{argument}={format_value(value)}: {wrong}.\n{todo}")


class ColumnTypeError(RocframeError, TypeError):
    """A column has a type that its role cannot take."""

    @classmethod
    def of(cls, argument: str, column: str, dtype: object, todo: str) -> ColumnTypeError:
        """Name the argument, the type found, and what would do."""
        return cls(f"{argument}={column!r}: the column has type {dtype}.\n{todo}")


class AmbiguousCountError(RocframeError, ValueError):
    """The table has a column `count` and nobody said what it is."""

    @classmethod
    def of(cls) -> AmbiguousCountError:
        """Offer the two ways to say it."""
        return cls(
            "count: the frame has a column 'count', and a row may stand for that many rows.\n"
            'Say count="count" if it does, or count=None if it does not.'
        )


class LabelError(RocframeError, ValueError):
    """Labels that do not say which class is positive."""

    @classmethod
    def undecided(
        cls, column: str, dtype: object, values: Iterable[object], example: object
    ) -> LabelError:
        """List the labels found, where nobody said which of them is positive."""
        found = list(values)
        return cls(
            f"label={column!r}: which value is positive? The labels are {dtype}, and only "
            "Boolean and 0/1 labels say so themselves.\n"
            f"Found: {format_list(found) or 'no labels'}.\n"
            + (
                "These look like scores: are label and score the right way round?"
                if isinstance(example, float) and len(found) > MAX_CLASSES
                else f"Name the positive class, such as positive={example!r}."
            )
        )

    @classmethod
    def absent(cls, positive: object, column: str, values: Iterable[object]) -> LabelError:
        """List the labels found, where the positive one is none of them."""
        return cls(
            f"positive={positive!r}: label column {column!r} has no such value.\n"
            f"Found: {format_list(values) or 'no labels'}.\nName one of these as positive."
        )

    @classmethod
    def without_score(
        cls, column: str, labels: Iterable[object], classes: Iterable[object], argument: str
    ) -> LabelError:
        """List the labels that are none of the classes."""
        return cls(
            f"label={column!r}: these labels have no score: {format_list(labels)}.\n"
            f"Classes with a score: {format_list(classes)}.\n"
            f"Add them to {argument}=, or leave such rows out with .filter()."
        )

    @classmethod
    def fourth(
        cls, column: str, labels: Iterable[object], classes: Iterable[object], argument: str
    ) -> LabelError:
        """List the labels that are none of three classes, the names of which are in `argument`."""
        return cls(
            f"label={column!r}: these labels are none of the three classes: "
            f"{format_list(labels)}.\n"
            f"Classes in {argument}=: {format_list(classes)}.\n"
            "Leave such rows out with .filter(), or make one class of several with .replace()."
        )

    @classmethod
    def without_row(
        cls, column: str, labels: Iterable[object], classes: Iterable[object]
    ) -> LabelError:
        """List the labels of which there is no row with a score."""
        return cls(
            f"label={column!r}: no row has a score of these labels: {format_list(labels)}.\n"
            f"Classes with a score: {format_list(classes) or 'none'}.\n"
            "Add rows with their scores, or leave out the instances that have such labels with "
            ".filter()."
        )

    @classmethod
    def not_binary(cls, column: str, example: object) -> LabelError:
        """Show a label of one class that is neither 0 nor 1."""
        return cls(
            f"label={column!r}: the label of one class is Boolean, or 0 and 1.\n"
            f"Found: {example!r}.\nDerive it first, say pl.col({column!r}) == {example!r}."
        )

    @classmethod
    def other_type(cls, positive: object, column: str, dtype: object) -> LabelError:
        """Say that the positive value and the labels cannot be compared."""
        several = isinstance(positive, list | tuple | set | frozenset)
        return cls(
            f"positive={format_value(positive)}: a value of type {type(positive).__name__} is "
            f"never equal to a label of {column!r}, which has type {dtype}.\n"
            + (
                f"Give one value; for several say label=pl.col({column!r}).is_in([…])."
                if several
                else "Give the positive value in the labels' own type."
            )
        )


class ScoreError(RocframeError, ValueError):
    """Scores that Float64 cannot hold exactly."""

    @classmethod
    def inexact(cls, column: str, dtype: object, example: object) -> ScoreError:
        """Name the column and one score that would change."""
        return cls(
            f"score={column!r}: {dtype} value {example} changes when it becomes Float64, so two "
            "scores might become one threshold.\nScale or rank the scores first, "
            f"say pl.col({column!r}).rank('dense')."
        )

    @classmethod
    def infinite(cls, column: str) -> ScoreError:
        """Name the column whose scores cannot be added."""
        return cls(
            f"score={column!r}: a score is infinite, and sums of scores have to be numbers.\n"
            f"Bound them first, say pl.col({column!r}).clip(-1000, 1000)."
        )


class MassError(RocframeError, ValueError):
    """Weights or counts that are negative, not finite, or too large to add up."""

    @classmethod
    def of(cls, argument: str, column: str, wrong: str, rows: int) -> MassError:
        """Name the argument, what is wrong, and in how many rows."""
        return cls(
            f"{argument}={column!r}: the {argument} is {wrong} in {format_rows(rows)}.\n"
            f"A {argument} is finite and at least 0; leave out rows with .filter(), "
            "or mend them where they come from."
        )

    @classmethod
    def overflow(cls, argument: str, column: str, largest: str) -> MassError:
        """Say that the sum, or its square, is beyond the type that holds it."""
        return cls(
            f"{argument}={column!r}: the {argument}s add up to more than {largest}, too much to "
            f"calculate with.\nDivide them by a common factor first; it changes no rate."
        )


class MissingValuesError(RocframeError, ValueError):
    """Null or NaN where `missing="raise"` wants none."""

    @classmethod
    def of(
        cls, argument: str, column: str, rows: int, where: str, *, worst: bool = False
    ) -> MissingValuesError:
        """Name the column, the rows, one group, and the policies there are."""
        given = "worst" if worst else "raise"
        todo = (
            'missing="worst" is for scores alone.\nSay missing="drop" to leave such rows out and '
            "count them, or .filter() them first."
            if worst
            else 'Say missing="drop" to leave such rows out and count them'
            + (
                ', or missing="worst" to count unscored rows as errors at every threshold.'
                if argument == "score"
                else "."
            )
        )
        return cls(
            f"missing={given!r}: {argument} column {column!r} is null or NaN in {format_rows(rows)}"
            f"{where}.\n{todo}"
        )


class PairingError(RocframeError, ValueError):
    """Rows of several models that do not pair up."""

    @classmethod
    def of(cls, argument: str, value: object, wrong: str, todo: str) -> PairingError:
        """Name the argument that pairs rows, what is wrong with them, and what to do."""
        return cls(f"{argument}={format_value(value)}: {wrong}.\n{todo}")


class BrokenCurveError(RocframeError, ValueError):
    """A table that is not a whole curve table."""

    @classmethod
    def of(cls, wrong: str, todo: str) -> BrokenCurveError:
        """Say what is missing and which verb makes such a table."""
        return cls(f"{wrong}.\n{todo}")


class LazyFrameError(RocframeError, TypeError):
    """A lazy frame where a collected table is needed."""

    @classmethod
    def of(cls, verb: str) -> LazyFrameError:
        """Say how to collect."""
        return cls(
            f"{verb}: this is a LazyFrame, and a picture needs the numbers.\n"
            f"Collect it first: curves.collect().roc.{verb}()."
        )


class LogError(RocframeError, OSError):
    """A prediction log that cannot be read."""

    @classmethod
    def of(cls, path: object, wrong: str, todo: str) -> LogError:
        """Name the file, what is wrong with it, and what to do."""
        return cls(f"{path}: {wrong}.\n{todo}")


class StorageError(RocframeError, OSError):
    """A table, chart or page that cannot be stored or read back."""

    @classmethod
    def of(cls, path: object, wrong: str, todo: str) -> StorageError:
        """Name the path, what is wrong, and what to do."""
        return cls(f"path={str(path)!r}: {wrong}.\n{todo}")


class MissingExtraError(RocframeError, ImportError):
    """A library that an extra of the package brings is not installed."""

    @classmethod
    def of(cls, wanted: str, library: str, extra: str) -> MissingExtraError:
        """Name what needs the library, and the extra that has it."""
        return cls(
            f"{wanted}: {library} is not installed, and nothing else can do this.\n"
            f'It comes with an extra: pip install "rocframe[{extra}]".'
        )
