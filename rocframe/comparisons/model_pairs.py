"""Statistics, limits and p-values of pairs of models, and their table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from rocframe.areas.partial import Part, Range
from rocframe.errors import OptionValueError
from rocframe.frames import build_table
from rocframe.inference.confidence import normal_quantile, notes
from rocframe.inference.p_values import (
    Alternative,
    adjust_p_values,
    check_adjust,
    check_alternative,
    normal_p_value,
)
from rocframe.options import as_number, check_choice
from rocframe.schemas import comparison_columns
from rocframe.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.inference.p_values import Adjust


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of each pair: the null value of the difference, which side, what limits."""

    null: float
    alternative: Alternative
    level: float
    margin: bool = False

    @classmethod
    def of(
        cls, margin: float | None, alternative: Alternative, level: float, *, falling: bool = False
    ) -> Question:
        """Check the options that say so.

        A margin asks whether b is not worse than a by that much: whether a − b is below it, or
        above its negative where small numbers are the good ones (`falling`).
        """
        check_alternative(alternative)
        if margin is None:
            return cls(null=0.0, alternative=alternative, level=level)
        size = as_number(margin)
        if size is None or not 0 <= size < 1:
            raise OptionValueError.of(
                "margin", margin, "it is no difference from 0 to 1", "Give one, say margin=0.02."
            )
        if alternative != "two-sided":
            raise OptionValueError.of(
                "alternative",
                alternative,
                "margin= asks for one side already: whether b is not worse than a",
                "Leave one of the two out.",
            )
        if falling:
            return cls(null=-size, alternative="greater", level=level, margin=True)
        return cls(null=size, alternative="less", level=level, margin=True)

    def statistic(
        self, difference: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return how many standard errors a difference is from its null value.

        Without variance it is 0 where there is no difference and none is the null value, and
        undefined elsewhere.
        """
        off = difference - self.null
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = off / np.sqrt(variance)
        sure = variance == 0
        statistic[sure] = np.where((difference[sure] == 0) & (off[sure] == 0), 0.0, np.nan)
        return statistic

    def limits(
        self,
        difference: NDArray[np.float64],
        se: NDArray[np.float64],
        df: NDArray[np.float64] | None = None,
        *,
        largest: float = 1.0,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Wald's limits of a difference, clipped to what differences can be."""
        from scipy.special import stdtrit

        z = normal_quantile(self.level) if df is None else stdtrit(df, (1 + self.level) / 2)
        return (
            np.clip(difference - z * se, -largest, largest),
            np.clip(difference + z * se, -largest, largest),
        )

    def answer(
        self,
        difference: NDArray[np.float64],
        variance: NDArray[np.float64],
        df: NDArray[np.float64] | None = None,
        *,
        largest: float = 1.0,
    ) -> dict[str, NDArray[np.float64]]:
        """Return the columns of a test that has a variance; NaN is what is undefined."""
        se = np.sqrt(np.where(variance > 0, variance, np.nan))
        statistic = self.statistic(difference, variance)
        lower, upper = self.limits(difference, se, df, largest=largest)
        p_value = normal_p_value(statistic, self.alternative, df)
        if self.margin:  # models that order rows alike are within any margin
            p_value[(variance == 0) & (difference == 0) & np.isnan(statistic)] = 0.0
        return {
            "difference": difference,
            "se": se,
            "lower": lower,
            "upper": upper,
            "statistic": statistic,
            "df": np.full(len(se), np.nan) if df is None else np.where(variance > 0, df, np.nan),
            "p_value": p_value,
        }


def welch(
    variances: tuple[NDArray[np.float64], NDArray[np.float64]],
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> NDArray[np.float64]:
    """Return the degrees of freedom of a difference of two independent areas."""
    with np.errstate(divide="ignore", invalid="ignore"):
        own = [variance**2 / (size - 1) for variance, size in zip(variances, rows, strict=True)]
        df: NDArray[np.float64] = (variances[0] + variances[1]) ** 2 / (own[0] + own[1])
    return df


def pair_notes(
    units: tuple[NDArray[np.int64], NDArray[np.int64]],
    variance: NDArray[np.float64] | None,
    unmatched: NDArray[np.int64],
    redrawn: NDArray[np.int64] | None = None,
) -> NDArray[np.object_]:
    """Say of each group what keeps a pair from having all its numbers, or what was left out."""
    found = notes(*units, variance)
    for name, rows in (("redrawn", redrawn), ("unmatched", unmatched)):
        for i in np.flatnonzero(0 if rows is None else rows):
            found[i] = found[i] or f"{name}:{rows[i]}"  # type: ignore[index]
    return found


Whole = Literal["group", "all"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """Which pairs are compared, and which of them are one family of tests."""

    baseline: object
    adjust: Adjust | None
    whole: Whole

    @classmethod
    def of(cls, baseline: object, adjust: Adjust | None, family: Whole) -> Family:
        """Check the options that say so."""
        check_adjust(adjust)
        check_choice("family", family, get_args(Whole))
        return cls(baseline=baseline, adjust=adjust, whole=family)

    def pairs(self, models: Sequence[int], names: pl.Series) -> list[tuple[int, int]]:
        """Return the pairs among some models, given by place."""
        if self.baseline is None:
            return list(combinations(models, 2))
        known = names.to_list()
        if self.baseline not in known:  # there are no rows at all: see `check`
            return []
        first = known.index(self.baseline)
        return [(first, other) for other in models if first in models and other != first]

    def check(self, names: pl.Series) -> None:
        """Check that the baseline is one of the models."""
        known = names.to_list()  # none where there are no rows to say so
        if self.baseline is not None and known and self.baseline not in known:
            raise OptionValueError.of(
                "baseline", self.baseline, "there is no such model", f"There are: {listed(known)}."
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """A pair of models in some groups, all by place: a value of each column for each group."""

    a: int
    b: int
    groups: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]


def comparison_table(
    found: Sequence[Comparison],
    keys: pl.DataFrame,
    models: pl.Series,
    family: Family,
    *,
    area: str,
    test: str,
    level: float | None,
) -> pl.DataFrame:
    """Put comparisons together: sorted by group, then model a, then model b.

    `level` is that of the limits, None for tests that have none.
    """
    lengths = [len(one.groups) for one in found]
    group = _joined([one.groups for one in found])
    a, b = (np.repeat([getattr(one, side) for one in found], lengths) for side in "ab")
    order = np.lexsort((b, a, group))
    group = group[order]
    made: dict[str, Any] = {
        "model_a": models[a[order].astype(np.int64)],
        "model_b": models[b[order].astype(np.int64)],
        "ci_level": level,
    }
    schema = comparison_columns(models.dtype, area)
    for name in schema:
        if name == "test" and not any(name in one.columns for one in found):
            made[name] = test
        elif name not in made and name != "p_adjusted":
            values = _joined([one.columns[name] for one in found])[order]
            made[name] = values.tolist() if values.dtype == object else values
    families = group if family.whole == "group" else np.zeros(len(group), np.int64)
    made["p_adjusted"] = adjust_p_values(made["p_value"].astype(float), families, family.adjust)
    return build_table(keys, made, schema, rows=group)


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


Place: TypeAlias = float | Range


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is compared, and the scale it is shown on.

    `part` is the range of a partial area; `at` the fixed rate and its value.
    """

    part: Part | None = None
    at: tuple[Literal["fpr", "tpr"], float] | None = None

    @classmethod
    def of(cls, fpr: Place | None, tpr: Place | None, standardize: str | None) -> Measure:
        """Read the three options: a number fixes a rate, a pair is the range of a partial area."""
        for name, place, other in (("fpr", fpr, tpr), ("tpr", tpr, fpr)):
            value = as_number(place)
            if value is None or other is not None or standardize is not None:
                continue
            if not 0 <= value <= 1:
                raise OptionValueError.of(
                    name,
                    value,
                    "it is no rate between 0 and 1",
                    f"Give a rate, say {name}=0.1, or the range of a partial area, "
                    f"say {name}=(0, 0.1).",
                )
            return cls(at=(name, value))  # type: ignore[arg-type]
        return cls(part=Part.of(fpr, tpr, standardize))  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """What the columns of the two models begin with."""
        if self.at is not None:
            return "tpr" if self.at[0] == "fpr" else "fpr"
        return "auc" if self.part is None else "partial_auc"

    @property
    def slope(self) -> float:
        """How much the shown value changes with the raw one."""
        return 1.0 if self.part is None else self.part.slope

    @property
    def largest(self) -> float:
        """The largest difference of two shown values."""
        return 1.0 if self.part is None else self.part.slope * (self.part.b - self.part.a)

    def shown(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return raw areas on the scale they are shown on."""
        return value if self.part is None else self.part.standardize(value)
