"""The function `h_measure`: Hand's H measure, a mean of the lowest expected loss over costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rocframe.curves.convex_hull import hull_vertices
from rocframe.curves.curve import trace_counts
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import class_notes
from rocframe.inputs.cases import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import exact_quotient
from rocframe.kernel.groups import groups_of_rows, scale_weights
from rocframe.kernel.scan import ReplicateScan, Scan
from rocframe.options import NOT_GIVEN, check_choice, public, to_floats
from rocframe.schemas.curves import H_MEASURE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores, Total
    from rocframe.kernel.scan import Scannable


PriorName = Literal["symmetric", "severity_ratio", "prevalence"]
Prior: TypeAlias = tuple[float, float] | PriorName
# The parameters of the named priors, from the prevalence and the number of negatives per positive.
PRIORS: dict[PriorName, Callable[[Any, Any], tuple[Any, Any]]] = {
    "symmetric": lambda *_: (2.0, 2.0),
    "severity_ratio": lambda _, odds: (2.0, 1 + odds),
    "prevalence": lambda share, _: (1 + share, 2 - share),
}


@public
def h_measure(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    prior: Prior | Sequence[float] = (2, 2),
    by: By = None,
    total: Total = False,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute the H measure of each group.

    The H measure is 1 minus the expected loss of the scores, divided by that of the better trivial
    classifier, which predicts the same class for all rows. An expected loss is the mean over a
    distribution of the costs of errors. The H measure is 1 for a perfect model, and 0 for a model
    that is never better than the trivial classifiers. Scores are never reversed.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    prior : (float, float) or str, default (2, 2)
        Parameters a and b of the beta distribution of the relative cost c_fp / (c_fp + c_fn), or a
        name. With the prevalence π, `"symmetric"` is Beta(2, 2), `"prevalence"` Beta(1 + π, 2 - π),
        and `"severity_ratio"` Beta(2, 1 / π), the default of the R package hmeasure.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    total : bool, str or sequence of str, default False
        Add rows of all groups together, with a column `total`: True, or the group columns over
        which groups are combined, such as `"segment"` for a total of each model.
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
        One row per group, sorted by group: `*by`, (`model`,) `h_measure, expected_loss,
        trivial_loss, prior_a, prior_b, n_pos, n_neg, n_missing, note`. `h_measure` (Float64) is 1 -
        `expected_loss` / `trivial_loss`, between 0 and 1, but can be below 0 with
        `missing="worst"`. `expected_loss` is the mean loss per row with the best threshold for each
        cost, and `trivial_loss` that of the better trivial classifier. `prior_a` and `prior_b` are
        the parameters of the beta distribution.

        The H measure and the losses are null if a class has no rows, and `prior_a` and `prior_b`
        also if they depend on the prevalence. `note` (String) is null or `no_rows`, `no_positives`,
        `no_negatives`, `one_positive` or `one_negative`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    cost_curve : The lowest expected cost for each ratio of costs.

    References
    ----------
    - D. J. Hand (2009), Machine Learning 77(1), 103-123. doi:10.1007/s10994-009-5119-5
    - D. J. Hand, C. Anagnostopoulos (2014), Pattern Recognition Letters 40, 41-46.
      doi:10.1016/j.patrec.2013.12.011

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.9, 0.8, 0.7, 0.4, 0.4, 0.1]
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0, 1, 0], "score": scores})
    >>> measure = rf.h_measure(predictions, "label", "score")
    >>> measure.select(pl.col("h_measure", "expected_loss").round(3)).row(0, named=True)
    {'h_measure': 0.333, 'expected_loss': 0.104}
    """
    parsed = parse_prior(prior)
    roles = Roles(label, score, by, positive, weight, count, missing, total=total)

    def compute(cases: Cases) -> pl.DataFrame:
        scan = Scan.from_cases(scale_weights(cases))
        totals = scan.totals
        columns = {
            **expected_losses(scan, parsed),
            "n_pos": totals.pos_rows,
            "n_neg": totals.neg_rows,
            "n_missing": scan.rows.unscored.n_missing,
            "note": class_notes(totals.pos_rows, totals.neg_rows).tolist(),
        }
        return build_table(scan.rows.keys, columns, H_MEASURE.columns())

    return as_input_frame(
        predictions,
        plan_table(predictions, roles, compute, columns=H_MEASURE.columns(), anchor="n_pos"),
    )


