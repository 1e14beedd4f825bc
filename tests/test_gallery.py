"""Tests of the pictures in the docs: they exist, and are those of the code on their pages."""

from __future__ import annotations

import importlib.util
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rocframe.schemas import TABLES, table_of
from tests.charts.specifications import svg

DOCS = Path(__file__).resolve().parents[1] / "docs"
pytestmark = pytest.mark.render


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def drawn_tables():
    """The names of the types of tables that the pictures show; `charts` adds them."""
    return set()


@pytest.fixture(scope="module")
def charts(gallery, drawn_tables):
    """The chart of each picture, by the path of its file in docs/images."""

    def recorded(*arguments):
        found = table_of(*arguments)
        drawn_tables.add(found.name)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rocframe.charts.chart.table_of", recorded)
        return gallery.pictures()


@pytest.fixture(scope="module")
def specs(charts):
    """The specification of each picture of the gallery. `digest` also validates it."""
    return {
        Path(image).stem: chart.to_dict(validate=False)
        for image, chart in charts.items()
        if image.startswith("gallery/")
    }


def parts(spec):
    """Return a specification and all specifications in it."""
    inner = [*(spec.get(key, []) for key in ("hconcat", "vconcat", "layer"))]
    return [spec, *(part for group in inner for child in group for part in parts(child))]


def records(part, datasets, axes=None):
    """Return the records of a part, with their values on the axes as `x` and `y`.

    `axes` are the fields of the axes that an outer part shares.
    """
    channels = part.get("encoding", {})
    fields = {name: channels[name]["field"] for name in "xy" if "field" in channels.get(name, {})}
    axes = (axes or {}) | fields
    data = datasets.get(part.get("data", {}).get("name"))
    found = json.loads(data) if isinstance(data, str) else []
    inner = part.get("spec", {})
    for one in [*part.get("layer", []), *([inner] if inner else [])]:
        if "layer" in one or one is inner:
            # The data of a chart with panels are those of its inner specification.
            shared = {"data": part["data"]} if one is inner and "data" in part else {}
            found = [] if shared else found
            found += records(one | shared, datasets, axes)
    return [row | {name: row[axis] for name, axis in axes.items() if axis in row} for row in found]


def lines(part, datasets):
    """Return the records of the lines of a part."""
    return [
        record
        for record in records(part, datasets)
        if record.get("x") and isinstance(record.get("threshold"), list) and "_layer" not in record
    ]


def rows_with(spec, column):
    """Return the records of the chart of the table that has this column."""
    return [one for one in records(spec, spec["datasets"]) if column in one]


def captions(part):
    """Return the field that the legend or the headers of a part show, and its captions."""
    inner = [part, part.get("spec", {}), *part.get("layer", [])]
    colors = [one["encoding"]["color"] for one in inner if "color" in one.get("encoding", {})]
    for channel in [part.get("facet", {}), *colors]:
        text = (channel.get("header") or channel.get("legend") or {}).get("labelExpr", "")
        if text.startswith("{"):
            return channel["field"], json.JSONDecoder().raw_decode(text)[0]
    return None, {}


def test_every_area_in_a_legend_is_the_area_under_its_lines(specs):
    checked = set()
    for name, spec in specs.items():
        for part in parts(spec):
            field, texts = captions(part)
            drawn = [one for one in lines(part, spec["datasets"]) if {"fpr", "tp"} <= {*one}]
            for value, text in texts.items():
                curves = [record for record in drawn if record.get(field) == value]
                if not curves or "AUC " not in text:
                    continue
                areas = [np.trapezoid(record["y"], record["x"]) for record in curves]
                area = float(text.split("AUC ")[1].rstrip(")"))
                # Lines differ from the curve by less than 1/500 of an axis.
                # A picture with the name "zoom" shows a part of the axes.
                if not any(word in name for word in ("log", "det", "zoom")):
                    assert np.mean(areas) == pytest.approx(area, abs=0.003), (name, value)
                    checked.add(name)
    assert {"models", "folds", "fawcett-7"} <= checked


def test_panels_that_share_a_legend_have_the_same_captions(specs):
    for name, spec in specs.items():
        if spec.get("resolve", {}).get("scale", {}).get("color") == "independent":
            continue
        panels = [panel for key in ("hconcat", "vconcat") for panel in spec.get(key, [])]
        legends = [texts for panel in panels for _, texts in [captions(panel)] if texts]
        assert all(a == b for a, b in pairwise(legends)), name


