"""``penstock warm-up``: keep Spark's classes for the next start."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.spark.class_archive import WRITE, archive_file
from penstock.spark.java import NoJavaError, find_java

from .console import StartUpConsole
from .exit_codes import OK, START_UP

if TYPE_CHECKING:
    from penstock.spark.session import SparkEngine

WRITING_SECONDS = 300.0
SHORT_LIFE = "-XX:TieredStopAtLevel=1"
"""This JVM is over before thorough compilation would pay."""


class NotKept(RuntimeError):
    """The JVM has written no archive; the text is what it said."""


def warm_up(again: bool, console: StartUpConsole | None = None) -> int:
    """Make the archive, unless there is one; the exit code."""
    from penstock.spark.session import SparkStartError

    console = console or StartUpConsole()
    try:
        target = archive_file(find_java())
        if target.exists() and not again:
            console.done(f"{target} is there already; --again makes it anew.")
            return OK
        console.step("Starting Spark once, as workers do; then its JVM writes down the classes it has loaded …")
        target.parent.mkdir(parents=True, exist_ok=True)
        make_archive(target)
    except (NoJavaError, SparkStartError, NotKept, OSError) as error:
        console.warn(f"Nothing was prepared, Spark starts as before: {error}")
        return START_UP
    console.done(f"Spark starts faster from now on: {target} ({target.stat().st_size >> 20} MB)")
    return OK


def make_archive(target: Path) -> None:
    """Run Spark once in a JVM that keeps its classes in ``target``; half an archive is never seen."""
    from penstock.spark.session import quoted, start_spark

    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    options = f"{SHORT_LIFE} {quoted(f'{WRITE}{fresh}')}"
    settings = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": options}
    with tempfile.TemporaryDirectory(prefix="penstock-warm-up-") as folder:
        engine = start_spark(settings, Path(folder), "penstock-warm-up")
        try:
            _use(engine)
        finally:
            engine.stop(WRITING_SECONDS)
        if not fresh.exists():
            said = (Path(folder) / "spark" / "console.log").read_text(errors="replace").strip()
            raise NotKept(said or "the JVM wrote no archive, and did not say why")
    fresh.replace(target)


def _use(engine: SparkEngine) -> None:
    """What workers do with Spark. Queries stay out: their classes would double the file, and most workers have none."""
    engine.context.parallelize(range(10), 2).mapPartitions(lambda numbers: [sum(numbers)]).collect()
