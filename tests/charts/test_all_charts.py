"""Properties of the charts of all tables that have one."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module

import altair as alt
import polars as pl
import pytest

import rocframe as rf
from rocframe.charts.style import DARK, LIGHT, REFERENCE_COLOR, short_name
from rocframe.schemas import TABLES, table_of
from rocframe.schemas.curves import CLASS_MATRICES, CONVEX_HULL
from rocframe.schemas.statistics import AUC_COVARIANCE
from tests.charts.specifications import layers, records, reference_lines, shared, spec, svg, texts
from tests.test_names import PUNCTUATION

# Names that all functions accept, and names of fields in the data of charts.
NAMES = ["^p.*$", *PUNCTUATION, "שלום", "row", "x", "c0", "f0", "_layer", "a very long name " * 9]
# Charts of curves show the areas of the table of `area`.
AREA_COLUMNS = ("auc", "average_precision")
MODALITY = "modality"  # the title of the colors of modality_a
OWN_COLORS = ["#d62728", "#000001", "#2ca02c", "#bcbd22"]

# Group v has no positives.
PREDICTIONS = pl.DataFrame(
    {
        "id": [*range(12)] * 3,
        "m": ["a"] * 12 + ["b"] * 12 + ["c"] * 12,
        "fold": [1, 1, 2, 2] * 9,
        "g": (["u"] * 8 + ["v"] * 4) * 3,
        "label": [True, False, True, False, True, False, True, False, *[False] * 4] * 3,
        "score": [i * 7 % 12 / 10 for i in range(36)],
    }
)
CLASSES = pl.DataFrame(
    {
        "g": ["u", "u", "u", "v"],
        "label": ["p", "q", "p", "q"],
        "p": [0.9, 0.2, 0.3, 0.1],
        "q": [0.1, 0.8, 0.7, 0.9],
    }
)
GRADES = pl.DataFrame(
    {
        "g": ["u"] * 7 + ["v"],
        "grade": [1, 1, 2, 2, 2, 3, 3, 1],
        "score": [0.1, 0.5, 0.4, 0.6, 0.7, 0.6, 0.9, 0.3],
    }
)


def curves(table: pl.DataFrame, by: str) -> pl.DataFrame:
    return rf.curve(table, "label", "score", by=["m", by] if by != "m" else "m")


def two_readers(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of two readers; the second reader has other scores."""
    others = table.with_columns(pl.col("score") * 3 % 1)
    return pl.concat([table.with_columns(reader=1), others.with_columns(reader=2)])


