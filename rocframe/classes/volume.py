"""The verb `volume`: scores of three classes → the volume under each group's ROC surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.classes.encoding import Given, Used, coded, numbered_groups
from rocframe.classes.inputs import as_classes, read_ordered, read_scores
from rocframe.classes.triples import (
    SUM_TIE_SHARES,
    Kinds,
    Members,
    Triples,
    ordered_triples,
    pairs_of,
    triples_of_sums,
)
from rocframe.errors import LabelError, OptionValueError, ScoreError
from rocframe.frames import build_table, like, planned, through_node
from rocframe.inference.confidence import Confidence, logit, normal_quantile, wald
from rocframe.inputs.cases import read
from rocframe.kernel.exact import product, quotient
from rocframe.kernel.groups import Groups
from rocframe.options import NOT_GIVEN
from rocframe.schemas import VOLUME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.classes.inputs import Classes, ClassScores
    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import Bound, By, Column, Count, Missing


Method = Literal["logit", "wald"]


def volume(
    predictions: FrameT,
    /,
    label: Column,
    scores: ClassScores,
    *,
    by: By = None,
    classes: Classes = None,
    ci: Method | None = "logit",
    level: float = 0.95,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Measure the volume under the ROC surface of three classes in each group.

    The volume is the chance that three rows, one of each class, are told apart: a row drawn from
    each, in no order, and each then given to another class. Guessing has 1/6, and 1 is the best.
    What tells them apart depends on `scores`, and `rule` says which it was.

    One score of all classes, with `classes` from lowest to highest, makes the rule `"order"`: the
    three rows are right if their scores stand in the order of their classes. A triple counts 1/2
    if two of its scores tie and the third stands where it should, and 1/6 if all three tie.

    A score of each class makes the rule `"sum"`: of the six ways to give three rows a class each,
    the one with the largest sum of scores is chosen, each row adding its score of the class it is
    given. A triple counts 1/k if the right way is one of k with the largest sum. Of logarithms of
    probabilities the largest sum is the largest product, which is the most likely way whatever the
    frequencies of the classes.

    Parameters
    ----------
    predictions : DataFrame or LazyFrame
        One row per prediction. A LazyFrame returns a LazyFrame.
    label : str or Expr
        Column or expression with the true class of each row.
    scores : mapping, sequence of str, selector or str
        One column or expression, a score that rises from class to class; or a score of each of the
        three classes: a mapping from classes to columns or expressions; a list of columns or a
        selector, if columns are named like the classes; or one column of lists or arrays.
    by : str or sequence of str, default None
        Group columns. A null key is a group of its own.
    classes : sequence, default None
        For one score the three classes, from that of the lowest scores to that of the highest. For
        lists the classes, in the order of the lists.
    ci : str or None, default "logit"
        Method of the interval, from the variance of a U-statistic of three samples: `"logit"`, on
        the logit scale; `"wald"`, clipped to [0, 1]; None for no interval.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    count : str, Expr or None, optional
        Column or expression with the number of identical rows that a row represents; all results
        are those of that many separate rows. If the table has a column named `count`, pass
        `count="count"` or `count=None`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Handling of rows whose label, score, weight or count is null or NaN. `"raise"`: an error.
        `"drop"`: the rows are left out and counted in `n_missing`. `"worst"`: for missing scores
        only; an unscored positive is a false negative and an unscored negative is a false positive
        at every threshold.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, volume, lower, upper, se, rule, n_first, n_second, n_third, n_missing, ci_level,
        ci_method, note`; a row per group, sorted by group. `volume` (Float64) is null where a class
        has no rows; `se` and limits where one has a single row, or where all rows of a class have
        the same share of right triples, in each class. `n_first, n_second, n_third` (Int64) count
        the rows of the classes in the order in which they were named, `n_missing` those that lack a
        label or a score. Under `"worst"` no triple of an unscored row is right. `note`
        (String) is null, or the first that applies of `no_rows, absent_class, single_row,
        zero_variance`.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if there
        are not three classes, a label is of none of them, or values are missing under `"raise"`;
        for sums if a score is infinite, or if a group has so many rows that they cannot be tried.

    See Also
    --------
    multiclass_auc : one number for any number of classes, from pairs of rows.

    Notes
    -----
    Triples are counted in whole numbers: by order from one sort of the rows, so that millions are
    no burden; by sums from all pairs of rows, so that some thousands of each class are. Sums that
    differ by no more than rounding, 1e-12 of the largest score, are equal.

    Standard errors look at the share of right triples of each row: var = s₁²/n₁ + s₂²/n₂ + s₃²/n₃
    with the sample variance of the shares of each class, which is DeLong's variance for three
    samples.

    References
    ----------
    D. Mossman (1999), "Three-way ROCs", Medical Decision Making 19(1), 78-89.
    doi:10.1177/0272989X9901900110

    S. Dreiseitl, L. Ohno-Machado, M. Binder (2000), "Comparing three-class diagnostic tests by
    three-way ROC analysis", Medical Decision Making 20(3), 323-331. doi:10.1177/0272989X0002000309

    C. T. Nakas, C. T. Yiannoutsos (2004), "Ordered multiple-class ROC analysis with continuous
    measurements", Statistics in Medicine 23(22), 3437-3449. doi:10.1002/sim.1917

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> stages = pl.DataFrame(
    ...     {"stage": ["low", "low", "mid", "mid", "high"], "score": [1.0, 2.0, 2.0, 3.0, 4.0]}
    ... )
    >>> found = rf.volume(stages, "stage", "score", classes=["low", "mid", "high"])
    >>> found.select("volume", "rule", "n_first", "n_second", "n_third", "note")
    shape: (1, 6)
    ┌────────┬───────┬─────────┬──────────┬─────────┬────────────┐
    │ volume ┆ rule  ┆ n_first ┆ n_second ┆ n_third ┆ note       │
    │ ---    ┆ ---   ┆ ---     ┆ ---      ┆ ---     ┆ ---        │
    │ f64    ┆ str   ┆ i64     ┆ i64      ┆ i64     ┆ str        │
    ╞════════╪═══════╪═════════╪══════════╪═════════╪════════════╡
    │ 0.875  ┆ order ┆ 2       ┆ 2        ┆ 1       ┆ single_row │
    └────────┴───────┴─────────┴──────────┴─────────┴────────────┘
    """
    # numpy loads with the first area, not with the package.
    confidence = Confidence.of(ci, level, 2, 0, get_args(Method))
    columns = VOLUME.columns()
    given = Given(label=label, by=by, count=count, missing=missing)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        found = read_ordered(plan, schema, scores, classes)
        found = found or read_scores(plan, schema, scores, classes)

        def three(dtype: pl.DataType, name: str) -> pl.Series:
            every = as_classes(found.argument, found.values or [], dtype, name)
            if len(every) != 3:
                raise OptionValueError.of(
                    found.argument,
                    every.to_list(),
                    f"a volume is of three classes, and these are {len(every)}",
                    "For any number of classes say multiclass_auc, for two say auc.",
                )
            return every

        node = coded(
            plan, schema, given, found, three, table=tuple(columns), error=LabelError.fourth
        )

        def run(frame: pl.DataFrame) -> pl.DataFrame:
            codes = frame.get_column(node.code).to_numpy()
            table = measured(frame, node.bound, codes, confidence)
            names = {str(i): name for i, name in enumerate(node.bound.by)}
            return table.rename(names)

        return through_node(
            node.plan, run, schema={**node.bound.keys, **columns}, by=node.bound.by, anchor="rule"
        )

    return like(predictions, planned("predictions", predictions).pipe_with_schema(resolve))


