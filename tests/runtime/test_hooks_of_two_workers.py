"""Hooks of a connector whose worker, the leader and the next leader write at the same time, in thousands of orders.

Each worker reads the shared log when chance lets it, and its writes and calls of hooks come through when chance lets
them: what happens is decided by a seed, and a seed brings it again. ``PENSTOCK_TEST_HISTORIES`` tries more of them.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar, cast

import pytest

from penstock.api import ConfigDef, ConfigKey, PluginError, SourceConnector, SourceTask, Type
from penstock.runtime.calls import UserCode
from penstock.runtime.cleanups import Cleanups, Peers
from penstock.runtime.hooks import ConnectorGone, HookFailed, Hooks
from penstock.runtime.plugins import PluginEntry, PluginKind
from penstock.storage.config_store import ConfigListener, ConfigStore
from penstock.storage.log import Listener, Log, LogRecord
from tests.support.overtaking import is_balanced, is_cleaned_up

NAME = "c"
HISTORIES = int(os.environ.get("PENSTOCK_TEST_HISTORIES", 150))


class Told(SourceConnector):
    """Writes down what has succeeded."""

    version = "1"
    config = ConfigDef(ConfigKey("mark", Type.STRING, ""))
    task = SourceTask
    told: ClassVar[list[str]] = []
    fails: ClassVar[Callable[[], bool]] = staticmethod(lambda: False)

    def on_created(self, config: Mapping[str, str]) -> None:
        self._note(f"created {config['mark']}")

    def on_updated(self, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        self._note(f"updated {old['mark']} {new['mark']}")

    def on_deleted(self, old: Mapping[str, str]) -> None:
        self._note(f"deleted {old['mark']}")

    def _note(self, what: str) -> None:
        if Told.fails():
            raise PluginError("no")
        Told.told.append(what)


class Shared:
    """The one log, what is on its way into it, and all that chance may let happen next."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.records: list[LogRecord] = []
        self.logs: list[WorkersLog] = []
        self.calls: list[CallsInTurn] = []

    def step(self) -> bool:
        """Let something happen; ``False`` when there is nothing that could."""
        ready: list[Callable[[], None]] = []
        for log in self.logs:
            ready += [log.read_one] if log.is_behind else []
            ready += [log.write_one] if log.queued else []
        ready += [calls.run_one for calls in self.calls if calls.queued]
        if ready:
            self.chance.choice(ready)()
        return bool(ready)


class WorkersLog(Log):
    """What one worker has read, and what it is about to write."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._read = 0
        self._listener: Listener | None = None
        self._waiting: list[tuple[int, Future[None]]] = []
        self.queued: deque[tuple[Sequence[LogRecord], Future[None]]] = deque()

    @property
    def is_behind(self) -> bool:
        return self._read < len(self._shared.records)

    def start(self, listener: Listener) -> int:
        self._read = len(self._shared.records)
        if self._read:
            listener(list(enumerate(self._shared.records)))
        self._listener = listener
        self._shared.logs.append(self)
        return self._read

    def append(self, records: Sequence[LogRecord]) -> Future[None]:
        written: Future[None] = Future()
        self.queued.append((records, written))
        return written

    def read_to_end(self) -> Future[None]:
        read: Future[None] = Future()
        self._await(len(self._shared.records), read)
        return read

    def write_one(self) -> None:
        records, written = self.queued.popleft()
        self._shared.records.extend(records)
        self._await(len(self._shared.records), written)

    def read_one(self) -> None:
        position = self._read
        self._read += 1
        assert self._listener is not None
        self._listener([(position, self._shared.records[position])])
        over = [waiting for waiting in self._waiting if waiting[0] <= self._read]
        self._waiting = [waiting for waiting in self._waiting if waiting not in over]
        for _, future in over:
            if not future.done():
                future.set_result(None)

    def stop(self) -> None:
        """The worker is dead: nothing more is read or written."""
        self._shared.logs.remove(self)
        self.queued.clear()

    def _await(self, end: int, future: Future[None]) -> None:
        if self._read >= end:
            future.set_result(None)
        else:
            self._waiting.append((end, future))


class CallsInTurn:
    """Calls of hooks, made when chance lets them; their results come back later."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self.queued: deque[Callable[[], None]] = deque()
        shared.calls.append(self)

    def run(self, what: str, seconds: float | None, function: Callable[[], Any]) -> Future[Any]:
        done: Future[Any] = Future()

        def call() -> None:
            try:
                result, error = function(), None
            except HookFailed as failed:
                result, error = None, failed
            self.queued.append(lambda: self._settle(done, result, error))

        self.queued.append(call)
        return done

    def _settle(self, done: Future[Any], result: Any, error: HookFailed | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)

    def run_one(self) -> None:
        self.queued.popleft()()

    def stop(self) -> None:
        self._shared.calls.remove(self)


