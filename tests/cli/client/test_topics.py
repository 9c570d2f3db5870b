"""Topics from the command line: listed, followed, exported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.cli.client import topic_reading
from penstock.cli.client.api import ConnectApi
from penstock.cli.client.contexts import Context
from tests.cli.client.conftest import Client, Lines
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = pytest.mark.integration


def test_topics_are_listed(client: Client, lines: Lines) -> None:
    rows = [line.split() for line in client.ok("topics", "list").out.splitlines()]
    assert [lines.name, "1", "10"] in rows
    used = client.ok("get", "topics", lines.name, "-o", "json").data
    assert used == {lines.name: [lines.name]}


def test_topics_in_use_are_not_taken_for_all_there_are(client: Client, lines: Lines) -> None:
    told = "penstock topics list shows all of a worker"
    assert told in client.ok("get", "topics").err
    assert told not in client.ok("get", "topics", lines.name).err


def test_used_topics_are_forgotten(client: Client, lines: Lines) -> None:
    client.ok("stop", lines.name, "--wait")
    assert client.ok("topics", "forget", lines.name).out == f"✓ {lines.name} has no used topics\n"
    assert client.ok("get", "topics", lines.name, "-o", "json").data == {lines.name: []}


def test_tail_shows_the_newest_records_and_those_that_come(client: Client, lines: Lines) -> None:
    newest = client.ok("topics", "tail", lines.name, "-n", "2", "--no-follow")
    assert [" ".join(line.split()[-2:]) for line in newest.out.splitlines()] == ["line 8", "line 9"]
    variables = {**os.environ, "PYTHONPATH": str(SOURCE), "PENSTOCK_URL": client.variables["PENSTOCK_URL"] or ""}
    command = [sys.executable, "-m", "penstock", "topics", "tail", lines.name, "-n", "1", "--count", "4", "-o", "json"]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        first = json.loads(tail.stdout.readline())
        lines.append(3)
        others = [json.loads(line) for line in tail.stdout]
        assert tail.wait(120) == 0
    assert [first["offset"], *(record["offset"] for record in others)] == [9, 10, 11, 12]
    assert others[-1]["value"] == {"text": "line 2"}


def test_reading_ends_where_the_topic_ended_when_it_began(
    client_worker: PenstockProcess, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page of three is followed by six new records, so a reader that looks for the end never finds it."""
    monkeypatch.setattr(topic_reading, "PAGE", 3)
    end = 10
    reading = topic_reading.Reading.since(ConnectApi(Context(client_worker.url)), lines.name, "earliest")
    offsets: list[int] = []
    for record in reading.records():
        offsets.append(record["offset"])
        if len(offsets) % 3 == 1 and end < 40:
            lines.append(6)
            end += 6
            wait_until(lambda wanted=end: lines.end(client_worker) == wanted, "the new lines are read")  # type: ignore[misc]
    assert offsets == list(range(10))


def test_an_unknown_topic_is_told_with_one_alike(client: Client, lines: Lines) -> None:
    for command in (["tail"], ["export"]):
        done = client("topics", *command, lines.name[:-1] + "?", *(["-"] if command == ["export"] else []))
        assert (done.code, f"Did you mean {lines.name}" in done.err) == (7, True)


def test_a_topic_is_exported(client: Client, lines: Lines, tmp_path: Path) -> None:
    client.ok("topics", "export", lines.name, str(tmp_path / "t.parquet"))
    table = pq.read_table(tmp_path / "t.parquet")
    assert table.column("value").to_pylist() == [f"line {number}".encode() for number in range(10)]
    assert table.column("offset").to_pylist() == list(range(10))
    done = client.ok("topics", "export", lines.name, str(tmp_path / "t.jsonl"))
    assert done.out == f"✓ 10 records of {lines.name} in {tmp_path / 't.jsonl'}\n"
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [row["value"] for row in rows] == [f"line {number}" for number in range(10)]
    again = client("topics", "export", lines.name, str(tmp_path / "t.jsonl"))
    assert (again.code, "--force" in again.err) == (1, True)
    assert client.ok("topics", "export", lines.name, "-", "--since", "latest").out == ""
    assert client("topics", "export", lines.name, "-", "--format", "parquet").code == 1
