"""Collected predictions → the table of comparisons, by the method asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from rocframe.comparisons.batches import batches
from rocframe.comparisons.delong import Apart, paired, unpaired
from rocframe.comparisons.instances import cases_of_models, read_instances
from rocframe.comparisons.measure import Measure
from rocframe.comparisons.pairs import Question
from rocframe.comparisons.permuted import permuted
from rocframe.comparisons.resampled import resampled
from rocframe.comparisons.table import Family, comparison_table
from rocframe.counting.arrange import Groups
from rocframe.counting.draws import Seed, stream_keys
from rocframe.counting.resample import Draws
from rocframe.errors import OptionValueError
from rocframe.inference.intervals import as_level, as_resamples
from rocframe.options import check_choice, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.comparisons.batches import Batch
    from rocframe.comparisons.instances import Instances
    from rocframe.comparisons.measure import Place
    from rocframe.comparisons.pairing import BoundPairs
    from rocframe.comparisons.table import Comparison, Whole
    from rocframe.inference.adjust import Adjust
    from rocframe.inference.p_values import Alternative
    from rocframe.predictions import Roles

Method = Literal["delong", "delong_unpaired", "bootstrap", "permutation", "venkatraman"]
RANGE = {"fpr": (0, 0.1), "tpr": (0.9, 1)}
EXCHANGING = ("permutation", "venkatraman")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What is asked: of which pairs, about what, and by which method."""

    method: Method
    measure: Measure
    question: Question
    family: Family
    n_drawn: int
    seed: Seed

    @classmethod
    def of(
        cls,
        method: Method,
        *,
        fpr: Place | None,
        tpr: Place | None,
        standardize: str | None,
        margin: float | None,
        alternative: Alternative,
        level: float,
        baseline: object,
        adjust: Adjust | None,
        family: Whole,
        n_boot: int,
        n_perm: int,
        seed: int | None,
    ) -> Plan:
        """Check the options."""
        check_choice("method", method, get_args(Method))
        level = as_level(level)
        measure = Measure.of(fpr, tpr, standardize)
        resamples = as_resamples("n_boot", n_boot)
        whole("n_perm", n_perm)
        return cls(
            method=method,
            measure=measure,
            question=Question.of(margin, alternative, level, falling=measure.name == "fpr"),
            family=Family.of(baseline, adjust, family),
            n_drawn=whole("n_perm", n_perm) if method in EXCHANGING else resamples,
            seed=Seed.of(seed),
        )

    def check(self, roles: Roles) -> None:
        """Check that the method can answer what is asked, of rows such as these."""
        method, measure = self.method, self.measure
        if measure.at is not None and method != "bootstrap":
            area = (
                f", or give the range of a partial area, say {measure.at[0]}={RANGE[measure.at[0]]}"
            )
            raise OptionValueError.of(
                measure.at[0],
                measure.at[1],
                f"method={method!r} compares areas, not rates",
                f'Say method="bootstrap"{"" if method in EXCHANGING else area}.',
            )
        if method in EXCHANGING:
            if measure.part is not None:
                raise OptionValueError.of(
                    measure.part.rate,
                    (measure.part.a, measure.part.b),
                    f"method={method!r} has no partial areas",
                    'Say method="delong" or method="bootstrap" for these.',
                )
            for name, given in (("weight", roles.weight), ("count", roles.count)):
                if given is not None and given is not ...:
                    raise OptionValueError.of(
                        name,
                        given,
                        f"method={method!r} exchanges single rows that weigh the same",
                        'Say method="delong" or method="bootstrap", which take it.',
                    )
            if self.question.margin:
                raise OptionValueError.of(
                    "margin",
                    abs(self.question.null),
                    f"method={method!r} tests that there is no difference",
                    'Say method="delong" or method="bootstrap".',
                )
        if method == "venkatraman" and self.question.alternative != "two-sided":
            raise OptionValueError.of(
                "alternative",
                self.question.alternative,
                "whole curves differ to no side",
                'Leave it out, or say method="permutation" for areas.',
            )
        if self.question.margin and self.family.baseline is None:
            raise OptionValueError.of(
                "margin",
                abs(self.question.null),
                "which model the others shall not be worse than is not said",
                'Name it, say baseline="old".',
            )
        if method == "delong_unpaired" and roles.cluster is not None:
            raise OptionValueError.of(
                "cluster",
                roles.cluster,
                "rows that are not paired are taken to be independent",
                'Pair them: say method="delong" with id=.',
            )


def compared(frame: pl.DataFrame, pairs: BoundPairs, plan: Plan) -> pl.DataFrame:
    """Compare the models of a collected frame in each of its groups."""
    find = _unpaired if plan.method == "delong_unpaired" else _paired
    models, keys, found = find(frame, pairs, plan)
    return comparison_table(
        found,
        keys,
        models,
        plan.family,
        area=plan.measure.name,
        test=plan.method,
        level=None if plan.method in EXCHANGING else plan.question.level,
    )


def _paired(
    frame: pl.DataFrame, pairs: BoundPairs, plan: Plan
) -> tuple[pl.Series, pl.DataFrame, list[Comparison]]:
    instances = read_instances(frame, pairs)
    plan.family.check(instances.models)
    groups = Groups.of(instances.keys, len(instances.negative))
    found: list[Comparison] = []
    for batch in batches(instances, groups, pairs.pairing):
        some = plan.family.pairs(batch.models, instances.models)
        if not some:
            continue
        found += _by_method(instances, batch, some, plan, groups.keys)
    return instances.models, groups.keys, found


def _by_method(
    instances: Instances,
    batch: Batch,
    pairs: Sequence[tuple[int, int]],
    plan: Plan,
    keys: pl.DataFrame,
) -> list[Comparison]:
    if plan.method == "delong":
        return paired(instances, batch, pairs, plan.question, plan.measure)
    draws = Draws(n_boot=plan.n_drawn, seed=plan.seed, keys=stream_keys(keys))
    if plan.method == "bootstrap":
        return resampled(instances, batch, pairs, plan.question, plan.measure, draws=draws)
    curves = plan.method == "venkatraman"
    return permuted(instances, batch, pairs, plan.question, draws, curves=curves)


def _unpaired(
    frame: pl.DataFrame, pairs: BoundPairs, plan: Plan
) -> tuple[pl.Series, pl.DataFrame, list[Comparison]]:
    models, every = cases_of_models(frame, pairs)
    plan.family.check(models)
    schema = {str(i): dtype for i, dtype in enumerate(pairs.bound.keys.values())}
    keys = pl.concat([pl.DataFrame(schema=schema), *(cases.keys for cases in every)])
    keys = keys.unique().sort(keys.columns) if keys.width else pl.DataFrame(height=1)
    apart = [Apart.of(cases, keys, plan.measure.part) for cases in every]
    some = plan.family.pairs(range(len(models)), models)
    return models, keys, list(unpaired(apart, some, plan.question, plan.measure))
