"""When automatic restarts are planned and when they are not, without a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import pytest

from penstock.runtime.auto_restart import AutoRestarts
from penstock.runtime.ownership import Ownership
from penstock.runtime.requests import State, TargetState
from penstock.runtime.services import Services

T = TypeVar("T")
ENABLED = {"errors.restart.enable": "true", "errors.restart.backoff.ms": "0", "errors.restart.attempts": "3"}


class World:
    """The part of a worker that restarts look at."""

    def __init__(self, config: Mapping[str, str | None]) -> None:
        self.config: Mapping[str, str | None] | None = config
        self.target = TargetState.STARTED
        self.ownership = Ownership()
        self.configs = self
        self.asked: list[tuple[str, bool, Sequence[int]]] = []
        self.thinking = asyncio.Event()
        self.thinking.set()
        self.restarts = AutoRestarts(cast(Services, self), self.restart)

    def snapshot(self) -> World:
        return self

    def connector_config(self, name: str) -> Mapping[str, str | None] | None:
        return self.config

    def target_state(self, name: str) -> TargetState:
        return self.target

    def task_configs(self, name: str) -> list[dict[str, str]]:
        return [{}, {}]

    def resolve(self, config: Mapping[str, str | None]) -> dict[str, Any]:
        return dict(config)

    async def user_code(self, what: str, function: Callable[[], T]) -> T:
        await self.thinking.wait()
        return function()

    def restart(self, name: str, connector: bool, tasks: Sequence[int]) -> asyncio.Future[None]:
        self.asked.append((name, connector, tuple(tasks)))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def say(self, *states: State, task: int | None = 1) -> None:
        for state in states:
            self.restarts.observe("orders", task, state)


def run(config: Mapping[str, str | None], story: Callable[[World], Awaitable[None]]) -> World:
    async def told() -> World:
        world = World(config)
        await story(world)
        return world

    return asyncio.run(told())


async def settled() -> None:
    """Let everything happen that is due."""
    for _ in range(20):
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)


def test_what_fails_is_restarted_and_counted() -> None:
    async def story(world: World) -> None:
        for _ in range(2):
            world.say(State.FAILED)
            await settled()
            world.say(State.RESTARTING, State.RUNNING)
        world.say(State.FAILED, task=None)
        await settled()

    world = run(ENABLED, story)
    assert world.asked == [("orders", False, (1,)), ("orders", False, (1,)), ("orders", True, ())]
    assert (world.restarts.of("orders", 1).total, world.restarts.of("orders").total) == (2, 1)


def test_attempts_end_and_a_restart_by_a_user_begins_anew() -> None:
    async def story(world: World) -> None:
        for _ in range(5):
            world.say(State.FAILED)
            await settled()
            if world.restarts.of("orders", 1).given_up:
                break
            world.say(State.RESTARTING)
        world.say(State.RESTARTING, State.FAILED)
        await settled()

    world = run(ENABLED, story)
    assert len(world.asked) == 4
    assert world.restarts.of("orders", 1).made == 1


@pytest.mark.parametrize("state", [State.RUNNING, State.RESTARTING, State.STOPPED, State.UNASSIGNED, State.PAUSED])
def test_a_state_that_comes_while_it_is_thought_about_ends_it(state: State) -> None:
    async def story(world: World) -> None:
        world.thinking.clear()
        world.say(State.FAILED)
        await settled()
        world.say(state)
        world.thinking.set()
        await settled()

    assert run(ENABLED, story).asked == []


@pytest.mark.parametrize("state", [State.RUNNING, State.RESTARTING, State.STOPPED, State.UNASSIGNED, State.PAUSED])
def test_a_state_that_comes_before_the_restart_ends_it(state: State) -> None:
    async def story(world: World) -> None:
        world.say(State.FAILED)
        await settled()
        assert world.restarts.of("orders", 1).next_try is not None
        world.say(state)
        assert world.restarts.of("orders", 1).next_try is None

    assert run({**ENABLED, "errors.restart.backoff.ms": "60000"}, story).asked == []


def test_running_long_enough_and_another_configuration_make_good() -> None:
    async def story(world: World) -> None:
        world.say(State.FAILED)
        await settled()
        world.say(State.RESTARTING, State.RUNNING, State.FAILED)
        await settled()
        made.append(world.restarts.of("orders", 1).made)
        world.config = {**ENABLED, "errors.restart.window.ms": "0"}
        world.say(State.RESTARTING, State.RUNNING, State.FAILED)
        await settled()
        made.append(world.restarts.of("orders", 1).made)
        world.say(State.RESTARTING, State.RUNNING, State.FAILED)
        await settled()
        made.append(world.restarts.of("orders", 1).made)

    made: list[int] = []
    run(ENABLED, story)
    assert made == [2, 1, 1]


@pytest.mark.parametrize(
    "config", [{}, {"errors.restart.enable": "false"}, {"errors.restart.enable": "${file:gone}"}, {"name": "orders"}]
)
def test_it_is_off_unless_it_is_switched_on(config: dict[str, str | None]) -> None:
    async def story(world: World) -> None:
        world.say(State.FAILED)
        await settled()

    assert run(config, story).asked == []


def test_what_is_stopped_or_gone_is_left_alone() -> None:
    async def story(world: World) -> None:
        world.thinking.clear()
        world.say(State.FAILED)
        world.say(State.FAILED, task=None)
        world.target = TargetState.STOPPED
        world.thinking.set()
        await settled()

    assert run(ENABLED, story).asked == []
