"""Places where a test may kill the process.

``PENSTOCK_FAULT=name:3`` makes the third visit of the point ``name`` end the process with SIGKILL, as a crash would.
Without the variable a visit does nothing.
"""

from __future__ import annotations

import os
import signal


def _armed() -> tuple[str, int]:
    name, _, visit = os.environ.get("PENSTOCK_FAULT", "").partition(":")
    return name, int(visit or 1)


_name, _visits_left = _armed()


def reach(name: str) -> None:
    """Visit the point ``name``."""
    global _visits_left
    if name != _name:
        return
    _visits_left -= 1
    if _visits_left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
