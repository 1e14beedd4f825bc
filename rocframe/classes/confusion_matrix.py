"""The functions `confusion_matrix` and `expand_counts`: decisions and predicted classes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.classes.class_table import (
    bind_class_rows,
    build_class_table,
    check_class_roles,
    plan_class_table,
    read_multiclass_groups,
)
from rocframe.classes.inputs import (
    check_class_type,
    is_comparable,
    list_classes,
    nan_as_null,
    supertype,
    type_family,
    typed_classes,
)
from rocframe.curves.curve import trace_curves
from rocframe.decisions.concavities import doubled_pairs, doubled_wins
from rocframe.decisions.costs import CurveRows
from rocframe.errors import (
    ColumnTypeError,
    LabelError,
    MassError,
    MissingColumnError,
    OptionValueError,
)
from rocframe.frames import as_input_frame, build_table, column, lazy_plan, through_node
from rocframe.inference import class_notes, first_notes
from rocframe.inputs.cases import RowState, check_decisions, plan_table
from rocframe.inputs.roles import Roles, is_single_score, resolve_column
from rocframe.kernel.arrays import exact_quotient, sums_at
from rocframe.kernel.groups import groups_of_rows
from rocframe.kernel.scan import Scan
from rocframe.options import (
    NOT_GIVEN,
    check_group_columns,
    check_supported,
    is_text,
    parse_names,
    public,
)
from rocframe.rates import CONFUSION, RATES
from rocframe.schemas.curves import class_matrix_columns, confusion_matrix_columns
from rocframe.text import format_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.classes.class_table import MulticlassGroups, MulticlassRows
    from rocframe.classes.inputs import Classes, ClassScores, ResolvedColumn
    from rocframe.curves.curve import CurveArrays
    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


# Hints for labels of more than two classes, by the type families of the columns.
SEVERAL_CLASSES: dict[tuple[str, ...], str] = {
    ("number", "number"): "For predictions of several classes, pass classes=[{}].",
    (): "For a score of each class, pass these columns as scores=[…] instead of score=.",
}


@public
def confusion_matrix(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores | None = None,
    *,
    scores: ClassScores | None = None,
    classes: Classes = None,
    by: By = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Return the confusion matrix of decisions: of two classes, or of several.

    Decisions about two classes are Boolean, or 1 for a positive and 0 for a negative prediction.
    For several classes, `score` is the column of the predicted classes, or `scores` has the score
    of each class. Several classes are assumed if `scores` or `classes` is given, or if `label` and
    `score` are String, Categorical or Enum and `positive` is not given.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping, optional
        The decision, or the predicted class. Several columns of decisions add the group column
        `model`.
    scores : mapping, sequence of str, selector or str, default None
        Score of each class, instead of `score`, as in `multiclass_auc`. The class with the highest
        score is predicted; of equal scores, that of the first class.
    classes : sequence, default None
        The classes of `score`, by default all of the used rows in sorted order, or the categories
        of an Enum; or the classes in the order of the lists in `scores`.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    DataFrame or LazyFrame
        For two classes, one row per group, sorted by group: `*by`, (`model`,) `fpr, tpr, auc,
        below_chance, tp, fp, fn, tn, negated_fpr, negated_tpr, n_pos, n_neg, n_missing, note`.

        - `auc` (Float64) is (1 + `tpr` - `fpr`) / 2, or the AUC of the function `auc` with
          `missing="worst"`. `below_chance` (Boolean) is true if `tpr` is less than `fpr`.
        - `negated_fpr`, `negated_tpr` (Float64) are the rates if all decisions are reversed.
        - A rate is null if its class has no rows; `auc` and `below_chance` are then null too.
          `note` is null or `no_rows`, `no_positives`, `no_negatives`, `one_positive` or
          `one_negative`.

        For several classes, one row per group, true class and predicted class, sorted by group and
        in the order of the classes: `*by, true, predicted, count, share_of_true,
        share_of_predicted, n_missing, note`.

        - `count` is Int64, or Float64 if rows are weighted; 0 if no row has these two classes.
        - `share_of_true` and `share_of_predicted` (Float64) are `count` divided by the rows of the
          true and of the predicted class, null if there are none: where both classes are equal,
          recall and precision. `note` is `no_rows` for a group without rows.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, if a decision is not 0 or 1, or if a label or
        a predicted class is not one of `classes`.

    See Also
    --------
    curve : The curve of decisions, with three rows.
    expand_counts : Predictions from given confusion matrices.
    multiclass_metrics : Accuracy, F scores and other metrics of several classes.
    at : The confusion matrix of scores at a threshold.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874, section 3.
    doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 1, 0, 0], "decision": [True, False, False, False]})
    >>> matrix = rf.confusion_matrix(predictions, "label", "decision")
    >>> matrix.select("fpr", "tpr", "auc", "below_chance").row(0)
    (0.0, 0.5, 0.75, False)

    >>> animals = pl.DataFrame({"truth": ["cat", "cat", "dog"], "call": ["cat", "dog", "dog"]})
    >>> rf.confusion_matrix(animals, "truth", "call").select("true", "predicted", "count").rows()
    [('cat', 'cat', 1), ('cat', 'dog', 1), ('dog', 'cat', 0), ('dog', 'dog', 1)]
    """
    plan = lazy_plan("predictions", predictions)
    if (score is None) == (scores is None):
        problem = "expected either score= or scores=" if score is None else "score= is given too"
        hint = "Pass the decision or the predicted class as score=, or a score of each class as "
        raise OptionValueError.compose("scores", scores, problem, f"{hint}scores=.")
    roles = Roles(label, "" if score is None else score, by, positive, weight, count, missing)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        families = () if score is None else _type_families(plan, schema, roles)
        are_classes = positive is None and families == ("text", "text")
        if scores is not None or classes is not None or are_classes:
            check_supported("positive", positive, "several classes")
            if is_text(missing, "worst"):
                problem = "a row without a score has no predicted class"
                raise OptionValueError.compose("missing", missing, problem, 'Use missing="drop".')
            if scores is None:
                return _class_matrix(plan, schema, roles, classes)
            of_scores = replace(roles, score=scores)
            return _class_matrix_of_scores(plan, schema, of_scores, classes)
        columns = confusion_matrix_columns(roles.count_dtype)
        of_two = replace(roles, several_classes=SEVERAL_CLASSES.get(families, ""))
        compute = partial(_confusion_table, are_numbers=families == ("number", "number"))
        return plan_table(plan, of_two, compute, columns=columns, anchor="n_pos")

    return as_input_frame(predictions, plan.pipe_with_schema(resolve))


