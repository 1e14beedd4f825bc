"""Areas and curves → one HTML page that needs no network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocframe.charts.chart import chart
from rocframe.report.drawn import drawn_groups, of_groups, told
from rocframe.report.facts import facts, left_out, summary
from rocframe.report.words import counted, interval, keys_of, level_of, number
from rocframe.spelling import visible, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rocframe.curves.kinds import KindName

TEMPLATE = Path(__file__).with_name("page.html")
MOST_ROWS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a page shows, and where it comes from.

    `about` is what `evaluate` says of its tables, and `tables` the files that hold all of it.
    """

    title: str
    areas: pl.DataFrame
    curves: pl.DataFrame
    kinds: Sequence[KindName]
    about: Mapping[str, Any]
    tables: tuple[str, str]


def page(report: Report) -> str:
    """Write the page: areas, charts, what was left out, and where it comes from."""
    # Altair brings jinja2.
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    import rocframe as rf

    curves_file, areas_file = report.tables
    areas, drawn = report.areas, drawn_groups(report.areas)
    top = areas.head(MOST_ROWS)
    curves = of_groups(report.curves, drawn)
    specs = {kind: chart(curves, kind=kind).to_dict() for kind in report.kinds}
    fewer = areas.height - top.height
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        title=report.title,
        version=rf.__version__,
        summary=summary(areas, report.about),
        keys=list(map(visible, keys_of(areas))),
        level=level_of(areas),
        missing=bool(areas.get_column("n_missing").sum()),
        notes=areas.get_column("note").null_count() < areas.height,
        rows=_rows(top),
        more_rows=f"{counted(fewer, 'more row')} in {areas_file}." if fewer else "",
        few=told(areas, drawn, curves_file),
        charts=[
            {
                "spec": Markup(as_json(spec)),
                "alternative": spec["description"],
                "caption": CAPTIONS[kind],
            }
            for kind, spec in specs.items()
        ],
        remarks=left_out(areas, report.about),
        facts=facts(areas, report.about, rf.__version__),
        files=report.about["files"],
        bundle=Markup(_bundle()),
    )


CAPTIONS = {
    "roc": "Up and left is better. The dashed diagonal is what chance gives.",
    "precision_recall": "Up and right is better. The dashed line is what chance gives: the share "
    "of positives.",
    "det": "Down and left is better. Both axes are stretched to normal deviates.",
    "gain": "The share of positives found by the highest-scored share of all rows.",
    "lift": "How many times as many positives as chance finds among the highest-scored rows.",
    "lift_chart": "How many positives the highest-scored share of all rows holds.",
}


def as_json(spec: Mapping[str, Any]) -> str:
    """Write JSON that no HTML parser takes for anything else, whatever names are in it."""
    text = json.dumps(spec, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _rows(areas: pl.DataFrame) -> list[dict[str, Any]]:
    names = [words(areas.get_column(key)) for key in keys_of(areas)]
    return [
        {
            "names": [column[place] for column in names],
            "auc": number(row["auc"]),
            "interval": interval(row["lower"], row["upper"]),
            "note": row["note"],
            **{name: f"{row[name]:,}" for name in ("n_pos", "n_neg", "n_missing")},
        }
        for place, row in enumerate(
            areas.select("auc", "lower", "upper", "note", "n_pos", "n_neg", "n_missing").to_dicts()
        )
    ]


@cache
def _bundle() -> str:
    """Return Vega-Embed and all it needs, as one script."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # In a string of the script, these would end or hide it.
    return bundle.replace("</script", r"<\/script").replace("<!--", r"<\!--")
