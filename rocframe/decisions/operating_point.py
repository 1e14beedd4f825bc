"""The function `operating_point`: the rules, and the best threshold of each curve by a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.curves.at import point_axis, rows_at
from rocframe.curves.table import (
    check_counts,
    check_new_columns,
    curve_layout,
    read_curves,
    score_outside_unit,
)
from rocframe.decisions.constraints import (
    CONSTRAINED,
    Constraint,
    allowed_rows,
    check_guarantee,
    parse_constraints,
)
from rocframe.decisions.costs import (
    CLOSEST_TOP_LEFT,
    EQUAL_ERROR,
    YOUDEN,
    ClassCosts,
    CurveRows,
    ErrorCosts,
    Rule,
    best_rows,
    check_class_key,
    cost_rule,
    linear_gain,
)
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, column, lazy_plan, take_rows, through_node
from rocframe.inference import class_notes
from rocframe.kernel.arrays import run_parallel, split_groups
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kinds import expression_name, parse_metric, parse_metrics
from rocframe.options import (
    check_choice,
    check_flag,
    check_supported,
    exact_fraction,
    parse_fraction,
    parse_number,
    public,
)
from rocframe.rates import CONFUSION, COSTS_HINT, NAMES, RATES, Rate, Settings, fnr, fpr
from rocframe.schemas.curves import HULL_RANGES, OPTIMA_COLUMNS, RULE_COLUMNS, SIMPLIFICATION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.table import CurveLayout, Curves
    from rocframe.decisions.costs import ClassShares, PairCosts
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By


@public
def operating_point(
    curves: FrameT,
    /,
    rule: str | pl.Expr | Sequence[str | pl.Expr] = "youden",
    *,
    costs: Mapping[str, float] | PairCosts | None = None,
    benefits: Mapping[str, float] | None = None,
    prevalence: float | None = None,
    prior: ClassShares | None = None,
    subject_to: Mapping[str, Sequence[float | None]] | None = None,
    guarantee: float | None = None,
    minimize: bool | None = None,
    beta: float = 1.0,
    by: By = None,
) -> FrameT:
    """Return the best threshold of each curve by a rule, under constraints.

    Rows with `score >= threshold` are predicted positive. Only thresholds in the table are
    candidates. On the data that were used to choose a threshold, its metrics are too optimistic:
    measure them on other data, for example with `transfer`.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    rule : str, Expr or sequence of these, default "youden"
        What the threshold optimizes; the result has a row for each of several rules.

        - `"youden"`: highest TPR - FPR.
        - `"closest_top_left"`: lowest distance to the point (0, 1) of the ROC plane.
        - `"equal_error"`: lowest absolute difference of FPR and FNR.
        - `"expected_cost"`: lowest cost per row, with `costs=`.
        - `"profit"`: highest profit per row, with `benefits=`.
        - `"bayes"`: the threshold of lowest cost for calibrated probabilities, with `costs=`.
        - Any metric of `curve`, such as `"f1"`: the best value of the metric.
        - A named expression over `threshold`, `tp`, `fp`, `fn`, `tn` and rates: its highest value.
    costs : mapping or square matrix, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, such as `{"fp": 1, "fn": 5}`; 0 if not given. With
        `prior=`, also costs of pairs of classes: `{("a", "b"): 5}` for predicting b for class a,
        all others 1; or a matrix with a row for each true and a column for each predicted class.
    benefits : mapping of str to float, default None
        Benefits of one `tp`, `fp`, `fn` and `tn`, such as `{"tp": 20, "fp": -1}`; 0 if not given.
    prevalence : float, default None
        Prevalence, between 0 and 1, for rules and constraints; counts do not change. By default
        that passed to `curve`, or else that of each curve.
    prior : mapping, default None
        Share of each class, summing to 1, for curves with a group column `class`: the prevalence of
        each curve is the share of its class.
    subject_to : mapping of str to sequence, default None
        Constraints: the lowest and highest allowed value of metrics, such as `{"precision": (0.9,
        1)}`, with None for no limit. `"alerts"` is `tp + fp`, also at a given prevalence, and
        `"threshold"` the threshold itself. An undefined metric does not meet its constraint.
    guarantee : float, default None
        Confidence, such as 0.95, with which the constraints hold on new data; for proportions of
        independent rows without weights, such as `"precision"`. By default, they hold on this data.
    minimize : bool, default None
        Whether a metric or expression is minimized; by default, a metric is optimized in its better
        direction (required if it has none, as `"alert_rate"`), and an expression is maximized.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and rule, in the order of the rules: `*by, rule, value`, then the columns
        of the curve table, then `n_optima, note`.

        - `value` (Float64) is the metric or expression of the `rule` at the chosen row: the
          distance for `"closest_top_left"`, the mean of FPR and FNR for `"equal_error"`, and the
          cost per row for `"expected_cost"` and `"bayes"`.
        - `n_optima` (Int64) is the number of rows with the best value, of which the one with the
          highest threshold is returned.

        If a rule is undefined, or if no row meets the constraints, `value` and the columns of the
        curve are null and `n_optima` is 0. On curves of one class, rules and constraints that need
        both classes are undefined, such as `"f1"`. `note` (String) is null, or the first of these
        values that applies: `no_rows, no_positives, no_negatives, one_positive, one_negative,
        no_solution`.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks rows, if a rule or metric is unknown, if
        an option is invalid, missing or unused, or if an error costs less than a correct
        prediction.

    See Also
    --------
    at : The row at a given threshold or rate.
    intervals : Confidence intervals of metrics at given thresholds or rates.

    Notes
    -----
    `"bayes"` returns the row of `at(threshold=t)` with t = c_fp / (c_fp + c_fn), the costs of
    errors minus those of correct predictions of the same class. Rounding errors do not change the
    choice of a row, and a row on a limit of `subject_to` meets the constraint.

    With `guarantee`, the probability that a true metric at the chosen threshold violates its limit
    is at most 1 - `guarantee`: exact binomial tests (Clopper and Pearson) in a fixed sequence of
    thresholds, and Bonferroni's correction for several limits. The new data must be of the same
    population. With too few rows, no threshold has the guarantee (`no_solution`). Rates that only
    rise or fall with the threshold, such as the TPR, need a single test. For precision, FDR, NPV
    and the false omission rate, the sequence starts at few predictions, ends with the first test
    that does not reject, and starts again at 3, 9 and 27 times as many, with a small part of the
    error probability. Accuracy, error rate and Jaccard index have ten sequences, which start at
    each tenth of the alert rate, with a tenth of the error probability each.

    References
    ----------
    - T. Fawcett (2006), Pattern Recognition Letters 27, section 4. doi:10.1016/j.patrec.2005.10.010
    - W. J. Youden (1950), Cancer 3(1), 32-35.
      doi:10.1002/1097-0142(1950)3:1<32::AID-CNCR2820030106>3.0.CO;2-3
    - A. N. Angelopoulos et al. (2021), "Learn then test". arXiv:2110.01052
    - C. Elkan (2001), "The foundations of cost-sensitive learning", IJCAI, 973-978.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.9, 0.6, 0.4, 0.4, 0.1]
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0, 0], "score": scores})
    >>> curves = rf.curve(predictions, "label", "score")
    >>> best = rf.operating_point(curves, "expected_cost", costs={"fp": 1, "fn": 5})
    >>> best.select("rule", "value", "threshold", "tp", "fp", "n_optima")
    shape: (1, 6)
    ┌───────────────┬───────┬───────────┬─────┬─────┬──────────┐
    │ rule          ┆ value ┆ threshold ┆ tp  ┆ fp  ┆ n_optima │
    │ ---           ┆ ---   ┆ ---       ┆ --- ┆ --- ┆ ---      │
    │ str           ┆ f64   ┆ f64       ┆ i64 ┆ i64 ┆ i64      │
    ╞═══════════════╪═══════╪═══════════╪═════╪═════╪══════════╡
    │ expected_cost ┆ 0.4   ┆ 0.4       ┆ 2   ┆ 2   ┆ 1        │
    └───────────────┴───────┴───────────┴─────┴─────┴──────────┘

    The threshold of the highest recall with at most two alerts:

    >>> curves.roc.operating_point("recall", subject_to={"alerts": (0, 2)})["threshold"].item()
    0.9
    """
    classes = ClassCosts.parse(prior, costs)
    settings_by_class: dict[Any, dict[str, Any]] = {
        None: {"costs": costs, "prevalence": prevalence}
    }
    if classes is not None:
        hint = "Leave out prior= or prevalence=."
        check_supported("prevalence", prevalence, "prior=", hint=hint)
        settings_by_class = {name: classes.settings_of(name) for name in classes.prior}
    shared: dict[str, Any] = {"prior": prior, "benefits": benefits, "minimize": minimize}
    shared |= {"subject_to": subject_to, "guarantee": guarantee, "beta": beta}
    options = {
        name: RuleOptions.parse(rule, **shared, **settings)
        for name, settings in settings_by_class.items()
    }

    def find_points(frame: pl.DataFrame, table: CurveLayout) -> pl.DataFrame:
        if classes is None or frame.is_empty():
            return best_points(read_curves(frame, table), next(iter(options.values())))
        parts = [
            best_points(read_curves(rows, table), options[name])
            for name, rows in classes.split(frame)
        ]
        return pl.concat(parts).sort(*(column(name) for name in table.by), maintain_order=True)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        table = curve_layout(schema, by, (*RULE_COLUMNS, *OPTIMA_COLUMNS))
        check_new_columns(table.row, (*RULE_COLUMNS, *OPTIMA_COLUMNS), "operating_point")
        row = {*table.row}
        if guarantee is not None and ({*SIMPLIFICATION} <= row or {*HULL_RANGES} <= row):
            problem = "the rows of simplified curves and of hulls depend on the labels"
            hint = "Use complete curves without max_error=, or leave out guarantee=."
            raise OptionValueError.compose("guarantee", guarantee, problem, hint)
        if classes is not None:
            check_class_key(table.by)
        return through_node(
            plan.select(table.all_columns),
            lambda frame: find_points(frame, table),
            schema={**table.keys, **RULE_COLUMNS, **table.row, **OPTIMA_COLUMNS},
            by=table.by,
            anchor="rule",
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


# Metrics in the column `value` of rules that are not metrics themselves.
CLOSEST_DISTANCE = Rate(
    name="closest_top_left",
    label="Distance to (0, 1)",
    formula=lambda c, s: (fnr(c, s) ** 2 + fpr(c, s) ** 2).sqrt(),
    better="lower",
    bounds=(0, sqrt(2)),
    depends_on_prevalence=False,
)
MEAN_ERROR = Rate(
    name="equal_error",
    label="Mean of FPR and FNR",
    formula=lambda c, s: (fnr(c, s) + fpr(c, s)) / 2,
    better="lower",
    depends_on_prevalence=False,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleOptions:
    """The options of `operating_point`: the rules by their names, and the ranges of metrics."""

    rules: Mapping[str, str | pl.Expr]
    settings: Settings
    benefits: Mapping[str, float] | None
    subject_to: Mapping[str, tuple[float, float]]
    minimize: bool | None
    guarantee: float | None

    @classmethod
    def parse(
        cls,
        rule: object,
        *,
        subject_to: Mapping[str, Sequence[float | None]] | None,
        benefits: Mapping[str, float] | None,
        minimize: bool | None,
        guarantee: float | None = None,
        prior: object = None,
        **settings: Any,
    ) -> RuleOptions:
        """Check the options; `prior` only raises an error for the rule `"bayes"`."""
        if minimize is not None:
            check_flag("minimize", minimize)
        options = cls(
            rules=parse_metrics(rule, _named_rule, argument="rule", example="youden"),
            settings=Settings(**settings),
            benefits=benefits if benefits is None else _parse_benefits(benefits),
            subject_to={} if subject_to is None else parse_constraints(subject_to),
            minimize=minimize,
            guarantee=guarantee,
        )
        if guarantee is not None:
            parse_fraction("guarantee", guarantee, example=0.95)
        if subject_to and "expected_cost" in subject_to and options.settings.costs is None:
            argument, limits = "subject_to['expected_cost']", subject_to["expected_cost"]
            problem = "this constraint requires costs="
            raise OptionValueError.compose(argument, limits, problem, COSTS_HINT)
        options.at_prevalence(None)
        for option, default, users in OPTION_USERS:
            value = benefits if option == "benefits" else settings[option]
            if value != default and not options.names & set(users):
                hint = f"Pass rule={users[0]!r}, or leave out {option}=."
                raise OptionValueError.compose(
                    option, value, "no rule in this call uses this option", hint
                )
        if "bayes" in options.rules:
            check_supported("subject_to", subject_to, "rule='bayes'")
            check_supported("prior", prior, "rule='bayes'")
            check_supported("prevalence", options.settings.prevalence, "rule='bayes'")
        return options

    @property
    def names(self) -> set[str]:
        """The names of the rules, and of the metrics in constraints."""
        return {*self.rules, *self.subject_to}

    def of_curves(self, curves: Curves) -> tuple[list[Rule], list[Constraint]]:
        """Return the rules and constraints at the prevalence of the curves.

        A limit of `"alerts"` raises an error if the counts are no numbers of rows, but shares.
        """
        if "alerts" in self.subject_to:
            limits, instead = self.subject_to["alerts"], 'subject_to={"alert_rate": …}'
            check_counts("subject_to['alerts']", limits, curves, instead)
        if self.guarantee is not None and (curves.pos + curves.neg).dtype.kind == "f":
            problem = "the counts of these curves are not numbers of independent rows"
            hint = "Use curves without weight=, or leave out guarantee=."
            raise OptionValueError.compose("guarantee", self.guarantee, problem, hint)
        return self.at_prevalence(curves.prevalence)

    def at_prevalence(self, prevalence: float | None) -> tuple[list[Rule], list[Constraint]]:
        """Return the rules and constraints at the prevalence of the options, or at this one."""
        settings = self.settings
        if settings.prevalence is None:
            settings = replace(settings, prevalence=prevalence)
        rules = [self._rule(name, rule, settings) for name, rule in self.rules.items()]
        constraints = [
            Constraint(
                CONSTRAINED.get(name) or parse_metric("subject_to", name, settings), low, high
            )
            for name, (low, high) in self.subject_to.items()
        ]
        if self.guarantee is not None:
            check_guarantee(self.guarantee, constraints)
        return rules, constraints

    def _rule(self, name: str, rule: str | pl.Expr, settings: Settings) -> Rule:
        if isinstance(rule, str) and rule in OWN_RULES:
            check_supported("minimize", self.minimize, f"rule={rule!r}")
            return OWN_RULES[rule](settings, self.benefits)
        metric = parse_metric("rule", rule, settings)
        minimize = metric.better == "lower" if self.minimize is None else self.minimize
        if metric.name and metric.better == "neither" and self.minimize is None:
            hint = "Pass minimize=True or minimize=False."
            problem = "neither high nor low values of this metric are better"
            raise OptionValueError.compose("rule", name, problem, hint)
        return Rule(name=name, value=metric, minimize=minimize)


# Options with their defaults, and the rules and constraints that use them.
OPTION_USERS = (
    ("costs", None, ("expected_cost", "bayes")),
    ("benefits", None, ("profit",)),
    ("beta", 1, ("f_beta",)),
)


def _named_rule(rule: object) -> tuple[str, str | pl.Expr]:
    if isinstance(rule, pl.Expr):
        return expression_name("rule", rule), rule
    check_choice("rule", rule, RULES)
    return str(rule), str(rule)


def _parse_benefits(benefits: object) -> Mapping[str, float]:
    hint = 'Use, for example, benefits={"tp": 20, "fp": -1}.'
    if not isinstance(benefits, Mapping) or not benefits:
        raise OptionValueError.compose("benefits", benefits, "expected a dict of benefits", hint)
    for name, benefit in benefits.items():
        check_choice("benefits", name, CONFUSION)
        parse_number(f"benefits[{name!r}]", benefit, hint=hint)
    return benefits


def _expected_cost_rule(settings: Settings, _: Mapping[str, float] | None) -> Rule:
    _check_given(settings.costs, "expected_cost", "costs", '{"fp": 1, "fn": 5}')
    return cost_rule(settings)


def _profit_rule(settings: Settings, benefits: Mapping[str, float] | None) -> Rule:
    _check_given(benefits, "profit", "benefits", '{"tp": 20, "fp": -1}')
    benefits = benefits or {}
    exact = {name: exact_fraction(benefits.get(name, 0)) for name in CONFUSION}
    tp_gain, fp_loss = exact["tp"] - exact["fn"], exact["tn"] - exact["fp"]
    if tp_gain == fp_loss == 0:
        problem = "all decisions have the same profit"
        hint = 'Use, for example, benefits={"tp": 20, "fp": -1}; benefits that are not named are 0.'
        raise OptionValueError.compose("benefits", benefits, problem, hint)
    # The formula is that of the expected cost, with benefits instead of costs.
    value = replace(
        RATES["expected_cost"],
        name="profit",
        label="Profit per row",
        better="higher",
        settings=replace(settings, costs=benefits),
    )
    polynomial = linear_gain(tp_gain, fp_loss, settings.prevalence)
    return Rule(name="profit", value=value, polynomial=polynomial)


def _bayes_rule(settings: Settings, _: Mapping[str, float] | None) -> Rule:
    _check_given(settings.costs, "bayes", "costs", '{"fp": 1, "fn": 5}')
    fp, fn = ErrorCosts.parse(settings.costs or {})
    value = replace(RATES["expected_cost"], settings=settings)
    return Rule(name="bayes", value=value, threshold=float(fp / (fp + fn)))


def _check_given(value: object, rule: str, option: str, example: str) -> None:
    """Raise an error if the option that a rule requires is not given."""
    if value is None:
        hint = f"Use, for example, {option}={example}."
        raise OptionValueError.compose("rule", rule, f"this rule requires {option}=", hint)


# Rules besides metrics, as functions of the settings of metrics and of the benefits.
OWN_RULES: dict[str, Callable[[Settings, Mapping[str, float] | None], Rule]] = {
    "youden": lambda *_: Rule(name="youden", value=RATES["youden"], polynomial=YOUDEN),
    "closest_top_left": lambda *_: Rule(
        name="closest_top_left", value=CLOSEST_DISTANCE, polynomial=CLOSEST_TOP_LEFT
    ),
    "equal_error": lambda *_: Rule(name="equal_error", value=MEAN_ERROR, polynomial=EQUAL_ERROR),
    "expected_cost": _expected_cost_rule,
    "profit": _profit_rule,
    "bayes": _bayes_rule,
}
RULES = (*OWN_RULES, *(name for name in NAMES if name not in OWN_RULES))


def best_points(curves: Curves, options: RuleOptions) -> pl.DataFrame:
    """Return the best row of each curve by each rule; null if there is none."""
    rules, constraints = options.of_curves(curves)
    n_curves = len(curves.firsts)
    bayes_rows = {
        rule.name: _rows_at_threshold(curves, rule.threshold)
        for rule in rules
        if rule.threshold is not None
    }

    def find(block: slice) -> list[NDArray[Any]]:
        rows = CurveRows.from_curves(curves, block)
        first = curves.starts[block.start]
        is_allowed = allowed_rows(rows, constraints, options.guarantee)
        shape = block.stop - block.start, len(rules)
        row, n_optima, value = np.full(shape, -1), np.zeros(shape, int), np.full(shape, np.nan)
        for i, rule in enumerate(rules):
            if rule.name in bayes_rows:
                row[:, i] = bayes_rows[rule.name][block]
                n_optima[:, i] = row[:, i] >= 0
            else:
                best, n_optima[:, i] = best_rows(rows, rule, shape[0], is_allowed)
                row[:, i] = np.where(best >= 0, first + best, -1)
            exists = row[:, i] >= 0
            chosen = rows.take(row[exists, i] - first)
            value[exists, i] = rule.value.evaluate(chosen.counts)
        return [row.ravel(), n_optima.ravel(), value.ravel()]

    parts = run_parallel(find, split_groups(curves.starts, BLOCK_ROWS))
    empty = [np.zeros(0, int), np.zeros(0, int), np.zeros(0)]
    row, n_optima, value = map(np.concatenate, zip(empty, *parts, strict=True))
    keys = take_rows(curves.keys, np.repeat(np.arange(n_curves), len(rules)))
    n_pos, n_neg = (size.repeat(len(rules)) for size in (curves.pos, curves.neg))
    note = class_notes(n_pos, n_neg, no_solution=row < 0)
    return keys.with_columns(
        pl.Series("rule", [*options.rules] * n_curves, pl.String),
        pl.Series("value", value, nan_to_null=True),
        *curves.take(row),
        pl.Series("n_optima", n_optima),
        pl.Series("note", note.tolist(), pl.String),
    )


def _rows_at_threshold(curves: Curves, threshold: float) -> NDArray[np.int64]:
    """Return the row of each curve at a probability threshold; -1 for curves without rows."""
    problem = score_outside_unit(curves)
    if problem is not None:
        hint = "Use calibrated probabilities, or rule='expected_cost', which accepts all scores."
        raise OptionValueError.compose("rule", "bayes", problem, hint)
    row, exists = rows_at(point_axis(curves, "threshold"), [threshold])
    has_rows = curves.pos + curves.neg > 0
    return np.where(exists[:, 0] & has_rows, row[:, 0], -1)
