"""What a worker says while Spark starts."""

from __future__ import annotations

import io
import threading
from concurrent.futures import Future
from typing import Any

from rich.console import Console

from penstock.cli.console import StartUpConsole
from penstock.cli.serving import tell_when_ready
from penstock.runtime.worker_config import WorkerConfig

DELTA = "io.delta:delta-spark_2.13:4.4.0"


def told(properties: dict[str, str]) -> list[str]:
    seen = io.StringIO()
    console = StartUpConsole(Console(file=seen, soft_wrap=True))
    spark: Future[Any] = Future()
    tell_when_ready(spark, WorkerConfig.from_properties(properties), console, threading.Event())
    spark.set_result(None)
    return seen.getvalue().splitlines()


def test_packages_that_are_fetched_first_are_named() -> None:
    first, last = told({"spark.jars.packages": DELTA})
    assert first.endswith(f"It fetches what is not here yet of {DELTA}: the first time that takes a while.")
    assert last.endswith("Spark is ready, records flow")


def test_without_packages_nothing_is_said_of_fetching() -> None:
    assert told({})[0].endswith("Spark is starting in the background …")
