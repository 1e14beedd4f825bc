"""The function `compress`: predictions with one row per distinct label and score, and a count."""

from __future__ import annotations

import os
from math import log2
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.compression.cells import COUNT, LABEL, WEIGHT, WIDTH, CompressInput
from rocframe.compression.engines import is_engine, read_engine
from rocframe.compression.resolution import RESOLUTIONS, Rounding
from rocframe.errors import OptionValueError
from rocframe.frames import (
    as_input_frame,
    collect_frame,
    deferred_table,
    lazy_plan,
    number_distinct_rows,
    select_keys,
)
from rocframe.inputs.cases import scores_as_floats
from rocframe.inputs.roles import Roles
from rocframe.inputs.score_cells import round_down
from rocframe.options import NOT_GIVEN, parse_fraction, public_for_engines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Scores


@public_for_engines
def compress(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    resolution: float | None = None,
    relative: bool = False,
    max_envelope: float | None = None,
    by: By = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
) -> FrameT:
    """Merge predictions with equal label and score into one row with a count.

    The result is a smaller table of predictions, which other functions accept with `count="count"`.
    They return the same results as for the original rows, unless scores are rounded. With
    `resolution` or `max_envelope`, scores are rounded down, so that the table becomes much smaller.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or table of another package
        One row per prediction. If the table is from pandas, pyarrow, DuckDB, PySpark or another
        package that narwhals supports, equal rows are counted by the package of the table. Only
        the counts are converted to polars. For these tables, all columns must be given by name, and
        a column of DuckDB or PySpark must not be named `*`. Other tables that export Arrow streams
        are converted to a polars DataFrame.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        Column or expression with the score; higher values indicate the positive class. Any real
        number is allowed. For several models, pass a list of columns, a polars selector, or a
        mapping from model names to columns. Rows are then merged only if all their scores are
        equal, so models can still be compared on the same rows.
    resolution : float, default None
        Scores are rounded down to multiples of the largest power of two that is at most
        `resolution`. For example, `resolution=0.01` rounds down to multiples of 1/128. `resolution`
        must be above 2**-1000 and below 2**900. With `relative=True`, it must be above 2**-52 and
        below 1. None: scores are not rounded.
    relative : bool, default False
        If True, higher absolute scores are rounded to larger steps. The step of a score is the
        product of two numbers: the largest power of two that is at most `resolution`, and the
        largest power of two that is at most the absolute score. For example, `resolution=0.01,
        relative=True` changes a score by at most 1 % of its value. Use this option for small
        probabilities and other scores of very different sizes. This option is not available for
        several scores.
    max_envelope : float, default None
        A number above 0 and below 1. The AUC is `auc_optimistic` if each tied pair counts 1, and
        `auc_pessimistic` if each tied pair counts 0; both are columns of `auc`. Find the coarsest
        resolution for which the difference of these two areas is at most this number. Each group
        has its own resolution. If the difference exceeds this number even for the original scores,
        the scores of the group are not rounded. Needs several passes over the data. If you compress
        a table for the function `drift`, pass `resolution` instead of `max_envelope`, because all
        windows that it compares must have the same resolution.
    by : str or sequence of str, default None
        Group columns; null is a group.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.

    Returns
    -------
    DataFrame or LazyFrame
        A LazyFrame for a LazyFrame, and a DataFrame for all other tables. One row per group, label,
        distinct score and, with `weight`, distinct weight: `*by, label, score, score_width, count`.
        The rows are sorted by group, then by falling score, positives first. Rows without a label
        or without a score are kept.

        `label` (Boolean) is true for the positive class, and null if the label is missing. The
        other columns are:

        - `score` is the lower edge of the range of scores that were merged, and null if the score
          is missing. With `resolution` or `max_envelope`, the dtype is Float64. Without both,
          Float32 and Float64 keep their dtype, Float16 becomes Float32, and integers of a dtype
          whose values all fit into Int64, such as Int8, become Int64. Integers of other dtypes and
          decimals keep their dtype. If several scores are given, each model has a column with its
          own name instead of `score`.
        - `score_width` (Float64) is the width of this range: a row represents scores s with
          `score <= s < score + score_width`. The width is 0 if `score` is exact, and null if the
          score is missing.
        - `weight` (with the dtype of the weights) exists only if `weight` is given.
        - `count` (Int64) is the number of rows.

    Raises
    ------
    RocframeError
        If a column is missing or has an unsupported dtype, if a name is reserved or repeated, if an
        option is invalid, or if the positive class is unknown or does not occur. This error is also
        raised if counts are missing, negative or too large, or if a `score_width` of an already
        compressed table is negative or not finite. With `max_envelope`, it is also raised if a
        group is not rounded and one of its scores changes when it is converted to Float64.

    See Also
    --------
    tie_bounds : Bounds for the AUC, KS and other metrics of the scores before rounding.
    windows : Combine compressed days into longer time windows.

    Notes
    -----
    Rounding merges the scores of a range into one score, the lower edge of the range. The lower
    edges are the thresholds of the curve of the rounded scores. At these thresholds, the same rows
    are predicted positive as without rounding. Each point of the curve is therefore also a point of
    the exact curve. Only points of the exact curve between two thresholds are missing. The exact
    AUC is therefore between `auc_pessimistic` and `auc_optimistic` of the rounded scores.
    `tie_bounds` has bounds of other metrics. Standard errors, losses and calibration of rounded
    scores are approximations.

    Tables of several days or sites are combined by concatenation: `compress(pl.concat(tables),
    "label", "score", count="count")` is equal to the compressed table of all rows. If the tables
    have different resolutions, all scores of a group are rounded to the coarsest resolution in the
    group. Other functions raise an error for a group with different resolutions.

    A LazyFrame is compressed by the streaming engine, so memory is needed for the result but not
    for the input. If the result has more than about 100,000 rows, the default hash table of polars
    is too small, and the input needs memory too. Therefore, for a LazyFrame, this function sets the
    environment variable `POLARS_MAX_HOT_TABLE_SIZE` to 4194304, if the variable is not set. DuckDB
    and Spark compress their tables in SQL, so the tables need not fit into memory. Nothing has to
    be installed on the nodes of a Spark cluster.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 0, 0, 1, 0], "score": [0.9, 0.9, 0.9, 0.4, 0.3, 0.26]}
    ... )
    >>> rf.compress(predictions, "label", "score")
    shape: (5, 4)
    ┌───────┬───────┬─────────────┬───────┐
    │ label ┆ score ┆ score_width ┆ count │
    │ ---   ┆ ---   ┆ ---         ┆ ---   │
    │ bool  ┆ f64   ┆ f64         ┆ i64   │
    ╞═══════╪═══════╪═════════════╪═══════╡
    │ true  ┆ 0.9   ┆ 0.0         ┆ 2     │
    │ false ┆ 0.9   ┆ 0.0         ┆ 1     │
    │ false ┆ 0.4   ┆ 0.0         ┆ 1     │
    │ true  ┆ 0.3   ┆ 0.0         ┆ 1     │
    │ false ┆ 0.26  ┆ 0.0         ┆ 1     │
    └───────┴───────┴─────────────┴───────┘
    >>> rf.compress(predictions, "label", "score", resolution=0.25)
    shape: (4, 4)
    ┌───────┬───────┬─────────────┬───────┐
    │ label ┆ score ┆ score_width ┆ count │
    │ ---   ┆ ---   ┆ ---         ┆ ---   │
    │ bool  ┆ f64   ┆ f64         ┆ i64   │
    ╞═══════╪═══════╪═════════════╪═══════╡
    │ true  ┆ 0.75  ┆ 0.25        ┆ 2     │
    │ false ┆ 0.75  ┆ 0.25        ┆ 1     │
    │ true  ┆ 0.25  ┆ 0.25        ┆ 1     │
    │ false ┆ 0.25  ┆ 0.25        ┆ 2     │
    └───────┴───────┴─────────────┴───────┘
    """
    roles = Roles(label=label, score=score, by=by, positive=positive, weight=weight, count=count)
    rounding = Rounding.parse(resolution, relative)
    if max_envelope is not None:
        if resolution is not None:
            problem = "resolution= is given as well"
            raise OptionValueError.compose(
                "max_envelope", max_envelope, problem, "Leave out one of the two options."
            )
        envelope = parse_fraction("max_envelope", max_envelope, example=0.0001)

    frame = read_engine(predictions)
    if is_engine(frame):
        rows = CompressInput.of_engine(frame, roles)
        if max_envelope is None:
            table = rows.table(rounding)
        else:
            table = _cells_within_envelope(rows, envelope).lazy()
        return as_input_frame(predictions, table)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        rows = CompressInput.bind(plan, schema, roles)
        if max_envelope is None:
            return rows.table(rounding)
        return deferred_table(
            lambda: _cells_within_envelope(rows, envelope), rows.table(Rounding(1.0))
        )

    if isinstance(frame, pl.LazyFrame):
        _enlarge_hash_table()
    source: FrameT = frame
    return as_input_frame(source, lazy_plan("predictions", frame).pipe_with_schema(resolve))


