"""How a connector is, on its page and on the overview, and what was logged for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

from .stage import state_badge

pytestmark = pytest.mark.integration

WAIT_MS = 120_000


def test_automatic_restarts_and_the_log_are_seen_until_all_is_well(
    page: Page, ui_worker: PenstockProcess, tmp_path: Path
) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    ui_worker.create(
        "unsteady",
        {
            "connector.class": "ProbeSource",
            "topic": "unsteady",
            "count": "10",
            "fail": "task.start",
            "trouble.file": str(trouble),
            "errors.restart.enable": "true",
            "errors.restart.attempts": "2",
            "errors.restart.backoff.ms": "50",
        },
    )
    page.goto("#/")
    attention = page.get_by_role("region", name="Needs attention")
    expect(attention).to_contain_text("given up after 2 automatic restarts", timeout=WAIT_MS)
    attention.get_by_role("link", name="unsteady").click()
    health = page.get_by_role("region", name="Health", exact=True)
    expect(health.locator("[data-health=failed]")).to_be_visible()
    expect(health).to_contain_text("task.start was told to fail")
    expect(page.locator("[data-task='0'] td.number")).to_have_text("2")

    page.get_by_role("tab", name="Recent log").click()
    log = page.get_by_role("region", name="Recent log")
    expect(log).to_contain_text("automatic restart 2 of 2 in 0.1 s", timeout=WAIT_MS)
    page.get_by_label("Lines to show").select_option("bad")
    expect(log).to_contain_text("stays FAILED")
    expect(log).not_to_contain_text("is restarted automatically")
    expect(page.get_by_text("penstock logs unsteady").first).to_be_visible()

    trouble.unlink()
    page.get_by_role("button", name="Restart failed").click()
    page.get_by_role("tab", name="Tasks and flow").click()
    expect(health.locator("[data-health=healthy]")).to_be_visible(timeout=WAIT_MS)
    expect(health).to_contain_text("ago", timeout=WAIT_MS)
    ui_worker.http.delete("/connectors/unsteady")


def test_a_connector_that_stalls_is_not_shown_as_running(
    page: Page, ui_worker: PenstockProcess, tmp_path: Path
) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    config = {"connector.class": "ProbeSource", "topic": "stuck", "count": "10", "hang.until.healed": "task.read"}
    ui_worker.create("stuck", {**config, "trouble.file": str(trouble)})
    wait_until(
        lambda: ui_worker.http.get("/connectors/stuck/health").json()["health"] == "stalled", "it stalls", seconds=120
    )
    assert ui_worker.status("stuck")["connector"]["state"] == "RUNNING"
    page.goto("#/")
    page.locator("a.tile", has_text="Stalled").click()
    row = page.locator("tr[data-name=stuck]")
    expect(row.locator(".state")).to_have_text("Stalled")
    expect(row).to_contain_text("A batch has been in progress for")
    row.get_by_role("link", name="stuck").click()
    expect(state_badge(page)).to_have_text("Stalled")
    expect(page.get_by_role("button", name="Restart failed")).to_have_count(0)
    trouble.unlink()
    expect(state_badge(page)).to_have_text("Running", timeout=WAIT_MS)
    page.goto("#/connectors?state=STALLED")
    expect(page.locator("tr[data-name=stuck]")).to_have_count(0)
    ui_worker.http.delete("/connectors/stuck")
