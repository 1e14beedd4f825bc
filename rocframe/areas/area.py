"""The verb `area`: curve tables → the area under each curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.areas.pairs import Pairs
from rocframe.curves.table import curve_layout, read_curves
from rocframe.errors import BrokenCurveError, OptionValueError
from rocframe.frames import column, like, planned, through_node
from rocframe.kernel.exact import exact_sums, scale_to_unit
from rocframe.kinds import hyperbola, kind_of
from rocframe.options import check_group_columns, group_dtypes
from rocframe.schemas import SIDE, check_area_exists, curve_average_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kinds import KindName
    from rocframe.schemas import CurveAverage


PRECISION_RECALL = ("average_precision", "pr_auc")

COUNTED = "(rows)"  # no group is called so: it stands right of the keys, and is dropped again


def area(curves: FrameT, /, *, by: By = None, kind: KindName | None = None) -> FrameT:
    """Measure the area under each curve of a curve table.

    For precision-recall there are two areas: `average_precision` adds up precision over the
    steps of recall; `pr_auc` integrates the curve between its points, where precision follows a
    hyperbola. For every other kind the area is the one under the ROC curve, which is what `auc`
    means everywhere, from the same counts.

    Of a table of averaged curves it is the area under each mean.

    Parameters
    ----------
    curves : DataFrame or LazyFrame
        A curve table as returned by `curve`: group columns, `threshold`, `tp, fp, fn, tn`, and any
        columns right of them. Every group must be complete. Rows may be in any order.
    by : str or sequence of str, default None
        Group columns. By default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve. By default, the kind whose axes are the columns right of `tn`.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, auc`, or `*by, average_precision, pr_auc` for precision-recall; a row per group,
        Float64 in [0, 1]. `auc` is null without positives or without negatives, the other two
        without positives.

        Of averaged curves, as `average` makes them: the keys and `auc_of_mean`, or, for kinds
        other than ROC and DET, `area_of_mean`, the area on the kind's own axes. Lines between rows
        are straight; the area is null where the rows do not reach from 0 to 1, or where
        `n_curves` is not the same in all of them: that is the mean of some curves here, of others
        there. `by` and `kind` are for curve tables only.

    Raises
    ------
    RocframeError
        If the table is no curve table, a group is not whole, or a curve ends before its lowest
        score. One made with `thresholds=` may reach below it: then the area is the one under
        the straight lines between its points.
    OptionValueError
        If `by` or `kind` is given with averaged curves.

    References
    ----------
    T. Saito, M. Rehmsmeier (2015), "The precision-recall plot is more informative than the ROC
    plot when evaluating binary classifiers on imbalanced datasets", PLoS ONE 10(3), e0118432.
    doi:10.1371/journal.pone.0118432

    J. Davis, M. Goadrich (2006), "The relationship between precision-recall and ROC curves",
    ICML, 233-240. doi:10.1145/1143844.1143874

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> rf.area(rf.curve(predictions, "label", "score"))
    shape: (1, 1)
    ┌──────┐
    │ auc  │
    │ ---  │
    │ f64  │
    ╞══════╡
    │ 0.75 │
    └──────┘
    >>> predictions.roc.curve("label", "score", kind="pr").roc.area()
    shape: (1, 2)
    ┌───────────────────┬──────────┐
    │ average_precision ┆ pr_auc   │
    │ ---               ┆ ---      │
    │ f64               ┆ f64      │
    ╞═══════════════════╪══════════╡
    │ 0.833333          ┆ 0.887327 │
    └───────────────────┴──────────┘
    """

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        mean = curve_average_of(list(schema))
        if mean is not None:
            _check_idle(by=by, kind=kind)
            return area_of_mean(plan, schema, mean)
        check_area_exists(list(schema))
        curve_layout(schema, by, ())  # the axes are looked for in a curve table only
        shape = kind_of(list(schema), kind)
        names = PRECISION_RECALL if shape.name == "precision_recall" else ("auc",)
        table = curve_layout(schema, by, names)
        counted = table.private(COUNTED)

        def find(frame: pl.DataFrame) -> pl.DataFrame:
            whole = read_curves(frame, table)
            measures = (auc_of,) if len(names) == 1 else (average_precision_of, pr_auc_of)
            return whole.keys.with_columns(
                *(
                    pl.Series(name, measure(whole), nan_to_null=True)
                    for name, measure in zip(names, measures, strict=True)
                ),
                pl.Series(counted, [True] * len(whole.firsts), pl.Boolean),
            )

        made = through_node(
            plan.select(table.walk),
            find,
            schema={**table.keys, **dict.fromkeys(names, pl.Float64()), counted: pl.Boolean()},
            by=table.by,
            anchor=counted,
        )
        return made.drop(counted)

    return like(curves, planned("curves", curves).pipe_with_schema(resolve))


def _check_idle(**options: object) -> None:
    """Check that nothing is said of an averaged curve that its columns say already."""
    for option, value in options.items():
        if value is not None:
            raise OptionValueError.of(
                option,
                value,
                "an averaged curve has its keys left of its axes, and these say its kind",
                "Leave it out.",
            )


def auc_of(curves: Curves) -> NDArray[np.float64]:
    """Return the area under each ROC curve, ties counting half; NaN where a class is absent."""
    return areas_of_ties(curves)[0]


def areas_of_ties(
    curves: Curves,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the area under each ROC curve, ties counting half, nothing, and full."""
    counts = (*_steps(curves), curves.total("tp", "fn"), curves.total("fp", "tn"))
    if not len(curves.firsts):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    tp, fp, tp0, fp0, pos, neg = scale_to_unit(*counts)
    wins, wins_or_ties = (exact_sums(fp - fp0, above, curves.firsts) for above in (tp0, tp))
    return Pairs(wins=wins, wins_or_ties=wins_or_ties, pos=pos, neg=neg).areas


def average_precision_of(curves: Curves) -> NDArray[np.float64]:
    """Return the step sum under each precision-recall curve; NaN without positives."""
    tp, fp, tp0, _ = (part.astype(np.float64) for part in _steps(curves))
    return _per_positive(curves, step_sum(tp, fp, tp0))


def pr_auc_of(curves: Curves) -> NDArray[np.float64]:
    """Return the area under each interpolated precision-recall curve; NaN without positives."""
    return _per_positive(curves, hyperbola(*(part.astype(np.float64) for part in _steps(curves))))


def _per_positive(curves: Curves, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    if not len(curves.firsts):
        return np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        area: NDArray[np.float64] = np.add.reduceat(steps, curves.firsts) / curves.total("tp", "fn")
    return area


def step_sum(tp: NDArray[Any], fp: NDArray[Any], tp0: NDArray[Any]) -> NDArray[np.float64]:
    """Return each step's new positives times its precision."""
    # In place: fresh memory for each of the arrays takes longer than the arithmetic.
    area: NDArray[np.float64] = np.add(tp, fp, dtype=np.float64)
    np.divide(tp, area, out=area, where=area > 0)
    area *= tp - tp0
    return area


def _steps(curves: Curves) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the counts after and before each row."""
    tp, fp, tn = curves.columns["tp"], curves.columns["fp"], curves.columns["tn"]
    short = tn[curves.starts[1:] - 1] > 1e-9 * curves.total("fp", "tn")
    if short.any():
        group = curves.keys.row(int(np.argmax(short)), named=True) if curves.layout.by else {}
        named = ", ".join(f"{name}={value!r}" for name, value in group.items())
        raise BrokenCurveError.of(
            f"curves: the curve{' of ' + named if named else ''} ends before its lowest score, "
            "so the area under it is not known",
            "Make the curve without thresholds= and keep all its rows; for a part of the area ask "
            ".roc.auc(…, fpr=(0, 0.1)).",
        )
    before = [np.append(part[:1] * 0, part[:-1]) for part in (tp, fp)]
    for part in before:
        part[curves.firsts] = 0
    return tp, fp, before[0], before[1]


ROC_AREAS = ("roc", "det")


def area_of_mean(plan: pl.LazyFrame, schema: pl.Schema, mean: CurveAverage) -> pl.LazyFrame:
    """Measure the area under each averaged curve, straight lines between its rows.

    It is null where the rows do not reach from one end of the axis to the other, have no mean, or
    are means of more curves here than there.
    """
    name = "auc_of_mean" if mean.kind.name in ROC_AREAS else "area_of_mean"
    check_group_columns(mean.by, schema, (name,))
    group_dtypes(mean.by, schema)
    x, y = pl.col(mean.kind.x), pl.col(mean.kind.y)
    up = 1 - y if mean.kind.y == "fnr" else y
    along, high = (y, 1 - x) if mean.fixed == "y" else (x, up)
    width, sides = along.diff(), (high + high.shift()) / 2
    whole = (
        (along.first() == 0)
        & (along.last() == 1)
        & along.is_not_null().all()
        & high.is_not_null().all()
        & (pl.col("n_curves").n_unique() == 1)
    )
    area = pl.when(whole).then((width * sides).sum()).otherwise(None).alias(name)
    order = [pl.col("threshold_mean")] if mean.fixed is None else [along]
    order += [pl.col(SIDE)] if mean.sides else []
    keys = [column(key) for key in mean.by]
    rows = plan.sort(
        *keys, *order, descending=[*[False] * len(keys), mean.fixed is None, *[False] * mean.sides]
    )
    if not keys:
        return rows.select(area)
    return rows.group_by(keys, maintain_order=True).agg(area)
