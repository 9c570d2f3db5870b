"""Whatever the page asks or does has a command that can be typed instead."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page
from typer.main import get_command

from penstock.cli.main import app

pytestmark = pytest.mark.integration

OPERATIONS = """async () => {
  const main = new URL(document.querySelector("script[type=module]").src);
  const operations = await import(new URL("lib/operations.js", main));
  const given = {
    create: ["a", {}, "STOPPED"], replaySome: ["a", ["0-1"]], apply: ["a.yaml", "", true, "ab12"],
    setLogger: ["a", "INFO", true],
  };
  return Object.entries(operations).map(([name, make]) => [name, make(...(given[name] ?? ["orders", "1", "2"])).cli]);
}"""


def test_every_operation_has_a_command_that_the_client_takes(page: Page) -> None:
    page.goto("")
    operations = dict(page.evaluate(OPERATIONS))
    assert len(operations) > 30
    for name, words in operations.items():
        assert words, f"{name} has no command"
        _parse(name, [*words, "--url", "http://localhost:8083"])


def _parse(operation: str, words: list[str]) -> None:
    """As the client does, up to the point where the command would be carried out."""
    command: Any = get_command(app)
    while hasattr(command, "commands"):
        assert words[0] in command.commands, f"{operation}: there is no {words[0]}"
        command = command.commands[words.pop(0)]
    assert command.make_context(operation, words).params
