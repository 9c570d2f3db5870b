"""The lanes as the dispatcher sees them: which are idle, which are held for long, which have to go."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from .lane_names import LaneNames
from .lane_room import LaneRoom
from .lanes import Lane
from .tickets import Entry
from .turns import LONG_SECONDS

OLDEST_SECONDS = 900.0
"""The age at which an idle lane makes room, so that Spark can place it anew."""

MISNAMED_SECONDS = 60.0
"""The same for a lane that serves connectors which its description does not name."""

PASSING_SECONDS = 30.0
"""The same for all lanes where executors may be decommissioned: they are waited for until their last task has ended."""

PINNED_SECONDS = 5.0
"""A lane is not ended for its age when it ran a pinned work this short a time ago."""

OVERDUE_SECONDS = 5.0

PATIENCE_SECONDS = 0.5
"""How long quick works wait while unexpectedly long ones hold every lane, before one of these is sent back."""


@dataclass(eq=False, slots=True)
class Seat:
    """A lane as the dispatcher sees it: opening, idle, or busy with an entry since some time."""

    lane: Lane
    names: LaneNames
    opened: float
    oldest: float = OLDEST_SECONDS
    entry: Entry | None = None
    since: float = 0.0
    opening: bool = True
    kill_at: float | None = None
    doomed: bool = False
    wake: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    pins: set[str] = field(default_factory=set)
    pinned: deque[Entry] = field(default_factory=deque)

    def take(self, entry: Entry) -> None:
        self.entry, self.since = entry, time.monotonic()
        if entry.pin is not None:
            self.pins.add(entry.pin)
        if entry.connector is not None:
            self.names.serve(entry.connector)

    def is_stuck(self) -> bool:
        """Whether its work turned out long."""
        return self.entry is not None and time.monotonic() - self.since > LONG_SECONDS

    def is_overdue(self) -> bool:
        """Whether its work takes so long that it hardly computes all the time."""
        return self.entry is not None and time.monotonic() - self.since > OVERDUE_SECONDS

    def is_too_old(self) -> bool:
        """Old, or misnamed for a while, and nothing that is pinned to it is in the middle of something."""
        now = time.monotonic()
        oldest = min(self.oldest, MISNAMED_SECONDS) if self.names.are_outdated else self.oldest
        return now - self.opened > oldest and not (self.pins and now - self.since < PINNED_SECONDS)


class Seats:
    """Not safe for threads by itself: the dispatcher's lock is held by whoever calls it."""

    def __init__(self) -> None:
        self._seats: dict[Lane, Seat] = {}
        self.idle: list[Seat] = []
        self._crowded_since: float | None = None
        self._unwanted_since: float | None = None
        self._in_the_way_since: float | None = None

    def __len__(self) -> int:
        return len(self._seats)

    def __iter__(self) -> Iterator[Seat]:
        """In the order in which they were opened; a copy."""
        return iter(list(self._seats.values()))

    def __contains__(self, seat: Seat) -> bool:
        return seat.lane in self._seats

    def of(self, lane: Lane) -> Seat | None:
        return self._seats.get(lane)

    def add(self, lane: Lane, names: LaneNames, oldest: float = OLDEST_SECONDS) -> None:
        """A lane that Spark is asked for. It makes room at the age of ``oldest`` seconds."""
        self._seats[lane] = Seat(lane, names, time.monotonic(), oldest)

    def remove(self, seat: Seat) -> None:
        """The lane is used no more."""
        self._seats.pop(seat.lane, None)
        self.not_idle(seat)

    def not_idle(self, seat: Seat) -> None:
        """Nobody else gives the lane something to do from now on."""
        if seat in self.idle:
            self.idle.remove(seat)

    def holder(self, pin: str | None) -> Seat | None:
        """The lane that has run works of a pin before and still lives."""
        if pin is None:
            return None
        return next((seat for seat in self._seats.values() if pin in seat.pins and not seat.doomed), None)

    @property
    def busy(self) -> int:
        """How many run a work."""
        return sum(seat.entry is not None for seat in self)

    @property
    def opening(self) -> int:
        """How many are not ready yet."""
        return sum(seat.opening for seat in self._seats.values())

    @property
    def stuck(self) -> list[Seat]:
        """Those whose work turned out long."""
        return [seat for seat in self._seats.values() if seat.is_stuck()]

    def room_for_long(self, room: LaneRoom, quick_come: bool) -> int:
        """How many long works may begin. One that has run very long does not compute, it waits or hangs: it holds its
        lane, but no core. A lane is left to quick works, where it costs nothing or some are expected."""
        running = [(seat, seat.entry) for seat in self._seats.values() if seat.entry and seat.entry.long]
        computing = sum(entry.share for seat, entry in running if not seat.is_overdue())
        left = 1 if room.has_slots_to_spare or quick_come else 0
        lanes = max(1, room.most - left) - len(running)
        return max(0, min(lanes, math.floor(room.computing + 0.5 - computing)))

    def missing(self, room: LaneRoom, quick: int, long: int, quick_come: bool) -> int:
        """How many lanes to open for so many works that wait, beyond those that are opening."""
        lanes, opening = len(self), self.opening
        wanted = min(quick, room.computing - (lanes - len(self.stuck) - opening))
        if long:
            wanted = max(wanted, min(long, self.room_for_long(room, quick_come)))
        return max(0, min(wanted - opening, room.most - lanes))

    def one_to_send_back(self, quick_wait: bool, room: LaneRoom) -> Seat | None:
        """Long works leave a lane to quick ones, unless nobody knew that they are long: then one has to come again."""
        held = [seat for seat in self.stuck if not seat.doomed]
        now = time.monotonic()
        if not quick_wait or len(held) < room.begun:
            self._crowded_since = None
        elif self._crowded_since is None:
            self._crowded_since = now
        elif now - self._crowded_since > PATIENCE_SECONDS:
            self._crowded_since = None
            return max(held, key=lambda seat: seat.since)
        return None

    def withdraw(self, room: LaneRoom, waiting: int, patience: float) -> list[Seat]:
        """Remove lanes that Spark has not begun and that are not wanted any more.

        Those are the ones that there is no room for beside DataFrames, and those that have outnumbered what waits for
        ``patience`` seconds: as long as they are asked for, Spark may get executors for them.
        """
        pending = [seat for seat in self._seats.values() if seat.opening]
        now = time.monotonic()
        too_many = self.surplus(room)
        if len(pending) <= waiting:
            self._unwanted_since = None
        elif self._unwanted_since is None:
            self._unwanted_since = now
        elif now - self._unwanted_since >= patience:
            self._unwanted_since = None
            too_many = max(too_many, len(pending) - waiting)
        withdrawn = pending[::-1][:too_many]
        for seat in withdrawn:
            self.remove(seat)
        return withdrawn

    def until_next_withdrawal(self, patience: float) -> float | None:
        """Seconds, perhaps below zero; ``None`` when nothing is asked for in vain."""
        return None if self._unwanted_since is None else self._unwanted_since + patience - time.monotonic()

    def surplus(self, room: LaneRoom) -> int:
        """How many lanes must end so that jobs of DataFrames find their slots."""
        return max(0, len(self) - room.begun) if room.framed else 0

    def idle_to_give_way(self, room: LaneRoom, held: Set[str]) -> list[Seat]:
        """Idle lanes that are too many beside DataFrames, unless something is open in them."""
        return [seat for seat in self.idle if held.isdisjoint(seat.pins)][: self.surplus(room)]

    def one_in_the_way(self, room: LaneRoom) -> Seat | None:
        """When lanes do not give way by themselves since their works do not end: the one whose work is lost first."""
        now = time.monotonic()
        if not self.surplus(room):
            self._in_the_way_since = None
        elif self._in_the_way_since is None:
            self._in_the_way_since = now
        elif now - self._in_the_way_since > OVERDUE_SECONDS:
            self._in_the_way_since = now
            held = [seat for seat in self.stuck if not seat.doomed]
            return max(held, key=lambda seat: seat.since, default=None)
        return None

    def take_doomed(self) -> list[Seat]:
        """Those whose time has come; each is told once."""
        now = time.monotonic()
        doomed = [seat for seat in self._seats.values() if seat.kill_at is not None and seat.kill_at <= now]
        for seat in doomed:
            seat.kill_at, seat.doomed = None, True
        return doomed

    def until_next_kill(self) -> float | None:
        """Seconds, perhaps below zero; ``None`` when nothing is to be killed."""
        ends = [seat.kill_at for seat in self._seats.values() if seat.kill_at is not None]
        return min(ends) - time.monotonic() if ends else None
