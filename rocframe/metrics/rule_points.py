"""Confusion matrices at the threshold that a rule chooses, such as the highest Youden index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.decisions.operating_point import RuleOptions, allowed_rows
from rocframe.decisions.optimum import CurveRows, best_rows
from rocframe.errors import OptionValueError
from rocframe.kernel.resample import ReplicateScan
from rocframe.metrics.points import CurvePoints, units_of
from rocframe.schemas.columns import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.decisions.operating_point import Constraint
    from rocframe.decisions.optimum import Rule
    from rocframe.kernel.scan import Block, Scannable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleSearch:
    """Search for the row of each curve that a rule chooses among the rows that meet constraints.

    `unit` is the number by which the weights of each group of the data were divided, or None if
    they were not.
    """

    rule: Rule
    constraints: Sequence[Constraint]
    unit: NDArray[np.float64] | None = None

    @property
    def values(self) -> list[None]:
        """The values of the argument: None, because a rule has one point and no value."""
        return [None]

    @property
    def depends_on_prevalence(self) -> bool:
        """Whether the chosen row depends on the share of positives."""
        metrics = [self.rule.value, *(metric for metric, *_ in self.constraints)]
        return any(metric.varies_with_prevalence or metric.name == "alerts" for metric in metrics)

    def points(self, scan: Scannable, *, scores: bool = True) -> CurvePoints:  # noqa: ARG002
        """Return the best row of each group, with the highest threshold if several are best.

        `scores` has no effect. `PointSearch` has the same method.
        """
        rows, n_groups = self._curve_rows(scan), len(scan.totals.pos)
        best = best_rows(rows, self.rule, n_groups, allowed_rows(rows, self.constraints)).row
        exists = best >= 0
        counts = rows.take(np.where(exists, best, 0)).counts
        columns = {name: values[:, None] for name, values in counts.items()}
        return CurvePoints(**columns, missing=~exists[:, None])

    def _curve_rows(self, scan: Scannable) -> CurveRows:
        """Return the rows of all curves, including the rows at the threshold `inf`."""
        totals = scan.totals
        n_groups, unscored = len(totals.pos), totals.unscored_neg
        # A score without rows in a resample is not a threshold of the curve of this resample.
        is_sample = isinstance(scan, ReplicateScan)

        def steps(block: Block) -> tuple[NDArray[Any], ...]:
            curve = np.repeat(block.groups, np.diff(block.starts))
            arrays = curve, scan.codec.decode(block.codes), block.tp, block.fp
            if not is_sample:
                return arrays
            has_rows = (block.tp > block.tp0) | (block.fp > block.fp0)
            return tuple(array[has_rows] for array in arrays)

        above = (
            np.arange(n_groups),
            np.full(n_groups, np.inf),
            np.zeros(n_groups, totals.pos.dtype),
            np.zeros(n_groups, totals.neg.dtype),
        )
        parts = zip(above, *scan.map(steps), strict=True)
        curve, threshold, tp, fp = (np.concatenate(columns) for columns in parts)
        order = np.argsort(curve, kind="stable")
        curve = curve[order]
        tp, fp, pos, neg = (
            tp[order],
            fp[order] + unscored[curve],
            totals.pos[curve],
            totals.neg[curve],
        )
        if self.unit is not None:
            unit = np.broadcast_to(units_of(scan, self.unit), n_groups)[curve]
            tp, fp, pos, neg = (count * unit for count in (tp, fp, pos, neg))
        return CurveRows(
            curve=curve,
            threshold=threshold[order],
            tp=tp,
            fp=fp,
            pos=pos,
            neg=neg,
            scores=scan.codec.scores,
        )


def parse_rule(
    rule: object,
    *,
    costs: Mapping[str, float] | None,
    beta: float,
    **options: Any,
) -> RuleOptions | None:
    """Check the option `rule` of `intervals` and its options; return None if no rule is given.

    `costs` and `beta` may be given for the metrics only, so a rule that does not use them raises no
    error.
    """
    if rule is None:
        for name in ("benefits", "subject_to", "minimize"):
            if options[name] is not None:
                hint = f'Pass a rule as well, such as rule="youden", or leave out {name}=.'
                raise OptionValueError.compose(name, options[name], "no rule is given", hint)
        return None
    names = {str(rule), *(options["subject_to"] or ())}
    parsed = RuleOptions.parse(
        rule,
        costs=costs if names & {"expected_cost", "bayes"} else None,
        beta=beta if "f_beta" in names else 1.0,
        **options,
    )
    if len(parsed.rules) > 1:
        raise OptionValueError.compose("rule", rule, "expected one rule", 'Use rule="youden".')
    (chosen,), _ = parsed.at_prevalence(None)
    if chosen.threshold is not None:
        problem = "the costs determine the threshold, so it does not vary between samples"
        hint = f"Use {THRESHOLD}={chosen.threshold:.6g}."
        raise OptionValueError.compose("rule", rule, problem, hint)
    return parsed
