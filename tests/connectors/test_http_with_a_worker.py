"""HttpSource and HttpSink in a real worker, against a real service that comes and goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.waiting import wait_until
from tests.support.web_service import WebService
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

JSON = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    with PenstockProcess(tmp_path_factory.mktemp("worker"), JSON) as process:
        yield process


@pytest.fixture
def service() -> Iterator[WebService]:
    with WebService() as running:
        yield running


def source(service: WebService, name: str, /, **more: str) -> dict[str, str]:
    return {
        "connector.class": "HttpSource",
        "topic": name,
        "http.url": f"{service.url}/events",
        "records.path": "data.items",
        "record.key.path": "id",
        "cursor.param": "cursor",
        "cursor.path": "paging.next",
        "poll.interval.ms": "50",
        "subscription.url": f"{service.url}/subscriptions",
        "subscription.body": '{"topic": "{topic}"}',
        "auth.type": "bearer",
        "auth.token": "the-token",
        **more,
    }


def sink(service: WebService, name: str) -> dict[str, str]:
    return {"connector.class": "HttpSink", "topics": name, "http.url": f"{service.url}/in/{{topic}}"}


def posted(service: WebService) -> list[Any]:
    return [value for asked in service.requests("POST", "/in") for value in asked.json]


def events(first: int, end: int) -> list[dict[str, int]]:
    return [{"id": number} for number in range(first, end)]


def test_records_flow_and_the_subscription_lives_as_long_as_the_connector(
    worker: PenstockProcess, service: WebService
) -> None:
    service.events = events(0, 7)
    worker.create("orders", source(service, "orders"))
    worker.wait_state("orders", "RUNNING")
    assert service.subscriptions == {"orders": {"topic": "orders"}}
    assert all(asked.headers["authorization"] == "Bearer the-token" for asked in service.asked)

    worker.create("out", sink(service, "orders"))
    wait_until(lambda: posted(service) == events(0, 7), "every event was posted, in order", 120)
    service.events += events(7, 10)
    wait_until(lambda: posted(service) == events(0, 10), "new events follow", 120)
    assert worker.http.get("/connectors/orders/offsets").json()["offsets"] == [
        {
            "partition": {"url": f"{service.url}/events"},
            "offset": {"cursor": 8, "taken": 2, "caught_up": True},
        }
    ]

    worker.http.put("/connectors/orders/pause")
    worker.wait_state("orders", "PAUSED")
    worker.restart()
    assert list(service.subscriptions) == ["orders"], "neither a pause nor a crash touches the subscription"
    worker.http.put("/connectors/orders/resume")
    service.events += events(10, 12)
    wait_until(lambda: posted(service) == events(0, 12), "the restarted worker goes on where it was", 120)

    assert worker.http.delete("/connectors/orders").status_code == 204
    wait_until(lambda: not service.subscriptions, "the subscription is gone")
    worker.http.delete("/connectors/out")


def test_a_changed_subscription_is_moved(worker: PenstockProcess, service: WebService) -> None:
    worker.create("moving", source(service, "moving"))
    worker.wait_state("moving", "RUNNING")
    changed = source(service, "moving", **{"subscription.id": "moved", "name": "moving"})
    assert worker.http.put("/connectors/moving/config", json=changed).status_code == 200
    wait_until(lambda: list(service.subscriptions) == ["moved"], "the subscription has its new id")
    worker.http.delete("/connectors/moving")
    wait_until(lambda: not service.subscriptions, "the subscription is gone")


def test_a_service_that_is_down_at_the_deletion_is_cleaned_up_when_it_is_back(
    worker: PenstockProcess, service: WebService
) -> None:
    worker.create("unlucky", source(service, "unlucky"))
    worker.wait_state("unlucky", "RUNNING")
    service.down()
    assert worker.http.delete("/connectors/unlucky").status_code == 204
    cleanups = wait_until(lambda: [c for c in cleanups_of(worker, "unlucky") if c["tries"]], "the removal was tried")
    assert "had no success" in cleanups[0]["error"]
    assert "the-token" not in str(cleanups)
    worker.restart()
    assert list(service.subscriptions) == ["unlucky"]
    service.up()
    wait_until(lambda: not service.subscriptions, "the subscription is gone")
    wait_until(lambda: not cleanups_of(worker, "unlucky"), "the clean-up is over")


def test_a_service_that_is_down_at_the_creation_fails_the_connector_until_it_is_back(
    worker: PenstockProcess, service: WebService
) -> None:
    service.down()
    worker.create("early", source(service, "early", **{"retry.max": "0"}))
    failed = worker.wait_state("early", "FAILED", tasks=None)
    assert "had no success in 1 tries" in failed["connector"]["trace"]
    service.up()
    assert worker.http.post("/connectors/early/restart").status_code == 204
    worker.wait_state("early", "RUNNING")
    assert list(service.subscriptions) == ["early"]
    worker.http.delete("/connectors/early")


def cleanups_of(worker: PenstockProcess, name: str) -> list[dict[str, Any]]:
    return [c for c in worker.http.get("/lifecycle/cleanups").json() if c["connector"] == name]
