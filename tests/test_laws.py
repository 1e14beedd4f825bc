"""Properties of every kind of curve and every rate, and of every function in `tests.verbs`."""

from __future__ import annotations

import inspect
import math
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.kinds import KINDS
from rocframe.rates import RATES
from tests.all_cases import all_cases
from tests.strategies import (
    ANY_WEIGHTS,
    COUNTS,
    EXACT_WEIGHTS,
    PLAIN,
    TIED,
    examples,
    ranked,
    repeated,
    shuffled,
    tables,
)
from tests.verbs import EXCEPTIONS, OF_CURVES, OF_PREDICTIONS, OTHERS_BY_GROUP, TableVerb, Verb

if TYPE_CHECKING:
    from rocframe.kinds import Kind

CONFUSION = ["tp", "fp", "fn", "tn"]
COLUMNS = ["threshold", *CONFUSION]
COSTS = {"fp": 1.0, "fn": 5.0, "tp": 0.25}

# Rates that are proportional to the sum of the counts.
GROWS_WITH_N = ["alerts", "chi2"]
READS_THE_THRESHOLD = {"net_benefit"}

any_kind = st.sampled_from(list(KINDS.values()))


def whole(table: pl.DataFrame, kind: Kind, **more: object) -> pl.DataFrame:
    """Return the curve of a table with all rates."""
    rates = [name for name in RATES if name not in kind.rates]
    options = {"by": "group", "metrics": rates, "costs": COSTS, "beta": 2.0, **more}
    return rf.curve(table, "label", "score", kind=kind.name, **options)


def every_rate(kind: Kind) -> list[str]:
    return [*kind.rates, *(name for name in RATES if name not in kind.rates)]


def assert_same(left: pl.DataFrame, right: pl.DataFrame) -> None:
    """Compare bit for bit, except that -0.0 equals 0.0."""
    assert_frame_equal(left, right, check_exact=True)


def assert_close(left: pl.DataFrame, right: pl.DataFrame) -> None:
    """Compare up to the rounding of sums of weights in different orders."""
    assert_frame_equal(left, right, rel_tol=1e-12, abs_tol=1e-12)


@given(kind=any_kind, table=tables(missing=True), missing=st.sampled_from(["drop", "worst"]))
def test_the_four_counts_add_up_to_the_same_totals_in_every_row(kind, table, missing):
    curve = whole(table, kind, missing=missing)
    totals = curve.select(
        "group", pos=pl.col("tp") + pl.col("fn"), neg=pl.col("fp") + pl.col("tn")
    ).unique()
    counts = pl.col("score").cast(pl.Float64).fill_nan(None).is_not_null() | (missing == "worst")
    expected = table.group_by("group").agg(
        pos=(counts & pl.col("label")).sum().cast(pl.Int64),
        neg=(counts & ~pl.col("label")).sum().cast(pl.Int64),
    )
    assert_frame_equal(totals, expected, check_row_order=False)


@given(kind=any_kind, table=tables())
def test_no_row_is_predicted_positive_at_infinity_and_all_rows_at_the_lowest_score(kind, table):
    curve = whole(table, kind)
    first = curve.group_by("group", maintain_order=True).first()
    last = curve.group_by("group", maintain_order=True).last()
    assert first["threshold"].to_list() == [math.inf] * first.height
    assert_frame_equal(first.select("tp", "fp"), 0 * first.select("tp", "fp"))
    assert_frame_equal(last.select("fn", "tn"), 0 * last.select("fn", "tn"))
    for rate in ("tpr", "fpr", "alert_rate"):
        name = {"tpr": "recall"}.get(rate, rate) if kind.name == "precision_recall" else rate
        assert first[name].drop_nulls().eq(0).all()
        assert last[name].drop_nulls().eq(1).all()


@given(kind=any_kind, table=tables())
def test_thresholds_fall_and_only_an_infinite_score_repeats_the_first(kind, table):
    curve = whole(table, kind)
    for (_,), rows in curve.group_by("group"):
        falls = rows["threshold"].to_list()
        infinite = len(falls) > 1 and falls[1] == math.inf
        assert not infinite or rows[1, "tp"] + rows[1, "fp"] > 0
        strictly = falls[1:] if infinite else falls
        assert all(a > b for a, b in pairwise(strictly))


