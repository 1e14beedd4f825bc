from __future__ import annotations

import itertools
import json
import re
from base64 import b64encode
from collections import Counter
from hashlib import sha256

import polars as pl
import pytest

import rocframe as rf
from rocframe.charts.style import shorten
from rocframe.text import format_name

pytest.importorskip("vl_convert")

from rocframe.reports.evaluation import ReportOptions
from rocframe.reports.report import report_page
from rocframe.reports.text_columns import note_in_words
from tests.charts.specifications import layers_of
from tests.reports.pages import Reader, evaluate, log, plain, write

MARKUP = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "a & b 'c'",
    "שלום",
    "🦊",
    "{{ title }}",
    "<!--",
    "\u2028",
]
AREAS = "Area under the ROC curve"
MEAN_AREAS = "Areas under the ROC curves, pooled and as means over fold"
METRICS = "AUC and other metrics of each group"
PAIRS = "Differences of the AUC of each pair of models"
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "div"),
    *("table", "thead", "tr", "th", "tbody", "td", "bdi", "noscript", "figure", "figcaption"),
    *("ul", "li", "dl", "dt", "dd", "script", "nav", "a", "span", "button", "wbr", "caption"),
    *("details", "summary", "section", "i"),
}


def test_a_page_has_a_table_charts_and_the_settings():
    read = Reader(plain())
    assert read.text[0:3] == [
        "T",
        "T",
        "48 predictions, 2 groups by model. Score: score. Positive class: label = true.",
    ]
    row = {"model": "a", "AUC": "0.944", "95 % interval": "0.210 to 0.999"}
    sizes = {"positives": "3", "negatives": "3"}
    assert read.tables()[AREAS][0] == {**row, "below the best": "–", "verdict": "best", **sizes}
    metrics = {"average precision": "0.917", "KS": "0.667", "prevalence": "0.500"}
    assert read.tables()[METRICS][0] == {**row, **metrics, **sizes}
    assert [spec["title"]["text"] for spec in read.curves()] == ["ROC", "Precision-recall"]
    assert "log.parquet" in read.text
    assert read.after("Scores" if "Scores" in read.text else "Score", 1) == ["score"]
    start = max(i for i, text in enumerate(read.text) if text == "What was left out")
    assert read.text[start + 1] == "Nothing."


def test_the_policy_of_pages_allows_only_their_own_scripts(tmp_path):
    rf.save_chart(rf.curve(log(), "label", "score").roc.chart(), tmp_path / "chart.html")
    for page in (plain(), (tmp_path / "chart.html").read_text(encoding="utf-8")):
        read = Reader(page)
        policy = next(
            attributes["content"]
            for tag, attributes in read.tags
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        own = [text for attributes, text in read.scripts if not attributes]
        hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in own]
        assert len(own) == 2
        assert rules == {
            "default-src": "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
            "img-src": "data: blob:",
            "style-src": "'unsafe-inline'",
            "script-src": " ".join(f"'sha256-{one}'" for one in hashes),
        }


def test_the_numbers_of_the_page_are_those_of_the_functions():
    vote = rf.datasets.vote()
    read = Reader(write(vote))
    areas = rf.auc(vote, "label", "score", by="model")
    metrics = ["average_precision", "ks"]
    others = rf.intervals(vote, "label", "score", metrics=metrics, ci=None, by="model")
    expected = [
        {
            "model": row["model"],
            "AUC": f"{row['auc']:.3f}",
            "95 % interval": f"{row['lower']:.3f} to {row['upper']:.3f}",
            **{
                title: f"{others.filter(model=row['model'], metric=name)['estimate'].item():.3f}"
                for name, title in zip(metrics, ["average precision", "KS"], strict=True)
            },
            "prevalence": f"{row['n_pos'] / (row['n_pos'] + row['n_neg']):.3f}",
            "positives": f"{row['n_pos']:,}",
            "negatives": f"{row['n_neg']:,}",
        }
        for row in areas.to_dicts()
    ]
    assert read.tables()[METRICS] == expected
    # The table at the top has the same numbers, the best model first.
    top = sorted(areas.to_dicts(), key=lambda row: -row["auc"])
    best = top[0]["auc"]
    assert [(row["model"], row["AUC"], row["below the best"]) for row in read.tables()[AREAS]] == [
        (row["model"], f"{row['auc']:.3f}", f"{best - row['auc']:.3f}" if i else "–")
        for i, row in enumerate(top)
    ]


