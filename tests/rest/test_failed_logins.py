"""Wrong passwords: slowed down for the address they come from, told in the log, and nobody else's trouble."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import httpx2
import pytest

from penstock.rest.failed_logins import FIRST_WAIT_SECONDS, FREE_FAILURES
from penstock.rest.server import RestServer
from penstock.rest.settings import RestSettings
from penstock.rest.users import PasswordHash, Role, TokenHash, User
from penstock.runtime.assembly import StandaloneWorker
from penstock.runtime.herder import Herder

ADMIN, OTHER, WRONG = ("ops", "correct horse"), ("viewer", "battery staple"), ("ops", "hush-hush")
TOKEN = "penstock_0123456789"


@pytest.fixture
def url(real_worker: StandaloneWorker, tmp_path: Path) -> Iterator[str]:
    users = [User(name, Role.ADMIN, PasswordHash.of(word)) for name, word in (ADMIN, OTHER)]
    users.append(User("ci", Role.ADMIN, TokenHash.of(TOKEN)))
    (tmp_path / "users.txt").write_text("".join(f"{user}\n" for user in users))
    settings = {"listeners": "http://127.0.0.1:0", "rest.auth.users.file": str(tmp_path / "users.txt")}
    server = RestServer(cast(Herder, real_worker.herder), RestSettings.from_properties(settings))
    server.start()
    yield server.url
    server.stop()


def ask(url: str, auth: tuple[str, str] | None = None, address: str = "127.0.0.1", **headers: str) -> httpx2.Response:
    with httpx2.Client(transport=httpx2.HTTPTransport(local_address=address), timeout=120) as client:
        return client.get(f"{url}/connectors", auth=auth, headers=headers)


def seconds(url: str, auth: tuple[str, str], address: str = "127.0.0.1") -> tuple[int, float]:
    began = time.monotonic()
    status = ask(url, auth, address).status_code
    return status, time.monotonic() - began


def test_repeated_failures_of_an_address_wait_and_nobody_else_does(url: str) -> None:
    assert ask(url, ADMIN).status_code == 200
    for _ in range(FREE_FAILURES + 5):
        assert ask(url, WRONG).status_code == 401
    waiting = FIRST_WAIT_SECONDS * 2**4
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(seconds, url, WRONG)
        began = time.monotonic()
        assert ask(url, ADMIN).status_code == 200
        assert ask(url, Authorization=f"Bearer {TOKEN}").status_code == 200
        assert ask(url, OTHER, "127.0.0.2").status_code == 200
        assert not slow.done() or time.monotonic() - began > waiting
        status, took = slow.result()
    assert status == 401
    assert took > waiting / 2


def test_only_few_of_an_address_wait(url: str) -> None:
    for _ in range(FREE_FAILURES + 3):
        assert ask(url, WRONG).status_code == 401
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(url, WRONG), range(8)))
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert {answer.status_code for answer in answers} == {401, 429}
    assert refused[0].headers["retry-after"] == "10"
    assert refused[0].json()["error_code"] == 429


def test_failed_logins_are_in_the_log_without_what_was_tried(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "penstock.rest.failed_logins"):
        for _ in range(3):
            ask(url, WRONG)
        ask(url, ("hush-hush", "x"), "127.0.0.2")
        ask(url, address="127.0.0.3", Authorization="Bearer hush-hush")
    assert [record.getMessage() for record in caplog.records if record.name == "penstock.rest.failed_logins"] == [
        "Failed logins from 127.0.0.1: 1, the last one as ops",
        "Failed logins from 127.0.0.2: 1, the last one as an unknown user or token",
        "Failed logins from 127.0.0.3: 1, the last one as an unknown user or token",
    ]
    assert "hush-hush" not in caplog.text
