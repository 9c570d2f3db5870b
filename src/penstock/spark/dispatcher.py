"""Brings works of all tasks to Spark, packed into jobs, and their receipts back."""

from __future__ import annotations

import logging
import pickle
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from .executor import Runnable, describe, run_works
from .session import SparkEngine
from .splits import Failure, Receipt

logger = logging.getLogger(__name__)

Done = Callable[[Sequence[Receipt]], None]
LONGEST_PACK = 256


@dataclass(eq=False)
class Ticket:
    """One submission. After ``cancel`` its ``done`` is never called."""

    task_key: str
    works: Sequence[Runnable]
    done: Done
    receipts: dict[int, Receipt] = field(default_factory=dict)
    cancelled: bool = False

    def cancel(self) -> None:
        """Give up: works that wait are dropped, receipts of works that run are ignored."""
        self.cancelled = True


class Dispatcher:
    """``submit`` from any thread; ``done`` is called on a thread of the dispatcher. Works wait until Spark is up."""

    def __init__(self, engine: SparkEngine | Future[SparkEngine]) -> None:
        self._ready = threading.Condition()
        self._waiting: deque[tuple[Ticket, int]] = deque()
        self._stopped = False
        started: Future[SparkEngine] = engine if isinstance(engine, Future) else Future()
        if isinstance(engine, SparkEngine):
            started.set_result(engine)
        for number in range(2):
            threading.Thread(target=self._run, args=(started,), name=f"dispatcher-{number}", daemon=True).start()

    def submit(self, task_key: str, works: Sequence[Runnable], done: Done) -> Ticket:
        """Run ``works``; then call ``done`` with one receipt for each, in order. Never blocks."""
        ticket = Ticket(task_key, works, done)
        with self._ready:
            self._waiting.extend((ticket, index) for index in range(len(works)))
            self._ready.notify()
        return ticket

    def stop(self) -> None:
        """Take no more; ``done`` is not called any more for what was not finished."""
        with self._ready:
            self._stopped = True
            self._waiting.clear()
            self._ready.notify_all()

    def _run(self, started: Future[SparkEngine]) -> None:
        while pack := self._next_pack():
            try:
                receipts = _run_job(started.result(), [ticket.works[index] for ticket, index in pack])
            except Exception as error:
                failure = Failure(f"Spark could not run the batch: {describe(error)}", retriable=True)
                receipts = [Receipt(failure=failure) for _ in pack]
            for (ticket, index), receipt in zip(pack, receipts, strict=True):
                self._deliver(ticket, index, receipt)

    def _next_pack(self) -> list[tuple[Ticket, int]]:
        with self._ready:
            while True:
                if self._stopped:
                    return []
                pack = [self._waiting.popleft() for _ in range(min(LONGEST_PACK, len(self._waiting)))]
                if pack := [(ticket, index) for ticket, index in pack if not ticket.cancelled]:
                    return pack
                self._ready.wait()

    def _deliver(self, ticket: Ticket, index: int, receipt: Receipt) -> None:
        with self._ready:
            ticket.receipts[index] = receipt
            if len(ticket.receipts) < len(ticket.works) or ticket.cancelled or self._stopped:
                return
        try:
            ticket.done([ticket.receipts[number] for number in range(len(ticket.works))])
        except Exception:
            logger.exception("The receiver of %s's receipts failed", ticket.task_key)


def _run_job(engine: SparkEngine, works: Sequence[Runnable]) -> list[Receipt]:
    partitions = min(engine.cores, len(works))
    packs = [works[start::partitions] for start in range(partitions)]
    payloads = [pickle.dumps(pack, protocol=pickle.HIGHEST_PROTOCOL) for pack in packs]
    answers = engine.context.parallelize(payloads, partitions).map(run_works).collect()
    receipts: dict[int, Receipt] = {}
    for start, answer in enumerate(answers):
        receipts.update(zip(range(start, len(works), partitions), pickle.loads(answer), strict=True))
    return [receipts[index] for index in range(len(works))]
