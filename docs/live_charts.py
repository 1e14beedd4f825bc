"""Show live charts instead of pictures, on the landing page, in the gallery and for dashboards.

A page shows the picture until a script has drawn the chart, and without JavaScript. The site
contains the specification of each chart, compressed, and the script that draws, so a page needs no
network.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import demo_pages
from docutils import nodes
from pictures import DASHBOARD, DIGESTS, dashboard, pictures
from sphinx.transforms import SphinxTransform

import rocframe as rf
from rocframe.reports.export import (
    chart_spec,
    embed_script,
    json_for_html,
    style_sheets,
    with_page_colors,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.writers.html5 import HTML5Translator

LIVE_PAGES = re.compile(r"index|gallery/(?!index)[\w-]+")  # the index shows thumbnails
FOLDER = "_static/charts"
LOADER = """// Run the script that draws charts, which is compressed here, and unpack the data.
function rocframeUnpack(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
const rocframeReady = rocframeUnpack("%s").then(async (text) => {
  document.head.append(Object.assign(document.createElement("script"), { text }));
  if (document.readyState === "loading") {
    await new Promise((resolve) => { document.addEventListener("DOMContentLoaded", resolve); });
  }
  for (const data of document.querySelectorAll("script[data-packed]")) {
    data.textContent = await rocframeUnpack(data.textContent);
  }
});
"""
CSS = """.live-chart {{ {light} --paper: var(--pst-color-background); }}
html[data-theme=dark] .live-chart {{ {dark} --paper: var(--pst-color-background); }}
"""


class LiveChart(nodes.General, nodes.Element):
    """A box with the picture of a chart, which the chart replaces."""


class LiveCharts(SphinxTransform):
    """Put each picture of a live chart into a box."""

    default_priority = 20  # after `Pictures` of conf.py

    def apply(self, **_: Any) -> None:
        """Replace the paragraphs of such a picture by boxes."""
        live = {DASHBOARD}
        if LIVE_PAGES.fullmatch(self.env.docname):
            live |= set(json.loads(DIGESTS.read_text(encoding="utf-8")))
        elif self.env.docname != "guide":
            return
        for paragraph in list(self.document.findall(nodes.paragraph)):
            match paragraph.children:
                case [nodes.image() as picture]:
                    image = picture["uri"].rpartition("images/")[2]
                    if image in live:
                        paragraph.replace_self(LiveChart("", picture, chart=image))


def visit(writer: HTML5Translator, node: LiveChart) -> None:
    """Begin the box of a chart."""
    writer.body.append(
        writer.starttag(node, "div", CLASS="live-chart", **{"data-chart": _script(node["chart"])})
    )


def depart(writer: HTML5Translator, _node: LiveChart) -> None:
    """End the box of a chart."""
    writer.body.append("</div>\n")


def _script(image: str) -> str:
    """Return the path of the script with a specification, in FOLDER."""
    return Path(image).with_suffix(".js").as_posix()


def start(app: Sphinx, env: BuildEnvironment, _names: list[str]) -> None:
    """Begin to write the files of the charts, in another process, while Sphinx builds the pages."""
    live = sorted(name for name in env.found_docs if LIVE_PAGES.fullmatch(name))
    sources = [Path(env.doc2path(name)) for name in live]
    folder = Path(app.outdir, FOLDER)
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    writing = pool.submit(write, folder, sources)
    pool.shutdown(wait=False)
    app.connect("build-finished", lambda *_: writing.result())


def write(folder: Path, sources: list[Path]) -> None:
    """Write the specifications of the charts of pages, the files that all charts share, and demos.

    If the pages and the digests of their charts have not changed, the files are not written again.
    """
    code = Path(__file__), Path(demo_pages.__file__)
    texts = (path.read_bytes() for path in (*sources, DIGESTS, *code))
    digest = sha256(b"\0".join([rf.__version__.encode(), *texts])).hexdigest()
    stamp = folder / "digest.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rocframe.js").write_text(
        LOADER % demo_pages.packed(embed_script()), encoding="utf-8"
    )
    (folder / "colors.css").write_text(CSS.format(**style_sheets()), encoding="utf-8")
    for image, chart in {**pictures(sources=sources), DASHBOARD: dashboard()}.items():
        path = folder / _script(image)
        path.parent.mkdir(exist_ok=True)
        spec = json_for_html(with_page_colors(chart_spec(chart, validate=False)))
        text = demo_pages.packed(demo_pages.rounded(spec))
        path.write_text(f'liveCharts[{json.dumps(_script(image))}] = "{text}";\n', encoding="utf-8")
    demos = folder.parents[1] / demo_pages.FOLDER
    demos.mkdir(exist_ok=True)
    demo_pages.write(demos)
    demo_pages.share_script(demos, f"../{FOLDER}/rocframe.js")
    stamp.write_text(digest, encoding="utf-8")


def add_scripts(
    app: Sphinx, _name: str, _template: str, _context: object, document: nodes.document | None
) -> None:
    """Add scripts and colors to a page with live charts."""
    if document is not None and document.next_node(LiveChart):
        app.add_css_file("charts/colors.css")
        for name in ("charts/rocframe.js", "live-charts.js"):
            app.add_js_file(name, loading_method="defer")


def setup(app: Sphinx) -> None:
    """Add the node, the transform and the steps of a build."""
    app.add_node(LiveChart, html=(visit, depart))
    app.add_transform(LiveCharts)
    app.connect("env-before-read-docs", start)
    app.connect("html-page-context", add_scripts)
