"""The function `multiclass_losses`: losses and accuracy of probabilities of many classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.classes.inputs import compute_class_table
from rocframe.errors import ScoreError
from rocframe.inference import first_notes
from rocframe.inputs.cases import outside_unit_problem
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import exact_quotient, exact_sums
from rocframe.kernel.groups import run_starts
from rocframe.options import NOT_GIVEN, public
from rocframe.probabilities.losses import log_losses
from rocframe.schemas.statistics import MULTICLASS_LOSSES
from rocframe.text import format_count, format_list, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.classes.inputs import Classes, ClassScores, MulticlassGroups, MulticlassRows
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing

# The probabilities of a row may differ from a sum of 1 by this much. Probabilities that a neural
# network computes in Float32 differ by less.
MAX_SUM_ERROR = 1e-4
# Losses are summed as integers, in units of 2**-56. The sums then do not depend on the order of the
# rows, and the largest loss, 36.05, does not exceed Int64.
LOSS_BITS = 56


@public
def multiclass_losses(
    predictions: FrameT,
    /,
    label: Column,
    scores: ClassScores,
    *,
    by: By = None,
    classes: Classes = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute the Brier score, the logarithmic loss and the accuracy over all classes.

    The Brier score is the mean over the rows of the sum of (probability - outcome)² over the
    classes; the outcome is 1 for the true class and 0 for all others. The logarithmic loss is the
    mean of -log(probability of the true class), with the natural logarithm. Lower losses are
    better.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean, numbers, String, Categorical or Enum.
    scores : mapping, sequence of str, selector or str
        Probability of each class, with a sum of 1 ± 1e-4: a mapping from classes to columns,
        columns named like their classes, or one column of lists.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    classes : sequence, default None
        Classes in the order of the lists.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop"}, default "raise"
        Missing values: an error, or rows left out and counted in `n_missing`.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, brier, log_loss, accuracy, n_classes, n, n_missing, note`; one row per group, sorted
        by group.

        - `brier` (Float64) is in [0, 2], and `log_loss` (Float64) in [0, 36.05], because
          probabilities are clipped to [ε, 1 - ε] with ε = 2⁻⁵².
        - `accuracy` (Float64) is the share of rows whose true class has the highest probability; of
          equal probabilities, that of the first class in `scores` or `classes` is the highest.
        - `n_classes`, `n` and `n_missing` (Int64) count classes, used rows and rows left out.
        - `note` (String) is `no_rows` for a group without rows, whose first three values are null.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, if the class of a label has no score, if a
        score is outside [0, 1], or if the scores of a row do not sum to 1.

    See Also
    --------
    summary : Brier score and logarithmic loss of one score.
    top_label : Return a table of the predicted classes, for example for `calibration`.
    multiclass_auc : Averages of AUCs, for any real scores.

    Notes
    -----
    `brier` is the sum of the Brier scores of the classes in the table of `one_vs_rest`: for two
    classes, twice the Brier score of one score. `log_loss` of two classes is that of one score.

    References
    ----------
    G. W. Brier (1950), "Verification of forecasts expressed in terms of probability", Monthly
    Weather Review 78(1), 1-3. doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2

    I. J. Good (1952), "Rational decisions", Journal of the Royal Statistical Society B 14(1),
    107-114. doi:10.1111/j.2517-6161.1952.tb00104.x

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {
    ...         "truth": ["cat", "dog", "emu"],
    ...         "cat": [0.7, 0.2, 0.2],
    ...         "dog": [0.2, 0.3, 0.5],
    ...         "emu": [0.1, 0.5, 0.3],
    ...     }
    ... )
    >>> losses = rf.multiclass_losses(predictions, "truth", ["cat", "dog", "emu"])
    >>> losses.select("brier", "log_loss", "accuracy", "n_classes", "n")
    shape: (1, 5)
    ┌──────────┬──────────┬──────────┬───────────┬─────┐
    │ brier    ┆ log_loss ┆ accuracy ┆ n_classes ┆ n   │
    │ ---      ┆ ---      ┆ ---      ┆ ---       ┆ --- │
    │ f64      ┆ f64      ┆ f64      ┆ i64       ┆ i64 │
    ╞══════════╪══════════╪══════════╪═══════════╪═════╡
    │ 0.566667 ┆ 0.92154  ┆ 0.333333 ┆ 3         ┆ 3   │
    └──────────┴──────────┴──────────┴───────────┴─────┘
    """
    roles = Roles(
        label=label,
        score=scores,
        by=by,
        weight=weight,
        count=count,
        missing=missing,
        needs_scores=True,
    )
    return compute_class_table(
        predictions,
        roles,
        classes,
        _loss_columns,
        columns=MULTICLASS_LOSSES.columns(),
        anchor="n",
    )


