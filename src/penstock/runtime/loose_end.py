"""What the works of a task may have left open in Kafka, and its end when the task ends."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from penstock.spark.splits import Failure, Receipt, TransactionWork
from penstock.topics.errors import FENCED
from penstock.topics.interface import Transaction

from .pump import WorkRunner

LOOK_SECONDS = 0.1


class StillOpen(Exception):
    """The transaction could not be ended; the text says why."""


class LooseEnd:
    """Of one transactional id; for one task, on the runtime's loop.

    An open transaction hides from readers of committed records all that others write behind it, and holds up tasks that
    read the offsets topic to its end, until Kafka aborts it. ``key`` is that of the task's works, ``transaction`` makes
    the writer of a session, and ``require_ownership`` raises when others may use the id by now.
    """

    def __init__(
        self,
        runner: WorkRunner,
        key: str,
        transaction: Callable[[str], Transaction],
        require_ownership: Callable[[], None],
    ) -> None:
        self._runner = runner
        self._key = key
        self._transaction = transaction
        self._require_ownership = require_ownership
        self._aborting: _Step | None = None
        self.may_be_open = False

    def works_write(self) -> None:
        """Works are about to write: from now on a transaction may be open."""
        self.may_be_open, self._aborting = True, None

    def is_over(self) -> None:
        """It was committed or aborted, or is somebody else's by now."""
        self.may_be_open, self._aborting = False, None

    def abort(self, session: str) -> None:
        """Have it aborted where it is open, if that is still there. Does not wait."""
        transaction = self._transaction(session)
        if self.may_be_open and self._runner.holds(transaction.pin):
            self._aborting = _Step(self._runner, self._key, TransactionWork(transaction, "abort"))

    async def end(self) -> None:
        """The task ends: wait for the abort; where there is none, or it came too late, a last session ends it.

        Not when somebody else has taken over the id: that session would fence him. Raises ``StillOpen``, and what
        ``require_ownership`` does; whoever stops waiting cancels it.
        """
        aborted = self._aborting is not None and await self._aborting.succeeds(self._require_ownership)
        if not aborted:
            self._require_ownership()
            last = self._transaction(uuid.uuid4().hex)
            opening = _Step(self._runner, last.pin, TransactionWork(last, "open"))
            await opening.succeeds(self._require_ownership, StillOpen)
        self.is_over()


class _Step:
    """A step of a transaction that is under way, whatever becomes of its task.

    Under the ``key`` of its task it keeps its place among the task's works, and waits as long as these; under another
    one it is quick.
    """

    def __init__(self, runner: WorkRunner, key: str, work: TransactionWork) -> None:
        self._receipts: Future[Sequence[Receipt]] = Future()
        self._ticket = runner.submit(key, [work], self._receipts.set_result)

    async def succeeds(self, still: Callable[[], None], otherwise: type[Exception] | None = None) -> bool:
        """Whether it was done, or needs not be done any more because another has the id; else raises ``otherwise``.

        It is cancelled when nobody waits for it any more, and when ``still`` raises.
        """
        answer = asyncio.wrap_future(self._receipts)
        try:
            while not (await asyncio.wait({answer}, timeout=LOOK_SECONDS))[0]:
                still()
        except BaseException:
            self._ticket.cancel()
            raise
        failure: Failure | None = answer.result()[0].failure
        if failure is None or FENCED in failure.trace:
            return True
        if otherwise is not None:
            raise otherwise(failure.trace)
        return False
