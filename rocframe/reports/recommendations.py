"""State the threshold of lowest expected cost of each model of a report, and its effect."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, NamedTuple

from rocframe.decisions.operating_point import operating_point
from rocframe.rates import CONFUSION
from rocframe.reports.report_tables import group_columns
from rocframe.schemas.columns import THRESHOLD
from rocframe.text import format_count, format_name, format_threshold, format_values, join_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rocframe.reports.report import ReportOptions
    from rocframe.reports.report_tables import ReportTables


MAX_RECOMMENDATIONS = 40
OUTCOMES = {
    "tp": "true positive",
    "fp": "false positive",
    "fn": "false negative",
    "tn": "true negative",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """The recommended threshold of each group in words.

    `introduction` states the costs. `groups` contains the name and the recommendation of each
    group. `points` are the rows of the drawn curves at the recommended thresholds. If curves are
    averaged, `points` is None, because the recommended points are on pooled curves, which are not
    drawn.
    """

    introduction: str
    groups: list[tuple[str, str]]
    remarks: list[str]
    points: pl.DataFrame | None


def recommendations(tables: ReportTables, options: ReportOptions) -> Recommendations | None:
    """Return the thresholds of lowest expected cost in words; None if no costs are given.

    If curves are averaged over a group column such as `fold`, the thresholds are those of the
    pooled rows.
    """
    costs, prevalence = options.costs, options.prevalence
    if costs is None:
        return None
    curves = tables.curves if tables.pooled is None else tables.pooled
    points = operating_point(curves, "expected_cost", costs=costs, prevalence=prevalence)
    keys = group_columns(points, "rule")
    top = points.head(MAX_RECOMMENDATIONS)
    names = [""] * top.height
    if keys:
        columns = [format_values(top.get_column(key)) for key in keys]
        names = [", ".join(parts) for parts in zip(*columns, strict=True)]
    counts = (top.get_column(name).fill_null(0) for name in CONFUSION)
    texts = [
        _recommendation(threshold, tuple(row), costs, prevalence)
        for threshold, *row in zip(top.get_column(THRESHOLD), *counts, strict=True)
    ]
    at_prevalence = (
        "" if prevalence is None else f", at a prevalence of {_format_amount(prevalence)}"
    )
    remarks = []
    if tables.pooled is not None:
        over = format_name(str(options.averaged))
        remarks.append(f"The rows are pooled over {over}: one threshold for all values of {over}.")
    remarks.append(
        "Threshold and numbers are computed from the same rows. The numbers are therefore "
        "optimistic: expect a higher cost on other data."
    )
    thresholds = top.get_column(THRESHOLD).drop_nulls()
    if any(float(f"{threshold:.6g}") != threshold for threshold in thresholds):
        remarks.append(
            "Thresholds are rounded to 6 significant digits; the function operating_point returns "
            "all digits."
        )
    if points.height > top.height:
        remarks.append(f"Not shown here: {format_count(points.height - top.height, 'group')}.")
    return Recommendations(
        introduction=(
            f"Costs: {costs_text(costs)}. These thresholds have the lowest expected cost per row"
            f"{at_prevalence}."
        ),
        groups=list(zip(names, texts, strict=True)),
        remarks=remarks,
        points=points if tables.pooled is None else None,
    )


def costs_text(costs: Mapping[str, float]) -> str:
    """Return the costs in words, such as "1 per false positive and 5 per false negative"."""
    return join_names(
        [
            f"{_format_amount(costs[name])} per {OUTCOMES[name]}"
            for name in CONFUSION
            if name in costs
        ]
    )


class Shares(NamedTuple):
    """The shares of true positives, false positives, false negatives and true negatives."""

    tp: float
    fp: float
    fn: float
    tn: float

    @classmethod
    def at_rates(cls, tpr: float, fpr: float, prevalence: float) -> Shares:
        """Return the shares at a TPR, an FPR and a prevalence."""
        neg = 1 - prevalence
        return cls(prevalence * tpr, neg * fpr, prevalence * (1 - tpr), neg * (1 - fpr))

    def cost(self, costs: Mapping[str, float]) -> float:
        """Return the expected cost per row."""
        return sum(share * costs.get(name, 0) for name, share in zip(CONFUSION, self, strict=True))


def _recommendation(
    threshold: float | None,
    counts: Sequence[float],
    costs: Mapping[str, float],
    prevalence: float | None,
) -> str:
    """Return the recommended threshold of a group and its effect in sentences.

    `counts` are tp, fp, fn and tn at this threshold.
    """
    tp, fp, fn, tn = counts
    n_pos, n_neg = tp + fn, fp + tn
    if not n_pos or not n_neg or threshold is None:
        lacking = [name for name, n in (("positives", n_pos), ("negatives", n_neg)) if not n] or [
            "rows"
        ]
        return f"no recommendation, because there are no {join_names(lacking, 'or')}."
    share = n_pos / (n_pos + n_neg) if prevalence is None else prevalence
    shares = Shares.at_rates(tp / n_pos, fp / n_neg, share)
    never, always = (Shares.at_rates(rate, rate, share).cost(costs) for rate in (0, 1))
    alerts = shares.tp + shares.fp
    effect = (
        f"expected cost {_format_amount(shares.cost(costs))} per row (never alerting: "
        f"{_format_amount(never)}, always alerting: {_format_amount(always)})."
    )
    if isinf(threshold) and threshold > 0:
        return f"never predict positive; no threshold has a lower cost. Effect: {effect}"
    precision = _format_rate(shares.tp / alerts) if alerts else "undefined"
    return (
        f"predict positive if score ≥ {format_threshold(threshold)}. Of 100 rows, "
        f"{_format_amount(100 * alerts)} are alerts; recall {_format_rate(tp / n_pos)}, "
        f"precision {precision}; {effect}"
    )


def _format_rate(value: float) -> str:
    return f"{value:.2f}"


def _format_amount(value: float) -> str:
    """Return a number as text, with 3 significant digits or, from 1,000 on, as an integer."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")
