"""Logistic regression of all groups at once, and logistic recalibration of probabilities.

References
----------
D. R. Cox (1958), "Two further applications of a model for binary regression", Biometrika 45(3/4),
562-565. doi:10.1093/biomet/45.3-4.562
M. E. Miller, S. L. Hui, W. M. Tierney (1991), "Validation techniques for logistic regression
models", Statistics in Medicine 10(8), 1213-1226. doi:10.1002/sim.4780100805
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.kernel.groups import groups_of_rows
from rocframe.kernel.threads import run_parallel, split_rows
from rocframe.probabilities.losses import log_odds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.kernel.scan import Block, Scannable


MAX_STEPS = 50  # without a finite maximum, the parameters still change after this many Newton steps
MAX_STEP_HALVINGS = 60  # a step of at most 2^60 is reduced to a step of at most 1
# The last Newton step changes no linear predictor by more than this. Errors are squared by a step.
LAST_STEP = 1e-7
# The initial parameters of a group with at least `LARGE_GROUP` rows are fitted to every
# `SAMPLED_ROWS`-th row. The initial parameters of all other groups are 0.
LARGE_GROUP = 1 << 15
SAMPLED_ROWS = 32
PART_ROWS = 1 << 15  # the arrays of a part of this size fit into the cache of a processor
LIKELIHOOD_ROUNDING = 1e-12  # larger than the relative rounding error of a sum of logarithms
# Regressors are linearly dependent if the smallest eigenvalue of their information matrix, scaled
# to a diagonal of 1, is below this.
DEPENDENT = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogisticRows:
    """The rows of some groups for a logistic regression; each row stands for equal observations.

    The rows of the group `groups[i]` are `starts[i]` to `starts[i + 1] - 1`, at least one. `pos`
    and `neg` are the weights of the positives and of the negatives of each row, and may be
    fractions. `columns` are the regressors; an intercept is a column of ones. `offset` is a term of
    the linear predictor without a parameter, or None.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    pos: NDArray[Any]
    neg: NDArray[Any]
    columns: tuple[NDArray[np.float64], ...]
    offset: NDArray[np.float64] | None = None

    def of_groups(self, selected: NDArray[np.bool_]) -> LogisticRows:
        """Return the rows of the selected groups; `selected` has one value for each of `groups`."""
        lengths = np.diff(self.starts)
        starts = np.append(0, np.cumsum(lengths[selected]))
        return self._take(np.repeat(selected, lengths), self.groups[selected], starts)

    def thin(self, every: int) -> LogisticRows:
        """Return every `every`-th row; groups without any of these rows are omitted."""
        rows = np.arange(0, len(self.pos), every)
        starts = np.searchsorted(rows, self.starts)
        has_rows = np.diff(starts) > 0
        starts = np.append(starts[:-1][has_rows], len(rows))
        return self._take(rows, self.groups[has_rows], starts)

    def split(self, most: int) -> list[LogisticRows]:
        """Return the rows in parts of at most `most` rows, which may divide a group."""
        parts = []
        for rows in split_rows(len(self.pos), most):
            first = groups_of_rows(self.starts, rows.start)
            last = np.searchsorted(self.starts, rows.stop)
            starts = self.starts[first : last + 1].clip(rows.start, rows.stop) - rows.start
            parts.append(self._take(rows, self.groups[first:last], starts))
        return parts

    def _take(
        self, rows: Any, groups: NDArray[np.int64], starts: NDArray[np.int64]
    ) -> LogisticRows:
        """Return the given rows, which are those of `groups` with these `starts`."""
        return LogisticRows(
            groups=groups,
            starts=starts,
            pos=self.pos[rows],
            neg=self.neg[rows],
            columns=tuple(column[rows] for column in self.columns),
            offset=None if self.offset is None else self.offset[rows],
        )


class _Likelihood(NamedTuple):
    """The log likelihood of each group, its gradient, and the information matrix.

    The information matrix is the negative matrix of second derivatives.
    """

    value: NDArray[np.float64]
    gradient: NDArray[np.float64]
    information: NDArray[np.float64]


