"""Write docs/llms.txt, the API in a short form for programs that write code: `python docs/llms.py`.

The build of the documentation copies the file to the root of the site.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import rocframe as rf

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
PATH = HERE / "llms.txt"
# Parameters that the introduction explains, and other names of parameters.
SHARED = {"by", "total", "positive", "weight", "count", "missing", "cluster", "n_boot", "seed"}
SHARED |= {"level", "unmatched"}
SYNONYMS = {"sensitivity", "specificity", "recall", "hit_rate", "fall_out", "miss_rate"}
SYNONYMS |= {"rpp", "yrate", "rnp", "tnr", "fnr"}
MAX_COLUMNS = 4  # of the columns of a table
OPTIONAL_COLUMNS = {"model", "over", "side"}

INTRODUCTION = """\
# rocframe

rocframe computes ROC, precision-recall, lift, cost and calibration curves of binary classifiers,
and areas, intervals, tests, thresholds, drift, averages over folds, charts and reports. Tables of
predictions go in, polars tables come out. Install it with `pip install rocframe`, and import it
with `import rocframe as rf`.

Rules:

- Input: one row per prediction, with a label (Boolean or 0/1, else `positive=`) and a score
  (higher is more positive). A DataFrame, a LazyFrame (the result is lazy, collect it), or a
  pandas, pyarrow or DuckDB table.
- The first arguments are positional (table, label, score); all arguments after `*` are
  keyword-only.
- Several models: a long table with a column `model` and `by="model"`, or a list of score columns,
  which adds the column `model`. Functions that compare models need `id=` for long tables, which
  names the columns that identify an instance.
- `by=` names group columns. The result has one row per group, or more for curves; group columns
  are first.
- `positive=`, `weight=`, `count=`, `missing="raise" | "drop" | "worst"`, `cluster=` (dependent
  rows), `level=0.95`, `n_boot=`, `seed=` and `total=` (adds rows of all groups together) mean the
  same everywhere they exist.
- A row is predicted positive if `score >= threshold`. Undefined results are null, and `note` has
  the reason.
- Curves (`curve`) feed all functions whose first argument is `curves`: never filter rows of a
  curve, filter groups.
- `rf.f(table, …)` is also `table.roc.f(…)`, on DataFrames and LazyFrames.
- Rates are named `tpr` (`recall`, `sensitivity`), `fpr`, `tnr` (`specificity`), `precision`,
  `alert_rate`; ranges are tuples such as `fpr=(0, 0.1)`.

The signatures leave out the arguments that are explained here, and other names of rates. After the
arrow are the first columns of the result; the group columns are left of them.
"""

EXPRESSIONS = """\
## Expressions

`pl.col("score").roc.f(label, …)` in `select`, `group_by` and `over`. All accept `positive=`,
`weight=` and `count=`. They never raise errors that depend on data.
"""

RECIPES = """\
## Recipes

```python
import polars as pl
import rocframe as rf

votes = rf.datasets.vote()  # one row per model and person: id, model, fold, label, score, …
two = votes.filter(pl.col("model").is_in(["random_forest", "naive_bayes"]))
```

From `predict_proba` of two models to a long table, and the AUC of each model with limits:

```python
probability = {"a": [0.9, 0.2, 0.6, 0.4], "b": [0.7, 0.4, 0.3, 0.1]}  # model.predict_proba(X)[:, 1]
wide = pl.DataFrame({"id": range(4), "label": [1, 0, 1, 0], **probability})
long = wide.unpivot(["a", "b"], index=["id", "label"], variable_name="model", value_name="score")
rf.auc(long, "label", "score", by="model")
```

Is a model better than the baseline? Paired rows need `id`:

```python
rf.compare(two, "label", "score", id="id", baseline="naive_bayes")
rf.compare(two, "label", "score", id="id", metric="recall", alerts=200, n_boot=200, seed=1)
```

Curves, a chart, and a file:

```python
curves = rf.curve(two, "label", "score", by="model")
chart = rf.chart(curves) + rf.chart(rf.hull(curves))
rf.save_chart(chart, "roc.html")
rf.chart(curves, kind="precision_recall")
```

The best threshold: by a rule, by costs, or under a constraint; and given ones:

