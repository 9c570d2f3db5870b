"""Brings works of all tasks to Spark and their receipts back.

Works run in *lanes* (see ``docs/adr/0002-lanes.md``): Spark jobs of one task that stay for a while and pull work
after work, so that a small batch costs well under a millisecond of dispatching. Lanes open when works wait, up to
what Spark has room for, and close when they have been idle; without works there is no Spark job at all.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from .capacity import Capacity
from .executor import Answer, Runnable
from .lane_names import LaneNames
from .lanes import Lane, LaneLostError, LaneOffice, explain
from .lifetime import SparkLifetime
from .schedule import Schedule
from .seats import OLDEST_SECONDS, PASSING_SECONDS, Seat
from .session import SparkEngine
from .splits import Failure, Receipt
from .tickets import CANCELLED, Done, Entry, Ticket

logger = logging.getLogger(__name__)

__all__ = ["CANCELLED", "Dispatcher", "Ticket"]

IDLE_SECONDS = 30.0

COUNT_SECONDS = 1.0
"""While works wait, the executors of a cluster are counted this often: nobody tells when one has come."""


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
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._manage = threading.Condition(self._lock)
        self._schedule = Schedule(idle_seconds)
        self._stopped = False
        self._office: LaneOffice | None = None
        self._counted = 0.0
        self._lifetime = SparkLifetime(restart, self._use, self._lose_spark, self._have_no_spark)
        self._lifetime.begin(engine)
        threading.Thread(target=self._run_manager, name="dispatcher", daemon=True).start()

    def submit(self, task_key: str, works: Sequence[Runnable], done: Done) -> Ticket:
        """Run ``works``; then call ``done`` with one receipt for each, in order. Never blocks."""
        ticket = Ticket(task_key, len(works), done, self._cancel)
        with self._lock:
            self._schedule.add(ticket, works)
            if self._schedule.finished or self._schedule.queue:
                self._manage.notify()
        return ticket

    def holds(self, pin: str) -> bool:
        """Whether the lane that ran works of this pin is still there, with all it has in memory."""
        with self._lock:
            return self._schedule.seats.holder(pin) is not None

    def hold(self, pin: str, held: bool) -> None:
        """Whether something is open in the lane of a pin, so that it stays although it is idle or old."""
        with self._lock:
            self._schedule.hold(pin, held)

    def leave_slots(self, task_key: str, needed: bool) -> None:
        """Whether a task runs Spark jobs of its own: while any does, lanes leave some slots free for them."""
        with self._lock:
            self._schedule.leave_slots(task_key, needed)
            self._manage.notify()

    @property
    def lanes(self) -> int:
        """Spark tasks that are held now, ready or not."""
        return len(self._schedule.seats)

    @property
    def running(self) -> int:
        """Works that run now."""
        return self._schedule.seats.busy

    @property
    def waiting(self) -> int:
        """Works that wait for a lane."""
        return len(self._schedule.queue)

    def capacity(self) -> Capacity:
        """What Spark has and what works use of it, from any thread; on a cluster Spark is asked, for a millisecond.

        All zeros but ``waiting`` while there is no Spark. What a Spark that does not answer had last counts.
        """
        self._count()
        with self._lock:
            return self._schedule.capacity()

    def stop(self) -> None:
        """End all lanes, in the middle of their works if need be. ``done`` is not called any more."""
        self._lifetime.stop()
        with self._lock:
            self._stopped = True
            seats = self._schedule.drop()
            self._manage.notify()
        if self._office:
            self._office.stop()
        for seat in seats:
            if seat.entry or seat.opening:
                seat.lane.kill()
            seat.wake.release()

    # -- Spark comes and goes

    def _use(self, engine: SparkEngine) -> None:
        office = LaneOffice(engine, self._serve, self._lane_ended)
        with self._lock:
            self._schedule.engine, self._office = engine, office
            self._open_lane(LaneNames(self._schedule.queue.connectors()))
            self._manage.notify()

    def _lose_spark(self, engine: SparkEngine, failure: Failure) -> None:
        """The JVM is gone, its lanes go: what waits fails, what comes waits for the next one, if there will be one."""
        with self._lock:
            office, self._schedule.engine, self._office = self._office, None, None
            for seat in self._schedule.seats:
                seat.lane.let_go()
                if seat.entry is None:
                    self._schedule.leave(seat)
                    seat.wake.release()
            self._schedule.fail_waiting(failure)
            self._manage.notify()
        if office:
            office.stop()

    def _have_no_spark(self, failure: Failure) -> None:
        with self._lock:
            self._schedule.failure = failure
            self._schedule.fail_waiting(failure)
            self._manage.notify()

    # -- the manager: opens lanes, kills what was cancelled, tells tickets that no lane tells

    def _run_manager(self) -> None:
        schedule = self._schedule
        while True:
            with self._lock:
                schedule.notice_long_works()
                schedule.make_room()
                unwanted = schedule.take_unwanted()
                for names in schedule.take_missing():
                    self._open_lane(names)
                doomed, finished = schedule.take_doomed(), self._take_finished()
                if not doomed and not finished and not unwanted:
                    self._manage.wait(schedule.until_next_look())
                if self._stopped:
                    return
                is_due = bool(schedule.queue) and time.monotonic() - self._counted > COUNT_SECONDS
            for seat in (*doomed, *unwanted):
                seat.lane.kill()
            for ticket in finished:
                self._tell(ticket)
            if is_due:
                self._count()

    def _count(self) -> None:
        """See how many executors there are; outside the lock, since Spark is asked."""
        engine, self._counted = self._schedule.engine, time.monotonic()
        if engine is not None and not engine.is_local:
            try:
                engine.count_slots()
            except Exception as error:
                logger.debug("Spark did not tell how many executors there are; the last count stays: %s", error)

    def _take_finished(self) -> list[Ticket]:
        finished = list(self._schedule.finished)
        self._schedule.finished.clear()
        return finished

    def _open_lane(self, names: LaneNames) -> None:
        if self._office and self._schedule.engine:
            oldest = PASSING_SECONDS if self._schedule.engine.may_decommission else OLDEST_SECONDS
            self._schedule.seats.add(self._office.open(names), names, oldest)

    # -- one lane

    def _serve(self, lane: Lane) -> None:
        """The life of a connected lane, on its own thread."""
        with self._lock:
            seat = self._schedule.seats.of(lane)
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
                if not self._schedule.next_for(seat, patient):
                    self._manage.notify()
                    return None
                if seat.entry:
                    return seat.entry
            patient = seat.wake.acquire(timeout=self._idle_seconds)

    def _run_entry(self, seat: Seat, entry: Entry) -> bool:
        """Run one work on the lane; false when the lane is lost."""
        lost = False
        try:
            answer = seat.lane.run(entry.work)
        except LaneLostError as error:
            lost = True
            text = f"The Spark task that ran this split was lost: {error}"
            answer = Answer(Receipt(failure=Failure(text, retriable=True)), 0.0, 0.0)
        self._finish(seat, entry, answer, lost)
        return not lost and not seat.doomed

    def _finish(self, seat: Seat, entry: Entry, answer: Answer, lost: bool) -> None:
        with self._lock:
            seat.entry = seat.kill_at = None
            if lost or seat.doomed:
                self._schedule.leave(seat)
                self._manage.notify()
            if self._stopped:
                return
            if not lost:
                self._schedule.queue.learn(entry.ticket.task_key, answer.wall, answer.busy)
            complete = self._schedule.settle(entry, answer.receipt)
        if complete:
            self._tell(entry.ticket)

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
            schedule, seat = self._schedule, self._schedule.seats.of(lane)
            if seat is None or self._stopped:
                return
            if error is None:
                if seat in schedule.seats.idle:
                    schedule.leave(seat)
                    seat.wake.release()
                else:
                    lane.let_go()
                return
            schedule.leave(seat)
            self._manage.notify()
            if schedule.engine is None or not schedule.engine.is_alive():
                return
            if all(other.opening for other in schedule.seats):
                schedule.fail_waiting(Failure(f"Spark could not start a task: {explain(error)}", retriable=True))
        logger.warning("A Spark task for works could not start: %s", explain(error))

    def _cancel(self, ticket: Ticket) -> None:
        with self._lock:
            self._schedule.cancel(ticket)
            self._manage.notify()