MOST_PAIRS = 1 << 24  # pairs of kinds of rows of one group, and entries of its table

ROUNDING = 1e-28  # square of the rounding of what triples count, as shares


def measured(
    frame: pl.DataFrame, bound: Bound, codes: NDArray[np.int32], confidence: Confidence
) -> pl.DataFrame:
    """Return the keys of each group, then the columns of the table."""
    every = list(read(frame, bound))
    used = Used.of(every)
    found = Groups.of(every[0].keys, len(codes))
    groups = found.keys.height
    group = numbered_groups(found.starts, found.order)
    sizes = np.zeros((groups, 3), np.int64)
    np.add.at(sizes, (group[used.used], codes[used.used]), used.count[used.used])
    rows = np.flatnonzero(used.used & ~used.unscored)
    members = Members(group=group[rows], code=codes[rows], count=used.count[rows], groups=groups)
    if len(every) == 1:
        triples = ordered_triples(members, every[0].score[rows])
    else:
        triples = _sums(members, _scores(every, rows, bound), bound)
    n = [sizes[:, i] for i in range(3)]
    volume = quotient(triples.total, triples.whole * product(*n))
    variance = _variance(triples, volume, n)
    columns: dict[str, Any] = {
        "rule": "order" if len(every) == 1 else "sum",
        **dict(zip(("n_first", "n_second", "n_third"), n, strict=True)),
        "n_missing": used.n_missing(group, groups),
        "volume": volume,
        "note": list(_notes(sizes, variance, asked=confidence.ci is not None)),
    }
    if confidence.ci is not None:
        columns |= _limits(volume, variance, confidence)
    table = found.keys if found.keys.width else pl.DataFrame(height=groups)
    return build_table(table, columns, VOLUME.columns())


