"""A Kafka Connect cluster goes on as Penstock, and the other way round: nothing lost, nothing read again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.support.kafka import VERSION, KafkaBroker
from tests.support.kafka_connect import OLDEST, KafkaConnect
from tests.support.kafka_topics import records_in
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
UNKNOWN = "io.example.UnheardOfConnector"
UNKNOWN_TRANSFORM = "io.example.UnheardOfTransform"
GROUP = "moved"
OURS = ("lifecycle-", "cleanup-", "pipeline-", "session-key")


@dataclass
class World:
    """The files and topics that both systems work on."""

    broker: KafkaBroker
    folder: Path
    version: str
    written: list[str] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, str]:
        string = "org.apache.kafka.connect.storage.StringConverter"
        return {
            "bootstrap.servers": self.broker.bootstrap,
            "group.id": GROUP,
            **{f"{kind}.storage.topic": f"{GROUP}-{kind}" for kind in ("config", "offset", "status")},
            **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
            "key.converter": string,
            "value.converter": string,
            "offset.flush.interval.ms": "500",
        }

    def penstock(self) -> PenstockProcess:
        return PenstockProcess(
            self.folder / "penstock", {**self.settings, "spark.master": "local[2]"}, command="distributed"
        )

    def connect(self) -> KafkaConnect:
        return KafkaConnect(self.folder / "connect", self.settings, self.version)

    @property
    def source_file(self) -> Path:
        return self.folder / "in.txt"

    @property
    def sink_file(self) -> Path:
        return self.folder / "out.txt"

    def write_lines(self, label: str, count: int = 500) -> None:
        """Append lines to the source's file."""
        lines = [f"{label}-{number}" for number in range(count)]
        self.written += lines
        with self.source_file.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def wait_for_lines(self) -> None:
        """Wait until the sink's file has every line; it must have each just once."""
        wait_until(lambda: len(self.read_lines()) >= len(self.written), "the sink has all lines")
        assert self.read_lines() == self.written

    def read_lines(self) -> list[str]:
        return self.sink_file.read_text().splitlines() if self.sink_file.exists() else []

    def newest(self, kind: str) -> dict[bytes, bytes | None]:
        """The newest value of each key of an internal topic."""
        return {record.key or b"": record.value for record in records_in(self.broker, f"{GROUP}-{kind}")}


