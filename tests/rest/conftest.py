"""A REST server on a real standalone worker in this process, empty before each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx2
import pytest

from penstock.rest.server import RestServer
from penstock.rest.settings import RestSettings
from penstock.runtime.assembly import StandaloneWorker
from penstock.runtime.herder import Herder
from penstock.runtime.worker_config import WorkerConfig
from tests.rest.troubled_herder import TroubledHerder

LIMIT = 2_000_000
WORKER_ID = "worker.example:8083"
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@pytest.fixture(scope="module")
def real_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneWorker]:
    settings = {
        "data.dir": str(tmp_path_factory.mktemp("rest") / "data"),
        "rest.advertised.host.name": "worker.example",
        "rest.advertised.port": "8083",
        "spark.master": "local[2]",
    }
    worker = StandaloneWorker(WorkerConfig.from_properties(settings))
    worker.start()
    worker.mark_ready()
    worker.spark_ready.result(120)
    yield worker
    worker.stop()


@pytest.fixture(scope="module")
def running(real_worker: StandaloneWorker) -> Iterator[tuple[RestServer, TroubledHerder]]:
    herder = TroubledHerder(real_worker.herder)
    settings = RestSettings.from_properties({"listeners": "http://127.0.0.1:0", "rest.request.max.bytes": str(LIMIT)})
    server = RestServer(cast(Herder, herder), settings)
    server.start()
    yield server, herder
    server.stop()


@pytest.fixture
def herder(running: tuple[RestServer, TroubledHerder]) -> Iterator[TroubledHerder]:
    herder = running[1]
    yield herder
    herder.recover()
    for name in herder.real.connectors():
        herder.real.delete_connector(name, include_offsets=True).result(60)


@pytest.fixture
def api(running: tuple[RestServer, TroubledHerder], herder: TroubledHerder) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=running[0].url, trust_env=False, timeout=120) as client:
        yield client


@pytest.fixture
def address(running: tuple[RestServer, TroubledHerder], herder: TroubledHerder) -> tuple[str, int]:
    url = httpx2.URL(running[0].url)
    assert url.port is not None
    return url.host, url.port


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    return {"connector.class": SOURCE, "tasks.max": "1", "file": str(tmp_path / "in.txt"), "topic": "lines"}