@given(kind=any_kind, table=tables(mass={"count": COUNTS}))
def test_a_count_of_n_is_n_rows(kind, table):
    counted = whole(table, kind, count="count")
    rows = whole(repeated(table, "count"), kind)
    present = counted.join(rows, on="group", how="semi", nulls_equal=True)
    assert_same(present, rows)
    # Groups in which all counts are 0 have one row, with zeros.
    empty = counted.join(rows, on="group", how="anti", nulls_equal=True)
    assert_frame_equal(empty.select(CONFUSION), 0 * empty.select(CONFUSION))


@given(kind=any_kind, table=tables(mass={"weight": st.integers(0, 3).map(float)}))
def test_a_weight_of_n_is_n_rows(kind, table):
    weighted = whole(table, kind, weight="weight")
    rows = whole(repeated(table, "weight"), kind)
    present = weighted.join(rows, on="group", how="semi", nulls_equal=True)
    assert_same(present.cast(dict.fromkeys(CONFUSION, pl.Int64)), rows)


@given(kind=any_kind, table=tables(mass={"weight": ANY_WEIGHTS}))
def test_rows_with_weight_zero_change_no_result(kind, table):
    left = whole(table, kind, weight="weight")
    right = whole(table.filter(pl.col("weight") > 0), kind, weight="weight")
    # Rows without weight can change the order in which the weights are added.
    assert_close(left.join(right, on="group", how="semi", nulls_equal=True), right)


@given(kind=any_kind, table=tables(mass={"count": COUNTS}))
def test_rows_with_count_zero_change_no_result(kind, table):
    left = whole(table, kind, count="count")
    right = whole(table.filter(pl.col("count") > 0), kind, count="count")
    assert_same(left.join(right, on="group", how="semi", nulls_equal=True), right)


@given(kind=any_kind, table=tables(mass={"weight": EXACT_WEIGHTS}), power=st.integers(-40, 40))
def test_scaling_all_weights_by_a_power_of_two_changes_rates_by_the_last_bit_only(
    kind, table, power
):
    scaled = table.with_columns(pl.col("weight") * 2.0**power)
    rates = [name for name in every_rate(kind) if name not in GROWS_WITH_N]
    left, right = (whole(one, kind, weight="weight") for one in (table, scaled))
    # The logarithms of products of counts in entropies differ by rounding.
    assert_frame_equal(left.select(rates), right.select(rates), rel_tol=1e-14, abs_tol=1e-14)
    assert_close(right.select(GROWS_WITH_N), left.select(pl.col(GROWS_WITH_N) * 2.0**power))


@given(kind=any_kind, table=tables(mass={"weight": ANY_WEIGHTS}), factor=st.floats(1e-3, 1e3))
def test_scaling_all_weights_changes_no_rate(kind, table, factor):
    scaled = table.with_columns(pl.col("weight") * factor)
    rates = [name for name in every_rate(kind) if name not in GROWS_WITH_N]
    left, right = (whole(one, kind, weight="weight").select(rates) for one in (table, scaled))
    assert_frame_equal(left, right, rel_tol=1e-9, abs_tol=1e-9)


@given(
    kind=any_kind,
    table=tables(missing=True),
    seed=st.integers(0, 99),
    missing=st.sampled_from(["drop", "worst"]),
)
def test_row_order_changes_nothing(kind, table, seed, missing):
    assert_same(
        whole(table, kind, missing=missing), whole(shuffled(table, seed), kind, missing=missing)
    )


@pytest.mark.slow
@given(kind=any_kind, table=tables(mass={"weight": ANY_WEIGHTS}), seed=st.integers(0, 99))
def test_row_order_changes_weighted_rows_by_rounding_only(kind, table, seed):
    left = whole(table, kind, weight="weight")
    assert_close(
        left.select("group", *COLUMNS),
        whole(shuffled(table, seed), kind, weight="weight").select("group", *COLUMNS),
    )


@given(kind=any_kind, table=tables())
def test_an_increasing_map_of_the_scores_changes_no_count_and_no_rate(kind, table):
    mapped = table.with_columns(ranked(table["score"]))
    hidden = ["threshold", *READS_THE_THRESHOLD]
    assert_same(whole(table, kind).drop(hidden), whole(mapped, kind).drop(hidden))