class Worker(ConfigListener):
    """One worker: it may lead, and may have the connector."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.name = name
        self.log = WorkersLog(cluster.shared)
        self.calls = CallsInTurn(cluster.shared)
        self.configs = ConfigStore(self.log)
        self.configs.listen(self)
        self.configs.start()
        calls = cast(UserCode, self.calls)
        self.hooks = Hooks(self.configs, calls, _plugin, _resolved, 5.0, name)
        peers = Peers(name, cluster.has, lambda: cluster.leader == name, 5.0)
        self.cleanups = Cleanups(self.configs, self.hooks, self._read_to_end, lambda connector: self.news.set(), peers)
        self.news = asyncio.Event()
        self._cluster = cluster
        self._running: asyncio.Task[None] | None = None

    def connector_updated(self, connector: str) -> None:
        self.news.set()

    def connector_removed(self, connector: str) -> None:
        self._look()

    def lifecycle_changed(self, connector: str) -> None:
        self._look()

    def has_connector(self) -> None:
        """Start the connector whenever it is there, as its keeper does."""
        self._running = asyncio.get_running_loop().create_task(self._keep())

    async def die(self) -> None:
        """All at once, whatever is in progress."""
        self.log.stop()
        self.calls.stop()
        self.cleanups.stop()
        if self._running is not None:
            self._running.cancel()
        await asyncio.sleep(0)

    def _look(self) -> None:
        self.news.set()
        asyncio.get_running_loop().call_soon(self.cleanups.look)

    async def _read_to_end(self, name: str) -> None:
        await asyncio.wrap_future(self.log.read_to_end())

    async def _keep(self) -> None:
        failed: Mapping[str, str | None] | None = None
        while True:
            self.news.clear()
            config = self.configs.snapshot().connector_config(NAME)
            try:
                if config is not None and config != failed and not await self.hooks.before_start(NAME, config):
                    self.cleanups.look()
            except ConnectorGone:
                continue
            except HookFailed:
                failed = config
                continue
            failed = failed if config == failed else None
            await self.news.wait()


class Cluster:
    """Workers on one log. The first leads."""

    def __init__(self, seed: int, workers: Sequence[str]) -> None:
        self.shared = Shared(seed)
        self.leader = workers[0]
        self.workers = {name: Worker(self, name) for name in workers}

    def has(self, worker: str) -> bool:
        return worker in self.workers

    def replace_leader(self, name: str) -> None:
        """Another worker leads; the former one hears of it."""
        former, self.leader = self.workers[self.leader], name
        former.cleanups.rest()
        self.workers[name].cleanups.look()

    async def restart(self, name: str) -> None:
        """A worker dies, and another process takes its place and its connector."""
        worker = self.workers.pop(name)
        await worker.die()
        self.workers[name] = Worker(self, name)
        await self.done(self.workers[name].configs.disown_calls(name))
        self.workers[name].has_connector()

    async def some_steps(self) -> None:
        for _ in range(self.shared.chance.randrange(30)):
            self.shared.step()
            await turns()

    async def done(self, written: Future[None]) -> None:
        """What a request does: it waits for its write."""
        while not written.done():
            self.shared.step()
            await turns()
        await turns()

    async def come_to_rest(self) -> None:
        """Until nothing happens any more, though the leader looks after what is left every few seconds."""
        idle = 0
        while idle < 5:
            idle = 0 if self.shared.step() else idle + 1
            await turns()
            if idle:
                self.workers[self.leader].cleanups.look()

    async def stop(self) -> None:
        for worker in self.workers.values():
            await worker.die()


async def turns() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


def _plugin(config: Mapping[str, str | None]) -> PluginEntry:
    name = str(config["connector.class"])
    return PluginEntry(PluginKind.SOURCE, name, "1", f"plugins:{name}", Told)


def _resolved(config: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in config.items() if value is not None}


def _config(chance: random.Random, number: int) -> dict[str, str]:
    return {"connector.class": chance.choice(["Source", "Source", "Other"]), "mark": f"m{number}"}


async def one_history(seed: int, between: Callable[[Cluster], Any], keeper: str = "keeper") -> Cluster:
    """A connector is created, changed and deleted, twice or thrice, while others do what they do."""
    cluster = Cluster(seed, ["leader", "keeper", "next"])
    chance = cluster.shared.chance
    cluster.workers[keeper].has_connector()
    marks = iter(range(1000))
    for _ in range(chance.choice([1, 2, 3])):
        for number in range(chance.choice([1, 1, 2, 3])):
            leader = cluster.workers[cluster.leader]
            await cluster.done(leader.log.read_to_end())
            await cluster.done(leader.configs.put_connector(NAME, _config(chance, next(marks))))
            await cluster.some_steps()
            if number or chance.random() < 0.5:
                await between(cluster)
        leader = cluster.workers[cluster.leader]
        await cluster.done(leader.log.read_to_end())
        await cluster.done(leader.hooks.remove(NAME))
        leader.cleanups.look()
        await cluster.some_steps()
        await between(cluster)
    await cluster.come_to_rest()
    return cluster


def histories(between: Callable[[Cluster], Any], keeper: str = "keeper") -> Iterator[tuple[int, Cluster, list[str]]]:
    for seed in range(HISTORIES):
        Told.told.clear()
        loop = asyncio.new_event_loop()
        cluster = loop.run_until_complete(one_history(seed, between, keeper))
        yield seed, cluster, list(Told.told)
        loop.run_until_complete(cluster.stop())
        loop.close()


def nothing_is_left(cluster: Cluster) -> bool:
    """Neither for who has read all the time nor for who begins now."""
    fresh = ConfigStore(WorkersLog(cluster.shared))
    fresh.start()
    stores = [fresh, *(worker.configs for worker in cluster.workers.values())]
    return not any(store.snapshot().cleanups or store.snapshot().spent for store in stores)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Who waits for somebody else looks again at once; a clean-up is tried again at once."""
    monkeypatch.setattr("penstock.runtime.cleanups.LOOK_SECONDS", 0)
    monkeypatch.setattr("penstock.runtime.cleanups.FIRST_RETRY_SECONDS", 0)
    Told.told.clear()
    yield
    Told.fails = staticmethod(lambda: False)


