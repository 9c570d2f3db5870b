"""Whatever the page asks or does has a command that can be typed instead, and it follows what is shown."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from typer.main import get_command

from penstock.cli.main import app
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

from .stage import TEXT, field, generator, modules

pytestmark = pytest.mark.integration

WITHOUT_COMMAND = {"showTasks"}
OPERATIONS = """async ({name, modules}) => {
  const operations = await import(modules + "operations.js");
  const { penstockLine } = await import(modules + "commands.js");
  const file = { file: `team/${name}`, text: "", onDisk: false };
  const given = {
    create: [name, {}, "STOPPED"], replaySome: [name, ["0-1"]], plan: [file, true], apply: [file, true, "ab12"],
    setLogger: [name, "INFO", true], validate: [name, {}], tailTopic: [name, "0:1", ["--last", "0"]],
  };
  const made = (key, make) => make(...(given[key] ?? [name, "1", "2"]));
  return Object.entries(operations).map(([key, make]) => [key, penstockLine(made(key, make))]);
}"""
TEXTS = """async ({modules}) => {
  const operations = await import(modules + "operations.js");
  const { penstockOf } = await import(modules + "commands.js");
  const text = "pipelines: []\\n# \\nEOF\\n";
  const bare = operations.plan({ file: "orders.yaml", text, onDisk: false }, false);
  const named = (onDisk) => operations.plan({ file: "team/orders.yaml", text, onDisk }, false);
  return [penstockOf(named(false)), penstockOf(named(true)), penstockOf(bare)];
}"""


@pytest.mark.parametrize("name", ["orders", "-orders", "it's $(odd)"])
def test_every_operation_has_a_command_that_the_client_takes(page: Page, ui_worker: PenstockProcess, name: str) -> None:
    page.goto("")
    operations = dict(page.evaluate(OPERATIONS, {"name": name, "modules": modules(page)}))
    assert len(operations) > 30
    assert {key for key, line in operations.items() if line is None} == WITHOUT_COMMAND
    for key, line in operations.items():
        if line is not None:
            program, *words = shlex.split(line)
            assert program == "penstock"
            assert _parse(key, words)["url"] == ui_worker.url


def test_the_address_is_in_a_command_also_where_the_client_would_ask_by_itself(
    browser: Browser, ui_worker: PenstockProcess
) -> None:
    """Without it the client would ask the context in use, which may be another cluster."""
    context = browser.new_context(base_url="http://localhost:8083/ui/")

    def forward(route: Route) -> None:
        there = route.request.url.replace("http://localhost:8083", ui_worker.url)
        route.fulfill(response=route.fetch(url=there))

    context.route("http://localhost:8083/**", forward)
    page = context.new_page()
    page.goto("")
    expect(page.locator("#command")).to_have_text("penstock get connectors --url http://localhost:8083")
    context.unroute_all(behavior="wait")
    context.close()


def test_a_text_that_was_pasted_is_written_to_a_file_first(page: Page, ui_worker: PenstockProcess) -> None:
    page.goto("")
    pasted, chosen, bare = page.evaluate(TEXTS, {"modules": modules(page)})
    line = f"penstock plan orders.yaml --source team --url {ui_worker.url}"
    assert pasted == f"cat > orders.yaml <<'EOF_'\npipelines: []\n# \nEOF\nEOF_\n{line}"
    assert chosen == line
    assert bare is None


def test_the_command_of_a_tail_begins_where_the_tail_begins(
    page: Page, ui_worker: PenstockProcess, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("first\nsecond\n")
    ui_worker.create("begun", {"connector.class": "FileStreamSource", "topic": "begun", "file": str(lines), **TEXT})
    wait_until(lambda: ui_worker.http.get("/topics/begun").status_code == 200, "there is a topic", seconds=120)
    page.goto("#/topics/begun")
    command = page.locator("#command")
    expect(command).to_contain_text("penstock topics tail begun --last 100 --url")
    expect(page.locator("tr[data-record='0:1']")).to_be_visible()
    page.get_by_label("Begin at", exact=True).select_option("latest")
    expect(command).to_contain_text("--last 0")
    expect(page.locator("tr[data-record]")).to_have_count(0)
    page.get_by_role("button", name="Commands are shown for penstock").click()
    expect(command).to_contain_text("records?from=0%3A2")
    page.get_by_label("Begin at", exact=True).select_option("earliest")
    expect(command).to_contain_text("records?from=0%3A0")
    expect(page.locator("tr[data-record='0:0']")).to_contain_text("first")
    page.get_by_role("button", name="Commands are shown for curl").click()
    expect(command).to_contain_text("--since earliest")
    page.get_by_label("Begin at", exact=True).select_option("time")
    page.get_by_label("Begin at this time").fill("2020-01-01T00:00:00")
    expect(command).to_contain_text(re.compile(r"--since 15778\d{8}"))
    expect(page.locator("tr[data-record='0:0']")).to_contain_text("first")


def test_the_check_of_a_form_and_the_configuration_of_a_task_have_commands(
    page: Page, ui_worker: PenstockProcess
) -> None:
    page.goto("#/new/Generator")
    field(page, "topic").fill("checked")
    command = page.locator("#command")
    expect(command).to_contain_text("penstock create -f - --dry-run --url")
    expect(command).to_have_attribute("title", re.compile('"topic": "checked"'))
    ui_worker.create("checked", generator("checked"))
    ui_worker.wait_state("checked", "RUNNING")
    page.goto("#/connectors/checked/config")
    expect(command).to_contain_text("penstock describe checked")
    field(page, "rate").fill("7")
    expect(command).to_contain_text("penstock apply -f - --dry-run")
    page.get_by_role("tab", name="Tasks and flow").click()
    page.get_by_role("button", name="Configuration of task 0").click()
    expect(page.get_by_role("dialog").get_by_label("curl command", exact=True)).to_have_text(
        f"curl {ui_worker.url}/connectors/checked/tasks"
    )


def _parse(operation: str, words: list[str]) -> dict[str, Any]:
    """As the client does, up to the point where the command would be carried out."""
    command: Any = get_command(app)
    while hasattr(command, "commands"):
        assert words[0] in command.commands, f"{operation}: there is no {words[0]}"
        command = command.commands[words.pop(0)]
    found: dict[str, Any] = command.make_context(operation, words).params
    return found
