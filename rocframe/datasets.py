"""Three small, real prediction logs for examples and tests."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NoReturn, get_args

import polars as pl

from rocframe.options import check_choice

__all__ = ["digits", "path", "rain", "vote"]
LogName = Literal["vote", "digits", "rain"]


def vote() -> pl.DataFrame:
    """Load the predictions of six models for a binary label: expected votes for Dole in 1996.

    A row is the prediction of one model, trained on the nine folds without the respondent.
    `logistic_regression` is calibrated and `naive_bayes` is overconfident. `decision_tree`,
    `nearest_neighbours` and `random_forest` have few distinct scores and therefore many ties. The
    scores of `linear_svm` are signed distances, not probabilities.

    Returns
    -------
    DataFrame
        One row per respondent and model (944 respondents, 6 models): `id` (Int32), `model`
        (String), `fold` (Int8, 1 to 10), `age` (String, "18-34", "35-54" or "55+"), `label`
        (Boolean, true for Dole) and `score` (Float64, higher means more likely Dole).

    References
    ----------
    American National Election Study 1996 (Rosenstone et al.), ICPSR 6896; the public-domain extract
    in statsmodels, `anes96`.

    Examples
    --------
    >>> import rocframe as rf
    >>> rf.datasets.vote().shape
    (5664, 6)
    """
    return pl.read_parquet(path("vote"), glob=False)


def digits() -> pl.DataFrame:
    """Load the predictions of three models for ten classes: handwritten digits.

    A row is the prediction of one model, trained on the four folds without the image.
    `logistic_regression` is underconfident, `naive_bayes` is overconfident, and `decision_tree` has
    few distinct scores and therefore many ties.

    Returns
    -------
    DataFrame
        One row per image and model (1797 images, 3 models): `id` (Int32), `model` (String), `fold`
        (Int8, 1 to 5), `label` (Int8, the digit) and `p0` to `p9` (Float32), the probability of
        each digit, which add up to 1 except for rounding to Float32.

    References
    ----------
    Alpaydin, Kaynak (1998), UCI Machine Learning Repository. doi:10.24432/C50P49. License: CC BY
    4.0. The images are those of the test set, which scikit-learn contains.

    Examples
    --------
    >>> import rocframe as rf
    >>> rf.datasets.digits().shape
    (5391, 14)
    """
    return pl.read_parquet(path("digits"), glob=False)


def rain() -> pl.DataFrame:
    """Load the predictions of three models for a binary label on each day: rain in Seattle.

    A row is the prediction of one model for one day, from the weather of the days before it. Each
    model was trained again at the start of each month, on all earlier days. `naive_bayes` and
    `boosted_trees` are overconfident.

    Returns
    -------
    DataFrame
        One row per day and model (1095 days of 2013 to 2015, 3 models): `day` (Date), `model`
        (String), `label` (Boolean, true if it rained), `score` (Float64, the predicted
        probability), `calibrated` (Float64, recalibrated on earlier months) and `cost` (Float64),
        the assumed cost of the wrong decision: the precipitation in mm on a day with rain, as the
        damage without protection, and 2 on a dry day, the cost of an unnecessary protection.

    References
    ----------
    National Oceanic and Atmospheric Administration (NOAA), daily weather of Seattle, public domain;
    the extract in vega_datasets, `seattle-weather`.

    Examples
    --------
    >>> import rocframe as rf
    >>> rf.datasets.rain().shape
    (3285, 6)
    """
    return pl.read_parquet(path("rain"), glob=False)


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"rocframe.datasets.{name}: unknown data set.\n"
        f"Data sets: {', '.join(f'{log}()' for log in get_args(LogName))}.",
        name=name,
    )


def path(name: LogName) -> Path:
    """Return the path of the Parquet file of a log.

    Parameters
    ----------
    name : {"vote", "digits", "rain"}
        Name of the log.

    Returns
    -------
    pathlib.Path
        Path of the file, for `pl.scan_parquet`.

    Raises
    ------
    UnknownOptionError
        If there is no log with this name.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> log = pl.scan_parquet(rf.datasets.path("vote"))
    >>> log.select(pl.col("model").n_unique()).collect().item()
    6
    """
    check_choice("name", name, get_args(LogName))
    package = Path(__file__).resolve().parent
    installed = package / "data" / f"{name}.parquet"
    # In a wheel, the logs are inside the package; in the source tree, they are next to it.
    return installed if installed.exists() else package.parent / "data" / installed.name
