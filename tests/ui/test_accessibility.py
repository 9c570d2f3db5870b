"""Every view is checked with axe, in both themes and as wide as a phone, where nothing hangs over the edge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

from .stage import generator, offsets_of

pytestmark = pytest.mark.integration

PHONE = {"width": 390, "height": 844}
LAPTOP = {"width": 1024, "height": 768}
CUT = "areas => areas.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)"
VIEWS = {
    "overview": ("#/", "Needs attention"),
    "connectors": ("#/connectors?q=looked-at", "looked-at"),
    "connector": ("#/connectors/looked-at-ill", "Trace of task 0"),
    "configuration": ("#/connectors/looked-at/config", "Essentials"),
    "offsets": ("#/connectors/looked-at/offsets", "1 partition"),
    "lifecycle": ("#/connectors/looked-at-ill/lifecycle", "Lifecycle hooks"),
    "topics of a connector": ("#/connectors/looked-at/topics", "Topics it has used"),
    "dead letters": ("#/connectors/looked-at/dead-letters", "No dead letter queue"),
    "recent log": ("#/connectors/looked-at-ill/log", "task.plan was told to fail"),
    "plugins": ("#/new", "Sources"),
    "form": ("#/new/Generator", "Essentials"),
    "topics": ("#/topics", "looked-at"),
    "topic": ("#/topics/looked-at", "Earliest offset"),
    "pipelines": ("#/pipelines", "Declared"),
    "workers": ("#/workers", "Log levels"),
}


@pytest.fixture(scope="module")
def looked_at(ui_worker: PenstockProcess) -> Iterator[None]:
    ui_worker.create("looked-at", generator("looked-at"))
    ui_worker.create("looked-at-ill", {"connector.class": "ProbeSource", "topic": "ill", "fail": "task.plan"})
    wait_until(lambda: offsets_of(ui_worker, "looked-at"), "it has offsets", seconds=120)
    yield
    ui_worker.http.delete("/connectors/looked-at")
    ui_worker.http.delete("/connectors/looked-at-ill")


@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_can_be_used_by_everybody(page: Page, view: str) -> None:
    address, sign = VIEWS[view]
    page.goto(address)
    expect(page.get_by_text(sign).first).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        _check(page, f"{view}, {scheme}")
    page.set_viewport_size(LAPTOP)
    assert page.locator(".scroll").evaluate_all(CUT) == [], f"{view}, on a narrow window"
    page.set_viewport_size(PHONE)
    _check(page, f"{view}, on a phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.usefixtures("looked_at")
def test_a_dialog_can_be_used_by_everybody(page: Page) -> None:
    page.goto("#/connectors/looked-at")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog", name="Delete looked-at?")).to_be_visible()
    _check(page, "dialog")


def _check(page: Page, where: str) -> None:
    found = Axe().run(page).response["violations"]
    told = [
        f"{where}: {one['id']} ({one['impact']}): {one['help']}: {[node['html'][:160] for node in one['nodes'][:4]]}"
        for one in found
    ]
    assert told == []
