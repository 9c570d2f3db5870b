"""A small Spark for tests of transforms that need one, started on first use."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.spark.session import SparkEngine, start_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STOP_SECONDS = 5.0


def session() -> SparkSession:
    """Spark with one core, which ends with the process or with ``end_session``."""
    return _started().engine.session


def end_session() -> None:
    """End the helpers' Spark, where a test needs a Spark of its own in the same process: one at a time is possible."""
    if _started.cache_info().currsize:
        _started().stop()
        _started.cache_clear()


@cache
def _started() -> _Started:
    return _Started()


class _Started:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-testing-")
        self.engine: SparkEngine = start_spark({"spark.master": "local[1]"}, Path(self._folder.name))
        atexit.register(self.stop)

    def stop(self) -> None:
        atexit.unregister(self.stop)
        self.engine.stop(STOP_SECONDS)
        self._folder.cleanup()
