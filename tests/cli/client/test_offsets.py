"""Offsets from the command line: shown, set, reset, and taken back in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.client.conftest import Client, Lines
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration


def test_offsets_are_shown_for_people_and_for_set(client: Client, lines: Lines) -> None:
    shown = client.ok("offsets", "get", lines.sink)
    assert [line.split() for line in shown.out.splitlines()] == [
        ["CONNECTOR", "PARTITION", "OFFSET"],
        [lines.sink, f"{lines.name}-0", "10"],
    ]
    both = client.ok("offsets", "get", lines.name, lines.sink, "-o", "json").data
    assert both[lines.name]["offsets"][0]["offset"] == {"position": 70}
    assert client.ok("get", "offsets", lines.sink, "-o", "json").data == both[lines.sink]


def test_hints_name_options_that_are_there(client: Client, lines: Lines) -> None:
    for command in (["get", "offsets"], ["offsets", "get"], ["logs"], ["lifecycle", "show"]):
        nothing = client(*command)
        assert (nothing.code, "give a pattern such as 'orders-*', or use --all." in nothing.err) == (1, True)
        assert {lines.name, lines.sink} <= client.ok(*command, "--all", "-o", "json").names
        assert client.ok(*command, f"{lines.name}*", "-o", "json").names == {lines.name, lines.sink}


@pytest.mark.parametrize("command", [["edit"], ["offsets", "set"]])
def test_a_pattern_for_a_command_on_one_connector_may_match_one(
    client: Client, lines: Lines, command: list[str]
) -> None:
    several = client(*command, f"{lines.name}*", EDITOR="true")
    assert (several.code, f"matches {lines.name}, {lines.sink}; this is for one" in several.err) == (1, True)
    assert "Which offset?" in client("offsets", "set", f"{lines.name}-*").err
    assert client.ok("edit", f"{lines.name}-*", EDITOR="true").out == f"{lines.sink}: nothing changes.\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{\n\t"offsets": [\n\t\t{"partition": {"filename": "FILE"}, "offset": {"position": 7}}\n\t]\n}', 7),
        ("offsets:\n- partition: {filename: FILE}\n  offset: {position: 21}\n", 21),
        ("- partition:\n    filename: FILE\n  offset:\n    position: 28\n", 28),
    ],
)
def test_offsets_are_read_from_json_and_yaml(
    client: Client, lines: Lines, tmp_path: Path, text: str, found: int
) -> None:
    client.ok("stop", lines.name, "--wait")
    text = text.replace("FILE", str(tmp_path / "in.txt"))
    client.ok("offsets", "set", lines.name, "-f", "-", stdin=text)
    assert client.ok("offsets", "get", lines.name, "-o", "json").data["offsets"][0]["offset"] == {"position": found}


def test_a_running_connector_is_told_to_be_stopped(client: Client, lines: Lines) -> None:
    done = client("offsets", "set", lines.sink, "--topic", lines.name, "--partition", "0", "--offset", "3")
    assert (done.code, "or add --stop" in done.err) == (4, True)


def test_set_with_stop_goes_back_to_running(client: Client, lines: Lines, client_worker: PenstockProcess) -> None:
    set_one = ["offsets", "set", lines.sink, "--topic", lines.name, "--partition", "0", "--offset", "7"]
    tried = client.ok(*set_one, "--dry-run")
    assert tried.out.splitlines()[1].split() == [lines.sink, f"{lines.name}-0", "10", "7"]
    assert client.ok(*set_one, "--stop").out == f"✓ {lines.sink} set\n"
    assert client_worker.status(lines.sink)["connector"]["state"] == "RUNNING"
    wait_until(lambda: len(lines.copied) == 13, "three lines are copied again")
    assert lines.copied[10:] == ["line 7", "line 8", "line 9"]


def test_a_refused_change_leaves_the_connector_as_it_was(
    client: Client, lines: Lines, client_worker: PenstockProcess
) -> None:
    one = ["--partition", '{"filename": "other.txt"}', "--offset", '{"position": -1}']
    refused = client("offsets", "set", lines.name, *one, "--stop")
    assert refused.code == 4, refused
    client_worker.wait_state(lines.name, "RUNNING")
    assert client.ok("offsets", "get", lines.name, "-o", "json").data["offsets"][0]["offset"] == {"position": 70}


def test_what_was_saved_can_be_set_again(client: Client, lines: Lines, tmp_path: Path) -> None:
    saved = tmp_path / "offsets.json"
    saved.write_text(client.ok("offsets", "get", lines.name, "-o", "json").out)
    client.ok("stop", lines.name, lines.sink, "--wait")
    emptied = client.ok("offsets", "reset", lines.name)
    assert emptied.out == f"✓ {lines.name} reset\n"
    assert client.ok("offsets", "get", lines.name).out == "No offsets are committed.\n"
    client.ok("offsets", "set", lines.name, "-f", str(saved))
    assert client.ok("offsets", "get", lines.name, "-o", "json").data == json.loads(saved.read_text())
    one = json.dumps({"filename": str(tmp_path / "in.txt")})
    client.ok("offsets", "set", lines.name, "--partition", one, "--offset", '{"position": 7}')
    assert client.ok("offsets", "get", lines.name, "-o", "json").data["offsets"][0]["offset"] == {"position": 7}
    saved.write_text("[]")
    assert client("offsets", "set", lines.name, "-f", str(saved)).code == 1
    assert client("offsets", "set", lines.name, "--partition", "{", "--offset", "1").code == 1
    assert client("offsets", "set", lines.name).code == 1


def test_a_sink_goes_to_the_start_the_end_or_a_time(client: Client, lines: Lines) -> None:
    def position(*arguments: str) -> object:
        client.ok("offsets", "rewind", lines.sink, *arguments)
        return client.ok("offsets", "get", lines.sink, "-o", "json").data["offsets"][0]["offset"]["kafka_offset"]

    client.ok("stop", lines.sink, "--wait")
    newest = client.ok("topics", "tail", lines.name, "--no-follow", "-n", "1", "-o", "json").data["timestamp"]
    assert position("--to", "earliest") == 0
    assert position("--to", "latest") == 10
    assert position("--to", "1h") == 0
    assert position("--to", str(newest + 1)) == 10
    there = client.ok("offsets", "rewind", lines.sink, "--to", "latest")
    assert f"{lines.sink} is there already" in there.err
    assert client("offsets", "rewind", lines.sink, "--to", "soon").code == 1
    asked = client("offsets", "rewind", f"{lines.name}*", "--to", "earliest")
    assert (asked.code, "there is nobody to ask" in asked.err) == (1, True)


def test_a_source_goes_to_the_start_only(client: Client, lines: Lines) -> None:
    refused = client("offsets", "rewind", lines.name, "--to", "latest", "--stop")
    assert (refused.code, "only it knows what its offsets mean" in refused.err) == (9, True)
    tried = client.ok("offsets", "rewind", lines.name, "--dry-run", "-o", "json").data
    assert tried[0]["answer"][0]["now"] == {"position": 70}
    assert tried[0]["answer"][0]["new"] is None
    client.ok("offsets", "rewind", lines.name, "--stop")
    wait_until(lambda: len(lines.copied) == 20, "the lines come again")


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["-o", "json"], ["--dry-run", "-o", "json"]])
@pytest.mark.parametrize(
    ("topic", "partition", "offset", "told"),
    [
        ("TOPIC", "0", "999999", "TOPIC-0: 999999 is beyond the end of the partition, 10"),
        ("TOPIC", "7", "5", "TOPIC-7: topic TOPIC has 1 partition, counted from 0"),
        ("TOPICx", "0", "5", "TOPICx-0: SINK does not read topic TOPICx. Did you mean TOPIC?"),
    ],
)
def test_offsets_that_a_sink_cannot_have_are_refused(
    client: Client, lines: Lines, topic: str, partition: str, offset: str, told: str, more: list[str]
) -> None:
    def named(text: str) -> str:
        return text.replace("TOPIC", lines.name).replace("SINK", lines.sink)

    client.ok("stop", lines.sink, "--wait")
    place = ["--topic", named(topic), "--partition", partition, "--offset", offset]
    done = client("offsets", "set", lines.sink, *place, *more)
    assert done.code == 1, done
    assert named(told) in (done.data[0]["message"] if "json" in more else done.err)
    assert ("--force sets them all the same" in done.err) == ("json" not in more)
    assert client.ok("offsets", "get", lines.sink, "-o", "json").data["offsets"][0]["offset"] == {"kafka_offset": 10}


def test_force_sets_what_a_sink_cannot_have(client: Client, lines: Lines) -> None:
    client.ok("stop", lines.sink, "--wait")
    beyond = ["--topic", lines.name, "--partition", "0", "--offset", "11"]
    client.ok("offsets", "set", lines.sink, *beyond, "--force", "--dry-run")
    client.ok("offsets", "set", lines.sink, *beyond, "--force")
    assert client.ok("offsets", "get", lines.sink, "-o", "json").data["offsets"][0]["offset"] == {"kafka_offset": 11}
    client.ok("offsets", "set", lines.sink, *beyond[:-1], "10")


def test_every_offset_of_a_file_is_looked_at(client: Client, lines: Lines, tmp_path: Path) -> None:
    places = [(lines.name, 0, 10), (lines.name, 1, 0), ("elsewhere", 0, 3), ("elsewhere", 1, None)]
    entries = [
        {
            "partition": {"kafka_topic": topic, "kafka_partition": number},
            "offset": None if offset is None else {"kafka_offset": offset},
        }
        for topic, number, offset in places
    ]
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"offsets": entries}))
    client.ok("stop", lines.sink, "--wait")
    refused = client("offsets", "set", lines.sink, "-f", str(file))
    assert refused.code == 1
    assert f"{lines.name}-1: topic" in refused.err
    assert f"elsewhere-0: {lines.sink} does not read topic elsewhere. It reads {lines.name}" in refused.err
    assert ("elsewhere-1" in refused.err, f"{lines.name}-0" in refused.err) == (False, False)


def test_a_sink_is_rewound_only_in_topics_that_it_reads(client: Client, lines: Lines) -> None:
    done = client("offsets", "rewind", lines.sink, "--topic", f"{lines.name}x", "--dry-run")
    assert done.code == 1
    assert f"{lines.sink} does not read topic {lines.name}x.\n  → Did you mean {lines.name}?" in done.err
    client.ok("offsets", "rewind", lines.sink, "--topic", lines.name, "--dry-run")
