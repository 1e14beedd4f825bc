"""Tests of the pictures in the docs: they exist, and are those of the code on their pages."""

from __future__ import annotations

import importlib.util
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rocframe.schemas.recognition import TABLES, table_of
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


def lines(part, datasets):
    """Return the records of the lines of a part."""
    data = datasets.get(part.get("data", {}).get("name"))
    records = json.loads(data) if isinstance(data, str) else []
    return [record for record in records if record.get("x") and "part" not in record]


def overlays(spec, part):
    """Return the records of one part of a chart, such as the line of equal cost."""
    records = [
        record
        for data in spec["datasets"].values()
        if isinstance(data, str)
        for record in json.loads(data)
    ]
    return [record for record in records if record.get("part") == part]


def layers_of(part):
    """Return the layers of a part. Those of a chart with panels are in its inner specification."""
    return part.get("layer", part.get("spec", {}).get("layer", []))


def captions(part):
    """Return the field that the legend or the headers of a part show, and its captions."""
    layers = [layer.get("encoding", {}) for layer in layers_of(part)]
    channels = [channels["color"] for channels in layers if "color" in channels]
    for channel in [part.get("facet", {}), *channels]:
        text = (channel.get("header") or channel.get("legend") or {}).get("labelExpr", "")
        if text.startswith("{"):
            return channel["field"], json.JSONDecoder().raw_decode(text)[0]
    return None, {}


def test_every_area_in_a_legend_is_the_area_under_its_lines(specs):
    checked = set()
    for name, spec in specs.items():
        for part in parts(spec):
            field, texts = captions(part)
            records = lines(part, spec["datasets"])
            layers = [layer.get("encoding", {}) for layer in layers_of(part)]
            titles = [channels.get("x", {}).get("title") for channels in layers]
            if "False positive rate" not in titles:
                continue
            for value, text in texts.items():
                curves = [record for record in records if record[field] == value]
                areas = [np.trapezoid(record["y"], record["x"]) for record in curves]
                area = float(text.split("AUC ")[1].rstrip(")"))
                # Lines differ from the curve by less than 1/500 of an axis.
                # A picture with the name "zoom" shows a part of the axes.
                if not any(word in name for word in ("log", "det", "zoom")):
                    assert np.mean(areas) == pytest.approx(area, abs=0.003), (name, value)
                    checked.add(name)
    assert {"models", "folds", "fawcett-5", "fawcett-7"} <= checked


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
        {record["f0"]: record for part in parts(panel) for record in lines(part, spec["datasets"])}
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
    (curve,) = (record for part in parts(spec) for record in lines(part, spec["datasets"]))
    (before,) = (d for d in spec["datasets"].values() if isinstance(d, list) and len(d) == 5)
    for axis, name in (("x", "fpr"), ("y", "tpr")):
        a, b, c = (row[name] for row in before[1:4])
        assert curve[axis][1:4] == pytest.approx([a, a + c - b, c])


