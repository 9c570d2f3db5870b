"""``PUT /connectors/{name}/fence``: what a worker asks of the leader before it starts exactly-once tasks (KIP-618).

And the transactions that offsets are altered and reset in (KIP-875).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confluent_kafka import KafkaException, Producer

from penstock.runtime.session_keys import SigningSettings, sign
from penstock.storage.config_records import read_session_key
from tests.support.cluster import Cluster, wait_running
from tests.support.kafka import KafkaBroker
from tests.support.kafka_connect import transactions
from tests.support.kafka_topics import records_in, values_in
from tests.support.probes import SETTINGS, Probe, message, wait_for_spark
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

TASKS = 2


@pytest.fixture(scope="module")
def once(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("fencing")
    with Cluster(broker, folder, 2, {**SETTINGS, "exactly.once.source.support": "enabled"}) as running:
        wait_for_spark(running.any(), folder)
        yield running


@pytest.fixture
def source(once: Cluster, tmp_path: Path) -> Iterator[Probe]:
    """A source with two tasks that run."""
    probe = Probe(once.any(), tmp_path)
    probe.create({"tasks.max": str(TASKS), "tasks.made": str(TASKS), "count": "10"})
    wait_running(once.any(), probe.name, TASKS)
    yield probe
    probe.request("DELETE")


@pytest.fixture(params=["leader", "follower"])
def asked(once: Cluster, request: pytest.FixtureRequest) -> PenstockProcess:
    return once.leader() if request.param == "leader" else once.follower()


def signature(cluster: Cluster) -> dict[str, str]:
    """The headers of a request that a worker of the cluster makes of another."""
    keys = [record for record in records_in(cluster.broker, f"{cluster.group}-config") if record.key == b"session-key"]
    return sign(b"", read_session_key(json.loads(keys[-1].value or b"")), SigningSettings())


def fence(worker: PenstockProcess, name: str, headers: dict[str, str] | None = None) -> httpx2.Response:
    return worker.http.put(f"/connectors/{name}/fence", headers=headers or {})


def task_counts(cluster: Cluster, name: str) -> list[int]:
    """The task count records of a connector, oldest first."""
    key = f"tasks-fencing-{name}".encode()
    found = [record for record in records_in(cluster.broker, f"{cluster.group}-config") if record.key == key]
    return [json.loads(record.value)["task-count"] for record in found if record.value is not None]


class Zombie:
    """A former task, or (without a number) a former leader that alters offsets, amid a transaction."""

    def __init__(self, cluster: Cluster, source: Probe, task: int | None = None) -> None:
        settings = {"bootstrap.servers": cluster.broker.bootstrap, "log_level": 0}
        name = f"{cluster.group}-{source.name}"
        self._producer = Producer({**settings, "transactional.id": name if task is None else f"{name}-{task}"})
        self._producer.init_transactions(60)
        self._producer.begin_transaction()
        if task is None:
            key = json.dumps([source.name, {"task": 0}], separators=(",", ":"))
            self._producer.produce(cluster.settings["offset.storage.topic"], b'{"next":7}', key)
        else:
            self._producer.produce(source.topic, b"zombie")
        assert self._producer.flush(60) == 0

    def fails_to_commit(self) -> bool:
        try:
            self._producer.commit_transaction(60)
        except KafkaException as error:
            return bool(error.args[0].fatal())
        return False


def test_only_workers_may_ask(once: Cluster, asked: PenstockProcess, source: Probe) -> None:
    assert message(fence(asked, source.name), 400) == "Internal request missing required signature"
    forged = {**signature(once), "X-Connect-Authorization": "AAAA"}
    assert message(fence(asked, source.name, forged), 403) == "Internal request contained invalid signature."
    unknown = {**signature(once), "X-Connect-Request-Signature-Algorithm": "HmacMD5"}
    assert "does not support the 'HmacMD5' key signing algorithm" in message(fence(asked, source.name, unknown), 400)


def test_only_sources_have_tasks_to_fence(once: Cluster, asked: PenstockProcess, tmp_path: Path) -> None:
    assert message(fence(asked, "nobody", signature(once)), 404) == "Connector nobody not found"
    sink = Probe(once.any(), tmp_path, "ProbeSink").create_running()
    text = message(fence(asked, sink.name, signature(once)), 400)
    assert text == f"Connector {sink.name} is not a source connector"
    sink.request("DELETE")


def test_tasks_that_start_have_their_number_written_down(once: Cluster, source: Probe) -> None:
    assert task_counts(once, source.name) == [TASKS]
    assert fence(once.any(), source.name, signature(once)).status_code == 204
    assert task_counts(once, source.name) == [TASKS], "there was nothing to fence"


def test_former_tasks_are_fenced_and_the_new_number_is_written_down(
    once: Cluster, asked: PenstockProcess, source: Probe
) -> None:
    wait_until(lambda: len(values_in(once.broker, source.topic)) == 10 * TASKS, "all records are there")
    source.stop()
    zombies = [Zombie(once, source, task) for task in range(TASKS)]
    bystander = Zombie(once, source, TASKS)
    answer = fence(asked, source.name, signature(once))
    assert (answer.status_code, answer.content) == (204, b"")
    assert task_counts(once, source.name) == [TASKS, 0]
    assert [zombie.fails_to_commit() for zombie in zombies] == [True, True]
    assert not bystander.fails_to_commit()
    source.ask("resume")
    wait_running(once.any(), source.name, TASKS)
    assert task_counts(once, source.name) == [TASKS, 0, TASKS]
    assert values_in(once.broker, source.topic).count("zombie") == 1


def test_tasks_that_take_the_place_of_more_fence_them_all(once: Cluster, source: Probe) -> None:
    former = Zombie(once, source, TASKS - 1)
    fewer = {**source.config, "tasks.max": "1", "tasks.made": "1"}
    assert source.request("PUT", "/config", fewer).status_code == 200
    wait_running(once.any(), source.name, 1)
    assert task_counts(once, source.name) == [TASKS, 1]
    assert former.fails_to_commit()


def test_former_tasks_are_fenced_before_offsets_are_changed(
    once: Cluster, asked: PenstockProcess, source: Probe
) -> None:
    """A task that was frozen when its connector was stopped must not write its offsets after they were reset."""
    wait_until(lambda: len(values_in(once.broker, source.topic)) == 10 * TASKS, "all records are there")
    source.stop()
    zombies = [Zombie(once, source, task) for task in range(TASKS)]
    assert asked.http.delete(f"/connectors/{source.name}/offsets").status_code == 200
    assert [zombie.fails_to_commit() for zombie in zombies] == [True, True]
    assert task_counts(once, source.name) == [TASKS, 0]


def stopped_at(source: Probe, number: int) -> list[dict[str, Any]]:
    """Stop it, and have the offset of every task be this one; its offsets then."""
    wait_until(lambda: len(source.offsets()) == TASKS, "both tasks have committed")
    source.stop()
    changed = source.alter(*(({"task": task}, {"next": number}) for task in range(TASKS)))
    assert changed.status_code == 200, changed.text
    return offsets_of(source)


def offsets_of(source: Probe) -> list[dict[str, Any]]:
    return sorted(source.offsets(), key=lambda entry: int(entry["partition"]["task"]))


def test_offsets_are_altered_and_reset_in_transactions_of_the_connectors_own(once: Cluster, source: Probe) -> None:
    own = f"{once.group}-{source.name}"
    assert own not in transactions(once.broker)
    assert [entry["offset"] for entry in stopped_at(source, 3)] == [{"next": 3}] * TASKS
    assert transactions(once.broker)[own] == "CompleteCommit"
    assert source.request("DELETE", "/offsets").status_code == 200
    assert source.offsets() == []
    source.ask("resume")
    wait_running(once.any(), source.name, TASKS)


def test_offsets_of_several_partitions_are_altered_all_or_none(
    once: Cluster, asked: PenstockProcess, source: Probe
) -> None:
    before = stopped_at(source, 3)
    entries = [({"task": 0}, {"next": 4}), ({"task": 1}, {"next": 4, "too much": "x" * 1_100_000})]
    listed = [{"partition": partition, "offset": offset} for partition, offset in entries]
    refused = asked.http.patch(f"/connectors/{source.name}/offsets", json={"offsets": listed})
    assert "larger than it takes" in message(refused, 500)
    assert offsets_of(source) == before
    assert [entry["offset"] for entry in stopped_at(source, 5)] == [{"next": 5}] * TASKS


def test_a_former_leader_amid_a_change_of_offsets_cannot_complete_it(once: Cluster, source: Probe) -> None:
    stopped_at(source, 3)
    zombie = Zombie(once, source)
    after = stopped_at(source, 5)
    assert zombie.fails_to_commit()
    assert offsets_of(source) == after