def _scores(every: Sequence[Cases], rows: NDArray[np.int64], bound: Bound) -> NDArray[np.float64]:
    """Put the scores of all classes side by side; they can be added."""
    columns = []
    for cases, role in zip(every, bound.models or (), strict=True):
        score = cases.score[rows].astype(np.float64)
        if not np.isfinite(score).all():
            raise ScoreError.infinite(bound.names[role])
        columns.append(score)
    return np.stack(columns, axis=1)


def _sums(rows: Members, score: NDArray[np.float64], bound: Bound) -> Triples:
    """Count the triples of each group by the rule of sums."""
    place = 3 * rows.group + rows.code
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(3 * rows.groups + 1))
    none = np.zeros(0, np.int64)
    group, mass, value = ([[none], [none], [none]] for _ in range(3))
    total = np.zeros(rows.groups, object)
    for i in range(rows.groups):
        own = [order[starts[3 * i + k] : starts[3 * i + k + 1]] for k in range(3)]
        classes = [Kinds.of(score[some], rows.count[some]) for some in own]
        _check_size(classes, bound)
        counted = triples_of_sums(classes)
        total[i] = sum(
            a * b for a, b in zip(counted[0].tolist(), classes[0].mass.tolist(), strict=True)
        )
        for k, kinds in enumerate(classes):
            group[k].append(np.full(len(kinds.mass), i))
            mass[k].append(kinds.mass)
            value[k].append(counted[k])
    return Triples(
        group=[np.concatenate(parts) for parts in group],
        mass=[np.concatenate(parts) for parts in mass],
        value=[np.concatenate(parts) for parts in value],
        total=total,
        whole=SUM_TIE_SHARES,
    )


def _check_size(classes: Sequence[Kinds], bound: Bound) -> None:
    pairs = pairs_of(classes)
    if pairs > MOST_PAIRS:
        raise OptionValueError.of(
            "scores",
            [bound.names[role] for role in bound.models or ()],
            f"sums of three rows take {pairs} steps in a group with "
            f"{', '.join(str(len(kinds.mass)) for kinds in classes)} distinct rows of its classes, "
            f"and the most is {MOST_PAIRS}",
            "Draw fewer rows of each class first, or round the scores so that rows become alike.",
        )


def _variance(
    triples: Triples, volume: NDArray[np.float64], sizes: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Return the variance of each volume; NaN with fewer than two rows of a class."""
    variance = np.zeros(len(volume))
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, n in enumerate(sizes):
            group, mass = triples.group[i], triples.mass[i].astype(np.float64)
            others = [sizes[k].astype(np.float64) for k in range(3) if k != i]
            whole = (triples.whole * others[0] * others[1])[group]
            off = triples.value[i].astype(np.float64) / whole - volume[group]
            spread = np.bincount(group, mass * off**2, len(volume))
            unscored = n - np.bincount(group, mass, len(volume))
            variance += (spread + unscored * volume**2) / (n - 1) / n
    variance[np.min(sizes, axis=0) < 2] = np.nan
    variance[variance < ROUNDING] = 0
    return variance


def _limits(
    volume: NDArray[np.float64], variance: NDArray[np.float64], confidence: Confidence
) -> dict[str, Any]:
    """Return standard errors and limits of all groups; NaN where there are none."""
    se = np.sqrt(np.where(variance > 0, variance, np.nan))
    z = normal_quantile(confidence.level)
    lower, upper = (logit if confidence.ci == "logit" else wald)(volume, se, z, 1.0)
    return {
        "se": se,
        "lower": lower,
        "upper": upper,
        "ci_level": np.where(np.isnan(volume), np.nan, confidence.level),
        "ci_method": [None if no else confidence.ci for no in np.isnan(lower)],
    }


def _notes(
    sizes: NDArray[np.int64], variance: NDArray[np.float64], *, asked: bool
) -> NDArray[np.object_]:
    """Say of each group the first thing that keeps it from having all its numbers."""
    found = np.full(len(sizes), None, object)
    if asked:
        found[variance == 0] = "zero_variance"
    found[sizes.min(axis=1) == 1] = "single_row"
    found[sizes.min(axis=1) == 0] = "absent_class"
    found[sizes.max(axis=1) == 0] = "no_rows"
    return found
