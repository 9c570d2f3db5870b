"""Pause and resume asked of a worker that has not read yet what the leader has just written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.runtime.calls import UserCode
from penstock.runtime.distributed import DistributedHerder
from penstock.runtime.logging import Loggers
from penstock.runtime.plugins import Plugins
from penstock.runtime.requests import NotFound, TargetState
from penstock.runtime.services import Services
from penstock.runtime.session_keys import SigningSettings
from penstock.runtime.worker import Worker
from penstock.runtime.worker_config import WorkerConfig
from penstock.storage.config_store import ConfigStore
from penstock.storage.log import Listener, Log, LogRecord
from penstock.storage.memory_log import MemoryLog
from tests.topics.world import World

CONFIG = {"name": "c", "connector.class": "Source"}
STARTED, PAUSED, STOPPED = TargetState.STARTED, TargetState.PAUSED, TargetState.STOPPED


class LateLog(Log):
    """What one worker has read of the records that it shares with others: no more than it was asked to read."""

    def __init__(self, shared: list[LogRecord]) -> None:
        self._shared = shared
        self._read = 0
        self.before_append: Callable[[], None] = lambda: None

    def start(self, listener: Listener) -> int:
        self._listener = listener
        self.read_to_end()
        return self._read

    def read_to_end(self) -> Future[None]:
        news = list(enumerate(self._shared))[self._read :]
        self._read = len(self._shared)
        self._listener(news)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def append(self, records: Sequence[LogRecord]) -> Future[None]:
        self.before_append()
        self._shared.extend(records)
        return self.read_to_end()

    def stop(self) -> None:
        return


class Two:
    """The leader's store, and another worker's herder on the same log; the leader has the connector ``c``."""

    def __init__(self, folder: Path, calls: UserCode) -> None:
        self.world = World(folder)
        self.records: list[LogRecord] = []
        self.leader = ConfigStore(LateLog(self.records))
        self.leader.start()
        self.leader.put_connector("c", CONFIG).result()
        self.log = LateLog(self.records)
        configs = ConfigStore(self.log)
        configs.start()
        worker = WorkerConfig.from_properties({"data.dir": str(folder)})
        self.services = Services(worker, configs, self.world.offsets, self.world.topics, Plugins(), calls, "here")
        self.services.statuses = cast(Any, SimpleNamespace())

    def ask(self, state: TargetState, leads: bool = False) -> None:
        """The other worker's answer to a request; it may have become the leader."""

        async def answer() -> None:
            await asyncio.wrap_future(self._herder(leads).set_target_state("c", state))

        asyncio.run(answer())

    def _herder(self, leads: bool) -> DistributedHerder:
        statuses, nobody = MemoryLog(), cast(Any, None)
        effects = cast(Any, SimpleNamespace(keep=lambda name: None))
        member = cast(Any, SimpleNamespace(is_leader=leads, leader_url="http://leader"))
        return DistributedHerder(
            asyncio.get_running_loop(),
            self.services,
            Worker(self.services),
            Loggers(),
            member,
            effects,
            nobody,
            nobody,
            SigningSettings(),
            self.log.read_to_end,
            lambda: statuses.append([]),
            nobody,
        )

    def state(self) -> TargetState:
        """As any worker sees it that reads all records now."""
        fresh = ConfigStore(LateLog(self.records))
        fresh.start()
        return fresh.snapshot().target_state("c")


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    calls = UserCode()
    two = Two(tmp_path, calls)
    yield two
    two.world.close()
    calls.stop()


def test_a_resume_after_a_stop_elsewhere_counts(two: Two) -> None:
    two.leader.stop_connector("c")
    two.ask(STARTED)
    assert two.state() is STARTED


def test_a_pause_after_a_resume_elsewhere_counts(two: Two) -> None:
    two.ask(PAUSED)
    two.leader.put_target_state("c", STARTED)
    two.ask(PAUSED)
    assert two.state() is PAUSED


def test_a_pause_counts_when_a_resume_elsewhere_is_written_just_before_it(two: Two) -> None:
    two.ask(PAUSED)
    two.log.before_append = lambda: two.leader.put_target_state("c", STARTED).result()
    two.ask(PAUSED)
    assert two.state() is PAUSED


@pytest.mark.parametrize("state", [PAUSED, STARTED])
def test_a_connector_that_was_deleted_elsewhere_is_not_found(two: Two, state: TargetState) -> None:
    two.leader.remove_connector("c")
    before = list(two.records)
    with pytest.raises(NotFound, match="Unknown connector c"):
        two.ask(state)
    assert two.records == before


def test_a_connector_that_was_just_created_elsewhere_can_be_paused(two: Two) -> None:
    two.leader.remove_connector("c")
    two.log.read_to_end()
    two.leader.put_connector("c", CONFIG)
    two.ask(PAUSED)
    assert two.state() is PAUSED


def test_a_pause_that_comes_after_a_deletion_is_refused_and_forgotten(two: Two) -> None:
    two.log.before_append = lambda: two.leader.remove_connector("c").result()
    with pytest.raises(NotFound, match="Unknown connector c"):
        two.ask(PAUSED)
    two.leader.put_connector("c", CONFIG)
    assert two.state() is STARTED


def commits(two: Two) -> int:
    return sum(record.key == b"commit-c" for record in two.records)


def test_a_second_stop_is_written_but_begins_no_other_round_of_the_group(two: Two) -> None:
    two.ask(STOPPED, leads=True)
    assert commits(two) == 1
    two.ask(STOPPED, leads=True)
    assert (two.state(), commits(two)) == (STOPPED, 1)
    assert two.records[-1].key == b"target-state-c"


def test_a_stop_takes_away_tasks_that_a_stopped_connector_still_has(two: Two) -> None:
    two.ask(STOPPED, leads=True)
    two.leader.put_task_configs("c", [{"left": "over"}])
    two.ask(STOPPED, leads=True)
    assert commits(two) == 3
