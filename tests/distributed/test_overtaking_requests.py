"""A request to a cluster that still does what an earlier one has asked for: nothing is lost or left over.

``PENSTOCK_TEST_ROUNDS`` tries each sequence more often.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.hooked import Hooked
from tests.support.overtaking import (
    AMID_TASKS,
    LATE_SECONDS,
    TO_DELETION,
    Overtake,
    change_with_a_slow_end,
    pauses,
    rounds,
    summary,
    unbalanced,
)
from tests.support.waiting import wait_until

ROUNDS = rounds(6)
DELETIONS = rounds(12)
STEP_MS = 4
"""What is written goes through Kafka and comes to another worker: hooks are called some 10 to 40 ms after a request."""

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600 + 30 * DELETIONS)]


@pytest.mark.parametrize("overtake", TO_DELETION, ids=lambda overtake: overtake.__name__)
def test_hooks_fit_together_however_early_a_connector_is_deleted(
    cluster: Cluster, tmp_path: Path, overtake: Overtake
) -> None:
    sources = [Hooked(cluster.leader(), tmp_path) for _ in range(DELETIONS)]
    for source, pause in zip(sources, pauses(DELETIONS, STEP_MS), strict=True):
        overtake(source, pause)
    wrong = unbalanced(sources)
    print(f"{len(wrong)} of {DELETIONS} wrong: {summary(sources)}")
    assert not wrong, f"{len(wrong)} of {DELETIONS}: {wrong}"


@pytest.mark.parametrize("overtake", AMID_TASKS, ids=lambda overtake: overtake.__name__)
def test_no_task_outlives_what_it_was_made_for(
    cluster: Cluster, tmp_path: Path, overtake: Callable[[Hooked, int], str | None]
) -> None:
    found = [overtake(Hooked(cluster.leader(), tmp_path, "PlainSource"), number) for number in range(ROUNDS)]
    wrong = [fault for fault in found if fault]
    assert not wrong, f"{len(wrong)} of {ROUNDS}: {wrong}"


@pytest.mark.parametrize("state", ["STOPPED", "PAUSED"])
def test_a_connector_created_again_while_an_old_task_ends_gets_no_task_of_it(
    cluster: Cluster, tmp_path: Path, state: str
) -> None:
    source = Hooked(cluster.follower(), tmp_path, "PlainSource")
    change_with_a_slow_end(source)
    source.delete()
    source.create({"mark": "new"}, initial_state=state)
    source.heal()
    source.wait(state, tasks=0)
    assert source.tasks() == []
    source.ask("resume")
    source.wait("RUNNING")
    assert [task["config"]["mark"] for task in source.tasks()] == ["new"]
    source.delete()


def test_a_connector_created_again_keeps_its_status_when_the_last_task_of_the_old_one_ends(
    cluster: Cluster, tmp_path: Path
) -> None:
    source = apart(cluster, tmp_path)
    source.put(mark="two")
    wait_until(lambda: source.count("task.stop"), "the old task is to end")
    source.delete()
    source.create({"mark": "new"})
    source.wait("RUNNING", tasks=None)
    source.heal()
    source.wait("RUNNING")
    assert [task["config"]["mark"] for task in source.tasks()] == ["new"]
    source.delete()


def apart(cluster: Cluster, folder: Path) -> Hooked:
    """A connector that runs on another worker than its task, which takes long to end."""
    made: list[Hooked] = []

    def look() -> Hooked | None:
        source = Hooked(cluster.leader(), folder, "PlainSource")
        source.break_down()
        source.run(hang_until_healed="task.stop")
        made.append(source)
        return source if len(set(cluster.owners(source.name).values())) == 2 else None

    found = wait_until(look, "a connector is apart from its task")
    assert found is not None
    for other in made[:-1]:
        other.heal()
        other.delete()
    return found


QUIET = "Not everything that moves to other workers has stopped in time"


def test_a_hook_that_hangs_for_a_deleted_connector_holds_up_no_round_of_the_group(
    cluster: Cluster, tmp_path: Path
) -> None:
    before = sum(worker.output.read_text(errors="replace").count(QUIET) for worker in cluster.workers)
    source, other = Hooked(cluster.leader(), tmp_path), Hooked(cluster.leader(), tmp_path)
    source.break_down()
    source.create({"hang.until.healed": "on_created"})
    source.wait_told("created one")
    source.delete()
    other.run()
    (cleanup,) = source.cleanups()
    source.create({"mark": "two"})
    source.wait("UNASSIGNED", tasks=None)
    assert source.told() == ["created one"]
    source.heal()
    source.wait("RUNNING")
    assert source.told() == ["created one", "deleted one", "created two"]
    for one in (source, other):
        one.delete()
        one.wait_cleaned_up()
    assert sum(worker.output.read_text(errors="replace").count(QUIET) for worker in cluster.workers) == before
    assert source.told()[-1] == "deleted two"
    assert cleanup["config"]["mark"] == "one"


def test_a_restart_right_after_a_connector_was_created_again_is_done(cluster: Cluster, tmp_path: Path) -> None:
    source = Hooked(cluster.leader(), tmp_path).run()
    for number in range(ROUNDS):
        source.delete(LATE_SECONDS)
        source.create({"mark": f"again {number}"})
        wait_until(lambda: source.request("POST", "/restart?includeTasks=true").status_code == 202, "it is accepted")
        source.wait("RUNNING")
    source.delete(LATE_SECONDS)
    for worker in cluster.workers:
        assert "KeyError" not in worker.output.read_text(errors="replace")