TABLE_FUNCTIONS = {
    "curve": curves,
    "average": lambda table, by: rf.average(curves(table, by), over="m", grid=5),
    "average of a metric": lambda table, by: rf.average(
        curves(table, by), over="m", grid=5, fixed="fpr", metrics="mcc"
    ),
    "auc": lambda table, by: rf.auc(table, "label", "score", by=[by, "m"]),
    "partial auc": lambda table, by: rf.auc(table, "label", "score", by=by, fpr=(0, 0.5)),
    "summary": lambda table, by: rf.summary(table, "label", "score", by=by),
    "calibration summary": lambda table, by: rf.calibration_summary(
        table, "label", pl.col("score") / 10, by=by
    ),
    "gains": lambda table, by: rf.gains(table, "label", "score", by=by, bins=3),
    "h measure": lambda table, by: rf.h_measure(table, "label", "score", by=by),
    "combined decisions": lambda table, by: rf.combine(
        table, "label", "score", between="m", id="id", by=by, threshold=0.5
    ),
    "chain": lambda table, by: rf.chain(
        table, "label", "score", between="m", id="id", by=by, threshold=0.5
    ),
    "auc test": lambda table, by: rf.auc_test(table, "label", "score", by=[by, "m"]),
    "drift": lambda table, by: rf.drift(table, "label", "score", over="m", by=by),
    "score drift": lambda table, by: rf.score_drift(table, "score", over="m", by=by, bins=3),
    "drift test": lambda table, by: rf.drift_test(table, "label", "score", over="id", by=by),
    "multiclass auc": lambda _, by: rf.multiclass_auc(
        CLASSES.rename({"g": by}), "label", ["p", "q"], by=by, ci=None
    ),
    "multiclass metrics": lambda _, by: rf.multiclass_metrics(
        CLASSES.rename({"g": by}), "label", ["p", "q"], by=by
    ),
    "confusion matrix of classes": lambda _, by: rf.confusion_matrix(
        CLASSES.rename({"g": by}), "label", scores=["p", "q"], by=by
    ),
    "volume": lambda _, by: rf.volume(
        GRADES.rename({"g": by}), "grade", "score", by=by, classes=[1, 2, 3]
    ),
    "fold auc": lambda table, by: rf.fold_auc(table, "label", "score", by=by),
    "pooling gap": lambda table, by: rf.pooling_gap(table, "label", "score", by=by),
    "intervals": lambda table, by: rf.intervals(
        table, "label", "score", metrics=["tpr", "lift"], threshold=0.5, by=by, ci=None
    ),
    "comparison": lambda table, by: rf.compare(
        table, "label", "score", id="id", between="m", by=by
    ),
    "covariance": lambda table, by: rf.auc_covariance(
        table, "label", "score", id="id", between="m", by=by
    ),
    "hull shares": lambda table, by: rf.hull_shares(
        table, "label", "score", id="id", between="m", by=by, n_boot=5, seed=1
    ),
    "reader study": lambda table, by: rf.reader_study(
        two_readers(table), "label", "score", id="id", modality="m", by=by
    ),
    "decision intervals": lambda table, by: rf.decision_intervals(
        table.with_columns(pl.col("score") / 2),
        "label",
        "score",
        id="id",
        between="m",
        by=by,
        grid=[0.1, 0.4],
        n_boot=5,
        seed=1,
    ),
    "cost intervals": lambda table, by: rf.decision_intervals(
        table, "label", "score", kind="cost", id="id", between="m", by=by, n_boot=5, seed=1
    ),
    "band": lambda table, by: rf.band(table, "label", "score", by=by, grid=5),
    "band both ways": lambda table, by: rf.band(table, "label", "score", by=by, method="threshold"),
    "smooth": lambda table, by: rf.smooth(table, "label", "score", by=by),
    "at": lambda table, by: rf.at(curves(table, by), tpr=[0.5, 0.9]),
    "at, between rows": lambda table, by: rf.at(curves(table, by), tpr=0.5, interpolate=True),
    "cost curve": lambda table, by: rf.cost_curve(curves(table, by)),
    "relative superiority": lambda table, by: rf.relative_superiority(
        curves(table, by), across="m"
    ),
    "lc index": lambda table, by: rf.lc_index(
        curves(table, by), across="m", cost_ratio=(0.1, 0.5, 2)
    ),
    "decision curve": lambda table, by: rf.decision_curve(
        curves(table.with_columns(pl.col("score") / 2), by)
    ),
    "calibration": lambda table, by: rf.calibration(
        table.with_columns(pl.col("score") / 2), "label", "score", by=[by, "m"], bins=3
    ),
    "calibration, isotonic": lambda table, by: rf.calibration(
        table.with_columns(pl.col("score") / 2), "label", "score", by=by, method="isotonic"
    ),
    "murphy curve": lambda table, by: rf.murphy_curve(
        curves(table.with_columns(pl.col("score") / 2), by), grid="vertices"
    ),
    "operating point": lambda table, by: rf.operating_point(curves(table, by), ["youden", "f1"]),
    "transfer": lambda table, by: rf.transfer(curves(table, by), over="m"),
    "hull": lambda table, by: rf.hull(curves(table, by)),
    "repaired auc": lambda table, by: rf.repaired_auc(curves(table, by), over="m"),
    "iso lines": lambda table, by: rf.iso_lines(curves(table, by), costs={"fp": 1, "fn": 3}),
    "common hull": lambda table, by: rf.hull(curves(table, by), across="m"),
    "area": lambda table, by: rf.area(curves(table, by)),
    "area of precision-recall": lambda table, by: rf.area(curves(table, by), kind="pr"),
    "plan": lambda *_: rf.power(auc=[0.6, 0.7], n_pos=[10, 20], n_neg=30),
}
every_table_function = pytest.mark.parametrize(
    "table_of", TABLE_FUNCTIONS.values(), ids=TABLE_FUNCTIONS
)


