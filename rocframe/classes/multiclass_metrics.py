"""The function `multiclass_metrics`: losses and metrics of predictions of many classes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.classes.class_table import compute_class_table
from rocframe.classes.confusion_matrix import Cells, predicted_classes
from rocframe.decisions.costs import COSTS_EXAMPLE, format_classes, parse_pairs, parse_shares
from rocframe.errors import OptionValueError, ScoreError
from rocframe.inference import first_notes
from rocframe.inputs.cases import outside_unit_problem
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import exact_quotient, exact_sums
from rocframe.kernel.groups import run_starts
from rocframe.kinds import check_metric_settings, parse_metrics
from rocframe.options import NOT_GIVEN, check_choice, public
from rocframe.probabilities.losses import log_losses
from rocframe.rates import NAMES, Settings
from rocframe.schemas.statistics import MULTICLASS_DEFAULTS, MULTICLASS_METRICS
from rocframe.text import format_count, format_list, join_first

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.classes.class_table import MulticlassGroups, MulticlassRows
    from rocframe.classes.inputs import Classes, ClassScores
    from rocframe.decisions.costs import ClassShares, PairCosts
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing

# The probabilities of a row may differ from a sum of 1 by this much. Probabilities that a neural
# network computes in Float32 differ by less.
MAX_SUM_ERROR = 1e-4
# Losses are summed as integers, in units of 2**-56. The sums then do not depend on the order of the
# rows, and the largest loss, 36.05, does not exceed Int64.
LOSS_BITS = 56


@public
def multiclass_metrics(
    predictions: FrameT,
    /,
    label: Column,
    scores: ClassScores,
    *,
    metrics: str | Sequence[str] = MULTICLASS_DEFAULTS,
    by: By = None,
    classes: Classes = None,
    prior: ClassShares | None = None,
    costs: PairCosts | None = None,
    beta: float = 1.0,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute losses, accuracies, and averages of precision, recall and F over all classes.

    The predicted class of a row is the class with the highest score; of equal scores, that of the
    first class in `scores` or `classes`.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean, numbers, String, Categorical or Enum.
    scores : mapping, sequence of str, selector or str
        Score of each class, higher for this class: a mapping from classes to columns, columns named
        like their classes, or one column of lists. `"brier"` and `"log_loss"` require
        probabilities.
    metrics : str or sequence of str, optional
        `"brier"`, `"log_loss"`, `"accuracy"`, `"balanced_accuracy"`, `"kappa"`, `"mcc"`,
        `"expected_cost"`; `"top_2_accuracy"` with any number instead of 2; and `"macro_f1"`,
        `"micro_f1"`, `"weighted_f1"` with any of `precision, recall, specificity, npv, f1, f_beta,
        jaccard` instead of `f1`.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    classes : sequence, default None
        Classes in the order of the lists.
    prior : mapping, default None
        Share of each class, such as `{"a": 0.9, "b": 0.1}`: rows are weighted so that the classes
        have these shares in each group.
    costs : mapping or square matrix, default None
        For `"expected_cost"`: costs of errors, such as `{("a", "b"): 5}` for predicting b if the
        class is a; other errors cost 1. Or a matrix with a row per true and a column per predicted
        class.
    beta : float, default 1.0
        Weight of recall relative to precision in `f_beta`.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop"}, default "raise"
        Missing values: an error, or rows left out and counted in `n_missing`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group, sorted by group; with the default metrics: `*by, brier, log_loss,
        accuracy, balanced_accuracy, macro_f1, mcc, n, n_classes, n_classes_used,
        n_classes_predicted, n_missing, note`. Other metrics replace the first six.

        - Metrics are Float64: `brier` in [0, 2], `log_loss` in [0, 36.05] (probabilities are
          clipped to [ε, 1 - ε] with ε = 2⁻⁵²), `mcc` Gorodkin's and `kappa` Cohen's coefficient.
        - `macro_f1` is the mean over the classes, `weighted_f1` the mean weighted by the rows of
          each class, and `micro_f1` the F1 score of the summed counts. Classes whose value is 0/0
          are left out of the means.
        - `n`, `n_classes` and `n_missing` (Int64) count used rows, classes and rows left out;
          `n_classes_used` and `n_classes_predicted` (Int64) the classes with rows and predicted
          ones.
        - `note` (String) states why a metric is null: `no_rows`; `one_class`, if all rows have the
          same true or predicted class; or `absent_class`, if with `prior` a class has no rows, or
          if no class with rows is predicted.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, if the class of a label has no score, or, for
        `"brier"` and `"log_loss"`, if scores are not in [0, 1] with a sum of 1 ± 1e-4 in each row.

    See Also
    --------
    confusion_matrix : The numbers of rows of each true and predicted class.
    summary : Brier score and logarithmic loss of one score.
    multiclass_auc : Averages of AUCs, for any real scores.

    Notes
    -----
    For two classes, `brier` is twice the Brier score of one score. Without `prior`,
    `micro_precision`, `micro_recall` and `micro_f1` are equal to `accuracy`.

    References
    ----------
    - G. W. Brier (1950), Monthly Weather Review 78(1), 1-3.
      doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2
    - I. J. Good (1952), Journal of the Royal Statistical Society B 14(1), 107-114.
      doi:10.1111/j.2517-6161.1952.tb00104.x
    - J. Gorodkin (2004), Computational Biology and Chemistry 28(5-6), 367-374.
      doi:10.1016/j.compbiolchem.2004.09.006
    - M. Sokolova, G. Lapalme (2009), Information Processing and Management 45(4), 427-437.
      doi:10.1016/j.ipm.2009.03.002

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"truth": ["a", "b", "c"], "a": [7, 2, 4], "b": [2, 5, 5], "c": [1, 3, 3]}
    ... )
    >>> names = ["accuracy", "top_2_accuracy", "macro_recall"]
    >>> metrics = rf.multiclass_metrics(predictions, "truth", ["a", "b", "c"], metrics=names)
    >>> metrics.select(pl.col(names).round(4), "n").row(0)
    (0.6667, 0.6667, 0.6667, 3)
    """
    named = parse_metrics(metrics, _parse_class_metric, example="macro_f1")
    check_metric_settings(
        (name.removeprefix(f"{average}_") for name in named for average in AVERAGES),
        beta=beta,
        costs=costs,
        f_beta="macro_f_beta",
    )
    if "expected_cost" in named and costs is None:
        problem = "the costs of errors are not given"
        raise OptionValueError.compose("metrics", "expected_cost", problem, COSTS_EXAMPLE)
    settings = Settings(beta=beta)

    def compute(grouped: MulticlassGroups) -> dict[str, Any]:
        options = PriorAndCosts.parse(prior, costs, grouped.classes.to_list())
        rows = ClassDecisions(grouped, options, settings)
        if any(metric.of_probabilities for metric in named.values()):
            _check_class_probabilities(grouped.rows, grouped.names)
        return rows.columns(named)

    return compute_class_table(
        predictions,
        Roles(
            label=label,
            score=scores,
            by=by,
            weight=weight,
            count=count,
            missing=missing,
            needs_scores=True,
        ),
        classes,
        compute,
        columns=lambda _: MULTICLASS_METRICS.columns(named),
        anchor="n",
        check_classes=lambda values: PriorAndCosts.parse(prior, costs, values),
    )


