"""Forks Python workers on executors that nobody ships Penstock to (``spark.penstock.environment=installed``).

Whether a Python has Penstock installed is known only where it runs. So this file alone travels, lies in the executor's
folder, and decides there: it becomes :mod:`penstock.spark.daemon`, or else Spark's own daemon, for Penstock may still
come to the workers themselves (``spark.submit.pyFiles``). It imports nothing of ours to find out.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable


def main() -> None:
    chosen()()


def chosen() -> Callable[[], None]:
    """The main function of the daemon to be. Workers tell the driver why it is not ours."""
    try:
        ours: Callable[[], None] = importlib.import_module("penstock.spark.daemon").main
    except Exception as error:
        os.environ["PENSTOCK_DAEMON"] = reason = f"{type(error).__name__}: {error}"
        print(f"Penstock: Spark's own daemon forks Python workers. {reason}", file=sys.stderr)
        spark_s: Callable[[], None] = importlib.import_module("pyspark.daemon").manager
        return spark_s
    return ours


if __name__ == "__main__":
    main()
