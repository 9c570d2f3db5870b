"""One browser and one worker for all tests of the page; a fresh window for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.worker import PenstockProcess

from .chromium import find_chromium
from .watch import watched

PLUGINS = Path(__file__).parents[1] / "support" / "plugins"
WAIT_MS = 120_000
STALLED_MS = 20_000


@pytest.fixture(scope="package")
def ui_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    settings = {"plugin.path": str(PLUGINS), "health.stalled.after.ms": str(STALLED_MS)}
    with PenstockProcess(tmp_path_factory.mktemp("ui"), settings=settings) as process:
        yield process


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, ui_worker: PenstockProcess) -> Iterator[Page]:
    """A window without history. A test fails that leaves errors in its console, or asks anybody but the worker."""
    context = browser.new_context(base_url=f"{ui_worker.url}/ui/", viewport={"width": 1360, "height": 850})
    context.set_default_timeout(WAIT_MS)
    made = context.new_page()
    with watched(made, ui_worker.url):
        yield made
    context.close()