async def nothing(cluster: Cluster) -> None:
    """The workers are what they were."""


@pytest.mark.parametrize("keeper", ["keeper", "leader"])
def test_hooks_balance_whoever_has_read_what(keeper: str) -> None:
    for seed, cluster, told in histories(nothing, keeper):
        assert is_balanced(told), (seed, told)
        assert nothing_is_left(cluster), seed


def test_hooks_balance_when_some_of_them_fail() -> None:
    chance = random.Random(1)
    Told.fails = staticmethod(lambda: chance.random() < 0.3)
    for seed, cluster, told in histories(nothing):
        assert is_balanced(told), (seed, told)
        assert nothing_is_left(cluster), seed


def test_hooks_balance_when_the_leader_changes_and_the_former_one_lives() -> None:
    async def between(cluster: Cluster) -> None:
        cluster.replace_leader(cluster.shared.chance.choice(["leader", "next", "keeper"]))
        await cluster.some_steps()

    for seed, cluster, told in histories(between):
        assert is_balanced(told), (seed, told)
        assert nothing_is_left(cluster), seed


def test_nothing_stays_behind_when_the_worker_of_the_connector_dies_at_any_moment() -> None:
    async def between(cluster: Cluster) -> None:
        await cluster.restart("keeper")

    balanced = 0
    for seed, cluster, told in histories(between):
        assert is_cleaned_up(told), (seed, told)
        assert nothing_is_left(cluster), seed
        balanced += is_balanced(told)
    assert balanced > HISTORIES / 2, "most deaths do not meet a call"
