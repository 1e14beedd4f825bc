"""The function `compress`: predictions with one row per distinct label and score, and a count."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import frexp, log2
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from rocframe.errors import MassError, OptionValueError, RepeatedNameError, ScoreError
from rocframe.frames import (
    as_input_frame,
    collect_frame,
    collect_narwhals,
    column,
    deferred_table,
    lazy_plan,
    number_distinct_rows,
    select_keys,
    through_node,
)
from rocframe.inputs.cases import is_positive, scores_as_floats
from rocframe.inputs.roles import (
    MAX_RESOLUTION,
    SCORE_WIDTH,
    Roles,
    bind_roles,
    cell_width,
    comparable_positive,
    group_resolution,
    power_of_two_below,
    round_down,
)
from rocframe.options import (
    NOT_GIVEN,
    check_flag,
    check_group_columns,
    is_arrow_table,
    parse_fraction,
    parse_names,
    parse_number,
    public_for_engines,
    read_arrow_table,
    returns_several_columns,
)
from rocframe.text import format_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import BoundRoles, By, Column, Count, Scores

RESOLUTIONS = (2.0**-1000, MAX_RESOLUTION)
RELATIVE_RESOLUTIONS = (2.0**-52, 1.0)


@dataclass(frozen=True, slots=True)
class Rounding:
    """Scores are rounded down to multiples of `resolution`, a power of two, or not if it is 0.

    If `relative`, it is relative to the largest power of two that is not above the absolute score.
    """

    resolution: float = 0.0
    relative: bool = False

    @classmethod
    def parse(cls, resolution: float | None, relative: bool) -> Rounding:
        """Return the rounding for the options of `compress`, after a check."""
        check_flag("relative", relative)
        if resolution is None:
            if relative:
                problem = "resolution= is not given"
                hint = "Use, for example, resolution=0.01, relative=True."
                raise OptionValueError.compose("relative", relative, problem, hint)
            return cls()
        low, high = RELATIVE_RESOLUTIONS if relative else RESOLUTIONS
        hint = "Use, for example, resolution=0.001, or leave out resolution= to round no score."
        parse_number("resolution", resolution, low=0, hint=hint)
        number = parse_number("resolution", resolution, low=low, high=high, example=0.001)
        return cls(power_of_two_below(number), relative)


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
        One row per prediction. The package of the table counts equal rows if narwhals supports it,
        such as pandas, pyarrow, DuckDB and PySpark; all columns must then be given by name. Other
        tables that export Arrow streams are converted to a polars DataFrame.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. With several scores, rows are merged only if all their
        scores are equal, so models can still be compared on the same rows.
    resolution : float, default None
        Scores are rounded down to multiples of the largest power of two that is at most
        `resolution`, such as 1/128 for 0.01. It must be above 2**-1000 and below 2**900, or with
        `relative=True` above 2**-52 and below 1. None: scores are not rounded.
    relative : bool, default False
        If True, the step is multiplied by the largest power of two that is at most the absolute
        score, so that `resolution=0.01` changes a score by at most 1 %. Not for several scores.
    max_envelope : float, default None
        A number between 0 and 1. Use the coarsest resolution of each group for which
        `auc_optimistic` - `auc_pessimistic` of `auc` is at most this number, or the original scores
        if it is larger for them. Needs several passes over the data. Not for `drift`, whose windows
        must have the same resolution.
    by : str, Expr, selector or sequence, default None
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
        distinct score and, with `weight`, distinct weight: `*by, label, score, score_width, count`,
        sorted by group, then by falling score, positives first. Rows without a label or score are
        kept.

        - `label` (Boolean) is true for the positive class, and null if the label is missing.
        - `score` is the lower edge of the range of merged scores, Float64 if scores are rounded.
          Several scores have one column per model instead.
        - `score_width` (Float64) is the width of this range: a row represents scores s with
          `score <= s < score + score_width`. It is 0 for exact and null for missing scores.
        - `weight` exists only if `weight` is given, and has its dtype.
        - `count` (Int64) is the number of rows.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the positive class does not occur. With
        `max_envelope`, if a group is not rounded and one of its scores is not exact as Float64.

    See Also
    --------
    tie_bounds : Bounds for the AUC, KS and other metrics of the scores before rounding.
    windows : Combine compressed days into longer time windows.

    Notes
    -----
    At the thresholds of the curve of rounded scores, the same rows are predicted positive as
    without rounding, so each of its points is a point of the exact curve. Standard errors, losses
    and calibration of rounded scores are approximations.

    Tables of several days or sites are combined by concatenation: `compress(pl.concat(tables),
    "label", "score", count="count")` is the compressed table of all rows, rounded in each group to
    its coarsest resolution.

    A LazyFrame needs memory for the result, not for the input; for this, the environment variable
    `POLARS_MAX_HOT_TABLE_SIZE` is set to 4194304, if it is not set.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 0, 0, 1, 0], "score": [0.9, 0.9, 0.9, 0.4, 0.3, 0.26]}
    ... )
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
    if frame is not predictions and not is_engine(frame):
        # `public_for_engines` computes the expressions in `by` of polars frames only.
        counted: FrameT = compress(
            frame,
            label,
            score,
            resolution=resolution,
            relative=relative,
            max_envelope=max_envelope,
            by=by,
            positive=positive,
            weight=weight,
            count=count,
        )
        return counted
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

    if isinstance(predictions, pl.LazyFrame):
        _enlarge_hash_table()
    plan = lazy_plan("predictions", predictions)
    return as_input_frame(predictions, plan.pipe_with_schema(resolve))


HASH_TABLE_VARIABLE, HASH_TABLE_SIZE = "POLARS_MAX_HOT_TABLE_SIZE", 2**22


def _enlarge_hash_table() -> None:
    """Let polars aggregate up to millions of groups in a stream with bounded memory.

    polars stores the rows of groups that do not fit into its hash table, whose default size is too
    small for 200,000 groups. A size that the user has set in the environment is not changed.
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

    The envelope, the optimistic minus the pessimistic AUC, does not fall if the resolution becomes
    coarser, so the exponent of the resolution is found by bisection. Groups with only one class
    keep the resolution of the last pass over the data.
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