def _type_families(plan: pl.LazyFrame, schema: pl.Schema, roles: Roles) -> tuple[str, ...]:
    """Return the type families of the labels and of one score; empty for several scores."""
    if not (isinstance(roles.score, str | pl.Expr) and is_single_score(roles.score)):
        return ()
    assert roles.label is not NOT_GIVEN
    return tuple(
        type_family(resolve_column(plan, schema, argument, source)[2])
        for argument, source in (("label", roles.label), ("score", roles.score))
    )


class Cells(NamedTuple):
    """The cells with rows of confusion matrices of several classes, sorted, and their weights.

    `group`, `true` and `predicted` are the numbers of the group and of the classes of each cell.
    """

    group: NDArray[np.int64]
    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    weight: NDArray[Any]
    n_groups: int
    n_classes: int

    @classmethod
    def count_rows(cls, grouped: MulticlassGroups, predicted: NDArray[np.int64]) -> Cells:
        """Return the cells of rows with these predicted classes."""
        rows, size = grouped.rows, len(grouped.classes)
        cells, inverse = np.unique(
            (grouped.group * size + rows.code) * size + predicted, return_inverse=True
        )
        weight = sums_at(inverse, rows.row_weight, len(cells))
        segment, predicted = np.divmod(cells, max(size, 1))
        return cls(*np.divmod(segment, max(size, 1)), predicted, weight, grouped.keys.height, size)

    def by_group(self) -> NDArray[Any]:
        """Return the number of rows of each group."""
        return sums_at(self.group, self.weight, self.n_groups)

    def by_class(self, code: NDArray[np.int64], where: Any = slice(None)) -> NDArray[Any]:
        """Return the numbers of rows by group and class, which `code` has for each cell."""
        cells = self.group[where], code[where]
        return sums_at(cells, self.weight[where], (self.n_groups, self.n_classes))

    def n_distinct(self, code: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of classes of each group, which `code` has for each cell."""
        segments = np.unique(self.group * self.n_classes + code)
        return np.bincount(segments // max(self.n_classes, 1), minlength=self.n_groups)


def predicted_classes(rows: MulticlassRows) -> NDArray[np.int64]:
    """Return the class with the highest score of each row; the first of equal scores."""
    highest, predicted = np.full(len(rows.code), -np.inf), np.zeros(len(rows.code), np.int64)
    for i, score in enumerate(rows.scores):
        predicted[score > highest] = i
        np.maximum(highest, score, out=highest)
    return predicted


def _matrix_cells(grouped: MulticlassGroups, predicted: NDArray[np.int64]) -> dict[str, Any]:
    """Return the columns of confusion matrices, with a row per group and pair of classes."""
    cells = Cells.count_rows(grouped, predicted)
    size, groups = cells.n_classes, cells.n_groups
    matrix = np.zeros((groups, size, size), cells.weight.dtype)
    matrix[cells.group, cells.true, cells.predicted] = cells.weight
    shares = (
        exact_quotient(matrix.ravel(), np.broadcast_to(total, matrix.shape).ravel())
        for total in (matrix.sum(axis=2, keepdims=True), matrix.sum(axis=1, keepdims=True))
    )
    pairs = np.arange(groups * size * size)
    note = first_notes({"no_rows": grouped.n == 0})
    return {
        "true": grouped.classes[pairs // size % size],
        "predicted": grouped.classes[pairs % size],
        "count": matrix.ravel(),
        **dict(zip(("share_of_true", "share_of_predicted"), shares, strict=True)),
        "n_missing": np.repeat(grouped.n_missing, size * size),
        "note": np.repeat(note, size * size).tolist(),
    }


def _class_matrix_of_scores(
    plan: pl.LazyFrame, schema: pl.Schema, roles: Roles, classes: Classes
) -> pl.LazyFrame:
    """Return the query plan of the confusion matrices of the classes with the highest scores."""
    return plan_class_table(
        plan,
        schema,
        roles,
        classes,
        lambda grouped: _matrix_cells(grouped, predicted_classes(grouped.rows)),
        columns=lambda dtype: class_matrix_columns(dtype, roles.count_dtype),
        anchor="true",
    )


def _class_matrix(
    plan: pl.LazyFrame, schema: pl.Schema, roles: Roles, classes: Classes
) -> pl.LazyFrame:
    """Return the query plan of the confusion matrices of a column of predicted classes."""
    label, predicted = (
        resolve_column(plan, schema, argument, source)  # type: ignore[arg-type]
        for argument, source in (("label", roles.label), ("score", roles.score))
    )
    dtype = _class_dtype(label, predicted)
    check_class_roles(roles, [roles.label], "score", [roles.score])  # type: ignore[list-item]
    if classes is None and isinstance(dtype, pl.Enum):
        classes = dtype.categories.to_list()
    known = None
    if classes is not None:
        hint = 'Pass the classes, such as classes=["a", "b", "c"].'
        values = list_classes(classes, "expected a list of classes", hint)
        if not values:
            raise OptionValueError.compose("classes", [], "expected at least one class", hint)
        known = typed_classes("classes", values, dtype, label[0])
    raw = [nan_as_null(expr, own) for _, expr, own in (label, predicted)]
    present = [
        pl.when(values.is_not_null()).then(pl.lit(value)).alias(name)
        for values, value, (name, _, _) in zip(raw, (True, 0.0), (label, predicted), strict=True)
    ]
    columns = class_matrix_columns(dtype, roles.count_dtype)
    roles = replace(roles, label=present[0], score=present[1])
    raw = [values.cast(dtype) for values in raw]
    plan, bound, names = bind_class_rows(plan, schema, roles, raw, tuple(columns))

    def run(frame: pl.DataFrame) -> pl.DataFrame:
        # The score of a row is its number, because only used rows determine the classes.
        score = column(bound.private["score 0"])
        numbered = frame.with_columns(score + pl.int_range(pl.len()).cast(pl.Float64))
        truths = pl.zeros(frame.height, pl.Int32, eager=True).to_frame()
        empty = pl.Series("class", [], dtype)
        grouped = read_multiclass_groups(numbered, bound, truths, empty, [predicted[0]])
        both = [frame.get_column(name) for name in names]
        row = grouped.rows.scores[0].astype(np.int64)
        if known is None:
            both = [part.gather(row) for part in both]
            row = np.arange(len(row))
            values = pl.concat([empty, *(part.alias("class") for part in both)]).unique().sort()
        else:
            values = known
        numbers = pl.Series(range(len(values)), dtype=pl.Int32)
        codes = [part.replace_strict(values, numbers, default=None) for part in both]
        for argument, (name, _, _), part, code in zip(
            ("label", "score"), (label, predicted), both, codes, strict=True
        ):
            if code.null_count() > part.null_count():
                unknown = part.filter(code.is_null() & part.is_not_null()).unique().sort()
                raise LabelError(
                    f"{argument}={name!r}: these values are not in classes=: "
                    f"{format_list(unknown)}.\nThe classes are: {format_list(values)}.\n"
                    "Add them to classes=, or remove these rows with .filter()."
                )
        true, called = (code.gather(row).to_numpy() for code in codes)
        rows = replace(grouped.rows, code=true)
        cells = _matrix_cells(replace(grouped, rows=rows, classes=values), called)
        return build_class_table(grouped, bound, cells, columns, "true")

    # Without known classes, they are those of all rows: polars must not filter groups before.
    by = () if known is None else bound.by
    return through_node(plan, run, schema={**bound.keys, **columns}, by=by, anchor="true")


def _class_dtype(label: ResolvedColumn, predicted: ResolvedColumn) -> pl.DataType:
    """Return the type of both columns of classes: String for text, except for two equal Enums."""
    check_class_type("label", label[0], label[2])
    check_class_type("score", predicted[0], predicted[2])
    if not is_comparable(predicted[2], label[2]):
        hint = (
            f"The label column {label[0]!r} has type {label[2]}: pass a column of predicted "
            "classes of this type, or positive= for decisions about two classes."
        )
        raise ColumnTypeError.compose("score", predicted[0], predicted[2], hint)
    if predicted[2] == label[2] and not isinstance(label[2], pl.Categorical):
        return label[2]
    if is_comparable(label[2], pl.String()):
        return pl.String()
    return supertype((label[2], predicted[2]))


def _confusion_table(cases: Cases, *, are_numbers: bool) -> pl.DataFrame:
    """Return the confusion matrices of decisions; `are_numbers`: labels and decisions are both."""
    used = True if cases.state is None else cases.state == RowState.USED
    hint = 'Use decisions, for example pl.col("score") >= 0.5, or the function at(threshold=).'
    if are_numbers and (cases.score == np.rint(cases.score)).all():
        hint = "For predictions of several classes, pass classes=[…], without positive=."
    check_decisions(cases.score, np.asarray(used), hint)
    dtype = pl.Int64() if cases.weight is None else pl.Float64()
    curves = trace_curves(Scan.from_cases(cases))
    return build_table(*_confusion_columns(curves), confusion_matrix_columns(dtype))


def _confusion_columns(curves: CurveArrays) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the keys of the groups, and the columns of the result, from curves of decisions."""
    totals, rows = curves.scan.totals, curves.scan.rows
    first, last = curves.starts[:-1], curves.starts[1:] - 1
    row = first + np.add.reduceat(curves.threshold == 1, first)
    counts = {name: values[row] for name, values in curves.counts.items()}
    # If the decisions are reversed, rows without a decision are still errors.
    unscored_fn, unscored_fp = curves.counts["fn"][last], curves.counts["fp"][first]
    negated = {
        "tp": counts["fn"] - unscored_fn,
        "fp": counts["tn"] + unscored_fp,
        "fn": counts["tp"] + unscored_fn,
        "tn": counts["fp"] - unscored_fp,
    }
    (fpr, tpr), (negated_fpr, negated_tpr) = (
        [RATES[name].evaluate(matrix) for name in ("fpr", "tpr")] for matrix in (counts, negated)
    )
    curve = groups_of_rows(curves.starts, np.arange(len(curves.threshold)))
    tp, fp, scores = curves.counts["tp"], curves.counts["fp"], curves.scan.codec.scores
    sizes: dict[str, Any] = {"pos": totals.pos[curve], "neg": totals.neg[curve], "scores": scores}
    all_rows = CurveRows(curve=curve, threshold=curves.threshold, tp=tp, fp=fp, **sizes)
    wins = doubled_wins(all_rows, all_rows.threshold, len(row))
    return rows.keys, {
        **counts,
        "fpr": fpr,
        "tpr": tpr,
        "auc": exact_quotient(wins, doubled_pairs(all_rows, len(row))),
        "below_chance": pl.Series(tpr < fpr).set(pl.Series(np.isnan(tpr - fpr)), None),
        "negated_fpr": negated_fpr,
        "negated_tpr": negated_tpr,
        "n_pos": totals.pos_rows,
        "n_neg": totals.neg_rows,
        "n_missing": rows.unscored.n_missing,
        "note": class_notes(totals.pos_rows, totals.neg_rows).tolist(),
    }


def _checked_counts(values: pl.Series) -> pl.Series:
    """Return counts as Int64; raise an error if they are negative or too large."""
    counts = values.cast(pl.Int64, strict=False)
    if ((counts < 0) | (counts.is_null() & values.is_not_null())).any():
        # `values` can be a part of the column, so the number of invalid rows is unknown.
        raise MassError(
            f"table: column {values.name!r} has values that are negative or above the maximum of "
            "Int64.\nCorrect these rows, or remove them with .filter()."
        )
    return counts


EXPANDED = {"label": pl.Boolean(), "decision": pl.Boolean(), "count": pl.Int64()}


@public
def expand_counts(table: FrameT, /, *, by: By = None) -> FrameT:
    """Convert confusion matrices to predictions that have these confusion matrices.

    Pass the result, with `count="count"`, to any function of predictions that has this argument.
    Its curves have three points: all predictions negative, the confusion matrix, and all positive.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        One confusion matrix per row, with the integer columns `tp, fp, fn, tn`.
    by : str, Expr, selector or sequence, default None
        Group columns. The result has the same group columns.

    Returns
    -------
    DataFrame or LazyFrame
        Four rows per confusion matrix: `*by, label, decision` (Boolean, never null) and `count`
        (Int64), the number of predictions with this label and decision; null if this count of the
        table is.

    Raises
    ------
    RocframeError
        If a column is missing or not an integer column, if a count is negative or above the maximum
        of Int64, or if a group column is named `label`, `decision` or `count`.

    See Also
    --------
    confusion_matrix : The confusion matrix of predictions.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = rf.expand_counts(pl.DataFrame({"tp": [6], "fp": [1], "fn": [4], "tn": [9]}))
    >>> predictions.rows()
    [(True, True, 6), (False, True, 1), (True, False, 4), (False, False, 9)]
    >>> rf.auc(predictions, "label", "decision", count="count")["auc"].item()
    0.75
    """
    keys = parse_names(by)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        check_group_columns(keys, schema, tuple(EXPANDED))
        for name in CONFUSION:
            if name not in schema:
                raise MissingColumnError.of_table("table", name, schema)
            if not schema[name].is_integer():
                hint = "Counts must be integers. Cast the column first."
                raise ColumnTypeError.of_table("table", name, schema[name], hint)
        values = {"label": [True, False, True, False], "decision": [True, True, False, False]}
        lists = [pl.lit(pl.Series([cells])).first().alias(name) for name, cells in values.items()]
        counts = pl.concat_list(
            column(name).map_batches(_checked_counts, return_dtype=pl.Int64, is_elementwise=True)
            for name in CONFUSION
        )
        return plan.select(*(column(name) for name in keys), *lists, counts.alias("count")).explode(
            *EXPANDED
        )

    return as_input_frame(table, lazy_plan("table", table).pipe_with_schema(resolve))