def fit_logistic(
    parts: Sequence[LogisticRows], n_columns: int, selected: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the maximum likelihood estimates of logistic regressions.

    The result has one row for each group, and one column for each of the `n_columns` regressors.
    The model of a row is logit(P) = offset + Σ parameter · regressor, where P is the probability of
    a positive. `parts` are the rows of all groups; a group may have rows in several parts.
    `selected` has one value for each group, and is True for the groups to fit.

    The parameters of a group are NaN if the group is not selected, if it has no rows, if its
    regressors are linearly dependent, or if the likelihood has no finite maximum because a linear
    function of the regressors separates the classes.
    """
    n_rows = np.zeros(len(selected), np.int64)
    for part in parts:
        n_rows[part.groups] += np.diff(part.starts)
    active = selected & (n_rows > 0)
    parameters = np.zeros((len(selected), n_columns))
    is_large = active & (n_rows >= LARGE_GROUP)
    if is_large.any():
        # A fit to some of the rows saves steps with all rows.
        sample = [part.thin(SAMPLED_ROWS) for part in _select_groups(parts, is_large)]
        parameters = np.nan_to_num(fit_logistic(sample, n_columns, is_large))
    parts = [piece for part in parts for piece in part.split(PART_ROWS)]
    parts = _select_groups(parts, active)
    result = np.full(parameters.shape, np.nan)
    # The product of a parameter and the largest regressor is its largest term of a linear
    # predictor, whatever the unit of the regressor.
    largest = np.zeros(parameters.shape)
    # A row on the wrong side lowers the log likelihood by at least log(2) times its weight. If the
    # log likelihood is higher, a linear function of the regressors separates the classes.
    smallest_weight = np.full(len(selected), np.inf)
    extremes = run_parallel(_part_extremes, parts, arrays_only=True)
    for part, (values, weights) in zip(parts, extremes, strict=True):
        largest[part.groups] = np.maximum(largest[part.groups], values)
        smallest_weight[part.groups] = np.minimum(smallest_weight[part.groups], weights)

    likelihood = _likelihood(parts, parameters, n_columns)
    for _ in range(MAX_STEPS):
        active &= likelihood.value <= -np.log(2) * smallest_weight
        steps = np.zeros(parameters.shape)
        steps[active] = _newton_steps(likelihood.gradient[active], likelihood.information[active])
        active &= ~np.isnan(steps).any(axis=1)
        moved = (abs(steps) * largest).sum(axis=1)
        is_last = active & (moved <= LAST_STEP * ((abs(parameters) * largest).sum(axis=1) + 1))
        result[is_last] = (parameters + steps)[is_last]
        active &= ~is_last
        if not active.any():
            break
        parts = _select_groups(parts, active)
        parameters, likelihood = _halve_steps(parts, parameters, steps, likelihood, active)
    return result


def log_likelihood(
    parts: Sequence[LogisticRows], parameters: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log likelihood of each group; `parameters` has one row for each group.

    The log likelihood of a group without rows is 0.
    """
    return _likelihood(parts, parameters, parameters.shape[1]).value


def _part_extremes(part: LogisticRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest absolute value of each regressor, and the smallest weight above 0.

    The first array has one row for each group of the part, and one column for each regressor. The
    second array has the smallest weight of each group; with an offset, it is 0.
    """
    starts = part.starts[:-1]
    largest = [np.maximum.reduceat(abs(column), starts) for column in part.columns]
    smallest = np.zeros(len(starts))
    if part.offset is None:
        smallest = np.minimum(
            *(
                np.minimum.reduceat(np.where(weight > 0, weight, np.inf), starts)
                for weight in (part.pos, part.neg)
            )
        )
    return np.stack(largest, axis=1), smallest


def _select_groups(parts: Sequence[LogisticRows], active: NDArray[np.bool_]) -> list[LogisticRows]:
    """Return the parts that have active groups.

    The rows of other groups are removed if most groups of the part are not active.
    """
    selected = [active[part.groups] for part in parts]
    return [
        # Otherwise, a copy of the rows would take more time than it saves.
        part.of_groups(mask) if 2 * np.count_nonzero(mask) < len(mask) else part
        for part, mask in zip(parts, selected, strict=True)
        if mask.any()
    ]


def _halve_steps(
    parts: Sequence[LogisticRows],
    parameters: NDArray[np.float64],
    steps: NDArray[np.float64],
    before: _Likelihood,
    active: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], _Likelihood]:
    """Return the parameters after a Newton step, and their likelihood.

    The step of a group is halved until its likelihood does not decrease.
    """
    after = _likelihood(parts, parameters + steps, steps.shape[1])
    for _ in range(MAX_STEP_HALVINGS):
        decreases = active & ~(
            after.value >= before.value - LIKELIHOOD_ROUNDING * abs(before.value)
        )
        if not decreases.any():
            break
        steps = np.where(decreases[:, None], steps / 2, steps)
        again = _likelihood(_select_groups(parts, decreases), parameters + steps, steps.shape[1])
        for values, new_values in zip(after, again, strict=True):
            values[decreases] = new_values[decreases]
    return parameters + steps, after


def _likelihood(
    parts: Sequence[LogisticRows], parameters: NDArray[np.float64], n_columns: int
) -> _Likelihood:
    """Return the log likelihood of the groups in `parts`; 0 for all other groups."""
    n_groups = len(parameters)
    total = _Likelihood(
        np.zeros(n_groups),
        np.zeros((n_groups, n_columns)),
        np.zeros((n_groups, n_columns, n_columns)),
    )
    results = run_parallel(
        lambda part: _part_likelihood(part, parameters[part.groups]), parts, arrays_only=True
    )
    for part, result in zip(parts, results, strict=True):
        for values, part_values in zip(total, result, strict=True):
            values[part.groups] += part_values
    return total


def _part_likelihood(part: LogisticRows, parameters: NDArray[np.float64]) -> _Likelihood:
    """Return the log likelihood of each group of a part; `parameters` has a row for each group."""
    lengths, starts, n_columns = np.diff(part.starts), part.starts[:-1], len(part.columns)
    predictor: Any = 0.0 if part.offset is None else part.offset
    for column, values in zip(part.columns, parameters.T, strict=True):
        predictor = predictor + column * (
            values[0] if len(values) == 1 else np.repeat(values, lengths)
        )
    # No exponential overflows, and no probability is computed as 1 minus the other, which would be
    # 0 after rounding.
    low, high = np.minimum(predictor, 0), np.maximum(predictor, 0)
    p, q = np.exp(low), np.exp(-high)
    decay = p * q
    larger = 1 / (1 + decay)
    p *= larger
    q *= larger
    total = part.pos + part.neg
    residual = part.pos * q - part.neg * p
    information_weight = total * p * q
    value = part.pos * low - part.neg * high - total * np.log1p(decay)
    gradient = np.empty((len(lengths), n_columns))
    information = np.empty((len(lengths), n_columns, n_columns))
    for i, column in enumerate(part.columns):
        gradient[:, i] = np.add.reduceat(residual * column, starts)
        weighted = information_weight * column
        for j, other in enumerate(part.columns[: i + 1]):
            information[:, i, j] = information[:, j, i] = np.add.reduceat(weighted * other, starts)
    return _Likelihood(np.add.reduceat(value, starts), gradient, information)


def _newton_steps(
    gradient: NDArray[np.float64], information: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the Newton step of each group; NaN if the information matrix is singular."""
    scale = np.sqrt(np.diagonal(information, axis1=1, axis2=2))
    regular = np.flatnonzero(np.isfinite(scale).all(axis=1) & (scale > 0).all(axis=1))
    scaled = information[regular] / scale[regular, :, None] / scale[regular, None, :]
    is_independent = np.linalg.eigvalsh(scaled).min(axis=1, initial=1) > DEPENDENT
    regular, scaled = regular[is_independent], scaled[is_independent]
    scale = scale[regular]
    steps = np.full(gradient.shape, np.nan)
    solutions = np.linalg.solve(scaled, (gradient[regular] / scale)[:, :, None])
    steps[regular] = solutions[:, :, 0] / scale
    return steps


class Recalibration(NamedTuple):
    """Intercept and slope of the logistic recalibration model of each group.

    `constant` is true if all scores between 0 and 1 are equal, and `separated` if a threshold
    separates the classes.
    """

    intercept: NDArray[np.float64]
    slope: NDArray[np.float64]
    constant: NDArray[np.bool_]
    separated: NDArray[np.bool_]


def logistic_recalibration(scan: Scannable) -> Recalibration:
    """Return the parameters a and b of logit(P) = a + b·logit(score), where P = P(positive).

    For calibrated scores, a is 0 and b is 1. The parameters are NaN if a class is absent, all
    scores are equal, or a threshold separates the classes. Rows with a score of 0 or 1 are left
    out, because their logits are infinite. All scores must be in [0, 1].
    """
    parts = _finite_logits(scan, slope=True)
    lowest, highest = _class_ranges(parts, len(scan.totals.pos))
    overlap = (highest[0] > lowest[1]) & (highest[1] > lowest[0])
    intercept, slope = fit_logistic(parts, 2, overlap).T
    has_classes = np.isfinite(highest).all(axis=0)
    constant = has_classes & (lowest.min(axis=0) == highest.max(axis=0))
    return Recalibration(intercept, slope, constant, has_classes & ~overlap & ~constant)


def unit_slope_intercept(scan: Scannable) -> NDArray[np.float64]:
    """Return the parameter a of logit(P) = a + logit(score), the calibration in the large.

    The parameter is 0 if the mean score of a group is its event rate. It is NaN if a class is
    absent. Rows with a score of 0 or 1 are left out, because their logits are infinite. All scores
    must be in [0, 1].
    """
    parts = _finite_logits(scan, slope=False)
    _, highest = _class_ranges(parts, len(scan.totals.pos))
    has_classes = np.isfinite(highest[0]) & np.isfinite(highest[1])
    return fit_logistic(parts, 1, has_classes)[:, 0]


def _finite_logits(scan: Scannable, *, slope: bool) -> list[LogisticRows]:
    """Return the rows of a logistic recalibration; rows with a score of 0 or 1 have the weight 0.

    If `slope` is false, the logit of the score is the offset and not a regressor.
    """

    def block_rows(block: Block) -> LogisticRows:
        score = scan.codec.decode(block.codes)
        is_finite = (score > 0) & (score < 1)
        one, logit = ones(score), log_odds(score)
        return LogisticRows(
            groups=block.groups,
            starts=block.starts,
            pos=np.where(is_finite, block.pos, 0),
            neg=np.where(is_finite, block.neg, 0),
            columns=(one, logit) if slope else (one,),
            offset=None if slope else logit,
        )

    return scan.map(block_rows)


def _class_ranges(
    parts: Sequence[LogisticRows], n_groups: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and the highest last regressor of positives and of negatives in each group.

    Rows with the weight 0 are left out. The result is infinite if a class has no rows.
    """
    lowest, highest = np.full((2, n_groups), np.inf), np.full((2, n_groups), -np.inf)
    for part in parts:
        groups, starts, values = part.groups, part.starts[:-1], part.columns[-1]
        for side, weight in enumerate((part.pos, part.neg)):
            low = np.minimum.reduceat(np.where(weight > 0, values, np.inf), starts)
            high = np.maximum.reduceat(np.where(weight > 0, values, -np.inf), starts)
            lowest[side, groups] = np.minimum(lowest[side, groups], low)
            highest[side, groups] = np.maximum(highest[side, groups], high)
    return lowest, highest


def ones(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the regressor of the intercept, without a copy for each score."""
    return np.broadcast_to(1.0, scores.shape)
