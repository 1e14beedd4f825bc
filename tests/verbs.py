"""How to call each public function that computes a table from predictions or from curves.

Tests of properties that all functions have read these records. A function is tested by them as
soon as it has a record. `EXCEPTIONS` contains the other public names, each with the reason.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

import rocframe as rf
from rocframe.frames import column

if TYPE_CHECKING:
    from collections.abc import Mapping

# Scores of three classes, as columns and as probabilities that add up to 1.
CLASS_SCORES = {0: "score", 1: "other", 2: "w"}
CLASS_PROBABILITIES = {
    0: pl.col("score") / 2,
    1: pl.col("other") / 2,
    2: 1 - pl.sum_horizontal("score", "other") / 2,
}
CLASS_LABELS = {i: pl.col("class_number") >= i for i in range(3)}
CLASS_COSTS = {"prior": {"x": 0.2, "y": 0.8}, "costs": {("x", "y"): 5}}
SEED = {"n_boot": 5, "seed": 1}
# Weighted rows are tested by DeLong's method instead of the Mann-Whitney test.
WEIGHTED_COMPARISON = (
    *("lower", "upper", "p_value", "p_adjusted", "ratio_lower", "ratio_upper", "se"),
    *("statistic", "df", "test", "note"),
)
WEIGHTED_TEST = ("test", "se", "statistic", "df", "p_value", "p_adjusted", "note")
# PSI has half a row in empty bins. Tests of weighted rows have effective numbers of rows.
OF_SAMPLE_SIZES = ("psi", "psi_p", "psi_critical", "psi_p_adjusted", "ks_p", "ks_p_adjusted")
OF_SAMPLE_SIZES += ("n_reference",)


@dataclass(frozen=True, slots=True)
class Verb:
    """A function of predictions with its required options."""

    function: str
    options: Mapping[str, Any] = field(default_factory=dict)
    # Two scores `a` and `b` are compared instead of one score.
    two_scores: bool = False
    # The scores of three classes, instead of a score for a positive and a negative class.
    class_scores: Any = None
    # The true classes, if it is not one column.
    class_labels: Any = "class_number"
    # The option `over` names a column of folds.
    over: bool = False
    # The function reads no labels.
    labelled: bool = True
    # The function reads a row for each reading of two readers with two modalities.
    readings: bool = False
    # Only the order of the scores matters, not their values.
    ranks: bool = True
    # P-values are adjusted over all groups, so that they depend on the other groups.
    adjusted: bool = False
    # Roles of the function that the method does not support.
    unsupported: tuple[str, ...] = ()
    # Columns whose formula or method is different if rows have weights.
    other_if_weighted: tuple[str, ...] = ()

    def __call__(
        self,
        frame: Any,
        *,
        label: Any = "label",
        score: Any = "score",
        other: Any = "other",
        over: Any = "fold",
        **roles: Any,
    ) -> Any:
        options = {**self.options, **({"over": over} if self.over else {}), **roles}
        if self.two_scores:
            score = {"a": score, "b": other}
        if self.class_scores is not None:
            label, score = self.class_labels, self.class_scores
        if self.readings:
            frame, score = readings(frame, score, other), "reading"
        labels = (label,) if self.labelled else ()
        return getattr(rf, self.function)(frame, *labels, score, **options)

    def accepts(self, role: str) -> bool:
        parameters = inspect.signature(getattr(rf, self.function)).parameters
        return role in parameters and role not in self.unsupported

    @property
    def draws(self) -> bool:
        """Whether the function draws random numbers."""
        return "seed" in self.options

    @property
    def other_columns(self) -> set[str]:
        """The columns that are read besides one label, one score and the groups."""
        if self.class_scores is CLASS_SCORES:
            return {"other", "w"}
        two = self.two_scores or self.readings or self.class_scores is CLASS_PROBABILITIES
        has_fold = self.over or "fold" in self.options.values()
        return {name for name, read in (("other", two), ("fold", has_fold)) if read}


def readings(frame: Any, score: Any, other: Any) -> Any:
    """Return a table with the score of two readers and modalities, for each row of a table."""
    plan = frame if isinstance(frame, pl.LazyFrame) else pl.DataFrame(frame)
    plan = plan.with_columns(pl.int_range(pl.len()).alias("case"))
    scores = {("a", 1): score, ("b", 1): other, ("a", 2): score, ("b", 2): score}
    parts = [
        plan.with_columns(
            pl.lit(modality).alias("modality"),
            pl.lit(reader).alias("reader_"),
            (column(own) if isinstance(own, str) else own).alias("reading"),
        )
        for (modality, reader), own in scores.items()
    ]
    return pl.concat(parts, how="vertical_relaxed")


@dataclass(frozen=True, slots=True)
class TableVerb:
    """A function of curve tables, or of another table, with its required options."""

    function: str
    options: Mapping[str, Any] = field(default_factory=dict)
    # The curves have a group column of this name: `fold`, `class`, or `model` for two scores.
    key: str | None = None
    kind: str = "roc"
    # The function that is called before, with its options, and the one that computes the table.
    first: tuple[str, Mapping[str, Any]] | None = None
    source: str = "curve"
    ranks: bool = True
    adjusted: bool = False
    draws: bool = False
    other_if_weighted: tuple[str, ...] = ()

    def __call__(self, table: Any, **roles: Any) -> Any:
        if self.first is not None:
            name, options = self.first
            table = getattr(rf, name)(table, **options)
        return getattr(rf, self.function)(table, **self.options, **roles)

    def of_predictions(self, frame: Any, **roles: Any) -> Any:
        """Compute the table of curves from predictions, and call the function."""
        return self(self.table_of(frame, **roles))

    def table_of(self, frame: Any, *, by: Any = None, **roles: Any) -> Any:
        """Compute the table of curves, or the other table that the function reads."""
        keys = [] if by is None else [by] if isinstance(by, str) else list(by)
        if self.key in {"fold", "class"}:
            keys.append(self.key)
        score = {"a": "score", "b": "other"} if self.key == "model" else "score"
        if self.source == "curve":
            roles["kind"] = self.kind
        return getattr(rf, self.source)(frame, "label", score, by=keys or None, **roles)

    def accepts(self, role: str) -> bool:
        if self.source == "calibration" and role == "weight":
            return False  # only the sums of weights of each bin could replace the column `n`
        if "guarantee" in self.options and role == "weight":
            return False  # exact tests require numbers of rows
        return role in inspect.signature(getattr(rf, self.source)).parameters

    @property
    def other_columns(self) -> set[str]:
        return set() if self.key is None else {"other" if self.key == "model" else self.key}


OF_PREDICTIONS = {
    "curve": Verb("curve"),
    "curve with metrics": Verb("curve", {"kind": "pr", "metrics": ["f1", "mcc"]}),
    "curve at thresholds": Verb("curve", {"thresholds": [0.3, 0.7]}, ranks=False),
    "curve, simplified": Verb("curve", {"max_error": 0.1, "metrics": "f1"}),
    "curve of models": Verb("curve", two_scores=True),
    "auc": Verb("auc"),
    "auc without interval": Verb("auc", {"ci": None}),
    "auc, bootstrap": Verb("auc", {"ci": "bootstrap", **SEED}),
    "partial auc": Verb("auc", {"fpr": (0, 0.5), "standardize": "mcclish"}),
    "auc at the top": Verb("auc", {"alert_rate": (0, 0.5), "standardize": "mcclish"}),
    "auc of models": Verb("auc", two_scores=True),
    "summary": Verb("summary", ranks=False),
    "h measure": Verb("h_measure"),
    "h measure of models": Verb("h_measure", {"prior": "prevalence"}, two_scores=True),
    "gains": Verb("gains", {"bins": 3}, ranks=False),
    "gains, whole ties": Verb(
        "gains", {"bins": [0, 0.2, 0.5, 1], "interpolate": False}, ranks=False
    ),
    "gains of models": Verb("gains", {"bins": 2}, two_scores=True, ranks=False),
    "calibration summary": Verb("calibration_summary", ranks=False),
    "calibration summary, uniform bins": Verb(
        "calibration_summary", {"bins": 3, "method": "uniform"}, ranks=False
    ),
    "calibration": Verb(
        "calibration",
        {"bins": 3, "empty_bins": True},
        ranks=False,
        other_if_weighted=("lower", "upper", "ci_level", "ci_method"),
    ),
    "calibration with edges": Verb(
        "calibration",
        {"bins": [0, 0.2, 0.5, 1]},
        ranks=False,
        other_if_weighted=("lower", "upper", "ci_level", "ci_method"),
    ),
    "calibration, isotonic": Verb("calibration", {"method": "isotonic"}, ranks=False),
    "calibration, smooth": Verb(
        "calibration", {"method": "kernel", "consistency": True, **SEED}, ranks=False
    ),
    "fit of calibration": Verb("fit_calibration", ranks=False),
    "fit of calibration, beta": Verb(
        "fit_calibration", {"method": "beta", "smooth_targets": True}, ranks=False
    ),
    "fit of calibration of models over folds": Verb(
        "fit_calibration", two_scores=True, over=True, ranks=False
    ),
    "auc test": Verb("auc_test", {"adjust": None}, other_if_weighted=WEIGHTED_TEST),
    "auc test, adjusted": Verb("auc_test", adjusted=True, other_if_weighted=WEIGHTED_TEST),
    "auc test of models": Verb(
        "auc_test", two_scores=True, adjusted=True, other_if_weighted=WEIGHTED_TEST
    ),
    "areas of many classes": Verb("multiclass_auc", class_scores=CLASS_SCORES, ranks=False),
    "areas of several classes per row": Verb(
        "multiclass_auc", class_scores=CLASS_SCORES, class_labels=CLASS_LABELS, ranks=False
    ),
    "losses of classes": Verb("multiclass_metrics", class_scores=CLASS_PROBABILITIES, ranks=False),
    "metrics of predicted classes": Verb(
        "multiclass_metrics",
        {"metrics": ["kappa", "mcc", "top_2_accuracy", "weighted_precision", "macro_f1"]},
        class_scores=CLASS_SCORES,
        ranks=False,
    ),
    "volume": Verb("volume", {"classes": [0, 1, 2]}, class_scores="score"),
    "volume of sums": Verb("volume", class_scores=CLASS_SCORES, ranks=False),
    "band": Verb("band", {"grid": 5}, unsupported=("weight",)),
    "band, at its points": Verb(
        "band", {"method": "threshold", "grid": "curve"}, unsupported=("weight",)
    ),
    "band of fixed width": Verb("band", {"method": "fixed_width", **SEED}),
    "smooth": Verb("smooth", {"grid": 5}, ranks=False),
    "compare models": Verb("compare", two_scores=True),
    "compare partial areas": Verb("compare", {"fpr": (0, 0.5)}, two_scores=True),
    "compare losses of models": Verb("compare", {"metric": "brier"}, two_scores=True, ranks=False),
    "compare losses of models, unpaired": Verb(
        "compare", {"metric": "log_loss", "method": "t_test_unpaired"}, two_scores=True, ranks=False
    ),
    "compare models by resampling": Verb(
        "compare", {"method": "bootstrap", **SEED}, two_scores=True
    ),
    "replicates of a comparison of models": Verb(
        "compare",
        {"metric": ["auc", "tpr"], "alert_rate": 0.3, "replicates": True, **SEED},
        two_scores=True,
        other_if_weighted=("difference", "estimate_a", "estimate_b"),
    ),
    "compare models by exchanges": Verb(
        "compare",
        {"method": "permutation", "seed": 1, "n_perm": 20},
        two_scores=True,
        ranks=False,
        unsupported=("weight", "count"),
    ),
    "compare models, one family of tests": Verb(
        "compare", {"family": "all"}, two_scores=True, adjusted=True
    ),
    "compare metrics at a threshold": Verb(
        "compare",
        {"metric": ["tpr", "precision", "f1"], "threshold": 0.3},
        two_scores=True,
        ranks=False,
        other_if_weighted=WEIGHTED_COMPARISON,
    ),
    "compare models at an alert rate": Verb(
        "compare",
        {"metric": "recall", "alert_rate": 0.3, **SEED},
        two_scores=True,
        other_if_weighted=("note",),  # the alerts of weighted rows are not counted
    ),
    "compare models by influence values": Verb(
        "compare", {"metric": ["f1", "mcc"], "fpr": 0.3, "method": "delta"}, two_scores=True
    ),
    "compare folds": Verb(
        "compare",
        {"metric": ["tpr", "auc"], "between": "fold", "threshold": 0.3},
        ranks=False,
        unsupported=("weight",),
    ),
    "compare each fold with the rest": Verb(
        "compare",
        {"metric": ["ks", "brier"], "between": "fold", "pairs": "rest", **SEED},
        ranks=False,
        unsupported=("weight",),
    ),
    "gate of models": Verb(
        "gate",
        {"baseline": "a", "margin": 0.1},
        two_scores=True,
        adjusted=True,
        other_if_weighted=("passed", "limit", "p_adjusted", "p_value", "se", "test", "verdict"),
    ),
    "gate of the recall at a threshold": Verb(
        "gate",
        {"baseline": "a", "margin": 0.1, "metric": "recall", "threshold": 0.3},
        two_scores=True,
        ranks=False,
        adjusted=True,
        other_if_weighted=("passed", "limit", "p_adjusted", "p_value", "se", "test", "verdict"),
    ),
    "contrast of models": Verb("contrast", {"adjust": None}, two_scores=True),
    "contrast of models, adjusted": Verb("contrast", two_scores=True, adjusted=True),
    "covariance of models": Verb("auc_covariance", two_scores=True),
    "reader study": Verb("reader_study", {"id": "case", "reader": "reader_"}, readings=True),
    "reader study by the jackknife": Verb(
        "reader_study",
        {"id": "case", "reader": "reader_", "covariance": "jackknife", "fpr": (0, 0.5)},
        readings=True,
    ),
    "hull shares of models": Verb("hull_shares", SEED, two_scores=True),
    "decision intervals of models": Verb(
        "decision_intervals", {"kind": "cost", "grid": 0.5, **SEED}, two_scores=True
    ),
    "drift over folds": Verb("drift", {"adjust": None}, over=True),
    "drift of models over folds": Verb(
        "drift",
        {"family": "all", "reference": "previous"},
        two_scores=True,
        over=True,
        adjusted=True,
    ),
    "test of drift over folds": Verb("drift_test", {"adjust": None}, over=True),
    "test of drift of models over folds": Verb(
        "drift_test", two_scores=True, over=True, adjusted=True
    ),
    "drift of scores over folds": Verb(
        "score_drift",
        {"adjust": None},
        over=True,
        labelled=False,
        ranks=False,
        other_if_weighted=OF_SAMPLE_SIZES,
    ),
    "drift of scores of models over folds": Verb(
        "score_drift",
        {"bins": [0, 0.2, 0.4, 1], "family": "all", "reference": "previous"},
        two_scores=True,
        over=True,
        labelled=False,
        ranks=False,
        adjusted=True,
        other_if_weighted=OF_SAMPLE_SIZES,
    ),
    "fold auc": Verb("fold_auc", over=True),
    "pooling gap": Verb("pooling_gap", over=True),
    "combined decisions of models": Verb(
        "combine", {"threshold": 0.3}, two_scores=True, ranks=False
    ),
    "chain of models": Verb("chain", {"threshold": 0.3}, two_scores=True, ranks=False),
    "intervals": Verb("intervals", {"metrics": ["precision", "f1"], "fpr": 0.3, **SEED}),
    "intervals at numbers of alerts": Verb(
        "intervals",
        {"metrics": ["tpr", "threshold"], "alerts": [1, 2], **SEED},
        ranks=False,
        other_if_weighted=("ci_method",),  # null if all resamples are equal
    ),
    "intervals of h measures": Verb("intervals", {"metrics": "h_measure", **SEED}),
    "replicates of intervals": Verb(
        "intervals",
        {"metrics": ["auc", "precision"], "fpr": 0.3, "replicates": True, **SEED},
        other_if_weighted=("value",),
    ),
    "intervals of proportions": Verb(
        "intervals",
        {"metrics": "tpr", "threshold": 0.3, "ci": "wilson"},
        ranks=False,
        unsupported=("weight",),
    ),
}

OF_CURVES = {
    "at": TableVerb("at", {"fpr": [0.1, 0.5]}),
    "at numbers of alerts": TableVerb("at", {"alerts": [1, 2.5]}),
    "at thresholds": TableVerb("at", {"threshold": 0.5}, ranks=False),
    "at, between rows": TableVerb("at", {"tpr": [0.1, 0.5], "interpolate": True}),
    "operating point": TableVerb(
        "operating_point", {"rule": ["youden", "f1"], "subject_to": {"fpr": (0, 0.5)}}
    ),
    "operating point with a guarantee": TableVerb(
        "operating_point",
        {"rule": ["youden", "recall"], "subject_to": {"fpr": (0, 0.7)}, "guarantee": 0.6},
    ),
    "operating points of classes": TableVerb(
        "operating_point", {"rule": "expected_cost", **CLASS_COSTS}, key="class"
    ),
    "metrics": TableVerb("add_metrics", {"metrics": ["f1", "alerts"], "prevalence": 0.1}),
    "metrics of classes": TableVerb(
        "add_metrics", {"metrics": ["precision", "expected_cost"], **CLASS_COSTS}, key="class"
    ),
    "transfer over folds": TableVerb("transfer", key="fold"),
    "combined points of models": TableVerb(
        "combine_points", key="model", first=("at", {"fpr": 0.3})
    ),
    "concavities": TableVerb("concavities"),
    "repaired auc over folds": TableVerb("repaired_auc", key="fold", ranks=False),
    "hull": TableVerb("hull"),
    "ties": TableVerb("ties"),
    "tie bounds": TableVerb("tie_bounds", other_if_weighted=("pessimistic",)),
    "lines of equal cost": TableVerb("iso_lines", {"kind": "gain"}),
    "mix": TableVerb("mix", {"alert_rate": [0.1, 0.5]}),
    "cost curve": TableVerb("cost_curve", {"grid": 5}),
    "cost curve at its vertices": TableVerb("cost_curve", {"grid": "vertices"}),
    "relative superiority of models": TableVerb(
        "relative_superiority", {"across": "model"}, key="model"
    ),
    "lc index of models": TableVerb(
        "lc_index", {"across": "model", "cost_ratio": (0.1, 0.5, 2)}, key="model"
    ),
    "curve from calibration": TableVerb(
        "curve_from_calibration", source="calibration", ranks=False
    ),
    "decision curve": TableVerb("decision_curve", {"thresholds": [0.1, 0.3]}, ranks=False),
    "murphy curve": TableVerb("murphy_curve", {"grid": "vertices"}, ranks=False),
    "simplify": TableVerb("simplify", {"max_error": 0.1, "keep": 0.5}, ranks=False),
    "simplify precision-recall": TableVerb("simplify", {"max_error": 0.1}, kind="pr"),
    "area": TableVerb("area"),
    "average": TableVerb("average", key="fold"),
    "average at thresholds": TableVerb("average", {"method": "threshold"}, key="fold", ranks=False),
    "average, pooled": TableVerb("average", {"method": "pooled"}, key="fold"),
    "average of metrics": TableVerb(
        "average", {"fixed": "accuracy", "metrics": ["f1", "npv"], "grid": 5}, key="fold"
    ),
    "average, pooled, at rates": TableVerb(
        "average",
        {"method": "pooled", "fixed": "tpr", "metrics": ["precision", "npv"], "grid": 5},
        key="fold",
    ),
    "area of an average": TableVerb("area", key="fold", first=("average", {"grid": "union"})),
    "areas pooled over folds": TableVerb(
        "pool_imputations",
        {"over": "fold"},
        key="fold",
        source="auc",
        other_if_weighted=("df", "fraction_missing", "within_variance", "relative_increase"),
    ),
    "area of smooth curves": TableVerb("area", source="smooth"),
    "operating point of smooth curves": TableVerb(
        "operating_point", {"rule": ["youden", "f1"]}, source="smooth"
    ),
    "hull of smooth curves": TableVerb("hull", source="smooth"),
    "cost curve of smooth curves": TableVerb("cost_curve", {"grid": 5}, source="smooth"),
    "area of precision-recall": TableVerb("area", {"kind": "pr"}, kind="pr"),
    "partial area of both axes": TableVerb("area", {"x": (0, 0.4), "y": (0.5, 1)}),
    "partial area of precision-recall": TableVerb("area", {"x": (0, 0.7)}, kind="pr"),
}

# Names in `rf.__all__` that have no record here, with the reason. Exceptions need none.
EXCEPTIONS = {
    **dict.fromkeys(["__version__", "datasets"], "not a function"),
    **dict.fromkeys(["read", "scan", "write", "about"], "files: tests/test_storage.py"),
    **dict.fromkeys(["chart", "dashboard"], "returns a chart: tests/charts"),
    **dict.fromkeys(
        ["chart_bundle", "chart_fragment", "report", "save_chart"],
        "writes or returns a page or a picture: tests/reports",
    ),
    **dict.fromkeys(
        ["detectable_difference", "power", "sample_size", "theoretical_curve"],
        "reads no table: tests/planning, tests/bands",
    ),
    **dict.fromkeys(
        ["apply_calibration", "draw_decisions", "repair_scores"],
        "returns the rows of the predictions, without groups, and reads a second table: "
        "tests/probabilities, tests/decisions",
    ),
    **dict.fromkeys(
        ["one_vs_one", "one_vs_rest", "top_label"],
        "returns predictions, without groups: tests/classes",
    ),
    "windows": "returns predictions, without groups: tests/test_windows.py",
    "compress": "returns predictions: tests/compression",
    "confusion_matrix": "reads decisions instead of scores: tests/decisions/test_confusion_matrix",
    "expand_counts": "reads confusion matrices: tests/decisions/test_confusion_matrix",
}

# Functions with group columns among the exceptions, called with Boolean scores.
OTHERS_BY_GROUP = {
    "compress": Verb("compress"),
    "confusion matrix": Verb("confusion_matrix"),
    "expanded counts": TableVerb("expand_counts", source="confusion_matrix"),
    "chart": TableVerb("chart"),
    "dashboard": TableVerb("dashboard"),
}