def test_the_curves_of_fawcetts_figure_7_cross_and_each_panel_names_its_own_areas(charts, specs):
    spec = specs["fawcett-7"]
    left, right = (
        {record["model"]: record for record in lines(panel, spec["datasets"])}
        for panel in spec["hconcat"]
    )
    at = {fpr: [np.interp(fpr, left[m]["x"], left[m]["y"]) for m in "AB"] for fpr in (0.4, 0.75)}
    assert at[0.4][0] < at[0.4][1]
    assert at[0.75][0] > at[0.75][1]
    grid = np.linspace(0, 1, 1001)
    single, full = (np.interp(grid, right[m]["x"], right[m]["y"]) for m in "AB")
    assert (single <= full + 0.01).all()  # one step of the curve
    (corner,) = list(zip(right["A"]["x"], right["A"]["y"], strict=True))[1:-1]
    assert corner in list(zip(right["B"]["x"], right["B"]["y"], strict=True))
    picture = svg(charts["gallery/fawcett-7.png"])
    areas = [np.trapezoid(panel[m]["y"], panel[m]["x"]) for panel in (left, right) for m in "AB"]
    for model, area in zip("ABAB", areas, strict=True):
        assert f">{model} (AUC {area:.3f})<" in picture


def test_the_negation_of_e_is_b_in_fawcetts_figure_2(specs):
    tables = [data for data in specs["fawcett-2"]["datasets"].values() if isinstance(data, list)]
    points = {
        row["model"]: (row["fpr"], row["tpr"])
        for table in tables
        for row in table
        if "model" in row
    }
    (negated,) = (row for table in tables for row in table if "negated_fpr" in row)
    assert (negated["fpr"], negated["tpr"]) == points["E"]
    assert (negated["negated_fpr"], negated["negated_tpr"]) == points["B"]
    assert (points["C"], points["D"]) == ((0.7, 0.7), (0, 1))


def test_the_repaired_classifier_is_the_reflection_of_b_in_fawcetts_figure_11b(specs):
    spec = specs["fawcett-11b"]
    (curve,) = lines(spec, spec["datasets"])
    (before,) = (d for d in spec["datasets"].values() if isinstance(d, list) and len(d) == 5)
    for axis, name in (("x", "fpr"), ("y", "tpr")):
        a, b, c = (row[name] for row in before[1:4])
        assert curve[axis][1:4] == pytest.approx([a, a + c - b, c])


def test_the_expected_point_of_and_is_that_of_fawcetts_figure_12_and_both_are_above_the_hull(specs):
    spec = specs["fawcett-12"]
    decisions = records(spec, spec["datasets"])
    (x_and, y_and), (x_or, y_or) = (
        (one["fpr_independent"], one["tpr_independent"]) for one in decisions
    )
    assert (x_and, y_and) == (0.08, 0.42)
    hull = next(data for data in spec["datasets"].values() if len(data) == 4)
    fpr, tpr = ([row[name] for row in hull] for name in ("fpr", "tpr"))
    assert y_and > np.interp(x_and, fpr, tpr)
    assert y_or > np.interp(x_or, fpr, tpr)


@pytest.mark.parametrize(
    ("figure", "slope"),
    [
        (4, 6 / 5),
        (7, (10 + 10) / 2),  # (P + N) / 2, equation 5.7
        (9, 332 / 626),  # N / P
    ],
)
def test_the_line_of_equal_accuracy_touches_the_curve_with_the_slope_of_the_paper(
    specs, figure, slope
):
    spec = specs[f"vuk-curk-{figure}"]
    (curve,) = lines(spec, spec["datasets"])
    (best,) = rows_with(spec, "expected_cost")
    pos, neg = curve["_positives"], curve["_negatives"]
    points = [one for one in rows_with(spec, "_layer") if one["_layer"] == "line of equal cost"]
    (x0, y0), (x1, y1) = ((point["x"], point["y"]) for point in points)
    assert (y1 - y0) / (x1 - x0) == pytest.approx(slope, rel=1e-6)
    above = np.array(curve["y"]) - (y0 + slope * np.array(curve["x"]))
    assert above.max() == pytest.approx(0, abs=1e-6)
    assert curve["threshold"][above.argmax()] == best["threshold"]
    share = 5 / 11 if figure == 4 else pos / (pos + neg)
    tpr, fpr = np.array(curve["tp"]) / pos, np.array(curve["fp"]) / neg
    accuracy = share * tpr + (1 - share) * (1 - fpr)
    assert accuracy[above.argmax()] == pytest.approx(accuracy.max())
    assert best["expected_cost"] == pytest.approx(1 - accuracy.max(), rel=1e-6)


