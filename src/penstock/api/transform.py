"""Transforms and predicates: what happens to a record on its way."""

from __future__ import annotations

from abc import abstractmethod

from .plugin import Plugin
from .record import Record


class Transform(Plugin):
    """Changes one record at a time. Runs on executors; one object sees the records of a split in order."""

    @abstractmethod
    def apply(self, record: Record) -> Record | None:
        """The changed record (never change the given one in place), or ``None`` to drop it.

        An exception makes it a record-level error: ``errors.tolerance`` and the dead letter queue decide.
        """


class Predicate(Plugin):
    """Decides whether a transform applies to a record. Runs on executors."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether the record matches. An exception is a record-level error of the transform."""
