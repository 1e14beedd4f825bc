"""Convert shares and costs of several classes to prevalence and costs of one-vs-rest curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.options import exact_fraction, parse_fraction, parse_number
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from numpy.typing import NDArray

CLASS_KEY = "class"  # the key column of curves of one class against the rest
PRIOR_EXAMPLE = "Use, for example, prior={'a': 0.9, 'b': 0.1}."
COSTS_EXAMPLE = "Use, for example, costs={('a', 'b'): 5}, the cost of predicting b for class a."
SHARE_ROUNDING = 1e-6  # largest accepted difference between the sum of all shares and 1

ClassShares: TypeAlias = Mapping[Any, float]
PairCosts: TypeAlias = (
    "Mapping[Any, float] | Sequence[Sequence[float]] | NDArray[Any] | pl.DataFrame"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassCosts:
    """Share of each class, and costs of errors of its one-vs-rest curve.

    `prior` maps each class to its share. `costs` maps each class to the costs of the outcomes of
    its curve, such as `fp` and `fn`, or is None if no costs are given.
    """

    prior: Mapping[Any, float]
    costs: Mapping[Any, Mapping[str, float]] | None

    @classmethod
    def parse(cls, prior: object, costs: Any) -> ClassCosts | None:
        """Return the shares and costs of all classes, or None if `prior` is None.

        Raise an error if costs of pairs of classes are given without `prior`.
        """
        by_pair = isinstance(costs, Mapping) and any(isinstance(key, tuple) for key in costs)
        if prior is None and not by_pair:
            return None
        if prior is None:
            problem = "costs of pairs of classes require the share of each class"
            raise OptionValueError.compose("costs", costs, problem, PRIOR_EXAMPLE)
        shares = _parse_shares(prior)
        is_matrix = hasattr(costs, "__iter__") and not isinstance(costs, Mapping | str)
        if by_pair or is_matrix:
            pairs = _parse_pairs(costs, list(shares))
            reduced = _costs_against_rest(shares, pairs)
            for name, errors in reduced.items():
                if not any(errors.values()):
                    problem = f"all errors that concern class {name!r} cost 0"
                    raise OptionValueError.compose("costs", costs, problem, COSTS_EXAMPLE)
        else:
            reduced = dict.fromkeys(shares, costs)
        return cls(prior=shares, costs=None if costs is None else reduced)

    def settings_of(self, name: Any) -> dict[str, Any]:
        """Return the options `prevalence` and `costs` of the one-vs-rest curve of a class."""
        return {"prevalence": self.prior[name], "costs": self.costs_of(name)}

    def costs_of(self, name: Any) -> Mapping[str, float] | None:
        """Return the costs of errors of the one-vs-rest curve of a class; None without costs."""
        return None if self.costs is None else self.costs[name]

    def split(self, frame: pl.DataFrame) -> Iterator[tuple[Any, pl.DataFrame]]:
        """Return pairs of a class in the column `class` and the rows of this class.

        Raise an error if a class of the table has no share.
        """
        parts = frame.partition_by(CLASS_KEY, maintain_order=True, as_dict=True)
        unknown = [name for (name,) in parts if name not in self.prior]
        if unknown:
            raise OptionValueError.compose(
                "prior",
                dict(self.prior),
                f"the share of class {format_list(unknown)} is missing",
                "Pass a share for every class of the table.",
            )
        return ((name, rows) for (name,), rows in parts.items())


def check_class_key(by: Iterable[str]) -> None:
    """Raise an error if the key columns of a curve table do not include `class`."""
    if CLASS_KEY not in by:
        hint = 'Compute the curves with by=["class"] to use prior=.'
        raise MissingColumnError.compose("prior", CLASS_KEY, by, noun="group column", hint=hint)


def _parse_shares(prior: object) -> dict[Any, float]:
    """Return the share of each class; raise an error unless the shares sum to 1."""
    if not isinstance(prior, Mapping) or len(prior) < 2:
        problem = "expected a mapping from two or more classes to their shares"
        raise OptionValueError.compose("prior", prior, problem, PRIOR_EXAMPLE)
    shares = {
        name: parse_fraction(f"prior[{name!r}]", share, example=0.1)
        for name, share in prior.items()
    }
    total = sum(shares.values())
    if abs(total - 1) > SHARE_ROUNDING:
        problem = f"the shares sum to {total:g} instead of 1"
        raise OptionValueError.compose("prior", prior, problem, "Divide each share by the sum.")
    return shares


def _parse_pairs(costs: Any, classes: list[Any]) -> dict[tuple[Any, Any], Fraction]:
    """Return the cost of each pair (true class, predicted class), from a mapping or a matrix.

    A matrix has a row for each true class and a column for each predicted class, both in the order
    of `classes`.
    """
    cost_of_pair = costs
    if not isinstance(costs, Mapping):
        matrix = costs.to_numpy().tolist() if isinstance(costs, pl.DataFrame) else costs
        rows = [list(row) if hasattr(row, "__iter__") else [row] for row in matrix]
        size = len(classes)
        if len(rows) != size or any(len(row) != size for row in rows):
            lengths = sorted({len(row) for row in rows})
            shape = f"{len(rows)} × {' or '.join(map(str, lengths))}"
            raise OptionValueError.compose(
                "costs",
                costs,
                f"expected a matrix of {size} × {size} costs, but this has {shape}",
                "Pass a row for each true class and a column for each predicted class, in the "
                "order of prior=.",
            )
        cost_of_pair = {
            (true, predicted): rows[i][j]
            for i, true in enumerate(classes)
            for j, predicted in enumerate(classes)
        }
    pairs = {}
    for key, cost in cost_of_pair.items():
        argument = f"costs[{key!r}]"
        if not isinstance(key, tuple) or len(key) != 2:
            problem = "the key of a cost must be a pair of the true class and the predicted class"
            raise OptionValueError.compose(argument, cost, problem, COSTS_EXAMPLE)
        for name in key:
            if name not in classes:
                problem = f"class {name!r} is not in prior="
                hint = f"The classes are: {format_list(classes)}."
                raise OptionValueError.compose(argument, cost, problem, hint)
        pairs[key] = exact_fraction(
            parse_number(argument, cost, low=0, closed="left", hint=COSTS_EXAMPLE)
        )
        if key[0] == key[1] and pairs[key]:
            problem = "the cost of a correct prediction must be 0"
            raise OptionValueError.compose(argument, cost, problem, "Leave out this pair.")
    return pairs


def _costs_against_rest(
    prior: Mapping[Any, float], pairs: Mapping[tuple[Any, Any], Fraction]
) -> dict[Any, dict[str, float]]:
    """Return the mean cost of a false positive and a false negative of each one-vs-rest curve.

    The means are over the other classes, weighted by their shares. Pairs of classes that are not in
    `pairs` cost 1.
    """
    shares = {name: exact_fraction(share) for name, share in prior.items()}
    total = sum(shares.values())
    sums = {name: {"fp": total - share, "fn": total - share} for name, share in shares.items()}
    for (true, predicted), cost in pairs.items():
        if true != predicted:
            sums[predicted]["fp"] += (cost - 1) * shares[true]
            sums[true]["fn"] += (cost - 1) * shares[predicted]
    return {
        name: {
            error: float(cost_sum / (total - shares[name]))
            for error, cost_sum in sums_of_class.items()
        }
        for name, sums_of_class in sums.items()
    }
