"""The process that Spark forks its Python workers from (``spark.python.daemon.module``).

It imports what every worker needs once, so that a fresh worker is ready as soon as it is forked, and
keeps it out of the garbage collector's sight, so that workers go on sharing its memory.
"""

from __future__ import annotations

import gc
import importlib
import os

from .memory import keep_freed

PRELOADED = (
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyspark.worker",
    "penstock.spark.executor",
    "penstock.spark.source",
    "penstock.spark.sink",
)
"""Modules that start no thread of Python and hold no connection, so that a fork may inherit them."""


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    keep_freed()
    for module in PRELOADED:
        importlib.import_module(module)
    daemon = importlib.import_module("pyspark.daemon")
    gc.freeze()
    daemon.manager()


if __name__ == "__main__":
    main()
