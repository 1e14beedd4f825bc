"""The function `summary`: the main statistics of each group in one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.areas.pairs import count_pairs
from rocframe.decisions.h_measure import expected_losses
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import class_notes
from rocframe.inputs.cases import plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import scale_weights
from rocframe.kernel.scan import Scan
from rocframe.metrics.statistics import average_precision, eer, ks, pr_auc
from rocframe.options import NOT_GIVEN, public
from rocframe.probabilities.losses import probability_losses
from rocframe.schemas.statistics import SUMMARY

if TYPE_CHECKING:
    import polars as pl

    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores, Total


@public
def summary(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    total: Total = False,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute the main statistics of each group: areas, error rates, losses and prevalence.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
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
        One row per group, sorted by group: `*by`, (`model`,) `auc, gini, ks, eer,
        average_precision, pr_auc, h_measure, brier, log_loss, prevalence, n_pos, n_neg, n_missing,
        note`. Statistics are Float64; `n_pos`, `n_neg` and `n_missing` (Int64) count rows.

        `ks` is the largest TPR - FPR, at least 0, and `eer` the interpolated FPR at which FPR = 1 -
        TPR. `average_precision` and `pr_auc` are defined in `area`; `h_measure` has the prior
        Beta(2, 2). `log_loss` has the natural logarithm, of scores clipped to [2⁻⁵², 1 - 2⁻⁵²].

        Statistics are null without rows. The areas are null without positives, and `auc`, `gini`,
        `ks`, `eer` and `h_measure` also without negatives; `brier` and `log_loss`, if a score is
        outside [0, 1] or missing. `note` (String) is null, or the first of `no_rows, no_positives,
        no_negatives, not_probabilities, one_positive, one_negative` that applies.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    auc : The area under the ROC curve with a confidence interval.
    intervals : Confidence intervals of metrics.
    h_measure : The H measure with other priors.

    References
    ----------
    - T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874.
      doi:10.1016/j.patrec.2005.10.010
    - D. J. Hand (2009), Machine Learning 77(1), 103-123. doi:10.1007/s10994-009-5119-5

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 0, 1, 0, 1, 0], "score": [0.9, 0.8, 0.7, 0.4, 0.4, 0.1]}
    ... )
    >>> statistics = rf.summary(predictions, "label", "score")
    >>> statistics.select("auc", "ks", "eer", "average_precision", "h_measure", "brier")
    shape: (1, 6)
    ┌──────────┬──────────┬──────────┬───────────────────┬───────────┬──────────┐
    │ auc      ┆ ks       ┆ eer      ┆ average_precision ┆ h_measure ┆ brier    │
    │ ---      ┆ ---      ┆ ---      ┆ ---               ┆ ---       ┆ ---      │
    │ f64      ┆ f64      ┆ f64      ┆ f64               ┆ f64       ┆ f64      │
    ╞══════════╪══════════╪══════════╪═══════════════════╪═══════════╪══════════╡
    │ 0.722222 ┆ 0.333333 ┆ 0.333333 ┆ 0.755556          ┆ 0.333333  ┆ 0.211667 │
    └──────────┴──────────┴──────────┴───────────────────┴───────────┴──────────┘
    """
    roles = Roles(label, score, by, positive, weight, count, missing, total=total)
    table = plan_table(predictions, roles, summary_table, columns=SUMMARY.columns(), anchor="n_pos")
    return as_input_frame(predictions, table)


def summary_table(cases: Cases) -> pl.DataFrame:
    """Return one row per group: the group columns, then the statistics."""
    scan = Scan.from_cases(scale_weights(cases))
    totals = scan.totals
    auc = count_pairs(scan).areas[0]
    losses = probability_losses(scan)
    with np.errstate(divide="ignore", invalid="ignore"):
        prevalence = totals.pos / (totals.pos + totals.neg)
    columns = {
        "auc": auc,
        "gini": 2 * auc - 1,
        "ks": ks(scan),
        "eer": eer(scan),
        "average_precision": average_precision(scan),
        "pr_auc": pr_auc(scan),
        "h_measure": expected_losses(scan, (2.0, 2.0))["h_measure"],
        "brier": losses.brier,
        "log_loss": losses.log_loss,
        "prevalence": prevalence,
        **scan.size_columns,
        "note": class_notes(
            totals.pos_rows, totals.neg_rows, not_probabilities=np.isnan(losses.brier)
        ).tolist(),
    }
    return build_table(scan.rows.keys, columns, SUMMARY.columns())
