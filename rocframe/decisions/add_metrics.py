"""The function `add_metrics`: metrics as further columns of tables of confusion matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.curves.curve import check_metric_columns, metric_expression, with_metrics
from rocframe.curves.table import check_new_columns
from rocframe.decisions.costs import CLASS_KEY, CLASS_KEY_HINT, ClassCosts
from rocframe.errors import ColumnTypeError, MissingColumnError
from rocframe.frames import as_input_frame, column, lazy_plan
from rocframe.kinds import PREVALENCE, check_metric_settings, has_prevalence, parse_metrics
from rocframe.options import check_supported, public
from rocframe.rates import CONFUSION, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.decisions.costs import ClassShares, PairCosts
    from rocframe.frames import FrameT


@public
def add_metrics(
    table: FrameT,
    /,
    metrics: str | pl.Expr | Sequence[str | pl.Expr],
    *,
    prevalence: float | None = None,
    prior: ClassShares | None = None,
    costs: Mapping[str, float] | PairCosts | None = None,
    beta: float = 1.0,
) -> FrameT:
    """Add metrics to a table with a confusion matrix in each row, such as a curve table.

    A metric is computed from the counts of its row only. Therefore a curve may lack rows, and the
    table may also be a result of `at`, `operating_point`, `transfer`, `hull`, `simplify`, `mix`,
    `combine`, `chain` or `confusion_matrix`.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        A table with the columns `tp`, `fp`, `fn` and `tn`.
    metrics : str, Expr or sequence of these
        Metrics to add: names of metrics of `curve`, such as `"f1"`, and named expressions over all
        columns of the table and over metrics that are not columns of the table.
    prevalence : float, default None
        Prevalence, between 0 and 1, at which metrics such as precision are computed. The default is
        the column `prevalence` right of `tn`, if any, or else the prevalence of the data.
    prior : mapping, default None
        Share of each class, for tables with a column `class`: a mapping from classes to numbers
        that sum to 1. The prevalence of each row is the share of its class.
    costs : mapping or square matrix, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, such as `{"fp": 1, "fn": 5}`; 0 if not given. With
        `prior=`, also costs of pairs of classes: `{("a", "b"): 5}` is the cost of predicting b for
        class a, and all other errors cost 1. Or a matrix with a row for each true class and a
        column for each predicted class, in the order of `prior`.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.

    Returns
    -------
    DataFrame or LazyFrame
        The table, in the same order, with a column for each metric on the right: Float64, or for an
        expression the dtype that polars computes. Undefined values are null, also in rows without
        counts. The counts do not depend on the options.

    Raises
    ------
    RocframeError
        If the table lacks a count or already has a metric, if a metric is unknown, or if an option
        is invalid or unused. With `prior`, also if the table has no column `class`, or a class
        without a share (raised by `collect` for a LazyFrame).

    See Also
    --------
    curve : Adds the same metrics when the curve is computed.
    operating_point : The best threshold of each curve, with the same options.

    Notes
    -----
    The expected cost per row of class k with the share π_k is π_k·FNR·c_fn + (1 - π_k)·FPR·c_fp.
    If C(i, j) is the cost of predicting class j for a row of class i, c_fn and c_fp are the means
    of C(k, i) and of C(i, k) over the other classes i, with the weights π_i.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874, section 9. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})
    >>> curves = rf.curve(predictions, "label", "score")
    >>> best = curves.roc.operating_point("youden").select("threshold", "tp", "fp", "fn", "tn")
    >>> rf.add_metrics(best, ["precision", "alerts", (pl.col("tp") - pl.col("fp")).alias("net")])
    shape: (1, 8)
    ┌───────────┬─────┬─────┬─────┬─────┬───────────┬────────┬─────┐
    │ threshold ┆ tp  ┆ fp  ┆ fn  ┆ tn  ┆ precision ┆ alerts ┆ net │
    │ ---       ┆ --- ┆ --- ┆ --- ┆ --- ┆ ---       ┆ ---    ┆ --- │
    │ f64       ┆ i64 ┆ i64 ┆ i64 ┆ i64 ┆ f64       ┆ f64    ┆ i64 │
    ╞═══════════╪═════╪═════╪═════╪═════╪═══════════╪════════╪═════╡
    │ 0.9       ┆ 1   ┆ 0   ┆ 1   ┆ 2   ┆ 1.0       ┆ 1.0    ┆ 1   │
    └───────────┴─────┴─────┴─────┴─────┴───────────┴────────┴─────┘
    """
    classes = ClassCosts.parse(prior, costs)
    check_supported("prevalence", prevalence, "prior=", supported=prior is None)
    options: dict[str, Any] = {"costs": costs} if classes is None else classes.row_settings()
    given = Settings(beta=beta, prevalence=prevalence, **options)
    of_table = replace(given, row_prevalence=column(PREVALENCE))

    def expressions(settings: Settings) -> dict[str, pl.Expr]:
        return parse_metrics(metrics, lambda metric: metric_expression(metric, settings))

    names = [*expressions(given)]

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        for name in CONFUSION:
            if name not in schema:
                raise MissingColumnError.of_table("table", name, schema)
            if not schema[name].is_numeric():
                hint = "Counts must be numbers. Cast the column first."
                raise ColumnTypeError.of_table("table", name, schema[name], hint)
        if classes is not None and CLASS_KEY not in schema:
            raise MissingColumnError.of_table("table", CLASS_KEY, schema, hint=CLASS_KEY_HINT)
        check_new_columns(schema, names, "add_metrics", argument="table")
        has_default = prevalence is None and classes is None and has_prevalence([*schema])
        settings = of_table if has_default else given
        exprs = expressions(settings)
        rates = check_metric_columns(exprs, [*schema])
        check_metric_settings([*exprs, *rates], beta=beta, costs=costs)
        # Sums of small integers, such as Int8, could overflow.
        integers = [name for name in CONFUSION if schema[name].is_integer()]
        counts = plan.with_columns(column(name).cast(pl.Int64) for name in integers)
        result = with_metrics(counts, exprs, settings, rates)
        return result.with_columns(column(name).cast(schema[name]) for name in integers)

    return as_input_frame(table, lazy_plan("table", table).pipe_with_schema(resolve))