@pytest.mark.slow
@given(kind=any_kind, table=tables())
def test_each_rate_stays_in_its_bounds_or_is_null(kind, table):
    for weight in (None, 0.1):
        weighted = table.with_columns(weight=pl.lit(weight, pl.Float64))
        curve = whole(weighted, kind, weight=None if weight is None else "weight")
        for name in every_rate(kind):
            record = kind.axis(name)
            assert curve[name].dtype == pl.Float64
            shown = curve[name].drop_nulls()
            assert not shown.is_nan().any(), name
            assert shown.is_between(*record.bounds).all(), name


@pytest.mark.slow
@given(kind=any_kind, table=tables(missing=True), more=tables(missing=True, shape=TIED))
def test_the_curves_of_two_groups_are_those_of_each_group_computed_alone(kind, table, more):
    assume(table.schema == more.schema)
    one = table.with_columns(group=pl.lit("x"))
    two = more.with_columns(group=pl.lit("y"))
    together = whole(pl.concat([two, one]), kind, missing="worst")
    apart = [whole(part, kind, missing="worst") for part in (one, two)]
    assert_same(together, pl.concat(apart))


@pytest.mark.slow
@given(kind=any_kind, table=tables(shape=PLAIN, missing=True), seed=st.integers(0, 9))
def test_every_engine_gives_the_same_bits(kind, table, seed):
    eager = whole(table, kind, missing="worst")
    plan = whole(shuffled(table, seed).lazy(), kind, missing="worst")
    assert_same(plan.collect(), eager)
    assert_same(plan.collect(engine="streaming"), eager)
    assert_same(plan.collect(engine="in-memory"), eager)


@pytest.mark.slow
@given(kind=any_kind, table=tables(missing=True))
def test_all_distinct_scores_as_thresholds_give_the_full_curve(kind, table):
    full = whole(table, kind, by=None, missing="worst")
    given_all = whole(table, kind, by=None, missing="worst", thresholds=full["threshold"])
    assert_same(given_all.drop("error", "area_error"), full)
    assert set(given_all.select("error", "area_error").iter_rows()) <= {(0.0, 0.0)}


@pytest.mark.slow
@examples(1 / 2)
@given(
    table=tables(missing=True, mass={"weight": ANY_WEIGHTS, "count": COUNTS}),
    mass=st.sampled_from([{}, {"weight": "weight"}, {"count": "count"}]),
)
def test_every_kind_has_the_counts_and_rates_of_a_roc_curve(table, mass):
    options = {"missing": "worst", "count": None, **mass}
    rates = every_rate(KINDS["roc"])
    roc = whole(table, KINDS["roc"], **options).select("group", *COLUMNS, *rates)
    with all_cases() as case:
        for kind in KINDS.values():
            with case(kind.name):
                curve = whole(table, kind, **options)
                axes = rf.curve(table, "label", "score", by="group", kind=kind.name, **options)
                assert axes.columns == ["group", *COLUMNS, *kind.rates]
                assert_same(axes, curve.select(axes.columns))
                # The name of an axis can be an alias: `recall` is the rate `tpr`.
                names = {kind.axis(name).name: name for name in kind.rates}
                renamed = {name: pl.col(names.get(name, name)) for name in rates}
                assert_same(curve.select("group", *COLUMNS, **renamed), roc)


@given(kind=any_kind, table=tables(min_size=2))
def test_the_columns_of_areas_are_named_after_the_estimator(kind, table):
    areas = rf.area(rf.curve(table, "label", "score", by="group", kind=kind.name))
    names = ["average_precision", "pr_auc"] if kind.name == "precision_recall" else ["auc"]
    more = ["lift_area", "lift_area_step"] if kind.name == "lift_chart" else []
    assert areas.columns == ["group", *names, *more]
    assert areas.height == table["group"].n_unique()
    for name in names:
        assert areas[name].drop_nulls().is_between(0, 1).all()


@pytest.mark.parametrize("name", RATES)
def test_an_alias_is_the_rate_under_another_name(name):
    table = pl.DataFrame({"label": [1, 0, 1, 0, 0], "score": [0.9, 0.9, 0.7, 0.4, 0.1]})
    names = [name, *RATES[name].aliases]
    curve = rf.curve(
        table,
        "label",
        "score",
        kind="lift_chart",
        metrics=[one for one in names if one != "alert_rate"],
        costs=COSTS if name == "expected_cost" else None,
    )
    for alias in names:
        assert_frame_equal(curve.select(name=alias), curve.select(name=name), check_exact=True)


