"""Python's garbage collector, set for a process in which much stays and little goes round in circles."""

from __future__ import annotations

import gc

THRESHOLDS = (50_000, 20, 50)
"""Far fewer collections than Python's own 700: with 500 connectors those took half of the driver's time."""


def collect_rarely() -> None:
    """Call when start-up is over: what is there now is never looked at again, what comes later rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
