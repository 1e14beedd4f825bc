"""The kinds of curve: which two rates are the axes of a table of confusion matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rocframe.errors import BrokenCurveError
from rocframe.options import check_choice
from rocframe.rates import NAMES, Rate
from rocframe.vocabulary import CONFUSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.formulas import Settings

KindName: TypeAlias = Literal["roc", "precision_recall", "pr", "det", "gain", "lift", "lift_chart"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """All that makes one curve differ from another: its axes, by name.

    `joined` names how its points are joined: between neighbours everything is linear in
    (tp, fp), which is a straight line on some axes and a curve on others.
    """

    name: str
    title: str
    x: str
    y: str
    joined: Literal["line", "hyperbola"] = "line"
    aliases: tuple[str, ...] = ()

    @property
    def rates(self) -> tuple[str, ...]:
        """The columns that this kind adds to the confusion matrices."""
        return tuple(name for name in (self.x, self.y) if name not in CONFUSION)

    def axis(self, name: str) -> Rate:
        """Return the record of one axis."""
        return NAMES[name]

    def exprs(self, settings: Settings) -> list[pl.Expr]:
        """Return the axes as expressions."""
        return [NAMES[name].expr(settings).alias(name) for name in self.rates]


KINDS = {
    kind.name: kind
    for kind in (
        Kind(name="roc", title="ROC", x="fpr", y="tpr"),
        Kind(
            name="precision_recall",
            title="Precision-recall",
            x="recall",
            y="precision",
            joined="hyperbola",
            aliases=("pr",),
        ),
        Kind(name="det", title="Detection error trade-off", x="fpr", y="fnr"),
        Kind(name="gain", title="Gain", x="alert_rate", y="tpr"),
        Kind(name="lift", title="Lift", x="alert_rate", y="lift", joined="hyperbola"),
        Kind(name="lift_chart", title="Lift chart", x="alert_rate", y="tp"),
    )
}

KIND_NAMES = {name: kind for kind in KINDS.values() for name in (kind.name, *kind.aliases)}


def kind_named(name: str) -> Kind:
    """Return the kind of this name or alias."""
    check_choice("kind", name, KIND_NAMES)
    return KIND_NAMES[name]


def kind_of(columns: Sequence[str], kind: str | None = None) -> Kind:
    """Return the kind asked for, or the one whose axes stand right of `tn`."""
    if kind is not None:
        return kind_named(kind)
    right = tuple(columns[list(columns).index("tn") + 1 :])
    for candidate in KINDS.values():
        if candidate.rates == right[: len(candidate.rates)]:
            return candidate
    raise BrokenCurveError.of(
        f"kind=None: no kind of curve has its axes right of 'tn'; there stand {list(right)}",
        "Say which kind it is, say kind='roc'.",
    )
