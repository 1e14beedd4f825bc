"""Count the predictions of each group with equal label and equal, possibly rounded, score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import frexp
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import polars as pl

from rocframe.compression.engines import (
    check_column_names,
    check_star,
    collect_rows,
    engine_schema,
    has_python_objects,
)
from rocframe.errors import MassError, OptionValueError, RepeatedNameError, ScoreError
from rocframe.frames import through_node
from rocframe.inputs.cases import is_positive
from rocframe.inputs.roles import bind_roles, comparable_positive
from rocframe.inputs.score_cells import SCORE_WIDTH, cell_width, group_resolution, round_down
from rocframe.options import check_group_columns

if TYPE_CHECKING:
    from rocframe.compression.resolution import Rounding
    from rocframe.inputs.roles import BoundRoles, Roles


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
    """The predictions that are compressed.

    A cell is a range of scores that become equal. `rows` is a narwhals frame with the required
    columns. Its group columns are named "by 0", "by 1" and so on, and its other columns by their
    roles: "label", "score 0", "weight", "count" and "width". `dtypes` are the polars dtypes of
    these columns.
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
        """Return one row per cell, with its number of rows in the column `count`.

        The columns have the names of the columns of `rows`.
        """
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
        """Round the scores of each group to the widest cells of the group, and merge these cells.

        The column `width` contains the widths of the cells, before and after.
        """
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
        """Return the cells with Boolean labels.

        Raise an error for wrong labels, counts or widths.
        """
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
