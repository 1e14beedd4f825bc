"""A test that is planned → its standard errors, and its power.

References
----------
J. A. Hanley, B. J. McNeil (1983), "A method of comparing the areas under receiver operating
characteristic curves derived from the same cases", Radiology 148(3), 839-843.
doi:10.1148/radiology.148.3.6878708
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from rocframe.planning.variance import variance_of

if TYPE_CHECKING:
    from rocframe.inference.p_values import Alternative
    from rocframe.planning.variance import Variance

SeAt = Literal["estimate", "null"]

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One area against a given one, or against that of another model on rows of the same sizes.

    The null hypothesis is that the area is `null`, or that both are `auc_b`. `se_at` says whether
    the test divides by the standard error where the areas are, or under the null hypothesis.
    """

    auc: float
    null: float | None
    auc_b: float | None
    correlation: float | None
    n_pos: int
    n_neg: int
    alpha: float
    alternative: Alternative
    variance: Variance
    se_at: SeAt

    @property
    def reference(self) -> float:
        """The area that `auc` is compared with."""
        area = self.null if self.auc_b is None else self.auc_b
        assert area is not None
        return area

    @property
    def difference(self) -> float:
        """How far the area is from it."""
        return self.auc - self.reference

    @property
    def se_null(self) -> float:
        """Standard error of the difference under the null hypothesis."""
        own = self._variance(self.reference)
        return sqrt(own if self.correlation is None else 2 * own * (1 - self.correlation))

    @property
    def se(self) -> float:
        """Standard error of the difference that is there."""
        own = self._variance(self.auc)
        if self.auc_b is None or self.correlation is None:
            return sqrt(own)
        other = self._variance(self.auc_b)
        return sqrt(own + other - 2 * self.correlation * sqrt(own * other))

    @property
    def power(self) -> float:
        """How likely the test is to find the difference."""
        sides = 2 if self.alternative == "two-sided" else 1
        se = self.se
        boundary = se if self.se_at == "estimate" else self.se_null
        least = NORMAL.inv_cdf(1 - self.alpha / sides) * boundary
        above = NORMAL.cdf((self.difference - least) / se)
        below = NORMAL.cdf((-self.difference - least) / se)
        return {"two-sided": above + below, "greater": above, "less": below}[self.alternative]

    def _variance(self, area: float) -> float:
        return variance_of(self.variance, area, self.n_pos, self.n_neg)
