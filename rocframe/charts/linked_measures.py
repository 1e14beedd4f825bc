"""Counts, prevalence and costs → rates, as expressions that the browser works out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.charts.linked_controls import ANGLE, CHOSEN, COSTS, PREVALENCE

if TYPE_CHECKING:
    from rocframe.charts.linked_controls import Start
    from rocframe.charts.linked_data import Slider

# Each from those before it. A row is the one at a threshold if this is above the next row's
# threshold and not above its own.
HERE = f"datum.hi >= {CHOSEN} && datum.lo < {CHOSEN}"
REAL = "datum.lo < datum.hi"  # neither between two rows nor beyond every number


def ends(slider: Slider) -> dict[str, str]:
    """Return the threshold of a row as a number, and what the pointer sets there."""
    return {
        "hi": "isValid(datum.threshold) ? datum.threshold : MAX_VALUE",
        ANGLE: f"isValid(datum.threshold) ? datum.threshold : {slider.top!r}",
    }


def rates(start: Start) -> dict[str, str]:
    """Return what depends on counts, prevalence and costs.

    `precision` is null where nothing is called positive; `line_precision` is that of the next
    point there, with which a precision-recall line starts.
    """
    return {
        "lo": "isValid(datum.lo) ? datum.lo : -MAX_VALUE",
        "fn": "datum.pos - datum.tp",
        "tn": "datum.neg - datum.fp",
        "tpr": "datum.tp / datum.pos",
        "fpr": "datum.fp / datum.neg",
        "pi": f"{PREVALENCE} > 0 ? {PREVALENCE} : datum.pos / (datum.pos + datum.neg)",
        "alert_rate": "datum.pi * datum.tpr + (1 - datum.pi) * datum.fpr",
        "precision": _share("datum.pi * datum.tpr", "datum.alert_rate"),
        "line_precision": "datum.alert_rate > 0 ? datum.precision : "
        + _share("datum.pi * datum.tp_next / datum.pos", _NEXT),
        "accuracy": "datum.pi * datum.tpr + (1 - datum.pi) * (1 - datum.fpr)",
        "fp_cost": f"{start.fn!r} * pow(2, {COSTS})",
        "expected_cost": f"datum.pi * (1 - datum.tpr) * {start.fn!r}"
        " + (1 - datum.pi) * datum.fpr * datum.fp_cost",
        # At the odds of the row's threshold; nothing called positive gains nothing.
        "net_benefit": "datum.hi == MAX_VALUE ? 0 : datum.hi >= 0 && datum.hi < 1 ?"
        " datum.pi * datum.tpr - (1 - datum.pi) * datum.fpr * datum.hi / (1 - datum.hi) : null",
        "slope": f"(1 - datum.pi) * datum.fp_cost / (datum.pi * {start.fn!r})",
    }


_NEXT = "(datum.pi * datum.tp_next / datum.pos + (1 - datum.pi) * datum.fp_next / datum.neg)"


def _share(part: str, whole: str) -> str:
    return f"({whole} > 0 ? {part} / {whole} : null)"
