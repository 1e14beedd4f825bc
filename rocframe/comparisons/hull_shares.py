"""`hull_shares`: how often each model is on the common convex hull of bootstrap resamples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.comparisons.paired_samples import paired_samples
from rocframe.comparisons.pairing import (
    Instances,
    PairingOptions,
    UnpairedModels,
    build_model_table,
    model_batches,
    plan_comparison,
    read_instances,
    read_models,
)
from rocframe.curves.convex_hull import RATE_ROUNDING, common_vertices, hull_vertices
from rocframe.curves.locate import round_values
from rocframe.frames import find_keys
from rocframe.inference import class_notes, parse_n_boot
from rocframe.inputs.roles import Roles
from rocframe.kernel.groups import scale_weights
from rocframe.kernel.scan import (
    GroupRows,
    GroupSampler,
    RandomDraws,
    ReplicateCounts,
    Scan,
    Seed,
    stream_keys,
)
from rocframe.options import NOT_GIVEN, check_flag, check_supported, public
from rocframe.resampling import batched_replicates
from rocframe.schemas.statistics import hull_share_columns
from rocframe.schemas.table_type import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.pairing import PairingColumns, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.scan import ReplicateScan

MAX_DENOMINATOR = 2.0**30  # the product of two denominators up to this limit fits into Int64


@public
def hull_shares(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - name of the public option
    by: By = None,
    paired: bool = True,
    unmatched: Unmatched = "raise",
    n_boot: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute the share of bootstrap resamples in which each model is on the common convex hull.

    A model is on the hull if one of its thresholds is a vertex of the convex hull of all ROC
    curves, apart from the two ends. Such a threshold is optimal for some costs. A model with a
    share near 0 is probably not the best model for any costs.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
    between : str, default "model"
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify an instance, to match the rows of the models.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    paired : bool, default True
        Whether a resample has the same instances for all models. False: the models scored different
        instances.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
    n_boot : int, default 2000
        Number of bootstrap resamples.
    seed : int, default None
        Seed of the draws, an integer >= 0; None uses a new seed in each call.
    cluster : str or Expr, default None
        Clusters of dependent rows, such as users.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and model, sorted by group and model: `*by`, `model, share_on_hull,
        n_vertices, n_pos, n_neg, n_boot, note`.

        - `share_on_hull` (Float64) is null if a class has fewer than two rows or clusters.
        - `n_vertices` (Int64) is the number of vertices of the model on the common hull of the
          data, without the ends; null if a class has no rows. A vertex of several models is counted
          for each.
        - `note` (String) is null, or the first of these values that applies: `no_rows,
          no_positives, no_negatives, one_positive, one_negative`, `redrawn:12` or `unmatched:3`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if the rows cannot be paired by `id`.

    See Also
    --------
    hull : The vertices of the common hull of the data.

    Notes
    -----
    Resamples have as many rows of each class as the data, or complete clusters with `cluster`. A
    share p has the random error √(p(1 - p)/n_boot). It is not the probability that the model is
    best: one vertex is enough, even if it is optimal only for a small range of costs.

    References
    ----------
    - F. Provost, T. Fawcett (2001), Machine Learning 42(3), 203-231. doi:10.1023/A:1007601015854
    - A. C. Davison, D. V. Hinkley (1997), Bootstrap Methods, chapter 2.
      doi:10.1017/CBO9780511802843

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> votes = rf.datasets.vote()
    >>> shares = rf.hull_shares(votes, "label", "score", id="id", n_boot=200, seed=1)
    >>> shares.select("model", "share_on_hull").rows()[-2:]
    [('nearest_neighbours', 0.915), ('random_forest', 0.315)]
    """
    check_flag("paired", paired)
    check_supported("id", id, "paired=False", supported=paired)
    roles = Roles(label, score, by, positive, weight, count, missing, cluster)
    pairing = PairingOptions(
        roles=roles,
        between=between,
        id=id,
        unmatched=unmatched,
        paired=paired,
        min_models=1,
        unpaired="paired=False",
    )
    n_draws, parsed_seed = parse_n_boot("n_boot", n_boot), Seed.parse(seed)
    return plan_comparison(
        predictions,
        pairing,
        lambda frame, columns: hull_share_table(frame, columns, n_draws, parsed_seed),
        schema=hull_share_columns,
        anchor="n_pos",
        independent_groups=True,
    )