def test_the_expected_point_of_and_is_that_of_fawcetts_figure_12_and_both_are_above_the_hull(specs):
    spec = specs["fawcett-12"]
    records = [
        r for data in spec["datasets"].values() if isinstance(data, str) for r in json.loads(data)
    ]
    (x_and, y_and), (x_or, y_or) = (
        (r["x"], r["y"]) for r in records if r.get("mark") == "expected if independent"
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
    (curve,) = (record for part in parts(spec) for record in lines(part, spec["datasets"]))
    (line,), (best,) = (overlays(spec, part) for part in ("equal cost", "lowest cost"))
    pos, neg = curve["pos"], curve["neg"]
    (x0, x1), (y0, y1) = line["x"], line["y"]
    assert (y1 - y0) / (x1 - x0) == pytest.approx(slope, rel=1e-6)
    above = np.array(curve["y"]) - (y0 + slope * np.array(curve["x"]))
    assert above.max() == pytest.approx(0, abs=1e-6)
    assert curve["threshold"][above.argmax()] == best["threshold"][0]
    share = 5 / 11 if figure == 4 else pos / (pos + neg)
    tpr, fpr = np.array(curve["tp"]) / pos, np.array(curve["fp"]) / neg
    accuracy = share * tpr + (1 - share) * (1 - fpr)
    assert accuracy[above.argmax()] == pytest.approx(accuracy.max())
    assert best["cost"] == pytest.approx(1 - accuracy.max(), rel=1e-6)


def test_the_areas_of_the_lift_chart_are_those_of_vuk_and_curks_figure_6(specs):
    spec = specs["vuk-curk-6"]
    (curve,) = (record for part in parts(spec) for record in lines(part, spec["datasets"]))
    assert np.trapezoid(curve["y"], curve["x"]) == pytest.approx(2)
    (steps,) = (data for data in spec["datasets"].values() if isinstance(data, list))
    x, y = ([row[name] for row in steps] for name in ("alert_rate", "tp"))
    assert sum(np.diff(x) * y[:-1]) == pytest.approx(5 / 3)


def test_accuracies_of_the_naive_bayes_classifier_are_those_of_vuk_and_curks_figure_9(specs):
    spec = specs["vuk-curk-9"]
    (curve,) = (record for part in parts(spec) for record in lines(part, spec["datasets"]))
    assert (curve["pos"], curve["neg"]) == (626, 332)
    assert np.trapezoid(curve["y"], curve["x"]) == pytest.approx(0.741, abs=0.006)
    (default,), (best,), (hull,) = (
        overlays(spec, part) for part in ("mark", "lowest cost", "hull")
    )
    # The paper prints accuracies of ten-fold cross-validation with other random folds.
    for point, printed in ((default, 0.695), (best, 0.752)):
        accuracy = (point["tp"][0] + curve["neg"] - point["fp"][0]) / 958
        assert accuracy == pytest.approx(printed, abs=0.005)
    assert best["threshold"][0] == pytest.approx(0.403, abs=0.03)
    assert default["y"][0] < np.interp(default["x"][0], hull["x"], hull["y"]) - 0.02


@pytest.mark.parametrize("figure", [1, 2, 4])
def test_the_first_table_of_vuk_and_curk_has_11_positives_and_9_negatives(specs, figure):
    spec = specs[f"vuk-curk-{figure}"]
    (curve,) = (record for part in parts(spec) for record in lines(part, spec["datasets"]))
    assert (curve["pos"], curve["neg"]) == (11, 9)


@pytest.mark.usefixtures("charts")
def test_each_type_of_table_that_has_a_chart_is_drawn(drawn_tables):
    assert {table.name for table in TABLES if table.drawing is not None} <= drawn_tables


def test_every_picture_is_that_of_the_code_above_it(gallery, charts):
    digests = {image: gallery.digest(chart) for image, chart in charts.items()}
    written = json.loads(gallery.DIGESTS.read_text(encoding="utf-8"))
    assert digests == written, "run python docs/make_images.py, and look at what it draws"


def test_the_pictures_in_the_tree_are_those_of_the_pages(gallery):
    drawn = {*json.loads(gallery.DIGESTS.read_text(encoding="utf-8")), "scale.png"}
    screenshots = {*gallery.SCREENSHOTS, "gallery/report-dark.png"}
    files = {path.relative_to(gallery.IMAGES).as_posix() for path in gallery.IMAGES.rglob("*.png")}
    assert files == screenshots | drawn | {image.replace(".png", "-dark.png") for image in drawn}
    pages = "".join(page.read_text(encoding="utf-8") for page in gallery.pages())
    assert all(f"images/{image})" in pages for image in {*drawn, *gallery.SCREENSHOTS})


@pytest.mark.parametrize(("figure", "n_models"), [(8, 1), (10, 2)])
def test_bars_of_calibration_plots_count_all_votes_in_vuk_and_curks_figures(
    specs, figure, n_models
):
    (data,) = (
        data for data in specs[f"vuk-curk-{figure}"]["datasets"].values() if isinstance(data, str)
    )
    bars = [record for record in json.loads(data) if "side" in record]
    totals = {
        side: sum(bar["n"] for bar in bars if bar["side"] == side)
        for side in ("positives", "negatives")
    }
    assert totals == {"positives": 393 * n_models, "negatives": 551 * n_models}
