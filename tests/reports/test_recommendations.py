from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from rocframe.reports.recommendations import costs_text, recommendations
from rocframe.reports.report import ReportOptions
from rocframe.reports.report_tables import areas_and_curves, report_tables

LOG = pl.DataFrame(
    {
        "label": [1, 0, 1, 0, 0, 1, 0, 0],
        "score": [0.9, 0.6, 0.4, 0.3, 0.1, 2 / 3, 0.5, 0.2],
        "model": ["a"] * 5 + ["b"] * 3,
        "fold": [1, 1, 2, 2, 2, 1, 2, 2],
    }
)


def recommended(log=LOG, **options):
    options = ReportOptions(label="label", score="score", **options)
    return recommendations(report_tables(log, options, *areas_and_curves(log, options)), options)


def test_without_costs_nothing_is_recommended():
    assert recommended() is None


def test_the_threshold_and_its_effect_are_stated_per_model():
    result = recommended(by="model", costs={"fp": 1, "fn": 5})
    # Model a: tp = 2, fp = 1, fn = 0, tn = 2 at 0.4. Without alerts, 2 of 5 rows cost 5; if all
    # rows are alerts, 3 of 5 rows cost 1.
    assert result.groups == [
        (
            "a",
            (
                "predict positive if score ≥ 0.4. Of 100 rows, 60 are alerts; recall 1.00, "
                "precision 0.67; expected cost 0.2 per row (never alerting: 2, always alerting: "
                "0.6)."
            ),
        ),
        (
            "b",
            (
                "predict positive if score ≥ 0.666667. Of 100 rows, 33.3 are alerts; recall 1.00, "
                "precision 1.00; expected cost 0 per row (never alerting: 1.67, always alerting: "
                "0.667)."
            ),
        ),
    ]
    assert result.introduction == (
        "Costs: 1 per false positive and 5 per false negative. These thresholds have the lowest "
        "expected cost per row."
    )
    assert result.remarks == [
        (
            "Threshold and numbers are computed from the same rows. The numbers are therefore "
            "optimistic: expect a higher cost on other data."
        ),
        (
            "Thresholds are rounded to 6 significant digits; the function operating_point returns "
            "all digits."
        ),
    ]


def test_folds_of_a_model_are_pooled():
    folds = recommended(by=["model", "fold"], costs={"fp": 1, "fn": 5})
    assert folds.groups == recommended(by="model", costs={"fp": 1, "fn": 5}).groups
    assert folds.remarks[0] == (
        "The rows are pooled over fold: one threshold for all values of fold."
    )


def test_costs_and_precision_are_those_at_the_prevalence():
    result = recommended(LOG.filter(model="a"), costs={"fp": 1, "fn": 5}, prevalence=0.25)
    # TPR 1 and FPR 1/3 at 0.4: alerts 0.25 + 0.25 = 0.5, cost 0.25, without alerts 0.25 * 5.
    assert result.groups == [
        (
            "",
            (
                "predict positive if score ≥ 0.4. Of 100 rows, 50 are alerts; recall 1.00, "
                "precision 0.50; expected cost 0.25 per row (never alerting: 1.25, "
                "always alerting: 0.75)."
            ),
        )
    ]
    assert result.introduction.endswith("per row, at a prevalence of 0.25.")


def test_all_four_costs_count():
    costs = {"tp": 1, "fp": 3, "fn": 6, "tn": -1}
    text = recommended(LOG.filter(model="a"), costs=costs).groups[0][1]
    curves = rf.curve(LOG.filter(model="a"), "label", "score")
    best = rf.operating_point(curves, "expected_cost", costs=costs)
    assert f"expected cost {best['value'].item():.3g} per row".replace("-", "−") in text
    # Never: (2 * 6 - 3) / 5 = 1.8. Always: (2 * 1 + 3 * 3) / 5 = 2.2.
    assert text.endswith("(never alerting: 1.8, always alerting: 2.2).")
    assert costs_text(costs) == (
        "1 per true positive, 3 per false positive, 6 per false negative and −1 per true negative"
    )


