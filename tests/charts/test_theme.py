from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from itertools import combinations
from pathlib import Path

import altair as alt
import numpy as np
import pytest

from rocframe.charts.style import DARK, LIGHT, color_scale, dark, light

TREE = Path(__file__).parents[2]
every_palette = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])

# Matrices of Machado, Oliveira and Fernandes (2009), severity 1.0, for linear RGB.
VISION = {
    "all cones": np.eye(3),
    "no long cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no medium cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no short cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_LMS = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def linear(color):
    """Return the linear light of `#rrggbb`."""
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def seen(color, vision):
    """Return a color in Oklab, as seen with a type of color vision."""
    light = np.clip(np.array(VISION[vision]) @ linear(color), 0, 1)
    return np.array(TO_LAB) @ np.cbrt(np.array(TO_LMS) @ light)


@every_palette
def test_every_color_has_contrast_with_the_background(palette):
    assert min(contrast(color, palette.background) for color in palette.colors) >= 3
    assert contrast(palette.foreground, palette.background) > 7
    assert contrast(palette.muted, palette.background) > 4.5


@pytest.mark.parametrize("n_classes", [9, 10, 50])
def test_each_of_many_ordered_classes_has_contrast_with_the_background(n_classes):
    colors = color_scale([f"{i:02}" for i in range(n_classes)], ordered=True).range
    assert min(contrast(color, LIGHT.background) for color in colors) >= 3
    assert len(set(colors)) == n_classes


@every_palette
@pytest.mark.parametrize("vision", VISION)
def test_eight_colors_differ_for_every_type_of_color_vision(palette, vision):
    positions = [seen(color, vision) for color in palette.colors[:8]]
    # For comparison: the minimum for the eight colors of Okabe and Ito is 0.064 (no long cones).
    assert min(np.linalg.norm(a - b) for a, b in combinations(positions, 2)) > 0.1
    assert len(set(palette.colors)) == 12


@pytest.mark.parametrize("theme", [light, dark])
def test_a_theme_is_a_valid_config_of_altair(theme):
    chart = alt.Chart(alt.InlineData(values=[{"a": 1}])).mark_point().encode(x="a:Q")
    alt.theme.register("tried", enable=False)(theme)
    with alt.theme.enable("tried"):
        spec = chart.to_dict()
    alt.theme.unregister("tried")
    assert spec["config"] == theme()["config"]
    assert alt.Chart.from_dict(spec).to_dict(validate=True)["config"]["range"] == {
        "category": list(theme()["config"]["range"]["category"])
    }


@pytest.mark.slow
def test_altair_knows_the_themes_of_an_installed_package(tmp_path):
    project = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((group, points),) = project["entry-points"].items()
    installed = tmp_path / "themes-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: themes\nVersion: 1\n")
    # The names differ from those of the installed package, because equal names are an error.
    papers = {"rocframe": LIGHT.background, "rocframe_dark": DARK.background}
    lines = [f"tried_{name} = {target}" for name, target in points.items()]
    (installed / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
    code = (
        "import altair as alt, rocframe.charts.style as ours\n"
        f"for name in {[f'tried_{name}' for name in papers]}:\n"
        "    assert name in alt.theme.names() and alt.theme.active == 'default'\n"
        "    with alt.theme.enable(name):\n"
        "        print(alt.theme.get()()['config']['background'])\n"
        "    print(alt.theme.active)\n"
    )
    path = os.pathsep.join([str(tmp_path), str(TREE)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [
        papers["rocframe"],
        "default",
        papers["rocframe_dark"],
        "default",
    ]