@pytest.fixture(scope="module", params=[OLDEST, VERSION])
def world(
    request: pytest.FixtureRequest, other_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """A Kafka Connect cluster that ran for a while and was stopped."""
    with KafkaBroker() as broker:
        world = World(broker, tmp_path_factory.mktemp("takeover"), request.param)
        _run_for_a_while(world)
        _write_unknown(world)
        _write_elsewhere(world, other_broker)
        yield world


def _run_for_a_while(world: World) -> None:
    world.write_lines("connect")
    with world.connect() as connect:
        _create(connect, "lines-in", {"connector.class": FILE_SOURCE, "file": str(world.source_file), "topic": "moved"})
        _create(connect, "lines-out", {"connector.class": FILE_SINK, "file": str(world.sink_file), "topics": "moved"})
        other = str(world.folder / "other.txt")
        Path(other).write_text("one\ntwo\n")
        _create(connect, "paused", {"connector.class": FILE_SOURCE, "file": other, "topic": "paused"})
        _create(connect, "stopped", {"connector.class": FILE_SOURCE, "file": other, "topic": "stopped"})
        for name in ("lines-in", "lines-out", "paused", "stopped"):
            connect.wait_states(name, "RUNNING", "RUNNING")
        for name in ("lines-in", "stopped"):
            wait_until(lambda name=name: _offsets(connect, name), f"{name} has offsets")  # type: ignore[misc]
        connect.http.put("/connectors/paused/pause")
        connect.http.put("/connectors/stopped/stop")
        connect.wait_states("paused", "PAUSED", "PAUSED")
        connect.wait_states("stopped", "STOPPED")
        world.wait_for_lines()
        wait_until(
            lambda: sum(entry["offset"]["kafka_offset"] for entry in _offsets(connect, "lines-out")) == 500,
            "the sink has committed",
            60,
        )


def test_a_dry_run_tells_what_becomes_of_each_connector(world: World) -> None:
    before = {kind: world.newest(kind) for kind in ("config", "offset", "status")}
    done = _takeover(world, "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = " ".join(done.stdout.split())
    for word in ("lines-in", "lines-out", "paused", "stopped", "connect-lines-out", "RUNNING", "PAUSED", "STOPPED"):
        assert word in shown
    assert f"unknown: there is no {UNKNOWN} here" in shown
    assert f"half-known: Invalid value {UNKNOWN_TRANSFORM} for configuration transforms.t.type" in shown
    assert "doubtful: goes on, but its tasks may fail." in shown
    assert "2 partitions of group connect-elsewhere" in shown
    assert "6 of 8 connectors go on." in shown
    assert {kind: world.newest(kind) for kind in ("config", "offset", "status")} == before


def test_connectors_go_on_in_penstock_and_then_in_kafka_connect_again(world: World) -> None:
    before = {kind: world.newest(kind) for kind in ("config", "offset")}
    world.write_lines("between")
    with world.penstock() as worker:
        for name in ("lines-in", "lines-out"):
            worker.wait_state(name, "RUNNING", 1)
        worker.wait_state("paused", "PAUSED", 1)
        worker.wait_state("stopped", "STOPPED", 0)
        worker.wait_state("unknown", "FAILED", None)
        assert UNKNOWN in worker.status("unknown")["connector"]["trace"]
        worker.wait_state("half-known", "FAILED", None)
        assert UNKNOWN_TRANSFORM in worker.status("half-known")["connector"]["trace"]
        assert _takeover(world).returncode == 4, "a running cluster is not taken over"
        world.write_lines("penstock")
        world.wait_for_lines()
        _nothing_of_theirs_changed(before["config"], world.newest("config"))
        assert world.newest("offset").keys() == before["offset"].keys()
        assert _changed(before["offset"], world.newest("offset")) == {"lines-in"}
        answer = worker.http.patch("/connectors/stopped/offsets", json=_position(world, 4))
        assert answer.status_code == 200, answer.text
        assert worker.http.put("/connectors/paused/resume").status_code == 202
        worker.wait_state("paused", "RUNNING", 1)
        made = {"connector.class": FILE_SOURCE, "file": str(world.folder / "other.txt"), "topic": "made-here"}
        worker.create("made-here", made)
        worker.wait_state("made-here", "RUNNING", 1)
        assert b"incarnation-made-here" in world.newest("config")
        assert worker.stop() == 0
    world.write_lines("between again")
    with world.connect() as connect:
        for name in ("lines-in", "lines-out", "paused", "made-here"):
            connect.wait_states(name, "RUNNING", "RUNNING")
        connect.wait_states("stopped", "STOPPED")
        world.write_lines("connect again")
        world.wait_for_lines()
        assert _offsets(connect, "stopped") == _position(world, 4)["offsets"]
        connect.http.put("/connectors/stopped/resume")
        wait_until(lambda: _offsets(connect, "stopped")[0]["offset"] == {"position": 8}, "it went on from 4")
    values = [record.value for record in records_in(world.broker, "stopped")]
    assert values == [b"one", b"two", b"two"]
    assert [record.value for record in records_in(world.broker, "paused")] == [b"one", b"two"]


def _create(connect: KafkaConnect, name: str, config: dict[str, str]) -> None:
    answer = connect.http.put(f"/connectors/{name}/config", json=config)
    assert answer.status_code == 201, answer.text


def _offsets(system: Any, name: str) -> list[Any]:
    found: list[Any] = system.http.get(f"/connectors/{name}/offsets").json()["offsets"]
    return found


def _position(world: World, position: int) -> dict[str, Any]:
    partition = {"filename": str(world.folder / "other.txt")}
    return {"offsets": [{"partition": partition, "offset": {"position": position}}]}


def _write_unknown(world: World) -> None:
    """A connector of a class that nobody has, with a task and offsets; one with such a transform; a strange one."""
    source = {"connector.class": FILE_SOURCE, "file": str(world.folder / "other.txt")}
    half = {**source, "topic": "half-known", "transforms": "t", "transforms.t.type": UNKNOWN_TRANSFORM}
    _write(
        world,
        ("config", "connector-unknown", _properties("unknown", {"connector.class": UNKNOWN, "secret": "${file:x:y}"})),
        ("config", "task-unknown-0", {"properties": {"task.class": "io.example.Task"}}),
        ("config", "commit-unknown", {"tasks": 1}),
        ("offset", '["unknown",{"server":"a"}]', {"lsn": 2**40}),
        ("config", "connector-half-known", _properties("half-known", half)),
        ("config", "target-state-doubtful", {"state": "PAUSED", "state.v2": "STOPPED"}),
        ("config", "connector-doubtful", _properties("doubtful", {**source, "batch.size": "0"})),
    )


def _write_elsewhere(world: World, other: KafkaBroker) -> None:
    """A stopped sink that reads two partitions of another Kafka cluster."""
    there = {f"{client}.override.bootstrap.servers": other.bootstrap for client in ("consumer", "admin")}
    sink = {"connector.class": FILE_SINK, "file": str(world.sink_file), "topics": "there", **there}
    _write(
        world,
        ("config", "target-state-elsewhere", {"state": "PAUSED", "state.v2": "STOPPED"}),
        ("config", "connector-elsewhere", _properties("elsewhere", sink)),
    )
    consumer = Consumer({"bootstrap.servers": other.bootstrap, "group.id": "connect-elsewhere"})
    admin = AdminClient({"bootstrap.servers": other.bootstrap})
    if "there" not in admin.list_topics(timeout=60).topics:
        admin.create_topics([NewTopic("there", 2, 1)])["there"].result(60)
    places = [TopicPartition("there", partition, 1) for partition in range(2)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


def _properties(name: str, config: dict[str, str]) -> dict[str, dict[str, str]]:
    return {"properties": {"name": name, **config}}


def _write(world: World, *records: tuple[str, str, Any]) -> None:
    """Into the internal topics: (kind, key, value)."""
    producer = Producer({"bootstrap.servers": world.broker.bootstrap})
    for kind, key, value in records:
        producer.produce(f"{GROUP}-{kind}", key=key, value=json.dumps(value, separators=(",", ":")))
    assert producer.flush(30) == 0


def _nothing_of_theirs_changed(before: dict[bytes, bytes | None], after: dict[bytes, bytes | None]) -> None:
    """Byte for byte, but for what Penstock keeps under keys of its own, and the session key."""
    kept = {key: value for key, value in after.items() if not key.decode().startswith(OURS)}
    assert kept == {key: value for key, value in before.items() if key != b"session-key"}


def _changed(before: dict[bytes, bytes | None], after: dict[bytes, bytes | None]) -> set[str]:
    return {json.loads(key)[0] for key in after if after[key] != before.get(key)}


def _takeover(world: World, *options: str) -> subprocess.CompletedProcess[str]:
    file = world.folder / "worker.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in world.settings.items()))
    command = [sys.executable, "-m", "penstock", "takeover", *options, str(file)]
    environment = {"PYTHONPATH": str(SOURCE), "COLUMNS": "200", "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