def test_names_and_values_are_escaped_everywhere():
    predictions = log(MARKUP).rename({"model": MARKUP[0]})
    text = write(predictions, by=MARKUP[0], title=MARKUP[1], label=MARKUP[0], dashboard=True,
                 files_skipped={MARKUP[1]: MARKUP[0]}, about={MARKUP[2]: MARKUP[1]})  # fmt: skip
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    read = Reader(text)
    assert {tag for tag, _ in read.tags} <= TAGS
    # The charts, and three scripts: the configuration, Vega, and the script of the page.
    assert len(read.scripts) == len(read.specs()) + 3
    # The title twice, two tables, and a value of about=.
    assert read.text.count(MARKUP[1]) == 5
    assert all(name in " ".join(read.text) for name in MARKUP[:-1])
    assert "'\\u2028'" in read.text


@pytest.mark.parametrize(
    ("names", "id"),
    [(["value", "metric", "n_curves"], "id"), (["mean_auc", "statistic", "#07469b"], None)],
)
def test_group_columns_may_have_the_names_of_other_tables(names, id):  # noqa: A002
    rows = log().with_columns(pl.lit("x").alias(name) for name in names)
    rows = rows.with_columns(fold="model")
    read = Reader(write(rows, by=["model", *names, "fold"], id=id))
    assert all(name in " ".join(read.text) for name in names)
    assert read.curves()


def test_a_group_with_the_name_of_a_color_is_not_renamed():
    read = Reader(write(log(["#07469b", "#59636e"])))
    (scale,) = {
        json.dumps(layer["encoding"]["color"]["scale"])
        for spec in read.curves()
        for layer in layers_of(spec)
        if "scale" in layer["encoding"].get("color", {})
    }
    assert json.loads(scale)["domain"] == ["#07469b", "#59636e"]
    assert all(color.startswith("var(--color-") for color in json.loads(scale)["range"])


def test_a_page_loads_no_other_files():
    text = plain()
    read = Reader(text)
    links = [attrs for _, attrs in read.tags if {"src", "href", "data", "srcset"} & set(attrs)]
    assert all(set(attrs) == {"href"} and attrs["href"].startswith("#") for attrs in links)
    policy = next(attrs for tag, attrs in read.tags if attrs.get("http-equiv"))
    assert policy["content"].startswith("default-src 'none'; ")
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_all_charts_of_a_page_share_one_script():
    short, long = (
        plain(),
        write(log("abcdef"), kind=["roc", "pr", "det", "gain", "lift"], dashboard=True),
    )
    for text in (short, long):
        assert text.count("window.rocframe={embed:") == 1
    assert len(long) - len(short) < 100_000


def test_each_chart_has_a_text_alternative():
    read = Reader(write(kind=["roc", "precision_recall", "det", "gain", "lift", "lift_chart"]))
    texts = [attrs["aria-label"] for _, attrs in read.tags if attrs.get("role") == "img"]
    calibration = [text for text in texts if text.startswith("Calibration chart, 2 curves: ")]
    assert len(calibration) == 1
    texts = [text for text in texts if " chart, " in text and text not in calibration]
    assert len(texts) == 6
    assert all("2 curves" in text and ("a (A" in text or "a (ROC A" in text) for text in texts)


def test_usual_group_columns_are_unused_unless_an_option_names_them():
    columns = ["label", "score", "model", "fold", "day"]

    def unused(**options):
        return ReportOptions(**{"label": "label", "score": "score", **options}).unused_keys(columns)

    assert unused(score=pl.col("score")) == ["model", "fold"]
    assert unused(by=["model", "fold"]) == []
    assert unused(id=pl.col("fold") + 1, by="model") == []
    models = {"a": "score", "b": "other"}
    assert unused(score=models) == ["fold"]  # several score columns are models


