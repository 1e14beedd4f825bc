"""The function `decision_curve`: net benefit of each curve at probability thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.curves.at import point_axis, rows_at
from rocframe.curves.table import plan_curves, score_outside_unit
from rocframe.errors import OptionValueError, ScoreError
from rocframe.frames import build_table
from rocframe.inference import class_notes
from rocframe.options import parse_fraction, parse_numbers, public
from rocframe.schemas.curves import DECISION_CURVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By


DEFAULT_THRESHOLDS = tuple(i / 100 for i in range(100))


@public
def decision_curve(
    curves: FrameT,
    /,
    *,
    thresholds: float | Sequence[float] | None = None,
    prevalence: float | None = None,
    by: By = None,
) -> FrameT:
    """Return the decision curve of each group: the net benefit at probability thresholds.

    Scores must be probabilities. Rows with `score >= probability_threshold` are treated. The
    threshold p also determines the costs: a false positive costs p / (1 - p) times the benefit of a
    true positive. Without calibrated scores, another threshold can have a higher net benefit.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    thresholds : float or sequence of float, default None
        Probability thresholds of at least 0 and below 1; by default, 0, 0.01, …, 0.99.
    prevalence : float, default None
        Prevalence, between 0 and 1; by default that passed to `curve`, or else that of each curve.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and probability threshold, in rising order: `*by, probability_threshold,
        net_benefit, treat_all, treat_none, standardized_net_benefit, interventions_avoided, note`.
        With the prevalence π, all per prediction and Float64:

        - `net_benefit`: π·TPR - (1 - π)·FPR·p / (1 - p); of treating all rows in `treat_all`.
        - `standardized_net_benefit`: `net_benefit` / π; null if there are no positives.
        - `interventions_avoided`: (`net_benefit` - `treat_all`)·(1 - p) / p; null at the threshold
          0.

        Values are null if the group has no rows; with `prevalence`, all except `treat_all` and
        `treat_none` if it lacks a class. `note` (String) is null or `no_rows`, `no_positives`,
        `no_negatives`, `one_positive` or `one_negative`.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a score is outside [0, 1], if an option is invalid, or
        if a curve lacks rows that are needed.

    See Also
    --------
    decision_intervals : Confidence intervals, and differences between models.
    cost_curve : The expected cost as a function of the costs of errors, for any scores.

    References
    ----------
    A. J. Vickers, E. B. Elkin (2006), Medical Decision Making 26, 565. doi:10.1177/0272989X06295361

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.9, 0.6, 0.4, 0.4, 0.1]
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0, 0], "score": scores})
    >>> benefit = rf.curve(predictions, "label", "score").roc.decision_curve(thresholds=[0.2, 0.5])
    >>> benefit.select("probability_threshold", "net_benefit", "treat_all", "interventions_avoided")
    shape: (2, 4)
    ┌───────────────────────┬─────────────┬───────────┬───────────────────────┐
    │ probability_threshold ┆ net_benefit ┆ treat_all ┆ interventions_avoided │
    │ ---                   ┆ ---         ┆ ---       ┆ ---                   │
    │ f64                   ┆ f64         ┆ f64       ┆ f64                   │
    ╞═══════════════════════╪═════════════╪═══════════╪═══════════════════════╡
    │ 0.2                   ┆ 0.3         ┆ 0.25      ┆ 0.2                   │
    │ 0.5                   ┆ 0.0         ┆ -0.2      ┆ 0.2                   │
    └───────────────────────┴─────────────┴───────────┴───────────────────────┘
    """
    if thresholds is None:
        values = list(DEFAULT_THRESHOLDS)
    else:
        values = sorted(set(parse_probability_thresholds(thresholds)))
    if prevalence is not None:
        prevalence = parse_fraction("prevalence", prevalence, example=0.1)

    return plan_curves(
        curves,
        by,
        DECISION_CURVE,
        lambda curves, _: net_benefit_table(curves, values, prevalence),
        anchor="probability_threshold",
    )


def parse_probability_thresholds(thresholds: object, argument: str = "thresholds") -> list[float]:
    """Return probability thresholds: numbers of at least 0 and below 1."""
    example = "[0.05, 0.1, 0.2]"
    values = parse_numbers(argument, thresholds, bounds=(0, 1), example=example)
    if not values or 1 in values:
        problem = "the list is empty" if not values else "the odds of the threshold 1 are infinite"
        hint = f"Use thresholds of at least 0 and below 1, such as {example}."
        raise OptionValueError.compose(argument, thresholds, problem, hint)
    return [value + 0.0 for value in values]


def class_totals(
    pos: NDArray[Any], neg: NDArray[Any], prevalence: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the prevalence, and divisors of the counts of each class for shares of all rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = pos / (pos + neg)
        if prevalence is None:
            return share, pos + neg, pos + neg
        share = np.where(np.isnan(share), np.nan, prevalence)
        return share, pos / share, neg / (1 - share)


def net_benefit_table(
    curves: Curves, thresholds: Sequence[float], prevalence: float | None
) -> pl.DataFrame:
    """Return the result of `decision_curve`: a row for each curve and threshold."""
    problem = score_outside_unit(curves)
    if problem is not None:
        hint = "Use calibrated probabilities, or cost_curve, which accepts all scores."
        raise ScoreError.no_probability("curves", problem, hint)
    prevalence = curves.prevalence if prevalence is None else prevalence
    n_curves, n_points = len(curves.firsts), len(thresholds)
    row = rows_at(point_axis(curves, "threshold"), thresholds)[0]
    pos, neg = curves.pos[:, None], curves.neg[:, None]
    p = np.array(thresholds)[None, :]
    tp, fp = (curves.columns.at(name, row) for name in ("tp", "fp"))
    share, pos_total, neg_total = class_totals(pos, neg, prevalence)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = p / (1 - p)
        net_benefit = tp / pos_total - fp / neg_total * odds
        treat_all = share - (1 - share) * odds
        # The difference from `treat_all` is computed from the untreated rows, because a difference
        # of two net benefits would have larger rounding errors.
        avoided = (neg - fp) / neg_total - (pos - tp) / pos_total / odds
        columns: dict[str, NDArray[np.float64]] = {
            "net_benefit": net_benefit,
            "treat_all": treat_all,
            "treat_none": np.where(np.isnan(treat_all), np.nan, 0.0),
            "standardized_net_benefit": np.where(share > 0, net_benefit / share, np.nan),
            "interventions_avoided": np.where(odds > 0, avoided, np.nan),
        }
    note = class_notes(pos.ravel(), neg.ravel()).repeat(n_points)
    return build_table(
        curves.keys,
        {
            "probability_threshold": np.tile(p.ravel(), n_curves),
            **{name: values.ravel() for name, values in columns.items()},
            "note": note.tolist(),
        },
        DECISION_CURVE,
        rows=np.repeat(np.arange(n_curves), n_points),
    )
