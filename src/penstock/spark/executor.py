"""Executor side: a lane, which runs one work after the other and never lets one harm the next."""

from __future__ import annotations

import os
import pickle
import ssl
import threading
import time
import traceback
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

from penstock.api.errors import RetriableError
from penstock.topics import kept

from .daemon import how_forked
from .lane_tls import lane_context
from .memory import IDLE_SECONDS, Rest
from .remote_logging import collected
from .splits import Failure, Receipt
from .wire import Address, Channel, call


class Runnable(Protocol):
    """A picklable piece of work: ``SourceWork``, ``SinkWork``, or anything else with a ``run``."""

    def run(self) -> Receipt:
        """Do it, on an executor."""


@dataclass(frozen=True)
class Invitation:
    """Where a lane calls the driver, and as whom; with the driver's ``certificate`` where the two talk by TLS."""

    address: Address
    secret: bytes
    lane: str
    certificate: str = ""

    def call(self, role: str = "") -> Channel:
        """One of the lane's connections. Raises ``OSError`` or ``EOFError``."""
        tls = lane_context(self.certificate) if self.certificate else None
        return call(self.address, self.secret, f"{self.lane}/{role}" if role else self.lane, tls)


class Answer(NamedTuple):
    """What a lane sends back for a work: the ``wall`` seconds it took, ``busy`` of them computing or queueing to."""

    receipt: Receipt
    wall: float
    busy: float


def run_lane(invitation: Invitation) -> None:
    """The whole of a lane's Spark task: pull works from the driver until it has no more for us.

    It first tells what process this one was forked from. A second connection, the leash, ends the process in the middle
    of a work when the driver lets go of it. A certificate that is not the driver's (``SSLCertVerificationError``) fails
    the task.

    When the task is lost, with its executor perhaps, Spark begins it again elsewhere: to fail, unless the driver still
    waits for it, which opens another lane for what is left to do. A job that ended well would hide the loss.
    """
    try:
        channel = invitation.call()
        channel.send(how_forked().encode())
        leash = Leash(invitation.call("leash"))
    except ssl.SSLCertVerificationError:
        raise
    except (OSError, EOFError):
        if _is_begun_again():
            raise LaneGoneError(f"{invitation.lane} was lost, and what it ran is done by others") from None
        return
    try:
        rest = Rest()
        while payload := _next_payload(channel, rest):
            channel.send(run_payload(payload))
    except (OSError, EOFError):
        return
    finally:
        kept.let_go_of_all()
        leash.untie()
        channel.close()


class LaneGoneError(Exception):
    """Spark began a lane's task once more."""


def _is_begun_again() -> bool:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is not None and context.attemptNumber() > 0


def _next_payload(channel: Channel, rest: Rest) -> bytes:
    rest.between_works(idle=not channel.has_message(IDLE_SECONDS))
    return channel.receive()


class Leash:
    """Kills this process as soon as the driver closes the channel, unless untied before.

    It holds from the driver's first message on; without one, there is no place for this lane (``EOFError``).
    """

    def __init__(self, channel: Channel) -> None:
        channel.receive()
        self._channel = channel
        self._tied = True
        self._watch = threading.Thread(target=self._wait_for_release, name="leash", daemon=True)
        self._watch.start()

    def untie(self) -> None:
        self._tied = False
        self._channel.close()
        self._watch.join()

    def _wait_for_release(self) -> None:
        try:
            self._channel.receive()
        except (OSError, EOFError):
            if self._tied:
                os._exit(1)


def run_payload(payload: bytes) -> bytes:
    """A pickled work in, its pickled answer out."""
    wall, busy = time.perf_counter(), busy_seconds()
    try:
        receipt = run_work(pickle.loads(payload))
    except Exception as error:
        receipt = Receipt(failure=Failure(f"The work could not be loaded on the executor: {describe(error)}"))
    answer = Answer(receipt, time.perf_counter() - wall, busy_seconds() - busy)
    try:
        return pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        failure = Failure(f"The receipt could not be sent to the driver: {describe(error)}")
        return pickle.dumps(answer._replace(receipt=Receipt(failure=failure)))


def busy_seconds() -> float:
    """Seconds this process has computed; with Linux also those its main thread was ready to but had no core."""
    try:
        running, queueing, _ = os.pread(_statistics(os.getpid()), 100, 0).split()
    except (OSError, ValueError):
        return time.process_time()
    return max(time.process_time(), int(running) / 1e9) + int(queueing) / 1e9


@lru_cache(maxsize=1)
def _statistics(process: int) -> int:
    """A file kept open, since opening it costs more than all of a small work's accounting."""
    return os.open(f"/proc/{process}/schedstat", os.O_RDONLY | os.O_CLOEXEC)


def run_work(work: Runnable) -> Receipt:
    """One receipt, whatever happens: an exception that escapes the work becomes a failure."""
    with collected() as lines:
        try:
            receipt = work.run()
        except (Exception, SystemExit) as error:
            receipt = Receipt(failure=Failure(describe(error), retriable=isinstance(error, RetriableError)))
    receipt.log = lines
    return receipt


def describe(error: BaseException) -> str:
    """The error in one line, then its Python traceback."""
    summary = "".join(traceback.format_exception_only(error)).strip()
    return f"{summary}\n{''.join(traceback.format_exception(error)).rstrip()}"
