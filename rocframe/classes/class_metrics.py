"""The function `class_metrics`: metrics of each class at its share and with its costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.curves.table import check_new_columns, curve_layout, read_curves
from rocframe.decisions.class_costs import ClassCosts, check_class_key
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, column, lazy_plan, private_names, through_node
from rocframe.metric_options import check_metric_settings, parse_rates
from rocframe.options import public
from rocframe.rates import Settings
from rocframe.schemas.columns import THRESHOLD
from rocframe.schemas.table_type import floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.curves.table import CurveLayout
    from rocframe.decisions.class_costs import ClassShares, PairCosts
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By


@public
def class_metrics(
    curves: FrameT,
    /,
    metrics: str | pl.Expr | Sequence[str | pl.Expr],
    *,
    prior: ClassShares,
    costs: PairCosts | None = None,
    beta: float = 1.0,
    by: By = None,
) -> FrameT:
    """Add metrics to the curves of several classes, at given shares and costs of the classes.

    The table must have the group column `class`; each curve is the curve of one class against all
    others. The counts of the curves do not change.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    metrics : str, Expr or sequence of these
        Metrics to add: names of metrics of `curve`, and named expressions over `threshold`,
        the four counts, and rates. In expressions, rates are those at `prior`, but the counts are
        not adjusted to `prior`.
    prior : mapping
        Share of each class: a mapping from classes to numbers that sum to 1.
    costs : mapping or square matrix, default None
        For `"expected_cost"`: costs of pairs of classes. In `{("a", "b"): 5}`, 5 is the cost of
        predicting b if the class is a. Errors that are not in the mapping cost 1. A matrix has a
        row for each true class and a column for each predicted class, in the order of `prior`.
        Alternatively, pass a mapping with the keys `tp`, `fp`, `fn` and `tn`: these four costs are
        used for the curve of every class.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    by : str or sequence of str, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        The curve table, sorted by group and falling threshold, with a column (Float64) for each
        metric on the right. The prevalence of a curve is the share of its class in `prior`. Metrics
        that depend on the prevalence, such as precision, are computed at this prevalence. Undefined
        values are null.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if it has no group column `class`, or if it already has a
        column with the name of a metric. This error is also raised if a curve lacks some of its
        rows. It is also raised if a metric is unknown, if shares do not sum to 1 or lack a class,
        or if costs are negative, of the wrong shape or of an unknown class.

    See Also
    --------
    one_vs_rest : Binary predictions of each class against all others.
    operating_point : The best threshold of each class, with the same `prior` and `costs`.
    average : Means over the classes; `prior` is an option of `method="weighted"`.

    Notes
    -----
    C(i, j) is the cost of predicting class j for a row of class i. For the curve of class k with
    the share π_k:

    - A false negative has the cost c_fn, the mean of the costs C(k, i) over the other classes i.
    - A false positive has the cost c_fp, the mean of the costs C(i, k) over the other classes i.
    - The expected cost per row is π_k·FNR·c_fn + (1 - π_k)·FPR·c_fp.

    In both means, the weight of another class i is its share π_i.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874, section 9. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {
    ...         "truth": ["cat", "dog", "cow", "cat"],
    ...         "cat": [0.7, 0.2, 0.5, 0.4],
    ...         "dog": [0.2, 0.5, 0.1, 0.5],
    ...         "cow": [0.1, 0.3, 0.4, 0.1],
    ...     }
    ... )
    >>> rest = rf.one_vs_rest(predictions, "truth", ["cat", "dog", "cow"])
    >>> curves = rf.curve(rest, "label", "score", by="class")
    >>> costly = curves.roc.class_metrics(
    ...     ["precision", "expected_cost"],
    ...     prior={"cat": 0.5, "dog": 0.3, "cow": 0.2},
    ...     costs={("cat", "dog"): 5},
    ... )
    >>> costly.filter(pl.col("class") == "cat").drop("class", "fn", "tn", "fpr", "tpr")
    shape: (5, 5)
    ┌───────────┬─────┬─────┬───────────┬───────────────┐
    │ threshold ┆ tp  ┆ fp  ┆ precision ┆ expected_cost │
    │ ---       ┆ --- ┆ --- ┆ ---       ┆ ---           │
    │ f64       ┆ i64 ┆ i64 ┆ f64       ┆ f64           │
    ╞═══════════╪═════╪═════╪═══════════╪═══════════════╡
    │ inf       ┆ 0   ┆ 0   ┆ null      ┆ 1.7           │
    │ 0.7       ┆ 1   ┆ 0   ┆ 1.0       ┆ 0.85          │
    │ 0.5       ┆ 1   ┆ 1   ┆ 0.5       ┆ 1.1           │
    │ 0.4       ┆ 2   ┆ 1   ┆ 0.666667  ┆ 0.25          │
    │ 0.2       ┆ 2   ┆ 2   ┆ 0.5       ┆ 0.5           │
    └───────────┴─────┴─────┴───────────┴───────────────┘
    """
    classes = ClassCosts.parse(prior, costs)
    if classes is None:
        problem = "expected a mapping from classes to their shares"
        hint = "Use, for example, prior={'a': 0.9, 'b': 0.1}."
        raise OptionValueError.compose("prior", prior, problem, hint)
    by_class = {
        name: parse_rates(metrics, Settings(beta=beta, **classes.settings_of(name)))
        for name in classes.prior
    }
    names, some_costs = next((list(by_class[name]), classes.costs_of(name)) for name in by_class)
    check_metric_settings(names, beta=beta, costs=some_costs)
    new = floats(*names)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        table = curve_layout(schema, by, tuple(new))
        check_new_columns(table, new, "class_metrics")
        check_class_key(table.by)

        def compute(frame: pl.DataFrame) -> pl.DataFrame:
            rows = _curve_rows(frame, table)
            index = private_names(["row"], rows.columns)["row"]
            parts = [
                part.with_columns(
                    metric.expr().fill_nan(None) for metric in by_class[name].values()
                )
                for name, part in classes.split(rows.with_row_index(index))
            ]
            if not parts:
                return rows.with_columns(pl.lit(None, pl.Float64).alias(name) for name in new)
            return pl.concat(parts).sort(index).drop(index)

        return through_node(
            plan.select(table.all_columns),
            compute,
            schema={**table.keys, **table.row, **new},
            by=table.by,
            anchor=THRESHOLD,
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


def _curve_rows(frame: pl.DataFrame, table: CurveLayout) -> pl.DataFrame:
    """Return the rows of a curve table, sorted, after a check that the curves are complete."""
    rows = read_curves(frame, table).table
    return rows.select(
        *(column(name) for name in table.by),
        *(column(table.private(name)).alias(name) for name in table.row),
    )
