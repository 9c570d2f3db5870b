"""What a browser can be talked into by a page of somebody else, on a worker without users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import httpx2
import pytest

from penstock.rest.server import RestServer
from penstock.rest.settings import RestSettings
from penstock.runtime.assembly import StandaloneWorker
from penstock.runtime.herder import Herder
from tests.rest.test_http import exchange, problem

FRIEND = "https://friend.example"


def serve(worker: StandaloneWorker, **properties: str) -> RestServer:
    given = {key.replace("_", "."): value for key, value in properties.items()}
    server = RestServer(cast(Herder, worker.herder), RestSettings.from_properties(given))
    server.start()
    return server


@pytest.fixture(scope="module")
def local(real_worker: StandaloneWorker) -> Iterator[RestServer]:
    """On this machine alone, under one more name."""
    server = serve(
        real_worker,
        listeners="http://127.0.0.1:0",
        rest_advertised_host_name="Connect.example",
        access_control_allow_origin=FRIEND,
    )
    yield server
    server.stop()


@pytest.fixture(scope="module")
def everywhere(real_worker: StandaloneWorker) -> Iterator[RestServer]:
    server = serve(real_worker, listeners="http://:0")
    yield server
    server.stop()


def send(server: RestServer, method: str, path: str, headers: Mapping[str, str]) -> httpx2.Response:
    return httpx2.request(method, server.url + path, headers=headers, trust_env=False, timeout=60)


@pytest.mark.parametrize("path", ["/connectors", "/ui/", "/metrics", "/nothing"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:8083", "127.0.0.1.evil.example", "10.0.0.1", "[::2]:1"])
def test_a_worker_of_this_machine_answers_to_its_own_names_alone(local: RestServer, path: str, host: str) -> None:
    answer = send(local, "GET", path, {"Host": host})
    assert answer.status_code == 403
    assert answer.json()["error_code"] == 403
    assert "rest.advertised.host.name" in answer.json()["message"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:8083", "127.8.9.10", "[::1]", "[::1]:8083", "connect.example:80"]
)
def test_own_names_and_addresses_of_this_machine_are_answered(local: RestServer, host: str) -> None:
    assert send(local, "GET", "/connectors", {"Host": host}).status_code == 200


def test_a_request_without_a_host_is_answered(local: RestServer) -> None:
    address = (httpx2.URL(local.url).host, httpx2.URL(local.url).port or 0)
    assert exchange(address, b"GET /connectors HTTP/1.0\r\n\r\n")[0] == 200
    assert problem(exchange(address, b"GET /connectors HTTP/1.0\r\nHost: evil.example\r\n\r\n"))[0] == 403


def test_a_worker_that_others_reach_is_asked_by_any_name(everywhere: RestServer) -> None:
    assert send(everywhere, "GET", "/connectors", {"Host": "any.example"}).status_code == 200


def test_a_host_that_is_none_stays_out_of_the_address_of_a_connector(
    everywhere: RestServer, real_worker: StandaloneWorker, config: dict[str, str]
) -> None:
    body = {"name": "orders", "config": config}
    headers = {"Host": "evil.example/<script>"}
    answer = httpx2.post(f"{everywhere.url}/connectors", json=body, headers=headers, trust_env=False, timeout=60)
    real_worker.herder.delete_connector("orders", include_offsets=True).result(60)
    assert answer.headers["location"] == "/connectors/orders"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/connectors/none/restart"),
        ("POST", "/connectors/none/tasks/0/restart"),
        ("PUT", "/connectors/none/pause"),
        ("DELETE", "/connectors/none"),
    ],
)
def test_pages_of_other_origins_change_nothing(
    local: RestServer, everywhere: RestServer, method: str, path: str
) -> None:
    for server in (local, everywhere):
        for strange in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
            answer = send(server, method, path, strange)
            assert answer.status_code == 403
            assert "access.control.allow.origin" in answer.json()["message"]
        for fine in ({}, {"Origin": server.url}, {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}):
            assert send(server, method, path, fine).status_code == 404
    assert send(local, method, path, {"Origin": FRIEND, "Sec-Fetch-Site": "cross-site"}).status_code == 404


def test_pages_of_other_origins_may_ask_for_what_they_cannot_read(local: RestServer) -> None:
    for method in ("GET", "HEAD", "OPTIONS"):
        answer = send(local, method, "/connectors", {"Origin": "https://evil.example"})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
