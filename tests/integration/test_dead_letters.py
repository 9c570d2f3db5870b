"""Failed records on a real worker: looked at, mended and replayed, over HTTP and from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.probes import PLUGINS, wait_for_spark
from tests.support.raw_records import RawTopics
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

JSON = "org.apache.kafka.connect.json.JsonConverter"
TEXT = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    folder = tmp_path_factory.mktemp("dead-letters")
    with PenstockProcess(folder / "worker", {"plugin.path": str(PLUGINS)}) as process:
        wait_for_spark(process, folder)
        yield process


@pytest.fixture(scope="module")
def topics(worker: PenstockProcess, tmp_path_factory: pytest.TempPathFactory) -> RawTopics:
    return RawTopics(worker, tmp_path_factory.mktemp("raw"))


class Sink:
    """A file sink that takes JSON objects with a number ``n``, writes the number, and sets other records aside."""

    def __init__(self, worker: PenstockProcess, folder: Path, name: str, **more: str) -> None:
        self.worker, self.name, self.file = worker, name, folder / f"{name}.txt"
        config = {
            "connector.class": "FileStreamSink",
            "topics": f"{name}-in",
            "file": str(self.file),
            "key.converter": TEXT,
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
            "transforms": "n",
            "transforms.n.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
            "transforms.n.field": "n",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{name}-dead",
            "errors.deadletterqueue.context.headers.enable": "true",
        }
        worker.create(name, {**config, **{key.replace("__", "."): value for key, value in more.items()}})

    @property
    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []

    def letters(self, **query: Any) -> list[dict[str, Any]]:
        answer = self.worker.http.get(f"/connectors/{self.name}/dead-letters", params=query)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["dead_letters"]
        return found

    def open(self) -> list[str]:
        return [letter["id"] for letter in self.letters() if not letter["replayed"]]

    def wait(self, lines: int, letters: int) -> None:
        wait_until(lambda: (len(self.lines), len(self.letters())) == (lines, letters), f"{lines} and {letters}")

    def replay(self, body: dict[str, Any]) -> Any:
        return self.worker.http.post(f"/connectors/{self.name}/dead-letters/replay", json=body)


def test_look_mend_replay(worker: PenstockProcess, topics: RawTopics, tmp_path: Path) -> None:
    sink = Sink(worker, tmp_path, "mend")
    for value in (b'{"n":1}', b"{bad", b'{"n":2}', b"\xff\xfe"):
        topics.send("mend-in", value, key=b"k", headers=[("h", b"x")])
    sink.wait(lines=2, letters=2)
    first, second = sink.letters()
    assert first["id"] == "0-0"
    assert first["original"] == {"topic": "mend-in", "partition": 0, "offset": 1}
    assert (first["task"], first["replayed"]) == (0, False)
    assert (first["key"], first["value"]) == ({"text": "k"}, {"text": "{bad"})
    assert first["headers"] == [{"key": "h", "value": {"text": "x"}}]
    assert first["error"]["stage"] == "VALUE_CONVERTER"
    assert first["error"]["exception"] == "org.apache.kafka.connect.errors.DataException"
    assert second["value"] == {"base64": "//4="}

    edited = [{"id": "0-0", "value": {"text": '{"n":7}'}}, {"id": "0-1", "value": {"base64": "eyJuIjo4fQ=="}}]
    answer = sink.replay({"dead_letters": edited})
    assert (answer.status_code, answer.json()) == (200, {"replayed": 2, "failed": 0})
    assert sink.lines == ["1", "2", "7", "8"]
    assert sink.open() == []
    assert sink.replay({"all": True}).json() == {"replayed": 0, "failed": 0}
    topics.send("mend-in", b'{"n":9}')
    sink.wait(lines=5, letters=2)
    assert sink.lines[-1] == "9"


def test_what_fails_again_is_a_dead_letter_again(worker: PenstockProcess, topics: RawTopics, tmp_path: Path) -> None:
    sink = Sink(worker, tmp_path, "again")
    topics.send("again-in", b"[]")
    topics.send("again-in", b"{bad")
    sink.wait(lines=0, letters=2)
    assert sink.replay({"dead_letters": [{"id": "0-1"}]}).json() == {"replayed": 1, "failed": 1}
    assert [(letter["id"], letter["replayed"]) for letter in sink.letters()] == [
        ("0-0", False), ("0-1", True), ("0-2", False),
    ]  # fmt: skip
    assert sink.letters(id="0-2")[0]["original"] == {"topic": "again-in", "partition": 0, "offset": 1}
    assert sink.replay({"all": True}).json() == {"replayed": 2, "failed": 2}
    assert sink.open() == ["0-3", "0-4"]
    assert worker.status("again")["tasks"][0]["state"] == "RUNNING"


def test_after_the_connector_was_mended_all_go_through(
    worker: PenstockProcess, topics: RawTopics, tmp_path: Path
) -> None:
    sink = Sink(worker, tmp_path, "mended")
    for number in range(30):
        topics.send("mended-in", b'{"m":%d}' % number if number % 3 else b'{"n":%d,"m":{}}' % number)
    topics.send("mended-in", b"[]")
    sink.wait(lines=30, letters=1)
    worker.http.patch("/connectors/mended/config", json={"transforms": None}).raise_for_status()
    worker.wait_state("mended", "RUNNING")
    assert sink.replay({"all": True}).json() == {"replayed": 1, "failed": 0}
    assert sink.lines[-1] == "[]"


def test_a_record_that_was_replayed_survives_a_kill(tmp_path: Path) -> None:
    """The file's length is part of the sink's state: a replay that forgot it would be cut off after a crash."""
    with PenstockProcess(tmp_path / "worker", {"plugin.path": str(PLUGINS)}) as own:
        raw = RawTopics(own, tmp_path)
        sink = Sink(own, tmp_path, "killed")
        raw.send("killed-in", b'{"n":1}')
        raw.send("killed-in", b"{bad")
        sink.wait(lines=1, letters=1)
        assert sink.replay({"dead_letters": [{"id": "0-0", "value": {"text": '{"n":5}'}}]}).json()["replayed"] == 1
        own.restart()
        raw.send("killed-in", b'{"n":6}')
        sink.wait(lines=3, letters=1)
        assert sink.lines == ["1", "5", "6"]
        assert sink.open() == []


def test_a_source_takes_its_dead_letters_again(worker: PenstockProcess, tmp_path: Path) -> None:
    lines = tmp_path / "numbers.txt"
    lines.write_text("1\ntwo\n3\n")
    config = {
        "connector.class": "FileStreamSource",
        "file": str(lines),
        "topic": "numbers",
        "value.converter": TEXT,
        "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "int32",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "numbers-dead",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    worker.create("numbers", config)
    out = tmp_path / "out.txt"
    sink = {"connector.class": "FileStreamSink", "topics": "numbers", "file": str(out), "value.converter": TEXT}
    worker.create("numbers-out", sink)
    path = "/connectors/numbers/dead-letters"
    wait_until(lambda: len(worker.http.get(path).json()["dead_letters"]) == 1, "one dead letter")
    (letter,) = worker.http.get(path).json()["dead_letters"]
    assert (letter["value"], letter["original"]["topic"]) == ({"text": "two"}, "numbers")
    answer = worker.http.post(f"{path}/replay", json={"dead_letters": [{"id": "0-0", "value": {"text": "2"}}]})
    assert answer.json() == {"replayed": 1, "failed": 0}
    wait_until(lambda: out.exists() and out.read_text() == "1\n3\n2\n", "the mended number in the topic")


def test_requests_that_cannot_be_done_say_why(worker: PenstockProcess, topics: RawTopics, tmp_path: Path) -> None:
    sink = Sink(worker, tmp_path, "refusing")
    topics.send("refusing-in", b"{bad")
    sink.wait(lines=0, letters=1)

    def refused(method: str, path: str, **request: Any) -> tuple[int, str]:
        answer = worker.http.request(method, path, **request)
        return answer.status_code, answer.json()["message"]

    path = "/connectors/refusing/dead-letters"
    assert refused("GET", "/connectors/nobody/dead-letters") == (404, "Connector nobody not found")
    status, text = refused("GET", "/connectors/raw-records/dead-letters")
    assert (status, "errors.deadletterqueue.topic.name gives it one" in text) == (400, True)
    assert refused("GET", path, params={"limit": "x"})[0] == 400
    assert refused("GET", path, params={"limit": "5000"}) == (400, "limit must be between 1 and 1000, not 5000")
    assert refused("GET", path, params={"after": "here"})[0] == 400
    assert refused("GET", path, params={"id": "0-9"}) == (404, "There is no dead letter 0-9 of connector refusing")
    for body, words in (
        ({}, "Name the dead letters"),
        ({"all": True, "dead_letters": [{"id": "0-0"}]}, "Name the dead letters"),
        ({"dead_letters": []}, "at least one"),
        ({"dead_letters": [{"id": "0-0", "valu": 1}]}, "Unknown key 'valu' in dead_letters[0]"),
        ({"dead_letters": [{"id": "0-0", "value": "x"}]}, "dead_letters[0].value must be null"),
        ({"dead_letters": [{"id": "0-0", "value": {"base64": "?"}}]}, "is not base64"),
        ({"dead_letters": [{"id": 0}]}, "with an 'id'"),
        ({"every": True}, "Unknown key 'every'"),
    ):
        status, text = refused("POST", f"{path}/replay", json=body)
        assert (status, words in text) == (400, True), text
    worker.http.put("/connectors/refusing/pause").raise_for_status()
    worker.wait_state("refusing", "PAUSED")
    status, text = refused("POST", f"{path}/replay", json={"all": True})
    assert (status, text) == (
        409, "Connector refusing has no running task. Start or resume it to replay its dead letters.",
    )  # fmt: skip
    assert sink.open() == ["0-0"]


def penstock(worker: PenstockProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {
        **os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "180", "NO_COLOR": "1", "PENSTOCK_URL": worker.url,
    }  # fmt: skip
    command = [sys.executable, "-m", "penstock", "dlq", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=variables, timeout=120)


def test_the_command_line_does_it_all(worker: PenstockProcess, topics: RawTopics, tmp_path: Path) -> None:
    sink = Sink(worker, tmp_path, "by-hand")
    assert "No dead letters of by-hand" in penstock(worker, "list", "by-hand").stdout
    for value in (b"{bad", b"{worse", b"[]"):
        topics.send("by-hand-in", value, headers=[("h", b"x")])
    sink.wait(lines=0, letters=3)

    listed = penstock(worker, "list", "by-hand", "--limit", "2")
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["ID", "0-0", "0-1", "There"]
    assert "by-hand-in-0-0" in listed.stdout
    assert "VALUE_CONVERTER" in listed.stdout
    assert "--after 0-1" in listed.stdout
    as_json = json.loads(penstock(worker, "list", "by-hand", "--after", "0-1", "-o", "json").stdout)
    assert [letter["id"] for letter in as_json["dead_letters"]] == ["0-2"]

    shown = penstock(worker, "show", "by-hand", "0-1")
    assert shown.returncode == 0
    for part in ("{worse", "org.apache.kafka.connect.errors.DataException", "header h", "Traceback"):
        assert part in shown.stdout
    assert json.loads(penstock(worker, "show", "by-hand", "0-1", "-o", "json").stdout)["value"] == {"text": "{worse"}

    mended = tmp_path / "mended.json"
    mended.write_text('{"n": 2}')
    assert penstock(worker, "replay", "by-hand", "0-0", "--value", '{"n": 1}').stdout == "1 replayed\n"
    assert penstock(worker, "replay", "by-hand", "0-1", "--value-file", str(mended)).returncode == 0
    again = penstock(worker, "replay", "by-hand", "--all")
    assert (again.returncode, "1 failed again" in again.stdout) == (6, True)
    assert sink.lines == ["1", "2"]
    assert "(replayed)" in penstock(worker, "list", "by-hand").stdout

    gone = penstock(worker, "show", "by-hand", "0-99")
    assert (gone.returncode, "There is no dead letter 0-99" in gone.stderr) == (7, True)
    twice = ["0-0", "--value", "x", "--value-file", str(mended)]
    for wrong in ([], ["0-0", "--all"], ["--all", "--value", "x"], twice):
        assert penstock(worker, "replay", "by-hand", *wrong).returncode == 1
