"""`.roc` on expressions: contexts, names of results, and imports."""

import inspect
from functools import partial

import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

from rocframe.namespace import RocExpr, lazy_methods

AGGREGATES = [
    *("auc", "auc_se", "gini", "ks", "average_precision", "pr_auc", "brier", "log_loss"),
    *("brier_skill", "cllr", "ece", "spiegelhalter_z", "observed_to_expected"),
]
PER_ROW = ["tpr", "fpr", "placement", "at_prevalence"]
REQUIRED = {"at_prevalence": {"prevalence": 0.1}}
every_aggregate = pytest.mark.parametrize("method", AGGREGATES)
every_row_wise = pytest.mark.parametrize("method", PER_ROW)
every_method = pytest.mark.parametrize("method", [*AGGREGATES, *PER_ROW])
either_engine = pytest.mark.parametrize("engine", ["in-memory", "streaming"])
MASSES = [{}, {"weight": "weight"}, {"count": "n"}]
every_mass = pytest.mark.parametrize("mass", MASSES, ids=str)

# Sums of weights are added up in another order by another engine.
ROUNDING = {"rel_tol": 1e-12, "abs_tol": 1e-12}

# Group c has one class, d no row that counts; null is a group.
TABLE = pl.DataFrame(
    {
        "group": ["a", "b", None, "a", "b", "c", "a", "b", "c", "a", "b", "d", None, "a", "a", "b"],
        "time": range(16),
        "label": [1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, None, 0, 1, 0, 0],
        "score": [0.9, 0.2, 0.5, 0.5, 0.7, 0.1, 0.5, 0.7, 0.3, 0.1, 0.6, 0.5, 0.5, None, 0.7, 0.1],
        "rank": [9, 1, 2, 3, 5, 4, 4, 7, 1, 8, 2, 6, 6, 0, 0, 1],
        "weight": [1.0, 0.5, 2.0, 0.0, 1.5, 1.0, 3.0, 0.1, None, 1.0, 2.0, 1.0, 1.0, 1.0, 0.3, 1.0],
        "n": [1, 2, 1, 3, 1, 1, 2, 1, 1, 1, 0, 1, 2, 1, 1, 2],
    },
).cast({"label": pl.Boolean})

GROUPS = TABLE.sort("group").partition_by("group", maintain_order=True)


def test_all_expressions_are_in_the_lists_of_these_tests():
    assert sorted(lazy_methods(RocExpr)) == sorted([*AGGREGATES, *PER_ROW])


def expression_method(score, method):
    return partial(getattr(score.roc, method), **REQUIRED.get(method, {}))


def number(method, mass):
    return expression_method(pl.col("score"), method)("label", **mass)


def in_parts(parts, expression, keys):
    """Evaluate in one frame per group; all contexts must return the same."""
    return pl.concat(part.select(*keys, expression) for part in parts)


def assert_query_equal(query, wanted):
    """Check the result of a query with both engines."""
    for engine in ("in-memory", "streaming"):
        assert_frame_equal(query.collect(engine=engine), wanted, **ROUNDING)


@every_aggregate
@every_mass
def test_group_by_returns_one_value_per_group(method, mass):
    expression = number(method, mass)
    expected = in_parts(GROUPS, expression, [pl.col("group").first()])
    assert_query_equal(TABLE.lazy().group_by("group").agg(expression).sort("group"), expected)
    eager = TABLE.group_by("group", maintain_order=True).agg(expression).sort("group")
    assert_frame_equal(eager, expected, **ROUNDING)


@every_method
@every_mass
def test_over_repeats_the_value_of_a_group_or_returns_one_per_row(method, mass):
    expression = number(method, mass)
    expected = pl.concat(
        part.with_columns(expression.alias("number"))
        for part in TABLE.partition_by("group", maintain_order=True)
    ).sort("time")
    query = TABLE.lazy().with_columns(expression.over("group").alias("number"))
    assert_query_equal(query, expected)


@every_method
@every_mass
def test_with_columns_repeats_the_value_or_returns_one_per_row(method, mass, frame):
    expression = number(method, mass)
    found = frame(TABLE).with_columns(expression.alias("number")).lazy().collect()
    single = TABLE.select(expression)["score"]
    column = single if method in PER_ROW else single.new_from_index(0, TABLE.height)
    assert_frame_equal(found, TABLE.with_columns(column.alias("number")), **ROUNDING)


@every_aggregate
@every_mass
def test_dynamic_windows_have_one_value_each(method, mass):
    expression = number(method, mass)
    query = TABLE.lazy().set_sorted("time").group_by_dynamic("time", every="5i", period="8i")
    parts = [TABLE.filter(pl.col("time").is_between(t, t + 7)) for t in range(0, 16, 5)]
    expected = in_parts(parts, expression, [pl.col("time").first()])
    assert_query_equal(query.agg(expression), expected)


@every_aggregate
@every_mass
def test_rolling_windows_have_one_value_each(method, mass):
    expression = number(method, mass)
    plan = TABLE.lazy().set_sorted("time")
    parts = [TABLE.filter(pl.col("time").is_between(t - 5, t)) for t in range(16)]
    expected = in_parts(parts, expression, [pl.col("time").last()])
    assert_query_equal(plan.rolling("time", period="6i").agg(expression), expected)
    assert_query_equal(plan.select("time", expression.rolling("time", period="6i")), expected)


