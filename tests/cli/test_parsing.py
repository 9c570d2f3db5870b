"""What the command line says of itself, and of what it cannot understand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import penstock
from penstock.cli.main import app


def shown(*arguments: str) -> tuple[int, str]:
    """The exit code, and everything that is printed as one line without the frames around it."""
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
    return done.exit_code, " ".join((done.stdout + done.stderr).replace("│", " ").split())


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command, and of every group of them."""
    yield path
    for name, one in getattr(command, "commands", {}).items():
        yield from commands(one, (*path, name))


@pytest.mark.parametrize("words", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_help_shows_no_types_of_flags_and_no_braces(words: tuple[str, ...]) -> None:
    code, text = shown(*words, "--help")
    assert (code, "<bool>" in text, "{" in text.split("Options")[0].partition("Examples")[0]) == (0, False, False)


def test_names_that_are_needed_stand_as_they_are() -> None:
    assert "Usage: penstock topics export [OPTIONS] TOPIC FILE " in shown("topics", "export", "--help")[1]
    assert "Usage: penstock pause [OPTIONS] [CONNECTOR]... " in shown("pause", "--help")[1]


@pytest.mark.parametrize("value", ["true", "false", "True"])
@pytest.mark.parametrize("words", [("pause", "orders", "--wait"), ("context", "add", "--use"), ("warm-up", "--again")])
def test_a_flag_with_a_value_is_told_that_it_takes_none(words: tuple[str, ...], value: str) -> None:
    code, text = shown(*words, value)
    assert (code, f"{words[-1]} takes no value: leave" in text) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("get", "connectors", "--type", "sinks"), "'sinks' is not one of 'source', 'sink'."),
        (("run", "--port", "x"), "Invalid value for '--port' / '-p': 'x' is not a valid integer."),
        (("run", "--port", "-1"), "Invalid value for '--port' / '-p': '-1' should be greater than or equal to 0."),
        (("pause", "orders", "--timeout", "long"), "'long' is not a valid number."),
    ],
)
def test_a_wrong_value_is_told_in_plain_words(words: tuple[str, ...], told: str) -> None:
    code, text = shown(*words)
    assert (code, told in text) == (2, True), text
    assert "Value error" not in text


def test_versions_are_data_too() -> None:
    code, text = shown("version", "-o", "json")
    found = json.loads(text)
    assert (code, found["penstock"], "pyspark" in found) == (0, penstock.__version__, True)
