"""Where the REST API listens and how others reach it, from the texts of a worker file."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..api.errors import ConfigError

_LISTENER = re.compile(r"(?P<protocol>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]+)")
_EVERYWHERE = ("", "0.0.0.0", "::")


@dataclass(frozen=True)
class Listener:
    """One ``protocol://host:port``; an empty host means all interfaces, port 0 any free one."""

    protocol: str
    host: str
    port: int

    @property
    def bind_host(self) -> str:
        return self.host or "0.0.0.0"

    @property
    def local_url(self) -> str:
        """How a program on this machine reaches it."""
        return f"{self.protocol}://{_bracketed('localhost' if self.host in _EVERYWHERE else self.host)}:{self.port}"

    def __str__(self) -> str:
        return f"{self.protocol}://{_bracketed(self.host)}:{self.port}"


def parse_listener(text: str) -> Listener:
    """Raises ``ValueError`` with Kafka Connect's text."""
    match = _LISTENER.fullmatch(text.strip())
    if match is None:
        raise ValueError("Listener doesn't have the right format (protocol://hostname:port).")
    protocol = match["protocol"].lower()
    if protocol not in ("http", "https"):
        raise ValueError('Listener protocol must be either "http" or "https".')
    port = int(match["port"])
    if not 0 <= port < 65536:
        raise ValueError("A port is a number from 1 to 65535 (0 takes any free one).")
    return Listener(protocol, match["host"], port)


def check_listeners(name: str, value: Any) -> None:
    """Every entry is a listener, and there is one at least."""
    if not value:
        raise ConfigError.invalid(name, value, "Value must be a list of at least one listener, such as http://:8083.")
    for text in value:
        try:
            parse_listener(text)
        except ValueError as error:
            raise ConfigError.invalid(name, text, str(error)) from None


def advertised(
    listeners: Sequence[Listener], protocol: str | None = None, host: str | None = None, port: int | None = None
) -> Listener:
    """The address to give to others: what is configured, else the first http listener, else the first https one."""
    wanted = (protocol or "").lower() or ("http" if any(item.protocol == "http" for item in listeners) else "https")
    chosen = next((item for item in listeners if item.protocol == wanted), listeners[0])
    own = chosen.host if chosen.host not in _EVERYWHERE else local_address()
    return Listener(wanted, host or own, port or chosen.port)


def local_address() -> str:
    """The address of this machine by which others most likely know it."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
