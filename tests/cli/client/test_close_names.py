"""Whoever mistypes a key or a name is asked what was meant."""

from __future__ import annotations

import json

import pytest

from tests.cli.client.conftest import STRING, Client, Lines, new

pytestmark = pytest.mark.integration

GENERATOR = {"connector.class": "Generator", "topic": "made", "rate": "5"}
SPARK = {"connector.class": "SparkSink", "topics": "made", "spark.format": "json", "spark.path": "out"}


def made(client: Client, config: dict[str, str]) -> str:
    """A stopped connector with this configuration."""
    name = new()
    client.ok("create", "-f", "-", "--stopped", stdin=json.dumps({"name": name, "config": config}))
    return name


@pytest.mark.parametrize("more", [["--dry-run"], ["--dry-run", "-o", "json"], []])
@pytest.mark.parametrize(
    ("config", "setting", "meant"),
    [
        (GENERATOR, "rat=7", "rat is no key of Generator: did you mean rate?"),
        (GENERATOR, "task.max=2", "task.max is no key of Generator: did you mean tasks.max?"),
        (SPARK, "format=csv", "format is no key of SparkSink: did you mean spark.format?"),
    ],
)
def test_a_mistyped_key_of_a_patch_is_told(
    client: Client, config: dict[str, str], setting: str, meant: str, more: list[str]
) -> None:
    name = made(client, config)
    assert f"note  {meant}\n" in client.ok("patch", name, "--set", setting, *more).err
    client.ok("delete", name)


def test_a_mistyped_key_of_a_file_is_told(client: Client) -> None:
    body = json.dumps({"name": new(), "config": {**GENERATOR, "rat": "7"}})
    told = "note  rat is no key of Generator: did you mean rate?\n"
    for command in (["create", "--stopped"], ["apply"]):
        assert told in client.ok(*command, "--dry-run", "-f", "-", stdin=body).err
    assert told in client.ok("create", "--stopped", "-f", "-", stdin=body).err
    name = json.loads(body)["name"]
    assert client.ok("patch", name, "--remove", "rat").err == ""
    client.ok("delete", name)


def test_keys_that_nobody_lists_are_taken_without_a_word(client: Client) -> None:
    more = {
        "transforms": "mark",
        "transforms.mark.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.mark.field": "line",
        "value.converter": STRING,
        "value.converter.encoding": "UTF-8",
        "producer.override.linger.ms": "5",
        "errors.restart.attempts": "3",
        "my.own.key": "x",
    }
    body = json.dumps({"name": new(), "config": {**GENERATOR, **more}})
    assert client.ok("create", "--dry-run", "-f", "-", stdin=body).err == ""


def test_a_mistyped_plugin_is_asked_about(client: Client) -> None:
    done = client("describe", "--plugin", "FileStreamSorce")
    assert (done.code, "Did you mean FileStreamSource" in done.err) == (7, True)
    assert "Did you mean RegexRouter?" in client("describe", "--plugin", "RegexRuter").err
    assert "penstock get plugins --all shows them." in client("describe", "--plugin", "zzz").err


def test_keys_of_a_plugin_have_the_defaults_that_there_are(client: Client) -> None:
    shown = client.ok("describe", "--plugin", "PostgresSink").out
    lines = {line.split()[0]: line for line in shown.splitlines() if line.startswith("  ") and line[2] != " "}
    assert lines["key.converter"].endswith("(class, low)")
    assert lines["transforms"].endswith("(list, low)")
    assert lines["database.password"].endswith("(password, high)")
    assert lines["errors.tolerance"].endswith("(string, medium, default none)")


def test_mistyped_loggers_states_and_connectors_of_dead_letters_are_asked_about(client: Client, lines: Lines) -> None:
    assert "Did you mean penstock.runtime" in client("get", "loggers", "penstock.runtme").err
    assert "Did you mean failed?" in client("get", "connectors", "--state", "faild").err
    for command in (["list"], ["show", "0-1"], ["replay", "--all"]):
        done = client("dlq", command[0], f"{lines.sink}t", *command[1:])
        assert (done.code, f"Did you mean {lines.sink}" in done.err) == (7, True)
