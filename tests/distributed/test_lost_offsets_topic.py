"""The offsets topic was deleted by accident: workers still show the offsets, and a new topic can be given them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.java import java_that_never_starts
from tests.support.kafka import KafkaBroker
from tests.support.kafka_clients import KafkaClients
from tests.support.probes import SETTINGS, Probe
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize("support", ["disabled", "enabled"])
def test_offsets_can_be_seen_and_written_into_a_new_topic(broker: KafkaBroker, tmp_path: Path, support: str) -> None:
    cluster = Cluster(broker, tmp_path, 1, {**SETTINGS, "exactly.once.source.support": support})
    cluster.workers[0].environment = java_that_never_starts(tmp_path)
    with cluster:
        source, topic = Probe(cluster.any(), tmp_path), cluster.settings["offset.storage.topic"]
        entries = [entry(task, 3) for task in range(2)]
        source.create(initial_state="STOPPED", offsets=entries)
        KafkaClients(broker.bootstrap).delete(topic)
        shown = source.offsets()

        def seen_without_the_topic() -> bool:
            assert sorted(source.offsets(), key=str) == entries
            return "was deleted" in cluster.any().tail(400)

        wait_until(seen_without_the_topic, "the worker has noticed")

        cluster.workers[0].restart()
        wait_until(lambda: source.request("GET").status_code == 200, "the worker is back, with a new topic")
        assert source.offsets() == []
        assert source.request("PATCH", "/offsets", {"offsets": shown}).status_code == 200
        assert sorted(source.offsets(), key=str) == entries


def entry(task: int, offset: int) -> dict[str, Any]:
    return {"partition": {"task": task}, "offset": {"next": offset}}
