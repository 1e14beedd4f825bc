"""Write the pictures of the README and of the documentation: `python docs/make_images.py`."""

from __future__ import annotations

import json
from pathlib import Path

from pictures import DIGESTS, digest, pictures

import rocframe as rf

HERE = Path(__file__).parent


def main() -> None:
    """Write all pictures."""
    votes = rf.datasets.vote()
    for kind in ("roc", "precision_recall", "det", "lift"):
        chart = rf.curve(votes, "label", "score", by="model", kind=kind).roc.chart()
        chart.save(HERE / "images" / f"{kind}.png", ppi=100)
    areas = rf.auc(votes, "label", "score", by="model")
    areas.roc.chart().save(HERE / "images" / "auc.png", ppi=100)
    charts = pictures()
    DIGESTS.parent.mkdir(exist_ok=True)
    for image, chart in charts.items():
        chart.save(HERE / image, ppi=80)
    digests = {Path(image).name: digest(chart) for image, chart in charts.items()}
    DIGESTS.write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
