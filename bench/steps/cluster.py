"""A cluster of three workers with many connectors: its cost, a fourth that joins and leaves, one that is killed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from confluent_kafka.admin import AdminClient, NewTopic

from ..api import file_sink, file_source
from ..cluster import Cluster, Placement, moved, spread
from ..figures import Figure, percentile
from ..on_kafka import OnKafka
from ..peer.connect import KafkaConnect
from ..usage import idle_cpu_percent, shared_once_mb, usage
from ..waiting import wait_for
from ..worker import Penstock, PenstockOnKafka
from . import Run
from .first_record import move_first_record, remove_first_record

WORKERS = 3
TASKS_A_SINK = 3
POSTING_THREADS = 4
STATUS_REQUESTS = 600
SETTLED_SECONDS = 900.0
"""Kafka Connect waits five minutes before it gives away what a worker that left has had."""

FAIL_OVER_TARGET_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class _Load:
    """Half of the connectors are sources with a task each, half of them sinks with three tasks."""

    connectors: int

    @property
    def names(self) -> list[str]:
        return [f"many-{number}" for number in range(self.connectors)]

    @property
    def tasks(self) -> list[str]:
        return [f"many-{n}-{task}" for n in range(self.connectors) for task in range(self.tasks_of(n))]

    @staticmethod
    def tasks_of(number: int) -> int:
        return 1 if number % 2 else TASKS_A_SINK

    def config(self, system: OnKafka, number: int) -> dict[str, str]:
        file = system.folder / f"many-{number}.txt"
        file.touch()
        if number % 2:
            return file_source(file, "many")
        return {**file_sink(f"{file}.out-lines", "wide"), "tasks.max": str(TASKS_A_SINK)}


def measure(run: Run) -> list[Figure]:
    kind: type[OnKafka] = PenstockOnKafka if run.kind is Penstock else KafkaConnect
    load = _Load(run.scale.many)
    with replace(run, kind=kind).fresh() as system:
        assert isinstance(system, OnKafka)
        cluster = _started(run, system)
        seconds, placement = _create(run, system, cluster, load)
        what = f"{load.connectors} connectors, {len(load.tasks)} tasks on {WORKERS} workers"
        figures = [Figure("cluster.running", f"{what}: first POST → all RUNNING", "s", seconds)]
        figures += _cost(run, cluster, what)
        return figures + _changes(run, cluster, load, placement)


def _started(run: Run, system: OnKafka) -> Cluster:
    run.say("starting three workers")
    cluster = Cluster(system)
    cluster.join()
    move_first_record(system)
    remove_first_record(system)
    admin = AdminClient({"bootstrap.servers": system.broker.bootstrap})
    for created in admin.create_topics([NewTopic("wide", TASKS_A_SINK), NewTopic("many", 1)]).values():
        created.result()
    while len(cluster.members) < WORKERS:
        cluster.join()
    return cluster


def _create(run: Run, system: OnKafka, cluster: Cluster, load: _Load) -> tuple[float, Placement]:
    run.say(f"creating {load.connectors} connectors")
    configs = [load.config(system, number) for number in range(load.connectors)]
    began = time.perf_counter()

    def create(number: int) -> None:
        cluster.members[number % WORKERS].api.create(load.names[number], configs[number])

    with ThreadPoolExecutor(POSTING_THREADS) as pool:
        list(pool.map(create, range(load.connectors)))
    return _settled(cluster, load, began)


def _settled(cluster: Cluster, load: _Load, began: float) -> tuple[float, Placement]:
    """When every task runs on a worker that is there and all of them have their share; the seconds since, and where."""
    fair = len(load.tasks) // len(cluster.members)

    def placed() -> Placement | None:
        found = cluster.members[0].api.placement()
        if not all(found.get(name) in cluster.worker_ids for name in (*load.names, *load.tasks)):
            return None
        fewest, most = spread(found, load.tasks, cluster.worker_ids)
        return found if fewest >= fair - 1 and most <= fair + 2 else None

    placement = wait_for(placed, "every task runs", SETTLED_SECONDS, pause=0.1)
    return time.perf_counter() - began, placement


def _cost(run: Run, cluster: Cluster, what: str) -> list[Figure]:
    run.say("at rest")
    time.sleep(run.scale.settle_seconds)
    cpu = idle_cpu_percent(cluster.pids, run.scale.settle_seconds)
    used = usage(cluster.pids)
    times = sorted(_times_of_status(cluster))
    return [
        Figure("cluster.rss", f"{what}: memory (RSS)", "MB", used.rss_mb),
        Figure("cluster.pss", f"{what}: memory, shared pages once (PSS)", "MB", shared_once_mb(cluster.pids)),
        Figure("cluster.threads", f"{what}: threads", "threads", float(used.threads)),
        Figure("cluster.cpu", f"{what}: CPU at rest", "% of a core", cpu),
        Figure("cluster.status.p50", f"{what}: GET status, p50", "ms", percentile(times, 0.5)),
        Figure("cluster.status.p99", f"{what}: GET status, p99", "ms", percentile(times, 0.99)),
    ]


def _times_of_status(cluster: Cluster) -> list[float]:
    times = []
    for number, member in zip(range(STATUS_REQUESTS), itertools.cycle(cluster.members), strict=False):
        began = time.perf_counter()
        member.api.states(f"many-{number % 100}")
        times.append(1000 * (time.perf_counter() - began))
    return times


def _changes(run: Run, cluster: Cluster, load: _Load, placement: Placement) -> list[Figure]:
    figures: list[Figure] = []

    def change(key: str, title: str, begin: Callable[[], object], target: float | None = None) -> None:
        nonlocal placement
        run.say(title)
        began = time.perf_counter()
        begin()
        seconds, after = _settled(cluster, load, began)
        tasks = float(moved(placement, after, load.tasks))
        figures.append(Figure(f"cluster.{key}.seconds", f"{title} → all RUNNING", "s", seconds, target=target))
        figures.append(Figure(f"cluster.{key}.moved", f"{title}: tasks moved", "tasks", tasks))
        placement = after

    change("join", "a fourth worker is started", cluster.join)
    change("leave", "the fourth worker is stopped", lambda: cluster.leave(cluster.members[-1]))
    change("fail_over", "kill -9 of a worker", lambda: cluster.kill(cluster.members[-1]), FAIL_OVER_TARGET_SECONDS)
    return figures
