"""Draw the pictures of the README and the site: `python docs/make_images.py`."""

from __future__ import annotations

from pathlib import Path

import rocframe as rf

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Write every picture."""
    votes = rf.datasets.vote()
    for kind in ("roc", "precision_recall", "det", "lift"):
        chart = rf.curve(votes, "label", "score", by="model", kind=kind).roc.chart()
        chart.save(IMAGES / f"{kind}.png", ppi=100)
    areas = rf.auc(votes, "label", "score", by="model")
    areas.roc.chart().save(IMAGES / "auc.png", ppi=100)


if __name__ == "__main__":
    main()
