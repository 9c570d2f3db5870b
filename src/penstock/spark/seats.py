"""The lanes as the dispatcher sees them: which are idle, which are held for long, which have to go."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from .lanes import Lane
from .tickets import Entry
from .turns import LONG_SECONDS

OLDEST_SECONDS = 900.0
"""The age at which an idle lane makes room, so that Spark can place it anew."""

PINNED_SECONDS = 5.0
"""A lane is not ended for its age when it ran a pinned work this short a time ago."""

OVERDUE_SECONDS = 5.0

PATIENCE_SECONDS = 0.5
"""How long quick works wait while unexpectedly long ones hold every lane, before one of these is sent back."""


@dataclass(eq=False, slots=True)
class Seat:
    """A lane as the dispatcher sees it: opening, idle, or busy with an entry since some time."""

    lane: Lane
    opened: float
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

    def is_stuck(self) -> bool:
        """Whether its work turned out long."""
        return self.entry is not None and time.monotonic() - self.since > LONG_SECONDS

    def is_overdue(self) -> bool:
        """Whether its work takes so long that it hardly computes all the time."""
        return self.entry is not None and time.monotonic() - self.since > OVERDUE_SECONDS

    def is_too_old(self) -> bool:
        """Old, and nothing that is pinned to it is in the middle of something."""
        now = time.monotonic()
        return now - self.opened > OLDEST_SECONDS and not (self.pins and now - self.since < PINNED_SECONDS)


class Seats:
    """Not safe for threads by itself: the dispatcher's lock is held by whoever calls it."""

    def __init__(self) -> None:
        self._seats: dict[Lane, Seat] = {}
        self.idle: list[Seat] = []
        self._crowded_since: float | None = None

    def __len__(self) -> int:
        return len(self._seats)

    def __iter__(self) -> Iterator[Seat]:
        """In the order in which they were opened; a copy."""
        return iter(list(self._seats.values()))

    def __contains__(self, seat: Seat) -> bool:
        return seat.lane in self._seats

    def of(self, lane: Lane) -> Seat | None:
        return self._seats.get(lane)

    def add(self, lane: Lane) -> None:
        self._seats[lane] = Seat(lane, time.monotonic())

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
    def opening(self) -> int:
        """How many are not ready yet."""
        return sum(seat.opening for seat in self._seats.values())

    @property
    def stuck(self) -> list[Seat]:
        """Those whose work turned out long."""
        return [seat for seat in self._seats.values() if seat.is_stuck()]

    def have_room_for_long(self, cores: int, most: int) -> bool:
        """A work that has run very long does not compute, it waits or hangs: it holds its lane, but no core."""
        running = [(seat, seat.entry) for seat in self._seats.values() if seat.entry and seat.entry.long]
        computing = sum(entry.share for seat, entry in running if not seat.is_overdue())
        return len(running) < max(1, most - 1) and computing <= cores - 0.5

    def one_to_send_back(self, quick_wait: bool, most: int) -> Seat | None:
        """Long works leave a lane to quick ones, unless nobody knew that they are long: then one has to come again."""
        held = [seat for seat in self.stuck if not seat.doomed]
        now = time.monotonic()
        if not quick_wait or len(held) < most:
            self._crowded_since = None
        elif self._crowded_since is None:
            self._crowded_since = now
        elif now - self._crowded_since > PATIENCE_SECONDS:
            self._crowded_since = None
            return max(held, key=lambda seat: seat.since)
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
