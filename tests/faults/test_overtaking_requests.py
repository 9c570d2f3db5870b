"""A request that comes while the worker still does what an earlier one has asked for: nothing is lost or left over.

``PENSTOCK_TEST_ROUNDS`` tries each sequence more often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.hooked import HOOK_SETTINGS, Hooked
from tests.support.overtaking import (
    AMID_TASKS,
    TO_DELETION,
    Overtake,
    change_with_a_slow_end,
    pauses,
    rounds,
    summary,
    unbalanced,
)
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ROUNDS = rounds(30)


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    with PenstockProcess(tmp_path_factory.mktemp("worker"), HOOK_SETTINGS) as process:
        yield process


@pytest.mark.timeout(60 + 10 * ROUNDS)
@pytest.mark.parametrize("overtake", TO_DELETION, ids=lambda overtake: overtake.__name__)
def test_hooks_fit_together_however_early_a_connector_is_deleted(
    worker: PenstockProcess, tmp_path: Path, overtake: Overtake
) -> None:
    sources = [Hooked(worker, tmp_path) for _ in range(ROUNDS)]
    for source, pause in zip(sources, pauses(ROUNDS, 1), strict=True):
        overtake(source, pause)
    wrong = unbalanced(sources)
    print(f"{len(wrong)} of {ROUNDS} wrong: {summary(sources)}")
    assert not wrong, f"{len(wrong)} of {ROUNDS}: {wrong}"


@pytest.mark.timeout(60 + 10 * ROUNDS)
@pytest.mark.parametrize("overtake", AMID_TASKS, ids=lambda overtake: overtake.__name__)
def test_no_task_outlives_what_it_was_made_for(
    worker: PenstockProcess, tmp_path: Path, overtake: Callable[[Hooked, int], str | None]
) -> None:
    found = [overtake(Hooked(worker, tmp_path, "PlainSource"), number) for number in range(ROUNDS)]
    wrong = [fault for fault in found if fault]
    assert not wrong, f"{len(wrong)} of {ROUNDS}: {wrong}"


@pytest.fixture
def source(worker: PenstockProcess, tmp_path: Path) -> Iterator[Hooked]:
    """A connector without hooks, so that its old task ends when its new ones are made."""
    made = Hooked(worker, tmp_path, "PlainSource")
    yield made
    made.trouble.unlink(missing_ok=True)
    made.request("DELETE")


def test_a_stop_while_an_old_task_ends_leaves_no_task_and_offsets_that_can_be_reset(source: Hooked) -> None:
    change_with_a_slow_end(source)
    source.ask("stop")
    source.heal()
    source.wait("STOPPED", tasks=0)
    assert source.tasks() == []
    answer = source.request("DELETE", "/offsets")
    assert answer.status_code == 200, answer.text
    source.ask("resume")
    source.wait("RUNNING")
    assert source.tasks()[0]["config"]["mark"] == "two"


def test_a_pause_while_an_old_task_ends_leaves_it_paused(source: Hooked) -> None:
    change_with_a_slow_end(source)
    source.ask("pause")
    source.heal()
    source.wait("PAUSED", tasks=1)
    source.ask("resume")
    source.wait("RUNNING")
    assert source.tasks()[0]["config"]["mark"] == "two"


def test_another_change_while_an_old_task_ends_is_what_runs_in_the_end(source: Hooked) -> None:
    change_with_a_slow_end(source)
    source.put(mark="three")
    source.heal()
    wait_until(lambda: source.tasks()[0]["config"]["mark"] == "three", "the newest configuration has tasks")
    source.wait("RUNNING")


@pytest.mark.parametrize("state", ["STOPPED", "PAUSED"])
def test_a_connector_created_again_while_an_old_task_ends_gets_no_task_of_it(source: Hooked, state: str) -> None:
    change_with_a_slow_end(source)
    source.delete()
    source.create({"mark": "new", "topic": "new"}, initial_state=state)
    source.heal()
    source.wait(state, tasks=0)
    assert source.tasks() == []
    source.ask("resume")
    source.wait("RUNNING")
    assert [task["config"]["mark"] for task in source.tasks()] == ["new"]


@pytest.mark.parametrize("kind", ["ProbeSource", "OtherSource"])
def test_an_update_that_is_stopped_while_an_old_task_ends_is_told_at_the_resume(
    worker: PenstockProcess, tmp_path: Path, kind: str
) -> None:
    source = Hooked(worker, tmp_path)
    change_with_a_slow_end(source, connector_class=kind)
    source.ask("stop")
    source.heal()
    source.wait("STOPPED", tasks=0)
    assert source.told() == ["created one"]
    source.ask("resume")
    source.wait("RUNNING")
    source.delete()
    source.wait_cleaned_up()
    assert source.told()[-1] == "deleted two"
    assert len(source.told()) == (3 if kind == "ProbeSource" else 4)


def test_an_update_that_returns_after_the_deletion_is_the_one_that_is_deleted(
    worker: PenstockProcess, tmp_path: Path
) -> None:
    source = Hooked(worker, tmp_path).run(hang_until_healed="on_updated")
    source.break_down()
    source.put(mark="two")
    source.wait_told("created one", "updated one two")
    source.delete()
    (cleanup,) = source.cleanups()
    assert cleanup["config"]["mark"] == "one"
    source.heal()
    source.wait_cleaned_up()
    assert source.told() == ["created one", "updated one two", "deleted two"]


def test_an_update_that_fails_after_the_deletion_leaves_the_old_one_to_be_deleted(
    worker: PenstockProcess, tmp_path: Path
) -> None:
    source = Hooked(worker, tmp_path).run(hang_until_healed="on_updated", fail="on_updated")
    source.break_down()
    source.put(mark="two")
    source.wait_told("created one", "updated one two")
    source.delete()
    source.heal()
    source.wait_cleaned_up()
    assert source.told() == ["created one", "updated one two", "deleted one"]
