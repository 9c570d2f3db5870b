"""One worker, broker and database for all pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kafka import KafkaBroker
from tests.support.postgres import PostgresServer
from tests.support.worker import PenstockProcess


@pytest.fixture(scope="package")
def docs_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """For pages that talk to a worker and do not say how it was started."""
    passwords = {"SHOP_PASSWORD": "", "WAREHOUSE_PASSWORD": ""}
    settings = {"config.providers": "env", "spark.master": "local[4]"}
    with PenstockProcess(tmp_path_factory.mktemp("worker"), settings, passwords) as worker:
        yield worker


@pytest.fixture(scope="package")
def docs_broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture(scope="package")
def docs_postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server
