"""Open pages from disk in a browser without a network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"], env={**os.environ}
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def open_page(browser):
    """Return a function that opens a page; its result is the page and a list of its events.

    The events are pairs of a name and a text: console messages, errors, dialogs and requests of
    other files.
    """

    def opened(path, drawn=None, **options):
        context = browser.new_context(**options)
        context.set_offline(True)
        page, events = context.new_page(), []
        page.on("console", lambda message: events.append(("console", message.text)))
        page.on("pageerror", lambda error: events.append(("error", str(error))))
        page.on(
            "dialog", lambda dialog: (events.append(("dialog", dialog.message)), dialog.dismiss())
        )
        address = path.resolve().as_uri()
        page.on(
            "request",
            lambda request: request.url != address and events.append(("request", request.url)),
        )
        page.goto(address)
        if drawn is not None:
            page.wait_for_selector(drawn)
        return page, events

    return opened
