"""A marimo notebook: the numbers of a dashboard, with sliders. Run `marimo edit dashboard.py`."""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    import rocframe as rf

    votes = rf.datasets.vote().filter(model="logistic_regression")
    curve = rf.curve(votes, "label", "score", metrics=["precision", "accuracy"])
    return curve, mo, rf, votes


@app.cell
def _(mo):
    threshold = mo.ui.slider(0, 1, 0.01, value=0.5, label="threshold", show_value=True)
    ratio = mo.ui.slider(1, 20, value=5, label="cost of a false negative", show_value=True)
    prevalence = mo.ui.slider(0.01, 0.99, 0.01, value=0.42, label="prevalence", show_value=True)
    mo.vstack([threshold, ratio, prevalence])
    return prevalence, ratio, threshold


@app.cell
def _(curve, threshold):
    point = curve.roc.at(threshold=threshold.value)
    point.select("threshold", "tp", "fp", "fn", "tn", "tpr", "fpr", "precision", "accuracy")
    return (point,)


@app.cell
def _(curve, prevalence, ratio):
    costs = {"fp": 1, "fn": ratio.value}
    best = curve.roc.operating_point("expected_cost", costs=costs, prevalence=prevalence.value)
    best.select("threshold", "tpr", "fpr", expected_cost="value")
    return best, costs


@app.cell
def _(costs, curve, mo, prevalence, threshold):
    # marimo draws the chart with its own copy of Vega, which needs no network.
    lines = curve.roc.iso_lines(costs=costs, prevalence=prevalence.value)
    chart = (
        curve.roc.chart()
        + curve.roc.at(threshold=threshold.value).roc.chart()
        + curve.roc.hull().roc.chart()
        + lines.roc.chart()
    )
    mo.ui.altair_chart(chart, chart_selection=False, legend_selection=False)
    return (chart,)


if __name__ == "__main__":
    app.run()
