"""The verb `auc`: predictions → the area under each group's ROC curve, and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.frames import like
from rocframe.per_model import tabulated
from rocframe.predictions import Roles
from rocframe.vocabulary import AUC, PARTIAL_AUC, area_schema

if TYPE_CHECKING:
    from rocframe.areas.partial import Range
    from rocframe.cases import Cases
    from rocframe.frames import FrameT
    from rocframe.inference.intervals import Method
    from rocframe.predictions import By, Column, Count, Missing, Scores


def auc(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    fpr: Range | None = None,
    tpr: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    ci: Method | None = "logit_delong",
    level: float = 0.95,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """DOC"""
    # numpy loads with the first area, not with the package.
    from rocframe.areas.measure import measured
    from rocframe.areas.partial import Part
    from rocframe.errors import OptionValueError
    from rocframe.inference.intervals import check_interval

    check_interval(ci, level)
    part = Part.of(fpr, tpr, standardize)
    if part is not None and ci == "newcombe":
        raise OptionValueError.of(
            "ci",
            ci,
            "Newcombe's interval is for whole areas",
            'Say ci="logit_delong" or ci="delong" with fpr= or tpr=.',
        )
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )

    def make(cases: Cases) -> pl.DataFrame:
        return measured(cases, part, ci, level)

    areas = AUC if part is None else PARTIAL_AUC
    table = tabulated(
        predictions, roles, make, columns=area_schema(areas), anchor="n_pos"
    )
    return like(predictions, table)
