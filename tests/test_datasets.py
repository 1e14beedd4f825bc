"""The bundled logs agree with their documentation and with stored results."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rocframe import datasets
from rocframe.errors import UnknownOptionError

if TYPE_CHECKING:
    from collections.abc import Callable

CLASSES = [f"p{digit}" for digit in range(10)]

# sklearn.metrics.roc_auc_score (scikit-learn 1.9.1), printed by data/make_logs.py.
VOTE_AUC = {
    "logistic_regression": 0.8080565984585047,
    "naive_bayes": 0.79247077947567,
    "decision_tree": 0.7878250509136754,
    "nearest_neighbours": 0.7892589462600962,
    "random_forest": 0.7797342791039192,
    "linear_svm": 0.8079503839883997,
}
# One number per digit: that digit against the nine others.
# fmt: off
DIGITS_AUC = {
    "logistic_regression": [
        0.9998924290899501, 0.9859932637022419, 0.9961916718978866, 0.9893554350254942,
        0.9906973086811445, 0.9966794815092028, 0.9992375964115748, 0.9985947200143636,
        0.9806800235125813, 0.9793822579536865,
    ],
    "naive_bayes": [
        0.991385652122617, 0.9671027115299561, 0.9664120806305364, 0.9616893845518381,
        0.9815587221705596, 0.9823155173000374, 0.9930563153000382, 0.9808923355269973,
        0.9501366845843868, 0.9664553700267986,
    ],
    "decision_tree": [
        0.9781804554066527, 0.9186472969754703, 0.9183894817604799, 0.918772557065567,
        0.9334384059952957, 0.9515530908719763, 0.9740133198402713, 0.9563344635421342,
        0.9059797735143519, 0.9227255548684121,
    ],
}
# fmt: on
RAIN_AUC = {  # of the columns `score` and `calibrated`
    "logistic_regression": [0.7711553476545495, 0.7672790840686258],
    "naive_bayes": [0.7532043088020894, 0.7505665839822563],
    "boosted_trees": [0.7382433823681829, 0.736305250575221],
}


def pairwise_auc(label: pl.Series, score: pl.Series) -> float:
    """Compare each positive with each negative, as in the definition."""
    scores, truth = score.to_numpy(), label.to_numpy()
    pos, neg = scores[truth][:, None], scores[~truth][None, :]
    wins, ties = int(np.count_nonzero(pos > neg)), int(np.count_nonzero(pos == neg))
    return (2 * wins + ties) / (2 * int(pos.size) * int(neg.size))


def test_vote_has_the_promised_columns() -> None:
    assert datasets.vote().schema == {
        "id": pl.Int32,
        "model": pl.String,
        "fold": pl.Int8,
        "age": pl.String,
        "label": pl.Boolean,
        "score": pl.Float64,
    }


def test_digits_has_the_promised_columns() -> None:
    probabilities = dict.fromkeys(CLASSES, pl.Float32)
    assert datasets.digits().schema == {
        "id": pl.Int32,
        "model": pl.String,
        "fold": pl.Int8,
        "label": pl.Int8,
        **probabilities,
    }


@pytest.mark.parametrize("load", [datasets.vote, datasets.digits, datasets.rain])
def test_no_value_is_missing(load: Callable[[], pl.DataFrame]) -> None:
    log = load()
    assert log.null_count().sum_horizontal().item() == 0
    numbers = log.select(pl.selectors.float())
    assert numbers.select(pl.all_horizontal(pl.all().is_finite().all())).item()


@pytest.mark.parametrize("load", [datasets.vote, datasets.digits])
def test_every_model_predicts_every_instance_once_in_the_same_fold(
    load: Callable[[], pl.DataFrame],
) -> None:
    log = load()
    assert not log.select("model", "id").is_duplicated().any()
    shared = log.drop(pl.selectors.float())
    first, *others = shared.partition_by("model", include_key=False)
    for other in others:
        assert_frame_equal(other, first)


def test_vote_has_ten_folds_with_both_classes() -> None:
    folds = (
        datasets.vote()
        .group_by("model", "fold")
        .agg(both=pl.col("label").any() & ~pl.col("label").all())
    )
    assert sorted(folds["fold"].unique()) == list(range(1, 11))
    assert folds.height == 6 * 10
    assert folds["both"].all()


def test_vote_has_three_age_bands_with_both_classes() -> None:
    bands = datasets.vote().group_by("age").agg(pl.col("label").n_unique()).sort("age")
    expected = {"age": ["18-34", "35-54", "55+"], "label": [2, 2, 2]}
    assert_frame_equal(bands, pl.DataFrame(expected), check_dtypes=False)


def test_vote_has_models_with_and_without_many_ties() -> None:
    distinct = dict(datasets.vote().group_by("model").agg(pl.col("score").n_unique()).iter_rows())
    assert distinct == {
        "logistic_regression": 944,
        "naive_bayes": 944,
        "linear_svm": 944,
        "decision_tree": 57,  # at most six leaves in each of ten trees
        "nearest_neighbours": 16,  # 0 to 15 of 15 neighbours
        "random_forest": 11,  # 0 to 10 of 10 trees
    }


def test_only_the_svm_leaves_the_unit_interval() -> None:
    outside = datasets.vote().filter(~pl.col("score").is_between(0, 1))
    assert set(outside["model"]) == {"linear_svm"}
    assert outside.select((pl.col("score") < 0).any() & (pl.col("score") > 1).any()).item()


def test_digits_has_five_folds_with_all_ten_classes() -> None:
    folds = datasets.digits().group_by("model", "fold").agg(pl.col("label").n_unique())
    assert sorted(folds["fold"].unique()) == [1, 2, 3, 4, 5]
    assert folds.height == 3 * 5
    assert (folds["label"] == 10).all()


def test_digits_has_a_model_with_many_ties() -> None:
    tree = datasets.digits().filter(model="decision_tree")
    # At most twenty leaves in each of five trees, for 1797 images.
    assert tree.select(pl.max_horizontal(pl.col(CLASSES).n_unique())).item() <= 100


def test_digit_probabilities_add_up_to_one() -> None:
    probabilities = datasets.digits().select(pl.col(CLASSES).cast(pl.Float64))
    off = probabilities.select((pl.sum_horizontal(CLASSES) - 1).abs().max()).item()
    # Each probability p was rounded to Float32, which moves it by at most p * 2**-24; a row of
    # them, which adds up to 1, by at most 2**-24. The factor 2 is for the sums of the models.
    assert off <= 2 * 2**-24


@pytest.mark.parametrize("model", VOTE_AUC)
def test_vote_auc_is_that_of_scikit_learn(model: str) -> None:
    rows = datasets.vote().filter(model=model)
    assert pairwise_auc(rows["label"], rows["score"]) == pytest.approx(VOTE_AUC[model], abs=1e-12)


@pytest.mark.parametrize("model", DIGITS_AUC)
def test_digits_auc_is_that_of_scikit_learn(model: str) -> None:
    rows = datasets.digits().filter(model=model)
    areas = [pairwise_auc(rows["label"] == int(name[1:]), rows[name]) for name in CLASSES]
    assert areas == pytest.approx(DIGITS_AUC[model], abs=1e-12)


def test_rain_has_each_day_of_three_years_once_per_model() -> None:
    log = datasets.rain()
    assert log.schema == {
        "day": pl.Date,
        "model": pl.String,
        "label": pl.Boolean,
        "score": pl.Float64,
        "calibrated": pl.Float64,
        "cost": pl.Float64,
    }
    days = pl.date_range(date(2013, 1, 1), date(2015, 12, 31), eager=True).to_list()
    for rows in log.partition_by("model"):
        assert rows["day"].to_list() == days
        assert rows["label"].sum() == 446
    assert log.select(pl.col("score", "calibrated").is_between(0, 1).all()).row(0) == (True, True)
    assert log.filter(~pl.col("label"))["cost"].unique().to_list() == [2.0]


@pytest.mark.parametrize("model", RAIN_AUC)
def test_rain_auc_is_that_of_scikit_learn(model: str) -> None:
    rows = datasets.rain().filter(model=model)
    areas = [pairwise_auc(rows["label"], rows[name]) for name in ("score", "calibrated")]
    assert areas == pytest.approx(RAIN_AUC[model], abs=1e-12)


@pytest.mark.parametrize("model", VOTE_AUC)
def test_the_frozen_reference_was_made_from_this_log(model: str) -> None:
    frozen = Path(__file__).parent / "reference" / "vote_sklearn.json"
    pooled = json.loads(frozen.read_text(encoding="utf-8"))["pooled"][model]
    rows = datasets.vote().filter(model=model)
    scores = [float("inf"), *rows["score"].unique().sort(descending=True)]
    curve = pooled["roc_curve"]
    assert pooled["roc_auc"] == VOTE_AUC[model]
    assert pooled["n_pos"] == rows["label"].sum()
    assert curve["n_points"] == len(scores)
    assert [float(t) for t in curve["threshold"]] == [scores[i] for i in curve["index"]]


@pytest.mark.parametrize(
    ("name", "limit"), [("vote", 150_000), ("digits", 400_000), ("rain", 150_000)]
)
def test_path_finds_a_small_file_to_scan(name: datasets.Name, limit: int) -> None:
    file = datasets.path(name)
    assert file.stat().st_size < limit
    assert_frame_equal(pl.scan_parquet(file).collect(), getattr(datasets, name)())


def test_a_log_that_does_not_exist_raises_and_names_those_that_do() -> None:
    with pytest.raises(UnknownOptionError, match=r"^name='votes': ") as caught:
        datasets.path("votes")  # type: ignore[arg-type]
    assert "'vote'" in str(caught.value)
    assert "'digits'" in str(caught.value)


def test_an_unknown_data_set_lists_the_data_sets():
    with pytest.raises(AttributeError) as caught:
        datasets.load("vote")
    assert str(caught.value) == (
        "rocframe.datasets.load: unknown data set.\nData sets: vote(), digits(), rain()."
    )
