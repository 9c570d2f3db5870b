"""What the tests of the page put on the worker, and look for on the page."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.support.worker import PenstockProcess

TEXT = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}


def generator(topic: str, rate: int = 5) -> dict[str, str]:
    return {"connector.class": "Generator", "topic": topic, "rate": str(rate)}


def offsets_of(worker: PenstockProcess, name: str) -> list[Any]:
    return [entry["offset"] for entry in worker.http.get(f"/connectors/{name}/offsets").json()["offsets"]]


def state_badge(page: Page) -> Locator:
    """The state in the head of a connector's page."""
    return page.locator(".head .state")


def modules(page: Page) -> str:
    """Where the modules of the page lie, for tests that call them in the browser."""
    source = page.locator("script[type=module]").evaluate("node => node.src")
    return f"{source.removesuffix('main.js')}lib/"


def field(page: Page, key: str) -> Locator:
    """The input of a configuration key."""
    return page.locator(f"[data-field='{key}'] input").first


def json_editor(page: Page) -> Locator:
    """The configuration as JSON, once it is there: the page knows first what has to be covered in it."""
    page.get_by_role("button", name="JSON", exact=True).click()
    area = page.get_by_label("Configuration as JSON")
    expect(area).to_be_visible()
    return area
