"""The lives of connector names, what their hooks have noted, and the clean-ups that follow from the config log alone.

What counts is the newest record of each key, so that every worker comes to the same, whenever it began to read and
whatever was compacted. A life is over when its connector is gone, or has another id; what its hooks have noted until
then, or note of a call afterwards, is its clean-up. Who has read more knows more: a call that was noted after the end
was never made, and a clean-up that is over is not begun again by somebody who did not know.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .lifecycle_records import (
    Cleanup,
    Lifecycle,
    cleanup_finished_record,
    cleanup_id,
    cleanup_record,
    lifecycle_record,
)
from .log import LogRecord

MOST_REMEMBERED = 100_000


@dataclass(frozen=True)
class HooksView:
    """What the log says of hooks: ids of connectors that were given one, how far the hooks of each connector that is
    there have come, clean-ups by id, and the deletion of records that say nothing any more."""

    incarnations: Mapping[str, str]
    lifecycles: Mapping[str, Lifecycle]
    cleanups: Mapping[str, Cleanup]
    spent: Sequence[LogRecord]


@dataclass(frozen=True)
class _Life:
    connector: str
    lifecycle: Lifecycle


class _Latest:
    """The ids that were added last: what comes late comes within seconds or minutes."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def __contains__(self, one: object) -> bool:
        return one in self._ids

    def add(self, one: str) -> None:
        self._ids.pop(one, None)
        self._ids[one] = None
        if len(self._ids) > MOST_REMEMBERED:
            del self._ids[next(iter(self._ids))]

    def discard(self, one: str) -> None:
        self._ids.pop(one, None)


class Incarnations:
    """Told of records in order by the config reader. Not thread-safe: the store guards it."""

    def __init__(self) -> None:
        self._there: set[str] = set()
        self._ids: dict[str, str] = {}
        self._lives: dict[str, _Life] = {}
        self._cleanups: dict[str, Cleanup] = {}
        self._too_late: set[str] = set()
        self._owed_since: dict[str, int] = {}
        self._over = _Latest()
        self._finished = _Latest()

    def begin(self, name: str) -> None:
        """There is a connector that was not there before. One that is put back has the id it had."""
        self._there.add(name)
        self._over.discard(self._id(name))

    def end(self, name: str) -> None:
        """The connector is gone."""
        if name in self._there:
            self._there.remove(name)
            self._over.add(self._id(name))

    def assign(self, name: str, incarnation: str | None) -> None:
        """The id of the connector that is, or will be, there; ``None`` for its name."""
        before = self._id(name)
        if incarnation is None:
            self._ids.pop(name, None)
        else:
            self._ids[name] = incarnation
        if name in self._there and self._id(name) != before:
            self._over.add(before)
            self._over.discard(self._id(name))

    def note(self, name: str, incarnation: str, lifecycle: Lifecycle) -> None:
        """How far the hooks of a life have come."""
        life, before = _Life(name, lifecycle), self._lives.get(incarnation)
        if self._is_alive(incarnation, life):
            self._finished.discard(cleanup_id(incarnation, lifecycle.number))
        elif incarnation in self._over:
            life = _Life(name, _after_the_end(Lifecycle() if before is None else before.lifecycle, lifecycle))
        self._lives[incarnation] = life

    def forget(self, incarnation: str) -> str | None:
        """Nothing is left to be known of a life; the connector that it was of."""
        self._owed_since.pop(incarnation, None)
        life = self._lives.pop(incarnation, None)
        return None if life is None else life.connector

    def clean_up(self, cleanup: Cleanup) -> str:
        """A clean-up has begun or come further; its connector. Of two workers that begin it the first has it."""
        known = self._cleanups.get(cleanup.id)
        if cleanup.id in self._finished:
            self._too_late.add(cleanup.id)
        elif known is None or known.worker in (cleanup.worker, cleanup.instead_of):
            self._cleanups[cleanup.id] = cleanup
        return cleanup.connector

    def finish(self, cleanup: str) -> str | None:
        """A clean-up is over; its connector, where it was known."""
        self._finished.add(cleanup)
        self._too_late.discard(cleanup)
        known = self._cleanups.pop(cleanup, None)
        return None if known is None else known.connector

    def view(self) -> HooksView:
        """As of now."""
        lifecycles: dict[str, Lifecycle] = {}
        cleanups = {cleanup.id: cleanup for cleanup in self._cleanups.values() if cleanup.stands_alone}
        spent: list[LogRecord] = []
        owed: set[str] = set()
        for incarnation, life in self._lives.items():
            if self._is_alive(incarnation, life):
                lifecycles[life.connector] = life.lifecycle
                continue
            number = cleanup_id(incarnation, life.lifecycle.number)
            if life.lifecycle.left and number not in self._finished:
                cleanups[number] = self._cleanup(number, incarnation, life.connector, life.lifecycle)
                owed.add(incarnation)
            else:
                spent.append(lifecycle_record(life.connector, incarnation, None))
        noted = [cleanup for cleanup in self._cleanups.values() if not cleanup.stands_alone]
        moot = {cleanup.id for cleanup in noted if cleanup.incarnation not in owed} | self._too_late
        spent += map(cleanup_finished_record, sorted(moot))
        return HooksView(dict(self._ids), lifecycles, cleanups, spent)

    def disowned(self, worker: str) -> Sequence[LogRecord]:
        """What a worker that was started again notes of calls after ended lives that it had begun: nobody can tell what
        came of them."""
        calls = [
            lifecycle_record(life.connector, incarnation, life.lifecycle.disowned())
            for incarnation, life in self._lives.items()
            if life.lifecycle.calling == worker and not self._is_alive(incarnation, life)
        ]
        cleanups = [cleanup for cleanup in self._cleanups.values() if cleanup.worker == worker]
        return [*calls, *(cleanup_record(replace(cleanup, worker=None, instead_of=worker)) for cleanup in cleanups)]

    def _cleanup(self, number: str, incarnation: str, connector: str, lifecycle: Lifecycle) -> Cleanup:
        """What is left is what the hooks have noted last; how far the clean-up has come was noted by itself.

        Until then it is owed since this reader has heard of it.
        """
        first, second = lifecycle.left[0], lifecycle.left[1] if len(lifecycle.left) > 1 else None
        known = self._cleanups.get(number)
        if known is None:
            since = self._owed_since.setdefault(incarnation, time.time_ns() // 1_000_000)
            known = Cleanup(number, connector, first, since, stands_alone=False)
        return replace(known, config=first, doubtful=second, incarnation=incarnation, awaited=lifecycle.calling)

    def _id(self, name: str) -> str:
        return self._ids.get(name, name)

    def _is_alive(self, incarnation: str, life: _Life) -> bool:
        return life.connector in self._there and self._id(life.connector) == incarnation


def _after_the_end(before: Lifecycle, noted: Lifecycle) -> Lifecycle:
    """What counts of a note that came too late: what became of a call does, the intent to call or to begin anew does
    not, since whoever noted it sees the end before doing anything, and will take it back."""
    if noted.number != before.number:
        return before
    return noted if noted.calling is None else replace(noted, pending=before.pending)
