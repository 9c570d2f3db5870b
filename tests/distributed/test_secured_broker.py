"""A cluster whose broker wants to know who comes: the ordinary client keys in the worker file are all it takes.

The group, the internal topics, records, positions, transactions and ``penstock takeover`` have clients of their own.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, wait_running, worker_id
from tests.support.kafka_topics import values_in
from tests.support.probes import SETTINGS, Probe
from tests.support.secured_kafka import SecuredKafka
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

COUNT = 100


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with SecuredKafka(tmp_path_factory.mktemp("secured")) as running:
        yield running


@pytest.fixture(scope="module")
def scram(secured: SecuredKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers with exactly-once support that come with a name and a password over TLS."""
    settings = {**SETTINGS, **secured.keys_for("SCRAM-SHA-512"), "exactly.once.source.support": "enabled"}
    with Cluster(secured.broker, tmp_path_factory.mktemp("scram"), 2, settings) as running:
        yield running


def through_kafka_and_back(worker: PenstockProcess, secured: SecuredKafka, folder: Path, tasks: int) -> Probe:
    """Records of a source with so many tasks are all in Kafka once, and all put by a sink; the source, running."""
    source = Probe(worker, folder).create({"tasks.max": str(tasks), "tasks.made": str(tasks), "count": str(COUNT)})
    sink = Probe(worker, folder, "ProbeSink", source.topic).create()
    wanted = Counter(f"{task}:{number}" for task in range(tasks) for number in range(COUNT))
    assert Counter(value for _, _, value in sink.wait_out(tasks * COUNT)) == wanted
    assert Counter(values_in(secured.broker, source.topic)) == wanted
    wait_running(worker, source.name, tasks)
    wait_until(lambda: len(sink.offsets()) > 0, "the sink's positions are committed")
    sink.stop()
    reset = sink.request("DELETE", "/offsets")
    assert reset.status_code == 200, reset.text
    assert sink.offsets() == []
    assert sink.request("DELETE").status_code == 204
    return source


def test_workers_meet_and_move_records_with_a_login_over_tls(
    scram: Cluster, secured: SecuredKafka, tmp_path: Path
) -> None:
    source = through_kafka_and_back(scram.follower(), secured, tmp_path, tasks=2)
    assert set(scram.owners(source.name).values()) == {worker_id(worker) for worker in scram.workers}
    fewer = {**source.config, "tasks.max": "1", "tasks.made": "1"}
    assert source.request("PUT", "/config", fewer).status_code == 200
    wait_running(scram.any(), source.name, 1)


def test_a_takeover_looks_into_the_topics_of_a_secured_cluster(scram: Cluster, tmp_path: Path) -> None:
    known = Probe(scram.any(), tmp_path).create_running()
    file = tmp_path / "worker.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in scram.settings.items()))
    command = [sys.executable, "-m", "penstock", "takeover", "--dry-run", str(file)]
    environment = {"PYTHONPATH": str(SOURCE), "COLUMNS": "200", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert known.name in done.stdout
    assert f"2 workers of {scram.group} still run" in " ".join((done.stdout + done.stderr).split())
    assert known.request("DELETE").status_code == 204


@pytest.mark.parametrize("way", ["OAUTHBEARER", "certificate"])
def test_a_worker_joins_with_a_token_or_a_certificate(way: str, secured: SecuredKafka, tmp_path: Path) -> None:
    settings = {**SETTINGS, **secured.keys_for(way)}
    with Cluster(secured.broker, tmp_path, 1, settings) as alone:
        source = through_kafka_and_back(alone.any(), secured, tmp_path, tasks=1)
        assert source.request("DELETE").status_code == 204


def test_a_login_that_the_broker_refuses_ends_the_start_with_its_reason(
    secured: SecuredKafka, tmp_path: Path
) -> None:
    settings = {**SETTINGS, **secured.by_login("SCRAM-SHA-512", "wrong")}
    stranger = Cluster(secured.broker, tmp_path, 1, settings).workers[0]
    stranger.start(wait=False)
    try:
        assert stranger.wait_for_exit(300) == 2
        assert "authentication" in stranger.tail().lower()
    finally:
        stranger.kill()
