"""Driver side of lanes: Spark jobs whose one task stays to pull work after work from this process."""

from __future__ import annotations

import contextlib
import itertools
import logging
import pickle
import secrets
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from .daemon import PRELOADED
from .executor import Answer, Invitation, Runnable, describe, run_lane
from .lane_names import LaneNames
from .lane_room import MOST_LANES
from .lane_tls import make_identity, wanted_by
from .session import SparkEngine
from .shipping import DAEMON_KEY, DECIDING_DAEMON, OUR_DAEMON
from .splits import Failure, Receipt
from .wire import Channel, answer, listen

logger = logging.getLogger(__name__)

POOL = "lanes"
LATE_SECONDS = 30.0
"""When a cluster has not begun any lane for so long, the log says so; again after twice the time."""

REASON_SECONDS = 1.0
"""How long Spark may take to say why a lane was lost."""

PORT_KEY = "spark.penstock.lanes.port"
"""The TCP port on which lanes of other machines call the driver; any free one by default."""


class LaneLostError(Exception):
    """A lane ended before its work did; the text says why, as far as Spark knows."""


class Lane:
    """One Spark task that runs works for us, and the job it belongs to."""

    def __init__(self, name: str, description: str, engine: SparkEngine) -> None:
        self.name = name
        self.description = description
        self.asked = time.monotonic()
        self.job: Future[None] = Future()
        self._engine = engine
        self._channel: Channel | None = None
        self._leash: Channel | None = None
        self._killed = False

    def connect(self, role: str, channel: Channel) -> bool:
        """Take one of the lane's two connections; true when it has both."""
        if role == "leash":
            self._leash = channel
        else:
            self._channel = channel
        return self._leash is not None and self._channel is not None

    def welcome(self) -> bool:
        """Tie the leash; false when the lane is gone already."""
        assert self._leash is not None
        try:
            self._leash.send(b"welcome")
        except OSError:
            return False
        return True

    def run(self, work: Runnable) -> Answer:
        """Run a work and wait for its answer. ``LaneLostError``: the lane is lost, and so killed, for Spark would begin
        its task once more. A work that cannot be sent fails, and the lane stays."""
        assert self._channel is not None
        try:
            payload = pickle.dumps(work, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            return _unsent(error)
        try:
            self._channel.send(payload)
            answer = self._channel.receive()
        except (OSError, EOFError):
            reason = self._why_lost()
            self.kill()
            raise LaneLostError(reason) from None
        try:
            loaded: Answer = pickle.loads(answer)
        except Exception as error:
            return _unsent(error)
        return loaded

    def end(self) -> None:
        """Let the idle lane go: its Spark task ends well."""
        assert self._channel is not None
        try:
            self._channel.send(b"")
        except OSError:
            logger.debug("%s was already gone", self.name)

    def kill(self) -> None:
        """End the lane's process now, whatever it is doing, and its Spark job, which counts as failed."""
        self.let_go()
        if self._killed or self.job.done():
            return
        self._killed = True
        try:
            self._engine.context.cancelJobGroup(self.name)
        except Exception as error:
            logger.debug("%s could not be cancelled: %s", self.name, error)

    def let_go(self) -> None:
        """Close the connections: the lane's process ends by itself, wherever it is."""
        for channel in (self._leash, self._channel):
            if channel is not None:
                channel.close()

    def _why_lost(self) -> str:
        try:
            self.job.result(timeout=REASON_SECONDS)
        except TimeoutError:
            return "the connection to its executor broke"
        except Exception as error:
            return explain(error)
        return "its Spark task ended"


def _unsent(error: Exception) -> Answer:
    return Answer(Receipt(failure=Failure(f"The split could not be sent to Spark: {describe(error)}")), 0.0, 0.0)


class LaneOffice:
    """Opens lanes and takes their calls.

    ``on_open(lane)`` is called on a thread of the lane's own when it is ready, ``on_end(lane, error)`` when its
    Spark job is over; the error tells why, if it never was ready.
    """

    def __init__(
        self,
        engine: SparkEngine,
        on_open: Callable[[Lane], None],
        on_end: Callable[[Lane, BaseException | None], None],
    ) -> None:
        self._engine = engine
        self._on_open = on_open
        self._on_end = on_end
        self._secret = secrets.token_bytes(32)
        self._numbers = itertools.count(1)
        self._expected: dict[str, Lane] = {}
        self._connected: set[Lane] = set()
        self._watches = engine.is_local
        self._lock = threading.Lock()
        self._jobs = ThreadPoolExecutor(max_workers=MOST_LANES, thread_name_prefix="lane-job")
        settings = {} if engine.is_local else engine.settings
        self._identity = make_identity() if wanted_by(settings) else None
        self._expects_our_daemon = settings.get(DAEMON_KEY) in (OUR_DAEMON, DECIDING_DAEMON)
        self._listener = listen(_listening_address(engine))
        threading.Thread(target=self._accept, name="lane-office", daemon=True).start()

    def open(self, names: LaneNames) -> Lane:
        """Begin a lane for the connectors of these names; it calls when its Spark task runs."""
        name = f"lane-{next(self._numbers)}"
        lane = Lane(name, names.description(name), self._engine)
        with self._lock:
            self._expected[lane.name] = lane
            watch, self._watches = not self._watches, True
        self._jobs.submit(self._run_job, lane)
        if watch:
            self._complain_later(LATE_SECONDS)
        return lane

    def _complain_later(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._complain_if_none_runs, (seconds,))
        timer.daemon = True
        timer.start()

    def _complain_if_none_runs(self, seconds: float) -> None:
        """Some lanes may wait for executors as long as others run."""
        with self._lock:
            asked = next((lane.asked for lane in self._expected.values()), None)
            if asked is None or not self._engine.is_alive():
                self._watches = False
                return
            waits = not self._connected and time.monotonic() - asked > 0.9 * seconds
        if waits:
            logger.warning(
                "Spark at %s has started no task for %g s; records wait. Its executors may still be coming, or other "
                "applications may hold all cores: limit each with spark.cores.max, or add executors.",
                self._engine.context.master,
                seconds,
            )
        self._complain_later(2 * seconds if waits else LATE_SECONDS)

    def stop(self) -> None:
        """Take no more calls."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        if isinstance(path := self._listener.getsockname(), str):
            Path(path).unlink(missing_ok=True)
        self._listener.close()
        self._jobs.shutdown(wait=False, cancel_futures=True)

    def _run_job(self, lane: Lane) -> None:
        context = self._engine.context
        certificate = self._identity.certificate if self._identity else ""
        invitation = Invitation(_calling_address(self._engine, self._listener), self._secret, lane.name, certificate)
        try:
            self._engine.count_slots()
            context.setJobGroup(lane.name, lane.description, interruptOnCancel=True)
            context.setLocalProperty("spark.scheduler.pool", POOL)
            context.parallelize([invitation], 1).foreach(run_lane)
        except Exception as error:
            lane.job.set_exception(error)
        else:
            lane.job.set_result(None)
        with self._lock:
            never_ready = self._expected.pop(lane.name, None) is not None
            self._connected.discard(lane)
        reason = lane.job.exception() or LaneLostError("it ended without reaching the driver")
        self._on_end(lane, reason if never_ready else None)

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(stream,), name="lane", daemon=True).start()

    def _greet(self, stream: socket.socket) -> None:
        try:
            name, channel = answer(stream, self._secret, self._identity.context if self._identity else None)
            name, _, role = name.partition("/")
            if not role:
                self._note_daemon(channel.receive().decode())
        except (OSError, EOFError, UnicodeDecodeError) as error:
            logger.warning("Refused a connection to the lanes' port: %s", error)
            return
        with self._lock:
            lane = self._expected.get(name)
            complete = lane is not None and lane.connect(role, channel)
            if lane is not None and complete:
                del self._expected[name]
                self._connected.add(lane)
        if lane is None:
            channel.close()
        elif complete and lane.welcome():
            self._count_slots()
            self._on_open(lane)

    def _count_slots(self) -> None:
        """A lane that has begun has found a slot: there may be more of them than before."""
        try:
            self._engine.count_slots()
        except Exception as error:
            logger.debug("Spark did not tell its executors: %s", error)

    def _note_daemon(self, forked: str) -> None:
        """A lane tells how the process went that it was forked from; one of them stands for all."""
        if forked in (PRELOADED, "") or not self._expects_our_daemon:
            return
        self._expects_our_daemon = False
        logger.warning(
            "Penstock's Python daemon could not get ready on an executor (%s). Lanes run all the same, but each starts "
            "slower and keeps no memory between batches. Have Penstock and what it needs where the executors' Python "
            "finds it when it starts: installed there, or by spark.executorEnv.PYTHONPATH, or leave "
            "spark.penstock.environment at its default.",
            forked,
        )


def explain(error: BaseException) -> str:
    """What happened to a Spark job in a line or two, without the JVM's frames."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error)
    text = text.partition("\n\tat ")[0].partition("\nDriver stacktrace")[0]
    return text.strip()


def _listening_address(engine: SparkEngine) -> str | tuple[str, int]:
    if engine.is_local:
        return str(engine.sockets / f"lanes-{secrets.token_hex(4)}.sock")
    conf = engine.context.getConf()
    host = conf.get("spark.driver.bindAddress") or conf.get("spark.driver.host") or "0.0.0.0"
    return host, int(conf.get(PORT_KEY) or 0)


def _calling_address(engine: SparkEngine, listener: socket.socket) -> str | tuple[str, int]:
    if engine.is_local:
        return str(listener.getsockname())
    return str(engine.context.getConf().get("spark.driver.host")), int(listener.getsockname()[1])
