"""Pages and fragments that a browser opens from disk without a network."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import rocframe as rf
from rocframe.cli.main import main

sync_api = pytest.importorskip("playwright.sync_api")

MARKUP = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "שלום עולם",
    "🦊 <b>&amp;",
    "a very long name of a model that goes on and on and on and then ends",
    "{{ title }}",
]

DRAWN = ".rocframe-chart[data-drawn=yes]"
TRY_EVAL = """() => new Promise((done) => setTimeout(() => {
  try { done(Function("return 1")()); } catch (error) { done(error.name); }
}))"""


@pytest.fixture
def opened(open_page):
    """Open a drawn page; return it with its events so far. It is closed after the test."""
    pages = []

    def opened(path, drawn="body[data-drawn]", **options):
        page, events = open_page(path, drawn, **options)
        pages.append(page)
        return page, [*events]

    yield opened
    for page in pages:
        page.context.close()


@pytest.fixture(scope="module")
def vote(tmp_path_factory):
    out = tmp_path_factory.mktemp("vote")
    log = str(rf.datasets.path("vote"))
    options = ["--label", "label", "--score", "score", "--by", "model", "--out", str(out), "-q"]
    assert main(["evaluate", log, *options]) == 0
    return out / "charts.html"


@pytest.fixture(scope="module")
def markup(tmp_path_factory):
    folder = tmp_path_factory.mktemp("markup")
    models = rf.datasets.vote()["model"].unique().sort()
    named = dict(zip(models, MARKUP, strict=True))
    rf.datasets.vote().select(
        pl.col("model").replace_strict(named, return_dtype=pl.String).alias(MARKUP[0]),
        pl.col("label").alias(MARKUP[1]),
        pl.col("score").alias("a.b[0]:Q"),
    ).write_parquet(folder / "<i>.parquet")
    arguments = [str(folder / "<i>.parquet"), "--label", MARKUP[1], "--score", "a.b[0]:Q"]
    arguments += ["--by", MARKUP[0], "--title", MARKUP[0], "--out", str(folder), "-q"]
    assert main(["evaluate", *arguments]) == 0
    return folder / "charts.html"


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "report.html"
    rf.report(rf.datasets.vote(), "label", "score", path=path, by=["model", "fold"], id="id")
    return path


METRICS = "AUC and other metrics of each group"
MEAN_AREAS = "Areas under the ROC curves, pooled and as means over fold"
FIRST_CHARTS = ":is(.first, .charts) svg.marks"
CURVES = ".mark-line path:not([stroke='#80868b'])"  # without lines of chance, which are gray


def cells(page, caption):
    """Return the text of each row of a table."""
    return page.locator(f"[aria-label='{caption}'] tbody tr").evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def test_the_numbers_of_a_report_are_those_of_the_tables(opened, many):
    page, events = opened(many)
    assert events == []
    vote = rf.datasets.vote()
    areas = rf.auc(vote, "label", "score", by=["model", "fold"])
    rows = cells(page, METRICS)
    assert [row[:4] for row in rows] == [
        [one["model"], str(one["fold"]), f"{one['auc']:.3f}",
         f"{one['lower']:.3f} to {one['upper']:.3f}"]
        for one in areas.to_dicts()
    ]  # fmt: skip
    pairs = rf.compare(vote, "label", "score", id="id")
    rows = cells(page, "Differences of the AUC of each pair of models")
    assert [row[:3] for row in rows] == [
        [one["model_a"], one["model_b"], f"{one['difference']:z.3f}".replace("-", "\u2212")]
        for one in pairs.to_dicts()
    ]
    assert page.locator(FIRST_CHARTS).count() == 15  # 14 of curves, 1 of calibration
    legend = page.locator(FIRST_CHARTS).nth(1)
    assert "mean AUC" in legend.text_content()


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_chart_is_saved_in_colors_that_need_no_page(opened, vote, kind):
    page, events = opened(vote, color_scheme="dark")
    with page.expect_download() as download:
        page.locator(f"[data-save={kind}]").first.click()
    saved = Path(download.value.path()).read_bytes()
    if kind == "svg":
        assert b"var(" not in saved
        assert b"#07469b" in saved
    else:
        assert saved.startswith(b"\x89PNG")
    assert [event for event in events if event[0] in {"error", "console", "dialog"}] == []


FRAGMENTS = """<!doctype html><meta charset=utf-8><title>Mine</title>
<h1 id=rocframe>before</h1>{first}<p>between</p>{second}{first}{bundle}{second}<p>after</p>
<script>
const drawn = () => document.querySelectorAll(".rocframe-chart[data-drawn=yes]").length;
const wait = () => drawn() === 4 ? document.body.dataset.drawn = "yes" : setTimeout(wait, 20);
wait();
</script>"""


@pytest.mark.parametrize("bundled", [True, False])
def test_a_page_may_contain_several_fragments_with_and_without_their_bundle(
    opened, tmp_path, bundled
):
    rows = pl.DataFrame({"model": MARKUP, "label": [1, 0] * 3, "score": [0.1, 0.2] * 3})
    curves = rf.curve(rows, "label", "score", by="model")
    other = rf.curve(rf.datasets.vote(), "label", "score", by="model")
    parts = {
        "first": rf.chart_fragment(curves.roc.chart(), bundle=bundled),
        "second": rf.chart_fragment(other.roc.chart(facet="model"), bundle=bundled),
        "bundle": "" if bundled else rf.chart_bundle(),
    }
    path = tmp_path / "mine.html"
    path.write_text(FRAGMENTS.format(**parts), encoding="utf-8")
    page, events = opened(path)
    assert events == []
    assert page.locator(".rocframe-chart svg.marks").count() == 4
    assert page.evaluate("[typeof vegaEmbed, typeof vega, typeof rocframe]") == [
        *("undefined", "undefined", "object")
    ]


def test_a_saved_page_draws_its_chart(opened, tmp_path):
    path = tmp_path / "chart.html"
    rf.save_chart(rf.curve(rf.datasets.vote(), "label", "score").roc.chart(), path)
    page, events = opened(path, drawn=DRAWN)
    assert events == []
    assert page.locator("svg.marks .mark-line path").count() >= 1


def test_pages_run_only_their_own_scripts(opened, vote, tmp_path):
    chart = rf.curve(rf.datasets.vote(), "label", "score", by="model").roc.dashboard()
    rf.save_chart(chart, tmp_path / "board.html")
    foreign = "<script>document.title = 'foreign'</script><img src='data:,' onerror='alert(1)'>"
    for source, drawn in ((vote, "body[data-drawn]"), (tmp_path / "board.html", DRAWN)):
        text = source.read_text(encoding="utf-8")
        path = tmp_path / f"foreign_{source.name}"
        path.write_text(text + foreign, encoding="utf-8")
        page, events = opened(path, drawn=drawn)
        assert page.locator("svg.marks .mark-line path").count() >= 6
        assert page.title() != "foreign"
        kinds, texts = zip(*events, strict=True)
        assert {"dialog", "error"}.isdisjoint(kinds)
        assert sum("Content Security Policy" in text for text in texts) == 2
        # The script waits, because the browser permits eval in expressions of a debugger.
        assert page.evaluate(TRY_EVAL) == "EvalError"


def test_all_charts_are_drawn_without_a_request(opened, vote):
    page, events = opened(vote)
    assert events == []
    assert page.locator(FIRST_CHARTS).count() == 3
    # The calibration chart does not show the model linear_svm, whose scores are not probabilities.
    for number, n_lines in enumerate((6, 6, 5)):
        chart = page.locator(FIRST_CHARTS).nth(number)
        lines = chart.locator(CURVES).count()
        assert lines == n_lines
        assert chart.bounding_box()["width"] > 300


def test_a_tooltip_names_the_model_and_the_threshold(opened, vote):
    page, _ = opened(vote)
    page.locator(FIRST_CHARTS).first.scroll_into_view_if_needed()
    box = page.locator(FIRST_CHARTS).first.bounding_box()
    for step in range(100):
        page.mouse.move(box["x"] + 60 + 2 * step, box["y"] + 180)
        if page.locator("#vg-tooltip-element.visible").count():
            break
    tooltip = page.locator("#vg-tooltip-element").inner_text()
    assert "model" in tooltip
    assert "threshold" in tooltip


def test_markup_in_names_is_shown_as_text(opened, markup):
    page, events = opened(markup)
    assert events == []
    assert page.title() == MARKUP[0]
    assert page.locator("img").count() == 0
    first = page.locator(".table tbody th").all_text_contents()
    assert sorted(first) == sorted([*MARKUP, *MARKUP])
    assert page.locator(f"{FIRST_CHARTS} {CURVES}").count() == 12


@pytest.mark.parametrize("width", [320, 360, 768, 1200])
def test_nothing_is_wider_than_the_screen(opened, markup, width):
    page, _ = opened(markup, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for number in range(2):
        box = page.locator(":is(.first, .charts) .chart").nth(number)
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_charts_are_fitted_to_a_window_with_a_new_size(opened, vote):
    page, events = opened(vote, viewport={"width": 1200, "height": 800})
    wide = page.locator(FIRST_CHARTS).first.bounding_box()["width"]
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_function(
        f"document.querySelector('.first svg.marks').getBoundingClientRect().width < {wide} - 50"
    )
    assert events == []
    assert page.locator(FIRST_CHARTS).count() == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_have_sufficient_contrast(opened, vote, scheme):
    page, _ = opened(vote, color_scheme=scheme)
    paper, ink = (
        page.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("backgroundColor", "color")
    )
    assert contrast(paper, ink) > 7
    quiet = page.evaluate("getComputedStyle(document.querySelector('.quiet')).color")
    assert contrast(paper, quiet) > 4.5
    lines = page.locator(f"{FIRST_CHARTS} {CURVES}")
    colors = lines.evaluate_all("all => all.map(one => getComputedStyle(one).stroke)")
    assert len(set(colors)) == 6
    assert min(contrast(paper, color) for color in colors) >= 3
    words = page.locator(f"{FIRST_CHARTS} text")
    for fill in set(words.evaluate_all("all => all.map(one => getComputedStyle(one).fill)")):
        assert contrast(paper, fill) > 4.5


def test_charts_follow_the_color_scheme_and_print_on_white(opened, vote):
    page, _ = opened(vote, color_scheme="dark")
    line = page.locator(f"{FIRST_CHARTS} {CURVES}").first
    text = page.locator(f"{FIRST_CHARTS} text").first
    colors_of = {}
    for name, media in {
        "dark": {"color_scheme": "dark"},
        "light": {"color_scheme": "light"},
        "paper": {"media": "print", "color_scheme": "dark"},
    }.items():
        page.emulate_media(**media)
        colors_of[name] = (
            line.evaluate("one => getComputedStyle(one).stroke"),
            text.evaluate("one => getComputedStyle(one).fill"),
        )
    assert colors_of["dark"][0] != colors_of["light"][0]
    assert colors_of["paper"] == colors_of["light"]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2, from 1 to 21."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = [int(part) / 255 for part in color.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_printed_page_is_complete(opened, vote):
    page, _ = opened(vote, viewport={"width": 700, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    assert page.locator("nav").is_hidden()
    assert page.locator(".save").first.is_hidden()
    assert page.locator(FIRST_CHARTS).count() == 3
    assert page.pdf(format="A4").startswith(b"%PDF-")


def test_printing_draws_all_charts(browser, many):
    context = browser.new_context(viewport={"width": 700, "height": 500})
    page = context.new_page()
    # Without timers, only visible charts are drawn until the event `beforeprint`.
    page.add_init_script("window.setTimeout = () => 0;")
    page.goto(many.resolve().as_uri())
    total = page.locator(":is(.first, .charts) .chart").count()
    assert page.locator(FIRST_CHARTS).count() < total
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(FIRST_CHARTS).count() == total
    context.close()


def test_the_tables_need_no_javascript(browser, vote):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(vote.resolve().as_uri())
    assert page.locator("noscript p").inner_text().startswith("The charts need JavaScript")
    tables = page.locator("table").all()
    assert [table.locator("tbody tr").count() for table in tables] == [6, 6]
    context.close()


def test_a_chart_that_altair_saves_is_drawn_without_a_network(opened, tmp_path):
    chart = rf.curve(rf.datasets.vote(), "label", "score", by="model").roc.chart()
    chart.save(tmp_path / "chart.html", inline=True)
    opened(tmp_path / "chart.html", ".vega-embed canvas, .vega-embed svg")


def test_a_text_states_that_a_table_has_hidden_rows_or_columns(opened, many):
    page, _ = opened(many, viewport={"width": 1400, "height": 900})
    page.locator("details", has=page.locator(f"[aria-label='{METRICS}']")).evaluate(
        "one => { one.open = true; }"
    )
    cue = page.locator(f".scroll[aria-label='{METRICS}'] + .cue")
    sync_api.expect(cue).to_contain_text("Scroll down to see all 60 rows.")
    page.set_viewport_size({"width": 400, "height": 900})
    cue = page.locator(f".scroll[aria-label='{MEAN_AREAS}'] + .cue")
    sync_api.expect(cue).to_have_text("Scroll to the right to see all 10 columns.")


def test_a_click_on_a_title_sorts_the_rows(opened, many):
    page, events = opened(many)
    before = cells(page, MEAN_AREAS)
    title = page.locator(f"[aria-label='{MEAN_AREAS}'] thead th")
    titles = title.all_inner_texts()
    for name, key in {
        "model": lambda row: row[0],
        "below the best": lambda row: (row[2] == "–", float(row[2].replace("–", "nan"))),
        "95 % interval\nof the difference": lambda row: (
            row[3] == "–",
            float(row[3].partition(" ")[0].replace("\u2212", "-").replace("–", "nan")),
        ),
    }.items():
        column = [one.replace("\n", " ") for one in titles].index(name.replace("\n", " "))
        title.nth(column).locator("[role=button]").click()
        assert cells(page, MEAN_AREAS) == sorted(before, key=key)
        assert title.nth(column).get_attribute("aria-sort") == "ascending"
        page.locator(f"[aria-label='{MEAN_AREAS}'] thead th[aria-sort] [role=button]").press(
            "Enter"
        )
        assert title.nth(column).get_attribute("aria-sort") == "descending"
        last = [row for row in sorted(before, key=key) if "–" in row[2:4] and name != "model"]
        rows = [row for row in sorted(before, key=key) if row not in last]
        assert cells(page, MEAN_AREAS) == rows[::-1] + last
    assert events == []


def test_a_report_of_25_models_is_printed_on_at_most_six_pages(opened, tmp_path):
    part = pl.select(id=pl.int_range(200)).with_columns(label=pl.col("id") % 4 == 0)
    rows = pl.concat(
        part.with_columns(
            model=pl.lit(f"gradient_boosting_with_splines_{i:02}"),
            score=pl.col("id").hash(i) % 100 + (60 - i) * pl.col("label"),
        )
        for i in range(25)
    )
    costs = {"fp": 1, "fn": 5}
    options = {"by": "model", "id": "id", "costs": costs}
    path = rf.report(rows, "label", "score", path=tmp_path / "page.html", **options)
    page, _ = opened(path, viewport={"width": 1000, "height": 800})
    pdf = page.pdf(format="A4", margin=dict.fromkeys(["top", "right", "bottom", "left"], "1cm"))
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) <= 6
    page.emulate_media(media="print")
    assert page.locator("#threshold").is_hidden()
    assert page.locator("#comparison").is_hidden()  # it has 300 rows
    assert page.locator("[aria-label='Area under the ROC curve'] tbody tr").count() == 25
    assert page.locator("[aria-label^='Thresholds with the lowest'] tbody tr").last.is_visible()


def test_long_names_do_not_narrow_the_plot_and_break_between_words(opened, tmp_path):
    names = {f"model-{i}-international-production-candidate-of-the-year": i for i in range(2)}
    vote = rf.datasets.vote().filter(pl.col("model").str.starts_with("l"))
    models = vote["model"].unique().sort()
    vote = vote.with_columns(pl.col("model").replace_strict(dict(zip(models, names, strict=True))))
    path = rf.report(vote, "label", "score", path=tmp_path / "long.html", by="model", kind="roc")
    page, events = opened(path, viewport={"width": 400, "height": 900})
    assert events == []
    plot = page.locator(f"{FIRST_CHARTS} .background").first.bounding_box()
    assert plot["width"] >= 180
    assert "(AUC 0.808)" in page.locator(f"{FIRST_CHARTS} .role-legend").first.text_content()
    # Each part of a name, between hyphens, is in one line.
    lines = page.locator("tbody th bdi").first.evaluate(
        """box => [...box.childNodes].filter(part => part.data).map(part => {
             const range = document.createRange();
             range.selectNode(part);
             return range.getClientRects().length;
           })"""
    )
    assert set(lines) == {1}
