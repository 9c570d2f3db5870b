"""Clients that send rubbish, too much, too slowly, or all at once, to a real worker: it keeps its temper and its store.

The last test of the module restarts the worker and looks at what all the others have left.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
import psutil
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.made_up_requests import CHECKS, of_users
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration

JSON = {"content-type": "application/json"}
STORMED = 17
FUZZ_SECONDS = 60.0
EXAMPLES = 12

NAMES = ["steady", "ünï cødé/✓", "a%2Fb", "\U0001f600", "name-with-" + "x" * 180, "status", '"quoted"']


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    with PenstockProcess(tmp_path_factory.mktemp("worker")) as worker:
        for name in NAMES:
            worker.create(name, config_of(worker), initial_state="PAUSED")
        worker.create("busy", {**config_of(worker), "file": str(worker.folder / "in.txt")})
        yield worker


@pytest.fixture(autouse=True)
def unharmed(worker: PenstockProcess) -> Iterator[None]:
    """After every test the worker answers and everything listed can be read."""
    yield
    assert worker.http.get("/health").status_code == 200
    assert_all_readable(worker)
    assert set(NAMES) <= set(worker.http.get("/connectors").json())
    assert worker.http.get("/connectors/steady/config").json() == {"name": "steady", **config_of(worker)}


def config_of(worker: PenstockProcess) -> dict[str, str]:
    return {"connector.class": "FileStreamSource", "topic": "t", "file": str(worker.folder / "missing.txt")}


BODIES = {
    "nothing": b"",
    "cut short": b'{"name": "x", "config": {"connector.class": "FileStreamSo',
    "no object": b'["name", "config"]',
    "a number": b"12",
    "not JSON": b"name=x\nconnector.class=FileStreamSource\n",
    "two objects": b'{"name": "x"} {"name": "y"}',
    "nested deeply": b'{"config":' * 20_000,
    "brackets": b"[" * 1_000_000,
    "a number of many digits": b'{"name": "x", "config": {"tasks.max": ' + b"9" * 100_000 + b"}}",
    "not a number": b'{"name": "x", "config": {"tasks.max": NaN}}',
    "half a surrogate pair": b'{"name": "x\\ud800", "config": {"connector.class": "FileStreamSource"}}',
    "bytes that are no UTF-8": b'{"name": "\xff\xfe\x80", "config": {}}',
    "an overlong encoding": b'{"name": "\xc0\xaf", "config": {}}',
    "UTF-16": '{"name": "x", "config": {}}'.encode("utf-16"),
    "UTF-32 without a mark": '{"name": "x", "config": {}}'.encode("utf-32-le"),
    "compressed": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xab\xae\x05\x00\x43\xbf\xa6\xa3\x02\x00\x00\x00",
    "NULs": b"\0" * 10_000,
    "the wrong types": b'{"name": {"a": 1}, "config": "FileStreamSource", "initial_state": 5, "offsets": true}',
}
TARGETS = {
    "POST": "/connectors",
    "PUT": "/connectors/steady/config",
    "PATCH": "/connectors/steady/offsets",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_makes_no_sense_is_refused_with_a_reason(worker: PenstockProcess, body: bytes) -> None:
    for method, path in TARGETS.items():
        answer = worker.http.request(method, path, content=body, headers=JSON)
        assert 400 <= answer.status_code < 500, answer.text
        assert answer.json()["error_code"] == answer.status_code
        assert answer.json()["message"]


def test_a_huge_body_is_refused_and_takes_no_memory(worker: PenstockProcess) -> None:
    before = psutil.Process(worker.pid).memory_info().rss
    value = b"x" * (60 << 20)
    body = b'{"name": "huge", "config": {"connector.class": "FileStreamSource", "topic": "' + value + b'"}}'
    assert worker.http.post("/connectors", content=body, headers=JSON).status_code == 413
    assert psutil.Process(worker.pid).memory_info().rss - before < 150 << 20


def test_an_endless_chunked_body_is_cut_off(worker: PenstockProcess) -> None:
    chunk = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
    with socket.create_connection(("127.0.0.1", worker.port), timeout=120) as client:
        client.sendall(b"POST /connectors HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
        client.sendall(b"transfer-encoding: chunked\r\n\r\n")
        sent = 0
        try:
            while sent < 300:
                client.sendall(chunk)
                sent += 1
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 300


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: -1",
        b"content-length: 2x",
        b"content-length: 99999999999999999999999",
        b"content-length: 2\r\ncontent-length: 3",
        b"content-length: 2\r\ntransfer-encoding: chunked",
    ],
)
def test_a_wrong_content_length_is_refused(worker: PenstockProcess, header: bytes) -> None:
    answer = raw(worker, b"POST /connectors HTTP/1.1", b"content-type: application/json", header, body=b"{}")
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 413 "))


def test_a_body_shorter_than_announced_changes_nothing(worker: PenstockProcess) -> None:
    body = json.dumps({"name": "half-sent", "config": config_of(worker)}).encode()
    head = b"POST /connectors HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", worker.port), timeout=10) as client:
        client.sendall(head + b"content-length: %d\r\n\r\n" % (len(body) + 10) + body)
        client.shutdown(socket.SHUT_WR)
        client.recv(4096)
    assert worker.http.get("/connectors/half-sent").status_code == 404


def test_a_request_hidden_in_a_body_is_not_taken_for_one(worker: PenstockProcess) -> None:
    hidden = b"{}DELETE /connectors/steady HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    cut = b"content-length: %d" % (len(hidden) - 20)
    answer = raw(worker, b"PUT /connectors/busy/pause HTTP/1.1", cut, body=hidden, close=False)
    assert b"HTTP/1.1 400 " in answer


@pytest.mark.parametrize("path", ["%00", "%ff%fe", "%ed%a0%80", "%", "%zz", "x" * 20_000, "a\\b", "%0d%0ax:%20y"])
def test_odd_names_in_paths_are_not_found(worker: PenstockProcess, path: str) -> None:
    for method, suffix in (("GET", ""), ("GET", "/status"), ("DELETE", ""), ("PUT", "/pause"), ("GET", "/offsets")):
        answer = raw(worker, f"{method} /connectors/{path}{suffix} HTTP/1.1".encode())
        assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ", b"HTTP/1.1 405 ")), answer[:200]


def test_slow_clients_hold_up_nobody(worker: PenstockProcess) -> None:
    beginnings = [
        b"",
        b"POST /conn",
        b"POST /connectors HTTP/1.1\r\nhost: localhost\r\ncontent-",
        b"POST /connectors HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
    ]
    slow = []
    try:
        for number in range(400):
            client = socket.create_connection(("127.0.0.1", worker.port), timeout=10)
            client.sendall(beginnings[number % len(beginnings)])
            slow.append(client)
        for _ in range(20):
            assert httpx2.get(f"{worker.url}/connectors/steady/status", timeout=60).status_code == 200
    finally:
        for client in slow:
            client.close()


def test_a_client_that_does_not_read_its_answers_holds_up_nobody(worker: PenstockProcess) -> None:
    with socket.create_connection(("127.0.0.1", worker.port), timeout=5) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        requests = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 2_000
        sender = threading.Thread(target=send_quietly, args=(client, requests), daemon=True)
        sender.start()
        for _ in range(20):
            assert httpx2.get(f"{worker.url}/connectors", timeout=60).status_code == 200
        client.shutdown(socket.SHUT_RDWR)
        sender.join(120)


def test_a_thousand_requests_at_once_are_all_answered(worker: PenstockProcess) -> None:
    for number in range(STORMED):
        worker.create(f"storm-{number}", config_of(worker))
    answers = asyncio.run(storm(worker, 1_000))
    assert len(answers) == 1_000
    assert [answer for answer in answers if answer.status >= 500] == []
    assert all(answer.status == 200 for answer in answers if answer.method == "GET" and "storm" not in answer.path)
    assert {"PUT", "POST", "DELETE"} <= {answer.method for answer in answers if 200 <= answer.status < 300}
    for name in worker.http.get("/connectors").json():
        wait_until(lambda: is_settled(worker, name), f"{name} settles")  # noqa: B023


@dataclass(frozen=True)
class Stormed:
    """A request of the storm and how it was answered."""

    method: str
    path: str
    status: int
    text: bytes


async def storm(worker: PenstockProcess, count: int) -> list[Stormed]:
    """Every kind of request on a few names, all on their way at once, each on a connection of its own."""
    config = config_of(worker)

    async def send(number: int) -> Stormed:
        name = f"storm-{number % STORMED}"
        method, path, body = [
            ("GET", "/connectors?expand=status&expand=info", None),
            ("POST", "/connectors", {"name": name, "config": config}),
            ("GET", f"/connectors/{name}/status", None),
            ("PUT", f"/connectors/{name}/config", {**config, "batch.size": str(number + 1)}),
            ("PUT", f"/connectors/{name}/pause", None),
            ("GET", "/connectors/steady/status", None),
            ("POST", f"/connectors/{name}/restart?includeTasks=true", None),
            ("PUT", f"/connectors/{name}/resume", None),
            ("GET", "/connector-plugins", None),
            ("DELETE", f"/connectors/{name}", None),
        ][number % 10]
        content = b"" if body is None else json.dumps(body).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", worker.port)
        writer.write(f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n".encode())
        writer.write(b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(content) + content)
        answer = await asyncio.wait_for(reader.read(), 90)
        writer.close()
        return Stormed(method, path, int(answer.split()[1]), answer[-300:])

    return await asyncio.gather(*(send(number) for number in range(count)))


def test_requests_made_up_from_the_openapi_document_break_nothing(worker: PenstockProcess) -> None:
    schema = of_users(schemathesis.openapi.from_url(f"{worker.url}/openapi.json"))
    deadline = time.monotonic() + FUZZ_SECONDS
    tried: Counter[str] = Counter()
    for operation in (found.ok() for found in schema.get_all_operations()):
        fuzz(operation, deadline, tried)
    assert len(tried) >= 30
    assert sum(tried.values()) >= 100


def fuzz(operation: Any, deadline: float, tried: Counter[str]) -> None:
    """Call one operation in many ways, every other time on a connector that exists."""

    @given(case=operation.as_strategy(), name=st.sampled_from(["fuzzed", "busy", None, None]))
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def call(case: Any, name: str | None) -> None:
        if time.monotonic() > deadline:
            return
        if name and "connector" in (case.path_parameters or {}):
            case.path_parameters["connector"] = name
        tried[operation.label] += 1
        case.call_and_validate(checks=CHECKS, timeout=120)

    call()


def test_after_it_all_the_worker_restarts_with_every_connector_it_had(worker: PenstockProcess) -> None:
    worker.http.delete("/connectors/busy")
    before = worker.http.get("/connectors", params={"expand": "info"}).json()
    assert worker.stop() == 0
    worker.start()
    assert worker.http.get("/connectors", params={"expand": "info"}).json() == before
    assert_all_readable(worker)
    worker.wait_state("steady", "PAUSED", tasks=None)


def raw(worker: PenstockProcess, line: bytes, *headers: bytes, body: bytes = b"", close: bool = True) -> bytes:
    """Everything that comes back until the worker closes the connection."""
    last = [b"connection: close"] if close else []
    with socket.create_connection(("127.0.0.1", worker.port), timeout=10) as client:
        client.sendall(b"\r\n".join([line, b"host: localhost", *headers, *last, b"", body]))
        answer = b""
        while part := client.recv(65536):
            answer += part
        return answer


def send_quietly(client: socket.socket, data: bytes) -> None:
    try:
        client.sendall(data)
    except OSError:
        return


def is_settled(worker: PenstockProcess, name: str) -> bool:
    answer = worker.http.get(f"/connectors/{quote(name, safe='')}/status")
    if answer.status_code == 404:
        return True
    state = answer.json()["connector"]["state"]
    return state in ("RUNNING", "PAUSED", "STOPPED", "FAILED")


def assert_all_readable(worker: PenstockProcess) -> None:
    """Whatever the list names has a configuration, tasks, offsets, topics and, within a moment, a status."""
    everything = worker.http.get("/connectors", params={"expand": "info"}).json()
    for name, entry in everything.items():
        path = f"/connectors/{quote(name, safe='')}"
        assert worker.http.get(f"{path}/config").json() == entry["info"]["config"]
        for part in ("", "/tasks", "/offsets", "/topics"):
            assert worker.http.get(path + part).status_code == 200, path + part
        wait_until(lambda: worker.http.get(f"{path}/status").status_code == 200, f"{name} has a status")  # noqa: B023