@pytest.fixture(scope="module", params=TABLE_FUNCTIONS.values(), ids=TABLE_FUNCTIONS)
def table(request: pytest.FixtureRequest) -> pl.DataFrame:
    return request.param(PREDICTIONS, "g")


@pytest.fixture(scope="module")
def chart(table: pl.DataFrame) -> alt.Chart:
    return table.roc.chart()


def fields(part: object) -> set[str]:
    """Return all fields of the encodings and panels in a specification."""
    if isinstance(part, list):
        return set().union(*map(fields, part))
    if not isinstance(part, dict):
        return set()
    own = {part["field"]} if isinstance(part.get("field"), str) else set()
    return own.union(
        *(fields(value) for key, value in part.items() if key not in {"datasets", "transform"})
    )


def colors(chart: alt.Chart) -> set[str]:
    """Return all colors of the rendered chart."""
    return set(re.findall(r'(?:fill|stroke)="([^"]+)"', svg(chart)))


def drawn(chart: alt.Chart) -> Counter[str]:
    """Return the number of rendered marks of each kind, without reference lines."""
    elements = re.findall(r'<[^>]*aria-roledescription="[\w ]+"[^>]*>', svg(chart))
    kinds = [
        re.search('roledescription="([^"]*)"', text)[1]
        for text in elements
        if REFERENCE_COLOR not in text
    ]
    guides = ("container", "axis", "legend", "title")
    return Counter(kind for kind in kinds if not kind.endswith(guides))


def test_tables_without_a_drawing_have_a_hint():
    hints = {table.name: table.chart_hint for table in TABLES if table.drawing is None}
    assert set(hints) == {
        "comparison_replicates",
        "concavities",
        "contrast",
        "fit_calibration",
        "gate",
        "metric_replicates",
        "tie_bounds",
        "ties",
    }
    assert all(hints.values())


def test_every_drawing_is_a_function():
    for table in TABLES:
        if table.drawing is not None:
            module, name = table.drawing.split(":")
            assert callable(getattr(import_module(module), name))


def test_every_chart_is_a_valid_specification(chart):
    chart.to_dict(validate=True)


@pytest.mark.render
def test_labels_of_numbers_are_centered_below_their_ticks(chart):
    shown = svg(chart)
    for axis in re.findall(r'aria-label="X-axis.*?role-axis-label.*?</g>', shown):
        anchors = re.findall(r'text-anchor="(\w+)"[^>]*>[\d.−]+</text>', axis)
        assert set(anchors) <= {"middle"}


def test_every_table_has_a_chart_with_a_title_and_a_description(chart):
    assert "NaN" not in svg(chart)
    assert chart.description.endswith(".")
    assert chart.title.text


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("cost curve", "a · v, b · v, c · v"),
        ("hull", "a · v, b · v, c · v"),
        ("common hull", "v"),
        ("cost intervals", "v · a, v · b, v · c"),
        ("band", "v"),
        ("band both ways", "v"),
        ("smooth", "v"),
    ],
)
def test_groups_without_points_are_named(name, groups):
    chart = TABLE_FUNCTIONS[name](PREDICTIONS, "g").roc.chart()
    assert chart.title.subtitle.endswith(f"Not drawn: {groups}")
    assert chart.description.endswith(f"Not drawn: {groups}.")


@pytest.mark.parametrize("options", [{"kind": "pr"}, {"fixed": "fpr", "metrics": ["mcc"]}])
def test_averages_without_points_are_named(options):
    table = rf.curve(PREDICTIONS, "label", "score", by=["g", "m"])
    chart = table.roc.average(over="m", grid=3, **options).roc.chart()
    assert chart.title.subtitle == "Not drawn: v"
    assert chart.description.endswith(" Not drawn: v.")


