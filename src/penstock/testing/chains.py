"""Transforms applied to lists of records, with the code that applies them on executors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.api.record import Record
from penstock.api.rows import is_inferred
from penstock.api.transform import FrameTransform, Predicate, TableTransform, Transform
from penstock.spark.batchwise import BatchwiseChain, Passing
from penstock.spark.chain import Chain, Link
from penstock.spark.column_faults import ColumnFaults
from penstock.spark.errors import ErrorHandler, Origin, Stage
from penstock.spark.splits import ErrorPolicy, PluginRef, TaskSpec
from penstock.spark.staging import Outbox

from .session import session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """A record for which a transform raised, as it was before the chain, and the error."""

    record: Record
    error: Exception


@dataclass
class Outcome:
    """What became of the records: those that came out, how many were dropped, and those that failed."""

    records: list[Record]
    dropped: int = 0
    failed: list[Failed] = field(default_factory=list)

    @property
    def values(self) -> list[Any]:
        """The values of the records that came out."""
        return [record.value for record in self.records]


@dataclass(frozen=True)
class Step:
    """A transform with its settings (keys without prefix), and the predicate that chooses its records, if any."""

    transform: type[Transform]
    settings: Settings = field(default_factory=dict)
    predicate: type[Predicate] | None = None
    predicate_settings: Settings = field(default_factory=dict)
    negate: bool = False


def run_transform(
    transform: type[Transform],
    records: Iterable[Record],
    settings: Settings | None = None,
    *,
    tolerance: str = "none",
    spark: Callable[[], SparkSession] = session,
) -> Outcome:
    """Configure a transform and apply it to records.

    With ``tolerance="all"`` records that fail are in the outcome, as with ``errors.tolerance=all``; otherwise the first
    error is raised. ``spark`` is only called for transforms that need it; by default it starts one.
    """
    return run_chain([Step(transform, settings or {})], records, tolerance=tolerance, spark=spark)


def run_chain(
    steps: Sequence[Step | type[Transform]],
    records: Iterable[Record],
    *,
    tolerance: str = "none",
    spark: Callable[[], SparkSession] = session,
) -> Outcome:
    """Apply transforms to records one after the other, as a connector with these ``transforms`` does."""
    if tolerance not in ("none", "all"):
        raise ValueError(f"tolerance is none or all, as errors.tolerance, not {tolerance!r}")
    chain = Chain([_link(step if isinstance(step, Step) else Step(step), spark) for step in steps])
    errors = _Errors(tolerant=tolerance == "all")
    many: BatchwiseChain[Record] = BatchwiseChain(chain, errors, _origin, ColumnFaults())
    left = many.run([Passing(record, record) for record in records])
    return Outcome([item.record for item in left], many.dropped, errors.seen)


def _origin(record: Record) -> Origin:
    return Origin(record.topic, record=record)


def _link(step: Step, spark: Callable[[], SparkSession]) -> Link:
    transform = step.transform()
    transform.configure(step.settings)
    predicate = None
    if step.predicate is not None:
        predicate = step.predicate()
        predicate.configure(step.predicate_settings)
    if isinstance(transform, FrameTransform):
        transform = _OnSpark(transform, spark)
    return Link(transform, predicate, step.negate)


class _OnSpark(TableTransform):
    """A transform of DataFrames, applied at once."""

    def __init__(self, transform: FrameTransform, spark: Callable[[], SparkSession]) -> None:
        self._transform = transform
        self._spark = spark

    def apply_rows(self, rows: pa.Table) -> pa.Table:
        frame = self._spark().createDataFrame(rows)
        return self._transform.apply_frame(frame, is_inferred(rows)).toArrow()


class _Errors(ErrorHandler):
    """Keeps the errors of records, or raises the first."""

    def __init__(self, tolerant: bool) -> None:
        nothing = PluginRef("")
        policy = ErrorPolicy(tolerate_all=tolerant)
        spec = TaskSpec("", "test", 0, nothing, nothing, nothing, nothing, errors=policy)
        super().__init__(spec, Outbox({}, 1))
        self.seen: list[Failed] = []

    def record_failed(self, error: Exception, stage: Stage, name: str, origin: Origin) -> None:
        if not self.policy.tolerate_all:
            raise error
        self.seen.append(Failed(origin.record or Record(topic=origin.topic), error))
