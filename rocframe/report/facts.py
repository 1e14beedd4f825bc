"""What is known of an evaluation → sentences for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocframe.report.words import counted, joined, keys_of
from rocframe.spelling import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

POLICIES = {
    "raise": "rows with a missing label, score or weight would have been an error",
    "drop": "rows with a missing label, score or weight are left out",
    "worst": "rows without a score count as errors at every threshold",
}
CAUSES = {
    "no_rows": "no rows",
    "no_positives": "no positives",
    "no_negatives": "no negatives",
}


def summary(areas: pl.DataFrame, about: Mapping[str, Any]) -> str:
    """Say in a line what was evaluated."""
    keys = keys_of(areas)
    groups = f", {counted(areas.height, 'group')} by {joined(keys)}" if keys else ""
    scores = joined([visible(name) for name in about["score"]])
    truth = f"{visible(about['label'])} = {_value(about['positive'])}"
    return (
        f"{counted(about['rows'], 'prediction')}{groups}. Scored by {scores}, positive if {truth}."
    )


def left_out(areas: pl.DataFrame, about: Mapping[str, Any]) -> list[str]:
    """Say all that the numbers do not cover."""
    remarks = [f"{file}: {why}." for file, why in about["files_skipped"].items()]
    lost = int(areas.get_column("n_missing").sum())
    if lost:
        fate = "counted as errors" if about["missing"] == "worst" else "left out"
        rows = counted(lost, "prediction")
        remarks.append(f"{rows} with a missing label, score or weight: {fate}.")
    for note, cause in CAUSES.items():
        groups = areas.filter(areas.get_column("note") == note).height
        if groups:
            remarks.append(f"{counted(groups, 'group')} with {cause}: no area can be had.")
    return remarks or ["Nothing."]


def facts(areas: pl.DataFrame, about: Mapping[str, Any], version: str) -> list[tuple[str, str]]:
    """List what was asked for."""
    method = areas.get_column("ci_method").drop_nulls().unique().sort()
    named = [
        ("Label", visible(about["label"])),
        ("Positive class", _value(about["positive"])),
        (
            "Score" if len(about["score"]) == 1 else "Scores",
            ", ".join(map(visible, about["score"])),
        ),
        ("Groups", ", ".join(map(visible, keys_of(areas))) or "none"),
    ]
    named += [(name.title(), visible(about[name])) for name in ("weight", "count") if about[name]]
    named += [
        ("Called positive", "score ≥ threshold; a tie is one step of the curve and half an area"),
        ("Missing values", POLICIES[about["missing"]]),
        ("Intervals", ", ".join(method) or "none"),
        ("Rows", f"{about['rows']:,}"),
        ("Made by", f"rocframe {version}"),
    ]
    return named


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else visible(str(value))
