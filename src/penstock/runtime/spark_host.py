"""Spark for as long as a worker runs: started in the background, started again when it dies, stopped in the end."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future

from penstock.spark.dispatcher import Dispatcher
from penstock.spark.session import SparkEngine, SparkStartError, start_spark, start_spark_in_background

from .worker_config import WorkerConfig

log = logging.getLogger(__name__)

STOP_SECONDS = 5.0
STARTING_SECONDS = 2.0
"""A Spark that is still starting when the worker stops gets this long; its JVM ends with our process anyway."""
LONGEST_RETRY_SECONDS = 30.0


class SparkHost:
    """``ready`` ends when Spark is up; it is another future after Spark was started again."""

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._stopping = threading.Event()
        self.ready: Future[SparkEngine] = start_spark_in_background(config.properties, config.data_dir)
        self.dispatcher = Dispatcher(self.ready, self._start_again)

    def stop(self) -> None:
        """What runs on Spark is dropped."""
        self._stopping.set()
        self.dispatcher.stop()
        try:
            self.ready.result(timeout=STARTING_SECONDS).stop(STOP_SECONDS)
        except Exception as error:
            log.debug("Spark was not there to be stopped: %s", error)

    def _start_again(self) -> SparkEngine:
        """A new Spark for one whose JVM died. Tried until it comes up; tasks wait for it meanwhile."""
        seconds = 1.0
        while not self._stopping.is_set():
            try:
                engine = start_spark(self._config.properties, self._config.data_dir)
            except (SparkStartError, OSError) as error:
                log.error("Spark did not start again; the next try is in %g s. %s", seconds, error)
                self._stopping.wait(seconds)
                seconds = min(2 * seconds, LONGEST_RETRY_SECONDS)
                continue
            log.info("Spark is up again")
            self.ready = Future()
            self.ready.set_result(engine)
            return engine
        raise SparkStartError("The worker is stopping")
