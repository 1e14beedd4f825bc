"""`.roc` on expressions: contexts, names of results, and imports."""

import inspect
from functools import partial

import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

from rocframe.namespace import RocExpr, lazy_methods
from tests.all_cases import all_cases

AGGREGATES = [
    *("auc", "auc_se", "gini", "ks", "average_precision", "pr_auc", "brier", "log_loss"),
    *("brier_skill", "cllr", "ece", "spiegelhalter_z", "observed_to_expected"),
]
AT_THRESHOLD = [
    *("accuracy", "balanced_accuracy", "precision", "recall", "specificity"),
    *("f1", "f_beta", "jaccard", "mcc", "kappa"),
]
OF_SAMPLES = ["psi", "ks_2samp"]  # the first argument is a Boolean column of the reference
AGGREGATES += [*AT_THRESHOLD, "best_threshold", *OF_SAMPLES]
PER_ROW = ["tpr", "fpr", "placement", "at_prevalence"]
REQUIRED = {"at_prevalence": {"prevalence": 0.1}}
REQUIRED |= {name: {"threshold": 0.5} for name in [*AT_THRESHOLD, "confusion"]}
METHODS = [*AGGREGATES, *PER_ROW]
every_method = pytest.mark.parametrize("method", METHODS)
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
    }
).cast({"label": pl.Boolean})

GROUPS = TABLE.sort("group").partition_by("group", maintain_order=True)


def test_all_expressions_are_in_the_lists_of_these_tests():
    # The result of `confusion` is a struct; see test_threshold_expressions.
    assert sorted(lazy_methods(RocExpr)) == sorted([*METHODS, "confusion"])


def expression_method(score, method):
    return partial(getattr(score.roc, method), **REQUIRED.get(method, {}))


def number(method, mass):
    return expression_method(pl.col("score"), method)("label", **mass)


def numbers(methods, mass, label="label"):
    """Return the expressions of several methods, each with the name of the method."""
    return [
        expression_method(pl.col("score"), method)(label, **mass).alias(method)
        for method in methods
    ]


def in_parts(parts, expressions, key):
    """Evaluate in one frame per group; all contexts must return the same."""
    return pl.concat(part.select(key, *expressions) for part in parts)


def assert_query_equal(query, wanted):
    """Check the result of a query with both engines."""
    for engine in ("in-memory", "streaming"):
        assert_frame_equal(query.collect(engine=engine), wanted, **ROUNDING)


@every_mass
def test_group_by_returns_one_value_per_group(mass):
    expressions = numbers(AGGREGATES, mass)
    expected = in_parts(GROUPS, expressions, pl.col("group").first())
    assert_query_equal(TABLE.lazy().group_by("group").agg(expressions).sort("group"), expected)
    eager = TABLE.group_by("group", maintain_order=True).agg(expressions).sort("group")
    assert_frame_equal(eager, expected, **ROUNDING)


@every_mass
def test_over_repeats_the_value_of_a_group_or_returns_one_per_row(mass):
    expressions = numbers(METHODS, mass)
    expected = pl.concat(
        part.with_columns(expressions) for part in TABLE.partition_by("group", maintain_order=True)
    ).sort("time")
    query = TABLE.lazy().with_columns(one.over("group") for one in expressions)
    assert_query_equal(query, expected)


@every_mass
def test_with_columns_repeats_the_value_or_returns_one_per_row(mass, frame):
    found = frame(TABLE).with_columns(numbers(METHODS, mass)).lazy().collect()
    single = TABLE.select(numbers(AGGREGATES, mass))
    repeated = [column.new_from_index(0, TABLE.height) for column in single.get_columns()]
    per_row = TABLE.select(numbers(PER_ROW, mass)).get_columns()
    assert_frame_equal(found, TABLE.with_columns(*repeated, *per_row), **ROUNDING)


def test_dynamic_windows_have_one_value_each():
    expressions = numbers(AGGREGATES, {"weight": "weight", "count": "n"})
    query = TABLE.lazy().set_sorted("time").group_by_dynamic("time", every="5i", period="8i")
    parts = [TABLE.filter(pl.col("time").is_between(t, t + 7)) for t in range(0, 16, 5)]
    expected = in_parts(parts, expressions, pl.col("time").first())
    assert_query_equal(query.agg(expressions), expected)


@pytest.mark.slow
def test_rolling_windows_have_one_value_each():
    expressions = numbers(AGGREGATES, {"weight": "weight", "count": "n"})
    plan = TABLE.lazy().set_sorted("time")
    parts = [TABLE.filter(pl.col("time").is_between(t - 5, t)) for t in range(16)]
    expected = in_parts(parts, expressions, pl.col("time").last())
    assert_query_equal(plan.rolling("time", period="6i").agg(expressions), expected)
    rolling = [one.rolling("time", period="6i") for one in expressions]
    assert_frame_equal(plan.select("time", *rolling).collect(), expected, **ROUNDING)


