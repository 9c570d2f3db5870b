"""Who is next: tasks take turns, and each task's past tells whether its next work will be long."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

LONG_SECONDS = 0.1
_REMEMBERED_TASKS = 10_000
_WEIGHT_OF_LAST = 0.3

T = TypeVar("T")


class Turns(Generic[T]):
    """A queue in which tasks take turns, so that one with many works does not make the others wait."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[T]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        """All that wait, task by task, the one whose turn is next first."""
        return (item for queue in self._queues.values() for item in queue)

    @property
    def first(self) -> T:
        """What ``next`` would give; ``IndexError`` when there is nothing."""
        if not self._queues:
            raise IndexError("nobody waits")
        return next(iter(self._queues.values()))[0]

    def add(self, task_key: str, item: T) -> None:
        self._queues.setdefault(task_key, deque()).append(item)
        self._size += 1

    def next(self) -> T:
        """The next item; ``IndexError`` when there is none."""
        item = self.first
        task_key, queue = next(iter(self._queues.items()))
        queue.popleft()
        self._size -= 1
        if queue:
            self._queues.move_to_end(task_key)
        else:
            del self._queues[task_key]
        return item

    def take(self, task_key: str) -> list[T]:
        """Everything that waits of one task, removed from the queue."""
        taken = list(self._queues.pop(task_key, ()))
        self._size -= len(taken)
        return taken


@dataclass(frozen=True, slots=True)
class Habit:
    """How a task's works went lately: ``seconds`` each, and the ``share`` of a core they wanted meanwhile."""

    seconds: float = 0.0
    share: float = 1.0

    @property
    def is_long(self) -> bool:
        return self.seconds > LONG_SECONDS


class Habits:
    """Running averages for each task. A task never seen counts as quick until it shows otherwise."""

    def __init__(self) -> None:
        self._habits: OrderedDict[str, Habit] = OrderedDict()

    def of(self, task_key: str) -> Habit:
        return self._habits.get(task_key, Habit())

    def learn(self, task_key: str, wall: float, busy: float) -> None:
        share = busy / wall if wall > 0 else 1.0
        if old := self._habits.pop(task_key, None):
            wall = old.seconds + _WEIGHT_OF_LAST * (wall - old.seconds)
            share = old.share + _WEIGHT_OF_LAST * (share - old.share)
        self._habits[task_key] = Habit(wall, share)
        if len(self._habits) > _REMEMBERED_TASKS:
            self._habits.popitem(last=False)