def parse_prior(prior: object) -> tuple[float, float] | PriorName:
    """Return the name of a prior, or the two parameters of a beta distribution."""
    if isinstance(prior, str):
        check_choice("prior", prior, PRIORS)
        return prior  # type: ignore[return-value]
    values = to_floats(prior)
    if values is None or len(values) != 2 or not all(0 < value < np.inf for value in values):
        problem = "expected two finite numbers above 0, or the name of a prior"
        names = ", ".join(map(repr, PRIORS))
        raise OptionValueError.compose("prior", prior, problem, f"Use prior=(2, 2), or {names}.")
    return values[0], values[1]


def expected_losses(
    scan: Scannable, prior: tuple[float, float] | PriorName
) -> dict[str, NDArray[np.float64]]:
    """Return the H measure of each group or resample, its mean losses, and its parameters.

    They are NaN if undefined.
    """
    from scipy.special import betainc

    if isinstance(scan, Scan):
        counts, _ = trace_counts(scan)
        tp, fp, starts = counts.tp, counts.fp, counts.starts
    else:
        assert isinstance(scan, ReplicateScan)
        tp, fp = scan.curve_counts()
        starts = np.arange(len(tp) + 1) * tp.shape[1]
        tp, fp = tp.ravel(), fp.ravel()
    pos, neg = (np.asarray(total, np.float64) for total in (scan.totals.pos, scan.totals.neg))
    both = (pos > 0) & (neg > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share, odds = (np.where(both, x, np.nan) for x in (pos / (pos + neg), neg / pos))
    parameters = PRIORS[prior](share, odds) if isinstance(prior, str) else prior
    a, b = (np.broadcast_to(np.asarray(x, np.float64), share.shape) for x in parameters)

    def below(
        cost: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the integral of c times the density of Beta(a, b), from 0 to `cost`."""
        result: NDArray[np.float64] = a / (a + b) * betainc(a + 1, b, cost)
        return result

    # Of two neighboring vertices, the one with the higher TPR has the lower loss if the relative
    # cost of a false positive is below the cost at which both losses are equal. 1 - c, the relative
    # cost of a false negative, has the distribution Beta(b, a).
    vertex = np.flatnonzero(hull_vertices(tp, fp, starts))
    curve = groups_of_rows(starts, vertex)
    is_edge = curve[1:] == curve[:-1]
    curve = curve[1:][is_edge]
    height, width = (np.diff(values[vertex])[is_edge] for values in (tp, fp))
    cost = exact_quotient(height, height + width)
    terms = width * below(cost, a[curve], b[curve]) + height * below(1 - cost, b[curve], a[curve])
    loss = np.bincount(curve, terms, len(pos)).astype(np.float64)
    # Unscored rows are errors at every threshold; their losses are added.
    first, last = starts[:-1], starts[1:] - 1
    loss = loss + fp[first] * (a / (a + b)) + np.maximum(pos - tp[last], 0) * (b / (a + b))
    trivial = neg * below(share, a, b) + pos * below(1 - share, b, a)
    only_scored = scan.totals.unscored_pos + scan.totals.unscored_neg == 0
    loss = np.where(only_scored, np.minimum(loss, trivial), loss)
    with np.errstate(invalid="ignore"):
        total = np.where(both, pos + neg, np.nan)
        losses = {"expected_loss": loss / total, "trivial_loss": trivial / total}
        h_measure = 1 - losses["expected_loss"] / losses["trivial_loss"]
    return {"h_measure": h_measure, **losses, "prior_a": a, "prior_b": b}
