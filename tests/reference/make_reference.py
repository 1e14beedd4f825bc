"""Store the results of scikit-learn for the binary log in ``vote_sklearn.json``.

Run after ``data/make_logs.py``, from anywhere, with scikit-learn installed:

    python tests/reference/make_reference.py

``pooled`` has one entry per model over all its rows, ``folds`` one per model and fold. Numbers are
written in full, so that the same doubles are read. A curve is ``roc_curve`` with
``drop_intermediate=False``: one point per distinct score and one above all scores.
All points are stored of curves with at most ``FULL`` points, and of longer curves those at the
positions in ``index``. The threshold above all scores is the string ``"inf"``, because JSON has no
infinity.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import polars as pl

HERE = Path(__file__).resolve().parent
LOG = HERE.parents[1] / "data" / "vote.parquet"

FULL = 60
EVERY = 100


def areas(rows: pl.DataFrame) -> dict[str, Any]:
    """Count the classes and compute both areas of one group."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    label, score = rows["label"].to_numpy(), rows["score"].to_numpy()
    return {
        "n_pos": int(label.sum()),
        "n_neg": int((~label).sum()),
        "roc_auc": float(roc_auc_score(label, score)),
        "average_precision": float(average_precision_score(label, score)),
    }


def curve(rows: pl.DataFrame) -> dict[str, Any]:
    """Trace the ROC curve of one group and turn its rates back into counts."""
    from sklearn.metrics import roc_curve

    label, score = rows["label"].to_numpy(), rows["score"].to_numpy()
    fpr, tpr, thresholds = roc_curve(label, score, drop_intermediate=False)
    last = len(thresholds) - 1
    index = list(range(last + 1)) if last < FULL else [*range(0, last, EVERY), last]
    return {
        "n_points": last + 1,
        "index": index,
        "threshold": ["inf" if i == 0 else float(thresholds[i]) for i in index],
        "fp": [round(float(fpr[i]) * int((~label).sum())) for i in index],
        "tp": [round(float(tpr[i]) * int(label.sum())) for i in index],
        "fpr": [float(fpr[i]) for i in index],
        "tpr": [float(tpr[i]) for i in index],
    }


def main() -> None:
    """Write the frozen numbers."""
    import numpy as np
    import sklearn

    log = pl.read_parquet(LOG)
    reference: dict[str, Any] = {
        "about": "scikit-learn's numbers on data/vote.parquet; made by make_reference.py",
        "versions": {
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "polars": pl.__version__,
            "python": platform.python_version(),
        },
        "pooled": {
            model: {**areas(rows), "roc_curve": curve(rows)}
            for (model,), rows in log.group_by("model", maintain_order=True)
        },
        "folds": [
            {"model": model, "fold": fold, **areas(rows)}
            for (model, fold), rows in log.sort("fold", maintain_order=True).group_by(
                "model", "fold", maintain_order=True
            )
        ],
    }
    text = json.dumps(reference, indent=1, allow_nan=False)
    (HERE / "vote_sklearn.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