def test_the_curve_of_an_empty_table_is_one_row_at_infinity():
    empty = pl.DataFrame(schema={"label": pl.Boolean, "score": pl.Float64})
    for kind in KINDS.values():
        curve = whole(empty, kind, by=None)
        assert curve.select(COLUMNS).rows() == [(math.inf, 0, 0, 0, 0)]
        known = curve.select(every_rate(kind)).to_dicts()[0]
        assert {name for name, value in known.items() if value is not None} <= {
            *CONFUSION,
            "alerts",
        }


@given(one=tables(), other=tables())
def test_at_given_thresholds_the_counts_of_parts_add_up_to_those_of_the_whole(one, other):
    edges = [-1.0, 0.0, 0.25, 0.5, 1.0]
    one, other = (table.cast({"score": pl.Float64}) for table in (one, other))

    def counts(table):
        return rf.curve(table, "label", "score", by="group", thresholds=edges)

    parts = (
        pl.concat([counts(one), counts(other)])
        .group_by("group", "threshold")
        .agg(pl.col("tp", "fp", "fn", "tn").sum())
    )
    whole_one = counts(pl.concat([one, other])).select("group", *COLUMNS)
    assert_frame_equal(parts, whole_one, check_row_order=False, check_exact=True)


# The functions of `tests.verbs`. Functions of curves are called on the curves of the predictions.


