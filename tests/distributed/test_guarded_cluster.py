"""A cluster whose workers ask for certificates and have users.

Requests go on to the leader as whoever asks; workers show each other their certificate and sign what they ask.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from penstock.rest.users import PasswordHash, Role, User
from tests.support.certificates import make_certificate
from tests.support.cluster import Cluster, wait_running
from tests.support.kafka import KafkaBroker
from tests.support.probes import SETTINGS
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

TASKS = 2
ADMIN, READER = ("ops", "correct horse"), ("viewer", "battery staple")
GENERATOR = {"connector.class": "Generator", "topic": "made", "rate": "5", "tasks.max": str(TASKS)}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def tls(certificates: tuple[Path, Path]) -> ssl.SSLContext:
    """Of a client with a certificate."""
    both, ca = certificates
    context = ssl.create_default_context(cafile=str(ca))
    context.load_cert_chain(both)
    return context


@pytest.fixture(scope="module")
def guarded(
    broker: KafkaBroker,
    certificates: tuple[Path, Path],
    tls: ssl.SSLContext,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("guarded")
    users = folder / "users.txt"
    roles = ((ADMIN, Role.ADMIN), (READER, Role.READ_ONLY))
    users.write_text("".join(f"{User(name, role, PasswordHash.of(word))}\n" for (name, word), role in roles))
    both, ca = certificates
    guards = {
        "rest.auth.users.file": str(users),
        "listeners.https.ssl.keystore.location": str(both),
        "listeners.https.ssl.truststore.location": str(ca),
        "listeners.https.ssl.client.auth": "required",
    }
    cluster = Cluster(broker, folder, 2, {**SETTINGS, **guards})
    for worker in cluster.workers:
        worker.listen_on("127.0.0.1", tls)
        worker.http.auth = httpx2.BasicAuth(*ADMIN)
    with cluster as running:
        yield running


def progress(worker: PenstockProcess, name: str) -> list[object]:
    answer = worker.http.get(f"/connectors/{name}/health")
    assert answer.status_code == 200, answer.text
    return [task["last_progress"] for task in answer.json()["tasks"] if task["live"]]


def test_any_worker_takes_changes_of_an_admin_and_knows_what_the_others_do(guarded: Cluster) -> None:
    asked = guarded.follower()
    asked.create("made", GENERATOR)
    wait_running(asked, "made", TASKS)
    assert len(set(guarded.owners("made").values())) == 2
    for worker in guarded.workers:
        wait_until(lambda: len([p for p in progress(worker, "made") if p]) == TASKS, "all tasks are live")  # noqa: B023
    assert asked.http.put("/connectors/made/stop").status_code == 204
    assert asked.http.delete("/connectors/made").status_code == 204


def test_a_reader_changes_nothing_anywhere(guarded: Cluster, tls: ssl.SSLContext) -> None:
    for worker in guarded.workers:
        body = {"name": "other", "config": GENERATOR}
        assert worker.http.post("/connectors", json=body, auth=READER).status_code == 403
        assert worker.http.post("/connectors", json=body, auth=(ADMIN[0], "wrong")).status_code == 401
        assert httpx2.post(f"{worker.url}/connectors", json=body, verify=tls).status_code == 401
        assert worker.http.get("/connectors", auth=READER).json() == []


def test_a_reader_is_not_shown_the_topic_with_all_configurations_and_the_key_of_the_workers(guarded: Cluster) -> None:
    secrets = guarded.settings["config.storage.topic"]
    for worker in guarded.workers:
        path = f"/topics/{secrets}/records"
        seen = [record["key"]["text"] for record in worker.http.get(path).json()["records"]]
        assert "session-key" in seen
        refused = worker.http.get(path, auth=READER)
        assert refused.status_code == 403
        assert secrets in refused.json()["message"]
        assert worker.http.get(f"/topics/{secrets}", auth=READER).status_code == 200
        assert worker.http.get(f"/topics/{guarded.settings['status.storage.topic']}/records", auth=READER).is_success


def test_what_workers_ask_each_other_is_refused_without_their_key(guarded: Cluster, tls: ssl.SSLContext) -> None:
    forged = {"X-Connect-Authorization": "AAAA", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    for worker in guarded.workers:
        with httpx2.Client(base_url=worker.url, verify=tls) as stranger:
            assert stranger.post("/connectors/made/tasks", json=[]).status_code == 400
            assert stranger.post("/connectors/made/tasks", json=[], headers=forged).status_code == 403
            assert stranger.put("/connectors/made/fence", headers=forged).status_code == 403
            assert stranger.get("/connectors/made/health?forward=false", headers=forged).status_code == 401


def test_nobody_comes_in_without_a_certificate(guarded: Cluster, certificates: tuple[Path, Path]) -> None:
    without = ssl.create_default_context(cafile=str(certificates[1]))
    for worker in guarded.workers:
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(f"{worker.url}/health", verify=without)
