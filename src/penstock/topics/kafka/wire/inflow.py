"""What a connection receives, waited for in large pieces."""

from __future__ import annotations

import socket
import ssl
import sys

_LEAST_WAITED_FOR = 64 << 10
_MOST_WAITED_FOR = 4 << 20
"""What the system keeps for us meanwhile; it makes less of it where its own limits are lower."""


class Inflow:
    """Reads from a connected socket that has a time limit. For one thread.

    An answer is of use when all of it is there. Whoever waits for the next byte is woken by every packet, and each
    time that costs the sender and us more than the packet does: so the system is told how much we wait for.
    """

    def __init__(self, source: socket.socket) -> None:
        self._socket = source
        self._seconds = source.gettimeout()
        self._adjustable = sys.platform == "linux" and not isinstance(source, ssl.SSLSocket)
        self._waited_for = 1

    def fill(self, data: memoryview) -> None:
        """Raises ``OSError`` when the connection ends first, or is silent for the limit, at most for twice as long."""
        done = 0
        while done < len(data):
            self._wait_for(len(data) - done)
            count = self._take(data[done:])
            if not count:
                raise ConnectionError("the broker closed the connection")
            done += count

    def _wait_for(self, count: int) -> None:
        wanted = min(count, _MOST_WAITED_FOR) if count >= _LEAST_WAITED_FOR else 1
        if not self._adjustable or wanted == self._waited_for:
            return
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)
            self._waited_for = wanted
        except OSError:
            self._adjustable = False

    def _take(self, data: memoryview) -> int:
        """What is there: all that is waited for, or less when the time is over."""
        try:
            return self._socket.recv_into(data)
        except TimeoutError as too_slow:
            if self._waited_for == 1:
                raise
            return self._take_at_once(data, too_slow)

    def _take_at_once(self, data: memoryview, too_slow: TimeoutError) -> int:
        self._socket.settimeout(0)
        try:
            return self._socket.recv_into(data)
        except BlockingIOError:
            raise too_slow from None
        finally:
            self._socket.settimeout(self._seconds)