def _loss_columns(grouped: MulticlassGroups) -> dict[str, Any]:
    """Return the columns of the result, which has one row per group."""
    rows, names = grouped.rows, grouped.names
    _check_class_probabilities(rows, names)
    size = len(rows.code)
    total, squares, truth = np.zeros(size), np.zeros(size), np.zeros(size)
    highest, predicted = np.full(size, -np.inf), np.zeros(size, np.int32)
    for i, score in enumerate(rows.scores):
        probability = score.astype(np.float64)
        is_truth = rows.code == i
        total += probability
        squares += (probability - is_truth) ** 2
        truth[is_truth] = probability[is_truth]
        predicted[probability > highest] = i
        np.maximum(highest, probability, out=highest)
    _check_sums(rows, total, names)

    n_groups = grouped.keys.height
    order = np.argsort(grouped.group, kind="stable")
    group, weight = grouped.group[order], rows.row_weight[order]
    starts, n = run_starts(group), grouped.n

    def group_mean(values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean of each group; NaN for a group without rows."""
        result = np.full(n_groups, np.nan)
        if size:
            sums, weights = (
                exact_sums(weight, part, starts) for part in (values[order], np.ones_like(values))
            )
            result[group[starts]] = exact_quotient(sums, weights)
        return result

    def mean_loss(losses: NDArray[np.float64]) -> NDArray[np.float64]:
        return group_mean(np.rint(losses * 2.0**LOSS_BITS).astype(np.int64)) * 2.0**-LOSS_BITS

    return {
        "brier": mean_loss(squares),
        "log_loss": mean_loss(log_losses(truth)[0]),
        "accuracy": group_mean((predicted == rows.code).astype(np.int64)),
        "n_classes": len(names),
        "n": n,
        "n_missing": grouped.n_missing,
        "note": first_notes({"no_rows": n == 0}).tolist(),
    }


def _check_class_probabilities(rows: MulticlassRows, names: Sequence[str]) -> None:
    """Raise an error if a score is outside [0, 1]."""
    for name, score in zip(names, rows.scores, strict=True):
        problem = outside_unit_problem(score)
        if problem is not None:
            raise ScoreError.no_probability(
                f"scores={name!r}",
                problem,
                "Brier score and logarithmic loss need probabilities: convert the scores first, "
                "for example with the softmax function. multiclass_auc accepts any real score.",
            )


def _check_sums(rows: MulticlassRows, total: NDArray[np.float64], names: Sequence[str]) -> None:
    """Raise an error if the scores of a row do not sum to 1; `total` are the sums."""
    difference = np.abs(total - 1)
    n_wrong = int(np.count_nonzero(difference > MAX_SUM_ERROR))
    if not n_wrong:
        return
    worst = int(difference.argmax())
    values = [f"{float(score[worst]):.6g}" for score in rows.scores]
    sources = list(dict.fromkeys(names))
    if len(sources) > 1:
        values = [f"{name!r} {value}" for name, value in zip(names, values, strict=True)]
    raise ScoreError.no_probability(
        f"scores={sources[0]!r}" if len(sources) == 1 else f"scores=[{format_list(sources)}]",
        f"the scores do not sum to 1 in {n_wrong:,} of {format_count(len(total), 'row')}",
        f"The largest difference is in a row with the sum {total[worst]:.6g}: "
        f"{join_first(values)}.\nPass the probabilities of all classes. If probabilities are "
        "rounded, divide each by the sum of its row.",
    )
