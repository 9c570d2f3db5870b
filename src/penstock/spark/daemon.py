"""The process that Spark forks its Python workers from (``spark.python.daemon.module``).

It imports what every worker needs once, so that a fresh worker is ready as soon as it is forked.
"""

from __future__ import annotations

import importlib
import os

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
    for module in PRELOADED:
        importlib.import_module(module)
    daemon = importlib.import_module("pyspark.daemon")
    daemon.manager()


if __name__ == "__main__":
    main()
