"""Which lane runs what: the works that wait, the lanes that there are, and how many there should be."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence

from .capacity import Capacity
from .executor import Runnable
from .lane_names import LaneNames
from .lane_room import LaneRoom
from .seats import Seat, Seats
from .session import SparkEngine
from .splits import Failure, Receipt
from .tickets import Entry, Ticket, cancelled
from .turns import LONG_SECONDS
from .work_queue import WorkQueue

logger = logging.getLogger(__name__)

CANCEL_GRACE_SECONDS = 0.05
"""How long a cancelled work may still end by itself before its lane is killed."""


class Schedule:
    """Not safe for threads by itself: the dispatcher's lock is held by whoever calls it. Nothing here blocks.

    ``engine`` is the Spark that is up, ``failure`` why there is none and will be none. Tickets that are complete but
    not told yet are in ``finished``; a seat that gets a work while it is idle is woken.
    """

    def __init__(self, idle_seconds: float) -> None:
        self.queue = WorkQueue()
        self.seats = Seats()
        self.engine: SparkEngine | None = None
        self.failure: Failure | None = None
        self.finished: deque[Ticket] = deque()
        self._idle_seconds = idle_seconds
        self._dropped = False
        self._held: set[str] = set()
        self._framed: set[str] = set()
        self._successors: list[LaneNames] = []

    @property
    def room(self) -> LaneRoom:
        """As of the last count of executors."""
        framed = bool(self._framed)
        if self.engine is None:
            return LaneRoom(framed=framed)
        size = self.engine.size
        return LaneRoom(size.slots, size.most_slots, self.engine.cores, framed, self.queue.is_backlogged)

    def capacity(self) -> Capacity:
        """As of the last count of executors."""
        waiting = len(self.queue) + sum(len(seat.pinned) for seat in self.seats)
        if self.engine is None:
            return Capacity(waiting=waiting)
        size, busy, pending = self.engine.size, self.seats.busy, self.seats.opening
        idle = len(self.seats) - busy - pending
        return Capacity(size.count, size.slots, self.room.reserved, busy, idle, pending, waiting)

    def hold(self, pin: str, held: bool) -> None:
        """Whether something is open in the lane of a pin."""
        (self._held.add if held else self._held.discard)(pin)

    def leave_slots(self, task_key: str, needed: bool) -> None:
        """Whether a task runs Spark jobs of its own."""
        (self._framed.add if needed else self._framed.discard)(task_key)

    # -- works come and go

    def add(self, ticket: Ticket, works: Sequence[Runnable]) -> None:
        """To lanes that are idle, as far as there are any; the others wait."""
        for index, work in enumerate(works):
            self._enqueue(Entry(ticket, index, work))
        self.assign()
        self._look_if_complete(ticket)

    def assign(self) -> None:
        """Give what waits to idle lanes."""
        seats = self.seats
        while seats.idle and (entry := self.queue.next(self._room_for_long)):
            seat = seats.idle[-1] if entry.pin is None else min(seats.idle, key=lambda seat: len(seat.pins))
            seats.idle.remove(seat)
            self._give(seat, entry)
            seat.wake.release()

    def settle(self, entry: Entry, receipt: Receipt) -> bool:
        """What came of a work; true when its ticket is complete."""
        entry.ticket.receipts[entry.index] = cancelled() if entry.ticket.cancelled else receipt
        if self.queue.long:
            self.assign()
        return entry.ticket.is_complete()

    def cancel(self, ticket: Ticket) -> None:
        """What waits never runs; what runs gets a moment to end by itself."""
        if ticket.cancelled or ticket.is_complete():
            return
        ticket.cancelled = True
        for entry in self.queue.take(ticket.task_key, lambda entry: entry.ticket is ticket):
            ticket.receipts[entry.index] = cancelled()
        for seat in self.seats:
            for entry in [entry for entry in seat.pinned if entry.ticket is ticket]:
                seat.pinned.remove(entry)
                ticket.receipts[entry.index] = cancelled()
            if seat.entry and seat.entry.ticket is ticket:
                seat.kill_at = time.monotonic() + CANCEL_GRACE_SECONDS
        self._look_if_complete(ticket)

    def fail_waiting(self, failure: Failure) -> None:
        for entry in self.queue.drain():
            entry.ticket.receipts[entry.index] = Receipt(failure=failure)
            self._look_if_complete(entry.ticket)

    def drop(self) -> list[Seat]:
        """Forget all works, waiting or done, and have all lanes end; those that there are."""
        self._dropped = True
        self.queue = WorkQueue()
        self.finished.clear()
        return list(self.seats)

    def _enqueue(self, entry: Entry) -> None:
        if self.failure:
            entry.ticket.receipts[entry.index] = Receipt(failure=self.failure)
            return
        holder = self.seats.holder(entry.pin)
        if holder is None:
            self.queue.add(entry)
            return
        holder.pinned.append(entry)
        if holder in self.seats.idle:
            self.seats.idle.remove(holder)
            holder.take(holder.pinned.popleft())
            holder.wake.release()

    def _give(self, seat: Seat, entry: Entry) -> None:
        """The seat runs this; what else waits of its pin waits for this seat from now on."""
        seat.take(entry)
        if entry.pin is not None:
            seat.pinned.extend(self.queue.take(entry.ticket.task_key, lambda other: other.pin == entry.pin))

    def _look_if_complete(self, ticket: Ticket) -> None:
        if ticket.is_complete():
            self.finished.append(ticket)

    def _room_for_long(self) -> bool:
        return self.seats.room_for_long(self.room, self.queue.has_quick_works) > 0

    # -- a lane

    def next_for(self, seat: Seat, patient: bool) -> bool:
        """Give a lane its next work, or have it idle; false when it ends. It does not idle when it is not patient."""
        self.seats.not_idle(seat)
        stays = not self._held.isdisjoint(seat.pins) or (patient and self._may_stay(seat))
        if not stays or self._dropped or seat not in self.seats:
            self.leave(seat)
            return False
        if seat.pinned:
            seat.take(seat.pinned.popleft())
        elif entry := self.queue.next(self._room_for_long):
            self._give(seat, entry)
        else:
            self.seats.idle.append(seat)
        return True

    def leave(self, seat: Seat) -> None:
        """A lane is used no more; what waits for it goes elsewhere."""
        self.seats.remove(seat)
        seat.pins.clear()
        self._send_elsewhere(seat)

    def _may_stay(self, seat: Seat) -> bool:
        """Where a lane serves others than it is named after, another one takes over."""
        if seat.is_too_old():
            if seat.names.are_outdated and seat in self.seats:
                self._successors.append(LaneNames(seat.names.latest))
            return False
        return not (self._framed and self.seats.surplus(self.room))

    def _send_elsewhere(self, seat: Seat) -> None:
        while seat.pinned:
            self._enqueue(seat.pinned.popleft())

    # -- what the manager does at each look

    def notice_long_works(self) -> None:
        """A work thought quick that still runs makes its task a long one, and what waits of the task goes there too."""
        for seat in self.seats.stuck:
            if seat.entry and not seat.entry.long:
                seat.entry.long = True
                self.queue.turn_long(seat.entry.ticket.task_key)

    def make_room(self) -> None:
        """For quick works, where long ones hold all lanes, and for jobs of DataFrames."""
        room = self.room
        for seat in self.seats.idle_to_give_way(room, self._held):
            self.leave(seat)
            seat.wake.release()
        held = self.seats.one_to_send_back(self.queue.quick > 0, room) or self.seats.one_in_the_way(room)
        if held and held.entry:
            held.kill_at = time.monotonic()
            logger.info("A long split of %s makes room and will run again", held.entry.ticket.task_key)

    def take_unwanted(self) -> list[Seat]:
        """Lanes that have not begun and need not begin any more."""
        return self.seats.withdraw(self.room, len(self.queue), self._idle_seconds)

    def take_doomed(self) -> list[Seat]:
        """Lanes to be killed."""
        doomed = self.seats.take_doomed()
        for seat in doomed:
            self._send_elsewhere(seat)
        if doomed:
            self.assign()
        return doomed

    def take_missing(self) -> list[LaneNames]:
        """Lanes to be opened: those that take over from others, and one for each waiting work that no lane will take
        soon."""
        self.assign()
        missing, self._successors = self._successors, []
        quick_come = self.queue.has_quick_works
        number = self.seats.missing(self.room, self.queue.quick, self.queue.long, quick_come)
        return missing + [LaneNames(self.queue.connectors()) for _ in range(number - len(missing))]

    def until_next_look(self) -> float | None:
        """Seconds; ``None`` when there is nothing to look after before something happens."""
        if self.queue.quick:
            return LONG_SECONDS / 4
        looks = (
            self.seats.until_next_kill(),
            self.seats.until_next_withdrawal(self._idle_seconds),
            LONG_SECONDS if self.queue.long or self.seats.surplus(self.room) else None,
        )
        ends = [end for end in looks if end is not None]
        return max(0.001, min(ends)) if ends else None