def test_a_common_cost_curve_without_points_is_named_without_a_model():
    table = rf.cost_curve(curves(PREDICTIONS, "g"), across="m")
    assert table.roc.chart().title.subtitle == "Dashed: trivial classifiers. Not drawn: v"


@pytest.mark.parametrize(
    "name",
    [
        "combined decisions",
        "chain",
        "decision intervals",
        "cost intervals",
        "band",
        "band both ways",
        "smooth",
        "at",
        "at, between rows",
        "cost curve",
        "decision curve",
        "calibration",
        "calibration, isotonic",
        "murphy curve",
        "operating point",
        "hull",
        "common hull",
    ],
)
def test_the_description_states_the_range_of_a_domain(name):
    table = TABLE_FUNCTIONS[name](PREDICTIONS, "g")
    chart = table.roc.chart(x_domain=(0.125, 0.25))
    assert " from 0.125 to 0.25." in chart.description
    assert "Shown: " not in table.roc.chart().description


@pytest.mark.render
def test_the_chart_of_an_empty_table_is_empty(table):
    chart = table.clear().roc.chart()
    assert 'aria-roledescription="axis"' in svg(chart)
    assert any(
        f" 0 {things}" in chart.description
        for things in (
            "rows",
            "bands",
            "plans",
            "curves",
            "averaged curves",
            "lines",
            "pairs",
            "chains",
            "classes",
        )
    ) or ("0 points" in chart.description or "0 models" in chart.description)


def test_an_option_that_a_drawing_does_not_read_raises(table):
    table_type = table_of(table.columns).type
    reads = table_type.chart_options
    values = dict.fromkeys(["color", "facet", "detail", "by"], "g")
    values |= {} if table_type.on_axes else {"kind": "roc"}
    values |= {"x_domain": (0.125, 0.25)}
    for option in values.keys() - set(reads):
        with pytest.raises(rf.RocframeError) as caught:
            table.roc.chart(**{option: values[option]})
        assert str(caught.value).startswith(
            f"{option}={values[option]!r}: this option cannot be used with a chart of a table of "
        )


def test_fields_of_encodings_are_columns_of_the_table(table, chart):
    known = {*table.columns, *AREA_COLUMNS, MODALITY}
    strange = {
        field
        for field in fields(spec(chart))
        if not (
            known.issuperset(re.split(" [·−] ", field))
            or field.startswith("_")
            or field.endswith(("_deviate", "_logit"))
        )
    }
    assert not strange


@pytest.mark.render
def test_group_columns_of_any_name_are_drawn_and_named(table):
    if "g" not in table.columns:
        return
    odd, plain = (
        table.select(*(pl.col("g").alias(name) for name in names), pl.exclude("g")).roc.chart()
        for names in (NAMES, [f"g{i}" for i in range(len(NAMES))])
    )
    assert drawn(odd) == drawn(plain)
    shown = {
        str(part.get("title", part["field"])).replace("\\\\", "\\")
        for layer in [*layers(odd), spec(odd)]
        for parts in [*layer.get("encoding", {}).values(), layer.get("facet", {})]
        for part in (parts if isinstance(parts, list) else [parts])
        if isinstance(part, dict) and "field" in part
    }
    assert {short_name(name) for name in NAMES} <= shown


def own_range(chart: alt.Chart, table: pl.DataFrame) -> alt.Color:
    """Return colors of a user for the column with colors, or for the first group column."""
    field = shared(chart, "color").get("field", table.columns[0])
    return alt.Color(field, type="nominal", scale=alt.Scale(range=OWN_COLORS))


def encoded(chart: alt.Chart, **channels: object) -> alt.Chart:
    """Return a chart with other channels; those of a chart with panels are in its `spec`."""
    if not isinstance(chart, alt.FacetChart):
        return chart.encode(**channels)
    changed = chart.copy()
    changed.spec = chart.spec.encode(**channels)
    return changed


