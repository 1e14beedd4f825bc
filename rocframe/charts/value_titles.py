"""Titles of axes and tooltips for curves whose rows have benefits and costs."""

from __future__ import annotations

from rocframe.errors import OptionValueError

BENEFIT, COST = "benefit", "cost"
# The title of each rate and count, and the argument of `curve` with the values that it sums.
VALUE_TITLES = {
    "tpr": ("Share of benefit", BENEFIT),
    "fnr": ("Share of missed benefit", BENEFIT),
    "fpr": ("Share of cost", COST),
    "tnr": ("Share of avoided cost", COST),
    "tp": ("Benefit", BENEFIT),
    "fn": ("Missed benefit", BENEFIT),
    "fp": ("Cost", COST),
    "tn": ("Avoided cost", COST),
}


def value_titles(benefit: object, cost: object) -> dict[str, str]:
    """Return the titles of rates and counts by name; empty without units of benefit and cost."""
    units = {BENEFIT: benefit, COST: cost}
    for argument, unit in units.items():
        if unit is not None and not (isinstance(unit, str) and unit.strip()):
            problem = "expected the unit of the values as text"
            hint = f'Use, for example, {argument}="dollars".'
            raise OptionValueError.compose(argument, unit, problem, hint)
    return {
        name: f"{title} ({units[argument]})"
        for name, (title, argument) in VALUE_TITLES.items()
        if units[argument] is not None
    }
