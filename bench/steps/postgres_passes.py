"""Passes of the step ``postgres``: a table into a topic, its changes, a topic into a table, and single rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ..api import file_sink
from ..lines import watched_file
from ..system import System
from ..usage import usage
from ..waiting import wait_for
from .passes import Pass
from .postgres_database import Database
from .postgres_systems import failure, records_in, sink_config, source_config, typed_source_config, worker_pids

LONGEST_SECONDS = 300.0
LOOK_SECONDS = 0.05
"""Looking costs our worker a request, and nothing to the peer, whose broker's files are looked at."""
ROWS_A_SECOND, WARM_UP_SECONDS = 200, 3.0


def read_table(system: System, database: Database, table: str, count: int) -> Pass:
    """A filled table into a new topic, from the POST to the last record."""
    name = f"read_{table}"
    config = source_config(database.server, name, table)
    done = _timed(
        system,
        name,
        lambda: system.api.create(name, config),
        lambda: records_in(system, f"{name}.public.{table}") >= count,
        f"table {table} is in its topic",
    )
    system.api.delete(name)
    database.forget(name)
    return done


def read_changes(system: System, database: Database, table: str, count: int, row_bytes: int) -> Pass:
    """Rows inserted while the connector is stopped, from the request to resume it to the last record."""
    name = f"follow_{table}"
    topic = f"{name}.public.{table}"
    database.make(table)
    database.fill(table, 0, 0, row_bytes)
    system.api.create(name, source_config(database.server, name, table))
    _wait(system, name, lambda: records_in(system, topic) == 1, "the table is read")
    database.fill(table, 1, 1, row_bytes)
    _wait(system, name, lambda: records_in(system, topic) == 2, "changes are followed")
    system.api.put(f"/connectors/{name}/stop")
    wait_for(lambda: system.api.states(name) == ("STOPPED",), "the connector is stopped", LONGEST_SECONDS, 0.02)
    database.fill(table, 2, count + 1, row_bytes)
    done = _timed(
        system,
        name,
        lambda: system.api.put(f"/connectors/{name}/resume"),
        lambda: records_in(system, topic) >= count + 2,
        f"the changes of {table} are in its topic",
    )
    system.api.delete(name)
    database.forget(name, table)
    return done


@contextmanager
def typed_topic(system: System, database: Database, table: str, count: int) -> Iterator[str]:
    """A topic with the rows of a table, with schemas."""
    name = f"typed_{table}"
    topic = f"{name}.public.{table}"
    system.api.create(name, typed_source_config(database.server, name, table))
    _wait(system, name, lambda: records_in(system, topic) >= count, f"{topic} is filled")
    system.api.delete(name)
    database.forget(name)
    yield topic


def write_table(system: System, database: Database, topic: str, mode: str, number: int, count: int) -> Pass:
    """A topic into an empty table, from the POST to the last row; all rows must be there."""
    table = f"copy_{mode}_{number}"
    database.make(table)
    config = sink_config(system, database.server, topic, table, mode)
    done = _timed(
        system,
        table,
        lambda: system.api.create(table, config),
        lambda: database.has_row(table, count - 1),
        f"{topic} is in {table}",
    )
    system.api.delete(table)
    if (found := database.count(table)) != count:
        raise RuntimeError(f"Table {table} has {found} rows instead of {count}")
    database.server.run(f"DROP TABLE {table}")
    return done


def ages_of_rows(system: System, database: Database, seconds: float, settings: Mapping[str, str]) -> list[float]:
    """How old rows are, in milliseconds, when they come out of a file that their topic is written into."""
    name = table = f"steady_{len(settings)}"
    output = system.folder / f"{name}.out-lines"
    database.make(table)
    system.api.create(name, {**source_config(database.server, name, table), **settings})
    database.fill(table, 0, 0, 100)
    topic = f"{name}.public.{table}"
    _wait(system, name, lambda: records_in(system, topic) == 1, "the first row is in its topic")
    system.api.create(f"{name}-out", file_sink(output, topic))
    wait_for(lambda: output.exists() and output.stat().st_size > 0, "the first row is out", LONGEST_SECONDS, 0.02)
    with watched_file(output) as arrivals:
        written = _insert_steadily(database, table, WARM_UP_SECONDS + seconds)
        wait_for(lambda: len(arrivals) >= written, f"all {written} rows are out", LONGEST_SECONDS, pause=0.05)
    system.api.delete(f"{name}-out")
    system.api.delete(name)
    database.forget(name, table)
    return arrivals.ages[int(WARM_UP_SECONDS * ROWS_A_SECOND) :]


def _insert_steadily(database: Database, table: str, seconds: float) -> int:
    insert = f"INSERT INTO {table} VALUES (%s, 'customer', 1, 1, %s)"
    began, written = time.perf_counter(), 0
    with database.server.connect() as connection:
        while time.perf_counter() < began + seconds:
            written += 1
            connection.execute(insert, [written, f"stamp {time.time_ns()}"])
            time.sleep(max(0.0, began + written / ROWS_A_SECOND - time.perf_counter()))
    return written


def _timed(system: System, name: str, begin: Callable[[], None], is_done: Callable[[], bool], what: str) -> Pass:
    roots = worker_pids(system)
    before, began = usage(roots), time.perf_counter()
    begin()
    _wait(system, name, is_done, what)
    return Pass(time.perf_counter() - began, usage(roots).cpu_seconds - before.cpu_seconds)


def _wait(system: System, name: str, is_done: Callable[[], bool], what: str) -> None:
    """Wait for what a connector does; once a second, look whether it has failed."""
    looked = time.monotonic()

    def done_or_failed() -> bool:
        nonlocal looked
        if time.monotonic() > looked + 1.0:
            looked = time.monotonic()
            if "FAILED" in system.api.states(name):
                raise RuntimeError(f"{what}: {name} failed: {failure(system, name)}")
        return is_done()

    wait_for(done_or_failed, what, LONGEST_SECONDS, LOOK_SECONDS)
