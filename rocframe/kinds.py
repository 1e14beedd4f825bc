"""Kinds of curve, such as ROC: their axes, scales, and the interpolation between points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from rocframe.errors import BrokenCurveError, OptionValueError
from rocframe.options import check_choice
from rocframe.rates import CONFUSION, NAMES, Rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.rates import Settings


KindName: TypeAlias = Literal[
    "roc",
    "precision_recall",
    "pr",
    "det",
    "gain",
    "lift",
    "lift_chart",
    "predictive_value",
    "skill",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """A kind of curve: its name, title and axes.

    Counts are interpolated linearly between neighboring points. `segments` is the shape of the
    line between two points on the axes of this kind.
    """

    name: str
    title: str
    x: str
    y: str
    segments: Literal["straight", "hyperbolic"] = "straight"
    aliases: tuple[str, ...] = ()

    @property
    def rates(self) -> tuple[str, ...]:
        """The columns that this kind adds to the confusion matrices."""
        return tuple(name for name in (self.x, self.y) if name not in CONFUSION)

    def axis(self, name: str) -> Rate:
        """Return the metric with the name of an axis, such as `self.x`."""
        return NAMES[name]

    def exprs(self, settings: Settings) -> list[pl.Expr]:
        """Return the columns in `rates` as expressions over the counts."""
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
            segments="hyperbolic",
            aliases=("pr",),
        ),
        Kind(name="det", title="Detection error trade-off", x="fpr", y="fnr"),
        Kind(name="gain", title="Gain", x="alert_rate", y="tpr"),
        Kind(name="lift", title="Lift", x="alert_rate", y="lift", segments="hyperbolic"),
        Kind(
            name="predictive_value",
            title="Predictive value",
            x="alert_rate",
            y="ppv",  # an alias, because the table may have another column named `precision`
            segments="hyperbolic",
        ),
        Kind(name="skill", title="Skill", x="alert_rate", y="skill"),
        Kind(name="lift_chart", title="Lift chart", x="alert_rate", y="tp"),
    )
}

PREVALENCE = "prevalence"

KIND_NAMES = {name: kind for kind in KINDS.values() for name in (kind.name, *kind.aliases)}


def kind_named(name: str) -> Kind:
    """Return the kind with this name or alias."""
    check_choice("kind", name, KIND_NAMES)
    return KIND_NAMES[name]


def has_prevalence(columns: Sequence[str]) -> bool:
    """Return whether the column right of `tn` is `prevalence`, the prevalence of the rates.

    In any other position, a column named `prevalence` is a metric or a group column.
    """
    names = list(columns)
    return "tn" in names and names[names.index("tn") + 1 :][:1] == [PREVALENCE]


def kind_of(columns: Sequence[str], kind: str | None = None) -> Kind:
    """Return the kind with this name; for None, the kind whose axes are right of column `tn`."""
    if kind is not None:
        return kind_named(kind)
    right = tuple(columns[list(columns).index("tn") + 1 + has_prevalence(columns) :])
    for candidate in KINDS.values():
        if candidate.rates == right[: len(candidate.rates)]:
            return candidate
    raise BrokenCurveError.compose(
        f"kind=None: the columns right of 'tn' do not determine the kind of curve: {list(right)}",
        "Use, for example, kind='roc'.",
    )


Scale: TypeAlias = Literal["linear", "log", "logit", "normal_deviate"]

# The axes to which each scale applies, for each kind that supports the scale.
SCALED_AXES: dict[Scale, dict[str, tuple[str, ...]]] = {
    "log": {
        "roc": ("x",),
        "det": ("x", "y"),
        "gain": ("x",),
        "lift": ("x",),
        "lift_chart": ("x",),
        "calibration": ("x", "y"),
    },
    "logit": {"calibration": ("x", "y")},
    "normal_deviate": {"roc": ("x", "y"), "det": ("x", "y")},
}


def scale_of(kind: Kind, scale: Scale | None) -> Scale:
    """Return `scale`, or the default scale of the kind if `scale` is None.

    Raise an error if the kind does not support the scale.
    """
    if scale is None:
        return "normal_deviate" if kind.name == "det" else "linear"
    check_choice("scale", scale, [None, *get_args(Scale)])
    axes_by_kind = SCALED_AXES.get(scale)
    if axes_by_kind is not None and kind.name not in axes_by_kind:
        kinds = ", ".join(repr(name) for name in axes_by_kind if name in KINDS)
        charts = [f"kind={kinds}"] if kinds else []
        charts += ["tables of calibration"] if "calibration" in axes_by_kind else []
        raise OptionValueError.compose(
            "scale",
            scale,
            f"charts of {kind.y} against {kind.x} do not have this scale",
            f"The scale is available for {' and for '.join(charts)}.",
        )
    return scale