def with_equal_widths(
    tables: Sequence[pl.DataFrame], keys: Sequence[str], scores: Sequence[str]
) -> list[pl.DataFrame]:
    """Round the scores of compressed tables to the widest cells of each group in all tables.

    Equal cells are not merged. Tables whose columns differ in dtype are returned as they are.
    """
    parts = [table.select(map(column, [*keys, *scores, SCORE_WIDTH])) for table in tables]
    if any(part.schema != parts[0].schema for part in parts):
        return [*tables]
    rows, edges = pl.concat(parts), [column(name).cast(pl.Float64) for name in scores]
    found = group_resolution(edges, pl.col(SCORE_WIDTH), [*map(column, keys)])
    resolution, relative = (pl.lit(rows.select(one).to_series()) for one in found)
    options = {"resolution": resolution, "relative": relative}
    rows = rows.select(round_down(edge, **options, when=pl.when) for edge in edges)
    width = pl.max_horizontal(cell_width(edge, **options) for edge in edges)
    rows, start, results = rows.with_columns(width.alias(SCORE_WIDTH)), 0, []
    for table in tables:
        results.append(table.with_columns(rows.slice(start, table.height).get_columns()))
        start += table.height
    return results


def _envelopes(
    rows: pl.DataFrame, source: CompressInput, resolution: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest envelope of each group at its resolution; NaN with only one class."""
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


COUNT, LABEL, SCORE_COLUMN, WEIGHT, WIDTH = "count", "label", "score", "weight", "width"
NEGATIVE, MISSING = "negative", "missing"  # numbers of rows with a wrong count
HIGH_COUNT = "high count"  # the sum of the counts // HIGH_UNIT, which does not overflow
WRONG_WIDTH = "wrong width"  # the number of rows with a wrong width
CHECKS = (NEGATIVE, MISSING, HIGH_COUNT, WRONG_WIDTH)
MAX_COUNT, HIGH_UNIT = 2**63 - 1, 2**32
RESOLUTION, RELATIVE = "resolution", "relative"
# Codes of labels that are neither 0 nor 1, if the positive class is not given, and of null.
OTHER_LABEL, MISSING_LABEL = 2, 3
INT64_COMPATIBLE = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompressInput:
    """The predictions that are compressed; a cell is a range of scores that become equal.

    `rows` is a narwhals frame with the columns "by 0", "by 1", …, "label", "score 0", …, "weight",
    "count" and "width", whose polars dtypes are in `dtypes`.
    """

    bound: BoundRoles
    rows: Any
    dtypes: pl.Schema

    @classmethod
    def bind(cls, plan: pl.LazyFrame, schema: pl.Schema, roles: Roles) -> CompressInput:
        """Return the predictions of a polars frame, after a check of names and dtypes."""
        bound = bind_compressed(plan, schema, roles)
        names = {name: f"by {i}" for i, name in enumerate(bound.by)}
        names |= {private: role for role, private in bound.private.items()}
        rows = plan.select(bound.inputs).rename(names)
        return cls(bound=bound, rows=nw.from_native(rows), dtypes=rows.collect_schema())

    @classmethod
    def of_engine(cls, frame: Any, roles: Roles) -> CompressInput:
        """Return the predictions of a narwhals frame, after a check of names and dtypes."""
        check_column_names(roles, frame)
        schema = engine_schema(frame, roles)
        bound = bind_compressed(pl.LazyFrame(schema=schema), schema, roles)
        names = {f"by {i}": name for i, name in enumerate(bound.by)} | bound.names
        required = [*dict.fromkeys(names.values())]
        is_large = "count" in bound.names and schema[bound.names[COUNT]] not in INT64_COMPATIBLE
        # pyarrow does not group by nested values, and does not compare Float16 with integers.
        is_unsupported = is_large or any(
            schema[name].is_nested() or schema[name] == pl.Float16 for name in required
        )
        if has_python_objects(frame, required) or (
            is_unsupported and isinstance(frame, nw.DataFrame)
        ):
            table = collect_rows(frame.select(*required))
            columns = {role: table.get_column(name) for role, name in names.items()}
            rows = nw.from_native(pl.LazyFrame(columns))
        else:
            check_star(names, frame)
            rows = frame.select(nw.col(name).alias(role) for role, name in names.items())
        return cls(
            bound=bound,
            rows=rows,
            dtypes=pl.Schema({role: schema[name] for role, name in names.items()}),
        )

    @property
    def keys(self) -> list[str]:
        """The group columns of `rows`."""
        return [f"by {i}" for i in range(len(self.bound.by))]

    @property
    def scores(self) -> list[str]:
        """The score columns of `rows`."""
        return [name for name in self.dtypes if name.startswith("score ")]

    @property
    def cell_columns(self) -> list[str]:
        """The columns that are equal in all rows of a cell."""
        return [name for name in self.dtypes if name not in {COUNT, WIDTH}]

    @property
    def names(self) -> dict[str, str]:
        """A dict from the columns of cells to the columns of the result, in their order."""
        names = dict(zip(self.keys, self.bound.by, strict=True)) | {LABEL: LABEL}
        names |= dict(zip(self.scores, self.bound.models or (SCORE_COLUMN,), strict=True))
        weight = {WEIGHT: WEIGHT} if WEIGHT in self.dtypes else {}
        return {**names, WIDTH: SCORE_WIDTH, **weight, COUNT: COUNT}

    def table(self, rounding: Rounding) -> pl.LazyFrame:
        """Return the compressed table, with scores that are rounded in this way."""
        if rounding.relative and len(self.scores) > 1:
            raise OptionValueError.compose(
                "relative",
                True,
                "the widths of two score columns would differ, but the result has only one column "
                "of widths, score_width",
                "Use resolution= without relative=, or compress each score column separately.",
            )
        options = {"resolution": rounding.resolution, "relative": rounding.relative}
        widths = [cell_width(pl.col(name).cast(pl.Float64), **options) for name in self.scores]
        cells = self.count(rounding)
        if WIDTH in self.dtypes:
            cells = self.widen(cells.with_columns(pl.max_horizontal(WIDTH, *widths)))
        else:
            cells = cells.with_columns(pl.max_horizontal(*widths).alias(WIDTH))
        return self.finish(cells)

    def count(self, rounding: Rounding) -> pl.LazyFrame:
        """Return one row per cell, with the columns of `rows` and the column `count`."""
        scores = [self._score(name, rounding).alias(name) for name in self.scores]
        replaced = {LABEL, COUNT, WIDTH, *self.scores}
        others = [nw.col(name) for name in self.dtypes if name not in replaced]
        sums: dict[str, Any] = {COUNT: nw.lit(1)}
        if COUNT in self.dtypes:
            count: Any = nw.col(COUNT)
            if self.dtypes[COUNT] in INT64_COMPATIBLE:
                count = count.cast(nw.Int64)  # HIGH_UNIT is larger than the integers of 32 bits
            high: Any = count // HIGH_UNIT
            sums = {NEGATIVE: count < 0, MISSING: count.is_null()}
            if self.dtypes[COUNT] not in INT64_COMPATIBLE:
                high = (
                    nw.when(count <= MAX_COUNT)
                    .then(high)
                    .otherwise(nw.lit(MAX_COUNT // HIGH_UNIT + 1))
                )
                count = nw.when(count <= MAX_COUNT).then(count)
            sums = {COUNT: count, **sums, HIGH_COUNT: high}
        if WIDTH in self.dtypes:
            sums[WRONG_WIDTH] = self._is_wrong_width()
        summed = [values.cast(nw.Int64).alias(name) for name, values in sums.items()]
        statistics = [nw.col(name).sum() for name in self._sums]
        if WIDTH in self.dtypes:
            width = nw.col(WIDTH).cast(nw.Float64)
            others.append(nw.when(width.is_finite()).then(width).alias(WIDTH))
            statistics.append(nw.col(WIDTH).max())
        cells = (
            self.rows.select(*others, self._label().alias(LABEL), *scores, *summed)
            .group_by(*self.cell_columns)
            .agg(*statistics)
        )
        native = cells.to_native()
        if not isinstance(native, pl.LazyFrame):
            native = self._merge(collect_rows(cells), rounding)
        if self.dtypes[LABEL] == pl.Boolean:
            return native
        return native.with_columns(pl.when(pl.col(LABEL) != MISSING_LABEL).then(LABEL))

    @property
    def _sums(self) -> list[str]:
        """The columns of counted cells that are sums over rows."""
        counts = [NEGATIVE, MISSING, HIGH_COUNT] if COUNT in self.dtypes else []
        return [COUNT, *counts, *([WRONG_WIDTH] if WIDTH in self.dtypes else [])]

    def _is_wrong_width(self) -> Any:
        """Return whether a width is negative, infinite, or NaN although the row has a score."""
        width = nw.col(WIDTH).cast(nw.Float64)
        is_scored = nw.lit(False)
        for name in self.scores:
            score, is_float = nw.col(name), self.dtypes[name].is_float()
            is_scored = is_scored | ~(
                score.is_null() | score.is_nan() if is_float else score.is_null()
            )
        is_wrong = (width < 0) | ~width.is_finite() & (~width.is_nan() | is_scored)
        return nw.when(~width.is_null()).then(is_wrong).otherwise(nw.lit(False))

    def _merge(self, cells: pl.DataFrame, rounding: Rounding) -> pl.LazyFrame:
        """Return the cells that another engine counted, with the dtypes and cells of polars.

        Some engines distinguish values that are equal in polars, such as 0.0 and -0.0, and return
        sums as decimals.
        """
        empty = nw.from_native(pl.LazyFrame(schema=self.dtypes))
        dtypes = replace(self, rows=empty).count(rounding).collect_schema()
        known: Any = {name: dtype for name, dtype in dtypes.items() if dtype != pl.Unknown}
        names = [WIDTH] if WIDTH in dtypes else []
        # The sum of an engine can exceed Int64. It then becomes null, which `check` detects.
        counts = cells.get_column(COUNT).cast(pl.Int64, strict=False)
        return (
            cells.lazy()
            .with_columns(counts)
            .cast(known)
            .group_by(*self.cell_columns)
            .agg(pl.col(self._sums).sum(), pl.col(names).max())
            .select(*dtypes)
        )

    def largest_exponent(self) -> int:
        """Return the exponent of the smallest power of two above all finite absolute scores."""
        scores = [nw.col(name).cast(nw.Float64).abs() for name in self.scores]
        finite = [nw.when(score.is_finite()).then(score).max() for score in scores]
        columns = [score.alias(name) for score, name in zip(finite, self.scores, strict=True)]
        largest = collect_rows(self.rows.select(*columns)).row(0)
        return max(frexp(score or 0.0)[1] for score in largest)

    def _label(self) -> Any:
        """Return Boolean labels, or a code for labels of other dtypes.

        The code is 1 for positives, 0 for negatives, `MISSING_LABEL` for null and NaN, and
        `OTHER_LABEL` for labels that are neither 0 nor 1 if the positive class is not given.
        """
        label, dtype = nw.col(LABEL), self.dtypes[LABEL]
        positive: Any = self.bound.positive
        if dtype == pl.Boolean:
            return label if positive is None or positive else ~label
        is_missing = label.is_null()
        if dtype.is_float():
            is_missing = is_missing | label.is_nan()
        if positive is None:
            code: Any = nw.lit(OTHER_LABEL)
            if dtype.is_numeric():
                code = nw.when(label == 0).then(nw.lit(0)).otherwise(code)
                code = nw.when(label == 1).then(nw.lit(1)).otherwise(code)
        else:
            positive = comparable_positive(positive, dtype)
            literal = nw.lit(positive)
            if dtype.is_temporal():
                # Engines compare times of different units in the coarser unit.
                literal = nw.lit(positive, nw.Schema.from_polars({LABEL: dtype})[LABEL])
            if dtype in INT64_COMPATIBLE:
                label = label.cast(nw.Int64)
            code = nw.when(label == literal).then(nw.lit(1)).otherwise(nw.lit(0))
        return nw.when(is_missing).then(nw.lit(MISSING_LABEL)).otherwise(code).cast(nw.Int8)

    def _score(self, name: str, rounding: Rounding) -> Any:
        """Return the lower edge of the cell of each score; null for missing scores."""
        score, dtype = nw.col(name), self.dtypes[name]
        if not (dtype.is_float() or dtype == pl.Boolean or rounding.resolution):
            return score.cast(nw.Int64) if dtype in INT64_COMPATIBLE else score
        is_narrow = dtype in {pl.Float16, pl.Float32} and not rounding.resolution
        score = score.cast(nw.Float32 if is_narrow else nw.Float64)
        if dtype.is_float():
            # NaN becomes null, and -0.0 becomes 0.0.
            score = nw.when(~score.is_nan()).then(score + 0.0)
        if not rounding.resolution:
            return score
        return round_down(score, rounding.resolution, relative=rounding.relative, when=nw.when)

    def finish(self, cells: pl.LazyFrame) -> pl.LazyFrame:
        """Return the compressed table of counted cells with a column of widths."""
        weight = [WEIGHT] if WEIGHT in self.dtypes else []
        order = [*self.keys, *self.scores, LABEL, *weight]
        falling = [name not in self.keys for name in order]
        names = self.names
        checks = [name for name in self._sums if name in CHECKS]
        table = cells.select(*names, *checks).sort(order, descending=falling, nulls_last=falling)
        if self.dtypes[LABEL] == pl.Boolean and not checks:
            return table.rename(names)
        dtypes = {**table.collect_schema(), LABEL: pl.Boolean()}
        return through_node(
            table,
            lambda frame: self.check(frame).rename(names),
            schema={names[name]: dtype for name, dtype in dtypes.items() if name in names},
            by=(),
            anchor=COUNT,
        )

    def widen(self, cells: pl.LazyFrame) -> pl.LazyFrame:
        """Round the scores of each group to its widest cells (`width`), and merge these cells."""
        dtypes = cells.collect_schema()
        if not all(dtypes[name].is_float() for name in self.scores):
            return cells  # integers and decimals are exact
        edges = [pl.col(name).cast(pl.Float64) for name in self.scores]
        groups = [pl.col(name) for name in self.keys]
        resolution, relative = group_resolution(edges, pl.col(WIDTH), groups)
        cells = cells.with_columns(resolution.alias(RESOLUTION), relative.alias(RELATIVE))
        options = {"resolution": pl.col(RESOLUTION), "relative": pl.col(RELATIVE)}
        cells = cells.with_columns(
            round_down(edge, **options, when=pl.when).cast(dtypes[name])
            for name, edge in zip(self.scores, edges, strict=True)
        )
        width = pl.max_horizontal(cell_width(edge, **options) for edge in edges)
        return (
            cells.group_by(*self.cell_columns, RESOLUTION, RELATIVE)
            .agg(pl.col(self._sums).sum())
            .with_columns(width.alias(WIDTH))
        )

    def check(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Return the cells with Boolean labels; an error for wrong labels, counts or widths."""
        for problem in (NEGATIVE, MISSING):
            rows = int(cells[problem].sum()) if problem in cells.columns else 0
            if rows:
                raise MassError.compose("count", self.bound.names[COUNT], problem, rows)
        if HIGH_COUNT in cells.columns:
            # A sum that overflows differs from the exact sum by a multiple of 2**64. A count that
            # is not an Int64 is left out of the sum.
            error = (
                cells[HIGH_COUNT].cast(pl.Float64) * HIGH_UNIT - cells[COUNT].cast(pl.Float64)
            ).abs()
            if (error > 2.0**62).any():
                name = self.bound.names[COUNT]
                raise MassError.overflow("count", name, "the maximum of Int64")
        if WRONG_WIDTH in cells.columns and (rows := int(cells[WRONG_WIDTH].sum())):
            raise ScoreError.wrong_widths(self.bound.names[WIDTH], rows)
        label, positive = cells[LABEL], self.bound.positive
        if positive is None:
            is_wrong = label.dtype != pl.Boolean and (label == OTHER_LABEL).any()
        else:
            is_wrong = label.null_count() < len(label) and not (label == 1).any()
        if is_wrong:
            distinct = collect_rows(self.rows.select(LABEL).unique()).cast(
                {LABEL: self.dtypes[LABEL]}
            )
            is_positive(distinct[LABEL], positive, self.bound.names[LABEL])  # raises the error
        return cells.with_columns(label.cast(pl.Boolean)).drop(CHECKS, strict=False)


def bind_compressed(plan: pl.LazyFrame, schema: pl.Schema, roles: Roles) -> BoundRoles:
    """Return the columns of predictions for `compress`, after a check of names and dtypes."""
    weight = [] if roles.weight is None else [WEIGHT]
    table = [LABEL, SCORE_WIDTH, *weight, COUNT]
    bound = bind_roles(plan, schema, roles, table, keyed=False)
    if bound.models is None:
        check_group_columns(bound.by, schema, [LABEL, SCORE_COLUMN, SCORE_WIDTH, *weight, COUNT])
    models = bound.models or ()
    for name in models:
        if name in {*table, *bound.by}:
            columns = [*bound.by, LABEL, *models, SCORE_WIDTH, *weight, COUNT]
            raise RepeatedNameError.in_result("score", name, columns)
    return bound


def read_engine(predictions: Any) -> Any:
    """Return a table of another package as a narwhals frame, and polars frames unchanged.

    Tables that narwhals does not support are converted to a polars DataFrame if they have the Arrow
    stream interface. All other values are returned unchanged.
    """
    if isinstance(predictions, pl.DataFrame | pl.LazyFrame):
        return predictions
    try:
        frame = nw.from_native(predictions, pass_through=True)
        has_names = not is_engine(frame) or all(isinstance(name, str) for name in frame.columns)
    except nw.exceptions.DuplicateError:
        has_names = False
    if not has_names:
        return read_arrow_table("predictions", predictions)
    if is_engine(frame):
        native = frame.to_native()
        return native if isinstance(native, pl.DataFrame | pl.LazyFrame) else frame
    return read_arrow_table("predictions", predictions) if is_arrow_table(predictions) else frame


def is_engine(frame: object) -> bool:
    """Return whether a value is a narwhals frame."""
    return isinstance(frame, nw.DataFrame | nw.LazyFrame)


def engine_schema(frame: Any, roles: Roles) -> pl.Schema:
    """Return the names and the polars dtypes of the columns of a narwhals frame.

    Group columns of type ENUM become Categorical, as in other functions. Arguments that are columns
    of Python objects in pandas have the dtype that polars reads.
    """
    by = parse_names(roles.by)
    schema: pl.Schema = frame.collect_schema().to_polars()
    for name in by:
        if isinstance(schema.get(name), pl.Enum):
            schema[name] = pl.Categorical()
    for name in (*by, *_columns([roles.label, roles.score, roles.weight, roles.count])):
        if isinstance(name, str) and has_python_objects(frame, [name]):
            schema[name] = collect_rows(frame.select(name)).schema[name]
    return schema


def has_python_objects(frame: Any, columns: Sequence[str]) -> bool:
    """Return whether one of the columns of a table in memory has no dtype in narwhals."""
    dtypes = frame.collect_schema()
    return isinstance(frame, nw.DataFrame) and any(
        dtypes.get(name) in {nw.Object, nw.Unknown} for name in columns
    )


def check_column_names(roles: Roles, frame: Any) -> None:
    """Raise an error for arguments that are expressions instead of names of columns."""
    for argument in ("label", "score", "by", "weight", "count"):
        for value in _columns(getattr(roles, argument)):
            # A selector of scores is replaced by names.
            is_selector = argument == "score" and isinstance(value, pl.Expr)
            is_selector = is_selector and returns_several_columns(value)
            if isinstance(value, pl.Expr | nw.Expr) and not is_selector:
                package = format_type(frame.to_native())
                problem = f"expected the name of a column, because the table is a {package}"
                hint = f"Compute the column in the {package} first, and pass its name."
                raise OptionValueError.compose(argument, value, problem, hint)


def check_star(names: Mapping[str, str], frame: Any) -> None:
    """Raise an error for a column `*`, which stands for all columns in a query."""
    for role, name in names.items():
        if name == "*" and isinstance(frame, nw.LazyFrame):
            package = format_type(frame.to_native())
            problem = f"in a query of the {package}, this name stands for all columns"
            hint = f"Rename the column in the {package} first."
            raise OptionValueError.compose(role.split()[0], name, problem, hint)


def _columns(value: Any) -> Iterator[Any]:
    """Yield the columns of an argument, which can be a list or a mapping of columns."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        for element in value:
            yield from _columns(element)
    else:
        yield value


def collect_rows(frame: Any) -> pl.DataFrame:
    """Return the rows of a narwhals frame as a polars DataFrame."""
    if isinstance(frame, nw.LazyFrame):
        return collect_narwhals(frame)
    return read_arrow_table("predictions", frame.to_native())
