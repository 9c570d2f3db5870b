"""One address for all workers of a cluster, as a plain load balancer gives it: each connection to the next one."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress

CHUNK = 65536


class RoundRobin:
    """Passes bytes on as they are. A client that opens a connection for each request asks another worker each time.

    A context manager.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = itertools.cycle(ports)
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> RoundRobin:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            try:
                worker = socket.create_connection(("127.0.0.1", next(self._ports)))
            except OSError:
                client.close()
                continue
            threading.Thread(target=_serve, args=(client, worker), daemon=True).start()


def _serve(client: socket.socket, worker: socket.socket) -> None:
    with client, worker:
        asking = threading.Thread(target=_pass_on, args=(client, worker), daemon=True)
        asking.start()
        _pass_on(worker, client)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RD)
        asking.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
