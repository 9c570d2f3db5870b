"""What the REST server needs to know of the worker configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.api.errors import ConfigError

from .response_headers import Cors, HeaderRule, parse_header_rules
from .tls import TlsSettings, tls_settings

_LISTENER = re.compile(r"(?P<scheme>[A-Za-z]+)://(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:/\[\]]*):(?P<port>\d{1,5})/?")
_DEFAULT_LIMIT = 10 * 1024 * 1024


@dataclass(frozen=True)
class Listener:
    """An address to listen on; an empty host means all interfaces, port 0 a free one."""

    scheme: str
    host: str
    port: int
    tls: TlsSettings | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True)
class RestSettings:
    """``admin_listeners``: ``None`` serves ``/admin`` everywhere, an empty tuple nowhere."""

    listeners: tuple[Listener, ...] = (Listener("http", "", 8083),)
    admin_listeners: tuple[Listener, ...] | None = None
    cors: Cors = field(default_factory=Cors)
    header_rules: tuple[HeaderRule, ...] = ()
    max_request_bytes: int = _DEFAULT_LIMIT

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> RestSettings:
        """Raises ``ConfigError`` that names the key at fault."""
        admin = properties.get("admin.listeners")
        return cls(
            listeners=_listeners("listeners", properties.get("listeners", "http://:8083"), properties),
            admin_listeners=None if admin is None else _admin_listeners(admin, properties),
            cors=Cors.parse(
                properties.get("access.control.allow.origin", ""), properties.get("access.control.allow.methods", "")
            ),
            header_rules=parse_header_rules(properties.get("response.http.headers.config", "")),
            max_request_bytes=_limit(properties.get("rest.request.max.bytes")),
        )


def _admin_listeners(text: str, properties: Mapping[str, str]) -> tuple[Listener, ...]:
    return _listeners("admin.listeners", text, properties) if text.strip() else ()


def _listeners(key: str, text: str, properties: Mapping[str, str]) -> tuple[Listener, ...]:
    items = [item.strip() for item in text.split(",")]
    return tuple(_listener(key, item, properties) for item in items)


def _listener(key: str, text: str, properties: Mapping[str, str]) -> Listener:
    match = _LISTENER.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise ConfigError.invalid(key, text, "Listener doesn't have the right format (protocol://hostname:port).")
    scheme = match["scheme"].lower()
    if scheme not in ("http", "https"):
        raise ConfigError.invalid(key, text, 'Listener protocol must be either "http" or "https".')
    tls = tls_settings(properties, f"{key}.https.") if scheme == "https" else None
    return Listener(scheme, match["host"].strip("[]"), int(match["port"]), tls)


def _limit(text: str | None) -> int:
    if text is None:
        return _DEFAULT_LIMIT
    if not re.fullmatch(r"\d{1,12}", text.strip()) or int(text) < 1:
        raise ConfigError.invalid("rest.request.max.bytes", text, "the largest request body, a number of bytes above 0")
    return int(text)
