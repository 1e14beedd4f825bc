"""Create the prediction logs in this folder from data sets that Python packages contain.

The script needs scikit-learn, statsmodels and vega_datasets, but no network. Run it from any
folder:

    python data/make_logs.py

It writes ``vote.parquet``, ``digits.parquet`` and ``rain.parquet`` to this folder and prints the
AUC of every model, as computed by scikit-learn from the written file. Seeds are fixed. No model was
trained on the rows that it scores: scores are out-of-fold predictions or, for ``rain``, predictions
of a model that was trained on earlier days. The same versions on the same machine give
byte-identical files. Other versions or another linear-algebra library can change the last digits of
scores. In this case, also compute the reference numbers in ``tests/`` again.

Sources
-------
vote
    ``statsmodels.datasets.anes96``: 944 respondents of the American National Election Study 1996
    who expected to vote for Clinton or for Dole. Its notes state "This is public domain".
digits
    ``sklearn.datasets.load_digits``: 1797 images of handwritten digits, the test part of
    E. Alpaydin and C. Kaynak (1998), "Optical Recognition of Handwritten Digits", UCI Machine
    Learning Repository, doi:10.24432/C50P49, license CC BY 4.0.
rain
    ``vega_datasets.local_data.seattle_weather``: daily weather of Seattle from 2012 to 2015, from
    the public-domain data of the National Oceanic and Atmospheric Administration.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from statsmodels.datasets import anes96
from vega_datasets import local_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parent

# Party identification and the left-right self-rating are not features, because they almost
# determine the vote.
VOTE_FEATURES = ["ClinLR", "DoleLR", "TVnews", "age", "educ", "income", "logpopul"]

VOTE_MODELS = {
    "logistic_regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "naive_bayes": GaussianNB(),
    "decision_tree": DecisionTreeClassifier(max_leaf_nodes=6, min_samples_leaf=20, random_state=0),
    "nearest_neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=15)),
    "random_forest": RandomForestClassifier(n_estimators=10, random_state=0),
    "linear_svm": make_pipeline(StandardScaler(), LinearSVC(dual=False, random_state=0)),
}

# Strong regularization and few leaves make the models worse: better models make too few errors for
# an example.
DIGITS_MODELS = {
    "logistic_regression": make_pipeline(MinMaxScaler(), LogisticRegression(C=0.01, max_iter=1000)),
    "naive_bayes": GaussianNB(),
    "decision_tree": DecisionTreeClassifier(max_leaf_nodes=20, random_state=0),
}

# Boosting with many deep trees gives scores near 0 and 1 that are wrong too often.
RAIN_MODELS = {
    "logistic_regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "naive_bayes": GaussianNB(),
    "boosted_trees": GradientBoostingClassifier(n_estimators=150, max_depth=4, random_state=0),
}
FIRST_PREDICTION, FIRST_ROW = date(2012, 7, 1), date(2013, 1, 1)
DRY_DAY_COST = 2.0


def out_of_fold(
    models: dict[str, Any], features: NDArray[Any], label: NDArray[Any], folds: StratifiedKFold
) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Yield the name of each model, the fold of each row (from 1) and the scores, in row order."""
    for name, model in models.items():
        fold = np.zeros(len(label), dtype=np.int8)
        parts: dict[int, NDArray[Any]] = {}
        for number, (train, test) in enumerate(folds.split(features, label), start=1):
            model.fit(features[train], label[train])
            has_probabilities = hasattr(model, "predict_proba")
            score = model.predict_proba if has_probabilities else model.decision_function
            parts[number] = score(features[test])
            fold[test] = number
        scores = np.empty((len(label), *parts[1].shape[1:]))
        for number, part in parts.items():
            scores[fold == number] = part
        yield name, fold, scores


def vote() -> pl.DataFrame:
    """Return the predictions of the vote for Dole: six models, ten folds."""
    survey = anes96.load_pandas().data
    features = survey[VOTE_FEATURES].to_numpy(dtype=np.float64)
    label = survey["vote"].to_numpy() == 1
    years = survey["age"].to_numpy()
    age = np.where(years < 35, "18-34", np.where(years < 55, "35-54", "55+"))
    folds = StratifiedKFold(n_splits=10, shuffle=True, random_state=1996)
    return pl.concat(
        pl.DataFrame(
            {
                "id": pl.int_range(len(label), dtype=pl.Int32, eager=True),
                "model": pl.repeat(name, len(label), eager=True),
                "fold": fold,
                "age": age,
                "label": label,
                "score": scores[:, 1] if scores.ndim == 2 else scores,
            }
        )
        for name, fold, scores in out_of_fold(VOTE_MODELS, features, label, folds)
    )


def digits() -> pl.DataFrame:
    """Return predictions of the digits: three models, five folds, one score column per class."""
    features, label = load_digits(return_X_y=True)
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=1998)
    return pl.concat(
        pl.DataFrame(
            {
                "id": pl.int_range(len(label), dtype=pl.Int32, eager=True),
                "model": pl.repeat(name, len(label), eager=True),
                "fold": fold,
                "label": label.astype(np.int8),
                **{f"p{digit}": scores[:, digit].astype(np.float32) for digit in range(10)},
            }
        )
        for name, fold, scores in out_of_fold(DIGITS_MODELS, features, label, folds)
    )


