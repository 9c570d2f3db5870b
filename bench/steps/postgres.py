"""PostgreSQL, in and out: tables, changes and single rows into topics, topics into tables; beside Debezium."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ..figures import Figure, percentile
from ..system import System
from ..usage import watched
from ..worker import Penstock
from . import Run
from .first_record import move_first_record, remove_first_record
from .passes import Goal, Pass, figures_of
from .postgres_database import Database, started_database
from .postgres_passes import ROWS_A_SECOND, ages_of_rows, read_changes, read_table, typed_topic, write_table
from .postgres_systems import DebeziumConnect, worker_pids

ROW_BYTES = (100, 1000)
SNAPSHOT, CHANGES, SINK = Goal(times_faster=5.0), Goal(times_faster=2.0), Goal(times_faster=3.0)
SINK_MODES = ("insert", "upsert")

LATENCY_TARGET_MS = 150.0
LATENCIES: Sequence[tuple[str, str, dict[str, str]]] = (
    ("postgres.latency", "", {}),
    ("postgres.latency.tuned", ", poll.interval.ms=10", {"poll.interval.ms": "10"}),
)
"""By default the peer looks for changes twice a second."""

BYTES_A_ROW_OF_WORK = 1000
"""The sizes of files in other steps, divided by this, are the numbers of rows in this one."""


def measure(run: Run) -> list[Figure]:
    count = run.scale.file_bytes // BYTES_A_ROW_OF_WORK
    figures: list[Figure] = []
    with started_database() as database, _started(run) as system, watched(lambda: worker_pids(system)) as peak:
        for row_bytes in ROW_BYTES:
            figures += _sources(run, system, database, row_bytes, count)
        for key, what, settings in LATENCIES:
            run.say(f"{ROWS_A_SECOND} rows a second{what}")
            figures += _latency(key, what, ages_of_rows(system, database, run.scale.latency_seconds, settings))
        figures += _sinks(run, system, database, count)
    return [*figures, Figure("postgres.rss", "memory of the worker at most (RSS)", "MB", peak.rss_mb)]


@contextmanager
def _started(run: Run) -> Iterator[System]:
    kind = Penstock if run.kind is Penstock else DebeziumConnect
    with replace(run, kind=kind).started() as system:
        move_first_record(system)
        remove_first_record(system)
        yield system


def _sources(run: Run, system: System, database: Database, row_bytes: int, count: int) -> list[Figure]:
    def one_snapshot(number: int) -> Pass:
        return read_table(system, database, f"rows_{row_bytes}_{number}", count)

    def one_stream(number: int) -> Pass:
        return read_changes(system, database, f"changes_{row_bytes}_{number}", count, row_bytes)

    tables = [f"rows_{row_bytes}_{number}" for number in range(1 + run.scale.throughput_rounds)]
    for table in tables:
        run.say(f"filling {table}")
        database.make(table)
        database.fill(table, 0, count - 1, row_bytes)
    database.settle()
    snapshots = _rounds(run, f"table → topic, {row_bytes} B", one_snapshot)
    database.server.run(f"DROP TABLE {', '.join(tables)}")
    streams = _rounds(run, f"changes → topic, {row_bytes} B", one_stream)
    figures: list[Figure] = []
    for key, what, passes, goal in (
        ("snapshot", "table", snapshots, SNAPSHOT),
        ("changes", "changes", streams, CHANGES),
    ):
        title = f"{what} → topic, {row_bytes} B"
        figures += figures_of(f"postgres.{key}.{row_bytes}", title, count, passes, "the worker", goal)
    return figures


def _sinks(run: Run, system: System, database: Database, count: int) -> list[Figure]:
    figures: list[Figure] = []
    database.make("orders")
    database.fill("orders", 0, count - 1, ROW_BYTES[0])
    run.say("filling a topic")
    with typed_topic(system, database, "orders", count) as topic:
        for mode in SINK_MODES:

            def one_pass(number: int, mode: str = mode) -> Pass:
                return write_table(system, database, topic, mode, number, count)

            title = f"topic → table, {ROW_BYTES[0]} B, {mode}"
            passes = _rounds(run, title, one_pass)
            figures += figures_of(f"postgres.sink.{mode}", title, count, passes, "the worker", SINK)
    return figures


def _rounds(run: Run, title: str, one_pass: Callable[[int], Pass]) -> list[Pass]:
    """The first one does not count: compilers get to know the work."""
    passes = []
    for number in range(1 + run.scale.throughput_rounds):
        run.say(f"{title}, {f'round {number}' if number else 'warm-up'}")
        passes.append(one_pass(number))
    return passes[1:]


def _latency(key: str, how: str, ages: list[float]) -> list[Figure]:
    what = f"row → topic → file at {ROWS_A_SECOND} rows/s{how}"
    return [
        Figure(f"{key}.p50", f"{what}: p50", "ms", percentile(ages, 0.5), target=LATENCY_TARGET_MS),
        Figure(f"{key}.p99", f"{what}: p99", "ms", percentile(ages, 0.99)),
    ]
