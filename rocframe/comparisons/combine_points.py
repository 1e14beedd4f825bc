"""The function `combine_points`: possible rates of AND and OR, from the rates of two models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.comparisons.paired_decisions import (
    OPERATORS,
    RATE_NAMES,
    check_threshold_column,
    independent_rates,
    possible_range,
    rate_columns,
)
from rocframe.errors import (
    ColumnTypeError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
)
from rocframe.frames import (
    as_input_frame,
    build_table,
    column,
    lazy_plan,
    number_distinct_rows,
    private_names,
    select_keys,
    through_node,
)
from rocframe.inference.notes import first_notes
from rocframe.options import (
    check_column_name,
    check_group_columns,
    group_dtypes,
    parse_names,
    public,
)
from rocframe.rates import CONFUSION, TOTALS
from rocframe.schemas.columns import MODEL, THRESHOLD, score_floats, with_scores
from rocframe.schemas.comparisons import combination_columns
from rocframe.schemas.recognition import OTHER, table_of
from rocframe.text import format_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By


@public
def combine_points(table: FrameT, /, *, across: str = MODEL, by: By = None) -> FrameT:
    """Return the possible and the expected rates of two models combined by AND and OR.

    In the result, the columns of the measured rates of the combinations are null, because these
    rates require the decisions of both models on the same rows.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        One row per group and model, with the columns `fpr` and `tpr` or with the counts `tp, fp,
        fn, tn`: a table of `operating_point`, `at` or `confusion_matrix`, or a table of published
        rates.
    across : str, default "model"
        Column with the name of the model.
    by : str or sequence of str, default None
        Group columns. If a rocframe function returned the table, the default is all its group
        columns except `across`. For other tables, the default is no columns.

    Returns
    -------
    DataFrame or LazyFrame
        The columns of `combine`, with two rows per group and pair of models. The columns `fpr`,
        `tpr`, `tp`, `fp`, `fn`, `tn`, `n_pos` and `n_neg` are null.

        The possible and expected true positive rates are null if the true positive rate of one of
        the two models is undefined. The same is true for the false positive rates. `note` (String)
        is `no_positives` if only the true positive rate is undefined, `no_negatives` if only the
        false positive rate is undefined, and `no_solution` if both rates are undefined. Otherwise,
        `note` is null.

    Raises
    ------
    RocframeError
        If a column is missing or has an unsuitable type, if `across` is one of the columns in `by`,
        if a rate is outside [0, 1], or if a group has several points of a model.

    See Also
    --------
    combine : The measured rates, from predictions.

    References
    ----------
    T. Fawcett (2004), "ROC graphs: notes and practical considerations for researchers", HP
    Laboratories, Palo Alto, section 7.4.3.

    M. Fréchet (1935), "Généralisation du théorème des probabilités totales", Fundamenta
    Mathematicae 25, 379-387. doi:10.4064/fm-25-1-379-387

    Examples
    --------
    The two classifiers of Fawcett's figure 12:

    >>> import polars as pl, rocframe as rf
    >>> points = pl.DataFrame({"model": ["c1", "c2"], "fpr": [0.2, 0.4], "tpr": [0.6, 0.7]})
    >>> combined = rf.combine_points(points)
    >>> combined.select("operator", "fpr_independent", "tpr_independent", "tpr_min", "tpr_max")
    shape: (2, 5)
    ┌──────────┬─────────────────┬─────────────────┬─────────┬─────────┐
    │ operator ┆ fpr_independent ┆ tpr_independent ┆ tpr_min ┆ tpr_max │
    │ ---      ┆ ---             ┆ ---             ┆ ---     ┆ ---     │
    │ str      ┆ f64             ┆ f64             ┆ f64     ┆ f64     │
    ╞══════════╪═════════════════╪═════════════════╪═════════╪═════════╡
    │ and      ┆ 0.08            ┆ 0.42            ┆ 0.3     ┆ 0.6     │
    │ or       ┆ 0.52            ┆ 0.88            ┆ 0.7     ┆ 1.0     │
    └──────────┴─────────────────┴─────────────────┴─────────┴─────────┘
    """

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        check_column_name("across", across, example=MODEL)
        if across not in list(schema):
            raise MissingColumnError.compose("across", across, schema)
        recognized = table_of(list(schema))
        names = parse_names(by)
        if by is None and recognized.type is not OTHER:
            names = tuple(name for name in recognized.by if name != across)
        if across in names:
            raise RepeatedNameError.of_group("across", across, names)
        columns = combination_columns(schema[across], pl.Int64())
        check_group_columns(names, schema, tuple(columns))
        keys = group_dtypes(names, schema)
        rates = _rates_of_points(schema)
        threshold, scores = pl.lit(None), score_floats([])
        if THRESHOLD in schema:
            check_threshold_column("table", schema)
            threshold, scores = column(THRESHOLD), score_floats([schema[THRESHOLD]])
        columns = with_scores(columns, scores)
        inputs = {MODEL: column(across), **rates, THRESHOLD: threshold.cast(scores)}
        private = private_names(inputs, names)

        def compute(frame: pl.DataFrame) -> pl.DataFrame:
            keys = dict(zip(names, map(str, range(len(names))), strict=True))
            roles = {name: role for role, name in private.items()}
            points = frame.rename({**keys, **roles})
            _check_rates(points, (*names, across))
            combined = point_combinations(points, len(names), columns)
            return combined.rename({key: name for name, key in keys.items()})

        return through_node(
            plan.select(
                *map(column, names), *(expr.alias(private[name]) for name, expr in inputs.items())
            ),
            compute,
            schema={**keys, **columns},
            by=names,
            anchor="operator",
        )

    return as_input_frame(table, lazy_plan("table", table).pipe_with_schema(resolve))


def _rates_of_points(schema: pl.Schema) -> dict[str, pl.Expr]:
    """Return the rates of the points, computed from the counts if the table has counts."""
    has_counts = all(name in schema for name in CONFUSION)
    for name in CONFUSION if has_counts else RATE_NAMES:
        if name not in schema:
            raise MissingColumnError.of_table("table", name, schema)
        if not schema[name].is_numeric():
            hint = f"{'Counts' if has_counts else 'Rates'} must be numbers. Cast the column first."
            raise ColumnTypeError.of_table("table", name, schema[name], hint)
    floats = {name: column(name).cast(pl.Float64) for name in (*CONFUSION, *RATE_NAMES)}
    if has_counts:
        pairs = zip(RATE_NAMES, TOTALS[:2], strict=True)
        floats |= {
            rate: floats[part] / (floats[part] + floats[rest]) for rate, (part, rest) in pairs
        }
    return {rate: floats[rate].fill_nan(None) for rate in RATE_NAMES}


def point_combinations(
    frame: pl.DataFrame, n_keys: int, columns: dict[str, pl.DataType]
) -> pl.DataFrame:
    """Return two rows for each group and pair of models: AND and OR."""
    distinct, group = number_distinct_rows(select_keys(frame, frame.columns[:n_keys]))
    rows = frame.with_columns(group=group).sort(MODEL).with_row_index("rank")
    pairs = rows.join(rows, on="group", suffix="_b").filter(pl.col("rank") < pl.col("rank_b"))
    pairs = pairs.sort("group", "rank", "rank_b")
    a, b = (
        np.stack([pairs.get_column(f"{rate}{side}").fill_null(np.nan) for rate in RATE_NAMES])
        for side in ("", "_b")
    )
    undefined = np.isnan(a + b)
    lowest, highest = possible_range(a, b, 1.0)
    parts = {
        "_independent": independent_rates(a, b),
        "_min": lowest,
        "_max": highest,
        "_a": np.stack([a, a]),
        "_b": np.stack([b, b]),
    }
    result: dict[str, Any] = {
        name: values.T.ravel() for name, values in rate_columns(parts).items()
    }
    note = first_notes(
        {
            "no_positives": undefined[0] & ~undefined[1],
            "no_negatives": undefined[1] & ~undefined[0],
            "no_solution": undefined.all(axis=0),
        }
    )
    twice = np.repeat(np.arange(pairs.height), 2)
    result |= {
        "operator": [*OPERATORS] * pairs.height,
        "note": note[twice].tolist(),
        "model_a": pairs.get_column(MODEL)[twice],
        "model_b": pairs.get_column(f"{MODEL}_b")[twice],
        "threshold_a": pairs.get_column(THRESHOLD)[twice],
        "threshold_b": pairs.get_column(f"{THRESHOLD}_b")[twice],
    }
    return build_table(distinct, result, columns, rows=pairs.get_column("group")[twice].to_numpy())


def _check_rates(points: pl.DataFrame, names: Sequence[str]) -> None:
    """Raise an error for rates outside [0, 1], and for several points of a model in a group.

    `names` are the names of the first columns of `points`: group columns and the column of models.
    """
    for rate in RATE_NAMES:
        outside = points.filter((pl.col(rate) < 0) | (pl.col(rate) > 1))
        if outside.height:
            value = f"the value {outside.item(0, rate):g} for {format_key(names, outside.row(0))}"
            problem = f"the column {rate!r} has {value}, which is not in [0, 1]"
            raise OptionValueError(f"table: {problem}.\nDivide percentages by 100.")
    repeated = points.filter(points.select(pl.nth(range(len(names)))).is_duplicated())
    if repeated.height:
        problem = f"the table has several points for {format_key(names, repeated.row(0))}"
        hint = (
            "Select one point with .filter(), or name in by= the columns that distinguish the rows."
        )
        raise OptionValueError(f"table: {problem}.\n{hint}")
