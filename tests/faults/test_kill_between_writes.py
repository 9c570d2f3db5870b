"""A worker is killed while it creates a connector with offsets, or deletes one with them: there are both or neither."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.support.cluster import Cluster
from tests.support.java import java_that_never_starts
from tests.support.kafka import KafkaBroker
from tests.support.probes import SETTINGS, Probe, make_topic
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

SOURCE, SINK = "ProbeSource", "ProbeSink"
TOPIC = "records"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """All that a worker remembers is in one database."""
    folder = tmp_path_factory.mktemp("embedded")
    with PenstockProcess(folder, SETTINGS, java_that_never_starts(folder)) as worker:
        make_topic(worker, TOPIC)
        yield worker


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(120)
        yield running


@pytest.fixture(scope="module")
def on_kafka(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """Configurations are in the worker's database, source offsets and groups in Kafka."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "exactly.once.source.support": "enabled",
        "group.id": "alone",
        "offset.storage.topic": "alone-offsets",
        "offset.storage.partitions": "1",
        "offset.storage.replication.factor": "1",
    }
    folder = tmp_path_factory.mktemp("on-kafka")
    with PenstockProcess(folder, {**SETTINGS, **settings}, java_that_never_starts(folder)) as worker:
        yield worker


@pytest.fixture(scope="module")
def once_in_cluster(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """Everything is in Kafka, with exactly-once support."""
    folder = tmp_path_factory.mktemp("once")
    cluster = Cluster(broker, folder, 1, {**SETTINGS, "exactly.once.source.support": "enabled"})
    cluster.workers[0].environment = java_that_never_starts(folder)
    with cluster:
        yield cluster.any()


@pytest.fixture(scope="module")
def in_cluster(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """Everything is in Kafka."""
    folder = tmp_path_factory.mktemp("cluster")
    cluster = Cluster(broker, folder, 1, SETTINGS)
    cluster.workers[0].environment = java_that_never_starts(folder)
    with cluster:
        yield cluster.any()


@pytest.mark.parametrize(
    ("kind", "point"),
    [
        (SOURCE, "together-within:1"),
        (SOURCE, "together-within:3"),
        (SINK, "together-within:1"),
    ],
)
def test_killed_before_a_creation_is_committed(
    embedded: PenstockProcess, tmp_path: Path, kind: str, point: str
) -> None:
    assert_not_created(killed_creation(embedded, tmp_path, kind, point))


def test_killed_after_a_creation_was_committed(embedded: PenstockProcess, tmp_path: Path) -> None:
    probe = killed_creation(embedded, tmp_path, SOURCE, "together-settled")
    probe.wait("STOPPED", tasks=0)
    assert offset_of(probe) == 7


@pytest.mark.parametrize(
    ("kind", "point"),
    [
        (SOURCE, "deletion-stopping"),
        (SOURCE, "deletion-agreed"),
        (SOURCE, "together-within:1"),
        (SOURCE, "together-within:2"),
        (SINK, "together-within:1"),
    ],
)
def test_killed_before_a_deletion_is_committed(
    embedded: PenstockProcess, tmp_path: Path, kind: str, point: str
) -> None:
    probe = killed_deletion(embedded, tmp_path, kind, point)
    probe.wait("PAUSED", tasks=None)
    assert offset_of(probe) == 7
    assert probe.request("DELETE", "?includeOffsets=true").status_code == 204
    assert_deleted(probe)


def test_killed_after_a_deletion_was_committed(embedded: PenstockProcess, tmp_path: Path) -> None:
    assert_deleted(killed_deletion(embedded, tmp_path, SINK, "together-settled"))


@pytest.mark.parametrize(
    ("kind", "point"),
    [(SOURCE, "creation-noted"), (SOURCE, "creation-offsets-written"), (SINK, "creation-offsets-written")],
)
def test_killed_within_a_creation_whose_offsets_are_in_kafka(
    on_kafka: PenstockProcess, tmp_path: Path, kind: str, point: str
) -> None:
    assert_not_created(killed_creation(on_kafka, tmp_path, kind, point))


@pytest.mark.parametrize(
    ("kind", "point"),
    [(SINK, "deletion-noted"), (SOURCE, "deletion-offsets-forgotten"), (SINK, "deletion-offsets-forgotten")],
)
def test_killed_within_a_deletion_whose_offsets_are_in_kafka(
    on_kafka: PenstockProcess, tmp_path: Path, kind: str, point: str
) -> None:
    assert_deleted(killed_deletion(on_kafka, tmp_path, kind, point))


@pytest.mark.parametrize("worker", ["on_kafka", "once_in_cluster"])
def test_killed_within_a_change_of_offsets_in_kafka(
    request: pytest.FixtureRequest, tmp_path: Path, worker: str
) -> None:
    """They are written in one transaction: after the restart there are the old ones, or the new ones, of all."""
    probe = Probe(request.getfixturevalue(worker), tmp_path, SOURCE, TOPIC)
    probe.create(initial_state="STOPPED", offsets=[source_entry(task, 3) for task in range(2)])
    killed_within(probe.worker, "together-in-kafka", "PATCH", f"/connectors/{probe.name}/offsets", changed_to(7))
    wait_until(lambda: probe.request("GET").status_code == 200, "the connector is known")
    assert nexts_of(probe) == [3, 3]
    assert probe.request("PATCH", "/offsets", changed_to(8)).status_code == 200
    assert nexts_of(probe) == [8, 8]
    killed_within(probe.worker, "together-in-kafka", "DELETE", f"/connectors/{probe.name}/offsets")
    wait_until(lambda: probe.request("GET").status_code == 200, "the connector is known")
    assert nexts_of(probe) == [8, 8]


def test_a_leader_that_dies_within_a_creation_is_tidied_up_after(in_cluster: PenstockProcess, tmp_path: Path) -> None:
    probe = killed_creation(in_cluster, tmp_path, SOURCE, "creation-offsets-written")
    assert_not_created(probe)


def test_a_leader_that_dies_within_a_deletion_is_tidied_up_after(in_cluster: PenstockProcess, tmp_path: Path) -> None:
    probe = killed_deletion(in_cluster, tmp_path, SINK, "deletion-offsets-forgotten")
    wait_until(lambda: probe.request("GET").status_code == 404, "the deletion is completed", 120)
    assert_deleted(probe)


def killed_creation(worker: PenstockProcess, folder: Path, kind: str, point: str) -> Probe:
    """A connector that leaves the offset 3 behind, killed while it is created again with the offset 7."""
    probe = Probe(worker, folder, kind, TOPIC)
    probe.create(initial_state="STOPPED", offsets=[entry_of(kind, 3)])
    assert probe.request("DELETE").status_code == 204
    body = {"name": probe.name, "config": probe.config, "initial_state": "STOPPED", "offsets": [entry_of(kind, 7)]}
    killed_within(worker, point, "POST", "/connectors", body)
    return probe


def killed_deletion(worker: PenstockProcess, folder: Path, kind: str, point: str) -> Probe:
    """A paused connector with the offset 7, killed while it is deleted with it."""
    probe = Probe(worker, folder, kind, TOPIC)
    probe.create(initial_state="PAUSED", offsets=[entry_of(kind, 7)])
    probe.wait("PAUSED", tasks=None)
    killed_within(worker, point, "DELETE", f"/connectors/{probe.name}?includeOffsets=true")
    return probe


def killed_within(
    worker: PenstockProcess, point: str, method: str, path: str, body: Mapping[str, Any] | None = None
) -> None:
    """The worker dies of this request, and is started again."""
    worker.restart(PENSTOCK_FAULT=point)
    with pytest.raises(httpx2.HTTPError):
        worker.http.request(method, path, json=body)
    assert worker.wait_for_exit() == -signal.SIGKILL
    worker.start()


def assert_not_created(probe: Probe) -> None:
    """There is no connector, and what an older one left behind is as it was."""
    assert probe.request("GET").status_code == 404
    assert probe.request("GET", "/status").status_code == 404
    probe.create(initial_state="STOPPED")
    assert offset_of(probe) == 3


def assert_deleted(probe: Probe) -> None:
    """There is no connector, and another one of its name begins without offsets."""
    assert probe.request("GET").status_code == 404
    probe.create(initial_state="STOPPED")
    assert probe.offsets() == []


def changed_to(offset: int) -> dict[str, Any]:
    return {"offsets": [source_entry(task, offset) for task in range(2)]}


def source_entry(task: int, offset: int) -> dict[str, Any]:
    return {"partition": {"task": task}, "offset": {"next": offset}}


def nexts_of(probe: Probe) -> list[int]:
    return [entry["offset"]["next"] for entry in probe.offsets()]


def entry_of(kind: str, offset: int) -> dict[str, Any]:
    if kind == SINK:
        return {"partition": {"kafka_topic": TOPIC, "kafka_partition": 0}, "offset": {"kafka_offset": offset}}
    return source_entry(0, offset)


def offset_of(probe: Probe) -> int:
    """The one offset that the connector has."""
    (entry,) = probe.offsets()
    (offset,) = entry["offset"].values()
    return int(offset)
