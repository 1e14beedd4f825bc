"""Store local regressions of statsmodels and scikit-misc in ``loess.json``, and relplot's error.

Run from anywhere, with statsmodels, scikit-misc and relplot installed:

    python tests/reference/make_loess.py

``lowess`` is statsmodels' local line, with the settings of R's ``val.prob`` (span 2/3, no
robustness iterations). ``loess`` is scikit-misc's local parabola with the defaults of R's
``loess``. ``lowess_of_35`` and ``loess_of_35`` are those of the first 35 rows, of which the spans
are no whole numbers of rows. ``smooth_error`` is the bandwidth that is equal to relplot's error at
this bandwidth.
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

    def lines(n: int) -> list[float]:
        fit = sm.nonparametric.lowess(label[:n], score[:n], frac=2 / 3, it=0, delta=0)
        return fit[:, 1].round(8).tolist()

    def parabolas(n: int) -> list[float]:
        fit = loess(score[:n], label[:n], span=0.75, degree=2, surface="direct")
        fit.fit()
        return fit.predict(score[:n]).values.round(8).tolist()

    smooth_error = brentq(lambda sigma: relplot.smECE_sigma(score, label, sigma) - sigma, 0.01, 1)
    Path(__file__).with_name("loess.json").write_text(
        json.dumps(
            {
                "score": score.tolist(),
                "label": label.tolist(),
                "lowess": lines(36),
                "loess": parabolas(36),
                "lowess_of_35": lines(35),
                "loess_of_35": parabolas(35),
                "smooth_error": round(smooth_error, 5),
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
