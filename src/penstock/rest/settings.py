"""What the REST server needs to know of the worker configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.api.errors import ConfigError
from penstock.runtime.listeners import Listener, check_listeners, parse_listener

from .access import AccessSettings
from .response_headers import Cors, HeaderRule, parse_header_rules
from .tls import TlsSettings, tls_settings

_DEFAULT_LISTENERS = "http://:8083"
_DEFAULT_LIMIT = 10 * 1024 * 1024


@dataclass(frozen=True)
class ListenerGroup:
    """Addresses that serve the same routes; ``tls`` is for the https ones among them."""

    key: str
    listeners: tuple[Listener, ...]
    tls: TlsSettings | None = None


@dataclass(frozen=True)
class RestSettings:
    """``admin``: ``None`` serves ``/admin`` with the rest of the API, a group without listeners nowhere.

    ``access``: ``None`` lets everybody do everything. ``names``: what the configuration calls this worker.
    """

    main: ListenerGroup = ListenerGroup("listeners", (Listener("http", "", 8083),))
    admin: ListenerGroup | None = None
    cors: Cors = field(default_factory=Cors)
    header_rules: tuple[HeaderRule, ...] = ()
    max_request_bytes: int = _DEFAULT_LIMIT
    access: AccessSettings | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> RestSettings:
        """Raises ``ConfigError`` that names the key at fault."""
        admin = properties.get("admin.listeners")
        access = AccessSettings.from_properties(properties)
        return cls(
            main=_group("listeners", properties.get("listeners", _DEFAULT_LISTENERS), properties),
            admin=None if admin is None else _admin_group(admin, properties),
            cors=Cors.parse(
                properties.get("access.control.allow.origin", ""),
                properties.get("access.control.allow.methods", ""),
                credentials=access is not None,
            ),
            header_rules=parse_header_rules(properties.get("response.http.headers.config", "")),
            max_request_bytes=_limit(properties.get("rest.request.max.bytes")),
            access=access,
            names=(properties.get("rest.advertised.host.name", "").strip(),),
        )


def _admin_group(text: str, properties: Mapping[str, str]) -> ListenerGroup:
    return _group("admin.listeners", text, properties) if text.strip() else ListenerGroup("admin.listeners", ())


def _group(key: str, text: str, properties: Mapping[str, str]) -> ListenerGroup:
    items = [item.strip() for item in text.split(",")] if text.strip() else []
    check_listeners(key, items)
    listeners = tuple(map(parse_listener, items))
    secure = any(listener.protocol == "https" for listener in listeners)
    return ListenerGroup(key, listeners, tls_settings(properties, f"{key}.https.") if secure else None)


def _limit(text: str | None) -> int:
    if text is None:
        return _DEFAULT_LIMIT
    if not re.fullmatch(r"0*[1-9]\d{0,11}", text.strip()):
        raise ConfigError.invalid("rest.request.max.bytes", text, "the largest request body, a number of bytes above 0")
    return int(text)
