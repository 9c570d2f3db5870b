"""Editing a configuration: nothing that somebody saved, or that somebody typed, is lost without a word."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

from .stage import field, generator, json_editor, offsets_of

pytestmark = pytest.mark.integration


def _change(worker: PenstockProcess, name: str, **keys: str) -> None:
    """What somebody else does."""
    assert worker.http.patch(f"/connectors/{name}/config", json=keys).status_code == 200


def _config(worker: PenstockProcess, name: str) -> dict[str, str]:
    found: dict[str, str] = worker.http.get(f"/connectors/{name}/config").json()
    return found


def test_what_somebody_else_saved_is_told_and_can_be_looked_at(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("shared", generator("shared"))
    page.goto("#/connectors/shared/config")
    expect(field(page, "rate")).to_have_value("5")
    _change(ui_worker, "shared", rate="6")
    expect(page.get_by_text("Somebody else has changed it meanwhile.")).to_be_visible()
    page.get_by_role("button", name="Show theirs").click()
    expect(field(page, "rate")).to_have_value("6")
    expect(page.get_by_text("Somebody else has changed it meanwhile.")).to_have_count(0)


def test_saving_over_somebody_else_needs_a_decision(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("raced", generator("raced"))
    page.goto("#/connectors/raced/config")
    field(page, "rate").fill("7")
    expect(page.get_by_text("1 key changed, not saved yet.")).to_be_visible()
    page.get_by_role("button", name="Review and save").click()
    expect(page.get_by_role("dialog", name="Save 1 change of raced?")).to_be_visible()
    _change(ui_worker, "raced", topic="theirs", rate="6")
    page.get_by_role("button", name="Save", exact=True).click()
    asked = page.get_by_role("dialog", name="Somebody else has changed raced meanwhile")
    expect(asked.locator(".diff tbody tr")).to_have_count(2)
    expect(asked.get_by_role("button", name="Cancel")).to_be_focused()
    assert (_config(ui_worker, "raced")["rate"], _config(ui_worker, "raced")["topic"]) == ("6", "theirs")
    asked.get_by_role("button", name="Overwrite theirs").click()
    again = page.get_by_role("dialog", name="Save 2 changes of raced?")
    expect(again.locator(".diff tbody tr").filter(has_text="topic")).to_contain_text("theirs")
    again.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Nothing is changed.")).to_be_visible()
    assert (_config(ui_worker, "raced")["rate"], _config(ui_worker, "raced")["topic"]) == ("7", "raced")


def test_their_configuration_can_be_taken_instead_of_saving(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("yielded", generator("yielded"))
    page.goto("#/connectors/yielded/config")
    field(page, "rate").fill("7")
    expect(page.get_by_text("1 key changed, not saved yet.")).to_be_visible()
    page.get_by_role("button", name="Review and save").click()
    _change(ui_worker, "yielded", rate="6")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Look at theirs").click()
    expect(field(page, "rate")).to_have_value("6")
    expect(page.get_by_text("Nothing is changed.")).to_be_visible()
    assert _config(ui_worker, "yielded")["rate"] == "6"


def test_a_connector_that_is_gone_is_not_made_again_by_saving(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("vanished", generator("vanished"))
    page.goto("#/connectors/vanished/config")
    field(page, "rate").fill("7")
    expect(page.get_by_text("1 key changed, not saved yet.")).to_be_visible()
    ui_worker.http.delete("/connectors/vanished")
    page.get_by_role("button", name="Review and save").click()
    expect(page.locator(".toast.bad")).to_contain_text("vanished was not saved")
    assert ui_worker.http.get("/connectors/vanished").status_code == 404


def test_changes_are_still_there_after_a_look_at_something_else(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("kept", generator("kept"))
    page.goto("#/connectors/kept/config")
    field(page, "rate").fill("7")
    expect(page.get_by_text("1 key changed, not saved yet.")).to_be_visible()
    page.get_by_role("tab", name="Offsets").click()
    expect(page.locator(".toast")).to_contain_text("Unsaved changes of kept are kept")
    page.get_by_role("link", name="Topics", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics")
    page.goto("#/connectors/kept/config")
    expect(field(page, "rate")).to_have_value("7")
    page.get_by_role("button", name="JSON", exact=True).click()
    page.get_by_label("Configuration as JSON").fill("{ not yet")
    page.get_by_role("tab", name="Lifecycle").click()
    page.get_by_role("tab", name="Configuration").click()
    expect(page.get_by_label("Configuration as JSON")).to_have_value("{ not yet")
    page.get_by_role("button", name="Undo changes").click()
    expect(field(page, "rate")).to_have_value("5")


def test_leaving_the_page_with_changes_is_asked(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("left", generator("left"))
    page.goto("#/connectors/left/config")
    field(page, "rate").fill("7")
    expect(page.get_by_text("1 key changed, not saved yet.")).to_be_visible()
    with page.expect_event("dialog") as asked:
        page.evaluate("setTimeout(() => location.reload(), 0)")
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    expect(field(page, "rate")).to_have_value("7")


def test_numbers_of_a_pasted_configuration_stay_as_they_were_written(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("exact", generator("exact"))
    page.goto("#/connectors/exact/config")
    area = json_editor(page)
    more = '"big": 9007199254740993, "part": 1.50, "nested": {"deep": [12345678901234567890]}, "rate"'
    area.fill(area.input_value().replace('"rate"', more))
    page.get_by_role("button", name="Review and save").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Nothing is changed.")).to_be_visible()
    config = _config(ui_worker, "exact")
    assert config["big"] == "9007199254740993"
    assert config["part"] == "1.50"
    assert config["nested"] == '{"deep":[12345678901234567890]}'


def test_a_new_connector_that_was_begun_is_still_there_after_a_look_at_something_else(page: Page) -> None:
    page.goto("#/new/FileStreamSource")
    field(page, "name").fill("begun")
    field(page, "file").fill("lines.txt")
    page.get_by_label("Begin as").select_option("PAUSED")
    page.get_by_role("link", name="Topics", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("What you filled in is kept")
    page.goto("#/new/FileStreamSource")
    expect(field(page, "name")).to_have_value("begun")
    expect(field(page, "file")).to_have_value("lines.txt")
    expect(page.get_by_label("Begin as")).to_have_value("PAUSED")
    page.get_by_role("button", name="Begin anew").click()
    expect(field(page, "file")).to_have_value("")
    expect(page.get_by_label("Begin as")).to_have_value("RUNNING")
    expect(page.get_by_role("button", name="Begin anew")).to_have_count(0)


def test_a_connector_that_was_created_leaves_no_draft(page: Page, ui_worker: PenstockProcess) -> None:
    page.goto("#/new/FileStreamSource")
    field(page, "name").fill("drafted")
    field(page, "file").fill("none.txt")
    field(page, "topic").fill("none")
    page.get_by_role("button", name="Create connector").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("drafted")
    page.goto("#/new/FileStreamSource")
    expect(field(page, "file")).to_have_value("")
    ui_worker.http.delete("/connectors/drafted")


def test_a_click_right_after_typing_creates_however_long_the_worker_takes_to_check(
    page: Page, ui_worker: PenstockProcess
) -> None:
    checks: list[Route] = []

    def hold_the_first(route: Route) -> None:
        """It is answered when what was typed is checked once more, as the page does a moment after the last key."""
        checks.append(route)
        for held in checks[:] if len(checks) == 2 else checks[2:][-1:]:
            held.continue_()

    page.goto("#/new/FileStreamSource")
    field(page, "name").fill("impatient")
    field(page, "file").fill("none.txt")
    page.route("**/config/validate", hold_the_first)
    field(page, "topic").fill("none")
    page.get_by_role("button", name="Create connector").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("impatient")
    assert len(checks) >= 2
    ui_worker.http.delete("/connectors/impatient")


def test_an_offset_that_is_being_set_is_still_there_after_a_look_at_something_else(
    page: Page, ui_worker: PenstockProcess
) -> None:
    config = {"connector.class": "ProbeSource", "topic": "resting", "count": "10", "alter.offsets": "true"}
    ui_worker.create("resting", config)
    wait_until(lambda: offsets_of(ui_worker, "resting") == [{"next": 10}], "it has read everything")
    ui_worker.http.put("/connectors/resting/stop")
    page.goto("#/connectors/resting/offsets")
    page.get_by_role("button", name="Edit the offset").click()
    page.get_by_label("New offset").fill('{"next": 3')
    page.get_by_role("tab", name="Configuration").click()
    page.get_by_role("tab", name="Offsets").click()
    expect(page.get_by_label("New offset")).to_have_value('{"next": 3')
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("tab", name="Configuration").click()
    page.get_by_role("tab", name="Offsets").click()
    expect(page.get_by_role("button", name="Edit the offset")).to_be_visible()
    expect(page.get_by_label("New offset")).to_have_count(0)
    assert offsets_of(ui_worker, "resting") == [{"next": 10}]
