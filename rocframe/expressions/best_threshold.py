"""The expression `best_threshold`: the threshold that `operating_point` chooses."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING

import polars as pl

from rocframe.curves.locate import SIGNIFICANT_DIGITS
from rocframe.decisions.operating_point import RULES, RuleOptions
from rocframe.expressions.rates import field, formula_expression, record, steps
from rocframe.inputs.cases import MAX_TOTAL_COUNT
from rocframe.inputs.roles import MAX_INT128
from rocframe.options import check_choice, check_supported, public
from rocframe.rates import Counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocframe.decisions.costs import Rule
    from rocframe.expressions.rates import Rows
    from rocframe.inputs.roles import Column


@public
def best_threshold(
    score: pl.Expr,
    label: Column,
    *,
    rule: str = "youden",
    costs: Mapping[str, float] | None = None,
    benefits: Mapping[str, float] | None = None,
    prevalence: float | None = None,
    minimize: bool | None = None,
    beta: float = 1.0,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Return the best threshold of the group by a rule of `operating_point`.

    Rows with `score >= threshold` are predicted positive. The candidates are the scores of the
    group and `inf`. Of several best thresholds, the highest is returned.

    Parameters
    ----------
    label
        As in `auc`.
    rule : str, default "youden"
        What the threshold optimizes: `"youden"`, `"closest_top_left"`, `"equal_error"`,
        `"expected_cost"` with `costs=`, `"profit"` with `benefits=`, or any metric of `curve`
        except `"net_benefit"`.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, such as `{"fp": 1, "fn": 5}`; 0 if not given.
    benefits : mapping of str to float, default None
        Benefits of one `tp`, `fp`, `fn` and `tn`, such as `{"tp": 20, "fp": -1}`; 0 if not given.
    prevalence : float, default None
        Prevalence, between 0 and 1, for rules that depend on it; by default, that of the group.
    minimize : bool, default None
        Whether a metric is minimized; required if none of its directions is better.
    beta : float, default 1.0
        Weight of recall relative to precision in `"f_beta"`.
    positive, weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64, one value per group, named like the score. Null if the group has no positives, or
        if the rule is undefined: most rules need negatives, too. Null also if the threshold is an
        integer that Float64 cannot distinguish from its neighbors, above 2**53.

    Notes
    -----
    Without `weight`, thresholds are compared exactly where `operating_point` compares them exactly,
    except for `"closest_top_left"` with `count`. All other values are compared after rounding to 12
    significant digits.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [8, 6, 3]})
    >>> best = pl.col("score").roc.best_threshold("label", rule="f1")
    >>> recall = pl.col("score").roc.recall("label", threshold=best)
    >>> predictions.select(best.alias("threshold"), recall.alias("recall")).row(0)
    (3.0, 1.0)
    """
    hint = "Use the function operating_point, which accepts it."
    is_name = isinstance(rule, str)
    is_supported = is_name and rule not in OF_OPERATING_POINT
    check_supported("rule", rule, "expressions", supported=is_supported, noun="value", hint=hint)
    check_choice("rule", rule, [name for name in RULES if name not in OF_OPERATING_POINT])
    options = RuleOptions.parse(
        rule,
        subject_to=None,
        benefits=benefits,
        minimize=minimize,
        costs=costs,
        prevalence=prevalence,
        beta=beta,
    )
    ((chosen,), _) = options.at_prevalence(None)
    return formula_expression(
        lambda rows: _best_score(rows, chosen), score, label, positive, weight, count
    )


OF_OPERATING_POINT = ("bayes", "net_benefit")  # rules that depend on the threshold itself

# A group has at most this many rows. The largest product of the sizes of both classes is 2**62.
MOST_ROWS = 2**32


def _best_score(rows: Rows, rule: Rule) -> pl.Expr:
    """Return the highest of the best thresholds by a rule."""
    polynomial, metric = rule.polynomial, rule.value
    size = MOST_ROWS // 2 if rows.count is None else MAX_TOTAL_COUNT
    is_exact = rows.weight is None
    needs_both = metric.needs_both_classes
    if polynomial is not None:
        is_exact &= polynomial.largest * size**polynomial.degree < MAX_INT128
        needs_both = polynomial.degree > 1
    tp, fp = field("tp"), field("fp")
    if rows.weight is None and (is_exact or polynomial is None):
        integers = pl.Int64 if polynomial is None else pl.Int128
        tp, fp = tp.cast(integers), fp.cast(integers)
    else:  # shares of the total: their products do not overflow
        unit = (tp.last() + fp.last()).cast(pl.Float64)
        tp, fp = tp / unit, fp / unit
    # The last of the quotients: polars rounds a quotient of single numbers differently, and the
    # counts fn and tn of the last row would not be 0.
    sums = {"tp": tp, "fp": fp, "pos": tp.last(), "neg": fp.last()}
    candidates = steps(rows, by_class=False, scores=True).list.eval(
        record(score=field("score"), **sums)
    )
    pos, neg = field("pos").first(), field("neg").first()

    def value(tp: pl.Expr, fp: pl.Expr, pos: pl.Expr, neg: pl.Expr) -> pl.Expr:
        if polynomial is not None:
            result: pl.Expr = polynomial.function(tp, fp, pos, neg)
            return result
        number = metric.expr(counts=Counts(tp=tp, fp=fp, fn=pos - tp, tn=neg - fp))
        number = number.fill_nan(None)
        return -number if rule.minimize else number

    values = value(*(field(name) for name in ("tp", "fp", "pos", "neg")))
    above_all = value(pos * 0, neg * 0, pos, neg)
    bounds = metric.bounds
    if polynomial is not None and not is_exact:
        scale = pl.max_horizontal(values.abs().max(), above_all.abs())
        values, above_all = (
            pl.when(scale > 0).then(part / scale).otherwise(part) for part in (values, above_all)
        )
        bounds = (-1, 1)
    if not is_exact or (polynomial is None and metric.count_ratio is None):
        values, above_all = (
            _rounded(part, decimals=all(map(isfinite, bounds))) for part in (values, above_all)
        )
    best = values.max()
    is_above = above_all.is_not_null() & (best.is_null() | (above_all >= best))
    score = field("score").filter(values == best).first()
    threshold = score.cast(pl.Float64)
    # Whole numbers of more than 53 bits can be rounded, also to a number that is another score.
    whole, rounded = (part.cast(pl.Int128, strict=False) for part in (score, threshold))
    is_single = (field("score").cast(pl.Float64) == threshold).sum() == 1
    threshold = pl.when(whole.eq_missing(rounded) & is_single).then(threshold)
    result = pl.when(is_above).then(pl.lit(inf)).otherwise(threshold)
    if needs_both:
        result = pl.when((pos > 0) & (neg > 0)).then(result)
    return candidates.list.agg(result)


def _rounded(value: pl.Expr, *, decimals: bool) -> pl.Expr:
    """Return a value with 12 significant digits and, with `decimals`, as many decimals."""
    rounded = value.round_sig_figs(SIGNIFICANT_DIGITS)
    if decimals:  # a difference of two ratios near 0 has a large relative error
        rounded = rounded.round(SIGNIFICANT_DIGITS)
    return pl.when(value.is_finite()).then(rounded).otherwise(value)
