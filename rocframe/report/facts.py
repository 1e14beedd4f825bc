"""What is known of an evaluation → sentences for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.report.words import counted, joined, keys_of
from rocframe.spelling import visible, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
MOST_NAMED = 40


def summary(areas: pl.DataFrame, about: Mapping[str, Any]) -> str:
    """Say in a line what was evaluated."""
    keys = keys_of(areas)
    groups = f", {counted(areas.height, 'group')} by {joined(keys)}" if keys else ""
    scores = joined([visible(name) for name in about["score"]])
    truth = f"{visible(about['label'])} = {_value(about['positive'])}"
    return (
        f"{counted(about['rows'], 'prediction')}{groups}. Scored by {scores}, positive if {truth}."
    )


def left_out(
    areas: pl.DataFrame, about: Mapping[str, Any], remarks: Sequence[str] = ()
) -> list[str]:
    """Say all that the numbers do not cover."""
    said = [f"{file}: {why}." for file, why in about["files_skipped"].items()]
    lost = int(areas.get_column("n_missing").sum())
    if lost:
        fate = "counted as errors" if about["missing"] == "worst" else "left out"
        rows = counted(lost, "prediction")
        said.append(f"{rows} with a missing label, score or weight: {fate}.")
    for note, cause in CAUSES.items():
        groups = areas.filter(pl.col("note") == note)
        if groups.height:
            named = _named(groups)
            said.append(
                f"{counted(groups.height, 'group')} with {cause}, so without an area{named}."
            )
    return [*said, *remarks] or ["Nothing."]


def _named(groups: pl.DataFrame) -> str:
    keys = keys_of(groups)
    if not keys:
        return ""
    top = groups.head(MOST_NAMED)
    columns = [
        [f"{visible(key)} = {value}" for value in words(top.get_column(key))] for key in keys
    ]
    listed = "; ".join(", ".join(parts) for parts in zip(*columns, strict=True))
    left = groups.height - top.height
    return f": {listed}" + (f"; and {left:,} more" if left else "")


def facts(
    areas: pl.DataFrame, about: Mapping[str, Any], versions: Mapping[str, str]
) -> list[tuple[str, str]]:
    """List what was asked for, and by what it was made."""
    method = areas.get_column("ci_method").drop_nulls().unique().sort()
    level = areas.get_column("ci_level").drop_nulls()
    shares = f", {100 * level[0]:g} %" if len(level) else ""
    scores = about["score"]
    named = [
        ("Label", visible(about["label"])),
        ("Positive class", _value(about["positive"])),
        ("Score" if len(scores) == 1 else "Scores", ", ".join(map(visible, scores))),
        ("Groups", ", ".join(map(visible, keys_of(areas))) or "none"),
    ]
    named += [
        (title, visible(about[name]))
        for name, title in OPTIONAL.items()
        if about.get(name) is not None
    ]
    named += [
        ("Called positive", "score ≥ threshold; a tie is one step of the curve and half an area"),
        ("Missing values", POLICIES[about["missing"]]),
        ("Intervals", (", ".join(method) + shares) if len(method) else "none"),
        ("Rows", f"{about['rows']:,}"),
        *((visible(name), visible(str(value))) for name, value in about.get("more", {}).items()),
        ("Made by", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]
    return named


OPTIONAL = {"weight": "Weight", "count": "Count", "over": "Averaged over", "id": "Paired by"}


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else visible(str(value))