def rain() -> pl.DataFrame:
    """Return the predictions of rain on the next day: three models, trained again each month."""
    weather = pl.from_pandas(local_data.seattle_weather()).with_columns(
        pl.col("date").cast(pl.Date)
    )
    season = pl.col("date").dt.ordinal_day() * (2 * np.pi / 365.25)
    # Row i has the weather of day i - 1 and earlier days, and the rain of day i.
    features = weather.select(
        pl.col("precipitation").log1p().shift(),
        pl.col("precipitation").log1p().rolling_mean(3).shift().alias("rain_of_3_days"),
        pl.col("precipitation").log1p().rolling_mean(10).shift().alias("rain_of_10_days"),
        pl.col("temp_max", "temp_min", "wind").shift(),
        (pl.col("temp_max") - pl.col("temp_min")).shift().alias("range"),
        season.sin().alias("sine"),
        season.cos().alias("cosine"),
    ).to_numpy()
    known = ~np.isnan(features).any(axis=1)
    days, amount = weather["date"].to_numpy(), weather["precipitation"].to_numpy()
    label = amount > 0
    months = weather["date"].dt.truncate("1mo").to_numpy()
    predicted = np.unique(months[months >= np.datetime64(FIRST_PREDICTION)])
    parts = []
    for name, model in RAIN_MODELS.items():
        score, calibrated = np.full((2, len(label)), np.nan)
        for month in predicted:
            now, past = months == month, known & (months < month)
            model.fit(features[past], label[past])
            score[now] = model.predict_proba(features[now])[:, 1]
            if month >= np.datetime64(FIRST_ROW):
                calibrated[now] = _recalibrated(score, label, past & ~np.isnan(score), now)
        rows = days >= np.datetime64(FIRST_ROW)
        parts.append(
            pl.DataFrame(
                {
                    "day": days[rows],
                    "model": [name] * int(rows.sum()),
                    "label": label[rows],
                    "score": score[rows],
                    "calibrated": calibrated[rows],
                    "cost": np.where(label, amount, DRY_DAY_COST)[rows],
                }
            ).with_columns(pl.col("day").cast(pl.Date))
        )
    return pl.concat(parts)


def _recalibrated(
    score: NDArray[Any], label: NDArray[Any], past: NDArray[Any], now: NDArray[Any]
) -> NDArray[Any]:
    """Return scores that a logistic regression on the logits of past scores has recalibrated."""
    clipped = np.clip(score, 1e-6, 1 - 1e-6)
    logit = np.log(clipped / (1 - clipped))[:, None]
    fit = LogisticRegression(C=np.inf).fit(logit[past], label[past])
    result: NDArray[Any] = fit.predict_proba(logit[now])[:, 1]
    return result


def print_vote_areas(log: pl.DataFrame) -> None:
    """Print the pooled AUC and the number of distinct scores of each model."""
    print("vote: model, AUC, distinct scores")
    for (model,), rows in log.group_by("model", maintain_order=True):
        area = float(roc_auc_score(rows["label"].to_numpy(), rows["score"].to_numpy()))
        print(f'    "{model}": {area!r},  # {rows["score"].n_unique()}')


def print_digits_areas(log: pl.DataFrame) -> None:
    """Print the one-versus-rest AUC of each model and class, and their mean."""
    print("digits: model, AUC of each digit against the others, mean")
    for (model,), rows in log.group_by("model", maintain_order=True):
        label = rows["label"].to_numpy()
        areas = [
            float(roc_auc_score(label == digit, rows[f"p{digit}"].to_numpy()))
            for digit in range(10)
        ]
        print(f'    "{model}": {areas!r},  # {np.mean(areas):.4f}')


def print_rain_areas(log: pl.DataFrame) -> None:
    """Print the AUC of each model before and after the recalibration."""
    print("rain: model, AUC, AUC of the calibrated scores")
    for (model,), rows in log.group_by("model", maintain_order=True):
        label = rows["label"].to_numpy()
        areas = [float(roc_auc_score(label, rows[name].to_numpy())) for name in RAIN_SCORES]
        print(f'    "{model}": {areas!r},')


RAIN_SCORES = ("score", "calibrated")


def main() -> None:
    """Write the logs and print the AUCs that scikit-learn computes from them."""
    for name, log in {"vote": vote(), "digits": digits(), "rain": rain()}.items():
        log.write_parquet(FOLDER / f"{name}.parquet", compression="zstd", statistics=True)
    print_vote_areas(pl.read_parquet(FOLDER / "vote.parquet"))
    print_digits_areas(pl.read_parquet(FOLDER / "digits.parquet"))
    print_rain_areas(pl.read_parquet(FOLDER / "rain.parquet"))


if __name__ == "__main__":
    main()
