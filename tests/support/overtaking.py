"""Requests that overtake what an earlier one has set going, in quick sequences, and what must hold afterwards."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence

from .hooked import Hooked
from .waiting import wait_until

PAUSES = 12
LATE_SECONDS = 30.0

Overtake = Callable[[Hooked, float], None]
"""Makes the requests of one round, with so many seconds between the two that matter."""


def resume_and_delete(source: Hooked, pause: float) -> None:
    source.create(initial_state="STOPPED")
    source.wait("STOPPED", tasks=0)
    source.ask("resume")
    time.sleep(pause)
    source.delete(LATE_SECONDS)


def create_and_delete(source: Hooked, pause: float) -> None:
    source.create()
    time.sleep(pause)
    source.delete(LATE_SECONDS)


def update_and_delete(source: Hooked, pause: float) -> None:
    source.create()
    source.wait("RUNNING", tasks=None)
    source.put(mark="two")
    time.sleep(pause)
    source.delete(LATE_SECONDS)


def delete_while_another_class_takes_over(source: Hooked, pause: float) -> None:
    source.create()
    source.wait("RUNNING", tasks=None)
    source.put(connector_class="OtherSource", mark="two")
    time.sleep(pause)
    source.delete(LATE_SECONDS)


TO_DELETION: Sequence[Overtake] = (
    resume_and_delete,
    create_and_delete,
    update_and_delete,
    delete_while_another_class_takes_over,
)
"""Sequences that end with a deletion."""


def rounds(usual: int) -> int:
    """How often each sequence is tried, a little faster or slower each time."""
    return int(os.environ.get("PENSTOCK_TEST_ROUNDS", usual))


def pauses(rounds: int, step_ms: float) -> list[float]:
    """A pause for each round, in seconds: none, a step, two steps and so on, and again from the beginning."""
    return [number % PAUSES * step_ms / 1000 for number in range(rounds)]


def unbalanced(sources: Sequence[Hooked]) -> list[str]:
    """The deleted connectors whose hooks do not fit together, once nothing of them is left to be done."""
    for source in sources:
        wait_until(lambda: source.request("GET", "/status").status_code == 404, f"{source.name} is over")  # noqa: B023
        source.wait_cleaned_up()
    with contextlib.suppress(AssertionError):
        wait_until(lambda: all(is_balanced(source.told()) for source in sources), "nothing comes late", LATE_SECONDS)
    return [f"{source.name}: {source.told()}" for source in sources if not is_balanced(source.told())]


def summary(sources: Sequence[Hooked]) -> str:
    """How often which hooks were called, for who wants to know how far deletions overtook them."""
    calls = Counter(" ".join(call.split()[0] for call in source.told()) or "nothing" for source in sources)
    return ", ".join(f"{number} x {told}" for told, number in calls.most_common())


def is_balanced(told: Sequence[str]) -> bool:
    """Whether each configuration that became active was updated or deleted, and no other."""
    active: str | None = None
    for call in told:
        hook, *marks = call.split()
        old = None if hook == "created" else marks[0]
        if active != old:
            return False
        active = None if hook == "deleted" else marks[-1]
    return active is None


def is_cleaned_up(told: Sequence[str]) -> bool:
    """Whether what was made last was deleted afterwards. Where a worker dies in between, nobody can promise more."""
    made = [place for place, call in enumerate(told) if not call.startswith("deleted")]
    return not made or f"deleted {told[made[-1]].split()[-1]}" in told[made[-1] + 1 :]


def stop_while_tasks_end(source: Hooked, number: int) -> str | None:
    change_with_a_slow_end(source)
    source.heal()
    _pause(5 * number)
    source.ask("stop")
    return _tasks_in(source, "STOPPED")


def create_again_stopped_while_tasks_end(source: Hooked, number: int) -> str | None:
    return _create_again(source, number, "STOPPED")


def create_again_paused_while_tasks_end(source: Hooked, number: int) -> str | None:
    return _create_again(source, number, "PAUSED")


AMID_TASKS: Sequence[Callable[[Hooked, int], str | None]] = (
    stop_while_tasks_end,
    create_again_stopped_while_tasks_end,
    create_again_paused_while_tasks_end,
)
"""Sequences at whose end the connector must have no tasks; what is wrong otherwise."""


def _create_again(source: Hooked, number: int, state: str) -> str | None:
    change_with_a_slow_end(source)
    source.heal()
    _pause(5 * number)
    source.delete()
    source.create({"mark": "new"}, initial_state=state)
    return _tasks_in(source, state)


def change_with_a_slow_end(source: Hooked, **keys: str) -> None:
    """Change a running connector; its old task has been told to end, and does not before :meth:`Hooked.heal`."""
    source.break_down()
    source.create({"hang.until.healed": "task.stop"})
    source.wait("RUNNING")
    source.put(mark="two", **keys)
    wait_until(lambda: source.count("task.stop"), "the old task is to end")


def _tasks_in(source: Hooked, state: str) -> str | None:
    try:
        source.wait_states(state, seconds=LATE_SECONDS)
        tasks = source.tasks()
    except AssertionError as error:
        return str(error)
    finally:
        source.delete()
    return f"{source.name} is {state} with the tasks {tasks}" if tasks else None


def _pause(number: int) -> None:
    time.sleep(number % PAUSES / 1000)
