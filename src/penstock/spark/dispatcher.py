"""Brings works of all tasks to Spark and their receipts back.

Works run in *lanes* (see ``docs/adr/0002-lanes.md``): Spark jobs of one task that stay for a while and pull work
after work, so that a small batch costs well under a millisecond of dispatching. Lanes open when works wait, up to
what Spark has room for, and close when they have been idle; without works there is no Spark job at all.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from .capacity import Capacity
from .executor import Answer, Runnable, describe
from .lanes import Lane, LaneLostError, LaneOffice, explain
from .seats import Seat, Seats
from .session import SparkEngine
from .splits import Failure, Receipt
from .tickets import CANCELLED, Done, Entry, Ticket, cancelled
from .turns import LONG_SECONDS
from .work_queue import WorkQueue

logger = logging.getLogger(__name__)

__all__ = ["CANCELLED", "Dispatcher", "Ticket"]

IDLE_SECONDS = 30.0
CANCEL_GRACE_SECONDS = 0.05
"""How long a cancelled work may still end by itself before its lane is killed."""


class Dispatcher:
    """``submit`` from any thread; ``done`` is called on a thread of the dispatcher and should be quick.

    Works submitted before Spark is up wait for it; when it cannot start, they fail. When its JVM dies, ``restart`` is
    asked for a new one; without it, works fail from then on.
    """

    def __init__(
        self,
        engine: SparkEngine | Future[SparkEngine],
        restart: Callable[[], SparkEngine] | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._restart = restart
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._manage = threading.Condition(self._lock)
        self._queue = WorkQueue()
        self._seats = Seats()
        self._held: set[str] = set()
        self._finished: deque[Ticket] = deque()
        self._stopped = False
        self._office: LaneOffice | None = None
        self._engine: SparkEngine | None = None
        self._no_spark: Failure | None = None
        if isinstance(engine, Future):
            engine.add_done_callback(self._spark_started)
        else:
            self._use(engine)
        threading.Thread(target=self._run_manager, name="dispatcher", daemon=True).start()

    def submit(self, task_key: str, works: Sequence[Runnable], done: Done) -> Ticket:
        """Run ``works``; then call ``done`` with one receipt for each, in order. Never blocks."""
        ticket = Ticket(task_key, len(works), done, self._cancel)
        with self._lock:
            for index, work in enumerate(works):
                self._enqueue(Entry(ticket, index, work))
            self._assign()
            if ticket.is_complete():
                self._finished.append(ticket)
            if self._finished or self._queue:
                self._manage.notify()
        return ticket

    def holds(self, pin: str) -> bool:
        """Whether the lane that ran works of this pin is still there, with all it has in memory."""
        with self._lock:
            return self._seats.holder(pin) is not None

    def hold(self, pin: str, held: bool) -> None:
        """Whether something is open in the lane of a pin, so that it stays although it is idle or old."""
        with self._lock:
            (self._held.add if held else self._held.discard)(pin)

    @property
    def lanes(self) -> int:
        """Spark tasks that are held now, ready or not."""
        return len(self._seats)

    @property
    def running(self) -> int:
        """Works that run now."""
        return sum(seat.entry is not None for seat in self._seats)

    @property
    def waiting(self) -> int:
        """Works that wait for a lane."""
        return len(self._queue)

    def capacity(self) -> Capacity:
        """What Spark has and what works use of it, from any thread; on a cluster Spark is asked, for a millisecond.

        All zeros but ``waiting`` while there is no Spark. What a Spark that does not answer had last counts.
        """
        engine = self._engine
        if engine is not None and not engine.is_local:
            with contextlib.suppress(Exception):
                engine.count_slots()
        with self._lock:
            waiting = len(self._queue) + sum(len(seat.pinned) for seat in self._seats)
            if self._engine is None:
                return Capacity(waiting=waiting)
            busy, pending = self.running, self._seats.opening
            return Capacity(
                executors=self._engine.executors,
                slots=self._engine.slots,
                reserved=max(0, self._engine.slots - self._most_lanes),
                busy=busy,
                idle=len(self._seats) - busy - pending,
                pending=pending,
                waiting=waiting,
            )

    def stop(self) -> None:
        """End all lanes, in the middle of their works if need be. ``done`` is not called any more."""
        with self._lock:
            self._stopped = True
            self._queue = WorkQueue()
            self._finished.clear()
            seats = list(self._seats)
            self._manage.notify()
        if self._office:
            self._office.stop()
        for seat in seats:
            if seat.entry or seat.opening:
                seat.lane.kill()
            seat.wake.release()

    # -- Spark comes up

    def _spark_started(self, started: Future[SparkEngine]) -> None:
        if error := started.exception():
            with self._lock:
                self._no_spark = Failure(str(error))
                self._fail_waiting(self._no_spark)
                self._manage.notify()
        else:
            self._use(started.result())

    def _use(self, engine: SparkEngine) -> None:
        office = LaneOffice(engine, self._serve, self._lane_ended)
        with self._lock:
            self._engine, self._office = engine, office
            self._open_lane()
            self._manage.notify()
        threading.Thread(target=self._watch, args=(engine,), name="spark-watch", daemon=True).start()

    def _watch(self, engine: SparkEngine) -> None:
        """Lanes can outlive the JVM for a while, and works run in them: nobody else might see that it is gone."""
        engine.wait_until_dead()
        with self._lock:
            if self._engine is engine and not self._stopped:
                self._lose_spark(engine)

    def _lose_spark(self, engine: SparkEngine) -> None:
        """The JVM is gone, its lanes go: what waits fails, what comes waits for the next one, if there will be one."""
        self._engine = None
        for seat in self._seats:
            seat.lane.let_go()
            if seat.entry is None:
                self._leave(seat)
                seat.wake.release()
        text = "Spark's JVM ended unexpectedly; its last words are in the worker's Spark log"
        failure = Failure(text, retriable=self._restart is not None)
        if self._restart is None:
            self._no_spark = failure
        self._fail_waiting(failure)
        logger.error("%s%s", failure.trace, "" if self._no_spark else "; starting Spark again")
        threading.Thread(target=self._revive, args=(engine, self._office), name="spark-revival", daemon=True).start()
        self._office = None

    def _revive(self, engine: SparkEngine, office: LaneOffice | None) -> None:
        if office:
            office.stop()
        engine.stop()
        if self._restart is None or self._stopped:
            return
        revived: Future[SparkEngine] = Future()
        revived.add_done_callback(self._spark_started)
        try:
            revived.set_result(self._restart())
        except Exception as error:
            revived.set_exception(error)

    # -- queues (under the lock)

    def _enqueue(self, entry: Entry) -> None:
        if self._no_spark:
            entry.ticket.receipts[entry.index] = Receipt(failure=self._no_spark)
            return
        holder = self._seats.holder(entry.pin)
        if holder is not None:
            holder.pinned.append(entry)
            if holder in self._seats.idle:
                self._seats.idle.remove(holder)
                holder.take(holder.pinned.popleft())
                holder.wake.release()
            return
        self._queue.add(entry)

    @property
    def _cores(self) -> int:
        return self._engine.cores if self._engine else 1

    @property
    def _most_lanes(self) -> int:
        """Some slots stay free for jobs of others, such as those of DataFrames."""
        return self._engine.slots - max(1, self._engine.slots // 4) if self._engine and self._engine.slots > 1 else 1

    def _room_for_long(self) -> bool:
        return self._seats.have_room_for_long(self._cores, self._most_lanes)

    def _assign(self) -> None:
        while self._seats.idle and (entry := self._queue.next(self._room_for_long)):
            seat = self._seats.idle[-1] if entry.pin is None else min(self._seats.idle, key=lambda seat: len(seat.pins))
            self._seats.idle.remove(seat)
            self._give(seat, entry)
            seat.wake.release()

    def _give(self, seat: Seat, entry: Entry) -> None:
        """The seat runs this; what else waits of its pin waits for this seat from now on."""
        seat.take(entry)
        if entry.pin is not None:
            seat.pinned.extend(self._queue.take(entry.ticket.task_key, lambda other: other.pin == entry.pin))

    def _fail_waiting(self, failure: Failure) -> None:
        for entry in self._queue.drain():
            entry.ticket.receipts[entry.index] = Receipt(failure=failure)
            if entry.ticket.is_complete():
                self._finished.append(entry.ticket)

    # -- the manager: opens lanes, kills what was cancelled, tells tickets that no lane tells

    def _run_manager(self) -> None:
        while True:
            with self._lock:
                self._notice_long_works()
                self._make_room()
                self._open_lanes()
                doomed, finished = self._take_doomed(), self._take_finished()
                if not doomed and not finished:
                    self._manage.wait(self._until_next_look())
                if self._stopped:
                    return
            for seat in doomed:
                seat.lane.kill()
            for ticket in finished:
                self._tell(ticket)

    def _take_doomed(self) -> list[Seat]:
        doomed = self._seats.take_doomed()
        for seat in doomed:
            self._send_elsewhere(seat)
        if doomed:
            self._assign()
        return doomed

    def _until_next_look(self) -> float | None:
        if self._queue.quick:
            return LONG_SECONDS / 4
        kill = self._seats.until_next_kill()
        ends = [end for end in (kill, LONG_SECONDS if self._queue.long else None) if end is not None]
        return max(0.001, min(ends)) if ends else None

    def _take_finished(self) -> list[Ticket]:
        finished = list(self._finished)
        self._finished.clear()
        return finished

    def _notice_long_works(self) -> None:
        """A work thought quick that still runs makes its task a long one, and what waits of the task goes there too."""
        for seat in self._seats.stuck:
            if seat.entry and not seat.entry.long:
                seat.entry.long = True
                self._queue.turn_long(seat.entry.ticket.task_key)

    def _make_room(self) -> None:
        seat = self._seats.one_to_send_back(self._queue.quick > 0, self._most_lanes)
        if seat and seat.entry:
            seat.kill_at = time.monotonic()
            logger.info("A long split of %s makes room and will run again", seat.entry.ticket.task_key)

    def _open_lanes(self) -> None:
        """One more lane for each waiting work that none of the present lanes will take soon."""
        if self._seats.idle:
            self._assign()
        opening = self._seats.opening
        wanted = min(self._queue.quick, self._cores - (len(self._seats) - len(self._seats.stuck) - opening))
        if self._queue.long and self._room_for_long():
            wanted = max(wanted, 1)
        for _ in range(min(wanted - opening, self._most_lanes - len(self._seats))):
            self._open_lane()

    def _open_lane(self) -> None:
        if self._office:
            self._seats.add(self._office.open())

    # -- one lane

    def _serve(self, lane: Lane) -> None:
        """The life of a connected lane, on its own thread."""
        with self._lock:
            seat = self._seats.of(lane)
            if seat is None:
                lane.let_go()
                return
            seat.opening = False
        while entry := self._wait_for_entry(seat):
            if not self._run_entry(seat, entry):
                return
        lane.end()

    def _wait_for_entry(self, seat: Seat) -> Entry | None:
        patient = True
        while True:
            with self._lock:
                if seat.entry:
                    return seat.entry
                self._seats.not_idle(seat)
                stays = not self._held.isdisjoint(seat.pins) or (patient and not seat.is_too_old())
                if stays and not self._stopped and seat in self._seats:
                    if seat.pinned:
                        seat.take(seat.pinned.popleft())
                        return seat.entry
                    if entry := self._queue.next(self._room_for_long):
                        self._give(seat, entry)
                        return entry
                    self._seats.idle.append(seat)
                else:
                    self._leave(seat)
                    return None
            patient = seat.wake.acquire(timeout=self._idle_seconds)

    def _leave(self, seat: Seat) -> None:
        self._seats.remove(seat)
        seat.pins.clear()
        self._send_elsewhere(seat)
        self._manage.notify()

    def _send_elsewhere(self, seat: Seat) -> None:
        """What waits for a lane that is used no more."""
        while seat.pinned:
            self._enqueue(seat.pinned.popleft())

    def _run_entry(self, seat: Seat, entry: Entry) -> bool:
        """Run one work on the lane; false when the lane is lost."""
        lost = False
        try:
            payload = pickle.dumps(entry.work, protocol=pickle.HIGHEST_PROTOCOL)
            answer: Answer = pickle.loads(seat.lane.run(payload))
        except LaneLostError as error:
            lost = True
            text = f"The Spark task that ran this split was lost: {error}"
            answer = Answer(Receipt(failure=Failure(text, retriable=True)), 0.0, 0.0)
        except Exception as error:
            answer = Answer(Receipt(failure=Failure(f"The split could not be sent to Spark: {describe(error)}")), 0, 0)
        self._finish(seat, entry, answer, lost)
        return not lost and not seat.doomed

    def _finish(self, seat: Seat, entry: Entry, answer: Answer, lost: bool) -> None:
        ticket = entry.ticket
        with self._lock:
            seat.entry = seat.kill_at = None
            if lost or seat.doomed:
                self._leave(seat)
            if self._stopped:
                return
            if not lost:
                self._queue.learn(ticket.task_key, answer.wall, answer.busy)
            ticket.receipts[entry.index] = cancelled() if ticket.cancelled else answer.receipt
            complete = ticket.is_complete()
            if self._queue.long:
                self._assign()
        if complete:
            self._tell(ticket)

    def _tell(self, ticket: Ticket) -> None:
        try:
            ticket.done([receipt for receipt in ticket.receipts if receipt is not None])
        except Exception:
            logger.exception("The receiver of %s's receipts failed", ticket.task_key)

    def _lane_ended(self, lane: Lane, error: BaseException | None) -> None:
        """A lane's job is over. When it never was ready and no other lane lives, what waits fails.

        A lane that still runs a work by then is one that Spark has lost sight of: it is not used any more.
        """
        with self._lock:
            seat = self._seats.of(lane)
            if seat is None or self._stopped:
                return
            if error is None:
                if seat in self._seats.idle:
                    self._leave(seat)
                    seat.wake.release()
                else:
                    lane.let_go()
                return
            self._leave(seat)
            if self._engine is None or not self._engine.is_alive():
                return
            if all(other.opening for other in self._seats):
                self._fail_waiting(Failure(f"Spark could not start a task: {explain(error)}", retriable=True))
        logger.warning("A Spark task for works could not start: %s", explain(error))

    # -- cancelling

    def _cancel(self, ticket: Ticket) -> None:
        with self._lock:
            if ticket.cancelled or ticket.is_complete():
                return
            ticket.cancelled = True
            for entry in self._queue.take(ticket.task_key, lambda entry: entry.ticket is ticket):
                ticket.receipts[entry.index] = cancelled()
            for seat in self._seats:
                for entry in [entry for entry in seat.pinned if entry.ticket is ticket]:
                    seat.pinned.remove(entry)
                    ticket.receipts[entry.index] = cancelled()
                if seat.entry and seat.entry.ticket is ticket:
                    seat.kill_at = time.monotonic() + CANCEL_GRACE_SECONDS
            if ticket.is_complete():
                self._finished.append(ticket)
            self._manage.notify()
