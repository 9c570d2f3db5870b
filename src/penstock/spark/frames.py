"""Driver side of tasks that give or take DataFrames: Spark jobs of their own before or after a batch's works.

All functions but :func:`cancel` block until Spark is done and belong on a thread of their own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.api.errors import PluginError
from penstock.api.task import Plan, SinkTask, SourceOffsets, SourceTask, Split

from .errors import failure_of
from .frame_files import FILES, ROWS, loads_frames, scratch_folder, stores_frames
from .missing_jars import missing_jar
from .splits import Receipt, TaskSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["cancel", "discard", "jobs_of", "loads_frames", "plan", "store", "stores_frames"]


def plan(spark: SparkSession, task: SourceTask, offsets: SourceOffsets, spec: TaskSpec) -> Plan | None:
    """What a source that ``load``s reads next, to be used like the answer of ``task.plan``.

    Spark writes the task's DataFrame to files, each of which is a split. :func:`discard` the plan when its batch is
    committed or dropped. What ``task.load`` or Spark raises comes through.
    """
    with jobs_of(spark, spec):
        frame = task.load(spark, offsets)
        if frame is None:
            return None
        folder = Path(scratch_folder(spec)) / uuid.uuid4().hex
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            frame.dataframe.write.option("compression", "zstd").parquet(folder.as_uri())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    files = sorted(folder.glob("part-*.parquet"))
    return Plan([Split({ROWS: str(path)}) for path in files], frame.ends, frame.transaction_end)


def discard(plan: Plan) -> None:
    """Remove the files of a plan."""
    for folder in {os.path.dirname(split.payload[ROWS]) for split in plan.splits}:
        shutil.rmtree(folder, ignore_errors=True)


def store(spark: SparkSession, task: SinkTask, spec: TaskSpec, receipts: Sequence[Receipt]) -> None:
    """Hand the records that executors gathered for a batch to the task. A failure is put into the last receipt.

    Called after the works of a batch came back without a failure and before the commit. Their files are removed.
    """
    files = [path for receipt in receipts for path in (receipt.state or {}).get(FILES, ())]
    try:
        if files:
            with jobs_of(spark, spec):
                uris = [Path(path).as_uri() for path in files]
                task.store(spark.read.option("mergeSchema", "true").parquet(*uris))
    except Exception as error:
        receipts[-1].failure = failure_of(error)
    finally:
        for receipt in receipts:
            receipt.state = None
        for path in files:
            with contextlib.suppress(OSError):
                os.unlink(path)


def cancel(spark: SparkSession, spec: TaskSpec) -> None:
    """End the Spark jobs of a task's batch: ``plan`` then raises, ``store`` fails."""
    spark.sparkContext.cancelJobGroup(_group(spec))


@contextlib.contextmanager
def jobs_of(spark: SparkSession, spec: TaskSpec) -> Iterator[None]:
    """Spark jobs started by this thread belong to the task: one group, one scheduler pool."""
    context = spark.sparkContext
    context.setJobGroup(_group(spec), f"{spec.connector}-{spec.task}", interruptOnCancel=True)
    context.setLocalProperty("spark.scheduler.pool", spec.connector)
    try:
        yield
    except Exception as error:
        java = getattr(error, "java_exception", None)
        what_to_do = missing_jar(error)
        if java is None and what_to_do is None:
            raise
        said = error if java is None else java.toString()
        raise PluginError(f"{what_to_do}. Spark said: {said}" if what_to_do else f"Spark failed: {said}") from error
    finally:
        for name in (
            "spark.jobGroup.id",
            "spark.job.description",
            "spark.job.interruptOnCancel",
            "spark.scheduler.pool",
        ):
            context.setLocalProperty(name, None)  # type: ignore[arg-type]


def _group(spec: TaskSpec) -> str:
    return f"penstock-frame-{spec.key}"