@every_row_wise
def test_row_wise_values_of_a_group_are_a_list_in_row_order(method):
    expression = number(method, {})
    expected = in_parts(GROUPS, expression.implode(), [pl.col("group").first()])
    assert_query_equal(TABLE.lazy().group_by("group").agg(expression).sort("group"), expected)


@every_method
@pytest.mark.parametrize(
    "scores",
    [
        pl.col("score", "rank"),
        cs.by_name("score", "rank"),
        pl.col("^(score|rank)$"),
        cs.numeric() - cs.by_name("time", "weight", "n"),
    ],
    ids=["names", "selector", "pattern", "difference"],
)
def test_several_score_columns_keep_their_names_and_are_read_by_dtype(method, scores):
    expression = expression_method(scores, method)("label")
    single = [expression_method(pl.col(name), method)("label") for name in ("score", "rank")]
    assert_frame_equal(TABLE.select(expression), TABLE.select(single))
    query = TABLE.lazy().group_by("group").agg(expression).sort("group")
    expected = TABLE.group_by("group").agg(single).sort("group")
    assert_frame_equal(query.collect(), expected)


@every_method
def test_the_result_is_a_float_with_the_name_of_the_score(method):
    expression = expression_method((pl.col("rank") * 2).alias("double"), method)("label")
    schema = TABLE.lazy().select(expression, number(method, {})).collect_schema()
    assert schema == {"double": pl.Float64, "score": pl.Float64}


@every_method
def test_label_weight_and_count_may_be_expressions(method):
    options = {"weight": pl.col("weight") * 2, "count": pl.col("n") + 0}
    found = TABLE.select(
        expression_method(pl.col("score"), method)(pl.col("label") == 1, **options)
    )
    # Twice the weight is the same weight.
    expected = TABLE.select(number(method, {"weight": "weight", "count": "n"}))
    assert_frame_equal(found, expected, **ROUNDING)


@every_method
@pytest.mark.parametrize("name", ["^p.*$", "*", "", "a.b", "a:Q", "count()", "<script>", "^", "$"])
def test_a_column_name_is_not_read_as_a_pattern(method, name):
    renamed = TABLE.select(pl.col("label").alias(name), "score", p="label", q="weight")
    found = renamed.select(expression_method(pl.col("score"), method)(name))
    assert_frame_equal(found, TABLE.select(number(method, {})))
    weighted = TABLE.select(pl.col("weight").alias(name), "score", "label")
    found = weighted.select(number(method, {"weight": name}))
    assert_frame_equal(found, TABLE.select(number(method, {"weight": "weight"})), **ROUNDING)


def test_a_column_named_count_is_read_only_if_given():
    counted = TABLE.rename({"n": "count"})
    assert_frame_equal(counted.select(number("auc", {})), TABLE.select(number("auc", {})))


def test_expressions_are_part_of_larger_ones():
    found = TABLE.group_by("group", maintain_order=True).agg(
        difference=pl.col("score").roc.auc("label") - pl.col("rank").roc.auc("label"),
        late=pl.col("score")
        .filter(pl.col("time") > 3)
        .roc.auc(pl.col("label").filter(pl.col("time") > 3)),
        lower=pl.col("score").neg().roc.auc("label"),
    )
    parts = TABLE.partition_by("group", maintain_order=True)
    expected = pl.DataFrame(
        {
            "group": [part["group"][0] for part in parts],
            "difference": [
                part.select(a=pl.col("score").roc.auc("label"), b=pl.col("rank").roc.auc("label"))
                .select(pl.col("a") - pl.col("b"))
                .item()
                for part in parts
            ],
            "late": [
                part.filter(pl.col("time") > 3).select(number("auc", {})).item() for part in parts
            ],
            "lower": [part.select(1 - number("auc", {})).item() for part in parts],
        },
        schema_overrides=dict.fromkeys(["difference", "late", "lower"], pl.Float64),
    )
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=1e-15)  # 1 - AUC is rounded


@every_method
@either_engine
def test_an_empty_table_raises_no_error(method, engine):
    empty = TABLE.clear().lazy()
    expression = number(method, {})
    schema = {"score": pl.Float64}
    nothing = pl.DataFrame({"score": [] if method in PER_ROW else [None]}, schema=schema)
    assert_frame_equal(empty.select(expression).collect(engine=engine), nothing)
    grouped = empty.group_by("group").agg(expression).collect(engine=engine)
    assert grouped.height == 0
    windowed = empty.select(expression.over("group")).collect(engine=engine)
    assert_frame_equal(windowed, nothing.clear())


@every_method
@every_mass
def test_row_order_does_not_matter(method, mass):
    expression = number(method, mass).over("group")
    turned = TABLE.reverse().select("time", expression).sort("time")
    assert_frame_equal(turned, TABLE.select("time", expression), **ROUNDING)


@every_method
def test_the_plan_contains_native_polars_expressions_only(method):
    query = TABLE.lazy().group_by("group").agg(number(method, {"weight": "weight", "count": "n"}))
    assert "python" not in query.explain().lower()


@every_method
def test_help_shows_the_docstring_of_the_function(method):
    function = getattr(RocExpr, method)
    assert function.__name__ == method
    assert [*inspect.signature(function).parameters][1:2] == ["label"]
    assert inspect.getdoc(function) == inspect.getdoc(getattr(pl.col("score").roc, method))
    for section in ("Parameters", "Returns", "References", "Examples"):
        assert f"\n{section}\n---" in inspect.getdoc(function)


def test_a_missing_label_column_raises_polars_error():
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="lable"):
        TABLE.select(pl.col("score").roc.auc("lable"))
