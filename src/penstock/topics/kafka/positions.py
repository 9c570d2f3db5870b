"""Where a consumer goes on: at its position while that is kept, else as ``auto.offset.reset`` says, never silently."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from ..errors import TopicError
from ..interface import TopicPartition
from .clients import Clients
from .cluster import Cluster
from .groups import Groups

logger = logging.getLogger(__name__)

CERTAIN_SECONDS = 2.0


@dataclass(frozen=True)
class Span:
    """What a partition holds for a consumer: from ``start`` to ``end``."""

    at: TopicPartition
    start: int
    end: int


class OffsetOutOfRange(TopicError):
    """A position is not kept and nothing says where to go on."""


class Positions:
    """Resolves the positions of one connector."""

    def __init__(self, clients: Clients, cluster: Cluster, groups: Groups) -> None:
        self._clients = clients
        self._cluster = cluster
        self._groups = groups
        self._resolved: dict[TopicPartition, int] = {}
        self._lives: dict[TopicPartition, int] = {}
        self._former: dict[TopicPartition, int] = {}
        self._beyond: dict[TopicPartition, float] = {}
        self._pins: dict[TopicPartition, Future[None]] = {}

    def spans(self, start: Mapping[TopicPartition, int | None]) -> list[Span]:
        """The partitions that have something. One whose bounds are not known yet is left out."""
        found = []
        for at, position in start.items():
            bounds = self._cluster.bounds(at)
            if bounds.start is None or bounds.end is None:
                continue
            self._follow_life(at, position)
            begin = self._resolve(at, position, bounds.start, bounds.end)
            if begin < bounds.end:
                found.append(Span(at, begin, bounds.end))
        return found

    def committed(self, places: Iterable[TopicPartition]) -> None:
        """From now on the positions of these partitions are those of the topics that there are now."""
        for at in places:
            self._former.pop(at, None)

    def _follow_life(self, at: TopicPartition, position: int | None) -> None:
        """A topic that was made anew knows nothing of positions in the former one."""
        life = self._cluster.life(at.topic)
        if self._lives.setdefault(at, life) == life:
            return
        self._lives[at] = life
        self._resolved.pop(at, None)
        if position is not None:
            self._former[at] = position

    def _resolve(self, at: TopicPartition, position: int | None, start: int, end: int) -> int:
        if position is None:
            return self._unresolved(at, start, end)
        if self._former.get(at) == position:
            return self._restarted(at, position, start, end)
        if start <= position <= end:
            self._beyond.pop(at, None)
            return position
        if position > end and not self._is_certain(at):
            return end
        self._beyond.pop(at, None)
        return self._reset(at, position, start, end)

    def _is_certain(self, at: TopicPartition) -> bool:
        """Whether a position was beyond the end for a while, and not just newer than what we know of the end."""
        now = time.monotonic()
        return now - self._beyond.setdefault(at, now) > CERTAIN_SECONDS

    def _unresolved(self, at: TopicPartition, start: int, end: int) -> int:
        """A partition without a position goes on where it began, unless that is not kept any more."""
        position = self._resolved.get(at)
        if position is None:
            position = self._first(at, start, end)
        elif position < start:
            position = self._resolved[at] = self._reset(at, position, start, end)
        if self._clients.reset == "latest" and self._clients.group:
            self._pin(at, position)
        return position

    def _first(self, at: TopicPartition, start: int, end: int) -> int:
        """A partition without a position."""
        if self._clients.reset == "none":
            raise OffsetOutOfRange(f"Undefined offset with no reset policy for partitions: [{at.topic}-{at.partition}]")
        chosen = end if self._clients.reset == "latest" else start
        self._resolved[at] = chosen
        return chosen

    def _pin(self, at: TopicPartition, position: int) -> None:
        """Where ``latest`` was must be known after a crash before the first batch, too."""
        asked = self._pins.get(at)
        if asked is None or (asked.done() and asked.exception() is not None):
            self._pins[at] = self._groups.pin(self._clients.group, at, position)

    def _restarted(self, at: TopicPartition, position: int, start: int, end: int) -> int:
        """Where to go on in a topic that was made anew: the same until something of it was committed."""
        if at not in self._resolved:
            self._resolved[at] = self._reset(at, position, start, end, "is of a topic that was deleted and made anew")
        return max(self._resolved[at], start)

    def _reset(self, at: TopicPartition, position: int, start: int, end: int, reason: str = "is out of range") -> int:
        reset = self._clients.reset
        where = f"{at.topic}-{at.partition}"
        if reset == "none":
            raise OffsetOutOfRange(
                f"Offset {position} of {where} {reason}: the partition holds {start} to {end}, and "
                "auto.offset.reset=none gives no other place to go on. Alter the offsets of the connector, or set "
                "consumer.override.auto.offset.reset to earliest or latest."
            )
        chosen = end if reset == "latest" else start
        logger.warning(
            "%s: offset %d of %s %s: the partition holds %d to %d. Going on at %d (auto.offset.reset=%s)%s",
            self._clients.connector or "the worker",
            position,
            where,
            reason,
            start,
            end,
            chosen,
            reset,
            f"; {chosen - position} offsets were skipped" if chosen > position else "",
        )
        return chosen