def test_the_page_lists_what_was_left_out_and_the_reasons():
    predictions = pl.concat([log(), log(["c"]).filter("label"), log(["d"]).clear()])
    predictions = predictions.with_columns(score=pl.when(pl.int_range(pl.len()) > 0).then("score"))
    provenance = {
        "files_skipped": {"bad.parquet": "the file is empty"},
        "unused_keys": ["fold", "class"],
    }
    read = Reader(write(predictions, **provenance))
    first = max(i for i, text in enumerate(read.text) if text == "What was left out") + 1
    assert read.text[first : first + 4] == [
        "bad.parquet: the file is empty.",
        (
            "The columns fold and class are not group columns, so rows with different values of "
            "them are pooled."
        ),
        "1 prediction with a missing label, score or weight was left out.",
        "1 group has no negatives, so its AUC is undefined: model = c.",
    ]
    assert {"missing", "note", "no negatives"} <= set(read.text)


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ("model", "Calibration not computed for 'c', 'd': the scores are not all between 0 and 1."),
        (None, "Calibration not computed: the scores are not all between 0 and 1."),
    ],
)
def test_models_without_calibration_because_of_their_scores_are_named(by, text):
    rows = pl.concat([log(), log(["c", "d"]).with_columns(pl.col("score") * 2 - 0.5)])
    read = Reader(write(rows, by=by))
    first = max(i for i, text in enumerate(read.text) if text == "What was left out") + 1
    assert read.text[first] == text


def test_rows_that_count_as_errors_are_not_listed_as_left_out():
    predictions = log().with_columns(score=pl.when(pl.int_range(pl.len()) > 0).then("score"))
    read = Reader(write(predictions, missing="worst"))
    first = max(i for i, text in enumerate(read.text) if text == "What was left out") + 1
    assert read.text[first] == "Nothing."
    rule = "rows without a score count as wrong predictions at every threshold: 1 row"
    assert read.after("Missing values", 1) == [rule]


def test_unmatched_rows_are_left_out_of_the_comparison_and_counted_in_words():
    worse = pl.when(pl.col("model") == "b").then(pl.col("id") / 6).otherwise("score")
    rows = log().with_columns(score=worse).filter((pl.col("model") == "a") | (pl.col("id") > 0))
    read = Reader(write(rows, id="id", unmatched="drop"))
    words = "rows left out because one of the two models lacks them: 1"
    assert any(text.endswith(f"{words}.") for text in read.text)
    assert "The comparison of 1 pair of models leaves out 1 row that one model lacks." in read.text


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("no_rows", "no rows"),
        ("zero_variance", "no interval: the estimated variance is 0"),
        ("unmatched:10121", "rows left out because one of the two models lacks them: 10,121"),
        (
            "one_positive; left_out:2 (a; b, x:1)",
            (
                "no interval: only one positive; "
                "curves left out because they lack a class: 2 (a; b, x:1)"
            ),
        ),
        ("new_note:3", "new_note:3"),
    ],
)
def test_notes_are_written_in_words(note, words):
    assert note_in_words(note) == words


