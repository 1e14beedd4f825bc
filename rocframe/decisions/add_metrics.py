"""The function `add_metrics`: metrics as further columns of tables of confusion matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.curves.curve import check_metric_columns, metric_expression, with_metrics
from rocframe.curves.table import check_new_columns, check_threshold_column
from rocframe.decisions.costs import CLASS_KEY, CLASS_KEY_HINT, ClassCosts
from rocframe.errors import ColumnTypeError, MissingColumnError, RepeatedNameError
from rocframe.frames import as_input_frame, column, lazy_plan
from rocframe.kinds import PREVALENCE, check_metric_settings, has_prevalence, parse_metrics
from rocframe.options import check_supported, public
from rocframe.rates import CONFUSION, NAMES, Settings
from rocframe.schemas.table_type import THRESHOLD

CLASSES_HINT = (
    "This is a confusion matrix of several classes. Use multiclass_metrics for metrics of several "
    "classes, or one_vs_rest for a curve of each class."
)

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

    A metric is computed from the counts of its row only: a curve may lack rows, and the table may
    also be a result of `at`, `operating_point`, `transfer`, `hull`, `mix`, `combine` or
    `confusion_matrix`.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        A table with the columns `tp`, `fp`, `fn` and `tn`.
    metrics : str, Expr or sequence of these
        Names of metrics of `curve`, such as `"f1"`, and named expressions over all columns of the
        table and over other metrics.
    prevalence : float, default None
        Prevalence, between 0 and 1, at which metrics such as precision are computed. The default is
        the column `prevalence` right of `tn`, if any, or else the prevalence of the data.
    prior : mapping, default None
        Share of each class, such as `{"a": 0.9, "b": 0.1}`, for tables with a column `class`: the
        prevalence of each row is the share of its class.
    costs : mapping or square matrix, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, such as `{"fp": 1, "fn": 5}`; 0 if not given. With
        `prior=`, also costs of pairs of classes: `{("a", "b"): 5}` is the cost of predicting b for
        class a, and all other errors cost 1. Or a matrix with a row for each true class.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.

    Returns
    -------
    DataFrame or LazyFrame
        The table, in the same order, with a column for each metric on the right: Float64, or for an
        expression the dtype that polars computes. Undefined values are null. The counts do not
        change.

    Raises
    ------
    RocframeError
        If the table lacks a count or already has a metric, if a metric is unknown, if an option is
        invalid or unused, or if a class has no share in `prior`.

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
    T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874, section 9.
    doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> table = pl.DataFrame({"tp": [1], "fp": [0], "fn": [1], "tn": [2]})
    >>> rf.add_metrics(table, ["precision", "alerts", (pl.col("tp") - pl.col("fp")).alias("net")])
    shape: (1, 7)
    ┌─────┬─────┬─────┬─────┬───────────┬────────┬─────┐
    │ tp  ┆ fp  ┆ fn  ┆ tn  ┆ precision ┆ alerts ┆ net │
    │ --- ┆ --- ┆ --- ┆ --- ┆ ---       ┆ ---    ┆ --- │
    │ i64 ┆ i64 ┆ i64 ┆ i64 ┆ f64       ┆ f64    ┆ i64 │
    ╞═════╪═════╪═════╪═════╪═══════════╪════════╪═════╡
    │ 1   ┆ 0   ┆ 1   ┆ 2   ┆ 1.0       ┆ 1.0    ┆ 1   │
    └─────┴─────┴─────┴─────┴───────────┴────────┴─────┘
    """
    classes = ClassCosts.parse(prior, costs)
    check_supported("prevalence", prevalence, "prior=", supported=prior is None)
    options: dict[str, Any] = {"costs": costs} if classes is None else classes.row_settings()
    given = Settings(beta=beta, prevalence=prevalence, **options)
    of_table = replace(given, row_prevalence=column(PREVALENCE))

    def expressions(settings: Settings) -> dict[str, pl.Expr]:
        return parse_metrics(metrics, lambda metric: metric_expression(metric, settings))

    named = expressions(given)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        _check_columns(schema, named, classes)
        has_default = prevalence is None and classes is None and has_prevalence([*schema])
        settings = of_table if has_default else given
        exprs = expressions(settings)
        rates = check_metric_columns(exprs, [*schema])
        check_metric_settings([*exprs, *rates], beta=beta, costs=costs)
        depends = any(NAMES[name].depends_on_prevalence for name in {*exprs, *rates} & {*NAMES})
        subject = "metrics that do not depend on the prevalence"
        for option, value in (("prevalence", prevalence), ("prior", prior)):
            check_supported(option, value, subject, supported=depends)
        # Sums of small integers, such as Int8, could overflow.
        integers = [name for name in CONFUSION if schema[name].is_integer()]
        counts = plan.with_columns(column(name).cast(pl.Int64) for name in integers)
        result = with_metrics(counts, exprs, settings, rates)
        return result.with_columns(column(name).cast(schema[name]) for name in integers)

    return as_input_frame(table, lazy_plan("table", table).pipe_with_schema(resolve))


def _check_columns(
    schema: pl.Schema, metrics: Mapping[str, pl.Expr], classes: ClassCosts | None
) -> None:
    """Raise an error if a table lacks a needed column or already has the column of a metric."""
    for name in CONFUSION:
        if name not in schema:
            hint = CLASSES_HINT if {"true", "predicted"} <= {*schema} else None
            raise MissingColumnError.of_table("table", name, schema, hint=hint)
        if not schema[name].is_numeric():
            hint = "Counts must be numbers. Cast the column first."
            raise ColumnTypeError.of_table("table", name, schema[name], hint)
    if classes is not None and CLASS_KEY not in schema:
        raise MissingColumnError.of_table("table", CLASS_KEY, schema, hint=CLASS_KEY_HINT)
    if THRESHOLD in schema and "net_benefit" in metrics:
        check_threshold_column("table", schema)
    for name, expr in metrics.items():
        if name in schema and name not in NAMES:
            raise RepeatedNameError.of_expression("metrics", expr, name, schema)
    check_new_columns(schema, metrics, "add_metrics", argument="table")
