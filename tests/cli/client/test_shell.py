"""The command line in a shell: names are completed live, and a terminal shows colours."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.cli.client.conftest import Client, Lines
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE

pytestmark = pytest.mark.integration


def environment(client: Client, **more: str) -> dict[str, str]:
    variables = {key: value for key, value in client.variables.items() if value is not None}
    return {**os.environ, "PYTHONPATH": str(SOURCE), **variables, **more}


def completed(client: Client, words: str) -> list[str]:
    asked = {
        "_PENSTOCK_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    command = [sys.executable, "-m", "penstock"]
    done = subprocess.run(command, env=environment(client, **asked), capture_output=True, text=True, timeout=120)
    return done.stdout.split()


def on_a_terminal(client: Client, *arguments: str) -> str:
    """What a command shows on a terminal."""
    variables = {**environment(client, TERM="xterm-256color"), "COLUMNS": "120"}
    del variables["NO_COLOR"]
    ours, its = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "penstock", *arguments], env=variables, stdout=its, stdin=its):
        os.close(its)
        shown = b""
        with suppress(OSError):
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    return shown.decode()


def completes(client: Client, words: str, *wanted: str) -> None:
    """Completion that could not ask in time offers nothing, so a busy machine may need another try."""
    wait_until(lambda: completed(client, words) == list(wanted), f"{words} completes to {wanted}")


def test_names_complete_live(client: Client, lines: Lines) -> None:
    completes(client, f"penstock pause {lines.name[:-1]}", lines.name, lines.sink)
    completes(client, f"penstock pause {lines.name} {lines.name[:-1]}", lines.sink)
    completes(client, f"penstock topics tail {lines.name[:-1]}", lines.name)
    completes(client, f"penstock topics export {lines.name[:-1]}", lines.name)
    completes(client, "penstock loggers set penstock.rest.acc", "penstock.rest.access")
    source = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    completes(client, f"penstock describe --plugin {source[:-5]}", source)
    assert completed(client, "penstock describe --url http://127.0.0.1:9 x") == []


def test_contexts_complete(client: Client) -> None:
    for name in ("prod", "proof", "test"):
        client.ok("context", "add", name, "--url", "http://127.0.0.1:9")
    assert completed(client, "penstock get connectors --context pro") == ["prod", "proof"]
    assert completed(client, "penstock context use te") == ["test"]


def test_a_terminal_shows_states_in_colours_and_a_file_does_not(client: Client, lines: Lines) -> None:
    client.ok("pause", lines.sink, "--wait")
    shown = on_a_terminal(client, "get", "connectors", lines.name, lines.sink)
    rows = [line.rstrip() for line in shown.splitlines() if line.strip()]
    assert "\x1b[1mNAME" in rows[0]
    assert ["\x1b[32mRUNNING\x1b[0m" in row for row in rows[1:]] == [True, False]
    assert ["\x1b[33mPAUSED\x1b[0m" in row for row in rows[1:]] == [False, True]
    assert "\x1b[" not in client.ok("get", "connectors", lines.name, lines.sink).out
