"""What tests of source pumps share: a pump whose works run in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from penstock.api import SourceTask, Transform
from penstock.runtime.calls import UserCode
from penstock.runtime.metrics import TaskMetrics
from penstock.runtime.planning import Planner
from penstock.runtime.pump import PumpServices
from penstock.runtime.requests import State, TaskId
from penstock.runtime.source_pump import SourcePump
from penstock.spark.splits import ErrorPolicy, Receipt
from penstock.storage.offset_store import OffsetStore
from penstock.topics.interface import TopicHome
from tests.spark.pumping import spec_for, without_faults

TASK = TaskId("c", 0)


class Here:
    """Runs works in this process, as if it were the one lane."""

    def submit(self, task_key: str, works: Sequence[Any], done: Callable[[Sequence[Receipt]], None]) -> Here:
        done([without_faults(work.run()) for work in works])
        return self

    def cancel(self) -> None:
        raise AssertionError("nothing is given up")

    def holds(self, pin: str) -> bool:
        return True

    def hold(self, pin: str, held: bool) -> None:
        """The lane stays in any case."""

    def leave_slots(self, task_key: str, needed: bool) -> None:
        raise NotImplementedError


def pump_of(
    kind: type[SourcePump],
    source: SourceTask,
    topics: TopicHome,
    offsets: OffsetStore,
    calls: UserCode,
    *,
    runner: Here | None = None,
    use_topic: Callable[[TaskId, str], None] = lambda task, topic: None,
    report: Callable[[State, str | None], None] = lambda *state: None,
    settings: Mapping[str, str] | None = None,
    transforms: Sequence[type[Transform]] = (),
    errors: ErrorPolicy | None = None,
    paused: bool = False,
) -> SourcePump:
    """A pump of the task ``c-0`` on these topics."""
    use = (runner or Here(), topics, offsets, use_topic, 60.0, 60.0, cast(Any, None))
    services = PumpServices(calls, Planner(calls, 60.0), *use)
    spec = spec_for(type(source), settings=settings, transforms=transforms, errors=errors)
    return kind(TASK, spec, source, services, report, TaskMetrics(), lambda topic: {}, paused)
