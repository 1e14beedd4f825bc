"""Store local regressions of statsmodels and scikit-misc in ``loess.json``, and relplot's error.

Run from anywhere, with statsmodels, scikit-misc and relplot installed:

    python tests/reference/make_loess.py

``lowess`` is statsmodels' local line, with the settings of R's ``val.prob`` (span 2/3, no
robustness iterations). ``loess`` is scikit-misc's local parabola with the defaults of R's
``loess``. ``smooth_error`` is the bandwidth that is equal to relplot's error at this bandwidth.
"""

import json
from pathlib import Path

import numpy as np
from scipy.optimize import brentq


def main() -> None:
    # Only this script needs these packages.
    import relplot
    import statsmodels.api as sm
    from skmisc.loess import loess

    rng = np.random.default_rng(36)
    score = np.sort(rng.permutation(999)[:36] + 1) / 1000
    label = (rng.random(36) < score**1.5).astype(int)

    lowess = sm.nonparametric.lowess(label, score, frac=2 / 3, it=0, delta=0)
    quadratic = loess(score, label, span=0.75, degree=2, surface="direct")
    quadratic.fit()
    smooth_error = brentq(lambda sigma: relplot.smECE_sigma(score, label, sigma) - sigma, 0.01, 1)
    Path(__file__).with_name("loess.json").write_text(
        json.dumps(
            {
                "score": score.tolist(),
                "label": label.tolist(),
                "lowess": lowess[:, 1].round(8).tolist(),
                "loess": quadratic.predict(score).values.round(8).tolist(),
                "smooth_error": round(smooth_error, 5),
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
