"""The passes of the benchmark with PostgreSQL move every row, of the size they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from bench.api import Api
from bench.steps import all_steps, postgres_passes
from bench.steps.postgres_database import Database, started_database
from bench.steps.postgres_passes import ages_of_rows, read_changes, read_table, typed_topic, write_table
from bench.steps.postgres_systems import records_in
from bench.worker import Penstock
from tests.support.worker import PenstockProcess

COUNT = 300


class Running(Penstock):
    """A worker that runs already."""

    def __init__(self, worker: PenstockProcess) -> None:
        super().__init__(worker.folder)
        self.api.close()
        self.api = Api(worker.url)
        self._pid = worker.pid

    @property
    def pids(self) -> Sequence[int]:
        return [self._pid]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with started_database() as started:
        yield started


@pytest.fixture
def system(shared_worker: PenstockProcess) -> Iterator[Running]:
    running = Running(shared_worker)
    yield running
    for name in running.api.names():
        running.api.delete(name)
    running.api.close()


def test_it_is_a_step() -> None:
    assert "postgres" in all_steps()


@pytest.mark.integration
@pytest.mark.parametrize("row_bytes", [100, 1000])
def test_rows_have_the_size_they_are_named_by(database: Database, row_bytes: int) -> None:
    database.make("sized")
    database.fill("sized", 5, 104, row_bytes)
    text = "id::text || customer || amount || placed || note"
    ((rows, shortest, longest),) = database.server.run(
        f"SELECT count(*), min(length({text})), max(length({text})) FROM sized"
    )
    database.server.run("DROP TABLE sized")
    assert rows == 100
    assert row_bytes * 0.9 < shortest <= longest < row_bytes * 1.1


@pytest.mark.integration
@pytest.mark.timeout(900)
def test_each_pass_moves_all_rows_and_leaves_nothing(
    system: Running, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.make("rows_there")
    database.fill("rows_there", 0, COUNT - 1, 100)
    assert read_table(system, database, "rows_there", COUNT).seconds > 0
    assert records_in(system, "read_rows_there.public.rows_there") == COUNT
    read_changes(system, database, "changing", COUNT, 100)
    assert records_in(system, "follow_changing.public.changing") == COUNT + 2
    with typed_topic(system, database, "rows_there", COUNT) as topic:
        for mode in ("insert", "upsert"):
            write_table(system, database, topic, mode, 0, COUNT)
    monkeypatch.setattr(postgres_passes, "WARM_UP_SECONDS", 0.1)
    assert min(ages_of_rows(system, database, 0.2, {})) > 0
    assert system.api.names() == []
    assert database.server.run("SELECT slot_name FROM pg_replication_slots") == []
    tables = database.server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    assert [name for (name,) in tables if name != "penstock_offsets"] == ["rows_there"]