def hull_share_table(
    frame: pl.DataFrame, columns: PairingColumns, n_boot: int, seed: Seed
) -> pl.DataFrame:
    """Return a row for each group and model."""
    options = columns.options
    data = read_instances(frame, columns) if options.paired else read_models(frame, columns)
    draws = RandomDraws(n_draws=n_boot, seed=seed, keys=stream_keys(data.keys))
    if isinstance(data, UnpairedModels):
        parts = [_independent_shares(data, columns, draws)]
    else:
        parts = _paired_shares(data, options, draws)
    return build_model_table(
        parts,
        hull_share_columns(columns.model),
        keys=data.keys,
        models=data.models,
        order=[MODEL],
        constants={"n_boot": n_boot},
    )


def _paired_shares(
    instances: Instances, options: PairingOptions, draws: RandomDraws
) -> list[dict[str, Any]]:
    """Return the columns of each group of models that scored the same instances."""
    parts = []
    for batch in model_batches(instances, options, all_models=True):
        merged = batch.merge_identical_rows()
        samples = paired_samples(merged, list(merged.scans()))
        for group, unmatched, sample in zip(batch.groups, batch.unmatched, samples, strict=True):
            shape, redrawn = len(batch.models), 0
            n_pos, n_neg = sample.n_rows
            share, n_vertices = np.full((2, shape), np.nan)
            if n_pos and n_neg:
                (n_vertices,) = vertex_counts(sample.observed)
            if min(sample.units) > 1:
                values, redrawn = sample.resample(vertex_counts, draws, draws.keys[group])
                share = (values > 0).mean(axis=0)
            counts = np.array([[*sample.units], [redrawn, unmatched]])[..., None]
            parts.append(
                {
                    "group": np.full(shape, group),
                    MODEL: np.array(batch.models),
                    "share_on_hull": share,
                    "n_vertices": n_vertices,
                    "n_pos": n_pos,
                    "n_neg": n_neg,
                    "note": class_notes(*counts[0], redrawn=counts[1, 0], unmatched=counts[1, 1]),
                }
            )
    return parts


def _independent_shares(
    unpaired: UnpairedModels, columns: PairingColumns, draws: RandomDraws
) -> dict[str, Any]:
    """Return the columns of all groups and models that scored different instances."""
    keys = unpaired.keys
    scans = [Scan.from_cases(scale_weights(cases)) for cases in unpaired.cases]
    heights = [len(scan.totals.pos_rows) for scan in scans]
    curves = [(model, row) for model, height in enumerate(heights) for row in range(height)]
    keys_of_curves = pl.concat([keys[:0], *(scan.rows.keys for scan in scans)])
    group_of = find_keys(keys_of_curves, keys).to_numpy()
    n_pos, n_neg = (
        np.array([getattr(scans[model].totals, name)[row] for model, row in curves], np.int64)
        for name in ("pos_rows", "neg_rows")
    )
    share, n_vertices = np.full((2, len(curves)), np.nan)
    units = np.stack([n_pos, n_neg])
    redrawn = np.zeros(len(curves), np.int64)
    by_group = np.argsort(group_of, kind="stable")
    by_group = by_group[(n_pos[by_group] > 0) & (n_neg[by_group] > 0)]
    for members in np.split(by_group, np.flatnonzero(np.diff(group_of[by_group])) + 1):
        if not len(members):
            continue
        populations = [
            GroupRows.from_scan(scans[model], row, unpaired.cases[model].cluster)
            for model, row in (curves[i] for i in members)
        ]
        observed = [ReplicateCounts.observed(population) for population in populations]
        (n_vertices[members],) = vertex_counts(observed)
        if columns.bound.roles.cluster is not None:
            units[:, members] = [
                [len(np.unique(getattr(population, side).cluster)) for population in populations]
                for side in ("pos", "neg")
            ]
        key = draws.keys[group_of[members[0]]]
        values, redrawn[members] = _resample_models(populations, draws, key)
        share[members] = (values > 0).mean(axis=0)
    share[(units < 2).any(axis=0)] = np.nan
    return {
        "group": group_of,
        MODEL: np.repeat(np.arange(len(scans)), heights),
        "share_on_hull": share,
        "n_vertices": n_vertices,
        "n_pos": n_pos,
        "n_neg": n_neg,
        "note": class_notes(*units, redrawn=redrawn),
    }


