"""Write the pages that the landing page links: a report, a dashboard and the page of a nightly job.

Each page of a user is one file with its own script. In the site, the pages share the script of the
live charts.
"""

from __future__ import annotations

import re
from base64 import b64encode
from contextlib import chdir, redirect_stderr, redirect_stdout
from gzip import compress
from io import StringIO
from pathlib import Path
from shutil import move
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from pictures import HERE, dashboard

import rocframe as rf
from rocframe.cli.main import main
from rocframe.reports.export import embed_script

FOLDER = "demo"
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
REPORT, DASHBOARD, NIGHTLY = NAMES = ("report.html", "dashboard.html", "nightly.html")
# The policy allows only scripts in the page.
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n')
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
DIGITS = re.compile(r"(?<![\w.])\d+\.\d{5,}(?:e-?\d+)?")
DATA = re.compile(r'<script type="application/json">(.*?)(?=</script>)', re.DOTALL)
NIGHTLY_OPTIONS = (
    "--label label --score score --by model --store store --partition-by month --out out --quiet"
)


def write(folder: Path) -> None:
    """Write the three pages; the report is that of the predictions of the landing page."""
    names: dict[str, Any] = {}
    code = CODE.findall(HERE.joinpath("index.md").read_text(encoding="utf-8"))[:2]
    with redirect_stdout(StringIO()):
        exec("".join(code), names)
    columns = {"by": "model", "id": "customer", "title": "Buyers"}
    rf.report(names["predictions"], "bought", "score", path=folder / REPORT, **columns)
    rf.save_chart(dashboard(), folder / DASHBOARD)
    target = folder.resolve() / NIGHTLY
    with TemporaryDirectory() as place, chdir(place):
        months = rf.datasets.rain().with_columns(pl.col("day").dt.truncate("1mo").alias("month"))
        Path("logs").mkdir()
        for (month,), log in months.group_by("month"):
            log.write_parquet(f"logs/{month}.parquet")
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            code = main(["evaluate", "logs/*.parquet", *NIGHTLY_OPTIONS.split(), "--title", "Rain"])
        assert code == 0
        move("out/charts.html", target)


def rounded(text: str) -> str:
    """Return JSON with five significant digits of each fraction, which no chart distinguishes."""
    return DIGITS.sub(lambda number: f"{float(number[0]):.5g}", text)


def packed(text: str) -> str:
    """Return a text, compressed, for a string of JavaScript or the content of an element."""
    return b64encode(compress(text.encode(), mtime=0)).decode()


def share_script(folder: Path, script: str) -> None:
    """Replace the copy of the script in each page by a link to `script`, and pack the data."""
    for name in NAMES:
        page = folder / name
        start, copy, end = page.read_text(encoding="utf-8").partition("<script>" + embed_script())
        assert copy, name
        start = POLICY.sub("", start).replace(
            "</head>", f'<script src="{script}"></script>\n</head>'
        )
        end = SCRIPT.sub(r"<script>rocframeReady.then(() => {\1\n});</script>", "<script>" + end)
        text = DATA.sub(
            lambda data: f'<script type="application/json" data-packed>{packed(rounded(data[1]))}',
            start + end,
        )
        page.write_text(text, encoding="utf-8")
