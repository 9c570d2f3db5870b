"""A small Spark for tests of transforms that need one, started on first use."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.spark.session import start_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STOP_SECONDS = 5.0


@cache
def session() -> SparkSession:
    """Spark with one core, which ends with the process."""
    folder = tempfile.TemporaryDirectory(prefix="penstock-testing-")
    engine = start_spark({"spark.master": "local[1]"}, Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(engine.stop, STOP_SECONDS)
    return engine.session