def test_row_wise_values_of_a_group_are_a_list_in_row_order():
    expressions = numbers(PER_ROW, {})
    lists = [one.implode() for one in expressions]
    expected = in_parts(GROUPS, lists, pl.col("group").first())
    assert_query_equal(TABLE.lazy().group_by("group").agg(expressions).sort("group"), expected)


SCORES = {
    "names": pl.col("score", "rank"),
    "selector": cs.by_name("score", "rank"),
    "pattern": pl.col("^(score|rank)$"),
    "difference": cs.numeric() - cs.by_name("time", "weight", "n"),
}


@every_method
def test_several_score_columns_keep_their_names_and_are_read_by_dtype(method):
    single = [expression_method(pl.col(name), method)("label") for name in ("score", "rank")]
    alone = TABLE.select(single)
    grouped = TABLE.group_by("group").agg(single).sort("group")
    with all_cases() as case:
        for name, scores in SCORES.items():
            with case(name):
                expression = expression_method(scores, method)("label")
                assert_frame_equal(TABLE.select(expression), alone)
                query = TABLE.lazy().group_by("group").agg(expression).sort("group")
                assert_frame_equal(query.collect(), grouped)


@every_method
def test_the_result_is_a_float_with_the_name_of_the_score(method):
    expression = expression_method((pl.col("rank") * 2).alias("double"), method)("label")
    schema = TABLE.lazy().select(expression, number(method, {})).collect_schema()
    assert schema == {"double": pl.Float64, "score": pl.Float64}


def test_label_weight_and_count_may_be_expressions():
    options = {"weight": pl.col("weight") * 2, "count": pl.col("n") + 0}
    found = TABLE.select(numbers(METHODS, options, label=pl.col("label") == 1))
    # Twice the weight is the same weight.
    expected = TABLE.select(numbers(METHODS, {"weight": "weight", "count": "n"}))
    assert_frame_equal(found, expected, **ROUNDING)


# Every method is tested with a pattern, and one method with other names.
@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("^p.*$", METHODS),
        *((name, ["auc"]) for name in ("*", "", "a.b", "a:Q", "count()", "<script>", "^", "$")),
    ],
)
def test_a_column_name_is_not_read_as_a_pattern(name, methods):
    renamed = TABLE.select(pl.col("label").alias(name), "score", p="label", q="weight")
    found = renamed.select(numbers(methods, {}, label=name))
    assert_frame_equal(found, TABLE.select(numbers(methods, {})))
    weighted = TABLE.select(pl.col("weight").alias(name), "score", "label")
    found = weighted.select(numbers(methods, {"weight": name}))
    expected = TABLE.select(numbers(methods, {"weight": "weight"}))
    assert_frame_equal(found, expected, **ROUNDING)


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


@pytest.mark.parametrize("methods", [AGGREGATES, PER_ROW], ids=["aggregates", "per row"])
@either_engine
def test_an_empty_table_raises_no_error(methods, engine):
    empty = TABLE.clear().lazy()
    expressions = numbers(methods, {})
    nothing = pl.DataFrame(schema=dict.fromkeys(methods, pl.Float64))
    expected = nothing if methods is PER_ROW else nothing.clear(1)
    assert_frame_equal(empty.select(expressions).collect(engine=engine), expected)
    grouped = empty.group_by("group").agg(expressions).collect(engine=engine)
    assert grouped.height == 0
    windowed = empty.select(one.over("group") for one in expressions).collect(engine=engine)
    assert_frame_equal(windowed, nothing)


@every_mass
def test_row_order_does_not_matter(mass):
    expressions = [one.over("group") for one in numbers(METHODS, mass)]
    turned = TABLE.reverse().select("time", *expressions).sort("time")
    assert_frame_equal(turned, TABLE.select("time", *expressions), **ROUNDING)


def test_the_plan_contains_native_polars_expressions_only():
    expressions = numbers(METHODS, {"weight": "weight", "count": "n"})
    query = TABLE.lazy().group_by("group").agg(expressions)
    assert "python" not in query.explain().lower()


@every_method
def test_help_shows_the_docstring_of_the_function(method):
    function = getattr(RocExpr, method)
    assert function.__name__ == method
    first = "reference" if method in OF_SAMPLES else "label"
    assert [*inspect.signature(function).parameters][1:2] == [first]
    assert inspect.getdoc(function) == inspect.getdoc(getattr(pl.col("score").roc, method))
    # Metrics at a threshold refer to `confusion`, which has their reference.
    references = [] if method in AT_THRESHOLD else ["References"]
    for section in ("Parameters", "Returns", *references, "Examples"):
        assert f"\n{section}\n---" in inspect.getdoc(function)


def test_a_missing_label_column_raises_polars_error():
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="lable"):
        TABLE.select(pl.col("score").roc.auc("lable"))