def predictions(n_groups: int, n_rows: int, seed: int) -> pl.DataFrame:
    """Return predictions with ties in groups of different sizes; group 1 has no negatives."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "g": rng.integers(0, n_groups, n_rows),
            "label": rng.random(n_rows) < 0.45,
            "score": rng.integers(1, 12, n_rows) / 16,
            "other": rng.integers(1, 13, n_rows) / 16,
            "w": rng.integers(1, 4, n_rows).astype(float),
            "n": rng.integers(1, 4, n_rows),
            "fold": rng.integers(1, 3, n_rows),
            "class": rng.choice(["x", "y"], n_rows),
            "class_number": rng.integers(0, 3, n_rows),
        }
    ).with_columns(label=pl.col("label") | (pl.col("g") == 1), g=pl.when(pl.col("g") > 0).then("g"))


FEW_GROUPS = predictions(4, 90, 3)
# Sums of these weights have rounding errors, which sums over all groups would make larger.
MANY_GROUPS = predictions(1_000, 3_000, 4).with_columns(pl.col("w") / 10)
REGISTERED = {**OF_PREDICTIONS, **OF_CURVES}
# These functions take a tenth of a millisecond or more for a group.
SLOW_FOR_MANY_GROUPS = {"average", "fold auc", "pooling gap", "smooth", "volume of sums"}


# Numbers of rows, and limits, standard errors and tests, which depend on these numbers.
OF_INFERENCE = cs.matches(
    "^((difference_|reference_|consistency_|ratio_)?(lower|upper)|n(_pos|_neg|_paired)?|.+_p|p_value)$"
) | cs.by_name(
    *(
        "se",
        "statistic",
        "df",
        "df_denominator",
        "covariance",
        "correlation",
        "share_on_hull",
        "between_sd",
    ),
    *("cochran_q", "hosmer_lemeshow", "spiegelhalter_z", "p_adjusted", "homogeneity_p_adjusted"),
    require_all=False,
)


def table_of(verb: Verb | TableVerb, frame: pl.DataFrame, **roles: Any) -> pl.DataFrame:
    call = verb if isinstance(verb, Verb) else verb.of_predictions
    return call(frame, by="g", **roles)


@cache
def table_of_few_groups(name: str) -> pl.DataFrame:
    return table_of(REGISTERED[name], FEW_GROUPS)


def assert_same_table(left: pl.DataFrame, right: pl.DataFrame) -> None:
    """Compare up to the rounding of sums and of iterations in different orders."""
    assert_frame_equal(left, right, rel_tol=1e-9, abs_tol=1e-9)


def assert_same_if_weighted(
    verb: Verb | TableVerb, rows: pl.DataFrame, weighted: pl.DataFrame
) -> None:
    """Compare a table with one of weighted rows, in which Float64 sums can replace counts."""
    changed = rows.schema.items() - weighted.schema.items()
    sums = [name for name, dtype in changed if dtype == pl.Int64]
    compared = ~cs.by_name(verb.other_if_weighted, require_all=False)
    rows = rows.cast(dict.fromkeys(sums, pl.Float64))
    assert_same_table(rows.select(compared), weighted.select(compared))


def test_every_public_function_is_registered_or_is_an_exception_with_a_reason():
    # Exceptions are imported with the package. Functions are not imported for this test.
    functions = {name for name in rf.__all__ if not inspect.isclass(vars(rf).get(name))}
    registered = {verb.function for verb in REGISTERED.values()}
    registered |= {verb.source for verb in OF_CURVES.values()}
    assert registered.isdisjoint(EXCEPTIONS)
    assert registered | set(EXCEPTIONS) == functions
    assert all(EXCEPTIONS.values())


@pytest.mark.slow
def test_a_function_gives_a_group_the_same_rows_alone_as_beside_other_groups():
    parts = FEW_GROUPS.sort("g").partition_by("g", maintain_order=True)
    with all_cases() as case:
        for name, verb in REGISTERED.items():
            if not verb.adjusted:
                with case(name):
                    alone = pl.concat([table_of(verb, part) for part in parts])
                    assert_same_table(table_of_few_groups(name), alone)


@pytest.mark.slow
def test_a_function_gives_some_of_very_many_groups_the_same_rows_without_the_others():
    some = pl.col("g") % 10 == 7
    with all_cases() as case:
        for name, verb in REGISTERED.items():
            if not (verb.adjusted or verb.draws or name in SLOW_FOR_MANY_GROUPS):
                roles = {"weight": "w"} if verb.accepts("weight") else {}
                with case(name):
                    together = table_of(verb, MANY_GROUPS, **roles).filter(some)
                    apart = table_of(verb, MANY_GROUPS.filter(some), **roles)
                    assert_same_table(together, apart)


@pytest.mark.slow
def test_groups_with_much_larger_weights_do_not_change_the_table_of_a_function():
    # Products of the weights of group 2 are below the smallest float.
    small = pl.col("g") == 2
    table = FEW_GROUPS.with_columns(pl.col("w") * pl.when(small).then(2.0**-600).otherwise(1))
    with all_cases() as case:
        for name, verb in REGISTERED.items():
            if verb.accepts("weight") and not verb.adjusted:
                with case(name):
                    together = table_of(verb, table, weight="w").filter(small)
                    alone = table_of(verb, table.filter(small), weight="w")
                    assert_same_table(together, alone)


def test_row_order_changes_the_table_of_no_function():
    other_order = shuffled(FEW_GROUPS, 5)
    with all_cases() as case:
        for name, verb in REGISTERED.items():
            with case(name):
                assert_same_table(table_of_few_groups(name), table_of(verb, other_order))


@pytest.mark.slow
def test_a_count_of_n_is_n_rows_in_every_function_that_has_counts():
    rows = repeated(FEW_GROUPS, "n")
    with all_cases() as case:
        for name, verb in REGISTERED.items():
            if verb.accepts("count"):
                with case(name):
                    counted = table_of(verb, FEW_GROUPS, count="n")
                    assert_same_table(counted, table_of(verb, rows))


@pytest.mark.slow
def test_weights_of_one_change_no_column_except_those_with_a_formula_for_weights():
    weighted = FEW_GROUPS.with_columns(one=1.0)
    with all_cases() as case:
        for name, verb in REGISTERED.items():
            if verb.accepts("weight"):
                with case(name):
                    table = table_of(verb, weighted, weight="one")
                    assert_same_if_weighted(verb, table_of_few_groups(name), table)


def without_few_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table without the notes with numbers of rows, which weights do not change."""
    notes = cs.by_name("note", require_all=False)
    return table.with_columns(pl.when(~notes.str.starts_with("few_rows")).then(notes))


