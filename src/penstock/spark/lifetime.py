"""Spark as the dispatcher sees it: it comes up, perhaps late or never; its JVM dies; another one takes over."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from .session import SparkEngine
from .splits import Failure

logger = logging.getLogger(__name__)

_DEAD = "Spark's JVM ended unexpectedly; its last words are in the worker's Spark log"


class SparkLifetime:
    """Watches an engine, and asks ``restart`` for another when its JVM dies; without it there is none after that.

    Until :meth:`stop` these are called, each on a thread that may block for a while: ``on_up(engine)``;
    ``on_down(engine, failure)`` when that one is gone, with what is to be said of works that needed it, retriable if
    there will be another; ``on_none(failure)`` when none is and none will be.
    """

    def __init__(
        self,
        restart: Callable[[], SparkEngine] | None,
        on_up: Callable[[SparkEngine], None],
        on_down: Callable[[SparkEngine, Failure], None],
        on_none: Callable[[Failure], None],
    ) -> None:
        self._restart = restart
        self._on_up = on_up
        self._on_down = on_down
        self._on_none = on_none
        self._stopped = False

    def begin(self, engine: SparkEngine | Future[SparkEngine]) -> None:
        """Once, with an engine that is up or will be."""
        if isinstance(engine, Future):
            engine.add_done_callback(self._started)
        else:
            self._use(engine)

    def stop(self) -> None:
        """Whatever happens to Spark from now on is nobody's concern."""
        self._stopped = True

    def _started(self, started: Future[SparkEngine]) -> None:
        if error := started.exception():
            self._on_none(Failure(str(error)))
        else:
            self._use(started.result())

    def _use(self, engine: SparkEngine) -> None:
        if self._stopped:
            return
        self._on_up(engine)
        threading.Thread(target=self._watch, args=(engine,), name="spark-watch", daemon=True).start()

    def _watch(self, engine: SparkEngine) -> None:
        """Lanes can outlive the JVM for a while, and works run in them: nobody else might see that it is gone."""
        engine.wait_until_dead()
        if self._stopped:
            return
        failure = Failure(_DEAD, retriable=self._restart is not None)
        logger.error("%s%s", failure.trace, "; starting Spark again" if self._restart else "")
        if self._restart is None:
            self._on_none(failure)
        self._on_down(engine, failure)
        engine.stop()
        if self._restart is not None and not self._stopped:
            self._started(_outcome(self._restart))


def _outcome(start: Callable[[], SparkEngine]) -> Future[SparkEngine]:
    future: Future[SparkEngine] = Future()
    try:
        future.set_result(start())
    except Exception as error:
        future.set_exception(error)
    return future
