"""Column forms that raise: their records go one by one, and a receipt says how many did and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .traces import format_trace


@dataclass(frozen=True)
class ColumnFault:
    """A form of a plugin that takes columns raised: for so many rows of a split, the first time with this trace."""

    plugin: str
    form: str
    rows: int
    trace: str


class ColumnFaults:
    """Counts the rows of one split that had to leave columns because something raised.

    Declining records is no fault: ``None``, ``RowsDeclined`` and rows in no ``Part`` are answers like any other.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], ColumnFault] = {}

    def count(self, plugin: str, form: str, rows: int, error: Exception) -> None:
        """``form`` of ``plugin`` (as error reports name it) raised for a column or batch of so many rows."""
        known = self._found.get((plugin, form))
        if known is None:
            self._found[plugin, form] = ColumnFault(plugin, form, rows, format_trace(error).rstrip())
        else:
            self._found[plugin, form] = replace(known, rows=known.rows + rows)

    def found(self) -> Sequence[ColumnFault]:
        """One entry for each form that raised, however often."""
        return list(self._found.values())


def joined(faults: Iterable[ColumnFault]) -> Sequence[ColumnFault]:
    """Faults of several stretches of one split, one entry for each form again."""
    found: dict[tuple[str, str], ColumnFault] = {}
    for fault in faults:
        known = found.get((fault.plugin, fault.form))
        found[fault.plugin, fault.form] = fault if known is None else replace(known, rows=known.rows + fault.rows)
    return list(found.values())
