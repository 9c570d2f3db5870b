"""Somebody on the network between a caller and a port of this machine, who hands everything on and writes it down."""

from __future__ import annotations

import contextlib
import socket
import threading

CHUNK = 65536


class Eavesdropper:
    """A context manager: whoever calls ``address`` talks to ``target``, and ``heard`` has what both say."""

    def __init__(self, target: tuple[str, int], host: str = "127.0.0.1", port: int = 0) -> None:
        self._target = target
        self._listener = socket.create_server((host, port))
        self._said: list[bytes] = []
        self._streams: list[socket.socket] = []
        self.calls = 0
        self.address: tuple[str, int] = self._listener.getsockname()[:2]

    def __enter__(self) -> Eavesdropper:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for stream in (self._listener, *self._streams):
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
            stream.close()

    @property
    def heard(self) -> bytes:
        """All bytes of both directions, in the order in which they came."""
        return b"".join(self._said)

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            self.calls += 1
            target = socket.create_connection(self._target)
            self._streams += [caller, target]
            for one, other in ((caller, target), (target, caller)):
                threading.Thread(target=self._hand_on, args=(one, other), daemon=True).start()

    def _hand_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := one.recv(CHUNK):
                self._said.append(said)
                other.sendall(said)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)
