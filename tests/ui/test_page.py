"""The frame of the page: addresses, keys, theme, hostile names, a worker that is gone."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.worker import PenstockProcess

from .stage import generator, state_badge

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>", "a/b?c#d %25 ü", 'it\'s "quoted" $(id)'])
def test_a_name_is_text_whatever_is_in_it(page: Page, ui_worker: PenstockProcess, name: str) -> None:
    ui_worker.create(name, generator("odd"))
    page.goto("#/connectors")
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(state_badge(page)).to_have_text("Running")
    assert page.locator("main img").count() == 0
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(state_badge(page)).to_have_text("Paused")
    page.get_by_role("tab", name="Configuration").click()
    expect(page.get_by_text("Nothing is changed.")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_addresses_lead_to_views_and_back(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("linked", generator("linked"))
    page.goto("#/connectors/linked/offsets")
    expect(page.get_by_role("tab", name="Offsets")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Lifecycle").click()
    assert page.url.endswith("#/connectors/linked/lifecycle")
    page.get_by_role("link", name="Topics", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics")
    page.go_back()
    expect(page.get_by_role("tab", name="Lifecycle")).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(page.get_by_role("tab", name="Offsets")).to_have_attribute("aria-selected", "true")


def test_a_dialog_ends_with_the_view_it_was_opened_in(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("outlived", generator("outlived"), initial_state="STOPPED")
    heading, dialog = page.get_by_role("heading", level=1), page.get_by_role("dialog")
    page.goto("#/connectors?q=outlived")
    page.get_by_role("link", name="outlived").click()
    page.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("Delete outlived?")
    page.go_back()
    expect(heading).to_have_text("Connectors")
    expect(dialog).to_have_count(0)
    page.get_by_label("Choose outlived").check()
    page.get_by_role("toolbar").get_by_role("button", name="Resume").click()
    expect(dialog).to_contain_text("penstock resume outlived")
    page.go_forward()
    expect(heading).to_have_text("outlived")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert ui_worker.http.delete("/connectors/outlived").status_code == 204


def test_what_is_not_there_is_said(page: Page) -> None:
    page.goto("#/connectors/nobody")
    expect(page.get_by_text("There is no such connector")).to_be_visible()
    expect(page.get_by_role("tab")).to_have_count(0)
    page.goto("#/topics/nowhere")
    expect(page.get_by_text("There is no such topic")).to_be_visible()
    expect(page.get_by_label("Find in these records")).to_be_hidden()
    expect(page.locator(".notice.red").locator("visible=true")).to_have_count(0)
    page.goto("#/nowhere")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")


def test_the_keyboard_is_enough(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("typed", generator("typed"))
    page.goto("")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("typed")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="typed").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("typed")
    page.get_by_role("tab", name="Tasks and flow").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Configuration")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Pause", exact=True).focus()
    page.keyboard.press("Enter")
    expect(state_badge(page)).to_have_text("Paused")


def test_the_focus_stays_where_it_is_while_data_change(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("watched", generator("watched"))
    page.goto("#/connectors?q=watched")
    page.get_by_label("Choose watched").focus()
    ui_worker.http.put("/connectors/watched/pause")
    expect(page.locator("tr[data-name=watched] .state")).to_have_text("Paused")
    expect(page.get_by_label("Choose watched")).to_be_focused()


def test_the_theme_follows_the_system_until_one_is_chosen(browser: Browser, ui_worker: PenstockProcess) -> None:
    context = browser.new_context(base_url=f"{ui_worker.url}/ui/", color_scheme="dark")
    page = context.new_page()
    ground = "getComputedStyle(document.body).backgroundColor"
    page.goto("")
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(ground)
    assert dark != light
    page.get_by_role("button", name="System theme").click()
    page.get_by_role("button", name="Light theme").click()
    expect(page.get_by_role("button", name="Dark theme")).to_be_visible()
    assert page.evaluate(ground) == dark
    page.reload()
    assert page.evaluate(ground) == dark
    context.close()


def test_a_worker_that_is_gone_is_said_and_found_again(browser: Browser, ui_worker: PenstockProcess) -> None:
    context = browser.new_context(base_url=f"{ui_worker.url}/ui/")
    page = context.new_page()
    page.goto("#/connectors")
    expect(page.get_by_text("Worker healthy")).to_be_visible()
    context.set_offline(True)
    expect(page.locator("#banner")).to_contain_text("The worker cannot be reached.", timeout=120_000)
    expect(page.get_by_text("Worker not reached")).to_be_visible()
    expect(page.get_by_text("Worker healthy")).to_have_count(0)
    context.set_offline(False)
    expect(page.locator("#banner")).to_be_hidden(timeout=120_000)
    expect(page.get_by_text("Worker healthy")).to_be_visible()
    context.close()


def test_an_overview_counts_by_state(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("counted", generator("counted"), initial_state="STOPPED")
    page.goto("")
    stopped = page.get_by_role("link", name="Stopped")
    expect(stopped.locator(".much")).not_to_have_text("0")
    stopped.click()
    expect(page.locator(f"tr[data-name={quote('counted')}] .state")).to_have_text("Stopped")
    assert "state=STOPPED" in page.url
