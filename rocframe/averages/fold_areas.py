"""Cases → the table of areas over folds: their mean, its interval, and two areas like it.

References
----------
E. LeDell, M. Petersen, M. van der Laan (2015), "Computationally efficient confidence intervals for
cross-validated area under the ROC curve estimates", Electronic Journal of Statistics 9(1),
1583-1607. doi:10.1214/15-EJS1035
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.areas.exact import scaled
from rocframe.areas.mean import area_of_mean
from rocframe.areas.pairs import class_variances, count_pairs, delong_variance
from rocframe.averages.averaged import averaged
from rocframe.averages.means import Cell
from rocframe.averages.members import grouped, left_out, spelled
from rocframe.averages.plan import POINTS, Plan
from rocframe.counting.arrange import arrange
from rocframe.counting.draws import Seed
from rocframe.counting.walk import Walk
from rocframe.curves.kinds import KINDS
from rocframe.curves.mean import mean_of
from rocframe.curves.table import layout, opened
from rocframe.curves.trace import traced
from rocframe.frames import collected
from rocframe.inference.intervals import logit, notes, quantile, wald
from rocframe.vocabulary import ROWS, fold_auc_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.cases import Cases

Interval = Literal["logit_delong", "delong", "ledell"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folds:
    """The folds of all groups: their areas, which count, and the walk that they come from.

    Group i has the folds `fold[starts[i]]` to `fold[starts[i + 1] - 1]` of the walk.
    """

    keys: pl.DataFrame
    walk: Walk
    fold: NDArray[np.int64]
    starts: NDArray[np.int64]
    area: NDArray[np.float64]
    usable: NDArray[np.bool_]
    told: NDArray[np.object_]

    @classmethod
    def of(cls, cases: Cases, over: int) -> Folds:
        """Measure each fold: the last `over` keys of the cases tell them apart."""
        walk = Walk.of(arrange(cases))
        names = cases.keys.columns[cases.keys.width - over :]
        keys, (fold, starts) = grouped(walk.rows.keys, names)
        area = count_pairs(walk).areas[0][fold]
        return cls(
            keys=keys,
            walk=walk,
            fold=fold,
            starts=starts,
            area=area,
            usable=~np.isnan(area),
            told=spelled(walk.rows.keys, names)[fold],
        )

    @property
    def cell(self) -> Cell:
        """The areas, to be averaged."""
        return self.of_folds(self.area)

    def of_folds(self, values: NDArray[np.float64]) -> Cell:
        """Return values of each fold, to be averaged where folds count."""
        kept = np.where(self.usable, values, np.nan)[:, None]
        return Cell(values=kept, weight=np.ones(len(kept)), starts=self.starts[:-1])

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up what the walk has of each fold, over all folds of a group."""
        total: NDArray[Any] = np.add.reduceat(values[self.fold], self.starts[:-1])
        return total

    def notes(self, variance: NDArray[np.float64] | None = None) -> list[str | None]:
        """Say what keeps a group from having all its numbers, and which folds are left out.

        A fold with one row of a class has no variance, and so the mean has none.
        """
        totals = self.walk.totals
        first = notes(self.total(totals.pos_rows), self.total(totals.neg_rows), None)
        if variance is not None:
            flat, unknown = variance == 0, np.isnan(variance)
            for name, rows in (
                ("one_negative", totals.neg_rows),
                ("one_positive", totals.pos_rows),
            ):
                alone = (rows[self.fold] == 1) & self.usable
                single = np.add.reduceat(alone, self.starts[:-1]) > 0
                first = np.where(single & unknown & (first == None), name, first)  # noqa: E711
            first = np.where(flat & (first == None), "zero_variance", first)  # noqa: E711
        second = left_out(self.told, self.usable, self.starts)
        return ["; ".join(filter(None, both)) or None for both in zip(first, second, strict=True)]


def normalized(cases: Cases) -> Cases:
    """Bring weights to at most 1, so that no product of two is too large."""
    if cases.weight is None:
        return cases
    (weight,) = scaled(cases.weight)
    return replace(cases, weight=weight)


def without(cases: Cases, over: int) -> Cases:
    """Return the cases with all folds of a group as one."""
    return replace(cases, keys=cases.keys[:, : cases.keys.width - over])