HASH_TABLE_VARIABLE, HASH_TABLE_SIZE = "POLARS_MAX_HOT_TABLE_SIZE", 2**22


def _enlarge_hash_table() -> None:
    """Let polars aggregate up to millions of groups in a stream with bounded memory.

    polars aggregates each batch of rows in a hash table with a maximal size. Rows of groups that
    are not in the hash table are stored until the last batch, so that the memory grows with the
    number of rows. The default size is too small for 200,000 groups. A size that the user has set
    in the environment is not changed.
    """
    if HASH_TABLE_VARIABLE not in os.environ:
        os.environ[HASH_TABLE_VARIABLE] = str(HASH_TABLE_SIZE)
        pl.Config.reload_env_vars()


# Each pass over the data keeps more binary digits of the largest score, until all envelopes are
# small enough. The last pass does not round scores.
DIGITS = (16, 24, 34, 44, None)
FINEST_EXPONENT, COARSEST_EXPONENT = (round(log2(resolution)) for resolution in RESOLUTIONS)
GROUP = "group"


def _cells_within_envelope(source: CompressInput, limit: float) -> pl.DataFrame:
    """Return the compressed table with the coarsest resolution of each group for an envelope.

    The envelope of a group is the difference between its optimistic and its pessimistic AUC. It
    does not fall if the resolution becomes coarser. Therefore the resolution, a power of two, is
    found by bisection of its exponent. Groups with only one class keep the resolution of the last
    pass over the data.
    """
    largest = min(source.largest_exponent(), COARSEST_EXPONENT - 1)
    for digits in DIGITS:
        rounding = Rounding() if digits is None else Rounding(2.0 ** (largest - digits))
        counted = collect_frame(source.count(rounding))
        groups, group = number_distinct_rows(select_keys(counted, source.keys))
        rows = counted.with_columns(group.alias(GROUP))
        last = np.full(groups.height, rounding.resolution)
        too_large = _envelopes(rows, source, last) > limit
        if not too_large.any():
            break

    has_both = ~np.isnan(_envelopes(rows, source, last))
    # A single large score must not limit the resolution of all others in the last pass.
    finest = min(largest, FINEST_EXPONENT) if digits is None else largest - digits
    low = np.full(groups.height, finest)
    high = np.where(has_both & ~too_large, largest + 1, low)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = _envelopes(rows, source, 2.0**middle) <= limit
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    resolution = 2.0**low
    if digits is None:
        resolution[~(_envelopes(rows, source, resolution) <= limit)] = 0.0
    widths = [pl.Series(resolution).gather(group)]
    widths += [counted[WIDTH]] if WIDTH in counted.columns else []
    is_exact = pl.Series(resolution == 0).gather(group)
    for name in source.scores:
        scores_as_floats(counted[name].filter(is_exact), source.names[name])  # can raise an error
    with_width = counted.lazy().with_columns(
        pl.max_horizontal(*widths).alias(WIDTH),
        *(pl.col(name).cast(pl.Float64) for name in source.scores),
    )
    return collect_frame(source.finish(source.widen(with_width)))


