"""A source of numbers that ends its transactions itself.

Numbers count up from 0 to ``count``, ``batch`` of them in a plan. Every ``size`` of them are a transaction, whose end
is told by the reader, or by the plan with ``ends=plan`` (then a plan never reaches beyond a transaction). ``aborted``
lists the transactions, counted from 0, that are aborted. While ``gate.file`` exists, numbers from ``gate`` on are not
read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from penstock.api import (
    ConfigDef,
    ConfigKey,
    Plan,
    Progress,
    Record,
    SourceConnector,
    SourceItem,
    SourceOffsets,
    SourceTask,
    Split,
    TransactionEnd,
    Type,
)

PARTITION = {"ledger": "main"}


class LedgerTask(SourceTask):
    """Counts."""

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        self.own = Ledger.config.parse(config)

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        start = (offsets.get(PARTITION) or {"next": 0})["next"]
        end = min(start + self.own["batch"], self.own["count"])
        if os.path.exists(self.own["gate.file"]):
            end = min(end, self.own["gate"])
        by_plan = self.own["ends"] == "plan"
        if by_plan:
            end = min(end, (start // self.own["size"] + 1) * self.own["size"])
        if end <= start:
            return None
        split = Split({"start": start, "end": end})
        return Plan([split], [(PARTITION, {"next": end})], self.end_after(end - 1) if by_plan else None)

    def read(self, split: Split) -> Iterator[SourceItem]:
        for number in range(split.payload["start"], split.payload["end"]):
            yield Record(topic=self.own["topic"], value=str(number))
            end = self.end_after(number)
            if end is not None and self.own["ends"] == "read":
                yield Progress(PARTITION, {"next": number + 1})
                yield end
        yield Progress(PARTITION, {"next": split.payload["end"]})

    def end_after(self, number: int) -> TransactionEnd | None:
        """Whether a number is the last of its transaction, and what becomes of that."""
        if (number + 1) % self.own["size"]:
            return None
        aborted = str(number // self.own["size"]) in self.own["aborted"]
        return TransactionEnd.ABORT if aborted else TransactionEnd.COMMIT


class Ledger(SourceConnector):
    """Numbers in transactions."""

    version = "1.0"
    task = LedgerTask
    config = ConfigDef(
        ConfigKey("topic", Type.STRING),
        ConfigKey("count", Type.INT),
        ConfigKey("batch", Type.INT, default=4),
        ConfigKey("size", Type.INT, default=10),
        ConfigKey("ends", Type.STRING, default="read"),
        ConfigKey("aborted", Type.LIST, default=[]),
        ConfigKey("gate", Type.INT, default=0),
        ConfigKey("gate.file", Type.STRING, default=""),
    )

    def can_define_transaction_boundaries(self, settings: Mapping[str, str]) -> bool:
        return settings.get("ends", "read") in ("read", "plan")
