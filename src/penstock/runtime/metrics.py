"""What the runtime counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.spark.splits import Receipt


@dataclass
class TaskMetrics:
    """Counters of one task since it was started, fed by receipts. Written on the runtime's loop only."""

    read: int = 0
    written: int = 0
    filtered: int = 0
    bytes: int = 0
    batches: int = 0
    skipped: int = 0
    failed: int = 0
    retries: int = 0
    last_progress: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, receipts: Sequence[Receipt]) -> None:
        """Count a committed batch."""
        self.batches += 1
        self.last_progress = time.time()
        for receipt in receipts:
            self.read += receipt.read
            self.written += receipt.written
            self.filtered += receipt.filtered
            self.bytes += receipt.bytes
            self.skipped += receipt.skipped
            self.failed += receipt.failed
            self.retries += receipt.retries
            for step, seconds in receipt.seconds.items():
                self.seconds[step] = self.seconds.get(step, 0.0) + seconds