def _envelopes(
    rows: pl.DataFrame, source: CompressInput, resolution: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the envelope of the AUC of each group; NaN for groups with only one class.

    `resolution` is the resolution of each group, or 0 for scores that are not rounded. For several
    scores, the result is the largest envelope.
    """
    weight = pl.col(COUNT).cast(pl.Float64)
    if WEIGHT in rows.columns:
        weight *= pl.col(WEIGHT)
    is_positive = pl.col(LABEL).cast(pl.Int8) == 1
    sides = [pl.when(side).then(weight).otherwise(0.0) for side in (is_positive, ~is_positive)]
    step = pl.lit(pl.Series(resolution)).gather(pl.col(GROUP))
    pos, neg = pl.col("pos"), pl.col("neg")
    envelopes = []
    for name in source.scores:
        edge = round_down(pl.col(name).cast(pl.Float64), step, relative=False, when=pl.when)
        by_group = (
            rows.filter(pl.col(name).is_not_null() & pl.col(LABEL).is_not_null())
            .select(GROUP, edge.alias("edge"), sides[0].alias("pos"), sides[1].alias("neg"))
            .group_by(GROUP, "edge")
            .agg(pos.sum(), neg.sum())
            .group_by(GROUP)
            .agg(((pos * neg).sum() / (pos.sum() * neg.sum())).alias("envelope"))
        )
        envelope = np.full(len(resolution), np.nan)
        envelope[by_group[GROUP].to_numpy()] = by_group["envelope"].to_numpy()
        envelopes.append(envelope)
    largest: NDArray[np.float64] = np.fmax.reduce(envelopes)
    return largest
