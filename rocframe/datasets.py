"""Bundled prediction logs: real data, real models, small; for examples and tests.

How they were made, and every model's AUC: ``data/README.md`` in the repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import polars as pl

from rocframe.errors import UnknownOptionError

__all__ = ["digits", "path", "vote"]

Name = Literal["vote", "digits"]


def vote() -> pl.DataFrame:
    """Load who expected to vote for Dole in 1996, as six models predict it.

    A row is one respondent seen by one model that was trained on the nine other folds. The six
    models differ on purpose: `logistic_regression` is calibrated, `naive_bayes` is too sure of
    itself, `decision_tree`, `nearest_neighbours` and `random_forest` have few distinct scores and
    so many ties, and the scores of `linear_svm` are distances, negative and positive.

    Returns
    -------
    DataFrame
        944 respondents times 6 models: `id` (Int32) of the respondent; `model` (String); `fold`
        (Int8, 1 to 10), the same for all models; `age` (String) of the respondent, "18-34",
        "35-54" or "55+"; `label` (Boolean), true for Dole; `score` (Float64), higher means more
        likely Dole: a probability, but for `linear_svm`.

    References
    ----------
    S. J. Rosenstone, D. R. Kinder, W. E. Miller and the National Election Studies, "American
    National Election Study, 1996: Pre- and Post-Election Survey", ICPSR 6896; the public-domain
    extract that statsmodels ships as `anes96`.

    Examples
    --------
    >>> import rocframe as rf
    >>> rf.datasets.vote().shape
    (5664, 6)
    """
    return pl.read_parquet(path("vote"), glob=False)


def digits() -> pl.DataFrame:
    """Load which of ten digits was written, as three models predict it.

    A row is one image seen by one model that was trained on the four other folds, with one
    probability per class. `logistic_regression` is hesitant, `naive_bayes` is too sure of itself,
    `decision_tree` has few distinct scores and so many ties.

    Returns
    -------
    DataFrame
        1797 images times 3 models: `id` (Int32) of the image; `model` (String); `fold` (Int8,
        1 to 5), the same for all models; `label` (Int8), the digit that was written; `p0` to `p9`
        (Float32), the probability of each digit, which add up to 1 within rounding.

    References
    ----------
    E. Alpaydin and C. Kaynak (1998), "Optical Recognition of Handwritten Digits", UCI Machine
    Learning Repository. doi:10.24432/C50P49. CC BY 4.0; the test part, which scikit-learn ships.

    Examples
    --------
    >>> import rocframe as rf
    >>> rf.datasets.digits().shape
    (5391, 14)
    """
    return pl.read_parquet(path("digits"), glob=False)


def path(name: Name) -> Path:
    """Say where the Parquet file of a log is, to scan it.

    Parameters
    ----------
    name
        "vote" or "digits".

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    UnknownOptionError
        If there is no log of that name.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> log = pl.scan_parquet(rf.datasets.path("vote"))
    >>> log.select(pl.col("model").n_unique()).collect().item()
    6
    """
    if name not in get_args(Name):
        raise UnknownOptionError.of("name", name, get_args(Name))
    package = Path(__file__).resolve().parent
    installed = package / "data" / f"{name}.parquet"
    # A checkout keeps the logs beside the package; wheels carry them inside.
    return installed if installed.exists() else package.parent / "data" / installed.name
