"""Any column name works in any role, including names that polars reads as patterns."""

from __future__ import annotations

from functools import partial
from itertools import cycle

import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.all_cases import all_cases
from tests.verbs import OF_CURVES, OF_PREDICTIONS, TableVerb

PATTERNS = ["^p.*$", "^.*$", "*", "^", "$"]
PUNCTUATION = [
    "a.b",
    "a[0]",
    "a:Q",
    "count()",
    "",
    " ",
    "\n",
    "<script>",
    '"',
    "'",
    "{x}",
    "\\",
    "🙂",
]
OURS = ["(label)", "((label))", "(score 0)", "(weight)", "(threshold)", "(tp)", "0", "1", "literal"]
NAMES = [*PATTERNS, *PUNCTUATION, *OURS, "index", "len", "cell", "mass", "row", "fresh", "group"]

# `pp` is there for patterns to match by mistake.
PREDICTIONS = pl.DataFrame(
    {
        "label": [True, False, True, False] * 2,
        "score": [0.9, 0.4, 0.4, 0.1, 0.2, 0.3, 0.3, 0.8],
        "g": ["a", "a", "b", "b"] * 2,
        "w": [1.0, 2.0, 3.0, 4.0] * 2,
        "pp": [True] * 8,
    }
)
ROLES = {"label": "label", "score": "score", "by": "g", "weight": "w"}


def with_key(curves: pl.DataFrame | pl.LazyFrame, key: str) -> pl.DataFrame | pl.LazyFrame:
    """Return the same curves for each of two folds, models or classes."""
    values = (1, 2) if key == "fold" else ("x", "y")
    return pl.concat([curves.select(pl.lit(value).alias(key), pl.all()) for value in values])


