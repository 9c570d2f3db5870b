"""Requests for another worker that is not there any more: done by the one that takes its place, never twice."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from penstock.rest import forwarding
from penstock.runtime.forwarding import AskAnotherWorker, NoLeader
from penstock.runtime.requests import Conflict
from tests.rest.troubled_herder import TroubledHerder
from tests.support.ports import free_port
from tests.support.waiting import wait_until


@pytest.fixture
def leaders(herder: TroubledHerder) -> list[Exception]:
    """What requests fail with, one after the other; the last one again and again. Nothing: they are done here."""
    return herder.refusals


@pytest.fixture
def gone() -> AskAnotherWorker:
    """A worker that nobody is any more."""
    return AskAnotherWorker(f"http://127.0.0.1:{free_port()}/")


@pytest.fixture
def accepted() -> Iterator[list[bytes]]:
    """What was sent to a worker that dies of each request."""
    sent: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    sent.append(connection.recv(65536))

        sent.append(str(server.getsockname()[1]).encode())
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield sent
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_a_request_for_a_worker_that_is_gone_is_done_by_the_next(
    api: httpx2.Client, leaders: list[Exception], gone: AskAnotherWorker, config: dict[str, str]
) -> None:
    leaders += [gone, gone, NoLeader(), NoLeader(), gone]

    def next_one() -> None:
        wait_until(lambda: len(leaders) == 1, "the request was tried until nobody was left", 30)
        leaders.clear()

    following = threading.Thread(target=next_one)
    following.start()
    answer = api.post("/connectors", json={"name": "orders", "config": config})
    following.join()
    assert answer.status_code == 201, answer.text
    assert api.get("/connectors").json() == ["orders"]


def test_the_next_worker_may_refuse(api: httpx2.Client, leaders: list[Exception], gone: AskAnotherWorker) -> None:
    leaders += [gone, Conflict("it is there already")]
    answer = api.put("/connectors/orders/pause")
    assert (answer.status_code, answer.json()["message"]) == (409, "it is there already")


def test_when_nobody_takes_its_place_in_time_the_client_is_told(
    api: httpx2.Client, leaders: list[Exception], gone: AskAnotherWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "REQUEST_SECONDS", 1.0)
    for last in (gone, NoLeader()):
        leaders[:] = [gone, last]
        answer = api.put("/connectors/orders/pause")
        assert answer.status_code == 500
        assert answer.json()["message"].startswith("IO Error trying to forward REST request: ConnectError(")
        assert gone.url in answer.json()["message"]


def test_a_request_is_not_kept_where_no_worker_was_known_to_begin_with(
    api: httpx2.Client, leaders: list[Exception]
) -> None:
    leaders += [NoLeader()]
    answer = api.put("/connectors/orders/pause")
    assert answer.status_code == 409
    assert "no known leader URL" in answer.json()["message"]


def test_what_a_worker_may_have_received_is_never_sent_again(
    api: httpx2.Client, leaders: list[Exception], accepted: list[bytes]
) -> None:
    leaders += [AskAnotherWorker(f"http://127.0.0.1:{int(accepted.pop())}/")]
    answer = api.put("/connectors/orders/pause")
    assert answer.status_code == 500
    assert "IO Error trying to forward REST request" in answer.json()["message"]
    assert [sent.split(b" ")[0] for sent in accepted] == [b"PUT"]


def test_a_client_that_leaves_takes_its_request_with_it(
    api: httpx2.Client,
    address: tuple[str, int],
    leaders: list[Exception],
    gone: AskAnotherWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asks: list[str] = []
    leaving = forwarding.Forwarder.ask

    async def ask(self: forwarding.Forwarder, url: str, *rest: Any) -> Any:
        asks.append(url)
        return await leaving(self, url, *rest)

    ended = threading.Event()
    answering = forwarding.answer

    async def answer(*arguments: Any) -> Any:
        try:
            return await answering(*arguments)
        finally:
            ended.set()

    monkeypatch.setattr(forwarding.Forwarder, "ask", ask)
    monkeypatch.setattr(forwarding, "answer", answer)
    leaders += [gone]
    with socket.create_connection(address) as client:
        client.sendall(b"PUT /connectors/orders/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        wait_until(lambda: len(asks) > 2, "the request waits")
    assert ended.wait(30)
