"""Connectors that keep offsets, or records, elsewhere than their cluster does: all of KIP-875 works on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from tests.support.cluster import Cluster
from tests.support.kafka import KafkaBroker
from tests.support.kafka_topics import records_in, values_in
from tests.support.probes import Probe
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

MakeProbe = Callable[..., Probe]


@pytest.fixture
def probe(cluster: Cluster, tmp_path: Path) -> MakeProbe:
    """Makes probe connectors; requests on them go to a worker that does not lead."""
    for worker in cluster.workers:
        if not worker.running:
            worker.start()
    worker = cluster.follower()
    return lambda kind="ProbeSource", topic="": Probe(worker, tmp_path, kind, topic)


def offsets_in(broker: KafkaBroker, topic: str, connector: str) -> dict[str, Any]:
    """What an offsets topic has of a connector: source partition → newest offset, ``None`` when it was forgotten."""
    found: dict[str, Any] = {}
    for record in records_in(broker, topic):
        name, partition = json.loads(record.key or b"[null, null]")
        if name == connector:
            found[json.dumps(partition)] = None if record.value is None else json.loads(record.value)
    return found


def next_of(source: Probe) -> dict[int, int]:
    return {entry["partition"]["task"]: entry["offset"]["next"] for entry in source.offsets()}


def group_positions(broker: KafkaBroker, group: str) -> dict[int, int]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=30)
    return {at.partition: at.offset for at in asked[group].result(30).topic_partitions}


def test_a_source_with_an_offsets_topic_of_its_own(cluster: Cluster, probe: MakeProbe) -> None:
    source = probe()
    own = f"{source.name}-own-offsets"
    source.create_running({"count": "30", "offsets.storage.topic": own})
    wait_until(lambda: next_of(source) == {0: 30}, "thirty records")
    task = json.dumps({"task": 0})
    assert offsets_in(cluster.broker, own, source.name) == {task: {"next": 30}}
    shared = cluster.settings["offset.storage.topic"]
    wait_until(lambda: offsets_in(cluster.broker, shared, source.name) == {task: {"next": 30}}, "a copy is kept")

    source.stop()
    altered = source.alter(({"task": 0}, {"next": 20}))
    assert altered.status_code == 200, altered.text
    assert offsets_in(cluster.broker, own, source.name) == {task: {"next": 20}}
    for worker in cluster.workers:
        shown = worker.http.get(f"/connectors/{source.name}/offsets").json()["offsets"]
        assert shown == [{"partition": {"task": 0}, "offset": {"next": 20}}]
    source.ask("resume")
    wait_until(lambda: len(values_in(cluster.broker, source.topic)) == 40, "the last ten records come again")

    source.stop()
    reset = source.request("DELETE", "/offsets")
    assert reset.status_code == 200, reset.text
    assert source.offsets() == []
    assert offsets_in(cluster.broker, own, source.name) == {task: None}
    assert offsets_in(cluster.broker, shared, source.name) == {task: None}
    assert source.request("DELETE").status_code == 204


def test_initial_offsets_take_the_place_of_those_in_a_topic_of_its_own(cluster: Cluster, probe: MakeProbe) -> None:
    source = probe()
    own = f"{source.name}-own-offsets"
    source.create_running({"count": "30", "offsets.storage.topic": own}, tasks=2)
    wait_until(lambda: next_of(source) == {0: 30, 1: 30}, "sixty records")
    assert source.request("DELETE").status_code == 204
    entry = {"partition": {"task": 0}, "offset": {"next": 20}}
    source.create(initial_state="STOPPED", initial_offsets=[entry])
    assert source.offsets() == [entry]
    left = {json.dumps({"task": 0}): {"next": 20}, json.dumps({"task": 1}): None}
    assert offsets_in(cluster.broker, own, source.name) == left
    assert source.request("DELETE").status_code == 204


def test_offsets_of_the_workers_topic_are_taken_over_by_a_topic_of_its_own(cluster: Cluster, probe: MakeProbe) -> None:
    source = probe().create_running({"count": "30"})
    wait_until(lambda: next_of(source) == {0: 30}, "thirty records")
    own = f"{source.name}-own-offsets"
    changed = source.request("PATCH", "/config", {"offsets.storage.topic": own, "count": "40"})
    assert changed.status_code == 200, changed.text
    wait_until(lambda: next_of(source) == {0: 40}, "it goes on from where it was")
    assert offsets_in(cluster.broker, own, source.name) == {json.dumps({"task": 0}): {"next": 40}}
    assert sorted(values_in(cluster.broker, source.topic)) == sorted(f"0:{number}" for number in range(40))
    assert source.request("DELETE").status_code == 204


def test_records_and_positions_in_another_kafka_cluster(
    cluster: Cluster, other_broker: KafkaBroker, probe: MakeProbe
) -> None:
    there = {f"{client}.override.bootstrap.servers": other_broker.bootstrap for client in ("producer", "admin")}
    source = probe().create_running({"count": "30", **there})
    wait_until(lambda: next_of(source) == {0: 30}, "thirty records")
    assert sorted(values_in(other_broker, source.topic)) == sorted(f"0:{number}" for number in range(30))
    assert values_in(cluster.broker, source.topic) == []

    sink = probe("ProbeSink", source.topic)
    there = {f"{client}.override.bootstrap.servers": other_broker.bootstrap for client in ("consumer", "admin")}
    group = f"{sink.name}-readers"
    sink.create_running({**there, "consumer.override.group.id": group})
    sink.wait_out(30)
    position = {"kafka_topic": source.topic, "kafka_partition": 0}
    wait_until(lambda: sink.offsets() == [{"partition": position, "offset": {"kafka_offset": 30}}], "all committed")
    assert group_positions(other_broker, group) == {0: 30}
    assert group_positions(cluster.broker, group) == {}

    sink.stop()
    altered = sink.alter((position, {"kafka_offset": 25}))
    assert altered.status_code == 200, altered.text
    assert group_positions(other_broker, group) == {0: 25}
    sink.ask("resume")
    assert [offset for _, offset, _ in sink.wait_out(35)[30:]] == [25, 26, 27, 28, 29]
    sink.stop()
    reset = sink.request("DELETE", "/offsets")
    assert reset.status_code == 200, reset.text
    assert sink.offsets() == []
    for each in (sink, source):
        assert each.request("DELETE").status_code == 204