def halved(curves: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame | pl.LazyFrame:
    """Return the same curves for each of two folds."""
    return with_key(curves, "fold")


def call_with_key(verb: TableVerb, curves: pl.DataFrame | pl.LazyFrame):
    return verb(curves if verb.key is None else with_key(curves, verb.key))


# Every role is renamed in predictions. Curve tables keep only the names of group columns.
# Scores of classes are expressions or several columns: tests/classes.
VERBS = {
    **{
        name: partial(verb, other="pp")
        for name, verb in OF_PREDICTIONS.items()
        if verb.class_scores is None
    },
    "curve from calibration": lambda frame, **roles: rf.curve_from_calibration(
        rf.calibration(frame, **roles).with_columns(pl.col("n").cast(pl.Float64))
    ),
}
# These functions are called with each name in each role, the others with a third of the names.
NAMES_IN_EVERY_ROLE = {
    "curve with metrics",
    "curve at thresholds",
    "curve from calibration",
    "auc",
    "auc test, adjusted",
    "h measure",
    "summary",
    "calibration",
    "fit of calibration",
    "fit of calibration of models over folds",
    "calibration summary",
    "band of fixed width",
    "compare models",
    "combined decisions of models",
    "chain of models",
    "fold auc",
    "pooling gap",
}
VERBS_ON_CURVES = {
    name: partial(call_with_key, verb) for name, verb in OF_CURVES.items() if verb.source == "curve"
}


def like(frame, table: pl.DataFrame) -> pl.DataFrame | pl.LazyFrame:
    return table.lazy() if frame is pl.LazyFrame else table


def alternating(names: list[str]) -> list[tuple[str, type]]:
    """Pair names with the two kinds of frame in turn: names are read in the same way in both."""
    return list(zip(names, cycle([pl.DataFrame, pl.LazyFrame]), strict=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_columns_of_any_name_play_any_role(name):
    verb = VERBS[name]
    roles = ROLES
    if name in OF_PREDICTIONS and not OF_PREDICTIONS[name].accepts("weight"):
        roles = {role: column for role, column in ROLES.items() if role != "weight"}
    rows = PREDICTIONS.with_columns(fold=pl.int_range(pl.len()) // 4)
    expected = verb(rows, **roles)
    step = 1 if name in NAMES_IN_EVERY_ROLE else 3 * len(roles)
    with all_cases() as case:
        for place, (_, frame) in list(enumerate(alternating(NAMES)))[::step]:
            # Four names at a time, so that every name plays every role once.
            names = {role: NAMES[place - shift] for shift, role in enumerate(roles)}
            renamed = rows.rename({roles[role]: name for role, name in names.items()})
            with case(names):
                actual = verb(like(frame, renamed), **names)
                assert_frame_equal(actual, like(frame, expected.rename({"g": names["by"]})))


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS_ON_CURVES.values(), ids=VERBS_ON_CURVES)
def test_functions_on_curves_accept_group_columns_of_any_name(frame, verb):
    curves = rf.curve(PREDICTIONS, "label", "score", by="g")

    def with_keys(names):
        return curves.select(*(pl.col("g").alias(name) for name in names), pl.exclude("g"))

    with all_cases() as case:
        # Several names at a time: each one is a group column of a table.
        for names in (NAMES[start::4] for start in range(4)):
            plain = [f"g{i}" for i in range(len(names))]
            with case(names):
                actual = verb(like(frame, with_keys(names)))
                expected = verb(with_keys(plain)).rename(dict(zip(plain, names, strict=True)))
                assert_frame_equal(actual, like(frame, expected))


@pytest.mark.parametrize(
    "verb",
    [
        rf.hull,
        rf.relative_superiority,
        partial(rf.lc_index, cost_ratio=(0.1, 0.5, 2)),
        partial(rf.cost_curve, grid=5),
        partial(rf.mix, fpr=[0.2, 0.7]),
    ],
    ids=["hull", "relative_superiority", "lc_index", "cost_curve", "mix"],
)
def test_the_column_of_the_compared_curves_may_have_any_name(verb):
    curves = rf.curve(PREDICTIONS, "label", ["score", "w"])
    expected = verb(curves, across="model")
    columns = [name for name in expected.columns if name.startswith("model")]
    with all_cases() as case:
        for name, frame in alternating(NAMES):
            with case(name):
                actual = verb(like(frame, curves.rename({"model": name})), across=name)
                names = {column: column.replace("model", name) for column in columns}
                assert_frame_equal(actual, like(frame, expected.rename(names)))


def test_a_score_of_any_name_is_a_model_of_that_name():
    alone = rf.auc(PREDICTIONS, "label", "score", by="g")
    with all_cases() as case:
        for name, frame in alternating(NAMES):
            renamed = PREDICTIONS.rename({"score": name})
            expected = alone.clone().insert_column(1, pl.lit(name).alias("model"))
            for score in ([name], cs.by_name(name), cs.by_name(name) + 0, {name: name}):
                with case(name, score):
                    actual = rf.auc(like(frame, renamed), "label", score, by="g")
                    assert_frame_equal(actual, like(frame, expected))


@pytest.mark.parametrize("role", ["id", "between"])
def test_columns_that_pair_rows_may_have_any_name(role):
    rows = PREDICTIONS.with_columns(who=pl.col("g").replace("a", "c"), i=pl.int_range(8) // 4)
    rows = rows.with_columns(i=pl.int_range(pl.len()).over("who"), label=pl.int_range(8) % 2 == 0)
    roles = {"id": "i", "between": "who"}
    options = {"method": "delong_unpaired"} if role == "between" else {}
    expected = rf.compare(rows, "label", "score", **roles, **options)
    with all_cases() as case:
        for name, frame in alternating(NAMES):
            renamed = like(frame, rows.rename({roles[role]: name}))
            with case(name):
                actual = rf.compare(renamed, "label", "score", **{**roles, role: name}, **options)
                assert_frame_equal(actual, like(frame, expected))


def test_models_of_all_names_are_compared_side_by_side(frame):
    scores = PREDICTIONS.select("label", *(pl.col("score").alias(name) for name in NAMES))
    alone = rf.auc(PREDICTIONS, "label", "score")
    models = pl.DataFrame({"model": sorted(NAMES)})
    expected = models.join(alone, how="cross", maintain_order="left")
    for score in (NAMES, cs.exclude("label"), pl.exclude("label"), pl.exclude("label") + 0):
        actual = rf.auc(like(frame, scores), "label", score)
        assert_frame_equal(actual, like(frame, expected))


def test_a_pattern_in_an_expression_stays_a_pattern():
    actual = rf.auc(PREDICTIONS, "label", pl.col("^(score|w)$"), ci=None)
    assert actual["model"].to_list() == ["score", "w"]


def test_a_metric_may_have_any_name():
    plain = rf.curve(PREDICTIONS, "label", "score", by="g", metrics="f1")
    areas = rf.area(plain)
    numbers = [2 * tp or None for tp in plain["tp"]]
    with all_cases() as case:
        for name, frame in alternating(NAMES):
            with case(name):
                twice = pl.when(pl.col("tp") > 0).then(pl.col("tp") * 2).alias(name)
                curves = rf.curve(
                    like(frame, PREDICTIONS), "label", "score", by="g", metrics=["f1", twice]
                )
                expected = plain.with_columns(pl.Series(name, numbers, pl.Int64))
                assert_frame_equal(curves, like(frame, expected))
                points = rf.at(curves, fpr=[0.0, 0.5]).lazy().collect()
                assert points.columns[-1] == name
                assert points[name].to_list() == [2 * tp or None for tp in points["tp"]]
                assert_frame_equal(curves.roc.area(), like(frame, areas))


def test_a_metric_named_like_a_column_inside_the_node_leaves_areas_alone(frame):
    null = pl.lit(None, pl.Float64).alias("(rows)")
    curves = rf.curve(like(frame, PREDICTIONS), "label", "score", by="g", metrics=null)
    expected = rf.curve(PREDICTIONS, "label", "score", by="g").roc.area()
    assert_frame_equal(curves.roc.area(), like(frame, expected))


def test_a_missing_column_of_any_name_is_named(frame):
    with all_cases() as case:
        for name in NAMES:
            for score in (name, pl.col(name) if name not in PATTERNS else name):
                with case(name, score):
                    with pytest.raises(rf.MissingColumnError) as caught:
                        rf.auc(like(frame, PREDICTIONS), "label", score).lazy().collect()
                    assert str(caught.value).startswith(
                        f"score={name!r}: the frame has no column of this name.\n"
                        "The frame has: 'label', 'score', 'g', 'w', 'pp'."
                    )


def test_names_that_look_like_patterns_do_not_match_other_columns(frame):
    with pytest.raises(rf.MissingColumnError, match="has no column of this name"):
        rf.auc(like(frame, PREDICTIONS), "^l.*$", "score").lazy().collect()
    with pytest.raises(rf.MissingColumnError, match="has no column of this name"):
        rf.auc(like(frame, PREDICTIONS), "label", "score", by="*").lazy().collect()


@pytest.mark.parametrize("name", ["label", "score", "w", "value", "at", "auc"])
def test_groups_may_be_called_like_columns_of_other_tables(frame, name):
    renamed = PREDICTIONS.rename({"label": "y", "score": "s", "w": "v", "g": name})
    actual = rf.curve(like(frame, renamed), "y", "s", by=name, weight="v")
    expected = rf.curve(PREDICTIONS, "label", "score", by="g", weight="w").rename({"g": name})
    assert_frame_equal(actual, like(frame, expected))


def text_of(caught) -> str:
    return str(caught.value).split("\n\nResolved plan until failure")[0]


REPEATED = {
    "a group": (
        {"by": ["g", "w", "g"]},
        "by='g': the name is given more than once.\nGiven: 'g', 'w', 'g'.\n",
    ),
    "a score": (
        {"score": ["score", "w", "score"]},
        "score='score': the name is given more than once.\nGiven: 'score', 'w', 'score'.\n",
    ),
    "an expression named like another": (
        {"score": [pl.col("score"), pl.col("w").alias("score")]},
        "score='score': the name is given more than once.\nGiven: 'score', 'score'.\n",
    ),
    "a selector beside one of its columns": (
        {"score": ["w", cs.float()]},
        "score='w': the name is given more than once.\nGiven: 'w', 'score', 'w'.\n",
    ),
}


@pytest.mark.parametrize(("roles", "text"), REPEATED.values(), ids=REPEATED)
def test_a_name_given_twice_raises(frame, roles, text):
    with pytest.raises(rf.RepeatedNameError) as caught:
        rf.auc(
            like(frame, PREDICTIONS), **{"label": "label", "score": "score", **roles}
        ).lazy().collect()
    assert text_of(caught) == f"{text}Use each name once."


def test_an_expression_that_makes_two_columns_of_one_name_raises(frame):
    with pytest.raises(rf.OptionValueError) as caught:
        rf.auc(like(frame, PREDICTIONS), "label", pl.col("score", "w").alias("s")).lazy().collect()
    assert text_of(caught).endswith(
        ": the expression returns two columns with the same name.\n"
        'Rename one column, for example with .name.suffix(), or pass {"a": …, "b": …}.'
    )


def test_a_metric_given_twice_raises(frame):
    with pytest.raises(rf.RepeatedNameError) as caught:
        rf.curve(like(frame, PREDICTIONS), "label", "score", metrics=["f1", "mcc", "f1"])
    assert str(caught.value) == (
        "metrics='f1': the name is given more than once.\nGiven: 'f1', 'mcc', 'f1'.\n"
        "Use each name once."
    )


def test_an_alias_is_an_additional_column(frame):
    curve = rf.curve(like(frame, PREDICTIONS), "label", "score", metrics=["tnr", "specificity"])
    columns = curve.lazy().collect()
    assert columns.columns[-2:] == ["tnr", "specificity"]
    assert_frame_equal(columns.select("tnr"), columns.select(tnr="specificity"))


TABLES = {
    "curve": (rf.curve, {}, ["threshold", "tp", "fp", "fn", "tn", "fpr", "tpr"]),
    "curve with metrics": (rf.curve, {"metrics": ["f1", "mcc"]}, ["f1", "mcc"]),
    "curve of another kind": (rf.curve, {"kind": "gain"}, ["alert_rate"]),
    "auc": (rf.auc, {}, ["n_pos", "n_missing", "auc", "auc_optimistic", "se", "ci_level", "note"]),
    "partial auc": (rf.auc, {"fpr": (0, 1)}, ["partial_auc", "partial_auc_pessimistic"]),
    "compare": (rf.compare, {"score": ["score"]}, ["model_a", "n_paired", "auc_a", "df", "note"]),
    "partial areas compared": (
        rf.compare,
        {"score": ["score"], "tpr": (0, 1)},
        ["partial_auc_b", "lower", "p_adjusted"],
    ),
    "losses compared": (
        rf.compare,
        {"score": ["score"], "metric": "brier"},
        ["brier_a", "df"],
    ),
    "rates compared": (
        rf.compare,
        {"score": ["score"], "tpr": 0.5, "method": "bootstrap"},
        ["fpr_a", "test"],
    ),
    "contrast": (rf.contrast, {"score": ["score"]}, ["n_models", "n_paired", "p_value"]),
    "auc covariance": (rf.auc_covariance, {"score": ["score"]}, ["model_b", "n_neg", "covariance"]),
    "hull shares": (
        rf.hull_shares,
        {"score": ["score"], "n_boot": 2},
        ["share_on_hull", "n_vertices"],
    ),
    "combine": (rf.combine, {"score": ["score"]}, ["operator", "tpr_min", "threshold_b", "n_pos"]),
    "chain": (rf.chain, {"score": ["score"]}, ["operator", "stage", "fpr_alone", "threshold"]),
    "decision intervals": (
        rf.decision_intervals,
        {"score": ["score"], "kind": "cost", "n_boot": 2},
        ["probability_cost", "expected_cost", "difference", "trivial_cost", "note"],
    ),
    "band": (rf.band, {}, ["fpr", "tpr", "fpr_lower", "upper", "scope", "band", "note"]),
    "smooth": (rf.smooth, {}, ["threshold", "fn", "fpr", "tpr", "auc", "b", "note"]),
}


@pytest.mark.parametrize(("verb", "options", "names"), TABLES.values(), ids=TABLES)
def test_a_group_column_with_the_name_of_a_column_raises_an_error(frame, verb, options, names):
    roles = {"label": "label", "score": "score", **options}
    for name in names:
        with pytest.raises(rf.ReservedColumnError) as caught:
            verb(like(frame, PREDICTIONS.rename({"g": name})), by=name, **roles).lazy().collect()
        assert str(caught.value).startswith(
            f"by={name!r}: the result already has a column of this name.\nColumns of the result: "
        )


def test_several_scores_make_the_key_model_themselves(frame):
    rows = like(frame, PREDICTIONS.rename({"g": "model"}))
    with pytest.raises(rf.ReservedColumnError) as caught:
        rf.auc(rows, "label", ["score"], by="model").lazy().collect()
    assert str(caught.value).startswith(
        "by='model': several scores are compared, and the result has a column 'model' with "
        "their names.\nLeave 'model' out of by=, or rename this column first."
    )


@pytest.mark.parametrize(
    ("verb", "names"),
    [
        (lambda curves, by: rf.at(curves, fpr=0.5, by=by), ["at", "at_value"]),
        (
            lambda curves, by: rf.at(curves, fpr=0.5, interpolate=True, by=by),
            ["at", "at_value", "mix", "threshold_above", "threshold_below"],
        ),
        (
            lambda curves, by: rf.operating_point(curves, by=by),
            ["rule", "value", "n_optima", "note"],
        ),
        (
            lambda curves, by: rf.transfer(halved(curves), by=by if by is None else ["fold", by]),
            ["rule", "value_realised", "optimism", "note"],
        ),
        (
            lambda curves, by: rf.concavities(curves, by=by),
            ["area", "threshold_above", "score_max", "n_pos", "auc"],
        ),
        (
            lambda curves, by: rf.repaired_auc(
                halved(curves), by=by if by is None else ["fold", by]
            ),
            ["gain_realised", "gain_chosen", "auc_repaired", "n_concavities"],
        ),
        (lambda curves, by: rf.hull(curves, by=by), ["slope_low", "prevalence_high", "note"]),
        (lambda curves, by: rf.iso_lines(curves, by=by), ["slope", "expected_cost", "n_optima"]),
        (lambda curves, by: rf.ties(curves, by=by), ["auc_change", "tied_pos", "tied_neg"]),
        (
            lambda curves, by: rf.mix(curves, fpr=0.5, by=by),
            ["at", "mix", "threshold_above", "note"],
        ),
        (
            lambda curves, by: rf.cost_curve(curves, by=by),
            ["probability_cost", "expected_cost", "trivial_cost", "min_dcf"],
        ),
        (
            lambda curves, by: rf.relative_superiority(curves, across="model", by=by),
            ["probability_cost_low", "largest_difference", "n_best", "note"],
        ),
        (
            lambda curves, by: rf.decision_curve(curves, by=by),
            ["probability_threshold", "net_benefit", "treat_all", "interventions_avoided"],
        ),
        (
            lambda curves, by: rf.murphy_curve(curves, by=by),
            ["elementary_score", "miscalibration", "side", "note"],
        ),
        (lambda curves, by: rf.area(curves, by=by), ["auc"]),
        (lambda curves, by: rf.area(curves, kind="pr", by=by), ["average_precision", "pr_auc"]),
        (lambda curves, by: rf.simplify(curves, by=by), ["error", "area_change"]),
    ],
    ids=[
        "at",
        "at, between rows",
        "operating point",
        "transfer",
        "concavities",
        "repaired auc",
        "hull",
        "lines of equal cost",
        "ties",
        "mix",
        "cost curve",
        "relative superiority",
        "decision curve",
        "murphy curve",
        "area",
        "area of precision-recall",
        "simplify",
    ],
)
def test_a_group_column_with_the_name_of_a_new_column_raises_an_error(frame, verb, names):
    curves = rf.curve(PREDICTIONS, "label", "score", by="g")
    for name in names:
        for by in (None, name):
            with pytest.raises(rf.ReservedColumnError) as caught:
                verb(like(frame, curves.rename({"g": name})), by).lazy().collect()
            assert str(caught.value).startswith(
                f"by={name!r}: the result already has a column of this name.\n"
            )