@pytest.mark.render
def test_colors_of_a_user_replace_those_of_the_chart(table, chart):
    color = own_range(chart, table)
    changed = encoded(chart, color=color)
    assert not colors(changed) & {*LIGHT.colors}
    assert colors(changed) & {*OWN_COLORS}
    assert reference_lines(changed) == reference_lines(chart)
    titles = re.findall(r"legend titled '([^']*)' for \w+ color", svg(changed))
    assert titles == [color.shorthand]


@pytest.mark.render
def test_a_title_of_a_user_is_the_only_title_of_its_axis(chart):
    x = shared(chart, "x")
    changed = encoded(chart, x=alt.X(field=x["field"], type=x["type"], title="new title"))
    titles = re.findall(r"X-axis titled '([^']*)'", svg(changed))
    assert set(titles) == {"new title"}
    assert drawn(changed) == drawn(chart)


@pytest.mark.render
def test_dashes_of_a_user_have_a_legend_without_undefined_values(table, chart):
    changed = encoded(chart, strokeDash=f"{own_range(chart, table).shorthand}:N")
    assert "undefined" not in texts(changed)
    assert reference_lines(changed) == reference_lines(chart)


@pytest.mark.render
def test_a_range_of_the_config_replaces_the_colors(chart):
    changed = chart.configure_range(category=OWN_COLORS)
    assert not colors(changed) & {*LIGHT.colors}
    if colors(chart) & {*LIGHT.colors}:
        assert colors(changed) & {*OWN_COLORS}


@pytest.mark.render
def test_the_dark_theme_has_none_of_the_colors_of_the_light_theme(table):
    with alt.theme.enable("rocframe_dark"):
        chart = table.roc.chart()
        shown = colors(chart)
    light = {LIGHT.background, LIGHT.foreground, LIGHT.muted, LIGHT.grid, *LIGHT.colors, "white"}
    if table_of(table.columns).type in {AUC_COVARIANCE, CLASS_MATRICES}:
        light -= {"white"}  # the numbers in dark cells are white in all themes
    assert {DARK.background, DARK.grid, DARK.foreground} <= shown
    assert not shown & light


@pytest.mark.render
def test_a_filter_of_a_group_column_leaves_its_rows(table, chart):
    name = table.columns[0]
    values = {str(record[name]) for record in records(chart)}
    parts = [drawn(chart.transform_filter(f"datum.{name} == '{value}'")) for value in values]
    assert {kind: sum(part[kind] for part in parts) for kind in drawn(chart)} == drawn(chart)


@every_table_function
@pytest.mark.render
def test_group_values_and_names_of_any_kind_are_drawn(table_of):
    values = [*NAMES, "null", None]
    parts = [PREDICTIONS.filter(g="u").with_columns(g=pl.lit(value, pl.String)) for value in values]
    table = table_of(pl.concat(parts), "g").rename({"g": "a\\.b"}, strict=False)
    assert "NaN" not in svg(table.roc.chart())


def test_unknown_columns_after_those_of_a_table_change_nothing(table, chart):
    more = table.with_columns(pl.lit(1).alias("a.b"), pl.lit(2).alias("x"))
    if table_of(table.columns).type is CONVEX_HULL:  # columns on the right name the curves
        points = 'aria-roledescription="point"'
        assert svg(more.roc.chart()).count(points) == svg(chart).count(points)
        return
    if table.columns[-1] in {
        "auc",
        "pr_auc",
        "lift_area_step",
    }:  # The last column determines the type of these tables.
        with pytest.raises(rf.BrokenCurveError) as caught:
            more.roc.chart()
        missing = [name for name in ("threshold", "tp", "fp", "fn", "tn") if name not in table]
        assert str(caught.value).startswith(
            "chart: expected a curve table, but the table has no column "
            f"{', '.join(map(repr, missing))}.\n"
            "Compute a curve table with .roc.curve(label, score, by=…), or pass an unchanged table "
        )
        return
    assert more.roc.chart().description == chart.description
