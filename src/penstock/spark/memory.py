"""The memory of a lane: kept from one batch to the next, given back to the system when the lane rests.

Batches come by the megabyte. To get fresh memory for each from the system, and to give it back at once, costs as much
as all the work on them.
"""

from __future__ import annotations

import ctypes
import os
import time

IDLE_SECONDS = 5.0
"""A lane that has had nothing to do for so long gives back what it does not use."""

LONGEST_SECONDS = 30.0
"""A lane that is never idle does so after this time."""

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
"""What ``mallopt`` calls its parameters."""

_LARGEST_KEPT = 32 << 20
_MOST_KEPT = 256 << 20
_TAKEN_AT_ONCE = 16 << 20
_ARENAS = 2


def keep_freed() -> None:
    """Called once, before pyarrow is loaded, in the process that lanes are forked from. Needs glibc."""
    libc = _libc()
    if libc is None:
        return
    libc.mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
    libc.mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
    libc.mallopt(_TOP_PAD, _TAKEN_AT_ONCE)
    libc.mallopt(_ARENA_MAX, _ARENAS)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


class Rest:
    """Decides when a lane gives memory back."""

    def __init__(self) -> None:
        self._libc = _libc()
        self._last = time.monotonic()

    def between_works(self, idle: bool) -> None:
        """The lane waits for its next work; ``idle`` when it has done so for ``IDLE_SECONDS``."""
        now = time.monotonic()
        if self._libc is not None and (idle or now - self._last > LONGEST_SECONDS):
            self._libc.malloc_trim(0)
            self._last = now


def _libc() -> ctypes.CDLL | None:
    """The C library, when it is one whose allocator can be told what to keep."""
    try:
        libc = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return libc if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None
