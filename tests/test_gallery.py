"""The pictures of the gallery exist and are drawn by the code shown."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_that_of_the_lines_above_it(gallery):
    digests = {Path(image).name: gallery.digest(it) for image, it in gallery.pictures().items()}
    written = json.loads(gallery.DIGESTS.read_text(encoding="utf-8"))
    assert digests == written, "run python docs/make_images.py, and look at what it draws"


def test_every_picture_is_in_the_tree_and_no_other(gallery):
    there = {path.name for path in gallery.DIGESTS.parent.glob("*.png")}
    assert there == set(json.loads(gallery.DIGESTS.read_text(encoding="utf-8")))
