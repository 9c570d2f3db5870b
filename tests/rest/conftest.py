from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from penstock.rest.server import RestServer
from penstock.rest.settings import RestSettings
from tests.rest.memory_herder import SOURCE, MemoryHerder

LIMIT = 2_000_000


@pytest.fixture(scope="session")
def running() -> Iterator[tuple[RestServer, MemoryHerder]]:
    herder = MemoryHerder()
    settings = RestSettings.from_properties({"listeners": "http://127.0.0.1:0", "rest.request.max.bytes": str(LIMIT)})
    server = RestServer(herder, settings)
    server.start()
    yield server, herder
    server.stop()


@pytest.fixture
def herder(running: tuple[RestServer, MemoryHerder]) -> MemoryHerder:
    herder = running[1]
    herder.__init__()  # type: ignore[misc]
    return herder


@pytest.fixture
def api(running: tuple[RestServer, MemoryHerder], herder: MemoryHerder) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running[0].url, trust_env=False, timeout=20) as client:
        yield client


@pytest.fixture
def address(running: tuple[RestServer, MemoryHerder], herder: MemoryHerder) -> tuple[str, int]:
    url = httpx.URL(running[0].url)
    assert url.port is not None
    return url.host, url.port


@pytest.fixture
def config() -> dict[str, str]:
    return {"connector.class": SOURCE, "tasks.max": "1", "file": "in.txt", "topic": "lines"}
