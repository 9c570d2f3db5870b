"""Many quick calls share a thread; slow ones get out of the way."""

from __future__ import annotations

import asyncio
import threading

import pytest

from penstock.runtime.calls import CallTimedOut, UserCode
from penstock.runtime.planning import Planner

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_each_request_gets_its_own_answer() -> None:
    planner = Planner(UserCode(), 10)
    answers = await asyncio.gather(*(planner.run(f"call {n}", lambda n=n: n * n) for n in range(300)))
    assert answers == [n * n for n in range(300)]


async def test_quick_calls_share_a_thread() -> None:
    planner = Planner(UserCode(), 10)
    threads = await asyncio.gather(*(planner.run("ident", threading.get_ident) for _ in range(100)))
    assert len(set(threads)) == 1


async def test_failure_reaches_only_its_own_caller() -> None:
    planner = Planner(UserCode(), 10)
    good, bad = planner.run("good", lambda: "fine"), planner.run("bad", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        await bad
    assert await good == "fine"


async def test_calls_behind_a_slow_one_do_not_wait_for_it() -> None:
    planner, release = Planner(UserCode(), 60), threading.Event()
    slow = planner.run("slow", release.wait)
    quick = [planner.run("quick", lambda: "done") for _ in range(10)]
    assert await asyncio.wait_for(asyncio.gather(*quick), 30) == ["done"] * 10
    assert not slow.done()
    release.set()
    assert await asyncio.wait_for(slow, 30)


async def test_hanging_calls_fail_at_the_limit() -> None:
    planner, release = Planner(UserCode(), 0.1), threading.Event()
    hanging = [planner.run(f"task-{n}: plan()", release.wait) for n in range(3)]
    for number, call in enumerate(hanging):
        with pytest.raises(CallTimedOut, match=rf"task-{number}: plan\(\) did not return within 0\.1 s"):
            await asyncio.wait_for(call, 30)
    release.set()
    assert await asyncio.wait_for(planner.run("after", lambda: "still there"), 30) == "still there"


async def test_user_code_that_exits_fails_and_ends_nothing_of_ours() -> None:
    planner = Planner(UserCode(), 10)

    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match=r"orders-0: plan\(\) raised SystemExit"):
        await planner.run("orders-0: plan()", leave)
    assert await planner.run("after", lambda: "still there") == "still there"
