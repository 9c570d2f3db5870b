"""The process that Spark forks its Python workers from (``spark.python.daemon.module``).

It imports what every worker needs once, so that a fresh worker is ready as soon as it is forked, and
keeps it out of the garbage collector's sight, so that workers go on sharing its memory. On executors of a cluster it
comes from the archive that travels there (:mod:`.shipping`); ``penstock_daemon.py`` is for those that have their own.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from importlib.machinery import PathFinder

from .memory import keep_freed

PRELOADED_MODULES = (
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyspark.worker",
    "penstock.spark.executor",
    "penstock.spark.source",
    "penstock.spark.sink",
)
"""Modules that start no thread of Python and hold no connection, so that a fork may inherit them."""


VARIABLE = "PENSTOCK_DAEMON"
"""Tells workers how the process went that they are forked from; ``penstock_daemon`` sets it, too."""

PRELOADED = "preloaded"


def main() -> None:
    """Where something cannot be imported, workers are forked all the same, without it: they tell what is the matter."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    keep_freed()
    leave_out_archives()
    try:
        for module in PRELOADED_MODULES:
            importlib.import_module(module)
    except Exception as error:
        os.environ[VARIABLE] = reason = f"{type(error).__name__}: {error}"
        print(f"Penstock: Python workers start without what they need. {reason}", file=sys.stderr)
    else:
        os.environ[VARIABLE] = PRELOADED
    daemon = importlib.import_module("pyspark.daemon")
    gc.freeze()
    daemon.manager()


def how_forked() -> str:
    """In a Python worker: :data:`PRELOADED`, why not, or nothing where the process it comes from is none of ours."""
    return os.environ.get(VARIABLE, "")


def leave_out_archives() -> None:
    """Import PySpark and Py4J from where they are installed and not from the archives that Spark puts in front.

    Those hold the same modules as source, and Java's classes: modules would be compiled at every start, and every
    worker would read the tables of contents again.
    """
    home = os.path.join(os.environ.get("SPARK_HOME") or os.devnull, "")
    archives = [entry for entry in sys.path if entry.startswith(home) and entry.endswith((".zip", ".jar"))]
    others = [entry for entry in sys.path if entry not in archives]
    if all(PathFinder.find_spec(package, others) for package in ("pyspark", "py4j")):
        sys.path[:] = others
        for entry in archives:
            sys.path_importer_cache.pop(entry, None)


if __name__ == "__main__":
    main()
