"""The tests of `compare` and `gate`, and their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from rocframe.comparisons.bootstrap_test import bootstrap_test
from rocframe.comparisons.delong import delong_paired
from rocframe.comparisons.hypothesis import ComparedMetric, Hypothesis, Quantity
from rocframe.comparisons.instances import read_instances, read_models
from rocframe.comparisons.mean_losses import loss_estimates, t_test
from rocframe.comparisons.pairing import PairingOptions, model_position
from rocframe.comparisons.permutation_test import permutation_test, venkatraman_test
from rocframe.comparisons.unpaired import (
    area_estimates,
    area_estimates_of_all_rows,
    welch_columns,
)
from rocframe.errors import OptionValueError
from rocframe.inference.confidence import parse_level, parse_n_boot
from rocframe.inference.p_values import check_adjust
from rocframe.kernel.resample import Seed
from rocframe.options import NOT_GIVEN, check_choice, check_supported, parse_integer
from rocframe.text import join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    from rocframe.comparisons.hypothesis import PairedComparison
    from rocframe.comparisons.instances import Instances, UnpairedModels
    from rocframe.comparisons.pairing import PairingColumns, Unmatched
    from rocframe.comparisons.unpaired import Estimator, UnpairedTest
    from rocframe.inference.p_values import Adjust, Alternative
    from rocframe.inputs.roles import Column, Roles
    from rocframe.options import NotGiven

AREAS: tuple[ComparedMetric, ...] = ("auc",)
LOSSES: tuple[ComparedMetric, ...] = ("brier", "log_loss")
Family = Literal["group", "all"]
EXAMPLE_RANGES = {"fpr": (0, 0.1), "tpr": (0.9, 1)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparisonTest:
    """A test of the difference of two models.

    `metrics` are the metrics that the test can compare. `compare_pairs` compares models that scored
    the same rows. For a test of different rows, it is None, `estimator` estimates the metric of one
    model, and `compare_estimates` compares the estimates of two models. `draws` is the option with
    the number of random draws. `unsupported` maps the options that the test does not support to
    hints for error messages.
    """

    name: str
    metrics: tuple[ComparedMetric, ...] = AREAS
    compare_pairs: Callable[[PairedComparison], Iterable[dict[str, Any]]] | None = None
    estimator: Estimator | None = None
    compare_estimates: UnpairedTest = welch_columns
    draws: Literal["n_boot", "n_perm"] | None = None
    has_limits: bool = True
    compares_rates: bool = False
    unsupported: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        method: str | NotGiven,
        metric: ComparedMetric,
        roles: Roles,
        tests: Mapping[str, ComparisonTest],
    ) -> ComparisonTest:
        """Return the test with this name, or the default test of the metric.

        The default is the first of `tests` that can compare the metric and supports the weights,
        counts and clusters of `roles`. Raise an error for a name that is not a key of `tests`.
        """
        if method is NOT_GIVEN:
            return next(test for test in tests.values() if test.supports(metric, roles))
        check_choice("method", method, tests)
        return tests[method]

    @property
    def argument(self) -> str:
        """The argument that selects the test, for error messages."""
        return f'method="{self.name}"'

    def supports(self, metric: ComparedMetric, roles: Roles) -> bool:
        """Return whether the test supports the metric, and all columns of rows that are given."""
        return metric in self.metrics and not self.unsupported.keys() & roles.optional_columns

    def read(self, frame: pl.DataFrame, columns: PairingColumns) -> Instances | UnpairedModels:
        """Read the models of a collected frame, with pairing if the test needs it."""
        read = read_models if self.compare_pairs is None else read_instances
        return read(frame, columns)

    def check_quantity(self, quantity: Quantity, tests: Mapping[str, ComparisonTest]) -> None:
        """Raise an error if the test cannot compare the metric or the rate `quantity`.

        The error names those of `tests` that can compare the metric.
        """
        if quantity.metric not in self.metrics:
            methods = [test.argument for test in tests.values() if quantity.metric in test.metrics]
            raise OptionValueError.compose(
                "method",
                self.name,
                f"this method does not compare the metric {quantity.metric!r}",
                f"Use {join_names(methods, 'or')}.",
            )
        if quantity.fixed_rate is None or self.compares_rates:
            return
        option, rate = quantity.fixed_rate
        hint = 'Use method="bootstrap"'
        if option not in self.unsupported:
            example = EXAMPLE_RANGES[option]
            hint += f", or pass the range of a partial area, such as {option}={example}"
        problem = f"method={self.name!r} compares areas, not rates"
        raise OptionValueError.compose(option, rate, problem, f"{hint}.")

    def check_options(self, roles: Roles, hypothesis: Hypothesis) -> None:
        """Raise an error if the test does not support one of the options."""
        rate_range = hypothesis.quantity.rate_range
        options: dict[str, object] = {
            "weight": roles.weight,
            "count": None if roles.count is NOT_GIVEN else roles.count,
            "margin": abs(hypothesis.null) if hypothesis.non_inferiority else None,
            "cluster": roles.cluster,
        }
        if rate_range is not None:
            options = {rate_range.rate: (rate_range.low, rate_range.high), **options}
        for option, hint in self.unsupported.items():
            is_alternative = option == "alternative"
            check_supported(
                option,
                hypothesis.alternative if is_alternative else options.get(option),
                f"method={self.name!r}",
                default="two-sided" if is_alternative else None,
                noun="value" if is_alternative else "option",
                hint=hint,
            )


# The permutation tests exchange the ranks of single rows, so they do not support these options.
UNSUPPORTED_BY_PERMUTATIONS = dict.fromkeys(
    ("fpr", "tpr", "weight", "count", "margin"),
    'Use method="delong_t" or method="bootstrap".',
)
COMPARISON_TESTS: dict[str, ComparisonTest] = {
    test.name: test
    for test in (
        ComparisonTest(name="delong_t", compare_pairs=partial(delong_paired, reference="t")),
        ComparisonTest(name="delong", compare_pairs=delong_paired),
        *(
            ComparisonTest(
                name=name,
                estimator=estimator,
                unsupported={
                    "cluster": 'Use method="delong_t" with id=; this method supports clusters.'
                },
            )
            for name, estimator in {
                "delong_t_unpaired": area_estimates,
                "delong_unpaired": area_estimates_of_all_rows,
            }.items()
        ),
        ComparisonTest(name="t_test", metrics=LOSSES, compare_pairs=t_test),
        ComparisonTest(
            name="t_test_unpaired",
            metrics=LOSSES,
            estimator=loss_estimates,
            unsupported={"cluster": 'Use method="t_test" with id=; this method supports clusters.'},
        ),
        ComparisonTest(
            name="bootstrap",
            metrics=get_args(ComparedMetric),
            compare_pairs=bootstrap_test,
            draws="n_boot",
            compares_rates=True,
        ),
        ComparisonTest(
            name="permutation",
            compare_pairs=permutation_test,
            draws="n_perm",
            has_limits=False,
            unsupported=UNSUPPORTED_BY_PERMUTATIONS,
        ),
        ComparisonTest(
            name="venkatraman",
            compare_pairs=venkatraman_test,
            draws="n_perm",
            has_limits=False,
            unsupported={
                **UNSUPPORTED_BY_PERMUTATIONS,
                "alternative": 'Omit alternative=, or use method="permutation" to compare areas.',
            },
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompareOptions:
    """Options of `compare`.

    `tests` are the tests that `method` can name. `n_draws` is the number of resamples or
    permutations.
    """

    tests: Mapping[str, ComparisonTest]
    test: ComparisonTest
    hypothesis: Hypothesis
    baseline: object
    adjust: Adjust | None
    family: Family
    n_draws: int
    seed: Seed

    @classmethod
    def parse(
        cls,
        roles: Roles,
        *,
        metric: ComparedMetric,
        method: str | NotGiven,
        rates: Mapping[str, object] | None = None,
        standardize: str | None = None,
        margin: float | None,
        alternative: Alternative = "two-sided",
        level: float,
        baseline: object,
        adjust: Adjust | None,
        family: Family,
        n_boot: int,
        n_perm: int = 2000,
        seed: int | None,
        tests: Mapping[str, ComparisonTest],
    ) -> CompareOptions:
        """Return the options; raise an error if one is invalid or not supported by the test."""
        level = parse_level(level)
        quantity = Quantity.parse(metric, rates or {}, standardize)
        test = ComparisonTest.parse(method, quantity.metric, roles, tests)
        n_draws = {
            "n_boot": parse_n_boot("n_boot", n_boot),
            "n_perm": parse_integer("n_perm", n_perm, high=10**9),
        }
        hypothesis = Hypothesis.parse(quantity, margin, alternative, level)
        check_adjust(adjust)
        check_choice("family", family, get_args(Family))
        options = cls(
            tests=tests,
            test=test,
            hypothesis=hypothesis,
            baseline=baseline,
            adjust=adjust,
            family=family,
            n_draws=0 if test.draws is None else n_draws[test.draws],
            seed=Seed.parse(seed),
        )
        test.check_quantity(quantity, tests)
        if quantity.is_loss and roles.missing == "worst":
            problem = "the loss of a row without a score is undefined"
            raise OptionValueError.compose("missing", "worst", problem, 'Use missing="drop".')
        test.check_options(roles, hypothesis)
        if margin is not None and baseline is None:
            raise OptionValueError.compose(
                "margin",
                abs(hypothesis.null),
                "a test of non-inferiority requires a baseline model",
                'Pass, for example, baseline="old".',
            )
        return options

    def baseline_position(self, models: pl.Series) -> int | None:
        """Return the position of the baseline in `models`; None without a baseline or rows."""
        if self.baseline is None or not len(models):
            return None
        return model_position("baseline", self.baseline, models.to_list())

    def pairing(
        self,
        roles: Roles,
        *,
        between: object,
        id: Column | Sequence[Column] | None,  # noqa: A002 - name of the public option
        unmatched: Unmatched,
    ) -> PairingOptions:
        """Return the options of the pairing of rows; raise an error if one is invalid."""
        quantity = self.hypothesis.quantity
        unpaired = (
            test.argument
            for test in self.tests.values()
            if test.supports(quantity.metric, roles) and test.compare_pairs is None
        )
        return PairingOptions.parse(
            roles,
            between=between,
            id=id,
            unmatched=unmatched,
            paired=self.test.compare_pairs is not None,
            unpaired=next(unpaired, None),
            probabilities=quantity.is_loss,
        )
