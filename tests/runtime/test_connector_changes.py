"""Task configs are written for the connector they were made for, as it is at the moment of writing, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from penstock.runtime.calls import UserCode
from penstock.runtime.connector_changes import ConnectorChanges
from penstock.runtime.forwarding import CONFIG_POSITION, config_position
from penstock.runtime.offset_changes import OffsetChanges
from penstock.runtime.plugins import Plugins
from penstock.runtime.requests import BadRequest, Conflict, NotFound, RequestError, TargetState
from penstock.runtime.services import Services
from penstock.runtime.worker import Worker
from penstock.runtime.worker_config import WorkerConfig
from penstock.storage.config_store import ConfigStore
from penstock.storage.memory_log import MemoryLog
from tests.topics.world import World

CONFIG = {"connector.class": "Source", "mark": "one"}
TASKS = [{"task": "0"}]


class Changing(World):
    """Changes to connector ``c``, which runs."""

    def __init__(self, folder: Path, calls: UserCode) -> None:
        super().__init__(folder)
        self.configs = ConfigStore(MemoryLog())
        self.configs.start()
        worker = WorkerConfig.from_properties({"data.dir": str(folder)})
        self.services = Services(worker, self.configs, self.offsets, self.topics, Plugins(), calls, "here")
        self.worker = Worker(self.services)
        self.changes = ConnectorChanges(self.services, self.worker, OffsetChanges(self.services))
        self.configs.put_connector("c", CONFIG)

    def known(self) -> int:
        return self.configs.snapshot().position

    def tasks(self) -> list[object]:
        return list(self.configs.snapshot().task_configs("c"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Changing]:
    calls = UserCode()
    world = Changing(tmp_path, calls)
    yield world
    world.close()
    calls.stop()


def delete(configs: ConfigStore) -> None:
    configs.remove_connector("c")


def create_again(configs: ConfigStore, state: TargetState | None = None) -> None:
    configs.remove_connector("c")
    configs.put_connector("c", CONFIG, state)


Change = Callable[[ConfigStore], object]

OVERTAKING = [
    pytest.param(delete, NotFound, id="deleted"),
    pytest.param(create_again, Conflict, id="created again"),
    pytest.param(lambda configs: create_again(configs, TargetState.PAUSED), Conflict, id="created again paused"),
    pytest.param(lambda configs: create_again(configs, TargetState.STOPPED), Conflict, id="created again stopped"),
    pytest.param(lambda configs: configs.put_connector("c", {**CONFIG, "mark": "two"}), Conflict, id="changed"),
    pytest.param(lambda configs: configs.stop_connector("c"), BadRequest, id="stopped"),
]


def test_task_configs_are_written(world: Changing) -> None:
    asyncio.run(world.changes.put_tasks("c", TASKS, world.known()))
    assert world.tasks() == TASKS


@pytest.mark.parametrize(("overtake", "refused"), OVERTAKING)
def test_task_configs_that_were_overtaken_are_refused(
    world: Changing, overtake: Change, refused: type[RequestError]
) -> None:
    known = world.known()
    overtake(world.configs)
    with pytest.raises(refused):
        asyncio.run(world.changes.put_tasks("c", TASKS, known))
    assert world.tasks() == []


@pytest.mark.parametrize(("overtake", "refused"), OVERTAKING)
def test_task_configs_wait_for_a_change_that_is_being_made(
    world: Changing, overtake: Change, refused: type[RequestError]
) -> None:
    async def work() -> None:
        known = world.known()
        async with world.changes.lock("c"):
            putting = asyncio.ensure_future(world.changes.put_tasks("c", TASKS, known))
            for _ in range(5):
                await asyncio.sleep(0)
            overtake(world.configs)
        with pytest.raises(refused):
            await putting

    asyncio.run(work())
    assert world.tasks() == []


def test_a_stopped_connector_may_be_left_without_tasks(world: Changing) -> None:
    world.configs.put_task_configs("c", TASKS)
    world.configs.put_target_state("c", TargetState.STOPPED)
    asyncio.run(world.changes.put_tasks("c", [], world.known()))
    assert world.tasks() == []


@pytest.mark.parametrize(("headers", "position"), [({}, None), ({CONFIG_POSITION: "17"}, 17)])
def test_a_worker_may_tell_what_it_knew_when_it_made_task_configs(
    headers: dict[str, str], position: int | None
) -> None:
    assert config_position(headers) == position


def test_what_a_worker_knew_is_a_number() -> None:
    with pytest.raises(BadRequest, match="x-penstock-config-position must be a number, not 'seventeen'"):
        config_position({CONFIG_POSITION: "seventeen"})


class Kept:
    """Stands in for a keeper."""

    def __init__(self, name: str, services: Services) -> None:
        self.asked: list[object] = []

    def restart(self, connector: bool, tasks: list[int]) -> Future[None]:
        self.asked.append((connector, tasks))
        return Future()


def test_a_restart_right_after_a_creation_is_not_lost(world: Changing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.worker.ConnectorKeeper", Kept)
    world.worker.restart("c", True, [0])
    assert world.worker._keepers["c"].asked == [(True, [0])]


def test_a_restart_of_what_does_not_run_here_is_over_at_once(world: Changing) -> None:
    async def work() -> None:
        await asyncio.wait_for(world.worker.restart("nowhere", True, [0]), 5)

    asyncio.run(work())