def test_a_weight_of_n_gives_the_estimates_of_n_rows_in_every_function_that_has_weights():
    rows = repeated(FEW_GROUPS, "n")
    with all_cases() as case:
        for name, verb in REGISTERED.items():
            if verb.accepts("weight"):
                # Notes of functions that draw rows contain the number of rejected draws. The mean
                # in a test of drift is weighted by the variances of the areas.
                names = ["note"] * verb.draws + ["mean_auc"] * (verb.function == "drift_test")
                estimates = ~(OF_INFERENCE | cs.by_name(names, require_all=False))
                with case(name):
                    expected = without_few_rows(table_of(verb, rows)).select(estimates)
                    weighted = table_of(verb, FEW_GROUPS, weight="n")
                    weighted = without_few_rows(weighted).select(estimates)
                    assert_same_if_weighted(verb, expected, weighted)


def test_a_total_is_the_result_without_its_group_columns_in_every_function_that_has_totals():
    """The added rows change no other row: the draws of a group do not depend on them."""
    rows, functions = FEW_GROUPS, set()
    calls: tuple[tuple[Any, str | None, dict[str, str]], ...] = (
        *((True, None, {}), ("g", "fold", {"weight": "w"}), (["fold"], "g", {"count": "n"})),
    )
    with all_cases() as case:
        for name, verb in OF_PREDICTIONS.items():
            if not verb.accepts("total"):
                continue
            functions.add(verb.function)
            for total, kept, roles in calls:
                if not all(map(verb.accepts, roles)):
                    continue
                with case(name, total, roles):
                    found = verb(rows, by=["g", "fold"], total=total, **roles)
                    parts = found.partition_by("total", include_key=False, as_dict=True)
                    assert_frame_equal(parts[False,], verb(rows, by=["g", "fold"], **roles))
                    alone = verb(rows, by=kept, **roles)
                    assert_frame_equal(parts[True,].select(alone.columns), alone)
                    combined = parts[True,].drop(alone.columns)
                    assert combined.null_count().row(0) == (alone.height,) * combined.width
    with_total = {n for n in rf.__all__ if "total" in parameters_of(getattr(rf, n))}
    assert functions == with_total


def parameters_of(function: Any) -> Any:
    return inspect.signature(function).parameters if inspect.isfunction(function) else ()


def test_an_increasing_map_of_the_scores_changes_no_statistic_of_their_order():
    scores = pl.col("score", "other")
    mapped = FEW_GROUPS.with_columns(scores**3 * 100 - 1)
    shows_scores = cs.contains("threshold") | cs.by_name(
        "score_min", "score_max", require_all=False
    )
    with all_cases() as case:
        for name, verb in REGISTERED.items():
            if verb.ranks:
                with case(name):
                    expected = table_of_few_groups(name).select(~shows_scores)
                    assert_same_table(expected, table_of(verb, mapped).select(~shows_scores))


def test_a_group_column_by_expression_is_a_computed_column_in_every_function_with_groups():
    key = (pl.col("g").fill_null(0) + 10).cast(pl.String).alias("key")
    decisions = FEW_GROUPS.with_columns(pl.col("score") > 0.5)
    tested = {"report"}  # tests/reports/test_report.py
    with all_cases() as case:
        for name, verb in {**REGISTERED, **OTHERS_BY_GROUP}.items():
            rows = decisions if name in OTHERS_BY_GROUP else FEW_GROUPS
            table, keys = rows, []
            if isinstance(verb, TableVerb):
                table = verb.table_of(rows, by="g")
                keys = [] if verb.key is None or verb.function == "combine_points" else [verb.key]
            tested.add(verb.function)
            parameters = inspect.signature(getattr(rf, verb.function)).parameters
            if name == "area of an average" or "by" not in parameters:
                continue
            with case(name):
                expected = verb(table.select(key, pl.all()), by=["key", *keys])
                is_chart = name in {"chart", "dashboard"}
                if is_chart:
                    expected = expected.to_dict(validate=False)
                for frame in (table,) if is_chart else (table, table.lazy()):
                    actual = verb(frame, by=[key, cs.by_name(keys)] if keys else key)
                    if is_chart:
                        assert actual.to_dict(validate=False) == expected
                    else:
                        assert type(actual) is type(frame)
                        assert_frame_equal(actual.lazy().collect(), expected)
    functions = {name: getattr(rf, name) for name in rf.__all__ if callable(getattr(rf, name))}
    with_groups = {n for n, f in functions.items() if "by" in inspect.signature(f).parameters}
    assert tested >= with_groups
