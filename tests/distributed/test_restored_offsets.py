"""The offsets topic was deleted by accident: ``penstock offsets restore`` writes what the cluster remembers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException

from tests.support.cluster import Cluster
from tests.support.java import java_that_never_starts
from tests.support.kafka import KafkaBroker
from tests.support.kafka_clients import KafkaClients
from tests.support.kafka_topics import records_in, values_in
from tests.support.probes import SETTINGS, Probe, message
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]


def penstock(worker: PenstockProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of the client."""
    more = {"PYTHONPATH": str(SOURCE), "COLUMNS": "300", "NO_COLOR": "1", "PENSTOCK_URL": worker.url}
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **more}, timeout=240)


def restored(source: Probe, **query: str) -> dict[str, Any]:
    """The answer of ``POST offsets/restore``."""
    answer = source.worker.http.post(f"/connectors/{source.name}/offsets/restore", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def kept(broker: KafkaBroker, topic: str, connector: str) -> dict[str, Any]:
    """What an offsets topic has of a connector."""
    entries = [(json.loads(record.key or b"null"), record.value) for record in records_in(broker, topic)]
    return {json.dumps(key[1]): json.loads(value or b"null") for key, value in entries if key[0] == connector}


@pytest.mark.parametrize("support", ["disabled", "enabled"])
def test_offsets_are_written_into_new_topics_whichever_worker_is_asked(
    broker: KafkaBroker, tmp_path: Path, support: str
) -> None:
    patient = {"session.timeout.ms": "60000", "exactly.once.source.support": support}
    cluster = Cluster(broker, tmp_path, 2, {**SETTINGS, **patient})
    sparkless = java_that_never_starts(tmp_path)
    for worker in cluster.workers:
        worker.environment = sparkless
    clients = KafkaClients(broker.bootstrap)
    with cluster:
        asked, shared = cluster.follower(), cluster.settings["offset.storage.topic"]
        source, other, sink = Probe(asked, tmp_path), Probe(asked, tmp_path), Probe(asked, tmp_path, "ProbeSink")
        own = f"{other.name}-own-offsets"
        offsets = [{"partition": {"task": task}, "offset": {"next": 3 + task}} for task in range(2)]
        in_topic = {json.dumps(entry["partition"]): entry["offset"] for entry in offsets}
        source.create(initial_state="STOPPED", offsets=offsets)
        other.create({"offsets.storage.topic": own}, initial_state="STOPPED", offsets=offsets)
        sink.create(initial_state="STOPPED")

        found = restored(source)
        assert (found["offsets"], found["topics"], found["deleted"]) == ([], [shared], [])
        refused = penstock(asked, "offsets", "restore", "--all")
        assert refused.returncode == 4, refused.stderr
        assert f"No offsets of {other.name} were lost: all that are known are in {own} and {shared}" in refused.stderr
        assert "is a sink" in message(sink.request("POST", "/offsets/restore"), 400)
        assert source.worker.http.post("/connectors/nobody/offsets/restore").status_code == 404

        for topic in (shared, own):
            clients.delete(topic)
        wait_until(lambda: restored(other, dryRun="true")["deleted"] == [own, shared], "both are missed")
        assert sorted(restored(source, dryRun="true")["offsets"], key=str) == offsets
        shown = penstock(asked, "offsets", "restore", source.name, "--dry-run")
        assert shown.returncode == 0, shown.stderr
        assert '{"next": 4}' in shown.stdout

        with contextlib.suppress(KafkaException):  # a broker makes it by itself when it is named, if it was not yet
            clients.make(shared)
        wait_until(lambda: shared in clients.topics(), "a topic with few partitions and without compaction")
        done = penstock(asked, "offsets", "restore", "--all")
        assert done.returncode == 0, done.stderr
        assert f"{source.name} restored" in done.stdout
        assert f"{other.name} restored" in done.stdout
        assert "restart the other workers" in done.stderr
        for probe, topic in ((source, shared), (other, shared), (other, own)):
            assert kept(broker, topic, probe.name) == in_topic
        assert restored(source)["offsets"] == restored(other)["offsets"] == []
        assert sorted(restored(source, force="true")["offsets"], key=str) == offsets

        for worker in cluster.workers:
            assert worker.stop() == 0
        for worker in cluster.workers:
            worker.start(wait=False)
        for worker in cluster.workers:
            worker.wait_healthy()
        for probe in (source, other):
            wait_until(lambda probe=probe: probe.request("GET").status_code == 200, "it is known")  # type: ignore[misc]
            assert sorted(probe.offsets(), key=str) == offsets


@pytest.mark.parametrize("support", ["disabled", "enabled"])
def test_a_source_goes_on_from_where_it_was(broker: KafkaBroker, tmp_path: Path, support: str) -> None:
    with Cluster(broker, tmp_path, 1, {**SETTINGS, "exactly.once.source.support": support}) as cluster:
        worker = cluster.any()
        source = Probe(worker, tmp_path).create_running({"count": "30"})
        came_to = [{"partition": {"task": 0}, "offset": {"next": 30}}]
        wait_until(lambda: source.offsets() == came_to, "thirty records")
        KafkaClients(broker.bootstrap).delete(cluster.settings["offset.storage.topic"])
        wait_until(lambda: restored(source, dryRun="true")["deleted"], "the topic is missed")

        refused = penstock(worker, "offsets", "restore", source.name)
        assert refused.returncode == 4
        assert "must be in the STOPPED state" in refused.stderr
        done = penstock(worker, "offsets", "restore", "--all", "--stop")
        assert done.returncode == 0, done.stderr
        source.wait("RUNNING")

        worker.restart()
        source.wait("RUNNING")
        assert source.offsets() == came_to
        assert source.request("PATCH", "/config", {"count": "40"}).status_code == 200
        wait_until(lambda: len(values_in(broker, source.topic)) >= 40, "ten more records")
        assert sorted(values_in(broker, source.topic)) == sorted(f"0:{number}" for number in range(40))
