"""Executor side of transactions that a source ends itself (``transaction.boundary=connector``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.errors import PluginError
from penstock.api.task import TransactionEnd
from penstock.topics.interface import OffsetRecords, Staged, Stager, Transaction

from .staging import Outbox

OWN_OFFSETS_TOPIC = "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"

ONLY_ITS_OWN = (
    "A source can only abort transactions that it ends itself: with transaction.boundary=connector, on a worker with "
    "exactly-once support"
)

Offsets = Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]


class Ending(ABC):
    """What a work does where its source ends a transaction. Picklable."""

    def check(self, topics: set[str]) -> None:  # noqa: B027
        """Called once with the topics of all records, before any is staged. Raises to refuse them."""

    @abstractmethod
    def end(self, stager: Stager, how: TransactionEnd, progress: Offsets) -> None:
        """Called when the records of a transaction were staged."""


@dataclass
class EndingInLane(Ending):
    """Ends the transaction of a stager that is one, there and then, with all its source offsets.

    ``records`` makes records for the offsets ``topic``; ``pending`` are offsets that the transaction had before this
    work.
    """

    topic: str
    records: Callable[[Offsets], OffsetRecords]
    pending: Offsets = ()

    def check(self, topics: set[str]) -> None:
        if self.topic in topics:
            raise PluginError(OWN_OFFSETS_TOPIC)

    def end(self, stager: Stager, how: TransactionEnd, progress: Offsets) -> None:
        assert isinstance(stager, Transaction)
        records = self.records([*self.pending, *progress])
        if how is TransactionEnd.ABORT:
            stager.abort()
        stager.commit(self.topic, records)
        self.pending = ()


class EndingLater(Ending):
    """Leaves it to the driver, which is told of it by the receipt."""

    def end(self, stager: Stager, how: TransactionEnd, progress: Offsets) -> None:
        pass


@dataclass(frozen=True)
class Ended:
    """A transaction that the source of a split has ended: what was staged for it in this split, and how far it goes."""

    how: TransactionEnd
    staged: Sequence[Staged]
    progress: Offsets


class Endings:
    """The transactions that a split ends. Nothing is staged before all of the split was read."""

    def __init__(self, ending: Ending) -> None:
        self._ending = ending
        self._closed: list[tuple[TransactionEnd, Outbox, Offsets]] = []

    def close(self, how: TransactionEnd, outbox: Outbox, progress: Offsets) -> None:
        """What was read since the last end goes as far as here."""
        self._closed.append((how, outbox, progress))

    def stage(self, stager: Stager, rest: Outbox) -> list[Ended]:
        """Write and end one after the other. ``rest`` is for the transaction that stays open, and left alone."""
        topics = {topic for outbox in (*(outbox for _, outbox, _ in self._closed), rest) for topic in outbox.topics}
        self._ending.check(topics)
        if topics:
            stager.prepare(sorted(topics))
        ended = []
        for how, outbox, progress in self._closed:
            staged = outbox.stage(stager)
            self._ending.end(stager, how, progress)
            ended.append(Ended(how, staged, progress))
        return ended