def _resample_models(
    populations: Sequence[GroupRows], draws: RandomDraws, key: tuple[int, ...]
) -> tuple[NDArray[np.int64], int]:
    """Return the numbers of hull vertices in each resample of independently drawn models."""
    samplers = [GroupSampler.from_group(population) for population in populations]

    def resample(stream: np.random.Generator, size: int) -> tuple[NDArray[np.int64], int]:
        resamples = [sampler.draw(stream, size, stratified=True) for sampler in samplers]
        return vertex_counts(resamples), sum(resample.n_redrawn for resample in resamples)

    return batched_replicates(
        resample,
        n_boot=draws.n_draws,
        batch_size=min(sampler.batch_size for sampler in samplers),
        seed=draws.seed,
        key=key,
    )


def vertex_counts(resamples: Sequence[ReplicateCounts]) -> NDArray[np.int64]:
    """Return the number of vertices of each model (columns) on the hull of each resample (rows)."""
    scans = [resample.scan(corners=True) for resample in resamples]
    pos, neg = (
        _common_denominators([getattr(scan.totals, name) for scan in scans])
        for name in ("pos", "neg")
    )
    parts = [_curve_vertices(scan, *scales) for scan, *scales in zip(scans, pos, neg, strict=True)]
    sample, tp, fp, is_trivial = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    model = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    counted = common_vertices(tp, fp, sample, RATE_ROUNDING) & ~is_trivial
    shape = len(scans[0].totals.pos), len(scans)
    cell = sample[counted] * shape[1] + model[counted]
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)


def _curve_vertices(
    scan: ReplicateScan, pos_scale: NDArray[Any], neg_scale: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """Return the resample of each vertex, its scaled tp and fp, and whether it is an end."""
    tp, fp = scan.curve_counts()
    size = len(tp)
    is_trivial = np.zeros(tp.shape, bool)
    for end in (slice(None, 1), slice(-1, None)):
        is_trivial |= (tp == tp[:, end]) & (fp == fp[:, end])
    row = np.flatnonzero(hull_vertices(tp.ravel(), fp.ravel(), np.arange(size + 1) * tp.shape[1]))
    sample = row // tp.shape[1]
    tp, fp = tp.ravel()[row] * pos_scale[sample], fp.ravel()[row] * neg_scale[sample]
    # Rates are rounded, so that equal vertices of different models are detected.
    tp, fp = (x if x.dtype.kind == "i" else round_values(x, (0, 1)) for x in (tp, fp))
    return sample, tp, fp, is_trivial.ravel()[row]


def _common_denominators(totals: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return factors that turn the counts of each model into rates with the same denominator.

    `totals` are the class sizes of each model. Factors are integers if totals are integers and
    products small.
    """
    if totals[0].dtype.kind == "i":
        if all(np.array_equal(total, totals[0]) for total in totals):
            return [np.ones_like(totals[0])] * len(totals)
        if np.prod(np.array(totals, float), axis=0).max() < MAX_DENOMINATOR:
            common = np.lcm.reduce(totals)
            return [common // total for total in totals]
    return [1 / total for total in totals]
