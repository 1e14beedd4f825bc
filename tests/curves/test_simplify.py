"""Simplified curves are within the error of the full curves at every point."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import inf, log
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.curves.convex_hull import hull_vertices

NOT_MONOTONE = {"precision_recall", "lift", "predictive_value", "skill"}
KINDS = [
    *("roc", "precision_recall", "det", "gain", "lift", "lift_chart", "predictive_value", "skill")
]
SCALES = [
    *((kind, "linear") for kind in KINDS),
    *((kind, "log") for kind in ("roc", "gain", "lift", "lift_chart")),
    *((kind, "normal_deviate") for kind in ("roc", "det")),
]
ROUNDING = 1e-12

probit = np.vectorize(NormalDist().inv_cdf, otypes=[float])


@cache
def log_of(name, n=4000):
    """Predictions with different shapes of the curve."""
    rng = np.random.default_rng(5)
    n = {"few": 60, "long": 60_000}.get(name, n)
    label = rng.random(n) < (0.01 if name == "rare" else 0.3)
    score = rng.normal(size=n) + (0 if name == "random" else 4 if name == "good" else 1.5) * label
    if name == "ties":
        score = score.round(1)
    if name == "worst first":
        score[np.argmax(score)], label[np.argmax(score)], label[np.argmin(score)] = 9, False, True
    weight = np.exp(rng.normal(0, 2, n)) if name == "weighted" else np.ones(n)
    return pl.DataFrame({"label": label, "score": score, "w": weight})


@cache
def curve_of_kind(name, kind="roc"):
    return curve_of(name, kind=kind)


def curve_of(name, **options):
    weight = "w" if name == "weighted" else None
    return rf.curve(log_of(name), "label", "score", weight=weight, **options)


def spans(at, along, other):
    """Return the range of one count along a line where the other count has a value."""
    first, last = np.searchsorted(along, at, "left"), np.searchsorted(along, at, "right") - 1
    between = np.interp(at, along, other)
    here = first <= last
    last = np.minimum(last, len(along) - 1)
    first = np.minimum(first, len(along) - 1)
    return np.where(here, other[first], between), np.where(here, other[last], between)


def counts(table):
    return table["tp"].to_numpy().astype(float), table["fp"].to_numpy().astype(float)


ALONG = {"roc": "fpr", "det": "fpr", "precision_recall": "recall"}
FOLLOWED = {
    "fpr": lambda tp, fp: (fp, tp),
    "recall": lambda tp, fp: (tp, fp),
    "alert_rate": lambda tp, fp: (tp + fp, tp),
}


def stretched(share, scale, low):
    """Return the position of a rate on an axis without 0."""
    if scale == "log":
        return 1 - np.log(np.maximum(share, low)) / log(low) if low < 1 else 0 * share
    end = probit(min(low, 0.5))
    return (probit(np.clip(share, low, 1 - low)) - end) / (-2 * end) if end else 0 * share


def lowest(shares, scale):
    """Return the lowest rate of axes without 0, and for deviates the smallest distance from 1."""
    least = [share[share > 0].min(initial=1) for share in shares[: 1 + (scale != "log")]]
    if scale == "normal_deviate":
        least += [(1 - share)[share < 1].min(initial=1) for share in shares]
    return min(least)


def farthest(full, simple, kind, scale):
    """Return the largest distance of two curves: in y at each x, and in x if y only rises."""
    last = full.row(-1, named=True)
    pos, neg = last["tp"] + last["fn"], last["fp"] + last["tn"]
    name = ALONG.get(kind, "alert_rate")
    whole = {"fpr": neg, "recall": pos, "alert_rate": pos + neg}[name]
    (along, other), (few_along, few_other) = (
        FOLLOWED[name](*counts(table)) for table in (full, simple)
    )
    low = lowest([along / whole, other / pos], scale)
    top = max(t / a for t, a in zip(other, along, strict=True) if a > 0) if kind == "lift" else 1

    def x(along):
        return along / whole if scale == "linear" else stretched(along / whole, scale, low)

    def y(along, other):
        rate = other / pos
        if kind == "skill":  # an error is 1 / max(pos, neg) of the axis
            return (2 * other - along) / max(pos, neg)
        if kind in NOT_MONOTONE:
            is_share = kind == "precision_recall"
            return along / (along + other) if is_share else other / along / top
        return stretched(rate, scale, low) if scale == "normal_deviate" else rate

    at = everywhere(along)
    at = at[at > 0] if kind in NOT_MONOTONE else at
    both = zip(spans(at, along, other), spans(at, few_along, few_other), strict=True)
    gaps = [abs(y(at, one) - y(at, two)) for one, two in both]
    if kind not in NOT_MONOTONE:
        at = everywhere(other)
        both = zip(spans(at, other, along), spans(at, few_other, few_along), strict=True)
        gaps += [abs(x(one) - x(two)) for one, two in both]
    return max(gap.max(initial=0) for gap in gaps)


def everywhere(counts):
    """Return all values of a count, and some values between each two of them."""
    at = np.unique(counts)
    between = [at[:-1] + share * np.diff(at) for share in (0, 0.02, 0.3, 0.8)]
    return np.unique(np.concatenate([*between, at]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["few", "ties", "rare", "random", "good", "worst first", "weighted", "long"]
)
@pytest.mark.parametrize(("kind", "scale"), SCALES)
@pytest.mark.parametrize("max_error", [0.1, 1 / 500])
def test_the_error_bounds_the_distance_of_both_curves_at_every_point(name, kind, scale, max_error):
    full = curve_of_kind(name, kind)
    simple = rf.simplify(full, max_error=max_error, scale=scale)
    error = simple["error"].unique().item()
    assert 0 <= error <= max_error
    assert farthest(full, simple, kind, scale) <= error + ROUNDING


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 12)), min_size=2, max_size=60).filter(
        lambda rows: len({label for label, _ in rows}) == 2
    ),
    st.sampled_from(SCALES),
    st.sampled_from([0.3, 0.05]),
)
def test_the_error_bounds_the_distance_of_any_curve(rows, shown, max_error):
    kind, scale = shown
    full = rf.curve(
        pl.DataFrame(rows, schema=["label", "score"], orient="row"), "label", "score", kind=kind
    )
    simple = rf.simplify(full, max_error=max_error, scale=scale)
    error = simple["error"].unique().item()
    assert 0 <= error <= max_error
    assert farthest(full, simple, kind, scale) <= error + ROUNDING


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_not_much_larger_than_the_distance(kind):
    full = curve_of("long", kind=kind)
    simple = rf.simplify(full, scale="linear")
    error = simple["error"].unique().item()
    assert error > 1 / 1000
    assert farthest(full, simple, kind, "linear") > 0.7 * error


@pytest.mark.parametrize("name", ["few", "ties", "rare", "long"])
def test_rows_are_rows_of_the_table_with_its_ends_and_the_vertices_of_its_hull(name):
    full = curve_of(name, metrics=["f1", "mcc"])
    simple = rf.simplify(full, max_error=0.2)
    rows = simple.drop("error", "area_change")
    assert rows.columns == full.columns
    assert_frame_equal(rows, full.join(rows, on="threshold", how="semi"), check_exact=True)
    assert rows.row(0) == full.row(0)
    assert rows.row(-1) == full.row(-1)
    points = set(zip(rows["fp"], rows["tp"], strict=True))
    assert hull(list(zip(full["fp"], full["tp"], strict=True))) <= points


def hull(points):
    """Return the vertices of the upper hull, found point by point."""
    chain = []
    for point in sorted(points):
        while len(chain) > 1 and turn(*chain[-2:], point) >= 0:
            chain.pop()
        chain.append(point)
    return set(chain)


def turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([1, 2**33]),
)
def test_vertices_of_several_hulls_are_those_of_each(walks, unit):
    lines = [[(0, 0)] for _ in walks]
    for line, steps in zip(lines, walks, strict=True):
        for fp, tp in steps:
            if fp or tp:
                line.append((line[-1][0] + fp * unit, line[-1][1] + tp * unit))
    fp, tp = np.array([point for line in lines for point in line]).T
    starts = np.append(0, np.cumsum([len(line) for line in lines]))
    remaining = hull_vertices(tp, fp, starts)
    for line, start in zip(lines, starts, strict=False):
        found = {point for i, point in enumerate(line) if remaining[start + i]}
        # A line that ends level ends in no corner, and still in a row that is kept.
        assert found == hull(line) | {line[0], line[-1]}


@pytest.mark.parametrize("rows", [1 << 17, 1_000])
def test_vertices_of_a_long_curve_are_found_among_few_rows(rows, monkeypatch):
    monkeypatch.setattr("rocframe.curves.convex_hull.BLOCK_ROWS", rows)
    full = curve_of("long")
    tp, fp = full["tp"].to_numpy(), full["fp"].to_numpy()
    remaining = hull_vertices(tp, fp, np.array([0, len(tp)]))
    assert set(zip(fp[remaining], tp[remaining], strict=True)) == hull(
        list(zip(fp, tp, strict=True))
    )


@pytest.mark.parametrize("name", ["few", "ties", "random", "weighted", "long"])
@pytest.mark.parametrize("kind", ["roc", "gain", "precision_recall"])
def test_the_change_of_the_area_is_that_of_the_two_areas(name, kind):
    full = curve_of(name, kind=kind)
    simple = rf.simplify(full, max_error=0.05)
    column = "pr_auc" if kind == "precision_recall" else "auc"
    before, after = (rf.area(table)[column].item() for table in (full, simple))
    change = simple["area_change"].unique().item()
    assert change == pytest.approx(after - before, abs=1e-13)
    assert change != 0
    if kind == "roc":
        assert abs(change) <= simple["error"][0]


def test_the_change_of_the_area_is_exact():
    full = curve_of("ties")
    simple = rf.simplify(full, max_error=0.1)

    def area(table):
        points = [(Fraction(fp), Fraction(tp)) for fp, tp in table.select("fp", "tp").iter_rows()]
        twice = sum((b[0] - a[0]) * (a[1] + b[1]) for a, b in pairwise(points))
        return twice / 2 / points[-1][0] / points[-1][1]

    assert simple.height < full.height
    assert simple["area_change"][0] == float(area(simple) - area(full))


def test_rows_on_a_straight_line_are_removed():
    full = rf.curve(
        pl.DataFrame({"label": [1, 1, 1, 0, 0, 0], "score": [6, 5, 4, 3, 2, 1]}), "label", "score"
    )
    simple = rf.simplify(full, max_error=1e-9)
    assert simple.select("threshold", "tp", "fp", "error", "area_change").rows() == [
        (inf, 0, 0, 0.0, 0.0),
        (4.0, 3, 0, 0.0, 0.0),
        (1.0, 3, 3, 0.0, 0.0),
    ]


STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12)


@pytest.mark.hypothesis
@given(
    walks=st.lists(STEPS, min_size=1, max_size=3),
    unit=st.sampled_from([1, 2**33, 0.25, 0.1, 1e-170]),
    kind=st.sampled_from(KINDS),
    prevalence=st.sampled_from([None, 0.3]),
)
def test_with_error_0_exactly_the_rows_on_the_line_between_two_others_are_removed(
    walks, unit, kind, prevalence
):
    rows = []
    for g, walk in enumerate(walks):
        points = np.cumsum([(0, 0), *walk], axis=0)
        last = points[-1]
        for i, (tp, fp) in enumerate(points.tolist()):
            threshold = -float(i) if i else inf
            counts = (tp, fp, int(last[0]) - tp, int(last[1]) - fp)
            rows.append((g, threshold, *(count * unit for count in counts)))
    full = pl.DataFrame(rows, schema=["g", "threshold", "tp", "fp", "fn", "tn"], orient="row")
    if prevalence is not None:
        full = full.with_columns(prevalence=prevalence)
    simple = full.roc.simplify(max_error=0, kind=kind)
    assert set(simple["error"]) <= {0, None}
    assert set(simple["area_change"]) <= {0, None}
    for g in range(len(walks)):
        every = full.filter(g=g).select("threshold", "tp", "fp").rows()
        kept = [
            every.index(row) for row in simple.filter(g=g).select("threshold", "tp", "fp").rows()
        ]
        assert kept[0] == 0
        assert kept[-1] == len(every) - 1
        points = [(Fraction(tp), Fraction(fp)) for _, tp, fp in every]
        for a, b in pairwise(kept):
            assert all(on_line(points[a], points[i], points[b]) for i in range(a, b + 1))
        if kind in {"roc", "gain", "lift_chart"}:  # on other axes, rows at jumps remain
            for a, b, c in zip(kept, kept[1:], kept[2:], strict=False):
                assert not on_line(points[a], points[b], points[c])


def on_line(start, point, end):
    """Return whether a point is exactly on the line between two others."""
    (x0, y0), (x, y), (x1, y1) = start, point, end
    return (x - x0) * (y1 - y0) == (y - y0) * (x1 - x0) and x0 <= x <= x1 and y0 <= y <= y1


@pytest.mark.parametrize("name", ["ties", "weighted"])
def test_with_error_0_the_curve_and_its_area_do_not_change(name):
    for kind in KINDS:
        full, simple = curve_of_kind(name, kind), curve_of(name, kind=kind, max_error=0)
        assert_frame_equal(simple, full.roc.simplify(max_error=0), check_exact=True)
        # Two areas are sums over rows instead of areas under the lines between them.
        few, all_rows = (
            table.roc.area(kind=kind).select(pl.exclude("average_precision", "lift_area_step"))
            for table in (simple, full)
        )
        assert_frame_equal(few, all_rows, rel_tol=1e-12)
    assert curve_of(name, max_error=0).height < curve_of(name).height
    single = rf.at(full, threshold=0.5)["threshold"].item()
    assert single in full.roc.simplify(max_error=0, keep=0.5)["threshold"]


def test_operating_points_stay():
    full = curve_of("long")
    points = full.roc.at(threshold=[0.25, 1, 99])
    plain, given_, named = (
        rf.simplify(full, max_error=0.3, keep=keep) for keep in ([], [0.25, 1, 99], points)
    )
    assert set(points["threshold"]) <= set(named["threshold"])
    assert not set(points["threshold"]) <= set(plain["threshold"])
    assert_frame_equal(given_, named, check_exact=True)
    assert_frame_equal(rf.simplify(full, max_error=0.3, keep=1), rf.simplify(
        full, max_error=0.3, keep=full.roc.at(threshold=1)
    ))  # fmt: skip


def test_operating_points_stay_in_their_own_group():
    frame = pl.concat([log_of("ties").with_columns(g=pl.lit(name)) for name in "ab"])
    full = rf.curve(frame.with_columns(score=pl.col("score").round(1)), "label", "score", by="g")
    before = rf.simplify(full, max_error=0.3)
    left_out = full.filter(g="b").join(before, on=["g", "threshold"], how="anti")
    points = full.roc.at(threshold=left_out["threshold"][7]).filter(g="b")
    after = rf.simplify(full, max_error=0.3, keep=points)
    added = after.join(before, on=["g", "threshold"], how="anti")
    assert added["g"].to_list() == ["b"]
    assert added["threshold"].to_list() == points["threshold"].to_list()
    for name in ("*", "^g$"):  # patterns of polars
        renamed = (table.rename({"g": name}) for table in (full, points))
        found = rf.simplify(next(renamed), max_error=0.3, keep=next(renamed))
        assert_frame_equal(found, after.rename({"g": name}))


@pytest.mark.parametrize("name", ["^a$", "*", "(row)"])
def test_operating_points_stay_in_their_own_group_of_any_name(name):
    frame = pl.DataFrame(
        {"g": ["x"] * 4 + ["y"] * 4, "label": [1, 0] * 4, "score": [4, 3, 2, 1] * 2}
    )
    full = rf.curve(frame, "label", "score", by="g").with_columns(a=pl.lit(0))
    full = full.select("g", "a", pl.exclude("g", "a"))
    points = full.roc.at(threshold=3).filter(g="y")
    expected = rf.simplify(full, max_error=0.9, keep=points)
    assert expected["threshold"].to_list() == [inf, 4, 2, 1, inf, 4, 3, 2, 1]
    renamed, renamed_points = full.rename({"g": name}), points.rename({"g": name})
    actual = rf.simplify(renamed, max_error=0.9, keep=renamed_points)
    assert_frame_equal(actual, expected.rename({"g": name}))


def test_each_group_is_simplified_as_it_would_be_alone():
    parts = {name: log_of(name) for name in ("few", "ties", "rare", "random", "long")}
    frame = pl.concat([part.with_columns(g=pl.lit(name)) for name, part in parts.items()])
    together = rf.curve(frame, "label", "score", by="g").roc.simplify()
    for name, part in parts.items():
        assert_frame_equal(
            together.filter(g=name).drop("g"), rf.curve(part, "label", "score").roc.simplify()
        )


def test_a_group_without_a_class_keeps_its_ends_and_has_no_error():
    frame = pl.DataFrame(
        {
            "label": [1, 0, 1, 0, 0, 0, 1, 1, None],
            "score": [4, 3, 2, 1, 2, 1, 2, 1, 1],
            "g": ["both"] * 4 + ["negative"] * 2 + ["positive"] * 2 + ["none"],
        }
    )
    result = rf.curve(frame, "label", "score", by="g", missing="drop").roc.simplify(max_error=0.01)
    assert result.group_by("g", maintain_order=True).agg(
        pl.len(), pl.col("error", "area_change").first()
    ).rows() == [
        ("both", 5, 0.0, 0.0),
        ("negative", 2, None, None),
        ("none", 1, None, None),
        ("positive", 2, None, None),
    ]


def test_a_table_without_rows_gives_a_table_without_rows():
    frame = log_of("few").with_columns(g=1).clear()
    result = rf.curve(frame, "label", "score", by="g").roc.simplify()
    assert result.is_empty()
    assert result.columns[-2:] == ["error", "area_change"]


def test_functions_on_curves_accept_simplified_curves(tmp_path):
    full = curve_of("long", kind="pr")
    simple = rf.simplify(full)
    point = simple.roc.at(tpr=0.5, interpolate=True)
    assert point["precision"][0] == pytest.approx(
        full.roc.at(tpr=0.5, interpolate=True)["precision"][0], abs=1 / 500
    )
    rf.write(simple, tmp_path / "few.parquet")
    assert rf.about(tmp_path / "few.parquet")["kind"] == "precision_recall"
    assert (
        rf.chart(simple).to_dict(validate=False)["description"].startswith("Precision-recall chart")
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"missing": "drop"},
        {"missing": "worst"},
        {"missing": "worst", "weight": "w", "count": "n"},
        {"missing": "drop", "count": "n"},
    ],
    ids=["drop", "worst", "weights", "count"],
)
@pytest.mark.parametrize("by", [None, "g"], ids=["one", "groups"])
def test_curve_with_max_error_equals_simplify(kind, options, by):
    frame = log_of("long", 6000).with_columns(
        score=pl.when(pl.int_range(pl.len()) % 50 > 0).then("score"),
        n=pl.int_range(pl.len()) % 3,
        g=pl.int_range(pl.len()).sqrt().cast(pl.Int64) // 60,
    )
    result = {"by": by, "kind": kind, "metrics": ["f1"], **options}
    subset = rf.curve(frame, "label", "score", max_error=0.01, **result)
    full = rf.curve(frame, "label", "score", **result)
    assert_frame_equal(subset, full.roc.simplify(max_error=0.01), check_exact=True)
    assert subset.height < full.height


def test_a_metric_may_have_a_name_that_only_simplified_tables_have():
    assert curve_of("few", metrics=pl.col("tp").alias("error")).columns[-1] == "error"


def test_weighted_curves_whose_counts_are_neighboring_floats_are_simplified():
    # The total of the negatives is the next float above the count of the row before.
    below = 1.0 - 2**-53
    table = pl.DataFrame(
        {
            "threshold": [np.inf, *np.arange(40.0, 0, -1)],
            "tp": np.append(np.linspace(0, below, 40), 1.0),
            "fp": np.append(np.linspace(0, below, 40) ** 2, 1.0),
        }
    ).with_columns(fn=1 - pl.col("tp"), tn=1 - pl.col("fp"))
    simplified = rf.simplify(table, kind="det", max_error=0.01)
    assert simplified["threshold"][0] == np.inf
    assert simplified["threshold"][-1] == 1


def test_normal_deviates_of_shares_that_are_rounded_to_1_are_finite():
    table = pl.DataFrame(
        {"label": [0, 1, 0, 1], "score": [2, 2, 1, 1], "w": [1.0, 1e-17, 5e-16, 1.0]}
    )
    options = {"kind": "det", "weight": "w"}
    full = rf.curve(table, "label", "score", **options)
    expected = full.select("threshold", "tp", "fp")
    for simple in (
        rf.simplify(full, max_error=0.01),
        rf.curve(table, "label", "score", max_error=0.01, **options),
    ):
        assert_frame_equal(simple.select("threshold", "tp", "fp"), expected)
        assert simple["error"].is_between(0, 0.01).all()
