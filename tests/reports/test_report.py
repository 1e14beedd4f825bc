"""The function `report`: which columns it reads, and its errors."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf

pytest.importorskip("vl_convert")

LOG = pl.DataFrame(
    {
        "id": [0, 1, 2, 3] * 2,
        "model": ["a"] * 4 + ["b"] * 4,
        "label": [1, 0, 1, 0] * 2,
        "score": [0.9, 0.4, 0.3, 0.2, 0.8, 0.6, 0.7, 0.1],
    }
)


def test_scores_of_different_resolutions_raise_the_error_of_auc(tmp_path):
    rows = pl.concat(
        rf.compress(LOG.filter(model=model), "label", "score", resolution=resolution)
        for model, resolution in (("a", 0.25), ("b", 0.125))
    )
    with pytest.raises(rf.ScoreError) as expected:
        rf.auc(rows, "label", "score", count="count")
    with pytest.raises(rf.ScoreError) as caught:
        rf.report(rows, "label", "score", path=tmp_path / "page.html", count="count")
    assert str(caught.value) == str(expected.value)
