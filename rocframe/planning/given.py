"""What callers give, one value or several → every combination of them, checked."""

from __future__ import annotations

from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from rocframe.errors import OptionValueError
from rocframe.inference.p_values import check_alternative
from rocframe.options import as_number, check_choice, share, whole
from rocframe.planning.plan import SeAt
from rocframe.planning.variance import Variance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Several: TypeAlias = "float | Sequence[float]"
SeveralWhole: TypeAlias = "int | Sequence[int]"


def area(argument: str, value: object) -> float:
    """Check an area; at 0 and 1 the variance has no formula."""
    return share(argument, value, "an area is between 0 and 1", f"Give, say, {argument}=0.8.")


def alpha(argument: str, value: object) -> float:
    """Check a level of significance."""
    wrong = "the chance of a false alarm is a number between 0 and 1"
    return share(argument, value, wrong, "Give, say, alpha=0.05.")


def power(argument: str, value: object) -> float:
    """Check a power that is wanted."""
    wrong = "the chance to find a difference is a number between 0 and 1"
    return share(argument, value, wrong, "Give, say, power=0.8.")


def ratio(argument: str, value: object) -> float:
    """Check how many negatives there are per positive."""
    number = as_number(value)
    if number is None or not 0 < number < inf:
        wrong = "there are more than 0 negatives per positive"
        raise OptionValueError.of(argument, value, wrong, "Give, say, ratio=2.")
    return number


def correlation(argument: str, value: object) -> float:
    """Check how far two estimated areas go together."""
    number = as_number(value)
    if number is None or not -1 < number < 1:
        wrong = "a correlation is between -1 and 1"
        raise OptionValueError.of(argument, value, wrong, "Give, say, correlation=0.5.")
    return number


def rows(argument: str, value: object) -> int:
    """Check the rows of a class."""
    return whole(argument, value)


CHECKS: dict[str, Callable[[str, object], float]] = {
    "auc": area,
    "null": area,
    "auc_b": area,
    "correlation": correlation,
    "n_pos": rows,
    "n_neg": rows,
    "ratio": ratio,
    "power": power,
    "alpha": alpha,
}


def combinations(
    *, alternative: str, variance: str, se_at: str, null: object, **given: object
) -> Iterator[dict[str, Any]]:
    """Check everything, and yield each combination of the values given, the last the quickest."""
    check_alternative(alternative)
    check_choice("variance", variance, get_args(Variance))
    check_choice("se_at", se_at, get_args(SeAt))
    _check_models(null, given["auc_b"], given["correlation"])
    chosen = {"alternative": alternative, "variance": variance, "se_at": se_at}
    values: dict[str, list[Any]] = {name: [choice] for name, choice in chosen.items()}
    given = {"null": None if given["auc_b"] is not None else null, **given}
    values |= {name: _each(name, value) for name, value in given.items()}
    for combination in product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def _each(argument: str, given: object) -> list[Any]:
    """Check one value or several; nothing is one value."""
    if given is None and argument in {"null", "auc_b", "correlation"}:
        return [None]
    several = not isinstance(given, str | bytes) and hasattr(given, "__iter__")
    values: list[object] = list(given) if several else [given]  # type: ignore[call-overload]
    if not values:
        raise OptionValueError.of(
            argument, given, "there is no value in it", "Give one value or several."
        )
    return [CHECKS[argument](argument, value) for value in values]


def _check_models(null: object, auc_b: object, correlated: object) -> None:
    """Check that it is one model against a given area, or two against each other."""
    if auc_b is None and correlated is not None:
        wrong = "there is no second area to be correlated with"
        raise OptionValueError.of(
            "correlation", correlated, wrong, "Give auc_b too, or leave it out."
        )
    if auc_b is not None and correlated is None:
        raise OptionValueError.of(
            "auc_b",
            auc_b,
            "nobody says how far the two estimated areas are correlated",
            "Say, for instance, correlation=0.5; it is 0 for two models on different rows.",
        )
    if auc_b is not None and null != 0.5:
        wrong = "of two models the null hypothesis is that they have the same area"
        raise OptionValueError.of("null", null, wrong, "Leave it out, or leave auc_b out.")
