"""Restarts that somebody waits for: who hears of which attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from penstock.runtime.pending_restarts import PendingRestarts
from penstock.runtime.requests import RequestError


def on_loop(work: Callable[[PendingRestarts], Awaitable[None]]) -> None:
    async def whole() -> None:
        await asyncio.wait_for(work(PendingRestarts("c")), 5)

    asyncio.run(whole())


async def others_had_a_turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_was_asked_for_is_taken_once() -> None:
    async def work(pending: PendingRestarts) -> None:
        assert (pending.of_instance, pending.take_instance(), pending.take_tasks()) == (False, False, [])
        pending.ask(True, [2, 0])
        pending.ask(False, [1, 2])
        assert pending.of_instance
        assert (pending.take_instance(), pending.take_tasks()) == (True, [0, 1, 2])
        assert (pending.of_instance, pending.take_instance(), pending.take_tasks()) == (False, False, [])
        pending.release()
        await others_had_a_turn()

    on_loop(work)


def test_whoever_asked_hears_when_all_of_it_was_tried() -> None:
    async def work(pending: PendingRestarts) -> None:
        both, task = pending.ask(True, [0]), pending.ask(False, [0])
        pending.take_tasks()
        pending.release()
        await task
        await others_had_a_turn()
        assert not both.done(), "the instance is still to come"
        pending.take_instance()
        pending.release()
        await both

    on_loop(work)


def test_asking_for_nothing_is_over_at_once() -> None:
    async def work(pending: PendingRestarts) -> None:
        await pending.ask(False, [])

    on_loop(work)


def test_what_is_asked_for_meanwhile_waits_for_the_next_attempt() -> None:
    async def work(pending: PendingRestarts) -> None:
        first = pending.ask(True, [])
        pending.take_instance()
        second = pending.ask(True, [])
        pending.release()
        await first
        await others_had_a_turn()
        assert not second.done()
        assert pending.take_instance()
        pending.release()
        await second

    on_loop(work)


def test_a_failure_is_told_to_those_who_wait_for_this_attempt() -> None:
    async def work(pending: PendingRestarts) -> None:
        failing, later = pending.ask(True, [0]), pending.ask(False, [1])
        pending.take_instance()
        pending.fail(ValueError("no such file"))
        pending.release()
        pending.take_tasks()
        pending.release()
        with pytest.raises(RequestError, match="Failed to start connector: c: no such file"):
            await failing
        await later

    on_loop(work)


def test_a_failure_is_told_when_the_rest_was_tried_too() -> None:
    async def work(pending: PendingRestarts) -> None:
        both = pending.ask(True, [0])
        pending.take_instance()
        pending.fail(ValueError("no such file"))
        pending.release()
        await others_had_a_turn()
        assert not both.done(), "the task is still to come"
        pending.take_tasks()
        pending.release()
        with pytest.raises(RequestError, match="no such file"):
            await both

    on_loop(work)