def test_the_areas_of_the_lift_chart_are_those_of_vuk_and_curks_figure_6(specs):
    spec = specs["vuk-curk-6"]
    (curve,) = lines(spec, spec["datasets"])
    assert np.trapezoid(curve["y"], curve["x"]) == pytest.approx(2)
    # The other data are the lines of chance and of perfect scores.
    tables = [data for data in spec["datasets"].values() if isinstance(data, list)]
    (steps,) = (data for data in tables if "_line" not in data[0])
    x, y = ([row[name] for row in steps] for name in ("alert_rate", "tp"))
    assert sum(np.diff(x) * y[:-1]) == pytest.approx(5 / 3)


def test_accuracies_of_the_naive_bayes_classifier_are_those_of_vuk_and_curks_figure_9(specs):
    spec = specs["vuk-curk-9"]
    (curve,) = lines(spec, spec["datasets"])
    assert (curve["_positives"], curve["_negatives"]) == (626, 332)
    assert np.trapezoid(curve["y"], curve["x"]) == pytest.approx(0.741, abs=0.006)
    (default,), (best,) = (rows_with(spec, column) for column in ("at", "expected_cost"))
    vertices = rows_with(spec, "slope_low")
    hull = {name: [one[name] for one in vertices] for name in "xy"}
    # The paper prints accuracies of ten-fold cross-validation with other random folds.
    for point, printed in ((default, 0.695), (best, 0.752)):
        accuracy = (point["tp"] + curve["_negatives"] - point["fp"]) / 958
        assert accuracy == pytest.approx(printed, abs=0.005)
    assert best["threshold"] == pytest.approx(0.403, abs=0.03)
    assert default["y"] < np.interp(default["x"], hull["x"], hull["y"]) - 0.02


def test_the_first_table_of_vuk_and_curk_has_11_positives_and_9_negatives(specs):
    spec = specs["vuk-curk-4"]
    (curve,) = lines(spec, spec["datasets"])
    assert (curve["_positives"], curve["_negatives"]) == (11, 9)


@pytest.mark.usefixtures("charts")
def test_each_type_of_table_that_has_a_chart_is_drawn(drawn_tables):
    assert {table.name for table in TABLES if table.drawing is not None} <= drawn_tables


def test_every_picture_is_that_of_the_code_above_it(gallery, charts):
    digests = {image: gallery.digest(chart) for image, chart in charts.items()}
    written = json.loads(gallery.DIGESTS.read_text(encoding="utf-8"))
    assert digests == written, "run python docs/make_images.py, and look at what it draws"


@pytest.mark.parametrize("image", ["models", "comparison-metrics", "panels", "fawcett-8"])
def test_the_panels_of_the_thumbnails_are_those_of_the_pictures(gallery, charts, image):
    written = json.loads(gallery.PANELS.read_text(encoding="utf-8"))
    assert {*written} == {name for name in charts if name.startswith("gallery/")}
    image = f"gallery/{image}.png"
    # The sizes of texts at the sides differ between installed fonts.
    assert gallery.panel(charts[image]) == pytest.approx(written[image], abs=0.05)
    pixels = np.asarray(Image.open(gallery.IMAGES / image).convert("L"), int)
    height, width = pixels.shape
    left, top, wide, _ = np.array(written[image]) * [width, height, width, height]
    # The frame of a panel is a gray line around its white area.
    frame = pixels[round(top) - 1 : round(top) + 2, round(left + wide / 2)]
    assert frame.min() < 240


def test_the_pictures_in_the_tree_are_those_of_the_pages(gallery):
    drawn = {*json.loads(gallery.DIGESTS.read_text(encoding="utf-8")), "scale.png"}
    files = {path.relative_to(gallery.IMAGES).as_posix() for path in gallery.IMAGES.rglob("*.png")}
    assert files == {*gallery.SCREENSHOTS} | drawn
    pages = "".join(page.read_text(encoding="utf-8") for page in gallery.pages())
    assert all(f"images/{image})" in pages for image in {*drawn, *gallery.SCREENSHOTS})


@pytest.mark.parametrize(("figure", "n_models"), [(8, 1), (10, 2)])
def test_bars_of_calibration_plots_count_all_votes_in_vuk_and_curks_figures(
    specs, figure, n_models
):
    (data,) = (
        data for data in specs[f"vuk-curk-{figure}"]["datasets"].values() if isinstance(data, str)
    )
    bars = [record for record in json.loads(data) if "_class" in record]
    totals = {
        side: sum(bar["n"] for bar in bars if bar["_class"] == side)
        for side in ("positives", "negatives")
    }
    assert totals == {"positives": 393 * n_models, "negatives": 551 * n_models}
