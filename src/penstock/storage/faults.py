"""Places where a test may kill the process.

``PENSTOCK_FAULT=name:3`` makes the third visit of the point ``name`` end the process with SIGKILL, as a crash would.
With ``PENSTOCK_FAULT_ONCE=path`` only the first of several processes dies: it leaves the file ``path`` behind.
Without the variables a visit does nothing.
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
    if _visits_left == 0 and _is_first():
        os.kill(os.getpid(), signal.SIGKILL)


def _is_first() -> bool:
    path = os.environ.get("PENSTOCK_FAULT_ONCE")
    if not path:
        return True
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