def test_costs_and_prevalence_have_all_digits_and_computed_costs_three():
    costs = {"fp": 999.7, "fn": 12345.5, "tp": 1.2345e-5, "tn": -1000}
    result = recommended(LOG.filter(model="a"), costs=costs, prevalence=0.12345)
    assert result.introduction == (
        "Costs: 1.2345e−05 per true positive, 999.7 per false positive, 12,345.5 per false "
        "negative and −1,000 per true negative. These thresholds have the lowest expected cost per "
        "row, at a prevalence of 0.12345."
    )
    result = recommended(LOG.filter(model="a"), costs={"fp": 999.7, "fn": 1666})
    # Always alerting: 3 * 999.7 / 5 = 599.82; never: 2 * 1666 / 5 = 666.4.
    assert result.groups[0][1].endswith("(never alerting: 666, always alerting: 600).")
    result = recommended(LOG.filter(model="a"), costs={"fn": 2499.3})
    assert "(never alerting: 1,000, always alerting: 0)." in result.groups[0][1]


def test_it_can_be_best_never_to_alert():
    log = LOG.filter(model="a").with_columns(-pl.col("score"))
    assert recommended(log, costs={"fp": 9, "fn": 1}).groups[0][1] == (
        "never predict positive; no threshold has a lower cost. Effect: expected cost 0.4 per row "
        "(never alerting: 0.4, always alerting: 5.4)."
    )


def test_an_infinite_score_is_a_threshold():
    log = pl.DataFrame({"label": [1, 0, 1, 0], "score": [float("inf"), 0.4, 0.3, 0.2]})
    assert recommended(log, costs={"fp": 10, "fn": 1}).groups[0][1] == (
        "predict positive if score ≥ ∞. Of 100 rows, 25 are alerts; recall 0.50, precision 1.00; "
        "expected cost 0.25 per row (never alerting: 0.5, always alerting: 5)."
    )
    # A negative without a score is a false positive at every threshold.
    missing = pl.DataFrame({"label": [1, 0, 0, 0], "score": [0.1, 0.4, 0.3, None]})
    result = recommended(missing, costs={"fp": 10, "fn": 1}, missing="worst")
    assert result.groups[0][1].startswith("never predict positive; ")


def test_groups_without_a_class_have_no_recommendation():
    log = LOG.with_columns(label=pl.when(pl.col("model") == "b").then(0).otherwise("label"))
    result = recommended(log, by="model", costs={"fn": 5, "fp": 1})
    assert result.groups[1] == ("b", "no recommendation, because there are no positives.")


def test_long_lists_are_cut_off():
    log = pl.concat([LOG.with_columns(model=pl.lit(f"m{i:02}")) for i in range(45)])
    result = recommended(log, by="model", costs={"fp": 1, "fn": 5})
    assert len(result.groups) == 40
    assert result.remarks[-1] == "Not shown here: 5 groups."


def test_weights_are_sums_of_weights():
    costs = {"fp": 1, "fn": 5}
    log = LOG.with_columns(weight=0.5)
    assert recommended(log, costs=costs, weight="weight").groups == recommended(costs=costs).groups


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"prevalence": 0.1},
            (
                "prevalence=0.1: a prevalence has no effect without costs.\n"
                'Pass costs={"fp": 1, "fn": 5} as well, or do not set a prevalence.'
            ),
        ),
        ({"costs": {"fp": 1}, "prevalence": 1}, "prevalence=1: expected a number above 0 and bel"),
        ({"costs": {"fp": -1}}, "costs={'fp': -1}: errors must cost more than correct predictions"),
        ({"costs": {"fq": 1}}, "costs='fq': unknown value."),
        ({"costs": 5}, "costs=5: expected a dict of costs."),
    ],
)
def test_invalid_costs_are_errors(options, message):
    with pytest.raises(rf.RocframeError) as info:
        recommended(**options)
    assert str(info.value).startswith(message)


def test_the_page_starts_with_the_recommended_thresholds(tmp_path):
    pytest.importorskip("vl_convert")
    path = tmp_path / "page.html"
    rf.report(LOG.rename({"model": "m<"}), "label", "score", path=path, by="m<",
              costs={"fp": 1, "fn": 5})  # fmt: skip
    page = path.read_text(encoding="utf-8")
    first = page[page.index("<h2") : page.index('<h2 id="areas"')]
    assert first.startswith('<h2 id="recommended">Recommended thresholds</h2>')
    assert "<strong><bdi>a</bdi></strong>: predict positive if score ≥ 0.4." in first
    assert '<a href="#recommended">' in page
    assert "<dt><bdi>Costs</bdi></dt><dd><bdi>1 per false positive and 5 per false" in page
    rf.report(LOG, "label", "score", path=path, costs={"fn": 1}, prevalence=0.12345678)
    page = path.read_text(encoding="utf-8")
    assert "<dt><bdi>Prevalence of the costs</bdi></dt><dd><bdi>0.12345678</bdi></dd>" in page