class PriorAndCosts(NamedTuple):
    """Share of each class, or None, and costs of pairs of different classes other than 1."""

    prior: NDArray[np.float64] | None
    costs: Mapping[tuple[int, int], float]

    @classmethod
    def parse(cls, prior: object, costs: Any, classes: list[Any]) -> PriorAndCosts:
        """Return the shares and costs by the number of the class; raise an error if invalid."""
        shares = {} if prior is None else parse_shares(prior)
        for problem, wrong in (
            ("the share of {} is missing", [c for c in classes if c not in shares]),
            ("there are no scores of {}", [c for c in shares if c not in classes]),
        ):
            if wrong and prior is not None:
                hint = f"The classes are: {format_list(classes)}."
                named = problem.format(format_classes(wrong))
                raise OptionValueError.compose("prior", prior, named, hint)
        pairs = {} if costs is None else parse_pairs(costs, classes, "scores")
        codes = {name: i for i, name in enumerate(classes)}
        return cls(
            prior=None if prior is None else np.array([shares[name] for name in classes]),
            costs={(codes[a], codes[b]): float(cost) for (a, b), cost in pairs.items()},
        )


class ClassDecisions:
    """The predicted classes of the rows of all groups; `prior` becomes weights of rows."""

    def __init__(
        self, grouped: MulticlassGroups, options: PriorAndCosts, settings: Settings
    ) -> None:
        self.grouped, self.rows, self.settings = grouped, grouped.rows, settings
        self.prior, self.costs = options
        self.n_groups, self.n_classes = grouped.keys.height, len(grouped.classes)

    @cached_property
    def cells(self) -> Cells:
        """The numbers of rows by group, true class and predicted class, at the given shares."""
        cells = Cells.count_rows(self.grouped, predicted_classes(self.rows))
        if self.prior is None:
            return cells
        sizes = cells.by_class(cells.true)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = self.prior * sizes.sum(axis=1, keepdims=True) / sizes
        scale[(sizes == 0).any(axis=1)] = np.nan
        weight = cells.weight * scale[cells.group, cells.true]
        return cells._replace(weight=weight)

    @cached_property
    def counts(self) -> dict[str, NDArray[np.float64]]:
        """The confusion matrix of each class against all others, by group and class."""
        cells, correct = self.cells, self.cells.true == self.cells.predicted
        tp = cells.by_class(cells.true, correct)
        fp, fn = (cells.by_class(code, ~correct) for code in (cells.predicted, cells.true))
        tn = np.maximum(self.total[:, None] - tp - fp - fn, 0)
        return {"tp": tp, "fp": fp, "fn": fn, "tn": tn}

    @cached_property
    def n_distinct(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of classes with rows, and of classes that are predicted, in each group."""
        cells = self.cells
        return cells.n_distinct(cells.true), cells.n_distinct(cells.predicted)

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """The number of rows of each group, or the sum of their weights."""
        return self.cells.by_group()

    @cached_property
    def agreement(self) -> tuple[NDArray[np.float64], ...]:
        """The share of correct rows, and the sums over the classes of t·p, t² and p².

        t is the share of rows of the class, and p the share of rows for which it is predicted.
        """
        tp, fp, fn, _ = self.counts.values()
        with np.errstate(divide="ignore", invalid="ignore"):
            correct, t, p = ((x.T / self.total).T for x in (tp, tp + fn, tp + fp))
        products = ((t * p).sum(axis=1), (t * t).sum(axis=1), (p * p).sum(axis=1))
        return (correct.sum(axis=1), *products)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The rows in the order of their groups or, with `prior`, of group and class."""
        return np.argsort(self._segment, kind="stable")

    @property
    def _segment(self) -> NDArray[np.int64]:
        group = self.grouped.group
        return group if self.prior is None else group * self.n_classes + self.rows.code

    def mean(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean of each group; NaN for a group without rows."""
        shape = (self.n_groups, 1 if self.prior is None else self.n_classes)
        means = np.full(shape, np.nan)
        if len(values):
            segment, weight = self._segment[self.order], self.rows.row_weight[self.order]
            starts = run_starts(segment)
            sums, weights = (
                exact_sums(weight, part, starts)
                for part in (values[self.order], np.ones_like(values))
            )
            means.ravel()[segment[starts]] = exact_quotient(sums, weights)
        return means[:, 0] if self.prior is None else means @ self.prior

    def mean_loss(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean loss of each group, which does not depend on the order of the rows."""
        return self.mean(np.rint(losses * 2.0**LOSS_BITS).astype(np.int64)) * 2.0**-LOSS_BITS

    def true_scores(self) -> NDArray[np.float64]:
        """Return the score of each row for its true class."""
        result = np.zeros(len(self.rows.code))
        for i, score in enumerate(self.rows.scores):
            result[self.rows.code == i] = score[self.rows.code == i]
        return result

    def rates(self, name: str, counts: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return a metric of confusion matrices."""
        return replace(NAMES[name], settings=self.settings).evaluate(counts)

    def columns(self, metrics: Mapping[str, ClassMetric]) -> dict[str, Any]:
        """Return the columns of the result."""
        found = {name: metric.formula(self) for name, metric in metrics.items()}
        n, (n_used, n_predicted) = self.grouped.n, self.n_distinct
        is_null = np.logical_or.reduce([*map(np.isnan, found.values())])
        one_class = is_null & (np.minimum(n_used, n_predicted) == 1)
        notes = {"no_rows": n == 0, "one_class": one_class, "absent_class": is_null}
        return {
            **found,
            "n": n,
            "n_classes": self.n_classes,
            "n_classes_used": n_used,
            "n_classes_predicted": n_predicted,
            "n_missing": self.grouped.n_missing,
            "note": first_notes(notes).tolist(),  # type: ignore[arg-type]
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMetric:
    """A metric of several classes; `formula` returns its value in each group, NaN if undefined."""

    name: str
    formula: Callable[[ClassDecisions], NDArray[np.float64]]
    of_probabilities: bool = False


def _class_brier(rows: ClassDecisions) -> NDArray[np.float64]:
    """Return the mean of the sum over the classes of (probability - outcome)²."""
    squares = np.zeros(len(rows.rows.code))
    for i, score in enumerate(rows.rows.scores):
        squares += (score.astype(np.float64) - (rows.rows.code == i)) ** 2
    return rows.mean_loss(squares)


def _top_accuracy(rows: ClassDecisions, k: int) -> NDArray[np.float64]:
    """Return the share of rows whose true class is among the k classes with the highest scores."""
    true, above = rows.true_scores(), np.zeros(len(rows.rows.code), np.int64)
    for i, score in enumerate(rows.rows.scores):
        above += (score > true) | ((score == true) & (i < rows.rows.code))
    return rows.mean((above < k).astype(np.int64))


def _kappa(rows: ClassDecisions) -> NDArray[np.float64]:
    """Return Cohen's kappa of the true and the predicted class."""
    correct, chance, _, _ = rows.agreement
    return exact_quotient(correct - chance, 1 - chance)


def _mcc(rows: ClassDecisions) -> NDArray[np.float64]:
    """Return Gorodkin's correlation of the true and the predicted class."""
    correct, chance, true, predicted = rows.agreement
    squared = np.maximum(1 - true, 0) * np.maximum(1 - predicted, 0)
    squared[np.minimum(*rows.n_distinct) < 2] = 0  # up to rounding errors of sums of weights
    return np.clip(exact_quotient(correct - chance, np.sqrt(squared)), -1, 1)


def _class_cost(rows: ClassDecisions) -> NDArray[np.float64]:
    """Return the mean cost per row; errors without a given cost cost 1."""
    cells = rows.cells
    cost = (cells.true != cells.predicted).astype(np.float64)
    for (true, predicted), value in rows.costs.items():
        cost[(cells.true == true) & (cells.predicted == predicted)] = value
    return exact_quotient(cells._replace(weight=cells.weight * cost).by_group(), rows.total)


def _class_mean(values: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted mean over the classes whose value is defined."""
    weight = np.where(np.isnan(values), 0, weight)
    return exact_quotient((np.nan_to_num(values) * weight).sum(axis=1), weight.sum(axis=1))


def _macro(rows: ClassDecisions, rate: str) -> NDArray[np.float64]:
    return _class_mean(rows.rates(rate, rows.counts), np.ones(rows.n_classes))


def _weighted(rows: ClassDecisions, rate: str) -> NDArray[np.float64]:
    return _class_mean(rows.rates(rate, rows.counts), rows.counts["tp"] + rows.counts["fn"])


def _micro(rows: ClassDecisions, rate: str) -> NDArray[np.float64]:
    return rows.rates(rate, {name: count.sum(axis=1) for name, count in rows.counts.items()})


AVERAGES = {"macro": _macro, "micro": _micro, "weighted": _weighted}
AVERAGED_RATES = ("precision", "recall", "specificity", "npv", "f1", "f_beta", "jaccard")
CLASS_METRICS = {
    metric.name: metric
    for metric in (
        ClassMetric(name="brier", formula=_class_brier, of_probabilities=True),
        ClassMetric(
            name="log_loss",
            formula=lambda rows: rows.mean_loss(log_losses(rows.true_scores())[0]),
            of_probabilities=True,
        ),
        ClassMetric(name="accuracy", formula=partial(_micro, rate="recall")),
        ClassMetric(name="balanced_accuracy", formula=partial(_macro, rate="recall")),
        ClassMetric(name="kappa", formula=_kappa),
        ClassMetric(name="mcc", formula=_mcc),
        ClassMetric(name="expected_cost", formula=_class_cost),
        *(
            ClassMetric(name=f"{name}_{rate}", formula=partial(average, rate=rate))
            for name, average in AVERAGES.items()
            for rate in AVERAGED_RATES
        ),
    )
}


def _parse_class_metric(name: object) -> tuple[str, ClassMetric]:
    """Return the name and the record of a metric of several classes."""
    top = re.fullmatch(r"top_([1-9]\d*)_accuracy", name) if isinstance(name, str) else None
    if top is not None:
        formula = partial(_top_accuracy, k=int(top[1]))
        return top[0], ClassMetric(name=top[0], formula=formula)
    check_choice("metrics", name, [*CLASS_METRICS, "top_2_accuracy"])
    metric = CLASS_METRICS[str(name)]
    return metric.name, metric


def _check_class_probabilities(rows: MulticlassRows, names: Sequence[str]) -> None:
    """Raise an error if a score is outside [0, 1], or if the scores of a row do not sum to 1."""
    for name, score in zip(names, rows.scores, strict=True):
        problem = outside_unit_problem(score)
        if problem is not None:
            raise ScoreError.no_probability(
                f"scores={name!r}",
                problem,
                "Brier score and logarithmic loss need probabilities: convert the scores first, "
                "for example with the softmax function. Other metrics accept any real score, such "
                'as metrics=["accuracy", "macro_f1"].',
            )
    total = np.zeros(len(rows.code))
    for score in rows.scores:
        total += score
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
