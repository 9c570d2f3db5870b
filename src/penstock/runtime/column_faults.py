"""Tells operators of column forms that raise: records still arrive, but one by one."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from penstock.spark.column_faults import ColumnFault

from .requests import TaskId

log = logging.getLogger(__name__)

TOLD = "records went one by one because"
"""In every line about such a fault; the tests of workers look for it."""

_OURS = "it is part of Penstock, so please report this"
_WAYS_OUT = {
    "apply_rows": "it refused many records together but none of them alone, so it was called with fewer at a time",
    "apply_batch": "it should return None, or raise RowsDeclined, for records that it cannot take as columns",
    "ColumnChain.run": _OURS,
    "merged": _OURS,
    "decode_parts": "it should leave values that it cannot read as columns out of its parts",
}
_WAY_OUT = "it should return None for records that it cannot take as columns"


class ColumnFaultLog:
    """The log of one task: the first fault of each form is a warning, the others are for those who look closely."""

    def __init__(self, task: TaskId) -> None:
        self._task = task
        self._told: set[tuple[str, str]] = set()

    def tell(self, faults: Sequence[ColumnFault]) -> None:
        """Log faults of a receipt."""
        for fault in faults:
            form = (fault.plugin, fault.form)
            if form in self._told:
                where = (self._task, fault.rows, TOLD, fault.form, fault.plugin)
                log.debug("%s: %d %s %s of %s raised again:\n%s", *where, fault.trace)
                continue
            self._told.add(form)
            log.warning(
                "%s: %d %s %s of %s raised an exception. Their outcome is the same, but this way is slower: %s. "
                "What follows is logged at DEBUG and counted in penstock_task_column_fault_records_total.\n%s",
                self._task,
                fault.rows,
                TOLD,
                fault.form,
                fault.plugin,
                _WAYS_OUT.get(fault.form, _WAY_OUT),
                fault.trace,
            )
