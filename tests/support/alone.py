"""What only one of the processes that run tests may do at a time: fetch and install."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Other processes of this clone that want to do the same wait for their turn, even when this one dies."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{what}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
