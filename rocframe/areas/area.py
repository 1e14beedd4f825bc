"""The verb `area`: curve tables → the area under each curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.areas.mean import area_of_mean
from rocframe.curves.held import check_axes
from rocframe.curves.kinds import kind_of
from rocframe.curves.mean import mean_of
from rocframe.curves.table import layout, opened
from rocframe.errors import OptionValueError
from rocframe.frames import like, planned, through_node

if TYPE_CHECKING:
    from rocframe.curves.kinds import KindName
    from rocframe.frames import FrameT
    from rocframe.predictions import By

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
    curves
        A curve table, as `curve` makes it: its group columns, `threshold`, `tp, fp, fn, tn` and
        whatever stands right of them. Groups are whole; rows may be in any order.
    by
        Group columns, where they are not just the columns left of `threshold`.
    kind
        The kind of curve, where it is not the one whose axes stand right of `tn`.

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
        mean = mean_of(list(schema))
        if mean is not None:
            _check_idle(by=by, kind=kind)
            return area_of_mean(plan, schema, mean)
        check_axes(list(schema))
        layout(schema, by, ())  # the axes are looked for in a curve table only
        shape = kind_of(list(schema), kind)
        names = PRECISION_RECALL if shape.name == "precision_recall" else ("auc",)
        table = layout(schema, by, names)
        counted = table.private(COUNTED)

        def find(frame: pl.DataFrame) -> pl.DataFrame:
            from rocframe.areas.under import auc_of, average_precision_of, pr_auc_of

            whole = opened(frame, table)
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
