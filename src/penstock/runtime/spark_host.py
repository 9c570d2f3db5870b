"""Spark for as long as a worker runs: started in the background, started again when it dies, stopped in the end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from penstock.spark.capacity import Capacity
from penstock.spark.dispatcher import Dispatcher
from penstock.spark.session import SparkEngine, SparkStartError, start_spark

from .worker_config import WorkerConfig

log = logging.getLogger(__name__)

STOP_SECONDS = 5.0
STARTING_SECONDS = 2.0
"""A Spark that is still starting when the worker stops gets this long; its JVM ends with our process anyway."""
FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 30.0


class SparkHost:
    """``ready`` ends when Spark is up, however many tries that takes; it is another future after a later start.

    What tasks want of Spark waits until then. ``trouble`` says meanwhile why the last try failed; ``on_trouble`` is
    told of the first one, on another thread.
    """

    def __init__(self, config: WorkerConfig, on_trouble: Callable[[str], None] = lambda reason: None) -> None:
        self._config = config
        self._on_trouble = on_trouble
        self._stopping = threading.Event()
        self.trouble: str | None = None
        self.ready: Future[SparkEngine] = Future()
        self.dispatcher = Dispatcher(self.ready, self._start_again)
        self._asking = threading.Lock()
        self._asked: Future[Capacity] | None = None
        threading.Thread(target=self._start_first, name="spark-start", daemon=True).start()

    def capacity(self) -> Future[Capacity]:
        """What Spark has, and what works use of it. May be called from any thread.

        A Spark that does not answer keeps one thread waiting, however many ask.
        """
        with self._asking:
            if self._asked is None or self._asked.done():
                self._asked = Future()
                threading.Thread(target=self._ask, args=(self._asked,), name="spark-capacity", daemon=True).start()
            return self._asked

    def _ask(self, asked: Future[Capacity]) -> None:
        try:
            asked.set_result(self.dispatcher.capacity())
        except Exception as error:
            asked.set_exception(error)

    def stop(self) -> None:
        """What runs on Spark is dropped."""
        self._stopping.set()
        self.dispatcher.stop()
        try:
            self.ready.result(timeout=STARTING_SECONDS).stop(STOP_SECONDS)
        except Exception as error:
            log.debug("Spark was not there to be stopped: %s", error)

    def _start_first(self) -> None:
        try:
            self.ready.set_result(self._start())
        except BaseException as error:
            self.ready.set_exception(error)

    def _start_again(self) -> SparkEngine:
        """A new Spark for one whose JVM died."""
        engine = self._start()
        log.info("Spark is up again")
        self.ready = Future()
        self.ready.set_result(engine)
        return engine

    def _start(self) -> SparkEngine:
        """Tried until it comes up, with pauses that grow. Raises ``SparkStartError`` when the worker stops."""
        seconds = FIRST_RETRY_SECONDS
        while not self._stopping.is_set():
            try:
                engine = start_spark(self._config.properties, self._config.data_dir)
            except Exception as error:
                if self._stopping.is_set():
                    break
                log.error("Spark did not start; tasks wait, and the next try is in %g s. %s", seconds, error)
                if self.trouble is None:
                    self._on_trouble(str(error))
                self.trouble = str(error)
                self._stopping.wait(seconds)
                seconds = min(2 * seconds, LONGEST_RETRY_SECONDS)
                continue
            self.trouble = None
            return engine
        raise SparkStartError("The worker is stopping")
