"""Secrets stay covered on the page, whatever their keys are called, until somebody wants to see one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from penstock.runtime.secret_looks import is_secret, shown
from tests.support.worker import PenstockProcess

from .stage import field, modules

pytestmark = pytest.mark.integration

JAAS = "producer.override.sasl.jaas.config"
SECRETS = {
    "secret": "declared-hunter1",
    "my.password": "undeclared-hunter2",
    JAAS: 'org.example.Login required password="jaas-hunter3";',
    "store.url": "https://ops:url-hunter4@example.org/x",
}
CLEAR = re.compile(r"hunter\d")
SAMPLES = [
    ("topic", "orders"),
    ("my.password", "x"),
    ("my.password", "${env:PASSWORD}"),
    ("my.password", "${a}${b}"),
    ("Api-Key", "x"),
    ("keystore_key", "x"),
    ("basic.auth.user.info", "a:b"),
    ("url", "https://ops:word@example.org/a?b=c"),
    ("url", "https://example.org/?access_token=abc&x=1"),
    ("url", "jdbc:postgresql://h/db?user=a&password=${env:X}"),
    ("options", "user=a;ssl.key.passphrase=b c"),
    ("declared", "x"),
    ("plain", "no secret = in here"),
]
ASK = """async ({modules, samples}) => {
  const looks = await import(modules + "secret_looks.js");
  const declared = new Set(["declared"]);
  return samples.map(([key, value]) => [looks.isSecret(key, value, declared), looks.shown(key, value, declared)]);
}"""
TEXT = """async ({modules, text}) => (await import(modules + "secret_looks.js")).shownText(text)"""


@pytest.fixture(scope="module")
def _covered(ui_worker: PenstockProcess) -> Iterator[None]:
    ui_worker.create("covered", {"connector.class": "ProbeSource", "topic": "covered", **SECRETS})
    ui_worker.wait_state("covered", "RUNNING")
    yield
    ui_worker.http.delete("/connectors/covered")


def test_the_page_has_the_rule_of_the_worker(page: Page) -> None:
    page.goto("")
    found = page.evaluate(ASK, {"modules": modules(page), "samples": SAMPLES})
    declared = {"declared"}
    assert found == [[is_secret(key, value, declared), shown(key, value, declared)] for key, value in SAMPLES]


def test_secrets_of_a_pipeline_file_are_not_in_its_commands(page: Page) -> None:
    page.goto("")
    text = "config: {topic: a, my.password: hunter1, b: c}\n  api.key: hunter2 # x\n  token: ${env:T}\n"
    covered = page.evaluate(TEXT, {"modules": modules(page), "text": text + '{"secret": "hunter3", "d": 1}\n'})
    assert not CLEAR.search(covered)
    assert "topic: a" in covered
    assert "b: c}" in covered
    assert "token: ${env:T}" in covered
    assert '"d": 1}' in covered


@pytest.mark.usefixtures("_covered")
def test_secrets_are_covered_in_inputs_and_shown_on_purpose(page: Page) -> None:
    page.goto("#/connectors/covered/config")
    for key, value in SECRETS.items():
        page.get_by_label("Find a key").fill(key)
        expect(field(page, key)).to_have_value(value)
        expect(field(page, key)).to_have_attribute("type", "password")
    page.get_by_role("button", name="Show my.password").click()
    expect(field(page, "my.password")).to_have_attribute("type", "text")
    field(page, "my.password").fill("${env:PASSWORD}")
    field(page, "my.password").blur()
    expect(page.get_by_role("button", name="Show my.password")).to_have_count(0)
    expect(field(page, "topic")).to_have_attribute("type", "text")


@pytest.mark.usefixtures("_covered")
def test_json_covers_secrets_and_leaves_them_as_they_are(page: Page, ui_worker: PenstockProcess) -> None:
    page.goto("#/connectors/covered/config")
    page.get_by_role("button", name="JSON", exact=True).click()
    area = page.get_by_label("Configuration as JSON")
    expect(area).to_have_value(re.compile(r'"my\.password": "\[hidden\]"'))
    assert not CLEAR.search(area.input_value())
    area.fill(area.input_value().replace("https://ops:[hidden]@", "https://root:[hidden]@"))
    page.get_by_role("button", name="Review and save").click()
    expect(page.get_by_text("show secrets to edit it")).to_be_visible()
    covered = area.input_value().replace("https://root:[hidden]@", "https://ops:[hidden]@")
    area.fill(covered.replace('"topic": "covered"', '"topic": "covered-too"'))
    page.get_by_role("button", name="Review and save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".diff tbody tr")).to_have_count(1)
    assert not CLEAR.search(dialog.inner_text())
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Nothing is changed.")).to_be_visible()
    config = ui_worker.http.get("/connectors/covered/config").json()
    assert {key: config[key] for key in SECRETS} == SECRETS
    page.get_by_role("button", name="JSON", exact=True).click()
    page.get_by_role("button", name="Show secrets").click()
    expect(area).to_have_value(re.compile("undeclared-hunter2"))


@pytest.mark.usefixtures("_covered")
def test_changes_commands_and_history_show_no_secrets(page: Page) -> None:
    page.goto("#/connectors/covered/config")
    page.get_by_label("Find a key").fill("my.password")
    field(page, "my.password").fill("new-hunter9")
    expect(page.get_by_text("1 key changed, not saved yet.")).to_be_visible()
    page.get_by_role("button", name="Review and save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".diff tbody tr")).to_contain_text("[hidden]")
    assert not CLEAR.search(dialog.inner_text())
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Nothing is changed.")).to_be_visible()
    assert not CLEAR.search(page.locator("#command").get_attribute("title") or "")
    page.get_by_role("button", name="History").click()
    expect(dialog).to_contain_text("Save the configuration of covered")
    assert not CLEAR.search(dialog.inner_text())


@pytest.mark.usefixtures("_covered")
def test_the_configuration_of_a_task_and_of_hooks_shows_no_secrets(page: Page) -> None:
    page.goto("#/connectors/covered")
    page.get_by_role("button", name="Configuration of task 0").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("row", name="my.password")).to_contain_text("[hidden]")
    expect(dialog.get_by_role("row", name="secret [hidden]", exact=True)).to_be_visible()
    assert not CLEAR.search(dialog.inner_text())
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Lifecycle").click()
    active = page.get_by_role("region", name="Active configuration")
    expect(active.get_by_role("row", name="store.url")).to_contain_text("https://ops:[hidden]@example.org/x")
    assert not CLEAR.search(active.inner_text())