def test_report_returns_the_path_and_writes_only_the_page(tmp_path):
    rows = log().drop("id")
    path = tmp_path / "page.HTML"
    options = {"by": "model", "ci": "bootstrap", "kind": "roc"}
    assert rf.report(rows, "label", "score", path=path, seed=1, **options) == path
    again = rf.report(rows, "label", "score", path=str(tmp_path / "b.html"), seed=1, **options)
    assert again.read_bytes() == path.read_bytes()
    assert Reader(path.read_text(encoding="utf-8")).after("Seed", 1) == ["1"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["b.html", "page.HTML"]


@pytest.mark.render
def test_the_page_counts_the_groups_that_it_does_not_show():
    tables, options, provenance = evaluate(log([f"{number:04}" for number in range(600)]))
    read, without_files = (
        Reader(report_page(tables, options, title="T", provenance=provenance, files=files))
        for files in (("curves.parquet", "auc.parquet"), None)
    )
    assert "Not shown here: 100 rows, see auc.parquet." in read.text
    output = "The charts show 12 of 600 curves: the 12 values of model with the largest AUC."
    assert f"{output} curves.parquet contains all curves." in read.text
    assert output in without_files.text


def test_each_value_of_the_second_group_column_has_a_chart_with_the_same_colors():
    rows = log("abc").with_columns(day=pl.Series([1, 1, 1, 1, 2, 2] * 3))
    rows = pl.concat([rows, rows.filter(model="c").with_columns(day=3)], how="vertical_relaxed")
    read = Reader(write(rows, by=["model", "day"], kind="roc"))
    assert len(read.curves()) == 3
    names = [text for text in read.text if text.startswith("day = ")]
    assert names == ["day = 1", "day = 2", "day = 3"] * 2  # ROC curves, calibration
    scales = [spec["encoding"]["color"]["scale"] for spec in read.curves()]
    assert all(scale == scales[0] and scale["domain"] == ["a", "b", "c"] for scale in scales)
    legends = [spec["encoding"]["color"]["legend"] for spec in read.curves()]
    assert [legend["values"] for legend in legends] == [["a", "b", "c"], ["a", "b", "c"], ["c"]]


@pytest.mark.render
def test_means_are_drawn_in_front_of_their_folds():
    vote = rf.datasets.vote()
    read = Reader(write(vote, by=["model", "fold"], kind="roc", missing="raise"))
    assert len(read.curves()) == 7  # all means, and each over its folds
    means = rf.fold_auc(vote, "label", "score", by="model")
    expected = [
        {
            "model": row["model"],
            "mean AUC": f"{row['mean_auc']:.3f}",
            "95 % interval of the mean AUC": f"{row['lower']:.3f} to {row['upper']:.3f}",
            "below the best": f"{means['mean_auc'].max() - row['mean_auc']:.3f}" if i else "–",
            "verdict": "not tested" if i else "best",
            "pooled AUC": f"{row['pooled_auc']:.3f}",
            "sd": f"{row['sd']:.3f}",
            "AUC of mean curve": f"{row['auc_of_mean']:.3f}",
            "curves": f"{row['n_curves']}",
        }
        for i, row in enumerate(means.sort("mean_auc", descending=True).to_dicts())
    ]
    assert read.tables()[MEAN_AREAS] == expected
    first, each = read.curves()[0], read.curves()[1]
    assert first["description"].startswith("ROC chart, 6 averaged curves: ")
    assert each["description"].startswith("ROC chart, 10 curves: ")
    widths = [
        layer["mark"]["strokeWidth"]
        for layer in layers_of(each)
        if layer["mark"]["type"] == "line" and "data" not in layer
    ]
    assert widths == [1, 3.5]
    plain = Reader(write(vote, by=["model", "fold"], kind="roc", over=None))
    assert MEAN_AREAS not in plain.tables()
    assert len(plain.curves()) == 10


def calibration_points(read):
    """Return the model, the mean score, the event rate and n of the bins of all charts."""
    return [
        (one.get("model"), one["score_mean"], one["event_rate"], one["n"])
        for spec in read.calibration()
        for data in spec["datasets"].values()
        for one in (data if isinstance(data, list) else json.loads(data))
        if one.get("_layer") == "bin"
    ]


def expected_points(predictions, score="score", **options):
    table = rf.calibration(predictions, "label", score, **options).sort("model", "bin")
    rows = table.select("model", "score_mean", "event_rate", "n").rows()
    return [(row[0], *map(pytest.approx, row[1:3]), row[3]) for row in rows]


def test_calibration_is_that_of_models_with_scores_between_0_and_1():
    models = ["linear_svm", "naive_bayes", "random_forest"]
    vote = rf.datasets.vote().filter(pl.col("model").is_in(models))
    read = Reader(write(vote, by="model", missing="raise"))
    probabilities = vote.filter(pl.col("model") != "linear_svm")
    assert calibration_points(read) == expected_points(probabilities, by="model")
    assert "Models with scores outside [0, 1] are not shown." in " ".join(read.text)
    pooled = Reader(write(vote, by=["model", "fold"], kind="roc", missing="raise"))
    assert calibration_points(pooled) == expected_points(probabilities, by="model")
    assert "Rows are pooled over fold." in " ".join(pooled.text)


@pytest.mark.render
def test_calibration_of_several_score_columns_leaves_out_scores_outside_0_to_1():
    wide = rf.datasets.vote().pivot("model", index=["id", "label"], values="score")
    scores = ["naive_bayes", "linear_svm", pl.col("random_forest")]
    read = Reader(write(wide, score=scores, by=None, kind="roc"))
    expected = expected_points(wide, ["naive_bayes", "random_forest"])
    assert calibration_points(read) == expected
    named = {"a": "linear_svm", "b": "naive_bayes"}
    read = Reader(write(wide, score=named, by=None, kind="roc"))
    assert calibration_points(read) == expected_points(wide, {"b": "naive_bayes"})
    only = Reader(write(wide, score="linear_svm", by=None, kind="roc"))
    assert only.calibration() == []
    one = Reader(write(wide, score="naive_bayes", by=None, kind="roc"))
    assert "Calibration chart, 1 curve: " in one.calibration()[0]["description"]


def test_charts_of_many_calibration_curves_have_no_limits():
    subset, many = (
        Reader(write(log(names), kind="roc")).calibration() for names in ("abc", "abcd")
    )
    assert "95 % pointwise intervals" in subset[0]["description"]
    assert "pointwise intervals" not in many[0]["description"]


def test_folds_without_a_class_are_named_and_not_part_of_the_share_of_positives():
    rows = pl.DataFrame(
        {
            "model": ["a", "b"] * 6,
            "fold": [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3],
            "label": [1, 1, 0, 0] * 2 + [0, 0, 0, 0],
            "score": [0.9, 0.8, 0.1, 0.85, 0.7, 0.6, 0.2, 0.3, 0.5, 0.4, 0.3, 0.2],
        }
    )
    read = Reader(write(rows, by=["model", "fold"], kind="precision_recall"))
    note = "no interval: only one positive; fold 3 left out: no positives"
    assert [row["note"] for row in read.tables()[MEAN_AREAS]] == [note, note]
    means = read.curves()[0]
    levels = [
        row["precision"]
        for layer in layers_of(means)
        if "data" in layer
        for row in means["datasets"][layer["data"]["name"]]
    ]
    assert levels == [0.5, 0.5]
    assert "pointwise" not in json.dumps(means["layer"])  # no legend of limits that are not drawn


@pytest.mark.parametrize("how", ["side by side", "below each other"])
def test_models_are_compared_if_their_rows_can_be_paired(how):
    vote = rf.datasets.vote().filter(pl.col("model").str.starts_with("l"))
    if how == "side by side":
        wide = vote.pivot("model", index=["id", "label"], values="score")
        models = ["linear_svm", "logistic_regression"]
        read = Reader(write(wide, by=None, score=models))
    else:
        read = Reader(write(vote, id="id"))
    (row,) = rf.compare(vote, "label", "score", id="id").to_dicts()
    # A table of one row is a sentence.
    assert PAIRS not in read.tables()
    p_values = ", ".join(
        f"{title} {row[name]:.3f}"
        for title, name in {
            "p-value": "p_value",
            "adjusted p-value": "p_adjusted",
            "AUC a": "auc_a",
            "AUC b": "auc_b",
        }.items()
    )
    assert (
        "model a linear_svm, model b logistic_regression, "
        f"difference {row['difference']:z.3f}, 95 % interval {row['lower']:.3f} to "
        f"{row['upper']:.3f}, {p_values}, rows 944."
    ).replace("-0", "−0") in read.text


def test_the_page_begins_with_the_best_model_and_its_differences_from_the_others():
    vote = rf.datasets.vote().filter(pl.col("model").is_in(["linear_svm", "random_forest"]))
    noise = vote.filter(model="linear_svm").with_columns(
        model=pl.lit("noise"), score=pl.col("id").hash(1) % 1000 / 1000
    )
    rows = pl.concat([vote, noise.select(vote.columns)], how="vertical_relaxed")
    read = Reader(write(rows, by=["model", "fold"], id="id", kind="roc"))
    pairs = rf.compare(rows, "label", "score", id="id").sort("model_a", "model_b").to_dicts()
    svm_noise, svm_forest = pairs[0], pairs[1]
    means = {
        row["model"]: row for row in rf.fold_auc(rows, "label", "score", by="model").to_dicts()
    }

    def limits(low, high):
        return f"{low:.3f} to {high:.3f}".replace("-", "−")

    def main(model):
        row = means[model]
        return {
            "mean AUC": f"{row['mean_auc']:.3f}",
            "95 % interval of the mean AUC": limits(row["lower"], row["upper"]),
            "sd": f"{row['sd']:.3f}",
            "AUC of mean curve": f"{row['auc_of_mean']:.3f}",
            "curves": "10",
        }

    area = f"{svm_noise['auc_a']:.3f}"
    assert read.tables()[MEAN_AREAS] == [
        {
            "model": "linear_svm",
            "pooled AUC": area,
            "below the best": "–",
            "95 % interval of the difference": "–",
            "verdict": "best",
            **main("linear_svm"),
        },
        *(
            {
                "model": pair["model_b"],
                "pooled AUC": f"{pair['auc_b']:.3f}",
                "below the best": f"{pair['difference']:.3f}",
                "95 % interval of the difference": limits(pair["lower"], pair["upper"]),
                "verdict": verdict,
                **main(pair["model_b"]),
            }
            for pair, verdict in (
                (svm_forest, f"worse, p = {svm_forest['p_adjusted']:.3f}"),
                (svm_noise, "worse, p < 0.001"),
            )
        ),
    ]
    assert (
        f"Highest pooled AUC: linear_svm, {area}. 2 of the 2 differences from the best model are "
        "significant (adjusted p-value below 0.05)."
    ) in read.text
    assert any("Mean AUC: mean of the areas of each" in text for text in read.text)


def test_differences_that_are_not_tested_are_stated_as_such():
    rows = log("ab").with_columns(
        day=pl.lit(1),
        score=pl.when(pl.col("model") == "b").then(-pl.col("score")).otherwise("score"),
    )
    rows = pl.concat([rows, rows.filter(model="a").with_columns(day=2)], how="vertical_relaxed")
    read = Reader(write(rows, by=["model", "day"], kind="roc"))
    assert [tuple(row.values())[:6] for row in read.tables()[AREAS]] == [
        ("1", "a", "0.944", "0.210 to 0.999", "–", "best"),
        ("1", "b", "0.056", "0.001 to 0.790", "0.889", "not tested"),
        ("2", "a", "0.944", "0.210 to 0.999", "–", "best"),
    ]
    assert (
        "Models with the highest AUC in 2 groups: a in 2. The differences are not tested, "
        "because the rows are not paired."
    ) in read.text
    assert "Best model" not in Reader(write(log("a"))).text


def segments():
    """Return three models in four segments, of which the last has no positives."""
    part = pl.select(id=pl.int_range(240)).with_columns(
        segment=pl.lit(["east", "north", "south", "west"]).list.get(pl.col("id") % 4),
        label=(pl.col("id").hash(1) % 3 == 0) & (pl.col("id") % 4 < 3),
    )
    # With a larger signal, the score has a higher AUC. The noise differs between the models.
    signals = {"boost": 150, "logit": 110, "rules": 10}
    return pl.concat(
        part.with_columns(
            model=pl.lit(name),
            score=(pl.col("id").hash(seed) % 200).cast(pl.Int64) + signal * pl.col("label"),
        )
        for seed, (name, signal) in enumerate(signals.items())
    )


def test_the_best_model_of_each_group_is_compared_with_all_other_models():
    rows = segments()
    read = Reader(write(rows, by=["model", "segment"], id="id", kind="roc"))
    areas = rf.auc(rows, "label", "score", by=["segment", "model"])
    pairs = rf.compare(rows, "label", "score", id="id", by="segment")
    defined = areas.drop_nulls("auc").sort("auc", descending=True)
    best = dict(defined.unique("segment", keep="first").select("segment", "model").iter_rows())
    from_best = [
        row
        for row in pairs.to_dicts()
        if best.get(row["segment"]) in (row["model_a"], row["model_b"])
    ]
    significant = [row for row in from_best if row["p_adjusted"] < 0.05]
    assert (len(pairs), len(best), len(from_best)) == (12, 3, 6)
    assert 0 < len(significant) < 6
    text = next(text for text in read.text if text.startswith("Models with the highest AUC"))
    counts = Counter(best.values())
    assert text == (
        f"Models with the highest AUC in 3 groups: boost in {counts['boost']}"
        f"{' and logit in 1' if counts['logit'] else ''}. The AUC of all models is undefined in 1 "
        f"group. {len(significant)} of the 6 differences from the best model of a group are "
        "significant (adjusted p-value below 0.05)."
    )
    # The rows of the other segments are those of test_model_ranks.py.
    assert len(read.tables()[AREAS]) == 12
    undefined = [row for row in read.tables()[AREAS] if row["segment"] == "west"]
    assert [(row["AUC"], row["below the best"], row["verdict"]) for row in undefined] == [
        ("–", "–", "undefined")
    ] * 3
    assert any(
        text.endswith("The section “Comparison of models” contains the differences of all pairs.")
        for text in read.text
    )


@pytest.mark.render
def test_the_curves_mark_the_recommended_thresholds():
    rows, costs = segments(), {"fp": 1, "fn": 5}
    read = Reader(write(rows, by=["model", "segment"], kind="roc", costs=costs))
    curves = rf.curve(rows, "label", "score", by=["segment", "model"])
    best = rf.operating_point(curves, "expected_cost", costs=costs)
    best = best.filter(pl.col("segment") != "west")  # without positives, the curve is not drawn
    marks = [
        record
        for spec in read.curves()
        for part in spec["datasets"].values()
        if isinstance(part, str)
        for record in json.loads(part)
        if "rule" in record
    ]
    assert [(record["tp"], record["fp"]) for record in marks] == [
        *best.select("tp", "fp").iter_rows()
    ]
    assert len(marks) == 9
    assert any(text.endswith("classifier. Points: recommended thresholds.") for text in read.text)
    # The rows of pooled folds are not on the curves of the folds, and are not marked.
    means = Reader(write(rows, by=["model", "segment"], over="segment", kind="roc", costs=costs))
    assert not any('"rule"' in str(spec["datasets"]) for spec in means.curves())
    assert not any("Points: recommended" in text for text in means.text)


def test_lines_break_between_the_words_of_long_names_only():
    text = write(log(["a_very_long_name-of/a.model<b>", "short_name"]))
    assert "a_<wbr>very_<wbr>long_<wbr>name-<wbr>of/<wbr>a.<wbr>model&lt;b&gt;" in text
    assert "<bdi>short_<wbr>name</bdi>" in text
    assert "<bdi>short_name</bdi>" in write(log(["short_name", "b"]))


def test_an_emoji_of_several_characters_is_not_split():
    family, flag = "👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈"
    assert format_name(f"model {family}{flag}") == f"model {family}{flag}"
    assert format_name("a\u200db") == "'a\\u200db'"
    for length in range(40):
        short = shorten("x" * length + family + "y" * 60, 48)
        assert short.count(family) or not set(short) & set(family)
    assert family in Reader(write(log([family, "b"]))).text


def test_models_with_different_rows_are_not_compared():
    assert "Comparison of models" not in Reader(plain()).text


@pytest.mark.parametrize("predictions", [log().clear(), log().filter("label")])
@pytest.mark.parametrize("by", ["model", None])
@pytest.mark.parametrize("over", [None, "model"])
def test_a_page_is_written_even_without_any_curve(predictions, by, over):
    read = Reader(write(predictions, by=by, over=over if by else None))
    assert len(read.curves()) == 2


def test_equal_evaluations_produce_equal_pages():
    assert write(dashboard=True) == plain()


def test_the_page_of_a_large_log_is_small():
    n = 200_000
    many = pl.select(
        model=pl.int_range(n) % 2, label=pl.int_range(n) % 3 == 0, score=pl.int_range(n).hash() % n
    )
    assert len(write(many, dashboard=True)) < 1_800_000  # the dashboard has 100,000 rows


def test_one_area_is_a_sentence_instead_of_a_table():
    vote = rf.datasets.vote().filter(model="linear_svm")
    read = Reader(write(vote, by=None))
    (row,) = rf.auc(vote, "label", "score").to_dicts()
    (precision, ks) = rf.intervals(
        vote, "label", "score", metrics=["average_precision", "ks"], ci=None
    )["estimate"]
    limits = f"{row['lower']:.3f} to {row['upper']:.3f}"
    assert read.tables() == {}
    assert (
        f"AUC {row['auc']:.3f}, 95 % interval {limits}, average precision {precision:.3f}, KS "
        f"{ks:.3f}, prevalence {393 / 944:.3f}, positives 393, negatives 551."
    ) in read.text
    assert read.text[3:].index("Predictions") == 0
    assert read.text[3:12] == [
        *("Predictions", "944", "Positives", "41.6 %", "393 of 944"),
        *("AUC", f"{row['auc']:.3f}", limits, "Average precision"),
    ]


def test_the_page_starts_with_four_numbers_and_the_verdict():
    vote = rf.datasets.vote()
    read = Reader(write(vote, id="id", costs={"fp": 1, "fn": 5}))
    best, second = (
        rf.auc(vote, "label", "score", by="model").sort("auc", descending=True)[:2].to_dicts()
    )
    curves = rf.curve(vote, "label", "score", by="model")
    (cheapest,) = (
        rf.operating_point(curves, "expected_cost", costs={"fp": 1, "fn": 5})
        .sort("value")[:1]
        .to_dicts()
    )
    assert read.text[3:14] == [
        *("Rows", "944", "of each model", "Positives", "41.6 %", "393 of 944 of each model"),
        *("Highest AUC", f"{best['auc']:.3f}"),
        f"{best['model']}, {best['lower']:.3f} to {best['upper']:.3f}",
        *("Lowest expected cost per row", f"{cheapest['value']:.3f}"),
    ]
    assert read.text[14] == f"{cheapest['model']}, score ≥ {cheapest['threshold']:.6g}"
    assert read.text[15].startswith(f"Highest AUC: {best['model']}, {best['auc']:.3f}. None of ")
    assert read.text[16].startswith(f"Lowest expected cost per row: {cheapest['model']}, ")
    without_costs = Reader(write(vote, id="id"))
    ahead = f"{best['auc'] - second['auc']:.3f}"
    start = without_costs.text.index("Ahead of the second")
    assert without_costs.text[start + 1 :][:2] == [
        ahead,
        f"{second['model']}: not significant, p = 1.000",
    ]


def bars(text):
    """Return the position of the dot, the start and the width of each drawn interval."""
    number = r"([\d.]+)%"
    ranges = re.findall(rf'class="range" style="left: {number}; width: {number}"', text)
    dots = re.findall(rf'class="dot" style="left: {number}"', text)
    return [
        (float(dot), float(low), float(width))
        for dot, (low, width) in zip(dots, ranges, strict=True)
    ]


def test_tables_draw_their_intervals_on_one_scale():
    vote = rf.datasets.vote()
    areas = rf.auc(vote, "label", "score", by="model").sort("auc", descending=True)
    low, high = areas["lower"].min(), areas["upper"].max()
    expected = [
        tuple(
            round(100 * part / (high - low), 1)
            for part in (row["auc"] - low, row["lower"] - low, row["upper"] - row["lower"])
        )
        for row in areas.to_dicts()
    ]
    assert bars(write(vote))[:6] == [pytest.approx(one, abs=0.051) for one in expected]
    # The differences are drawn around 0.
    pairs = rf.compare(vote, "label", "score", id="id")
    low, high = pairs["lower"].min(), pairs["upper"].max()
    text = write(vote, id="id")
    dots = [100 * (one - low) / (high - low) for one in pairs["difference"]]
    assert [dot for dot, _, _ in bars(text)[-15:]] == [
        pytest.approx(one, abs=0.051) for one in dots
    ]
    zeros = re.findall(r'class="zero" style="left: ([\d.]+)%"', text)
    assert set(zeros) == {f"{-100 * low / (high - low):.1f}"}


def test_tables_have_captions_and_full_names_in_a_column_per_group_key():
    names = [
        "gradient boosting with splines and all interactions (candidate of 2025)",
        "logistic regression with splines of the time (baseline of 2019)",
        "gradient boosting with splines of the time (baseline of 2019)",
    ]
    segments = pl.DataFrame({"segment": ["east", "west"]})
    read = Reader(write(log(names).join(segments, how="cross"), by=["model", "segment"], id="id"))
    assert {"caption"} <= {tag for tag, _ in read.tags}
    for rows in (read.tables()[AREAS], read.tables()[METRICS]):
        assert {(row["segment"], row["model"]) for row in rows} == {
            (segment, name) for segment in ("east", "west") for name in names
        }
    pairs = {(row["segment"], row["model a"], row["model b"]) for row in read.tables()[PAIRS]}
    assert pairs == {
        (segment, *sorted(pair))
        for segment in ("east", "west")
        for pair in itertools.combinations(names, 2)
    }
    assert not any("−" in spec["description"] for spec in read.specs())


def test_each_area_says_whether_it_is_pooled_or_a_mean():
    vote = rf.datasets.vote().filter(pl.col("model").str.starts_with("l"))
    read = Reader(write(vote, by=["model", "fold"], id="id", kind="roc", dashboard=True))
    titles = list(read.tables()[MEAN_AREAS][0])
    assert [title for title in titles if "AUC" in title] == [
        *("pooled AUC", "mean AUC", "95 % interval of the mean AUC", "AUC of mean curve")
    ]
    assert any(text.startswith("The curves and AUCs are pooled over fold.") for text in read.text)