```python
rf.operating_point(curves, "youden")
rf.operating_point(curves, "expected_cost", costs={"fp": 1, "fn": 5}, prevalence=0.1)
rf.operating_point(curves, "recall", subject_to={"precision": (0.9, None)})
rf.at(curves, fpr=0.05)
```

Metrics at a threshold, with limits:

```python
rf.intervals(two, "label", "score", by="model", metrics=["precision", "recall"], threshold=0.5)
```

Folds: mean AUC, mean curve, and a chart:

```python
rf.fold_auc(votes, "label", "score", over="fold", by="model")
folds = rf.curve(votes, "label", "score", by=["model", "fold"])
rf.chart(rf.average(folds, over="fold"))
```

Probabilities: calibration with limits, one row of measures, and recalibrated scores of other folds:

```python
rf.chart(rf.calibration(two, "label", "score", by="model", ci="wilson"))
rf.calibration_summary(two, "label", "score", by="model")
fit = rf.fit_calibration(two, "label", "score", by="model", over="fold", method="logistic")
rf.apply_calibration(two, "score", fit)
```

Drift: the AUC of each month against the first month:

```python
rain = rf.windows(rf.datasets.rain(), "day", every="1mo")
rf.chart(rf.drift(rain, "label", "score", over="window", by="model"))
```

Many classes: one against the rest, and averages over the classes:

```python
digits = rf.datasets.digits()
scores = {digit: f"p{digit}" for digit in range(10)}
rest = rf.one_vs_rest(digits, "label", scores, id="id", keep="model")
rf.auc(rest, "label", "score", by=["model", "class"])
rf.multiclass_auc(digits, "label", scores, by="model", ci=None)
```

A large log: compress it in a lazy query, and keep the small table. A report for colleagues:

```python
log = votes.lazy()  # or pl.scan_parquet("log/*.parquet")
small = log.roc.compress("label", "score", by=["model", "fold"], resolution=0.001).collect()
rf.write(small, "small.parquet")
rf.auc(rf.read("small.parquet"), "label", "score", by="model", count="count")
rf.report(two, "label", "score", by="model", id="id", path="report.html")
```
"""


def functions() -> dict[str, list[str]]:
    """Return the names of the functions on the API page, by the titles of their sections."""
    page = (HERE / "api.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    found = {}
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        names = re.findall(r"^ +rocframe\.(\w+)$", text, flags=re.MULTILINE)
        found[title] = [name for name in names if inspect.isfunction(getattr(rf, name))]
    return {title: names for title, names in found.items() if names}


def signature(function: Callable[..., object], omitted: set[str]) -> str:
    """Return the names of the parameters of a function, except those that are omitted."""
    names: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in omitted:
            continue
        if parameter.kind == parameter.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        names.append(name if parameter.default is parameter.empty else f"{name}=")
    return ", ".join(names)


def columns(name: str) -> str:
    """Return the first columns of the table that a function returns, as text after its meaning."""
    path = HERE / "reference" / f"{name}.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    table = re.search(r"\n\| column \|.*\n.*\n((?:\|.*\n)+)", text)
    if table is None:
        return ""
    cells = "".join(row.split("|")[1] for row in table[1].splitlines())
    names = [n for n in re.findall(r"`([a-z]\w+)`", cells) if n not in OPTIONAL_COLUMNS]
    return f" → {', '.join(names[:MAX_COLUMNS])}" if names else ""


def summary(function: Callable[..., object]) -> str:
    """Return the first line of a docstring, without its period and without "Compute the"."""
    line = (inspect.getdoc(function) or "").splitlines()[0].removesuffix(".")
    line = re.sub(r"^(?:Compute|Return) (?:the |a )?", "", line)
    return line[0].upper() + line[1:]


def text() -> str:
    """Return the text of the file."""
    lines = [INTRODUCTION]
    for title, names in functions().items():
        lines += [f"## {title}", ""]
        for name in names:
            function = getattr(rf, name)
            call = signature(function, SHARED | SYNONYMS)
            lines.append(f"- `{name}({call})`: {summary(function)}{columns(name)}")
        lines.append("")
    lines += [EXPRESSIONS]
    accessor = pl.col("score").roc
    for name in vars(rf.RocExpr):
        if not name.startswith("_"):
            method = getattr(accessor, name)
            call = signature(method, SHARED)
            lines.append(f"- `{name}({call})`: {summary(method)}")
    return "\n".join([*lines, "", RECIPES])


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
