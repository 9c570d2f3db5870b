"""A process that starts Spark, runs a work for ever and waits to be killed: ``spark_holder.py DATA_DIR FOLDER``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from penstock.spark.dispatcher import Dispatcher
from penstock.spark.session import start_spark
from tests.spark.works import Sleep

if __name__ == "__main__":
    dispatcher = Dispatcher(start_spark({}, Path(sys.argv[1])))
    dispatcher.submit("task", [Sleep(sys.argv[2], 3600)], lambda receipts: None)
    time.sleep(3600)
