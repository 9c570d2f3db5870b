"""Connectors from the command line: made, listed, changed, paused, restarted, deleted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.client.conftest import Client, generator, new
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = pytest.mark.integration


@pytest.fixture
def made(client_worker: PenstockProcess) -> Iterator[list[str]]:
    """Three connectors, stopped, with a common prefix."""
    prefix = new("some")
    names = [f"{prefix}-{letter}" for letter in "abc"]
    for name in names:
        client_worker.create(name, generator(), initial_state="STOPPED")
        client_worker.wait_state(name, "STOPPED", 0)
    yield names
    for name in names:
        client_worker.http.delete(f"/connectors/{name}")


def test_files_of_every_kind_become_connectors(client: Client, tmp_path: Path) -> None:
    flat, request, properties, text = new(), new(), new(), new()
    (tmp_path / "flat.json").write_text(json.dumps({"name": flat, **generator(), "tasks.max": 1}))
    (tmp_path / "request.yaml").write_text(yaml.safe_dump({"name": request, "config": generator()}))
    (tmp_path / "p.properties").write_text(
        f"name={properties}\n" + "".join(f"{key}={value}\n" for key, value in generator().items())
    )
    files = [part for file in ("flat.json", "request.yaml", "p.properties") for part in ("-f", str(tmp_path / file))]
    done = client.ok("create", *files, "--wait")
    assert done.out == "".join(f"✓ {name} created\n" for name in (flat, request, properties))
    client.ok("create", "-f", "-", "--name", text, "--stopped", "--wait", stdin=json.dumps(generator()))
    found = client.ok("get", "connectors", flat, request, properties, text, "-o", "json").data
    assert {name: one["status"]["connector"]["state"] for name, one in found.items()} == {
        flat: "RUNNING", request: "RUNNING", properties: "RUNNING", text: "STOPPED",
    }  # fmt: skip
    taken = client("create", "-f", str(tmp_path / "flat.json"))
    assert (taken.code, f"Connector {flat} already exists" in taken.err) == (4, True)
    assert "penstock apply -f FILE changes a connector" in taken.err
    client.ok("delete", flat, request, properties, text)


def test_a_bad_file_ends_with_3_and_a_bad_configuration_with_4(client: Client, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"config": {"topic": "x"}}')
    bad = client("create", "-f", str(tmp_path / "bad.json"))
    assert (bad.code, "is missing the mandatory 'name'" in bad.err) == (3, True)
    (tmp_path / "wrong.yaml").write_text(f"name: {new()}\nconnector.class: FileStreamSource\ntasks.max: many\n")
    for verb in (["create"], ["create", "--dry-run"], ["apply"], ["apply", "--dry-run"]):
        wrong = client(verb[0], "-f", str(tmp_path / "wrong.yaml"), *verb[1:])
        assert (wrong.code, "tasks.max" in wrong.err, "topic" in wrong.err) == (4, True, True), wrong


def test_apply_tells_what_changes_and_does_it_once(client: Client, tmp_path: Path) -> None:
    name = new("applied")
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump({"name": name, **generator(), "db.password": "s3cret"}))
    planned = client.ok("apply", "-f", str(file), "--dry-run")
    assert planned.out == (
        f"{name} would be created:\n"
        "  + connector.class = FileStreamSource\n"
        "  + db.password = [hidden]\n"
        "  + file = none.txt\n"
        f"  + name = {name}\n"
        "  + topic = none\n"
    )
    assert client("get", "connectors", name).code == 7
    assert client.ok("apply", "-f", str(file), "--wait").out.startswith(f"✓ {name} created\n")
    assert client.ok("apply", "-f", str(file)).out == f"  {name} unchanged\n"
    file.write_text(yaml.safe_dump({"name": name, **generator(topic="other"), "batch.size": 7}))
    changed = client.ok("apply", "-f", str(file), "--dry-run", "-o", "json").data
    assert changed == [
        {
            "name": name,
            "action": "changed",
            "changes": [
                {"key": "batch.size", "before": None, "after": "7"},
                {"key": "db.password", "before": "[hidden]", "after": None},
                {"key": "topic", "before": "none", "after": "other"},
            ],
        }
    ]
    assert client.ok("apply", "-f", str(file)).out == (
        f"✓ {name} changed\n  + batch.size = 7\n  - db.password = [hidden]\n  ~ topic = none → other\n"
    )
    client.ok("delete", name)


def test_patterns_choose_and_several_are_told(client: Client, made: list[str]) -> None:
    first, second, third = made
    prefix = first[:-2]
    listed = client.ok("get", "connectors", f"{prefix}-[ab]")
    assert [line.split() for line in listed.out.splitlines()] == [
        ["NAME", "TYPE", "STATE", "HEALTH", "TASKS", "CLASS"],
        [first, "source", "STOPPED", "healthy", "none", "FileStreamSource"],
        [second, "source", "STOPPED", "healthy", "none", "FileStreamSource"],
    ]
    resumed = client.ok("resume", f"{prefix}-*", "--wait")
    assert resumed.out == "".join(f"✓ {name} resumed\n" for name in made)
    paused = client.ok("pause", first, third, "--wait", "-o", "json").data
    assert [(one["name"], one["result"], one["status"]["connector"]["state"]) for one in paused] == [
        (first, "paused", "PAUSED"),
        (third, "paused", "PAUSED"),
    ]
    client.ok("stop", f"{prefix}-*", "--wait")
    assert list(client.ok("get", "connectors", f"{prefix}-*", "--state", "stopped", "-o", "yaml").out.split()) != []
    nobody_asked = client("delete", f"{prefix}-*")
    assert (nobody_asked.code, "Pass --yes" in nobody_asked.err) == (1, True)
    gone = client.ok("delete", f"{prefix}-*", "--yes", "--wait")
    assert gone.out == "".join(f"✓ {name} deleted\n" for name in made)


def test_all_are_resumed_paused_and_stopped(client: Client, client_worker: PenstockProcess, made: list[str]) -> None:
    for verb, past, state in (
        ("resume", "resumed", "RUNNING"),
        ("pause", "paused", "PAUSED"),
        ("stop", "stopped", "STOPPED"),
    ):
        done = client.ok(verb, "--all", "--wait", "-o", "json")
        assert set(made) <= done.names
        assert {one["result"] for one in done.data} == {past}
        assert {client_worker.status(name)["connector"]["state"] for name in made} == {state}
    assert client("stop", "--all", made[0]).code == 1


def test_a_connector_is_created_paused(client: Client, client_worker: PenstockProcess) -> None:
    name = new("paused")
    body = json.dumps(generator())
    created = client.ok("create", "-f", "-", "--name", name, "--paused", "--wait", "-o", "json", stdin=body).data
    assert [(one["result"], one["status"]["connector"]["state"]) for one in created] == [("created", "PAUSED")]
    both = client("create", "-f", "-", "--name", name, "--paused", "--stopped", stdin=body)
    assert (both.code, "Use --stopped or --paused." in both.err) == (1, True)
    client.ok("resume", name, "--wait")
    client_worker.wait_state(name, "RUNNING")
    client.ok("delete", name)


def test_a_restart_with_tasks_restarts_them_too(client: Client, client_worker: PenstockProcess) -> None:
    name = new("again")
    client.ok("create", "-f", "-", "--name", name, "--wait", stdin=json.dumps(generator()))
    assert client.ok("restart", name, "--tasks", "--wait").out == f"✓ {name} restarted\n"
    client_worker.wait_state(name, "RUNNING")
    (again,) = client.ok("restart", name, "--tasks", "--wait", "-o", "json").data
    plan, after = again["answer"], again["status"]
    assert [plan["connector"]["state"], plan["tasks"][0]["state"]] == ["RESTARTING", "RESTARTING"]
    assert [after["connector"]["state"], after["tasks"][0]["state"]] == ["RUNNING", "RUNNING"]
    alone = client.ok("restart", name, "--wait", "-o", "json").data
    assert "answer" not in alone[0]
    client.ok("delete", name)


@pytest.mark.parametrize("verb", ["pause", "resume", "stop", "restart", "delete", "describe"])
def test_a_name_that_is_not_there_ends_with_7_and_nothing_is_done(client: Client, made: list[str], verb: str) -> None:
    close = made[0][:-1] + "x"
    done = client(verb, made[1], close)
    assert (done.code, f"Connector {close} not found" in done.err, "Did you mean" in done.err) == (7, True, True)
    assert client("get", "connectors", made[1]).code == 0
    assert client(verb).code == 1
    assert client(verb, "no-such-*").code == 7


def test_what_tasks_are_told_is_described(client: Client, made: list[str]) -> None:
    client.ok("resume", made[0], "--wait")
    described = client.ok("describe", made[0], "-o", "json").data
    assert (list(described["task_configs"]), described["task_configs"]["0"]["file"]) == (["0"], "none.txt")
    assert "Configuration of task 0, beyond the connector's\n  task.class " in client.ok("describe", made[0]).out


def test_patch_changes_some_keys(client: Client, made: list[str]) -> None:
    name = made[0]
    tried = client.ok("patch", name, "--set", "topic=a=b", "--remove", "file", "--dry-run")
    assert tried.out == f"{name} would be changed:\n  - file = none.txt\n  ~ topic = none → a=b\n"
    client.ok("patch", name, "--set", "topic=more", "--set", "batch.size=5")
    config = client.ok("describe", name, "-o", "json").data["config"]
    assert (config["topic"], config["batch.size"], config["file"]) == ("more", "5", "none.txt")
    assert client.ok("patch", name, "--set", "topic=more").out == f"  {name} unchanged\n"
    assert client("patch", name, "--set", "topic").code == 1
    assert client("patch", name, "--set", "tasks.max=0").code == 4


def test_edit_opens_an_editor_and_changes_what_was_saved(client: Client, made: list[str], tmp_path: Path) -> None:
    name = made[0]
    assert client.ok("edit", name, EDITOR="true").out == f"{name}: nothing changes.\n"
    edited = client.ok("edit", name, "--yes", EDITOR="sed -i s/none.txt/some.txt/")
    assert edited.out == f"  ~ file = none.txt → some.txt\n✓ {name} changed\n"
    refused = client("edit", name, EDITOR="sed -i s/some.txt/other.txt/")
    assert (refused.code, "Pass --yes" in refused.err) == (1, True)
    assert client("edit", name, EDITOR="sed -i s/^name.*/[/").code == 1
    assert client("edit", name, EDITOR="false").code == 1
    assert client.ok("describe", name, "-o", "json").data["config"]["file"] == "some.txt"


def test_a_failed_task_is_shown_waited_for_in_vain_and_restarted(client: Client, tmp_path: Path) -> None:
    name, folder = new("failing"), tmp_path / "gone"
    (tmp_path / "in.txt").write_text("x\n")
    source = {**generator(file=str(tmp_path / "in.txt"), topic=name)}
    client.ok("create", "-f", "-", "--name", name, "--wait", stdin=json.dumps(source))
    sink = {"connector.class": "FileStreamSink", "file": str(folder / "out.txt"), "topics": name}
    created = client("create", "-f", "-", "--name", f"{name}-out", "--wait", "--timeout", "60", stdin=json.dumps(sink))
    assert created.code == 8, created
    assert f"{name}-out will not be RUNNING: its task 0 has FAILED" in created.err
    assert f"→ penstock describe {name}-out" in created.err
    listed = client.ok("get", "connectors", f"{name}*", "--state", "failed")
    assert "1 FAILED" in listed.out
    assert len(listed.out.splitlines()) == 2
    assert "Trace of the task 0" in client.ok("describe", f"{name}-out").out
    folder.mkdir()
    again = client.ok("restart", f"{name}*", "--failed", "--wait")
    assert again.out == f"  {name} had nothing to restart\n✓ {name}-out restarted\n"
    assert client.ok("restart", name, "--task", "0").out == f"✓ {name} restarted\n"
    other = client("restart", name, "--task", "7")
    assert (other.code, "→ penstock describe CONNECTOR shows its tasks." in other.err) == (7, True)
    client.ok("delete", name, f"{name}-out", "--with-offsets")


def test_plugins_and_loggers(client: Client) -> None:
    plugins = client.ok("get", "plugins").out
    assert "FileStreamSourceConnector" in plugins
    assert "converter" in client.ok("get", "plugins", "--all").out
    assert "topic  (string, high, required)" in client.ok("describe", "--plugin", "FileStreamSource").out
    assert client("describe", "--plugin", "Nope").code == 7
    before = client.ok("get", "loggers", "root", "-o", "json").data["root"]["level"]
    changed = client.ok("loggers", "set", "penstock.rest", "debug", "-o", "json").data
    assert "penstock.rest" in changed
    told = client.ok("loggers", "set", "penstock.rest", "DEBUG").out
    assert told.startswith("✓ penstock.rest is at DEBUG (")
    assert client("loggers", "set", "penstock.rest", "loud").code != 0
    assert client.ok("get", "loggers", "penstock.rest", "-o", "yaml").out.splitlines()[1] == "  level: DEBUG"
    client.ok("loggers", "set", "penstock.rest", before.lower())
    assert client("get", "loggers", "no.such").code == 7


def test_a_misspelt_class_is_told_with_the_one_that_was_meant(client: Client) -> None:
    config = json.dumps({"name": "misspelt", "config": {"connector.class": "Generatr", "topic": "t"}})
    for arguments in ([], ["--dry-run"]):
        done = client("create", "-f", "-", *arguments, stdin=config)
        assert done.code in (4, 7)
        assert "→ Did you mean Generator? penstock get plugins shows what is installed." in done.err


def test_without_a_terminal_and_an_editor_there_is_another_way(client: Client, made: list[str]) -> None:
    done = client("edit", made[0], EDITOR="", VISUAL="")
    assert (done.code, f"→ penstock patch {made[0]} --set KEY=VALUE" in done.err) == (1, True)


def test_lifecycle_is_shown(client: Client, made: list[str]) -> None:
    shown = client.ok("lifecycle", "show", made[0])
    assert shown.out.splitlines()[1].split() == [made[0], "no", "hooks", "-", "-", "0"]
    assert client.ok("lifecycle", "cleanups").out == "No clean-ups are open.\n"
    assert client("lifecycle", "give-up", "none", "--yes").code == 7


def test_the_parser_s_errors_end_with_1() -> None:
    variables = {**os.environ, "PYTHONPATH": str(SOURCE)}
    for wrong in (["pause", "--wat"], ["get"], ["offsets", "rewind", "--to"]):
        command = [sys.executable, "-m", "penstock", *wrong]
        assert subprocess.run(command, env=variables, capture_output=True, timeout=120).returncode == 1