def nothing_of(keys: pl.DataFrame, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Return the table of no rows: without group columns one group, which has none."""
    rows = 0 if keys.width else 1
    known: dict[str, Any] = {"n_curves": 0, "note": "no_rows", **dict.fromkeys(ROWS, 0)}
    none = keys.clear() if keys.width else pl.DataFrame(height=rows)
    return none.with_columns(
        pl.Series(name, [known.get(name)] * rows, dtype) for name, dtype in schema.items()
    )


def fold_areas(cases: Cases, over: int, ci: Interval | None, level: float) -> pl.DataFrame:
    """Return one row per group: its key, then the columns of a table of areas over folds."""
    schema = fold_auc_schema()
    cases = normalized(cases)
    folds = Folds.of(cases, over)
    if not folds.notes():
        return nothing_of(folds.keys, schema)
    totals = folds.walk.totals
    mean = folds.cell.mean
    columns: dict[str, Any] = {
        "n_pos": folds.total(totals.pos_rows),
        "n_neg": folds.total(totals.neg_rows),
        "n_missing": folds.total(folds.walk.rows.tails.n_missing),
        "n_curves": folds.cell.count[:, 0],
        "mean_auc": mean[:, 0],
        "sd": folds.cell.sd(mean)[:, 0],
        "auc_of_mean": _auc_of_mean(cases, over),
        "pooled_auc": count_pairs(Walk.of(arrange(without(cases, over)))).areas[0],
        "note": folds.notes(),
    }
    if ci is not None:
        variance = _ledell(folds) if ci == "ledell" else _delong(folds)
        se = np.sqrt(np.where(variance > 0, variance, np.nan))
        limits = logit if ci == "logit_delong" else wald
        lower, upper = limits(mean[:, 0], se, quantile(level), 1.0)
        columns |= {
            "se": se,
            "lower": lower,
            "upper": upper,
            "ci_level": np.full(len(se), level),
            "ci_method": [None if np.isnan(end) else ci for end in lower],
            "note": folds.notes(variance),
        }
    nothing = [None] * len(mean)
    return folds.keys.with_columns(
        pl.Series(name, columns.get(name, nothing), dtype, nan_to_null=True)
        for name, dtype in schema.items()
    )


def _delong(folds: Folds) -> NDArray[np.float64]:
    """Return the variance of each mean: folds share no test rows, so theirs add up."""
    walk = folds.walk
    own = delong_variance(walk, count_pairs(walk))[folds.fold]
    cell = folds.of_folds(own)
    # A fold with one row of a class has an area, but no variance.
    known = np.add.reduceat(folds.usable & np.isnan(own), folds.starts[:-1]) == 0
    count = cell.count[:, 0]
    return np.where(known & (count > 0), cell.mean[:, 0] / np.maximum(count, 1), np.nan)


def _ledell(folds: Folds) -> NDArray[np.float64]:
    """Return the variance of each mean by its influence curve, with classes of all folds."""
    walk = folds.walk
    totals = walk.totals
    pos, neg = totals.pos_rows[folds.fold], totals.neg_rows[folds.fold]
    size = (pos + neg).astype(np.float64)

    def used(values: NDArray[Any]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = np.add.reduceat(
            np.where(folds.usable, values, 0).astype(np.float64), folds.starts[:-1]
        )
        return total

    lengths = np.diff(folds.starts)
    all_pos, all_neg = used(pos), used(neg)
    whole = all_pos + all_neg
    squares = np.zeros(len(size))
    both = class_variances(walk, count_pairs(walk))
    with np.errstate(divide="ignore", invalid="ignore"):
        for own, part, every in ((pos, both[0], all_pos), (neg, both[1], all_neg)):
            # One row alone has the placement of its class's mean.
            about = np.where(own > 1, part[folds.fold] * own * (own - 1.0), 0.0)
            squares += np.repeat(whole / every, lengths) ** 2 * about
        found = folds.of_folds(squares / size).mean[:, 0] / whole
    return np.where(whole > 0, found, np.nan)


def _auc_of_mean(cases: Cases, over: int) -> NDArray[np.float64]:
    """Return the area under the mean of each group's curves, on an even grid."""
    names = cases.keys.columns
    table = traced(cases)
    columns = layout(table.schema, names, ())
    plan = Plan(
        method="vertical",
        grid=POINTS,
        interval=None,
        level=0.95,
        test_per_train=None,
        weights="equal",
        n_boot=2,
        seed=Seed.of(0),
        over=tuple(names[len(names) - over :]),
    )
    mean = averaged(opened(table.select(columns.walk), columns), KINDS["roc"], plan)
    shape = mean_of(mean.columns)
    assert shape is not None
    areas = collected(area_of_mean(mean.lazy(), mean.schema, shape)).to_series(-1)
    return areas.fill_null(np.nan).to_numpy()
