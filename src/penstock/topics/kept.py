"""What an executor's process keeps for as long as the lane lives that it runs: others must not find it there later."""

from __future__ import annotations

import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

_kept: dict[str, Callable[[], None]] = {}


def keep(name: str, close: Callable[[], None]) -> None:
    """Have ``close`` called when the lane ends, unless ``let_go`` comes first."""
    _kept[name] = close


def let_go(name: str) -> None:
    """It is closed already."""
    _kept.pop(name, None)


def let_go_of_all() -> None:
    """Called at the end of a lane."""
    while _kept:
        name, close = _kept.popitem()
        try:
            close()
        except Exception:
            logger.exception("%s could not be closed", name)
