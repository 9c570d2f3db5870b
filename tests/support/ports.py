"""Ports for the servers that tests start."""

from __future__ import annotations

import itertools
import os
import socket

FIRST = 11_000
EACH = 3_000
SHARES = 6
"""So many processes have ports of their own. All are below those that systems give to clients."""

_worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
_begin = FIRST + EACH * (int(_worker.removeprefix("gw")) % SHARES)
_mine = itertools.islice(itertools.cycle(range(_begin, _begin + EACH)), os.getpid() % EACH, None)


def free_port() -> int:
    """A port nobody listens on, which no other process of this test run gets, and this one not soon again."""
    for port in itertools.islice(_mine, EACH):
        with socket.socket() as probe:
            if not _refused(probe, port):
                return port
    raise AssertionError(f"No port from {_begin} to {_begin + EACH} is free")


def _refused(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind(("127.0.0.1", port))
    except OSError:
        return True
    return False
