"""Whether a listener's port can be had, asked before anything is started."""

from __future__ import annotations

import socket

from penstock.runtime.listeners import Listener

OTHER_PORT = (
    "Stop what listens there, or choose another port: penstock run --port 8084, or listeners=http://:8084 in the"
    " worker file."
)


def why_unusable(listener: Listener) -> str | None:
    """The system's reason why nobody could listen there now; ``None`` when all is well."""
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((listener.bind_host, listener.port))
            probe.listen()
        except OSError as error:
            return error.strerror or str(error)
    return None
