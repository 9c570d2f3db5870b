"""Transforms and predicates: what happens to a record on its way."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from .batch import Batch
from .errors import PluginError
from .plugin import Plugin
from .record import Record

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class RowsDeclined(Exception):
    """Raised by ``apply_batch``: the records where ``rows`` (booleans) is true must go one by one, the others need not.

    The runtime calls again without them. At least one must be true.
    """

    def __init__(self, rows: pa.Array) -> None:
        super().__init__("some rows must go one by one")
        self.rows = rows


class Transform(Plugin):
    """Changes one record at a time. Runs on executors; one object sees the records of a split in order."""

    @abstractmethod
    def apply(self, record: Record) -> Record | None:
        """The changed record (never change the given one in place), or ``None`` to drop it.

        An exception makes it a record-level error: ``errors.tolerance`` and the dead letter queue decide.
        """

    def apply_owned(self, record: Record) -> Record | None:
        """Like ``apply``, for a record that nobody else holds: it may be changed in place, unless this raises."""
        return self.apply(record)

    def apply_batch(self, batch: Batch) -> Batch | None:
        """The same for many records at once, or ``None`` when they must go one by one (the default).

        The outcome must be what ``apply`` gives for each record, in the same order; a batch without records drops
        them all. Records for which ``apply`` raises must not come through: return ``None``, or raise
        :class:`RowsDeclined`. An exception of another kind has the same effect as ``None``, but counts as a fault of
        the plugin: the worker's log and the metric ``penstock_task_column_fault_records_total`` tell of it.
        """
        return None


class TableTransform(Transform):
    """Changes many records at a time, as rows of an Arrow table (see :mod:`penstock.api.rows`). Runs on executors."""

    takes_tables = True
    """A subclass whose settings decide may set it to ``False`` on itself: then ``apply`` is called as for any other."""

    @abstractmethod
    def apply_rows(self, rows: pa.Table) -> pa.Table:
        """The changed rows. All have the same columns; how many come at once is not yours to choose.

        Keep the column ``_row`` when rows are dropped, repeated or moved: it tells which record a row came from. When
        it raises, the rows are given again in smaller tables, so that a bad record costs only itself. Tombstones
        never come here; they pass.
        """

    def apply(self, record: Record) -> Record | None:
        raise PluginError(f"{type(self).__name__} takes many records at once: call apply_rows()")


class FrameTransform(Transform):
    """Changes many records at a time with Spark itself, as rows of a DataFrame (columns as in ``TableTransform``).

    Runs in the driver; every batch of the task then costs a Spark job of its own.
    """

    @abstractmethod
    def apply_frame(self, rows: DataFrame, inferred: bool) -> DataFrame:
        """The changed rows, lazily. Keep the column ``_row``: it tells which record a row came from.

        ``inferred`` rows are of values without a schema: a field that none of these records has is no column. May be
        called more than once for the same rows, with fewer of them, to find those that fail.
        """

    def failing(self, rows: DataFrame, inferred: bool) -> DataFrame | None:
        """The rows, of which only ``_row`` matters, for which ``apply_frame`` fails; ``None`` when it cannot tell.

        Called after a failure, and worth having: otherwise they are found by trying smaller and smaller parts.
        """
        return None

    def apply(self, record: Record) -> Record | None:
        raise PluginError(f"{type(self).__name__} works with Spark: call apply_frame()")


class Predicate(Plugin):
    """Decides whether a transform applies to a record. Runs on executors."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether the record matches. An exception is a record-level error of the transform."""

    def test_batch(self, batch: Batch) -> bool | pa.Array | None:
        """The same for many records: one answer for all, an Arrow array of booleans, or ``None`` (the default).

        With ``None`` the records go one by one; with an exception, too, but it is logged and counted as a fault.
        """
        return None
